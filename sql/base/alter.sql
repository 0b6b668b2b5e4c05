-- Statements that change or restore storage options (name=value, as in pg_class.reloptions) and indexes.

-- A relation's quoted name with its schema, on one line; NULL: it is gone.
CREATE FUNCTION ff_internal.qualified_name(relation oid) RETURNS text
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    -- PL/pgSQL keeps the plan, SQL functions do not
    RETURN (SELECT ff_internal.quoted_name(n.nspname, c.relname)
              FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = relation);
END
$$;

-- Options as after ALTER ... SET: new ones come last.
CREATE FUNCTION ff_internal.options_after(options text[], to_set text[]) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY(SELECT o FROM unnest(options) o
              WHERE split_part(o, '=', 1) NOT IN (SELECT split_part(s, '=', 1) FROM unnest(to_set) s)) || to_set;

-- The statements that set and reset options of a relation; NULL: it is gone, or nothing is to be done.
CREATE FUNCTION ff_internal.alter_options(relation oid, to_set text[], to_reset text[] DEFAULT NULL) RETURNS text
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    -- keeps its plan
    RETURN (
    SELECT nullif(concat_ws(' ', h.head || 'RESET (' || r.options || ');', h.head || 'SET (' || s.options || ');'), '')
      FROM pg_class c
      JOIN (VALUES ('r'::"char", 'TABLE'), ('m', 'MATERIALIZED VIEW'), ('i', 'INDEX')) k(kind, word)
           ON k.kind = c.relkind
     CROSS JOIN LATERAL (SELECT format('ALTER %s %s ', k.word, ff_internal.qualified_name(c.oid))) h(head)
     CROSS JOIN (SELECT string_agg(ff_internal.quoted_name(r), ', ') FROM unnest(to_reset) r) r(options)
     -- a plain integer is stored as written, anything else only as a literal
     CROSS JOIN (SELECT string_agg(ff_internal.quoted_name(split_part(s, '=', 1)) || ' = '
                                   || CASE WHEN s ~ '^[^=]*=(0|[1-9][0-9]{0,8})$' THEN v.value
                                           ELSE ff_internal.quoted_text(v.value) END, ', ')
                   FROM unnest(to_set) s CROSS JOIN LATERAL (SELECT substr(s, strpos(s, '=') + 1)) v(value)) s(options)
     WHERE c.oid = relation);
END
$$;

-- The statements that turn new_options back into old_options, text for text. kind NULL: all; fillfactor, or options
-- (all others): only those that differ, which keeps later changes by others.
CREATE FUNCTION ff_internal.restore_options(
    relation oid, old_options text[], new_options text[], kind text DEFAULT NULL) RETURNS text
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    -- keeps its plan
    RETURN (
    WITH old AS (
        SELECT *, split_part(o.option, '=', 1) AS name FROM unnest(old_options) WITH ORDINALITY o(option, place)
    ), new AS (
        SELECT *, split_part(n.option, '=', 1) AS name FROM unnest(new_options) WITH ORDINALITY n(option, place)
    ), kept AS (
        -- the longest prefix that comes out right if everything after it is set again
        SELECT coalesce(max(g.place), 0) AS place
          FROM old g
         WHERE old_options[:g.place] = ARRAY(
                   SELECT n.option FROM new n
                    WHERE n.name IN (SELECT o.name FROM old o WHERE o.place <= g.place) ORDER BY n.place)
    ), wanted AS (
        SELECT o.name, o.option, o.place
          FROM old o, kept k
         WHERE CASE WHEN kind IS NULL THEN o.place > k.place ELSE o.option NOT IN (SELECT n.option FROM new n) END
        UNION ALL
        SELECT n.name, NULL, n.place FROM new n WHERE n.name NOT IN (SELECT o.name FROM old o)
    )
    SELECT ff_internal.alter_options(relation, array_agg(w.option ORDER BY w.place) FILTER (WHERE w.option IS NOT NULL),
                                     array_agg(w.name ORDER BY w.place) FILTER (WHERE w.option IS NULL))
      FROM wanted w
     -- the history may hold anything; valid option names look like this
     WHERE w.name ~ '^[A-Za-z_][A-Za-z0-9_]*$' AND (kind IS NULL OR (w.name = 'fillfactor') = (kind = 'fillfactor')));
END
$$;

-- Turns a JSON array of strings into a text[]; NULL for null.
CREATE FUNCTION ff_internal.text_array(elements jsonb) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN jsonb_typeof(elements) = 'array' THEN ARRAY(SELECT jsonb_array_elements_text(elements)) END;

-- The statement that drops an index; NULL: a constraint needs it, or it is gone.
CREATE FUNCTION ff_internal.drop_index(index oid) RETURNS text
LANGUAGE sql STABLE
RETURN (SELECT 'DROP INDEX CONCURRENTLY ' || ff_internal.qualified_name(index) || ';'
          FROM pg_class c
         WHERE c.oid = index AND c.relkind = 'i'
           AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = index AND k.contype IN ('p', 'u', 'x')));
