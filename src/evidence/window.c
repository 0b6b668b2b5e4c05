/*
 * window.c
 *	  An aggregate over the intervals of a table, in any order: their sums over
 *	  the window, since the last change, and over the recent part.
 *
 * To find the recent part, new intervals count singly; those that ended before the
 * last HOURS_APART whole hours count as whole hours (UTC), those older than
 * DAYS_APART days as whole days.  So the figures are the same before and after
 * pruning has rolled intervals up.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type_d.h"
#include "executor/spi.h"
#include "utils/timestamp.h"

#include "base/module.h"
#include "collect/common.h"

PG_FUNCTION_INFO_V1(ff_window_add);
PG_FUNCTION_INFO_V1(ff_window_sum);

/* All chosen. */
#define HOURS_APART		2		/* hours, besides the current one, whose intervals count singly */
#define DAYS_APART		2		/* days, besides the current one, whose hours count singly */
#define RECENT_PART		3		/* recent intervals have at least 1 / this of the fresh updates */
#define FIRST_SPANS		8		/* initial room */

/* The aggregate's arguments, after its state. */
enum
{
	FRESH_ARG = 1,				/* after the last change of fillfactor or indexes */
	BEGAN_ARG,
	ENDED_ARG,
	COUNTED_ARG					/* type counters, each column an argument: a row would cost twice the time */
};

/* One interval, hour or day. */
typedef struct Span
{
	TimestampTz unit;			/* begin of the hour or day; end of an interval */
	bool		fresh;
	TimestampTz began_at;
	TimestampTz ended_at;
	double		count[FF_MAX_COUNTERS]; /* as in type counters; NAN: unknown */
} Span;

typedef struct Window
{
	int			counters;		/* columns of type counters */
	int			updated;		/* which of these it is */
	TimestampTz whole_hours;	/* intervals that ended before this count as hours */
	TimestampTz whole_days;		/* and before this, as days */
	Span	   *span;
	int			nspans;
	int			room;
} Window;

/* Spans added up. */
typedef struct Sums
{
	TimestampTz began_at;
	int64		spans;
	double		count[FF_MAX_COUNTERS];
	TimestampTz hour;			/* of the span added last */
	double		updated_in_hour;	/* updates of that hour */
	double		squares;		/* sum of squares of the updates of other hours */
} Sums;

/* The last whole multiple of this length (microseconds), in UTC. */
static TimestampTz
floor_to(TimestampTz at, int64 length)
{
	int64		past = at % length;

	return at - (past < 0 ? past + length : past);
}

static Window *
begin_window(FunctionCallInfo fcinfo, MemoryContext context, TupleDesc counters)
{
	Window	   *w = MemoryContextAllocZero(context, sizeof(Window));
	TimestampTz now = GetCurrentTransactionStartTimestamp();
	bool		right = PG_NARGS() == COUNTED_ARG + counters->natts;

	for (int i = 0; i < counters->natts && right; i++)
		right = get_fn_expr_argtype(fcinfo->flinfo, COUNTED_ARG + i) == INT8OID;
	if (!right)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("window_of() takes the %d columns of type counters", counters->natts)));
	w->counters = counters->natts;
	w->updated = SPI_fnumber(counters, "updated") - 1;
	w->whole_hours = floor_to(now - HOURS_APART * USECS_PER_HOUR, USECS_PER_HOUR);
	w->whole_days = floor_to(now - DAYS_APART * USECS_PER_DAY, USECS_PER_DAY);
	w->room = FIRST_SPANS;
	w->span = MemoryContextAlloc(context, sizeof(Span) * w->room);
	return w;
}

/* The span to which an interval belongs; most often the last one. */
static Span *
find_span(Window *w, bool fresh, TimestampTz began_at, TimestampTz ended_at)
{
	TimestampTz unit = ended_at;
	Span	   *s;

	if (ended_at < w->whole_days)
		unit = floor_to(ended_at, USECS_PER_DAY);
	else if (ended_at < w->whole_hours)
		unit = floor_to(ended_at, USECS_PER_HOUR);
	/* those that count singly have no other of their time */
	for (int i = ended_at < w->whole_hours ? w->nspans - 1 : -1; i >= 0; i--)
		if (w->span[i].unit == unit && w->span[i].fresh == fresh)
			return &w->span[i];
	if (w->nspans == w->room)
	{
		w->room *= 2;
		w->span = repalloc(w->span, sizeof(Span) * w->room);
	}
	s = &w->span[w->nspans++];
	*s = (Span) {
		.unit = unit,.fresh = fresh,.began_at = began_at,.ended_at = ended_at
	};
	return s;
}

/* SQL: window_add(), the aggregate's step: one interval */
Datum
ff_window_add(PG_FUNCTION_ARGS)
{
	MemoryContext context;
	Window	   *w;
	Span	   *s;
	TupleDesc	counters = ff_counters_desc(fcinfo);
	int64		count[FF_MAX_COUNTERS];

	if (!AggCheckCallContext(fcinfo, &context))
		elog(ERROR, "window_add called outside an aggregate");
	w = PG_ARGISNULL(0) ? begin_window(fcinfo, context, counters) : (Window *) PG_GETARG_POINTER(0);
	for (int i = 0; i < w->counters; i++)
		count[i] = PG_ARGISNULL(COUNTED_ARG + i) ? -1 : PG_GETARG_INT64(COUNTED_ARG + i);
	if (PG_ARGISNULL(FRESH_ARG) || PG_ARGISNULL(BEGAN_ARG) || PG_ARGISNULL(ENDED_ARG) || count[w->updated] < 0)
		PG_RETURN_POINTER(w);
	s = find_span(w, PG_GETARG_BOOL(FRESH_ARG), PG_GETARG_TIMESTAMPTZ(BEGAN_ARG),
				  PG_GETARG_TIMESTAMPTZ(ENDED_ARG));
	s->began_at = Min(s->began_at, PG_GETARG_TIMESTAMPTZ(BEGAN_ARG));
	s->ended_at = Max(s->ended_at, PG_GETARG_TIMESTAMPTZ(ENDED_ARG));
	for (int i = 0; i < w->counters; i++)
		s->count[i] += count[i] < 0 ? NAN : (double) count[i];
	PG_RETURN_POINTER(w);
}

/* Adds a span; to be called with the newest first. */
static void
add_span(const Window *w, Sums *to, const Span *s)
{
	TimestampTz hour = floor_to(s->ended_at, USECS_PER_HOUR);

	if (to->spans == 0 || hour != to->hour)
	{
		to->squares += to->updated_in_hour * to->updated_in_hour;
		to->updated_in_hour = 0;
		to->hour = hour;
	}
	to->updated_in_hour += s->count[w->updated];
	to->began_at = to->spans > 0 ? Min(to->began_at, s->began_at) : s->began_at;
	for (int i = 0; i < w->counters; i++)
		to->count[i] += s->count[i];
	to->spans++;
}

/* Sums as a value of type counters. */
static Datum
sums_datum(TupleDesc counters, const Sums *sums)
{
	int64		count[FF_MAX_COUNTERS];

	for (int i = 0; i < counters->natts; i++)
		count[i] = isnan(sums->count[i]) ? -1 : (int64) bound(sums->count[i], 0, 4e18);
	return ff_counters_datum(counters, count);
}

/* Sorts the newest first. */
static int
compare_spans(const void *a, const void *b)
{
	TimestampTz x = ((const Span *) a)->ended_at;
	TimestampTz y = ((const Span *) b)->ended_at;

	return x > y ? -1 : x < y;
}

/*
 * The fresh span with more updates than all others together, if these are enough to judge;
 * NULL if there is none.
 */
static const Span *
find_event(const Window *w, double fresh)
{
	for (int i = 0; i < w->nspans; i++)
	{
		double		updated = w->span[i].count[w->updated];
		double		others = fresh - updated;

		if (w->span[i].fresh && updated > others && others >= ff_min_updates)
			return &w->span[i];
	}
	return NULL;
}

/*
 * SQL: window_sum(), the aggregate's result: sums over the whole window, over the
 * fresh spans ("since"), and over the recent ones of these: the newest, until they have a
 * third of the fresh updates (all if there are none).  One event is not a habit: the span of
 * find_event() does not count there.
 */
Datum
ff_window_sum(PG_FUNCTION_ARGS)
{
	Sums		whole = {0};
	Sums		since = {0};
	Sums		recent = {0};
	TupleDesc	counters = ff_counters_desc(fcinfo);
	Window	   *w;
	const Span *event;
	double		updated;
	double		habit;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	w = (Window *) PG_GETARG_POINTER(0);
	qsort(w->span, w->nspans, sizeof(Span), compare_spans);
	for (int i = 0; i < w->nspans; i++)
	{
		add_span(w, &whole, &w->span[i]);
		if (w->span[i].fresh)
			add_span(w, &since, &w->span[i]);
	}
	event = find_event(w, since.count[w->updated]);
	habit = since.count[w->updated] - (event ? event->count[w->updated] : 0);
	for (int i = 0; i < w->nspans; i++)
		if (w->span[i].fresh && &w->span[i] != event &&
			(habit == 0 || RECENT_PART * recent.count[w->updated] < habit))
			add_span(w, &recent, &w->span[i]);
	updated = whole.count[w->updated];
	PG_RETURN_DATUM(ff_row(fcinfo, (Datum[]) {
		TimestampTzGetDatum(whole.began_at), Int64GetDatum(whole.spans), sums_datum(counters, &whole),
		Float8GetDatum(updated * updated /
					   fmax(1, whole.squares + whole.updated_in_hour * whole.updated_in_hour)),
		TimestampTzGetDatum(since.began_at), sums_datum(counters, &since), sums_datum(counters, &recent)
	}, (bool[]) {
		whole.spans == 0, false, false, updated == 0, since.spans == 0, false, false
	}));
}
