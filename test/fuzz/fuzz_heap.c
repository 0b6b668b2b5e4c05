/*
 * fuzz_heap.c
 *	  libFuzzer target: page_heap.c on any 8 kB.
 *
 * Besides memory errors and undefined behaviour it looks for sums that cannot
 * be: more bytes than the page has, more kinds of rows than rows.
 */
#include "postgres.h"

#define FF_FUZZ_SPECIAL BLCKSZ

#include "common.h"

#include "sample/page.h"

/* Any fate for any transaction, but always the same one. */
FfXactState
ff_xact_state(FfXacts *xacts, TransactionId xid)
{
	return (FfXactState) (xid * 2654435761u >> 16) % (FF_XACT_UNKNOWN + 1);
}

bool
ff_multixact_updater(TransactionId multi, TransactionId *xid)
{
	*xid = multi % 3 == 0 ? InvalidTransactionId : multi;
	return multi % 16 != 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static FfXacts xacts = {.horizon = 1000,.held_by_us = 1500,.next = 2000};
	FfHeapPage	result;
	double	   *m = result.metric;
	char	   *page = page_of(data, size);
	FfPageState state = ff_heap_page(page, size % 4, &xacts, &result);
	double		live = 0;

	for (int i = 0; i < FF_HEAP_METRICS; i++)
		HOLDS(m[i] >= 0);
	HOLDS(m[FF_HEAP_LIVE_BYTES] + m[FF_HEAP_DEAD_BYTES] + m[FF_HEAP_FREE_BYTES] <= BLCKSZ);
	HOLDS(m[FF_HEAP_LIVE_ROWS] == m[FF_HEAP_INSERTED_ROWS] + m[FF_HEAP_UPDATED_ROWS]);
	/* fewer where bits are set that no version knows */
	HOLDS(m[FF_HEAP_UPDATED_ROWS] >= m[FF_HEAP_UPDATED_HOT] + m[FF_HEAP_UPDATED_NONHOT]);
	HOLDS(m[FF_HEAP_LIVE_BYTES] == m[FF_HEAP_INSERTED_BYTES] + m[FF_HEAP_UPDATED_BYTES]);
	HOLDS(m[FF_HEAP_RECENT_ROWS] <= m[FF_HEAP_DEAD_ROWS]);
	HOLDS(m[FF_HEAP_SUPERSEDED_HOT] + m[FF_HEAP_SUPERSEDED_SAME] + m[FF_HEAP_SUPERSEDED_NEWPAGE] <= m[FF_HEAP_DEAD_ROWS]);
	HOLDS(m[FF_HEAP_LIVE_ROWS] + m[FF_HEAP_DEAD_ROWS] <= MaxHeapTuplesPerPage);
	HOLDS(m[FF_HEAP_FREE_BYTES] >= 0 && m[FF_HEAP_FREE_BYTES] <= BLCKSZ);
	HOLDS(state == FF_PAGE_OK || (result.ngroups == 0 && result.nrows == 0));
	HOLDS(result.nrows == m[FF_HEAP_LIVE_ROWS]);
	for (int i = 0; i < result.ngroups; i++)
	{
		const FfHeapGroup *group = &result.group[i];

		HOLDS(group->rows > 0 && group->distance >= -1);
		HOLDS(!group->new_page || group->live == group->rows);
		live += group->live;
	}
	HOLDS(live == (state == FF_PAGE_OK ? m[FF_HEAP_UPDATED_ROWS] : 0));
	free(page);
	return 0;
}
