/*
 * decide.h
 *	  Keep, set, or set and rewrite: what each costs over payback_time, and which to choose.
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

/* What one option costs: means over the lives; per row updated. */
typedef struct DcCost
{
	double		time_us;
	double		wal_bytes;
	double		heap_bytes;		/* at the end of payback_time */
	double		index_bytes;
	double		ratio;			/* expected cost by that of keeping everything */
} DcCost;

typedef struct Decision
{
	DcAction	action;
	DcCost		cost[FC_WAYS][FC_STEPS];	/* [FC_SET][current]: keep */
	double		ratio[FC_WAYS][FIT_PARTICLES][FC_STEPS]; /* the same in each life */
	FcWay		best_way;
	int			best;			/* the step chosen, whether or not that is enough to advise it */
	int			advised;		/* step; the current one where nothing is advised */
	int			advised_in_ram; /* the same, were everything in memory */
	double		bound;			/* cost at best by cost now: less cannot be reached */
	double		gain;			/* part of the cost that the advice saves, 0..1 */
	double		agreement;
	double		confidence;		/* 0..1 */
	double		calls;			/* of statements, per row updated */
	double		settling;		/* weight of the lives that settle by themselves */
	double		settle_updates; /* until then, where most do */
} Decision;

/* The way to a step: a rewrite, where that saves min_gain against setting it only. */
extern FcWay ff_decide_way(const Evidence *e, const Decision *d, int step);

/* Weight of the lives in which one option is cheaper than another. */
extern double ff_decide_cheaper(const Forecast *f, const Decision *d, FcWay way, int step,
								FcWay than_way, int than);

/* What one index entry costs. */
extern void ff_decide_index_entry(double *wal_bytes, double *cpu_us);

/*
 * All of it: bound, fit, forecast, choice.  Where the bound or too few updates decide,
 * the fit is empty (n is 0) unless a curve is wanted all the same; the forecast then
 * has steps without lives, none where no row length is known.
 */
extern void ff_decide(FitWork *work, const Evidence *e, int curve,
					  Fit *fit, Forecast *f, Decision *d);

#endif							/* FF_MODEL_DECIDE_H */
