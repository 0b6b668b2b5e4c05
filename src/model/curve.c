/*
 * curve.c
 *	  What each fillfactor would do to a table of which lifecycles are known.
 *
 * Every lifecycle that explains the table is replayed at the edges of some of
 * its steps, over a window such as the one observed and over the settled
 * table; the steps between are filled in.
 */
#include "model/lifecycle.h"
#include "numbers.h"

#include <math.h>
#include <string.h>

/* Between replayed steps: a larger difference of the share that is not HOT has
 * one more replayed. */
#define STEEP			0.04
#define COARSE_ANCHORS	6
/* What the range holds besides the lifecycles' own: of the share that is not HOT,
 * and of the way from what is seen.  With these it held the truth in nine of ten
 * of the regret bench's predictions, run-to-run noise included. */
#define RANGE_COLD		0.03
#define RANGE_WAY		0.14
/* Fillfactor whose reserve is the room that pruning on access wants anyway. */
#define PRUNE_RESERVE	90

static double
between(double a, double b, double part)
{
	return a + (b - a) * part;
}

/* One lifecycle's curve: over the window observed, or once settled. */
static Shares *
shares_at(Step *s, int k, int settled)
{
	return settled ? &s->settled[k] : &s->window[k];
}

static void
replay_step(HeapTwin *twin, const TwinLifecycle *t, int fillfactor, Shares *s)
{
	TwinResult	r;
	double		u;

	twin_replay(twin, t, fillfactor, &r);
	u = r.updates > 0 ? r.updates : 1;
	/* no promise where nothing could be replayed */
	s->cold = r.updates > 0 ? (r.updates - r.hot) / u : 1;
	s->moved = r.moved / u;
	s->prunes = r.prunes / u;
	s->pages = r.rows > 0 ? r.pages / r.rows : 1;
	s->entries = r.rows > 0 ? r.cold_all / r.rows : 0;
}

/*
 * Steps between "from" and "to" of the curve, both replayed, are taken from a
 * straight line over rows per page.
 */
static void
interpolate(Curve *c, int k, int settled, int from, int to)
{
	const Shares *a = shares_at(&c->step[from], k, settled);
	const Shares *b = shares_at(&c->step[to], k, settled);
	double		rows_a = c->step[from].rows_per_page;
	double		rows_b = c->step[to].rows_per_page;
	int			i;

	for (i = from + 1; i < to; i++)
	{
		Shares	   *s = shares_at(&c->step[i], k, settled);
		double		rows = c->step[i].rows_per_page;
		double		part = (rows_a - rows) / (rows_a - rows_b);

		s->cold = between(a->cold, b->cold, part);
		s->moved = between(a->moved, b->moved, part);
		s->prunes = between(a->prunes, b->prunes, part);
		s->entries = between(a->entries, b->entries, part);
		/* pages follow 1 / rows per page */
		s->pages = between(a->pages, b->pages, (1 / rows - 1 / rows_a) / (1 / rows_b - 1 / rows_a));
	}
}

/*
 * Replay one lifecycle at the edges of the steps that hold an anchor and at
 * the current fillfactor, and fill in the steps between.  Where the share that
 * is not HOT changes much, one more step is replayed; below the second step at
 * which next to all is HOT, none.
 */
static void
replay_series(HeapTwin *twin, const TwinLifecycle *t, int k, int settled,
			  int fine, int current, int at_current, int len, Curve *curve)
{
	static const int anchors[] = {100, 90, 70, 50, 30, 10, 97, 94, 80, 60, 40, 20};
	int			n = fine ? (int) (sizeof(anchors) / sizeof(anchors[0])) : COARSE_ANCHORS;
	int			hot = 0;		/* steps replayed in a row that were all HOT */
	int			last = -1;
	int			i,
				j;

	for (i = 0; i < curve->n; i++)
	{
		Shares	   *s = shares_at(&curve->step[i], k, settled);
		int			replay = 0;

		for (j = 0; j < n; j++)
			replay |= twin_step_edge(anchors[j], len) == curve->step[i].fillfactor;
		if (i != at_current && (!replay || hot >= 2))
			continue;
		/* where rows grow or move, not all fillfactors of a step are alike */
		replay_step(twin, t, i == at_current ? current : curve->step[i].fillfactor, s);
		curve->runs++;
		/* above, pages are pruned before they reach the reserve, below after it */
		if (curve->step[i].fillfactor <= PRUNE_RESERVE)
			hot = s->cold <= ALL_HOT ? hot + 1 : 0;
		if (last >= 0)
		{
			int			middle = (last + i) / 2;

			if (middle > last && fabs(shares_at(&curve->step[last], k, settled)->cold - s->cold) > STEEP)
			{
				replay_step(twin, t, curve->step[middle].fillfactor, shares_at(&curve->step[middle], k, settled));
				curve->runs++;
				interpolate(curve, k, settled, last, middle);
				last = middle;
			}
			interpolate(curve, k, settled, last, i);
		}
		last = i;
	}
	/* all HOT: rows stay where they were inserted, only pages become more */
	for (i = last + 1; i < curve->n; i++)
	{
		Shares	   *s = shares_at(&curve->step[i], k, settled);

		*s = *shares_at(&curve->step[last], k, settled);
		s->pages *= (double) curve->step[last].rows_per_page / curve->step[i].rows_per_page;
	}
}

void
lifecycle_curve(HeapTwin *twin, const Observed *seen, const Lifecycle *life, Curve *curve)
{
	int			len = TWIN_MAXALIGN((int) floor(life->insert_len));
	int			current = (int) bound(seen->fillfactor, TWIN_MIN_FILLFACTOR, TWIN_MAX_FILLFACTOR);
	int			at_current = 0;
	int			f,
				i,
				k;

	memset(curve, 0, sizeof(*curve));
	if (!(life->insert_len > 0))
		return;
	for (f = TWIN_MAX_FILLFACTOR; f >= TWIN_MIN_FILLFACTOR; f--)
	{
		if (twin_step_edge(f, len) != f)
			continue;
		curve->step[curve->n].fillfactor = f;
		curve->step[curve->n].rows_per_page = twin_rows_per_page(f, len);
		if (f == twin_step_edge(current, len))
			at_current = curve->n;
		curve->n++;
	}
	for (k = 0; k < life->n; k++)
	{
		TwinLifecycle t = life->member[k].life;

		/* the whole table at that density, whatever it has now */
		t.start_fillfactor = 0;
		replay_series(twin, &t, k, 0, k < 2, current, at_current, len, curve);
		/* the settled table: for the likelier half, of which the first stands for all */
		if (life->member[k].settle_updates <= 1.2 * t.warmup + 1 || k >= 2)
		{
			int			settled = life->member[k].settle_updates > 1.2 * t.warmup + 1;

			for (i = 0; i < curve->n; i++)
				curve->step[i].settled[k] = *shares_at(&curve->step[i], settled ? 0 : k, settled);
			continue;
		}
		t.warmup = life->member[k].settle_updates;
		replay_series(twin, &t, k, 1, 0, current, at_current, len, curve);
	}

	for (i = 0; i < curve->n; i++)
	{
		Step	   *s = &curve->step[i];
		const Step *now = &curve->step[at_current];
		double		low = 101,
					high = -1;

		if (life->n == 0)
		{
			s->pages_ratio = (double) now->rows_per_page / s->rows_per_page;
			s->hot_pct = s->hot_low = s->hot_high = s->moved_pct = s->cold_pct = NAN;
			s->settled_hot_pct = s->settled_cold_pct = NAN;
			continue;
		}
		for (k = 0; k < life->n; k++)
		{
			double		w = life->member[k].weight;
			double		hot = 100 * (1 - s->window[k].cold);

			s->cold_pct += 100 * w * s->window[k].cold;
			s->moved_pct += 100 * w * s->window[k].moved;
			s->settled_cold_pct += 100 * w * s->settled[k].cold;
			if (w > 0.05)
			{
				low = hot < low ? hot : low;
				high = hot > high ? hot : high;
			}
		}
		s->hot_pct = bound(100 - s->cold_pct, 0, 100);
		s->settled_hot_pct = bound(100 - s->settled_cold_pct, 0, 100);
		s->hot_low = low;
		s->hot_high = high;
	}
	/* the range also holds what the best fit is off by at the current step, and
	 * a part of the way from there */
	if (life->n > 0)
	{
		double		off = 0;

		for (k = 0; k < life->n; k++)
			off += life->member[k].weight * life->member[k].hot_pct;
		off = fabs(off - life->hot_pct);

		for (i = 0; i < curve->n; i++)
		{
			Step	   *s = &curve->step[i];
			double		room = 0.5 + off + RANGE_COLD * (100 - s->hot_pct) + RANGE_WAY * fabs(s->hot_pct - life->hot_pct);

			s->hot_low = bound(bound(s->hot_low, 0, s->hot_pct) - room, 0, 100);
			s->hot_high = bound(bound(s->hot_high, s->hot_pct, 100) + room, 0, 100);
		}
	}
}
