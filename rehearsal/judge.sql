-- Judges what a rehearsal measured: means, intervals, verdict, and what the change brings.

-- Returns what the runs of this server measured, with what was predicted.
CREATE FUNCTION ff_rehearsal.measured() RETURNS jsonb LANGUAGE sql STABLE AS $f$
    SELECT o.document - '{table,workload,settings,advised}'::text[]
           || jsonb_build_object('runs', o.runs, 'measured_at', extract(epoch FROM now()),
              'never', (SELECT coalesce(jsonb_agg(x.c->'words'), '[]') FROM ff_rehearsal.class() x WHERE x.never))
      FROM ff_rehearsal.setup o $f$;

-- Returns one row per measure of a result: the mean over the pairs and half of its 95 %
-- interval, of logarithms except for HOT shares. at: A or B, one of the fillfactors; AB: B against A. noise: how much
-- the equal pair, 0, differs. drift: points of HOT share between the last two laps, mean over a fillfactor's runs.
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
                   (4, 'A', 'WAL bytes per update at %1$s', 'wal_bytes', NULL),
                   (5, 'B', 'WAL bytes per update at %2$s', 'wal_bytes', NULL),
                   (6, 'A', 'rows on a page filled at %1$s', 'rows_per_page', 'rows_a'),
                   (7, 'B', 'rows on a page filled at %2$s', 'rows_per_page', 'rows_b'),
                   (8, 'AB', 'size, %2$s against %1$s, %%', 'size_bytes', NULL),
                   (9, 'AB', 'on this machine: transactions/s, %2$s against %1$s, %%', 'tps', NULL),
                   (10, 'A', 'on this machine: latency at %1$s, ms', 'latency_ms', NULL),
                   (11, 'B', 'on this machine: latency at %2$s, ms', 'latency_ms', NULL))
           m(place, at, measure, what, predicted)
      JOIN run a ON a.side IN ('A', 'A1')
      JOIN run b ON b.pair = a.pair AND b.side IN ('B', 'A2')
     CROSS JOIN LATERAL (SELECT (a.r->>m.what)::float8, (b.r->>m.what)::float8 WHERE m.what = 'hot_pct'
                         UNION ALL
                         SELECT ln((a.r->>m.what)::float8), ln((b.r->>m.what)::float8) WHERE m.what <> 'hot_pct'
                        ) f(a, b)
     CROSS JOIN LATERAL (SELECT CASE WHEN m.at = 'AB' OR a.pair = 0 THEN f.b - f.a
                                     WHEN m.at = 'A' THEN f.a ELSE f.b END) v(value)
     GROUP BY m.place, m.at, m.measure, m.predicted
$$;

-- Returns one row per measure, one for the verdict (12), one for what the change brings (13), judged only by what was
-- measured, and one per class that was left out (14).
CREATE FUNCTION ff_rehearsal.judged(result jsonb)
RETURNS TABLE (place integer, measure text, measured float8, low float8, high float8, predicted float8,
               allowed_low float8, allowed_high float8, verdict text)
LANGUAGE sql STABLE
AS $$
    -- All chosen. points, factor: how far a HOT share, or another measure, may be from its prediction; settled: points
    -- of HOT share that the last two laps may differ by; none: percent that count as no change; wide: points of HOT
    -- share from which an allowed range says nothing.
    WITH constant AS (
        SELECT 5.0::float8 AS points, 1.25::float8 AS factor, 2.0::float8 AS settled, 2.0::float8 AS none,
               50.0::float8 AS wide
    ), share AS (
        SELECT m.place, m.measure, m.mean, greatest(0, m.mean - m.half) AS low, least(100, m.mean + m.half) AS high,
               (m.predicted->>0)::float8 AS predicted, greatest(0, (m.predicted->>1)::float8 - k.points) AS allowed_low,
               least(100, (m.predicted->>2)::float8 + k.points) AS allowed_high, m.drift > k.settled AS drifts,
               greatest(m.half, m.noise) > k.points AS noisy, m.noise
          FROM ff_rehearsal.means(result) m, constant k WHERE m.place IN (1, 2)
    ), positive AS (
        SELECT m.place, m.measure, u.unit * exp(m.mean) AS mean, u.unit * exp(m.mean - m.half) AS low,
               u.unit * exp(m.mean + m.half) AS high, p.predicted,
               -- a predicted saving must not be a loss, nor the reverse
               CASE WHEN m.at = 'AB' AND p.predicted > 100
                    THEN greatest(p.predicted / k.factor, least(100, p.predicted - k.none))
                    ELSE p.predicted / k.factor END AS allowed_low,
               CASE WHEN m.at = 'AB' AND p.predicted <= 100
                    THEN least(p.predicted * k.factor, greatest(100, p.predicted + k.none))
                    ELSE p.predicted * k.factor END AS allowed_high,
               m.at = 'AB' AND m.drift > k.settled AS drifts, greatest(m.half, m.noise) > ln(k.factor) AS noisy,
               greatest(k.none, 100 * (exp(m.noise) - 1)) AS noise
          FROM ff_rehearsal.means(result) m CROSS JOIN constant k
         CROSS JOIN LATERAL (SELECT CASE m.at WHEN 'AB' THEN 100 ELSE 1 END) u(unit)
         CROSS JOIN LATERAL (SELECT (m.predicted->>0)::float8) p(predicted)
         WHERE m.place > 2
    ), told AS (
        SELECT j.*, CASE WHEN j.predicted IS NULL THEN NULL WHEN j.drifts IS NOT FALSE THEN 'not settled'
                         WHEN j.noisy THEN 'noise too large'
                         WHEN j.mean BETWEEN j.allowed_low AND j.allowed_high
                         THEN CASE WHEN j.place <= 2 AND j.allowed_high - j.allowed_low > k.wide
                                   THEN 'prediction too wide' ELSE 'held' END
                         -- the interval reaches into the allowed range: not refuted
                         WHEN j.low <= j.allowed_high AND j.high >= j.allowed_low THEN 'noise too large'
                         ELSE 'did not hold' END AS verdict
          FROM (SELECT * FROM share UNION ALL SELECT * FROM positive) j CROSS JOIN constant k
    )
    SELECT t.place, t.measure, t.mean, t.low, t.high, t.predicted, t.allowed_low, t.allowed_high, t.verdict FROM told t
    UNION ALL
    SELECT x.place, x.measure, NULL, NULL, NULL, NULL, NULL, NULL, x.verdict FROM (
    SELECT 12, 'verdict', CASE WHEN bool_or(t.verdict = 'not settled') THEN 'not settled'
                WHEN bool_or(t.verdict = 'noise too large') THEN 'noise too large'
                WHEN bool_or(t.verdict = 'did not hold') THEN 'did not hold'
                WHEN bool_or(t.verdict = 'prediction too wide') THEN 'prediction too wide'
                WHEN bool_and(t.verdict = 'held') THEN 'prediction held' END
      FROM told t
    UNION ALL
    SELECT 13, 'what it brings',
           CASE WHEN w.high < 100 AND 100 - w.mean > w.noise THEN 'saves WAL'
                WHEN w.low > 100 AND w.mean - 100 > w.noise THEN 'writes more WAL'
                WHEN w.noisy THEN 'cannot be told'
                WHEN s.high < 100 AND 100 - s.mean > s.noise THEN 'saves space' ELSE 'no measurable difference' END
      FROM told w, told s WHERE (w.place, s.place) = (3, 8)
    UNION ALL
    SELECT 14, 'not covered by the verdict', 'left out as too rare for a lap: ' || n
      FROM jsonb_array_elements_text(result->'never') n) x(place, measure, verdict)
     ORDER BY 1
$$;

-- Returns a result with its verdict: what ff_rehearsal_result() stores. headline: price and gain in one sentence.
CREATE FUNCTION ff_rehearsal.outcome(result jsonb) RETURNS jsonb
LANGUAGE sql STABLE
AS $$
    WITH j AS MATERIALIZED (SELECT * FROM ff_rehearsal.judged(result))
    SELECT result || jsonb_build_object(
               'verdict', verdict.verdict, 'effect', effect.verdict, 'hot_pct', b.measured, 'wal_pct', wal.measured,
               'size_pct', size.measured, 'predicted_hot_pct', b.predicted,
               'predicted_hot_low', result->'predicted'->'hot_b'->1,
               'predicted_hot_high', result->'predicted'->'hot_b'->2,
               'left_out', jsonb_array_length(result->'never'),
               'headline', format(
                   '%s: a table %s times as large for %s %% %s WAL per update (%s to %s %%), HOT share %s points',
                   effect.verdict, round(size.measured::numeric / 100, 2), abs(round(wal.measured::numeric - 100, 1)),
                   CASE WHEN wal.measured > 100 THEN 'more' ELSE 'less' END,
                   to_char(round(wal.low::numeric - 100, 1), f.f), to_char(round(wal.high::numeric - 100, 1), f.f),
                   to_char(round((b.measured - a.measured)::numeric, 1), f.f)))
      FROM j a, j b, j wal, j size, j verdict, j effect, (SELECT 'FMSG99999990.0') f(f)
     WHERE (a.place, b.place, wal.place, size.place, verdict.place, effect.place) = (1, 2, 3, 8, 12, 13)
$$;
