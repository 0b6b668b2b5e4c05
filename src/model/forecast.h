/*
 * forecast.h
 *	  What each fillfactor would do to a table over payback_time.
 *
 * Every workload that explains the table is replayed from today's pages onwards, with its pages
 * as they are and rewritten.  Some steps are replayed, the others interpolated.  A table that
 * settles by itself also settles in the replay.
 */
#ifndef FF_MODEL_FORECAST_H
#define FF_MODEL_FORECAST_H

#include "model/fit.h"

#define FC_STEPS	40			/* from 10 to 100, and today's, each with rows per page STEP apart */

typedef enum FcWay
{
	FC_SET,						/* new pages only; at today's fillfactor: keep */
	FC_REWRITE,
	FC_WAYS
} FcWay;

/* One workload at one step: means over payback_time, per row updated. */
typedef struct FcOutcome
{
	double		hot;
	double		window_hot;		/* as FcMean.hot_pct, 0..1 */
	double		moved;
	double		prunes;
	double		touched;		/* pages that transactions changed, inserts included */
	double		images;			/* of these, for the first time since a checkpoint */
	double		moved_bytes;	/* bytes of rows written to another page */
	double		pages;			/* of the table per live row, at the end */
	double		settled_hot;	/* HOT share at the end */
	double		settle_updates; /* rows updated in the table until nearly that share */
	double		made;			/* rows updated, of those that were to be, 0..1 */
} FcOutcome;

/*
 * What one way to a step gives: means over the workloads, in a window as long as the one observed,
 * after a change in its later half.
 */
typedef struct FcMean
{
	double		hot_pct;
	double		hot_low;		/* 5 and 95 % quantiles, widened by the twin's error */
	double		hot_high;
	double		moved_pct;
	double		settled_hot_pct;
} FcMean;

typedef struct FcStep
{
	int			fillfactor;		/* highest of the step */
	int			rows_per_page;	/* at plan.step_len */
	FcMean		mean[FC_WAYS];
} FcStep;

typedef struct Forecast
{
	int			n;				/* steps, from 100 downwards */
	int			current;		/* index of the table's step */
	FcStep		step[FC_STEPS];
	int			nworkloads;			/* the particles of the fit */
	double		weight[FIT_PARTICLES];	/* sums to 1 */
	FcOutcome	outcome[FC_WAYS][FIT_PARTICLES][FC_STEPS];
	double		pages_now[FIT_PARTICLES];	/* pages per live row today */
	double		between[FIT_PARTICLES];	/* cold rows in pages of live ones */
	double		updates;		/* rows updated in the table over payback_time */
	double		ticks;			/* replayed so far for the current workload */
} Forecast;

extern void ff_forecast(FitWork *work, const Evidence *e, const Fit *fit, Forecast *f);

#endif							/* FF_MODEL_FORECAST_H */
