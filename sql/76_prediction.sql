-- Stage prediction: what advice promised, and what came of it.

-- Rel_id of the tables whose advice may be another one after a collection, at most 20; removes the advice for tables
-- that are gone.
CREATE FUNCTION ff_internal.predictions_due(id bigint) RETURNS SETOF bigint
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    DELETE FROM ff_internal.advised a
     WHERE NOT EXISTS (SELECT 1 FROM ff_internal.relation r WHERE r.rel_id = a.rel_id AND r.closed_at IS NULL);

    -- Tables that changed in this collection, and those whose advice stands
    -- and may have turned without a change; the one asked longest ago first,
    -- as many as one collection may ask the model for.  A table known for
    -- longer than an hour is asked once an hour: the answer is costly and
    -- changes slowly.
    SELECT r.rel_id
      FROM ff_internal.collection c
     CROSS JOIN LATERAL (
           SELECT u.rel_id, max(u.updated) AS updated, bool_or(u.stands) AS stands
             FROM (SELECT i.rel_id, i.updated, false FROM ff_internal.counter_interval i
                    WHERE i.rollup = 0 AND i.ended_at = c.began_at
                   UNION ALL
                   SELECT a.rel_id, 0, true FROM ff_internal.advised a) u(rel_id, updated, stands)
            GROUP BY u.rel_id) d
      JOIN ff_internal.relation r ON r.rel_id = d.rel_id
     WHERE c.collection_id = id AND (d.updated > 0 OR r.fillfactor < 100 OR d.stands)
       AND r.closed_at IS NULL AND r.sampled_at IS NOT NULL
       AND (r.predicted_at IS NULL OR r.predicted_at <= c.began_at - interval '1 hour'
            OR r.opened_at > c.began_at - interval '1 hour')
     ORDER BY r.predicted_at NULLS FIRST, d.updated DESC, r.rel_id
     LIMIT 20
$$;

-- Writes down what became of the promise that the last change of a table's fillfactor took up: as soon as that can be
-- judged, then once an hour while the window after it grows.
CREATE FUNCTION ff_internal.judge_prediction(id bigint, at timestamptz) RETURNS void
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH taken AS (
        SELECT p.made_at, c.before_at, c.seen_at, c.epoch_id
          FROM ff_internal.change c
          JOIN ff_internal.prediction p ON p.rel_id = c.rel_id AND p.made_at < c.seen_at
               AND (p.from_fillfactor, p.to_fillfactor) = (c.old_fillfactor, c.new_fillfactor)
         WHERE c.rel_id = id AND c.kind = 'fillfactor' AND c.seen_at > at - ff_internal.lookback()
         ORDER BY c.seen_at DESC, p.made_at DESC LIMIT 1
    ), came AS (
        SELECT t.made_at, max(j.verdict) FILTER (WHERE j.place = 0) AS verdict,
               max(j.after) FILTER (WHERE j.measure = 'HOT share') AS hot_pct,
               max(100 * j.after / nullif(j.before, 0)) FILTER (WHERE j.measure = 'WAL per update') AS wal_pct
          FROM taken t CROSS JOIN LATERAL ff_internal.judged(id, 'fillfactor', t.before_at, t.seen_at, t.epoch_id) j
         GROUP BY t.made_at
    )
    UPDATE ff_internal.prediction p
       SET judged_at = at, verdict = c.verdict, achieved_hot_pct = c.hot_pct, achieved_wal_pct = c.wal_pct
      FROM came c
     WHERE p.rel_id = id AND p.made_at = c.made_at AND c.verdict <> 'too early'
       AND (p.judged_at IS NULL OR p.judged_at < at - interval '1 hour')
$$;

-- Writes down whether another fillfactor is advised for a table now (advised), what that promises, where it is new
-- (prediction), and what came of the promise that the last change took up. Returns the promises written.
CREATE FUNCTION ff_internal.collect_prediction(id bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
DECLARE
    -- a promise is written anew when its HOT share changed by so many points, or after a day
    new_promise CONSTANT double precision := 2;
    snapshot_at CONSTANT timestamptz := clock_timestamp();
    relation    regclass;
    advice      record;
    e           ff_internal.table_evidence;
    choice      record;
    last        ff_internal.prediction;
    written     bigint := 0;
BEGIN
    UPDATE ff_internal.relation r SET predicted_at = snapshot_at WHERE r.rel_id = id
    RETURNING r.relid::regclass INTO relation;
    IF relation IS NULL THEN
        RETURN 0;
    END IF;
    SELECT * INTO advice FROM ff_internal.advice(relation, NULL::integer);
    IF advice.action IN ('lower', 'raise') THEN
        INSERT INTO ff_internal.advised AS s
               (rel_id, asked_at, from_fillfactor, to_fillfactor, predicted_hot_pct, confidence)
        VALUES (id, snapshot_at, advice.fillfactor, advice.recommended_fillfactor, advice.predicted_hot_pct::numeric,
                advice.confidence::numeric)
        ON CONFLICT (rel_id) DO UPDATE
           SET (asked_at, from_fillfactor, to_fillfactor, predicted_hot_pct, confidence)
             = (EXCLUDED.asked_at, EXCLUDED.from_fillfactor, EXCLUDED.to_fillfactor, EXCLUDED.predicted_hot_pct,
                EXCLUDED.confidence);

        SELECT * INTO last FROM ff_internal.prediction p WHERE p.rel_id = id ORDER BY p.made_at DESC LIMIT 1;
        IF last IS NULL OR last.from_fillfactor <> advice.fillfactor
           OR last.to_fillfactor <> advice.recommended_fillfactor
           OR last.made_at < snapshot_at - interval '1 day' OR last.judged_at IS NOT NULL
           OR coalesce(abs(last.predicted_hot_pct - advice.predicted_hot_pct) >= new_promise,
                       last.predicted_hot_pct IS NULL AND advice.predicted_hot_pct IS NOT NULL)
        THEN
            -- once more, for the whole of it: that is seldom
            e := advice.evidence;
            SELECT * INTO choice FROM ff_internal.choice(e);
            INSERT INTO ff_internal.prediction
                   (rel_id, made_at, from_fillfactor, to_fillfactor, hot_pct, predicted_hot_pct, predicted_hot_low,
                    predicted_hot_high, predicted_wal_pct, size_bytes, predicted_size_bytes, confidence)
            VALUES (id, snapshot_at, advice.fillfactor, advice.recommended_fillfactor, advice.hot_pct,
                    choice.predicted_hot_pct, choice.predicted_hot_low, choice.predicted_hot_high,
                    choice.predicted_wal_pct, e.heap_bytes, choice.predicted_size_bytes, choice.confidence);
            written := 1;
        END IF;
    ELSE
        DELETE FROM ff_internal.advised s WHERE s.rel_id = id;
    END IF;
    PERFORM ff_internal.judge_prediction(id, snapshot_at);
    RETURN written;
END
$$;
