/*
 * model_test.c
 *	  Facts about the model that hold without a server, printed as TAP.
 *
 * Numbers called "measured" are from a PostgreSQL 15 server.  Where the model gets
 * the evidence of a known workload, the twin is the server: the model sees only what a
 * sample and the counters would have shown.
 */
#include <stdlib.h>
#include <string.h>

#include "workloads.h"

static int	checks = 0;
static Twin other;
static FitWork work;
static Fit	fit;
static Forecast forecast;
static Choice decision;

static void
count_check(void)
{
	checks++;
}

static void
test_pages(void)
{
	TwinWorkload	l = workload_of(136, 1000);
	TwinView	v;
	int			edges = 1;

	ok(ff_twin_rows_per_page(100, 136) == 58 && ff_twin_rows_per_page(90, 136) == 52 &&
	   ff_twin_rows_per_page(50, 136) == 29 && ff_twin_rows_per_page(10, 8160) == 1 &&
	   ff_twin_rows_per_page(100, 24) == 291, "rows per page at known lengths and fillfactors");
	for (int f = TW_MIN_FF; f <= TW_MAX_FF; f++)
	{
		int			edge = ff_twin_step_edge(f, 136);

		edges &= edge >= f && ff_twin_rows_per_page(edge, 136) == ff_twin_rows_per_page(f, 136) &&
			(edge == 100 || ff_twin_rows_per_page(edge + 1, 136) > ff_twin_rows_per_page(f, 136));
	}
	ok(edges, "the edge of a step is its highest fillfactor");
	ff_twin_start(&twin, &l, 90, 1);
	ff_twin_look(&twin, &v);
	ok(twin.npages == 20 && v.pages == 20 && v.rows == 1000 && v.rows_per_page_max == 52,
	   "a load fills pages up to fillfactor");
	ff_twin_run(&twin, 500);
	ff_twin_rewrite(&twin, 50);
	ff_twin_look(&twin, &v);
	ok(twin.npages == 35 && v.pages == 35 && v.rows == 1000 && twin.ndead == 0,
	   "a rewrite fills pages up to the new fillfactor and leaves no dead rows");
}

/* Each statement changes a third of every page, each third in turn; compared with measured counts. */
static void
test_thirds(void)
{
	static const double measured[] = {1386, 5155, 9078, 10774, 13269};
	TwinWorkload	l = workload_of(136, 12000);
	int			right = 1;

	l.vacuum_gap = -1;
	l.class[0].rows = 4000;
	l.class[0].stride = 3;
	l.class[0].pick = TW_SWEEP;
	ff_twin_start(&twin, &l, 90, 1);
	for (int i = 0; i < 5; i++)
	{
		while (twin.count.updates < 4000 * (i + 1))
			ff_twin_run(&twin, 100);
		right &= fabs(twin.count.hot - measured[i]) <= 1;
	}
	ok(right, "a third of each page by one statement: HOT updates as measured after each statement");
}

static void
test_twin(void)
{
	TwinWorkload	l = workload_of(136, 4000);
	TwinView	v;
	double		hot[3];

	/* pgbench: each page moves one row, then all updates are HOT */
	hot_pct(&l, 100, 0, 24000);
	ok(twin.npages == 73 && fabs(twin.count.moved - 210) <= 15,
	   "single updates at 100: pages and moved rows as measured (73, 210)");
	ff_twin_copy(&other, &twin);
	ff_twin_run(&twin, 3000);
	ff_twin_run(&other, 3000);
	ok(memcmp(&twin.count, &other.count, sizeof(TwinCount)) == 0 && twin.rng == other.rng,
	   "a copy of a twin continues like the original");
	hot[0] = hot_pct(&l, 80, 1000, 3000);
	ok(hot[0] == hot_pct(&l, 80, 1000, 3000), "the same workload gives the same result");
	l.class[0].indexed = 1;
	ok(hot_pct(&l, 50, 0, 4000) == 0 &&
	   twin.count.moved + twin.count.blocked == twin.count.updates,
	   "no update of an indexed column is HOT");
	/* single updates and passes over all rows */
	l.class[0].indexed = 0;
	l.class[0].rate = 0.4;
	l.start_rows = 2000;
	add_class(&l, EV_UPDATE, 0.6, 2000, TW_SWEEP);
	for (int i = 0; i < 3; i++)
		hot[i] = hot_pct(&l, 100 - 20 * i, 20000, 20000);
	ok(hot[0] < 75 && hot[1] > 90 && hot[2] > 99,
	   "passes beside single updates: at 60 nearly all updates are HOT");
	l = workload_of(136, 3000);
	add_class(&l, EV_INSERT, 0.5, 10, TW_ANY);
	add_class(&l, EV_DELETE, 0.4, 1, TW_OLDEST);
	hot_pct(&l, 90, 0, 20000);
	ff_twin_look(&twin, &v);
	ok(twin.count.hot + twin.count.moved + twin.count.blocked == twin.count.updates &&
	   v.rows + (double) twin.nforgotten == (double) twin.nlive,
	   "kinds of updates and numbers of rows add up");
	l = workload_of(8160, 300);
	ok(hot_pct(&l, 100, 0, 300) == 0 && !twin.exhausted, "updates of rows as large as a page always move");
	l = workload_of(64, 4000);
	l.held = 4000;
	l.held_share = 1;
	hot[0] = hot_pct(&l, 90, 8000, 8000);
	l.held = 0;
	ok(hot[0] < hot_pct(&l, 90, 8000, 8000) - 5, "a held snapshot keeps pages from being pruned");
}

/* Decide; whether the HOT share predicted at a fillfactor is the twin's, within points. */
static int
promises(const TwinWorkload *l, const Evidence *e, int fillfactor, double laps, double points)
{
	double		hot = hot_pct(l, fillfactor, laps * l->start_rows / 2, laps * l->start_rows / 2);

	ff_choose(&work, e, 1, &fit, &forecast, &decision);
	for (int i = 0; i < forecast.n; i++)
		if (i == forecast.n - 1 || forecast.step[i + 1].fillfactor < fillfactor)
		{
			double		promised = forecast.step[i].mean[i == forecast.current ? FC_SET : FC_REWRITE].hot_pct;

			if (fabs(promised - hot) > points)
				printf("# %.1f %% HOT promised at %d, %.1f came\n", promised, fillfactor, hot);
			return fabs(promised - hot) <= points;
		}
	return 0;
}

/* Whether each large sweep that skips rows takes every third row, in all workloads. */
static int
third_rows(const Fit *f)
{
	for (int i = 0; i < f->n; i++)
		for (int k = 0; k < f->particle[i].workload.nclasses; k++)
		{
			const TwinClass *c = &f->particle[i].workload.class[k];

			if (c->pick == TW_SWEEP && c->rows >= 100 && c->stride > 1 && c->stride != 3)
				return 0;
		}
	return f->n > 0;
}

static void
test_decisions(void)
{
	TwinWorkload	l = workload_of(136, 6000);
	Evidence	e = observe(&l, 100, 6, 1);

	ok(promises(&l, &e, 100, 6, 4) && decision.action == CH_KEEP, "settled single updates: keep");
	e = observe(&l, 100, 0.2, 1);
	ff_choose(&work, &e, 0, &fit, &forecast, &decision);
	ok(decision.action == CH_KEEP && decision.settling > 0.9 &&
	   decision.settle_updates > 0, "single updates that have just begun: keep, settling by itself");
	l.class[0].indexed = 1;
	e = observe(&l, 100, 6, 1);
	add_statement(&e, &l.class[0]);
	ff_choose(&work, &e, 0, &fit, &forecast, &decision);
	ok(decision.action <= CH_KEEP && fit.plan.split.recoverable < 0.01,
	   "indexed columns: nothing to recover");
	l.class[0].indexed = 0;
	l.class[0].rows = 2000;
	l.class[0].stride = 3;
	l.class[0].pick = TW_SWEEP;
	e = observe(&l, 100, 8, 1);
	add_statement(&e, &l.class[0]);
	ok(promises(&l, &e, 70, 8, 5) && decision.action >= CH_SET && decision.gain > 0.1 &&
	   forecast.step[decision.advised].fillfactor <= 90,
	   "a third of each page by one statement: lower");
	l = workload_of(136, 6000);
	l.class[0].rate = 0.4;
	add_class(&l, EV_UPDATE, 0.6, 6000, TW_SWEEP);
	e = observe(&l, 100, 12, 1);
	add_statement(&e, &l.class[0]);
	add_statement(&e, &l.class[1]);
	ok(promises(&l, &e, 70, 12, 5) && decision.action >= CH_SET && decision.gain > 0.1,
	   "passes beside single updates: lower");
	l.class[0].rate = 0.8;
	l.class[1].rate = 0.2;
	l.class[1].rows = 2000;
	l.class[1].stride = 3;
	e = observe(&l, 100, 8, 1);
	add_statement(&e, &l.class[0]);
	add_statement(&e, &l.class[1]);
	ok(promises(&l, &e, 100, 8, 5) && third_rows(&fit),
	   "every third row beside single updates: all workloads have that statement");
	l = workload_of(136, 1000);
	l.class[0].pick = TW_IN_TURN;
	l.class[0].rows = l.class[0].distance = 500;
	add_class(&l, EV_INSERT, 1, 500, TW_ANY);
	e = observe(&l, 100, 8, 1);
	add_statement(&e, &l.class[0]);
	ok(promises(&l, &e, 50, 8, 8) && decision.action >= CH_SET &&
	   forecast.step[decision.advised].fillfactor <= 60,
	   "all rows of each insert updated by one statement: 60 or lower");
	l = workload_of(136, 6000);
	e = observe(&l, 50, 3, 1);
	add_statement(&e, &l.class[0]);
	ff_choose(&work, &e, 0, &fit, &forecast, &decision);
	ok(decision.action >= CH_SET && forecast.step[decision.advised].fillfactor >= 85,
	   "unused room: raise to 85 or higher, which costs about as much as the cheapest");
}

static void
test_without_a_fit(void)
{
	TwinWorkload	l = workload_of(136, 6000);
	Evidence	e = observe(&l, 70, 3, 0);
	double		alone;

	for (int i = 0; i < e.nintervals; i++)
		e.interval[i] = (EvInterval) {
			3600, 1000, 1, 1, 0, 0, 0
		};
	ff_choose(&work, &e, 0, &fit, &forecast, &decision);
	ok(decision.action == CH_WAIT, "few updates in eight hours: wait");
	for (int i = 0; i < e.nintervals; i++)
		e.interval[i].seconds = 86400;
	e.updated_pct = 0;
	ff_choose(&work, &e, 0, &fit, &forecast, &decision);
	ok(decision.action == CH_SET && forecast.step[decision.advised].fillfactor == 100,
	   "few updates in eight days: raise to 100");
	e = observe(&l, 100, 3, 0);
	e.size_weight = e.wal_weight = 0;
	e.time_weight = 1;
	e.index_scans = 1e9;
	ff_choose(&work, &e, 0, &fit, &forecast, &decision);
	ok(decision.action == CH_KEEP && fit.n == 0 && decision.bound > 0.98,
	   "reads are nearly all of the cost: keep by the bound, without a fit");
	e = observe(&l, 100, 3, 0);
	ff_choose(&work, &e, 0, &fit, &forecast, &decision);
	alone = decision.bound;
	for (int i = 0; i < e.nintervals; i++)
		e.interval[i].deleted = e.interval[i].updated;
	ff_choose(&work, &e, 0, &fit, &forecast, &decision);
	ok(decision.bound > alone + 0.01, "deletes raise the bound, as no room saves their cost");
}

static int
sane(const Choice *d, const Forecast *f)
{
	int			good = isfinite(d->gain) && isfinite(d->confidence) && d->confidence >= 0 &&
	   d->confidence <= 1 &&
		d->advised >= 0 && (f->n == 0 || d->advised < f->n);

	for (int i = 0; i < f->n && d->action != CH_WAIT; i++)
		for (int way = 0; way < FC_WAYS; way++)
		{
			const FcMean *m = &f->step[i].mean[way];

			good &= m->hot_pct >= -1e-9 && m->hot_pct <= 100 + 1e-9 && m->hot_low <= m->hot_high &&
				isfinite(d->cost[way][i].ratio);
		}
	return good;
}

static void
test_any_evidence(void)
{
	static const double odd[] = {0, -1, 1, 1e18, 1e-18, 50, 1e6};
	TwinWorkload	l = workload_of(136, 3000);
	Evidence	e;
	Evidence	base;
	Choice	first;
	unsigned	x = 1;
	int			good = 1;

	ff_evidence_clear(&e);
	ff_choose(&work, &e, 0, &fit, &forecast, &decision);
	ok(decision.action == CH_WAIT && forecast.n == 0, "no evidence: wait");
	base = observe(&l, 100, 4, 0);
	ff_twin_check = count_check;
	ff_choose(&work, &base, 0, &fit, &forecast, &decision);
	first = decision;
	ff_choose(&work, &base, 0, &fit, &forecast, &decision);
	ok(memcmp(&first, &decision, sizeof(first)) == 0, "the same evidence gives the same decision");
	ok(checks >= 100 * FIT_DRAWS && sane(&decision, &forecast), "a replay can be interrupted at each transaction");
	/* one number after the other becomes unknown or odd */
	for (size_t i = 0; i < sizeof(e) / sizeof(double); i += 7)
	{
		e = base;
		x = x * 1103515245 + 12345;
		((double *) &e)[i] = (x >> 16) % 4 == 0 ? NAN : odd[(x >> 18) % 7];
		if (e.nintervals != base.nintervals || e.nstatements != base.nstatements)
			continue;
		ff_choose(&work, &e, 0, &fit, &forecast, &decision);
		good &= sane(&decision, &forecast);
	}
	ok(good, "odd or unknown numbers: all results are finite");
}

static void
test_split(void)
{
	Evidence	e;
	FitSplit	s;

	ff_evidence_clear(&e);
	s = ff_fit_split(&e);
	ok(isnan(s.hot) && isnan(s.recoverable), "no updates: no split");
	e.nintervals = 1;
	e.interval[0] = (EvInterval) {
		60, 0, 1000, 600, 200, 0, 0
	};
	s = ff_fit_split(&e);
	ok(fabs(s.hot - 0.6) < 1e-9 && fabs(s.moved - 0.2) < 1e-9 && fabs(s.recoverable - 0.15) < 1e-9 &&
	   fabs(s.blocked - 0.25) < 1e-9,
	   "moved updates could be HOT in the same share as those that stayed");
	e.interval[0].newpage = NAN;
	e.seen_hot = 75;
	e.seen_same_page = 25;
	s = ff_fit_split(&e);
	ok(fabs(s.recoverable - 0.15) < 1e-9, "moved not counted: old versions in the pages give the same split");
	e.seen_hot = e.seen_same_page = NAN;
	e.indexed_share = 0;
	s = ff_fit_split(&e);
	ok(fabs(s.recoverable - 0.4) < 1e-9 && s.blocked < 1e-9,
	   "no statement sets an indexed column: all non-HOT updates moved");
	e.indexed_share = 1;
	e.interval[0].hot = 0;
	s = ff_fit_split(&e);
	ok(isnan(s.moved) && s.recoverable == 0 && s.blocked == 1,
	   "all set an indexed column, and no page shows which moved: no room helps");
}

/* An initial load does not count as inserts of the workload. */
static void
test_load(void)
{
	Evidence	e;

	ff_evidence_clear(&e);
	e.nintervals = 3;
	e.interval[0] = e.interval[1] = (EvInterval) {60, 10, 1000, 900, 100, 0, 0};
	e.interval[2] = (EvInterval) {60, 60000, 500, 400, 100, 0, 0};
	ok(ff_evidence_window(&e).inserted == 25 && ff_evidence_window(&e).updated == 2500,
	   "a load in the interval of the first updates does not count as inserts");
	e.interval[2].inserted = 40;
	ok(ff_evidence_window(&e).inserted == 60, "faster inserts in the first interval count");
	e.interval[2].inserted = 60000;
	e.earlier_updated = 1;
	ok(ff_evidence_window(&e).inserted == 60020, "a load counts if the table was updated before the window");
	e.earlier_updated = 0;
	e.interval[2].updated = e.interval[2].hot = 0;
	ok(ff_evidence_window(&e).seconds == 120 && ff_evidence_window(&e).inserted == 20,
	   "intervals before the first update do not count");
	e.interval[0].updated = e.interval[1].updated = 0;
	ok(ff_evidence_window(&e).inserted == 60020, "a load counts if there was no update at all");
}

/* One call that updates much of the table is set apart if the rest is enough to judge. */
static void
test_event(void)
{
	Evidence	e;
	Evidence	before;
	EvInterval	w;

	ff_evidence_clear(&e);
	e.live_rows = 10000;
	e.min_updates = 500;
	e.earlier_updated = 1;
	e.indexed_share = 10000.0 / 13000;
	e.nintervals = 3;
	e.interval[0] = (EvInterval) {60, 10, 1000, 900, 100, 0, 0};
	e.interval[1] = (EvInterval) {60, 10, 11000, 2000, 9000, 0, 0};
	e.interval[2] = (EvInterval) {60, 10, 1000, 700, 300, 0, 0};
	e.nstatements = 2;
	e.statement[0] = (EvStatement) {EV_UPDATE, 1, 10000, 1, NAN, NAN};
	e.statement[1] = (EvStatement) {EV_UPDATE, 3000, 3000, 0, NAN, NAN};
	before = e;
	ff_evidence_set_apart(&e);
	w = ff_evidence_window(&e);
	ok(e.event.rows == 10000 && e.nstatements == 1 && e.statement[0].rows == 3000 && e.event_after == 1500 &&
	   w.updated == 3000 && fabs(w.hot - 2400) < 1e-9 && fabs(w.newpage - 600) < 1e-9 && w.inserted == 30 &&
	   e.indexed_share == 0,
	   "an event is set apart: other updates of its interval were HOT as often as in other intervals");
	e = before;
	e.indexed_share = 11000.0 / 13000;
	ff_evidence_set_apart(&e);
	ok(fabs(e.indexed_share - 1.0 / 3) < 1e-9, "what sets an indexed column is counted without it");
	e = before;
	e.statement[0].calls = 2;
	ff_evidence_set_apart(&e);
	ok(isnan(e.event.rows) && e.nstatements == 2, "called twice, it is no event");
	e = before;
	e.statement[0].rows = 1900;
	ff_evidence_set_apart(&e);
	ok(isnan(e.event.rows), "a call for less than a fifth of the rows is no event");
	e = before;
	e.min_updates = 3001;
	ff_evidence_set_apart(&e);
	ok(isnan(e.event.rows) && ff_evidence_window(&e).updated == 13000, "nor is one beside too few other updates");
	e = before;
	e.interval[1].updated = 9000;
	ff_evidence_set_apart(&e);
	ok(isnan(e.event.rows), "nor is one that lasted for several intervals");
	e = before;
	e.statement[0].command = EV_INSERT;
	ff_evidence_set_apart(&e);
	ok(isnan(e.event.rows), "an insert is no event");
}

int
main(void)
{
	test_pages();
	test_thirds();
	test_twin();
	test_split();
	test_load();
	test_event();
	test_decisions();
	test_without_a_fit();
	test_any_evidence();
	printf("1..%d\n", tests);
	return failed != 0;
}
