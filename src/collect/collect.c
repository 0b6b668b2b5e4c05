/*
 * collect.c
 *	  CALL ff_collect(): the driver of a collection.
 *
 * SQL functions (sql/collect/collect.sql) do the work on rows; this file adds what SQL
 * lacks: one transaction per table, a budget, and the locks of lock.c.
 *
 * Outside a transaction block, every table is sampled in its own transaction: no lock, pin or
 * snapshot outlives the sample, except the collector's lock, which the session holds and
 * releases on every exit.  Inside one, everything is part of the caller's transaction.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type_d.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/regproc.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "base/module.h"
#include "collect/common.h"

PG_FUNCTION_INFO_V1(ff_collect);

/* All chosen. */
#define COUNTERS_BATCH		250		/* tables read in one transaction: 30 ms if all changed */
#define PRUNE_BATCH_ROWS	10000	/* rows removed before it commits */
#define FIT_MS				10000	/* after which no table is fitted: 100 fits of 100 ms */
#define CACHED_TABLES		200		/* after which the session's caches are emptied: some kB each */

typedef struct Collector
{
	Oid			extension;
	bool		atomic;			/* called inside a transaction block */
	MemoryContext cxt;			/* outlives the transactions of the run */
	MemoryContext step_cxt;		/* emptied after every step */
} Collector;

/* Begins a transaction of a collection: keeps the extension, shows shards. */
static void
begin_step(Oid extension)
{
	ff_keep_extension(extension);
	ff_show_shards();
}

/* Ends this transaction and begins the next. */
static void
end_step(Collector *c)
{
	if (!c->atomic)
		SPI_commit();
	MemoryContextReset(c->step_cxt);
	MemoryContextSwitchTo(c->step_cxt);
	CHECK_FOR_INTERRUPTS();
	if (!c->atomic)
		begin_step(c->extension);
}

/* Calls a function and ends its transaction.  Returns its result, 0 unless an int64 or a time. */
static int64
run_step(Collector *c, const char *call)
{
	int64		result = 0;
	Datum		d;
	bool		isnull;

	if (SPI_execute(psprintf("SELECT ff_internal.%s", call), false, 0) != SPI_OK_SELECT)
		elog(ERROR, "collection step %s failed", call);
	if (SPI_processed == 1 && (SPI_gettypeid(SPI_tuptable->tupdesc, 1) == INT8OID ||
							   SPI_gettypeid(SPI_tuptable->tupdesc, 1) == TIMESTAMPTZOID))
	{
		d = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);
		result = isnull ? 0 : DatumGetInt64(d);
	}
	SPI_freetuptable(SPI_tuptable);
	end_step(c);
	return result;
}

/* Runs a step that others do not depend on, see the SQL function.  Returns -1 after an error. */
static int64
try_step(Collector *c, const char *function, int64 of, const char *what)
{
	return run_step(c, psprintf("try_step('%s', " INT64_FORMAT ", %s)", function, of,
								what ? quote_literal_cstr(what) : "NULL"));
}

/*
 * Tries a function on the relations that list returns, most urgent first, each in
 * its own transaction, until the deadline or until the sum of its results uses up
 * the budget.  Empties the catalog and relation caches, which nothing else limits,
 * except inside a transaction block: the caller may need them.  Returns the number
 * of relations left.
 */
static int
try_each(Collector *c, const char *list, const char *function, const char *what,
		 TimestampTz deadline, int64 budget)
{
	int			i;
	int			n;
	SPITupleTable *due;

	/* not read only: must see rows written by this command */
	if (SPI_execute(psprintf("SELECT d.rel_id FROM ff_internal.%s WITH ORDINALITY d(rel_id, n) "
							 "ORDER BY d.n", list), false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not list relations by %s", list);
	n = (int) SPI_processed;
	due = SPI_tuptable;			/* stays when the transaction ends */
	end_step(c);

	for (i = 0; i < n && budget > 0 && GetCurrentTimestamp() < deadline; i++)
	{
		bool		isnull;
		Datum		rel_id = SPI_getbinval(due->vals[i], due->tupdesc, 1, &isnull);
		int64		done = try_step(c, function, DatumGetInt64(rel_id), what);

		budget -= Max(done, 0);
		if (done < 0)
			what = NULL;		/* one warning is enough */
		if (!c->atomic && i % CACHED_TABLES == CACHED_TABLES - 1)
			InvalidateSystemCaches();
	}
	if (!c->atomic)
		InvalidateSystemCaches();
	SPI_freetuptable(due);
	return n - i;
}

/*
 * Reads the counters of all tables in batches, one transaction each, so that none
 * holds back pruning for longer than a table's sample does.  The collection exists
 * only once all are read; one that ends earlier counts for nothing.  Returns its id.
 */
static int64
read_counters(Collector *c)
{
	TimestampTz at = run_step(c, psprintf("collect_begin('%s')",
										  timestamptz_to_str(GetCurrentTimestamp())));
	char	   *now = MemoryContextStrdup(c->cxt, timestamptz_to_str(at));
	int64		last = 0;

	do
		last = run_step(c, psprintf("collect_counters('%s', " INT64_FORMAT ", %d)",
									now, last, COUNTERS_BATCH));
	while (last != 0);
	return run_step(c, psprintf("collect_counted('%s')", now));
}

/* Runs a collection; the collector's lock is held. */
static void
collect(Collector *c)
{
	TimestampTz began_at = GetCurrentTimestamp();
	int64		handled = PRUNE_BATCH_ROWS;
	int64		id;
	int			deferred;

	/*
	 * Report this session's counts when the call ends: a fall of the insert counter
	 * of table collection shows that statistics were reset.
	 */
	pgstat_force_next_flush();
	id = read_counters(c);
	/* at once, so that both histories cover the same time */
	try_step(c, "collect_statements", id, NULL);
	try_step(c, "collect_horizon", id, "record what holds back pruning");
	deferred = try_each(c, "collect_due()", "collect_pages", NULL,
						TimestampTzPlusMilliseconds(began_at, (int64) ff_collect_time * 1000),
						ff_collect_pages);
	/* so that advice is ready when asked */
	try_each(c, psprintf("fits_due(" INT64_FORMAT ")", id), "collect_fit",
			 "fit the model to a table",
			 TimestampTzPlusMilliseconds(GetCurrentTimestamp(), FIT_MS), PG_INT64_MAX);
	try_step(c, "collect_verdicts", id, "compare earlier advice with its result");
	run_step(c, psprintf("collect_end(" INT64_FORMAT ", %d)", id, deferred));
	/* a fixed number of batches, so that a backlog shrinks run by run */
	for (int i = 0; i < ff_prune_batches && handled >= PRUNE_BATCH_ROWS; i++)
		handled = run_step(c, "prune(" CppAsString2(PRUNE_BATCH_ROWS) ")");
}

/* Returns the procedure's extension, kept until this transaction ends.  Error 55000: it has none. */
static Oid
keep_extension_of(Oid procedure)
{
	Oid			extension = getExtensionOfObject(ProcedureRelationId, procedure);

	/* ff_keep_extension() reports an extension that was just dropped */
	if (!OidIsValid(extension) && SearchSysCacheExists1(PROCOID, ObjectIdGetDatum(procedure)))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("procedure %s belongs to no extension", format_procedure(procedure)),
				 errhint("If it was taken out of the extension, run "
						 "ALTER EXTENSION fillfactor_advisor ADD PROCEDURE %s.",
						 format_procedure(procedure))));
	begin_step(extension);
	return extension;
}

/* CALL ff_collect().  Also the errors of ff_keep_extension() and keep_extension_of(). */
Datum
ff_collect(PG_FUNCTION_ARGS)
{
	Collector	c = {0};
	volatile bool alone = false;

	ff_require("collector");
	/* if both apply, recovery is the reason to report */
	PreventCommandDuringRecovery("ff_collect()");
	PreventCommandIfReadOnly("ff_collect()");

	c.atomic = !(fcinfo->context && IsA(fcinfo->context, CallContext) &&
				 !castNode(CallContext, fcinfo->context)->atomic);
	c.extension = keep_extension_of(fcinfo->flinfo->fn_oid);

	SPI_connect_ext(c.atomic ? 0 : SPI_OPT_NONATOMIC);
	c.cxt = CurrentMemoryContext;
	c.step_cxt = AllocSetContextCreate(c.cxt, "ff_collect step", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(c.step_cxt);

	/* before it takes a lock that would block others */
	SPI_execute("SELECT ff_internal.check_collector()", true, 0);

	PG_TRY();
	{
		alone = ff_lock_collector(c.atomic);
		if (alone)
			collect(&c);
	}
	PG_FINALLY();
	{
		if (alone && !c.atomic)
			ff_unlock_collector();
	}
	PG_END_TRY();
	SPI_finish();

	if (!alone)
		ereport(NOTICE,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("another collection is running in this database"),
				 errdetail("This call did nothing.")));
	PG_RETURN_VOID();
}
