/*
 * visibility.h
 *	  The fate of transactions, asked of this server for page_heap.c.
 */
#ifndef FF_VISIBILITY_H
#define FF_VISIBILITY_H

#include "access/transam.h"
#include "utils/rel.h"

#include "sample/page_heap.h"

/* Power of two: transactions whose fate is remembered during one sample. */
#define FF_XACT_CACHE 1024

typedef struct FfVisibility
{
	FullTransactionId next;		/* no xid in the pages is this new or newer */
	TransactionId oldest;		/* or older than this, unless frozen */
	TransactionId cached_xid[FF_XACT_CACHE];
	uint8		cached_state[FF_XACT_CACHE];
} FfVisibility;

extern void ff_visibility_begin(FfVisibility *visibility, Relation rel,
								FfXacts *xacts);

#endif							/* FF_VISIBILITY_H */
