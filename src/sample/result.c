/*
 * result.c
 *	  From what was counted to the row that a sampling function returns.
 *
 * A kind of sample has one table of its columns, in the order of its row type; a
 * column that only one side knows is an error.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/array.h"

#include "sample/sample.h"

/* A number, in the column's type; NaN is NULL. */
static Datum
number_datum(double value, Oid type, bool *isnull)
{
	*isnull = isnan(value);
	if (*isnull)
		return (Datum) 0;
	switch (type)
	{
		case INT4OID:
			return Int32GetDatum((int32) value);
		case INT8OID:
			return Int64GetDatum((int64) value);
		case FLOAT4OID:
			return Float4GetDatum((float4) value);
		case FLOAT8OID:
			return Float8GetDatum(value);
	}
	elog(ERROR, "a page sample has no columns of type %u", type);
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
	bool		ratio = c->source == FF_RATIO || c->source == FF_PERCENT;
	FfEstimate	estimate;
	double		number;

	switch (c->source)
	{
		case FF_BLOCKS:
			return strata->blocks;
		case FF_COUNT:
			return *(const int *) ((const char *) sample + c->a);
		case FF_MOST_ROWS:
			return strata->blocks > 0 ? sample->most_rows : NAN;
		case FF_MEDIAN:
			number = ff_median(sample, c->a);
			return isnan(number) ? ff_median(sample, c->b) : number;
		case FF_SHARE:
		case FF_TOTAL:
		case FF_RATIO:
		case FF_PERCENT:
			/* of rows nobody knows how many more a page could have */
			estimate = ratio ? ff_strata_estimate(strata, c->a, c->b) :
				ff_strata_total(strata, c->a, c->source == FF_SHARE ? BLCKSZ : 0);
			number = c->error ? estimate.error : estimate.value;
			if (c->source == FF_SHARE)
				return strata->blocks > 0 ? 100 * number / strata->blocks / BLCKSZ : NAN;
			return c->source == FF_PERCENT ? 100 * number : number;
		default:
			return NAN;			/* FF_CALLER */
	}
}

static Datum
column_value(const FfSample *sample, const FfColumn *c, Oid type, bool *isnull)
{
	switch (c->source)
	{
		case FF_RELATION:
			return ObjectIdGetDatum(RelationGetRelid(sample->rel));
		case FF_TABLE:
			return ObjectIdGetDatum(sample->rel->rd_index->indrelid);
		case FF_FILL:
			return fill_datum(sample);
		case FF_LENGTHS:
		case FF_GROUPS:
		case FF_POWERS:
			return ff_histogram_datum(sample, c, isnull);
		default:
			return number_datum(column_number(sample, c), type, isnull);
	}
}

/* Error 55000 where the type has other columns than the library. */
static void
check_columns(TupleDesc desc, const FfColumn *column, int ncolumns)
{
	for (int i = 0; i < Max(desc->natts, ncolumns); i++)
	{
		const char *sql = i < desc->natts ? NameStr(TupleDescAttr(desc, i)->attname) : "none";
		const char *library = i < ncolumns ? column[i].name : "none";

		if (strcmp(sql, library) != 0)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("column %d of a page sample is \"%s\" in SQL and \"%s\" in the library",
							i + 1, sql, library),
					 errhint("The library and the SQL objects are of different versions.")));
	}
}

/* The sample as a row of the type that the calling function returns; closes the relation. */
Datum
ff_sample_row(FunctionCallInfo fcinfo, FfSample *sample, const FfColumn *column, int ncolumns)
{
	TupleDesc	desc;
	Datum	   *values = palloc(sizeof(Datum) * ncolumns);
	bool	   *nulls = palloc0(sizeof(bool) * ncolumns);

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	check_columns(desc, column, ncolumns);
	for (int i = 0; i < ncolumns; i++)
		values[i] = column_value(sample, &column[i], TupleDescAttr(desc, i)->atttypid, &nulls[i]);
	relation_close(sample->rel, AccessShareLock);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls));
}
