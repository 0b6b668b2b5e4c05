/*
 * result.c
 *	  From what was counted to the row that a sampling function returns.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "access/htup_details.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "sample/result.h"

/* Room for so many items at first. */
#define FF_FIRST_ITEMS 1024

void
ff_add_item(FfItems *items, double value, double weight, int stratum)
{
	if (items->nitems == items->room)
	{
		items->room = Max(FF_FIRST_ITEMS, items->room * 2);
		if (items->item == NULL)
			items->item = palloc(sizeof(FfItem) * items->room);
		else
			items->item = repalloc_huge(items->item,
										sizeof(FfItem) * items->room);
	}
	items->item[items->nitems].value = value;
	items->item[items->nitems].weight = weight;
	items->item[items->nitems++].stratum = stratum;
}

/* Bytes of WAL since a page changed, unless that is not known. */
void
ff_add_lsn_age(FfItems *items, XLogRecPtr now, XLogRecPtr lsn, int stratum)
{
	if (now != InvalidXLogRecPtr && lsn != InvalidXLogRecPtr)
		ff_add_item(items, lsn < now ? (double) (now - lsn) : 0, 1, stratum);
}

static int
compare_items(const void *a, const void *b)
{
	double		x = ((const FfItem *) a)->value;
	double		y = ((const FfItem *) b)->value;

	return x < y ? -1 : x > y;
}

/* Makes weights those of the whole relation, and sorts by value. */
void
ff_finish_items(FfItems *items, const FfStrata *strata)
{
	for (int i = 0; i < items->nitems; i++)
		items->item[i].weight *= ff_strata_weight(strata,
												  items->item[i].stratum);
	if (items->nitems > 1)
		qsort(items->item, items->nitems, sizeof(FfItem), compare_items);
}

/*
 * The least value that at least this share of the weight does not exceed; NaN
 * if there is none.
 */
double
ff_quantile(const FfItems *items, double share)
{
	double		sum = 0;
	double		seen = 0;

	if (items->nitems == 0)
		return NAN;
	for (int i = 0; i < items->nitems; i++)
		sum += items->item[i].weight;
	for (int i = 0; i < items->nitems; i++)
	{
		seen += items->item[i].weight;
		if (seen >= share * sum)
			return items->item[i].value;
	}
	return items->item[items->nitems - 1].value;
}

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
	/* an older release's SQL knows fewer columns, newer ones come last */
	if (tupdesc->natts > row->ncolumns)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("library and SQL definition of a function differ: %d and %d columns",
						row->ncolumns, tupdesc->natts),
				 errhint("Run ALTER EXTENSION fillfactor_advisor UPDATE.")));
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(tupdesc),
											 row->values, row->nulls));
}
