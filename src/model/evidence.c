/*
 * evidence.c
 *	  Sums over what was observed of one table.
 */
#include "evidence.h"
#include "numbers.h"

#include <string.h>

const EvField ev_field[] = {
#define INTERVAL(field) \
	{"interval_" #field, offsetof(Evidence, interval[0].field), sizeof(EvInterval), EV_INTERVALS},
#define STATEMENT(field) \
	{"statement_" #field, offsetof(Evidence, statement[0].field), sizeof(EvStatement), EV_STATEMENTS},
#define ONE(field) {#field, offsetof(Evidence, field), 0, 0},
#define BINS(field, n) {#field, offsetof(Evidence, field), sizeof(double), n},
#include "fields.h"
};

const int	ev_nfields = sizeof(ev_field) / sizeof(ev_field[0]);

void
ff_evidence_count(Evidence *e, const EvField *field, int n)
{
	if (field->offset == offsetof(Evidence, interval[0].seconds))
		e->nintervals = n;
	else if (field->offset == offsetof(Evidence, statement[0].command))
		e->nstatements = n;
}

EvInterval
ff_evidence_window(const Evidence *e)
{
	EvInterval	sum = {0};
	int			n = e->nintervals < EV_INTERVALS ? e->nintervals : EV_INTERVALS;
	int			first = n - 1;
	int			i;

	/* before its first update ever a table is loaded, which is no workload */
	while (!(e->earlier_updated > 0) && first >= 0 && !(e->interval[first].updated > 0))
		first--;
	if (first >= 0)
		n = first + 1;
	for (i = 0; i < n; i++)
	{
		const EvInterval *v = &e->interval[i];

		sum.seconds += v->seconds;
		sum.inserted += v->inserted;
		sum.updated += v->updated;
		sum.hot += v->hot;
		sum.newpage += v->newpage;
		sum.deleted += v->deleted;
		sum.vacuums += isnan(v->vacuums) ? 0 : v->vacuums;
	}
	return sum;
}

double
ff_evidence_seconds(const Evidence *e)
{
	return bound(or_else(e->observed_s, ff_evidence_window(e).seconds), 1e-3, 1e12);
}

/* All fields are doubles but for the counts of what the arrays hold. */
void
ff_evidence_clear(Evidence *e)
{
	double	   *d = (double *) e;
	size_t		i;

	for (i = 0; i < sizeof(*e) / sizeof(*d); i++)
		d[i] = NAN;
	e->nintervals = e->nstatements = 0;
}
