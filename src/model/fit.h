/*
 * fit.h
 *	  Finds the workloads (TwinWorkload) that explain what was observed of a table.
 *
 * Workloads are drawn from a prior that is conditioned on what is known, replayed at the table's
 * fillfactor and weighed by the likelihood of everything observed.  The same evidence gives the
 * same result on every machine.
 */
#ifndef FF_MODEL_FIT_H
#define FF_MODEL_FIT_H

#include "model/plan.h"

#define FIT_DRAWS		128		/* workloads drawn from the prior */
#define FIT_PARTICLES	16		/* the likeliest of them, which share the weight */
#define FIT_DIMS		64		/* coordinates of a workload, each uniform in 0..1 */

typedef struct FitParticle
{
	double		u[FIT_DIMS];
	TwinWorkload	workload;
	double		log_likelihood;
	double		weight;			/* sums to 1 over all particles */
	double		hot;			/* HOT share of the window in the replay */
} FitParticle;

typedef struct Fit
{
	int			n;				/* particles; 0: nothing to explain */
	FitParticle particle[FIT_PARTICLES];	/* by weight, highest first */
	FitPlan		plan;
	double		misfit;			/* sum of ln(1 + d^2 / 4) over deviations d (sd), least */
} Fit;

/* Scratch memory, supplied by the caller. */
typedef struct FitWork
{
	Twin		twin;
	Twin		today;			/* the table as it is now, in one workload */
	FitParticle draw[FIT_DRAWS];
} FitWork;

/* Finds the workloads that explain a table; ff_plan() must have filled fit->plan. */
extern void ff_fit(FitWork *work, const Evidence *e, Fit *fit);

/* Replays a particle up to now: the twin then is the table as it is today. */
extern void ff_fit_today(Twin *t, const FitPlan *p, const FitParticle *x);

#endif							/* FF_MODEL_FIT_H */
