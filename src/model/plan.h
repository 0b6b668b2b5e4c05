/*
 * plan.h
 *	  What is known of a table before workloads are drawn: its classes of statements, its
 *	  row lengths, which updates more room could make HOT, and the course of a replay.
 *
 * A replay covers a part of the table.  Its rows, and the rows of statements for a share of
 * the table, are scaled; short distances from insert and small statements are not.
 */
#ifndef FF_MODEL_PLAN_H
#define FF_MODEL_PLAN_H

#include "model/evidence.h"
#include "model/twin.h"

/* A transaction with at least this share of a table's rows is scaled with the replay
 * (chosen). */
#define FIT_SHARE		0.2

/* A distance from insert to update below this share of the table is not scaled (chosen). */
#define LATELY			0.1

#define FIT_SEGMENTS	3		/* parts of the window, with a HOT share each */

/* Shares of all updates, 0..1. */
typedef struct FitSplit
{
	double		hot;
	double		moved;			/* went to another page; NAN: unknown */
	double		blocked;		/* not HOT even with room; NAN: unknown */
	double		eligible;		/* of the moved ones: HOT with room; NAN: unknown */
	double		recoverable;	/* moved, but HOT with room; NAN: unknown */
	/* not HOT because of an index; all non-HOT ones if unknown */
	double		kept;			/* with or without room in their page */
	double		kept_with_room; /* of these, with room */
} FitSplit;

/* What is known of one class of statements. */
typedef struct FitSlot
{
	EvCommand	command;
	double		rate;			/* rows a tick */
	double		rows;			/* rows a call; NAN: unknown */
	double		part;			/* of these, in this partition, if they are spread over all */
	double		indexed;		/* 0..1; NAN: unknown */
	int			shared;			/* one of two that share the updates no statement explains */
	double		once;			/* happens once, at this tick; 0: again and again */
} FitSlot;

/* What is known of a table. */
typedef struct FitPlan
{
	int			nslots;
	FitSlot		slot[TW_CLASSES];
	EvInterval	window;
	FitSplit	split;
	int			fillfactor;
	int			filled_at;		/* fillfactor at which today's pages were filled */
	int			set_from;		/* the same before the last rewrite, if the fillfactor was changed, too */
	int16_t		insert_len[TW_QUANTILES];
	int16_t		update_len[TW_QUANTILES];
	int			step_len;		/* bytes of a row, defines the steps */
	double		insert_mean;	/* mean of the row lengths, bytes */
	double		update_mean;
	int			resizes;		/* updated rows have other lengths */
	double		live;			/* live rows of the part that is written */
	double		cold;			/* all others */
	double		mean_live;		/* mean of these over the window */
	double		cold_page_rows;	/* of the others, on a page */
	int			cold_page_free;	/* bytes free there */
	double		checkpoint;		/* rows updated from one checkpoint to the next; 0: unknown */
	double		rows;			/* rows in the replay */
	double		scale;			/* rows / live */
	double		page_rows;		/* rows that inserts put on one page */
	double		together;		/* rows of a page updated together; NAN: unknown */
	double		xids_per_tick;	/* transactions of the cluster; NAN: unknown */
	double		insert_distance;	/* rows inserted between insert and update; NAN: unknown */
	int			overlap;		/* passes over the table may overlap, whatever samples show; see ff_fit() */
	double		start_rows;		/* rows at the start of a replay; fewer if the table grows */
	/* the course of a replay, in ticks */
	double		before;			/* before the window */
	double		before_set;		/* of these, before the fillfactor was changed */
	double		set_segment;	/* of these, the last ones, which were observed */
	double		set_hot;		/* HOT share observed then; NAN: unknown */
	double		set_updates;	/* updates observed then, in the table */
	double		held_from;		/* a snapshot is held once; from 0 until 0: none */
	double		held_until;
	double		segment[FIT_SEGMENTS];	/* of the window, about equal */
	double		segment_hot[FIT_SEGMENTS];	/* HOT share observed; NAN: unknown */
	double		segment_updates[FIT_SEGMENTS];	/* updates observed, in the table */
} FitPlan;

/* Which updates more room could make HOT. */
extern FitSplit ff_fit_split(const Evidence *e);

/* False if there is no live row, no update or no row length. */
extern int	ff_plan(const Evidence *e, FitPlan *plan);

#endif							/* FF_MODEL_PLAN_H */
