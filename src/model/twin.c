/*
 * twin.c
 *	  A digital twin of a heap table: its statements replayed on simulated pages.
 *
 * The rules are the server's (heapam.c, pruneheap.c, hio.c, freespace.c):
 * inserts and moved rows honour the fillfactor's reserve, an update in its
 * own page does not; pages are pruned on access when little space is left or
 * the page-full hint is set, and lose only versions older than the horizon;
 * pruning does not update the free space map, vacuum and failed inserts do.
 * Not simulated: TOAST, page contention between sessions.
 */
#include "model/twin.h"

#include <string.h>

/* A page this empty takes any insert, however large the reserve: hio.c's nearlyEmptyFreeSpace,
 * which allows for line pointers that vacuum left behind. */
#define NEARLY_EMPTY		(TW_MAX_LEN - (TW_MAX_TUPLES / 8 * TW_ITEMID))
#define FSM_CATEGORY_BYTES	(TW_BLCKSZ / 256)	/* of the free space map, as in freespace.c */
#define BYPASS_PAGES_SHARE	0.02	/* if fewer pages have dead line pointers, vacuum keeps them
									 * (vacuumlazy.c) */
#define PICK_TRIES			32		/* to find a live row before a pick gives up */
#define SCANNED				0.9		/* a statement for this share of the table scans it */
#define WHOLE_MOST			4.0		/* most rows of a pass, in "rows": limits a replay */
#define IDS_PER_ROW			4.0		/* most ids per live row, before gaps are closed (chosen) */
#define SCATTER				UINT64_C(2654435761)	/* Knuth's multiplicative hash */

/* Uniform in 0 .. n-1. */
static inline int64_t
random_below(Twin *t, int64_t n)
{
	return (int64_t) (random_unit(&t->rng) * (double) n);
}

static inline TwinRow *
row_of(Twin *t, int64_t id)
{
	return &t->row[id & (TW_ROWS - 1)];
}

int
ff_twin_rows_per_page(int fillfactor, int len)
{
	int			n = (TW_BLCKSZ - TW_PAGE_HEADER - TW_BLCKSZ * (100 - fillfactor) / 100) /
		(TW_MAXALIGN(len) + TW_ITEMID);

	return n < 1 ? 1 : n > TW_MAX_TUPLES ? TW_MAX_TUPLES : n;
}

int
ff_twin_step_edge(int fillfactor, int len)
{
	int			n = ff_twin_rows_per_page(fillfactor, len);

	while (fillfactor < TW_MAX_FF && ff_twin_rows_per_page(fillfactor + 1, len) == n)
		fillfactor++;
	return fillfactor;
}

/* PageGetHeapFreeSpace: bytes for one more version. */
static inline int
heap_free_space(const TwinPage *p)
{
	int			space = p->gap - TW_ITEMID;

	return space < 0 || (p->nline >= TW_MAX_TUPLES && p->nunused == 0) ? 0 : space;
}

/*
 * The horizon: versions made dead by a transaction before it may be pruned.
 * A held snapshot stops it for "held" transactions out of every cycle, or once.
 */
static inline uint32_t
horizon(const Twin *t)
{
	const TwinWorkload *l = &t->workload;

	if (t->now >= l->held_from && t->now < l->held_until && t->held_xid < t->oldest)
		return t->held_xid;
	if (l->held >= 1.0 && l->held_share > 0.0)
	{
		double		cycle = l->held / l->held_share;
		double		start = floor((double) t->xid / cycle) * cycle;

		if ((double) t->xid - start < l->held && start < t->oldest)
			return (uint32_t) start;
	}
	return t->oldest;
}

/*
 * Begins a transaction.  The oldest snapshot ends with a fixed probability, so its
 * age varies around its mean, as with several active sessions.
 */
static inline void
next_xid(Twin *t)
{
	t->xid++;
	if (t->advance >= 1.0 || random_unit(&t->rng) < t->advance)
		t->oldest = t->xid;
}

/* Removes the dead versions older than "oldest"; returns whether there were any. */
static int
prune(Twin *t, TwinPage *p, uint32_t oldest)
{
	if (p->dead_head < 0 || t->dead[p->dead_head].xid >= oldest)
		return 0;
	while (p->dead_head >= 0 && t->dead[p->dead_head].xid < oldest)
	{
		int			i = p->dead_head;
		TwinDead   *d = &t->dead[i];

		p->gap += d->len;
		p->nunused += d->frees_lp;
		p->ndead += d->ends_chain;
		t->ndead_lps += d->ends_chain;
		p->dead_head = d->next;
		d->next = t->dead_free;
		t->dead_free = i;
		t->ndead--;
	}
	if (p->dead_head < 0)
		p->dead_tail = -1;
	p->full = 0;
	return 1;
}

/*
 * heap_page_prune_opt: once when a statement comes to a page, not again for each of
 * its rows there.
 */
static void
visit(Twin *t, int page)
{
	TwinPage   *p = &t->page[page];

	if (page == t->visiting)
		return;
	t->visiting = page;
	if (p->full || heap_free_space(p) < t->prune_below)
		t->count.prunes += prune(t, p, horizon(t));
}

static void
add_dead(Twin *t, TwinPage *p, int len, int frees_lp, int ends_chain, int deleted)
{
	int			i;

	if (t->dead_free >= 0)
	{
		i = t->dead_free;
		t->dead_free = t->dead[i].next;
	}
	else if (t->dead_used < TW_DEAD)
		i = t->dead_used++;
	else
	{
		t->exhausted = 1;
		return;
	}
	t->dead[i] = (TwinDead) {
		t->xid, -1, (int16_t) len, (uint8_t) frees_lp, (uint8_t) ends_chain, (uint8_t) deleted
	};
	if (p->dead_tail >= 0)
		t->dead[p->dead_tail].next = i;
	else
		p->dead_head = i;
	p->dead_tail = i;
	t->ndead++;
}

static inline void
touch(Twin *t, TwinPage *p)
{
	if (p->touched != t->xid)
	{
		p->touched = t->xid;
		t->count.touched++;
		/* checkpoints come at any time */
		if (t->since > 0.0)
			t->count.images += bound((t->now - p->changed) / t->since, 0, 1);
		p->changed = (float) t->now;
	}
}

/* Stores a version; reuses an unused line pointer if there is one. */
static inline void
add_version(Twin *t, TwinPage *p, int len)
{
	touch(t, p);
	if (p->nunused > 0)
		p->nunused--;
	else
	{
		p->nline++;
		p->gap -= TW_ITEMID;
	}
	p->gap -= len;
}

static int
extend(Twin *t, int need)
{
	int			spare = t->spare_pages >= 1.0 && t->spare_bytes - TW_ITEMID >= need;

	if (t->npages >= TW_PAGES)
	{
		t->exhausted = 1;
		return -1;
	}
	t->spare_pages -= spare;
	t->spare_used += spare;
	/* a new page needs no image */
	t->page[t->npages] = (TwinPage) {
		.gap = spare ? t->spare_bytes : TW_BLCKSZ - TW_PAGE_HEADER,.dead_head = -1,.dead_tail = -1,
		.changed = spare ? -INFINITY : (float) t->now
	};
	return t->npages++;
}

/* Tells the free space map how much space a page has. */
static void
fsm_tell(Twin *t, TwinPage *p)
{
	p->fsm = (uint8_t) (heap_free_space(p) / FSM_CATEGORY_BYTES);
	if (p->fsm > t->fsm_most)
		t->fsm_most = p->fsm;
}

/* A page with this much space according to the free space map, or -1. */
static int
fsm_search(Twin *t, int space)
{
	int			need = (space + FSM_CATEGORY_BYTES - 1) / FSM_CATEGORY_BYTES;

	for (int n = 0, i = t->fsm_next; n < t->npages && need <= t->fsm_most; n++, i++)
	{
		if (i >= t->npages)
			i = 0;
		if (t->page[i].fsm >= need)
		{
			t->fsm_next = i + 1;
			return i;
		}
	}
	if (need <= t->fsm_most)
		t->fsm_most = need - 1;
	return -1;
}

/*
 * RelationGetBufferForTuple: tries the page inserted into last; if there is none, a page
 * of the free space map or else the last page; then other pages of the map, then a new
 * page.  -1: no page left.
 */
static int
page_for_version(Twin *t, int len)
{
	int			need = len + t->reserve;
	int			target = t->target;

	if (need > NEARLY_EMPTY)
		need = len > NEARLY_EMPTY ? len : NEARLY_EMPTY;
	if (target < 0)
	{
		target = fsm_search(t, need);
		if (target < 0 && t->npages > 0)
			target = t->npages - 1;
	}
	while (target >= 0)
	{
		if (heap_free_space(&t->page[target]) >= need)
			return t->target = target;
		fsm_tell(t, &t->page[target]);
		target = fsm_search(t, need);
	}
	return t->target = extend(t, need);
}

static void
insert_row(Twin *t)
{
	int			q = (int) random_below(t, TW_QUANTILES);
	int			len = t->workload.insert_len[q];
	int			page = page_for_version(t, len);

	if (page < 0)
		return;
	add_version(t, &t->page[page], len);
	t->count.inserts++;
	if (t->next_row - t->first_row >= TW_ROWS)
	{
		t->nforgotten += row_of(t, t->first_row)->page >= 0;
		t->first_row++;
	}
	*row_of(t, t->next_row++) = (TwinRow) {
		.born = t->xid,.xmin = t->xid,.page = (int16_t) page,.len = (int16_t) len,
		.quantile = (uint8_t) q
	};
	t->nlive++;
}

/* Adds rows that nobody touches. */
static void
add_cold_rows(Twin *t, int64_t n)
{
	for (; n > 0 && !t->exhausted; n--)
	{
		int			len = t->workload.insert_len[random_below(t, TW_QUANTILES)];
		int			page = page_for_version(t, len);

		if (page < 0)
			return;
		add_version(t, &t->page[page], len);
		t->page[page].ncold++;
		t->ncold++;
	}
}

/* heap_update: HOT if the new version fits and no indexed column changes. */
static void
update_row(Twin *t, TwinRow *r, const TwinClass *c)
{
	TwinPage   *p = &t->page[r->page];
	int			page = r->page;
	int			len = c->resizes ? t->workload.update_len[r->quantile] : r->len;
	int			hot = 0;

	visit(t, r->page);
	t->count.updates += !c->once;
	if (len <= heap_free_space(p))
	{
		hot = c->indexed <= 0.0 || (c->indexed < 1.0 && random_unit(&t->rng) >= c->indexed);
		t->count.hot += hot && !c->once;
		t->count.blocked += !hot && !c->once;
	}
	else
	{
		p->full = 1;
		page = page_for_version(t, len);
		if (page < 0)
			return;
		touch(t, p);
		t->count.moved += !c->once;
		t->count.update_bytes += c->once ? 0 : len;
	}
	add_version(t, &t->page[page], len);
	add_dead(t, p, r->len, r->heaponly, !hot, 0);
	r->page = (int16_t) page;
	r->heaponly = (uint8_t) hot;
	r->len = (int16_t) len;
	r->xmin = t->xid;
	r->updates += r->updates < 255;
}

static void
delete_row(Twin *t, TwinRow *r)
{
	TwinPage   *p = &t->page[r->page];

	visit(t, r->page);
	touch(t, p);
	t->count.deletes++;
	add_dead(t, p, r->len, r->heaponly, 1, 1);
	r->page = -1;
	t->nlive--;
}

/* Prunes every page, frees dead line pointers, updates the free space map. */
static void
vacuum(Twin *t)
{
	uint32_t	oldest = horizon(t);
	int			with_dead = 0;

	for (int i = 0; i < t->npages; i++)
	{
		TwinPage   *p = &t->page[i];

		prune(t, p, oldest);
		with_dead += p->ndead > 0;
	}
	for (int i = 0; i < t->npages; i++)
	{
		TwinPage   *p = &t->page[i];

		if (with_dead >= BYPASS_PAGES_SHARE * t->npages)
		{
			t->ndead_lps -= p->ndead;
			p->nunused += p->ndead;
			p->ndead = 0;
			if (p->nunused == p->nline)
			{
				/* an empty page: its line pointer array is cut back, too */
				p->gap = TW_BLCKSZ - TW_PAGE_HEADER;
				p->nline = p->nunused = 0;
			}
		}
		fsm_tell(t, p);
	}
	t->last_vacuum = t->now;
	t->count.vacuums++;
}

static void
autovacuum(Twin *t)
{
	double		gap = t->workload.vacuum_gap;

	if (gap >= 0.0 && t->now - t->last_vacuum >= gap * (double) t->nlive &&
		(double) (t->ndead + t->ndead_lps) >= t->workload.vacuum_share * (double) t->nlive)
		vacuum(t);
}

/* Rows inserted after those that are updated for the k-th time (0 is the first). */
static inline int64_t
turn_delay(const TwinClass *c, int k, int turns, int64_t n)
{
	int64_t		delay = (int64_t) (c->distance * (k + 1) / turns) - n;

	return delay > 0 ? delay : 0;
}

/* How often a class updates each new row: its updates per insert, as turns; *share: how many
 * of the rows each turn takes, 0..1. */
static int
turns_of(const Twin *t, const TwinClass *c, double *share)
{
	double		inserts = 0.0;
	double		each;
	int			turns;

	for (int i = 0; i < t->workload.nclasses; i++)
		if (t->workload.class[i].command == EV_INSERT)
			inserts += t->workload.class[i].rate;
	each = inserts > 0.0 ? c->rate * (c->stride > 1 ? c->stride : 1) / inserts : 1.0;
	turns = (int) bound(ceil(each / 1.05), 1, TW_TURNS);
	*share = bound(each / turns, 0, 1);
	return turns;
}

/*
 * The first of n rows whose turn it is; -1 if none is far enough behind the newest row.
 * Each turn follows the inserts at its own distance.
 */
static int64_t
pick_in_turn(Twin *t, int class, int64_t n)
{
	const TwinClass *c = &t->workload.class[class];
	double		share;
	int			turns = turns_of(t, c, &share);
	int			waiting = 0;

	while (waiting < turns)
	{
		int			k = t->turn_now[class];
		int64_t		id = t->turn[class][k];

		t->turn_now[class] = (k + 1) % turns;
		if (id < t->first_row)
			id = t->first_row;
		if (id + n > t->next_row - turn_delay(c, k, turns, n))
		{
			waiting++;
			continue;
		}
		t->turn[class][k] = id + n;
		if (share >= 1.0 || random_unit(&t->rng) < share)
			return id;
	}
	return -1;
}

/*
 * Picks a row by its rank in a power law with exponent "skew": 1 is Zipf's law, 0 the
 * uniform pick.  Ranks are spread over the whole table.
 */
static int64_t
pick_skewed(Twin *t, const TwinClass *c, int64_t all)
{
	double		u = random_unit(&t->rng);
	double		n = (double) all;
	double		less = 1 - c->skew;
	double		rank = fabs(less) < 0.01 ? pow(n, u) : pow((pow(n, less) - 1) * u + 1, 1 / less);
	int64_t		row = (int64_t) bound(rank - 1, 0, n - 1);

	return t->first_row + (int64_t) ((uint64_t) row * SCATTER % (uint64_t) all);
}

/*
 * A row picked as the class says, -1 if none was found.  In turn, sweep and oldest may
 * give a deleted one.  span: rows from the first to the last that the transaction takes.
 */
static int64_t
pick_row(Twin *t, int class, int64_t span)
{
	const TwinClass *c = &t->workload.class[class];
	int64_t		all = t->next_row - t->first_row;
	int64_t		far = (int64_t) bound(c->distance, 1, (double) all);
	int64_t		near = (int64_t) bound(c->near, 0, (double) far - 1);
	int64_t		id;

	if (all <= 0)
		return -1;
	if (c->pick == TW_OLDEST)
		return t->first_row;
	if (c->pick == TW_IN_TURN)
		return pick_in_turn(t, class, span);
	if (c->pick == TW_SWEEP)
	{
		id = t->position[class];
		if (c->all_rows || id < t->first_row || id >= t->next_row)
			id = t->first_row;
		t->position[class] = id + span;
		return id;
	}
	for (int tries = 0; tries < PICK_TRIES; tries++)
	{
		if (c->pick == TW_SKEWED)
			id = pick_skewed(t, c, all);
		else if (c->pick == TW_NEWEST)
			id = t->next_row - 1 - near - random_below(t, far - near);
		else
			id = t->first_row + random_below(t, all);
		if (row_of(t, id)->page >= 0)
			return id;
	}
	return -1;
}

static inline void
write_row(Twin *t, int64_t id, const TwinClass *c)
{
	TwinRow    *r = row_of(t, id);

	if (id < t->first_row || id >= t->next_row || r->page < 0)
		return;
	if (c->command == EV_UPDATE)
		update_row(t, r, c);
	else
		delete_row(t, r);
}

/* A whole number with this mean (at least 1): one of the two next to it, at random. */
static inline int64_t
round_at_random(Twin *t, double mean)
{
	int64_t		n = (int64_t) mean;

	n += mean > (double) n && random_unit(&t->rng) < mean - (double) n;
	return n < 1 ? 1 : n;
}

/*
 * The first row of a transaction that takes every "stride"-th row.  Groups are aligned for
 * random picks, so the same rows are taken together every time.
 */
static int64_t
pick_first(Twin *t, int class, int64_t n, int64_t stride)
{
	const TwinClass *c = &t->workload.class[class];
	int64_t		span = n * stride;
	int64_t		id;

	if (c->all_rows && c->pick != TW_SWEEP)
		return (t->first_row + stride - 1) / stride * stride;
	if (c->pick == TW_SWEEP && stride > 1 && t->next_row > t->first_row)
	{
		/* at the end of the table, start again one row later */
		int64_t		blocks = (t->next_row - t->first_row + span - 1) / span;
		int64_t		turn = t->position[class]++;

		return t->first_row + turn % blocks * span + turn / blocks % stride;
	}
	id = pick_row(t, class, span);
	if (id < 0)
		return id;
	if (c->pick == TW_NEWEST)
	{
		int64_t		most = (id - t->first_row) / stride;

		return id - stride * (n - 1 < most ? n - 1 : most);
	}
	return c->pick > TW_SKEWED || c->apart ? id : id - id % span + id % stride;
}

/* Orders the rows by page, as a sequential scan finds them. */
static void
order_by_page(Twin *t)
{
	int32_t    *end = t->page_end;

	memset(end, 0, sizeof(*end) * (size_t) (t->npages + 1));
	for (int64_t id = t->first_row; id < t->next_row; id++)
		if (row_of(t, id)->page >= 0)
			end[row_of(t, id)->page + 1]++;
	for (int i = 0; i < t->npages; i++)
		end[i + 1] += end[i];
	for (int64_t id = t->first_row; id < t->next_row; id++)
		if (row_of(t, id)->page >= 0)
			t->order[end[row_of(t, id)->page]++] = (int16_t) (id & (TW_ROWS - 1));
}

/* Writes every "stride"-th row from "id" on, in the order of a sequential scan, which prunes
 * all pages that it reads. */
static void
scan_rows(Twin *t, const TwinClass *c, int64_t id, int64_t stride)
{
	int32_t		i = 0;
	int			npages = t->npages;

	order_by_page(t);
	for (int page = 0; page < npages && !t->exhausted; page++)
		for (visit(t, page); i < t->page_end[page] && !t->exhausted; i++)
		{
			int64_t		at = t->order[i];

			/* several ids share this slot; this is the one in memory */
			at += (t->first_row - at + TW_ROWS - 1) / TW_ROWS * TW_ROWS;
			if (at >= id && (at - id) % stride == 0)
				write_row(t, at, c);
		}
}

/* Changes the rows of a transaction: neighbours, every k-th row, or each by itself. */
static void
change_rows(Twin *t, int class, int64_t n)
{
	const TwinClass *c = &t->workload.class[class];
	int64_t		stride = (int64_t) c->stride;
	int64_t		id = 0;

	if (stride == 0 && c->pick != TW_IN_TURN && c->pick != TW_SWEEP)
	{
		for (int64_t i = 0; i < n && id >= 0 && !t->exhausted; i++)
		{
			id = pick_row(t, class, 1);
			t->visiting = -1;
			if (id >= 0)
				write_row(t, id, c);
		}
		return;
	}
	if (stride == 0)
		stride = 1;
	id = pick_first(t, class, n, stride);
	t->visiting = -1;
	if (id >= 0 && (double) (n * stride) >= SCANNED * (double) (t->next_row - t->first_row))
		scan_rows(t, c, id, stride);
	else if (id >= 0)
		for (int64_t i = 0; i < n && !t->exhausted; i++)
			write_row(t, id + i * stride, c);
}

/* What an id will be once gaps are closed: as many live rows are from it on. */
static int64_t
id_without_gaps(Twin *t, int64_t id)
{
	int64_t		result = t->next_row;

	for (int64_t i = id < t->first_row ? t->first_row : id; i < t->next_row; i++)
		result -= row_of(t, i)->page >= 0;
	return result;
}

/*
 * Numbers the live rows anew in their order, without the gaps that deleted ones left: classes pick by
 * id, and would find fewer rows the longer a replay takes.
 */
static void
close_gaps(Twin *t)
{
	int64_t		to = t->next_row;

	for (int i = 0; i < t->workload.nclasses; i++)
	{
		const TwinClass *c = &t->workload.class[i];

		if (c->pick == TW_SWEEP && c->stride <= 1)
			t->position[i] = id_without_gaps(t, t->position[i]);
		for (int k = 0; c->pick == TW_IN_TURN && k < TW_TURNS; k++)
			t->turn[i][k] = id_without_gaps(t, t->turn[i][k]);
	}
	for (int64_t id = t->next_row - 1; id >= t->first_row; id--)
		if (row_of(t, id)->page >= 0)
			*row_of(t, --to) = *row_of(t, id);
	t->first_row = to;
}

/* Runs one transaction of a class. */
static void
transaction(Twin *t, int class)
{
	const TwinClass *c = &t->workload.class[class];
	int64_t		n = round_at_random(t, c->rows);

	if (c->all_rows)
		n = (int64_t) bound(ceil((double) (t->next_row - t->first_row) / bound(c->stride, 1, TW_ROWS)), 1,
							WHOLE_MOST * c->rows);
	next_xid(t);
	t->since = c->command == EV_INSERT || c->pick == TW_NEWEST || c->pick == TW_IN_TURN ?
		t->near_checkpoint : t->checkpoint;
	if (c->command == EV_INSERT)
		for (int64_t i = 0; i < n && !t->exhausted; i++)
			insert_row(t);
	else
		change_rows(t, class, n);
	while (t->first_row < t->next_row && row_of(t, t->first_row)->page < 0)
		t->first_row++;
	if ((double) (t->next_row - t->first_row) > IDS_PER_ROW * (double) (t->nlive - t->nforgotten) + 1)
		close_gaps(t);
}

void		(*ff_twin_check) (void) = NULL;

void
ff_twin_run(Twin *t, double ticks)
{
	double		end = t->now + ticks;

	while (!t->exhausted)
	{
		const TwinClass *c;
		int			next = 0;

		for (int i = 1; i < t->workload.nclasses; i++)
			if (t->due[i] < t->due[next])
				next = i;
		if (t->workload.nclasses == 0 || t->due[next] >= end)
		{
			t->now = end;
			break;
		}
		if (ff_twin_check)
			ff_twin_check();
		c = &t->workload.class[next];
		t->now = t->due[next];
		if (t->now < t->workload.held_from)
			t->held_xid = t->xid;
		transaction(t, next);
		/* at a random time in each interval, so that times vary but do not drift */
		t->interval[next] += c->rows / c->rate;
		t->due[next] = c->once ? INFINITY :
			t->interval[next] + c->rows / c->rate * random_unit(&t->rng);
		autovacuum(t);
	}
}

/* Sets the first transaction of each class, and where its turns begin. */
static void
prepare_classes(Twin *t)
{
	for (int i = 0; i < t->workload.nclasses; i++)
	{
		const TwinClass *c = &t->workload.class[i];
		double		share;
		int			turns = turns_of(t, c, &share);
		int64_t		span = (int64_t) (c->rows * (c->stride > 1 ? c->stride : 1));

		t->due[i] = c->once ? c->once : c->rows / c->rate * random_unit(&t->rng);
		for (int k = 0; k < turns; k++)
			t->turn[i][k] = t->next_row - turn_delay(c, k, turns, span);
	}
}

static void
clamp_workload(TwinWorkload *l)
{
	l->nclasses = (int) bound(l->nclasses, 0, TW_CLASSES);
	for (int i = 0; i < l->nclasses; i++)
	{
		TwinClass  *c = &l->class[i];

		c->rate = bound(c->rate, 1e-6, 1000);
		c->rows = bound(c->rows, 1, TW_ROWS / 2);
		c->distance = bound(c->distance, 1, TW_ROWS);
		c->skew = bound(c->skew, 0, 2);
		c->stride = bound(c->stride, 0, TW_ROWS);
		c->indexed = bound(c->indexed, 0, 1);
		c->once = bound(c->once, 0, 1e15);
	}
	for (int i = 0; i < TW_QUANTILES; i++)
	{
		l->insert_len[i] = TW_MAXALIGN(bound(l->insert_len[i], TW_MIN_LEN, TW_MAX_LEN));
		l->update_len[i] = TW_MAXALIGN(bound(l->update_len[i], TW_MIN_LEN, TW_MAX_LEN));
	}
	l->lag = bound(l->lag, 0, 1e9);
	l->held = bound(l->held, 0, 1e9);
	l->held_share = bound(l->held_share, 0, 1);
	l->held_from = bound(l->held_from, 0, 1e15);
	l->held_until = bound(l->held_until, 0, 1e15);
	l->vacuum_share = bound(l->vacuum_share, 0, 1e9);
	l->start_rows = bound(l->start_rows, 0, TW_ROWS);
	l->between = bound(l->between, 0, TW_ROWS);
}

void
ff_twin_set_fillfactor(Twin *t, int fillfactor)
{
	t->reserve = TW_BLCKSZ * (100 - (int) bound(fillfactor, TW_MIN_FF, TW_MAX_FF)) / 100;
	t->prune_below = t->reserve > TW_BLCKSZ / 10 ? t->reserve : TW_BLCKSZ / 10;
}

void
ff_twin_start(Twin *t, const TwinWorkload *workload, int fillfactor, uint64_t seed)
{
	memset(t, 0, offsetof(Twin, page));
	t->workload = *workload;
	clamp_workload(&t->workload);
	t->rng = seed * UINT64_C(0x9E3779B97F4A7C15) + UINT64_C(0xD1B54A32D192ED03);
	ff_twin_set_fillfactor(t, fillfactor);
	t->target = t->visiting = t->dead_free = -1;
	t->xid = t->oldest = 1;
	t->advance = 1.0 / (1.0 + t->workload.lag);
	for (int i = 0; i < (int) t->workload.start_rows && !t->exhausted; i++)
	{
		insert_row(t);
		add_cold_rows(t, (int64_t) ((i + 1) * t->workload.between) - (int64_t) (i * t->workload.between));
	}
	/* loaded long ago: vacuum has been there, and a checkpoint */
	for (int i = 0; i < t->npages; i++)
	{
		fsm_tell(t, &t->page[i]);
		t->page[i].changed = -INFINITY;
	}
	t->target = -1;
	prepare_classes(t);
	ff_twin_count_from_here(t);
}

void
ff_twin_rewrite(Twin *t, int fillfactor)
{
	int			npages = t->npages;
	int32_t		i = 0;

	order_by_page(t);
	for (int page = 0; page < npages; page++)
		t->page_cold[page] = t->page[page].ncold;
	ff_twin_set_fillfactor(t, fillfactor);
	t->npages = t->fsm_next = t->dead_used = 0;
	t->target = t->dead_free = -1;
	t->nlive -= t->nforgotten;
	t->ndead = t->ndead_lps = t->nforgotten = t->ncold = 0;
	for (int page = 0; page < npages && !t->exhausted; page++)
	{
		int			rows = t->page_end[page] - i;
		int			cold = t->page_cold[page];

		for (int k = 0; k < rows && !t->exhausted; k++, i++)
		{
			TwinRow    *r = &t->row[t->order[i]];
			int			at = page_for_version(t, r->len);

			if (at < 0)
				break;
			add_version(t, &t->page[at], r->len);
			r->page = (int16_t) at;
			r->heaponly = 0;
			add_cold_rows(t, cold * (k + 1) / rows - cold * k / rows);
		}
		add_cold_rows(t, rows == 0 ? cold : 0);
	}
	t->last_vacuum = t->now;
}

void
ff_twin_count_from_here(Twin *t)
{
	memset(&t->count, 0, sizeof(t->count));
}

void
ff_twin_copy(Twin *to, const Twin *from)
{
	int64_t		rows = from->next_row < TW_ROWS ? from->next_row : TW_ROWS;

	memcpy(to, from, offsetof(Twin, page));
	memcpy(to->page, from->page, sizeof(TwinPage) * (size_t) from->npages);
	memcpy(to->row, from->row, sizeof(TwinRow) * (size_t) rows);
	memcpy(to->dead, from->dead, sizeof(TwinDead) * (size_t) from->dead_used);
}

/* A version that a transaction wrote or superseded. */
typedef struct Seen
{
	uint32_t	xid;
	uint8_t		live;
	uint8_t		heaponly;
} Seen;

/* Adds a version to those seen on a page, ordered by transaction. */
static void
see(Seen *seen, int *n, Seen v)
{
	int			i = (*n)++;

	for (; i > 0 && seen[i - 1].xid > v.xid; i--)
		seen[i] = seen[i - 1];
	seen[i] = v;
}

/* Counts the rows of one page, from t->order, and groups its versions as samples do. */
static void
look_at_page(const Twin *t, int page, int from, int to, TwinView *view)
{
	Seen		seen[TW_MAX_TUPLES];
	int			n = 0;
	int			updated = 0;
	double		cold = t->page[page].ncold;
	double		inserted,
				born = cold;

	for (int k = from; k < to; k++)
	{
		const TwinRow *r = &t->row[t->order[k]];

		if (r->updates == 0)
			born += r->born;
		else
			see(seen, &n, (Seen) {r->xmin, 1, r->heaponly});
	}
	updated = n;
	inserted = to - from - n + cold;
	for (int i = t->page[page].dead_head; i >= 0 && n < TW_MAX_TUPLES; i = t->dead[i].next)
		if (!t->dead[i].deleted)
			see(seen, &n, (Seen) {t->dead[i].xid, 0, 0});
	for (int i = 0, next; i < n; i = next)
	{
		int			live = 0,
					heaponly = 0,
					rows;

		for (next = i; next < n && seen[next].xid == seen[i].xid; next++)
		{
			live += seen[next].live;
			heaponly += seen[next].live && seen[next].heaponly;
		}
		rows = next - i - live;
		rows = rows == 0 ? live : rows > heaponly ? rows : heaponly;
		(live == n && inserted == 0 && 2 * heaponly < n ? view->group_new_page :
		 view->group_old_page)[ev_group_bin(rows)] += rows;
		view->update_age[ev_log2_bin(t->xid - seen[i].xid)] += live;
		if (inserted > 0)
			view->update_distance[ev_log2_bin(seen[i].xid - born / inserted)] += live;
	}
	if (from == to && cold == 0)
		return;
	view->cold += cold;
	view->updated_rows += updated;
	view->rows += to - from;
	view->pages++;
	view->rows_per_page_max = fmax(view->rows_per_page_max, to - from + cold);
}

void
ff_twin_look(Twin *t, TwinView *view)
{
	memset(view, 0, sizeof(*view));
	order_by_page(t);
	for (int i = 0; i < t->npages; i++)
	{
		int			from = i > 0 ? t->page_end[i - 1] : 0;

		/* without remembered rows, a page may have forgotten ones */
		if (from < t->page_end[i] || t->nforgotten == 0)
			look_at_page(t, i, from, t->page_end[i], view);
	}
}
