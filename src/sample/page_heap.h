/*
 * page_heap.h
 *	  Reads one heap page: 8 kB in, counts out.
 *
 * The parser is pure: it calls nothing of the server, allocates nothing and
 * keeps no state, so that it can be compiled and fuzzed alone.  What it cannot
 * see in the page, the fate of a transaction, it asks of FfXacts.
 */
#ifndef FF_PAGE_HEAP_H
#define FF_PAGE_HEAP_H

#include "access/htup_details.h"
#include "storage/block.h"
#include "storage/bufpage.h"

/* The fate of a transaction, as far as it is known now. */
typedef enum FfXactState
{
	FF_XACT_COMMITTED,
	FF_XACT_ABORTED,
	FF_XACT_IN_PROGRESS,
	FF_XACT_CURRENT,			/* our own */
	FF_XACT_UNKNOWN				/* never assigned or forgotten: the page lies */
} FfXactState;

/* Answers about transactions, given by the caller. */
typedef struct FfXacts
{
	FfXactState (*state) (void *arg, TransactionId xid);

	/*
	 * The updater among a multixact's members in *xid, invalid if there is
	 * none; false if there cannot be such a multixact.
	 */
	bool		(*updater) (void *arg, TransactionId multi, TransactionId *xid);
	void	   *arg;
	TransactionId horizon;		/* older deleted versions may be pruned */
	TransactionId next;			/* not assigned yet when the sample began */
} FfXacts;

typedef enum FfPageState
{
	FF_PAGE_OK,
	FF_PAGE_NEW,				/* all zero: extended, never initialised */
	FF_PAGE_BAD					/* rejected: nothing in it is trusted */
} FfPageState;

/* What is measured on each page.  Bytes, rows, line pointers or 0/1. */
typedef enum FfHeapMetric
{
	FF_HEAP_LIVE_BYTES,			/* tuple lengths, not MAXALIGNed */
	FF_HEAP_DEAD_BYTES,			/* recently dead versions included */
	FF_HEAP_FREE_BYTES,			/* between line pointers and tuples */
	FF_HEAP_LIVE_ROWS,
	FF_HEAP_DEAD_ROWS,			/* recently dead versions included */
	FF_HEAP_RECENT_ROWS,		/* dead, but maybe still seen by a snapshot */
	FF_HEAP_UPDATED_HOT,		/* live, HEAP_UPDATED and heap-only */
	FF_HEAP_UPDATED_NONHOT,		/* live, HEAP_UPDATED, not heap-only */
	FF_HEAP_SUPERSEDED_HOT,
	FF_HEAP_SUPERSEDED_SAME,	/* not HOT, successor in the same page */
	FF_HEAP_SUPERSEDED_NEWPAGE,	/* successor in another page */
	FF_HEAP_INSERTED_ROWS,		/* live, never updated */
	FF_HEAP_INSERTED_BYTES,
	FF_HEAP_UPDATED_ROWS,		/* live, updated since insert */
	FF_HEAP_UPDATED_BYTES,
	FF_HEAP_INHABITED,			/* 1 if there is a live row */
	FF_HEAP_METRICS
} FfHeapMetric;

typedef enum FfGroupKind
{
	FF_GROUP_INSERTED,			/* live rows never updated */
	FF_GROUP_OLD_PAGE,			/* rows updated where they were */
	FF_GROUP_NEW_PAGE,			/* rows of a page that their update filled */
	FF_GROUP_KINDS
} FfGroupKind;

/*
 * Rows of one page that one transaction wrote.  Of a group of FF_GROUP_OLD_PAGE
 * some versions, or all, may have gone to other pages: what counts is how many
 * rows of this page it updated.
 */
typedef struct FfHeapGroup
{
	FfGroupKind kind;
	uint16		rows;
	uint16		live;			/* of them, live in this page */
	uint32		age;			/* transactions since, of all databases */
	int64		distance;		/* from the page's inserts to it, -1: unknown */
} FfHeapGroup;

typedef struct FfHeapPage
{
	double		metric[FF_HEAP_METRICS];
	double		used_share;		/* 0 to 1 of what a page can hold */
	int			nrows;			/* live */
	uint16		length[MaxHeapTuplesPerPage];	/* MAXALIGNed, of each of them */
	bool		updated[MaxHeapTuplesPerPage];	/* since it was inserted */
	int			ngroups;
	FfHeapGroup group[MaxHeapTuplesPerPage];
} FfHeapPage;

extern FfPageState ff_heap_page(const char *page, BlockNumber block,
								const FfXacts *xacts, FfHeapPage *result);

#endif							/* FF_PAGE_HEAP_H */
