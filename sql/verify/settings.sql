-- Settings that belong to the same problem. All numbers come from this server. A change without a
-- measurement is at most a trial, which ff_verify() judges.

CREATE VIEW ff_internal.table_proposal AS
SELECT c.relid::regclass AS relation, c.reloptions AS old, n.*,
       format('%s of %s rows are dead and needed by nobody (%s %%); autovacuum starts at %s', round(p.removable),
              round(p.total), round(100 * p.removable / p.total), round(l.starts_at)) AS evidence,
       CASE WHEN o.enabled AND p.removable >= l.starts_at THEN 'a vacuum is due; if it stays so, see '
                 'autovacuum_max_workers and autovacuum_vacuum_cost_limit'
            WHEN o.enabled AND o.scale <= 0.01 THEN 'low already' END AS obstacle
  FROM ff_internal.user_table c
  JOIN ff_internal.followed r ON r.relid = c.relid
 CROSS JOIN LATERAL (
    SELECT s.sampled_at, s.live_rows, s.live_rows + s.dead_rows AS total,
           s.dead_rows - s.recently_dead_rows AS removable
      FROM ff_internal.page_sample s WHERE s.rel_id = r.rel_id ORDER BY s.sampled_at DESC LIMIT 1) p
 CROSS JOIN LATERAL ff_internal.autovacuum(c.reloptions) o
 CROSS JOIN LATERAL (SELECT least(o.most, o.threshold +
                             o.scale * coalesce(nullif(c.reltuples, 0), p.live_rows))) l(starts_at)
 CROSS JOIN LATERAL (VALUES
    (NOT o.enabled, 'autovacuum_enabled', 'true', 'change',
     'autovacuum is off for this table, so its dead rows stay'),
    (o.enabled, 'autovacuum_vacuum_scale_factor',
     CASE WHEN o.scale > 0.05 THEN '0.05' WHEN o.scale > 0.02 THEN '0.02' ELSE '0.01' END, 'trial',
     'dead rows take room that updates could use, and vacuum is not due yet; each reads the indexes')
    ) n(applies, name, wanted, action, why)
 -- both chosen
 WHERE n.applies AND c.not_examined IS NULL AND p.removable >= 0.1 * p.total AND p.total >= 10000
   -- due, and no vacuum came since; in a mirror they are counted at each collection
   AND (o.enabled AND p.removable >= l.starts_at
        AND p.sampled_at < greatest(pg_stat_get_last_vacuum_time(c.relid), pg_stat_get_last_autovacuum_time(c.relid))
        AND NOT EXISTS (SELECT FROM ff_internal.observed)) IS NOT TRUE;
COMMENT ON VIEW ff_internal.table_proposal IS
'Tables with many dead rows that no snapshot needs, and the option that could help (wanted). obstacle: why nothing '
'should change; why: the reason for the change. old: all options of the table.';

-- The same for the server's settings.
CREATE FUNCTION ff_internal.server_proposals()
RETURNS TABLE (place integer, name text, wanted text, action text, evidence text, obstacle text, why text)
LANGUAGE sql VOLATILE ROWS 20
AS $$
    SELECT p.*
           -- all chosen: bytes needed to judge WAL; a large share of page images, percent; longest timeout, minutes
      FROM (SELECT 1e8, 50, 10) k(enough_wal, images_pct, most_min),
           ff_internal.server v,
           LATERAL (SELECT l.wal_bytes, l.wal_fpi, l.stats_reset FROM pg_stat_wal l WHERE v.observed IS NULL
                    UNION ALL
                    SELECT coalesce(l.bytes, 0), l.fpi, l.reset
                      FROM jsonb_to_record(v.observed->'wal') l(bytes numeric, fpi bigint, reset timestamptz)
                     WHERE v.observed IS NOT NULL) w,
           (SELECT jsonb_object_agg(s.name, s.reset_val), bool_or('lz4' = ANY (s.enumvals))
              FROM ff_internal.server_settings s WHERE s.name ~ '^(track_io|wal_comp|idle_in|autovacuum$)') s(own, lz4),
           LATERAL (
               SELECT count(*), max(extract(epoch FROM o.last_seen_at - o.since)),
                      (array_agg(o.role_name ORDER BY o.last_seen_at - o.since DESC))[1]
                 FROM ff_internal.horizon_history o
                WHERE o.kind = 'idle in transaction' AND o.last_seen_at - o.since >= interval '1 min'
                  AND o.last_seen_at > now() - ff_internal.lookback()
                  AND o.last_seen_at >= (SELECT ff_internal.observed_since())) i(n, seconds, role),
           -- an upper bound: an image is at most one page
           LATERAL (SELECT round(100 * least(1, w.wal_fpi * 8192 / nullif(w.wal_bytes, 0))),
                           -- would have ended the longest at half of its time; at least a minute
                           greatest(1, least(k.most_min, floor(i.seconds / 120)))) f(images_pct, minutes),
           LATERAL (VALUES
        (20, 'track_io_timing', 'on', 'trial', 'the clock was not timed: the program pg_test_timing does it',
         CASE WHEN s.own ->> 'track_io_timing' = 'on' THEN 'on already: the cost of a page read is measured' END,
         'the cost of a page read can be measured instead of assumed; not for a server where pg_test_timing shows more '
         'than about 500 ns for a reading of the clock'),
        (30, 'wal_compression', CASE WHEN s.lz4 THEN 'lz4' ELSE 'on' END, 'trial',
         format('%s of WAL since %s, at most %s %% of it full-page images', pg_size_pretty(w.wal_bytes),
                ff_internal.minute(w.stats_reset), f.images_pct),
         CASE WHEN s.own ->> 'wal_compression' <> 'off' THEN 'on already'
              WHEN w.wal_bytes < k.enough_wal THEN 'too little WAL yet to judge'
              WHEN f.images_pct < k.images_pct THEN 'less than half of the WAL is full-page images' END,
         'full-page images may be most of the WAL; they compress, for CPU time at first changes after a checkpoint'),
        (40, 'idle_in_transaction_session_timeout', f.minutes || 'min', 'trial',
         CASE WHEN i.n = 0 THEN 'no collection saw a session that held a snapshot idle in transaction for a minute'
              ELSE format('%s idle in transaction held a snapshot for a minute, the longest (role %s) for %s',
                          ff_internal.counted(i.n, 'session'), coalesce(quote_ident(i.role), 'unknown'),
                          ff_internal.span(i.seconds)) END,
         CASE WHEN (s.own ->> 'idle_in_transaction_session_timeout')::bigint BETWEEN 1 AND 60000 * f.minutes
              THEN 'set already'
              WHEN i.n = 0 THEN 'no collection saw one' END,
         'what such a session could see cannot be pruned, see ff_horizon(); the server then ends such sessions'),
        (50, 'autovacuum', 'on', 'change', 'it is ' || (s.own ->> 'autovacuum'),
         CASE WHEN s.own ->> 'autovacuum' = 'on' THEN 'as it should be' END,
         'without it, dead index entries and old versions stay, and transaction IDs run out')
        ) p(place, name, wanted, action, evidence, obstacle, why)
$$;

CREATE FUNCTION @extschema@.ff_settings()
RETURNS TABLE (setting text, relation regclass, current_value text, proposed_value text, action text, evidence text,
               reason text, ddl text, undo text)
LANGUAGE plpgsql VOLATILE ROWS 20
SET jit = off
AS $$
#variable_conflict use_column
BEGIN
    PERFORM ff_internal.check_role('reader');
    PERFORM ff_internal.warn_unless_seen();
    RETURN QUERY
    WITH tried AS MATERIALIZED (
        -- the last change of each setting and its verdict
        SELECT c.setting, c.old_value, j.verdict = 'hurt' AS hurt,
               format('Changed: %s, seen %s; ff_verify(): %s: %s', c.change, ff_internal.minute(c.seen_at), j.verdict,
                      j.note) AS words
          FROM (SELECT DISTINCT ON (h.setting) h.* FROM ff_internal.changes h
                 WHERE h.rel_id IS NULL ORDER BY h.setting, h.seen_at DESC) c
         CROSS JOIN LATERAL ff_internal.verdict_of(c) j
         WHERE j.place = 0
    ), one AS (
        SELECT p.place, p.name, NULL::regclass AS relation, ff_internal.server_setting(p.name) AS shown,
               CASE WHEN t.hurt THEN ff_internal.setting_shown(t.old_value, s.unit) ELSE p.wanted END AS wanted,
               CASE WHEN t.hurt THEN 'change' ELSE p.action END AS action, p.evidence,
               CASE WHEN t.hurt IS NOT TRUE THEN p.obstacle || coalesce('. ' || t.words, '') END AS obstacle,
               concat_ws('. ', CASE WHEN t.hurt IS NOT TRUE THEN p.why END, t.words,
                         CASE WHEN v.observed IS NOT NULL THEN 'On a managed service, set it in its configuration: '
                              'ALTER SYSTEM is refused there' END) AS why,
               CASE WHEN t.hurt THEN ff_internal.undo_setting(p.name, t.old_value)
                    ELSE format('ALTER SYSTEM SET %I = %L; SELECT pg_reload_conf();', p.name, p.wanted) END AS ddl,
               ff_internal.undo_setting(p.name, s.reset_val) AS undo
          FROM ff_internal.server_proposals() p
          JOIN ff_internal.server_settings s USING (name)
          LEFT JOIN tried t ON t.setting = p.name
         CROSS JOIN ff_internal.server v
        UNION ALL
        SELECT 60, t.name, t.relation,
               coalesce((SELECT u.option_value FROM pg_options_to_table(t.old) u WHERE u.option_name = t.name),
                        ff_internal.server_setting(t.name) || ' (system)'),
               t.wanted, t.action, t.evidence, t.obstacle, t.why,
               ff_internal.alter_options(t.relation, w.option),
               ff_internal.restore_options(t.relation, t.old, ff_internal.options_after(t.old, w.option), 'options')
          FROM ff_internal.table_proposal t
         CROSS JOIN LATERAL (SELECT ARRAY[t.name || '=' || t.wanted]) w(option)
    )
    SELECT o.name, o.relation, o.shown, n.wanted, coalesce(n.action, 'leave'), o.evidence,
           coalesce(o.obstacle, o.why) || '.', n.ddl, n.undo
      FROM one o LEFT JOIN LATERAL (SELECT o.* WHERE o.obstacle IS NULL) n ON true
     ORDER BY o.obstacle <> '' NULLS FIRST, o.place, o.relation::oid, o.name;
END
$$;
COMMENT ON FUNCTION @extschema@.ff_settings() IS
'Settings that belong to the same problem as fillfactor, one row each, even if nothing should change.
relation: the table, NULL for the whole server. proposed_value: NULL: none. evidence: numbers from this server.
action: change (useful whatever is measured, or the last change hurt), trial (may help: let ff_verify() judge it), '
'leave.
reason: why, and what ff_verify() found about the last change. ddl, undo: the statements that set it and that restore '
'the current state; NULL for leave. Run them one by one: ALTER SYSTEM cannot run in a transaction block.';
