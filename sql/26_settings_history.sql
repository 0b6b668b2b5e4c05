-- Stage collect: changes of the server settings that ff_verify() judges.

-- Names of the settings whose changes a collection writes down for ff_verify().
CREATE FUNCTION ff_internal.tracked_settings() RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT '{autovacuum, autovacuum_max_workers, autovacuum_naptime, autovacuum_vacuum_cost_delay,
             autovacuum_vacuum_cost_limit, autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold,
             backend_flush_after, bgwriter_flush_after, bgwriter_lru_maxpages, checkpoint_flush_after,
             checkpoint_timeout, effective_io_concurrency, full_page_writes, hot_standby_feedback,
             idle_in_transaction_session_timeout, max_wal_size, old_snapshot_threshold, shared_buffers,
             synchronous_commit, track_io_timing, vacuum_defer_cleanup_age, wal_compression}'::text[]
$$;

-- Writes down the tracked server settings where they differ from the last look; returns how many did.
CREATE FUNCTION ff_internal.collect_settings(id bigint) RETURNS bigint
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH look AS (
        SELECT c.began_at, (SELECT max(o.began_at) FROM ff_internal.collection o
                             WHERE o.collection_id < c.collection_id) AS before_at
          FROM ff_internal.collection c WHERE c.collection_id = id
    ), changed AS (
        INSERT INTO ff_internal.setting_history (setting, seen_at, before_at, value, unit)
        SELECT s.name, l.began_at, CASE WHEN h.setting IS NOT NULL THEN coalesce(l.before_at, h.seen_at) END,
               s.reset_val, s.unit
          FROM pg_settings s
         CROSS JOIN look l
          LEFT JOIN LATERAL (SELECT * FROM ff_internal.setting_history o
                              WHERE o.setting = s.name ORDER BY o.seen_at DESC LIMIT 1) h ON true
         WHERE s.name = ANY (ff_internal.tracked_settings())
           AND (h.setting IS NULL OR h.value IS DISTINCT FROM s.reset_val)
        ON CONFLICT DO NOTHING
        RETURNING setting
    )
    SELECT count(*) FROM changed
$$;
