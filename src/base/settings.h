/*
 * settings.h
 *	  The settings fillfactor_advisor.NAME: default, least and highest value, unit, description.
 *	  Each is kept in a variable ff_NAME, an int if it is INTEGER, else a double.
 *
 * Each file that includes this defines both macros.
 */
INTEGER(sample_pages, 3000, 100, 1000000, 0, "Most pages that one sample of a table reads.")
REAL(sample_error, 0.5, 0, 100, 0,
	"Wanted half width of a sample's 95 % intervals, in percentage points of the table; 0 reads "
	"as much as allowed.")
REAL(sample_delay, 0, 0, 10000, GUC_UNIT_MS,
	"Sleep after every 100 pages read, with the table's lock held; 0 reads at full speed.")
INTEGER(sample_seed, 0, 0, INT_MAX, 0,
	"Seed for the choice of pages, to repeat a sample; 0 chooses other pages each time.")
INTEGER(collect_pages, 100000, 1, INT_MAX, 0,
	"Pages of user tables after which a collection begins no further sample.")
INTEGER(collect_time, 60, 1, INT_MAX, GUC_UNIT_S,
	"Time after which a collection begins no further table.")
INTEGER(prune_batches, 20, 0, INT_MAX, 0, "Most batches of old history that one collection removes.")
INTEGER(ram, 0, 0, INT_MAX, GUC_UNIT_MB,
	"Memory that tables are compared with; 0 detects the machine's memory or the container's "
	"limit.")
INTEGER(lookback, 7 * SECS_PER_DAY, SECS_PER_DAY, LONGEST, GUC_UNIT_S, "How far back advice looks.")
INTEGER(min_updates, 500, 1, INT_MAX, 0, "Updates needed before a table's HOT share is judged.")
REAL(min_confidence, 0.2, 0, 1, 0, "Confidence below which a change is not advised yet.")
INTEGER(fits, 100, 0, 1000000, 0, "Maximum of tables whose model one collection recomputes.")
INTEGER(retention, 90 * SECS_PER_DAY, SECS_PER_DAY, LONGEST, GUC_UNIT_S, "How long history is kept.")
INTEGER(history_rows, 5000000, 1000, INT_MAX, 0,
	"Intervals and page samples kept at most, rows of each; the oldest go first.")
INTEGER(statements, 1000, 0, 100000, 0,
	"Most statements of pg_stat_statements that are followed; 0 reads none.")
INTEGER(snapshot_age, 60, 0, INT_MAX, GUC_UNIT_S,
	"Age from which a transaction that holds back pruning is recorded.")
INTEGER(notify_worth, -1, -1, INT_MAX, GUC_UNIT_MB,
	"WAL a day from which new advice is sent to listeners of channel fillfactor_advisor, with "
	"verdicts that a change hurt; -1 sends nothing.")
INTEGER(payback_time, 30 * SECS_PER_DAY, SECS_PER_MINUTE, LONGEST, GUC_UNIT_S,
	"Time within which a change of fillfactor, with its rewrite, must pay back.")
REAL(time_weight, 0.5, 0, 10, 0, "Weight (exponent) of time in the cost of a fillfactor.")
REAL(wal_weight, 0.3, 0, 10, 0, "Weight (exponent) of WAL volume in the cost of a fillfactor.")
REAL(size_weight, 0.2, 0, 10, 0, "Weight (exponent) of size in the cost of a fillfactor.")
REAL(storage_weight, 1, 0, 1, 0,
	"Share of unused page space that costs storage: 0 if the drive or file system compresses it.")
REAL(min_gain, 2, 0, 100, 0, "Cost that a change of fillfactor must save, in percent.")
REAL(min_worth, 1, 0, 100, 0,
	"WAL or time that a change of fillfactor must save, in percent of what the updates of the "
	"costliest table cost, unless it saves 8 MB of disk.")
REAL(page_read_cost, 0, 0, 1e7, 0,
	"Time of one random page read, in microseconds; 0 takes what track_io_timing measured, or 100.")

#undef INTEGER
#undef REAL
