/*
 * parse.c
 *	  Parses a text as the server does, and nothing more.
 *
 * The text only goes through the server's raw parser: nothing is looked up,
 * planned or executed, so any text of any role is safe.  What pg_stat_statements
 * made of a statement may be no SQL any more; it is repaired as far as parsing needs.
 */
#include "postgres.h"

#include <ctype.h>

#include "access/xact.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "parser/parser.h"
#include "parser/scanner.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "base/module.h"
#include "collect/common.h"

/*
 * Texts of at least this many bytes are not parsed: a parse tree takes about a hundred
 * times as much memory.  An INSERT with the protocol's maximum of 65,535 parameters is shorter.
 */
#define FF_STATEMENT_MAX	(1000 * 1000)

/*
 * A constant where the grammar wants the constant itself, such as interval '1 day',
 * is no SQL after pg_stat_statements put a parameter in its place: interval $1.  The
 * parser stops at the first token that cannot follow, and says where that is; if
 * this is a parameter, a string takes its place and the text is parsed again.  What
 * a type name is, or how a version spells EXTRACT, is for its grammar to know.
 *
 * Each repair parses once more.  Like places are repaired together, and at most
 * this many bytes are parsed (chosen: half a second), at least once.
 */
#define FF_REPAIR_BYTES	(10 * 1000 * 1000)

/* A statement's text and where its repair stands. */
typedef struct FfText
{
	StringInfoData text;
	MemoryContext trees;		/* for the parse: a hundred times as large */
	int			error_at;		/* byte of the token that the parser refused, or -1 */
	int			string_at;		/* where the last repair put a string, or -1 */
} FfText;

/* The digits after a $, if a parameter begins here, else 0. */
static int
parameter_digits(const char *token)
{
	return token[0] == '$' ? (int) strspn(token + 1, "0123456789") : 0;
}

/* The length of the name or keyword without quotes that begins here, or 0. */
static int
name_length(const char *token)
{
	int			length = 0;

	while (isalpha((unsigned char) token[length]) || token[length] == '_' ||
		   IS_HIGHBIT_SET(token[length]) ||
		   (length > 0 && (isdigit((unsigned char) token[length]) || token[length] == '$')))
		length++;
	return length;
}

static void
insert_space(FfText *t, int at)
{
	enlargeStringInfo(&t->text, 1);
	memmove(t->text.data + at + 1, t->text.data + at, t->text.len - at + 1);
	t->text.data[at] = ' ';
	t->text.len++;
}

/* Puts a constant over a parameter, or over the string that an earlier repair put there. */
static void
put_constant(FfText *t, int at, const char *constant)
{
	int			there = 1 + Max(parameter_digits(t->text.data + at), 1);
	int			length = strlen(constant);

	for (; there < length; there++)
		insert_space(t, at);
	memset(t->text.data + at, ' ', there);
	memcpy(t->text.data + at, constant, length);
}

/*
 * Puts a string over the parameter that the parser refused, and over each other one
 * behind the same two tokens.  The server's own scanner finds the tokens, so that
 * nothing inside a string, a name or a comment is taken for one.
 */
static void
put_strings(FfText *t)
{
	core_yy_extra_type extra;
	core_YYSTYPE value;
	YYLTYPE		at;
	core_yyscan_t scanner = scanner_init(t->text.data, &extra, &ScanKeywords, ScanKeywordTokens);
	char	   *before[2] = {"", ""};
	List	   *places = NIL;
	List	   *keys = NIL;
	char	   *refused = NULL;
	ListCell   *place;
	ListCell   *key;

	while (core_yylex(&value, &at, scanner) != 0)
	{
		/* the scanner ends its current token with a null byte */
		char	   *token = pstrdup(extra.scanbuf + at);

		if (parameter_digits(token) > 0)
		{
			places = lappend_int(places, at);
			keys = lappend(keys, psprintf("%s %s", before[0], before[1]));
			if (at == t->error_at)
				refused = llast(keys);
		}
		before[0] = before[1];
		before[1] = token;
	}
	scanner_finish(scanner);
	forboth(place, places, key, keys)
	{
		if (refused != NULL && pg_strcasecmp(lfirst(key), refused) == 0)
			put_constant(t, lfirst_int(place), "''");
	}
	t->string_at = refused != NULL ? t->error_at : -1;
}

/*
 * Repairs the text where the parser refused it: a parameter in the place of a string, or
 * of a form of normalize(), or before the UESCAPE that belonged to the string.  Without
 * spaces, as in THEN'a'ELSE'b', parameters also run into the words around them, and the
 * parser may only see that at the word before, as in NOT LIKE'a'.  Returns whether the
 * text changed.
 */
static bool
repair(FfText *t)
{
	char	   *token = t->text.data + t->error_at;
	int			digits = parameter_digits(token);

	if (digits > 0 && name_length(token + 1 + digits) > 0)
	{
		insert_space(t, t->error_at + 1 + digits);
		return true;
	}
	if (digits > 0)
	{
		put_strings(t);
		return t->string_at >= 0;
	}
	if (t->error_at == t->string_at)
	{
		put_constant(t, t->error_at, "NFC");
		t->string_at = -1;
		return true;
	}
	if (pg_strncasecmp(token, "uescape", 7) == 0)
	{
		char	   *escape = token + 7 + strspn(token + 7, " \t\r\n");

		if (escape[0] != '\'' || strlen(escape) < 3 || escape[2] != '\'')
			return false;
		memset(token, ' ', escape + 3 - token);
		return true;
	}
	for (int word = 0; word < 2; word++)
	{
		int			length = name_length(token);

		for (int i = 1; i < length; i++)
		{
			if (parameter_digits(token + i) > 0)
			{
				insert_space(t, token + i - t->text.data);
				return true;
			}
		}
		token += length + strspn(token + length, " \t\r\n");
	}
	return false;
}

/*
 * Parses without messages: no warning about backslashes, no notice about a long
 * name, which would show it.  After an error, the end of the subtransaction
 * restores the settings.  Returns false if the text was refused and cannot be repaired.
 */
static bool
parse_quietly(FfText *t, List **statements)
{
	int			nest = NewGUCNestLevel();
	ErrorContextCallback *callers = error_context_stack;
	bool		worth = true;

	(void) set_config_option("client_min_messages", "error", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
#ifdef FF_HAVE_ESCAPE_STRING_WARNING
	(void) set_config_option("escape_string_warning", "off", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
#endif
	if (t->error_at >= 0)
		worth = repair(t);
	/* SPI and SQL functions take an error's position for one in their own text */
	error_context_stack = NULL;
	if (worth)
		*statements = raw_parser(t->text.data, RAW_PARSE_DEFAULT);
	error_context_stack = callers;
	AtEOXact_GUC(true, nest);
	return worth;
}

/*
 * Tries once to parse the text, repaired first if it was refused before, and calls use on
 * its statements, in a subtransaction.  Returns NULL, or the error.
 */
static ErrorData *
try_to_parse(FfText *t, ErrorData *before, void (*use) (List *, void *), void *context)
{
	MemoryContext memory = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	ErrorData  *volatile error = NULL;

	MemoryContextReset(t->trees);
	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(t->trees);
	PG_TRY();
	{
		List	   *statements = NIL;

		if (parse_quietly(t, &statements))
			use(statements, context);
		else
			error = before;
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(memory);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(memory);
	CurrentResourceOwner = owner;
	return error;
}

/* The byte at which the parser found an error, from its position in characters; or -1. */
static int
error_byte(const FfText *t, const ErrorData *error)
{
	int			at = 0;

	if (error->cursorpos <= 0)
		return -1;
	for (int left = error->cursorpos - 1; left > 0 && at < t->text.len; left--)
		at += pg_mblen(t->text.data + at);
	return Min(at, t->text.len);
}

/*
 * Parses the text and calls use on its statements, in a subtransaction.  Returns
 * NULL, or why that failed.  Only errors that the text itself can cause become a
 * reason; others, such as a cancel or lack of memory, are raised again.
 */
const char *
ff_parse_text(const char *text, void (*use) (List *statements, void *context), void *context)
{
	FfText		t = {.error_at = -1, .string_at = -1};
	ErrorData  *error = NULL;
	ErrorData  *before;
	int64		parsed = 0;

	if (strlen(text) >= FF_STATEMENT_MAX)
		return "too long to parse";
	initStringInfo(&t.text);
	appendStringInfoString(&t.text, text);
	t.trees = AllocSetContextCreate(CurrentMemoryContext, "parsed statement",
									ALLOCSET_DEFAULT_SIZES);
	do
	{
		before = error;
		error = try_to_parse(&t, before, use, context);
		parsed += t.text.len + 1;
		t.error_at = error == NULL ? -1 : error_byte(&t, error);
	} while (error != NULL && error != before && t.error_at >= 0 && parsed < FF_REPAIR_BYTES &&
			 ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION);
	if (error == NULL)
		return NULL;
	switch (ERRCODE_TO_CATEGORY(error->sqlerrcode))
	{
		case ERRCODE_SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION:
			return "the text as normalized by pg_stat_statements is no SQL";
		case ERRCODE_PROGRAM_LIMIT_EXCEEDED:
			return "too complex to parse";
		case ERRCODE_DATA_EXCEPTION:
		case ERRCODE_FEATURE_NOT_SUPPORTED:
			return "not accepted by this server's parser";
		case ERRCODE_INTERNAL_ERROR:
			/* a node unknown to the server's walker */
			return "not understood by this server's parser";
	}
	ReThrowError(error);
	return NULL;
}
