/*
 * sample.h
 *	  A page sample of one relation: what is read, what is counted, and the row
 *	  that it becomes.
 */
#ifndef FF_SAMPLE_H
#define FF_SAMPLE_H

#include "access/tupdesc.h"
#include "fmgr.h"
#include "utils/rel.h"

#include "sample/page_heap.h"
#include "sample/strata.h"

/* Settings, defined in module.c */
extern int	ff_sample_pages;
extern double ff_sample_error;
extern double ff_sample_delay;
extern int	ff_sample_seed;

/* Bins of the used share of pages, each of 10 %. */
#define FF_FILL_BINS 10

/* Common to all samples; the first member of each kind's own struct. */
typedef struct FfSample
{
	Relation	rel;
	FfStrata	strata;

	/* of the pages read */
	int			pages_read;
	int			pages_new;
	int			pages_bad;
	int			fill_bin[FF_FILL_BINS];
} FfSample;

/* Gets a private, MAXALIGNed copy of each page read. */
typedef void (*FfPageCallback) (FfSample *sample, BlockNumber block, const char *page);

/* Where the value of a column comes from. */
typedef enum FfSource
{
	FF_OWN,						/* of this kind of sample */
	FF_BLOCKS,
	FF_COUNT,					/* of pages read: offset in FfSample */
	FF_MEAN, FF_MEAN_ERR,		/* percent of the pages' bytes */
	FF_TOTAL, FF_TOTAL_ERR,		/* in the relation */
	FF_RATIO, FF_RATIO_ERR,		/* of two metrics, times factor */
	FF_FILL						/* pages by used share */
} FfSource;

typedef struct FfColumn
{
	const char *name;
	FfSource	source;
	int			a;				/* metric, or what the source says */
	int			b;
	double		factor;
	int			kind;			/* for the kind of sample to say */
	int			pooling;
} FfColumn;

/* The value of a column whose source is FF_OWN. */
typedef Datum (*FfOwnValue) (const FfSample *sample, const FfColumn *column,
							 Form_pg_attribute attribute, bool *isnull);

extern Relation ff_open_for_sample(FunctionCallInfo fcinfo, const char *argument);
extern void ff_read_page(Relation rel, BlockNumber block, char *copy);
extern void ff_read_sample(FfSample *sample, int nmetrics, const int *exact_metric, int nexact,
						   FfPageCallback callback);
extern int	ff_count_page(FfSample *sample, BlockNumber block, FfPageState state,
						  const double *metric, double used_share);

extern const FfColumn **ff_find_columns(TupleDesc desc, const FfColumn *columns, int ncolumns);
extern Datum ff_number_datum(double value, Form_pg_attribute attribute, bool *isnull);
extern Datum ff_sample_row(FunctionCallInfo fcinfo, FfSample *sample, const FfColumn *columns,
						   int ncolumns, FfOwnValue own_value);

#endif							/* FF_SAMPLE_H */
