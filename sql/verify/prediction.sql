-- Stage prediction: what became of predictions.

-- For the last fillfactor change of a table that followed advice: stores the outcome of its prediction as soon as that
-- can be judged, then hourly. Returns the number of tables tried: at most 20, chosen at random so that all get a turn.
CREATE FUNCTION ff_internal.collect_verdicts(id bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET jit = off
AS $$
DECLARE
    tried bigint := 0;
    v     record;
BEGIN
    FOR v IN
    WITH taken AS (
        SELECT DISTINCT ON (f.rel_id) f.rel_id, f.change_id, p.made_at, p.judged_at, p.verdict AS judged_before
          FROM ff_internal.change f
          JOIN ff_internal.relation r ON r.rel_id = f.rel_id AND r.closed_at IS NULL
          JOIN ff_internal.prediction p ON p.rel_id = f.rel_id AND p.made_at < f.seen_at
               AND (p.from_fillfactor, p.to_fillfactor) = (f.old_fillfactor, f.new_fillfactor)
         WHERE f.kind = 'fillfactor' AND f.seen_at > now() - ff_internal.lookback()
         ORDER BY f.rel_id, f.seen_at DESC, p.made_at DESC
    ), due AS MATERIALIZED (
        SELECT * FROM taken t WHERE t.judged_at IS NULL OR t.judged_at < now() - interval '1 hour'
         ORDER BY random() LIMIT 20
    ), came AS (
        SELECT d.rel_id, d.made_at, (c.change).change, max(j.verdict) FILTER (WHERE j.place = 0) AS verdict,
               max(j.after) FILTER (WHERE j.measure = 'HOT share') AS hot_pct
          FROM due d
         -- OFFSET 0: search only this table's changes
         CROSS JOIN LATERAL (SELECT c AS change FROM ff_internal.changes c
                              WHERE c.rel_id = d.rel_id AND c.change_id = d.change_id OFFSET 0) c
         CROSS JOIN LATERAL ff_internal.judged(c.change) j
         GROUP BY d.rel_id, d.made_at, 3
    ), written AS (
        UPDATE ff_internal.prediction p
           SET judged_at = clock_timestamp(), verdict = c.verdict, achieved_hot_pct = c.hot_pct
          FROM came c
         WHERE (p.rel_id, p.made_at) = (c.rel_id, c.made_at) AND c.verdict <> 'too early'
        RETURNING p.rel_id, p.verdict, c.change
    )
    SELECT d.rel_id, w.verdict, w.verdict <> coalesce(d.judged_before, '') AS is_new, w.change
      FROM due d LEFT JOIN written w USING (rel_id)
    LOOP
        tried := tried + 1;
        IF v.is_new THEN
            PERFORM ff_internal.note(v.rel_id, 'verdict', format('%s: %s', v.verdict, v.change));
        END IF;
    END LOOP;
    RETURN tried;
END
$$;
