-- All that the extension stored about table t, as one JSON value, to test other models with it.
-- The only file of the bench that uses the extension's internal names.

-- As if the table had been idle for a day before: advice waits for that.
UPDATE ff_internal.relation SET opened_at = opened_at - interval '25 hours';
INSERT INTO ff_internal.collection (epoch_id, began_at, ended_at, relations, changed, track_counts, open_writers,
                                    own_inserts, next_xid)
SELECT epoch_id, began_at - interval '25 hours', ended_at - interval '25 hours', relations, 0, track_counts, 0,
       own_inserts, next_xid
  FROM ff_internal.collection
 WHERE began_at IN (SELECT min(began_at) FROM ff_internal.counter_interval GROUP BY rel_id);
INSERT INTO ff_internal.counter_interval
SELECT DISTINCT ON (i.rel_id) (jsonb_populate_record(i, jsonb_build_object(
           'began_at', i.began_at - interval '25 hours', 'ended_at', i.began_at, 'inserted', 0, 'updated', 0,
           'hot_updated', 0, 'newpage_updated', 0 * i.newpage_updated, 'deleted', 0, 'seq_scans', 0, 'index_scans', 0,
           'blocks_fetched', 0, 'blocks_hit', 0, 'vacuums', 0))).*
  FROM ff_internal.counter_interval i ORDER BY i.rel_id, i.began_at;

-- The evidence.
WITH e AS MATERIALIZED (SELECT * FROM ff_internal.evidence('t') e),
     s AS (SELECT DISTINCT statement_id FROM ff_internal.statement_target WHERE relid = 't'::regclass)
SELECT jsonb_build_object(
    'server', current_setting('server_version_num')::integer, 'model', ff_internal.model_version(), 'at', now(),
    'evidence', (SELECT to_jsonb(e) FROM e),
    -- the model's fields alone, without the counters from which they are made
    'input', (SELECT to_jsonb(jsonb_populate_record(NULL::ff_internal.model_input,
        to_jsonb(ff_internal.model_input(e))))
                FROM ff_internal.evidence('t') e),
    'class', (SELECT jsonb_build_array(c.relpages, c.reltuples, c.relallvisible)
                FROM pg_class c WHERE c.oid = 't'::regclass),
    'settings', (SELECT jsonb_agg(to_jsonb(s)) FROM ff_internal.setting_history s),
    'snapshots', (SELECT jsonb_agg(to_jsonb(s)) FROM ff_internal.statement_snapshot s),
    'epochs', (SELECT jsonb_agg(to_jsonb(o)) FROM ff_internal.epoch o),
    'relation', (SELECT to_jsonb(r) FROM ff_internal.relation r, e WHERE r.rel_id = e.rel_id),
    'intervals', (SELECT jsonb_agg(to_jsonb(i) ORDER BY i.ended_at)
                    FROM ff_internal.counter_interval i, e WHERE i.rel_id = e.rel_id),
    'samples', (SELECT jsonb_agg(to_jsonb(p) ORDER BY p.sampled_at)
                    FROM ff_internal.page_sample p, e WHERE p.rel_id = e.rel_id),
    'changes', (SELECT jsonb_agg(to_jsonb(c)) FROM ff_internal.change c, e WHERE c.rel_id = e.rel_id),
    'collections', (SELECT jsonb_agg(to_jsonb(c) ORDER BY c.began_at) FROM ff_internal.collection c),
    'horizon', (SELECT jsonb_agg(to_jsonb(h)) FROM ff_internal.horizon_history h),
    'statements', (SELECT jsonb_agg(to_jsonb(t)) FROM ff_internal.statement t JOIN s USING (statement_id)),
    'targets', (SELECT jsonb_agg(to_jsonb(t)) FROM ff_internal.statement_target t WHERE t.relid = 't'::regclass),
    'statement_history', (SELECT jsonb_agg(to_jsonb(h) ORDER BY h.ended_at) FROM ff_internal.statement_history h
        JOIN s USING (statement_id)),
    'curve', (SELECT jsonb_agg(to_jsonb(c)) FROM ff_internal.decision_with_curve('t', false) v,
        unnest((v.fit).steps) c),
    'advice', (SELECT to_jsonb(a) FROM ff_advise('t') a))
