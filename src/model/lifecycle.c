/*
 * lifecycle.c
 *	  From what was observed of a table to the lifecycles that explain it.
 *
 * What can be read directly is read (lifecycle_read.c).  The rest (which rows
 * updates pick, how long versions stay unprunable, in how many steps rows
 * grow) is searched: the twin replays each candidate at the current
 * fillfactor, and the few whose HOT share, updated rows and page fill come
 * nearest to the table's are kept with weights.  Times in transactions are
 * searched on the simulated scale.
 */
#include "model/lifecycle_read.h"
#include "numbers.h"

#include <math.h>
#include <string.h>

/* How near is near: one standard deviation of each figure, with the noise of
 * the twin and of the sample. */
#define SIGMA_HOT		1.0		/* points */
#define SIGMA_HOT_SHARE 0.06	/* of the share that is HOT, or is not: the less */
#define SIGMA_UPDATED	4.0		/* points; where rows are older than the counters: */
#define SIGMA_NO_MARKS	8.0		/* the twin updated more rows than bear marks */
#define SIGMA_OLD_MARKS 24.0	/* or fewer */
#define SIGMA_FILL		0.12	/* of ln rows per page */
#define MOST_MISFIT		6.0		/* of the marks, and of the WAL records: beyond, they are not understood */
#define SIGMA_PRUNES	0.08	/* pages pruned per update */
#define FEW_READ		0.3		/* pages that others read per update, with which updates do the pruning */
#define OTHER_RECORDS	4.0		/* misfit of the best, from which these are of something else */
#define SIGMA_WAITS		0.03	/* rows of a batch that had to be waited for */
#define MORE_PER_ENTRY	0.02	/* WAL records of an index entry beside its own: splits and what
								 * makes room before one */
#define FATE_ROWS		20		/* rows of a page that share their fate, at most */
#define STANDS_FOR		1.5		/* times its rows, from which a replayed batch is the part of one */

/* Priors, here and below, are chosen, not measured; in squared standard deviations,
 * as the misfit is.  What it costs to assume that most pages were filled before the fillfactor was set. */
#define OLD_PAGES_PRIOR	0.5
/* Rows of lengths so different that the densest page holds so many times what
 * the mean length allows are not those that the twin replays. */
#define UNEQUAL_ROWS	1.5
#define UNKNOWN_BATCH_TRUST 0.8	/* part of the confidence left where the size of batches is unknown */

#define SIGMA_FRESH		0.3		/* of the share of updates soon after the insert */
#define SPREAD_PRIOR	0.7		/* what it costs to assume another distance than the pages show */
#define FEW_INSERTS		0.05	/* per update, with which any row may be the one updated most */
#define SKEW_PRIOR		1.5		/* what it costs to assume that some rows are updated more often */

/* Deletes per update below which it does not matter which rows go. */
#define FEW_DELETES		0.02
#define ANYWHERE_PRIOR	0.3		/* what it costs to assume that any do */

/* Rows together from which it matters that a transaction may update them twice. */
#define FEW_TOGETHER	3
#define SEVERAL_CALLS	1.5		/* of UPDATE for each transaction of the cluster */
#define TIMES_PRIOR		2.0		/* what it costs to assume it with fewer, or unknown; with less than
								 * one, twice that */

#define SCATTERED_PRIOR	0.5		/* what it costs to assume that a statement's rows are not neighbours */
#define SPLIT_PRIOR		1.0		/* that all updates that are not HOT were kept from it by an index, where pages
								 * say something else */
#define VACUUM_PRIOR	1.0		/* what it costs to assume that vacuums are not spread over the
								 * updates by autovacuum's rule */

/* What it costs to assume, without need, that versions stay unprunable. */
#define SHORT_LAG		4.0		/* transactions */
#define SHORT_LAG_PRIOR 0.5		/* a handful of transactions: other sessions */
#define LAG_PRIOR		2.0
#define HELD_PRIOR		1.5
#define SHORTEST_HELD	15.0	/* transactions; less is not told from a lag */
#define STALL_SHARE		0.1
#define SELDOM_SHARE	0.03	/* of the time: now and then, and for long */
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
#define ALONE_PRIOR		0.5		/* for versions that stay, with one session at work; in batches
								 * more where even that is seldom: so many times */
#define ALONE_MOST		2
#define MEETING			0.5		/* rows waited for, of batches of the whole table */
#define OTHERS_PRIOR	2.5		/* for company that does not update the same rows */
#define COMPANY_PRIOR	1.0		/* for batches whose versions never stay, with several */

#define MAX_CANDIDATES	128

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
 * The WAL records of updates tell the pages that they pruned.  In batches these
 * are few; what comes on top of them are rows that another session was updating,
 * too, which the one that had to wait for it locks before it updates them.
 */
static double
records_misfit(const Observed *seen, const Lifecycle *life, const TwinResult *r, Fitted *f)
{
	const TwinLifecycle *t = &f->life;
	double		entries = (1 - life->hot_pct / 100) * seen->indexes;
	double		more = life->more_records - r->update_prunes / r->updates - MORE_PER_ENTRY * entries;
	double		d;
	double		met;

	if (t->update_rows < LONG_BATCH)
	{
		d = more / (SIGMA_PRUNES + MORE_PER_ENTRY * entries);
		/* scans of others may have pruned the rest */
		if (d < 0 && !(seen->pages_read < FEW_READ))
			return 0;
		f->pruned_more = d < -2;
		return bound(d * d, 0, MOST_MISFIT);
	}
	if (t->lag <= 0 && t->held <= 0)
	{
		/* alone: nobody to wait for */
		d = bound(more / (SIGMA_WAITS + MORE_PER_ENTRY * entries), 0, MOST_MISFIT);
		return bound(d * d, 0, MOST_MISFIT);
	}
	/* in company, batches as large as these would have met */
	met = MEETING * bound(or_else(seen->update_call_rows, 0) / seen->live_rows, 0, 1);
	d = bound((met - more) / (0.5 * met + SIGMA_WAITS + MORE_PER_ENTRY * entries), 0, MOST_MISFIT);
	return bound(d * d, 0, OTHERS_PRIOR);
}

/* How far the twin at the current fillfactor is from what was seen. */
static double
misfit(const Observed *seen, const Lifecycle *life, const TwinResult *r, Fitted *f)
{
	double		hot = r->updates > 0 ? 100.0 * r->hot / r->updates : 0;
	double		sigma = SIGMA_HOT + SIGMA_HOT_SHARE *
	(life->hot_pct < 50 ? life->hot_pct : 100.0 - life->hot_pct);
	double		share = bound(hot / 100, 0.02, 0.98);
	double		page_rows = twin_rows_per_page((int) seen->fillfactor, (int) f->life.update_len);
	double		d;
	double		sum;

	/* chance: few updates replayed or seen, fewer where a page's rows share their fate */
	if (r->updates > 0)
		sigma = sqrt(sigma * sigma + 1e4 * share * (1 - share) * bound(f->life.update_rows, 1, FATE_ROWS) *
					 (1 / r->updates + 1 / seen->updated));
	/* a batch of pages that stands for a larger one has more of its rows at its
	 * ends, on pages shared with the next */
	if (f->life.update_rows > page_rows && seen->update_call_rows > STANDS_FOR * f->life.update_rows)
		sigma += 100.0 * page_rows / f->life.update_rows;
	f->hot_pct = hot;
	f->moved_pct = r->updates > 0 ? 100.0 * r->moved / r->updates : 0;
	f->updated_pct = r->judged_rows > 0 ? 100.0 * r->updated_rows / r->judged_rows : 0;
	f->rows_per_page = r->pages > 0 ? r->rows / r->pages : 0;

	d = (hot - life->hot_pct) / sigma;
	sum = d * d;
	/* that more are HOT than were seen, versions that stay may explain */
	f->curable = d > 0 ? bound(sum - LAG_PRIOR, 0, INFINITY) : 0;
	if (!isnan(seen->updated_pct))
	{
		/* an old table's rows may carry marks of updates long past */
		int			known = seen->total_inserted >= 0.9 * seen->live_rows && seen->total_updated <= LAPS * seen->live_rows;
		double		wide;

		d = f->updated_pct - seen->updated_pct;
		wide = known ? SIGMA_UPDATED : d < 0 ? SIGMA_OLD_MARKS : SIGMA_NO_MARKS;
		/* chance: few batches replayed */
		share = bound(seen->updated_pct / 100, 0.05, 0.95);
		d /= sqrt(wide * wide + 1e4 * share * (1 - share) * bound(f->life.update_rows / r->judged_rows, 0, 1));
		sum += bound(d * d, 0, MOST_MISFIT);
	}
	if (seen->blocks > 0 && seen->live_rows > 0 && f->rows_per_page > 0)
	{
		d = log(f->rows_per_page * seen->blocks / seen->live_rows) / SIGMA_FILL;
		/* how far batches and deletes blow a table up is a matter of when vacuum comes */
		sum += bound(d * d, 0, f->life.update_rows >= LONG_BATCH || f->life.deletes_per_update >= FEW_DELETES ? 1.5 : 4);
	}
	if (!isnan(life->more_records) && r->updates > 0)
		sum += f->unexplained = records_misfit(seen, life, r, f);
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
		return ALONE_PRIOR * bound((COMPANY - seen->sessions) / (COMPANY - ALONE), 0, t->update_rows >= LONG_BATCH ? ALONE_MOST : 1);
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

/* The likeliest of those replayed. */
static int
best_fit(const Search *s)
{
	int			best = 0;
	int			i;

	for (i = 1; i < s->n; i++)
		if (s->all[i].misfit < s->all[best].misfit)
			best = i;
	return best;
}

/* The most promising ones, -1 behind the last: lags are still to be tried. */
static void
best_of(const Search *s, int *best, int wanted)
{
	int			i,
				j;

	for (j = 0; j < wanted; j++)
		best[j] = -1;
	for (i = 0; i < s->n; i++)
	{
		int			at = i;

		for (j = 0; j < wanted; j++)
			if (best[j] < 0 || s->all[at].misfit - s->all[at].curable < s->all[best[j]].misfit - s->all[best[j]].curable)
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

/* Do two lifecycles explain a table in the same way, but for a detail?  Which batches are
 * taken more often is one: else alone would weigh double against in company. */
static int
same_kind(const TwinLifecycle *a, const TwinLifecycle *b)
{
	return lag_class(a) == lag_class(b) && (a->held > 0) == (b->held > 0) &&
		a->held_share == b->held_share &&
		(a->fresh_share > 0.5) == (b->fresh_share > 0.5) && a->delete_oldest == b->delete_oldest &&
		a->start_fillfactor == b->start_fillfactor && a->times == b->times && same_pick(a, b) &&
		((a->skew > 0) == (b->skew > 0) || a->update_rows >= LONG_BATCH) && a->update_rows == b->update_rows &&
		a->grow_updates == b->grow_updates && a->hot_eligible == b->hot_eligible;
}

/* What speaks against such a share of updates soon after the insert. */
static double
fresh_prior(const Plan *plan, double share)
{
	double		d = isnan(plan->fresh_seen) ? 0.0 : (share - plan->fresh_seen) / SIGMA_FRESH;

	return d * d;
}

/* Which rows are picked: any, some more than others, or those inserted lately. */
static void
search_picks(Search *s, const Plan *plan)
{
	static const double fresh[] = {0.35, 0.7, 0.9, 1};
	static const double skew[] = {0, 1, 1.2};
	static const double spread[] = {1, 0.25, 4, 16, 64, 256};
	int			spreads = plan->far ? 6 : 3;
	TwinLifecycle t = plan->t;
	int			i,
				j;

	/* any of them; who takes all has no favourites */
	for (i = 0; i < (int) (sizeof(skew) / sizeof(skew[0])); i++)
	{
		if (i > 0 && (t.update_rows >= t.start_rows || t.inserts_per_update >= FEW_INSERTS))
			break;
		t.skew = skew[i];
		try_candidate(s, &t, fresh_prior(plan, 0) + (i > 0 ? SKEW_PRIOR : 0));
	}
	t.skew = 0;
	if (t.inserts_per_update < FRESH_INSERTS)
		return;
	for (i = 0; i < (int) (sizeof(fresh) / sizeof(fresh[0])); i++)
		for (j = 0; j < spreads; j++)
		{
			double		prior = fresh_prior(plan, fresh[i]) + (j > 0 ? SPREAD_PRIOR : 0);

			/* far ones for all updates only, and the farthest once */
			if (j > 2 && (fresh[i] < 1 || plan->distance * spread[j - 1] >= MAX_ROWS / 2))
				break;
			t.fresh_share = fresh[i];
			t.fresh_distance = bound(plan->distance * spread[j], t.update_rows, MAX_ROWS / 2);
			try_candidate(s, &t, prior);
			/* each row as often: the last time is what the pages show */
			if (fresh[i] < 1 || t.inserts_per_update * TWIN_MAX_TURNS < 1)
				continue;
			t.in_turn = 1;
			t.fresh_distance = bound(plan->distance * spread[j] / SPREAD_MEDIAN, t.update_rows, MAX_ROWS / 2);
			try_candidate(s, &t, prior);
			t.in_turn = 0;
		}
}

/* Moved, or kept from being HOT by an index: how full pages are may tell. */
static void
search_split(Search *s, const Plan *plan)
{
	int			keep[2];
	int			k;

	best_of(s, keep, 2);
	for (k = 0; k < 2 && keep[k] >= 0; k++)
	{
		TwinLifecycle t = s->all[keep[k]].life;

		t.hot_eligible = bound(s->life->hot_pct / 100, 0, 1);
		/* whole pages updated together cannot have stayed in them */
		try_candidate(s, &t, s->all[keep[k]].prior + (t.update_rows >= LONG_BATCH ? 4 : 0) +
					  (plan->split_known ? SPLIT_PRIOR : 0));
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
	lifecycle_course(s->seen, &t, &scale, &settle);
	try_candidate(s, &t, base->prior + prior);
}

/* Loaded at the table's fillfactor, or before that was set? */
static void
search_density(Search *s)
{
	int			at = lifecycle_filled_at(s->seen, &s->all[0].life);
	int			keep[3];
	int			k;

	if (at == 0)
		return;
	best_of(s, keep, 3);
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
	best_of(s, keep, 3);
	for (k = 0; k < 3 && keep[k] >= 0; k++)
	{
		TwinLifecycle t = s->all[keep[k]].life;

		t.delete_oldest = 0;
		try_candidate(s, &t, s->all[keep[k]].prior + ANYWHERE_PRIOR);
	}
}

/*
 * Vacuums that came with fewer dead rows than autovacuum waits for: somebody's,
 * or autovacuum's for those of before.
 */
static void
search_vacuums(Search *s)
{
	int			keep[2];
	int			k;

	if (!(s->seen->vacuums >= 1) || s->all[0].life.vacuum_gap >= s->all[0].life.vacuum_share)
		return;
	best_of(s, keep, 2);
	for (k = 0; k < 2 && keep[k] >= 0; k++)
	{
		TwinLifecycle t = s->all[keep[k]].life;

		t.vacuum_share = 0;
		try_candidate(s, &t, s->all[keep[k]].prior + VACUUM_PRIOR);
	}
}

/* Several vacuums while nothing was updated do as much as one. */
static void
search_pauses(Search *s)
{
	int			keep[3];
	int			k;

	if (!(s->seen->vacuums >= 2))
		return;
	best_of(s, keep, 3);
	for (k = 0; k < 3 && keep[k] >= 0; k++)
	{
		TwinLifecycle t = s->all[keep[k]].life;

		t.vacuum_gap *= s->seen->vacuums;
		try_candidate(s, &t, s->all[keep[k]].prior + VACUUM_PRIOR);
	}
}

/*
 * Rows that a transaction updates twice: no version but the first can go before
 * its end.  Where statements outnumber transactions, that is likelier.
 */
static void
search_times(Search *s)
{
	double		calls = s->seen->total_updated / s->seen->update_call_rows;
	double		prior = calls >= SEVERAL_CALLS * s->seen->table_xids ? 0 : calls <= s->seen->table_xids ? 2 * TIMES_PRIOR : TIMES_PRIOR;
	int			keep[3];
	int			k;

	if (s->all[0].life.update_rows < FEW_TOGETHER)
		return;
	best_of(s, keep, 3);
	for (k = 0; k < 3 && keep[k] >= 0; k++)
	{
		TwinLifecycle t = s->all[keep[k]].life;

		t.times = 2;
		try_candidate(s, &t, s->all[keep[k]].prior + prior);
	}
}

/* A statement's rows, not together but here and there: what a page shows of them. */
static void
search_scattered(Search *s)
{
	double		group = floor(s->seen->update_group_rows + 0.5);
	int			keep[3];
	int			k;

	best_of(s, keep, 3);
	for (k = 0; k < 3 && keep[k] >= 0 && s->all[keep[k]].life.update_rows > group; k++)
		try_batches(s, &s->all[keep[k]], group, SCATTERED_PRIOR);
}

/* How large batches are: what a page shows, some pages, or all of the table. */
static void
search_batches(Search *s)
{
	static const double pages[] = {1.4, 9.6};	/* besides UNKNOWN_BATCH */
	int			keep[3];
	int			i,
				k;

	best_of(s, keep, 3);
	for (k = 0; k < 3 && keep[k] >= 0; k++)
	{
		const Fitted *base = &s->all[keep[k]];

		for (i = 0; i < (int) (sizeof(pages) / sizeof(pages[0])); i++)
			try_batches(s, base, floor(base->life.update_rows / UNKNOWN_BATCH * pages[i]), 0.2);
		try_batches(s, base, floor(s->seen->update_group_rows + 0.5), 0.2);
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

	best_of(s, keep, 1);
	if (keep[0] < 0 || !(rows >= LONG_BATCH) || !(rows > plan->t.update_rows) ||
		plan->t.update_rows < FEW_TOGETHER || plan->t.inserts_per_update < FRESH_INSERTS)
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

	best_of(s, keep, 3);
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
	int			enough = fabs(base->hot_pct - s->life->hot_pct) < SIGMA_HOT && !base->pruned_more;
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

	best_of(s, keep, 3);
	for (k = 0; k < 3 && keep[k] >= 0; k++)
		try_lags(s, &s->all[keep[k]]);
	/* between the lags tried, nearer and nearer */
	for (k = 0; k < (int) (sizeof(nearer) / sizeof(nearer[0])); k++)
	{
		const Fitted *best = &s->all[best_fit(s)];

		if (best->life.lag <= 0 && best->life.held <= 0)
			break;
		for (i = -1; i <= 1; i += 2)
		{
			TwinLifecycle t = best->life;

			t.lag *= pow(nearer[k], i);
			t.held *= pow(nearer[k], i);
			try_candidate(s, &t, best->prior);
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

/* WAL records that no lifecycle explains are of something else, and speak against none. */
static void
forgive_records(Search *s)
{
	double		least = INFINITY;
	int			i;

	for (i = 0; i < s->n; i++)
		least = fmin(least, s->all[i].unexplained);
	for (i = 0; i < s->n && least >= OTHER_RECORDS; i++)
		s->all[i].misfit -= least;
}

/* The best of every kind of explanation, the likeliest first. */
static void
keep_best(const Search *s, const Plan *plan, Lifecycle *life)
{
	double		total = 0;
	double		old_pages = 0;
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
	for (i = 0; i < life->n; i++)
		if (life->member[i].life.start_fillfactor > 0)
		{
			old_pages += life->member[i].weight;
			life->filled_at = life->member[i].life.start_fillfactor;
		}
	if (old_pages < 0.5)
		life->filled_at = 0;
	/* one standard deviation off per figure costs little, three cost most */
	life->confidence = life->n > 0 ? exp(-life->member[0].misfit / 12) : 0;
	if (!plan->split_known)
		life->confidence *= 0.5;
	/* how large batches are is a guess */
	if (plan->whole_pages)
		life->confidence *= UNKNOWN_BATCH_TRUST;
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
	if (!lifecycle_read_widths(&seen, life))
		return;
	seen.updated = bound(seen.updated, 1, 1e15);
	seen.hot_updated = bound(seen.hot_updated, 0, seen.updated);
	seen.inserted = bound(seen.inserted, 0, 1e15);
	seen.deleted = bound(seen.deleted, 0, 1e15);
	seen.seen_hot = bound(seen.seen_hot, 0, 1e15);
	seen.seen_same_page = bound(seen.seen_same_page, 0, 1e15);
	seen.seen_moved = bound(seen.seen_moved, 0, 1e15);
	lifecycle_read(&seen, life, &plan);

	s.twin = twin;
	s.seen = &seen;
	s.life = life;
	s.n = 0;
	search_picks(&s, &plan);
	search_density(&s);
	search_vacuums(&s);
	search_times(&s);
	search_deletes(&s);
	if (!plan.split_known || plan.split_doubtful)
		search_split(&s, &plan);
	if (plan.whole_pages)
		search_batches(&s);
	if (plan.scattered)
		search_scattered(&s);
	search_whole_inserts(&s, &plan);
	if (life->update_len != life->insert_len)
		search_growth(&s);
	search_lags(&s);
	search_pauses(&s);
	forgive_records(&s);
	keep_best(&s, &plan, life);
}
