/*
 * histogram.c
 *	  Counts by bin of a stratified sample, and the arrays that they become.
 *
 * Counts are kept by stratum until all pages are read: only then is it known
 * for how many rows of the relation each stands.  Memory depends on the number
 * of bins, not on that of the pages read.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "port/pg_bitutils.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "module.h"
#include "sample/sample.h"

/* Bins of an array of groups: 1, 2, 3-4, 5-8, ..., 129-256, more. */
#define GROUP_POWERS 10

/* Lengths told apart; where there are more, neighbours become their mean. */
#define LENGTHS 16

/* Rows that have faded so far are forgotten. */
#define NEXT_TO_NOTHING 1e-20

PG_FUNCTION_INFO_V1(ff_pool_lengths);

static const int first_bin[FF_HISTOGRAMS + 1] = {
	[FF_INSERTED_LENGTHS] = 0,
	[FF_UPDATED_LENGTHS] = FF_LENGTH_BINS,
	[FF_OLD_PAGE_GROUPS] = 2 * FF_LENGTH_BINS,
	[FF_NEW_PAGE_GROUPS] = 2 * FF_LENGTH_BINS + FF_GROUP_BINS,
	[FF_UPDATE_DISTANCES] = 2 * FF_LENGTH_BINS + 2 * FF_GROUP_BINS,
	[FF_UPDATE_AGES] = 2 * FF_LENGTH_BINS + 2 * FF_GROUP_BINS + FF_POWER_BINS,
	[FF_HISTOGRAMS] = 2 * FF_LENGTH_BINS + 2 * FF_GROUP_BINS + 2 * FF_POWER_BINS
};

/* Counts rows of this bin, met in this stratum. */
void
ff_count(FfSample *sample, FfHistogram histogram, int stratum, int bin, int rows)
{
	Assert(first_bin[histogram] + bin < first_bin[histogram + 1]);
	if (sample->count == NULL)
		sample->count = palloc0(sizeof(uint32) * first_bin[FF_HISTOGRAMS] * sample->strata.nstrata);
	sample->count[stratum * first_bin[FF_HISTOGRAMS] + first_bin[histogram] + bin] += rows;
}

/* How many rows of the whole relation are in each bin?  Returns how many bins there are. */
static int
weigh(const FfSample *sample, FfHistogram histogram, double **rows)
{
	int			n = sample->count ? first_bin[histogram + 1] - first_bin[histogram] : 0;

	*rows = palloc0(sizeof(double) * Max(n, 1));
	for (int bin = 0; bin < n; bin++)
		for (int i = 0; i < sample->strata.nstrata; i++)
			(*rows)[bin] += ff_strata_weight(&sample->strata, i) *
				sample->count[i * first_bin[FF_HISTOGRAMS] + first_bin[histogram] + bin];
	return n;
}

/* The bin of the middle row; NAN where there is none. */
double
ff_median(const FfSample *sample, FfHistogram histogram)
{
	double	   *rows;
	int			n = weigh(sample, histogram, &rows);
	double		sum = 0;
	double		seen = 0;

	for (int i = 0; i < n; i++)
		sum += rows[i];
	for (int i = 0; i < n && sum > 0; i++)
	{
		seen += rows[i];
		if (seen >= 0.5 * sum)
			return i;
	}
	return NAN;
}

/* As an array is written. */
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

/* Weights without the zeros at the end; NULL where all are zero. */
static char *
weights_text(const double *value, int n)
{
	while (n > 0 && value[n - 1] == 0)
		n--;
	return n > 0 ? ff_array_text(value, n) : NULL;
}

/*
 * (length, rows) pairs, by length, of which equal neighbours are merged, and those that
 * differ least until few are left.
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

		/* what merging adds to the squared deviations */
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
		if (n <= LENGTHS && least > 0)
			return weights_text(pair, 2 * n);
		p = pair + 2 * best;
		rows = p[1] + p[3];
		p[0] = (p[0] * p[1] + p[2] * p[3]) / rows;
		p[1] = rows;
		memmove(p + 2, p + 4, sizeof(double) * 2 * (n - best - 2));
		n--;
	}
}

/* A histogram in the form that the column wants. */
char *
ff_histogram_text(const FfSample *sample, const FfColumn *column)
{
	double		pair[2 * FF_LENGTH_BINS];
	double		group[GROUP_POWERS] = {0};
	double	   *rows;
	int			n = weigh(sample, column->a, &rows);
	int			npairs = 0;

	if (column->source == FF_POWERS)
		return weights_text(rows, n);
	for (int i = 0; i < n; i++)
	{
		group[i < 2 ? 0 : Min(GROUP_POWERS - 1, pg_leftmost_one_pos32(i - 1) + 1)] += rows[i];
		if (rows[i] == 0)
			continue;
		pair[2 * npairs] = i * MAXIMUM_ALIGNOF;
		pair[2 * npairs++ + 1] = rows[i];
	}
	return column->source == FF_GROUPS ? weights_text(group, GROUP_POWERS) :
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
