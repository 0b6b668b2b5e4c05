-- All that the extension holds of table t, as one JSON value: to put another model to it.
-- The one place of the bench that knows the extension's internal names.
WITH e AS MATERIALIZED (SELECT * FROM ff_internal.evidence('t') e),
     s AS (SELECT DISTINCT statement_id FROM ff_internal.statement_target WHERE relid = 't'::regclass)
SELECT jsonb_build_object(
    'evidence', (SELECT to_jsonb(e) FROM e),
    'input', (SELECT to_jsonb(x) FROM ff_internal.evidence('t') e, ff_internal.model_input(e, ff_internal.indexed_share(e)) x),
    'literals', (SELECT jsonb_build_array(e::text, x::text) FROM ff_internal.evidence('t') e, ff_internal.model_input(e, ff_internal.indexed_share(e)) x),
    'relation', (SELECT to_jsonb(r) FROM ff_internal.relation r, e WHERE r.rel_id = e.rel_id),
    'intervals', (SELECT jsonb_agg(to_jsonb(i) ORDER BY i.ended_at) FROM ff_internal.counter_interval i, e WHERE i.rel_id = e.rel_id),
    'samples', (SELECT jsonb_agg(to_jsonb(p) ORDER BY p.sampled_at) FROM ff_internal.page_sample p, e WHERE p.rel_id = e.rel_id),
    'changes', (SELECT jsonb_agg(to_jsonb(c)) FROM ff_internal.change c, e WHERE c.rel_id = e.rel_id),
    'collections', (SELECT jsonb_agg(to_jsonb(c) ORDER BY c.began_at) FROM ff_internal.collection c),
    'horizon', (SELECT jsonb_agg(to_jsonb(h)) FROM ff_internal.horizon_history h),
    'statements', (SELECT jsonb_agg(to_jsonb(t)) FROM ff_internal.statement t JOIN s USING (statement_id)),
    'targets', (SELECT jsonb_agg(to_jsonb(t)) FROM ff_internal.statement_target t WHERE t.relid = 't'::regclass),
    'statement_history', (SELECT jsonb_agg(to_jsonb(h) ORDER BY h.ended_at) FROM ff_internal.statement_history h JOIN s USING (statement_id)),
    'curve', (SELECT jsonb_agg(to_jsonb(c)) FROM ff_curve('t', all_steps => true) c),
    'advice', (SELECT to_jsonb(a) FROM ff_advise('t') a))
