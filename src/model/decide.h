/*
 * decide.h
 *	  Keep, set, or set and rewrite: what each costs over the horizon, and which to choose.
 *
 * Pure C: no server calls, no allocation.
 */
#ifndef FF_MODEL_DECIDE_H
#define FF_MODEL_DECIDE_H

#include "forecast.h"

typedef enum DcAction
{
	DC_WAIT,					/* too little was seen */
	DC_KEEP,
	DC_SET,						/* new pages only */
	DC_REWRITE
} DcAction;

/* Why, for the wording. */
typedef enum DcCause
{
	DC_TOO_LITTLE,				/* seen */
	DC_READ_MOSTLY,				/* no update to speak of */
	DC_SETTLED,					/* next to all is HOT */
	DC_SETTLING,				/* and will be so by itself */
	DC_INDEXED_COLUMN,			/* what is not HOT changes indexed columns */
	DC_TOO_WIDE,				/* few rows fit on a page: no step is worth its room */
	DC_BATCH_UPDATE,			/* many rows of a page in one transaction */
	DC_ROW_GROWTH,
	DC_HELD_SNAPSHOT,
	DC_PAGE_FULL
} DcCause;

/* What one option costs: means over the lives; per row updated. */
typedef struct DcCost
{
	double		time_us;
	double		wal_bytes;
	double		heap_bytes;		/* at the end of the horizon */
	double		index_bytes;
	double		ratio;			/* expected cost by that of keeping everything */
	double		agreement;		/* weight of the lives in which it is less */
} DcCost;

typedef struct Decision
{
	DcAction	action;
	DcCause		cause;
	DcCost		cost[FC_WAYS][FC_STEPS];	/* [FC_SET][current]: keep */
	FcWay		best_way;
	int			best;			/* cheapest step of all */
	int			advised;		/* step; the current one where nothing is advised */
	double		bound;			/* cost at best by cost now: less cannot be reached */
	double		gain;			/* part of the cost that the advice saves, 0..1 */
	double		agreement;
	double		confidence;		/* 0..1 */
	/* in the forecast, per day and in all */
	double		updates_per_day;
	double		wal_per_day_now;
	double		wal_per_day_then;
	double		cpu_per_day_now;	/* seconds */
	double		cpu_per_day_then;
	double		settling;		/* weight of the lives that settle by themselves */
	double		settle_updates; /* until then, where most do */
} Decision;

/*
 * Could any fillfactor save min_gain, were no update non-HOT that has room to be,
 * no page pruned and no page half empty?  Says what would be left of the cost.
 */
extern double ff_decide_bound(const Evidence *e);

/*
 * All of it: bound, fit, forecast, choice.  Where the bound or too few updates decide,
 * the fit is empty (n is 0); the forecast is, too, or has steps without lives.  For a
 * curve call ff_fit() and ff_forecast() all the same.
 */
extern void ff_decide(FitWork *work, const Evidence *e, Fit *fit, Forecast *f, Decision *d);

#endif							/* FF_MODEL_DECIDE_H */
