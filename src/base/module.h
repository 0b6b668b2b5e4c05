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
#include "base/numbers.h"

#define INTEGER(name, ...) extern int ff_##name;
#define REAL(name, ...) extern double ff_##name;
#include "base/settings.h"

/* server.c */
extern void ff_require(const char *role);
extern void ff_show_shards(void);
extern int	ff_column(TupleDesc desc, const char *name, int guess);
extern TupleDesc ff_read_row(FunctionCallInfo fcinfo, int arg, Datum **values, bool **nulls);
extern void ff_read_numbers(FunctionCallInfo fcinfo, int arg, const NumberField *field, int nfields,
							void *to, int *count);
extern TupleDesc ff_result_desc(FunctionCallInfo fcinfo);
extern Datum ff_row(FunctionCallInfo fcinfo, Datum *values, bool *nulls);
extern void ff_nap(double milliseconds);

#endif							/* FF_MODULE_H */
