/*
 * statements.h
 *	  The server's raw parser for texts that came from somewhere else.
 */
#ifndef FF_STATEMENTS_H
#define FF_STATEMENTS_H

#include "nodes/pg_list.h"

/*
 * Longest text parsed, bytes.  An INSERT with the 65,535 parameters that the
 * protocol allows stays below it; a parse tree takes some hundred times the text.
 */
#define FF_STATEMENT_MAX	(1000 * 1000)

extern const char *ff_parse_text(const char *text, void (*use) (List *statements, void *context),
								 void *context);

#endif							/* FF_STATEMENTS_H */
