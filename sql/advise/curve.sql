-- Stage curve: what each fillfactor would do to one table.

CREATE FUNCTION @extschema@.ff_curve(relation regclass, all_steps boolean DEFAULT false)
RETURNS TABLE (fillfactor integer, rows integer, hot_pct real, settled real, size text, wal_bytes integer, cost real,
               bar text)
LANGUAGE plpgsql STABLE ROWS 50
AS $$
DECLARE
    v   ff_internal.judged;
    f   ff_internal.fit;
    d   ff_internal.decision;
    now ff_internal.step;
BEGIN
    PERFORM ff_internal.check_role('reader');
    IF all_steps IS NULL THEN
        PERFORM ff_internal.refuse('22004', 'all_steps must not be null');
    END IF;
    v := ff_internal.decision_with_curve(relation, false);
    f := v.fit;
    d := v.decision;
    now := ff_internal.step_at(f.steps, d.current_step);
    RETURN QUERY
        SELECT s.fillfactor, s.rows_per_page, round(s.hot_pct::numeric, 1)::real,
               round(s.settled_hot_pct::numeric, 1)::real, pg_size_pretty(s.size_bytes + s.index_bytes),
               round(s.wal_bytes_per_update)::integer, round(s.cost::numeric, 3)::real,
               concat_ws(' ', rpad(repeat('#', round(coalesce(s.hot_pct, 0) / 10)::integer), 10, '.'), m.marks)
          FROM unnest(f.steps) s
         -- advised is that of ff_advise(), which may keep for reasons that the model does not know
         CROSS JOIN LATERAL (
               SELECT s.fillfactor = now.fillfactor AS current,
                      s.fillfactor = CASE WHEN d.action IN ('lower', 'raise') THEN d.recommended_fillfactor
                                          ELSE now.fillfactor END AS advised,
                      s.cost = (SELECT min(o.cost) FROM unnest(f.steps) o) AS best) w
         CROSS JOIN LATERAL (
               SELECT nullif(concat_ws(', ', CASE WHEN w.current THEN 'current' END,
                          CASE WHEN w.advised THEN 'advised' END,
                          CASE WHEN w.best THEN concat('best', CASE WHEN NOT w.advised THEN
                              ': -' || ff_internal.percent(100 - 100 * s.cost / now.cost) END) END), '') AS marks) m
         WHERE all_steps OR m.marks IS NOT NULL
            -- the steps that contain 100, 90, ... 30
            OR s.fillfactor IN (SELECT min(o.fillfactor)
                                  FROM unnest(f.steps) o, generate_series(30, 100, 10) tenth
                                 WHERE o.fillfactor >= tenth GROUP BY tenth);
END
$$;
COMMENT ON FUNCTION @extschema@.ff_curve(regclass, boolean) IS
'What each fillfactor would do to a table, one row per step (within a step nothing changes), from 100 downwards: the '
'current, the advised and the best one, and those at 100, 90 ... 30; with all_steps every one.
The row marked current shows what happens if nothing is done, from the pages as they are; the others are for a '
'rewritten table. The row marked best costs least; if it is not taken, it says how much of the cost it saves, and the '
'reason of ff_advise() why that is not enough.
rows: on a page that inserts fill. hot_pct: HOT share over a window like the observed one, percent. settled: the same '
'once the table has settled. size: table and indexes after fillfactor_advisor.payback_time, with as many rows as now. '
'wal_bytes: all WAL of an update, mean over that time. cost: time, WAL and size, weighted by the settings, relative to '
'the best step. bar: a picture of hot_pct, and marks. ff_export(true) has all figures, with ranges.
Errors: 22004 NULL, 42P01 unknown OID, 42809 not a table, 55000 not sampled yet or not examined.';
