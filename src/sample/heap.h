/*
 * heap.h
 *	  A page sample of one table, between the reading of its pages (heap.c) and
 *	  the row that it becomes (metrics.c).
 */
#ifndef FF_SAMPLE_HEAP_H
#define FF_SAMPLE_HEAP_H

#include "sample/histogram.h"
#include "sample/sample.h"
#include "sample/visibility.h"

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
	FfSample	sample;
	TimestampTz sampled_at;
	FfXacts		xacts;
	FfVisibility visibility;
	double		most_rows;
	FfHistogram histogram[FF_HEAP_HISTOGRAMS];

	FfHeapPage	page;			/* scratch */
} FfHeapSample;

extern Datum ff_heap_row(FunctionCallInfo fcinfo, FfHeapSample *sample);

#endif							/* FF_SAMPLE_HEAP_H */
