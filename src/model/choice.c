/*
 * choice.c
 *	  What each step of a table's curve costs, and which one to choose.
 *
 * The cost of a step is time^a * WAL^b * size^c, all per row updated, with
 * what comes along with an update on average (inserts, deletes, reads).  Only
 * ratios between steps matter, so constants need be right relative to each
 * other, not on every machine.
 */
#include "model/choice.h"
#include "numbers.h"

#include <math.h>
#include <string.h>

/*
 * CPU, microseconds of the whole cluster; measured with the regret bench's
 * workloads on PostgreSQL 15, prepared statements over a local socket.  What a
 * prune and an index entry cost lies within what test/bench/regret/constants.py
 * says, which is wide.
 */
#define US_STATEMENT	28.0	/* a statement and its transaction, no row yet */
#define US_ROW			1.3		/* one row inserted, updated or deleted */
#define US_READ			12.0	/* a read by index: inside a join less, alone more */
#define US_INDEX_VISIT	3.5		/* on top of it, once a statement that updates */
#define US_MOVE			1.5		/* find another page, write the whole row */
#define US_PRUNE		7.0		/* prune a page on access */
#define US_SCAN_PAGE	1.0		/* a page more for a sequential scan */
#define US_NEW_PAGE		8.0		/* extend the table by a page, write it later */
#define US_PAGE_WRITE	8.0		/* log a page whole and write it once a checkpoint */
#define US_VACUUM_PAGE	3.0		/* vacuum a page that was changed */
#define US_PAGE_READ	100.0	/* one random read, where not measured */
#define WRITE_PER_READ	0.5		/* writing back a page against reading one */

/* WAL, bytes; differences of pg_current_wal_lsn() in the same workloads. */
#define WAL_COMMIT		40.0
#define WAL_UPDATE		80.0	/* in its page: only the changed part of the row */
#define WAL_PRUNE		62.0	/* one page pruned */
#define WAL_ROW			70.0	/* heap insert record without the row */
#define WAL_MOVE		60.0	/* to another page, without the row */
#define WAL_DELETE		60.0
#define WAL_VACUUM_PAGE 150.0	/* prune a page and mark it all-visible */

/* Heap pages asked for: by an index scan of one row, by a change of one. */
#define BLOCKS_INDEX_SCAN	2.0
#define BLOCKS_CHANGE		1.5

/* Share of a page that its full-page image takes.  That emptier pages have
 * smaller images is left out: it would argue for next to empty pages. */
#define IMAGE_FILL		0.8
/* Bloat that cold updates leave in indexes: entries that stay per entry added,
 * and the most of them per live row, vacuum running. */
#define INDEX_BLOAT		0.7
#define INDEX_BLOAT_MAX 1.0
/* Share of RAM that is really left for one table's pages. */
#define CACHE_SHARE		0.8
/* The settled table is a forecast: the window observed counts for at least: */
#define WINDOW_WEIGHT	0.5
/* Predictions far from what was seen err more: cost (ln) of halving the rows
 * of a page. */
#define CAUTION			0.02
/* Below this fillfactor no prediction was ever compared with a real run: the
 * cost (ln) of each halving from there. */
#define TRIED			30
#define UNTRIED_CAUTION	0.2
/* Weight of the lifecycles that must find the change worth while. */
#define AGREEMENT		0.7
/* Steps within this of the best count as ties. */
#define TIE				0.003
/* The same where no update can be HOT: then a step has nothing to offer but size. */
#define TIE_COLD		0.02
#define NONE_HOT		0.01	/* share of updates that could be */

typedef struct Rates
{
	double		inserts;		/* per row updated */
	double		deletes;
	double		reads;
	double		scans;
	double		vacuums;
	double		call_rows;
	double		insert_call_rows;
	double		more_wal;		/* bytes an update writes beyond WAL_UPDATE */
	double		rate;			/* row updates per second */
	double		scattered;		/* share of accesses all over the table */
	double		old_pages;		/* share of updates on pages long filled */
} Rates;

static void
cost_of(const CostInput *in, const Lifecycle *life, const Rates *r,
		const Shares *s, double heap_bytes, const Shares *now,
		double new_pages, StepCost *c)
{
	double		n = in->indexes;
	double		cold = s->cold;
	double		moved = s->moved;
	double		entries = bound(s->entries, 0, INDEX_BLOAT_MAX);
	double		now_entries = bound(now->entries, 0, INDEX_BLOAT_MAX);
	double		index_bytes = in->index_bytes * (1 + INDEX_BLOAT * entries) / (1 + INDEX_BLOAT * now_entries);
	double		ram = in->ram_bytes * CACHE_SHARE;
	double		miss = r->scattered * bound(1 - ram / (heap_bytes + index_bytes + 1), 0, 1);
	double		page_us = in->read_us * (1 + WRITE_PER_READ);
	double		per_checkpoint = bound(r->rate * in->checkpoint_s, 1, 1e15);
	double		heap_pages = bound(heap_bytes / TWIN_BLCKSZ, 1, 1e15);
	double		first_heap;
	double		first_leaf;
	double		leaves = bound(n > 0 ? index_bytes / TWIN_BLCKSZ / n : 1, 1, 1e15);
	/* pages changed between two vacuums, which each have to visit */
	double		vacuumed = r->vacuums > 0 ? r->old_pages * r->vacuums * heap_pages * (1 - exp(-1 / (r->vacuums * heap_pages))) : 0;

	c->time_us = US_STATEMENT / r->call_rows + US_ROW
		+ r->inserts * (US_STATEMENT / r->insert_call_rows + US_ROW + n * US_INDEX_INSERT)
		+ r->deletes * (US_STATEMENT + US_ROW)
		+ r->reads * US_READ
		+ r->scans * heap_pages * US_SCAN_PAGE
		+ cold * n * (US_INDEX_INSERT + US_INDEX_VISIT / r->call_rows) + moved * US_MOVE + s->prunes * US_PRUNE
		+ new_pages * US_NEW_PAGE + vacuumed * US_VACUUM_PAGE
	/* an update: its heap page, which is written again, and the leaf that finds it */
		+ miss * (page_us + in->read_us + r->reads * 2 * in->read_us)
	/* not HOT: that leaf is written too, the other indexes' are read and written */
		+ miss * cold * ((n > 1 ? n - 1 : 0) * page_us + (n > 1 ? 1 : n) * in->read_us * WRITE_PER_READ)
	/* the page moved to, which takes several rows */
		+ miss * moved * 0.2 * page_us
		+ r->scans * heap_pages * bound(1 - ram / (heap_bytes + 1), 0, 1) * in->read_us / 8;

	c->wal_bytes = WAL_COMMIT / r->call_rows + WAL_UPDATE + r->more_wal + s->prunes * WAL_PRUNE
		+ r->inserts * (WAL_COMMIT / r->insert_call_rows + WAL_ROW + life->insert_len + n * WAL_INDEX_ENTRY)
		+ r->deletes * (WAL_COMMIT + WAL_DELETE)
		+ moved * (WAL_MOVE + life->update_len) + cold * n * WAL_INDEX_ENTRY
		+ vacuumed * WAL_VACUUM_PAGE;
	/*
	 * Pages touched for the first time since a checkpoint: each is logged
	 * whole, less its hole, and written out by the next one.
	 */
	first_heap = r->old_pages * heap_pages / per_checkpoint * (1 - exp(-per_checkpoint / heap_pages));
	first_leaf = r->old_pages * n * leaves / per_checkpoint * (1 - exp(-cold * per_checkpoint / leaves));
	c->wal_bytes += TWIN_BLCKSZ * ((first_heap + first_leaf) * IMAGE_FILL);
	c->time_us += US_PAGE_WRITE * (first_heap + first_leaf);

	c->size_bytes = heap_bytes;
	c->index_bytes = index_bytes;
	c->log_cost = in->time_weight * log(c->time_us) + in->wal_weight * log(c->wal_bytes)
		+ in->size_weight * log(heap_bytes + index_bytes + 1);
}

/*
 * Bytes of the heap at another step, by the twin's pages a row there and today.
 * What it does not explain of the pages seen is put down to
 * versions that wait for vacuum, and so goes as the updates go that leave them.
 */
static double
heap_at(const CostInput *in, const Observed *seen, const Shares *then, const Shares *now)
{
	double		off = bound(or_else(seen->blocks / (seen->live_rows * now->pages), 1), 0.2, 5);
	double		part = now->cold > 0.02 ? bound(then->cold / now->cold, 0, 1) : 1;

	return in->heap_bytes * then->pages / now->pages * pow(off, part - 1);
}

/*
 * The table as it is: what the current step says, but where its pages were
 * filled before the fillfactor was set.
 */
static Step
as_it_is(const Lifecycle *life, const Step *current)
{
	Step		s = *current;
	int			k;

	for (k = 0; k < life->n; k++)
	{
		const Fitted *f = &life->member[k];

		if (f->life.start_fillfactor <= 0 || !(f->rows_per_page > 0))
			continue;
		s.window[k].cold = 1 - f->hot_pct / 100;
		s.window[k].moved = f->moved_pct / 100;
		s.window[k].pages = 1 / f->rows_per_page;
		s.settled[k].pages *= s.window[k].pages / current->window[k].pages;
	}
	return s;
}

/* The mean of the lifecycles: in a window such as the one seen, and once settled. */
static void
cost_of_step(const CostInput *in, const Observed *seen, const Lifecycle *life, const Rates *r,
			 const Step *s, const Step *today, double window_weight, StepCost *sum)
{
	double		growth = r->inserts > r->deletes ? r->inserts - r->deletes : 0;
	int			k;

	for (k = 0; k < life->n; k++)
	{
		double		w = life->member[k].weight;
		StepCost	c,
					d;

		cost_of(in, life, r, &s->window[k], heap_at(in, seen, &s->window[k], &today->window[k]),
				&today->window[k], growth * s->window[k].pages, &c);
		cost_of(in, life, r, &s->settled[k], heap_at(in, seen, &s->settled[k], &today->settled[k]),
				&today->settled[k], growth * s->settled[k].pages, &d);
		sum->time_us += w * c.time_us;
		sum->wal_bytes += w * c.wal_bytes;
		sum->size_bytes += w * c.size_bytes;
		sum->index_bytes += w * c.index_bytes;
		sum->log_cost += w * (window_weight * c.log_cost + (1 - window_weight) * d.log_cost);
	}
}

/*
 * Do most updates fall on rows inserted lately, whatever the fit made of it?
 * Where whole batches are updated, no page holds both kinds of rows, nothing
 * is known of the distance, and several lifecycles explain the table alike.
 *
 * With an insert or more for every two updates, updates all over the table
 * leave a third of its rows or more never updated; so hardly any such rows
 * means that updates follow the inserts.  The marks must be the window's own,
 * not of an update long ago, hence its part of the table.
 */
static int
updates_new_rows(const Observed *seen)
{
	return seen->updated > 0 && seen->inserted >= 0.5 * seen->updated &&
		seen->updated >= 0.1 * seen->live_rows && seen->updated_pct >= 80;
}

static void
weigh(const Observed *seen, const Lifecycle *life, const Curve *curve,
	  const CostInput *input, Choice *choice)
{
	CostInput	in = *input;
	Rates		r;
	double		updated = bound(seen->updated, 1, 1e15);
	double		calls;
	double		window_weight;
	double		member_gain[LIFECYCLE_ENSEMBLE] = {0};
	double		best = INFINITY;
	Step		today;
	double		tie = life->n > 0 && life->hot_eligible < NONE_HOT ? TIE_COLD : TIE;
	int			i,
				k;

	memset(choice, 0, sizeof(*choice));
	choice->gain = choice->best_gain = choice->rewrite_gain = 1;
	if (curve->n == 0)
		return;
	in.indexes = bound(in.indexes, 0, 1000);
	in.index_bytes = bound(in.index_bytes, 0, 1e18);
	in.index_scans = bound(in.index_scans, 0, 1e15);
	in.seq_scans = bound(in.seq_scans, 0, 1e15);
	in.blocks_fetched = bound(in.blocks_fetched, 0, 1e18);
	in.read_us = bound(in.read_us, 0, 1e9);
	in.heap_bytes = bound(in.heap_bytes, TWIN_BLCKSZ, 1e18);
	if (!(in.ram_bytes > 0))
		in.ram_bytes = 1e18;
	in.read_us = in.read_us > 0 ? in.read_us : US_PAGE_READ;
	in.checkpoint_s = bound(or_else(in.checkpoint_s, 300), 1, 1e9);
	in.horizon_s = bound(or_else(in.horizon_s, 30 * 86400.0), 1, 1e12);
	in.window_s = bound(or_else(in.window_s, 1), 1e-3, 1e12);

	for (i = 0; i < curve->n; i++)
		if (curve->step[i].fillfactor >= seen->fillfactor)
			choice->current = i;
	today = as_it_is(life, &curve->step[choice->current]);

	memset(&r, 0, sizeof(r));
	r.inserts = bound(seen->inserted / updated, 0, 1e9);
	r.deletes = bound(seen->deleted / updated, 0, 1e9);
	r.call_rows = bound(in.update_call_rows, life->n > 0 ? life->member[0].life.update_rows : 1, 1e6);
	r.insert_call_rows = bound(in.insert_call_rows, life->n > 0 ? life->member[0].life.insert_rows : 1, 1e6);
	calls = 1 / r.call_rows + r.deletes;
	r.reads = bound(in.index_scans / updated - calls, 0, 1e9);

	/*
	 * Pages that sequential scans read: scans of a table that was small once
	 * were short, so no more than the pages asked for beyond those that index
	 * scans and changes need.
	 */
	r.scans = bound(in.blocks_fetched - BLOCKS_INDEX_SCAN * in.index_scans
					- BLOCKS_CHANGE * (updated + seen->inserted + seen->deleted),
					0, in.seq_scans * in.heap_bytes / TWIN_BLCKSZ) / updated / (in.heap_bytes / TWIN_BLCKSZ);
	r.vacuums = bound(or_else(seen->vacuums, 0), 0, 1e9) / updated;
	r.rate = updated / in.window_s;
	r.scattered = r.old_pages = 1 - life->fresh_share;
	/* a queue reuses its pages: old ones go by themselves */
	if (life->n > 0 && life->member[0].life.skew > 0)
		r.scattered *= 0.5;
	choice->needs_rewrite = r.old_pages > 0.3 && !updates_new_rows(seen);
	if (life->n == 0)
	{
		/* nothing was updated: only space speaks */
		for (i = 0; i < curve->n; i++)
		{
			choice->cost[i].size_bytes = in.heap_bytes * curve->step[i].pages_ratio;
			choice->cost[i].index_bytes = in.index_bytes;
			choice->cost[i].time_us = choice->cost[i].wal_bytes = NAN;
			choice->cost[i].log_cost = in.size_weight * log(choice->cost[i].size_bytes + in.index_bytes);
		}
	}
	else
	{
		/*
		 * What the statements were seen to write, less what the model knows
		 * of: wider changes than assumed, full-page images, anything that a
		 * fillfactor does not change.
		 */
		if (in.update_wal_bytes > 0)
		{
			StepCost	c;
			double		known;

			cost_of(&in, life, &r, &today.window[0], in.heap_bytes, &today.window[0], 0, &c);
			known = c.wal_bytes - WAL_COMMIT / r.call_rows
				- r.inserts * (WAL_COMMIT / r.insert_call_rows + WAL_ROW + life->insert_len + in.indexes * WAL_INDEX_ENTRY)
				- r.deletes * (WAL_COMMIT + WAL_DELETE);
			r.more_wal = bound(in.update_wal_bytes - known, -0.5 * WAL_UPDATE, 1e9);
		}

		/* the part of the horizon that goes by until the table has settled */
		window_weight = bound(life->member[0].settle_updates / life->scale / r.rate / in.horizon_s,
							  WINDOW_WEIGHT, 1);
		for (i = 0; i < curve->n; i++)
			cost_of_step(&in, seen, life, &r, &curve->step[i], &today, window_weight, &choice->cost[i]);
		cost_of_step(&in, seen, life, &r, &today, &today, window_weight, &choice->as_is);
	}
	if (life->n == 0)
		choice->as_is = choice->cost[choice->current];

	for (i = 0; i < curve->n; i++)
	{
		const Step *s = &curve->step[i];
		double		fewer = (double) curve->step[choice->current].rows_per_page / s->rows_per_page;

		if (life->n > 0 && fewer > 1)
		{
			choice->cost[i].log_cost += CAUTION * log2(fewer);
			if (s->fillfactor < TRIED)
				choice->cost[i].log_cost += UNTRIED_CAUTION * log2((double) TRIED / s->fillfactor);
		}
	}
	for (i = 0; i < curve->n; i++)
		if (choice->cost[i].log_cost < best)
			best = choice->cost[i].log_cost;
	for (i = curve->n - 1; i >= 0; i--)
	{
		choice->cost[i].cost = exp(choice->cost[i].log_cost - best);
		if (choice->cost[i].log_cost <= best + tie)
			choice->best = i;
	}
	/* against today's table, and against what a rewrite alone would make of it */
	choice->best_gain = exp(fmin(choice->as_is.log_cost, choice->cost[choice->current].log_cost) - choice->cost[choice->best].log_cost);

	/* do the lifecycles agree that it is better? */
	for (k = 0; k < life->n; k++)
	{
		const Step *b = &curve->step[choice->best];
		StepCost	c,
					d;

		cost_of(&in, life, &r, &b->window[k], heap_at(&in, seen, &b->window[k], &today.window[k]),
				&today.window[k], 0, &c);
		cost_of(&in, life, &r, &today.window[k], in.heap_bytes, &today.window[k], 0, &d);
		member_gain[k] = d.log_cost - c.log_cost;
		if (member_gain[k] > 0)
			choice->agreement += life->member[k].weight;
	}
	if (life->n == 0)
		choice->agreement = 1;
	choice->advised = choice->best_gain >= 1 + in.min_gain && choice->agreement >= AGREEMENT ?
		choice->best : choice->current;
	choice->gain = choice->advised == choice->current ? 1 : exp(choice->as_is.log_cost - choice->cost[choice->advised].log_cost);
	choice->rewrite_gain = exp(choice->as_is.log_cost - choice->cost[choice->current].log_cost);
}

void
choose(const Observed *seen, const Lifecycle *life, const Curve *curve,
	   const CostInput *in, Choice *choice)
{
	CostInput	dry = *in;
	Choice		in_ram;

	dry.ram_bytes = NAN;
	weigh(seen, life, curve, &dry, &in_ram);
	weigh(seen, life, curve, in, choice);
	choice->advised_in_ram = in_ram.advised;
}
