-- Stage verify: what came of a change.
--
-- Windows before and after a change are made of whole intervals, so that none
-- holds both states, and only of intervals that can be compared: see
-- verify_windows(). Every share and mean is a ratio of two sums over
-- intervals, and its uncertainty comes from how much it differs from one
-- interval to the next: updates within one interval are not independent of
-- each other, so the usual formulas would promise too much.

-- ---------------------------------------------------------------------------
-- Statistics
-- ---------------------------------------------------------------------------
-- Half width, in standard errors, of a two-sided 95 % interval with so many degrees of freedom (Student's t).
CREATE FUNCTION ff_internal.t_quantile(freedom double precision) RETURNS double precision
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'ff_t_quantile';

-- Ratio of two sums over intervals, and its variance as the intervals show it (ratio estimator with the intervals as
-- clusters), at least least_variance; variance NULL below two intervals, mean NULL without any.
CREATE FUNCTION ff_internal.ratio(num double precision[], den double precision[],
    least_variance double precision DEFAULT 0) RETURNS ff_internal.estimate
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH one AS (
        SELECT u.x, u.n FROM unnest(num, den) u(x, n) WHERE u.n > 0 AND u.x IS NOT NULL
    ), total AS (
        SELECT sum(x) / sum(n) AS mean, sum(n) AS n, count(*)::integer AS k FROM one
    )
    SELECT ROW(t.mean,
               CASE WHEN t.k >= 2 THEN greatest(coalesce(least_variance, 0),
                    (SELECT sum((o.x - t.mean * o.n) ^ 2) FROM one o) * t.k / (t.k - 1) / t.n ^ 2) END,
               t.k)::ff_internal.estimate
      FROM total t
$$;

-- The logarithm of an estimate, its variance by the coefficient of variation; NULL where the mean is not positive.
CREATE FUNCTION ff_internal.logarithm(e ff_internal.estimate) RETURNS ff_internal.estimate
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
RETURN CASE WHEN (e).mean > 0
            THEN ROW(ln((e).mean), (e).variance / (e).mean ^ 2, (e).clusters)::ff_internal.estimate END;

-- Estimate b less a, and the ends of its 95 % interval (Welch), as an array of three; the ends are NULL where a
-- variance is not known.
CREATE FUNCTION ff_internal.difference(a ff_internal.estimate, b ff_internal.estimate) RETURNS double precision[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT ARRAY[d, d - h.half, d + h.half]
      FROM (SELECT (b).mean - (a).mean, (a).variance + (b).variance) s(d, v),
           LATERAL (SELECT CASE WHEN v = 0 THEN 0 WHEN v > 0 THEN sqrt(v) * ff_internal.t_quantile(
                        -- Welch and Satterthwaite's degrees of freedom
                        v ^ 2 / ((a).variance ^ 2 / nullif((a).clusters - 1, 0)
                                 + (b).variance ^ 2 / nullif((b).clusters - 1, 0))) END) h(half)
$$;

-- ---------------------------------------------------------------------------
-- Changes
-- ---------------------------------------------------------------------------
-- Changes of server settings, and their values as SHOW has them.
CREATE FUNCTION ff_internal.setting_changes()
RETURNS TABLE (setting text, before_at timestamptz, seen_at timestamptz, epoch_id integer,
               old_value text, new_value text)
LANGUAGE sql STABLE ROWS 10
BEGIN ATOMIC
    SELECT s.setting, s.before_at, s.seen_at,
           (SELECT k.epoch_id FROM ff_internal.collection k WHERE k.began_at <= s.seen_at
             ORDER BY k.began_at DESC LIMIT 1),
           ff_internal.setting_shown(s.old_value, s.unit), ff_internal.setting_shown(s.value, s.unit)
      FROM (SELECT h.*, lag(h.value) OVER (PARTITION BY h.setting ORDER BY h.seen_at) AS old_value
              FROM ff_internal.setting_history h) s
     WHERE s.before_at IS NOT NULL;
END;

-- Names of the indexes that these definitions make, in words; NULL for none.
CREATE FUNCTION ff_internal.index_names(definitions text[]) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT string_agg(coalesce(substring(d FROM 'INDEX ("(?:[^"]|"")*"|[^ ]+) ON'), d), ', ')
      FROM unnest(definitions) d
$$;

-- Changes of a table, or of all tables and of the server's settings (NULL), in words (change), with other changes that
-- the same look found (together). rel_id and relation are NULL for a setting, change_id for settings and rewrites. A
-- rewrite that came with another change is not told apart from it; of others a table's last three are listed.
CREATE FUNCTION ff_internal.changes(relation regclass)
RETURNS TABLE (change_id bigint, rel_id bigint, relation regclass, kind text, before_at timestamptz,
               seen_at timestamptz, epoch_id integer, setting text, old_value text, change text, together text)
LANGUAGE sql STABLE ROWS 100
BEGIN ATOMIC
    WITH own AS (
        SELECT r.rel_id, r.relid::regclass AS relation FROM ff_internal.relation r JOIN pg_class c ON c.oid = r.relid
         WHERE r.closed_at IS NULL AND ($1 IS NULL OR r.relid = $1)
    ), one AS (
        SELECT c.change_id, o.rel_id, o.relation, c.kind, c.before_at, c.seen_at, c.epoch_id,
               NULL AS setting, NULL AS old_value,
               ff_internal.plain(CASE c.kind
                    WHEN 'fillfactor' THEN format('fillfactor %s -> %s', c.old_fillfactor, c.new_fillfactor)
                    WHEN 'options' THEN format('options %s -> %s',
                         coalesce(array_to_string(ff_internal.other_options(c.old_options), ', '), 'none'),
                         coalesce(array_to_string(ff_internal.other_options(c.new_options), ', '), 'none'))
                    ELSE concat_ws(', ', 'index dropped: ' || ff_internal.index_names(c.dropped_indexes),
                                         'index created: ' || ff_internal.index_names(c.created_indexes)) END) AS change
          FROM own o JOIN ff_internal.change c USING (rel_id)
        UNION ALL
        SELECT NULL, o.rel_id, o.relation, 'rewrite', i.began_at, i.ended_at, i.epoch_id, NULL, NULL, 'rewritten'
          FROM own o
         CROSS JOIN LATERAL (
               SELECT i.* FROM ff_internal.counter_interval i
                WHERE i.rel_id = o.rel_id AND i.rewritten AND i.ended_at > now() - ff_internal.lookback()
                  AND NOT EXISTS (SELECT 1 FROM ff_internal.change c
                                   WHERE c.rel_id = i.rel_id AND c.seen_at > i.began_at AND c.seen_at <= i.ended_at)
                ORDER BY i.ended_at DESC LIMIT 3) i
        UNION ALL
        SELECT NULL, NULL, NULL, 'setting', s.before_at, s.seen_at, s.epoch_id, s.setting, s.old_value,
               format('setting %s %s -> %s', s.setting, s.old_value, s.new_value)
          FROM ff_internal.setting_changes() s WHERE $1 IS NULL
    )
    SELECT o.*, (SELECT string_agg(x.name, ', ' ORDER BY x.name)
                   FROM (SELECT coalesce(b.setting, b.kind) AS name FROM one b
                          WHERE b.rel_id IS NOT DISTINCT FROM o.rel_id AND b.seen_at = o.seen_at AND b <> o) x)
      FROM one o;
END;

-- ---------------------------------------------------------------------------
-- Which intervals are compared
-- ---------------------------------------------------------------------------
-- The intervals of a table (its rel_id) from the change before this one to the one after, at most the window of advice
-- to either side; another rewrite ends the window of a rewrite only. here: the server of an epoch counted it. For a
-- setting (NULL) the looks at the statements take the place of intervals, their calls that of updates; slack: how much
-- later such a look may come than the collection that it belongs to.
CREATE FUNCTION ff_internal.verify_intervals(relation_id bigint, kind text, before timestamptz, seen timestamptz,
    in_epoch integer)
RETURNS TABLE (began_at timestamptz, ended_at timestamptz, slack interval, updated double precision,
               hot_updated double precision, newpage_updated double precision, blocks_fetched double precision,
               blocks_hit double precision, heap_bytes bigint, index_bytes bigint, rewritten boolean, here boolean)
LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH reach AS (
        SELECT before - r AS began, seen + r AS ended FROM ff_internal.lookback() r
    ), span AS (
        SELECT greatest(r.began, max(o.seen_at) FILTER (WHERE o.seen_at <= before)) AS began,
               least(r.ended, min(o.before_at) FILTER (WHERE o.seen_at > seen)) AS ended
          FROM reach r
          LEFT JOIN (SELECT c.before_at, c.seen_at FROM ff_internal.change c WHERE c.rel_id = relation_id
                     UNION ALL
                     SELECT i.began_at, i.ended_at FROM ff_internal.counter_interval i
                      WHERE kind = 'rewrite' AND i.rel_id = relation_id AND i.rewritten
                     UNION ALL
                     SELECT h.before_at, h.seen_at FROM ff_internal.setting_history h
                      WHERE relation_id IS NULL AND h.before_at IS NOT NULL) o ON true
         GROUP BY r.began, r.ended
    ), server AS (
        SELECT e.system_identifier, e.server_version / 10000 AS major
          FROM ff_internal.epoch e WHERE e.epoch_id = in_epoch
    ), looks AS (
        SELECT min(h.began_at) AS began_at, h.ended_at, sum(h.calls) AS calls,
               bool_and((e.system_identifier, e.server_version / 10000) = (o.system_identifier, o.major)) AS here
          FROM reach r
          JOIN ff_internal.statement_history h ON relation_id IS NULL AND h.ended_at BETWEEN r.began AND r.ended
          LEFT JOIN ff_internal.statement_epoch e USING (statement_epoch_id)
          LEFT JOIN server o ON true
         GROUP BY h.ended_at
    )
    SELECT i.began_at, i.ended_at, interval '0', i.updated, i.hot_updated, i.newpage_updated, i.blocks_fetched,
           i.blocks_hit, i.heap_bytes, i.index_bytes, i.rewritten,
           (e.system_identifier, e.server_version / 10000) = (o.system_identifier, o.major)
      FROM span s
      JOIN ff_internal.counter_interval i ON i.rel_id = relation_id AND i.ended_at BETWEEN s.began AND s.ended
      LEFT JOIN ff_internal.epoch e USING (epoch_id)
      LEFT JOIN server o ON true
     WHERE i.began_at >= s.began
    UNION ALL
    SELECT l.began_at, l.ended_at, k.slack, l.calls, NULL, NULL, NULL, NULL, NULL, NULL, false, l.here
      FROM span s CROSS JOIN looks l
     CROSS JOIN LATERAL (SELECT least(interval '5 s', (l.ended_at - l.began_at) / 4)) k(slack)
     WHERE l.began_at >= s.began - k.slack AND l.ended_at <= s.ended + k.slack;
END;

-- The intervals around one change of a table (its rel_id), or of a setting (NULL), and for each why it is left out of
-- the comparison; left_out is NULL where it counts. Reasons: holds the change; other server (system identifier or
-- major version); rewritten (the table got a new file in it); before the rewrite (the first after the change: until
-- then old pages keep their density); no updates; settling (the first third of the updates before and after, where
-- there are at least three intervals); other rate (updates per second more than four times, or less than a quarter of,
-- the usual rate after the change). For a setting updated are the calls of all statements.
CREATE FUNCTION ff_internal.verify_windows(relation_id bigint, kind text, before timestamptz, seen timestamptz,
    in_epoch integer)
RETURNS TABLE (side text, began_at timestamptz, ended_at timestamptz, updated double precision,
               hot_updated double precision, newpage_updated double precision, blocks_fetched double precision,
               blocks_hit double precision, heap_bytes bigint, index_bytes bigint, left_out text)
LANGUAGE sql STABLE
BEGIN ATOMIC
    -- most that the update rate of an interval may differ from the usual one after the change, as a factor; chosen
    WITH constant AS (
        SELECT 4.0 AS rate_factor
    ), sided AS (
        SELECT i.*, CASE WHEN i.ended_at <= before + i.slack THEN 'before' ELSE 'after' END AS side,
               i.ended_at > before + i.slack AND i.began_at < seen - i.slack AS holds_change
          FROM ff_internal.verify_intervals(relation_id, kind, before, seen, in_epoch) i
    ), first_rewrite AS (
        SELECT min(s.ended_at) AS ended_at FROM sided s WHERE s.side = 'after' AND s.rewritten AND NOT s.holds_change
    ), reason AS (
        SELECT s.*, CASE WHEN s.holds_change THEN 'holds the change'
                         WHEN s.here IS NOT TRUE THEN 'other server'
                         WHEN s.rewritten THEN 'rewritten'
                         WHEN s.side = 'after' AND s.ended_at <= f.ended_at THEN 'before the rewrite'
                         WHEN s.updated = 0 THEN 'no updates' END AS why
          FROM sided s, first_rewrite f
    ), ordered AS (
        SELECT r.*, count(*) OVER all_of AS intervals, sum(r.updated) OVER all_of AS total,
               coalesce(sum(r.updated) OVER (all_of ORDER BY r.ended_at
                                             ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS earlier
          FROM reason r WINDOW all_of AS (PARTITION BY r.side, r.why)
    ), settled AS (
        SELECT o.*, coalesce(o.why, CASE WHEN o.intervals >= 3 AND 3 * o.earlier < o.total THEN 'settling' END) AS why2,
               o.updated / nullif(extract(epoch FROM o.ended_at - o.began_at), 0)::double precision AS rate
          FROM ordered o
    ), usual AS (
        SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY s.rate) AS rate
          FROM settled s WHERE s.side = 'after' AND s.why2 IS NULL
    )
    SELECT s.side, s.began_at, s.ended_at, s.updated, s.hot_updated, s.newpage_updated, s.blocks_fetched, s.blocks_hit,
           s.heap_bytes, s.index_bytes,
           coalesce(s.why2, CASE WHEN s.rate > u.rate * k.rate_factor OR s.rate < u.rate / k.rate_factor
                                 THEN 'other rate' END)
      FROM settled s, usual u, constant k
     ORDER BY s.ended_at;
END;

-- ---------------------------------------------------------------------------
-- What was measured on both sides
-- ---------------------------------------------------------------------------
-- What the statements that ran both before and after a change did in the intervals compared: those that do nothing but
-- update one table (its rel_id), at their top level, so that rows, WAL and blocks are those of its updates; or all
-- (NULL). Times in milliseconds, blocks are shared blocks hit or read.
CREATE FUNCTION ff_internal.verify_calls(relation_id bigint, earlier tstzmultirange, later tstzmultirange)
RETURNS TABLE (statement_id bigint, side text, ended_at timestamptz, calls double precision, "rows" double precision,
               total_ms double precision, squares double precision, wal_bytes double precision, blocks double precision)
LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH sided AS (
        -- a look at the statements comes a moment after that at the counters,
        -- so the middle of its interval decides
        SELECT h.*, CASE WHEN h.began_at + (h.ended_at - h.began_at) / 2 <@ earlier THEN 'before'
                         WHEN h.began_at + (h.ended_at - h.began_at) / 2 <@ later THEN 'after' END AS side
          FROM ff_internal.statement_history h
          JOIN ff_internal.statement s USING (statement_id)
         WHERE h.ended_at > lower(earlier) AND h.began_at < upper(later) AND s.kind <> 'other'
           AND (relation_id IS NULL
                OR (SELECT count(*) = 1 AND bool_and(t.rel_id = relation_id AND t.command = 'UPDATE' AND t.how = 'top')
                      FROM ff_internal.statement_target t WHERE t.statement_id = s.statement_id))
    )
    SELECT s.statement_id, s.side, s.ended_at, s.calls, s.rows, s.total_ms, s.calls * s.stddev_ms ^ 2, s.wal_bytes,
           s.blocks_hit + s.blocks_read
      FROM sided s
     WHERE s.side IS NOT NULL
       AND EXISTS (SELECT 1 FROM sided o WHERE o.statement_id = s.statement_id AND o.side <> s.side);
END;

-- What the statements of verify_calls() say. after is for the mix of statements after the change, each measured against
-- itself before; then the mean times of the five that took most time after it.
CREATE FUNCTION ff_internal.statement_measures(relation_id bigint, earlier tstzmultirange, later tstzmultirange)
RETURNS SETOF ff_internal.measure
LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH seen AS MATERIALIZED (
        SELECT * FROM ff_internal.verify_calls(relation_id, earlier, later)
    ), statement AS MATERIALIZED (
        SELECT s.statement_id, s.side, sum(s.calls) AS calls, sum(s.total_ms) AS total_ms,
               sum(s.total_ms) / sum(s.calls) AS ms, sum(s.squares) / sum(s.calls) AS squares,
               sum(s.wal_bytes) / nullif(sum(s.rows), 0) AS wal, sum(s.blocks) / nullif(sum(s.rows), 0) AS blocks,
               -- never surer than single calls would allow
               ff_internal.ratio(array_agg(s.total_ms), array_agg(s.calls), sum(s.squares) / sum(s.calls) ^ 2) AS mean
          FROM seen s GROUP BY s.statement_id, s.side
    ), one AS (
        -- each interval, and what the same calls and rows took before; of the standard deviation the logarithm
        SELECT s.side, sum(s.calls) AS calls, sum(s.rows) AS rows, sum(s.squares) AS squares,
               sum(s.total_ms) AS ms, sum(s.calls * u.ms) AS usual_ms,
               sum(s.wal_bytes) AS wal, sum(s.rows * u.wal) AS usual_wal,
               sum(s.blocks) AS blocks, sum(s.rows * u.blocks) AS usual_blocks,
               CASE WHEN sum(s.squares) > 0 AND sum(s.calls * u.squares) > 0
                    THEN ln(sum(s.squares) / sum(s.calls * u.squares)) / 2 END AS spread
          FROM seen s JOIN statement u ON u.statement_id = s.statement_id AND u.side = 'before'
         GROUP BY s.side, s.ended_at
    ), side AS (
        SELECT o.side, sum(o.ms) / sum(o.calls) AS mean_ms, sqrt(sum(o.squares) / sum(o.calls)) AS stddev_ms,
               sum(o.wal) / nullif(sum(o.rows), 0) AS row_wal, sum(o.blocks) / nullif(sum(o.rows), 0) AS row_blocks,
               ff_internal.logarithm(ff_internal.ratio(array_agg(o.wal), array_agg(o.usual_wal))) AS wal,
               ff_internal.logarithm(ff_internal.ratio(array_agg(o.blocks), array_agg(o.usual_blocks))) AS blocks,
               ff_internal.logarithm(ff_internal.ratio(array_agg(o.ms), array_agg(o.usual_ms),
                                                       sum(o.squares) / nullif(sum(o.usual_ms) ^ 2, 0))) AS ms,
               ROW(avg(o.spread), var_samp(o.spread) / nullif(count(o.spread), 0),
                   count(o.spread))::ff_internal.estimate AS spread
          FROM one o GROUP BY o.side
    )
    SELECT v.place, v.measure, v.unit, v.before, v.before * exp(v.d[1]), v.before * (exp(v.d[2]) - 1),
           v.before * (exp(v.d[3]) - 1), NULL, NULL
      FROM side b JOIN side a ON a.side = 'after'
     CROSS JOIN LATERAL (VALUES
           (11, 'WAL per update', 'bytes', b.row_wal, ff_internal.difference(b.wal, a.wal)),
           (12, 'blocks per update', 'blocks', b.row_blocks, ff_internal.difference(b.blocks, a.blocks)),
           (13, 'statement time', 'ms', b.mean_ms, ff_internal.difference(b.ms, a.ms)),
           (14, 'deviation of time', 'ms', b.stddev_ms, ff_internal.difference(b.spread, a.spread))
           ) v(place, measure, unit, before, d)
     WHERE b.side = 'before'
    UNION ALL
    (SELECT 30 + row_number() OVER (ORDER BY a.total_ms DESC), 'time of ' || s.queryid, 'ms', b.ms, a.ms, d[2], d[3],
            NULL, format('%s and %s calls: %s', b.calls, a.calls, ff_internal.plain(left(s.text, 60)))
       FROM statement b JOIN statement a USING (statement_id)
       JOIN ff_internal.statement s USING (statement_id)
      CROSS JOIN LATERAL ff_internal.difference(b.mean, a.mean) d
      WHERE b.side = 'before' AND a.side = 'after'
      ORDER BY a.total_ms DESC LIMIT 5);
END;

-- Both sides of a change: how many intervals can be compared and what they add up to, see verify_windows(), and how
-- many were left out and why. Shares are 0 to 1; sizes are those at the end of either window.
CREATE FUNCTION ff_internal.verify_sides(relation_id bigint, kind text, before_at timestamptz, seen_at timestamptz,
    in_epoch integer)
RETURNS TABLE (side text, intervals bigint, updated double precision, seconds double precision, spans tstzmultirange,
               hot_share ff_internal.estimate, newpage_share double precision, hit_share double precision,
               heap_bytes bigint, index_bytes bigint, row_bytes double precision, left_out text)
LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH w AS MATERIALIZED (
        SELECT * FROM ff_internal.verify_windows(relation_id, kind, before_at, seen_at, in_epoch)
    ), compared AS (
        SELECT s.side, count(w.side) AS n, coalesce(sum(w.updated), 0) AS u, sum(w.hot_updated) AS hot,
               sum(w.newpage_updated) AS newpage, array_agg(w.hot_updated) AS hots, array_agg(w.updated) AS updates,
               extract(epoch FROM sum(w.ended_at - w.began_at))::double precision AS seconds,
               range_agg(tstzrange(w.began_at, w.ended_at, '[]')) AS spans,
               sum(w.blocks_hit) / nullif(sum(w.blocks_fetched), 0) AS hit
          FROM unnest('{before,after}'::text[]) s(side)
          LEFT JOIN w ON w.side = s.side AND w.left_out IS NULL
         GROUP BY s.side
    )
    SELECT c.side, c.n, c.u, c.seconds, c.spans,
           -- never surer than single updates would allow (Agresti and Coull's share)
           ff_internal.ratio(c.hots, c.updates, (c.hot + 2) * (c.u - c.hot + 2) / (c.u + 4) ^ 3),
           m.newpage_share, c.hit, l.heap_bytes, l.index_bytes, p.row_bytes, l.left_out
      FROM compared c
     CROSS JOIN LATERAL (
           SELECT min(w.began_at) AS began_at,
                  (array_agg(w.heap_bytes ORDER BY w.heap_bytes IS NULL, w.ended_at DESC))[1] AS heap_bytes,
                  (array_agg(w.index_bytes ORDER BY w.index_bytes IS NULL, w.ended_at DESC))[1] AS index_bytes,
                  (SELECT string_agg(format('%s %s (%s)', r.n, c.side, r.left_out), ', ' ORDER BY r.left_out)
                     FROM (SELECT x.left_out, count(*) AS n FROM w x
                            WHERE x.side = c.side AND x.left_out <> 'holds the change'
                            GROUP BY x.left_out) r) AS left_out
             FROM w WHERE w.side = c.side) l
     CROSS JOIN LATERAL (
           -- the samples that tell of this side: the last of its size, those within the intervals of its updates
           SELECT sum(s.superseded_hot) FILTER (WHERE s.sampled_at >= lower(c.spans)) AS hot,
                  sum(s.superseded_same_page) FILTER (WHERE s.sampled_at >= lower(c.spans)) AS same_page,
                  sum(s.superseded_newpage) FILTER (WHERE s.sampled_at >= lower(c.spans)) AS newpage,
                  (array_agg(s.blocks * current_setting('block_size')::double precision / nullif(s.live_rows, 0)
                             ORDER BY s.sampled_at DESC))[1] AS row_bytes
             FROM ff_internal.page_sample s
            WHERE s.rel_id = relation_id
              AND CASE c.side WHEN 'before' THEN s.sampled_at BETWEEN l.began_at AND $4
                  ELSE s.sampled_at >= coalesce(lower(c.spans), $4)
                       AND NOT EXISTS (SELECT 1 FROM ff_internal.change o WHERE o.rel_id = relation_id
                                          AND o.seen_at > $4 AND o.seen_at < s.sampled_at) END) p
      LEFT JOIN LATERAL ff_internal.split_updates(c.u, c.hot, c.newpage::double precision, p.same_page, p.newpage,
                                                  NULL, p.hot) m ON true;
END;

-- What was measured on both sides of a change, a row a measure.
CREATE FUNCTION ff_internal.measures(relation_id bigint, kind text, before_at timestamptz, seen_at timestamptz,
    in_epoch integer) RETURNS SETOF ff_internal.measure
LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH side AS MATERIALIZED (
        SELECT * FROM ff_internal.verify_sides(relation_id, kind, before_at, seen_at, in_epoch)
    ), statements AS MATERIALIZED (
        SELECT m.* FROM side b JOIN side a ON a.side = 'after'
         CROSS JOIN LATERAL ff_internal.statement_measures(relation_id, b.spans, a.spans) m WHERE b.side = 'before'
    )
    SELECT v.place, v.measure, v.unit, v.before, v.after,
           CASE WHEN v.d[2] IS NOT NULL THEN greatest(-100, 100 * v.d[2]) END,
           CASE WHEN v.d[3] IS NOT NULL THEN least(100, 100 * v.d[3]) END, NULL, v.note
      FROM side b JOIN side a ON a.side = 'after'
     CROSS JOIN LATERAL (SELECT CASE WHEN relation_id IS NULL THEN 'calls' ELSE 'updates' END) w(what)
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
                      || 'was seen both before and after') END),
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
-- The measures of a change, each with its verdict: better, worse, equal or unclear (NULL: it does not count), and with
-- the difference (HOT share in points, the rest in percent), its words and its weight in the cost of a fillfactor
-- (settings time_weight, wal_weight, size_weight, storage_weight). A difference counts where its 95 % interval excludes
-- zero, it is large enough to matter, and what it tells of has a weight.
CREATE FUNCTION ff_internal.weighed(measures ff_internal.measure[])
RETURNS TABLE (measure ff_internal.measure, difference double precision, words text, weight double precision)
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT ROW(m.place, m.measure, m.unit, m.before, m.after, m.low, m.high,
               CASE WHEN r.counts IS NOT TRUE OR d.low IS NULL THEN NULL
                    WHEN d.low * d.high > 0 AND abs(d.difference) >= r.matters
                    THEN CASE WHEN d.difference * r.bad < 0 THEN 'better' ELSE 'worse' END
                    WHEN d.high - d.low > 2 * r.unclear THEN 'unclear'
                    ELSE 'equal' END, m.note)::ff_internal.measure,
           d.difference, concat(m.measure, to_char(d.difference, ' FMSG999990.0 '), r.unit,
               CASE WHEN d.low * d.high <= 0 AND abs(d.difference) >= r.matters THEN ' (uncertain)' END), r.weight
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
     CROSS JOIN LATERAL (SELECT f.factor * (m.after - m.before), f.factor * m.low, f.factor * m.high
                           ) d(difference, low, high);
END;

-- Verdict on a change: helped, no difference, hurt or too early, and the reason in words. Where gains and losses meet
-- they are weighed as in the cost of a fillfactor. Where there are hardly any updates on either side, the size per row
-- alone is judged.
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
    needed          CONSTANT text := format('%s with %s', least_intervals, least_updates);
    n               ff_internal.measure;
    u               ff_internal.measure;
    j               record;
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
    IF u.before < least_updates AND u.after < least_updates AND (j.size <= -size_matters OR j.size >= size_hurts) THEN
        verdict := CASE WHEN j.size < 0 THEN 'helped' ELSE 'hurt' END;
        reason := format('hardly any %s on either side, so only the size is judged', u.measure);
    ELSIF n.after < least_intervals OR u.after < least_updates THEN
        verdict := 'too early';
        reason := format('%s intervals with %s %s can be used since the change; %s are needed', n.after, u.after,
                         u.measure, needed);
    ELSIF n.before < least_intervals OR u.before < least_updates THEN
        verdict := 'too early';
        reason := format('%s intervals with %s %s from before the change can be compared; %s are needed', n.before,
                         u.before, u.measure, needed);
    ELSIF j.better <> '' AND j.worse <> '' THEN
        verdict := CASE WHEN j.cost < -cost_matters THEN 'helped' WHEN j.cost > cost_matters THEN 'hurt'
                        ELSE 'no difference' END;
        reason := format('%s, but %s: weighed together, cost %s %%', j.better, j.worse,
                         to_char(100 * (exp(j.cost) - 1), 'FMSG999990.0'));
    ELSIF coalesce(j.better, j.worse) <> '' THEN
        verdict := CASE WHEN j.better <> '' THEN 'helped' ELSE 'hurt' END;
        reason := concat_ws(', ', j.better, j.worse, j.equal, j.unclear);
    ELSIF j.unclear <> '' OR j.equal IS NULL THEN
        verdict := 'too early';
        reason := coalesce(j.unclear || ': the intervals scatter too much to tell yet',
                           'nothing could be measured on both sides');
    ELSE
        verdict := CASE WHEN j.size <= -size_matters THEN 'helped' WHEN j.size >= size_hurts THEN 'hurt'
                        ELSE 'no difference' END;
        reason := concat(CASE verdict WHEN 'helped' THEN 'nothing lost: ' WHEN 'hurt' THEN 'nothing gained: ' END,
                         j.equal);
    END IF;
    IF verdict <> 'too early' AND j.size IS NOT NULL THEN
        reason := reason || to_char(j.size, '"; bytes per row "FMSG999990" %"');
    END IF;
END
$$;

-- One change judged: its verdict and why (measure overall), then each measure with its own.
CREATE FUNCTION ff_internal.judged(relation_id bigint, kind text, before_at timestamptz, seen_at timestamptz,
    in_epoch integer) RETURNS SETOF ff_internal.measure
LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH m AS MATERIALIZED (
        SELECT array_agg(m) AS found FROM ff_internal.measures(relation_id, kind, before_at, seen_at, in_epoch) m
    )
    SELECT 0, 'overall', NULL, NULL, NULL, NULL, NULL, v.verdict, v.reason FROM m, ff_internal.verdict(m.found) v
    UNION ALL
    SELECT (w.measure).* FROM m, ff_internal.weighed(m.found) w;
END;

-- What ff_verify() says, with the kind of each change and the place of each measure.
CREATE FUNCTION ff_internal.verified(relation regclass)
RETURNS TABLE (relation regclass, changed_at timestamptz, kind text, change text, place integer, measure text,
               unit text, before double precision, after double precision, low double precision,
               high double precision, predicted double precision, verdict text, note text, undo text)
LANGUAGE sql STABLE ROWS 1000
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
    SELECT c.relation, c.seen_at, c.kind, c.change, j.place, j.measure, j.unit, j.before, j.after, j.low, j.high,
           -- the table may have grown since the promise
           CASE j.measure WHEN 'HOT share' THEN p.predicted_hot_pct
                          WHEN 'WAL per update' THEN j.before * p.predicted_wal_pct / 100
                          WHEN 'bytes per row' THEN j.before * p.predicted_size_bytes / nullif(p.size_bytes, 0) END,
           j.verdict,
           CASE WHEN j.place = 0
                THEN concat_ws('; ', j.note,
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
      FROM ff_internal.changes(relation) c
     CROSS JOIN LATERAL ff_internal.judged(c.rel_id, c.kind, c.before_at, c.seen_at, c.epoch_id) j
      LEFT JOIN ff_internal.change f ON f.change_id = c.change_id AND f.kind = 'fillfactor'
      LEFT JOIN LATERAL (SELECT o.* FROM ff_internal.prediction o
                          WHERE o.rel_id = f.rel_id AND o.made_at < f.seen_at
                            AND (o.from_fillfactor, o.to_fillfactor) = (f.old_fillfactor, f.new_fillfactor)
                          ORDER BY o.made_at DESC LIMIT 1) p ON true
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

CREATE FUNCTION @extschema@.ff_verify(relation regclass DEFAULT NULL)
RETURNS TABLE (relation regclass, changed_at timestamptz, change text, measure text, unit text, before double precision,
               after double precision, difference_low double precision, difference_high double precision,
               predicted double precision, verdict text, note text, undo text)
LANGUAGE sql STABLE ROWS 1000
SET search_path = pg_catalog, pg_temp
AS $$
    WITH v AS MATERIALIZED (
        SELECT * FROM ff_internal.verified(ff_internal.checked_table($1))
    )
    SELECT v.relation, date_trunc('second', v.changed_at), v.change, v.measure, v.unit, r.x[1], r.x[2], r.x[3], r.x[4],
           r.x[5], v.verdict, v.note, v.undo
      FROM (SELECT v.relation, v.changed_at, v.change, v.place, v.measure, v.unit, v.before, v.after, v.low, v.high,
                   v.predicted, v.verdict, v.note, v.undo
              FROM v
            UNION ALL
            SELECT $1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                   coalesce(ff_internal.no_history($1), 'no change was seen since ' || to_char(coalesce(
                       (SELECT r.opened_at FROM ff_internal.relation r WHERE r.relid = $1 AND r.closed_at IS NULL),
                       (SELECT min(k.began_at) FROM ff_internal.collection k)), 'YYYY-MM-DD HH24:MI')), NULL
             WHERE NOT EXISTS (SELECT 1 FROM v)) v
     CROSS JOIN LATERAL (
           SELECT ARRAY(SELECT round(u.x::numeric, CASE v.unit WHEN 'ms' THEN 3 WHEN 'bytes' THEN 0 ELSE 1 END)
                          FROM unnest(ARRAY[v.before, v.after, v.low, v.high, v.predicted]) u(x))) r(x)
     ORDER BY v.changed_at DESC, v.relation, v.change, v.place
$$;
COMMENT ON FUNCTION @extschema@.ff_verify(regclass) IS
'What came of each change that collections noticed, the latest first, for one table or for all and the server''s '
'settings: a row a measure, the first of them (overall) with the verdict. One row that says so where nothing changed.
relation: NULL for a server setting. change: of fillfactor, of other options, of indexes, a rewrite (a new file: '
'VACUUM FULL, CLUSTER, pg_repack, TRUNCATE), or of a setting. changed_at: the collection that saw it first.
before, after: intervals of before and after the change; which were left out, and why, is the note of measure '
'intervals. difference_low, difference_high: 95 % interval of after less before, from the scatter between intervals. '
'predicted: what advice promised. All in unit.
verdict, of overall: helped, no difference, hurt, too early; of a measure: better, worse, equal, unclear, NULL where '
'it does not count. Gains and losses are weighed by the settings time_weight, wal_weight, size_weight and '
'storage_weight.
note: why, and what was not told apart. undo: the statements that take back a change that hurt, to be run one by one '
'outside a transaction; NULL where there are none.
WAL, blocks, time and its standard deviation (deviation of time) are of the statements that only update this table '
'and ran on both sides, each measured against itself; "time of N" is that of the statement with query id N.
Errors: 42P01 unknown OID, 42809 not a table.';
