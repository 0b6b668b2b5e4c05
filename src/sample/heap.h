/*
 * heap.h
 *	  A page sample of one table, between the reading of its pages (heap.c) and
 *	  the row that it becomes (metrics.c).
 */
#ifndef FF_SAMPLE_HEAP_H
#define FF_SAMPLE_HEAP_H

#include "utils/rel.h"

#include "sample/histogram.h"
#include "sample/page_heap.h"
#include "sample/visibility.h"

/* Bins of fill_histogram, each of 10 %. */
#define FF_FILL_BINS 10

typedef enum FfHeapHistogram
{
	FF_INSERTED_LENGTHS,		/* rows, by MAXALIGNed length / MAXALIGN */
	FF_UPDATED_LENGTHS,
	FF_INSERT_GROUPS,			/* rows, by rows of their group */
	FF_OLD_PAGE_GROUPS,
	FF_NEW_PAGE_GROUPS,
	FF_UPDATE_DISTANCES,		/* updated rows, by xids */
	FF_UPDATE_AGES,
	FF_HEAP_HISTOGRAMS
} FfHeapHistogram;

typedef struct FfHeapSample
{
	Relation	rel;
	TimestampTz sampled_at;
	FfStrata	strata;
	FfXacts		xacts;
	FfVisibility visibility;

	/* of the pages read */
	int			pages_read;
	int			pages_new;
	int			pages_bad;
	int			fill_bin[FF_FILL_BINS];
	double		most_rows;
	FfHistogram histogram[FF_HEAP_HISTOGRAMS];

	FfHeapPage	page;			/* scratch */
} FfHeapSample;

extern Datum ff_sample_datum(const FfHeapSample *sample, TupleDesc desc);

#endif							/* FF_SAMPLE_HEAP_H */
