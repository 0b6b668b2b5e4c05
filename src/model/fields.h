/*
 * fields.h
 *	  What the evidence of a table consists of, as type ff_internal.model_input has it;
 *	  the names of intervals and statements begin with "interval_" and "statement_".
 *
 * Included with some of these defined, each inclusion for another purpose.
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

/* What the counters said between two collections; the newest first. */
INTERVAL(seconds)
INTERVAL(inserted)				/* rows */
INTERVAL(updated)
INTERVAL(hot)					/* updated heap-only */
INTERVAL(newpage)				/* updated to another page; NAN on PostgreSQL 15 */
INTERVAL(deleted)
INTERVAL(vacuums)

/* One entry of pg_stat_statements that writes the table, over the window. */
STATEMENT(command)				/* an EvCommand */
STATEMENT(calls)
STATEMENT(rows)
STATEMENT(sets_indexed)			/* 1: sets an indexed column, 0: none, NAN: unknown */
STATEMENT(wal_records)
STATEMENT(wal_bytes)			/* full-page images included */

/* Counters and statements, at the present fillfactor and set of indexes. */
ONE(observed_s)					/* seconds watched, those in which nothing was written included */
ONE(earlier_updated)			/* in the table's life before the intervals */
ONE(window_xids)				/* transactions of the cluster in the window */
ONE(indexed_share)				/* of the rows updated, by statements that set an indexed column, 0..1 */

/* Pages: the last sample, or the sum of the last samples. */
ONE(blocks)						/* of the table, at that time */
ONE(live_rows)					/* in the table */
ONE(rows_per_page)				/* live, on a page that holds any: mean */
ONE(rows_per_page_max)
ONE(updated_pct)				/* live rows updated since insert, percent */
ONE(seen_hot)					/* old versions in the pages by their successor: heap-only; a ratio */
ONE(seen_same_page)				/* same page, not heap-only */
ONE(seen_moved)					/* another page */
ONE(recent_share)				/* of the samples, those with dead versions that some snapshot might see */
ONE(recent_dead)				/* in these, such versions per live row: mean */
/* Lengths: pairs of a MAXALIGNed t_len, ascending, and how many rows have it. */
BINS(inserted_length, 2 * EV_LENGTHS)	/* live rows never updated */
BINS(updated_length, 2 * EV_LENGTHS)	/* live rows updated since insert */
/* Live updated rows by the number of them on their page with the same xmin: new_page on
 * pages whose live rows all have that one xmin (a page that an update filled, or updated
 * in whole), old_page on all others. */
BINS(group_old_page, EV_GROUP_BINS)
BINS(group_new_page, EV_GROUP_BINS)
BINS(update_distance, EV_LOG2_BINS)		/* transactions from the inserts of their page to their xmin */
BINS(update_age, EV_LOG2_BINS)			/* transactions since xmin */

/* The table, and what was last made of it at this fillfactor. */
ONE(fillfactor)					/* percent, now */
ONE(filled_at)					/* before it was last set without a rewrite; NAN: unknown, or none */
ONE(updated_since)				/* rows updated since it was set; NAN */
ONE(standing)					/* fillfactor chosen last */
ONE(followed)					/* 1: the present one was advised here, then set */
ONE(prior_updated)				/* rows updated that the last choice was made of */
BINS(prior_cost, EV_STEPS)		/* by fillfactor; only ratios count */
ONE(indexes)
ONE(index_bytes)
ONE(ram_bytes)					/* that may hold the table and its indexes */
ONE(vacuum_scale)				/* autovacuum's scale factor */
ONE(vacuum_threshold)			/* rows */
ONE(vacuum_nap_s)				/* least seconds between two vacuums; negative: off */
ONE(sessions)					/* of the database at work at a time, mean */

/* What the cost depends on besides; counts of the window. */
ONE(index_scans)
ONE(seq_scans)
ONE(blocks_fetched)				/* heap pages asked for */
ONE(checkpoint_s)				/* between two checkpoints */
ONE(read_us)					/* one random page read */

#undef INTERVAL
#undef STATEMENT
#undef ONE
#undef BINS
