/*
 * plan.h
 *	  What is known of a table before anything is drawn: which classes there are,
 *	  how long rows are, which updates more room could make HOT, and the course of
 *	  a replay.
 *
 * A replay is of a part of the table: rows, rates and statements for a share of the
 * table are scaled; distances from insert and small statements are not.
 */
#ifndef FF_MODEL_PLAN_H
#define FF_MODEL_PLAN_H

#include "evidence.h"
#include "twin.h"

/* Share of a table's rows from which on a transaction is for a share of them, and scaled
 * with the replay (chosen). */
#define FIT_SHARE		0.2

#define FIT_SEGMENTS	3		/* of the window, whose HOT shares are compared */

/* Shares of all updates, 0..1. */
typedef struct FitSplit
{
	double		hot;
	double		moved;			/* went to another page; NAN: unknown */
	double		blocked;		/* changed an indexed column; NAN: unknown */
	double		eligible;		/* would be HOT, given room; NAN: unknown */
	double		recoverable;	/* not HOT for want of room; NAN: unknown */
	/* what an index keeps from being HOT, all non-HOT ones where nothing tells */
	double		kept;			/* whether or not they lacked room as well */
	double		kept_with_room; /* of these, those that had room */
} FitSplit;

/* What is known of one class before anything is drawn. */
typedef struct FitSlot
{
	EvCommand	command;
	double		rate;			/* rows a tick */
	double		rows;			/* rows a call; NAN: unknown */
	double		indexed;		/* 0..1; NAN: unknown */
	int			shared;			/* one of two that share what no statement explains */
} FitSlot;

/* What is known of a table before anything is drawn. */
typedef struct FitPlan
{
	int			nslots;
	FitSlot		slot[TW_CLASSES];
	EvInterval	window;
	FitSplit	split;
	int			fillfactor;
	int			filled_at;		/* fillfactor that the first rows were loaded at */
	int16_t		insert_len[TW_QUANTILES];
	int16_t		update_len[TW_QUANTILES];
	int			step_len;		/* bytes: decides the steps */
	double		insert_mean;	/* mean of the row lengths, bytes */
	double		update_mean;
	int			resizes;		/* updated rows have other lengths */
	double		live;			/* rows of the table */
	double		mean_live;		/* over the window */
	double		rows;			/* of these, replayed */
	double		scale;			/* the second by the first */
	double		page_rows;		/* rows that inserts put on a page */
	double		together;		/* rows of a page updated together; NAN */
	double		xids_per_tick;	/* of the cluster; NAN */
	double		peak;			/* updates a second, in the busiest interval */
	double		insert_distance;	/* rows between insert and update; NAN */
	double		prunes;			/* pages pruned by an update, from WAL records; NAN */
	double		start_rows;		/* to begin a replay with: a growing table has fewer */
	/* the course of a replay, ticks */
	double		before;			/* the window */
	double		before_set;		/* of these, before the fillfactor was set */
	double		segment[FIT_SEGMENTS];	/* of about as many updates */
	double		segment_hot[FIT_SEGMENTS];	/* HOT share seen; NAN */
	double		segment_updates[FIT_SEGMENTS];	/* updates it was seen of */
} FitPlan;

/*
 * Which updates more room could make HOT: the share that is HOT of those that stayed in
 * their page is the share that could be of those that left it.
 */
extern FitSplit ff_fit_split(const Evidence *e);

/* False if no row or no update was seen. */
extern int	ff_plan(const Evidence *e, FitPlan *plan);

#endif							/* FF_MODEL_PLAN_H */
