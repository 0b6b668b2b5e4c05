/*
 * model_cli.c
 *	  The model from the command line.  Standard input holds the evidence, a line each:
 *	  "NAME VALUE" for a number, "interval S INS UPD HOT NEWPAGE DEL VACUUMS" (the newest
 *	  first), "statement COMMAND CALLS ROWS INDEXED RECORDS BYTES BUSY", "NAME V V ..."
 *	  for a histogram; "nan" is unknown.  Written are the lives, the steps and the choice.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model/decide.h"

#define FIELD(name) { #name, offsetof(Evidence, name), 1 }
#define BINS(name, n) { #name, offsetof(Evidence, name), n }

static const struct
{
	const char *name;
	size_t		offset;
	int			n;
}			field[] =
{
	FIELD(observed_s), FIELD(earlier_updated), FIELD(window_xids), FIELD(indexed_share),
	FIELD(blocks), FIELD(live_rows), FIELD(rows_per_page), FIELD(rows_per_page_max),
	FIELD(updated_pct), FIELD(seen_hot), FIELD(seen_same_page), FIELD(seen_moved),
	FIELD(inserted_width), FIELD(inserted_width_err), FIELD(updated_width),
	FIELD(updated_width_err), FIELD(update_group_rows), FIELD(insert_group_rows),
	FIELD(update_distance_p50),
	FIELD(fillfactor), FIELD(filled_at), FIELD(updated_since), FIELD(indexes),
	FIELD(index_bytes), FIELD(ram_bytes), FIELD(vacuum_scale), FIELD(vacuum_threshold),
	FIELD(vacuum_nap_s), FIELD(held_share), FIELD(held_xids), FIELD(sessions),
	FIELD(index_scans), FIELD(seq_scans), FIELD(blocks_fetched),
	FIELD(checkpoint_s), FIELD(read_us), FIELD(horizon_s), FIELD(time_weight), FIELD(wal_weight),
	FIELD(size_weight), FIELD(min_gain), FIELD(min_updates),
	BINS(group_old_page, EV_GROUP_BINS), BINS(group_new_page, EV_GROUP_BINS),
	BINS(insert_group, EV_GROUP_BINS), BINS(update_distance, EV_LOG2_BINS),
	BINS(update_age, EV_LOG2_BINS),
	BINS(inserted_length, 2 * EV_LENGTHS), BINS(updated_length, 2 * EV_LENGTHS)
};

static const char *const commands[] = {"insert", "update", "delete", "other"};
static const char *const picks[] = {"any", "skewed", "newest", "turn", "sweep", "fixed", "oldest"};
static const char *const actions[] = {"wait", "keep", "set", "rewrite"};

static void
read_line(Evidence *e, const char *name, char *rest)
{
	double		v[40];
	char		command[16];
	int			n = 0;
	char	   *end;

	if (strcmp(name, "statement") == 0 && e->nstatements < EV_STATEMENTS)
	{
		EvStatement *s = &e->statement[e->nstatements++];

		if (sscanf(rest, "%15s %lf %lf %lf %lf %lf %lf", command, &s->calls, &s->rows,
				   &s->sets_indexed, &s->wal_records, &s->wal_bytes, &s->busy_share) != 7)
			exit(2);
		for (s->command = EV_INSERT; s->command < EV_OTHER; s->command++)
			if (strcmp(commands[s->command], command) == 0)
				break;
		return;
	}
	for (v[0] = strtod(rest, &end); end != rest && n < 39; v[++n] = strtod(rest, &end))
		rest = end;
	if (strcmp(name, "interval") == 0 && n == 7 && e->nintervals < EV_INTERVALS)
	{
		e->interval[e->nintervals++] = (EvInterval) {
			v[0], v[1], v[2], v[3], v[4], v[5], v[6]
		};
		return;
	}
	for (size_t f = 0; f < sizeof(field) / sizeof(field[0]); f++)
		if (strcmp(field[f].name, name) == 0)
		{
			memcpy((char *) e + field[f].offset, v,
				   sizeof(double) * (size_t) (n < field[f].n ? n : field[f].n));
			return;
		}
	fprintf(stderr, "unknown line: %s\n", name);
	exit(2);
}

static void
write_life(const FitParticle *x)
{
	const TwinLife *l = &x->life;

	printf("life weight %.3f likelihood %.1f hot %.1f rows %.0f lag %.1f held %.0f vacuum %.2f/%.2f "
		   "grow %.1f%s\n", x->weight, x->log_likelihood, 100 * x->hot, l->start_rows, l->lag,
		   l->held, l->vacuum_share, l->vacuum_gap, l->grow_updates, l->redraw ? " redraw" : "");
	for (int i = 0; i < l->nclasses; i++)
	{
		const TwinClass *c = &l->class[i];

		printf("    %s rate %.3f rows %.1f x %.0f (%.0f calls) %s distance %.0f..%.0f skew %.2f%s "
			   "every %.0f indexed %.2f%s\n", commands[c->command], c->rate, c->rows, c->times,
			   c->calls, picks[c->pick], c->near, c->distance, c->skew,
			   c->scattered ? " scattered" : "", c->stride, c->indexed,
			   c->resizes ? " resizes" : "");
	}
}

int
main(int argc, char **argv)
{
	static FitWork work;
	static Fit	fit;
	static Forecast f;
	static Decision d;
	Evidence	e;
	char		line[4096],
				name[64];
	clock_t		begun;
	int			at;

	ff_evidence_clear(&e);
	while (fgets(line, sizeof(line), stdin))
		if (sscanf(line, "%63s %n", name, &at) == 1)
			read_line(&e, name, line + at);
	begun = clock();
	ff_decide(&work, &e, 1, &fit, &f, &d);
	printf("fit n %d misfit %.2f tempered %.3f runs %d+%d ms %.1f rows %.0f scale %.4f laps %.2f "
		   "together %.1f distance %.0f split %.3f/%.3f/%.3f\n", fit.n, fit.misfit, fit.tempered,
		   fit.runs, f.runs, 1e3 * (double) (clock() - begun) / CLOCKS_PER_SEC, fit.plan.rows,
		   fit.plan.scale, fit.plan.before / (fit.plan.rows + 1e-9), fit.plan.together,
		   fit.plan.insert_distance, fit.plan.split.hot, fit.plan.split.moved, fit.plan.split.blocked);
	for (int i = 0; argc > 1 && i < fit.n; i++)
		write_life(&fit.particle[i]);
	(void) argv;
	for (int i = 0; i < f.n; i++)
		printf("step %d hot %.2f low %.2f high %.2f moved %.2f settled %.2f set %.4f rewrite %.4f agree %.2f "
			   "us %.2f wal %.1f heap %.0f%s\n", f.step[i].fillfactor, f.step[i].hot_pct,
			   f.step[i].hot_low, f.step[i].hot_high, f.step[i].moved_pct, f.step[i].settled_hot_pct,
			   d.cost[FC_SET][i].ratio, d.cost[FC_REWRITE][i].ratio, d.cost[FC_REWRITE][i].agreement,
			   d.cost[FC_REWRITE][i].time_us, d.cost[FC_REWRITE][i].wal_bytes,
			   d.cost[FC_REWRITE][i].heap_bytes, i == f.current ? " current" : "");
	printf("decision %s at %d gain %.4f best %d %s agreement %.2f confidence %.2f bound %.3f "
		   "settling %.2f in %.0f\n", actions[d.action], f.n ? f.step[d.advised].fillfactor : 0, d.gain,
		   f.n ? f.step[d.best].fillfactor : 0, actions[2 + d.best_way], d.agreement,
		   d.confidence, d.bound, d.settling, d.settle_updates);
	return 0;
}
