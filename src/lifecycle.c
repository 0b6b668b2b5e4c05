/*
 * lifecycle.c
 *	  From what was observed of a table to the lifecycles that explain it.
 *
 * What can be read directly is read: widths, rates, rows a transaction
 * updates together, the share of updates that an indexed column keeps from
 * being HOT.  The rest (which rows updates pick, how long versions stay
 * unprunable, in how many steps rows grow) is searched: the twin replays each
 * candidate at the current fillfactor, and the few whose HOT share, updated
 * rows and page fill come nearest to the table's are kept with weights.
 *
 * The twin replays a part of the table, of which every share is that of the
 * whole: updates per row and inserts per update are kept, distances from
 * insert are not scaled, times in transactions are searched on the simulated
 * scale.
 */
#include "lifecycle.h"
#include "numbers.h"

#include <math.h>
#include <string.h>

/* How many rows and updates to replay: precision against 20 ms a table. */
#define MIN_ROWS		1500
#define MAX_ROWS		12000
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
#define LAPS			8.0		/* updates per row replayed before the window, at most */
/* Updates per row after which a table that does not grow has settled. */
#define SETTLED_LAPS	5.0

/* How near is near: one standard deviation of each figure, with the noise of
 * the twin and of the sample. */
#define SIGMA_HOT		1.0		/* points */
#define SIGMA_HOT_SHARE 0.06	/* of the share that is HOT, or is not: the less */
#define SIGMA_UPDATED	4.0		/* points; where rows are older than the counters: */
#define SIGMA_NO_MARKS	8.0		/* the twin updated more rows than bear marks */
#define SIGMA_OLD_MARKS 24.0	/* or fewer */
#define SIGMA_FILL		0.12	/* of ln rows per page */

/* Inserts per update from which a table has fresh rows at all. */
#define FRESH_INSERTS	0.002
/* Largest distance from insert of updates spread evenly up to it, in medians of
 * what the pages show: the last of a row's several updates. */
#define SPREAD_MEDIAN	1.5
/* So many times the rows that a page takes at the table's fillfactor were put
 * there at another one. */
#define DENSER			1.03
#define SAME_LENGTH		0.01	/* bytes of error, up to which all rows have one length */
#define OLD_PAGES_PRIOR	0.5		/* what it costs to assume that most pages are such */
/* Rows of lengths so different that the densest page holds so many times what
 * the mean length allows are not those that the twin replays. */
#define UNEQUAL_ROWS	1.5

/* A distance below this part of the table's life is "soon after insert". */
#define FRESH_LIFE_PART 0.1

/* Deletes per update below which it does not matter which rows go. */
#define FEW_DELETES		0.02
#define ANYWHERE_PRIOR	0.3		/* what it costs to assume that any do */

/* What it costs to assume, without need, that versions stay unprunable. */
#define SHORT_LAG		4.0		/* transactions */
#define SHORT_LAG_PRIOR 0.5		/* a handful of transactions: other sessions */
#define LAG_PRIOR		2.0
#define HELD_PRIOR		1.5
#define SHORTEST_HELD	15.0	/* transactions; less is not told from a lag */
#define STALL_SHARE		0.1
#define SELDOM_SHARE	0.03
#define STALL_PRIOR		0.3		/* now and then: a session that waits for its turn */
/* Batches take long: another session's may keep the old versions of the last
 * one or two alive.  That is as likely as that there is none. */
#define LONG_BATCH		20		/* rows */
#define SHORT_COMPANY	2.5		/* batches */
#define LONG_COMPANY_PRIOR 1.0
#define BATCH_HOT_OFF	10.0	/* points that a lag may be tried all the same */
/* Who is alone leaves no snapshot to others.  Sessions at work at a time, on
 * average: more than one, and some were in company; below, there may have been
 * one at work, or several for a short while. */
#define ALONE			0.9
#define COMPANY			1.5
#define ALONE_PRIOR		1.0		/* for versions that stay, with one session at work */
#define COMPANY_PRIOR	1.0		/* for batches whose versions never stay, with several */

#define MAX_CANDIDATES	128

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

double
lifecycle_step_width(const Lifecycle *life)
{
	return life->insert_len;
}

/* ln P(k) of a Poisson distribution would do; the mean growth steps, given one. */
static double
mean_growth_steps(double lambda, int steps)
{
	double		p = exp(-lambda);
	double		none = p;
	double		mean = 0.0;
	double		cumulative = p;
	int			k;

	for (k = 1; k < steps; k++)
	{
		p *= lambda / k;
		cumulative += p;
		mean += k * p;
	}
	mean += steps * (1.0 - cumulative);
	return none < 1.0 - 1e-9 ? mean / (1.0 - none) : 1.0;
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
	life->hot_eligible = or_else(split.eligible, 1);
	if (life->hot_eligible > 1 - ALL_HOT)
		life->hot_eligible = 1;
	return !isnan(split.moved) || cold < 0.01;
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
static int
filled_at(const Observed *seen, const TwinLifecycle *t)
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
static void
plan_course(const Observed *seen, TwinLifecycle *t, double *scale, double *settle)
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
	if (rows > live)
		rows = live;
	if (rows < 1)
		rows = 1;
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
	*settle = net > 0.05 * (t->inserts_per_update > 0 ? t->inserts_per_update : 1) && net > 0.02 ?
		warmup : bound((t->update_rows > 1.5 ? 2 : 1) * SETTLED_LAPS * rows, warmup,
			  t->update_rows > 1.5 ? 2 * MAX_SETTLE : MAX_SETTLE);
}

/* How far the twin at the current fillfactor is from what was seen. */
static double
misfit(const Observed *seen, const Lifecycle *life, const TwinResult *r, Fitted *f)
{
	double		hot = r->updates > 0 ? 100.0 * r->hot / r->updates : 0;
	double		sigma = SIGMA_HOT + SIGMA_HOT_SHARE *
	(life->hot_pct < 50 ? life->hot_pct : 100.0 - life->hot_pct);
	double		share = bound(hot / 100, 0.02, 0.98);
	double		together = f->life.update_rows;
	double		d;
	double		sum;

	/* chance: few updates replayed or seen, fewer where a page's rows share their fate */
	if (r->updates > 0)
		sigma = sqrt(sigma * sigma + 1e4 * share * (1 - share) * bound(together, 1, 20) * (1 / r->updates + 1 / seen->updated));
	/* a batch that stands for a larger one has more of its rows at its ends, on
	 * pages shared with the next */
	if (seen->update_call_rows > 1.5 * f->life.update_rows)
		sigma += 100.0 * twin_rows_per_page((int) seen->fillfactor, (int) f->life.update_len) / f->life.update_rows;
	f->hot_pct = hot;
	f->moved_pct = r->updates > 0 ? 100.0 * r->moved / r->updates : 0;
	f->updated_pct = r->judged_rows > 0 ? 100.0 * r->updated_rows / r->judged_rows : 0;
	f->rows_per_page = r->pages > 0 ? r->rows / r->pages : 0;

	d = (hot - life->hot_pct) / sigma;
	sum = d * d;
	if (!isnan(seen->updated_pct))
	{
		/* an old table's rows may carry marks of updates long past */
		int			known = seen->total_inserted >= 0.9 * seen->live_rows && seen->total_updated <= LAPS * seen->live_rows;

		d = f->updated_pct - seen->updated_pct;
		d /= known ? SIGMA_UPDATED : d < 0 ? SIGMA_OLD_MARKS : SIGMA_NO_MARKS;
		sum += bound(d * d, 0, 6);
	}
	if (seen->blocks > 0 && seen->live_rows > 0 && f->rows_per_page > 0)
	{
		d = log(f->rows_per_page * seen->blocks / seen->live_rows) / SIGMA_FILL;
		/* how far batches blow a table up is a matter of when vacuum comes */
		sum += bound(d * d, 0, f->life.update_rows >= LONG_BATCH ? 1.5 : 4);
	}
	if (r->truncated)
		sum += 4;
	return sum;
}

typedef struct Search
{
	HeapTwin   *twin;
	const Observed *seen;
	Lifecycle  *life;
	int			n;
	Fitted		all[MAX_CANDIDATES];
} Search;

/* What the number of sessions at work says against versions that stay, or do not. */
static double
sessions_prior(const Observed *seen, const TwinLifecycle *t)
{
	double		company = bound((seen->sessions - ALONE) / (COMPANY - ALONE), 0, 1);

	if (isnan(seen->sessions))
		return 0;
	if (t->lag > 0 || t->held > 0)
		return (1 - company) * ALONE_PRIOR;
	return t->update_rows >= LONG_BATCH ? company * COMPANY_PRIOR : 0;
}

/* Replay one candidate; its place in the list, or -1 when that is full. */
static int
try_candidate(Search *s, const TwinLifecycle *t, double prior)
{
	TwinResult	r;
	Fitted	   *f;

	if (s->n >= MAX_CANDIDATES)
		return -1;
	f = &s->all[s->n];
	memset(f, 0, sizeof(*f));
	f->life = *t;
	twin_replay(s->twin, t, (int) s->seen->fillfactor, &r);
	s->life->runs++;
	f->prior = prior;
	f->misfit = misfit(s->seen, s->life, &r, f) + prior + sessions_prior(s->seen, t);
	return s->n++;
}

static void
best_of(const Search *s, int from, int *best, int wanted)
{
	int			i,
				j;

	for (j = 0; j < wanted; j++)
		best[j] = -1;
	for (i = from; i < s->n; i++)
	{
		int			at = i;

		for (j = 0; j < wanted; j++)
			if (best[j] < 0 || s->all[at].misfit < s->all[best[j]].misfit)
			{
				int			t = best[j];

				best[j] = at;
				at = t;
				if (at < 0)
					break;
			}
	}
}

/* Are fresh rows picked in the same way?  The newest batch is the newest batch. */
static int
same_pick(const TwinLifecycle *a, const TwinLifecycle *b)
{
	return a->in_turn == b->in_turn ||
		(a->fresh_distance <= a->update_rows && b->fresh_distance <= b->update_rows);
}

/* Alone, in company, or with old snapshots about: the last told apart for batches only. */
static int
lag_class(const TwinLifecycle *t)
{
	return t->lag <= 0 ? 0 : t->update_rows >= LONG_BATCH && t->lag > SHORT_COMPANY ? 2 : 1;
}

/* Do two lifecycles explain a table in the same way, but for a detail? */
static int
same_kind(const TwinLifecycle *a, const TwinLifecycle *b)
{
	return lag_class(a) == lag_class(b) && (a->held > 0) == (b->held > 0) &&
		a->held_share == b->held_share &&
		(a->fresh_share > 0.5) == (b->fresh_share > 0.5) && a->delete_oldest == b->delete_oldest &&
		a->start_fillfactor == b->start_fillfactor && same_pick(a, b) && (a->skew > 0) == (b->skew > 0) && a->update_rows == b->update_rows &&
		a->grow_updates == b->grow_updates && a->hot_eligible == b->hot_eligible;
}

/*
 * Widths, as far as they differ at all.  False where no row was seen, or
 * nothing updated.
 */
static int
read_widths(Observed *seen, Lifecycle *life)
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

/* Which explanations of the updates are tried is noted here. */
typedef struct Plan
{
	TwinLifecycle t;			/* what was read off directly */
	double		settle;			/* updates until the table has settled */
	double		distance;		/* rows inserted between insert and update */
	double		fresh_seen;		/* share of updates soon after the insert */
	int			whole_pages;	/* batches of unknown size */
	int			split_known;	/* moved and blocked updates told apart */
} Plan;

/* whole batches in pages: no whole numbers, which would fall in step */
static const double batches[] = {3.3, 1.4, 9.6};

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
	if (group >= 3 && group > 0.4 * bound(or_else(seen->rows_per_page, page_rows), 1, page_rows))
	{
		/* row by row in one transaction says nothing of the batch */
		plan->whole_pages = !(seen->update_call_rows >= group);
		t->update_rows = plan->whole_pages ? floor(batches[0] * page_rows) :
			floor(bound(seen->update_call_rows, group, 2000) + 0.5);
	}
	else if (group >= 2 && or_else(seen->update_call_rows, 0) > group)
		t->update_rows = bound(seen->update_call_rows, group, page_rows);
	t->insert_rows = bound(or_else(seen->insert_group_rows, 1), 1, page_rows);
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
	else
		life_xids = xids_per_insert * inserts;
	plan->fresh_seen = t->inserts_per_update >= FRESH_INSERTS ?
		short_distance_share(seen, FRESH_LIFE_PART * life_xids) : NAN;
	/* the median of the last of several updates lies at two thirds; higher
	 * quantiles are spoilt by rows that moved between strangers */
	plan->distance = SPREAD_MEDIAN * seen->update_distance_p50 / xids_per_insert;
	if (isnan(plan->distance))
		plan->distance = t->update_rows > 1 ? t->update_rows : 200;
	if (plan->distance > seen->live_rows / 4)
		plan->distance = seen->live_rows / 4;
	plan->distance = bound(plan->distance, t->update_rows, 8.0 * MAX_ROWS / 16);
}

/* What can be read directly; the rest is searched. */
static void
read_lifecycle(const Observed *seen, Lifecycle *life, Plan *plan)
{
	TwinLifecycle *t = &plan->t;
	double		per_row;
	double		nap;

	memset(plan, 0, sizeof(*plan));
	plan->split_known = read_split(seen, life);
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
	t->vacuum_share = bound(or_else(seen->vacuum_scale, 0.2), 0, 100);
	t->fresh_distance = 1;
	read_batches(seen, plan);
	plan_course(seen, t, &life->scale, &plan->settle);

	per_row = seen->updated / seen->live_rows;
	nap = or_else(seen->vacuum_nap_s, 60) / bound(or_else(seen->window_s, 60), 1, 1e12) * per_row;
	t->vacuum_gap = or_else(seen->vacuums, 0) >= 1 ? per_row / seen->vacuums : bound(2 * per_row, nap, 1e12);
	read_distance(seen, plan);
}

/* Which rows are picked: any, some more than others, or those inserted lately. */
static void
search_picks(Search *s, const Plan *plan)
{
	static const double fresh[] = {0, 0.35, 0.7, 0.9, 1};
	static const double spread[] = {1, 0.25, 4};
	TwinLifecycle t = plan->t;
	int			i,
				j;

	if (t.inserts_per_update < FRESH_INSERTS)
	{
		try_candidate(s, &t, 0);
		/* who takes all has no favourites */
		if (t.update_rows >= t.start_rows)
			return;
		t.skew = 1;
		try_candidate(s, &t, 1.5);
		return;
	}
	for (i = 0; i < (int) (sizeof(fresh) / sizeof(fresh[0])); i++)
		for (j = 0; j < (int) (sizeof(spread) / sizeof(spread[0])); j++)
		{
			double		d = isnan(plan->fresh_seen) ? 0.0 : (fresh[i] - plan->fresh_seen) / 0.3;

			if (fresh[i] <= 0 && j > 0)
				continue;
			t.fresh_share = fresh[i];
			t.fresh_distance = bound(plan->distance * spread[j], t.update_rows, MAX_ROWS / 2);
			try_candidate(s, &t, d * d + (j > 0 ? 0.7 : 0));
			/* each row as often: the last time is what the pages show */
			if (fresh[i] < 1 || t.inserts_per_update * TWIN_MAX_TURNS < 1)
				continue;
			t.in_turn = 1;
			t.fresh_distance = bound(plan->distance * spread[j] / SPREAD_MEDIAN, t.update_rows, MAX_ROWS / 2);
			try_candidate(s, &t, d * d + (j > 0 ? 0.7 : 0));
			t.in_turn = 0;
		}
}

/* Moved, or kept from being HOT by an index: how full pages are may tell. */
static void
search_split(Search *s)
{
	int			keep[2];
	int			k;

	best_of(s, 0, keep, 2);
	for (k = 0; k < 2 && keep[k] >= 0; k++)
	{
		TwinLifecycle t = s->all[keep[k]].life;

		t.hot_eligible = bound(s->life->hot_pct / 100, 0, 1);
		/* whole pages updated together cannot have stayed in them */
		try_candidate(s, &t, s->all[keep[k]].prior + (t.update_rows >= LONG_BATCH ? 4 : 0));
	}
}

/* A candidate with another size of its batches. */
static void
try_batches(Search *s, const Fitted *base, double rows, double prior)
{
	TwinLifecycle t = base->life;
	double		scale,
				settle;

	if (t.insert_rows == t.update_rows)
		t.insert_rows = rows;
	if (t.fresh_distance == t.update_rows)
		t.fresh_distance = rows;
	t.update_rows = rows;
	plan_course(s->seen, &t, &scale, &settle);
	try_candidate(s, &t, base->prior + prior);
}

/* Loaded at the table's fillfactor, or before that was set? */
static void
search_density(Search *s)
{
	int			at = filled_at(s->seen, &s->all[0].life);
	int			keep[3];
	int			k;

	if (at == 0)
		return;
	best_of(s, 0, keep, 3);
	for (k = 0; k < 3 && keep[k] >= 0; k++)
	{
		TwinLifecycle t = s->all[keep[k]].life;

		t.start_fillfactor = at;
		try_candidate(s, &t, s->all[keep[k]].prior + OLD_PAGES_PRIOR);
	}
}

/* Deleted when they are the oldest, or anywhere. */
static void
search_deletes(Search *s)
{
	int			keep[3];
	int			k;

	if (s->all[0].life.deletes_per_update < FEW_DELETES)
		return;
	best_of(s, 0, keep, 3);
	for (k = 0; k < 3 && keep[k] >= 0; k++)
	{
		TwinLifecycle t = s->all[keep[k]].life;

		t.delete_oldest = 0;
		try_candidate(s, &t, s->all[keep[k]].prior + ANYWHERE_PRIOR);
	}
}

/* How large batches are: some pages, or all of the table. */
static void
search_batches(Search *s)
{
	int			keep[3];
	int			i,
				k;

	best_of(s, 0, keep, 3);
	for (k = 0; k < 3 && keep[k] >= 0; k++)
	{
		const Fitted *base = &s->all[keep[k]];

		for (i = 1; i < (int) (sizeof(batches) / sizeof(batches[0])); i++)
			try_batches(s, base, floor(base->life.update_rows / batches[0] * batches[i]), 0.2);
		if (base->life.inserts_per_update < FRESH_INSERTS)
			try_batches(s, base, floor(base->life.start_rows), 0.2);
	}
}

/*
 * All rows of an INSERT in turn, by several statements: together these are
 * larger than what any one of them updates.
 */
static void
search_whole_inserts(Search *s, const Plan *plan)
{
	double		rows = floor(s->seen->insert_call_rows + 0.5);
	int			keep[1];
	Fitted		base;

	best_of(s, 0, keep, 1);
	if (keep[0] < 0 || !(rows >= LONG_BATCH) || !(rows > plan->t.update_rows) || plan->t.inserts_per_update < FRESH_INSERTS)
		return;
	base = s->all[keep[0]];
	base.life.insert_rows = base.life.update_rows = base.life.fresh_distance = rows;
	base.life.fresh_share = base.life.in_turn = 1;
	try_batches(s, &base, rows, 0.2);
}

/* In how many steps rows grow to the width seen. */
static void
search_growth(Search *s)
{
	static const int steps[] = {2, 4, 8};
	double		growth = s->life->update_len - s->life->insert_len;
	double		lambda = bound(s->seen->total_updated / s->seen->live_rows, 0.2, 20);
	int			keep[3];
	int			i,
				k;

	best_of(s, 0, keep, 3);
	for (k = 0; k < 3; k++)
		for (i = 0; keep[k] >= 0 && i < 3; i++)
		{
			TwinLifecycle t = s->all[keep[k]].life;

			t.grow_updates = steps[i];
			t.update_len = bound(t.insert_len + growth * steps[i] / mean_growth_steps(lambda, steps[i]),
								 TWIN_MIN_TUPLE_SIZE, TWIN_MAX_TUPLE_SIZE);
			try_candidate(s, &t, s->all[keep[k]].prior + 0.2);
		}
}

/* What it costs to assume that versions stay for so many transactions. */
static double
lag_prior(double lag, int batch)
{
	if (lag > SHORT_LAG)
		return LAG_PRIOR * (batch ? 2 : 1);
	if (!batch)
		return SHORT_LAG_PRIOR;
	return lag > SHORT_COMPANY ? LONG_COMPANY_PRIOR : 0;
}

/* That snapshots are held for such a share of the time. */
static double
held_prior(double share, int batch)
{
	if (batch)
		return 2 * HELD_PRIOR;
	return share <= STALL_SHARE ? STALL_PRIOR : HELD_PRIOR;
}

/* One candidate, were versions to stay: all the time, or while a snapshot is held. */
static void
try_lags(Search *s, const Fitted *base)
{
	static const double row_lags[] = {1, SHORT_LAG, 15, 60, 250, 1000, 4000};
	static const double batch_lags[] = {0.5, 1, 2, SHORT_LAG, 15, 60, 250, 1000, 4000};
	static const double held_shares[] = {0.5, STALL_SHARE, SELDOM_SHARE, 1};
	int			batch = base->life.update_rows >= LONG_BATCH;
	const double *lags = batch ? batch_lags : row_lags;
	int			n = batch ? (int) (sizeof(batch_lags) / sizeof(batch_lags[0])) : (int) (sizeof(row_lags) / sizeof(row_lags[0]));
	int			enough = fabs(base->hot_pct - s->life->hot_pct) < SIGMA_HOT;
	int			i,
				j;

	/* more lag can only make fewer updates HOT; of batches few say nothing of it */
	if (base->hot_pct < s->life->hot_pct - (batch ? BATCH_HOT_OFF : SIGMA_HOT))
		return;
	for (i = 0; i < n && lags[i] <= (enough ? SHORTEST_HELD : INFINITY) &&
		 lags[i] * base->life.update_rows <= 20 * base->life.measure; i++)
	{
		TwinLifecycle t = base->life;

		t.lag = lags[i];
		try_candidate(s, &t, base->prior + lag_prior(lags[i], batch));
		for (j = 0; lags[i] >= SHORTEST_HELD && j < (int) (sizeof(held_shares) / sizeof(held_shares[0])); j++)
		{
			t.lag = 0;
			t.held = lags[i];
			t.held_share = held_shares[j];
			try_candidate(s, &t, base->prior + held_prior(held_shares[j], batch));
		}
	}
}

/* How long versions stay. */
static void
search_lags(Search *s)
{
	static const double nearer[] = {1.6, 1.3, 1.12};
	int			keep[3];
	int			i,
				k;

	best_of(s, 0, keep, 3);
	for (k = 0; k < 3 && keep[k] >= 0; k++)
		try_lags(s, &s->all[keep[k]]);
	/* between the lags tried, nearer and nearer */
	for (k = 0; k < (int) (sizeof(nearer) / sizeof(nearer[0])); k++)
	{
		best_of(s, 0, keep, 1);
		if (keep[0] < 0 || (s->all[keep[0]].life.lag <= 0 && s->all[keep[0]].life.held <= 0))
			break;
		for (i = -1; i <= 1; i += 2)
		{
			TwinLifecycle t = s->all[keep[0]].life;

			t.lag *= pow(nearer[k], i);
			t.held *= pow(nearer[k], i);
			try_candidate(s, &t, s->all[keep[0]].prior);
		}
	}
}

/* Different words for the same: they cannot be told apart at this fillfactor. */
static int
same_replay(const Fitted *a, const Fitted *b)
{
	return a->life.held > 0 && b->life.held > 0 && a->hot_pct == b->hot_pct &&
		a->updated_pct == b->updated_pct && a->rows_per_page == b->rows_per_page;
}

/* The best of every kind of explanation, the likeliest first. */
static void
keep_best(const Search *s, const Plan *plan, Lifecycle *life)
{
	double		total = 0;
	double		fits;
	int			i,
				j;

	while (life->n < LIFECYCLE_ENSEMBLE)
	{
		Fitted	   *f = &life->member[life->n];
		int			next = -1;

		for (i = 0; i < s->n; i++)
		{
			for (j = 0; j < life->n; j++)
				if (same_kind(&s->all[i].life, &life->member[j].life) || same_replay(&s->all[i], &life->member[j]))
					break;
			if (j == life->n && (next < 0 || s->all[i].misfit < s->all[next].misfit))
				next = i;
		}
		if (next < 0 || (life->n > 0 && s->all[next].misfit > life->member[0].misfit + 6))
			break;
		*f = s->all[next];
		f->settle_updates = plan->settle;
		f->weight = exp(-0.5 * (f->misfit - life->member[0].misfit));
		total += f->weight;
		life->n++;
	}
	for (i = 0; i < life->n; i++)
	{
		life->member[i].weight /= total;
		life->fresh_share += life->member[i].weight * life->member[i].life.fresh_share;
	}
	life->filled_at = life->member[0].life.start_fillfactor;
	/* one standard deviation off per figure costs little, three cost most */
	life->confidence = life->n > 0 ? exp(-life->member[0].misfit / 12) : 0;
	if (!plan->split_known)
		life->confidence *= 0.5;
	/* nor is what rows of very different lengths do */
	fits = twin_rows_per_page(TWIN_MAX_FILLFACTOR, (int) (life->insert_len < life->update_len ? life->insert_len : life->update_len));
	if (s->seen->rows_per_page_max > UNEQUAL_ROWS * fits)
		life->confidence *= UNEQUAL_ROWS * fits / s->seen->rows_per_page_max;
	/* shares of few updates are not known well */
	life->confidence *= s->seen->updated / (s->seen->updated + 200);
}

void
lifecycle_fit(HeapTwin *twin, const Observed *observed, Lifecycle *life)
{
	Observed	seen = *observed;
	Search		s;
	Plan		plan;

	memset(life, 0, sizeof(*life));
	life->hot_eligible = 1.0;
	seen.fillfactor = bound(seen.fillfactor, TWIN_MIN_FILLFACTOR, TWIN_MAX_FILLFACTOR);
	seen.live_rows = bound(seen.live_rows, 0, 1e15);
	if (!read_widths(&seen, life))
		return;
	seen.updated = bound(seen.updated, 1, 1e15);
	seen.hot_updated = bound(seen.hot_updated, 0, seen.updated);
	seen.inserted = bound(seen.inserted, 0, 1e15);
	seen.deleted = bound(seen.deleted, 0, 1e15);
	seen.seen_hot = bound(seen.seen_hot, 0, 1e15);
	seen.seen_same_page = bound(seen.seen_same_page, 0, 1e15);
	seen.seen_moved = bound(seen.seen_moved, 0, 1e15);
	read_lifecycle(&seen, life, &plan);

	s.twin = twin;
	s.seen = &seen;
	s.life = life;
	s.n = 0;
	search_picks(&s, &plan);
	search_density(&s);
	search_deletes(&s);
	if (!plan.split_known)
		search_split(&s);
	if (plan.whole_pages)
		search_batches(&s);
	search_whole_inserts(&s, &plan);
	if (life->update_len != life->insert_len)
		search_growth(&s);
	search_lags(&s);
	keep_best(&s, &plan, life);
}
