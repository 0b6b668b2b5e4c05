-- Everything that is known of a table, on one row.

CREATE TYPE ff_internal.table_evidence AS (
    relation             regclass,
    rel_id               bigint,
    nspname              name,
    relname              name,
    relkind              "char",
    not_examined         text,
    fillfactor           integer,
    reloptions           text[],
    snapshot_at            timestamptz,
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
    seen_newpage           double precision,
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
    updated_nonhot_rows    double precision,
    superseded_hot       double precision,
    superseded_same_page double precision,
    superseded_newpage     double precision,
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
COMMENT ON TYPE ff_internal.table_evidence IS 'Everything observed of a table over the recent window, see evidence().';
COMMENT ON COLUMN ff_internal.table_evidence.relation IS 'the table';
COMMENT ON COLUMN ff_internal.table_evidence.rel_id IS 'key of its history; NULL where it was never collected';
COMMENT ON COLUMN ff_internal.table_evidence.nspname IS 'schema';
COMMENT ON COLUMN ff_internal.table_evidence.relname IS 'name';
COMMENT ON COLUMN ff_internal.table_evidence.relkind IS 'kind, as in pg_class';
COMMENT ON COLUMN ff_internal.table_evidence.not_examined IS 'why it is not examined; NULL where it is';
COMMENT ON COLUMN ff_internal.table_evidence.fillfactor IS 'effective fillfactor now, percent';
COMMENT ON COLUMN ff_internal.table_evidence.reloptions IS 'its storage options now, as stored';
COMMENT ON COLUMN ff_internal.table_evidence.snapshot_at IS 'last look at its counters';
COMMENT ON COLUMN ff_internal.table_evidence.window_began IS 'begin of the first interval of the window that the figures below cover: at most fillfactor_advisor.lookback and a part of a day more, only since fillfactor or the set of indexes last changed';
COMMENT ON COLUMN ff_internal.table_evidence.window_s IS 'seconds from there to the last look';
COMMENT ON COLUMN ff_internal.table_evidence.intervals IS 'intervals in it, those of an hour counted as one once it ended two hours ago';
COMMENT ON COLUMN ff_internal.table_evidence.inserted IS 'rows inserted in the window';
COMMENT ON COLUMN ff_internal.table_evidence.updated IS 'rows updated';
COMMENT ON COLUMN ff_internal.table_evidence.hot_updated IS 'rows HOT updated';
COMMENT ON COLUMN ff_internal.table_evidence.newpage_updated IS 'rows updated whose new version went to another page; NULL where not counted (PostgreSQL 15)';
COMMENT ON COLUMN ff_internal.table_evidence.deleted IS 'rows deleted';
COMMENT ON COLUMN ff_internal.table_evidence.seq_scans IS 'sequential scans begun';
COMMENT ON COLUMN ff_internal.table_evidence.index_scans IS 'index scans begun';
COMMENT ON COLUMN ff_internal.table_evidence.blocks_fetched IS 'heap pages asked for';
COMMENT ON COLUMN ff_internal.table_evidence.blocks_hit IS 'heap pages found in shared buffers';
COMMENT ON COLUMN ff_internal.table_evidence.recent_updated IS 'rows updated in the most recent intervals, together at least a third of the window''s updates';
COMMENT ON COLUMN ff_internal.table_evidence.recent_hot IS 'of these, HOT';
COMMENT ON COLUMN ff_internal.table_evidence.recent_newpage IS 'of these, to another page; NULL where not counted';
COMMENT ON COLUMN ff_internal.table_evidence.recent_inserted IS 'rows inserted in those intervals';
COMMENT ON COLUMN ff_internal.table_evidence.recent_s IS 'seconds they cover';
COMMENT ON COLUMN ff_internal.table_evidence.earlier_updated IS 'rows updated in the window before the recent intervals';
COMMENT ON COLUMN ff_internal.table_evidence.earlier_hot IS 'of these, HOT';
COMMENT ON COLUMN ff_internal.table_evidence.rewritten IS 'the table got a new file during the window';
COMMENT ON COLUMN ff_internal.table_evidence.counts_lost IS 'track_counts was off in a collection of the window';
COMMENT ON COLUMN ff_internal.table_evidence.open_writers IS 'sessions whose updates were not counted yet at the last look';
COMMENT ON COLUMN ff_internal.table_evidence.seen_hot IS 'old row versions still in the pages whose successor is heap-only, summed over all samples of the window: to be used as a ratio';
COMMENT ON COLUMN ff_internal.table_evidence.seen_same_page IS 'the same: successor in the same page but not heap-only';
COMMENT ON COLUMN ff_internal.table_evidence.seen_newpage IS 'the same: successor in another page';
COMMENT ON COLUMN ff_internal.table_evidence.heap_bytes IS 'size of the main fork now; NULL where not to be had';
COMMENT ON COLUMN ff_internal.table_evidence.index_bytes IS 'size of all indexes now; NULL where not to be had';
COMMENT ON COLUMN ff_internal.table_evidence.toast_bytes IS 'size of the TOAST table now; NULL where not to be had';
COMMENT ON COLUMN ff_internal.table_evidence.heap_bytes_before IS 'size of the main fork at the end of the first interval';
COMMENT ON COLUMN ff_internal.table_evidence.indexes IS 'indexes, valid ones';
COMMENT ON COLUMN ff_internal.table_evidence.ram_bytes IS 'memory that the table is compared with, see ff_memory()';
COMMENT ON COLUMN ff_internal.table_evidence.ram_ratio IS '(table + indexes) / memory';
COMMENT ON COLUMN ff_internal.table_evidence.problem IS 'SQLSTATE and message of the last failed sample; NULL where it succeeded';
COMMENT ON COLUMN ff_internal.table_evidence.sampled_at IS 'when its pages were last sampled; NULL: never. This and what follows: the last sample, see page_sample';
COMMENT ON COLUMN ff_internal.table_evidence.blocks IS 'size of the main fork, pages';
COMMENT ON COLUMN ff_internal.table_evidence.blocks_read IS 'pages read for the estimates';
COMMENT ON COLUMN ff_internal.table_evidence.blocks_new IS 'of these, all-zero';
COMMENT ON COLUMN ff_internal.table_evidence.blocks_bad IS 'of these, rejected as damaged';
COMMENT ON COLUMN ff_internal.table_evidence.live_pct IS 'live row bytes, percent of the table';
COMMENT ON COLUMN ff_internal.table_evidence.live_pct_err IS 'half width of the 95 % interval, points';
COMMENT ON COLUMN ff_internal.table_evidence.dead_pct IS 'dead and recently dead row bytes, percent of the table';
COMMENT ON COLUMN ff_internal.table_evidence.dead_pct_err IS 'half width of the 95 % interval, points';
COMMENT ON COLUMN ff_internal.table_evidence.free_pct IS 'free space, percent of the table';
COMMENT ON COLUMN ff_internal.table_evidence.free_pct_err IS 'half width of the 95 % interval, points';
COMMENT ON COLUMN ff_internal.table_evidence.reserve_pct IS 'part of free_pct inside the fillfactor reserve';
COMMENT ON COLUMN ff_internal.table_evidence.live_rows IS 'live rows in the table';
COMMENT ON COLUMN ff_internal.table_evidence.live_rows_err IS 'half width of the 95 % interval, rows';
COMMENT ON COLUMN ff_internal.table_evidence.dead_rows IS 'dead and recently dead rows in the table';
COMMENT ON COLUMN ff_internal.table_evidence.recently_dead_rows IS 'of these, still visible to some snapshot';
COMMENT ON COLUMN ff_internal.table_evidence.redirect_lps IS 'redirected line pointers in the table';
COMMENT ON COLUMN ff_internal.table_evidence.dead_lps IS 'dead line pointers in the table';
COMMENT ON COLUMN ff_internal.table_evidence.unused_lps IS 'unused line pointers in the table';
COMMENT ON COLUMN ff_internal.table_evidence.updated_hot_rows IS 'live rows whose newest version is heap-only';
COMMENT ON COLUMN ff_internal.table_evidence.updated_nonhot_rows IS 'live rows whose newest version came by an update that was not HOT';
COMMENT ON COLUMN ff_internal.table_evidence.superseded_hot IS 'old versions whose successor is heap-only';
COMMENT ON COLUMN ff_internal.table_evidence.superseded_same_page IS 'old versions whose successor is in the same page but not heap-only: an indexed column changed';
COMMENT ON COLUMN ff_internal.table_evidence.superseded_newpage IS 'old versions whose successor is in another page: the page was full';
COMMENT ON COLUMN ff_internal.table_evidence.rows_per_page IS 'live rows on a page that holds any, mean';
COMMENT ON COLUMN ff_internal.table_evidence.rows_per_page_max IS 'most live rows seen on a page';
COMMENT ON COLUMN ff_internal.table_evidence.inserted_width IS 'mean length of rows never updated, bytes with header';
COMMENT ON COLUMN ff_internal.table_evidence.inserted_width_err IS 'half width of the 95 % interval, bytes';
COMMENT ON COLUMN ff_internal.table_evidence.updated_width IS 'mean length of rows updated since insert, bytes with header';
COMMENT ON COLUMN ff_internal.table_evidence.updated_width_err IS 'half width of the 95 % interval, bytes';
COMMENT ON COLUMN ff_internal.table_evidence.updated_pct IS 'live rows updated since insert, percent of live rows';
COMMENT ON COLUMN ff_internal.table_evidence.update_group_rows IS 'rows of one page that one transaction updated together, median over updated rows';
COMMENT ON COLUMN ff_internal.table_evidence.insert_group_rows IS 'rows of one page that one transaction inserted together, median over rows never updated';
COMMENT ON COLUMN ff_internal.table_evidence.update_distance IS 'transactions between a row''s newest version and the never updated rows of its page, median';
COMMENT ON COLUMN ff_internal.table_evidence.update_distance_p10 IS 'its 10th percentile';
COMMENT ON COLUMN ff_internal.table_evidence.update_distance_p90 IS 'its 90th percentile';
COMMENT ON COLUMN ff_internal.table_evidence.page_lsn_age_p10 IS 'WAL written since the page last changed, bytes, 10th percentile';
COMMENT ON COLUMN ff_internal.table_evidence.page_lsn_age_p50 IS 'its median';
COMMENT ON COLUMN ff_internal.table_evidence.page_lsn_age_p90 IS 'its 90th percentile';
COMMENT ON COLUMN ff_internal.table_evidence.full_pct IS 'pages with the page-full hint, percent of pages';
COMMENT ON COLUMN ff_internal.table_evidence.fill_histogram IS 'pages read by used share, ten bins from 0 to 100 %';

CREATE VIEW ff_internal.last_change AS
SELECT c.rel_id, c.changed_at, c.reindexed_at,
       -- the sample that came with the change saw the versions from before it
       CASE WHEN c.reindexed_at IS NOT NULL
            THEN coalesce((SELECT min(o.began_at) FROM ff_internal.collection o WHERE o.began_at > c.reindexed_at), 'infinity') END AS samples_from
  FROM (SELECT h.rel_id, max(h.seen_at) AS changed_at, max(h.seen_at) FILTER (WHERE h.kind = 'indexes') AS reindexed_at
          FROM ff_internal.change h WHERE h.kind IN ('fillfactor', 'indexes') GROUP BY h.rel_id) c;
COMMENT ON VIEW ff_internal.last_change IS 'When fillfactor or indexes of a table last changed (changed_at) and when its indexes did (reindexed_at), after which other updates can be HOT and other samples speak of them (samples_from).';
