/*
 * relation.c
 *	  Facts about a relation and its server that SQL cannot have, or not
 *	  without waiting for a lock: counters, sizes, options, identity.
 *
 * No lock on a user's relation is asked for, and none is waited for.  Nothing is
 * left in the caches of relations and catalogs for long: these functions are
 * called for all tables there are.
 */
#include "postgres.h"

#include <sys/stat.h>

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/reloptions.h"
#include "access/table.h"
#include "access/xlog.h"
#include "access/xlogrecovery.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/inval.h"
#include "utils/rel.h"
#include "utils/relcache.h"

#include "compat.h"

PG_FUNCTION_INFO_V1(ff_counters);
PG_FUNCTION_INFO_V1(ff_index_definitions);
PG_FUNCTION_INFO_V1(ff_sizes);
PG_FUNCTION_INFO_V1(ff_server);
PG_FUNCTION_INFO_V1(ff_fillfactor);

/*
 * Indexes after whose definitions this session's catalog and relation caches are
 * emptied: they would grow by some kB for each, within one statement.
 */
#define CACHED_DEFINITIONS	200

/* The row type that the SQL declaration of the calling function names. */
static TupleDesc
result_row(FunctionCallInfo fcinfo)
{
	TupleDesc	tupdesc;

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return BlessTupleDesc(tupdesc);
}

/*
 * A row of pg_class, copied, or NULL: read without the caches, which would keep
 * it for as long as the session lasts.
 */
static HeapTuple
read_pg_class(Oid relid)
{
	Relation	pg_class = table_open(RelationRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_class_oid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relid));
	scan = systable_beginscan(pg_class, ClassOidIndexId, true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		tuple = heap_copytuple(tuple);
	systable_endscan(scan);
	table_close(pg_class, AccessShareLock);
	return tuple;
}

/*
 * Bytes of a relation's main fork, as its files have them; -1 where there is
 * none to measure: no storage, a temporary table (its session has it), a
 * missing file.  Mapped relations are not looked for: only catalogs are.
 */
static int64
main_fork_bytes(Form_pg_class form)
{
	const char *path;
	int64		bytes = -1;

	if (!RELKIND_HAS_STORAGE(form->relkind) || !OidIsValid(form->relfilenode) ||
		form->relpersistence == RELPERSISTENCE_TEMP || form->relisshared)
		return -1;

	path = ff_relation_path(MyDatabaseId,
							OidIsValid(form->reltablespace) ?
							form->reltablespace : MyDatabaseTableSpace,
							form->relfilenode);
	for (int segment = 0;; segment++)
	{
		struct stat fst;

		if (stat(segment == 0 ? path : psprintf("%s.%d", path, segment), &fst) != 0)
		{
			if (errno != ENOENT)
				ereport(ERROR,
						(errcode_for_file_access(),
						 errmsg("could not stat file \"%s\": %m", path)));
			return bytes;
		}
		bytes = Max(bytes, 0) + fst.st_size;
		if (fst.st_size < (int64) RELSEG_SIZE * BLCKSZ)
			return bytes;
	}
}

/* The same by OID; -1 also where it is gone. */
static int64
main_fork_bytes_of(Oid relid)
{
	HeapTuple	tuple = read_pg_class(relid);

	return HeapTupleIsValid(tuple) ? main_fork_bytes((Form_pg_class) GETSTRUCT(tuple)) : -1;
}

/*
 * The indexes of a relation that are not being dropped, or of these the valid
 * ones; without a lock on it or them, and not by the relation's cache entry.
 */
static List *
list_indexes(Oid relid, bool only_valid)
{
	Relation	pg_index = table_open(IndexRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	List	   *oids = NIL;

	ScanKeyInit(&key, Anum_pg_index_indrelid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relid));
	scan = systable_beginscan(pg_index, IndexIndrelidIndexId, true, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_index form = (Form_pg_index) GETSTRUCT(tuple);

		if (only_valid ? form->indisvalid : form->indislive)
			oids = lappend_oid(oids, form->indexrelid);
	}
	systable_endscan(scan);
	table_close(pg_index, AccessShareLock);
	return oids;
}

/* The valid indexes among these, in order; sets the scans begun on all of them. */
static Datum
valid_indexes(Oid relid, int64 *scans, bool *isnull)
{
	List	   *oids = list_indexes(relid, true);
	Datum	   *datums = palloc(sizeof(Datum) * Max(list_length(oids), 1));
	ListCell   *lc;
	int			n = 0;

	*scans = 0;
	list_sort(oids, list_oid_cmp);
	foreach(lc, oids)
	{
		PgStat_StatTabEntry *entry = pgstat_fetch_stat_tabentry(lfirst_oid(lc));

		*scans += entry != NULL ? entry->numscans : 0;
		datums[n++] = ObjectIdGetDatum(lfirst_oid(lc));
	}
	*isnull = n == 0;
	return PointerGetDatum(construct_array(datums, n, OIDOID, sizeof(Oid), true, TYPALIGN_INT));
}

/*
 * ff_counters(relation oid)
 *
 * The valid indexes of a relation and its cumulative statistics, each by one
 * look and without any lock: zeros where it has no entry yet.  newpage_updated
 * is NULL where the server does not count it (15).  In SQL, this would cost more
 * than all else that a collection does for an unchanged table.
 */
Datum
ff_counters(PG_FUNCTION_ARGS)
{
	PgStat_StatTabEntry *entry = pgstat_fetch_stat_tabentry(PG_GETARG_OID(0));
	PgStat_StatTabEntry none = {0};
	int64		index_scans;
	bool		nulls[12] = {0};
	Datum		indexes = valid_indexes(PG_GETARG_OID(0), &index_scans, &nulls[0]);

	if (entry == NULL)
		entry = &none;
	nulls[4] = ff_stat_newpage_updated(entry) < 0;
	{
		Datum		values[12] = {
			indexes,
			Int64GetDatum(entry->tuples_inserted),
			Int64GetDatum(entry->tuples_updated),
			Int64GetDatum(entry->tuples_hot_updated),
			Int64GetDatum(ff_stat_newpage_updated(entry)),
			Int64GetDatum(entry->tuples_deleted),
			Int64GetDatum(entry->numscans),
			Int64GetDatum(index_scans),
			Int64GetDatum(entry->blocks_fetched),
			Int64GetDatum(entry->blocks_hit),
			Int64GetDatum(entry->vacuum_count + ff_stat_autovacuum_count(entry)),
			Int64GetDatum(entry->analyze_count + ff_stat_autoanalyze_count(entry))
		};

		PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(result_row(fcinfo), values, nulls)));
	}
}

/*
 * ff_index_definitions(relation oid, indexes oid[])
 *
 * The statements that make these indexes of a relation, in the order given; ''
 * for one that is gone, and for all where the relation's lock was not to be had
 * at once.  pg_get_indexdef() alone would wait for that lock, and fail where
 * the relation is dropped meanwhile.
 */
Datum
ff_index_definitions(PG_FUNCTION_ARGS)
{
	static int	definitions = 0;
	Oid			relid = PG_GETARG_OID(0);
	bool		locked = ConditionalLockRelationOid(relid, AccessShareLock);
	Datum	   *indexes;
	int			n;

	deconstruct_array(PG_GETARG_ARRAYTYPE_P(1), OIDOID, sizeof(Oid), true, TYPALIGN_INT,
					  &indexes, NULL, &n);
	for (int i = 0; i < n; i++)
	{
		LOCAL_FCINFO(call, 1);
		Datum		definition = (Datum) 0;

		InitFunctionCallInfoData(*call, NULL, 1, InvalidOid, NULL, NULL);
		call->isnull = true;
		call->args[0].value = indexes[i];
		call->args[0].isnull = false;
		if (locked)
		{
			/* NULL where it is gone, and with the lock it stays if it is not */
			call->isnull = false;
			definition = pg_get_indexdef(call);
		}
		indexes[i] = call->isnull ? CStringGetTextDatum("") : definition;

		/* as a message from another session could do it, here as anywhere */
		if (++definitions % CACHED_DEFINITIONS == 0)
			InvalidateSystemCaches();
	}
	if (locked)
		UnlockRelationOid(relid, AccessShareLock);
	PG_RETURN_ARRAYTYPE_P(construct_array(indexes, n, TEXTOID, -1, false, TYPALIGN_INT));
}

/*
 * ff_sizes(relation oid)
 *
 * heap_bytes, index_bytes, toast_bytes (main forks) of a table, its indexes
 * and its TOAST table; each NULL where the relation is gone or a file is
 * missing.  Unlike pg_relation_size() it needs no lock, so it never waits, and
 * it leaves nothing in the caches.
 */
Datum
ff_sizes(PG_FUNCTION_ARGS)
{
	HeapTuple	tuple = read_pg_class(PG_GETARG_OID(0));
	int64		sizes[3] = {-1, -1, -1};
	Datum		values[3];
	bool		nulls[3];

	if (HeapTupleIsValid(tuple))
	{
		Form_pg_class form = (Form_pg_class) GETSTRUCT(tuple);
		List	   *indexes = list_indexes(form->oid, false);
		ListCell   *lc;

		sizes[0] = main_fork_bytes(form);

		sizes[1] = 0;
		foreach(lc, indexes)
		{
			int64		bytes = main_fork_bytes_of(lfirst_oid(lc));

			sizes[1] = bytes < 0 || sizes[1] < 0 ? -1 : sizes[1] + bytes;
		}

		sizes[2] = OidIsValid(form->reltoastrelid) ? main_fork_bytes_of(form->reltoastrelid) : 0;
	}
	for (int i = 0; i < 3; i++)
	{
		values[i] = Int64GetDatum(sizes[i]);
		nulls[i] = sizes[i] < 0;
	}
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(result_row(fcinfo), values, nulls)));
}

/*
 * ff_server()
 *
 * What tells one server's life from another's: system_identifier (of the
 * cluster), timeline (of the WAL written or replayed now), database_oid.
 */
Datum
ff_server(PG_FUNCTION_ARGS)
{
	Datum		values[3];
	bool		nulls[3] = {0};
	TimeLineID	tli;

	if (RecoveryInProgress())
		(void) GetXLogReplayRecPtr(&tli);
	else
		tli = GetWALInsertionTimeLine();

	values[0] = Int64GetDatum((int64) GetSystemIdentifier());
	values[1] = Int64GetDatum((int64) tli);
	values[2] = ObjectIdGetDatum(MyDatabaseId);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(result_row(fcinfo), values, nulls)));
}

/*
 * ff_fillfactor(reloptions text[])
 *
 * The fillfactor (percent) that the server reads from a table's stored
 * options, whatever their spelling ('80.5' and '0x50' are both 80); 100 where
 * they name none.
 */
Datum
ff_fillfactor(PG_FUNCTION_ARGS)
{
	int			fillfactor = HEAP_DEFAULT_FILLFACTOR;

	if (!PG_ARGISNULL(0))
	{
		StdRdOptions *options = (StdRdOptions *)
			heap_reloptions(RELKIND_RELATION, PG_GETARG_DATUM(0), false);

		if (options != NULL)
			fillfactor = options->fillfactor;
	}
	PG_RETURN_INT32(fillfactor);
}
