/*
 * choice.h
 *	  What each step of a table's curve costs, and which one to choose.
 *
 * Pure C: no server calls, no allocation.
 */
#ifndef FF_CHOICE_H
#define FF_CHOICE_H

#include "model/lifecycle.h"

/* What one index entry costs, measured with the regret bench's workloads on
 * PostgreSQL 15 (test/bench/regret/constants.py). */
#define US_INDEX_INSERT 1.6		/* microseconds of CPU: leaf in cache, vacuum included */
#define WAL_INDEX_ENTRY 72.0	/* bytes: with its share of splits and vacuum's removal */

/* What the cost depends on besides the curve; NAN where unknown. */
typedef struct CostInput
{
	double		indexes;
	double		index_bytes;	/* all indexes, now */
	double		heap_bytes;		/* main fork, now */
	double		ram_bytes;		/* that may hold the table and its indexes */
	double		index_scans;	/* in the window */
	double		seq_scans;
	double		blocks_fetched; /* heap pages asked for */
	double		window_s;		/* all counts of the window cover this */
	double		checkpoint_s;	/* between two checkpoints */
	double		read_us;		/* one random page read */
	double		horizon_s;		/* that the choice is made for */
	double		time_weight;	/* exponents of the cost */
	double		wal_weight;
	double		size_weight;
	double		min_gain;		/* least cost saved, 0..1, to change anything */
	double		update_call_rows;	/* rows a statement updates */
	double		update_wal_bytes;	/* of a row updated, seen */
	double		insert_call_rows;
} CostInput;

/* One step's cost, mean of the ensemble; per row updated. */
typedef struct StepCost
{
	double		time_us;
	double		wal_bytes;
	double		size_bytes;		/* heap */
	double		index_bytes;
	double		log_cost;		/* ln of the weighted product */
	double		cost;			/* relative to the best step */
} StepCost;

typedef struct Choice
{
	StepCost	cost[LIFECYCLE_MAX_STEPS];	/* as curve->step */
	StepCost	as_is;			/* of the table as it is: not as its fillfactor would have
								 * it, where it was set without a rewrite */
	int			current;		/* step the table is at */
	int			best;			/* cheapest, ties to the higher fillfactor */
	int			advised;		/* best, or current where that is good enough */
	int			advised_in_ram; /* the same, were everything in memory */
	double		gain;			/* cost as it is / at advised; 1: nothing advised */
	double		best_gain;		/* cost as it is, or at current if that is less / at best */
	double		rewrite_gain;	/* cost as it is / at current */
	double		agreement;		/* weight of the lifecycles for which best beats
								 * current */
	int			needs_rewrite;	/* most updates fall on pages already filled */
} Choice;

extern void choose(const Observed *seen, const Lifecycle *life, const Curve *curve,
				   const CostInput *in, Choice *choice);

#endif							/* FF_CHOICE_H */
