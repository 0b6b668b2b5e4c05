/*
 * page_btree.h
 *	  Reads one B-tree page: 8 kB in, counts out.
 *
 * As pure as page_heap.c: no server calls, no allocation, no state.
 */
#ifndef FF_PAGE_BTREE_H
#define FF_PAGE_BTREE_H

#include "sample/page_heap.h"

/* What is measured on each page.  Pages count 1 for what they are. */
typedef enum FfBtreeMetric
{
	FF_BTREE_LEAF,
	FF_BTREE_INTERNAL,
	FF_BTREE_DELETED,			/* or half dead */
	/* of leaves only */
	FF_BTREE_ROOM,				/* bytes between header and special space */
	FF_BTREE_USED,				/* of them */
	FF_BTREE_FRAGMENT,			/* 1 if its right sibling lies before it */
	FF_BTREE_TIDS,				/* rows that all items point to */
	FF_BTREE_POSTING_TIDS,		/* of them, from items that deduplication merged */
	FF_BTREE_AT_FILLFACTOR,		/* 1 if as full as splits at the end leave it */
	FF_BTREE_HALF_FULL,			/* 1 if as full as other splits leave it */
	FF_BTREE_METRICS
} FfBtreeMetric;

extern FfPageState ff_btree_page(const char *page, BlockNumber block,
								 int fillfactor, double *metric);

#endif							/* FF_PAGE_BTREE_H */
