/*
 * decision.h
 *	  The decision for a table: its cause, and whether to change its fillfactor.
 *
 * Pure C: no server calls, no allocation.
 */
#ifndef FF_ADVISE_DECISION_H
#define FF_ADVISE_DECISION_H

#include "model/evidence.h"

/* Numbers of an array, NAN after the last. */
typedef double DnArray[EV_STEPS];

/* What the decision is made of; NAN: unknown. */
typedef struct DnFacts
{
#define FACT(field) double field;
#define FACTS(field) DnArray field;
#include "advise/facts.h"
	/* settings */
	double		min_updates;
	double		min_gain;		/* share of the cost */
	double		min_confidence;
	double		min_worth;		/* share of the cost of the costliest table's updates */
} DnFacts;

typedef const char *DnText;		/* NULL: none */
typedef double DnNumber;		/* NAN: none */
typedef int DnTruth;

/* The decision; sql/advise/schema.sql describes the fields. */
typedef struct DnDecision
{
#define DN_TYPE_TEXT DnText
#define DN_TYPE_NUMBER DnNumber
#define DN_TYPE_TRUTH DnTruth
#define RESULT(kind, field) DN_TYPE_##kind field;
#include "advise/facts.h"
} DnDecision;

extern void ff_decision(const DnFacts *f, DnDecision *d);

#endif							/* FF_ADVISE_DECISION_H */
