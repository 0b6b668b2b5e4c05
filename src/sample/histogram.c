/*
 * histogram.c
 *	  Histograms of a stratified sample, and their output as arrays.
 *
 * Counts are kept by stratum until all pages are read: only then are their weights
 * known.  Memory depends on the number of bins, not on the number of pages.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "base/bins.h"
#include "base/module.h"
#include "sample/sample.h"

/* Smaller weights, after fading, are dropped. */
#define NEXT_TO_NOTHING 1e-20

PG_FUNCTION_INFO_V1(ff_pool_lengths);

/* Adds rows of this stratum to a bin. */
void
ff_count(FfSample *sample, FfHistogram histogram, int stratum, int bin, int rows)
{
	Assert(bin < FF_BINS);
	if (sample->count == NULL)
		sample->count = palloc0(sizeof(*sample->count) * sample->strata.nstrata);
	sample->count[stratum][histogram][bin] += rows;
}

/* Estimates the rows of the whole relation in each bin. */
static void
rows_by_bin(const FfSample *sample, FfHistogram histogram, double *rows)
{
	memset(rows, 0, sizeof(double) * FF_BINS);
	for (int i = 0; i < sample->strata.nstrata && sample->count != NULL; i++)
		for (int bin = 0; bin < FF_BINS; bin++)
			rows[bin] += ff_strata_weight(&sample->strata, i) * sample->count[i][histogram][bin];
}

/* The bin of the median row; NAN if there are no rows. */
double
ff_median(const FfSample *sample, FfHistogram histogram)
{
	double		rows[FF_BINS];
	double		sum = 0;
	double		seen = 0;

	rows_by_bin(sample, histogram, rows);
	for (int i = 0; i < FF_BINS; i++)
		sum += rows[i];
	for (int i = 0; i < FF_BINS && sum > 0; i++)
	{
		seen += rows[i];
		if (seen >= 0.5 * sum)
			return i;
	}
	return NAN;
}

/* Writes an array literal. */
char *
ff_array_text(const double *value, int n)
{
	StringInfoData t;

	initStringInfo(&t);
	for (int i = 0; i < n; i++)
		appendStringInfo(&t, "%c%.17g", i == 0 ? '{' : ',', value[i]);
	appendStringInfoChar(&t, '}');
	return t.data;
}

/* Writes an array without trailing zeros; NULL if all are zero. */
static char *
weights_text(const double *value, int n)
{
	while (n > 0 && value[n - 1] == 0)
		n--;
	return n > 0 ? ff_array_text(value, n) : NULL;
}

/*
 * Writes (length, rows) pairs, which are sorted by length.  Merges equal neighbours, then
 * the most similar ones until EV_LENGTHS are left.
 */
static char *
lengths_text(double *pair, int n)
{
	for (;;)
	{
		int			best = 0;
		double		least = INFINITY;
		double	   *p;
		double		rows;

		/* loss: the squared deviations that merging adds */
		for (int i = 0; i + 1 < n; i++)
		{
			double		gap = pair[2 * i + 2] - pair[2 * i];
			double		both = pair[2 * i + 1] + pair[2 * i + 3];
			double		loss = pair[2 * i + 1] * pair[2 * i + 3] / both * gap * gap;

			if (loss < least)
			{
				least = loss;
				best = i;
			}
		}
		if (n <= EV_LENGTHS && least > 0)
			return weights_text(pair, 2 * n);
		p = pair + 2 * best;
		rows = p[1] + p[3];
		p[0] = (p[0] * p[1] + p[2] * p[3]) / rows;
		p[1] = rows;
		memmove(p + 2, p + 4, sizeof(double) * 2 * (n - best - 2));
		n--;
	}
}

/* The histogram in the column's form. */
char *
ff_histogram_text(const FfSample *sample, const FfColumn *column)
{
	double		rows[FF_BINS];
	double		pair[2 * FF_BINS];
	double		group[EV_GROUP_BINS] = {0};
	int			npairs = 0;

	rows_by_bin(sample, column->a, rows);
	if (column->source == FF_POWERS)
		return weights_text(rows, FF_BINS);
	for (int i = 0; i < FF_BINS; i++)
	{
		group[ev_group_bin(i)] += rows[i];
		if (rows[i] == 0)
			continue;
		pair[2 * npairs] = i * MAXIMUM_ALIGNOF;
		pair[2 * npairs++ + 1] = rows[i];
	}
	return column->source == FF_GROUPS ? weights_text(group, EV_GROUP_BINS) :
		lengths_text(pair, npairs);
}

static int
compare_lengths(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return x < y ? -1 : x > y;
}

/*
 * ff_pool_lengths(a real[], b real[], keep float8) returns text, of a real[]
 *
 * See the SQL function.
 */
Datum
ff_pool_lengths(PG_FUNCTION_ARGS)
{
	double	   *pair = palloc(0);
	char	   *pooled;
	int			npairs = 0;

	for (int arg = 0; arg < 2 && !PG_ARGISNULL(2); arg++)
	{
		Datum	   *element;
		int			n = 0;

		if (!PG_ARGISNULL(arg))
			deconstruct_array(PG_GETARG_ARRAYTYPE_P(arg), FLOAT4OID, sizeof(float4), true,
							  TYPALIGN_INT, &element, NULL, &n);
		pair = repalloc(pair, sizeof(double) * (2 * npairs + n + 1));
		for (int i = 0; i + 1 < n; i += 2)
		{
			pair[2 * npairs] = DatumGetFloat4(element[i]);
			pair[2 * npairs + 1] = DatumGetFloat4(element[i + 1]) * (arg == 0 ? 1 : PG_GETARG_FLOAT8(2));
			npairs += pair[2 * npairs + 1] > NEXT_TO_NOTHING;
		}
	}
	qsort(pair, npairs, 2 * sizeof(double), compare_lengths);
	pooled = lengths_text(pair, npairs);
	if (pooled == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(pooled));
}
