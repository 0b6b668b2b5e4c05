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

#include "sample/sample.h"

/* Bins of lengths, by MAXALIGN, and of groups, by rows. */
#define LENGTH_BINS (BLCKSZ / MAXIMUM_ALIGNOF + 1)
#define GROUP_BINS (MaxHeapTuplesPerPage + 1)

/*
 * Bins of numbers: those below EXACT have a bin each, larger ones share
 * EXACT / 2 bins a power of two, so a bin's middle is within 3 %.
 */
#define EXACT 32
#define NUMBER_BINS (EXACT + 27 * EXACT / 2)	/* of 32 bits */

/* Bins of an array of groups: 1, 2, 3-4, 5-8, ..., 129-256, more. */
#define GROUP_POWERS 10

/* Powers of two that an age or distance may have. */
#define NUMBER_POWERS 32

/* Lengths told apart; where there are more, neighbours become their mean. */
#define LENGTHS 16

static const int first_bin[FF_HISTOGRAMS + 1] = {
	[FF_INSERTED_LENGTHS] = 0,
	[FF_UPDATED_LENGTHS] = LENGTH_BINS,
	[FF_INSERT_GROUPS] = 2 * LENGTH_BINS,
	[FF_OLD_PAGE_GROUPS] = 2 * LENGTH_BINS + GROUP_BINS,
	[FF_NEW_PAGE_GROUPS] = 2 * LENGTH_BINS + 2 * GROUP_BINS,
	[FF_UPDATE_DISTANCES] = 2 * LENGTH_BINS + 3 * GROUP_BINS,
	[FF_UPDATE_AGES] = 2 * LENGTH_BINS + 3 * GROUP_BINS + NUMBER_BINS,
	[FF_HISTOGRAMS] = 2 * LENGTH_BINS + 3 * GROUP_BINS + 2 * NUMBER_BINS
};

/* ---------- counting ---------- */

static int
bin_of(FfHistogram histogram, uint32 number)
{
	int			shift;

	if (histogram < FF_INSERT_GROUPS)
		return number / MAXIMUM_ALIGNOF;
	if (histogram < FF_UPDATE_DISTANCES || number < EXACT)
		return number;
	shift = pg_leftmost_one_pos32(number) - pg_leftmost_one_pos32(EXACT) + 1;
	return EXACT / 2 * shift + (number >> shift);
}

/* The number that stands for a bin: its middle. */
static double
number_of(FfHistogram histogram, int bin)
{
	int			shift = bin / (EXACT / 2) - 1;
	double		width;

	if (histogram < FF_INSERT_GROUPS)
		return bin * MAXIMUM_ALIGNOF;
	if (histogram < FF_UPDATE_DISTANCES || bin < EXACT)
		return bin;
	width = (double) (UINT64CONST(1) << shift);
	return (bin - EXACT / 2 * shift) * width + (width - 1) / 2;
}

/* Counts rows that have this number, met in this stratum. */
void
ff_count(FfSample *sample, FfHistogram histogram, int stratum, uint32 number, int rows)
{
	int			bin = first_bin[histogram] + bin_of(histogram, number);

	Assert(bin < first_bin[histogram + 1]);
	if (sample->count == NULL)
		sample->count = palloc0(sizeof(uint32) * first_bin[FF_HISTOGRAMS] * sample->strata.nstrata);
	sample->count[stratum * first_bin[FF_HISTOGRAMS] + bin] += rows;
}

/* How many rows of the whole relation have each number? Pairs, returns how many. */
static int
weighted_pairs(const FfSample *sample, FfHistogram histogram, double **pairs)
{
	int			n = 0;

	*pairs = palloc(sizeof(double) * 2 * (first_bin[histogram + 1] - first_bin[histogram]));
	for (int bin = first_bin[histogram]; sample->count && bin < first_bin[histogram + 1]; bin++)
	{
		double		rows = 0;

		for (int i = 0; i < sample->strata.nstrata; i++)
			rows += ff_strata_weight(&sample->strata, i) *
				sample->count[i * first_bin[FF_HISTOGRAMS] + bin];
		if (rows > 0)
		{
			(*pairs)[2 * n] = number_of(histogram, bin - first_bin[histogram]);
			(*pairs)[2 * n++ + 1] = rows;
		}
	}
	return n;
}

/* The number of the middle row; NAN where there is none. */
double
ff_median(const FfSample *sample, FfHistogram histogram)
{
	double	   *pair;
	int			n = weighted_pairs(sample, histogram, &pair);
	double		sum = 0;
	double		seen = 0;

	for (int i = 0; i < n; i++)
		sum += pair[2 * i + 1];
	for (int i = 0; i < n; i++)
	{
		seen += pair[2 * i + 1];
		if (seen >= 0.5 * sum)
			return pair[2 * i];
	}
	return NAN;
}

/* ---------- arrays ---------- */

/* Values without the zeros at the end, as real[]; NULL where all are zero. */
static Datum
reals_datum(const double *value, int n, bool *isnull)
{
	Datum	   *element = palloc(sizeof(Datum) * n);

	while (n > 0 && value[n - 1] == 0)
		n--;
	for (int i = 0; i < n; i++)
		element[i] = Float4GetDatum((float4) value[i]);
	*isnull = n == 0;
	return PointerGetDatum(construct_array(element, n, FLOAT4OID, sizeof(float4),
										   true, TYPALIGN_INT));
}

/*
 * (length, rows) pairs as real[], of which neighbours that differ least are merged
 * until few are left.
 */
static Datum
lengths_datum(double *pair, int n, bool *isnull)
{
	while (n > LENGTHS)
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
		p = pair + 2 * best;
		rows = p[1] + p[3];
		p[0] = (p[0] * p[1] + p[2] * p[3]) / rows;
		p[1] = rows;
		memmove(p + 2, p + 4, sizeof(double) * 2 * (n - best - 2));
		n--;
	}
	return reals_datum(pair, 2 * n, isnull);
}

/* A histogram in the form that the column wants. */
Datum
ff_histogram_datum(const FfSample *sample, const FfColumn *column, bool *isnull)
{
	double		rows[Max(GROUP_POWERS, NUMBER_POWERS)] = {0};
	double	   *pair;
	int			n = weighted_pairs(sample, column->a, &pair);

	if (column->source == FF_LENGTHS)
		return lengths_datum(pair, n, isnull);
	for (int i = 0; i < n; i++)
	{
		double		power = log2(Max(pair[2 * i], 1));

		rows[column->source == FF_GROUPS ? Min(GROUP_POWERS - 1, (int) ceil(power)) : (int) power]
			+= pair[2 * i + 1];
	}
	return reals_datum(rows, lengthof(rows), isnull);
}

/* The numbers of a real[]. */
static double *
array_numbers(Datum datum, int *n)
{
	Datum	   *element;
	double	   *number;

	deconstruct_array(DatumGetArrayTypeP(datum), FLOAT4OID, sizeof(float4), true,
					  TYPALIGN_INT, &element, NULL, n);
	number = palloc(sizeof(double) * Max(*n, 1));
	for (int i = 0; i < *n; i++)
		number[i] = DatumGetFloat4(element[i]);
	return number;
}

/* a + keep * b, bin by bin or length by length. */
Datum
ff_pool_arrays(bool lengths, Datum a, Datum b, double keep, bool *isnull)
{
	int			na;
	int			nb;
	double	   *x = array_numbers(a, &na);
	double	   *y = array_numbers(b, &nb);
	double	   *sum = palloc0(sizeof(double) * (na + nb));
	int			n = 0;

	if (!lengths)
	{
		for (n = 0; n < Max(na, nb); n++)
			sum[n] = (n < na ? x[n] : 0) + (n < nb ? keep * y[n] : 0);
		return reals_datum(sum, n, isnull);
	}
	for (int i = 0, k = 0; i + 1 < na || k + 1 < nb; n++)
	{
		bool		from_x = k + 1 >= nb || (i + 1 < na && x[i] <= y[k]);
		bool		from_y = i + 1 >= na || (k + 1 < nb && y[k] <= x[i]);

		sum[2 * n] = from_x ? x[i] : y[k];
		sum[2 * n + 1] = (from_x ? x[i + 1] : 0) + (from_y ? keep * y[k + 1] : 0);
		i += from_x ? 2 : 0;
		k += from_y ? 2 : 0;
	}
	return lengths_datum(sum, n, isnull);
}
