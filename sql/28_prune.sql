-- Stage collect: keep the history small.  Finer history becomes coarser, then
-- goes.  Every call handles a bounded number of rows.

-- Rows that a history table has at least, by the server's own counts, this session's included, without reading it. Too
-- low for rows inserted since the last vacuum or analyze.
CREATE FUNCTION ff_internal.rows_kept(history_table text) RETURNS bigint
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
SET stats_fetch_consistency = none
AS $$
    -- Two counts of the server, neither to be relied on alone: the running one
    -- may have rows twice that were reported after a vacuum had seen them, that
    -- of the last vacuum or analyze lacks all that came since.
    SELECT least(k.live_rows + pg_stat_get_xact_tuples_inserted(c.oid),
                 CASE WHEN c.reltuples BETWEEN 0 AND 1e15 THEN c.reltuples::bigint ELSE 0 END - k.dead_rows)
           - pg_stat_get_xact_tuples_deleted(c.oid)
      FROM pg_class c
     CROSS JOIN LATERAL ff_internal.counters(c.oid) k
     WHERE c.relname = history_table AND c.relnamespace = 'ff_internal'::regnamespace
$$;

-- Removes rows of a history table that are older than before, at most so many; of one with roll-ups the oldest of each.
-- Returns how many.
CREATE FUNCTION ff_internal.prune_rows(
    history_table text, time_column text, rolled boolean, before timestamptz, most bigint
) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    removed bigint := 0;
BEGIN
    IF most > 0 THEN
        EXECUTE format($q$ DELETE FROM ff_internal.%1$I h WHERE h.ctid = ANY (ARRAY(
                               SELECT o.tid FROM generate_series(0, %3$s) g(rollup)
                                CROSS JOIN LATERAL (SELECT t.ctid AS tid, t.%2$I AS at FROM ff_internal.%1$I t
                                                     WHERE t.%2$I < $1 %4$s ORDER BY t.%2$I LIMIT $2) o
                                ORDER BY o.at LIMIT $2)) $q$,
                       history_table, time_column, CASE WHEN rolled THEN 2 ELSE 0 END,
                       CASE WHEN rolled THEN 'AND t.rollup = g.rollup' ELSE '' END)
          USING before, most;
        GET DIAGNOSTICS removed = ROW_COUNT;
    END IF;
    RETURN removed;
END
$$;

-- Rolls intervals of one level that ended before a time up to hours or days (unit), at most so many. Returns how many.
CREATE FUNCTION ff_internal.roll_up_intervals(level integer, unit text, before timestamptz, most bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    n bigint;
BEGIN
    WITH taken AS (
        DELETE FROM ff_internal.counter_interval i
         WHERE i.ctid = ANY (ARRAY(SELECT o.ctid FROM ff_internal.counter_interval o
                                    WHERE o.rollup = level AND o.ended_at < before ORDER BY o.ended_at LIMIT most))
        RETURNING *
    ), rolled AS (
        INSERT INTO ff_internal.counter_interval
               (rel_id, began_at, ended_at, epoch_id, rollup, fillfactor, rewritten, inserted, updated, hot_updated,
                newpage_updated, deleted, seq_scans, index_scans, blocks_fetched, blocks_hit, vacuums,
                heap_bytes, index_bytes)
        SELECT rel_id, min(began_at), max(ended_at), epoch_id, level + 1, fillfactor, bool_or(rewritten),
               sum(inserted), sum(updated), sum(hot_updated),
               CASE WHEN count(newpage_updated) = count(*) THEN sum(newpage_updated) END, sum(deleted),
               sum(seq_scans), sum(index_scans), sum(blocks_fetched), sum(blocks_hit), sum(vacuums),
               (array_agg(heap_bytes ORDER BY ended_at DESC) FILTER (WHERE heap_bytes IS NOT NULL))[1],
               (array_agg(index_bytes ORDER BY ended_at DESC) FILTER (WHERE index_bytes IS NOT NULL))[1]
          FROM taken GROUP BY rel_id, epoch_id, fillfactor, date_trunc(unit, ended_at, 'UTC')
    )
    SELECT count(*) INTO n FROM taken;
    RETURN n;
END
$$;

-- The same for statements.
CREATE FUNCTION ff_internal.roll_up_statements(level integer, unit text, before timestamptz, most bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    n bigint;
BEGIN
    WITH taken AS (
        DELETE FROM ff_internal.statement_history h
         WHERE h.ctid = ANY (ARRAY(SELECT o.ctid FROM ff_internal.statement_history o
                                    WHERE o.rollup = level AND o.ended_at < before ORDER BY o.ended_at LIMIT most))
        RETURNING *
    ), rolled AS (
        INSERT INTO ff_internal.statement_history
               (statement_id, began_at, ended_at, statement_epoch_id, rollup, calls, rows, total_ms, stddev_ms,
                blocks_hit, blocks_read, blocks_dirtied, blocks_written, read_ms, write_ms,
                wal_records, wal_fpi, wal_bytes)
        SELECT statement_id, min(began_at), max(ended_at), statement_epoch_id, level + 1,
               sum(calls), sum(rows), sum(total_ms),
               ff_internal.stddev_of(sum(calls), sum(total_ms), sum(calls * stddev_ms ^ 2 + total_ms ^ 2 / calls)),
               sum(blocks_hit), sum(blocks_read), sum(blocks_dirtied), sum(blocks_written), sum(read_ms), sum(write_ms),
               sum(wal_records), sum(wal_fpi), sum(wal_bytes)
          FROM taken GROUP BY statement_id, statement_epoch_id, date_trunc(unit, ended_at, 'UTC')
    )
    SELECT count(*) INTO n FROM taken;
    RETURN n;
END
$$;

-- The same for page samples, of which the last one of an hour or day is kept.
CREATE FUNCTION ff_internal.roll_up_samples(level integer, unit text, before timestamptz, most bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    n bigint;
BEGIN
    WITH old AS (
        SELECT o.ctid AS tid, o.rel_id, o.sampled_at FROM ff_internal.page_sample o
         WHERE o.rollup = level AND o.sampled_at < before ORDER BY o.sampled_at LIMIT most
    ), ranked AS (
        SELECT tid, row_number() OVER (PARTITION BY rel_id, date_trunc(unit, sampled_at, 'UTC')
                                       ORDER BY sampled_at DESC) = 1 AS last_one FROM old
    ), gone AS (
        DELETE FROM ff_internal.page_sample i WHERE i.ctid = ANY (ARRAY(SELECT tid FROM ranked WHERE NOT last_one))
    ), kept AS (
        UPDATE ff_internal.page_sample i SET rollup = level + 1
         WHERE i.ctid = ANY (ARRAY(SELECT tid FROM ranked WHERE last_one))
    )
    SELECT count(*) INTO n FROM ranked;
    RETURN n;
END
$$;

-- Removes what belongs to histories that are gone.
CREATE FUNCTION ff_internal.prune_closed(oldest timestamptz, most bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    removed bigint;
BEGIN
    -- the value in force stays, however old
    DELETE FROM ff_internal.setting_history o
     WHERE o.seen_at < oldest
       AND EXISTS (SELECT 1 FROM ff_internal.setting_history l WHERE l.setting = o.setting AND l.seen_at > o.seen_at);
    WITH gone AS (
        DELETE FROM ff_internal.statement s
         WHERE s.closed_at IS NOT NULL
           AND NOT EXISTS (SELECT 1 FROM ff_internal.statement_history h WHERE h.statement_id = s.statement_id)
        RETURNING s.statement_id
    )
    DELETE FROM ff_internal.statement_target t USING gone WHERE t.statement_id = gone.statement_id;
    DELETE FROM ff_internal.relation r
     WHERE r.rel_id = ANY (ARRAY(SELECT o.rel_id FROM ff_internal.relation o WHERE o.closed_at < oldest
                                 AND NOT EXISTS (SELECT 1 FROM ff_internal.counter_interval i WHERE i.rel_id = o.rel_id)
                                 AND NOT EXISTS (SELECT 1 FROM ff_internal.page_sample p WHERE p.rel_id = o.rel_id)
                               LIMIT most));
    GET DIAGNOSTICS removed = ROW_COUNT;
    RETURN removed;
END
$$;

-- One batch: rows older than fillfactor_advisor.retention or beyond fillfactor_advisor.history_rows go, those older
-- than a day are rolled up to hours, those older than two weeks to days. Returns the rows handled; fewer than the batch
-- means that nothing is left.
CREATE FUNCTION ff_internal.prune(batch bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    oldest  CONSTANT timestamptz := clock_timestamp()
                                    - make_interval(secs => ff_internal.setting('retention')::integer);
    most    CONSTANT bigint := ff_internal.setting('history_rows')::bigint;
    removed bigint := 0;
    t       record;
    s       record;
BEGIN
    FOR t IN SELECT * FROM (VALUES
            ('counter_interval', 'ended_at', true, true), ('page_sample', 'sampled_at', true, true),
            ('statement_history', 'ended_at', true, false), ('statement_snapshot', 'snapshot_at', false, false),
            ('collection', 'began_at', false, false), ('change', 'seen_at', false, false),
            ('prediction', 'made_at', false, false), ('horizon_history', 'last_seen_at', false, false)
        ) v(name, time_column, rolled, limited)
    LOOP
        removed := removed + ff_internal.prune_rows(t.name, t.time_column, t.rolled, oldest, batch - removed);
        IF t.limited THEN
            removed := removed + ff_internal.prune_rows(t.name, t.time_column, t.rolled, 'infinity',
                                                        least(batch - removed, ff_internal.rows_kept(t.name) - most));
        END IF;
    END LOOP;
    -- UTC, so that all sessions agree
    FOR s IN SELECT v.*, date_trunc(v.unit, clock_timestamp() - v.age, 'UTC') AS before
               FROM (VALUES (0, 'hour', interval '1 day'), (1, 'day', interval '14 days')) v(level, unit, age) LOOP
        removed := removed + ff_internal.roll_up_intervals(s.level, s.unit, s.before, greatest(batch - removed, 0));
        removed := removed + ff_internal.roll_up_samples(s.level, s.unit, s.before, greatest(batch - removed, 0));
        removed := removed + ff_internal.roll_up_statements(s.level, s.unit, s.before, greatest(batch - removed, 0));
    END LOOP;
    RETURN removed + ff_internal.prune_closed(oldest, greatest(batch - removed, 0));
END
$$;
