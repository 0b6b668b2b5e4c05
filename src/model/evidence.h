/*
 * evidence.h
 *	  Everything observed of one table: all that the model reads.
 *
 * Pure C, like all of the model but sql.c: no server calls, no allocation.  An unknown number is
 * NAN; an unknown histogram has a NAN in its first bin (ff_evidence_clear() makes everything
 * unknown).  Counts are doubles.  Bins hold non-negative weights; only their shares matter (for
 * the two group histograms, shares of both together).
 */
#ifndef FF_EVIDENCE_H
#define FF_EVIDENCE_H

#include "base/numbers.h"

#define EV_INTERVALS	32		/* intervals of the counters, the newest first */
#define EV_STATEMENTS	8		/* those with the most rows first; the caller drops the rest */
#define EV_STEPS		101		/* fillfactors, 0 to 100 */

typedef struct EvInterval
{
#define INTERVAL(field) double field;
#include "model/fields.h"
} EvInterval;

typedef enum EvCommand
{
	EV_INSERT,
	EV_UPDATE,
	EV_DELETE,
	EV_OTHER					/* MERGE, WITH, functions: rows of unknown kind */
} EvCommand;

typedef struct EvStatement
{
#define STATEMENT(field) double field;
#include "model/fields.h"
} EvStatement;

typedef struct Evidence
{
	int			nintervals;
	int			nstatements;
	EvInterval	interval[EV_INTERVALS]; /* older ones are merged into the last */
	EvStatement statement[EV_STATEMENTS];
#define ONE(field) double field;
#define BINS(field, n) double field[n];
#include "model/fields.h"
	/* the settings */
	double		payback_s;		/* fillfactor_advisor.payback_time, seconds */
	double		time_weight;	/* exponents of the cost */
	double		wal_weight;
	double		size_weight;
	double		min_gain;		/* least share of the cost to save, 0..1 */
	double		min_updates;	/* fewer are too few to judge */
	/* what happened once, see ff_evidence_set_apart() */
	EvStatement event;			/* rows is NAN: nothing */
	double		event_after;	/* rows updated after it */
} Evidence;

extern const NumberField ev_field[];
extern const int ev_nfields;

/*
 * n numbers of a field were read: the rest are 0, unless there were none.  Sets the number of
 * intervals or statements if the field is the first of their columns.
 */
extern void ff_evidence_count(Evidence *e, const NumberField *field, int n);

/* Sums over the intervals, without the initial load of the table; newpage is NAN if it
 * is in any interval. */
extern EvInterval ff_evidence_window(const Evidence *e);

/* Sums over the statements of a command whose number at offset "known" is greater than 0. */
extern EvStatement ff_evidence_statements(const Evidence *e, EvCommand command, size_t known);

/*
 * Takes an update of much of the table that happened once out of intervals and statements: one
 * event is not a habit.  Does nothing if the rest is too little to judge.
 */
extern void ff_evidence_set_apart(Evidence *e);

/* Seconds watched, at least 0.001. */
extern double ff_evidence_seconds(const Evidence *e);

/* Makes everything unknown, without intervals and statements. */
extern void ff_evidence_clear(Evidence *e);

#endif							/* FF_EVIDENCE_H */
