/*
 * forecast.h
 *	  What each fillfactor would do to a table, over payback_time.
 *
 * Pure C: no server calls, no allocation.  Every life that explains the table is
 * replayed from today's pages onwards at the edges of its steps, with its pages as
 * they are and rewritten; the steps between are filled in.  What settles by itself
 * settles here, too.
 */
#ifndef FF_MODEL_FORECAST_H
#define FF_MODEL_FORECAST_H

#include "fit.h"

#define FC_STEPS	91			/* fillfactors from 10 to 100 that can be step edges */

typedef enum FcWay
{
	FC_SET,						/* new pages only; at today's fillfactor: keep */
	FC_REWRITE,
	FC_WAYS
} FcWay;

/* One life at one step: means over payback_time, per row updated. */
typedef struct FcOutcome
{
	double		hot;
	double		window_hot;		/* in a window as long as the one seen: see FcStep */
	double		moved;
	double		prunes;
	double		touched;		/* pages that transactions changed, inserts included */
	double		moved_bytes;	/* of rows written to another page */
	double		pages;			/* at the end, per row */
	double		settled_hot;	/* at the end */
	double		settle_updates; /* of the table, until nearly so */
} FcOutcome;

typedef struct FcStep
{
	int			fillfactor;		/* the edge of a step */
	int			rows_per_page;	/* of rows as inserted */
	/*
	 * Over the lives: in the later half of a window as long as the one seen, that
	 * begins with the table rewritten; at today's fillfactor in the next window.
	 */
	double		hot_pct;
	double		hot_low;		/* 5 and 95 % of the weight, with the twin's own error */
	double		hot_high;
	double		moved_pct;
	double		settled_hot_pct;
} FcStep;

typedef struct Forecast
{
	int			n;				/* steps, from 100 downwards */
	int			current;		/* the one that the table is at */
	FcStep		step[FC_STEPS];
	int			nlives;			/* the particles of the fit */
	double		weight[FIT_PARTICLES];	/* sums to 1 */
	FcOutcome	outcome[FC_WAYS][FIT_PARTICLES][FC_STEPS];
	double		pages_now[FIT_PARTICLES];	/* today, per row */
	double		rewritten_hot_pct;	/* as a step's hot_pct: rewritten as it is */
	double		updates;		/* rows of the table, over payback_time */
	double		ticks;			/* replayed of the present life */
} Forecast;

extern void ff_forecast(FitWork *work, const Evidence *e, const Fit *fit, Forecast *f);

#endif							/* FF_MODEL_FORECAST_H */
