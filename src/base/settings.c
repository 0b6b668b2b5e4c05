/*
 * settings.c
 *	  Module magic, the settings of the extension, and its thresholds for SQL.
 *
 * The library need not be preloaded: the first call of one of its functions
 * defines the settings.  All may be changed per session, role or database.
 */
#include "postgres.h"

#include <limits.h>

#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "base/module.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(ff_setting);
PG_FUNCTION_INFO_V1(ff_threshold);

#define INTEGER(name, ...) int ff_##name;
#define REAL(name, ...) double ff_##name;
#include "base/settings.h"

static const struct
{
	const char *name;
	double		value;
}			threshold[] = {
#define THRESHOLD(name, value) {#name, value},
#include "base/thresholds.h"
};

/* The longest time that can be set: ten years, in seconds. */
#define LONGEST		(3650 * SECS_PER_DAY)

extern PGDLLEXPORT void _PG_init(void);

void
_PG_init(void)
{
#define INTEGER(name, boot, least, most, unit, description) \
	DefineCustomIntVariable("fillfactor_advisor." #name, description, NULL, &ff_##name, boot, least, \
							most, PGC_USERSET, unit, NULL, NULL, NULL);
#define REAL(name, boot, least, most, unit, description) \
	DefineCustomRealVariable("fillfactor_advisor." #name, description, NULL, &ff_##name, boot, \
							 least, most, PGC_USERSET, unit, NULL, NULL, NULL);
#include "base/settings.h"
	MarkGUCPrefixReserved("fillfactor_advisor");
}

/*
 * SQL: setting().  Unlike current_setting() it also works in a session that has not loaded the
 * library yet: the call loads it.
 */
Datum
ff_setting(PG_FUNCTION_ARGS)
{
	char	   *name = psprintf("fillfactor_advisor.%s", text_to_cstring(PG_GETARG_TEXT_PP(0)));

	PG_RETURN_DATUM(DirectFunctionCall1(float8in,
										CStringGetDatum(GetConfigOption(name, false, false))));
}

/* SQL: threshold() */
Datum
ff_threshold(PG_FUNCTION_ARGS)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(0));

	for (int i = 0; i < lengthof(threshold); i++)
		if (strcmp(threshold[i].name, name) == 0)
			PG_RETURN_FLOAT8(threshold[i].value);
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("there is no threshold \"%s\"", name)));
	PG_RETURN_NULL();
}
