/*
 * result.h
 *	  From what was counted to the row that a sampling function returns.
 */
#ifndef FF_SAMPLE_RESULT_H
#define FF_SAMPLE_RESULT_H

#include "fmgr.h"

#include "sample/strata.h"

/* Most columns of a sampling function. */
#define FF_MAX_COLUMNS 32

/* The columns of the result, filled in the order of the SQL function. */
typedef struct FfRow
{
	Datum		values[FF_MAX_COLUMNS];
	bool		nulls[FF_MAX_COLUMNS];
	int			ncolumns;
} FfRow;

extern void ff_put_datum(FfRow *row, Datum value);
extern void ff_put_float(FfRow *row, double value);
extern void ff_put_estimate(FfRow *row, FfEstimate estimate, double factor);
extern void ff_put_histogram(FfRow *row, const int *bin, int nbins);
extern Datum ff_row_datum(FunctionCallInfo fcinfo, FfRow *row);

#endif							/* FF_SAMPLE_RESULT_H */
