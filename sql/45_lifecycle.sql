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
COMMENT ON COLUMN @extschema@.ff_table_evidence.window_began IS 'begin of the first interval of the window that the figures below cover: at most fillfactor_advisor.lookback days, only since fillfactor or the set of indexes last changed';
COMMENT ON COLUMN @extschema@.ff_table_evidence.window_s IS 'seconds from there to the last look';
COMMENT ON COLUMN @extschema@.ff_table_evidence.intervals IS 'intervals in it';
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
COMMENT ON COLUMN @extschema@.ff_table_evidence.heap_bytes IS 'size of the main fork now; NULL where locked';
COMMENT ON COLUMN @extschema@.ff_table_evidence.index_bytes IS 'size of all indexes now; NULL where locked';
COMMENT ON COLUMN @extschema@.ff_table_evidence.toast_bytes IS 'size of the TOAST table now; NULL where locked';
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

CREATE FUNCTION @extschema@.ff_evidence(relation regclass DEFAULT NULL)
RETURNS SETOF @extschema@.ff_table_evidence
LANGUAGE sql STABLE ROWS 1000
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
    WITH examined AS MATERIALIZED (
        SELECT c.*, r.rel_id, r.sampled_at, @extschema@.ff_fillfactor(c.reloptions) AS fillfactor
          FROM @extschema@.ff_candidate c
         CROSS JOIN @extschema@.ff_server() o
          JOIN pg_database d ON d.datname = current_database()
          LEFT JOIN @extschema@.ff_relation r ON r.relid = c.relid AND r.closed_at IS NULL
           -- of a restored history the OIDs say nothing until a collection found the tables
           AND (r.system_identifier, r.database_oid) = (o.system_identifier, d.oid)
         WHERE $1 IS NULL OR c.relid = $1
    ), memory AS MATERIALIZED (
        SELECT @extschema@.ff_ram_bytes() AS bytes
    ), since AS MATERIALIZED (
        SELECT now() - make_interval(days => @extschema@.ff_setting('lookback')::integer) AS since
    ), reindexed AS (
        -- with another set of indexes, other updates can be HOT
        SELECT c.rel_id, max(c.seen_at) AS seen_at
          FROM @extschema@.ff_change c
          JOIN examined e ON e.rel_id = c.rel_id
         WHERE c.kind = 'indexes' AND c.seen_at > (SELECT since FROM since)
         GROUP BY c.rel_id
    ), wide AS (
        -- newest first, with what came after: intervals with another
        -- fillfactor or other indexes, and updates (exact below 2^53)
        SELECT i.rel_id, i.began_at, i.ended_at, i.rewritten, i.inserted, i.updated, i.hot_updated, i.newpage_updated, i.deleted,
               i.seq_scans, i.index_scans, i.blocks_fetched, i.blocks_hit,
               bool_or(i.fillfactor <> e.fillfactor OR coalesce(i.ended_at <= x.seen_at, false)) OVER newest_first AS other_times,
               sum(i.updated::double precision) OVER newest_first AS up_to_here
          FROM @extschema@.ff_interval i
          JOIN examined e ON e.rel_id = i.rel_id
          LEFT JOIN reindexed x ON x.rel_id = i.rel_id
         WHERE i.ended_at > (SELECT since FROM since)
           AND ($1 IS NULL OR i.rel_id = (SELECT o.rel_id FROM examined o))
        WINDOW newest_first AS (PARTITION BY i.rel_id ORDER BY i.ended_at DESC ROWS UNBOUNDED PRECEDING)
    ), ranked AS (
        -- only intervals since fillfactor or the indexes last changed speak of today
        SELECT w.*, max(w.up_to_here) OVER (PARTITION BY w.rel_id) AS total
          FROM wide w
         WHERE NOT w.other_times
    ), counted AS MATERIALIZED (
        SELECT k.rel_id, min(k.began_at) AS window_began, min(k.ended_at) AS first_ended, count(*) AS intervals,
               sum(k.inserted) AS inserted, sum(k.updated) AS updated, sum(k.hot_updated) AS hot_updated, sum(k.deleted) AS deleted,
               CASE WHEN count(k.newpage_updated) = count(*) THEN sum(k.newpage_updated) END AS newpage_updated,
               sum(k.seq_scans) AS seq_scans, sum(k.index_scans) AS index_scans, sum(k.blocks_fetched) AS blocks_fetched, sum(k.blocks_hit) AS blocks_hit,
               sum(k.updated) FILTER (WHERE k.recent) AS recent_updated, sum(k.hot_updated) FILTER (WHERE k.recent) AS recent_hot,
               CASE WHEN count(k.newpage_updated) = count(*) THEN sum(k.newpage_updated) FILTER (WHERE k.recent) END AS recent_newpage,
               sum(k.inserted) FILTER (WHERE k.recent) AS recent_inserted,
               extract(epoch FROM sum(k.ended_at - k.began_at) FILTER (WHERE k.recent)) AS recent_s,
               coalesce(sum(k.updated) FILTER (WHERE NOT k.recent), 0) AS earlier_updated, coalesce(sum(k.hot_updated) FILTER (WHERE NOT k.recent), 0) AS earlier_hot,
               bool_or(k.rewritten) AS rewritten
          FROM (SELECT *, 3 * (up_to_here - updated) < total OR total = 0 AS recent FROM ranked) k
         GROUP BY k.rel_id
    ), versions AS (
        -- what the old versions still in the pages told, over all samples
        SELECT s.rel_id, sum(s.superseded_hot) FILTER (WHERE s.fillfactor = e.fillfactor) AS hot,
               sum(s.superseded_same_page) FILTER (WHERE s.fillfactor = e.fillfactor) AS same_page,
               sum(s.superseded_moved) FILTER (WHERE s.fillfactor = e.fillfactor) AS moved
          FROM @extschema@.ff_page_sample s
          JOIN examined e ON e.rel_id = s.rel_id
          LEFT JOIN reindexed x ON x.rel_id = s.rel_id
         WHERE s.sampled_at > (SELECT since FROM since)
           -- the sample that came with the change saw the versions from before it
           AND (x.rel_id IS NULL OR s.sampled_at >= (SELECT min(c.began_at) FROM @extschema@.ff_collection c WHERE c.began_at > x.seen_at))
         GROUP BY s.rel_id
    ), looks AS (
        SELECT max(c.began_at) AS looked_at, bool_or(NOT c.track_counts) AS counts_lost,
               (array_agg(c.open_writers ORDER BY c.began_at DESC))[1] AS open_writers
          FROM @extschema@.ff_collection c
         WHERE c.began_at > (SELECT since FROM since)
    ), indexed AS (
        SELECT i.indrelid, count(*) AS indexes
         FROM pg_index i
         WHERE i.indisvalid AND i.indrelid IN (SELECT e.relid FROM examined e)
         GROUP BY i.indrelid
    )
    SELECT e.relid::regclass, e.rel_id, e.nspname, e.relname, e.relkind, e.not_examined, e.fillfactor, e.reloptions,
           l.looked_at, k.window_began, extract(epoch FROM l.looked_at - k.window_began)::double precision, k.intervals,
           k.inserted, k.updated, k.hot_updated, k.newpage_updated, k.deleted,
           k.seq_scans, k.index_scans, k.blocks_fetched, k.blocks_hit,
           k.recent_updated, k.recent_hot, k.recent_newpage, k.recent_inserted, k.recent_s::double precision,
           k.earlier_updated, k.earlier_hot, k.rewritten, l.counts_lost, l.open_writers,
           v.hot, v.same_page, v.moved,
           z.heap_bytes, z.index_bytes, z.toast_bytes, b.heap_bytes,
           coalesce(x.indexes, 0)::integer,
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
     CROSS JOIN looks l
     CROSS JOIN memory m
      LEFT JOIN LATERAL @extschema@.ff_sizes(CASE WHEN e.not_examined IS NULL THEN e.relid END) z ON true
      LEFT JOIN counted k ON k.rel_id = e.rel_id
      LEFT JOIN LATERAL (SELECT i.heap_bytes FROM @extschema@.ff_interval i
                          WHERE i.rel_id = k.rel_id AND i.ended_at >= k.first_ended AND i.heap_bytes IS NOT NULL
                          ORDER BY i.ended_at LIMIT 1) b ON true
      LEFT JOIN versions v ON v.rel_id = e.rel_id
      LEFT JOIN indexed x ON x.indrelid = e.relid
      LEFT JOIN LATERAL (SELECT * FROM @extschema@.ff_page_sample s
                          WHERE s.rel_id = e.rel_id AND s.sampled_at <= e.sampled_at
                          ORDER BY s.sampled_at DESC LIMIT 1) p ON true
$$;
COMMENT ON FUNCTION @extschema@.ff_evidence(regclass) IS 'Everything observed over the recent window, one row a table outside the system schemas, examined or not. Only intervals since fillfactor or the set of indexes last changed count, at most fillfactor_advisor.lookback days of them.';
REVOKE ALL ON FUNCTION @extschema@.ff_evidence(regclass) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_evidence(regclass) TO pg_read_all_stats;
