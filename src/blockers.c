/*
 * blockers.c
 *	  What SQL cannot see of an index that may stand in the way of HOT.
 */
#include "postgres.h"

#include "access/amapi.h"
#include "fmgr.h"

#include "compat.h"

PG_FUNCTION_INFO_V1(ff_summarizing);

/*
 * ff_summarizing(access_method oid) returns boolean
 *
 * Whether indexes of this access method only summarize blocks (BRIN), so that
 * an update of their columns may still be HOT.  False before PostgreSQL 16,
 * which introduced it.  NULL for an OID that is no index access method.
 */
Datum
ff_summarizing(PG_FUNCTION_ARGS)
{
	const IndexAmRoutine *routine = GetIndexAmRoutineByAmId(PG_GETARG_OID(0), true);

	if (routine == NULL)
		PG_RETURN_NULL();
	PG_RETURN_BOOL(ff_am_summarizing(routine));
}
