-- The columns whose change keeps an update from being HOT, and how many updates change them.
-- Functions that all tables need are planned once a session (plan_cache_mode), not once a table.

-- Whether updates of a column in such an index may be HOT on this server (columns of view server): BRIN, from
-- PostgreSQL 16 on, or all. NULL: no index access method.
CREATE FUNCTION ff_internal.summarizing(access_method oid, server_version integer, hot_indexed boolean)
RETURNS boolean
LANGUAGE c STRICT STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'ff_summarizing';

-- The columns whose change makes an update touch this index. pg_depend has those of expressions and predicate; an
-- expression without any is taken for a whole row.
CREATE FUNCTION ff_internal.index_columns(index oid, OUT attnum smallint, OUT column_name name, OUT role text)
RETURNS SETOF record
LANGUAGE sql STABLE ROWS 4
BEGIN ATOMIC
    SELECT a.attnum, a.attname, CASE
           -- indkey counts from 0
           WHEN array_position(x.indkey::int2[], a.attnum) < x.indnkeyatts THEN 'key'
           WHEN a.attnum = ANY (x.indkey) THEN 'include'
           WHEN d.whole_row THEN 'whole row'
           WHEN x.indpred IS NULL THEN 'expression'
           WHEN x.indexprs IS NULL THEN 'predicate'
           ELSE 'expression or predicate' END
      FROM pg_index x
     -- OFFSET: evaluated once, not for each column of the table
     CROSS JOIN LATERAL (
           SELECT array_agg(d.refobjsubid), x.indexprs IS NOT NULL AND count(*) = 0 AND 0 = ALL (x.indkey)
             FROM pg_depend d
            WHERE d.classid = 'pg_class'::regclass AND d.objid = x.indexrelid AND d.objsubid = 0
              AND d.refclassid = 'pg_class'::regclass AND d.refobjid = x.indrelid
              AND d.refobjsubid > 0 OFFSET 0) d(named, whole_row)
      JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum > 0 AND NOT a.attisdropped
           AND (d.whole_row OR a.attnum = ANY (x.indkey) OR a.attnum = ANY (d.named))
     WHERE x.indexrelid = index
     ORDER BY a.attnum;
END;

-- The enabled triggers that may change a row before it is updated, and the columns that they do change: those that the
-- text of a function assigns (NEW.a := ...), or the first argument of a function in C, as in moddatetime(a). fired_by:
-- UPDATE OF these; NULL: any. changes: NULL: none is known. hub/observe.sql has the same for a mirror.
CREATE FUNCTION ff_internal.update_triggers(relation oid, OUT name name, OUT fired_by int2[], OUT changes text[])
RETURNS SETOF record
LANGUAGE sql STABLE ROWS 1
BEGIN ATOMIC
    SELECT t.tgname, CASE WHEN cardinality(t.tgattr::int2[]) > 0 THEN t.tgattr::int2[] END,
           (SELECT array_agg(DISTINCT a.attname::text)
              FROM regexp_matches(
                       CASE WHEN l.lanname IN ('c', 'internal')
                            THEN 'new."' || split_part(encode(t.tgargs, 'escape'), '\000', 1) || '"='
                            ELSE regexp_replace(regexp_replace(p.prosrc, '--[^\n]*', ' ', 'g'),
                                                '/\*.*?\*/', ' ', 'g') END,
                       '(^|;|\m(?:begin|then|else|loop)\M)\s*new\s*\.\s*("[^"]+"|[\w$]+)\s*:?=', 'gi') m(match)
              JOIN pg_attribute a ON a.attrelid = relation AND a.attnum > 0 AND a.attname =
                   CASE WHEN m.match[2] ~ '^"' THEN replace(trim(BOTH '"' FROM m.match[2]), '""', '"')
                        ELSE lower(m.match[2]) END)
      FROM pg_trigger t
      JOIN pg_proc p ON p.oid = t.tgfoid
      JOIN pg_language l ON l.oid = p.prolang
     -- for each row, before, on update
     WHERE t.tgrelid = relation AND t.tgtype & 19 = 19 AND t.tgenabled IN ('O', 'A') AND NOT t.tgisinternal
    UNION ALL
    SELECT g.name, (SELECT array_agg(a.attnum) FROM pg_attribute a
                     WHERE a.attrelid = relation AND a.attname = ANY (g.fired_by)), g.changes
      FROM ff_internal.observed o
     CROSS JOIN LATERAL jsonb_to_recordset(o.said->'triggers') g(name name, fired_by text[], changes text[])
     WHERE o.kind = 'table' AND o.id = relation;
END;

-- 1 if a table has such triggers, else 0: a number, as the model takes it.
CREATE FUNCTION ff_internal.has_triggers(relation oid) RETURNS float8
LANGUAGE sql STABLE
RETURN EXISTS (SELECT FROM ff_internal.update_triggers(relation))::integer;

-- These columns, those that triggers change if they are updated, and the stored generated columns that depend on them.
CREATE FUNCTION ff_internal.changed_columns(relation oid, columns text[]) RETURNS text[]
LANGUAGE plpgsql STABLE STRICT
SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    columns := columns || ARRAY(
        SELECT unnest(t.changes) FROM ff_internal.update_triggers(relation) t
         WHERE t.fired_by IS NULL
            OR EXISTS (SELECT FROM pg_attribute a
                        WHERE a.attrelid = relation AND a.attnum = ANY (t.fired_by) AND a.attname = ANY (columns)));
    RETURN ARRAY(
        SELECT unnest(columns)
        UNION
        SELECT g.attname::text
          FROM pg_attribute g
          JOIN pg_attrdef e ON e.adrelid = g.attrelid AND e.adnum = g.attnum
          -- of the column before PostgreSQL 16, later of its default
          JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = g.attrelid
               AND d.refobjsubid > 0 AND d.refobjsubid <> g.attnum
               AND (d.classid = 'pg_attrdef'::regclass AND d.objid = e.oid
                    OR d.classid = 'pg_class'::regclass AND d.objid = g.attrelid AND d.objsubid = g.attnum)
          JOIN pg_attribute b ON b.attrelid = g.attrelid AND b.attnum = d.refobjsubid
         WHERE g.attrelid = relation AND g.attgenerated = 's' AND b.attname = ANY (columns)
         ORDER BY 1);
END
$$;

-- Columns (attnum, sorted): an UPDATE that changes one cannot be HOT because of these indexes; empty: none.
CREATE FUNCTION ff_internal.blocking_columns(indexes oid[]) RETURNS smallint[]
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    RETURN ARRAY(SELECT DISTINCT k.attnum
                   FROM ff_internal.server s, pg_class c
                  CROSS JOIN LATERAL ff_internal.index_columns(c.oid) k
                  WHERE c.oid = ANY (indexes)
                    AND NOT ff_internal.summarizing(c.relam, s.server_version, s.hot_indexed)
                  ORDER BY 1);
END
$$;

-- Names of these columns, for all indexes of a table.
CREATE FUNCTION ff_internal.indexed_columns(relation oid) RETURNS text[]
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    RETURN ARRAY(SELECT a.attname::text
                   FROM unnest(ff_internal.blocking_columns(ARRAY(
                            SELECT i.indexrelid FROM pg_index i WHERE i.indrelid = relation AND i.indislive))) k
                   JOIN pg_attribute a ON a.attrelid = relation AND a.attnum = k
                  ORDER BY 1);
END
$$;

-- The tables that a name without a schema may mean: those of the name with all of these columns (NULL: any); none if
-- too many have it to weigh each against all others. NULL if one is temporary, which hides them.
CREATE FUNCTION ff_internal.tables_named(relation_name text, columns text[]) RETURNS oid[]
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    too_many CONSTANT integer := 50;  -- chosen: the work grows with its square
    named    CONSTANT oid[] := ARRAY(SELECT t.oid FROM pg_class t
                                      WHERE t.relname = relation_name AND t.relkind IN ('r', 'p') LIMIT too_many + 1);
BEGIN
    RETURN (SELECT coalesce(array_agg(t.oid) FILTER (WHERE columns IS NULL OR columns <@ ARRAY(
                       SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = t.oid AND NOT a.attisdropped)),
                   '{}')
              FROM pg_class t WHERE t.oid = ANY (named) AND cardinality(named) <= too_many
            HAVING bool_or(t.relpersistence = 't') IS NOT TRUE);
END
$$;

-- For the tables of each of these names, the part of what statements did to the name without a schema: of the rows that
-- the tables with these columns had written since a time, NULL: ever. Sums of intervals, because counters in relation
-- count from their last reset; made once for each table, whichever statements may mean it.
CREATE FUNCTION ff_internal.parts_of_named(names text[], since timestamptz) RETURNS SETOF ff_internal.named_part
LANGUAGE plpgsql STABLE ROWS 10
SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    RETURN QUERY
    WITH named AS MATERIALIZED (
        SELECT d.relation_name, d.columns, o.oid, cardinality(t.tables) AS tables
          FROM (SELECT DISTINCT g.relation_name, g.columns FROM ff_internal.statement_target g
                 WHERE g.shared AND g.relation_name = ANY (names) OFFSET 0) d
         CROSS JOIN LATERAL (SELECT ff_internal.tables_named(d.relation_name, d.columns) OFFSET 0) t(tables)
         CROSS JOIN unnest(t.tables) o(oid)
    ), wrote AS MATERIALIZED (
        SELECT n.oid, sum(i.inserted)::float8 AS inserted, sum(i.updated)::float8 AS updated,
               sum(i.deleted)::float8 AS deleted
          FROM (SELECT DISTINCT n.oid FROM named n WHERE n.tables > 1) n
         CROSS JOIN LATERAL ff_internal.with_children(n.oid) m(oid)
          JOIN ff_internal.relation r ON r.relid = m.oid AND r.closed_at IS NULL
          JOIN ff_internal.counter_interval i ON i.rel_id = r.rel_id
         WHERE since IS NULL OR i.ended_at > since
         GROUP BY n.oid
    )
    SELECT n.oid, n.columns,
           CASE WHEN n.tables = 1 THEN 1 ELSE coalesce(w.inserted / nullif(sum(w.inserted) OVER same, 0), 0) END,
           CASE WHEN n.tables = 1 THEN 1 ELSE coalesce(w.updated / nullif(sum(w.updated) OVER same, 0), 0) END,
           CASE WHEN n.tables = 1 THEN 1 ELSE coalesce(w.deleted / nullif(sum(w.deleted) OVER same, 0), 0) END
      FROM named n
      LEFT JOIN wrote w ON w.oid = n.oid
    WINDOW same AS (PARTITION BY n.relation_name, n.columns);
END
$$;

-- The same by table, for these tables or all (NULL): what targets_of() needs of many tables, found in one pass. Those
-- whose name and partitioned tables' names are theirs alone have no row.
CREATE FUNCTION ff_internal.parts_of_tables(
    relations regclass[], since timestamptz, OUT relid oid, OUT parts ff_internal.named_part[])
RETURNS SETOF record
LANGUAGE sql STABLE ROWS 1000
BEGIN ATOMIC
    SELECT m.oid, array_agg(p)
      FROM ff_internal.parts_of_named(ARRAY(
               SELECT c.relname FROM pg_class c
                WHERE c.relkind IN ('r', 'p')
                  AND (relations IS NULL OR c.relname = ANY (ARRAY(
                       SELECT o.relname FROM unnest(relations) r(oid)
                        CROSS JOIN LATERAL ff_internal.with_parents(r.oid) n(oid)
                         JOIN pg_class o ON o.oid = n.oid)))
                GROUP BY c.relname HAVING count(*) > 1), since) p
     CROSS JOIN LATERAL ff_internal.with_children(p.relid) m(oid)
     GROUP BY m.oid;
END;

-- Whether the statements that name a table explain its updates since a time, NULL: ever.
CREATE FUNCTION ff_internal.explains_itself(relation oid, since timestamptz) RETURNS boolean
LANGUAGE sql STABLE
RETURN (SELECT sum(h.rows) FROM ff_internal.statement_target t JOIN ff_internal.statement_history h USING (statement_id)
         WHERE t.relid = relation AND t.command = 'UPDATE' AND (since IS NULL OR h.ended_at > since))
       >= ff_internal.threshold('EXPLAINED')
          * (SELECT sum(i.updated) FROM ff_internal.relation r JOIN ff_internal.counter_interval i USING (rel_id)
              WHERE r.relid = relation AND r.closed_at IS NULL AND (since IS NULL OR i.ended_at > since)) IS TRUE;

-- The targets of statements that write a table, under its name or that of a table above it. part: of what a statement
-- did, that of the table so named; from these parts, see parts_of_tables(), or found here (NULL).
CREATE FUNCTION ff_internal.targets_of(
    relation oid, since timestamptz, parts ff_internal.named_part[] DEFAULT NULL,
    OUT target ff_internal.statement_target, OUT part float8)
RETURNS SETOF record
LANGUAGE sql STABLE ROWS 10
BEGIN ATOMIC
    SELECT t.target, t.part
      FROM ff_internal.with_parents(relation) n(oid)
      JOIN pg_class c ON c.oid = n.oid
     CROSS JOIN LATERAL (SELECT c.relname::text COLLATE "default",
                                ff_internal.tables_named(c.relname, NULL) OFFSET 0) w(name, tables)
     -- two lookups by index, and the names of none but these: there may be as many statements as tables
     CROSS JOIN LATERAL (
           SELECT o, 1 FROM ff_internal.statement_target o
            WHERE o.relid = c.oid AND NOT (o.shared AND w.tables IS NOT NULL AND o.relation_name = w.name)
           UNION ALL
           SELECT o, coalesce(CASE o.command WHEN 'UPDATE' THEN p.updated WHEN 'DELETE' THEN p.deleted
                                             ELSE p.inserted END, CASE WHEN o.relid = c.oid THEN 1 END)
             FROM (SELECT CASE WHEN cardinality(w.tables) > 1 AND parts IS NOT NULL THEN parts
                               ELSE ARRAY(SELECT p FROM ff_internal.parts_of_named(ARRAY[w.name], since) p) END
                    WHERE w.tables <> '{}' AND EXISTS (SELECT FROM ff_internal.statement_target d
                                                        WHERE d.shared AND d.relation_name = w.name) OFFSET 0) k(parts)
             JOIN ff_internal.statement_target o ON o.shared AND o.relation_name = w.name
             LEFT JOIN unnest(k.parts) p ON p.relid = c.oid AND p.columns IS NOT DISTINCT FROM o.columns)
           t(target, part)
     WHERE t.part > 0
       -- a partitioned table hands on all; another parent, which has rows of its own, what is not inserted
       AND (n.oid = relation OR c.relkind = 'p'
            OR (t.target).command IN ('UPDATE', 'DELETE') AND (t.target).how <> 'on_conflict'
               AND NOT ff_internal.explains_itself(relation, since));
END;

-- The UPDATE statements of a table since a time, and the columns that each changes (NULL: unknown); of these, computed
-- are not set to a given value, see statement_target. rows: for an UPDATE in a WITH query those of the whole statement,
-- because its own are unknown. seen_at: when it was first seen to have run. parts: as in targets_of().
CREATE FUNCTION ff_internal.updates_seen(
    relation oid, since timestamptz, parts ff_internal.named_part[] DEFAULT NULL,
    OUT statement_id bigint, OUT how text, OUT columns text[], OUT computed text[],
    OUT calls numeric, OUT rows numeric, OUT began_at timestamptz, OUT seen_at timestamptz)
RETURNS SETOF record
LANGUAGE sql STABLE ROWS 10
BEGIN ATOMIC
    SELECT t.statement_id, t.how, c.columns,
           t.computed || ARRAY(SELECT unnest(c.columns) EXCEPT SELECT unnest(t.columns)),
           round(h.calls * o.part::numeric), round(h.rows * o.part::numeric), h.began_at, h.seen_at
      FROM ff_internal.targets_of(relation, since, parts) o
     CROSS JOIN LATERAL (SELECT (o.target).*) t
     CROSS JOIN LATERAL (SELECT ff_internal.changed_columns(relation, t.columns) OFFSET 0) c(columns)
     CROSS JOIN LATERAL (SELECT sum(n.calls) AS calls, sum(n.rows) AS rows, min(n.began_at) AS began_at,
                                min(n.ended_at) AS seen_at
                           FROM ff_internal.statement_history n
                          WHERE n.statement_id = t.statement_id AND n.ended_at > since) h
     WHERE t.command = 'UPDATE' AND h.calls > 0;
END;

-- Whether an index change affected which updates can be HOT: a statement sets a column that was indexed only before or
-- only after it. True if unknown: statements explain too few of the updates, or lack columns.
CREATE FUNCTION ff_internal.reblocks(c ff_internal.change) RETURNS boolean
LANGUAGE sql STABLE
AS $$
    SELECT c.reindexed_columns IS NULL
        OR coalesce(bool_or(s.columns IS NULL OR s.columns && i.columns)
                    OR sum(s.rows) < ff_internal.threshold('EXPLAINED')
                       * (SELECT sum(i.updated) FROM ff_internal.counter_interval i
                           WHERE i.rel_id = c.rel_id AND i.ended_at > min(s.began_at)), true)
      FROM ff_internal.relation r
     CROSS JOIN LATERAL ff_internal.updates_seen(r.relid, now() - ff_internal.lookback()) s
     CROSS JOIN LATERAL (SELECT ARRAY(SELECT a.attname::text FROM pg_attribute a
                                       WHERE a.attrelid = r.relid AND a.attnum = ANY (c.reindexed_columns))) i(columns)
     WHERE r.rel_id = c.rel_id AND s.rows > 0
$$;

CREATE VIEW ff_internal.last_change AS
SELECT h.rel_id, max(h.seen_at) AS changed_at,
       -- the sample taken with the change still counts versions from before it
       coalesce((SELECT min(o.began_at) FROM ff_internal.collection o WHERE o.began_at > max(h.seen_at)), 'infinity')
           AS samples_from
  FROM ff_internal.change h
 WHERE CASE h.kind WHEN 'fillfactor' THEN true
                   WHEN 'indexes' THEN h.reindexed_columns IS DISTINCT FROM '{}'
                        -- before the lookback it changes nothing
                        AND (h.seen_at < now() - ff_internal.lookback() OR ff_internal.reblocks(h)) END
 GROUP BY h.rel_id;
COMMENT ON VIEW ff_internal.last_change IS
'When a table''s fillfactor or the updates that its indexes keep from being HOT last changed (changed_at), and the '
'time from which on samples reflect that (samples_from).';
