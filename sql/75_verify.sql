-- Stage verify: what came of a change.
--
-- Windows before and after a change are made of whole intervals, none of which
-- holds both states. Every share and mean is a ratio of two sums over
-- intervals, and its uncertainty comes from how much intervals differ: updates
-- within one are not independent of each other.

-- ---------------------------------------------------------------------------
-- Statistics
-- ---------------------------------------------------------------------------
-- Half width, in standard errors, of a two-sided 95 % interval with so many degrees of freedom (Student's t).
CREATE FUNCTION ff_internal.t_quantile(freedom double precision) RETURNS double precision
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'ff_t_quantile';

-- Ratio of two sums over intervals, its variance from their scatter (ratio estimator) but at least least_variance.
CREATE FUNCTION ff_internal.ratio(num double precision[], den double precision[],
    least_variance double precision DEFAULT 0) RETURNS ff_internal.estimate
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT ROW(min(o.mean),
               CASE WHEN count(*) >= 2 THEN greatest(coalesce(least_variance, 0),
                    sum((o.x - o.mean * o.n) ^ 2) * count(*) / (count(*) - 1) / sum(o.n) ^ 2) END,
               count(*))::ff_internal.estimate
      FROM (SELECT u.x, u.n, sum(u.x) OVER () / sum(u.n) OVER () AS mean
              FROM unnest(num, den) u(x, n) WHERE u.n > 0 AND u.x IS NOT NULL) o
$$;

-- Estimate b less a, or the logarithm of b / a, and the ends of its 95 % interval (Welch), NULL where unknown.
CREATE FUNCTION ff_internal.difference(a ff_internal.estimate, b ff_internal.estimate,
    logarithms boolean DEFAULT false) RETURNS double precision[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT ARRAY[s.d, s.d - h.half, s.d + h.half]
      FROM (SELECT CASE WHEN NOT logarithms THEN (b).mean - (a).mean
                        WHEN (a).mean > 0 AND (b).mean > 0 THEN ln((b).mean / (a).mean) END AS d,
                   (a).variance / CASE WHEN logarithms THEN nullif((a).mean, 0) ^ 2 ELSE 1 END AS va,
                   (b).variance / CASE WHEN logarithms THEN nullif((b).mean, 0) ^ 2 ELSE 1 END AS vb) s
     CROSS JOIN LATERAL (
           SELECT CASE WHEN s.va + s.vb = 0 THEN 0
                       WHEN s.va + s.vb > 0 THEN sqrt(s.va + s.vb) * ff_internal.t_quantile(
                            -- Welch and Satterthwaite's degrees of freedom
                            (s.va + s.vb) ^ 2 / (s.va ^ 2 / nullif((a).clusters - 1, 0)
                                                 + s.vb ^ 2 / nullif((b).clusters - 1, 0))) END) h(half)
$$;

-- ---------------------------------------------------------------------------
-- Changes
-- ---------------------------------------------------------------------------
-- Names of the indexes that these definitions make, in words; NULL for none.
CREATE FUNCTION ff_internal.index_names(definitions text[]) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
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
               s.setting, v.old, format('setting %s %s -> %s', s.setting, v.old,
                                        ff_internal.setting_shown(s.value, s.unit))
          FROM (SELECT h.*, lag(h.value) OVER (PARTITION BY h.setting ORDER BY h.seen_at) AS old_value
                  FROM ff_internal.setting_history h) s
         CROSS JOIN LATERAL ff_internal.setting_shown(s.old_value, s.unit) v(old)
         WHERE s.before_at IS NOT NULL) o
WINDOW earlier AS (PARTITION BY o.rel_id ORDER BY o.seen_at GROUPS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING),
       later AS (PARTITION BY o.rel_id ORDER BY o.seen_at GROUPS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING);
COMMENT ON VIEW ff_internal.changes IS
'Changes of tables and of server settings, in words (change). rel_id, relation: NULL for a setting; change_id for '
'settings and rewrites. A rewrite that came with another change is a part of it; of others a table''s last three are '
'here. together: other changes that the same collection found. since, until: the end of the change before and the '
'begin of the next; a rewrite ends the window of rewrites only.';

-- ---------------------------------------------------------------------------
-- Which intervals are compared
-- ---------------------------------------------------------------------------
-- The intervals around a change, of a table or (for a setting) of looks at the statements, whose calls stand for
-- updates, and why each is left out (NULL: it counts). settling: the first third of a side's updates, where it has
-- three intervals. other rate: more than rate_factor times the median rate after the change, or less than its part.
CREATE FUNCTION ff_internal.verify_windows(c ff_internal.changes)
RETURNS TABLE (side text, began_at timestamptz, ended_at timestamptz, updated double precision,
               counted ff_internal.counter_interval, left_out text)
LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH constant AS (
        -- rate_factor and slack, by how much a look at the statements may follow that at the tables: chosen
        SELECT 4.0 AS rate_factor, interval '5 s' AS slack, greatest((c).before_at - r, (c).since) AS since,
               least((c).seen_at + r, (c).until) AS until, e.system_identifier, e.server_version / 10000 AS major
          FROM ff_internal.lookback() r LEFT JOIN ff_internal.epoch e ON e.epoch_id = (c).epoch_id
    ), look AS (
        SELECT i.began_at, i.ended_at, i.updated::double precision AS updated, i AS counted, i.rewritten,
               e.system_identifier, e.server_version / 10000 AS major
          FROM constant k
          JOIN ff_internal.counter_interval i ON i.rel_id = (c).rel_id
               AND i.ended_at BETWEEN k.since AND k.until + k.slack
          LEFT JOIN ff_internal.epoch e USING (epoch_id)
        UNION ALL
        SELECT min(h.began_at), h.ended_at, sum(h.calls), NULL, false, e.system_identifier, e.server_version / 10000
          FROM constant k
          JOIN ff_internal.statement_history h ON (c).rel_id IS NULL
               AND h.ended_at BETWEEN k.since AND k.until + k.slack
          LEFT JOIN ff_internal.statement_epoch e USING (statement_epoch_id)
         GROUP BY h.ended_at, e.system_identifier, e.server_version / 10000
    ), sided AS (
        SELECT l.*, CASE WHEN l.ended_at - s.slack <= (c).before_at THEN 'before' ELSE 'after' END AS side,
               l.ended_at - s.slack > (c).before_at AND l.began_at + s.slack < (c).seen_at AS holds_change,
               (l.system_identifier, l.major) = (k.system_identifier, k.major) AS here
          FROM look l CROSS JOIN constant k
         CROSS JOIN LATERAL (SELECT least(k.slack, (l.ended_at - l.began_at) / 4)) s(slack)
         WHERE l.began_at + s.slack >= k.since AND l.ended_at - s.slack <= k.until
    ), reason AS (
        -- until a rewrite, old pages keep their density
        SELECT s.*, CASE WHEN s.holds_change THEN 'holds the change'
                         WHEN s.here IS NOT TRUE THEN 'other server'
                         WHEN s.rewritten THEN 'rewritten'
                         WHEN s.side = 'after' AND s.ended_at <= min(s.ended_at) FILTER (
                              WHERE s.side = 'after' AND s.rewritten AND NOT s.holds_change) OVER ()
                         THEN 'before the rewrite'
                         WHEN s.updated = 0 THEN 'no updates' END AS why
          FROM sided s
    ), settled AS (
        SELECT r.*, coalesce(r.why, CASE WHEN count(*) OVER same >= 3
                    AND 3 * (sum(r.updated) OVER (same ORDER BY r.ended_at) - r.updated) < sum(r.updated) OVER same
                                         THEN 'settling' END) AS why2,
               r.updated / nullif(extract(epoch FROM r.ended_at - r.began_at), 0)::double precision AS rate
          FROM reason r WINDOW same AS (PARTITION BY r.side, r.why)
    )
    SELECT s.side, s.began_at, s.ended_at, s.updated, s.counted,
           coalesce(s.why2, CASE WHEN s.rate NOT BETWEEN u.rate / k.rate_factor AND u.rate * k.rate_factor
                                 THEN 'other rate' END)
      FROM settled s, constant k,
           (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY o.rate) AS rate
              FROM settled o WHERE o.side = 'after' AND o.why2 IS NULL) u
     ORDER BY s.ended_at;
END;

-- ---------------------------------------------------------------------------
-- What was measured on both sides
-- ---------------------------------------------------------------------------
-- What the statements say that ran both before and after a change in the intervals compared: of a table those that do
-- nothing but update it at their top level, or all (NULL). after is for the mix of statements after the change, each
-- measured against itself before; then come the mean times of the five that took most time.
CREATE FUNCTION ff_internal.statement_measures(relation_id bigint, earlier tstzmultirange, later tstzmultirange)
RETURNS SETOF ff_internal.measure
LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH sided AS (
        SELECT h.*, h.blocks_hit + h.blocks_read AS blocks, h.calls * h.stddev_ms ^ 2 AS squares,
               CASE WHEN m.middle <@ earlier THEN 'before' WHEN m.middle <@ later THEN 'after' END AS side
          FROM ff_internal.statement_history h
          JOIN ff_internal.statement s USING (statement_id)
         CROSS JOIN LATERAL (SELECT h.began_at + (h.ended_at - h.began_at) / 2) m(middle)
         WHERE h.ended_at > lower(earlier) AND h.began_at < upper(later) AND s.kind <> 'other'
           AND (relation_id IS NULL
                OR (SELECT count(*) = 1 AND bool_and(t.rel_id = relation_id AND t.command = 'UPDATE' AND t.how = 'top')
                      FROM ff_internal.statement_target t WHERE t.statement_id = s.statement_id))
    ), seen AS MATERIALIZED (
        SELECT s.* FROM sided s WHERE s.side IS NOT NULL
           AND EXISTS (SELECT 1 FROM sided o WHERE o.statement_id = s.statement_id AND o.side <> s.side)
    ), total AS MATERIALIZED (
        -- of each statement, and of all (NULL)
        SELECT s.side, s.statement_id, sum(s.calls) AS calls, sum(s.total_ms) AS total_ms,
               sum(s.total_ms) / sum(s.calls) AS ms, sum(s.squares) / sum(s.calls) AS squares,
               sum(s.wal_bytes) / nullif(sum(s.rows), 0) AS wal, sum(s.blocks) / nullif(sum(s.rows), 0) AS blocks
          FROM seen s GROUP BY s.side, ROLLUP (s.statement_id)
    ), longest AS (
        SELECT t.statement_id, 30 + row_number() OVER (ORDER BY t.total_ms DESC) AS place
          FROM total t WHERE t.side = 'after' AND t.statement_id IS NOT NULL ORDER BY t.total_ms DESC LIMIT 5
    ), observed AS (
        -- x of each interval against n; q: the squares, below which single calls leave no variance
        SELECT v.place, s.side, sum(v.x) AS x, sum(v.n) AS n, sum(v.q) AS q
          FROM seen s
          JOIN total u ON u.statement_id = s.statement_id AND u.side = 'before'
          LEFT JOIN longest l ON l.statement_id = s.statement_id
         CROSS JOIN LATERAL (VALUES
               (11, s.wal_bytes, s.rows * u.wal, 0), (12, s.blocks, s.rows * u.blocks, 0),
               (13, s.total_ms, s.calls * u.ms, s.squares), (14, s.squares, s.calls * u.squares, 0),
               (l.place, s.total_ms, s.calls, s.squares)) v(place, x, n, q)
         WHERE v.place > 0
         GROUP BY v.place, s.side, s.ended_at
    ), estimated AS (
        -- of the standard deviation the mean logarithm
        SELECT o.place, o.side, CASE o.place
               WHEN 14 THEN ff_internal.ratio(array_agg(CASE WHEN o.x > 0 AND o.n > 0 THEN ln(o.x / o.n) / 2 END),
                                              array_agg(1::double precision))
               ELSE ff_internal.ratio(array_agg(o.x), array_agg(o.n), sum(o.q) / nullif(sum(o.n) ^ 2, 0)) END AS e
          FROM observed o GROUP BY o.place, o.side
    ), compared AS (
        SELECT b.place, (b.e).mean, ff_internal.difference(b.e, a.e, b.place BETWEEN 11 AND 13) AS d
          FROM estimated b JOIN estimated a USING (place) WHERE b.side = 'before' AND a.side = 'after'
    )
    SELECT c.place, v.measure, v.unit, v.before, v.before * exp(c.d[1]), v.before * (exp(c.d[2]) - 1),
           v.before * (exp(c.d[3]) - 1), NULL, NULL
      FROM compared c JOIN total t ON t.side = 'before' AND t.statement_id IS NULL
     CROSS JOIN LATERAL (VALUES (11, 'WAL per update', 'bytes', t.wal), (12, 'blocks per update', 'blocks', t.blocks),
                                (13, 'statement time', 'ms', t.ms), (14, 'deviation of time', 'ms', sqrt(t.squares))
                         ) v(place, measure, unit, before) WHERE v.place = c.place
    UNION ALL
    SELECT c.place, 'time of ' || s.queryid, 'ms', c.mean, c.mean + c.d[1], c.d[2], c.d[3], NULL,
           format('%s and %s calls: %s', b.calls, a.calls, ff_internal.plain(left(s.text, 60)))
      FROM compared c JOIN longest l USING (place) JOIN ff_internal.statement s USING (statement_id)
      JOIN total b ON b.statement_id = l.statement_id AND b.side = 'before'
      JOIN total a ON a.statement_id = l.statement_id AND a.side = 'after';
END;

-- Both sides of a change: what the intervals compared add up to, why others were left out, and what the last interval
-- and the samples of either side tell. Shares are 0 to 1.
CREATE FUNCTION ff_internal.verify_sides(c ff_internal.changes)
RETURNS TABLE (side text, intervals bigint, updated double precision, seconds double precision, spans tstzmultirange,
               hot_share ff_internal.estimate, newpage_share double precision, hit_share double precision,
               heap_bytes bigint, index_bytes bigint, row_bytes double precision, left_out text)
LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH w AS MATERIALIZED (
        SELECT w.side, w.began_at, w.ended_at, w.updated, (w.counted).hot_updated::double precision AS hot,
               (w.counted).newpage_updated, (w.counted).blocks_hit, (w.counted).blocks_fetched,
               (w.counted).heap_bytes, (w.counted).index_bytes, w.left_out
          FROM ff_internal.verify_windows(c) w
    ), compared AS (
        SELECT s.side, count(w.side) AS n, coalesce(sum(w.updated), 0) AS u, sum(w.hot) AS hot,
               sum(w.newpage_updated)::double precision AS newpage, array_agg(w.hot) AS hots,
               array_agg(w.updated) AS updates,
               extract(epoch FROM sum(w.ended_at - w.began_at))::double precision AS seconds,
               range_agg(tstzrange(w.began_at, w.ended_at, '[]')) AS spans,
               sum(w.blocks_hit) / nullif(sum(w.blocks_fetched), 0) AS hit
          FROM unnest('{before,after}'::text[]) s(side)
          LEFT JOIN w ON w.side = s.side AND w.left_out IS NULL
         GROUP BY s.side
    )
    SELECT o.side, o.n, o.u, o.seconds, o.spans,
           -- never surer than single updates would allow (Agresti and Coull's share)
           ff_internal.ratio(o.hots, o.updates, (o.hot + 2) * (o.u - o.hot + 2) / (o.u + 4) ^ 3),
           m.newpage_share, o.hit, l.heap_bytes, l.index_bytes, p.row_bytes,
           (SELECT string_agg(format('%s %s (%s)', r.n, o.side, r.left_out), ', ' ORDER BY r.left_out)
              FROM (SELECT x.left_out, count(*) AS n FROM w x
                     WHERE x.side = o.side AND x.left_out <> 'holds the change' GROUP BY x.left_out) r)
      FROM compared o
     CROSS JOIN LATERAL (
           SELECT min(w.began_at) AS began_at,
                  (array_agg(w.heap_bytes ORDER BY w.heap_bytes IS NULL, w.ended_at DESC))[1] AS heap_bytes,
                  (array_agg(w.index_bytes ORDER BY w.index_bytes IS NULL, w.ended_at DESC))[1] AS index_bytes
             FROM w WHERE w.side = o.side) l
     CROSS JOIN LATERAL (
           -- the last sample tells the size, those since the first interval compared what became of old versions
           SELECT sum(s.superseded_hot) FILTER (WHERE s.sampled_at >= lower(o.spans)) AS hot,
                  sum(s.superseded_same_page) FILTER (WHERE s.sampled_at >= lower(o.spans)) AS same_page,
                  sum(s.superseded_newpage) FILTER (WHERE s.sampled_at >= lower(o.spans)) AS newpage,
                  (array_agg(s.blocks * current_setting('block_size')::double precision / nullif(s.live_rows, 0)
                             ORDER BY s.sampled_at DESC))[1] AS row_bytes
             FROM ff_internal.page_sample s
            WHERE s.rel_id = (c).rel_id
              AND CASE o.side WHEN 'before' THEN s.sampled_at BETWEEN l.began_at AND (c).seen_at
                  ELSE s.sampled_at >= coalesce(lower(o.spans), (c).seen_at)
                       AND NOT EXISTS (SELECT 1 FROM ff_internal.change h WHERE h.rel_id = (c).rel_id
                                          AND h.seen_at > (c).seen_at AND h.seen_at < s.sampled_at) END) p
      LEFT JOIN LATERAL ff_internal.split_updates(o.u, o.hot, o.newpage, p.same_page, p.newpage, NULL, p.hot) m ON true;
END;

-- What was measured on both sides of a change, a row a measure.
CREATE FUNCTION ff_internal.measures(c ff_internal.changes) RETURNS SETOF ff_internal.measure
LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH side AS MATERIALIZED (
        SELECT * FROM ff_internal.verify_sides(c)
    ), statements AS MATERIALIZED (
        SELECT m.* FROM side b JOIN side a ON a.side = 'after'
         CROSS JOIN LATERAL ff_internal.statement_measures((c).rel_id, b.spans, a.spans) m WHERE b.side = 'before'
    )
    SELECT v.place, v.measure, v.unit, v.before, v.after,
           CASE WHEN v.d[2] IS NOT NULL THEN greatest(-100, 100 * v.d[2]) END,
           CASE WHEN v.d[3] IS NOT NULL THEN least(100, 100 * v.d[3]) END, NULL, v.note
      FROM side b JOIN side a ON a.side = 'after'
     CROSS JOIN LATERAL (SELECT CASE WHEN (c).rel_id IS NULL THEN 'calls' ELSE 'updates' END) w(what)
     CROSS JOIN LATERAL (VALUES
           (1, 'intervals', NULL, b.intervals, a.intervals, NULL,
            'left out: ' || nullif(concat_ws(', ', b.left_out, a.left_out), '')),
           (2, w.what, NULL, b.updated, a.updated, NULL, NULL),
           (3, w.what || ' per second', '1/s', b.updated / nullif(b.seconds, 0), a.updated / nullif(a.seconds, 0),
            NULL, NULL),
           (4, 'HOT share', '%', 100 * (b.hot_share).mean, 100 * (a.hot_share).mean,
            ff_internal.difference(b.hot_share, a.hot_share), NULL),
           (5, 'newpage share', '%', 100 * b.newpage_share, 100 * a.newpage_share, NULL,
            CASE WHEN w.what = 'updates' AND b.updated * a.updated > 0 AND b.newpage_share + a.newpage_share IS NULL
                 THEN 'not counted before PostgreSQL 16, and no old versions were seen in the pages' END),
           (10, 'statements', NULL, NULL, NULL, NULL,
            CASE WHEN NOT b.spans IS NULL AND NOT a.spans IS NULL AND NOT EXISTS (SELECT 1 FROM statements)
                 THEN 'WAL, blocks and time are not known: ' || coalesce(
                      (SELECT k.reason FROM ff_internal.statement_snapshot k ORDER BY k.collection_id DESC LIMIT 1),
                      'no statement ' || CASE w.what WHEN 'updates' THEN 'that only updates this table ' ELSE '' END
                      || 'was seen in what is compared, both before and after') END),
           (20, 'table size', 'bytes', b.heap_bytes, a.heap_bytes, NULL, NULL),
           (21, 'index size', 'bytes', b.index_bytes, a.index_bytes, NULL, NULL),
           (22, 'bytes per row', 'bytes', b.row_bytes, a.row_bytes, NULL, NULL),
           (23, 'buffer hits', '%', 100 * b.hit_share, 100 * a.hit_share, NULL, NULL)
           ) v(place, measure, unit, before, after, d, note)
     WHERE b.side = 'before' AND (v.before IS NOT NULL OR v.after IS NOT NULL OR v.note IS NOT NULL)
    UNION ALL
    SELECT * FROM statements;
END;

-- ---------------------------------------------------------------------------
-- Verdict
-- ---------------------------------------------------------------------------
-- The measures of a change, each with its verdict (NULL: it does not count), its difference (HOT share in points, the
-- rest in percent), that in words, and its weight in the cost of a fillfactor. A difference counts where its 95 %
-- interval excludes zero, it is large enough to matter, and what it tells of has a weight.
CREATE FUNCTION ff_internal.weighed(measures ff_internal.measure[])
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
      FROM unnest(measures) m
     CROSS JOIN (SELECT ff_internal.setting('time_weight')::double precision AS time,
                        ff_internal.setting('wal_weight')::double precision AS wal,
                        ff_internal.setting('size_weight')::double precision
                        * ff_internal.setting('storage_weight')::double precision AS size,
                        (SELECT bool_or(u.measure = 'HOT share') FROM unnest(measures) u) AS of_table) k
      -- What matters, and the half width of the interval beyond which no difference cannot be claimed either, both
      -- chosen. The standard deviation counts for a setting only: that of a table's statements follows their mean.
      LEFT JOIN LATERAL (VALUES
           ('HOT share', 'points', -1, 1, 5, 0, k.time + k.wal > 0),
           ('WAL per update', '%', 1, 5, NULL, k.wal, k.wal > 0),
           ('statement time', '%', 1, 5, CASE WHEN NOT k.of_table THEN 10 END, k.time, k.time > 0),
           ('deviation of time', '%', 1, 10, NULL, 0, k.time > 0 AND NOT k.of_table),
           ('bytes per row', '%', 1, NULL, NULL, k.size, false)
           ) r(name, unit, bad, matters, unclear, weight, counts) ON r.name = m.measure
     CROSS JOIN LATERAL (SELECT CASE r.unit WHEN 'points' THEN 1 ELSE 100 / nullif(m.before, 0) END) f(factor)
     CROSS JOIN LATERAL (SELECT f.factor * (m.after - m.before) AS difference, f.factor * m.low AS low,
                                f.factor * m.high AS high, m.low * m.high > 0 AS certain,
                                abs(f.factor * (m.after - m.before)) >= r.matters AS large) d;
END;

-- Verdict on a change, and the reason in words. Gains and losses are weighed as in the cost of a fillfactor. Where
-- there are hardly any updates on either side, the size per row alone is judged.
CREATE FUNCTION ff_internal.verdict(measures ff_internal.measure[], OUT verdict text, OUT reason text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- intervals without which their scatter says nothing; chosen
    least_intervals CONSTANT integer := 3;
    least_updates   CONSTANT double precision := ff_internal.setting('min_updates');
    -- bytes per row, percent: what is a gain without any other, what is a loss; chosen
    size_matters    CONSTANT double precision := 5;
    size_hurts      CONSTANT double precision := 10;
    -- change of the cost (logarithm) below which gains and losses cancel out; chosen
    cost_matters    CONSTANT double precision := 0.01;
    n               ff_internal.measure;
    u               ff_internal.measure;
    j               record;
    by_size         text;
BEGIN
    SELECT m.* INTO n FROM unnest(measures) m WHERE m.place = 1;
    SELECT m.* INTO u FROM unnest(measures) m WHERE m.place = 2;
    SELECT string_agg(w.words, ', ') FILTER (WHERE (w.measure).verdict = 'better') AS better,
           string_agg(w.words, ', ') FILTER (WHERE (w.measure).verdict = 'worse') AS worse,
           string_agg(w.words, ', ') FILTER (WHERE (w.measure).verdict = 'equal') AS equal,
           string_agg(w.words, ', ') FILTER (WHERE (w.measure).verdict = 'unclear') AS unclear,
           max(w.difference) FILTER (WHERE (w.measure).measure = 'bytes per row' AND w.weight > 0) AS size,
           sum(w.weight * ln(1 + w.difference / 100)) FILTER (WHERE w.weight > 0 AND w.difference > -100) AS cost
      INTO j FROM (SELECT * FROM ff_internal.weighed(measures) o ORDER BY (o.measure).place) w;
    by_size := CASE WHEN j.size <= -size_matters THEN 'helped' WHEN j.size >= size_hurts THEN 'hurt' END;
    verdict := 'too early';
    IF greatest(u.before, u.after) < least_updates AND by_size IS NOT NULL THEN
        verdict := by_size;
        reason := format('hardly any %s on either side, so only the size is judged', u.measure);
    ELSIF n.before < least_intervals OR u.before < least_updates THEN
        reason := format('%s with %s %s from before the change can be compared; %s with %s are needed, '
                         'and later collections add none', ff_internal.counted(n.before::bigint, 'interval'), u.before,
                         u.measure, least_intervals, least_updates);
    ELSIF n.after < least_intervals OR u.after < least_updates THEN
        reason := format('%s with %s %s can be used since the change; %s with %s are needed%s',
                         ff_internal.counted(n.after::bigint, 'interval'), u.after, u.measure, least_intervals,
                         -- the first third of them settles
                         least_updates, CASE WHEN n.after < least_intervals THEN
                             format(': about %s more collections after work', 2 * least_intervals - 1 - n.after) END);
    ELSIF j.better <> '' AND j.worse <> '' THEN
        verdict := CASE WHEN j.cost < -cost_matters THEN 'helped' WHEN j.cost > cost_matters THEN 'hurt'
                        ELSE 'no difference' END;
        reason := format('%s, but %s: weighed together, cost %s %%', j.better, j.worse,
                         to_char(100 * (exp(j.cost) - 1), 'FMSG999990.0'));
    ELSIF coalesce(j.better, j.worse) <> '' THEN
        verdict := CASE WHEN j.better <> '' THEN 'helped' ELSE 'hurt' END;
        reason := concat_ws(', ', j.better, j.worse, j.equal, j.unclear);
    ELSIF j.unclear <> '' OR j.equal IS NULL THEN
        reason := coalesce(j.unclear || ': the intervals scatter too much to tell yet',
                           'nothing could be measured on both sides');
    ELSE
        verdict := coalesce(by_size, 'no difference');
        reason := concat(CASE by_size WHEN 'helped' THEN 'nothing lost: ' WHEN 'hurt' THEN 'nothing gained: ' END,
                         j.equal);
    END IF;
    IF verdict <> 'too early' AND j.size IS NOT NULL THEN
        reason := reason || to_char(j.size, '"; bytes per row "FMSG999990" %"');
    END IF;
END
$$;

-- One change judged: its verdict and why (measure overall), then each measure with its own.
CREATE FUNCTION ff_internal.judged(c ff_internal.changes) RETURNS SETOF ff_internal.measure
LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH m AS MATERIALIZED (
        SELECT array_agg(m) AS found FROM ff_internal.measures(c) m
    )
    SELECT 0, 'overall', NULL, NULL, NULL, NULL, NULL, v.verdict, v.reason FROM m, ff_internal.verdict(m.found) v
    UNION ALL
    SELECT (w.measure).* FROM m, ff_internal.weighed(m.found) w;
END;

-- What ff_verify() says, with the place of each measure.
CREATE FUNCTION ff_internal.verified(relation regclass)
RETURNS TABLE (relation regclass, changed_at timestamptz, change text, place integer, measure text,
               unit text, before double precision, after double precision, low double precision,
               high double precision, predicted double precision, verdict text, note text, undo text)
LANGUAGE sql STABLE ROWS 1000
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
    SELECT c.relation, c.seen_at, c.change, j.place, j.measure, j.unit, j.before, j.after, j.low, j.high,
           -- the table may have grown since the promise
           CASE j.measure WHEN 'HOT share' THEN p.predicted_hot_pct
                          -- of the updates alone; the promise is of all that comes along with them
                          WHEN 'WAL per update' THEN greatest(0, j.before - p.wal_bytes_saved)
                          WHEN 'bytes per row' THEN j.before * p.predicted_size_bytes / nullif(p.size_bytes, 0) END,
           j.verdict,
           CASE WHEN j.place = 0
                THEN concat_ws('; ', j.note,
                     CASE WHEN j.verdict = 'too early' AND j.note !~ 'later collections add none' THEN x.next END,
                     CASE WHEN f.new_fillfactor < f.old_fillfactor AND j.verdict <> 'helped' AND NOT EXISTS (
                               SELECT 1 FROM ff_internal.counter_interval i
                                WHERE i.rel_id = c.rel_id AND i.ended_at > c.before_at AND i.rewritten)
                          THEN 'the table was not rewritten since, so its old pages are as full as before' END,
                     'changed at the same time, so not told apart: ' || c.together,
                     CASE WHEN c.kind = 'indexes' THEN 'what indexes are good for in reading is not judged here' END,
                     CASE WHEN c.kind = 'rewrite' AND j.verdict = 'hurt' THEN 'a rewrite cannot be taken back' END)
                WHEN j.measure = 'HOT share' AND p.rel_id IS NOT NULL
                THEN format('predicted between %s and %s', round(p.predicted_hot_low), round(p.predicted_hot_high))
                WHEN j.measure = 'HOT share' AND c.kind = 'fillfactor'
                THEN 'not advised by a collection before, so nothing was predicted'
                ELSE j.note END,
           CASE WHEN j.place = 0 AND j.verdict = 'hurt'
                THEN CASE c.kind WHEN 'setting' THEN ff_internal.undo_setting(c.setting, c.old_value)
                                 ELSE ff_internal.undo_change(c.change_id) END END
      FROM ff_internal.changes c
     CROSS JOIN LATERAL ff_internal.judged(c) j
     CROSS JOIN (SELECT ff_internal.next_collection() OFFSET 0) x(next)
      LEFT JOIN ff_internal.change f ON f.change_id = c.change_id AND f.kind = 'fillfactor'
      LEFT JOIN LATERAL (SELECT o.* FROM ff_internal.prediction o
                          WHERE o.rel_id = f.rel_id AND o.made_at < f.seen_at
                            AND (o.from_fillfactor, o.to_fillfactor) = (f.old_fillfactor, f.new_fillfactor)
                          ORDER BY o.made_at DESC LIMIT 1) p ON true
     WHERE $1 IS NULL
        OR c.rel_id = (SELECT r.rel_id FROM ff_internal.relation r WHERE r.relid = $1 AND r.closed_at IS NULL)
     ORDER BY c.seen_at DESC, c.relation, c.change, j.place
$$;

-- Why there is no history of a table, or of any; NULL where there is.
CREATE FUNCTION ff_internal.no_history(relation regclass) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT coalesce((SELECT c.not_examined FROM ff_internal.candidate c WHERE c.relid = $1),
                    CASE WHEN NOT EXISTS (SELECT 1 FROM ff_internal.collection)
                           OR $1 IS NOT NULL
                              AND $1 NOT IN (SELECT r.relid FROM ff_internal.relation r WHERE r.closed_at IS NULL)
                         THEN 'not collected yet: run CALL ff_collect() or ff_schedule()' END)
$$;

CREATE FUNCTION @extschema@.ff_verify(relation regclass DEFAULT NULL, all_measures boolean DEFAULT false)
RETURNS TABLE (relation regclass, changed_at timestamptz, change text, measure text, verdict text,
               before double precision, after double precision, predicted double precision,
               difference_low double precision, difference_high double precision, unit text, note text, undo text)
LANGUAGE sql STABLE ROWS 1000
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT ff_internal.check_role('reader');
    WITH v AS MATERIALIZED (
        SELECT * FROM ff_internal.verified(ff_internal.checked_table($1))
    )
    SELECT v.relation, date_trunc('second', v.changed_at), v.change, v.measure,
           CASE WHEN o.anything THEN 'too early' ELSE v.verdict END, r.x[1], r.x[2], r.x[3],
           CASE WHEN NOT o.anything THEN r.x[4] END, CASE WHEN NOT o.anything THEN r.x[5] END, v.unit, v.note, v.undo
      FROM v
      -- an interval as wide as half of what is possible, or as the value before, says nothing (chosen)
     CROSS JOIN LATERAL (SELECT coalesce(v.verdict = 'unclear' AND v.high - v.low
                                         >= CASE v.unit WHEN '%' THEN 100 ELSE v.before END, false)) o(anything)
     CROSS JOIN LATERAL (
           SELECT ARRAY(SELECT round(u.x::numeric, CASE v.unit WHEN 'ms' THEN 3 WHEN 'bytes' THEN 0 ELSE 1 END)
                          FROM unnest(ARRAY[v.before, v.after, v.predicted, v.low, v.high]) u(x))) r(x)
     WHERE $2 OR v.verdict <> '' OR v.measure IN ('overall', 'HOT share', 'statements', 'WAL per update',
                                                    'statement time', 'bytes per row')
    UNION ALL
    SELECT $1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
           coalesce(ff_internal.no_history($1), 'no change was seen since ' || to_char(coalesce(
               (SELECT r.opened_at FROM ff_internal.relation r WHERE r.relid = $1 AND r.closed_at IS NULL),
               (SELECT min(k.began_at) FROM ff_internal.collection k)), 'YYYY-MM-DD HH24:MI')), NULL
     WHERE NOT EXISTS (SELECT 1 FROM v)
$$;
COMMENT ON FUNCTION @extschema@.ff_verify(regclass, boolean) IS
'What came of each change that collections noticed, the latest first, for one table or for all and the server''s '
'settings: the verdict (measure overall), then a row for each measure that counts, or with all_measures for each that '
'there is. One row that says so where nothing changed.
relation: NULL for a server setting. change: of fillfactor, of other options, of indexes, a rewrite (a new file: '
'VACUUM FULL, CLUSTER, pg_repack, TRUNCATE), or of a setting. changed_at: the collection that saw it first.
before, after: intervals of before and after the change; which were left out, and why, is the note of measure '
'intervals. difference_low, difference_high: 95 % interval of after less before, from the scatter between intervals; '
'NULL where it is too wide to say anything. predicted: what advice promised. All in unit.
verdict, of overall: helped, no difference, hurt, too early (the note says what is missing); of a measure: better, '
'worse, equal, unclear, too early, NULL where it does not count. Gains and losses are weighed by the settings '
'time_weight, wal_weight, size_weight and '
'storage_weight.
note: why, and what was not told apart. undo: the statements that take back a change that hurt, to be run one by one '
'outside a transaction; NULL where there are none.
WAL, blocks, time and its standard deviation (deviation of time) are of the statements that only update this table '
'and ran on both sides, each measured against itself; "time of N" is that of the statement with query id N.
Errors: 42P01 unknown OID, 42809 not a table.';
