/*
 * model_cli.c
 *	  The model from the command line.  Standard input has the evidence by the names of
 *	  type ff_internal.model_input, a line each: "NAME VALUE ...", an array with all
 *	  its values; "nan" is unknown.  It writes the plan, with an argument the workloads,
 *	  then the steps and the choice.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model/choice.h"

static const char *const commands[] = {"insert", "update", "delete", "other"};
static const char *const picks[] = {"any", "skewed", "newest", "turn", "sweep", "oldest"};
static const char *const actions[] = {"wait", "keep", "set", "rewrite"};

static void
read_line(Evidence *e, char *line)
{
	char	   *name = strtok(line, " \n");
	char	   *value;
	int			n = 0;

	for (const NumberField *f = ev_field; f < ev_field + ev_nfields; f++)
	{
		if (strcmp(f->name, name) != 0)
			continue;
		while ((value = strtok(NULL, " \n")) != NULL && n < (f->n > 0 ? f->n : 1))
			*(double *) ((char *) e + f->offset + f->step * (size_t) n++) = strtod(value, NULL);
		ff_evidence_count(e, f, n);
		return;
	}
	fprintf(stderr, "unknown line: %s\n", name);
	exit(2);
}

static void
write_workload(const FitParticle *x)
{
	const TwinWorkload *l = &x->workload;

	printf("workload weight %.3f likelihood %.1f hot %.1f rows %.0f between %.1f lag %.1f held %.0f vacuum %.2f/%.2f "
		   "\n", x->weight, x->log_likelihood, 100 * x->hot, l->start_rows, l->between, l->lag,
		   l->held, l->vacuum_share, l->vacuum_gap);
	for (int i = 0; i < l->nclasses; i++)
	{
		const TwinClass *c = &l->class[i];

		printf("    %s rate %.3f rows %.1f (%.0f calls) %s distance %.0f..%.0f skew %.2f "
			   "every %.0f indexed %.2f%s\n", commands[c->command], c->rate, c->rows,
			   c->calls, picks[c->pick], c->near, c->distance, c->skew,
			   c->stride, c->indexed,
			   c->resizes ? " resizes" : "");
	}
}

int
main(int argc, char **argv)
{
	static FitWork work;
	static Fit	fit;
	static Forecast f;
	static Choice d;
	static char line[65536];
	Evidence	e;
	clock_t		begun;

	(void) argv;
	ff_evidence_clear(&e);
	/* the settings' defaults */
	e.payback_s = 30 * 86400;
	e.time_weight = 0.5;
	e.wal_weight = 0.3;
	e.size_weight = 0.2;
	e.min_gain = 0.02;
	e.min_updates = 500;
	while (fgets(line, sizeof(line), stdin))
		read_line(&e, line);
	begun = clock();
	ff_choose(&work, &e, 1, &fit, &f, &d);
	printf("fit n %d misfit %.2f ms %.1f rows %.0f scale %.8f laps %.2f "
		   "together %.1f distance %.0f split %.3f/%.3f/%.3f\n", fit.n, fit.misfit,
		   1e3 * (double) (clock() - begun) / CLOCKS_PER_SEC, fit.plan.rows,
		   fit.plan.scale, fit.plan.before / (fit.plan.rows + 1e-9), fit.plan.together,
		   fit.plan.insert_distance, fit.plan.split.hot, fit.plan.split.moved, fit.plan.split.blocked);
	for (int i = 0; argc > 1 && i < fit.n; i++)
		write_workload(&fit.particle[i]);
	for (int i = 0; i < f.n; i++)
	{
		FcWay		way = i == f.current ? FC_SET : ff_choice_way(&e, &d, i);
		const FcMean *m = &f.step[i].mean[way];

		printf("step %d hot %.2f low %.2f high %.2f moved %.2f settled %.2f set %.4f rewrite %.4f agree %.2f "
			   "us %.2f wal %.1f heap %.0f prunes %.2f set_hot %.2f set_wal %.1f updates %.1f rewritten %d%s\n",
				   f.step[i].fillfactor, m->hot_pct, m->hot_low, m->hot_high, m->moved_pct,
				   m->settled_hot_pct, d.cost[FC_SET][i].ratio, d.cost[FC_REWRITE][i].ratio,
				   ff_choice_cheaper(&f, &d, FC_REWRITE, i, FC_SET, f.current), d.cost[FC_REWRITE][i].time_us,
				   d.cost[FC_REWRITE][i].wal_bytes, d.cost[FC_REWRITE][i].heap_bytes, f.outcome[FC_SET][0][i].prunes,
				   f.step[i].mean[FC_SET].hot_pct, d.cost[FC_SET][i].wal_bytes, d.cost[FC_SET][i].wal_of_updates, way == FC_REWRITE,
				   i == f.current ? " current" : "");
	}
	printf("decision %s at %d gain %.4f best %d %s agreement %.2f confidence %.2f bound %.3f "
		   "settling %.2f in %.0f\n", actions[d.action], f.n ? f.step[d.advised].fillfactor : 0, d.gain,
		   f.n ? f.step[d.best].fillfactor : 0, actions[2 + d.best_way], d.agreement,
		   d.confidence, d.bound, d.settling, d.settle_updates);
	return 0;
}
