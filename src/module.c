/*
 * module.c
 *	  Module magic and the settings of the extension.
 *
 * The library need not be preloaded: the settings come to be with the first
 * call of one of its functions.  All of them may be changed per session, role
 * or database.
 */
#include "postgres.h"

#include <limits.h>

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "sample/sample.h"
#include "settings.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(ff_setting);

int			ff_ram_setting;
int			ff_sample_pages;
double		ff_sample_error;
double		ff_sample_delay;
int			ff_sample_seed;
int			ff_collect_pages;
int			ff_collect_time;
int			ff_prune_batches;
int			ff_lookback;

/*
 * Settings read by SQL functions only (through ff_setting): C keeps no
 * use for the values, but defines their type, range and description.
 */
static int	history_retention;
static int	history_rows;
static double min_confidence;
static int	fits;
static int	statements_followed;
static int	snapshot_age;

/* The longest times that can be set. */
#define MOST_DAYS		3650

extern PGDLLEXPORT void _PG_init(void);

static void
define_int(const char *name, const char *description, int *variable,
		   int boot, int min, int max, GucContext context, int flags)
{
	DefineCustomIntVariable(name, description, NULL, variable, boot, min, max,
							context, flags, NULL, NULL, NULL);
}

static void
define_real(const char *name, const char *description, double *variable,
			double boot, double min, double max, GucContext context, int flags)
{
	DefineCustomRealVariable(name, description, NULL, variable, boot, min, max,
							 context, flags, NULL, NULL, NULL);
}

void
_PG_init(void)
{
	define_int("fillfactor_advisor.sample_pages",
			   "Pages that one sample of a table reads at most.",
			   &ff_sample_pages, 3000, 100, 1000000, PGC_USERSET, 0);
	define_real("fillfactor_advisor.sample_error",
				"Wanted half width of a sample's 95 % intervals, in percentage points of the "
				"table; 0 reads as much as allowed.",
				&ff_sample_error, 0.5, 0, 100, PGC_USERSET, 0);
	define_real("fillfactor_advisor.sample_delay",
				"Sleep after every 100 pages read, the table's lock held; 0 reads at full speed.",
				&ff_sample_delay, 0, 0, 10000, PGC_USERSET, GUC_UNIT_MS);
	define_int("fillfactor_advisor.sample_seed",
			   "Seed of the choice of pages, to repeat a sample; 0 chooses anew each time.",
			   &ff_sample_seed, 0, 0, INT_MAX, PGC_USERSET, 0);
	define_int("fillfactor_advisor.collect_pages",
			   "Pages of user tables after which a collection begins no further sample.",
			   &ff_collect_pages, 100000, 1, INT_MAX, PGC_USERSET, 0);
	define_int("fillfactor_advisor.collect_time",
			   "Time after which a collection begins no further table.",
			   &ff_collect_time, 60, 1, INT_MAX, PGC_USERSET, GUC_UNIT_S);
	define_int("fillfactor_advisor.prune_batches",
			   "Batches of old history that one collection removes at most.",
			   &ff_prune_batches, 20, 0, INT_MAX, PGC_USERSET, 0);
	define_int("fillfactor_advisor.ram",
			   "Memory that tables are compared with; 0 detects the machine's memory or the "
			   "container's limit.",
			   &ff_ram_setting, 0, 0, INT_MAX, PGC_USERSET, GUC_UNIT_MB);
	define_int("fillfactor_advisor.lookback",
			   "How far back advice looks.",
			   &ff_lookback, 7 * SECS_PER_DAY, SECS_PER_DAY, MOST_DAYS * SECS_PER_DAY,
			   PGC_USERSET, GUC_UNIT_S);
	define_int("fillfactor_advisor.min_updates",
			   "Updates that must have been seen before a table's HOT share is judged.",
			   &ff_min_updates, 500, 1, INT_MAX, PGC_USERSET, 0);
	define_real("fillfactor_advisor.min_confidence",
				"Confidence below which a change is not advised yet.",
				&min_confidence, 0.2, 0, 1, PGC_USERSET, 0);
	define_int("fillfactor_advisor.fits",
			   "Tables that one collection fits at most, and one call that reads advice where collections did not.",
			   &fits, 100, 0, 1000000, PGC_USERSET, 0);
	define_int("fillfactor_advisor.retention",
			   "How long history is kept.",
			   &history_retention, 90 * SECS_PER_DAY, SECS_PER_DAY, MOST_DAYS * SECS_PER_DAY,
			   PGC_USERSET, GUC_UNIT_S);
	define_int("fillfactor_advisor.history_rows",
			   "Intervals and page samples kept at most, rows of each; the oldest go first.",
			   &history_rows, 5000000, 1000, INT_MAX, PGC_USERSET, 0);
	define_int("fillfactor_advisor.statements",
			   "Statements of pg_stat_statements that are followed at most; 0 reads none.",
			   &statements_followed, 1000, 0, 100000, PGC_USERSET, 0);
	define_int("fillfactor_advisor.snapshot_age",
			   "Age from which a transaction that holds back pruning is written down.",
			   &snapshot_age, 60, 0, INT_MAX, PGC_USERSET, GUC_UNIT_S);

	define_int("fillfactor_advisor.payback_time",
			   "Time in which a change of fillfactor, with its rewrite, must have paid.",
			   &ff_payback_time, 30 * SECS_PER_DAY, SECS_PER_MINUTE, MOST_DAYS * SECS_PER_DAY,
			   PGC_USERSET, GUC_UNIT_S);
	define_real("fillfactor_advisor.time_weight",
				"Weight (exponent) of time in the cost of a fillfactor.",
				&ff_time_weight, 0.5, 0, 10, PGC_USERSET, 0);
	define_real("fillfactor_advisor.wal_weight",
				"Weight (exponent) of WAL volume in the cost of a fillfactor.",
				&ff_wal_weight, 0.3, 0, 10, PGC_USERSET, 0);
	define_real("fillfactor_advisor.size_weight",
				"Weight (exponent) of size in the cost of a fillfactor.",
				&ff_size_weight, 0.2, 0, 10, PGC_USERSET, 0);
	define_real("fillfactor_advisor.storage_weight",
				"Share of unused page space that costs storage: 0 where the drive or file system "
				"compresses it.",
				&ff_storage_weight, 1, 0, 1, PGC_USERSET, 0);
	define_real("fillfactor_advisor.min_gain",
				"Cost that a change of fillfactor must save, in percent.",
				&ff_min_gain, 2, 0, 100, PGC_USERSET, 0);
	define_real("fillfactor_advisor.page_read_cost",
				"Time of one random page read, in microseconds; 0 takes what track_io_timing "
				"measured, else 100.",
				&ff_page_read_cost, 0, 0, 1e7, PGC_USERSET, 0);

	MarkGUCPrefixReserved("fillfactor_advisor");
}

/*
 * ff_setting(name text)
 *
 * The value of one of the extension's settings, fillfactor_advisor.NAME: a
 * number of its base unit (pg_settings.unit) without that unit, so that a
 * lookback of '7d' is 604800.  Unlike current_setting() it also works in a session
 * that has not loaded the library yet: the call itself loads it.
 *
 * Errors: 42704 where there is no such setting.
 */
Datum
ff_setting(PG_FUNCTION_ARGS)
{
	char	   *name = psprintf("fillfactor_advisor.%s", text_to_cstring(PG_GETARG_TEXT_PP(0)));

	PG_RETURN_TEXT_P(cstring_to_text(GetConfigOption(name, false, false)));
}
