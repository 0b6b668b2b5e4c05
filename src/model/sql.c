/*
 * sql.c
 *	  SQL interface of the model: takes a row of evidence, returns a JSON object with the
 *	  choice and all steps of the curve.  Nothing is kept between calls.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "model/choice.h"
#include "base/module.h"

/* Increase it with every change of the model's results: stored fits of another version are
 * not used. */
#define MODEL_VERSION	25

/* Upper limit of sizes in the result, so that all are written exactly (chosen). */
#define MOST_BYTES	1e16

PG_FUNCTION_INFO_V1(ff_split_updates);
PG_FUNCTION_INFO_V1(ff_model_fields);
PG_FUNCTION_INFO_V1(ff_model);
PG_FUNCTION_INFO_V1(ff_model_version);
PG_FUNCTION_INFO_V1(ff_rows_per_page);

/* The argument and everything computed from it. */
typedef struct Model
{
	Evidence	e;
	FitWork		work;
	Fit			fit;
	Forecast	forecast;
	Choice		choice;
} Model;

/* SQL: model_fields(): the columns of type model_input, which is made of it */
Datum
ff_model_fields(PG_FUNCTION_ARGS)
{
	StringInfoData t;

	initStringInfo(&t);
	for (const NumberField *f = ev_field; f < ev_field + ev_nfields; f++)
		appendStringInfo(&t, "%s%s float8%s", t.len > 0 ? ", " : "", f->name, f->n > 0 ? "[]" : "");
	PG_RETURN_TEXT_P(cstring_to_text(t.data));
}

/* Fields that come from the settings. */
static void
read_settings(Evidence *e)
{
	if (ff_page_read_cost > 0)
		e->read_us = ff_page_read_cost;
	e->payback_s = ff_payback_time;
	e->time_weight = ff_time_weight;
	e->wal_weight = ff_wal_weight;
	e->size_weight = ff_size_weight * ff_storage_weight;
	e->min_gain = ff_min_gain / 100;
	e->min_updates = ff_min_updates;
}

/* Number of quantiles of row lengths in the result. */
#define LENGTHS_TOLD	16

/* Digits of a number that must be exact, and of one that is only for reading. */
#define EXACT	17
#define SHORT	6

typedef struct Number
{
	const char *key;			/* NULL after the last */
	double		value;
} Number;

/* A field of a struct, under its own name. */
#define OF(from, field) {#field, (from)->field}

/* Appends members of an object, null if unknown. */
static void
append_numbers(StringInfo t, int digits, const Number *n)
{
	for (; n->key != NULL; n++)
	{
		appendStringInfo(t, "%s\"%s\": ", t->data[t->len - 1] == '{' ? "" : ", ", n->key);
		if (isfinite(n->value))
			appendStringInfo(t, "%.*g", digits, n->value);
		else
			appendStringInfoString(t, "null");
	}
}

static void
append_lengths(StringInfo t, const char *key, const int16_t *quantile)
{
	appendStringInfo(t, ", \"%s\": [", key);
	for (int i = 0; i < LENGTHS_TOLD; i++)
		appendStringInfo(t, "%s%d", i > 0 ? ", " : "",
						 quantile[(2 * i + 1) * TW_QUANTILES / (2 * LENGTHS_TOLD)]);
	appendStringInfoChar(t, ']');
}

/* Appends a workload, with the names of TwinWorkload, and how much of the table it replays. */
static void
append_workload(StringInfo t, const FitPlan *plan, const TwinWorkload *l)
{
	static const char *const commands[] = {"insert", "update", "delete"};
	static const char *const picks[] = {"any", "skewed", "newest", "turn", "sweep", "oldest"};

	appendStringInfoChar(t, '{');
	append_numbers(t, SHORT, (Number[]) {
		OF(l, start_rows), {"replayed_rows", plan->rows}, {"table_rows", plan->live}, OF(l, lag),
		OF(l, held), OF(l, held_share), OF(l, vacuum_share), OF(l, vacuum_gap), {NULL}
	});
	append_lengths(t, "insert_len", l->insert_len);
	append_lengths(t, "update_len", l->update_len);
	appendStringInfoString(t, ", \"classes\": [");
	for (int i = 0; i < l->nclasses; i++)
	{
		const TwinClass *c = &l->class[i];

		/* what happened once is no part of the workload */
		if (c->once > 0)
			continue;
		appendStringInfo(t, "%s{\"command\": \"%s\", \"pick\": \"%s\"",
						 t->data[t->len - 1] == '[' ? "" : ", ", commands[c->command], picks[c->pick]);
		append_numbers(t, SHORT, (Number[]) {
			OF(c, rate), OF(c, rows), OF(c, calls), OF(c, distance), OF(c, near), OF(c, skew),
			OF(c, stride), OF(c, indexed), OF(c, resizes), OF(c, all_rows), {NULL}
		});
		appendStringInfoChar(t, '}');
	}
	appendStringInfoString(t, "]}");
}

/* How to reach a step: with a rewrite only if it pays; FC_SET, so keep, at the current step. */
static FcWay
way_of(const Model *m, int step)
{
	return step == m->forecast.current ? FC_SET : ff_choice_way(&m->e, &m->choice, step);
}

static const ChCost *
cost_of_step(const Model *m, int step)
{
	return &m->choice.cost[way_of(m, step)][step];
}

/* The least cost ratio of all steps; keeping the current one is 1. */
static double
least_ratio(const Model *m)
{
	double		least = 1;

	for (int i = 0; i < m->forecast.n; i++)
		least = fmin(least, cost_of_step(m, i)->ratio);
	return least;
}

/* The workload whose settled HOT shares are nearest to the predicted ones. */
static const TwinWorkload *
typical_workload(const Model *m)
{
	const Forecast *f = &m->forecast;
	double		least = INFINITY;
	int			typical = 0;

	for (int i = 0; i < f->nworkloads; i++)
	{
		double		off = 0;

		for (int k = 0; k < f->n; k++)
		{
			FcWay		way = k == f->current ? FC_SET : FC_REWRITE;

			off += fabs(100 * f->outcome[way][i][k].settled_hot - f->step[k].mean[way].settled_hot_pct);
		}
		if (off < least)
		{
			least = off;
			typical = i;
		}
	}
	return &m->fit.particle[typical].workload;
}

/* Appends a value of type ff_internal.choice. */
static void
append_choice(StringInfo t, const Model *m)
{
	static const char *const actions[] = {"wait", "keep", "set", "rewrite"};
	const Forecast *f = &m->forecast;
	const Choice *d = &m->choice;
	const FitPlan *p = &m->fit.plan;
	const ChCost *keep = &d->cost[FC_SET][f->current];
	bool		fitted = m->fit.n > 0;

	appendStringInfo(t, "{\"action\": \"%s\"", actions[d->action]);
	append_numbers(t, EXACT, (Number[]) {
		{"current_step", f->step[f->current].fillfactor},
		{"advised_step", f->step[d->advised].fillfactor},
		{"gain", 1 / (1 - d->gain)},
		{"best_gain", 1 / least_ratio(m)},
		{"rewrite_gain", 1 / d->cost[FC_REWRITE][f->current].ratio},
		{"rewrite_hot_pct", fitted ? f->step[f->current].mean[FC_REWRITE].hot_pct : NAN},
		{"wal_bytes_now", fitted ? keep->wal_bytes : NAN},
		{"us_now", fitted ? keep->time_us : NAN},
		{"confidence", d->confidence},
		{"settling", fitted ? d->settling : NAN},
		{"settle_updates", fitted && d->settling > 0 ? d->settle_updates : NAN},
		{"filled_at", p->filled_at > p->fillfactor ? p->filled_at : NAN},
		{"update_call_rows", 1 / d->calls},
		{"set_apart", d->set_apart},
		{NULL}
	});
	if (fitted)
	{
		appendStringInfoString(t, ", \"workload\": ");
		append_workload(t, p, typical_workload(m));
	}
	appendStringInfoChar(t, '}');
}

/* Appends a value of type ff_internal.step. */
static void
append_step(StringInfo t, const Model *m, int step)
{
	const FcStep *s = &m->forecast.step[step];
	const FcMean *then = &s->mean[way_of(m, step)];
	const FcMean *rewritten = &s->mean[FC_REWRITE];
	const ChCost *c = cost_of_step(m, step);
	/* a raise frees pages only if the table is rewritten at some time */
	const ChCost *sized = step < m->forecast.current ? &m->choice.cost[FC_REWRITE][step] : c;
	bool		fitted = m->fit.n > 0;

	appendStringInfoChar(t, '{');
	append_numbers(t, EXACT, (Number[]) {
		{"fillfactor", s->fillfactor},
		{"rows_per_page", s->rows_per_page},
		{"hot_pct", fitted ? then->hot_pct : NAN},
		{"hot_pct_low", fitted ? then->hot_low : NAN},
		{"hot_pct_high", fitted ? then->hot_high : NAN},
		{"newpage_pct", fitted ? then->moved_pct : NAN},
		{"settled_hot_pct", fitted ? then->settled_hot_pct : NAN},
		{"size_bytes", floor(bound(sized->heap_bytes, 0, MOST_BYTES))},
		{"index_bytes", floor(bound(sized->index_bytes, 0, MOST_BYTES))},
		{"wal_bytes_per_update", fitted ? c->wal_bytes : NAN},
		{"wal_of_updates", fitted ? c->wal_of_updates : NAN},
		{"us_per_update", fitted ? c->time_us : NAN},
		{"cost", c->ratio / least_ratio(m)},
		{"needs_rewrite", way_of(m, step) == FC_REWRITE},
		{"rewritten_hot_pct", fitted ? rewritten->settled_hot_pct : NAN},
		{"rewritten_hot_low", fitted ? fmin(rewritten->settled_hot_pct, rewritten->hot_low) : NAN},
		{"rewritten_hot_high", fitted ? fmax(rewritten->settled_hot_pct, rewritten->hot_high) : NAN},
		{NULL}
	});
	appendStringInfoChar(t, '}');
}

static void
check_for_interrupts(void)
{
	CHECK_FOR_INTERRUPTS();
}

/* SQL: model().  NULL if an argument is. */
Datum
ff_model(PG_FUNCTION_ARGS)
{
	Model	   *m;
	int		   *count = palloc0(sizeof(int) * ev_nfields);
	StringInfoData t;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	m = palloc0(sizeof(Model));
	ff_evidence_clear(&m->e);
	ff_read_numbers(fcinfo, 0, ev_field, ev_nfields, &m->e, count);
	for (int i = 0; i < ev_nfields; i++)
		ff_evidence_count(&m->e, &ev_field[i], count[i]);
	read_settings(&m->e);
	ff_twin_check = check_for_interrupts;
	ff_choose(&m->work, &m->e, PG_GETARG_BOOL(1), &m->fit, &m->forecast, &m->choice);
	if (m->forecast.n == 0)
		PG_RETURN_NULL();

	initStringInfo(&t);
	appendStringInfoString(&t, "{\"choice\": ");
	append_choice(&t, m);
	for (int i = 0; i < m->forecast.n; i++)
	{
		appendStringInfoString(&t, i == 0 ? ", \"steps\": [" : ", ");
		append_step(&t, m, i);
	}
	appendStringInfoString(&t, "]}");
	pfree(m);
	PG_RETURN_TEXT_P(cstring_to_text_with_len(t.data, t.len));
}

Datum
ff_model_version(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(MODEL_VERSION);
}

/* SQL: rows_per_page().  NULL if the width is unknown. */
Datum
ff_rows_per_page(PG_FUNCTION_ARGS)
{
	double		width = PG_GETARG_FLOAT8(1);

	if (!(width > 0))
		PG_RETURN_NULL();
	PG_RETURN_INT32(ff_twin_rows_per_page((int) bound(PG_GETARG_INT32(0), TW_MIN_FF, TW_MAX_FF),
										  (int) bound(ceil(width), 1, TW_MAX_LEN)));
}

/* SQL: split_updates().  Any argument may be NULL. */
Datum
ff_split_updates(PG_FUNCTION_ARGS)
{
#define NUMBER(i) (PG_ARGISNULL(i) || !isfinite(PG_GETARG_FLOAT8(i)) ? NAN : PG_GETARG_FLOAT8(i))
	Evidence	e;
	FitSplit	s;
	const double *share;
	Datum		values[6];
	bool		nulls[6];

	ff_evidence_clear(&e);
	e.nintervals = 1;
	e.interval[0] = (EvInterval) {
		.updated = or_else(NUMBER(0), 0),.hot = NUMBER(1),.newpage = NUMBER(2)
	};
	e.seen_same_page = NUMBER(3);
	e.seen_moved = NUMBER(4);
	e.indexed_share = NUMBER(5);
	e.seen_hot = NUMBER(6);
	e.triggers = NUMBER(7);
	s = ff_fit_split(&e);
	share = (double[]) {s.moved, s.blocked, s.eligible, s.recoverable, s.kept, s.kept_with_room};
	for (int i = 0; i < lengthof(values); i++)
	{
		nulls[i] = !isfinite(share[i]);
		values[i] = Float8GetDatum(share[i]);
	}
	PG_RETURN_DATUM(ff_row(fcinfo, values, nulls));
}
