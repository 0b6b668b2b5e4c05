/*
 * sample.h
 *	  A page sample of one relation: the pages read, the counts, the result row.
 */
#ifndef FF_SAMPLE_H
#define FF_SAMPLE_H

#include "access/tupdesc.h"
#include "fmgr.h"
#include "utils/rel.h"

#include "sample/page.h"
#include "sample/strata.h"

/* Bins of a histogram; the one of aligned lengths needs the most. */
#define FF_BINS (BLCKSZ / MAXIMUM_ALIGNOF + 1)

/* Histograms, of tables only. */
typedef enum FfHistogram
{
	FF_INSERTED_LENGTHS,		/* rows, by aligned length */
	FF_UPDATED_LENGTHS,
	FF_OLD_PAGE_GROUPS,			/* updated rows, by rows of their group */
	FF_NEW_PAGE_GROUPS,
	FF_UPDATE_DISTANCES,		/* updated rows, by powers of two of xids */
	FF_UPDATE_AGES,
	FF_HISTOGRAMS
} FfHistogram;

typedef struct FfSample
{
	Relation	rel;
	FfStrata	strata;
	int			fillfactor;		/* of an index */

	int			pages[FF_PAGE_BAD + 1]; /* read, by FfPageState */

	/* of tables only */
	FfXacts		xacts;
	FfHeapPage	page;			/* scratch */
	double		most_rows;
	double		changed[FF_BINS];	/* see ff_count_changed() */
	uint32		(*count)[FF_HISTOGRAMS][FF_BINS];	/* of each stratum */
} FfSample;

/* Gets a private, MAXALIGNed copy of each page read. */
typedef void (*FfPageCallback) (FfSample *sample, BlockNumber block, const char *page);

/* Where the value of a column comes from. */
typedef enum FfSource
{
	FF_CALLER,					/* filled by the calling SQL function */
	FF_RELATION, FF_TABLE,		/* OID of the sampled relation, of an index's table */
	FF_BLOCKS,
	FF_COUNT,					/* an int: offset in FfSample */
	FF_SHARE,					/* percent of the relation's bytes */
	FF_TOTAL,					/* in the relation */
	FF_RATIO, FF_PERCENT,		/* of two metrics */
	FF_MOST_ROWS,
	FF_MEDIAN,					/* of histogram a, of b if a is empty */
	/* arrays */
	FF_LENGTHS,					/* pairs of lengths and rows */
	FF_GROUPS,					/* rows by group size; bins end at powers of two */
	FF_POWERS,					/* rows; bins begin at powers of two */
	FF_CHANGED					/* updates by changed column, after those compared */
} FfSource;

/* What becomes of an earlier sample's value. */
typedef enum FfPool
{
	FF_GONE,
	FF_KEPT,					/* while there is no new one */
	FF_ADDED,					/* fades */
	FF_ADDED_IF_SAME			/* if fillfactor and indexes did not change in between */
} FfPool;

typedef struct FfColumn
{
	const char *name;
	FfSource	source;
	int			a;				/* metric or histogram, or what the source says */
	int			b;
	FfPool		pool;
	bool		error;			/* half width of the estimate's interval instead of its value */
} FfColumn;

/* changed.c */
extern void ff_count_changed(const char *page, BlockNumber block, TupleDesc desc, double *changed);

/* read.c */
extern Relation ff_open_for_sample(FunctionCallInfo fcinfo, const char *argument);
extern void ff_read_sample(FfSample *sample, int nmetrics, const int *exact_metric, int nexact,
						   FfPageCallback callback);

/* visibility.c */
extern void ff_visibility_begin(Relation rel, FfXacts *xacts);

/* histogram.c */
extern void ff_count(FfSample *sample, FfHistogram histogram, int stratum, int bin, int rows);
extern double ff_median(const FfSample *sample, FfHistogram histogram);
extern char *ff_histogram_text(const FfSample *sample, const FfColumn *column);
extern void ff_pool(FfSource source, Datum *value, bool *null, const Datum *earlier, double keep);

/* result.c */
extern const FfColumn *ff_find_column(const FfColumn *column, int ncolumns, const char *name);
extern Datum ff_sample_row(FunctionCallInfo fcinfo, FfSample *sample, const FfColumn *column,
						   int ncolumns);

#endif							/* FF_SAMPLE_H */
