-- The effect of a change.
--
-- The windows before and after a change consist of whole intervals; an interval that contains the change is in neither.
-- Every share and mean is a ratio of two sums over intervals. Its uncertainty comes from the scatter of the intervals,
-- because updates within an interval are not independent.

-- Returns the ratio sum(x) / sum(n) before and after a change, and the 95 % interval of the difference (Welch), of
-- logarithms if asked; NULL if unknown. The variance of a ratio is that of its intervals (ratio estimator), at least
-- sum(q) / sum(n)^2.
CREATE FUNCTION ff_internal.compared(is_after boolean[], x float8[], n float8[], q float8[], logarithms boolean,
    OUT before float8, OUT after float8, OUT low float8, OUT high float8)
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
    SELECT b.mean, a.mean, CASE WHEN logarithms THEN b.mean * (exp(d.d - h.half) - 1) ELSE d.d - h.half END,
           CASE WHEN logarithms THEN b.mean * (exp(d.d + h.half) - 1) ELSE d.d + h.half END
      FROM (SELECT) one
      LEFT JOIN side b ON NOT b.is_after
      LEFT JOIN side a ON a.is_after
     CROSS JOIN LATERAL (SELECT CASE WHEN NOT logarithms THEN a.mean - b.mean
                                     WHEN a.mean > 0 AND b.mean > 0 THEN ln(a.mean / b.mean) END,
                                CASE WHEN a.freedom > 0 AND b.freedom > 0 THEN a.variance + b.variance END
                        ) d(d, variance)
     -- Welch and Satterthwaite's degrees of freedom
     CROSS JOIN LATERAL (SELECT CASE WHEN d.variance = 0 THEN 0 ELSE sqrt(d.variance) * ff_internal.t_quantile(
            d.variance ^ 2 / (a.variance ^ 2 / a.freedom + b.variance ^ 2 / b.freedom)) END) h(half)
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
  FROM (SELECT r.rel_id, r.relid::regclass AS relation, c.kind, c.before_at, c.seen_at, c.epoch_id,
               NULL AS setting, NULL AS old_value,
               ff_internal.plain(CASE c.kind
                   WHEN 'fillfactor' THEN format('fillfactor %s -> %s', c.old_fillfactor, c.new_fillfactor)
                   WHEN 'options' THEN format('options %s -> %s',
                       coalesce(array_to_string(ff_internal.other_options(c.old_options), ', '), 'none'),
                       coalesce(array_to_string(ff_internal.other_options(c.new_options), ', '), 'none'))
                   ELSE (SELECT string_agg(x.what || n.names, ', ')
                           FROM (VALUES ('index dropped: ', c.dropped_indexes), ('index created: ', c.created_indexes)
                                ) x(what, definitions)
                          CROSS JOIN LATERAL (
                             SELECT string_agg(coalesce(substring(d FROM 'INDEX ("(?:[^"]|"")*"|[^ ]+) ON'), d), ', ')
                               FROM unnest(x.definitions) d) n(names)) END) AS change, c AS altered
          FROM ff_internal.followed r JOIN pg_class p ON p.oid = r.relid JOIN ff_internal.change c USING (rel_id)
        UNION ALL
        SELECT r.rel_id, r.relid, 'rewrite', i.began_at, i.ended_at, i.epoch_id, NULL, NULL, 'rewritten', NULL
          FROM ff_internal.followed r JOIN pg_class p ON p.oid = r.relid
         CROSS JOIN LATERAL (
            SELECT i.*
              FROM (SELECT * FROM ff_internal.counter_interval n
                     WHERE n.rel_id = r.rel_id AND n.rewritten AND n.ended_at > now() - ff_internal.lookback()
                     ORDER BY n.ended_at DESC LIMIT 20) i
             WHERE ff_internal.reloaded(i) IS NOT TRUE
               AND NOT EXISTS (SELECT FROM ff_internal.change c
                                WHERE c.rel_id = i.rel_id AND c.seen_at > i.began_at AND c.seen_at <= i.ended_at)
             ORDER BY i.ended_at DESC LIMIT 3) i
        UNION ALL
        SELECT NULL, NULL, 'setting', s.before_at, s.seen_at,
               (SELECT k.epoch_id FROM ff_internal.collection k WHERE k.began_at <= s.seen_at
                 ORDER BY k.began_at DESC LIMIT 1),
               s.setting, s.old_value, format('setting %s %s -> %s', s.setting,
                   ff_internal.setting_shown(s.old_value, s.unit), ff_internal.setting_shown(s.value, s.unit)), NULL
          FROM (SELECT h.*, lag(h.value) OVER (PARTITION BY h.setting ORDER BY h.seen_at) AS old_value
                  FROM ff_internal.setting_history h
                 WHERE h.seen_at >= (SELECT ff_internal.observed_since())) s
         WHERE s.before_at IS NOT NULL) o
WINDOW earlier AS (PARTITION BY o.rel_id ORDER BY o.seen_at GROUPS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING),
       later AS (PARTITION BY o.rel_id ORDER BY o.seen_at GROUPS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING);
COMMENT ON VIEW ff_internal.changes IS
'Changes of tables and of server settings. rel_id, relation: NULL for a setting. altered: NULL for settings and '
'rewrites: of the last 20 files of a table, the last three are listed that did not come with another change, nor with '
'all of its rows (TRUNCATE). together: other changes found by the same collection. since, until: end of the previous '
'change, begin of the next; a rewrite ends the window of rewrites only.';

-- Returns the intervals on both sides of a change, and why each is left out (NULL: it counts); for a setting those
-- between reads of the statement statistics, with calls instead of updates. settling: begins within the first third of
-- its side's updates, if that has three intervals, before a change if three are left. old snapshot: one was held, and
-- in fewer than half of one side's intervals, for a setting of its own side's. other rate: far from the median rate
-- after the change.
CREATE FUNCTION ff_internal.verify_windows(c ff_internal.changes)
RETURNS TABLE (side text, began_at timestamptz, ended_at timestamptz, updated float8,
               counted ff_internal.counter_interval, left_out text)
LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH constant AS (
        -- chosen; slack: the statements may be read this much later than the tables
        SELECT 4.0 AS rate_factor, interval '5 s' AS slack, greatest((c).before_at - r, (c).since) AS since,
               least((c).seen_at + r, (c).until) AS until
          FROM ff_internal.lookback() r
    ), watched AS (
        SELECT i.began_at, i.ended_at, i.epoch_id, i.updated::float8 AS updated, i AS counted,
               i.rewritten AS new_file, i.rewritten AND ff_internal.reloaded(i) IS NOT TRUE AS rewritten
          FROM constant k JOIN ff_internal.counter_interval i
               ON i.rel_id = (c).rel_id AND i.ended_at BETWEEN k.since AND k.until + k.slack
        UNION ALL
        SELECT min(h.began_at), h.ended_at, h.epoch_id, sum(h.calls), NULL, false, false
          FROM constant k JOIN ff_internal.statement_history h
               ON (c).rel_id IS NULL AND h.ended_at BETWEEN k.since AND k.until + k.slack
         GROUP BY h.ended_at, h.epoch_id
    ), sided AS (
        SELECT l.*, CASE WHEN l.ended_at - s.slack <= (c).before_at THEN 'before'
                         WHEN l.began_at + s.slack >= (c).seen_at THEN 'after' END AS side,
               t.ranges && tstzrange(l.began_at, l.ended_at, '()') AS held
          FROM constant k CROSS JOIN watched l
         CROSS JOIN (SELECT ff_internal.held_times(k.since) AS ranges FROM constant k OFFSET 0) t
         CROSS JOIN LATERAL (SELECT least(k.slack, (l.ended_at - l.began_at) / 4)) s(slack)
         WHERE l.began_at + s.slack >= k.since AND l.ended_at - s.slack <= k.until
    ), usable AS (
        SELECT d.*, CASE
               WHEN n.system_identifier IS DISTINCT FROM o.system_identifier THEN 'other server'
               WHEN d.rewritten THEN 'rewritten'
               -- until a rewrite, old pages keep their density
               WHEN d.side = 'after' AND d.ended_at <= min(d.ended_at) FILTER (
                    WHERE d.side = 'after' AND d.new_file) OVER () THEN 'before the rewrite'
               WHEN d.updated = 0 THEN 'no updates'
               WHEN d.held AND CASE WHEN (c).rel_id IS NULL THEN d.few
                                    ELSE bool_or(d.few) OVER () END THEN 'old snapshot' END AS why
          FROM (SELECT s.*, 2 * count(*) FILTER (WHERE s.held) OVER (PARTITION BY s.side)
                            < count(*) OVER (PARTITION BY s.side) AS few FROM sided s WHERE s.side <> '') d
          LEFT JOIN ff_internal.epoch n USING (epoch_id)
          LEFT JOIN ff_internal.epoch o ON o.epoch_id = (c).epoch_id
    ), aged AS (
        SELECT r.*, 3 * (sum(r.updated) OVER (same ORDER BY r.ended_at) - r.updated) < sum(r.updated) OVER same AS early
          FROM usable r WINDOW same AS (PARTITION BY r.side, r.why)
    ), settled AS (
        SELECT r.*, coalesce(r.why, CASE WHEN r.early AND CASE r.side
                        WHEN 'before' THEN count(*) FILTER (WHERE NOT r.early) OVER same
                        ELSE count(*) OVER same END >= 3 THEN 'settling' END) AS reason,
               r.updated / nullif(extract(epoch FROM r.ended_at - r.began_at), 0)::float8 AS rate
          FROM aged r WINDOW same AS (PARTITION BY r.side, r.why)
    )
    SELECT s.side, s.began_at, s.ended_at, s.updated, s.counted,
           coalesce(s.reason, CASE WHEN s.rate NOT BETWEEN u.rate / k.rate_factor AND u.rate * k.rate_factor
                                   THEN 'other rate' END)
      FROM settled s, constant k,
           (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY o.rate) AS rate
              FROM settled o WHERE o.side = 'after' AND o.reason IS NULL) u
     ORDER BY s.ended_at;
END;

-- Sums by measure and interval over the statements that ran in both ranges and only update the table, at top level; all
-- if relation_id is NULL. x: the amount. m: its rows or calls. n: what x would be if each statement still cost what it
-- did before the change. q: least variance, see compared(); images of pages come by checkpoints, so their WAL is as
-- uncertain as the number of those.
CREATE FUNCTION ff_internal.statements_observed(relation_id bigint, earlier tstzmultirange, later tstzmultirange)
RETURNS TABLE (place integer, measure text, unit text, side text, x float8, m float8, n float8, q float8)
LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH own AS (
        SELECT s.statement_id FROM ff_internal.statement s WHERE relation_id IS NULL
        UNION ALL
        SELECT t.statement_id FROM ff_internal.statement_target t
         WHERE t.rel_id = relation_id AND t.command = 'UPDATE' AND t.how = 'top'
           AND NOT EXISTS (SELECT FROM ff_internal.statement_target o
                            WHERE o.statement_id = t.statement_id AND o."position" <> t."position")
    ), said AS (
        SELECT h.statement_id, h.ended_at, v.*,
               CASE WHEN t.middle <@ earlier THEN 'before' WHEN t.middle <@ later THEN 'after' END AS side
          FROM (SELECT extract(epoch FROM ff_internal.server_setting('checkpoint_timeout')::interval) OFFSET 0)
               k(checkpoint_s)
         CROSS JOIN own
          -- OFFSET: through the index
         CROSS JOIN LATERAL (
               SELECT * FROM ff_internal.statement_history o
                WHERE o.statement_id = own.statement_id AND o.ended_at > lower(earlier) AND o.began_at < upper(later)
               OFFSET 0) h
         CROSS JOIN LATERAL (SELECT h.began_at + (h.ended_at - h.began_at) / 2) t(middle)
         CROSS JOIN LATERAL (VALUES
            (11, 'WAL per update', 'bytes', h.wal_bytes, h.rows, least(8192.0 * h.wal_fpi, h.wal_bytes) ^ 2
             / greatest(1, extract(epoch FROM h.ended_at - h.began_at) / k.checkpoint_s)),
            (13, 'statement time', 'ms', h.total_ms, h.calls,
             greatest(h.squares - h.total_ms ^ 2 / h.calls, 0))) v(place, measure, unit, x, m, q)
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
