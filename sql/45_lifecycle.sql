-- Stage lifecycle: everything that is known of a table, on one row.  Reads the
-- history and the catalogs, never a page; the model and the advice stand on it.

-- ---------------------------------------------------------------------------
-- The window (src/window.c)
-- ---------------------------------------------------------------------------
-- Where the window of a table (its rel_id) begins: fillfactor_advisor.lookback and up to a day more before this
-- transaction, at an hour of the day of its own, so that it leaves a day behind once a day.
CREATE FUNCTION ff_internal.window_since(rel_id bigint) RETURNS timestamptz
LANGUAGE c STRICT STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'ff_window_since';

-- Until when (exclusive) the intervals of an hour count as one: the begin of the hour two hours before this
-- transaction.
CREATE FUNCTION ff_internal.whole_hours() RETURNS timestamptz
LANGUAGE c STRICT STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'ff_whole_hours';

-- What an interval that ended then counts with: the begin of its hour (UTC) before whole_hours(), from there on
-- itself.
CREATE FUNCTION ff_internal.interval_bucket(ended_at timestamptz) RETURNS timestamptz
LANGUAGE c STRICT STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'ff_unit';

-- Sums of the recent ones among intervals, given newest first: the newest, each as a whole, until they have a third of
-- the total of updates; all where that is zero. recent: how many.
CREATE FUNCTION ff_internal.recent_intervals(
    total bigint, updated bigint[], hot_updated bigint[], newpage_updated bigint[], inserted bigint[], seconds double precision[],
    OUT recent integer, OUT recent_updated bigint, OUT recent_hot bigint, OUT recent_newpage bigint, OUT recent_inserted bigint, OUT recent_s double precision)
LANGUAGE c STRICT IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'ff_recent';

-- What the windows of these tables (rel_id) add up to, given the fillfactor that each has today, until a whole hour up
-- to whole_hours() or until infinity: a row for each, as in summary. Goes on from the row there, where that is still
-- right.
CREATE FUNCTION ff_internal.summarise(ids bigint[], fillfactors integer[], until timestamptz) RETURNS SETOF ff_internal.summary
LANGUAGE sql STABLE ROWS 1000
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
    -- Table by table and newest first, as the index has them: the plan does
    -- not depend on statistics, and nothing is sorted that is larger than
    -- one table's window.
    WITH wanted AS MATERIALIZED (
        SELECT w.rel_id AS id, w.fillfactor AS fillfactor_now, w.since AS since_now, w.changed_at AS changed_last, w.reindexed_at, w.samples_from, s.*,
               -- whatever is written of a table moves these
               coalesce(r.seen_at < s.until AND coalesce(r.sampled_at < s.until, true), false) AS quiet
          FROM (SELECT a.rel_id, a.fillfactor, ff_internal.window_since(a.rel_id) AS since, x.changed_at, x.reindexed_at, x.samples_from
                  FROM unnest($1, $2) a(rel_id, fillfactor)
                  LEFT JOIN LATERAL (SELECT * FROM ff_internal.last_change l WHERE l.rel_id = a.rel_id LIMIT 1) x ON true) w
          LEFT JOIN LATERAL (SELECT o.seen_at, o.sampled_at FROM ff_internal.relation o WHERE o.rel_id = w.rel_id LIMIT 1) r ON true
          -- a summary that is what its part of the window would add up to now
          LEFT JOIN LATERAL (SELECT * FROM ff_internal.summary o
                              WHERE o.rel_id = w.rel_id AND o.since = w.since AND o.until <= least($3, ff_internal.whole_hours())
                                AND o.fillfactor = w.fillfactor
                                AND o.changed_at IS NOT DISTINCT FROM w.changed_at AND coalesce(w.changed_at < o.until, true) LIMIT 1) s ON true
    )
    SELECT w.rel_id, w.since, $3, w.fillfactor, w.changed_at, w.window_began, w.intervals, w.inserted, w.updated, w.hot_updated, w.newpage_updated, w.deleted,
           w.seq_scans, w.index_scans, w.blocks_fetched, w.blocks_hit, w.rewritten,
           w.last_updated, w.last_hot, w.last_newpage, w.last_inserted, w.last_s, w.seen_hot, w.seen_same_page, w.seen_newpage
      FROM wanted w
     WHERE w.quiet
    UNION ALL
    SELECT s.id, s.since_now, $3, s.fillfactor_now::smallint, s.changed_last, least(s.window_began, k.window_began), coalesce(s.intervals, 0) + k.intervals,
           coalesce(s.inserted, 0) + k.inserted, z.total, coalesce(s.hot_updated, 0) + k.hot_updated,
           CASE WHEN s.rel_id IS NULL THEN k.newpage_updated ELSE s.newpage_updated + k.newpage_updated END, coalesce(s.deleted, 0) + k.deleted,
           coalesce(s.seq_scans, 0) + k.seq_scans, coalesce(s.index_scans, 0) + k.index_scans,
           coalesce(s.blocks_fetched, 0) + k.blocks_fetched, coalesce(s.blocks_hit, 0) + k.blocks_hit, coalesce(s.rewritten, false) OR k.rewritten,
           z.updated[:y.recent], z.hot[:y.recent], z.newpage[:y.recent], z.inserted[:y.recent], z.s[:y.recent],
           CASE WHEN num_nonnulls(s.seen_hot, v.hot) > 0 THEN coalesce(s.seen_hot, 0) + coalesce(v.hot, 0) END,
           CASE WHEN num_nonnulls(s.seen_same_page, v.same_page) > 0 THEN coalesce(s.seen_same_page, 0) + coalesce(v.same_page, 0) END,
           CASE WHEN num_nonnulls(s.seen_newpage, v.moved) > 0 THEN coalesce(s.seen_newpage, 0) + coalesce(v.moved, 0) END
      FROM (SELECT * FROM wanted w WHERE NOT w.quiet) s
     CROSS JOIN LATERAL (
        SELECT min(u.began_at) AS window_began, count(*) AS intervals,
               coalesce(sum(u.inserted), 0)::bigint AS inserted, coalesce(sum(u.updated), 0)::bigint AS updated, coalesce(sum(u.hot_updated), 0)::bigint AS hot_updated,
               CASE WHEN count(u.newpage_updated) = count(*) THEN coalesce(sum(u.newpage_updated), 0)::bigint END AS newpage_updated,
               coalesce(sum(u.deleted), 0)::bigint AS deleted, coalesce(sum(u.seq_scans), 0)::bigint AS seq_scans, coalesce(sum(u.index_scans), 0)::bigint AS index_scans,
               coalesce(sum(u.blocks_fetched), 0)::bigint AS blocks_fetched, coalesce(sum(u.blocks_hit), 0)::bigint AS blocks_hit, coalesce(bool_or(u.rewritten), false) AS rewritten,
               coalesce(array_agg(u.updated), '{}') AS last_updated, coalesce(array_agg(u.hot_updated), '{}') AS last_hot,
               coalesce(array_agg(u.newpage_updated), '{}') AS last_newpage, coalesce(array_agg(u.inserted), '{}') AS last_inserted,
               coalesce(array_agg(extract(epoch FROM u.ended_at - u.began_at)::double precision), '{}') AS last_s
          FROM (SELECT r.unit, min(r.began_at) AS began_at, max(r.ended_at) AS ended_at,
                       sum(r.inserted)::bigint AS inserted, sum(r.updated)::bigint AS updated, sum(r.hot_updated)::bigint AS hot_updated,
                       CASE WHEN count(r.newpage_updated) = count(*) THEN sum(r.newpage_updated)::bigint END AS newpage_updated,
                       sum(r.deleted)::bigint AS deleted, sum(r.seq_scans)::bigint AS seq_scans, sum(r.index_scans)::bigint AS index_scans,
                       sum(r.blocks_fetched)::bigint AS blocks_fetched, sum(r.blocks_hit)::bigint AS blocks_hit, bool_or(r.rewritten) AS rewritten
                  FROM (SELECT i.*, ff_internal.interval_bucket(i.ended_at) AS unit,
                               bool_or(i.fillfactor <> s.fillfactor_now OR coalesce(i.ended_at <= s.reindexed_at, false))
                                   OVER (ORDER BY i.ended_at DESC ROWS UNBOUNDED PRECEDING) AS other_times
                          FROM ff_internal.counter_interval i
                         WHERE i.rel_id = s.id AND i.ended_at >= coalesce(s.until, s.since_now) AND i.ended_at < $3) r
                 -- only intervals since fillfactor or the indexes last changed speak of today
                 WHERE NOT r.other_times
                 GROUP BY r.unit
                 ORDER BY r.unit DESC) u) k
     CROSS JOIN LATERAL (
        -- what the old versions still in the pages told, over all samples;
        -- multiples of 1/1024 add up exactly, and can be taken away again
        SELECT sum(round(p.superseded_hot * 1024) / 1024) AS hot, sum(round(p.superseded_same_page * 1024) / 1024) AS same_page,
               sum(round(p.superseded_newpage * 1024) / 1024) AS moved
          FROM ff_internal.page_sample p
         WHERE p.rel_id = s.id AND p.sampled_at >= greatest(coalesce(s.until, s.since_now), s.samples_from) AND p.sampled_at < $3 AND p.fillfactor = s.fillfactor_now) v
     CROSS JOIN LATERAL (
        -- what was not recent any more at s.until is not recent now
        SELECT coalesce(s.updated, 0) + k.updated AS total,
               k.last_updated || s.last_updated AS updated, k.last_hot || s.last_hot AS hot, k.last_newpage || s.last_newpage AS newpage,
               k.last_inserted || s.last_inserted AS inserted, k.last_s || s.last_s AS s) z
     CROSS JOIN LATERAL ff_internal.recent_intervals(z.total, z.updated, z.hot, z.newpage, z.inserted, z.s) y
$$;

-- Rel_id of the tables whose row in summary should be made anew, oldest first.
CREATE FUNCTION ff_internal.summaries_due() RETURNS SETOF bigint
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- Not valid any more, or so old that what came since is a lot to add;
    -- oldest first.  A table whose fillfactor or indexes changed just now has
    -- none until that hour counts as a whole.
    SELECT r.rel_id
      FROM ff_internal.relation r
      -- full joins are never nested loops, whatever statistics there are
      FULL JOIN ff_internal.summary s ON s.rel_id = r.rel_id
      FULL JOIN ff_internal.last_change x ON x.rel_id = r.rel_id
     WHERE CASE WHEN r.rel_id IS NULL OR r.closed_at IS NOT NULL OR x.changed_at >= ff_internal.whole_hours() THEN false
                ELSE s.rel_id IS NULL OR s.since <> ff_internal.window_since(r.rel_id) OR s.fillfactor <> r.fillfactor
                     OR s.changed_at IS DISTINCT FROM x.changed_at
                     OR s.until <= ff_internal.whole_hours() - interval '3 hours' AND r.seen_at >= s.until END
     ORDER BY s.until NULLS FIRST, r.rel_id
$$;

-- Makes the rows of summary of these tables (rel_id) anew and returns how many.
CREATE FUNCTION ff_internal.collect_summaries(ids bigint[]) RETURNS bigint
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH made AS (
        INSERT INTO ff_internal.summary AS o
        SELECT s.*
          FROM (SELECT array_agg(r.rel_id) AS ids, array_agg(r.fillfactor::integer) AS fillfactors
                  FROM ff_internal.relation r WHERE r.rel_id = ANY (ids)) a
         CROSS JOIN LATERAL ff_internal.summarise(a.ids, a.fillfactors, ff_internal.whole_hours()) s
        ON CONFLICT (rel_id) DO UPDATE
           SET (since, until, fillfactor, changed_at, window_began, intervals, inserted, updated, hot_updated, newpage_updated, deleted,
                seq_scans, index_scans, blocks_fetched, blocks_hit, rewritten, last_updated, last_hot, last_newpage, last_inserted, last_s,
                seen_hot, seen_same_page, seen_newpage)
             = (EXCLUDED.since, EXCLUDED.until, EXCLUDED.fillfactor, EXCLUDED.changed_at, EXCLUDED.window_began, EXCLUDED.intervals, EXCLUDED.inserted,
                EXCLUDED.updated, EXCLUDED.hot_updated, EXCLUDED.newpage_updated, EXCLUDED.deleted, EXCLUDED.seq_scans, EXCLUDED.index_scans,
                EXCLUDED.blocks_fetched, EXCLUDED.blocks_hit, EXCLUDED.rewritten, EXCLUDED.last_updated, EXCLUDED.last_hot, EXCLUDED.last_newpage,
                EXCLUDED.last_inserted, EXCLUDED.last_s, EXCLUDED.seen_hot, EXCLUDED.seen_same_page, EXCLUDED.seen_newpage)
        RETURNING o.rel_id
    )
    SELECT count(*) FROM made;
$$;

-- ---------------------------------------------------------------------------
-- Evidence
-- ---------------------------------------------------------------------------
-- Everything observed over the recent window, one row a table outside the system schemas, examined or not. Only
-- intervals since fillfactor or the set of indexes last changed count, at most fillfactor_advisor.lookback of
-- them and a part of one more; older than two hours, those of an hour count as one.
CREATE FUNCTION ff_internal.evidence(relation regclass DEFAULT NULL)
RETURNS SETOF ff_internal.table_evidence
LANGUAGE sql STABLE ROWS 1000
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
    -- Written so that no statistics, be they missing or old, make it loop over
    -- all tables for each table: LATERAL with LIMIT or an aggregate is a look
    -- at an index, a full join is never a nested loop.
    WITH examined AS MATERIALIZED (
        SELECT c.*, r.rel_id, r.sampled_at, r.seen_at, ff_internal.effective_fillfactor(c.reloptions) AS fillfactor
          FROM (SELECT n.*, o.system_identifier, d.oid AS database_oid
                  FROM ff_internal.candidate n
                 CROSS JOIN ff_internal.server() o
                  JOIN pg_database d ON d.datname = current_database()
                 WHERE $1 IS NULL OR n.relid = $1) c
          LEFT JOIN LATERAL (
                -- of a restored history the OIDs say nothing until a collection found the tables
                SELECT k.rel_id, k.sampled_at, k.seen_at FROM ff_internal.relation k
                 WHERE k.system_identifier = c.system_identifier AND k.database_oid = c.database_oid AND k.relid = c.relid AND k.closed_at IS NULL LIMIT 1) r ON true
    ), memory AS MATERIALIZED (
        SELECT ff_internal.ram_bytes() AS bytes
    ), counted AS MATERIALIZED (
        SELECT s.*, y.*
          FROM (SELECT array_agg(e.rel_id) AS ids, array_agg(e.fillfactor) AS fillfactors FROM examined e WHERE e.rel_id IS NOT NULL) a
         CROSS JOIN LATERAL ff_internal.summarise(a.ids, a.fillfactors, timestamptz 'infinity') s
         CROSS JOIN LATERAL ff_internal.recent_intervals(s.updated, s.last_updated, s.last_hot, s.last_newpage, s.last_inserted, s.last_s) y
    ), looks AS MATERIALIZED (
        SELECT max(c.began_at) AS snapshot_at, bool_or(NOT c.track_counts) AS counts_lost,
               (array_agg(c.open_writers ORDER BY c.began_at DESC))[1] AS open_writers
          FROM ff_internal.collection c
         WHERE c.began_at > now() - make_interval(secs => ff_internal.setting('lookback')::integer)
    )
    SELECT e.relid::regclass, e.rel_id, e.nspname, e.relname, e.relkind, e.not_examined, e.fillfactor, e.reloptions,
           -- a collection that was cut short left intervals, but is no look
           greatest(l.snapshot_at, e.seen_at), n.window_began, extract(epoch FROM greatest(l.snapshot_at, e.seen_at) - n.window_began)::double precision, n.intervals,
           n.inserted, n.updated, n.hot_updated, n.newpage_updated, n.deleted,
           n.seq_scans, n.index_scans, n.blocks_fetched, n.blocks_hit,
           n.recent_updated, n.recent_hot, CASE WHEN n.newpage_updated IS NOT NULL THEN n.recent_newpage END, n.recent_inserted, n.recent_s,
           n.updated - n.recent_updated, n.hot_updated - n.recent_hot, n.rewritten, l.counts_lost, l.open_writers,
           k.seen_hot, k.seen_same_page, k.seen_newpage,
           z.heap_bytes, z.index_bytes, z.toast_bytes, b.heap_bytes,
           x.indexes::integer,
           m.bytes, (z.heap_bytes + z.index_bytes) / nullif(m.bytes, 0)::double precision,
           (SELECT p.sqlstate || ' ' || p.message FROM ff_internal.problem p WHERE p.rel_id = e.rel_id),
           p.sampled_at,
           p.blocks, p.blocks_read, p.blocks_new, p.blocks_bad, p.live_pct, p.live_pct_err, p.dead_pct,
           p.dead_pct_err, p.free_pct, p.free_pct_err, p.reserve_pct, p.live_rows, p.live_rows_err, p.dead_rows,
           p.recently_dead_rows, p.redirect_lps, p.dead_lps, p.unused_lps, p.updated_hot_rows, p.updated_nonhot_rows,
           p.superseded_hot, p.superseded_same_page, p.superseded_newpage, p.rows_per_page, p.rows_per_page_max,
           p.inserted_width, p.inserted_width_err, p.updated_width, p.updated_width_err, p.updated_pct,
           p.update_group_rows, p.insert_group_rows, p.update_distance, p.update_distance_p10, p.update_distance_p90,
           p.page_lsn_age_p10, p.page_lsn_age_p50, p.page_lsn_age_p90, p.full_pct, p.fill_histogram
      FROM examined e
      FULL JOIN counted k ON k.rel_id = e.rel_id
     CROSS JOIN looks l
     CROSS JOIN memory m
      LEFT JOIN LATERAL (SELECT k.* WHERE k.intervals > 0) n ON true
      LEFT JOIN LATERAL ff_internal.sizes(CASE WHEN e.not_examined IS NULL THEN e.relid END) z ON true
      LEFT JOIN LATERAL (SELECT i.heap_bytes FROM ff_internal.counter_interval i
                          WHERE i.rel_id = n.rel_id AND i.ended_at >= n.window_began AND i.began_at >= n.window_began AND i.heap_bytes IS NOT NULL
                          ORDER BY i.ended_at LIMIT 1) b ON true
     CROSS JOIN LATERAL (SELECT count(*) AS indexes FROM pg_index o WHERE o.indrelid = e.relid AND o.indisvalid) x
      LEFT JOIN LATERAL (SELECT * FROM ff_internal.page_sample s
                          WHERE s.rel_id = e.rel_id AND s.sampled_at <= e.sampled_at
                          ORDER BY s.sampled_at DESC LIMIT 1) p ON true
$$;
