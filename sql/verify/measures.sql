-- What both sides of a change measured, and what the differences weigh.

-- Measures both sides of a change: ratios of sums over the compared intervals, of statements with the same mix on both
-- sides; bytes per row from the last sample.
CREATE FUNCTION ff_internal.measures(c ff_internal.changes)
RETURNS TABLE (place integer, measure text, unit text, before float8, after float8, low float8, high float8, note text)
LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH w AS MATERIALIZED (
        SELECT w.*, w.left_out IS NULL AS compared FROM ff_internal.verify_windows(c) w
    ), span AS MATERIALIZED (
        SELECT w.side, count(*) AS n, sum(w.updated) AS updated,
               range_agg(tstzrange(w.began_at, w.ended_at, '[]')) AS ranges
          FROM w WHERE w.compared GROUP BY w.side
    ), other AS (
        -- What else changes WAL and time: server settings, and another machine. wal: WAL, too.
        SELECT h.before_at, h.seen_at, h.setting AS what,
               h.setting NOT IN ('effective_io_concurrency', 'synchronous_commit') AS wal
          FROM ff_internal.setting_history h
         WHERE (c).rel_id IS NOT NULL AND h.before_at IS NOT NULL
           AND h.setting IN ('checkpoint_timeout', 'effective_io_concurrency', 'full_page_writes', 'max_wal_size',
                             'shared_buffers', 'synchronous_commit', 'wal_compression', 'wal_level')
        UNION ALL
        SELECT coalesce((SELECT max(k.began_at) FROM ff_internal.collection k WHERE k.began_at < e.began_at),
                        e.began_at), e.began_at, 'the primary (by a promotion)', false
          FROM (SELECT n.began_at, n.timeline <> lag(n.timeline) OVER (ORDER BY n.epoch_id) AS promoted
                  FROM ff_internal.epoch n) e WHERE e.promoted
    ), alike AS (
        -- statements are compared from the last of these before the change to the first one after it
        SELECT tstzmultirange(tstzrange(max(o.seen_at) FILTER (WHERE o.seen_at <= (c).before_at),
                                        min(o.before_at) FILTER (WHERE o.before_at >= (c).seen_at))) AS ranges,
               string_agg(DISTINCT o.what, ', ') FILTER (WHERE k.meanwhile) AS for_time,
               string_agg(DISTINCT o.what, ', ') FILTER (WHERE k.meanwhile AND o.wal) AS for_wal
          FROM other o
         CROSS JOIN LATERAL (SELECT o.seen_at > (c).before_at AND o.before_at < (c).seen_at) k(meanwhile)
    ), statements AS MATERIALIZED (
        SELECT o.* FROM span b JOIN span a ON a.side = 'after' CROSS JOIN alike l
         CROSS JOIN LATERAL ff_internal.statements_observed((c).rel_id, b.ranges * l.ranges, a.ranges * l.ranges) o
         WHERE b.side = 'before'
    ), observed AS (
        SELECT v.place, v.measure, '%' AS unit, w.side, v.x, w.updated AS m, w.updated AS n, v.q, 100 AS factor
          FROM w
         -- q: at least the variance of independent updates (Agresti and Coull)
         CROSS JOIN LATERAL (VALUES
            (4, 'HOT share', (w.counted).hot_updated,
             ((w.counted).hot_updated + 2.0) * (w.updated - (w.counted).hot_updated + 2) / (w.updated + 4)),
            (5, 'newpage share', (w.counted).newpage_updated, 0)) v(place, measure, x, q)
         WHERE w.compared
        UNION ALL
        (SELECT DISTINCT ON (s.side) 22, 'bytes per row', 'bytes', s.side,
                8192.0 * p.blocks, p.live_rows, p.live_rows, 0, 1
           FROM unnest('{before,after}'::text[]) s(side)
           LEFT JOIN span t USING (side)
           JOIN ff_internal.page_sample p ON p.rel_id = (c).rel_id AND CASE s.side
                WHEN 'before' THEN p.sampled_at <= (c).seen_at AND (p.sampled_at < (c).since) IS NOT TRUE
                ELSE p.sampled_at >= coalesce(lower(t.ranges), (c).seen_at)
                     AND (p.sampled_at > (c).until) IS NOT TRUE END
          ORDER BY s.side, p.sampled_at DESC)
        UNION ALL
        SELECT s.*, NULL FROM statements s
    ), scanned AS (
        -- they read all of a table whose number of rows changed by more than a tenth (chosen): that decides their time
        SELECT format('its statements scan the table, which had %s rows before and has %s',
                      round(b.m), round(a.m)) AS note
          FROM observed b JOIN observed a ON a.place = 22 AND a.side = 'after'
         WHERE b.place = 22 AND b.side = 'before' AND abs(ln(greatest(1, a.m) / greatest(1, b.m))) > 0.1
           AND 2 * (SELECT sum((w.counted).seq_scans) FROM w JOIN alike l ON w.began_at <@ l.ranges WHERE w.compared)
               >= (SELECT sum(s.m) FROM statements s WHERE s.measure = 'statement time')
    ), compared AS (
        -- statements are measured against themselves, so the scale is the mean of all before the change
        SELECT o.place, o.measure, o.unit, coalesce(max(o.factor), sum(o.x) FILTER (WHERE o.side = 'before')
                   / nullif(sum(o.m) FILTER (WHERE o.side = 'before'), 0)) AS scale,
               ff_internal.compared(array_agg(o.side = 'after'), array_agg(o.x), array_agg(o.n), array_agg(o.q),
                                    o.unit <> '%') AS r
          FROM observed o GROUP BY o.place, o.measure, o.unit
    )
    SELECT v.place, v.measure, NULL, v.before, v.after, NULL, NULL, v.note
      FROM (SELECT) one
      LEFT JOIN span b ON b.side = 'before'
      LEFT JOIN span a ON a.side = 'after'
     CROSS JOIN LATERAL (VALUES
        (1, 'intervals', coalesce(b.n, 0), coalesce(a.n, 0), (
            SELECT 'left out: ' || string_agg(format('%s %s (%s)', r.n, r.side, r.left_out), ', '
                                              ORDER BY r.side DESC, r.left_out)
              FROM (SELECT w.side, w.left_out, count(*) AS n FROM w WHERE NOT w.compared GROUP BY 1, 2) r)),
        (2, CASE WHEN (c).rel_id IS NULL THEN 'calls' ELSE 'updates' END, coalesce(b.updated, 0),
         coalesce(a.updated, 0), NULL),
        (10, 'statements', NULL, NULL, CASE WHEN NOT EXISTS (SELECT FROM statements)
            THEN 'WAL and time are not known: ' || coalesce(ff_internal.statements_unread(),
                 'no statement that can be compared was seen both before and after') END)
        ) v(place, measure, before, after, note)
     WHERE v.before >= 0 OR v.note <> ''
    UNION ALL
    SELECT o.place, o.measure, o.unit, o.scale * (o.r).before, o.scale * (o.r).after, o.scale * (o.r).low,
           o.scale * (o.r).high, CASE o.measure
               WHEN 'statement time'
               THEN coalesce((SELECT s.note FROM scanned s), (SELECT l.for_time || ' changed meanwhile' FROM alike l))
               WHEN 'WAL per update' THEN (SELECT l.for_wal || ' changed meanwhile' FROM alike l) END
      FROM compared o WHERE (o.r).before IS NOT NULL OR (o.r).after IS NOT NULL;
END;

-- The value of a measure, rounded.
CREATE FUNCTION ff_internal.shown(value float8, unit text) RETURNS numeric
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN round(value::numeric, CASE unit WHEN 'ms' THEN 3 WHEN 'bytes' THEN 0 ELSE 1 END);

-- The measures of a change with what they say. A difference counts if its 95 % interval excludes zero, it is large
-- enough, the measure has a weight, and no note says why it cannot be compared.
CREATE FUNCTION ff_internal.weighed(c ff_internal.changes) RETURNS SETOF ff_internal.measure
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT m.*,
           CASE WHEN r.counts IS NOT TRUE OR d.low IS NULL OR m.note <> '' THEN NULL
                WHEN d.certain AND d.large THEN CASE WHEN d.difference * r.bad < 0 THEN 'better' ELSE 'worse' END
                WHEN d.high - d.low > 2 * r.unclear THEN 'unclear'
                ELSE 'equal' END, d.difference,
           concat(m.measure, ' ', ff_internal.shown(m.before, m.unit), ' -> ', ff_internal.shown(m.after, m.unit),
                  ' ' || m.unit, to_char(CASE r.unit WHEN '%' THEN d.difference END, '" ("FMSG999990" %)"'),
                  CASE WHEN NOT d.certain AND (d.large OR d.high - d.low > 2 * r.unclear) THEN ', uncertain' END),
           r.weight
      FROM ff_internal.measures(c) m
     CROSS JOIN (SELECT ff_internal.setting('time_weight') AS time, ff_internal.setting('wal_weight') AS wal,
                        ff_internal.setting('size_weight') * ff_internal.setting('storage_weight') AS size) k
      -- matters: least difference that counts. unclear: half width of the interval above which equality cannot be
      -- claimed. Both chosen.
      LEFT JOIN LATERAL (VALUES
         ('HOT share', 'points', -1, 1, 5, 0, k.time + k.wal > 0),
         ('WAL per update', '%', 1, 5, NULL, k.wal, k.wal > 0),
         ('statement time', '%', 1, 5, CASE WHEN (c).rel_id IS NULL THEN 10 END, k.time, k.time > 0),
         ('bytes per row', '%', 1, NULL, NULL, k.size, false)
         ) r(name, unit, bad, matters, unclear, weight, counts) ON r.name = m.measure
     CROSS JOIN LATERAL (SELECT CASE r.unit WHEN 'points' THEN 1 ELSE 100 / nullif(m.before, 0) END) f(factor)
     CROSS JOIN LATERAL (SELECT f.factor * (m.after - m.before) AS difference, f.factor * m.low AS low,
                                f.factor * m.high AS high, m.low * m.high > 0 AS certain,
                                abs(f.factor * (m.after - m.before)) >= r.matters AS large) d;
END;
