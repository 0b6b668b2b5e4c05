/*
 * plan_test.c
 *	  Facts about the plan made from counters and samples before anything is drawn, and
 *	  about the forecast of a known workload, as TAP.
 */
#include <stdlib.h>

#include "workloads.h"

static FitWork work;
static Fit	fit;
static Forecast forecast;
static FitPlan plan;

/* 2,000 rows of 136 bytes, 10,000 updates in an hour. */
static Evidence
known(double hot, double moved)
{
	Evidence	e;

	ff_evidence_clear(&e);
	e.nintervals = 1;
	e.interval[0] = (EvInterval) {
		3600, 0, 10000, 10000 * hot, 10000 * moved, 0, 0
	};
	e.earlier_updated = 0;
	e.live_rows = 2000;
	e.blocks = 40;
	e.inserted_length[0] = e.updated_length[0] = 136;
	e.inserted_length[1] = e.updated_length[1] = 1;
	e.updated_pct = 50;
	e.fillfactor = 100;
	e.indexes = 2;
	return e;
}

static EvStatement *
add(Evidence *e, EvCommand command, double rows, double calls, double indexed)
{
	EvStatement *s = &e->statement[e->nstatements++];

	*s = (EvStatement) {
		.command = command,.calls = calls,.rows = rows,.sets_indexed = indexed,
			.wal_bytes = NAN
	};
	return s;
}

static FitPlan *
planned(const Evidence *e)
{
	if (!ff_plan(e, &plan))
		plan.nslots = -1;
	return &plan;
}

static void
test_lengths(void)
{
	Evidence	e = known(0.9, 0.1);
	int			right = 1;

	e.inserted_length[0] = 104;
	e.inserted_length[1] = 3;
	e.inserted_length[2] = 200;
	e.inserted_length[3] = 1;
	e.updated_length[0] = 300;
	planned(&e);
	for (int i = 0; i < TW_QUANTILES; i++)
		right &= plan.insert_len[i] == (i < TW_QUANTILES * 3 / 4 ? 104 : 200) && plan.update_len[i] == 304;
	ok(right && near(plan.insert_mean, 128, 1e-9) && near(plan.update_mean, 304, 1e-9),
	   "lengths have their share of the quantiles, aligned");
	ok(plan.resizes && plan.step_len == 104 && plan.page_rows == ff_twin_rows_per_page(100, 128),
	   "other lengths of updated rows: updates resize, steps are those of the shorter inserted rows");
	e.updated_length[0] = 64;
	ok(planned(&e)->resizes && plan.step_len == 64,
	   "other lengths of updated rows: steps are those of the shorter updated rows");
	/* means of 100 and 98, of other lengths */
	e.inserted_length[0] = e.updated_length[0] = 96;
	e.inserted_length[2] = e.updated_length[2] = 104;
	e.inserted_length[1] = e.inserted_length[3] = e.updated_length[3] = 1;
	e.updated_length[1] = 3;
	planned(&e);
	ok(!plan.resizes && plan.insert_len[40] == 96 && near(plan.insert_mean, 98, 1e-9) &&
	   plan.update_len[40] == 96, "nearly equal lengths: no resizing, lengths of the updated rows");
	e.updated_length[1] = 0;
	ok(near(planned(&e)->update_mean, 100, 1e-9) && !plan.resizes,
	   "updated lengths without rows: those of inserted rows");
	e.updated_length[0] = 104;
	e.updated_length[1] = 1;
	e.updated_length[2] = NAN;
	e.updated_length[3] = NAN;
	ok(near(planned(&e)->update_mean, 104, 1e-9) && plan.resizes,
	   "means that differ by half an alignment: updates resize");
	for (int i = 0; i < EV_LENGTHS; i++)
	{
		e.updated_length[2 * i] = 96 + 8 * i;
		e.updated_length[2 * i + 1] = i % 4 + 1;
	}
	planned(&e);
	right = 1;
	for (int i = 0, at = 0, k = 0; i < TW_QUANTILES; i++)
	{
		/* of 40 rows */
		while (i * 40 + 20 > (at + k % 4 + 1) * TW_QUANTILES)
			at += k++ % 4 + 1;
		right &= plan.update_len[i] == 96 + 8 * k;
	}
	ok(right, "sixteen lengths have their share of the quantiles");
	e.updated_length[0] = 96;
	e.updated_length[2] = 104;
	e.updated_length[1] = 3;
	e.updated_length[3] = 1;
	e.updated_length[5] = NAN;
	e.inserted_length[0] = NAN;
	e.inserted_length[1] = NAN;
	e.updated_pct = 1;
	planned(&e);
	ok(!plan.resizes && plan.insert_len[40] == 96 && near(plan.insert_mean, 98, 1e-9),
	   "inserted lengths unknown: those of updated rows");
	e.updated_length[1] = NAN;
	ok(planned(&e)->nslots < 0, "all lengths unknown: no plan");
	e.inserted_length[0] = 1;
	e.inserted_length[1] = 1;
	ok(planned(&e)->insert_len[0] == TW_MIN_LEN && plan.update_len[0] == TW_MIN_LEN,
	   "lengths are at least the smallest row");
	e.inserted_length[0] = 1e6;
	e.inserted_length[3] = NAN;
	ok(planned(&e)->insert_len[63] == TW_MAX_LEN, "lengths are at most the largest row");
	e = known(1, 0);
	e.live_rows = 0.5;
	right = planned(&e)->nslots < 0;
	e = known(1, 0);
	e.interval[0].updated = 0;
	ok(right && planned(&e)->nslots < 0, "no rows, or no updates: no plan");
}

static void
test_together(void)
{
	Evidence	e = known(0.9, 0.1);
	double		least[] = {1, 2, 3, 5, 9, 17, 33, 65, 129};
	int			right = isnan(planned(&e)->together);

	for (int k = 0; k < EV_GROUP_BINS - 1; k++)
	{
		for (int i = 0; i < EV_GROUP_BINS; i++)
			e.group_old_page[i] = i == k ? 7 : 0;
		planned(&e);
		right &= plan.together >= least[k] && plan.together <= exp2(k);
	}
	ok(right, "the number of rows updated together is within its bin");
	e.group_old_page[EV_GROUP_BINS - 2] = 0;
	e.group_old_page[0] = e.group_old_page[1] = 1;
	ok(near(planned(&e)->together, sqrt(2), 1e-9), "rows updated together: the geometric mean of several bins");
}

static void
test_slots(void)
{
	Evidence	e = known(0.6, 0.05);
	double		rate = 0;
	int			left;

	add(&e, EV_UPDATE, 6000, 100, 0);
	add(&e, EV_INSERT, 50, 10, NAN);
	add(&e, EV_UPDATE, 3000, 3000, 1);
	add(&e, EV_UPDATE, 19, 19, 1);
	e.interval[0].inserted = 100;
	e.interval[0].deleted = 3;
	planned(&e);
	ok(plan.nslots == 5 && near(plan.slot[0].rate, 0.6, 1e-9) && plan.slot[0].rows == 60 &&
	   plan.slot[0].indexed == 0 && near(plan.slot[1].rate, 0.3, 1e-9) && plan.slot[1].rows == 1 &&
	   plan.slot[1].indexed == 1 && !plan.slot[0].shared && !plan.slot[1].shared,
	   "each statement with more than a few rows has a class");
	for (left = 2; left < 4; left++)
		rate += plan.slot[left].shared && isnan(plan.slot[left].rows) ? plan.slot[left].rate : NAN;
	ok(near(rate, (10000 - 9019) / 10000.0, 1e-9) && near(plan.slot[2].rate, plan.slot[3].rate, 1e-9),
	   "updates of unknown statements have two classes");
	ok(near(plan.slot[2].indexed, (plan.split.blocked - 0.3) / rate, 1e-9) && plan.slot[2].indexed > 0.1 &&
	   near(plan.slot[3].indexed, plan.slot[2].indexed, 1e-9),
	   "updates of unknown statements set indexed columns as often as the rest requires");
	ok(plan.slot[4].command == EV_INSERT && near(plan.slot[4].rate, 0.01, 1e-9) && plan.slot[4].rows == 5,
	   "inserts have a class, hardly any deletes have none");
	e.interval[0].deleted = 6;
	ok(planned(&e)->nslots == 6 && plan.slot[5].command == EV_DELETE && near(plan.slot[5].rate, 6e-4, 1e-9) &&
	   isnan(plan.slot[5].rows), "deletes have a class");
	e.statement[0].rows = 12000;
	e.statement[2].rows = 7981;
	planned(&e);
	ok(plan.nslots == 4 && near(plan.slot[0].rate, 0.6, 1e-9) && near(plan.slot[1].rate, 0.39905, 1e-9) &&
	   !plan.slot[1].shared, "statements with more rows than the table's updates are scaled down");
	e.statement[0].calls = 2;
	planned(&e);
	ok(near(plan.slot[0].part, 0.5, 1e-9) && near(plan.slot[0].rows * plan.slot[0].part, 2000, 1e-9),
	   "a call takes at most all rows of the table, and the same part of the rows elsewhere");
	e = known(0.9, 0.1);
	for (int i = 0; i < EV_STATEMENTS; i++)
		add(&e, EV_UPDATE, 1000, 1000, 0);
	e.interval[0].inserted = e.interval[0].deleted = 10000;
	planned(&e);
	ok(plan.nslots == TW_CLASSES && plan.slot[TW_CLASSES - 1].command == EV_DELETE &&
	   plan.slot[TW_CLASSES - 2].command == EV_INSERT,
	   "too many statements: as many classes as possible, with inserts and deletes");
	e.interval[0].updated *= 100;
	e.interval[0].hot *= 100;
	e.interval[0].newpage *= 100;
	for (int i = 0; i < EV_STATEMENTS; i++)
		e.statement[i].rows = 3000;
	e.event.rows = 1000;
	e.interval[0].inserted = e.interval[0].deleted = 1e6;
	planned(&e);
	ok(plan.nslots == TW_CLASSES && plan.slot[TW_CLASSES - 1].command == EV_DELETE && plan.slot[TW_CLASSES - 3].shared,
	   "nor more with what ran once and with unknown ones");
	e = known(0.9, 0.1);
	add(&e, EV_UPDATE, 9801, 9801, 0);
	ok(planned(&e)->nslots == 1, "hardly any updates of unknown statements: no class for them");
	add(&e, EV_UPDATE, 199, 199, NAN);
	ok(planned(&e)->nslots == 2 && near(plan.slot[1].indexed, bound(plan.split.blocked / 0.0199, 0, 1), 1e-6),
	   "a statement with unknown columns sets indexed ones as often as the rest requires");
}

/* The indexed shares of two classes whose statements say 0 and 1. */
static int
shares(const Evidence *e, double zero, double one)
{
	return planned(e)->nslots == 2 && near(plan.slot[0].indexed, zero, 1e-9) &&
		near(plan.slot[1].indexed, one, 1e-9);
}

/* No trigger, but more stayed and were not HOT than statements explain: a foreign key's action, say. */
static void
test_hidden(void)
{
	Evidence	e = known(0.92, NAN);

	add(&e, EV_UPDATE, 9300, 9300, 0);
	e.indexed_share = 0;
	e.triggers = 0;
	e.seen_hot = 100;
	e.seen_same_page = 750;
	e.seen_moved = 0;
	planned(&e);
	ok(plan.split.recoverable < 0.01 && near(plan.split.kept, 0.08, 0.01), "no trigger: pages contradict the statements");
	e.seen_same_page = 0;
	e.seen_moved = 750;
	planned(&e);
	ok(near(plan.split.recoverable, 0.08, 1e-6), "no trigger: pages agree with them");
	e.interval[0].newpage = 0;
	planned(&e);
	ok(plan.split.recoverable == 0 && near(plan.split.kept, 0.08, 1e-6), "no trigger: counters contradict them");
}

/* What statements set is not always changed, and others may change what they do not set. */
static void
test_contradicted(void)
{
	Evidence	e = known(0.3, 0.2);

	/* statements say: half of the updates set an indexed column */
	add(&e, EV_UPDATE, 5000, 5000, 0);
	add(&e, EV_UPDATE, 5000, 5000, 1);
	e.indexed_share = 0.5;
	ok(shares(&e, 0, 1), "as many updates stayed and were not HOT as statements say: they are right");
	e.interval[0].hot = 7000;
	e.interval[0].newpage = 1000;
	ok(shares(&e, 0, 4.0 / 9), "more HOT updates than set no indexed column: set is not always changed");
	e.indexed_share = 1;
	e.statement[0].sets_indexed = 1;
	e.interval[0].hot = 400;
	e.interval[0].newpage = 8000;
	ok(shares(&e, 0.8, 0.8), "all set one, and a fifth of those that stayed is HOT: it is not always changed");
	e.indexed_share = 0.5;
	e.statement[0].sets_indexed = 0;
	e.interval[0].hot = 4000;
	e.interval[0].newpage = 6000;
	ok(shares(&e, 0, 0), "all updates that stayed are HOT: set is not changed");
	e.interval[0].hot = 3900;
	ok(shares(&e, 0, 1), "some that stayed are not HOT: the statements are right");
	e.interval[0].hot = 2000;
	e.interval[0].newpage = 1000;
	ok(shares(&e, (1 - 2.0 / 9 - 0.5) / 0.5, 1), "too many stayed and were not HOT: others set it, too");
	e.interval[0].hot = 0;
	e.interval[0].newpage = 9000;
	ok(shares(&e, 1, 1), "none that stayed is HOT: a trigger sets it");
	e.triggers = 0;
	ok(shares(&e, 0, 1) && near(plan.split.recoverable, 0.5, 1e-9) && near(plan.split.kept, 0.5, 1e-9),
	   "without a trigger the statements are right: the others left full pages");
	e.triggers = NAN;
	e.interval[0].newpage = 9980;
	ok(shares(&e, 0, 1), "only few stayed: the statements are right");
	/* PostgreSQL 15: from old versions in the pages */
	e.interval[0].newpage = NAN;
	e.seen_hot = 0;
	e.seen_same_page = 40;
	e.seen_moved = 60;
	ok(shares(&e, 1, 1), "moved not counted, none seen to stay is HOT: a trigger sets it");
	e.triggers = 0;
	ok(shares(&e, 0, 1) && near(plan.split.recoverable, 0.5, 1e-9),
	   "moved not counted, and no trigger: the statements are right");
	e.triggers = NAN;
	e.interval[0].hot = 300;
	e.seen_hot = 50;
	ok(shares(&e, 0, 1), "moved not counted, about as many blocked in the pages: the statements are right");
	e.seen_same_page = 0;
	ok(shares(&e, 0, 0), "moved not counted, all seen to stay are HOT: set is not changed");
	e.statement[0].rows = 9000;
	e.statement[1].rows = 1000;
	e.indexed_share = 0.1;
	e.seen_same_page = 50;
	planned(&e);
	ok(near(plan.split.eligible, 0.5, 1e-9) && plan.slot[1].indexed == 1 &&
	   near(plan.slot[0].indexed, (plan.split.blocked - 0.1) / 0.9, 1e-9),
	   "moved not counted, far more blocked in the pages: others set it, too");
	e.statement[0].sets_indexed = NAN;
	e.indexed_share = NAN;
	planned(&e);
	ok(plan.slot[1].indexed == 1 && near(plan.slot[0].indexed, (plan.split.blocked - 0.1) / 0.9, 1e-9),
	   "a statement with unknown columns may explain it");
}

static void
test_density(void)
{
	Evidence	e = known(0.9, 0.1);

	e.fillfactor = 70;
	e.rows_per_page_max = ff_twin_rows_per_page(70, 136);
	ok(planned(&e)->filled_at == 70 && plan.fillfactor == 70,
	   "pages as full as at today's fillfactor were filled at it");
	e.rows_per_page_max = ff_twin_rows_per_page(84, 136);
	ok(planned(&e)->filled_at == ff_twin_step_edge(84, 136), "fuller pages were filled at a higher fillfactor");
	e.rows_per_page_max = 1000;
	ok(planned(&e)->filled_at == 100, "pages fuller than possible were filled at 100");
	e.filled_at = 90;
	ok(planned(&e)->filled_at == 90, "pages were filled at the fillfactor in the evidence");
	e.filled_at = 9;
	e.rows_per_page_max = NAN;
	ok(planned(&e)->filled_at == 70, "pages were filled at today's fillfactor if the evidence is invalid");
	e.fillfactor = NAN;
	ok(planned(&e)->fillfactor == 100 && plan.filled_at == 100, "unknown fillfactor: 100");
}

static double
ticks(void)
{
	double		sum = 0;

	for (int i = 0; i < FIT_SEGMENTS; i++)
		sum += plan.segment[i];
	return sum;
}

static void
test_course(void)
{
	Evidence	e = known(0.9, 0.1);
	double		hot[] = {900, 500, 100};	/* the newest first */
	double		part;
	int			right = 1;

	e.updated_pct = 100;
	e.nintervals = 6;
	for (int i = 0; i < 6; i++)
		e.interval[i] = (EvInterval) {600.0 * (i + 1), 0, 500, hot[i / 2] / 2, 0, 0, 0};
	planned(&e);
	for (int i = 0; i < FIT_SEGMENTS; i++)
		right &= near(plan.segment_hot[i], hot[2 - i] / 1000, 1e-9) && near(plan.segment_updates[i], 1000, 1e-9) &&
			near(plan.segment[i], 1000 * plan.scale, 1e-6);
	ok(right && plan.scale == 1 && plan.rows == 2000 && plan.before == 0,
	   "a short window is replayed in full, in thirds, the oldest first");
	e.earlier_updated = 4000;
	planned(&e);
	ok(near(plan.before / plan.rows, 2, 1e-9) && near(ticks() / plan.rows, 1.5, 1e-9),
	   "a short window is replayed after the earlier updates");
	e.earlier_updated = 1e9;
	planned(&e);
	ok(plan.before > 2 * plan.rows && plan.before + ticks() <= 12 * plan.rows &&
	   near(ticks() / plan.rows, 1.5, 1e-9), "many earlier updates are cut to what still matters");
	e.live_rows = 2e6;
	e.earlier_updated = 0;
	planned(&e);
	ok(plan.scale < 0.1 && near(plan.scale, plan.rows / 2e6, 1e-9) && near(ticks() / plan.rows, 3000 / 2e6, 1e-9) &&
	   plan.rows <= 160 * 58 && plan.rows >= 300, "a part of a large table is replayed, with the same updates a row");
	e.live_rows = 100;
	planned(&e);
	ok(plan.rows == 100 && plan.scale == 1 && ticks() + plan.before <= 12 * 100 + 1e-6 && plan.segment[0] == 0 &&
	   isnan(plan.segment_hot[0]) && !isnan(plan.segment_hot[FIT_SEGMENTS - 1]) && ticks() > 0,
	   "a long window is cut to its later part");
	ok(near((plan.before + ticks()) / 100, 12, 1e-6),
	   "a long window is replayed as twelve updates of each row in total");
	e = known(0.9, 0.1);
	e.live_rows = 200000;
	e.earlier_updated = 1e9;
	part = planned(&e)->rows;
	add(&e, EV_UPDATE, 9000, 6, 0);
	ok(part < 2500 && near(planned(&e)->rows, 3000, 1e-6), "a large table is replayed with the rows of two calls");
	/* fillfactor was set while the table was in use */
	e = known(0.9, 0.1);
	e.live_rows = 10000;
	e.fillfactor = 70;
	e.filled_at = 100;
	e.earlier_updated = 10000;
	planned(&e);
	ok(near(plan.before_set, plan.before, 1e-9) && plan.before > 0,
	   "fillfactor set at an unknown time: at the beginning of the window");
	e.updated_since = 15000;
	ok(near(planned(&e)->before_set / plan.before, 0.5, 1e-9),
	   "fillfactor set at a known time: after its share of the earlier updates");
	ok(isnan(plan.set_hot) && plan.set_segment == 0, "nothing was seen at the fillfactor before");
	e.before_updated = 1000;
	e.before_hot = 820;
	planned(&e);
	ok(near(plan.set_hot, 0.82, 1e-9) && plan.set_updates == 1000 &&
	   near(plan.set_segment, 1000 * plan.scale, 1e-9), "the last updates before it was set were seen");
	e.before_updated = 1e6;
	ok(planned(&e)->set_segment == plan.before_set, "at most what is replayed at the fillfactor before");
	e.filled_at = NAN;
	ok(planned(&e)->before_set == 0 && plan.set_segment == 0, "fillfactor never set: not changed in the replay");
	e.set_from = 100;
	ok(planned(&e)->set_from == 100 && plan.filled_at == 70 && plan.before_set > 0 && plan.set_segment == plan.before_set,
	   "set and rewritten: pages are as full as at 70, and what was seen at 100 is replayed there");
}

/* Rows that nobody writes, in front of 40,000 that are inserted and updated in batches. */
static void
test_cold_rows(void)
{
	double		hot[3],
				moved[3];
	int			step[3];
	static Choice decision;

	for (int i = 0; i < 3; i++)
	{
		Evidence	e = known(0, 1);

		e.interval[0].inserted = e.interval[0].updated = e.interval[0].newpage = 40000;
		e.live_rows = i == 0 ? 40000 : i == 1 ? 4e6 : 1e9;
		e.updated_pct = 50 * 40000 / e.live_rows;
		/* as its owner sets it, so that vacuum comes as often */
		e.vacuum_scale = 0.2 * 40000 / e.live_rows;
		e.blocks = e.live_rows / 58;
		e.window_xids = 200;
		e.update_distance[0] = 1;
		for (int k = 1; k < EV_LOG2_BINS; k++)
			e.update_distance[k] = 0;
		e.payback_s = 30 * 86400;
		e.time_weight = 0.5;
		e.wal_weight = 0.3;
		e.size_weight = 0.2;
		e.min_gain = 0.02;
		e.min_updates = 500;
		add(&e, EV_INSERT, 40000, 100, NAN);
		add(&e, EV_UPDATE, 40000, 100, 0);
		ff_choose(&work, &e, 1, &fit, &forecast, &decision);
		step[i] = decision.action == CH_SET ? forecast.step[decision.advised].fillfactor : 0;
		hot[i] = forecast.step[forecast.current].mean[FC_SET].hot_pct;
		moved[i] = forecast.step[decision.advised].mean[FC_SET].hot_pct;
	}
	ok(step[0] > 0 && abs(step[1] - step[0]) <= 2 && abs(step[2] - step[0]) <= 2,
	   "a hundred or 25,000 cold rows for each live one: the same step, without a rewrite");
	ok(near(hot[1], hot[0], 5) && near(hot[2], hot[0], 5) && near(moved[1], moved[0], 5) &&
	   near(moved[2], moved[0], 5), "cold rows: the same HOT shares");
}

static void
test_rows_updated(void)
{
	Evidence	e = known(0.9, 0.1);

	e.live_rows = 1e5;
	e.interval[0].updated = 20000;
	e.updated_pct = 1;
	ok(near(planned(&e)->live, 1000, 1e-3) && near(plan.cold, 99000, 1e-3),
	   "20 updates for each row ever updated: these are the live part");
	e.updated_pct = 100 * 0.3 * (1 - exp(-20000 / 3e4));
	ok(near(planned(&e)->live, 3e4, 1) && near(plan.scale, plan.rows / 3e4, 1e-9),
	   "few updates: more rows of the live part were not updated yet");
	e.updated_pct = 100 * (1 - exp(-20000 / 1e5));
	ok(near(planned(&e)->live, 1e5, 1), "as many rows were updated as if any is");
	e.updated_pct = 100;
	ok(planned(&e)->live == 1e5 && plan.cold == 0, "all rows were once updated: nothing tells them apart");
	e.updated_pct = NAN;
	ok(planned(&e)->cold == 0, "unknown which rows were updated");
	e.updated_pct = 1;
	e.interval[0].inserted = 5000;
	ok(near(planned(&e)->live, 5000, 1e-9), "rows inserted in the window are in the live part");
}

static void
test_pages_updated(void)
{
	Evidence	e = known(1, 0);
	EvStatement *u = add(&e, EV_UPDATE, 20000, 20000, 0);

	e.updated_pct = NAN;
	e.live_rows = 1e5;
	e.blocks = 1000;
	e.index_bytes = 1000 * TW_BLCKSZ;
	e.interval[0].updated = e.interval[0].hot = 20000;
	e.checkpoint_s = 3600;
	u->blocks_dirtied = 50;
	ok(near(planned(&e)->live, 5000, 1), "50 of 1,000 pages dirtied by 20,000 updates: their rows are the live part");
	e.checkpoint_s = 360;
	u->blocks_dirtied = 500;
	ok(near(planned(&e)->live, 5000, 1), "the same ten times, as there were ten checkpoints");
	u->blocks_dirtied = 10 * 500 * (1 - exp(-2000 / 500.0));
	ok(near(planned(&e)->live, 5e4, 10),
		  "few updates between checkpoints: not all pages of the live part were dirtied");
	u->blocks_dirtied = 20000;
	ok(planned(&e)->cold == 0, "each update dirtied a page: nothing tells them apart");
	u->blocks_dirtied = 500;
	u->calls = 10000;
	ok(near(planned(&e)->live, 5000, 1), "two rows a call, of neighbours");
	e.interval[0].hot = 0;
	ok(near(planned(&e)->live, 2500, 1), "no update is HOT: half of these blocks are the index's");
	u->rows = 10000;
	ok(planned(&e)->cold == 0, "half of the updates are of unknown statements");
	u->rows = 20000;
	u->blocks_dirtied = 0;
	ok(planned(&e)->cold == 0, "unknown how many blocks were dirtied");
	u->blocks_dirtied = 500;
	e.updated_pct = 100;
	ok(planned(&e)->cold == 0, "what pages show is believed instead");
}

static void
test_growth(void)
{
	Evidence	e = known(0.9, 0.1);
	double		distance;

	e.updated_pct = 100;
	e.earlier_updated = 1e-9;
	ok(planned(&e)->start_rows == plan.rows && plan.mean_live == 2000,
	   "a table that does not grow begins with today's rows");
	e.interval[0].updated = 2000;
	e.interval[0].hot = 1800;
	e.interval[0].newpage = 200;
	e.interval[0].inserted = 900;
	e.interval[0].deleted = 100;
	planned(&e);
	ok(near(plan.start_rows + 0.4 * (plan.before + ticks()), plan.rows, 1e-6) && plan.mean_live == 1600,
	   "a table that grows begins with fewer rows, and its mean is in the middle");
	e.interval[0].deleted = 1700;
	ok(planned(&e)->start_rows == plan.rows && plan.mean_live == 2400,
	   "a table that shrinks begins with today's rows, and its mean is higher");
	e.interval[0].inserted = 1e5;
	e.interval[0].deleted = 0;
	ok(planned(&e)->start_rows == 0 && plan.mean_live == 1000, "a table that grew from nothing begins with no rows");

	e.interval[0].inserted = 500;
	for (int i = 0; i < EV_LOG2_BINS; i++)
		e.update_distance[i] = i == 6;
	e.window_xids = 4000;
	e.live_rows = 1e5;
	distance = planned(&e)->insert_distance;
	ok(near(plan.xids_per_tick, 2, 1e-9) && distance >= 90 * 500 / 4000.0 && distance <= 2 * 128 * 500 / 4000.0,
	   "distance in transactions from insert to update gives a distance in rows");
	e.window_xids = 8000;
	ok(near(planned(&e)->insert_distance, distance / 2, 1e-9),
	   "more transactions in the same time: a smaller distance in rows");
	e.window_xids = 4000;
	e.interval[0].inserted = 1000;
	ok(near(planned(&e)->insert_distance, 2 * distance, 1e-9),
	   "more inserts in the same time: a larger distance in rows");
	add(&e, EV_INSERT, 1000, 10, NAN);
	ok(near(planned(&e)->insert_distance / plan.scale, 100, 1e-9),
		  "the distance in rows is at least the rows of one insert");
	e.interval[0].inserted = 0;
	ok(isnan(planned(&e)->insert_distance), "no inserts: no distance");
}

static void
test_kept(void)
{
	Evidence	e = known(0.7, 0.3);
	FitSplit	s = ff_fit_split(&e);

	ok(near(s.kept, 0, 1e-9) && near(s.kept_with_room, 0, 1e-9),
	   "all updates that stayed are HOT: an index blocks none");
	e.indexed_share = 0.3;
	s = ff_fit_split(&e);
	ok(near(s.kept, 0, 1e-9) && near(s.recoverable, 0.3, 1e-9),
	   "all updates that stayed are HOT: what statements set does not change");
	e = known(0.6, 0.2);
	s = ff_fit_split(&e);
	ok(near(s.kept, 0.25, 1e-9) && near(s.kept_with_room, 0.25, 1e-9),
	   "moved updates are blocked in the same share as those that stayed");
	e = known(0.68, 0.3);
	e.indexed_share = 0.1;
	s = ff_fit_split(&e);
	ok(near(s.kept, 0.1, 1e-9) && near(s.kept_with_room, 0.02, 1e-9),
	   "hardly any update stayed: the statements give the share blocked");
	e = known(0.9, 0.1);
	e.indexed_share = 0.3;
	s = ff_fit_split(&e);
	ok(near(s.kept, 0, 1e-9), "statements do not count if most of what they set is HOT");
	e = known(0.8, 0);
	s = ff_fit_split(&e);
	ok(s.moved == 0 && near(s.blocked, 0.2, 1e-9), "no update moved: all non-HOT ones were blocked");
	e.interval[0] = (EvInterval) {3600, 0, 40, 0, 20, 0, 0};
	e.indexed_share = 0.25;
	s = ff_fit_split(&e);
	ok(near(s.eligible, 0.75, 1e-9) && near(s.recoverable, 0.375, 1e-9),
	   "few updates stayed: the statements give the share that can be HOT");
	e.indexed_share = NAN;
	s = ff_fit_split(&e);
	ok(near(s.eligible, 1, 1e-9) && near(s.blocked, 0.5, 1e-9),
	   "few updates stayed, statements unknown: all can be HOT");
	e.interval[0] = (EvInterval) {3600, 0, 1, 1, 0, 0, 0};
	s = ff_fit_split(&e);
	ok(s.hot == 1 && s.moved == 0, "a single HOT update: all HOT, none moved");
	e = known(0.8, NAN);
	e.indexed_share = 0.5;
	s = ff_fit_split(&e);
	ok(isnan(s.moved) && near(s.hot, 0.8, 1e-9),
	   "moved not counted, more set an indexed column than non-HOT: unknown, set is not changed");
	e.interval[0].hot = 10000;
	s = ff_fit_split(&e);
	ok(s.moved == 0 && s.kept == 0, "moved not counted, all HOT: none moved");
	e = known(0.8, NAN);
	e.indexed_share = 1;
	s = ff_fit_split(&e);
	ok(isnan(s.moved) && isnan(s.eligible), "moved not counted, all set an indexed column: unknown");
	e.seen_same_page = e.seen_moved = 0;
	s = ff_fit_split(&e);
	ok(isnan(s.moved), "moved not counted, no old versions in the pages: unknown");
	e.seen_same_page = 0.4;
	e.seen_moved = 0.1;
	s = ff_fit_split(&e);
	ok(near(s.moved, 0.04, 1e-9), "moved not counted: old versions in the pages give the share");
	e = known(0.8, NAN);
	e.indexed_share = NAN;
	s = ff_fit_split(&e);
	ok(isnan(s.moved) && near(s.kept, 0.2, 1e-9) && near(s.kept_with_room, 0.2, 1e-9),
	   "moved not counted, nothing else known: all non-HOT updates count as blocked");
	/* PostgreSQL 15: of the updates that stayed, those that set no indexed column are HOT */
	e.indexed_share = 0.1;
	s = ff_fit_split(&e);
	ok(near(s.moved, 0.2 - 0.8 * 0.1 / 0.9, 1e-9) && near(s.eligible, 0.9, 1e-9),
	   "moved not counted: the statements give the share");
	e.seen_hot = 60;
	e.seen_same_page = 40;
	s = ff_fit_split(&e);
	ok(near(s.moved, 0.2 - 0.8 * 0.1 / 0.9, 1e-9),
	   "moved not counted: pages that show more blocked than the statements do not count");
	e.indexed_share = 0.9;
	e.seen_hot = 98;
	e.seen_same_page = 2;
	s = ff_fit_split(&e);
	ok(near(s.moved, 0.2 - 0.8 * 0.02 / 0.98, 1e-9),
	   "moved not counted: statements that show more blocked than the pages do not count");
	e.seen_hot = 0;
	e.seen_same_page = 40;
	e.seen_moved = 60;
	e.interval[0].hot = 0;
	s = ff_fit_split(&e);
	ok(near(s.moved, 0.6, 1e-9) && s.eligible == 0 && s.recoverable == 0 && near(s.blocked, 1, 1e-9),
	   "none can be HOT: the pages give the share that moved");
}

/* ---------- forecasts of known workloads ---------- */

/* The forecast if only these workloads explain a table. */
static void
foresee(Evidence *e, const TwinWorkload *a, const TwinWorkload *b, double weight)
{
	memset(&fit, 0, sizeof(fit));
	if (!ff_plan(e, &fit.plan))
		return;
	fit.n = b ? 2 : 1;
	fit.particle[0].workload = *a;
	fit.particle[0].weight = weight;
	if (b)
	{
		fit.particle[1].workload = *b;
		fit.particle[1].weight = 1 - weight;
	}
	ff_forecast(&work, e, &fit, &forecast);
}

/* The outcome of a full replay, per update. */
static FcOutcome
replayed(const Evidence *e, FcWay way, int step, double from, double upto)
{
	FcOutcome	o = {0};

	int			at = step == forecast.current ? (int) e->fillfactor : forecast.step[step].fillfactor;

	ff_fit_today(&twin, &fit.plan, &fit.particle[0]);
	if (way == FC_REWRITE)
		ff_twin_rewrite(&twin, at);
	else
		ff_twin_set_fillfactor(&twin, at);
	ff_twin_run(&twin, from * fit.plan.scale);
	ff_twin_count_from_here(&twin);
	ff_twin_run(&twin, (upto - from) * fit.plan.scale);
	o.hot = twin.count.hot / twin.count.updates;
	o.moved = twin.count.moved / twin.count.updates;
	o.prunes = twin.count.prunes / twin.count.updates;
	o.touched = twin.count.touched / twin.count.updates;
	o.moved_bytes = twin.count.update_bytes / twin.count.updates;
	o.pages = (double) twin.npages / (double) twin.nlive;
	return o;
}

static int
like(const FcOutcome *a, const FcOutcome *b, double by)
{
	return near(a->hot, b->hot, by) && near(a->moved, b->moved, by) && near(a->prunes, b->prunes, 5 * by) &&
		near(a->touched, b->touched, 2 * by) && near(a->moved_bytes, b->moved_bytes, 200 * by);
}

static void
test_steps(void)
{
	TwinWorkload	l = workload_of(136, 2000);
	TwinWorkload	starved = l;
	Evidence	e = known(0.9, 0.1);
	int			right = 1;

	e.fillfactor = 87;
	foresee(&e, &l, NULL, 1);
	for (int i = 0; i < forecast.n; i++)
	{
		int			at = forecast.step[i].fillfactor;

		right &= ff_twin_step_edge(at, 136) == at && forecast.step[i].rows_per_page == ff_twin_rows_per_page(at, 136) &&
			(i == 0 ? at == 100 : forecast.step[i].rows_per_page < forecast.step[i - 1].rows_per_page);
	}
	ok(right && forecast.n > 25 && forecast.step[forecast.n - 1].rows_per_page <= 6 &&
	   forecast.step[forecast.current].rows_per_page == ff_twin_rows_per_page(87, 136),
	   "steps are edges of rows per page, today's among them");
	e.payback_s = 7200;
	foresee(&e, &l, NULL, 1);
	ok(near(forecast.updates, 20000, 1e-6), "updates in the payback time are at today's rate");
	e.observed_s = 7200;
	e.payback_s = NAN;
	foresee(&e, &l, NULL, 1);
	ok(near(forecast.updates, 5000.0 * 24 * 30, 1e-3),
	   "today's rate includes idle time; the default payback time is 30 days");
	ok(near(forecast.weight[0], 1, 1e-9) && near(forecast.pages_now[0] * 2000, work.today.npages, 1e-9),
	   "one workload has weight 1 and the pages of its replay");
	/* each row is updated once after its insert, but none is inserted */
	starved.class[0].pick = TW_IN_TURN;
	foresee(&e, &starved, &l, 0.9);
	ok(forecast.weight[0] == 0 && near(forecast.weight[1], 1, 1e-9), "a workload that finds no rows to update is left out");
	foresee(&e, &starved, NULL, 1);
	ok(near(forecast.weight[0], 1, 1e-9), "unless there is no other");
	fit.plan.step_len = 0;
	ff_forecast(&work, &e, &fit, &forecast);
	ok(forecast.n == 0 && forecast.nworkloads == 0, "unknown length: no steps");
}

/* Old versions stay for some time, so each step has another HOT share. */
static TwinWorkload
delayed(double rows)
{
	TwinWorkload	l = workload_of(136, rows);

	l.lag = rows / 20;
	l.class[0].indexed = 0.1;
	return l;
}

static void
test_outcomes(void)
{
	TwinWorkload	l = delayed(2000);
	Evidence	e = known(0.6, 0.4);
	int			right[FC_WAYS] = {1, 1};
	int			window = 1;
	FcOutcome	real;

	e.fillfactor = 97;
	e.payback_s = 3600;
	foresee(&e, &l, NULL, 1);
	for (int way = 0; way < FC_WAYS; way++)
		for (int i = forecast.current; i < forecast.n; i += forecast.n - 1 - forecast.current)
		{
			const FcOutcome *o = &forecast.outcome[way][0][i];

			real = replayed(&e, way, i, 0, 10000);
			right[way] &= like(o, &real, 0.02) && near(o->pages, real.pages, 0.1 * real.pages) && real.hot > 0.1;
		}
	ok(right[FC_SET] && right[FC_REWRITE], "a short payback time is replayed to its end");
	e.payback_s = 36000;
	foresee(&e, &l, NULL, 1);
	for (int way = 0; way < FC_WAYS; way++)
		for (int i = forecast.current; i < forecast.n; i += forecast.n / 5)
		{
			const FcOutcome *o = &forecast.outcome[way][0][i];

			real = replayed(&e, way, i, 0, forecast.updates);
			right[way] &= like(o, &real, 0.03);
			real = way == FC_SET ? replayed(&e, way, i, 0, 10000) : replayed(&e, way, i, 5000, 10000);
			window &= near(o->window_hot, real.hot, 0.04);
			real = replayed(&e, way, i, 0.7 * forecast.updates, forecast.updates);
			window &= near(o->settled_hot, real.hot, 0.04);
		}
	ok(right[FC_SET], "the outcome of setting fillfactor is that of a full replay");
	ok(right[FC_REWRITE], "the outcome of a rewrite is that of a full replay");
	ok(window, "window and settled HOT shares are those of a full replay");
	right[0] = 1;
	for (int i = 0; i < FC_WAYS * forecast.n; i++)
	{
		const FcOutcome *o = &forecast.outcome[i % FC_WAYS][0][i / FC_WAYS];
		const FcMean *m = &forecast.step[i / FC_WAYS].mean[i % FC_WAYS];

		right[0] &= near(m->hot_pct, 100 * o->window_hot, 1e-6) && m->hot_low <= m->hot_pct &&
			m->hot_high >= m->hot_pct && near(m->settled_hot_pct, 100 * o->settled_hot, 1e-6) &&
			near(m->moved_pct * (1 - o->hot), (100 - m->hot_pct) * o->moved, 1e-6);
	}
	ok(right[0], "each way to a step has the outcome of its only workload");

	/* interpolated steps are near a full replay */
	right[0] = 1;
	for (int i = 1; i + 1 < forecast.n; i++)
	{
		const FcOutcome *o = &forecast.outcome[FC_REWRITE][0][i];

		real = replayed(&e, FC_REWRITE, i, 0, forecast.updates);
		right[0] &= near(o->hot, real.hot, 0.06) && o[-1].pages <= o->pages * 1.2 &&
			o[1].pages >= o->pages / 1.2;
	}
	ok(right[0], "steps that are interpolated are near a full replay");

	/* all rows are new: each page moves a row, then it settles */
	l = workload_of(136, 2000);
	e.fillfactor = 100;
	e.interval[0].updated = e.interval[0].hot = 20;
	e.updated_pct = 0;
	e.payback_s = 3600 * 2000;
	foresee(&e, &l, NULL, 1);
	real = replayed(&e, FC_SET, 0, 0, forecast.updates);
	ok(like(&forecast.outcome[FC_SET][0][0], &real, 0.01) && forecast.outcome[FC_SET][0][0].settled_hot > 0.99,
	   "a table that settles by itself does so in the forecast");
	ok(forecast.outcome[FC_SET][0][0].settle_updates >= 1000 && forecast.outcome[FC_SET][0][0].settle_updates <= 8000 &&
	   replayed(&e, FC_SET, 0, 0, 1000).hot < 0.97 && replayed(&e, FC_SET, 0, 8000, 9000).hot > 0.97,
	   "the forecast says after how many updates a table settles");
	ok(near(forecast.outcome[FC_SET][0][0].window_hot, replayed(&e, FC_SET, 0, 0, 1500).hot, 1e-9) &&
	   replayed(&e, FC_SET, 0, 1500, 3000).hot > forecast.outcome[FC_SET][0][0].window_hot + 0.01,
	   "a window that is shorter than a chunk has the HOT share of the first one");
	e.payback_s = 3600 * 200;
	foresee(&e, &l, NULL, 1);
	real = replayed(&e, FC_SET, 0, 0, 4000);
	ok(near(forecast.updates, 4000, 1e-6) && near(forecast.outcome[FC_SET][0][0].hot, real.hot, 1e-9) &&
		  real.hot < 0.99, "in a short payback time each update counts once");
}

/* A table of which a part is replayed: outcomes are the same. */
static void
test_part(void)
{
	TwinWorkload	l = delayed(2000);
	Evidence	e = known(0.6, 0.4);
	FcOutcome	small;
	double		settle;

	e.payback_s = 36000;
	foresee(&e, &l, NULL, 1);
	small = forecast.outcome[FC_REWRITE][0][0];
	settle = forecast.outcome[FC_SET][0][0].settle_updates;
	e.live_rows *= 1000;
	e.interval[0].updated *= 1000;
	e.interval[0].hot *= 1000;
	e.interval[0].newpage *= 1000;
	foresee(&e, &l, NULL, 1);
	ok(fit.plan.scale < 0.01 && like(&forecast.outcome[FC_REWRITE][0][0], &small, 0.03),
	   "a thousand times the rows and updates: the same outcome per update");
	ok(near(forecast.updates, 1e8, 1) && forecast.outcome[FC_SET][0][0].settle_updates >= 300 * settle,
	   "a thousand times the rows and updates: many more updates to settle");
}

static void
test_ranges(void)
{
	TwinWorkload	l = workload_of(136, 2000);
	TwinWorkload	indexed = l;
	Evidence	e = known(0.7, 0);
	FcMean	   *s = &forecast.step[0].mean[FC_SET];

	indexed.class[0].indexed = 1;
	foresee(&e, &l, &indexed, 0.75);
	ok(near(forecast.weight[0], 0.75, 1e-9) && near(forecast.weight[1], 0.25, 1e-9) && forecast.nworkloads == 2,
	   "the weights of two workloads sum to 1");
	ok(near(s->hot_pct, 75 * forecast.outcome[FC_SET][0][0].window_hot, 1e-6) && s->hot_pct > 70 && s->hot_low == 0 &&
	   s->hot_high > 98, "the HOT share is the mean of two workloads, its range covers both");
	ok(near(s->settled_hot_pct, 75 * forecast.outcome[FC_SET][0][0].settled_hot, 1e-6),
	   "the settled HOT share is the mean of two workloads");
	foresee(&e, &indexed, &l, 0.25);
	ok(s->hot_low == 0 && s->hot_high > 98 && near(s->hot_pct, 75 * forecast.outcome[FC_SET][1][0].window_hot, 1e-6),
	   "the order of workloads makes no difference");
	e.interval[0].hot = 9900;
	foresee(&e, &l, &indexed, 0.97);
	ok(s->hot_low > 90, "a workload with weight 0.03 is outside the range, below");
	foresee(&e, &l, &indexed, 0.94);
	ok(s->hot_low == 0, "a workload with weight 0.06 is in the range, below");
	foresee(&e, &l, &indexed, 0.03);
	ok(s->hot_high < 25, "a workload with weight 0.03 is outside the range, above");
	foresee(&e, &l, &indexed, 0.06);
	ok(s->hot_high > 95, "a workload with weight 0.06 is in the range, above");
	e.interval[0].hot = 7000;
	foresee(&e, &l, NULL, 1);
	ok(s->hot_low < s->hot_pct - 1 && s->hot_low > 80, "the range is wider if the HOT share seen is far away");
}

int
main(void)
{
	test_lengths();
	test_together();
	test_slots();
	test_contradicted();
	test_hidden();
	test_density();
	test_course();
	test_cold_rows();
	test_rows_updated();
	test_pages_updated();
	test_growth();
	test_kept();
	test_steps();
	test_outcomes();
	test_part();
	test_ranges();
	printf("1..%d\n", tests);
	return failed != 0;
}
