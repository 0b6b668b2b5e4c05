/*
 * page.h
 *	  Readers of one page: 8 kB in, counts out.
 *
 * They call no server function, allocate nothing and keep no state, so that they can
 * be compiled and fuzzed alone.  Two functions of visibility.c tell them what the page
 * does not: the fate of transactions.
 */
#ifndef FF_PAGE_H
#define FF_PAGE_H

#include "access/htup_details.h"
#include "storage/block.h"
#include "storage/bufpage.h"

typedef enum FfPageState
{
	FF_PAGE_OK,
	FF_PAGE_NEW,				/* all zero: extended, never initialised */
	FF_PAGE_BAD					/* rejected: nothing in it is trusted */
} FfPageState;

/* ---------- checks of all kinds of pages ---------- */

/* Words that have a bit for each MAXALIGNed offset of a page, where tuples start. */
#define FF_PLACE_WORDS (BLCKSZ / MAXIMUM_ALIGNOF / 64)

static inline bool
ff_page_is_zero(const char *page)
{
	/* each byte equals the next */
	return page[0] == 0 && memcmp(page, page + 1, BLCKSZ - 1) == 0;
}

/* Checks the page header like PageIsVerified, and that the special space begins there. */
static inline bool
ff_header_is_sound(const PageHeaderData *header, unsigned special)
{
	return PageGetPageSize((Page) header) == BLCKSZ &&
		PageGetPageLayoutVersion((Page) header) == PG_PAGE_LAYOUT_VERSION &&
		(header->pd_flags & ~PD_VALID_FLAG_BITS) == 0 &&
		header->pd_lower >= SizeOfPageHeaderData &&
		header->pd_lower <= header->pd_upper &&
		header->pd_upper <= header->pd_special &&
		header->pd_special == special;
}

/* Number of line pointers in a sound page. */
static inline OffsetNumber
ff_line_pointers(const PageHeaderData *header)
{
	return (header->pd_lower - SizeOfPageHeaderData) / sizeof(ItemIdData);
}

/*
 * Whether this line pointer refers to at least "least" bytes in the tuple area, aligned,
 * that no other line pointer has claimed.  Marks them as taken.
 */
static inline bool
ff_claim_place(const PageHeaderData *header, const ItemIdData *lp, unsigned least, uint64 *taken)
{
	unsigned	next;
	unsigned	end = MAXALIGN(lp->lp_off + lp->lp_len) / MAXIMUM_ALIGNOF;

	if (lp->lp_off != MAXALIGN(lp->lp_off) ||
		lp->lp_off < header->pd_upper ||
		lp->lp_len < least ||
		lp->lp_off + lp->lp_len > header->pd_special)
		return false;
	for (unsigned place = lp->lp_off / MAXIMUM_ALIGNOF; place < end; place = next)
	{
		uint64		bits;

		next = Min(end, (place / 64 + 1) * 64);
		bits = ~UINT64CONST(0) >> (64 - (next - place)) << place % 64;
		if (taken[place / 64] & bits)
			return false;
		taken[place / 64] |= bits;
	}
	return true;
}

/* ---------- heap ---------- */

/* The fate of a transaction, as far as it is known now. */
typedef enum FfXactState
{
	FF_XACT_COMMITTED,			/* or our own */
	FF_XACT_ABORTED,
	FF_XACT_IN_PROGRESS,
	FF_XACT_UNKNOWN				/* never assigned or truncated: corrupt page */
} FfXactState;

/* What is known of transactions; see visibility.c. */
#define FF_CACHED_XACTS 1024

typedef struct FfXacts
{
	TransactionId horizon;		/* older deleted versions may be pruned */
	TransactionId held_by_us;	/* versions deleted from here on stay for our own snapshot */
	TransactionId next;			/* next xid when the sample began */
	/* of visibility.c */
	TransactionId oldest;		/* xids in the pages are not older than this, unless frozen */
	TransactionId limit;		/* and older than this */
	TransactionId cached_xid[FF_CACHED_XACTS];
	uint8		cached_state[FF_CACHED_XACTS];
} FfXacts;

extern FfXactState ff_xact_state(FfXacts *xacts, TransactionId xid);
extern bool ff_multixact_updater(TransactionId multi, TransactionId *xid);

/* What is measured on each heap page.  Bytes, rows, line pointers or 0/1. */
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

/*
 * Rows of a page that one transaction updated.  Either it filled a new page with rows
 * from other pages, or it updated rows of this page; their new versions may be in
 * other pages: what counts is how many rows of this page it updated.
 */
typedef struct FfHeapGroup
{
	bool		new_page;
	uint16		rows;
	uint16		live;			/* of these, live in this page */
	uint32		age;			/* transactions since then, of all databases */
	int64		distance;		/* from the page's inserts to it, -1: unknown */
} FfHeapGroup;

typedef struct FfHeapPage
{
	double		metric[FF_HEAP_METRICS];
	int			nrows;			/* live */
	uint16		length[MaxHeapTuplesPerPage];	/* of each live row, MAXALIGNed */
	bool		updated[MaxHeapTuplesPerPage];	/* since it was inserted */
	int			ngroups;
	FfHeapGroup group[MaxHeapTuplesPerPage];
} FfHeapPage;

extern FfPageState ff_heap_page(const char *page, BlockNumber block,
								FfXacts *xacts, FfHeapPage *result);

/* ---------- B-tree ---------- */

/* What is measured on each B-tree page.  Each page has a 1 for its kind. */
typedef enum FfBtreeMetric
{
	FF_BTREE_LEAF,
	FF_BTREE_INTERNAL,
	FF_BTREE_DELETED,			/* or half dead */
	/* of leaves only */
	FF_BTREE_ROOM,				/* bytes between header and special space */
	FF_BTREE_USED,				/* bytes of this room in use */
	FF_BTREE_FRAGMENT,			/* 1 if its right sibling is an earlier block */
	FF_BTREE_TIDS,				/* row pointers of all items */
	FF_BTREE_POSTING_TIDS,		/* those in posting lists (deduplicated) */
	FF_BTREE_AT_FILLFACTOR,		/* 1 if as full as splits at the end leave it */
	FF_BTREE_HALF_FULL,			/* 1 if as full as other splits leave it */
	FF_BTREE_METRICS
} FfBtreeMetric;

extern FfPageState ff_btree_page(const char *page, BlockNumber block,
								 int fillfactor, double *metric);

#endif							/* FF_PAGE_H */
