/*
 * twin_test.c
 *	  Facts about single steps of the twin: which rows a transaction takes, what it
 *	  leaves in the pages, and what a look at them shows, as TAP.
 */
#include <stdlib.h>

#include "lives.h"

static Twin before;

/* Until so many rows more were updated. */
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
static TwinLife
half_full(void)
{
	TwinLife	l = life_of(136, 290);

	l.vacuum_gap = -1;
	l.class[0].rows = 290;
	l.class[0].pick = TW_SWEEP;
	return l;
}

static void
test_look(void)
{
	TwinLife	l = half_full();
	TwinView	v;
	double		born;

	/* hardly ever, a single row */
	add_class(&l, EV_UPDATE, 1e-6, 1, TW_ANY);
	ff_twin_start(&twin, &l, 50, 3);
	ff_twin_look(&twin, &v);
	ok(v.rows == 290 && v.pages == 10 && v.rows_per_page_max == 29 && v.updated_rows == 0 &&
	   v.group_new_page[5] + v.group_old_page[5] == 0, "a load as it is");
	run_updates(290);
	ok(twin.count.hot == 290 && twin.count.touched == 10 && twin.count.prunes == 0 && twin.ndead == 290 &&
	   twin.count.moved == 0, "a pass over rows that have room: all HOT, each page touched once");
	ff_twin_look(&twin, &v);
	ok(v.rows == 290 && v.updated_rows == 290 && v.group_new_page[5] == 290 && v.update_age[0] == 290 &&
	   v.update_distance[0] == 0, "a page that one transaction updated in whole");
	/* one row by itself, some transactions later */
	twin.xid += 8;
	twin.oldest = twin.xid;
	twin.due[0] = INFINITY;
	twin.due[1] = twin.now;
	run_updates(1);
	ff_twin_look(&twin, &v);
	ok(v.group_old_page[0] == 1 && v.group_old_page[5] == 28 && v.group_new_page[5] == 261 &&
	   v.update_age[0] == 1 && v.update_age[3] == 289, "a row updated later is a group of its own, and so are the others");
	ok(twin.count.prunes == 1 && twin.ndead == 290 - 29 + 1, "its page is pruned, as no room was left");

	/* half of the rows of the first page, 16 transactions after it was loaded */
	l.class[0].rows = 14;
	ff_twin_start(&twin, &l, 50, 3);
	twin.xid += 15;
	run_updates(14);
	born = v.update_distance[4];
	ff_twin_look(&twin, &v);
	ok(born == 0 && v.group_old_page[4] == 14 && v.update_distance[4] == 14 && v.group_new_page[4] == 0 &&
	   v.updated_rows == 14 && v.rows == 290, "a group beside rows as inserted, so many transactions after them");
	twin.xid += 100;
	ff_twin_look(&twin, &v);
	ok(v.update_distance[4] == 14 && v.update_age[6] == 14 && v.update_age[4] == 0, "that distance stays, its age grows");
}

static void
test_growing(void)
{
	TwinLife	l = half_full();
	static const int lengths[] = {136, 160, 184, 208, 208};
	int			right = 1;

	for (int i = 0; i < TW_QUANTILES; i++)
		l.update_len[i] = 208;
	l.grow_updates = 3;
	l.class[0].resizes = 1;
	ff_twin_start(&twin, &l, 30, 3);
	for (int k = 0; k < 5; k++)
	{
		for (int64_t id = 0; id < 290; id++)
			right &= row(id)->len == lengths[k] && row(id)->updates == k;
		run_updates(290);
	}
	ok(right, "rows grow with each of their updates, to their last length");
	l.grow_updates = -3;
	ff_twin_start(&twin, &l, 30, 3);
	run_updates(290);
	ok(row(0)->len == 208, "at once, where it is said to take less than an update");
	l.class[0].resizes = 0;
	ff_twin_start(&twin, &l, 30, 3);
	run_updates(290);
	ok(row(0)->len == 136, "unless updates do not resize");
	/* a row that does not fit any more */
	l.class[0].resizes = 1;
	l.grow_updates = 1;
	ff_twin_start(&twin, &l, 100, 3);
	run_updates(290);
	ok(twin.count.moved == 290 && twin.count.update_bytes == 290 * 208 && twin.count.hot == 0, "without room they move, whole");
}

/* Rows that are inserted, one by one, and updated by a class. */
static TwinLife
inserted(TwinPick pick, double rate, double distance, double back)
{
	TwinLife	l = life_of(136, 1000);

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
	TwinLife	l = inserted(TW_IN_TURN, 1, 100, 0);
	int			right = 1;

	ff_twin_start(&twin, &l, 90, 3);
	ff_twin_run(&twin, 3000);
	for (int64_t id = 1000; id < twin.next_row; id++)
		right &= id < twin.next_row - 130 ? row(id)->updates == 1 : id < twin.next_row - 100 || row(id)->updates == 0;
	ok(right && near(twin.next_row, 4000, 10), "each row in turn, when so many came after it");
	l.class[0].rate = 2;
	ff_twin_start(&twin, &l, 90, 3);
	ff_twin_run(&twin, 3000);
	right = 1;
	for (int64_t id = 1000; id < twin.next_row; id++)
		right &= id < twin.next_row - 140 ? row(id)->updates == 2 :
			id < twin.next_row - 100 ? row(id)->updates >= 1 :
			id < twin.next_row - 80 ? row(id)->updates <= 2 : id < twin.next_row - 50 ? row(id)->updates <= 1 :
			row(id)->updates == 0;
	ok(right, "twice, halfway and then");
	l.class[0].rate = 0.5;
	ff_twin_start(&twin, &l, 90, 3);
	ff_twin_run(&twin, 4000);
	right = 0;
	for (int64_t id = 1000; id < twin.next_row; id++)
		right += row(id)->updates;
	ok(near(right / (double) (twin.next_row - 1000), 0.5, 0.05), "every second one");
	l.class[0].rate = 1;
	l.class[0].rows = 50;
	ff_twin_start(&twin, &l, 90, 3);
	ff_twin_run(&twin, 3000);
	right = 1;
	for (int64_t id = 1000; id < twin.next_row; id++)
		right &= id < twin.next_row - 280 ? row(id)->updates == 1 : id < twin.next_row - 100 + 1 || row(id)->updates == 0;
	ok(right, "so many at a time, when the last of them has waited");
}

static void
test_newest(void)
{
	TwinLife	l = inserted(TW_NEWEST, 1, 60, 50);
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
	ok(right && seen[0] == 50 && seen[1] == 59, "so many rows behind the newest, from near to far");
}

/* How often each row was updated in 2,000 updates of 1,000 rows; the most often updated first. */
static int
times(double skew, TwinPick pick, int *rows)
{
	TwinLife	l = life_of(136, 1000);
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

	/* the favourite has ln 2 / ln n of the updates: 200 */
	ok(near(most, 200, 45) && rows > 150 && rows < 600, "Zipf's law");
	most = times(0.5, TW_SKEWED, &rows);
	/* (2^0.5 - 1) / (n^0.5 - 1): 27 */
	ok(near(most, 27, 16) && rows > 600, "a lesser skew");
	most = times(1.3, TW_SKEWED, &rows);
	/* (1 - 2^-0.3) / (1 - n^-0.3): 0.215 */
	ok(most == 255 && rows < 400, "a greater one");
	most = times(1, TW_ANY, &rows);
	/* 1 - exp(-2) of the rows */
	ok(most < 14 && near(rows, 865, 30), "none");
}

static void
test_rates(void)
{
	TwinLife	l = life_of(136, 2000);

	add_class(&l, EV_INSERT, 0.25, 5, TW_ANY);
	add_class(&l, EV_DELETE, 0.1, 1, TW_OLDEST);
	ff_twin_start(&twin, &l, 90, 3);
	ff_twin_run(&twin, 8000);
	ok(near(twin.count.updates, 8000, 90) && near(twin.count.inserts, 2000, 90) && near(twin.count.deletes, 800, 30),
	   "rows by their rates");
	ok(twin.first_row == twin.count.deletes && twin.nlive == 2000 + twin.count.inserts - twin.count.deletes &&
	   row(twin.first_row)->page >= 0 && twin.next_row == 2000 + twin.count.inserts, "the oldest are deleted");
	l = life_of(136, 2000);
	l.class[0].rows = 2.5;
	ff_twin_start(&twin, &l, 90, 3);
	ff_twin_run(&twin, 8000);
	ok(near(twin.count.updates / (twin.xid - 1), 2.5, 0.08) && near(twin.now, 8000, 1e-6), "rows of a transaction, on average");
	l.class[0].stride = 0;
	l.class[0].rows = 10;
	ff_twin_start(&twin, &l, 30, 3);
	run_updates(10);
	ok(twin.count.updates == 10 && twin.count.touched > 8, "each by itself: on other pages");
	l.class[0].stride = 1;
	ff_twin_start(&twin, &l, 30, 3);
	run_updates(10);
	ok(twin.count.touched <= 2, "or neighbours");
	l.class[0].stride = 20;
	ff_twin_start(&twin, &l, 30, 3);
	run_updates(10);
	ok(twin.count.touched == 10 || twin.count.touched == 11 || twin.count.updates < 10, "or every k-th");
}

/* Every k-th row in a pass: each row once, each statement rows of one remainder. */
static void
test_stride(void)
{
	TwinLife	l = life_of(136, 300);
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
	ok(right, "every fourth row of each hundred, then the next of every four");
	l.class[0].rows = 290;
	l.class[0].stride = 1;
	l.class[0].whole = 1;
	ff_twin_start(&twin, &l, 50, 3);
	run_updates(300);
	for (int64_t id = 0; id < 300; id++)
		right &= row(id)->updates == 1;
	ok(right && twin.count.updates == 300, "all rows that there are");
	l.class[0].rows = 145;
	l.class[0].stride = 2;
	ff_twin_start(&twin, &l, 50, 3);
	run_updates(150);
	for (int64_t id = 0; id < 300; id++)
		right &= row(id)->updates == 1 - id % 2;
	ok(right, "or every second of them");
	run_updates(150);
	for (int64_t id = 0; id < 300; id++)
		right &= row(id)->updates == 1;
	ok(right, "then the others");
}

static void
test_dead(void)
{
	TwinLife	l = life_of(136, 4000);
	double		age = 0;
	TwinView	v;
	int			pages;

	/* each leaves a dead version and then its line pointer: 800 of 4,000 are a fifth */
	l.class[0].indexed = 1;
	l.vacuum_gap = 0;
	ff_twin_start(&twin, &l, 90, 3);
	ff_twin_run(&twin, 8000);
	ok(near(twin.count.vacuums, 10, 1), "vacuum comes with its share of dead rows");
	l.vacuum_gap = 1;
	ff_twin_start(&twin, &l, 90, 3);
	ff_twin_run(&twin, 8100);
	ok(twin.count.vacuums == 2, "not before its time");
	l.vacuum_gap = -1;
	ff_twin_start(&twin, &l, 90, 3);
	ff_twin_run(&twin, 8100);
	ok(twin.count.vacuums == 0 && twin.ndead_lps > 2000, "or never: line pointers stay");
	l.class[0].indexed = 0.25;
	ff_twin_start(&twin, &l, 50, 3);
	ff_twin_run(&twin, 8000);
	ok(near(twin.count.blocked / twin.count.updates, 0.25, 0.02), "a share of the updates changes an index");
	l.class[0].indexed = 0;
	l.lag = 20;
	ff_twin_start(&twin, &l, 90, 3);
	for (int i = 0; i < 40000; i++)
	{
		ff_twin_run(&twin, 1);
		age += (twin.xid - twin.oldest) / 40000.0;
	}
	ok(near(age, 20, 3), "the oldest snapshot is as old as its mean");
	l.lag = 0;
	/* rows come and go: their pages are used again */
	l.vacuum_gap = 0;
	l.class[0].rate = 0.1;
	add_class(&l, EV_INSERT, 1, 10, TW_ANY);
	add_class(&l, EV_DELETE, 1, 10, TW_OLDEST);
	ff_twin_start(&twin, &l, 90, 3);
	pages = twin.npages;
	ff_twin_run(&twin, 40000);
	ff_twin_look(&twin, &v);
	ok(twin.npages < pages * 1.5 && twin.npages >= pages && near(v.rows, 4000, 100) && twin.count.vacuums > 20,
	   "pages of deleted rows are used again");
	twin.life.vacuum_gap = -1;
	ff_twin_count_from_here(&twin);
	pages = twin.npages;
	ff_twin_run(&twin, 8000);
	ok(twin.npages > pages * 1.5 && twin.count.vacuums == 0, "after a vacuum only");
}

/* Whatever a life says, the twin begins with what it can hold. */
static void
test_range(void)
{
	for (int most = 0; most < 2; most++)
	{
		const double far = most ? 1e12 : -1e12;
		TwinLife	l = life_of(most ? 32767 : -32768, far);
		const TwinClass *c = &twin.life.class[0];

		l.class[0].rate = l.class[0].rows = l.class[0].distance = l.class[0].skew = l.class[0].stride =
			l.class[0].indexed = far;
		l.nclasses = most ? 100 : 1;
		l.grow_updates = l.lag = l.held = l.held_share = l.vacuum_share = far;
		ff_twin_start(&twin, &l, (int) (far / 1e9), 3);
		ok(twin.life.nclasses == (most ? TW_CLASSES : 1) && c->rate == (most ? 1000 : 1e-6) &&
		   c->rows == (most ? TW_ROWS / 2 : 1) && c->distance == (most ? TW_ROWS : 1) &&
		   c->skew == 2 * most && c->stride == (most ? TW_ROWS : 0) && c->indexed == most &&
		   twin.life.start_rows == (most ? TW_ROWS : 0) && twin.life.grow_updates == (most ? 255 : 1) &&
		   twin.life.lag == most * 1e9 && twin.life.held == most * 1e9 && twin.life.held_share == most &&
		   twin.life.vacuum_share == most * 1e9 && twin.life.insert_len[0] == TW_MAXALIGN(most ? TW_MAX_LEN : TW_MIN_LEN) &&
		   twin.life.update_len[0] == twin.life.insert_len[0] &&
		   twin.reserve == (most ? 0 : TW_BLCKSZ * (100 - TW_MIN_FF) / 100),
		   most ? "what is too large is as large as can be" : "what is too small is as small as can be");
	}
}

int
main(void)
{
	test_look();
	test_range();
	test_growing();
	test_in_turn();
	test_newest();
	test_skew();
	test_rates();
	test_stride();
	test_dead();
	printf("1..%d\n", tests);
	return failed != 0;
}
