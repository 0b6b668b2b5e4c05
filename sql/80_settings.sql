-- Stage settings: server settings that belong to the same problem. Each row
-- has its numbers from this server; where nothing was measured, a change is at
-- most a trial, and ff_verify() says what came of it.

-- Nanoseconds that one reading of the clock takes here, roughly (the call itself excluded); pg_test_timing measures it
-- exactly.
CREATE FUNCTION ff_internal.clock_ns() RETURNS double precision
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- the quickest of seven rounds, so that a busy machine does not look like a slow clock; some milliseconds in all
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

-- Sampled tables with many dead rows that no snapshot needs (matters), and how far they are from their next autovacuum:
-- rows and removable ones by the last sample, the dead rows at which autovacuum starts, its scale factor, whether it is
-- enabled for the table, vacuums in the window and its length in words.
CREATE FUNCTION ff_internal.vacuum_lag()
RETURNS TABLE (relation regclass, reloptions text[], total double precision, removable double precision,
               matters boolean, starts_at double precision, scale_factor double precision, enabled boolean,
               vacuums bigint, seen text)
LANGUAGE sql STABLE ROWS 100
SET search_path = pg_catalog, pg_temp
AS $$
    -- removable rows, as a share of all, and rows of the smallest table; both chosen
    WITH constant AS (
        SELECT 0.1 AS dead_share, 10000 AS enough_rows
    )
    SELECT c.relid::regclass, c.reloptions, p.total, p.removable,
           p.removable >= k.dead_share * p.total AND p.total >= k.enough_rows,
           coalesce(o.own ->> 'autovacuum_vacuum_threshold', current_setting('autovacuum_vacuum_threshold'))::numeric
               + f.scale_factor * CASE WHEN c.reltuples > 0 THEN c.reltuples ELSE p.live_rows END,
           -- what is not off, as parse_bool reads it
           f.scale_factor, coalesce(o.own ->> 'autovacuum_enabled', '') !~* '^(of|n|f|0)', i.vacuums,
           coalesce(ff_internal.span(i.window_s), 'the time since it was first seen')
      FROM constant k, ff_internal.candidate c
      JOIN ff_internal.relation r ON r.relid = c.relid AND r.closed_at IS NULL
     CROSS JOIN LATERAL (
           SELECT s.live_rows, s.live_rows + s.dead_rows AS total, s.dead_rows - s.recently_dead_rows AS removable
             FROM ff_internal.page_sample s WHERE s.rel_id = r.rel_id ORDER BY s.sampled_at DESC LIMIT 1) p
     CROSS JOIN LATERAL (
           SELECT jsonb_object_agg(lower(ff_internal.option_name(u)), ff_internal.option_value(u))
             FROM unnest(c.reloptions) u) o(own)
     CROSS JOIN LATERAL (
           SELECT coalesce(o.own ->> n, current_setting(n))::double precision
             FROM (SELECT 'autovacuum_vacuum_scale_factor') x(n)) f(scale_factor)
     CROSS JOIN LATERAL (SELECT coalesce(sum(v.vacuums), 0)::bigint AS vacuums,
                                extract(epoch FROM max(v.ended_at) - min(v.began_at))::double precision AS window_s
                           FROM ff_internal.counter_interval v
                          WHERE v.rel_id = r.rel_id AND v.ended_at > now() - ff_internal.lookback()) i
     WHERE c.not_examined IS NULL AND p.total > 0
$$;

-- What server_proposals() needs to know of this server: its settings, bytes of tables with their indexes, of memory and
-- of shared_buffers, pages that statements wrote and dirtied, nanoseconds a reading of the clock takes, WAL and at most
-- which share of it is full-page images, and sessions that were idle in a transaction for a minute.
CREATE FUNCTION ff_internal.server_facts(
    OUT setting jsonb, OUT data double precision, OUT ram bigint, OUT buffers bigint, OUT written numeric,
    OUT dirtied numeric, OUT clock_ns double precision, OUT wal_bytes numeric, OUT wal_since timestamptz,
    OUT images_pct numeric, OUT idle bigint, OUT idle_s double precision, OUT idle_role name)
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    block CONSTANT integer := current_setting('block_size');
BEGIN
    SELECT jsonb_object_agg(s.name, s.reset_val) INTO setting FROM pg_settings s;
    SELECT sum(z.heap_bytes + coalesce(z.index_bytes, 0) + coalesce(z.toast_bytes, 0)) INTO data
      FROM ff_internal.candidate c CROSS JOIN LATERAL ff_internal.sizes(c.relid) z WHERE c.not_examined IS NULL;
    ram := ff_internal.ram_bytes();
    buffers := (setting ->> 'shared_buffers')::bigint * block;
    SELECT sum(h.blocks_written), sum(h.blocks_dirtied) INTO written, dirtied
      FROM ff_internal.statement_history h WHERE h.ended_at > now() - ff_internal.lookback();
    clock_ns := ff_internal.clock_ns();
    -- an image has at most one page, less its hole
    SELECT w.wal_bytes, w.stats_reset, round(100 * least(1, w.wal_fpi * block::numeric / nullif(w.wal_bytes, 0)))
      INTO wal_bytes, wal_since, images_pct FROM pg_stat_wal w;
    SELECT count(*), max(extract(epoch FROM h.last_seen_at - h.since)),
           (array_agg(h.role_name ORDER BY h.last_seen_at - h.since DESC))[1]
      INTO idle, idle_s, idle_role
      FROM ff_internal.horizon_history h
     WHERE h.kind = 'idle in transaction' AND h.last_seen_at - h.since >= interval '1 min'
       AND h.last_seen_at > now() - ff_internal.lookback();
END
$$;

-- Server settings of this problem: the value that could help (wanted), how sure that is (change, trial), evidence, the
-- obstacle where nothing should change, else why, and the chapter of PostgreSQL's documentation that says so.
CREATE FUNCTION ff_internal.server_proposals()
RETURNS TABLE (place integer, name text, wanted text, action text, evidence text, obstacle text, why text, chapter text)
LANGUAGE sql VOLATILE ROWS 20
SET search_path = pg_catalog, pg_temp
AS $$
    -- Nanoseconds up to which a reading of the clock costs little; bytes of WAL from which on it is judged, and its
    -- share of full-page images that is much; milliseconds of a timeout that is low enough. All chosen.
    WITH constant AS (
        SELECT 250 AS quick_clock_ns, 1e8 AS enough_wal, 50 AS images_pct, 600000 AS low_timeout_ms
    )
    SELECT p.*
      FROM constant k, ff_internal.server_facts() f, LATERAL (VALUES
        (10, 'backend_flush_after', '2MB', 'trial',
         concat(coalesce('tables and indexes of this database ' || pg_size_pretty(nullif(f.data, 0)::bigint),
                         'no table with pages in this database yet'),
                ', memory ', coalesce(pg_size_pretty(f.ram), 'unknown'), ', shared_buffers ', pg_size_pretty(f.buffers),
                '; statements wrote ' || f.written || ' pages out themselves and dirtied ' || f.dirtied),
         CASE WHEN version() !~* 'linux' THEN 'it acts on Linux only'
              WHEN f.setting ->> 'backend_flush_after' <> '0' THEN 'set already'
              WHEN f.data > 0 IS NOT TRUE THEN 'no table here yet'
              WHEN f.data <= f.buffers THEN 'the data fit shared_buffers, where it changes nothing'
              WHEN f.data <= f.ram THEN 'the data fit memory, so evicted pages are seldom waited for' END,
         'the data are larger than memory: backends that evict dirty pages may cause bursts of writing, which this '
         'spreads. Published measurements disagree (mean -4 %, deviation -27 %; elsewhere no effect)',
         'Resource Consumption'),
        (20, 'track_io_timing', 'on', 'change',
         format('one reading of the clock takes %s ns here', round(f.clock_ns)),
         CASE WHEN f.setting ->> 'track_io_timing' = 'on' THEN 'on already: the cost of a page read is measured'
              WHEN f.clock_ns > k.quick_clock_ns THEN 'the clock is slow here: two readings a page cost too much' END,
         'the cost of a page read can be measured instead of assumed, for two readings of the clock; it makes nothing '
         'faster by itself', 'Run-time Statistics'),
        (30, 'wal_compression', (SELECT CASE WHEN 'lz4' = ANY (s.enumvals) THEN 'lz4' ELSE 'on' END
                                   FROM pg_settings s WHERE s.name = 'wal_compression'), 'trial',
         format('%s of WAL since %s, at most %s %% of it full-page images', pg_size_pretty(f.wal_bytes),
                to_char(f.wal_since, 'YYYY-MM-DD HH24:MI'), f.images_pct),
         CASE WHEN f.setting ->> 'wal_compression' <> 'off' THEN 'on already'
              WHEN f.wal_bytes < k.enough_wal THEN 'too little WAL yet to judge'
              WHEN f.images_pct < k.images_pct THEN 'full-page images are not what the WAL consists of' END,
         'full-page images may be most of the WAL, and they compress, for CPU time at the first change of a page after '
         'a checkpoint. Rarer checkpoints (checkpoint_timeout, max_wal_size) save them', 'Write Ahead Log'),
        (40, 'idle_in_transaction_session_timeout', '10min', 'trial',
         CASE WHEN f.idle = 0 THEN 'no session was seen idle in transaction for a minute'
              ELSE format('%s sessions idle in transaction held a snapshot for a minute, the longest (role %s) for %s',
                          f.idle, coalesce(quote_ident(f.idle_role), 'unknown'), ff_internal.span(f.idle_s)) END,
         CASE WHEN f.idle = 0 THEN 'nothing to cure'
              WHEN (f.setting ->> 'idle_in_transaction_session_timeout')::bigint BETWEEN 1 AND k.low_timeout_ms
              THEN 'set already' END,
         'nothing that such a session could still see can be pruned; see ff_horizon(). The server ends the session '
         'when the time is over, so commit sooner where that is possible', 'Client Connection Defaults'),
        (50, 'autovacuum', 'on', 'change', 'autovacuum is ' || (f.setting ->> 'autovacuum'),
         CASE WHEN f.setting ->> 'autovacuum' = 'on' THEN 'as it should be' END,
         'without it dead index entries and old versions stay, and transaction ids run out', 'Routine Vacuuming'),
        (62, 'autovacuum_vacuum_scale_factor', NULL, NULL,
         (SELECT format('%s of %s sampled tables have many dead rows that could be removed',
                        count(*) FILTER (WHERE l.matters), count(*)) FROM ff_internal.vacuum_lag() l),
         'single tables that need it are better served one by one', NULL, 'Routine Vacuuming'),
        (70, 'vacuum_defer_cleanup_age', '0', 'change', NULL,
         CASE WHEN f.setting ->> 'vacuum_defer_cleanup_age' = '0' THEN 'it holds nothing back' END,
         'every old row version is kept for so many transactions longer, also by pruning', 'Replication'),
        (80, 'full_page_writes', NULL, NULL, NULL,
         'without it a torn page cannot be recovered', NULL, 'Write Ahead Log'),
        (81, 'synchronous_commit', NULL, NULL, NULL,
         'it decides what a crash may lose, not how updates are stored', NULL, 'Write Ahead Log'),
        (82, 'hot_standby_feedback', NULL, NULL, NULL,
         'it trades cancelled queries on a standby for versions kept here; see ff_horizon()', NULL, 'Replication'),
        (83, 'shared_buffers', NULL, NULL, NULL,
         'no measurement here speaks for another size', NULL, 'Resource Consumption')
        ) p(place, name, wanted, action, evidence, obstacle, why, chapter)
     WHERE f.setting ? p.name
$$;

-- What ff_settings() says.
CREATE FUNCTION ff_internal.settings()
RETURNS TABLE (setting text, relation regclass, current_value text, proposed_value text, action text, evidence text,
               reason text, source text, ddl text, undo text)
LANGUAGE sql VOLATILE ROWS 20
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
    WITH tried AS MATERIALIZED (
        -- the last change of a setting, and what came of it
        SELECT c.setting, c.old_value, j.verdict, format('Changed from %s, seen %s; ff_verify(): %s: %s', c.old_value,
                      to_char(c.seen_at, 'YYYY-MM-DD HH24:MI'), j.verdict, j.note) AS words
          FROM (SELECT DISTINCT ON (h.setting) h.* FROM ff_internal.setting_changes() h
                 ORDER BY h.setting, h.seen_at DESC) c
         CROSS JOIN LATERAL ff_internal.judged(NULL, 'setting', c.before_at, c.seen_at, c.epoch_id) j
         WHERE j.place = 0
    ), of_server AS (
        SELECT p.place, p.name, s.reset_val, current_setting(p.name) AS shown, p.evidence, p.chapter,
               CASE WHEN t.verdict = 'hurt' THEN t.old_value WHEN p.obstacle IS NULL THEN p.wanted END AS proposed,
               CASE WHEN t.verdict = 'hurt' THEN 'change' ELSE p.action END AS action,
               concat_ws('. ', coalesce(p.obstacle, p.why), t.words) AS reason,
               CASE WHEN t.verdict = 'hurt' THEN ff_internal.undo_setting(p.name, t.old_value) END AS way_back
          FROM ff_internal.server_proposals() p
          JOIN pg_settings s ON s.name = p.name
          LEFT JOIN tried t ON t.setting = p.name
    ), of_table AS (
        SELECT l.*, n.name, l.reloptions AS old,
               format('%s of %s rows are dead and needed by nobody (%s %%); autovacuum starts at %s; %s vacuums in %s',
                      round(l.removable), round(l.total), round(100 * l.removable / l.total), round(l.starts_at),
                      l.vacuums, l.seen) AS evidence,
               CASE WHEN NOT l.enabled THEN NULL
                    WHEN l.removable >= l.starts_at
                    THEN 'a vacuum is due already and does not come round: the scale factor is not the reason; see '
                         'autovacuum_max_workers, autovacuum_naptime and autovacuum_vacuum_cost_limit'
                    WHEN l.scale_factor <= 0.01 THEN 'low already' END AS obstacle,
               CASE WHEN l.enabled
                    THEN 'dead rows take room in pages that updates could use, and vacuum is not due yet. More '
                         'vacuums read the indexes more often, so ff_verify() should judge it'
                    ELSE 'autovacuum is off for this table and its dead rows stay; if that is on purpose, vacuum it by '
                         'other means' END AS why,
               CASE WHEN NOT l.enabled THEN 'true' WHEN l.scale_factor > 0.05 THEN '0.05'
                    WHEN l.scale_factor > 0.02 THEN '0.02' ELSE '0.01' END AS wanted
          FROM ff_internal.vacuum_lag() l
         CROSS JOIN LATERAL (SELECT CASE WHEN l.enabled THEN 'autovacuum_vacuum_scale_factor'
                                         ELSE 'autovacuum_enabled' END) n(name)
         WHERE l.matters
    ), one AS (
        SELECT o.place, o.name, NULL::regclass AS relation, o.shown, o.proposed, o.action, o.reason, o.chapter,
               coalesce(o.evidence, 'it is ' || o.shown) AS evidence,
               coalesce(o.way_back, format('ALTER SYSTEM SET %I = %L; SELECT pg_reload_conf();', o.name, o.proposed))
                   AS ddl,
               ff_internal.undo_setting(o.name, o.reset_val) AS undo
          FROM of_server o
        UNION ALL
        SELECT 60, t.name, t.relation,
               coalesce((SELECT ff_internal.option_value(u) FROM unnest(t.old) u
                          WHERE ff_internal.option_name(u) = t.name), current_setting(t.name, true) || ' (system)'),
               CASE WHEN t.obstacle IS NULL THEN t.wanted END, CASE WHEN t.enabled THEN 'trial' ELSE 'change' END,
               coalesce(t.obstacle, t.why), 'Routine Vacuuming', t.evidence,
               ff_internal.alter_options(t.relation, w.option),
               ff_internal.restore_options(t.relation, t.old, ff_internal.options_after(t.old, w.option), 'options')
          FROM of_table t CROSS JOIN LATERAL (SELECT ARRAY[t.name || '=' || t.wanted]) w(option)
    )
    SELECT o.name, o.relation, o.shown, o.proposed, CASE WHEN o.proposed IS NULL THEN 'leave' ELSE o.action END,
           o.evidence, o.reason || '.', 'PostgreSQL documentation, ' || o.chapter,
           CASE WHEN o.proposed IS NOT NULL THEN o.ddl END, CASE WHEN o.proposed IS NOT NULL THEN o.undo END
      FROM one o
     ORDER BY o.proposed IS NULL, o.place, o.relation::oid, o.name
$$;

CREATE FUNCTION @extschema@.ff_settings()
RETURNS TABLE (setting text, relation regclass, current_value text, proposed_value text, action text, evidence text,
               reason text, source text, ddl text, undo text)
LANGUAGE sql VOLATILE ROWS 20
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT * FROM ff_internal.settings()
$$;
COMMENT ON FUNCTION @extschema@.ff_settings() IS
'Settings that belong to the same problem as fillfactor, one row each, also where nothing should change.
setting; relation: the table, NULL for the whole server. current_value, proposed_value (NULL: none).
action: change (its use does not depend on a measurement), trial (may help; change it and let ff_verify() judge), leave.
evidence: numbers from this server. reason: why; what ff_verify() found of its last change. source: where the rule is '
'from.
ddl, undo: the statements that set it and that restore the present state; NULL for leave. ALTER SYSTEM cannot run in '
'a transaction block: run the statements one by one.
A change that ff_verify() found to have hurt is proposed to be taken back.';
