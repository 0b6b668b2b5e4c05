/*
 * result.c
 *	  From what was counted to the row that a sampling function returns.
 *
 * A kind of sample has one table of its columns.  They are found by name and
 * given the type that they have in SQL; a column that only one side knows is
 * an error.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "compat.h"
#include "sample/sample.h"

/* A number, in the column's type; NaN is NULL. */
Datum
ff_number_datum(double value, Form_pg_attribute attribute, bool *isnull)
{
	*isnull = isnan(value);
	if (*isnull)
		return (Datum) 0;
	switch (attribute->atttypid)
	{
		case INT2OID:
			return Int16GetDatum((int16) value);
		case INT4OID:
			return Int32GetDatum((int32) value);
		case INT8OID:
			return Int64GetDatum((int64) value);
		case FLOAT4OID:
			return Float4GetDatum((float4) value);
		case FLOAT8OID:
			return Float8GetDatum(value);
	}
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("column \"%s\" of a page sample has type %s", NameStr(attribute->attname),
					format_type_be(attribute->atttypid))));
}

static Datum
fill_datum(const FfSample *sample)
{
	Datum		element[FF_FILL_BINS];

	for (int i = 0; i < FF_FILL_BINS; i++)
		element[i] = Int32GetDatum(sample->fill_bin[i]);
	return PointerGetDatum(construct_array(element, FF_FILL_BINS, INT4OID,
										   sizeof(int32), true, TYPALIGN_INT));
}

static double
column_number(const FfSample *sample, const FfColumn *c)
{
	const FfStrata *strata = &sample->strata;
	const double percent = 100.0 / BLCKSZ;

	switch (c->source)
	{
		case FF_BLOCKS:
			return strata->blocks;
		case FF_COUNT:
			return *(const int *) ((const char *) sample + c->a);
		case FF_MEAN:
			return ff_strata_mean(strata, c->a).value * percent;
		case FF_MEAN_ERR:
			return ff_strata_mean(strata, c->a).error * percent;
		case FF_TOTAL:
			return ff_strata_total(strata, c->a).value;
		case FF_TOTAL_ERR:
			return ff_strata_total(strata, c->a).error;
		case FF_RATIO:
			return ff_strata_ratio(strata, c->a, c->b).value * c->factor;
		case FF_RATIO_ERR:
			return ff_strata_ratio(strata, c->a, c->b).error * c->factor;
		default:
			return NAN;
	}
}

static void
report_mismatch(const char *side, const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("%s no column \"%s\" of a page sample", side, name),
			 errhint("The extension's library and its SQL objects are of different versions.")));
}

/* The columns in the order of the row type. */
const FfColumn **
ff_find_columns(TupleDesc desc, const FfColumn *columns, int ncolumns)
{
	const FfColumn **found = palloc0(sizeof(FfColumn *) * desc->natts);

	for (int k = 0; k < ncolumns; k++)
	{
		int			i = 0;

		while (i < desc->natts &&
			   strcmp(columns[k].name, NameStr(TupleDescAttr(desc, i)->attname)) != 0)
			i++;
		if (i == desc->natts)
			report_mismatch("the SQL objects have", columns[k].name);
		found[i] = &columns[k];
	}
	for (int i = 0; i < desc->natts; i++)
		if (found[i] == NULL)
			report_mismatch("the library has", NameStr(TupleDescAttr(desc, i)->attname));
	return found;
}

/* The sample as a row of the type that the calling function returns; closes the relation. */
Datum
ff_sample_row(FunctionCallInfo fcinfo, FfSample *sample, const FfColumn *columns, int ncolumns,
			  FfOwnValue own_value)
{
	TupleDesc	desc;
	const FfColumn **column;
	Datum	   *values;
	bool	   *nulls;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	column = ff_find_columns(desc, columns, ncolumns);
	values = palloc(sizeof(Datum) * desc->natts);
	nulls = palloc0(sizeof(bool) * desc->natts);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);

		if (column[i]->source == FF_OWN)
			values[i] = own_value(sample, column[i], attribute, &nulls[i]);
		else if (column[i]->source == FF_FILL)
			values[i] = fill_datum(sample);
		else
			values[i] = ff_number_datum(column_number(sample, column[i]), attribute, &nulls[i]);
	}
	relation_close(sample->rel, AccessShareLock);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls));
}
