/*
 * refuse.c
 *	  Errors that a user causes, and who may call what.
 *
 * These errors come without the context of the call: it would name only inner
 * functions, which a user neither called nor can mend.
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"

#include "compat.h"
#include "fleet.h"
#include "refuse.h"

PG_FUNCTION_INFO_V1(ff_refuse);
PG_FUNCTION_INFO_V1(ff_check_role);

/*
 * ff_refuse(sqlstate text, message text, detail text, hint text)
 *
 * Ends with this error; detail and hint may be NULL.
 */
Datum
ff_refuse(PG_FUNCTION_ARGS)
{
	char	   *part[4];

	for (int i = 0; i < 4; i++)
		part[i] = PG_ARGISNULL(i) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(i));
	if (part[0] == NULL || strlen(part[0]) != 5 || part[1] == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("an error needs an SQLSTATE and a message")));

	/* whoever catches the error has its own context back */
	error_context_stack = NULL;
	ereport(ERROR,
			(errcode(MAKE_SQLSTATE(part[0][0], part[0][1], part[0][2], part[0][3], part[0][4])),
			 errmsg_internal("%s", part[1]),
			 part[2] ? errdetail_internal("%s", part[2]) : 0,
			 part[3] ? errhint("%s", part[3]) : 0));
	PG_RETURN_VOID();
}

/*
 * Error 42501 where the caller is not what a function is for: "reader" or
 * "collector", as ff_grant() makes them.
 */
void
ff_require(const char *what)
{
	bool		collector = strcmp(what, "collector") == 0;
	char	   *role;

	if (has_privs_of_role(GetUserId(),
						  collector ? ROLE_PG_STAT_SCAN_TABLES : ROLE_PG_READ_ALL_STATS))
		return;
	role = GetUserNameFromId(GetUserId(), false);
	error_context_stack = NULL;
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("role %s lacks the rights of a %s", quote_identifier(role), what),
			 errhint("Ask a superuser to run SELECT ff_grant(%s, '%s').",
					 quote_literal_cstr(role), what)));
}

/* ff_check_role(what text): the same for functions in SQL, which then see shards, too */
Datum
ff_check_role(PG_FUNCTION_ARGS)
{
	ff_require(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	ff_show_shards();
	PG_RETURN_VOID();
}
