/*
 * counters.c
 *	  What the server counts for a table: read, subtracted, added up.
 *
 * The type counters names the counters, and ff_counters() says where each comes from.
 * All else takes them from rows by these names.  NULL: unknown, and so is each
 * difference and sum with it.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_type_d.h"
#include "common/int.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "base/module.h"
#include "collect/common.h"

PG_FUNCTION_INFO_V1(ff_counters);
PG_FUNCTION_INFO_V1(ff_counted_since);
PG_FUNCTION_INFO_V1(ff_counters_plus);

/* Cumulative statistics, without a lock; zeros if there is no entry yet. */
static PgStat_StatTabEntry
statistics_of(Oid relid)
{
	PgStat_StatTabEntry *entry = pgstat_fetch_stat_tabentry(relid);

	return entry != NULL ? *entry : (PgStat_StatTabEntry) {0};
}

/* Type counters; looked up once for each call of a function in a query. */
TupleDesc
ff_counters_desc(FunctionCallInfo fcinfo)
{
	Oid			relid;
	TupleDesc	desc;
	MemoryContext old;

	if (fcinfo->flinfo->fn_extra != NULL)
		return fcinfo->flinfo->fn_extra;
	relid = get_relname_relid("counters", get_namespace_oid("ff_internal", false));
	old = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	desc = lookup_rowtype_tupdesc_copy(get_rel_type_id(relid), -1);
	MemoryContextSwitchTo(old);
	if (desc->natts > FF_MAX_COUNTERS)
		elog(ERROR, "too many counters");
	return fcinfo->flinfo->fn_extra = desc;
}

/* What the server counts for a table and its indexes under this name; negative: unknown. */
static int64
count_of(const PgStat_StatTabEntry *entry, int64 index_scans, const char *name)
{
	const struct
	{
		const char *name;
		int64		count;
	}			counted[] = {
		{"inserted", entry->tuples_inserted},
		{"updated", entry->tuples_updated},
		{"hot_updated", entry->tuples_hot_updated},
		{"newpage_updated", ff_stat_newpage_updated(entry)},
		{"deleted", entry->tuples_deleted},
		{"seq_scans", entry->numscans},
		{"index_scans", index_scans},
		{"blocks_fetched", entry->blocks_fetched},
		{"blocks_hit", entry->blocks_hit},
		{"vacuums", entry->vacuum_count + ff_stat_autovacuum_count(entry)}
	};

	for (int i = 0; i < lengthof(counted); i++)
		if (strcmp(counted[i].name, name) == 0)
			return counted[i].count;
	elog(ERROR, "nothing counts \"%s\"", name);
}

/* A value of type counters; negative numbers are unknown. */
Datum
ff_counters_datum(TupleDesc desc, const int64 *count)
{
	Datum		values[FF_MAX_COUNTERS];
	bool		nulls[FF_MAX_COUNTERS];

	for (int i = 0; i < desc->natts; i++)
	{
		values[i] = Int64GetDatum(count[i]);
		nulls[i] = count[i] < 0;
	}
	return HeapTupleGetDatum(heap_form_tuple(desc, values, nulls));
}

/*
 * The counters in an argument, a row of a type that has columns of their names: 0 without a row,
 * -1 if NULL.
 */
void
ff_read_counters(FunctionCallInfo fcinfo, int arg, TupleDesc counters, int64 *count)
{
	TupleDesc	desc;
	Datum	   *values;
	bool	   *nulls;

	memset(count, 0, sizeof(int64) * FF_MAX_COUNTERS);
	if (PG_ARGISNULL(arg))
		return;
	desc = ff_read_row(fcinfo, arg, &values, &nulls);
	for (int i = 0, k = -1; i < counters->natts; i++)
	{
		k = ff_column(desc, NameStr(TupleDescAttr(counters, i)->attname), k + 1);
		count[i] = nulls[k] ? -1 : DatumGetInt64(values[k]);
	}
	ReleaseTupleDesc(desc);
}

/*
 * SQL: counters().  In SQL itself, this would cost more than everything else that a collection does for
 * an unchanged table.
 */
Datum
ff_counters(PG_FUNCTION_ARGS)
{
	List	   *indexes = ff_list_indexes(PG_GETARG_OID(0), true);
	PgStat_StatTabEntry entry = statistics_of(PG_GETARG_OID(0));
	Datum	   *oids = palloc(sizeof(Datum) * (list_length(indexes) + 1));
	TupleDesc	desc = ff_counters_desc(fcinfo);
	int64		count[FF_MAX_COUNTERS];
	int64		index_scans = 0;
	TimestampTz reset_at = ff_stat_reset_at(&entry);
	ListCell   *lc;

	foreach(lc, indexes)
	{
		index_scans += statistics_of(lfirst_oid(lc)).numscans;
		oids[foreach_current_index(lc)] = ObjectIdGetDatum(lfirst_oid(lc));
	}
	for (int i = 0; i < desc->natts; i++)
		count[i] = count_of(&entry, index_scans, NameStr(TupleDescAttr(desc, i)->attname));
	PG_RETURN_DATUM(ff_row(fcinfo, (Datum[]) {
		PointerGetDatum(construct_array(oids, list_length(indexes), OIDOID, sizeof(Oid), true, TYPALIGN_INT)),
		Int64GetDatum(entry.analyze_count + ff_stat_autoanalyze_count(&entry)),
		ff_counters_datum(desc, count), TimestampTzGetDatum(reset_at)
	}, (bool[]) {
		indexes == NIL, false, false, reset_at == DT_NOEND
	}));
}

/* SQL: counted_since().  A difference below zero is given as zero.  Both are NULL if now is. */
Datum
ff_counted_since(PG_FUNCTION_ARGS)
{
	TupleDesc	desc = ff_counters_desc(fcinfo);
	int64		now[FF_MAX_COUNTERS];
	int64		was[FF_MAX_COUNTERS];
	bool		fell = false;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	ff_read_counters(fcinfo, 0, desc, now);
	ff_read_counters(fcinfo, 1, desc, was);
	for (int i = 0; i < desc->natts; i++)
	{
		const char *name = NameStr(TupleDescAttr(desc, i)->attname);

		/* these may fall without a reset: the first when an index is dropped */
		fell = fell || (now[i] >= 0 && now[i] < was[i] &&
						strcmp(name, "index_scans") != 0 && strcmp(name, "blocks_hit") != 0);
		now[i] = now[i] < 0 || was[i] < 0 ? -1 : Max(0, now[i] - was[i]);
	}
	PG_RETURN_DATUM(ff_row(fcinfo, (Datum[]) {ff_counters_datum(desc, now), BoolGetDatum(fell)},
						   (bool[2]) {false}));
}

/* SQL: counters_plus(), the step of the aggregate total(), which begins with NULL */
Datum
ff_counters_plus(PG_FUNCTION_ARGS)
{
	TupleDesc	desc = ff_counters_desc(fcinfo);
	int64		total[FF_MAX_COUNTERS];
	int64		more[FF_MAX_COUNTERS];

	if (PG_ARGISNULL(0) && PG_ARGISNULL(1))
		PG_RETURN_NULL();
	ff_read_counters(fcinfo, 0, desc, total);
	ff_read_counters(fcinfo, 1, desc, more);
	for (int i = 0; i < desc->natts; i++)
	{
		if (total[i] < 0 || more[i] < 0)
			total[i] = -1;
		else if (pg_add_s64_overflow(total[i], more[i], &total[i]))
			total[i] = PG_INT64_MAX;
	}
	PG_RETURN_DATUM(ff_counters_datum(desc, total));
}
