/*
 * sql.c
 *	  SQL interface of the decision: takes a row of facts, returns a row.  Both are
 *	  read and written by column name.
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "utils/builtins.h"

#include "advise/decision.h"
#include "base/module.h"

PG_FUNCTION_INFO_V1(ff_decision_of);

static const NumberField fact_field[] = {
#define FACT(field) {#field, offsetof(DnFacts, field), 0, 0},
#define FACTS(field) {#field, offsetof(DnFacts, field), sizeof(double), EV_STEPS},
#include "advise/facts.h"
};

/* A field of DnDecision. */
static const struct
{
	const char *name;
	enum
	{
		RESULT_TEXT,
		RESULT_NUMBER,
		RESULT_TRUTH
	}			kind;
	size_t		offset;
}			result_field[] = {
#define RESULT(kind, field) {#field, RESULT_##kind, offsetof(DnDecision, field)},
#include "advise/facts.h"
};

/* The decision as a value of type decision.  Error 42703: a column is missing. */
static Datum
decision_row(FunctionCallInfo fcinfo, const DnDecision *d)
{
	TupleDesc	row = ff_result_desc(fcinfo);
	Datum		value[lengthof(result_field)] = {0};
	bool		null[lengthof(result_field)] = {0};

	if (row->natts != lengthof(result_field))
		elog(ERROR, "the result is not of type decision");
	for (int i = 0; i < lengthof(result_field); i++)
	{
		const char *from = (const char *) d + result_field[i].offset;
		int			k = ff_column(row, result_field[i].name, i);

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
			case RESULT_NUMBER:
				null[k] = isnan(*(const DnNumber *) from);
				if (TupleDescAttr(row, k)->atttypid == INT4OID && !null[k])
					value[k] = Int32GetDatum((int32) *(const DnNumber *) from);
				else
					value[k] = Float8GetDatum(*(const DnNumber *) from);
		}
	}
	return ff_row(fcinfo, value, null);
}

/* SQL: decision_of() */
Datum
ff_decision_of(PG_FUNCTION_ARGS)
{
	DnFacts		f;
	DnDecision	d;

	make_unknown(&f, sizeof(f));
	ff_read_numbers(fcinfo, 0, fact_field, lengthof(fact_field), &f, NULL);
	f.min_updates = ff_min_updates;
	f.min_gain = ff_min_gain / 100;
	f.min_confidence = ff_min_confidence;
	f.min_worth = ff_min_worth / 100;
	ff_decision(&f, &d);
	PG_RETURN_DATUM(decision_row(fcinfo, &d));
}
