/*
 * strata.c
 *	  Chooses the pages of a sample and estimates totals from them.
 *
 * Tables age in ranges of blocks: new rows come at the end, old batches are
 * adjacent.  So the blocks are divided into ranges of equal size, and the last one
 * is halved repeatedly, down to a few pages: this finds the hot tail, however small
 * it is.  Each range is a stratum.  Some of its pages are chosen at random without
 * replacement; each stands for (blocks / pages chosen) blocks of its stratum.
 *
 * A first sample of about 600 pages shows how much pages differ in each stratum.  This, not the
 * relation's size, says how many more the wanted error needs; the second adds them where pages
 * differ most (Neyman's allocation).
 *
 * Intervals: variance of a stratified sample with finite population correction,
 * Student's quantile with Satterthwaite's degrees of freedom (Cochran, Sampling
 * Techniques, 5.4); ratios are linearised (6.11).  Such intervals miss the truth
 * too often if a few pages make the difference.  Three remedies: the variance
 * grows with the skewness, as if two more of the rare pages had been found (for
 * shares this is the interval of Agresti and Coull); a stratum with a different
 * neighbour has at least the variance that one page like the neighbour's would
 * give it; and intervals of bytes or rows allow for pages so rare that the sample
 * may have missed all of them.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "port/pg_bitutils.h"

#include "base/module.h"
#include "sample/strata.h"

PG_FUNCTION_INFO_V1(ff_t_quantile);

/* Pages of the first sample (chosen). */
#define FF_CENSUS_PAGES		640		/* relations up to this many pages are read whole */
#define FF_ZONES			16		/* ranges of equal size */
#define FF_PAGES_PER_ZONE	32		/* chosen of each of these except the last */
#define FF_TAIL_HALVINGS	11		/* most halvings of the last range */
#define FF_PAGES_PER_HALF	8		/* chosen of each of its parts */
#define FF_PAGES_AT_END		16		/* halving stops here; a last part no larger is read whole */
#define FF_MAX_STRATA		(FF_ZONES + FF_TAIL_HALVINGS)
#define FF_ROUNDS			6		/* of the Feistel network: large ranges need four, small more */

/* Intervals. */
#define FF_LEAST_PAGES		2		/* a variance needs two */
#define FF_UNSEEN_PAGES		2		/* rare pages to allow for beyond those found: z^2 / 2 */
#define FF_MISSED_PAGES		3.0		/* of a kind that one sample in twenty misses: -ln(0.05) */
#define FF_ROUNDING			1e-12	/* sums of squares below this share of their terms are errors */
#define FF_Z				1.959963985	/* 97.5 % quantile of the normal distribution */

/*
 * The plan of the second sample: the first one's spread is an estimate.  It may have missed the
 * spread of a stratum, and strata that look too uniform by chance would get too few pages.
 */
#define FF_PLAN_MARGIN		1.15	/* larger by this factor */
#define FF_LEAST_SPREAD		0.05	/* of the mean variance, assumed in each stratum */
#define FF_ALIKE			3.0		/* a variance within this factor of the mean counts as it */
#define FF_RARITY			5		/* rare pages are assumed in all strata, not only where
									 * some were found, if the allowance is variance / this */

/* ---------- choice of pages ---------- */

/* Divides the blocks into strata; the seed determines all later choices. */
void
ff_strata_begin(FfStrata *strata, BlockNumber blocks, int nmetrics, uint32 seed)
{
	BlockNumber first = 0;

	Assert(nmetrics <= FF_MAX_METRICS);
	strata->blocks = blocks;
	strata->nmetrics = nmetrics;
	strata->seed = seed;
	strata->nstrata = 0;
	strata->nread = 0;
	strata->stratum = palloc0(sizeof(FfStratum) * FF_MAX_STRATA);

	do
	{
		FfStratum  *s = &strata->stratum[strata->nstrata++];
		int			i = strata->nstrata;

		s->first = first;
		s->size = blocks - first;
		if (blocks > FF_CENSUS_PAGES && i < FF_ZONES)
			s->size = (BlockNumber) ((uint64) blocks * i / FF_ZONES) - first;
		else if (blocks > FF_CENSUS_PAGES && i < FF_MAX_STRATA && s->size > FF_PAGES_AT_END)
			s->size /= 2;
		first += s->size;
	} while (first < blocks);
}

/*
 * The k-th block of a stratum in a random order: a Feistel network permutes the next
 * power of four, repeatedly while the result is not a block of the stratum.  So no
 * block comes twice, however often the sample is extended.
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
 * Chooses pages until every stratum has wanted[] of them.  If these exceed max_pages,
 * all strata get proportionally less, but keep the pages read and at least two each;
 * max_pages must allow for these.  Returns the number of new pages, and *block, in
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

		if (more > room)
			wanted[i] = least[i] + floor((wanted[i] - least[i]) * room / more);
		for (int k = s->nread; k < (int) wanted[i]; k++)
			(*block)[nblocks++] = kth_block(strata, s, k);
	}
	qsort(*block, nblocks, sizeof(BlockNumber), compare_blocks);
	return nblocks;
}

/* The first sample: about 600 pages, at most max_pages; see choose(). */
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
	strata->nread++;
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

/* Number of blocks that each page read of this stratum stands for. */
double
ff_strata_weight(const FfStrata *strata, int stratum)
{
	const FfStratum *s = &strata->stratum[stratum];

	return s->nread > 0 ? (double) s->size / s->nread : 0;
}

/* ---------- estimates ---------- */

/*
 * 97.5 % quantile of Student's distribution: Fisher's expansion; below 3 degrees of
 * freedom, where it fails, exact values and lines between them.
 */
static double
student(double df)
{
	const double z = FF_Z;
	const double z3 = z * z * z;
	const double z5 = z3 * z * z;
	const double z7 = z5 * z * z;

	if (df < 2)
		return 12.706 + (4.303 - 12.706) * (Max(df, 1) - 1);
	if (df < 3)
		return 4.303 + (3.182 - 4.303) * (df - 2);
	return z + (z3 + z) / (4 * df) +
		(5 * z5 + 16 * z3 + 3 * z) / (96 * df * df) +
		(3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * df * df * df) +
		(79 * z7 * z * z + 776 * z7 + 1482 * z5 - 1920 * z3 - 945 * z) / (92160 * pow(df, 4));
}

/* SQL: t_quantile(), for the intervals of ff_verify() */
Datum
ff_t_quantile(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(student(PG_GETARG_FLOAT8(0)));
}

/* Spread of the estimated total of y - ratio * x. */
typedef struct FfSpread
{
	double		squares[FF_MAX_STRATA]; /* likely sum of squared deviations */
	double		variance;		/* of the total, without allowance for rare pages */
	double		unseen;			/* the allowance; 0 if there is an x (x >= 0) */
	double		df;				/* degrees of freedom of the variance */
} FfSpread;

/* Sums of squared and of cubed deviations in each stratum, and the means. */
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

		/* at least as if one page were like the neighbour's */
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
 * Estimates the total of a metric over all blocks, exact if all were read; or with a
 * divisor (not -1), the ratio of the two totals, NAN if the divisor's is zero.
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
 * The total of a metric that is at most "most" on a page; its error also allows for
 * pages that the sample missed.
 */
FfEstimate
ff_strata_total(const FfStrata *strata, int metric, double most)
{
	FfEstimate	estimate = ff_strata_estimate(strata, metric, -1);

	if (strata->nread > 0 && (BlockNumber) strata->nread < strata->blocks)
	{
		double		mean = estimate.value / strata->blocks;
		double		missed = FF_MISSED_PAGES / strata->nread * (strata->blocks - strata->nread);

		estimate.error = Max(estimate.error, missed * Max(mean, most - mean));
	}
	return estimate;
}

/* ---------- second sample ---------- */

/*
 * Raises wanted[], the pages of each stratum, for this error of the total: Neyman's
 * allocation with finite population correction (Cochran 5.9).  If a few rare pages
 * make the difference, all strata get their share, not only those in which the first
 * sample found some.
 */
static void
allocate_pages(const FfStrata *strata, int metric, double error, double *wanted)
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
		spread[i] = sqrt(rarity * pooled + (1 - rarity) * Max(spread[i], FF_LEAST_SPREAD * pooled));
		spreads += strata->stratum[i].size * spread[i];
		squares += strata->stratum[i].size * spread[i] * spread[i];
	}
	for (int i = 0; i < strata->nstrata; i++)
		wanted[i] = Max(wanted[i], ceil(FF_PLAN_MARGIN * strata->stratum[i].size * spread[i] *
										spreads / (target * target + squares)));
}

/*
 * The second sample: enough pages that the half widths of the intervals of these
 * metrics' means do not exceed error (zero: as exact as possible), at most max_pages
 * including those read; see choose().
 */
int
ff_strata_second(FfStrata *strata, const int *metric, int nmetrics,
				 double error, int max_pages, BlockNumber **block)
{
	double		wanted[FF_MAX_STRATA];
	double		total_error = error * strata->blocks;

	for (int i = 0; i < strata->nstrata; i++)
		wanted[i] = error > 0 ? (double) strata->stratum[i].nread : strata->stratum[i].size;
	for (int k = 0; k < nmetrics && error > 0; k++)
		if (ff_strata_estimate(strata, metric[k], -1).error > total_error)
			allocate_pages(strata, metric[k], total_error, wanted);
	return choose(strata, wanted, max_pages, block);
}
