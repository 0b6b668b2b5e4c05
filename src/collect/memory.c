/*
 * memory.c
 *	  How much memory may hold this server's tables: the machine's, or less where
 *	  a container (control group) limits it.
 *
 * Only fixed files of /proc and of the control group file system are read, never
 * a path that a caller names.  The functions that parse them take text and call
 * nothing of the server; ff_memory_parse() shows them to the tests.  Every
 * quantity is in bytes, -1 where it is unknown or unlimited.
 *
 * Not counted: swap, and what other programs on the machine use.
 */
#include "postgres.h"

#include <unistd.h>

#include "funcapi.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "storage/bufmgr.h"
#include "storage/fd.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "collect/memory.h"
#include "compat.h"

/*
 * Version 1 control groups write "no limit" as LONG_MAX rounded down to a page;
 * no machine comes near a tenth of that.
 */
#define FF_NO_LIMIT			(INT64CONST(1) << 60)

/* Longest file read, bytes: mountinfo of a host full of containers. */
#define FF_MEMORY_FILE_MAX	(1024 * 1024)

typedef enum FfCgroup
{
	FF_CGROUP_NONE,
	FF_CGROUP_V1,
	FF_CGROUP_V2
} FfCgroup;

typedef struct FfMemory
{
	int64		setting;		/* fillfactor_advisor.ram */
	int64		ram;			/* of the machine */
	const char *ram_from;
	int64		limit;			/* lowest limit of the control group */
	FfCgroup	cgroup;
	char		limit_from[MAXPGPATH];	/* the file that states it */
	int64		shared_buffers;
	int64		effective_cache_size;
} FfMemory;

/* Which of them the table : RAM ratio uses. */
typedef enum FfMemorySource
{
	FF_MEMORY_SETTING,
	FF_MEMORY_LIMIT,
	FF_MEMORY_RAM,
	FF_MEMORY_CACHE
} FfMemorySource;

PG_FUNCTION_INFO_V1(ff_memory);
PG_FUNCTION_INFO_V1(ff_ram_bytes);
PG_FUNCTION_INFO_V1(ff_memory_parse);

/* ---------- parsing: text in, values out, no server calls ---------- */

/*
 * A whole number at the start of the text, or -1 where there is none or it does
 * not fit.  end is set to the first character behind it.
 */
static int64
parse_number(const char *text, const char **end)
{
	int64		value = 0;
	const char *p = text;

	while (*p == ' ' || *p == '\t')
		p++;
	if (*p < '0' || *p > '9')
		return -1;
	for (; *p >= '0' && *p <= '9'; p++)
	{
		if (value > (PG_INT64_MAX - (*p - '0')) / 10)
			return -1;
		value = value * 10 + (*p - '0');
	}
	*end = p;
	return value;
}

/*
 * Bytes of the line "MemTotal:  12345 kB" of /proc/meminfo, else -1.
 */
static int64
parse_meminfo(const char *text)
{
	const char *line = text;

	while (line != NULL)
	{
		if (strncmp(line, "MemTotal:", 9) == 0)
		{
			const char *unit;
			int64		kilobytes = parse_number(line + 9, &unit);

			if (kilobytes <= 0 || kilobytes > PG_INT64_MAX / 1024 ||
				strncmp(unit, " kB", 3) != 0)
				return -1;
			return kilobytes * 1024;
		}
		line = strchr(line, '\n');
		if (line != NULL)
			line++;
	}
	return -1;
}

/*
 * Bytes of a limit file of either version of control groups: one number, or
 * "max".  -1 where it limits nothing or is no number.
 */
static int64
parse_limit(const char *text)
{
	const char *end;
	int64		bytes = parse_number(text, &end);

	if (bytes <= 0 || bytes >= FF_NO_LIMIT || (*end != '\n' && *end != '\0'))
		return -1;
	return bytes;
}

/*
 * Is word one of the comma-separated words in the list of this length?
 */
static bool
in_list(const char *list, size_t length, const char *word)
{
	size_t		wanted = strlen(word);
	const char *end = list + length;

	while (list < end)
	{
		const char *comma = memchr(list, ',', end - list);
		const char *stop = comma ? comma : end;

		if ((size_t) (stop - list) == wanted && memcmp(list, word, wanted) == 0)
			return true;
		list = stop + 1;
	}
	return false;
}

/*
 * The path of this process's memory control group, from /proc/self/cgroup
 * ("4:memory:/a/b", or "0::/a/b" where the unified hierarchy has the memory).
 */
static FfCgroup
parse_cgroup(const char *text, char *path, size_t size)
{
	FfCgroup	found = FF_CGROUP_NONE;
	const char *line = text;

	while (line != NULL && *line != '\0')
	{
		const char *next = strchr(line, '\n');
		const char *stop = next ? next : line + strlen(line);
		const char *list = memchr(line, ':', stop - line);
		const char *group = list ? memchr(list + 1, ':', stop - list - 1) : NULL;

		if (group != NULL && (size_t) (stop - group) <= size)
		{
			bool		unified = (group == list + 1 && list == line + 1 && *line == '0');
			bool		memory = in_list(list + 1, group - list - 1, "memory");

			/* a line of version 1 that names the memory wins */
			if (memory || (unified && found == FF_CGROUP_NONE))
			{
				memcpy(path, group + 1, stop - group - 1);
				path[stop - group - 1] = '\0';
				found = memory ? FF_CGROUP_V1 : FF_CGROUP_V2;
			}
		}
		line = next ? next + 1 : NULL;
	}
	return found;
}

/*
 * Where that hierarchy is mounted, and which group the mount shows as its root,
 * from /proc/self/mountinfo:
 *	 31 24 0:26 ROOT MOUNTPOINT options [optional ...] - TYPE source OPTIONS
 */
static bool
parse_mountinfo(const char *text, FfCgroup version, char *root, char *mount, size_t size)
{
	const char *line = text;

	while (line != NULL && *line != '\0')
	{
		const char *next = strchr(line, '\n');
		const char *stop = next ? next : line + strlen(line);
		const char *field[5];
		size_t		length[5];
		const char *p = line;
		int			n;

		/* id, parent, device, root, mount point */
		for (n = 0; n < 5 && p < stop; n++)
		{
			const char *blank = memchr(p, ' ', stop - p);

			field[n] = p;
			length[n] = (blank ? blank : stop) - p;
			p = blank ? blank + 1 : stop;
		}
		/* the single dash ends the optional fields */
		while (p < stop && !(stop - p >= 2 && p[0] == '-' && p[1] == ' '))
		{
			const char *blank = memchr(p, ' ', stop - p);

			p = blank ? blank + 1 : stop;
		}
		if (n == 5 && p < stop && length[3] < size && length[4] < size)
		{
			const char *type = p + 2;
			const char *type_end = memchr(type, ' ', stop - type);
			const char *source_end = type_end ?
				memchr(type_end + 1, ' ', stop - type_end - 1) : NULL;

			if (source_end != NULL)
			{
				size_t		type_length = type_end - type;
				bool		match;

				if (version == FF_CGROUP_V2)
					match = type_length == 7 && memcmp(type, "cgroup2", 7) == 0;
				else
					match = type_length == 6 && memcmp(type, "cgroup", 6) == 0 &&
						in_list(source_end + 1, stop - source_end - 1, "memory");

				/* blanks in a path are written \040: such a path is not followed */
				if (match && memchr(field[3], '\\', length[3]) == NULL &&
					memchr(field[4], '\\', length[4]) == NULL)
				{
					memcpy(root, field[3], length[3]);
					root[length[3]] = '\0';
					memcpy(mount, field[4], length[4]);
					mount[length[4]] = '\0';
					return true;
				}
			}
		}
		line = next ? next + 1 : NULL;
	}
	return false;
}

/*
 * The directory of this process's memory control group, and the mount point at
 * which the walk upwards ends.  A path that leads outside what is mounted (seen
 * inside name spaces) gives the mount point itself.
 */
static FfCgroup
cgroup_directory(const char *cgroup, const char *mountinfo,
				 char *directory, char *mount, size_t size)
{
	char		path[MAXPGPATH];
	char		root[MAXPGPATH];
	FfCgroup	version;
	const char *below;
	size_t		length;

	version = parse_cgroup(cgroup, path, sizeof(path));
	if (version == FF_CGROUP_NONE ||
		!parse_mountinfo(mountinfo, version, root, mount, Min(size, sizeof(root))))
		return FF_CGROUP_NONE;

	length = strlen(root);
	if (strcmp(root, "/") == 0)
		below = path;
	else if (strncmp(path, root, length) == 0 && (path[length] == '/' || path[length] == '\0'))
		below = path + length;
	else
		below = "";
	if (*below != '/' || below[1] == '\0' || strstr(below, "/..") != NULL ||
		strlen(mount) + strlen(below) >= size)
		below = "";

	snprintf(directory, size, "%s%s", mount, below);
	return version;
}

/* ---------- reading ---------- */

/*
 * The whole of a small file, or NULL where it cannot be had: an advisor works
 * without it and says so.
 */
static char *
read_file(const char *path)
{
	FILE	   *file = AllocateFile(path, "r");
	char	   *text;
	size_t		used = 0;
	size_t		room = 8192;

	if (file == NULL)
		return NULL;
	text = palloc(room);
	for (;;)
	{
		size_t		got = fread(text + used, 1, room - used - 1, file);

		if (got == 0)
			break;
		used += got;
		if (used == room - 1)
		{
			if (room >= FF_MEMORY_FILE_MAX)
				break;
			room *= 2;
			text = repalloc(text, room);
		}
	}
	if (ferror(file))
		used = 0;
	FreeFile(file);
	text[used] = '\0';
	return text;
}

/*
 * The lowest limit from this process's own control group up to the mount point.
 */
static void
read_limit(FfMemory *memory)
{
	/* memory.high does not kill, but it reclaims the page cache beyond it */
	static const char *const v1_files[] = {"memory.limit_in_bytes", NULL};
	static const char *const v2_files[] = {"memory.max", "memory.high", NULL};
	char		directory[MAXPGPATH];
	char		mount[MAXPGPATH];
	char	   *cgroup = read_file("/proc/self/cgroup");
	char	   *mountinfo = read_file("/proc/self/mountinfo");
	size_t		top;

	memory->limit = -1;
	memory->cgroup = FF_CGROUP_NONE;
	memory->limit_from[0] = '\0';
	if (cgroup == NULL || mountinfo == NULL)
		return;
	memory->cgroup = cgroup_directory(cgroup, mountinfo, directory, mount, sizeof(directory));
	if (memory->cgroup == FF_CGROUP_NONE)
		return;

	top = strlen(mount);
	for (;;)
	{
		const char *const *name;
		char	   *slash;

		for (name = memory->cgroup == FF_CGROUP_V2 ? v2_files : v1_files; *name; name++)
		{
			char		file[MAXPGPATH * 2];
			char	   *text;

			snprintf(file, sizeof(file), "%s/%s", directory, *name);
			text = read_file(file);
			if (text != NULL)
			{
				int64		bytes = parse_limit(text);

				if (bytes > 0 && (memory->limit < 0 || bytes < memory->limit))
				{
					memory->limit = bytes;
					strlcpy(memory->limit_from, file, sizeof(memory->limit_from));
				}
				pfree(text);
			}
		}
		slash = strrchr(directory, '/');
		if (slash == NULL || (size_t) (slash - directory) < top)
			break;
		*slash = '\0';
	}
}

/*
 * Everything known about memory, and which of it the ratio uses: the setting,
 * else the lower of container limit and RAM, else effective_cache_size, which
 * is somebody's guess at the same thing.
 */
static FfMemorySource
read_memory(FfMemory *memory)
{
	char	   *meminfo = read_file("/proc/meminfo");

	memory->setting = ff_ram_setting > 0 ? (int64) ff_ram_setting * 1024 * 1024 : -1;
	memory->ram = meminfo ? parse_meminfo(meminfo) : -1;
	memory->ram_from = "/proc/meminfo";
#if defined(_SC_PHYS_PAGES) && defined(_SC_PAGESIZE)
	if (memory->ram < 0)
	{
		int64		pages = sysconf(_SC_PHYS_PAGES);
		int64		page = sysconf(_SC_PAGESIZE);

		if (pages > 0 && page > 0)
		{
			memory->ram = pages * page;
			memory->ram_from = "sysconf";
		}
	}
#endif
	read_limit(memory);
	memory->shared_buffers = (int64) NBuffers * BLCKSZ;
	memory->effective_cache_size = (int64) effective_cache_size * BLCKSZ;

	if (memory->setting > 0)
		return FF_MEMORY_SETTING;
	if (memory->limit > 0 && (memory->ram < 0 || memory->limit < memory->ram))
		return FF_MEMORY_LIMIT;
	if (memory->ram > 0)
		return FF_MEMORY_RAM;
	return FF_MEMORY_CACHE;
}

static void
put_row(ReturnSetInfo *rsinfo, const char *source, int64 bytes, bool used, const char *note)
{
	Datum		values[4];
	bool		nulls[4] = {false, false, false, false};

	values[0] = CStringGetTextDatum(source);
	values[1] = Int64GetDatum(bytes);
	nulls[1] = bytes < 0;
	values[2] = BoolGetDatum(used);
	values[3] = CStringGetTextDatum(note);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/*
 * ff_memory(OUT source text, OUT bytes bigint, OUT used boolean, OUT note text)
 *
 * One row a source; used is true in exactly one of them, the divisor of ram_ratio.
 */
Datum
ff_memory(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	FfMemory	memory;
	FfMemorySource used;
	char		note[MAXPGPATH + 128];

	InitMaterializedSRF(fcinfo, 0);
	used = read_memory(&memory);

	put_row(rsinfo, "fillfactor_advisor.ram", memory.setting, used == FF_MEMORY_SETTING,
			memory.setting > 0 ? "setting, overrides what is detected" :
			"setting, 0: detect");

	if (memory.ram > 0)
		snprintf(note, sizeof(note), "memory of the machine, from %s", memory.ram_from);
	else
		snprintf(note, sizeof(note), "this system does not tell: set fillfactor_advisor.ram");
	put_row(rsinfo, "ram", memory.ram, used == FF_MEMORY_RAM, note);

	if (memory.cgroup == FF_CGROUP_NONE)
		snprintf(note, sizeof(note), "no control group with a memory limit can be read");
	else if (memory.limit < 0)
		snprintf(note, sizeof(note), "no limit (control groups version %d)",
				 memory.cgroup == FF_CGROUP_V2 ? 2 : 1);
	else if (memory.ram > 0 && memory.limit >= memory.ram)
		snprintf(note, sizeof(note), "not below the RAM, limits nothing: %s", memory.limit_from);
	else
		snprintf(note, sizeof(note), "from %s", memory.limit_from);
	put_row(rsinfo, "container limit", memory.limit, used == FF_MEMORY_LIMIT, note);

	put_row(rsinfo, "shared_buffers", memory.shared_buffers, false, "part of the memory above");
	put_row(rsinfo, "effective_cache_size", memory.effective_cache_size, used == FF_MEMORY_CACHE,
			used == FF_MEMORY_CACHE ? "nothing better is known" :
			"what the planner is told, not a measurement");

	return (Datum) 0;
}

/*
 * ff_ram_bytes() returns bigint
 *
 * Bytes of the row of ff_memory() that is used.
 */
Datum
ff_ram_bytes(PG_FUNCTION_ARGS)
{
	FfMemory	memory;

	switch (read_memory(&memory))
	{
		case FF_MEMORY_SETTING:
			PG_RETURN_INT64(memory.setting);
		case FF_MEMORY_LIMIT:
			PG_RETURN_INT64(memory.limit);
		case FF_MEMORY_RAM:
			PG_RETURN_INT64(memory.ram);
		case FF_MEMORY_CACHE:
			break;
	}
	PG_RETURN_INT64(memory.effective_cache_size);
}

/*
 * ff_memory_parse(kind text, content text, mounts text) returns text
 *
 * What the parsers above make of a file's content, for tests: kind meminfo and
 * limit give bytes, kind cgroup (content /proc/self/cgroup, mounts
 * /proc/self/mountinfo) the version and the directory of the group.  NULL where
 * they find nothing.  No file is read.
 */
Datum
ff_memory_parse(PG_FUNCTION_ARGS)
{
	char	   *kind = text_to_cstring(PG_GETARG_TEXT_PP(0));
	char	   *content = text_to_cstring(PG_GETARG_TEXT_PP(1));
	char	   *mounts = text_to_cstring(PG_GETARG_TEXT_PP(2));
	int64		bytes = -1;

	if (strcmp(kind, "meminfo") == 0)
		bytes = parse_meminfo(content);
	else if (strcmp(kind, "limit") == 0)
		bytes = parse_limit(content);
	else if (strcmp(kind, "cgroup") == 0)
	{
		char		directory[MAXPGPATH];
		char		mount[MAXPGPATH];
		FfCgroup	version = cgroup_directory(content, mounts, directory, mount,
											   sizeof(directory));

		if (version == FF_CGROUP_NONE)
			PG_RETURN_NULL();
		PG_RETURN_TEXT_P(cstring_to_text(psprintf("v%d %s below %s",
												  version == FF_CGROUP_V2 ? 2 : 1,
												  directory, mount)));
	}
	else
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown kind of file \"%s\"", kind)));

	if (bytes < 0)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(psprintf(INT64_FORMAT, bytes)));
}
