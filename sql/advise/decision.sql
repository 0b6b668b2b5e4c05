-- The decision is C (src/advise/decision.c); this file gathers its facts.

-- Mean accuracy, 0 to 1, of the last three predictions for a table (rel_id) that were judged; NULL: none. 1: the HOT
-- share was in its range (or within 5 points) and the change helped; divided by 1 + points outside / 10 (both chosen);
-- halved for no difference; 0.2 if the change hurt.
CREATE FUNCTION ff_internal.calibration(relation_id bigint) RETURNS float8
LANGUAGE sql STABLE
RETURN (
    SELECT avg(CASE p.verdict WHEN 'hurt' THEN 0.2 WHEN 'helped' THEN 1 ELSE 0.5 END
               / CASE WHEN p.verdict = 'hurt' THEN 1 ELSE 1 + coalesce(greatest(0,
                      least(p.predicted_hot_low, p.predicted_hot_pct - 5) - p.achieved_hot_pct,
                      p.achieved_hot_pct - greatest(p.predicted_hot_high, p.predicted_hot_pct + 5)), 0) / 10 END)
      FROM (SELECT * FROM ff_internal.prediction o WHERE o.rel_id = relation_id AND o.judged_at IS NOT NULL
             ORDER BY o.made_at DESC LIMIT 3) p);

-- Decides by facts (src/advise/facts.h). Errors: 42703 one is missing, 42804 one is no number.
CREATE FUNCTION ff_internal.decision_of(facts record) RETURNS ff_internal.decision
AS 'MODULE_PATHNAME', 'ff_decision_of'
LANGUAGE c STABLE PARALLEL SAFE;

-- What the updates of the costliest table cost that was fitted in the lookback: WAL bytes, microseconds. Not of all
-- tables: of a thousand equal ones none would be worth a change.
CREATE FUNCTION ff_internal.most_costs() RETURNS float8[]
LANGUAGE sql STABLE
RETURN (SELECT ARRAY[max((f.choice).wal_bytes_now * f.updated), max((f.choice).us_now * f.updated)]
          FROM ff_internal.fit f WHERE f.made_at > now() - ff_internal.lookback());

-- Bytes of the main fork if its rows filled pages to a fillfactor; NULL: its own.
CREATE FUNCTION ff_internal.heap_needed(e ff_internal.table_evidence, fillfactor integer DEFAULT NULL) RETURNS float8
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(8192 * ceil(e.live_rows / nullif(ff_internal.rows_per_page(
                    coalesce(heap_needed.fillfactor, e.fillfactor),
                    greatest(e.inserted_width, e.updated_width)), 0)), 0);

-- Bytes that an update puts into TOAST, if each does; NULL: it does not. Rows that were inserted have as many chunks as
-- live ones; the other chunks are of updates, of at most a quarter of a page each.
CREATE FUNCTION ff_internal.toasted(relation oid) RETURNS float8
LANGUAGE sql STABLE
RETURN (SELECT 2000 * t.chunks / t.updated
          FROM pg_class c
          LEFT JOIN ff_internal.observed o ON o.kind = 'table' AND o.id = c.oid
         CROSS JOIN LATERAL jsonb_to_record(o.said || (o.said->'counted')) s(
               toast_inserted bigint, toast_live bigint, inserted bigint, live bigint, updated bigint)
         CROSS JOIN LATERAL (
               SELECT coalesce(s.toast_inserted, pg_stat_get_tuples_inserted(c.reltoastrelid))
                      - coalesce(s.inserted, pg_stat_get_tuples_inserted(c.oid))
                        * coalesce(s.toast_live, pg_stat_get_live_tuples(c.reltoastrelid))
                        / greatest(1, coalesce(s.live, pg_stat_get_live_tuples(c.oid)))::float8 AS chunks,
                      coalesce(s.updated, pg_stat_get_tuples_updated(c.oid)) AS updated) t
         WHERE c.oid = relation AND t.updated > 0 AND t.chunks >= t.updated);

-- Updates in the busiest stretch of the window, if other times tell another story: intervals that began within BURST;
-- at most a third of the window (chosen). It ended so long ago, or there are enough other updates to judge.
CREATE FUNCTION ff_internal.burst(e ff_internal.table_evidence) RETURNS float8
LANGUAGE sql STABLE
RETURN (
    SELECT s.updated
      FROM make_interval(secs => ff_internal.threshold('BURST')) t(burst)
     CROSS JOIN LATERAL (
           SELECT i.began_at, max(i.ended_at) OVER w AS ended_at, sum(i.updated) OVER w AS updated
             FROM ff_internal.counter_interval i WHERE i.rel_id = e.rel_id AND i.ended_at > e.began_at
           WINDOW w AS (ORDER BY i.began_at RANGE BETWEEN CURRENT ROW AND t.burst - interval '1 s' FOLLOWING)
            ORDER BY 3 DESC, 1 LIMIT 1) s
     WHERE s.ended_at - s.began_at <= make_interval(secs => e.window_s / 3)
       AND (s.ended_at <= e.snapshot_at - t.burst
            OR (e.counted).updated - s.updated >= ff_internal.setting('min_updates')));

-- Decides for a table. f: NULL if the model was not asked; wants_curve: consider a step even if no decision needs it;
-- most_costs: NULL: a change of any worth is advised. What costs a search is looked up only where it matters.
CREATE FUNCTION ff_internal.decide(
    e ff_internal.table_evidence, f ff_internal.fit, sibling_fillfactor float8[], sibling_cost float8[],
    sibling_advised integer, wants_curve boolean, most_costs float8[] DEFAULT NULL)
RETURNS SETOF ff_internal.decision
LANGUAGE sql STABLE ROWS 1
BEGIN ATOMIC
    SELECT d.*
      FROM (
        SELECT (e).*, (e.counted).*, (e.since).updated AS since_updated, (e.recent).updated AS recent_updated,
            (e.recent).hot_updated AS recent_hot_updated, EXISTS (SELECT FROM ff_internal.observed) AS mirrored,
            z.heap_now, z.heap_needed, ff_internal.heap_needed(e, 100) AS heap_full,
            CASE WHEN z.heap_now > ff_internal.threshold('BLOAT') * z.heap_needed
                 THEN ff_internal.most_wait(ff_internal.last_sample(e), 1) END AS snapshot_awaited,
            ff_internal.reloads(e) AS reloads,
            CASE WHEN f.steps IS NOT NULL AND e.toast_bytes > 0 THEN ff_internal.toasted(e.relation) END AS toasted,
            -- if it was updated before it was altered
            CASE WHEN (e.since).updated IS DISTINCT FROM (e.counted).updated THEN EXISTS (
                 SELECT FROM ff_internal.counter_interval o
                  WHERE o.rel_id = e.rel_id AND o.inserted + o.updated + o.deleted > 0
                    AND o.ended_at > e.snapshot_at - make_interval(secs => ff_internal.threshold('FULL_DAY'))) END
                AS written_today,
            wants_curve, c.current_step, c.advised_step, c.gain AS model_gain, c.best_gain, c.rewrite_gain,
            c.action = 'wait' AS model_waits, c.action IN ('set', 'rewrite') AS model_changes, c.filled_at,
            c.confidence AS model_confidence, c.settling, c.update_call_rows, c.set_apart,
            CASE WHEN c.advised_step < c.current_step THEN (
                 SELECT sum(u.rows) FROM ff_internal.updates_seen(e.relation, e.began_at) u WHERE u.calls = 1) END
                AS updated_once,
            CASE WHEN e.window_s >= ff_internal.threshold('FULL_DAY') AND c.advised_step < c.current_step
                 THEN ff_internal.burst(e) END AS updated_in_burst,
            s.*, c.wal_bytes_now AS wal_now, c.us_now, e.heap_bytes + e.index_bytes AS disk_now,
            most_costs[1] AS most_wal, most_costs[2] AS most_us, f.from_fillfactor AS standing_from,
            f.to_fillfactor AS standing_to, h.changed_from, h.changed_to, h.change_followed,
            CASE WHEN f.steps IS NOT NULL THEN ff_internal.calibration(e.rel_id) END AS calibration,
            sibling_fillfactor, sibling_cost, sibling_advised,
            -- only below 100 with few updates: rows updated per row inserted in the other partitions
            CASE WHEN e.fillfactor < 100 AND (e.counted).updated < ff_internal.setting('min_updates') THEN (
                 SELECT sum(n.updated) / greatest(sum(n.inserted), 1)
                   FROM ff_internal.sibling w
                   JOIN ff_internal.sibling i ON i.parent = w.parent AND i.leaf <> w.leaf
                   JOIN ff_internal.followed r ON r.relid = i.leaf
                   JOIN ff_internal.counter_interval n ON n.rel_id = r.rel_id
                  WHERE w.leaf = e.relation) END AS siblings_updated
          FROM (SELECT (f.choice).*) c
         CROSS JOIN (SELECT least(e.heap_bytes, 8192 * e.blocks), ff_internal.heap_needed(e)) z(heap_now, heap_needed)
         CROSS JOIN (
            SELECT array_agg(s.fillfactor::float8) AS step_fillfactor, array_agg(s.cost) AS step_cost,
                array_agg(s.hot_pct) AS step_hot, array_agg(s.settled_hot_pct) AS step_settled,
                array_agg(s.size_bytes::float8) AS step_bytes,
                array_agg(s.needs_rewrite::integer::float8) AS step_rewrites,
                array_agg((s.size_bytes + s.index_bytes)::float8) AS step_disk,
                array_agg(s.wal_bytes_per_update) AS step_wal, array_agg(s.us_per_update) AS step_us
              FROM unnest(f.steps) s) s
          LEFT JOIN LATERAL (
            SELECT c.old_fillfactor AS changed_from, c.new_fillfactor AS changed_to,
                ff_internal.as_advised(c) AS change_followed
              FROM ff_internal.change c
             WHERE c.rel_id = CASE WHEN f.steps IS NOT NULL THEN (e).rel_id END AND c.kind = 'fillfactor'
               AND c.seen_at > now() - ff_internal.lookback()
             ORDER BY c.seen_at DESC LIMIT 1) h ON true) k
     CROSS JOIN LATERAL ff_internal.decision_of(k) d;
END;

CREATE FUNCTION ff_internal.step_at(steps ff_internal.step[], fillfactor integer) RETURNS ff_internal.step
LANGUAGE sql STRICT IMMUTABLE PARALLEL SAFE
RETURN (SELECT s FROM unnest(steps) s WHERE s.fillfactor = step_at.fillfactor);

-- What the change that a decision names brings, or a rewrite if that pays: predicted HOT share, sizes, cost saved,
-- each for a day where it is a rate; NULL: it names none, or unknown, as WAL and CPU time that a rewrite saves.
CREATE FUNCTION ff_internal.effect(
    e ff_internal.table_evidence, f ff_internal.fit, d ff_internal.decision,
    OUT hot_pct float8, OUT size_bytes bigint, OUT gain_pct real, OUT wal_bytes bigint, OUT disk_bytes bigint,
    OUT cpu_s real)
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    c CONSTANT ff_internal.choice := f.choice;
    n ff_internal.step;
    per_day float8;
BEGIN
    IF d.rewrite = 'pays' THEN
        hot_pct := c.rewrite_hot_pct;
        size_bytes := ff_internal.heap_needed(e);
        gain_pct := round((100 * (1 - 1 / c.gain))::numeric, 1);
        disk_bytes := size_bytes - e.heap_bytes;
    ELSIF d.changes THEN
        n := ff_internal.step_at(f.steps, d.step);
        per_day := ff_internal.updates_per_s(e) * 86400;
        hot_pct := n.hot_pct;
        size_bytes := n.size_bytes;
        gain_pct := round((100 * (1 - 1 / d.gain))::numeric, 1);
        wal_bytes := coalesce((c.wal_bytes_now - n.wal_bytes_per_update) * per_day, 0);
        disk_bytes := size_bytes - e.heap_bytes + n.index_bytes - e.index_bytes;
        cpu_s := round((coalesce((c.us_now - n.us_per_update) * per_day, 0) / 1e6)::numeric, 1);
    END IF;
END
$$;

-- Returns its argument, NULL included, if that table can be examined. Errors: 42P01 unknown OID, 42809 not a table.
CREATE FUNCTION ff_internal.checked_table(relation regclass) RETURNS regclass
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    name CONSTANT name := (SELECT c.relname FROM pg_class c WHERE c.oid = relation);
BEGIN
    IF name IS NULL AND relation IS NOT NULL THEN
        PERFORM ff_internal.refuse('42P01', format('relation with OID %s does not exist', relation::oid));
    ELSIF name IS NOT NULL AND NOT EXISTS (SELECT FROM ff_internal.user_table t WHERE t.relid = relation) THEN
        PERFORM ff_internal.refuse('42809', format('"%s" is not a table that can be advised', name),
                    'Advice is for tables and materialized views outside the system schemas.',
                    'For a B-tree index see ff_advise_indexes().');
    END IF;
    RETURN relation;
END
$$;
