/*
 * decide_test.c
 *	  Facts about prices and the choice that hold whatever the prices are, as TAP.
 *
 * The bound is the cost of a table whose updates all have room by its cost today: a
 * fraction of two sums.  What costs the same in both adds to the denominator alone
 * of 1 / (1 - bound), so that one known price gives all others.
 */
#include <stdlib.h>

#include "lives.h"

#define ROWS	10000.0			/* updated in the window */
#define PAGES	1000.0

static FitWork work;
static Fit	fit;
static Forecast forecast;
static Decision decision;

static int
near(double a, double b, double share)
{
	int			good = fabs(a - b) <= share * fmax(fabs(a), fabs(b)) + 1e-12;

	if (!good)
		printf("# %.10g is not %.10g\n", a, b);
	return good;
}

/* Updates of single rows of 136 bytes, as many as they are: HOT, moved, or kept by an index. */
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
	e.min_gain = 2;				/* nothing is enough: the bound alone, no fit */
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

/* The cost now by what could be saved of it. */
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

/* Bytes that could be saved: a byte more in each of as many rows inserted is the measure. */
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
 * Microseconds that could be saved, and those of today: a microsecond a page read from a
 * disk that holds everything is the measure.  No index, all HOT or none.
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

/* One number of the evidence at 1, 2 and 3 times: each time as much is added. */
static int
linear(Evidence e, size_t number, double once, double (*cost) (Evidence))
{
	double		at[3];

	for (int i = 0; i < 3; i++)
	{
		*(double *) ((char *) &e + number) = once * (i + 1);
		at[i] = cost(e);
	}
	return at[1] > at[0] * (1 + 1e-6) && near(at[2] - at[1], at[1] - at[0], 1e-4);
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
	ok(near(wal_now(more) - wal_now(e), entry_wal, 1e-3) &&
	   near(time_now(more) - time_now(e), entry_us, 1e-3), "a row inserted makes an entry in each index");
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
		   near(all - inserts, cost[i] (more) - none, 1e-6) && inserts > none,
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
			ok(near(by[0] - by[1], 2 * (by[1] - by[2]), 1e-4) && by[1] > by[2] &&
			   near(by[0], cost[i] (both), 1e-6),
			   "twice the rows a call is half the calls; unknown ones are as large as the updates");
		}
	add_rows(&e, EV_UPDATE, 5, 4);
	more = e;
	add_rows(&more, EV_INSERT, 5, 4);
	ok(near(wal_by_saving(e), wal_by_saving(more), 1e-6) && near(decision.calls, 0.25, 1e-9),
	   "calls are those of the statements");
	e = counted(1, 0);
	e.group_old_page[0] = 1;
	for (int i = 1; i < EV_GROUP_BINS; i++)
		e.group_old_page[i] = 0;
	bound_of(e, 1, 0, 0);
	ok(decision.calls == 1, "rows that are alone on their page come from calls of one");
	e.group_old_page[2] = 1e6;
	bound_of(e, 1, 0, 0);
	ok(decision.calls >= 0.25 && decision.calls <= 0.334, "three or four together come from one call");
}

static void
test_reads(void)
{
	Evidence	e = counted(1, 0);
	Evidence	own = e;
	double		none = time_by_saving(e);

	own.index_scans = ROWS;
	ok(near(time_by_saving(own), none, 1e-9) &&
	   linear(e, NUMBER(index_scans), ROWS, time_by_saving), "scans beyond those of updates are reads");
	own.interval[0].deleted = e.interval[0].deleted = ROWS;
	own.index_scans = 2 * ROWS;
	ok(near(time_by_saving(own), time_by_saving(e), 1e-9), "those of deletes are none either");
	own.index_scans = 3 * ROWS;
	ok(near(wal_by_saving(own), wal_by_saving(e), 1e-9), "reads write no WAL");

	e = counted(1, 0);
	e.seq_scans = 1e6;
	e.blocks_fetched = 2 * ROWS;
	own = e;
	ok(near(time_by_saving(e), none, 1e-9), "pages that the updates asked for are no scan of the table");
	e.blocks_fetched = 2 * ROWS + PAGES;
	own.blocks_fetched += 2 * PAGES;
	ok(near(time_by_saving(own) - none, 2 * (time_by_saving(e) - none), 1e-6) &&
	   time_by_saving(e) > none, "pages beyond those are");
	own.interval[0].inserted = own.interval[0].deleted = PAGES / 2;
	e.interval[0] = own.interval[0];
	e.blocks_fetched = 0;
	ok(near(time_by_saving(own), time_by_saving(e), 1e-9), "and inserts and deletes ask for pages, too");
	e = counted(1, 0);
	e.seq_scans = 1;
	e.blocks_fetched = 2 * ROWS + PAGES;
	own = e;
	own.blocks_fetched += 9 * PAGES;
	ok(near(time_by_saving(own), time_by_saving(e), 1e-9) && time_by_saving(own) > none,
	   "no more scans than were counted");
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
	ok(near((time_by_saving(e) - none) / most, PAGES / ROWS, 1e-3) && most > 0,
	   "a vacuum takes each page once, and no more pages than updates were made");
	none = wal_by_saving(counted(1, 0));
	e.interval[0].vacuums = 1e6;
	most = wal_by_saving(e) - none;
	e.interval[0].vacuums = 1;
	ok(near((wal_by_saving(e) - none) / most, PAGES / ROWS, 1e-3) && most > 0, "the same in WAL");
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
		/* updates from one to the next: one, as many as pages, very many; 100 s each */
		hot.checkpoint_s = kept.checkpoint_s = 100 * (i == 0 ? 1 : i == 1 ? PAGES : 1e9);
		bytes[i] = wal_saving(hot);
		time[i] = time_now(hot) / time_by_saving(hot);
	}
	ok(near(bytes[0] - bytes[2], TW_BLCKSZ, 1e-2) &&
	   near(bytes[1] - bytes[2], TW_BLCKSZ * (1 - exp(-1)), 1e-2),
	   "each page is logged whole once a checkpoint");
	ok(time[0] > time[2] && near((time[1] - time[2]) / (time[0] - time[2]), 1 - exp(-1), 1e-2),
	   "and written as often");
	bytes[2] = wal_now(kept);
	kept.checkpoint_s = 100;
	leaves = wal_now(kept) - bytes[2] - TW_BLCKSZ;
	ok(near(leaves, 2 * TW_BLCKSZ, 1e-2), "so is a leaf of each index, where updates are not HOT");
	kept.checkpoint_s = 100 * PAGES;
	leaves = wal_now(kept) - bytes[2] - TW_BLCKSZ * (1 - exp(-1));
	ok(near(leaves, 2 * TW_BLCKSZ * (1 - exp(-1)), 1e-2), "once a checkpoint");
	e = hot;
	e.checkpoint_s = 1000;
	hot.checkpoint_s = 2000;
	hot.interval[0].seconds *= 2;
	ok(near(bound_of(hot, 0, 1, 0), bound_of(e, 0, 1, 0), 1e-9), "updates since a checkpoint count, not seconds");
	hot = e;
	hot.nintervals = 2;
	hot.interval[1] = hot.interval[0];
	hot.interval[0].seconds /= 2;
	hot.interval[1].seconds /= 2;
	hot.interval[0].updated = hot.interval[0].hot = 0;
	e.interval[0].seconds /= 2;
	ok(near(bound_of(hot, 0, 1, 0), bound_of(e, 0, 1, 0), 1e-9), "their rate is that of the time when they come");
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
	ok(near(bound_of(e, 1, 0, 0), 1.0 / 3, 1e-6),
	   "a HOT update reads a leaf, reads its page and writes it back; all but the leaf may be saved");
	ok(near(bound_of(kept, 1, 0, 0), 4.0 / 6, 1e-6),
	   "one that is not HOT writes that leaf, reads another of the other index and writes it");
	kept.indexes = 3;
	ok(near(bound_of(kept, 1, 0, 0), 6.0 / 8, 1e-6), "and that of each further one");
	kept.indexes = 1;
	ok(near(bound_of(kept, 1, 0, 0), 2.0 / 4, 1e-6), "one index: its leaf only");
	kept.indexes = 0;
	ok(near(bound_of(kept, 1, 0, 0), 1.0 / 3, 1e-6), "no index: no leaf to write");
	e.index_scans = 3 * ROWS;
	ok(near(bound_of(e, 1, 0, 0), 5.0 / 7, 1e-6), "a read reads a leaf and a page");
	e.index_scans = ROWS;
	e.seq_scans = 1e6;
	e.blocks_fetched = 4 * ROWS + 8 * ROWS;
	ok(near(bound_of(e, 1, 0, 0), 2.0 / 4, 1e-6), "a sequential scan reads eight pages in the time of one");

	/* half of it is in memory */
	e = counted(1, 0);
	e.read_us = 1;
	e.ram_bytes = 3 * PAGES * TW_BLCKSZ + 1;
	ok(near(bound_of(e, 1, 0, 0), bound_of(counted(1, 0), 1, 0, 0), 1e-9), "all in memory: no page is read");
	whole = time_now(e);
	e.ram_bytes /= 2;
	ok(near(time_by_saving(e), (whole + 1.5) / (whole / time_by_saving(counted(1, 0)) + 1), 1e-4),
	   "half in memory: every second page is read");
	e.ram_bytes = 2.5 * PAGES * TW_BLCKSZ;
	e.seq_scans = 1e6;
	e.blocks_fetched = 2 * ROWS + 8 * ROWS;
	kept = e;
	e.read_us = 1e12;
	ok(near(bound_of(e, 1, 0, 0), 1.0 / 3, 1e-6), "a table that fits beside less of its indexes is scanned in memory");
}

static void
test_room(void)
{
	Evidence	e = counted(1, 0);
	double		base;
	double		row = 136 + 8;	/* a row with its line pointer, aligned */

	e.live_rows = PAGES * TW_BLCKSZ / row / 2;
	ok(near(bound_of(e, 0, 0, 1), 2.5 / 3, 1e-3), "the least size: pages full, the indexes as they are");
	e = counted(0.9, 0.1);
	e.updated_length[0] = 1136;
	base = wal_saving(counted(0.9, 0.1));
	ok(near(wal_saving(e) - base, 0.1 * 1000, 1e-3), "a moved row is logged whole");
	e = counted(0.8, 0.2);
	ok(near(wal_saving(counted(0.7, 0.3)) - wal_saving(e), wal_saving(e) - base, 1e-3) &&
	   wal_saving(e) > base, "each moved row costs as much");
	/* without an index what cannot be saved is the same: 1 / bound grows with what can */
	for (int i = 0; i < 3; i++)
	{
		double		at[3];

		for (int k = 0; k < 3; k++)
		{
			Evidence	m = counted(0.9 - 0.1 * k, 0.1 + 0.1 * k);

			m.indexes = i;
			at[k] = 1 / bound_of(m, 1, 0, 0);
		}
		ok(at[1] > at[0] && near(at[2] - at[1], at[1] - at[0], 1e-3),
		   i ? "entries of moved rows take time" : "moved rows take time");
		if (i == 0)
			base = at[1] - at[0];
		else
			ok(at[1] - at[0] > base, "and more with each index");
		base = at[1] - at[0];
	}
	e = counted(0.5, 0.5);
	base = bound_of(e, 1, 0, 0);
	ok(near(bound_of(e, 2, 0, 0), base * base, 1e-9), "the weight is the exponent");
	ok(near(bound_of(e, 1, 1, 0), base * bound_of(e, 0, 1, 0), 1e-9), "and costs multiply");
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
	printf("1..%d\n", tests);
	return failed != 0;
}
