-- Keep the history small. Every call handles a bounded number of rows.

-- Rolls up at most "most" rows of a level that ended before a time, into hours or days (unit); keeps the last page
-- sample of each. Returns the number of rows handled.
CREATE FUNCTION ff_internal.roll_up(level integer, unit text, before timestamptz, most bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    handled bigint;
    n       bigint;
    parts   ff_internal.statement_history[];
BEGIN
    WITH taken AS (
        DELETE FROM ff_internal.counter_interval h WHERE h.ctid = ANY (ARRAY(
            SELECT t.ctid FROM ff_internal.counter_interval t
             WHERE t.rollup = level AND t.ended_at < before ORDER BY t.ended_at LIMIT greatest(most, 0)))
        RETURNING h AS i
    ), rolled AS (
        SELECT (array_agg(i ORDER BY (i).ended_at DESC))[1] AS last,
               to_jsonb(ff_internal.total(i)) || jsonb_build_object(
                   'began_at', min((i).began_at), 'rewritten', bool_or((i).rewritten), 'rollup', level + 1,
                   -- the last that could be measured
                   'heap_bytes', (array_agg((i).heap_bytes ORDER BY (i).heap_bytes IS NULL, (i).ended_at DESC))[1],
                   'index_bytes', (array_agg((i).index_bytes ORDER BY (i).index_bytes IS NULL, (i).ended_at DESC))[1])
               AS sums
          FROM taken
         -- intervals before and after a change stay apart
         GROUP BY (i).rel_id, (i).epoch_id, (i).fillfactor, date_trunc(unit, (i).ended_at, 'UTC'),
                  (SELECT max(c.seen_at) FROM ff_internal.change c
                    WHERE c.rel_id = (i).rel_id AND c.seen_at <= (i).began_at)
    ), written AS (
        INSERT INTO ff_internal.counter_interval
        SELECT w.* FROM rolled r CROSS JOIN LATERAL jsonb_populate_record(r.last, r.sums) w
    )
    SELECT count(*) INTO handled FROM taken;

    WITH taken AS (
        DELETE FROM ff_internal.statement_history h WHERE h.ctid = ANY (ARRAY(
            SELECT t.ctid FROM ff_internal.statement_history t
             WHERE t.rollup = level AND t.ended_at < before ORDER BY t.ended_at LIMIT greatest(most - handled, 0)))
        RETURNING h
    )
    SELECT count(*), array_agg(t.h) INTO n, parts FROM taken t;
    PERFORM ff_internal.sum_statements(parts, level + 1, unit);
    handled := handled + n;

    WITH taken AS (
        DELETE FROM ff_internal.page_sample h WHERE h.ctid = ANY (ARRAY(
            SELECT t.ctid FROM ff_internal.page_sample t
             WHERE t.rollup = level AND t.sampled_at < before ORDER BY t.sampled_at LIMIT greatest(most - handled, 0)))
        RETURNING h AS s
    ), written AS (
        INSERT INTO ff_internal.page_sample
        SELECT w.*
          FROM (SELECT (array_agg(s ORDER BY (s).sampled_at DESC))[1] AS last FROM taken
                 GROUP BY (s).rel_id, date_trunc(unit, (s).sampled_at, 'UTC')) r
         CROSS JOIN LATERAL jsonb_populate_record(r.last, jsonb_build_object('rollup', level + 1)) w
    )
    SELECT count(*) INTO n FROM taken;
    RETURN handled + n;
END
$$;

-- One batch: deletes rows older than fillfactor_advisor.retention or beyond history_rows, and rolls up those older than
-- a day to hours, older than two weeks to days. Returns the rows handled; fewer than batch: done.
CREATE FUNCTION ff_internal.prune(batch bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET stats_fetch_consistency = none
AS $$
DECLARE
    oldest  CONSTANT timestamptz := clock_timestamp() - make_interval(secs => ff_internal.setting('retention'));
    most    CONSTANT bigint := ff_internal.setting('history_rows');
    handled bigint := 0;
    n       bigint;
    t       record;
BEGIN
    -- each level through its own index; the coarsest first, as it is the oldest
    FOR t IN SELECT v.history, v.beyond, format(
                        'DELETE FROM %1$s WHERE ctid = ANY (ARRAY(SELECT o.ctid FROM %1$s o WHERE %3$s o.%2$I < $1 '
                        'ORDER BY o.%2$I LIMIT greatest($2, 0)))',
                        v.history, v.time_column, 'o.rollup = ' || l.level || ' AND') AS command
               FROM (VALUES
            ('ff_internal.counter_interval'::regclass, 'ended_at', true, true),
            ('ff_internal.page_sample', 'sampled_at', true, true),
            ('ff_internal.statement_history', 'ended_at', true, false),
            ('ff_internal.statement_snapshot', 'snapshot_at', false, false),
            ('ff_internal.collection', 'began_at', false, false),
            ('ff_internal.change', 'seen_at', false, false),
            ('ff_internal.prediction', 'made_at', false, false),
            ('ff_internal.horizon_history', 'last_seen_at', false, false),
            ('ff_internal.rehearsal', 'measured_at', false, false)) v(history, time_column, rolled_up, beyond)
              CROSS JOIN LATERAL unnest(CASE WHEN v.rolled_up THEN '{2,1,0}' ELSE ARRAY[NULL::integer] END) l(level)
    LOOP
        EXECUTE t.command USING oldest, batch - handled;
        GET DIAGNOSTICS n = ROW_COUNT;
        handled := handled + n;
        CONTINUE WHEN NOT t.beyond;
        -- A lower bound of its rows, without reading them: the live count may hold rows twice that were reported
        -- after a vacuum had seen them, reltuples lacks all since the last vacuum or analyze.
        EXECUTE t.command USING 'infinity'::timestamptz, (
            SELECT least(batch - handled,
                         least(pg_stat_get_live_tuples(c.oid) + pg_stat_get_xact_tuples_inserted(c.oid),
                               greatest(c.reltuples, 0)::bigint - pg_stat_get_dead_tuples(c.oid))
                         - pg_stat_get_xact_tuples_deleted(c.oid) - most)
              FROM pg_class c WHERE c.oid = t.history);
        GET DIAGNOSTICS n = ROW_COUNT;
        handled := handled + n;
    END LOOP;
    -- UTC, so that all sessions agree
    handled := handled + ff_internal.roll_up(
        0, 'hour', date_trunc('hour', clock_timestamp() - interval '1 day', 'UTC'), batch - handled);
    handled := handled + ff_internal.roll_up(
        1, 'day', date_trunc('day', clock_timestamp() - interval '14 days', 'UTC'), batch - handled);
    -- current values stay, however old, and of each table the last line of some kinds, see note_fit(), keep_dismissal()
    DELETE FROM ff_internal.setting_history o
     WHERE o.seen_at < oldest
       AND EXISTS (SELECT FROM ff_internal.setting_history l WHERE l.setting = o.setting AND l.seen_at > o.seen_at);
    DELETE FROM ff_internal.advice_event o
     WHERE o.seen_at < oldest
       AND (o.what NOT IN ('blocked', 'unblocked', 'taken back')
            OR EXISTS (SELECT FROM ff_internal.advice_event l
                        WHERE l.rel_id = o.rel_id AND l.what = o.what AND l.seen_at > o.seen_at)
            OR NOT EXISTS (SELECT FROM ff_internal.relation r WHERE r.rel_id = o.rel_id AND r.closed_at IS NULL));
    DELETE FROM ff_internal.dismissal d
     WHERE d.until < oldest OR NOT EXISTS (SELECT FROM ff_internal.relation r WHERE r.rel_id = d.rel_id);
    WITH gone AS (
        DELETE FROM ff_internal.statement s
         WHERE s.closed_at IS NOT NULL
           AND NOT EXISTS (SELECT FROM ff_internal.statement_history h WHERE h.statement_id = s.statement_id)
        RETURNING s.statement_id
    )
    DELETE FROM ff_internal.statement_target o USING gone WHERE o.statement_id = gone.statement_id;
    DELETE FROM ff_internal.relation r
     WHERE r.rel_id = ANY (ARRAY(SELECT o.rel_id FROM ff_internal.relation o WHERE o.closed_at < oldest
                                 AND NOT EXISTS (SELECT FROM ff_internal.counter_interval i WHERE i.rel_id = o.rel_id)
                                 AND NOT EXISTS (SELECT FROM ff_internal.page_sample p WHERE p.rel_id = o.rel_id)
                               LIMIT greatest(batch - handled, 0)));
    GET DIAGNOSTICS n = ROW_COUNT;
    RETURN handled + n;
END
$$;
