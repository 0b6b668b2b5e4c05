/*
 * fit_test.c
 *	  Facts about the workloads that a fit finds: known values are not searched, and evidence
 *	  that contradicts itself fits worse, as TAP.
 */
#include <stdlib.h>

#include "workloads.h"

static FitWork work;
static Fit	fit;

static double
misfit(const Evidence *e)
{
	memset(&fit, 0, sizeof(fit));
	if (!ff_plan(e, &fit.plan))
		return NAN;
	ff_fit(&work, e, &fit);
	return fit.misfit;
}

static const TwinWorkload *
workload(int i)
{
	return &fit.particle[i].workload;
}

/* Single updates of old rows, an insert for every tenth, all statements known. */
static Evidence
observed(TwinWorkload *l, double rows, double start)
{
	Evidence	e;

	*l = workload_of(136, start);
	l->class[0].rows = rows;
	add_class(l, EV_INSERT, 0.1, 1, TW_ANY);
	e = observe(l, 100, 6, 1);
	e.earlier_updated = 1e-9;
	add_statement(&e, &l->class[0]);
	add_statement(&e, &l->class[1]);
	e.statement[0].sets_indexed = 0;
	return e;
}

static void
test_particles(void)
{
	TwinWorkload	l;
	Evidence	e = observed(&l, 1, 2000);
	double		sum = 0,
				single = 0,
				best;
	int			right;

	best = misfit(&e);
	right = fit.n == FIT_PARTICLES;
	for (int i = 0; i < fit.n; i++)
	{
		const FitParticle *x = &fit.particle[i];

		sum += x->weight;
		single += x->weight * (x->workload.class[0].calls == 1);
		right &= x->weight > 0 && (i == 0 || x->weight < x[-1].weight ||
								   (x->weight == x[-1].weight && x->log_likelihood <= x[-1].log_likelihood));
		for (int k = 0; k < FIT_DIMS; k++)
			right &= x->u[k] >= 0 && x->u[k] < 1;
		for (int k = 0; k < i; k++)
			right &= memcmp(x->u, fit.particle[k].u, sizeof(x->u)) != 0;
		right &= near(x->hot, ff_evidence_window(&e).hot / ff_evidence_window(&e).updated, 0.05);
	}
	ok(right && near(sum, 1, 1e-9), "workloads are different, ordered by weight, and have the HOT share seen");
	ok(best >= 0 && best < 3, "evidence of a workload of the twin has a small misfit");
	ok(single > 0.5, "a statement for one row is most probably alone in its transaction");
	right = 1;
	for (int i = 0; i < fit.n; i++)
	{
		Twin	   *t = &work.today;
		double		ticks = fit.plan.before;

		for (int k = 0; k < FIT_SEGMENTS; k++)
			ticks += fit.plan.segment[k];
		ff_fit_today(t, &fit.plan, &fit.particle[i]);
		right &= near(t->now, ticks, 1e-6) && t->reserve == 0 &&
			near((double) t->nlive, fit.plan.rows, 0.1 * fit.plan.rows);
	}
	ok(right, "each workload ends with today's table");
}

/* Every workload has the known values of the table and its statements. */
static void
test_known(void)
{
	TwinWorkload	l;
	Evidence	e = observed(&l, 1, 2000);
	int			right = 1,
				pick = 1;

	e.vacuum_scale = 0.3;
	e.vacuum_threshold = 1000;
	e.live_rows = 4000;
	e.updated_pct = 100;
	misfit(&e);
	for (int i = 0; i < fit.n; i++)
	{
		const TwinWorkload *x = workload(i);
		const TwinClass *u = &x->class[0],
				   *n = &x->class[1];

		right &= x->nclasses == 2 && u->command == EV_UPDATE && near(u->rate, 1, 1e-9) && n->command == EV_INSERT &&
			near(n->rate, fit.plan.slot[1].rate, 1e-9) && near(n->rows, 1, 1e-9) && u->indexed == 0 &&
				  u->resizes == 0 && near(u->rows, u->calls, 1e-9) && u->calls >= 1 && u->calls <= 20 &&
				  u->calls == floor(u->calls) && x->insert_len[7] == 136 && x->update_len[7] == 136 &&
				  near(x->vacuum_share, 0.3 + 1000 / 4000.0, 1e-9) && near(x->start_rows, fit.plan.start_rows, 1e-9);
		pick &= u->pick != TW_OLDEST && u->distance >= 1 && u->distance <= fit.plan.rows && u->near >= 0 &&
			u->near < u->distance && u->skew >= 0.8 && u->skew <= 1.3 && n->pick == TW_ANY;
	}
	ok(right, "statements, lengths and autovacuum's threshold are the known ones");
	ok(pick, "which rows statements take is drawn within bounds");

	right = 1;
	e.vacuum_most = 1200;
	misfit(&e);
	for (int i = 0; i < fit.n; i++)
		right &= near(workload(i)->vacuum_share, 1200 / 4000.0, 1e-9);
	ok(right, "autovacuum waits for no more dead rows than its greatest threshold");
	e.vacuum_most = NAN;

	/* if vacuums were seen, they come about as often */
	right = 1;
	for (int i = 0; i < e.nintervals; i++)
		e.interval[i].vacuums = 1;
	misfit(&e);
	for (int i = 0; i < fit.n; i++)
	{
		double		each = fit.plan.window.updated / e.live_rows / 8;

		right &= workload(i)->vacuum_gap >= 0.59 * each && workload(i)->vacuum_gap <= 1.71 * each;
	}
	ok(right, "vacuums are about as frequent as seen");
	for (int i = 0; i < e.nintervals; i++)
		e.interval[i].vacuums = 0;
	e.vacuum_nap_s = -1;
	misfit(&e);
	for (int i = 0; i < fit.n; i++)
		right &= workload(i)->vacuum_gap == -1;
	ok(right, "no vacuums if autovacuum is off");
	e.vacuum_nap_s = 60;
	misfit(&e);
	for (int i = 0; i < fit.n; i++)
		right &= near(workload(i)->vacuum_gap, 60 / (8 * 3600.0) * fit.plan.window.updated / e.live_rows, 1e-9);
	ok(right, "no vacuum seen: the gap is at least autovacuum_naptime");
}

/* Two statements that update: the skew of each follows the second of its own six coordinates. */
static void
test_two_statements(void)
{
	TwinWorkload	l;
	Evidence	e = observed(&l, 1, 2000);
	int			right = 1,
				differ = 0;

	add_statement(&e, &l.class[0]);
	misfit(&e);
	for (int i = 0; i < fit.n; i++)
	{
		const TwinClass *class = workload(i)->class;

		right &= class[0].command == EV_UPDATE && class[1].command == EV_UPDATE;
		differ += class[1].skew != workload(0)->class[1].skew;
		for (int k = 0; k < i; k++)
			for (int c = 0; c < 2; c++)
				right &= fit.particle[i].u[6 * c + 1] < fit.particle[k].u[6 * c + 1] ?
					class[c].skew <= workload(k)->class[c].skew : class[c].skew >= workload(k)->class[c].skew;
	}
	ok(right && differ > fit.n / 2, "each statement of a workload is drawn independently");
}

/* Statements for a share of the table, and updates of unknown statements. */
static void
test_shares(void)
{
	TwinWorkload	l;
	Evidence	e = observed(&l, 1, 2000);
	int			right = 1;
	int			in_one = 0,
				in_each = 0;
	double		rate;

	/* a quarter of a table that is two hundred times as large */
	e.live_rows = 400000;
	for (int i = 0; i < e.nintervals; i++)
	{
		e.interval[i].updated *= 200;
		e.interval[i].hot *= 200;
		e.interval[i].newpage *= 200;
		e.interval[i].inserted *= 200;
	}
	e.statement[0].rows *= 200;
	e.statement[0].calls = e.statement[0].rows / 100000;
	misfit(&e);
	for (int i = 0; i < fit.n; i++)
	{
		const TwinClass *u = &workload(i)->class[0];
		double		share = u->rows * (u->stride > 1 ? u->stride : 1) / fit.plan.rows;

		right &= share >= 0.22 && share <= 1.3 && u->calls == 1;
	}
	ok(right && fit.plan.scale < 0.1, "a statement for a share of the rows has the same share of the rows replayed");
	/* the same by a statement on the parent of three such tables */
	e.statement[0].rows *= 3;
	misfit(&e);
	for (int i = 0; i < fit.n; i++)
	{
		const TwinClass *u = &workload(i)->class[0];

		right &= near(u->rows / fit.plan.rows, 0.25, 0.1);
	}
	ok(right, "a statement for a share of the rows of three partitions has this share of each");
	e.statement[0].calls = e.statement[0].rows / 60;
	misfit(&e);
	for (int i = 0; i < fit.n; i++)
	{
		double		rows = workload(i)->class[0].rows;

		right &= rows > 19.999 && rows < 60.001;
		in_one += rows > 59.999;
		in_each += rows < 20.001;
	}
	ok(right && in_one > 0 && in_each > 0,
	   "a statement for a few rows of three partitions: all in one, or some in each");
	right = 1;
	e.statement[0].rows /= 3;
	e.statement[0].calls = e.statement[0].rows / 20;
	misfit(&e);
	for (int i = 0; i < fit.n; i++)
		right &= near(workload(i)->class[0].rows, 20, 1e-9);
	ok(right, "a statement for a few rows keeps its number of rows");
	right = 1;
	e.statement[0].calls = e.statement[0].rows / 400000;
	misfit(&e);
	for (int i = 0; i < fit.n; i++)
	{
		const TwinClass *u = &workload(i)->class[0];

		right &= u->all_rows && u->stride == 1 && u->pick == TW_SWEEP && near(u->rows / fit.plan.rows, 1, 0.4);
	}
	ok(right, "a statement for all rows takes all rows replayed");
	right = 1;

	e = observed(&l, 1, 2000);
	e.nstatements = 0;
	misfit(&e);
	for (int i = 0; i < fit.n; i++)
	{
		rate = 0;
		for (int k = 0; k < workload(i)->nclasses; k++)
			if (workload(i)->class[k].command == EV_UPDATE)
				rate += workload(i)->class[k].rate;
		right &= near(rate, 1, 1e-9) && workload(i)->nclasses >= 2 && workload(i)->nclasses <= 3;
	}
	ok(right, "updates of unknown statements are one or two classes with the full rate");
	/* ten rows of each page together */
	for (int i = 0; i < EV_GROUP_BINS; i++)
		e.group_old_page[i] = i == 4;
	misfit(&e);
	for (int i = 0; i < fit.n; i++)
		right &= workload(i)->class[0].rows > 2;
	ok(right, "rows updated together on pages are updated together in workloads");
}

static void
test_snapshots(void)
{
	TwinWorkload	l;
	Evidence	e = observed(&l, 1, 2000);
	double		alone = 0,
				beside = 0;
	int			right = 1;

	e.sessions = 0.3;
	misfit(&e);
	for (int i = 0; i < fit.n; i++)
		alone += fit.particle[i].weight * (workload(i)->lag > 0);
	e.sessions = 20;
	misfit(&e);
	for (int i = 0; i < fit.n; i++)
	{
		beside += fit.particle[i].weight * (workload(i)->lag > 0);
		right &= workload(i)->lag <= 0.021 * fit.plan.rows && workload(i)->held == 0;
	}
	ok(beside > alone + 0.3, "more sessions: snapshots are more often old");
	ok(right, "snapshots are no older than pages without recently dead rows allow");
	e.recent_share = 0.4;
	e.recent_dead = 0.5;
	misfit(&e);
	for (int i = 0; i < fit.n; i++)
	{
		/* the rows of the live part; dead ones are counted per row of the table */
		double		rows = fit.plan.mean_live * fit.plan.scale * (1 + fit.plan.cold / fit.plan.live);
		double		a_tick = 0;

		for (int k = 0; k < workload(i)->nclasses; k++)
			a_tick += workload(i)->class[k].rate / workload(i)->class[k].rows;
		right &= near(workload(i)->held_share, 0.4, 1e-9) && workload(i)->held >= 1.29 * 0.5 * rows * a_tick &&
			workload(i)->held <= 2.51 * 0.5 * rows * a_tick;
	}
	ok(right, "snapshots are held as often as samples showed, and for longer");
	/* before the last tenth of the window */
	e.held_from = 0.3 * ff_evidence_window(&e).updated;
	e.held_until = 0.1 * ff_evidence_window(&e).updated;
	misfit(&e);
	right = 1;
	for (int i = 0; i < fit.n; i++)
	{
		const TwinWorkload *x = workload(i);

		ff_fit_today(&work.today, &fit.plan, &fit.particle[i]);
		right &= x->held == 0 && near(x->held_from, work.today.now - e.held_from * fit.plan.scale, 1e-6) &&
			near(x->held_until, work.today.now - e.held_until * fit.plan.scale, 1e-6);
	}
	ok(right, "a snapshot that was held once is held then, and never again");
}

/* Two sessions pass over the table at the same time: each finds the versions of the other, which it may not prune. */
static void
test_overlap(void)
{
	TwinWorkload	l = workload_of(136, 2000);
	Evidence	e;

	l.class[0].rows = 2000;
	l.class[0].all_rows = 1;
	l.class[0].pick = TW_SWEEP;
	l.lag = 1;
	e = observe(&l, 70, 8, 1);
	add_statement(&e, &l.class[0]);
	misfit(&e);
	ok(fit.plan.split.hot < 0.9 && workload(0)->lag > 0.5 && workload(0)->lag <= 1,
	   "passes over the table that overlap: snapshots of the other, although no sample shows what they keep");
}

/* An update of all rows that happened once explains its pages, and is not repeated. */
static void
test_event(void)
{
	TwinWorkload	l;
	Evidence	e = observed(&l, 1, 2000);
	int			right = 1;

	e.statement[e.nstatements++] = (EvStatement) {EV_UPDATE, 1, 2000, 0, NAN, NAN};
	e.interval[2].updated += 2000;
	misfit(&e);
	for (int i = 0; i < fit.n; i++)
		right &= !(workload(i)->class[0].once > 0) && workload(i)->class[1].rate > 0.1;
	ok(right, "alone, the model takes an update of all rows for a habit");
	e.min_updates = 500;
	ff_evidence_set_apart(&e);
	misfit(&e);
	right = 1;
	for (int i = 0; i < fit.n; i++)
	{
		const TwinWorkload *x = workload(i);
		double		after = e.interval[0].updated + e.interval[1].updated + e.interval[2].updated / 2;

		ff_fit_today(&work.today, &fit.plan, &fit.particle[i]);
		right &= x->nclasses == 3 && near(x->class[0].rate, 1, 1e-3) && x->class[1].once > 0 && x->class[1].all_rows &&
			near(work.today.now - x->class[1].once, after * fit.plan.scale, 1e-6);
	}
	ok(right, "set apart, it is replayed once at its time");
}

/* Each observation counts: if it contradicts the others, the fit is worse. */
static void
test_contradictions(void)
{
	TwinWorkload	l;
	Evidence	e = observed(&l, 1, 3000);
	Evidence	odd;
	double		base = misfit(&e);

	odd = e;
	odd.updated_pct = 3;
	ok(misfit(&odd) > base + 1, "worse fit: too few rows updated");
	odd = e;
	for (int i = 0; i < EV_GROUP_BINS; i++)
		odd.group_old_page[i] = i == EV_GROUP_BINS - 1;
	ok(misfit(&odd) > base + 1, "worse fit: too many rows updated together");
	odd = e;
	for (int i = 0; i < EV_GROUP_BINS; i++)
		odd.group_new_page[i] = i == 6 ? 1e6 : 0;
	ok(misfit(&odd) > base + 1, "worse fit: too many rows updated together on new pages");
	odd = e;
	for (int i = 0; i < EV_LOG2_BINS; i++)
		odd.update_age[i] = i == 25;
	ok(misfit(&odd) > base + 0.5, "worse fit: updates too old");
	odd = e;
	for (int i = 0; i < EV_LOG2_BINS; i++)
		odd.update_age[i] = i == 0;
	ok(misfit(&odd) > base + 0.5, "worse fit: updates too young");
	odd = e;
	for (int i = 0; i < EV_LOG2_BINS; i++)
		odd.update_distance[i] = i == 0 || i == EV_LOG2_BINS - 1;
	ok(misfit(&odd) > base + 0.5, "worse fit: wrong distance from insert to update");
	odd = e;
	for (int i = 0; i < odd.nintervals; i++)
		odd.interval[i].newpage = 0.9 * odd.interval[i].updated, odd.interval[i].hot = 0.1 * odd.interval[i].updated;
	ok(misfit(&odd) > base + 1, "worse fit: HOT share too low, rows moved");
	odd = e;
	for (int i = 0; i < odd.nintervals; i++)
		odd.interval[i].hot = 0.5 * odd.interval[i].updated;
	ok(misfit(&odd) < base + 0.5 && near(workload(0)->class[0].indexed, 0.5, 0.05),
	   "HOT share too low, rows not moved: an indexed column changes that no statement sets");
	odd = e;
	for (int i = 0; i < odd.nintervals; i++)
		odd.interval[i].hot *= i < 4 ? 1 : 0.3;
	ok(misfit(&odd) > base + 0.5, "worse fit: HOT share too low in a part of the window");
}

/* What was seen at the fillfactor before the last change is evidence of what it would bring. */
static void
test_before(void)
{
	/* 200 neighbours a transaction: each by itself, they would be HOT more often on full pages */
	TwinWorkload	l = workload_of(136, 2000);
	Evidence	e;
	double		hot;
	double		off[3] = {0, 0, 0};

	l.class[0].rows = 200;
	hot = hot_pct(&l, 100, 2000, 2000) / 100;
	e = observe(&l, 50, 2, 0);
	e.filled_at = 100;
	e.earlier_updated = 4000;
	e.updated_pct = 98;
	e.updated_since = ff_evidence_window(&e).updated;
	for (int seen = 0; seen < 3; seen++)
	{
		/* the table was rewritten when its fillfactor was set */
		if (seen == 2)
		{
			e.set_from = 100;
			e.filled_at = NAN;
		}
		misfit(&e);
		for (int i = 0; i < fit.n; i++)
			off[seen] += fit.particle[i].weight *
				fabs(hot_pct(workload(i), 100, 2000, 2000) / 100 - hot);
		e.before_updated = 2000;
		e.before_hot = 2000 * hot;
	}
	ok(off[1] < off[0] - 0.2, "the HOT share seen at another fillfactor counts there");
	ok(off[2] < off[0] - 0.2, "also if the table was rewritten since");
}

/* Unknown values are left out. */
static void
test_unknown(void)
{
	static const char *const needed[] = {"live_rows"};
	TwinWorkload	l;
	Evidence	e = observed(&l, 1, 2000);
	double		base = misfit(&e);
	int			good = 1;

	for (int i = 0; i < ev_nfields; i++)
	{
		Evidence	less = e;
		double	   *number = (double *) ((char *) &less + ev_field[i].offset);
		double		m;

		if (ev_field[i].step > 0 || strcmp(ev_field[i].name, needed[0]) == 0 || isnan(*number))
			continue;
		for (int k = 0; k < (ev_field[i].n > 0 ? ev_field[i].n : 1); k++)
			number[k] = NAN;
		m = misfit(&less);
		if (!isfinite(m) || m > base + 2.5 || fit.n < 1 || !(fit.particle[0].weight > 0))
		{
			printf("# without %s: misfit %g, %d workloads\n", ev_field[i].name, m, fit.n);
			good = 0;
		}
	}
	ok(good, "each number of the evidence may be unknown");
}

int
main(void)
{
	test_particles();
	test_known();
	test_two_statements();
	test_shares();
	test_snapshots();
	test_overlap();
	test_event();
	test_contradictions();
	test_before();
	test_unknown();
	printf("1..%d\n", tests);
	return failed != 0;
}
