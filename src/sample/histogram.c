/*
 * histogram.c
 *	  Counts by bin of a stratified sample, and their quantiles.
 */
#include "postgres.h"

#include "port/pg_bitutils.h"

#include "sample/histogram.h"

/* Counts n rows or pages, met in this stratum, in a bin. */
void
ff_count(FfHistogram *histogram, const FfStrata *strata, int stratum,
		 int bin, int n)
{
	Assert(bin >= 0 && bin < histogram->nbins);
	if (histogram->count == NULL)
		histogram->count = palloc0(sizeof(uint32) * histogram->nbins *
								   strata->nstrata);
	histogram->count[stratum * histogram->nbins + bin] += n;
}

/* How many of the whole relation are in this bin? */
double
ff_bin_weight(const FfHistogram *histogram, const FfStrata *strata, int bin)
{
	double		weight = 0;

	if (histogram->count != NULL)
		for (int i = 0; i < strata->nstrata; i++)
			weight += ff_strata_weight(strata, i) *
				histogram->count[i * histogram->nbins + bin];
	return weight;
}

/*
 * The first bin up to which at least this share of the weight lies; -1 if
 * nothing was counted.
 */
int
ff_quantile_bin(const FfHistogram *histogram, const FfStrata *strata,
				double share)
{
	double		sum = 0;
	double		seen = 0;
	int			last = -1;

	for (int i = 0; i < histogram->nbins; i++)
		sum += ff_bin_weight(histogram, strata, i);
	for (int i = 0; i < histogram->nbins && (last < 0 || seen < share * sum); i++)
	{
		double		weight = ff_bin_weight(histogram, strata, i);

		seen += weight;
		if (weight > 0)
			last = i;
	}
	return last;
}

/* The bin that a number is counted in. */
int
ff_number_bin(uint32 number)
{
	int			shift;

	if (number < FF_EXACT)
		return (int) number;
	shift = pg_leftmost_one_pos32(number) - pg_leftmost_one_pos32(FF_EXACT) + 1;
	return FF_EXACT / 2 * shift + (int) (number >> shift);
}

/* The number that stands for a bin: its middle. */
double
ff_bin_number(int bin)
{
	int			shift = bin / (FF_EXACT / 2) - 1;
	double		width;

	if (bin < FF_EXACT)
		return bin;
	width = (double) (UINT64CONST(1) << shift);
	return (bin - FF_EXACT / 2 * shift) * width + (width - 1) / 2;
}
