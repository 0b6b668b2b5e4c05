/*
 * mixture_cli.c
 *	  Replays a mixture in the twin from the command line: words of key=value give the
 *	  workload, the word "class" begins a class; "was" is the fillfactor of the table
 *	  as loaded, at which "before" ticks are replayed.  "ff=0,100,90" writes one line
 *	  each: the table is rewritten at this fillfactor (0: not), "settle" ticks follow, and
 *	  "measure" ticks are counted.  Lengths are given as "insert_bytes=72:7,648:3"
 *	  (bytes:share), "update_bytes" likewise.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../src/model/twin.h"

#define LIFE(name) { #name, offsetof(TwinWorkload, name) }
#define CLASS(name) { #name, offsetof(TwinClass, name) }

typedef struct Field
{
	const char *name;
	size_t		offset;
} Field;

static const Field workload_field[] = {
	LIFE(lag), LIFE(held), LIFE(held_share), LIFE(vacuum_share),
	LIFE(vacuum_gap), LIFE(start_rows), {NULL, 0}
};
static const Field class_field[] = {
	CLASS(rate), CLASS(rows), CLASS(calls), CLASS(distance), CLASS(near),
	CLASS(skew), CLASS(stride), CLASS(indexed),
	{NULL, 0}
};
static const char *const picks[] = {
	"any", "skewed", "newest", "in_turn", "sweep", "oldest", NULL
};
static const char *const commands[] = {"insert", "update", "delete", NULL};

static int
word(const char *const *list, const char *value)
{
	for (int i = 0; list[i]; i++)
		if (strcmp(list[i], value) == 0)
			return i;
	fprintf(stderr, "unknown word: %s\n", value);
	exit(2);
}

static int
set_double(const Field *f, void *base, const char *key, const char *value)
{
	for (; f->name; f++)
		if (strcmp(f->name, key) == 0)
		{
			*(double *) ((char *) base + f->offset) = strtod(value, NULL);
			return 1;
		}
	return 0;
}

static void
set_lengths(int16_t *quantile, const char *value)
{
	double		bytes[16],
				share[16],
				sum = 0,
				at = 0;
	int			n = 0,
				k = 0;

	while (n < 16 && sscanf(value, "%lf:%lf", &bytes[n], &share[n]) == 2)
	{
		sum += share[n++];
		value = strchr(value, ',');
		if (value == NULL)
			break;
		value++;
	}
	for (int i = 0; i < TW_QUANTILES; i++)
	{
		while (k < n - 1 && (i + 0.5) / TW_QUANTILES > (at + share[k]) / sum)
			at += share[k++];
		quantile[i] = (int16_t) bytes[k];
	}
}

static void
set_word(TwinWorkload *l, const char *key, const char *value)
{
	TwinClass  *c = &l->class[l->nclasses - 1];

	if (strcmp(key, "insert_bytes") == 0)
	{
		set_lengths(l->insert_len, value);
		memcpy(l->update_len, l->insert_len, sizeof(l->update_len));
	}
	else if (strcmp(key, "update_bytes") == 0)
		set_lengths(l->update_len, value);
	else if (l->nclasses > 0 && strcmp(key, "pick") == 0)
		c->pick = (TwinPick) word(picks, value);
	else if (l->nclasses > 0 && strcmp(key, "command") == 0)
		c->command = (EvCommand) word(commands, value);
	else if (l->nclasses > 0 && strcmp(key, "resizes") == 0)
		c->resizes = atoi(value);
	else if (l->nclasses > 0 && strcmp(key, "all_rows") == 0)
		c->all_rows = atoi(value);
	else if (!(l->nclasses > 0 && set_double(class_field, c, key, value)) &&
			 !set_double(workload_field, l, key, value))
	{
		fprintf(stderr, "unknown key: %s\n", key);
		exit(2);
	}
}

static void
replay(const TwinWorkload *l, int was, double before, int ff, double settle, double measure, uint64_t seed)
{
	static Twin t;
	TwinView	v;
	clock_t		begun = clock();
	double		ms;

	ff_twin_start(&t, l, was, seed);
	ff_twin_run(&t, before);
	if (ff > 0)
		ff_twin_rewrite(&t, ff);
	ff_twin_run(&t, settle);
	ff_twin_count_from_here(&t);
	ff_twin_run(&t, measure);
	ms = 1000.0 * (double) (clock() - begun) / CLOCKS_PER_SEC;
	ff_twin_look(&t, &v);
	printf("ff=%d updates=%.0f hot=%.2f moved=%.2f blocked=%.2f pages=%d rows=%.0f dead=%.0f "
		   "prunes=%.3f vacuums=%.0f updated=%.1f ms=%.2f%s\n", ff, t.count.updates,
		   100 * t.count.hot / (t.count.updates + 1e-9),
		   100 * t.count.moved / (t.count.updates + 1e-9),
		   100 * t.count.blocked / (t.count.updates + 1e-9), t.npages, v.rows, (double) t.ndead,
		   t.count.prunes / (t.count.updates + 1e-9), t.count.vacuums,
		   100 * v.updated_rows / (v.rows + 1e-9), ms, t.exhausted ? " exhausted" : "");
}

int
main(int argc, char **argv)
{
	TwinWorkload	l = {.vacuum_share = 0.2, .vacuum_gap = 1, .start_rows = 5000};
	const char *ff = "0,100,90,80,70,60,50";
	int			was = 100;
	double		before = 5000,
				settle = 5000,
				measure = 5000;
	uint64_t	seed = 1;

	set_word(&l, "insert_bytes", "128:1");
	for (int i = 1; i < argc; i++)
	{
		char	   *value = strchr(argv[i], '=');

		if (strcmp(argv[i], "class") == 0 && l.nclasses < TW_CLASSES)
		{
			l.class[l.nclasses++] = (TwinClass) {
				.command = EV_UPDATE, .rate = 1, .rows = 1, .calls = 1, .stride = 1
			};
			continue;
		}
		if (value == NULL)
			return 2;
		*value++ = '\0';
		if (strcmp(argv[i], "ff") == 0)
			ff = value;
		else if (strcmp(argv[i], "was") == 0)
			was = atoi(value);
		else if (strcmp(argv[i], "before") == 0)
			before = strtod(value, NULL);
		else if (strcmp(argv[i], "settle") == 0)
			settle = strtod(value, NULL);
		else if (strcmp(argv[i], "measure") == 0)
			measure = strtod(value, NULL);
		else if (strcmp(argv[i], "seed") == 0)
			seed = strtoull(value, NULL, 10);
		else
			set_word(&l, argv[i], value);
	}
	for (const char *p = ff; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
		replay(&l, was, before, atoi(p), settle, measure, seed);
	return 0;
}
