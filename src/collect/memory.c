/*
 * memory.c
 *	  How much memory may hold this server's tables: the machine's, or less where
 *	  a container (control group) limits it.
 *
 * Only fixed files of /proc and of the control group file system are read, never
 * a path that a caller names.  The functions that parse them take text, which
 * they cut into pieces; ff_memory_parse() shows them to the tests.  Every
 * quantity is in bytes, -1 where it is unknown or unlimited.
 *
 * Not counted: swap, and what other programs on the machine use.
 */
#include "postgres.h"

#include <ctype.h>
#include <unistd.h>

#include "funcapi.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "storage/bufmgr.h"
#include "storage/fd.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "compat.h"
#include "refuse.h"
#include "settings.h"

/*
 * Version 1 control groups write "no limit" as LONG_MAX rounded down to a page;
 * no machine comes near a tenth of that.
 */
#define NO_LIMIT		(INT64CONST(1) << 60)

/* Longest file read, bytes: mountinfo of a host full of containers. */
#define FILE_MAX		(1024 * 1024)

/* The memory control group of this process. */
typedef struct Cgroup
{
	int			version;		/* 0: none can be read */
	char	   *directory;
	char	   *mount;			/* at which the walk upwards ends */
} Cgroup;

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
	char	   *note;
} Source;

PG_FUNCTION_INFO_V1(ff_memory);
PG_FUNCTION_INFO_V1(ff_ram_bytes);
PG_FUNCTION_INFO_V1(ff_memory_parse);

/* ---------- parsing ---------- */

/* The text up to the next separator, which is cut off it; NULL where none is left. */
static char *
cut(char **rest, char separator)
{
	char	   *part = *rest;
	char	   *end = part != NULL ? strchr(part, separator) : NULL;

	if (end != NULL)
		*end++ = '\0';
	*rest = end;
	return part;
}

/* A whole number at the start of the text, followed by this; else -1. */
static int64
parse_number(const char *text, const char *unit)
{
	char	   *end;
	int64		value;

	while (*text == ' ' || *text == '\t')
		text++;
	if (!isdigit((unsigned char) *text))
		return -1;
	errno = 0;
	value = strtoll(text, &end, 10);
	return errno == 0 && strncmp(end, unit, strlen(unit)) == 0 ? value : -1;
}

/* Bytes of the line "MemTotal:  12345 kB" of /proc/meminfo, else -1. */
static int64
parse_meminfo(char *text)
{
	char	   *line;

	while ((line = cut(&text, '\n')) != NULL)
		if (strncmp(line, "MemTotal:", 9) == 0)
		{
			int64		kilobytes = parse_number(line + 9, " kB");

			return kilobytes <= 0 || kilobytes > PG_INT64_MAX / 1024 ? -1 : kilobytes * 1024;
		}
	return -1;
}

/*
 * Bytes of a limit file of either version of control groups: one number, or
 * "max".  -1 where it limits nothing or is no number.
 */
static int64
parse_limit(char *text)
{
	char	   *line = cut(&text, '\n');
	int64		bytes = parse_number(line, "");

	return bytes <= 0 || bytes >= NO_LIMIT || line[strspn(line, " \t0123456789")] != '\0' ? -1 : bytes;
}

/* Is this one of the comma-separated words? */
static bool
in_list(const char *list, const char *word)
{
	char	   *rest = pstrdup(list);
	char	   *part;

	while ((part = cut(&rest, ',')) != NULL)
		if (strcmp(part, word) == 0)
			return true;
	return false;
}

/*
 * Version and path of this process's memory control group, from /proc/self/cgroup
 * ("4:memory:/a/b", or "0::/a/b" where the unified hierarchy has the memory).
 */
static int
parse_cgroup(char *text, char **path)
{
	int			version = 0;
	char	   *line;

	while ((line = cut(&text, '\n')) != NULL)
	{
		char	   *id = cut(&line, ':');
		char	   *controllers = cut(&line, ':');

		if (line == NULL || strlen(line) >= MAXPGPATH)
			continue;
		/* a line of version 1 that names the memory wins */
		if (in_list(controllers, "memory"))
		{
			*path = line;
			return 1;
		}
		if (strcmp(id, "0") == 0 && *controllers == '\0' && version == 0)
		{
			*path = line;
			version = 2;
		}
	}
	return version;
}

/*
 * Where that hierarchy is mounted, and which group the mount shows as its root,
 * from /proc/self/mountinfo:
 *	 31 24 0:26 ROOT MOUNTPOINT options [optional ...] - TYPE source OPTIONS
 */
static bool
parse_mountinfo(char *text, int version, char **root, char **mount)
{
	char	   *line;

	while ((line = cut(&text, '\n')) != NULL)
	{
		char	   *field;
		char	   *type;
		char	   *source;

		for (int i = 0; i < 3; i++)
			cut(&line, ' ');
		*root = cut(&line, ' ');
		*mount = cut(&line, ' ');
		/* a single dash ends the optional fields */
		while ((field = cut(&line, ' ')) != NULL && strcmp(field, "-") != 0)
			;
		type = cut(&line, ' ');
		source = cut(&line, ' ');
		if (source == NULL || line == NULL)
			continue;
		/* blanks in a path are written \040: such a path is not followed */
		if ((version == 2 ? strcmp(type, "cgroup2") == 0 :
			 strcmp(type, "cgroup") == 0 && in_list(line, "memory")) &&
			strchr(*root, '\\') == NULL && strchr(*mount, '\\') == NULL)
			return true;
	}
	return false;
}

/*
 * A path that leads outside what is mounted (seen inside name spaces) gives the
 * mount point itself.
 */
static Cgroup
find_cgroup(char *cgroup, char *mountinfo)
{
	Cgroup		found = {0};
	char	   *path;
	char	   *root;
	char	   *below = "";
	int			version = parse_cgroup(cgroup, &path);
	size_t		length;

	if (version == 0 || !parse_mountinfo(mountinfo, version, &root, &found.mount))
		return found;
	found.version = version;
	length = strcmp(root, "/") == 0 ? 0 : strlen(root);
	if (strncmp(path, root, length) == 0 && path[length] == '/' && path[length + 1] != '\0' &&
		strstr(path + length, "/..") == NULL)
		below = path + length;
	found.directory = psprintf("%s%s", found.mount, below);
	return found;
}

/* ---------- reading ---------- */

/*
 * The whole of a small file, or NULL where it is not available: an advisor works
 * without it and says so.
 */
static char *
read_file(const char *path)
{
	FILE	   *file = AllocateFile(path, "r");
	char	   *text;
	size_t		used;

	if (file == NULL)
		return NULL;
	text = palloc(FILE_MAX);
	used = fread(text, 1, FILE_MAX - 1, file);
	text[ferror(file) ? 0 : used] = '\0';
	FreeFile(file);
	return text;
}

/* The lowest limit from this process's own control group up to the mount point. */
static void
read_limit(Source *limit, int64 ram)
{
	/* memory.high does not kill, but it reclaims the page cache beyond it */
	static const char *const files[] = {"memory.limit_in_bytes", "memory.max", "memory.high"};
	char	   *cgroup = read_file("/proc/self/cgroup");
	char	   *mountinfo = read_file("/proc/self/mountinfo");
	Cgroup		group = {0};

	if (cgroup != NULL && mountinfo != NULL)
		group = find_cgroup(cgroup, mountinfo);
	if (group.version == 0)
	{
		limit->note = "no control group with a memory limit can be read";
		return;
	}
	limit->note = psprintf("no limit (control groups version %d)", group.version);
	for (;;)
	{
		char	   *slash = strrchr(group.directory, '/');

		for (int i = group.version == 2; i < (group.version == 2 ? 3 : 1); i++)
		{
			char	   *file = psprintf("%s/%s", group.directory, files[i]);
			char	   *text = read_file(file);
			int64		bytes = text != NULL ? parse_limit(text) : -1;

			if (bytes > 0 && (limit->bytes < 0 || bytes < limit->bytes))
			{
				limit->bytes = bytes;
				limit->note = psprintf(ram > 0 && bytes >= ram ?
									   "not below the RAM, limits nothing: %s" : "from %s", file);
			}
			if (text != NULL)
				pfree(text);
		}
		if (slash == NULL || (size_t) (slash - group.directory) < strlen(group.mount))
			break;
		*slash = '\0';
	}
	pfree(cgroup);
	pfree(mountinfo);
}

static void
read_ram(Source *ram)
{
	char	   *meminfo = read_file("/proc/meminfo");

	ram->note = "memory of the machine, from /proc/meminfo";
	if (meminfo != NULL)
	{
		ram->bytes = parse_meminfo(meminfo);
		pfree(meminfo);
	}
#if defined(_SC_PHYS_PAGES) && defined(_SC_PAGESIZE)
	if (ram->bytes < 0)
	{
		int64		pages = sysconf(_SC_PHYS_PAGES);
		int64		page = sysconf(_SC_PAGESIZE);

		if (pages > 0 && page > 0)
			ram->bytes = pages * page;
		ram->note = "memory of the machine, from sysconf";
	}
#endif
	if (ram->bytes <= 0)
		ram->note = "this system does not tell: set fillfactor_advisor.ram";
}

/*
 * Everything known about memory, and which of it the ratio uses: the setting,
 * else the lower of container limit and RAM, else effective_cache_size, which
 * is somebody's guess at the same thing.
 */
static Which
read_memory(Source *source)
{
	Which		used = CACHE;

	source[SETTING] = (Source) {"fillfactor_advisor.ram", -1, "setting, 0: detect"};
	source[RAM] = (Source) {"ram", -1, NULL};
	source[LIMIT] = (Source) {"container limit", -1, NULL};
	source[SHARED_BUFFERS] = (Source) {"shared_buffers", (int64) NBuffers * BLCKSZ,
	"part of the memory above"};
	source[CACHE] = (Source) {"effective_cache_size", (int64) effective_cache_size * BLCKSZ,
	"what the planner is told, not a measurement"};
	read_ram(&source[RAM]);
	read_limit(&source[LIMIT], source[RAM].bytes);
	if (ff_ram_setting > 0)
	{
		source[SETTING].bytes = (int64) ff_ram_setting * 1024 * 1024;
		source[SETTING].note = "setting, overrides what is detected";
		used = SETTING;
	}
	else if (source[LIMIT].bytes > 0 &&
			 (source[RAM].bytes < 0 || source[LIMIT].bytes < source[RAM].bytes))
		used = LIMIT;
	else if (source[RAM].bytes > 0)
		used = RAM;
	else
		source[CACHE].note = "nothing better is known";
	return used;
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
	Source		source[SOURCES];
	Which		used;

	ff_require("reader");
	used = read_memory(source);
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

/*
 * ff_ram_bytes() returns bigint
 *
 * Bytes of the row of ff_memory() that is used.
 */
Datum
ff_ram_bytes(PG_FUNCTION_ARGS)
{
	Source		source[SOURCES];
	Which		used = read_memory(source);

	PG_RETURN_INT64(source[used].bytes);
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
	int64		bytes = -1;

	if (strcmp(kind, "meminfo") == 0)
		bytes = parse_meminfo(content);
	else if (strcmp(kind, "limit") == 0)
		bytes = parse_limit(content);
	else if (strcmp(kind, "cgroup") == 0)
	{
		Cgroup		group = find_cgroup(content, text_to_cstring(PG_GETARG_TEXT_PP(2)));

		if (group.version == 0)
			PG_RETURN_NULL();
		PG_RETURN_TEXT_P(cstring_to_text(psprintf("v%d %s below %s", group.version,
												  group.directory, group.mount)));
	}
	else
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown kind of file \"%s\"", kind)));

	if (bytes < 0)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(psprintf(INT64_FORMAT, bytes)));
}
