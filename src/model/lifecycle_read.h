/*
 * lifecycle_read.h
 *	  What of a lifecycle can be read off what was observed; the rest is searched
 *	  (lifecycle.c).
 */
#ifndef FF_LIFECYCLE_READ_H
#define FF_LIFECYCLE_READ_H

#include "model/lifecycle.h"

/* How much of a table to replay: precision against 20 ms a table. */
#define MAX_ROWS		12000
#define LAPS			8.0		/* updates per row replayed before the window, at most */
/* Inserts per update from which a table has fresh rows at all. */
#define FRESH_INSERTS	0.002
/* Largest distance from insert of updates spread evenly up to it, in medians of
 * what the pages show: the last of a row's several updates. */
#define SPREAD_MEDIAN	1.5
/* Rows together, of which an unknown number of whole pages is taken first: no whole
 * number, which would fall in step. */
#define UNKNOWN_BATCH	3.3		/* pages */

/* What was read, and which explanations of the updates to try. */
typedef struct Plan
{
	TwinLifecycle t;			/* what was read off directly */
	double		settle;			/* updates until the table has settled */
	double		distance;		/* rows inserted between insert and update */
	int			far;			/* or a good deal more */
	double		fresh_seen;		/* share of updates soon after the insert */
	int			whole_pages;	/* batches of unknown size */
	int			scattered;		/* a statement's rows may be here and there */
	int			split_known;	/* moved and blocked updates told apart */
	int			split_doubtful; /* by old versions in the pages, which tell it roughly */
} Plan;

extern int	lifecycle_read_widths(Observed *seen, Lifecycle *life);

extern void lifecycle_read(const Observed *seen, Lifecycle *life, Plan *plan);

extern void lifecycle_course(const Observed *seen, TwinLifecycle *t, double *scale, double *settle);

extern int	lifecycle_filled_at(const Observed *seen, const TwinLifecycle *t);

#endif							/* FF_LIFECYCLE_READ_H */
