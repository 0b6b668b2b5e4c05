/*
 * decision_test.c
 *	  The decision, as TAP: a row of facts for each cause, each reason to wait or to keep,
 *	  and each factor of the confidence.
 *
 * All begin with a table of which every second update leaves its page: at 100 lower to 70.
 */
#include <stdio.h>
#include <string.h>

#include "advise/decision.h"
#include "base/numbers.h"

#define DAY 86400.0

static int	tests = 0;
static int	failed = 0;

static void
ok(int pass, const char *what)
{
	printf("%sok %d - %s\n", pass ? "" : "not ", ++tests, what);
	failed += !pass;
}

static DnFacts
full_pages(void)
{
	DnFacts		f;

	make_unknown(&f, sizeof(f));
	f.fillfactor = 100;
	f.window_s = f.since_change_s = 3 * DAY;
	f.intervals = 100;
	f.inserted = 1000;
	f.updated = f.since_updated = 60000;
	f.recent_updated = 20000;
	f.recent_hot_updated = 10000;
	f.index_scans = f.updated;
	f.seq_scans = 0;
	f.blocks_fetched = 3 * f.updated;
	f.cycles = 50;
	f.counts_lost = 0;
	f.open_writers = 0;
	f.indexes = 1;
	f.sampled_at = 1;
	f.blocks = 1000;
	f.rows_per_page = 60;
	f.inserted_width = f.updated_width = 100;
	f.update_group_rows = 1;
	f.newpage_share = f.recoverable_share = 0.5;
	f.blocked_share = 0;
	f.current_step = 100;
	f.advised_step = 70;
	f.model_gain = f.best_gain = 1.2;
	f.model_waits = 0;
	f.model_changes = 1;
	f.model_confidence = 0.8;
	f.settling = 0;
	f.update_call_rows = 1;
	for (int i = 0; i < 3; i++)
	{
		f.step_fillfactor[i] = (double[]) {100, 90, 70}[i];
		f.step_cost[i] = (double[]) {1.2, 1.05, 1}[i];
		f.step_bytes[i] = (double[]) {8e6, 9e6, 11e6}[i];
		f.step_hot[i] = (double[]) {50, 80, 95}[i];
	}
	f.min_updates = 500;
	f.min_gain = 0.02;
	f.min_confidence = 0.2;
	return f;
}

static DnFacts
few_updates(void)
{
	DnFacts		f = full_pages();

	f.fillfactor = f.current_step = 70;
	f.advised_step = 100;
	f.inserted = 50000;
	f.updated = f.since_updated = f.recent_updated = f.recent_hot_updated = 0;
	return f;
}

static DnFacts
less_room(void)
{
	DnFacts		f = full_pages();

	f.fillfactor = f.current_step = 70;
	f.advised_step = 90;
	f.recent_hot_updated = f.recent_updated;
	f.step_cost[1] = 1;
	f.step_cost[2] = 1.2;
	f.step_hot[1] = 100;
	return f;
}

static DnDecision
decided(DnFacts f)
{
	DnDecision	d;

	ff_decision(&f, &d);
	return d;
}

static int
same(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* One golden row: the decision by three words, the last of which may be what it lacks, and the fillfactor. */
static void
gives(DnFacts f, const char *cause, const char *action, const char *because, int fillfactor,
	  const char *what)
{
	DnDecision	d = decided(f);
	const char *why = d.lacks ? d.lacks : d.because;
	int			good = same(d.cause, cause) && same(d.action, action) && same(why, because) &&
		d.recommended_fillfactor == fillfactor;

	if (!good)
		printf("# %s %s %s %g\n", d.cause, d.action, why ? why : "-", d.recommended_fillfactor);
	ok(good, what);
}

/* Facts with some of them changed. */
#define WITH(from, ...) \
	({ DnFacts f = from(); __VA_ARGS__; f; })

static void
test_causes(void)
{
#define EMPTY f.blocks = 0, f.inserted_width = f.updated_width = f.current_step = f.advised_step = NAN
	gives(full_pages(), "page_full", "lower", NULL, 70, "updates leave full pages");
	gives(WITH(full_pages, f.not_examined = 1), "not_examined", "keep", NULL, 100, "not examined");
	gives(WITH(full_pages, f.sampled_at = NAN), "no_data", "wait", "sample", 100, "never sampled");
	gives(WITH(full_pages, f.mirrored = 1), "no_data", "wait", "count", 100,
		  "a mirror that does not know how many rows it has");
	gives(WITH(full_pages, EMPTY, f.window_s = DAY - 1), "no_data", "wait", "width", 100,
		  "empty whenever it was sampled, and full pages");
	gives(WITH(full_pages, EMPTY), "page_full", "keep", "width", 100, "for a day: it keeps its fillfactor");
	gives(WITH(full_pages, EMPTY, f.recent_hot_updated = 19600), "settled", "keep", NULL, 100, "empty, and 98 % HOT");
	gives(WITH(full_pages, EMPTY, f.held_back = 1), "old_snapshot", "keep", NULL, 100, "empty, and an old snapshot");
	gives(WITH(full_pages, EMPTY, f.updated = f.since_updated = 499, f.fillfactor = 70), "no_data", "wait", "rows", 70,
		  "empty, and hardly updated");
	gives(WITH(full_pages, EMPTY, f.blocked_share = 1, f.recoverable_share = 0), "indexed_column", "keep", NULL, 100,
		  "empty, and an indexed column changes");
	gives(WITH(full_pages, f.intervals = f.updated = NAN, f.window_s = 0), "no_data", "wait", "interval", 100,
		  "nothing was written yet");
	gives(WITH(full_pages, f.intervals = f.updated = f.since_updated = NAN), "few_updates", "keep", NULL, 100,
		  "nothing was written for days");
	gives(WITH(full_pages, f.since_updated = 499), "few_updates", "keep", NULL, 100,
		  "altered, and not written to for a day");
	gives(WITH(full_pages, f.since_updated = 499, f.written_today = 1), "no_data", "wait", "updates", 100,
		  "altered, and too few updates since");
	gives(WITH(full_pages, f.inserted_width = 5000), "too_wide", "keep", NULL, 100, "one row fills a page");
	gives(WITH(full_pages, f.recent_hot_updated = 19600, f.advised_step = 100, f.model_changes = 0), "settled", "keep",
		  NULL, 100, "98 % HOT");
	gives(WITH(full_pages, f.recent_hot_updated = 19599, f.advised_step = 100), "page_full", "keep", NULL, 100,
		  "less than 98 % HOT");
	gives(WITH(full_pages, f.newpage_share = f.blocked_share = NAN), "no_data", "wait", "why_not_hot", 100,
		  "unknown why updates are not HOT");
	gives(WITH(full_pages, f.blocked_share = 0.05, f.recoverable_share = 0.01, f.advised_step = 100), "indexed_column",
		  "keep", NULL, 100, "an indexed column changes");
	gives(WITH(full_pages, f.blocked_share = 0.45, f.recoverable_share = 0.1, f.advised_step = 100), "indexed_column",
		  "keep", NULL, 100, "an indexed column changes mostly");
	gives(WITH(full_pages, f.blocked_share = 0.45, f.recoverable_share = 0.11, f.advised_step = 100), "page_full",
		  "keep", NULL, 100, "an indexed column changes, but many lack room");
	gives(WITH(full_pages, f.recoverable_share = 0.019, f.advised_step = 100), "settled", "keep", NULL, 100,
		  "hardly any update lacks room");
	gives(WITH(full_pages, f.held_back = 1), "old_snapshot", "keep", NULL, 100, "an old snapshot");
	gives(WITH(full_pages, f.updated_width = 111), "row_growth", "lower", NULL, 70, "rows grow");
	gives(WITH(full_pages, f.update_group_rows = 6), "batch_update", "lower", NULL, 70,
		  "rows of a page are updated together");
	gives(WITH(full_pages, f.update_group_rows = 5), "page_full", "lower", NULL, 70, "a few of them are no batch");
	gives(WITH(full_pages, f.advised_step = 100, f.seq_scans = 1e4, f.blocks_fetched = 1e8), "read_mostly", "keep",
		  NULL, 100, "mostly read");
	gives(WITH(full_pages, f.advised_step = 100, f.seq_scans = 1e4, f.blocks_fetched = 1e8, f.index_scans = 5e4),
		  "page_full", "keep", NULL, 100, "one scan per update is not counted");
	gives(WITH(full_pages, f.advised_step = 100, f.settling = 0.51), "settling", "keep", NULL, 100,
		  "settles by itself");
}

static void
test_model(void)
{
	gives(WITH(full_pages, f.current_step = NAN), "page_full", "wait", NULL, 100, "the model was not asked");
	ok(decided(WITH(full_pages, f.current_step = NAN)).passed_over, "it was passed over");
	gives(WITH(full_pages, f.advised_step = 100, f.model_waits = 1), "page_full", "wait", NULL, 100, "the model waits");
	gives(WITH(full_pages, f.model_confidence = 0.19), "page_full", "wait", NULL, 100, "too little confidence");
	gives(WITH(full_pages, f.model_confidence = 0.19, f.standing_from = 100, f.standing_to = 70), "page_full", "lower",
		  NULL, 70, "enough for advice that stands");
	gives(WITH(full_pages, f.step_bytes[2] = 32e6, f.model_confidence = 0.59), "page_full", "wait", NULL, 100,
		  "four times the size needs a confidence of 0.6");
	gives(WITH(full_pages, f.step_bytes[2] = 32e6, f.model_confidence = 0.61), "page_full", "lower", NULL, 70,
		  "and 0.61 is enough");
}

static void
test_hindrances(void)
{
	gives(WITH(full_pages, f.changed_from = 90, f.changed_to = 100, f.since_change_s = DAY - 1), "page_full", "wait",
		  "just_changed", 100, "changed within a day");
	gives(WITH(full_pages, f.changed_from = 90, f.changed_to = 100, f.model_gain = 1.1), "page_full", "keep",
		  "just_changed", 100, "changed lately, no clear gain");
	gives(WITH(full_pages, f.changed_from = 90, f.changed_to = 100, f.model_gain = 1.12), "page_full", "lower", NULL,
		  70, "changed lately, a clear gain");
	gives(WITH(full_pages, f.changed_from = 90, f.changed_to = 100, f.change_followed = 1), "page_full", "keep",
		  "just_changed", 100, "what was advised is not reversed");
	gives(WITH(less_room), "settled", "raise", NULL, 90, "unused room");
	gives(WITH(less_room, f.since_change_s = DAY - 1), "settled", "wait", "watched_too_briefly", 70,
		  "unused room, altered within a day");
	gives(WITH(less_room, f.since_updated = 29000), "settled", "wait", "less_busy", 70,
		  "unused room, less than half as busy since");
	gives(WITH(full_pages, f.since_change_s = DAY - 1), "page_full", "wait", "watched_too_briefly", 100,
		  "indexes changed within a day");
	gives(WITH(full_pages, f.since_change_s = DAY - 1, f.standing_from = 100, f.standing_to = 70), "page_full", "lower",
		  NULL, 70, "indexes changed, the same was advised before");
	gives(WITH(full_pages, f.updated_once = 30001), "page_full", "wait", "ran_once", 100,
		  "most updates were of a statement that ran once");
	gives(WITH(full_pages, f.updated_once = 30000), "page_full", "lower", NULL, 70, "half of them were");
	gives(WITH(full_pages, f.updated_once = 50000, f.set_apart = 40000), "page_full", "lower", NULL, 70,
		  "most were, but the fit left them out");
	gives(WITH(full_pages, f.updated_once = 50001, f.set_apart = 40000), "page_full", "wait", "ran_once", 100,
		  "most of the others were, too");
	gives(WITH(full_pages, f.updated_once = 59001, f.updated_in_burst = 59001, f.set_apart = 59001), "page_full",
		  "wait", "ran_once", 100, "too few are left");
	gives(WITH(full_pages, f.updated_in_burst = 50000, f.set_apart = 40000), "page_full", "lower", NULL, 70,
		  "most came in two hours, of an update that the fit left out");
	gives(WITH(full_pages, f.updated_in_burst = 30001), "page_full", "wait", "one_burst", 100,
		  "most updates came in two hours");
	gives(WITH(full_pages, f.updated_in_burst = 30000), "page_full", "lower", NULL, 70, "half of them did");
	gives(WITH(full_pages, f.live_rows = 0), "page_full", "keep", "width", 100,
		  "no rows when sampled, watched for days: the model is not asked");
	gives(WITH(full_pages, f.live_rows = 0, f.window_s = DAY - 1), "no_data", "wait", "width", 100,
		  "no rows when sampled, on the first day");
	gives(WITH(full_pages, f.live_rows = 0, f.recoverable_share = 0), "settled", "keep", NULL, 100,
		  "no rows when sampled, but updates are HOT");
	gives(WITH(full_pages, f.window_s = f.since_change_s = 3600, f.settling = 0.11, f.model_gain = 1.1), "page_full",
		  "wait", "may_settle", 100, "may settle by itself, on the first day");
	gives(WITH(full_pages, f.window_s = f.since_change_s = 3600, f.settling = 0.11), "page_full", "lower", NULL, 70,
		  "may settle by itself, but the gain is clear");
}

/* Less room never makes fewer updates HOT, and needs a clear gain if it makes no more HOT. */
static void
test_hot(void)
{
#define BLOCKED f.recoverable_share = 0, f.blocked_share = 1, f.recent_hot_updated = 0, f.step_hot[2] = 0
	gives(WITH(full_pages, BLOCKED, f.model_gain = 1.11), "indexed_column", "keep", "no_hot_gain", 100,
		  "no HOT gain, saves 9.9 %");
	gives(WITH(full_pages, BLOCKED, f.model_gain = 1.12), "indexed_column", "lower", NULL, 70,
		  "no HOT gain, saves 10.7 %");
	gives(WITH(full_pages, BLOCKED, f.model_gain = 1.06, f.standing_from = 100, f.standing_to = 70), "indexed_column",
		  "lower", NULL, 70, "half is enough for advice that stands");
	gives(WITH(full_pages, BLOCKED, f.rewrite_gain = 1.1), "indexed_column", "lower", NULL, 70, "without a rewrite");
	gives(WITH(full_pages, BLOCKED, f.rewrite_gain = 1.1, f.step_rewrites[2] = 1), "indexed_column", "keep",
		  "any_rewrite", 100, "half of the gain is that of any rewrite");
	gives(WITH(full_pages, f.step_hot[2] = 52, f.model_gain = 1.03), "page_full", "lower", NULL, 70,
		  "two points more, saves 3 %");
	gives(WITH(full_pages, f.step_hot[2] = 51.9, f.model_gain = 1.03), "page_full", "keep", "no_hot_gain", 100,
		  "1.9 points more");
	gives(WITH(full_pages, f.step_hot[2] = 51.9, f.step_settled[2] = 52, f.model_gain = 1.03), "page_full", "lower", NULL,
		  70, "two points more once settled");
	gives(WITH(full_pages, f.step_hot[2] = 49.9), "page_full", "keep", "less_hot", 100, "fewer would be HOT");
	gives(WITH(full_pages, f.step_settled[0] = 97, f.step_settled[2] = 94.9), "page_full", "keep", "less_hot_than_kept", 100,
		  "fewer once settled");
	gives(WITH(full_pages, f.step_settled[0] = 97, f.step_settled[2] = 95), "page_full", "lower", NULL, 70,
		  "2 points fewer");
	gives(WITH(less_room, f.step_hot[1] = 99.4), "settled", "keep", "less_hot_settled", 70,
		  "less room, fewer would be HOT");
	gives(WITH(less_room, f.step_hot[1] = 99.5), "settled", "raise", NULL, 90, "half a point fewer is the same");
	gives(WITH(less_room, f.step_hot[1] = 49.9, f.step_settled[1] = 100), "settled", "raise", NULL, 90,
		  "as many once settled");
#undef BLOCKED
}

static void
test_few(void)
{
	gives(few_updates(), "few_updates", "raise", NULL, 100, "the reserve is not used");
	gives(WITH(few_updates, f.window_s = DAY - 1), "few_updates", "wait", "watched_too_briefly", 70, "not for a day");
	gives(WITH(few_updates, f.siblings_updated = 0.011), "few_updates", "keep", "siblings", 70,
		  "the siblings are updated");
	gives(WITH(few_updates, f.siblings_updated = 0.01), "few_updates", "raise", NULL, 100,
		  "the siblings are hardly updated either");
	gives(WITH(few_updates, f.open_writers = 1), "few_updates", "wait", NULL, 70, "open transactions may hold updates");
	gives(WITH(few_updates, f.model_changes = 0), "few_updates", "keep", NULL, 70, "the model keeps it");
	gives(WITH(few_updates, f.fillfactor = 100, f.current_step = NAN), "few_updates", "keep", NULL, 100,
		  "at 100: nothing to do");
	gives(WITH(few_updates, f.fillfactor = 100, f.current_step = NAN, f.inserted = 0, f.window_s = 3600), "few_updates",
		  "wait", NULL, 100, "at 100, on the first day: more has to be seen");
}

/* A change that pays for its table, but hardly for the server. */
static void
test_worth(void)
{
#define COSTS(share) \
	f.min_worth = 0.01, f.wal_now = f.us_now = 100, f.step_wal[2] = f.step_us[2] = 60, \
	f.disk_now = 9e6, f.step_disk[2] = 11e6, f.most_wal = f.most_us = 40 * f.updated / (share)
	gives(WITH(full_pages, COSTS(0.0101)), "page_full", "lower", NULL, 70, "saves more than 1 % of the most");
	gives(WITH(full_pages, COSTS(0.0099)), "page_full", "keep", "not_worth", 100, "saves less");
	gives(WITH(full_pages, COSTS(0.0099), f.most_us = 4000), "page_full", "lower", NULL, 70, "but enough time");
	gives(WITH(full_pages, COSTS(0.0099), f.most_us = 4000, f.disk_now = 8e6), "page_full", "keep", "not_worth", 100,
		  "the time of a small table does not count");
	gives(WITH(full_pages, COSTS(0.0099), f.most_us = 4000, f.disk_now = 8e6, f.wal_now = f.step_wal[2] = 0),
		  "page_full", "lower", NULL, 70, "unless it writes no WAL");
	gives(WITH(full_pages, COSTS(0.0099), f.disk_now = 19.4e6), "page_full", "lower", NULL, 70, "but 8 MB of disk");
	gives(WITH(full_pages, COSTS(0.0099), f.disk_now = 19.4e6, f.heap_now = 18e6, f.heap_needed = 17e6), "page_full",
		  "lower", NULL, 70, "disk that no rewrite is needed for");
	gives(WITH(full_pages, COSTS(0.0099), f.disk_now = 19.4e6, f.heap_now = 18e6, f.heap_needed = 17e6,
			   f.step_rewrites[2] = 1), "page_full", "keep", "not_worth", 100,
			   	  "disk that any rewrite gives back does not count");
	gives(WITH(full_pages, COSTS(0.5), f.step_wal[2] = 117, f.disk_now = 19.4e6), "page_full", "keep", "more_wal", 100,
		  "a lower fillfactor that writes far more WAL is not worth it");
	gives(WITH(full_pages, COSTS(0.5), f.step_wal[2] = 116, f.disk_now = 19.4e6), "page_full", "lower", NULL, 70,
		  "unless it saves as much of the cost");
	gives(WITH(less_room, COSTS(0.5), f.step_wal[1] = 102, f.step_us[1] = 100, f.step_disk[1] = 11e6,
		  f.disk_now = 20e6), "settled", "keep", "more_wal", 70, "nor is a higher one, whatever disk it frees");
	gives(WITH(full_pages, COSTS(0.5), f.step_wal[2] = 120, f.step_wal[1] = 60, f.step_us[1] = 60,
		  f.step_disk[1] = 10e6, f.step_cost[2] = 1.01, f.step_cost[1] = 1), "page_full", "lower", NULL, 90,
		  "the cheapest step is advised if the one chosen before is refused");
	gives(WITH(full_pages, COSTS(0.5), f.step_wal[2] = f.step_wal[1] = 120, f.step_us[1] = 60, f.step_disk[1] = 10e6,
			   f.step_cost[2] = 1.01, f.step_cost[1] = 1), "page_full", "keep", "more_wal", 100,
		  "unless that is refused, too");
	gives(WITH(full_pages, COSTS(0.0099), f.min_worth = 0), "page_full", "lower", NULL, 70, "any worth is enough");
	gives(WITH(full_pages, COSTS(0.0051), f.standing_from = 100, f.standing_to = 70), "page_full", "lower", NULL, 70,
		  "half is enough for advice that stands");
	gives(WITH(full_pages, COSTS(0.0049), f.standing_from = 100, f.standing_to = 70), "page_full", "keep", "not_worth",
		  100, "less is not");
	gives(WITH(full_pages, COSTS(0.0099), f.most_wal = NAN), "page_full", "lower", NULL, 70, "other costs are unknown");
	gives(WITH(full_pages, COSTS(0.0099), f.sibling_fillfactor[0] = 100, f.sibling_cost[0] = 1), "page_full", "lower",
		  NULL, 70, "a partition is judged with the others");
#undef COSTS
}

/* Most that an update writes is TOAST. */
static void
test_toast(void)
{
#define TOAST f.wal_now = 100, f.step_wal[2] = 60, f.disk_now = 9e6, f.step_disk[2] = 11e6
	gives(WITH(full_pages, TOAST), "page_full", "lower", NULL, 70, "nothing is TOAST");
	gives(WITH(full_pages, TOAST, f.toasted = 1990), "page_full", "lower", NULL, 70, "saves 40 of 1,990 bytes");
	gives(WITH(full_pages, TOAST, f.toasted = 2010), "page_full", "keep", "toast", 100, "saves less than 2 % of all");
	gives(WITH(full_pages, TOAST, f.toasted = 2010, f.disk_now = 20e6), "page_full", "lower", NULL, 70,
		  "but 8 MB of disk");
#undef TOAST
}

/* The step that costs least, and why it is not advised. */
static void
test_best(void)
{
#define BEST(step, refused, what, ...) \
	ok(decided(WITH(full_pages, __VA_ARGS__)).best_step == (step) && \
	   same(decided(WITH(full_pages, __VA_ARGS__)).best_refused, refused), what)
#define KEPT f.advised_step = 100, f.model_changes = 0
	ok(fabs(decided(full_pages()).best_gain - 1.2) < 1e-9, "it saves a sixth of the cost");
	BEST(70, NULL, "it is advised", f.min_gain = 0.02);
	BEST(70, "unsure", "the model keeps the present one", KEPT);
	BEST(70, "min_gain", "it saves too little", KEPT, f.min_gain = 0.17);
	BEST(90, "unsure", "of equal ones the highest", KEPT, f.step_cost[1] = 1.0004);
	BEST(70, NULL, "or the one advised", f.step_cost[1] = 1, f.step_cost[2] = 1.0004);
	BEST(100, NULL, "the present one costs least", KEPT, f.step_cost[0] = 1.0004);
	BEST(70, "nearer", "one nearer to today's is advised", f.advised_step = 90);
	BEST(90, "no_better", "one farther away is advised", f.step_cost[1] = 1, f.step_cost[2] = 1.05);
	BEST(90, "standing", "one that was advised before", f.step_cost[1] = 1, f.step_cost[2] = 1.05,
		 f.standing_from = 100, f.standing_to = 70);
	BEST(70, "less_hot", "fewer updates would be HOT", KEPT, f.step_hot[2] = 49.9);
	BEST(70, "less_hot_than_kept", "fewer than if nothing is done", KEPT, f.step_settled[0] = 98, f.step_settled[2] = 95);
	BEST(70, "no_hot_gain", "no more would be, for little", KEPT, f.step_hot[2] = 51, f.best_gain = 1.1);
	BEST(70, "any_rewrite", "a rewrite saves most of it", KEPT, f.step_rewrites[2] = 1, f.rewrite_gain = 1.1);
	BEST(70, "unsure", "or less than half", KEPT, f.step_rewrites[2] = 1, f.rewrite_gain = 1.09);
	BEST(70, "settled", "nearly all are HOT already", KEPT, f.recent_hot_updated = 19600);
	BEST(70, NULL, "what was considered and refused has its reason", f.step_hot[2] = 49.9);
	BEST(70, NULL, "the model was not asked", f.inserted_width = 5000, f.wants_curve = 1);
#undef KEPT
#undef BEST
}

/* A rewrite at the same fillfactor. */
static void
test_rewrite(void)
{
#define SAME f.advised_step = 100, f.heap_now = 20e6, f.heap_needed = 11e6, f.live_rows = 60000
#define REWRITE(...) decided(WITH(full_pages, SAME, ##__VA_ARGS__)).rewrite
	ok(same(REWRITE(f.heap_needed = 11e6), "pays"), "the model takes it, and it saves more than 8 MB");
	ok(same(REWRITE(f.heap_needed = 12e6), NULL), "less than 8 MB");
	ok(same(REWRITE(f.heap_needed = 12e6, f.filled_at = 101), "pays"), "or brings the fillfactor to old pages");
	ok(same(REWRITE(f.heap_needed = 12e6, f.filled_at = 101, f.settling = 1), NULL),
		  "unless they get room by themselves");
#define SHARE(share) f.heap_needed = 12e6, f.filled_at = 101, f.wal_now = f.us_now = 100, f.min_worth = 0.01, \
	f.most_wal = f.most_us = 100 * f.updated * (1 - 1 / f.model_gain) / (share)
	ok(same(REWRITE(SHARE(0.0101)), "pays"), "and it saves more than 1 % of the most");
	ok(same(REWRITE(SHARE(0.0099)), NULL), "less is not worth it");
#undef SHARE
	ok(same(REWRITE(f.model_changes = 0), NULL), "the model does not");
	ok(same(REWRITE(f.model_confidence = 0.1), NULL), "too little confidence");
	ok(same(REWRITE(f.advised_step = 70), NULL), "another fillfactor is advised");
	ok(same(REWRITE(f.model_changes = 0, f.heap_needed = 9.9e6), "possible"), "bloat, whatever the model says");
	ok(same(REWRITE(f.model_changes = 0, f.heap_now = 2e6, f.heap_needed = 0.96e6), NULL), "less than 1 MB of it");
	ok(same(REWRITE(f.heap_needed = 9.9e6, f.inserted = 120001, f.deleted = 60001), "refills") &&
	   !same(REWRITE(f.heap_needed = 9.9e6, f.inserted = 120001, f.deleted = 60000), "refills"),
	   "it will be as large again, unless it was emptied otherwise");
	ok(same(REWRITE(f.heap_needed = 9.9e6, f.inserted = 120001, f.reloads = 2), "refills") &&
	   !same(REWRITE(f.heap_needed = 9.9e6, f.inserted = 120001, f.reloads = 1), "refills"),
	   "it was emptied by TRUNCATE and filled again, twice");
	ok(same(REWRITE(f.heap_needed = 9.9e6, f.snapshot_awaited = 1), "awaits_snapshot"), "versions wait for a snapshot");
	ok(same(REWRITE(f.heap_needed = 9e6, f.held_back = 1, f.snapshot_awaited = 1), NULL),
	   "an old snapshot has to end first");
	ok(same(REWRITE(f.heap_needed = 9e6, f.held_back = 1), "possible"), "it ended, and left bloat");
#undef REWRITE
	ok(decided(WITH(full_pages, SAME)).rewrites && !decided(WITH(full_pages, SAME, f.model_changes = 0)).rewrites,
	   "only what pays is done");
#undef SAME
	ok(!decided(full_pages()).rewrites && decided(WITH(full_pages, f.step_rewrites[2] = 1)).rewrites,
	   "with another fillfactor: as the model says");
	ok(decided(WITH(few_updates, f.heap_now = 8.9e6)).rewrites &&
	   !decided(WITH(few_updates, f.heap_now = 8.88e6)).rewrites &&
	   !decided(WITH(few_updates, f.heap_now = 8.9e6, f.inserted = 2 * f.live_rows + 1, f.deleted = f.live_rows + 1)).rewrites &&
	   !decided(WITH(less_room, f.heap_now = 20e6)).rewrites,
	   "or if it is hardly updated, and a raise frees a tenth");
}

/* A table that nothing was written to. */
static void
test_rest(void)
{
	const double mb = 1024 * 1024;

#define REST(...) decided(WITH(full_pages, f.intervals = f.updated = f.since_updated = NAN, f.fillfactor = 70, \
							   f.heap_now = f.heap_needed = 40 * mb, f.heap_full = 28 * mb, __VA_ARGS__))

	ok(REST(f.inserted = 0).reserve == 12 * mb && !REST(f.inserted = 0).at_rest, "its fillfactor keeps 12 MB free");
	ok(isnan(REST(f.heap_full = 33 * mb).reserve) && REST(f.heap_full = 33 * mb).at_rest, "7 MB are not worth a change");
	ok(REST(f.heap_full = 32 * mb).reserve == 8 * mb, "8 MB are");
	ok(isnan(REST(f.heap_full = 0).reserve), "the length of its rows is unknown");
	ok(isnan(REST(f.heap_full = 38 * mb, f.heap_now = 90 * mb).reserve) &&
	   !REST(f.heap_full = 38 * mb, f.heap_now = 90 * mb).at_rest, "mostly empty");
	ok(!decided(full_pages()).at_rest && isnan(decided(WITH(full_pages, f.heap_now = f.heap_needed = 40 * mb,
															f.heap_full = 28 * mb)).reserve), "it is updated");
}

static void
test_siblings(void)
{
#define SIBLINGS(a, b, c) \
	f.sibling_fillfactor[0] = 100, f.sibling_fillfactor[1] = 90, f.sibling_fillfactor[2] = 70, \
	f.sibling_cost[0] = log(a), f.sibling_cost[1] = log(b), f.sibling_cost[2] = log(c)

	gives(WITH(full_pages, SIBLINGS(1.3, 1, 1.05)), "page_full", "lower", "siblings", 90, "the step of its siblings");
	gives(WITH(full_pages, SIBLINGS(1.3, 1, 1.05), f.step_cost[1] = 1.12), "page_full", "lower", NULL, 70,
		  "its own step is clearly better");
	gives(WITH(full_pages, SIBLINGS(1.3, 1, 1.05), f.sibling_advised = 70), "page_full", "lower", NULL, 70,
		  "the step advised to most stays");
	gives(WITH(full_pages, SIBLINGS(1.3, 1, 1.2), f.sibling_advised = 70), "page_full", "lower", "siblings", 90,
		  "until another is clearly better");
	gives(WITH(less_room, SIBLINGS(0.9, 0.89, 1.2), f.step_cost[0] = 1, f.step_hot[0] = 100, f.sibling_advised = 100),
		  "settled", "raise", "siblings", 100, "the highest step stays, too");
	gives(WITH(full_pages, SIBLINGS(1.01, 1, 1.2), f.step_cost[0] = 1.05), "page_full", "keep", "siblings", 100,
		  "no step is better for all of them");
	gives(WITH(few_updates, SIBLINGS(1.3, 1.2, 1)), "few_updates", "keep", "siblings", 70,
		  "room that the siblings need");
}

static void
test_confidence(void)
{
	DnDecision	d = decided(full_pages());

	ok(d.confidence == 0.8 && d.of_model == 0.8 && d.of_updates == 1 && d.of_time == 1 && d.of_counters == 1 &&
	   d.of_columns == 1 && d.of_rows == 1 && d.of_pages == 1 && d.of_earlier == 1 && d.needed_updates == 2000,
	   	  "all factors but the model's are 1");
	ok(decided(WITH(full_pages, f.since_updated = 500)).of_updates == 0.25, "a quarter of the updates needed");
	ok(fabs(decided(WITH(full_pages, f.window_s = DAY / 4)).of_time - 0.75) < 1e-9, "a quarter of a day");
	ok(fabs(decided(WITH(full_pages, f.cycles = 0.75)).of_time - 0.75) < 1e-9, "a quarter of three cycles");
	ok(decided(WITH(full_pages, f.counts_lost = 1)).of_counters == 0.5, "counters were off");
	ok(decided(WITH(full_pages, f.live_rows = 0)).confidence == 0.5, "its rows were never seen: half as sure");
	ok(decided(WITH(full_pages, f.mirrored = f.live_rows = 1)).confidence == 0.4,
		  "a mirror reads no pages: half as sure");
	ok(decided(WITH(full_pages, f.recent_updated = 40, f.recent_hot_updated = 20, f.indexes = 2)).of_columns == 0.5,
	   "unknown whether an indexed column changes");
	ok(decided(WITH(full_pages, f.recent_updated = 40, f.recent_hot_updated = 20, f.indexes = 2,
					f.indexed_share = 0)).of_columns == 1, "known by the statements");
	ok(fabs(decided(WITH(full_pages, f.calibration = 1)).confidence - 0.9) < 1e-9,
	   "all predictions came true: halfway to 1");
	ok(fabs(decided(WITH(full_pages, f.calibration = 0.4)).confidence - 0.4) < 1e-9,
	   "half of what changes nothing: half the confidence");
	ok(decided(WITH(full_pages, f.calibration = 0.8)).of_earlier == 1, "0.8 changes nothing");
	ok(decided(WITH(full_pages, f.not_examined = 1)).confidence == 1 &&
	   decided(WITH(full_pages, f.sampled_at = NAN)).confidence == 0, "certain, and nothing known");
}

int
main(void)
{
	test_causes();
	test_model();
	test_hindrances();
	test_hot();
	test_few();
	test_worth();
	test_toast();
	test_best();
	test_rewrite();
	test_rest();
	test_siblings();
	test_confidence();
	printf("1..%d\n", tests);
	return failed != 0;
}
