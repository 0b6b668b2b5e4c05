-- Which sessions, slots and prepared transactions hold back pruning.

-- What holds back pruning of the observed database's tables now; columns as in horizon_history. since: NULL for a slot.
-- doing: of a session's statement its text in the history, or the first word if that is a keyword: no literal.
CREATE FUNCTION ff_internal.horizon_holders(
    OUT kind text, OUT holder text, OUT role_name name, OUT application text, OUT since timestamptz, OUT xids bigint,
    OUT doing text) RETURNS SETOF record
LANGUAGE sql VOLATILE ROWS 10
AS $$
    -- Pruning ignores the snapshots of VACUUM. A WAL sender holds back by hot_standby_feedback without a slot: the
    -- primary knows it, not the standby.
    SELECT CASE WHEN w.sender THEN 'standby feedback'
                WHEN a.state LIKE 'idle in transaction%' THEN 'idle in transaction' ELSE 'transaction' END,
           'pid ' || a.pid, a.usename, a.application_name,
           CASE WHEN w.sender THEN a.backend_start ELSE a.xact_start END,
           greatest(age(a.backend_xmin), age(a.backend_xid))::bigint,
           CASE WHEN NOT w.sender THEN coalesce(
               (SELECT left(regexp_replace(s.text, '[[:cntrl:][:space:]]+', ' ', 'g'), 200)
                  FROM ff_internal.statement s WHERE s.queryid = a.query_id AND s.closed_at IS NULL LIMIT 1),
               (SELECT upper(k.word) FROM pg_get_keywords() k
                 WHERE k.word = lower(substring(a.query FROM '^[\s(]*([A-Za-z]+)') COLLATE "C"))) END
      FROM ff_internal.server v CROSS JOIN pg_stat_activity a
     CROSS JOIN LATERAL (SELECT a.backend_type = 'walsender') w(sender)
     WHERE v.observed IS NULL AND NOT v.in_recovery
       AND CASE WHEN w.sender THEN a.backend_xmin IS NOT NULL
                ELSE a.datname = current_database() AND a.pid <> pg_backend_pid()
                     AND (a.backend_xmin IS NOT NULL OR a.backend_xid IS NOT NULL)
                     AND a.pid NOT IN (SELECT v.pid FROM pg_stat_progress_vacuum v)
                     -- a read of a hub, its refresh, or a collection: it has the lock of src/collect/lock.c
                     AND NOT (a.state = 'active' AND (a.application_name = 'fillfactor_advisor' OR a.pid IN (
                         SELECT l.pid FROM pg_locks l
                          WHERE l.locktype = 'userlock' AND l.classid = 1717985636))) END
    UNION ALL
    SELECT 'prepared transaction', 'gid ' || p.gid, p.owner, NULL, p.prepared, age(p.transaction)::bigint, NULL
      FROM pg_prepared_xacts p, ff_internal.server v WHERE p.database = v.database AND v.observed IS NULL
    UNION ALL
    -- one of a standby that streams has what that holds back by hot_standby_feedback
    SELECT CASE WHEN s.active AND s.slot_type = 'physical' THEN 'standby feedback' ELSE 'replication slot' END,
           'slot ' || s.slot_name, NULL, s.plugin, NULL, age(s.xmin)::bigint,
           CASE WHEN s.active THEN 'active, pid ' || s.active_pid ELSE 'not active' END
      FROM pg_replication_slots s, ff_internal.server v
     WHERE s.xmin IS NOT NULL AND v.observed IS NULL AND NOT v.in_recovery
    UNION ALL
    SELECT h.*
      FROM ff_internal.observed o
     CROSS JOIN LATERAL jsonb_to_recordset(o.said) h(
           kind text, holder text, role_name name, application text, since timestamptz, xids bigint, doing text)
     WHERE o.kind = 'holders'
$$;

-- Records what has held back pruning for longer than fillfactor_advisor.snapshot_age.
CREATE FUNCTION ff_internal.collect_horizon(id bigint) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    at   CONSTANT timestamptz := ff_internal.observed_at();
    past CONSTANT timestamptz := at - make_interval(secs => ff_internal.setting('snapshot_age'));
BEGIN
    -- A slot has no start: since is the first of the consecutive collections that saw it.
    INSERT INTO ff_internal.horizon_history AS h
           (kind, holder, role_name, application, since, last_seen_at, xids, doing)
    SELECT n.kind, n.holder, n.role_name, n.application, coalesce(n.since, held.since, at), at, n.xids, n.doing
      FROM ff_internal.horizon_holders() n
      LEFT JOIN LATERAL (SELECT o.since FROM ff_internal.horizon_history o
                          WHERE n.since IS NULL AND o.holder = n.holder
                            AND o.last_seen_at >= (SELECT ff_internal.observed_since())
                            AND o.last_seen_at >= (SELECT max(c.began_at) FROM ff_internal.collection c
                                                    WHERE c.collection_id < id)
                          ORDER BY o.since DESC LIMIT 1) held ON true
     WHERE n.xids > 0 AND coalesce(n.since <= past, true)
     ORDER BY n.xids DESC LIMIT 20
    ON CONFLICT (holder, since) DO UPDATE
       SET kind = EXCLUDED.kind, last_seen_at = EXCLUDED.last_seen_at, xids = greatest(h.xids, EXCLUDED.xids),
           doing = EXCLUDED.doing;
END
$$;
