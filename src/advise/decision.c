/*
 * decision.c
 *	  The decision for a table, in one order: see ff_decision() at the end.
 *
 * The model's choice is an input: it is made once, with the fit (model/choice.c), and
 * stored.  Everything that can overrule it is here.  A comparison with an unknown number
 * (NAN) is false.
 */
#include "advise/decision.h"

#include <string.h>

#include "model/choice.h"

#define THRESHOLD(name, value) static const double name = value;
#include "base/thresholds.h"

static int
is(const char *a, const char *b)
{
	return a != NULL && strcmp(a, b) == 0;
}

static int
sign(double v)
{
	return (v > 0) - (v < 0);
}

/* Place of a fillfactor in an array, or -1. */
static int
place_of(const double *a, double fillfactor)
{
	for (int i = 0; i < EV_STEPS && !isnan(a[i]); i++)
		if (a[i] == fillfactor)
			return i;
	return -1;
}

/*
 * The cost divided by another one from which the other is not just better, but clearly; or a part of that
 * saving better.
 */
static double
clear_ratio(const DnFacts *f, double part)
{
	double		left = 1 - part * CLEAR_GAINS * f->min_gain;

	return left > 0 ? 1 / left : INFINITY;
}

/* ---------- the cause, from the evidence alone ---------- */

/*
 * Nothing was written in the whole window; or, after a change that too few updates
 * followed, for a day.
 */
static int
idle(const DnFacts *f)
{
	if (f->updated >= f->min_updates && or_else(f->since_updated, 0) < f->min_updates)
		return f->window_s >= FULL_DAY && !(f->written_today > 0);
	return f->window_s > 0 && isnan(f->intervals);
}

/* Why updates that left their page did: the first that applies. */
static const char *
cause_of_lack(const DnFacts *f)
{
	if (!isnan(f->held_back))
		return "old_snapshot";
	if (f->updated_width > GROWTH * f->inserted_width &&
		f->updated_width - f->inserted_width >= GROWTH_BYTES)
		return "row_growth";
	if (f->update_group_rows >= fmax(GROUP_ROWS, GROUP_PART * f->rows_per_page))
		return "batch_update";
	return "page_full";
}

/* The length of its longer rows, bytes; 0 if the sample found none. */
static double
row_width(const DnFacts *f)
{
	return fmax(or_else(f->updated_width, 0), or_else(f->inserted_width, 0));
}

static const char *
no_data(DnDecision *d, const char *lacks)
{
	d->lacks = lacks;
	return "no_data";
}

/* A queue has no rows when it is sampled: its counters and old versions may say enough. */
static const char *
cause_of(const DnFacts *f, DnDecision *d)
{
	double		width = row_width(f);
	double		lacking = f->recoverable_share;
	const char *why;

	if (f->not_examined > 0)
		return "not_examined";
	if (isnan(f->sampled_at))
		return no_data(d, "sample");
	if (f->mirrored > 0 && isnan(f->live_rows) && !d->idle)
		return no_data(d, "count");
	if (d->idle || f->updated < f->min_updates)
		return !d->idle && f->blocks == 0 ? no_data(d, "rows") : "few_updates";
	if (isnan(f->intervals))
		return no_data(d, "interval");
	if (width > 0 &&
		ff_twin_rows_per_page(TW_MAX_FF, (int) bound(ceil(width), 1, TW_MAX_LEN)) < 2)
		return "too_wide";
	/* the effect of the last change is not known yet */
	if (or_else(f->since_updated, 0) < f->min_updates)
		return no_data(d, "updates");
	if (f->recent_hot_updated >= NEARLY_ALL * f->recent_updated)
		return "settled";
	if (isnan(f->newpage_share) && isnan(f->blocked_share))
		return no_data(d, "why_not_hot");
	if ((f->blocked_share >= BLOCKED && lacking < LACKING) ||
		(f->blocked_share > MOSTLY_BLOCKED * lacking && lacking >= LACKING &&
		 lacking <= LITTLE_LACKING))
		return "indexed_column";
	if (lacking < LACKING)
		return "settled";
	why = cause_of_lack(f);
	if (is(why, "old_snapshot") || !(width == 0 || f->live_rows <= 0))
		return why;
	/* only room helps, and how much of it rows need is unknown; after a day it stays unknown */
	d->lacks = "width";
	return f->window_s < FULL_DAY ? "no_data" : why;
}

/* What the evidence shows. */
static void
diagnose(const DnFacts *f, DnDecision *d)
{
	const char *c;

	d->idle = idle(f);
	d->cause = d->seen_cause = c = cause_of(f, d);
	d->lacks_room = is(c, "page_full") || is(c, "batch_update") || is(c, "row_growth");
	d->row_width = is(c, "too_wide") ? row_width(f) :
		or_else(f->inserted_width, or_else(f->updated_width, 0));
	/* the model can help; an old snapshot has to end first; with few updates 100 needs no advice */
	d->wants_model = row_width(f) > 0 && !(f->live_rows <= 0) && !is(c, "not_examined") && !is(c, "no_data") &&
		!is(c, "too_wide") && !is(c, "old_snapshot") && !d->idle &&
		(!is(c, "few_updates") || f->fillfactor < TW_MAX_FF);
	d->columns_known = !(f->recent_updated * (1 - f->newpage_share) < STAYED) ||
		!isnan(f->indexed_share) || f->indexes <= 1;
	d->passed_over = d->wants_model && isnan(f->current_step);
}

/* ---------- the step ---------- */

/*
 * The best step for all siblings together: the one with the least cost, or the one advised
 * to most of them until another is clearly better.  The table's own step if that is not
 * better by min_gain; NAN without siblings.
 */
static double
siblings_step(const DnFacts *f)
{
	const double *step = f->sibling_fillfactor;
	const double *cost = f->sibling_cost;
	int			best = -1,
				own = -1,
				advised = place_of(step, f->sibling_advised);

	for (int i = 0; i < EV_STEPS && !isnan(step[i]); i++)
	{
		if (best < 0 || cost[i] < cost[best] || (cost[i] == cost[best] && step[i] > step[best]))
			best = i;
		if (step[i] >= f->fillfactor && (own < 0 || step[i] < step[own]))
			own = i;
	}
	if (best < 0 || own < 0)
		return NAN;
	if (advised >= 0 && cost[advised] < cost[best] + log(clear_ratio(f, 1)))
		best = advised;
	return cost[best] - cost[own] <= log(1 - f->min_gain) ? step[best] : step[own];
}

/* Which step to consider: the model's, or the siblings' unless its own is clearly better. */
static void
consider(const DnFacts *f, DnDecision *d)
{
	double		siblings = siblings_step(f);
	int			other = place_of(f->step_fillfactor, siblings);
	int			own = place_of(f->step_fillfactor, f->advised_step);

	if (isnan(f->current_step) || !(d->wants_model || f->wants_curve > 0))
		return;
	d->current_step = f->current_step;
	d->step = f->advised_step;
	d->gain = f->advised_step == f->current_step ? 1 : f->model_gain;
	if (other < 0 || own < 0 || other == own ||
		!(f->step_cost[other] < f->step_cost[own] * clear_ratio(f, 1)))
		return;
	d->step = siblings;
	d->gain = siblings == f->current_step ? 1 : f->best_gain / f->step_cost[other];
	d->because = "siblings";
}

/* ---------- confidence ---------- */

/* Factor for how earlier predictions turned out; 1 if there are none. */
static double
of_earlier(double model, double accuracy)
{
	if (isnan(accuracy) || !(model > 0))
		return 1;
	if (accuracy < CALIBRATED)
		return accuracy / CALIBRATED;
	/* halfway to certainty if all came true */
	return (model + (1 - model) * (accuracy - CALIBRATED) / (2 * (1 - CALIBRATED))) / model;
}

/* How far the decision can be trusted: the product of its factors. */
static void
trust(const DnFacts *f, DnDecision *d)
{
	double		seen = f->updated < FEW * f->inserted ? f->inserted : or_else(f->since_updated, 0);

	d->of_updates = d->of_time = d->of_counters = d->of_columns = 1;
	d->of_rows = d->of_pages = d->of_model = d->of_earlier = 1;
	d->needed_updates = ENOUGH * f->min_updates;
	if (!is(d->seen_cause, "not_examined"))
	{
		if (is(d->seen_cause, "no_data"))
			d->of_updates = 0;
		else if (!d->idle)
			d->of_updates = fmin(1, seen / d->needed_updates);
		d->of_time = UNWATCHED + (1 - UNWATCHED) *
			sqrt(fmin(1, fmin(f->window_s / FULL_DAY, f->cycles / CYCLES)));
		if (f->counts_lost > 0)
			d->of_counters = UNKNOWN;
		if (d->wants_model && !d->columns_known)
			d->of_columns = UNKNOWN;
		if (is(d->lacks, "width"))
			d->of_rows = UNKNOWN;
		if (d->wants_model && f->mirrored > 0)
			d->of_pages = UNKNOWN;
		if (d->wants_model && !is(d->seen_cause, "few_updates"))
		{
			d->of_model = or_else(f->model_confidence, 0);
			d->of_earlier = of_earlier(d->of_model, f->calibration);
		}
	}
	d->confidence = d->of_updates * d->of_time * d->of_counters * d->of_columns * d->of_rows * d->of_pages *
		d->of_model * d->of_earlier;
}

/* Whether advice stands for this step. */
static int
stands(const DnFacts *f, const DnDecision *d)
{
	return f->standing_from != f->standing_to && f->standing_from == f->fillfactor &&
		f->standing_to == d->step;
}

/*
 * The confidence that the step needs: more if it more than doubles the size (by default 0.6
 * at four times), half if the same was advised before.
 */
static double
needed(const DnFacts *f, const DnDecision *d)
{
	int			now = place_of(f->step_fillfactor, d->current_step);
	int			then = place_of(f->step_fillfactor, d->step);
	double		need = f->min_confidence;

	if (now >= 0 && then >= 0 && f->step_bytes[then] > 0)
		need = 1 - (1 - need) * fmin(1, GROWS * f->step_bytes[now] / f->step_bytes[then]);
	if (stands(f, d))
		need *= STANDS;
	return need;
}

/* ---------- change, wait or keep ---------- */

/*
 * A table that is hardly updated: raises its fillfactor after a full day, unless its
 * siblings need the room: by their curves, or if those are missing, by their history.
 */
static void
act_on_few(const DnFacts *f, DnDecision *d)
{
	d->because = NULL;
	if (f->fillfactor < TW_MAX_FF)
		d->because = siblings_step(f) < TW_MAX_FF ||
			f->siblings_updated > FEW ? "siblings" :
			f->window_s < FULL_DAY ? "watched_too_briefly" : NULL;
	if (is(d->because, "siblings"))
		d->action = "keep";
	else if (d->because != NULL || f->open_writers > 0 || f->counts_lost > 0)
		d->action = "wait";
	else if (!isnan(d->step) && f->model_changes > 0)
		d->action = d->confidence < d->needed_confidence ? "wait" : "raise";
	else
		d->action = (f->updated < FEW * f->inserted && f->window_s >= RATES) ||
			f->window_s >= FULL_DAY ? "keep" : "wait";
}

/* Disk that a step frees, bytes, beyond what a rewrite at the present fillfactor would. */
static double
disk_freed(const DnFacts *f, int step)
{
	double		spare = f->step_rewrites[step] > 0 ? fmax(0, f->heap_now - f->heap_needed) : 0;

	return f->disk_now - f->step_disk[step] - spare;
}

/*
 * Why a change that pays for its table is not worth somebody's time; NULL: it is.  It has to save
 * enough of what the updates of the costliest table cost, or enough disk, and must not write more
 * WAL, a lower fillfactor not by a larger share than it saves of the cost: a higher one brings new
 * versions to old pages, which are then logged whole.  Half of that is enough if the same was
 * advised before.  Unknown costs are worth it, and so are partitions, which are judged together.
 */
static const char *
unworthy(const DnFacts *f, const DnDecision *d)
{
	int			then = place_of(f->step_fillfactor, d->step);
	double		enough = stands(f, d) ? STANDS : 1;
	double		need = enough * f->min_worth;
	double		wal,
				least_wal;

	if (then < 0)
		return NULL;
	/* most of what an update writes goes to TOAST: the change saves less than min_gain of the WAL of all */
	if (f->toasted > f->wal_now && f->wal_now - f->step_wal[then] < f->min_gain * f->toasted &&
		!(disk_freed(f, then) >= WORTH_DISK))
		return "toast";
	if (!isnan(f->sibling_fillfactor[0]) || isnan(f->most_wal) || !(f->min_worth > 0))
		return NULL;
	wal = (f->wal_now - f->step_wal[then]) * f->updated;
	least_wal = need * fmax(f->most_wal, f->wal_now * f->updated);
	if (!(wal < least_wal) && wal != 0)
		return NULL;
	if (wal < -least_wal &&
		(d->step > d->current_step || f->step_wal[then] / f->wal_now - 1 > 1 - 1 / d->gain))
		return "more_wal";
	/* what small tables save in time is within the error, but without WAL it is all that they can save */
	if ((f->disk_now >= WORTH_DISK || f->wal_now == 0) &&
		(f->us_now - f->step_us[then]) * f->updated >= need * fmax(f->most_us, f->us_now * f->updated))
		return NULL;
	return disk_freed(f, then) >= enough * WORTH_DISK ? NULL : "not_worth";
}

/* Why a change that pays has to wait, or is not made; NULL: neither. */
static const char *
hindrance(const DnFacts *f, const DnDecision *d, int way)
{
	int			clear = d->gain >= clear_ratio(f, 1);
	int			standing = sign(f->standing_to - f->standing_from);
	/* what the fit left out does not matter if enough is left */
	double		apart = f->updated - f->set_apart >= ENOUGH * f->min_updates ? f->set_apart : 0;

	/*
	 * After a recent change of fillfactor, not another one within a day or for an unclear
	 * gain.  A change that was made as advised is not reversed unless it hurt.
	 */
	if (!isnan(f->changed_to) &&
		(f->since_change_s < FULL_DAY || !clear ||
		 (sign(f->changed_to - f->changed_from) != sign(d->step - f->fillfactor) &&
		  f->change_followed > 0)))
		return "just_changed";
	/* raise only after a day in which the table was about as busy as over the whole window */
	if (way > 0 && f->since_change_s < FULL_DAY)
		return "watched_too_briefly";
	if (way > 0 && f->since_updated * f->window_s < AS_BUSY * f->updated * f->since_change_s)
		return "less_busy";
	/* what was done once may never be done again: by a statement, or in many batches */
	if (way < 0 && f->updated_once - apart > ONCE * (f->updated - apart))
		return "ran_once";
	if (way < 0 && f->updated_in_burst - apart > ONCE * (f->updated - apart))
		return "one_burst";
	/* after a change of its indexes, too, a day, unless the same was advised before */
	if (f->since_change_s < fmin(FULL_DAY, f->window_s) &&
		!(standing == way && f->standing_to == d->step))
		return "watched_too_briefly";
	/* a day if the table may become HOT by itself and the gain is not clear */
	if (way < 0 && standing >= 0 && f->settling > MAY_SETTLE && f->window_s < FULL_DAY && !clear)
		return "may_settle";
	return NULL;
}

/*
 * Readers fetch many more pages than are updated.  One scan per call of an UPDATE is not
 * counted: it may have searched for the rows.
 */
static int
mostly_read(const DnFacts *f)
{
	double		calls = rint(f->updated / fmax(1, f->update_call_rows));
	double		scans = fmax(0, f->seq_scans - fmax(0, calls - f->index_scans));

	return READS * f->updated <
		fmin(f->blocks_fetched, 2 * fmax(0, f->index_scans - calls) + f->blocks * scans);
}

/* Most of what the step saves is what any rewrite does. */
static int
by_any_rewrite(const DnFacts *f, const DnDecision *d)
{
	return f->step_rewrites[place_of(f->step_fillfactor, d->step)] > 0 && f->rewrite_gain > sqrt(d->gain);
}

/*
 * Why a fillfactor is not advised although it pays: fewer updates would be HOT than were; a lower
 * one also if fewer would be than will be if nothing is done; or no more, and what pages that are
 * pruned or touched less often save, beyond what any rewrite saves, is not clearly enough.
 */
static const char *
no_hot_gain(const DnFacts *f, const DnDecision *d)
{
	int			then = place_of(f->step_fillfactor, d->step);
	int			now = place_of(f->step_fillfactor, d->current_step);
	double		seen = 100 * f->recent_hot_updated / f->recent_updated;
	double		most;
	double		clear;

	if (then < 0)
		return NULL;
	most = fmax(f->step_hot[then], f->step_settled[then]);
	if (d->step > d->current_step)
		return ff_choice_less_hot(most, seen) ? "less_hot_settled" : NULL;
	/* as shown, in tenths */
	if (rint(10 * f->step_hot[then]) < rint(10 * seen))
		return "less_hot";
	if (now >= 0 && f->step_settled[then] < f->step_settled[now] - 100 * LACKING)
		return "less_hot_than_kept";
	clear = clear_ratio(f, stands(f, d) ? STANDS : 1) *
		(f->step_rewrites[then] > 0 ? fmax(1, or_else(f->rewrite_gain, 1)) : 1);
	if (!(most < seen + 100 * LACKING && d->gain < clear))
		return NULL;
	return by_any_rewrite(f, d) ? "any_rewrite" : "no_hot_gain";
}

/* Why a step is not advised at all; NULL: it may be. */
static const char *
refusal(const DnFacts *f, const DnDecision *d)
{
	const char *why = no_hot_gain(f, d);

	return why != NULL ? why : unworthy(f, d);
}

/*
 * The choice before may have kept a step that is refused now: then the cheapest one, if that is
 * not.  Returns whether it is taken.
 */
static int
take_cheapest(const DnFacts *f, DnDecision *d)
{
	DnDecision	other = *d;

	for (int i = 0; i < EV_STEPS && !isnan(f->step_fillfactor[i]); i++)
		if (f->step_cost[i] <= 1)
			other.step = f->step_fillfactor[i];
	other.gain = f->best_gain;
	if (other.step == d->step || other.step == d->current_step || d->because != NULL ||
		refusal(f, &other) != NULL)
		return 0;
	*d = other;
	d->needed_confidence = needed(f, d);
	return 1;
}

/* A table with enough updates for the model. */
static void
act_on_model(const DnFacts *f, DnDecision *d)
{
	if (d->gain > 1 && d->step != d->current_step)
	{
		const char *why = refusal(f, d);
		int			way;

		if (why != NULL && !take_cheapest(f, d))
		{
			d->because = why;
			d->action = "keep";
			return;
		}
		way = sign(d->step - d->current_step);
		why = hindrance(f, d, way);
		if (why != NULL)
			d->because = why;
		d->action = is(why, "just_changed") && f->since_change_s >= FULL_DAY ? "keep" :
			why != NULL || d->confidence < d->needed_confidence ? "wait" :
			way < 0 ? "lower" : "raise";
		return;
	}
	d->action = f->model_waits > 0 ? "wait" : "keep";
	if (d->lacks_room)
		d->cause = mostly_read(f) ? "read_mostly" : f->settling > SETTLING ? "settling" : d->cause;
}

/*
 * Whether a rewrite saves enough of what the updates of the costliest table cost; unknown costs are
 * worth it.
 */
static int
worth_rewriting(const DnFacts *f)
{
	double		wal = f->wal_now * f->updated;
	double		us = f->us_now * f->updated;
	double		part = fmax(wal / fmax(f->most_wal, wal), us / fmax(f->most_us, us));

	return isnan(f->most_us) || !((1 - 1 / f->model_gain) * part < f->min_worth);
}

/*
 * What a rewrite at the present fillfactor would do: it pays, by the model and by what is
 * worth a change, unless full pages get room by themselves; or pages are mostly empty (bloat),
 * and it is possible, or useless, because the table fills them again, or because their versions
 * wait for a snapshot to end.
 */
static const char *
rewrite(const DnFacts *f, const DnDecision *d)
{
	double		spare = f->heap_now - f->heap_needed;
	int			bloated = f->heap_now > BLOAT * f->heap_needed && spare >= BLOAT_BYTES;

	if (d->changes || is(d->seen_cause, "no_data") || is(d->seen_cause, "not_examined"))
		return NULL;
	if (bloated && f->snapshot_awaited > 0)
		return is(d->seen_cause, "old_snapshot") ? NULL : "awaits_snapshot";
	if (bloated && ff_choice_refills(f->inserted, f->deleted, f->reloads, f->live_rows))
		return "refills";
	if (is(d->action, "keep") && d->wants_model && f->model_changes > 0 &&
		f->advised_step == f->current_step && d->confidence >= d->needed_confidence &&
		((f->filled_at > f->fillfactor && !is(d->cause, "settling") && worth_rewriting(f)) ||
		 spare >= WORTH_DISK))
		return "pays";
	return bloated ? "possible" : NULL;
}

/*
 * Whether to rewrite its pages: that pays, or it is hardly updated, and a raise frees enough of them
 * for good.
 */
static int
rewrites(const DnFacts *f, const DnDecision *d)
{
	int			then = place_of(f->step_fillfactor, d->step);

	if (!d->changes || then < 0)
		return is(d->rewrite, "pays");
	return f->step_rewrites[then] > 0 ||
		(is(d->seen_cause, "few_updates") && f->step_bytes[then] < (1 - FREED) * f->heap_now &&
		 !ff_choice_refills(f->inserted, f->deleted, f->reloads, f->live_rows));
}

/*
 * The best step costs least: of those that differ by less than is shown, the advised or present one, or
 * the highest.  If the model was asked, why it is not advised; "because" has said so of the step considered.
 */
static void
find_best(const DnFacts *f, DnDecision *d)
{
	double		preferred = d->changes ? d->step : d->current_step;
	DnDecision	best = *d;
	int			then = -1;
	const char *why;

	for (int i = 0; i < EV_STEPS && !isnan(f->step_fillfactor[i]); i++)
		if (f->step_cost[i] < SHOWN && (then < 0 || f->step_fillfactor[i] == preferred))
			then = i;
	if (isnan(d->current_step) || then < 0)
		return;
	best.step = d->best_step = f->step_fillfactor[then];
	best.gain = d->best_gain = f->best_gain / f->step_cost[then];
	if (!d->wants_model || is(d->seen_cause, "few_updates") || isnan(f->step_hot[then]) ||
		best.step == d->current_step || best.step == d->step)
		return;
	why = no_hot_gain(f, &best);
	d->best_refused = 1 - 1 / best.gain < f->min_gain ? "min_gain" :
		is(d->because, "siblings") ? "siblings" :
		by_any_rewrite(f, &best) ? "any_rewrite" :
		best.step < d->current_step && is(d->seen_cause, "settled") ? "settled" :
		why != NULL ? why :
		is(d->because, "more_wal") && f->step_wal[then] > f->wal_now ? "more_wal" :
		d->step == d->current_step ? "unsure" :
		fabs(d->step - d->current_step) < fabs(best.step - d->current_step) ? "nearer" :
		stands(f, d) ? "standing" : "no_better";
}

/*
 * What an idle table could give back, if that is worth a change: the room that its fillfactor
 * keeps free, or pages that are mostly empty.
 */
static void
rest(const DnFacts *f, DnDecision *d)
{
	double		reserve = fmin(f->heap_now, f->heap_needed) - f->heap_full;

	if (!d->idle || !is(d->seen_cause, "few_updates"))
		return;
	if (f->heap_full > 0 && reserve >= WORTH_DISK)
		d->reserve = reserve;
	d->at_rest = isnan(d->reserve) &&
		!(is(d->rewrite, "possible") && f->heap_now - f->heap_needed >= WORTH_DISK);
}

/*
 * 1. The cause, from the evidence alone.
 * 2. The step: the model's, or the siblings'.
 * 3. How sure that is, and how sure it must be.
 * 4. Wait if too little is known; keep if no step is better; else change, unless something
 *	  speaks against it.
 * 5. Whether to rewrite it, what costs least and why it is not advised, and what a table at rest could give back.
 */
void
ff_decision(const DnFacts *f, DnDecision *d)
{
	*d = (DnDecision) {
		.current_step = NAN,.step = NAN,.gain = NAN,.best_step = NAN,.best_gain = NAN,.reserve = NAN
	};
	diagnose(f, d);
	consider(f, d);
	trust(f, d);
	d->needed_confidence = needed(f, d);
	if (is(d->cause, "no_data") || d->passed_over)
		d->action = "wait";
	else if (is(d->cause, "few_updates") && !d->idle)
		act_on_few(f, d);
	else if (d->wants_model && !is(d->cause, "few_updates"))
		act_on_model(f, d);
	else
		d->action = "keep";
	d->changes = is(d->action, "lower") || is(d->action, "raise");
	d->provisional = !(f->window_s >= FULL_DAY) && !is(d->cause, "not_examined") &&
		!is(d->cause, "too_wide");
	d->recommended_fillfactor = d->changes ? d->step : f->fillfactor;
	d->rewrite = rewrite(f, d);
	d->rewrites = rewrites(f, d);
	find_best(f, d);
	rest(f, d);
}
