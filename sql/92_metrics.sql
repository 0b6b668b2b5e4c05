-- Stage report, for machines: views whose columns keep their names, cheap
-- enough to be read every minute.  They ask no model and read no page; what
-- is advised is what ff_advise() said when a collection last fitted the table.
-- Ready queries and a dashboard: sql/monitoring.

CREATE VIEW @extschema@.ff_metrics AS
SELECT r.nspname AS schemaname, r.relname, r.fillfactor,
       a.to_fillfactor AS advised_fillfactor, p.predicted_hot_pct / 100 AS predicted_hot_ratio,
       CASE WHEN a.to_fillfactor IS NOT NULL THEN a.confidence::double precision END AS confidence,
       h.updated / nullif(h.seconds, 0) AS updates_per_s,
       h.hot / nullif(h.updated, 0) AS hot_ratio, h.newpage / nullif(h.updated, 0) AS newpage_ratio,
       h.heap_bytes, h.index_bytes,
       s.live_pct / 100 AS live_ratio, s.dead_pct / 100 AS dead_ratio, s.free_pct / 100 AS free_ratio,
       extract(epoch FROM now() - r.sampled_at)::double precision AS sample_age_s,
       extract(epoch FROM now() - r.seen_at)::double precision AS change_age_s,
       extract(epoch FROM now() - f.made_at)::double precision AS advice_age_s
  FROM ff_internal.relation r
  LEFT JOIN LATERAL (
        SELECT sum(i.updated)::double precision AS updated, sum(i.hot_updated)::double precision AS hot,
               CASE WHEN bool_and(i.newpage_updated IS NOT NULL) THEN sum(i.newpage_updated)::double precision END AS newpage,
               extract(epoch FROM max(i.ended_at) - min(i.began_at))::double precision AS seconds,
               (array_agg(i.heap_bytes ORDER BY i.ended_at DESC))[1] AS heap_bytes, (array_agg(i.index_bytes ORDER BY i.ended_at DESC))[1] AS index_bytes
          FROM ff_internal.counter_interval i WHERE i.rel_id = r.rel_id AND i.ended_at > now() - interval '1 hour') h ON true
  LEFT JOIN LATERAL (SELECT * FROM ff_internal.page_sample o WHERE o.rel_id = r.rel_id ORDER BY o.sampled_at DESC LIMIT 1) s ON true
  -- taken up meanwhile, it is advice no more
  LEFT JOIN ff_internal.fit f ON f.rel_id = r.rel_id
  LEFT JOIN LATERAL (SELECT f.to_fillfactor, f.confidence, f.choice, f.steps
                      WHERE f.action IN ('lower', 'raise') AND f.from_fillfactor = r.fillfactor) a ON true
  LEFT JOIN LATERAL (SELECT round((ff_internal.step_at(a.steps, a.to_fillfactor)).hot_pct::numeric, 1)::double precision
                             AS predicted_hot_pct) p ON true
 WHERE r.closed_at IS NULL;
COMMENT ON VIEW @extschema@.ff_metrics IS 'One row a table, for monitoring; columns keep their names. Rates and shares are of the last hour, NULL where it was not written to.';
COMMENT ON COLUMN @extschema@.ff_metrics.schemaname IS 'schema';
COMMENT ON COLUMN @extschema@.ff_metrics.relname IS 'name';
COMMENT ON COLUMN @extschema@.ff_metrics.fillfactor IS 'effective fillfactor, percent';
COMMENT ON COLUMN @extschema@.ff_metrics.advised_fillfactor IS 'fillfactor that ff_advise() advised when a collection asked last, percent; NULL where it advised no other';
COMMENT ON COLUMN @extschema@.ff_metrics.predicted_hot_ratio IS 'HOT share foretold at the advised fillfactor, 0 to 1';
COMMENT ON COLUMN @extschema@.ff_metrics.confidence IS 'confidence of that advice, 0 to 1';
COMMENT ON COLUMN @extschema@.ff_metrics.updates_per_s IS 'rows updated per second';
COMMENT ON COLUMN @extschema@.ff_metrics.hot_ratio IS 'HOT share of the updates, 0 to 1';
COMMENT ON COLUMN @extschema@.ff_metrics.newpage_ratio IS 'share of the updates that left their page, 0 to 1; NULL before PostgreSQL 16';
COMMENT ON COLUMN @extschema@.ff_metrics.heap_bytes IS 'size of the table''s main fork, bytes';
COMMENT ON COLUMN @extschema@.ff_metrics.index_bytes IS 'size of its indexes, bytes';
COMMENT ON COLUMN @extschema@.ff_metrics.live_ratio IS 'share of the table that is live rows, 0 to 1, by the last sample';
COMMENT ON COLUMN @extschema@.ff_metrics.dead_ratio IS 'share of the table that is dead rows, 0 to 1';
COMMENT ON COLUMN @extschema@.ff_metrics.free_ratio IS 'share of the table that is free, 0 to 1';
COMMENT ON COLUMN @extschema@.ff_metrics.sample_age_s IS 'seconds since its pages were sampled';
COMMENT ON COLUMN @extschema@.ff_metrics.change_age_s IS 'seconds since a collection saw a change of it';
COMMENT ON COLUMN @extschema@.ff_metrics.advice_age_s IS 'seconds since a collection asked for its advice, once an hour while it changes or another fillfactor is advised; NULL: not yet';

CREATE VIEW @extschema@.ff_metrics_collection AS
SELECT (SELECT count(*) FROM ff_internal.collection) AS collections,
       extract(epoch FROM now() - c.began_at)::double precision AS collection_age_s,
       extract(epoch FROM c.ended_at - c.began_at)::double precision AS collection_duration_s,
       c.relations, c.changed, c.sampled, c.skipped, c.failed, c.deferred,
       (SELECT count(*) FROM ff_internal.problem) AS problems
  FROM (VALUES (1)) one(row)
  LEFT JOIN (SELECT * FROM ff_internal.collection ORDER BY collection_id DESC LIMIT 1) c ON true;
COMMENT ON VIEW @extschema@.ff_metrics_collection IS 'The last collection on one row, for monitoring; columns keep their names.';
COMMENT ON COLUMN @extschema@.ff_metrics_collection.collections IS 'collections in the history';
COMMENT ON COLUMN @extschema@.ff_metrics_collection.collection_age_s IS 'seconds since the last one began; NULL: none yet';
COMMENT ON COLUMN @extschema@.ff_metrics_collection.collection_duration_s IS 'seconds that it took; NULL: still running, or ended by an error';
COMMENT ON COLUMN @extschema@.ff_metrics_collection.relations IS 'tables whose counters were read';
COMMENT ON COLUMN @extschema@.ff_metrics_collection.changed IS 'tables that had changed';
COMMENT ON COLUMN @extschema@.ff_metrics_collection.sampled IS 'tables whose pages were sampled';
COMMENT ON COLUMN @extschema@.ff_metrics_collection.skipped IS 'tables that were locked or gone';
COMMENT ON COLUMN @extschema@.ff_metrics_collection.failed IS 'tables that raised another error';
COMMENT ON COLUMN @extschema@.ff_metrics_collection.deferred IS 'tables left for the next collection';
COMMENT ON COLUMN @extschema@.ff_metrics_collection.problems IS 'tables that could not be sampled the last time';
