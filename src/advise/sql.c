/*
 * sql.c
 *	  SQL interface of the decision: takes a row of facts, returns a row.  Both are
 *	  read and written by column name.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "advise/decision.h"
#include "base/module.h"
#include "base/numbers.h"

PG_FUNCTION_INFO_V1(ff_decision_of);
PG_FUNCTION_INFO_V1(ff_threshold);

typedef enum Kind
{
	FACT_NUMBER,
	FACT_ARRAY,
	RESULT_TEXT,
	RESULT_NUMBER,
	RESULT_TRUTH
} Kind;

/* A field of DnFacts or DnDecision. */
typedef struct Field
{
	const char *name;
	Kind		kind;
	size_t		offset;
} Field;

static const Field fact_field[] = {
#define FACT(field) {#field, FACT_NUMBER, offsetof(DnFacts, field)},
#define FACTS(field) {#field, FACT_ARRAY, offsetof(DnFacts, field)},
#include "advise/facts.h"
};

static const Field result_field[] = {
#define RESULT(kind, field) {#field, RESULT_##kind, offsetof(DnDecision, field)},
#include "advise/facts.h"
};

static const struct
{
	const char *name;
	double		value;
}			threshold[] = {
#define THRESHOLD(name, value) {#name, value},
#include "model/thresholds.h"
};

/* Where the fields are, in rows of one type; kept between the calls of a query. */
typedef struct Columns
{
	Oid			type;
	int32		typmod;
	int			fact[lengthof(fact_field)];
	int			result[lengthof(result_field)];
	TupleDesc	row;			/* of the result */
} Columns;

/* Columns of the fields in a row.  Error 42703: one is missing. */
static void
find_columns(TupleDesc desc, const Field *field, int n, const char *row, int *column)
{
	for (int i = 0; i < n; i++)
	{
		column[i] = SPI_fnumber(desc, field[i].name) - 1;
		if (column[i] < 0)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_COLUMN),
					 errmsg("the %s no column \"%s\"", row, field[i].name)));
	}
}

static Columns *
columns_of(FunctionCallInfo fcinfo, TupleDesc facts)
{
	Columns    *c = fcinfo->flinfo->fn_extra;
	MemoryContext old;
	TupleDesc	row;

	if (c != NULL && c->type == facts->tdtypeid && c->typmod == facts->tdtypmod)
		return c;
	if (get_call_result_type(fcinfo, NULL, &row) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	old = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	c = palloc(sizeof(Columns));
	c->row = BlessTupleDesc(CreateTupleDescCopy(row));
	MemoryContextSwitchTo(old);
	c->type = facts->tdtypeid;
	c->typmod = facts->tdtypmod;
	find_columns(facts, fact_field, lengthof(fact_field), "facts have", c->fact);
	find_columns(c->row, result_field, lengthof(result_field), "decision has", c->result);
	fcinfo->flinfo->fn_extra = c;
	return c;
}

static void
read_numbers(Datum value, Form_pg_attribute a, double *to)
{
	Datum	   *element;
	bool	   *null;
	int			n;

	if (a->atttypid != FLOAT8ARRAYOID)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of the facts is of type %s", NameStr(a->attname),
						format_type_be(a->atttypid))));
	deconstruct_array(DatumGetArrayTypeP(value), FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL,
					  TYPALIGN_DOUBLE, &element, &null, &n);
	for (int i = 0; i < n && i < EV_STEPS; i++)
		to[i] = null[i] ? NAN : DatumGetFloat8(element[i]);
}

static void
read_facts(const Datum *value, const bool *null, TupleDesc desc, const Columns *c, DnFacts *f)
{
	ff_facts_clear(f);
	for (int i = 0; i < lengthof(fact_field); i++)
	{
		int			k = c->fact[i];
		double	   *to = (double *) ((char *) f + fact_field[i].offset);

		if (null[k])
			continue;
		if (fact_field[i].kind == FACT_ARRAY)
			read_numbers(value[k], TupleDescAttr(desc, k), to);
		else
			*to = ff_number(value[k], TupleDescAttr(desc, k));
	}
	f->min_updates = ff_min_updates;
	f->min_gain = ff_min_gain / 100;
	f->min_confidence = ff_min_confidence;
	f->min_worth = ff_min_worth / 100;
}

static Datum
decision_row(const DnDecision *d, const Columns *c)
{
	Datum		value[lengthof(result_field)] = {0};
	bool		null[lengthof(result_field)] = {0};

	if (c->row->natts != lengthof(result_field))
		elog(ERROR, "type decision has %d columns", c->row->natts);
	for (int i = 0; i < lengthof(result_field); i++)
	{
		const char *from = (const char *) d + result_field[i].offset;
		int			k = c->result[i];
		Oid			type = TupleDescAttr(c->row, k)->atttypid;

		switch (result_field[i].kind)
		{
			case RESULT_TEXT:
				null[k] = *(const DnText *) from == NULL;
				if (!null[k])
					value[k] = CStringGetTextDatum(*(const DnText *) from);
				break;
			case RESULT_TRUTH:
				value[k] = BoolGetDatum(*(const DnTruth *) from != 0);
				break;
			default:
				null[k] = isnan(*(const DnNumber *) from);
				if (type == INT4OID && !null[k])
					value[k] = Int32GetDatum((int32) *(const DnNumber *) from);
				else
					value[k] = Float8GetDatum(*(const DnNumber *) from);
		}
	}
	return HeapTupleGetDatum(heap_form_tuple(c->row, value, null));
}

/*
 * ff_decision_of(facts record) returns ff_internal.decision
 *
 * Errors: 42703 the facts lack a column, 42804 one is of a type that is not expected.
 */
Datum
ff_decision_of(PG_FUNCTION_ARGS)
{
	Datum	   *value;
	bool	   *null;
	TupleDesc	desc = ff_read_row(fcinfo, 0, &value, &null);
	Columns    *c = columns_of(fcinfo, desc);
	DnFacts		f;
	DnDecision	d;

	read_facts(value, null, desc, c, &f);
	ReleaseTupleDesc(desc);
	ff_decision(&f, &d);
	PG_RETURN_DATUM(decision_row(&d, c));
}

/* ff_threshold(name text) returns float8.  Error 42704: there is none of this name. */
Datum
ff_threshold(PG_FUNCTION_ARGS)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(0));

	for (int i = 0; i < lengthof(threshold); i++)
		if (strcmp(threshold[i].name, name) == 0)
			PG_RETURN_FLOAT8(threshold[i].value);
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("there is no threshold \"%s\"", name)));
	PG_RETURN_NULL();
}
