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
 * Intervals: variance of a stratified sample with finite population
 * correction, Student's quantile with Satterthwaite's degrees of freedom
 * (Cochran, Sampling Techniques, 5.4); ratios are linearised (6.11).
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "strata.h"

/* Relations up to this many pages are read whole. */
#define FF_CENSUS_PAGES 384

/* Ranges of equal size, and the pages first chosen of each but the last. */
#define FF_ZONES 16
#define FF_PAGES_PER_ZONE 16

/* Times the last range is halved, and the pages first chosen of each half. */
#define FF_TAIL_HALVINGS 12
#define FF_PAGES_PER_HALF 8

/* No variance without two pages. */
#define FF_LEAST_PAGES 2

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
	strata->stratum = palloc(sizeof(FfStratum) *
							 (FF_ZONES + FF_TAIL_HALVINGS));
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
		 blocks - first > 2 * FF_PAGES_PER_HALF; i++)
	{
		BlockNumber end = first + (blocks - first) / 2;

		add_stratum(strata, first, end);
		first = end;
	}
	add_stratum(strata, first, blocks);
}

/* Pages of this stratum in a first sample. */
static int
pilot_size(const FfStrata *strata, int stratum)
{
	if (strata->nstrata == 1)
		return strata->stratum[stratum].size;
	return stratum < FF_ZONES - 1 ? FF_PAGES_PER_ZONE : FF_PAGES_PER_HALF;
}

static int
compare_blocks(const void *a, const void *b)
{
	BlockNumber x = *(const BlockNumber *) a;
	BlockNumber y = *(const BlockNumber *) b;

	return x < y ? -1 : x > y;
}

static bool
is_chosen(const FfStratum *stratum, BlockNumber block)
{
	for (int i = 0; i < stratum->nchosen; i++)
		if (stratum->chosen[i] == block)
			return true;
	return false;
}

/* Chooses among the blocks not chosen yet until the stratum has this many. */
static void
extend_stratum(FfStrata *strata, FfStratum *stratum, int wanted)
{
	wanted = Min((BlockNumber) wanted, stratum->size);
	if (wanted <= stratum->nchosen)
		return;
	if (stratum->chosen == NULL)
		stratum->chosen = palloc(sizeof(BlockNumber) * wanted);
	else
		stratum->chosen = repalloc(stratum->chosen,
								   sizeof(BlockNumber) * wanted);

	if ((BlockNumber) wanted > stratum->size / 2)
	{
		/* dense: walk the range (Knuth 3.4.2, algorithm S) */
		BlockNumber left = stratum->size - stratum->nchosen;
		int			before = stratum->nchosen;
		int			missing = wanted - before;
		BlockNumber *sorted = palloc(sizeof(BlockNumber) * Max(before, 1));
		int			next = 0;

		memcpy(sorted, stratum->chosen, sizeof(BlockNumber) * before);
		qsort(sorted, before, sizeof(BlockNumber), compare_blocks);
		for (BlockNumber i = 0; missing > 0; i++)
		{
			BlockNumber block = stratum->first + i;

			if (next < before && sorted[next] == block)
			{
				next++;
				continue;
			}
			if (pg_prng_double(&strata->prng) * left < missing)
			{
				stratum->chosen[stratum->nchosen++] = block;
				missing--;
			}
			left--;
		}
		pfree(sorted);
		return;
	}
	while (stratum->nchosen < wanted)
	{
		BlockNumber block = stratum->first +
			pg_prng_uint64_range(&strata->prng, 0, stratum->size - 1);

		if (!is_chosen(stratum, block))
			stratum->chosen[stratum->nchosen++] = block;
	}
}

/*
 * Chooses pages: growth times those of a first sample in every stratum, less
 * those chosen before, and about max_pages in all at most.  Returns how many
 * are new, and them in ascending order.
 */
int
ff_strata_choose(FfStrata *strata, double growth, int max_pages,
				 BlockNumber **block)
{
	double		pilot = 0;
	int			nblocks = 0;

	for (int i = 0; i < strata->nstrata; i++)
		pilot += pilot_size(strata, i);
	if (pilot > 0)
		growth = Min(growth, max_pages / pilot);

	*block = palloc(sizeof(BlockNumber) *
					(Max(max_pages, 0) + FF_LEAST_PAGES * strata->nstrata));
	for (int i = 0; i < strata->nstrata; i++)
	{
		FfStratum  *stratum = &strata->stratum[i];
		int			before = stratum->nchosen;
		int			wanted = (int) (pilot_size(strata, i) * growth);

		extend_stratum(strata, stratum, Max(wanted, FF_LEAST_PAGES));
		qsort(stratum->chosen + before, stratum->nchosen - before,
			  sizeof(BlockNumber), compare_blocks);
		for (int j = before; j < stratum->nchosen; j++)
			(*block)[nblocks++] = stratum->chosen[j];
	}
	return nblocks;
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

/* Half width of the interval of the total of y - ratio * x. */
static double
total_error(const FfStrata *strata, int y, int x, double ratio)
{
	double		variance = 0;
	double		df_divisor = 0;

	for (int i = 0; i < strata->nstrata; i++)
	{
		const FfStratum *s = &strata->stratum[i];
		double		n = s->nread;
		double		sum = s->sum[y];
		double		squares = s->cross[y][y];
		double		part;

		if (n < FF_LEAST_PAGES || s->nread >= (int64) s->size)
			continue;
		if (x >= 0)
		{
			sum -= ratio * s->sum[x];
			squares += ratio * (ratio * s->cross[x][x] -
								2 * s->cross[Max(x, y)][Min(x, y)]);
		}
		part = Max(0, (squares - sum * sum / n) / (n - 1));
		part *= (double) s->size * s->size / n * (1 - n / s->size);
		variance += part;
		df_divisor += part * part / (n - 1);
	}
	if (variance <= 0)
		return 0;
	return student(variance * variance / df_divisor) * sqrt(variance);
}

/* Estimates the mean of a metric over all blocks. */
FfEstimate
ff_strata_mean(const FfStrata *strata, int metric)
{
	FfEstimate	estimate = {0, 0};

	if (strata->blocks > 0)
	{
		estimate.value = total(strata, metric) / strata->blocks;
		estimate.error = total_error(strata, metric, -1, 0) / strata->blocks;
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
