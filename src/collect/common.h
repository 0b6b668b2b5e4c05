/*
 * common.h
 *	  What files of a collection share.
 */
#ifndef FF_COLLECT_COMMON_H
#define FF_COLLECT_COMMON_H

#include "nodes/pg_list.h"

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
