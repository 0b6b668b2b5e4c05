/*
 * result.c
 *	  From what was counted to the row that a sampling function returns.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "sample/result.h"

void
ff_put_datum(FfRow *row, Datum value)
{
	row->nulls[row->ncolumns] = false;
	row->values[row->ncolumns++] = value;
}

/* NaN stands for what has no meaning here. */
void
ff_put_float(FfRow *row, double value)
{
	row->nulls[row->ncolumns] = isnan(value);
	row->values[row->ncolumns++] = Float8GetDatum(value);
}

void
ff_put_estimate(FfRow *row, FfEstimate estimate, double factor)
{
	ff_put_float(row, estimate.value * factor);
	ff_put_float(row, estimate.error * factor);
}

void
ff_put_histogram(FfRow *row, const int *bin, int nbins)
{
	Datum	   *element = palloc(sizeof(Datum) * nbins);

	for (int i = 0; i < nbins; i++)
		element[i] = Int32GetDatum(bin[i]);
	ff_put_datum(row, PointerGetDatum(construct_array(element, nbins, INT4OID,
													  sizeof(int32), true,
													  TYPALIGN_INT)));
}

/* The row as a composite value of the calling function's type. */
Datum
ff_row_datum(FunctionCallInfo fcinfo, FfRow *row)
{
	TupleDesc	tupdesc;

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	if (tupdesc->natts != row->ncolumns)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("library and SQL definition of a function differ: %d and %d columns",
						row->ncolumns, tupdesc->natts)));
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(tupdesc),
											 row->values, row->nulls));
}
