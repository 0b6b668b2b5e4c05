/*
 * relation.h
 *	  Facts about a relation that need no lock.
 */
#ifndef FF_RELATION_H
#define FF_RELATION_H

#include "nodes/pg_list.h"

extern List *ff_list_indexes(Oid relid, bool only_valid);

#endif							/* FF_RELATION_H */
