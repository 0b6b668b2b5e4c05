/*
 * workloads.h
 *	  Shared by the tests of the model: TAP, workloads written by hand, and the evidence
 *	  that a server would give of them.
 */
#ifndef FF_TEST_LIVES_H
#define FF_TEST_LIVES_H

#include <stdio.h>
#include <string.h>

#include "model/choice.h"
#include "base/numbers.h"

static int	tests = 0;
static int	failed = 0;
static Twin twin;

static inline void
ok(int pass, const char *what)
{
	printf("%sok %d - %s\n", pass ? "" : "not ", ++tests, what);
	failed += !pass;
}

static inline int
near(double a, double b, double by)
{
	int			good = fabs(a - b) <= by;

	if (!good)
		printf("# %.10g is not %.10g\n", a, b);
	return good;
}

/* One class of updates of rows of one length. */
static inline TwinWorkload
workload_of(int len, double rows)
{
	TwinWorkload	l = {.nclasses = 1, .vacuum_share = 0.2, .vacuum_gap = 1,
	   .start_rows = rows};

	for (int i = 0; i < TW_QUANTILES; i++)
		l.insert_len[i] = l.update_len[i] = (int16_t) len;
	l.class[0] = (TwinClass) {
		.command = EV_UPDATE, .rate = 1, .rows = 1, .calls = 1, .stride = 1
	};
	return l;
}

static inline TwinClass *
add_class(TwinWorkload *l, EvCommand command, double rate, double rows, TwinPick pick)
{
	TwinClass  *c = &l->class[l->nclasses++];

	*c = (TwinClass) {
		.command = command, .rate = rate, .rows = rows, .calls = 1, .pick = pick, .stride = 1
	};
	return c;
}

static inline double
hot_pct(const TwinWorkload *l, int fillfactor, double before, double counted)
{
	ff_twin_start(&twin, l, fillfactor, 3);
	ff_twin_run(&twin, before);
	ff_twin_count_from_here(&twin);
	ff_twin_run(&twin, counted);
	return 100 * twin.count.hot / twin.count.updates;
}

/* What counters and a sample would show of a workload, after so many updates of each row. */
static inline Evidence
observe(const TwinWorkload *l, int fillfactor, double laps, int histograms)
{
	Evidence	e;
	TwinView	v;
	TwinCount	all = {0};

	ff_evidence_clear(&e);
	ff_twin_start(&twin, l, fillfactor, 11);
	e.nintervals = 8;
	for (int i = 7; i >= 0; i--)
	{
		ff_twin_count_from_here(&twin);
		ff_twin_run(&twin, laps * l->start_rows / 8);
		e.interval[i] = (EvInterval) {
			3600, twin.count.inserts, twin.count.updates, twin.count.hot, twin.count.moved,
				twin.count.deletes, twin.count.vacuums
		};
		all.vacuums += twin.count.vacuums;
	}
	ff_twin_look(&twin, &v);
	e.window_xids = twin.xid;
	e.earlier_updated = 0;
	e.min_updates = 200;
	e.blocks = twin.npages;
	e.live_rows = (double) twin.nlive;
	e.rows_per_page = v.rows / v.pages;
	e.rows_per_page_max = v.rows_per_page_max;
	e.updated_pct = 100 * v.updated_rows / v.rows;
	e.inserted_length[0] = l->insert_len[0];
	e.updated_length[0] = l->update_len[0];
	e.inserted_length[1] = fmax(v.rows - v.updated_rows, 1);
	e.updated_length[1] = fmax(v.updated_rows, 1);
	e.fillfactor = fillfactor;
	e.indexes = 2;
	e.index_bytes = 40 * e.live_rows;
	e.vacuum_scale = 0.2;
	e.vacuum_nap_s = 60;
	e.sessions = 0.5;
	e.recent_share = 0;
	e.payback_s = 30 * 86400;
	e.time_weight = 0.5;
	e.wal_weight = 0.3;
	e.size_weight = 0.2;
	e.min_gain = 0.02;
	if (histograms)
	{
		memcpy(e.group_old_page, v.group_old_page, sizeof(v.group_old_page));
		memcpy(e.group_new_page, v.group_new_page, sizeof(v.group_new_page));
		memcpy(e.update_distance, v.update_distance, sizeof(v.update_distance));
		memcpy(e.update_age, v.update_age, sizeof(v.update_age));
	}
	return e;
}

/* What pg_stat_statements would show of a class. */
static inline void
add_statement(Evidence *e, const TwinClass *c)
{
	double		rows = c->rate * ff_evidence_window(e).updated;

	e->statement[e->nstatements++] = (EvStatement) {
		.command = c->command,.calls = rows / c->rows,.rows = rows,.sets_indexed = c->indexed,
			.wal_bytes = NAN
	};
}

#endif							/* FF_TEST_LIVES_H */
