-- Which indexes keep updates from being HOT, and their names.

-- Columns that had one value in all rows when ANALYZE saw them last (NULL: unknown, as without SELECT on it), and when
-- that was (-infinity: never).
CREATE FUNCTION ff_internal.still_columns(relation oid, OUT columns text[], OUT analyzed_at timestamptz)
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT coalesce(ff_internal.text_array(o.said->'still'), (
           SELECT coalesce(array_agg(s.attname::text) FILTER (
                               WHERE s.null_frac = 1 OR s.null_frac = 0 AND s.n_distinct = 1), '{}')
             FROM pg_class c
             JOIN pg_namespace n ON n.oid = c.relnamespace
             JOIN pg_stats s ON s.schemaname = n.nspname AND s.tablename = c.relname AND NOT s.inherited
            WHERE c.oid = relation HAVING count(*) > 0)),
           coalesce((o.said->>'analyzed_at')::timestamptz,
                    greatest(pg_stat_get_last_analyze_time(relation), pg_stat_get_last_autoanalyze_time(relation)),
                    '-infinity')
      FROM (SELECT) one LEFT JOIN ff_internal.observed o ON o.kind = 'table' AND o.id = relation;
END;

-- Returns the columns of a table, and how many of the updates that samples compared in its pages changed each; nothing
-- if too few.
CREATE FUNCTION ff_internal.changes_compared(relation oid, OUT name text, OUT changed float8, OUT compared float8)
RETURNS SETOF record
LANGUAGE sql STABLE ROWS 10
BEGIN ATOMIC
    SELECT a.attname::text, coalesce(s.counts[a.attnum + 1], 0), s.counts[1]
      FROM ff_internal.relation r
     CROSS JOIN LATERAL (SELECT p.changed_columns FROM ff_internal.page_sample p
                          WHERE p.rel_id = r.rel_id ORDER BY p.sampled_at DESC LIMIT 1) s(counts)
      JOIN pg_attribute a ON a.attrelid = r.relid AND a.attnum > 0 AND NOT a.attisdropped
     WHERE r.relid = relation AND r.closed_at IS NULL AND s.counts[1] >= ff_internal.threshold('STAYED');
END;

-- Returns the indexes that keep updates of a table from being HOT. seen: a statement in the lookback sets its columns;
-- without any such statement all are suspects, the primary key only if it is the only one. share: blocked updates that
-- set its columns, 0 to 1; alone: those that set no other index's; ids, parts: its statements and their share of the
-- blocked updates. still: true: statements set its columns, but do not change them, and the others explain what was
-- not HOT. Less than 2 % (chosen) of the updates compared in pages changed them; or, if too few were compared,
-- statements set a given value, and a later ANALYZE found one value in all rows. NULL: they set a given value, but no
-- ANALYZE says more.
CREATE FUNCTION ff_internal.blocking_indexes(relation oid)
RETURNS TABLE (indexrelid oid, summarizing boolean, seen boolean, share float8, alone float8,
               ids bigint[], parts float8[], still boolean, statements text[], columns text[], usage text)
LANGUAGE sql STABLE ROWS 10
AS $$
    WITH indexed AS MATERIALIZED (
        SELECT i.indexrelid, i.indisprimary,
               coalesce(ff_internal.summarizing(c.relam, s.server_version, s.hot_indexed), false) AS summarizing,
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
         CROSS JOIN LATERAL (SELECT CASE WHEN x.still IS NOT NULL THEN x.still WHEN x.name = ANY (u.computed) THEN false
                                         WHEN v.analyzed_at > u.seen_at THEN x.name = ANY (v.columns) END) g(still)
         GROUP BY x.indexrelid, x.summarizing, u.statement_id
    ), others AS (
        SELECT (SELECT coalesce(sum(u.weight), 0) FROM updating u
                 WHERE u.statement_id IN (SELECT t.statement_id FROM touching t
                                           WHERE NOT t.summarizing AND t.still IS NOT TRUE))
               >= ff_internal.threshold('EXPLAINED')
                  * sum(i.updated - i.hot_updated - coalesce(i.newpage_updated, 0)) AS explain
          FROM ff_internal.relation r JOIN ff_internal.counter_interval i ON i.rel_id = r.rel_id
         WHERE r.relid = relation AND r.closed_at IS NULL AND i.ended_at > now() - ff_internal.lookback()
    ), judged AS MATERIALIZED (
        SELECT t.*, b.blocks, count(*) FILTER (WHERE b.blocks) OVER (PARTITION BY t.statement_id) AS in_the_way
          FROM touching t
         CROSS JOIN others o
         CROSS JOIN LATERAL (SELECT NOT t.summarizing AND (t.still AND o.explain) IS NOT TRUE) b(blocks)
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
        SELECT x.indexrelid, false, false, s.share, s.share, NULL, NULL, false, NULL
          FROM (SELECT o.indexrelid, o.indisprimary, count(*) FILTER (WHERE NOT o.indisprimary) OVER () AS others
                  FROM indexed o WHERE NOT o.summarizing AND o.still IS NOT TRUE
                 GROUP BY o.indexrelid, o.indisprimary) x
         CROSS JOIN LATERAL (SELECT CASE WHEN x.others <= 1 THEN 1 END) s(share)
         WHERE (x.others = 0 OR NOT x.indisprimary) AND NOT EXISTS (SELECT FROM touching t WHERE NOT t.summarizing)
    )
    SELECT f.*, array_agg(DISTINCT x.name ORDER BY x.name), string_agg(DISTINCT x.role, ', ')
      FROM found f
      JOIN indexed x ON x.indexrelid = f.indexrelid
           AND CASE WHEN f.seen THEN EXISTS (SELECT FROM updating u WHERE x.name = ANY (u.columns))
                    ELSE x.still IS NOT TRUE END
     GROUP BY f.indexrelid, f.summarizing, f.seen, f.share, f.alone, f.ids, f.parts, f.still, f.statements
$$;

-- Names the BEFORE UPDATE triggers, and the indexed columns (no primary key) that not every statement since a time
-- sets, so a trigger may. NULL: no trigger, or no such column.
CREATE FUNCTION ff_internal.trigger_words(relation oid, since timestamptz) RETURNS text
LANGUAGE sql STABLE
AS $$
    SELECT format('%s %s may change %s where no statement does',
                  CASE WHEN count(DISTINCT g.name) = 1 THEN 'trigger' ELSE 'triggers' END,
                  string_agg(DISTINCT quote_ident(g.name), ', '), string_agg(DISTINCT quote_ident(c.name), ', '))
      FROM ff_internal.update_triggers($1) g
     CROSS JOIN unnest(ff_internal.indexed_columns($1)) c(name)
     WHERE (SELECT bool_and(c.name = ANY (u.columns)) FROM ff_internal.updates_seen($1, since) u) IS NOT TRUE
       AND NOT EXISTS (SELECT FROM pg_index i
                         JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
                        WHERE i.indrelid = $1 AND i.indisprimary AND a.attname = c.name)
    HAVING count(*) > 0
$$;

-- Names of the indexes that keep updates from being HOT, at most five, for a reason; NULL: none.
CREATE FUNCTION ff_internal.suspect_indexes(relation regclass) RETURNS text
LANGUAGE sql STABLE
RETURN (SELECT array_to_string((array_agg(quote_ident(c.relname)
                                          ORDER BY i.indisprimary, i.indisunique, i.indexrelid))[:5], ', ')
               || CASE WHEN count(*) > 5 THEN ', ...' ELSE '' END
          FROM ff_internal.blocking_indexes(relation) b
          JOIN pg_index i USING (indexrelid)
          JOIN pg_class c ON c.oid = i.indexrelid
         WHERE NOT b.summarizing AND b.still IS NOT TRUE);
