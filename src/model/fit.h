/*
 * fit.h
 *	  From what was observed of a table to the lives that explain it.
 *
 * Pure C: no server calls, no allocation.  Lives are drawn from a prior that is
 * conditioned on what is known, replayed at the table's fillfactor and weighed
 * by the likelihood of everything observed; the likelier ones are moved and
 * weighed again.  The same for the same evidence on every machine.
 */
#ifndef FF_MODEL_FIT_H
#define FF_MODEL_FIT_H

#include "plan.h"

#define FIT_PARTICLES	16		/* lives that share the weight */
#define FIT_DRAWS		48		/* drawn from the prior to begin with */
#define FIT_ROUNDS		5		/* in which the particles are moved */
#define FIT_DIMS		64		/* numbers, each uniform in 0..1, that make a life */

typedef struct FitParticle
{
	double		u[FIT_DIMS];
	TwinLife	life;
	double		log_likelihood;
	double		weight;			/* of all particles, sums to 1 */
	double		hot;			/* share over the window, replayed */
} FitParticle;

typedef struct Fit
{
	int			n;				/* particles; 0: nothing to explain */
	FitParticle particle[FIT_PARTICLES];	/* the most weight first */
	FitPlan		plan;
	double		misfit;			/* squared standard deviations per observation, best */
	int			runs;			/* of the twin */
} Fit;

/* The memory that a caller lends. */
typedef struct FitWork
{
	Twin		twin;
	Twin		today;			/* the table as it is now, of one particle */
	FitParticle trial;
	FitParticle draw[FIT_DRAWS];
} FitWork;

/* The lives that explain a table, its plan being made. */
extern void ff_fit(FitWork *work, const Evidence *e, Fit *fit);

/* Replay a particle up to now; the twin is then the table as it is. */
extern void ff_fit_today(Twin *t, const FitPlan *p, const FitParticle *x);

#endif							/* FF_MODEL_FIT_H */
