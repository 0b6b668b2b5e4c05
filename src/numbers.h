/*
 * numbers.h
 *	  Numbers that may be unknown (NAN) or senseless.
 */
#ifndef FF_NUMBERS_H
#define FF_NUMBERS_H

#include <math.h>

static inline double
or_else(double v, double otherwise)
{
	return isnan(v) ? otherwise : v;
}

/* NAN becomes low, too. */
static inline double
bound(double v, double low, double high)
{
	if (!(v >= low))
		return low;
	return v > high ? high : v;
}

#endif							/* FF_NUMBERS_H */
