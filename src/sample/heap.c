/*
 * heap.c
 *	  sample(): a page sample of one table, with error bars.
 *
 * A first sample of some 600 pages shows how much pages differ; from that
 * follows how many more must be read for the wanted error, whatever the size
 * of the table.  Small tables are read whole, and their errors are zero.
 *
 * What is not counted: rejected pages count as pages without anything in
 * them; toasted values are in another relation.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_class.h"
#include "funcapi.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "sample/heap.h"
#include "sample/sample.h"

PG_FUNCTION_INFO_V1(ff_sample);

static const int histogram_bins[FF_HEAP_HISTOGRAMS] = {
	[FF_INSERTED_LENGTHS] = BLCKSZ / MAXIMUM_ALIGNOF + 1,
	[FF_UPDATED_LENGTHS] = BLCKSZ / MAXIMUM_ALIGNOF + 1,
	[FF_INSERT_GROUPS] = MaxHeapTuplesPerPage + 1,
	[FF_OLD_PAGE_GROUPS] = MaxHeapTuplesPerPage + 1,
	[FF_NEW_PAGE_GROUPS] = MaxHeapTuplesPerPage + 1,
	[FF_UPDATE_DISTANCES] = FF_NUMBER_BINS,
	[FF_UPDATE_AGES] = FF_NUMBER_BINS
};

static const FfHeapHistogram group_histogram[FF_GROUP_KINDS] = {
	[FF_GROUP_INSERTED] = FF_INSERT_GROUPS,
	[FF_GROUP_OLD_PAGE] = FF_OLD_PAGE_GROUPS,
	[FF_GROUP_NEW_PAGE] = FF_NEW_PAGE_GROUPS
};

/* What the wanted error is about. */
static const int exact_metrics[] = {
	FF_HEAP_LIVE_BYTES, FF_HEAP_DEAD_BYTES, FF_HEAP_FREE_BYTES
};

StaticAssertDecl(FF_HEAP_METRICS <= FF_MAX_METRICS, "too many metrics");

static void
count(FfHeapSample *sample, FfHeapHistogram which, int stratum, int bin, int n)
{
	ff_count(&sample->histogram[which], &sample->strata, stratum, bin, n);
}

static void
count_rows(FfHeapSample *sample, int stratum)
{
	const FfHeapPage *page = &sample->page;

	for (int i = 0; i < page->nrows; i++)
		count(sample, page->updated[i] ? FF_UPDATED_LENGTHS : FF_INSERTED_LENGTHS,
			  stratum, page->length[i] / MAXIMUM_ALIGNOF, 1);
	for (int i = 0; i < page->ngroups; i++)
	{
		const FfHeapGroup *group = &page->group[i];

		count(sample, group_histogram[group->kind], stratum, group->rows,
			  group->rows);
		if (group->kind == FF_GROUP_INSERTED || group->live == 0)
			continue;
		count(sample, FF_UPDATE_AGES, stratum, ff_number_bin(group->age),
			  group->live);
		if (group->distance >= 0)
			count(sample, FF_UPDATE_DISTANCES, stratum,
				  ff_number_bin(group->distance), group->live);
	}
}

static void
count_page(void *arg, int position, BlockNumber block, const char *page)
{
	FfHeapSample *sample = (FfHeapSample *) arg;
	FfHeapPage *measured = &sample->page;
	int			stratum = ff_strata_find(&sample->strata, block);
	FfPageState state;

	state = ff_heap_page(page, block, &sample->xacts, measured);
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
	count_rows(sample, stratum);
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

/*
 * sample(relation regclass) returns page_sample
 *
 * Samples the pages of one heap table: see the comments on the type.  Errors:
 * 22004 for NULL, 42P01 for an unknown OID, 42809 for anything that is not a
 * heap table with pages of its own, 0A000 for another session's temporary table
 * and for an unlogged table in recovery, 55P03 if the lock is not available at
 * once, 55000 where the type is not the one that this library fills.
 */
Datum
ff_sample(PG_FUNCTION_ARGS)
{
	FfHeapSample *sample;
	TupleDesc	desc;
	Datum		row;

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("relation must not be null")));
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");

	sample = palloc0(sizeof(FfHeapSample));
	for (int i = 0; i < FF_HEAP_HISTOGRAMS; i++)
		sample->histogram[i].nbins = histogram_bins[i];
	sample->rel = open_heap(PG_GETARG_OID(0));
	sample->sampled_at = GetCurrentTimestamp();
	ff_visibility_begin(&sample->visibility, sample->rel, &sample->xacts);
	ff_read_sample(sample->rel, &sample->strata, FF_HEAP_METRICS,
				   exact_metrics, lengthof(exact_metrics), count_page, sample);
	row = ff_sample_datum(sample, desc);
	relation_close(sample->rel, AccessShareLock);
	PG_RETURN_DATUM(row);
}
