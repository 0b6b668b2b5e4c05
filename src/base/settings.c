/*
 * settings.c
 *	  Module magic and the settings of the extension.
 *
 * The library need not be preloaded: the first call of one of its functions
 * defines the settings.  All may be changed per session, role or database.
 */
#include "postgres.h"

#include <limits.h>

#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "base/module.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(ff_setting);

int			ff_sample_pages;
double		ff_sample_error;
double		ff_sample_delay;
int			ff_sample_seed;
int			ff_collect_pages;
int			ff_collect_time;
int			ff_prune_batches;

/* The longest time that can be set: ten years, in seconds. */
#define LONGEST		(3650 * SECS_PER_DAY)

#define OURS(name) "fillfactor_advisor." name

/* Values of settings that only SQL functions read, through ff_setting(). */
static int	unread_int[8];

/* Either whole or real is set: where the value is stored. */
static const struct
{
	const char *name;
	int		   *whole;
	double	   *real;
	double		boot;
	double		min;
	double		max;
	int			unit;
	const char *description;
}			settings[] = {
	{OURS("sample_pages"), &ff_sample_pages, NULL, 3000, 100, 1000000, 0,
	"Most pages that one sample of a table reads."},
	{OURS("sample_error"), NULL, &ff_sample_error, 0.5, 0, 100, 0,
	"Wanted half width of a sample's 95 % intervals, in percentage points of the table; "
	"0 reads as much as allowed."},
	{OURS("sample_delay"), NULL, &ff_sample_delay, 0, 0, 10000, GUC_UNIT_MS,
	"Sleep after every 100 pages read, with the table's lock held; 0 reads at full speed."},
	{OURS("sample_seed"), &ff_sample_seed, NULL, 0, 0, INT_MAX, 0,
	"Seed for the choice of pages, to repeat a sample; 0 chooses other pages each time."},
	{OURS("collect_pages"), &ff_collect_pages, NULL, 100000, 1, INT_MAX, 0,
	"Pages of user tables after which a collection begins no further sample."},
	{OURS("collect_time"), &ff_collect_time, NULL, 60, 1, INT_MAX, GUC_UNIT_S,
	"Time after which a collection begins no further table."},
	{OURS("prune_batches"), &ff_prune_batches, NULL, 20, 0, INT_MAX, 0,
	"Most batches of old history that one collection removes."},
	{OURS("ram"), &unread_int[0], NULL, 0, 0, INT_MAX, GUC_UNIT_MB,
	"Memory that tables are compared with; 0 detects the machine's memory or the "
	"container's limit."},
	{OURS("lookback"), &unread_int[1], NULL, 7 * SECS_PER_DAY, SECS_PER_DAY, LONGEST, GUC_UNIT_S,
	"How far back advice looks."},
	{OURS("min_updates"), &ff_min_updates, NULL, 500, 1, INT_MAX, 0,
	"Updates needed before a table's HOT share is judged."},
	{OURS("min_confidence"), NULL, &ff_min_confidence, 0.2, 0, 1, 0,
	"Confidence below which a change is not advised yet."},
	{OURS("fits"), &unread_int[2], NULL, 100, 0, 1000000, 0,
	"Maximum of tables whose model one collection recomputes."},
	{OURS("retention"), &unread_int[3], NULL, 90 * SECS_PER_DAY, SECS_PER_DAY, LONGEST, GUC_UNIT_S,
	"How long history is kept."},
	{OURS("history_rows"), &unread_int[4], NULL, 5000000, 1000, INT_MAX, 0,
	"Intervals and page samples kept at most, rows of each; the oldest go first."},
	{OURS("statements"), &unread_int[5], NULL, 1000, 0, 100000, 0,
	"Most statements of pg_stat_statements that are followed; 0 reads none."},
	{OURS("snapshot_age"), &unread_int[6], NULL, 60, 0, INT_MAX, GUC_UNIT_S,
	"Age from which a transaction that holds back pruning is recorded."},
	{OURS("notify_worth"), &unread_int[7], NULL, -1, -1, INT_MAX, GUC_UNIT_MB,
	"WAL a day from which new advice is sent to listeners of channel fillfactor_advisor, "
	"with verdicts that a change hurt; -1 sends nothing."},
	{OURS("payback_time"), &ff_payback_time, NULL, 30 * SECS_PER_DAY, SECS_PER_MINUTE, LONGEST,
	GUC_UNIT_S,
	"Time within which a change of fillfactor, with its rewrite, must pay back."},
	{OURS("time_weight"), NULL, &ff_time_weight, 0.5, 0, 10, 0,
	"Weight (exponent) of time in the cost of a fillfactor."},
	{OURS("wal_weight"), NULL, &ff_wal_weight, 0.3, 0, 10, 0,
	"Weight (exponent) of WAL volume in the cost of a fillfactor."},
	{OURS("size_weight"), NULL, &ff_size_weight, 0.2, 0, 10, 0,
	"Weight (exponent) of size in the cost of a fillfactor."},
	{OURS("storage_weight"), NULL, &ff_storage_weight, 1, 0, 1, 0,
	"Share of unused page space that costs storage: 0 if the drive or file system "
	"compresses it."},
	{OURS("min_gain"), NULL, &ff_min_gain, 2, 0, 100, 0,
	"Cost that a change of fillfactor must save, in percent."},
	{OURS("min_worth"), NULL, &ff_min_worth, 1, 0, 100, 0,
	"WAL or time that a change of fillfactor must save, in percent of what the updates of the "
	"costliest table cost, unless it saves 8 MB of disk."},
	{OURS("page_read_cost"), NULL, &ff_page_read_cost, 0, 0, 1e7, 0,
	"Time of one random page read, in microseconds; 0 takes what track_io_timing "
	"measured, or 100."}
};

extern PGDLLEXPORT void _PG_init(void);

void
_PG_init(void)
{
	for (int i = 0; i < (int) lengthof(settings); i++)
	{
		if (settings[i].whole != NULL)
			DefineCustomIntVariable(settings[i].name, settings[i].description, NULL,
									settings[i].whole, settings[i].boot, settings[i].min,
									settings[i].max, PGC_USERSET, settings[i].unit,
									NULL, NULL, NULL);
		else
			DefineCustomRealVariable(settings[i].name, settings[i].description, NULL,
									 settings[i].real, settings[i].boot, settings[i].min,
									 settings[i].max, PGC_USERSET, settings[i].unit,
									 NULL, NULL, NULL);
	}
	MarkGUCPrefixReserved("fillfactor_advisor");
}

/*
 * SQL: setting().  Unlike current_setting() it also works in a session that has not loaded the
 * library yet: the call loads it.
 */
Datum
ff_setting(PG_FUNCTION_ARGS)
{
	char	   *name = psprintf("fillfactor_advisor.%s", text_to_cstring(PG_GETARG_TEXT_PP(0)));

	PG_RETURN_DATUM(DirectFunctionCall1(float8in,
										CStringGetDatum(GetConfigOption(name, false, false))));
}
