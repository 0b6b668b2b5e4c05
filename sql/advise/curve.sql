-- What each fillfactor would do to one table.

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
    needs_rewrite        boolean,
    is_current           boolean,
    is_advised           boolean
)
LANGUAGE plpgsql STABLE ROWS 50
AS $$
DECLARE
    v ff_internal.judged;
    e ff_internal.table_evidence;
    f ff_internal.fit;
    d ff_internal.decision;
    declined boolean;
    advised  integer;
    why      text;
BEGIN
    PERFORM ff_internal.check_role('reader');
    PERFORM ff_internal.refuse('22004', 'all_steps must not be null') WHERE all_steps IS NULL;
    v := ff_internal.decision_with_curve(relation, false);
    e := v.evidence;
    f := v.fit;
    d := v.decision;
    declined := EXISTS (SELECT FROM ff_internal.effect(e, f, d) g, ff_internal.dismissal_of(e.rel_id, g.wal_bytes)
                         WHERE g.gain_pct IS NOT NULL);
    advised := CASE WHEN d.changes AND NOT declined THEN d.recommended_fillfactor ELSE d.current_step END;
    why := coalesce(ff_internal.words_of_refusal(d.best_refused, d.best_step, e, f, d),
                    (ff_internal.words(e, f, d)).phrase);
    RETURN QUERY
    SELECT s.fillfactor, s.rows_per_page,
           concat_ws(' ', rpad(repeat('#', round(coalesce(s.hot_pct, 0) / 5)::integer), 20, '.'), m.marks),
           round(s.hot_pct::numeric, 1)::real, round(s.hot_pct_low::numeric, 1)::real,
           round(s.hot_pct_high::numeric, 1)::real, round(s.settled_hot_pct::numeric, 1)::real,
           round(s.newpage_pct::numeric, 1)::real, s.size_bytes, s.index_bytes,
           round(s.wal_bytes_per_update::numeric)::real,
           CASE WHEN e.window_s >= ff_internal.threshold('RATES')
                THEN (s.wal_bytes_per_update * 86400 * ff_internal.updates_per_s(e))::bigint END,
           round(s.cost::numeric, 3)::real, s.needs_rewrite, s.fillfactor = d.current_step, s.fillfactor = advised
      FROM unnest(f.steps) s
     CROSS JOIN LATERAL (SELECT declined AND s.fillfactor = d.recommended_fillfactor) w(declined)
     CROSS JOIN LATERAL (SELECT nullif(concat_ws(', ',
           CASE s.fillfactor WHEN d.current_step THEN 'current' END, CASE s.fillfactor WHEN advised THEN 'advised' END,
           CASE WHEN s.fillfactor = d.current_step AND d.rewrite = 'pays'
                THEN 'rewritten -' || ff_internal.percent(100 - 100 / (f.choice).gain) END,
           CASE WHEN s.fillfactor = d.best_step AND s.fillfactor IN (d.current_step, advised) THEN 'best'
                WHEN s.fillfactor = d.best_step
                THEN format('best (-%s)%s', ff_internal.percent(100 * (1 - 1 / d.best_gain)),
                            CASE WHEN NOT w.declined THEN ': ' || why END) END,
           CASE WHEN w.declined THEN 'dismissed' END), '')) m(marks)
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
The row marked current shows what happens if nothing is done; the others what setting the fillfactor for new pages '
'does, or, where needs_rewrite, a rewrite, too. The row marked best costs least; if it is not advised, the mark says '
'how much less, and why not. dismissed: declined by ff_dismiss(). rewritten: what a rewrite at the present fillfactor '
'saves, if one is advised.
bar: a picture of the HOT share, and marks. hot_pct, hot_pct_low, hot_pct_high: HOT share over a window like the '
'observed one, with its range, percent. settled_hot_pct: once the table has settled. newpage_pct: updates that move '
'to another page, percent. size_bytes, index_bytes: after fillfactor_advisor.payback_time, with as many rows as now; '
'above the present step, once rewritten. wal_bytes_per_update: all WAL of the table and its indexes for each updated '
'row, of inserts, deletes and full-page images too, mean over that time. wal_bytes_per_day: NULL until an hour was '
'watched. cost: time, WAL and size, weighted by the settings, relative to the best step.
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

CALL ff_internal.define($$
CREATE VIEW @extschema@.ff_curves (
    -- ff_curve() of all tables that the model was asked for, as wide as a terminal.
    relation,
    fillfactor,
    rows,    -- on a page that inserts fill
    hot_pct, -- HOT share over a window like the observed one, percent
    size,    -- table and indexes after fillfactor_advisor.payback_time, with as many rows as now
    wal,     -- WAL of an update, bytes
    bar      -- a picture of hot_pct, and marks; "best: -26 %": the step that costs least, and how much less
) AS
SELECT c.oid::regclass::text, s.fillfactor, s.rows_per_page, s.hot_pct,
       pg_size_pretty(s.size_bytes + s.index_bytes), s.wal_bytes_per_update::integer,
       concat(rpad(repeat('#', round(coalesce(s.hot_pct, 0) / 10)::integer), 10, '.'),
              regexp_replace(regexp_replace(ltrim(s.bar, '#.'), '(advised), best|(current), advised', '\1\2'),
                             'best .([-0-9.]+ %).(: .*)?', 'best: \1'))
  -- a condition on the table reaches the function, so that other tables cost nothing
  FROM ff_internal.fitted() c(oid)
 CROSS JOIN LATERAL @extschema@.ff_curve(c.oid) s
 ORDER BY 1, s.fillfactor DESC
$$);
