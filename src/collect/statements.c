/*
 * statements.c
 *	  Finds the tables that a statement writes, and the columns that its updates
 *	  set, from the statement's text.
 *
 * A text that cannot be parsed (parse.c) gives one row with the reason instead of an
 * error, so that the collection goes on.
 *
 * Not seen: writes by functions, triggers, rules and foreign keys.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/objectaddress.h"
#include "funcapi.h"
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "base/module.h"
#include "collect/common.h"

/* What pg_stat_statements shows instead of another role's text. */
#define FF_HIDDEN_TEXT		"<insufficient privilege>"

/* Columns of the result. */
enum
{
	COMMAND, SCHEMA, RELATION, SET_COLUMNS, COMPUTED, CONSTRAINT, HOW, REASON, COLUMNS
};

typedef struct FfParse
{
	ReturnSetInfo *result;
	int			depth;			/* of statements: 0 is the one the client sent */
} FfParse;

PG_FUNCTION_INFO_V1(ff_parse_statement);

/* What the SET lists of a command do to the columns of its table. */
typedef struct FfSets
{
	const RangeVar *relation;
	const InferClause *conflict;	/* of ON CONFLICT, or NULL */
	List	   *columns;		/* names, once each, without those that stay what they are */
	List	   *computed;		/* of these, those that get more than a given value */
} FfSets;

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

/* Whether this is the column of that table; without a table's name it is taken for it. */
static bool
is_column(Node *node, const char *table, const char *name)
{
	List	   *names;

	if (node == NULL || !IsA(node, ColumnRef))
		return false;
	names = ((ColumnRef *) node)->fields;
	return IsA(llast(names), String) && strcmp(strVal(llast(names)), name) == 0 &&
		(list_length(names) == 1 ||
		 strcmp(strVal(list_nth(names, list_length(names) - 2)), table) == 0);
}

/* Whether one of the columns of ON CONFLICT (...) is this one. */
static bool
is_conflict_key(const InferClause *infer, const char *name)
{
	List	   *keys = infer == NULL ? NIL : infer->indexElems;

	foreach_ptr(IndexElem, key, keys)
	{
		/* another operator class or collation has other equal values */
		if (key->name != NULL && key->opclass == NIL && key->collation == NIL &&
			strcmp(key->name, name) == 0)
			return true;
	}
	return false;
}

/* Whether conditions that hold for the row, all of them, say that the column equals the value. */
static bool
say_equal(List *conditions, const char *table, const char *column, Node *value)
{
	foreach_ptr(Node, node, conditions)
	{
		if (node != NULL && IsA(node, BoolExpr) && ((BoolExpr *) node)->boolop == AND_EXPR &&
			say_equal(((BoolExpr *) node)->args, table, column, value))
			return true;
		if (node != NULL && IsA(node, A_Expr) && ((A_Expr *) node)->kind == AEXPR_OP)
		{
			A_Expr	   *e = (A_Expr *) node;

			if (strcmp(strVal(llast(e->name)), "=") == 0 &&
				((is_column(e->lexpr, table, column) && equal(e->rexpr, value)) ||
				 (is_column(e->rexpr, table, column) && equal(e->lexpr, value))))
				return true;
		}
	}
	return false;
}

/*
 * Whether a value is given, not computed: it may be what the column is already.  That is
 * a constant or parameter, another column, or a choice of such.
 */
static bool
is_given(Node *value)
{
	if (value == NULL)
		return true;
	switch (nodeTag(value))
	{
		case T_A_Const:
		case T_ParamRef:
		case T_ColumnRef:
			return true;
		case T_TypeCast:
			return is_given(((TypeCast *) value)->arg);
		case T_CoalesceExpr:
			foreach_ptr(Node, part, ((CoalesceExpr *) value)->args)
			{
				if (!is_given(part))
					return false;
			}
			return true;
		case T_CaseExpr:
			foreach_ptr(CaseWhen, when, ((CaseExpr *) value)->args)
			{
				if (!is_given((Node *) when->result))
					return false;
			}
			return is_given((Node *) ((CaseExpr *) value)->defresult);
		default:
			return false;
	}
}

/* Adds a name, once, and at most as many as a table can have: this takes quadratic time. */
static List *
add_name(List *names, char *name)
{
	foreach_ptr(char, other, names)
	{
		if (strcmp(other, name) == 0)
			return names;
	}
	return list_length(names) == MaxHeapAttributeNumber ? names : lappend(names, name);
}

/*
 * Adds the columns that a SET list changes.  Not those that stay what they are: a = a, the
 * key by which ON CONFLICT found the row (a = EXCLUDED.a), and what the conditions say
 * that they are (SET a = u.a ... WHERE t.a = u.a).  Fields and elements, SET a.b = and
 * a[1] =, count as their column.  After ON CONFLICT ON CONSTRAINT, whose key the text
 * does not show, only EXCLUDED.a is given.
 */
static void
add_columns(FfSets *sets, List *targetlist, List *conditions)
{
	const char *table = sets->relation->alias != NULL ? sets->relation->alias->aliasname :
		sets->relation->relname;

	foreach_ptr(ResTarget, target, targetlist)
	{
		Node	   *value;
		bool		proposed;

		if (!IsA(target, ResTarget) || target->name == NULL)
			continue;
		value = target->indirection == NIL ? assigned(target) : NULL;
		proposed = is_column(value, "excluded", target->name);
		if (is_column(value, table, target->name) ||
			(proposed && is_conflict_key(sets->conflict, target->name)) ||
			(value != NULL && say_equal(conditions, table, target->name, value)))
			continue;
		sets->columns = add_name(sets->columns, target->name);
		if (sets->conflict != NULL && sets->conflict->conname != NULL ? !proposed :
			value == NULL || !is_given(value))
			sets->computed = add_name(sets->computed, target->name);
	}
}

/*
 * Adds a row to the result: a table that the statement writes.  command: INSERT,
 * UPDATE, DELETE, COPY; sets: of an UPDATE, else NULL.
 */
static void
add_target(FfParse *parse, const char *command, const char *how, RangeVar *relation, const FfSets *sets)
{
	Datum		values[COLUMNS] = {0};
	bool		nulls[COLUMNS] = {[REASON] = true};
	const char *constraint = sets != NULL && sets->conflict != NULL ? sets->conflict->conname : NULL;

	if (relation == NULL)
		return;
	values[COMMAND] = CStringGetTextDatum(command);
	nulls[SCHEMA] = relation->schemaname == NULL;
	if (relation->schemaname != NULL)
		values[SCHEMA] = CStringGetTextDatum(relation->schemaname);
	values[RELATION] = CStringGetTextDatum(relation->relname);
	nulls[SET_COLUMNS] = nulls[COMPUTED] = sets == NULL;
	if (sets != NULL)
	{
		values[SET_COLUMNS] = PointerGetDatum(strlist_to_textarray(sets->columns));
		values[COMPUTED] = PointerGetDatum(strlist_to_textarray(sets->computed));
	}
	nulls[CONSTRAINT] = constraint == NULL;
	if (constraint != NULL)
		values[CONSTRAINT] = CStringGetTextDatum(constraint);
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
		FfSets		sets = {merge->relation};
		bool		found = false;

		foreach_ptr(MergeWhenClause, when, merge->mergeWhenClauses)
		{
			if (when->commandType != types[i])
				continue;
			found = true;
			if (types[i] == CMD_UPDATE)
				add_columns(&sets, when->targetList,
							list_make2(merge->joinCondition, when->condition));
		}
		if (found)
			add_target(parse, commands[i], "merge", merge->relation,
					   types[i] == CMD_UPDATE ? &sets : NULL);
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
				OnConflictClause *conflict = insert->onConflictClause;
				FfSets		sets = {insert->relation, conflict == NULL ? NULL : conflict->infer};

				add_target(parse, "INSERT", "top", insert->relation, NULL);
				if (conflict != NULL && conflict->action == ONCONFLICT_UPDATE)
				{
					add_columns(&sets, conflict->targetList, list_make1(conflict->whereClause));
					add_target(parse, "UPDATE", "on_conflict", insert->relation, &sets);
				}
				break;
			}
		case T_UpdateStmt:
			{
				UpdateStmt *update = (UpdateStmt *) node;
				FfSets		sets = {update->relation};

				add_columns(&sets, update->targetList, list_make1(update->whereClause));
				add_target(parse, "UPDATE", "top", update->relation, &sets);
				break;
			}
		case T_DeleteStmt:
			add_target(parse, "DELETE", "top", ((DeleteStmt *) node)->relation, NULL);
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
				add_target(parse, "COPY", "top", ((CopyStmt *) node)->relation, NULL);
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
	foreach_ptr(RawStmt, statement, statements)
		find_targets(statement->stmt, context);
}

/* SQL: parse_statement().  Columns are NULL unless the command is UPDATE. */
Datum
ff_parse_statement(PG_FUNCTION_ARGS)
{
	FfParse		parse = {(ReturnSetInfo *) fcinfo->resultinfo, 0};
	Datum		values[COLUMNS] = {0};
	bool		nulls[COLUMNS] = {true, true, true, true, true, true, true, false};
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
