/*
 * index_definition.c
 *	  Whether a stored text is the definition of an index and nothing else.
 *
 * The text comes from the history, which non-superusers may write, while a
 * superuser may run it to recreate an index.  So the server's raw parser must find
 * exactly one CREATE INDEX in it, made of nodes that pg_get_indexdef() writes.
 * It may call only the server's own code: unqualified names will be looked up in
 * pg_catalog alone, and qualified names pass only if they cannot call anything.
 * The result is the index's name and the checked text from USING on; SQL puts a head of
 * its own before it.
 */
#include "postgres.h"

#include <ctype.h>

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "base/module.h"

typedef struct FfDefinition
{
	const char *text;
	Oid			relation;		/* table of the index */
	IndexStmt  *statement;		/* NULL: not acceptable */
	bool		looked_up;		/* names in it depend on the search_path */
} FfDefinition;

PG_FUNCTION_INFO_V1(ff_index_definition);

/*
 * Makes the text one line, in place.  Returns false if it contains anything that
 * psql, a PL/pgSQL block or a reader may understand differently than the parser:
 * comments, backslashes, dollar quotes, semicolons, control characters, and
 * literals other than '...'.
 */
static bool
make_line(char *text)
{
	char		quote = '\0';	/* inside quotes: the closing one */

	for (char *c = text; *c != '\0'; c++)
	{
		if (*c == '\n' && quote == '\0')
			*c = ' ';
		if ((unsigned char) *c < ' ' || *c == 0x7f || *c == '\\')
			return false;
		if (quote != '\0')
		{
			if (*c == quote)
				quote = '\0';
		}
		else if (*c == '\'' || *c == '"')
		{
			/* E'', U&""; a doubled quote counts as one literal's end and another's begin */
			if (c > text && c[-1] != *c && (isalnum((unsigned char) c[-1]) || strchr("_&", c[-1])))
				return false;
			quote = *c;
		}
		else if (*c == ';' || *c == '$' || (*c == '-' && c[1] == '-') || (*c == '/' && c[1] == '*'))
			return false;
	}
	return true;
}

/* Whether a parsed name is unqualified, or qualified by pg_catalog. */
static bool
is_servers(List *names, bool *looked_up)
{
	if (list_length(names) == 1)
		*looked_up = true;
	return list_length(names) == 1 ||
		(list_length(names) == 2 && strcmp(strVal(linitial(names)), "pg_catalog") == 0);
}

/*
 * Whether the table has a column of this type, in any schema: a literal of it runs
 * no code that the table's own values do not run.
 */
static bool
is_columns_type(Oid relation, TypeName *type)
{
	HeapTuple	tuple;
	Oid			schema;
	Oid			wanted;
	int			columns;

	if (list_length(type->names) != 2)
		return false;
	schema = get_namespace_oid(strVal(linitial(type->names)), true);
	wanted = GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid,
							 PointerGetDatum(strVal(lsecond(type->names))), ObjectIdGetDatum(schema));
	if (!OidIsValid(wanted))
		return false;
	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
	if (!HeapTupleIsValid(tuple))
		return false;
	columns = ((Form_pg_class) GETSTRUCT(tuple))->relnatts;
	ReleaseSysCache(tuple);
	for (int i = 1; i <= columns; i++)
	{
		Oid			column = get_atttype(relation, i);

		if (OidIsValid(column) && (column == wanted || column == get_array_type(wanted)))
			return true;
	}
	return false;
}

/* Whether this expression contains anything that is not allowed. */
static bool
is_refused(Node *node, void *context)
{
	FfDefinition *d = (FfDefinition *) context;

	if (node == NULL)
		return false;
	check_stack_depth();
	switch (nodeTag(node))
	{
		case T_ColumnRef:
			return list_length(((ColumnRef *) node)->fields) != 1 ||
				!IsA(linitial(((ColumnRef *) node)->fields), String);
		case T_A_Expr:
			d->looked_up = true;
			if (list_length(((A_Expr *) node)->name) != 1)
				return true;
			break;
		case T_FuncCall:
			{
				FuncCall   *call = (FuncCall *) node;

				if (!is_servers(call->funcname, &d->looked_up) || call->agg_order != NIL ||
					call->agg_filter != NULL || call->over != NULL)
					return true;
				break;
			}
		case T_TypeCast:
			{
				TypeCast   *cast = (TypeCast *) node;

				if (IsA(cast->arg, A_Const) && is_columns_type(d->relation, cast->typeName))
					return false;
				break;
			}
		case T_TypeName:
			if (!is_servers(((TypeName *) node)->names, &d->looked_up))
				return true;
			break;
		case T_CollateClause:
			d->looked_up = true;
			break;
		case T_A_Indices:
			/* psql would replace a variable after the colon */
			if (((A_Indices *) node)->is_slice)
				return true;
			break;
		case T_List:
		case T_String:
		case T_Integer:
		case T_Float:
		case T_A_Const:
		case T_A_Indirection:
		case T_A_ArrayExpr:
		case T_RowExpr:
		case T_BoolExpr:
		case T_NullTest:
		case T_BooleanTest:
		case T_CaseExpr:
		case T_CaseWhen:
		case T_CoalesceExpr:
		case T_MinMaxExpr:
			break;
		default:
			return true;
	}
	return raw_expression_tree_walker(node, is_refused, context);
}

/* Whether all options of an index or operator class are constants or single words. */
static bool
are_options(List *options)
{
	ListCell   *lc;

	foreach(lc, options)
	{
		DefElem    *option = lfirst_node(DefElem, lc);

		if (option->defnamespace != NULL ||
			!(option->arg == NULL || IsA(option->arg, String) || IsA(option->arg, Integer) ||
			  IsA(option->arg, Float) ||
			  (IsA(option->arg, TypeName) && list_length(((TypeName *) option->arg)->names) == 1)))
			return false;
	}
	return true;
}

/* Whether a column or expression of the index, with collation and operator class, is allowed. */
static bool
is_element(FfDefinition *d, IndexElem *element, Oid access_method)
{
	if (element->collation != NIL)
		d->looked_up = true;
	if (list_length(element->opclass) == 1)
		d->looked_up = true;
	else if (element->opclass != NIL)
	{
		Oid			schema = get_namespace_oid(strVal(linitial(element->opclass)), true);

		/* it must exist: only superusers can create operator classes */
		if (list_length(element->opclass) != 2 ||
			!OidIsValid(GetSysCacheOid3(CLAAMNAMENSP, Anum_pg_opclass_oid, ObjectIdGetDatum(access_method),
										PointerGetDatum(strVal(lsecond(element->opclass))),
										ObjectIdGetDatum(schema))))
			return false;
	}
	return are_options(element->opclassopts) && !is_refused(element->expr, d);
}

/* Sets statement if the parsed text is one allowed CREATE INDEX. */
static void
accept_index(List *statements, void *context)
{
	FfDefinition *d = (FfDefinition *) context;
	IndexStmt  *index;
	Oid			access_method;
	ListCell   *lc;

	if (list_length(statements) != 1 || !IsA(linitial_node(RawStmt, statements)->stmt, IndexStmt))
		return;
	index = (IndexStmt *) linitial_node(RawStmt, statements)->stmt;
	if (index->idxname == NULL || index->accessMethod == NULL ||
		index->relation->schemaname == NULL || index->relation->catalogname != NULL ||
		index->concurrent || index->if_not_exists || index->tableSpace != NULL ||
		index->excludeOpNames != NIL || !are_options(index->options))
		return;
	access_method = GetSysCacheOid1(AMNAME, Anum_pg_am_oid, CStringGetDatum(index->accessMethod));
	if (!OidIsValid(access_method) || is_refused(index->whereClause, d))
		return;
	foreach(lc, index->indexParams)
	{
		if (!is_element(d, lfirst_node(IndexElem, lc), access_method))
			return;
	}
	foreach(lc, index->indexIncludingParams)
	{
		if (lfirst_node(IndexElem, lc)->expr != NULL)
			return;
	}
	d->statement = index;
}

/* The text after the table's name, from USING on.  NULL if the columns come first. */
static const char *
behind_table(const FfDefinition *d)
{
	bool		quoted = false;

	for (const char *c = d->text + d->statement->relation->location;
		 *c != '\0' && (quoted || *c != '('); c++)
	{
		quoted ^= *c == '"';
		if (!quoted && strncmp(c, " USING ", strlen(" USING ")) == 0)
			return c;
	}
	return NULL;
}

/*
 * ff_index_definition(relation oid, definition text, OUT is_unique boolean,
 *					   OUT name text, OUT method text, OUT looked_up boolean)
 *
 * The parts of an index's definition; method is everything from USING on.  All NULL
 * if the text is not acceptable.
 */
Datum
ff_index_definition(PG_FUNCTION_ARGS)
{
	char	   *line = text_to_cstring(PG_GETARG_TEXT_PP(1));
	FfDefinition d = {line, PG_GETARG_OID(0), NULL, false};
	const char *rest = NULL;
	Datum		values[4] = {0};
	bool		nulls[4] = {true, true, true, true};

	if (make_line(line) && ff_parse_text(line, accept_index, &d) == NULL && d.statement != NULL)
		rest = behind_table(&d);
	if (rest != NULL)
	{
		values[0] = BoolGetDatum(d.statement->unique);
		values[1] = CStringGetTextDatum(d.statement->idxname);
		values[2] = CStringGetTextDatum(rest + 1);
		values[3] = BoolGetDatum(d.looked_up);
		memset(nulls, false, sizeof(nulls));
	}
	return ff_row(fcinfo, values, nulls);
}
