/*
 * choice_test.c
 *	  Facts about costs and the choice, as TAP.
 */
#include <stdlib.h>

#include "workloads.h"
/* its static functions are tested, too */
#include "model/choice.c"

#define ROWS	10000.0			/* updated in the window */
#define PAGES	1000.0

static FitWork work;
static Fit	fit;
static Forecast forecast;
static Choice decision;

/* Whether two numbers differ by at most this share. */
static int
like(double a, double b, double share)
{
	return near(a, b, share * fmax(fabs(a), fabs(b)) + 1e-12);
}

/* Updates of single rows of 136 bytes, by share: HOT, moved, the rest blocked by an index. */
static Evidence
counted(double hot, double moved)
{
	Evidence	e;

	ff_evidence_clear(&e);
	e.nintervals = 1;
	e.interval[0] = (EvInterval) {
		1e6, 0, ROWS, ROWS * hot, ROWS * moved, 0, 0
	};
	e.earlier_updated = 1;
	e.blocks = PAGES;
	e.live_rows = 1e6;			/* no page is half empty */
	e.inserted_length[0] = e.updated_length[0] = 136;
	e.inserted_length[1] = e.updated_length[1] = 1;
	e.fillfactor = 100;
	e.indexes = 2;
	e.index_bytes = 2 * PAGES * TW_BLCKSZ;
	e.checkpoint_s = 1e12;
	e.min_updates = 1;
	e.min_gain = 2;				/* no gain is enough: the bound alone, no fit */
	e.time_weight = e.wal_weight = e.size_weight = 0;
	return e;
}

/*
 * The least cost that any fillfactor could reach, as a share of today's, for one kind of work
 * after the other.  Golden: a change of a price changes them.
 */
static void
test_bound(void)
{
	static const struct
	{
		const char *what;
		double		hot,
					moved,
					inserted,
					reads,
					ram,
					time,
					wal,
					size;
	}			row[] = {
		{"all HOT", 1, 0, 0, 0, NAN, 0.8071, 0.6564, 1},
		{"half moved", 0.5, 0.5, 0, 0, NAN, 0.6951, 0.3385, 1},
		{"half blocked by an index", 0.5, 0, 0, 0, NAN, 0.8309, 0.7551, 1},
		{"half moved, as many inserts", 0.5, 0.5, ROWS, 0, NAN, 0.8278, 0.6851, 1},
		{"half moved, many reads", 0.5, 0.5, 0, 20 * ROWS, NAN, 0.9524, 0.3385, 1},
		{"half moved, nothing in memory", 0.5, 0.5, 0, 0, 1, 0.2627, 0.3385, 1},
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
	{
		Evidence	e = counted(row[i].hot, row[i].moved);
		double		got[3];

		e.interval[0].inserted = row[i].inserted;
		e.index_scans = row[i].reads;
		e.ram_bytes = row[i].ram;
		for (int k = 0; k < 3; k++)
		{
			e.time_weight = k == 0;
			e.wal_weight = k == 1;
			e.size_weight = k == 2;
			ff_choose(&work, &e, 0, &fit, &forecast, &decision);
			got[k] = decision.bound;
		}
		ok(near(got[0], row[i].time, 1e-4) & near(got[1], row[i].wal, 1e-4) &
		   near(got[2], row[i].size, 1e-4), row[i].what);
	}
}

/* ---------- costs of forecasts ---------- */

/* Decide with a fit, whatever the bound says. */
static Choice *
decided(Evidence e, double time, double wal, double size)
{
	e.time_weight = time;
	e.wal_weight = wal;
	e.size_weight = size;
	ff_choose(&work, &e, 1, &fit, &forecast, &decision);
	return &decision;
}

/* A table that has settled, by single updates of which a share changes an index. */
static Evidence
settled(double indexed)
{
	TwinWorkload	l = workload_of(136, 2000);
	Evidence	e;

	l.class[0].indexed = indexed;
	e = observe(&l, 100, 8, 1);
	e.checkpoint_s = 1e9;
	e.earlier_updated = 1;
	add_statement(&e, &l.class[0]);
	e.statement[0].sets_indexed = NAN;
	return e;
}

static void
test_exponents(void)
{
	static Choice d[6];
	Evidence	e = settled(0.5);
	int			law = 1,
				sums = 1,
				rows;
	double		x;

	d[0] = *decided(e, 0, 0, 0);
	d[1] = *decided(e, 1, 0, 0);
	d[2] = *decided(e, 0, 1, 0);
	d[3] = *decided(e, 0, 0, 1);
	d[4] = *decided(e, 2, 0, 0);
	d[5] = *decided(e, 1, 1, 1);
	rows = forecast.step[forecast.current].rows_per_page;
	x = log(d[0].ratio[0][0][forecast.n - 1]) / log((double) rows / forecast.step[forecast.n - 1].rows_per_page);
	for (int way = 0; way < FC_WAYS; way++)
		for (int i = 0; i < forecast.n; i++)
		{
			double		sum = 0;

			for (int k = 0; k < forecast.nworkloads; k++)
			{
				double		c = d[0].ratio[way][k][i];

				law &= like(d[4].ratio[way][k][i] * c, pow(d[1].ratio[way][k][i], 2), 1e-9) &&
					like(d[5].ratio[way][k][i] * c * c, d[1].ratio[way][k][i] * d[2].ratio[way][k][i] *
						 d[3].ratio[way][k][i], 1e-9) &&
					like(c, pow((double) rows / forecast.step[i].rows_per_page, x), 1e-9);
				sum += forecast.weight[k] * d[5].ratio[way][k][i];
			}
			sums &= like(sum, d[5].cost[way][i].ratio, 1e-9);
		}
	ok(law && x > 0, "the cost of a workload is time, WAL and size to the power of their weights, times caution");
	ok(sums && like(d[5].cost[FC_SET][forecast.current].ratio, 1, 1e-9),
	   "the cost of an option is the mean of the workloads; keeping everything costs 1");
	x = 0;
	for (int k = 0; k < forecast.nworkloads; k++)
		x += forecast.weight[k] * (d[4].ratio[FC_REWRITE][k][0] < d[4].ratio[FC_SET][k][forecast.n - 1]);
	ok(like(ff_choice_cheaper(&forecast, &d[4], FC_REWRITE, 0, FC_SET, forecast.n - 1), x, 1e-9) &&
	   ff_choice_cheaper(&forecast, &d[4], FC_SET, 1, FC_SET, 1) == 0,
	   "cheaper() is the weight of workloads, without ties");
	e.min_gain = 0.1;
	d[0].cost[FC_SET][1].ratio = 0.5;
	d[0].cost[FC_REWRITE][1].ratio = 0.46;
	sums = ff_choice_way(&e, &d[0], 1) == FC_SET;
	d[0].cost[FC_REWRITE][1].ratio = 0.44;
	ok(sums && ff_choice_way(&e, &d[0], 1) == FC_REWRITE, "a rewrite must save min_gain");
}

static void
test_sizes(void)
{
	static Choice d[2];
	Evidence	e = settled(0);
	int			same = 1;
	ChCost		keep;
	double		index = e.index_bytes;

	d[0] = *decided(e, 1, 1, 1);
	keep = d[0].cost[FC_SET][forecast.current];
	ok(like(keep.heap_bytes, e.blocks * TW_BLCKSZ, 0.05) && like(keep.index_bytes, e.index_bytes, 0.1),
	   "all updates HOT: the forecast size is today's");
	e.blocks = 10 * e.live_rows;
	d[1] = *decided(e, 1, 1, 1);
	for (int i = 0; i < forecast.n; i++)
		same &= like(d[1].cost[FC_SET][i].heap_bytes, e.blocks * TW_BLCKSZ, 1e-9);
	ok(same, "all updates HOT: excess pages stay, however many, without a rewrite");
	ok(like(d[1].cost[FC_REWRITE][forecast.current].heap_bytes, keep.heap_bytes, 0.05) &&
	   d[1].action == CH_REWRITE && d[1].advised == forecast.current,
	   "all updates HOT: a rewrite at the same fillfactor removes excess pages for good, and is advised");

	e = settled(1);
	d[0] = *decided(e, 1, 1, 1);
	keep = d[0].cost[FC_SET][forecast.current];
	ok(keep.index_bytes > 1.2 * index && keep.index_bytes < 2 * index,
	   "no update HOT: indexes grow by at most one entry a row");
	ok(like(keep.heap_bytes, e.blocks * TW_BLCKSZ, 0.1), "no update HOT: the forecast size is today's");
	e.payback_s *= 4;
	ok(like(decided(e, 1, 1, 1)->cost[FC_SET][forecast.current].index_bytes, keep.index_bytes, 1e-3),
	   "no update HOT: more updates do not make indexes larger");

	/* excess pages are scaled by the non-HOT share */
	e = settled(0.5);
	e.blocks *= 1.5;
	d[0] = *decided(e, 1, 1, 1);
	keep = d[0].cost[FC_SET][forecast.current];
	ok(like(keep.heap_bytes, e.blocks * TW_BLCKSZ, 0.1), "half of the updates HOT: excess pages stay");
}

static void
test_rewrite(void)
{
	static Choice d[3];
	Evidence	e = settled(0);
	int			i;
	double		bytes,
				more,
				reads = 0;
	ChCost	   *set,
			   *rewrite;

	d[0] = *decided(e, 1, 1, 1);
	i = forecast.current;
	bytes = e.index_bytes;
	e.index_bytes *= 3;
	d[1] = *decided(e, 1, 1, 1);
	ok(like(d[1].cost[FC_REWRITE][i].wal_bytes - d[0].cost[FC_REWRITE][i].wal_bytes,
			2 * bytes / forecast.updates, 1e-2) &&
	   like(d[1].cost[FC_SET][i].wal_bytes, d[0].cost[FC_SET][i].wal_bytes, 1e-4),
	   "a rewrite logs its indexes once, setting does not");
	more = d[1].cost[FC_REWRITE][i].time_us - d[0].cost[FC_REWRITE][i].time_us;
	ok(more > 0 && like(d[1].cost[FC_SET][i].time_us, d[0].cost[FC_SET][i].time_us, 1e-4),
	   "a rewrite takes time for its indexes, setting does not");
	e.index_bytes = bytes;
	/* at half of the rows a page, updates are HOT from the beginning */
	bytes += e.live_rows * (e.inserted_length[0] + TW_ITEMID);
	e.payback_s /= 100;
	d[1] = *decided(e, 1, 1, 1);
	ok(like(d[1].cost[FC_REWRITE][forecast.n / 2].wal_bytes - d[0].cost[FC_REWRITE][forecast.n / 2].wal_bytes,
			0.99 * bytes / forecast.updates, 1e-2), "a rewrite logs the rows once");
	e.payback_s *= 100;
	e.indexes = 4;
	d[1] = *decided(e, 1, 1, 1);
	e.indexes = 6;
	d[2] = *decided(e, 1, 1, 1);
	rewrite = &d[1].cost[FC_REWRITE][i];
	ok(rewrite->time_us > d[0].cost[FC_REWRITE][i].time_us &&
	   like(d[2].cost[FC_REWRITE][i].time_us - rewrite->time_us,
			rewrite->time_us - d[0].cost[FC_REWRITE][i].time_us, 1e-2), "a rewrite takes time for each index");
	ok(d[0].cost[FC_REWRITE][i].time_us > d[0].cost[FC_SET][i].time_us, "a rewrite takes more time than setting");
	e.ram_bytes = 1e-9;
	e.read_us = 1e9;
	e.indexes = 2;
	d[1] = *decided(e, 1, 1, 1);
	set = &d[1].cost[FC_SET][i];
	rewrite = &d[1].cost[FC_REWRITE][i];
	for (int way = 0; way < FC_WAYS; way++)
	{
		reads = 0;
		for (int k = 0; k < forecast.nworkloads; k++)
			reads += forecast.weight[k] * (2 * forecast.outcome[way][k][i].touched + 1 +
										   3 * (1 - forecast.outcome[way][k][i].hot));
		if (way == FC_SET)
			ok(like(set->time_us / e.read_us, reads, 1e-3), "pages touched are read and written once");
	}
	ok(like(rewrite->time_us / e.read_us, reads + e.blocks / 8 / forecast.updates, 1e-4),
	   "a rewrite reads the table once, eight pages at a time");
	e.ram_bytes = e.blocks * TW_BLCKSZ / 2;
	e.index_bytes = 0;
	decided(e, 1, 1, 1);
	ok(like(decision.cost[FC_REWRITE][i].time_us / e.read_us,
			reads / 2 + e.blocks / 16 / forecast.updates, 0.05), "a rewrite reads only what is not in memory");
}

/* The WAL that statements wrote is the WAL of the forecast today. */
static void
test_wal_seen(void)
{
	static Choice d[2];
	Evidence	e = settled(0.5);
	double		n = ff_evidence_window(&e).updated;
	double		seen = 700;
	int			same = 1;

	for (int beside = 0; beside < 2; beside++)
	{
		double		keep;

		for (int i = 0; i < 2; i++)
		{
			e.statement[0].wal_bytes = n * (seen + 100 * i);
			d[i] = *decided(e, 1, 1, 1);
		}
		for (int way = 0; way < FC_WAYS; way++)
			for (int i = 0; i < forecast.n; i++)
				same &= like(d[1].cost[way][i].wal_bytes - d[0].cost[way][i].wal_bytes, 100, 1e-6) &&
					like(d[1].cost[way][i].time_us, d[0].cost[way][i].time_us, 1e-9);
		ok(same, "more WAL of updates seen adds the same WAL to all options");
		keep = d[0].cost[FC_SET][forecast.current].wal_bytes;
		if (!beside)
			ok(keep > seen && like(keep, seen, 0.1), "keep: the WAL of updates seen, and their commits");
		else
			ok(keep > seen + 100 && keep < seen + 700,
			   "keep: the WAL of updates seen, and that of inserts and deletes");
		for (int i = 0; i < e.nintervals; i++)
			e.interval[i].inserted = e.interval[i].deleted = e.interval[i].updated;
	}
}

/* What UPDATE statements write is told apart from inserts, commits, vacuum and a rewrite. */
static void
test_wal_of_updates(void)
{
	Evidence	e = settled(0.5);
	EvInterval	w = ff_evidence_window(&e);
	ChCost		keep,
				more;

	e.statement[0].wal_bytes = 700 * w.updated;
	keep = decided(e, 1, 1, 1)->cost[FC_SET][forecast.current];
	ok(like(keep.wal_of_updates, 700, 0.1) && keep.wal_bytes > keep.wal_of_updates,
	   "the WAL of UPDATE statements is the one seen");
	more = decision.cost[FC_REWRITE][forecast.current];
	ok(more.wal_bytes - more.wal_of_updates > keep.wal_bytes - keep.wal_of_updates,
	   "the WAL of a rewrite is not theirs");
	for (int i = 0; i < e.nintervals; i++)
		e.interval[i].inserted = e.interval[i].deleted = 0.1 * e.interval[i].updated;
	more = decided(e, 1, 1, 1)->cost[FC_SET][forecast.current];
	ok(like(more.wal_of_updates, 700, 0.1) && more.wal_bytes > keep.wal_bytes + 10,
		  "nor is that of inserts and deletes");
}

/* What a forecast writes beyond the WAL seen is taken from index leaves, pages and entries, in this order. */
static void
test_less_wal_seen(void)
{
	Evidence	e = settled(0.5);
	double		n = ff_evidence_window(&e).updated;
	double		forecast_wal,
				least = 0;
	int			same = 1;

	e.checkpoint_s = 1;
	e.statement[0].wal_bytes = NAN;
	forecast_wal = decided(e, 1, 1, 1)->cost[FC_SET][forecast.current].wal_of_updates;
	for (double seen = forecast_wal; seen > 150; seen *= 0.7)
	{
		const ChCost *keep;

		e.statement[0].wal_bytes = n * seen;
		keep = &decided(e, 1, 1, 1)->cost[FC_SET][forecast.current];
		same &= like(keep->wal_of_updates, seen, 0.03);
		least = keep->wal_of_updates;
	}
	ok(same && least < 0.5 * forecast_wal, "less WAL of updates seen than forecast: keep writes what was seen");
}

/* Of images that did not come, each option has its share: one with fewer images saves less than the forecast says. */
static void
test_fewer_images(void)
{
	Evidence	e = counted(1, 0);
	FcOutcome	now = {.hot = 1,.images = 0.5},
				few = {.hot = 1,.images = 0.1};
	ChCost		a,
				b;
	Rates		r;

	e.indexes = e.index_bytes = 0;
	memset(&fit, 0, sizeof(fit));
	ff_plan(&e, &fit.plan);
	r = read_rates(&e, &fit.plan);
	cost_of(&r, &now, PAGES, PAGES, 0, &a);
	e.nstatements = 1;
	e.statement[0] = (EvStatement) {
		.command = EV_UPDATE,.calls = ROWS,.rows = ROWS,.wal_bytes = ROWS * (a.wal_of_updates - 0.25 * TW_BLCKSZ)
	};
	calibrate_wal(&e, &r, &now);
	cost_of(&r, &now, PAGES, PAGES, 0, &a);
	cost_of(&r, &few, PAGES, PAGES, 0, &b);
	ok(like(a.wal_of_updates, e.statement[0].wal_bytes / ROWS, 1e-9) &&
	   like(a.wal_of_updates - b.wal_of_updates, 0.2 * TW_BLCKSZ, 1e-9),
	   "half of the pages were not logged whole: of each option half are");
}

/* An unlogged table writes no WAL, whatever its statements wrote: its costs are time and size. */
static void
test_unlogged(void)
{
	Evidence	e = settled(0.5);
	double		time;

	e.statement[0].wal_bytes = 700 * ff_evidence_window(&e).updated;
	time = decided(e, 1, 1, 1)->cost[FC_REWRITE][0].time_us;
	e.unlogged = 1;
	decided(e, 1, 1, 1);
	for (int way = 0; way < FC_WAYS; way++)
		for (int i = 0; i < forecast.n; i++)
		{
			const ChCost *c = &decision.cost[way][i];

			if (c->wal_bytes != 0 || !(c->ratio > 0) || !isfinite(c->ratio))
				ok(0, "an unlogged table: no WAL, and a ratio");
		}
	ok(decision.cost[FC_REWRITE][0].time_us < time, "an unlogged table: no WAL, no time for pages logged whole");
}

/* Where WAL can be decoded, an update within its page logs the whole row, too. */
static void
test_logical(void)
{
	Evidence	e = settled(0);
	double		wal[2];
	int			last;

	e.statement[0].wal_bytes = NAN;
	for (int i = 0; i < 2; i++)
	{
		e.logical = i;
		decided(e, 1, 1, 1);
		last = forecast.n - 1;
		wal[i] = decision.cost[FC_SET][last].wal_of_updates;
	}
	ok(forecast.step[last].mean[FC_SET].moved_pct < 0.1 && near(wal[1] - wal[0], 136 - 24, 0.5),
	   "wal_level logical: an update within its page logs its row");
}

/* A queue fills its pages again, so what a rewrite saves does not last. */
static void
test_queue(void)
{
	Evidence	e = counted(0.5, 0.5);
	double		rows = e.live_rows = 1000;

	e.min_gain = 0.02;
	decision.cost[FC_SET][0].ratio = 0.9;
	decision.cost[FC_REWRITE][0].ratio = 0.5;
	e.interval[0].inserted = 2 * rows;
	e.interval[0].deleted = rows + 1;
	ok(ff_choice_way(&e, &decision, 0) == FC_REWRITE, "two inserts a row: a rewrite may pay");
	e.interval[0].inserted++;
	ok(ff_choice_way(&e, &decision, 0) == FC_SET, "more: it does not");
	e.interval[0].deleted--;
	ok(ff_choice_way(&e, &decision, 0) == FC_REWRITE, "unless the others were not deleted, as by TRUNCATE");
	e.reloads = 2;
	ok(ff_choice_way(&e, &decision, 0) == FC_SET, "twice: it does not");
}

/* ---------- the choice ---------- */

static double wanted[FC_STEPS];

static void
want_all(double ratio)
{
	for (int i = 0; i < FC_STEPS; i++)
		wanted[i] = ratio;
}

static Choice *
asked(Evidence e)
{
	return decided(e, 0.5, 0.3, 0.2);
}

static double
ratio_of(const Evidence *e, int i)
{
	return decision.cost[ff_choice_way(e, &decision, i)][i].ratio;
}

/* What the cheaper way to a step is said to give. */
static const FcMean *
shown(const Evidence *e, int i)
{
	return &forecast.step[i].mean[i == forecast.current ? FC_SET : ff_choice_way(e, &decision, i)];
}

static Choice priced;			/* by the model, before the wanted costs are set */

static void
prepare(Evidence e)
{
	priced = *asked(e);
}

/* Decide with the wanted costs. */
static void
choose(Evidence e)
{
	decision = priced;
	for (int i = 0; i < forecast.n; i++)
	{
		double		was = priced.cost[ff_choice_way(&e, &priced, i)][i].ratio;
		double		factor = i == forecast.current ? 1 : wanted[i] / was;

		for (int way = 0; way < FC_WAYS; way++)
		{
			decision.cost[way][i].ratio *= factor;
			for (int k = 0; k < forecast.nworkloads; k++)
				decision.ratio[way][k][i] *= factor;
		}
	}
	choose_best(&e, &fit.plan.split, &forecast, &decision);
}

static int
advises(int step)
{
	return decision.advised == step && decision.action == (decision.best_way == FC_REWRITE ?
														   CH_REWRITE : CH_SET) &&
		decision.best == step && like(decision.gain, 1 - wanted[step], 0.02) &&
		decision.agreement >= 0.6;
}

static int
keeps(void)
{
	return decision.advised == forecast.current && decision.action == CH_KEEP && decision.gain == 0;
}

static void
test_choice(void)
{
	Evidence	e = settled(0.5);
	int			i;

	prepare(e);
	i = forecast.n / 2;
	want_all(1.001);
	choose(e);
	ok(keeps() && decision.best == forecast.current && decision.agreement == 1, "keep: all other steps cost more");
	want_all(1.3);
	wanted[i] = 0.9;
	choose(e);
	ok(advises(i), "one step is cheaper: it is advised");
	wanted[i - 2] = 0.8;
	choose(e);
	ok(advises(i - 2), "two steps are cheaper: the cheapest is advised");
	wanted[i] = 0.797;
	choose(e);
	ok(advises(i - 2), "two steps cost about the same: the one nearest to today's is advised");
	want_all(1.3);
	wanted[i] = 0.985;
	choose(e);
	ok(keeps() && decision.best == i, "a gain below min_gain is not advised");
	e.standing = forecast.step[i + 1].fillfactor + 1;
	choose(e);
	ok(advises(i), "a gain below min_gain is advised if chosen before");
	wanted[i] = 0.995;
	choose(e);
	ok(keeps(), "chosen before: not advised below half of min_gain");
	wanted[i] = 0.9;
	wanted[i + 2] = 0.87;
	choose(e);
	ok(advises(i), "chosen before: advised although a lower step is a little better");
	wanted[i + 2] = 0.7;
	choose(e);
	ok(advises(i + 2), "chosen before: replaced by a much better step");
	wanted[i - 2] = wanted[i + 2] = 0.89;
	choose(e);
	ok(advises(i - 2), "chosen before: replaced by one nearer to today's that is as good");
	wanted[i + 2] = 1.3;
	e.standing = forecast.step[forecast.current].fillfactor;
	wanted[i - 2] = 0.87;
	choose(e);
	ok(advises(i - 2), "keep was chosen before: the cheapest is advised");
}

/* Of steps that cost about the same, those whose updates may be less often HOT are not advised. */
static void
test_nearest(void)
{
	TwinWorkload	l = workload_of(136, 2000);
	Evidence	e;
	int			i;
	int			nearest = 1;

	l.class[0].rows = l.class[0].distance = 120;
	l.class[0].pick = TW_IN_TURN;
	add_class(&l, EV_INSERT, 1, 120, TW_ANY);
	add_class(&l, EV_DELETE, 1, 120, TW_OLDEST);
	e = observe(&l, 100, 2, 1);
	add_statement(&e, &l.class[0]);
	/* too short for a rewrite to pay */
	e.payback_s = 86400;
	prepare(e);
	i = forecast.n - 1;
	want_all(0.803);
	wanted[i] = 0.8;
	choose(e);
	for (int k = 1; k < decision.advised; k++)
		nearest &= ff_choice_way(&e, &decision, k) > decision.best_way || ratio_of(&e, k) > 0.81 ||
			shown(&e, k)->hot_low < shown(&e, i)->hot_low - 2;
	ok(nearest && decision.action >= CH_SET && decision.advised < i &&
	   shown(&e, decision.advised)->hot_low > shown(&e, 2)->hot_low + 10,
	   "all steps cost about the same: the nearest whose updates are as surely HOT is advised");
}

/* What updates were seen to do is not made worse, and what is settled stays. */
static void
test_settled_stays(void)
{
	TwinWorkload	l = workload_of(136, 2000);
	Evidence	e = observe(&l, 100, 8, 1);

	prepare(e);
	want_all(0.7);
	choose(e);
	ok(keeps() && fit.plan.split.hot >= 0.98, "nearly all updates are HOT at 100: no other fillfactor is advised");
	/* all rows of new pages at once: they need half of each */
	l.class[0].rows = l.class[0].distance = 120;
	l.class[0].pick = TW_IN_TURN;
	add_class(&l, EV_INSERT, 1, 120, TW_ANY);
	add_class(&l, EV_DELETE, 1, 120, TW_OLDEST);
	e = observe(&l, 50, 2, 1);
	add_statement(&e, &l.class[0]);
	prepare(e);
	want_all(1.3);
	for (int i = 0; i < forecast.current; i++)
		wanted[i] = 0.7;
	choose(e);
	ok(decision.advised == forecast.current ||
	   shown(&e, decision.advised)->hot_pct >= 100 * fit.plan.split.hot - 0.5,
	   "a cheaper fillfactor with a lower HOT share than the one seen is not advised");
	ok(shown(&e, 0)->hot_pct < 100 * fit.plan.split.hot - 10, "at 100, fewer updates would be HOT");
}

static void
test_choice_below(void)
{
	TwinWorkload	l = workload_of(136, 2000);
	Evidence	hot,
				e;
	int			lower,
				higher;

	hot = observe(&l, 70, 8, 1);
	l.class[0].indexed = 0.6;
	e = observe(&l, 70, 8, 1);
	prepare(e);
	lower = forecast.current + 3;
	higher = forecast.current - 3;
	want_all(1.3);
	wanted[lower] = 0.95;
	choose(e);
	ok(advises(lower), "below 100: more room is advised if it is better");
	e.followed = 1;
	choose(e);
	ok(keeps(), "below 100, as advised here: not yet more room for a small gain");
	wanted[lower] = 0.8;
	choose(e);
	ok(advises(lower), "below 100, as advised here: more room for a large gain");
	wanted[lower] = 1.3;
	wanted[higher] = 0.95;
	choose(e);
	ok(advises(higher), "below 100: less room is advised if it is better");
	wanted[higher] = 0.985;
	choose(e);
	ok(keeps(), "below 100: less room is not advised below min_gain");
	prepare(hot);
	want_all(1.3);
	wanted[lower] = 0.7;
	choose(hot);
	ok(keeps(), "below 100, all updates HOT: more room is not advised");
	want_all(1.3);
	wanted[higher] = 0.9;
	choose(hot);
	ok(advises(higher), "below 100, all updates HOT: less room is advised if it is better");
}

/* Hardly any updates: the cost of unused room. */
static Evidence
unused(double inserted, double updated, double updated_pct, double seconds)
{
	Evidence	e = counted(1, 0);

	e.interval[0] = (EvInterval) {
		seconds, inserted, updated, updated, 0, 0, 0
	};
	e.updated_pct = updated_pct;
	e.fillfactor = 50;
	e.min_updates = 200;
	e.min_gain = 0.02;
	e.time_weight = 0.5;
	e.wal_weight = 0.3;
	e.size_weight = 0.2;
	ff_choose(&work, &e, 0, &fit, &forecast, &decision);
	return e;
}

static int
raises(void)
{
	return decision.action == CH_SET && decision.advised == 0 && decision.best == 0 &&
		decision.gain > 0.02;
}

static void
test_unused(void)
{
	Evidence	e = unused(1000, 0, 0, 86400);
	double		index = e.index_bytes;
	double		heap = PAGES * TW_BLCKSZ;
	double		full = heap * ff_twin_rows_per_page(50, 136) / ff_twin_rows_per_page(100, 136);

	ok(raises() && decision.agreement == 1 && decision.confidence == 1, "hardly any updates in a day: raise to 100");
	ok(like(decision.cost[FC_SET][forecast.current].heap_bytes, heap, 1e-9) &&
	   like(decision.cost[FC_SET][0].heap_bytes, full, 1e-9) &&
	   like(decision.cost[FC_REWRITE][0].index_bytes, index, 1e-9) &&
	   like(1 - decision.gain, pow((full + index) / (heap + index), 0.2), 1e-6),
	   "hardly any updates: unused room costs its size");
	unused(1000, 0, 0, 86399);
	ok(decision.action == CH_WAIT && decision.advised == forecast.current,
	   "hardly any updates in less than a day: wait");
	unused(1000, 9, 0.9, 86400);
	ok(raises(), "fewer updates than 1 % of inserts: raise");
	unused(1000, 11, 0.9, 86400);
	ok(keeps(), "more updates than 1 % of inserts: keep");
	unused(1000, 9, 1.1, 86400);
	ok(keeps(), "more than 1 % of the rows updated: keep");
	unused(199, 0, 0, 86400);
	ok(keeps(), "fewer inserts than min_updates: keep");
	unused(200, 0, 0, 86400);
	ok(raises(), "min_updates inserts: raise");
	e.fillfactor = 97;
	ff_choose(&work, &e, 0, &fit, &forecast, &decision);
	ok(keeps(), "raising saves less than min_gain: keep");
	unused(20000, 199, 0, 86400);
	ok(raises(), "fewer updates than min_updates, 1 % of inserts: raise");
	e = unused(20000, 199, 0, 86400);
	e.min_gain = 0.99;
	e.interval[0].updated = 200;
	ff_choose(&work, &e, 0, &fit, &forecast, &decision);
	ok(keeps() && decision.agreement == 1 && decision.confidence == 1 && fit.n == 0,
	   "min_updates updates: judged by what could be saved");
}

/* Each page moves a row at first: workloads that settle by themselves. */
static void
test_settling(void)
{
	TwinWorkload	l = workload_of(136, 3000);
	Evidence	e = observe(&l, 100, 0.2, 1);
	double		surely = 0,
				maybe = 0,
				updates = 0;

	asked(e);
	for (int k = 0; k < forecast.nworkloads; k++)
	{
		const FcOutcome *o = &forecast.outcome[FC_SET][k][forecast.current];

		surely += forecast.weight[k] * (o->settled_hot > 0.97);
		maybe += forecast.weight[k] * (o->settled_hot > fit.plan.split.hot);
		if (o->settled_hot > 0.97)
			updates += forecast.weight[k] * o->settle_updates;
	}
	ok(surely > 0.5 && decision.settling > surely - 1e-6 && decision.settling < maybe + 1e-6,
	   "settling is the weight of workloads that settle");
	ok(like(decision.settle_updates, updates / surely, 0.1), "settle_updates is the mean of workloads that settle");
}

/*
 * Four times 20,000 rows are inserted and then updated together, with idle hours between: half of the
 * mean number of rows, yet no update comes to a page that is there today.
 */
static void
test_new_batches(void)
{
	Evidence	e;

	ff_evidence_clear(&e);
	e.nintervals = 4;
	for (int i = 0; i < 4; i++)
		e.interval[i] = (EvInterval) {
			28800, 20000, 20000, 0, 20000, 0, i == 2
		};
	e.nstatements = 2;
	e.statement[0] = (EvStatement) {
		.command = EV_INSERT,.calls = 4,.rows = 80000,.sets_indexed = NAN,.wal_bytes = 15.8e6
	};
	e.statement[1] = (EvStatement) {
		.command = EV_UPDATE,.calls = 4,.rows = 80000,.sets_indexed = 0,.wal_bytes = 23.7e6
	};
	e.earlier_updated = e.indexed_share = e.triggers = 0;
	e.window_xids = 57;
	e.blocks = 1943;
	e.live_rows = 80000;
	e.rows_per_page = e.rows_per_page_max = 70;
	e.updated_pct = 100;
	e.updated_length[0] = 112;
	e.updated_length[1] = 80000;
	memset(e.group_old_page, 0, sizeof(e.group_old_page));
	memset(e.group_new_page, 0, sizeof(e.group_new_page));
	memset(e.update_age, 0, sizeof(e.update_age));
	e.group_old_page[7] = 74000;
	e.group_new_page[7] = 190000;
	e.update_age[2] = e.update_age[4] = 20000;
	e.update_age[5] = 40000;
	e.fillfactor = 100;
	e.indexes = 1;
	e.index_bytes = 3.6e6;
	e.vacuum_scale = 0.2;
	e.vacuum_threshold = 50;
	e.vacuum_nap_s = 60;
	e.recent_share = 0;
	e.checkpoint_s = 300;
	e.payback_s = 30 * 86400;
	e.min_gain = 0.02;
	e.min_updates = 500;
	ok(asked(e)->action == CH_SET && forecast.step[decision.advised].fillfactor == 48,
	   "updates of new batches alone: no rewrite");
}

/* Confidence. */
static void
test_confidence(void)
{
	Evidence	e = settled(0);
	double		sure = asked(e)->confidence;

	ok(sure > 0.5 && sure <= 1 && decision.settling == 0, "well explained evidence: high confidence, settled");
	e.updated_pct = 3;
	ok(asked(e)->confidence < sure, "contradictory evidence: lower confidence");
}

int
main(void)
{
	test_bound();
	test_exponents();
	test_sizes();
	test_rewrite();
	test_wal_seen();
	test_wal_of_updates();
	test_less_wal_seen();
	test_fewer_images();
	test_unlogged();
	test_logical();
	test_queue();
	test_choice();
	test_nearest();
	test_settled_stays();
	test_choice_below();
	test_unused();
	test_settling();
	test_new_batches();
	test_confidence();
	printf("1..%d\n", tests);
	return failed != 0;
}
