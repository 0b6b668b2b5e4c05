
-- Stage settings: server settings that belong to the same problem.  Each row
-- has its numbers from this server; where nothing was measured, a change is at
-- most a trial, and ff_verify() says what came of it.

-- Time that one reading of the clock takes here, nanoseconds, roughly (the call itself excluded); pg_test_timing
-- measures it exactly.
CREATE FUNCTION ff_internal.clock_ns() RETURNS double precision
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- the quickest of some rounds counts, so that a busy machine does not look like a
    -- slow clock; all of them together take some milliseconds
    readings CONSTANT integer := 4000;
    began    timestamptz;
    middle   timestamptz;
    with_it  interval;
    without  interval;
BEGIN
    FOR round IN 1 .. 7 LOOP
        began := clock_timestamp();
        PERFORM count(clock_timestamp()) FROM generate_series(1, readings);
        middle := clock_timestamp();
        PERFORM count(i) FROM generate_series(1, readings) i;
        with_it := least(with_it, middle - began);
        without := least(without, clock_timestamp() - middle);
    END LOOP;
    RETURN greatest(extract(epoch FROM with_it - without) * 1e9 / readings, 0);
END
$$;

-- How far each sampled table is from its next autovacuum: live and dead rows of the last sample (removable_rows
-- without those that a snapshot still needs), the dead rows at which autovacuum starts, its scale factor, whether it
-- is enabled for the table, and vacuums in the window of window_s seconds.
CREATE FUNCTION ff_internal.vacuum_lag()
RETURNS TABLE (
    relation       regclass,
    reloptions     text[],
    live_rows      double precision,
    dead_rows      double precision,
    removable_rows double precision,
    starts_at      double precision,
    scale_factor   double precision,
    enabled        boolean,
    vacuums        bigint,
    window_s       double precision
)
LANGUAGE sql STABLE ROWS 100
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
    WITH own AS (
        SELECT c.relid, c.reloptions, c.reltuples, r.rel_id,
               (SELECT max(split_part(o, '=', 2)) FROM unnest(c.reloptions) o WHERE o ~* '^autovacuum_vacuum_scale_factor=')::double precision AS scale_factor,
               (SELECT max(split_part(o, '=', 2)) FROM unnest(c.reloptions) o WHERE o ~* '^autovacuum_vacuum_threshold=')::double precision AS threshold,
               -- as parse_bool reads it
               NOT EXISTS (SELECT 1 FROM unnest(c.reloptions) o WHERE o ~* '^autovacuum_enabled=(of|n|f|0)') AS enabled
          FROM ff_internal.candidate c
          JOIN ff_internal.relation r ON r.relid = c.relid AND r.closed_at IS NULL
         WHERE c.not_examined IS NULL
    )
    SELECT o.relid::regclass, o.reloptions, p.live_rows, p.dead_rows, p.dead_rows - p.recently_dead_rows,
           coalesce(o.threshold, current_setting('autovacuum_vacuum_threshold')::double precision)
               + coalesce(o.scale_factor, current_setting('autovacuum_vacuum_scale_factor')::double precision) * CASE WHEN o.reltuples > 0 THEN o.reltuples ELSE p.live_rows END,
           coalesce(o.scale_factor, current_setting('autovacuum_vacuum_scale_factor')::double precision), o.enabled, i.vacuums, i.window_s
      FROM own o
     CROSS JOIN LATERAL (SELECT s.live_rows, s.dead_rows, s.recently_dead_rows FROM ff_internal.page_sample s
                          WHERE s.rel_id = o.rel_id ORDER BY s.sampled_at DESC LIMIT 1) p
     CROSS JOIN LATERAL (SELECT coalesce(sum(v.vacuums), 0)::bigint AS vacuums, extract(epoch FROM max(v.ended_at) - min(v.began_at))::double precision AS window_s
                           FROM ff_internal.counter_interval v
                          WHERE v.rel_id = o.rel_id AND v.ended_at > now() - make_interval(secs => ff_internal.setting('lookback')::integer)) i
     WHERE p.live_rows + p.dead_rows > 0
$$;

CREATE FUNCTION @extschema@.ff_settings()
RETURNS TABLE (
    setting        text,
    scope          text,
    relation       regclass,
    current_value  text,
    proposed_value text,
    action         text,
    evidence       text,
    reason         text,
    source         text,
    ddl            text,
    undo           text
)
LANGUAGE sql VOLATILE ROWS 20
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
    -- What counts as much: where page cost is worth measuring, nanoseconds a
    -- reading; full-page images as a share of WAL, and the WAL (bytes) from
    -- which on it is judged; dead rows as a share of a table, and the smallest
    -- table so judged, rows.
    WITH constant AS (
        SELECT 250.0 AS slow_clock_ns, 0.5 AS images_share, 1e8 AS enough_wal, 0.1 AS dead_share, 10000.0 AS enough_rows
    ), present AS MATERIALIZED (
        SELECT s.name, s.reset_val AS value, s.enumvals, current_setting(s.name) AS shown
          FROM pg_settings s
    ), size AS MATERIALIZED (
        SELECT (SELECT sum(z.heap_bytes + coalesce(z.index_bytes, 0) + coalesce(z.toast_bytes, 0))
                  FROM ff_internal.candidate c CROSS JOIN LATERAL ff_internal.sizes(c.relid) z WHERE c.not_examined IS NULL)::double precision AS data,
               ff_internal.ram_bytes()::double precision AS ram,
               (SELECT p.value::double precision * current_setting('block_size')::integer FROM present p WHERE p.name = 'shared_buffers') AS buffers,
               (SELECT sum(h.blocks_written)::double precision FROM ff_internal.statement_history h
                 WHERE h.ended_at > now() - make_interval(secs => ff_internal.setting('lookback')::integer)) AS written,
               (SELECT sum(h.blocks_dirtied)::double precision FROM ff_internal.statement_history h
                 WHERE h.ended_at > now() - make_interval(secs => ff_internal.setting('lookback')::integer)) AS dirtied,
               version() ~* 'linux' AS linux
    ), clock AS MATERIALIZED (
        SELECT ff_internal.clock_ns() AS ns
    ), wal AS MATERIALIZED (
        SELECT w.wal_records AS records, w.wal_fpi AS images, w.wal_bytes::double precision AS bytes,
               least(1, w.wal_fpi * current_setting('block_size')::double precision / nullif(w.wal_bytes, 0)::double precision) AS most_share, w.stats_reset
          FROM pg_stat_wal w
    ), idle AS MATERIALIZED (
        SELECT count(*) AS held, max(h.held_s) AS longest_s, sum(h.lost_hot) AS lost_hot, (array_agg(h.role_name ORDER BY h.held_s DESC))[1] AS role_name
          FROM @extschema@.ff_horizon() h WHERE h.kind = 'idle in transaction' AND h.held_s >= 60
    ), lag AS MATERIALIZED (
        SELECT l.*, n.nspname, c.relname FROM ff_internal.vacuum_lag() l JOIN pg_class c ON c.oid = l.relation JOIN pg_namespace n ON n.oid = c.relnamespace
    ), tried AS MATERIALIZED (
        -- the last change of a setting, and what came of it
        SELECT c.setting AS name, c.old_value, c.seen_at, j.verdict, j.note
          FROM (SELECT DISTINCT ON (h.setting) h.* FROM ff_internal.setting_changes() h ORDER BY h.setting, h.seen_at DESC) c
         CROSS JOIN LATERAL ff_internal.judged(NULL, 'setting', c.before_at, c.seen_at, c.epoch_id) j
         WHERE j.place = 0
    ), proposal AS (
        -- backend_flush_after
        SELECT 10 AS n, 'backend_flush_after' AS name, NULL::regclass AS relation,
               CASE WHEN p.value = '0' AND z.linux AND z.data > greatest(z.ram, z.buffers) THEN '2MB' END AS proposed, 'trial' AS how,
               concat(CASE WHEN z.data > 0 THEN 'tables and indexes of this database ' || pg_size_pretty(z.data::bigint) ELSE 'no table with pages in this database yet' END,
                      ', memory ' || coalesce(pg_size_pretty(z.ram::bigint), 'unknown'), ' (' || round((nullif(z.data, 0) / nullif(z.ram, 0))::numeric, 2) || ' times)',
                      ', shared_buffers ' || pg_size_pretty(z.buffers::bigint))
                   || CASE WHEN z.dirtied > 0 THEN format('; statements wrote %s pages out themselves and dirtied %s', z.written, z.dirtied) ELSE '' END AS evidence,
               CASE WHEN NOT z.linux THEN 'it acts on Linux only'
                    WHEN p.value <> '0' THEN 'set already; ff_verify() judges it once statements were seen before and after the change'
                    WHEN z.data > 0 IS NOT TRUE THEN 'no table here yet'
                    WHEN z.data <= z.buffers THEN 'the data fit shared_buffers, where it was seen to change nothing'
                    WHEN z.data <= z.ram THEN 'the data fit memory, so evicted pages are seldom waited for'
                    ELSE 'the data are larger than memory: a backend that evicts dirty pages may cause bursts of writing, which this spreads. Measurements disagree, so try it and let ff_verify() judge mean and standard deviation' END AS reason,
               'PostgreSQL documentation, "Resource Consumption", Asynchronous Behavior; published measurement with a working set of 4 times RAM: 2 MB gave -4.4 % mean and -27 % standard deviation of update time, nothing where the data fit shared_buffers; three paired runs of 60 s elsewhere showed no consistent effect' AS source
          FROM present p, size z WHERE p.name = 'backend_flush_after'
        UNION ALL
        -- track_io_timing
        SELECT 20, 'track_io_timing', NULL,
               CASE WHEN p.value = 'off' AND c.ns <= k.slow_clock_ns THEN 'on' END, 'change',
               format('one reading of the clock takes %s ns here', round(c.ns::numeric)),
               CASE WHEN p.value = 'on' THEN 'on already: the cost of a page read is measured'
                    WHEN c.ns <= k.slow_clock_ns THEN 'the cost of a page read can be measured instead of assumed, for two readings of the clock a page read; it makes nothing faster by itself'
                    ELSE 'the clock is slow here: two readings a page read would cost too much' END,
               'PostgreSQL documentation, "Run-time Statistics", and pg_test_timing'
          FROM present p, clock c, constant k WHERE p.name = 'track_io_timing'
        UNION ALL
        -- wal_compression
        SELECT 30, 'wal_compression', NULL,
               CASE WHEN p.value = 'off' AND w.bytes >= k.enough_wal AND w.most_share >= k.images_share
                    THEN CASE WHEN 'lz4' = ANY (p.enumvals) THEN 'lz4' ELSE 'on' END END, 'trial',
               format('%s of WAL since %s, %s records, %s full-page images: at most %s %% of it', pg_size_pretty(w.bytes::bigint), to_char(w.stats_reset, 'YYYY-MM-DD HH24:MI'),
                      w.records, w.images, round((100 * w.most_share)::numeric)),
               CASE WHEN p.value <> 'off' THEN 'on already'
                    WHEN w.bytes < k.enough_wal THEN 'too little WAL yet to judge'
                    WHEN w.most_share >= k.images_share THEN 'full-page images may be most of the WAL, and they compress; it costs CPU time at every first change of a page after a checkpoint. Rarer checkpoints (checkpoint_timeout, max_wal_size) save them altogether'
                    ELSE 'full-page images are not what the WAL consists of' END,
               'PostgreSQL documentation, "Write Ahead Log" and view pg_stat_wal (an image has at most one page, less its hole)'
          FROM present p, wal w, constant k WHERE p.name = 'wal_compression'
        UNION ALL
        -- idle_in_transaction_session_timeout
        SELECT 40, 'idle_in_transaction_session_timeout', NULL,
               CASE WHEN i.held > 0 AND (p.value = '0' OR p.value::bigint > 600000) THEN '10min' END, 'trial',
               CASE WHEN i.held = 0 THEN 'no session was seen idle in transaction for a minute'
                    ELSE format('%s sessions idle in transaction held a snapshot for a minute or more, the longest (role %s) for %s', i.held, coalesce(quote_ident(i.role_name), 'unknown'), ff_internal.span(i.longest_s))
                         || coalesce(format('; %s updates were not HOT meanwhile that usually are', i.lost_hot), '') END,
               CASE WHEN i.held = 0 THEN 'nothing to cure'
                    WHEN p.value <> '0' AND p.value::bigint <= 600000 THEN 'set already'
                    ELSE 'nothing that such a session could still see can be pruned. The server ends the session when the time is over: the application must bear that, so commit sooner where that is possible; see ff_horizon()' END,
               'PostgreSQL documentation, "Client Connection Defaults", idle_in_transaction_session_timeout, and "Heap-Only Tuples"'
          FROM present p, idle i WHERE p.name = 'idle_in_transaction_session_timeout'
        UNION ALL
        -- autovacuum at all
        SELECT 50, 'autovacuum', NULL, CASE WHEN p.value = 'off' THEN 'on' END, 'change',
               format('autovacuum is %s', p.value),
               CASE WHEN p.value = 'off' THEN 'without it dead index entries and moved rows are never cleaned up, and transaction ids run out' ELSE 'as it should be' END,
               'PostgreSQL documentation, "Routine Vacuuming"'
          FROM present p WHERE p.name = 'autovacuum'
        UNION ALL
        SELECT 60, 'autovacuum_enabled', l.relation, 'true', 'change',
               format('%s dead of %s rows; %s vacuums in %s', round(l.dead_rows::numeric), round((l.live_rows + l.dead_rows)::numeric), l.vacuums, coalesce(ff_internal.span(l.window_s), 'the time since it was first seen')),
               'autovacuum is off for this table and its dead rows stay; if that is on purpose, vacuum it by other means',
               'PostgreSQL documentation, "Routine Vacuuming"'
          FROM lag l, constant k WHERE NOT l.enabled AND l.removable_rows >= k.dead_share * (l.live_rows + l.dead_rows) AND l.live_rows + l.dead_rows >= k.enough_rows
        UNION ALL
        -- scale factor of the tables whose dead rows outpace vacuum
        SELECT 61, 'autovacuum_vacuum_scale_factor', l.relation,
               CASE WHEN l.removable_rows < l.starts_at THEN CASE WHEN l.scale_factor > 0.05 THEN '0.05' WHEN l.scale_factor > 0.02 THEN '0.02' WHEN l.scale_factor > 0.01 THEN '0.01' END END, 'trial',
               format('%s dead rows that nobody can see, of %s rows (%s %%); autovacuum starts at %s; %s vacuums in %s', round(l.removable_rows::numeric), round((l.live_rows + l.dead_rows)::numeric),
                      round((100 * l.removable_rows / (l.live_rows + l.dead_rows))::numeric), round(l.starts_at::numeric), l.vacuums, coalesce(ff_internal.span(l.window_s), 'the time since it was first seen')),
               CASE WHEN l.removable_rows >= l.starts_at THEN 'a vacuum is due already and does not come round: the scale factor is not the reason; see autovacuum_max_workers, autovacuum_naptime and autovacuum_vacuum_cost_limit'
                    WHEN l.scale_factor <= 0.01 THEN 'low already'
                    ELSE 'dead rows take room in pages that updates could use, and vacuum is not due yet. More frequent vacuums read the indexes more often, so ff_verify() should judge it' END,
               'PostgreSQL documentation, "Routine Vacuuming", The Autovacuum Daemon'
          FROM lag l, constant k
         WHERE l.enabled AND l.removable_rows >= k.dead_share * (l.live_rows + l.dead_rows) AND l.live_rows + l.dead_rows >= k.enough_rows
        UNION ALL
        SELECT 62, 'autovacuum_vacuum_scale_factor', NULL, NULL, 'trial',
               format('%s of %s sampled tables have %s %% or more dead rows that could be removed', count(*) FILTER (WHERE l.removable_rows >= k.dead_share * (l.live_rows + l.dead_rows) AND l.live_rows + l.dead_rows >= k.enough_rows),
                      count(l.relation), round(100 * k.dead_share)),
               'single tables that need it are better served one by one', 'PostgreSQL documentation, "Routine Vacuuming", The Autovacuum Daemon'
          FROM constant k LEFT JOIN lag l ON true GROUP BY k.dead_share
        UNION ALL
        -- settings that hold back pruning by themselves; gone in later versions
        SELECT 70, p.name, NULL, CASE WHEN p.value::integer > 0 THEN '0' END, 'change', format('it is %s transactions', p.value),
               CASE WHEN p.value::integer > 0 THEN 'every old row version is kept for so many transactions longer, also by pruning' ELSE 'it holds nothing back' END,
               'PostgreSQL documentation, "Replication", vacuum_defer_cleanup_age (removed in 16)'
          FROM present p WHERE p.name = 'vacuum_defer_cleanup_age'
        UNION ALL
        -- leave as is
        SELECT 80, p.name, NULL, NULL, 'leave', format('it is %s', p.shown), v.why, v.source
          FROM present p
          JOIN (VALUES ('full_page_writes', 'full-page images cost WAL, but without them a torn page cannot be recovered; fewer updates that leave their page and rarer checkpoints write fewer of them', 'PostgreSQL documentation, "Write Ahead Log"'),
                       ('synchronous_commit', 'it decides what a crash may lose, not how updates are stored', 'PostgreSQL documentation, "Write Ahead Log"'),
                       ('hot_standby_feedback', 'on a standby it trades cancelled queries there for versions kept here; see ff_horizon() for what is held back now', 'PostgreSQL documentation, "Replication"'),
                       ('old_snapshot_threshold', 'it ends snapshots by error and was removed in 17; a timeout for idle transactions does less harm', 'PostgreSQL 17 release notes'),
                       ('shared_buffers', 'no measurement here speaks for another size; fewer pages changed by each update relieve it at any size', 'PostgreSQL documentation, "Resource Consumption"')) v(name, why, source) ON v.name = p.name
    ), told AS (
        SELECT o.n, o.name, o.relation, o.evidence, o.source,
               CASE WHEN t.verdict = 'hurt' AND o.relation IS NULL THEN t.old_value ELSE o.proposed END AS proposed,
               CASE WHEN t.verdict = 'hurt' AND o.relation IS NULL THEN 'change' WHEN o.proposed IS NULL THEN 'leave' ELSE o.how END AS action,
               o.reason || CASE WHEN t.verdict IS NOT NULL AND o.relation IS NULL
                                THEN format('. Changed from %s, seen %s; ff_verify(): %s: %s', t.old_value, to_char(t.seen_at, 'YYYY-MM-DD HH24:MI'), t.verdict, t.note) ELSE '' END || '.' AS reason,
               CASE WHEN t.verdict = 'hurt' AND o.relation IS NULL THEN ff_internal.undo_setting(o.name, t.old_value) END AS way_back
          FROM proposal o LEFT JOIN tried t ON t.name = o.name
    )
    SELECT d.name, CASE WHEN d.relation IS NULL THEN 'system' ELSE 'table' END, d.relation,
           CASE WHEN d.relation IS NULL THEN (SELECT p.shown FROM present p WHERE p.name = d.name)
                ELSE coalesce((SELECT max(split_part(o, '=', 2)) FROM lag l, unnest(l.reloptions) o WHERE l.relation = d.relation AND split_part(o, '=', 1) = d.name),
                              (SELECT p.shown || ' (system)' FROM present p WHERE p.name = d.name)) END,
           d.proposed, d.action, d.evidence, d.reason, d.source,
           CASE WHEN d.action = 'leave' THEN NULL
                WHEN d.way_back IS NOT NULL THEN d.way_back
                WHEN d.relation IS NULL THEN format('ALTER SYSTEM SET %I = %L; SELECT pg_reload_conf();', d.name, d.proposed)
                ELSE ff_internal.alter_options(d.relation, ARRAY[d.name || '=' || d.proposed]) END,
           CASE WHEN d.action = 'leave' THEN NULL
                WHEN d.relation IS NULL THEN ff_internal.undo_setting(d.name, (SELECT p.value FROM present p WHERE p.name = d.name))
                ELSE (SELECT ff_internal.restore_options(d.relation, l.reloptions, ff_internal.options_after(l.reloptions, ARRAY[d.name || '=' || d.proposed]), 'options')
                        FROM lag l WHERE l.relation = d.relation) END
      FROM told d
     ORDER BY d.action = 'leave', d.n, d.relation::oid, d.name
$$;
COMMENT ON FUNCTION @extschema@.ff_settings() IS
'Settings that belong to the same problem as fillfactor, one row each, also where nothing should change.
setting; scope: system or table; relation: the table. current_value, proposed_value (NULL: none).
action: change (its use does not depend on a measurement), trial (may help; change it and let ff_verify() judge), leave.
evidence: numbers from this server. reason: why. source: where the rule is from.
ddl, undo: the statements that set it and that restore the present state; NULL for leave. ALTER SYSTEM cannot run in a transaction block: run the statements one by one.
A change that ff_verify() found to have hurt is proposed to be taken back.';
