/*
 * statements.c
 *	  Finds the tables that a statement writes, and the columns that its updates
 *	  set, from the statement's text.
 *
 * The text only goes through the server's raw parser: nothing is looked up,
 * planned or executed, so any text of any role is safe.  A text that cannot be
 * parsed gives one row with the reason instead of an error, so that the
 * collection goes on.
 *
 * Not seen: writes by functions, triggers, rules and foreign keys.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/objectaddress.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "base/module.h"

/* What pg_stat_statements shows instead of another role's text. */
#define FF_HIDDEN_TEXT		"<insufficient privilege>"

/* Columns of the result. */
enum
{
	COMMAND, SCHEMA, RELATION, SET_COLUMNS, HOW, REASON, COLUMNS
};

typedef struct FfParse
{
	ReturnSetInfo *result;
	int			depth;			/* of statements: 0 is the one the client sent */
} FfParse;

PG_FUNCTION_INFO_V1(ff_parse_statement);

/* The value that an entry of a SET list assigns; of (a, b) = (...) its own part. */
static Node *
assigned(const ResTarget *target)
{
	Node	   *value = target->val;

	if (value != NULL && IsA(value, MultiAssignRef))
	{
		MultiAssignRef *part = (MultiAssignRef *) value;

		if (!IsA(part->source, RowExpr) || part->colno > list_length(((RowExpr *) part->source)->args))
			return NULL;
		value = list_nth(((RowExpr *) part->source)->args, part->colno - 1);
	}
	return value;
}

/* Whether one of the columns of ON CONFLICT (...) is this one. */
static bool
is_conflict_key(const InferClause *infer, const char *name)
{
	ListCell   *lc;

	foreach(lc, infer == NULL ? NIL : infer->indexElems)
	{
		IndexElem  *key = (IndexElem *) lfirst(lc);

		/* another operator class or collation has other equal values */
		if (key->name != NULL && key->opclass == NIL && key->collation == NIL &&
			strcmp(key->name, name) == 0)
			return true;
	}
	return false;
}

/*
 * Whether an entry of a SET list assigns what the column is: itself, as in a = a or
 * a = t.a, or the key by which ON CONFLICT found the row, as in a = EXCLUDED.a.
 */
static bool
stays(const ResTarget *target, const RangeVar *relation, const InferClause *infer)
{
	Node	   *value = assigned(target);
	List	   *names;
	const char *table;

	if (target->indirection != NIL || value == NULL || !IsA(value, ColumnRef))
		return false;
	names = ((ColumnRef *) value)->fields;
	if (!IsA(llast(names), String) || strcmp(strVal(llast(names)), target->name) != 0)
		return false;
	if (list_length(names) == 1)
		return true;
	table = strVal(list_nth(names, list_length(names) - 2));
	if (strcmp(table, "excluded") == 0 && is_conflict_key(infer, target->name))
		return true;
	return strcmp(table, relation->alias != NULL ? relation->alias->aliasname :
				  relation->relname) == 0;
}

/*
 * Adds the columns that a SET list changes, once each.  Fields and elements,
 * SET a.b = and a[1] =, count as their column; in (a, b) = (...) each is an
 * entry of its own.  Takes at most as many columns as a table can have: the time
 * grows with the square of their number.
 */
static List *
add_columns(List *columns, List *targetlist, const RangeVar *relation, const InferClause *infer)
{
	ListCell   *lc;

	foreach(lc, targetlist)
	{
		ResTarget  *target = (ResTarget *) lfirst(lc);
		ListCell   *known;
		bool		found = false;

		if (!IsA(target, ResTarget) || target->name == NULL || stays(target, relation, infer))
			continue;
		if (list_length(columns) == MaxHeapAttributeNumber)
			break;
		foreach(known, columns)
			found = found || strcmp(lfirst(known), target->name) == 0;
		if (!found)
			columns = lappend(columns, target->name);
	}
	return columns;
}

/*
 * Adds a row to the result: a table that the statement writes.  command: INSERT,
 * UPDATE, DELETE, COPY; columns: names that an UPDATE changes, each once.
 */
static void
add_target(FfParse *parse, const char *command, const char *how, RangeVar *relation, List *columns)
{
	Datum		values[COLUMNS] = {0};
	bool		nulls[COLUMNS] = {[REASON] = true};

	if (relation == NULL)
		return;
	values[COMMAND] = CStringGetTextDatum(command);
	nulls[SCHEMA] = relation->schemaname == NULL;
	if (relation->schemaname != NULL)
		values[SCHEMA] = CStringGetTextDatum(relation->schemaname);
	values[RELATION] = CStringGetTextDatum(relation->relname);
	nulls[SET_COLUMNS] = strcmp(command, "UPDATE") != 0;
	values[SET_COLUMNS] = PointerGetDatum(strlist_to_textarray(columns));
	values[HOW] = CStringGetTextDatum(parse->depth > 0 ? "cte" : how);
	tuplestore_putvalues(parse->result->setResult, parse->result->setDesc, values, nulls);
}

/* Adds the actions of a MERGE, one row for each command it may run. */
static void
add_merge(FfParse *parse, MergeStmt *merge)
{
	static const CmdType types[] = {CMD_UPDATE, CMD_INSERT, CMD_DELETE};
	static const char *const commands[] = {"UPDATE", "INSERT", "DELETE"};

	for (int i = 0; i < (int) lengthof(types); i++)
	{
		bool		found = false;
		List	   *columns = NIL;
		ListCell   *lc;

		foreach(lc, merge->mergeWhenClauses)
		{
			MergeWhenClause *when = (MergeWhenClause *) lfirst(lc);

			if (when->commandType != types[i])
				continue;
			found = true;
			columns = add_columns(columns, when->targetList, merge->relation, NULL);
		}
		if (found)
			add_target(parse, commands[i], "merge", merge->relation, columns);
	}
}

/*
 * Adds this statement's targets, and those in its WITH.  The walker does not know
 * utility statements; those that pg_stat_statements counts together with their
 * inner statement are unwrapped here.
 */
static bool
find_targets(Node *node, void *context)
{
	FfParse    *parse = (FfParse *) context;
	bool		result;

	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_InsertStmt:
			{
				InsertStmt *insert = (InsertStmt *) node;

				add_target(parse, "INSERT", "top", insert->relation, NIL);
				if (insert->onConflictClause != NULL &&
					insert->onConflictClause->action == ONCONFLICT_UPDATE)
					add_target(parse, "UPDATE", "on_conflict", insert->relation,
							   add_columns(NIL, insert->onConflictClause->targetList,
										   insert->relation, insert->onConflictClause->infer));
				break;
			}
		case T_UpdateStmt:
			add_target(parse, "UPDATE", "top", ((UpdateStmt *) node)->relation,
					   add_columns(NIL, ((UpdateStmt *) node)->targetList,
								   ((UpdateStmt *) node)->relation, NULL));
			break;
		case T_DeleteStmt:
			add_target(parse, "DELETE", "top", ((DeleteStmt *) node)->relation, NIL);
			break;
		case T_MergeStmt:
			add_merge(parse, (MergeStmt *) node);
			break;
		case T_SelectStmt:
			break;
		case T_PrepareStmt:
			return find_targets(((PrepareStmt *) node)->query, context);
		case T_ExplainStmt:
			return find_targets(((ExplainStmt *) node)->query, context);
		case T_CopyStmt:
			if (((CopyStmt *) node)->is_from)
				add_target(parse, "COPY", "top", ((CopyStmt *) node)->relation, NIL);
			return find_targets(((CopyStmt *) node)->query, context);
		default:
			return parse->depth > 0 && raw_expression_tree_walker(node, find_targets, context);
	}
	parse->depth++;
	result = raw_expression_tree_walker(node, find_targets, context);
	parse->depth--;
	return result;
}

/* Adds the targets of all statements of a text. */
static void
find_statements(List *statements, void *context)
{
	ListCell   *lc;

	foreach(lc, statements)
		find_targets(lfirst_node(RawStmt, lc)->stmt, context);
}

/*
 * ff_parse_statement(query text), see the SQL function
 *
 * Columns are NULL unless the command is UPDATE.  No row for a statement that writes
 * no table; only the reason for a text that cannot be parsed.
 */
Datum
ff_parse_statement(PG_FUNCTION_ARGS)
{
	FfParse		parse = {(ReturnSetInfo *) fcinfo->resultinfo, 0};
	Datum		values[COLUMNS] = {0};
	bool		nulls[COLUMNS] = {true, true, true, true, true, false};
	const char *query = PG_ARGISNULL(0) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(0));
	const char *reason;

	InitMaterializedSRF(fcinfo, 0);
	if (query == NULL)
		reason = "no text";
	else if (strcmp(query, FF_HIDDEN_TEXT) == 0)
		reason = "text hidden from this role";
	else
		reason = ff_parse_text(query, find_statements, &parse);

	if (reason != NULL)
	{
		/* drop what was found before the error */
		tuplestore_clear(parse.result->setResult);
		values[REASON] = CStringGetTextDatum(reason);
		tuplestore_putvalues(parse.result->setResult, parse.result->setDesc, values, nulls);
	}
	return (Datum) 0;
}
