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
#include "catalog/pg_type_d.h"
#include "common/relpath.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/inval.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"

#include "module.h"

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

/*
 * Bytes of a relation's main fork, as its files have them; -1 where there is
 * none to measure: it is gone, has no storage, is temporary (its session has it),
 * or a file is missing.  Mapped relations are not looked for: only catalogs are.
 * Read without the caches, which would keep its row of pg_class for as long as
 * the session lasts.
 */
static int64
main_fork_bytes(Oid relid, Oid *toast)
{
	Relation	pg_class = table_open(RelationRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	const char *path = NULL;
	struct stat fst;
	int64		bytes = -1;

	ScanKeyInit(&key, Anum_pg_class_oid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relid));
	scan = systable_beginscan(pg_class, ClassOidIndexId, true, NULL, 1, &key);
	if (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_class form = (Form_pg_class) GETSTRUCT(tuple);
		if (RELKIND_HAS_STORAGE(form->relkind) && OidIsValid(form->relfilenode) &&
			form->relpersistence != RELPERSISTENCE_TEMP && !form->relisshared)
			path = ff_path(GetRelationPath(MyDatabaseId,
										   OidIsValid(form->reltablespace) ?
										   form->reltablespace : MyDatabaseTableSpace,
										   form->relfilenode, -1, MAIN_FORKNUM));
		if (toast != NULL)
			*toast = form->reltoastrelid;
	}
	systable_endscan(scan);
	table_close(pg_class, AccessShareLock);

	fst.st_size = (off_t) RELSEG_SIZE * BLCKSZ;
	for (int segment = 0; path != NULL && fst.st_size >= (off_t) RELSEG_SIZE * BLCKSZ; segment++)
	{
		if (stat(segment == 0 ? path : psprintf("%s.%d", path, segment), &fst) == 0)
			bytes = Max(bytes, 0) + fst.st_size;
		else if (errno == ENOENT)
			break;
		else
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not stat file \"%s\": %m", path)));
	}
	return bytes;
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
	list_sort(oids, list_oid_cmp);
	return oids;
}

/* Cumulative statistics, without a lock; zeros where there is no entry yet. */
static PgStat_StatTabEntry
statistics_of(Oid relid)
{
	PgStat_StatTabEntry *entry = pgstat_fetch_stat_tabentry(relid);

	return entry != NULL ? *entry : (PgStat_StatTabEntry) {0};
}

/*
 * ff_counters(relation oid)
 *
 * The valid indexes of a relation and its cumulative statistics, each by one
 * look; newpage_updated is NULL where the server does not count it (15).  In SQL,
 * this would cost more than all else that a collection does for an unchanged table.
 */
Datum
ff_counters(PG_FUNCTION_ARGS)
{
	List	   *indexes = list_indexes(PG_GETARG_OID(0), true);
	PgStat_StatTabEntry entry = statistics_of(PG_GETARG_OID(0));
	Datum	   *oids = palloc(sizeof(Datum) * (list_length(indexes) + 1));
	int64		index_scans = 0;
	bool		nulls[12] = {indexes == NIL,[4] = ff_stat_newpage_updated(&entry) < 0};
	ListCell   *lc;

	foreach(lc, indexes)
	{
		index_scans += statistics_of(lfirst_oid(lc)).numscans;
		oids[foreach_current_index(lc)] = ObjectIdGetDatum(lfirst_oid(lc));
	}
	{
		Datum		values[12] = {
			PointerGetDatum(construct_array(oids, list_length(indexes), OIDOID, sizeof(Oid), true,
											TYPALIGN_INT)),
			Int64GetDatum(entry.tuples_inserted),
			Int64GetDatum(entry.tuples_updated),
			Int64GetDatum(entry.tuples_hot_updated),
			Int64GetDatum(ff_stat_newpage_updated(&entry)),
			Int64GetDatum(entry.tuples_deleted),
			Int64GetDatum(entry.numscans),
			Int64GetDatum(index_scans),
			Int64GetDatum(entry.blocks_fetched),
			Int64GetDatum(entry.blocks_hit),
			Int64GetDatum(entry.vacuum_count + ff_stat_autovacuum_count(&entry)),
			Int64GetDatum(entry.analyze_count + ff_stat_autoanalyze_count(&entry))
		};

		PG_RETURN_DATUM(ff_row(fcinfo, values, nulls));
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
		/* with the lock, an index that is there stays */
		indexes[i] = locked && SearchSysCacheExists1(INDEXRELID, indexes[i]) ?
			DirectFunctionCall1(pg_get_indexdef, indexes[i]) : CStringGetTextDatum("");

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
 * and its TOAST table; each NULL where the table or a file is missing.  Unlike
 * pg_relation_size() it needs no lock, so it never waits, and it leaves nothing in
 * the caches.
 */
Datum
ff_sizes(PG_FUNCTION_ARGS)
{
	Oid			toast = InvalidOid;
	int64		heap = main_fork_bytes(PG_GETARG_OID(0), &toast);
	int64		sizes[3] = {heap, Min(heap, 0), Min(heap, 0)};
	Datum		values[3];
	bool		nulls[3];
	ListCell   *lc;

	foreach(lc, list_indexes(PG_GETARG_OID(0), false))
	{
		int64		bytes = main_fork_bytes(lfirst_oid(lc), NULL);

		sizes[1] = bytes < 0 || sizes[1] < 0 ? -1 : sizes[1] + bytes;
	}
	if (OidIsValid(toast) && heap >= 0)
		sizes[2] = main_fork_bytes(toast, NULL);
	for (int i = 0; i < 3; i++)
	{
		values[i] = Int64GetDatum(sizes[i]);
		nulls[i] = sizes[i] < 0;
	}
	PG_RETURN_DATUM(ff_row(fcinfo, values, nulls));
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
	PG_RETURN_DATUM(ff_row(fcinfo, values, nulls));
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
