/*
 * forecast.c
 *	  What each fillfactor would do to a table over payback_time.
 */
#include "model/forecast.h"

#include <string.h>

/* Length of the replays (chosen: a curve within 50 ms). */
#define CHUNKS			60		/* most chunks of a replay; its last two count as settled */
#define LIFE_TICKS		100000.0 /* of one workload in all its replays; later ones are short */
#define LEAST_CHUNKS	4		/* least, unless all HOT; after LIFE_TICKS at most twice as many */
#define CHUNK_LAPS		1.3		/* updates of each row in one chunk */
#define CHUNK_TICKS		1500.0	/* most of one chunk; twice as many for rare classes */
#define MOST_PASSES		8		/* passes in one chunk, if each takes other rows */
#define LEAST_MADE		0.5		/* chosen: least part of its updates that a workload has to make */
#define LEAST_LAPS		1.5		/* least updates of each row: pages shed rows in two waves */
#define STEP			(1.0 / 16)	/* least part of the rows per page by which steps differ */
#define STEADY			0.01	/* HOT shares that differ by less count as equal */
/* Two chunks in a row with this HOT share end a replay. */
#define ALL_HOT			0.998
/* If the HOT shares of two replayed steps differ by this, or their prunes per update, one between
 * them is replayed. */
#define STEEP			0.03
#define STEEP_PRUNES	0.1
/* Added to each side of a range: the twin's own error, points (measured, mixture_reality.py), and
 * this share of the predicted change (chosen). */
#define RANGE_POINTS	1.5
#define RANGE_WAY		0.1

/*
 * Ticks between two transactions of the rarest class with over 10 % of the updates; of a pass that
 * takes other rows each time, until it comes to the same ones again.
 */
static double
longest(const TwinWorkload *l)
{
	double		result = 0;

	for (int i = 0; i < l->nclasses; i++)
	{
		const TwinClass *c = &l->class[i];
		double		passes = c->all_rows && c->pick == TW_SWEEP ? bound(c->stride, 1, MOST_PASSES) : 1;

		if (c->command == EV_UPDATE && c->rate > 0.1)
			result = fmax(result, passes * bound(c->rows / c->rate, 0, 2 * CHUNK_TICKS));
	}
	return result;
}

/* Replays payback_time from the twin's state; after an early end, the rest counts as like
 * the last two chunks. */
static void
replay(FitWork *w, const Fit *fit, Forecast *f, int changed, FcOutcome *o)
{
	Twin	   *t = &w->twin;
	const FitPlan *p = &fit->plan;
	double		payback = f->updates * p->scale;
	double		ticks = bound(bound(CHUNK_LAPS * p->rows, 0, CHUNK_TICKS), longest(&t->workload), 1e9);
	double		chunk = bound(ticks, 0, payback / LEAST_CHUNKS);
	TwinCount	sum = {0};
	TwinCount	last[2] = {{0}};
	double		hot[CHUNKS] = {0};
	double		window = bound(p->window.updated * p->scale, 0, payback);
	double		seen[2] = {0};
	double		n;
	int			i,
				k = 0;

	for (i = 0; i < (f->ticks < LIFE_TICKS ? CHUNKS : 2 * LEAST_CHUNKS); i++)
	{
		k = i;
		f->ticks += chunk;
		ff_twin_count_from_here(t);
		ff_twin_run(t, chunk);
		add_numbers(&sum, &t->count, sizeof(sum), 1);
		last[0] = last[1];
		last[1] = t->count;
		if (i == 0 || ((i + 0.5) * chunk < window && (!changed || (i + 0.5) * chunk > window / 2)))
		{
			/* from half of the window on, the first chunk no longer counts */
			if (i > 0 && changed && (i - 0.5) * chunk <= window / 2)
				seen[0] = seen[1] = 0;
			seen[0] += t->count.updates;
			seen[1] += t->count.hot;
		}
		hot[i] = t->count.updates > 0 ? t->count.hot / t->count.updates : i > 0 ? hot[i - 1] : 0;
		if (i < 1 || (i + 1) * chunk < bound(LEAST_LAPS * p->rows, 0, payback))
			continue;
		/* all HOT twice in a row: it stays so */
		if (hot[i] >= ALL_HOT && hot[i - 1] >= ALL_HOT)
			break;
		if (i >= LEAST_CHUNKS - 1 &&
			((i + 1) * chunk >= payback || fabs(hot[i] + hot[i - 1] - hot[i - 2] - hot[i - 3]) < 2 * STEADY))
			break;
	}
	add_numbers(&sum, &last[0], sizeof(sum), (payback / chunk - k - 1) / 2);
	add_numbers(&sum, &last[1], sizeof(sum), (payback / chunk - k - 1) / 2);
	o->made = sum.updates / bound(payback, 1, 1e18);
	n = sum.updates > 1 ? sum.updates : 1;
	o->hot = sum.hot / n;
	o->moved = sum.moved / n;
	o->prunes = sum.prunes / n;
	o->touched = sum.touched / n;
	o->images = sum.images / n;
	o->moved_bytes = sum.update_bytes / n;
	o->pages = (t->npages - t->spare_used) / bound((double) (t->nlive + t->ncold), 1, 1e15);
	n = last[0].updates + last[1].updates;
	/* a window longer than the replay ends settled */
	o->window_hot = (k + 1) * chunk < window * 0.75 && n > 0 ? (last[0].hot + last[1].hot) / n :
		seen[0] > 0 ? seen[1] / seen[0] : o->hot;
	o->settled_hot = n > 0 ? (last[0].hot + last[1].hot) / n : o->hot;
	while (k >= 0 && fabs(hot[k] - o->settled_hot) <= 2 * STEADY)
		k--;
	o->settle_updates = (k + 1) * chunk / p->scale;
}

/* Interpolates the steps between two replayed ones, linear in rows per page; the number of
 * pages is linear in its inverse. */
static void
fill_between(const Forecast *f, FcOutcome *o, int from, int to)
{
	const double *a = (const double *) &o[from];
	const double *b = (const double *) &o[to];
	double		most = f->step[from].rows_per_page;
	double		least = f->step[to].rows_per_page;

	for (int i = from + 1; i < to; i++)
	{
		double		rows = f->step[i].rows_per_page;
		double		part = (most - rows) / (most - least);

		for (size_t k = 0; k < sizeof(*o) / sizeof(double); k++)
			((double *) &o[i])[k] = a[k] + (b[k] - a[k]) * part;
		part = (1 / rows - 1 / most) / (1 / least - 1 / most);
		o[i].pages = o[from].pages + (o[to].pages - o[from].pages) * part;
	}
}

/* Replays one workload, in one way, at one step. */
static void
replay_step(FitWork *w, const Fit *fit, Forecast *f, int workload, FcWay way, int step)
{
	const FitPlan *p = &fit->plan;
	int			at = step == f->current ? p->fillfactor : f->step[step].fillfactor;

	ff_twin_copy(&w->twin, &w->today);
	if (way == FC_REWRITE)
		ff_twin_rewrite(&w->twin, at);
	else
		ff_twin_set_fillfactor(&w->twin, at);
	w->twin.checkpoint = p->checkpoint * p->scale;
	w->twin.near_checkpoint = p->insert_distance < LATELY * p->live ?
		p->checkpoint : w->twin.checkpoint;
	/* rows that nobody touches, in pages as they are: inserts fill these first where they have room */
	if (way == FC_SET)
	{
		w->twin.spare_pages = (p->cold * p->scale - (double) w->twin.ncold) / p->cold_page_rows;
		w->twin.spare_bytes = p->cold_page_free;
	}
	replay(w, fit, f, way == FC_REWRITE || step != f->current, &f->outcome[way][workload][step]);
}

/* Replays the middle step between two, recursively while these differ much. */
static void
replay_between(FitWork *w, const Fit *fit, Forecast *f, int workload, FcWay way, int from, int to,
			   int depth)
{
	FcOutcome  *o = f->outcome[way][workload];
	int			middle = (from + to) / 2;

	if (depth == 0 || middle == from ||
		(fabs(o[from].hot - o[to].hot) < STEEP && fabs(o[from].prunes - o[to].prunes) < STEEP_PRUNES))
	{
		fill_between(f, o, from, to);
		return;
	}
	replay_step(w, fit, f, workload, way, middle);
	replay_between(w, fit, f, workload, way, from, middle, depth - 1);
	replay_between(w, fit, f, workload, way, middle, to, depth - 1);
}

/* Fills all steps of one workload, in one way. */
static void
replay_steps(FitWork *w, const Fit *fit, Forecast *f, int workload, FcWay way)
{
	static const int anchors[FC_WAYS][5] = {{100, 50, 10, 10, 10}, {100, 90, 70, 40, 10}};
	int			last = -1;

	for (int i = 0; i < f->n; i++)
	{
		int			wanted = i == f->current || i == 0 || i == f->n - 1;

		/* the first step with no more rows a page than an anchor */
		for (int k = 0; k < 5; k++)
		{
			int			edge = ff_twin_step_edge(anchors[way][k], fit->plan.step_len);

			wanted |= f->step[i].fillfactor <= edge && i > 0 && f->step[i - 1].fillfactor > edge;
		}
		if (!wanted)
			continue;
		replay_step(w, fit, f, workload, way, i);
		if (last >= 0)
			replay_between(w, fit, f, workload, way, last, i, 2);
		last = i;
	}
}

/* Quantile "share" of a step's HOT share over the workloads. */
static double
hot_quantile(const Forecast *f, FcWay way, int step, double share)
{
	double		least = INFINITY;

	for (int i = 0; i < f->nworkloads; i++)
	{
		double		hot = f->outcome[way][i][step].window_hot;
		double		weight = 0;

		for (int k = 0; k < f->nworkloads; k++)
			weight += f->outcome[way][k][step].window_hot <= hot ? f->weight[k] : 0;
		if (weight >= share && hot < least)
			least = hot;
	}
	return least;
}

/* Means over the workloads of what one way to a step gives. */
static FcMean
mean_of(const Fit *fit, const Forecast *f, FcWay way, int step)
{
	FcMean		m = {0};
	double		off;

	for (int k = 0; k < f->nworkloads; k++)
	{
		const FcOutcome *o = &f->outcome[way][k][step];

		m.hot_pct += 100 * f->weight[k] * o->window_hot;
		if (o->hot < 1)
			m.moved_pct += 100 * f->weight[k] * (1 - o->window_hot) * o->moved / (1 - o->hot);
		m.settled_hot_pct += 100 * f->weight[k] * o->settled_hot;
	}
	/* a sum of weights may be a rounding error above 1 */
	m.hot_pct = bound(m.hot_pct, 0, 100);
	off = RANGE_POINTS + RANGE_WAY * fabs(m.hot_pct - 100 * fit->plan.split.hot);
	m.hot_low = bound(100 * hot_quantile(f, way, step, 0.05) - off, 0, m.hot_pct);
	m.hot_high = bound(100 * hot_quantile(f, way, step, 0.95) + off, m.hot_pct, 100);
	return m;
}

/*
 * Leaves out workloads that find too few rows to update, unless all do: what they cost per row
 * updated is the cost of inserts.
 */
static void
leave_out_starved(Forecast *f)
{
	double		left = 0;

	for (int k = 0; k < f->nworkloads; k++)
		if (f->outcome[FC_SET][k][f->current].made >= LEAST_MADE)
			left += f->weight[k];
	for (int k = 0; k < f->nworkloads && left > 0; k++)
		f->weight[k] = f->outcome[FC_SET][k][f->current].made >= LEAST_MADE ? f->weight[k] / left : 0;
}

void
ff_forecast(FitWork *w, const Evidence *e, const Fit *fit, Forecast *f)
{
	const FitPlan *p = &fit->plan;
	int			len = p->step_len;
	int			at;

	memset(f, 0, sizeof(*f));
	if (len <= 0)
		return;
	for (at = TW_MAX_FF; at >= TW_MIN_FF; at--)
	{
		if (at == ff_twin_step_edge(p->fillfactor, len))
			f->current = f->n;
		else if (ff_twin_step_edge(at, len) != at ||
				 (f->n > 0 && ff_twin_rows_per_page(at, len) > (1 - STEP) * f->step[f->n - 1].rows_per_page))
			continue;
		f->step[f->n++] = (FcStep) {
			.fillfactor = at,.rows_per_page = ff_twin_rows_per_page(at, len)
		};
	}
	f->updates = p->window.updated / ff_evidence_seconds(e) *
		bound(or_else(e->payback_s, 30 * 86400.0), 1, 1e12);
	f->nworkloads = fit->n;
	for (int i = 0; i < f->nworkloads; i++)
	{
		f->weight[i] = fit->particle[i].weight;
		ff_fit_today(&w->today, p, &fit->particle[i]);
		f->ticks = 0;
		f->pages_now[i] = w->today.npages / bound((double) (w->today.nlive + w->today.ncold), 1, 1e15);
		f->between[i] = (double) w->today.ncold / p->scale;
		replay_steps(w, fit, f, i, FC_SET);
		replay_steps(w, fit, f, i, FC_REWRITE);
	}
	leave_out_starved(f);
	for (int way = 0; way < FC_WAYS && f->nworkloads > 0; way++)
		for (int i = 0; i < f->n; i++)
			f->step[i].mean[way] = mean_of(fit, f, (FcWay) way, i);
}
