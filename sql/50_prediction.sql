-- Stage prediction: how far earlier predictions for a table came true. They
-- are written and judged in 76_prediction.sql.

-- How well earlier predictions for a table (its rel_id) came true, 0 to 1, over the last three that were taken up and
-- judged, or rehearsed on a scratch server without too much noise; NULL where none was. 1: the HOT share came within
-- the range promised (or 5 points) and the change helped, or all that was predicted of the rehearsal held; halved for
-- every 10 points beyond, halved where it made no difference or did not hold, 0.2 where it hurt.
CREATE FUNCTION ff_internal.calibration(relation_id bigint) RETURNS double precision
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- Points of HOT share that a prediction may miss by without blame, and
    -- those beyond it that halve the trust; both chosen.
    WITH constant AS (
        SELECT 5.0::double precision AS tolerance, 10.0::double precision AS halving
    ), outcome AS (
        SELECT p.made_at, p.verdict, p.predicted_hot_pct, p.predicted_hot_low, p.predicted_hot_high, p.achieved_hot_pct
          FROM ff_internal.prediction p WHERE p.rel_id = relation_id AND p.judged_at IS NOT NULL
        UNION ALL
        SELECT r.measured_at, CASE r.verdict WHEN 'prediction held' THEN 'helped' ELSE 'no difference' END,
               r.predicted_hot_pct, r.predicted_hot_low, r.predicted_hot_high, r.hot_pct
          FROM ff_internal.rehearsal r WHERE r.rel_id = relation_id AND r.verdict <> 'noise too large'
    ), judged AS (
        SELECT p.verdict, p.predicted_hot_pct, k.halving,
               greatest(0, least(p.predicted_hot_low, p.predicted_hot_pct - k.tolerance) - p.achieved_hot_pct,
                        p.achieved_hot_pct - greatest(p.predicted_hot_high, p.predicted_hot_pct + k.tolerance)) AS miss
          FROM outcome p, constant k
         ORDER BY p.made_at DESC LIMIT 3
    )
    SELECT avg(CASE WHEN verdict = 'hurt' THEN 0.2
                    ELSE CASE verdict WHEN 'helped' THEN 1 ELSE 0.5 END
                         * CASE WHEN predicted_hot_pct IS NULL THEN 1 ELSE 1 / (1 + miss / halving) END END)
      FROM judged
$$;

-- A confidence (0 to 1) in the light of earlier predictions for the table, see calibration(): halfway to 1 where all
-- came true, as it was at 0.8, less in proportion below; unchanged where none was judged.
CREATE FUNCTION ff_internal.calibrated(confidence double precision, calibration double precision)
RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN calibration IS NULL THEN confidence
                WHEN calibration < 0.8 THEN confidence * calibration / 0.8
                ELSE confidence + (1 - confidence) * (calibration - 0.8) / 0.4 END
$$;

-- What came of the newest rehearsal of a table (its rel_id) at its present fillfactor, in words; NULL where there is
-- none.
CREATE FUNCTION ff_internal.rehearsed(relation_id bigint, fillfactor integer) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT format('rehearsed at %s: HOT %s %% (predicted %s), %s', r.to_fillfactor, round(r.hot_pct::numeric, 1),
                  trim_scale(round(r.predicted_hot_pct::numeric, 1)), r.verdict)
      FROM ff_internal.rehearsal r WHERE r.rel_id = relation_id AND r.from_fillfactor = fillfactor
     ORDER BY r.measured_at DESC LIMIT 1
$$;
