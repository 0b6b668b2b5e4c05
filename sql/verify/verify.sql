-- Stage verify: the effect of a change.
--
-- The windows before and after a change consist of whole intervals; an interval that contains the change is in neither.
-- Every share and mean is a ratio of two sums over intervals. Its uncertainty comes from the scatter of the intervals,
-- because updates within an interval are not independent.

-- Half width of a two-sided 95 % interval, in standard errors, by degrees of freedom (Student's t).
CREATE FUNCTION ff_internal.t_quantile(freedom double precision) RETURNS double precision
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'ff_t_quantile';

-- Returns the ratio sum(x) / sum(n) before and after a change, and the ends of the 95 % interval of the difference
-- (Welch); with logarithms, computed from the logarithms of the ratios. NULL if unknown. The variance of a ratio comes
-- from the scatter of its intervals (ratio estimator), but is at least sum(q) / sum(n)^2.
CREATE FUNCTION ff_internal.compared(is_after boolean[], x double precision[], n double precision[],
    q double precision[], logarithms boolean, OUT before double precision, OUT after double precision,
    OUT low double precision, OUT high double precision)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    WITH side AS (
        SELECT o.is_after, min(o.mean) AS mean, nullif(count(*) - 1, 0) AS freedom,
               greatest(sum(o.q), sum((o.x - o.mean * o.n) ^ 2) * count(*) / nullif(count(*) - 1, 0)) / sum(o.n) ^ 2
                   / CASE WHEN logarithms THEN nullif(min(o.mean), 0) ^ 2 ELSE 1 END AS variance
          FROM (SELECT u.*, sum(u.x) OVER same / sum(u.n) OVER same AS mean
                  FROM unnest(is_after, x, n, q) u(is_after, x, n, q) WHERE u.n > 0 AND u.x IS NOT NULL
                WINDOW same AS (PARTITION BY u.is_after)) o
         GROUP BY o.is_after
    )
    SELECT b.mean, a.mean, e.low, e.high
      FROM (VALUES (true)) v(yes)
      LEFT JOIN side b ON NOT b.is_after
      LEFT JOIN side a ON a.is_after
     CROSS JOIN LATERAL (SELECT CASE WHEN NOT logarithms THEN a.mean - b.mean
                                     WHEN a.mean > 0 AND b.mean > 0 THEN ln(a.mean / b.mean) END,
                                CASE WHEN a.freedom > 0 AND b.freedom > 0 THEN a.variance + b.variance END
                        ) d(d, variance)
     CROSS JOIN LATERAL (
           SELECT CASE WHEN d.variance = 0 THEN 0
                       WHEN d.variance > 0 THEN sqrt(d.variance) * ff_internal.t_quantile(
                            -- Welch and Satterthwaite's degrees of freedom
                            d.variance ^ 2 / (a.variance ^ 2 / a.freedom + b.variance ^ 2 / b.freedom)) END) h(half)
     CROSS JOIN LATERAL (SELECT CASE WHEN logarithms THEN b.mean * (exp(d.d - h.half) - 1) ELSE d.d - h.half END,
                                CASE WHEN logarithms THEN b.mean * (exp(d.d + h.half) - 1) ELSE d.d + h.half END
                        ) e(low, high)
$$;

-- Names of the indexes in these definitions, separated by commas; NULL if none.
CREATE FUNCTION ff_internal.index_names(definitions text[]) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT string_agg(coalesce(substring(d FROM 'INDEX ("(?:[^"]|"")*"|[^ ]+) ON'), d), ', ')
      FROM unnest(definitions) d
$$;

CREATE VIEW ff_internal.changes AS
SELECT o.*,
       string_agg(coalesce(o.setting, o.kind), ', ') OVER (
           PARTITION BY o.rel_id, o.seen_at ORDER BY coalesce(o.setting, o.kind)
           ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW) AS together,
       CASE o.kind WHEN 'rewrite' THEN max(o.seen_at) OVER earlier
                   ELSE max(o.seen_at) FILTER (WHERE o.kind <> 'rewrite') OVER earlier END AS since,
       CASE o.kind WHEN 'rewrite' THEN min(o.before_at) OVER later
                   ELSE min(o.before_at) FILTER (WHERE o.kind <> 'rewrite') OVER later END AS until
  FROM (SELECT c.change_id, r.rel_id, r.relid::regclass AS relation, c.kind, c.before_at, c.seen_at, c.epoch_id,
               NULL AS setting, NULL AS old_value,
               ff_internal.plain(CASE c.kind
                    WHEN 'fillfactor' THEN format('fillfactor %s -> %s', c.old_fillfactor, c.new_fillfactor)
                    WHEN 'options' THEN format('options %s -> %s',
                         coalesce(array_to_string(ff_internal.other_options(c.old_options), ', '), 'none'),
                         coalesce(array_to_string(ff_internal.other_options(c.new_options), ', '), 'none'))
                    ELSE concat_ws(', ', 'index dropped: ' || ff_internal.index_names(c.dropped_indexes),
                                         'index created: ' || ff_internal.index_names(c.created_indexes)) END) AS change
          FROM ff_internal.relation r JOIN pg_class p ON p.oid = r.relid JOIN ff_internal.change c USING (rel_id)
         WHERE r.closed_at IS NULL
        UNION ALL
        SELECT NULL, r.rel_id, r.relid, 'rewrite', i.began_at, i.ended_at, i.epoch_id, NULL, NULL, 'rewritten'
          FROM ff_internal.relation r JOIN pg_class p ON p.oid = r.relid
         CROSS JOIN LATERAL (
               SELECT i.* FROM ff_internal.counter_interval i
                WHERE i.rel_id = r.rel_id AND i.rewritten AND i.ended_at > now() - ff_internal.lookback()
                  AND NOT EXISTS (SELECT 1 FROM ff_internal.change c
                                   WHERE c.rel_id = i.rel_id AND c.seen_at > i.began_at AND c.seen_at <= i.ended_at)
                ORDER BY i.ended_at DESC LIMIT 3) i
         WHERE r.closed_at IS NULL
        UNION ALL
        SELECT NULL, NULL, NULL, 'setting', s.before_at, s.seen_at,
               (SELECT k.epoch_id FROM ff_internal.collection k WHERE k.began_at <= s.seen_at
                 ORDER BY k.began_at DESC LIMIT 1),
               s.setting, s.old_value, format('setting %s %s -> %s', s.setting,
                   ff_internal.setting_shown(s.old_value, s.unit), ff_internal.setting_shown(s.value, s.unit))
          FROM (SELECT h.*, lag(h.value) OVER (PARTITION BY h.setting ORDER BY h.seen_at) AS old_value
                  FROM ff_internal.setting_history h) s
         WHERE s.before_at IS NOT NULL) o
WINDOW earlier AS (PARTITION BY o.rel_id ORDER BY o.seen_at GROUPS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING),
       later AS (PARTITION BY o.rel_id ORDER BY o.seen_at GROUPS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING);
COMMENT ON VIEW ff_internal.changes IS
'Changes of tables and of server settings, in words (change). rel_id, relation: NULL for a setting. change_id: NULL '
'for settings and rewrites. old_value: as in pg_settings. A rewrite together with another change is a part of it; only '
'a table''s last three other rewrites are listed. together: other changes found by the same collection. since, until: '
'end of the previous change, begin of the next; a rewrite ends the window of rewrites only.';

-- Returns the intervals on both sides of a change, and why each is left out (NULL: it counts). For a setting they are
-- the intervals between reads of the statement statistics, with calls instead of updates. settling: begins within the
-- first third of its side's updates, if that has three intervals. other rate: differs from the median rate after the
-- change by more than rate_factor.
CREATE FUNCTION ff_internal.verify_windows(c ff_internal.changes)
RETURNS TABLE (side text, began_at timestamptz, ended_at timestamptz, updated double precision,
               counted ff_internal.counter_interval, left_out text)
LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH constant AS (
        -- chosen; slack: the statements may be read this much later than the tables
        SELECT 4.0 AS rate_factor, interval '5 s' AS slack, greatest((c).before_at - r, (c).since) AS since,
               least((c).seen_at + r, (c).until) AS until
          FROM ff_internal.lookback() r
    ), watched AS (
        SELECT i.began_at, i.ended_at, i.epoch_id, i.updated::double precision AS updated, i AS counted, i.rewritten
          FROM constant k
          JOIN ff_internal.counter_interval i ON i.rel_id = (c).rel_id
               AND i.ended_at BETWEEN k.since AND k.until + k.slack
        UNION ALL
        SELECT min(h.began_at), h.ended_at, h.epoch_id, sum(h.calls), NULL, false
          FROM constant k
          JOIN ff_internal.statement_history h ON (c).rel_id IS NULL
               AND h.ended_at BETWEEN k.since AND k.until + k.slack
         GROUP BY h.ended_at, h.epoch_id
    ), usable AS (
        SELECT l.*, d.side, CASE
               WHEN (n.system_identifier, n.server_version / 10000)
                    IS DISTINCT FROM (o.system_identifier, o.server_version / 10000) THEN 'other server'
               WHEN l.rewritten THEN 'rewritten'
               -- until a rewrite, old pages keep their density
               WHEN d.side = 'after' AND l.ended_at <= min(l.ended_at) FILTER (
                    WHERE d.side = 'after' AND l.rewritten) OVER () THEN 'before the rewrite'
               WHEN l.updated = 0 THEN 'no updates' END AS why
          FROM constant k CROSS JOIN watched l
          LEFT JOIN ff_internal.epoch n USING (epoch_id)
          LEFT JOIN ff_internal.epoch o ON o.epoch_id = (c).epoch_id
         CROSS JOIN LATERAL (SELECT least(k.slack, (l.ended_at - l.began_at) / 4)) s(slack)
         -- NULL: contains the change
         CROSS JOIN LATERAL (SELECT CASE WHEN l.ended_at - s.slack <= (c).before_at THEN 'before'
                                         WHEN l.began_at + s.slack >= (c).seen_at THEN 'after' END) d(side)
         WHERE l.began_at + s.slack >= k.since AND l.ended_at - s.slack <= k.until AND d.side <> ''
    ), settled AS (
        SELECT r.*, coalesce(r.why, CASE WHEN count(*) OVER same >= 3
                    AND 3 * (sum(r.updated) OVER (same ORDER BY r.ended_at) - r.updated) < sum(r.updated) OVER same
                                         THEN 'settling' END) AS reason,
               r.updated / nullif(extract(epoch FROM r.ended_at - r.began_at), 0)::double precision AS rate
          FROM usable r WINDOW same AS (PARTITION BY r.side, r.why)
    )
    SELECT s.side, s.began_at, s.ended_at, s.updated, s.counted,
           coalesce(s.reason, CASE WHEN s.rate NOT BETWEEN u.rate / k.rate_factor AND u.rate * k.rate_factor
                                 THEN 'other rate' END)
      FROM settled s, constant k,
           (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY o.rate) AS rate
              FROM settled o WHERE o.side = 'after' AND o.reason IS NULL) u
     ORDER BY s.ended_at;
END;

-- Sums over the statements that ran in the compared intervals both before and after a change: those that only update
-- the table, at top level; all if relation_id is NULL. One row per measure and interval. x: the amount. m: its rows or
-- calls. n: x at each statement's mean from before the change. q: least variance, see compared().
CREATE FUNCTION ff_internal.statements_observed(relation_id bigint, earlier tstzmultirange, later tstzmultirange)
RETURNS TABLE (place integer, measure text, unit text, side text, x double precision, m double precision,
               n double precision, q double precision)
LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH said AS (
        SELECT h.statement_id, h.ended_at, v.*,
               CASE WHEN t.middle <@ earlier THEN 'before' WHEN t.middle <@ later THEN 'after' END AS side
          FROM ff_internal.statement_history h
          JOIN ff_internal.statement s USING (statement_id)
         CROSS JOIN LATERAL (SELECT h.began_at + (h.ended_at - h.began_at) / 2,
                                    ff_internal.stddev_of(h.calls, h.total_ms, h.squares)) t(middle, stddev_ms)
         CROSS JOIN LATERAL (VALUES (11, 'WAL per update', 'bytes', h.wal_bytes, h.rows, 0),
               (12, 'blocks per update', 'blocks', h.blocks_hit + h.blocks_read, h.rows, 0),
               (13, 'statement time', 'ms', h.total_ms, h.calls, h.calls * t.stddev_ms ^ 2),
               (14, 'deviation of time', 'ms', h.calls * t.stddev_ms, h.calls, 0)) v(place, measure, unit, x, m, q)
         WHERE h.ended_at > lower(earlier) AND h.began_at < upper(later) AND s.kind <> 'other'
           AND (relation_id IS NULL
                OR (SELECT count(*) = 1 AND bool_and(t.rel_id = relation_id AND t.command = 'UPDATE' AND t.how = 'top')
                      FROM ff_internal.statement_target t WHERE t.statement_id = s.statement_id))
    ), expected AS (
        SELECT d.*, d.m * sum(d.x) FILTER (WHERE d.side = 'before') OVER one
                    / nullif(sum(d.m) FILTER (WHERE d.side = 'before') OVER one, 0) AS n,
               count(*) FILTER (WHERE d.side = 'after') OVER one > 0 AS stayed
          FROM said d WINDOW one AS (PARTITION BY d.place, d.statement_id)
    )
    SELECT e.place, e.measure, e.unit, e.side, sum(e.x), sum(e.m), sum(e.n), sum(e.q)
      FROM expected e WHERE e.side <> '' AND e.stayed AND e.n IS NOT NULL
     GROUP BY e.place, e.measure, e.unit, e.side, e.ended_at;
END;

-- Measures both sides of a change, one row per measure: ratios of sums over the compared intervals, except bytes per
-- row, which is from the last sample. For statements, after / before compares the same mix of statements.
CREATE FUNCTION ff_internal.measures(c ff_internal.changes) RETURNS SETOF ff_internal.measure
LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH w AS MATERIALIZED (
        SELECT w.*, w.left_out IS NULL AS compared FROM ff_internal.verify_windows(c) w
    ), span AS MATERIALIZED (
        SELECT w.side, count(*) AS n, sum(w.updated) AS updated,
               range_agg(tstzrange(w.began_at, w.ended_at, '[]')) AS ranges
          FROM w WHERE w.compared GROUP BY w.side
    ), statements AS MATERIALIZED (
        SELECT o.* FROM span b JOIN span a ON a.side = 'after'
         CROSS JOIN LATERAL ff_internal.statements_observed((c).rel_id, b.ranges, a.ranges) o WHERE b.side = 'before'
    ), observed AS (
        -- q of the HOT share: at least the variance of independent updates (Agresti and Coull)
        SELECT v.place, v.measure, v.unit, w.side, v.x, v.n AS m, v.n, v.q, v.factor
          FROM w
         CROSS JOIN LATERAL (SELECT (w.counted).*) i
         CROSS JOIN LATERAL (VALUES
               (3, CASE WHEN (c).rel_id IS NULL THEN 'calls per second' ELSE 'updates per second' END, '1/s', w.updated,
                extract(epoch FROM w.ended_at - w.began_at)::double precision, 0, 1.0),
               (4, 'HOT share', '%', i.hot_updated, w.updated,
                (i.hot_updated + 2.0) * (w.updated - i.hot_updated + 2) / (w.updated + 4), 100),
               (5, 'newpage share', '%', i.newpage_updated, w.updated, 0, 100),
               (20, 'table size', 'bytes', i.heap_bytes, 1, 0, 1), (21, 'index size', 'bytes', i.index_bytes, 1, 0, 1),
               (23, 'buffer hits', '%', i.blocks_hit, i.blocks_fetched, 0, 100)
               ) v(place, measure, unit, x, n, q, factor)
         WHERE w.compared
        UNION ALL
        (SELECT DISTINCT ON (s.side) 22, 'bytes per row', 'bytes', s.side,
                p.blocks * current_setting('block_size')::double precision, p.live_rows, p.live_rows, 0, 1
           FROM unnest('{before,after}'::text[]) s(side)
           LEFT JOIN span t USING (side)
           JOIN ff_internal.page_sample p ON p.rel_id = (c).rel_id AND CASE s.side
                WHEN 'before' THEN p.sampled_at <= (c).seen_at AND (p.sampled_at < (c).since) IS NOT TRUE
                ELSE p.sampled_at >= coalesce(lower(t.ranges), (c).seen_at)
                     AND (p.sampled_at > (c).until) IS NOT TRUE END
          ORDER BY s.side, p.sampled_at DESC)
        UNION ALL
        SELECT s.*, NULL FROM statements s
    ), compared AS (
        -- statements are measured against themselves, so the scale is the mean of all before the change
        SELECT o.place, o.measure, o.unit, coalesce(max(o.factor), sum(o.x) FILTER (WHERE o.side = 'before')
                   / nullif(sum(o.m) FILTER (WHERE o.side = 'before'), 0)) AS scale,
               ff_internal.compared(array_agg(o.side = 'after'), array_agg(o.x), array_agg(o.n), array_agg(o.q),
                                    o.unit <> '%') AS r
          FROM observed o GROUP BY o.place, o.measure, o.unit
    )
    SELECT v.place, v.measure, NULL, v.before, v.after, NULL, NULL, NULL, v.note
      FROM (VALUES (CASE WHEN (c).rel_id IS NULL THEN 'calls' ELSE 'updates' END)) o(what)
      LEFT JOIN span b ON b.side = 'before'
      LEFT JOIN span a ON a.side = 'after'
     CROSS JOIN LATERAL (VALUES
           (1, 'intervals', coalesce(b.n, 0), coalesce(a.n, 0),
            (SELECT 'left out: ' || string_agg(format('%s %s (%s)', r.n, r.side, r.left_out), ', '
                                               ORDER BY r.side DESC, r.left_out)
               FROM (SELECT w.side, w.left_out, count(*) AS n FROM w WHERE NOT w.compared GROUP BY 1, 2) r)),
           (2, o.what, coalesce(b.updated, 0), coalesce(a.updated, 0), NULL),
           (10, 'statements', NULL, NULL, CASE WHEN NOT EXISTS (SELECT 1 FROM statements)
            THEN 'WAL, blocks and time are not known: ' || coalesce(
                 (SELECT k.reason FROM ff_internal.statement_snapshot k ORDER BY k.collection_id DESC LIMIT 1),
                 'no statement that can be compared was seen both before and after') END)
           ) v(place, measure, before, after, note)
     WHERE v.before >= 0 OR v.note <> ''
    UNION ALL
    SELECT o.place, o.measure, o.unit, o.scale * (o.r).before, o.scale * (o.r).after, o.scale * (o.r).low,
           o.scale * (o.r).high, NULL, NULL
      FROM compared o WHERE (o.r).before IS NOT NULL OR (o.r).after IS NOT NULL;
END;

-- Adds to each measure of a change its verdict (NULL: it does not count), its difference (HOT share in points, others
-- in percent), that in words, and its weight in the cost of a fillfactor. A difference counts if its 95 % interval
-- excludes zero, it is large enough, and the measure has a weight.
CREATE FUNCTION ff_internal.weighed(c ff_internal.changes)
RETURNS TABLE (measure ff_internal.measure, difference double precision, words text, weight double precision)
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT ROW(m.place, m.measure, m.unit, m.before, m.after, m.low, m.high,
               CASE WHEN r.counts IS NOT TRUE OR d.low IS NULL THEN NULL
                    WHEN d.certain AND d.large THEN CASE WHEN d.difference * r.bad < 0 THEN 'better' ELSE 'worse' END
                    WHEN d.high - d.low > 2 * r.unclear THEN 'unclear'
                    ELSE 'equal' END, m.note)::ff_internal.measure,
           d.difference, concat(m.measure, to_char(d.difference, ' FMSG999990.0 '), r.unit,
                                CASE WHEN d.large AND NOT d.certain THEN ' (uncertain)' END), r.weight
      FROM ff_internal.measures(c) m
     CROSS JOIN (SELECT ff_internal.setting('time_weight') AS time,
                        ff_internal.setting('wal_weight') AS wal,
                        ff_internal.setting('size_weight')
                        * ff_internal.setting('storage_weight') AS size,
                        (c).rel_id IS NULL AS of_server) k
      -- matters: least difference that counts. unclear: half width of the interval above which equality cannot be
      -- claimed. Both chosen. The deviation counts for settings only: for a table's statements it follows the mean.
      LEFT JOIN LATERAL (VALUES
           ('HOT share', 'points', -1, 1, 5, 0, k.time + k.wal > 0),
           ('WAL per update', '%', 1, 5, NULL, k.wal, k.wal > 0),
           ('statement time', '%', 1, 5, CASE WHEN k.of_server THEN 10 END, k.time, k.time > 0),
           ('deviation of time', '%', 1, 10, NULL, 0, k.time > 0 AND k.of_server),
           ('bytes per row', '%', 1, NULL, NULL, k.size, false)
           ) r(name, unit, bad, matters, unclear, weight, counts) ON r.name = m.measure
     CROSS JOIN LATERAL (SELECT CASE r.unit WHEN 'points' THEN 1 ELSE 100 / nullif(m.before, 0) END) f(factor)
     CROSS JOIN LATERAL (SELECT f.factor * (m.after - m.before) AS difference, f.factor * m.low AS low,
                                f.factor * m.high AS high, m.low * m.high > 0 AS certain,
                                abs(f.factor * (m.after - m.before)) >= r.matters AS large) d;
END;

-- Judges a change: its verdict and the reason (measure overall), then each measure with its own verdict. Gains and
-- losses are weighed as in the cost of a fillfactor. If both sides have hardly any updates, only the size per row is
-- judged.
CREATE FUNCTION ff_internal.judged(c ff_internal.changes) RETURNS SETOF ff_internal.measure
LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH constant AS (
        -- All chosen. Intervals needed to estimate scatter. Bytes per row, percent: decrease that is a gain, increase
        -- that is a loss by itself. Change of the cost (logarithm) below which gains and losses cancel out.
        SELECT 3 AS intervals, 5 AS size_matters, 10 AS size_hurts, 0.01 AS cost_matters,
               ff_internal.setting('min_updates') AS updates
    ), w AS MATERIALIZED (
        SELECT (w.measure).*, w.difference, w.words, w.weight FROM ff_internal.weighed(c) w
    ), found AS (
        SELECT string_agg(w.words, ', ' ORDER BY w.place) FILTER (WHERE w.verdict = 'better') AS better,
               string_agg(w.words, ', ' ORDER BY w.place) FILTER (WHERE w.verdict = 'worse') AS worse,
               string_agg(w.words, ', ' ORDER BY w.place) FILTER (WHERE w.verdict = 'equal') AS equal,
               string_agg(w.words, ', ' ORDER BY w.place) FILTER (WHERE w.verdict = 'unclear') AS unclear,
               max(w.difference) FILTER (WHERE w.measure = 'bytes per row' AND w.weight > 0) AS size,
               sum(w.weight * ln(1 + w.difference / 100)) FILTER (WHERE w.weight > 0 AND w.difference > -100) AS cost,
               max(w.measure) FILTER (WHERE w.place = 2) AS what,
               max(w.before) FILTER (WHERE w.place = 1) AS n1, max(w.after) FILTER (WHERE w.place = 1) AS n2,
               max(w.before) FILTER (WHERE w.place = 2) AS u1, max(w.after) FILTER (WHERE w.place = 2) AS u2
          FROM w
    ), rule AS (
        -- the first rule that applies; waits: later collections may decide
        SELECT r.*, f.size
          FROM found f CROSS JOIN constant k
         CROSS JOIN LATERAL (SELECT CASE WHEN f.size <= -k.size_matters THEN 'helped'
                                         WHEN f.size >= k.size_hurts THEN 'hurt' END) s(verdict)
         CROSS JOIN LATERAL (VALUES
               (1, greatest(f.u1, f.u2) < k.updates AND s.verdict <> '', s.verdict, false,
                format('hardly any %s on either side, so only the size is judged', f.what)),
               (2, f.n1 < k.intervals OR f.u1 < k.updates, 'too early', false,
                format('%s with %s %s from before the change can be compared; %s with %s are needed, and later '
                       'collections add none', ff_internal.counted(f.n1::bigint, 'interval'), f.u1, f.what,
                       k.intervals, k.updates)),
               (3, f.n2 < k.intervals OR f.u2 < k.updates, 'too early', true,
                format('%s with %s %s can be used since the change; %s with %s are needed%s',
                       ff_internal.counted(f.n2::bigint, 'interval'), f.u2, f.what, k.intervals, k.updates,
                       -- the first third is left out (settling)
                       CASE WHEN f.n2 < k.intervals
                            THEN format(': about %s more collections after work', 2 * k.intervals - 1 - f.n2) END)),
               (4, f.better <> '' AND f.worse <> '', CASE WHEN f.cost < -k.cost_matters THEN 'helped'
                                                          WHEN f.cost > k.cost_matters THEN 'hurt'
                                                          ELSE 'no difference' END, false,
                format('%s, but %s: weighed together, cost %s %%', f.better, f.worse,
                       to_char(100 * (exp(f.cost) - 1), 'FMSG999990.0'))),
               (5, coalesce(f.better, f.worse) <> '', CASE WHEN f.better <> '' THEN 'helped' ELSE 'hurt' END, false,
                concat_ws(', ', f.better, f.worse, f.equal, f.unclear)),
               (6, f.unclear <> '' OR f.equal IS NULL, 'too early', true,
                coalesce(f.unclear || ': the intervals scatter too much to tell yet',
                         'nothing could be measured on both sides')),
               (7, true, coalesce(s.verdict, 'no difference'), false,
                concat(CASE s.verdict WHEN 'helped' THEN 'nothing lost: ' WHEN 'hurt' THEN 'nothing gained: ' END,
                       f.equal))) r(place, applies, verdict, waits, reason)
         WHERE r.applies ORDER BY r.place LIMIT 1
    )
    SELECT 0, 'overall', NULL, NULL, NULL, NULL, NULL, r.verdict,
           concat_ws('; ', r.reason, CASE WHEN r.waits THEN ff_internal.next_collection()
                                          WHEN r.verdict <> 'too early'
                                          THEN to_char(r.size, '"bytes per row "FMSG999990" %"') END)
      FROM rule r
    UNION ALL
    SELECT w.place, w.measure, w.unit, w.before, w.after, w.low, w.high, w.verdict, w.note FROM w;
END;

-- Why there is no history of a table, or of any (NULL); NULL if there is.
CREATE FUNCTION ff_internal.no_history(relation regclass) RETURNS text
LANGUAGE sql STABLE
AS $$
    SELECT coalesce((SELECT c.not_examined FROM ff_internal.user_table c WHERE c.relid = $1),
                    CASE WHEN NOT EXISTS (SELECT 1 FROM ff_internal.collection)
                           OR $1 IS NOT NULL
                              AND $1 NOT IN (SELECT r.relid FROM ff_internal.relation r WHERE r.closed_at IS NULL)
                         THEN 'not collected yet: run CALL ff_collect() or ff_schedule()' END)
$$;

CREATE FUNCTION ff_internal.verified(target regclass, all_measures boolean)
RETURNS TABLE (relation regclass, changed_at timestamptz, change text, measure text, verdict text,
               before double precision, after double precision, predicted double precision,
               difference_low double precision, difference_high double precision, unit text, note text, undo text)
LANGUAGE sql STABLE ROWS 1000
SET jit = off
AS $$
    WITH asked AS MATERIALIZED (
        SELECT r.rel_id, r.opened_at FROM ff_internal.relation r WHERE r.relid = target AND r.closed_at IS NULL
    ), v AS MATERIALIZED (
        SELECT c.*, j.*, f AS altered, p AS prediction
          FROM ff_internal.changes c
         CROSS JOIN LATERAL ff_internal.judged(c) j
          LEFT JOIN ff_internal.change f ON f.change_id = c.change_id AND f.kind = 'fillfactor'
          LEFT JOIN LATERAL (SELECT o.* FROM ff_internal.prediction o
                              WHERE o.rel_id = f.rel_id AND o.made_at < f.seen_at
                                AND (o.from_fillfactor, o.to_fillfactor) = (f.old_fillfactor, f.new_fillfactor)
                              ORDER BY o.made_at DESC LIMIT 1) p ON true
         WHERE target IS NULL OR c.rel_id = (SELECT a.rel_id FROM asked a)
         ORDER BY c.seen_at DESC, c.relation, c.change, j.place
    )
    SELECT v.relation, date_trunc('second', v.seen_at), v.change, v.measure,
           CASE WHEN o.anything THEN 'too early' ELSE v.verdict END, r.x[1], r.x[2], r.x[3],
           CASE WHEN NOT o.anything THEN r.x[4] END, CASE WHEN NOT o.anything THEN r.x[5] END, v.unit, n.note,
           CASE WHEN v.place = 0 AND v.verdict = 'hurt'
                THEN CASE v.kind WHEN 'setting' THEN ff_internal.undo_setting(v.setting, v.old_value)
                                 ELSE ff_internal.undo_change(v.change_id) END END
      FROM v
      -- hide an interval of 100 points, or as wide as the value before: it says nothing (chosen)
     CROSS JOIN LATERAL (SELECT coalesce(v.verdict = 'unclear' AND v.high - v.low
                                         >= CASE v.unit WHEN '%' THEN 100 ELSE v.before END, false)) o(anything)
     CROSS JOIN LATERAL (
           -- relative to the value before: the table may have grown since, and the predicted WAL includes more than
           -- the statements'
           SELECT CASE v.measure WHEN 'HOT share' THEN (v.prediction).predicted_hot_pct
                       WHEN 'WAL per update' THEN CASE WHEN (v.prediction).wal_bytes_saved IS NOT NULL
                            THEN greatest(0, v.before - (v.prediction).wal_bytes_saved) END
                       WHEN 'bytes per row'
                       THEN v.before * (v.prediction).predicted_size_bytes
                            / nullif((v.prediction).size_bytes, 0) END) p(x)
     CROSS JOIN LATERAL (
           SELECT ARRAY(SELECT round(u.x::numeric, CASE v.unit WHEN 'ms' THEN 3 WHEN 'bytes' THEN 0 ELSE 1 END)
                          FROM unnest(ARRAY[v.before, v.after, p.x, v.low, v.high]) u(x))) r(x)
     CROSS JOIN LATERAL (
           SELECT CASE WHEN v.place = 0 THEN concat_ws('; ', v.note,
                            CASE WHEN (v.altered).new_fillfactor < (v.altered).old_fillfactor AND v.verdict <> 'helped'
                                      AND NOT EXISTS (SELECT 1 FROM ff_internal.counter_interval i
                                           WHERE i.rel_id = v.rel_id AND i.ended_at > v.before_at AND i.rewritten)
                                 THEN 'the table was not rewritten since, so its old pages are as full as before' END,
                            'changed at the same time, so not told apart: ' || v.together,
                            CASE WHEN v.kind = 'indexes'
                                 THEN 'what indexes are good for in reading is not judged here'
                                 WHEN v.kind = 'rewrite' AND v.verdict = 'hurt'
                                 THEN 'a rewrite cannot be taken back' END)
                       WHEN v.measure <> 'HOT share' OR v.kind <> 'fillfactor' THEN v.note
                       ELSE coalesce('predicted between ' || round((v.prediction).predicted_hot_low) || ' and '
                                         || round((v.prediction).predicted_hot_high),
                                     'not advised by a collection before, so nothing was predicted') END) n(note)
     WHERE all_measures OR v.verdict <> '' OR v.measure IN ('overall', 'HOT share', 'statements', 'WAL per update',
                                                  'statement time', 'bytes per row')
    UNION ALL
    SELECT target, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
           coalesce(ff_internal.no_history(target), 'no change was seen since ' || to_char(coalesce(
               (SELECT a.opened_at FROM asked a), (SELECT min(k.began_at) FROM ff_internal.collection k)),
               'YYYY-MM-DD HH24:MI')), NULL
     WHERE NOT EXISTS (SELECT 1 FROM v)
$$;

CREATE FUNCTION @extschema@.ff_verify(relation regclass DEFAULT NULL, all_measures boolean DEFAULT false)
RETURNS TABLE (relation regclass, changed_at timestamptz, change text, measure text, verdict text,
               before double precision, after double precision, predicted double precision,
               difference_low double precision, difference_high double precision, unit text, note text, undo text)
LANGUAGE sql STABLE ROWS 1000
AS $$
    SELECT ff_internal.check_role('reader');
    SELECT * FROM ff_internal.verified(ff_internal.checked_table($1), $2)
$$;
COMMENT ON FUNCTION @extschema@.ff_verify(regclass, boolean) IS
'The effect of each change that collections found, latest first, for one table, or for all tables and server '
'settings: the verdict (measure overall), then each measure that counts. One row says so if nothing changed.
relation: NULL for a setting. all_measures: also those that do not count. change: fillfactor, other options, indexes, '
'a rewrite (new file) or a setting. changed_at: the collection that saw it first.
before, after, predicted (by the advice): in unit, over the intervals before and after; the row "intervals" says '
'which were left out. difference_low, difference_high: 95 % interval of after minus before; NULL if too wide.
verdict: of overall: helped, no difference, hurt, too early; of a measure: better, worse, equal, unclear, too early, '
'NULL if it does not count. Gains and losses are weighed by the settings time_weight, wal_weight, size_weight and '
'storage_weight.
note: why. undo: statements that undo a change that hurt; run them one by one outside a transaction.
WAL, blocks and time cover the statements that only update this table and ran on both sides; each is compared with '
'itself.
Errors: 42P01 unknown OID, 42809 not a table.';
