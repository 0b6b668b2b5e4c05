/*
 * fleet.c
 *	  Where other servers have a say: a deadline for a part of a statement, and
 *	  the shards that Citus keeps from sessions.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/guc.h"
#include "utils/timeout.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "fleet.h"

PG_FUNCTION_INFO_V1(ff_deadline);
PG_FUNCTION_INFO_V1(ff_show_shards_sql);

/*
 * ff_deadline(span interval)
 *
 * The statement that is running ends with error 57014 once this time is over,
 * as by statement_timeout: from PostgreSQL 16 on dblink_connect() heeds no
 * connect_timeout, and a host that takes a connection and says nothing would
 * hold up a refresh for ever.  Zero or NULL takes that back, and what is left of the
 * session's own statement_timeout counts again.  It never lasts longer than that.
 */
Datum
ff_deadline(PG_FUNCTION_ARGS)
{
	static TimestampTz own = 0;
	int64		span = PG_ARGISNULL(0) ? 0 : PG_GETARG_INTERVAL_P(0)->time;

	if (span > 0)
	{
		TimestampTz end = GetCurrentTimestamp() + span;

		own = get_timeout_active(STATEMENT_TIMEOUT) ? get_timeout_finish_time(STATEMENT_TIMEOUT) : 0;
		if (own == 0 || end < own)
			enable_timeout_at(STATEMENT_TIMEOUT, end);
	}
	else if (own != 0)
		enable_timeout_at(STATEMENT_TIMEOUT, own);
	else
		disable_timeout(STATEMENT_TIMEOUT, false);
	PG_RETURN_VOID();
}

/*
 * Have the function with settings of its own that calls, or else the rest of the
 * transaction, find the shards of Citus's tables on this node in pg_class, from
 * which Citus leaves them out of all queries planned otherwise.
 */
void
ff_show_shards(void)
{
	const char *name = "citus.show_shards_for_app_name_prefixes";

	if (GetConfigOption(name, true, false) != NULL)
		(void) set_config_option(name, "*", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0,
								 false);
}

/* ff_show_shards(): the same for functions in SQL */
Datum
ff_show_shards_sql(PG_FUNCTION_ARGS)
{
	ff_show_shards();
	PG_RETURN_VOID();
}
