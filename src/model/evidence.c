/*
 * evidence.c
 *	  Sums over what was observed of one table.
 */
#include "model/evidence.h"

#include <string.h>

const NumberField ev_field[] = {
#define INTERVAL(field) \
	{"interval_" #field, offsetof(Evidence, interval[0].field), sizeof(EvInterval), EV_INTERVALS},
#define STATEMENT(field) \
	{"statement_" #field, offsetof(Evidence, statement[0].field), sizeof(EvStatement), EV_STATEMENTS},
#define ONE(field) {#field, offsetof(Evidence, field), 0, 0},
#define BINS(field, n) {#field, offsetof(Evidence, field), sizeof(double), n},
#include "model/fields.h"
};

const int	ev_nfields = sizeof(ev_field) / sizeof(ev_field[0]);

void
ff_evidence_count(Evidence *e, const NumberField *field, int n)
{
	for (int i = n; n > 0 && i < field->n; i++)
		*(double *) ((char *) e + field->offset + field->step * (size_t) i) = 0;
	if (field->offset == offsetof(Evidence, interval[0].seconds))
		e->nintervals = n;
	else if (field->offset == offsetof(Evidence, statement[0].command))
		e->nstatements = n;
}

/* The first interval of a table never updated before is its initial load if it inserts over
 * this many times as many rows per update as later ones (chosen). */
#define LOAD			10.0

/* Share of the rows ever updated that a single call must update to be an event (chosen). */
#define EV_EVENT		0.2

EvInterval
ff_evidence_window(const Evidence *e)
{
	EvInterval	sum = {0};
	int			n = e->nintervals < EV_INTERVALS ? e->nintervals : EV_INTERVALS;
	int			first = n - 1;
	int			fresh = !(e->earlier_updated > 0);

	/* intervals before the first update of all are the initial load, not workload */
	while (fresh && first >= 0 && !(e->interval[first].updated > 0))
		first--;
	if (first >= 0)
		n = first + 1;
	for (int i = 0; i < n; i++)
	{
		EvInterval	v = e->interval[i];
		double		usual = sum.inserted / sum.updated * v.updated;

		if (fresh && i == first && v.inserted > LOAD * usual)
			v.inserted = usual;
#define INTERVAL(field) sum.field += v.field;
#include "model/fields.h"
	}
	return sum;
}

EvStatement
ff_evidence_statements(const Evidence *e, EvCommand command, size_t known)
{
	EvStatement sum = {0};

	for (int i = 0; i < e->nstatements; i++)
	{
		const EvStatement *v = &e->statement[i];

		if (v->command != command || !(*(const double *) ((const char *) v + known) > 0))
			continue;
		sum.calls += bound(v->calls, 1, 1e15);
		sum.rows += v->rows;
		sum.wal_bytes += or_else(v->wal_bytes, 0);
		sum.blocks_dirtied += or_else(v->blocks_dirtied, 0);
	}
	return sum;
}

/* Takes the event out of an interval: its other updates were HOT as often as in the others. */
static void
take_out(Evidence *e, EvInterval *v)
{
	EvInterval	w = ff_evidence_window(e);
	double		others = w.updated - v->updated;
	double		own = v->updated - e->event.rows;

	v->hot = others > 0 ? own * bound((w.hot - v->hot) / others, 0, 1) : v->hot * own / v->updated;
	v->newpage = others > 0 ? own * (w.newpage - v->newpage) / others : v->newpage * own / v->updated;
	v->updated = own;
	/* statements are known in full if the share is known */
	e->indexed_share = bound((e->indexed_share * w.updated - e->event.sets_indexed * e->event.rows) /
							 (others + own), isnan(e->indexed_share) ? NAN : 0, 1);
}

void
ff_evidence_set_apart(Evidence *e)
{
	double		updated = ff_evidence_window(e).updated;
	int			most = 0;
	int			k = 0;

	while (k < e->nstatements &&
		   !(e->statement[k].command == EV_UPDATE && e->statement[k].calls < 1.5 &&
			 e->statement[k].rows >= EV_EVENT * e->live_rows * bound(or_else(e->updated_pct, 100) / 100, 0, 1) &&
			 e->statement[k].rows <= updated - or_else(e->min_updates, 1)))
		k++;
	for (int i = 1; i < e->nintervals && i < EV_INTERVALS; i++)
		if (e->interval[i].updated > e->interval[most].updated)
			most = i;
	if (k == e->nstatements || !(e->interval[most].updated > e->statement[k].rows))
		return;
	e->event = e->statement[k];
	memmove(&e->statement[k], &e->statement[k + 1],
			sizeof(e->statement[0]) * (size_t) (--e->nstatements - k));
	take_out(e, &e->interval[most]);
	e->event_after = e->interval[most].updated / 2;
	for (int i = 0; i < most; i++)
		e->event_after += e->interval[i].updated;
}

double
ff_evidence_seconds(const Evidence *e)
{
	return bound(or_else(e->observed_s, ff_evidence_window(e).seconds), 1e-3, 1e12);
}

/* All fields are doubles, except the two counts. */
void
ff_evidence_clear(Evidence *e)
{
	make_unknown(e, sizeof(*e));
	e->nintervals = e->nstatements = 0;
}
