/*
 * fuzz_btree.c
 *	  libFuzzer target: page_btree.c on any 8 kB.
 */
#include "postgres.h"

#include "access/nbtree.h"

#define FF_FUZZ_SPECIAL (BLCKSZ - MAXALIGN(sizeof(BTPageOpaqueData)))

#include "common.h"

#include "sample/page.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	double		m[FF_BTREE_METRICS];
	char	   *page = page_of(data, size);
	int			block = size > 0 ? data[size - 1] % 3 : 0;
	FfPageState state = ff_btree_page(page, block, 90, m);
	double		pages = m[FF_BTREE_LEAF] + m[FF_BTREE_INTERNAL] + m[FF_BTREE_DELETED];

	for (int i = 0; i < FF_BTREE_METRICS; i++)
		HOLDS(m[i] >= 0);
	/* the metapage is none of them */
	HOLDS(pages == (state == FF_PAGE_OK) || (pages == 0 && block == BTREE_METAPAGE));
	HOLDS(m[FF_BTREE_USED] <= m[FF_BTREE_ROOM] && m[FF_BTREE_ROOM] < BLCKSZ);
	HOLDS(m[FF_BTREE_POSTING_TIDS] <= m[FF_BTREE_TIDS]);
	/* a pointer to a row takes six bytes */
	HOLDS(m[FF_BTREE_TIDS] * sizeof(ItemPointerData) <= BLCKSZ);
	HOLDS(m[FF_BTREE_LEAF] == 1 || m[FF_BTREE_ROOM] + m[FF_BTREE_TIDS] == 0);
	free(page);
	return 0;
}
