/*
 * metrics.c
 *	  The columns of the type page_sample: what each says, and what it keeps of
 *	  earlier samples.
 *
 * One table of metrics is all that has to know a column.  Columns are found by
 * name and given the type that they have there; a column without a metric, or
 * a metric without a column, is an error.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
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

typedef enum Source
{
	CALLER,						/* the function's caller fills it */
	SAMPLED_AT,
	FILLFACTOR,
	BLOCKS,
	COUNT,						/* of pages read: offset in FfHeapSample */
	MEAN, MEAN_ERR,				/* percent of the pages' bytes */
	TOTAL, TOTAL_ERR,			/* in the table */
	RATIO, RATIO_ERR,			/* of two metrics */
	MOST_ROWS,
	MEDIAN_GROUP,				/* of a group histogram, or else of another */
	QUANTILE,					/* of a histogram of numbers; percent */
	FILL,
	LENGTH_PAIRS,
	GROUP_SHARES,				/* rows, by GROUP_BINS */
	LOG2_SHARES					/* rows or pages, by power of two */
} Source;

/* What becomes of an earlier sample's value. */
typedef enum Pooling
{
	LAST,						/* nothing */
	LAST_KNOWN,					/* stands where this sample has none */
	SUM,						/* is added, faded */
	SPLIT_SUM					/* the same, since the last change */
} Pooling;

typedef struct Metric
{
	const char *column;
	Source		source;
	int			a;
	int			b;
	double		factor;
	Pooling		pooling;
} Metric;

static const Metric metrics[] = {
	{"rel_id", CALLER},
	{"sampled_at", SAMPLED_AT},
	{"rollup", CALLER},
	{"fillfactor", FILLFACTOR},
	{"blocks", BLOCKS},
	{"blocks_read", COUNT, offsetof(FfHeapSample, pages_read)},
	{"blocks_new", COUNT, offsetof(FfHeapSample, pages_new)},
	{"blocks_bad", COUNT, offsetof(FfHeapSample, pages_bad)},
	{"live_pct", MEAN, FF_HEAP_LIVE_BYTES},
	{"live_pct_err", MEAN_ERR, FF_HEAP_LIVE_BYTES},
	{"dead_pct", MEAN, FF_HEAP_DEAD_BYTES},
	{"dead_pct_err", MEAN_ERR, FF_HEAP_DEAD_BYTES},
	{"free_pct", MEAN, FF_HEAP_FREE_BYTES},
	{"free_pct_err", MEAN_ERR, FF_HEAP_FREE_BYTES},
	{"live_rows", TOTAL, FF_HEAP_LIVE_ROWS},
	{"live_rows_err", TOTAL_ERR, FF_HEAP_LIVE_ROWS},
	{"dead_rows", TOTAL, FF_HEAP_DEAD_ROWS},
	{"recently_dead_rows", TOTAL, FF_HEAP_RECENT_ROWS},
	{"updated_hot_rows", TOTAL, FF_HEAP_UPDATED_HOT},
	{"updated_nonhot_rows", TOTAL, FF_HEAP_UPDATED_NONHOT},
	{"superseded_hot", TOTAL, FF_HEAP_SUPERSEDED_HOT, .pooling = SPLIT_SUM},
	{"superseded_same_page", TOTAL, FF_HEAP_SUPERSEDED_SAME, .pooling = SPLIT_SUM},
	{"superseded_newpage", TOTAL, FF_HEAP_SUPERSEDED_NEWPAGE, .pooling = SPLIT_SUM},
	{"rows_per_page", RATIO, FF_HEAP_LIVE_ROWS, FF_HEAP_INHABITED, 1},
	{"rows_per_page_max", MOST_ROWS},
	{"inserted_width", RATIO, FF_HEAP_INSERTED_BYTES, FF_HEAP_INSERTED_ROWS, 1, LAST_KNOWN},
	{"inserted_width_err", RATIO_ERR, FF_HEAP_INSERTED_BYTES, FF_HEAP_INSERTED_ROWS, 1, LAST_KNOWN},
	{"updated_width", RATIO, FF_HEAP_UPDATED_BYTES, FF_HEAP_UPDATED_ROWS, 1, LAST_KNOWN},
	{"updated_width_err", RATIO_ERR, FF_HEAP_UPDATED_BYTES, FF_HEAP_UPDATED_ROWS, 1, LAST_KNOWN},
	{"updated_pct", RATIO, FF_HEAP_UPDATED_ROWS, FF_HEAP_LIVE_ROWS, 100},
	{"update_group_rows", MEDIAN_GROUP, FF_OLD_PAGE_GROUPS, FF_NEW_PAGE_GROUPS, .pooling = LAST_KNOWN},
	{"insert_group_rows", MEDIAN_GROUP, FF_INSERT_GROUPS, FF_INSERT_GROUPS, .pooling = LAST_KNOWN},
	{"update_distance", QUANTILE, FF_UPDATE_DISTANCES, 50, .pooling = LAST_KNOWN},
	{"fill_histogram", FILL},
	{"inserted_lengths", LENGTH_PAIRS, FF_INSERTED_LENGTHS, .pooling = SUM},
	{"updated_lengths", LENGTH_PAIRS, FF_UPDATED_LENGTHS, .pooling = SUM},
	{"insert_group", GROUP_SHARES, FF_INSERT_GROUPS, .pooling = SUM},
	{"group_old_page", GROUP_SHARES, FF_OLD_PAGE_GROUPS, .pooling = SUM},
	{"group_new_page", GROUP_SHARES, FF_NEW_PAGE_GROUPS, .pooling = SUM},
	{"update_distances", LOG2_SHARES, FF_UPDATE_DISTANCES, .pooling = SUM},
	{"update_ages", LOG2_SHARES, FF_UPDATE_AGES}
};

/* ---------- values ---------- */

/* A number, in the column's type; NaN is NULL. */
static Datum
number_datum(double value, Form_pg_attribute column, bool *isnull)
{
	*isnull = isnan(value);
	if (*isnull)
		return (Datum) 0;
	switch (column->atttypid)
	{
		case INT2OID:
			return Int16GetDatum((int16) value);
		case INT4OID:
			return Int32GetDatum((int32) value);
		case INT8OID:
			return Int64GetDatum((int64) value);
		case FLOAT4OID:
			return Float4GetDatum((float4) value);
		case FLOAT8OID:
			return Float8GetDatum(value);
	}
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("column \"%s\" of a page sample has type %s", NameStr(column->attname),
					format_type_be(column->atttypid))));
}

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
lengths_datum(const FfHeapSample *sample, int which, bool *isnull)
{
	const FfHistogram *h = &sample->histogram[which];
	double	   *pair = palloc(sizeof(double) * 2 * h->nbins);
	int			n = 0;

	for (int i = 0; i < h->nbins; i++)
	{
		double		rows = ff_bin_weight(h, &sample->strata, i);

		if (rows > 0)
		{
			pair[2 * n] = i * MAXIMUM_ALIGNOF;
			pair[2 * n++ + 1] = rows;
		}
	}
	return shares_datum(pair, 2 * merge_lengths(pair, n), isnull);
}

static Datum
groups_datum(const FfHeapSample *sample, int which, bool *isnull)
{
	double		rows[GROUP_BINS] = {0};

	for (int i = 1, bin = 0; i < sample->histogram[which].nbins; i++)
	{
		if (bin < GROUP_BINS - 1 && i > 1 << bin)
			bin++;
		rows[bin] += ff_bin_weight(&sample->histogram[which], &sample->strata, i);
	}
	return shares_datum(rows, GROUP_BINS, isnull);
}

static Datum
log2_datum(const FfHeapSample *sample, int which, bool *isnull)
{
	double		weight[LOG2_BINS] = {0};

	for (int i = 0; i < sample->histogram[which].nbins; i++)
	{
		double		number = ff_bin_number(i);

		weight[number < 2 ? 0 : (int) log2(number)] +=
			ff_bin_weight(&sample->histogram[which], &sample->strata, i);
	}
	return shares_datum(weight, LOG2_BINS, isnull);
}

static Datum
fill_datum(const FfHeapSample *sample)
{
	Datum		element[FF_FILL_BINS];

	for (int i = 0; i < FF_FILL_BINS; i++)
		element[i] = Int32GetDatum(sample->fill_bin[i]);
	return PointerGetDatum(construct_array(element, FF_FILL_BINS, INT4OID,
										   sizeof(int32), true, TYPALIGN_INT));
}

static double
metric_number(const FfHeapSample *sample, const Metric *m)
{
	const FfStrata *strata = &sample->strata;
	const double percent = 100.0 / BLCKSZ;
	int			bin;

	switch (m->source)
	{
		case FILLFACTOR:
			return RelationGetFillFactor(sample->rel, HEAP_DEFAULT_FILLFACTOR);
		case BLOCKS:
			return strata->blocks;
		case COUNT:
			return *(const int *) ((const char *) sample + m->a);
		case MEAN:
			return ff_strata_mean(strata, m->a).value * percent;
		case MEAN_ERR:
			return ff_strata_mean(strata, m->a).error * percent;
		case TOTAL:
			return ff_strata_total(strata, m->a).value;
		case TOTAL_ERR:
			return ff_strata_total(strata, m->a).error;
		case RATIO:
			return ff_strata_ratio(strata, m->a, m->b).value * m->factor;
		case RATIO_ERR:
			return ff_strata_ratio(strata, m->a, m->b).error * m->factor;
		case MOST_ROWS:
			return strata->blocks > 0 ? sample->most_rows : NAN;
		case MEDIAN_GROUP:
			bin = ff_quantile_bin(&sample->histogram[m->a], strata, 0.5);
			if (bin < 0)
				bin = ff_quantile_bin(&sample->histogram[m->b], strata, 0.5);
			return bin < 0 ? NAN : bin;
		case QUANTILE:
			bin = ff_quantile_bin(&sample->histogram[m->a], strata, m->b / 100.0);
			return bin < 0 ? NAN : ff_bin_number(bin);
		default:
			return NAN;
	}
}

static Datum
metric_datum(const FfHeapSample *sample, const Metric *m,
			 Form_pg_attribute column, bool *isnull)
{
	*isnull = false;
	switch (m->source)
	{
		case CALLER:
			*isnull = true;
			return (Datum) 0;
		case SAMPLED_AT:
			return TimestampTzGetDatum(sample->sampled_at);
		case FILL:
			return fill_datum(sample);
		case LENGTH_PAIRS:
			return lengths_datum(sample, m->a, isnull);
		case GROUP_SHARES:
			return groups_datum(sample, m->a, isnull);
		case LOG2_SHARES:
			return log2_datum(sample, m->a, isnull);
		default:
			return number_datum(metric_number(sample, m), column, isnull);
	}
}

/* ---------- columns ---------- */

/* The metrics in the order of the type's columns. */
static const Metric **
find_metrics(TupleDesc desc)
{
	const Metric **found = palloc0(sizeof(Metric *) * desc->natts);
	int			n = 0;

	for (int i = 0; i < desc->natts; i++)
	{
		const char *name = NameStr(TupleDescAttr(desc, i)->attname);

		for (int k = 0; k < (int) lengthof(metrics); k++)
			if (strcmp(metrics[k].column, name) == 0)
				found[i] = &metrics[k];
		if (found[i] == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("a page sample has no metric \"%s\"", name),
					 errhint("The extension's library and its SQL objects are of different versions.")));
		n++;
	}
	for (int k = 0; n < (int) lengthof(metrics) && k < (int) lengthof(metrics); k++)
	{
		bool		is_there = false;

		for (int i = 0; i < desc->natts; i++)
			is_there |= found[i] == &metrics[k];
		if (!is_there)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("the type of page samples has no column \"%s\"", metrics[k].column),
					 errhint("The extension's library and its SQL objects are of different versions.")));
	}
	return found;
}

/* The sample as a row of the type page_sample. */
Datum
ff_sample_datum(const FfHeapSample *sample, TupleDesc desc)
{
	const Metric **metric = find_metrics(desc);
	Datum	   *values = palloc(sizeof(Datum) * desc->natts);
	bool	   *nulls = palloc(sizeof(bool) * desc->natts);

	for (int i = 0; i < desc->natts; i++)
		values[i] = metric_datum(sample, metric[i], TupleDescAttr(desc, i),
								 &nulls[i]);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls));
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
pool_arrays(const Metric *m, Datum a, Datum b, double keep, bool *isnull)
{
	int			na;
	int			nb;
	double	   *x = array_numbers(a, &na);
	double	   *y = array_numbers(b, &nb);
	double	   *sum = palloc0(sizeof(double) * (na + nb));
	int			n = 0;

	if (m->source != LENGTH_PAIRS)
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
 * The sample (the same where anything else is NULL) with what the earlier one knew: what adds up is added, times keep;
 * what the pages do not say now stays as it was.  same_state: fillfactor and
 * indexes are the same, so old versions of both count.
 */
Datum
ff_pool_samples(PG_FUNCTION_ARGS)
{
	HeapTupleHeader row[2];
	TupleDesc	desc;
	const Metric **metric;
	Datum	   *values[2];
	bool	   *nulls[2];
	double		keep;
	bool		same_state;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	row[0] = PG_GETARG_HEAPTUPLEHEADER(0);
	if (PG_ARGISNULL(1) || PG_ARGISNULL(2) || PG_ARGISNULL(3))
		PG_RETURN_HEAPTUPLEHEADER(row[0]);
	row[1] = PG_GETARG_HEAPTUPLEHEADER(1);
	keep = PG_GETARG_FLOAT8(2);
	same_state = PG_GETARG_BOOL(3);
	desc = lookup_rowtype_tupdesc_copy(HeapTupleHeaderGetTypeId(row[0]),
									   HeapTupleHeaderGetTypMod(row[0]));
	metric = find_metrics(desc);
	for (int k = 0; k < 2; k++)
	{
		HeapTupleData tuple = {.t_len = HeapTupleHeaderGetDatumLength(row[k]),.t_data = row[k]};

		values[k] = palloc(sizeof(Datum) * desc->natts);
		nulls[k] = palloc(sizeof(bool) * desc->natts);
		heap_deform_tuple(&tuple, desc, values[k], nulls[k]);
	}
	for (int i = 0; i < desc->natts; i++)
	{
		const Metric *m = metric[i];

		if (m->pooling == LAST || (m->pooling == SPLIT_SUM && !same_state) || nulls[1][i])
			continue;
		if (m->pooling == LAST_KNOWN && !nulls[0][i])
			continue;
		if (m->pooling == SPLIT_SUM)
			values[0][i] = Float8GetDatum(DatumGetFloat8(values[0][i]) +
										  keep * DatumGetFloat8(values[1][i]));
		else if (m->pooling == SUM)
			values[0][i] = pool_arrays(m, nulls[0][i] ? PointerGetDatum(construct_empty_array(FLOAT4OID)) :
									   values[0][i], values[1][i], keep, &nulls[0][i]);
		else
		{
			values[0][i] = values[1][i];
			nulls[0][i] = false;
		}
	}
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values[0], nulls[0])));
}
