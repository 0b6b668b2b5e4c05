/*
 * decide.h
 *	  Keep, set, or set and rewrite: what each costs over payback_time, and which to choose.
 *
 * Pure C: no server calls, no allocation.
 */
#ifndef FF_MODEL_DECIDE_H
#define FF_MODEL_DECIDE_H

#include "model/forecast.h"

typedef enum DcAction
{
	DC_WAIT,					/* too little was seen */
	DC_KEEP,
	DC_SET,						/* new pages only */
	DC_REWRITE
} DcAction;

/* The cost of one option, mean over the workloads; time and WAL are per row updated. */
typedef struct DcCost
{
	double		time_us;
	double		wal_bytes;
	double		heap_bytes;		/* at the end of payback_time */
	double		index_bytes;
	double		ratio;			/* cost divided by the cost of keep */
} DcCost;

typedef struct Decision
{
	DcAction	action;
	DcCost		cost[FC_WAYS][FC_STEPS];	/* [FC_SET][current]: keep */
	double		ratio[FC_WAYS][FIT_PARTICLES][FC_STEPS]; /* cost[].ratio in each workload */
	FcWay		best_way;
	int			best;			/* best step, even if the gain is too small to advise it */
	int			advised;		/* step; the current one if nothing is advised */
	int			advised_in_ram; /* the same if everything were in memory */
	double		bound;			/* least cost that any fillfactor could reach / cost now */
	double		gain;			/* share of the cost that the advice saves, 0..1 */
	double		agreement;		/* weight of the workloads in which the best step is cheaper */
	double		confidence;		/* 0..1 */
	double		calls;			/* UPDATE statements per row updated */
	double		settling;		/* weight of the workloads that settle by themselves */
	double		settle_updates; /* mean until they have settled, rows updated */
} Decision;

/* FC_REWRITE if it saves more than min_gain compared with FC_SET. */
extern FcWay ff_decide_way(const Evidence *e, const Decision *d, int step);

/* Weight of the workloads in which one option is cheaper than another. */
extern double ff_decide_cheaper(const Forecast *f, const Decision *d, FcWay way, int step,
								FcWay than_way, int than);

/* The price of one index entry: bytes of WAL, microseconds of CPU. */
extern void ff_decide_index_entry(double *wal_bytes, double *cpu_us);

/*
 * Runs the whole model: bound, fit, forecast, choice.  If the bound or too few updates
 * decide, the fit is empty (n is 0) unless "curve" is true.  The forecast then has steps
 * but no workloads; it has no steps if no row length is known.
 */
extern void ff_decide(FitWork *work, const Evidence *e, int curve,
					  Fit *fit, Forecast *f, Decision *d);

#endif							/* FF_MODEL_DECIDE_H */
