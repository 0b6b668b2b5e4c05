/*
 * memory.c
 *	  How much memory may hold this server's tables: the machine's, or less where
 *	  a container (control group) limits it.
 *
 * Only fixed files are read, of /proc and of the control group file system where
 * every distribution mounts it.  Every quantity is in bytes, -1 where it is
 * unknown or unlimited.
 *
 * Not counted: swap, and what other programs on the machine use.
 */
#include "postgres.h"

#include <unistd.h>

#include "funcapi.h"
#include "optimizer/optimizer.h"
#include "storage/bufmgr.h"
#include "storage/fd.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "module.h"

/*
 * Version 1 control groups write "no limit" as LONG_MAX rounded down to a page;
 * no machine comes near a tenth of that.
 */
#define NO_LIMIT		(INT64CONST(1) << 60)

/* What tells of memory, the rows of ff_memory(). */
typedef enum Which
{
	SETTING,
	RAM,
	LIMIT,
	SHARED_BUFFERS,
	CACHE,
	SOURCES
} Which;

typedef struct Source
{
	const char *name;
	int64		bytes;
	const char *note;
} Source;

PG_FUNCTION_INFO_V1(ff_memory);
PG_FUNCTION_INFO_V1(ff_ram_bytes);

/* Takes the limit that a file holds, one number or "max", if it is the lowest so far. */
static void
read_limit(const char *path, Source *limit)
{
	FILE	   *file = AllocateFile(path, "r");
	char		line[64];
	char	   *end;

	if (file == NULL)
		return;
	if (fgets(line, sizeof(line), file) != NULL)
	{
		int64		bytes = strtoll(line, &end, 10);

		if (bytes > 0 && bytes < NO_LIMIT && (*end == '\n' || *end == '\0') &&
			(limit->bytes < 0 || bytes < limit->bytes))
		{
			limit->bytes = bytes;
			limit->note = psprintf("from %s", path);
		}
	}
	FreeFile(file);
}

/* From a control group up to where its hierarchy is mounted. */
static void
read_limits(const char *mount, const char *group, const char *first, const char *second,
			Source *limit)
{
	bool		below = strcmp(group, "/") != 0 && strstr(group, "/..") == NULL;
	char	   *folder = psprintf("%s%s", mount, below ? group : "");

	for (;;)
	{
		read_limit(psprintf("%s/%s", folder, first), limit);
		if (second != NULL)
			read_limit(psprintf("%s/%s", folder, second), limit);
		if (strlen(folder) <= strlen(mount))
			break;
		*strrchr(folder, '/') = '\0';
	}
}

/*
 * The lowest limit of this process's control groups and those around them.  Groups
 * that are not to be seen from inside a container are passed over: its own is
 * where the hierarchy is mounted.
 */
static void
read_groups(const char *root, Source *limit)
{
	FILE	   *file = AllocateFile(psprintf("%s/proc/self/cgroup", root), "r");
	char		line[MAXPGPATH];

	limit->note = "no control group that can be read sets one";
	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
	{
		char	   *controllers = strchr(line, ':');
		char	   *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;

		if (group == NULL || group[1] != '/')
			continue;
		*group++ = '\0';
		group[strcspn(group, "\n")] = '\0';
		/* version 2, "0::/a/b"; memory.high does not kill, but takes the page cache beyond it */
		if (*++controllers == '\0')
			read_limits(psprintf("%s/sys/fs/cgroup", root), group, "memory.max", "memory.high",
						limit);
		/* version 1, "4:cpu,memory:/a/b" */
		for (char *name = strtok(controllers, ","); name != NULL; name = strtok(NULL, ","))
			if (strcmp(name, "memory") == 0)
				read_limits(psprintf("%s/sys/fs/cgroup/memory", root), group,
							"memory.limit_in_bytes", NULL, limit);
	}
	if (file != NULL)
		FreeFile(file);
}

/*
 * Everything known about memory, and which of it the ratio uses: the setting,
 * else the lower of container limit and RAM, else effective_cache_size, which
 * is somebody's guess at the same thing.
 */
static Which
read_memory(const char *root, Source *source)
{
	int64		pages = sysconf(_SC_PHYS_PAGES);
	int64		ram = pages > 0 ? pages * sysconf(_SC_PAGESIZE) : -1;

	source[SETTING] = (Source) {"fillfactor_advisor.ram", -1, "setting, 0: detect"};
	source[RAM] = (Source) {"ram", ram, "memory of the machine"};
	source[LIMIT] = (Source) {"container limit", -1, NULL};
	source[SHARED_BUFFERS] = (Source) {"shared_buffers", (int64) NBuffers * BLCKSZ,
	"part of the memory above"};
	source[CACHE] = (Source) {"effective_cache_size", (int64) effective_cache_size * BLCKSZ,
	"what the planner is told, not a measurement"};
	read_groups(root, &source[LIMIT]);
	if (ff_ram_setting > 0)
	{
		source[SETTING].bytes = (int64) ff_ram_setting * 1024 * 1024;
		source[SETTING].note = "setting, overrides what is detected";
		return SETTING;
	}
	if (source[LIMIT].bytes > 0 && (ram <= 0 || source[LIMIT].bytes < ram))
		return LIMIT;
	return ram > 0 ? RAM : CACHE;
}

/*
 * ff_memory(OUT source text, OUT bytes bigint, OUT used boolean, OUT note text)
 *
 * One row a source; used is true in exactly one of them, the divisor of ram_ratio.
 * A superuser can declare it with an argument, a folder that stands for /: the
 * tests do.
 */
Datum
ff_memory(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Source		source[SOURCES];
	Which		used;

	ff_require("reader");
	used = read_memory(PG_NARGS() > 0 ? text_to_cstring(PG_GETARG_TEXT_PP(0)) : "", source);
	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < SOURCES; i++)
	{
		Datum		values[4] = {
			CStringGetTextDatum(source[i].name), Int64GetDatum(source[i].bytes),
			BoolGetDatum((Which) i == used), CStringGetTextDatum(source[i].note)
		};
		bool		nulls[4] = {false, source[i].bytes < 0, false, false};

		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/* ff_ram_bytes(): bytes of the row of ff_memory() that is used */
Datum
ff_ram_bytes(PG_FUNCTION_ARGS)
{
	Source		source[SOURCES];
	Which		used = read_memory("", source);

	PG_RETURN_INT64(source[used].bytes);
}
