/*
 * lifecycle.h
 *	  From what was observed of a table to the lifecycles that explain it, and
 *	  from these to what another fillfactor would do.
 *
 * Pure C, as heap_twin: no server calls, no allocation.  An unknown number is
 * NAN everywhere.
 */
#ifndef FF_LIFECYCLE_H
#define FF_LIFECYCLE_H

#include "model/heap_twin.h"
#include "model/update_split.h"

/* Lifecycles kept when several explain the table about as well. */
#define LIFECYCLE_ENSEMBLE	4

/* Share of updates that are not HOT, below which they do not matter. */
#define ALL_HOT			0.002

/* Fillfactors from 10 to 100 that can be step edges. */
#define LIFECYCLE_MAX_STEPS 91

/*
 * What was observed at the table's current fillfactor.  Counts are of the
 * recent window unless said; row counts are of the whole table.
 */
typedef struct Observed
{
	double		fillfactor;		/* percent */
	/* counters */
	double		window_s;		/* seconds */
	double		inserted;
	double		updated;
	double		hot_updated;
	double		newpage_updated;	/* NAN before PostgreSQL 16 */
	double		deleted;
	double		total_inserted; /* since the table's counters began */
	double		total_updated;	/* the same */
	double		window_updated; /* since fillfactor was set, or lookback began */
	double		vacuums;
	/* old versions seen in pages: where their successor went (a ratio) */
	double		seen_hot;
	double		seen_same_page;
	double		seen_moved;
	/* pages */
	double		blocks;
	double		live_rows;
	double		inserted_width; /* bytes, mean t_len */
	double		inserted_width_err; /* half width of the 95 % interval */
	double		updated_width;
	double		updated_width_err;
	double		updated_pct;	/* live rows updated since insert */
	double		rows_per_page;	/* live, on a page that holds any */
	double		rows_per_page_max;	/* the most seen */
	double		update_group_rows;	/* rows of a page updated together */
	double		insert_group_rows;
	double		update_distance_p10;	/* transactions */
	double		update_distance_p50;
	double		update_distance_p90;
	/* from elsewhere */
	double		table_xids;		/* transaction ids since the table was created */
	double		update_call_rows;	/* rows per call of its UPDATE statements */
	double		insert_call_rows;
	double		indexed_share;	/* of updated rows, by statements that set an
								 * indexed column, 0..1 */
	double		vacuum_scale;	/* autovacuum's scale factor for the table */
	double		vacuum_nap_s;	/* least seconds between two vacuums */
	double		sessions;		/* of the database at work at a time, mean */
	double		update_records; /* WAL records of a row updated */
	double		indexes;
	double		pages_read;		/* by scans other than the updates' own */
} Observed;

/* One lifecycle that explains the observations, and how well. */
typedef struct Fitted
{
	TwinLifecycle life;
	double		settle_updates; /* updates to replay for the settled table */
	double		weight;			/* of the ensemble, sums to 1 */
	double		misfit;			/* squared standard deviations, plus prior */
	double		prior;			/* what its assumptions cost */
	int			pruned_more;	/* more pages than were seen to be */
	double		unexplained;	/* part of the misfit: WAL records */
	double		curable;		/* part of the misfit that versions that stay could explain */
	/* the twin at the current fillfactor, percent */
	double		hot_pct;
	double		moved_pct;
	double		updated_pct;
	double		rows_per_page;
} Fitted;

typedef struct Lifecycle
{
	int			n;				/* members; 0: no updates to explain */
	Fitted		member[LIFECYCLE_ENSEMBLE];
	/* read off directly */
	double		insert_len;		/* MAXALIGNed, bytes: decides the steps */
	double		update_len;
	double		hot_pct;		/* observed */
	double		hot_eligible;	/* 0..1 */
	int			filled_at;		/* fillfactor whose density its pages have, where that
								 * is a higher one than the table's; else 0 */
	double		more_records;	/* WAL records an update wrote beyond its own, its
								 * index entries' and its move's: pages pruned, rows
								 * locked first; NAN */
	double		fresh_share;	/* of updates, mean of the ensemble */
	double		scale;			/* simulated / real rows */
	double		confidence;		/* 0..1 */
	int			runs;			/* of the twin */
} Lifecycle;

/* What one lifecycle makes of a fillfactor; per update but for the pages. */
typedef struct Shares
{
	double		cold;			/* not HOT, moved or not */
	double		moved;
	double		prunes;			/* pages pruned on access */
	double		pages;			/* of the table, per row */
	double		entries;		/* in each index, by updates since the start, per row */
} Shares;

/* What a fillfactor would do. */
typedef struct Step
{
	int			fillfactor;		/* a step edge */
	int			rows_per_page;	/* of rows as inserted */
	double		hot_pct;		/* over a window such as the one observed */
	double		hot_low;
	double		hot_high;
	double		moved_pct;
	double		cold_pct;		/* not HOT, moved or not */
	double		settled_hot_pct;	/* when the table has settled */
	double		settled_cold_pct;
	double		pages_ratio;	/* pages, relative to the current fillfactor, where
								 * nothing was updated */
	/* for each member of the ensemble */
	Shares		window[LIFECYCLE_ENSEMBLE];
	Shares		settled[LIFECYCLE_ENSEMBLE];
} Step;

typedef struct Curve
{
	int			n;
	Step		step[LIFECYCLE_MAX_STEPS];	/* from 100 downwards */
	int			runs;
} Curve;

extern void lifecycle_fit(HeapTwin *twin, const Observed *seen, Lifecycle *life);

extern void lifecycle_curve(HeapTwin *twin, const Observed *seen,
							const Lifecycle *life, Curve *curve);

#endif							/* FF_LIFECYCLE_H */
