/*
 * page_check.h
 *	  Checks that hold for every page, whatever lies in it: pure, inline.
 */
#ifndef FF_PAGE_CHECK_H
#define FF_PAGE_CHECK_H

#include "storage/bufpage.h"

/* Tuples start at MAXALIGNed offsets, so a page has this many places. */
#define FF_PLACES (BLCKSZ / MAXIMUM_ALIGNOF)

static inline bool
ff_page_is_zero(const char *page)
{
	for (int i = 0; i < BLCKSZ; i++)
		if (page[i] != 0)
			return false;
	return true;
}

/* Page header, as PageIsVerified wants it, with the special space there. */
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

/* How many line pointers are there in a sound page? */
static inline OffsetNumber
ff_line_pointers(const PageHeaderData *header)
{
	return (header->pd_lower - SizeOfPageHeaderData) / sizeof(ItemIdData);
}

/*
 * Does this line pointer give an aligned place of at least so many bytes in
 * the tuple area, which no other has claimed?  Marks it as taken.
 */
static inline bool
ff_claim_place(const PageHeaderData *header, const ItemIdData *lp,
			   unsigned least, uint8 *taken)
{
	unsigned	first = lp->lp_off / MAXIMUM_ALIGNOF;
	unsigned	end;

	if (lp->lp_off != MAXALIGN(lp->lp_off) ||
		lp->lp_off < header->pd_upper ||
		lp->lp_len < least ||
		lp->lp_off + lp->lp_len > header->pd_special)
		return false;
	end = MAXALIGN(lp->lp_off + lp->lp_len) / MAXIMUM_ALIGNOF;
	for (unsigned i = first; i < end; i++)
	{
		if (taken[i])
			return false;
		taken[i] = 1;
	}
	return true;
}

#endif							/* FF_PAGE_CHECK_H */
