/*
 * decide_test.c
 *	  Facts about costs and the choice that hold for any prices, as TAP.
 *
 * The bound is the cost of a table whose updates all have room, divided by its cost today: a
 * fraction of two sums.  A cost that is in both adds only to the numerator
 * of 1 / (1 - bound), so one known price gives all others.
 */
#include <stdlib.h>

#include "lives.h"

#define ROWS	10000.0			/* updated in the window */
#define PAGES	1000.0

static FitWork work;
static Fit	fit;
static Forecast forecast;
static Decision decision;

/* Whether two numbers differ by at most this share. */
static int
like(double a, double b, double share)
{
	return near(a, b, share * fmax(fabs(a), fabs(b)) + 1e-12);
}

/* Updates of single rows of 136 bytes, by share: HOT, moved, the rest blocked by an index. */
static Evidence
counted(double hot, double moved)
{
	Evidence	e;

	ff_evidence_clear(&e);
	e.nintervals = 1;
	e.interval[0] = (EvInterval) {
		1e6, 0, ROWS, ROWS * hot, ROWS * moved, 0, 0
	};
	e.earlier_updated = 1;
	e.blocks = PAGES;
	e.live_rows = 1e6;			/* no page is half empty */
	e.inserted_length[0] = e.updated_length[0] = 136;
	e.inserted_length[1] = e.updated_length[1] = 1;
	e.fillfactor = 100;
	e.indexes = 2;
	e.index_bytes = 2 * PAGES * TW_BLCKSZ;
	e.checkpoint_s = 1e12;
	e.min_updates = 1;
	e.min_gain = 2;				/* no gain is enough: the bound alone, no fit */
	e.time_weight = e.wal_weight = e.size_weight = 0;
	return e;
}

static void
add_rows(Evidence *e, EvCommand command, double rows, double a_call)
{
	e->statement[e->nstatements++] = (EvStatement) {
		.command = command,.calls = rows / a_call,.rows = rows,.sets_indexed = NAN,
			.wal_records = NAN,.wal_bytes = NAN
	};
}

static double
bound_of(Evidence e, double time, double wal, double size)
{
	e.time_weight = time;
	e.wal_weight = wal;
	e.size_weight = size;
	ff_decide(&work, &e, 0, &fit, &forecast, &decision);
	return decision.bound;
}

/* The cost today divided by what could be saved of it. */
static double
time_by_saving(Evidence e)
{
	return 1 / (1 - bound_of(e, 1, 0, 0));
}

static double
wal_by_saving(Evidence e)
{
	return 1 / (1 - bound_of(e, 0, 1, 0));
}

/* Bytes that could be saved, measured by one byte more in each of as many inserted rows. */
static double
wal_saving(Evidence e)
{
	double		one;

	e.interval[0].inserted = ROWS;
	e.inserted_length[0] = 1000;
	one = wal_by_saving(e);
	e.inserted_length[0] = 2000;
	return 1000 / (wal_by_saving(e) - one);
}

static double
wal_now(Evidence e)
{
	return wal_by_saving(e) * wal_saving(e);
}

/*
 * Microseconds an update takes today, measured by one microsecond for each page read if
 * nothing is in memory.  All updates are HOT, or all non-HOT.
 */
static double
time_now(Evidence e)
{
	double		saved;
	double		c = time_by_saving(e);
	double		slow;
	double		cold = 1 - e.interval[0].hot / e.interval[0].updated;
	double		n = e.indexes;
	double		reads = 3 + cold * (2 * (n - 1) + 1);	/* two of them the row's page */

	e.ram_bytes = 1e-9;
	e.read_us = 1;
	slow = time_by_saving(e);
	saved = (reads - 2 * slow) / (slow - c);
	return c * saved;
}

/* Whether 1, 2 and 3 times a number of the evidence add the same cost each time. */
static int
linear(Evidence e, size_t number, double once, double (*cost) (Evidence))
{
	double		at[3];

	for (int i = 0; i < 3; i++)
	{
		*(double *) ((char *) &e + number) = once * (i + 1);
		at[i] = cost(e);
	}
	return at[1] > at[0] * (1 + 1e-6) && like(at[2] - at[1], at[1] - at[0], 1e-4);
}

#define NUMBER(field)	offsetof(Evidence, field)

static void
test_rows_beside(void)
{
	Evidence	e = counted(1, 0);
	Evidence	both = e;
	Evidence	more;
	double		entry_wal,
				entry_us;
	double		(*const cost[]) (Evidence) = {time_by_saving, wal_by_saving};

	ff_decide_index_entry(&entry_wal, &entry_us);
	e.interval[0].inserted = both.interval[0].inserted = ROWS;
	more = e;
	more.indexes = 3;
	ok(like(wal_now(more) - wal_now(e), entry_wal, 1e-3) &&
	   like(time_now(more) - time_now(e), entry_us, 1e-3), "an inserted row makes an entry in each index");
	both.interval[0].deleted = ROWS;
	for (int i = 0; i < 2; i++)
	{
		double		none = cost[i] (counted(1, 0));
		double		inserts = cost[i] (e);
		double		all = cost[i] (both);

		more = both;
		more.interval[0].inserted = 0;
		ok(linear(counted(1, 0), NUMBER(interval[0].inserted), ROWS, cost[i]) &&
		   linear(counted(1, 0), NUMBER(interval[0].deleted), ROWS / 2, cost[i]) &&
		   like(all - inserts, cost[i] (more) - none, 1e-6) && inserts > none,
		   i ? "WAL of inserts and deletes adds up" : "time of inserts and deletes adds up");
	}
	for (EvCommand c = EV_INSERT; c <= EV_DELETE; c += EV_DELETE - EV_INSERT)
		for (int i = 0; i < 2; i++)
		{
			double		by[3];

			for (int k = 0; k < 3; k++)
			{
				more = both;
				add_rows(&more, c, ROWS / 2, 1 << k);
				by[k] = cost[i] (more);
			}
			ok(like(by[0] - by[1], 2 * (by[1] - by[2]), 1e-4) && by[1] > by[2] &&
			   like(by[0], cost[i] (both), 1e-6),
			   "twice the rows a call halve the cost of calls; unknown calls are as large as those of updates");
		}
	for (EvCommand c = EV_INSERT; c <= EV_DELETE; c += EV_DELETE - EV_INSERT)
	{
		more = counted(1, 0);
		more.indexes = 0;
		add_rows(&more, EV_UPDATE, ROWS, 1);
		add_rows(&more, c, ROWS, ROWS);
		ok(linear(more, c == EV_INSERT ? NUMBER(interval[0].inserted) : NUMBER(interval[0].deleted),
				  ROWS / 2, time_by_saving), "time of rows inserted or deleted by a single call is linear");
	}
	add_rows(&e, EV_UPDATE, 8, 4);
	more = e;
	add_rows(&more, EV_INSERT, 8, 4);
	ok(like(wal_by_saving(e), wal_by_saving(more), 1e-6) && like(decision.calls, 0.25, 1e-9),
	   "calls per update are those of the statements");
	e = counted(1, 0);
	e.group_old_page[0] = 1;
	for (int i = 1; i < EV_GROUP_BINS; i++)
		e.group_old_page[i] = 0;
	bound_of(e, 1, 0, 0);
	ok(decision.calls == 1, "rows updated alone on their page: one call each");
	e.group_old_page[2] = 1e6;
	bound_of(e, 1, 0, 0);
	ok(decision.calls >= 0.25 && decision.calls <= 0.334, "three or four rows updated together: one call");
}

static void
test_reads(void)
{
	Evidence	e = counted(1, 0);
	Evidence	own = e;
	double		none = time_by_saving(e);

	own.index_scans = ROWS;
	ok(like(time_by_saving(own), none, 1e-9) &&
	   linear(e, NUMBER(index_scans), ROWS, time_by_saving), "index scans beyond those of updates are reads");
	own.interval[0].deleted = e.interval[0].deleted = ROWS;
	own.index_scans = 2 * ROWS;
	ok(like(time_by_saving(own), time_by_saving(e), 1e-9), "index scans of deletes are not reads");
	own.index_scans = 3 * ROWS;
	ok(like(wal_by_saving(own), wal_by_saving(e), 1e-9), "reads write no WAL");

	e = counted(1, 0);
	e.seq_scans = 1e6;
	e.blocks_fetched = 2 * ROWS;
	own = e;
	ok(like(time_by_saving(e), none, 1e-9), "pages fetched by updates are no sequential scan");
	e.blocks_fetched = 2 * ROWS + PAGES;
	own.blocks_fetched += 2 * PAGES;
	ok(like(time_by_saving(own) - none, 2 * (time_by_saving(e) - none), 1e-6) &&
	   time_by_saving(e) > none, "pages fetched beyond those of updates are sequential scans");
	own.interval[0].inserted = own.interval[0].deleted = PAGES / 2;
	e.interval[0] = own.interval[0];
	e.blocks_fetched = 0;
	ok(like(time_by_saving(own), time_by_saving(e), 1e-9),
	   "pages fetched by inserts and deletes are no sequential scan");
	e = counted(1, 0);
	e.seq_scans = 1;
	e.blocks_fetched = 2 * ROWS + PAGES;
	own = e;
	own.blocks_fetched += 9 * PAGES;
	ok(like(time_by_saving(own), time_by_saving(e), 1e-9) && time_by_saving(own) > none,
	   "there are no more sequential scans than counted");
}

static void
test_vacuums(void)
{
	Evidence	e = counted(1, 0);
	double		none = time_by_saving(e);
	double		most;

	e.interval[0].vacuums = 1e6;
	most = time_by_saving(e) - none;
	e.interval[0].vacuums = 1;
	ok(like((time_by_saving(e) - none) / most, PAGES / ROWS, 1e-3) && most > 0,
	   "time: a vacuum processes each page once, and at most as many pages as updates");
	none = wal_by_saving(counted(1, 0));
	e.interval[0].vacuums = 1e6;
	most = wal_by_saving(e) - none;
	e.interval[0].vacuums = 1;
	ok(like((wal_by_saving(e) - none) / most, PAGES / ROWS, 1e-3) && most > 0,
	   "WAL: a vacuum processes each page once, and at most as many pages as updates");
}

/* Pages and leaves touched for the first time since a checkpoint. */
static void
test_checkpoints(void)
{
	Evidence	hot = counted(1, 0);
	Evidence	kept = counted(0, 0);
	Evidence	e;
	double		bytes[3],
				time[3];
	double		leaves;

	for (int i = 0; i < 3; i++)
	{
		/* updates between checkpoints: one, as many as pages, very many; 100 s each */
		hot.checkpoint_s = kept.checkpoint_s = 100 * (i == 0 ? 1 : i == 1 ? PAGES : 1e9);
		bytes[i] = wal_saving(hot);
		time[i] = time_now(hot) / time_by_saving(hot);
	}
	ok(like(bytes[0] - bytes[2], TW_BLCKSZ, 1e-2) &&
	   like(bytes[1] - bytes[2], TW_BLCKSZ * (1 - exp(-1)), 1e-2),
	   "each page has one full-page image a checkpoint");
	ok(time[0] > time[2] && like((time[1] - time[2]) / (time[0] - time[2]), 1 - exp(-1), 1e-2),
	   "each page is written once a checkpoint");
	bytes[2] = wal_now(kept);
	kept.checkpoint_s = 100;
	leaves = wal_now(kept) - bytes[2] - TW_BLCKSZ;
	ok(like(leaves, 2 * TW_BLCKSZ, 1e-2), "non-HOT updates log a full image of a leaf of each index");
	kept.checkpoint_s = 100 * PAGES;
	leaves = wal_now(kept) - bytes[2] - TW_BLCKSZ * (1 - exp(-1));
	ok(like(leaves, 2 * TW_BLCKSZ * (1 - exp(-1)), 1e-2), "each leaf has one full-page image a checkpoint");
	e = hot;
	e.checkpoint_s = 1000;
	hot.checkpoint_s = 2000;
	hot.interval[0].seconds *= 2;
	ok(like(bound_of(hot, 0, 1, 0), bound_of(e, 0, 1, 0), 1e-9),
	   "full-page images depend on updates between checkpoints, not on seconds");
	hot = e;
	hot.nintervals = 2;
	hot.interval[1] = hot.interval[0];
	hot.interval[0].seconds /= 2;
	hot.interval[1].seconds /= 2;
	hot.interval[0].updated = hot.interval[0].hot = 0;
	e.interval[0].seconds /= 2;
	ok(like(bound_of(hot, 0, 1, 0), bound_of(e, 0, 1, 0), 1e-9),
	   "full-page images depend on the update rate of busy intervals");
}

/* Nothing is in memory, and the disk is so slow that nothing else counts. */
static void
test_slow_disk(void)
{
	Evidence	e = counted(1, 0);
	Evidence	kept = counted(0, 0);
	double		whole;

	e.index_scans = kept.index_scans = ROWS;
	e.ram_bytes = kept.ram_bytes = 1e-9;
	e.read_us = kept.read_us = 1e12;
	ok(like(bound_of(e, 1, 0, 0), 1.0 / 3, 1e-6),
	   "slow disk: a HOT update reads a leaf, reads and writes its page; all but the leaf can be saved");
	ok(like(bound_of(kept, 1, 0, 0), 4.0 / 6, 1e-6),
	   "slow disk: a non-HOT update also writes that leaf, and reads and writes one of the other index");
	kept.indexes = 3;
	ok(like(bound_of(kept, 1, 0, 0), 6.0 / 8, 1e-6), "slow disk: each further index adds a leaf read and written");
	kept.indexes = 1;
	ok(like(bound_of(kept, 1, 0, 0), 2.0 / 4, 1e-6), "slow disk: with one index, only its leaf");
	kept.indexes = 0;
	ok(like(bound_of(kept, 1, 0, 0), 1.0 / 3, 1e-6), "slow disk: without index, no leaf is written");
	e.index_scans = 3 * ROWS;
	ok(like(bound_of(e, 1, 0, 0), 5.0 / 7, 1e-6), "slow disk: a read reads a leaf and a page");
	e.index_scans = ROWS;
	e.seq_scans = 1e6;
	e.blocks_fetched = 4 * ROWS + 8 * ROWS;
	ok(like(bound_of(e, 1, 0, 0), 2.0 / 4, 1e-6),
	   "slow disk: a sequential scan reads eight pages in the time of one");

	/* half of it is in memory */
	e = counted(1, 0);
	e.read_us = 1;
	e.ram_bytes = 3 * PAGES * TW_BLCKSZ + 1;
	ok(like(bound_of(e, 1, 0, 0), bound_of(counted(1, 0), 1, 0, 0), 1e-9), "all in memory: no page is read");
	whole = time_now(e);
	e.ram_bytes /= 2;
	ok(like(time_by_saving(e), (whole + 1.5) / (whole / time_by_saving(counted(1, 0)) + 1), 1e-4),
	   "half in memory: every second page is read");
	e.ram_bytes = 2.5 * PAGES * TW_BLCKSZ;
	e.seq_scans = 1e6;
	e.blocks_fetched = 2 * ROWS + 8 * ROWS;
	kept = e;
	e.read_us = 1e12;
	ok(like(bound_of(e, 1, 0, 0), 1.0 / 3, 1e-6),
	   "a table that fits beside less of its indexes is scanned in memory");
}

static void
test_room(void)
{
	Evidence	e = counted(1, 0);
	double		base;
	double		row = 136 + 8;	/* a row with its line pointer, aligned */

	e.live_rows = PAGES * TW_BLCKSZ / row / 2;
	ok(like(bound_of(e, 0, 0, 1), 2.5 / 3, 1e-3), "the smallest size: full pages, indexes as they are");
	e = counted(0.9, 0.1);
	e.updated_length[0] = 1136;
	base = wal_saving(counted(0.9, 0.1));
	ok(like(wal_saving(e) - base, 0.1 * 1000, 1e-3), "a moved row is logged whole");
	e = counted(0.8, 0.2);
	ok(like(wal_saving(counted(0.7, 0.3)) - wal_saving(e), wal_saving(e) - base, 1e-3) &&
	   wal_saving(e) > base, "each moved row costs the same WAL");
	/* what cannot be saved stays the same, so 1 / bound grows with what can */
	for (int i = 0; i < 3; i++)
	{
		double		at[3];

		for (int k = 0; k < 3; k++)
		{
			Evidence	m = counted(0.9 - 0.1 * k, 0.1 + 0.1 * k);

			m.indexes = i;
			at[k] = 1 / bound_of(m, 1, 0, 0);
		}
		ok(at[1] > at[0] && like(at[2] - at[1], at[1] - at[0], 1e-3),
		   i ? "entries of moved rows take time" : "moved rows take time");
		if (i == 0)
			base = at[1] - at[0];
		else
			ok(at[1] - at[0] > base, "moved rows take more time with each index");
		base = at[1] - at[0];
	}
	e = counted(0.5, 0.5);
	base = bound_of(e, 1, 0, 0);
	ok(like(bound_of(e, 2, 0, 0), base * base, 1e-9), "the weight is the exponent of the cost");
	ok(like(bound_of(e, 1, 1, 0), base * bound_of(e, 0, 1, 0), 1e-9), "costs of different weights multiply");
}

/* ---------- costs of forecasts ---------- */

/* Decide with a fit, whatever the bound says. */
static Decision *
decided(Evidence e, double time, double wal, double size)
{
	e.time_weight = time;
	e.wal_weight = wal;
	e.size_weight = size;
	ff_decide(&work, &e, 1, &fit, &forecast, &decision);
	return &decision;
}

/* A table that has settled, by single updates of which a share changes an index. */
static Evidence
settled(double indexed)
{
	TwinLife	l = life_of(136, 2000);
	Evidence	e;

	l.class[0].indexed = indexed;
	e = observe(&l, 100, 8, 1);
	e.checkpoint_s = 1e9;
	e.earlier_updated = 1;
	add_statement(&e, &l.class[0]);
	e.statement[0].sets_indexed = NAN;
	return e;
}

static void
test_exponents(void)
{
	static Decision d[6];
	Evidence	e = settled(0.5);
	int			law = 1,
				sums = 1,
				rows;
	double		x;

	d[0] = *decided(e, 0, 0, 0);
	d[1] = *decided(e, 1, 0, 0);
	d[2] = *decided(e, 0, 1, 0);
	d[3] = *decided(e, 0, 0, 1);
	d[4] = *decided(e, 2, 0, 0);
	d[5] = *decided(e, 1, 1, 1);
	rows = forecast.step[forecast.current].rows_per_page;
	x = log(d[0].ratio[0][0][forecast.n - 1]) / log((double) rows / forecast.step[forecast.n - 1].rows_per_page);
	for (int way = 0; way < FC_WAYS; way++)
		for (int i = 0; i < forecast.n; i++)
		{
			double		sum = 0;

			for (int k = 0; k < forecast.nlives; k++)
			{
				double		c = d[0].ratio[way][k][i];

				law &= like(d[4].ratio[way][k][i] * c, pow(d[1].ratio[way][k][i], 2), 1e-9) &&
					like(d[5].ratio[way][k][i] * c * c, d[1].ratio[way][k][i] * d[2].ratio[way][k][i] *
						 d[3].ratio[way][k][i], 1e-9) &&
					like(c, pow((double) rows / forecast.step[i].rows_per_page, x), 1e-9);
				sum += forecast.weight[k] * d[5].ratio[way][k][i];
			}
			sums &= like(sum, d[5].cost[way][i].ratio, 1e-9);
		}
	ok(law && x > 0, "the cost of a life is time, WAL and size to the power of their weights, times caution");
	ok(sums && like(d[5].cost[FC_SET][forecast.current].ratio, 1, 1e-9),
	   "the cost of an option is the mean of the lives; keeping everything costs 1");
	x = 0;
	for (int k = 0; k < forecast.nlives; k++)
		x += forecast.weight[k] * (d[4].ratio[FC_REWRITE][k][0] < d[4].ratio[FC_SET][k][forecast.n - 1]);
	ok(like(ff_decide_cheaper(&forecast, &d[4], FC_REWRITE, 0, FC_SET, forecast.n - 1), x, 1e-9) &&
	   ff_decide_cheaper(&forecast, &d[4], FC_SET, 1, FC_SET, 1) == 0,
	   "cheaper() is the weight of lives, without ties");
	e.min_gain = 0.1;
	d[0].cost[FC_SET][1].ratio = 0.5;
	d[0].cost[FC_REWRITE][1].ratio = 0.46;
	sums = ff_decide_way(&e, &d[0], 1) == FC_SET;
	d[0].cost[FC_REWRITE][1].ratio = 0.44;
	ok(sums && ff_decide_way(&e, &d[0], 1) == FC_REWRITE, "a rewrite must save min_gain");
}

static void
test_sizes(void)
{
	static Decision d[2];
	Evidence	e = settled(0);
	int			same = 1;
	DcCost		keep;
	double		index = e.index_bytes;

	d[0] = *decided(e, 1, 1, 1);
	keep = d[0].cost[FC_SET][forecast.current];
	ok(like(keep.heap_bytes, e.blocks * TW_BLCKSZ, 0.05) && like(keep.index_bytes, e.index_bytes, 0.1),
	   "all updates HOT: the forecast size is today's");
	e.blocks *= 1.5;
	d[1] = *decided(e, 1, 1, 1);
	for (int i = 0; i < forecast.n; i++)
		same &= like(d[1].cost[FC_SET][i].heap_bytes, 1.5 * d[0].cost[FC_SET][i].heap_bytes, 1e-9);
	ok(same, "all updates HOT: excess pages stay");
	e.blocks = 10 * e.live_rows;
	decided(e, 1, 1, 1);
	ok(like(decision.cost[FC_SET][forecast.current].heap_bytes, 4 * keep.heap_bytes, 0.1),
	   "all updates HOT: excess pages stay up to four times the size");

	e = settled(1);
	d[0] = *decided(e, 1, 1, 1);
	keep = d[0].cost[FC_SET][forecast.current];
	ok(keep.index_bytes > 1.2 * index && keep.index_bytes < 2 * index,
	   "no update HOT: indexes grow by at most one entry a row");
	ok(like(keep.heap_bytes, e.blocks * TW_BLCKSZ, 0.1), "no update HOT: the forecast size is today's");
	e.payback_s *= 4;
	ok(like(decided(e, 1, 1, 1)->cost[FC_SET][forecast.current].index_bytes, keep.index_bytes, 1e-3),
	   "no update HOT: more updates do not make indexes larger");

	/* excess pages are scaled by the non-HOT share */
	e = settled(0.5);
	e.blocks *= 1.5;
	d[0] = *decided(e, 1, 1, 1);
	keep = d[0].cost[FC_SET][forecast.current];
	ok(like(keep.heap_bytes, e.blocks * TW_BLCKSZ, 0.1), "half of the updates HOT: excess pages stay");
}

static void
test_rewrite(void)
{
	static Decision d[3];
	Evidence	e = settled(0);
	int			i;
	double		bytes,
				more,
				reads = 0;
	DcCost	   *set,
			   *rewrite;

	d[0] = *decided(e, 1, 1, 1);
	i = forecast.current;
	bytes = e.index_bytes;
	e.index_bytes *= 3;
	d[1] = *decided(e, 1, 1, 1);
	ok(like(d[1].cost[FC_REWRITE][i].wal_bytes - d[0].cost[FC_REWRITE][i].wal_bytes,
			2 * bytes / forecast.updates, 1e-2) &&
	   like(d[1].cost[FC_SET][i].wal_bytes, d[0].cost[FC_SET][i].wal_bytes, 1e-4),
	   "a rewrite logs its indexes once, setting does not");
	more = d[1].cost[FC_REWRITE][i].time_us - d[0].cost[FC_REWRITE][i].time_us;
	ok(more > 0 && like(d[1].cost[FC_SET][i].time_us, d[0].cost[FC_SET][i].time_us, 1e-4),
	   "a rewrite takes time for its indexes, setting does not");
	e.index_bytes = bytes;
	bytes = d[0].cost[FC_REWRITE][i].heap_bytes;
	e.blocks *= 1.5;
	d[1] = *decided(e, 1, 1, 1);
	ok(like(d[1].cost[FC_REWRITE][i].wal_bytes - d[0].cost[FC_REWRITE][i].wal_bytes,
			0.5 * bytes / forecast.updates, 1e-2), "a rewrite logs the table once");
	e.blocks /= 1.5;
	e.indexes = 4;
	d[1] = *decided(e, 1, 1, 1);
	e.indexes = 6;
	d[2] = *decided(e, 1, 1, 1);
	rewrite = &d[1].cost[FC_REWRITE][i];
	ok(rewrite->time_us > d[0].cost[FC_REWRITE][i].time_us &&
	   like(d[2].cost[FC_REWRITE][i].time_us - rewrite->time_us,
			rewrite->time_us - d[0].cost[FC_REWRITE][i].time_us, 1e-2), "a rewrite takes time for each index");
	ok(d[0].cost[FC_REWRITE][i].time_us > d[0].cost[FC_SET][i].time_us, "a rewrite takes more time than setting");
	e.ram_bytes = 1e-9;
	e.read_us = 1e9;
	e.indexes = 2;
	d[1] = *decided(e, 1, 1, 1);
	set = &d[1].cost[FC_SET][i];
	rewrite = &d[1].cost[FC_REWRITE][i];
	for (int way = 0; way < FC_WAYS; way++)
	{
		reads = 0;
		for (int k = 0; k < forecast.nlives; k++)
			reads += forecast.weight[k] * (2 * forecast.outcome[way][k][i].touched + 1 +
										   3 * (1 - forecast.outcome[way][k][i].hot));
		if (way == FC_SET)
			ok(like(set->time_us / e.read_us, reads, 1e-3), "pages touched are read and written once");
	}
	ok(like(rewrite->time_us / e.read_us, reads + e.blocks / 8 / forecast.updates, 1e-4),
	   "a rewrite reads the table once, eight pages at a time");
	e.ram_bytes = e.blocks * TW_BLCKSZ / 2;
	e.index_bytes = 0;
	decided(e, 1, 1, 1);
	ok(like(decision.cost[FC_REWRITE][i].time_us / e.read_us,
			reads / 2 + e.blocks / 16 / forecast.updates, 0.05), "a rewrite reads only what is not in memory");
}

/* The WAL that statements wrote is the WAL of the forecast today. */
static void
test_wal_seen(void)
{
	static Decision d[2];
	Evidence	e = settled(0.5);
	double		n = ff_evidence_window(&e).updated;
	double		seen = 700;
	int			same = 1;

	for (int beside = 0; beside < 2; beside++)
	{
		double		keep;

		for (int i = 0; i < 2; i++)
		{
			e.statement[0].wal_bytes = n * (seen + 100 * i);
			d[i] = *decided(e, 1, 1, 1);
		}
		for (int way = 0; way < FC_WAYS; way++)
			for (int i = 0; i < forecast.n; i++)
				same &= like(d[1].cost[way][i].wal_bytes - d[0].cost[way][i].wal_bytes, 100, 1e-6) &&
					like(d[1].cost[way][i].time_us, d[0].cost[way][i].time_us, 1e-9);
		ok(same, "more WAL of updates seen adds the same WAL to all options");
		keep = d[0].cost[FC_SET][forecast.current].wal_bytes;
		if (!beside)
			ok(keep > seen && like(keep, seen, 0.1), "keep: the WAL of updates seen, and their commits");
		else
			ok(keep > seen + 100 && keep < seen + 700,
			   "keep: the WAL of updates seen, and that of inserts and deletes");
		for (int i = 0; i < e.nintervals; i++)
			e.interval[i].inserted = e.interval[i].deleted = e.interval[i].updated;
	}
}
/* ---------- the choice ---------- */

static double wanted[FC_STEPS];

static void
want_all(double ratio)
{
	for (int i = 0; i < FC_STEPS; i++)
		wanted[i] = ratio;
}

static Decision *
asked(Evidence e)
{
	return decided(e, 0.5, 0.3, 0.2);
}

static double
ratio_of(const Evidence *e, int i)
{
	return decision.cost[ff_decide_way(e, &decision, i)][i].ratio;
}

static double now[FC_STEPS];	/* costs of options without a history */
static double part;				/* weight of a history, for logarithms */

static void
prepare(Evidence e)
{
	asked(e);
	for (int i = 0; i < forecast.n; i++)
		now[i] = ratio_of(&e, i);
	for (int i = 0; i < forecast.n; i++)
		e.prior_cost[forecast.step[i].fillfactor] = 10 * (i == forecast.current ? 1 : 2 * now[i]);
	e.prior_updated = ff_evidence_window(&e).updated;
	asked(e);
	part = log2(ratio_of(&e, forecast.n - 1) / now[forecast.n - 1]);
}

/* Decide with a history that gives each step its wanted cost. */
static void
choose(Evidence e)
{
	for (int i = 0; i < forecast.n; i++)
		e.prior_cost[forecast.step[i].fillfactor] = i == forecast.current ? 1 :
			now[i] * pow(wanted[i] / now[i], 1 / part);
	e.prior_updated = ff_evidence_window(&e).updated;
	asked(e);
}

static int
advises(int step)
{
	return decision.advised == step && decision.action == (decision.best_way == FC_REWRITE ?
														   DC_REWRITE : DC_SET) &&
		decision.best == step && like(decision.gain, 1 - wanted[step], 0.02) &&
		decision.agreement >= 0.6;
}

static int
keeps(void)
{
	return decision.advised == forecast.current && decision.action == DC_KEEP && decision.gain == 0;
}

static void
test_history(void)
{
	Evidence	e = settled(0.5);
	double		none,
				half,
				full;
	int			i = 1;

	asked(e);
	none = ratio_of(&e, i);
	for (int k = 0; k < forecast.n; k++)
		e.prior_cost[forecast.step[k].fillfactor] = k == forecast.current ? 1 : 3 * none;
	asked(e);
	ok(like(ratio_of(&e, i), none, 1e-9), "a history of no updates has no weight");
	e.prior_updated = ff_evidence_window(&e).updated / 2;
	asked(e);
	half = ratio_of(&e, i);
	e.prior_updated *= 2;
	asked(e);
	full = ratio_of(&e, i);
	ok(none < half && half < full && full < 3 * none, "a history of more updates has more weight");
	ok(like(decision.cost[FC_SET][forecast.current].ratio, 1, 1e-9), "with a history, keeping everything costs 1");
	for (int k = 0; k < EV_STEPS; k++)
		e.prior_cost[k] *= 7;
	e.prior_updated *= 5;
	asked(e);
	ok(like(ratio_of(&e, i), full, 1e-9),
	   "a history has at most the weight of as many updates as now; only ratios count");
	e.prior_cost[forecast.step[2].fillfactor] = NAN;
	asked(e);
	ok(like(ratio_of(&e, i), none, 1e-9), "a history of other steps has no weight");
}

static void
test_choice(void)
{
	Evidence	e = settled(0.5);
	int			i;

	prepare(e);
	i = forecast.n / 2;
	want_all(1.001);
	choose(e);
	ok(keeps() && decision.best == forecast.current && decision.agreement == 1, "keep: all other steps cost more");
	want_all(1.3);
	wanted[i] = 0.9;
	choose(e);
	ok(advises(i) && decision.advised_in_ram == i, "one step is cheaper: it is advised");
	wanted[i - 2] = 0.8;
	choose(e);
	ok(advises(i - 2), "two steps are cheaper: the cheapest is advised");
	want_all(1.3);
	wanted[i] = 0.985;
	choose(e);
	ok(keeps() && decision.best == i, "a gain below min_gain is not advised");
	e.standing = forecast.step[i + 1].fillfactor + 1;
	choose(e);
	ok(advises(i), "a gain below min_gain is advised if chosen before");
	wanted[i] = 0.995;
	choose(e);
	ok(keeps(), "chosen before: not advised below half of min_gain");
	wanted[i] = 0.9;
	wanted[i - 2] = 0.87;
	choose(e);
	ok(advises(i), "chosen before: advised although another step is a little better");
	wanted[i - 2] = 0.7;
	choose(e);
	ok(advises(i - 2), "chosen before: replaced by a much better step");
	e.standing = forecast.step[forecast.current].fillfactor;
	wanted[i - 2] = 0.87;
	choose(e);
	ok(advises(i - 2), "keep was chosen before: the cheapest is advised");
}

static void
test_choice_below(void)
{
	TwinLife	l = life_of(136, 2000);
	Evidence	hot,
				e;
	int			lower,
				higher;

	hot = observe(&l, 70, 8, 1);
	l.class[0].indexed = 0.5;
	e = observe(&l, 70, 8, 1);
	prepare(e);
	lower = forecast.current + 3;
	higher = forecast.current - 3;
	want_all(1.3);
	wanted[lower] = 0.95;
	choose(e);
	ok(advises(lower), "below 100: more room is advised if it is better");
	e.followed = 1;
	choose(e);
	ok(keeps(), "below 100, as advised here: not yet more room for a small gain");
	wanted[lower] = 0.8;
	choose(e);
	ok(advises(lower), "below 100, as advised here: more room for a large gain");
	wanted[lower] = 1.3;
	wanted[higher] = 0.95;
	choose(e);
	ok(advises(higher), "below 100: less room is advised if it is better");
	wanted[higher] = 0.985;
	choose(e);
	ok(keeps(), "below 100: less room is not advised below min_gain");
	prepare(hot);
	want_all(1.3);
	wanted[lower] = 0.7;
	choose(hot);
	ok(keeps(), "below 100, all updates HOT: more room is not advised");
	want_all(1.3);
	wanted[higher] = 0.9;
	choose(hot);
	ok(advises(higher), "below 100, all updates HOT: less room is advised if it is better");
}

/* Hardly any updates: the cost of unused room. */
static Evidence
unused(double inserted, double updated, double updated_pct, double seconds)
{
	Evidence	e = counted(1, 0);

	e.interval[0] = (EvInterval) {
		seconds, inserted, updated, updated, 0, 0, 0
	};
	e.updated_pct = updated_pct;
	e.fillfactor = 50;
	e.min_updates = 200;
	e.min_gain = 0.02;
	e.time_weight = 0.5;
	e.wal_weight = 0.3;
	e.size_weight = 0.2;
	ff_decide(&work, &e, 0, &fit, &forecast, &decision);
	return e;
}

static int
raises(void)
{
	return decision.action == DC_SET && decision.advised == 0 && decision.best == 0 &&
		decision.advised_in_ram == 0 && decision.gain > 0.02;
}

static void
test_unused(void)
{
	Evidence	e = unused(1000, 0, 0, 86400);
	double		index = e.index_bytes;
	double		heap = PAGES * TW_BLCKSZ;
	double		full = heap * ff_twin_rows_per_page(50, 136) / ff_twin_rows_per_page(100, 136);

	ok(raises() && decision.agreement == 1 && decision.confidence == 1, "hardly any updates in a day: raise to 100");
	ok(like(decision.cost[FC_SET][forecast.current].heap_bytes, heap, 1e-9) &&
	   like(decision.cost[FC_SET][0].heap_bytes, full, 1e-9) &&
	   like(decision.cost[FC_REWRITE][0].index_bytes, index, 1e-9) &&
	   like(1 - decision.gain, pow((full + index) / (heap + index), 0.2), 1e-6),
	   "hardly any updates: unused room costs its size");
	unused(1000, 0, 0, 86399);
	ok(decision.action == DC_WAIT && decision.advised == forecast.current,
	   "hardly any updates in less than a day: wait");
	unused(1000, 9, 0.9, 86400);
	ok(raises(), "fewer updates than 1 % of inserts: raise");
	unused(1000, 11, 0.9, 86400);
	ok(keeps(), "more updates than 1 % of inserts: keep");
	unused(1000, 9, 1.1, 86400);
	ok(keeps(), "more than 1 % of the rows updated: keep");
	unused(199, 0, 0, 86400);
	ok(keeps(), "fewer inserts than min_updates: keep");
	unused(200, 0, 0, 86400);
	ok(raises(), "min_updates inserts: raise");
	e.fillfactor = 97;
	ff_decide(&work, &e, 0, &fit, &forecast, &decision);
	ok(keeps(), "raising saves less than min_gain: keep");
	unused(20000, 199, 0, 86400);
	ok(raises(), "fewer updates than min_updates, 1 % of inserts: raise");
	e = unused(20000, 199, 0, 86400);
	e.min_gain = 0.99;
	e.interval[0].updated = 200;
	ff_decide(&work, &e, 0, &fit, &forecast, &decision);
	ok(keeps() && decision.agreement == 1 && decision.confidence == 1 && fit.n == 0,
	   "min_updates updates: judged by what could be saved");
}

/* Each page moves a row at first: lives that settle by themselves. */
static void
test_settling(void)
{
	TwinLife	l = life_of(136, 3000);
	Evidence	e = observe(&l, 100, 0.2, 1);
	double		surely = 0,
				maybe = 0,
				updates = 0;

	asked(e);
	for (int k = 0; k < forecast.nlives; k++)
	{
		const FcOutcome *o = &forecast.outcome[FC_SET][k][forecast.current];

		surely += forecast.weight[k] * (o->settled_hot > 0.97);
		maybe += forecast.weight[k] * (o->settled_hot > fit.plan.split.hot);
		if (o->settled_hot > 0.97)
			updates += forecast.weight[k] * o->settle_updates;
	}
	ok(surely > 0.5 && decision.settling > surely - 1e-6 && decision.settling < maybe + 1e-6,
	   "settling is the weight of lives that settle");
	ok(like(decision.settle_updates, updates / surely, 0.1), "settle_updates is the mean of lives that settle");
}

/* Confidence. */
static void
test_confidence(void)
{
	Evidence	e = settled(0);
	double		sure = asked(e)->confidence;

	ok(sure > 0.5 && sure <= 1 && decision.settling == 0, "well explained evidence: high confidence, settled");
	e.updated_pct = 3;
	ok(asked(e)->confidence < sure, "contradictory evidence: lower confidence");
}

int
main(void)
{
	test_rows_beside();
	test_reads();
	test_vacuums();
	test_checkpoints();
	test_slow_disk();
	test_room();
	test_exponents();
	test_sizes();
	test_rewrite();
	test_wal_seen();
	test_history();
	test_choice();
	test_choice_below();
	test_unused();
	test_settling();
	test_confidence();
	printf("1..%d\n", tests);
	return failed != 0;
}
