-- Stage lifecycle: everything that is known of a table, on one row.  Reads the
-- history and the catalogs, never a page; the model and the advice stand on it.

CREATE TYPE @extschema@.ff_table_evidence AS (
    relation             regclass,
    rel_id               bigint,
    nspname              name,
    relname              name,
    relkind              "char",
    not_examined         text,
    fillfactor           integer,
    reloptions           text[],
    looked_at            timestamptz,
    window_began         timestamptz,
    window_s             double precision,
    intervals            bigint,
    inserted             bigint,
    updated              bigint,
    hot_updated          bigint,
    newpage_updated      bigint,
    deleted              bigint,
    seq_scans            bigint,
    index_scans          bigint,
    blocks_fetched       bigint,
    blocks_hit           bigint,
    recent_updated       bigint,
    recent_hot           bigint,
    recent_newpage       bigint,
    recent_inserted      bigint,
    recent_s             double precision,
    earlier_updated      bigint,
    earlier_hot          bigint,
    rewritten            boolean,
    counts_lost          boolean,
    open_writers         integer,
    seen_hot             double precision,
    seen_same_page       double precision,
    seen_moved           double precision,
    heap_bytes           bigint,
    index_bytes          bigint,
    toast_bytes          bigint,
    heap_bytes_before    bigint,
    indexes              integer,
    ram_bytes            bigint,
    ram_ratio            double precision,
    problem              text,
    sampled_at           timestamptz,
    blocks               bigint,
    blocks_read          integer,
    blocks_new           integer,
    blocks_bad           integer,
    live_pct             real,
    live_pct_err         real,
    dead_pct             real,
    dead_pct_err         real,
    free_pct             real,
    free_pct_err         real,
    reserve_pct          real,
    live_rows            double precision,
    live_rows_err        real,
    dead_rows            double precision,
    recently_dead_rows   double precision,
    redirect_lps         double precision,
    dead_lps             double precision,
    unused_lps           double precision,
    updated_hot_rows     double precision,
    updated_cold_rows    double precision,
    superseded_hot       double precision,
    superseded_same_page double precision,
    superseded_moved     double precision,
    rows_per_page        real,
    rows_per_page_max    real,
    inserted_width       real,
    inserted_width_err   real,
    updated_width        real,
    updated_width_err    real,
    updated_pct          real,
    update_group_rows    real,
    insert_group_rows    real,
    update_distance      real,
    update_distance_p10  real,
    update_distance_p90  real,
    page_lsn_age_p10     double precision,
    page_lsn_age_p50     double precision,
    page_lsn_age_p90     double precision,
    full_pct             real,
    fill_histogram       integer[]
);
COMMENT ON TYPE @extschema@.ff_table_evidence IS 'Everything observed of a table over the recent window, see ff_evidence().';
COMMENT ON COLUMN @extschema@.ff_table_evidence.relation IS 'the table';
COMMENT ON COLUMN @extschema@.ff_table_evidence.rel_id IS 'key of its history; NULL where it was never collected';
COMMENT ON COLUMN @extschema@.ff_table_evidence.nspname IS 'schema';
COMMENT ON COLUMN @extschema@.ff_table_evidence.relname IS 'name';
COMMENT ON COLUMN @extschema@.ff_table_evidence.relkind IS 'kind, as in pg_class';
COMMENT ON COLUMN @extschema@.ff_table_evidence.not_examined IS 'why it is not examined; NULL where it is';
COMMENT ON COLUMN @extschema@.ff_table_evidence.fillfactor IS 'effective fillfactor now, percent';
COMMENT ON COLUMN @extschema@.ff_table_evidence.reloptions IS 'its storage options now, as stored';
COMMENT ON COLUMN @extschema@.ff_table_evidence.looked_at IS 'last look at its counters';
COMMENT ON COLUMN @extschema@.ff_table_evidence.window_began IS 'begin of the first interval of the window that the figures below cover: at most fillfactor_advisor.lookback days and a part of one more, only since fillfactor or the set of indexes last changed';
COMMENT ON COLUMN @extschema@.ff_table_evidence.window_s IS 'seconds from there to the last look';
COMMENT ON COLUMN @extschema@.ff_table_evidence.intervals IS 'intervals in it, those of an hour counted as one once it ended two hours ago';
COMMENT ON COLUMN @extschema@.ff_table_evidence.inserted IS 'rows inserted in the window';
COMMENT ON COLUMN @extschema@.ff_table_evidence.updated IS 'rows updated';
COMMENT ON COLUMN @extschema@.ff_table_evidence.hot_updated IS 'rows HOT updated';
COMMENT ON COLUMN @extschema@.ff_table_evidence.newpage_updated IS 'rows updated whose new version went to another page; NULL where not counted (PostgreSQL 15)';
COMMENT ON COLUMN @extschema@.ff_table_evidence.deleted IS 'rows deleted';
COMMENT ON COLUMN @extschema@.ff_table_evidence.seq_scans IS 'sequential scans begun';
COMMENT ON COLUMN @extschema@.ff_table_evidence.index_scans IS 'index scans begun';
COMMENT ON COLUMN @extschema@.ff_table_evidence.blocks_fetched IS 'heap pages asked for';
COMMENT ON COLUMN @extschema@.ff_table_evidence.blocks_hit IS 'heap pages found in shared buffers';
COMMENT ON COLUMN @extschema@.ff_table_evidence.recent_updated IS 'rows updated in the most recent intervals, together at least a third of the window''s updates';
COMMENT ON COLUMN @extschema@.ff_table_evidence.recent_hot IS 'of these, HOT';
COMMENT ON COLUMN @extschema@.ff_table_evidence.recent_newpage IS 'of these, to another page; NULL where not counted';
COMMENT ON COLUMN @extschema@.ff_table_evidence.recent_inserted IS 'rows inserted in those intervals';
COMMENT ON COLUMN @extschema@.ff_table_evidence.recent_s IS 'seconds they cover';
COMMENT ON COLUMN @extschema@.ff_table_evidence.earlier_updated IS 'rows updated in the window before the recent intervals';
COMMENT ON COLUMN @extschema@.ff_table_evidence.earlier_hot IS 'of these, HOT';
COMMENT ON COLUMN @extschema@.ff_table_evidence.rewritten IS 'the table got a new file during the window';
COMMENT ON COLUMN @extschema@.ff_table_evidence.counts_lost IS 'track_counts was off in a collection of the window';
COMMENT ON COLUMN @extschema@.ff_table_evidence.open_writers IS 'sessions whose updates were not counted yet at the last look';
COMMENT ON COLUMN @extschema@.ff_table_evidence.seen_hot IS 'old row versions still in the pages whose successor is heap-only, summed over all samples of the window: to be used as a ratio';
COMMENT ON COLUMN @extschema@.ff_table_evidence.seen_same_page IS 'the same: successor in the same page but not heap-only';
COMMENT ON COLUMN @extschema@.ff_table_evidence.seen_moved IS 'the same: successor in another page';
COMMENT ON COLUMN @extschema@.ff_table_evidence.heap_bytes IS 'size of the main fork now; NULL where not to be had';
COMMENT ON COLUMN @extschema@.ff_table_evidence.index_bytes IS 'size of all indexes now; NULL where not to be had';
COMMENT ON COLUMN @extschema@.ff_table_evidence.toast_bytes IS 'size of the TOAST table now; NULL where not to be had';
COMMENT ON COLUMN @extschema@.ff_table_evidence.heap_bytes_before IS 'size of the main fork at the end of the first interval';
COMMENT ON COLUMN @extschema@.ff_table_evidence.indexes IS 'indexes, valid ones';
COMMENT ON COLUMN @extschema@.ff_table_evidence.ram_bytes IS 'memory that the table is compared with, see ff_memory()';
COMMENT ON COLUMN @extschema@.ff_table_evidence.ram_ratio IS '(table + indexes) / memory';
COMMENT ON COLUMN @extschema@.ff_table_evidence.problem IS 'SQLSTATE and message of the last failed sample; NULL where it succeeded';
COMMENT ON COLUMN @extschema@.ff_table_evidence.sampled_at IS 'when its pages were last sampled; NULL: never. This and what follows: the last sample, see ff_page_sample';
COMMENT ON COLUMN @extschema@.ff_table_evidence.blocks IS 'size of the main fork, pages';
COMMENT ON COLUMN @extschema@.ff_table_evidence.blocks_read IS 'pages read for the estimates';
COMMENT ON COLUMN @extschema@.ff_table_evidence.blocks_new IS 'of these, all-zero';
COMMENT ON COLUMN @extschema@.ff_table_evidence.blocks_bad IS 'of these, rejected as damaged';
COMMENT ON COLUMN @extschema@.ff_table_evidence.live_pct IS 'live row bytes, percent of the table';
COMMENT ON COLUMN @extschema@.ff_table_evidence.live_pct_err IS 'half width of the 95 % interval, points';
COMMENT ON COLUMN @extschema@.ff_table_evidence.dead_pct IS 'dead and recently dead row bytes, percent of the table';
COMMENT ON COLUMN @extschema@.ff_table_evidence.dead_pct_err IS 'half width of the 95 % interval, points';
COMMENT ON COLUMN @extschema@.ff_table_evidence.free_pct IS 'free space, percent of the table';
COMMENT ON COLUMN @extschema@.ff_table_evidence.free_pct_err IS 'half width of the 95 % interval, points';
COMMENT ON COLUMN @extschema@.ff_table_evidence.reserve_pct IS 'part of free_pct inside the fillfactor reserve';
COMMENT ON COLUMN @extschema@.ff_table_evidence.live_rows IS 'live rows in the table';
COMMENT ON COLUMN @extschema@.ff_table_evidence.live_rows_err IS 'half width of the 95 % interval, rows';
COMMENT ON COLUMN @extschema@.ff_table_evidence.dead_rows IS 'dead and recently dead rows in the table';
COMMENT ON COLUMN @extschema@.ff_table_evidence.recently_dead_rows IS 'of these, still visible to some snapshot';
COMMENT ON COLUMN @extschema@.ff_table_evidence.redirect_lps IS 'redirected line pointers in the table';
COMMENT ON COLUMN @extschema@.ff_table_evidence.dead_lps IS 'dead line pointers in the table';
COMMENT ON COLUMN @extschema@.ff_table_evidence.unused_lps IS 'unused line pointers in the table';
COMMENT ON COLUMN @extschema@.ff_table_evidence.updated_hot_rows IS 'live rows whose newest version is heap-only';
COMMENT ON COLUMN @extschema@.ff_table_evidence.updated_cold_rows IS 'live rows whose newest version came by an update that was not HOT';
COMMENT ON COLUMN @extschema@.ff_table_evidence.superseded_hot IS 'old versions whose successor is heap-only';
COMMENT ON COLUMN @extschema@.ff_table_evidence.superseded_same_page IS 'old versions whose successor is in the same page but not heap-only: an indexed column changed';
COMMENT ON COLUMN @extschema@.ff_table_evidence.superseded_moved IS 'old versions whose successor is in another page: the page was full';
COMMENT ON COLUMN @extschema@.ff_table_evidence.rows_per_page IS 'live rows on a page that holds any, mean';
COMMENT ON COLUMN @extschema@.ff_table_evidence.rows_per_page_max IS 'most live rows seen on a page';
COMMENT ON COLUMN @extschema@.ff_table_evidence.inserted_width IS 'mean length of rows never updated, bytes with header';
COMMENT ON COLUMN @extschema@.ff_table_evidence.inserted_width_err IS 'half width of the 95 % interval, bytes';
COMMENT ON COLUMN @extschema@.ff_table_evidence.updated_width IS 'mean length of rows updated since insert, bytes with header';
COMMENT ON COLUMN @extschema@.ff_table_evidence.updated_width_err IS 'half width of the 95 % interval, bytes';
COMMENT ON COLUMN @extschema@.ff_table_evidence.updated_pct IS 'live rows updated since insert, percent of live rows';
COMMENT ON COLUMN @extschema@.ff_table_evidence.update_group_rows IS 'rows of one page that one transaction updated together, median over updated rows';
COMMENT ON COLUMN @extschema@.ff_table_evidence.insert_group_rows IS 'rows of one page that one transaction inserted together, median over rows never updated';
COMMENT ON COLUMN @extschema@.ff_table_evidence.update_distance IS 'transactions between a row''s newest version and the never updated rows of its page, median';
COMMENT ON COLUMN @extschema@.ff_table_evidence.update_distance_p10 IS 'its 10th percentile';
COMMENT ON COLUMN @extschema@.ff_table_evidence.update_distance_p90 IS 'its 90th percentile';
COMMENT ON COLUMN @extschema@.ff_table_evidence.page_lsn_age_p10 IS 'WAL written since the page last changed, bytes, 10th percentile';
COMMENT ON COLUMN @extschema@.ff_table_evidence.page_lsn_age_p50 IS 'its median';
COMMENT ON COLUMN @extschema@.ff_table_evidence.page_lsn_age_p90 IS 'its 90th percentile';
COMMENT ON COLUMN @extschema@.ff_table_evidence.full_pct IS 'pages with the page-full hint, percent of pages';
COMMENT ON COLUMN @extschema@.ff_table_evidence.fill_histogram IS 'pages read by used share, ten bins from 0 to 100 %';

-- ---------------------------------------------------------------------------
-- The window (src/window.c)
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_window_since(rel_id bigint) RETURNS timestamptz
LANGUAGE c STRICT STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'ff_window_since';
COMMENT ON FUNCTION @extschema@.ff_window_since(bigint) IS 'Where the window of a table (its rel_id) begins: fillfactor_advisor.lookback days and up to one more before this transaction, at an hour of the day of its own, so that it leaves a day behind once a day. Internal step of ff_evidence().';
REVOKE ALL ON FUNCTION @extschema@.ff_window_since(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_window_since(bigint) TO pg_read_all_stats, pg_stat_scan_tables;

CREATE FUNCTION @extschema@.ff_whole_hours() RETURNS timestamptz
LANGUAGE c STRICT STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'ff_whole_hours';
COMMENT ON FUNCTION @extschema@.ff_whole_hours() IS 'Until when (exclusive) the intervals of an hour count as one: the begin of the hour two hours before this transaction. Internal step of ff_evidence().';
REVOKE ALL ON FUNCTION @extschema@.ff_whole_hours() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_whole_hours() TO pg_read_all_stats, pg_stat_scan_tables;

CREATE FUNCTION @extschema@.ff_unit(ended_at timestamptz) RETURNS timestamptz
LANGUAGE c STRICT STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'ff_unit';
COMMENT ON FUNCTION @extschema@.ff_unit(timestamptz) IS 'What an interval that ended then counts with: the begin of its hour (UTC) before ff_whole_hours(), from there on itself. Internal step of ff_evidence().';
REVOKE ALL ON FUNCTION @extschema@.ff_unit(timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_unit(timestamptz) TO pg_read_all_stats, pg_stat_scan_tables;

CREATE FUNCTION @extschema@.ff_recent(
    total bigint, updated bigint[], hot_updated bigint[], newpage_updated bigint[], inserted bigint[], seconds double precision[],
    OUT recent integer, OUT recent_updated bigint, OUT recent_hot bigint, OUT recent_newpage bigint, OUT recent_inserted bigint, OUT recent_s double precision)
LANGUAGE c STRICT IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'ff_recent';
COMMENT ON FUNCTION @extschema@.ff_recent(bigint, bigint[], bigint[], bigint[], bigint[], double precision[]) IS 'Sums of the recent ones among intervals, given newest first: the newest, each as a whole, until they have a third of the total of updates; all where that is zero. recent: how many. Internal step of ff_evidence().';
REVOKE ALL ON FUNCTION @extschema@.ff_recent(bigint, bigint[], bigint[], bigint[], bigint[], double precision[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_recent(bigint, bigint[], bigint[], bigint[], bigint[], double precision[]) TO pg_read_all_stats, pg_stat_scan_tables;

CREATE VIEW @extschema@.ff_last_change AS
SELECT c.rel_id, c.changed_at, c.reindexed_at,
       -- the sample that came with the change saw the versions from before it
       CASE WHEN c.reindexed_at IS NOT NULL
            THEN coalesce((SELECT min(o.began_at) FROM @extschema@.ff_collection o WHERE o.began_at > c.reindexed_at), 'infinity') END AS samples_from
  FROM (SELECT h.rel_id, max(h.seen_at) AS changed_at, max(h.seen_at) FILTER (WHERE h.kind = 'indexes') AS reindexed_at
          FROM @extschema@.ff_change h WHERE h.kind IN ('fillfactor', 'indexes') GROUP BY h.rel_id) c;
COMMENT ON VIEW @extschema@.ff_last_change IS 'When fillfactor or indexes of a table last changed (changed_at) and when its indexes did (reindexed_at), after which other updates can be HOT and other samples speak of them (samples_from).';
REVOKE ALL ON @extschema@.ff_last_change FROM PUBLIC;
GRANT SELECT ON @extschema@.ff_last_change TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_summarise(ids bigint[], fillfactors integer[], until timestamptz) RETURNS SETOF @extschema@.ff_summary
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
          FROM (SELECT a.rel_id, a.fillfactor, @extschema@.ff_window_since(a.rel_id) AS since, x.changed_at, x.reindexed_at, x.samples_from
                  FROM unnest($1, $2) a(rel_id, fillfactor)
                  LEFT JOIN LATERAL (SELECT * FROM @extschema@.ff_last_change l WHERE l.rel_id = a.rel_id LIMIT 1) x ON true) w
          LEFT JOIN LATERAL (SELECT o.seen_at, o.sampled_at FROM @extschema@.ff_relation o WHERE o.rel_id = w.rel_id LIMIT 1) r ON true
          -- a summary that is what its part of the window would add up to now
          LEFT JOIN LATERAL (SELECT * FROM @extschema@.ff_summary o
                              WHERE o.rel_id = w.rel_id AND o.since = w.since AND o.until <= least($3, @extschema@.ff_whole_hours())
                                AND o.fillfactor = w.fillfactor
                                AND o.changed_at IS NOT DISTINCT FROM w.changed_at AND coalesce(w.changed_at < o.until, true) LIMIT 1) s ON true
    )
    SELECT w.rel_id, w.since, $3, w.fillfactor, w.changed_at, w.window_began, w.intervals, w.inserted, w.updated, w.hot_updated, w.newpage_updated, w.deleted,
           w.seq_scans, w.index_scans, w.blocks_fetched, w.blocks_hit, w.rewritten,
           w.last_updated, w.last_hot, w.last_newpage, w.last_inserted, w.last_s, w.seen_hot, w.seen_same_page, w.seen_moved
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
           CASE WHEN num_nonnulls(s.seen_moved, v.moved) > 0 THEN coalesce(s.seen_moved, 0) + coalesce(v.moved, 0) END
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
                  FROM (SELECT i.*, @extschema@.ff_unit(i.ended_at) AS unit,
                               bool_or(i.fillfactor <> s.fillfactor_now OR coalesce(i.ended_at <= s.reindexed_at, false))
                                   OVER (ORDER BY i.ended_at DESC ROWS UNBOUNDED PRECEDING) AS other_times
                          FROM @extschema@.ff_interval i
                         WHERE i.rel_id = s.id AND i.ended_at >= coalesce(s.until, s.since_now) AND i.ended_at < $3) r
                 -- only intervals since fillfactor or the indexes last changed speak of today
                 WHERE NOT r.other_times
                 GROUP BY r.unit
                 ORDER BY r.unit DESC) u) k
     CROSS JOIN LATERAL (
        -- what the old versions still in the pages told, over all samples;
        -- multiples of 1/1024 add up exactly, and can be taken away again
        SELECT sum(round(p.superseded_hot * 1024) / 1024) AS hot, sum(round(p.superseded_same_page * 1024) / 1024) AS same_page,
               sum(round(p.superseded_moved * 1024) / 1024) AS moved
          FROM @extschema@.ff_page_sample p
         WHERE p.rel_id = s.id AND p.sampled_at >= greatest(coalesce(s.until, s.since_now), s.samples_from) AND p.sampled_at < $3 AND p.fillfactor = s.fillfactor_now) v
     CROSS JOIN LATERAL (
        -- what was not recent any more at s.until is not recent now
        SELECT coalesce(s.updated, 0) + k.updated AS total,
               k.last_updated || s.last_updated AS updated, k.last_hot || s.last_hot AS hot, k.last_newpage || s.last_newpage AS newpage,
               k.last_inserted || s.last_inserted AS inserted, k.last_s || s.last_s AS s) z
     CROSS JOIN LATERAL @extschema@.ff_recent(z.total, z.updated, z.hot, z.newpage, z.inserted, z.s) y
$$;
COMMENT ON FUNCTION @extschema@.ff_summarise(bigint[], integer[], timestamptz) IS 'What the windows of these tables (rel_id) add up to, given the fillfactor that each has today, until a whole hour up to ff_whole_hours() or until infinity: a row for each, as in ff_summary. Goes on from the row there, where that is still right. Internal step of ff_evidence().';
REVOKE ALL ON FUNCTION @extschema@.ff_summarise(bigint[], integer[], timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_summarise(bigint[], integer[], timestamptz) TO pg_read_all_stats, pg_stat_scan_tables;

CREATE FUNCTION @extschema@.ff_summaries_due() RETURNS SETOF bigint
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- Not valid any more, or so old that what came since is a lot to add;
    -- oldest first.  A table whose fillfactor or indexes changed just now has
    -- none until that hour counts as a whole.
    SELECT r.rel_id
      FROM @extschema@.ff_relation r
      -- full joins are never nested loops, whatever statistics there are
      FULL JOIN @extschema@.ff_summary s ON s.rel_id = r.rel_id
      FULL JOIN @extschema@.ff_last_change x ON x.rel_id = r.rel_id
     WHERE CASE WHEN r.rel_id IS NULL OR r.closed_at IS NOT NULL OR x.changed_at >= @extschema@.ff_whole_hours() THEN false
                ELSE s.rel_id IS NULL OR s.since <> @extschema@.ff_window_since(r.rel_id) OR s.fillfactor <> r.fillfactor
                     OR s.changed_at IS DISTINCT FROM x.changed_at
                     OR s.until <= @extschema@.ff_whole_hours() - interval '3 hours' AND r.seen_at >= s.until END
     ORDER BY s.until NULLS FIRST, r.rel_id
$$;
COMMENT ON FUNCTION @extschema@.ff_summaries_due() IS 'rel_id of the tables whose row in ff_summary should be made anew, oldest first. Internal step of ff_collect().';
REVOKE ALL ON FUNCTION @extschema@.ff_summaries_due() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_summaries_due() TO pg_stat_scan_tables;

CREATE FUNCTION @extschema@.ff_collect_summaries(ids bigint[]) RETURNS bigint
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH made AS (
        INSERT INTO @extschema@.ff_summary AS o
        SELECT s.*
          FROM (SELECT array_agg(r.rel_id) AS ids, array_agg(r.fillfactor::integer) AS fillfactors
                  FROM @extschema@.ff_relation r WHERE r.rel_id = ANY (ids)) a
         CROSS JOIN LATERAL @extschema@.ff_summarise(a.ids, a.fillfactors, @extschema@.ff_whole_hours()) s
        ON CONFLICT (rel_id) DO UPDATE
           SET (since, until, fillfactor, changed_at, window_began, intervals, inserted, updated, hot_updated, newpage_updated, deleted,
                seq_scans, index_scans, blocks_fetched, blocks_hit, rewritten, last_updated, last_hot, last_newpage, last_inserted, last_s,
                seen_hot, seen_same_page, seen_moved)
             = (EXCLUDED.since, EXCLUDED.until, EXCLUDED.fillfactor, EXCLUDED.changed_at, EXCLUDED.window_began, EXCLUDED.intervals, EXCLUDED.inserted,
                EXCLUDED.updated, EXCLUDED.hot_updated, EXCLUDED.newpage_updated, EXCLUDED.deleted, EXCLUDED.seq_scans, EXCLUDED.index_scans,
                EXCLUDED.blocks_fetched, EXCLUDED.blocks_hit, EXCLUDED.rewritten, EXCLUDED.last_updated, EXCLUDED.last_hot, EXCLUDED.last_newpage,
                EXCLUDED.last_inserted, EXCLUDED.last_s, EXCLUDED.seen_hot, EXCLUDED.seen_same_page, EXCLUDED.seen_moved)
        RETURNING o.rel_id
    )
    SELECT count(*) FROM made;
$$;
COMMENT ON FUNCTION @extschema@.ff_collect_summaries(bigint[]) IS 'Makes the rows of ff_summary of these tables (rel_id) anew and returns how many. Internal step of ff_collect().';
REVOKE ALL ON FUNCTION @extschema@.ff_collect_summaries(bigint[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_collect_summaries(bigint[]) TO pg_stat_scan_tables;

-- ---------------------------------------------------------------------------
-- Evidence
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_evidence(relation regclass DEFAULT NULL)
RETURNS SETOF @extschema@.ff_table_evidence
LANGUAGE sql STABLE ROWS 1000
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
    -- Written so that no statistics, be they missing or old, make it loop over
    -- all tables for each table: LATERAL with LIMIT or an aggregate is a look
    -- at an index, a full join is never a nested loop.
    WITH examined AS MATERIALIZED (
        SELECT c.*, r.rel_id, r.sampled_at, r.seen_at, @extschema@.ff_fillfactor(c.reloptions) AS fillfactor
          FROM (SELECT n.*, o.system_identifier, d.oid AS database_oid
                  FROM @extschema@.ff_candidate n
                 CROSS JOIN @extschema@.ff_server() o
                  JOIN pg_database d ON d.datname = current_database()
                 WHERE $1 IS NULL OR n.relid = $1) c
          LEFT JOIN LATERAL (
                -- of a restored history the OIDs say nothing until a collection found the tables
                SELECT k.rel_id, k.sampled_at, k.seen_at FROM @extschema@.ff_relation k
                 WHERE k.system_identifier = c.system_identifier AND k.database_oid = c.database_oid AND k.relid = c.relid AND k.closed_at IS NULL LIMIT 1) r ON true
    ), memory AS MATERIALIZED (
        SELECT @extschema@.ff_ram_bytes() AS bytes
    ), counted AS MATERIALIZED (
        SELECT s.*, y.*
          FROM (SELECT array_agg(e.rel_id) AS ids, array_agg(e.fillfactor) AS fillfactors FROM examined e WHERE e.rel_id IS NOT NULL) a
         CROSS JOIN LATERAL @extschema@.ff_summarise(a.ids, a.fillfactors, timestamptz 'infinity') s
         CROSS JOIN LATERAL @extschema@.ff_recent(s.updated, s.last_updated, s.last_hot, s.last_newpage, s.last_inserted, s.last_s) y
    ), looks AS MATERIALIZED (
        SELECT max(c.began_at) AS looked_at, bool_or(NOT c.track_counts) AS counts_lost,
               (array_agg(c.open_writers ORDER BY c.began_at DESC))[1] AS open_writers
          FROM @extschema@.ff_collection c
         WHERE c.began_at > now() - make_interval(days => @extschema@.ff_setting('lookback')::integer)
    )
    SELECT e.relid::regclass, e.rel_id, e.nspname, e.relname, e.relkind, e.not_examined, e.fillfactor, e.reloptions,
           -- a collection that was cut short left intervals, but is no look
           greatest(l.looked_at, e.seen_at), n.window_began, extract(epoch FROM greatest(l.looked_at, e.seen_at) - n.window_began)::double precision, n.intervals,
           n.inserted, n.updated, n.hot_updated, n.newpage_updated, n.deleted,
           n.seq_scans, n.index_scans, n.blocks_fetched, n.blocks_hit,
           n.recent_updated, n.recent_hot, CASE WHEN n.newpage_updated IS NOT NULL THEN n.recent_newpage END, n.recent_inserted, n.recent_s,
           n.updated - n.recent_updated, n.hot_updated - n.recent_hot, n.rewritten, l.counts_lost, l.open_writers,
           k.seen_hot, k.seen_same_page, k.seen_moved,
           z.heap_bytes, z.index_bytes, z.toast_bytes, b.heap_bytes,
           x.indexes::integer,
           m.bytes, (z.heap_bytes + z.index_bytes) / nullif(m.bytes, 0)::double precision,
           (SELECT p.sqlstate || ' ' || p.message FROM @extschema@.ff_problem p WHERE p.rel_id = e.rel_id),
           p.sampled_at,
           p.blocks, p.blocks_read, p.blocks_new, p.blocks_bad, p.live_pct, p.live_pct_err, p.dead_pct,
           p.dead_pct_err, p.free_pct, p.free_pct_err, p.reserve_pct, p.live_rows, p.live_rows_err, p.dead_rows,
           p.recently_dead_rows, p.redirect_lps, p.dead_lps, p.unused_lps, p.updated_hot_rows, p.updated_cold_rows,
           p.superseded_hot, p.superseded_same_page, p.superseded_moved, p.rows_per_page, p.rows_per_page_max,
           p.inserted_width, p.inserted_width_err, p.updated_width, p.updated_width_err, p.updated_pct,
           p.update_group_rows, p.insert_group_rows, p.update_distance, p.update_distance_p10, p.update_distance_p90,
           p.page_lsn_age_p10, p.page_lsn_age_p50, p.page_lsn_age_p90, p.full_pct, p.fill_histogram
      FROM examined e
      FULL JOIN counted k ON k.rel_id = e.rel_id
     CROSS JOIN looks l
     CROSS JOIN memory m
      LEFT JOIN LATERAL (SELECT k.* WHERE k.intervals > 0) n ON true
      LEFT JOIN LATERAL @extschema@.ff_sizes(CASE WHEN e.not_examined IS NULL THEN e.relid END) z ON true
      LEFT JOIN LATERAL (SELECT i.heap_bytes FROM @extschema@.ff_interval i
                          WHERE i.rel_id = n.rel_id AND i.ended_at >= n.window_began AND i.began_at >= n.window_began AND i.heap_bytes IS NOT NULL
                          ORDER BY i.ended_at LIMIT 1) b ON true
     CROSS JOIN LATERAL (SELECT count(*) AS indexes FROM pg_index o WHERE o.indrelid = e.relid AND o.indisvalid) x
      LEFT JOIN LATERAL (SELECT * FROM @extschema@.ff_page_sample s
                          WHERE s.rel_id = e.rel_id AND s.sampled_at <= e.sampled_at
                          ORDER BY s.sampled_at DESC LIMIT 1) p ON true
$$;
COMMENT ON FUNCTION @extschema@.ff_evidence(regclass) IS 'Everything observed over the recent window, one row a table outside the system schemas, examined or not. Only intervals since fillfactor or the set of indexes last changed count, at most fillfactor_advisor.lookback days of them and a part of one more; older than two hours, those of an hour count as one.';
REVOKE ALL ON FUNCTION @extschema@.ff_evidence(regclass) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_evidence(regclass) TO pg_read_all_stats;
