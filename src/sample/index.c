/*
 * index.c
 *	  A page sample of one B-tree index, with error bars.  Ratios are relative to the leaf
 *	  pages in the sample, not to all pages.
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_class.h"

#include "base/module.h"
#include "sample/sample.h"

PG_FUNCTION_INFO_V1(ff_sample_index);

static const FfColumn columns[] = {
	{"index", FF_RELATION},
	{"relation", FF_TABLE},
	{"blocks", FF_BLOCKS},
	{"blocks_read", FF_COUNT, offsetof(FfSample, strata.nread)},
	{"blocks_new", FF_COUNT, offsetof(FfSample, pages[FF_PAGE_NEW])},
	{"blocks_bad", FF_COUNT, offsetof(FfSample, pages[FF_PAGE_BAD])},
	{"leaf_pages", FF_TOTAL, FF_BTREE_LEAF},
	{"internal_pages", FF_TOTAL, FF_BTREE_INTERNAL},
	{"deleted_pages", FF_TOTAL, FF_BTREE_DELETED},
	{"leaf_density", FF_PERCENT, FF_BTREE_USED, FF_BTREE_ROOM},
	{"leaf_density_err", FF_PERCENT, FF_BTREE_USED, FF_BTREE_ROOM, .error = true},
	{"fragmentation", FF_PERCENT, FF_BTREE_FRAGMENT, FF_BTREE_LEAF},
	{"at_fillfactor_pct", FF_PERCENT, FF_BTREE_AT_FILLFACTOR, FF_BTREE_LEAF},
	{"half_full_pct", FF_PERCENT, FF_BTREE_HALF_FULL, FF_BTREE_LEAF},
	{"row_pointers", FF_TOTAL, FF_BTREE_TIDS},
	{"deduplicated_pct", FF_PERCENT, FF_BTREE_POSTING_TIDS, FF_BTREE_TIDS}
};

/* The wanted error applies to this. */
static const int exact_metrics[] = {FF_BTREE_USED};

StaticAssertDecl(FF_BTREE_METRICS <= FF_MAX_METRICS, "too many metrics");

static void
count_page(FfSample *sample, BlockNumber block, const char *page)
{
	double		metric[FF_BTREE_METRICS];

	sample->pages[ff_btree_page(page, block, sample->fillfactor, metric)]++;
	ff_strata_add(&sample->strata, block, metric);
}

/*
 * SQL: ff_sample_index().  Errors: those of ff_sample(), 42809 if it is not a B-tree index with
 * its own pages, 55000 if the index is invalid.
 */
Datum
ff_sample_index(PG_FUNCTION_ARGS)
{
	FfSample   *sample = palloc0(sizeof(FfSample));
	Relation	rel;

	ff_require("collector");
	sample->rel = rel = ff_open_for_sample(fcinfo, "index");
	if (rel->rd_rel->relkind != RELKIND_INDEX || rel->rd_rel->relam != BTREE_AM_OID)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a B-tree index with storage",
						RelationGetRelationName(rel))));
	if (!rel->rd_index->indisvalid)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" is not valid", RelationGetRelationName(rel)),
				 errhint("Rebuild it with REINDEX, or drop it.")));
	sample->fillfactor = BTGetFillFactor(rel);
	ff_read_sample(sample, FF_BTREE_METRICS, exact_metrics, lengthof(exact_metrics), count_page);
	PG_RETURN_DATUM(ff_sample_row(fcinfo, sample, columns, lengthof(columns)));
}
