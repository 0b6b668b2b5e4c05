-- Changes of the server settings that ff_verify() judges.

-- Names of the settings whose changes a collection records.
CREATE FUNCTION ff_internal.tracked_settings() RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '{autovacuum, autovacuum_max_workers, autovacuum_naptime, autovacuum_vacuum_cost_delay,
         autovacuum_vacuum_cost_limit, autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold,
         backend_flush_after, bgwriter_flush_after, bgwriter_lru_maxpages, checkpoint_flush_after,
         checkpoint_timeout, effective_io_concurrency, full_page_writes, hot_standby_feedback,
         idle_in_transaction_session_timeout, max_wal_size, old_snapshot_threshold, shared_buffers,
         synchronous_commit, track_io_timing, vacuum_defer_cleanup_age, wal_compression}'::text[];

-- Records the tracked settings that changed since the last collection.
CREATE FUNCTION ff_internal.collect_settings(id bigint) RETURNS void
LANGUAGE sql VOLATILE
BEGIN ATOMIC
    INSERT INTO ff_internal.setting_history (setting, seen_at, before_at, value, unit)
    SELECT s.name, c.began_at,
           CASE WHEN h.setting IS NOT NULL THEN coalesce((SELECT max(o.began_at) FROM ff_internal.collection o
                                                           WHERE o.collection_id < id), h.seen_at) END,
           s.reset_val, s.unit
      FROM ff_internal.server_settings s
      JOIN ff_internal.collection c ON c.collection_id = id
      LEFT JOIN LATERAL (SELECT * FROM ff_internal.setting_history o
                          WHERE o.setting = s.name ORDER BY o.seen_at DESC LIMIT 1) h ON true
     WHERE s.name = ANY (ff_internal.tracked_settings()) AND (h.setting IS NULL OR h.value IS DISTINCT FROM s.reset_val)
    ON CONFLICT DO NOTHING;
END;
