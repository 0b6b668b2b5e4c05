/*
 * common.h
 *	  What files of a collection share.
 */
#ifndef FF_COLLECT_COMMON_H
#define FF_COLLECT_COMMON_H

#include "access/tupdesc.h"
#include "fmgr.h"
#include "nodes/pg_list.h"

/* Most columns of type counters: a window has that many numbers for each of its spans. */
#define FF_MAX_COUNTERS	12

/* counters.c */
extern TupleDesc ff_counters_desc(FunctionCallInfo fcinfo);
extern Datum ff_counters_datum(TupleDesc desc, const int64 *count);
extern void ff_read_counters(FunctionCallInfo fcinfo, int arg, TupleDesc counters, int64 *count);

/* relation.c */
extern List *ff_list_indexes(Oid relid, bool only_valid);

/* lock.c */
extern void ff_keep_extension(Oid extension);
extern bool ff_lock_collector(bool atomic);
extern void ff_unlock_collector(void);

/* parse.c */
extern const char *ff_parse_text(const char *text, void (*use) (List *statements, void *context),
								 void *context);

#endif							/* FF_COLLECT_COMMON_H */
