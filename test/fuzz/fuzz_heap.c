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

#include "sample/page_heap.h"

/* Any fate for any transaction, but always the same one. */
static FfXactState
any_state(void *arg, TransactionId xid)
{
	return (FfXactState) (xid * 2654435761u >> 16) % (FF_XACT_UNKNOWN + 1);
}

static bool
any_updater(void *arg, TransactionId multi, TransactionId *xid)
{
	*xid = multi % 3 == 0 ? InvalidTransactionId : multi;
	return multi % 16 != 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FfXacts		xacts = {any_state, any_updater, NULL, 1000};
	FfHeapPage	result;
	double	   *m = result.metric;
	char	   *page = page_of(data, size);
	int			reserve = size > 0 ? data[size - 1] % 91 * BLCKSZ / 100 : 0;
	FfPageState state = ff_heap_page(page, reserve % 4, reserve, &xacts, &result);
	double		rows = 0;

	for (int i = 0; i < FF_HEAP_METRICS; i++)
		HOLDS(m[i] >= 0);
	HOLDS(m[FF_HEAP_LIVE_BYTES] + m[FF_HEAP_DEAD_BYTES] + m[FF_HEAP_FREE_BYTES] <= BLCKSZ);
	HOLDS(m[FF_HEAP_RESERVE_BYTES] <= m[FF_HEAP_FREE_BYTES]);
	HOLDS(m[FF_HEAP_LIVE_ROWS] == m[FF_HEAP_INSERTED_ROWS] + m[FF_HEAP_UPDATED_ROWS]);
	HOLDS(m[FF_HEAP_UPDATED_ROWS] == m[FF_HEAP_UPDATED_HOT] + m[FF_HEAP_UPDATED_COLD]);
	HOLDS(m[FF_HEAP_LIVE_BYTES] == m[FF_HEAP_INSERTED_BYTES] + m[FF_HEAP_UPDATED_BYTES]);
	HOLDS(m[FF_HEAP_RECENT_ROWS] + m[FF_HEAP_ABORTED_ROWS] <= m[FF_HEAP_DEAD_ROWS]);
	HOLDS(m[FF_HEAP_SUPERSEDED_HOT] + m[FF_HEAP_SUPERSEDED_SAME] + m[FF_HEAP_SUPERSEDED_MOVED] <= m[FF_HEAP_DEAD_ROWS]);
	HOLDS(m[FF_HEAP_LIVE_ROWS] + m[FF_HEAP_DEAD_ROWS] + m[FF_HEAP_REDIRECT_LPS] +
		  m[FF_HEAP_DEAD_LPS] + m[FF_HEAP_UNUSED_LPS] <= MaxHeapTuplesPerPage);
	HOLDS(result.used_share >= 0 && result.used_share <= 1);
	HOLDS(state == FF_PAGE_OK || result.ngroups == 0);
	for (int i = 0; i < result.ngroups; i++)
	{
		HOLDS(result.group[i].rows > 0 && result.group[i].distance >= -1);
		rows += result.group[i].rows;
	}
	HOLDS(rows == m[FF_HEAP_LIVE_ROWS]);
	free(page);
	return 0;
}
