/*
 * lock.c
 *	  Locks of a collection: one collector at a time, and an extension that
 *	  stays while it is at work.
 *
 * - The collector's lock is of a kind that no SQL statement takes, so that only
 *	 who may collect can keep collections away: who may write the history.
 * - Every transaction of a collection begins with a lock on the extension, before
 *	 it takes any other.  DROP EXTENSION begins with the same, in the mode that
 *	 conflicts: it waits for at most one transaction, and neither can meet the
 *	 other with half of its locks.
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
#include "utils/fmgrprotos.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "module.h"

/* "ffad" and a number of our own, in the database at hand; see ff_progress(), too. */
#define COLLECTOR_LOCK_CLASS	0x66666164
#define COLLECTOR_LOCK_OBJECT	1

/*
 * Milliseconds that DROP EXTENSION may take until it is over (chosen), and until the
 * lock is tried again, first; twice as long each time.
 */
#define DROP_MS					2000
#define DROP_RETRY_MS			10

/*
 * The kind of old contrib/userlock, which is still reserved for locks like this.
 * Its lock method is that of advisory locks: the end of a session lets go of it,
 * also where that comes between two transactions; the default one's would be left
 * to nobody.
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
 * The process that holds or awaits the lock of DROP EXTENSION and may have it:
 * whose role owns the extension; 0 where there is none.
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

/*
 * A prepared transaction would keep collectors away, and DROP EXTENSION waiting,
 * until somebody remembers it.
 */
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
 * Without waiting; false where another collector is at work.  For the
 * transaction where that is all there is (atomic), else for the session until
 * ff_unlock_collector(), which is to be called after an error, too.
 */
bool
ff_lock_collector(bool atomic)
{
	LOCKTAG		tag = collector_tag();

	return LockAcquire(&tag, ExclusiveLock, !atomic, true) != LOCKACQUIRE_NOT_AVAIL;
}

/* Let go of what ff_lock_collector() took for the session. */
void
ff_unlock_collector(void)
{
	LOCKTAG		tag = collector_tag();

	LockRelease(&tag, ExclusiveLock, true);
}

/* Where a job of pg_cron is left, how to be rid of it. */
static int
hint_unschedule(void)
{
	return errhint("If a job of pg_cron is left, remove it where pg_cron is: "
				   "SELECT cron.unschedule(jobid) FROM cron.job "
				   "WHERE database = %s AND command LIKE '%%ff_internal.collect()%%';",
				   quote_literal_cstr(get_database_name(MyDatabaseId)));
}

/*
 * Have the extension stay until this transaction ends: to be called before it
 * takes any other lock.  Whoever drops the extension is given a moment to come to
 * an end, without joining the queue of locks, so that no deadlock can come of it.
 * Locks of roles that do not own the extension are ignored: anyone can take this
 * one with ALTER FUNCTION ... DEPENDS ON EXTENSION.
 *
 * Errors: 42704 where the extension is gone, 55P03 where it is still being
 * dropped after that moment.
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
		/* to see who holds it takes all locks of the lock table: some ten times, no more */
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
