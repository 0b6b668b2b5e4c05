/*
 * fuzz_btree.c
 *	  libFuzzer target: page_btree.c on any 8 kB.
 */
#include "postgres.h"

#include "access/nbtree.h"

#define FF_FUZZ_SPECIAL (BLCKSZ - MAXALIGN(sizeof(BTPageOpaqueData)))

#include "common.h"

#include "sample/page_btree.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FfBtreePage result;
	double	   *m = result.metric;
	char	   *page = page_of(data, size);
	FfPageState state = ff_btree_page(page, size > 0 ? data[size - 1] % 3 : 0, 90, &result);

	for (int i = 0; i < FF_BTREE_METRICS; i++)
		HOLDS(m[i] >= 0);
	HOLDS(m[FF_BTREE_LEAF] + m[FF_BTREE_INTERNAL] + m[FF_BTREE_DELETED] + m[FF_BTREE_HALF_DEAD] + result.meta ==
		  (state == FF_PAGE_OK));
	HOLDS(m[FF_BTREE_FREE] + m[FF_BTREE_ITEM_BYTES] <= m[FF_BTREE_ROOM]);
	HOLDS(m[FF_BTREE_ROOM] < BLCKSZ);
	HOLDS(m[FF_BTREE_DEAD_ITEMS] <= m[FF_BTREE_ITEMS] && m[FF_BTREE_POSTING_LISTS] <= m[FF_BTREE_ITEMS]);
	HOLDS(m[FF_BTREE_ITEMS] <= m[FF_BTREE_TIDS] && m[FF_BTREE_POSTING_TIDS] <= m[FF_BTREE_TIDS]);
	/* a pointer to a row takes six bytes */
	HOLDS(m[FF_BTREE_TIDS] * sizeof(ItemPointerData) <= BLCKSZ);
	HOLDS(m[FF_BTREE_LEAF] == 1 ? result.density >= 0 && result.density <= 1 : result.density == -1);
	free(page);
	return 0;
}
