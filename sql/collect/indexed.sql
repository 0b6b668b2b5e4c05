-- The columns whose change keeps an update from being HOT, and how many updates change them.

-- Whether updates of a column in such an index may be HOT on a server of this version: BRIN, from PostgreSQL 16 on.
-- NULL: no index access method.
CREATE FUNCTION ff_internal.summarizing(access_method oid, server_version integer) RETURNS boolean
LANGUAGE c STRICT STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'ff_summarizing';

-- Returns the columns whose change makes an update touch this index, and their roles: key, include, expression,
-- predicate, whole row. Evaluates nothing: pg_depend has the columns of expressions and predicate; an expression
-- without any is taken for a whole row.
CREATE FUNCTION ff_internal.index_columns(index oid, OUT attnum smallint, OUT column_name name, OUT role text)
RETURNS SETOF record
LANGUAGE sql STABLE ROWS 4
BEGIN ATOMIC
    SELECT a.attnum, a.attname, CASE
           WHEN a.attnum = ANY (x.indkey)
               -- indkey counts from 0
               THEN CASE WHEN array_position(x.indkey::int2[], a.attnum) < x.indnkeyatts THEN 'key' ELSE 'include' END
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

-- Returns the enabled triggers that may change a row before it is updated, and the columns that they do change: those
-- that the text of a function assigns at the start of a statement (NEW.a := ...), or the first argument of a function
-- in C, if it is a column, as in moddatetime(a). fired_by: UPDATE OF these; NULL: any. changes: NULL: none is known.
-- hub/observe.sql has the same for a mirror.
CREATE FUNCTION ff_internal.update_triggers(relation oid, OUT name name, OUT fired_by int2[], OUT changes text[])
RETURNS SETOF record
LANGUAGE sql STABLE ROWS 1
BEGIN ATOMIC
    SELECT t.tgname, CASE WHEN cardinality(t.tgattr::int2[]) > 0 THEN t.tgattr::int2[] END,
           (SELECT array_agg(DISTINCT a.attname::text)
              FROM (SELECT CASE WHEN m.match[2] ~ '^"' THEN replace(trim(BOTH '"' FROM m.match[2]), '""', '"')
                                ELSE lower(m.match[2]) END
                      FROM regexp_matches(regexp_replace(regexp_replace(p.prosrc, '--[^\n]*', ' ', 'g'),
                                                         '/\*.*?\*/', ' ', 'g'),
                               '(^|;|\m(?:begin|then|else|loop)\M)\s*new\s*\.\s*("[^"]+"|[\w$]+)\s*:?=', 'gi') m(match)
                     WHERE l.lanname NOT IN ('c', 'internal')
                    UNION ALL
                    SELECT split_part(encode(t.tgargs, 'escape'), '\000', 1)
                     WHERE l.lanname IN ('c', 'internal')) c(name)
              JOIN pg_attribute a ON a.attrelid = relation AND a.attname = c.name AND a.attnum > 0)
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

-- Returns the columns that an UPDATE of these changes, those that triggers change then, and the stored generated
-- columns that depend on them; NULL: unknown.
CREATE FUNCTION ff_internal.changed_columns(relation oid, columns text[]) RETURNS text[]
LANGUAGE plpgsql STABLE STRICT
AS $$
BEGIN
    columns := columns || coalesce(
        (SELECT array_agg(c.name)
           FROM ff_internal.update_triggers(relation) t
          CROSS JOIN LATERAL unnest(t.changes) c(name)
          WHERE t.fired_by IS NULL
             OR EXISTS (SELECT FROM pg_attribute a
                         WHERE a.attrelid = relation AND a.attnum = ANY (t.fired_by) AND a.attname = ANY (columns))),
        '{}');
    RETURN ARRAY(
    SELECT DISTINCT c.name
      FROM (SELECT unnest(columns) AS name
            UNION ALL
            SELECT g.attname::text
              FROM pg_attribute g
              JOIN pg_attrdef e ON e.adrelid = g.attrelid AND e.adnum = g.attnum
              JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = g.attrelid
                              AND d.refobjsubid > 0 AND d.refobjsubid <> g.attnum
                              AND (d.classid = 'pg_attrdef'::regclass AND d.objid = e.oid
                                   OR d.classid = 'pg_class'::regclass AND d.objid = g.attrelid
                                      AND d.objsubid = g.attnum)
              JOIN pg_attribute b ON b.attrelid = g.attrelid AND b.attnum = d.refobjsubid
             WHERE g.attrelid = relation AND g.attgenerated = 's' AND b.attname = ANY (columns)) c
     ORDER BY c.name);
END
$$;

-- Columns (attnum, sorted): an UPDATE that changes one cannot be HOT because of these indexes; empty: none.
CREATE FUNCTION ff_internal.blocking_columns(indexes oid[]) RETURNS smallint[]
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    RETURN ARRAY(SELECT DISTINCT k.attnum
                   FROM ff_internal.server s, pg_class c
                  CROSS JOIN LATERAL ff_internal.index_columns(c.oid) k
                  WHERE c.oid = ANY (indexes) AND NOT ff_internal.summarizing(c.relam, s.server_version)
                  ORDER BY 1);
END
$$;

-- Names of these columns, for all indexes of a table.
CREATE FUNCTION ff_internal.indexed_columns(relation oid) RETURNS text[]
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    RETURN ARRAY(SELECT a.attname::text
                   FROM unnest(ff_internal.blocking_columns(ARRAY(
                            SELECT i.indexrelid FROM pg_index i WHERE i.indrelid = relation AND i.indislive))) k
                   JOIN pg_attribute a ON a.attrelid = relation AND a.attnum = k
                  ORDER BY 1);
END
$$;

-- The tables that a name without a schema may mean: those of the name with all of these columns, one per tenant, say.
-- Empty if one of that name is temporary, which hides them.
CREATE FUNCTION ff_internal.tables_named(relation_name text, columns text[]) RETURNS oid[]
LANGUAGE sql STABLE
RETURN (SELECT coalesce(array_agg(c.oid) FILTER (WHERE c.fits), '{}')
          FROM (SELECT t.oid, t.relpersistence = 't' AS hides,
                       coalesce(columns <@ ARRAY(SELECT a.attname::text FROM pg_attribute a
                                                  WHERE a.attrelid = t.oid AND NOT a.attisdropped), true) AS fits
                  FROM pg_class t WHERE t.relname = relation_name AND t.relkind IN ('r', 'p')) c
        HAVING bool_or(c.hides) IS NOT TRUE);

-- The targets of statements that write a table, under its name or that of a partitioned table above it. part: of what a
-- statement did, that of the table so named; statements that count for several are divided by the rows that each had
-- written since a time, NULL: ever.
CREATE FUNCTION ff_internal.targets_of(
    relation oid, since timestamptz, OUT target ff_internal.statement_target, OUT part float8)
RETURNS SETOF record
LANGUAGE sql STABLE ROWS 10
BEGIN ATOMIC
    SELECT t, p.part
      FROM (SELECT relation UNION SELECT a.relid FROM pg_partition_ancestors(relation) a) n(oid)
      JOIN pg_class c ON c.oid = n.oid
      JOIN ff_internal.statement_target t ON t.relid = c.oid OR t.shared AND t.relation_name = c.relname
     CROSS JOIN LATERAL (SELECT CASE WHEN t.shared
                                     THEN ff_internal.tables_named(t.relation_name, t.columns) END OFFSET 0) s(tables)
     CROSS JOIN LATERAL (
           SELECT CASE WHEN c.oid = ANY (s.tables) AND cardinality(s.tables) > 1
                       THEN (SELECT sum(w.rows) FILTER (WHERE o.oid = c.oid) / nullif(sum(w.rows), 0)
                               FROM unnest(s.tables) o(oid)
                              CROSS JOIN LATERAL (SELECT o.oid UNION
                                                  SELECT q.relid FROM pg_partition_tree(o.oid) q) m(oid)
                               JOIN ff_internal.relation r ON r.relid = m.oid AND r.closed_at IS NULL
                               JOIN ff_internal.counter_interval i ON i.rel_id = r.rel_id
                              CROSS JOIN LATERAL (
                                    SELECT CASE t.command WHEN 'UPDATE' THEN i.updated WHEN 'DELETE' THEN i.deleted
                                                ELSE i.inserted END::float8) w(rows)
                              WHERE since IS NULL OR i.ended_at > since)
                       WHEN t.relid = c.oid OR c.oid = ANY (s.tables) THEN 1 END) p(part)
     WHERE p.part > 0;
END;

-- Returns the UPDATE statements of a table in the history since a time, and the columns that each changes (NULL:
-- unknown); of these, computed are not set to a given value, see statement_target. rows: for an UPDATE in a WITH query
-- those of the whole statement, because its own are unknown. seen_at: when it was first seen to have run.
CREATE FUNCTION ff_internal.updates_seen(
    relation oid, since timestamptz, OUT statement_id bigint, OUT how text, OUT columns text[], OUT computed text[],
    OUT calls numeric, OUT rows numeric, OUT began_at timestamptz, OUT seen_at timestamptz)
RETURNS SETOF record
LANGUAGE sql STABLE ROWS 10
BEGIN ATOMIC
    SELECT t.statement_id, t.how, c.columns,
           t.computed || ARRAY(SELECT unnest(c.columns) EXCEPT SELECT unnest(t.columns)),
           round(h.calls * o.part::numeric), round(h.rows * o.part::numeric), h.began_at, h.seen_at
      FROM ff_internal.targets_of(relation, since) o
     CROSS JOIN LATERAL (SELECT (o.target).*) t
     CROSS JOIN LATERAL (SELECT ff_internal.changed_columns(relation, t.columns) OFFSET 0) c(columns)
     CROSS JOIN LATERAL (SELECT sum(n.calls) AS calls, sum(n.rows) AS rows, min(n.began_at) AS began_at,
                                min(n.ended_at) AS seen_at
                           FROM ff_internal.statement_history n
                          WHERE n.statement_id = t.statement_id AND n.ended_at > since) h
     WHERE t.command = 'UPDATE' AND h.calls > 0;
END;

-- Columns that had one value in all rows when ANALYZE saw them last, and when that was (-infinity: never). columns:
-- NULL: unknown, as without SELECT on the table.
CREATE FUNCTION ff_internal.still_columns(relation oid, OUT columns text[], OUT analyzed_at timestamptz)
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT coalesce(
           (SELECT array_agg(a.name) FROM jsonb_array_elements_text(o.said->'still') a(name)),
           (SELECT coalesce(array_agg(s.attname::text ORDER BY s.attname)
                            FILTER (WHERE s.null_frac = 1 OR s.null_frac = 0 AND s.n_distinct = 1), '{}')
              FROM pg_class c
              JOIN pg_namespace n ON n.oid = c.relnamespace
              JOIN pg_stats s ON s.schemaname = n.nspname AND s.tablename = c.relname AND NOT s.inherited
             WHERE c.oid = relation HAVING count(*) > 0)),
           coalesce((o.said->>'analyzed_at')::timestamptz, greatest(pg_stat_get_last_analyze_time(relation),
                    pg_stat_get_last_autoanalyze_time(relation)), '-infinity')
      FROM (SELECT) one LEFT JOIN ff_internal.observed o ON o.kind = 'table' AND o.id = relation;
END;

-- Returns the columns of a table, how many updates samples compared in its pages, and how many of these changed each;
-- nothing if fewer than 30 (chosen).
CREATE FUNCTION ff_internal.changes_compared(relation oid, OUT name text, OUT changed float8, OUT compared float8)
RETURNS SETOF record
LANGUAGE sql STABLE ROWS 10
BEGIN ATOMIC
    SELECT a.attname::text, coalesce(s.counts[a.attnum + 1], 0), s.counts[1]
      FROM ff_internal.relation r
     CROSS JOIN LATERAL (SELECT p.changed_columns FROM ff_internal.page_sample p
                          WHERE p.rel_id = r.rel_id ORDER BY p.sampled_at DESC LIMIT 1) s(counts)
      JOIN pg_attribute a ON a.attrelid = r.relid AND a.attnum > 0 AND NOT a.attisdropped
     WHERE r.relid = relation AND r.closed_at IS NULL AND s.counts[1] >= 30;
END;

-- Returns the indexes that keep updates of a table from being HOT. seen: a statement in the lookback sets its columns;
-- without any such statement all are suspects, the primary key only if it is the only one. share: blocked updates that
-- set its columns, 0 to 1; alone: those that set no other index's; ids, parts: its statements and their share of the
-- blocked updates. still: true: statements set its columns, but do not change them,
-- and the others explain what was not HOT. Less than 2 % (chosen) of the updates compared in pages changed them; or, if
-- too few were compared, statements set a given value, and a later ANALYZE found one value in all rows. NULL: they set
-- a given value, but no ANALYZE says more.
CREATE FUNCTION ff_internal.blocking_indexes(relation oid)
RETURNS TABLE (indexrelid oid, summarizing boolean, seen boolean, share float8, alone float8,
               ids bigint[], parts float8[], still boolean, statements text[], columns text[], usage text)
LANGUAGE sql STABLE ROWS 10
AS $$
    WITH indexed AS MATERIALIZED (
        SELECT i.indexrelid, i.indisprimary,
               coalesce(ff_internal.summarizing(c.relam, s.server_version), false) AS summarizing,
               k.column_name::text AS name, k.role, p.changed < 0.02 * p.compared AS still
          FROM pg_index i
          JOIN pg_class c ON c.oid = i.indexrelid
         CROSS JOIN ff_internal.server s
         CROSS JOIN LATERAL ff_internal.index_columns(i.indexrelid) k
          LEFT JOIN ff_internal.changes_compared(relation) p ON p.name = k.column_name
         WHERE i.indrelid = relation AND i.indislive
    ), updating AS MATERIALIZED (
        SELECT u.statement_id, u.columns, u.computed, u.seen_at, coalesce(r.rows, u.calls)::float8 AS weight,
               format('%s, %s rows: %s', ff_internal.counted(u.calls::bigint, 'call'),
                      coalesce(r.rows::text, 'unknown'),
                      left(regexp_replace(s.text, '[[:cntrl:][:space:]]+', ' ', 'g'), 200)) AS example
          FROM ff_internal.updates_seen(relation, now() - ff_internal.lookback()) u
          JOIN ff_internal.statement s ON s.statement_id = u.statement_id AND s.closed_at IS NULL
         CROSS JOIN LATERAL (SELECT CASE WHEN u.how <> 'cte' THEN u.rows END) r(rows)
    ), touching AS MATERIALIZED (
        SELECT x.indexrelid, x.summarizing, u.statement_id, max(u.weight) AS weight, max(u.example) AS example,
               CASE WHEN bool_or(NOT g.still) THEN false WHEN count(*) = count(g.still) THEN true END AS still
          FROM indexed x
          JOIN updating u ON x.name = ANY (u.columns)
         CROSS JOIN ff_internal.still_columns(relation) v
         CROSS JOIN LATERAL (SELECT CASE WHEN x.still IS NOT NULL THEN x.still
                                         WHEN x.name = ANY (u.computed) THEN false
                                         WHEN v.analyzed_at > u.seen_at THEN x.name = ANY (v.columns) END) g(still)
         GROUP BY x.indexrelid, x.summarizing, u.statement_id
    ), judged AS MATERIALIZED (
        SELECT t.*, b.blocks, count(*) FILTER (WHERE b.blocks) OVER (PARTITION BY t.statement_id) AS in_the_way
          FROM touching t
         CROSS JOIN (SELECT (SELECT coalesce(sum(u.weight), 0) FROM updating u
                              WHERE EXISTS (SELECT FROM touching o WHERE o.statement_id = u.statement_id
                                               AND NOT o.summarizing AND o.still IS NOT TRUE))
                            >= ff_internal.threshold('EXPLAINED')
                               * sum(i.updated - i.hot_updated - coalesce(i.newpage_updated, 0))
                       FROM ff_internal.relation r
                       JOIN ff_internal.counter_interval i ON i.rel_id = r.rel_id
                      WHERE r.relid = relation AND r.closed_at IS NULL
                        AND i.ended_at > now() - ff_internal.lookback()) f(fits)
         CROSS JOIN LATERAL (SELECT NOT t.summarizing AND (t.still AND f.fits) IS NOT TRUE) b(blocks)
    ), found AS (
        SELECT t.indexrelid, t.summarizing, true AS seen, coalesce(sum(p.part), 0) AS share,
               coalesce(sum(p.part) FILTER (WHERE t.in_the_way = 1), 0) AS alone,
               array_agg(t.statement_id) AS ids, array_agg(coalesce(p.part, 0)) AS parts,
               CASE WHEN NOT bool_or(t.blocks OR t.summarizing) THEN true
                    WHEN NOT bool_or(t.still IS NULL AND t.in_the_way > 1) THEN false END AS still,
               (array_agg(t.example ORDER BY t.weight DESC, t.statement_id))[1:5] AS statements
          FROM judged t
         CROSS JOIN (SELECT nullif(sum(q.weight / q.in_the_way), 0) FROM judged q WHERE q.blocks) w(weight)
         CROSS JOIN LATERAL (SELECT CASE WHEN t.blocks THEN t.weight / w.weight END) p(part)
         GROUP BY t.indexrelid, t.summarizing
        UNION ALL
        SELECT x.indexrelid, false, false, c.share, c.share, NULL, NULL, false, NULL
          FROM indexed x
         CROSS JOIN (SELECT CASE WHEN count(DISTINCT o.indexrelid) FILTER (WHERE NOT o.indisprimary) <= 1 THEN 1 END,
                            bool_and(o.indisprimary)
                       FROM indexed o WHERE NOT o.summarizing AND o.still IS NOT TRUE) c(share, primary_only)
         WHERE NOT x.summarizing AND x.still IS NOT TRUE AND x.indisprimary = c.primary_only
           AND NOT EXISTS (SELECT FROM touching t WHERE NOT t.summarizing)
         GROUP BY x.indexrelid, c.share
    )
    SELECT f.*, c.columns, c.usage
      FROM found f
     CROSS JOIN LATERAL (
           SELECT array_agg(DISTINCT x.name ORDER BY x.name) AS columns, string_agg(DISTINCT x.role, ', ') AS usage
             FROM indexed x
            WHERE x.indexrelid = f.indexrelid
              AND CASE WHEN f.seen THEN EXISTS (SELECT FROM updating u WHERE x.name = ANY (u.columns))
                       ELSE x.still IS NOT TRUE END) c
$$;

-- Names the BEFORE UPDATE triggers, and the indexed columns (no primary key) that not every statement since a time
-- sets, so a trigger may. NULL: no trigger, or no such column.
CREATE FUNCTION ff_internal.trigger_words(relation oid, since timestamptz) RETURNS text
LANGUAGE sql STABLE
AS $$
    SELECT format('%s %s may change %s where no statement does', CASE WHEN t.n = 1 THEN 'trigger' ELSE 'triggers' END,
                  t.names, string_agg(quote_ident(c.name), ', ' ORDER BY c.name))
      FROM (SELECT count(*) AS n, string_agg(quote_ident(g.name), ', ' ORDER BY g.name) AS names
              FROM ff_internal.update_triggers($1) g HAVING count(*) > 0) t
     CROSS JOIN unnest(ff_internal.indexed_columns($1)) c(name)
     WHERE (SELECT bool_and(c.name = ANY (u.columns)) FROM ff_internal.updates_seen($1, since) u) IS NOT TRUE
       AND NOT EXISTS (SELECT FROM pg_index i
                         JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
                        WHERE i.indrelid = $1 AND i.indisprimary AND a.attname = c.name)
     GROUP BY t.n, t.names
$$;

-- Names of these indexes, in this order, at most five; NULL: none.
CREATE FUNCTION ff_internal.five_names(indexes oid[]) RETURNS text
LANGUAGE sql STABLE
RETURN (SELECT string_agg(quote_ident(c.relname), ', ' ORDER BY x.place) FILTER (WHERE x.place <= 5)
               || CASE WHEN count(*) > 5 THEN format(' and %s more', count(*) - 5) ELSE '' END
          FROM unnest(indexes) WITH ORDINALITY x(id, place) JOIN pg_class c ON c.oid = x.id);

-- Names of the indexes that keep updates from being HOT, for a reason.
CREATE FUNCTION ff_internal.suspect_indexes(relation regclass) RETURNS text
LANGUAGE sql STABLE
RETURN (SELECT ff_internal.five_names(array_agg(i.indexrelid ORDER BY i.indisprimary, i.indisunique, c.relname))
          FROM ff_internal.blocking_indexes(relation) b
          JOIN pg_index i USING (indexrelid)
          JOIN pg_class c ON c.oid = b.indexrelid
         WHERE NOT b.summarizing AND b.still IS NOT TRUE);

-- Whether an index change affected which updates can be HOT: a statement sets a column that was indexed only before or
-- only after it. True if unknown: statements explain too few of the updates, or lack columns.
CREATE FUNCTION ff_internal.reblocks(c ff_internal.change) RETURNS boolean
LANGUAGE sql STABLE
AS $$
    SELECT c.indexed_columns IS NULL
        OR coalesce(bool_or(s.columns IS NULL OR s.columns && i.columns)
                    OR sum(s.rows) < ff_internal.threshold('EXPLAINED')
                       * (SELECT sum(i.updated) FROM ff_internal.counter_interval i
                           WHERE i.rel_id = c.rel_id AND i.ended_at > min(s.began_at)), true)
      FROM ff_internal.relation r
     CROSS JOIN LATERAL (SELECT * FROM ff_internal.updates_seen(r.relid, now() - ff_internal.lookback()) u
                          WHERE u.rows > 0) s
     CROSS JOIN LATERAL (SELECT ARRAY(SELECT a.attname::text FROM pg_attribute a
                                       WHERE a.attrelid = r.relid AND a.attnum = ANY (c.indexed_columns))) i(columns)
     WHERE r.rel_id = c.rel_id
$$;

CREATE VIEW ff_internal.last_change AS
SELECT c.rel_id, c.changed_at,
       -- the sample taken with the change still counts versions from before it
       coalesce((SELECT min(o.began_at) FROM ff_internal.collection o WHERE o.began_at > c.changed_at), 'infinity')
           AS samples_from
  FROM (SELECT h.rel_id, max(h.seen_at) AS changed_at
          FROM ff_internal.change h
         WHERE CASE h.kind WHEN 'fillfactor' THEN true
                           WHEN 'indexes' THEN h.indexed_columns IS DISTINCT FROM '{}' AND ff_internal.reblocks(h) END
         GROUP BY h.rel_id) c;
COMMENT ON VIEW ff_internal.last_change IS
'When a table''s fillfactor or the updates that its indexes keep from being HOT last changed (changed_at), and the '
'time from which on samples reflect that (samples_from).';
