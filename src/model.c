/*
 * model.c
 *	  The model's way into SQL: one row of evidence in, one row out with the
 *	  choice and all steps of the curve.
 *
 * The model itself (src/model/) is plain C.  Nothing is read here but the
 * argument and the settings, and nothing is kept: the same row and settings
 * give the same answer.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "model/decide.h"
#include "compat.h"
#include "numbers.h"
#include "module.h"

/* To be raised with every change after which the model answers otherwise: stored
 * fits of another version are not used. */
#define MODEL_VERSION	6

/* Nonsense beyond; fits an int64. */
#define MOST_BYTES	1e18

PG_FUNCTION_INFO_V1(ff_split_updates);
PG_FUNCTION_INFO_V1(ff_model);
PG_FUNCTION_INFO_V1(ff_model_version);
PG_FUNCTION_INFO_V1(ff_index_entry_price);

int			ff_payback_time;
double		ff_time_weight;
double		ff_wal_weight;
double		ff_size_weight;
double		ff_storage_weight;
double		ff_min_gain;
int			ff_min_updates;
double		ff_page_read_cost;

/* The argument and everything made of it. */
typedef struct Model
{
	Evidence	e;
	FitWork		work;
	Fit			fit;
	Forecast	forecast;
	Decision	decision;
} Model;

static int
attribute(TupleDesc desc, const char *name, Oid type)
{
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute a = TupleDescAttr(desc, i);

		if (a->attisdropped || strcmp(NameStr(a->attname), name) != 0)
			continue;
		if (a->atttypid != type)
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("column \"%s\" of the evidence is of type %s, not %s", name,
							format_type_be(a->atttypid), format_type_be(type))));
		return i;
	}
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_COLUMN),
			 errmsg("the evidence has no column \"%s\"", name)));
}

/* An unknown or infinite number is NAN. */
static double
number(Datum value, bool isnull)
{
	double		v = isnull ? NAN : DatumGetFloat8(value);

	return isfinite(v) ? v : NAN;
}

/* The elements of an array: how many, at most n; where there is one, the rest are 0. */
static int
read_array(Datum value, char *to, size_t step, int n)
{
	Datum	   *elements;
	bool	   *nulls;
	int			count;

	deconstruct_array(DatumGetArrayTypeP(value), FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL,
					  TYPALIGN_DOUBLE, &elements, &nulls, &count);
	for (int i = 0; i < n && count > 0; i++)
		*(double *) (to + i * step) = i < count ? number(elements[i], nulls[i]) : 0;
	return count < n ? count : n;
}

/*
 * The row of evidence as the model takes it, by ev_field; NULL and infinite are NAN.
 * Errors: 42703 a column is missing, 42804 one is of another type.
 */
static void
read_evidence(HeapTupleHeader row, Evidence *e)
{
	TupleDesc	desc = lookup_rowtype_tupdesc(HeapTupleHeaderGetTypeId(row),
											  HeapTupleHeaderGetTypMod(row));
	HeapTupleData tuple = {.t_len = HeapTupleHeaderGetDatumLength(row),.t_data = row};
	Datum	   *values = palloc(sizeof(Datum) * desc->natts);
	bool	   *nulls = palloc(sizeof(bool) * desc->natts);

	heap_deform_tuple(&tuple, desc, values, nulls);
	for (const EvField *f = ev_field; f < ev_field + ev_nfields; f++)
	{
		int			i = attribute(desc, f->name, f->n > 0 ? FLOAT8ARRAYOID : FLOAT8OID);
		char	   *to = (char *) e + f->offset;

		if (f->n == 0)
			*(double *) to = number(values[i], nulls[i]);
		else if (!nulls[i])
			ff_evidence_count(e, f, read_array(values[i], to, f->step, f->n));
	}
	ReleaseTupleDesc(desc);
}

/* What is asked for by the settings. */
static void
read_settings(Evidence *e)
{
	if (ff_page_read_cost > 0)
		e->read_us = ff_page_read_cost;
	e->horizon_s = ff_payback_time;
	e->time_weight = ff_time_weight;
	e->wal_weight = ff_wal_weight;
	e->size_weight = ff_size_weight * ff_storage_weight;
	e->min_gain = ff_min_gain / 100;
	e->min_updates = ff_min_updates;
}

/* Columns of a row to be made, in the order of its type. */
typedef struct Row
{
	TupleDesc	desc;
	int			n;
	Datum		values[24];
	bool		nulls[24];
} Row;

static void
start_row(Row *row, Oid type)
{
	memset(row, 0, sizeof(*row));
	row->desc = lookup_rowtype_tupdesc_copy(type, -1);
}

static void
put(Row *row, double v)
{
	row->nulls[row->n] = !isfinite(v);
	row->values[row->n++] = Float8GetDatum(isfinite(v) ? v : 0);
}

static void
put_int(Row *row, int v)
{
	row->values[row->n++] = Int32GetDatum(v);
}

static void
put_bytes(Row *row, double v)
{
	row->values[row->n++] = Int64GetDatum((int64) bound(v, 0, MOST_BYTES));
}

static Datum
finish_row(Row *row)
{
	if (row->n != row->desc->natts)
		elog(ERROR, "%d columns for a row of %d", row->n, row->desc->natts);
	return HeapTupleGetDatum(heap_form_tuple(row->desc, row->values, row->nulls));
}

static void
put_bool(Row *row, bool v)
{
	row->values[row->n++] = BoolGetDatum(v);
}

static void
put_text(Row *row, const char *v)
{
	row->nulls[row->n] = v == NULL;
	row->values[row->n++] = v == NULL ? (Datum) 0 : CStringGetTextDatum(v);
}

/* Quantiles of row lengths that SQL gets. */
#define LENGTHS_TOLD	16

/* A key and a number, with a comma before all but the first of its object. */
static void
append_number(StringInfo t, const char *key, double v)
{
	appendStringInfo(t, "%s\"%s\": %.6g", t->data[t->len - 1] == '{' ? "" : ", ", key,
					 isfinite(v) ? v : 0);
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

static void
append_class(StringInfo t, const TwinClass *c)
{
	static const char *const commands[] = {"insert", "update", "delete"};
	static const char *const picks[] = {"any", "skewed", "newest", "turn", "sweep", "oldest"};

	appendStringInfo(t, "{\"command\": \"%s\", \"pick\": \"%s\"",
					 commands[c->command], picks[c->pick]);
	append_number(t, "rate", c->rate);
	append_number(t, "rows", c->rows);
	append_number(t, "calls", c->calls);
	append_number(t, "distance", c->distance);
	append_number(t, "near", c->near);
	append_number(t, "skew", c->skew);
	append_number(t, "stride", c->stride);
	append_number(t, "indexed", c->indexed);
	append_number(t, "resizes", c->resizes);
	append_number(t, "whole", c->whole);
	appendStringInfoChar(t, '}');
}

/* A life as jsonb; the names are those of TwinLife, and how much of the table it replays. */
static Datum
life_jsonb(const FitPlan *plan, const TwinLife *l)
{
	StringInfoData text;
	StringInfo	t = &text;

	initStringInfo(t);
	appendStringInfoChar(t, '{');
	append_number(t, "start_rows", l->start_rows);
	append_number(t, "replayed_rows", plan->rows);
	append_number(t, "table_rows", plan->live);
	append_number(t, "lag", l->lag);
	append_number(t, "held", l->held);
	append_number(t, "held_share", l->held_share);
	append_number(t, "vacuum_share", l->vacuum_share);
	append_number(t, "vacuum_gap", l->vacuum_gap);
	append_number(t, "grow_updates", l->grow_updates);
	append_lengths(t, "insert_len", l->insert_len);
	append_lengths(t, "update_len", l->update_len);
	appendStringInfoString(t, ", \"classes\": [");
	for (int i = 0; i < l->nclasses; i++)
	{
		appendStringInfoString(t, i > 0 ? ", " : "");
		append_class(t, &l->class[i]);
	}
	appendStringInfoString(t, "]}");
	return DirectFunctionCall1(jsonb_in, CStringGetDatum(t->data));
}

/* The way to take to a step: with a rewrite only where that pays; as it is, that is to keep. */
static FcWay
way_of(const Model *m, int step)
{
	return step == m->forecast.current ? FC_SET : ff_decide_way(&m->e, &m->decision, step);
}

static const DcCost *
cost_of_step(const Model *m, int step)
{
	return &m->decision.cost[way_of(m, step)][step];
}

/* The least of all steps; to keep is 1. */
static double
least_ratio(const Model *m)
{
	double		least = 1;

	for (int i = 0; i < m->forecast.n; i++)
		least = fmin(least, cost_of_step(m, i)->ratio);
	return least;
}

/* As type ff_internal.choice has it. */
static Datum
choice_row(const Model *m, Oid type)
{
	static const char *const actions[] = {"wait", "keep", "set", "rewrite"};
	const Forecast *f = &m->forecast;
	const Decision *d = &m->decision;
	const FitPlan *p = &m->fit.plan;
	bool		fitted = m->fit.n > 0;
	Row			r;

	start_row(&r, type);
	put_text(&r, actions[d->action]);
	put_int(&r, f->step[f->current].fillfactor);
	put_int(&r, f->step[d->advised].fillfactor);
	put_int(&r, f->step[d->advised_in_ram].fillfactor);
	put(&r, 1 / (1 - d->gain));
	put(&r, 1 / least_ratio(m));
	put(&r, 1 / d->cost[FC_REWRITE][f->current].ratio);
	put(&r, fitted ? f->rewritten_hot_pct : NAN);
	put(&r, fitted ? d->cost[FC_SET][f->current].wal_bytes : NAN);
	put(&r, fitted ? d->cost[FC_SET][f->current].time_us : NAN);
	put(&r, d->confidence);
	put(&r, fitted ? d->settling : NAN);
	put(&r, fitted && d->settling > 0 ? d->settle_updates : NAN);
	r.nulls[r.n] = p->filled_at <= p->fillfactor;
	put_int(&r, p->filled_at);
	put(&r, 1 / d->calls);
	r.nulls[r.n] = !fitted;
	r.values[r.n++] = fitted ? life_jsonb(p, &m->fit.particle[0].life) : (Datum) 0;
	return finish_row(&r);
}

/* As type ff_internal.step has it. */
static Datum
step_row(const Model *m, int step, Oid type)
{
	const FcStep *s = &m->forecast.step[step];
	const DcCost *c = cost_of_step(m, step);
	/* the size of pages that are all filled so, as the HOT share is of these */
	const DcCost *filled = &m->decision.cost[step == m->forecast.current ? FC_SET : FC_REWRITE][step];
	bool		fitted = m->fit.n > 0;
	Row			r;

	start_row(&r, type);
	put_int(&r, s->fillfactor);
	put_int(&r, s->rows_per_page);
	put(&r, fitted ? s->hot_pct : NAN);
	put(&r, fitted ? s->hot_low : NAN);
	put(&r, fitted ? s->hot_high : NAN);
	put(&r, fitted ? s->moved_pct : NAN);
	put(&r, fitted ? s->settled_hot_pct : NAN);
	put_bytes(&r, filled->heap_bytes);
	put_bytes(&r, filled->index_bytes);
	put(&r, fitted ? c->wal_bytes : NAN);
	put(&r, fitted ? c->time_us : NAN);
	put(&r, c->ratio / least_ratio(m));
	put_bool(&r, way_of(m, step) == FC_REWRITE);
	return finish_row(&r);
}

static Datum
step_rows(const Model *m, Oid type)
{
	Datum	   *rows = palloc(sizeof(Datum) * m->forecast.n);

	for (int i = 0; i < m->forecast.n; i++)
		rows[i] = step_row(m, i, type);
	return PointerGetDatum(construct_array(rows, m->forecast.n, type, -1, false, TYPALIGN_DOUBLE));
}

static void
check_for_interrupts(void)
{
	CHECK_FOR_INTERRUPTS();
}

/*
 * ff_model(evidence ff_internal.model_input, curve boolean)
 *
 * What each fillfactor would do to a table, and which to take: see decide.h.
 * Returns the choice and the steps, from 100 downwards; NULL where no row length is
 * known.
 */
Datum
ff_model(PG_FUNCTION_ARGS)
{
	Model	   *m = palloc0(sizeof(Model));
	TupleDesc	desc;
	Datum		values[2];
	bool		nulls[2] = {0};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE || desc->natts != 2)
		elog(ERROR, "return type must be a row of two columns");
	ff_evidence_clear(&m->e);
	read_evidence(PG_GETARG_HEAPTUPLEHEADER(0), &m->e);
	read_settings(&m->e);
	m->work.check = check_for_interrupts;
	ff_decide(&m->work, &m->e, PG_GETARG_BOOL(1), &m->fit, &m->forecast, &m->decision);
	if (m->forecast.n == 0)
		PG_RETURN_NULL();

	values[0] = choice_row(m, TupleDescAttr(desc, 0)->atttypid);
	values[1] = step_rows(m, get_element_type(TupleDescAttr(desc, 1)->atttypid));
	pfree(m);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}

Datum
ff_model_version(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(MODEL_VERSION);
}

/* A row of double precision columns, as the function's result. */
static Datum
numbers_row(FunctionCallInfo fcinfo, const double *v, int n)
{
	Row			r = {0};

	if (get_call_result_type(fcinfo, NULL, &r.desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	r.desc = BlessTupleDesc(r.desc);
	for (int i = 0; i < n; i++)
		put(&r, v[i]);
	return finish_row(&r);
}

/* What one index entry costs: WAL bytes, microseconds of CPU. */
Datum
ff_index_entry_price(PG_FUNCTION_ARGS)
{
	double		price[2];

	ff_decide_index_entry(&price[0], &price[1]);

	PG_RETURN_DATUM(numbers_row(fcinfo, price, lengthof(price)));
}

/*
 * ff_split_updates(updated, hot, newpage, seen_same_page, seen_newpage,
 *					indexed_share, seen_hot: all float8)
 *
 * Shares of the updates, see ff_fit_split(); NULL where unknown, as any
 * argument may be.
 */
Datum
ff_split_updates(PG_FUNCTION_ARGS)
{
#define NUMBER(i) (PG_ARGISNULL(i) ? NAN : PG_GETARG_FLOAT8(i))
	Evidence	e;
	FitSplit	s;

	ff_evidence_clear(&e);
	e.nintervals = 1;
	e.interval[0] = (EvInterval) {
		.updated = or_else(NUMBER(0), 0),.hot = NUMBER(1),.newpage = NUMBER(2)
	};
	e.seen_same_page = NUMBER(3);
	e.seen_moved = NUMBER(4);
	e.indexed_share = NUMBER(5);
	e.seen_hot = NUMBER(6);
	s = ff_fit_split(&e);
	PG_RETURN_DATUM(numbers_row(fcinfo, (double[]) {
		s.moved, s.blocked, s.eligible, s.recoverable, s.kept, s.kept_with_room
	}, 6));
}
