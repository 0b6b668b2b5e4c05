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
#include "catalog/pg_type_d.h"
#include "common/int.h"
#include "executor/executor.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "base/module.h"
#include "collect/relation.h"

PG_FUNCTION_INFO_V1(ff_counters);
PG_FUNCTION_INFO_V1(ff_counted_since);
PG_FUNCTION_INFO_V1(ff_counters_plus);

/* Most columns of the type. */
#define MAX_COUNTERS	32

/* These may fall without a reset: the first when an index is dropped. */
static const char *const may_fall[] = {"index_scans", "blocks_hit"};

typedef struct Counter
{
	const char *name;
	int64		value;			/* negative: unknown */
} Counter;

/* Cumulative statistics, without a lock; zeros if there is no entry yet. */
static PgStat_StatTabEntry
statistics_of(Oid relid)
{
	PgStat_StatTabEntry *entry = pgstat_fetch_stat_tabentry(relid);

	return entry != NULL ? *entry : (PgStat_StatTabEntry) {0};
}

/* Type counters: the function's result, or a column of it. */
static TupleDesc
counters_desc(FunctionCallInfo fcinfo, int column)
{
	TupleDesc	row;

	if (get_call_result_type(fcinfo, NULL, &row) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	if (column >= 0)
		row = lookup_rowtype_tupdesc_copy(TupleDescAttr(row, column)->atttypid, -1);
	if (row->natts > MAX_COUNTERS)
		elog(ERROR, "too many counters");
	return BlessTupleDesc(row);
}

/* A value of type counters. */
static Datum
counters_datum(TupleDesc desc, const Counter *counter, int n)
{
	Datum		values[MAX_COUNTERS];
	bool		nulls[MAX_COUNTERS];

	for (int i = 0; i < desc->natts; i++)
	{
		const char *name = NameStr(TupleDescAttr(desc, i)->attname);
		int			k = 0;

		while (k < n && strcmp(counter[k].name, name) != 0)
			k++;
		if (k == n)
			elog(ERROR, "nothing counts \"%s\"", name);
		nulls[i] = counter[k].value < 0;
		values[i] = Int64GetDatum(counter[k].value);
	}
	return HeapTupleGetDatum(heap_form_tuple(desc, values, nulls));
}

/* The counter of this name in a row of any type; -1 if it is NULL. */
static int64
counter_of(HeapTupleHeader row, const char *name)
{
	bool		null;
	Datum		value = GetAttributeByName(row, name, &null);

	return null ? -1 : DatumGetInt64(value);
}

/*
 * ff_counters(relation oid)
 *
 * The valid indexes of a relation, its analyzes, its counters and when these were
 * reset (-infinity: never; NULL: not known before PostgreSQL 19), each read once.  In
 * SQL, this would cost more than everything else that a collection does for an unchanged
 * table.
 */
Datum
ff_counters(PG_FUNCTION_ARGS)
{
	List	   *indexes = ff_list_indexes(PG_GETARG_OID(0), true);
	PgStat_StatTabEntry entry = statistics_of(PG_GETARG_OID(0));
	Datum	   *oids = palloc(sizeof(Datum) * (list_length(indexes) + 1));
	int64		index_scans = 0;
	TimestampTz reset_at = ff_stat_reset_at(&entry);
	Datum		values[4];
	bool		nulls[4] = {indexes == NIL, false, false, reset_at == DT_NOEND};
	ListCell   *lc;

	foreach(lc, indexes)
	{
		index_scans += statistics_of(lfirst_oid(lc)).numscans;
		oids[foreach_current_index(lc)] = ObjectIdGetDatum(lfirst_oid(lc));
	}
	values[0] = PointerGetDatum(construct_array(oids, list_length(indexes), OIDOID, sizeof(Oid),
												true, TYPALIGN_INT));
	values[1] = Int64GetDatum(entry.analyze_count + ff_stat_autoanalyze_count(&entry));
	{
		const Counter counter[] = {
			{"inserted", entry.tuples_inserted},
			{"updated", entry.tuples_updated},
			{"hot_updated", entry.tuples_hot_updated},
			{"newpage_updated", ff_stat_newpage_updated(&entry)},
			{"deleted", entry.tuples_deleted},
			{"seq_scans", entry.numscans},
			{"index_scans", index_scans},
			{"blocks_fetched", entry.blocks_fetched},
			{"blocks_hit", entry.blocks_hit},
			{"vacuums", entry.vacuum_count + ff_stat_autovacuum_count(&entry)}
		};

		values[2] = counters_datum(counters_desc(fcinfo, 2), counter, lengthof(counter));
	}
	values[3] = TimestampTzGetDatum(reset_at);
	PG_RETURN_DATUM(ff_row(fcinfo, values, nulls));
}

/*
 * ff_counted_since(now counters, was relation)
 *
 * counted: what was counted since a baseline (NULL: since the table was created);
 * fell: whether a counter is lower than then, which only a reset explains.  A
 * difference below zero is given as zero.  Both are NULL if now is.
 */
Datum
ff_counted_since(PG_FUNCTION_ARGS)
{
	TupleDesc	desc = counters_desc(fcinfo, 0);
	Datum		values[2] = {0};
	bool		nulls[2] = {PG_ARGISNULL(0), PG_ARGISNULL(0)};
	bool		fell = false;
	Counter		counter[MAX_COUNTERS];

	for (int i = 0; i < desc->natts && !PG_ARGISNULL(0); i++)
	{
		const char *name = NameStr(TupleDescAttr(desc, i)->attname);
		int64		now = counter_of(PG_GETARG_HEAPTUPLEHEADER(0), name);
		int64		was = PG_ARGISNULL(1) ? 0 : counter_of(PG_GETARG_HEAPTUPLEHEADER(1), name);
		bool		may = false;

		for (int k = 0; k < lengthof(may_fall); k++)
			may = may || strcmp(may_fall[k], name) == 0;
		fell = fell || (!may && now >= 0 && now < was);
		counter[i] = (Counter) {name, now < 0 || was < 0 ? -1 : Max(0, now - was)};
	}
	if (!PG_ARGISNULL(0))
	{
		values[0] = counters_datum(desc, counter, desc->natts);
		values[1] = BoolGetDatum(fell);
	}
	PG_RETURN_DATUM(ff_row(fcinfo, values, nulls));
}

/*
 * ff_counters_plus(total counters, row counter_interval)
 *
 * The step of the aggregate total(): adds a row's counters.  NULL + row is the row's.
 */
Datum
ff_counters_plus(PG_FUNCTION_ARGS)
{
	TupleDesc	desc = counters_desc(fcinfo, -1);
	Counter		counter[MAX_COUNTERS];

	if (PG_ARGISNULL(1))
	{
		if (PG_ARGISNULL(0))
			PG_RETURN_NULL();
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	}
	for (int i = 0; i < desc->natts; i++)
	{
		const char *name = NameStr(TupleDescAttr(desc, i)->attname);
		int64		sum = PG_ARGISNULL(0) ? 0 : counter_of(PG_GETARG_HEAPTUPLEHEADER(0), name);
		int64		more = counter_of(PG_GETARG_HEAPTUPLEHEADER(1), name);

		if (sum < 0 || more < 0)
			sum = -1;
		else if (pg_add_s64_overflow(sum, more, &sum))
			sum = PG_INT64_MAX;
		counter[i] = (Counter) {name, sum};
	}
	PG_RETURN_DATUM(counters_datum(desc, counter, desc->natts));
}
