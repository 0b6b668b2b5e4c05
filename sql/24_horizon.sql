-- Stage collect: which sessions, slots and prepared transactions hold back pruning.

-- Who holds back pruning of this database's tables at this moment; columns as in horizon_history. since is NULL for a
-- slot; xids: transactions begun after its snapshot; catalog_only: holds back system catalogs only.
CREATE FUNCTION ff_internal.horizon_holders(
    OUT kind text, OUT holder text, OUT role_name name, OUT application text, OUT since timestamptz, OUT xids bigint,
    OUT catalog_only boolean, OUT doing text) RETURNS SETOF record
LANGUAGE sql VOLATILE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
    -- Sessions of this database; others do not hold back its tables.  What VACUUM itself holds is ignored by pruning.
    SELECT CASE WHEN a.state LIKE 'idle in transaction%' THEN 'idle in transaction' ELSE 'transaction' END,
           'pid ' || a.pid, u.rolname, a.application_name, a.xact_start,
           greatest(age(a.backend_xmin), age(a.backend_xid))::bigint, false,
           left(regexp_replace(a.query, '[[:cntrl:][:space:]]+', ' ', 'g'), 200)
      FROM pg_stat_get_activity(NULL) a
      JOIN pg_database here ON here.oid = a.datid AND here.datname = current_database()
      LEFT JOIN pg_roles u ON u.oid = a.usesysid
     WHERE a.pid <> pg_backend_pid() AND (a.backend_xmin IS NOT NULL OR a.backend_xid IS NOT NULL)
       AND a.pid NOT IN (SELECT v.pid FROM pg_stat_progress_vacuum v)
       AND NOT EXISTS (SELECT 1 FROM pg_stat_get_wal_senders() s WHERE s.pid = a.pid)
    UNION ALL
    SELECT 'prepared transaction', 'gid ' || p.gid, p.owner, NULL, p.prepared, age(p.transaction)::bigint, false, NULL
      FROM pg_prepared_xacts p WHERE p.database = current_database()
    UNION ALL
    SELECT 'replication slot', 'slot ' || s.slot_name, NULL, s.plugin, NULL,
           greatest(age(s.xmin), age(s.catalog_xmin))::bigint, s.xmin IS NULL,
           CASE WHEN s.active THEN 'active, pid ' || s.active_pid ELSE 'not active' END
      FROM pg_replication_slots s
     WHERE s.xmin IS NOT NULL OR s.catalog_xmin IS NOT NULL
    UNION ALL
    -- hot_standby_feedback without a slot
    SELECT 'standby feedback', 'pid ' || a.pid, u.rolname, a.application_name, a.backend_start,
           age(a.backend_xmin)::bigint, false, NULL
      FROM pg_stat_get_activity(NULL) a
      JOIN pg_stat_get_wal_senders() s ON s.pid = a.pid
      LEFT JOIN pg_roles u ON u.oid = a.usesysid
     WHERE a.backend_xmin IS NOT NULL
$$;

-- Writes down what has held back pruning for longer than fillfactor_advisor.snapshot_age.
CREATE FUNCTION ff_internal.collect_horizon(id bigint) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    at   CONSTANT timestamptz := clock_timestamp();
    past CONSTANT timestamptz := at - make_interval(secs => ff_internal.setting('snapshot_age')::double precision);
BEGIN
    -- A slot has no beginning of its own: it is the same hold as long as every
    -- look sees it, and enters the history with the second.
    INSERT INTO ff_internal.horizon_history AS h
           (kind, holder, role_name, application, since, last_seen_at, xids, doing)
    SELECT n.kind, n.holder, n.role_name, n.application, coalesce(n.since, held.since, at), at, n.xids, n.doing
      FROM ff_internal.horizon_holders() n
      LEFT JOIN LATERAL (SELECT o.since FROM ff_internal.horizon_history o
                          WHERE n.since IS NULL AND o.holder = n.holder
                            AND o.last_seen_at >= (SELECT max(c.began_at) FROM ff_internal.collection c
                                                    WHERE c.collection_id < id)
                          ORDER BY o.since DESC LIMIT 1) held ON true
     WHERE NOT n.catalog_only AND n.xids > 0
       AND coalesce(n.since <= past, true)
     ORDER BY n.xids DESC LIMIT 20
    ON CONFLICT (holder, since) DO UPDATE
       SET kind = EXCLUDED.kind, last_seen_at = EXCLUDED.last_seen_at, xids = greatest(h.xids, EXCLUDED.xids),
           doing = EXCLUDED.doing;
END
$$;
