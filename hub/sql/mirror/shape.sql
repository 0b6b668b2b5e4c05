-- The statements that make a mirror's tables and indexes and follow changes of the source. They are made of the shapes
-- that the source sent, never of definitions: names are quoted, types are looked up here, anything else is a number or
-- one of a few words. An index's expressions and predicate become plain columns, and so do generated columns.

-- The columns of a table's shape. definition: for CREATE TABLE. A type of the server itself is kept; instead of all
-- others, text.
CREATE FUNCTION ff_hub.columns_of(shape jsonb, OUT number integer, OUT name text, OUT definition text)
RETURNS SETOF record
LANGUAGE sql STABLE
AS $$
    SELECT x.number, x.name, format('%I pg_catalog.%s', x.name, coalesce(quote_ident(t.typname), 'text'))
      FROM jsonb_to_recordset(shape->'columns') x(number integer, name text, type text)
      LEFT JOIN pg_type t ON t.typnamespace = 'pg_catalog'::regnamespace AND t.typname = x.type
                         AND t.typtype IN ('b', 'r', 'm') AND t.typisdefined
     ORDER BY x.number
$$;

-- The statements that make a schema that is not here, for readers, too.
CREATE FUNCTION ff_hub.schema_statements(name text) RETURNS text[]
LANGUAGE sql STABLE
RETURN CASE WHEN to_regnamespace(quote_ident(name)) IS NULL
            THEN ARRAY[format('CREATE SCHEMA %I', name), format('GRANT USAGE ON SCHEMA %I TO pg_read_all_stats', name)]
            ELSE '{}' END;

-- The statements that make a table. Its constraint refuses rows and marks it as a mirror's. Bounds of partitions are
-- not copied: the key of a partitioned table is whether a column is null, and attach_all() invents bounds.
CREATE FUNCTION ff_hub.table_statements(shape jsonb) RETURNS text[]
LANGUAGE sql STABLE
AS $$
    SELECT ff_hub.schema_statements(shape->>'schema')
           || format('CREATE %s TABLE %I.%I (%s)%s',
                      CASE WHEN (shape->>'unlogged')::boolean AND shape->>'kind' <> 'p' THEN 'UNLOGGED' END,
                      shape->>'schema', shape->>'name',
                      concat_ws(', ', string_agg(c.definition, ', ' ORDER BY c.number),
                                'CONSTRAINT mirror_holds_no_rows CHECK (false)'),
                      CASE WHEN shape->>'kind' = 'p'
                           THEN format(' PARTITION BY LIST (((%I IS NULL)::integer::bigint))',
                                       (array_agg(c.name ORDER BY c.number))[1]) END)
      FROM ff_hub.columns_of(shape) c
$$;

-- The statement that changes a table's columns from one shape to another, NULL if there is none. A column with another
-- name or type is made again.
CREATE FUNCTION ff_hub.column_statement(name text, was jsonb, shape jsonb) RETURNS text
LANGUAGE sql STABLE
AS $$
    SELECT format('ALTER TABLE %s ', column_statement.name) || string_agg(s.step, ', ' ORDER BY n.number)
      FROM ff_hub.columns_of(was) o FULL JOIN ff_hub.columns_of(shape) n USING (name)
     CROSS JOIN LATERAL (VALUES ('DROP COLUMN ' || quote_ident(o.name)), ('ADD COLUMN ' || n.definition)) s(step)
     WHERE o.definition IS DISTINCT FROM n.definition
$$;

-- Ways to make an index, the best first: with the source's constraint; with its access method on the columns; a B-tree
-- on them; a key that depends on them. BRIN stays BRIN, because it may leave updates HOT. An index has at most 32
-- columns.
CREATE FUNCTION ff_hub.index_statements(name text, of_table jsonb, shape jsonb) RETURNS SETOF text
LANGUAGE sql STABLE
AS $$
    WITH used AS (
        SELECT c.name, min(k.place) AS place, min(k.place) > jsonb_array_length(shape->'columns') AS included
          FROM jsonb_array_elements_text((shape->'columns') || (shape->'include')) WITH ORDINALITY k(number, place)
          JOIN ff_hub.columns_of(of_table) c ON c.number::text = k.number
         GROUP BY c.name ORDER BY 2 LIMIT 32
    ), part AS (
        SELECT string_agg(quote_ident(u.name), ', ' ORDER BY u.place) FILTER (WHERE NOT u.included) AS keys,
               coalesce(string_agg(format('((%I IS NULL)::integer)', u.name), ', ' ORDER BY u.place)
                            FILTER (WHERE NOT u.included), '(true)') AS tests,
               string_agg(quote_ident(u.name), ', ' ORDER BY u.place) FILTER (WHERE u.included) AS included,
               coalesce((SELECT a.amname FROM pg_am a WHERE a.amname = shape->>'access_method' AND a.amtype = 'i'),
                        'btree') AS method
          FROM used u
    )
    SELECT coalesce(format('ALTER TABLE %s ADD CONSTRAINT %I ', name, shape->>'name') || w.kind,
                    format('CREATE %sINDEX %I ON %s USING %I',
                           CASE WHEN w.method = 'btree' AND (shape->>'unique')::boolean THEN 'UNIQUE ' END,
                           shape->>'name', name, w.method))
           || format(' (%s)', w.keys) || coalesce(' INCLUDE (' || w.included || ')', '')
      FROM part p
     CROSS JOIN LATERAL (VALUES
           (1, CASE shape->>'constraint' WHEN 'p' THEN 'PRIMARY KEY' WHEN 'u' THEN 'UNIQUE' END, NULL, p.keys,
            p.included),
           (2, NULL, p.method, p.keys, p.included),
           (3, NULL, CASE WHEN p.method <> 'brin' THEN 'btree' END, p.keys, p.included),
           (4, NULL, CASE p.method WHEN 'brin' THEN 'brin' ELSE 'btree' END, p.tests, NULL)
           ) w(place, kind, method, keys, included)
     WHERE coalesce(w.kind, w.method) IS NOT NULL AND w.keys IS NOT NULL
     ORDER BY w.place
$$;
