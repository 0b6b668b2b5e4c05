-- Stage rehearsal result: what a rehearsal measured beside what was predicted, judged where it ran and stored where the
-- advice comes from.

-- One row a measure and one for the verdict, of a result as the script prints it: means over its pairs, with 95 %
-- intervals; of ratios, the mean of the logarithms. Pair 0, the equal one, and the intervals tell the noise. The script
-- carries this function along, so that both sides judge alike; it calls nothing of the extension's.
CREATE FUNCTION ff_internal.rehearsal_judged(result jsonb)
RETURNS TABLE (place integer, measure text, measured float8, low float8, high float8, predicted float8, verdict text)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- Points of HOT share, and the logarithm of a factor of WAL, that count as equal: the aim of the predictions
    -- (chosen). 97.5 % quantiles of Student's t, by degrees of freedom.
    WITH constant AS (
        SELECT 5.0::float8 AS points, ln(1.25::float8) AS factor,
               '{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262}'::float8[] AS t
    ), run AS (
        SELECT (r->>'pair')::integer AS pair, r->>'side' AS side, r FROM jsonb_array_elements(result->'runs') r
    ), mean AS (
        -- of: one of the two fillfactors, or both against each other
        SELECT m.place, m.measure, m.predicted, m.of = 'both' AS is_ratio,
               avg(v.value) FILTER (WHERE a.pair > 0) AS mean,
               max(abs(v.value)) FILTER (WHERE a.pair = 0) AS noise,
               stddev_samp(v.value) FILTER (WHERE a.pair > 0) / sqrt(max(a.pair)) * k.t[max(a.pair) - 1] AS half
          FROM (VALUES (1, 'a', 'HOT share at %1$s, %%', 'hot_pct', 'hot_a'),
                       (2, 'b', 'HOT share at %2$s, %%', 'hot_pct', 'hot_b'),
                       (3, 'both', 'WAL per update, %2$s against %1$s, %%', 'wal_bytes', 'wal_pct'),
                       (4, 'a', 'WAL bytes per update at %1$s', 'wal_bytes', ''),
                       (5, 'b', 'WAL bytes per update at %2$s', 'wal_bytes', ''),
                       (6, 'a', 'rows on a page filled at %1$s', 'rows_per_page', 'rows_a'),
                       (7, 'b', 'rows on a page filled at %2$s', 'rows_per_page', 'rows_b'),
                       (8, 'both', 'size, %2$s against %1$s, %%', 'size_bytes', 'size_pct'),
                       (9, 'both', 'on this machine: transactions/s, %2$s against %1$s, %%', 'tps', ''),
                       (10, 'a', 'on this machine: latency at %1$s, ms', 'latency_ms', ''),
                       (11, 'b', 'on this machine: latency at %2$s, ms', 'latency_ms', ''))
               m(place, of, measure, what, predicted)
         CROSS JOIN constant k
          JOIN run a ON a.side IN ('A', 'A1')
          JOIN run b ON b.pair = a.pair AND b.side IN ('B', 'A2')
         CROSS JOIN LATERAL (SELECT (a.r->>m.what)::float8, (b.r->>m.what)::float8) f(a, b)
         CROSS JOIN LATERAL (SELECT CASE WHEN m.of = 'both' THEN ln(f.b / f.a) WHEN a.pair = 0 THEN f.b - f.a
                                         WHEN m.of = 'a' THEN f.a ELSE f.b END) v(value)
         GROUP BY m.place, m.measure, m.predicted, m.of, k.t
    ), judged AS (
        SELECT m.place, format(m.measure, result->>'from', result->>'to'), l.mean, l.mean_low, l.mean_high, p.predicted,
               CASE WHEN m.place > 3 OR p.predicted IS NULL THEN NULL
                    WHEN greatest(m.half, m.noise) > l.allowed THEN 'noise too large'
                    WHEN m.mean BETWEEN l.low - l.allowed AND l.high + l.allowed THEN 'held'
                    ELSE 'did not hold' END AS verdict
          FROM mean m CROSS JOIN constant k
         CROSS JOIN LATERAL (SELECT result->'predicted'->m.predicted) r(range)
         CROSS JOIN LATERAL (SELECT (r.range->>0)::float8) p(predicted)
         CROSS JOIN LATERAL (SELECT k.points, (r.range->>1)::float8, (r.range->>2)::float8, m.mean, m.mean - m.half,
                                    m.mean + m.half WHERE NOT m.is_ratio
                             UNION ALL
                             SELECT k.factor, ln(p.predicted / 100), ln(p.predicted / 100), 100 * exp(m.mean),
                                    100 * exp(m.mean - m.half), 100 * exp(m.mean + m.half) WHERE m.is_ratio
                            ) l(allowed, low, high, mean, mean_low, mean_high)
    )
    SELECT * FROM judged
    UNION ALL
    SELECT 12, 'verdict', NULL, NULL, NULL, NULL,
           CASE WHEN bool_or(j.verdict = 'noise too large') THEN 'noise too large'
                WHEN bool_and(j.verdict = 'held') THEN 'prediction held' ELSE 'did not hold' END
      FROM judged j
     ORDER BY 1
$$;

CREATE FUNCTION @extschema@.ff_rehearsal_result(result jsonb)
RETURNS TABLE (measure text, measured real, low real, high real, predicted real, verdict text)
LANGUAGE plpgsql VOLATILE ROWS 12
SET search_path = pg_catalog, pg_temp
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
               AND (SELECT count(j.measured) = 11 AND bool_and(j.low > -1e15 AND j.high < 1e15)
                      FROM ff_internal.rehearsal_judged(result) j WHERE j.place < 12) INTO complete;
        INSERT INTO ff_internal.rehearsal
        SELECT r.rel_id, (result->>'measured_at')::timestamptz, (result->>'from')::smallint, (result->>'to')::smallint,
               max(j.verdict) FILTER (WHERE j.place = 12), max(j.measured) FILTER (WHERE j.place = 2),
               (p.hot->>0)::float8, (p.hot->>1)::float8, (p.hot->>2)::float8
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
    RETURN QUERY SELECT j.measure, j.measured::real, j.low::real, j.high::real, j.predicted::real, j.verdict
                   FROM ff_internal.rehearsal_judged(result) j;
END
$$;
COMMENT ON FUNCTION @extschema@.ff_rehearsal_result(jsonb) IS
E'Stores the result of a rehearsal and shows what it says: one row a measure, the verdict last. ff_advise() mentions '
'the newest of a table, and its confidence counts it. The last ten of a table are kept.\n'
'result: the last line that the script of ff_rehearsal() printed. measured, low, high: mean over the pairs with its '
'95 % interval. predicted: by the advice. verdict: held, did not hold, noise too large, NULL where nothing is judged; '
'of the last row: prediction held, did not hold, noise too large.\n'
'Errors: 22004 NULL, 22023 not a result, 55000 of another server, 42P01 the table is not here.';
