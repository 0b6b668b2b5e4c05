/*
 * lock.c
 *	  Locks of a collection: only one collector at a time, and no DROP
 *	  EXTENSION while it works.
 *
 * - No SQL statement can take the collector's lock, so only roles that may collect
 *	 (write the history) can block collections.
 * - Every transaction of a collection locks the extension first, before anything
 *	 else.  DROP EXTENSION also locks it first, in a conflicting mode: so it waits
 *	 for at most one transaction, and the two cannot deadlock.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_extension.h"
#include "commands/dbcommands.h"
#include "commands/extension.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "base/module.h"
#include "collect/common.h"

/* "ffad" and a number, in the current database */
#define COLLECTOR_LOCK_CLASS	0x66666164
#define COLLECTOR_LOCK_OBJECT	1

/*
 * Milliseconds to wait for DROP EXTENSION to end (chosen), and before the first
 * retry of the lock; the interval doubles each time.
 */
#define DROP_MS					2000
#define DROP_RETRY_MS			10

/*
 * A user lock, the type of the former contrib/userlock, still reserved for such
 * uses.  It has the lock method of advisory locks: a session's end releases it even
 * between two transactions, unlike session locks of the default method.
 */
static LOCKTAG
collector_tag(void)
{
	LOCKTAG		tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, COLLECTOR_LOCK_CLASS, COLLECTOR_LOCK_OBJECT, 2);
	tag.locktag_type = LOCKTAG_USERLOCK;
	return tag;
}

/*
 * Returns the process that holds or awaits DROP EXTENSION's lock and whose role owns
 * the extension; 0 if there is none.
 */
static int
owner_at_lock(const LOCKTAG *tag, Oid extension)
{
	LockData   *data = GetLockStatusData();

	for (int i = 0; i < data->nelements; i++)
	{
		LockInstanceData *instance = &data->locks[i];
		PGPROC	   *proc;

		if (memcmp(&instance->locktag, tag, sizeof(LOCKTAG)) != 0 ||
			!((instance->holdMask & LOCKBIT_ON(AccessExclusiveLock)) ||
			  instance->waitLockMode == AccessExclusiveLock))
			continue;
		proc = BackendPidGetProc(instance->pid);
		if (proc != NULL && ff_extension_ownercheck(extension, proc->roleId))
			return instance->pid;
	}
	return 0;
}

/* A forgotten prepared transaction would block collectors and DROP EXTENSION. */
static void
refuse_prepare(XactEvent event, void *extension)
{
	LOCKTAG		collector = collector_tag();
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, ExtensionRelationId, *(Oid *) extension, 0);
	if (event == XACT_EVENT_PRE_PREPARE &&
		(ff_lock_held(&collector, ExclusiveLock) || ff_lock_held(&tag, AccessShareLock)))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot PREPARE a transaction that has called ff_collect()"),
				 errdetail("No collection could run until it is committed or rolled back.")));
}

/*
 * Takes the collector's lock without waiting; false if another collector has it.
 * atomic: until the transaction ends; otherwise until ff_unlock_collector(), which
 * must be called after an error, too.
 */
bool
ff_lock_collector(bool atomic)
{
	LOCKTAG		tag = collector_tag();

	return LockAcquire(&tag, ExclusiveLock, !atomic, true) != LOCKACQUIRE_NOT_AVAIL;
}

/* Releases a session lock of ff_lock_collector(). */
void
ff_unlock_collector(void)
{
	LOCKTAG		tag = collector_tag();

	LockRelease(&tag, ExclusiveLock, true);
}

/* How to remove a leftover job of pg_cron. */
static int
hint_unschedule(void)
{
	return errhint("If a job of pg_cron is left, remove it where pg_cron is: "
				   "SELECT cron.unschedule(jobid) FROM cron.job "
				   "WHERE database = %s AND command LIKE '%%ff_internal.collect()%%';",
				   quote_literal_cstr(get_database_name(MyDatabaseId)));
}

/*
 * Keeps the extension until this transaction ends; call it before taking any other
 * lock.  If the extension is being dropped, waits up to DROP_MS for the end, but not
 * in the lock queue, so it cannot deadlock.  Ignores locks of roles that do not own
 * the extension: anyone can take this lock with ALTER FUNCTION ... DEPENDS ON
 * EXTENSION.
 *
 * Errors: 42704 the extension is gone, 55P03 it is still being dropped after DROP_MS.
 */
void
ff_keep_extension(Oid extension)
{
	static Oid	kept = InvalidOid;
	TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), DROP_MS);
	long		retry_ms = DROP_RETRY_MS;
	LOCKTAG		tag;

	if (!OidIsValid(kept))
		RegisterXactCallback(refuse_prepare, &kept);
	kept = extension;
	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, ExtensionRelationId, extension, 0);
	while (LockAcquire(&tag, AccessShareLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
	{
		int			pid = owner_at_lock(&tag, extension);

		if (pid == 0)
			break;
		if (GetCurrentTimestamp() >= deadline)
			ereport(ERROR,
					(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
					 errmsg("extension \"fillfactor_advisor\" is being dropped by another session"),
					 errdetail("Process %d holds or awaits the lock. The collection ends here. "
							   "What it did before is kept if the other session rolls back.", pid),
					 hint_unschedule()));
		/* owner_at_lock() locks the whole lock table: call it some ten times, no more */
		ff_nap(retry_ms);
		retry_ms = Min(retry_ms * 2, DROP_MS / 4);
	}
	AcceptInvalidationMessages();
	if (get_extension_name(extension) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("extension \"fillfactor_advisor\" was dropped by another session"),
				 errdetail("The collection ends here."),
				 hint_unschedule()));
}
