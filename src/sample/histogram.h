/*
 * histogram.h
 *	  Counts by bin of a stratified sample, and their quantiles.
 *
 * Counts are kept by stratum until all pages are read: only then is it known
 * for how many rows or pages of the relation each stands.  Memory depends on
 * the number of bins, not on that of the pages read.
 */
#ifndef FF_HISTOGRAM_H
#define FF_HISTOGRAM_H

#include "sample/strata.h"

/*
 * Bins of numbers: those below FF_EXACT have a bin each, larger ones share
 * FF_EXACT / 2 bins a power of two, so a bin's middle is within 3 %.
 */
#define FF_EXACT 32
#define FF_NUMBER_BINS (FF_EXACT + 27 * FF_EXACT / 2)	/* of 32 bits */

typedef struct FfHistogram
{
	int			nbins;
	uint32	   *count;			/* [stratum][bin]; NULL: nothing was counted */
} FfHistogram;

extern void ff_count(FfHistogram *histogram, const FfStrata *strata,
					 int stratum, int bin, int n);
extern double ff_bin_weight(const FfHistogram *histogram,
							const FfStrata *strata, int bin);
extern int	ff_quantile_bin(const FfHistogram *histogram,
							const FfStrata *strata, double share);

extern int	ff_number_bin(uint32 number);
extern double ff_bin_number(int bin);

#endif							/* FF_HISTOGRAM_H */
