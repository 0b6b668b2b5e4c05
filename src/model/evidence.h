/*
 * evidence.h
 *	  Everything observed of one table: all that the model reads.
 *
 * Pure C: no server calls.  An unknown number is NAN; an unknown histogram has
 * a NAN in its first bin (ff_evidence_clear() makes everything unknown).  Counts
 * are doubles.  Bins hold non-negative weights; only their shares matter (for the
 * two group histograms, shares of both together).
 */
#ifndef FF_EVIDENCE_H
#define FF_EVIDENCE_H

#include <math.h>
#include <stddef.h>

#define EV_INTERVALS	32		/* intervals of the counters, the newest first */
#define EV_STATEMENTS	8		/* those with the most rows first; the caller drops the rest */
#define EV_LENGTHS		16		/* different row lengths; the caller merges neighbours */
#define EV_STEPS		101		/* fillfactors, 0 to 100 */
#define EV_GROUP_BINS	10		/* rows: 1, 2, 3-4, 5-8, ..., 129-256, 257 or more */
#define EV_LOG2_BINS	32		/* bin i: [2^i, 2^(i+1)) transactions; 0 counts as 1 */

typedef struct EvInterval
{
#define INTERVAL(field) double field;
#include "fields.h"
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
#include "fields.h"
} EvStatement;

typedef struct Evidence
{
	int			nintervals;
	int			nstatements;
	EvInterval	interval[EV_INTERVALS]; /* older ones are merged into the last */
	EvStatement statement[EV_STATEMENTS];
#define ONE(field) double field;
#define BINS(field, n) double field[n];
#include "fields.h"
	/* the settings */
	double		payback_s;		/* fillfactor_advisor.payback_time, seconds */
	double		time_weight;	/* exponents of the cost */
	double		wal_weight;
	double		size_weight;
	double		min_gain;		/* least share of the cost to save, 0..1 */
	double		min_updates;	/* fewer are too few to judge */
} Evidence;

/* Where a named value is stored in Evidence: one number (n is 0), or up to n numbers,
 * "step" bytes apart. */
typedef struct EvField
{
	const char *name;
	size_t		offset;
	size_t		step;
	int			n;
} EvField;

extern const EvField ev_field[];
extern const int ev_nfields;

/* Sets the number of intervals or statements if the field is the first of their columns. */
extern void ff_evidence_count(Evidence *e, const EvField *field, int n);

/* Sums over the intervals, without the initial load of the table; newpage is NAN if it
 * is in any interval. */
extern EvInterval ff_evidence_window(const Evidence *e);

/* Sums over the statements of a command whose number at offset "known" is greater than 0. */
extern EvStatement ff_evidence_statements(const Evidence *e, EvCommand command, size_t known);

/* Seconds watched, at least 0.001. */
extern double ff_evidence_seconds(const Evidence *e);

/* Makes everything unknown, without intervals and statements. */
extern void ff_evidence_clear(Evidence *e);

/* The bin for a number of rows; the next function, for a number of transactions. */
static inline int
ev_group_bin(int rows)
{
	int			bin = 0;

	while (bin < EV_GROUP_BINS - 1 && rows > (1 << bin))
		bin++;
	return bin;
}

static inline int
ev_log2_bin(double xids)
{
	return xids < 2 ? 0 : xids >= 4294967296.0 ? EV_LOG2_BINS - 1 : (int) log2(xids);
}

#endif							/* FF_EVIDENCE_H */
