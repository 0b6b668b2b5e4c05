/*
 * strata_test.c
 *	  Facts about which pages are chosen, and estimates computed by hand, as TAP.
 *
 * The sampler's own code with the server's headers, but without a server.
 */
#include "postgres.h"

#include <math.h>

#include "common/hashfn.h"
#include "fmgr.h"

#include "base/module.h"
#include "sample/strata.h"

/* the server's replacements are not linked here */
#undef printf
#undef qsort

#define SEEDS	400
#define N		600				/* blocks of a small relation: one stratum */

extern Datum ff_t_quantile(PG_FUNCTION_ARGS);

static int	tests = 0;
static int	failed = 0;
static FfStrata strata;

/* server functions that the sampler calls */
void		assertion_failed(void) __asm__("ExceptionalCondition");

void
assertion_failed(void)
{
	abort();
}

/* allocations, each with a byte behind it that must not be written */
static struct
{
	char	   *at;
	Size		size;
}			lent[10000];
static int	nlent = 0;

void *
palloc(Size size)
{
	lent[nlent].at = malloc(size + 1);
	lent[nlent].at[size] = 'x';
	lent[nlent].size = size;
	return lent[nlent++].at;
}

void *
palloc0(Size size)
{
	return calloc(1, size);
}

void
pg_qsort(void *base, size_t nel, size_t elsize, int (*cmp) (const void *, const void *))
{
	qsort(base, nel, elsize, cmp);
}

static void
ok(int pass, const char *what)
{
	printf("%sok %d - %s\n", pass ? "" : "not ", ++tests, what);
	failed += !pass;
}

static int
close_to(double a, double b, double share)
{
	int			good = fabs(a - b) <= share * fmax(fabs(a), fabs(b)) + 1e-9;

	if (!good)
		printf("# %.10g is not %.10g\n", a, b);
	return good;
}

static double
t_of(double df)
{
	LOCAL_FCINFO(fcinfo, 1);

	fcinfo->args[0].value = Float8GetDatum(df);
	return DatumGetFloat8(ff_t_quantile(fcinfo));
}

static void
test_quantiles(void)
{
	/* published quantiles of Student's distribution, and the error allowed */
	static const double table[][3] = {
		{0.5, 12.7062, 1e-4}, {1, 12.7062, 1e-4}, {2, 4.30265, 1e-4}, {2.999, 3.18245, 1e-3}, {3, 3.18245, 1.3e-3},
		{4, 2.77645, 4e-4}, {5, 2.57058, 2e-4}, {6, 2.44691, 1e-4}, {8, 2.30600, 1e-4}, {10, 2.22814, 1e-5},
		{20, 2.08596, 1e-5}, {120, 1.97993, 1e-5}, {1e9, 1.95996, 1e-5}
	};
	int			right = 1;

	for (size_t i = 0; i < lengthof(table); i++)
		right &= close_to(t_of(table[i][0]), table[i][1], table[i][2]);
	for (double df = 1; df < 20; df += 0.125)
		right &= t_of(df) > t_of(df + 0.125);
	ok(right, "quantiles of Student's distribution are as published and fall with the degrees of freedom");
}

/* Whether the ranges cover the whole relation, in smaller and smaller ranges at the end. */
static int
covers(BlockNumber blocks)
{
	BlockNumber next = 0;
	int			right = 1;

	ff_strata_begin(&strata, blocks, 2, 1);
	for (int i = 0; i < strata.nstrata; i++)
	{
		const FfStratum *s = &strata.stratum[i];

		right &= s->first == next && s->size >= 1;
		if (blocks > 640 && i < 15)
			right &= fabs(s->size - blocks / 16.0) < 1;
		else if (i < strata.nstrata - 1)
			right &= s->size == (blocks - s->first) / 2;
		next = s->first + s->size;
	}
	return right && next == blocks;
}

static void
test_ranges(void)
{
	BlockNumber *block;
	int			n,
				right = 1;

	ok(covers(1) && strata.nstrata == 1 && covers(640) && strata.nstrata == 1, "a small relation is one range");
	ok(covers(641) && strata.nstrata > 16 && covers(5000) && strata.stratum[strata.nstrata - 1].size <= 16 &&
	   strata.stratum[strata.nstrata - 2].size > 8,
	   "a larger relation has sixteen ranges, the last one halved down to a few pages");
	ok(covers(100000000) && strata.nstrata == 27 && covers(4294967294U), "a very large relation has 27 ranges");
	ff_strata_begin(&strata, 640, 1, 7);
	n = ff_strata_first(&strata, 640, &block);
	for (int i = 0; i < n; i++)
		right &= block[i] == (BlockNumber) i;
	ok(right && n == 640, "a small relation is read whole");
	ff_strata_begin(&strata, 640, 1, 7);
	ok(ff_strata_first(&strata, 100, &block) == 100, "a small relation is read up to the limit");
}

/* Count chosen blocks by range; returns whether they are new, in order and in range. */
static int
chosen(int n, const BlockNumber *block, int *by, char *seen)
{
	int			right = 1;

	for (int i = 0; i < n; i++)
	{
		int			k = strata.nstrata - 1;

		right &= (i == 0 || block[i] > block[i - 1]) && block[i] < strata.blocks && !seen[block[i]];
		seen[block[i]] = 1;
		while (strata.stratum[k].first > block[i])
			k--;
		by[k]++;
	}
	return right;
}

static void
test_choice(void)
{
	BlockNumber *block;
	static char seen[20000];
	static int	often[2000];
	int			by[28] = {0};
	int			n = 0,
				right,
				other = 0;
	double		one = 1;
	int			metric = 0;

	ff_strata_begin(&strata, 20000, 1, 1);
	n = ff_strata_first(&strata, 10000, &block);
	right = chosen(n, block, by, seen);
	for (int i = 0; i < strata.nstrata - 1; i++)
		right &= by[i] == (i < 15 ? 32 : 8);
	ok(right && by[strata.nstrata - 1] == (int) strata.stratum[strata.nstrata - 1].size,
	   "32 pages of each range are chosen, 8 of the short ones, and all of the last");
	for (int i = 0; i < n; i++)
	{
		int			s = ff_strata_add(&strata, block[i], &one);

		right &= block[i] >= strata.stratum[s].first && block[i] - strata.stratum[s].first < strata.stratum[s].size;
	}
	for (int i = 0; i < strata.nstrata; i++)
		right &= close_to(ff_strata_weight(&strata, i), (double) strata.stratum[i].size / by[i], 1e-9);
	ok(right, "the weight of a page is the pages of its range divided by those chosen");
	/* no error is allowed: all that are left */
	memset(by, 0, sizeof(by));
	right = ff_strata_second(&strata, &metric, 1, 0, 30000, &block) == 20000 - n && chosen(20000 - n, block, by, seen);
	ok(right, "a second sample adds those that are missing, each once");
	ok(ff_strata_second(&strata, &metric, 1, 0, n + 500, &block) <= 500 &&
	   ff_strata_second(&strata, &metric, 1, 0, n + 500, &block) > 500 - 28, "a second sample keeps its limit");

	memset(by, 0, sizeof(by));
	memset(seen, 0, sizeof(seen));
	ff_strata_begin(&strata, 20000, 1, 1);
	n = ff_strata_first(&strata, 100, &block);
	right = n <= 100 && n > 100 - 28 && chosen(n, block, by, seen);
	for (int i = 0; i < strata.nstrata; i++)
		right &= by[i] >= 2;
	ok(right, "a low limit: at least two pages of each range are chosen");
	ff_strata_begin(&strata, 20000, 1, 2);
	n = ff_strata_first(&strata, 100, &block);
	for (int i = 0; i < n; i++)
		other += !seen[block[i]];
	ok(other > 50, "another seed chooses other pages");

	/* each page is equally likely: 32 of 125 in 400 samples, standard deviation 8.7 */
	right = 1;
	for (int seed = 0; seed < SEEDS; seed++)
	{
		ff_strata_begin(&strata, 2000, 1, murmurhash32(seed));
		n = ff_strata_first(&strata, 10000, &block);
		for (int i = 0; i < n; i++)
			often[block[i]]++;
	}
	for (int i = 0; i < 2000 / 16 * 15; i++)
		right &= abs(often[i] - SEEDS * 32 / 125) < 5 * 9;
	ok(right, "all pages of a range are equally likely");
}

/* A small relation with n pages read. */
static void
some(int n, double (*value) (int i, int n))
{
	ff_strata_begin(&strata, N, 2, 1);
	for (int i = 0; i < n; i++)
		ff_strata_add(&strata, i, (double[]) {value(i, n), 1});
}

static double
evenly(int i, int n)
{
	return i - (n - 1) / 2.0;
}

static double
evenly_above(int i, int n)
{
	return i - (n - 1) / 2.0 + 1000;
}

static double
single(int i, int n)
{
	return i == 3;
}

static double
same(int i, int n)
{
	return 1e9 / 3;
}

static double
tiny(int i, int n)
{
	return i == 3 ? 1e-6 : 0;
}

static double
nothing(int i, int n)
{
	return 0;
}

static double
eight(int i, int n)
{
	return 8;
}

static void
test_estimates(void)
{
	FfEstimate	e;
	int			right = 1;
	double		variance;

	for (int n = 2; n <= 40; n++)
	{
		some(n, evenly);
		e = ff_strata_estimate(&strata, 0, -1);
		/* sample variance of 0 .. n-1 is n(n+1)/12 */
		variance = (double) N * N / n * n * (n + 1) / 12 * (1 - (double) n / N);
		right &= fabs(e.value) < 1e-9 && close_to(e.error, t_of(n - 1) * sqrt(variance), 1e-6);
		some(n, evenly_above);
		e = ff_strata_estimate(&strata, 0, 1);
		right &= close_to(e.value, 1000, 1e-9) && close_to(e.error, t_of(n - 1) * sqrt(variance) / N, 1e-6);
		e = ff_strata_estimate(&strata, 0, -1);
		right &= close_to(e.value, 1000 * N, 1e-9) && close_to(e.error, t_of(n - 1) * sqrt(variance), 1e-6);
	}
	ok(right, "a total and a ratio have the right value and error");
	some(N, evenly_above);
	e = ff_strata_estimate(&strata, 0, -1);
	ok(close_to(e.value, 1000 * N, 1e-9) && e.error == 0, "a relation read whole has error 0");
	/* deviations of 0.95 and 19 times -0.05: squares 0.95, cubes 0.855; each page stands for 30 */
	some(20, single);
	e = ff_strata_estimate(&strata, 0, -1);
	variance = 900 * 20 / 19.0 * (1 - 20.0 / N) * 0.95;
	ok(close_to(e.value, 30, 1e-9) && close_to(e.error, t_of(19) * sqrt(variance + 2 * 27 * 27), 1e-6),
	   "a single different page: the error of a total is as if there were two more");
	e = ff_strata_estimate(&strata, 0, 1);
	ok(close_to(e.value, 0.05, 1e-9) && close_to(e.error, t_of(19) * sqrt(variance) / N, 1e-6),
	   "a single different page: the error of a ratio is not raised");
	e = ff_strata_estimate(&strata, 1, 0);
	ok(close_to(e.value, 20, 1e-9) && close_to(e.error, 20 * t_of(19) * sqrt(variance) / 30, 1e-6),
	   "a single different page: the inverse ratio has the same relative error");
	some(20, nothing);
	ok(isnan(ff_strata_estimate(&strata, 1, 0).value), "a ratio by zero is unknown");
	some(20, same);
	e = ff_strata_estimate(&strata, 0, -1);
	ok(close_to(e.value, N * 1e9 / 3, 1e-9) && e.error == 0 && ff_strata_estimate(&strata, 0, 1).error == 0,
	   "equal pages: rounding gives no error");
	some(20, tiny);
	ok(close_to(ff_strata_estimate(&strata, 0, -1).error, 1e-6 * t_of(19) * sqrt(variance + 2 * 27 * 27), 1e-6),
	   "a single different page: the error scales with the unit");
	some(1, evenly_above);
	ff_strata_begin(&strata, 16000, 1, 1);
	ff_strata_add(&strata, 5, (double[]) {7});
	ok(ff_strata_estimate(&strata, 0, -1).value == 7000, "a single page stands for its range");
	some(1, evenly_above);
	ok(ff_strata_estimate(&strata, 0, -1).error == 0, "a single page gives no error");

	some(20, nothing);
	e = ff_strata_total(&strata, 0, 10);
	/* three in twenty pages may be missed, also of the pages not read */
	ok(e.value == 0 && close_to(e.error, 3.0 / 20 * (N - 20) * 10, 1e-9),
	   "the error of a total covers rare pages that were not met");
	some(20, eight);
	ok(close_to(ff_strata_total(&strata, 0, 10).error, 3.0 / 20 * (N - 20) * 8, 1e-9),
	   "the error of a total covers rare empty pages if all are alike");
	some(20, evenly);
	ok(close_to(ff_strata_total(&strata, 0, 0.1).error, ff_strata_estimate(&strata, 0, -1).error, 1e-9),
	   "the error of a total is at least that of the pages read");
	some(N, eight);
	ok(ff_strata_total(&strata, 0, 10).error == 0, "a relation read whole misses no rare pages");
	ff_strata_begin(&strata, 0, 1, 1);
	e = ff_strata_total(&strata, 0, 10);
	ok(e.value == 0 && e.error == 0, "an empty relation has total 0 and error 0");
}

static void
test_strata(void)
{
	FfEstimate	e;
	double		part[2];
	double		size;

	/* two of sixteen ranges with different variance, others unread */
	ff_strata_begin(&strata, 16000, 1, 1);
	size = strata.stratum[0].size;
	for (int i = 0; i < 5; i++)
		ff_strata_add(&strata, i, (double[]) {3 * evenly(i, 5)});
	for (int i = 0; i < 9; i++)
		ff_strata_add(&strata, 1000 + i, (double[]) {evenly(i, 9)});
	e = ff_strata_estimate(&strata, 0, -1);
	part[0] = size * size / 5 * 9 * 5 * 6 / 12 * (1 - 5 / size);
	part[1] = size * size / 9 * 9 * 10 / 12 * (1 - 9 / size);
	ok(close_to(e.error, sqrt(part[0] + part[1]) *
				t_of((part[0] + part[1]) * (part[0] + part[1]) / (part[0] * part[0] / 4 + part[1] * part[1] / 8)),
					  1e-6), "variances of ranges add up, with degrees of freedom by Satterthwaite");

	/* a uniform range that differs from the next: as if one page were like the neighbour's */
	for (int k = 0; k < 2; k++)
	{
		ff_strata_begin(&strata, 16000, 1, 1);
		for (int i = 0; i < 15; i++)
			for (int j = 0; j < 4; j++)
				ff_strata_add(&strata, 1000 * i + j, (double[]) {i >= 5 && i <= 5 + k ? 3 : 0});
		e = ff_strata_estimate(&strata, 0, -1);
		part[k] = size * size / 4 * (1 - 4 / size) * 9 / 3;
		ok(close_to(e.value, 3 * size * (k + 1), 1e-9) &&
		   close_to(e.error, sqrt((3 + k) * part[k]) * t_of((3 + k) * 3), 1e-6),
		   k ? "two uniform ranges between others that differ from them" :
		   "a uniform range between others that differ from it");
	}
	/* of one range only a single page was read; its neighbours differ from it */
	ff_strata_begin(&strata, 16000, 1, 1);
	for (int i = 0; i < 15; i++)
		for (int j = 0; j < (i == 5 ? 1 : 4); j++)
			ff_strata_add(&strata, 1000 * i + j, (double[]) {i == 5 ? 3 : 0});
	e = ff_strata_estimate(&strata, 0, -1);
	ok(close_to(e.value, 3 * size, 1e-9) && close_to(e.error, sqrt(2 * part[0]) * t_of(2 * 3), 1e-6),
	   "a range with a single page read between others that differ from it");
	/* the first and the last have a neighbour on one side only */
	for (int k = 0; k < 2; k++)
	{
		int			odd;
		double		divisor = 0;

		part[k] = 0;
		ff_strata_begin(&strata, 16000, 1, 1);
		odd = k == 0 ? 0 : strata.nstrata - 1;
		for (int i = 0; i < strata.nstrata; i++)
			for (int j = 0; j < 2; j++)
				ff_strata_add(&strata, strata.stratum[i].first + j, (double[]) {i == odd ? 3 : 0});
		for (int i = k == 0 ? 0 : odd - 1; i < (k == 0 ? 2 : odd + 1); i++)
		{
			double		of = strata.stratum[i].size;
			double		more = of * of / 2 * (1 - 2 / of) * 9;

			part[k] += more;
			divisor += more * more;
		}
		e = ff_strata_estimate(&strata, 0, -1);
		ok(close_to(e.value, 3.0 * strata.stratum[odd].size, 1e-9) &&
		   close_to(e.error, sqrt(part[k]) * t_of(part[k] * part[k] / divisor), 1e-6),
		   k ? "a uniform last range differs from its only neighbour" :
		   "a uniform first range differs from its only neighbour");
	}
}

/* A relation whose first ranges vary from page to page, the others hardly. */
static double
page_of(BlockNumber block)
{
	double		u = murmurhash32(block + 17) / 4294967296.0;

	return block < 4000 ? 100 * u : 50 + 4 * u;
}

static void
read_all(int n, const BlockNumber *block)
{
	for (int i = 0; i < n; i++)
		ff_strata_add(&strata, block[i], (double[]) {page_of(block[i])});
}

static void
test_second(void)
{
	BlockNumber *block;
	int			metric = 0;
	int			first,
				more,
				fewer,
				right = 1;
	double		share;

	for (int seed = 0; seed < 20; seed++)
	{
		ff_strata_begin(&strata, 16000, 1, seed);
		first = ff_strata_first(&strata, 16000, &block);
		read_all(first, block);
		fewer = ff_strata_second(&strata, &metric, 1, 2, 16000, &block);
		more = ff_strata_second(&strata, &metric, 1, 0.3, 16000, &block);
		right &= fewer < more && ff_strata_second(&strata, &metric, 1, 20, 16000, &block) == 0;
		more = ff_strata_second(&strata, &metric, 1, 0.5, 16000, &block);
		read_all(more, block);
		share = 0;
		for (int i = 0; i < 4; i++)
			share += strata.stratum[i].nread / (double) (first + more);
		/* with the same number of each range about three times as many would be needed */
		right &= ff_strata_estimate(&strata, 0, -1).error / 16000 < 0.55 &&
			ff_strata_estimate(&strata, 0, -1).error / 16000 > 0.3 && share > 0.55 && first + more < 5000;
	}
	ok(right, "a second sample has the size for the wanted error, mostly where pages vary most");
	metric = 0;
	ff_strata_begin(&strata, 16000, 1, 1);
	first = ff_strata_first(&strata, 16000, &block);
	read_all(first, block);
	more = ff_strata_second(&strata, &metric, 1, 0.01, first + 1000, &block);
	ok(more <= 1000 && more > 900, "a second sample is not larger than allowed");
	ok(ff_strata_second(&strata, &metric, 0, 0.01, first + 1000, &block) == 0,
	   "no metric with a wanted error: no second sample");
	more = ff_strata_second(&strata, &metric, 1, 0.01, 20000, &block);
	for (int i = 0; i < more; i++)
		right &= block[i] < 16000 && (i == 0 || block[i] > block[i - 1]);
	ok(right && more > 4500 && more <= 16000 - first, "a small wanted error: no page is chosen twice");
	right = 1;
	for (int i = 0; i < nlent; i++)
		right &= lent[i].at[lent[i].size] == 'x';
	ok(right, "nothing is written beyond allocated memory");
}

/* Pages that vary equally everywhere: Neyman's allocation is a simple random sample. */
static void
test_plan(void)
{
	BlockNumber *block;
	int			metric = 0;
	int			n,
				right = 1;

	for (int k = 0; k < 2; k++)
	{
		double		error = k == 0 ? 0.05 : 0.01;
		double		target = error * 16000 / 1.959964;
		/* for 16,000 pages of +1 or -1, and 15 % more */
		double		wanted = 1.15 * 16000.0 * 16000 / (target * target + 16000);

		ff_strata_begin(&strata, 16000, 1, 3);
		n = ff_strata_first(&strata, 16000, &block);
		for (int i = 0; i < n; i++)
			ff_strata_add(&strata, block[i], (double[]) {murmurhash32(block[i]) % 2 * 2.0 - 1});
		n += ff_strata_second(&strata, &metric, 1, error, 16000, &block);
		ok(close_to(n, wanted, k == 0 ? 0.06 : 0.005), "the sample has the size of a simple random sample");
	}
	/* one page in 331 is different: ranges where some were met are like the others */
	ff_strata_begin(&strata, 160000, 1, 3);
	n = ff_strata_first(&strata, 160000, &block);
	for (int i = 0; i < n; i++)
		ff_strata_add(&strata, block[i], (double[]) {block[i] % 331 == 0 ? 100 : 0});
	n = ff_strata_second(&strata, &metric, 1, 0.5, 160000, &block);
	for (int i = 0; i < n; i++)
		ff_strata_add(&strata, block[i], (double[]) {block[i] % 331 == 0 ? 100 : 0});
	for (int i = 0; i < 15; i++)
		right &= strata.stratum[i].nread == strata.stratum[0].nread;
	ok(right && n > 500, "rare different pages: ranges that showed some get no more pages than others");
}

int
main(void)
{
	test_quantiles();
	test_ranges();
	test_choice();
	test_estimates();
	test_strata();
	test_second();
	test_plan();
	printf("1..%d\n", tests);
	return failed != 0;
}
