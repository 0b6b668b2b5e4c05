-- Which statements write which table and column, how often, at what cost. Everything else works
-- without it; statement_snapshot.reason says what is missing then.

-- The tables that a statement writes, one row per command and table, see statement_target; for an unreadable text one
-- row with the reason. conflict_key: constraint of ON CONFLICT. Only parses: looks up and executes nothing.
CREATE FUNCTION ff_internal.parse_statement(
    query text, OUT command text, OUT schema_name text, OUT relation_name text, OUT columns text[],
    OUT computed text[], OUT conflict_key text, OUT how text, OUT reason text) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'ff_parse_statement';

-- Returns the table that a name in a statement means, or the reason why none is known; neither for system tables and
-- our own. The session's search_path is unknown: a name without a schema may mean each table of that name that has
-- these columns (shared, see tables_named()), views only if there is no table.
CREATE FUNCTION ff_internal.resolve(
    schema_name text, relation_name text, columns text[], OUT relid oid, OUT reason text, OUT shared boolean)
LANGUAGE sql STABLE
AS $$
    SELECT CASE WHEN r.reason IS NULL THEN coalesce(m.named[1], m.oid) END, nullif(r.reason, ''), m.named <> '{}'
      FROM (SELECT count(*) FILTER (WHERE k.is_table) AS tables, min(c.oid) FILTER (WHERE k.is_table) AS oid,
                   min(c.relkind) AS relkind, bool_or(c.relpersistence = 't') AS temporary,
                   bool_or(n.nspname IN ('pg_catalog', 'ff_internal')) AS ignored,
                   left(string_agg(format('%I.%I', n.nspname, c.relname), ', ' ORDER BY n.nspname)
                        FILTER (WHERE k.is_table), 200) AS names,
                   CASE WHEN $1 IS NULL THEN ff_internal.tables_named($2, $3) ELSE '{}' END AS named
              FROM pg_class c
              JOIN pg_namespace n ON n.oid = c.relnamespace
             CROSS JOIN LATERAL (SELECT c.relkind IN ('r', 'p')) k(is_table)
             WHERE c.relname = $2 AND c.relkind = ANY (ARRAY['r', 'p', 'v', 'm', 'f']::"char"[])
               AND (n.nspname = $1 OR $1 IS NULL AND n.nspname NOT IN ('information_schema', 'pg_toast'))) m
     CROSS JOIN LATERAL (
           SELECT CASE WHEN m.ignored OR $1 IN ('pg_catalog', 'information_schema', 'pg_toast') THEN ''
                       WHEN m.tables > 1 AND (cardinality(m.named) = 1) IS NOT TRUE
                       THEN 'several tables of that name: ' || m.names
                       WHEN m.temporary OR $1 = 'pg_temp' THEN 'temporary table'
                       WHEN m.tables > 0 THEN NULL
                       WHEN m.relkind IS NULL THEN 'no table of that name in this database'
                       WHEN m.relkind = 'f' THEN 'foreign table' ELSE 'view' END) r(reason)
$$;

-- This database's entries, and what to select their texts from (columns as in pg_stat_statements). An error says why
-- nothing can be read.
CREATE FUNCTION ff_internal.read_statements(
    OUT stats_reset timestamptz, OUT evictions bigint, OUT entries ff_internal.statement_entry[], OUT texts text)
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    reader  text;
    columns text[];
    said    CONSTANT jsonb := (SELECT o.said FROM ff_internal.observed o WHERE o.kind = 'statements');
BEGIN
    IF ff_internal.setting('statements') = 0 THEN
        RAISE 'fillfactor_advisor.statements is 0';
    ELSIF said->>'reason' IS NOT NULL THEN
        RAISE '%', said->>'reason';
    ELSIF said IS NOT NULL THEN
        texts := $q$(SELECT t.* FROM ff_internal.observed o,
                            jsonb_to_recordset(o.said->'texts') t(queryid bigint, toplevel boolean, query text)
                      WHERE o.kind = 'statements') s$q$;
        -- before pg_stat_statements 1.9, a fall of a counter shows a reset
        stats_reset := coalesce((said->>'stats_reset')::timestamptz, 'epoch');
        evictions := said->>'evictions';
        entries := ARRAY(SELECT jsonb_populate_record(NULL::ff_internal.statement_entry, e)
                           FROM jsonb_array_elements(said->'entries') e);
        RETURN;
    END IF;
    SELECT format('%s.pg_stat_statements', e.extnamespace::regnamespace), p.proargnames INTO reader, columns
      FROM pg_extension e
      JOIN pg_proc p ON p.pronamespace = e.extnamespace AND p.proname = e.extname AND p.proargtypes::text = '16'
     WHERE e.extname = 'pg_stat_statements';
    IF reader IS NULL THEN
        RAISE 'pg_stat_statements is not created in this database: CREATE EXTENSION pg_stat_statements';
    -- after pg_upgrade the extension may still be older
    ELSIF NOT 'toplevel' = ANY (columns) THEN
        RAISE 'pg_stat_statements is older than 1.9: ALTER EXTENSION pg_stat_statements UPDATE';
    END IF;
    texts := reader || '(true) s JOIN ff_internal.own_server() v ON v.database_oid = s.dbid';
    EXECUTE format('SELECT i.stats_reset, i.dealloc FROM %s_info() i', reader) INTO stats_reset, evictions;
    EXECUTE format($q$
        SELECT coalesce(array_agg(ROW(s.queryid, s.toplevel, s.userid, %1$s, s.min_exec_time, s.max_exec_time,
                   ROW(s.calls, s.rows, s.total_exec_time,
                       coalesce(s.calls * s.stddev_exec_time ^ 2 + s.total_exec_time ^ 2 / nullif(s.calls, 0), 0),
                       s.shared_blks_hit, s.shared_blks_read, s.shared_blks_dirtied, s.wal_records, s.wal_fpi,
                       s.wal_bytes))::ff_internal.statement_entry), '{}')
          FROM %2$s(false) s JOIN ff_internal.own_server() v ON v.database_oid = s.dbid $q$,
        CASE WHEN 'stats_since' = ANY (columns) THEN 's.stats_since' ELSE 'NULL::timestamptz' END, reader)
       INTO entries;
END
$$;

-- Closes the statements of tables that are gone or, if query identifiers depend on names (PostgreSQL 18), renamed. Of
-- evicted statements, deletes those that write nothing and closes the others after a week without calls.
CREATE FUNCTION ff_internal.close_statements(entries ff_internal.statement_entry[], snapshot_at timestamptz)
RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    by_name CONSTANT boolean := (SELECT s.server_version >= 180000 FROM ff_internal.server s);
    evicted CONSTANT bigint[] := ARRAY(
        SELECT s.statement_id FROM ff_internal.statement s
          LEFT JOIN unnest(entries) e ON e.queryid = s.queryid AND e.toplevel = s.toplevel
         WHERE e.queryid IS NULL AND (s.closed_at IS NULL OR s.kind = 'other'));
BEGIN
    DELETE FROM ff_internal.statement s WHERE s.statement_id = ANY (evicted) AND s.kind = 'other';
    UPDATE ff_internal.statement_target t SET rel_id = r.rel_id
      FROM ff_internal.relation r, ff_internal.statement s
     WHERE t.rel_id IS NULL AND r.relid = t.relid AND r.closed_at IS NULL
       AND s.statement_id = t.statement_id AND s.closed_at IS NULL;
    UPDATE ff_internal.statement s SET closed_at = snapshot_at
     WHERE s.closed_at IS NULL
       AND (EXISTS (SELECT FROM ff_internal.statement_target t
                      LEFT JOIN pg_class c ON c.oid = t.relid
                      LEFT JOIN ff_internal.relation r ON r.rel_id = t.rel_id
                     WHERE t.statement_id = s.statement_id AND t.relid IS NOT NULL
                       AND (c.oid IS NULL OR r.closed_at IS NOT NULL OR by_name AND c.relname <> t.relation_name))
            OR s.statement_id = ANY (evicted)
               AND snapshot_at - interval '7 days' > ALL (
                   SELECT s.opened_at UNION ALL
                   SELECT b.seen_at FROM ff_internal.statement_baseline b WHERE b.statement_id = s.statement_id));
    DELETE FROM ff_internal.statement_baseline b
     WHERE NOT EXISTS (SELECT FROM ff_internal.statement s
                        WHERE s.statement_id = b.statement_id AND s.closed_at IS NULL);
END
$$;

-- Parses one new statement and records what it writes.
CREATE FUNCTION ff_internal.add_statement(
    queryid bigint, toplevel boolean, query text, snapshot_at timestamptz) RETURNS void
LANGUAGE sql VOLATILE
AS $$
    WITH target AS MATERIALIZED (
        SELECT p.*, m.relid, m.reason AS unknown, coalesce(m.shared, false) AS shared, row_number() OVER () AS place
          FROM ff_internal.parse_statement(query) p
         CROSS JOIN LATERAL ff_internal.resolve(p.schema_name, p.relation_name, p.columns) m
         WHERE p.reason IS NOT NULL OR m.relid IS NOT NULL OR m.reason IS NOT NULL
    ), statement AS (
        INSERT INTO ff_internal.statement (queryid, toplevel, kind, text, reason, opened_at)
        SELECT $1, $2, CASE WHEN bool_or(t.relid IS NOT NULL OR t.shared) THEN 'write'
                           WHEN count(*) > 0 THEN 'unattributed' ELSE 'other' END,
               -- without the constants that utility statements before PostgreSQL 16, and evicted entries, keep
               CASE WHEN count(*) > 0 THEN left(regexp_replace(query,
                   '''.*''|[$]([[:alpha:]_]\w*)?[$].*[$]|(?<![$"\w.])[0-9][\w.]*', '?', 'g'), 4000) END,
               max(t.reason), snapshot_at
          FROM target t
        RETURNING statement_id
    )
    INSERT INTO ff_internal.statement_target
           (statement_id, "position", command, how, relation_name, relid, rel_id, columns, computed, shared, reason)
    SELECT s.statement_id, t.place, t.command, t.how, t.relation_name, t.relid,
           (SELECT max(r.rel_id) FROM ff_internal.relation r WHERE r.relid = t.relid AND r.closed_at IS NULL),
           -- ON CONFLICT ON CONSTRAINT ... SET key = EXCLUDED.key
           CASE WHEN t.conflict_key IS NULL THEN t.columns ELSE ARRAY(
               SELECT o.name FROM unnest(t.columns) o(name)
                WHERE o.name = ANY (t.computed)
                   OR o.name NOT IN (SELECT a.attname FROM pg_constraint k
                                       JOIN pg_class c ON c.oid = k.conrelid AND c.relname = t.relation_name
                                       JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (k.conkey)
                                      WHERE k.conname = t.conflict_key)) END,
           t.computed, t.shared, t.unknown
      FROM target t, statement s WHERE t.reason IS NULL
$$;

-- Adds new statements that write, reading each text once. Places go to known statements still in pg_stat_statements,
-- then to new and evicted ones, the most called first; evicted ones without a place are closed. left_out: new ones
-- without a place or a text.
CREATE FUNCTION ff_internal.admit_statements(
    texts text, entries ff_internal.statement_entry[], snapshot_at timestamptz,
    OUT left_out integer, OUT texts_reason text
)
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    queryids  bigint[];
    toplevels boolean[];
    wanted    integer;
    one       record;
BEGIN
    WITH entry AS (
        SELECT e.queryid, e.toplevel, sum((e.counted).calls) AS calls,
               bool_or((e.counted).wal_records > 0 OR (e.counted).blocks_dirtied > 0) AS writes
          FROM unnest(entries) e WHERE e.queryid IS NOT NULL GROUP BY e.queryid, e.toplevel
    ), known AS (
        SELECT s.*, (SELECT sum(((b.entry).counted).calls) FROM ff_internal.statement_baseline b
                      WHERE b.statement_id = s.statement_id) AS calls
          FROM ff_internal.statement s WHERE s.closed_at IS NULL
    ), ranked AS MATERIALIZED (
        SELECT k.statement_id, e.queryid, e.toplevel,
               row_number() OVER (ORDER BY k.queryid = e.queryid DESC NULLS LAST, coalesce(e.calls, k.calls, 0) DESC,
                                           k.statement_id, e.queryid)
               <= ff_internal.setting('statements') AS fits
          FROM entry e FULL JOIN known k ON k.queryid = e.queryid AND k.toplevel = e.toplevel
         WHERE coalesce(k.kind <> 'other', e.writes)
    ), displaced AS (
        UPDATE ff_internal.statement s SET closed_at = snapshot_at
          FROM ranked r WHERE r.statement_id = s.statement_id AND r.queryid IS NULL AND NOT r.fits
    )
    SELECT array_agg(r.queryid) FILTER (WHERE r.fits), array_agg(r.toplevel) FILTER (WHERE r.fits), count(*),
           count(*) FILTER (WHERE NOT r.fits)
      INTO queryids, toplevels, wanted, left_out
      FROM ranked r WHERE r.statement_id IS NULL;
    IF queryids IS NULL THEN
        RETURN;
    END IF;
    FOR one IN EXECUTE format($q$
        SELECT DISTINCT ON (queryid, toplevel) queryid, toplevel, s.query
          FROM %s JOIN unnest($1, $2) n(queryid, toplevel) USING (queryid, toplevel)
         ORDER BY queryid, toplevel, s.query IS NULL $q$, texts) USING queryids, toplevels
    LOOP
        -- the server could not read its file of texts, or lost this one
        IF one.query IS NULL THEN
            texts_reason := 'no text';
            left_out := left_out + 1;
        ELSE
            PERFORM ff_internal.add_statement(one.queryid, one.toplevel, one.query, snapshot_at);
        END IF;
    END LOOP;
EXCEPTION WHEN character_not_in_repertoire OR untranslatable_character THEN
    -- with one such text, of any database, the server returns none
    texts_reason := SQLERRM;
    left_out := wanted;
END
$$;

-- Adds up parts of the statement history by statement and unit of time, and writes the sums.
CREATE FUNCTION ff_internal.sum_statements(parts ff_internal.statement_history[], level integer, unit text)
RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    counters CONSTANT text := ff_internal.column_list('ff_internal.statement_counters');
BEGIN
    EXECUTE format($q$
        INSERT INTO ff_internal.statement_history (statement_id, began_at, ended_at, epoch_id, rollup, %s)
        SELECT p.statement_id, min(p.began_at), max(p.ended_at), p.epoch_id, $2, %s
          FROM unnest($1) p GROUP BY p.statement_id, p.epoch_id, date_trunc($3, p.ended_at, 'UTC') $q$,
        counters, regexp_replace(counters, '(\w+)', 'sum(p.\1)', 'g')) USING parts, level, unit;
END
$$;

-- Compares entries with the baselines; writes what each statement did, all roles together, and the new baselines.
-- previous: the last snapshot since the same reset.
CREATE FUNCTION ff_internal.write_statements(
    entries ff_internal.statement_entry[], stats_reset timestamptz, evicted bigint,
    previous ff_internal.statement_snapshot, snapshot_at timestamptz
) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    parts ff_internal.statement_history[];
BEGIN
    WITH compared AS MATERIALIZED (
        SELECT s.statement_id, n AS entry, d.difference,
               -- the same entry as in the baseline
               coalesce(b.stats_reset = $2 AND w.entered_at IS NOT DISTINCT FROM n.entered_at AND d.fell IS NOT TRUE
                        -- Without entered_at, min and max show an entry that came back: they must not shrink, and
                        -- after any eviction one of them must be unchanged.
                        AND (n.entered_at IS NOT NULL OR (w.counted).calls = 0
                             OR n.min_ms <= w.min_ms AND n.max_ms >= w.max_ms
                                AND (k.evictions IS NOT DISTINCT FROM evicted
                                     OR n.min_ms = w.min_ms OR n.max_ms = w.max_ms)), false) AS same,
               -- Its counters began at zero: it entered since the previous snapshot, or that saw all entries but this.
               coalesce(n.entered_at >= previous.snapshot_at
                        OR (b.statement_id IS NULL OR b.stats_reset <> $2)
                           AND previous.left_out = 0 AND previous.hidden = 0
                           AND NOT EXISTS (
                               SELECT FROM ff_internal.statement o
                                WHERE o.queryid = s.queryid AND o.toplevel = s.toplevel
                                  AND o.closed_at IS NOT NULL AND s.opened_at = $5), false) AS fresh
          FROM unnest(entries) n
          JOIN ff_internal.statement s
            ON s.queryid = n.queryid AND s.toplevel = n.toplevel AND s.closed_at IS NULL AND s.kind <> 'other'
          LEFT JOIN ff_internal.statement_baseline b ON b.statement_id = s.statement_id AND b.userid = n.userid
          LEFT JOIN ff_internal.statement_snapshot k ON k.snapshot_at = b.seen_at AND k.stats_reset = b.stats_reset
         CROSS JOIN LATERAL (SELECT (b.entry).*) w
         CROSS JOIN LATERAL (
               -- sums of squares may fall by rounding
               SELECT jsonb_object_agg(key, greatest(0, c.value::numeric - o.value::numeric)),
                      min(c.value::numeric - o.value::numeric) FILTER (WHERE key <> 'squares') < 0
                 FROM jsonb_each_text(to_jsonb(n.counted)) c JOIN jsonb_each_text(to_jsonb(w.counted)) o USING (key)
                WHERE n.counted <> w.counted) d(difference, fell)
    ), baselines AS (
        INSERT INTO ff_internal.statement_baseline (statement_id, userid, stats_reset, seen_at, entry)
        SELECT d.statement_id, (d.entry).userid, $2, $5, d.entry
          FROM compared d WHERE NOT d.same OR d.difference->'calls' > '0'
        ON CONFLICT (statement_id, userid) DO UPDATE
           SET (stats_reset, seen_at, entry) = (EXCLUDED.stats_reset, EXCLUDED.seen_at, EXCLUDED.entry)
    )
    SELECT array_agg(jsonb_populate_record(NULL::ff_internal.statement_history, n.counted || jsonb_build_object(
               'statement_id', d.statement_id, 'began_at', least(previous.snapshot_at, $5), 'ended_at', $5,
               'epoch_id', (SELECT max(e.epoch_id) FROM ff_internal.epoch e))))
      INTO parts
      FROM compared d
     CROSS JOIN LATERAL (SELECT CASE WHEN d.same THEN d.difference ELSE to_jsonb((d.entry).counted) END) n(counted)
     WHERE (d.same OR d.fresh) AND n.counted->'calls' > '0';
    PERFORM ff_internal.sum_statements(parts, 0, 'microseconds') WHERE previous.snapshot_at IS NOT NULL;
END
$$;

-- Reads pg_stat_statements once. An error says why nothing was read; try_step() records it.
CREATE FUNCTION ff_internal.collect_statements(id bigint) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    snapshot_at CONSTANT timestamptz := ff_internal.observed_at();
    read     record;
    previous ff_internal.statement_snapshot;
    new      record;
BEGIN
    SELECT * INTO read FROM ff_internal.read_statements();
    SELECT * INTO previous FROM ff_internal.statement_snapshot l
     WHERE l.reason IS NULL ORDER BY l.collection_id DESC LIMIT 1;
    IF previous.stats_reset IS DISTINCT FROM read.stats_reset THEN
        previous := NULL;
        -- texts that could not be read are tried again
        UPDATE ff_internal.statement s SET closed_at = snapshot_at WHERE s.closed_at IS NULL AND s.reason IS NOT NULL;
    END IF;
    PERFORM ff_internal.close_statements(read.entries, snapshot_at);
    SELECT * INTO new FROM ff_internal.admit_statements(read.texts, read.entries, snapshot_at);
    PERFORM ff_internal.write_statements(read.entries, read.stats_reset, read.evictions, previous, snapshot_at);
    INSERT INTO ff_internal.statement_snapshot (collection_id, snapshot_at, stats_reset, evictions, hidden, left_out,
           texts_reason)
    VALUES (id, snapshot_at, read.stats_reset, read.evictions,
            (SELECT count(*) FROM unnest(read.entries) e WHERE e.queryid IS NULL), new.left_out, new.texts_reason);
    PERFORM ff_internal.forget_texts();
END
$$;

-- Why the last collection could not read the statements, or why none are recorded; NULL: they are.
CREATE FUNCTION ff_internal.statements_unread() RETURNS text
LANGUAGE sql STABLE
RETURN coalesce((SELECT s.reason FROM ff_internal.statement_snapshot s ORDER BY s.collection_id DESC LIMIT 1),
                (SELECT CASE WHEN ff_internal.server_setting('pg_stat_statements.track') = 'none'
                             THEN 'pg_stat_statements.track is none'
                             WHEN ff_internal.server_setting('compute_query_id') = 'off'
                             THEN 'compute_query_id is off' END
                  -- a role or a database may have another setting
                  WHERE NOT EXISTS (SELECT FROM ff_internal.statement_history h
                                     WHERE h.ended_at > now() - ff_internal.lookback())));

-- Reasons why the statements of the lookback are incomplete, one per row.
CREATE FUNCTION ff_internal.statements_missing() RETURNS SETOF text
LANGUAGE sql STABLE
AS $$
    SELECT m.reason
      FROM (SELECT sum(e.n) AS evictions
              FROM (SELECT max(l.evictions) - min(l.evictions) AS n FROM ff_internal.statement_snapshot l
                     WHERE l.stats_reset > '-infinity' AND l.snapshot_at > now() - ff_internal.lookback()
                     GROUP BY l.stats_reset) e) w
      LEFT JOIN (SELECT * FROM ff_internal.statement_snapshot ORDER BY collection_id DESC LIMIT 1) l ON true
     CROSS JOIN LATERAL (VALUES
           (ff_internal.restored()),
           (CASE WHEN l.collection_id IS NULL THEN 'nothing was collected yet: CALL ff_collect()'
                 ELSE ff_internal.statements_unread() END),
           (nullif(l.hidden, 0) || ' statements of other roles are hidden from the collecting role: GRANT '
                                   'pg_read_all_stats to it'),
           (nullif(l.left_out, 0)
            || CASE WHEN l.texts_reason IS NULL
                    THEN ' more statements that write are not followed: raise fillfactor_advisor.statements'
                    ELSE format(' new statements are not followed, because texts of pg_stat_statements cannot be read '
                                '(%s): one is lost or damaged, or another database''s in another encoding; '
                                'pg_stat_statements_reset() removes it', l.texts_reason) END),
           (nullif(w.evictions, 0) || ' times in the window, pg_stat_statements evicted the least called statements: '
                                      'raise pg_stat_statements.max')) m(reason)
     WHERE m.reason IS NOT NULL
$$;

CREATE FUNCTION @extschema@.ff_statements(relation regclass DEFAULT NULL)
RETURNS TABLE (
    relation regclass, command text, how text, columns text[], calls bigint, calls_per_s float8, rows bigint,
    rows_per_call float8, mean_ms float8, stddev_ms float8, blocks_per_call float8, wal_bytes_per_call float8,
    statement_id bigint, queryid bigint, query text, reason text
)
LANGUAGE sql STABLE
AS $$
    SELECT ff_internal.check_role('reader');
    SELECT c.oid::regclass, t.command, t.how, t.columns, s.calls, (s.calls / nullif(p.seconds, 0))::numeric(20, 3),
           r.rows, (r.rows::float8 / s.calls)::numeric(20, 3), (s.total_ms / s.calls)::numeric(20, 3),
           sqrt(greatest(s.squares / s.calls - (s.total_ms / s.calls) ^ 2, 0))::numeric(20, 3),
           (s.blocks / s.calls)::numeric(20, 1), (s.wal_bytes / s.calls)::numeric(20, 1),
           q.statement_id, q.queryid, q.text, coalesce(q.reason, t.reason)
      FROM (SELECT h.statement_id, sum(h.calls)::bigint AS calls, sum(h.rows)::bigint AS rows,
                   sum(h.total_ms) AS total_ms, sum(h.wal_bytes)::float8 AS wal_bytes,
                   sum(h.squares) AS squares, sum(h.blocks_hit + h.blocks_read)::float8 AS blocks
              FROM ff_internal.statement_history h WHERE h.ended_at > now() - ff_internal.lookback()
             GROUP BY h.statement_id) s
      JOIN ff_internal.statement q ON q.statement_id = s.statement_id
     -- otherwise the OIDs of its targets may be those of other tables
     CROSS JOIN LATERAL (SELECT q.closed_at IS NULL AND (SELECT ff_internal.restored()) IS NULL) k(known)
      LEFT JOIN (SELECT * FROM ff_internal.statement_target WHERE $1 IS NULL
                 UNION ALL
                 SELECT (o.target).* FROM ff_internal.targets_of($1, NULL) o) t ON t.statement_id = s.statement_id
      LEFT JOIN pg_class c ON c.oid = t.relid AND k.known
     -- the part of the lookback in which statements were read
     CROSS JOIN (SELECT extract(epoch FROM max(l.snapshot_at) - min(l.snapshot_at))::float8 AS seconds
                   FROM ff_internal.statement_snapshot l
                  WHERE l.reason IS NULL AND l.snapshot_at > now() - ff_internal.lookback()) p
     CROSS JOIN LATERAL (SELECT CASE WHEN t.how IS DISTINCT FROM 'cte' THEN s.rows END AS rows) r
     WHERE $1 IS NULL OR t.statement_id IS NOT NULL AND k.known
    UNION ALL
    SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, m.reason
      FROM ff_internal.statements_missing() m(reason)
     ORDER BY 5 DESC NULLS LAST, 13, 2
$$;
COMMENT ON FUNCTION @extschema@.ff_statements(regclass) IS
'The statements that write a table, over fillfactor_advisor.lookback, one row per table and command. relation: NULL '
'if unknown or one of several, see reason. how: position in the statement (top, on_conflict, merge, cte). columns: '
'those an UPDATE sets, without those that stay what they are (a = a, the key of ON CONFLICT). rows: NULL for the '
'targets of WITH queries. mean_ms, stddev_ms: execution time, milliseconds. blocks_per_call: shared blocks hit or '
'read. wal_bytes_per_call: bytes. statement_id: key of its history. queryid: as in pg_stat_statements. query: the '
'first 4000 characters. reason: why the table is unknown, or, in a separate row, why statements are missing.';
