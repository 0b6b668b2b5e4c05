/*
 * heap_twin.c
 *	  A digital twin of a heap table: a lifecycle replayed on simulated pages.
 *
 * The rules are the server's (heapam.c, pruneheap.c, hio.c, freespace.c):
 * inserts and moved rows honour the fillfactor's reserve, an update in its
 * own page does not; pages are pruned on access when little space is left or
 * the page-full hint is set, and only of versions older than the horizon;
 * pruning tells the free space map nothing, vacuum and failed inserts do.
 */
#include "model/heap_twin.h"
#include "numbers.h"

#include <math.h>
#include <string.h>

/* Free space map: categories of 32 bytes, as in freespace.c. */
#define FSM_CATEGORY_BYTES	(TWIN_BLCKSZ / 256)

/*
 * A page this empty takes any insert, however large the reserve: hio.c's
 * nearlyEmptyFreeSpace, which allows for line pointers vacuum left behind.
 */
#define NEARLY_EMPTY	(TWIN_MAX_TUPLE_SIZE - (TWIN_MAX_TUPLES / 8 * TWIN_ITEMID))

/* Rows inserted in the run from which the share of updated ones is taken. */
#define ENOUGH_JUDGED	200

/* Updates counted by twin_replay(), where that takes no more than so many replays. */
#define REPLAY_UPDATES	400.0
#define REPLAYS			4
#define REPLAY_SEED		20

/* Vacuum leaves dead line pointers alone when fewer pages have any (vacuumlazy.c). */
#define BYPASS_PAGES_SHARE	0.02


static inline uint64_t
next_random(HeapTwin *t)
{
	uint64_t	x = t->rng;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	t->rng = x;
	return x * UINT64_C(2685821657736338717);
}

/* Uniform in [0, 1). */
static inline double
random_unit(HeapTwin *t)
{
	return (double) (next_random(t) >> 11) * (1.0 / 9007199254740992.0);
}

/* Uniform in 0 .. n-1. */
static inline int64_t
random_below(HeapTwin *t, int64_t n)
{
	return (int64_t) (((next_random(t) >> 32) * (uint64_t) n) >> 32);
}

static inline TwinRow *
row_of(HeapTwin *t, int64_t id)
{
	return &t->row[id & (TWIN_MAX_ROWS - 1)];
}

int
twin_rows_per_page(int fillfactor, int len)
{
	int			n;

	n = (TWIN_BLCKSZ - TWIN_PAGE_HEADER - TWIN_BLCKSZ * (100 - fillfactor) / 100) /
		(TWIN_MAXALIGN(len) + TWIN_ITEMID);
	if (n < 1)
		n = 1;
	if (n > TWIN_MAX_TUPLES)
		n = TWIN_MAX_TUPLES;
	return n;
}

int
twin_step_edge(int fillfactor, int len)
{
	int			n = twin_rows_per_page(fillfactor, len);

	while (fillfactor < TWIN_MAX_FILLFACTOR &&
		   twin_rows_per_page(fillfactor + 1, len) == n)
		fillfactor++;
	return fillfactor;
}

/* PageGetHeapFreeSpace: what one more version may take. */
static inline int
heap_free_space(const TwinPage *p)
{
	int			space = p->gap - TWIN_ITEMID;

	if (space < 0)
		return 0;
	if (p->nline >= TWIN_MAX_TUPLES && p->nunused == 0)
		return 0;
	return space;
}

/*
 * The horizon: versions made dead by a transaction before it may be pruned.
 * A held snapshot stops it for "held" transactions out of every cycle.
 */
static inline uint32_t
horizon(const HeapTwin *t)
{
	const TwinLifecycle *l = t->life;

	if (l->held >= 1.0 && l->held_share > 0.0)
	{
		double		cycle = l->held / l->held_share;
		double		start = floor((double) t->xid / cycle) * cycle;

		if ((double) t->xid - start < l->held && start < t->oldest_xid)
			return (uint32_t) start;
	}
	return t->oldest_xid;
}

/*
 * A new transaction.  The oldest snapshot of the moment ends with a fixed
 * chance, so that its age varies around its mean, as that of sessions at work
 * side by side does.
 */
static inline void
next_xid(HeapTwin *t)
{
	t->xid++;
	if (t->advance >= 1.0 || random_unit(t) < t->advance)
		t->oldest_xid = t->xid;
}

/* Remove what the horizon allows; true if anything went. */
static int
prune(HeapTwin *t, TwinPage *p, uint32_t oldest)
{
	int			removed = 0;

	while (p->dead_head >= 0 && t->dead[p->dead_head].xid < oldest)
	{
		int			i = p->dead_head;
		TwinDead   *d = &t->dead[i];

		p->gap += d->len;
		if (d->frees_lp)
			p->nunused++;
		if (d->ends_chain)
		{
			p->ndead++;
			t->ndead_lps++;
		}
		p->dead_head = d->next;
		d->next = t->dead_free;
		t->dead_free = i;
		t->ndead_versions--;
		removed++;
	}
	if (p->dead_head < 0)
		p->dead_tail = -1;
	return removed;
}

/* heap_page_prune_opt */
static inline void
prune_on_access(HeapTwin *t, TwinPage *p)
{
	uint32_t	oldest;

	if (p->dead_head < 0)
		return;
	if (!p->full && heap_free_space(p) >= t->prune_below)
		return;
	oldest = horizon(t);
	if (t->dead[p->dead_head].xid >= oldest)
		return;
	prune(t, p, oldest);
	p->full = 0;
	t->count.prunes++;
}

static void
add_dead(HeapTwin *t, TwinPage *p, int len, int frees_lp, int ends_chain)
{
	int			i;
	TwinDead   *d;

	if (t->dead_free >= 0)
	{
		i = t->dead_free;
		t->dead_free = t->dead[i].next;
	}
	else if (t->dead_used < TWIN_MAX_DEAD)
		i = t->dead_used++;
	else
	{
		t->exhausted = 1;
		return;
	}
	d = &t->dead[i];
	d->xid = t->xid;
	d->next = -1;
	d->len = (int16_t) len;
	d->frees_lp = (uint8_t) frees_lp;
	d->ends_chain = (uint8_t) ends_chain;
	if (p->dead_tail >= 0)
		t->dead[p->dead_tail].next = i;
	else
		p->dead_head = i;
	p->dead_tail = i;
	t->ndead_versions++;
}

/* Store a version: an unused line pointer is taken before a new one. */
static inline void
add_version(TwinPage *p, int len)
{
	if (p->nunused > 0)
		p->nunused--;
	else
	{
		p->nline++;
		p->gap -= TWIN_ITEMID;
	}
	p->gap -= len;
}

static int
extend(HeapTwin *t)
{
	TwinPage   *p;

	if (t->npages >= TWIN_MAX_PAGES)
	{
		t->exhausted = 1;
		return -1;
	}
	p = &t->page[t->npages];
	p->gap = TWIN_BLCKSZ - TWIN_PAGE_HEADER;
	p->nline = p->nunused = p->ndead = 0;
	p->full = 0;
	p->fsm = 0;
	p->dead_head = p->dead_tail = -1;
	t->count.new_pages++;
	return t->npages++;
}

static inline uint8_t
fsm_category(int space)
{
	int			cat = space / FSM_CATEGORY_BYTES;

	return (uint8_t) (cat > 255 ? 255 : cat);
}

/* A page the free space map believes to have room, or -1. */
static int
fsm_search(HeapTwin *t, int space)
{
	int			need = (space + FSM_CATEGORY_BYTES - 1) / FSM_CATEGORY_BYTES;
	int			i;

	if (need > 255)
		need = 255;
	if (t->fsm_next >= t->npages)
		t->fsm_next = 0;
	for (i = t->fsm_next; i < t->npages; i++)
		if (t->page[i].fsm >= need)
		{
			t->fsm_next = i + 1;
			return i;
		}
	for (i = 0; i < t->fsm_next && i < t->npages; i++)
		if (t->page[i].fsm >= need)
		{
			t->fsm_next = i + 1;
			return i;
		}
	return -1;
}

/*
 * RelationGetBufferForTuple: the session's insert page, else what the free
 * space map offers, else the last page, else a new one.  -1: no page left.
 */
static int
page_for_version(HeapTwin *t, int len, int stream)
{
	int			need = len + t->reserve;
	int			target = t->target[stream];

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
		TwinPage   *p = &t->page[target];
		int			space = heap_free_space(p);

		if (space >= need)
		{
			t->target[stream] = target;
			return target;
		}
		p->fsm = fsm_category(space);
		target = fsm_search(t, need);
	}
	target = extend(t);
	t->target[stream] = target;
	return target;
}

/* A mean width that is no multiple of 8 becomes a mix of its neighbours. */
static inline int
width(HeapTwin *t, double mean)
{
	int			len = (int) (mean / 8.0) * 8;
	double		rest = (mean - len) / 8.0;

	if (rest > 0.0 && random_unit(t) < rest)
		len += 8;
	if (len < TWIN_MIN_TUPLE_SIZE)
		len = TWIN_MIN_TUPLE_SIZE;
	if (len > TWIN_MAX_TUPLE_SIZE)
		len = TWIN_MAX_TUPLE_SIZE;
	return len;
}

static void
insert_row(HeapTwin *t, int stream)
{
	int			len = width(t, t->life->insert_len);
	int			page = page_for_version(t, len, stream);
	TwinRow    *r;

	if (page < 0)
		return;
	if (t->next_row - t->first_row >= TWIN_MAX_ROWS)
	{
		if (row_of(t, t->first_row)->page >= 0)
			t->nforgotten++;
		t->first_row++;
	}
	add_version(&t->page[page], len);
	r = row_of(t, t->next_row++);
	r->page = (int16_t) page;
	r->len = (int16_t) len;
	r->heaponly = 0;
	r->updates = 0;
	t->nlive++;
	t->count.inserts++;
}

static void
update_row(HeapTwin *t, TwinRow *r, int stream)
{
	const TwinLifecycle *l = t->life;
	TwinPage   *p = &t->page[r->page];
	int			oldlen = r->len;
	int			newlen = oldlen;
	double		prunes = t->count.prunes;

	prune_on_access(t, p);
	t->count.update_prunes += t->count.prunes - prunes;

	if (l->update_len != l->insert_len && r->updates < l->grow_updates)
	{
		double		done = (r->updates + 1) / l->grow_updates;

		if (done > 1.0)
			done = 1.0;
		newlen = width(t, l->insert_len + (l->update_len - l->insert_len) * done);
	}

	t->count.updates++;
	t->updates_since_vacuum++;
	if (newlen <= heap_free_space(p))
	{
		if (l->hot_eligible >= 1.0 || random_unit(t) < l->hot_eligible)
		{
			add_version(p, newlen);
			add_dead(t, p, oldlen, r->heaponly, 0);
			r->heaponly = 1;
			t->count.hot++;
		}
		else
		{
			add_version(p, newlen);
			add_dead(t, p, oldlen, r->heaponly, 1);
			r->heaponly = 0;
			t->count.same_page_cold++;
		}
	}
	else
	{
		int			to;

		p->full = 1;
		to = page_for_version(t, newlen, stream);
		if (to < 0)
			return;
		add_version(&t->page[to], newlen);
		add_dead(t, p, oldlen, r->heaponly, 1);
		r->page = (int16_t) to;
		r->heaponly = 0;
		t->count.moved++;
	}
	r->len = (int16_t) newlen;
	if (r->updates < 255)
		r->updates++;
}

static void
delete_row(HeapTwin *t, TwinRow *r)
{
	TwinPage   *p = &t->page[r->page];

	prune_on_access(t, p);
	add_dead(t, p, r->len, r->heaponly, 1);
	r->page = -1;
	t->nlive--;
	t->count.deletes++;
}

/* Prune every page, free dead line pointers, tell the free space map. */
static void
vacuum(HeapTwin *t)
{
	uint32_t	oldest = horizon(t);
	int			with_dead = 0;
	int			i;

	for (i = 0; i < t->npages; i++)
	{
		TwinPage   *p = &t->page[i];

		if (p->dead_head >= 0 && prune(t, p, oldest))
			p->full = 0;
		if (p->ndead > 0)
			with_dead++;
	}
	for (i = 0; i < t->npages; i++)
	{
		TwinPage   *p = &t->page[i];

		if (with_dead >= BYPASS_PAGES_SHARE * t->npages)
		{
			t->ndead_lps -= p->ndead;
			p->nunused += p->ndead;
			p->ndead = 0;
			if (p->nunused == p->nline)
			{
				/* an empty page: its line pointer array is cut back too */
				p->gap = TWIN_BLCKSZ - TWIN_PAGE_HEADER;
				p->nline = p->nunused = 0;
			}
		}
		p->fsm = fsm_category(heap_free_space(p));
	}
	t->updates_since_vacuum = 0;
	t->count.vacuums++;
}

static void
autovacuum(HeapTwin *t)
{
	const TwinLifecycle *l = t->life;

	if (l->vacuum_gap < 0.0 ||
		(double) t->updates_since_vacuum < l->vacuum_gap * (double) t->nlive)
		return;
	if ((double) (t->ndead_versions + t->ndead_lps) <
		l->vacuum_share * (double) t->nlive)
		return;
	vacuum(t);
}

/* Rows inserted since the one that is updated for the k-th time in turn. */
static inline int64_t
turn_delay(const HeapTwin *t, int k, int n)
{
	int64_t		delay = (int64_t) (t->life->fresh_distance * (k + 1) / t->turns) - n;

	return delay > 0 ? delay : 0;
}

/*
 * The first of n rows whose turn it is, -1 when none has waited long enough:
 * each turn follows the inserts at a distance of its own.
 */
static int64_t
pick_in_turn(HeapTwin *t, int n)
{
	int			waiting = 0;

	while (waiting < t->turns)
	{
		int			k = t->turn_now;
		int64_t		id = t->turn[k];

		t->turn_now = (k + 1) % t->turns;
		if (id < t->first_row)
			id = t->first_row;
		if (id + n > t->next_row - turn_delay(t, k, n))
		{
			waiting++;
			continue;
		}
		t->turn[k] = id + n;
		if (t->turn_share >= 1.0 || random_unit(t) < t->turn_share)
			return id;
	}
	return -1;
}

/*
 * The id of the first of n neighbouring rows that an update picks: lately
 * inserted ones, or any; -1 when a few tries met only deleted rows.
 */
static int64_t
pick_rows(HeapTwin *t, int n)
{
	const TwinLifecycle *l = t->life;
	int64_t		all = t->next_row - t->first_row;
	int			tries;

	if (all <= 0)
		return -1;
	for (tries = 0; tries < 32; tries++)
	{
		int64_t		id;

		if (l->fresh_share > 0.0 && random_unit(t) < l->fresh_share)
		{
			int64_t		d = (int64_t) l->fresh_distance;

			if (l->in_turn)
				return pick_in_turn(t, n);
			if (d > all)
				d = all;
			if (d < 1)
				d = 1;
			id = t->next_row - 1 - random_below(t, d);
		}
		else if (l->skew > 0.0)
		{
			double		u = random_unit(t) * TWIN_SKEW_BINS;
			int			bin = (int) u;
			double		q = t->skew_quantile[bin] +
				(t->skew_quantile[bin + 1] - t->skew_quantile[bin]) * (u - bin);

			id = t->first_row + (int64_t) (q * (double) all);
			if (id >= t->next_row)
				id = t->next_row - 1;
		}
		else
			id = t->first_row + random_below(t, all);
		/* groups are aligned: the same rows go together every time */
		if (row_of(t, id)->page >= 0)
			return n > 1 ? id - id % n : id;
	}
	return -1;
}

/* A mean above 1 that is no whole number becomes a mix of its neighbours. */
static inline int
whole(HeapTwin *t, double mean)
{
	int			n = (int) mean;

	if (mean > n && random_unit(t) < mean - n)
		n++;
	return n < 1 ? 1 : n;
}

static void
update_transaction(HeapTwin *t)
{
	int			n = whole(t, t->life->update_rows);
	int64_t		id = pick_rows(t, n);
	int			stream = t->life->streams > 1 ? (int) random_below(t, t->life->streams) : 0;
	int			times;
	int			i;

	next_xid(t);
	if (id < 0)
	{
		t->updates_since_vacuum++;
		return;
	}
	/* one statement after the other */
	for (times = 0; times < t->life->times; times++)
		for (i = 0; i < n && id + i < t->next_row; i++)
			if (id + i >= t->first_row && row_of(t, id + i)->page >= 0)
				update_row(t, row_of(t, id + i), stream);
}

static void
delete_one(HeapTwin *t)
{
	int64_t		n = t->next_row - t->first_row;
	int			oldest = random_unit(t) < t->life->delete_oldest;
	int			tries;

	next_xid(t);
	for (tries = 0; tries < 32 && n > 0; tries++)
	{
		int64_t		id = oldest ? t->first_row : t->first_row + random_below(t, n);

		if (row_of(t, id)->page >= 0)
		{
			delete_row(t, row_of(t, id));
			break;
		}
		if (oldest)
		{
			t->first_row++;
			n--;
			tries--;
		}
	}
	/* the front of the window must not fill with deleted rows */
	while (t->first_row < t->next_row && row_of(t, t->first_row)->page < 0)
		t->first_row++;
}

/* Run until "updates" more row updates have been tried. */
static void
run_phase(HeapTwin *t, double updates, double *ins_due, double *del_due)
{
	const TwinLifecycle *l = t->life;
	double		done = 0.0;
	double		last = t->count.updates;
	int			idle = 0;

	while (done < updates && !t->exhausted)
	{
		double		n;

		update_transaction(t);
		n = t->count.updates - last;
		last = t->count.updates;
		if (n < 1.0)
		{
			/* nothing to update: inserts may bring something */
			if (++idle > 1000)
				break;
			n = l->update_rows;
		}
		else
			idle = 0;
		done += n;
		*ins_due += n * l->inserts_per_update;
		*del_due += n * l->deletes_per_update;
		while (*ins_due >= l->insert_rows && !t->exhausted)
		{
			int			k = whole(t, l->insert_rows);
			int			stream = l->streams > 1 ? (int) random_below(t, l->streams) : 0;
			int			i;

			next_xid(t);
			for (i = 0; i < k && !t->exhausted; i++)
				insert_row(t, stream);
			*ins_due -= k;
		}
		while (*del_due >= 1.0)
		{
			delete_one(t);
			*del_due -= 1.0;
		}
		autovacuum(t);
	}
}

/*
 * Quantiles of a power law over the rows: skew 1 is Zipf's law with exponent
 * 1, lesser values lie between it and the uniform pick.
 */
static void
prepare_skew(HeapTwin *t, double skew, double n)
{
	int			i;

	for (i = 0; i <= TWIN_SKEW_BINS; i++)
	{
		double		u = (double) i / TWIN_SKEW_BINS;
		double		rank;

		if (skew > 0.99 && skew < 1.01)
			rank = pow(n, u);
		else
			rank = pow((pow(n, 1.0 - skew) - 1.0) * u + 1.0, 1.0 / (1.0 - skew));
		t->skew_quantile[i] = (float) ((rank - 1.0) / n);
	}
}

/* As many turns as there are updates of lately inserted rows for each of them. */
static void
prepare_turns(HeapTwin *t)
{
	const TwinLifecycle *l = t->life;
	double		per_row = l->inserts_per_update > 0.0 ? l->fresh_share / l->inserts_per_update : 1.0;
	int			k;

	t->turns = (int) ceil(per_row - 0.05);
	if (per_row > TWIN_MAX_TURNS)
		t->turns = TWIN_MAX_TURNS;
	if (t->turns < 1)
		t->turns = 1;
	t->turn_share = per_row / t->turns;
	t->turn_now = 0;
	for (k = 0; k < TWIN_MAX_TURNS; k++)
		t->turn[k] = k < t->turns ? t->next_row - turn_delay(t, k, (int) l->update_rows) : 0;
}

/* What inserts leave free from now on, and from when on pages are pruned. */
static void
set_fillfactor(HeapTwin *t, int fillfactor)
{
	t->reserve = TWIN_BLCKSZ * (100 - fillfactor) / 100;
	t->prune_below = t->reserve > TWIN_BLCKSZ / 10 ? t->reserve : TWIN_BLCKSZ / 10;
}

void
twin_run(HeapTwin *twin, const TwinLifecycle *life, int fillfactor,
		 uint64_t seed, TwinResult *result)
{
	TwinLifecycle l = *life;
	double		ins_due = 0.0;
	double		del_due = 0.0;
	double		cold_before = 0.0;
	int			base_pages;
	int			i;
	int64_t		id;
	int64_t		judge_from = 0;
	int64_t		judge_to = 0;

	l.insert_len = bound(l.insert_len, TWIN_MIN_TUPLE_SIZE, TWIN_MAX_TUPLE_SIZE);
	l.update_len = bound(l.update_len, TWIN_MIN_TUPLE_SIZE, TWIN_MAX_TUPLE_SIZE);
	l.grow_updates = bound(l.grow_updates, 1.0, 255.0);
	l.insert_rows = bound(l.insert_rows, 1.0, TWIN_MAX_ROWS / 4);
	l.update_rows = bound(l.update_rows, 1.0, TWIN_MAX_ROWS / 4);
	l.inserts_per_update = bound(l.inserts_per_update, 0.0, 1000.0);
	l.deletes_per_update = bound(l.deletes_per_update, 0.0, 1000.0);
	l.hot_eligible = bound(l.hot_eligible, 0.0, 1.0);
	l.fresh_share = bound(l.fresh_share, 0.0, 1.0);
	l.fresh_distance = bound(l.fresh_distance, 1.0, TWIN_MAX_ROWS);
	l.skew = bound(l.skew, 0.0, 2.0);
	l.delete_oldest = bound(l.delete_oldest, 0.0, 1.0);
	l.lag = bound(l.lag, 0.0, 1e9);
	l.held = bound(l.held, 0.0, 1e9);
	l.held_share = bound(l.held_share, 0.0, 1.0);
	l.vacuum_share = bound(l.vacuum_share, 0.0, 1e9);
	l.streams = (int) bound(l.streams, 1, TWIN_MAX_STREAMS);
	l.times = (int) bound(l.times, 1, TWIN_MAX_TIMES);
	l.start_rows = bound(l.start_rows, 0.0, TWIN_MAX_ROWS);
	l.warmup = bound(l.warmup, 0.0, 1e7);
	l.measure = bound(l.measure, 0.0, 1e7);
	fillfactor = (int) bound(fillfactor, TWIN_MIN_FILLFACTOR, TWIN_MAX_FILLFACTOR);
	l.start_updates = l.start_fillfactor > 0 ? bound(l.start_updates, 0.0, l.warmup) : 0.0;
	l.start_fillfactor = l.start_fillfactor > 0 ?
		(int) bound(l.start_fillfactor, TWIN_MIN_FILLFACTOR, TWIN_MAX_FILLFACTOR) : fillfactor;

	twin->life = &l;
	twin->rng = seed * UINT64_C(0x9E3779B97F4A7C15) + UINT64_C(0xD1B54A32D192ED03);
	if (twin->rng == 0)
		twin->rng = 1;
	set_fillfactor(twin, l.start_fillfactor);
	twin->npages = 0;
	twin->fsm_next = 0;
	for (i = 0; i < TWIN_MAX_STREAMS; i++)
		twin->target[i] = -1;
	twin->dead_free = -1;
	twin->dead_used = 0;
	twin->ndead_versions = twin->ndead_lps = 0;
	twin->xid = twin->oldest_xid = 1;
	twin->advance = 1.0 / (1.0 + l.lag);
	twin->first_row = twin->next_row = 0;
	twin->nlive = twin->nforgotten = 0;
	twin->updates_since_vacuum = 0;
	twin->exhausted = 0;
	memset(&twin->count, 0, sizeof(twin->count));

	if (l.skew > 0.0)
		prepare_skew(twin, l.skew, l.start_rows > 100.0 ? l.start_rows : 100.0);

	for (i = 0; i < (int) l.start_rows && !twin->exhausted; i++)
		insert_row(twin, 0);
	for (i = 0; i < TWIN_MAX_STREAMS; i++)
		twin->target[i] = -1;
	prepare_turns(twin);

	run_phase(twin, l.start_updates, &ins_due, &del_due);
	set_fillfactor(twin, fillfactor);
	run_phase(twin, l.warmup - l.start_updates, &ins_due, &del_due);
	base_pages = twin->npages;
	if (!twin->exhausted || l.warmup <= 0.0)
	{
		cold_before = twin->count.updates - twin->count.hot;
		memset(&twin->count, 0, sizeof(twin->count));
		run_phase(twin, l.measure, &ins_due, &del_due);
	}

	*result = twin->count;
	result->new_pages = twin->npages - base_pages;
	result->pages = twin->npages;
	result->rows = (double) twin->nlive;
	result->dead_versions = (double) twin->ndead_versions;
	result->dead_lps = (double) twin->ndead_lps;
	result->truncated = twin->exhausted;
	result->cold_all = cold_before + twin->count.updates - twin->count.hot;
	for (i = 0; i < twin->npages; i++)
	{
		result->full_pages += twin->page[i].full;
		result->free_bytes += twin->page[i].gap;
	}
	/* of a part of a table too many rows are loaded ones, or too young */
	if (l.fresh_share > 0.0)
	{
		judge_from = (int64_t) l.start_rows;
		judge_to = twin->next_row - (int64_t) l.fresh_distance;
	}
	if (judge_to - judge_from < ENOUGH_JUDGED)
	{
		judge_from = 0;
		judge_to = twin->next_row;
	}
	for (id = twin->first_row; id < twin->next_row; id++)
	{
		const TwinRow *r = row_of(twin, id);

		if (r->page < 0)
			continue;
		result->live_bytes += r->len;
		if (id < judge_from || id >= judge_to)
			continue;
		result->judged_rows++;
		result->updated_rows += r->updates > 0;
	}
}

/*
 * A short course is replayed several times: a window in which few rows of a
 * large table were updated must not be replayed with more updates a page.
 */
void
twin_replay(HeapTwin *twin, const TwinLifecycle *life, int fillfactor, TwinResult *sum)
{
	int			n = (int) bound(ceil(REPLAY_UPDATES / life->measure), 1, REPLAYS);
	int			i;

	for (i = 0; i < n; i++)
	{
		TwinResult	r;

		twin_run(twin, life, fillfactor, REPLAY_SEED + i, &r);
		if (i == 0)
		{
			*sum = r;
			continue;
		}
		sum->updates += r.updates;
		sum->hot += r.hot;
		sum->moved += r.moved;
		sum->prunes += r.prunes;
		sum->update_prunes += r.update_prunes;
		sum->pages += r.pages;
		sum->rows += r.rows;
		sum->judged_rows += r.judged_rows;
		sum->updated_rows += r.updated_rows;
		sum->cold_all += r.cold_all;
		sum->truncated |= r.truncated;
	}
}
