/*
 * choice.h
 *	  Keep, set, or set and rewrite: what each costs over payback_time, and which to choose.
 */
#ifndef FF_MODEL_CHOICE_H
#define FF_MODEL_CHOICE_H

#include "model/forecast.h"

typedef enum ChAction
{
	CH_WAIT,					/* too little was seen */
	CH_KEEP,
	CH_SET,						/* new pages only */
	CH_REWRITE
} ChAction;

/* The cost of one option, mean over the workloads; time and WAL are per row updated. */
typedef struct ChCost
{
	double		time_us;
	double		wal_bytes;
	double		wal_of_updates; /* of these, by UPDATE statements, a rewrite left out */
	double		heap_bytes;		/* at the end of payback_time */
	double		index_bytes;
	double		ratio;			/* cost divided by the cost of keep */
} ChCost;

typedef struct Choice
{
	ChAction	action;
	ChCost		cost[FC_WAYS][FC_STEPS];	/* [FC_SET][current]: keep */
	double		ratio[FC_WAYS][FIT_PARTICLES][FC_STEPS]; /* cost[].ratio in each workload */
	FcWay		best_way;
	int			best;			/* best step, even if the gain is too small to advise it */
	int			advised;		/* step; the current one if nothing is advised */
	double		bound;			/* least cost that any fillfactor could reach / cost now */
	double		gain;			/* share of the cost that the advice saves, 0..1 */
	double		agreement;		/* weight of the workloads in which the best step is cheaper */
	double		confidence;		/* 0..1 */
	double		calls;			/* UPDATE statements per row updated */
	double		set_apart;		/* rows of an update that happened once, left out; 0: none */
	double		settling;		/* weight of the workloads that settle by themselves */
	double		settle_updates; /* mean until they have settled, rows updated */
} Choice;

/*
 * Whether a table is a queue, or emptied and filled again and again (reloads): it soon has as many
 * new pages after a rewrite; rows: live ones.
 */
extern int	ff_choice_refills(double inserted, double deleted, double reloads, double rows);

/* FC_REWRITE if it saves more than min_gain compared with FC_SET, and what it saves lasts. */
extern FcWay ff_choice_way(const Evidence *e, const Choice *d, int step);

/* Whether clearly fewer updates would be HOT than were seen; percent. */
extern int	ff_choice_less_hot(double hot_pct, double seen_pct);

/* Weight of the workloads in which one option is cheaper than another. */
extern double ff_choice_cheaper(const Forecast *f, const Choice *d, FcWay way, int step,
								FcWay than_way, int than);

/*
 * Runs the whole model: bound, fit, forecast, choice.  If the bound or too few updates
 * decide, the fit is empty (n is 0) unless "curve" is true.  The forecast then has steps
 * but no workloads; it has no steps if no row length is known.
 */
extern void ff_choose(FitWork *work, const Evidence *e, int curve,
					  Fit *fit, Forecast *f, Choice *d);

#endif							/* FF_MODEL_CHOICE_H */
