/*
 * outdated.c
 *	  What earlier versions of the extension called this library by.
 *
 * A function of the library whose arguments or results change gets a new name
 * there (ff_x becomes ff_x_0_2, after the version that changed it), so that
 * neither an older library nor an older install script can be called with what
 * it does not expect: the server says that the function is not in the library,
 * or this says what to do.  The old names stay, as old install scripts are run
 * by pg_dump's and pg_upgrade's output, too.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/lsyscache.h"

#define OUTDATED(name) \
	PG_FUNCTION_INFO_V1(name); \
	Datum name(PG_FUNCTION_ARGS) { return outdated(fcinfo); }

/* Errors: 55000, always. */
static Datum
outdated(FunctionCallInfo fcinfo)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("function %s is of an older version of the extension than the library",
					get_func_name(fcinfo->flinfo->fn_oid)),
			 errhint("Run ALTER EXTENSION fillfactor_advisor UPDATE.")));
	PG_RETURN_NULL();
}

/* 0.1.0 */
OUTDATED(ff_model)
