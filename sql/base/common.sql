-- What all stages use: the extension's own settings, errors and rights of callers, texts.

-- Value of fillfactor_advisor.NAME in its base unit (lookback, retention, payback_time: seconds). Error 42704: none.
CREATE FUNCTION ff_internal.setting(name text) RETURNS float8
LANGUAGE c STRICT STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'ff_setting';

-- A threshold or price of the model or decision by its name, see src/base/thresholds.h. Error 42704: none.
CREATE FUNCTION ff_internal.threshold(name text) RETURNS float8
AS 'MODULE_PATHNAME', 'ff_threshold'
LANGUAGE c STRICT IMMUTABLE PARALLEL SAFE;

-- Seconds in words, rounded to a suitable unit.
CREATE FUNCTION ff_internal.span(seconds float8) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN seconds < 120 THEN round(seconds::numeric)::text || ' s'
            WHEN seconds < 7200 THEN round((seconds / 60)::numeric)::text || ' min'
            WHEN seconds < 172800 THEN round((seconds / 3600)::numeric)::text || ' hours'
            ELSE round((seconds / 86400)::numeric)::text || ' days' END;

-- A percentage with at most one decimal.
CREATE FUNCTION ff_internal.percent(value float8) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN trim_scale(round(value::numeric, 1))::text || ' %';

-- A time as it is shown, to the minute.
CREATE FUNCTION ff_internal.minute(at timestamptz) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN to_char(at, 'YYYY-MM-DD HH24:MI');

-- '1 table', '5 tables'.
CREATE FUNCTION ff_internal.counted(n bigint, noun text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN n::text || ' ' || noun || CASE n WHEN 1 THEN '' ELSE 's' END;

-- Breaks the line after each part of a text, and between words where a line is longer than width (NULL: any).
CREATE FUNCTION ff_internal.lines(content text, width integer DEFAULT NULL) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN rtrim(regexp_replace(regexp_replace(content, '(;|[.](?= [A-Z0-9])) ', E'\\1\n', 'g'),
                            E'([^\n]{1,' || coalesce(width::text, '') || E'})( |\n|$)', E'\\1\n', 'g'), E'\n');

-- Raises an error whose context names no inner function.
CREATE FUNCTION ff_internal.refuse(sqlstate text, message text, detail text DEFAULT NULL, hint text DEFAULT NULL)
RETURNS void
LANGUAGE c VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'ff_refuse';

-- Error 42501, with the statement that fixes it, if the caller is not a reader or collector (see ff_grant()). Public
-- functions begin with it, because everybody may call them.
CREATE FUNCTION ff_internal.check_role(what text) RETURNS void
LANGUAGE c STRICT STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'ff_check_role';

-- How far back advice and ff_verify() look.
CREATE FUNCTION ff_internal.lookback() RETURNS interval
LANGUAGE sql STABLE PARALLEL SAFE
RETURN make_interval(secs => ff_internal.setting('lookback'));

-- Regular expression for a character not allowed in generated text: control characters, which end a comment in psql,
-- and those that hide or reverse others; outside ASCII only where the encoding has them at these places.
CREATE FUNCTION ff_internal.unprintable() RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE WHEN getdatabaseencoding() = 'UTF8'
            THEN E'[\\u0001-\\u001f\\u007f-\\u009f\\u061c\\u200b-\\u200f\\u2028-\\u202e'
                 '\\u2060-\\u2069\\ufeff\\U000e0000-\\U000e007f]'
            WHEN getdatabaseencoding() ~ '^(LATIN|ISO_8859_)' THEN E'[\\u0001-\\u001f\\u007f-\\u009f]'
            ELSE E'[\\u0001-\\u001f\\u007f]' END;

-- The inside of E'...' (quote ') or U&"..." (quote "), with unprintable characters as escapes.
CREATE FUNCTION ff_internal.escaped(content text, quote text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (SELECT string_agg(CASE WHEN c.ch ~ ff_internal.unprintable()
                               THEN CASE quote WHEN '''' THEN E'\\U00' ELSE E'\\+' END
                                    || lpad(to_hex(ascii(c.ch)), 6, '0')
                               WHEN c.ch IN (E'\\', quote) THEN c.ch || c.ch ELSE c.ch END, '' ORDER BY c.place)
          FROM string_to_table(content, NULL) WITH ORDINALITY AS c(ch, place));

-- An identifier for generated SQL, always on one line: quote_ident(), or U&"..." if it has unprintable characters.
CREATE FUNCTION ff_internal.quoted_name(name text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE WHEN name ~ ff_internal.unprintable() THEN 'U&"' || ff_internal.escaped(name, '"') || '"'
            ELSE quote_ident(name) END;

-- With its schema.
CREATE FUNCTION ff_internal.quoted_name(nspname name, relname name) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN ff_internal.quoted_name(nspname::text) || '.' || ff_internal.quoted_name(relname::text);

-- A literal for generated SQL, always on one line; NULL for NULL.
CREATE FUNCTION ff_internal.quoted_text(content text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE WHEN content ~ ff_internal.unprintable() THEN 'E''' || ff_internal.escaped(content, '''') || ''''
            ELSE quote_nullable(content) END;

-- Text for a comment: unprintable characters, including line ends, become question marks.
CREATE FUNCTION ff_internal.plain(content text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN regexp_replace(content, ff_internal.unprintable(), '?', 'g');

-- Quotes a word for a shell's command line.
CREATE FUNCTION ff_internal.shell_quoted(word text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '''' || replace(word, '''', E'''\\''''') || '''';

-- The columns of a type, table or view, for statements that copy all.
CREATE FUNCTION ff_internal.column_list(relation regclass) RETURNS text
LANGUAGE sql STABLE
RETURN (SELECT string_agg(a.attname, ', ' ORDER BY a.attnum) FROM pg_attribute a
         WHERE a.attrelid = relation AND a.attnum > 0 AND NOT a.attisdropped);

-- A table or index and those that inherit from it, so its partitions, at all levels. pg_partition_tree() would wait for
-- a lock on each of them.
CREATE FUNCTION ff_internal.with_children(relation oid) RETURNS SETOF oid
LANGUAGE sql STABLE ROWS 10
BEGIN ATOMIC
    WITH RECURSIVE found(oid) AS (
        SELECT relation
        UNION
        SELECT i.inhrelid FROM found f JOIN pg_inherits i ON i.inhparent = f.oid
    )
    SELECT f.oid FROM found f;
END;

-- A table and those from which it inherits, so whose partition it is, at all levels.
CREATE FUNCTION ff_internal.with_parents(relation oid) RETURNS SETOF oid
LANGUAGE sql STABLE ROWS 2
BEGIN ATOMIC
    WITH RECURSIVE found(oid) AS (
        SELECT relation
        UNION
        SELECT i.inhparent FROM found f JOIN pg_inherits i ON i.inhrelid = f.oid
    )
    SELECT f.oid FROM found f;
END;
