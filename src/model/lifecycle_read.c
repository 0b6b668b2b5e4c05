/*
 * lifecycle_read.c
 *	  What of a lifecycle can be read off what was observed.
 *
 * Widths, rates, rows a transaction updates together, the share of updates
 * that an indexed column keeps from being HOT, the distance from insert; and
 * the course of the replay.  That is of a part of the table, of which every
 * share is that of the whole: updates per row and inserts per update are kept,
 * distances from insert are not scaled.
 */
#include "model/lifecycle_read.h"
#include "numbers.h"

#include <math.h>
#include <string.h>

/* How much of a table is replayed. */
#define MIN_ROWS		1500
#define MIN_PAGES		40
#define LEAST_PAGES		20		/* where much happened to each row */
#define MAX_PAGES		300
#define MIN_MEASURE		1500.0
/* Updates of a sparse window: no more than fall on so many rows; several
 * replays make up for it. */
#define SPARSE_MEASURE	100.0
#define MAX_MEASURE		3000.0
#define MAX_WARMUP		7000.0
#define MAX_SETTLE		14000.0	/* for rows updated one by one */
#define BATCH_ROWS		8		/* updated together: they settle late, and replay fast */
#define BATCH_PART		2.0		/* so much more of them is replayed */
#define WHOLE_TABLE		0.2		/* share of the rows from which a batch is taken as such a share */
#define NEXT_TO_ALL		0.9		/* share of them from which it is the whole table */
/* Updates per row after which a table that does not grow has settled. */
#define SETTLED_LAPS	5.0

/* So many times the rows that a page takes at the table's fillfactor were put
 * there at another one. */
#define DENSER			1.03
#define SAME_LENGTH		0.01	/* bytes of error, up to which all rows have one length */

/* Of a page's rows updated together from which the batch may be larger than the page. */
#define PAGE_SHARE		0.4

/* Rows inserted between insert and update where the pages do not say: soon, in parts
 * of a page's rows, or in rows. */
#define SOON_PAGES		0.25
#define UNKNOWN_DISTANCE 200

/* Bytes of a row from which any update of it locks it first, in a WAL record of its
 * own, as one that moves does: the server looks what may go into TOAST. */
#define TOAST_CHECKED	2032

/* Share of updates that are not HOT, below which it does not matter why. */
#define FEW_COLD		0.01

/* Percent of the rows updated, from which those that are not are the newest: all the
 * pages show then is how soon the first update comes. */
#define FEW_UNTOUCHED	98.0

/* A distance below this part of the table's life is "soon after insert". */
#define FRESH_LIFE_PART 0.1

/*
 * Mean MAXALIGNed length.  Rows of one length have no error and align
 * exactly; a mixture loses 3.5 bytes a row to alignment on average.
 */
static double
aligned_width(double mean, double err)
{
	if (err > SAME_LENGTH)
		return mean + 3.5;
	return TWIN_MAXALIGN(ceil(mean));
}

/*
 * Which updates could be HOT.  False where nothing tells those that moved from
 * those that an indexed column kept from it.
 */
static int
read_split(const Observed *seen, Lifecycle *life)
{
	double		cold = bound(seen->updated - seen->hot_updated, 0, seen->updated) / seen->updated;
	UpdateCounts n = {
		.updated = seen->updated,.hot = seen->hot_updated,.newpage = seen->newpage_updated,
		.seen_hot = seen->seen_hot,.seen_same_page = seen->seen_same_page,.seen_moved = seen->seen_moved,
		.indexed_share = seen->indexed_share
	};
	UpdateSplit split = split_updates(&n);

	life->hot_pct = 100.0 * (1 - cold);
	life->more_records = seen->update_records - 1 - cold * seen->indexes -
		(life->update_len > TOAST_CHECKED ? 1 : or_else(split.moved, cold < FEW_COLD ? 0 : NAN));
	life->hot_eligible = or_else(split.eligible, 1);
	if (life->hot_eligible > 1 - ALL_HOT)
		life->hot_eligible = 1;
	return !isnan(split.moved) || cold < FEW_COLD;
}

/* Share of updates that came soon after the insert, from three quantiles. */
static double
short_distance_share(const Observed *seen, double limit)
{
	double		q[3];
	static const double at[3] = {0.1, 0.5, 0.9};
	int			i;

	q[0] = seen->update_distance_p10;
	q[1] = seen->update_distance_p50;
	q[2] = seen->update_distance_p90;
	if (isnan(q[0]) || isnan(q[1]) || isnan(q[2]))
		return NAN;
	for (i = 0; i < 3; i++)
		q[i] = log(bound(q[i], 1.0, 1e12));
	limit = log(bound(limit, 1.0, 1e12));
	if (limit <= q[0])
		return 0.05;
	if (limit >= q[2])
		return 1.0;
	i = limit > q[1];
	if (q[i + 1] <= q[i])
		return at[i + 1];
	return at[i] + (at[i + 1] - at[i]) * (limit - q[i]) / (q[i + 1] - q[i]);
}

/*
 * A fillfactor that was set without rewriting the table: pages that hold more
 * rows than it lets them have were filled before.  Returns the one they were
 * filled at, 0 where there is no sign of it.
 */
int
lifecycle_filled_at(const Observed *seen, const TwinLifecycle *t)
{
	int			len = TWIN_MAXALIGN((int) floor(t->insert_len < t->update_len ? t->insert_len : t->update_len));
	int			at = (int) seen->fillfactor;
	double		fits = twin_rows_per_page(at, len);
	double		most = seen->rows_per_page;

	/* pages that have not shed a row yet show it, but those of short rows, too */
	if (seen->inserted_width_err <= SAME_LENGTH && seen->updated_width_err <= SAME_LENGTH && !isnan(seen->rows_per_page_max))
		most = seen->rows_per_page_max;
	if (!(most > DENSER * fits + 0.5))
		return 0;
	while (at < TWIN_MAX_FILLFACTOR && most > twin_rows_per_page(at, len))
		at++;
	return twin_step_edge(at, len);
}

/* The course of a run: part of the table, updates before and in the window. */
void
lifecycle_course(const Observed *seen, TwinLifecycle *t, double *scale, double *settle)
{
	double		live = bound(seen->live_rows, 1, 1e15);
	double		per_page = twin_rows_per_page((int) seen->fillfactor, (int) t->insert_len);
	double		rows;
	double		measure;
	double		warmup;
	double		net = t->inserts_per_update - t->deletes_per_update;
	int			batch = t->update_rows >= BATCH_ROWS;
	double		density = seen->updated / live;
	double		laps = bound(seen->total_updated / live, density, LAPS);

	rows = bound(MIN_PAGES * per_page, MIN_ROWS, MAX_PAGES * per_page);
	if (rows * density < MIN_MEASURE)
		rows = bound(MIN_MEASURE / (density > 1e-9 ? density : 1e-9), rows,
					 bound(MAX_PAGES * per_page, 0, MAX_ROWS));
	/* few enough that all that happened to them can be replayed */
	if (!batch && t->inserts_per_update < FRESH_INSERTS && rows * laps > MAX_WARMUP)
		rows = bound(MAX_WARMUP / laps, bound(LEAST_PAGES * per_page, 0, rows), rows);
	/* wide rows: the twin's pages are limited */
	rows = bound(rows, 1, bound(live, 1, MAX_PAGES * per_page));
	*scale = rows / live;
	/* a statement for much of the table is one for as much of its part; how many
	 * rows that has is an estimate */
	if (batch && seen->update_call_rows > WHOLE_TABLE * live)
		t->update_rows = seen->update_call_rows > NEXT_TO_ALL * live ? floor(rows) :
			floor(seen->update_call_rows / live * rows + 0.5);

	measure = bound(seen->updated * *scale, SPARSE_MEASURE, batch ? BATCH_PART * MAX_MEASURE : MAX_MEASURE);
	/* a batch is not to be cut off by the edge of the run */
	if (measure < 8 * t->update_rows)
		measure = 8 * t->update_rows;
	/* what came before, and half of what is not replayed: the middle of the window */
	warmup = (bound(seen->total_updated, seen->updated, 1e15) - seen->updated) * *scale +
		bound((seen->updated * *scale - measure) / 2, 0, 1e15);
	if (warmup > 0 && warmup < 2 * t->update_rows)
		warmup = 2 * t->update_rows;
	warmup = bound(warmup, 0, bound(LAPS * rows, MAX_WARMUP / 4, batch ? BATCH_PART * MAX_WARMUP : MAX_WARMUP));
	if (net > 1e-6)
	{
		/* the table has grown to its rows during the run */
		double		start = rows - net * (warmup + measure);

		if (start < 0)
			start = 0;
		t->start_rows = start;
	}
	else
		t->start_rows = rows;
	t->warmup = warmup;
	t->measure = measure;
	/* those before the window, where the fillfactor was another */
	t->start_updates = bound(warmup - (or_else(seen->window_updated, seen->updated) - seen->updated) * *scale -
							 bound((seen->updated * *scale - measure) / 2, 0, 1e15), 0, warmup);
	*settle = net > 0.05 * (t->inserts_per_update > 0 ? t->inserts_per_update : 1) && net > 0.02 ?
		warmup : bound((t->update_rows > 1.5 ? 2 : 1) * SETTLED_LAPS * rows, warmup,
			  t->update_rows > 1.5 ? 2 * MAX_SETTLE : MAX_SETTLE);
}

/*
 * Widths, as far as they differ at all.  False where no row was seen, or
 * nothing updated.
 */
int
lifecycle_read_widths(Observed *seen, Lifecycle *life)
{
	if (isnan(seen->inserted_width))
	{
		seen->inserted_width = seen->updated_width;
		seen->inserted_width_err = seen->updated_width_err;
	}
	if (isnan(seen->updated_width))
	{
		seen->updated_width = seen->inserted_width;
		seen->updated_width_err = seen->inserted_width_err;
	}
	if (isnan(seen->inserted_width))
		return 0;
	life->insert_len = bound(aligned_width(seen->inserted_width, or_else(seen->inserted_width_err, 0)),
							 TWIN_MIN_TUPLE_SIZE, TWIN_MAX_TUPLE_SIZE);
	life->update_len = bound(aligned_width(seen->updated_width, or_else(seen->updated_width_err, 0)),
							 TWIN_MIN_TUPLE_SIZE, TWIN_MAX_TUPLE_SIZE);
	/* a difference within the error is none */
	if (fabs(life->update_len - life->insert_len) <
		4 + or_else(seen->inserted_width_err, 0) + or_else(seen->updated_width_err, 0))
	{
		double		w = bound(or_else(seen->updated_pct, 50) / 100, 0, 1);

		life->insert_len = life->update_len = w * life->update_len + (1 - w) * life->insert_len;
	}
	return seen->updated >= 1 && seen->live_rows >= 1;
}

/*
 * Rows together: a whole page of them means that the batch is larger than a
 * page; how much, only the statements know.
 */
static void
read_batches(const Observed *seen, Plan *plan)
{
	TwinLifecycle *t = &plan->t;
	double		page_rows = twin_rows_per_page((int) seen->fillfactor, (int) t->update_len);
	double		group = or_else(seen->update_group_rows, 1);

	t->update_rows = bound(group, 1, page_rows);
	if (group >= 3 && group > PAGE_SHARE * or_else(seen->rows_per_page, page_rows))
	{
		/* row by row in one transaction says nothing of the batch */
		plan->whole_pages = !(seen->update_call_rows >= group);
		t->update_rows = plan->whole_pages ? floor(UNKNOWN_BATCH * page_rows) :
			floor(bound(seen->update_call_rows, group, 2000) + 0.5);
	}
	else if (group >= 2 && or_else(seen->update_call_rows, 0) > group)
	{
		t->update_rows = bound(seen->update_call_rows, group, page_rows);
		plan->scattered = t->update_rows > group;
	}
	/* rows loaded together long ago say nothing of today's */
	t->insert_rows = bound(or_else(seen->insert_group_rows, 1), 1, bound(or_else(seen->insert_call_rows, page_rows), 1, page_rows));
	if (t->update_rows > page_rows || t->insert_rows > 0.5 * page_rows)
		t->insert_rows = bound(or_else(seen->insert_call_rows, t->update_rows), t->insert_rows, 1000);
	if (t->inserts_per_update < FRESH_INSERTS)
		t->insert_rows = 1;
}

/*
 * How soon after the insert: distances are in transactions of the whole
 * cluster, so one inserted row is worth the transactions of the table's life
 * divided by the rows inserted in it.
 */
static void
read_distance(const Observed *seen, Plan *plan)
{
	TwinLifecycle *t = &plan->t;
	double		xids_per_insert = 1 / t->insert_rows + 1 / (bound(t->inserts_per_update, 1e-6, 1e6) * t->update_rows);
	double		life_xids = seen->table_xids;
	double		inserts = bound(or_else(seen->total_inserted, seen->inserted), 1, 1e15);

	if (!isnan(life_xids) && life_xids / inserts > xids_per_insert / 50)
		xids_per_insert = bound(life_xids / inserts, 1e-6, 1e9);
	else if (!(life_xids > seen->update_distance_p90))
		life_xids = xids_per_insert * inserts;
	plan->fresh_seen = t->inserts_per_update >= FRESH_INSERTS ?
		short_distance_share(seen, FRESH_LIFE_PART * life_xids) : NAN;
	/* the median of the last of several updates lies at two thirds; higher
	 * quantiles are spoilt by rows that moved between strangers */
	plan->distance = SPREAD_MEDIAN * seen->update_distance_p50 / xids_per_insert;
	plan->far = seen->updated_pct > FEW_UNTOUCHED;
	/* where hardly a row is without an update, none waited for longer than a page took to fill */
	if (isnan(plan->distance))
		plan->distance = t->update_rows > 1 ? t->update_rows : seen->updated_pct >= 95 ?
			SOON_PAGES * twin_rows_per_page((int) seen->fillfactor, (int) t->insert_len) : UNKNOWN_DISTANCE;
	if (plan->distance > seen->live_rows / 4)
		plan->distance = seen->live_rows / 4;
	plan->distance = bound(plan->distance, t->update_rows, 8.0 * MAX_ROWS / 16);
}

/* What can be read directly; the rest is searched. */
void
lifecycle_read(const Observed *seen, Lifecycle *life, Plan *plan)
{
	TwinLifecycle *t = &plan->t;
	double		per_row;
	double		nap;

	memset(plan, 0, sizeof(*plan));
	plan->split_known = read_split(seen, life);
	/* where statements set indexed columns as often */
	plan->split_doubtful = isnan(seen->newpage_updated) && life->hot_pct < 100 * (1 - FEW_COLD) &&
		seen->indexed_share >= 1 - life->hot_pct / 100;
	t->insert_len = life->insert_len;
	t->update_len = life->update_len;
	t->grow_updates = 1;
	t->hot_eligible = life->hot_eligible;
	t->inserts_per_update = bound(or_else(seen->inserted, 0) / seen->updated, 0, 100);
	/* no more than there is to delete */
	t->deletes_per_update = bound(or_else(seen->deleted, 0) / seen->updated, 0,
								  t->inserts_per_update + bound(seen->live_rows / seen->updated, 0, 1));
	t->delete_oldest = 1;
	t->streams = 1;
	t->times = 1;
	t->vacuum_share = bound(or_else(seen->vacuum_scale, 0.2), 0, 100);
	t->fresh_distance = 1;
	read_batches(seen, plan);
	lifecycle_course(seen, t, &life->scale, &plan->settle);

	per_row = seen->updated / seen->live_rows;
	nap = or_else(seen->vacuum_nap_s, 60) / bound(or_else(seen->window_s, 60), 1, 1e12) * per_row;
	t->vacuum_gap = or_else(seen->vacuums, 0) >= 1 ? per_row / seen->vacuums : bound(2 * per_row, nap, 1e12);
	read_distance(seen, plan);
}
