/*
 * decide.c
 *	  Keep, set, or set and rewrite: what each costs over the horizon.
 *
 * The cost is time^a * WAL^b * size^c, all per row updated, with what comes along
 * with an update on average (inserts, deletes, reads).  Only ratios between options
 * matter, so prices need be right relative to each other, not on every machine.
 */
#include "decide.h"
#include "numbers.h"

#include <string.h>

typedef enum PriceId
{
	US_STATEMENT, US_ROW, US_READ, US_ENTRY, US_ENTRY_VISIT, US_MOVE, US_PRUNE, US_SCAN_PAGE,
	US_NEW_PAGE, US_PAGE_WRITE, US_VACUUM_PAGE, US_PAGE_READ, US_REWRITE_ROW,
	WAL_COMMIT, WAL_UPDATE, WAL_PRUNE, WAL_ROW, WAL_ENTRY, WAL_MOVE, WAL_DELETE, WAL_VACUUM_PAGE,
	INDEX_BLOAT, BLOCKS_ROW, CAUTION, AGREEMENT, CLEAR, CLEAR_GAINS, LACKING, PRIOR,
	SETTLES, SETTLED, MISFIT, FULL_DAY, FEW, PRICES
} PriceId;

#define BENCH	"test/bench/regret/constants.py on PostgreSQL 15"
#define LSN		"differences of pg_current_wal_lsn() on PostgreSQL 15"
#define CHOSEN	"chosen"

static const struct
{
	double		value;
	const char *what;
	const char *source;
}			price[PRICES] = {
	[US_STATEMENT] = {28.0, "CPU of a statement and its transaction, no row yet", BENCH},
	[US_ROW] = {1.3, "one row inserted, updated or deleted", BENCH},
	[US_READ] = {12.0, "a read by index: inside a join less, alone more", BENCH},
	[US_ENTRY] = {1.6, "one index entry, leaf in cache, vacuum included", BENCH},
	[US_ENTRY_VISIT] = {3.5, "on top of it, once a statement that updates", BENCH},
	[US_MOVE] = {1.5, "find another page, write the whole row", BENCH},
	[US_PRUNE] = {7.0, "prune a page on access (+- 2.6)", BENCH},
	[US_SCAN_PAGE] = {1.0, "a page more for a sequential scan", BENCH},
	[US_NEW_PAGE] = {8.0, "extend the table by a page, write it later", BENCH},
	[US_PAGE_WRITE] = {8.0, "log a page whole and write it once a checkpoint", BENCH},
	[US_VACUUM_PAGE] = {3.0, "vacuum a page that was changed", BENCH},
	[US_PAGE_READ] = {100.0, "one random read, where not measured", CHOSEN},
	[US_REWRITE_ROW] = {2.0, "a row read, written and indexed by VACUUM FULL, per index", CHOSEN},
	[WAL_COMMIT] = {40.0, "bytes of a commit record", LSN},
	[WAL_UPDATE] = {80.0, "an update in its page: the changed part of the row", LSN},
	[WAL_PRUNE] = {62.0, "one page pruned", LSN},
	[WAL_ROW] = {70.0, "heap insert record without the row", LSN},
	[WAL_ENTRY] = {72.0, "index entry with its share of splits and vacuum", LSN},
	[WAL_MOVE] = {60.0, "an update to another page, without the row", LSN},
	[WAL_DELETE] = {60.0, "a delete", LSN},
	[WAL_VACUUM_PAGE] = {150.0, "prune a page and mark it all-visible", LSN},
	[INDEX_BLOAT] = {0.7, "entries that stay per entry added, vacuum running, up to one a row", CHOSEN},
	[BLOCKS_ROW] = {2.0, "heap pages that an index scan or a change of one row asks for", CHOSEN},
	[CAUTION] = {0.02, "ln of cost for halving the rows of a page: forecasts err more", CHOSEN},
	[AGREEMENT] = {0.6, "weight of the lives that must find a change cheaper", CHOSEN},
	[CLEAR] = {0.7, "and that must find it better than what was chosen before", CHOSEN},
	[CLEAR_GAINS] = {5, "times min_gain by which it must be better than what was advised", CHOSEN},
	[LACKING] = {0.02, "share of updates not HOT, from which they may lack room", CHOSEN},
	[PRIOR] = {3, "weight of what was made of the table before, of as many updates", CHOSEN},
	[SETTLES] = {0.05, "HOT share by which a table must still rise to be settling", CHOSEN},
	[SETTLED] = {0.9, "and part of what can be HOT that it must reach", CHOSEN},
	[MISFIT] = {12, "misfit by which confidence falls to a third", CHOSEN},
	[FULL_DAY] = {86400, "seconds after which so few updates are few", CHOSEN},
	[FEW] = {0.01, "updates by inserts, and rows updated, below which there are none", CHOSEN},
};

#define P(id)	(price[id].value)

/* What comes along with a row updated. */
typedef struct Rates
{
	double		statements;
	double		inserts;
	double		insert_calls;
	double		deletes;
	double		delete_calls;
	double		reads;
	double		scans;
	double		vacuums;
	double		more_wal;		/* bytes an update writes beyond WAL_UPDATE */
	double		per_second;		/* rows updated, when one is */
	double		len;			/* bytes of a row inserted */
	double		updated_len;	/* and of one updated */
	double		indexes;
	double		index_bytes;
	double		ram;
	double		read_us;
	double		checkpoint_s;
} Rates;

static Rates
read_rates(const Evidence *e, const FitPlan *p)
{
	EvInterval	w = ff_evidence_window(e);
	double		n = bound(w.updated, 1, 1e15);
	EvStatement updates = ff_evidence_statements(e, EV_UPDATE, offsetof(EvStatement, rows));
	EvStatement inserts = ff_evidence_statements(e, EV_INSERT, offsetof(EvStatement, rows));
	EvStatement deletes = ff_evidence_statements(e, EV_DELETE, offsetof(EvStatement, rows));
	Rates		r = {0};

	r.statements = updates.rows > 0 ? updates.calls / updates.rows : 1 / bound(p->together, 1, 1e4);
	/* what no statement tells of is written by calls as large as the updates */
	r.inserts = bound(w.inserted / n, 0, 1e9);
	r.insert_calls = r.inserts * (inserts.rows > 0 ? inserts.calls / inserts.rows : r.statements);
	r.deletes = bound(w.deleted / n, 0, 1e9);
	r.delete_calls = r.deletes * (deletes.rows > 0 ? deletes.calls / deletes.rows : r.statements);
	r.reads = bound(e->index_scans / n - r.statements - r.delete_calls, 0, 1e9);
	/* pages asked for beyond those of index scans and changes: sequential scans */
	r.scans = bound(e->blocks_fetched -
					P(BLOCKS_ROW) * (bound(e->index_scans, 0, 1e15) + n + w.inserted + w.deleted), 0,
					bound(e->seq_scans, 0, 1e15) * bound(e->blocks, 1, 1e15)) /
		n / bound(e->blocks, 1, 1e15);
	r.vacuums = w.vacuums / n;
	for (int i = 0; i < e->nintervals; i++)
	{
		double		updated = bound(e->interval[i].updated, 0, 1e15);

		r.per_second += updated / n * updated / bound(e->interval[i].seconds, 1e-3, 1e12);
	}
	r.len = p->insert_mean;
	r.updated_len = p->update_mean;
	r.indexes = bound(e->indexes, 0, 1000);
	r.index_bytes = bound(e->index_bytes, 0, 1e18);
	r.ram = e->ram_bytes > 0 ? e->ram_bytes : 1e18;
	r.read_us = e->read_us > 0 ? e->read_us : P(US_PAGE_READ);
	r.checkpoint_s = bound(or_else(e->checkpoint_s, 300), 1, 1e9);
	return r;
}

/* What one outcome costs, a heap of such a size. */
static void
cost_of(const Rates *r, const FcOutcome *o, double heap_bytes, double entries, DcCost *c)
{
	double		n = r->indexes;
	double		cold = 1 - o->hot;
	double		leaves;
	double		pages = bound(heap_bytes / TW_BLCKSZ, 1, 1e15);
	double		per_checkpoint = bound(r->per_second * r->checkpoint_s, 1, 1e15);
	double		miss;
	double		page_us = 2 * r->read_us;	/* written back, too */
	double		vacuumed = r->vacuums > 0 ?
		r->vacuums * pages * (1 - exp(-1 / (r->vacuums * pages))) : 0;
	double		images;

	c->heap_bytes = heap_bytes;
	c->index_bytes = r->index_bytes * (1 + P(INDEX_BLOAT) * bound(entries, 0, 1));
	leaves = bound(n > 0 ? c->index_bytes / TW_BLCKSZ / n : 1, 1, 1e15);
	miss = bound(1 - r->ram / (heap_bytes + c->index_bytes + 1), 0, 1);
	/* pages touched for the first time since a checkpoint are logged whole */
	images = (pages * (1 - exp(-o->touched * per_checkpoint / pages)) +
			  n * leaves * (1 - exp(-cold * per_checkpoint / leaves))) / per_checkpoint;
	c->time_us = P(US_STATEMENT) * (r->statements + r->insert_calls + r->delete_calls) +
		P(US_ROW) * (1 + r->inserts + r->deletes) + r->inserts * n * P(US_ENTRY) +
		r->reads * P(US_READ) + r->scans * pages * P(US_SCAN_PAGE) +
		cold * n * (P(US_ENTRY) + P(US_ENTRY_VISIT) * r->statements) + o->moved * P(US_MOVE) +
		o->prunes * P(US_PRUNE) + vacuumed * P(US_VACUUM_PAGE) + images * P(US_PAGE_WRITE) +
		(r->inserts > r->deletes ? r->inserts - r->deletes : 0) * o->pages * P(US_NEW_PAGE) +
	/* the heap pages, written back, and the leaf that finds the row */
		miss * (o->touched * page_us + r->read_us + r->reads * 2 * r->read_us) +
	/* not HOT: that leaf is written, too, those of other indexes read and written */
		miss * cold * ((n > 1 ? n - 1 : 0) * page_us +
					   (n > 1 ? 1 : n) * r->read_us) +
		r->scans * pages * bound(1 - r->ram / (heap_bytes + 1), 0, 1) * r->read_us / 8;
	c->wal_bytes = P(WAL_COMMIT) * (r->statements + r->insert_calls + r->delete_calls) +
		P(WAL_UPDATE) + r->more_wal + o->prunes * P(WAL_PRUNE) +
		r->inserts * (P(WAL_ROW) + r->len + n * P(WAL_ENTRY)) + r->deletes * P(WAL_DELETE) +
		o->moved * P(WAL_MOVE) + o->moved_bytes + cold * n * P(WAL_ENTRY) +
		vacuumed * P(WAL_VACUUM_PAGE) + TW_BLCKSZ * images;
}

static double
log_cost(const Evidence *e, const DcCost *c)
{
	return bound(e->time_weight, 0, 10) * log(c->time_us) +
		bound(e->wal_weight, 0, 10) * log(c->wal_bytes) +
		bound(e->size_weight, 0, 10) * log(c->heap_bytes + c->index_bytes + 1);
}

/* Index entries that updates have left, per row. */
static double
entries_of(const Evidence *e, const Forecast *f, const FcOutcome *o)
{
	return (1 - o->hot) * f->updates / bound(e->live_rows, 1, 1e15);
}

/*
 * Bytes of the heap at the end.  What the twin does not explain of the pages seen
 * is put down to versions that wait for vacuum: it goes as the updates go that
 * leave them.
 */
static double
heap_of(const Evidence *e, const Forecast *f, int life, const FcOutcome *o, double hot_now)
{
	double		off = bound(or_else(e->blocks / (e->live_rows * f->pages_now[life]), 1), 0.3, 4);
	double		part = hot_now < 0.98 ? bound((1 - o->hot) / (1 - hot_now), 0, 1) : 1;

	return TW_BLCKSZ * bound(e->live_rows, 1, 1e15) * o->pages * pow(off, part);
}

/* Reading, writing and logging the whole table once, per row updated later on. */
static void
add_rewrite(const Evidence *e, const Forecast *f, const Rates *r, DcCost *c)
{
	double		n = bound(f->updates, 1, 1e18);
	double		now = bound(e->blocks, 1, 1e15);
	double		then = (c->heap_bytes + r->index_bytes) / TW_BLCKSZ;
	double		cached = bound(r->ram / (now * TW_BLCKSZ), 0, 1);

	c->wal_bytes += then * TW_BLCKSZ / n;
	c->time_us += (now * (P(US_SCAN_PAGE) + (1 - cached) * r->read_us / 8) + then * P(US_PAGE_WRITE) +
				   bound(e->live_rows, 0, 1e15) * (1 + r->indexes) * P(US_REWRITE_ROW)) / n;
}

/* What the statements were seen to write, less what the prices know of. */
static void
calibrate_wal(const Evidence *e, Rates *r, const FcOutcome *now)
{
	EvStatement s = ff_evidence_statements(e, EV_UPDATE, offsetof(EvStatement, wal_bytes));
	double		beside = P(WAL_COMMIT) * (r->statements + r->insert_calls + r->delete_calls) +
		r->inserts * (P(WAL_ROW) + r->len + r->indexes * P(WAL_ENTRY)) + r->deletes * P(WAL_DELETE);
	DcCost		c;

	if (!(s.rows > 0))
		return;
	cost_of(r, now, TW_BLCKSZ * bound(e->blocks, 1, 1e15), 0, &c);
	r->more_wal = bound(s.wal_bytes / s.rows - (c.wal_bytes - beside), -0.5 * P(WAL_UPDATE), 1e9);
}

/*
 * Could any fillfactor save min_gain, were no update non-HOT that has room to be,
 * no page pruned and no page half empty?  Says what would be left of the cost.
 */
static double
least_cost(const Evidence *e, const FitPlan *p, const Rates *r)
{
	FitSplit	s = p->split;
	FcOutcome	now = {.hot = or_else(s.hot, 1), .moved = or_else(s.moved, 0), .prunes = 1,
	.touched = 1};
	FcOutcome	best = {.hot = 1 - or_else(s.blocked, 0)};
	double		bytes = TW_BLCKSZ * bound(e->blocks, 1, 1e15);
	double		full = bound(e->live_rows, 0, 1e15) * (r->len + 8);
	DcCost		a,
				b;

	now.moved_bytes = now.moved * r->updated_len;
	cost_of(r, &now, bytes, 0, &a);
	cost_of(r, &best, bound(full, TW_BLCKSZ, bytes), 0, &b);
	return exp(log_cost(e, &b) - log_cost(e, &a));
}

void
ff_decide_index_entry(double *wal_bytes, double *cpu_us)
{
	*wal_bytes = P(WAL_ENTRY);
	*cpu_us = P(US_ENTRY);
}

/* ln of what it costs that forecasts far from what was seen err more. */
static double
caution(const Forecast *f, int step)
{
	double		fewer = (double) f->step[f->current].rows_per_page / f->step[step].rows_per_page;

	return fewer > 1 ? P(CAUTION) * log2(fewer) : 0;
}

/* All options, in all lives. */
static void
cost_all(const Evidence *e, const Forecast *f, const Rates *r, double hot_now, Decision *d)
{
	int			way,
				i,
				k;

	memset(d->cost, 0, sizeof(d->cost));
	for (k = 0; k < f->nlives; k++)
	{
		const FcOutcome *keep = &f->outcome[FC_SET][k][f->current];
		DcCost		c;
		double		log_keep;

		cost_of(r, keep, heap_of(e, f, k, keep, hot_now), entries_of(e, f, keep), &c);
		log_keep = log_cost(e, &c);
		for (way = 0; way < FC_WAYS; way++)
			for (i = 0; i < f->n; i++)
			{
				const FcOutcome *o = &f->outcome[way][k][i];
				DcCost	   *sum = &d->cost[way][i];
				double		ratio;

				cost_of(r, o, heap_of(e, f, k, o, hot_now), entries_of(e, f, o), &c);
				if (way == FC_REWRITE)
					add_rewrite(e, f, r, &c);
				ratio = exp(log_cost(e, &c) - log_keep + caution(f, i));
				d->ratio[way][k][i] = ratio;
				sum->time_us += f->weight[k] * c.time_us;
				sum->wal_bytes += f->weight[k] * c.wal_bytes;
				sum->heap_bytes += f->weight[k] * c.heap_bytes;
				sum->index_bytes += f->weight[k] * c.index_bytes;
				sum->ratio += f->weight[k] * ratio;
			}
	}
}

FcWay
ff_decide_way(const Evidence *e, const Decision *d, int step)
{
	return d->cost[FC_REWRITE][step].ratio <
		d->cost[FC_SET][step].ratio * (1 - or_else(e->min_gain, 0.02)) ? FC_REWRITE : FC_SET;
}

double
ff_decide_cheaper(const Forecast *f, const Decision *d, FcWay way, int step,
				  FcWay than_way, int than)
{
	double		weight = 0;

	for (int k = 0; k < f->nlives; k++)
		if (d->ratio[way][k][step] < d->ratio[than_way][k][than])
			weight += f->weight[k];
	return weight;
}

/*
 * What was made of the table before is the prior: costs are the mean of those found then
 * and now, in logs, weighed by the updates seen.  One fit errs more than its lives differ.
 */
static void
pool_costs(const Evidence *e, const Forecast *f, Decision *d)
{
	double		n = bound(ff_evidence_window(e).updated, 1, 1e15);
	double		weight = P(PRIOR) * bound(e->prior_updated / n, 0, 1);
	double		keep = e->prior_cost[f->step[f->current].fillfactor];
	int			way,
				i,
				k;

	/* of rows of another length the steps are others */
	for (i = 0; i < f->n; i++)
		if (!(e->prior_cost[f->step[i].fillfactor] > 0))
			return;
	for (i = 0; i < f->n; i++)
	{
		double		now = d->cost[ff_decide_way(e, d, i)][i].ratio;
		double		before = e->prior_cost[f->step[i].fillfactor] / keep;
		double		factor = pow(before / now, weight / (1 + weight));

		if (i == f->current)
			continue;
		for (way = 0; way < FC_WAYS; way++)
		{
			d->cost[way][i].ratio *= factor;
			for (k = 0; k < f->nlives; k++)
				d->ratio[way][k][i] *= factor;
		}
	}
}

/*
 * Is the best option clearly better than another: by min_gain on the mean, and in nearly
 * all lives?
 */
static int
clearly_better(const Forecast *f, const Decision *d, FcWay than_way, int than, double min_gain)
{
	return ff_decide_cheaper(f, d, d->best_way, d->best, than_way, than) >= P(CLEAR) &&
		d->cost[d->best_way][d->best].ratio < (1 - min_gain) * d->cost[than_way][than].ratio;
}

/* The cheapest, ties to what changes least: keep, then set, then the higher fillfactor. */
static void
choose_cheapest(const Evidence *e, const Forecast *f, double min_gain, Decision *d)
{
	double		best = 1;
	/* what a rewrite gains without another fillfactor is no gain of that one */
	double		rewritten = d->cost[FC_REWRITE][f->current].ratio * (1 - min_gain);
	int			way;

	d->best_way = FC_SET;
	d->best = f->current;
	for (way = 0; way < FC_WAYS; way++)
		for (int i = 0; i < f->n; i++)
			if (d->cost[way][i].ratio < best &&
				(way == FC_SET || (ff_decide_way(e, d, i) == FC_REWRITE &&
								   (i == f->current || d->cost[way][i].ratio < rewritten))))
			{
				best = d->cost[way][i].ratio;
				d->best_way = (FcWay) way;
				d->best = i;
			}
}

/*
 * What was chosen last stays until another option, or none, is clearly better, or until
 * it saves not even half of min_gain.
 */
static int
choose_standing(const Evidence *e, const Forecast *f, double min_gain, Decision *d)
{
	FcWay		way;
	int			i;

	for (i = f->n - 1; i >= 0; i--)
		if (f->step[i].fillfactor >= e->standing)
			break;
	if (i < 0 || i == f->current)
		return 0;
	way = ff_decide_way(e, d, i);
	if (d->cost[way][i].ratio > 1 - min_gain / 2 ||
		clearly_better(f, d, way, i, d->best == f->current ? 0 : P(CLEAR_GAINS) * min_gain))
		return 0;
	d->best = i;
	d->best_way = way;
	return 1;
}

/*
 * One rule for all: what somebody chose before is changed for what is clearly better, and
 * what was advised here and followed for still more room only where much is to be saved.
 * Below 100 there is no more room for updates that are all HOT.
 */
static void
choose_best(const Evidence *e, const FitSplit *seen, const Forecast *f, Decision *d)
{
	double		min_gain = or_else(e->min_gain, 0.02);
	int			below = e->fillfactor < TW_MAX_FF;
	int			more,
				enough,
				standing;
	double		cheaper;

	choose_cheapest(e, f, min_gain, d);
	more = d->best > f->current;
	standing = choose_standing(e, f, min_gain, d);
	cheaper = ff_decide_cheaper(f, d, d->best_way, d->best, FC_SET, f->current);
	if (standing)
		enough = 1;
	else if (below && more && seen->hot >= 1 - P(LACKING))
		enough = 0;
	else if (below)
		enough = clearly_better(f, d, FC_SET, f->current,
								(more && e->followed > 0 ? P(CLEAR_GAINS) : 1) * min_gain);
	else
		enough = d->cost[d->best_way][d->best].ratio <= 1 - min_gain && cheaper >= P(AGREEMENT);
	d->agreement = d->best == f->current && d->best_way == FC_SET ? 1 : cheaper;
	d->action = DC_KEEP;
	d->gain = 0;
	d->advised = f->current;
	if (enough)
	{
		d->gain = 1 - d->cost[d->best_way][d->best].ratio;
		d->advised = d->best;
		d->action = d->best_way == FC_REWRITE ? DC_REWRITE : DC_SET;
	}
}

/* All options with the memory that the rates say, and the choice. */
static void
choose(const Evidence *e, const FitSplit *seen, const Forecast *f, const Rates *r, Decision *d)
{
	cost_all(e, f, r, seen->hot, d);
	pool_costs(e, f, d);
	choose_best(e, seen, f, d);
}

/* How sure that is, and whether it settles by itself. */
static void
describe(const Fit *fit, const Forecast *f, Decision *d)
{
	for (int k = 0; k < f->nlives; k++)
	{
		const FcOutcome *o = &f->outcome[FC_SET][k][f->current];

		if (o->settled_hot <= fit->plan.split.hot + P(SETTLES) ||
			o->settled_hot < P(SETTLED) * (1 - or_else(fit->plan.split.blocked, 0)))
			continue;
		d->settling += f->weight[k];
		d->settle_updates += f->weight[k] * o->settle_updates;
	}
	if (d->settling > 0)
		d->settle_updates /= d->settling;
	/* how well it is understood, and how many agree */
	d->confidence = exp(-fit->misfit / P(MISFIT)) * (0.5 + 0.5 * d->agreement);
}

/* Without updates only room counts: new pages as full as a step allows. */
static void
cost_room(const Evidence *e, const Forecast *f, Decision *d)
{
	double		heap = TW_BLCKSZ * bound(e->blocks, 1, 1e15);
	double		indexes = bound(e->index_bytes, 0, 1e18);
	int			way;

	for (way = 0; way < FC_WAYS; way++)
		for (int i = 0; i < f->n; i++)
		{
			DcCost	   *c = &d->cost[way][i];

			c->heap_bytes = heap * f->step[f->current].rows_per_page / f->step[i].rows_per_page;
			c->index_bytes = indexes;
			c->ratio = pow((c->heap_bytes + indexes + 1) / (heap + indexes + 1),
						   bound(e->size_weight, 0, 10));
		}
}

/*
 * A reserve that nothing uses is given back: after a full day, where rows are inserted
 * and neither counters nor pages show updates.
 */
static void
choose_by_room(const Evidence *e, const Forecast *f, Decision *d)
{
	EvInterval	w = ff_evidence_window(e);

	d->best = d->advised_in_ram = d->advised = f->current;
	d->agreement = d->confidence = 1;
	d->action = ff_evidence_seconds(e) < P(FULL_DAY) ? DC_WAIT : DC_KEEP;
	if (d->action == DC_WAIT || f->n == 0 || f->nlives > 0 || !(w.inserted >= e->min_updates) ||
		w.updated > P(FEW) * w.inserted || e->updated_pct > 100 * P(FEW) ||
		1 - d->cost[FC_SET][0].ratio < or_else(e->min_gain, 0.02))
		return;
	d->gain = 1 - d->cost[FC_SET][0].ratio;
	d->best = d->advised_in_ram = d->advised = 0;
	d->action = DC_SET;
}

/* All costs and the cheapest; first as though everything were in memory. */
static void
weigh(const Evidence *e, const Fit *fit, const Forecast *f, Rates r, Decision *d)
{
	double		ram = r.ram;
	FcOutcome	now = {
		.hot = fit->plan.split.hot, .moved = or_else(fit->plan.split.moved, 0),
		.prunes = f->outcome[FC_SET][0][f->current].prunes,
		.touched = f->outcome[FC_SET][0][f->current].touched
	};

	now.moved_bytes = now.moved * r.updated_len;
	calibrate_wal(e, &r, &now);
	r.ram = INFINITY;
	choose(e, &fit->plan.split, f, &r, d);
	d->advised_in_ram = d->advised;
	r.ram = ram;
	choose(e, &fit->plan.split, f, &r, d);
	describe(fit, f, d);
}

void
ff_decide(FitWork *w, const Evidence *e, int curve, Fit *fit, Forecast *f, Decision *d)
{
	int			few = !(ff_evidence_window(e).updated >= or_else(e->min_updates, 1));
	int			settled;
	int			planned;
	Rates		r;

	memset(fit, 0, sizeof(*fit));
	memset(d, 0, sizeof(*d));
	planned = ff_plan(e, &fit->plan);
	r = read_rates(e, &fit->plan);
	d->calls = r.statements;
	d->bound = least_cost(e, &fit->plan, &r);
	settled = 1 - d->bound < or_else(e->min_gain, 0.02);
	if (planned && (curve || !(few || settled)))
		ff_fit(w, e, fit);
	ff_forecast(w, e, fit, f);
	d->best = d->advised_in_ram = d->advised = f->current;
	if (f->nlives > 0)
		weigh(e, fit, f, r, d);
	else
		cost_room(e, f, d);
	if (few)
		choose_by_room(e, f, d);
	else if (settled)
	{
		d->action = DC_KEEP;
		d->best = d->advised_in_ram = d->advised = f->current;
		d->gain = 0;
		d->agreement = d->confidence = 1;
	}
}
