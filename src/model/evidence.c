/*
 * evidence.c
 *	  Sums over what was observed of one table.
 */
#include "evidence.h"

#include <string.h>

EvInterval
ff_evidence_window(const Evidence *e)
{
	EvInterval	sum = {0};
	int			i;

	for (i = 0; i < e->nintervals && i < EV_INTERVALS; i++)
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
	e->inserted_length.n = e->updated_length.n = 0;
}
