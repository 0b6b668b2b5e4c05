/*
 * choice.c
 *	  Keep, set, or set and rewrite: what each costs over payback_time.
 *
 * The cost is time^a * WAL^b * size^c, all per row updated, including the inserts,
 * deletes and reads per row updated.  Only ratios between options matter, so prices must
 * be right relative to each other, not on every machine.
 */
#include "model/choice.h"

#include <string.h>

/*
 * Prices, in microseconds of CPU and bytes of WAL, and thresholds, each with its source.
 * Measured on PostgreSQL 15: "bench" by test/bench/regret/constants.py, "older" with
 * earlier workloads of that benchmark, "lsn" by differences of pg_current_wal_lsn().
 */
static const double
	US_STATEMENT = 28.0,		/* bench: a statement and its transaction, without rows */
	US_ROW = 1.3,				/* bench: one row inserted, updated or deleted */
	US_READ = 12.0,				/* bench: a read by index; less in a join, more alone */
	US_ENTRY_VISIT = 3.5,		/* bench: added once per index and UPDATE statement */
	US_MOVE = 1.5,				/* bench: find another page, write the whole row */
	US_PRUNE = 7.0,				/* bench: prune a page on access (+- 2.6) */
	US_SCAN_PAGE = 1.0,			/* bench: one page of a sequential scan */
	US_NEW_PAGE = 8.0,			/* older: extend the table by a page, write it later */
	US_PAGE_WRITE = 8.0,		/* older: a full-page image, and one write per checkpoint */
	US_VACUUM_PAGE = 3.0,		/* older: vacuum a page that was changed */
	US_PAGE_READ = 100.0,		/* chosen: one random read, if not measured */
	US_REWRITE_ROW = 2.0,		/* chosen: VACUUM FULL: for a row, and again for each index */
	WAL_COMMIT = 40.0,			/* lsn: a commit record */
	WAL_UPDATE = 80.0,			/* lsn: an update within its page, with the changed bytes */
	WAL_PRUNE = 62.0,			/* lsn: one page pruned */
	WAL_ROW = 70.0,				/* lsn: heap insert record without the row */
	WAL_MOVE = 60.0,			/* lsn: an update to another page, without the row */
	WAL_HEADER = 24.0,			/* lsn: of a row, what its WAL does not have */
	WAL_DELETE = 60.0,			/* lsn: a delete */
	WAL_VACUUM_PAGE = 150.0,	/* lsn: prune a page and mark it all-visible */
	INDEX_BLOAT = 0.7,			/* chosen: index growth per entry added, up to one a row */
	BLOCKS_ROW = 2.0,			/* chosen: heap pages fetched to read or change one row */
	CAUTION = 0.02,				/* chosen: added to ln(cost) per halving of rows per page */
	AGREEMENT = 0.6,			/* chosen: least weight of the workloads in which a change is cheaper */
	CLEAR = 0.7,				/* chosen: the same, against a fillfactor chosen before */
	SETTLES = 0.05,				/* chosen: settling tables gain more HOT share than this */
	SETTLED = 0.9,				/* chosen: and reach this part of the possible HOT share */
	MISFIT = 12;				/* chosen: misfit at which confidence falls to 1/e */

#define THRESHOLD(name, value) static const double name = value;
#include "base/thresholds.h"

/* What happens per row updated, and the table's figures that cost depends on. */
typedef struct Rates
{
	const FitPlan *plan;
	double		statements;		/* UPDATE statements */
	double		inserts;
	double		deletes;
	double		calls;			/* statements of all kinds */
	double		wal_insert;		/* bytes of a row inserted, without images */
	double		reads;
	double		scans;			/* of the whole table */
	double		vacuums;		/* of the table */
	double		more_wal;		/* measured bytes beyond what the prices explain */
	double		leaves;			/* share of the live part's leaves that updates come to, 0..1 */
	double		images;			/* heap pages logged whole, as a share of the forecast's, 0..1 */
	double		entry;			/* bytes of WAL of an index entry */
	double		indexes;
	double		index_bytes;
	double		rows;			/* live rows of the table */
	double		live;			/* share of those in pages that are written, 0..1 */
	double		cold_page_rows;
	double		pages;
	double		ram;
	double		read_us;
	double		checkpoint;		/* rows updated from one to the next */
	int			unlogged;		/* nothing is written to the WAL */
	double		wal_row;		/* more bytes of an update within its page, where its WAL has the whole row */
} Rates;

/* Statements per row that a command writes; "otherwise" if unknown. */
static double
calls_per_row(const Evidence *e, EvCommand command, double otherwise)
{
	EvStatement s = ff_evidence_statements(e, command, offsetof(EvStatement, rows));

	return s.rows > 0 ? s.calls / s.rows : otherwise;
}

static Rates
read_rates(const Evidence *e, const FitPlan *p)
{
	EvInterval	w = ff_evidence_window(e);
	double		n = bound(w.updated, 1, 1e15);
	double		pages = bound(e->blocks, 1, 1e15);
	Rates		r = {.plan = p,.rows = bound(e->live_rows, 1, 1e15),.images = 1,.leaves = 1,.pages = pages,
		.entry = WAL_ENTRY,.cold_page_rows = bound(p->cold_page_rows, 1, TW_MAX_TUPLES),.unlogged = e->unlogged > 0};
	double		delete_calls;

	r.live = 1 - bound(p->cold / r.rows, 0, 1);
	r.statements = calls_per_row(e, EV_UPDATE, 1 / bound(p->together, 1, 1e4));
	/* without their statements, assume calls as large as those of updates */
	r.inserts = bound(w.inserted / n, 0, 1e9);
	r.deletes = bound(w.deleted / n, 0, 1e9);
	delete_calls = r.deletes * calls_per_row(e, EV_DELETE, r.statements);
	r.calls = r.statements + r.inserts * calls_per_row(e, EV_INSERT, r.statements) + delete_calls;
	r.reads = bound(e->index_scans / n - r.statements - delete_calls, 0, 1e9);
	/* fetched pages that index scans and changes do not explain: sequential scans */
	r.scans = bound(e->blocks_fetched -
					BLOCKS_ROW * (bound(e->index_scans, 0, 1e15) + n + w.inserted + w.deleted), 0,
					bound(e->seq_scans, 0, 1e15) * pages) / n / pages;
	r.vacuums = w.vacuums / n;
	r.indexes = bound(e->indexes, 0, 1000);
	r.index_bytes = bound(e->index_bytes, 0, 1e18);
	r.ram = e->ram_bytes > 0 ? e->ram_bytes : 1e18;
	r.read_us = e->read_us > 0 ? e->read_us : US_PAGE_READ;
	r.checkpoint = bound(p->checkpoint, 1, 1e15);
	r.wal_row = e->logical > 0 ? fmax(0, p->update_mean - WAL_HEADER) : 0;
	r.wal_insert = WAL_ROW + p->insert_mean + r.indexes * WAL_ENTRY;
	return r;
}

/* Index leaves logged whole per row updated, of the live part's. */
static double
leaf_images(const Rates *r, double index_bytes, double cold)
{
	double		leaves = bound(index_bytes / TW_BLCKSZ / bound(r->indexes, 1, 1000), 1, 1e15);

	return r->indexes * leaves * (1 - exp(-cold * r->checkpoint / leaves)) / r->checkpoint;
}

/*
 * The cost of one outcome per row updated.  Updates, vacuum and the cache see the live part of
 * the table; scans all of it.  entries: index entries added per live row over payback_time, per index.
 */
static void
cost_of(const Rates *r, const FcOutcome *o, double pages, double live_pages, double entries, ChCost *c)
{
	double		n = r->indexes;
	double		cold = 1 - o->hot;
	double		miss;
	double		page_us = 2 * r->read_us;	/* read, and written back */
	double		vacuumed = r->vacuums > 0 ?
		r->vacuums * live_pages * (1 - exp(-1 / (r->vacuums * live_pages))) : 0;
	double		live_index = r->index_bytes * r->live * (1 + INDEX_BLOAT * bound(entries, 0, 1));
	double		images;

	c->heap_bytes = TW_BLCKSZ * pages;
	c->index_bytes = r->index_bytes * (1 - r->live) + live_index;
	miss = bound(1 - r->ram / (TW_BLCKSZ * live_pages + live_index + 1), 0, 1);
	/* full-page images: pages touched for the first time since a checkpoint */
	images = r->unlogged ? 0 :
		r->images * o->images + r->leaves * leaf_images(r, live_index, cold);
	c->time_us = US_STATEMENT * r->calls +
		US_ROW * (1 + r->inserts + r->deletes) + r->inserts * n * US_ENTRY +
		r->reads * US_READ + r->scans * pages * US_SCAN_PAGE +
		cold * n * (US_ENTRY + US_ENTRY_VISIT * r->statements) + o->moved * US_MOVE +
		o->prunes * US_PRUNE + vacuumed * US_VACUUM_PAGE + images * US_PAGE_WRITE +
		(r->inserts > r->deletes ? r->inserts - r->deletes : 0) * o->pages * US_NEW_PAGE +
	/* misses: heap pages, written back, and the leaf that finds the row */
		miss * (o->touched * page_us + r->read_us + r->reads * 2 * r->read_us) +
	/* not HOT: that leaf is written, those of other indexes are read and written */
		miss * cold * ((n > 1 ? n - 1 : 0) * page_us +
					   (n > 1 ? 1 : n) * r->read_us) +
		r->scans * pages * bound(1 - r->ram / (c->heap_bytes + 1), 0, 1) * r->read_us / 8;
	c->wal_of_updates = r->unlogged ? 0 : WAL_UPDATE + (1 - o->moved) * r->wal_row + r->more_wal +
		o->prunes * WAL_PRUNE + o->moved * WAL_MOVE + o->moved_bytes + cold * n * r->entry + TW_BLCKSZ * images;
	c->wal_bytes = r->unlogged ? 0 : WAL_COMMIT * r->calls + r->inserts * r->wal_insert + r->deletes * WAL_DELETE +
		c->wal_of_updates + vacuumed * WAL_VACUUM_PAGE;
}

static double
log_cost(const Evidence *e, const ChCost *c)
{
	return bound(e->time_weight, 0, 10) * log(c->time_us) +
		(c->wal_bytes > 0 ? bound(e->wal_weight, 0, 10) * log(c->wal_bytes) : 0) +
		bound(e->size_weight, 0, 10) * log(c->heap_bytes + c->index_bytes + 1);
}

/*
 * Adds the cost of a rewrite, spread over the rows updated in payback_time.  Its WAL has the
 * rows and index entries: images of pages leave out their free room.
 */
static void
add_rewrite(const Forecast *f, const Rates *r, ChCost *c)
{
	double		n = bound(f->updates, 1, 1e18);
	double		then = (c->heap_bytes + r->index_bytes) / TW_BLCKSZ;
	double		cached = bound(r->ram / (r->pages * TW_BLCKSZ), 0, 1);

	if (!r->unlogged)
		c->wal_bytes += (r->rows * (fmax(r->plan->insert_mean, r->plan->update_mean) + TW_ITEMID) +
						 r->index_bytes) / n;
	c->time_us += (r->pages * (US_SCAN_PAGE + (1 - cached) * r->read_us / 8) + then * US_PAGE_WRITE +
				   r->rows * (1 + r->indexes) * US_REWRITE_ROW) / n;
}

/*
 * ln of the cost of one option in one workload.  Pages that the twin does not explain are
 * attributed to dead versions; after a rewrite they come back with the non-HOT share, relative
 * to now.
 */
static double
option_cost(const Evidence *e, const Forecast *f, const Rates *r, FcWay way, int workload, int step,
			ChCost *c)
{
	const FcOutcome *o = &f->outcome[way][workload][step];
	double		hot_now = r->plan->split.hot;
	double		pages = r->plan->cold / r->cold_page_rows + r->rows * r->live * f->pages_now[workload];
	double		off = bound(or_else(e->blocks / pages, 1), 0.3, 100);
	double		part = hot_now < NEARLY_ALL ? bound((1 - o->hot) / (1 - hot_now), 0, 1) : 0;
	double		between = f->between[workload];
	double		rows = r->rows - r->plan->cold + between;
	double		live = rows * o->pages * pow(off, part);
	/* pages of a cold row: as they are, or rewritten */
	double		cold = way == FC_SET ? r->pages / r->rows : 1.0 / f->step[step].rows_per_page;

	/* without a rewrite no page goes away */
	if (way == FC_SET)
		live = bound(live, rows * cold, 1e15);
	cost_of(r, o, (r->plan->cold - between) * cold + live, live,
			(1 - o->hot) * f->updates / (r->rows * r->live), c);
	if (way == FC_REWRITE)
		add_rewrite(f, r, c);
	return log_cost(e, c);
}

/* The outcome observed; pages pruned, touched and logged whole are not observed. */
static FcOutcome
seen_outcome(const Rates *r, double prunes, double touched, double images)
{
	double		moved = or_else(r->plan->split.moved, 0);

	return (FcOutcome) {
		.hot = or_else(r->plan->split.hot, 1),.moved = moved,.moved_bytes = moved * r->plan->update_mean,
		.prunes = prunes,.touched = touched,.images = images
	};
}

/*
 * Makes the forecast's WAL of today that in pg_stat_statements: what is more is added to all
 * options; if it is less, fewer index leaves are logged whole, then fewer heap pages, then index
 * entries write less.
 */
static void
calibrate_wal(const Evidence *e, Rates *r, const FcOutcome *now)
{
	Rates		statements = *r;	/* these write all but what vacuum does */
	ChCost		c;
	double		seen[EV_OTHER];
	double		more,
				leaves;

	for (int i = EV_INSERT; i < EV_OTHER; i++)
	{
		EvStatement s = ff_evidence_statements(e, (EvCommand) i, offsetof(EvStatement, wal_bytes));

		seen[i] = s.rows > 0 ? s.wal_bytes / s.rows : NAN;
	}
	if (isnan(seen[EV_UPDATE]))
		return;
	r->wal_insert = statements.wal_insert = or_else(seen[EV_INSERT], r->wal_insert);
	statements.vacuums = 0;
	cost_of(&statements, now, r->pages, r->pages * r->live, 0, &c);
	more = seen[EV_UPDATE] + r->inserts * r->wal_insert +
		r->deletes * or_else(seen[EV_DELETE], WAL_DELETE) - (c.wal_bytes - WAL_COMMIT * r->calls);
	leaves = leaf_images(r, r->index_bytes * r->live, 1 - now->hot) * TW_BLCKSZ;
	if (more < 0 && leaves > 0)
	{
		r->leaves = bound(1 + more / leaves, 0, 1);
		more += leaves * (1 - r->leaves);
	}
	if (more < 0 && now->images > 0)
	{
		r->images = bound(1 + more / (TW_BLCKSZ * now->images), 0, 1);
		more += TW_BLCKSZ * now->images * (1 - r->images);
	}
	if (more < 0)
	{
		double		entries = (1 - now->hot) * r->indexes;

		r->entry = bound(WAL_ENTRY + more / entries, 0.3 * WAL_ENTRY, WAL_ENTRY);
		more += entries * (WAL_ENTRY - r->entry);
	}
	r->more_wal = bound(more, -0.5 * (WAL_UPDATE + r->inserts * r->wal_insert), 1e9);
}

/*
 * The least cost that any fillfactor could reach, as a share of today's: every update that
 * can be HOT is, heap pages are full, and none is pruned, read or logged whole.
 */
static double
least_cost(const Evidence *e, const Rates *r)
{
	/* each update changes a page anywhere, which is logged whole once per checkpoint */
	double		pages = bound(r->pages * r->live, 1, 1e15);
	double		images = pages / r->checkpoint * (1 - exp(-r->checkpoint / pages));
	double		least = bound(r->rows * (r->plan->insert_mean + 8) / TW_BLCKSZ, 1, r->pages);
	FcOutcome	now = seen_outcome(r, 1, 1, images);
	FcOutcome	best = {.hot = 1 - or_else(r->plan->split.blocked, 0)};
	ChCost		a,
				b;

	cost_of(r, &now, r->pages, pages, 0, &a);
	cost_of(r, &best, least, least * r->live, 0, &b);
	return exp(log_cost(e, &b) - log_cost(e, &a));
}

/* Costs of all options in all workloads. */
static void
cost_all(const Evidence *e, const Forecast *f, const Rates *r, Choice *d)
{
	memset(d->cost, 0, sizeof(d->cost));
	for (int k = 0; k < f->nworkloads; k++)
	{
		ChCost		c;
		double		log_keep = option_cost(e, f, r, FC_SET, k, f->current, &c);

		for (int way = 0; way < FC_WAYS; way++)
			for (int i = 0; i < f->n; i++)
			{
				double		fewer = (double) f->step[f->current].rows_per_page / f->step[i].rows_per_page;
				/* the forecast of a step with fewer rows per page errs more */
				double		caution = fewer > 1 ? CAUTION * log2(fewer) : 0;

				c.ratio = exp(option_cost(e, f, r, (FcWay) way, k, i, &c) - log_keep + caution);
				d->ratio[way][k][i] = c.ratio;
				add_numbers(&d->cost[way][i], &c, sizeof(c), f->weight[k]);
			}
	}
}

int
ff_choice_refills(double inserted, double deleted, double reloads, double rows)
{
	return inserted > REFILLS * rows && (deleted > (REFILLS - 1) * rows || reloads > 1);
}

FcWay
ff_choice_way(const Evidence *e, const Choice *d, int step)
{
	EvInterval	w = ff_evidence_window(e);
	double		rows = fmax(or_else(e->live_rows, 0), 1);

	return d->cost[FC_REWRITE][step].ratio < d->cost[FC_SET][step].ratio * (1 - e->min_gain) &&
		!ff_choice_refills(w.inserted, w.deleted, e->reloads, rows) ? FC_REWRITE : FC_SET;
}

double
ff_choice_cheaper(const Forecast *f, const Choice *d, FcWay way, int step,
				  FcWay than_way, int than)
{
	double		weight = 0;

	for (int k = 0; k < f->nworkloads; k++)
		if (d->ratio[way][k][step] < d->ratio[than_way][k][than])
			weight += f->weight[k];
	return weight;
}

/*
 * Whether the best option is clearly better than another: cheaper by more than the share
 * "by" on average, and cheaper in workloads with a weight of at least CLEAR.
 */
static int
clearly_better(const Forecast *f, const Choice *d, FcWay than_way, int than, double by)
{
	return ff_choice_cheaper(f, d, d->best_way, d->best, than_way, than) >= CLEAR &&
		d->cost[d->best_way][d->best].ratio < (1 - by) * d->cost[than_way][than].ratio;
}

int
ff_choice_less_hot(double hot_pct, double seen_pct)
{
	return hot_pct < seen_pct - 100 * SAME_HOT;
}

/*
 * Whether a fillfactor may be advised at all: not if it keeps fewer updates HOT than were seen,
 * and no lower one if nearly all are HOT.
 */
static int
may_advise(const Forecast *f, const FitSplit *seen, FcWay way, int step)
{
	const FcMean *then = &f->step[step].mean[way];

	if (step == f->current)
		return 1;
	/* less room costs each page one row that moves, once */
	return (step < f->current || seen->hot < NEARLY_ALL) &&
		!ff_choice_less_hot(step < f->current ? fmax(then->hot_pct, then->settled_hot_pct) : then->hot_pct,
							100 * seen->hot);
}

/* Chooses the cheapest.  Ties go to keep, then to set, then to the higher fillfactor. */
static void
choose_cheapest(const Evidence *e, const FitSplit *seen, const Forecast *f, Choice *d)
{
	double		best = 1;
	/* a rewrite's gain at today's fillfactor does not count for another one */
	double		rewritten = d->cost[FC_REWRITE][f->current].ratio * (1 - e->min_gain);

	d->best_way = FC_SET;
	d->best = f->current;
	for (int way = 0; way < FC_WAYS; way++)
		for (int i = 0; i < f->n; i++)
			if (d->cost[way][i].ratio < best && may_advise(f, seen, (FcWay) way, i) &&
				(way == FC_SET || (ff_choice_way(e, d, i) == FC_REWRITE &&
								   (i == f->current || d->cost[way][i].ratio < rewritten))))
			{
				best = d->cost[way][i].ratio;
				d->best_way = (FcWay) way;
				d->best = i;
			}
}

/*
 * The least change that brings it.  Of the steps that cost about as much as the cheapest one (by half of
 * min_gain), beyond today's as it is, the surest HOT share counts: the nearest step that has it.
 */
static void
choose_nearest(const Evidence *e, const FitSplit *seen, const Forecast *f, Choice *d)
{
	double		cost = d->cost[d->best_way][d->best].ratio / (1 - e->min_gain / 2);
	FcWay		most = d->best_way;
	double		low = -INFINITY;
	int			by = d->best < f->current ? -1 : 1;

	if (d->best == f->current)
		return;
	for (int i = f->current + by; i >= 0 && i < f->n; i += by)
	{
		FcWay		way = ff_choice_way(e, d, i);

		if (way > most || !may_advise(f, seen, way, i) || d->cost[way][i].ratio >= cost ||
			f->step[i].mean[way].hot_low <= low + 100 * LACKING)
			continue;
		low = f->step[i].mean[way].hot_low;
		d->best_way = way;
		d->best = i;
	}
}

/*
 * Keeps the last choice until another option, or no change, is clearly better, until a step
 * between today's and it is as good, or until it saves less than half of min_gain.  Returns
 * whether it stays.
 */
static int
choose_standing(const Evidence *e, const FitSplit *seen, const Forecast *f, Choice *d)
{
	FcWay		way;
	int			i;

	for (i = f->n - 1; i >= 0; i--)
		if (f->step[i].fillfactor >= e->standing)
			break;
	if (i < 0 || i == f->current)
		return 0;
	way = ff_choice_way(e, d, i);
	if (!may_advise(f, seen, way, i) || d->cost[way][i].ratio > 1 - e->min_gain / 2 ||
		(d->best - f->current) * (d->best - i) < 0 ||
		clearly_better(f, d, way, i, d->best == f->current ? 0 : CLEAR_GAINS * e->min_gain))
		return 0;
	d->best = i;
	d->best_way = way;
	return 1;
}

/*
 * Somebody chose a fillfactor below 100, so only a clearly better one replaces it.  If it
 * was advised and followed, a lower one must save CLEAR_GAINS times min_gain.
 */
static void
choose_best(const Evidence *e, const FitSplit *seen, const Forecast *f, Choice *d)
{
	int			below = e->fillfactor < TW_MAX_FF;
	int			more,
				enough,
				standing;
	double		cheaper;

	choose_cheapest(e, seen, f, d);
	choose_nearest(e, seen, f, d);
	more = d->best > f->current;
	standing = choose_standing(e, seen, f, d);
	cheaper = ff_choice_cheaper(f, d, d->best_way, d->best, FC_SET, f->current);
	if (standing)
		enough = 1;
	else if (below)
		enough = clearly_better(f, d, FC_SET, f->current,
								(more && e->followed > 0 ? CLEAR_GAINS : 1) * e->min_gain);
	else
		enough = d->cost[d->best_way][d->best].ratio <= 1 - e->min_gain && cheaper >= AGREEMENT;
	d->agreement = d->best == f->current && d->best_way == FC_SET ? 1 : cheaper;
	d->action = CH_KEEP;
	d->gain = 0;
	d->advised = f->current;
	if (enough)
	{
		d->gain = 1 - d->cost[d->best_way][d->best].ratio;
		d->advised = d->best;
		d->action = d->best_way == FC_REWRITE ? CH_REWRITE : CH_SET;
	}
}

/* Sets confidence, and how likely and when the table settles by itself. */
static void
describe(const Fit *fit, const Forecast *f, Choice *d)
{
	for (int k = 0; k < f->nworkloads; k++)
	{
		const FcOutcome *o = &f->outcome[FC_SET][k][f->current];

		if (o->settled_hot <= fit->plan.split.hot + SETTLES ||
			o->settled_hot < SETTLED * (1 - or_else(fit->plan.split.blocked, 0)))
			continue;
		d->settling += f->weight[k];
		d->settle_updates += f->weight[k] * o->settle_updates;
	}
	if (d->settling > 0)
		d->settle_updates /= d->settling;
	/* how well the workloads explain the table, and how many agree */
	d->confidence = exp(-fit->misfit / MISFIT) * (0.5 + 0.5 * d->agreement);
}

/* Without updates only the size counts: pages as full as the step allows. */
static void
cost_room(const Evidence *e, const Forecast *f, const Rates *r, Choice *d)
{
	double		heap = TW_BLCKSZ * r->pages;

	for (int way = 0; way < FC_WAYS; way++)
		for (int i = 0; i < f->n; i++)
		{
			ChCost	   *c = &d->cost[way][i];

			c->heap_bytes = heap * f->step[f->current].rows_per_page / f->step[i].rows_per_page;
			c->index_bytes = r->index_bytes;
			c->ratio = pow((c->heap_bytes + r->index_bytes + 1) / (heap + r->index_bytes + 1),
						   bound(e->size_weight, 0, 10));
		}
}

/* Advises nothing: keep or wait. */
static void
stay(const Forecast *f, ChAction action, Choice *d)
{
	d->action = action;
	d->best = d->advised = f->current;
	d->gain = 0;
	d->agreement = d->confidence = 1;
}

/*
 * Advises the highest step if nothing uses the reserve: after a full day, with inserts, if
 * neither counters nor pages show updates.
 */
static void
choose_by_room(const Evidence *e, const Forecast *f, Choice *d)
{
	EvInterval	w = ff_evidence_window(e);

	stay(f, ff_evidence_seconds(e) < FULL_DAY ? CH_WAIT : CH_KEEP, d);
	if (d->action == CH_WAIT || f->n == 0 || f->nworkloads > 0 || !(w.inserted >= e->min_updates) ||
		w.updated > FEW * w.inserted || e->updated_pct > 100 * FEW ||
		1 - d->cost[FC_SET][0].ratio < e->min_gain)
		return;
	d->gain = 1 - d->cost[FC_SET][0].ratio;
	d->best = d->advised = 0;
	d->action = CH_SET;
}

/* Computes all costs and chooses. */
static void
cost_and_choose(const Evidence *e, const Fit *fit, const Forecast *f, Rates r, Choice *d)
{
	const FcOutcome *keep = &f->outcome[FC_SET][0][f->current];
	FcOutcome	now = seen_outcome(&r, keep->prunes, keep->touched, keep->images);

	calibrate_wal(e, &r, &now);
	cost_all(e, f, &r, d);
	choose_best(e, &fit->plan.split, f, d);
	describe(fit, f, d);
}

void
ff_choose(FitWork *w, const Evidence *e, int curve, Fit *fit, Forecast *f, Choice *d)
{
	Evidence	habit = *e;
	int			few,
				settled,
				planned;
	Rates		r;

	memset(fit, 0, sizeof(*fit));
	memset(d, 0, sizeof(*d));
	ff_evidence_set_apart(&habit);
	e = &habit;
	d->set_apart = or_else(e->event.rows, 0);
	few = !(ff_evidence_window(e).updated >= or_else(e->min_updates, 1));
	planned = ff_plan(e, &fit->plan);
	r = read_rates(e, &fit->plan);
	d->calls = r.statements;
	d->bound = least_cost(e, &r);
	settled = 1 - d->bound < e->min_gain;
	if (planned && (curve || !(few || settled)))
		ff_fit(w, e, fit);
	ff_forecast(w, e, fit, f);
	d->best = d->advised = f->current;
	if (f->nworkloads > 0)
		cost_and_choose(e, fit, f, r, d);
	else
		cost_room(e, f, &r, d);
	if (few)
		choose_by_room(e, f, d);
	else if (settled)
		stay(f, CH_KEEP, d);
}
