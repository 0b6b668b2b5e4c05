/*
 * evidence.c
 *	  Sums over what was observed of one table.
 */
#include "evidence.h"
#include "numbers.h"

#include <string.h>

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
	for (i = 0; i < EV_STATEMENTS; i++)
		e->statement[i].command = EV_OTHER;
	e->nintervals = e->nstatements = 0;
}
