-- Stage rehearsal result: compares what a rehearsal measured with what was predicted. The scratch server judges the
-- result; the server that gave the advice judges it again and stores it.

-- The script contains rehearsal_means() and rehearsal_judged(), so that both servers judge alike. They call nothing
-- else of the extension.

-- Returns one row per measure of a result, the script's last line: the mean over the pairs and half of its 95 %
-- interval, of logarithms except for HOT shares. at: A or B, one of the fillfactors; AB: B against A. noise: how much
-- the equal pair, 0, differs. drift: points of HOT share between the last two laps, mean over a fillfactor's runs.
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

-- Returns one row per measure, one for the verdict (12), one for what the change brings (13), and one per class that
-- was left out (14).
CREATE FUNCTION ff_internal.rehearsal_judged(result jsonb)
RETURNS TABLE (place integer, measure text, measured float8, low float8, high float8, predicted float8,
               allowed_low float8, allowed_high float8, verdict text)
LANGUAGE sql STABLE
AS $$
    -- All chosen. points, factor: how far a HOT share, or another measure, may be from its prediction; settled: points
    -- of HOT share that the last two laps may differ by; none: percent that count as no change.
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
               -- a predicted saving must not be a loss, nor the reverse
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
                         -- the interval reaches into the allowed range: not refuted
                         WHEN j.low <= j.allowed_high AND j.high >= j.allowed_low THEN 'noise too large'
                         ELSE 'did not hold' END AS verdict
          FROM (SELECT * FROM share UNION ALL SELECT * FROM positive) j
    )
    SELECT t.place, t.measure, t.mean, t.low, t.high, t.predicted, t.allowed_low, t.allowed_high, t.verdict FROM told t
    UNION ALL
    SELECT x.place, x.measure, NULL, NULL, NULL, NULL, NULL, NULL, x.verdict FROM (
    SELECT 12, 'verdict', CASE WHEN bool_or(t.verdict = 'not settled') THEN 'not settled'
                WHEN bool_or(t.verdict = 'noise too large') THEN 'noise too large'
                WHEN bool_and(t.verdict = 'held') THEN 'prediction held' ELSE 'did not hold' END
      FROM told t
    UNION ALL
    SELECT 13, 'what it brings', format(
           '%s: WAL per update %s %% (%s to %s; up to %s %% is noise), HOT share %s points, size %s %%',
           CASE WHEN w.high < 100 AND 100 - w.mean > w.noise THEN 'saves WAL'
                WHEN w.low > 100 AND w.mean - 100 > w.noise THEN 'writes more WAL'
                WHEN w.noisy THEN 'cannot be told'
                WHEN s.high < 100 AND 100 - s.mean > s.noise THEN 'saves space' ELSE 'no measurable difference' END,
           to_char(round(w.mean::numeric - 100, 1), f.f), to_char(round(w.low::numeric - 100, 1), f.f),
           to_char(round(w.high::numeric - 100, 1), f.f), round(w.noise::numeric, 1),
           to_char(round((b.mean - a.mean)::numeric, 1), f.f), to_char(round(s.mean::numeric - 100, 1), f.f))
      FROM told w, told a, told b, told s, (SELECT 'FMSG99999990.0') f(f)
     WHERE (w.place, a.place, b.place, s.place) = (3, 1, 2, 8)
    UNION ALL
    SELECT 14, 'not covered by the verdict', 'left out as too rare for a lap: ' || n
      FROM jsonb_array_elements_text(result->'never') n) x(place, measure, verdict)
     ORDER BY 1
$$;

-- Returns the first fault of a result, NULL if none. Numbers have chosen limits: wide enough for what a server can
-- measure, and narrow enough that no mean or interval overflows. Fields that are not read are not checked.
CREATE FUNCTION ff_internal.rehearsal_fault(result jsonb) RETURNS text
LANGUAGE sql STABLE
AS $$
    WITH limits(of, field, low, high) AS (
        VALUES ('', '{format}'::text[], to_jsonb(1), to_jsonb(1)), ('', '{rel_id}', '1', to_jsonb(~(1::bigint << 63))),
               ('', '{from}', '10', '100'), ('', '{to}', '10', '100'),
               ('', '{measured_at}', '0', to_jsonb(extract(epoch FROM now() + interval '1 day'))),
               ('', '{predicted,wal_pct,0}', '0.001', '1e6'),
               ('', '{predicted,rows_a,0}', '0.1', '1000'), ('', '{predicted,rows_b,0}', '0.1', '1000'),
               ('run', '{laps,-1}', '0', '100'), ('run', '{laps,-2}', '0', '100'), ('run', '{wal_bytes}', '0.1', '1e9'),
               ('run', '{rows_per_page}', '0.1', '1000'), ('run', '{size_bytes}', '8192', '1e14'),
               ('run', '{tps}', '1e-4', '1e6'), ('run', '{latency_ms}', '1e-3', '1e7')
         UNION ALL
        SELECT '', ARRAY['predicted', h, x.place], x.low, x.high
          FROM unnest('{hot_a,hot_b}'::text[]) h CROSS JOIN LATERAL (
               SELECT CASE jsonb_typeof(result->'predicted'->h->0) WHEN 'number' THEN result->'predicted'->h->0
                           ELSE '0' END) p(share)
         CROSS JOIN LATERAL (VALUES ('0', to_jsonb(0), to_jsonb(100)), ('1', '0', share), ('2', share, '100')
                            ) x(place, low, high)
    ), run AS MATERIALIZED (
        SELECT r.content, count(*) OVER () AS n
          FROM jsonb_array_elements(CASE jsonb_typeof(result->'runs') WHEN 'array' THEN result->'runs' END) r(content)
    ), part(of, name, content) AS (
        SELECT '', '', result
         UNION ALL
        SELECT 'run', format(' of run %s of pair %s', s.side, p.pair),
               (SELECT r.content FROM run r
                 WHERE (r.content->>'pair', r.content->>'side') = (p.pair::text, s.side) LIMIT 1)
          FROM generate_series(0, (SELECT least(10, greatest(3, max(r.n) / 2 - 1)) FROM run r)) p(pair)
         CROSS JOIN unnest(CASE p.pair WHEN 0 THEN '{A1,A2}' ELSE '{A,B}'::text[] END) s(side)
    )
    SELECT 'It is larger than 64 kB.' WHERE octet_length(result::text) > 65536
     UNION ALL
    SELECT 'Field "never" has to be a list.' WHERE jsonb_typeof(result->'never') IS DISTINCT FROM 'array'
     UNION ALL
    SELECT format('Field "%s"%s ' || CASE WHEN v.value IS NULL THEN 'is missing.' ELSE 'has to be from %s to %s.' END,
                  array_to_string(l.field, '.'), p.name, l.low, l.high)
      FROM part p JOIN limits l USING (of)
     CROSS JOIN LATERAL (SELECT CASE WHEN l.field[cardinality(l.field)] !~ '[0-9]'
                                       OR jsonb_typeof(p.content #> trim_array(l.field, 1)) = 'array'
                                     THEN p.content #> l.field END) v(value)
     -- a number nearer to 0 may underflow as float8
     WHERE jsonb_path_match(v.value, 'strict ($ == 0 || $ > 1e-300) && $ >= $low && $ <= $high',
                            jsonb_build_object('low', l.low, 'high', l.high), true) IS NOT TRUE
     UNION ALL
    SELECT 'Fields "rel_id", "from" and "to" have to be whole numbers, "from" another one than "to".'
     WHERE jsonb_path_match(result, 'strict $.rel_id.floor() == $.rel_id && $.from.floor() == $.from'
                                    ' && $.to.floor() == $.to && $.from != $.to', '{}', true) IS NOT TRUE
     UNION ALL
    SELECT 'There have to be two runs for each of 4 to 11 pairs.'
     WHERE (SELECT count(*) FROM part) <> 1 + (SELECT count(*) FROM run)
     LIMIT 1
$$;

CREATE FUNCTION @extschema@.ff_rehearsal_result(result jsonb)
RETURNS TABLE (measure text, measured real, low real, high real, predicted real, allowed_low real, allowed_high real,
               verdict text)
LANGUAGE plpgsql VOLATILE ROWS 14
AS $$
DECLARE
    most_kept CONSTANT integer := 10;           -- results per table
    fault     text;
    id        bigint;
BEGIN
    PERFORM ff_internal.check_role('collector');
    IF result IS NULL THEN
        PERFORM ff_internal.refuse('22004', 'the result must not be null');
    END IF;
    fault := ff_internal.rehearsal_fault(result);
    IF fault IS NOT NULL THEN
        PERFORM ff_internal.refuse('22023', 'this is not the result of a rehearsal', fault,
            'Pass the last line that the script of ff_rehearsal() printed, as it is.');
    ELSIF EXISTS (SELECT FROM ff_internal.server() s
                   WHERE (s.system_identifier::text, s.database_oid::text)
                         IS DISTINCT FROM (result->>'system_identifier', result->>'database_oid')) THEN
        PERFORM ff_internal.refuse('55000', 'the script of this rehearsal was written in another database', NULL,
            'Pass the result to the database whose ff_rehearsal() wrote the script.');
    END IF;
    INSERT INTO ff_internal.rehearsal
    SELECT r.rel_id, to_timestamp((result->'measured_at')::float8), (result->'from')::smallint,
           (result->'to')::smallint, max(j.verdict) FILTER (WHERE j.place = 12),
           max(split_part(j.verdict, ':', 1)) FILTER (WHERE j.place = 13), max(j.measured) FILTER (WHERE j.place = 2),
           max(j.measured) FILTER (WHERE j.place = 3), (p.hot->0)::float8, (p.hot->1)::float8, (p.hot->2)::float8,
           count(*) FILTER (WHERE j.place = 14)
      FROM ff_internal.relation r
     CROSS JOIN ff_internal.rehearsal_judged(result) j
     CROSS JOIN (SELECT result->'predicted'->'hot_b') p(hot)
     WHERE r.rel_id = (result->'rel_id')::bigint AND r.closed_at IS NULL
     GROUP BY r.rel_id, p.hot
        ON CONFLICT ON CONSTRAINT rehearsal_pkey DO UPDATE
       SET (from_fillfactor, to_fillfactor, verdict, brings, hot_pct, wal_pct, predicted_hot_pct, predicted_hot_low,
            predicted_hot_high, left_out)
         = (EXCLUDED.from_fillfactor, EXCLUDED.to_fillfactor, EXCLUDED.verdict, EXCLUDED.brings, EXCLUDED.hot_pct,
            EXCLUDED.wal_pct, EXCLUDED.predicted_hot_pct, EXCLUDED.predicted_hot_low, EXCLUDED.predicted_hot_high,
            EXCLUDED.left_out)
    RETURNING rel_id INTO id;
    IF id IS NULL THEN
        PERFORM ff_internal.refuse('42P01', 'the table of the rehearsal is gone', 'Nothing is stored.',
            'If the table is there, run CALL ff_collect() and write the rehearsal again.');
    END IF;
    DELETE FROM ff_internal.rehearsal o WHERE o.rel_id = id AND o.measured_at NOT IN (
        SELECT k.measured_at FROM ff_internal.rehearsal k WHERE k.rel_id = id
         ORDER BY k.measured_at DESC LIMIT most_kept);
    RETURN QUERY SELECT j.measure, round(j.measured::numeric, 4)::real, round(j.low::numeric, 4)::real,
                        round(j.high::numeric, 4)::real, round(j.predicted::numeric, 4)::real,
                        round(j.allowed_low::numeric, 4)::real, round(j.allowed_high::numeric, 4)::real, j.verdict
                   FROM ff_internal.rehearsal_judged(result) j;
END
$$;
COMMENT ON FUNCTION @extschema@.ff_rehearsal_result(jsonb) IS
E'Stores the result of a rehearsal and shows it: one row per measure, then the verdict, what the change brings, and '
'each class of transactions that was left out. ff_advise() mentions the newest result of a table; it counts for '
'confidence if nothing was left out. The ten newest results of a table are kept.\n'
'result: the last line that the script of ff_rehearsal() printed. measured, low, high: mean over the pairs with its '
'95 % interval. predicted: by the advice; allowed_low, allowed_high: range in which measured should be. verdict: held, '
'did not hold, not settled, noise too large, NULL if nothing is predicted; of the row verdict: prediction held, did '
'not hold, not settled, noise too large.\n'
'Errors: 22004 NULL, 22023 not a result: something is missing or out of range, 55000 result of another database, 42P01 '
'the table is gone.';
