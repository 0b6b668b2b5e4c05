/*
 * plan_test.c
 *	  Facts about what is made of counters and samples before anything is drawn, and
 *	  about the forecast of a life that is known, as TAP.
 */
#include <stdlib.h>

#include "lives.h"

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
			.wal_records = NAN,.wal_bytes = NAN
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
	   "lengths by their share of the rows, aligned");
	ok(plan.resizes && plan.step_len == 104 && plan.page_rows == ff_twin_rows_per_page(100, 128),
	   "updated rows have lengths of their own; steps are those of the shorter rows");
	e.updated_length[0] = 64;
	ok(planned(&e)->resizes && plan.step_len == 64, "whichever these are");
	/* means of 100 and 98, of other lengths */
	e.inserted_length[0] = e.updated_length[0] = 96;
	e.inserted_length[2] = e.updated_length[2] = 104;
	e.inserted_length[1] = e.inserted_length[3] = e.updated_length[3] = 1;
	e.updated_length[1] = 3;
	planned(&e);
	ok(!plan.resizes && plan.update_len[40] == 104 && near(plan.update_mean, 100, 1e-9) &&
	   plan.insert_len[40] == 104, "less than half an alignment is no difference: those of most rows count");
	e.updated_pct = 51;
	planned(&e);
	ok(!plan.resizes && plan.insert_len[40] == 96 && near(plan.insert_mean, 98, 1e-9) &&
	   plan.update_len[40] == 96, "as most rows are updated: theirs");
	e.updated_length[1] = 0;
	ok(near(planned(&e)->update_mean, 100, 1e-9) && !plan.resizes, "none of a length that no row has");
	e.updated_length[0] = 104;
	e.updated_length[1] = 1;
	e.updated_length[2] = NAN;
	e.updated_length[3] = NAN;
	ok(near(planned(&e)->update_mean, 104, 1e-9) && plan.resizes, "half an alignment is a difference");
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
	ok(right, "sixteen lengths");
	e.updated_length[0] = 96;
	e.updated_length[2] = 104;
	e.updated_length[1] = 3;
	e.updated_length[3] = 1;
	e.updated_length[5] = NAN;
	e.inserted_length[0] = NAN;
	e.inserted_length[1] = NAN;
	e.updated_pct = 1;
	planned(&e);
	ok(!plan.resizes && plan.insert_len[40] == 96 && near(plan.insert_mean, 98, 1e-9), "only those are known");
	e.updated_length[1] = NAN;
	ok(planned(&e)->nslots < 0, "none is known: no plan");
	e.inserted_length[0] = 1;
	e.inserted_length[1] = 1;
	ok(planned(&e)->insert_len[0] == TW_MIN_LEN && plan.update_len[0] == TW_MIN_LEN, "the least there is");
	e.inserted_length[0] = 1e6;
	e.inserted_length[3] = NAN;
	ok(planned(&e)->insert_len[63] == TW_MAX_LEN, "and the most");
	e = known(1, 0);
	e.live_rows = 0.5;
	right = planned(&e)->nslots < 0;
	e = known(1, 0);
	e.interval[0].updated = 0;
	ok(right && planned(&e)->nslots < 0, "no row, or no update: no plan");
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
	ok(right, "rows updated together on a page lie in their bin");
	e.group_old_page[EV_GROUP_BINS - 2] = 0;
	e.group_old_page[0] = e.group_old_page[1] = 1;
	ok(near(planned(&e)->together, sqrt(2), 1e-9), "of several bins the geometric mean");
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
	   "a class for each statement with more than a few rows");
	for (left = 2; left < 4; left++)
		rate += plan.slot[left].shared && isnan(plan.slot[left].rows) ? plan.slot[left].rate : NAN;
	ok(near(rate, (10000 - 9019) / 10000.0, 1e-9) && near(plan.slot[2].rate, plan.slot[3].rate, 1e-9),
	   "two for those of no statement");
	ok(near(plan.slot[2].indexed, (plan.split.blocked - 0.3) / rate, 1e-9) && plan.slot[2].indexed > 0.1 &&
	   near(plan.slot[3].indexed, plan.slot[2].indexed, 1e-9), "of these as many set an indexed column as are left");
	ok(plan.slot[4].command == EV_INSERT && near(plan.slot[4].rate, 0.01, 1e-9) && plan.slot[4].rows == 5,
	   "one for inserts, none for hardly any deletes");
	e.interval[0].deleted = 6;
	ok(planned(&e)->nslots == 6 && plan.slot[5].command == EV_DELETE && near(plan.slot[5].rate, 6e-4, 1e-9) &&
	   isnan(plan.slot[5].rows), "one for deletes");
	e.statement[0].rows = 12000;
	e.statement[2].rows = 7981;
	planned(&e);
	ok(plan.nslots == 4 && near(plan.slot[0].rate, 0.6, 1e-9) && near(plan.slot[1].rate, 0.39905, 1e-9) &&
	   !plan.slot[1].shared, "statements of all partitions: this one's share");
	e.statement[0].calls = 2;
	ok(planned(&e)->slot[0].rows == 2000, "no more rows a call than there are");
	e = known(0.9, 0.1);
	for (int i = 0; i < EV_STATEMENTS; i++)
		add(&e, EV_UPDATE, 1000, 1000, 0);
	e.interval[0].inserted = e.interval[0].deleted = 10000;
	planned(&e);
	ok(plan.nslots == TW_CLASSES && plan.slot[TW_CLASSES - 1].command == EV_DELETE &&
	   plan.slot[TW_CLASSES - 2].command == EV_INSERT, "as many classes as there can be, of each command some");
	e = known(0.9, 0.1);
	add(&e, EV_UPDATE, 9801, 9801, 0);
	ok(planned(&e)->nslots == 1, "hardly any are left: no class for them");
	add(&e, EV_UPDATE, 199, 199, NAN);
	ok(planned(&e)->nslots == 2 && near(plan.slot[1].indexed, bound(plan.split.blocked / 0.0199, 0, 1), 1e-6),
	   "a statement of which nobody knows sets as many as are left");
}

static void
test_records(void)
{
	Evidence	e = known(0.8, 0.1);
	EvStatement *s = add(&e, EV_UPDATE, 10000, 10000, 0);

	/* of each update its own, two entries of those not HOT, one lock of those that moved */
	s->wal_records = 10000 + 2 * 2000 + 1000 + 2500;
	ok(near(planned(&e)->prunes, 0.25, 1e-9), "WAL records tell how many pages are pruned");
	s->rows = 8900;
	s->wal_records *= 0.89;
	ok(isnan(planned(&e)->prunes), "where they are of nearly all updates");
	s->wal_records = NAN;
	ok(isnan(planned(&e)->prunes), "and known");
}

static void
test_density(void)
{
	Evidence	e = known(0.9, 0.1);

	e.fillfactor = 70;
	e.rows_per_page_max = ff_twin_rows_per_page(70, 136);
	ok(planned(&e)->filled_at == 70 && plan.fillfactor == 70, "pages as full as inserts leave them");
	e.rows_per_page_max = ff_twin_rows_per_page(84, 136);
	ok(planned(&e)->filled_at == ff_twin_step_edge(84, 136), "fuller ones were filled at another fillfactor");
	e.rows_per_page_max = 1000;
	ok(planned(&e)->filled_at == 100, "at 100, if need be");
	e.filled_at = 90;
	ok(planned(&e)->filled_at == 90, "which may be known");
	e.filled_at = 9;
	e.rows_per_page_max = NAN;
	ok(planned(&e)->filled_at == 70, "or makes no sense");
	e.fillfactor = NAN;
	ok(planned(&e)->fillfactor == 100 && plan.filled_at == 100, "100 is the default");
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

	e.nintervals = 6;
	for (int i = 0; i < 6; i++)
		e.interval[i] = (EvInterval) {600.0 * (i + 1), 0, 500, hot[i / 2] / 2, 0, 0, 0};
	planned(&e);
	for (int i = 0; i < FIT_SEGMENTS; i++)
		right &= near(plan.segment_hot[i], hot[2 - i] / 1000, 1e-9) && near(plan.segment_updates[i], 1000, 1e-9) &&
			near(plan.segment[i], 1000 * plan.scale, 1e-6);
	ok(right && plan.scale == 1 && plan.rows == 2000 && plan.before == 0,
	   "a short window is replayed as it was, in thirds, the oldest first");
	ok(near(plan.peak, 500 / 600.0, 1e-9), "the most updates a second");
	e.earlier_updated = 4000;
	planned(&e);
	ok(near(plan.before / plan.rows, 2, 1e-9) && near(ticks() / plan.rows, 1.5, 1e-9), "after what came before it");
	e.earlier_updated = 1e9;
	planned(&e);
	ok(plan.before > 2 * plan.rows && plan.before + ticks() <= 12 * plan.rows &&
	   near(ticks() / plan.rows, 1.5, 1e-9), "as far as that still matters");
	e.live_rows = 2e6;
	e.earlier_updated = 0;
	planned(&e);
	ok(plan.scale < 0.1 && near(plan.scale, plan.rows / 2e6, 1e-9) && near(ticks() / plan.rows, 3000 / 2e6, 1e-9) &&
	   plan.rows <= 160 * 58 && plan.rows >= 300, "of a large table a part, by as many updates a row");
	e.live_rows = 100;
	planned(&e);
	ok(plan.rows == 100 && plan.scale == 1 && ticks() + plan.before <= 12 * 100 + 1e-6 && plan.segment[0] == 0 &&
	   isnan(plan.segment_hot[0]) && !isnan(plan.segment_hot[FIT_SEGMENTS - 1]) && ticks() > 0,
	   "of a long window the later part counts");
	ok(near((plan.before + ticks()) / 100, 12, 1e-6), "the rest comes before it");
	e = known(0.9, 0.1);
	e.live_rows = 200000;
	e.earlier_updated = 1e9;
	part = planned(&e)->rows;
	add(&e, EV_UPDATE, 9000, 6, 0);
	ok(part < 2500 && near(planned(&e)->rows, 3000, 1e-6), "as many rows as two of its statements take");
	/* set while it was in use */
	e = known(0.9, 0.1);
	e.live_rows = 10000;
	e.fillfactor = 70;
	e.filled_at = 100;
	e.earlier_updated = 10000;
	planned(&e);
	ok(near(plan.before_set, plan.before, 1e-9) && plan.before > 0, "set at the begin of the window, where nothing tells when");
	e.updated_since = 15000;
	ok(near(planned(&e)->before_set / plan.before, 0.5, 1e-9), "set halfway");
	e.filled_at = NAN;
	ok(planned(&e)->before_set == 0, "never set");
}

static void
test_growth(void)
{
	Evidence	e = known(0.9, 0.1);
	double		distance;

	e.earlier_updated = 1e-9;
	ok(planned(&e)->start_rows == plan.rows && plan.mean_live == 2000, "a table that does not grow begins as it is");
	e.interval[0].updated = 2000;
	e.interval[0].hot = 1800;
	e.interval[0].newpage = 200;
	e.interval[0].inserted = 900;
	e.interval[0].deleted = 100;
	planned(&e);
	ok(near(plan.start_rows + 0.4 * (plan.before + ticks()), plan.rows, 1e-6) && plan.mean_live == 1600,
	   "one that grows with as many less as come, and has half of these on average");
	e.interval[0].deleted = 1700;
	ok(planned(&e)->start_rows == plan.rows && plan.mean_live == 2400, "one that shrinks had more");
	e.interval[0].inserted = 1e5;
	e.interval[0].deleted = 0;
	ok(planned(&e)->start_rows == 0 && plan.mean_live == 1000, "none, where all came in the window");

	e.interval[0].inserted = 500;
	for (int i = 0; i < EV_LOG2_BINS; i++)
		e.update_distance[i] = i == 6;
	e.window_xids = 4000;
	e.live_rows = 1e5;
	distance = planned(&e)->insert_distance;
	ok(near(plan.xids_per_tick, 2, 1e-9) && distance >= 90 * 500 / 4000.0 && distance <= 2 * 128 * 500 / 4000.0,
	   "rows updated so many transactions after their insert are so many rows back");
	e.window_xids = 8000;
	ok(near(planned(&e)->insert_distance, distance / 2, 1e-9), "fewer, where more transactions come in the same time");
	e.window_xids = 4000;
	e.interval[0].inserted = 1000;
	ok(near(planned(&e)->insert_distance, 2 * distance, 1e-9), "more, where more rows do");
	add(&e, EV_INSERT, 1000, 10, NAN);
	ok(near(planned(&e)->insert_distance, 100, 1e-9), "at least those that came with them");
	e.interval[0].inserted = 0;
	ok(isnan(planned(&e)->insert_distance), "no insert, no distance");
}

static void
test_kept(void)
{
	Evidence	e = known(0.7, 0.3);
	FitSplit	s = ff_fit_split(&e);

	ok(near(s.kept, 0, 1e-9) && near(s.kept_with_room, 0, 1e-9), "all that stayed are HOT: an index keeps none");
	e.indexed_share = 0.3;
	s = ff_fit_split(&e);
	ok(near(s.kept, 0.3, 1e-9) && near(s.kept_with_room, 0, 1e-9), "but statements say that all that left would not have been");
	e = known(0.6, 0.2);
	s = ff_fit_split(&e);
	ok(near(s.kept, 0.25, 1e-9) && near(s.kept_with_room, 0.25, 1e-9), "those that stayed tell of those that left");
	e = known(0.68, 0.3);
	e.indexed_share = 0.1;
	s = ff_fit_split(&e);
	ok(near(s.kept, 0.1, 1e-9) && near(s.kept_with_room, 0.02, 1e-9), "where hardly any stayed, the statements do");
	e = known(0.9, 0.1);
	e.indexed_share = 0.3;
	s = ff_fit_split(&e);
	ok(near(s.kept, 0, 1e-9), "unless most of what sets an indexed column is HOT");
	e = known(0.8, 0);
	s = ff_fit_split(&e);
	ok(s.moved == 0 && near(s.blocked, 0.2, 1e-9), "none left");
	e.interval[0] = (EvInterval) {3600, 0, 40, 0, 20, 0, 0};
	e.indexed_share = 0.25;
	s = ff_fit_split(&e);
	ok(near(s.eligible, 0.75, 1e-9) && near(s.recoverable, 0.375, 1e-9), "few stayed: the statements tell which could be");
	e.indexed_share = NAN;
	s = ff_fit_split(&e);
	ok(near(s.eligible, 1, 1e-9) && near(s.blocked, 0.5, 1e-9), "or nothing does");
	e.interval[0] = (EvInterval) {3600, 0, 1, 1, 0, 0, 0};
	s = ff_fit_split(&e);
	ok(s.hot == 1 && s.moved == 0, "a single update");
	e = known(0.8, NAN);
	e.indexed_share = 0.5;
	s = ff_fit_split(&e);
	ok(s.moved == 0 && near(s.hot, 0.8, 1e-9), "more set an indexed column than were not HOT: none left");
	e.interval[0].hot = 10000;
	s = ff_fit_split(&e);
	ok(s.moved == 0 && s.kept == 0, "all HOT: none left either");
	e = known(0.8, NAN);
	e.indexed_share = 1;
	s = ff_fit_split(&e);
	ok(isnan(s.moved) && isnan(s.eligible), "all set one: nobody knows");
	e.seen_same_page = e.seen_moved = 0;
	s = ff_fit_split(&e);
	ok(isnan(s.moved), "pages that show none do not tell either");
	e.seen_same_page = 0.4;
	e.seen_moved = 0.1;
	s = ff_fit_split(&e);
	ok(near(s.moved, 0.04, 1e-9), "others do, by their ratio");
	e = known(0.8, NAN);
	e.indexed_share = NAN;
	s = ff_fit_split(&e);
	ok(isnan(s.moved) && near(s.kept, 0.2, 1e-9) && near(s.kept_with_room, 0.2, 1e-9), "where nothing tells, all");
	/* PostgreSQL 15: of 100 that stayed as many are HOT as statements leave */
	e.indexed_share = 0.1;
	s = ff_fit_split(&e);
	ok(near(s.moved, 0.2 - 0.8 * 0.1 / 0.9, 1e-9) && near(s.eligible, 0.9, 1e-9), "statements tell how many left");
	e.seen_hot = 60;
	e.seen_same_page = 40;
	s = ff_fit_split(&e);
	ok(near(s.moved, 0.2 - 0.8 * 0.1 / 0.9, 1e-9), "pages that show more than they set do not count");
	e.indexed_share = 0.9;
	e.seen_hot = 98;
	e.seen_same_page = 2;
	s = ff_fit_split(&e);
	ok(near(s.moved, 0.2 - 0.8 * 0.02 / 0.98, 1e-9), "statements that pages do not confirm do not either");
	e.seen_hot = 0;
	e.seen_same_page = 40;
	e.seen_moved = 60;
	e.interval[0].hot = 0;
	s = ff_fit_split(&e);
	ok(near(s.moved, 0.6, 1e-9) && s.eligible == 0 && s.recoverable == 0 && near(s.blocked, 1, 1e-9),
	   "none can be HOT: the pages tell how many left");
}

/* ---------- forecasts of lives that are known ---------- */

/* The forecast where a table is explained by these lives alone. */
static void
foresee(Evidence *e, const TwinLife *a, const TwinLife *b, double weight)
{
	memset(&fit, 0, sizeof(fit));
	if (!ff_plan(e, &fit.plan))
		return;
	fit.n = b ? 2 : 1;
	fit.particle[0].life = *a;
	fit.particle[0].weight = weight;
	if (b)
	{
		fit.particle[1].life = *b;
		fit.particle[1].weight = 1 - weight;
	}
	ff_forecast(&work, e, &fit, &forecast);
}

/* What really comes of it: per update. */
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
	TwinLife	l = life_of(136, 2000);
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
	ok(right && forecast.n == ff_twin_rows_per_page(100, 136) - ff_twin_rows_per_page(10, 136) + 1 &&
	   forecast.step[forecast.current].rows_per_page == ff_twin_rows_per_page(87, 136), "each number of rows is a step");
	e.payback_s = 7200;
	foresee(&e, &l, NULL, 1);
	ok(near(forecast.updates, 20000, 1e-6), "updates of the time to pay back, at today's rate");
	e.observed_s = 7200;
	e.payback_s = NAN;
	foresee(&e, &l, NULL, 1);
	ok(near(forecast.updates, 5000.0 * 24 * 30, 1e-3), "which counts the time without; thirty days, if not said");
	ok(near(forecast.weight[0], 1, 1e-9) && near(forecast.pages_now[0] * 2000, work.today.npages, 1e-9), "one life, and its pages");
	fit.plan.step_len = 0;
	ff_forecast(&work, &e, &fit, &forecast);
	ok(forecast.n == 0 && forecast.nlives == 0, "no length, no steps");
}

/* Old versions stay for a time: each step has another HOT share. */
static TwinLife
delayed(double rows)
{
	TwinLife	l = life_of(136, rows);

	l.lag = rows / 20;
	l.class[0].indexed = 0.1;
	return l;
}

static void
test_outcomes(void)
{
	TwinLife	l = delayed(2000);
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
	ok(right[FC_SET] && right[FC_REWRITE], "a short time is replayed to its end");
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
	ok(right[FC_SET], "what comes of a fillfactor that is set");
	ok(right[FC_REWRITE], "and of a table that is rewritten");
	ok(window, "in a window, of a rewritten table in its later half, and at last");
	right[0] = 1;
	for (int i = 0; i < forecast.n; i++)
	{
		const FcOutcome *o = &forecast.outcome[i == forecast.current ? FC_SET : FC_REWRITE][0][i];

		right[0] &= near(forecast.step[i].hot_pct, 100 * o->window_hot, 1e-6) &&
			forecast.step[i].hot_low <= forecast.step[i].hot_pct &&
			forecast.step[i].hot_high >= forecast.step[i].hot_pct &&
			near(forecast.step[i].settled_hot_pct, 100 * o->settled_hot, 1e-6) &&
			near(forecast.step[i].moved_pct * (1 - o->hot), (100 - forecast.step[i].hot_pct) * o->moved, 1e-6);
	}
	ok(right[0] && near(forecast.rewritten_hot_pct, 100 * forecast.outcome[FC_REWRITE][0][forecast.current].window_hot, 1e-6),
	   "a step says what its life has");

	/* lines between steps that were replayed stay near what would have come */
	right[0] = 1;
	for (int i = 1; i + 1 < forecast.n; i++)
	{
		const FcOutcome *o = &forecast.outcome[FC_REWRITE][0][i];

		real = replayed(&e, FC_REWRITE, i, 0, forecast.updates);
		right[0] &= near(o->hot, real.hot, 0.06) && o[-1].pages <= o->pages * 1.2 &&
			o[1].pages >= o->pages / 1.2;
	}
	ok(right[0], "between two steps it is like at both");

	/* all rows are new: each page sheds a row, then it settles */
	l = life_of(136, 2000);
	e.fillfactor = 100;
	e.interval[0].updated = e.interval[0].hot = 20;
	e.payback_s = 3600 * 2000;
	foresee(&e, &l, NULL, 1);
	real = replayed(&e, FC_SET, 0, 0, forecast.updates);
	ok(like(&forecast.outcome[FC_SET][0][0], &real, 0.01) && forecast.outcome[FC_SET][0][0].settled_hot > 0.99,
	   "a table that settles does so in the forecast");
	ok(forecast.outcome[FC_SET][0][0].settle_updates >= 1000 && forecast.outcome[FC_SET][0][0].settle_updates <= 8000 &&
	   replayed(&e, FC_SET, 0, 0, 1000).hot < 0.97 && replayed(&e, FC_SET, 0, 8000, 9000).hot > 0.97, "after some updates of each row");
	e.payback_s = 3600 * 200;
	foresee(&e, &l, NULL, 1);
	real = replayed(&e, FC_SET, 0, 0, 4000);
	ok(near(forecast.updates, 4000, 1e-6) && near(forecast.outcome[FC_SET][0][0].hot, real.hot, 1e-9) && real.hot < 0.99,
	   "each update of a short time counts once");
}

/* A table of which a part is replayed: outcomes are the same. */
static void
test_part(void)
{
	TwinLife	l = delayed(2000);
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
	   "a thousand times as many rows and updates: the same a row");
	ok(near(forecast.updates, 1e8, 1) && forecast.outcome[FC_SET][0][0].settle_updates >= 300 * settle,
	   "and a thousand times as many updates until it has settled");
}

static void
test_ranges(void)
{
	TwinLife	l = life_of(136, 2000);
	TwinLife	indexed = l;
	Evidence	e = known(0.7, 0);
	FcStep	   *s = &forecast.step[0];

	indexed.class[0].indexed = 1;
	foresee(&e, &l, &indexed, 0.75);
	ok(near(forecast.weight[0], 0.75, 1e-9) && near(forecast.weight[1], 0.25, 1e-9) && forecast.nlives == 2, "weights sum to 1");
	ok(near(s->hot_pct, 75 * forecast.outcome[FC_SET][0][0].window_hot, 1e-6) && s->hot_pct > 70 && s->hot_low == 0 &&
	   s->hot_high > 98, "the mean of the lives, and the range of both");
	ok(near(s->settled_hot_pct, 75 * forecast.outcome[FC_SET][0][0].settled_hot, 1e-6), "at last, too");
	foresee(&e, &indexed, &l, 0.25);
	ok(s->hot_low == 0 && s->hot_high > 98 && near(s->hot_pct, 75 * forecast.outcome[FC_SET][1][0].window_hot, 1e-6),
	   "in any order");
	e.interval[0].hot = 9900;
	foresee(&e, &l, &indexed, 0.97);
	ok(s->hot_low > 90, "without what hardly counts");
	foresee(&e, &l, &indexed, 0.94);
	ok(s->hot_low == 0, "but with what counts a little");
	foresee(&e, &l, &indexed, 0.03);
	ok(s->hot_high < 25, "at the other end, too");
	foresee(&e, &l, &indexed, 0.06);
	ok(s->hot_high > 95, "and with what counts a little");
	e.interval[0].hot = 7000;
	foresee(&e, &l, NULL, 1);
	ok(s->hot_low < s->hot_pct - 1 && s->hot_low > 80, "far from what was seen it may err more");
}

int
main(void)
{
	test_lengths();
	test_together();
	test_slots();
	test_records();
	test_density();
	test_course();
	test_growth();
	test_kept();
	test_steps();
	test_outcomes();
	test_part();
	test_ranges();
	printf("1..%d\n", tests);
	return failed != 0;
}
