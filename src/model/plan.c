/*
 * plan.c
 *	  What is known of a table before workloads are drawn.
 */
#include "model/plan.h"

#include <string.h>

#define THRESHOLD(name, value) static const double name = value;
#include "base/thresholds.h"

/* How much of a table is replayed (chosen: a fit within 50 ms). */
#define MOST_EVENTS		5000.0	/* rows written, before and in the window */
#define MOST_LAPS		12.0	/* updates of each row replayed before now */
#define LEAST_PAGES		30.0
#define MOST_PAGES		160.0
#define FEWEST_PAGES	5.0		/* a smaller table is replayed as it is: its last page counts */
#define LEAST_ROWS		300.0

/* What statements and counters say of indexed columns (chosen). */
#define CONFIRMED		0.5		/* part of the blocked share in pages that statements must explain */
#define NEGLIGIBLE		0.01	/* a smaller share of all updates is ignored */
#define SPREAD			0.1		/* least part of their rows that statements write elsewhere, if they
								 * write other partitions, too */
#define TELLING			0.05	/* least share of updates that set an indexed column and stayed in their
								 * page, from which those that left are inferred; and by how much
								 * counters must differ from statements to contradict them */

/* What counters and pages say of the share of updates that set an indexed column. */
typedef enum Word
{
	CONSISTENT,
	OVERSTATED,					/* what is set is often what it was */
	UNDERSTATED					/* others set it, too: a trigger */
} Word;

/*
 * By the statements, "least" to "most" of the updates set an indexed column.  OVERSTATED: more
 * updates were HOT than that leaves, clearly or by the pages as well.  UNDERSTATED: more stayed
 * in their page without being HOT than that explains: of those that stayed, or of all updates where no
 * trigger may set it; on PostgreSQL 15 an estimate by old versions.
 */
static Word
statements_word(const Evidence *e, double least, double most)
{
	EvInterval	w = ff_evidence_window(e);
	double		hot = bound(w.hot / w.updated, 0, 1);
	double		hot_of_stayed = isnan(w.newpage) ? or_else(e->seen_hot, 0) : w.hot;
	double		stayed = isnan(w.newpage) ? hot_of_stayed + or_else(e->seen_same_page, 0) :
		bound(w.updated - w.newpage, w.hot, w.updated);
	double		blocked = 1 - hot_of_stayed / stayed;	/* of those that stayed */

	if (hot + least > 1 + TELLING || (hot + least > 1 && stayed >= STAYED && blocked < least - TELLING))
		return OVERSTATED;
	if (isnan(least) || stayed < STAYED)
		return CONSISTENT;
	if (blocked < NEGLIGIBLE)
		return least > blocked ? OVERSTATED : CONSISTENT;
	if (e->triggers == 0)
	{
		double		same = or_else(e->seen_same_page, 0);
		double		cold = isnan(w.newpage) ? (1 - hot) * same / (same + or_else(e->seen_moved, 0)) :
			(stayed - w.hot) / w.updated;

		return most < (isnan(w.newpage) ? CONFIRMED : 1 - TELLING) * cold - NEGLIGIBLE ? UNDERSTATED : CONSISTENT;
	}
	if (blocked > 1 - NEGLIGIBLE)
		return most < 1 - TELLING ? UNDERSTATED : CONSISTENT;
	if (isnan(w.newpage))
		return most < CONFIRMED * fmin(blocked, 1 - hot) ? UNDERSTATED : CONSISTENT;
	stayed /= w.updated;
	return (1 + TELLING) * most + NEGLIGIBLE * stayed < blocked * stayed ? UNDERSTATED : CONSISTENT;
}

/*
 * Sets kept and kept_with_room: updates that an index keeps from being HOT.  These are
 * the non-HOT updates that stayed in their page, and the same share of those that left
 * it.  If hardly any update of an indexed column stayed, statements tell how many of
 * those that left would not have been HOT even with room.
 */
static void
split_kept(double indexed, FitSplit *s)
{
	double		stayed_cold = 1 - s->hot - s->moved;
	/* lower bound of the share that set an indexed column and stayed: HOT updates beyond
	 * those that set none, and all non-HOT ones that stayed */
	double		stayed_setting = s->moved >= NEGLIGIBLE ?
		bound(s->hot + indexed - 1, 0, 1) + stayed_cold : NAN;

	if (isnan(s->moved))
		s->kept_with_room = 1 - s->hot;
	else if (stayed_cold < NEGLIGIBLE)
		s->kept_with_room = 0;
	else if (stayed_setting < TELLING)
		s->kept_with_room = stayed_cold;
	else
		s->kept_with_room = bound(1 - s->hot - s->recoverable, 0, 1);
	s->kept = s->kept_with_room;
	if (stayed_setting < TELLING)
		s->kept = fmax(s->kept, stayed_cold + bound(indexed - stayed_setting, 0, s->moved));
}

/*
 * Of the updates that left their page, the same share could be HOT as of those that stayed in it, and
 * at least those that, by the statements, set no indexed column, if no trigger does.
 * PostgreSQL 16 and later count moved updates.  On 15, old versions in the pages give an
 * estimate, and statements a better one unless the pages contradict them.
 */
FitSplit
ff_fit_split(const Evidence *e)
{
	EvInterval	w = ff_evidence_window(e);
	FitSplit	s = {NAN, NAN, NAN, NAN, NAN, NAN, NAN};
	double		cold = w.updated - w.hot;
	double		stayed = or_else(e->seen_hot, 0) + or_else(e->seen_same_page, 0);
	double		said = e->indexed_share;
	double		indexed = statements_word(e, said, said) == CONSISTENT ? said : NAN;
	double		moved = NAN;
	double		eligible;
	/* many stayed in their page, and none was HOT */
	int			never = isnan(w.newpage) && stayed >= STAYED && !(e->seen_hot > 0);

	if (!(w.updated > 0))
		return s;
	s.hot = bound(w.hot / w.updated, 0, 1);
	if (!isnan(w.newpage))
		moved = bound(w.newpage, 0, cold);
	else if (cold <= 0 || indexed == 0)
		moved = cold;
	else if (!never && !(indexed >= 1) && (stayed >= STAYED || !isnan(indexed)))
	{
		double		seen = stayed >= STAYED ? or_else(e->seen_hot, 0) / stayed : NAN;

		eligible = isnan(indexed) ? seen : 1 - indexed;
		moved = eligible > 0 ? bound(cold - w.hot * (1 - eligible) / eligible, 0, cold) : 0;
	}
	else if (e->seen_same_page + e->seen_moved > 0)
		/* none can be HOT: only the pages show how many moved */
		moved = cold * e->seen_moved / (e->seen_same_page + e->seen_moved);
	if (!isnan(moved))
	{
		stayed = w.updated - moved;
		s.eligible = never ? 0 : stayed >= STAYED ? bound(w.hot / stayed, 0, 1) :
			1 - or_else(indexed, 0);
		s.moved = moved / w.updated;
		if (moved > 0 && indexed < 1 && e->triggers == 0)
			s.eligible = fmax(s.eligible, bound((1 - s.hot - indexed) / s.moved, 0, 1));
		s.recoverable = s.moved * s.eligible;
		s.blocked = bound(1 - s.hot - s.recoverable, 0, 1);
	}
	else if (indexed >= 1)
	{
		/* if all set an indexed column, room helps none of them, wherever they went */
		s.eligible = s.recoverable = 0;
		s.blocked = 1 - s.hot;
	}
	split_kept(indexed, &s);
	return s;
}

/* Reads quantiles of row lengths and their mean; false if none is known. */
static int
read_lengths(const double *h, int16_t *quantile, double *mean)
{
	double		sum = 0,
				at = 0;
	int			n,
				i,
				k = 0;

	for (n = 0; n < EV_LENGTHS && h[2 * n + 1] > 0; n++)
		sum += h[2 * n + 1];
	*mean = 0;
	for (i = 0; i < TW_QUANTILES && n > 0; i++)
	{
		double		share = (i + 0.5) / TW_QUANTILES;

		while (k < n - 1 && share > (at + h[2 * k + 1]) / sum)
			at += h[2 * k++ + 1];
		quantile[i] = (int16_t) TW_MAXALIGN(bound(h[2 * k], TW_MIN_LEN, TW_MAX_LEN));
		*mean += (double) quantile[i] / TW_QUANTILES;
	}
	return n > 0;
}

static int
plan_lengths(const Evidence *e, FitPlan *p)
{
	int			inserted = read_lengths(e->inserted_length, p->insert_len, &p->insert_mean);
	int			updated = read_lengths(e->updated_length, p->update_len, &p->update_mean);

	if (!inserted && !updated)
		return 0;
	/* less than half an alignment is no difference: rows that are updated are not cold */
	p->resizes = inserted && updated && fabs(p->update_mean - p->insert_mean) >= 4;
	if (!p->resizes && updated)
		read_lengths(e->updated_length, p->insert_len, &p->insert_mean);
	else if (!p->resizes)
		read_lengths(e->inserted_length, p->update_len, &p->update_mean);
	/* the shorter rows have the finer steps */
	p->step_len = (int) fmin(p->insert_len[TW_QUANTILES / 2], p->update_len[TW_QUANTILES / 2]);
	p->page_rows = ff_twin_rows_per_page(p->fillfactor, (int) p->insert_mean);
	return 1;
}

/* Geometric mean of rows updated together on an old page; NAN if unknown. */
static double
rows_together(const Evidence *e)
{
	double		rows = 0,
				sum = 0;

	for (int i = 0; i < EV_GROUP_BINS; i++)
	{
		rows += e->group_old_page[i];
		sum += e->group_old_page[i] * (i < 2 ? i : i - 0.4);
	}
	return rows > 0 ? exp2(sum / rows) : NAN;
}

static FitSlot *
add_slot(FitPlan *p, EvCommand command, double rows)
{
	p->slot[p->nslots] = (FitSlot) {
		.command = command,.rate = rows / p->window.updated,.rows = NAN,.part = 1,.indexed = NAN
	};
	return &p->slot[p->nslots++];
}

/*
 * Spreads the blocked updates that the other classes do not explain over the classes of
 * which it is unknown whether they set an indexed column: also those whose statements
 * are contradicted.
 */
static void
share_blocked(const Evidence *e, FitPlan *p)
{
	double		left = p->split.blocked;
	double		rate = 0;
	double		least = 0,
				most = 0;
	Word		word;

	for (int i = 0; i < p->nslots; i++)
	{
		least += p->slot[i].rate * or_else(p->slot[i].indexed, 0);
		most += p->slot[i].rate * or_else(p->slot[i].indexed, 1);
	}
	word = statements_word(e, least, most);
	for (int i = 0; i < p->nslots; i++)
		if ((word == OVERSTATED && p->slot[i].indexed > 0) ||
			(word == UNDERSTATED && p->slot[i].indexed < 1))
			p->slot[i].indexed = NAN;
	for (int i = 0; i < p->nslots; i++)
		if (isnan(p->slot[i].indexed))
			rate += p->slot[i].rate;
		else
			left -= p->slot[i].rate * p->slot[i].indexed;
	for (int i = 0; i < p->nslots; i++)
		if (isnan(p->slot[i].indexed) && !isnan(left))
			p->slot[i].indexed = bound(left / rate, 0, 1);
}

/*
 * Makes one class for each UPDATE statement, those with the most rows first; two for updates
 * that no statement explains; one for inserts and one for deletes.
 */
static void
plan_slots(const Evidence *e, FitPlan *p)
{
	double		known = ff_evidence_statements(e, EV_UPDATE, offsetof(EvStatement, rows)).rows;
	/* a statement may write other partitions, too */
	double		part = bound(p->window.updated / known, 0, 1);
	double		left = p->window.updated - part * known;

	for (int i = 0; i < e->nstatements && p->nslots < TW_CLASSES - 4 - (e->event.rows > 0); i++)
	{
		const EvStatement *v = &e->statement[i];
		FitSlot    *s;

		if (v->command != EV_UPDATE || !(v->rows > 0.002 * p->window.updated))
			continue;
		s = add_slot(p, EV_UPDATE, v->rows * part);
		s->rows = bound(v->rows / bound(v->calls, 1, 1e15), 1, p->live / part);
		s->part = part < 1 - SPREAD ? part : 1;
		s->indexed = v->sets_indexed;
	}
	if (e->event.rows > 0)
	{
		FitSlot    *s = add_slot(p, EV_UPDATE, 1);

		s->rows = bound(e->event.rows, 1, p->live);
		s->indexed = or_else(e->event.sets_indexed, 0);
		s->once = 1;
	}
	for (int i = 0; i < 2 && left > 0.02 * p->window.updated; i++)
		add_slot(p, EV_UPDATE, left / 2)->shared = 1;
	share_blocked(e, p);
	for (int i = EV_INSERT; i <= EV_DELETE; i += EV_DELETE - EV_INSERT)
	{
		double		n = i == EV_INSERT ? p->window.inserted : p->window.deleted;
		EvStatement seen = ff_evidence_statements(e, (EvCommand) i, offsetof(EvStatement, rows));

		if (n > 0.0005 * p->window.updated)
			add_slot(p, (EvCommand) i, n)->rows = seen.rows / seen.calls;
	}
}

/*
 * Sets filled_at: the recorded one, else a higher one that the fullest page proves, else
 * today's fillfactor; and set_from.
 */
static void
plan_density(const Evidence *e, FitPlan *p)
{
	int			len = (int) fmin(p->insert_len[0], p->update_len[0]);

	p->filled_at = p->fillfactor;
	if (e->filled_at >= TW_MIN_FF && e->filled_at <= TW_MAX_FF)
		p->filled_at = (int) e->filled_at;
	else if (e->rows_per_page_max > ff_twin_rows_per_page(p->fillfactor, len) + 0.5)
	{
		while (p->filled_at < TW_MAX_FF &&
			   e->rows_per_page_max > ff_twin_rows_per_page(p->filled_at, len))
			p->filled_at++;
		p->filled_at = ff_twin_step_edge(p->filled_at, len);
	}
	p->set_from = isnan(e->filled_at) && e->set_from >= TW_MIN_FF && e->set_from <= TW_MAX_FF ?
		(int) e->set_from : p->filled_at;
}

/* Merges the intervals into segments, the oldest first. */
static void
plan_segments(const Evidence *e, FitPlan *p)
{
	double		hot[FIT_SEGMENTS] = {0};
	double		before = 0;

	for (int i = e->nintervals - 1; i >= 0; i--)
	{
		const EvInterval *v = &e->interval[i];
		double		length = v->updated / p->window.updated;
		int			k = (int) bound(FIT_SEGMENTS * (before + length / 2), 0, FIT_SEGMENTS - 1);

		before += length;
		p->segment[k] += length * p->window.updated * p->scale;
		p->segment_updates[k] += v->updated;
		hot[k] += v->hot;
	}
	for (int i = 0; i < FIT_SEGMENTS; i++)
		p->segment_hot[i] = p->segment_updates[i] > 0 ?
			bound(hot[i] / p->segment_updates[i], 0, 1) : NAN;
}

/*
 * What happened once in the replay, counted from its end: statements that ran once, and a snapshot
 * that was held; and the rows that it begins with, if inserts outnumber deletes.
 */
static void
plan_events(const Evidence *e, FitPlan *p)
{
	double		net = (p->window.inserted - p->window.deleted) / p->window.updated;
	double		ticks = p->before;

	for (int i = 0; i < FIT_SEGMENTS; i++)
		ticks += p->segment[i];
	for (int i = 0; i < p->nslots; i++)
		if (p->slot[i].once > 0)
		{
			p->slot[i].once = ticks - e->event_after * p->scale;
			/* it came before the replay */
			if (!(p->slot[i].once > 0))
				p->slot[i].rate = 0;
		}
	p->held_from = bound(ticks - e->held_from * p->scale, 0, ticks);
	p->held_until = bound(ticks - e->held_until * p->scale, 0, ticks);
	p->start_rows = net > 0 ? bound(p->rows - net * ticks, 0, p->rows) : p->rows;
}

/*
 * Sets how much of the table is replayed, and for how long.  Each row is updated as often as
 * in the table, but at most MOST_LAPS times: by then a table has settled.
 */
static void
plan_course(const Evidence *e, FitPlan *p)
{
	double		events = 1 + (p->window.inserted + p->window.deleted) / p->window.updated;
	double		window = p->window.updated / p->live;
	double		earlier = bound(e->earlier_updated, 0, 1e15) / p->live;
	double		laps = bound(earlier + window, 0, MOST_LAPS);
	double		largest = 0;
	double		least = bound(LEAST_PAGES * p->page_rows, LEAST_ROWS, 2000);
	double		length = fmax(p->insert_mean, p->update_mean);
	double		most = MOST_EVENTS / bound(laps * events, 0.01, 1e9);
	double		cut;

	p->rows = bound(most, least, MOST_PAGES * p->page_rows);
	p->rows = bound(p->rows, 1, bound(MOST_PAGES * TW_BLCKSZ / length, 50, TW_ROWS / 2));
	/* the replay must have room for the largest transaction that is not scaled */
	for (int i = 0; i < p->nslots; i++)
		if (p->slot[i].rows > largest && !(p->slot[i].once > 0) &&
			p->slot[i].rows < FIT_SHARE * p->mean_live)
			largest = p->slot[i].rows;
	p->rows = bound(p->rows, bound(2 * largest, 1, TW_ROWS / 4), TW_ROWS / 2);
	/* of a small table more rows than it has, if no laps are lost: chance counts for less */
	p->rows = bound(p->rows, 1,
					p->live < FEWEST_PAGES * p->page_rows ? p->live : fmax(p->live, fmin(least, most)));
	p->scale = p->rows / p->live;
	if (p->insert_distance >= LATELY * p->live)
		p->insert_distance *= p->scale;
	plan_segments(e, p);
	laps = fmin(laps, 2 * MOST_EVENTS / (p->rows * events));
	cut = bound(window, 0, laps) / window;
	if (cut < 1)
	{
		/* of a long window only the last part is compared, after the table has settled */
		for (int i = 0; i < FIT_SEGMENTS - 1; i++)
		{
			p->segment[i] = 0;
			p->segment_hot[i] = NAN;
		}
		cut *= 0.4;
		p->segment[FIT_SEGMENTS - 1] = window * p->rows * cut;
	}
	p->before = bound(laps - window * cut, 0, earlier + window * (1 - cut)) * p->rows;
	p->before_set = p->set_from == p->fillfactor ? 0 :
		isnan(e->updated_since) ? p->before :
		bound(p->before - (e->updated_since - p->window.updated) * p->scale, 0, p->before);
	p->set_updates = e->before_updated;
	p->set_hot = e->before_updated > 0 ? bound(e->before_hot / e->before_updated, 0, 1) : NAN;
	p->set_segment = bound(e->before_updated * p->scale, 0, p->before_set);
	plan_events(e, p);
}

/* Size of the set, at most "all", of which n random picks, with repetition, touch "touched". */
static double
picked_from(double touched, double n, double all)
{
	double		least = touched;
	double		most = all;

	for (int i = 0; i < 60; i++)
	{
		double		size = (least + most) / 2;

		if (size * (1 - exp(-n / size)) < touched)
			least = size;
		else
			most = size;
	}
	return most;
}

/*
 * Pages that updates pick from, at most all, by how many clean blocks they made dirty from one
 * checkpoint to the next.  Blocks of the indexes count only for updates that are not HOT.  NAN:
 * unknown.
 */
static double
pages_updated(const Evidence *e, const FitPlan *p)
{
	EvStatement s = ff_evidence_statements(e, EV_UPDATE, offsetof(EvStatement, blocks_dirtied));
	double		per_page = bound(p->live / e->blocks, 1, 1e15);
	double		indexes = (1 - p->split.hot) * or_else(e->index_bytes, 0) / TW_BLCKSZ;
	double		seconds = 0;
	double		visits = 0;
	double		cycles;

	if (!(s.rows >= EXPLAINED * p->window.updated) || !(e->blocks > 0))
		return NAN;
	for (int i = 0; i < e->nintervals; i++)
		if (e->interval[i].updated > 0)
			seconds += e->interval[i].seconds;
	for (int i = 0; i < e->nstatements; i++)
		if (e->statement[i].command == EV_UPDATE)
			visits += fmax(e->statement[i].calls, e->statement[i].rows / per_page);
	cycles = fmax(1, seconds / bound(or_else(e->checkpoint_s, 300), 1, 1e9));
	return picked_from(s.blocks_dirtied / cycles / (1 + indexes / e->blocks), visits / cycles, e->blocks);
}

/*
 * Size of the set that updates pick from.  Random picks from all rows would have touched more rows
 * than updated_pct shows; this is the set that leaves just that share.
 */
static double
rows_updated(const Evidence *e, const FitPlan *p)
{
	double		updates = p->window.updated + bound(e->earlier_updated, 0, 1e15);
	double		seen = e->updated_pct / 100 * p->live;

	if (isnan(seen))
		return or_else(pages_updated(e, p) / e->blocks, 1) * p->live;
	/* other updates made them, before or once: these rows */
	if (seen > (1 + TELLING) * updates)
		return fmin(seen, p->live);
	return seen > 0 ? picked_from(seen, updates, p->live) : p->live;
}

/*
 * Tells the live part from the cold one: the set that updates pick from, and the rows inserted in the
 * window.  If nothing is deleted, updates reach no farther back than the insert distance shows.
 */
static void
plan_live_part(const Evidence *e, FitPlan *p)
{
	double		reach = rows_updated(e, p);

	if (p->window.deleted <= NEGLIGIBLE * p->window.inserted)
		reach = fmin(reach, or_else(p->insert_distance / LATELY, reach));
	p->cold = p->live - bound(fmax(p->window.inserted, reach), bound(LEAST_ROWS, 0, p->live), p->live);
	p->live -= p->cold;
	p->mean_live = bound(p->live - (p->window.inserted - p->window.deleted) / 2, 0.5 * p->live, 1e15);
}

/* Rows updated a second, at the time of a mean update. */
static double
updates_per_second(const Evidence *e, double updated)
{
	double		sum = 0;

	for (int i = 0; i < e->nintervals; i++)
	{
		double		n = bound(e->interval[i].updated, 0, 1e15);

		sum += n / updated * n / bound(e->interval[i].seconds, 1e-3, 1e12);
	}
	return sum;
}

int
ff_plan(const Evidence *e, FitPlan *p)
{
	double		at = 0,
				sum = 0;

	memset(p, 0, sizeof(*p));
	p->window = ff_evidence_window(e);
	p->fillfactor = (int) bound(or_else(e->fillfactor, TW_MAX_FF), TW_MIN_FF, TW_MAX_FF);
	p->live = bound(e->live_rows, 0, 1e15);
	p->split = ff_fit_split(e);
	if (!plan_lengths(e, p) || p->live < 1 || !(p->window.updated >= 1))
		return 0;
	p->window.hot = bound(p->window.hot, 0, p->window.updated);
	p->window.inserted = bound(p->window.inserted, 0, 1e3 * p->window.updated);
	p->window.deleted = bound(p->window.deleted, 0, p->window.inserted + p->live);
	p->together = rows_together(e);
	plan_density(e, p);
	plan_slots(e, p);
	/* to convert distances */
	p->xids_per_tick = e->window_xids > 0 ? e->window_xids / p->window.updated : NAN;
	for (int i = 0; i < EV_LOG2_BINS; i++)
	{
		at += e->update_distance[i] * (i + 0.5);
		sum += e->update_distance[i];
	}
	p->insert_distance = p->window.inserted > 0 && p->xids_per_tick > 0 && sum > 0 ?
		bound(1.5 * exp2(at / sum) / p->xids_per_tick * p->window.inserted / p->window.updated,
			  1, p->live) : NAN;
	/* rows inserted together are updated after all of them are inserted */
	for (int i = 0; i < p->nslots && !isnan(p->insert_distance); i++)
		if (p->slot[i].command == EV_INSERT && p->slot[i].rows > p->insert_distance)
			p->insert_distance = bound(p->slot[i].rows, 1, p->live);
	plan_live_part(e, p);
	p->cold_page_rows = ff_twin_rows_per_page(p->filled_at, (int) p->insert_mean);
	p->cold_page_free = (int) bound(TW_BLCKSZ - TW_PAGE_HEADER -
									p->cold_page_rows * (p->insert_mean + TW_ITEMID), 0, TW_BLCKSZ);
	p->checkpoint = updates_per_second(e, p->window.updated) *
		bound(or_else(e->checkpoint_s, 300), 1, 1e9);
	plan_course(e, p);
	return 1;
}
