/*
 * collect.c
 *	  CALL ff_collect(): the driver of a collection.
 *
 * The work on rows is done by SQL functions (sql/20_collect.sql); this file
 * gives it what SQL cannot have: one transaction a table, an error of one
 * table that stops nothing else, a budget, and locks that are never waited
 * for.
 *
 * Invariants:
 * - One collector a database at a time, by a lock of its own
 *	 (lock.c): held by the session and let go on every way out, or by
 *	 the caller's transaction block until its rows are there for others to see.
 * - Each of its transactions begins with a lock on the extension, so that
 *	 DROP EXTENSION and a collection come one after the other.
 * - Outside a transaction block, every table is sampled in a transaction of
 *	 its own: no lock, pin or snapshot outlives one table's sample.  Inside
 *	 one, everything is part of the caller's transaction.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/pg_proc.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/regproc.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "module.h"

PG_FUNCTION_INFO_V1(ff_collect);

/* Tables whose counters are read in one transaction, some 30 ms where all of them changed. */
#define COUNTERS_BATCH			250

/* Rows that one batch of pruning may remove before it commits. */
#define PRUNE_BATCH_ROWS		10000

/* Milliseconds after which no further table is fitted: room for 100 fits of 100 ms. */
#define FIT_MS				10000

/*
 * Tables after whose samples this session's catalog and relation caches are
 * emptied: they would grow by some kB for each.
 */
#define CACHED_TABLES			200

typedef struct Collector
{
	Oid			extension;
	bool		atomic;			/* called inside a transaction block */
	MemoryContext cxt;			/* outlives the transactions of the run */
	MemoryContext step_cxt;		/* emptied after every step */
	int64		collection_id;
	TimestampTz deadline;		/* no new table is begun after this */
	int64		pages_left;		/* pages that may still be read */
	int			sampled;
	int			skipped;		/* lock not to be had, dropped meanwhile */
	int			failed;			/* any other error, recorded */
	int			deferred;		/* left for the next collection */
} Collector;

/* The call of one of the extension's own functions. */
static char *
step_of(const char *function, int64 argument)
{
	return psprintf("ff_internal.%s(" INT64_FORMAT "::bigint)", function, argument);
}

/* Runs such a call and returns its first column as int64 (0 for NULL or no row). */
static int64
run_step(const char *call)
{
	int64		result = 0;

	if (SPI_execute(psprintf("SELECT %s", call), false, 0) != SPI_OK_SELECT)
		elog(ERROR, "collection step %s failed", call);
	if (SPI_processed == 1 && SPI_gettypeid(SPI_tuptable->tupdesc, 1) == INT8OID)
	{
		bool		isnull;
		Datum		d = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);

		result = isnull ? 0 : DatumGetInt64(d);
	}
	SPI_freetuptable(SPI_tuptable);
	return result;
}

/* A transaction of a collection begins: the extension stays, and shards are seen. */
static void
begin_step(Oid extension)
{
	ff_keep_extension(extension);
	ff_show_shards();
}

/*
 * End this transaction, so that nothing of it is held while the next runs, and
 * begin that.
 */
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

/*
 * An error that ends the whole collection: the operator wants it, the server
 * lacks room, or nothing can be written at all.  Everything else belongs to
 * the table at hand.
 */
static bool
ends_collection(int sqlerrcode)
{
	switch (ERRCODE_TO_CATEGORY(sqlerrcode))
	{
		case ERRCODE_OPERATOR_INTERVENTION:
		case ERRCODE_INSUFFICIENT_RESOURCES:
		case ERRCODE_PROGRAM_LIMIT_EXCEEDED:
		case ERRCODE_INVALID_TRANSACTION_STATE:
			return true;
		default:
			return false;
	}
}

/* A table that merely was not there for us, now: next time will do. */
static bool
is_skip(const ErrorData *error)
{
	return error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE ||
		error->sqlerrcode == ERRCODE_UNDEFINED_TABLE ||
		error->sqlerrcode == ERRCODE_FEATURE_NOT_SUPPORTED;
}

typedef struct Step
{
	const char *call;
	int64		result;
} Step;

static void
do_step(void *step)
{
	((Step *) step)->result = run_step(((Step *) step)->call);
}

/*
 * Runs one step in a subtransaction.  Returns NULL, or a copy of an error that is
 * this step's own affair; one that ends the collection goes on.
 */
static ErrorData *
try_step(const char *call, int64 *result)
{
	Step		step = {call, 0};
	ErrorData  *error = ff_try(do_step, &step);

	if (error != NULL && ends_collection(error->sqlerrcode))
		ReThrowError(error);
	*result = step.result;
	return error;
}

/* Have the failure of a step on this become a row; not an affair of the others. */
static void
write_failure(const char *function, int64 of, const ErrorData *edata)
{
	run_step(psprintf("ff_internal.%s(" INT64_FORMAT ", %s, %s)", function, of,
					  quote_literal_cstr(unpack_sql_state(edata->sqlerrcode)),
					  quote_literal_cstr(edata->message ? edata->message : "")));
}

static void
sample_relation(Collector *c, int64 rel_id)
{
	int64		pages = 0;
	ErrorData  *edata = try_step(step_of("collect_pages", rel_id), &pages);

	c->pages_left -= pages;
	if (edata == NULL)
		c->sampled++;
	else
	{
		write_failure("collect_problem", rel_id, edata);
		if (is_skip(edata))
			c->skipped++;
		else
			c->failed++;
	}
	end_step(c);
}

static void
warn(const ErrorData *error, const char *what)
{
	ereport(WARNING,
			(errcode(error->sqlerrcode),
			 errmsg("could not %s: %s", what, error->message)));
}

/* A step that a collection can do without: a warning is all there is of a failure. */
static void
try_or_warn(Collector *c, const char *function, const char *what)
{
	int64		unused;
	ErrorData  *error = try_step(step_of(function, c->collection_id), &unused);

	if (error != NULL)
		warn(error, what);
	end_step(c);
}

/*
 * The relations that a function lists, most urgent first; array in the run's
 * context.
 */
static int64 *
list_due(Collector *c, const char *call, int *n)
{
	int64	   *due;

	/* not read only: the rows that this command wrote are to be seen */
	if (SPI_execute(psprintf("SELECT d.rel_id FROM %s WITH ORDINALITY d(rel_id, n) ORDER BY d.n",
							 call), false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not list relations by %s", call);
	*n = (int) SPI_processed;
	due = MemoryContextAlloc(c->cxt, sizeof(int64) * Max(*n, 1));
	for (int i = 0; i < *n; i++)
	{
		bool		isnull;

		due[i] = DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[i],
											 SPI_tuptable->tupdesc, 1, &isnull));
	}
	SPI_freetuptable(SPI_tuptable);
	end_step(c);
	return due;
}

/*
 * Fit the tables that changed, so that advice is ready when asked, and judge
 * what came of earlier advice: each table in its own transaction, for a limited
 * time.
 */
static void
keep_fits(Collector *c)
{
	TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), FIT_MS);
	int			ndue;
	int64	   *due = list_due(c, step_of("fits_due", c->collection_id), &ndue);
	bool		warned = false;	/* one of them is enough */
	int64		unused;

	for (int i = 0; i < ndue && GetCurrentTimestamp() < deadline; i++)
	{
		ErrorData  *error = try_step(step_of("collect_fit", due[i]), &unused);

		if (error != NULL && !is_skip(error) && !warned)
			warn(error, "fit a table");
		warned |= error != NULL;
		end_step(c);
	}
	try_or_warn(c, "collect_verdicts", "judge what came of earlier advice");
}

/*
 * Read the counters of all tables, a batch in each transaction, so that none
 * holds back pruning for longer than a table's sample.  The collection begins
 * when all of them are read: one that ends before is no look at all.
 */
static void
read_counters(Collector *c)
{
	char	   *now = MemoryContextStrdup(c->cxt, timestamptz_to_str(GetCurrentTimestamp()));
	int64		last = 0;

	run_step(psprintf("ff_internal.collect_begin('%s')", now));
	do
	{
		end_step(c);
		last = run_step(psprintf("ff_internal.collect_counters('%s', " INT64_FORMAT ", %d)",
								 now, last, COUNTERS_BATCH));
	} while (last != 0);
	end_step(c);
	c->collection_id = run_step(psprintf("ff_internal.collect_counted('%s')", now));
	end_step(c);
}

/*
 * Remove what is too old, batch by batch: a fixed number of them a run, so that a
 * backlog shrinks run by run.
 */
static void
prune(Collector *c)
{
	int64		handled = PRUNE_BATCH_ROWS;

	for (int i = 0; i < ff_prune_batches && handled >= PRUNE_BATCH_ROWS; i++)
	{
		handled = run_step("ff_internal.prune(" CppAsString2(PRUNE_BATCH_ROWS) ")");
		end_step(c);
	}
}

/*
 * Sample what the budget allows.  What the catalog and relation caches keep of
 * tables that are done with is given back, as nothing else limits them; inside a
 * transaction block they are left to the caller, whose work may need them.
 */
static void
sample_due(Collector *c)
{
	int			ndue;
	int64	   *due = list_due(c, "ff_internal.collect_due()", &ndue);

	for (int i = 0; i < ndue; i++)
	{
		if (c->pages_left <= 0 || GetCurrentTimestamp() >= c->deadline)
		{
			c->deferred = ndue - i;
			break;
		}
		sample_relation(c, due[i]);
		if (!c->atomic && i % CACHED_TABLES == CACHED_TABLES - 1)
			InvalidateSystemCaches();
	}
	if (!c->atomic)
		InvalidateSystemCaches();
}

/* The collection, with the collector's lock held. */
static void
collect(Collector *c)
{
	int64		unused;
	ErrorData  *edata;

	/*
	 * Have this session's counts reported when the call ends: a reset of the
	 * statistics is told by the count of rows in collection.
	 */
	pgstat_force_next_flush();
	c->pages_left = ff_collect_pages;
	c->deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
											  (int64) ff_collect_time * 1000);
	read_counters(c);

	/* at once, so that both histories cover the same time */
	edata = try_step(step_of("collect_statements", c->collection_id), &unused);
	if (edata != NULL)
		write_failure("collect_statements_failed", c->collection_id, edata);
	end_step(c);
	try_or_warn(c, "collect_horizon", "note what holds back pruning");
	run_step(step_of("collect_settings", c->collection_id));
	end_step(c);
	sample_due(c);
	keep_fits(c);

	run_step(psprintf("ff_internal.collect_end(" INT64_FORMAT ", %d, %d, %d, %d)",
					  c->collection_id, c->sampled, c->skipped, c->failed, c->deferred));
	end_step(c);
	prune(c);
}

/* The extension that the procedure is of, kept until this transaction ends. */
static Oid
keep_extension_of(Oid procedure)
{
	Oid			extension = getExtensionOfObject(ProcedureRelationId, procedure);

	/* none where it was dropped a moment ago, too: of that ff_keep_extension() tells */
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

/*
 * CALL ff_collect()
 *
 * See the SQL procedure.  Errors besides: 42704 or 55P03 where the extension is
 * dropped meanwhile (see ff_keep_extension()), 55000 where the procedure is of none.
 */
Datum
ff_collect(PG_FUNCTION_ARGS)
{
	Collector	c = {0};
	volatile bool alone = false;

	ff_require("collector");
	/* recovery is the reason to name where both hold */
	PreventCommandDuringRecovery("ff_collect()");
	PreventCommandIfReadOnly("ff_collect()");

	c.atomic = !(fcinfo->context && IsA(fcinfo->context, CallContext) &&
				 !castNode(CallContext, fcinfo->context)->atomic);
	c.extension = keep_extension_of(fcinfo->flinfo->fn_oid);

	SPI_connect_ext(c.atomic ? 0 : SPI_OPT_NONATOMIC);
	c.cxt = CurrentMemoryContext;
	c.step_cxt = AllocSetContextCreate(c.cxt, "ff_collect step", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(c.step_cxt);

	/* before it takes a lock that would keep others away */
	run_step("ff_internal.check_collector()");

	PG_TRY();
	{
		alone = ff_lock_collector(c.atomic);
		if (alone)
			collect(&c);
	}
	PG_FINALLY();
	{
		if (!c.atomic)
			ff_unlock_collector();
	}
	PG_END_TRY();
	SPI_finish();

	if (!alone)
		ereport(NOTICE,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("another collection is running in this database"),
				 errdetail("This one leaves the work to it.")));
	if (c.failed > 0)
		ereport(WARNING,
				(errmsg("%d of %d relations could not be sampled",
						c.failed, c.failed + c.skipped + c.sampled),
				 errhint("See the table ff_internal.problem for each one's error.")));
	PG_RETURN_VOID();
}
