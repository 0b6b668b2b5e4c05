/*
 * index.c
 *	  ff_sample_index: a page sample of one B-tree index, with error bars.
 *
 * Chooses and reads pages as ff_sample does.  The statistics are of leaf pages:
 * ratios to the leaves in the sample, not to all pages.
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_class.h"

#include "compat.h"
#include "refuse.h"
#include "sample/page_btree.h"
#include "sample/sample.h"

typedef struct FfBtreeSample
{
	FfSample	sample;
	int			fillfactor;		/* percent */
	int			levels;			/* of the tree, from its metapage; 0 unknown */
} FfBtreeSample;

enum
{
	INDEX, RELATION, LEVELS, DENSITY
};

PG_FUNCTION_INFO_V1(ff_sample_index);

static const FfColumn columns[] = {
	{"index", FF_OWN, .kind = INDEX},
	{"relation", FF_OWN, .kind = RELATION},
	{"blocks", FF_BLOCKS},
	{"blocks_read", FF_COUNT, offsetof(FfSample, pages_read)},
	{"blocks_new", FF_COUNT, offsetof(FfSample, pages_new)},
	{"blocks_bad", FF_COUNT, offsetof(FfSample, pages_bad)},
	{"levels", FF_OWN, .kind = LEVELS},
	{"leaf_pages", FF_TOTAL, FF_BTREE_LEAF},
	{"leaf_pages_err", FF_TOTAL_ERR, FF_BTREE_LEAF},
	{"internal_pages", FF_TOTAL, FF_BTREE_INTERNAL},
	{"deleted_pages", FF_TOTAL, FF_BTREE_DELETED},
	{"half_dead_pages", FF_TOTAL, FF_BTREE_HALF_DEAD},
	{"leaf_density", FF_OWN, .kind = DENSITY},
	{"leaf_density_err", FF_RATIO_ERR, FF_BTREE_FREE, FF_BTREE_ROOM, 100},
	{"fragmentation", FF_RATIO, FF_BTREE_FRAGMENT, FF_BTREE_LEAF, 100},
	{"fragmentation_err", FF_RATIO_ERR, FF_BTREE_FRAGMENT, FF_BTREE_LEAF, 100},
	{"at_fillfactor_pct", FF_RATIO, FF_BTREE_AT_FILLFACTOR, FF_BTREE_LEAF, 100},
	{"at_fillfactor_pct_err", FF_RATIO_ERR, FF_BTREE_AT_FILLFACTOR, FF_BTREE_LEAF, 100},
	{"half_full_pct", FF_RATIO, FF_BTREE_HALF_FULL, FF_BTREE_LEAF, 100},
	{"half_full_pct_err", FF_RATIO_ERR, FF_BTREE_HALF_FULL, FF_BTREE_LEAF, 100},
	{"density_histogram", FF_FILL},
	{"row_pointers", FF_TOTAL, FF_BTREE_TIDS},
	{"row_pointers_err", FF_TOTAL_ERR, FF_BTREE_TIDS},
	{"items_per_leaf", FF_RATIO, FF_BTREE_ITEMS, FF_BTREE_LEAF, 1},
	{"bytes_per_row", FF_RATIO, FF_BTREE_ITEM_BYTES, FF_BTREE_TIDS, 1},
	{"dead_items_pct", FF_RATIO, FF_BTREE_DEAD_ITEMS, FF_BTREE_ITEMS, 100},
	{"deduplicated_pct", FF_RATIO, FF_BTREE_POSTING_TIDS, FF_BTREE_TIDS, 100}
};

static Datum
own_value(const FfSample *sample, const FfColumn *column, Form_pg_attribute attribute, bool *isnull)
{
	switch (column->kind)
	{
		case INDEX:
			return ObjectIdGetDatum(RelationGetRelid(sample->rel));
		case RELATION:
			return ObjectIdGetDatum(sample->rel->rd_index->indrelid);
		case LEVELS:
			return Int32GetDatum(((const FfBtreeSample *) sample)->levels);
		default:
			return ff_number_datum(100 - 100 * ff_strata_ratio(&sample->strata, FF_BTREE_FREE,
															   FF_BTREE_ROOM).value,
								   attribute, isnull);
	}
}

static Relation
open_btree(FunctionCallInfo fcinfo)
{
	Relation	rel = ff_open_for_sample(fcinfo, "index");

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
count_page(FfSample *sample, BlockNumber block, const char *page)
{
	FfBtreePage measured;
	FfPageState state;

	state = ff_btree_page(page, block, ((FfBtreeSample *) sample)->fillfactor, &measured);
	ff_count_page(sample, block, state, measured.metric, measured.density);
}

StaticAssertDecl(FF_BTREE_METRICS <= FF_MAX_METRICS, "too many metrics");

/* What the wanted error is about. */
static const int exact_metrics[] = {FF_BTREE_FREE};

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
	FfBtreeSample *own = palloc0(sizeof(FfBtreeSample));
	FfSample   *sample = &own->sample;
	PGAlignedBlock page;
	FfBtreePage metapage;

	ff_require("collector");
	sample->rel = open_btree(fcinfo);
	own->fillfactor = BTGetFillFactor(sample->rel);
	ff_read_page(sample->rel, BTREE_METAPAGE, page.data);
	ff_btree_page(page.data, BTREE_METAPAGE, own->fillfactor, &metapage);
	if (metapage.meta)
		own->levels = metapage.level + 1;
	ff_read_sample(sample, FF_BTREE_METRICS, exact_metrics, lengthof(exact_metrics), count_page);
	PG_RETURN_DATUM(ff_sample_row(fcinfo, sample, columns, lengthof(columns), own_value));
}
