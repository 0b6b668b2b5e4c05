/*
 * page_heap.c
 *	  Reads one heap page: 8 kB in, counts out.
 *
 * The page is a private copy and may be corrupt.  Every offset and length is
 * checked before use, tuples may not overlap, and a page that fails any check is
 * rejected whole.  So the bytes of live and dead tuples and free space never exceed
 * the page.
 *
 * Live and dead are defined as in pgstattuple: a row inserted or deleted by a
 * transaction in progress is live, a version that only old snapshots can see is
 * dead.
 */
#include "postgres.h"

#include "sample/page.h"

/* Bytes of a page after its header. */
#define FF_PAGE_ROOM (BLCKSZ - SizeOfPageHeaderData)

typedef enum FfTupleState
{
	FF_TUPLE_LIVE,
	FF_TUPLE_DEAD,				/* deleted, superseded, or its inserter rolled back */
	FF_TUPLE_BAD
} FfTupleState;

/*
 * Xids up to this much newer than the sample's begin count as newer, not as almost
 * a whole round of xids older (chosen).
 */
#define FF_NEW_XIDS (1 << 24)

/* A live row, or a version whose update came from this page. */
typedef struct FfVersion
{
	TransactionId xid;			/* wrote the row, or superseded the version */
	uint32		age;
	bool		updated;
	bool		live;
	bool		heap_only;
} FfVersion;

/*
 * Bits of t_infomask2 that have a meaning in the supported versions.  If another
 * bit is set, the kind of update is unknown and not counted.
 */
#define FF_KNOWN_BITS \
	(HEAP_NATTS_MASK | HEAP_KEYS_UPDATED | HEAP_HOT_UPDATED | HEAP_ONLY_TUPLE)

static bool
bits_are_known(const HeapTupleHeaderData *tuple)
{
	return (tuple->t_infomask2 & ~FF_KNOWN_BITS) == 0;
}

/* Whether the lengths in the tuple header fit the line pointer's length. */
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
xact_state(FfXacts *xacts, TransactionId xid)
{
	if (TransactionIdIsNormal(xid))
		return ff_xact_state(xacts, xid);
	/* xmin of an aborted speculative insertion is invalid */
	return TransactionIdIsValid(xid) ? FF_XACT_COMMITTED : FF_XACT_ABORTED;
}

/*
 * Follows HeapTupleSatisfiesDirty, but sets no hint bits.  *deleter: the
 * transaction that deleted or superseded a dead tuple, if any.
 */
static FfTupleState
tuple_state(const HeapTupleHeaderData *tuple, FfXacts *xacts, TransactionId *deleter)
{
	uint16		mask = tuple->t_infomask;
	TransactionId xmax = tuple->t_choice.t_heap.t_xmax;
	FfXactState state;

	*deleter = InvalidTransactionId;

	if ((mask & HEAP_XMIN_COMMITTED) == 0)
	{
		if (mask & HEAP_XMIN_INVALID)
			return FF_TUPLE_DEAD;
		state = xact_state(xacts, tuple->t_choice.t_heap.t_xmin);
		if (state == FF_XACT_ABORTED)
			return FF_TUPLE_DEAD;
		if (state == FF_XACT_IN_PROGRESS)
			return FF_TUPLE_LIVE;
		if (state == FF_XACT_UNKNOWN)
			return FF_TUPLE_BAD;
	}

	if ((mask & HEAP_XMAX_INVALID) || HEAP_XMAX_IS_LOCKED_ONLY(mask))
		return FF_TUPLE_LIVE;

	if ((mask & HEAP_XMAX_IS_MULTI) && !ff_multixact_updater(xmax, &xmax))
		return FF_TUPLE_BAD;
	if (!TransactionIdIsValid(xmax))
		return FF_TUPLE_LIVE;

	state = mask & HEAP_XMAX_COMMITTED ? FF_XACT_COMMITTED : xact_state(xacts, xmax);
	if (state == FF_XACT_UNKNOWN)
		return FF_TUPLE_BAD;
	if (state != FF_XACT_COMMITTED)
		return FF_TUPLE_LIVE;
	*deleter = xmax;
	return FF_TUPLE_DEAD;
}

/*
 * Transactions from this one to the sample's begin.  Used to compare xids because
 * they wrap around; those of frozen rows may be more than half a round old.
 */
static uint32
xid_age(const FfXacts *xacts, TransactionId xid)
{
	uint32		age = xacts->next - xid;

	if (!TransactionIdIsNormal(xid))
		return PG_UINT32_MAX;
	return age > PG_UINT32_MAX - FF_NEW_XIDS ? 0 : age;
}

/* Rows never updated first, then by transaction, oldest first. */
static int
compare_versions(const FfVersion *a, const FfVersion *b)
{
	if (a->updated != b->updated)
		return a->updated ? 1 : -1;
	if (a->age != b->age)
		return a->age > b->age ? -1 : 1;
	return a->xid < b->xid ? -1 : a->xid > b->xid;
}

#define ST_SORT sort_versions
#define ST_ELEMENT_TYPE FfVersion
#define ST_COMPARE(a, b) compare_versions(a, b)
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/*
 * Groups updated versions by the transaction that wrote or superseded them.  The old
 * versions that an update superseded here tell how many rows of this page it
 * updated, even if it also wrote rows here that came from other pages.  If all versions are
 * live, from one update and mostly not heap-only, they came from other pages: the
 * update filled this one.  Distances are measured from the median insert of the
 * page, or from an original version not pruned yet.
 */
static void
group_versions(FfVersion *version, int n, uint32 original, FfHeapPage *result)
{
	int			inserted = 0;

	sort_versions(version, n);
	while (inserted < n && !version[inserted].updated)
		inserted++;
	if (inserted > 0)
		original = version[inserted / 2].age;

	result->ngroups = 0;
	for (int i = inserted; i < n;)
	{
		FfHeapGroup *group = &result->group[result->ngroups++];
		const FfVersion *first = &version[i];
		int			superseded = 0;
		int			heap_only = 0;

		group->age = first->age;
		group->live = 0;
		for (; i < n && version[i].xid == first->xid; i++)
		{
			group->live += version[i].live;
			superseded += !version[i].live;
			heap_only += version[i].live && version[i].heap_only;
		}
		group->rows = superseded > 0 ? Max(superseded, heap_only) : group->live;
		group->new_page = group->live == n && 2 * heap_only < n;
		group->distance = -1;
		if (original != PG_UINT32_MAX && first->age != PG_UINT32_MAX && original >= first->age)
			group->distance = original - first->age;
	}
}

/* State of a walk over the line pointers of one page. */
typedef struct FfWalk
{
	const PageHeaderData *header;
	BlockNumber block;
	FfXacts    *xacts;
	FfHeapPage *result;
	uint64		taken[FF_PLACE_WORDS];
	FfVersion	version[MaxHeapTuplesPerPage];
	int			nversions;
	uint32		original;		/* age of an insert, from an unpruned original version */
	int			unused;			/* line pointers */
} FfWalk;

static void
add_version(FfWalk *walk, TransactionId xid, bool updated, bool live, bool heap_only)
{
	walk->version[walk->nversions++] = (FfVersion) {
		xid, xid_age(walk->xacts, xid), updated, live, heap_only
	};
}

static void
count_live(FfWalk *walk, const HeapTupleHeaderData *tuple, unsigned length)
{
	FfHeapPage *result = walk->result;
	double	   *metric = result->metric;
	bool		updated = (tuple->t_infomask & HEAP_UPDATED) != 0;
	bool		heap_only = (tuple->t_infomask2 & HEAP_ONLY_TUPLE) != 0;

	metric[FF_HEAP_LIVE_ROWS]++;
	metric[FF_HEAP_LIVE_BYTES] += length;
	metric[updated ? FF_HEAP_UPDATED_ROWS : FF_HEAP_INSERTED_ROWS]++;
	metric[updated ? FF_HEAP_UPDATED_BYTES : FF_HEAP_INSERTED_BYTES] += length;
	if (updated && bits_are_known(tuple))
		metric[heap_only ? FF_HEAP_UPDATED_HOT : FF_HEAP_UPDATED_NONHOT]++;
	result->length[result->nrows] = MAXALIGN(length);
	result->updated[result->nrows++] = updated;
	/* a frozen tuple keeps its xmin; only its mask changes */
	add_version(walk, tuple->t_choice.t_heap.t_xmin, updated, true, heap_only);
}

static void
count_dead(FfWalk *walk, const HeapTupleHeaderData *tuple, unsigned length,
		   OffsetNumber offset, TransactionId deleter)
{
	double	   *metric = walk->result->metric;
	BlockNumber successor_block = ItemPointerGetBlockNumberNoCheck(&tuple->t_ctid);
	OffsetNumber successor = ItemPointerGetOffsetNumberNoCheck(&tuple->t_ctid);

	metric[FF_HEAP_DEAD_ROWS]++;
	metric[FF_HEAP_DEAD_BYTES] += length;
	if (deleter == InvalidTransactionId)
		return;					/* its inserter rolled back */
	/* could a snapshot still see it, other than ours? */
	if (TransactionIdIsNormal(deleter) && TransactionIdIsNormal(walk->xacts->horizon) &&
		(int32) (deleter - walk->xacts->horizon) >= 0 &&
		(int32) (deleter - walk->xacts->held_by_us) < 0)
		metric[FF_HEAP_RECENT_ROWS]++;

	/* where is the new version? none: deleted, or moved to another partition */
	if (bits_are_known(tuple) && successor > 0 && successor <= MaxHeapTuplesPerPage &&
		(successor_block != walk->block || successor != offset))
	{
		metric[tuple->t_infomask2 & HEAP_HOT_UPDATED ? FF_HEAP_SUPERSEDED_HOT :
			   successor_block == walk->block ? FF_HEAP_SUPERSEDED_SAME :
			   FF_HEAP_SUPERSEDED_NEWPAGE]++;
		add_version(walk, deleter, true, false, false);
	}
	if ((tuple->t_infomask & HEAP_UPDATED) == 0)
		walk->original = xid_age(walk->xacts, tuple->t_choice.t_heap.t_xmin);
}

/* Counts the target of one line pointer; false if it is corrupt. */
static bool
count_line_pointer(FfWalk *walk, OffsetNumber offset, OffsetNumber nlps)
{
	const PageHeaderData *header = walk->header;
	const ItemIdData *lp = &header->pd_linp[offset - 1];
	const HeapTupleHeaderData *tuple;
	TransactionId deleter;
	FfTupleState state;

	if (!ItemIdIsUsed(lp))
	{
		walk->unused++;
		return true;
	}
	if (ItemIdIsDead(lp))
		return true;
	if (ItemIdIsRedirected(lp))
	{
		OffsetNumber target = ItemIdGetRedirect(lp);

		return target >= FirstOffsetNumber && target <= nlps &&
			ItemIdIsNormal(&header->pd_linp[target - 1]);
	}

	if (!ff_claim_place(header, lp, MAXALIGN(SizeofHeapTupleHeader), walk->taken))
		return false;
	tuple = (const HeapTupleHeaderData *) ((const char *) header + lp->lp_off);
	if (!tuple_is_sound(tuple, lp->lp_len))
		return false;
	state = tuple_state(tuple, walk->xacts, &deleter);
	if (state == FF_TUPLE_LIVE)
		count_live(walk, tuple, lp->lp_len);
	else if (state == FF_TUPLE_DEAD)
		count_dead(walk, tuple, lp->lp_len, offset, deleter);
	return state != FF_TUPLE_BAD;
}

/*
 * Measures one heap page: BLCKSZ bytes, MAXALIGNed.  block: its number, to find out
 * whether a version's successor is in the same page.
 *
 * Always fills *result; unless FF_PAGE_OK the metrics are zero, except that a new
 * page is all free.
 */
FfPageState
ff_heap_page(const char *page, BlockNumber block, FfXacts *xacts, FfHeapPage *result)
{
	const PageHeaderData *header = (const PageHeaderData *) page;
	double	   *metric = result->metric;
	FfWalk		walk = {.header = header,.block = block,.xacts = xacts,.result = result,
		.original = PG_UINT32_MAX};
	OffsetNumber nlps;

	memset(metric, 0, sizeof(result->metric));
	result->nrows = 0;
	result->ngroups = 0;

	if (header->pd_upper == 0)
	{
		if (!ff_page_is_zero(page))
			return FF_PAGE_BAD;
		metric[FF_HEAP_FREE_BYTES] = FF_PAGE_ROOM;
		return FF_PAGE_NEW;
	}

	if (!ff_header_is_sound(header, BLCKSZ) ||
		(header->pd_lower - SizeOfPageHeaderData) % sizeof(ItemIdData) != 0 ||
		ff_line_pointers(header) > MaxHeapTuplesPerPage)
		return FF_PAGE_BAD;
	nlps = ff_line_pointers(header);

	for (OffsetNumber offset = FirstOffsetNumber; offset <= nlps; offset++)
		if (!count_line_pointer(&walk, offset, nlps))
		{
			memset(metric, 0, sizeof(result->metric));
			result->nrows = 0;
			return FF_PAGE_BAD;
		}

	/* no row fits without a free line pointer (PageGetHeapFreeSpace) */
	if (nlps < MaxHeapTuplesPerPage || walk.unused > 0)
		metric[FF_HEAP_FREE_BYTES] = header->pd_upper - header->pd_lower;
	metric[FF_HEAP_INHABITED] = metric[FF_HEAP_LIVE_ROWS] > 0;
	group_versions(walk.version, walk.nversions, walk.original, result);
	return FF_PAGE_OK;
}
