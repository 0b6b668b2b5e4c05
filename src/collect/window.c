/*
 * window.c
 *	  The window of the history that evidence is taken from, and which part of
 *	  it is recent.
 *
 * Three things make its figures such that they can be kept between two looks
 * (table ff_summary) and are still what a new look would find:
 * - The window begins at a whole day, at another hour of the day for each
 *	 table, so that each leaves a day behind once a day and not all at once.
 * - Intervals older than some hours count as whole hours (UTC), as pruning
 *	 will roll them up in any case.
 * - What is not recent any more never becomes it again: newer work only adds
 *	 to what must be newer than the rest.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/timestamp.h"

#include "settings.h"

PG_FUNCTION_INFO_V1(ff_window_since);
PG_FUNCTION_INFO_V1(ff_whole_hours);
PG_FUNCTION_INFO_V1(ff_unit);
PG_FUNCTION_INFO_V1(ff_recent);

/* Hours that stay apart, interval by interval, beside the one that is running. */
#define HOURS_APART		2

/* Recent intervals have at least one part of so many of the window's updates. */
#define RECENT_PART		3

/* The last whole multiple of this span (microseconds), counted from an origin. */
static TimestampTz
floor_to(TimestampTz at, int64 span, int64 origin)
{
	int64		past = (at - origin) % span;

	return at - (past < 0 ? past + span : past);
}

/* Until when intervals count as whole hours, in this transaction. */
static TimestampTz
whole_hours(void)
{
	return floor_to(GetCurrentTransactionStartTimestamp() - HOURS_APART * USECS_PER_HOUR, USECS_PER_HOUR, 0);
}

/*
 * ff_window_since(rel_id bigint)
 *
 * Where the window of a table begins: fillfactor_advisor.lookback and up
 * to a day more ago.
 */
Datum
ff_window_since(PG_FUNCTION_ARGS)
{
	int64		hour_of_day = PG_GETARG_INT64(0) % HOURS_PER_DAY;

	PG_RETURN_TIMESTAMPTZ(floor_to(GetCurrentTransactionStartTimestamp(), USECS_PER_DAY, hour_of_day * USECS_PER_HOUR) -
						  (int64) ff_lookback * USECS_PER_SEC);
}

/*
 * ff_whole_hours()
 *
 * Until when (exclusive) intervals count as whole hours: a whole hour at least
 * two hours ago.
 */
Datum
ff_whole_hours(PG_FUNCTION_ARGS)
{
	PG_RETURN_TIMESTAMPTZ(whole_hours());
}

/*
 * ff_unit(ended_at timestamptz)
 *
 * What an interval that ended then counts with: the begin of its hour where
 * that counts as a whole, else itself.
 */
Datum
ff_unit(PG_FUNCTION_ARGS)
{
	TimestampTz ended_at = PG_GETARG_TIMESTAMPTZ(0);

	PG_RETURN_TIMESTAMPTZ(ended_at < whole_hours() ? floor_to(ended_at, USECS_PER_HOUR, 0) : ended_at);
}

/*
 * ff_recent(total, updated, hot_updated, newpage_updated, inserted, seconds)
 *
 * Arrays: the same figure of each interval or hour, newest first; total: the
 * updates of the whole window.  Sums up those that are recent: the newest,
 * until they have a third of the total (all where there are none), each as a
 * whole.  recent: how many these are.  NULL in newpage_updated makes that sum
 * NULL.
 */
Datum
ff_recent(PG_FUNCTION_ARGS)
{
	int64		total = PG_GETARG_INT64(0);
	Datum	   *figure[5];
	bool	   *nulls[5];
	int			n[5];
	int			recent = 0;
	int64		updated = 0;
	int64		hot = 0;
	int64		newpage = 0;
	int64		inserted = 0;
	double		seconds = 0;
	bool		newpage_known = true;
	TupleDesc	tupdesc;
	Datum		values[6];
	bool		isnull[6] = {0};

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	for (int i = 0; i < 5; i++)
	{
		ArrayType  *array = PG_GETARG_ARRAYTYPE_P(i + 1);

		deconstruct_array(array, i < 4 ? INT8OID : FLOAT8OID, 8, FLOAT8PASSBYVAL, TYPALIGN_DOUBLE, &figure[i], &nulls[i], &n[i]);
		if (n[i] != n[0])
			ereport(ERROR,
					(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
					 errmsg("arrays of different lengths")));
	}
	while (recent < n[0] && (total == 0 || (double) RECENT_PART * updated < total))
	{
		updated += DatumGetInt64(figure[0][recent]);
		hot += DatumGetInt64(figure[1][recent]);
		newpage_known &= !nulls[2][recent];
		newpage += newpage_known ? DatumGetInt64(figure[2][recent]) : 0;
		inserted += DatumGetInt64(figure[3][recent]);
		seconds += DatumGetFloat8(figure[4][recent]);
		recent++;
	}
	values[0] = Int32GetDatum(recent);
	values[1] = Int64GetDatum(updated);
	values[2] = Int64GetDatum(hot);
	values[3] = Int64GetDatum(newpage);
	isnull[3] = !newpage_known;
	values[4] = Int64GetDatum(inserted);
	values[5] = Float8GetDatum(seconds);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(tupdesc), values, isnull)));
}
