/*
 * server.c
 *	  What only the server can tell: the free space of its file systems, and
 *	  which access methods only summarize.
 *
 * Only the server's own folders can be asked for, by OID: no path is taken from
 * the caller.  What is free to the server's user counts, not what root may use.
 */
#include "postgres.h"

#include <sys/statvfs.h>

#include "access/amapi.h"
#include "access/htup_details.h"
#include "catalog/pg_tablespace_d.h"
#include "commands/tablespace.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"

#include "compat.h"

PG_FUNCTION_INFO_V1(ff_disk);
PG_FUNCTION_INFO_V1(ff_disk_wal);
PG_FUNCTION_INFO_V1(ff_summarizing);

/* The row (free_bytes, total_bytes) of the file system that holds a folder. */
static Datum
file_system_of(FunctionCallInfo fcinfo, const char *folder)
{
	TupleDesc	tupdesc;
	struct statvfs fs;
	Datum		values[2];
	bool		nulls[2] = {0};

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	if (statvfs(folder, &fs) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read the free space of \"%s\": %m", folder)));

	values[0] = Int64GetDatum((int64) fs.f_bavail * (int64) fs.f_frsize);
	values[1] = Int64GetDatum((int64) fs.f_blocks * (int64) fs.f_frsize);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(tupdesc), values, nulls));
}

/*
 * ff_disk(tablespace oid)
 *
 * free_bytes, total_bytes of the file system that a tablespace is on; 0, as in
 * pg_class.reltablespace, is the default one of this database.
 *
 * Errors: 42704 where there is no such tablespace, and those of statvfs().
 */
Datum
ff_disk(PG_FUNCTION_ARGS)
{
	Oid			tablespace = PG_GETARG_OID(0);
	char	   *folder;

	if (!OidIsValid(tablespace))
		tablespace = MyDatabaseTableSpace;
	if (get_tablespace_name(tablespace) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("tablespace with OID %u does not exist", tablespace)));

	/* relative to the data directory, where every backend stands */
	if (tablespace == DEFAULTTABLESPACE_OID)
		folder = pstrdup("base");
	else if (tablespace == GLOBALTABLESPACE_OID)
		folder = pstrdup("global");
	else
		folder = psprintf("pg_tblspc/%u", tablespace);
	return file_system_of(fcinfo, folder);
}

/*
 * ff_disk_wal()
 *
 * The same of the file system that the WAL is written to.
 */
Datum
ff_disk_wal(PG_FUNCTION_ARGS)
{
	return file_system_of(fcinfo, "pg_wal");
}

/*
 * ff_summarizing(access_method oid) returns boolean
 *
 * Whether indexes of this access method only summarize blocks (BRIN), so that
 * an update of their columns may still be HOT.  False before PostgreSQL 16,
 * which introduced it.  NULL for an OID that is no index access method.
 */
Datum
ff_summarizing(PG_FUNCTION_ARGS)
{
	const IndexAmRoutine *routine = GetIndexAmRoutineByAmId(PG_GETARG_OID(0), true);

	if (routine == NULL)
		PG_RETURN_NULL();
	PG_RETURN_BOOL(ff_am_summarizing(routine));
}
