-- The settings of the extension (src/module.c), for its SQL functions, and the
-- words of generated text.

-- Value of the setting fillfactor_advisor.NAME, a number of its base unit (lookback, retention, payback_time: seconds),
-- also where the library was not loaded yet. Error 42704 where there is none of that name.
CREATE FUNCTION ff_internal.setting(name text) RETURNS text
LANGUAGE c STRICT STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'ff_setting';

-- How far back advice and ff_verify() look.
CREATE FUNCTION ff_internal.lookback() RETURNS interval
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
RETURN make_interval(secs => ff_internal.setting('lookback')::double precision);

-- ---------------------------------------------------------------------------
-- Words: quoting that keeps a script one statement a line
-- ---------------------------------------------------------------------------
-- Regular expression for one character that must not stand in generated text: control characters and, in UTF-8,
-- characters that hide or reverse others.
CREATE FUNCTION ff_internal.unprintable() RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
    -- psql ends a comment at a line feed or carriage return; the others, and
    -- what reverses or hides text, would show a reader something else
    SELECT CASE WHEN e.encoding = 'UTF8' THEN '[\u0001-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]'
                -- these have the same 32 control characters beyond ASCII; others have letters there
                WHEN e.encoding ~ '^(LATIN|ISO_8859_)' THEN '[\u0001-\u001f\u007f-\u009f]'
                ELSE '[\u0001-\u001f\u007f]' END
      FROM (SELECT getdatabaseencoding()) e(encoding)
$$;

-- The inside of E'...' or of U&"...", whichever quote says, unprintable characters as escapes.
CREATE FUNCTION ff_internal.escaped(content text, quote text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
    SELECT string_agg(CASE WHEN c.ch ~ ff_internal.unprintable()
                           THEN CASE WHEN ascii(c.ch) < 65536 THEN CASE quote WHEN '''' THEN '\u' ELSE '\' END || lpad(to_hex(ascii(c.ch)), 4, '0')
                                     ELSE CASE quote WHEN '''' THEN '\U00' ELSE '\+' END || lpad(to_hex(ascii(c.ch)), 6, '0') END
                           WHEN c.ch IN ('\', quote) THEN c.ch || c.ch
                           ELSE c.ch END, '' ORDER BY c.place)
      FROM string_to_table(content, NULL) WITH ORDINALITY AS c(ch, place)
$$;

-- An identifier for generated SQL, on one line whatever it contains: quote_ident(), or U&"..." where it holds
-- unprintable characters.
CREATE FUNCTION ff_internal.quoted_name(name text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN name ~ ff_internal.unprintable() THEN 'U&"' || ff_internal.escaped(name, '"') || '"' ELSE quote_ident(name) END
$$;

-- A literal for generated SQL, on one line whatever it contains; NULL for NULL.
CREATE FUNCTION ff_internal.quoted_text(content text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN content IS NULL THEN 'NULL'
                WHEN content ~ ff_internal.unprintable() THEN 'E''' || ff_internal.escaped(content, '''') || ''''
                ELSE quote_literal(content) END
$$;

-- Text for a comment: unprintable characters, line ends among them, become question marks.
CREATE FUNCTION ff_internal.plain(content text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT regexp_replace(content, ff_internal.unprintable(), '?', 'g')
$$;
