-- The verdict on a change.

-- WAL per update after a change of fillfactor, as a share of that before: as it was predicted, as far as the HOT share
-- (percent) moved to the predicted one. NULL: no WAL or no other HOT share was predicted, or it fell by over 5 points
-- (chosen) more, or it moved the other way.
CREATE FUNCTION ff_internal.wal_by_prediction(c ff_internal.change, hot_before float8, hot_after float8) RETURNS float8
LANGUAGE sql STABLE
RETURN (SELECT 1 - least(1, s.moved) * (1 - p.predicted_wal_pct / 100)
          FROM ff_internal.predicted(c) p
         CROSS JOIN LATERAL (SELECT (hot_after - hot_before) / nullif(p.predicted_hot_pct - hot_before, 0)) s(moved)
         WHERE abs(p.predicted_hot_pct - hot_before) >= 1 AND p.predicted_wal_pct > 0 AND s.moved > 0
           AND hot_after >= least(hot_before, p.predicted_hot_pct - 5));

-- Judges a change: its verdict and the reason (measure overall), then each measure. Gains and losses are weighed as in
-- the cost of a fillfactor, with the WAL that was predicted where that seen is not certain. With hardly any updates on
-- both sides, only the size per row is judged.
CREATE FUNCTION ff_internal.verdict_of(c ff_internal.changes) RETURNS SETOF ff_internal.measure
LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH constant AS (
        -- All chosen. Intervals needed to estimate scatter. Bytes per row, percent: decrease that is a gain, increase
        -- that is a loss by itself. Change of the cost (logarithm) below which gains and losses cancel out. Weight of
        -- WAL; NULL: it is no part of the cost.
        SELECT 3 AS intervals, 5 AS size_matters, 10 AS size_hurts, 0.01 AS cost_matters,
               ff_internal.setting('min_updates') AS updates,
               (SELECT nullif(ff_internal.setting('wal_weight'), 0)
                 WHERE NOT EXISTS (SELECT FROM pg_class p WHERE p.oid = c.relation AND p.relpersistence = 'u')) AS wal
    ), w AS MATERIALIZED (
        SELECT * FROM ff_internal.weighed(c) w ORDER BY w.place
    ), found AS (
        SELECT string_agg(w.words, '; ') FILTER (WHERE w.verdict = 'better') AS better,
               string_agg(w.words, '; ') FILTER (WHERE w.verdict = 'worse') AS worse,
               string_agg(w.words, '; ') FILTER (WHERE w.verdict = 'equal') AS equal,
               string_agg(w.words, '; ') FILTER (WHERE w.verdict = 'unclear') AS unclear,
               max(w.difference) FILTER (WHERE w.measure = 'bytes per row' AND w.weight > 0) AS size,
               -- what is unclear does not count
               sum(w.weight * ln(1 + w.difference / 100))
                   FILTER (WHERE w.weight > 0 AND w.difference > -100
                             AND (w.verdict IN ('better', 'worse') OR w.measure = 'bytes per row')) AS seen_cost,
               -- as in ff_verify(): an interval as wide as the value before says nothing
               coalesce(bool_or((w.verdict IN ('better', 'worse') OR w.verdict = 'equal' AND w.high - w.low < w.before)
                                AND w.measure = CASE WHEN k.wal > 0 THEN 'WAL per update' ELSE 'statement time' END),
                        false) AS known,
               bool_or(w.measure = 'statement time' AND w.verdict IN ('better', 'worse')) AS time_known,
               max(w.measure) FILTER (WHERE w.place = 2) AS what,
               string_agg(DISTINCT w.note, '; ') FILTER (WHERE w.measure IN ('WAL per update', 'statement time'))
                   AS not_compared,
               '; ' || max(w.note) FILTER (WHERE w.place = 1) AS left_out,
               max(w.before) FILTER (WHERE w.place = 1) AS n1, max(w.after) FILTER (WHERE w.place = 1) AS n2,
               max(w.before) FILTER (WHERE w.place = 2) AS u1, max(w.after) FILTER (WHERE w.place = 2) AS u2,
               (SELECT ln(p.wal) * o.wal
                  FROM constant o, w h, ff_internal.wal_by_prediction((c).altered, h.before, h.after) p(wal)
                 WHERE h.measure = 'HOT share' AND h.verdict IN ('better', 'worse')) AS predicted_cost
          FROM w CROSS JOIN constant k
    ), rule AS (
        -- the first rule that applies; waits: later collections may decide, on the same server until another change
        SELECT r.*, f.size, f.not_compared
          FROM found f CROSS JOIN constant k
         CROSS JOIN LATERAL (SELECT CASE WHEN f.size <= -k.size_matters THEN 'helped'
                                         WHEN f.size >= k.size_hurts THEN 'hurt' END) s(verdict)
         CROSS JOIN LATERAL (SELECT NOT f.known AND f.predicted_cost IS NOT NULL) g(predicted)
         CROSS JOIN LATERAL (SELECT coalesce(f.seen_cost, 0) + CASE WHEN g.predicted THEN f.predicted_cost
                                                                    WHEN f.known OR f.time_known THEN 0 END) o(cost)
         CROSS JOIN LATERAL (VALUES
            (1, greatest(f.u1, f.u2) < k.updates AND s.verdict <> ''
                -- nor in intervals that were left out, nor when it was changed
                AND (SELECT max(n.updated)
                       FROM (SELECT sum(i.updated) AS updated
                               FROM ff_internal.counter_interval i, ff_internal.lookback() r
                              WHERE i.rel_id = c.rel_id AND i.ended_at > greatest(c.before_at - r, c.since)
                                AND i.began_at < least(c.seen_at + r, c.until)
                              GROUP BY i.ended_at <= c.before_at, i.began_at >= c.seen_at) n)
                    >= k.updates IS NOT TRUE, s.verdict, false,
             format('hardly any %s; only the size is judged', f.what)),
            (2, f.n1 < k.intervals OR f.u1 < k.updates, 'too early', false,
             format('%s with %s %s before it; %s with %s are needed; later collections add none%s',
                    ff_internal.counted(f.n1::bigint, 'interval'), f.u1, f.what, k.intervals, k.updates, f.left_out)),
            (3, f.n2 < k.intervals OR f.u2 < k.updates, 'too early', true,
             format('%s with %s %s since it; %s with %s are needed, besides the first third%s',
                    ff_internal.counted(f.n2::bigint, 'interval'), f.u2, f.what, k.intervals, k.updates, f.left_out)),
            (4, (f.better <> '' OR s.verdict = 'helped' AND (f.known OR g.predicted))
                AND (f.worse <> '' OR s.verdict = 'hurt'),
             CASE WHEN o.cost < -k.cost_matters THEN 'helped'
                  -- where the WAL was not seen, the time saved was often not, either
                  WHEN o.cost > k.cost_matters AND NOT (g.predicted AND f.better <> '' AND f.worse IS NULL) THEN 'hurt'
                  ELSE 'no difference' END, false,
             format('%s; but %s; %s', coalesce(f.better, 'its rows take less room'),
                    coalesce(f.worse, 'its rows take more room'), coalesce(
                    CASE WHEN g.predicted THEN 'weighed with the WAL that was predicted' ELSE 'weighed together' END
                    || ', cost ' || to_char(100 * (exp(o.cost) - 1), 'FMSG999990.0') || ' %',
                    'what its updates cost is not certain, so they cannot be weighed'))),
            (5, coalesce(f.better, f.worse) <> '', CASE WHEN f.better <> '' THEN 'helped' ELSE 'hurt' END, false,
             concat_ws('; ', f.better, f.worse, f.equal, f.unclear)),
            (6, f.unclear <> '' OR f.equal IS NULL, 'too early', true,
             coalesce(f.unclear || '; the intervals scatter too much to tell yet',
                      'nothing could be measured on both sides')),
            (7, true, coalesce(s.verdict, 'no difference'), false,
             concat(CASE s.verdict WHEN 'helped' THEN 'nothing lost; ' WHEN 'hurt' THEN 'nothing gained; ' END,
                    f.equal))) r(place, applies, verdict, waits, reason)
         WHERE r.applies ORDER BY r.place LIMIT 1
    )
    SELECT 0, 'overall', NULL, NULL, NULL, NULL, NULL, concat_ws('; ', r.reason, r.not_compared,
               CASE WHEN r.waits AND (c.until IS NOT NULL OR c.seen_at <= now() - ff_internal.lookback()
                                      OR c.epoch_id NOT IN (SELECT o.epoch_id FROM ff_internal.epoch o
                                                              JOIN ff_internal.server s USING (system_identifier)))
                    THEN 'later collections add none'
                    WHEN r.waits THEN ff_internal.next_collection()
                    WHEN r.verdict <> 'too early' THEN to_char(r.size, '"bytes per row "FMSG999990" %"') END),
           r.verdict, NULL, NULL, NULL
      FROM rule r
    UNION ALL
    SELECT * FROM w;
END;

CREATE FUNCTION @extschema@.ff_verify(relation regclass DEFAULT NULL, all_measures boolean DEFAULT false)
RETURNS SETOF ff_internal.verified
LANGUAGE plpgsql STABLE ROWS 1000
SET jit = off
AS $$
DECLARE
    target regclass;
BEGIN
    PERFORM ff_internal.check_role('reader');
    target := ff_internal.checked_table(relation);
    RETURN QUERY
    WITH asked AS MATERIALIZED (
        SELECT r.rel_id, r.opened_at FROM ff_internal.followed r WHERE r.relid = target
    ), v AS MATERIALIZED (
        SELECT c.*, j.*, p AS prediction
          FROM ff_internal.changes c
         CROSS JOIN LATERAL ff_internal.verdict_of(c) j
          LEFT JOIN LATERAL ff_internal.predicted(c.altered) p ON true
         WHERE target IS NULL OR c.rel_id = (SELECT a.rel_id FROM asked a)
         ORDER BY c.seen_at DESC, c.relation, c.change, j.place
    )
    SELECT v.relation, date_trunc('second', v.seen_at), v.change, v.measure,
           -- an interval as wide as the value before says nothing (chosen)
           CASE WHEN v.verdict = 'equal' AND v.unit <> '%' AND v.high - v.low >= v.before THEN 'unclear'
                ELSE v.verdict END,
           ff_internal.shown(v.before, v.unit)::float8, ff_internal.shown(v.after, v.unit)::float8,
           ff_internal.shown(p.x, v.unit)::float8, ff_internal.shown(v.low, v.unit)::float8,
           ff_internal.shown(v.high, v.unit)::float8, v.unit,
           nullif(concat_ws('; ', v.note,
               CASE WHEN v.place = 0 AND v.kind = 'fillfactor' AND v.verdict <> 'helped'
                         AND (v.altered).new_fillfactor < (v.altered).old_fillfactor
                         AND NOT EXISTS (SELECT FROM ff_internal.counter_interval i
                                          WHERE i.rel_id = v.rel_id AND i.ended_at > v.before_at AND i.rewritten)
                         -- nor restored
                         AND v.epoch_id IN (SELECT o.epoch_id FROM ff_internal.epoch o JOIN ff_internal.server s
                                                  USING (system_identifier, database_oid)
                                            WHERE o.history_oid = o.tableoid)
                    THEN 'not rewritten since; its old pages are as full as before' END,
               CASE WHEN v.place = 0
                    THEN 'changed at the same time; not told apart: ' || nullif(concat_ws(', ', v.together,
                         CASE WHEN v.kind = 'setting'
                              THEN (SELECT ff_internal.counted(nullif(count(DISTINCT o.rel_id), 0), 'table')
                                      FROM ff_internal.change o WHERE o.seen_at = v.seen_at) END), '') END,
               CASE WHEN v.place = 0 AND v.kind = 'indexes' THEN 'what indexes do for reading is not judged'
                    WHEN v.place = 0 AND v.kind = 'rewrite' AND v.verdict = 'hurt' THEN 'a rewrite cannot be taken back'
                    WHEN v.measure = 'HOT share' AND v.kind = 'fillfactor'
                    THEN coalesce('predicted between ' || round((v.prediction).predicted_hot_low) || ' and '
                                      || round((v.prediction).predicted_hot_high),
                                  'not advised by a collection before, so nothing was predicted') END), ''),
           CASE WHEN v.place > 0 OR v.verdict <> 'hurt' THEN NULL
                WHEN v.kind = 'setting' THEN ff_internal.undo_setting(v.setting, v.old_value)
                WHEN v.kind = 'indexes'
                THEN ff_internal.undo_indexes(v.relation, (v.altered).dropped_indexes, (v.altered).created_indexes)
                ELSE ff_internal.restore_options(v.relation, (v.altered).old_options, (v.altered).new_options, v.kind)
           END
      FROM v
     -- WAL and size as shares of the value before: the model counts all WAL, and the table may have grown since
     CROSS JOIN LATERAL (
        SELECT CASE v.measure WHEN 'HOT share' THEN (v.prediction).predicted_hot_pct
                    WHEN 'WAL per update' THEN v.before * (v.prediction).predicted_wal_pct / 100
                    WHEN 'bytes per row' THEN v.before * (v.prediction).predicted_size_bytes
                                              / nullif((v.prediction).size_bytes, 0) END) p(x)
     WHERE all_measures OR v.verdict <> '' OR v.measure IN ('overall', 'HOT share', 'statements', 'WAL per update',
                                                  'statement time', 'bytes per row')
    UNION ALL
    SELECT target, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
           coalesce(ff_internal.no_history(target), 'no change was seen since ' || ff_internal.minute(coalesce(
               (SELECT a.opened_at FROM asked a), (SELECT min(k.began_at) FROM ff_internal.collection k)))), NULL
     WHERE NOT EXISTS (SELECT FROM v);
END
$$;
COMMENT ON FUNCTION @extschema@.ff_verify(regclass, boolean) IS
'The effect of each change that collections found, latest first, for one table, or for all tables and server settings: '
'the verdict (measure overall), then each measure that counts, or all_measures. One row says so if nothing changed.
relation: NULL for a setting. change: fillfactor, other options, indexes, a rewrite (new file; not TRUNCATE and a '
'load) or a setting. changed_at: the collection that saw it first.
before, after, predicted (by the advice): in unit, over the intervals before and after; the row "intervals" says which '
'were left out. WAL and size are predicted as shares of what was before. difference_low, difference_high: 95 % '
'interval of after minus before; NULL if unknown.
verdict: of overall: helped, no difference, hurt, too early; of a measure: better, worse, equal, unclear, NULL if it '
'does not count. Gains and losses are weighed by the settings time_weight, wal_weight, size_weight and storage_weight; '
'where the WAL seen is not certain, the WAL that was predicted for that HOT share is.
note: why. undo: statements that undo a change that hurt; run them one by one outside a transaction.
WAL and time compare the same statement before and after; only statements that update nothing else count, and of a '
'table only as long as no server setting changed that matters to them and no standby was promoted. Time does not count '
'if they scan a table whose number of rows changed by more than a tenth.
Errors: 42P01 unknown OID, 42809 not a table.';

CALL ff_internal.define($$
CREATE VIEW @extschema@.ff_verified (
    -- The verdicts of ff_verify() at a glance, under 100 characters wide, latest first.
    relation, -- NULL for a setting
    changed,  -- month, day and time of the collection that saw it first
    change,   -- fillfactor (two numbers), option, index, file, setting
    verdict,  -- helped, no difference, hurt, too early
    result    -- a line for each measure that counts, before -> after (uncertain: the 95 % interval of the difference
              -- includes zero); what the advice predicted; the statements that undo a change that hurt
) AS
SELECT v.relation::text, to_char(v.changed_at, 'MM-DD HH24:MI'),
       ff_internal.lines(regexp_replace(v.change, '^fillfactor ', ''), 24),
       max(v.verdict) FILTER (WHERE v.measure = 'overall'),
       concat_ws(E'\n', ff_internal.lines(concat_ws('; ',
           max(v.note) FILTER (WHERE coalesce(v.measure, 'overall') = 'overall'),
           'predicted: ' || max(v.predicted) FILTER (WHERE v.measure = 'HOT share') || ' % HOT'), 46),
           'undo: ' || max(v.undo))
  FROM @extschema@.ff_verify() v
 GROUP BY v.relation, v.changed_at, v.change
 ORDER BY v.changed_at DESC, v.relation, v.change
$$);

-- Judges the last change of each kind of a table, if something was counted since; again after an eighth of the time
-- since the change, or an hour: at most 20, chosen at random so that all get a turn. Notes verdicts that are new or
-- gone once they came twice in a row; the last outcome of advice is stored with its prediction. Returns the number of
-- changes tried. The collection's id, which all steps get, does not matter.
CREATE FUNCTION ff_internal.collect_verdicts(id bigint) RETURNS bigint
LANGUAGE sql VOLATILE
SET jit = off
BEGIN ATOMIC
    WITH last AS (
        SELECT DISTINCT ON (c.rel_id, c.kind) c.*
          FROM ff_internal.change c JOIN ff_internal.relation r USING (rel_id)
         WHERE r.closed_at IS NULL AND c.seen_at > now() - ff_internal.lookback()
         ORDER BY c.rel_id, c.kind, c.seen_at DESC
    ), due AS MATERIALIZED (
        SELECT * FROM last l
         WHERE coalesce(l.judged_at < now() - least(interval '1 hour', (l.judged_at - l.seen_at) / 8), true)
           AND EXISTS (SELECT FROM ff_internal.counter_interval i
                        WHERE i.rel_id = l.rel_id AND i.ended_at > coalesce(l.judged_at, l.seen_at))
         ORDER BY random() LIMIT 20
    ), came AS MATERIALIZED (
        SELECT (c.c).*, d.change_id, j.verdict, j.hot_pct,
               j.verdict IS DISTINCT FROM d.told AND j.verdict IS NOT DISTINCT FROM d.verdict AS is_news
          FROM due d
         -- OFFSET 0: search only this table's changes
         CROSS JOIN LATERAL (SELECT c FROM ff_internal.changes c
                              WHERE c.rel_id = d.rel_id AND (c.altered).change_id = d.change_id OFFSET 0) c
         CROSS JOIN LATERAL (SELECT nullif(max(o.verdict) FILTER (WHERE o.place = 0), 'too early'),
                                    max(o.after) FILTER (WHERE o.measure = 'HOT share')
                               FROM ff_internal.verdict_of(c.c) o) j(verdict, hot_pct)
    ), tried AS (
        UPDATE ff_internal.change c
           SET judged_at = clock_timestamp(), verdict = n.verdict,
               told = CASE WHEN n.is_news THEN n.verdict ELSE c.told END
          FROM came n WHERE n.change_id = c.change_id
    ), followed AS (
        UPDATE ff_internal.prediction p
           SET judged_at = clock_timestamp(), verdict = n.verdict, achieved_hot_pct = n.hot_pct
          FROM came n CROSS JOIN LATERAL ff_internal.predicted(n.altered) f
         WHERE (p.rel_id, p.made_at) = (f.rel_id, f.made_at) AND n.verdict <> ''
    )
    SELECT count(*) FROM (
        SELECT CASE WHEN n.is_news
                    THEN ff_internal.note(n.rel_id, 'verdict',
                                          format('%s: %s', coalesce(n.verdict, 'too early again'), n.change)) END
          FROM came n OFFSET 0) o;
END;
