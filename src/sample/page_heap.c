/*
 * page_heap.c
 *	  Reads one heap page: 8 kB in, counts out.
 *
 * The page is a private copy that nobody changes meanwhile; it need not be
 * sound.  Every offset and length is checked before it is followed, tuples may
 * not overlap, and a page that fails any check is rejected whole.  So the
 * bytes of live and dead tuples and free space can never exceed the page.
 *
 * Live and dead are what pgstattuple means by them: a row inserted or deleted
 * by a transaction in progress is live, a version that only old snapshots can
 * see is dead.
 */
#include "postgres.h"

#include "sample/page_check.h"
#include "sample/page_heap.h"

/* What a page can hold besides its header. */
#define FF_PAGE_ROOM (BLCKSZ - SizeOfPageHeaderData)

typedef enum FfTupleState
{
	FF_TUPLE_LIVE,
	FF_TUPLE_DELETED,			/* deleted or superseded */
	FF_TUPLE_ABORTED,			/* its inserter rolled back */
	FF_TUPLE_BAD
} FfTupleState;

/* A live row's or an original version's part in the history of the page. */
typedef struct FfBirth
{
	TransactionId xmin;
	bool		updated;
} FfBirth;

/* Lengths inside the tuple header agree with the line pointer's length. */
static bool
tuple_is_sound(const HeapTupleHeaderData *tuple, unsigned length)
{
	unsigned	needed = SizeofHeapTupleHeader;

	if (tuple->t_infomask & HEAP_HASNULL)
		needed += BITMAPLEN(HeapTupleHeaderGetNatts(tuple));
	if (tuple->t_hoff != MAXALIGN(tuple->t_hoff) ||
		tuple->t_hoff < needed || tuple->t_hoff > length)
		return false;
	/* no multixact is ever marked as committed */
	return (tuple->t_infomask & (HEAP_XMAX_COMMITTED | HEAP_XMAX_IS_MULTI)) !=
		(HEAP_XMAX_COMMITTED | HEAP_XMAX_IS_MULTI);
}

static FfXactState
xact_state(const FfXacts *xacts, TransactionId xid)
{
	if (TransactionIdIsNormal(xid))
		return xacts->state(xacts->arg, xid);
	/* xmin of an aborted speculative insertion is invalid */
	return TransactionIdIsValid(xid) ? FF_XACT_COMMITTED : FF_XACT_ABORTED;
}

/*
 * The rules of HeapTupleSatisfiesDirty, without its hint bits.  *deleter is
 * the transaction that deleted or superseded a deleted tuple.
 */
static FfTupleState
tuple_state(const HeapTupleHeaderData *tuple, const FfXacts *xacts,
			TransactionId *deleter)
{
	uint16		mask = tuple->t_infomask;
	TransactionId xmax = tuple->t_choice.t_heap.t_xmax;
	FfXactState state;

	*deleter = InvalidTransactionId;

	if ((mask & HEAP_XMIN_COMMITTED) == 0)
	{
		if (mask & HEAP_XMIN_INVALID)
			return FF_TUPLE_ABORTED;
		state = xact_state(xacts, tuple->t_choice.t_heap.t_xmin);
		if (state == FF_XACT_ABORTED)
			return FF_TUPLE_ABORTED;
		if (state == FF_XACT_IN_PROGRESS)
			return FF_TUPLE_LIVE;
		if (state == FF_XACT_UNKNOWN)
			return FF_TUPLE_BAD;
	}

	if ((mask & HEAP_XMAX_INVALID) || HEAP_XMAX_IS_LOCKED_ONLY(mask))
		return FF_TUPLE_LIVE;

	if (mask & HEAP_XMAX_IS_MULTI)
	{
		if (!xacts->updater(xacts->arg, xmax, &xmax))
			return FF_TUPLE_BAD;
	}
	if (!TransactionIdIsValid(xmax))
		return FF_TUPLE_LIVE;

	*deleter = xmax;
	if (mask & HEAP_XMAX_COMMITTED)
		return FF_TUPLE_DELETED;
	state = xact_state(xacts, xmax);
	if (state == FF_XACT_UNKNOWN)
		return FF_TUPLE_BAD;
	if (state == FF_XACT_COMMITTED || state == FF_XACT_CURRENT)
		return FF_TUPLE_DELETED;
	return FF_TUPLE_LIVE;
}

/* xids from a to b; wraps around as xids do. */
static int32
xid_distance(TransactionId a, TransactionId b)
{
	return (int32) (b - a);
}

/* Could a snapshot still see what this transaction deleted? */
static bool
maybe_visible(const FfXacts *xacts, TransactionId deleter)
{
	return TransactionIdIsNormal(deleter) &&
		TransactionIdIsNormal(xacts->horizon) &&
		xid_distance(xacts->horizon, deleter) >= 0;
}

/* Where did the new version of a superseded one go? */
static void
count_superseded(const HeapTupleHeaderData *tuple, BlockNumber block,
				 OffsetNumber offset, double *metric)
{
	const ItemPointerData *ctid = &tuple->t_ctid;
	BlockNumber successor_block = ItemPointerGetBlockNumberNoCheck(ctid);
	OffsetNumber successor = ItemPointerGetOffsetNumberNoCheck(ctid);

	/* deleted, or moved to another partition: no successor here */
	if (successor == 0 || successor > MaxHeapTuplesPerPage ||
		(successor_block == block && successor == offset))
		return;
	if (tuple->t_infomask2 & HEAP_HOT_UPDATED)
		metric[FF_HEAP_SUPERSEDED_HOT]++;
	else if (successor_block == block)
		metric[FF_HEAP_SUPERSEDED_SAME]++;
	else
		metric[FF_HEAP_SUPERSEDED_MOVED]++;
}

/* Insertion sort by (updated, xmin): a page holds few rows, often in order. */
static void
sort_births(FfBirth *birth, int n)
{
	for (int i = 1; i < n; i++)
	{
		FfBirth		b = birth[i];
		int			j = i;

		while (j > 0 && (birth[j - 1].updated > b.updated ||
						 (birth[j - 1].updated == b.updated &&
						  birth[j - 1].xmin > b.xmin)))
		{
			birth[j] = birth[j - 1];
			j--;
		}
		birth[j] = b;
	}
}

/*
 * Groups the live rows by the transaction that wrote them.  The distance of an
 * updated group is taken to the middle one of the page's inserts.
 */
static void
group_births(FfBirth *birth, int n, TransactionId original, FfHeapPage *result)
{
	int			never_updated = 0;

	sort_births(birth, n);
	while (never_updated < n && !birth[never_updated].updated)
		never_updated++;
	if (never_updated > 0)
		original = birth[never_updated / 2].xmin;

	result->ngroups = 0;
	for (int i = 0; i < n;)
	{
		FfHeapGroup *group = &result->group[result->ngroups++];

		group->xmin = birth[i].xmin;
		group->updated = birth[i].updated;
		group->rows = 0;
		group->distance = -1;
		while (i < n && birth[i].xmin == group->xmin &&
			   birth[i].updated == group->updated)
		{
			group->rows++;
			i++;
		}
		if (group->updated && TransactionIdIsNormal(original) &&
			TransactionIdIsNormal(group->xmin))
			group->distance = Max(-1, xid_distance(original, group->xmin));
	}
}

/*
 * Measures one heap page.
 *
 * page: BLCKSZ bytes, MAXALIGNed.  block: its number, to tell whether a
 * version's successor is in the same page.  reserve: the bytes that the
 * table's fillfactor keeps free of inserts.
 *
 * *result is always filled; for a page that is not FF_PAGE_OK its metrics are
 * zero, but that a new page is all free.
 */
FfPageState
ff_heap_page(const char *page, BlockNumber block, int reserve,
			 const FfXacts *xacts, FfHeapPage *result)
{
	const PageHeaderData *header = (const PageHeaderData *) page;
	double	   *metric = result->metric;
	uint8		taken[FF_PLACES] = {0};
	FfBirth		birth[MaxHeapTuplesPerPage];
	int			nbirths = 0;
	TransactionId original = InvalidTransactionId;
	OffsetNumber nlps;

	memset(metric, 0, sizeof(result->metric));
	result->lsn = InvalidXLogRecPtr;
	result->used_share = 0;
	result->ngroups = 0;

	if (header->pd_upper == 0)
	{
		if (!ff_page_is_zero(page))
			return FF_PAGE_BAD;
		metric[FF_HEAP_FREE_BYTES] = FF_PAGE_ROOM;
		metric[FF_HEAP_RESERVE_BYTES] = Min(FF_PAGE_ROOM, (unsigned) reserve);
		return FF_PAGE_NEW;
	}

	if (!ff_header_is_sound(header, BLCKSZ) ||
		(header->pd_lower - SizeOfPageHeaderData) % sizeof(ItemIdData) != 0 ||
		ff_line_pointers(header) > MaxHeapTuplesPerPage)
		return FF_PAGE_BAD;
	nlps = ff_line_pointers(header);

	for (OffsetNumber offset = FirstOffsetNumber; offset <= nlps; offset++)
	{
		const ItemIdData *lp = &header->pd_linp[offset - 1];
		const HeapTupleHeaderData *tuple;
		TransactionId deleter;
		bool		updated;

		if (!ItemIdIsUsed(lp))
		{
			metric[FF_HEAP_UNUSED_LPS]++;
			continue;
		}
		if (ItemIdIsDead(lp))
		{
			metric[FF_HEAP_DEAD_LPS]++;
			continue;
		}
		if (ItemIdIsRedirected(lp))
		{
			OffsetNumber target = ItemIdGetRedirect(lp);

			if (target < FirstOffsetNumber || target > nlps ||
				!ItemIdIsNormal(&header->pd_linp[target - 1]))
				goto bad;
			metric[FF_HEAP_REDIRECT_LPS]++;
			continue;
		}

		if (!ff_claim_place(header, lp, MAXALIGN(SizeofHeapTupleHeader),
							taken))
			goto bad;
		tuple = (const HeapTupleHeaderData *) (page + lp->lp_off);
		if (!tuple_is_sound(tuple, lp->lp_len))
			goto bad;

		updated = (tuple->t_infomask & HEAP_UPDATED) != 0;
		switch (tuple_state(tuple, xacts, &deleter))
		{
			case FF_TUPLE_LIVE:
				metric[FF_HEAP_LIVE_ROWS]++;
				metric[FF_HEAP_LIVE_BYTES] += lp->lp_len;
				if (updated)
				{
					metric[FF_HEAP_UPDATED_ROWS]++;
					metric[FF_HEAP_UPDATED_BYTES] += lp->lp_len;
					if (tuple->t_infomask2 & HEAP_ONLY_TUPLE)
						metric[FF_HEAP_UPDATED_HOT]++;
					else
						metric[FF_HEAP_UPDATED_COLD]++;
				}
				else
				{
					metric[FF_HEAP_INSERTED_ROWS]++;
					metric[FF_HEAP_INSERTED_BYTES] += lp->lp_len;
				}
				/* a frozen tuple keeps its xmin, told frozen by its mask */
				birth[nbirths].xmin = tuple->t_choice.t_heap.t_xmin;
				birth[nbirths++].updated = updated;
				break;

			case FF_TUPLE_DELETED:
				metric[FF_HEAP_DEAD_ROWS]++;
				metric[FF_HEAP_DEAD_BYTES] += lp->lp_len;
				if (maybe_visible(xacts, deleter))
					metric[FF_HEAP_RECENT_ROWS]++;
				count_superseded(tuple, block, offset, metric);
				if (!updated)
					original = tuple->t_choice.t_heap.t_xmin;
				break;

			case FF_TUPLE_ABORTED:
				metric[FF_HEAP_DEAD_ROWS]++;
				metric[FF_HEAP_DEAD_BYTES] += lp->lp_len;
				metric[FF_HEAP_ABORTED_ROWS]++;
				break;

			case FF_TUPLE_BAD:
				goto bad;
		}
	}

	/* without a line pointer to be had, no row fits (PageGetHeapFreeSpace) */
	if (nlps < MaxHeapTuplesPerPage || metric[FF_HEAP_UNUSED_LPS] > 0)
		metric[FF_HEAP_FREE_BYTES] = header->pd_upper - header->pd_lower;
	metric[FF_HEAP_RESERVE_BYTES] = Min(metric[FF_HEAP_FREE_BYTES], reserve);
	metric[FF_HEAP_INHABITED] = metric[FF_HEAP_LIVE_ROWS] > 0;
	metric[FF_HEAP_FULL_HINT] = (header->pd_flags & PD_PAGE_FULL) != 0;
	result->lsn = PageGetLSN((Page) page);
	result->used_share = 1 - metric[FF_HEAP_FREE_BYTES] / FF_PAGE_ROOM;
	group_births(birth, nbirths, original, result);
	return FF_PAGE_OK;

bad:
	memset(metric, 0, sizeof(result->metric));
	return FF_PAGE_BAD;
}
