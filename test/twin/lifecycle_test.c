/*
 * lifecycle_test.c
 *	  The fit, the curve and the choice without a server, printed as TAP: a
 *	  table made by the twin itself must be recognised, and no evidence, however
 *	  senseless, may lead to anything but an answer in range.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/choice.h"

static int	tests = 0;
static int	failed = 0;
static HeapTwin twin;
static Lifecycle life;
static Curve curve;
static Choice choice;
static TwinResult replayed;		/* by seen_of() */

static void
ok(int pass, const char *what)
{
	printf("%sok %d - %s\n", pass ? "" : "not ", ++tests, what);
	failed += !pass;
}

static Observed
nothing(void)
{
	Observed	o;
	double	   *d = (double *) &o;
	size_t		i;

	for (i = 0; i < sizeof(o) / sizeof(double); i++)
		d[i] = NAN;
	o.inserted = o.updated = o.hot_updated = o.deleted = 0;
	o.fillfactor = 100;
	return o;
}

static CostInput
costs(void)
{
	CostInput	in = {.indexes = 2, .index_bytes = 1e7, .heap_bytes = 5e7,
		.ram_bytes = 1e10, .checkpoint_s = 300, .read_us = 100, .window_s = 600,
		.horizon_s = 30 * 86400.0, .time_weight = 0.5, .wal_weight = 0.3,
	.size_weight = 0.2, .min_gain = 0.02, .update_call_rows = NAN,
	.update_wal_bytes = NAN, .insert_call_rows = NAN};

	return in;
}

/* What would be seen of a table that lives by "t" at "fillfactor". */
static Observed
seen_of(const TwinLifecycle *t, int fillfactor)
{
	TwinResult	r;
	Observed	o = nothing();

	twin_run(&twin, t, fillfactor, 4711, &r);
	replayed = r;
	o.fillfactor = fillfactor;
	o.window_s = 600;
	o.updated = r.updates;
	o.total_updated = t->warmup + t->measure;
	o.hot_updated = r.hot;
	o.newpage_updated = r.moved;
	o.inserted = r.inserts;
	o.deleted = r.deletes;
	o.total_inserted = t->start_rows + r.inserts * (1 + t->warmup / t->measure);
	o.live_rows = r.rows;
	o.blocks = r.pages;
	o.rows_per_page = r.rows / r.pages;
	o.rows_per_page_max = twin_rows_per_page(t->start_fillfactor > 0 ? t->start_fillfactor : fillfactor, (int) t->insert_len);
	o.inserted_width = t->insert_len;
	o.updated_width = t->update_len;
	o.inserted_width_err = o.updated_width_err = 0;
	o.updated_pct = 100 * r.updated_rows / r.judged_rows;
	o.update_group_rows = t->update_rows;
	o.insert_group_rows = t->insert_rows;
	o.update_call_rows = t->update_rows;
	o.insert_call_rows = t->insert_rows;
	o.vacuums = r.vacuums;
	if (t->fresh_share > 0)
	{
		double		xids = 1 / t->insert_rows + 1 / (t->inserts_per_update * t->update_rows);

		o.update_distance_p10 = 0.2 * t->fresh_distance * xids;
		o.update_distance_p50 = 0.66 * t->fresh_distance * xids;
		o.update_distance_p90 = 0.95 * t->fresh_distance * xids;
	}
	return o;
}

/* The same with the WAL records of its updates, which have two indexes to write. */
static Observed
recorded_of(const TwinLifecycle *t, int fillfactor)
{
	Observed	o = seen_of(t, fillfactor);

	o.indexes = 2;
	o.pages_read = 0;
	o.update_records = 1 + ((replayed.updates - replayed.hot) * o.indexes + replayed.moved + replayed.update_prunes) / replayed.updates;
	return o;
}

/* Largest difference of the predicted from the replayed HOT share, points. */
static double
worst_prediction(const TwinLifecycle *t, int fillfactor)
{
	Observed	o = seen_of(t, fillfactor);
	TwinLifecycle rewritten = *t;
	double		worst = 0;
	int			i;

	rewritten.start_fillfactor = 0;
	lifecycle_fit(&twin, &o, &life);
	lifecycle_curve(&twin, &o, &life, &curve);
	for (i = 0; i < curve.n; i++)
	{
		TwinResult	r;
		double		off;

		if (curve.step[i].fillfactor < 40)
			break;
		twin_run(&twin, &rewritten, curve.step[i].fillfactor, 815, &r);
		off = fabs(curve.step[i].hot_pct - 100 * r.hot / r.updates);
		if (off > worst)
			worst = off;
	}
	return worst;
}

/* Weight of the lifecycles in which versions stay after their transaction. */
static double
staying(const Lifecycle *l)
{
	double		sum = 0;
	int			k;

	for (k = 0; k < l->n; k++)
		if (l->member[k].life.lag > 0 || l->member[k].life.held > 0)
			sum += l->member[k].weight;
	return sum;
}

/* The step of the curve at a fillfactor, of a fit to "o". */
static int
fitted_step(const Observed *o, int fillfactor)
{
	int			i;

	lifecycle_fit(&twin, o, &life);
	lifecycle_curve(&twin, o, &life, &curve);
	for (i = 0; curve.step[i].fillfactor > fillfactor;)
		i++;
	return i;
}

static double
hot_at(const Observed *o, int fillfactor)
{
	return curve.step[fitted_step(o, fillfactor)].hot_pct;
}

/* Pages pruned per update that a fit to "o" expects at a fillfactor. */
static double
prunes_at(const Observed *o, int fillfactor)
{
	double		sum = 0;
	int			i = fitted_step(o, fillfactor);
	int			k;

	for (k = 0; k < life.n; k++)
		sum += life.member[k].weight * curve.step[i].window[k].prunes;
	return sum;
}

#define RND(max) ((double) rand() / RAND_MAX * (max))

static double
any_number(void)
{
	switch (rand() % 9)
	{
		case 0:
			return NAN;
		case 1:
			return -RND(100);
		case 2:
			return RND(1e15);
		case 3:
			return 0;
		case 4:
			return 1e300;
		case 5:
			return RND(1);
		default:
			return RND(5000);
	}
}

int
main(void)
{
	double		worst;
	double		alone;
	double		known;
	double		unknown;
	TwinResult	r;
	TwinLifecycle t;
	Observed	o;
	CostInput	in = costs();
	int			bad;
	int			i,
				k;
	TwinLifecycle base = {.insert_len = 128, .update_len = 128, .grow_updates = 1,
		.insert_rows = 1, .update_rows = 1, .hot_eligible = 1,
		.fresh_distance = 1, .delete_oldest = 1, .vacuum_share = 0.2,
	.vacuum_gap = 1, .streams = 1, .start_rows = 6000, .warmup = 20000, .measure = 12000};

	t = base;
	ok(worst_prediction(&t, 100) < 3, "uniform updates seen at 100");
	ok(worst_prediction(&t, 70) < 3, "uniform updates seen at 70");
	t = base;
	t.start_rows = 0;
	t.inserts_per_update = 0.33;
	t.fresh_share = 1;
	t.fresh_distance = 300;
	ok(worst_prediction(&t, 100) < 5, "updates soon after the insert seen at 100");
	t.insert_rows = t.update_rows = t.fresh_distance = 200;
	t.inserts_per_update = 0.5;
	o = seen_of(&t, 100);
	lifecycle_fit(&twin, &o, &life);
	lifecycle_curve(&twin, &o, &life, &curve);
	choose(&o, &life, &curve, &in, &choice);
	k = curve.step[choice.advised].fillfactor;
	ok(k >= 30 && k <= 52, "batches get room for their new versions");
	/* a fit that is wrong about which rows are picked */
	o.inserted = o.updated;
	o.updated_pct = 98;
	life.fresh_share = 0;
	choose(&o, &life, &curve, &in, &choice);
	ok(!choice.needs_rewrite, "each batch inserted is updated: no rewrite, whatever the fit says");
	o.updated_pct = 60;
	choose(&o, &life, &curve, &in, &choice);
	ok(choice.needs_rewrite, "many rows never updated: updates may fall anywhere");
	o.updated_pct = 98;
	o.inserted = 0.1 * o.updated;
	choose(&o, &life, &curve, &in, &choice);
	ok(choice.needs_rewrite, "few inserts: most updates are of old rows");
	o.inserted = o.updated = 0.01 * o.live_rows;
	choose(&o, &life, &curve, &in, &choice);
	ok(choice.needs_rewrite, "few updates: the marks may be of long ago");
	/* a lower fillfactor that was set without a rewrite */
	t = base;
	t.update_rows = 20;
	t.warmup = 0;
	t.measure = 6000;
	t.start_fillfactor = 100;
	worst = worst_prediction(&t, 70);
	printf("# HOT %.1f seen, off %.1f at worst\n", life.hot_pct, worst);
	ok(life.filled_at == 100 && life.hot_pct < 70 && worst < 6, "pages filled before it was lowered, and what a rewrite would bring");
	t.start_fillfactor = 0;
	ok(worst_prediction(&t, 70) < 6 && life.filled_at == 0, "pages filled as the fillfactor says");
	/* versions that stay because of others, who are there or not */
	t = base;
	t.start_rows = 0;
	t.insert_rows = t.update_rows = t.fresh_distance = 200;
	t.inserts_per_update = 0.5;
	t.fresh_share = t.in_turn = 1;
	o = seen_of(&t, 100);
	o.sessions = 0.5;
	lifecycle_fit(&twin, &o, &life);
	alone = staying(&life);
	o.sessions = 2;
	lifecycle_fit(&twin, &o, &life);
	printf("# weight of versions that stay: %.2f alone, %.2f in company\n", alone, staying(&life));
	ok(staying(&life) > alone + 0.1, "several sessions at work make it likelier that versions stay");
	/* rows of another session that had to be waited for, or not, by who updates all of them */
	t = base;
	t.update_rows = t.start_rows;
	t.warmup = t.measure = 10 * t.start_rows;
	o = recorded_of(&t, 100);
	lifecycle_fit(&twin, &o, &life);
	alone = staying(&life);
	o.update_records += 0.5;
	lifecycle_fit(&twin, &o, &life);
	printf("# weight of versions that stay: %.2f where nobody waited, %.2f where half of them did\n", alone, staying(&life));
	ok(alone < 0.4 && staying(&life) > 0.9, "rows locked before they are updated: another session was there");
	/* 1,500 rows a statement, three of them on a page: the twin's page sees three */
	t = base;
	t.update_rows = 3;
	o = seen_of(&t, 100);
	o.update_call_rows = 1500;
	lifecycle_fit(&twin, &o, &life);
	printf("# HOT %.1f seen, %.1f in the replay of %.0f rows together\n", life.hot_pct, life.member[0].hot_pct, life.member[0].life.update_rows);
	ok(life.member[0].life.update_rows == 3 && fabs(life.member[0].hot_pct - life.hot_pct) < 3, "rows of a large statement that are no neighbours");
	/* each row by itself, of a load of thousands */
	t = base;
	t.start_rows = 0;
	t.inserts_per_update = 0.5;
	t.fresh_share = 1;
	t.fresh_distance = 1500;
	o = seen_of(&t, 50);
	o.insert_call_rows = 3000;
	o.updated_pct = 86;
	lifecycle_fit(&twin, &o, &life);
	for (i = bad = 0; i < life.n; i++)
		bad += life.member[i].life.update_rows > 1;
	ok(life.n > 0 && bad == 0, "rows inserted together are not updated together if their pages show otherwise");
	/* old versions in the pages are of the last updates, which set no indexed column */
	t = base;
	t.hot_eligible = 0.8;
	o = seen_of(&t, 70);
	o.newpage_updated = NAN;
	o.seen_hot = 1600;
	o.seen_same_page = 8;
	o.seen_moved = 0;
	o.indexed_share = 0.3;
	known = hot_at(&o, 50);
	o.indexed_share = 0.1;
	alone = hot_at(&o, 50);
	o.indexed_share = NAN;
	unknown = hot_at(&o, 50);
	printf("# HOT at 50: %.1f, %.1f where indexed columns are set too seldom to explain it, %.1f where nobody knows\n", known, alone, unknown);
	ok(unknown > known + 5, "not where statements are unknown");
	ok(known < 85 && alone > known + 5, "an index that kept a part from being HOT, whatever pages show");
	/* a few old versions of such updates, and none that moved */
	o.indexed_share = 0.3;
	o.seen_same_page = 20;
	lifecycle_fit(&twin, &o, &life);
	ok(fabs(life.hot_eligible - 0.8) < 0.02, "old versions of blocked updates, and none of those that moved: an index");
	o.seen_moved = 20;
	lifecycle_fit(&twin, &o, &life);
	ok(life.hot_eligible > 0.95, "as many that moved tell nothing");
	/* vacuums while nothing was updated, which leave few rows a page their room */
	t = base;
	t.insert_len = t.update_len = 2448;
	t.start_rows = 900;
	t.warmup = t.measure = 1800;
	t.vacuum_gap = 2;
	o = recorded_of(&t, 100);
	for (o.vacuums = 1; o.vacuums <= 4; o.vacuums++)
	{
		lifecycle_fit(&twin, &o, &life);
		printf("# with %.0f vacuums: misfit %.1f, vacuum every %.2f\n", o.vacuums, life.member[0].misfit, life.member[0].life.vacuum_gap);
		known = life.member[0].misfit;
		if (o.vacuums == 1)
			alone = known;
	}
	ok(known < alone + 3 && life.member[0].life.vacuum_gap > 1.9, "vacuums that changed nothing are taken for one");
	/* one with fewer dead rows than autovacuum waits for */
	t = base;
	t.start_rows = 12000;
	t.warmup = t.measure = 1200;
	t.vacuum_gap = 0.1;
	t.vacuum_share = 0;
	o = recorded_of(&t, 70);
	o.vacuum_scale = 0.2;
	lifecycle_fit(&twin, &o, &life);
	printf("# %.0f vacuums: weight of versions that stay %.2f, misfit %.1f\n", o.vacuums, staying(&life), life.member[0].misfit);
	ok(staying(&life) < 0.75 && life.member[0].misfit < 1.5 && life.member[0].life.vacuum_share == 0, "vacuums before autovacuum would come explain pages that were not pruned");
	/* what an update prunes tells more of when it comes than the last few rows that wait for theirs */
	t = base;
	t.insert_len = t.update_len = 200;
	t.start_rows = 0;
	t.inserts_per_update = 0.25;
	t.fresh_share = 1;
	t.fresh_distance = 600;
	o = recorded_of(&t, 100);
	o.updated_pct = 99.9;
	o.update_distance_p10 = 3;
	o.update_distance_p50 = 12;
	o.update_distance_p90 = 43;
	twin_run(&twin, &t, 100, 815, &r);
	worst = r.prunes / r.updates;
	twin_run(&twin, &t, 90, 815, &r);
	worst -= r.prunes / r.updates;
	known = prunes_at(&o, 100) - prunes_at(&o, 90);
	o.update_records = NAN;
	unknown = prunes_at(&o, 100) - prunes_at(&o, 90);
	printf("# prunes saved per update: %.2f really, %.2f with WAL records, %.2f without\n", worst, known, unknown);
	ok(fabs(known - worst) < 0.25 && fabs(known - worst) < fabs(unknown - worst), "WAL records of updates tell what fewer rows a page save in prunes");
	/* others prune, too: then the records are a lower bound */
	t = base;
	o = recorded_of(&t, 100);
	lifecycle_fit(&twin, &o, &life);
	alone = life.confidence;
	o.update_records = 1.1;
	o.pages_read = 5;
	lifecycle_fit(&twin, &o, &life);
	ok(fabs(life.confidence - alone) < 0.02, "pages that readers pruned are no misfit");
	o.pages_read = 0;
	lifecycle_fit(&twin, &o, &life);
	ok(life.confidence < alone - 0.1, "pages that nobody pruned are one");
	/* a log that a function in the statement writes */
	o.update_records = 3.5;
	lifecycle_fit(&twin, &o, &life);
	ok(fabs(life.confidence - alone) < 0.02, "nor are more records than any explanation has");
	/* nothing known of them, and nothing else: as without */
	t.start_rows = 0;
	t.inserts_per_update = 0.25;
	t.fresh_share = 1;
	t.fresh_distance = 600;
	o = seen_of(&t, 100);
	lifecycle_fit(&twin, &o, &life);
	i = life.runs;
	o.pages_read = 0;
	o.indexes = 2;
	lifecycle_fit(&twin, &o, &life);
	ok(life.runs == i && isnan(life.more_records), "without records, indexes and readers change nothing");
	t = base;
	t.insert_len = 64;
	t.update_len = 224;
	ok(worst_prediction(&t, 100) < 6, "rows that grow seen at 100");
	t = base;
	t.hot_eligible = 0;
	o = seen_of(&t, 100);
	lifecycle_fit(&twin, &o, &life);
	lifecycle_curve(&twin, &o, &life, &curve);
	choose(&o, &life, &curve, &in, &choice);
	ok(curve.step[choice.advised].fillfactor == 100 && curve.step[curve.n - 1].hot_pct < 5,
	   "an indexed column: 100, and no HOT promised anywhere");
	o = seen_of(&base, 70);
	lifecycle_fit(&twin, &o, &life);
	lifecycle_curve(&twin, &o, &life, &curve);
	choose(&o, &life, &curve, &in, &choice);
	ok(curve.step[choice.advised].fillfactor >= 94, "a settled table at 70 gets its space back");
	o = nothing();
	lifecycle_fit(&twin, &o, &life);
	lifecycle_curve(&twin, &o, &life, &curve);
	choose(&o, &life, &curve, &in, &choice);
	ok(life.n == 0 && curve.n == 0, "nothing seen: nothing predicted");

	bad = 0;
	srand(2);
	for (i = 0; i < 250; i++)
	{
		double	   *d = (double *) &o;
		size_t		f;

		for (f = 0; f < sizeof(o) / sizeof(double); f++)
			d[f] = any_number();
		if (rand() % 4)
			o.fillfactor = 10 + rand() % 91;
		for (f = 0; f < sizeof(in) / sizeof(double); f++)
			if (rand() % 3 == 0)
				((double *) &in)[f] = any_number();
		in.time_weight = 0.5;
		in.wal_weight = 0.3;
		in.size_weight = 0.2;
		lifecycle_fit(&twin, &o, &life);
		lifecycle_curve(&twin, &o, &life, &curve);
		choose(&o, &life, &curve, &in, &choice);
		if (curve.n < 0 || curve.n > LIFECYCLE_MAX_STEPS || choice.advised < 0 ||
			(curve.n > 0 && choice.advised >= curve.n) || !(life.confidence >= 0 && life.confidence <= 1))
			bad++;
		for (k = 0; k < curve.n; k++)
			if (life.n > 0 && !(curve.step[k].hot_pct >= 0 && curve.step[k].hot_pct <= 100 &&
								curve.step[k].hot_low <= curve.step[k].hot_pct &&
								curve.step[k].hot_high >= curve.step[k].hot_pct &&
								choice.cost[k].cost >= 1))
			{
				bad++;
				break;
			}
		in = costs();
	}
	ok(bad == 0, "senseless evidence: an answer in range all the same");

	printf("1..%d\n", tests);
	return failed != 0;
}
