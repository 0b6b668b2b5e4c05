/*
 * index.c
 *	  ff_sample_index: a page sample of one B-tree index, with error bars.
 *
 * Chooses and reads pages as ff_sample does.  The statistics are of leaf pages:
 * ratios to the leaves in the sample, not to all pages.
 */
#include "postgres.h"

#include <math.h>

#include "access/nbtree.h"
#include "access/relation.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_class.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "compat.h"
#include "sample/page_btree.h"
#include "sample/sample.h"
#include "sample/result.h"
#include "sample/strata.h"

/* Bins of density_histogram, each of 10 %. */
#define FF_DENSITY_BINS 10

typedef struct FfBtreeSample
{
	Relation	rel;
	int			fillfactor;		/* percent */
	int			levels;			/* of the tree, from its metapage; 0 unknown */
	FfStrata	strata;

	/* counts of pages read */
	int			pages_read;
	int			pages_new;
	int			pages_bad;
	int			density_bin[FF_DENSITY_BINS];
} FfBtreeSample;

PG_FUNCTION_INFO_V1(ff_sample_index);

static Relation
open_btree(Oid relid)
{
	Relation	rel = ff_open_for_sample(relid);

	if (rel->rd_rel->relkind != RELKIND_INDEX ||
		rel->rd_rel->relam != BTREE_AM_OID)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a B-tree index with pages of its own",
						RelationGetRelationName(rel))));
	if (!rel->rd_index->indisvalid)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" is not valid",
						RelationGetRelationName(rel)),
				 errhint("Build it again with REINDEX, or drop it.")));
	return rel;
}

static void
look_at_metapage(void *arg, int position, BlockNumber block, const char *page)
{
	FfBtreeSample *sample = (FfBtreeSample *) arg;
	FfBtreePage measured;

	ff_btree_page(page, block, sample->fillfactor, &measured);
	if (measured.meta)
		sample->levels = measured.level + 1;
}

static void
count_page(void *arg, int position, BlockNumber block, const char *page)
{
	FfBtreeSample *sample = (FfBtreeSample *) arg;
	int			stratum = ff_strata_find(&sample->strata, block);
	FfBtreePage measured;
	FfPageState state;

	state = ff_btree_page(page, block, sample->fillfactor, &measured);
	ff_strata_add(&sample->strata, stratum, measured.metric);
	sample->pages_read++;
	if (state == FF_PAGE_BAD)
		sample->pages_bad++;
	if (state == FF_PAGE_NEW)
		sample->pages_new++;
	if (measured.metric[FF_BTREE_LEAF] == 0)
		return;

	sample->density_bin[Min(FF_DENSITY_BINS - 1,
							(int) (measured.density * FF_DENSITY_BINS))]++;
}

StaticAssertDecl(FF_BTREE_METRICS <= FF_MAX_METRICS, "too many metrics");

/* What the wanted error is about. */
static const int exact_metrics[] = {FF_BTREE_FREE};

static void
fill_row(const FfBtreeSample *sample, FfRow *row)
{
	const FfStrata *strata = &sample->strata;
	FfEstimate	density = ff_strata_ratio(strata, FF_BTREE_FREE, FF_BTREE_ROOM);

	density.value = 1 - density.value;
	ff_put_datum(row, ObjectIdGetDatum(RelationGetRelid(sample->rel)));
	ff_put_datum(row, ObjectIdGetDatum(sample->rel->rd_index->indrelid));
	ff_put_datum(row, Int64GetDatum((int64) strata->blocks));
	ff_put_datum(row, Int32GetDatum(sample->pages_read));
	ff_put_datum(row, Int32GetDatum(sample->pages_new));
	ff_put_datum(row, Int32GetDatum(sample->pages_bad));
	ff_put_datum(row, Int32GetDatum(sample->levels));
	ff_put_estimate(row, ff_strata_total(strata, FF_BTREE_LEAF), 1);
	ff_put_float(row, ff_strata_total(strata, FF_BTREE_INTERNAL).value);
	ff_put_float(row, ff_strata_total(strata, FF_BTREE_DELETED).value);
	ff_put_float(row, ff_strata_total(strata, FF_BTREE_HALF_DEAD).value);
	ff_put_estimate(row, density, 100);
	ff_put_estimate(row, ff_strata_ratio(strata, FF_BTREE_FRAGMENT,
										 FF_BTREE_LEAF), 100);
	ff_put_estimate(row, ff_strata_ratio(strata, FF_BTREE_AT_FILLFACTOR,
										 FF_BTREE_LEAF), 100);
	ff_put_estimate(row, ff_strata_ratio(strata, FF_BTREE_HALF_FULL,
										 FF_BTREE_LEAF), 100);
	ff_put_histogram(row, sample->density_bin, FF_DENSITY_BINS);
	ff_put_estimate(row, ff_strata_total(strata, FF_BTREE_TIDS), 1);
	ff_put_float(row, ff_strata_ratio(strata, FF_BTREE_ITEMS,
									  FF_BTREE_LEAF).value);
	ff_put_float(row, ff_strata_ratio(strata, FF_BTREE_ITEM_BYTES,
									  FF_BTREE_TIDS).value);
	ff_put_float(row, ff_strata_ratio(strata, FF_BTREE_DEAD_ITEMS,
									  FF_BTREE_ITEMS).value * 100);
	ff_put_float(row, ff_strata_ratio(strata, FF_BTREE_POSTING_TIDS,
									  FF_BTREE_TIDS).value * 100);
}

/*
 * ff_sample_index(index regclass) returns record
 *
 * Samples the pages of one B-tree index: see the comment on the SQL function
 * for the columns.  Errors: those of ff_sample, 42809 for anything that is not
 * a B-tree index with pages of its own, 55000 for an invalid index.
 */
Datum
ff_sample_index(PG_FUNCTION_ARGS)
{
	FfBtreeSample *sample;
	FfRow		row = {0};
	const BlockNumber metapage = BTREE_METAPAGE;

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("index must not be null")));

	sample = palloc0(sizeof(FfBtreeSample));
	sample->rel = open_btree(PG_GETARG_OID(0));
	sample->fillfactor = BTGetFillFactor(sample->rel);
	ff_read_pages(sample->rel, NULL, &metapage, 1, look_at_metapage, sample);
	ff_read_sample(sample->rel, &sample->strata, FF_BTREE_METRICS,
				   exact_metrics, lengthof(exact_metrics), count_page, sample);
	fill_row(sample, &row);
	relation_close(sample->rel, AccessShareLock);

	PG_RETURN_DATUM(ff_row_datum(fcinfo, &row));
}
