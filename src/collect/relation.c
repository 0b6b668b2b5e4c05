/*
 * relation.c
 *	  Facts about a relation that SQL cannot get, or not without waiting for a
 *	  lock: sizes, options, age.
 *
 * Locks on user relations are only taken conditionally, never waited for.  These
 * functions are called for all tables, so they leave nothing in the relation and
 * catalog caches for long.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/reloptions.h"
#include "access/table.h"
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
#include "utils/relcache.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "base/module.h"
#include "collect/common.h"

PG_FUNCTION_INFO_V1(ff_index_definitions);
PG_FUNCTION_INFO_V1(ff_sizes);
PG_FUNCTION_INFO_V1(ff_born_at);
PG_FUNCTION_INFO_V1(ff_fillfactor);

/*
 * Index definitions after which this session's catalog and relation caches are
 * emptied: each adds some kB, within one statement.
 */
#define CACHED_DEFINITIONS	200

/*
 * Path of a relation's main fork; NULL if it is gone, has no storage or is temporary (its
 * pages are in its session's buffers).  Mapped relations also give NULL: only catalogs
 * are mapped.  Does not use the caches, which would keep the pg_class row until the session
 * ends.  rewritten: whether it has another file than when it was made.
 */
static const char *
main_fork_path(Oid relid, Oid *toast, bool *rewritten)
{
	Relation	pg_class = table_open(RelationRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	const char *path = NULL;

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
		if (rewritten != NULL)
			*rewritten = form->relfilenode != relid;
	}
	systable_endscan(scan);
	table_close(pg_class, AccessShareLock);
	return path;
}

/*
 * Bytes of a relation's main fork, from its files; -1 if it has none, see above, or a file
 * is missing or cannot be examined; *fault then says why.
 */
static int64
main_fork_bytes(Oid relid, Oid *toast, char **fault)
{
	const char *path = main_fork_path(relid, toast, NULL);
	struct stat fst;
	int64		bytes = -1;

	fst.st_size = (off_t) RELSEG_SIZE * BLCKSZ;
	for (int segment = 0; path != NULL && fst.st_size >= (off_t) RELSEG_SIZE * BLCKSZ; segment++)
	{
		if (stat(segment == 0 ? path : psprintf("%s.%d", path, segment), &fst) == 0)
			bytes = Max(bytes, 0) + fst.st_size;
		else if (errno == ENOENT)
			break;
		else
		{
			*fault = psprintf("could not stat file \"%s\": %s", path, strerror(errno));
			return -1;
		}
	}
	return bytes;
}

/*
 * Returns a relation's indexes that are not being dropped, or only the valid ones;
 * without a lock on any of them, and without the relation cache.
 */
List *
ff_list_indexes(Oid relid, bool only_valid)
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

/*
 * SQL: own_index_definitions().  pg_get_indexdef() alone would wait for the relation's lock, and
 * fail if the relation is dropped meanwhile.
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
		Oid			index = DatumGetObjectId(indexes[i]);
		/* DROP INDEX and REINDEX CONCURRENTLY end with the index's lock alone */
		bool		index_locked = locked && ConditionalLockRelationOid(index, AccessShareLock);

		/* with the locks, an existing index stays */
		indexes[i] = index_locked && SearchSysCacheExists1(INDEXRELID, indexes[i]) ?
			DirectFunctionCall1(pg_get_indexdef, indexes[i]) : CStringGetTextDatum("");
		if (index_locked)
			UnlockRelationOid(index, AccessShareLock);

		/* safe: an invalidation from another session could do the same here */
		if (++definitions % CACHED_DEFINITIONS == 0)
			InvalidateSystemCaches();
	}
	if (locked)
		UnlockRelationOid(relid, AccessShareLock);
	PG_RETURN_ARRAYTYPE_P(construct_array(indexes, n, TEXTOID, -1, false, TYPALIGN_INT));
}

/*
 * SQL: own_sizes().  Unlike pg_relation_size() it takes no lock, so it never waits, and it leaves
 * nothing in the caches.
 */
Datum
ff_sizes(PG_FUNCTION_ARGS)
{
	Oid			toast = InvalidOid;
	char	   *fault = NULL;
	int64		heap = main_fork_bytes(PG_GETARG_OID(0), &toast, &fault);
	int64		sizes[3] = {heap, Min(heap, 0), Min(heap, 0)};
	Datum		values[4];
	bool		nulls[4];
	ListCell   *lc;

	foreach(lc, ff_list_indexes(PG_GETARG_OID(0), false))
	{
		int64		bytes = main_fork_bytes(lfirst_oid(lc), NULL, &fault);

		sizes[1] = bytes < 0 || sizes[1] < 0 ? -1 : sizes[1] + bytes;
	}
	if (OidIsValid(toast) && heap >= 0)
		sizes[2] = main_fork_bytes(toast, NULL, &fault);
	for (int i = 0; i < 3; i++)
	{
		values[i] = Int64GetDatum(sizes[i]);
		nulls[i] = sizes[i] < 0;
	}
	nulls[3] = fault == NULL;
	values[3] = nulls[3] ? (Datum) 0 : CStringGetTextDatum(fault);
	PG_RETURN_DATUM(ff_row(fcinfo, values, nulls));
}

/* SQL: born_at().  Not all systems and file systems record it. */
Datum
ff_born_at(PG_FUNCTION_ARGS)
{
#ifdef STATX_BTIME
	bool		rewritten = false;
	const char *path = main_fork_path(PG_GETARG_OID(0), NULL, &rewritten);
	struct statx file;

	if (path != NULL && !rewritten && statx(AT_FDCWD, path, 0, STATX_BTIME, &file) == 0 &&
		(file.stx_mask & STATX_BTIME) != 0)
		PG_RETURN_TIMESTAMPTZ(time_t_to_timestamptz(file.stx_btime.tv_sec) +
							  file.stx_btime.tv_nsec / 1000);
#endif
	PG_RETURN_NULL();
}

/* SQL: effective_fillfactor(): '80.5' and '0x50' are both 80 */
Datum
ff_fillfactor(PG_FUNCTION_ARGS)
{
	StdRdOptions *options = PG_ARGISNULL(0) ? NULL :
		(StdRdOptions *) heap_reloptions(RELKIND_RELATION, PG_GETARG_DATUM(0), false);

	PG_RETURN_INT32(options == NULL ? HEAP_DEFAULT_FILLFACTOR : options->fillfactor);
}
