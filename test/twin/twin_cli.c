/*
 * twin_cli.c
 *	  The heap twin from the command line: key=value pairs give the lifecycle,
 *	  "ff=100,90,80" the fillfactors; one line of results each.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model/heap_twin.h"

#define FIELD(name) { #name, offsetof(TwinLifecycle, name) }

static const struct
{
	const char *name;
	size_t		offset;
}			fields[] =
{
	FIELD(insert_len), FIELD(update_len), FIELD(grow_updates),
	FIELD(insert_rows), FIELD(update_rows), FIELD(inserts_per_update),
	FIELD(deletes_per_update), FIELD(hot_eligible), FIELD(fresh_share),
	FIELD(fresh_distance), FIELD(skew), FIELD(delete_oldest), FIELD(lag),
	FIELD(held), FIELD(held_share), FIELD(vacuum_share), FIELD(vacuum_gap),
	FIELD(start_rows), FIELD(warmup), FIELD(measure)
};

int
main(int argc, char **argv)
{
	static HeapTwin twin;
	TwinLifecycle life = {.insert_len = 64, .update_len = 64, .grow_updates = 1,
		.insert_rows = 1, .update_rows = 1, .hot_eligible = 1,
		.fresh_distance = 1, .delete_oldest = 1, .lag = 1, .vacuum_share = 0.2,
	.vacuum_gap = 1, .streams = 1, .start_rows = 5000, .warmup = 5000, .measure = 5000};
	const char *ff = "100,90,80,70,60,50";
	uint64_t	seed = 1;
	char		list[256];
	char	   *p;
	int			i;

	for (i = 1; i < argc; i++)
	{
		char	   *eq = strchr(argv[i], '=');
		size_t		f;

		if (eq == NULL)
		{
			fprintf(stderr, "not key=value: %s\n", argv[i]);
			return 2;
		}
		*eq++ = '\0';
		if (strcmp(argv[i], "ff") == 0)
			ff = eq;
		else if (strcmp(argv[i], "seed") == 0)
			seed = strtoull(eq, NULL, 10);
		else if (strcmp(argv[i], "streams") == 0)
			life.streams = atoi(eq);
		else if (strcmp(argv[i], "times") == 0)
			life.times = atoi(eq);
		else if (strcmp(argv[i], "in_turn") == 0)
			life.in_turn = atoi(eq);
		else
		{
			for (f = 0; f < sizeof(fields) / sizeof(fields[0]); f++)
				if (strcmp(argv[i], fields[f].name) == 0)
				{
					*(double *) ((char *) &life + fields[f].offset) = strtod(eq, NULL);
					break;
				}
			if (f == sizeof(fields) / sizeof(fields[0]))
			{
				fprintf(stderr, "unknown key: %s\n", argv[i]);
				return 2;
			}
		}
	}
	snprintf(list, sizeof(list), "%s", ff);
	for (p = strtok(list, ","); p != NULL; p = strtok(NULL, ","))
	{
		TwinResult	r;
		clock_t		t0 = clock();

		twin_run(&twin, &life, atoi(p), seed, &r);
		printf("ff=%s updates=%.0f hot=%.2f moved=%.2f cold=%.2f pages=%.0f new=%.0f rows=%.0f vacuums=%.0f prunes=%.2f dead=%.0f dead_lps=%.0f ms=%.2f%s\n",
			   p, r.updates,
			   r.updates > 0 ? 100 * r.hot / r.updates : 0,
			   r.updates > 0 ? 100 * r.moved / r.updates : 0,
			   r.updates > 0 ? 100 * r.same_page_cold / r.updates : 0,
			   r.pages, r.new_pages, r.rows, r.vacuums,
			   r.updates > 0 ? r.prunes / r.updates : 0, r.dead_versions, r.dead_lps,
			   1000.0 * (double) (clock() - t0) / CLOCKS_PER_SEC,
			   r.truncated ? " truncated" : "");
	}
	return 0;
}
