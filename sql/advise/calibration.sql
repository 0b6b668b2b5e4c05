-- Stage prediction: how accurate earlier predictions for a table were; 76_prediction.sql writes and judges them.

-- Mean accuracy, 0 to 1, of the last three predictions for a table (rel_id) that were judged, or rehearsed with a clear
-- outcome and nothing left out; NULL: none. 1: a rehearsal held, or the HOT share was in its range (or within 5 points)
-- and the change helped; divided by 1 + points outside / 10 (both chosen); halved for no difference or if a rehearsal
-- did not hold; 0.2 if the change hurt.
-- now, next: the change considered, if any. A rehearsal of a change in this direction that saved neither WAL nor space
-- counts as "no difference", or as "hurt" if it wrote more WAL, if it went nearly as far (80 %, chosen) or farther. If
-- it went less far and held, it is not counted.
CREATE FUNCTION ff_internal.calibration(relation_id bigint, now integer DEFAULT NULL, next integer DEFAULT NULL)
RETURNS float8
LANGUAGE sql STABLE
AS $$
    WITH outcome AS (
        SELECT p.made_at, p.verdict, p.predicted_hot_pct AS hot, p.predicted_hot_low AS low,
               p.predicted_hot_high AS high, p.achieved_hot_pct AS achieved
          FROM ff_internal.prediction p WHERE p.rel_id = relation_id AND p.judged_at IS NOT NULL
        UNION ALL
        SELECT r.measured_at, CASE WHEN i.idle AND i.covers AND r.brings = 'writes more WAL' THEN 'hurt'
                                   WHEN i.idle OR r.verdict = 'did not hold' THEN 'no difference' ELSE 'helped' END,
               CASE r.verdict WHEN 'did not hold' THEN r.predicted_hot_pct END, r.predicted_hot_low,
               r.predicted_hot_high, r.hot_pct
          FROM ff_internal.rehearsal r
         CROSS JOIN LATERAL (SELECT
               (r.to_fillfactor - r.from_fillfactor) * (next - now) > 0
               AND r.brings IN ('writes more WAL', 'no measurable difference'),
               (r.from_fillfactor - now) * (next - now) <= 0
               AND (r.to_fillfactor - now) * sign(next - now) >= 0.8 * abs(next - now)) i(idle, covers)
         WHERE r.rel_id = relation_id AND r.verdict IN ('prediction held', 'did not hold') AND r.left_out = 0
           AND (i.idle AND NOT i.covers AND r.verdict = 'prediction held') IS NOT TRUE
         ORDER BY 1 DESC LIMIT 3
    )
    SELECT avg(CASE o.verdict WHEN 'hurt' THEN 0.2
                    ELSE CASE o.verdict WHEN 'helped' THEN 1 ELSE 0.5 END * CASE WHEN o.hot IS NULL THEN 1
                         ELSE 1 / (1 + greatest(0, least(o.low, o.hot - 5) - o.achieved,
                                                o.achieved - greatest(o.high, o.hot + 5)) / 10) END END)
      FROM outcome o
$$;

-- Adjusts a confidence (0 to 1) by calibration(): halfway to 1 at 1, unchanged at 0.8, proportionally less below.
CREATE FUNCTION ff_internal.calibrated(confidence float8, calibration float8)
RETURNS float8
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT CASE WHEN calibration IS NULL THEN confidence
                WHEN calibration < 0.8 THEN confidence * calibration / 0.8
                ELSE confidence + (1 - confidence) * (calibration - 0.8) / 0.4 END
$$;
