
-- Stage indexed: the columns whose change makes an update touch an index, which
-- it then cannot do as HOT.

-- Whether an update of a column of such an index may be HOT on this server: BRIN, from PostgreSQL 16 on. NULL: no
-- index access method.
CREATE FUNCTION ff_internal.summarizing(access_method oid) RETURNS boolean
LANGUAGE c STRICT STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'ff_summarizing';

-- Columns whose change makes an update touch this index, and the role each plays: key, include, expression, predicate,
-- whole row. Internal.
CREATE FUNCTION ff_internal.index_columns(index oid, OUT attnum smallint, OUT column_name name, OUT role text) RETURNS SETOF record
LANGUAGE sql STABLE ROWS 4
SET search_path = pg_catalog, pg_temp
AS $$
    -- Columns written as such stand in indkey.  Those of expressions and of
    -- the predicate are known from the dependencies, so nothing is evaluated.
    WITH i AS (
        SELECT x.indexrelid, x.indrelid, x.indnkeyatts, x.indkey::int2[] AS keys,
               x.indexprs IS NOT NULL AS has_expressions, x.indpred IS NOT NULL AS has_predicate
          FROM pg_index x WHERE x.indexrelid = index
    ), written AS (
        SELECT i.indrelid, k.attnum, CASE WHEN min(k.n) <= min(i.indnkeyatts) THEN 'key' ELSE 'include' END AS role
          FROM i, unnest(i.keys) WITH ORDINALITY k(attnum, n)
         WHERE k.attnum > 0
         GROUP BY i.indrelid, k.attnum
    ), derived AS (
        SELECT DISTINCT i.indrelid, d.refobjsubid::int2 AS attnum,
               CASE WHEN i.has_expressions AND i.has_predicate THEN 'expression or predicate'
                    WHEN i.has_predicate THEN 'predicate' ELSE 'expression' END AS role
          FROM i
          JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid AND d.objsubid = 0
                          AND d.refclassid = 'pg_class'::regclass AND d.refobjid = i.indrelid AND d.refobjsubid > 0
         WHERE d.refobjsubid <> ALL (i.keys)
           AND (i.has_expressions OR i.has_predicate)
    ), whole AS (
        -- an expression without a column: of the whole row, for all that is known
        SELECT i.indrelid, a.attnum, 'whole row' AS role
          FROM i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum > 0 AND NOT a.attisdropped
         WHERE i.has_expressions AND NOT EXISTS (SELECT 1 FROM derived) AND NOT EXISTS (SELECT 1 FROM written)
    )
    SELECT a.attnum, a.attname, u.role
      FROM (SELECT * FROM written UNION ALL SELECT * FROM derived UNION ALL SELECT * FROM whole) u
      JOIN pg_attribute a ON a.attrelid = u.indrelid AND a.attnum = u.attnum
     ORDER BY a.attnum
$$;

-- The columns an UPDATE sets and the stored generated columns that follow from them. Internal.
CREATE FUNCTION ff_internal.changed_columns(relation oid, columns text[]) RETURNS text[]
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT array_agg(DISTINCT c.name ORDER BY c.name)
      FROM (SELECT unnest(columns) AS name
            UNION ALL
            SELECT g.attname::text
              FROM pg_attribute g
              JOIN pg_attrdef e ON e.adrelid = g.attrelid AND e.adnum = g.attnum
              JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = g.attrelid
                              AND d.refobjsubid > 0 AND d.refobjsubid <> g.attnum
                              AND (d.classid = 'pg_attrdef'::regclass AND d.objid = e.oid
                                   OR d.classid = 'pg_class'::regclass AND d.objid = g.attrelid AND d.objsubid = g.attnum)
              JOIN pg_attribute b ON b.attrelid = g.attrelid AND b.attnum = d.refobjsubid
             WHERE g.attrelid = relation AND g.attgenerated = 's' AND b.attname = ANY (columns)) c
$$;
