-- For monitoring: views that keep their column names and are cheap enough to read every minute. total()
-- does not add the counters: the right to call it would be checked before the caller's.

CALL ff_internal.define($$
CREATE VIEW @extschema@.ff_metrics (
    -- One row per table, for monitoring; columns keep their names.
    schemaname,              -- schema
    relname,                 -- name
    fillfactor,              -- effective fillfactor, percent
    advised_fillfactor,      -- fillfactor advised when a collection last fitted the table, percent; NULL: no change
    predicted_hot_ratio,     -- HOT share predicted at the advised fillfactor, 0 to 1
    confidence,              -- confidence of that advice, 0 to 1
    last_hour_updates_per_s, -- rows updated per second in the last hour; NULL if it was not written to
    last_hour_hot_ratio,     -- HOT share of these updates, 0 to 1
    last_hour_newpage_ratio, -- share of these updates that left their page, 0 to 1; NULL before PostgreSQL 16
    heap_bytes,              -- size of the table's main fork, bytes; NULL if it was not written to in the last hour
    index_bytes,             -- size of its indexes, bytes
    live_ratio,              -- share of the table that is live rows, 0 to 1, from the last sample
    dead_ratio,              -- share of the table that is dead rows, 0 to 1
    free_ratio,              -- share of the table that is free, 0 to 1
    sample_age_s,            -- seconds since its pages were sampled
    change_age_s,            -- seconds since a collection found activity on it
    advice_age_s             -- seconds since a collection last fitted it; NULL: never
) WITH (security_barrier) AS
SELECT r.nspname, r.relname, r.fillfactor, a.to_fillfactor,
       (SELECT (round(p.hot_pct::numeric, 1) / 100)::float8
          FROM unnest(a.steps) p WHERE p.fillfactor = a.to_fillfactor),
       round(a.confidence::numeric, 2)::float8, h.updated / nullif(h.seconds, 0), h.hot / nullif(h.updated, 0),
       h.newpage / nullif(h.updated, 0), h.heap_bytes, h.index_bytes, s.live_pct / 100.0::float8,
       s.dead_pct / 100.0::float8, s.free_pct / 100.0::float8, extract(epoch FROM now() - r.sampled_at)::float8,
       extract(epoch FROM now() - r.seen_at)::float8, extract(epoch FROM now() - f.made_at)::float8
  FROM ff_internal.followed r
  LEFT JOIN LATERAL (
        SELECT sum(i.updated)::float8 AS updated, sum(i.hot_updated)::float8 AS hot,
               CASE WHEN count(i.newpage_updated) = count(*) THEN sum(i.newpage_updated)::float8 END AS newpage,
               extract(epoch FROM max(i.ended_at) - min(i.began_at))::float8 AS seconds,
               (array_agg(i.heap_bytes ORDER BY i.ended_at DESC))[1] AS heap_bytes,
               (array_agg(i.index_bytes ORDER BY i.ended_at DESC))[1] AS index_bytes
          FROM ff_internal.counter_interval i
         WHERE i.rel_id = r.rel_id AND i.ended_at > now() - interval '1 hour') h ON true
  LEFT JOIN LATERAL (SELECT * FROM ff_internal.page_sample o
                      WHERE o.rel_id = r.rel_id ORDER BY o.sampled_at DESC LIMIT 1) s ON true
  LEFT JOIN ff_internal.fit f ON f.rel_id = r.rel_id
  LEFT JOIN ff_internal.fit a
         ON a.rel_id = r.rel_id AND a.to_fillfactor <> a.from_fillfactor AND a.from_fillfactor = r.fillfactor
        AND NOT EXISTS (SELECT FROM ff_internal.dismissal d WHERE d.rel_id = r.rel_id AND d.until > now())
 WHERE ff_internal.check_role('reader') IS NOT NULL
$$);

CALL ff_internal.define($$
CREATE VIEW @extschema@.ff_metrics_collection (
    -- The last collection, one row, for monitoring; columns keep their names.
    collections,           -- collections in the history
    collection_age_s,      -- seconds since the last one began; NULL: none yet
    collection_duration_s, -- seconds that it took; NULL: still running, or ended by an error
    relations,             -- tables whose counters were read
    changed,               -- tables that had changed
    sampled,               -- tables whose pages were sampled
    skipped,               -- tables that were locked or gone
    failed,                -- tables that raised another error
    deferred,              -- tables left for the next collection
    problems               -- tables whose last sampling failed
) WITH (security_barrier) AS
SELECT (SELECT count(*) FROM ff_internal.collection), extract(epoch FROM now() - c.began_at)::float8,
       extract(epoch FROM c.ended_at - c.began_at)::float8, c.relations, c.changed, c.sampled, c.skipped,
       c.failed, c.deferred, (SELECT count(*) FROM ff_internal.problem)
  FROM (VALUES (1)) one(row)
  LEFT JOIN (SELECT * FROM ff_internal.collection ORDER BY collection_id DESC LIMIT 1) c ON true
 WHERE ff_internal.check_role('reader') IS NOT NULL
$$);
