
-- Stage statements: which statements write which table and column, how often, at
-- what cost.  Everything else works without this stage; what is missing then is
-- said in statement_snapshot.reason.

-- ---------------------------------------------------------------------------
-- Reading one text
-- ---------------------------------------------------------------------------
-- The tables a statement writes, one row for each command (INSERT, UPDATE, DELETE, COPY) and table, with the columns
-- an UPDATE sets and where it stands (top, on_conflict, merge, cte); for a text that cannot be read one row with the
-- reason. Parses only: looks up and executes nothing.
CREATE FUNCTION ff_internal.parse_statement(
    query text,
    OUT command text,
    OUT schema_name text,
    OUT relation_name text,
    OUT columns text[],
    OUT how text,
    OUT reason text
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'ff_parse_statement';

-- The table that a name in a statement's text means, whatever the search_path was; otherwise the reason; neither for
-- system tables and the extension's own.
CREATE FUNCTION ff_internal.resolve(
    schema_name text,
    relation_name text,
    OUT relid oid,
    OUT reason text
)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    meant  record;
BEGIN
    -- The session's search_path is not known: an unqualified name counts only
    -- if one table of the database can be meant.  The catalog comes first in
    -- every search_path.
    SELECT count(*) AS tables,
           bool_or(n.nspname IN ('pg_catalog', 'information_schema', 'pg_toast') OR own.own) AS ignored,
           (array_agg(c.oid))[1] AS oid, (array_agg(c.relkind))[1] AS relkind, (array_agg(c.relpersistence))[1] AS relpersistence,
           left(string_agg(format('%I.%I', n.nspname, c.relname), ', ' ORDER BY n.nspname), 200) AS names
      INTO meant
      FROM pg_class c
      JOIN pg_namespace n ON n.oid = c.relnamespace
     CROSS JOIN LATERAL (
           SELECT EXISTS (SELECT 1 FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid
                           WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid
                             AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
                             AND e.extname = 'fillfactor_advisor') AS own) own
     WHERE c.relname = resolve.relation_name
       AND c.relkind = ANY (ARRAY['r', 'p', 'v', 'm', 'f']::"char"[])
       AND (n.nspname = resolve.schema_name
            OR resolve.schema_name IS NULL AND n.nspname NOT IN ('information_schema', 'pg_toast'));

    IF meant.ignored OR schema_name IN ('pg_catalog', 'information_schema', 'pg_toast') THEN
        RETURN;
    ELSIF meant.tables = 0 THEN
        reason := 'no table of that name in this database: dropped, renamed or temporary';
    ELSIF meant.tables > 1 THEN
        reason := 'several tables of that name: ' || meant.names;
    ELSIF meant.relpersistence = 't' OR schema_name = 'pg_temp' THEN
        reason := 'temporary table';
    ELSIF meant.relkind IN ('v', 'm') THEN
        reason := 'view';
    ELSIF meant.relkind = 'f' THEN
        reason := 'foreign table';
    ELSE
        relid := meant.oid;
    END IF;
END
$$;

-- ---------------------------------------------------------------------------
-- History
-- ---------------------------------------------------------------------------

-- ---------------------------------------------------------------------------
-- One look at pg_stat_statements
-- ---------------------------------------------------------------------------

-- Where pg_stat_statements is, and a query for its counters under fixed names,
-- whatever its version calls them.  Only members of the extension are named.
-- The queries by which pg_stat_statements is read here, or the reason why it cannot be.
CREATE FUNCTION ff_internal.statement_source(
    OUT counters text,
    OUT texts text,
    OUT info text,
    OUT reason text
)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    extension oid;
    reader    record;
    has       text[];
BEGIN
    SELECT e.oid INTO extension FROM pg_extension e WHERE e.extname = 'pg_stat_statements';
    IF extension IS NULL THEN
        reason := 'pg_stat_statements is not created in this database';
        RETURN;
    END IF;
    SELECT format('%I.%I', n.nspname, p.proname) AS name, p.proargnames AS has INTO reader
      FROM pg_depend d
      JOIN pg_proc p ON p.oid = d.objid
      JOIN pg_namespace n ON n.oid = p.pronamespace
     WHERE d.classid = 'pg_proc'::regclass AND d.deptype = 'e'
       AND d.refclassid = 'pg_extension'::regclass AND d.refobjid = extension
       AND p.proname = 'pg_stat_statements' AND p.proargtypes::text = '16';
    has := reader.has;

    SELECT format('SELECT i.stats_reset, i.dealloc AS evictions FROM %I.%I() i', n.nspname, p.proname) INTO info
      FROM pg_depend d
      JOIN pg_proc p ON p.oid = d.objid
      JOIN pg_namespace n ON n.oid = p.pronamespace
     WHERE d.classid = 'pg_proc'::regclass AND d.deptype = 'e'
       AND d.refclassid = 'pg_extension'::regclass AND d.refobjid = extension
       AND p.proname = 'pg_stat_statements_info' AND p.pronargs = 0;
    -- 1.9 came with PostgreSQL 14; an older one stays behind where only the server was upgraded
    IF info IS NULL OR NOT coalesce(has @> ARRAY['toplevel', 'stddev_exec_time', 'wal_bytes'], false) THEN
        reason := 'pg_stat_statements is older than 1.9: ALTER EXTENSION pg_stat_statements UPDATE';
        RETURN;
    END IF;

    counters := format(
        'SELECT s.queryid, s.toplevel, s.userid, s.calls, s.rows, s.total_exec_time AS total_ms, s.stddev_exec_time AS stddev_ms, '
        's.min_exec_time AS min_ms, s.max_exec_time AS max_ms, s.shared_blks_hit AS blocks_hit, s.shared_blks_read AS blocks_read, '
        's.shared_blks_dirtied AS blocks_dirtied, s.shared_blks_written AS blocks_written, %s AS read_ms, '
        's.wal_records, s.wal_fpi, s.wal_bytes, %s AS entered_at, s.wal_records > 0 OR s.shared_blks_dirtied > 0 AS writes '
        'FROM %s(false) s WHERE s.dbid = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database())',
        CASE WHEN 'shared_blk_read_time' = ANY (has) THEN 's.shared_blk_read_time' ELSE 's.blk_read_time' END,
        CASE WHEN 'stats_since' = ANY (has) THEN 's.stats_since' ELSE 'NULL::timestamptz' END,
        reader.name);
    texts := format(
        'SELECT DISTINCT ON (s.queryid, n.toplevel) s.queryid, n.toplevel, s.query '
        'FROM %s(true) s JOIN ROWS FROM (unnest($1), unnest($2)) AS n(queryid, toplevel) ON s.queryid = n.queryid AND s.toplevel = n.toplevel '
        'WHERE s.dbid = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database()) '
        'ORDER BY s.queryid, n.toplevel, s.query IS NULL',
        reader.name);
END
$$;

-- Reads pg_stat_statements: new statements that write are parsed once, at most fillfactor_advisor.statements of them
-- are followed, and what each did since the look before is written to statement_history. Returns NULL, or why nothing
-- could be read.
CREATE FUNCTION ff_internal.collect_statements(id bigint) RETURNS text
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    at        CONSTANT timestamptz := clock_timestamp();
    most      CONSTANT integer := ff_internal.setting('statements');
    by_name   CONSTANT boolean := current_setting('server_version_num')::integer >= 180000;
    source    record;
    server    record;
    told      record;
    epoch     ff_internal.statement_epoch;
    previous  ff_internal.statement_snapshot;
    why       text;
    one       record;
    target    record;
    meant     record;
    new_ids   bigint[];
    new_tops  boolean[];
    statement bigint;
    n         integer;
    resolved  integer;
    unresolved integer;
    room      integer;
    entries   integer;
    hidden    integer;
    tracked   integer;
    admitted  integer := 0;
    left_out  integer := 0;
    unread    integer := 0;
    lost      integer;
    texts_why text;
BEGIN
    SELECT * INTO source FROM ff_internal.statement_source();
    why := CASE WHEN most = 0 THEN 'fillfactor_advisor.statements is 0' ELSE source.reason END;
    IF why IS NULL THEN
        BEGIN
            EXECUTE source.info INTO told;
            EXECUTE source.counters || ' LIMIT 0';
        EXCEPTION WHEN object_not_in_prerequisite_state OR insufficient_privilege OR undefined_function OR undefined_file THEN
            -- not preloaded, not readable, or its library is gone
            why := SQLERRM;
        END;
    END IF;
    IF why IS NOT NULL THEN
        INSERT INTO ff_internal.statement_snapshot (collection_id, snapshot_at, reason) VALUES (id, at, why);
        RETURN why;
    END IF;

    -- Epoch.  A statement's identifier holds for one major version and database.
    SELECT s.system_identifier, d.oid AS database, current_setting('server_version_num')::integer / 10000 * 10000 AS version
      INTO server FROM ff_internal.server() s, pg_database d WHERE d.datname = current_database();
    SELECT * INTO epoch FROM ff_internal.statement_epoch ORDER BY statement_epoch_id DESC LIMIT 1;
    IF NOT FOUND OR (epoch.system_identifier, epoch.database_oid, epoch.server_version) <> (server.system_identifier, server.database, server.version)
                 OR epoch.stats_reset IS DISTINCT FROM told.stats_reset THEN
        IF (epoch.system_identifier, epoch.database_oid, epoch.server_version) <> (server.system_identifier, server.database, server.version) THEN
            UPDATE ff_internal.statement SET closed_at = at WHERE closed_at IS NULL;
        ELSE
            -- a text that could not be read may have come back whole
            UPDATE ff_internal.statement s SET closed_at = at WHERE s.closed_at IS NULL AND s.reason IS NOT NULL;
        END IF;
        INSERT INTO ff_internal.statement_epoch (system_identifier, database_oid, server_version, stats_reset, began_at)
        VALUES (server.system_identifier, server.database, server.version, told.stats_reset, at)
        RETURNING * INTO epoch;
    END IF;
    SELECT * INTO previous FROM ff_internal.statement_snapshot l
     WHERE l.statement_epoch_id = epoch.statement_epoch_id ORDER BY l.collection_id DESC LIMIT 1;

    -- A table gone takes its statements along.  Where identifiers follow names
    -- (PostgreSQL 18 and later), so does a table that now has another name.
    UPDATE ff_internal.statement_target t
       SET rel_id = r.rel_id
      FROM ff_internal.relation r, ff_internal.statement s
     WHERE t.rel_id IS NULL AND r.relid = t.relid AND r.closed_at IS NULL
       AND s.statement_id = t.statement_id AND s.closed_at IS NULL;
    UPDATE ff_internal.statement s
       SET closed_at = at
     WHERE s.closed_at IS NULL
       AND EXISTS (SELECT 1
                     FROM ff_internal.statement_target t
                     LEFT JOIN pg_class c ON c.oid = t.relid
                     LEFT JOIN ff_internal.relation r ON r.rel_id = t.rel_id
                    WHERE t.statement_id = s.statement_id AND t.relid IS NOT NULL
                      AND (c.oid IS NULL OR r.closed_at IS NOT NULL OR by_name AND c.relname <> t.relation_name));

    -- New statements that write, most called first, as many as there is room for.
    -- One that is followed but was evicted makes room for one called more often
    -- than it ever was, so that many statements of a few calls shut out no other,
    -- and yet only few can displace one another.
    SELECT greatest(most - count(*), 0) INTO room FROM ff_internal.statement s WHERE s.closed_at IS NULL AND s.kind <> 'other';
    BEGIN
        EXECUTE format($q$
            WITH look AS MATERIALIZED (%1$s),
            candidate AS MATERIALIZED (
                SELECT c.queryid, c.toplevel, sum(c.calls) AS calls, row_number() OVER (ORDER BY sum(c.calls) DESC, c.queryid) AS n
                  FROM look c
                 WHERE c.writes AND c.queryid IS NOT NULL
                   AND NOT EXISTS (SELECT 1 FROM ff_internal.statement s WHERE s.queryid = c.queryid AND s.toplevel = c.toplevel AND s.closed_at IS NULL)
                 GROUP BY c.queryid, c.toplevel
            ), evicted AS (
                SELECT s.statement_id, coalesce(b.calls, 0) AS calls, row_number() OVER (ORDER BY coalesce(b.calls, 0), s.statement_id) AS n
                  FROM ff_internal.statement s
                  LEFT JOIN (SELECT statement_id, sum(calls) AS calls FROM ff_internal.statement_baseline GROUP BY statement_id) b ON b.statement_id = s.statement_id
                 WHERE s.closed_at IS NULL AND s.kind <> 'other' AND EXISTS (SELECT 1 FROM candidate c WHERE c.n > $1)
                   AND NOT EXISTS (SELECT 1 FROM look l WHERE l.queryid = s.queryid AND l.toplevel = s.toplevel)
            ), displaced AS (
                UPDATE ff_internal.statement s SET closed_at = $2
                  FROM evicted e JOIN candidate c ON c.n = $1 + e.n
                 WHERE s.statement_id = e.statement_id AND c.calls > e.calls
                RETURNING 1
            ), taken AS (
                SELECT $1 + count(*) AS n FROM displaced
            )
            SELECT array_agg(c.queryid) FILTER (WHERE c.n <= t.n), array_agg(c.toplevel) FILTER (WHERE c.n <= t.n), count(*) FILTER (WHERE c.n > t.n)
              FROM candidate c, taken t
            $q$, source.counters)
           INTO new_ids, new_tops, left_out USING room, at;

        IF new_ids IS NOT NULL THEN
            FOR one IN EXECUTE source.texts USING new_ids, new_tops LOOP
                IF one.query IS NULL THEN
                    -- the server could not read its file of texts, or lost this one: asked for again next time
                    texts_why := 'no text';
                    unread := unread + 1;
                    CONTINUE;
                END IF;
                INSERT INTO ff_internal.statement (queryid, toplevel, kind, text, text_bytes, text_hash, statement_epoch_id, opened_at)
                VALUES (one.queryid, one.toplevel, 'other', left(one.query, 4000), octet_length(one.query), encode(sha256(convert_to(one.query, getdatabaseencoding())), 'hex'), epoch.statement_epoch_id, at)
                RETURNING statement_id INTO statement;
                n := 0;  resolved := 0;  unresolved := 0;  why := NULL;
                FOR target IN SELECT * FROM ff_internal.parse_statement(one.query) LOOP
                    IF target.reason IS NOT NULL THEN
                        why := target.reason;
                        EXIT;
                    END IF;
                    SELECT * INTO meant FROM ff_internal.resolve(target.schema_name, target.relation_name);
                    CONTINUE WHEN meant.relid IS NULL AND meant.reason IS NULL;
                    n := n + 1;
                    resolved := resolved + (meant.relid IS NOT NULL)::integer;
                    unresolved := unresolved + (meant.relid IS NULL)::integer;
                    INSERT INTO ff_internal.statement_target (statement_id, "position", command, how, schema_name, relation_name, relid, rel_id, columns, reason)
                    VALUES (statement, n, target.command, target.how, target.schema_name, target.relation_name, meant.relid,
                            (SELECT r.rel_id FROM ff_internal.relation r WHERE r.relid = meant.relid AND r.closed_at IS NULL ORDER BY r.rel_id DESC LIMIT 1),
                            target.columns, meant.reason);
                    EXIT WHEN n = 32767;
                END LOOP;
                UPDATE ff_internal.statement s
                   SET kind = CASE WHEN resolved > 0 THEN 'write' WHEN unresolved > 0 OR why IS NOT NULL THEN 'unattributed' ELSE 'other' END,
                       reason = why,
                       text = CASE WHEN n > 0 OR why IS NOT NULL THEN s.text END
                 WHERE s.statement_id = statement;
                admitted := admitted + 1;
            END LOOP;
        END IF;
    EXCEPTION WHEN character_not_in_repertoire OR untranslatable_character THEN
        -- One text that is damaged, or does not fit this database's encoding, be
        -- it another database's, and the server gives none.
        texts_why := SQLERRM;
        admitted := 0;
        unread := coalesce(cardinality(new_ids), 0);
    END;

    -- Differences to the baselines, and the new baselines.  Every part of the
    -- statement sees the same one look, and the baselines as they were before.
    EXECUTE format($q$
        WITH look AS MATERIALIZED (%s),
        followed AS MATERIALIZED (
            SELECT l.*, s.statement_id, b.statement_id IS NOT NULL AS known,
                   -- the same entry, further on
                   coalesce(b.statement_epoch_id = $1 AND b.entered_at IS NOT DISTINCT FROM l.entered_at
                            AND l.calls >= b.calls AND l.rows >= b.rows AND l.total_ms >= b.total_ms AND l.wal_bytes >= b.wal_bytes
                            AND l.wal_records >= b.wal_records AND l.wal_fpi >= b.wal_fpi AND l.blocks_hit >= b.blocks_hit
                            AND l.blocks_read >= b.blocks_read AND l.blocks_dirtied >= b.blocks_dirtied
                            AND l.blocks_written >= b.blocks_written AND l.read_ms >= b.read_ms
                            -- Without the time of entry, the extremes tell an entry that was evicted and came back.  Where
                            -- any was evicted since, at least one of them must be the old one, to the nanosecond.
                            AND (l.entered_at IS NOT NULL OR b.calls = 0
                                 OR l.min_ms <= b.min_ms AND l.max_ms >= b.max_ms
                                    AND (k.evictions IS NOT DISTINCT FROM $5 OR l.min_ms = b.min_ms OR l.max_ms = b.max_ms)), false) AS same,
                   -- entered since the look before: its counters began at zero then
                   coalesce(CASE WHEN l.entered_at IS NOT NULL THEN l.entered_at >= $2
                                 ELSE b.statement_id IS NULL AND $3 AND NOT EXISTS (
                                      SELECT 1 FROM ff_internal.statement o
                                       WHERE o.queryid = s.queryid AND o.toplevel = s.toplevel AND o.closed_at IS NOT NULL
                                         AND s.opened_at = $4) END, false) AS fresh,
                   b.statement_epoch_id, b.calls AS calls0, b.rows AS rows0, b.total_ms AS total_ms0, b.stddev_ms AS stddev_ms0,
                   b.blocks_hit AS blocks_hit0, b.blocks_read AS blocks_read0, b.blocks_dirtied AS blocks_dirtied0, b.blocks_written AS blocks_written0,
                   b.read_ms AS read_ms0, b.wal_records AS wal_records0, b.wal_fpi AS wal_fpi0, b.wal_bytes AS wal_bytes0
              FROM look l
              JOIN ff_internal.statement s ON s.queryid = l.queryid AND s.toplevel = l.toplevel AND s.closed_at IS NULL AND s.kind <> 'other'
              LEFT JOIN ff_internal.statement_baseline b ON b.statement_id = s.statement_id AND b.userid = l.userid
              LEFT JOIN ff_internal.statement_snapshot k ON k.snapshot_at = b.seen_at AND k.statement_epoch_id = b.statement_epoch_id
        ), differences AS (
            SELECT f.statement_id, f.calls - z.calls AS calls, f.rows - z.rows AS rows, f.total_ms - z.total_ms AS total_ms,
                   f.blocks_hit - z.blocks_hit AS blocks_hit, f.blocks_read - z.blocks_read AS blocks_read,
                   f.blocks_dirtied - z.blocks_dirtied AS blocks_dirtied, f.blocks_written - z.blocks_written AS blocks_written,
                   f.read_ms - z.read_ms AS read_ms, f.wal_records - z.wal_records AS wal_records, f.wal_fpi - z.wal_fpi AS wal_fpi,
                   f.wal_bytes - z.wal_bytes AS wal_bytes,
                   -- Sum of squared deviations of the interval alone: that of the whole, less that of the part before,
                   -- less what lies between the two means (Chan, Golub and LeVeque).
                   greatest(f.calls * f.stddev_ms ^ 2 - z.calls * z.stddev_ms ^ 2
                            - CASE WHEN z.calls > 0 THEN ((f.total_ms - z.total_ms) / (f.calls - z.calls) - z.total_ms / z.calls) ^ 2
                                   * z.calls * (f.calls - z.calls)::double precision / f.calls ELSE 0 END, 0) AS deviation
              FROM followed f
             CROSS JOIN LATERAL (SELECT CASE WHEN f.same THEN f.calls0 ELSE 0 END AS calls, CASE WHEN f.same THEN f.rows0 ELSE 0 END AS rows,
                                        CASE WHEN f.same THEN f.total_ms0 ELSE 0 END AS total_ms, CASE WHEN f.same THEN f.stddev_ms0 ELSE 0 END AS stddev_ms,
                                        CASE WHEN f.same THEN f.blocks_hit0 ELSE 0 END AS blocks_hit, CASE WHEN f.same THEN f.blocks_read0 ELSE 0 END AS blocks_read,
                                        CASE WHEN f.same THEN f.blocks_dirtied0 ELSE 0 END AS blocks_dirtied, CASE WHEN f.same THEN f.blocks_written0 ELSE 0 END AS blocks_written,
                                        CASE WHEN f.same THEN f.read_ms0 ELSE 0 END AS read_ms, CASE WHEN f.same THEN f.wal_records0 ELSE 0 END AS wal_records,
                                        CASE WHEN f.same THEN f.wal_fpi0 ELSE 0 END AS wal_fpi, CASE WHEN f.same THEN f.wal_bytes0 ELSE 0 END AS wal_bytes) z
             WHERE (f.same OR f.fresh) AND f.calls > z.calls
        ), written AS (
            INSERT INTO ff_internal.statement_history (statement_id, began_at, ended_at, statement_epoch_id, calls, rows, total_ms, stddev_ms,
                   blocks_hit, blocks_read, blocks_dirtied, blocks_written, read_ms, wal_records, wal_fpi, wal_bytes)
            SELECT d.statement_id, $2, $4, $1, sum(d.calls), sum(d.rows), sum(d.total_ms),
                   sqrt(greatest(sum(d.deviation + d.total_ms ^ 2 / d.calls) / sum(d.calls)::double precision - (sum(d.total_ms) / sum(d.calls)::double precision) ^ 2, 0)),
                   sum(d.blocks_hit), sum(d.blocks_read), sum(d.blocks_dirtied), sum(d.blocks_written), sum(d.read_ms),
                   sum(d.wal_records), sum(d.wal_fpi), least(sum(d.wal_bytes), 9223372036854775807)
              FROM differences d WHERE $2 IS NOT NULL GROUP BY d.statement_id
        ), baselines AS (
            INSERT INTO ff_internal.statement_baseline AS b (statement_id, userid, statement_epoch_id, seen_at, entered_at, calls, rows, total_ms, stddev_ms,
                   min_ms, max_ms, blocks_hit, blocks_read, blocks_dirtied, blocks_written, read_ms, wal_records, wal_fpi, wal_bytes)
            SELECT f.statement_id, f.userid, $1, $4, f.entered_at, f.calls, f.rows, f.total_ms, f.stddev_ms,
                   f.min_ms, f.max_ms, f.blocks_hit, f.blocks_read, f.blocks_dirtied, f.blocks_written, f.read_ms, f.wal_records, f.wal_fpi, f.wal_bytes
              FROM followed f WHERE NOT f.same OR f.calls > f.calls0
            ON CONFLICT (statement_id, userid) DO UPDATE
               SET statement_epoch_id = EXCLUDED.statement_epoch_id, seen_at = EXCLUDED.seen_at, entered_at = EXCLUDED.entered_at,
                   calls = EXCLUDED.calls, rows = EXCLUDED.rows, total_ms = EXCLUDED.total_ms, stddev_ms = EXCLUDED.stddev_ms,
                   min_ms = EXCLUDED.min_ms, max_ms = EXCLUDED.max_ms, blocks_hit = EXCLUDED.blocks_hit, blocks_read = EXCLUDED.blocks_read,
                   blocks_dirtied = EXCLUDED.blocks_dirtied, blocks_written = EXCLUDED.blocks_written, read_ms = EXCLUDED.read_ms,
                   wal_records = EXCLUDED.wal_records, wal_fpi = EXCLUDED.wal_fpi, wal_bytes = EXCLUDED.wal_bytes
        ), forgotten AS (
            -- writes nothing and is evicted: it need not be remembered
            DELETE FROM ff_internal.statement s
             WHERE s.kind = 'other' AND NOT EXISTS (SELECT 1 FROM look l WHERE l.queryid = s.queryid AND l.toplevel = s.toplevel)
        ), idle AS (
            UPDATE ff_internal.statement s SET closed_at = $4
             WHERE s.closed_at IS NULL AND s.kind <> 'other' AND s.opened_at < $4 - interval '7 days'
               AND NOT EXISTS (SELECT 1 FROM look l WHERE l.queryid = s.queryid AND l.toplevel = s.toplevel)
               AND NOT EXISTS (SELECT 1 FROM ff_internal.statement_baseline b WHERE b.statement_id = s.statement_id AND b.seen_at > $4 - interval '7 days')
        )
        SELECT (SELECT count(*) FROM look), (SELECT count(*) FROM look WHERE queryid IS NULL),
               (SELECT count(DISTINCT statement_id) FROM followed),
               (SELECT count(*) FROM followed WHERE known AND statement_epoch_id = $1 AND NOT same AND NOT fresh)
        $q$, source.counters)
       INTO entries, hidden, tracked, lost
      USING epoch.statement_epoch_id, previous.snapshot_at, coalesce(previous.left_out = 0 AND previous.hidden = 0, false), at, told.evictions;

    DELETE FROM ff_internal.statement_baseline b
     USING ff_internal.statement s WHERE s.statement_id = b.statement_id AND s.closed_at IS NOT NULL;

    INSERT INTO ff_internal.statement_snapshot (collection_id, snapshot_at, statement_epoch_id, evictions, entries, hidden, tracked, admitted, left_out, lost, texts_reason)
    VALUES (id, at, epoch.statement_epoch_id, told.evictions, entries, hidden, tracked, admitted, left_out + unread, lost, texts_why);
    RETURN NULL;
END
$$;

-- Writes down an error of collect_statements().
CREATE FUNCTION ff_internal.collect_statements_failed(id bigint, why text) RETURNS void
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    INSERT INTO ff_internal.statement_snapshot (collection_id, snapshot_at, reason) VALUES (id, clock_timestamp(), why)
$$;

-- ---------------------------------------------------------------------------
-- Prune
-- ---------------------------------------------------------------------------
-- One batch of prune() for the statement history, by the same rules.
CREATE FUNCTION ff_internal.prune_statements(batch bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    oldest  CONSTANT timestamptz := clock_timestamp() - make_interval(secs => ff_internal.setting('retention')::integer);
    step    record;
    removed bigint := 0;
    n       bigint;
BEGIN
    DELETE FROM ff_internal.statement_history h
     WHERE h.ctid = ANY (ARRAY(SELECT o.ctid FROM ff_internal.statement_history o, (VALUES (0), (1), (2)) g(rollup)
                                WHERE o.rollup = g.rollup AND o.ended_at < oldest LIMIT batch));
    GET DIAGNOSTICS n = ROW_COUNT;  removed := removed + n;

    -- after a day by the hour, after two weeks by the day
    -- (UTC, so that all sessions agree; a volatile bound would have the index read whole)
    FOR step IN SELECT v.*, date_trunc(v.unit, clock_timestamp() - v.age, 'UTC') AS before
                  FROM (VALUES (0, 'hour', interval '1 day'), (1, 'day', interval '14 days')) v(rollup, unit, age) LOOP
        WITH taken AS (
            DELETE FROM ff_internal.statement_history h
             WHERE h.ctid = ANY (ARRAY(SELECT o.ctid FROM ff_internal.statement_history o
                                        WHERE o.rollup = step.rollup AND o.ended_at < step.before
                                        ORDER BY o.ended_at LIMIT greatest(batch - removed, 0)))
            RETURNING *
        ), rolled AS (
            INSERT INTO ff_internal.statement_history (statement_id, began_at, ended_at, statement_epoch_id, rollup, calls, rows, total_ms, stddev_ms,
                   blocks_hit, blocks_read, blocks_dirtied, blocks_written, read_ms, wal_records, wal_fpi, wal_bytes)
            SELECT t.statement_id, min(t.began_at), max(t.ended_at), t.statement_epoch_id, step.rollup + 1, sum(t.calls), sum(t.rows), sum(t.total_ms),
                   sqrt(greatest(sum(t.calls * t.stddev_ms ^ 2 + t.total_ms ^ 2 / t.calls) / sum(t.calls)::double precision
                                 - (sum(t.total_ms) / sum(t.calls)::double precision) ^ 2, 0)),
                   sum(t.blocks_hit), sum(t.blocks_read), sum(t.blocks_dirtied), sum(t.blocks_written), sum(t.read_ms),
                   sum(t.wal_records), sum(t.wal_fpi), sum(t.wal_bytes)
              FROM taken t GROUP BY t.statement_id, t.statement_epoch_id, date_trunc(step.unit, t.ended_at, 'UTC')
        )
        SELECT count(*) INTO n FROM taken;
        removed := removed + n;
    END LOOP;

    DELETE FROM ff_internal.statement_snapshot l
     WHERE l.collection_id = ANY (ARRAY(SELECT o.collection_id FROM ff_internal.statement_snapshot o WHERE o.snapshot_at < oldest ORDER BY o.snapshot_at LIMIT greatest(batch - removed, 0)));
    GET DIAGNOSTICS n = ROW_COUNT;  removed := removed + n;
    WITH gone AS (
        DELETE FROM ff_internal.statement s
         WHERE s.closed_at IS NOT NULL
           AND NOT EXISTS (SELECT 1 FROM ff_internal.statement_history h WHERE h.statement_id = s.statement_id)
        RETURNING s.statement_id
    )
    DELETE FROM ff_internal.statement_target t USING gone WHERE t.statement_id = gone.statement_id;
    RETURN removed;
END
$$;

-- ---------------------------------------------------------------------------
-- What came of it
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_statements(relation regclass DEFAULT NULL)
RETURNS TABLE (
    relation regclass,
    command text,
    how text,
    columns text[],
    calls bigint,
    calls_per_s double precision,
    rows bigint,
    rows_per_call double precision,
    mean_ms double precision,
    stddev_ms double precision,
    blocks_per_call double precision,
    wal_bytes_per_call double precision,
    statement_id bigint,
    queryid bigint,
    query text,
    reason text
)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH looked AS MATERIALIZED (
        SELECT * FROM ff_internal.statement_snapshot ORDER BY collection_id DESC LIMIT 1
    ), looks AS MATERIALIZED (
        SELECT l.statement_epoch_id, min(l.snapshot_at) AS first, max(l.snapshot_at) AS last,
               max(l.evictions) - min(l.evictions) AS evictions, sum(l.lost) AS lost
          FROM ff_internal.statement_snapshot l
         WHERE l.reason IS NULL AND l.snapshot_at > now() - make_interval(secs => ff_internal.setting('lookback')::integer)
         GROUP BY l.statement_epoch_id
    ), span AS MATERIALIZED (
        -- the part of the window in which statements were looked at
        SELECT extract(epoch FROM max(l.last) - min(l.first))::double precision AS seconds, sum(l.evictions) AS evictions, sum(l.lost) AS lost
          FROM looks l
    ), total AS MATERIALIZED (
        SELECT h.statement_id, sum(h.calls)::bigint AS calls, sum(h.rows)::bigint AS rows, sum(h.total_ms) AS total_ms,
               sqrt(greatest(sum(h.calls * h.stddev_ms ^ 2 + h.total_ms ^ 2 / h.calls) / sum(h.calls)::double precision
                             - (sum(h.total_ms) / sum(h.calls)::double precision) ^ 2, 0)) AS stddev_ms,
               sum(h.blocks_hit + h.blocks_read)::double precision AS blocks, sum(h.wal_bytes)::double precision AS wal_bytes
          FROM ff_internal.statement_history h
         WHERE h.ended_at > now() - make_interval(secs => ff_internal.setting('lookback')::integer)
         GROUP BY h.statement_id
    )
    SELECT c.oid::regclass, t.command, t.how, t.columns,
           s.calls, s.calls / nullif(p.seconds, 0), CASE WHEN t.how IS DISTINCT FROM 'cte' THEN s.rows END,
           CASE WHEN t.how IS DISTINCT FROM 'cte' THEN s.rows::double precision / s.calls END,
           s.total_ms / s.calls, s.stddev_ms, s.blocks / s.calls, s.wal_bytes / s.calls,
           q.statement_id, q.queryid, q.text, coalesce(q.reason, t.reason)
      FROM total s
      JOIN ff_internal.statement q ON q.statement_id = s.statement_id AND q.kind <> 'other'
      LEFT JOIN ff_internal.statement_target t ON t.statement_id = s.statement_id
      LEFT JOIN pg_class c ON c.oid = t.relid AND q.closed_at IS NULL
     CROSS JOIN span p
     WHERE $1 IS NULL
        OR c.oid = $1
        OR c.oid IN (SELECT a.relid FROM pg_partition_ancestors($1) a)
    UNION ALL
    SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, w.reason
      FROM (SELECT CASE WHEN l.collection_id IS NULL THEN 'nothing was collected yet: CALL ff_collect()'
                        ELSE l.reason END AS reason
              FROM (VALUES (1)) v LEFT JOIN looked l ON true
            UNION ALL
            SELECT format('%s statements of other roles are hidden from the collecting role: GRANT pg_read_all_stats to it', l.hidden)
              FROM looked l WHERE l.hidden > 0
            UNION ALL
            SELECT format('%s more statements that write are not followed: raise fillfactor_advisor.statements', l.left_out)
              FROM looked l WHERE l.left_out > 0 AND l.texts_reason IS NULL
            UNION ALL
            SELECT format('%s new statements are not followed, because texts of pg_stat_statements cannot be read (%s): one is lost or damaged, or is another database''s and does not fit this one''s encoding; pg_stat_statements_reset() removes it', l.left_out, l.texts_reason)
              FROM looked l WHERE l.texts_reason IS NOT NULL
            UNION ALL
            SELECT format('pg_stat_statements had no room and evicted the least called statements (%s times in the window): what these did is missing: raise pg_stat_statements.max', p.evictions)
              FROM span p WHERE p.evictions > 0
            UNION ALL
            SELECT format('%s intervals of statements are missing, because their counters began anew', p.lost)
              FROM span p WHERE p.lost > 0) w
     WHERE w.reason IS NOT NULL
     ORDER BY 5 DESC NULLS LAST, 13, 2
$$;
COMMENT ON FUNCTION @extschema@.ff_statements(regclass) IS 'The statements that write a table, over the recent window, one row for each table and command. Columns: relation: NULL where it is not known, see reason; command; how: where in the statement it stands (top, on_conflict, merge, cte); columns: those an UPDATE sets; calls; calls_per_s; rows: rows of the statement, NULL for the targets of its WITH queries, which are not counted; rows_per_call; mean_ms, stddev_ms: execution time, milliseconds, mean and standard deviation over the window; blocks_per_call: shared blocks hit or read; wal_bytes_per_call: bytes; statement_id: key of its history; queryid: as in pg_stat_statements; query: its text, the first 4000 characters; reason: why the table is not known, or, in a row of its own, what is missing altogether.';
