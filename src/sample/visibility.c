/*
 * visibility.c
 *	  The fate of transactions on this server, for page_heap.c.
 *
 * Page contents are not trusted: like in amcheck, an xid or multixact is looked up
 * only if this server has assigned it and not yet truncated it.  Nothing here sees a
 * buffer, so no hint bit can be set.
 */
#include "postgres.h"

#include "access/multixact.h"
#include "access/transam.h"
#include "access/xact.h"
#include "storage/lwlock.h"
#include "storage/procarray.h"

#include "base/compat.h"
#include "sample/sample.h"

/* Transactions whose fate is cached during one sample. */
#define CACHE 1024

typedef struct FfVisibility
{
	FullTransactionId next;		/* xids in the pages are older than this */
	TransactionId oldest;		/* and not older than this, unless frozen */
	TransactionId cached_xid[CACHE];
	uint8		cached_state[CACHE];
} FfVisibility;

static void
refresh_range(FfVisibility *visibility)
{
	LWLockAcquire(XidGenLock, LW_SHARED);
	visibility->next = TransamVariables->nextXid;
	visibility->oldest = TransamVariables->oldestXid;
	LWLockRelease(XidGenLock);
}

static bool
xid_in_range(const FfVisibility *visibility, TransactionId xid)
{
	return TransactionIdPrecedesOrEquals(visibility->oldest, xid) &&
		TransactionIdPrecedes(xid, XidFromFullTransactionId(visibility->next));
}

/* The lock prevents truncation of the commit log during the look-up. */
static FfXactState
look_up_xact(TransactionId xid)
{
	FfXactState state = FF_XACT_UNKNOWN;

	LWLockAcquire(XactTruncationLock, LW_SHARED);
	if (TransactionIdPrecedesOrEquals(TransamVariables->oldestClogXid, xid))
	{
		/* in this order: a transaction leaves the proc array after its commit */
		if (TransactionIdIsCurrentTransactionId(xid))
			state = FF_XACT_COMMITTED;
		else if (TransactionIdIsInProgress(xid))
			state = FF_XACT_IN_PROGRESS;
		else if (TransactionIdDidCommit(xid))
			state = FF_XACT_COMMITTED;
		else
			state = FF_XACT_ABORTED;
	}
	LWLockRelease(XactTruncationLock);
	return state;
}

static FfXactState
xact_state(void *arg, TransactionId xid)
{
	FfVisibility *visibility = (FfVisibility *) arg;
	unsigned	slot = xid % CACHE;
	FfXactState state;

	if (visibility->cached_xid[slot] == xid)
		return visibility->cached_state[slot];

	if (!xid_in_range(visibility, xid))
	{
		/* assigned since we began? */
		refresh_range(visibility);
		if (!xid_in_range(visibility, xid))
			return FF_XACT_UNKNOWN;
	}
	state = look_up_xact(xid);
	visibility->cached_xid[slot] = xid;
	visibility->cached_state[slot] = state;
	return state;
}

static bool
multixact_updater(void *arg, TransactionId multi, TransactionId *xid)
{
	MultiXactId oldest;
	MultiXactId next;
	MultiXactMember *members;
	int			nmembers;

	*xid = InvalidTransactionId;
	ReadMultiXactIdRange(&oldest, &next);
	if (!MultiXactIdIsValid(multi) ||
		MultiXactIdPrecedes(multi, oldest) ||
		!MultiXactIdPrecedes(multi, next))
		return false;

	nmembers = GetMultiXactIdMembers(multi, &members, false, false);
	for (int i = 0; i < nmembers; i++)
		if (ISUPDATE_from_mxstatus(members[i].status))
			*xid = members[i].xid;
	if (nmembers > 0)
		pfree(members);
	return true;
}

/* Binds xacts to this server and to the pruning horizon of one relation. */
void
ff_visibility_begin(Relation rel, FfXacts *xacts)
{
	FfVisibility *visibility = palloc0(sizeof(FfVisibility));

	refresh_range(visibility);
	xacts->state = xact_state;
	xacts->updater = multixact_updater;
	xacts->arg = visibility;
	xacts->horizon = GetOldestNonRemovableTransactionId(rel);
	xacts->next = XidFromFullTransactionId(visibility->next);
}
