/*
 * strata.c
 *	  Which pages of a relation to read, and what they say about all of them.
 *
 * Tables age in ranges of blocks: new rows come at the end, old batches lie
 * together.  So the blocks are divided into ranges of equal size, and the last
 * of them again and again into halves, down to a few pages: however small the
 * hot tail is against the table, it is seen.  Each range is a stratum of which
 * some pages are chosen at random without replacement; every page counts for
 * as many as its stratum has blocks per page chosen.
 *
 * A first sample tells how much pages differ in each stratum; the second adds
 * pages where they differ most (Neyman's allocation).
 *
 * Intervals: variance of a stratified sample with finite population
 * correction, Student's quantile with Satterthwaite's degrees of freedom
 * (Cochran, Sampling Techniques, 5.4); ratios are linearised (6.11).  Such
 * intervals miss the truth too often where few pages make the difference.
 * Two remedies: the variance grows with the skewness, as if two more of the
 * rare pages had been found (for shares this is the interval of Agresti and
 * Coull); and a stratum whose neighbour is different is not taken for more
 * uniform than if one of its pages had been like the neighbour's.  And no
 * interval of bytes or rows is narrower than what pages so rare that the sample
 * may have missed them all can change.
 */
#include "postgres.h"

#include <math.h>

#include "common/hashfn.h"
#include "port/pg_bitutils.h"

#include "module.h"
#include "sample/strata.h"

PG_FUNCTION_INFO_V1(ff_t_quantile);

/* Relations up to this many pages are read whole. */
#define FF_CENSUS_PAGES 640

/* Ranges of equal size, and the pages first chosen of each but the last. */
#define FF_ZONES 16
#define FF_PAGES_PER_ZONE 32

/* Times the last range is halved, and the pages first chosen of each half. */
#define FF_TAIL_HALVINGS 12
#define FF_PAGES_PER_HALF 8

/* The last of them, if no larger than this, is read whole. */
#define FF_PAGES_AT_END 16

/* So there are no more ranges than this. */
#define FF_MAX_STRATA (FF_ZONES + FF_TAIL_HALVINGS)

/* No variance without two pages. */
#define FF_LEAST_PAGES 2

/* Rare pages that the interval allows for beyond those found: z^2 / 2. */
#define FF_UNSEEN_PAGES 2

/*
 * A kind of pages of which this many are to be expected in the sample is missed
 * by one sample in twenty: the "rule of three", -ln(0.05).
 */
#define FF_MISSED_PAGES 3.0

/*
 * No stratum is planned as if the variance of its pages were below this share
 * of what it is on average: the first sample may have missed it.
 */
#define FF_LEAST_SPREAD 0.05

/*
 * Strata whose variance is within this factor of the average are planned with
 * the average: to follow the noise of a first sample would favour those
 * that it showed too uniform, and make intervals too narrow.
 */
#define FF_ALIKE 3.0

/*
 * Rare pages are taken to lie anywhere, and not only in the strata where some
 * were met, once the allowance for them is the variance divided by this.
 */
#define FF_RARITY 5

/* Sums of squares below this share of what they are made of are rounding. */
#define FF_ROUNDING 1e-12

/* Second samples are so much larger: the first one's spread is an estimate. */
#define FF_PLAN_MARGIN 1.15

/* 97.5 % quantile of the normal distribution. */
#define FF_Z 1.959963985

/* Rounds of the Feistel network: four do for a large range, small ones want more (chosen). */
#define FF_ROUNDS 6

/* ---------- choice of pages ---------- */

static void
add_stratum(FfStrata *strata, BlockNumber first, BlockNumber end)
{
	FfStratum  *stratum = &strata->stratum[strata->nstrata++];

	stratum->first = first;
	stratum->size = end - first;
}

/* Divides the blocks; the seed fixes all choices that follow. */
void
ff_strata_begin(FfStrata *strata, BlockNumber blocks, int nmetrics, uint32 seed)
{
	BlockNumber first = 0;

	Assert(nmetrics <= FF_MAX_METRICS);
	strata->blocks = blocks;
	strata->nmetrics = nmetrics;
	strata->seed = seed;
	strata->nstrata = 0;
	strata->stratum = palloc0(sizeof(FfStratum) * FF_MAX_STRATA);

	for (int i = 1; i < FF_ZONES && blocks > FF_CENSUS_PAGES; i++)
	{
		BlockNumber end = (BlockNumber) ((uint64) blocks * i / FF_ZONES);

		add_stratum(strata, first, end);
		first = end;
	}
	for (int i = 1; i < FF_TAIL_HALVINGS && blocks > FF_CENSUS_PAGES &&
		 blocks - first > FF_PAGES_AT_END; i++)
	{
		BlockNumber end = first + (blocks - first) / 2;

		add_stratum(strata, first, end);
		first = end;
	}
	add_stratum(strata, first, blocks);
}

/*
 * The k-th block of a stratum in a random order: a Feistel network permutes the
 * least power of four that holds them, again while the outcome lies beyond them.
 * So no block comes twice, however often the sample is extended.
 */
static BlockNumber
kth_block(const FfStrata *strata, const FfStratum *stratum, uint32 k)
{
	int			half = pg_leftmost_one_pos32(stratum->size) / 2 + 1;
	uint32		mask = (1U << half) - 1;

	do
	{
		uint32		left = k >> half;
		uint32		right = k & mask;

		for (int round = 0; round < FF_ROUNDS; round++)
		{
			uint32		key = murmurhash32(strata->seed + stratum->first + round);
			uint32		mixed = left ^ (murmurhash32(right ^ key) & mask);

			left = right;
			right = mixed;
		}
		k = left << half | right;
	} while (k >= stratum->size);
	return stratum->first + k;
}

static int
compare_blocks(const void *a, const void *b)
{
	BlockNumber x = *(const BlockNumber *) a;
	BlockNumber y = *(const BlockNumber *) b;

	return x < y ? -1 : x > y;
}

/*
 * Chooses pages until every stratum has wanted[] of them.  Where these are more than
 * max_pages, what is wanted beyond those read and the two that every stratum gets
 * shrinks; max_pages must allow for these.  Returns how many are new, and them in
 * ascending order.
 */
static int
choose(FfStrata *strata, double *wanted, int max_pages, BlockNumber **block)
{
	int			nblocks = 0;
	double		least[FF_MAX_STRATA];
	double		room = max_pages;
	double		more = 0;

	*block = palloc(sizeof(BlockNumber) * (Min((Size) max_pages, strata->blocks) + 1));
	for (int i = 0; i < strata->nstrata; i++)
	{
		wanted[i] = Min(wanted[i], strata->stratum[i].size);
		least[i] = Max(strata->stratum[i].nread, Min(wanted[i], FF_LEAST_PAGES));
		more += wanted[i] - least[i];
		room -= least[i];
	}
	Assert(room >= 0);
	for (int i = 0; i < strata->nstrata; i++)
	{
		const FfStratum *s = &strata->stratum[i];
		bool		whole;

		if (more > room)
			wanted[i] = least[i] + floor((wanted[i] - least[i]) * room / more);
		whole = s->nread == 0 && wanted[i] >= s->size;
		for (int k = s->nread; k < (int) wanted[i]; k++)
			(*block)[nblocks++] = whole ? s->first + k : kth_block(strata, s, k);
	}
	qsort(*block, nblocks, sizeof(BlockNumber), compare_blocks);
	return nblocks;
}

/* The first sample: some hundred pages, max_pages at most; see choose(). */
int
ff_strata_first(FfStrata *strata, int max_pages, BlockNumber **block)
{
	double		wanted[FF_MAX_STRATA];
	int			last = strata->nstrata - 1;

	for (int i = 0; i <= last; i++)
	{
		wanted[i] = i < FF_ZONES - 1 ? FF_PAGES_PER_ZONE : FF_PAGES_PER_HALF;
		if (last == 0 || (i == last && strata->stratum[i].size <= FF_PAGES_AT_END))
			wanted[i] = strata->stratum[i].size;
	}
	return choose(strata, wanted, max_pages, block);
}

/* Counts one page read.  Returns its stratum. */
int
ff_strata_add(FfStrata *strata, BlockNumber block, const double *metric)
{
	FfStratum  *s = &strata->stratum[strata->nstrata - 1];

	while (s->first > block)
		s--;
	s->nread++;
	for (int i = 0; i < strata->nmetrics; i++)
	{
		if (metric[i] == 0)
			continue;
		s->sum[i] += metric[i];
		s->cubes[i] += metric[i] * metric[i] * metric[i];
		for (int j = 0; j <= i; j++)
			s->cross[i][j] += metric[i] * metric[j];
	}
	return s - strata->stratum;
}

/* Blocks that each page read of this stratum stands for. */
double
ff_strata_weight(const FfStrata *strata, int stratum)
{
	const FfStratum *s = &strata->stratum[stratum];

	return s->nread > 0 ? (double) s->size / s->nread : 0;
}

/* ---------- estimates ---------- */

/*
 * 97.5 % quantile of Student's distribution: Fisher's expansion, and the exact
 * values where it fails.
 */
static double
student(double df)
{
	const double z = FF_Z;
	const double z3 = z * z * z;
	const double z5 = z3 * z * z;

	if (df < 2)
		return 12.706 + (4.303 - 12.706) * (Max(df, 1) - 1);
	if (df < 3)
		return 4.303 + (3.182 - 4.303) * (df - 2);
	return z + (z3 + z) / (4 * df) +
		(5 * z5 + 16 * z3 + 3 * z) / (96 * df * df) +
		(3 * z5 * z * z + 19 * z5 + 17 * z3 - 15 * z) / (384 * df * df * df);
}

/*
 * ff_t_quantile(freedom double precision)
 *
 * The same for the intervals of ff_verify().
 */
Datum
ff_t_quantile(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(student(PG_GETARG_FLOAT8(0)));
}

/* What the pages read say of the estimated total of y - ratio * x. */
typedef struct FfSpread
{
	double		squares[FF_MAX_STRATA]; /* likely sum of squared deviations */
	double		variance;		/* of the total, without allowance for rare pages */
	double		unseen;			/* the allowance; for x < 0 only, which stands for none */
	double		df;				/* degrees of freedom of the variance */
} FfSpread;

/* Squared deviations found in each stratum, their cubes, and the means. */
static void
moments(const FfStrata *strata, int y, int x, double ratio,
		double *squares, double *cubes, double *mean)
{
	for (int i = 0; i < strata->nstrata; i++)
	{
		const FfStratum *s = &strata->stratum[i];
		double		sum = s->sum[y];
		double		raw = s->cross[y][y];

		squares[i] = cubes[i] = mean[i] = 0;
		if (s->nread == 0)
			continue;
		if (x >= 0)
		{
			sum -= ratio * s->sum[x];
			raw += ratio * (ratio * s->cross[x][x] - 2 * s->cross[Max(x, y)][Min(x, y)]);
		}
		mean[i] = sum / s->nread;
		if (raw - sum * mean[i] <= FF_ROUNDING * s->cross[y][y])
			continue;
		squares[i] = raw - sum * mean[i];
		if (x < 0)
			cubes[i] = s->cubes[y] - mean[i] * (3 * raw - 2 * sum * mean[i]);
	}
}

static FfSpread
spread_of(const FfStrata *strata, int y, int x, double ratio)
{
	FfSpread	spread = {0};
	double		found[FF_MAX_STRATA];
	double		cubed[FF_MAX_STRATA];
	double		mean[FF_MAX_STRATA];
	double		df_divisor = 0;
	double		squares = 0;
	double		cubes = 0;

	moments(strata, y, x, ratio, found, cubed, mean);
	for (int i = 0; i < strata->nstrata; i++)
	{
		const FfStratum *s = &strata->stratum[i];
		double		n = s->nread;
		double		weight = ff_strata_weight(strata, i);
		double		left = 1 - n / s->size;
		double		before = i > 0 ? mean[i] - mean[i - 1] : 0;
		double		after = i < strata->nstrata - 1 ? mean[i] - mean[i + 1] : 0;
		double		step = Max(before * before, after * after);
		double		part;

		/* at least what is to be expected next to a neighbour like that */
		spread.squares[i] = Max(found[i], step > FF_ROUNDING * s->cross[y][y] ? step : 0);
		if (n < FF_LEAST_PAGES || s->nread >= (int64) s->size)
			continue;
		part = spread.squares[i] / (n - 1) * n * weight * weight * left;
		spread.variance += part;
		df_divisor += part * part / (n - 1);
		squares += weight * weight * left * found[i];
		cubes += weight * weight * weight * left * cubed[i];
	}
	if (spread.variance > 0)
		spread.df = spread.variance * spread.variance / df_divisor;
	if (squares > 0)
		spread.unseen = FF_UNSEEN_PAGES * (cubes / squares) * (cubes / squares);
	return spread;
}

/*
 * Estimates the total of a metric over all blocks, exact if all were read, or
 * with a divisor (else -1) the ratio of two totals, NaN if the lower one is zero.
 */
FfEstimate
ff_strata_estimate(const FfStrata *strata, int metric, int divisor)
{
	FfEstimate	estimate = {0, 0};
	double		below = divisor < 0 ? 1 : 0;
	FfSpread	spread;

	for (int i = 0; i < strata->nstrata; i++)
	{
		const FfStratum *s = &strata->stratum[i];

		estimate.value += ff_strata_weight(strata, i) * s->sum[metric];
		if (divisor >= 0)
			below += ff_strata_weight(strata, i) * s->sum[divisor];
	}
	if (below <= 0)
		return (FfEstimate) {NAN, NAN};
	estimate.value /= below;
	spread = spread_of(strata, metric, divisor, estimate.value);
	if (spread.variance > 0)
		estimate.error = student(spread.df) * sqrt(spread.variance + spread.unseen) / below;
	return estimate;
}

/*
 * The total of a metric of which a page has "most" at most; its error also allows
 * for pages that the sample missed.
 */
FfEstimate
ff_strata_total(const FfStrata *strata, int metric, double most)
{
	FfEstimate	estimate = ff_strata_estimate(strata, metric, -1);
	double		nread = 0;

	for (int i = 0; i < strata->nstrata; i++)
		nread += strata->stratum[i].nread;
	if (nread > 0 && nread < strata->blocks)
	{
		double		mean = estimate.value / strata->blocks;
		double		missed = FF_MISSED_PAGES / nread * (strata->blocks - nread);

		estimate.error = Max(estimate.error, missed * Max(mean, most - mean));
	}
	return estimate;
}

/* ---------- second sample ---------- */

/*
 * Pages wanted of each stratum for an interval of this total: Neyman's
 * allocation with finite population correction (Cochran 5.9).  Where few rare
 * pages make the difference, the strata in which the first sample met some are
 * no different from the others, and all get their share.
 */
static void
plan(const FfStrata *strata, int metric, double error, double *wanted)
{
	FfSpread	found = spread_of(strata, metric, -1, 0);
	double		target = error / FF_Z;
	double		rarity = Min(1, FF_RARITY * found.unseen / found.variance);
	double		spread[FF_MAX_STRATA];
	double		pooled = 0;
	double		spreads = 0;
	double		squares = 0;

	for (int i = 0; i < strata->nstrata; i++)
	{
		const FfStratum *s = &strata->stratum[i];

		spread[i] = s->nread < FF_LEAST_PAGES ? 0 :
			found.squares[i] / (s->nread - 1) * (1 + found.unseen / found.variance);
		pooled += spread[i] * s->size / strata->blocks;
	}
	for (int i = 0; i < strata->nstrata; i++)
	{
		if (spread[i] > pooled / FF_ALIKE && spread[i] < pooled * FF_ALIKE)
			spread[i] = pooled;
		spread[i] = sqrt(rarity * pooled +
						 (1 - rarity) * Max(spread[i], FF_LEAST_SPREAD * pooled));
		spreads += strata->stratum[i].size * spread[i];
		squares += strata->stratum[i].size * spread[i] * spread[i];
	}
	for (int i = 0; i < strata->nstrata; i++)
		wanted[i] = Max(wanted[i], ceil(FF_PLAN_MARGIN * strata->stratum[i].size * spread[i] *
										spreads / (target * target + squares)));
}

/*
 * The second sample: pages such that the intervals of these metrics' means
 * become no wider than error to either side (zero: as exact as can be), at
 * most max_pages with those read already; see choose().
 */
int
ff_strata_second(FfStrata *strata, const int *metric, int nmetrics,
				 double error, int max_pages, BlockNumber **block)
{
	double		wanted[FF_MAX_STRATA];
	double		total_error = error * strata->blocks;

	for (int i = 0; i < strata->nstrata; i++)
		wanted[i] = error > 0 ? (double) strata->stratum[i].nread :
			strata->stratum[i].size;
	for (int k = 0; k < nmetrics && error > 0; k++)
		if (ff_strata_estimate(strata, metric[k], -1).error > total_error)
			plan(strata, metric[k], total_error, wanted);
	return choose(strata, wanted, max_pages, block);
}
