-- Stage curve: what each fillfactor would do to one table.

CREATE FUNCTION @extschema@.ff_curve(relation regclass, all_steps boolean DEFAULT false)
RETURNS TABLE (
    fillfactor           integer,
    rows_per_page        integer,
    bar                  text,
    hot_pct              real,
    hot_pct_low          real,
    hot_pct_high         real,
    settled_hot_pct      real,
    newpage_pct          real,
    size_bytes           bigint,
    index_bytes          bigint,
    wal_bytes_per_update real,
    wal_bytes_per_day    bigint,
    cost                 real,
    is_current           boolean,
    is_advised           boolean
)
LANGUAGE plpgsql STABLE ROWS 50
AS $$
DECLARE
    v   ff_internal.judged;
    f   ff_internal.fit;
    d   ff_internal.decision;
    now ff_internal.step;
    best ff_internal.step;
BEGIN
    PERFORM ff_internal.check_role('reader');
    IF all_steps IS NULL THEN
        PERFORM ff_internal.refuse('22004', 'all_steps must not be null');
    END IF;
    v := ff_internal.decision_with_curve(relation, false);
    f := v.fit;
    d := v.decision;
    now := ff_internal.step_at(f.steps, d.current_step);
    best := ff_internal.best_step(f.steps, d.current_step, d.recommended_fillfactor);
    RETURN QUERY
        SELECT s.fillfactor, s.rows_per_page,
               concat_ws(' ', rpad(repeat('#', round(coalesce(s.hot_pct, 0) / 5)::integer), 20, '.'), m.marks),
               round(s.hot_pct::numeric, 1)::real, round(s.hot_pct_low::numeric, 1)::real,
               round(s.hot_pct_high::numeric, 1)::real, round(s.settled_hot_pct::numeric, 1)::real,
               round(s.newpage_pct::numeric, 1)::real, s.size_bytes, s.index_bytes,
               round(s.wal_bytes_per_update::numeric)::real,
               (s.wal_bytes_per_update * 86400 * ff_internal.updates_per_s(v.evidence))::bigint,
               round(s.cost::numeric, 3)::real, w.current, w.advised
          FROM unnest(f.steps) s
         -- advised is that of ff_advise(), which may keep for reasons that the model does not know
         CROSS JOIN LATERAL (
               SELECT s.fillfactor = now.fillfactor AS current,
                      s.fillfactor = CASE WHEN d.action IN ('lower', 'raise') THEN d.recommended_fillfactor
                                          ELSE now.fillfactor END AS advised,
                      s.fillfactor = best.fillfactor AS best) w
         CROSS JOIN LATERAL (
               SELECT nullif(concat_ws(', ', CASE WHEN w.current THEN 'current' END,
                          CASE WHEN w.advised THEN 'advised' END, CASE WHEN w.best AND w.advised THEN 'best'
                               WHEN w.best THEN 'best, but saves '
                                    || ff_internal.percent(100 - 100 * s.cost / now.cost) || ': ' || CASE
                                    WHEN d.wants_model THEN 'see ff_advise()'
                                    ELSE (ff_internal.words(v.evidence, f, d)).phrase END END), '') AS marks) m
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
'rewritten table. The row marked best costs least; if it is not taken, the reason of ff_advise() says why.
bar: a picture of the HOT share, and marks. hot_pct, hot_pct_low, hot_pct_high: HOT share over a window like the '
'observed one, with its range, percent. settled_hot_pct: once the table has settled. newpage_pct: updates that move '
'to another page, percent. size_bytes, index_bytes: after fillfactor_advisor.payback_time. wal_bytes_per_update: all '
'WAL, mean over that time. wal_bytes_per_day: for the updates of a day. cost: time, WAL and size, weighted by the '
'settings, relative to the best step.
Errors: 22004 NULL, 42P01 unknown OID, 42809 not a table, 55000 not sampled yet or not examined.';

-- The tables that the model was asked for.
CREATE FUNCTION ff_internal.fitted() RETURNS SETOF oid
LANGUAGE plpgsql STABLE ROWS 1000
AS $$
BEGIN
    PERFORM ff_internal.check_role('reader');
    RETURN QUERY
        SELECT c.oid FROM ff_internal.fit f
          JOIN ff_internal.followed r USING (rel_id)
          JOIN pg_class c ON c.oid = r.relid
         WHERE cardinality(f.steps) > 0;
END
$$;

CREATE VIEW @extschema@.ff_curves AS
SELECT c.oid::regclass AS relation, s.fillfactor, s.rows_per_page AS rows, s.hot_pct,
       pg_size_pretty(s.size_bytes + s.index_bytes) AS size, s.wal_bytes_per_update::integer AS wal,
       concat(rpad(repeat('#', round(coalesce(s.hot_pct, 0) / 10)::integer), 10, '.'),
              regexp_replace(replace(ltrim(s.bar, '#.'), 'advised, best', 'advised'),
                             'best, but saves ([0-9.]+ %).*', 'best: -\1')) AS bar
  -- a condition on the table reaches the function, so that other tables cost nothing
  FROM ff_internal.fitted() c(oid)
 CROSS JOIN LATERAL @extschema@.ff_curve(c.oid) s
 ORDER BY c.oid::regclass::text, s.fillfactor DESC;
COMMENT ON VIEW @extschema@.ff_curves IS
'ff_curve() of all tables that the model was asked for, under 100 characters wide. size: table and indexes. wal: bytes '
'of an update. bar: a picture of hot_pct, and marks; "best: -26 %": the step that costs least, and how much less.';
COMMENT ON COLUMN @extschema@.ff_curves.rows IS 'on a page that inserts fill';
COMMENT ON COLUMN @extschema@.ff_curves.hot_pct IS 'HOT share over a window like the observed one, percent';
COMMENT ON COLUMN @extschema@.ff_curves.size IS 'table and indexes after fillfactor_advisor.payback_time';
COMMENT ON COLUMN @extschema@.ff_curves.wal IS 'WAL of an update, bytes';
COMMENT ON COLUMN @extschema@.ff_curves.bar IS 'a picture of hot_pct, and marks';
