/*
 * evidence.h
 *	  Everything that was observed of one table: all that the model reads.
 *
 * Pure C: no server calls.  An unknown number is NAN; an unknown histogram has
 * a NAN in its first bin (ff_evidence_clear() makes everything unknown).  Counts
 * are doubles.  Bins hold any non-negative weights; only their shares matter,
 * unless said.
 */
#ifndef FF_EVIDENCE_H
#define FF_EVIDENCE_H

#include <math.h>
#include <stddef.h>

#define EV_INTERVALS	32		/* of the counters, the newest first */
#define EV_STATEMENTS	8		/* the most rows first; the caller drops the rest */
#define EV_LENGTHS		16		/* different row lengths; neighbours are merged */
#define EV_STEPS		101		/* fillfactors, 0 to 100 */
#define EV_GROUP_BINS	10		/* rows: 1, 2, 3-4, 5-8, ..., 129-256, 257 or more */
#define EV_LOG2_BINS	32		/* bin i: [2^i, 2^(i+1)) transactions; 0 counts as 1 */

/* What the counters said between two collections. */
typedef struct EvInterval
{
	double		seconds;
	double		inserted;		/* rows */
	double		updated;
	double		hot;			/* updated heap-only */
	double		newpage;		/* updated to another page; NAN on PostgreSQL 15 */
	double		deleted;
	double		vacuums;
} EvInterval;

typedef enum EvCommand
{
	EV_INSERT,
	EV_UPDATE,
	EV_DELETE,
	EV_OTHER					/* MERGE, WITH, functions: rows of unknown kind */
} EvCommand;

/* One entry of pg_stat_statements that writes the table, over the window. */
typedef struct EvStatement
{
	double		command;		/* an EvCommand */
	double		calls;
	double		rows;
	double		sets_indexed;	/* 1: sets an indexed column, 0: none, NAN: unknown */
	double		wal_records;
	double		wal_bytes;		/* full-page images included */
	double		busy_share;		/* share of the time in which it was at work (its rows,
								 * squared, by the sum over equal spans of their squares)
								 * against the statement with the largest; NAN */
	double		time_cv;		/* standard deviation of a call's time by its mean; NAN */
} EvStatement;

/* A row length, MAXALIGNed t_len, and how many rows have it.  Lengths ascend; where
 * more than EV_LENGTHS differ, neighbours are merged to their mean. */
typedef struct EvLength
{
	double		bytes;			/* of the first: NAN, if unknown */
	double		rows;
} EvLength;

typedef struct Evidence
{
	/* counters of the window, at the present fillfactor and set of indexes */
	int			nintervals;
	EvInterval	interval[EV_INTERVALS]; /* older ones are merged into the last */
	double		observed_s;		/* seconds watched, those in which nothing was written
								 * included; NAN: no more than the intervals have */
	double		earlier_updated;	/* in the table's life before the window: its
									 * totals less what the intervals hold */
	double		window_xids;	/* transactions of the cluster in the window */

	/* statements of the window; what they do not explain is the class "rest" */
	int			nstatements;
	EvStatement statement[EV_STATEMENTS];
	double		indexed_share;	/* of the rows updated, by statements that set an indexed
								 * column, 0..1; NAN */

	/* pages: the last sample, or the sum of the last samples */
	double		blocks;			/* of the table, at that time */
	double		live_rows;		/* in the table */
	double		rows_per_page;	/* live, on a page that holds any: mean */
	double		rows_per_page_max;
	double		updated_pct;	/* live rows updated since insert, percent */
	/* old versions still in the pages by their successor (a ratio) */
	double		seen_hot;		/* heap-only */
	double		seen_same_page; /* same page, not heap-only */
	double		seen_moved;		/* another page */

	double		recent_share;	/* of the samples of the window, those with dead versions that
								 * some snapshot might still see; NAN */
	double		recent_dead;	/* in these, such versions per live row: mean; NAN */

	/* histograms of that sample */
	EvLength	inserted_length[EV_LENGTHS];	/* live rows never updated */
	EvLength	updated_length[EV_LENGTHS]; /* live rows updated since insert */
	/*
	 * Live updated rows by the number of them on their page with the same xmin.
	 * new_page: those on pages whose live rows all have that one xmin (a page that
	 * an update filled, or updated in whole); old_page: all other pages.
	 */
	double		group_old_page[EV_GROUP_BINS];
	double		group_new_page[EV_GROUP_BINS];
	double		update_distance[EV_LOG2_BINS];	/* updated rows: transactions from the
												 * inserts of their page to their xmin */
	double		update_age[EV_LOG2_BINS];	/* updated rows: transactions since xmin */

	/* what the samples said before there were histograms; read where these lack */
	double		inserted_width; /* mean t_len, bytes */
	double		inserted_width_err; /* half width of the 95 % interval */
	double		updated_width;
	double		updated_width_err;
	double		update_group_rows;	/* medians over rows */
	double		insert_group_rows;
	double		update_distance_p50;	/* transactions */

	/* the table and its surroundings */
	double		fillfactor;		/* percent, now */
	double		filled_at;		/* fillfactor before it was last set without a
								 * rewrite; NAN: unknown, or none */
	double		updated_since;	/* rows updated since it was set; NAN */
	/* what was last made of the table, at this fillfactor; NAN, 0 where there is nothing */
	double		standing;		/* fillfactor chosen */
	double		followed;		/* 1: the present one was advised here, then set */
	double		prior_updated;	/* rows updated that this was made of */
	double		prior_cost[EV_STEPS];	/* by fillfactor; only ratios count */
	double		indexes;
	double		index_bytes;
	double		ram_bytes;		/* that may hold the table and its indexes */
	double		vacuum_scale;	/* autovacuum's scale factor */
	double		vacuum_threshold;	/* rows */
	double		vacuum_nap_s;	/* least seconds between two vacuums; negative: off */
	double		sessions;		/* of the database at work at a time, mean */

	/* what the cost depends on besides; counts of the window */
	double		index_scans;
	double		seq_scans;
	double		blocks_fetched; /* heap pages asked for */
	double		checkpoint_s;	/* between two checkpoints */
	double		read_us;		/* one random page read */
	double		horizon_s;		/* that the choice is made for */
	double		time_weight;	/* exponents of the cost */
	double		wal_weight;
	double		size_weight;
	double		min_gain;		/* least part of the cost to save, 0..1 */
	double		min_updates;	/* below which too little was seen */
} Evidence;

/* Where evidence goes that comes by name: one number (n is 0), or an array of at most n,
 * each "step" bytes after the one before. */
typedef struct EvField
{
	const char *name;
	size_t		offset;
	size_t		step;
	int			n;
} EvField;

extern const EvField ev_field[];
extern const int ev_nfields;

/* How many of an array came, where the field is the first of its kind. */
extern void ff_evidence_count(Evidence *e, const EvField *field, int n);

/* Sums over the window's intervals, but for the first load of the table; newpage is
 * NAN if any is. */
extern EvInterval ff_evidence_window(const Evidence *e);

/* Seconds watched, and at least one millisecond. */
extern double ff_evidence_seconds(const Evidence *e);

/* Everything unknown; no interval, no statement. */
extern void ff_evidence_clear(Evidence *e);

/* The bin of a number of rows, of a number of transactions. */
static inline int
ev_group_bin(int rows)
{
	int			bin = 0;

	while (bin < EV_GROUP_BINS - 1 && rows > (1 << bin))
		bin++;
	return bin;
}

static inline int
ev_log2_bin(double xids)
{
	return xids < 2 ? 0 : xids >= 4294967296.0 ? EV_LOG2_BINS - 1 : (int) log2(xids);
}

#endif							/* FF_EVIDENCE_H */
