/*
 * heap.c
 *	  ff_sample: a page sample of one table, with error bars.
 *
 * A first sample of some 600 pages shows how much pages differ; from that
 * follows how many more must be read for the wanted error, whatever the size
 * of the table.  Small tables are read whole, and their errors are zero.
 *
 * What is not counted: rejected pages count as pages without anything in
 * them; toasted values are in another relation.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_class.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "compat.h"
#include "sample/page_heap.h"
#include "sample/sample.h"
#include "sample/result.h"
#include "sample/strata.h"
#include "sample/visibility.h"

/* Bins of fill_histogram, each of 10 %. */
#define FF_FILL_BINS 10

typedef struct FfHeapSample
{
	Relation	rel;
	int			reserve;		/* bytes a page keeps free of inserts */
	FfStrata	strata;
	FfXacts		xacts;
	FfVisibility visibility;

	/* counts of pages read */
	int			pages_read;
	int			pages_new;
	int			pages_bad;
	int			fill_bin[FF_FILL_BINS];
	double		most_rows;

	/* what quantiles are taken of */
	XLogRecPtr	now;			/* end of WAL when the sample began */
	FfItems		lsn_ages;		/* bytes, by page */
	FfItems		inserted_groups;	/* rows, by row */
	FfItems		updated_groups; /* rows, by row */
	FfItems		distances;		/* xids, by row */

	FfHeapPage	page;			/* scratch */
} FfHeapSample;

PG_FUNCTION_INFO_V1(ff_sample);

static void
count_page(void *arg, int position, BlockNumber block, const char *page)
{
	FfHeapSample *sample = (FfHeapSample *) arg;
	FfHeapPage *measured = &sample->page;
	int			stratum = ff_strata_find(&sample->strata, block);
	FfPageState state;

	state = ff_heap_page(page, block, sample->reserve, &sample->xacts,
						 measured);
	ff_strata_add(&sample->strata, stratum, measured->metric);
	sample->pages_read++;
	if (state == FF_PAGE_BAD)
	{
		sample->pages_bad++;
		return;
	}
	sample->fill_bin[Min(FF_FILL_BINS - 1,
						 (int) (measured->used_share * FF_FILL_BINS))]++;
	if (state == FF_PAGE_NEW)
	{
		sample->pages_new++;
		return;
	}

	sample->most_rows = Max(sample->most_rows,
							measured->metric[FF_HEAP_LIVE_ROWS]);
	ff_add_lsn_age(&sample->lsn_ages, sample->now, measured->lsn, stratum);
	for (int i = 0; i < measured->ngroups; i++)
	{
		const FfHeapGroup *group = &measured->group[i];

		ff_add_item(group->updated ? &sample->updated_groups :
				 &sample->inserted_groups, group->rows, group->rows, stratum);
		if (group->distance >= 0)
			ff_add_item(&sample->distances, group->distance, group->rows,
					 stratum);
	}
}

/* The heap's rule for what RelationGetTargetPageFreeSpace keeps free. */
static int
fillfactor_reserve(Relation rel)
{
	if (rel->rd_rel->relkind == RELKIND_TOASTVALUE)
		return BLCKSZ * (100 - HEAP_DEFAULT_FILLFACTOR) / 100;
	return RelationGetTargetPageFreeSpace(rel, HEAP_DEFAULT_FILLFACTOR);
}

static Relation
open_heap(Oid relid)
{
	Relation	rel = ff_open_for_sample(relid);

	if (!RELKIND_HAS_TABLE_AM(rel->rd_rel->relkind))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a table with pages of its own",
						RelationGetRelationName(rel)),
				 errdetail_relkind_not_supported(rel->rd_rel->relkind)));
	if (rel->rd_rel->relam != HEAP_TABLE_AM_OID)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a heap table",
						RelationGetRelationName(rel)),
				 errdetail("Only pages of the heap access method can be read.")));
	return rel;
}

StaticAssertDecl(FF_HEAP_METRICS <= FF_MAX_METRICS, "too many metrics");

/* What the wanted error is about. */
static const int exact_metrics[] = {
	FF_HEAP_LIVE_BYTES, FF_HEAP_DEAD_BYTES, FF_HEAP_FREE_BYTES
};

static void
take_sample(FfHeapSample *sample)
{
	sample->reserve = fillfactor_reserve(sample->rel);
	sample->now = ff_end_of_wal(sample->rel);
	ff_visibility_begin(&sample->visibility, sample->rel, &sample->xacts);
	ff_read_sample(sample->rel, &sample->strata, FF_HEAP_METRICS,
				   exact_metrics, lengthof(exact_metrics), count_page, sample);

	ff_finish_items(&sample->lsn_ages, &sample->strata);
	ff_finish_items(&sample->inserted_groups, &sample->strata);
	ff_finish_items(&sample->updated_groups, &sample->strata);
	ff_finish_items(&sample->distances, &sample->strata);
}

static void
fill_row(const FfHeapSample *sample, FfRow *row)
{
	/* whose errors come last, in their order */
	static const int counted[] = {
		FF_HEAP_RECENT_ROWS,
		FF_HEAP_REDIRECT_LPS,
		FF_HEAP_DEAD_LPS,
		FF_HEAP_UNUSED_LPS,
		FF_HEAP_UPDATED_HOT,
		FF_HEAP_UPDATED_COLD,
		FF_HEAP_SUPERSEDED_HOT,
		FF_HEAP_SUPERSEDED_SAME,
		FF_HEAP_SUPERSEDED_MOVED,
		FF_HEAP_ABORTED_ROWS
	};
	const FfStrata *strata = &sample->strata;
	const double percent = 100.0 / BLCKSZ;

#define TOTAL(metric) ff_strata_total(strata, metric).value
	ff_put_datum(row, ObjectIdGetDatum(RelationGetRelid(sample->rel)));
	ff_put_datum(row, Int64GetDatum((int64) strata->blocks));
	ff_put_datum(row, Int32GetDatum(sample->pages_read));
	ff_put_datum(row, Int32GetDatum(sample->pages_new));
	ff_put_datum(row, Int32GetDatum(sample->pages_bad));
	ff_put_estimate(row, ff_strata_mean(strata, FF_HEAP_LIVE_BYTES), percent);
	ff_put_estimate(row, ff_strata_mean(strata, FF_HEAP_DEAD_BYTES), percent);
	ff_put_estimate(row, ff_strata_mean(strata, FF_HEAP_FREE_BYTES), percent);
	ff_put_float(row, ff_strata_mean(strata, FF_HEAP_RESERVE_BYTES).value *
			  percent);
	ff_put_estimate(row, ff_strata_total(strata, FF_HEAP_LIVE_ROWS), 1);
	ff_put_estimate(row, ff_strata_total(strata, FF_HEAP_DEAD_ROWS), 1);
	ff_put_float(row, TOTAL(FF_HEAP_RECENT_ROWS));
	ff_put_float(row, TOTAL(FF_HEAP_REDIRECT_LPS));
	ff_put_float(row, TOTAL(FF_HEAP_DEAD_LPS));
	ff_put_float(row, TOTAL(FF_HEAP_UNUSED_LPS));
	ff_put_float(row, TOTAL(FF_HEAP_UPDATED_HOT));
	ff_put_float(row, TOTAL(FF_HEAP_UPDATED_COLD));
	ff_put_float(row, TOTAL(FF_HEAP_SUPERSEDED_HOT));
	ff_put_float(row, TOTAL(FF_HEAP_SUPERSEDED_SAME));
	ff_put_float(row, TOTAL(FF_HEAP_SUPERSEDED_MOVED));
	ff_put_float(row, ff_strata_ratio(strata, FF_HEAP_LIVE_ROWS,
								   FF_HEAP_INHABITED).value);
	ff_put_float(row, strata->blocks > 0 ? sample->most_rows : NAN);
	ff_put_estimate(row, ff_strata_ratio(strata, FF_HEAP_INSERTED_BYTES,
									  FF_HEAP_INSERTED_ROWS), 1);
	ff_put_estimate(row, ff_strata_ratio(strata, FF_HEAP_UPDATED_BYTES,
									  FF_HEAP_UPDATED_ROWS), 1);
	ff_put_float(row, ff_strata_ratio(strata, FF_HEAP_UPDATED_ROWS,
								   FF_HEAP_LIVE_ROWS).value * 100);
	ff_put_float(row, ff_quantile(&sample->updated_groups, 0.5));
	ff_put_float(row, ff_quantile(&sample->inserted_groups, 0.5));
	ff_put_float(row, ff_quantile(&sample->distances, 0.5));
	ff_put_float(row, ff_quantile(&sample->distances, 0.1));
	ff_put_float(row, ff_quantile(&sample->distances, 0.9));
	ff_put_float(row, ff_quantile(&sample->lsn_ages, 0.1));
	ff_put_float(row, ff_quantile(&sample->lsn_ages, 0.5));
	ff_put_float(row, ff_quantile(&sample->lsn_ages, 0.9));
	ff_put_float(row, ff_strata_mean(strata, FF_HEAP_FULL_HINT).value * 100);
	ff_put_histogram(row, sample->fill_bin, FF_FILL_BINS);
	ff_put_float(row, TOTAL(FF_HEAP_ABORTED_ROWS));
#undef TOTAL
	/* 0.2.0 */
	for (int i = 0; i < (int) lengthof(counted); i++)
		ff_put_float(row, ff_strata_total(strata, counted[i]).error);
	ff_put_float(row, ff_strata_ratio(strata, FF_HEAP_LIVE_ROWS,
									  FF_HEAP_INHABITED).error);
	ff_put_float(row, ff_strata_ratio(strata, FF_HEAP_UPDATED_ROWS,
									  FF_HEAP_LIVE_ROWS).error * 100);
}

/*
 * ff_sample(relation regclass) returns record
 *
 * Samples the pages of one heap table: see the comment on the SQL function
 * for the columns.  Errors: 22004 for NULL, 42P01 for an unknown OID, 42809 for
 * anything that is not a heap table with pages of its own, 0A000 for another
 * session's temporary table and for an unlogged table in recovery, 55P03 if the
 * lock cannot be had at once.
 */
Datum
ff_sample(PG_FUNCTION_ARGS)
{
	FfHeapSample *sample;
	FfRow		row = {0};

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("relation must not be null")));

	sample = palloc0(sizeof(FfHeapSample));
	sample->rel = open_heap(PG_GETARG_OID(0));
	take_sample(sample);
	fill_row(sample, &row);
	relation_close(sample->rel, AccessShareLock);

	PG_RETURN_DATUM(ff_row_datum(fcinfo, &row));
}
