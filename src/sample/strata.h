/*
 * strata.h
 *	  Chooses the pages of a sample and estimates totals from them.
 */
#ifndef FF_STRATA_H
#define FF_STRATA_H

#include "storage/block.h"

/* Most metrics of a page: see FfHeapMetric, FfBtreeMetric. */
#define FF_MAX_METRICS 16

/* A range of blocks that is sampled evenly. */
typedef struct FfStratum
{
	BlockNumber first;
	BlockNumber size;			/* blocks */
	int			nread;			/* pages of these read so far */
	double		sum[FF_MAX_METRICS];
	double		cubes[FF_MAX_METRICS];
	double		cross[FF_MAX_METRICS][FF_MAX_METRICS];
} FfStratum;

/* A sample of one relation. */
typedef struct FfStrata
{
	BlockNumber blocks;
	int			nmetrics;
	uint32		seed;
	int			nstrata;
	int			nread;			/* pages, of all strata */
	FfStratum  *stratum;
} FfStrata;

/* An estimate with the half width of its 95 % interval. */
typedef struct FfEstimate
{
	double		value;
	double		error;
} FfEstimate;

extern void ff_strata_begin(FfStrata *strata, BlockNumber blocks, int nmetrics, uint32 seed);
extern int	ff_strata_first(FfStrata *strata, int max_pages, BlockNumber **block);
extern int	ff_strata_second(FfStrata *strata, const int *metric, int nmetrics,
							 double error, int max_pages, BlockNumber **block);
extern int	ff_strata_add(FfStrata *strata, BlockNumber block, const double *metric);
extern double ff_strata_weight(const FfStrata *strata, int stratum);
extern FfEstimate ff_strata_estimate(const FfStrata *strata, int metric, int divisor);
extern FfEstimate ff_strata_total(const FfStrata *strata, int metric, double most);

#endif							/* FF_STRATA_H */
