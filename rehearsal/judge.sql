-- Judges what a rehearsal measured: means, intervals, verdict, and what the change brings.

-- Returns what the runs of this server measured, with what was predicted.
CREATE FUNCTION ff_rehearsal.measured() RETURNS jsonb LANGUAGE sql STABLE AS $f$
    SELECT o.document - '{table,workload,settings,advised}'::text[]
           || jsonb_build_object('runs', o.runs, 'measured_at', extract(epoch FROM now()),
              'never', (SELECT coalesce(jsonb_agg(ff_rehearsal.words(x.c)), '[]') FROM ff_rehearsal.class() x WHERE x.never))
      FROM ff_rehearsal.setup o $f$;

-- Returns one row per measure of a result: the mean over the pairs and half of its 95 % interval, of logarithms except
-- for HOT shares. at: A or B, one of the fillfactors; AB: B against A. noise: how much the equal pair, 0, differs.
-- drift: points of HOT share between the last two laps, mean over a fillfactor's runs.
CREATE FUNCTION ff_rehearsal.means(result jsonb)
RETURNS TABLE (place integer, at text, measure text, mean float8, half float8, noise float8, drift float8,
               predicted jsonb)
LANGUAGE sql STABLE
AS $$
    WITH run AS (
        SELECT (r->>'pair')::integer AS pair, r->>'side' AS side, left(r->>'side', 1) AS at,
               r || jsonb_build_object('hot_pct', r->'laps'->-1) AS r,
               abs((r->'laps'->>-1)::float8 - (r->'laps'->>-2)::float8) AS drift
          FROM jsonb_array_elements(result->'runs') r
    )
    -- 97.5 % quantiles of Student's t, by degrees of freedom
    SELECT m.place, m.at, format(m.measure, result->>'from', result->>'to'), avg(v.value) FILTER (WHERE a.pair > 0),
           stddev_samp(v.value) FILTER (WHERE a.pair > 0) / sqrt(max(a.pair)) * ('{12.706, 4.303, 3.182, 2.776, 2.571,
               2.447, 2.365, 2.306, 2.262}'::float8[])[max(a.pair) - 1],
           max(abs(v.value)) FILTER (WHERE a.pair = 0),
           (SELECT max(d.drift) FROM (SELECT avg(r.drift) FROM run r WHERE strpos(m.at, r.at) > 0 GROUP BY r.at)
                                     d(drift)),
           result->'predicted'->m.predicted
      FROM (VALUES (1, 'A', 'HOT share at %1$s, %%', 'hot_pct', 'hot_a'),
                   (2, 'B', 'HOT share at %2$s, %%', 'hot_pct', 'hot_b'),
                   (3, 'AB', 'WAL per update, %2$s against %1$s, %%', 'wal_bytes', 'wal_pct'),
                   (4, 'A', 'rows on a page filled at %1$s', 'rows_per_page', 'rows_a'),
                   (5, 'B', 'rows on a page filled at %2$s', 'rows_per_page', 'rows_b'),
                   (6, 'AB', 'size, %2$s against %1$s, %%', 'size_bytes', NULL))
           m(place, at, measure, what, predicted)
      JOIN run a ON a.side IN ('A', 'A1')
      JOIN run b ON b.pair = a.pair AND b.side IN ('B', 'A2')
     CROSS JOIN LATERAL (SELECT (a.r->>m.what)::float8, (b.r->>m.what)::float8) x(a, b)
     CROSS JOIN LATERAL (SELECT x.a, x.b WHERE m.place <= 2 UNION ALL SELECT ln(x.a), ln(x.b) WHERE m.place > 2) f(a, b)
     CROSS JOIN LATERAL (SELECT CASE WHEN m.at = 'AB' OR a.pair = 0 THEN f.b - f.a
                                     WHEN m.at = 'A' THEN f.a ELSE f.b END) v(value)
     GROUP BY m.place, m.at, m.measure, m.predicted
$$;

-- Returns one row per measure, with the range that its prediction allows. noise: what equal runs differ by, in percent
-- or points; noisy: so much that nothing can be told.
CREATE FUNCTION ff_rehearsal.judged(result jsonb)
RETURNS TABLE (place integer, measure text, measured float8, low float8, high float8, predicted float8,
               allowed_low float8, allowed_high float8, noise float8, noisy boolean, verdict text)
LANGUAGE sql STABLE
AS $$
    -- All chosen. points, factor: how far a HOT share, or another measure, may be from its prediction; settled: points
    -- of HOT share that the last two laps may differ by; none: percent that count as no change; wide: points of HOT
    -- share from which an allowed range says nothing.
    WITH constant AS (
        SELECT 5.0::float8 AS points, 1.25::float8 AS factor, 2.0::float8 AS settled, 2.0::float8 AS none,
               50.0::float8 AS wide
    )
    SELECT m.place, m.measure, v.mean, v.low, v.high, p.predicted, v.allowed_low, v.allowed_high, v.noise, n.noisy,
           CASE WHEN p.predicted IS NULL THEN NULL
                WHEN (m.at = 'AB' OR m.place <= 2) AND (m.drift <= k.settled) IS NOT TRUE THEN 'not settled'
                WHEN n.noisy THEN 'noise too large'
                WHEN v.mean BETWEEN v.allowed_low AND v.allowed_high
                THEN CASE WHEN m.place <= 2 AND v.allowed_high - v.allowed_low > k.wide THEN 'prediction too wide'
                          ELSE 'held' END
                -- the interval reaches into the allowed range: not refuted
                WHEN v.low <= v.allowed_high AND v.high >= v.allowed_low THEN 'noise too large'
                ELSE 'did not hold' END
      FROM ff_rehearsal.means(result) m CROSS JOIN constant k
     CROSS JOIN LATERAL (SELECT (m.predicted->>0)::float8, CASE m.at WHEN 'AB' THEN 100 ELSE 1 END) p(predicted, unit)
     CROSS JOIN LATERAL (
           SELECT m.mean, greatest(0, m.mean - m.half), least(100, m.mean + m.half), m.noise, k.points,
                  greatest(0, (m.predicted->>1)::float8 - k.points), least(100, (m.predicted->>2)::float8 + k.points)
            WHERE m.place <= 2
           UNION ALL
           -- a predicted saving must not be a loss, nor the reverse
           SELECT p.unit * exp(m.mean), p.unit * exp(m.mean - m.half), p.unit * exp(m.mean + m.half),
                  greatest(k.none, 100 * (exp(m.noise) - 1)), ln(k.factor),
                  greatest(p.predicted / k.factor,
                           CASE WHEN m.at = 'AB' AND p.predicted > 100 THEN least(100, p.predicted - k.none) END),
                  least(p.predicted * k.factor,
                        CASE WHEN m.at = 'AB' AND p.predicted <= 100 THEN greatest(100, p.predicted + k.none) END)
            WHERE m.place > 2) v(mean, low, high, noise, bound, allowed_low, allowed_high)
     CROSS JOIN LATERAL (SELECT greatest(m.half, m.noise) > v.bound) n(noisy)
     ORDER BY m.place
$$;

-- Returns a result with its verdict, and what the change brings by what was measured alone: what ff_rehearsal_result()
-- stores. headline: price and gain in one sentence.
CREATE FUNCTION ff_rehearsal.outcome(result jsonb) RETURNS jsonb
LANGUAGE sql STABLE
AS $$
    WITH j AS MATERIALIZED (SELECT * FROM ff_rehearsal.judged(result)),
    verdict AS (
        SELECT ('{prediction held, prediction too wide, did not hold, noise too large, not settled}'::text[])[
                   max(array_position('{held, prediction too wide, did not hold, noise too large, not settled}'::text[],
                                      j.verdict))] AS verdict
          FROM j
    )
    SELECT result || jsonb_build_object(
               'verdict', v.verdict, 'effect', e.effect, 'hot_pct', b.measured, 'wal_pct', w.measured,
               'size_pct', s.measured, 'predicted_hot_pct', b.predicted,
               'left_out', jsonb_array_length(result->'never'),
               'headline', format(
                   '%s: a table %s times as large for %s %% %s WAL per update (%s to %s %%), HOT share %s points',
                   e.effect, round(s.measured::numeric / 100, 2), abs(round(w.measured::numeric - 100, 1)),
                   CASE WHEN w.measured > 100 THEN 'more' ELSE 'less' END,
                   to_char(round(w.low::numeric - 100, 1), f.f), to_char(round(w.high::numeric - 100, 1), f.f),
                   to_char(round((b.measured - a.measured)::numeric, 1), f.f)))
      FROM verdict v, j a, j b, j w, j s, (SELECT 'FMSG99999990.0') f(f), LATERAL (
           SELECT CASE WHEN w.high < 100 AND 100 - w.measured > w.noise THEN 'saves WAL'
                       WHEN w.low > 100 AND w.measured - 100 > w.noise THEN 'writes more WAL'
                       WHEN w.noisy THEN 'cannot be told'
                       WHEN s.high < 100 AND 100 - s.measured > s.noise THEN 'saves space'
                       ELSE 'no measurable difference' END) e(effect)
     WHERE (a.place, b.place, w.place, s.place) = (1, 2, 3, 6)
$$;
