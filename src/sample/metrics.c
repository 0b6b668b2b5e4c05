/*
 * metrics.c
 *	  The columns of the type page_sample: what each says, and what it keeps of
 *	  earlier samples.
 *
 * This table is all that has to know a column.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "compat.h"
#include "sample/heap.h"

PG_FUNCTION_INFO_V1(ff_pool_samples);

/* Bins of rows of a group: 1, 2, 3-4, 5-8, ..., 129-256, more. */
#define GROUP_BINS 10

/* Lengths told apart; where there are more, neighbours become their mean. */
#define LENGTHS 16

/* Powers of two that an age or distance may have. */
#define LOG2_BINS 32

/* Columns of its own. */
typedef enum Kind
{
	CALLER,						/* the function's caller fills it */
	SAMPLED_AT,
	FILLFACTOR,
	MOST_ROWS,
	MEDIAN_GROUP,				/* of a group histogram, or else of another */
	MEDIAN,						/* of a histogram of numbers */
	LENGTH_PAIRS,
	GROUP_SHARES,				/* rows, by GROUP_BINS */
	LOG2_SHARES					/* rows, by power of two */
} Kind;

/* What becomes of an earlier sample's value. */
typedef enum Pooling
{
	LAST,						/* nothing */
	LAST_KNOWN,					/* stands where this sample has none */
	SUM,						/* is added, faded */
	SPLIT_SUM					/* the same, since the last change */
} Pooling;

static const FfColumn columns[] = {
	{"rel_id", FF_OWN, .kind = CALLER},
	{"sampled_at", FF_OWN, .kind = SAMPLED_AT},
	{"rollup", FF_OWN, .kind = CALLER},
	{"fillfactor", FF_OWN, .kind = FILLFACTOR},
	{"blocks", FF_BLOCKS},
	{"blocks_read", FF_COUNT, offsetof(FfSample, pages_read)},
	{"blocks_new", FF_COUNT, offsetof(FfSample, pages_new)},
	{"blocks_bad", FF_COUNT, offsetof(FfSample, pages_bad)},
	{"live_pct", FF_MEAN, FF_HEAP_LIVE_BYTES},
	{"live_pct_err", FF_MEAN_ERR, FF_HEAP_LIVE_BYTES},
	{"dead_pct", FF_MEAN, FF_HEAP_DEAD_BYTES},
	{"dead_pct_err", FF_MEAN_ERR, FF_HEAP_DEAD_BYTES},
	{"free_pct", FF_MEAN, FF_HEAP_FREE_BYTES},
	{"free_pct_err", FF_MEAN_ERR, FF_HEAP_FREE_BYTES},
	{"live_rows", FF_TOTAL, FF_HEAP_LIVE_ROWS},
	{"live_rows_err", FF_TOTAL_ERR, FF_HEAP_LIVE_ROWS},
	{"dead_rows", FF_TOTAL, FF_HEAP_DEAD_ROWS},
	{"recently_dead_rows", FF_TOTAL, FF_HEAP_RECENT_ROWS},
	{"updated_hot_rows", FF_TOTAL, FF_HEAP_UPDATED_HOT},
	{"updated_nonhot_rows", FF_TOTAL, FF_HEAP_UPDATED_NONHOT},
	{"superseded_hot", FF_TOTAL, FF_HEAP_SUPERSEDED_HOT, .pooling = SPLIT_SUM},
	{"superseded_same_page", FF_TOTAL, FF_HEAP_SUPERSEDED_SAME, .pooling = SPLIT_SUM},
	{"superseded_newpage", FF_TOTAL, FF_HEAP_SUPERSEDED_NEWPAGE, .pooling = SPLIT_SUM},
	{"rows_per_page", FF_RATIO, FF_HEAP_LIVE_ROWS, FF_HEAP_INHABITED, 1},
	{"rows_per_page_max", FF_OWN, .kind = MOST_ROWS},
	{"inserted_width", FF_RATIO, FF_HEAP_INSERTED_BYTES, FF_HEAP_INSERTED_ROWS, 1,
	.pooling = LAST_KNOWN},
	{"inserted_width_err", FF_RATIO_ERR, FF_HEAP_INSERTED_BYTES, FF_HEAP_INSERTED_ROWS, 1,
	.pooling = LAST_KNOWN},
	{"updated_width", FF_RATIO, FF_HEAP_UPDATED_BYTES, FF_HEAP_UPDATED_ROWS, 1,
	.pooling = LAST_KNOWN},
	{"updated_width_err", FF_RATIO_ERR, FF_HEAP_UPDATED_BYTES, FF_HEAP_UPDATED_ROWS, 1,
	.pooling = LAST_KNOWN},
	{"updated_pct", FF_RATIO, FF_HEAP_UPDATED_ROWS, FF_HEAP_LIVE_ROWS, 100},
	{"update_group_rows", FF_OWN, FF_OLD_PAGE_GROUPS, FF_NEW_PAGE_GROUPS,
	.kind = MEDIAN_GROUP, .pooling = LAST_KNOWN},
	{"insert_group_rows", FF_OWN, FF_INSERT_GROUPS, FF_INSERT_GROUPS,
	.kind = MEDIAN_GROUP, .pooling = LAST_KNOWN},
	{"update_distance", FF_OWN, FF_UPDATE_DISTANCES, .kind = MEDIAN, .pooling = LAST_KNOWN},
	{"fill_histogram", FF_FILL},
	{"inserted_lengths", FF_OWN, FF_INSERTED_LENGTHS, .kind = LENGTH_PAIRS, .pooling = SUM},
	{"updated_lengths", FF_OWN, FF_UPDATED_LENGTHS, .kind = LENGTH_PAIRS, .pooling = SUM},
	{"group_old_page", FF_OWN, FF_OLD_PAGE_GROUPS, .kind = GROUP_SHARES, .pooling = SUM},
	{"group_new_page", FF_OWN, FF_NEW_PAGE_GROUPS, .kind = GROUP_SHARES, .pooling = SUM},
	{"update_distances", FF_OWN, FF_UPDATE_DISTANCES, .kind = LOG2_SHARES, .pooling = SUM},
	{"update_ages", FF_OWN, FF_UPDATE_AGES, .kind = LOG2_SHARES}
};

/* ---------- values ---------- */

/* Values without the zeros at the end, as real[]; NULL where all are zero. */
static Datum
shares_datum(const double *value, int n, bool *isnull)
{
	Datum	   *element = palloc(sizeof(Datum) * n);

	while (n > 0 && value[n - 1] == 0)
		n--;
	for (int i = 0; i < n; i++)
		element[i] = Float4GetDatum((float4) value[i]);
	*isnull = n == 0;
	return PointerGetDatum(construct_array(element, n, FLOAT4OID, sizeof(float4),
										   true, TYPALIGN_INT));
}

/* Merges neighbouring (length, rows) pairs that differ least until few are left. */
static int
merge_lengths(double *pair, int n)
{
	while (n > LENGTHS)
	{
		int			best = 0;
		double		least = INFINITY;
		double	   *p;
		double		rows;

		/* what merging adds to the squared deviations */
		for (int i = 0; i + 1 < n; i++)
		{
			double		gap = pair[2 * i + 2] - pair[2 * i];
			double		both = pair[2 * i + 1] + pair[2 * i + 3];
			double		loss = pair[2 * i + 1] * pair[2 * i + 3] / both * gap * gap;

			if (loss < least)
			{
				least = loss;
				best = i;
			}
		}
		p = pair + 2 * best;
		rows = p[1] + p[3];
		p[0] = (p[0] * p[1] + p[2] * p[3]) / rows;
		p[1] = rows;
		memmove(p + 2, p + 4, sizeof(double) * 2 * (n - best - 2));
		n--;
	}
	return n;
}

static Datum
lengths_datum(const FfHistogram *h, const FfStrata *strata, bool *isnull)
{
	double	   *pair = palloc(sizeof(double) * 2 * h->nbins);
	int			n = 0;

	for (int i = 0; i < h->nbins; i++)
	{
		double		rows = ff_bin_weight(h, strata, i);

		if (rows > 0)
		{
			pair[2 * n] = i * MAXIMUM_ALIGNOF;
			pair[2 * n++ + 1] = rows;
		}
	}
	return shares_datum(pair, 2 * merge_lengths(pair, n), isnull);
}

/* Rows by GROUP_BINS of their numbers, or by powers of two of the numbers that bins stand for. */
static Datum
bins_datum(const FfHistogram *h, const FfStrata *strata, Kind kind, bool *isnull)
{
	double		rows[Max(GROUP_BINS, LOG2_BINS)] = {0};

	for (int i = 0; i < h->nbins; i++)
	{
		double		number = kind == GROUP_SHARES ? i : ff_bin_number(i);
		int			bin = number < 2 ? 0 : (int) log2(number);

		if (kind == GROUP_SHARES)
			bin = number <= 1 ? 0 : Min(GROUP_BINS - 1, (int) ceil(log2(number)));
		rows[bin] += ff_bin_weight(h, strata, i);
	}
	return shares_datum(rows, lengthof(rows), isnull);
}

static double
own_number(const FfHeapSample *own, const FfColumn *c)
{
	const FfStrata *strata = &own->sample.strata;
	int			bin;

	switch (c->kind)
	{
		case FILLFACTOR:
			return RelationGetFillFactor(own->sample.rel, HEAP_DEFAULT_FILLFACTOR);
		case MOST_ROWS:
			return strata->blocks > 0 ? own->most_rows : NAN;
		case MEDIAN_GROUP:
			bin = ff_quantile_bin(&own->histogram[c->a], strata, 0.5);
			if (bin < 0)
				bin = ff_quantile_bin(&own->histogram[c->b], strata, 0.5);
			return bin < 0 ? NAN : bin;
		case MEDIAN:
			bin = ff_quantile_bin(&own->histogram[c->a], strata, 0.5);
			return bin < 0 ? NAN : ff_bin_number(bin);
		default:
			return NAN;			/* CALLER */
	}
}

static Datum
own_value(const FfSample *sample, const FfColumn *c, Form_pg_attribute attribute, bool *isnull)
{
	const FfHeapSample *own = (const FfHeapSample *) sample;

	switch (c->kind)
	{
		case SAMPLED_AT:
			return TimestampTzGetDatum(own->sampled_at);
		case LENGTH_PAIRS:
			return lengths_datum(&own->histogram[c->a], &sample->strata, isnull);
		case GROUP_SHARES:
		case LOG2_SHARES:
			return bins_datum(&own->histogram[c->a], &sample->strata, c->kind, isnull);
		default:
			return ff_number_datum(own_number(own, c), attribute, isnull);
	}
}

/* The sample as a row of the type page_sample. */
Datum
ff_heap_row(FunctionCallInfo fcinfo, FfHeapSample *own)
{
	return ff_sample_row(fcinfo, &own->sample, columns, lengthof(columns), own_value);
}

/* ---------- pooling ---------- */

/* The numbers of a real[]. */
static double *
array_numbers(Datum datum, int *n)
{
	Datum	   *element;
	double	   *number;

	deconstruct_array(DatumGetArrayTypeP(datum), FLOAT4OID, sizeof(float4), true,
					  TYPALIGN_INT, &element, NULL, n);
	number = palloc(sizeof(double) * Max(*n, 1));
	for (int i = 0; i < *n; i++)
		number[i] = DatumGetFloat4(element[i]);
	return number;
}

/* a + keep * b, bin by bin or length by length. */
static Datum
pool_arrays(bool lengths, Datum a, Datum b, double keep, bool *isnull)
{
	int			na;
	int			nb;
	double	   *x = array_numbers(a, &na);
	double	   *y = array_numbers(b, &nb);
	double	   *sum = palloc0(sizeof(double) * (na + nb));
	int			n = 0;

	if (!lengths)
	{
		for (n = 0; n < Max(na, nb); n++)
			sum[n] = (n < na ? x[n] : 0) + (n < nb ? keep * y[n] : 0);
		return shares_datum(sum, n, isnull);
	}
	for (int i = 0, k = 0; i + 1 < na || k + 1 < nb; n++)
	{
		bool		from_x = k + 1 >= nb || (i + 1 < na && x[i] <= y[k]);
		bool		from_y = i + 1 >= na || (k + 1 < nb && y[k] <= x[i]);

		sum[2 * n] = from_x ? x[i] : y[k];
		sum[2 * n + 1] = (from_x ? x[i + 1] : 0) + (from_y ? keep * y[k + 1] : 0);
		i += from_x ? 2 : 0;
		k += from_y ? 2 : 0;
	}
	return shares_datum(sum, 2 * merge_lengths(sum, n), isnull);
}

/*
 * pool_samples(sample page_sample, earlier page_sample, keep float8,
 *				same_state boolean) returns page_sample
 *
 * The sample (the same where anything else is NULL) with what the earlier one
 * knew: what adds up is added, times keep; what the pages do not say now stays
 * as it was.  same_state: fillfactor and indexes are the same, so old versions
 * of both count.
 */
Datum
ff_pool_samples(PG_FUNCTION_ARGS)
{
	HeapTupleHeader row;
	TupleDesc	desc;
	const FfColumn **column;
	Datum	   *values[2];
	bool	   *nulls[2];
	double		keep;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	row = PG_GETARG_HEAPTUPLEHEADER(0);
	if (PG_ARGISNULL(1) || PG_ARGISNULL(2) || PG_ARGISNULL(3))
		PG_RETURN_HEAPTUPLEHEADER(row);
	keep = PG_GETARG_FLOAT8(2);
	desc = lookup_rowtype_tupdesc_copy(HeapTupleHeaderGetTypeId(row),
									   HeapTupleHeaderGetTypMod(row));
	column = ff_find_columns(desc, columns, lengthof(columns));
	for (int k = 0; k < 2; k++)
	{
		HeapTupleHeader from = PG_GETARG_HEAPTUPLEHEADER(k);
		HeapTupleData tuple = {.t_len = HeapTupleHeaderGetDatumLength(from),.t_data = from};

		values[k] = palloc(sizeof(Datum) * desc->natts);
		nulls[k] = palloc(sizeof(bool) * desc->natts);
		heap_deform_tuple(&tuple, desc, values[k], nulls[k]);
	}
	for (int i = 0; i < desc->natts; i++)
	{
		bool	   *isnull = &nulls[0][i];
		Datum	   *value = &values[0][i];

		if (nulls[1][i])
			continue;
		switch ((Pooling) column[i]->pooling)
		{
			case LAST:
				break;
			case LAST_KNOWN:
				if (*isnull)
					*value = values[1][i];
				*isnull = false;
				break;
			case SUM:
				if (*isnull)
					*value = PointerGetDatum(construct_empty_array(FLOAT4OID));
				*value = pool_arrays(column[i]->kind == LENGTH_PAIRS, *value, values[1][i], keep,
									 isnull);
				break;
			case SPLIT_SUM:
				if (PG_GETARG_BOOL(3))
					*value = Float8GetDatum(DatumGetFloat8(*value) +
											keep * DatumGetFloat8(values[1][i]));
				break;
		}
	}
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values[0], nulls[0])));
}
