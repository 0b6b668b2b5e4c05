/*
 * fleet.c
 *	  A deadline for a part of a statement.
 *
 * From PostgreSQL 16 on dblink_connect() heeds no connect_timeout: a host that
 * takes a connection and says nothing would hold up a refresh for ever.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/timeout.h"
#include "utils/timestamp.h"

#include "compat.h"

PG_FUNCTION_INFO_V1(ff_deadline);

/*
 * ff_deadline(span interval)
 *
 * The statement that is running ends with error 57014 once this time is over,
 * as by statement_timeout; zero or NULL takes that back, and what is left of the
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
