/*
 * heap.c
 *	  A page sample of one table, with error bars.
 *
 * Small tables are read whole, with errors of zero.
 *
 * Not counted: the contents of rejected pages, which count as empty, and toasted
 * values, which are in another relation.
 */
#include "postgres.h"

#include "catalog/pg_am_d.h"
#include "catalog/pg_class.h"
#include "funcapi.h"

#include "base/module.h"
#include "sample/sample.h"

PG_FUNCTION_INFO_V1(ff_sample);
PG_FUNCTION_INFO_V1(ff_pool_samples);

/* The columns of page_sample and of ff_sample(). */
static const FfColumn columns[] = {
	{"relation", FF_RELATION},
	{"rel_id", FF_CALLER},
	{"sampled_at", FF_CALLER},
	{"rollup", FF_CALLER},
	{"fillfactor", FF_CALLER},
	{"blocks", FF_BLOCKS},
	{"blocks_read", FF_COUNT, offsetof(FfSample, strata.nread)},
	{"blocks_new", FF_COUNT, offsetof(FfSample, pages[FF_PAGE_NEW])},
	{"blocks_bad", FF_COUNT, offsetof(FfSample, pages[FF_PAGE_BAD])},
	{"live_pct", FF_SHARE, FF_HEAP_LIVE_BYTES},
	{"live_pct_err", FF_SHARE, FF_HEAP_LIVE_BYTES, .error = true},
	{"dead_pct", FF_SHARE, FF_HEAP_DEAD_BYTES},
	{"dead_pct_err", FF_SHARE, FF_HEAP_DEAD_BYTES, .error = true},
	{"free_pct", FF_SHARE, FF_HEAP_FREE_BYTES},
	{"free_pct_err", FF_SHARE, FF_HEAP_FREE_BYTES, .error = true},
	{"live_rows", FF_TOTAL, FF_HEAP_LIVE_ROWS},
	{"live_rows_err", FF_TOTAL, FF_HEAP_LIVE_ROWS, .error = true},
	{"dead_rows", FF_TOTAL, FF_HEAP_DEAD_ROWS},
	{"recently_dead_rows", FF_TOTAL, FF_HEAP_RECENT_ROWS},
	{"updated_hot_rows", FF_TOTAL, FF_HEAP_UPDATED_HOT},
	{"updated_nonhot_rows", FF_TOTAL, FF_HEAP_UPDATED_NONHOT},
	{"superseded_hot", FF_TOTAL, FF_HEAP_SUPERSEDED_HOT, .pool = FF_ADDED_IF_SAME},
	{"superseded_same_page", FF_TOTAL, FF_HEAP_SUPERSEDED_SAME, .pool = FF_ADDED_IF_SAME},
	{"superseded_newpage", FF_TOTAL, FF_HEAP_SUPERSEDED_NEWPAGE, .pool = FF_ADDED_IF_SAME},
	{"rows_per_page", FF_RATIO, FF_HEAP_LIVE_ROWS, FF_HEAP_INHABITED},
	{"rows_per_page_max", FF_MOST_ROWS},
	{"inserted_width", FF_RATIO, FF_HEAP_INSERTED_BYTES, FF_HEAP_INSERTED_ROWS, .pool = FF_KEPT},
	{"updated_width", FF_RATIO, FF_HEAP_UPDATED_BYTES, FF_HEAP_UPDATED_ROWS, .pool = FF_KEPT},
	{"updated_pct", FF_PERCENT, FF_HEAP_UPDATED_ROWS, FF_HEAP_LIVE_ROWS},
	{"update_group_rows", FF_MEDIAN, FF_OLD_PAGE_GROUPS, FF_NEW_PAGE_GROUPS, .pool = FF_KEPT},
	{"inserted_length", FF_LENGTHS, FF_INSERTED_LENGTHS, .pool = FF_ADDED},
	{"updated_length", FF_LENGTHS, FF_UPDATED_LENGTHS, .pool = FF_ADDED},
	{"group_old_page", FF_GROUPS, FF_OLD_PAGE_GROUPS, .pool = FF_ADDED},
	{"group_new_page", FF_GROUPS, FF_NEW_PAGE_GROUPS, .pool = FF_ADDED},
	{"update_distance", FF_POWERS, FF_UPDATE_DISTANCES, .pool = FF_ADDED},
	{"update_age", FF_POWERS, FF_UPDATE_AGES},
	{"changed_columns", FF_CHANGED,.pool = FF_ADDED}
};

/* The wanted error applies to these. */
static const int exact_metrics[] = {
	FF_HEAP_LIVE_BYTES, FF_HEAP_DEAD_BYTES, FF_HEAP_FREE_BYTES
};

StaticAssertDecl(FF_HEAP_METRICS <= FF_MAX_METRICS, "too many metrics");

static void
count_page(FfSample *sample, BlockNumber block, const char *page)
{
	FfHeapPage *measured = &sample->page;
	FfPageState state = ff_heap_page(page, block, &sample->xacts, measured);
	int			stratum = ff_strata_add(&sample->strata, block, measured->metric);

	sample->pages[state]++;
	if (state == FF_PAGE_OK)
		ff_count_changed(page, block, RelationGetDescr(sample->rel), sample->changed);
	sample->most_rows = Max(sample->most_rows, measured->metric[FF_HEAP_LIVE_ROWS]);
	for (int i = 0, n; i < measured->nrows; i += n)
	{
		/* equal rows are often adjacent */
		for (n = 1; i + n < measured->nrows && measured->length[i + n] == measured->length[i] &&
			 measured->updated[i + n] == measured->updated[i]; n++)
			;
		ff_count(sample, measured->updated[i] ? FF_UPDATED_LENGTHS : FF_INSERTED_LENGTHS,
				 stratum, measured->length[i] / MAXIMUM_ALIGNOF, n);
	}
	for (int i = 0; i < measured->ngroups; i++)
	{
		const FfHeapGroup *group = &measured->group[i];

		ff_count(sample, group->new_page ? FF_NEW_PAGE_GROUPS : FF_OLD_PAGE_GROUPS, stratum,
				 group->rows, group->rows);
		ff_count(sample, FF_UPDATE_AGES, stratum, ev_log2_bin(group->age), group->live);
		if (group->distance >= 0)
			ff_count(sample, FF_UPDATE_DISTANCES, stratum, ev_log2_bin(group->distance), group->live);
	}
}

/* ff_sample() and sample().  Also error 55000 if the result has columns that are not above. */
Datum
ff_sample(PG_FUNCTION_ARGS)
{
	FfSample   *sample = palloc0(sizeof(FfSample));
	Relation	rel;

	ff_require("collector");
	sample->rel = rel = ff_open_for_sample(fcinfo, "relation");
	if (!RELKIND_HAS_TABLE_AM(rel->rd_rel->relkind))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a table with storage", RelationGetRelationName(rel)),
				 errdetail_relkind_not_supported(rel->rd_rel->relkind),
				 rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE ?
				 errhint("Sample its partitions.") : 0));
	if (rel->rd_rel->relam != HEAP_TABLE_AM_OID)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a heap table", RelationGetRelationName(rel)),
				 errdetail("Only pages of the heap access method can be read.")));
	ff_visibility_begin(rel, &sample->xacts);
	ff_read_sample(sample, FF_HEAP_METRICS, exact_metrics, lengthof(exact_metrics), count_page);
	PG_RETURN_DATUM(ff_sample_row(fcinfo, sample, columns, lengthof(columns)));
}

/* SQL: pool_samples() */
Datum
ff_pool_samples(PG_FUNCTION_ARGS)
{
	TupleDesc	desc;
	Datum	   *value[2];		/* of the sample and the earlier one */
	bool	   *null[2];
	Datum		pooled;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	if (PG_ARGISNULL(1) || PG_ARGISNULL(2) || PG_ARGISNULL(3))
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	desc = ff_read_row(fcinfo, 1, &value[1], &null[1]);
	ReleaseTupleDesc(desc);
	desc = ff_read_row(fcinfo, 0, &value[0], &null[0]);
	for (int i = 0; i < desc->natts; i++)
	{
		const FfColumn *c = ff_find_column(columns, lengthof(columns),
										   NameStr(TupleDescAttr(desc, i)->attname));

		if (c->pool == FF_ADDED || (c->pool == FF_ADDED_IF_SAME && PG_GETARG_BOOL(3)))
			ff_pool(c->source, &value[0][i], &null[0][i], null[1][i] ? NULL : &value[1][i],
					PG_GETARG_FLOAT8(2));
		else if (c->pool == FF_KEPT && null[0][i])
		{
			value[0][i] = value[1][i];
			null[0][i] = null[1][i];
		}
	}
	pooled = HeapTupleGetDatum(heap_form_tuple(desc, value[0], null[0]));
	ReleaseTupleDesc(desc);
	PG_RETURN_DATUM(pooled);
}
