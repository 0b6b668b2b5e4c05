/*
 * bins.h
 *	  The bins of histograms, which samples fill and the model reads.
 *
 * Pure C: no server calls.
 */
#ifndef FF_BINS_H
#define FF_BINS_H

#include <math.h>

#define EV_LENGTHS		16		/* different row lengths; the caller merges neighbours */
#define EV_GROUP_BINS	10		/* rows: 1, 2, 3-4, 5-8, ..., 129-256, 257 or more */
#define EV_LOG2_BINS	32		/* bin i: [2^i, 2^(i+1)) transactions; 0 counts as 1 */

/* The bin for a number of rows; the next function, for a number of transactions. */
static inline int
ev_group_bin(int rows)
{
	int			bin = 0;

	while (bin < EV_GROUP_BINS - 1 && rows > (1 << bin))
		bin++;
	return bin;
}

static inline int
ev_log2_bin(double xids)
{
	return xids < 2 ? 0 : xids >= 4294967296.0 ? EV_LOG2_BINS - 1 : (int) log2(xids);
}

#endif							/* FF_BINS_H */
