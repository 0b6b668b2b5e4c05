/*
 * memory.c
 *	  The machine's memory, and the limit that a container (control group) sets
 *	  for this server.
 *
 * Reads only fixed files, in /proc and in the control group file system at its
 * usual mount point.  All quantities are in bytes.
 *
 * Not counted: swap, and what other programs on the machine use.
 */
#include "postgres.h"

#include <unistd.h>

#include "storage/fd.h"
#include "utils/builtins.h"

#include "base/module.h"

/*
 * Version 1 control groups write "no limit" as LONG_MAX rounded down to a page;
 * no machine comes near a tenth of that.
 */
#define NO_LIMIT		(INT64CONST(1) << 60)

typedef struct Limit
{
	int64		bytes;			/* -1: none */
	const char *note;
} Limit;

PG_FUNCTION_INFO_V1(ff_machine_memory);

/* Takes a file's limit, a number or "max", if it is the lowest so far. */
static void
read_limit(const char *path, Limit *limit)
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

/* Reads the limits of a control group and its parents, up to the mount point. */
static void
read_limits(const char *mount, const char *group, const char *file, Limit *limit)
{
	bool		below = strcmp(group, "/") != 0 && strstr(group, "/..") == NULL;
	char	   *folder = psprintf("%s%s", mount, below ? group : "");

	for (;;)
	{
		read_limit(psprintf("%s/%s", folder, file), limit);
		if (strlen(folder) <= strlen(mount))
			break;
		*strrchr(folder, '/') = '\0';
	}
}

/*
 * The lowest limit of this process's control groups and their parents.  Groups
 * that are invisible inside a container are skipped: its own is at the mount point.
 */
static void
read_groups(const char *root, Limit *limit)
{
	FILE	   *file = AllocateFile(psprintf("%s/proc/self/cgroup", root), "r");
	char		line[MAXPGPATH];

	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
	{
		char	   *controllers = strchr(line, ':');
		char	   *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;

		if (group == NULL || group[1] != '/')
			continue;
		*group++ = '\0';
		group[strcspn(group, "\n")] = '\0';
		/* version 2, "0::/a/b"; memory.high does not kill, but evicts page cache above it */
		if (*++controllers == '\0')
		{
			read_limits(psprintf("%s/sys/fs/cgroup", root), group, "memory.max", limit);
			read_limits(psprintf("%s/sys/fs/cgroup", root), group, "memory.high", limit);
		}
		/* version 1, "4:cpu,memory:/a/b" */
		for (char *name = strtok(controllers, ","); name != NULL; name = strtok(NULL, ","))
			if (strcmp(name, "memory") == 0)
				read_limits(psprintf("%s/sys/fs/cgroup/memory", root), group,
							"memory.limit_in_bytes", limit);
	}
	if (file != NULL)
		FreeFile(file);
}

/* SQL: machine_memory().  Tests declare it with an argument, a folder used instead of /. */
Datum
ff_machine_memory(PG_FUNCTION_ARGS)
{
	int64		pages = sysconf(_SC_PHYS_PAGES);
	Limit		limit = {-1, "no readable control group sets a limit"};

	read_groups(PG_NARGS() > 0 ? text_to_cstring(PG_GETARG_TEXT_PP(0)) : "", &limit);
	return ff_row(fcinfo, (Datum[]) {
		Int64GetDatum(pages * sysconf(_SC_PAGESIZE)), Int64GetDatum(limit.bytes), CStringGetTextDatum(limit.note)
	}, (bool[]) {
		pages <= 0, limit.bytes < 0, false
	});
}
