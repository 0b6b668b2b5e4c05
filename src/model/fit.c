/*
 * fit.c
 *	  Finds the workloads that explain what was observed of a table.
 *
 * A workload is a point in a unit cube: the prior table turns each coordinate into
 * a parameter.  Points are drawn at random, the same for each table, and weighed by their
 * likelihood (importance sampling).  It is raised to POWER, because the errors of
 * observations of one table are correlated, and to less if too few workloads come near
 * the observations.  Both widen the predicted ranges.
 */
#include "model/fit.h"

#include <string.h>

/* A distribution: a default with probability "none", else log-uniform.  All are chosen. */
typedef struct Prior
{
	double		none;
	double		low;
	double		high;
} Prior;

static const Prior
	PR_ROWS = {0.5, 2, 5000},		/* rows of a transaction, if unknown */
	PR_PAGES = {0.3, 1, 100},		/* the same, if pages show groups: factor on their rows */
	PR_CALLS = {0.75, 2, 20},		/* one-row statements in a transaction */
	PR_EVERY = {0, 2, 20},			/* every k-th row */
	PR_DISTANCE = {0, 0.04, 5},		/* rows from insert to update: factor on what pages show */
	PR_SKEW = {0, 0.8, 1.3},		/* exponent of a skewed pick */
	PR_SHARE = {0.4, 0.03, 0.6},	/* share of a second kind of unknown updates */
	PR_LAG = {0.5, 0.5, 1000},		/* age of the oldest snapshot, transactions */
	PR_BETWEEN = {0.6, 1, 100},		/* rows that nobody touches, between the others */
	PR_VACUUM = {0, 0.6, 1.7},		/* gap between vacuums: factor on the mean gap seen */
	PR_INDEXED = {0.7, 0.05, 1},	/* share of updates that change an index */
	PR_HELD = {0, 1.3, 2.5};		/* time a snapshot is held: factor on its age when sampled */

/* Weight of each pick, without (still) and with (growing) inserts (chosen). */
static const struct
{
	TwinPick	pick;
	double		still;
	double		growing;
}			pick_prior[] = {
	{TW_ANY, 4, 2}, {TW_SKEWED, 2, 0.5}, {TW_NEWEST, 0, 4},
	{TW_IN_TURN, 0, 2}, {TW_SWEEP, 2, 1}
};

/* Probabilities of neighbours and of every k-th row; else each by itself (chosen). */
#define P_NEIGHBOURS	0.4
#define P_EVERY			0.45

/*
 * Standard deviations of the figures compared, besides the noise of counting.  "twin": the
 * twin's error against real runs, measured by test/model/mixture_reality.py.
 */
static const double
	SEEN_HOT = 0.012,				/* twin: HOT share */
	SEEN_HOT_SHARE = 0.06,			/* twin: plus this times the smaller of HOT and non-HOT share */
	SEEN_MOVED = 0.03,				/* chosen: share moved to another page */
	SEEN_UPDATED = 0.08,			/* chosen: share of rows updated since insert */
	SEEN_MIXED = 0.1,				/* chosen: share of updated rows on pages with others */
	SEEN_BINS = 0.5,				/* chosen: mean shift of a histogram, bins */
	SEEN_NEW_PAGES = 0.1;			/* chosen: share of updated rows on pages filled by an update */

/* All chosen; POWER from 0.05 to 1 by predictions for 24 seeds. */
#define UNSEEN_DEAD		0.02	/* recently dead versions per live row that a sample may miss */
#define TAKES_ALL		0.5		/* a transaction over this share of the rows takes all of them */
#define FREEDOM			4.0		/* degrees of freedom of deviations: no outlier dominates */
#define FATE_ROWS		20.0	/* most rows of a transaction that count as one in counting noise */
#define EFFECTIVE		6.0		/* least effective number of draws */
#define POWER			0.25	/* highest power of the likelihood */
#define UNEXPLAINED_MISFIT	7.0	/* of a fit in which no pass over the table overlaps another */

/* Coordinates: six of each class, then those of the table. */
enum
{
	D_PICK, D_WHERE, D_FORM, D_STRIDE, D_ROWS, D_INDEXED, D_CLASS
};
enum
{
	G_SHARE = D_CLASS * TW_CLASSES, G_LAG, G_VACUUM, G_HELD, G_BETWEEN, G_END
};

static double
drawn(Prior p, double u, double otherwise)
{
	return u < p.none ? otherwise : p.low * pow(p.high / p.low, (u - p.none) / (1 - p.none));
}

static TwinPick
drawn_pick(double u, int growing)
{
	double		sum = 0;
	int			n = (int) (sizeof(pick_prior) / sizeof(pick_prior[0]));
	int			i;

	for (i = 0; i < n; i++)
		sum += growing ? pick_prior[i].growing : pick_prior[i].still;
	for (i = 0, u *= sum; i < n - 1; i++)
	{
		u -= growing ? pick_prior[i].growing : pick_prior[i].still;
		if (u < 0)
			break;
	}
	return pick_prior[i].pick;
}

/*
 * Sets stride and rows: which rows a transaction of n rows takes.  For a pass over the whole
 * table, a known n gives the stride; otherwise the stride gives the rows.
 */
static void
place_rows(const FitPlan *p, const double *u, TwinClass *c, double n, int known)
{
	double		stride = p->mean_live / n;	/* if they are spread over the whole table */
	double		v = (u[D_STRIDE] - P_NEIGHBOURS) / P_EVERY;
	int			fresh;

	c->stride = 1;
	if (stride >= 1.5 && n >= 1.5 && u[D_STRIDE] >= P_NEIGHBOURS)
		c->stride = v < 1 ? floor(drawn(PR_EVERY, v, 1) + 0.5) : 0;
	/* as many rows may also be those inserted last */
	fresh = (c->pick == TW_NEWEST || c->pick == TW_IN_TURN) && n * c->stride <= p->window.inserted;
	if (c->stride > 0 && n * c->stride >= TAKES_ALL * p->mean_live && !fresh)
	{
		if (known && c->stride > 1)
			c->stride = floor(stride + 0.5);
		c->rows = floor(p->mean_live * p->scale / c->stride);
		c->all_rows = 1;
		c->pick = c->stride > 1 && c->pick <= TW_NEWEST ? TW_ANY : TW_SWEEP;
	}
	else if (n * (c->stride > 1 ? c->stride : 1) >= FIT_SHARE * p->mean_live)
		c->rows = n * p->scale;
	else
		c->rows = bound(n, 1, c->stride > 0 ? p->rows / (4 * c->stride) : p->rows / 4);
	if (c->rows < 1)
		c->rows = 1;
}

static void
make_update(const FitPlan *p, const FitSlot *s, const double *u, TwinClass *c)
{
	int			growing = p->window.inserted > 0;
	double		n = s->rows;
	double		distance = isnan(p->insert_distance) ?
		pow(bound(p->live / 2, 2, 1e9), u[D_WHERE]) :
		p->insert_distance * drawn(PR_DISTANCE, u[D_WHERE], 1);

	c->pick = drawn_pick(u[D_PICK], growing);
	if (isnan(n))
	{
		n = p->together >= 2 ? p->together * drawn(PR_PAGES, u[D_ROWS], 1) :
			drawn(PR_ROWS, u[D_ROWS], 1);
		if (c->pick == TW_SWEEP && u[D_FORM] < 0.5)
			n = p->live;
	}
	else if (n < 1.5)
	{
		c->calls = floor(drawn(PR_CALLS, u[D_ROWS], 1) + 0.5);
		n *= c->calls;
	}
	else if (u[D_ROWS] < 0.5 || n >= FIT_SHARE * p->live)
		/* in this partition, if the statement writes some rows of each */
		n = fmax(n * s->part, 1);
	place_rows(p, u, c, n, !isnan(s->rows));
	c->indexed = isnan(s->indexed) ? drawn(PR_INDEXED, u[D_INDEXED], 0) : s->indexed;
	c->skew = drawn(PR_SKEW, u[D_WHERE], 1);
	c->apart = u[D_FORM] < 0.5;
	c->resizes = p->resizes;
	c->distance = bound(distance, 1, p->rows > 4 ? p->rows * 0.75 : p->rows);
	/* anywhere within the distance, in its farther half, or exactly there */
	c->near = u[D_FORM] < 0.5 ? 0 : u[D_FORM] < 0.75 ? c->distance / 2 : c->distance - 1;
}

static void
make_class(const FitPlan *p, const FitSlot *s, const double *u, TwinClass *c)
{
	*c = (TwinClass) {
		.command = s->command,.rate = s->rate,.calls = 1,.stride = 1,.once = s->once
	};
	if (s->once > 0)
	{
		c->pick = TW_SWEEP;
		c->all_rows = s->rows >= TAKES_ALL * p->mean_live;
		c->rows = bound((c->all_rows ? p->mean_live : s->rows) * p->scale, 1, p->rows);
		c->indexed = s->indexed;
		c->resizes = p->resizes;
		return;
	}
	if (s->command == EV_UPDATE)
	{
		make_update(p, s, u, c);
		return;
	}
	c->pick = s->command == EV_DELETE && u[D_PICK] < 0.7 ? TW_OLDEST : TW_ANY;
	c->rows = or_else(s->rows, drawn(PR_ROWS, u[D_ROWS], 1));
	c->rows = bound(c->rows >= FIT_SHARE * p->mean_live ? c->rows * p->scale : c->rows,
					1, p->rows / 2 + 1);
}

/*
 * Draws the age of snapshots, in transactions of the table.  If only a part of the table
 * is replayed, small statements return to a page after fewer transactions, so the lag is
 * scaled; statements for a share of the table do not, nor do updates of new rows.
 */
static void
make_snapshots(const FitPlan *p, const Evidence *e, const double *u, TwinWorkload *l)
{
	double		alone = bound(1.2 - 0.4 * or_else(e->sessions, 1.5), 0.1, 0.9);
	double		v = u[G_LAG] < alone ? 0 :
		PR_LAG.none + (1 - PR_LAG.none) * (u[G_LAG] - alone) / (1 - alone);
	double		fresh = 0;
	int			passes = 0;		/* over much of the table */
	double		ours = 0,		/* transactions a tick, of the replay and of the table */
				real = 0;
	double		near,
				rows,
				dead;			/* recently dead versions per live row */

	for (int i = 0; i < l->nclasses; i++)
	{
		const TwinClass *c = &l->class[i];
		int			share = c->rows * bound(c->stride, 1, TW_ROWS) >= FIT_SHARE * p->rows;

		passes |= c->command == EV_UPDATE && share && !c->once;
		ours += c->rate / c->rows;
		real += c->rate / (share ? c->rows / p->scale : c->rows);
		if (c->pick == TW_NEWEST || c->pick == TW_IN_TURN)
			fresh += c->rate;
	}
	near = fresh > 0.5 ? 1 : p->scale * ours / real;
	/* squared: most snapshots are only a few transactions old */
	l->lag = v > 0 ? drawn(PR_LAG, v * v > PR_LAG.none ? v * v : v, 0) : 0;
	l->lag *= near;
	/* while a snapshot is held, each update leaves a version that stays: this many
	 * transactions leave as many versions as there are rows */
	rows = p->mean_live * p->scale * ours;
	dead = or_else(e->recent_dead, 0) * (p->live + p->cold) / p->live;
	if (!isnan(e->recent_share))
		l->lag = bound(l->lag, 0, fmax((UNSEEN_DEAD + e->recent_share * dead) * rows,
									   passes && p->overlap));
	l->held_from = p->held_from;
	l->held_until = p->held_until;
	if (isnan(e->held_until) && e->recent_share > 0 && dead > 0)
	{
		l->held = dead * rows * drawn(PR_HELD, u[G_HELD], 1);
		l->held_share = bound(e->recent_share, 0, 1);
	}
}

static void
make_workload(const FitPlan *p, const Evidence *e, const double *u, TwinWorkload *l)
{
	double		second = drawn(PR_SHARE, u[G_SHARE], 0);
	double		seen = p->window.updated / p->live;
	int			shared = 0;

	memset(l, 0, sizeof(*l));
	for (int i = 0; i < p->nslots; i++)
	{
		FitSlot		s = p->slot[i];

		if (s.shared)
			s.rate *= 2 * (shared++ == 0 ? 1 - second : second);
		if (s.rate > 0)
			make_class(p, &s, u + D_CLASS * i, &l->class[l->nclasses++]);
	}
	memcpy(l->insert_len, p->insert_len, sizeof(l->insert_len));
	memcpy(l->update_len, p->update_len, sizeof(l->update_len));
	make_snapshots(p, e, u, l);
	/* a vacuum for dead rows of the whole table comes after as many in its live part */
	l->vacuum_share = (fmin(bound(or_else(e->vacuum_scale, 0.2), 0, 100) * (p->live + p->cold) +
							or_else(e->vacuum_threshold, 50), or_else(e->vacuum_most, INFINITY))) / p->live;
	l->vacuum_gap = or_else(e->vacuum_nap_s, 60) / or_else(p->window.seconds, 60) * seen;
	if (p->window.vacuums >= 1)
		l->vacuum_gap = seen / p->window.vacuums * drawn(PR_VACUUM, u[G_VACUUM], 1);
	else if (e->vacuum_nap_s < 0)
		l->vacuum_gap = -1;
	l->start_rows = p->start_rows;
	if (l->start_rows >= 1)
		l->between = bound(drawn(PR_BETWEEN, u[G_BETWEEN], 0), 0,
						   fmin(p->cold * p->scale, TW_PAGES / 16 * p->page_rows) / l->start_rows);
}

/* ln of the density of a deviation, given in standard deviations; 0 at no deviation. */
static double
log_density(double d)
{
	return -0.5 * (FREEDOM + 1) * log1p(d * d / FREEDOM);
}

static double
total(const double *bin, int n)
{
	double		sum = 0;

	while (n-- > 0)
		sum += bin[n];
	return sum;
}

/*
 * Area between two cumulative distributions: by how many bins they differ on average
 * after b was moved down by "shift" bins.  What falls below the first bin counts in it.
 * 0 if either histogram is empty or unknown.
 */
static double
bins_off(const double *a, const double *b, int n, double shift)
{
	double		sum_a = total(a, n);
	double		sum_b = total(b, n);
	double		at_a = 0,
				off = 0;
	int			by = (int) floor(shift + 0.5);

	if (!(sum_a > 0 && sum_b > 0))
		return 0;
	for (int i = 0; i < n; i++)
	{
		int			upto = (int) bound(i + by + 1, 0, n);

		at_a += a[i] / sum_a;
		if (upto > 0)
			off += fabs(at_a - total(b, upto) / sum_b);
	}
	return off;
}

static double
log_likelihood_of_pages(const FitPlan *p, const Evidence *e, const Twin *t, const TwinView *v)
{
	double		sum = 0;
	double		groups[EV_GROUP_BINS];
	double		updated = 0;
	double		old_page = or_else(total(e->group_old_page, EV_GROUP_BINS), 0);
	double		new_page = or_else(total(e->group_new_page, EV_GROUP_BINS), 0);
	double		rows = (p->live + p->cold) * p->scale;
	double		xids = t->xid / (t->now > 0 ? t->now : 1);
	double		shift = log2(xids / p->xids_per_tick);

	if (!isnan(e->updated_pct) && v->rows > 0)
		sum += log_density((v->updated_rows / v->rows -
							bound(e->updated_pct / 100 * rows / p->rows, 0, 1)) / SEEN_UPDATED);
	for (int i = 0; i < EV_LENGTHS; i++)
		updated += or_else(e->updated_length[2 * i + 1], 0);
	if (v->updated_rows > 0 && updated > 0 && total(e->update_distance, EV_LOG2_BINS) >= 0)
		sum += log_density((total(v->update_distance, EV_LOG2_BINS) / v->updated_rows -
							total(e->update_distance, EV_LOG2_BINS) / updated) / SEEN_MIXED);
	for (int i = 0; i < EV_GROUP_BINS; i++)
		groups[i] = v->group_old_page[i] + v->group_new_page[i];
	if (total(groups, EV_GROUP_BINS) <= 0)
		return sum;
	if (old_page + new_page > 0)
	{
		double		share = old_page / (old_page + new_page);
		double		off = share - total(v->group_old_page, EV_GROUP_BINS) / total(groups, EV_GROUP_BINS);

		sum += log_density(bins_off(e->group_old_page, v->group_old_page, EV_GROUP_BINS, 0) *
						   share / SEEN_BINS) +
			log_density(bins_off(e->group_new_page, v->group_new_page, EV_GROUP_BINS, 0) *
						(1 - share) / SEEN_BINS) +
			log_density(off / SEEN_NEW_PAGES);
	}
	if (isnan(shift))
		return sum;
	if (!isnan(e->update_distance[0]))
		sum += log_density(bins_off(e->update_distance, v->update_distance, EV_LOG2_BINS, shift) /
						   SEEN_BINS);
	/* ages go back over the whole table, so they are scaled like it */
	if (!isnan(e->update_age[0]))
		sum += log_density(bins_off(e->update_age, v->update_age, EV_LOG2_BINS, shift + log2(p->scale)) /
						   SEEN_BINS);
	return sum;
}

/* Randomness in the replay of a workload, from its largest update transactions. */
typedef struct Chance
{
	double		together;		/* rows that count as one */
	double		rows;			/* rows of one such transaction */
	double		mix;			/* how much one more of them shifts the mix of classes */
} Chance;

static Chance
chance_of(const TwinWorkload *l)
{
	Chance		c = {1, 1, 0};

	for (int i = 0; i < l->nclasses; i++)
		if (l->class[i].command == EV_UPDATE && l->class[i].rows > c.rows && !l->class[i].once)
		{
			c.rows = l->class[i].rows;
			c.mix = l->class[i].rate * (1 - bound(l->class[i].rate, 0, 1));
		}
	c.together = bound(c.rows, 1, FATE_ROWS);
	return c;
}

/*
 * ln density of the difference "off" between a replayed and an observed share of updates;
 * replayed and seen are numbers of updates.
 */
static double
share_density(double off, double share, double sd, double by_share, const Chance *c,
			  double replayed, double seen)
{
	double		p = bound(share, 0.02, 0.98);
	double		less = p < 0.5 ? p : 1 - p;
	double		mix = c->mix * c->rows / replayed;
	double		chance = p * (1 - p) * c->together * (1 / replayed + 1 / seen) + mix * mix;

	return log_density(off / sqrt(sd * sd + by_share * by_share * less * less + chance));
}

/* Replays a workload up to the window.  Returns what was counted at the fillfactor before the
 * last change, as long as it was observed. */
static TwinCount
begin(Twin *t, const FitPlan *p, const TwinWorkload *workload)
{
	TwinCount	at_old;

	ff_twin_start(t, workload, p->set_from, 1);
	ff_twin_run(t, p->before_set - p->set_segment);
	ff_twin_count_from_here(t);
	ff_twin_run(t, p->set_segment);
	at_old = t->count;
	if (p->set_from == p->filled_at)
		ff_twin_set_fillfactor(t, p->fillfactor);
	else
		ff_twin_rewrite(t, p->fillfactor);
	ff_twin_run(t, p->before - p->before_set);
	return at_old;
}

/* ln density of a replayed HOT share; 0 if no share was observed. */
static double
hot_density(const TwinCount *c, double observed, double updates, const Chance *chance)
{
	if (isnan(observed) || c->updates < 1)
		return 0;
	return share_density(c->hot / c->updates - observed, observed, SEEN_HOT, SEEN_HOT_SHARE, chance,
						 c->updates, updates);
}

/* Replays a workload and returns the ln of the likelihood of what was observed. */
static double
likelihood(FitWork *w, const FitPlan *p, const Evidence *e, FitParticle *x)
{
	Twin	   *t = &w->twin;
	TwinView	view;
	TwinCount	sum = {0};
	Chance		chance = chance_of(&x->workload);
	TwinCount	at_old = begin(t, p, &x->workload);
	double		result = hot_density(&at_old, p->set_hot, p->set_updates, &chance);

	for (int i = 0; i < FIT_SEGMENTS; i++)
	{
		ff_twin_count_from_here(t);
		ff_twin_run(t, p->segment[i]);
		add_numbers(&sum, &t->count, sizeof(sum), 1);
		result += hot_density(&t->count, p->segment_hot[i], p->segment_updates[i], &chance);
	}
	x->hot = sum.updates > 0 ? sum.hot / sum.updates : NAN;
	if (!isnan(p->split.moved) && sum.updates > 0)
		result += share_density(sum.moved / sum.updates - p->split.moved, p->split.moved,
								SEEN_MOVED, 0, &chance, sum.updates, p->window.updated);
	ff_twin_look(t, &view);
	result += log_likelihood_of_pages(p, e, t, &view);
	/* penalty: a replay with too few updates explains nothing */
	return t->exhausted || sum.updates < 0.5 * total(p->segment, FIT_SEGMENTS) ?
		result - 5 * FREEDOM : result;
}

/* Sets the weights of all draws: their likelihoods raised to a power, the largest scaled to 1.
 * Returns how many draws of equal weight would tell as much. */
static double
tempered_weights(FitParticle *x, double power)
{
	double		best = -INFINITY;
	double		sum = 0,
				squares = 0;

	for (int i = 0; i < FIT_DRAWS; i++)
		best = fmax(best, x[i].log_likelihood);
	for (int i = 0; i < FIT_DRAWS; i++)
	{
		x[i].weight = exp(power * (x[i].log_likelihood - best));
		sum += x[i].weight;
		squares += x[i].weight * x[i].weight;
	}
	return sum * sum / squares;
}

/*
 * The same draws for each table, so that equal evidence gives equal weights and a small
 * difference of the evidence a small one of the weights.
 */
static void
draw_workloads(FitWork *w, const Evidence *e, Fit *fit)
{
	uint64_t	r = UINT64_C(0x9E3779B97F4A7C15);
	double		sum = 0;

	for (int i = 0; i < FIT_DRAWS; i++)
	{
		FitParticle *x = &w->draw[i];

		for (int k = 0; k < G_END; k++)
			x->u[k] = random_unit(&r);
		make_workload(&fit->plan, e, x->u, &x->workload);
		x->log_likelihood = likelihood(w, &fit->plan, e, x);
	}
	for (double power = POWER; tempered_weights(w->draw, power) < EFFECTIVE;)
		power *= 0.8;
	for (fit->n = 0; fit->n < FIT_PARTICLES; fit->n++)
	{
		int			best = 0;

		for (int i = 1; i < FIT_DRAWS; i++)
			if (w->draw[i].weight > w->draw[best].weight)
				best = i;
		sum += w->draw[best].weight;
		fit->particle[fit->n] = w->draw[best];
		w->draw[best].weight = -1;
	}
	for (int i = 0; i < fit->n; i++)
		fit->particle[i].weight /= sum;
	fit->misfit = -2 * fit->particle[0].log_likelihood / (FREEDOM + 1);
}

/* If nothing explains the table, passes over it may overlap: samples seldom see what they keep from each other. */
void
ff_fit(FitWork *w, const Evidence *e, Fit *fit)
{
	FitPlan    *p = &fit->plan;

	draw_workloads(w, e, fit);
	for (int i = 0; i < p->nslots && fit->misfit > UNEXPLAINED_MISFIT; i++)
		p->overlap |= p->slot[i].command == EV_UPDATE && p->slot[i].rows >= FIT_SHARE * p->mean_live;
	if (p->overlap)
		draw_workloads(w, e, fit);
}

void
ff_fit_today(Twin *t, const FitPlan *p, const FitParticle *x)
{
	begin(t, p, &x->workload);
	for (int i = 0; i < FIT_SEGMENTS; i++)
		ff_twin_run(t, p->segment[i]);
}
