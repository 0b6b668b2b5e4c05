/*
 * heap.c
 *	  A page sample of one table, with error bars, and what it keeps of earlier
 *	  samples.
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
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "module.h"
#include "sample/sample.h"

PG_FUNCTION_INFO_V1(ff_sample);
PG_FUNCTION_INFO_V1(ff_pool_samples);

/* The type page_sample: all that has to know a column. */
static const FfColumn columns[] = {
	{"rel_id", FF_CALLER},
	{"sampled_at", FF_SAMPLED_AT},
	{"rollup", FF_CALLER},
	{"fillfactor", FF_FILLFACTOR},
	{"blocks", FF_BLOCKS},
	{"blocks_read", FF_COUNT, offsetof(FfSample, pages_read)},
	{"blocks_new", FF_COUNT, offsetof(FfSample, pages_new)},
	{"blocks_bad", FF_COUNT, offsetof(FfSample, pages_bad)},
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
	{"superseded_hot", FF_TOTAL, FF_HEAP_SUPERSEDED_HOT, .pooling = FF_SPLIT_SUM},
	{"superseded_same_page", FF_TOTAL, FF_HEAP_SUPERSEDED_SAME, .pooling = FF_SPLIT_SUM},
	{"superseded_newpage", FF_TOTAL, FF_HEAP_SUPERSEDED_NEWPAGE, .pooling = FF_SPLIT_SUM},
	{"rows_per_page", FF_RATIO, FF_HEAP_LIVE_ROWS, FF_HEAP_INHABITED},
	{"rows_per_page_max", FF_MOST_ROWS},
	{"inserted_width", FF_RATIO, FF_HEAP_INSERTED_BYTES, FF_HEAP_INSERTED_ROWS, FF_LAST_KNOWN},
	{"inserted_width_err", FF_RATIO, FF_HEAP_INSERTED_BYTES, FF_HEAP_INSERTED_ROWS,
	FF_LAST_KNOWN, true},
	{"updated_width", FF_RATIO, FF_HEAP_UPDATED_BYTES, FF_HEAP_UPDATED_ROWS, FF_LAST_KNOWN},
	{"updated_width_err", FF_RATIO, FF_HEAP_UPDATED_BYTES, FF_HEAP_UPDATED_ROWS,
	FF_LAST_KNOWN, true},
	{"updated_pct", FF_PERCENT, FF_HEAP_UPDATED_ROWS, FF_HEAP_LIVE_ROWS},
	{"update_group_rows", FF_MEDIAN, FF_OLD_PAGE_GROUPS, FF_NEW_PAGE_GROUPS, FF_LAST_KNOWN},
	{"insert_group_rows", FF_MEDIAN, FF_INSERT_GROUPS, FF_INSERT_GROUPS, FF_LAST_KNOWN},
	{"update_distance", FF_MEDIAN, FF_UPDATE_DISTANCES, FF_UPDATE_DISTANCES, FF_LAST_KNOWN},
	{"fill_histogram", FF_FILL},
	{"inserted_lengths", FF_LENGTHS, FF_INSERTED_LENGTHS, .pooling = FF_SUM},
	{"updated_lengths", FF_LENGTHS, FF_UPDATED_LENGTHS, .pooling = FF_SUM},
	{"group_old_page", FF_GROUPS, FF_OLD_PAGE_GROUPS, .pooling = FF_SUM},
	{"group_new_page", FF_GROUPS, FF_NEW_PAGE_GROUPS, .pooling = FF_SUM},
	{"update_distances", FF_POWERS, FF_UPDATE_DISTANCES, .pooling = FF_SUM},
	{"update_ages", FF_POWERS, FF_UPDATE_AGES}
};

static const FfHistogram group_histogram[FF_GROUP_KINDS] = {
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
count_page(FfSample *sample, BlockNumber block, const char *page)
{
	FfHeapPage *measured = &sample->page;
	FfPageState state = ff_heap_page(page, block, &sample->xacts, measured);
	int			stratum = ff_count_page(sample, block, state, measured->metric);

	if (state != FF_PAGE_BAD)
		sample->fill_bin[Min(FF_FILL_BINS - 1, (int) (measured->used_share * FF_FILL_BINS))]++;
	sample->most_rows = Max(sample->most_rows, measured->metric[FF_HEAP_LIVE_ROWS]);
	for (int i = 0, n; i < measured->nrows; i += n)
	{
		/* like rows lie together */
		for (n = 1; i + n < measured->nrows && measured->length[i + n] == measured->length[i] &&
			 measured->updated[i + n] == measured->updated[i]; n++)
			;
		ff_count(sample, measured->updated[i] ? FF_UPDATED_LENGTHS : FF_INSERTED_LENGTHS,
				 stratum, measured->length[i], n);
	}
	for (int i = 0; i < measured->ngroups; i++)
	{
		const FfHeapGroup *group = &measured->group[i];

		ff_count(sample, group_histogram[group->kind], stratum, group->rows, group->rows);
		if (group->kind == FF_GROUP_INSERTED || group->live == 0)
			continue;
		ff_count(sample, FF_UPDATE_AGES, stratum, group->age, group->live);
		if (group->distance >= 0)
			ff_count(sample, FF_UPDATE_DISTANCES, stratum, group->distance, group->live);
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
 * See the comments on the type.  Errors: those of ff_sample(), and 55000 where the
 * type is not the one that this library fills.
 */
Datum
ff_sample(PG_FUNCTION_ARGS)
{
	FfSample   *sample = palloc0(sizeof(FfSample));

	sample->rel = open_heap(fcinfo);
	sample->fillfactor = RelationGetFillFactor(sample->rel, HEAP_DEFAULT_FILLFACTOR);
	sample->sampled_at = GetCurrentTimestamp();
	ff_visibility_begin(sample->rel, &sample->xacts);
	ff_read_sample(sample, FF_HEAP_METRICS, exact_metrics, lengthof(exact_metrics), count_page);
	PG_RETURN_DATUM(ff_sample_row(fcinfo, sample, columns, lengthof(columns)));
}

/*
 * pool_samples(sample page_sample, earlier page_sample, keep float8,
 *				same_state boolean) returns page_sample
 *
 * See the SQL function.
 */
Datum
ff_pool_samples(PG_FUNCTION_ARGS)
{
	Datum		value[2][lengthof(columns)];
	bool		null[2][lengthof(columns)];
	TupleDesc	desc;
	double		keep;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	if (PG_ARGISNULL(1) || PG_ARGISNULL(2) || PG_ARGISNULL(3))
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	keep = PG_GETARG_FLOAT8(2);
	for (int k = 0; k < 2; k++)
	{
		HeapTupleHeader row = PG_GETARG_HEAPTUPLEHEADER(k);
		HeapTupleData tuple = {.t_len = HeapTupleHeaderGetDatumLength(row),.t_data = row};

		desc = lookup_rowtype_tupdesc_copy(HeapTupleHeaderGetTypeId(row),
										   HeapTupleHeaderGetTypMod(row));
		ff_check_columns(desc, columns, lengthof(columns));
		heap_deform_tuple(&tuple, desc, value[k], null[k]);
	}
	for (int i = 0; i < (int) lengthof(columns); i++)
	{
		Datum	   *mine = &value[0][i];
		Datum		earlier = value[1][i];

		if (null[1][i])
			continue;
		if (columns[i].pooling == FF_LAST_KNOWN && null[0][i])
		{
			*mine = earlier;
			null[0][i] = false;
		}
		else if (columns[i].pooling == FF_SUM)
		{
			if (null[0][i])
				*mine = PointerGetDatum(construct_empty_array(FLOAT4OID));
			*mine = ff_pool_arrays(columns[i].source == FF_LENGTHS, *mine, earlier, keep,
								   &null[0][i]);
		}
		else if (columns[i].pooling == FF_SPLIT_SUM && PG_GETARG_BOOL(3))
			*mine = Float8GetDatum(DatumGetFloat8(*mine) + keep * DatumGetFloat8(earlier));
	}
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, value[0], null[0])));
}
