-- Stage history: what was seen of every table, when, and in which life of the
-- server.
--
-- Counters are kept as the difference between two looks (ff_interval), never
-- as totals, so that no reader can subtract across a reset.  The last look
-- itself is the baseline in ff_relation.

-- ---------------------------------------------------------------------------
-- Epochs
-- ---------------------------------------------------------------------------
CREATE TABLE @extschema@.ff_epoch (
    epoch_id          integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    system_identifier bigint NOT NULL,
    database_oid      oid NOT NULL,
    timeline          bigint NOT NULL,
    server_version    integer NOT NULL,
    database_reset    timestamptz,
    cluster_reset     timestamptz,
    began_at          timestamptz NOT NULL
);
COMMENT ON TABLE @extschema@.ff_epoch IS 'A span in which cumulative counters only grow. A delta never crosses from one epoch into the next.';
COMMENT ON COLUMN @extschema@.ff_epoch.system_identifier IS 'identifier of the cluster, as pg_control_system() shows it';
COMMENT ON COLUMN @extschema@.ff_epoch.database_oid IS 'OID of the database at that time';
COMMENT ON COLUMN @extschema@.ff_epoch.timeline IS 'WAL timeline: moves when a standby is promoted';
COMMENT ON COLUMN @extschema@.ff_epoch.server_version IS 'server_version_num';
COMMENT ON COLUMN @extschema@.ff_epoch.database_reset IS 'pg_stat_database.stats_reset at the last collection: moves with pg_stat_reset(), and with the reset of a single table, which does not end the epoch';
COMMENT ON COLUMN @extschema@.ff_epoch.cluster_reset IS 'pg_stat_bgwriter.stats_reset: moves when a crash discards all statistics';
COMMENT ON COLUMN @extschema@.ff_epoch.began_at IS 'first collection in this epoch';

-- ---------------------------------------------------------------------------
-- Collections
-- ---------------------------------------------------------------------------
CREATE TABLE @extschema@.ff_collection (
    collection_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    epoch_id      integer NOT NULL,
    began_at      timestamptz NOT NULL,
    ended_at      timestamptz,
    relations     integer NOT NULL CHECK (relations >= 0),
    changed       integer NOT NULL CHECK (changed >= 0),
    sampled       integer CHECK (sampled >= 0),
    skipped       integer CHECK (skipped >= 0),
    failed        integer CHECK (failed >= 0),
    deferred      integer CHECK (deferred >= 0),
    track_counts  boolean NOT NULL,
    open_writers  integer NOT NULL CHECK (open_writers >= 0),
    canary        bigint NOT NULL,
    next_xid      xid8,
    busy_ms       double precision
);
CREATE INDEX ff_collection_began_at ON @extschema@.ff_collection (began_at);
COMMENT ON TABLE @extschema@.ff_collection IS 'One row for each CALL ff_collect().';
COMMENT ON COLUMN @extschema@.ff_collection.began_at IS 'when the counters were read';
COMMENT ON COLUMN @extschema@.ff_collection.ended_at IS 'NULL: still running, or ended by an error';
COMMENT ON COLUMN @extschema@.ff_collection.relations IS 'heap tables whose counters were read';
COMMENT ON COLUMN @extschema@.ff_collection.changed IS 'of these, tables for which an interval was written';
COMMENT ON COLUMN @extschema@.ff_collection.sampled IS 'tables whose pages were sampled';
COMMENT ON COLUMN @extschema@.ff_collection.skipped IS 'tables that were locked or gone when their turn came';
COMMENT ON COLUMN @extschema@.ff_collection.failed IS 'tables that raised another error, see ff_problem';
COMMENT ON COLUMN @extschema@.ff_collection.deferred IS 'tables left for the next collection because the budget was spent';
COMMENT ON COLUMN @extschema@.ff_collection.track_counts IS 'setting track_counts of the collecting session';
COMMENT ON COLUMN @extschema@.ff_collection.open_writers IS 'other sessions of this database with a writing transaction or a writing statement begun before the previous collection: their updates are not counted yet';
COMMENT ON COLUMN @extschema@.ff_collection.canary IS 'rows ever inserted into this table, by its own counter: a fall betrays a reset';
COMMENT ON COLUMN @extschema@.ff_collection.next_xid IS 'next transaction id then, with its epoch: distances in the pages are counted in these; NULL before 0.2.0';
COMMENT ON COLUMN @extschema@.ff_collection.busy_ms IS 'milliseconds that all sessions of this database had spent by then in statements and open transactions, by pg_stat_database; NULL before 0.2.0';

-- ---------------------------------------------------------------------------
-- Relations: identity and baseline
-- ---------------------------------------------------------------------------
CREATE TABLE @extschema@.ff_relation (
    rel_id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    system_identifier bigint NOT NULL,
    database_oid      oid NOT NULL,
    relid             oid NOT NULL,
    birth             xid NOT NULL,
    nspname           name NOT NULL,
    relname           name NOT NULL,
    relfilenode       oid NOT NULL,
    reloptions        text[],
    fillfactor        smallint NOT NULL CHECK (fillfactor BETWEEN 10 AND 100),
    index_oids        oid[],
    index_definitions text[],
    opened_at         timestamptz NOT NULL,
    closed_at         timestamptz,
    epoch_id          integer NOT NULL,
    seen_at           timestamptz NOT NULL,
    inserted          bigint NOT NULL,
    updated           bigint NOT NULL,
    hot_updated       bigint NOT NULL,
    newpage_updated   bigint,
    deleted           bigint NOT NULL,
    seq_scans         bigint NOT NULL,
    index_scans       bigint NOT NULL,
    blocks_fetched    bigint NOT NULL,
    blocks_hit        bigint NOT NULL,
    vacuums           bigint NOT NULL,
    analyzes          bigint NOT NULL,
    sampled_at        timestamptz,
    changes_since_sample bigint NOT NULL DEFAULT 0 CHECK (changes_since_sample >= 0),
    promised_at       timestamptz
) WITH (fillfactor = 80);
CREATE INDEX ff_relation_relid ON @extschema@.ff_relation (relid);
CREATE UNIQUE INDEX ff_relation_open ON @extschema@.ff_relation (system_identifier, database_oid, relid) WHERE closed_at IS NULL;
COMMENT ON TABLE @extschema@.ff_relation IS 'A table''s identity through renames and restores, and the baseline of its counters (cumulative, as of seen_at).';
COMMENT ON COLUMN @extschema@.ff_relation.rel_id IS 'key of the history; never reused';
COMMENT ON COLUMN @extschema@.ff_relation.system_identifier IS 'cluster in which relid is valid';
COMMENT ON COLUMN @extschema@.ff_relation.database_oid IS 'database in which relid is valid';
COMMENT ON COLUMN @extschema@.ff_relation.relid IS 'OID of the table';
COMMENT ON COLUMN @extschema@.ff_relation.birth IS 'transaction that created the table (xmin of its first system column in pg_attribute, which nothing updates): tells a renamed table from a new one with the same OID';
COMMENT ON COLUMN @extschema@.ff_relation.nspname IS 'schema at seen_at';
COMMENT ON COLUMN @extschema@.ff_relation.relname IS 'name at seen_at';
COMMENT ON COLUMN @extschema@.ff_relation.relfilenode IS 'file at seen_at; changes when the table is rewritten or truncated';
COMMENT ON COLUMN @extschema@.ff_relation.reloptions IS 'storage options at seen_at, exactly as stored';
COMMENT ON COLUMN @extschema@.ff_relation.fillfactor IS 'effective fillfactor at seen_at, percent';
COMMENT ON COLUMN @extschema@.ff_relation.index_oids IS 'its valid indexes at seen_at, in order; NULL: none';
COMMENT ON COLUMN @extschema@.ff_relation.index_definitions IS 'the statements that make them, in the same order, as of the last time that anything but counters changed';
COMMENT ON COLUMN @extschema@.ff_relation.opened_at IS 'first look at it';
COMMENT ON COLUMN @extschema@.ff_relation.closed_at IS 'when the table was found to be gone; NULL while it exists';
COMMENT ON COLUMN @extschema@.ff_relation.epoch_id IS 'epoch of the baseline';
COMMENT ON COLUMN @extschema@.ff_relation.seen_at IS 'when the baseline was written: at the last change, or at the first look';
COMMENT ON COLUMN @extschema@.ff_relation.inserted IS 'rows inserted, cumulative';
COMMENT ON COLUMN @extschema@.ff_relation.updated IS 'rows updated, cumulative, HOT and not; includes rolled-back updates';
COMMENT ON COLUMN @extschema@.ff_relation.hot_updated IS 'rows HOT updated, cumulative';
COMMENT ON COLUMN @extschema@.ff_relation.newpage_updated IS 'rows updated whose new version went to another page, cumulative; NULL before PostgreSQL 16';
COMMENT ON COLUMN @extschema@.ff_relation.deleted IS 'rows deleted, cumulative';
COMMENT ON COLUMN @extschema@.ff_relation.seq_scans IS 'sequential scans begun, cumulative';
COMMENT ON COLUMN @extschema@.ff_relation.index_scans IS 'index scans begun on all indexes, cumulative';
COMMENT ON COLUMN @extschema@.ff_relation.blocks_fetched IS 'heap pages asked for, cumulative';
COMMENT ON COLUMN @extschema@.ff_relation.blocks_hit IS 'heap pages found in shared buffers, cumulative';
COMMENT ON COLUMN @extschema@.ff_relation.vacuums IS 'vacuums, manual and automatic, cumulative';
COMMENT ON COLUMN @extschema@.ff_relation.analyzes IS 'analyzes, manual and automatic, cumulative';
COMMENT ON COLUMN @extschema@.ff_relation.sampled_at IS 'when its pages were last sampled';
COMMENT ON COLUMN @extschema@.ff_relation.changes_since_sample IS 'rows inserted, updated and deleted since then; all of them where the table was rewritten';
COMMENT ON COLUMN @extschema@.ff_relation.promised_at IS 'when the model was last asked for what advice promises, see ff_prediction';

-- ---------------------------------------------------------------------------
-- Intervals: what the counters did between two looks
-- ---------------------------------------------------------------------------
CREATE TABLE @extschema@.ff_interval (
    rel_id          bigint NOT NULL,
    began_at        timestamptz NOT NULL,
    ended_at        timestamptz NOT NULL,
    epoch_id        integer NOT NULL,
    grain           smallint NOT NULL DEFAULT 0 CHECK (grain BETWEEN 0 AND 2),
    fillfactor      smallint NOT NULL CHECK (fillfactor BETWEEN 10 AND 100),
    rewritten       boolean NOT NULL,
    inserted        bigint NOT NULL CHECK (inserted >= 0),
    updated         bigint NOT NULL CHECK (updated >= 0),
    hot_updated     bigint NOT NULL CHECK (hot_updated >= 0),
    newpage_updated bigint CHECK (newpage_updated >= 0),
    deleted         bigint NOT NULL CHECK (deleted >= 0),
    seq_scans       bigint NOT NULL CHECK (seq_scans >= 0),
    index_scans     bigint NOT NULL CHECK (index_scans >= 0),
    blocks_fetched  bigint NOT NULL CHECK (blocks_fetched >= 0),
    blocks_hit      bigint NOT NULL CHECK (blocks_hit >= 0),
    vacuums         integer NOT NULL CHECK (vacuums >= 0),
    heap_bytes      bigint CHECK (heap_bytes >= 0),
    index_bytes     bigint CHECK (index_bytes >= 0),
    CHECK (ended_at >= began_at)
);
CREATE INDEX ff_interval_rel_id_ended_at ON @extschema@.ff_interval (rel_id, ended_at);
CREATE INDEX ff_interval_grain_ended_at ON @extschema@.ff_interval (grain, ended_at);
COMMENT ON TABLE @extschema@.ff_interval IS 'What a table''s counters did between two looks in one epoch; no row where nothing changed.';
COMMENT ON COLUMN @extschema@.ff_interval.began_at IS 'the look before, at which nothing of this had happened yet';
COMMENT ON COLUMN @extschema@.ff_interval.ended_at IS 'the look that saw it';
COMMENT ON COLUMN @extschema@.ff_interval.grain IS '0: one collection; 1: rolled up to an hour; 2: rolled up to a day';
COMMENT ON COLUMN @extschema@.ff_interval.fillfactor IS 'effective fillfactor at the end, percent';
COMMENT ON COLUMN @extschema@.ff_interval.rewritten IS 'the table got a new file in between (VACUUM FULL, CLUSTER, TRUNCATE, a rewriting ALTER TABLE)';
COMMENT ON COLUMN @extschema@.ff_interval.inserted IS 'rows inserted';
COMMENT ON COLUMN @extschema@.ff_interval.updated IS 'rows updated, HOT and not';
COMMENT ON COLUMN @extschema@.ff_interval.hot_updated IS 'rows HOT updated';
COMMENT ON COLUMN @extschema@.ff_interval.newpage_updated IS 'rows updated whose new version went to another page; NULL before PostgreSQL 16';
COMMENT ON COLUMN @extschema@.ff_interval.deleted IS 'rows deleted';
COMMENT ON COLUMN @extschema@.ff_interval.seq_scans IS 'sequential scans begun';
COMMENT ON COLUMN @extschema@.ff_interval.index_scans IS 'index scans begun';
COMMENT ON COLUMN @extschema@.ff_interval.blocks_fetched IS 'heap pages asked for';
COMMENT ON COLUMN @extschema@.ff_interval.blocks_hit IS 'heap pages found in shared buffers';
COMMENT ON COLUMN @extschema@.ff_interval.vacuums IS 'vacuums, manual and automatic';
COMMENT ON COLUMN @extschema@.ff_interval.heap_bytes IS 'size of the main fork at the end, bytes; NULL where it was not to be had';
COMMENT ON COLUMN @extschema@.ff_interval.index_bytes IS 'size of all indexes at the end, bytes; NULL where one was not to be had';

-- ---------------------------------------------------------------------------
-- Page samples
-- ---------------------------------------------------------------------------
CREATE TABLE @extschema@.ff_page_sample (
    rel_id               bigint NOT NULL,
    sampled_at           timestamptz NOT NULL,
    grain                smallint NOT NULL DEFAULT 0 CHECK (grain BETWEEN 0 AND 2),
    fillfactor           smallint NOT NULL CHECK (fillfactor BETWEEN 10 AND 100),
    blocks               bigint NOT NULL,
    blocks_read          integer NOT NULL,
    blocks_new           integer NOT NULL,
    blocks_bad           integer NOT NULL,
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
CREATE INDEX ff_page_sample_rel_id_sampled_at ON @extschema@.ff_page_sample (rel_id, sampled_at);
CREATE INDEX ff_page_sample_grain_sampled_at ON @extschema@.ff_page_sample (grain, sampled_at);
COMMENT ON TABLE @extschema@.ff_page_sample IS 'What a random sample of a table''s pages showed, see ff_sample(). Row and line pointer figures are estimates for the whole table.';
COMMENT ON COLUMN @extschema@.ff_page_sample.sampled_at IS 'when the sample began';
COMMENT ON COLUMN @extschema@.ff_page_sample.grain IS '0: every sample; 1: the last of an hour; 2: the last of a day';
COMMENT ON COLUMN @extschema@.ff_page_sample.fillfactor IS 'effective fillfactor then, percent';
COMMENT ON COLUMN @extschema@.ff_page_sample.blocks IS 'size of the main fork, pages';
COMMENT ON COLUMN @extschema@.ff_page_sample.blocks_read IS 'pages read for the estimates';
COMMENT ON COLUMN @extschema@.ff_page_sample.blocks_new IS 'of these, all-zero';
COMMENT ON COLUMN @extschema@.ff_page_sample.blocks_bad IS 'of these, rejected as damaged';
COMMENT ON COLUMN @extschema@.ff_page_sample.live_pct IS 'live row bytes, percent of the table';
COMMENT ON COLUMN @extschema@.ff_page_sample.live_pct_err IS 'half width of the 95 % interval, points';
COMMENT ON COLUMN @extschema@.ff_page_sample.dead_pct IS 'dead and recently dead row bytes, percent of the table';
COMMENT ON COLUMN @extschema@.ff_page_sample.dead_pct_err IS 'half width of the 95 % interval, points';
COMMENT ON COLUMN @extschema@.ff_page_sample.free_pct IS 'free space, percent of the table';
COMMENT ON COLUMN @extschema@.ff_page_sample.free_pct_err IS 'half width of the 95 % interval, points';
COMMENT ON COLUMN @extschema@.ff_page_sample.reserve_pct IS 'part of free_pct inside the fillfactor reserve';
COMMENT ON COLUMN @extschema@.ff_page_sample.live_rows IS 'live rows in the table';
COMMENT ON COLUMN @extschema@.ff_page_sample.live_rows_err IS 'half width of the 95 % interval, rows';
COMMENT ON COLUMN @extschema@.ff_page_sample.dead_rows IS 'dead and recently dead rows in the table';
COMMENT ON COLUMN @extschema@.ff_page_sample.recently_dead_rows IS 'of these, still visible to some snapshot';
COMMENT ON COLUMN @extschema@.ff_page_sample.redirect_lps IS 'redirected line pointers in the table';
COMMENT ON COLUMN @extschema@.ff_page_sample.dead_lps IS 'dead line pointers in the table';
COMMENT ON COLUMN @extschema@.ff_page_sample.unused_lps IS 'unused line pointers in the table';
COMMENT ON COLUMN @extschema@.ff_page_sample.updated_hot_rows IS 'live rows whose newest version is heap-only';
COMMENT ON COLUMN @extschema@.ff_page_sample.updated_cold_rows IS 'live rows whose newest version came by an update that was not HOT';
COMMENT ON COLUMN @extschema@.ff_page_sample.superseded_hot IS 'old versions whose successor is heap-only';
COMMENT ON COLUMN @extschema@.ff_page_sample.superseded_same_page IS 'old versions whose successor is in the same page but not heap-only: an indexed column changed';
COMMENT ON COLUMN @extschema@.ff_page_sample.superseded_moved IS 'old versions whose successor is in another page: the page was full';
COMMENT ON COLUMN @extschema@.ff_page_sample.rows_per_page IS 'live rows on a page that holds any, mean';
COMMENT ON COLUMN @extschema@.ff_page_sample.rows_per_page_max IS 'most live rows seen on a page';
COMMENT ON COLUMN @extschema@.ff_page_sample.inserted_width IS 'mean length of rows never updated, bytes with header';
COMMENT ON COLUMN @extschema@.ff_page_sample.inserted_width_err IS 'half width of the 95 % interval, bytes';
COMMENT ON COLUMN @extschema@.ff_page_sample.updated_width IS 'mean length of rows updated since insert, bytes with header';
COMMENT ON COLUMN @extschema@.ff_page_sample.updated_width_err IS 'half width of the 95 % interval, bytes';
COMMENT ON COLUMN @extschema@.ff_page_sample.updated_pct IS 'live rows updated since insert, percent of live rows';
COMMENT ON COLUMN @extschema@.ff_page_sample.update_group_rows IS 'rows of one page that one transaction updated together, median over updated rows';
COMMENT ON COLUMN @extschema@.ff_page_sample.insert_group_rows IS 'rows of one page that one transaction inserted together, median over rows never updated';
COMMENT ON COLUMN @extschema@.ff_page_sample.update_distance IS 'transactions between a row''s newest version and the never updated rows of its page, median';
COMMENT ON COLUMN @extschema@.ff_page_sample.update_distance_p10 IS 'its 10th percentile';
COMMENT ON COLUMN @extschema@.ff_page_sample.update_distance_p90 IS 'its 90th percentile';
COMMENT ON COLUMN @extschema@.ff_page_sample.page_lsn_age_p10 IS 'WAL written since the page last changed, bytes, 10th percentile';
COMMENT ON COLUMN @extschema@.ff_page_sample.page_lsn_age_p50 IS 'its median';
COMMENT ON COLUMN @extschema@.ff_page_sample.page_lsn_age_p90 IS 'its 90th percentile';
COMMENT ON COLUMN @extschema@.ff_page_sample.full_pct IS 'pages with the page-full hint, percent of pages';
COMMENT ON COLUMN @extschema@.ff_page_sample.fill_histogram IS 'pages read by used share, ten bins from 0 to 100 %';

-- ---------------------------------------------------------------------------
-- Changes: what somebody did to a table or a setting, and what was foretold
-- ---------------------------------------------------------------------------
CREATE TABLE @extschema@.ff_change (
    change_id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    rel_id          bigint NOT NULL,
    kind            text NOT NULL CHECK (kind IN ('fillfactor', 'indexes', 'options')),
    before_at       timestamptz NOT NULL,
    seen_at         timestamptz NOT NULL,
    epoch_id        integer NOT NULL,
    old_fillfactor  smallint NOT NULL CHECK (old_fillfactor BETWEEN 10 AND 100),
    new_fillfactor  smallint NOT NULL CHECK (new_fillfactor BETWEEN 10 AND 100),
    old_options     text[],
    new_options     text[],
    dropped_indexes text[],
    created_indexes text[],
    CHECK (seen_at >= before_at)
);
CREATE INDEX ff_change_rel_id_seen_at ON @extschema@.ff_change (rel_id, seen_at);
COMMENT ON TABLE @extschema@.ff_change IS 'Changes of a table''s fillfactor, of its other storage options, and of its set of indexes, noticed by a collection. One row a kind where one look found several.';
COMMENT ON COLUMN @extschema@.ff_change.kind IS 'fillfactor: the effective one; options: any other storage option; indexes: one was dropped or became valid';
COMMENT ON COLUMN @extschema@.ff_change.before_at IS 'last look before, at which the old state was still seen';
COMMENT ON COLUMN @extschema@.ff_change.seen_at IS 'the look that saw the new state';
COMMENT ON COLUMN @extschema@.ff_change.epoch_id IS 'epoch of seen_at';
COMMENT ON COLUMN @extschema@.ff_change.old_fillfactor IS 'effective fillfactor before, percent';
COMMENT ON COLUMN @extschema@.ff_change.new_fillfactor IS 'effective fillfactor after, percent';
COMMENT ON COLUMN @extschema@.ff_change.old_options IS 'storage options before, exactly as stored';
COMMENT ON COLUMN @extschema@.ff_change.new_options IS 'storage options after, exactly as stored';
COMMENT ON COLUMN @extschema@.ff_change.dropped_indexes IS 'statements that would make the dropped indexes again; NULL: none';
COMMENT ON COLUMN @extschema@.ff_change.created_indexes IS 'statements that made the new indexes; NULL: none';

CREATE TABLE @extschema@.ff_prediction (
    rel_id               bigint NOT NULL,
    made_at              timestamptz NOT NULL,
    from_fillfactor      smallint NOT NULL CHECK (from_fillfactor BETWEEN 10 AND 100),
    to_fillfactor        smallint NOT NULL CHECK (to_fillfactor BETWEEN 10 AND 100),
    hot_pct              double precision,
    predicted_hot_pct    double precision,
    predicted_hot_low    double precision,
    predicted_hot_high   double precision,
    predicted_wal_pct    double precision,
    size_bytes           bigint,
    predicted_size_bytes bigint,
    confidence           double precision,
    judged_at            timestamptz,
    verdict              text CHECK (verdict IN ('helped', 'no difference', 'hurt')),
    achieved_hot_pct     double precision,
    achieved_wal_pct     double precision,
    PRIMARY KEY (rel_id, made_at),
    CHECK (from_fillfactor <> to_fillfactor)
);
COMMENT ON TABLE @extschema@.ff_prediction IS 'What advice to change a fillfactor promised when a collection first could give it, and, once the change was made and judged, what came of it.';
COMMENT ON COLUMN @extschema@.ff_prediction.made_at IS 'when the model was asked';
COMMENT ON COLUMN @extschema@.ff_prediction.from_fillfactor IS 'effective fillfactor then, percent';
COMMENT ON COLUMN @extschema@.ff_prediction.to_fillfactor IS 'advised fillfactor, percent';
COMMENT ON COLUMN @extschema@.ff_prediction.hot_pct IS 'HOT share of the recent updates then, percent';
COMMENT ON COLUMN @extschema@.ff_prediction.predicted_hot_pct IS 'HOT share promised at the advised fillfactor, percent; NULL where the model did not say';
COMMENT ON COLUMN @extschema@.ff_prediction.predicted_hot_low IS 'lower end of its range, percent';
COMMENT ON COLUMN @extschema@.ff_prediction.predicted_hot_high IS 'upper end of its range, percent';
COMMENT ON COLUMN @extschema@.ff_prediction.predicted_wal_pct IS 'WAL per update promised, percent of that before';
COMMENT ON COLUMN @extschema@.ff_prediction.size_bytes IS 'size of the main fork then, bytes';
COMMENT ON COLUMN @extschema@.ff_prediction.predicted_size_bytes IS 'size of the main fork promised, bytes';
COMMENT ON COLUMN @extschema@.ff_prediction.confidence IS 'confidence of the model then, 0 to 1';
COMMENT ON COLUMN @extschema@.ff_prediction.judged_at IS 'when the change was last judged; NULL: not made, or too early';
COMMENT ON COLUMN @extschema@.ff_prediction.verdict IS 'verdict of ff_verify() at judged_at';
COMMENT ON COLUMN @extschema@.ff_prediction.achieved_hot_pct IS 'HOT share after the change, percent';
COMMENT ON COLUMN @extschema@.ff_prediction.achieved_wal_pct IS 'WAL per update after the change, percent of that before; NULL without statement history';

CREATE TABLE @extschema@.ff_setting_history (
    setting   text NOT NULL,
    seen_at   timestamptz NOT NULL,
    before_at timestamptz,
    value     text,
    unit      text,
    PRIMARY KEY (setting, seen_at)
);
COMMENT ON TABLE @extschema@.ff_setting_history IS 'Server settings that ff_verify() judges: a row for the first look and for each change.';
COMMENT ON COLUMN @extschema@.ff_setting_history.setting IS 'name';
COMMENT ON COLUMN @extschema@.ff_setting_history.seen_at IS 'the look that saw this value first';
COMMENT ON COLUMN @extschema@.ff_setting_history.before_at IS 'the look before, which saw another value; NULL: the first of all';
COMMENT ON COLUMN @extschema@.ff_setting_history.value IS 'value that a new session of the collecting role gets, in unit';
COMMENT ON COLUMN @extschema@.ff_setting_history.unit IS 'unit as in pg_settings; NULL: none';

-- ---------------------------------------------------------------------------
-- Problems
-- ---------------------------------------------------------------------------
CREATE TABLE @extschema@.ff_problem (
    rel_id      bigint PRIMARY KEY,
    seen_at     timestamptz NOT NULL,
    occurrences integer NOT NULL CHECK (occurrences > 0),
    sqlstate    text NOT NULL CHECK (sqlstate ~ '^[0-9A-Z]{5}$'),
    message     text NOT NULL
);
COMMENT ON TABLE @extschema@.ff_problem IS 'Why a table could not be sampled, last time; the row goes when a sample succeeds.';
COMMENT ON COLUMN @extschema@.ff_problem.seen_at IS 'last time';
COMMENT ON COLUMN @extschema@.ff_problem.occurrences IS 'times in a row';
COMMENT ON COLUMN @extschema@.ff_problem.sqlstate IS 'SQLSTATE of the error';
COMMENT ON COLUMN @extschema@.ff_problem.message IS 'its message';

-- ---------------------------------------------------------------------------
-- Summaries: what advice would otherwise add up again and again
-- ---------------------------------------------------------------------------
CREATE TABLE @extschema@.ff_summary (
    rel_id          bigint PRIMARY KEY,
    since           timestamptz NOT NULL,
    until           timestamptz NOT NULL CHECK (until > since),
    fillfactor      smallint NOT NULL CHECK (fillfactor BETWEEN 10 AND 100),
    changed_at      timestamptz,
    window_began    timestamptz,
    intervals       bigint NOT NULL,
    inserted        bigint NOT NULL,
    updated         bigint NOT NULL,
    hot_updated     bigint NOT NULL,
    newpage_updated bigint,
    deleted         bigint NOT NULL,
    seq_scans       bigint NOT NULL,
    index_scans     bigint NOT NULL,
    blocks_fetched  bigint NOT NULL,
    blocks_hit      bigint NOT NULL,
    rewritten       boolean NOT NULL,
    last_updated    bigint[] NOT NULL,
    last_hot        bigint[] NOT NULL,
    last_newpage    bigint[] NOT NULL,
    last_inserted   bigint[] NOT NULL,
    last_s          double precision[] NOT NULL,
    seen_hot        double precision,
    seen_same_page  double precision,
    seen_moved      double precision
) WITH (fillfactor = 80);
COMMENT ON TABLE @extschema@.ff_summary IS 'What the older part of a table''s window adds up to, so that advice need not do it: made by collections from ff_interval and ff_page_sample, used while it is what these would give, and never needed. Not dumped. Whoever changes rows of these two by hand empties it.';
COMMENT ON COLUMN @extschema@.ff_summary.since IS 'begin of the window, see ff_window_since(): what ended before is not in it';
COMMENT ON COLUMN @extschema@.ff_summary.until IS 'end (exclusive) of what is in it; newer intervals and samples come on top';
COMMENT ON COLUMN @extschema@.ff_summary.fillfactor IS 'effective fillfactor that it was made for, percent';
COMMENT ON COLUMN @extschema@.ff_summary.changed_at IS 'last change of fillfactor or indexes known then; NULL: none';
COMMENT ON COLUMN @extschema@.ff_summary.window_began IS 'begin of the first interval; NULL: there is none';
COMMENT ON COLUMN @extschema@.ff_summary.intervals IS 'intervals, whole hours counted as one';
COMMENT ON COLUMN @extschema@.ff_summary.inserted IS 'rows inserted';
COMMENT ON COLUMN @extschema@.ff_summary.updated IS 'rows updated';
COMMENT ON COLUMN @extschema@.ff_summary.hot_updated IS 'rows HOT updated';
COMMENT ON COLUMN @extschema@.ff_summary.newpage_updated IS 'rows updated whose new version went to another page; NULL where not counted';
COMMENT ON COLUMN @extschema@.ff_summary.deleted IS 'rows deleted';
COMMENT ON COLUMN @extschema@.ff_summary.seq_scans IS 'sequential scans begun';
COMMENT ON COLUMN @extschema@.ff_summary.index_scans IS 'index scans begun';
COMMENT ON COLUMN @extschema@.ff_summary.blocks_fetched IS 'heap pages asked for';
COMMENT ON COLUMN @extschema@.ff_summary.blocks_hit IS 'heap pages found in shared buffers';
COMMENT ON COLUMN @extschema@.ff_summary.rewritten IS 'the table got a new file';
COMMENT ON COLUMN @extschema@.ff_summary.last_updated IS 'rows updated in each of the recent intervals or whole hours, newest first, see ff_recent()';
COMMENT ON COLUMN @extschema@.ff_summary.last_hot IS 'of these, HOT';
COMMENT ON COLUMN @extschema@.ff_summary.last_newpage IS 'of these, to another page; NULL where not counted';
COMMENT ON COLUMN @extschema@.ff_summary.last_inserted IS 'rows inserted in each';
COMMENT ON COLUMN @extschema@.ff_summary.last_s IS 'seconds that each covers';
COMMENT ON COLUMN @extschema@.ff_summary.seen_hot IS 'old row versions in the pages whose successor is heap-only, summed over samples; NULL without one';
COMMENT ON COLUMN @extschema@.ff_summary.seen_same_page IS 'the same: successor in the same page but not heap-only';
COMMENT ON COLUMN @extschema@.ff_summary.seen_moved IS 'the same: successor in another page';

-- ---------------------------------------------------------------------------
-- Rights, and what pg_dump keeps
-- ---------------------------------------------------------------------------
REVOKE ALL ON @extschema@.ff_epoch, @extschema@.ff_collection, @extschema@.ff_relation, @extschema@.ff_interval,
              @extschema@.ff_page_sample, @extschema@.ff_change, @extschema@.ff_prediction, @extschema@.ff_setting_history, @extschema@.ff_problem, @extschema@.ff_summary FROM PUBLIC;
GRANT SELECT ON @extschema@.ff_epoch, @extschema@.ff_collection, @extschema@.ff_relation, @extschema@.ff_interval,
                @extschema@.ff_page_sample, @extschema@.ff_change, @extschema@.ff_prediction, @extschema@.ff_setting_history, @extschema@.ff_problem, @extschema@.ff_summary TO pg_read_all_stats;

DO $$
DECLARE
    kept oid;
BEGIN
    FOR kept IN
        SELECT c.oid FROM pg_class c JOIN pg_extension e ON e.extname = 'fillfactor_advisor' AND c.relnamespace = e.extnamespace
         WHERE c.relname IN ('ff_epoch', 'ff_collection', 'ff_relation', 'ff_interval', 'ff_page_sample', 'ff_problem',
                             'ff_change', 'ff_prediction', 'ff_setting_history',
                             'ff_epoch_epoch_id_seq', 'ff_collection_collection_id_seq', 'ff_relation_rel_id_seq', 'ff_change_change_id_seq')
         ORDER BY c.relkind, c.relname
    LOOP
        PERFORM pg_extension_config_dump(kept, '');
    END LOOP;
    -- what can be made anew is not
    PERFORM pg_extension_config_dump(c.oid, 'WHERE false')
       FROM pg_class c JOIN pg_extension e ON e.extname = 'fillfactor_advisor' AND c.relnamespace = e.extnamespace WHERE c.relname = 'ff_summary';
END
$$;
