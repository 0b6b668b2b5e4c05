-- Stage history: what was seen of every table, when, and in which life of the
-- server.
--
-- Counters are kept as the difference between two looks (counter_interval), never
-- as totals, so that no reader can subtract across a reset.  The last look
-- itself is the baseline in relation.

-- ---------------------------------------------------------------------------
-- Epochs
-- ---------------------------------------------------------------------------
CREATE TABLE ff_internal.epoch (
    epoch_id          integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    system_identifier bigint NOT NULL,
    database_oid      oid NOT NULL,
    timeline          bigint NOT NULL,
    server_version    integer NOT NULL,
    database_reset    timestamptz,
    cluster_reset     timestamptz,
    began_at          timestamptz NOT NULL
);
COMMENT ON TABLE ff_internal.epoch IS
'A span in which cumulative counters only grow. A delta never crosses from one epoch into the next.';
COMMENT ON COLUMN ff_internal.epoch.system_identifier IS 'identifier of the cluster, as pg_control_system() shows it';
COMMENT ON COLUMN ff_internal.epoch.database_oid IS 'OID of the database at that time';
COMMENT ON COLUMN ff_internal.epoch.timeline IS 'WAL timeline: moves when a standby is promoted';
COMMENT ON COLUMN ff_internal.epoch.server_version IS 'server_version_num';
COMMENT ON COLUMN ff_internal.epoch.database_reset IS
'pg_stat_database.stats_reset at the last collection: moves with pg_stat_reset(), and with the reset of a single '
'table, which does not end the epoch';
COMMENT ON COLUMN ff_internal.epoch.cluster_reset IS
'pg_stat_bgwriter.stats_reset: moves when a crash discards all statistics';
COMMENT ON COLUMN ff_internal.epoch.began_at IS 'first collection in this epoch';

-- ---------------------------------------------------------------------------
-- Collections
-- ---------------------------------------------------------------------------
CREATE TABLE ff_internal.collection (
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
    own_inserts   bigint NOT NULL,
    next_xid      xid8,
    busy_ms       double precision,
    track_io_timing boolean,
    blocks_read   bigint CHECK (blocks_read >= 0),
    read_ms       double precision CHECK (read_ms >= 0),
    blocks_written bigint CHECK (blocks_written >= 0),
    write_ms      double precision CHECK (write_ms >= 0)
);
CREATE INDEX collection_began_at ON ff_internal.collection (began_at);
COMMENT ON TABLE ff_internal.collection IS 'One row for each CALL ff_collect().';
COMMENT ON COLUMN ff_internal.collection.began_at IS 'when the counters were read';
COMMENT ON COLUMN ff_internal.collection.ended_at IS 'NULL: still running, or ended by an error';
COMMENT ON COLUMN ff_internal.collection.relations IS 'heap tables whose counters were read';
COMMENT ON COLUMN ff_internal.collection.changed IS 'of these, tables for which an interval was written';
COMMENT ON COLUMN ff_internal.collection.sampled IS 'tables whose pages were sampled';
COMMENT ON COLUMN ff_internal.collection.skipped IS 'tables that were locked or gone when their turn came';
COMMENT ON COLUMN ff_internal.collection.failed IS 'tables that raised another error, see problem';
COMMENT ON COLUMN ff_internal.collection.deferred IS 'tables left for the next collection because the budget was spent';
COMMENT ON COLUMN ff_internal.collection.track_counts IS 'setting track_counts of the collecting session';
COMMENT ON COLUMN ff_internal.collection.open_writers IS
'other sessions of this database with a writing transaction or a writing statement begun before the previous '
'collection: their updates are not counted yet';
COMMENT ON COLUMN ff_internal.collection.own_inserts IS
'rows ever inserted into this table, by its own counter: a fall betrays a reset';
COMMENT ON COLUMN ff_internal.collection.next_xid IS
'next transaction id then, with its epoch: distances in the pages are counted in these';
COMMENT ON COLUMN ff_internal.collection.busy_ms IS
'milliseconds that all sessions of this database had spent by then in statements and open transactions, by '
'pg_stat_database';
COMMENT ON COLUMN ff_internal.collection.track_io_timing IS
'server setting then, as a new session of the collecting role gets it';
COMMENT ON COLUMN ff_internal.collection.blocks_read IS
'blocks of this database read so far, by pg_stat_database; a speed is a difference between two collections in which '
'track_io_timing was on';
COMMENT ON COLUMN ff_internal.collection.read_ms IS 'milliseconds that took, as far as track_io_timing was on';
COMMENT ON COLUMN ff_internal.collection.blocks_written IS
'blocks of relations written so far by all of the server, by pg_stat_io; NULL before PostgreSQL 16';
COMMENT ON COLUMN ff_internal.collection.write_ms IS
'milliseconds that took, as far as track_io_timing was on; NULL before PostgreSQL 16';

-- ---------------------------------------------------------------------------
-- Relations: identity and baseline
-- ---------------------------------------------------------------------------
CREATE TABLE ff_internal.relation (
    rel_id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    system_identifier bigint NOT NULL,
    database_oid      oid NOT NULL,
    relid             oid NOT NULL,
    created_xid       xid NOT NULL,
    nspname           name NOT NULL,
    relname           name NOT NULL,
    relfilenode       oid NOT NULL,
    reloptions        text[],
    fillfactor        smallint NOT NULL CHECK (fillfactor BETWEEN 10 AND 100),
    index_oids        oid[],
    index_definitions text[],
    index_keys        bigint[],
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
    changes_since_sample bigint NOT NULL DEFAULT 0 CHECK (changes_since_sample >= 0)
) WITH (fillfactor = 80);
CREATE INDEX relation_relid ON ff_internal.relation (relid);
CREATE UNIQUE INDEX relation_open ON ff_internal.relation (system_identifier, database_oid, relid)
    WHERE closed_at IS NULL;
COMMENT ON TABLE ff_internal.relation IS
'A table''s identity through renames and restores, and the baseline of its counters (cumulative, as of seen_at).';
COMMENT ON COLUMN ff_internal.relation.rel_id IS 'key of the history; never reused';
COMMENT ON COLUMN ff_internal.relation.system_identifier IS 'cluster in which relid is valid';
COMMENT ON COLUMN ff_internal.relation.database_oid IS 'database in which relid is valid';
COMMENT ON COLUMN ff_internal.relation.relid IS 'OID of the table';
COMMENT ON COLUMN ff_internal.relation.created_xid IS
'transaction that created the table, see candidate: tells a renamed table from a new one with the same OID';
COMMENT ON COLUMN ff_internal.relation.nspname IS 'schema at seen_at';
COMMENT ON COLUMN ff_internal.relation.relname IS 'name at seen_at';
COMMENT ON COLUMN ff_internal.relation.relfilenode IS
'file at seen_at; changes when the table is rewritten or truncated';
COMMENT ON COLUMN ff_internal.relation.reloptions IS 'storage options at seen_at, exactly as stored';
COMMENT ON COLUMN ff_internal.relation.fillfactor IS 'effective fillfactor at seen_at, percent';
COMMENT ON COLUMN ff_internal.relation.index_oids IS 'its valid indexes at seen_at, in order; NULL: none';
COMMENT ON COLUMN ff_internal.relation.index_definitions IS
'the statements that make them, in the same order, as of the last time that anything but counters changed';
COMMENT ON COLUMN ff_internal.relation.index_keys IS
'what tells each from others but for names and storage options, see index_keys(); NULL: not read yet in this database';
COMMENT ON COLUMN ff_internal.relation.opened_at IS 'first look at it';
COMMENT ON COLUMN ff_internal.relation.closed_at IS 'when the table was found to be gone; NULL while it exists';
COMMENT ON COLUMN ff_internal.relation.epoch_id IS 'epoch of the baseline';
COMMENT ON COLUMN ff_internal.relation.seen_at IS
'when the baseline was written: at the last change, or at the first look';
COMMENT ON COLUMN ff_internal.relation.inserted IS 'rows inserted, cumulative';
COMMENT ON COLUMN ff_internal.relation.updated IS 'rows updated, cumulative, HOT and not; includes rolled-back updates';
COMMENT ON COLUMN ff_internal.relation.hot_updated IS 'rows HOT updated, cumulative';
COMMENT ON COLUMN ff_internal.relation.newpage_updated IS
'rows updated whose new version went to another page, cumulative; NULL before PostgreSQL 16';
COMMENT ON COLUMN ff_internal.relation.deleted IS 'rows deleted, cumulative';
COMMENT ON COLUMN ff_internal.relation.seq_scans IS 'sequential scans begun, cumulative';
COMMENT ON COLUMN ff_internal.relation.index_scans IS 'index scans begun on all indexes, cumulative';
COMMENT ON COLUMN ff_internal.relation.blocks_fetched IS 'heap pages asked for, cumulative';
COMMENT ON COLUMN ff_internal.relation.blocks_hit IS 'heap pages found in shared buffers, cumulative';
COMMENT ON COLUMN ff_internal.relation.vacuums IS 'vacuums, manual and automatic, cumulative';
COMMENT ON COLUMN ff_internal.relation.analyzes IS 'analyzes, manual and automatic, cumulative';
COMMENT ON COLUMN ff_internal.relation.sampled_at IS 'when its pages were last sampled';
COMMENT ON COLUMN ff_internal.relation.changes_since_sample IS 'rows inserted, updated and deleted since then; all of them where the table was rewritten';

-- ---------------------------------------------------------------------------
-- Intervals: what the counters did between two looks
-- ---------------------------------------------------------------------------
CREATE TABLE ff_internal.counter_interval (
    rel_id          bigint NOT NULL,
    began_at        timestamptz NOT NULL,
    ended_at        timestamptz NOT NULL,
    epoch_id        integer NOT NULL,
    rollup           smallint NOT NULL DEFAULT 0 CHECK (rollup BETWEEN 0 AND 2),
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
CREATE INDEX counter_interval_rel_id_ended_at ON ff_internal.counter_interval (rel_id, ended_at);
CREATE INDEX counter_interval_rollup_ended_at ON ff_internal.counter_interval (rollup, ended_at);
CREATE INDEX counter_interval_rewritten ON ff_internal.counter_interval (rel_id, ended_at) WHERE rewritten;
COMMENT ON TABLE ff_internal.counter_interval IS
'What a table''s counters did between two looks in one epoch; no row where nothing changed.';
COMMENT ON COLUMN ff_internal.counter_interval.began_at IS 'the look before, at which nothing of this had happened yet';
COMMENT ON COLUMN ff_internal.counter_interval.ended_at IS 'the look that saw it';
COMMENT ON COLUMN ff_internal.counter_interval.rollup IS
'0: one collection; 1: rolled up to an hour; 2: rolled up to a day';
COMMENT ON COLUMN ff_internal.counter_interval.fillfactor IS 'effective fillfactor at the end, percent';
COMMENT ON COLUMN ff_internal.counter_interval.rewritten IS
'the table got a new file in between (VACUUM FULL, CLUSTER, TRUNCATE, a rewriting ALTER TABLE)';
COMMENT ON COLUMN ff_internal.counter_interval.inserted IS 'rows inserted';
COMMENT ON COLUMN ff_internal.counter_interval.updated IS 'rows updated, HOT and not';
COMMENT ON COLUMN ff_internal.counter_interval.hot_updated IS 'rows HOT updated';
COMMENT ON COLUMN ff_internal.counter_interval.newpage_updated IS
'rows updated whose new version went to another page; NULL before PostgreSQL 16';
COMMENT ON COLUMN ff_internal.counter_interval.deleted IS 'rows deleted';
COMMENT ON COLUMN ff_internal.counter_interval.seq_scans IS 'sequential scans begun';
COMMENT ON COLUMN ff_internal.counter_interval.index_scans IS 'index scans begun';
COMMENT ON COLUMN ff_internal.counter_interval.blocks_fetched IS 'heap pages asked for';
COMMENT ON COLUMN ff_internal.counter_interval.blocks_hit IS 'heap pages found in shared buffers';
COMMENT ON COLUMN ff_internal.counter_interval.vacuums IS 'vacuums, manual and automatic';
COMMENT ON COLUMN ff_internal.counter_interval.heap_bytes IS
'size of the main fork at the end, bytes; NULL where it was not to be had';
COMMENT ON COLUMN ff_internal.counter_interval.index_bytes IS
'size of all indexes at the end, bytes; NULL where one was not to be had';

-- ---------------------------------------------------------------------------
-- Page samples
-- ---------------------------------------------------------------------------
CREATE TABLE ff_internal.page_sample (
    rel_id               bigint NOT NULL,
    sampled_at           timestamptz NOT NULL,
    rollup               smallint NOT NULL DEFAULT 0 CHECK (rollup BETWEEN 0 AND 2),
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
    live_rows            double precision,
    live_rows_err        real,
    dead_rows            double precision,
    recently_dead_rows   double precision,
    redirect_lps         double precision,
    dead_lps             double precision,
    updated_hot_rows     double precision,
    updated_nonhot_rows  double precision,
    superseded_hot       double precision,
    superseded_same_page double precision,
    superseded_newpage   double precision,
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
    fill_histogram       integer[],
    inserted_lengths     real[],
    updated_lengths      real[],
    insert_group         real[],
    group_old_page       real[],
    group_new_page       real[],
    update_distances     real[],
    update_ages          real[],
    page_ages            real[]
);
CREATE INDEX page_sample_rel_id_sampled_at ON ff_internal.page_sample (rel_id, sampled_at);
CREATE INDEX page_sample_rollup_sampled_at ON ff_internal.page_sample (rollup, sampled_at);
COMMENT ON TABLE ff_internal.page_sample IS
'What a random sample of a table''s pages showed, and what earlier ones did: the one definition of a sample '
'(src/sample/metrics.c fills it by name). Rows, versions and line pointers are estimates for the whole table; columns '
'ending in _err are half widths of 95 % intervals. Columns called pooled hold earlier samples, too, each fading over '
'fillfactor_advisor.lookback. Histograms are weights without zeros at the end, NULL where there is none.';
COMMENT ON COLUMN ff_internal.page_sample.sampled_at IS 'when the sample began';
COMMENT ON COLUMN ff_internal.page_sample.rollup IS '0: every sample; 1: the last of an hour; 2: the last of a day';
COMMENT ON COLUMN ff_internal.page_sample.fillfactor IS 'effective fillfactor then, percent';
COMMENT ON COLUMN ff_internal.page_sample.blocks IS 'size of the main fork, pages';
COMMENT ON COLUMN ff_internal.page_sample.blocks_read IS 'pages read for the estimates';
COMMENT ON COLUMN ff_internal.page_sample.blocks_new IS 'of these, all-zero; they count as free';
COMMENT ON COLUMN ff_internal.page_sample.blocks_bad IS
'of these, rejected because their contents contradict themselves; they count as empty';
COMMENT ON COLUMN ff_internal.page_sample.live_pct IS 'live row bytes, percent of the table';
COMMENT ON COLUMN ff_internal.page_sample.live_pct_err IS 'points';
COMMENT ON COLUMN ff_internal.page_sample.dead_pct IS 'dead and recently dead row bytes, percent of the table';
COMMENT ON COLUMN ff_internal.page_sample.dead_pct_err IS 'points';
COMMENT ON COLUMN ff_internal.page_sample.free_pct IS 'free space, percent of the table';
COMMENT ON COLUMN ff_internal.page_sample.free_pct_err IS 'points';
COMMENT ON COLUMN ff_internal.page_sample.live_rows IS 'live rows';
COMMENT ON COLUMN ff_internal.page_sample.live_rows_err IS 'rows';
COMMENT ON COLUMN ff_internal.page_sample.dead_rows IS
'dead and recently dead rows, those of rolled-back inserts included';
COMMENT ON COLUMN ff_internal.page_sample.recently_dead_rows IS 'of these, still visible to some snapshot';
COMMENT ON COLUMN ff_internal.page_sample.redirect_lps IS 'redirected line pointers: pruned HOT chains';
COMMENT ON COLUMN ff_internal.page_sample.dead_lps IS 'dead line pointers: pruned rows still in indexes';
COMMENT ON COLUMN ff_internal.page_sample.updated_hot_rows IS
'live rows whose newest version is heap-only; a rewrite of the table takes that mark off all rows';
COMMENT ON COLUMN ff_internal.page_sample.updated_nonhot_rows IS
'live rows whose newest version came by an update that was not HOT';
COMMENT ON COLUMN ff_internal.page_sample.superseded_hot IS
'old versions whose successor is heap-only; this and the next two are pooled since fillfactor or indexes last '
'changed: to be used as a ratio';
COMMENT ON COLUMN ff_internal.page_sample.superseded_same_page IS
'old versions whose successor is in the same page but not heap-only: an indexed column changed';
COMMENT ON COLUMN ff_internal.page_sample.superseded_newpage IS
'old versions whose successor is in another page: the page was full';
COMMENT ON COLUMN ff_internal.page_sample.rows_per_page IS 'live rows on a page that holds any, mean';
COMMENT ON COLUMN ff_internal.page_sample.rows_per_page_max IS 'most live rows seen on a page';
COMMENT ON COLUMN ff_internal.page_sample.inserted_width IS
'mean length of rows never updated, bytes with header, not aligned; this and what follows to update_distance_p90, '
'updated_pct aside: of the last sample that had any';
COMMENT ON COLUMN ff_internal.page_sample.inserted_width_err IS 'bytes';
COMMENT ON COLUMN ff_internal.page_sample.updated_width IS
'mean length of rows updated since insert, bytes with header, not aligned';
COMMENT ON COLUMN ff_internal.page_sample.updated_width_err IS 'bytes';
COMMENT ON COLUMN ff_internal.page_sample.updated_pct IS 'live rows updated since insert, percent of live rows';
COMMENT ON COLUMN ff_internal.page_sample.update_group_rows IS
'rows of one page that one transaction updated together, median over such rows; where no page tells, rows of a page '
'that an update filled';
COMMENT ON COLUMN ff_internal.page_sample.insert_group_rows IS
'rows of one page that one transaction inserted together, median over rows never updated';
COMMENT ON COLUMN ff_internal.page_sample.update_distance IS
'transactions from the inserts of a page (middle row never updated, else an original version not yet pruned) to the '
'newest version of an updated row, median over rows; within 3 %';
COMMENT ON COLUMN ff_internal.page_sample.update_distance_p10 IS 'its 10th percentile';
COMMENT ON COLUMN ff_internal.page_sample.update_distance_p90 IS 'its 90th percentile';
COMMENT ON COLUMN ff_internal.page_sample.fill_histogram IS
'pages read by used share, ten bins from 0 to 100 %; not scaled to the table';
COMMENT ON COLUMN ff_internal.page_sample.inserted_lengths IS
'aligned lengths of rows never updated, pooled: pairs of bytes and rows, ascending, 16 at most, beyond which '
'neighbours are merged to their mean';
COMMENT ON COLUMN ff_internal.page_sample.updated_lengths IS 'the same of rows updated since insert';
COMMENT ON COLUMN ff_internal.page_sample.insert_group IS
'rows never updated by the number of them on their page that one transaction inserted, pooled: 1, 2, 3-4, 5-8, ..., '
'129-256, more';
COMMENT ON COLUMN ff_internal.page_sample.group_old_page IS
'rows updated by the number of rows of their page that one transaction updated, pooled, same bins: on pages that held '
'them before';
COMMENT ON COLUMN ff_internal.page_sample.group_new_page IS
'rows on pages that one update filled with rows of other pages, by their number there, pooled, same bins: says '
'nothing of the pages that they come from';
COMMENT ON COLUMN ff_internal.page_sample.update_distances IS
'updated rows by the transactions of update_distance, pooled; bin i: from 2^i to below 2^(i+1), the first one '
'includes 0';
COMMENT ON COLUMN ff_internal.page_sample.update_ages IS
'updated rows by the transactions since their newest version, same bins';
COMMENT ON COLUMN ff_internal.page_sample.page_ages IS
'pages by the bytes of WAL written since they last changed, same bins; NULL for unlogged and temporary tables';

-- ---------------------------------------------------------------------------
-- Changes: what somebody did to a table or a setting, and what was foretold
-- ---------------------------------------------------------------------------
CREATE TABLE ff_internal.change (
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
CREATE INDEX change_rel_id_seen_at ON ff_internal.change (rel_id, seen_at);
COMMENT ON TABLE ff_internal.change IS
'Changes of a table''s fillfactor, of its other storage options, and of its set of indexes, noticed by a collection. '
'One row a kind where one look found several.';
COMMENT ON COLUMN ff_internal.change.kind IS
'fillfactor: the effective one; options: any other storage option; indexes: one was dropped or became valid';
COMMENT ON COLUMN ff_internal.change.before_at IS 'last look before, at which the old state was still seen';
COMMENT ON COLUMN ff_internal.change.seen_at IS 'the look that saw the new state';
COMMENT ON COLUMN ff_internal.change.epoch_id IS 'epoch of seen_at';
COMMENT ON COLUMN ff_internal.change.old_fillfactor IS 'effective fillfactor before, percent';
COMMENT ON COLUMN ff_internal.change.new_fillfactor IS 'effective fillfactor after, percent';
COMMENT ON COLUMN ff_internal.change.old_options IS 'storage options before, exactly as stored';
COMMENT ON COLUMN ff_internal.change.new_options IS 'storage options after, exactly as stored';
COMMENT ON COLUMN ff_internal.change.dropped_indexes IS
'statements that would make the dropped indexes again; NULL: none';
COMMENT ON COLUMN ff_internal.change.created_indexes IS 'statements that made the new indexes; NULL: none';

CREATE TABLE ff_internal.prediction (
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
COMMENT ON TABLE ff_internal.prediction IS
'What advice to change a fillfactor promised when a collection first could give it, and, once the change was made and '
'judged, what came of it.';
COMMENT ON COLUMN ff_internal.prediction.made_at IS 'when the model was asked';
COMMENT ON COLUMN ff_internal.prediction.from_fillfactor IS 'effective fillfactor then, percent';
COMMENT ON COLUMN ff_internal.prediction.to_fillfactor IS 'advised fillfactor, percent';
COMMENT ON COLUMN ff_internal.prediction.hot_pct IS 'HOT share of the recent updates then, percent';
COMMENT ON COLUMN ff_internal.prediction.predicted_hot_pct IS
'HOT share promised at the advised fillfactor, percent; NULL where the model did not say';
COMMENT ON COLUMN ff_internal.prediction.predicted_hot_low IS 'lower end of its range, percent';
COMMENT ON COLUMN ff_internal.prediction.predicted_hot_high IS 'upper end of its range, percent';
COMMENT ON COLUMN ff_internal.prediction.predicted_wal_pct IS 'WAL per update promised, percent of that before';
COMMENT ON COLUMN ff_internal.prediction.size_bytes IS 'size of the main fork then, bytes';
COMMENT ON COLUMN ff_internal.prediction.predicted_size_bytes IS 'size of the main fork promised, bytes';
COMMENT ON COLUMN ff_internal.prediction.confidence IS 'confidence of the model then, 0 to 1';
COMMENT ON COLUMN ff_internal.prediction.judged_at IS 'when the change was last judged; NULL: not made, or too early';
COMMENT ON COLUMN ff_internal.prediction.verdict IS 'verdict of ff_verify() at judged_at';
COMMENT ON COLUMN ff_internal.prediction.achieved_hot_pct IS 'HOT share after the change, percent';
COMMENT ON COLUMN ff_internal.prediction.achieved_wal_pct IS
'WAL per update after the change, percent of that before; NULL without statement history';

CREATE TABLE ff_internal.setting_history (
    setting   text NOT NULL,
    seen_at   timestamptz NOT NULL,
    before_at timestamptz,
    value     text,
    unit      text,
    PRIMARY KEY (setting, seen_at)
);
COMMENT ON TABLE ff_internal.setting_history IS
'Server settings that ff_verify() judges: a row for the first look and for each change.';
COMMENT ON COLUMN ff_internal.setting_history.setting IS 'name';
COMMENT ON COLUMN ff_internal.setting_history.seen_at IS 'the look that saw this value first';
COMMENT ON COLUMN ff_internal.setting_history.before_at IS
'the look before, which saw another value; NULL: the first of all';
COMMENT ON COLUMN ff_internal.setting_history.value IS 'value that a new session of the collecting role gets, in unit';
COMMENT ON COLUMN ff_internal.setting_history.unit IS 'unit as in pg_settings; NULL: none';

-- ---------------------------------------------------------------------------
-- Problems
-- ---------------------------------------------------------------------------
CREATE TABLE ff_internal.problem (
    rel_id      bigint PRIMARY KEY,
    seen_at     timestamptz NOT NULL,
    occurrences integer NOT NULL CHECK (occurrences > 0),
    sqlstate    text NOT NULL CHECK (sqlstate ~ '^[0-9A-Z]{5}$'),
    message     text NOT NULL
);
COMMENT ON TABLE ff_internal.problem IS
'Why a table could not be sampled, last time; the row goes when a sample succeeds.';
COMMENT ON COLUMN ff_internal.problem.seen_at IS 'last time';
COMMENT ON COLUMN ff_internal.problem.occurrences IS 'times in a row';
COMMENT ON COLUMN ff_internal.problem.sqlstate IS 'SQLSTATE of the error';
COMMENT ON COLUMN ff_internal.problem.message IS 'its message';


CREATE TABLE ff_internal.excluded (
    pattern      text PRIMARY KEY CHECK (strpos(pattern, '.') > 1),
    since        timestamptz NOT NULL,
    -- as LIKE takes it
    like_pattern text NOT NULL GENERATED ALWAYS AS (replace(replace(replace(replace(replace(
                     pattern, E'\\', E'\\\\'), '%', E'\\%'), '_', E'\\_'), '*', '%'), '?', '_')) STORED
);
COMMENT ON TABLE ff_internal.excluded IS 'Tables that are left out, see ff_exclude().';
COMMENT ON COLUMN ff_internal.excluded.pattern IS 'SCHEMA.TABLE, unquoted; * stands for any characters, ? for one';
COMMENT ON COLUMN ff_internal.excluded.since IS 'when it was written';
COMMENT ON COLUMN ff_internal.excluded.like_pattern IS 'the same for LIKE';

CREATE VIEW ff_internal.candidate AS
SELECT c.oid AS relid,
       -- No command updates the row of pg_depend that ties a row type to its table, and it goes with the table.
       -- ALTER TABLE updates those of pg_class and pg_type, GRANT those of pg_attribute, system columns included.
       (SELECT d.xmin FROM pg_depend d
         WHERE d.classid = 'pg_type'::regclass AND d.objid = c.reltype AND d.objsubid = 0
           AND d.refclassid = 'pg_class'::regclass AND d.refobjid = c.oid AND d.deptype = 'i') AS created_xid,
       n.nspname, c.relname, c.relkind, c.relpersistence, c.relispartition, c.relnamespace,
       -- nothing mapped is among them, so this is the file
       c.relfilenode, c.reloptions, c.reltuples, c.relallvisible, c.relpages,
       CASE WHEN c.relkind = 'p' THEN 'partitioned: holds no rows itself, its partitions are advised one by one'
            WHEN c.relkind = 'f' THEN 'foreign table: its pages are on another server'
            WHEN c.relpersistence = 't' THEN 'temporary table: it goes with its session'
            WHEN am.amname <> 'heap' OR am.amname IS NULL
                THEN 'access method ' || coalesce(quote_ident(am.amname), 'none')
                     || ': only heap has a fillfactor that works this way'
            ELSE (SELECT 'excluded by ' || min(x.pattern) || ': ff_include() takes it in again'
                    FROM ff_internal.excluded x WHERE n.nspname || '.' || c.relname LIKE x.like_pattern)
       END AS not_examined
  FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace
  LEFT JOIN pg_am am ON am.oid = c.relam
 WHERE c.relkind = ANY (ARRAY['r', 'm', 'p', 'f']::"char"[])
   AND (n.nspname !~ '^pg_' OR c.relpersistence = 't') AND n.nspname NOT IN ('information_schema', 'ff_internal');
COMMENT ON VIEW ff_internal.candidate IS
'Tables of this database outside the system schemas, with the reason where one is not examined.';
COMMENT ON COLUMN ff_internal.candidate.created_xid IS
'transaction that created the table: tells it from another one with the same OID; a rewrite of the catalogs (VACUUM '
'FULL) leaves it as it is';
COMMENT ON COLUMN ff_internal.candidate.not_examined IS
'why no sample is taken and no statement written; NULL where it is examined';
