-- Statements that change or restore storage options (name=value, as in pg_class.reloptions) and indexes. In PL/pgSQL,
-- because it keeps plans.

-- A relation's quoted name with its schema, on one line; NULL: it is gone.
CREATE FUNCTION ff_internal.qualified_name(relation oid) RETURNS text
LANGUAGE plpgsql STABLE
AS $$
BEGIN
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
    RETURN (
    SELECT nullif(concat_ws(' ', h.head || 'RESET (' || r.options || ');', h.head || 'SET (' || s.options || ');'), '')
      FROM pg_class c
     CROSS JOIN LATERAL (SELECT 'ALTER ' || CASE c.relkind WHEN 'r' THEN 'TABLE ' WHEN 'm' THEN 'MATERIALIZED VIEW '
                                                           WHEN 'i' THEN 'INDEX ' END
                                || ff_internal.qualified_name(c.oid) || ' ') h(head)
     CROSS JOIN (SELECT string_agg(ff_internal.quoted_name(r), ', ') FROM unnest(to_reset) r) r(options)
     -- a plain integer is stored as written, anything else only as a literal
     CROSS JOIN (SELECT string_agg(ff_internal.quoted_name(s.name) || ' = ' || CASE
                            WHEN s.value ~ '^(0|[1-9][0-9]{0,8})$' THEN s.value
                            ELSE ff_internal.quoted_text(s.value) END, ', ')
                   FROM pg_options_to_table(to_set) s(name, value)) s(options)
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
    RETURN (
    WITH wanted AS (
        SELECT split_part(o.option, '=', 1) AS name, o.option, o.place,
               -- an option that is set goes to the end, so all behind the first that differs, or is not in its place
               CASE WHEN kind IS NULL
                    THEN old_options[:o.place] <> ARRAY(
                             SELECT n.option FROM unnest(new_options) WITH ORDINALITY n(option, place)
                              WHERE split_part(n.option, '=', 1) IN (SELECT split_part(p, '=', 1)
                                                                       FROM unnest(old_options[:o.place]) p)
                              ORDER BY n.place)
                    ELSE (o.option = ANY (new_options)) IS NOT TRUE END AS wanted
          FROM unnest(old_options) WITH ORDINALITY o(option, place)
        UNION ALL
        SELECT n.name, NULL, x.place, true
          FROM unnest(new_options) WITH ORDINALITY x(option, place)
         CROSS JOIN split_part(x.option, '=', 1) n(name)
         WHERE n.name NOT IN (SELECT split_part(o, '=', 1) FROM unnest(old_options) o)
    )
    SELECT ff_internal.alter_options(relation, array_agg(w.option ORDER BY w.place) FILTER (WHERE w.option IS NOT NULL),
                                     array_agg(w.name ORDER BY w.place) FILTER (WHERE w.option IS NULL))
      FROM wanted w
     -- the history may hold anything; valid option names look like this
     WHERE w.wanted AND w.name ~ '^[A-Za-z_][A-Za-z0-9_]*$'
       AND (kind IS NULL OR (w.name = 'fillfactor') = (kind = 'fillfactor')));
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
          JOIN pg_index i ON i.indexrelid = c.oid
         WHERE c.oid = index AND c.relkind = 'i'
           AND NOT EXISTS (SELECT FROM pg_constraint k
                            WHERE k.conrelid = i.indrelid AND k.conindid = index AND k.contype <> 'f'));
