/*
 * evidence.h
 *	  Everything that was observed of one table: all that the model reads.
 *
 * Pure C: no server calls.  An unknown number is NAN; an unknown histogram has
 * a NAN in its first bin (ff_evidence_clear() makes everything unknown).  Counts
 * are doubles.  Bins hold any non-negative weights; only their shares matter,
 * unless said.
 */
#ifndef FF_EVIDENCE_H
#define FF_EVIDENCE_H

#include <math.h>
#include <stddef.h>

#define EV_INTERVALS	32		/* of the counters, the newest first */
#define EV_STATEMENTS	8		/* the most rows first; the caller drops the rest */
#define EV_LENGTHS		16		/* different row lengths; neighbours are merged */
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
	double		min_gain;		/* least part of the cost to save, 0..1 */
	double		min_updates;	/* below which too little was seen */
} Evidence;

/* Where evidence goes that comes by name: one number (n is 0), or an array of at most n,
 * each "step" bytes after the one before. */
typedef struct EvField
{
	const char *name;
	size_t		offset;
	size_t		step;
	int			n;
} EvField;

extern const EvField ev_field[];
extern const int ev_nfields;

/* How many of an array came, where the field is the first of its kind. */
extern void ff_evidence_count(Evidence *e, const EvField *field, int n);

/* Sums over the window's intervals, but for the first load of the table; newpage is
 * NAN if any is. */
extern EvInterval ff_evidence_window(const Evidence *e);

/* Sums over the statements of a command for which a number, by its offset, is known and more
 * than 0. */
extern EvStatement ff_evidence_statements(const Evidence *e, EvCommand command, size_t known);

/* Seconds watched, and at least one millisecond. */
extern double ff_evidence_seconds(const Evidence *e);

/* Everything unknown; no interval, no statement. */
extern void ff_evidence_clear(Evidence *e);

/* The bin of a number of rows, of a number of transactions. */
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
