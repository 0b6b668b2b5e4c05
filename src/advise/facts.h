/*
 * facts.h
 *	  What a decision is made of, named as in the row that decide() in
 *	  sql/advise/decision.sql builds; and what it consists of, named as in type
 *	  ff_internal.decision.
 *
 * Each file that includes this defines the macros that it needs.
 */
#ifndef FACT
#define FACT(field)
#endif
#ifndef FACTS
#define FACTS(field)
#endif
#ifndef RESULT
#define RESULT(kind, field)
#endif

/* Evidence, as in type table_evidence; NAN: unknown; texts and times: 1 if there is one. */
FACT(not_examined)
FACT(fillfactor)
FACT(window_s)
FACT(intervals)
FACT(inserted)
FACT(deleted)
FACT(updated)
FACT(index_scans)
FACT(seq_scans)
FACT(blocks_fetched)
FACT(cycles)
FACT(since_change_s)
FACT(since_updated)
FACT(recent_updated)
FACT(recent_hot_updated)
FACT(counts_lost)
FACT(mirrored)					/* 1: a mirror, which reads no pages */
FACT(open_writers)
FACT(indexes)
FACT(sampled_at)
FACT(blocks)
FACT(live_rows)
FACT(rows_per_page)
FACT(inserted_width)
FACT(updated_width)
FACT(update_group_rows)
FACT(indexed_share)
FACT(newpage_share)
FACT(blocked_share)
FACT(recoverable_share)
FACT(held_back)
FACT(heap_now)					/* bytes */
FACT(heap_needed)				/* the same if its rows filled pages to its fillfactor */
FACT(heap_full)					/* and if they filled them to 100 */
FACT(snapshot_awaited)			/* 1: most versions wait for a snapshot to end; looked up if it is bloated */
FACT(reloads)					/* intervals in which it was emptied and filled; looked up if it got so many rows */
FACT(toasted)					/* bytes that each update puts into TOAST; NAN: none, or not each does */
FACT(written_today)				/* 1: in the last day; looked up if it was altered */

/* The stored fit, as in type choice; NAN: none. */
FACT(wants_curve)				/* 1: the fit counts even if no decision needs it */
FACT(current_step)
FACT(advised_step)
FACT(model_gain)
FACT(best_gain)
FACT(rewrite_gain)				/* cost now / cost after a rewrite at the present fillfactor */
FACT(model_waits)
FACT(model_changes)
FACT(filled_at)					/* fillfactor of its pages, if higher than its own */
FACT(model_confidence)
FACT(settling)
FACT(update_call_rows)
FACT(set_apart)					/* rows of an update that happened once, which the fit left out */
FACT(updated_once)				/* by statements that ran once; looked up if a lower fillfactor pays */
FACT(updated_in_burst)			/* in its busiest two hours; likewise, after a day */
FACTS(step_fillfactor)			/* its curve, from 100 downwards */
FACTS(step_cost)
FACTS(step_hot)					/* predicted HOT share, percent */
FACTS(step_settled)				/* and once settled */
FACTS(step_rewrites)			/* 1: with a rewrite at once */
FACTS(step_bytes)
FACTS(step_disk)				/* table and indexes */
FACTS(step_wal)					/* bytes per update */
FACTS(step_us)					/* microseconds per update */
FACT(wal_now)
FACT(us_now)
FACT(disk_now)
FACT(most_wal)					/* of the updates of the costliest table, bytes */
FACT(most_us)					/* likewise, microseconds */

/* Advice that stands, changes made, and what became of earlier predictions. */
FACT(standing_from)
FACT(standing_to)
FACT(changed_from)				/* the last change of fillfactor in the lookback */
FACT(changed_to)
FACT(change_followed)			/* 1: as advised, and it did not hurt */
FACT(calibration)				/* mean accuracy of judged predictions */

/* Partitions or shards of the same table, itself included; see siblings(). */
FACTS(sibling_fillfactor)		/* steps that all of them have */
FACTS(sibling_cost)				/* ln(cost), mean over them */
FACT(sibling_advised)			/* advised to most of them */
FACT(siblings_updated)			/* the others, per insert; looked up if it is hardly updated */

/* The decision. */
RESULT(TEXT, cause)
RESULT(TEXT, seen_cause)
RESULT(TEXT, lacks)
RESULT(TEXT, action)
RESULT(TEXT, because)
RESULT(TEXT, rewrite)
RESULT(NUMBER, recommended_fillfactor)
RESULT(NUMBER, current_step)
RESULT(NUMBER, step)
RESULT(NUMBER, gain)
RESULT(NUMBER, best_step)
RESULT(NUMBER, best_gain)
RESULT(TEXT, best_refused)
RESULT(NUMBER, confidence)
RESULT(NUMBER, of_updates)
RESULT(NUMBER, of_time)
RESULT(NUMBER, of_counters)
RESULT(NUMBER, of_columns)
RESULT(NUMBER, of_rows)
RESULT(NUMBER, of_pages)
RESULT(NUMBER, of_model)
RESULT(NUMBER, of_earlier)
RESULT(NUMBER, needed_confidence)
RESULT(NUMBER, needed_updates)
RESULT(NUMBER, row_width)
RESULT(NUMBER, reserve)
RESULT(TRUTH, changes)
RESULT(TRUTH, rewrites)
RESULT(TRUTH, provisional)
RESULT(TRUTH, wants_model)
RESULT(TRUTH, passed_over)
RESULT(TRUTH, idle)
RESULT(TRUTH, at_rest)
RESULT(TRUTH, lacks_room)
RESULT(TRUTH, columns_known)

#undef FACT
#undef FACTS
#undef RESULT
