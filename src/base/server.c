/*
 * server.c
 *	  Rows for SQL, and what only C can do: identity of the server, rights, errors, free
 *	  disk space, deadlines, shards of Citus, properties of access methods.
 *
 * Errors that a user causes have no context: it would name only inner functions,
 * which the user neither called nor can fix.
 */
#include "postgres.h"

#include <sys/statvfs.h>

#include "access/amapi.h"
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xlog.h"
#include "access/xlogrecovery.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_tablespace_d.h"
#include "catalog/pg_type_d.h"
#include "commands/tablespace.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/rel.h"
#include "utils/timeout.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "base/module.h"

PG_FUNCTION_INFO_V1(ff_server);
PG_FUNCTION_INFO_V1(ff_refuse);
PG_FUNCTION_INFO_V1(ff_check_role);
PG_FUNCTION_INFO_V1(ff_free_bytes);
PG_FUNCTION_INFO_V1(ff_summarizing);
PG_FUNCTION_INFO_V1(ff_deadline);
PG_FUNCTION_INFO_V1(ff_show_shards_sql);

/* The row type that the calling SQL function returns. */
TupleDesc
ff_result_desc(FunctionCallInfo fcinfo)
{
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return BlessTupleDesc(desc);
}

/* A row of this type. */
Datum
ff_row(FunctionCallInfo fcinfo, Datum *values, bool *nulls)
{
	return HeapTupleGetDatum(heap_form_tuple(ff_result_desc(fcinfo), values, nulls));
}

/* The place of a column, looked for from a guess on.  Error 42703: there is none of this name. */
int
ff_column(TupleDesc desc, const char *name, int guess)
{
	for (int i = guess; i < guess + desc->natts; i++)
		if (namestrcmp(&TupleDescAttr(desc, i % desc->natts)->attname, name) == 0)
			return i % desc->natts;
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_COLUMN), errmsg("a row has no column \"%s\"", name)));
}

/*
 * The columns of a row that an argument is.  The caller calls ReleaseTupleDesc() with the
 * result.
 */
TupleDesc
ff_read_row(FunctionCallInfo fcinfo, int arg, Datum **values, bool **nulls)
{
	HeapTupleHeader row = PG_GETARG_HEAPTUPLEHEADER(arg);
	HeapTupleData tuple = {.t_len = HeapTupleHeaderGetDatumLength(row),.t_data = row};
	TupleDesc	desc = lookup_rowtype_tupdesc(HeapTupleHeaderGetTypeId(row),
											  HeapTupleHeaderGetTypMod(row));

	*values = palloc(sizeof(Datum) * desc->natts);
	*nulls = palloc(sizeof(bool) * desc->natts);
	heap_deform_tuple(&tuple, desc, *values, *nulls);
	return desc;
}

static double
wrong_type(Oid type, const char *column)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("column \"%s\" is of type %s, which is not expected", column,
					format_type_be(type))));
}

/* A value as a number; 1 for a text or a time. */
static double
number_of(Datum value, Oid type, const char *column)
{
	switch (type)
	{
		case FLOAT8OID:
			return DatumGetFloat8(value);
		case FLOAT4OID:
			return DatumGetFloat4(value);
		case INT8OID:
			return (double) DatumGetInt64(value);
		case INT4OID:
			return DatumGetInt32(value);
		case INT2OID:
			return DatumGetInt16(value);
		case NUMERICOID:
			return DatumGetFloat8(DirectFunctionCall1(numeric_float8, value));
		case BOOLOID:
			return DatumGetBool(value);
		case TEXTOID:
		case TIMESTAMPTZOID:
			return 1;
	}
	return wrong_type(type, column);
}

/*
 * Reads numbers of a row that an argument is, by name, into a struct; those that are NULL or
 * infinite become NAN there.  count, if not NULL: how many were read of each array.
 *
 * Errors: 42703 a column is missing, 42804 one is of another type.
 */
void
ff_read_numbers(FunctionCallInfo fcinfo, int arg, const NumberField *field, int nfields, void *to,
				int *count)
{
	Datum	   *values;
	bool	   *nulls;
	TupleDesc	desc = ff_read_row(fcinfo, arg, &values, &nulls);
	int			k = -1;

	for (const NumberField *f = field; f < field + nfields; f++)
	{
		Oid			type;
		Datum	   *element;
		bool	   *null;
		int			n = 1;

		k = ff_column(desc, f->name, k + 1);
		type = TupleDescAttr(desc, k)->atttypid;
		element = &values[k];
		null = &nulls[k];
		if (f->n > 0 && type != FLOAT8ARRAYOID)
			wrong_type(type, f->name);
		if (f->n > 0 && !nulls[k])
			deconstruct_array(DatumGetArrayTypeP(values[k]), FLOAT8OID, sizeof(float8),
							  FLOAT8PASSBYVAL, TYPALIGN_DOUBLE, &element, &null, &n);
		n = Min(n, Max(f->n, 1));
		for (int i = 0; i < n; i++)
		{
			double		v = null[i] ? NAN : number_of(element[i], f->n > 0 ? FLOAT8OID : type, f->name);

			*(double *) ((char *) to + f->offset + i * f->step) = isfinite(v) ? v : NAN;
		}
		if (count != NULL)
			count[f - field] = nulls[k] ? 0 : n;
	}
	ReleaseTupleDesc(desc);
}

/* Sleeps; the latch or an interrupt ends it early. */
void
ff_nap(double milliseconds)
{
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					 (long) milliseconds, PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

/* SQL: refuse() */
Datum
ff_refuse(PG_FUNCTION_ARGS)
{
	char	   *part[4];

	for (int i = 0; i < 4; i++)
		part[i] = PG_ARGISNULL(i) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(i));
	if (part[0] == NULL || strlen(part[0]) != 5 || part[1] == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("an error needs an SQLSTATE and a message")));

	/* a handler that catches the error restores its own context */
	error_context_stack = NULL;
	ereport(ERROR,
			(errcode(MAKE_SQLSTATE(part[0][0], part[0][1], part[0][2], part[0][3], part[0][4])),
			 errmsg_internal("%s", part[1]),
			 part[2] ? errdetail_internal("%s", part[2]) : 0,
			 part[3] ? errhint("%s", part[3]) : 0));
}

/* The version of the extension in this database; NULL: it is being dropped. */
static char *
installed_version(void)
{
	Relation	rel = table_open(ExtensionRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	char	   *version = NULL;
	bool		isnull;

	ScanKeyInit(&key, Anum_pg_extension_extname, BTEqualStrategyNumber, F_NAMEEQ,
				CStringGetDatum("fillfactor_advisor"));
	scan = systable_beginscan(rel, ExtensionNameIndexId, true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		version = TextDatumGetCString(heap_getattr(tuple, Anum_pg_extension_extversion,
												   RelationGetDescr(rel), &isnull));
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return version;
}

/* Comparable; parts of a version are below 1,000. */
static int
version_number(const char *version)
{
	int			part[3] = {0};

	(void) sscanf(version, "%d.%d.%d", &part[0], &part[1], &part[2]);
	return (part[0] * 1000 + part[1]) * 1000 + part[2];
}

/*
 * Error 55000 unless this library is of the version that made the SQL functions: they would miss
 * functions of each other, or read rows that have other columns.  A package replaces the library
 * before somebody updates the extension, and sessions keep the library that they have loaded.
 */
static void
require_version(void)
{
	char	   *installed = installed_version();

	if (installed == NULL || strcmp(installed, FF_VERSION) == 0)
		return;
	error_context_stack = NULL;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("the library has version %s, the extension in this database %s", FF_VERSION,
					installed),
			 version_number(FF_VERSION) > version_number(installed)
			 ? errhint("Run ALTER EXTENSION fillfactor_advisor UPDATE.")
			 : errhint("Connect again. If it stays, restart the server if the library is in "
					   "shared_preload_libraries, else install version %s of it.", installed)));
}

/*
 * Error 42501 unless the caller has the rights of a "reader" or "collector", see ff_grant(); 55000
 * if library and extension differ in version.
 */
void
ff_require(const char *what)
{
	bool		collector = strcmp(what, "collector") == 0;
	char	   *role;

	require_version();
	if (has_privs_of_role(GetUserId(),
						  collector ? ROLE_PG_STAT_SCAN_TABLES : ROLE_PG_READ_ALL_STATS))
		return;
	role = GetUserNameFromId(GetUserId(), false);
	error_context_stack = NULL;
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("role %s lacks the rights of a %s", quote_identifier(role), what),
			 errhint("Ask a superuser to run SELECT ff_grant(%s, '%s').",
					 quote_literal_cstr(role), what)));
}

/* SQL: check_role().  Also shows the caller shards. */
Datum
ff_check_role(PG_FUNCTION_ARGS)
{
	ff_require(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	ff_show_shards();
	PG_RETURN_VOID();
}

/* SQL: free_bytes(): what the server's user may still write; NULL if statvfs() fails. */
Datum
ff_free_bytes(PG_FUNCTION_ARGS)
{
	Oid			tablespace = PG_ARGISNULL(0) ? InvalidOid : PG_GETARG_OID(0);
	const char *folder;
	struct statvfs fs;

	if (!OidIsValid(tablespace))
		tablespace = MyDatabaseTableSpace;
	if (get_tablespace_name(tablespace) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("tablespace with OID %u does not exist", tablespace)));

	/* relative to the data directory, every backend's working directory */
	folder = PG_ARGISNULL(0) ? "pg_wal" : tablespace == DEFAULTTABLESPACE_OID ? "base" :
		tablespace == GLOBALTABLESPACE_OID ? "global" : psprintf("pg_tblspc/%u", tablespace);
	if (statvfs(folder, &fs) != 0)
		PG_RETURN_NULL();
	PG_RETURN_INT64((int64) fs.f_bavail * (int64) fs.f_frsize);
}

/* SQL: summarizing() */
Datum
ff_summarizing(PG_FUNCTION_ARGS)
{
	const IndexAmRoutine *routine = GetIndexAmRoutineByAmId(PG_GETARG_OID(0), true);

	if (routine == NULL)
		PG_RETURN_NULL();
	PG_RETURN_BOOL(PG_GETARG_BOOL(2) ||
				   (PG_GETARG_INT32(1) >= 160000 &&
					(PG_GETARG_OID(0) == BRIN_AM_OID || ff_am_summarizing(routine))));
}

/*
 * SQL: the hub's deadline().  From PostgreSQL 16 on dblink_connect() ignores connect_timeout,
 * and a host that accepts a connection and stays silent would block a refresh forever.  The
 * session's own statement_timeout is never extended, and restored.
 */
Datum
ff_deadline(PG_FUNCTION_ARGS)
{
	static TimestampTz own = 0;
	int64		span = PG_ARGISNULL(0) ? 0 : PG_GETARG_INTERVAL_P(0)->time;

	if (span > 0)
	{
		TimestampTz end = GetCurrentTimestamp() + span;

		own = get_timeout_active(STATEMENT_TIMEOUT) ? get_timeout_finish_time(STATEMENT_TIMEOUT) : 0;
		if (own == 0 || end < own)
			enable_timeout_at(STATEMENT_TIMEOUT, end);
	}
	else if (own != 0)
		enable_timeout_at(STATEMENT_TIMEOUT, own);
	else
		disable_timeout(STATEMENT_TIMEOUT, false);
	PG_RETURN_VOID();
}

/*
 * Shows the shards of Citus tables on this node to queries that are planned from now on, until
 * the calling function that has its own settings returns, or else the transaction ends.
 */
void
ff_show_shards(void)
{
	const char *name = "citus.show_shards_for_app_name_prefixes";

	if (GetConfigOption(name, true, false) != NULL)
		(void) set_config_option(name, "*", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0,
								 false);
}

/* SQL: show_shards() */
Datum
ff_show_shards_sql(PG_FUNCTION_ARGS)
{
	ff_show_shards();
	PG_RETURN_VOID();
}

/* SQL: own_server() */
Datum
ff_server(PG_FUNCTION_ARGS)
{
	TimeLineID	tli;

	if (RecoveryInProgress())
		(void) GetXLogReplayRecPtr(&tli);
	else
		tli = GetWALInsertionTimeLine();
	PG_RETURN_DATUM(ff_row(fcinfo, (Datum[]) {
		Int64GetDatum((int64) GetSystemIdentifier()), Int64GetDatum((int64) tli), ObjectIdGetDatum(MyDatabaseId)
	}, (bool[3]) {false}));
}
