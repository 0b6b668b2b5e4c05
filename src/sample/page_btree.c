/*
 * page_btree.c
 *	  Reads one B-tree page: 8 kB in, counts out.
 *
 * The page is a private copy and may be corrupt: it is checked like a heap page, and
 * rejected whole if anything is inconsistent.
 *
 * Density and fragmentation are defined as in pgstatindex.
 */
#include "postgres.h"

#include "access/nbtree.h"

#include "sample/page.h"

#define FF_BTREE_SPECIAL MAXALIGN(sizeof(BTPageOpaqueData))
#define FF_BTREE_SPECIAL_OFFSET (BLCKSZ - FF_BTREE_SPECIAL)
#define FF_BTREE_PAGE_ROOM (FF_BTREE_SPECIAL_OFFSET - SizeOfPageHeaderData)

/* All flags that a page may have. */
#define FF_BTREE_FLAGS \
	(BTP_LEAF | BTP_ROOT | BTP_DELETED | BTP_META | BTP_HALF_DEAD | \
	 BTP_SPLIT_END | BTP_HAS_GARBAGE | BTP_INCOMPLETE_SPLIT | BTP_HAS_FULLXID)

/* Shares of a page. */
#define FF_NEAR_FILLFACTOR	0.03	/* a leaf this close to its fillfactor is at it */
#define FF_HALF_FULL		0.6		/* up to here it was split in the middle, hardly filled since */

/* Rows that an item points to, 0 if its posting list is unsound. */
static unsigned
item_tids(const IndexTupleData *item, unsigned length)
{
	OffsetNumber status = ItemPointerGetOffsetNumberNoCheck(&item->t_tid);
	unsigned	ntids;
	BlockNumber start;

	if ((item->t_info & INDEX_ALT_TID_MASK) == 0)
		return 1;
	/* the only pivot tuple of a leaf is its high key */
	if ((status & BT_IS_POSTING) == 0)
		return 0;
	ntids = status & BT_OFFSET_MASK;
	start = ItemPointerGetBlockNumberNoCheck(&item->t_tid);
	if (ntids < 2 || start < sizeof(IndexTupleData) || start > length ||
		ntids * sizeof(ItemPointerData) > length - start)
		return 0;
	return ntids;
}

/* Checks all items of a leaf or internal page, and counts those of a leaf. */
static bool
count_items(const char *page, const BTPageOpaqueData *opaque, double *metric)
{
	const PageHeaderData *header = (const PageHeaderData *) page;
	uint64		taken[FF_PLACE_WORDS] = {0};
	OffsetNumber nlps = ff_line_pointers(header);
	OffsetNumber first = opaque->btpo_next == P_NONE ? P_HIKEY : P_FIRSTKEY;

	for (OffsetNumber offset = FirstOffsetNumber; offset <= nlps; offset++)
	{
		const ItemIdData *lp = &header->pd_linp[offset - 1];
		const IndexTupleData *item;
		unsigned	tids;

		if ((!ItemIdIsNormal(lp) && !ItemIdIsDead(lp)) ||
			!ff_claim_place(header, lp, sizeof(IndexTupleData), taken))
			return false;
		item = (const IndexTupleData *) (page + lp->lp_off);
		if (IndexTupleSize(item) != lp->lp_len)
			return false;
		if ((opaque->btpo_flags & BTP_LEAF) == 0 || offset < first)
			continue;

		tids = item_tids(item, lp->lp_len);
		if (tids == 0)
			return false;
		metric[FF_BTREE_TIDS] += tids;
		if (tids > 1)
			metric[FF_BTREE_POSTING_TIDS] += tids;
	}
	return true;
}

static void
measure_leaf(const PageHeaderData *header, const BTPageOpaqueData *opaque,
			 BlockNumber block, int fillfactor, double *metric)
{
	double		used = FF_BTREE_PAGE_ROOM - (header->pd_upper - header->pd_lower);
	double		density = used / FF_BTREE_PAGE_ROOM;

	metric[FF_BTREE_LEAF] = 1;
	metric[FF_BTREE_ROOM] = FF_BTREE_PAGE_ROOM;
	metric[FF_BTREE_USED] = used;
	metric[FF_BTREE_FRAGMENT] = opaque->btpo_next != P_NONE && opaque->btpo_next < block;
	metric[FF_BTREE_AT_FILLFACTOR] = density >= fillfactor / 100.0 - FF_NEAR_FILLFACTOR &&
		density <= fillfactor / 100.0 + FF_NEAR_FILLFACTOR;
	metric[FF_BTREE_HALF_FULL] = density <= FF_HALF_FULL;
}

/*
 * Measures one B-tree page; page and block as for ff_heap_page(), fillfactor in
 * percent.  Always fills metric[], with zeros unless FF_PAGE_OK and for the metapage.
 */
FfPageState
ff_btree_page(const char *page, BlockNumber block, int fillfactor, double *metric)
{
	const PageHeaderData *header = (const PageHeaderData *) page;
	const BTPageOpaqueData *opaque = (const BTPageOpaqueData *) (page + FF_BTREE_SPECIAL_OFFSET);
	const BTMetaPageData *meta = (const BTMetaPageData *) (page + SizeOfPageHeaderData);
	bool		leaf;

	memset(metric, 0, sizeof(double) * FF_BTREE_METRICS);
	if (header->pd_upper == 0)
		return ff_page_is_zero(page) ? FF_PAGE_NEW : FF_PAGE_BAD;
	if (!ff_header_is_sound(header, FF_BTREE_SPECIAL_OFFSET) ||
		(opaque->btpo_flags & ~FF_BTREE_FLAGS) != 0 ||
		opaque->btpo_cycleid > MAX_BT_CYCLE_ID)
		return FF_PAGE_BAD;
	leaf = (opaque->btpo_flags & BTP_LEAF) != 0;

	if (opaque->btpo_flags & BTP_META)
		return block == BTREE_METAPAGE && meta->btm_magic == BTREE_MAGIC ? FF_PAGE_OK : FF_PAGE_BAD;
	if (opaque->btpo_flags & (BTP_DELETED | BTP_HALF_DEAD))
		metric[FF_BTREE_DELETED] = 1;
	else if (leaf != (opaque->btpo_level == 0) || !count_items(page, opaque, metric))
	{
		memset(metric, 0, sizeof(double) * FF_BTREE_METRICS);
		return FF_PAGE_BAD;
	}
	else if (leaf)
		measure_leaf(header, opaque, block, fillfactor, metric);
	else
		metric[FF_BTREE_INTERNAL] = 1;
	return FF_PAGE_OK;
}
