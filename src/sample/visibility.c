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
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/snapmgr.h"

#include "base/compat.h"
#include "sample/sample.h"

static void
refresh_range(FfXacts *xacts)
{
	LWLockAcquire(XidGenLock, LW_SHARED);
	xacts->limit = XidFromFullTransactionId(TransamVariables->nextXid);
	xacts->oldest = TransamVariables->oldestXid;
	LWLockRelease(XidGenLock);
}

static bool
xid_in_range(const FfXacts *xacts, TransactionId xid)
{
	return TransactionIdPrecedesOrEquals(xacts->oldest, xid) &&
		TransactionIdPrecedes(xid, xacts->limit);
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
		state = TransactionIdIsCurrentTransactionId(xid) ? FF_XACT_COMMITTED :
			TransactionIdIsInProgress(xid) ? FF_XACT_IN_PROGRESS :
			TransactionIdDidCommit(xid) ? FF_XACT_COMMITTED : FF_XACT_ABORTED;
	}
	LWLockRelease(XactTruncationLock);
	return state;
}

/* The fate of a normal xid. */
FfXactState
ff_xact_state(FfXacts *xacts, TransactionId xid)
{
	unsigned	slot = xid % FF_CACHED_XACTS;

	if (xacts->cached_xid[slot] == xid)
		return xacts->cached_state[slot];

	/* assigned since we began? */
	if (!xid_in_range(xacts, xid))
		refresh_range(xacts);
	if (!xid_in_range(xacts, xid))
		return FF_XACT_UNKNOWN;
	xacts->cached_xid[slot] = xid;
	return xacts->cached_state[slot] = look_up_xact(xid);
}

/*
 * Sets *xid to the updater among a multixact's members, invalid if there is none;
 * returns false if there cannot be such a multixact.
 */
bool
ff_multixact_updater(TransactionId multi, TransactionId *xid)
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

/* Begins to answer for the pages of one relation. */
void
ff_visibility_begin(Relation rel, FfXacts *xacts)
{
	refresh_range(xacts);
	xacts->next = xacts->limit;
	xacts->horizon = GetOldestNonRemovableTransactionId(rel);
	/* our first snapshot began at this xid, unless another transaction that was running then still runs */
	xacts->held_by_us = TransactionIdIsInProgress(MyProc->xmin) &&
		!TransactionIdIsCurrentTransactionId(MyProc->xmin) ? GetActiveSnapshot()->xmax : MyProc->xmin;
}
