/*
 * twin_test.c
 *	  Facts about the heap twin that hold without a server, printed as TAP.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/heap_twin.h"

static int	tests = 0;
static int	failed = 0;
static HeapTwin twin;

static void
ok(int pass, const char *what)
{
	printf("%sok %d - %s\n", pass ? "" : "not ", ++tests, what);
	failed += !pass;
}

static TwinLifecycle
settled(void)
{
	TwinLifecycle l = {.insert_len = 128, .update_len = 128, .grow_updates = 1,
		.insert_rows = 1, .update_rows = 1, .hot_eligible = 1,
		.fresh_distance = 1, .delete_oldest = 1, .vacuum_share = 0.2,
	.vacuum_gap = 1, .streams = 1, .start_rows = 6000, .warmup = 6000, .measure = 6000};

	return l;
}

static double
hot_pct(const TwinLifecycle *l, int fillfactor)
{
	TwinResult	r;

	twin_run(&twin, l, fillfactor, 7, &r);
	return 100.0 * r.hot / r.updates;
}

/* Every byte and line pointer of every page is accounted for. */
static int
pages_add_up(void)
{
	static int	live_bytes[TWIN_MAX_PAGES];
	static int	live_rows[TWIN_MAX_PAGES];
	int			i;
	int64_t		id;

	memset(live_bytes, 0, sizeof(live_bytes));
	memset(live_rows, 0, sizeof(live_rows));
	for (id = twin.first_row; id < twin.next_row; id++)
	{
		TwinRow    *r = &twin.row[id & (TWIN_MAX_ROWS - 1)];

		if (r->page >= 0)
		{
			live_bytes[r->page] += r->len;
			live_rows[r->page]++;
		}
	}
	for (i = 0; i < twin.npages; i++)
	{
		TwinPage   *p = &twin.page[i];
		int			dead_bytes = 0;
		int			dead = 0;
		int			d;

		for (d = p->dead_head; d >= 0; d = twin.dead[d].next)
		{
			dead_bytes += twin.dead[d].len;
			dead++;
		}
		if (p->gap < 0 || p->nline > TWIN_MAX_TUPLES || p->nunused < 0 || p->nunused > p->nline)
			return 0;
		if (twin.nforgotten > 0)
			continue;
		if (live_bytes[i] + dead_bytes + TWIN_ITEMID * p->nline + p->gap !=
			TWIN_BLCKSZ - TWIN_PAGE_HEADER)
			return 0;
		/* the others are redirects, at most one a live row or dead version */
		if (live_rows[i] + dead + p->nunused + p->ndead > p->nline)
			return 0;
	}
	return 1;
}

int
main(void)
{
	TwinLifecycle l;
	TwinResult	a,
				b;
	int			f,
				len,
				bad,
				i;

	/* Rows per page: load at every fillfactor and look at the first page. */
	bad = 0;
	for (len = 24; len <= 4096; len = len * 3 / 2 / 8 * 8 + 8)
		for (f = 10; f <= 100; f++)
		{
			l = settled();
			l.insert_len = l.update_len = len;
			l.start_rows = 600;
			l.warmup = l.measure = 0;
			twin_run(&twin, &l, f, 1, &a);
			if (twin.page[0].nline != twin_rows_per_page(f, len))
				bad++;
		}
	ok(bad == 0, "loading fills pages by the rows per page formula");
	ok(twin_rows_per_page(100, 128) == 61 && twin_rows_per_page(90, 128) == 55 &&
	   twin_rows_per_page(50, 128) == 30, "128 byte rows: 61, 55, 30 on a page at 100, 90, 50");
	ok(twin_rows_per_page(100, 2440) == 3 && twin_rows_per_page(95, 2440) == 3 &&
	   twin_rows_per_page(70, 2440) == 2 && twin_rows_per_page(89, 2440) == 2,
	   "three wide rows a page stay three at 95, two from 89 to 70");
	ok(twin_rows_per_page(10, 8160) == 1 && twin_rows_per_page(10, 24) == 28 &&
	   twin_rows_per_page(100, 24) == 291, "never under 1 nor above 291 rows a page");
	bad = 0;
	for (len = 24; len <= 8160; len += 8)
		for (f = 10; f <= 100; f++)
		{
			int			e = twin_step_edge(f, len);

			if (e < f || e > 100 || twin_rows_per_page(e, len) != twin_rows_per_page(f, len) ||
				(e < 100 && twin_rows_per_page(e + 1, len) == twin_rows_per_page(e, len)))
				bad++;
		}
	ok(bad == 0, "step edges are the highest fillfactor of their step, for every width");

	/* Determinism. */
	l = settled();
	l.update_rows = 3.5;
	l.fresh_share = 0.3;
	l.fresh_distance = 200;
	l.inserts_per_update = 0.2;
	twin_run(&twin, &l, 90, 42, &a);
	memset(&twin, 0x5a, sizeof(twin));
	twin_run(&twin, &l, 90, 42, &b);
	ok(memcmp(&a, &b, sizeof(a)) == 0, "the same seed gives the same counts, whatever memory held");

	/* Known extremes. */
	l = settled();
	l.warmup = 0;
	twin_run(&twin, &l, 100, 1, &a);
	ok(fabs(a.moved - 2 * 6000.0 / 61) <= 6,
	   "a full table sheds two rows a page: one for its first new version, one for the line pointers");
	l.warmup = 60000;
	ok(hot_pct(&l, 100) > 99.5, "and then no more");
	l = settled();
	l.hot_eligible = 0;
	twin_run(&twin, &l, 70, 1, &a);
	ok(a.hot == 0 && a.same_page_cold == a.updates, "an indexed column: no update is heap-only, with room in the page");
	l = settled();
	l.start_rows = 0;
	l.insert_rows = l.update_rows = l.fresh_distance = 1000;
	l.fresh_share = 1;
	l.inserts_per_update = 0.5;
	l.warmup = 6000;
	l.measure = 12000;
	ok(hot_pct(&l, 100) < 2, "batches updated whole: next to nothing heap-only at 100");
	ok(hot_pct(&l, 50) > 99.9, "and everything at 50");
	l.times = 2;
	ok(hot_pct(&l, 50) < 95 && hot_pct(&l, 30) > 99.9, "twice in one transaction: half a page is not enough, two thirds are");
	l.times = 1;
	/* the same in turn: two updates come to every row of two for an insert */
	l.insert_rows = l.update_rows = 200;
	twin_run(&twin, &l, 70, 1, &a);
	ok(a.updated_rows < 0.9 * a.judged_rows, "picked at random, batches are missed");
	l.in_turn = 1;
	twin_run(&twin, &l, 70, 1, &a);
	ok(a.judged_rows > 3000 && a.updated_rows == a.judged_rows && fabs(a.updates - 2 * a.inserts) <= 400,
	   "in turn, none is");
	l.lag = 1000;
	ok(hot_pct(&l, 50) > 45 && hot_pct(&l, 50) < 60 && hot_pct(&l, 30) > 99.9,
	   "while nothing can be pruned, half a page is room for one of two updates, two thirds for both");
	l.inserts_per_update = 2;
	twin_run(&twin, &l, 70, 1, &a);
	ok(fabs(a.updated_rows / a.judged_rows - 0.5) < 0.05, "half an update a row: half the rows have a turn");
	l = settled();
	l.insert_len = l.update_len = 2440;
	l.start_rows = 300;
	ok(hot_pct(&l, 89) == hot_pct(&l, 70), "fillfactors of one step behave the same");
	ok(hot_pct(&l, 80) > hot_pct(&l, 100), "room for one more wide row helps");
	l = settled();
	l.lag = 5000;
	ok(hot_pct(&l, 100) < 80 && hot_pct(&l, 40) > hot_pct(&l, 80) && hot_pct(&l, 80) > hot_pct(&l, 100),
	   "versions that cannot be pruned need the reserve");
	l = settled();
	l.start_rows = 5000;
	l.fresh_share = 1;
	l.inserts_per_update = l.deletes_per_update = 1;
	l.vacuum_gap = 0.1;
	twin_run(&twin, &l, 100, 1, &a);
	l.vacuum_gap = -1;
	twin_run(&twin, &l, 100, 1, &b);
	ok(a.vacuums > 0 && b.vacuums == 0 && a.pages < b.pages, "a queue reuses space only when vacuumed");

	/* Anything goes in, sense comes out. */
	bad = 0;
	srand(1);
#define RND(max) ((double) rand() / RAND_MAX * (max))
	for (i = 0; i < 1500; i++)
	{
		l.insert_len = RND(1) < 0.1 ? RND(9000) : 24 + RND(500);
		l.update_len = RND(1) < 0.5 ? l.insert_len : 24 + RND(900);
		l.grow_updates = RND(6);
		l.insert_rows = RND(1) < 0.5 ? 1 : RND(500);
		l.update_rows = RND(1) < 0.5 ? 1 : RND(500);
		l.inserts_per_update = RND(1) < 0.5 ? 0 : RND(2);
		l.deletes_per_update = RND(1) < 0.5 ? 0 : l.inserts_per_update * RND(1.2);
		l.hot_eligible = RND(1.5);
		l.fresh_share = RND(1.5) - 0.2;
		l.fresh_distance = RND(3000);
		l.in_turn = rand() % 2;
		l.skew = RND(1) < 0.5 ? 0 : RND(1.5);
		l.delete_oldest = RND(1);
		l.lag = RND(1) < 0.5 ? 0 : RND(3000);
		l.held = RND(1) < 0.5 ? 0 : RND(3000);
		l.held_share = RND(1);
		l.vacuum_share = RND(0.5);
		l.vacuum_gap = RND(3) - 0.5;
		l.streams = 1 + rand() % 10;
		l.start_rows = RND(4000);
		l.warmup = RND(4000);
		l.measure = RND(4000);
		twin_run(&twin, &l, 10 + rand() % 91, i, &a);
		if (!pages_add_up() || a.hot + a.moved + a.same_page_cold > a.updates ||
			(!a.truncated && a.hot + a.moved + a.same_page_cold != a.updates))
			bad++;
	}
	ok(bad == 0, "random lifecycles: every byte and line pointer accounted for");

	memset(&l, 0xff, sizeof(l));	/* NaN everywhere */
	l.in_turn = 1;
	twin_run(&twin, &l, -5, 0, &a);
	l = settled();
	l.insert_len = INFINITY;
	l.inserts_per_update = 1e300;
	l.start_rows = -1;
	l.update_rows = 1e30;
	twin_run(&twin, &l, 1000, 0, &b);
	ok(a.updates == 0 && b.pages <= TWIN_MAX_PAGES, "senseless numbers end the run, not the process");

	printf("1..%d\n", tests);
	return failed != 0;
}
