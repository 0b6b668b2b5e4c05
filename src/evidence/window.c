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

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_type_d.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/timestamp.h"

#include "base/module.h"
#include "base/numbers.h"

PG_FUNCTION_INFO_V1(ff_window_add);
PG_FUNCTION_INFO_V1(ff_window_sum);

/* Hours, besides the current one, whose intervals count singly (chosen). */
#define HOURS_APART		2

/* Days, besides the current one, whose hours count singly (chosen). */
#define DAYS_APART		2

/* Recent intervals have at least 1 / RECENT_PART of the fresh updates (chosen). */
#define RECENT_PART		3

/* Initial room for spans. */
#define FIRST_SPANS		8

/* The aggregate's arguments, after its state. */
enum
{
	FRESH_ARG = 1,				/* after the last change of fillfactor or indexes */
	BEGAN_ARG,
	ENDED_ARG,
	COUNTS_ARG
};

/* Columns in type table_window of what is counted, in the order of window_of()'s array. */
static const char *const count_name[] = {
	"inserted", "updated", "hot_updated", "newpage_updated", "seq_scans", "index_scans",
	"blocks_fetched"
};

#define UPDATED			1
#define COUNTS			lengthof(count_name)

/* One interval, hour or day. */
typedef struct Span
{
	TimestampTz unit;			/* begin of the hour or day; end of an interval */
	bool		fresh;
	TimestampTz began_at;
	TimestampTz ended_at;
	double		count[COUNTS];	/* NAN: unknown */
} Span;

typedef struct Window
{
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
	double		count[COUNTS];
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
begin_window(MemoryContext context)
{
	Window	   *w = MemoryContextAllocZero(context, sizeof(Window));
	TimestampTz now = GetCurrentTransactionStartTimestamp();

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
	for (int i = w->nspans - 1; i >= 0; i--)
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

/*
 * window_add(state, fresh, began_at, ended_at, counts)
 *
 * The aggregate's step: one interval.
 */
Datum
ff_window_add(PG_FUNCTION_ARGS)
{
	MemoryContext context;
	Window	   *w;
	Span	   *s;
	Datum	   *counts;
	bool	   *unknown;
	int			n;

	if (!AggCheckCallContext(fcinfo, &context))
		elog(ERROR, "window_add called outside an aggregate");
	w = PG_ARGISNULL(0) ? begin_window(context) : (Window *) PG_GETARG_POINTER(0);
	for (int i = FRESH_ARG; i <= COUNTS_ARG; i++)
		if (PG_ARGISNULL(i))
			PG_RETURN_POINTER(w);
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(COUNTS_ARG), INT8OID, sizeof(int64), FLOAT8PASSBYVAL,
					  TYPALIGN_DOUBLE, &counts, &unknown, &n);
	if (n != COUNTS || unknown[UPDATED])
		PG_RETURN_POINTER(w);

	s = find_span(w, PG_GETARG_BOOL(FRESH_ARG), PG_GETARG_TIMESTAMPTZ(BEGAN_ARG),
				  PG_GETARG_TIMESTAMPTZ(ENDED_ARG));
	s->began_at = Min(s->began_at, PG_GETARG_TIMESTAMPTZ(BEGAN_ARG));
	s->ended_at = Max(s->ended_at, PG_GETARG_TIMESTAMPTZ(ENDED_ARG));
	for (int i = 0; i < COUNTS; i++)
		s->count[i] += unknown[i] ? NAN : (double) DatumGetInt64(counts[i]);
	PG_RETURN_POINTER(w);
}

/* Adds a span; to be called with the newest first. */
static void
add_span(Sums *to, const Span *s)
{
	TimestampTz hour = floor_to(s->ended_at, USECS_PER_HOUR);

	if (to->spans == 0 || hour != to->hour)
	{
		to->squares += to->updated_in_hour * to->updated_in_hour;
		to->updated_in_hour = 0;
		to->hour = hour;
	}
	to->updated_in_hour += s->count[UPDATED];
	to->began_at = to->spans > 0 ? Min(to->began_at, s->began_at) : s->began_at;
	for (int i = 0; i < COUNTS; i++)
		to->count[i] += s->count[i];
	to->spans++;
}

/* One column of table_window from its sums; null without spans, and for an unknown count. */
static Datum
sum_datum(const Sums *sums, const char *name, bool *null)
{
	double		updated = sums->count[UPDATED];

	*null = false;
	if (strcmp(name, "began_at") == 0)
	{
		*null = sums->spans == 0;
		return TimestampTzGetDatum(sums->began_at);
	}
	if (strcmp(name, "intervals") == 0)
		return Int64GetDatum(sums->spans);
	if (strcmp(name, "cycles") == 0)
	{
		*null = updated == 0;
		return Float8GetDatum(updated * updated /
							  fmax(1, sums->squares + sums->updated_in_hour * sums->updated_in_hour));
	}
	for (int i = 0; i < COUNTS; i++)
		if (strcmp(name, count_name[i]) == 0)
		{
			*null = isnan(sums->count[i]);
			return Int64GetDatum((int64) bound(sums->count[i], 0, 4e18));
		}
	elog(ERROR, "type table_window has a column \"%s\"", name);
	return (Datum) 0;
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
		double		others = fresh - w->span[i].count[UPDATED];

		if (w->span[i].fresh && w->span[i].count[UPDATED] > others && others >= ff_min_updates)
			return &w->span[i];
	}
	return NULL;
}

/*
 * window_sum(state)
 *
 * The aggregate's result, of type table_window: sums over the whole window, over the
 * fresh spans ("since_"), and over the recent ones of these: the newest, until they have a
 * third of the fresh updates (all if there are none).  One event is not a habit: the span of
 * find_event() does not count there.
 */
Datum
ff_window_sum(PG_FUNCTION_ARGS)
{
	enum {WHOLE, FRESH, RECENT, SUMS};
	static const char *const prefix[SUMS] = {"", "since_", "recent_"};
	Sums		sums[SUMS] = {0};
	Window	   *w;
	const Span *event;
	double		habit;
	TupleDesc	desc;
	Datum	   *values;
	bool	   *nulls;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	w = (Window *) PG_GETARG_POINTER(0);
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be table_window");
	qsort(w->span, w->nspans, sizeof(Span), compare_spans);
	for (int i = 0; i < w->nspans; i++)
	{
		add_span(&sums[WHOLE], &w->span[i]);
		if (w->span[i].fresh)
			add_span(&sums[FRESH], &w->span[i]);
	}
	event = find_event(w, sums[FRESH].count[UPDATED]);
	habit = sums[FRESH].count[UPDATED] - (event ? event->count[UPDATED] : 0);
	for (int i = 0; i < w->nspans; i++)
		if (w->span[i].fresh && &w->span[i] != event &&
			(habit == 0 || RECENT_PART * sums[RECENT].count[UPDATED] < habit))
			add_span(&sums[RECENT], &w->span[i]);
	values = palloc(sizeof(Datum) * desc->natts);
	nulls = palloc(sizeof(bool) * desc->natts);
	for (int i = 0; i < desc->natts; i++)
	{
		const char *name = NameStr(TupleDescAttr(desc, i)->attname);
		int			k = SUMS - 1;

		while (strncmp(name, prefix[k], strlen(prefix[k])) != 0)
			k--;
		values[i] = sum_datum(&sums[k], name + strlen(prefix[k]), &nulls[i]);
	}
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}
