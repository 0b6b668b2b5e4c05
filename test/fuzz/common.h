/*
 * common.h
 *	  What both fuzz targets share: an aligned copy of the input, the sums that
 *	  must hold, and the one server function that assertions would call.
 */
#ifndef FF_FUZZ_COMMON_H
#define FF_FUZZ_COMMON_H

#include "postgres.h"

#include "storage/bufpage.h"

/* the server has its own, which is not linked here */
#undef fprintf

int			LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t		LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t		LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max,
									unsigned seed);

/* A violated invariant ends the run like a memory error. */
#define HOLDS(condition) \
	do { \
		if (!(condition)) \
		{ \
			fprintf(stderr, "violated: %s (%s:%d)\n", #condition, __FILE__, __LINE__); \
			abort(); \
		} \
	} while (0)

/* What a server with assertions calls; its arguments differ between versions. */
void		assertion_failed(void) __asm__("ExceptionalCondition");

void
assertion_failed(void)
{
	fprintf(stderr, "assertion failed\n");
	abort();
}

/* A buffer of exactly one page on the heap, so that the sanitizer guards its ends. */
static char *
page_of(const uint8_t *data, size_t size)
{
	char	   *page = aligned_alloc(MAXIMUM_ALIGNOF, BLCKSZ);

	memset(page, 0, BLCKSZ);
	memcpy(page, data, size < BLCKSZ ? size : BLCKSZ);
	return page;
}

/*
 * Most mutations fall on tuple data, which the parsers do not read.  Every
 * second one goes to the page header and the first line pointers instead, and
 * some repair the header, so that what lies behind it is reached.
 */
size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	PageHeaderData *header = (PageHeaderData *) data;

	if (max < BLCKSZ)
		return LLVMFuzzerMutate(data, size, max);
	if (size < BLCKSZ)
		memset(data + size, 0, BLCKSZ - size);
	if (seed % 2 == 0)
		LLVMFuzzerMutate(data, BLCKSZ, BLCKSZ);
	else
		LLVMFuzzerMutate(data + (seed / 2 % 8) * 16, 64, 64);
	if (seed % 5 != 0)
	{
		header->pd_flags &= PD_VALID_FLAG_BITS;
		header->pd_special = FF_FUZZ_SPECIAL;
		header->pd_pagesize_version = BLCKSZ | PG_PAGE_LAYOUT_VERSION;
		header->pd_lower = SizeOfPageHeaderData + header->pd_lower % 2000 / 4 * 4;
		header->pd_upper %= FF_FUZZ_SPECIAL + 1;
		if (header->pd_upper < header->pd_lower)
			header->pd_upper = header->pd_lower;
	}
	return BLCKSZ;
}

#endif							/* FF_FUZZ_COMMON_H */
