/*
 * result.c
 *	  Turns the counts of a sample into the row that a sampling function returns.
 *
 * Each kind of sample has one array of all columns that it can fill.  A function's row
 * type chooses among them by name.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_type.h"
#include "funcapi.h"

#include "base/module.h"
#include "sample/sample.h"

static double
column_number(const FfSample *sample, const FfColumn *c)
{
	const FfStrata *strata = &sample->strata;
	bool		ratio = c->source == FF_RATIO || c->source == FF_PERCENT;
	FfEstimate	estimate;
	double		number;

	switch (c->source)
	{
		case FF_RELATION:
			return RelationGetRelid(sample->rel);
		case FF_TABLE:
			return sample->rel->rd_index->indrelid;
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
			/* the most bytes of a page are known, the most rows are not */
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

/* Input text for the column's type, rounded if it is shown; NULL if unknown. */
static char *
column_text(const FfSample *sample, const FfColumn *c, bool shown)
{
	double		number;

	if (c->source >= FF_LENGTHS)
		return ff_histogram_text(sample, c);
	number = column_number(sample, c);
	if (isnan(number))
		return NULL;
	if (shown && (c->source == FF_SHARE || c->source == FF_PERCENT))
		return psprintf("%.3f", number);
	if (shown && (c->source == FF_TOTAL || c->source == FF_RATIO))
		return psprintf("%.*f", c->source == FF_TOTAL && !c->error ? 0 : 1, number);
	return psprintf("%.17g", number);
}

/* The column of this name; error 55000 if there is none. */
const FfColumn *
ff_find_column(const FfColumn *column, int ncolumns, const char *name)
{
	for (int i = 0; i < ncolumns; i++)
		if (strcmp(column[i].name, name) == 0)
			return &column[i];
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("the library has no column \"%s\" of a page sample", name),
			 errhint("The library and the SQL objects are of different versions.")));
}

/*
 * The sample as a row of the calling function's result type; closes the relation.
 * A function with OUT columns shows it to users, others store it as it is.
 */
Datum
ff_sample_row(FunctionCallInfo fcinfo, FfSample *sample, const FfColumn *column, int ncolumns)
{
	TupleDesc	desc = ff_result_desc(fcinfo);
	char	  **values = palloc(sizeof(char *) * desc->natts);

	for (int i = 0; i < desc->natts; i++)
		values[i] = column_text(sample, ff_find_column(column, ncolumns,
													   NameStr(TupleDescAttr(desc, i)->attname)),
								desc->tdtypeid == RECORDOID);
	relation_close(sample->rel, AccessShareLock);
	return HeapTupleGetDatum(BuildTupleFromCStrings(TupleDescGetAttInMetadata(desc), values));
}
