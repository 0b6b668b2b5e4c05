/*
 * symmetry_test.c
 *	  The same work gets the same answer, as TAP: with a million or a billion rows in front that
 *	  nobody touches, ten times slower, or cut into ten partitions.
 */
#include <stdlib.h>

#include "workloads.h"

#define ENTRY		40			/* bytes of an index entry, as observe() has it */
#define NEAR_HOT	5			/* points */
#define NEAR_WAL	1.15
#define NEAR_COST	1.02		/* of two steps that are equally good */
#define PARTS		10

typedef struct Answer
{
	ChAction	action;
	int			step;			/* number of the step, counted from 100 downwards */
	double		hot[2];			/* today, and at the step */
	double		wal[2];
	double		dearer;			/* cost of that step / cost of the advice */
} Answer;

static FitWork work;
static Fit	fit;
static Forecast forecast;
static Choice decision;

/* The advice; HOT share and WAL are told today and at a step, of the advice if negative. */
static Answer
answer(const Evidence *e, int at)
{
	Answer		a;
	FcWay		way;

	ff_choose(&work, e, 1, &fit, &forecast, &decision);
	a.action = decision.action;
	a.step = decision.advised;
	way = a.action == CH_REWRITE ? FC_REWRITE : FC_SET;
	for (int i = 0; i < 2; i++)
	{
		int			step = i == 0 ? forecast.current : at < 0 ? a.step : at;

		a.hot[i] = 0;
		for (int k = 0; k < forecast.nworkloads; k++)
			a.hot[i] += 100 * forecast.weight[k] * forecast.outcome[FC_SET][k][step].window_hot;
		a.wal[i] = decision.cost[FC_SET][step].wal_bytes;
		a.dearer = decision.cost[way][step].ratio / decision.cost[way][a.step].ratio;
	}
	return a;
}

/* Rows in front, which vacuum's scale factor was set for. */
static Evidence
with_cold_rows(Evidence e, double rows)
{
	double		on_page = ff_twin_rows_per_page((int) e.fillfactor, (int) e.inserted_length[0]);
	double		live = e.live_rows;

	e.live_rows += rows;
	e.blocks += rows / on_page;
	e.index_bytes += ENTRY * rows;
	e.rows_per_page = e.live_rows / e.blocks;
	e.rows_per_page_max = fmax(e.rows_per_page_max, on_page);
	e.updated_pct *= live / e.live_rows;
	e.vacuum_scale *= live / e.live_rows;
	e.inserted_length[1] = (1 - e.updated_pct / 100) * e.live_rows;
	e.updated_length[1] = e.updated_pct / 100 * e.live_rows;
	return e;
}

static Evidence
slower(Evidence e)
{
	for (int i = 0; i < e.nintervals; i++)
		e.interval[i].seconds *= 10;
	e.checkpoint_s = 10 * or_else(e.checkpoint_s, 300);
	e.vacuum_nap_s *= 10;
	return e;
}

/* One of the partitions: a statement comes to one of them, one for much of the table to all. */
static Evidence
part(Evidence e)
{
	double		live = e.live_rows;

	e.live_rows /= PARTS;
	e.blocks /= PARTS;
	e.index_bytes /= PARTS;
	e.vacuum_threshold /= PARTS;
	e.ram_bytes /= PARTS;
	for (int i = 0; i < e.nintervals; i++)
	{
		e.interval[i].inserted /= PARTS;
		e.interval[i].updated /= PARTS;
		e.interval[i].hot /= PARTS;
		e.interval[i].newpage /= PARTS;
	}
	for (int i = 0; i < e.nstatements; i++)
	{
		e.statement[i].calls /= e.statement[i].rows / e.statement[i].calls < FIT_SHARE * live ? PARTS : 1;
		e.statement[i].rows /= PARTS;
	}
	return e;
}

/*
 * The step within one or equally good, no rewrite that was not advised before; with cold rows also
 * HOT and WAL.
 */
static void
same(const Answer *a, const Evidence *e, int cold, const char *work_is, const char *what)
{
	Answer		b = answer(e, a->step);
	int			right = (abs(a->step - b.step) <= 1 || b.dearer <= NEAR_COST) &&
		(b.action != CH_REWRITE || a->action == CH_REWRITE);
	char		words[200];

	for (int i = 0; i < 2 && cold; i++)
		right &= fabs(a->hot[i] - b.hot[i]) <= NEAR_HOT && fabs(log(a->wal[i] / b.wal[i])) <= log(NEAR_WAL);
	if (!right)
		printf("# action %d step %d HOT %.1f %.1f WAL %.0f %.0f, was %d step %d HOT %.1f %.1f WAL %.0f %.0f; dearer by %.3f\n",
			   b.action, b.step, b.hot[0], b.hot[1], b.wal[0], b.wal[1],
			   a->action, a->step, a->hot[0], a->hot[1], a->wal[0], a->wal[1], b.dearer - 1);
	snprintf(words, sizeof(words), "%s: the same %s", work_is, what);
	ok(right, words);
}

static void
test_symmetries(const TwinWorkload *l, double laps, const char *work_is)
{
	Evidence	e = observe(l, 100, laps, 1);
	Evidence	other;
	Answer		a;

	e.vacuum_threshold = 50;
	e.ram_bytes = 4e9;
	for (int i = 0; i < l->nclasses; i++)
		add_statement(&e, &l->class[i]);
	a = answer(&e, -1);
	other = slower(e);
	same(&a, &other, 0, work_is, "ten times slower");
	other = part(e);
	same(&a, &other, 0, work_is, "in one of ten partitions");
	/* statements on the parent count the rows of all partitions */
	memcpy(other.statement, e.statement, sizeof(e.statement));
	same(&a, &other, 0, work_is, "in one of ten partitions, by statements on their parent");
	/* too short for a rewrite, so that cold rows do not forbid one */
	e.payback_s = 86400;
	a = answer(&e, -1);
	other = with_cold_rows(e, 1e6);
	same(&a, &other, 1, work_is, "with a million rows in front");
	other = with_cold_rows(e, 1e9);
	same(&a, &other, 1, work_is, "with a billion rows in front");
}

int
main(void)
{
	TwinWorkload	l = workload_of(136, 12000);

	test_symmetries(&l, 4, "single updates");
	l.class[0].rows = 20;
	test_symmetries(&l, 4, "groups of neighbours");
	l.class[0].indexed = 0.5;
	test_symmetries(&l, 4, "the same, half of them of an indexed column");
	l = workload_of(136, 12000);
	l.class[0].rows = 2400;
	l.class[0].stride = 5;
	l.class[0].all_rows = 1;
	test_symmetries(&l, 2, "every fifth row");
	l.class[0].rows = 12000;
	l.class[0].stride = 1;
	l.class[0].pick = TW_SWEEP;
	test_symmetries(&l, 4, "all rows at once");
	l = workload_of(136, 4000);
	l.class[0].rows = 100;
	l.class[0].pick = TW_IN_TURN;
	l.class[0].distance = 100;
	add_class(&l, EV_INSERT, 1, 100, TW_ANY);
	test_symmetries(&l, 4, "batches of new rows");
	printf("1..%d\n", tests);
	return failed != 0;
}
