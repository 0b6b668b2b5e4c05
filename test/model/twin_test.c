/*
 * twin_test.c
 *	  Facts about single steps of the twin: which rows a transaction takes, what it
 *	  leaves in the pages, and what a look at them shows, as TAP.
 */
#include <stdlib.h>

#include "workloads.h"

static Twin before;

/* Run until this many more rows were updated. */
static void
run_updates(double rows)
{
	double		upto = twin.count.updates + rows;

	while (twin.count.updates < upto)
		ff_twin_run(&twin, 0.01);
}

static TwinRow *
row(int64_t id)
{
	return &twin.row[id % TW_ROWS];
}

/* 290 rows, 29 on each of ten pages that are half full. */
static TwinWorkload
half_full(void)
{
	TwinWorkload	l = workload_of(136, 290);

	l.vacuum_gap = -1;
	l.class[0].rows = 290;
	l.class[0].pick = TW_SWEEP;
	return l;
}

static Twin other;

static void
test_look(void)
{
	TwinWorkload	l = half_full();
	TwinView	v;
	double		born;

	/* a class that hardly ever updates a single row */
	add_class(&l, EV_UPDATE, 1e-6, 1, TW_ANY);
	ff_twin_start(&twin, &l, 50, 3);
	ff_twin_look(&twin, &v);
	ok(v.rows == 290 && v.pages == 10 && v.rows_per_page_max == 29 && v.updated_rows == 0 &&
	   v.group_new_page[5] + v.group_old_page[5] == 0, "a load: rows and pages as loaded, none updated");
	run_updates(290);
	ok(twin.count.hot == 290 && twin.count.touched == 10 && twin.count.prunes == 0 && twin.ndead == 290 &&
	   twin.count.moved == 0, "a pass with room: all updates HOT, each page touched once");
	ff_twin_look(&twin, &v);
	ok(v.rows == 290 && v.updated_rows == 290 && v.group_old_page[5] == 290 && v.update_age[0] == 290 &&
	   v.update_distance[0] == 0, "a page updated whole by one transaction: a group, as its old versions show");
	/* one row, some transactions later */
	twin.xid += 8;
	twin.oldest = twin.xid;
	twin.due[0] = INFINITY;
	twin.due[1] = twin.now;
	run_updates(1);
	ff_twin_look(&twin, &v);
	ok(v.group_old_page[0] == 1 && v.group_old_page[5] == 289 && v.group_new_page[5] == 0 &&
	   v.update_age[0] == 1 && v.update_age[3] == 289, "one row of a page updated later: two groups on an old page");
	ok(twin.count.prunes == 1 && twin.ndead == 290 - 29 + 1, "an update on a full page prunes it");

	/* the row of a full page moves to another one */
	l.class[0].rows = 1;
	ff_twin_start(&twin, &l, 100, 3);
	run_updates(1);
	ok(twin.count.moved == 1 && twin.count.touched == 2, "an update that leaves its page touches both pages");

	/* half of the rows of the first page, 16 transactions after it was loaded */
	l.class[0].rows = 14;
	ff_twin_start(&twin, &l, 50, 3);
	twin.xid += 15;
	run_updates(14);
	born = v.update_distance[4];
	ff_twin_look(&twin, &v);
	ok(born == 0 && v.group_old_page[4] == 14 && v.update_distance[4] == 14 && v.group_new_page[4] == 0 &&
	   v.updated_rows == 14 && v.rows == 290, "half of a page updated: a group with its distance from the insert");
	twin.xid += 100;
	ff_twin_look(&twin, &v);
	ok(v.update_distance[4] == 14 && v.update_age[6] == 14 && v.update_age[4] == 0,
	   "later the distance of a group is the same, its age is higher");
}

static void
test_growing(void)
{
	TwinWorkload	l = half_full();

	for (int i = 0; i < TW_QUANTILES; i++)
		l.update_len[i] = 208;
	l.class[0].resizes = 1;
	ff_twin_start(&twin, &l, 30, 3);
	run_updates(290);
	ok(row(0)->len == 208 && row(289)->len == 208, "rows that grow have their final length after an update");
	l.class[0].resizes = 0;
	ff_twin_start(&twin, &l, 30, 3);
	run_updates(290);
	ok(row(0)->len == 136, "rows do not grow if updates do not resize");
	/* rows that no longer fit on their page */
	l.class[0].resizes = 1;
	ff_twin_start(&twin, &l, 100, 3);
	run_updates(290);
	ok(twin.count.moved == 290 && twin.count.update_bytes == 290 * 208 && twin.count.hot == 0,
	   "rows that grow without room move");
}

static void
test_pass_growing(void)
{
	TwinWorkload	l = workload_of(136, 1000);
	int			passes = 0;
	int			whole = 1;

	l.class[0].pick = TW_SWEEP;
	l.class[0].all_rows = 1;
	l.class[0].rows = 1000;
	add_class(&l, EV_INSERT, 0.5, 50, TW_ANY);
	ff_twin_start(&twin, &l, 100, 3);
	for (int i = 0; i < 5000; i++)
	{
		double		rows = (double) twin.nlive;

		ff_twin_count_from_here(&twin);
		ff_twin_run(&twin, 1);
		passes += twin.count.updates > 0;
		whole &= twin.count.updates == 0 || twin.count.updates >= rows;
	}
	ok(passes == 5 && whole, "a pass over a table that grows takes all of its rows each time");
}

/* Rows inserted one by one, and updated by a class. */
static TwinWorkload
inserted(TwinPick pick, double rate, double distance, double back)
{
	TwinWorkload	l = workload_of(136, 1000);

	l.class[0].rate = rate;
	l.class[0].pick = pick;
	l.class[0].distance = distance;
	l.class[0].near = back;
	add_class(&l, EV_INSERT, 1, 1, TW_ANY);
	return l;
}

static void
test_in_turn(void)
{
	TwinWorkload	l = inserted(TW_IN_TURN, 1, 100, 0);
	int			right = 1;

	ff_twin_start(&twin, &l, 90, 3);
	ff_twin_run(&twin, 3000);
	for (int64_t id = 1000; id < twin.next_row; id++)
		right &= id < twin.next_row - 130 ? row(id)->updates == 1 : id < twin.next_row - 100 || row(id)->updates == 0;
	ok(right && near(twin.next_row, 4000, 10), "in turn: each row is updated once, at its distance");
	l.class[0].rate = 2;
	ff_twin_start(&twin, &l, 90, 3);
	ff_twin_run(&twin, 3000);
	right = 1;
	for (int64_t id = 1000; id < twin.next_row; id++)
		right &= id < twin.next_row - 140 ? row(id)->updates == 2 :
			id < twin.next_row - 100 ? row(id)->updates >= 1 :
			id < twin.next_row - 80 ? row(id)->updates <= 2 : id < twin.next_row - 50 ? row(id)->updates <= 1 :
			row(id)->updates == 0;
	ok(right, "in turn at rate 2: each row is updated at half the distance and at the distance");
	l.class[0].rate = 0.5;
	ff_twin_start(&twin, &l, 90, 3);
	ff_twin_run(&twin, 4000);
	right = 0;
	for (int64_t id = 1000; id < twin.next_row; id++)
		right += row(id)->updates;
	ok(near(right / (double) (twin.next_row - 1000), 0.5, 0.05), "in turn at rate 0.5: every second row is updated");
	l.class[0].rate = 1;
	l.class[0].rows = 50;
	ff_twin_start(&twin, &l, 90, 3);
	ff_twin_run(&twin, 3000);
	right = 1;
	for (int64_t id = 1000; id < twin.next_row; id++)
		right &= id < twin.next_row - 280 ? row(id)->updates == 1 : id < twin.next_row - 100 + 1 ||
			  row(id)->updates == 0;
	ok(right, "in turn, 50 rows a call: updated when the newest of them has its distance");
}

static void
test_newest(void)
{
	TwinWorkload	l = inserted(TW_NEWEST, 1, 60, 50);
	int			right = 1;
	int			seen[2] = {1000, 0};

	ff_twin_start(&twin, &l, 90, 3);
	for (int k = 0; k < 2000; k++)
	{
		ff_twin_copy(&before, &twin);
		ff_twin_run(&twin, 0.05);
		if (twin.count.updates != before.count.updates + 1 || twin.count.inserts != before.count.inserts)
			continue;
		for (int64_t id = 0; id < twin.next_row; id++)
			if (row(id)->updates != before.row[id].updates)
			{
				int			back = (int) (twin.next_row - 1 - id);

				right &= back >= 50 && back < 60;
				seen[0] = back < seen[0] ? back : seen[0];
				seen[1] = back > seen[1] ? back : seen[1];
			}
	}
	ok(right && seen[0] == 50 && seen[1] == 59, "newest: updated rows are from near to distance behind the newest");
}

/* How often each row was updated in 2,000 updates of 1,000 rows; the most often updated first. */
static int
times(double skew, TwinPick pick, int *rows)
{
	TwinWorkload	l = workload_of(136, 1000);
	int			most = 0;

	l.class[0].pick = pick;
	l.class[0].skew = skew;
	ff_twin_start(&twin, &l, 90, 5);
	ff_twin_run(&twin, 2000);
	*rows = 0;
	for (int64_t id = 0; id < 1000; id++)
	{
		*rows += row(id)->updates > 0;
		if (row(id)->updates > most)
			most = row(id)->updates;
	}
	return most;
}

static void
test_skew(void)
{
	int			rows,
				most = times(1, TW_SKEWED, &rows);

	/* the most frequent row has ln 2 / ln n of the updates: 200 */
	ok(near(most, 200, 45) && rows > 150 && rows < 600, "skew 1: rows are updated by Zipf's law");
	most = times(0.5, TW_SKEWED, &rows);
	/* (2^0.5 - 1) / (n^0.5 - 1): 27 */
	ok(near(most, 27, 16) && rows > 600, "skew 0.5: more rows, fewer updates of the most frequent one");
	most = times(1.3, TW_SKEWED, &rows);
	/* (1 - 2^-0.3) / (1 - n^-0.3): 0.215 */
	ok(most == 255 && rows < 400, "skew 1.3: fewer rows, more updates of the most frequent one");
	most = times(1, TW_ANY, &rows);
	/* 1 - exp(-2) of the rows */
	ok(most < 14 && near(rows, 865, 30), "no skew: updates are spread evenly");
}

static void
test_rates(void)
{
	TwinWorkload	l = workload_of(136, 2000);

	add_class(&l, EV_INSERT, 0.25, 5, TW_ANY);
	add_class(&l, EV_DELETE, 0.1, 1, TW_OLDEST);
	ff_twin_start(&twin, &l, 90, 3);
	ff_twin_run(&twin, 8000);
	ok(near(twin.count.updates, 8000, 90) && near(twin.count.inserts, 2000, 90) && near(twin.count.deletes, 800, 30),
	   "classes have rows in proportion to their rates");
	ok(twin.first_row == twin.count.deletes && twin.nlive == 2000 + twin.count.inserts - twin.count.deletes &&
	   row(twin.first_row)->page >= 0 && twin.next_row == 2000 + twin.count.inserts, "the oldest rows are deleted");
	l = workload_of(136, 2000);
	l.class[0].rows = 2.5;
	ff_twin_start(&twin, &l, 90, 3);
	ff_twin_run(&twin, 8000);
	ok(near(twin.count.updates / (twin.xid - 1), 2.5, 0.08) && near(twin.now, 8000, 1e-6),
	   "rows per transaction have the given mean");
	l.class[0].stride = 0;
	l.class[0].rows = 10;
	ff_twin_start(&twin, &l, 30, 3);
	run_updates(10);
	ok(twin.count.updates == 10 && twin.count.touched > 8, "scattered rows are on different pages");
	l.class[0].stride = 1;
	ff_twin_start(&twin, &l, 30, 3);
	run_updates(10);
	ok(twin.count.touched <= 2, "neighbouring rows are on one or two pages");
	l.class[0].stride = 20;
	ff_twin_start(&twin, &l, 30, 3);
	run_updates(10);
	ok(twin.count.touched == 10 || twin.count.touched == 11 || twin.count.updates < 10,
	   "every 20th row: each on another page");
}

/* Every k-th row in a pass: each row once, each statement takes rows of one remainder. */
/* Rows that nobody touches between the others; a rewrite keeps the order of the pages. */
static void
test_cold_between(void)
{
	TwinWorkload	l = half_full();
	TwinView	v;

	l.between = 1;
	ff_twin_start(&twin, &l, 100, 3);
	ff_twin_look(&twin, &v);
	ok(twin.npages == 10 && twin.nlive == 290 && twin.ncold == 290 && v.rows == 290 && v.cold == 290 && v.pages == 10 &&
	   v.rows_per_page_max == 58, "a row that nobody touches after each loaded one");
	run_updates(290);
	ok(twin.count.updates == 290 && twin.count.moved == 290 && row(0)->page == 10, "full pages: all live rows move");
	ff_twin_rewrite(&twin, 100);
	ff_twin_look(&twin, &v);
	ok(twin.npages == 10 && twin.ncold == 290 && v.rows == 290 && row(0)->page == 5 && row(289)->page == 9,
	   "a rewrite: the rows that stayed come first");
	l.between = 0.1;
	ff_twin_start(&twin, &l, 100, 3);
	ok(twin.ncold == 29, "one after ten of them");
}

/* Transactions over ten neighbours. */
static void
test_apart(void)
{
	for (int apart = 0; apart < 2; apart++)
	{
		TwinWorkload	l = workload_of(136, 100);
		int			whole = 1;

		l.class[0].rows = 10;
		l.class[0].apart = apart;
		ff_twin_start(&twin, &l, 50, 3);
		run_updates(1000);
		for (int64_t id = 0; id < 100; id += 10)
			whole &= row(id)->xmin == row(id + 9)->xmin;
		ok(whole == !apart, apart ? "any row may be the first" : "the same rows are taken together each time");
	}
}

static void
test_stride(void)
{
	TwinWorkload	l = workload_of(136, 300);
	int			right = 1;

	l.class[0].rows = 25;
	l.class[0].stride = 4;
	l.class[0].pick = TW_SWEEP;
	ff_twin_start(&twin, &l, 50, 3);
	for (int k = 0; k < 12; k++)
	{
		ff_twin_copy(&before, &twin);
		run_updates(25);
		for (int64_t id = 0; id < 300; id++)
			right &= row(id)->updates - before.row[id].updates ==
				(id / 100 == k % 3 && id % 4 == k / 3);
	}
	ok(right, "stride 4: every fourth row, range by range, then the next of every four");
	l.class[0].rows = 290;
	l.class[0].stride = 1;
	l.class[0].all_rows = 1;
	ff_twin_start(&twin, &l, 50, 3);
	run_updates(300);
	for (int64_t id = 0; id < 300; id++)
		right &= row(id)->updates == 1;
	ok(right && twin.count.updates == 300, "whole sweep: all rows");
	l.class[0].rows = 145;
	l.class[0].stride = 2;
	ff_twin_start(&twin, &l, 50, 3);
	run_updates(150);
	for (int64_t id = 0; id < 300; id++)
		right &= row(id)->updates == 1 - id % 2;
	ok(right, "whole sweep of stride 2: every second row");
	run_updates(150);
	for (int64_t id = 0; id < 300; id++)
		right &= row(id)->updates == 1;
	ok(right, "whole sweep of stride 2: the next statement takes the other rows");
}

static void
test_dead(void)
{
	TwinWorkload	l = workload_of(136, 4000);
	double		age = 0;
	TwinView	v;
	int			pages;

	/* each update leaves a dead version and then its line pointer: 800 of 4,000 are a fifth */
	l.class[0].indexed = 1;
	l.vacuum_gap = 0;
	ff_twin_start(&twin, &l, 90, 3);
	ff_twin_run(&twin, 8000);
	ok(near(twin.count.vacuums, 10, 1), "vacuum runs at its share of dead rows");
	l.vacuum_gap = 1;
	ff_twin_start(&twin, &l, 90, 3);
	ff_twin_run(&twin, 8100);
	ok(twin.count.vacuums == 2, "vacuum does not run before its gap");
	l.vacuum_gap = -1;
	ff_twin_start(&twin, &l, 90, 3);
	ff_twin_run(&twin, 8100);
	ok(twin.count.vacuums == 0 && twin.ndead_lps > 2000, "without vacuum, dead line pointers stay");
	l.class[0].indexed = 0.25;
	ff_twin_start(&twin, &l, 50, 3);
	ff_twin_run(&twin, 8000);
	ok(near(twin.count.blocked / twin.count.updates, 0.25, 0.02),
	   "the given share of updates is blocked by an index");
	l.class[0].indexed = 0;
	l.lag = 20;
	ff_twin_start(&twin, &l, 90, 3);
	for (int i = 0; i < 40000; i++)
	{
		ff_twin_run(&twin, 1);
		age += (twin.xid - twin.oldest) / 40000.0;
	}
	ok(near(age, 20, 3), "the age of the oldest snapshot has the given mean");
	l.lag = 0;
	/* rows are inserted and deleted: their pages are reused */
	l.vacuum_gap = 0;
	l.class[0].rate = 0.1;
	add_class(&l, EV_INSERT, 1, 10, TW_ANY);
	add_class(&l, EV_DELETE, 1, 10, TW_OLDEST);
	ff_twin_start(&twin, &l, 90, 3);
	pages = twin.npages;
	ff_twin_run(&twin, 40000);
	ff_twin_look(&twin, &v);
	ok(twin.npages < pages * 1.5 && twin.npages >= pages && near(v.rows, 4000, 100) && twin.count.vacuums > 20,
	   "vacuumed pages of deleted rows are reused");
	twin.workload.vacuum_gap = -1;
	ff_twin_count_from_here(&twin);
	pages = twin.npages;
	ff_twin_run(&twin, 8000);
	ok(twin.npages > pages * 1.5 && twin.count.vacuums == 0, "without vacuum, pages of deleted rows are not reused");
}

/*
 * Every fifth row of full pages, again and again the same: they leave their pages, which keep
 * the old versions, and are together on new pages.
 */
static void
test_clumps(void)
{
	TwinWorkload	l = workload_of(136, 580);
	TwinView	v;
	int			right = 1;

	l.vacuum_gap = -1;
	l.class[0].rows = 116;
	l.class[0].stride = 5;
	l.class[0].all_rows = 1;
	l.class[0].pick = TW_ANY;
	ff_twin_start(&twin, &l, 100, 3);
	run_updates(1);
	ff_twin_look(&twin, &v);
	ok(twin.count.moved == 116 && v.group_new_page[6] == 116 && v.group_old_page[4] == 116 &&
	   v.pages == 12 && v.updated_rows == 116,
	   "rows that leave full pages: a group on each old page, one on each new page");
	for (int i = 0; i < 3; i++)
		run_updates(1);
	for (int64_t id = 0; id < 580; id++)
		right &= row(id)->updates == (id % 5 == 0 ? 4 : 0);
	ok(right && twin.count.updates == 464, "the same rows each time");
	ff_twin_look(&twin, &v);
	ok(v.group_old_page[4] == 0 && twin.ndead == 116, "a pass over the table prunes all full pages, also those left");

	l = half_full();
	add_class(&l, EV_DELETE, 1e-6, 14, TW_OLDEST);
	ff_twin_start(&twin, &l, 50, 3);
	twin.due[0] = INFINITY;
	twin.due[1] = twin.now;
	ff_twin_run(&twin, 1);
	ff_twin_look(&twin, &v);
	ok(twin.count.deletes == 14 && v.rows == 276 && v.group_old_page[4] == 0, "deleted rows are no group");
	twin.due[1] = twin.now;
	ff_twin_run(&twin, 1);
	twin.due[1] = twin.now;
	ff_twin_run(&twin, 1);
	ff_twin_look(&twin, &v);
	ok(v.rows == 248 && v.pages == 9 && twin.npages == 10, "rows per page are those of pages with rows");
}

/* What happens once: a pass over all rows, and a snapshot that is held. */
static void
test_once(void)
{
	TwinWorkload	l = workload_of(136, 290);
	TwinClass  *pass = add_class(&l, EV_UPDATE, 1e-6, 290, TW_SWEEP);
	TwinView	v;
	double		updates;

	l.vacuum_gap = -1;
	pass->all_rows = 1;
	pass->once = 100;
	ff_twin_start(&twin, &l, 50, 3);
	ff_twin_run(&twin, 99);
	ff_twin_look(&twin, &v);
	ok(v.updated_rows <= 99, "what happens once does not happen before its time");
	ff_twin_run(&twin, 2);
	ff_twin_look(&twin, &v);
	updates = twin.count.updates;
	ok(v.updated_rows == 290 && near(updates, 101, 1) && twin.count.hot == updates,
	   "at its time it happens, and is not counted");
	ff_twin_run(&twin, 3000);
	ok(near(twin.count.updates - updates, 3000, 2), "it does not happen again");

	/* single updates of 29 rows on a page with room for as many: all HOT unless versions stay */
	l.nclasses = 1;
	l.held_from = 1000;
	l.held_until = 2000;
	ff_twin_start(&twin, &l, 50, 3);
	ff_twin_run(&twin, 1000);
	ok(twin.count.hot == twin.count.updates && twin.ndead < 290, "before a snapshot is held, pages are pruned");
	ff_twin_count_from_here(&twin);
	ff_twin_run(&twin, 999);
	ok(twin.count.moved > 300 && twin.ndead >= 999, "while it is held, all versions stay");
	ff_twin_run(&twin, 3000);
	ff_twin_count_from_here(&twin);
	ff_twin_run(&twin, 1000);
	ok(twin.count.hot == twin.count.updates && twin.ndead < 999, "afterwards pages are pruned again");
}

/*
 * Two rows are deleted; the second one is not yet removed by vacuum.  The space of the
 * first is just enough for a new row, in the 32 byte units of the map.
 */
static void
test_free_space(void)
{
	TwinWorkload	l = workload_of(136, 580);

	l.vacuum_share = l.vacuum_gap = 0;
	l.class[0].command = EV_DELETE;
	l.class[0].pick = TW_OLDEST;
	add_class(&l, EV_INSERT, 1, 1, TW_ANY);
	ff_twin_start(&twin, &l, 100, 3);
	twin.due[1] = INFINITY;
	while (twin.count.deletes < 2)
		ff_twin_run(&twin, 0.01);
	ok(twin.npages == 10 && twin.page[0].fsm == 136 / 32 + 1 && twin.fsm_most == twin.page[0].fsm,
	   "vacuum tells the free space map about the space of a deleted row");
	twin.due[0] = INFINITY;
	twin.due[1] = twin.now;
	while (twin.count.inserts < 1)
		ff_twin_run(&twin, 0.01);
	ok(twin.npages == 10 && row(580)->page == 0, "a row that just fits, by the free space map, takes this space");
}

/* The twin limits all values of a workload to what it can hold. */
/* Inserts fill old pages that have room, and each of these is logged whole. */
static void
test_spare_pages(void)
{
	TwinWorkload	l = workload_of(136, 0);

	l.class[0].command = EV_INSERT;
	for (int fillfactor = 70; fillfactor <= 100; fillfactor += 30)
	{
		int			old = fillfactor == 100;

		ff_twin_start(&twin, &l, fillfactor, 3);
		twin.near_checkpoint = 1e12;
		twin.spare_pages = 3;
		/* 17 rows; the reserve of 70 leaves room for none */
		twin.spare_bytes = 17 * (136 + TW_ITEMID);
		ff_twin_run(&twin, 3 * 17 + 58);
		ok(twin.spare_used == (old ? 3 : 0) && near(twin.count.images, old ? 3 : 0, 1e-6) &&
		   twin.npages == (old ? 4 : 3), old ? "less reserve: inserts fill the old pages first, an image each" :
		   "as before: inserts fill new pages, without images");
	}
}

/* A page is logged whole if a checkpoint came since its last change. */
static void
test_images(void)
{
	TwinWorkload	l = half_full();

	ff_twin_start(&twin, &l, 50, 3);
	run_updates(290);
	ff_twin_count_from_here(&twin);
	ff_twin_copy(&other, &twin);
	twin.checkpoint = 1;
	run_updates(290);
	ok(near(twin.count.images, 10, 1) && near(twin.count.touched, 10, 1),
		  "a checkpoint between two passes: an image of each page");
	ff_twin_copy(&twin, &other);
	twin.checkpoint = 2900;
	run_updates(2900);
	/* the passes come at random times */
	ok(near(twin.count.images, 10, 2) && near(twin.count.touched, 100, 10), "ten passes to a checkpoint: a tenth");
}

static void
test_range(void)
{
	for (int most = 0; most < 2; most++)
	{
		const double far = most ? 1e12 : -1e12;
		TwinWorkload	l = workload_of(most ? 32767 : -32768, far);
		const TwinClass *c = &twin.workload.class[0];

		l.class[0].rate = l.class[0].rows = l.class[0].distance = l.class[0].skew = l.class[0].stride =
			l.class[0].indexed = far;
		l.nclasses = most ? 100 : 1;
		l.lag = l.held = l.held_share = l.vacuum_share = far;
		ff_twin_start(&twin, &l, (int) (far / 1e9), 3);
		ok(twin.workload.nclasses == (most ? TW_CLASSES : 1) && c->rate == (most ? 1000 : 1e-6) &&
		   c->rows == (most ? TW_ROWS / 2 : 1) && c->distance == (most ? TW_ROWS : 1) &&
		   c->skew == 2 * most && c->stride == (most ? TW_ROWS : 0) && c->indexed == most &&
		   twin.workload.start_rows == (most ? TW_ROWS : 0) &&
		   twin.workload.lag == most * 1e9 && twin.workload.held == most * 1e9 && twin.workload.held_share == most &&
		   twin.workload.vacuum_share == most * 1e9 &&
			   twin.workload.insert_len[0] == TW_MAXALIGN(most ? TW_MAX_LEN : TW_MIN_LEN) &&
			   twin.workload.update_len[0] == twin.workload.insert_len[0] &&
			   twin.reserve == (most ? 0 : TW_BLCKSZ * (100 - TW_MIN_FF) / 100),
			   most ? "too large values are set to the largest" : "too small values are set to the smallest");
	}
}

/* A queue: as many rows are deleted at random as are inserted, so most ids are soon gone. */
static void
test_gaps(void)
{
	static const TwinPick picks[] = {TW_ANY, TW_SKEWED, TW_NEWEST, TW_IN_TURN, TW_SWEEP};
	int			right = 1;

	for (int k = 0; k < 2 * 5; k++)
	{
		TwinWorkload l = workload_of(136, 100);
		int64_t		live = 0;

		l.class[0].pick = picks[k / 2];
		l.class[0].distance = 20;
		l.class[0].skew = 1;
		/* every tenth row of all, or single ones */
		if (k % 2 == 1 && (l.class[0].pick == TW_ANY || l.class[0].pick == TW_SWEEP))
		{
			l.class[0].rows = l.class[0].stride = 10;
			l.class[0].all_rows = 1;
		}
		add_class(&l, EV_INSERT, 1, 1, TW_ANY);
		add_class(&l, EV_DELETE, 1, 1, TW_ANY);
		ff_twin_start(&twin, &l, 50, 3);
		ff_twin_run(&twin, 20000);
		ff_twin_count_from_here(&twin);
		ff_twin_run(&twin, 10000);
		for (int64_t id = twin.first_row; id < twin.next_row; id++)
			live += row(id)->page >= 0;
		right &= twin.count.updates > 6000 && twin.count.updates < 14000 && twin.count.deletes > 9000 &&
			live == twin.nlive && twin.nforgotten == 0 && twin.next_row - twin.first_row <= 4 * live + 1;
	}
	ok(right, "a queue: however many rows were deleted, classes find those that live");
}

int
main(void)
{
	test_look();
	test_free_space();
	test_spare_pages();
	test_images();
	test_range();
	test_growing();
	test_pass_growing();
	test_in_turn();
	test_newest();
	test_skew();
	test_rates();
	test_cold_between();
	test_apart();
	test_stride();
	test_dead();
	test_clumps();
	test_once();
	test_gaps();
	printf("1..%d\n", tests);
	return failed != 0;
}
