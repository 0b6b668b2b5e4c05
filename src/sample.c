/*
 * sample.c
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
#include "access/xlog.h"
#include "access/xlogrecovery.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_class.h"
#include "common/pg_prng.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/smgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/rel.h"

#include "compat.h"
#include "page_heap.h"
#include "sample.h"
#include "strata.h"
#include "visibility.h"

/* Bins of fill_histogram, each of 10 %. */
#define FF_FILL_BINS 10

/* A value that counts for some rows, or pages, of a stratum. */
typedef struct FfItem
{
	double		value;
	double		weight;			/* rows; times the stratum's weight at the end */
	int			stratum;
} FfItem;

typedef struct FfItems
{
	FfItem	   *item;
	int			nitems;
	int			room;
} FfItems;

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
add_item(FfItems *items, double value, double weight, int stratum)
{
	if (items->nitems == items->room)
	{
		items->room = Max(1024, items->room * 2);
		if (items->item == NULL)
			items->item = palloc(sizeof(FfItem) * items->room);
		else
			items->item = repalloc_huge(items->item,
										sizeof(FfItem) * items->room);
	}
	items->item[items->nitems].value = value;
	items->item[items->nitems].weight = weight;
	items->item[items->nitems++].stratum = stratum;
}

static int
compare_items(const void *a, const void *b)
{
	double		x = ((const FfItem *) a)->value;
	double		y = ((const FfItem *) b)->value;

	return x < y ? -1 : x > y;
}

/* Makes item weights those of the whole table, and sorts by value. */
static void
finish_items(FfItems *items, const FfStrata *strata)
{
	for (int i = 0; i < items->nitems; i++)
		items->item[i].weight *= ff_strata_weight(strata,
												  items->item[i].stratum);
	if (items->nitems > 1)
		qsort(items->item, items->nitems, sizeof(FfItem), compare_items);
}

/* The least value that at least this share of the weight does not exceed. */
static double
quantile(const FfItems *items, double share)
{
	double		sum = 0;
	double		seen = 0;

	for (int i = 0; i < items->nitems; i++)
		sum += items->item[i].weight;
	for (int i = 0; i < items->nitems; i++)
	{
		seen += items->item[i].weight;
		if (seen >= share * sum)
			return items->item[i].value;
	}
	return NAN;
}

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
	if (!XLogRecPtrIsInvalid(sample->now) &&
		!XLogRecPtrIsInvalid(measured->lsn))
		add_item(&sample->lsn_ages,
				 measured->lsn < sample->now ?
				 (double) (sample->now - measured->lsn) : 0, 1, stratum);
	for (int i = 0; i < measured->ngroups; i++)
	{
		const FfHeapGroup *group = &measured->group[i];

		add_item(group->updated ? &sample->updated_groups :
				 &sample->inserted_groups, group->rows, group->rows, stratum);
		if (group->distance >= 0)
			add_item(&sample->distances, group->distance, group->rows,
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

/* What the wanted error is about. */
static const int exact_metrics[] = {
	FF_HEAP_LIVE_BYTES, FF_HEAP_DEAD_BYTES, FF_HEAP_FREE_BYTES
};

static void
take_sample(FfHeapSample *sample)
{
	Relation	rel = sample->rel;
	BufferAccessStrategy strategy = GetAccessStrategy(BAS_BULKREAD);
	uint64		seed = ff_sample_seed != 0 ? (uint64) ff_sample_seed :
		pg_prng_uint64(&pg_global_prng_state);
	BlockNumber *block;
	int			nblocks;

	sample->reserve = fillfactor_reserve(rel);
	if (RelationIsPermanent(rel))
		sample->now = RecoveryInProgress() ? GetXLogReplayRecPtr(NULL) :
			GetXLogInsertRecPtr();
	ff_visibility_begin(&sample->visibility, rel, &sample->xacts);
	ff_strata_begin(&sample->strata, RelationGetNumberOfBlocks(rel),
					FF_HEAP_METRICS, seed);

	nblocks = ff_strata_first(&sample->strata, ff_sample_pages, &block);
	ff_read_pages(rel, strategy, block, nblocks, count_page, sample);
	nblocks = ff_strata_second(&sample->strata, exact_metrics,
							   lengthof(exact_metrics),
							   ff_sample_error / 100 * BLCKSZ,
							   ff_sample_pages, &block);
	ff_read_pages(rel, strategy, block, nblocks, count_page, sample);
	FreeAccessStrategy(strategy);

	finish_items(&sample->lsn_ages, &sample->strata);
	finish_items(&sample->inserted_groups, &sample->strata);
	finish_items(&sample->updated_groups, &sample->strata);
	finish_items(&sample->distances, &sample->strata);
}

/* Columns of the result, in the order of the SQL function. */
typedef struct FfRow
{
	Datum		values[64];
	bool		nulls[64];
	int			ncolumns;
} FfRow;

static void
put_datum(FfRow *row, Datum value)
{
	row->nulls[row->ncolumns] = false;
	row->values[row->ncolumns++] = value;
}

/* NaN stands for what has no meaning here. */
static void
put_float(FfRow *row, double value)
{
	row->nulls[row->ncolumns] = isnan(value);
	row->values[row->ncolumns++] = Float8GetDatum(value);
}

static void
put_estimate(FfRow *row, FfEstimate estimate, double factor)
{
	put_float(row, estimate.value * factor);
	put_float(row, estimate.error * factor);
}

static void
put_histogram(FfRow *row, const int *bin, int nbins)
{
	Datum	   *element = palloc(sizeof(Datum) * nbins);

	for (int i = 0; i < nbins; i++)
		element[i] = Int32GetDatum(bin[i]);
	put_datum(row, PointerGetDatum(construct_array(element, nbins, INT4OID,
												   sizeof(int32), true,
												   TYPALIGN_INT)));
}

static void
fill_row(const FfHeapSample *sample, FfRow *row)
{
	const FfStrata *strata = &sample->strata;
	double		blocks = strata->blocks;
	double		percent = blocks > 0 ? 100.0 / BLCKSZ : NAN;

#define TOTAL(metric) ff_strata_mean(strata, metric).value * blocks
	put_datum(row, ObjectIdGetDatum(RelationGetRelid(sample->rel)));
	put_datum(row, Int64GetDatum((int64) strata->blocks));
	put_datum(row, Int32GetDatum(sample->pages_read));
	put_datum(row, Int32GetDatum(sample->pages_new));
	put_datum(row, Int32GetDatum(sample->pages_bad));
	put_estimate(row, ff_strata_mean(strata, FF_HEAP_LIVE_BYTES), percent);
	put_estimate(row, ff_strata_mean(strata, FF_HEAP_DEAD_BYTES), percent);
	put_estimate(row, ff_strata_mean(strata, FF_HEAP_FREE_BYTES), percent);
	put_float(row, ff_strata_mean(strata, FF_HEAP_RESERVE_BYTES).value *
			  percent);
	put_estimate(row, ff_strata_mean(strata, FF_HEAP_LIVE_ROWS), blocks);
	put_estimate(row, ff_strata_mean(strata, FF_HEAP_DEAD_ROWS), blocks);
	put_float(row, TOTAL(FF_HEAP_RECENT_ROWS));
	put_float(row, TOTAL(FF_HEAP_REDIRECT_LPS));
	put_float(row, TOTAL(FF_HEAP_DEAD_LPS));
	put_float(row, TOTAL(FF_HEAP_UNUSED_LPS));
	put_float(row, TOTAL(FF_HEAP_UPDATED_HOT));
	put_float(row, TOTAL(FF_HEAP_UPDATED_COLD));
	put_float(row, TOTAL(FF_HEAP_SUPERSEDED_HOT));
	put_float(row, TOTAL(FF_HEAP_SUPERSEDED_SAME));
	put_float(row, TOTAL(FF_HEAP_SUPERSEDED_MOVED));
	put_float(row, ff_strata_ratio(strata, FF_HEAP_LIVE_ROWS,
								   FF_HEAP_INHABITED).value);
	put_float(row, blocks > 0 ? sample->most_rows : NAN);
	put_estimate(row, ff_strata_ratio(strata, FF_HEAP_INSERTED_BYTES,
									  FF_HEAP_INSERTED_ROWS), 1);
	put_estimate(row, ff_strata_ratio(strata, FF_HEAP_UPDATED_BYTES,
									  FF_HEAP_UPDATED_ROWS), 1);
	put_float(row, ff_strata_ratio(strata, FF_HEAP_UPDATED_ROWS,
								   FF_HEAP_LIVE_ROWS).value * 100);
	put_float(row, quantile(&sample->updated_groups, 0.5));
	put_float(row, quantile(&sample->inserted_groups, 0.5));
	put_float(row, quantile(&sample->distances, 0.5));
	put_float(row, quantile(&sample->distances, 0.1));
	put_float(row, quantile(&sample->distances, 0.9));
	put_float(row, quantile(&sample->lsn_ages, 0.1));
	put_float(row, quantile(&sample->lsn_ages, 0.5));
	put_float(row, quantile(&sample->lsn_ages, 0.9));
	put_float(row, blocks > 0 ?
			  ff_strata_mean(strata, FF_HEAP_FULL_HINT).value * 100 : NAN);
	put_histogram(row, sample->fill_bin, FF_FILL_BINS);
	put_float(row, TOTAL(FF_HEAP_ABORTED_ROWS));
#undef TOTAL
}

/*
 * ff_sample(relation regclass) returns record
 *
 * Samples the pages of one heap table: see the comment on the SQL function
 * for the columns.  Errors: 22004 for NULL, 42P01 for an unknown OID, 42809 for
 * anything that is not a heap table with pages of its own, 0A000 for
 * another session's temporary table and for an unlogged table in recovery, 55P03 if
 * the lock cannot be had at once.
 */
Datum
ff_sample(PG_FUNCTION_ARGS)
{
	TupleDesc	tupdesc;
	FfHeapSample *sample;
	FfRow		row = {0};

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("relation must not be null")));
	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");

	sample = palloc0(sizeof(FfHeapSample));
	sample->rel = open_heap(PG_GETARG_OID(0));
	take_sample(sample);
	fill_row(sample, &row);
	relation_close(sample->rel, AccessShareLock);

	if (tupdesc->natts != row.ncolumns)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("SQL function ff_sample has %d columns, its library %d",
						tupdesc->natts, row.ncolumns),
				 errhint("Run ALTER EXTENSION fillfactor_advisor UPDATE.")));
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(tupdesc),
													  row.values,
													  row.nulls)));
}
