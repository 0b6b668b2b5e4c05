/*
 * module.h
 *	  Shared by all files: settings, rights, shards, rows for SQL, and differences between
 *	  server versions.
 *
 * A function that SQL calls has its contract at its SQL declaration, which "SQL:" names.
 */
#ifndef FF_MODULE_H
#define FF_MODULE_H

#include "access/tupdesc.h"
#include "catalog/pg_attribute.h"

#include "base/compat.h"

/* Settings, fillfactor_advisor.*: see their descriptions in settings.c. */
extern int	ff_sample_pages;
extern double ff_sample_error;	/* percentage points */
extern double ff_sample_delay;	/* milliseconds */
extern int	ff_sample_seed;
extern int	ff_collect_pages;
extern int	ff_collect_time;	/* seconds */
extern int	ff_prune_batches;
extern int	ff_payback_time;	/* seconds */
extern int	ff_min_updates;
extern double ff_min_confidence;
extern double ff_time_weight;	/* exponents of the cost */
extern double ff_wal_weight;
extern double ff_size_weight;
extern double ff_storage_weight;
extern double ff_min_worth;		/* percent of the cost of the costliest table's updates */
extern double ff_min_gain;		/* percent of the cost */
extern double ff_page_read_cost;	/* microseconds, 0: measured or assumed */

/* server.c */
extern void ff_require(const char *role);
extern void ff_show_shards(void);
extern double ff_number(Datum value, Form_pg_attribute column);
extern TupleDesc ff_read_row(FunctionCallInfo fcinfo, int arg, Datum **values, bool **nulls);
extern Datum ff_row(FunctionCallInfo fcinfo, Datum *values, bool *nulls);
extern void ff_nap(double milliseconds);

#endif							/* FF_MODULE_H */
