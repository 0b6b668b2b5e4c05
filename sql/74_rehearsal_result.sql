-- Stage rehearsal result: what a rehearsal measured beside what was predicted, judged where it ran and stored where the
-- advice comes from.

-- The script carries rehearsal_means() and rehearsal_judged() along, so that both sides judge alike; they call nothing
-- else of the extension's.

-- One row a measure of a result, as the script prints it: the mean over its pairs and half of its 95 % interval, of
-- logarithms except for HOT shares. at: A or B, one of the two fillfactors, AB: B against A. noise: by how much the
-- equal pair, 0, differs. drift: points of HOT share between the last two laps.
CREATE FUNCTION ff_internal.rehearsal_means(result jsonb)
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
                   (4, 'A', 'WAL bytes per update at %1$s', 'wal_bytes', ''),
                   (5, 'B', 'WAL bytes per update at %2$s', 'wal_bytes', ''),
                   (6, 'A', 'rows on a page filled at %1$s', 'rows_per_page', 'rows_a'),
                   (7, 'B', 'rows on a page filled at %2$s', 'rows_per_page', 'rows_b'),
                   (8, 'AB', 'size, %2$s against %1$s, %%', 'size_bytes', ''),
                   (9, 'AB', 'on this machine: transactions/s, %2$s against %1$s, %%', 'tps', ''),
                   (10, 'A', 'on this machine: latency at %1$s, ms', 'latency_ms', ''),
                   (11, 'B', 'on this machine: latency at %2$s, ms', 'latency_ms', ''))
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

-- One row a measure, one for the verdict (12), one that says what the change brings (13), and one a class that was left
-- out (14).
CREATE FUNCTION ff_internal.rehearsal_judged(result jsonb)
RETURNS TABLE (place integer, measure text, measured float8, low float8, high float8, predicted float8,
               allowed_low float8, allowed_high float8, verdict text)
LANGUAGE sql STABLE
AS $$
    -- All chosen: what is allowed beside a prediction, points of HOT share or a factor; points from lap to lap, on
    -- average, of a table that has settled; percent of WAL that count as no change.
    WITH constant AS (
        SELECT 5.0::float8 AS points, 1.25::float8 AS factor, 2.0::float8 AS settled, 2.0::float8 AS none
    ), share AS (
        SELECT m.place, m.measure, m.mean, greatest(0, m.mean - m.half) AS low, least(100, m.mean + m.half) AS high,
               (m.predicted->>0)::float8 AS predicted, greatest(0, (m.predicted->>1)::float8 - k.points) AS allowed_low,
               least(100, (m.predicted->>2)::float8 + k.points) AS allowed_high, m.drift > k.settled AS drifts,
               greatest(m.half, m.noise) > k.points AS noisy, m.noise
          FROM ff_internal.rehearsal_means(result) m, constant k WHERE m.place IN (1, 2)
    ), positive AS (
        SELECT m.place, m.measure, u.unit * exp(m.mean) AS mean, u.unit * exp(m.mean - m.half) AS low,
               u.unit * exp(m.mean + m.half) AS high, p.predicted,
               -- a predicted saving allows no loss, and a loss no saving
               CASE WHEN m.at = 'AB' AND p.predicted > 100
                    THEN greatest(p.predicted / k.factor, least(100, p.predicted - k.none))
                    ELSE p.predicted / k.factor END AS allowed_low,
               CASE WHEN m.at = 'AB' AND p.predicted <= 100
                    THEN least(p.predicted * k.factor, greatest(100, p.predicted + k.none))
                    ELSE p.predicted * k.factor END AS allowed_high,
               m.at = 'AB' AND m.drift > k.settled AS drifts, greatest(m.half, m.noise) > ln(k.factor) AS noisy,
               greatest(k.none, 100 * (exp(m.noise) - 1)) AS noise
          FROM ff_internal.rehearsal_means(result) m CROSS JOIN constant k
         CROSS JOIN LATERAL (SELECT CASE m.at WHEN 'AB' THEN 100 ELSE 1 END) u(unit)
         CROSS JOIN LATERAL (SELECT (m.predicted->>0)::float8) p(predicted)
         WHERE m.place > 2
    ), told AS (
        SELECT j.*, CASE WHEN j.predicted IS NULL THEN NULL WHEN j.drifts IS NOT FALSE THEN 'not settled'
                         WHEN j.noisy THEN 'noise too large'
                         WHEN j.mean BETWEEN j.allowed_low AND j.allowed_high THEN 'held'
                         -- what the interval allows is not refuted
                         WHEN j.low <= j.allowed_high AND j.high >= j.allowed_low THEN 'noise too large'
                         ELSE 'did not hold' END AS verdict
          FROM (SELECT * FROM share UNION ALL SELECT * FROM positive) j
    )
    SELECT t.place, t.measure, t.mean, t.low, t.high, t.predicted, t.allowed_low, t.allowed_high, t.verdict FROM told t
    UNION ALL
    SELECT 12, 'verdict', NULL, NULL, NULL, NULL, NULL, NULL,
           CASE WHEN bool_or(t.verdict = 'not settled') THEN 'not settled'
                WHEN bool_or(t.verdict = 'noise too large') THEN 'noise too large'
                WHEN bool_and(t.verdict = 'held') THEN 'prediction held' ELSE 'did not hold' END
      FROM told t
    UNION ALL
    SELECT 13, 'what it brings', NULL, NULL, NULL, NULL, NULL, NULL, format(
           '%s: WAL per update %s %% (%s to %s; up to %s %% is noise), HOT share %s points, size %s %%',
           CASE WHEN w.high < 100 AND 100 - w.mean > w.noise THEN 'saves WAL'
                WHEN w.low > 100 AND w.mean - 100 > w.noise THEN 'writes more WAL'
                WHEN w.noisy THEN 'cannot be told' ELSE 'no measurable difference' END,
           to_char(round(w.mean::numeric - 100, 1), f.f), to_char(round(w.low::numeric - 100, 1), f.f),
           to_char(round(w.high::numeric - 100, 1), f.f), round(w.noise::numeric, 1),
           to_char(round((b.mean - a.mean)::numeric, 1), f.f), to_char(round(s.mean::numeric - 100, 1), f.f))
      FROM told w, told a, told b, told s, (SELECT 'FMSG99999990.0') f(f)
     WHERE (w.place, a.place, b.place, s.place) = (3, 1, 2, 8)
    UNION ALL
    SELECT 14, 'not covered by the verdict', NULL, NULL, NULL, NULL, NULL, NULL, 'left out as too rare for a lap: ' || n
      FROM jsonb_array_elements_text(result->'never') n
     ORDER BY 1
$$;

CREATE FUNCTION @extschema@.ff_rehearsal_result(result jsonb)
RETURNS TABLE (measure text, measured real, low real, high real, predicted real, allowed_low real, allowed_high real,
               verdict text)
LANGUAGE plpgsql VOLATILE ROWS 14
AS $$
DECLARE
    most_bytes CONSTANT integer := 65536;       -- of a result; 22 runs take 4 kB
    most_kept  CONSTANT integer := 10;          -- of a table
    complete   boolean;
    id         bigint;
BEGIN
    PERFORM ff_internal.check_role('collector');
    IF result IS NULL THEN
        PERFORM ff_internal.refuse('22004', 'the result must not be null');
    END IF;
    BEGIN
        -- pairs of runs, and all figures there and finite; the table checks the others
        SELECT octet_length(result::text) <= most_bytes AND result->>'format' = '1'
               AND (result->>'measured_at')::timestamptz
                   BETWEEN now() - ff_internal.lookback() AND now() + interval '1 day'
               AND (SELECT count(*) BETWEEN 8 AND 22 AND count(*) = 2 * (max(r.pair) + 1)
                           AND count(DISTINCT (r.pair, r.side)) = count(*)
                           AND bool_and(r.side = ANY (CASE r.pair WHEN 0 THEN '{A1,A2}' ELSE '{A,B}'::text[] END))
                      FROM jsonb_to_recordset(result->'runs') r(pair integer, side text) WHERE r.pair >= 0)
               AND (SELECT count(j.measured) = 11 AND bool_and(j.measured >= 0 AND greatest(j.measured, j.high) < 1e15)
                      FROM ff_internal.rehearsal_judged(result) j WHERE j.place < 12) INTO complete;
        INSERT INTO ff_internal.rehearsal
        SELECT r.rel_id, (result->>'measured_at')::timestamptz, (result->>'from')::smallint, (result->>'to')::smallint,
               max(j.verdict) FILTER (WHERE j.place = 12), max(j.measured) FILTER (WHERE j.place = 2),
               max(j.measured) FILTER (WHERE j.place = 3), (p.hot->>0)::float8, (p.hot->>1)::float8,
               (p.hot->>2)::float8, count(*) FILTER (WHERE j.place = 14)
          FROM ff_internal.relation r
          JOIN pg_class c ON c.oid = r.relid
          JOIN pg_namespace n ON n.oid = c.relnamespace
         CROSS JOIN ff_internal.rehearsal_judged(result) j
         CROSS JOIN (SELECT result->'predicted'->'hot_b') p(hot)
         WHERE complete AND r.closed_at IS NULL
           AND (c.oid::bigint::text, n.nspname, c.relname) = (result->>'relid', result->>'schema', result->>'table')
         GROUP BY r.rel_id, p.hot
            ON CONFLICT ON CONSTRAINT rehearsal_pkey DO UPDATE SET verdict = EXCLUDED.verdict
        RETURNING rel_id INTO id;
    EXCEPTION WHEN data_exception OR integrity_constraint_violation THEN
        complete := false;
    END;
    IF complete IS NOT TRUE THEN
        PERFORM ff_internal.refuse('22023', 'this is not the result of a rehearsal',
            'Something is missing in it, of another type, too large or out of range.',
            'Pass the last line that the script of ff_rehearsal() printed, as it is.');
    ELSIF result->>'system_identifier'
          IS DISTINCT FROM (SELECT s.system_identifier::text FROM ff_internal.server() s) THEN
        PERFORM ff_internal.refuse('55000', 'the script of this rehearsal was written by another server', NULL,
            'Pass the result to the server whose ff_rehearsal() wrote the script.');
    ELSIF id IS NULL THEN
        PERFORM ff_internal.refuse('42P01', 'the table of the rehearsal is not in this database, or not collected');
    END IF;
    DELETE FROM ff_internal.rehearsal o WHERE o.rel_id = id AND o.measured_at NOT IN (
        SELECT k.measured_at FROM ff_internal.rehearsal k WHERE k.rel_id = id
         ORDER BY k.measured_at DESC LIMIT most_kept);
    RETURN QUERY SELECT j.measure, j.measured::real, j.low::real, j.high::real, j.predicted::real,
                        j.allowed_low::real, j.allowed_high::real, j.verdict
                   FROM ff_internal.rehearsal_judged(result) j;
END
$$;
COMMENT ON FUNCTION @extschema@.ff_rehearsal_result(jsonb) IS
E'Stores the result of a rehearsal and shows what it says: one row a measure, then the verdict, what the change '
'brings, and each kind of transaction that was left out. ff_advise() mentions the newest of a table, and its '
'confidence counts it, if nothing was left out. The last ten of a table are kept.\n'
'result: the last line that the script of ff_rehearsal() printed. measured, low, high: mean over the pairs with its '
'95 % interval. predicted: by the advice; allowed_low, allowed_high: where measured has to be. verdict: held, did not '
'hold, not settled, noise too large, NULL where nothing is predicted; of the row verdict: prediction held, did not '
'hold, not settled, noise too large.\n'
'Errors: 22004 NULL, 22023 not a result, 55000 of another server, 42P01 the table is not here.';
