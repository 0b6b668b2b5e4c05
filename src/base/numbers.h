/*
 * numbers.h
 *	  Numbers that may be unknown (NAN) or unusable.
 */
#ifndef FF_NUMBERS_H
#define FF_NUMBERS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* Where the numbers of a name are in a struct of doubles: one (n is 0), or up to n, "step" bytes apart. */
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

#endif							/* FF_NUMBERS_H */
