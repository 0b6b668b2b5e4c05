-- Stage prediction: how far earlier predictions for a table came true; 76_prediction.sql writes and judges them.

-- How well the last three predictions for a table (rel_id) that were judged, or rehearsed with a clear outcome and
-- nothing left out, came true, 0 to 1; NULL: none. 1: a rehearsal held, or the HOT share came within the range promised
-- (or 5 points) and the change helped; halved for every 10 points beyond (both chosen), and where it made no difference
-- or a rehearsal did not hold; 0.2 where it hurt.
CREATE FUNCTION ff_internal.calibration(relation_id bigint) RETURNS float8
LANGUAGE sql STABLE
AS $$
    WITH outcome AS (
        SELECT p.made_at, p.verdict, p.predicted_hot_pct AS hot, p.predicted_hot_low AS low,
               p.predicted_hot_high AS high, p.achieved_hot_pct AS achieved
          FROM ff_internal.prediction p WHERE p.rel_id = relation_id AND p.judged_at IS NOT NULL
        UNION ALL
        SELECT r.measured_at, CASE r.verdict WHEN 'prediction held' THEN 'helped' ELSE 'no difference' END,
               CASE r.verdict WHEN 'did not hold' THEN r.predicted_hot_pct END, r.predicted_hot_low,
               r.predicted_hot_high, r.hot_pct
          FROM ff_internal.rehearsal r
         WHERE r.rel_id = relation_id AND r.verdict IN ('prediction held', 'did not hold') AND r.left_out = 0
         ORDER BY 1 DESC LIMIT 3
    )
    SELECT avg(CASE o.verdict WHEN 'hurt' THEN 0.2
                    ELSE CASE o.verdict WHEN 'helped' THEN 1 ELSE 0.5 END * CASE WHEN o.hot IS NULL THEN 1
                         ELSE 1 / (1 + greatest(0, least(o.low, o.hot - 5) - o.achieved,
                                                o.achieved - greatest(o.high, o.hot + 5)) / 10) END END)
      FROM outcome o
$$;

-- A confidence (0 to 1) in the light of calibration(): halfway to 1 where all came true, as it was at 0.8, less in
-- proportion below.
CREATE FUNCTION ff_internal.calibrated(confidence float8, calibration float8)
RETURNS float8
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT CASE WHEN calibration IS NULL THEN confidence
                WHEN calibration < 0.8 THEN confidence * calibration / 0.8
                ELSE confidence + (1 - confidence) * (calibration - 0.8) / 0.4 END
$$;
