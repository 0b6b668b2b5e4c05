-- Stage prediction: what came of what advice promised.

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

-- Does so for each table whose last change took up a promise; returns how many these are.
CREATE FUNCTION ff_internal.collect_verdicts(id bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
DECLARE
    n bigint := 0;
    t bigint;
BEGIN
    FOR t IN
        SELECT DISTINCT c.rel_id
          FROM ff_internal.change c
          JOIN ff_internal.relation r ON r.rel_id = c.rel_id AND r.closed_at IS NULL
          JOIN ff_internal.prediction p ON p.rel_id = c.rel_id AND p.made_at < c.seen_at
               AND (p.from_fillfactor, p.to_fillfactor) = (c.old_fillfactor, c.new_fillfactor)
         WHERE c.kind = 'fillfactor' AND c.seen_at > now() - ff_internal.lookback()
           AND (p.judged_at IS NULL OR p.judged_at < now() - interval '1 hour')
         LIMIT 20
    LOOP
        PERFORM ff_internal.judge_prediction(t, clock_timestamp());
        n := n + 1;
    END LOOP;
    RETURN n;
END
$$;
