/*
 * heap_page_test.c
 *	  Facts about single constructed heap pages, as TAP: which are valid, which rows are
 *	  alive, and which transaction wrote them.  Without a server.
 */
#include "postgres.h"

#include "sample/page.h"

/* the server's replacements are not linked here */
#undef printf

#define BLOCK	7
#define LENGTH	33				/* bytes of a row */

static int	tests = 0;
static int	failed = 0;
static union
{
	PageHeaderData header;
	char		byte[BLCKSZ];
	uint64		aligned[BLCKSZ / 8];
}			page;
static FfHeapPage result;

/* the parser calls it if assertions are enabled */
void		assertion_failed(void) __asm__("ExceptionalCondition");

void
assertion_failed(void)
{
	abort();
}

static void
ok(int pass, const char *what)
{
	printf("%sok %d - %s\n", pass ? "" : "not ", ++tests, what);
	failed += !pass;
}

/* From 100 committed, from 200 aborted, from 300 in progress, from 400 unknown. */
FfXactState
ff_xact_state(FfXacts *xacts, TransactionId xid)
{
	return xid < 200 ? FF_XACT_COMMITTED : xid < 300 ? FF_XACT_ABORTED : xid < 400 ? FF_XACT_IN_PROGRESS :
		FF_XACT_UNKNOWN;
}

/* The updater of a multixact is its number minus one; 0 has none, 5 is no multixact. */
bool
ff_multixact_updater(TransactionId multi, TransactionId *xid)
{
	*xid = multi == 0 ? InvalidTransactionId : multi - 1;
	return multi != 5;
}

static FfXacts xacts = {.horizon = 150, .held_by_us = 170, .next = 1000};

static void
begin(void)
{
	memset(&page, 0, sizeof(page));
	page.header.pd_lower = SizeOfPageHeaderData;
	page.header.pd_upper = page.header.pd_special = BLCKSZ;
	page.header.pd_pagesize_version = BLCKSZ | PG_PAGE_LAYOUT_VERSION;
}

/* Add a row; its successor is at "next" of a block, or itself if next is 0. */
static HeapTupleHeader
add(TransactionId xmin, TransactionId xmax, int mask, int mask2, BlockNumber block, OffsetNumber next)
{
	OffsetNumber offset = (page.header.pd_lower - SizeOfPageHeaderData) / sizeof(ItemIdData) + 1;
	HeapTupleHeader tuple;

	page.header.pd_lower += sizeof(ItemIdData);
	page.header.pd_upper -= MAXALIGN(LENGTH);
	ItemIdSetNormal(&page.header.pd_linp[offset - 1], page.header.pd_upper, LENGTH);
	tuple = (HeapTupleHeader) &page.byte[page.header.pd_upper];
	tuple->t_choice.t_heap.t_xmin = xmin;
	tuple->t_choice.t_heap.t_xmax = xmax;
	tuple->t_infomask = mask | (xmax == 0 ? HEAP_XMAX_INVALID : 0);
	tuple->t_infomask2 = mask2 | 1;
	tuple->t_hoff = MAXALIGN(SizeofHeapTupleHeader);
	ItemPointerSet(&tuple->t_ctid, next ? block : BLOCK, next ? next : offset);
	return tuple;
}

static FfPageState
parse(void)
{
	memset(&result, 77, sizeof(result));
	return ff_heap_page(page.byte, BLOCK, &xacts, &result);
}

static double
metric(FfHeapMetric m)
{
	return result.metric[m];
}

/* A page of one row: 10 if it is alive, 1 if dead, -1 if the page is bad. */
static int
alive(TransactionId xmin, TransactionId xmax, int mask)
{
	begin();
	add(xmin, xmax, mask, 0, 0, 0);
	return parse() == FF_PAGE_OK ? (int) (metric(FF_HEAP_LIVE_ROWS) * 10 + metric(FF_HEAP_DEAD_ROWS)) : -1;
}

static void
test_sound(void)
{
	HeapTupleHeader tuple;
	int			right = 1;

	memset(&page, 0, sizeof(page));
	right = parse() == FF_PAGE_NEW && metric(FF_HEAP_FREE_BYTES) == BLCKSZ - SizeOfPageHeaderData;
	page.byte[5000] = 1;
	ok(right && parse() == FF_PAGE_BAD, "a new page is all zero");
	begin();
	ok(parse() == FF_PAGE_OK && metric(FF_HEAP_INHABITED) == 0 && result.nrows == 0 &&
	   result.ngroups == 0, "an empty page is valid and has no rows");
	add(100, 0, 0, 0, 0, 0);
	ok(parse() == FF_PAGE_OK && metric(FF_HEAP_INHABITED) == 1 && metric(FF_HEAP_LIVE_BYTES) == LENGTH &&
	   metric(FF_HEAP_FREE_BYTES) == BLCKSZ - SizeOfPageHeaderData - 4 - 40 && result.length[0] == 40,
	   "a page with one row: its bytes and the free bytes");
	page.header.pd_lower += 2;
	right = parse() == FF_PAGE_BAD;
	page.header.pd_lower -= 2;
	page.header.pd_special -= 8;
	right &= parse() == FF_PAGE_BAD && metric(FF_HEAP_LIVE_ROWS) == 0 && result.nrows == 0;
	ok(right, "a page header that does not fit is bad");

	/* the header of a row ends at t_hoff, and has a bit for each column if one is null */
	begin();
	tuple = add(100, 0, HEAP_HASNULL, 0, 0, 0);
	HeapTupleHeaderSetNatts(tuple, 8);
	right = parse() == FF_PAGE_OK;
	HeapTupleHeaderSetNatts(tuple, 9);
	right &= parse() == FF_PAGE_BAD;
	tuple->t_hoff = 32;
	right &= parse() == FF_PAGE_OK;
	tuple->t_hoff = 33;
	right &= parse() == FF_PAGE_BAD;
	tuple->t_hoff = 40;
	right &= parse() == FF_PAGE_BAD;
	tuple->t_hoff = 16;
	tuple->t_infomask = HEAP_XMAX_INVALID;
	ok(right && parse() == FF_PAGE_BAD, "a row header that does not fit is bad");

	begin();
	add(100, 0, 0, 0, 0, 0);
	add(100, 0, 0, 0, 0, 0);
	page.header.pd_linp[1] = page.header.pd_linp[0];
	right = parse() == FF_PAGE_BAD;
	ItemIdSetRedirect(&page.header.pd_linp[1], 1);
	right &= parse() == FF_PAGE_OK && metric(FF_HEAP_LIVE_ROWS) == 1;
	ItemIdSetRedirect(&page.header.pd_linp[1], 2);
	right &= parse() == FF_PAGE_BAD;
	ItemIdSetRedirect(&page.header.pd_linp[1], 3);
	right &= parse() == FF_PAGE_BAD;
	ItemIdSetRedirect(&page.header.pd_linp[1], 0);
	right &= parse() == FF_PAGE_BAD;
	ItemIdSetDead(&page.header.pd_linp[1]);
	right &= parse() == FF_PAGE_OK && metric(FF_HEAP_DEAD_ROWS) == 0;
	ok(right, "bad line pointers: two to one row, or a redirect to no row");

	begin();
	page.header.pd_lower += 4 * MaxHeapTuplesPerPage;
	right = parse() == FF_PAGE_OK && metric(FF_HEAP_FREE_BYTES) > 0;
	for (int i = 0; i < MaxHeapTuplesPerPage; i++)
		ItemIdSetDead(&page.header.pd_linp[i]);
	right &= parse() == FF_PAGE_OK && metric(FF_HEAP_FREE_BYTES) == 0;
	page.header.pd_lower += 4;
	ok(right && parse() == FF_PAGE_BAD, "no free bytes without a free line pointer; too many line pointers are bad");
}

static void
test_alive(void)
{
	const int	lock = HEAP_XMAX_LOCK_ONLY | HEAP_XMAX_EXCL_LOCK;

	ok(alive(100, 0, 0) == 10 && alive(200, 0, 0) == 1 && alive(300, 0, 0) == 10 && alive(400, 0, 0) == -1,
	   "inserted by a transaction committed, aborted, in progress, unknown");
	ok(alive(200, 0, HEAP_XMIN_COMMITTED) == 10 && alive(100, 0, HEAP_XMIN_INVALID) == 1 &&
	   alive(400, 0, HEAP_XMIN_FROZEN) == 10 && alive(0, 0, 0) == 1 && alive(2, 0, 0) == 10,
	   "hint bits of xmin count");
	ok(alive(100, 101, 0) == 1 && alive(100, 201, 0) == 10 && alive(100, 301, 0) == 10 && alive(100, 401, 0) == -1,
	   "deleted by a transaction committed, aborted, in progress, unknown");
	ok(alive(100, 401, HEAP_XMAX_COMMITTED) == 1 && alive(100, 101, HEAP_XMAX_INVALID) == 10 &&
	   alive(100, 101, lock) == 10, "hint bits of xmax and row locks count");
	ok(alive(100, 102, HEAP_XMAX_IS_MULTI) == 1 && alive(100, 202, HEAP_XMAX_IS_MULTI) == 10 &&
	   alive(100, 5, HEAP_XMAX_IS_MULTI) == -1 && alive(100, 1, HEAP_XMAX_IS_MULTI) == 10 &&
	   alive(100, 102, HEAP_XMAX_IS_MULTI | HEAP_XMAX_COMMITTED) == -1,
	   "a multixact deletes a row only if its updater committed");
}

static void
test_dead(void)
{
	begin();
	add(100, 149, 0, HEAP_HOT_UPDATED, BLOCK, 2);
	add(100, 150, 0, 0, BLOCK, 3);
	add(100, 160, 0, 0, BLOCK + 1, 4);
	add(100, 160, 0, 0, 0, 0);
	add(200, 0, 0, 0, 0, 0);
	add(100, 160, 0, 0x0800, BLOCK + 1, 4);
	add(100, 170, 0, 0, 0, 0);
	ok(parse() == FF_PAGE_OK && metric(FF_HEAP_SUPERSEDED_HOT) == 1 && metric(FF_HEAP_SUPERSEDED_SAME) == 1 &&
	   metric(FF_HEAP_SUPERSEDED_NEWPAGE) == 1,
	   "old versions: HOT, same page, new page; none if deleted, aborted or unknown");
	ok(metric(FF_HEAP_DEAD_ROWS) == 7 && metric(FF_HEAP_DEAD_BYTES) == 7 * LENGTH && metric(FF_HEAP_RECENT_ROWS) == 4 &&
	   metric(FF_HEAP_LIVE_ROWS) == 0,
	   "rows deleted at the horizon or later are recently dead, but not those that only our snapshot sees");
	begin();
	add(100, 0, HEAP_UPDATED, HEAP_ONLY_TUPLE, 0, 0);
	add(100, 0, HEAP_UPDATED, 0, 0, 0);
	add(100, 0, HEAP_UPDATED, 0x1000 | HEAP_ONLY_TUPLE, 0, 0);
	add(100, 0, 0, 0, 0, 0);
	ok(parse() == FF_PAGE_OK && metric(FF_HEAP_UPDATED_HOT) == 1 && metric(FF_HEAP_UPDATED_NONHOT) == 1 &&
	   metric(FF_HEAP_UPDATED_ROWS) == 3 && metric(FF_HEAP_INSERTED_ROWS) == 1 &&
	   metric(FF_HEAP_UPDATED_BYTES) == 3 * LENGTH && metric(FF_HEAP_INSERTED_BYTES) == LENGTH && result.nrows == 4 &&
	   result.updated[0] && !result.updated[3],
	   "live rows: inserted, updated HOT, updated non-HOT, updated in an unknown way");
}

static void
test_groups(void)
{
	begin();
	for (int i = 0; i < 5; i++)
		add(120 + i, 0, 0, 0, 0, 0);
	for (int i = 0; i < 3; i++)
		add(140, 0, HEAP_UPDATED, HEAP_ONLY_TUPLE, 0, 0);
	add(130, 0, HEAP_UPDATED, HEAP_ONLY_TUPLE, 0, 0);
	/* 140 updated four rows of the page: one of them went elsewhere */
	for (int i = 0; i < 4; i++)
		add(110, 140, 0, HEAP_HOT_UPDATED, BLOCK, 6);
	ok(parse() == FF_PAGE_OK && result.ngroups == 2 && result.group[0].rows == 1 && result.group[0].age == 1000 - 130 &&
	   result.group[0].distance == 130 - 122, "groups: the oldest first, with distance from the median insert");
	ok(result.group[1].rows == 4 && result.group[1].live == 3 && result.group[1].age == 1000 - 140 &&
	   result.group[1].distance == 140 - 122 && !result.group[1].new_page && !result.group[0].new_page,
	   "groups: rows of the page that a transaction updated, wherever they are now");
	begin();
	for (int i = 0; i < 6; i++)
		add(140, 0, HEAP_UPDATED, i < 2 ? HEAP_ONLY_TUPLE : 0, 0, 0);
	ok(parse() == FF_PAGE_OK && result.ngroups == 1 && result.group[0].new_page && result.group[0].rows == 6 &&
	   result.group[0].distance == -1, "a group on a new page: all rows from one update, most not heap-only");
	add(140, 0, HEAP_UPDATED, HEAP_ONLY_TUPLE, 0, 0);
	add(140, 0, HEAP_UPDATED, HEAP_ONLY_TUPLE, 0, 0);
	ok(parse() == FF_PAGE_OK && !result.group[0].new_page, "a group on an old page: half of its rows heap-only");
	begin();
	add(140, 0, HEAP_UPDATED, 0, 0, 0);
	add(110, 140, 0, 0, BLOCK, 1);
	ok(parse() == FF_PAGE_OK && !result.group[0].new_page && result.group[0].distance == 30 &&
		  result.group[0].rows == 1, "a group on an old page: an old version of its row is on the same page");
	begin();
	add(1001, 0, HEAP_UPDATED, 0, 0, 0);
	add(2, 0, HEAP_UPDATED | HEAP_XMIN_FROZEN, 0, 0, 0);
	((HeapTupleHeader) &page.byte[page.header.pd_upper + 40])->t_infomask |= HEAP_XMIN_COMMITTED;
	ok(parse() == FF_PAGE_OK && result.ngroups == 2 && result.group[0].age == PG_UINT32_MAX &&
		  result.group[1].age == 0 && result.group[1].distance == -1,
		  "frozen rows are older than all others, rows after the next transaction have age 0");
}

int
main(void)
{
	test_sound();
	test_alive();
	test_dead();
	test_groups();
	printf("1..%d\n", tests);
	return failed != 0;
}
