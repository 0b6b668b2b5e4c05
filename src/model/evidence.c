/*
 * evidence.c
 *	  Sums over what was observed of one table.
 */
#include "evidence.h"
#include "numbers.h"

#include <string.h>

const EvField ev_field[] = {
#define ONE(field) {#field, offsetof(Evidence, field), 0, 0}
#define BINS(field, n) {#field, offsetof(Evidence, field), sizeof(double), n}
#define INTERVAL(field) {"interval_" #field, offsetof(Evidence, interval[0].field), sizeof(EvInterval), EV_INTERVALS}
#define STATEMENT(field) {"statement_" #field, offsetof(Evidence, statement[0].field), sizeof(EvStatement), EV_STATEMENTS}
	INTERVAL(seconds),
	INTERVAL(inserted),
	INTERVAL(updated),
	INTERVAL(hot),
	INTERVAL(newpage),
	INTERVAL(deleted),
	INTERVAL(vacuums),
	ONE(observed_s),
	ONE(earlier_updated),
	ONE(window_xids),
	STATEMENT(command),
	STATEMENT(calls),
	STATEMENT(rows),
	STATEMENT(sets_indexed),
	STATEMENT(wal_records),
	STATEMENT(wal_bytes),
	STATEMENT(busy_share),
	STATEMENT(time_cv),
	ONE(indexed_share),
	ONE(blocks),
	ONE(live_rows),
	ONE(rows_per_page),
	ONE(rows_per_page_max),
	ONE(updated_pct),
	ONE(seen_hot),
	ONE(seen_same_page),
	ONE(seen_moved),
	ONE(recent_share),
	ONE(recent_dead),
	BINS(inserted_length, 2 * EV_LENGTHS),
	BINS(updated_length, 2 * EV_LENGTHS),
	BINS(group_old_page, EV_GROUP_BINS),
	BINS(group_new_page, EV_GROUP_BINS),
	BINS(update_distance, EV_LOG2_BINS),
	BINS(update_age, EV_LOG2_BINS),
	ONE(inserted_width),
	ONE(inserted_width_err),
	ONE(updated_width),
	ONE(updated_width_err),
	ONE(update_group_rows),
	ONE(insert_group_rows),
	ONE(update_distance_p50),
	ONE(fillfactor),
	ONE(filled_at),
	ONE(updated_since),
	ONE(standing),
	ONE(followed),
	ONE(prior_updated),
	BINS(prior_cost, EV_STEPS),
	ONE(indexes),
	ONE(index_bytes),
	ONE(ram_bytes),
	ONE(vacuum_scale),
	ONE(vacuum_threshold),
	ONE(vacuum_nap_s),
	ONE(sessions),
	ONE(index_scans),
	ONE(seq_scans),
	ONE(blocks_fetched),
	ONE(checkpoint_s),
	ONE(read_us)
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
