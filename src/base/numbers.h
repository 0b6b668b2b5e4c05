/*
 * numbers.h
 *	  Numbers that may be unknown (NAN) or unusable, and the bins of histograms, which samples
 *	  fill and the model reads.  Pure C: no server calls.
 */
#ifndef FF_NUMBERS_H
#define FF_NUMBERS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* Where the numbers of a name are in a struct of doubles: one (n is 0), or up to n, each "step"
 * bytes after the other. */
typedef struct NumberField
{
	const char *name;
	size_t		offset;
	size_t		step;
	int			n;
} NumberField;

static inline double
or_else(double v, double otherwise)
{
	return isnan(v) ? otherwise : v;
}

/* NAN becomes low, too. */
static inline double
bound(double v, double low, double high)
{
	return !(v >= low) ? low : v > high ? high : v;
}

/* Makes all numbers of a struct of doubles unknown. */
static inline void
make_unknown(void *numbers, size_t size)
{
	for (double *v = numbers; (char *) v < (char *) numbers + size; v++)
		*v = NAN;
}

/* Adds to all numbers of a struct of doubles those of another one, times a factor. */
static inline void
add_numbers(void *sum, const void *more, size_t size, double times)
{
	for (size_t i = 0; i < size / sizeof(double); i++)
		((double *) sum)[i] += times * ((const double *) more)[i];
}

/* Uniform in [0, 1), xorshift64*; the state is not 0. */
static inline double
random_unit(uint64_t *state)
{
	uint64_t	x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return (double) ((x * UINT64_C(2685821657736338717)) >> 11) * (1.0 / 9007199254740992.0);
}

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
	int			bin;

	/* exact everywhere, which log2() need not be */
	frexp(fmin(xids, 4294967296.0), &bin);
	return xids < 2 ? 0 : bin - 1 < EV_LOG2_BINS - 1 ? bin - 1 : EV_LOG2_BINS - 1;
}

#endif							/* FF_NUMBERS_H */
