/*
 * fields.h
 *	  The fields of a table's evidence, named as in type ff_internal.model_input;
 *	  those of intervals and statements have the prefix "interval_" or "statement_".
 *
 * Each file that includes this defines the macros that it needs.
 */
#ifndef INTERVAL
#define INTERVAL(field)
#endif
#ifndef STATEMENT
#define STATEMENT(field)
#endif
#ifndef ONE
#define ONE(field)
#endif
#ifndef BINS
#define BINS(field, n)
#endif

/* Differences of the counters between two collections; the newest first. */
INTERVAL(seconds)
INTERVAL(inserted)				/* rows */
INTERVAL(updated)
INTERVAL(hot)					/* HOT updates */
INTERVAL(newpage)				/* updated to another page; NAN on PostgreSQL 15 */
INTERVAL(deleted)
INTERVAL(vacuums)

/* One entry of pg_stat_statements that writes the table, over the window. */
STATEMENT(command)				/* an EvCommand */
STATEMENT(calls)
STATEMENT(rows)
STATEMENT(sets_indexed)			/* 1: sets an indexed column, 0: none, NAN: unknown */
STATEMENT(wal_bytes)			/* full-page images included */
STATEMENT(blocks_dirtied)		/* that were clean; of indexes and of other tables, too */

/* Counters and statements since the fillfactor and the indexes last changed. */
ONE(observed_s)					/* seconds watched, idle ones included */
ONE(earlier_updated)			/* rows updated before the intervals */
ONE(window_xids)				/* transactions of the cluster in the window */
ONE(indexed_share)				/* of rows updated, by statements that set an indexed column */
ONE(triggers)					/* 0: none may change a row before it is updated */

/* Pages: the last sample, or the sum of the last samples. */
ONE(blocks)						/* of the table, when sampled */
ONE(live_rows)					/* in the table */
ONE(rows_per_page)				/* mean of the pages with live rows */
ONE(rows_per_page_max)
ONE(updated_pct)				/* live rows updated since insert, percent */
ONE(seen_hot)					/* estimate: old versions in the table, successor heap-only */
ONE(seen_same_page)				/* in the same page, but not heap-only */
ONE(seen_moved)					/* in another page */
ONE(recent_share)				/* of samples: with over 1 % recently dead versions per live row */
ONE(recent_dead)				/* mean of such versions per live row in these samples */
/* How many rows were updated since a snapshot began and since it ended; only if exactly one was held
 * and it ended. */
ONE(held_from)					/* NAN: none, several, or one is held */
ONE(held_until)
/* Pairs of a MAXALIGNed t_len, ascending, and the number of rows. */
BINS(inserted_length, 2 * EV_LENGTHS)	/* live rows never updated */
BINS(updated_length, 2 * EV_LENGTHS)	/* live rows updated since insert */
/* Updated rows by how many rows of their page the same transaction updated.  new_page: an
 * update filled the page, all its live rows are from it; old_page: all other pages. */
BINS(group_old_page, EV_GROUP_BINS)
BINS(group_new_page, EV_GROUP_BINS)
BINS(update_distance, EV_LOG2_BINS)		/* live: transactions from their page's inserts */
BINS(update_age, EV_LOG2_BINS)			/* live: transactions since their xmin */

/* The table, and the last fit at this fillfactor. */
ONE(fillfactor)					/* percent, now */
ONE(set_from)					/* fillfactor before its last change; NAN: none */
ONE(filled_at)					/* the same unless the table was rewritten since; NAN: none */
ONE(updated_since)				/* rows updated since that change; NAN: none */
ONE(before_updated)				/* rows updated before that change, at set_from */
ONE(before_hot)					/* of these, HOT */
ONE(standing)					/* fillfactor that the last fit chose */
ONE(followed)					/* 1: the current fillfactor was advised, then set, and did not hurt */
ONE(indexes)
ONE(index_bytes)
ONE(ram_bytes)					/* memory that may hold the table and its indexes */
ONE(vacuum_scale)				/* autovacuum's scale factor */
ONE(vacuum_threshold)			/* rows */
ONE(vacuum_most)				/* most dead rows before it runs; NAN: no limit */
ONE(vacuum_nap_s)				/* least seconds between two autovacuums; negative: off */
ONE(sessions)					/* mean number of active sessions in the database */

/* Other inputs of the cost; counts are of the window. */
ONE(index_scans)
ONE(seq_scans)
ONE(blocks_fetched)				/* heap pages fetched, from memory or disk */
ONE(checkpoint_s)				/* seconds between two checkpoints */
ONE(read_us)					/* microseconds of one random page read */
ONE(unlogged)					/* 1: writes no WAL */
ONE(logical)					/* 1: its WAL can be decoded: of an update, it has the whole new row */
ONE(reloads)					/* intervals in which it was emptied by TRUNCATE and filled again */

#undef INTERVAL
#undef STATEMENT
#undef ONE
#undef BINS
