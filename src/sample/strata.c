/*
 * strata.c
 *	  Which pages of a relation to read, and what they say about all of them.
 *
 * Tables age in ranges of blocks: new rows come at the end, old batches lie
 * together.  So the blocks are divided into ranges of equal size, and the last
 * of them again and again into halves, down to a few pages: however small the
 * hot tail is against the table, it is seen.  Each range is a stratum of which
 * some pages are chosen at random without replacement; every page counts for
 * as many as its stratum has blocks per page chosen.  A sample can be extended
 * and is then the same as one chosen at once.
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
 * uniform than if one of its pages had been like the neighbour's.  What is so
 * rare that no page of the sample shows it is in no interval.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "miscadmin.h"

#include "compat.h"
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

/* Ranges up to so many times the pages wanted are walked, not drawn from. */
#define FF_WALK 64

/* Blocks walked between two looks for interrupts: well below a millisecond. */
#define FF_BLOCKS_PER_CHECK 65536

/* Sums of squares below this share of what they are made of are rounding. */
#define FF_ROUNDING 1e-12

/* Second samples are so much larger: the first one's spread is an estimate. */
#define FF_PLAN_MARGIN 1.15

/* 97.5 % quantile of the normal distribution. */
#define FF_Z 1.959963985

static void
add_stratum(FfStrata *strata, BlockNumber first, BlockNumber end)
{
	FfStratum  *stratum = &strata->stratum[strata->nstrata++];

	memset(stratum, 0, sizeof(*stratum));
	stratum->first = first;
	stratum->size = end - first;
}

/* Divides the blocks; the seed fixes all choices that follow. */
void
ff_strata_begin(FfStrata *strata, BlockNumber blocks, int nmetrics, uint64 seed)
{
	BlockNumber first = 0;

	Assert(nmetrics <= FF_MAX_METRICS);
	strata->blocks = blocks;
	strata->nmetrics = nmetrics;
	strata->nstrata = 0;
	strata->stratum = palloc(sizeof(FfStratum) * FF_MAX_STRATA);
	pg_prng_seed(&strata->prng, seed);

	if (blocks <= FF_CENSUS_PAGES)
	{
		add_stratum(strata, 0, blocks);
		return;
	}
	for (int i = 1; i < FF_ZONES; i++)
	{
		BlockNumber end = (BlockNumber) ((uint64) blocks * i / FF_ZONES);

		add_stratum(strata, first, end);
		first = end;
	}
	for (int i = 1; i < FF_TAIL_HALVINGS &&
		 blocks - first > FF_PAGES_AT_END; i++)
	{
		BlockNumber end = first + (blocks - first) / 2;

		add_stratum(strata, first, end);
		first = end;
	}
	add_stratum(strata, first, blocks);
}

/* Pages of this stratum in a first sample. */
static int
pilot_size(const FfStrata *strata, int i)
{
	BlockNumber size = strata->stratum[i].size;

	if (strata->nstrata == 1 ||
		(i == strata->nstrata - 1 && size <= FF_PAGES_AT_END))
		return size;
	return Min(size, i < FF_ZONES - 1 ? FF_PAGES_PER_ZONE : FF_PAGES_PER_HALF);
}

static int
compare_blocks(const void *a, const void *b)
{
	BlockNumber x = *(const BlockNumber *) a;
	BlockNumber y = *(const BlockNumber *) b;

	return x < y ? -1 : x > y;
}

/*
 * Draws blocks (with replacement, until enough different ones were met) behind
 * those of the stratum that were read.
 */
static void
draw_blocks(FfStrata *strata, FfStratum *stratum, int wanted)
{
	BlockNumber *chosen = stratum->chosen;

	while (stratum->nchosen < wanted)
	{
		int			n = stratum->nread;
		int			read = 0;

		CHECK_FOR_INTERRUPTS();
		while (stratum->nchosen < wanted)
			chosen[stratum->nchosen++] = stratum->first +
				pg_prng_uint64_range(&strata->prng, 0, stratum->size - 1);
		qsort(chosen + n, wanted - n, sizeof(BlockNumber), compare_blocks);
		for (int i = n; i < wanted; i++)
		{
			BlockNumber block = chosen[i];

			while (read < stratum->nread && chosen[read] < block)
				read++;
			if ((read < stratum->nread && chosen[read] == block) ||
				(n > stratum->nread && chosen[n - 1] == block))
				continue;
			chosen[n++] = block;
		}
		stratum->nchosen = n;
	}
}

/* The same by walking the range (Knuth 3.4.2, algorithm S). */
static void
walk_blocks(FfStrata *strata, FfStratum *stratum, int wanted)
{
	BlockNumber left = stratum->size - stratum->nread;
	int			read = 0;

	for (BlockNumber i = 0; stratum->nchosen < wanted; i++)
	{
		BlockNumber block = stratum->first + i;

		if (i % FF_BLOCKS_PER_CHECK == 0)
			CHECK_FOR_INTERRUPTS();
		if (read < stratum->nread && stratum->chosen[read] == block)
		{
			read++;
			continue;
		}
		if (pg_prng_double(&strata->prng) * left < wanted - stratum->nchosen)
			stratum->chosen[stratum->nchosen++] = block;
		left--;
	}
}

/* Chooses among the blocks not read yet until the stratum has this many. */
static void
extend_stratum(FfStrata *strata, FfStratum *stratum, int wanted)
{
	wanted = Min((BlockNumber) wanted, stratum->size);
	if (wanted <= stratum->nchosen)
		return;
	Assert(stratum->nchosen == stratum->nread);
	if (stratum->chosen == NULL)
		stratum->chosen = palloc(sizeof(BlockNumber) * wanted);
	else
		stratum->chosen = repalloc(stratum->chosen,
								   sizeof(BlockNumber) * wanted);
	if ((BlockNumber) wanted > stratum->size / FF_WALK)
		walk_blocks(strata, stratum, wanted);
	else
		draw_blocks(strata, stratum, wanted);
}

/*
 * Chooses pages until every stratum has wanted[] of them.  Returns how many are
 * new, and them in ascending order.
 */
static int
choose(FfStrata *strata, const double *wanted, BlockNumber **block)
{
	int			nblocks = 0;
	int			room = 0;

	for (int i = 0; i < strata->nstrata; i++)
	{
		FfStratum  *stratum = &strata->stratum[i];

		extend_stratum(strata, stratum, (int) wanted[i]);
		room += stratum->nchosen;
	}
	*block = palloc(sizeof(BlockNumber) * Max(room, 1));
	for (int i = 0; i < strata->nstrata; i++)
	{
		FfStratum  *stratum = &strata->stratum[i];
		int			fresh = stratum->nchosen - stratum->nread;

		memcpy(*block + nblocks, stratum->chosen + stratum->nread,
			   sizeof(BlockNumber) * fresh);
		nblocks += fresh;
	}
	return nblocks;
}

/*
 * The first sample: some hundred pages, max_pages at most.  Every stratum gets
 * two, so max_pages must allow for these.  Returns how many blocks to read, and
 * them in ascending order.
 */
int
ff_strata_first(FfStrata *strata, int max_pages, BlockNumber **block)
{
	double		wanted[FF_MAX_STRATA];
	double		sum = 0;
	double		least = 0;

	for (int i = 0; i < strata->nstrata; i++)
	{
		sum += wanted[i] = pilot_size(strata, i);
		least += Min(wanted[i], FF_LEAST_PAGES);
	}
	Assert(least <= max_pages);
	if (sum > max_pages)
		for (int i = 0; i < strata->nstrata; i++)
		{
			double		floor_of = Min(wanted[i], FF_LEAST_PAGES);

			wanted[i] = floor_of + floor((wanted[i] - floor_of) *
										 (max_pages - least) / (sum - least));
		}
	return choose(strata, wanted, block);
}

/* The stratum that this block is in. */
int
ff_strata_find(const FfStrata *strata, BlockNumber block)
{
	int			low = 0;
	int			high = strata->nstrata - 1;

	while (low < high)
	{
		int			middle = (low + high + 1) / 2;

		if (strata->stratum[middle].first <= block)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* Counts one page read. */
void
ff_strata_add(FfStrata *strata, int stratum, const double *metric)
{
	FfStratum  *s = &strata->stratum[stratum];

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
}

/* Blocks that each page read of this stratum stands for. */
double
ff_strata_weight(const FfStrata *strata, int stratum)
{
	const FfStratum *s = &strata->stratum[stratum];

	return s->nread > 0 ? (double) s->size / s->nread : 0;
}

static double
total(const FfStrata *strata, int metric)
{
	double		sum = 0;

	for (int i = 0; i < strata->nstrata; i++)
		sum += ff_strata_weight(strata, i) * strata->stratum[i].sum[metric];
	return sum;
}

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

/* Moments of y - ratio * x in one stratum; x < 0 stands for none. */
typedef struct FfMoments
{
	double		mean;
	double		squares;		/* sum of squared deviations */
	double		cubes;			/* of cubed ones; for x < 0 only */
	double		rounding;		/* what squares are not known better than */
} FfMoments;

static FfMoments
moments(const FfStratum *s, int y, int x, double ratio)
{
	FfMoments	m = {0, 0, 0, 0};
	double		n = s->nread;
	double		sum = s->sum[y];
	double		squares = s->cross[y][y];

	if (s->nread == 0)
		return m;
	if (x >= 0)
	{
		sum -= ratio * s->sum[x];
		squares += ratio * (ratio * s->cross[x][x] -
							2 * s->cross[Max(x, y)][Min(x, y)]);
	}
	m.mean = sum / n;
	m.rounding = FF_ROUNDING * s->cross[y][y];
	m.squares = squares - sum * m.mean;
	if (m.squares <= m.rounding)
		m.squares = 0;
	if (x < 0 && m.squares > 0)
		m.cubes = s->cubes[y] - m.mean * (3 * squares - 2 * sum * m.mean);
	return m;
}

/* The larger squared difference of two neighbours' means to this one's. */
static double
largest_step(const FfMoments *m, int nstrata, int i)
{
	double		left = i > 0 ? m[i].mean - m[i - 1].mean : 0;
	double		right = i < nstrata - 1 ? m[i].mean - m[i + 1].mean : 0;

	return Max(left * left, right * right);
}

/*
 * Squared deviations in stratum i: those found, or the least to expect next
 * to a neighbour like that.
 */
static double
likely_squares(const FfMoments *m, int nstrata, int i)
{
	double		step = largest_step(m, nstrata, i);

	return Max(m[i].squares, step > m[i].rounding ? step : 0);
}

/* What the moments of all strata say of the estimated total. */
typedef struct FfTotal
{
	double		variance;		/* without allowance for rare pages */
	double		unseen;			/* the allowance */
	double		df;				/* degrees of freedom of the variance */
} FfTotal;

static FfTotal
total_variance(const FfStrata *strata, const FfMoments *m)
{
	FfTotal		total = {0, 0, 0};
	double		df_divisor = 0;
	double		squares = 0;
	double		cubes = 0;

	for (int i = 0; i < strata->nstrata; i++)
	{
		const FfStratum *s = &strata->stratum[i];
		double		n = s->nread;
		double		weight = ff_strata_weight(strata, i);
		double		left = 1 - n / s->size;
		double		part;

		if (n < FF_LEAST_PAGES || s->nread >= (int64) s->size)
			continue;
		part = likely_squares(m, strata->nstrata, i) / (n - 1) *
			n * weight * weight * left;
		total.variance += part;
		df_divisor += part * part / (n - 1);
		squares += weight * weight * left * m[i].squares;
		cubes += weight * weight * weight * left * m[i].cubes;
	}
	if (total.variance > 0)
		total.df = total.variance * total.variance / df_divisor;
	if (squares > 0)
		total.unseen = FF_UNSEEN_PAGES * (cubes / squares) * (cubes / squares);
	return total;
}

/* Half width of the interval of the total of y - ratio * x. */
static double
total_error(const FfStrata *strata, int y, int x, double ratio)
{
	FfMoments	m[FF_MAX_STRATA];
	FfTotal		total;

	for (int i = 0; i < strata->nstrata; i++)
		m[i] = moments(&strata->stratum[i], y, x, ratio);
	total = total_variance(strata, m);
	if (total.variance <= 0)
		return 0;
	return student(total.df) * sqrt(total.variance + total.unseen);
}

/*
 * Pages wanted of each stratum for the interval of this mean: Neyman's
 * allocation with finite population correction (Cochran 5.9).  Where few rare
 * pages make the difference, the strata in which the first sample met some are
 * no different from the others, and all get their share.
 */
static void
plan(const FfStrata *strata, int metric, double error, double *wanted)
{
	FfMoments	m[FF_MAX_STRATA];
	double		spread[FF_MAX_STRATA];
	double		target = error * strata->blocks / FF_Z;
	FfTotal		total;
	double		rarity;
	double		pooled = 0;
	double		spreads = 0;
	double		squares = 0;

	for (int i = 0; i < strata->nstrata; i++)
		m[i] = moments(&strata->stratum[i], metric, -1, 0);
	total = total_variance(strata, m);
	rarity = Min(1, FF_RARITY * total.unseen / total.variance);

	for (int i = 0; i < strata->nstrata; i++)
	{
		const FfStratum *s = &strata->stratum[i];

		spread[i] = s->nread < FF_LEAST_PAGES ? 0 :
			likely_squares(m, strata->nstrata, i) / (s->nread - 1);
		spread[i] *= 1 + total.unseen / total.variance;
		pooled += spread[i] * s->size / strata->blocks;
	}
	for (int i = 0; i < strata->nstrata; i++)
	{
		if (spread[i] > pooled / FF_ALIKE && spread[i] < pooled * FF_ALIKE)
			spread[i] = pooled;
		spread[i] = sqrt(rarity * pooled + (1 - rarity) *
						 Max(spread[i], FF_LEAST_SPREAD * pooled));
		spreads += strata->stratum[i].size * spread[i];
		squares += strata->stratum[i].size * spread[i] * spread[i];
	}
	for (int i = 0; i < strata->nstrata; i++)
		wanted[i] = Max(wanted[i],
						ceil(FF_PLAN_MARGIN * strata->stratum[i].size *
							 spread[i] * spreads /
							 (target * target + squares)));
}

/*
 * The second sample: pages such that the intervals of these metrics' means
 * become no wider than error to either side (zero: as exact as can be), at
 * most max_pages with those read already.  Returns how many blocks to read,
 * none if the first sample does, and them in ascending order.
 */
int
ff_strata_second(FfStrata *strata, const int *metric, int nmetrics,
				 double error, int max_pages, BlockNumber **block)
{
	double		wanted[FF_MAX_STRATA];
	double		sum = 0;
	double		more = 0;

	for (int i = 0; i < strata->nstrata; i++)
		wanted[i] = error > 0 ? (double) strata->stratum[i].nread :
			strata->stratum[i].size;
	for (int k = 0; k < nmetrics && error > 0; k++)
		if (ff_strata_mean(strata, metric[k]).error > error)
			plan(strata, metric[k], error, wanted);

	for (int i = 0; i < strata->nstrata; i++)
	{
		wanted[i] = Min(wanted[i], strata->stratum[i].size);
		sum += strata->stratum[i].nread;
		more += wanted[i] - strata->stratum[i].nread;
	}
	if (more > 0 && sum + more > max_pages)
		for (int i = 0; i < strata->nstrata; i++)
		{
			int			nread = strata->stratum[i].nread;

			wanted[i] = nread + floor((wanted[i] - nread) *
									  (max_pages - sum) / more);
		}
	return choose(strata, wanted, block);
}

/* Estimates the total of a metric over all blocks; exact if all were read. */
FfEstimate
ff_strata_total(const FfStrata *strata, int metric)
{
	FfEstimate	estimate;

	estimate.value = total(strata, metric);
	estimate.error = total_error(strata, metric, -1, 0);
	return estimate;
}

/* Estimates the mean of a metric over all blocks; NaN if there are none. */
FfEstimate
ff_strata_mean(const FfStrata *strata, int metric)
{
	FfEstimate	estimate = {NAN, NAN};

	if (strata->blocks > 0)
	{
		estimate = ff_strata_total(strata, metric);
		estimate.value /= strata->blocks;
		estimate.error /= strata->blocks;
	}
	return estimate;
}

/* Estimates the ratio of two totals; NaN if the lower one is zero. */
FfEstimate
ff_strata_ratio(const FfStrata *strata, int numerator, int denominator)
{
	double		divisor = total(strata, denominator);
	FfEstimate	estimate = {NAN, NAN};

	if (divisor > 0)
	{
		estimate.value = total(strata, numerator) / divisor;
		estimate.error = total_error(strata, numerator, denominator,
									 estimate.value) / divisor;
	}
	return estimate;
}
