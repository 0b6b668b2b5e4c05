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
#include "catalog/pg_am_d.h"
#include "catalog/pg_class.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "sample/heap.h"

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
count(FfHeapSample *own, FfHeapHistogram which, int stratum, int bin, int n)
{
	ff_count(&own->histogram[which], &own->sample.strata, stratum, bin, n);
}

static void
count_page(FfSample *sample, BlockNumber block, const char *page)
{
	FfHeapSample *own = (FfHeapSample *) sample;
	FfHeapPage *measured = &own->page;
	FfPageState state = ff_heap_page(page, block, &own->xacts, measured);
	int			stratum = ff_count_page(sample, block, state, measured->metric,
										measured->used_share);

	if (state == FF_PAGE_BAD || state == FF_PAGE_NEW)
		return;
	own->most_rows = Max(own->most_rows, measured->metric[FF_HEAP_LIVE_ROWS]);
	for (int i = 0; i < measured->nrows; i++)
		count(own, measured->updated[i] ? FF_UPDATED_LENGTHS : FF_INSERTED_LENGTHS, stratum,
			  measured->length[i] / MAXIMUM_ALIGNOF, 1);
	for (int i = 0; i < measured->ngroups; i++)
	{
		const FfHeapGroup *group = &measured->group[i];

		count(own, group_histogram[group->kind], stratum, group->rows, group->rows);
		if (group->kind == FF_GROUP_INSERTED || group->live == 0)
			continue;
		count(own, FF_UPDATE_AGES, stratum, ff_number_bin(group->age), group->live);
		if (group->distance >= 0)
			count(own, FF_UPDATE_DISTANCES, stratum, ff_number_bin(group->distance), group->live);
	}
}

static Relation
open_heap(FunctionCallInfo fcinfo)
{
	Relation	rel = ff_open_for_sample(fcinfo, "relation");

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
	FfHeapSample *own = palloc0(sizeof(FfHeapSample));
	FfSample   *sample = &own->sample;

	for (int i = 0; i < FF_HEAP_HISTOGRAMS; i++)
		own->histogram[i].nbins = histogram_bins[i];
	sample->rel = open_heap(fcinfo);
	own->sampled_at = GetCurrentTimestamp();
	ff_visibility_begin(&own->visibility, sample->rel, &own->xacts);
	ff_read_sample(sample, FF_HEAP_METRICS, exact_metrics, lengthof(exact_metrics), count_page);
	PG_RETURN_DATUM(ff_heap_row(fcinfo, own));
}
