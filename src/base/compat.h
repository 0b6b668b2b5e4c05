/*
 * compat.h
 *	  Differences between PostgreSQL 15 and 19, under the newest names.  The
 *	  only file that uses PG_VERSION_NUM.
 */
#ifndef FF_COMPAT_H
#define FF_COMPAT_H

/* The model assumes pages of 8 kB; its advice would be wrong for other sizes. */
#if BLCKSZ != 8192
#error "fillfactor_advisor needs a PostgreSQL with a block size of 8192"
#endif

#include "fmgr.h"
#include "pgstat.h"

/*
 * Until 15 libraries exported all symbols, so SQL functions were not marked.  The
 * Makefile hides unmarked symbols, so files with SQL functions need this.
 */
#if PG_VERSION_NUM < 160000
#undef PGDLLEXPORT
#define PGDLLEXPORT __attribute__((visibility("default")))
#undef PG_FUNCTION_INFO_V1
#define PG_FUNCTION_INFO_V1(funcname) \
extern PGDLLEXPORT Datum funcname(PG_FUNCTION_ARGS); \
extern PGDLLEXPORT const Pg_finfo_record *CppConcat(pg_finfo_,funcname)(void); \
const Pg_finfo_record * \
CppConcat(pg_finfo_,funcname)(void) \
{ \
	static const Pg_finfo_record my_finfo = {1}; \
	return &my_finfo; \
} \
extern int	no_such_variable
#endif

/* 16 renamed fields of PgStat_StatTabEntry and began to count new-page updates */
#if PG_VERSION_NUM >= 160000
#define ff_stat_newpage_updated(e)	((e)->tuples_newpage_updated)
#define ff_stat_autovacuum_count(e) ((e)->autovacuum_count)
#define ff_stat_autoanalyze_count(e) ((e)->autoanalyze_count)
#else
#define ff_stat_newpage_updated(e)	((PgStat_Counter) -1)
#define ff_stat_autovacuum_count(e) ((e)->autovac_vacuum_count)
#define ff_stat_autoanalyze_count(e) ((e)->autovac_analyze_count)
#endif

/* 17 renamed the variable cache */
#if PG_VERSION_NUM < 170000
#define TransamVariables ShmemVariableCache
#endif

/* 17 has it */
#if PG_VERSION_NUM < 170000
#define foreach_ptr(type, var, list) \
	for (type *var = NULL, *var##_once = (type *) 1; var##_once; var##_once = NULL) \
		for (ListCell *var##_cell = list_head(list); \
			 var##_cell && (var = lfirst(var##_cell), true); var##_cell = lnext(list, var##_cell))
#endif

/* from 18 on, paths are in a struct */
#if PG_VERSION_NUM >= 180000
#define ff_path(path) pstrdup((path).str)
#else
#define ff_path(path) (path)
#endif

/* until 18 the parser could warn about backslashes in strings */
#if PG_VERSION_NUM < 190000
#define FF_HAVE_ESCAPE_STRING_WARNING
#endif

/* before 16 an update of any indexed column could not be HOT */
#if PG_VERSION_NUM >= 160000
#define ff_am_summarizing(routine)	((routine)->amsummarizing)
#else
#define ff_am_summarizing(routine)	((void) (routine), false)
#endif

/* from 16 on, one function checks owners of all kinds of objects */
#include "utils/acl.h"
#if PG_VERSION_NUM >= 160000
#define ff_extension_ownercheck(extension, role) object_ownercheck(ExtensionRelationId, extension, role)
#else
#define ff_extension_ownercheck(extension, role) pg_extension_ownercheck(extension, role)
#endif

/* from 19 on, a table knows when its counters were reset; 0: never */
#if PG_VERSION_NUM >= 190000
#define ff_stat_reset_at(entry) ((entry)->stat_reset_time != 0 ? (entry)->stat_reset_time : DT_NOBEGIN)
#else
#define ff_stat_reset_at(entry) ((void) (entry), DT_NOEND)
#endif

/* from 17 on, it can also look for stronger modes */
#if PG_VERSION_NUM >= 170000
#define ff_lock_held(tag, mode) LockHeldByMe(tag, mode, false)
#else
#define ff_lock_held(tag, mode) LockHeldByMe(tag, mode)
#endif

#endif							/* FF_COMPAT_H */
