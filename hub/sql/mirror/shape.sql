-- The statements that make a mirror's tables and indexes and follow changes of the source. They are made of the shapes
-- that the source sent, never of definitions: names are quoted, types are looked up here, anything else is a number or
-- one of a few words. An index's expressions and predicate become plain columns.

-- The columns of a table's shape. from_columns: numbers of the columns from which this one is generated. definition:
-- for CREATE TABLE. A type of the server itself is kept; instead of all others, text. A generated column depends on the
-- same columns as on the source, and is always null.
CREATE FUNCTION ff_hub.columns_of(
    shape jsonb, OUT number integer, OUT name text, OUT type text, OUT from_columns integer[], OUT definition text)
RETURNS SETOF record
LANGUAGE sql STABLE
AS $$
    WITH c AS (
        SELECT x.number, x.name, 'pg_catalog.' || coalesce(quote_ident(t.typname), 'text') AS type,
               x."from" AS from_columns
          FROM jsonb_to_recordset(shape->'columns') x(number integer, name text, type text, "from" integer[])
          LEFT JOIN pg_type t ON t.typnamespace = 'pg_catalog'::regnamespace AND t.typname = x.type
                             AND t.typtype IN ('b', 'r', 'm') AND t.typisdefined
    )
    SELECT c.*, format('%I %s', c.name, c.type) || CASE WHEN c.from_columns IS NULL THEN '' ELSE
               format(' GENERATED ALWAYS AS (CASE WHEN %s THEN NULL::%s END) STORED', coalesce((
                   SELECT string_agg(format('%I IS NULL', f.name), ' AND ' ORDER BY f.number)
                     FROM c f WHERE f.number = ANY (c.from_columns) AND f.from_columns IS NULL), 'true'), c.type) END
      FROM c ORDER BY c.number
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
                                       (array_agg(c.name ORDER BY c.number) FILTER (WHERE c.from_columns IS NULL))[1])
                           END)
      FROM ff_hub.columns_of(shape) c
$$;

-- The statements that change a table's columns from one shape to another. Only a generated one is made again, if it
-- differs or one that it is made of gets another type: there are 1,600 numbers, and a dropped column keeps its own. One
-- that gets another name gets a spare one before: two may swap theirs.
CREATE FUNCTION ff_hub.column_statements(name text, was jsonb, shape jsonb) RETURNS text[]
LANGUAGE sql VOLATILE
AS $$
    WITH c AS MATERIALIZED (
        SELECT number, o.name AS old, n.name AS new, n.type, n.definition, n.from_columns, o.type <> n.type AS retyped,
               o.from_columns IS NOT NULL AS generated, o.from_columns IS DISTINCT FROM n.from_columns AS differs,
               'mirror renames ' || gen_random_uuid() AS spare
          FROM ff_hub.columns_of(was) o FULL JOIN ff_hub.columns_of(shape) n USING (number)
    ), d AS (
        SELECT c.*, c.differs OR c.generated AND EXISTS (
                        SELECT FROM c r WHERE r.retyped AND r.number = ANY (c.from_columns || c.number)) AS again
          FROM c
    )
    SELECT coalesce(array_agg(format('ALTER TABLE %s ', name) || s.step ORDER BY s.place), '{}')
      FROM (SELECT 1, string_agg(CASE WHEN d.again OR d.new IS NULL THEN format('DROP COLUMN %I', d.old)
                                      ELSE format('ALTER COLUMN %I TYPE %s USING NULL', d.old, d.type) END,
                                 ', ' ORDER BY d.generated DESC, d.number)
              FROM d WHERE d.old IS NOT NULL AND (d.again OR d.new IS NULL OR d.retyped)
            UNION ALL
            SELECT n.place, format('RENAME COLUMN %I TO %I', n.was, n.name)
              FROM d CROSS JOIN LATERAL (VALUES (2, d.old, d.spare), (3, d.spare, d.new)) n(place, was, name)
             WHERE NOT d.again AND d.old <> d.new
            UNION ALL
            SELECT 4, string_agg('ADD COLUMN ' || d.definition, ', ' ORDER BY d.from_columns IS NOT NULL, d.number)
              FROM d WHERE d.new IS NOT NULL AND (d.again OR d.old IS NULL)) s(place, step)
     WHERE s.step IS NOT NULL
$$;

-- Ways to make an index, the best first: the source's access method on the columns; a B-tree on them; a key that
-- depends on them. BRIN stays BRIN, because it may leave updates HOT. An index has at most 32 columns.
CREATE FUNCTION ff_hub.index_statements(name text, of_table jsonb, shape jsonb) RETURNS SETOF text
LANGUAGE sql STABLE
AS $$
    WITH used AS (
        SELECT c.name, k.place, k.included
          FROM (SELECT u.number, min(u.place) AS place, bool_and(u.included) AS included
                  FROM (SELECT k.n, k.place, false
                          FROM jsonb_array_elements_text(shape->'keys') WITH ORDINALITY k(n, place)
                        UNION ALL
                        SELECT k.n, 100 + k.place, false
                          FROM jsonb_array_elements_text(shape->'uses') WITH ORDINALITY k(n, place)
                        UNION ALL
                        -- of the whole row
                        SELECT c.number::text, 1000 + c.number, false FROM ff_hub.columns_of(of_table) c
                         WHERE shape->'uses' = '[]' AND coalesce(shape->'keys', '[]') = '[]'
                        UNION ALL
                        SELECT k.n, 10000 + k.place, true
                          FROM jsonb_array_elements_text(shape->'include') WITH ORDINALITY k(n, place)
                       ) u(number, place, included) GROUP BY u.number) k
          JOIN ff_hub.columns_of(of_table) c ON c.number::text = k.number
         ORDER BY k.place LIMIT 32
    ), parts AS (
        SELECT string_agg(format('%I', u.name), ', ' ORDER BY u.place) FILTER (WHERE NOT u.included) AS keys,
               coalesce(string_agg(format('((%I IS NULL)::integer)', u.name), ', ' ORDER BY u.place)
                            FILTER (WHERE NOT u.included), '(true)') AS tests,
               format(' INCLUDE (%s)', string_agg(format('%I', u.name), ', ' ORDER BY u.place)
                   FILTER (WHERE u.included)) AS includes,
               bool_or(u.included) AS has_includes,
               CASE WHEN (shape->>'unique')::boolean THEN 'UNIQUE ' END AS uniqueness,
               (SELECT a.amname FROM pg_am a WHERE a.amname = shape->>'access_method' AND a.amtype = 'i') AS method
          FROM used u
    )
    SELECT w.statement
      FROM parts p
     CROSS JOIN LATERAL (SELECT CASE WHEN p.has_includes THEN p.includes END) i(includes)
     CROSS JOIN LATERAL (VALUES
           (1, format('ALTER TABLE %s ADD CONSTRAINT %I %s (%s)%s', name, shape->>'name',
                      CASE shape->>'constraint' WHEN 'p' THEN 'PRIMARY KEY' WHEN 'u' THEN 'UNIQUE' END, p.keys,
                      i.includes)),
           (2, CASE WHEN p.method IS NOT NULL THEN format('CREATE %sINDEX %I ON %s USING %I (%s)%s',
                        CASE WHEN p.method = 'btree' THEN p.uniqueness END, shape->>'name', name, p.method, p.keys,
                        i.includes) END),
           (3, CASE WHEN p.method IS DISTINCT FROM 'brin' THEN format('CREATE %sINDEX %I ON %s (%s)%s',
                        p.uniqueness, shape->>'name', name, p.keys, i.includes) END),
           (4, format('CREATE INDEX %I ON %s USING %s (%s)', shape->>'name', name,
                      CASE p.method WHEN 'brin' THEN 'brin' ELSE 'btree' END, p.tests))) w(place, statement)
     WHERE w.statement IS NOT NULL AND (w.place > 1 OR shape->>'constraint' IN ('p', 'u'))
     ORDER BY w.place
$$;
