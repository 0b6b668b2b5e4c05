/*
 * histogram.c
 *	  Histograms of a stratified sample, and their output as arrays.
 *
 * Counts are kept by stratum until all pages are read: only then are their weights
 * known.  Memory depends on the number of bins, not on the number of pages.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/fmgroids.h"

#include "base/numbers.h"
#include "sample/sample.h"

/* Earlier rows of a bin that are fewer are dropped, and the least share of others that stays. */
#define LEAST_ROWS		1e-9
#define LEAST_KEEP		1e-20

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

/* Writes an array literal without trailing zeros; NULL if all are zero. */
static char *
weights_text(const double *value, int n)
{
	StringInfoData t;

	while (n > 0 && value[n - 1] == 0)
		n--;
	if (n == 0)
		return NULL;
	initStringInfo(&t);
	for (int i = 0; i < n; i++)
		appendStringInfo(&t, "%c%.17g", i == 0 ? '{' : ',', value[i]);
	appendStringInfoChar(&t, '}');
	return t.data;
}

/*
 * Merges equal neighbours of (length, rows) pairs, which are sorted by length, then the most
 * similar ones until EV_LENGTHS are left.  Returns how many there are.
 */
static int
merge_lengths(double *pair, int n)
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
			return n;
		p = pair + 2 * best;
		rows = p[1] + p[3];
		p[0] = (p[0] * p[1] + p[2] * p[3]) / rows;
		p[1] = rows;
		memmove(p + 2, p + 4, sizeof(double) * 2 * (n - best - 2));
		n--;
	}
}

/* The array of a column, as its source says; NULL if all is zero. */
char *
ff_histogram_text(const FfSample *sample, const FfColumn *column)
{
	double		rows[FF_BINS];
	double		pair[2 * FF_BINS];
	double		group[EV_GROUP_BINS] = {0};
	int			npairs = 0;

	if (column->source == FF_CHANGED)
		return weights_text(sample->changed, FF_BINS);
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
		weights_text(pair, 2 * merge_lengths(pair, npairs));
}

static int
compare_lengths(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return x < y ? -1 : x > y;
}

/* Reads a real[]; returns how many numbers it has, at most FF_BINS. */
static int
read_reals(Datum array, double *number)
{
	Datum	   *element;
	int			n;

	deconstruct_array(DatumGetArrayTypeP(array), FLOAT4OID, sizeof(float4), true, TYPALIGN_INT,
					  &element, NULL, &n);
	n = Min(n, FF_BINS);
	for (int i = 0; i < n; i++)
		number[i] = DatumGetFloat4(element[i]);
	return n;
}

/* What is left of earlier rows; 0 if they are too few to be of use, and might underflow. */
static double
fade(double rows, double keep)
{
	return rows > LEAST_ROWS ? Max(keep, LEAST_KEEP) * rows : 0;
}

/*
 * Adds an earlier value times keep, NULL: none, to a number of rows, or to a histogram, a
 * real[] in the form of the source.
 */
void
ff_pool(FfSource source, Datum *value, bool *null, const Datum *earlier, double keep)
{
	double		number[2 * FF_BINS] = {0};
	double		old[FF_BINS];
	int			n;
	int			nold;
	int			npairs;
	char	   *text;

	if (source == FF_TOTAL)
	{
		*value = Float8GetDatum((*null ? 0 : DatumGetFloat8(*value)) +
								(earlier ? fade(DatumGetFloat8(*earlier), keep) : 0));
		*null = false;
		return;
	}
	n = *null ? 0 : read_reals(*value, number);
	nold = earlier ? read_reals(*earlier, old) : 0;
	if (source == FF_LENGTHS)
	{
		npairs = n / 2;
		for (int i = 0; i + 1 < nold; i += 2)
		{
			number[2 * npairs] = old[i];
			number[2 * npairs + 1] = fade(old[i + 1], keep);
			npairs += number[2 * npairs + 1] > LEAST_KEEP;
		}
		qsort(number, npairs, 2 * sizeof(double), compare_lengths);
		n = 2 * merge_lengths(number, npairs);
	}
	else
		for (int i = 0; i < nold; i++)
			number[i] += fade(old[i], keep);
	text = weights_text(number, source == FF_LENGTHS ? n : Max(n, nold));
	*null = text == NULL;
	if (text != NULL)
		*value = OidFunctionCall3(F_ARRAY_IN, CStringGetDatum(text), ObjectIdGetDatum(FLOAT4OID),
								  Int32GetDatum(-1));
}
