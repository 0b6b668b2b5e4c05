-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION fillfactor_advisor" to load this file. \quit

-- Nothing below can be bound to an operator or function of somebody else's:
-- the extension's own objects are always written with their schema.
SET LOCAL search_path TO pg_catalog, pg_temp;

-- A function of one of our names, put here by somebody else before, could be
-- taken for ours.
DO $$
DECLARE
    stranger text;
BEGIN
    SELECT p.oid::regprocedure::text INTO stranger
      FROM pg_proc p JOIN pg_extension e ON e.extnamespace = p.pronamespace
     WHERE e.extname = 'fillfactor_advisor' AND p.proname ^@ 'ff_' LIMIT 1;
    IF stranger IS NOT NULL THEN
        RAISE 'function % is in the way', stranger
            USING ERRCODE = 'duplicate_function',
                  DETAIL = 'Functions whose names begin with "ff_" must be the extension''s own in the schema that it is installed in.',
                  HINT = 'Drop it, or choose another schema: CREATE EXTENSION fillfactor_advisor SCHEMA ...';
    END IF;
END
$$;
-- The settings of the extension (src/module.c), for its SQL functions.

CREATE FUNCTION @extschema@.ff_setting(name text) RETURNS text
LANGUAGE c STRICT STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'ff_setting';
COMMENT ON FUNCTION @extschema@.ff_setting(text) IS 'Value of the setting fillfactor_advisor.NAME, also where the library was not loaded yet. Error 42704 where there is none of that name.';
REVOKE ALL ON FUNCTION @extschema@.ff_setting(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_setting(text) TO pg_read_all_stats, pg_stat_scan_tables;

-- Stage sample: what the pages of one relation say.

CREATE FUNCTION @extschema@.ff_sample(
	relation regclass,
	OUT relation regclass,
	OUT blocks bigint,
	OUT blocks_read int,
	OUT blocks_new int,
	OUT blocks_bad int,
	OUT live_pct float8,
	OUT live_pct_err float8,
	OUT dead_pct float8,
	OUT dead_pct_err float8,
	OUT free_pct float8,
	OUT free_pct_err float8,
	OUT reserve_pct float8,
	OUT live_rows float8,
	OUT live_rows_err float8,
	OUT dead_rows float8,
	OUT dead_rows_err float8,
	OUT recently_dead_rows float8,
	OUT redirect_lps float8,
	OUT dead_lps float8,
	OUT unused_lps float8,
	OUT updated_hot_rows float8,
	OUT updated_cold_rows float8,
	OUT superseded_hot float8,
	OUT superseded_same_page float8,
	OUT superseded_moved float8,
	OUT rows_per_page float8,
	OUT rows_per_page_max float8,
	OUT inserted_width float8,
	OUT inserted_width_err float8,
	OUT updated_width float8,
	OUT updated_width_err float8,
	OUT updated_pct float8,
	OUT update_group_rows float8,
	OUT insert_group_rows float8,
	OUT update_distance float8,
	OUT update_distance_p10 float8,
	OUT update_distance_p90 float8,
	OUT page_lsn_age_p10 float8,
	OUT page_lsn_age_p50 float8,
	OUT page_lsn_age_p90 float8,
	OUT full_pct float8,
	OUT fill_histogram int[],
	OUT aborted_rows float8
)
AS 'MODULE_PATHNAME', 'ff_sample'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;

REVOKE ALL ON FUNCTION @extschema@.ff_sample(regclass) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_sample(regclass) TO pg_stat_scan_tables;

COMMENT ON FUNCTION @extschema@.ff_sample(regclass) IS
$$Samples the pages of one heap table now: a few hundred pages chosen at random in ranges of blocks, more if fillfactor_advisor.sample_error asks for it, fillfactor_advisor.sample_pages at most; small tables are read whole. Waits for no lock, dirties no page.
Columns ending in _err are half widths of the 95 % interval of the column before, in its unit; 0 if all pages were read. Estimates are for the whole table. NULL means that there is nothing to measure.
relation: the table.
blocks: pages of its main fork.
blocks_read: of them, read by this call.
blocks_new: of those read, all zero (extended, never initialised); they count as free.
blocks_bad: of those read, rejected because their contents contradict themselves; they count as pages without rows or free space.
live_pct, dead_pct: bytes of live and of dead row versions, percent of the table. As in pgstattuple, versions that only old snapshots can see are dead, and rows being inserted or deleted by open transactions are live.
free_pct: bytes between line pointers and rows, percent of the table.
reserve_pct: the part of free_pct that lies within the reserve of the current fillfactor, where inserts may not go.
live_rows, dead_rows: row versions.
recently_dead_rows: of dead_rows, those that a snapshot may still see, so that pruning has to keep them.
redirect_lps, dead_lps, unused_lps: line pointers without a row: pruned HOT chains, pruned rows still in indexes, free ones.
updated_hot_rows, updated_cold_rows: live rows updated since insert, with and without the heap-only flag of their last update. A rewrite of the table (VACUUM FULL, CLUSTER) clears that flag on all rows.
superseded_hot, superseded_same_page, superseded_moved: old versions still in a page whose update was HOT; was not HOT although it stayed in the page (an indexed column changed); went to another page (no room).
rows_per_page, rows_per_page_max: live rows of the pages that have any: mean, and the most seen.
inserted_width, updated_width: mean length in bytes of live rows never updated and updated since insert, header included, not rounded up to alignment.
updated_pct: live rows updated since insert, percent of live rows.
update_group_rows: median over updated live rows: how many rows of their page the same transaction wrote last.
insert_group_rows: the same over rows never updated.
update_distance, update_distance_p10, update_distance_p90: transaction ids between the inserts of a page (middle row never updated, else an original version not yet pruned) and the last version of its updated rows: median, 10 % and 90 % quantile over rows.
page_lsn_age_p10, page_lsn_age_p50, page_lsn_age_p90: bytes of WAL written since a page last changed: quantiles over pages. NULL for unlogged and temporary tables.
full_pct: pages with the page-full hint (an update found no room since the last prune), percent of pages.
fill_histogram: pages read, by used share of the page, in ten bins of 10 %; not scaled to the table, whose end is read more densely.
aborted_rows: of dead_rows, versions whose inserter rolled back.$$;

CREATE FUNCTION @extschema@.ff_sample_index(
	index regclass,
	OUT index regclass,
	OUT relation regclass,
	OUT blocks bigint,
	OUT blocks_read int,
	OUT blocks_new int,
	OUT blocks_bad int,
	OUT levels int,
	OUT leaf_pages float8,
	OUT leaf_pages_err float8,
	OUT internal_pages float8,
	OUT deleted_pages float8,
	OUT half_dead_pages float8,
	OUT leaf_density float8,
	OUT leaf_density_err float8,
	OUT fragmentation float8,
	OUT fragmentation_err float8,
	OUT at_fillfactor_pct float8,
	OUT at_fillfactor_pct_err float8,
	OUT half_full_pct float8,
	OUT half_full_pct_err float8,
	OUT density_histogram int[],
	OUT row_pointers float8,
	OUT row_pointers_err float8,
	OUT items_per_leaf float8,
	OUT bytes_per_row float8,
	OUT dead_items_pct float8,
	OUT deduplicated_pct float8,
	OUT page_lsn_age_p10 float8,
	OUT page_lsn_age_p50 float8,
	OUT page_lsn_age_p90 float8
)
AS 'MODULE_PATHNAME', 'ff_sample_index'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;

REVOKE ALL ON FUNCTION @extschema@.ff_sample_index(regclass) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_sample_index(regclass) TO pg_stat_scan_tables;

COMMENT ON FUNCTION @extschema@.ff_sample_index(regclass) IS
$$Samples the pages of one B-tree index now, as ff_sample does those of a table.
Columns ending in _err are half widths of the 95 % interval of the column before, in its unit; 0 if all pages were read. Estimates are for the whole index. NULL means that there is nothing to measure.
index, relation: the index and its table.
blocks, blocks_read, blocks_new, blocks_bad: pages of its main fork; of them, read by this call; of those read, all zero, and rejected because their contents contradict themselves.
levels: of the tree, one for an index of a single page.
leaf_pages, internal_pages, deleted_pages, half_dead_pages: pages by what they are.
leaf_density: used share of leaf pages, percent, as pgstatindex defines avg_leaf_density.
fragmentation: leaf pages whose right sibling lies before them in the file, percent of leaf pages, as pgstatindex defines leaf_fragmentation.
at_fillfactor_pct: leaf pages within 3 points of the index's fillfactor, percent: what splits at the right end, or a build, leave behind.
half_full_pct: leaf pages no fuller than 60 %, percent: what splits in the middle leave behind.
density_histogram: leaf pages read, by used share, in ten bins of 10 %; not scaled to the index.
row_pointers: pointers to table rows in leaf pages.
items_per_leaf: index tuples on a leaf page, a posting list counting once.
bytes_per_row: length of leaf tuples per row pointer, without line pointers.
dead_items_pct: leaf tuples known to be dead, not yet removed, percent of leaf tuples.
deduplicated_pct: row pointers in posting lists, percent of row pointers.
page_lsn_age_p10, page_lsn_age_p50, page_lsn_age_p90: bytes of WAL written since a leaf page last changed: quantiles over leaf pages. NULL for indexes of unlogged and temporary tables.$$;
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
    canary        bigint NOT NULL
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
COMMENT ON COLUMN @extschema@.ff_relation.changes_since_sample IS 'rows inserted, updated and deleted since then';
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
COMMENT ON COLUMN @extschema@.ff_interval.heap_bytes IS 'size of the main fork at the end, bytes; NULL where the table was locked';
COMMENT ON COLUMN @extschema@.ff_interval.index_bytes IS 'size of all indexes at the end, bytes; NULL where one was locked';

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
-- Rights, and what pg_dump keeps
-- ---------------------------------------------------------------------------
REVOKE ALL ON @extschema@.ff_epoch, @extschema@.ff_collection, @extschema@.ff_relation, @extschema@.ff_interval,
              @extschema@.ff_page_sample, @extschema@.ff_change, @extschema@.ff_prediction, @extschema@.ff_setting_history, @extschema@.ff_problem FROM PUBLIC;
GRANT SELECT ON @extschema@.ff_epoch, @extschema@.ff_collection, @extschema@.ff_relation, @extschema@.ff_interval,
                @extschema@.ff_page_sample, @extschema@.ff_change, @extschema@.ff_prediction, @extschema@.ff_setting_history, @extschema@.ff_problem TO pg_read_all_stats;

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
END
$$;
-- Stage collect: look at the counters, write intervals, choose what to sample,
-- keep the history small.  CALL ff_collect() drives these steps, see
-- src/collect.c.

-- ---------------------------------------------------------------------------
-- Readers (src/relinfo.c)
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_counters(
    relation oid,
    OUT inserted bigint, OUT updated bigint, OUT hot_updated bigint, OUT newpage_updated bigint, OUT deleted bigint,
    OUT live_rows bigint, OUT dead_rows bigint,
    OUT seq_scans bigint, OUT seq_rows bigint, OUT blocks_fetched bigint, OUT blocks_hit bigint,
    OUT vacuums bigint, OUT analyzes bigint)
LANGUAGE c STRICT VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'ff_counters';
COMMENT ON FUNCTION @extschema@.ff_counters(oid) IS 'Cumulative statistics of one table by one look into the statistics system, without a lock: rows and scans and pages since the last reset; zeros where nothing was counted; newpage_updated NULL before PostgreSQL 16.';
REVOKE ALL ON FUNCTION @extschema@.ff_counters(oid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_counters(oid) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_index_oids(relation oid) RETURNS oid[]
LANGUAGE c STRICT STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'ff_index_oids';
COMMENT ON FUNCTION @extschema@.ff_index_oids(oid) IS 'Valid indexes of a table, in order, without a lock; NULL where there is none.';
REVOKE ALL ON FUNCTION @extschema@.ff_index_oids(oid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_index_oids(oid) TO pg_stat_scan_tables, pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_sizes(relation oid, OUT heap_bytes bigint, OUT index_bytes bigint, OUT toast_bytes bigint)
LANGUAGE c STRICT VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'ff_sizes';
COMMENT ON FUNCTION @extschema@.ff_sizes(oid) IS 'Main forks of a table, of all its indexes and of its TOAST table, bytes; NULL where a lock was not to be had at once or a file is missing. Never waits, unlike pg_relation_size().';
REVOKE ALL ON FUNCTION @extschema@.ff_sizes(oid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_sizes(oid) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_server(OUT system_identifier bigint, OUT timeline bigint, OUT in_recovery boolean)
LANGUAGE c STRICT VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'ff_server';
COMMENT ON FUNCTION @extschema@.ff_server() IS 'Identifier of the cluster, WAL timeline, and whether it is in recovery.';
REVOKE ALL ON FUNCTION @extschema@.ff_server() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_server() TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_fillfactor(reloptions text[]) RETURNS integer
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'ff_fillfactor';
COMMENT ON FUNCTION @extschema@.ff_fillfactor(text[]) IS 'Fillfactor, percent, that the server reads from a table''s stored options (pg_class.reloptions), whatever their spelling; 100 where they name none.';
REVOKE ALL ON FUNCTION @extschema@.ff_fillfactor(text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_fillfactor(text[]) TO pg_read_all_stats;

-- ---------------------------------------------------------------------------
-- Which relations are examined, and why the others are not
-- ---------------------------------------------------------------------------
CREATE VIEW @extschema@.ff_candidate AS
SELECT c.oid AS relid, n.nspname, c.relname, c.relkind, c.relpersistence, c.relispartition, c.relnamespace,
       coalesce(pg_relation_filenode(c.oid), 0) AS relfilenode, c.reloptions, c.reltuples, c.relallvisible, c.relpages,
       CASE WHEN c.relkind = 'p' THEN 'partitioned: holds no rows itself, its partitions are advised one by one'
            WHEN c.relkind = 'f' THEN 'foreign table: its pages are on another server'
            WHEN c.relpersistence = 't' THEN 'temporary table: it goes with its session'
            WHEN am.amname <> 'heap' OR am.amname IS NULL
                THEN 'access method ' || coalesce(quote_ident(am.amname), 'none') || ': only heap has a fillfactor that works this way'
       END AS not_examined
  FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace
  LEFT JOIN pg_am am ON am.oid = c.relam
 WHERE c.relkind = ANY (ARRAY['r', 'm', 'p', 'f']::"char"[])
   AND (n.nspname !~ '^pg_' OR c.relpersistence = 't') AND n.nspname <> 'information_schema'
   AND NOT EXISTS (SELECT 1 FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid
                    WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid
                      AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
                      AND e.extname = 'fillfactor_advisor');
COMMENT ON VIEW @extschema@.ff_candidate IS 'Tables of this database outside the system schemas, with the reason where one is not examined.';
COMMENT ON COLUMN @extschema@.ff_candidate.not_examined IS 'why no sample is taken and no statement written; NULL where it is examined';
REVOKE ALL ON @extschema@.ff_candidate FROM PUBLIC;
GRANT SELECT ON @extschema@.ff_candidate TO pg_read_all_stats;

-- ---------------------------------------------------------------------------
-- Epoch
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_epoch_now(OUT epoch_id integer, OUT one_reset boolean)
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    now_is  @extschema@.ff_epoch;
    last    @extschema@.ff_epoch;
    before  record;
BEGIN
    SELECT 0, s.system_identifier, d.oid, s.timeline, current_setting('server_version_num')::integer,
           pg_stat_get_db_stat_reset_time(d.oid), pg_stat_get_bgwriter_stat_reset_time(), clock_timestamp()
      INTO now_is
      FROM @extschema@.ff_server() s, pg_database d
     WHERE d.datname = current_database();

    one_reset := false;
    SELECT * INTO last FROM @extschema@.ff_epoch e ORDER BY e.epoch_id DESC LIMIT 1;
    IF FOUND AND (last.system_identifier, last.database_oid, last.timeline, last.server_version)
               = (now_is.system_identifier, now_is.database_oid, now_is.timeline, now_is.server_version)
             AND last.cluster_reset IS NOT DISTINCT FROM now_is.cluster_reset
    THEN
        -- The database's reset time also moves when one table's counters are
        -- reset.  A collection inserts one row into ff_collection, so the
        -- counter of that table falls if, and only if, all were reset.
        SELECT c.canary, k.inserted INTO before
          FROM @extschema@.ff_collection c, @extschema@.ff_counters(c.tableoid) k
         ORDER BY c.collection_id DESC LIMIT 1;
        epoch_id := last.epoch_id;
        IF last.database_reset IS NOT DISTINCT FROM now_is.database_reset THEN
            RETURN;
        ELSIF before.inserted >= before.canary THEN
            UPDATE @extschema@.ff_epoch e SET database_reset = now_is.database_reset WHERE e.epoch_id = last.epoch_id;
            one_reset := true;
            RETURN;
        END IF;
    END IF;

    INSERT INTO @extschema@.ff_epoch (system_identifier, database_oid, timeline, server_version, database_reset, cluster_reset, began_at)
    VALUES (now_is.system_identifier, now_is.database_oid, now_is.timeline, now_is.server_version, now_is.database_reset, now_is.cluster_reset, now_is.began_at)
    RETURNING ff_epoch.epoch_id INTO epoch_id;
END
$$;
COMMENT ON FUNCTION @extschema@.ff_epoch_now() IS 'epoch_id: the epoch that the server is in, written down where it is new. one_reset: the counters of a single table, index or function were reset since the last collection. Internal step of ff_collect().';
REVOKE ALL ON FUNCTION @extschema@.ff_epoch_now() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_epoch_now() TO pg_stat_scan_tables;

-- ---------------------------------------------------------------------------
-- Changes
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_index_changes(old_oids oid[], old_definitions text[], new_oids oid[], new_definitions text[], OUT dropped text[], OUT created text[])
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    -- An index that came while an equal one went (REINDEX CONCURRENTLY, or a
    -- history restored elsewhere) is no change, nor is another name.
    WITH one AS (
        SELECT o.id, o.definition, 1 AS side FROM unnest(old_oids, old_definitions) o(id, definition) WHERE o.id <> ALL (coalesce(new_oids, '{}'))
        UNION ALL
        SELECT n.id, n.definition, 2 FROM unnest(new_oids, new_definitions) n(id, definition) WHERE n.id <> ALL (coalesce(old_oids, '{}'))
    ), keyed AS (
        SELECT one.*, (definition LIKE 'CREATE UNIQUE %')::text || coalesce(substring(definition FROM ' USING .*'), definition) AS key FROM one
    ), numbered AS (
        SELECT k.*, row_number() OVER (PARTITION BY side, key ORDER BY id) AS n FROM keyed k
    ), unpaired AS (
        SELECT a.* FROM numbered a WHERE NOT EXISTS (SELECT 1 FROM numbered b WHERE b.side <> a.side AND b.key = a.key AND b.n = a.n)
    )
    SELECT array_agg(definition ORDER BY id) FILTER (WHERE side = 1), array_agg(definition ORDER BY id) FILTER (WHERE side = 2) FROM unpaired
$$;
COMMENT ON FUNCTION @extschema@.ff_index_changes(oid[], text[], oid[], text[]) IS 'Definitions of the indexes that went and came between two looks at a table; NULL where none did. An index replaced by an equal one is no change. Internal step of ff_collect().';
REVOKE ALL ON FUNCTION @extschema@.ff_index_changes(oid[], text[], oid[], text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_index_changes(oid[], text[], oid[], text[]) TO pg_stat_scan_tables;

CREATE FUNCTION @extschema@.ff_other_options(reloptions text[]) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT array_agg(o.option ORDER BY o.option) FROM unnest(reloptions) o(option) WHERE o.option !~* '^fillfactor='
$$;
COMMENT ON FUNCTION @extschema@.ff_other_options(text[]) IS 'A table''s stored options without its fillfactor, in order; NULL where there is no other.';
REVOKE ALL ON FUNCTION @extschema@.ff_other_options(text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_other_options(text[]) TO pg_stat_scan_tables, pg_read_all_stats;

-- ---------------------------------------------------------------------------
-- Begin: identities, intervals, changes, baselines
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_collect_begin() RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
SET jit = off
-- straight from shared memory: a snapshot of all tables would be kept until the end
SET stats_fetch_consistency = none
AS $$
DECLARE
    server    record;
    database  oid := (SELECT oid FROM pg_database WHERE datname = current_database());
    epoch     integer;
    one_reset boolean;
    previous  timestamptz;
    looked_at timestamptz;
    seen      integer;
    written   integer;
    id        bigint;
BEGIN
    PERFORM pg_stat_clear_snapshot();
    SELECT * INTO server FROM @extschema@.ff_server();
    SELECT n.epoch_id, n.one_reset INTO epoch, one_reset FROM @extschema@.ff_epoch_now() n;
    looked_at := clock_timestamp();
    SELECT max(began_at) INTO previous FROM @extschema@.ff_collection WHERE epoch_id = epoch;

    -- A history that was restored or upgraded into this database finds its
    -- tables by name, once.
    UPDATE @extschema@.ff_relation r
       SET system_identifier = server.system_identifier, database_oid = database, relid = c.relid, birth = a.xmin,
           relfilenode = c.relfilenode
      FROM @extschema@.ff_candidate c
      JOIN pg_attribute a ON a.attrelid = c.relid AND a.attnum = -1
     WHERE r.closed_at IS NULL
       AND (r.system_identifier, r.database_oid) <> (server.system_identifier, database)
       AND (c.nspname, c.relname) = (r.nspname, r.relname) AND c.not_examined IS NULL;

    -- Gone, another table under the same OID, or not found by name.
    UPDATE @extschema@.ff_relation r
       SET closed_at = looked_at
     WHERE r.closed_at IS NULL
       AND ((r.system_identifier, r.database_oid) <> (server.system_identifier, database)
            OR NOT EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = r.relid AND a.attnum = -1 AND a.xmin = r.birth));
    DELETE FROM @extschema@.ff_problem p
     USING @extschema@.ff_relation r WHERE r.rel_id = p.rel_id AND r.closed_at = looked_at;

    -- One look at all counters serves every statement part: all of them see
    -- the baselines as they were before.
    WITH look AS MATERIALIZED (
        SELECT c.relid, a.xmin AS birth, c.nspname, c.relname, c.relfilenode, c.reloptions,
               @extschema@.ff_fillfactor(c.reloptions) AS fillfactor,
               @extschema@.ff_index_oids(c.relid) AS index_oids, k.*
          FROM @extschema@.ff_candidate c
          JOIN pg_attribute a ON a.attrelid = c.relid AND a.attnum = -1
         CROSS JOIN LATERAL @extschema@.ff_counters(c.relid) k
         WHERE c.not_examined IS NULL
    ), known AS (
        SELECT l.*, r.rel_id, r.epoch_id,
               r.relfilenode <> l.relfilenode AS rewritten,
               (l.inserted, l.updated, l.hot_updated, coalesce(l.newpage_updated, 0), l.deleted)
                 IS DISTINCT FROM (r.inserted, r.updated, r.hot_updated, coalesce(r.newpage_updated, 0), r.deleted) AS moved,
               -- one table's counters were reset: any of them fell
               l.inserted < r.inserted OR l.updated < r.updated OR l.hot_updated < r.hot_updated OR l.deleted < r.deleted
                 OR coalesce(l.newpage_updated < r.newpage_updated, false) OR l.seq_scans < r.seq_scans OR l.blocks_fetched < r.blocks_fetched
                 OR l.vacuums < r.vacuums OR l.analyzes < r.analyzes AS fell,
               -- a vacuum or analyze before the last collection would have been
               -- forgotten by a reset since
               one_reset AND coalesce(least(pg_stat_get_last_vacuum_time(l.relid), pg_stat_get_last_autovacuum_time(l.relid),
                                            pg_stat_get_last_analyze_time(l.relid), pg_stat_get_last_autoanalyze_time(l.relid)) >= previous, true) AS perhaps_reset,
               r.epoch_id IS DISTINCT FROM epoch AS new_epoch,
               (l.nspname, l.relname, l.relfilenode, l.reloptions, l.index_oids)
                 IS DISTINCT FROM (r.nspname, r.relname, r.relfilenode, r.reloptions, r.index_oids) AS redefined
          FROM look l
          JOIN @extschema@.ff_relation r ON r.relid = l.relid AND r.closed_at IS NULL
    ), changed AS MATERIALIZED (
        SELECT k.*, s.heap_bytes, s.index_bytes,
               -- A reset table whose counters exceed the old ones already shows
               -- none that fell: then whatever it may have been is not believed.
               k.fell OR k.new_epoch OR (k.perhaps_reset AND NOT EXISTS (SELECT 1 FROM known o WHERE o.fell)) AS lost,
               CASE WHEN k.redefined THEN (SELECT array_agg(coalesce(pg_get_indexdef(i), '') ORDER BY i) FROM unnest(k.index_oids) i) END AS index_definitions,
               (SELECT coalesce(sum(pg_stat_get_numscans(i.indexrelid)), 0) FROM pg_index i WHERE i.indrelid = k.relid)::bigint AS index_scans
          FROM known k CROSS JOIN LATERAL @extschema@.ff_sizes(k.relid) s
         WHERE k.moved OR k.fell OR k.new_epoch OR k.redefined
    ), interval_rows AS (
        INSERT INTO @extschema@.ff_interval
               (rel_id, began_at, ended_at, epoch_id, fillfactor, rewritten, inserted, updated, hot_updated, newpage_updated, deleted,
                seq_scans, index_scans, blocks_fetched, blocks_hit, vacuums, heap_bytes, index_bytes)
        SELECT c.rel_id, greatest(r.seen_at, previous), looked_at, epoch, c.fillfactor, c.rewritten,
               c.inserted - r.inserted, c.updated - r.updated, c.hot_updated - r.hot_updated, c.newpage_updated - r.newpage_updated, c.deleted - r.deleted,
               c.seq_scans - r.seq_scans, greatest(c.index_scans - r.index_scans, 0), c.blocks_fetched - r.blocks_fetched, greatest(c.blocks_hit - r.blocks_hit, 0),
               c.vacuums - r.vacuums, c.heap_bytes, c.index_bytes
          FROM changed c JOIN @extschema@.ff_relation r ON r.rel_id = c.rel_id
         WHERE (c.moved OR c.redefined) AND NOT c.lost
        RETURNING rel_id
    ), changes AS (
        INSERT INTO @extschema@.ff_change
               (rel_id, kind, before_at, seen_at, epoch_id, old_fillfactor, new_fillfactor, old_options, new_options, dropped_indexes, created_indexes)
        SELECT c.rel_id, k.kind, greatest(r.seen_at, previous), looked_at, epoch, r.fillfactor, c.fillfactor, r.reloptions, c.reloptions, x.dropped, x.created
          FROM changed c JOIN @extschema@.ff_relation r ON r.rel_id = c.rel_id
         CROSS JOIN LATERAL @extschema@.ff_index_changes(r.index_oids, r.index_definitions, c.index_oids, c.index_definitions) x
         CROSS JOIN LATERAL (VALUES ('fillfactor', c.fillfactor <> r.fillfactor),
                                    ('options', @extschema@.ff_other_options(c.reloptions) IS DISTINCT FROM @extschema@.ff_other_options(r.reloptions)),
                                    ('indexes', x.dropped IS NOT NULL OR x.created IS NOT NULL)) k(kind, differs)
         WHERE c.redefined AND k.differs
    ), baselines AS (
        UPDATE @extschema@.ff_relation r
           SET nspname = c.nspname, relname = c.relname, relfilenode = c.relfilenode, reloptions = c.reloptions, fillfactor = c.fillfactor,
               index_oids = c.index_oids, index_definitions = CASE WHEN c.redefined THEN c.index_definitions ELSE r.index_definitions END,
               epoch_id = epoch, seen_at = looked_at,
               inserted = c.inserted, updated = c.updated, hot_updated = c.hot_updated, newpage_updated = c.newpage_updated, deleted = c.deleted,
               seq_scans = c.seq_scans, index_scans = c.index_scans, blocks_fetched = c.blocks_fetched, blocks_hit = c.blocks_hit,
               vacuums = c.vacuums, analyzes = c.analyzes,
               changes_since_sample = CASE WHEN c.lost THEN r.changes_since_sample + c.inserted + c.updated + c.deleted
                   ELSE r.changes_since_sample + c.inserted - r.inserted + c.updated - r.updated + c.deleted - r.deleted END
          FROM changed c WHERE r.rel_id = c.rel_id
    ), fresh AS (
        INSERT INTO @extschema@.ff_relation
               (system_identifier, database_oid, relid, birth, nspname, relname, relfilenode, reloptions, fillfactor, index_oids, index_definitions, opened_at, epoch_id, seen_at,
                inserted, updated, hot_updated, newpage_updated, deleted, seq_scans, index_scans, blocks_fetched, blocks_hit, vacuums, analyzes, changes_since_sample)
        SELECT server.system_identifier, database, l.relid, l.birth, l.nspname, l.relname, l.relfilenode, l.reloptions, l.fillfactor,
               l.index_oids, (SELECT array_agg(coalesce(pg_get_indexdef(i), '') ORDER BY i) FROM unnest(l.index_oids) i), looked_at, epoch, looked_at,
               l.inserted, l.updated, l.hot_updated, l.newpage_updated, l.deleted, l.seq_scans,
               (SELECT coalesce(sum(pg_stat_get_numscans(i.indexrelid)), 0) FROM pg_index i WHERE i.indrelid = l.relid)::bigint,
               l.blocks_fetched, l.blocks_hit, l.vacuums, l.analyzes, l.inserted + l.updated + l.deleted
          FROM look l
         WHERE NOT EXISTS (SELECT 1 FROM @extschema@.ff_relation r WHERE r.relid = l.relid AND r.closed_at IS NULL)
        RETURNING rel_id, relid
    ), first_interval AS (
        -- Born since the previous collection of this epoch: its counters began
        -- at zero then, so they are an interval already.
        INSERT INTO @extschema@.ff_interval
               (rel_id, began_at, ended_at, epoch_id, fillfactor, rewritten, inserted, updated, hot_updated, newpage_updated, deleted,
                seq_scans, index_scans, blocks_fetched, blocks_hit, vacuums, heap_bytes, index_bytes)
        SELECT f.rel_id, previous, looked_at, epoch, l.fillfactor, false, l.inserted, l.updated, l.hot_updated, l.newpage_updated, l.deleted,
               l.seq_scans, 0, l.blocks_fetched, l.blocks_hit, l.vacuums, s.heap_bytes, s.index_bytes
          FROM fresh f JOIN look l USING (relid) CROSS JOIN LATERAL @extschema@.ff_sizes(l.relid) s
         WHERE previous IS NOT NULL AND l.inserted + l.updated + l.deleted > 0
        RETURNING rel_id
    )
    SELECT (SELECT count(*) FROM look),
           (SELECT count(*) FROM interval_rows) + (SELECT count(*) FROM first_interval)
      INTO seen, written;

    INSERT INTO @extschema@.ff_collection (epoch_id, began_at, relations, changed, track_counts, open_writers, canary)
    SELECT epoch, looked_at, seen, written, current_setting('track_counts')::boolean,
           (SELECT count(*) FROM pg_stat_get_activity(NULL) s
             WHERE s.datid = database AND s.pid <> pg_backend_pid() AND s.backend_xid IS NOT NULL
               -- a procedure that commits as it goes reports its counts at its end
               AND least(s.xact_start, s.query_start) < coalesce(previous, looked_at)),
           -- this row itself will be counted
           1 + (SELECT k.inserted FROM pg_class o, @extschema@.ff_counters(o.oid) k
                 WHERE o.relname = 'ff_collection'
                   AND o.relnamespace = (SELECT e.extnamespace FROM pg_extension e WHERE e.extname = 'fillfactor_advisor'))
    RETURNING collection_id INTO id;
    RETURN id;
END
$$;
COMMENT ON FUNCTION @extschema@.ff_collect_begin() IS 'Reads the counters of every examined table, follows identities, writes an interval for each table that changed, what was changed of its definition, and the new baselines. Returns the collection_id. Internal step of ff_collect().';
REVOKE ALL ON FUNCTION @extschema@.ff_collect_begin() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_collect_begin() TO pg_stat_scan_tables;

-- ---------------------------------------------------------------------------
-- Pages: what to sample, one sample, its failure
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_collect_due() RETURNS SETOF bigint
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- Worth reading again: a hundredth of the rows changed since the last
    -- sample, or anything did and a day has passed.  Longest waiting first,
    -- then most changed.
    SELECT r.rel_id
      FROM @extschema@.ff_relation r
      LEFT JOIN pg_class c ON c.oid = r.relid
     WHERE r.closed_at IS NULL
       AND CASE WHEN r.sampled_at IS NULL THEN true
                WHEN r.changes_since_sample = 0 THEN false
                WHEN r.sampled_at < clock_timestamp() - interval '1 day' THEN true
                ELSE r.changes_since_sample >= 0.01 * greatest(CASE WHEN c.reltuples BETWEEN 0 AND 1e15 THEN c.reltuples ELSE 0 END, 100) END
     ORDER BY r.changes_since_sample = 0, date_trunc('hour', r.sampled_at) NULLS FIRST, r.changes_since_sample DESC, r.rel_id
$$;
COMMENT ON FUNCTION @extschema@.ff_collect_due() IS 'rel_id of the tables whose pages should be sampled now, most urgent first. Internal step of ff_collect().';
REVOKE ALL ON FUNCTION @extschema@.ff_collect_due() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_collect_due() TO pg_stat_scan_tables;

CREATE FUNCTION @extschema@.ff_collect_pages(id bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    pages   bigint;
    looked_at timestamptz := clock_timestamp();
BEGIN
    INSERT INTO @extschema@.ff_page_sample (rel_id, sampled_at, fillfactor,
            blocks, blocks_read, blocks_new, blocks_bad, live_pct, live_pct_err, dead_pct, dead_pct_err, free_pct,
            free_pct_err, reserve_pct, live_rows, live_rows_err, dead_rows, recently_dead_rows, redirect_lps,
            dead_lps, unused_lps, updated_hot_rows, updated_cold_rows, superseded_hot, superseded_same_page,
            superseded_moved, rows_per_page, rows_per_page_max, inserted_width, inserted_width_err, updated_width,
            updated_width_err, updated_pct, update_group_rows, insert_group_rows, update_distance,
            update_distance_p10, update_distance_p90, page_lsn_age_p10, page_lsn_age_p50, page_lsn_age_p90, full_pct,
            fill_histogram)
    SELECT r.rel_id, looked_at, r.fillfactor,
           s.blocks, s.blocks_read, s.blocks_new, s.blocks_bad, s.live_pct, s.live_pct_err, s.dead_pct,
           s.dead_pct_err, s.free_pct, s.free_pct_err, s.reserve_pct, s.live_rows, s.live_rows_err, s.dead_rows,
           s.recently_dead_rows, s.redirect_lps, s.dead_lps, s.unused_lps, s.updated_hot_rows, s.updated_cold_rows,
           s.superseded_hot, s.superseded_same_page, s.superseded_moved, s.rows_per_page, s.rows_per_page_max,
           s.inserted_width, s.inserted_width_err, s.updated_width, s.updated_width_err, s.updated_pct,
           s.update_group_rows, s.insert_group_rows, s.update_distance, s.update_distance_p10, s.update_distance_p90,
           s.page_lsn_age_p10, s.page_lsn_age_p50, s.page_lsn_age_p90, s.full_pct, s.fill_histogram
      FROM @extschema@.ff_relation r CROSS JOIN LATERAL @extschema@.ff_sample(r.relid::regclass) s
     WHERE r.rel_id = id
    RETURNING blocks_read INTO pages;
    UPDATE @extschema@.ff_relation r SET sampled_at = looked_at, changes_since_sample = 0 WHERE r.rel_id = id;
    DELETE FROM @extschema@.ff_problem p WHERE p.rel_id = id;
    RETURN pages;
END
$$;
COMMENT ON FUNCTION @extschema@.ff_collect_pages(bigint) IS 'Samples one table into ff_page_sample and returns the number of pages read. Internal step of ff_collect().';
REVOKE ALL ON FUNCTION @extschema@.ff_collect_pages(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_collect_pages(bigint) TO pg_stat_scan_tables;

CREATE FUNCTION @extschema@.ff_collect_problem(id bigint, state text, why text) RETURNS void
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    INSERT INTO @extschema@.ff_problem AS p (rel_id, seen_at, occurrences, sqlstate, message)
    VALUES (id, clock_timestamp(), 1, state, why)
    ON CONFLICT (rel_id) DO UPDATE
       SET seen_at = EXCLUDED.seen_at, sqlstate = EXCLUDED.sqlstate, message = EXCLUDED.message, occurrences = p.occurrences + 1
$$;
COMMENT ON FUNCTION @extschema@.ff_collect_problem(bigint, text, text) IS 'Writes down why a table could not be sampled. Internal step of ff_collect().';
REVOKE ALL ON FUNCTION @extschema@.ff_collect_problem(bigint, text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_collect_problem(bigint, text, text) TO pg_stat_scan_tables;

CREATE FUNCTION @extschema@.ff_collect_end(id bigint, sampled integer, skipped integer, failed integer, deferred integer) RETURNS void
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    UPDATE @extschema@.ff_collection c
       SET ended_at = clock_timestamp(), sampled = $2, skipped = $3, failed = $4, deferred = $5
     WHERE c.collection_id = $1
$$;
COMMENT ON FUNCTION @extschema@.ff_collect_end(bigint, integer, integer, integer, integer) IS 'Closes a collection with its counts. Internal step of ff_collect().';
REVOKE ALL ON FUNCTION @extschema@.ff_collect_end(bigint, integer, integer, integer, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_collect_end(bigint, integer, integer, integer, integer) TO pg_stat_scan_tables;

-- ---------------------------------------------------------------------------
-- Prune: finer history becomes coarser, then goes
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_rows_kept(history_table text) RETURNS bigint
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
      JOIN pg_extension e ON e.extnamespace = c.relnamespace AND e.extname = 'fillfactor_advisor'
     CROSS JOIN LATERAL @extschema@.ff_counters(c.oid) k
     WHERE c.relname = history_table
$$;
COMMENT ON FUNCTION @extschema@.ff_rows_kept(text) IS 'Rows that a history table has at least, by the server''s own counts, this session''s included, without reading it. Too low for rows inserted since the last vacuum or analyze. Internal step of ff_collect().';
REVOKE ALL ON FUNCTION @extschema@.ff_rows_kept(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_rows_kept(text) TO pg_stat_scan_tables;

CREATE FUNCTION @extschema@.ff_prune(batch bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    oldest  CONSTANT timestamptz := clock_timestamp() - make_interval(days => @extschema@.ff_setting('retention')::integer);
    most    CONSTANT bigint := @extschema@.ff_setting('history_rows')::bigint;
    step    record;
    removed bigint := 0;
    n       bigint;
BEGIN
    -- past the retention
    DELETE FROM @extschema@.ff_interval i
     WHERE i.ctid = ANY (ARRAY(SELECT o.ctid FROM @extschema@.ff_interval o, (VALUES (0), (1), (2)) g(grain)
                                WHERE o.grain = g.grain AND o.ended_at < oldest LIMIT batch));
    GET DIAGNOSTICS n = ROW_COUNT;  removed := removed + n;
    DELETE FROM @extschema@.ff_page_sample i
     WHERE i.ctid = ANY (ARRAY(SELECT o.ctid FROM @extschema@.ff_page_sample o, (VALUES (0), (1), (2)) g(grain)
                                WHERE o.grain = g.grain AND o.sampled_at < oldest LIMIT greatest(batch - removed, 0)));
    GET DIAGNOSTICS n = ROW_COUNT;  removed := removed + n;

    -- past the limit of rows: the oldest, rolled up or not
    n := least(batch - removed, @extschema@.ff_rows_kept('ff_interval') - most);
    IF n > 0 THEN
        DELETE FROM @extschema@.ff_interval i
         WHERE i.ctid = ANY (ARRAY(SELECT o.tid FROM (VALUES (0), (1), (2)) g(grain)
                                    CROSS JOIN LATERAL (SELECT t.ctid AS tid, t.ended_at FROM @extschema@.ff_interval t
                                                         WHERE t.grain = g.grain ORDER BY t.ended_at LIMIT n) o
                                    ORDER BY o.ended_at LIMIT n));
        GET DIAGNOSTICS n = ROW_COUNT;  removed := removed + n;
    END IF;
    n := least(batch - removed, @extschema@.ff_rows_kept('ff_page_sample') - most);
    IF n > 0 THEN
        DELETE FROM @extschema@.ff_page_sample i
         WHERE i.ctid = ANY (ARRAY(SELECT o.tid FROM (VALUES (0), (1), (2)) g(grain)
                                    CROSS JOIN LATERAL (SELECT t.ctid AS tid, t.sampled_at FROM @extschema@.ff_page_sample t
                                                         WHERE t.grain = g.grain ORDER BY t.sampled_at LIMIT n) o
                                    ORDER BY o.sampled_at LIMIT n));
        GET DIAGNOSTICS n = ROW_COUNT;  removed := removed + n;
    END IF;

    -- after a day by the hour, after two weeks by the day
    FOR step IN SELECT * FROM (VALUES (0, 'hour', interval '1 day'), (1, 'day', interval '14 days')) v(grain, unit, age) LOOP
        WITH taken AS (
            DELETE FROM @extschema@.ff_interval i
             WHERE i.ctid = ANY (ARRAY(SELECT o.ctid FROM @extschema@.ff_interval o
                                        WHERE o.grain = step.grain AND o.ended_at < date_trunc(step.unit, clock_timestamp() - step.age)
                                        ORDER BY o.ended_at LIMIT greatest(batch - removed, 0)))
            RETURNING *
        ), rolled AS (
            INSERT INTO @extschema@.ff_interval
                   (rel_id, began_at, ended_at, epoch_id, grain, fillfactor, rewritten, inserted, updated, hot_updated, newpage_updated, deleted,
                    seq_scans, index_scans, blocks_fetched, blocks_hit, vacuums, heap_bytes, index_bytes)
            SELECT rel_id, min(began_at), max(ended_at), epoch_id, step.grain + 1, fillfactor, bool_or(rewritten),
                   sum(inserted), sum(updated), sum(hot_updated), sum(newpage_updated), sum(deleted),
                   sum(seq_scans), sum(index_scans), sum(blocks_fetched), sum(blocks_hit), sum(vacuums),
                   (array_agg(heap_bytes ORDER BY ended_at DESC) FILTER (WHERE heap_bytes IS NOT NULL))[1],
                   (array_agg(index_bytes ORDER BY ended_at DESC) FILTER (WHERE index_bytes IS NOT NULL))[1]
              FROM taken GROUP BY rel_id, epoch_id, fillfactor, date_trunc(step.unit, ended_at)
        )
        SELECT count(*) INTO n FROM taken;
        removed := removed + n;

        -- of samples the last one of the hour or day is kept
        WITH old AS (
            SELECT o.ctid AS tid, o.rel_id, o.sampled_at
              FROM @extschema@.ff_page_sample o
             WHERE o.grain = step.grain AND o.sampled_at < date_trunc(step.unit, clock_timestamp() - step.age)
             ORDER BY o.sampled_at LIMIT greatest(batch - removed, 0)
        ), ranked AS (
            SELECT tid, row_number() OVER (PARTITION BY rel_id, date_trunc(step.unit, sampled_at) ORDER BY sampled_at DESC) = 1 AS last_one FROM old
        ), gone AS (
            DELETE FROM @extschema@.ff_page_sample i WHERE i.ctid = ANY (ARRAY(SELECT tid FROM ranked WHERE NOT last_one))
        ), kept AS (
            UPDATE @extschema@.ff_page_sample i SET grain = step.grain + 1 WHERE i.ctid = ANY (ARRAY(SELECT tid FROM ranked WHERE last_one))
        )
        SELECT count(*) INTO n FROM ranked;
        removed := removed + n;
    END LOOP;

    DELETE FROM @extschema@.ff_collection c
     WHERE c.collection_id = ANY (ARRAY(SELECT o.collection_id FROM @extschema@.ff_collection o WHERE o.began_at < oldest ORDER BY o.began_at LIMIT batch));
    GET DIAGNOSTICS n = ROW_COUNT;  removed := removed + n;
    DELETE FROM @extschema@.ff_change o WHERE o.seen_at < oldest;
    DELETE FROM @extschema@.ff_prediction o WHERE o.made_at < oldest;
    -- the value in force stays, however old
    DELETE FROM @extschema@.ff_setting_history o
     WHERE o.seen_at < oldest AND EXISTS (SELECT 1 FROM @extschema@.ff_setting_history l WHERE l.setting = o.setting AND l.seen_at > o.seen_at);
    DELETE FROM @extschema@.ff_relation r
     WHERE r.closed_at < oldest
       AND NOT EXISTS (SELECT 1 FROM @extschema@.ff_interval i WHERE i.rel_id = r.rel_id)
       AND NOT EXISTS (SELECT 1 FROM @extschema@.ff_page_sample p WHERE p.rel_id = r.rel_id);
    RETURN removed;
END
$$;
COMMENT ON FUNCTION @extschema@.ff_prune(bigint) IS 'One batch of keeping the history small: rows older than fillfactor_advisor.retention or beyond fillfactor_advisor.history_rows go, those older than a day are rolled up to hours, those older than two weeks to days. Returns the rows handled; fewer than the batch means that nothing is left. Internal step of ff_collect().';
REVOKE ALL ON FUNCTION @extschema@.ff_prune(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_prune(bigint) TO pg_stat_scan_tables;

-- ---------------------------------------------------------------------------
-- The collection
-- ---------------------------------------------------------------------------
CREATE PROCEDURE @extschema@.ff_collect()
LANGUAGE c
AS 'MODULE_PATHNAME', 'ff_collect';
COMMENT ON PROCEDURE @extschema@.ff_collect() IS 'Reads the counters of every table, writes what changed, and samples the pages of the most urgent within fillfactor_advisor.collect_pages and collect_time. Commits as it goes when called outside a transaction block. Errors: 25006 in recovery or a read-only transaction. A second collector leaves with a notice.';
REVOKE ALL ON PROCEDURE @extschema@.ff_collect() FROM PUBLIC;
GRANT EXECUTE ON PROCEDURE @extschema@.ff_collect() TO pg_stat_scan_tables;
-- How far a running collection is, told by what it holds and has committed:
-- it writes nothing for this.

CREATE FUNCTION @extschema@.ff_progress()
RETURNS TABLE (
    pid           integer,
    phase         text,
    began_at      timestamptz,
    running_s     double precision,
    current_table regclass,
    sampled       bigint,
    problems      bigint,
    waiting       bigint,
    collection_id bigint
)
LANGUAGE sql VOLATILE ROWS 1
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT l.pid, p.phase, a.query_start, extract(epoch FROM clock_timestamp() - a.query_start)::double precision,
           -- the one user table that it holds a lock on
           (SELECT t.relation::regclass FROM pg_locks t
             WHERE t.pid = l.pid AND t.locktype = 'relation' AND t.database = l.database
               AND EXISTS (SELECT 1 FROM @extschema@.ff_relation r WHERE r.relid = t.relation AND r.closed_at IS NULL) LIMIT 1),
           CASE WHEN p.phase <> 'counters' THEN (SELECT count(*) FROM @extschema@.ff_relation r WHERE r.sampled_at >= c.began_at) END,
           CASE WHEN p.phase <> 'counters' THEN (SELECT count(*) FROM @extschema@.ff_problem r WHERE r.seen_at >= c.began_at) END,
           CASE WHEN p.phase = 'pages' THEN (SELECT count(*) FROM @extschema@.ff_collect_due() d(rel_id)
                                              WHERE NOT EXISTS (SELECT 1 FROM @extschema@.ff_problem r WHERE r.rel_id = d.rel_id AND r.seen_at >= c.began_at)) END,
           CASE WHEN p.phase <> 'counters' THEN c.collection_id END
      FROM pg_locks l
      JOIN pg_database b ON b.oid = l.database AND b.datname = current_database()
      LEFT JOIN pg_stat_get_activity(NULL) a ON a.pid = l.pid
      LEFT JOIN (SELECT k.* FROM @extschema@.ff_collection k ORDER BY k.collection_id DESC LIMIT 1) c ON c.began_at >= a.query_start
     CROSS JOIN LATERAL (SELECT CASE WHEN c.collection_id IS NULL THEN 'counters' WHEN c.ended_at IS NULL THEN 'pages' ELSE 'history' END AS phase) p
     -- the advisory lock of the collector, see src/collect.c
     WHERE l.locktype = 'advisory' AND l.classid = 1717985636 AND l.objid = 1 AND l.objsubid = 2 AND l.granted
$$;
COMMENT ON FUNCTION @extschema@.ff_progress() IS 'The collection that is running in this database, if any. pid: its session. phase: counters (of all tables), pages (samples), history (pruning). began_at, running_s: of the CALL, seconds. current_table: the table being sampled. sampled, problems: tables done so far. waiting: tables whose pages are still wanted, as far as the budget reaches. collection_id: its row in ff_collection. What a collection inside a transaction block has done cannot be seen.';
REVOKE ALL ON FUNCTION @extschema@.ff_progress() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_progress() TO pg_read_all_stats;
GRANT EXECUTE ON FUNCTION @extschema@.ff_collect_due() TO pg_read_all_stats;

-- Schedule: ff_collect() as a pg_cron job.

-- Where pg_cron is, and its functions and job table as they are to be called.
-- Only members of the extension pg_cron are named: a schema that merely is called
-- cron is never touched.  state: here, elsewhere (the server runs it from another
-- database), not_created (it would run from this one), absent, unknown (the
-- settings are hidden from this role).
CREATE FUNCTION @extschema@.ff_cron(
    OUT state text,
    OUT cron_database text,
    OUT schedule_function text,
    OUT unschedule_function text,
    OUT job_table text,
    OUT job_name text,
    OUT command text
)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    extension oid;
    own_schema name;
BEGIN
    SELECT n.nspname INTO STRICT own_schema
      FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
     WHERE e.extname = 'fillfactor_advisor';
    command := format('CALL %I.ff_collect()', own_schema);

    -- a job's name is a name, 63 bytes: a long database name is shortened, still unique
    job_name := 'fillfactor_advisor ' || current_database();
    IF octet_length(job_name) > 63 THEN
        job_name := 'fillfactor_advisor ' || left(encode(sha256(convert_to(current_database(), 'UTF8')), 'hex'), 32);
    END IF;

    SELECT s.setting INTO cron_database FROM pg_settings s WHERE s.name = 'cron.database_name';
    SELECT e.oid INTO extension FROM pg_extension e WHERE e.extname = 'pg_cron';

    IF extension IS NULL THEN
        state := CASE WHEN cron_database = current_database() THEN 'not_created'
                      WHEN cron_database IS NOT NULL THEN 'elsewhere'
                      WHEN pg_has_role(current_user, 'pg_read_all_settings', 'USAGE') THEN 'absent'
                      ELSE 'unknown' END;
        RETURN;
    ELSIF cron_database <> current_database() THEN
        state := 'elsewhere';
        RETURN;
    END IF;

    state := 'here';
    SELECT max(format('%I.%I', n.nspname, p.proname)) FILTER (WHERE p.proname = 'schedule'
               AND p.proargtypes::text = '25 25 25'),
           max(format('%I.%I', n.nspname, p.proname)) FILTER (WHERE p.proname = 'unschedule'
               AND p.proargtypes::text = '20')
      INTO schedule_function, unschedule_function
      FROM pg_depend d
      JOIN pg_proc p ON p.oid = d.objid
      JOIN pg_namespace n ON n.oid = p.pronamespace
     WHERE d.classid = 'pg_proc'::regclass
       AND d.refclassid = 'pg_extension'::regclass AND d.refobjid = extension AND d.deptype = 'e';
    SELECT format('%I.%I', n.nspname, c.relname) INTO job_table
      FROM pg_depend d
      JOIN pg_class c ON c.oid = d.objid
      JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE d.classid = 'pg_class'::regclass AND d.objsubid = 0
       AND d.refclassid = 'pg_extension'::regclass AND d.refobjid = extension AND d.deptype = 'e'
       AND c.relname = 'job' AND c.relkind = 'r';
    IF schedule_function IS NULL OR unschedule_function IS NULL OR job_table IS NULL THEN
        RAISE EXCEPTION 'pg_cron is too old'
            USING ERRCODE = 'feature_not_supported',
                  DETAIL = 'It has no schedule(text, text, text), unschedule(bigint) or job table of its own.',
                  HINT = 'Run ALTER EXTENSION pg_cron UPDATE; version 1.4 or later is needed.';
    END IF;
END
$$;
REVOKE ALL ON FUNCTION @extschema@.ff_cron() FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.ff_cron() IS
'internal: where pg_cron is, and the names ff_schedule() and ff_unschedule() use';

CREATE FUNCTION @extschema@.ff_schedule(schedule text DEFAULT '*/5 * * * *') RETURNS text
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    cron record;
    job bigint;
    others bigint;
    crontab text;
BEGIN
    IF schedule IS NULL THEN
        RAISE EXCEPTION 'schedule must not be null'
            USING ERRCODE = 'null_value_not_allowed',
                  HINT = 'To stop collecting, use ff_unschedule().';
    END IF;
    SELECT * INTO cron FROM @extschema@.ff_cron();

    IF cron.state = 'here' THEN
        -- a wrong schedule is refused by pg_cron, in its own words
        EXECUTE format('SELECT %s($1, $2, $3)', cron.schedule_function)
           INTO job USING cron.job_name, schedule, cron.command;
        EXECUTE format('SELECT count(*) FROM %s WHERE jobid <> $1 AND jobname = $2 AND database = $3', cron.job_table)
           INTO others USING job, cron.job_name, current_database();
        IF others > 0 THEN
            RAISE WARNING 'another role has scheduled the same collection'
                USING DETAIL = 'The second of two collectors leaves without harm.',
                      HINT = 'ff_unschedule(), run by a superuser, removes all of them.';
        END IF;
        RETURN format('job %s: %s in database %I, schedule %s, as user %I. Run ff_unschedule() before DROP EXTENSION.',
                      job, cron.command, current_database(), schedule, current_user);
    ELSIF cron.state = 'elsewhere' THEN
        RAISE WARNING 'nothing is scheduled yet: pg_cron runs from database "%"', cron.cron_database
            USING HINT = 'Run the returned statement there.';
        RETURN format('SELECT cron.schedule_in_database(%L, %L, %L, %L);',
                      cron.job_name, schedule, cron.command, current_database());
    ELSIF cron.state = 'not_created' THEN
        RAISE EXCEPTION 'pg_cron is loaded but not created in this database'
            USING ERRCODE = 'undefined_object',
                  HINT = 'Run CREATE EXTENSION pg_cron, then ff_schedule() again.';
    END IF;

    -- In a crontab % is a line end and a line end cannot be written.
    IF cron.command || current_database() || schedule ~ '[[:cntrl:]]' THEN
        crontab := 'call psql on this database';
    ELSE
        crontab := format('%s  PGDATABASE=''%s'' psql -X -q -c ''%s''', schedule,
                          replace(replace(current_database(), '''', '''\'''''), '%', '\%'),
                          replace(replace(cron.command, '''', '''\'''''), '%', '\%'));
    END IF;
    RAISE EXCEPTION '%', CASE cron.state
            WHEN 'unknown' THEN 'pg_cron is not in this database, and the server''s settings are hidden from this role'
            ELSE 'pg_cron is not loaded by this server' END
        USING ERRCODE = 'object_not_in_prerequisite_state',
              HINT = format('Add pg_cron to shared_preload_libraries, restart, and run CREATE EXTENSION pg_cron in the database that cron.database_name names. '
                            'Without pg_cron a line in the crontab (or a systemd timer with its command) does the same: %s', crontab);
END
$$;
REVOKE ALL ON FUNCTION @extschema@.ff_schedule(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_cron(), @extschema@.ff_schedule(text) TO pg_stat_scan_tables;
COMMENT ON FUNCTION @extschema@.ff_schedule(text) IS
'schedules CALL ff_collect() as a pg_cron job of the calling role (cron syntax; a newer pg_cron also takes ''30 seconds''); called again it changes the schedule. Where pg_cron runs from another database: a warning, and the statement to run there';

CREATE FUNCTION @extschema@.ff_unschedule() RETURNS text
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    cron record;
    removed bigint;
BEGIN
    SELECT * INTO cron FROM @extschema@.ff_cron();

    IF cron.state = 'here' THEN
        EXECUTE format('SELECT count(%s(j.jobid)) FROM (SELECT jobid FROM %s WHERE jobname = $1 AND database = $2) j',
                       cron.unschedule_function, cron.job_table)
           INTO removed USING cron.job_name, current_database();
        RETURN format('%s job(s) removed', removed);
    ELSIF cron.state = 'elsewhere' THEN
        RAISE WARNING 'nothing is removed yet: pg_cron runs from database "%"', cron.cron_database
            USING HINT = 'Run the returned statement there.';
        RETURN format('SELECT cron.unschedule(jobid) FROM cron.job WHERE jobname = %L AND database = %L;',
                      cron.job_name, current_database());
    END IF;
    RETURN '0 job(s) removed: pg_cron is not in this database';
END
$$;
REVOKE ALL ON FUNCTION @extschema@.ff_unschedule() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_unschedule() TO pg_stat_scan_tables;
COMMENT ON FUNCTION @extschema@.ff_unschedule() IS
'removes the pg_cron jobs of ff_schedule() for this database that the calling role may see, and no other job; may be called again. Where pg_cron runs from another database: a warning, and the statement to run there';

-- Stage statements: which statements write which table and column, how often, at
-- what cost.  Everything else works without this stage; what is missing then is
-- said in ff_statement_look.reason.

-- ---------------------------------------------------------------------------
-- Reading one text
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_parse_statement(
    query text,
    OUT command text,
    OUT schema_name text,
    OUT relation_name text,
    OUT columns text[],
    OUT how text,
    OUT reason text
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'ff_parse_statement';
COMMENT ON FUNCTION @extschema@.ff_parse_statement(text) IS 'The tables a statement writes, one row for each command (INSERT, UPDATE, DELETE, COPY) and table, with the columns an UPDATE sets and where it stands (top, on_conflict, merge, cte); for a text that cannot be read one row with the reason. Parses only: looks up and executes nothing.';
REVOKE ALL ON FUNCTION @extschema@.ff_parse_statement(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_parse_statement(text) TO pg_stat_scan_tables, pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_resolve(
    schema_name text,
    relation_name text,
    OUT relid oid,
    OUT reason text
)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    meant  record;
BEGIN
    -- The session's search_path is not known: an unqualified name counts only
    -- if one table of the database can be meant.  The catalog comes first in
    -- every search_path.
    SELECT count(*) AS tables,
           bool_or(n.nspname IN ('pg_catalog', 'information_schema', 'pg_toast') OR own.own) AS ignored,
           (array_agg(c.oid))[1] AS oid, (array_agg(c.relkind))[1] AS relkind, (array_agg(c.relpersistence))[1] AS relpersistence,
           left(string_agg(format('%I.%I', n.nspname, c.relname), ', ' ORDER BY n.nspname), 200) AS names
      INTO meant
      FROM pg_class c
      JOIN pg_namespace n ON n.oid = c.relnamespace
     CROSS JOIN LATERAL (
           SELECT EXISTS (SELECT 1 FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid
                           WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid
                             AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
                             AND e.extname = 'fillfactor_advisor') AS own) own
     WHERE c.relname = ff_resolve.relation_name
       AND c.relkind = ANY (ARRAY['r', 'p', 'v', 'm', 'f']::"char"[])
       AND (n.nspname = ff_resolve.schema_name
            OR ff_resolve.schema_name IS NULL AND n.nspname NOT IN ('information_schema', 'pg_toast'));

    IF meant.ignored OR schema_name IN ('pg_catalog', 'information_schema', 'pg_toast') THEN
        RETURN;
    ELSIF meant.tables = 0 THEN
        reason := 'no table of that name in this database: dropped, renamed or temporary';
    ELSIF meant.tables > 1 THEN
        reason := 'several tables of that name: ' || meant.names;
    ELSIF meant.relpersistence = 't' OR schema_name = 'pg_temp' THEN
        reason := 'temporary table';
    ELSIF meant.relkind IN ('v', 'm') THEN
        reason := 'view';
    ELSIF meant.relkind = 'f' THEN
        reason := 'foreign table';
    ELSE
        relid := meant.oid;
    END IF;
END
$$;
COMMENT ON FUNCTION @extschema@.ff_resolve(text, text) IS 'Internal: the table that a name in a statement''s text means, whatever the search_path was; otherwise the reason; neither for system tables and the extension''s own.';
REVOKE ALL ON FUNCTION @extschema@.ff_resolve(text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_resolve(text, text) TO pg_stat_scan_tables, pg_read_all_stats;

-- ---------------------------------------------------------------------------
-- History
-- ---------------------------------------------------------------------------
CREATE TABLE @extschema@.ff_statement_epoch (
    statement_epoch_id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    system_identifier  bigint NOT NULL,
    database_oid       oid NOT NULL,
    server_version     integer NOT NULL,
    stats_reset        timestamptz,
    began_at           timestamptz NOT NULL
);
COMMENT ON TABLE @extschema@.ff_statement_epoch IS 'A span in which the counters of pg_stat_statements only grow, but for entries evicted or reset one by one. It has its own resets, apart from ff_epoch.';
COMMENT ON COLUMN @extschema@.ff_statement_epoch.system_identifier IS 'identifier of the cluster';
COMMENT ON COLUMN @extschema@.ff_statement_epoch.database_oid IS 'OID of the database at that time';
COMMENT ON COLUMN @extschema@.ff_statement_epoch.server_version IS 'server_version_num without the minor version: query identifiers hold within it';
COMMENT ON COLUMN @extschema@.ff_statement_epoch.stats_reset IS 'pg_stat_statements_info.stats_reset: moves with every reset and with a crash';
COMMENT ON COLUMN @extschema@.ff_statement_epoch.began_at IS 'first look in this epoch';

CREATE TABLE @extschema@.ff_statement_look (
    collection_id      bigint PRIMARY KEY,
    looked_at          timestamptz NOT NULL,
    statement_epoch_id integer,
    evictions          bigint,
    entries            integer CHECK (entries >= 0),
    hidden             integer CHECK (hidden >= 0),
    tracked            integer CHECK (tracked >= 0),
    admitted           integer CHECK (admitted >= 0),
    left_out           integer CHECK (left_out >= 0),
    lost               integer CHECK (lost >= 0),
    reason             text,
    CHECK ((reason IS NULL) = (statement_epoch_id IS NOT NULL))
);
CREATE INDEX ff_statement_look_looked_at ON @extschema@.ff_statement_look (looked_at);
COMMENT ON TABLE @extschema@.ff_statement_look IS 'One row for each collection: what was read of pg_stat_statements, or why nothing was.';
COMMENT ON COLUMN @extschema@.ff_statement_look.looked_at IS 'when the counters were read';
COMMENT ON COLUMN @extschema@.ff_statement_look.evictions IS 'pg_stat_statements_info.dealloc, cumulative: how often entries were evicted';
COMMENT ON COLUMN @extschema@.ff_statement_look.entries IS 'entries of this database';
COMMENT ON COLUMN @extschema@.ff_statement_look.hidden IS 'of these, other roles'' entries that the collecting role may not see';
COMMENT ON COLUMN @extschema@.ff_statement_look.tracked IS 'statements followed that were among them';
COMMENT ON COLUMN @extschema@.ff_statement_look.admitted IS 'statements read for the first time';
COMMENT ON COLUMN @extschema@.ff_statement_look.left_out IS 'statements that write but are beyond fillfactor_advisor.statements';
COMMENT ON COLUMN @extschema@.ff_statement_look.lost IS 'entries whose counters fell (evicted and entered again, or reset): their interval is lost';
COMMENT ON COLUMN @extschema@.ff_statement_look.reason IS 'why nothing was read; NULL where it was';

CREATE TABLE @extschema@.ff_statement (
    statement_id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queryid            bigint NOT NULL,
    toplevel           boolean NOT NULL,
    kind               text NOT NULL CHECK (kind IN ('write', 'unattributed', 'other')),
    text               text CHECK (length(text) <= 4000),
    text_bytes         integer CHECK (text_bytes >= 0),
    text_hash          text,
    reason             text,
    statement_epoch_id integer NOT NULL,
    opened_at          timestamptz NOT NULL,
    closed_at          timestamptz
);
CREATE UNIQUE INDEX ff_statement_open ON @extschema@.ff_statement (queryid, toplevel) WHERE closed_at IS NULL;
COMMENT ON TABLE @extschema@.ff_statement IS 'Statements read, each once. A statement whose table is gone is closed; should it come back, that is a new row.';
COMMENT ON COLUMN @extschema@.ff_statement.queryid IS 'pg_stat_statements.queryid';
COMMENT ON COLUMN @extschema@.ff_statement.toplevel IS 'sent by a client, not run inside a function';
COMMENT ON COLUMN @extschema@.ff_statement.kind IS 'write: at least one table it writes is known; unattributed: none is, see reason; other: writes no table, not followed';
COMMENT ON COLUMN @extschema@.ff_statement.text IS 'its text as first seen, the first 4000 characters; NULL for kind other and where there was none';
COMMENT ON COLUMN @extschema@.ff_statement.text_bytes IS 'length of the whole text, bytes';
COMMENT ON COLUMN @extschema@.ff_statement.text_hash IS 'SHA-256 of the whole text';
COMMENT ON COLUMN @extschema@.ff_statement.reason IS 'why its text could not be read';
COMMENT ON COLUMN @extschema@.ff_statement.statement_epoch_id IS 'epoch in which it was read';
COMMENT ON COLUMN @extschema@.ff_statement.opened_at IS 'when it was read';
COMMENT ON COLUMN @extschema@.ff_statement.closed_at IS 'when its table was found gone, or it had not been called for a week; NULL: followed';

CREATE TABLE @extschema@.ff_statement_target (
    statement_id  bigint NOT NULL,
    "position"    smallint NOT NULL,
    command       text NOT NULL CHECK (command IN ('INSERT', 'UPDATE', 'DELETE', 'COPY')),
    how           text NOT NULL CHECK (how IN ('top', 'on_conflict', 'merge', 'cte')),
    schema_name   text,
    relation_name text NOT NULL,
    relid         oid,
    rel_id        bigint,
    columns       text[],
    reason        text,
    PRIMARY KEY (statement_id, "position"),
    CHECK ((relid IS NULL) = (reason IS NOT NULL))
);
CREATE INDEX ff_statement_target_relid ON @extschema@.ff_statement_target (relid);
COMMENT ON TABLE @extschema@.ff_statement_target IS 'The tables a statement writes.';
COMMENT ON COLUMN @extschema@.ff_statement_target."position" IS 'order in the statement, from 1';
COMMENT ON COLUMN @extschema@.ff_statement_target.command IS 'what it does to this table';
COMMENT ON COLUMN @extschema@.ff_statement_target.how IS 'where in the statement: top, on_conflict (DO UPDATE), merge, cte (in a WITH; its rows are not in the statement''s row count)';
COMMENT ON COLUMN @extschema@.ff_statement_target.schema_name IS 'schema as written; NULL: none';
COMMENT ON COLUMN @extschema@.ff_statement_target.relation_name IS 'table as written';
COMMENT ON COLUMN @extschema@.ff_statement_target.relid IS 'OID of the table meant; NULL: see reason';
COMMENT ON COLUMN @extschema@.ff_statement_target.rel_id IS 'key in ff_relation; NULL for a partitioned table, which holds no rows itself';
COMMENT ON COLUMN @extschema@.ff_statement_target.columns IS 'columns that an UPDATE sets, as written';
COMMENT ON COLUMN @extschema@.ff_statement_target.reason IS 'why the table is not known';

CREATE TABLE @extschema@.ff_statement_baseline (
    statement_id       bigint NOT NULL,
    userid             oid NOT NULL,
    statement_epoch_id integer NOT NULL,
    seen_at            timestamptz NOT NULL,
    entered_at         timestamptz,
    calls              bigint NOT NULL,
    rows               bigint NOT NULL,
    total_ms           double precision NOT NULL,
    stddev_ms          double precision NOT NULL,
    min_ms             double precision NOT NULL,
    max_ms             double precision NOT NULL,
    blocks_hit         bigint NOT NULL,
    blocks_read        bigint NOT NULL,
    blocks_dirtied     bigint NOT NULL,
    blocks_written     bigint NOT NULL,
    read_ms            double precision NOT NULL,
    wal_records        bigint NOT NULL,
    wal_fpi            bigint NOT NULL,
    wal_bytes          numeric NOT NULL,
    PRIMARY KEY (statement_id, userid)
) WITH (fillfactor = 70);
COMMENT ON TABLE @extschema@.ff_statement_baseline IS 'The counters of pg_stat_statements, cumulative, at the last look that found them changed; one row a statement and role.';
COMMENT ON COLUMN @extschema@.ff_statement_baseline.userid IS 'role that ran the statement';
COMMENT ON COLUMN @extschema@.ff_statement_baseline.seen_at IS 'that look';
COMMENT ON COLUMN @extschema@.ff_statement_baseline.entered_at IS 'pg_stat_statements.stats_since; NULL before version 1.11 of it';
COMMENT ON COLUMN @extschema@.ff_statement_baseline.calls IS 'executions, cumulative, as are the following';
COMMENT ON COLUMN @extschema@.ff_statement_baseline.rows IS 'rows of the statement itself';
COMMENT ON COLUMN @extschema@.ff_statement_baseline.total_ms IS 'execution time, milliseconds';
COMMENT ON COLUMN @extschema@.ff_statement_baseline.stddev_ms IS 'standard deviation of the execution times (of the population), milliseconds';
COMMENT ON COLUMN @extschema@.ff_statement_baseline.min_ms IS 'shortest execution, milliseconds';
COMMENT ON COLUMN @extschema@.ff_statement_baseline.max_ms IS 'longest execution, milliseconds';
COMMENT ON COLUMN @extschema@.ff_statement_baseline.blocks_hit IS 'shared buffer hits';
COMMENT ON COLUMN @extschema@.ff_statement_baseline.blocks_read IS 'blocks read into shared buffers';
COMMENT ON COLUMN @extschema@.ff_statement_baseline.blocks_dirtied IS 'blocks dirtied';
COMMENT ON COLUMN @extschema@.ff_statement_baseline.blocks_written IS 'blocks the statement had to write out itself';
COMMENT ON COLUMN @extschema@.ff_statement_baseline.read_ms IS 'time for blocks_read, milliseconds';
COMMENT ON COLUMN @extschema@.ff_statement_baseline.wal_records IS 'WAL records';
COMMENT ON COLUMN @extschema@.ff_statement_baseline.wal_fpi IS 'full-page images in the WAL';
COMMENT ON COLUMN @extschema@.ff_statement_baseline.wal_bytes IS 'WAL, bytes';

CREATE TABLE @extschema@.ff_statement_history (
    statement_id       bigint NOT NULL,
    began_at           timestamptz NOT NULL,
    ended_at           timestamptz NOT NULL,
    statement_epoch_id integer NOT NULL,
    grain              smallint NOT NULL DEFAULT 0 CHECK (grain BETWEEN 0 AND 2),
    calls              bigint NOT NULL CHECK (calls > 0),
    rows               bigint NOT NULL CHECK (rows >= 0),
    total_ms           double precision NOT NULL CHECK (total_ms >= 0),
    stddev_ms          double precision NOT NULL CHECK (stddev_ms >= 0),
    blocks_hit         bigint NOT NULL CHECK (blocks_hit >= 0),
    blocks_read        bigint NOT NULL CHECK (blocks_read >= 0),
    blocks_dirtied     bigint NOT NULL CHECK (blocks_dirtied >= 0),
    blocks_written     bigint NOT NULL CHECK (blocks_written >= 0),
    read_ms            double precision NOT NULL CHECK (read_ms >= 0),
    wal_records        bigint NOT NULL CHECK (wal_records >= 0),
    wal_fpi            bigint NOT NULL CHECK (wal_fpi >= 0),
    wal_bytes          bigint NOT NULL CHECK (wal_bytes >= 0),
    CHECK (ended_at >= began_at)
);
CREATE INDEX ff_statement_history_id_ended_at ON @extschema@.ff_statement_history (statement_id, ended_at);
CREATE INDEX ff_statement_history_grain_ended_at ON @extschema@.ff_statement_history (grain, ended_at);
COMMENT ON TABLE @extschema@.ff_statement_history IS 'What a statement did between two looks in one statement epoch, all roles together; no row where it was not called.';
COMMENT ON COLUMN @extschema@.ff_statement_history.began_at IS 'the look before';
COMMENT ON COLUMN @extschema@.ff_statement_history.ended_at IS 'the look that saw it';
COMMENT ON COLUMN @extschema@.ff_statement_history.grain IS '0: one collection; 1: rolled up to an hour; 2: rolled up to a day';
COMMENT ON COLUMN @extschema@.ff_statement_history.calls IS 'executions';
COMMENT ON COLUMN @extschema@.ff_statement_history.rows IS 'rows of the statement itself, not of its WITH queries';
COMMENT ON COLUMN @extschema@.ff_statement_history.total_ms IS 'execution time, milliseconds; the mean is total_ms / calls';
COMMENT ON COLUMN @extschema@.ff_statement_history.stddev_ms IS 'standard deviation of the execution times of this interval (of the population), milliseconds';
COMMENT ON COLUMN @extschema@.ff_statement_history.blocks_hit IS 'shared buffer hits';
COMMENT ON COLUMN @extschema@.ff_statement_history.blocks_read IS 'blocks read into shared buffers';
COMMENT ON COLUMN @extschema@.ff_statement_history.blocks_dirtied IS 'blocks dirtied';
COMMENT ON COLUMN @extschema@.ff_statement_history.blocks_written IS 'blocks the statement had to write out itself';
COMMENT ON COLUMN @extschema@.ff_statement_history.read_ms IS 'time for blocks_read, milliseconds; 0 while track_io_timing is off';
COMMENT ON COLUMN @extschema@.ff_statement_history.wal_records IS 'WAL records';
COMMENT ON COLUMN @extschema@.ff_statement_history.wal_fpi IS 'full-page images in the WAL';
COMMENT ON COLUMN @extschema@.ff_statement_history.wal_bytes IS 'WAL, bytes';

REVOKE ALL ON @extschema@.ff_statement_epoch, @extschema@.ff_statement_look, @extschema@.ff_statement, @extschema@.ff_statement_target,
              @extschema@.ff_statement_baseline, @extschema@.ff_statement_history FROM PUBLIC;
GRANT SELECT ON @extschema@.ff_statement_epoch, @extschema@.ff_statement_look, @extschema@.ff_statement, @extschema@.ff_statement_target,
                @extschema@.ff_statement_baseline, @extschema@.ff_statement_history TO pg_read_all_stats;

-- one call at a time: each of them changes the same catalog row
DO $$
DECLARE
    kept oid;
BEGIN
    FOR kept IN
        SELECT c.oid
          FROM pg_class c JOIN pg_extension e ON e.extname = 'fillfactor_advisor' AND c.relnamespace = e.extnamespace
         WHERE c.relname IN ('ff_statement_epoch', 'ff_statement_look', 'ff_statement', 'ff_statement_target', 'ff_statement_baseline',
                             'ff_statement_history', 'ff_statement_epoch_statement_epoch_id_seq', 'ff_statement_statement_id_seq')
         ORDER BY c.relkind, c.relname
    LOOP
        PERFORM pg_extension_config_dump(kept, '');
    END LOOP;
END
$$;

-- ---------------------------------------------------------------------------
-- One look at pg_stat_statements
-- ---------------------------------------------------------------------------

-- Where pg_stat_statements is, and a query for its counters under fixed names,
-- whatever its version calls them.  Only members of the extension are named.
CREATE FUNCTION @extschema@.ff_statement_source(
    OUT counters text,
    OUT texts text,
    OUT info text,
    OUT reason text
)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    extension oid;
    reader    record;
    has       text[];
BEGIN
    SELECT e.oid INTO extension FROM pg_extension e WHERE e.extname = 'pg_stat_statements';
    IF extension IS NULL THEN
        reason := 'pg_stat_statements is not created in this database';
        RETURN;
    END IF;
    SELECT format('%I.%I', n.nspname, p.proname) AS name, p.proargnames AS has INTO reader
      FROM pg_depend d
      JOIN pg_proc p ON p.oid = d.objid
      JOIN pg_namespace n ON n.oid = p.pronamespace
     WHERE d.classid = 'pg_proc'::regclass AND d.deptype = 'e'
       AND d.refclassid = 'pg_extension'::regclass AND d.refobjid = extension
       AND p.proname = 'pg_stat_statements' AND p.proargtypes::text = '16';
    has := reader.has;

    SELECT format('SELECT i.stats_reset, i.dealloc AS evictions FROM %I.%I() i', n.nspname, p.proname) INTO info
      FROM pg_depend d
      JOIN pg_proc p ON p.oid = d.objid
      JOIN pg_namespace n ON n.oid = p.pronamespace
     WHERE d.classid = 'pg_proc'::regclass AND d.deptype = 'e'
       AND d.refclassid = 'pg_extension'::regclass AND d.refobjid = extension
       AND p.proname = 'pg_stat_statements_info' AND p.pronargs = 0;
    -- 1.9 came with PostgreSQL 14; an older one stays behind where only the server was upgraded
    IF info IS NULL OR NOT coalesce(has @> ARRAY['toplevel', 'stddev_exec_time', 'wal_bytes'], false) THEN
        reason := 'pg_stat_statements is older than 1.9: ALTER EXTENSION pg_stat_statements UPDATE';
        RETURN;
    END IF;

    counters := format(
        'SELECT s.queryid, s.toplevel, s.userid, s.calls, s.rows, s.total_exec_time AS total_ms, s.stddev_exec_time AS stddev_ms, '
        's.min_exec_time AS min_ms, s.max_exec_time AS max_ms, s.shared_blks_hit AS blocks_hit, s.shared_blks_read AS blocks_read, '
        's.shared_blks_dirtied AS blocks_dirtied, s.shared_blks_written AS blocks_written, %s AS read_ms, '
        's.wal_records, s.wal_fpi, s.wal_bytes, %s AS entered_at, s.wal_records > 0 OR s.shared_blks_dirtied > 0 AS writes '
        'FROM %s(false) s WHERE s.dbid = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database())',
        CASE WHEN 'shared_blk_read_time' = ANY (has) THEN 's.shared_blk_read_time' ELSE 's.blk_read_time' END,
        CASE WHEN 'stats_since' = ANY (has) THEN 's.stats_since' ELSE 'NULL::timestamptz' END,
        reader.name);
    texts := format(
        'SELECT DISTINCT ON (s.queryid, n.toplevel) s.queryid, n.toplevel, s.query '
        'FROM %s(true) s JOIN ROWS FROM (unnest($1), unnest($2)) AS n(queryid, toplevel) ON s.queryid = n.queryid AND s.toplevel = n.toplevel '
        'WHERE s.dbid = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database()) '
        'ORDER BY s.queryid, n.toplevel, s.query IS NULL',
        reader.name);
END
$$;
COMMENT ON FUNCTION @extschema@.ff_statement_source() IS 'Internal: the queries by which pg_stat_statements is read here, or the reason why it cannot be.';
REVOKE ALL ON FUNCTION @extschema@.ff_statement_source() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_statement_source() TO pg_stat_scan_tables, pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_collect_statements(id bigint) RETURNS text
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    at        CONSTANT timestamptz := clock_timestamp();
    most      CONSTANT integer := @extschema@.ff_setting('statements');
    by_name   CONSTANT boolean := current_setting('server_version_num')::integer >= 180000;
    source    record;
    server    record;
    told      record;
    epoch     @extschema@.ff_statement_epoch;
    previous  @extschema@.ff_statement_look;
    why       text;
    one       record;
    target    record;
    meant     record;
    own       name;
    new_ids   bigint[];
    new_tops  boolean[];
    statement bigint;
    n         integer;
    resolved  integer;
    unresolved integer;
    room      integer;
    entries   integer;
    hidden    integer;
    tracked   integer;
    admitted  integer := 0;
    left_out  integer;
    lost      integer;
BEGIN
    SELECT ns.nspname INTO STRICT own FROM pg_extension e JOIN pg_namespace ns ON ns.oid = e.extnamespace WHERE e.extname = 'fillfactor_advisor';
    SELECT * INTO source FROM @extschema@.ff_statement_source();
    why := CASE WHEN most = 0 THEN 'fillfactor_advisor.statements is 0' ELSE source.reason END;
    IF why IS NULL THEN
        BEGIN
            EXECUTE source.info INTO told;
            EXECUTE source.counters || ' LIMIT 0';
        EXCEPTION WHEN object_not_in_prerequisite_state OR insufficient_privilege OR undefined_function OR undefined_file THEN
            -- not preloaded, not readable, or its library is gone
            why := SQLERRM;
        END;
    END IF;
    IF why IS NOT NULL THEN
        INSERT INTO @extschema@.ff_statement_look (collection_id, looked_at, reason) VALUES (id, at, why);
        RETURN why;
    END IF;

    -- Epoch.  A statement's identifier holds for one major version and database.
    SELECT s.system_identifier, d.oid AS database, current_setting('server_version_num')::integer / 10000 * 10000 AS version
      INTO server FROM @extschema@.ff_server() s, pg_database d WHERE d.datname = current_database();
    SELECT * INTO epoch FROM @extschema@.ff_statement_epoch ORDER BY statement_epoch_id DESC LIMIT 1;
    IF NOT FOUND OR (epoch.system_identifier, epoch.database_oid, epoch.server_version) <> (server.system_identifier, server.database, server.version)
                 OR epoch.stats_reset IS DISTINCT FROM told.stats_reset THEN
        IF (epoch.system_identifier, epoch.database_oid, epoch.server_version) <> (server.system_identifier, server.database, server.version) THEN
            UPDATE @extschema@.ff_statement SET closed_at = at WHERE closed_at IS NULL;
        ELSE
            -- a text that could not be read may have come back whole
            UPDATE @extschema@.ff_statement s SET closed_at = at WHERE s.closed_at IS NULL AND s.reason IS NOT NULL;
        END IF;
        INSERT INTO @extschema@.ff_statement_epoch (system_identifier, database_oid, server_version, stats_reset, began_at)
        VALUES (server.system_identifier, server.database, server.version, told.stats_reset, at)
        RETURNING * INTO epoch;
    END IF;
    SELECT * INTO previous FROM @extschema@.ff_statement_look l
     WHERE l.statement_epoch_id = epoch.statement_epoch_id ORDER BY l.collection_id DESC LIMIT 1;

    -- A table gone takes its statements along.  Where identifiers follow names
    -- (PostgreSQL 18 and later), so does a table that now has another name.
    UPDATE @extschema@.ff_statement_target t
       SET rel_id = r.rel_id
      FROM @extschema@.ff_relation r, @extschema@.ff_statement s
     WHERE t.rel_id IS NULL AND r.relid = t.relid AND r.closed_at IS NULL
       AND s.statement_id = t.statement_id AND s.closed_at IS NULL;
    UPDATE @extschema@.ff_statement s
       SET closed_at = at
     WHERE s.closed_at IS NULL
       AND EXISTS (SELECT 1
                     FROM @extschema@.ff_statement_target t
                     LEFT JOIN pg_class c ON c.oid = t.relid
                     LEFT JOIN @extschema@.ff_relation r ON r.rel_id = t.rel_id
                    WHERE t.statement_id = s.statement_id AND t.relid IS NOT NULL
                      AND (c.oid IS NULL OR r.closed_at IS NOT NULL OR by_name AND c.relname <> t.relation_name));

    -- New statements that write, most called first, as many as there is room for.
    SELECT greatest(most - count(*), 0) INTO room FROM @extschema@.ff_statement s WHERE s.closed_at IS NULL AND s.kind <> 'other';
    EXECUTE format(
        'WITH candidate AS ('
        '  SELECT c.queryid, c.toplevel, row_number() OVER (ORDER BY sum(c.calls) DESC, c.queryid) AS n'
        '    FROM (%s) c WHERE c.writes AND c.queryid IS NOT NULL'
        '     AND NOT EXISTS (SELECT 1 FROM %I.ff_statement s WHERE s.queryid = c.queryid AND s.toplevel = c.toplevel AND s.closed_at IS NULL)'
        '   GROUP BY c.queryid, c.toplevel)'
        'SELECT array_agg(queryid) FILTER (WHERE n <= $1), array_agg(toplevel) FILTER (WHERE n <= $1), count(*) FILTER (WHERE n > $1) FROM candidate',
        source.counters, own)
       INTO new_ids, new_tops, left_out USING room;

    IF new_ids IS NOT NULL THEN
        FOR one IN EXECUTE source.texts USING new_ids, new_tops LOOP
            INSERT INTO @extschema@.ff_statement (queryid, toplevel, kind, text, text_bytes, text_hash, statement_epoch_id, opened_at)
            VALUES (one.queryid, one.toplevel, 'other', left(one.query, 4000), octet_length(one.query), encode(sha256(convert_to(one.query, 'UTF8')), 'hex'), epoch.statement_epoch_id, at)
            RETURNING statement_id INTO statement;
            n := 0;  resolved := 0;  unresolved := 0;  why := NULL;
            FOR target IN SELECT * FROM @extschema@.ff_parse_statement(one.query) LOOP
                IF target.reason IS NOT NULL THEN
                    why := target.reason;
                    EXIT;
                END IF;
                SELECT * INTO meant FROM @extschema@.ff_resolve(target.schema_name, target.relation_name);
                CONTINUE WHEN meant.relid IS NULL AND meant.reason IS NULL;
                n := n + 1;
                resolved := resolved + (meant.relid IS NOT NULL)::integer;
                unresolved := unresolved + (meant.relid IS NULL)::integer;
                INSERT INTO @extschema@.ff_statement_target (statement_id, "position", command, how, schema_name, relation_name, relid, rel_id, columns, reason)
                VALUES (statement, n, target.command, target.how, target.schema_name, target.relation_name, meant.relid,
                        (SELECT r.rel_id FROM @extschema@.ff_relation r WHERE r.relid = meant.relid AND r.closed_at IS NULL ORDER BY r.rel_id DESC LIMIT 1),
                        target.columns, meant.reason);
                EXIT WHEN n = 32767;
            END LOOP;
            UPDATE @extschema@.ff_statement s
               SET kind = CASE WHEN resolved > 0 THEN 'write' WHEN unresolved > 0 OR why IS NOT NULL THEN 'unattributed' ELSE 'other' END,
                   reason = why,
                   text = CASE WHEN n > 0 OR why IS NOT NULL THEN s.text END
             WHERE s.statement_id = statement;
            admitted := admitted + 1;
        END LOOP;
    END IF;

    -- Differences to the baselines, and the new baselines.  Every part of the
    -- statement sees the same one look, and the baselines as they were before.
    EXECUTE format($q$
        WITH look AS MATERIALIZED (%s),
        followed AS MATERIALIZED (
            SELECT l.*, s.statement_id, b.statement_id IS NOT NULL AS known,
                   -- the same entry, further on
                   coalesce(b.statement_epoch_id = $1 AND b.entered_at IS NOT DISTINCT FROM l.entered_at
                            AND l.calls >= b.calls AND l.rows >= b.rows AND l.total_ms >= b.total_ms AND l.wal_bytes >= b.wal_bytes
                            AND l.wal_records >= b.wal_records AND l.wal_fpi >= b.wal_fpi AND l.blocks_hit >= b.blocks_hit
                            AND l.blocks_read >= b.blocks_read AND l.blocks_dirtied >= b.blocks_dirtied
                            AND l.blocks_written >= b.blocks_written AND l.read_ms >= b.read_ms
                            -- without the time of entry, the extremes tell an entry that was evicted and came back
                            AND (l.entered_at IS NOT NULL OR l.min_ms <= b.min_ms AND l.max_ms >= b.max_ms), false) AS same,
                   -- entered since the look before: its counters began at zero then
                   coalesce(CASE WHEN l.entered_at IS NOT NULL THEN l.entered_at >= $2
                                 ELSE b.statement_id IS NULL AND $3 AND NOT EXISTS (
                                      SELECT 1 FROM %2$I.ff_statement o
                                       WHERE o.queryid = s.queryid AND o.toplevel = s.toplevel AND o.closed_at IS NOT NULL
                                         AND s.opened_at = $4) END, false) AS fresh,
                   b.statement_epoch_id, b.calls AS calls0, b.rows AS rows0, b.total_ms AS total_ms0, b.stddev_ms AS stddev_ms0,
                   b.blocks_hit AS blocks_hit0, b.blocks_read AS blocks_read0, b.blocks_dirtied AS blocks_dirtied0, b.blocks_written AS blocks_written0,
                   b.read_ms AS read_ms0, b.wal_records AS wal_records0, b.wal_fpi AS wal_fpi0, b.wal_bytes AS wal_bytes0
              FROM look l
              JOIN %2$I.ff_statement s ON s.queryid = l.queryid AND s.toplevel = l.toplevel AND s.closed_at IS NULL AND s.kind <> 'other'
              LEFT JOIN %2$I.ff_statement_baseline b ON b.statement_id = s.statement_id AND b.userid = l.userid
        ), differences AS (
            SELECT f.statement_id, f.calls - z.calls AS calls, f.rows - z.rows AS rows, f.total_ms - z.total_ms AS total_ms,
                   f.blocks_hit - z.blocks_hit AS blocks_hit, f.blocks_read - z.blocks_read AS blocks_read,
                   f.blocks_dirtied - z.blocks_dirtied AS blocks_dirtied, f.blocks_written - z.blocks_written AS blocks_written,
                   f.read_ms - z.read_ms AS read_ms, f.wal_records - z.wal_records AS wal_records, f.wal_fpi - z.wal_fpi AS wal_fpi,
                   f.wal_bytes - z.wal_bytes AS wal_bytes,
                   -- Sum of squared deviations of the interval alone: that of the whole, less that of the part before,
                   -- less what lies between the two means (Chan, Golub and LeVeque).
                   greatest(f.calls * f.stddev_ms ^ 2 - z.calls * z.stddev_ms ^ 2
                            - CASE WHEN z.calls > 0 THEN ((f.total_ms - z.total_ms) / (f.calls - z.calls) - z.total_ms / z.calls) ^ 2
                                   * z.calls * (f.calls - z.calls)::double precision / f.calls ELSE 0 END, 0) AS deviation
              FROM followed f
             CROSS JOIN LATERAL (SELECT CASE WHEN f.same THEN f.calls0 ELSE 0 END AS calls, CASE WHEN f.same THEN f.rows0 ELSE 0 END AS rows,
                                        CASE WHEN f.same THEN f.total_ms0 ELSE 0 END AS total_ms, CASE WHEN f.same THEN f.stddev_ms0 ELSE 0 END AS stddev_ms,
                                        CASE WHEN f.same THEN f.blocks_hit0 ELSE 0 END AS blocks_hit, CASE WHEN f.same THEN f.blocks_read0 ELSE 0 END AS blocks_read,
                                        CASE WHEN f.same THEN f.blocks_dirtied0 ELSE 0 END AS blocks_dirtied, CASE WHEN f.same THEN f.blocks_written0 ELSE 0 END AS blocks_written,
                                        CASE WHEN f.same THEN f.read_ms0 ELSE 0 END AS read_ms, CASE WHEN f.same THEN f.wal_records0 ELSE 0 END AS wal_records,
                                        CASE WHEN f.same THEN f.wal_fpi0 ELSE 0 END AS wal_fpi, CASE WHEN f.same THEN f.wal_bytes0 ELSE 0 END AS wal_bytes) z
             WHERE (f.same OR f.fresh) AND f.calls > z.calls
        ), written AS (
            INSERT INTO %2$I.ff_statement_history (statement_id, began_at, ended_at, statement_epoch_id, calls, rows, total_ms, stddev_ms,
                   blocks_hit, blocks_read, blocks_dirtied, blocks_written, read_ms, wal_records, wal_fpi, wal_bytes)
            SELECT d.statement_id, $2, $4, $1, sum(d.calls), sum(d.rows), sum(d.total_ms),
                   sqrt(greatest(sum(d.deviation + d.total_ms ^ 2 / d.calls) / sum(d.calls)::double precision - (sum(d.total_ms) / sum(d.calls)::double precision) ^ 2, 0)),
                   sum(d.blocks_hit), sum(d.blocks_read), sum(d.blocks_dirtied), sum(d.blocks_written), sum(d.read_ms),
                   sum(d.wal_records), sum(d.wal_fpi), least(sum(d.wal_bytes), 9223372036854775807)
              FROM differences d WHERE $2 IS NOT NULL GROUP BY d.statement_id
        ), baselines AS (
            INSERT INTO %2$I.ff_statement_baseline AS b (statement_id, userid, statement_epoch_id, seen_at, entered_at, calls, rows, total_ms, stddev_ms,
                   min_ms, max_ms, blocks_hit, blocks_read, blocks_dirtied, blocks_written, read_ms, wal_records, wal_fpi, wal_bytes)
            SELECT f.statement_id, f.userid, $1, $4, f.entered_at, f.calls, f.rows, f.total_ms, f.stddev_ms,
                   f.min_ms, f.max_ms, f.blocks_hit, f.blocks_read, f.blocks_dirtied, f.blocks_written, f.read_ms, f.wal_records, f.wal_fpi, f.wal_bytes
              FROM followed f WHERE NOT f.same OR f.calls > f.calls0
            ON CONFLICT (statement_id, userid) DO UPDATE
               SET statement_epoch_id = EXCLUDED.statement_epoch_id, seen_at = EXCLUDED.seen_at, entered_at = EXCLUDED.entered_at,
                   calls = EXCLUDED.calls, rows = EXCLUDED.rows, total_ms = EXCLUDED.total_ms, stddev_ms = EXCLUDED.stddev_ms,
                   min_ms = EXCLUDED.min_ms, max_ms = EXCLUDED.max_ms, blocks_hit = EXCLUDED.blocks_hit, blocks_read = EXCLUDED.blocks_read,
                   blocks_dirtied = EXCLUDED.blocks_dirtied, blocks_written = EXCLUDED.blocks_written, read_ms = EXCLUDED.read_ms,
                   wal_records = EXCLUDED.wal_records, wal_fpi = EXCLUDED.wal_fpi, wal_bytes = EXCLUDED.wal_bytes
        ), forgotten AS (
            -- writes nothing and is evicted: it need not be remembered
            DELETE FROM %2$I.ff_statement s
             WHERE s.kind = 'other' AND NOT EXISTS (SELECT 1 FROM look l WHERE l.queryid = s.queryid AND l.toplevel = s.toplevel)
        ), idle AS (
            UPDATE %2$I.ff_statement s SET closed_at = $4
             WHERE s.closed_at IS NULL AND s.kind <> 'other' AND s.opened_at < $4 - interval '7 days'
               AND NOT EXISTS (SELECT 1 FROM look l WHERE l.queryid = s.queryid AND l.toplevel = s.toplevel)
               AND NOT EXISTS (SELECT 1 FROM %2$I.ff_statement_baseline b WHERE b.statement_id = s.statement_id AND b.seen_at > $4 - interval '7 days')
        )
        SELECT (SELECT count(*) FROM look), (SELECT count(*) FROM look WHERE queryid IS NULL),
               (SELECT count(DISTINCT statement_id) FROM followed),
               (SELECT count(*) FROM followed WHERE known AND statement_epoch_id = $1 AND NOT same AND NOT fresh)
        $q$, source.counters, own)
       INTO entries, hidden, tracked, lost
      USING epoch.statement_epoch_id, previous.looked_at, coalesce(previous.left_out = 0 AND previous.hidden = 0, false), at;

    DELETE FROM @extschema@.ff_statement_baseline b
     USING @extschema@.ff_statement s WHERE s.statement_id = b.statement_id AND s.closed_at IS NOT NULL;

    INSERT INTO @extschema@.ff_statement_look (collection_id, looked_at, statement_epoch_id, evictions, entries, hidden, tracked, admitted, left_out, lost)
    VALUES (id, at, epoch.statement_epoch_id, told.evictions, entries, hidden, tracked, admitted, left_out, lost);
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION @extschema@.ff_collect_statements(bigint) IS 'Reads pg_stat_statements: new statements that write are parsed once, at most fillfactor_advisor.statements of them are followed, and what each did since the look before is written to ff_statement_history. Returns NULL, or why nothing could be read. Internal step of ff_collect().';
REVOKE ALL ON FUNCTION @extschema@.ff_collect_statements(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_collect_statements(bigint) TO pg_stat_scan_tables;

CREATE FUNCTION @extschema@.ff_collect_statements_failed(id bigint, why text) RETURNS void
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    INSERT INTO @extschema@.ff_statement_look (collection_id, looked_at, reason) VALUES (id, clock_timestamp(), why)
$$;
COMMENT ON FUNCTION @extschema@.ff_collect_statements_failed(bigint, text) IS 'Writes down an error of ff_collect_statements(). Internal step of ff_collect().';
REVOKE ALL ON FUNCTION @extschema@.ff_collect_statements_failed(bigint, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_collect_statements_failed(bigint, text) TO pg_stat_scan_tables;

-- ---------------------------------------------------------------------------
-- Prune
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_prune_statements(batch bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    oldest  CONSTANT timestamptz := clock_timestamp() - make_interval(days => @extschema@.ff_setting('retention')::integer);
    step    record;
    removed bigint := 0;
    n       bigint;
BEGIN
    DELETE FROM @extschema@.ff_statement_history h
     WHERE h.ctid = ANY (ARRAY(SELECT o.ctid FROM @extschema@.ff_statement_history o, (VALUES (0), (1), (2)) g(grain)
                                WHERE o.grain = g.grain AND o.ended_at < oldest LIMIT batch));
    GET DIAGNOSTICS n = ROW_COUNT;  removed := removed + n;

    -- after a day by the hour, after two weeks by the day
    FOR step IN SELECT * FROM (VALUES (0, 'hour', interval '1 day'), (1, 'day', interval '14 days')) v(grain, unit, age) LOOP
        WITH taken AS (
            DELETE FROM @extschema@.ff_statement_history h
             WHERE h.ctid = ANY (ARRAY(SELECT o.ctid FROM @extschema@.ff_statement_history o
                                        WHERE o.grain = step.grain AND o.ended_at < date_trunc(step.unit, clock_timestamp() - step.age)
                                        ORDER BY o.ended_at LIMIT greatest(batch - removed, 0)))
            RETURNING *
        ), rolled AS (
            INSERT INTO @extschema@.ff_statement_history (statement_id, began_at, ended_at, statement_epoch_id, grain, calls, rows, total_ms, stddev_ms,
                   blocks_hit, blocks_read, blocks_dirtied, blocks_written, read_ms, wal_records, wal_fpi, wal_bytes)
            SELECT t.statement_id, min(t.began_at), max(t.ended_at), t.statement_epoch_id, step.grain + 1, sum(t.calls), sum(t.rows), sum(t.total_ms),
                   sqrt(greatest(sum(t.calls * t.stddev_ms ^ 2 + t.total_ms ^ 2 / t.calls) / sum(t.calls)::double precision
                                 - (sum(t.total_ms) / sum(t.calls)::double precision) ^ 2, 0)),
                   sum(t.blocks_hit), sum(t.blocks_read), sum(t.blocks_dirtied), sum(t.blocks_written), sum(t.read_ms),
                   sum(t.wal_records), sum(t.wal_fpi), sum(t.wal_bytes)
              FROM taken t GROUP BY t.statement_id, t.statement_epoch_id, date_trunc(step.unit, t.ended_at)
        )
        SELECT count(*) INTO n FROM taken;
        removed := removed + n;
    END LOOP;

    DELETE FROM @extschema@.ff_statement_look l
     WHERE l.collection_id = ANY (ARRAY(SELECT o.collection_id FROM @extschema@.ff_statement_look o WHERE o.looked_at < oldest ORDER BY o.looked_at LIMIT greatest(batch - removed, 0)));
    GET DIAGNOSTICS n = ROW_COUNT;  removed := removed + n;
    WITH gone AS (
        DELETE FROM @extschema@.ff_statement s
         WHERE s.closed_at IS NOT NULL
           AND NOT EXISTS (SELECT 1 FROM @extschema@.ff_statement_history h WHERE h.statement_id = s.statement_id)
        RETURNING s.statement_id
    )
    DELETE FROM @extschema@.ff_statement_target t USING gone WHERE t.statement_id = gone.statement_id;
    RETURN removed;
END
$$;
COMMENT ON FUNCTION @extschema@.ff_prune_statements(bigint) IS 'One batch of ff_prune() for the statement history, by the same rules.';
REVOKE ALL ON FUNCTION @extschema@.ff_prune_statements(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_prune_statements(bigint) TO pg_stat_scan_tables;

-- ---------------------------------------------------------------------------
-- What came of it
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_statements(relation regclass DEFAULT NULL)
RETURNS TABLE (
    relation regclass,
    command text,
    how text,
    columns text[],
    calls bigint,
    calls_per_s double precision,
    rows bigint,
    rows_per_call double precision,
    mean_ms double precision,
    stddev_ms double precision,
    blocks_per_call double precision,
    wal_bytes_per_call double precision,
    statement_id bigint,
    queryid bigint,
    query text,
    reason text
)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH looked AS MATERIALIZED (
        SELECT * FROM @extschema@.ff_statement_look ORDER BY collection_id DESC LIMIT 1
    ), span AS MATERIALIZED (
        -- the part of the window in which statements were looked at
        SELECT extract(epoch FROM max(l.looked_at) - min(l.looked_at))::double precision AS seconds
          FROM @extschema@.ff_statement_look l
         WHERE l.reason IS NULL AND l.looked_at > now() - make_interval(days => @extschema@.ff_setting('lookback')::integer)
    ), total AS MATERIALIZED (
        SELECT h.statement_id, sum(h.calls)::bigint AS calls, sum(h.rows)::bigint AS rows, sum(h.total_ms) AS total_ms,
               sqrt(greatest(sum(h.calls * h.stddev_ms ^ 2 + h.total_ms ^ 2 / h.calls) / sum(h.calls)::double precision
                             - (sum(h.total_ms) / sum(h.calls)::double precision) ^ 2, 0)) AS stddev_ms,
               sum(h.blocks_hit + h.blocks_read)::double precision AS blocks, sum(h.wal_bytes)::double precision AS wal_bytes
          FROM @extschema@.ff_statement_history h
         WHERE h.ended_at > now() - make_interval(days => @extschema@.ff_setting('lookback')::integer)
         GROUP BY h.statement_id
    )
    SELECT c.oid::regclass, t.command, t.how, t.columns,
           s.calls, s.calls / nullif(p.seconds, 0), CASE WHEN t.how IS DISTINCT FROM 'cte' THEN s.rows END,
           CASE WHEN t.how IS DISTINCT FROM 'cte' THEN s.rows::double precision / s.calls END,
           s.total_ms / s.calls, s.stddev_ms, s.blocks / s.calls, s.wal_bytes / s.calls,
           q.statement_id, q.queryid, q.text, coalesce(q.reason, t.reason)
      FROM total s
      JOIN @extschema@.ff_statement q ON q.statement_id = s.statement_id AND q.kind <> 'other'
      LEFT JOIN @extschema@.ff_statement_target t ON t.statement_id = s.statement_id
      LEFT JOIN pg_class c ON c.oid = t.relid AND q.closed_at IS NULL
     CROSS JOIN span p
     WHERE $1 IS NULL
        OR c.oid = $1
        OR c.oid IN (SELECT a.relid FROM pg_partition_ancestors($1) a)
    UNION ALL
    SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, w.reason
      FROM (SELECT CASE WHEN l.collection_id IS NULL THEN 'nothing was collected yet: CALL ff_collect()'
                        ELSE l.reason END AS reason
              FROM (VALUES (1)) v LEFT JOIN looked l ON true
            UNION ALL
            SELECT format('%s statements of other roles are hidden from the collecting role: GRANT pg_read_all_stats to it', l.hidden)
              FROM looked l WHERE l.hidden > 0
            UNION ALL
            SELECT format('%s more statements that write are not followed: raise fillfactor_advisor.statements', l.left_out)
              FROM looked l WHERE l.left_out > 0) w
     WHERE w.reason IS NOT NULL
     ORDER BY 5 DESC NULLS LAST, 13, 2
$$;
COMMENT ON FUNCTION @extschema@.ff_statements(regclass) IS 'The statements that write a table, over the recent window, one row for each table and command. Columns: relation: NULL where it is not known, see reason; command; how: where in the statement it stands (top, on_conflict, merge, cte); columns: those an UPDATE sets; calls; calls_per_s; rows: rows of the statement, NULL for the targets of its WITH queries, which are not counted; rows_per_call; mean_ms, stddev_ms: execution time, milliseconds, mean and standard deviation over the window; blocks_per_call: shared blocks hit or read; wal_bytes_per_call: bytes; statement_id: key of its history; queryid: as in pg_stat_statements; query: its text, the first 4000 characters; reason: why the table is not known, or, in a row of its own, what is missing altogether.';
REVOKE ALL ON FUNCTION @extschema@.ff_statements(regclass) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_statements(regclass) TO pg_read_all_stats;

-- Memory: how much of it may hold tables.

CREATE FUNCTION @extschema@.ff_memory(
    OUT source text,
    OUT bytes bigint,
    OUT used boolean,
    OUT note text
) RETURNS SETOF record
AS 'MODULE_PATHNAME', 'ff_memory'
LANGUAGE C STRICT VOLATILE PARALLEL SAFE;
REVOKE ALL ON FUNCTION @extschema@.ff_memory() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_memory() TO pg_read_all_stats;
COMMENT ON FUNCTION @extschema@.ff_memory() IS
'memory that may hold tables, one row a source: bytes (NULL: unknown or no limit), used (true in the one row that ram_ratio divides by), note; fillfactor_advisor.ram overrides what is detected';

-- The divisor of ram_ratio.
CREATE FUNCTION @extschema@.ff_ram_bytes() RETURNS bigint
AS 'MODULE_PATHNAME', 'ff_ram_bytes'
LANGUAGE C STRICT STABLE PARALLEL SAFE;
REVOKE ALL ON FUNCTION @extschema@.ff_ram_bytes() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_ram_bytes() TO pg_read_all_stats;
COMMENT ON FUNCTION @extschema@.ff_ram_bytes() IS
'internal: bytes of memory that tables are compared with, the used row of ff_memory()';

CREATE FUNCTION @extschema@.ff_memory_parse(kind text, content text, mounts text DEFAULT '') RETURNS text
AS 'MODULE_PATHNAME', 'ff_memory_parse'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
REVOKE ALL ON FUNCTION @extschema@.ff_memory_parse(text, text, text) FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.ff_memory_parse(text, text, text) IS
'internal, for tests: what is read out of the content of a file of kind meminfo, limit or cgroup; reads no file';
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

-- Stage indexed: the columns whose change makes an update touch an index, which
-- it then cannot do as HOT.

CREATE FUNCTION @extschema@.ff_summarizing(access_method oid) RETURNS boolean
LANGUAGE c STRICT STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'ff_summarizing';
COMMENT ON FUNCTION @extschema@.ff_summarizing(oid) IS 'Whether an update of a column of such an index may be HOT on this server: BRIN, from PostgreSQL 16 on. NULL: no index access method.';
REVOKE ALL ON FUNCTION @extschema@.ff_summarizing(oid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_summarizing(oid) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_index_columns(index oid, OUT attnum smallint, OUT column_name name, OUT role text) RETURNS SETOF record
LANGUAGE sql STABLE ROWS 4
SET search_path = pg_catalog, pg_temp
AS $$
    -- Columns written as such stand in indkey.  Those of expressions and of
    -- the predicate are known from the dependencies, so nothing is evaluated.
    WITH i AS (
        SELECT x.indexrelid, x.indrelid, x.indnkeyatts, x.indkey::int2[] AS keys,
               x.indexprs IS NOT NULL AS has_expressions, x.indpred IS NOT NULL AS has_predicate
          FROM pg_index x WHERE x.indexrelid = index
    ), written AS (
        SELECT i.indrelid, k.attnum, CASE WHEN min(k.n) <= min(i.indnkeyatts) THEN 'key' ELSE 'include' END AS role
          FROM i, unnest(i.keys) WITH ORDINALITY k(attnum, n)
         WHERE k.attnum > 0
         GROUP BY i.indrelid, k.attnum
    ), derived AS (
        SELECT DISTINCT i.indrelid, d.refobjsubid::int2 AS attnum,
               CASE WHEN i.has_expressions AND i.has_predicate THEN 'expression or predicate'
                    WHEN i.has_predicate THEN 'predicate' ELSE 'expression' END AS role
          FROM i
          JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid AND d.objsubid = 0
                          AND d.refclassid = 'pg_class'::regclass AND d.refobjid = i.indrelid AND d.refobjsubid > 0
         WHERE d.refobjsubid <> ALL (i.keys)
           AND (i.has_expressions OR i.has_predicate)
    ), whole AS (
        -- an expression without a column: of the whole row, for all that is known
        SELECT i.indrelid, a.attnum, 'whole row' AS role
          FROM i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum > 0 AND NOT a.attisdropped
         WHERE i.has_expressions AND NOT EXISTS (SELECT 1 FROM derived) AND NOT EXISTS (SELECT 1 FROM written)
    )
    SELECT a.attnum, a.attname, u.role
      FROM (SELECT * FROM written UNION ALL SELECT * FROM derived UNION ALL SELECT * FROM whole) u
      JOIN pg_attribute a ON a.attrelid = u.indrelid AND a.attnum = u.attnum
     ORDER BY a.attnum
$$;
COMMENT ON FUNCTION @extschema@.ff_index_columns(oid) IS 'Columns whose change makes an update touch this index, and the role each plays: key, include, expression, predicate, whole row. Internal.';
REVOKE ALL ON FUNCTION @extschema@.ff_index_columns(oid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_index_columns(oid) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_changed_columns(relation oid, columns text[]) RETURNS text[]
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT array_agg(DISTINCT c.name ORDER BY c.name)
      FROM (SELECT unnest(columns) AS name
            UNION ALL
            SELECT g.attname::text
              FROM pg_attribute g
              JOIN pg_attrdef e ON e.adrelid = g.attrelid AND e.adnum = g.attnum
              JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = g.attrelid
                              AND d.refobjsubid > 0 AND d.refobjsubid <> g.attnum
                              AND (d.classid = 'pg_attrdef'::regclass AND d.objid = e.oid
                                   OR d.classid = 'pg_class'::regclass AND d.objid = g.attrelid AND d.objsubid = g.attnum)
              JOIN pg_attribute b ON b.attrelid = g.attrelid AND b.attnum = d.refobjsubid
             WHERE g.attrelid = relation AND g.attgenerated = 's' AND b.attname = ANY (columns)) c
$$;
COMMENT ON FUNCTION @extschema@.ff_changed_columns(oid, text[]) IS 'The columns an UPDATE sets and the stored generated columns that follow from them. Internal.';
REVOKE ALL ON FUNCTION @extschema@.ff_changed_columns(oid, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_changed_columns(oid, text[]) TO pg_read_all_stats;
-- Stage model: what each fillfactor would do to a table, and which one to take.
--
-- The model itself is C (src/lifecycle.c fits, src/heap_twin.c replays,
-- src/choice.c weighs); here it gets its evidence and its answers get names.

CREATE FUNCTION @extschema@.ff_rows_per_page(fillfactor integer, width double precision) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- bound when it is created, so that it needs no search_path and can be inlined
RETURN CASE WHEN width > 0 THEN greatest(1,
               floor((8168 - floor(8192 * (100 - fillfactor) / 100.0)) / (ceil(width / 8) * 8 + 4))::integer) END;
COMMENT ON FUNCTION @extschema@.ff_rows_per_page(integer, double precision) IS 'Rows of a length (bytes, header included) with which an insert fills an empty 8 kB page at a fillfactor: 8168 bytes less the reserve, each row aligned to 8 bytes and with a line pointer of 4. At least one row always fits.';
REVOKE ALL ON FUNCTION @extschema@.ff_rows_per_page(integer, double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_rows_per_page(integer, double precision) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_step_edge(fillfactor integer, width integer) RETURNS integer
AS 'MODULE_PATHNAME', 'ff_step_edge'
LANGUAGE c STRICT IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.ff_step_edge(integer, integer) IS 'The highest fillfactor with which a page takes as many rows of a length (bytes, header included) as with the one given: between two such steps nothing changes. Errors: 22023 fillfactor or length out of range.';
REVOKE ALL ON FUNCTION @extschema@.ff_step_edge(integer, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_step_edge(integer, integer) TO pg_read_all_stats;

-- ---------------------------------------------------------------------------
-- The model
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_model(
    evidence record, extra record,
    OUT fillfactor integer, OUT rows_per_page integer,
    OUT hot_pct double precision, OUT hot_pct_low double precision, OUT hot_pct_high double precision,
    OUT moved_pct double precision, OUT settled_hot_pct double precision,
    OUT size_bytes bigint, OUT index_bytes bigint, OUT wal_bytes_per_update double precision, OUT us_per_update double precision,
    OUT cost double precision, OUT is_current boolean, OUT is_advised boolean,
    OUT gain double precision, OUT best_gain double precision, OUT confidence double precision, OUT agreement double precision,
    OUT needs_rewrite boolean, OUT seen_hot_pct double precision, OUT fitted_hot_pct double precision,
    OUT fresh_share double precision, OUT hot_eligible double precision, OUT runs integer, OUT lifecycles text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'ff_model'
LANGUAGE c STRICT IMMUTABLE PARALLEL SAFE COST 100000 ROWS 50;
COMMENT ON FUNCTION @extschema@.ff_model(record, record) IS 'Internal: fits lifecycles to a row of ff_evidence() and of ff_model_extra(), taken by column name, and replays them at every step edge from 100 to 10. One row a step, see ff_curve(); gain to lifecycles describe the fit and the choice and are the same on every row. Error 42804 where a column that it reads is not a number.';
REVOKE ALL ON FUNCTION @extschema@.ff_model(record, record) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_model(record, record) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_twin(
    life record, fillfactor integer,
    OUT updates double precision, OUT hot double precision, OUT moved double precision, OUT same_page_cold double precision,
    OUT pages double precision, OUT live_rows double precision, OUT dead_versions double precision, OUT dead_lps double precision)
AS 'MODULE_PATHNAME', 'ff_twin'
LANGUAGE c STRICT IMMUTABLE PARALLEL SAFE COST 10000;
COMMENT ON FUNCTION @extschema@.ff_twin(record, integer) IS 'Replays one lifecycle, given by columns named as in src/heap_twin.h, at a fillfactor: row updates counted, how many of them were HOT, moved to another page, or stayed without being HOT; pages, rows and remains at the end. Errors: 22023 fillfactor out of range, 42804 a column that is not a number.';
REVOKE ALL ON FUNCTION @extschema@.ff_twin(record, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_twin(record, integer) TO pg_read_all_stats;

-- ---------------------------------------------------------------------------
-- What the model wants to know besides the evidence
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_indexed_share(e @extschema@.ff_table_evidence) RETURNS double precision
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH indexed AS MATERIALIZED (
        -- keys, included columns, expressions and predicates alike: all of them decide about HOT
        SELECT coalesce(array_agg(DISTINCT k.column_name::text), '{}') AS columns
          FROM pg_index i
          JOIN pg_class c ON c.oid = i.indexrelid
         CROSS JOIN LATERAL @extschema@.ff_index_columns(i.indexrelid) k
         WHERE i.indrelid = e.relation AND i.indislive AND NOT coalesce(@extschema@.ff_summarizing(c.relam), false)
    ), seen AS MATERIALIZED (
        SELECT t.columns, sum(h.rows) AS rows
          FROM @extschema@.ff_statement_target t
          JOIN @extschema@.ff_statement_history h ON h.statement_id = t.statement_id
         WHERE (t.relid = e.relation OR t.relid IN (SELECT a.relid FROM pg_partition_ancestors(e.relation) a))
           AND t.command = 'UPDATE' AND h.ended_at > e.window_began AND h.rows > 0
         GROUP BY t.columns
    )
    -- a statement whose columns are not known could be any of them
    SELECT CASE WHEN bool_and(s.columns IS NOT NULL)
                THEN coalesce(sum(s.rows) FILTER (WHERE @extschema@.ff_changed_columns(e.relation::oid, s.columns) && (SELECT x.columns FROM indexed x)), 0)
                     / sum(s.rows)::double precision END
      FROM seen s
$$;
COMMENT ON FUNCTION @extschema@.ff_indexed_share(@extschema@.ff_table_evidence) IS 'Of the rows that statements were seen to update, the share (0 to 1) updated by statements that set an indexed column; NULL where no statement is known, or one whose columns are not.';
REVOKE ALL ON FUNCTION @extschema@.ff_indexed_share(@extschema@.ff_table_evidence) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_indexed_share(@extschema@.ff_table_evidence) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_model_extra(
    e @extschema@.ff_table_evidence,
    OUT total_inserted bigint, OUT total_updated bigint, OUT table_xids integer, OUT vacuums bigint,
    OUT vacuum_scale double precision, OUT vacuum_nap_s double precision, OUT checkpoint_s double precision, OUT read_us double precision,
    OUT update_call_rows double precision, OUT update_wal_bytes double precision, OUT insert_call_rows double precision,
    OUT indexed_share double precision)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH statement AS (
        SELECT t.command, sum(h.calls)::double precision AS calls, sum(h.rows)::double precision AS rows, sum(h.wal_bytes)::double precision AS wal_bytes
          FROM @extschema@.ff_statement_target t
          JOIN @extschema@.ff_statement_history h ON h.statement_id = t.statement_id
         WHERE (t.relid = e.relation OR t.relid IN (SELECT a.relid FROM pg_partition_ancestors(e.relation) a))
           AND t.how <> 'cte' AND h.ended_at > e.window_began
         GROUP BY t.statement_id, t.command
        HAVING sum(h.rows) > 0
    ), command AS (
        -- rows per call as the mean row meets it
        SELECT s.command, sum(s.rows ^ 2 / s.calls) / sum(s.rows) AS call_rows, sum(s.wal_bytes) / sum(s.rows) AS wal_bytes
          FROM statement s
         GROUP BY s.command
    )
    SELECT r.inserted, r.updated, age(r.birth),
           (SELECT coalesce(sum(i.vacuums), 0)::bigint FROM @extschema@.ff_interval i
             WHERE i.rel_id = e.rel_id AND i.began_at >= e.window_began AND i.fillfactor = e.fillfactor),
           coalesce((SELECT o.option_value::double precision FROM pg_options_to_table(e.reloptions) o WHERE o.option_name = 'autovacuum_vacuum_scale_factor'),
                    current_setting('autovacuum_vacuum_scale_factor')::double precision),
           extract(epoch FROM current_setting('autovacuum_naptime')::interval)::double precision,
           extract(epoch FROM current_setting('checkpoint_timeout')::interval)::double precision,
           -- reads that the operating system served from memory are in the mean:
           -- a disk's own are slower
           (SELECT CASE WHEN d.blks_read > 1000 AND d.blk_read_time > 0 THEN greatest(50, 1000 * d.blk_read_time / d.blks_read) END
              FROM pg_stat_database d WHERE d.datname = current_database()),
           u.call_rows, u.wal_bytes, i.call_rows, @extschema@.ff_indexed_share(e)
      FROM @extschema@.ff_relation r
      LEFT JOIN command u ON u.command = 'UPDATE'
      LEFT JOIN command i ON i.command = 'INSERT'
     WHERE r.rel_id = e.rel_id
$$;
COMMENT ON FUNCTION @extschema@.ff_model_extra(@extschema@.ff_table_evidence) IS 'Internal: rows inserted and updated since the table''s counters began, transactions since it was created, vacuums in the window, its autovacuum scale factor, the least seconds between two autovacuums and between two checkpoints, microseconds of a page read (NULL without track_io_timing); where its statements are known: rows that one call of an UPDATE updates, as the mean row meets it, WAL bytes of a row updated, rows that one call of an INSERT inserts, and the share of updated rows for which an indexed column was set.';
REVOKE ALL ON FUNCTION @extschema@.ff_model_extra(@extschema@.ff_table_evidence) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_model_extra(@extschema@.ff_table_evidence) TO pg_read_all_stats;

-- ---------------------------------------------------------------------------
-- The answers
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_choice(
    e @extschema@.ff_table_evidence,
    OUT recommended_fillfactor integer, OUT predicted_hot_pct double precision, OUT predicted_hot_low double precision, OUT predicted_hot_high double precision,
    OUT predicted_rows_per_page integer, OUT predicted_size_bytes bigint, OUT predicted_wal_pct double precision,
    OUT confidence double precision, OUT gain double precision, OUT needs_rewrite boolean, OUT note text)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH m AS MATERIALIZED (
        SELECT m.* FROM @extschema@.ff_model_extra(e) x CROSS JOIN LATERAL @extschema@.ff_model(e, x) m
    )
    SELECT CASE WHEN a.is_current THEN e.fillfactor ELSE a.fillfactor END,
           a.hot_pct, a.hot_pct_low, a.hot_pct_high, a.rows_per_page, a.size_bytes,
           100 * a.wal_bytes_per_update / nullif(c.wal_bytes_per_update, 0), a.confidence, a.gain, a.needs_rewrite,
           CASE WHEN a.is_current AND a.best_gain > 1.005
                THEN format('the best step would save %s %%, less than fillfactor_advisor.min_gain', round((100 * (1 - 1 / a.best_gain))::numeric, 1)) END
      FROM m a CROSS JOIN m c
     WHERE a.is_advised AND c.is_current
$$;
COMMENT ON FUNCTION @extschema@.ff_choice(@extschema@.ff_table_evidence) IS 'The step with the least expected cost, or the table''s own where no other saves fillfactor_advisor.min_gain percent: recommended_fillfactor, what it will do (predicted_wal_pct: WAL per update, percent of today''s), confidence that the model explains the table (0 to 1), gain (cost now against cost then), needs_rewrite (true where most updates fall on pages that are filled already), note. No row where the pages were never sampled. Internal step of ff_advise().';
REVOKE ALL ON FUNCTION @extschema@.ff_choice(@extschema@.ff_table_evidence) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_choice(@extschema@.ff_table_evidence) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_curve(relation regclass)
RETURNS TABLE (
    fillfactor           integer,
    rows_per_page        integer,
    bar                  text,
    hot_pct              real,
    hot_pct_low          real,
    hot_pct_high         real,
    size_bytes           bigint,
    cost                 real,
    wal_bytes_per_update real,
    moved_pct            real,
    settled_hot_pct      real,
    is_current           boolean,
    is_advised           boolean
)
LANGUAGE plpgsql STABLE ROWS 50
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    e @extschema@.ff_table_evidence;
BEGIN
    IF relation IS NULL THEN
        RAISE 'relation must not be null' USING ERRCODE = 'null_value_not_allowed';
    END IF;
    PERFORM @extschema@.ff_checked_table(relation);
    SELECT * INTO e FROM @extschema@.ff_evidence(ff_curve.relation);
    IF e.not_examined IS NOT NULL THEN
        RAISE '"%" is not examined', e.relname USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = e.not_examined || '.';
    ELSIF e.sampled_at IS NULL OR coalesce(e.inserted_width, e.updated_width) IS NULL THEN
        RAISE 'no rows of "%" have been sampled yet', e.relname
            USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Run CALL ff_collect() while the table holds rows.';
    END IF;
    -- the mark is that of ff_advise(), which may have reasons to keep that the
    -- model does not know
    RETURN QUERY
        SELECT m.fillfactor, m.rows_per_page,
               rpad(repeat('#', round(coalesce(m.hot_pct, 0) / 5)::integer), 20, '.')
               || CASE WHEN m.is_current AND s.advised THEN ' current, advised' WHEN m.is_current THEN ' current' WHEN s.advised THEN ' advised' ELSE '' END,
               round(m.hot_pct::numeric, 1)::real, round(m.hot_pct_low::numeric, 1)::real, round(m.hot_pct_high::numeric, 1)::real,
               m.size_bytes, round(m.cost::numeric, 3)::real, round(m.wal_bytes_per_update::numeric)::real,
               round(m.moved_pct::numeric, 1)::real, round(m.settled_hot_pct::numeric, 1)::real, m.is_current, s.advised
          FROM @extschema@.ff_advise(ff_curve.relation) a
         CROSS JOIN @extschema@.ff_model_extra(e) x
         CROSS JOIN LATERAL @extschema@.ff_model(e, x) m
         CROSS JOIN LATERAL (SELECT CASE WHEN a.action IN ('lower', 'raise') THEN m.fillfactor = a.recommended_fillfactor ELSE m.is_current END AS advised) s;
END
$$;
COMMENT ON FUNCTION @extschema@.ff_curve(regclass) IS 'What each fillfactor would do to a table, one row a step (between two steps nothing changes), from 100 to 10: rows that inserts put on a page; a bar of the HOT share; percent of updates that will be HOT over a window such as the one observed, with a range; size of the table, bytes; cost relative to the best step (time, WAL and size, weighted by the settings time_weight, wal_weight, size_weight); WAL bytes per update; percent of updates that move to another page; HOT once the table has settled; whether the step is the current or the advised one. Errors: 22004 NULL, 42P01 unknown OID, 42809 not a table, 55000 not sampled yet or not examined.';
REVOKE ALL ON FUNCTION @extschema@.ff_curve(regclass) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_curve(regclass) TO pg_read_all_stats;
-- Stage advice: what the evidence says of each table, and what to do.
--
-- The cause comes from the evidence alone (ff_diagnosis), the fillfactor from
-- the model (ff_choice), and only where the cause is one that a fillfactor can
-- cure.  Every table of the database gets a row and a reason.

-- ---------------------------------------------------------------------------
-- Where the updates that are not HOT come from
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_split_updates(
    updated double precision, hot double precision, newpage double precision,
    seen_same_page double precision, seen_moved double precision, indexed_share double precision DEFAULT NULL,
    OUT moved_share double precision, OUT blocked_share double precision, OUT eligible_share double precision, OUT recoverable_share double precision)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH moved AS (
        SELECT nullif(updated, 0) AS u, least(hot, updated) AS h,
               CASE WHEN updated <= hot THEN 0
                    WHEN newpage IS NOT NULL THEN least(newpage, updated - hot)
                    WHEN seen_same_page + seen_moved > 0 THEN (updated - hot) * seen_moved / (seen_same_page + seen_moved)
               END AS m
    ), eligible AS (
        -- an update that left its page would have been HOT as often as those
        -- that stayed; too few of these to tell, the statements may know;
        -- where nobody does, nothing speaks against it
        SELECT u, h, m, CASE WHEN u - m >= 30 THEN h / (u - m)
                             WHEN m IS NOT NULL THEN coalesce(1 - indexed_share, 1) END AS e
          FROM moved
    )
    SELECT m / u, (u - h) / u - m / u * e, e, m / u * e FROM eligible
$$;
COMMENT ON FUNCTION @extschema@.ff_split_updates(double precision, double precision, double precision, double precision, double precision, double precision) IS
'Splits a number of updates, given how many were HOT and how many went to a new page (NULL before PostgreSQL 16: then old versions seen in the pages give the ratio). moved_share: went to another page; eligible_share: HOT among those that stayed, or, where fewer than 30 stayed, the share whose statements set no indexed column (1 - indexed_share; 1 where that is not known either); recoverable_share: moved_share x eligible_share, which more room per page can prevent; blocked_share: the other updates that were not HOT: an indexed column changed, which no fillfactor can prevent. Shares of all updates, 0 to 1; NULL where unknown.';
REVOKE ALL ON FUNCTION @extschema@.ff_split_updates(double precision, double precision, double precision, double precision, double precision, double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_split_updates(double precision, double precision, double precision, double precision, double precision, double precision) TO pg_read_all_stats;

-- ---------------------------------------------------------------------------
-- Cause
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_held_back(e @extschema@.ff_table_evidence) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    c record;
BEGIN
    IF NOT EXISTS (SELECT 1 FROM @extschema@.ff_horizon_history h WHERE h.last_seen_at >= e.window_began) THEN
        RETURN NULL;
    END IF;
    SELECT coalesce(sum(i.updated) FILTER (WHERE o.held), 0) AS held_updated, coalesce(sum(i.hot_updated) FILTER (WHERE o.held), 0) AS held_hot,
           coalesce(sum(i.updated) FILTER (WHERE NOT o.held), 0) AS free_updated, coalesce(sum(i.hot_updated) FILTER (WHERE NOT o.held), 0) AS free_hot
      INTO c
      FROM @extschema@.ff_interval i
     CROSS JOIN LATERAL (SELECT EXISTS (SELECT 1 FROM @extschema@.ff_horizon_history h
                                         WHERE h.since < i.ended_at AND h.last_seen_at > i.began_at) AS held) o
     WHERE i.rel_id = e.rel_id AND i.began_at >= e.window_began;
    IF c.held_updated = 0 THEN
        RETURN NULL;
    ELSIF c.free_updated >= 100 AND c.free_hot >= 0.9 * c.free_updated
          AND c.held_hot / c.held_updated < c.free_hot / c.free_updated - 0.1 THEN
        RETURN format('%s %% of its updates were HOT while an old snapshot was held, %s %% otherwise',
                      round(100 * c.held_hot / c.held_updated, 1), round(100 * c.free_hot / c.free_updated, 1));
    ELSIF c.held_updated >= c.free_updated AND e.recently_dead_rows > 0.3 * e.live_rows AND e.recently_dead_rows > 0.8 * e.dead_rows THEN
        RETURN format('%s old row versions wait for a snapshot to end (%s %% of live rows)',
                      round(e.recently_dead_rows::numeric), round((100 * e.recently_dead_rows / nullif(e.live_rows, 0))::numeric));
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION @extschema@.ff_held_back(@extschema@.ff_table_evidence) IS 'What a recorded holder of the visibility horizon (ff_horizon()) cost a table, in words; NULL where it was none: either the table''s HOT share fell by more than 10 points while one was there, from 90 % or more, or most versions in its pages wait for one. Internal step of ff_diagnosis().';
REVOKE ALL ON FUNCTION @extschema@.ff_held_back(@extschema@.ff_table_evidence) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_held_back(@extschema@.ff_table_evidence) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_diagnosis(relation regclass DEFAULT NULL)
RETURNS TABLE (
    evidence          @extschema@.ff_table_evidence,
    cause             text,
    wants_model       boolean,
    hot_share         double precision,
    moved_share       double precision,
    blocked_share     double precision,
    recoverable_share double precision,
    eligible_known    boolean,
    held_back         text,
    row_width         double precision
)
LANGUAGE sql STABLE ROWS 1000
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
    SELECT e, d.cause, d.cause IN ('page_full', 'batch_update', 'row_growth')
               -- HOT already, but full new pages are pruned at every update
               OR d.cause = 'settled' AND e.recent_inserted > 0.05 * e.recent_updated
               -- a reserve may be given back, but not on the word of a quiet
               -- hour: pages that tell of updates forbid it
               OR e.fillfactor < 100 AND (d.cause IN ('indexed_column', 'too_wide')
                    -- not where the rows were loaded anew since they were updated
                    OR d.cause = 'settled' AND NOT (e.updated > 0.1 * e.live_rows AND coalesce(e.updated_pct, 0) < 1)
                    OR d.cause = 'few_updates' AND coalesce(e.updated_pct, 0) < 1 AND e.updated < 0.01 * e.inserted
                       AND e.inserted >= (SELECT @extschema@.ff_setting('min_updates')::bigint)),
           e.recent_hot / nullif(e.recent_updated, 0)::double precision,
           s.moved_share, s.blocked_share, s.recoverable_share,
           e.recent_updated * (1 - s.moved_share) >= 30 OR y.indexed IS NOT NULL OR e.indexes <= 1, d.held_back, w.width
      FROM @extschema@.ff_evidence(relation) e
      -- what the statements say of indexed columns, asked only where it matters
      LEFT JOIN LATERAL (SELECT @extschema@.ff_indexed_share(w.e) AS indexed
                           FROM (SELECT e WHERE e.recent_hot < 0.98 * e.recent_updated OFFSET 0) w) y ON true
      LEFT JOIN LATERAL (SELECT p.*
                           -- no old version left in the pages to tell: again the statements
                           FROM (SELECT coalesce(e.seen_same_page, 0) + coalesce(e.seen_moved, 0) = 0 AS unseen) u
                          CROSS JOIN LATERAL @extschema@.ff_split_updates(e.recent_updated::double precision, e.recent_hot::double precision, e.recent_newpage::double precision,
                                         CASE WHEN u.unseen THEN y.indexed ELSE e.seen_same_page END::double precision,
                                         CASE WHEN u.unseen THEN 1 - y.indexed ELSE e.seen_moved END::double precision, y.indexed) p
                          WHERE e.recent_updated > 0) s ON true
     CROSS JOIN LATERAL (SELECT greatest(coalesce(e.updated_width, 0), coalesce(e.inserted_width, 0))::double precision AS width) w
     CROSS JOIN LATERAL (SELECT b.held_back, CASE
            WHEN e.not_examined IS NOT NULL THEN 'not_examined'
            WHEN e.sampled_at IS NULL OR e.intervals IS NULL OR e.blocks = 0 OR w.width = 0 THEN 'no_data'
            -- too little happened to say anything of updates
            WHEN e.updated < (SELECT @extschema@.ff_setting('min_updates')::bigint) THEN 'few_updates'
            WHEN @extschema@.ff_rows_per_page(100, w.width) < 2 THEN 'too_wide'
            -- next to all of them are HOT, whatever became of the rest
            WHEN e.recent_hot >= 0.98 * e.recent_updated THEN 'settled'
            WHEN s.moved_share IS NULL THEN 'no_data'
            WHEN s.recoverable_share < 0.02 AND s.blocked_share >= 0.05 THEN 'indexed_column'
            WHEN s.recoverable_share < 0.02 THEN 'settled'
            WHEN s.blocked_share > 4 * s.recoverable_share AND s.recoverable_share < 0.1 THEN 'indexed_column'
            WHEN b.held_back IS NOT NULL THEN 'old_snapshot'
            WHEN e.updated_width > 1.1 * e.inserted_width AND e.updated_width - e.inserted_width >= 8 THEN 'row_growth'
            WHEN e.update_group_rows >= greatest(3, 0.1 * e.rows_per_page) THEN 'batch_update'
            ELSE 'page_full' END AS cause
       FROM (SELECT CASE WHEN s.recoverable_share >= 0.02 THEN @extschema@.ff_held_back(e) END AS held_back) b) d
$$;
COMMENT ON FUNCTION @extschema@.ff_diagnosis(regclass) IS 'The cause that the evidence shows, one row a table, and whether a fillfactor could matter at all (wants_model). Shares are of the recent updates, 0 to 1. Internal step of ff_advise().';
REVOKE ALL ON FUNCTION @extschema@.ff_diagnosis(regclass) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_diagnosis(regclass) TO pg_read_all_stats;

-- ---------------------------------------------------------------------------
-- Words
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_suspect_indexes(relation regclass) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- those on a column that a known statement sets, if there are any
    touched oid[] := ARRAY(SELECT * FROM @extschema@.ff_touched_indexes(relation));
BEGIN
    RETURN (SELECT string_agg(quote_ident(c.relname), ', ' ORDER BY i.indisprimary, i.indisunique, c.relname)
              FROM pg_index i
              JOIN pg_class c ON c.oid = i.indexrelid
             WHERE i.indrelid = relation AND i.indislive
               AND CASE WHEN cardinality(touched) > 0 THEN i.indexrelid = ANY (touched)
                        ELSE NOT @extschema@.ff_summarizing(c.relam)
                             -- a primary key is hardly ever updated: suspect only where nothing else is
                             AND (NOT i.indisprimary OR NOT EXISTS (SELECT 1 FROM pg_index o WHERE o.indrelid = i.indrelid AND o.indislive AND NOT o.indisprimary))
                        END);
END
$$;
COMMENT ON FUNCTION @extschema@.ff_suspect_indexes(regclass) IS 'Names of the indexes that make updates of a table non-HOT, as far as its statements are known, or else of all that may; the most suspicious first; NULL where there is none. ff_blockers() tells more.';
REVOKE ALL ON FUNCTION @extschema@.ff_suspect_indexes(regclass) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_suspect_indexes(regclass) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_span(seconds double precision) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN seconds < 120 THEN round(seconds::numeric) || ' s'
                WHEN seconds < 7200 THEN round((seconds / 60)::numeric) || ' min'
                WHEN seconds < 172800 THEN round((seconds / 3600)::numeric) || ' hours'
                ELSE round((seconds / 86400)::numeric) || ' days' END
$$;
COMMENT ON FUNCTION @extschema@.ff_span(double precision) IS 'A number of seconds in words, rounded to the unit that fits.';
REVOKE ALL ON FUNCTION @extschema@.ff_span(double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_span(double precision) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_ddl(relation regclass, fillfactor integer) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT format('ALTER %s %I.%I SET (fillfactor = %s);',
                  CASE c.relkind WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'TABLE' END, n.nspname, c.relname, fillfactor)
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.oid = relation
$$;
COMMENT ON FUNCTION @extschema@.ff_ddl(regclass, integer) IS 'The statement that sets a table''s fillfactor (percent), names quoted.';
REVOKE ALL ON FUNCTION @extschema@.ff_ddl(regclass, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_ddl(regclass, integer) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_checked_table(relation regclass) RETURNS regclass
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF relation IS NOT NULL THEN
        IF NOT EXISTS (SELECT 1 FROM pg_class c WHERE c.oid = relation) THEN
            RAISE 'relation with OID % does not exist', relation::oid USING ERRCODE = 'undefined_table';
        ELSIF NOT EXISTS (SELECT 1 FROM @extschema@.ff_candidate c WHERE c.relid = relation) THEN
            RAISE '"%" is not a table that can be advised', (SELECT c.relname FROM pg_class c WHERE c.oid = relation)
                USING ERRCODE = 'wrong_object_type',
                      DETAIL = 'Advice is for tables and materialized views outside the system schemas.',
                      HINT = 'For a B-tree index see ff_advise_indexes().';
        END IF;
    END IF;
    RETURN relation;
END
$$;
COMMENT ON FUNCTION @extschema@.ff_checked_table(regclass) IS 'Its argument, NULL included, where that is a table that can be examined. Errors: 42P01 unknown OID, 42809 not a table.';
REVOKE ALL ON FUNCTION @extschema@.ff_checked_table(regclass) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_checked_table(regclass) TO pg_read_all_stats;

-- ---------------------------------------------------------------------------
-- Advice
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_advise_most(relation regclass, models integer)
RETURNS TABLE (
    relation                 regclass,
    fillfactor               integer,
    recommended_fillfactor   integer,
    action                   text,
    cause                    text,
    confidence               real,
    hot_pct                  real,
    predicted_hot_pct        real,
    recoverable_pct          real,
    updates_per_s            real,
    rows_per_page            integer,
    predicted_rows_per_page  integer,
    size_bytes               bigint,
    predicted_size_bytes     bigint,
    ram_ratio                real,
    predicted_wal_pct        real,
    sampled_at               timestamptz,
    reason                   text,
    ddl                      text,
    gain                     double precision,
    needs_rewrite            boolean,
    passed_over              boolean,
    evidence                 @extschema@.ff_table_evidence
)
LANGUAGE sql STABLE ROWS 1000
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
    WITH judged AS (
        SELECT d.evidence, (d.evidence).*, d.cause AS seen_cause, d.wants_model, d.wants_model AND d.place > $2 AS passed_over,
               d.hot_share, d.moved_share, d.blocked_share, d.recoverable_share, d.eligible_known, d.held_back, d.row_width, c.*
          FROM (SELECT a.*, row_number() OVER (ORDER BY a.wants_model DESC,
                                                     a.recoverable_share * (a.evidence).recent_updated / nullif((a.evidence).recent_s, 0) DESC NULLS LAST,
                                                     (a.evidence).heap_bytes DESC NULLS LAST) AS place
                  FROM @extschema@.ff_diagnosis(@extschema@.ff_checked_table($1)) a) d
          -- OFFSET keeps the filter in front of the model, which is asked only where it matters
          LEFT JOIN LATERAL (SELECT x.* FROM (SELECT d.evidence AS e WHERE d.wants_model AND (d.place > $2) IS NOT TRUE OFFSET 0) w CROSS JOIN LATERAL @extschema@.ff_choice(w.e) x) c ON true
    ), trusted AS (
        SELECT j.*,
               -- how far the counts can be trusted: events seen against those
               -- asked for, halved where counting was off; and the model's own,
               -- in the light of its earlier predictions for the table
               (CASE WHEN j.not_examined IS NOT NULL THEN 1
                     WHEN j.intervals IS NULL OR j.sampled_at IS NULL THEN 0
                     ELSE least(1, CASE WHEN j.updated < 0.01 * j.inserted THEN j.inserted ELSE j.updated END
                                   / (4.0 * (SELECT @extschema@.ff_setting('min_updates')::bigint))) END
                * CASE WHEN j.counts_lost THEN 0.5 ELSE 1 END
                * CASE WHEN j.wants_model AND NOT j.eligible_known THEN 0.5 ELSE 1 END
                * CASE WHEN j.wants_model AND j.seen_cause <> 'few_updates'
                       THEN @extschema@.ff_calibrated(coalesce(j.confidence, 0), @extschema@.ff_calibration(j.rel_id)) ELSE 1 END)::double precision AS trust
          FROM judged j
    ), decided AS (
        SELECT t.*, CASE WHEN t.verdict IN ('lower', 'raise') THEN t.recommended_fillfactor ELSE t.fillfactor END AS new_fillfactor,
               CASE WHEN t.seen_cause IN ('page_full', 'batch_update', 'row_growth') AND t.verdict = 'keep'
                         AND t.blocks_fetched > 50 * t.updated THEN 'read_mostly' ELSE t.seen_cause END AS named_cause,
               @extschema@.ff_rows_per_page(t.fillfactor, t.row_width) AS fits_now,
               @extschema@.ff_rows_per_page(CASE WHEN t.verdict IN ('lower', 'raise') THEN t.recommended_fillfactor ELSE t.fillfactor END, t.row_width) AS fits_then,
               round((100 * t.hot_share)::numeric, 1) AS hot
          FROM (SELECT r.*,
                       CASE WHEN r.seen_cause = 'no_data' THEN 'wait'
                            WHEN r.seen_cause = 'not_examined' THEN 'keep'
                            WHEN r.passed_over THEN 'wait'
                            WHEN r.recommended_fillfactor <> r.fillfactor AND r.trust < (SELECT @extschema@.ff_setting('min_confidence')::double precision) THEN 'wait'
                            WHEN r.recommended_fillfactor < r.fillfactor THEN 'lower'
                            WHEN r.recommended_fillfactor > r.fillfactor THEN 'raise'
                            WHEN r.seen_cause = 'few_updates' AND r.updated < 0.01 * r.inserted AND r.open_writers = 0 AND NOT r.counts_lost THEN 'keep'
                            WHEN r.seen_cause = 'few_updates' AND (r.open_writers > 0 OR r.counts_lost OR r.window_s < 86400) THEN 'wait'
                            ELSE 'keep' END AS verdict
                  FROM trusted r) t
    )
    SELECT d.relation, d.fillfactor, d.new_fillfactor, d.verdict, d.named_cause,
           round(d.trust::numeric, 2)::real,
           d.hot::real, round((CASE WHEN d.verdict IN ('lower', 'raise') THEN d.predicted_hot_pct ELSE d.hot END)::numeric, 1)::real,
           round((100 * d.recoverable_share)::numeric, 1)::real,
           (d.updated / nullif(d.window_s, 0))::numeric(20, 2)::real,
           d.fits_now, d.fits_then,
           d.heap_bytes, CASE WHEN d.verdict IN ('lower', 'raise') THEN d.predicted_size_bytes ELSE d.heap_bytes END,
           d.ram_ratio::numeric(20, 4)::real,
           round((CASE WHEN d.verdict IN ('lower', 'raise') THEN d.predicted_wal_pct WHEN d.updated > 0 THEN 100 END)::numeric)::real,
           d.sampled_at,
           CASE
             WHEN d.not_examined IS NOT NULL THEN d.not_examined
             WHEN d.problem IS NOT NULL AND d.sampled_at IS NULL THEN 'its pages could not be sampled: ' || d.problem
             WHEN d.rel_id IS NULL THEN 'not collected yet: run CALL ff_collect() or ff_schedule()'
             WHEN d.sampled_at IS NULL THEN 'its pages were not sampled yet: the budget of the last collection was spent on others'
             WHEN d.intervals IS NULL THEN 'nothing was written to it since the first collection: one more collection after some work is needed'
             WHEN d.blocks = 0 OR d.row_width = 0 THEN 'the table is empty'
             WHEN d.seen_cause = 'no_data' THEN format('%s %% of its updates were not HOT, but neither the server nor the pages say whether they left their page: sample it while it is being updated', 100 - d.hot)
             ELSE concat(
               CASE d.seen_cause
                 WHEN 'few_updates' THEN format('%s updates in %s', d.updated, @extschema@.ff_span(d.window_s))
                      || CASE WHEN d.inserted > 0 THEN format(' against %s inserted rows', d.inserted) ELSE '' END
                      || CASE WHEN d.verdict = 'raise' THEN '' WHEN d.verdict = 'wait' THEN ': too few to judge from' ELSE ': too few to matter' END
                 WHEN 'too_wide' THEN format('rows of %s bytes: a page holds one of them at any fillfactor', round(d.row_width::numeric))
                 WHEN 'indexed_column' THEN format('%s %% of recent updates could not be HOT wherever they went, because an indexed column changed%s: no fillfactor can help. ff_blockers() shows the index and the statements',
                      round((100 * d.blocked_share)::numeric, 1), ' (' || @extschema@.ff_suspect_indexes(d.relation) || ')')
                 WHEN 'settled' THEN format('%s %% of recent updates were HOT, at most %s %% left their page%s: %s',
                      d.hot, round((100 * coalesce(d.moved_share, 1 - d.hot_share))::numeric, 1),
                      CASE WHEN d.earlier_updated > 0 AND d.earlier_hot < 0.95 * d.earlier_updated * d.hot_share
                           THEN format(', after %s %% HOT before', round(100.0 * d.earlier_hot / d.earlier_updated, 1)) ELSE '' END,
                      CASE d.verdict WHEN 'lower' THEN 'what is left to save is pruning, which full new pages need at nearly every update' ELSE 'its pages have room already' END)
                 WHEN 'old_snapshot' THEN d.held_back || ': end it first, ff_horizon() names it; more room would only fill up as well'
                 ELSE format('%s %% of recent updates left their page because it was full', round((100 * d.moved_share)::numeric, 1))
                      || CASE d.seen_cause
                           WHEN 'batch_update' THEN format('; one transaction updates %s rows of a page together, of the %s that fit it', round(least(d.update_group_rows, d.fits_now)::numeric), d.fits_now)
                           WHEN 'row_growth' THEN format('; rows grow from %s to %s bytes', round(d.inserted_width::numeric), round(d.updated_width::numeric))
                           ELSE '' END
               END,
               CASE d.verdict
                 WHEN 'lower' THEN format('. At %s a page is filled with %s rows instead of %s', d.new_fillfactor, d.fits_then, d.fits_now)
                      || CASE WHEN d.predicted_hot_pct IS NULL THEN '' ELSE format(': %s %% HOT predicted (%s to %s)',
                                         trim_scale(round(d.predicted_hot_pct::numeric, 1)), trim_scale(round(d.predicted_hot_low::numeric, 1)), trim_scale(round(d.predicted_hot_high::numeric, 1))) END
                      || CASE WHEN d.needs_rewrite THEN '; old pages keep their density until the table is rewritten' ELSE '; updates fall on new pages, so no rewrite is needed' END
                 WHEN 'raise' THEN format('. At %s a page is filled with %s rows instead of %s', d.new_fillfactor, d.fits_then, d.fits_now)
                      || CASE WHEN d.heap_bytes > d.predicted_size_bytes
                              THEN format(', %s less to store and read once rewritten', pg_size_pretty(d.heap_bytes - d.predicted_size_bytes)) ELSE '' END
                 WHEN 'wait' THEN CASE WHEN d.passed_over THEN '. The model was not asked here: ff_advise() with the name of the table asks it'
                      WHEN d.recommended_fillfactor <> d.fillfactor
                      THEN format('. %s may be better, but more has to be seen first', d.recommended_fillfactor) ELSE '' END
                 ELSE CASE WHEN d.named_cause = 'read_mostly' THEN format('. Readers fetch %s pages for each updated row, and would fetch more', d.blocks_fetched / d.updated) ELSE '' END
                      || CASE WHEN d.seen_cause IN ('page_full', 'batch_update', 'row_growth')
                              THEN '. No other fillfactor is clearly better' || coalesce(': ' || d.note, '') ELSE '' END
               END,
               CASE WHEN d.wants_model AND NOT d.eligible_known AND d.verdict IN ('lower', 'wait')
                    THEN '. Whether an indexed column changes is not known, as no update stayed in its page: pg_stat_statements would tell' END,
               CASE WHEN d.counts_lost THEN '. track_counts was off for a part of the time' END,
               CASE WHEN d.open_writers > 0 AND d.verdict IN ('wait', 'keep') THEN format('. %s open transactions may hold updates that are not counted yet', d.open_writers) END,
               '.')
           END,
           CASE WHEN d.verdict IN ('lower', 'raise') THEN @extschema@.ff_ddl(d.relation, d.new_fillfactor) END,
           CASE WHEN d.verdict IN ('lower', 'raise') THEN d.gain END, d.needs_rewrite, coalesce(d.passed_over, false), d.evidence
      FROM decided d
     ORDER BY d.verdict NOT IN ('lower', 'raise'), d.gain DESC NULLS LAST, d.updated DESC NULLS LAST, d.nspname, d.relname
$$;
COMMENT ON FUNCTION @extschema@.ff_advise_most(regclass, integer) IS 'What ff_advise() says, with gain (cost now against cost then), needs_rewrite, passed_over (the model would have been asked, but was not) and the evidence. Asks the model for so many tables at most, those with the most recoverable updates first; NULL: for every table that a fillfactor could help. Internal step of ff_advise() and ff_report().';
REVOKE ALL ON FUNCTION @extschema@.ff_advise_most(regclass, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_advise_most(regclass, integer) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_advise(relation regclass DEFAULT NULL)
RETURNS TABLE (
    relation                 regclass,
    fillfactor               integer,
    recommended_fillfactor   integer,
    action                   text,
    cause                    text,
    confidence               real,
    hot_pct                  real,
    predicted_hot_pct        real,
    recoverable_pct          real,
    updates_per_s            real,
    rows_per_page            integer,
    predicted_rows_per_page  integer,
    size_bytes               bigint,
    predicted_size_bytes     bigint,
    ram_ratio                real,
    predicted_wal_pct        real,
    sampled_at               timestamptz,
    reason                   text,
    ddl                      text
)
LANGUAGE sql STABLE ROWS 1000
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT a.relation, a.fillfactor, a.recommended_fillfactor, a.action, a.cause, a.confidence, a.hot_pct, a.predicted_hot_pct, a.recoverable_pct,
           a.updates_per_s, a.rows_per_page, a.predicted_rows_per_page, a.size_bytes, a.predicted_size_bytes, a.ram_ratio, a.predicted_wal_pct,
           a.sampled_at, a.reason, a.ddl
      FROM @extschema@.ff_advise_most($1, NULL::integer) a
$$;
REVOKE ALL ON FUNCTION @extschema@.ff_advise(regclass) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_advise(regclass) TO pg_read_all_stats;
COMMENT ON FUNCTION @extschema@.ff_advise(regclass) IS
'Advice for one table or, without an argument, for all: one row each, also where nothing should change.
relation: the table. fillfactor, recommended_fillfactor: percent, now and advised (equal where nothing should change).
action: lower, raise, keep, wait (more has to be seen first). cause: page_full, batch_update, row_growth (updates leave full pages: fillfactor helps); indexed_column, old_snapshot, settled, few_updates, read_mostly, too_wide (it does not); no_data (nobody can know yet); not_examined (partitioned, foreign, temporary or not heap).
confidence: 0 to 1, how well the model meets what is seen today, how much was seen, and how earlier advice for the table came true.
updates_per_s: rows updated per second over the window. hot_pct: HOT share of the recent updates. recoverable_pct: share of updates that were not HOT only because their page was full. predicted_hot_pct: HOT share at the recommended fillfactor.
rows_per_page, predicted_rows_per_page: rows with which an insert fills a page, now and then.
size_bytes, predicted_size_bytes: main fork of the table, bytes, now and once its pages have the new density.
ram_ratio: (table + indexes) / memory, see ff_memory(). predicted_wal_pct: WAL per update against today, percent.
sampled_at: age of the page evidence. reason: why, in a sentence. ddl: the statement, NULL where nothing should change; see ff_script().
Errors: 42P01 unknown OID, 42809 not a table.';

-- Stage blockers: what makes updates non-HOT although their page has room: an
-- index on a column that changes, or a snapshot that keeps old versions alive.

-- ---------------------------------------------------------------------------
-- Indexes that are touched, indexes that are needed
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_touched_indexes(relation regclass) RETURNS SETOF oid
LANGUAGE sql STABLE ROWS 5
SET search_path = pg_catalog, pg_temp
AS $$
    WITH changed AS MATERIALIZED (
        SELECT DISTINCT unnest(@extschema@.ff_changed_columns($1, t.columns)) AS name
          FROM @extschema@.ff_statement_target t
          JOIN @extschema@.ff_statement s ON s.statement_id = t.statement_id AND s.closed_at IS NULL
         WHERE t.command = 'UPDATE'
           AND (t.relid = $1 OR t.relid IN (SELECT a.relid FROM pg_partition_ancestors($1) a))
           AND EXISTS (SELECT 1 FROM @extschema@.ff_statement_history h
                        WHERE h.statement_id = s.statement_id
                          AND h.ended_at > now() - make_interval(days => @extschema@.ff_setting('lookback')::integer))
    )
    SELECT i.indexrelid
      FROM pg_index i
      JOIN pg_class c ON c.oid = i.indexrelid
     WHERE i.indrelid = $1 AND i.indislive AND NOT coalesce(@extschema@.ff_summarizing(c.relam), false)
       AND EXISTS (SELECT 1 FROM @extschema@.ff_index_columns(i.indexrelid) k JOIN changed ON changed.name = k.column_name)
$$;
COMMENT ON FUNCTION @extschema@.ff_touched_indexes(regclass) IS 'Indexes of a table that depend on a column that a statement of the recent window set, so that its updates could not be HOT; none where no statements are known. Internal.';
REVOKE ALL ON FUNCTION @extschema@.ff_touched_indexes(regclass) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_touched_indexes(regclass) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_index_needed(index oid) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT coalesce(
        (SELECT CASE c.contype WHEN 'p' THEN 'primary key ' WHEN 'u' THEN 'unique constraint ' WHEN 'x' THEN 'exclusion constraint '
                     ELSE 'foreign key ' END || quote_ident(c.conname)
           FROM pg_constraint c WHERE c.conindid = index
          ORDER BY c.contype = 'f', c.conname LIMIT 1),
        (SELECT CASE WHEN i.indisprimary THEN 'primary key' WHEN i.indisexclusion THEN 'exclusion constraint'
                     WHEN i.indisunique THEN 'unique index' WHEN i.indisreplident THEN 'replica identity' END
           FROM pg_index i WHERE i.indexrelid = index),
        (SELECT 'part of the partitioned index ' || quote_ident(p.relname)
           FROM pg_inherits h JOIN pg_class p ON p.oid = h.inhparent WHERE h.inhrelid = index),
        -- rare deletes may not have scanned it yet, and without it each reads the whole table
        (SELECT format('foreign key %I, whose check finds by it the rows that refer to one deleted from %I', c.conname, p.relname)
           FROM pg_index i
           JOIN pg_constraint c ON c.conrelid = i.indrelid AND c.contype = 'f'
           JOIN pg_class p ON p.oid = c.confrelid
          WHERE i.indexrelid = index
            AND (i.indkey::int2[])[0:least(cardinality(c.conkey), i.indnkeyatts) - 1] <@ c.conkey
          ORDER BY c.conname LIMIT 1))
$$;
COMMENT ON FUNCTION @extschema@.ff_index_needed(oid) IS 'What an index is there for besides the scans of queries, so that it must not be dropped for want of scans; NULL: nothing. Internal.';
REVOKE ALL ON FUNCTION @extschema@.ff_index_needed(oid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_index_needed(oid) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_scans_watched(index oid) RETURNS timestamptz
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- greatest() passes over what is NULL: a time that is not known, or that never came
    SELECT CASE WHEN w.seen_at IS NOT NULL THEN
               greatest(e.began_at, w.seen_at, r.opened_at,
                        -- a reset ends an epoch when a collection notices; that of an index alone, which moves the database's, never
                        pg_stat_get_db_stat_reset_time(e.database_oid),
                        nullif(pg_stat_get_bgwriter_stat_reset_time(), e.cluster_reset),
                        (SELECT max(h.seen_at) FROM @extschema@.ff_change h
                          WHERE h.rel_id = r.rel_id AND h.kind = 'indexes' AND h.created_indexes IS NOT NULL),
                        (SELECT max(c.began_at) FROM @extschema@.ff_collection c WHERE NOT c.track_counts)) END
      FROM (SELECT n.* FROM @extschema@.ff_epoch n ORDER BY n.epoch_id DESC LIMIT 1) e
      JOIN @extschema@.ff_server() s ON (s.system_identifier, s.timeline) = (e.system_identifier, e.timeline)
      JOIN pg_database d ON d.oid = e.database_oid AND d.datname = current_database()
      JOIN pg_index i ON i.indexrelid = index
      JOIN @extschema@.ff_relation r ON (r.system_identifier, r.database_oid, r.relid) = (e.system_identifier, e.database_oid, i.indrelid)
                                    AND r.closed_at IS NULL AND index = ANY (r.index_oids)
      JOIN pg_attribute a ON a.attrelid = index AND a.attnum = 1
      -- One dropped and made again alike is no change to ff_change.  The first
      -- collection younger than the index's own row was the first to see it.
      LEFT JOIN LATERAL (SELECT c.began_at AS seen_at FROM @extschema@.ff_collection c WHERE age(c.xmin) <= age(a.xmin) ORDER BY c.began_at LIMIT 1) w ON true
     WHERE e.server_version = current_setting('server_version_num')::integer
$$;
COMMENT ON FUNCTION @extschema@.ff_scans_watched(oid) IS 'Since when every scan of an index is known to be in its counter: the latest of the beginning of the statistics epoch, the last reset or loss of statistics, the first collection that saw the table and the first that saw the index, and the last that found track_counts off. NULL: no collection has seen it since. Internal.';
REVOKE ALL ON FUNCTION @extschema@.ff_scans_watched(oid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_scans_watched(oid) TO pg_read_all_stats;

-- ---------------------------------------------------------------------------
-- Blockers
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_blockers(relation regclass DEFAULT NULL)
RETURNS TABLE (
    relation         regclass,
    index            regclass,
    columns          text[],
    role             text,
    updates_per_s    double precision,
    won_hot_per_s    double precision,
    won_wal_per_s    double precision,
    won_cpu_ms_per_s double precision,
    scans            bigint,
    scans_since      timestamptz,
    index_bytes      bigint,
    needed_for       text,
    summarizing      boolean,
    statements       text[],
    reason           text,
    suggestion       text,
    ddl              text,
    definition       text
)
LANGUAGE sql STABLE ROWS 100
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
    WITH constants AS (
        SELECT interval '7 days' AS watch,   -- no scan in this time: a weekly job had its chance
               0.05 AS tell                  -- share of updates that stayed in their page from which these tell of those that left it
    ), judged AS MATERIALIZED (
        SELECT (d.evidence).relation::oid AS relid, (d.evidence).not_examined, d.cause, d.hot_share, d.moved_share,
               (d.evidence).recent_updated AS updated,
               (d.evidence).recent_updated / nullif((d.evidence).recent_s, 0) AS updates_per_s,
               ((d.evidence).recent_updated - (d.evidence).recent_hot) / nullif((d.evidence).recent_s, 0) AS cold_per_s,
               1 - d.hot_share - d.moved_share AS blocked_share,
               -- Updates that could not have been HOT: those that stayed in their page and were not, and of those that
               -- left it the same part (what more room would have made HOT is recoverable).  Unknown: all that were not.
               CASE WHEN 1 - d.hot_share - d.moved_share < 0.01 THEN 0
                    WHEN st.stayed < (SELECT k.tell FROM constants k) THEN 1 - d.hot_share - d.moved_share
                    ELSE greatest(1 - d.hot_share - coalesce(d.recoverable_share, 0), 0) END AS pages_share,
               -- The same by the statements, where hardly any that sets an indexed column left its new version in the
               -- page to be seen: these would not have been HOT with room either.
               CASE WHEN st.stayed < (SELECT k.tell FROM constants k)
                    THEN 1 - d.hot_share - d.moved_share + greatest(least(d.moved_share, st.setting - st.stayed), 0) END AS statements_share,
               EXISTS (SELECT 1 FROM pg_trigger t WHERE t.tgrelid = (d.evidence).relation::oid AND NOT t.tgisinternal
                          AND t.tgtype & 1 = 1 AND t.tgtype & 2 = 2 AND t.tgtype & 16 = 16) AS has_trigger
          FROM @extschema@.ff_diagnosis(@extschema@.ff_checked_table($1)) d
          -- at least so many of those that set an indexed column stayed in their page: HOT ones beyond what the others can be, and all that were not HOT
          LEFT JOIN LATERAL (SELECT i AS setting, greatest(d.hot_share + i - 1, 0) + (1 - d.hot_share - d.moved_share) AS stayed
                               FROM @extschema@.ff_indexed_share(d.evidence) i
                              WHERE d.moved_share >= 0.01) st ON true
    ), blocked AS MATERIALIZED (
        SELECT j.*, greatest(j.pages_share, j.statements_share) * j.updates_per_s AS blocked_per_s,
               -- those that room would not help, but that lack room as well: an index less makes none of them HOT
               j.pages_share * j.updates_per_s AS roomy_per_s
          FROM judged j
         WHERE j.not_examined IS NULL AND j.updated > 0 AND greatest(j.pages_share, j.statements_share) >= 0.01
    ), indexes AS MATERIALIZED (
        -- also those not valid: they are maintained, so they block
        SELECT i.indrelid AS relid, i.indexrelid, i.indisprimary, i.indisvalid, c.relname, n.nspname,
               coalesce(@extschema@.ff_summarizing(c.relam), false) AS summarizing,
               @extschema@.ff_index_needed(i.indexrelid) AS needed_for,
               pg_stat_get_numscans(i.indexrelid) AS scans,
               @extschema@.ff_scans_watched(i.indexrelid) AS since
          FROM blocked b
          JOIN pg_index i ON i.indrelid = b.relid AND i.indislive
          JOIN pg_class c ON c.oid = i.indexrelid
          JOIN pg_namespace n ON n.oid = c.relnamespace
    ), index_columns AS MATERIALIZED (
        SELECT x.relid, x.indexrelid, x.summarizing, k.column_name, k.role
          FROM indexes x CROSS JOIN LATERAL @extschema@.ff_index_columns(x.indexrelid) k
    ), updating AS MATERIALIZED (
        SELECT b.relid, s.statement_id, s.how, @extschema@.ff_changed_columns(b.relid, s.columns) AS columns, s.calls, s.rows, s.query,
               coalesce(s.rows, s.calls)::double precision AS weight
          FROM blocked b
          JOIN @extschema@.ff_statements() s
            ON s.command = 'UPDATE' AND (s.relation = b.relid OR s.relation IN (SELECT a.relid FROM pg_partition_ancestors(b.relid) a))
    ), touching AS MATERIALIZED (
        -- which statement sets columns of which index
        SELECT u.relid, u.statement_id, u.weight, u.calls, u.rows, u.query, k.indexrelid, k.summarizing,
               array_agg(DISTINCT k.column_name::text) AS columns, array_agg(DISTINCT k.role) AS roles,
               count(*) FILTER (WHERE NOT k.summarizing) OVER (PARTITION BY u.relid, u.statement_id) AS in_the_way
          FROM updating u
          JOIN index_columns k ON k.relid = u.relid AND k.column_name = ANY (u.columns)
         GROUP BY u.relid, u.statement_id, u.weight, u.calls, u.rows, u.query, k.indexrelid, k.summarizing
    ), weights AS (
        SELECT t.relid, sum(t.weight) AS weight
          FROM (SELECT DISTINCT relid, statement_id, weight FROM touching WHERE NOT summarizing) t GROUP BY t.relid
    ), found AS (
        SELECT t.relid, t.indexrelid,
               (SELECT array_agg(DISTINCT c ORDER BY c) FROM touching o, unnest(o.columns) c WHERE o.indexrelid = t.indexrelid AND o.relid = t.relid) AS columns,
               (SELECT string_agg(DISTINCT r, ', ' ORDER BY r) FROM touching o, unnest(o.roles) r WHERE o.indexrelid = t.indexrelid AND o.relid = t.relid) AS role,
               sum(t.weight) / nullif(w.weight, 0) AS share,
               coalesce(sum(t.weight) FILTER (WHERE t.in_the_way = 1), 0) / nullif(w.weight, 0) AS alone,
               (array_agg(format('%s calls, %s rows: %s', t.calls, coalesce(t.rows::text, 'unknown'),
                                 left(regexp_replace(t.query, '[[:cntrl:][:space:]]+', ' ', 'g'), 200))
                          ORDER BY t.weight DESC, t.statement_id))[1:5] AS statements,
               (SELECT string_agg(DISTINCT quote_ident(x.relname), ', ')
                  FROM touching o JOIN indexes x ON x.indexrelid = o.indexrelid
                 WHERE o.relid = t.relid AND o.indexrelid <> t.indexrelid AND NOT o.summarizing
                   AND o.statement_id = ANY (array_agg(t.statement_id))) AS others,
               true AS seen
          FROM touching t LEFT JOIN weights w ON w.relid = t.relid
         GROUP BY t.relid, t.indexrelid, w.weight
    ), suspected AS (
        -- no statement is known that explains it: every index may be the one,
        -- the primary key only if there is no other
        SELECT x.relid, x.indexrelid,
               (SELECT array_agg(DISTINCT k.column_name::text ORDER BY k.column_name::text) FROM index_columns k WHERE k.indexrelid = x.indexrelid) AS columns,
               (SELECT string_agg(DISTINCT k.role, ', ' ORDER BY k.role) FROM index_columns k WHERE k.indexrelid = x.indexrelid) AS role,
               CASE WHEN count(*) OVER (PARTITION BY x.relid) = 1 THEN 1 END::double precision AS share,
               CASE WHEN count(*) OVER (PARTITION BY x.relid) = 1 THEN 1 END::double precision AS alone,
               NULL::text[] AS statements,
               NULL::text AS others,
               false AS seen
          FROM indexes x
         WHERE NOT x.summarizing
           AND NOT EXISTS (SELECT 1 FROM touching t WHERE t.relid = x.relid AND NOT t.summarizing)
           AND (NOT x.indisprimary OR NOT EXISTS (SELECT 1 FROM indexes o WHERE o.relid = x.relid AND NOT o.indisprimary AND NOT o.summarizing))
    ), weighed AS (
        SELECT f.*, x.relname, x.nspname, x.indisvalid, x.summarizing, x.needed_for, x.scans, x.since, b.blocked_share, b.has_trigger,
               x.since <= now() - k.watch AS watched, k.watch, b.roomy_per_s < 0.99 * b.blocked_per_s AS without_room,
               b.updates_per_s AS all_per_s,
               CASE WHEN x.summarizing THEN 0 ELSE b.blocked_per_s * f.share END AS updates_per_s,
               CASE WHEN x.summarizing THEN 0 ELSE b.roomy_per_s * f.alone END AS won_hot_per_s,
               b.blocked_per_s * f.alone AS alone_per_s,
               -- index entries not written: an update that becomes HOT saves one in every
               -- index, one that stays as it is saves the one in this index
               CASE WHEN x.summarizing THEN 0
                    ELSE b.roomy_per_s * f.alone * (SELECT count(*) FROM indexes o WHERE o.relid = f.relid)
                         + greatest(b.cold_per_s - b.roomy_per_s * f.alone, 0) END AS entries_per_s,
               NOT x.summarizing AND (x.needed_for IS NULL AND x.scans = 0 AND coalesce(x.since <= now() - k.watch, false) OR NOT x.indisvalid) AS free,
               EXISTS (SELECT 1 FROM updating u WHERE u.relid = f.relid) AS has_statements
          FROM (SELECT * FROM found UNION ALL SELECT * FROM suspected) f
          JOIN indexes x ON x.indexrelid = f.indexrelid AND x.relid = f.relid
          JOIN blocked b ON b.relid = f.relid
         CROSS JOIN constants k
    )
    SELECT o.relation, o.index, o.columns, o.role, o.updates_per_s, o.won_hot_per_s, o.won_wal_per_s, o.won_cpu_ms_per_s,
           o.scans, o.since, o.index_bytes, o.needed_for, o.summarizing, o.statements, o.reason, o.suggestion, o.ddl, o.definition
      FROM (
        SELECT w.relid::regclass AS relation, w.indexrelid::regclass AS index, w.columns, w.role,
               w.updates_per_s, w.won_hot_per_s,
               -- Measured per index entry that an update writes: 80 bytes of WAL and 2 microseconds, a B-tree on an
               -- integer, all in memory, no full-page images: the least that is won.
               w.entries_per_s * 80 AS won_wal_per_s, w.entries_per_s * 0.002 AS won_cpu_ms_per_s,
               w.scans, w.since, z.heap_bytes AS index_bytes, w.needed_for, w.summarizing, w.statements,
               CASE WHEN w.summarizing THEN format('column %s is set, but this kind of index lets updates be HOT on this version', array_to_string(w.columns, ', '))
                    WHEN NOT w.seen AND w.has_statements THEN
                        'updates were not HOT although they stayed in their page, but no statement seen sets an indexed column: look for functions, triggers and the unattributed rows of ff_statements()'
                    WHEN NOT w.seen THEN
                        CASE WHEN w.blocked_share IS NULL THEN 'updates were not HOT, and it is not known whether for this index or for lack of room; '
                             ELSE 'updates stayed in their page and were not HOT; ' END
                        || 'which index it was is not known without their statements'
                        || coalesce(': ' || (SELECT s.reason FROM @extschema@.ff_statement_look s ORDER BY s.collection_id DESC LIMIT 1), '')
                    ELSE format('about %s of %s updates per second could not be HOT, because they set %s',
                                round(w.updates_per_s::numeric, 1), round(w.all_per_s::numeric, 1), array_to_string(w.columns, ', '))
                         || CASE WHEN w.alone_per_s < 0.99 * w.updates_per_s THEN format('; %s of them for this index alone, the others for %s as well',
                                                                                               CASE WHEN w.alone_per_s > 0 THEN round(w.alone_per_s::numeric, 1)::text ELSE 'none' END, w.others) ELSE '' END
                         || CASE WHEN w.without_room THEN '; they left their page as well: to be HOT they would need room in it, too' ELSE '' END
                         || CASE WHEN w.blocked_share IS NULL THEN ' (at most: how many moved for lack of room is not known)' ELSE '' END
               END || CASE WHEN w.has_trigger AND NOT w.summarizing THEN '; a BEFORE UPDATE trigger may set further columns' ELSE '' END AS reason,
               CASE WHEN w.summarizing THEN 'nothing to do'
                    WHEN NOT w.indisvalid AND w.needed_for IS NULL THEN 'invalid, of use to no query, but maintained: drop it, unless CREATE INDEX CONCURRENTLY is at work on it now'
                    WHEN w.needed_for IS NOT NULL THEN format('keep it: %s; the way out is not to change %s', w.needed_for,
                        CASE WHEN w.seen THEN array_to_string(w.columns, ', ') ELSE 'its columns' END)
                    WHEN w.scans = 0 AND w.watched THEN format('not scanned once since %s: drop it, if it is not scanned on a standby either', to_char(w.since, 'YYYY-MM-DD HH24:MI'))
                    WHEN w.scans = 0 THEN format('no scan is known, but its scans were watched for %s only: not to be dropped before %s days without one, so that a weekly job had its chance',
                                                 @extschema@.ff_span(coalesce(greatest(extract(epoch FROM now() - w.since), 0), 0)::double precision), extract(day FROM w.watch))
                    WHEN w.role = 'include' THEN 'the column is only carried along (INCLUDE): without it in the index, these updates can be HOT'
                    WHEN w.role = 'predicate' THEN 'only its WHERE clause depends on the column: another predicate would let these updates be HOT'
                    ELSE format('scanned %s times: weigh these scans against the updates', w.scans)
               END AS suggestion,
               CASE WHEN w.free AND w.needed_for IS NULL THEN format('DROP INDEX CONCURRENTLY %I.%I;', w.nspname, w.relname) END AS ddl,
               pg_get_indexdef(w.indexrelid) || ';' AS definition,
               w.summarizing AS last, w.free AND w.needed_for IS NULL AND w.seen AS jackpot, w.relname
          FROM weighed w
          LEFT JOIN LATERAL @extschema@.ff_sizes(w.indexrelid) z ON true
        UNION ALL
        SELECT j.relid::regclass, NULL, NULL, NULL, CASE WHEN j.updated > 0 THEN 0 END, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
               CASE WHEN j.not_examined IS NOT NULL THEN j.not_examined
                    WHEN j.updated IS NULL THEN 'no interval was collected yet'
                    WHEN j.updated = 0 THEN 'no updates were seen'
                    WHEN b.relid IS NULL AND j.moved_share >= 0.01 THEN format('%s %% of the updates were HOT, the others left their page for lack of room', round((100 * j.hot_share)::numeric, 1))
                    WHEN b.relid IS NULL THEN format('%s %% of the updates were HOT', round((100 * j.hot_share)::numeric, 1))
                    ELSE 'it has no index that stands in the way: the updates were not HOT for lack of room' END,
               NULL, NULL, NULL, true, false, NULL
          FROM judged j
          LEFT JOIN blocked b ON b.relid = j.relid
         WHERE NOT EXISTS (SELECT 1 FROM weighed w WHERE w.relid = j.relid)) o
     ORDER BY o.last, o.jackpot DESC, o.won_hot_per_s DESC NULLS LAST, o.updates_per_s DESC NULLS LAST, o.relation::text, o.relname
$$;
COMMENT ON FUNCTION @extschema@.ff_blockers(regclass) IS 'What keeps updates from being HOT whatever room their page has, one row for each table and index, the surest gain first; a row without index says why there is none. Columns: relation; index; columns: those of it that are set by the statements seen (without statements: all of it); role: what they are in it (key, include, expression, predicate, whole row); updates_per_s: updates it keeps from being HOT; won_hot_per_s: of these, those that would be HOT without this one index, or if the columns were not set, not counting those that left their page as well; won_wal_per_s (bytes) and won_cpu_ms_per_s: the least that saves, from the number of index entries not written; scans: of the index, as the server counts them, on this server; scans_since: since when no scan can have been missed: the latest of the beginning or loss of statistics and the first collection that saw the table and the index (NULL: none did since); index_bytes; needed_for: constraint or other reason for which it must stay; summarizing: kind of index that lets updates be HOT; statements: those that set the columns, with calls and rows of the window; reason; suggestion; ddl: only for an index that is not needed, by a foreign key either, and was not scanned in at least 7 days since scans_since, or is invalid; definition: what makes it again. NULL figures are unknown, see reason.';
REVOKE ALL ON FUNCTION @extschema@.ff_blockers(regclass) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_blockers(regclass) TO pg_read_all_stats;

-- ---------------------------------------------------------------------------
-- Old snapshots
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_horizon_holders(
    OUT kind text,
    OUT holder text,
    OUT role_name name,
    OUT application text,
    OUT since timestamptz,
    OUT xids bigint,
    OUT catalog_only boolean,
    OUT doing text
) RETURNS SETOF record
LANGUAGE sql VOLATILE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
    WITH here AS (
        SELECT d.oid FROM pg_database d WHERE d.datname = current_database()
    )
    -- Sessions of this database; other databases' snapshots do not hold back
    -- its tables.  What VACUUM itself holds is ignored by pruning.
    SELECT CASE WHEN a.state LIKE 'idle in transaction%' THEN 'idle in transaction' ELSE 'transaction' END,
           'pid ' || a.pid, u.rolname, a.application_name, a.xact_start,
           greatest(age(a.backend_xmin), age(a.backend_xid))::bigint, false,
           left(regexp_replace(a.query, '[[:cntrl:][:space:]]+', ' ', 'g'), 200)
      FROM pg_stat_get_activity(NULL) a
      JOIN here ON here.oid = a.datid
      LEFT JOIN pg_roles u ON u.oid = a.usesysid
     WHERE a.pid <> pg_backend_pid() AND (a.backend_xmin IS NOT NULL OR a.backend_xid IS NOT NULL)
       AND a.pid NOT IN (SELECT v.pid FROM pg_stat_progress_vacuum v)
       AND NOT EXISTS (SELECT 1 FROM pg_stat_get_wal_senders() s WHERE s.pid = a.pid)
    UNION ALL
    SELECT 'prepared transaction', 'gid ' || p.gid, p.owner, NULL, p.prepared, age(p.transaction)::bigint, false, NULL
      FROM pg_prepared_xacts p WHERE p.database = current_database()
    UNION ALL
    SELECT 'replication slot', 'slot ' || s.slot_name, NULL, s.plugin, NULL,
           greatest(age(s.xmin), age(s.catalog_xmin))::bigint, s.xmin IS NULL,
           CASE WHEN s.active THEN 'active, pid ' || s.active_pid ELSE 'not active' END
      FROM pg_replication_slots s
     WHERE s.xmin IS NOT NULL OR s.catalog_xmin IS NOT NULL
    UNION ALL
    -- hot_standby_feedback without a slot
    SELECT 'standby feedback', 'pid ' || a.pid, u.rolname, a.application_name, a.backend_start, age(a.backend_xmin)::bigint, false, NULL
      FROM pg_stat_get_activity(NULL) a
      JOIN pg_stat_get_wal_senders() s ON s.pid = a.pid
      LEFT JOIN pg_roles u ON u.oid = a.usesysid
     WHERE a.backend_xmin IS NOT NULL
$$;
COMMENT ON FUNCTION @extschema@.ff_horizon_holders() IS 'Who holds back pruning of this database''s tables at this moment, one row each: kind (transaction, idle in transaction, prepared transaction, replication slot, standby feedback); holder; role_name; application; since: begin of its transaction, NULL for a slot; xids: transactions begun after its snapshot; catalog_only: holds back system catalogs only; doing: its last statement, or the slot''s state. Internal.';
REVOKE ALL ON FUNCTION @extschema@.ff_horizon_holders() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_horizon_holders() TO pg_stat_scan_tables, pg_read_all_stats;

CREATE TABLE @extschema@.ff_horizon_history (
    kind         text NOT NULL CHECK (kind IN ('transaction', 'idle in transaction', 'prepared transaction', 'replication slot', 'standby feedback')),
    holder       text NOT NULL,
    role_name    name,
    application  text,
    since        timestamptz NOT NULL,
    first_seen_at timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL,
    looks        integer NOT NULL CHECK (looks > 0),
    xids         bigint NOT NULL,
    doing        text,
    PRIMARY KEY (holder, since),
    CHECK (last_seen_at >= first_seen_at)
) WITH (fillfactor = 70);
CREATE INDEX ff_horizon_history_last_seen_at ON @extschema@.ff_horizon_history (last_seen_at);
COMMENT ON TABLE @extschema@.ff_horizon_history IS 'What held back pruning for longer than fillfactor_advisor.snapshot_age, one row for each holder and time; collections see it while it lasts.';
COMMENT ON COLUMN @extschema@.ff_horizon_history.kind IS 'kind of holder, as last seen';
COMMENT ON COLUMN @extschema@.ff_horizon_history.holder IS 'process, prepared transaction or slot';
COMMENT ON COLUMN @extschema@.ff_horizon_history.role_name IS 'its role';
COMMENT ON COLUMN @extschema@.ff_horizon_history.application IS 'application_name, or the slot''s plugin';
COMMENT ON COLUMN @extschema@.ff_horizon_history.since IS 'begin of its transaction; for a slot the look that saw it first';
COMMENT ON COLUMN @extschema@.ff_horizon_history.first_seen_at IS 'first look that saw it';
COMMENT ON COLUMN @extschema@.ff_horizon_history.last_seen_at IS 'last look that saw it';
COMMENT ON COLUMN @extschema@.ff_horizon_history.looks IS 'looks that saw it';
COMMENT ON COLUMN @extschema@.ff_horizon_history.xids IS 'most transactions begun after its snapshot, over these looks';
COMMENT ON COLUMN @extschema@.ff_horizon_history.doing IS 'its statement when last seen, or the slot''s state';
REVOKE ALL ON @extschema@.ff_horizon_history FROM PUBLIC;
GRANT SELECT ON @extschema@.ff_horizon_history TO pg_read_all_stats;

SELECT pg_extension_config_dump(c.oid, '')
  FROM pg_class c JOIN pg_extension e ON e.extname = 'fillfactor_advisor' AND c.relnamespace = e.extnamespace
 WHERE c.relname = 'ff_horizon_history';

CREATE FUNCTION @extschema@.ff_collect_horizon(id bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    at   CONSTANT timestamptz := clock_timestamp();
    past CONSTANT timestamptz := at - make_interval(secs => @extschema@.ff_setting('snapshot_age')::double precision);
    seen bigint;
BEGIN
    -- A slot has no beginning of its own: it is the same hold as long as every
    -- look sees it, and enters the history with the second.
    INSERT INTO @extschema@.ff_horizon_history AS h (kind, holder, role_name, application, since, first_seen_at, last_seen_at, looks, xids, doing)
    SELECT n.kind, n.holder, n.role_name, n.application, coalesce(n.since, held.since, at), at, at, 1, n.xids, n.doing
      FROM @extschema@.ff_horizon_holders() n
      LEFT JOIN LATERAL (SELECT o.since FROM @extschema@.ff_horizon_history o
                          WHERE n.since IS NULL AND o.holder = n.holder
                            AND o.last_seen_at >= (SELECT max(c.began_at) FROM @extschema@.ff_collection c WHERE c.collection_id < id)
                          ORDER BY o.since DESC LIMIT 1) held ON true
     WHERE NOT n.catalog_only AND n.xids > 0
       AND coalesce(n.since <= past, true)
     ORDER BY n.xids DESC LIMIT 20
    ON CONFLICT (holder, since) DO UPDATE
       SET kind = EXCLUDED.kind, last_seen_at = EXCLUDED.last_seen_at, looks = h.looks + 1,
           xids = greatest(h.xids, EXCLUDED.xids), doing = EXCLUDED.doing;
    GET DIAGNOSTICS seen = ROW_COUNT;
    DELETE FROM @extschema@.ff_horizon_history h
     WHERE h.last_seen_at < at - make_interval(days => @extschema@.ff_setting('retention')::integer);
    RETURN seen;
END
$$;
COMMENT ON FUNCTION @extschema@.ff_collect_horizon(bigint) IS 'Writes down what has held back pruning for longer than fillfactor_advisor.snapshot_age. Returns the number of holders. Internal step of ff_collect().';
REVOKE ALL ON FUNCTION @extschema@.ff_collect_horizon(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_collect_horizon(bigint) TO pg_stat_scan_tables;

CREATE FUNCTION @extschema@.ff_horizon()
RETURNS TABLE (
    now          boolean,
    kind         text,
    holder       text,
    role_name    name,
    application  text,
    since        timestamptz,
    held_s       double precision,
    xids         bigint,
    hot_pct_held double precision,
    hot_pct_else double precision,
    lost_hot     bigint,
    doing        text,
    suggestion   text
)
LANGUAGE sql VOLATILE ROWS 20
SET search_path = pg_catalog, pg_temp
AS $$
    WITH holders AS MATERIALIZED (
        SELECT * FROM @extschema@.ff_horizon_holders()
    ), held AS (
        SELECT n.kind, n.holder, n.role_name, n.application, coalesce(n.since, h.since) AS since, clock_timestamp() AS until,
               greatest(n.xids, h.xids) AS xids, n.doing, n.catalog_only, true AS now
          FROM holders n
          LEFT JOIN LATERAL (SELECT o.* FROM @extschema@.ff_horizon_history o
                              WHERE o.holder = n.holder AND (o.since = n.since OR n.since IS NULL)
                              ORDER BY o.since DESC LIMIT 1) h ON true
        UNION ALL
        (SELECT h.kind, h.holder, h.role_name, h.application, h.since, h.last_seen_at, h.xids, h.doing, false, false
           FROM @extschema@.ff_horizon_history h
          WHERE h.last_seen_at > clock_timestamp() - make_interval(days => @extschema@.ff_setting('lookback')::integer)
            AND NOT EXISTS (SELECT 1 FROM holders n WHERE n.holder = h.holder AND (n.since = h.since OR n.since IS NULL))
          ORDER BY h.xids DESC LIMIT 100)
    ), spans AS MATERIALIZED (
        SELECT row_number() OVER () AS n, * FROM held
    ), quiet AS MATERIALIZED (
        -- each table's HOT share while nothing of all this was held
        SELECT i.rel_id, sum(i.updated) AS updated, sum(i.hot_updated) AS hot
          FROM @extschema@.ff_interval i
         WHERE i.ended_at > clock_timestamp() - make_interval(days => @extschema@.ff_setting('lookback')::integer)
           AND NOT EXISTS (SELECT 1 FROM spans s WHERE NOT s.catalog_only AND s.since < i.ended_at AND s.until > i.began_at)
         GROUP BY i.rel_id HAVING sum(i.updated) >= 100
    ), cost AS (
        -- the same tables while it was, each table weighed by its updates then
        SELECT s.n, sum(i.updated) AS updated, sum(i.hot_updated) AS hot, sum(i.updated * q.hot / q.updated) AS otherwise
          FROM spans s
          JOIN @extschema@.ff_interval i ON i.began_at >= s.since AND i.ended_at <= s.until AND i.updated > 0
          JOIN quiet q ON q.rel_id = i.rel_id
         WHERE NOT s.catalog_only
         GROUP BY s.n
    )
    SELECT s.now, s.kind, s.holder, s.role_name, s.application, s.since,
           extract(epoch FROM s.until - s.since)::double precision, s.xids,
           100 * c.hot / c.updated::double precision, 100 * c.otherwise / c.updated::double precision,
           CASE WHEN c.n IS NOT NULL THEN greatest(round(c.otherwise - c.hot), 0)::bigint END, s.doing,
           CASE WHEN s.catalog_only THEN 'holds back system catalogs only'
                ELSE CASE s.kind WHEN 'idle in transaction' THEN 'commit sooner in the application, or set idle_in_transaction_session_timeout'
                     WHEN 'transaction' THEN 'run long queries on a standby, or in smaller transactions'
                     WHEN 'prepared transaction' THEN 'COMMIT PREPARED or ROLLBACK PREPARED, if its transaction manager has forgotten it'
                     WHEN 'replication slot' THEN 'bring its consumer back, or drop the slot if nobody will use it again'
                     ELSE 'long queries on the standby, with hot_standby_feedback on, hold it back here' END END
      FROM spans s LEFT JOIN cost c ON c.n = s.n
     ORDER BY s.catalog_only, s.now DESC, s.xids DESC, s.since
$$;
COMMENT ON FUNCTION @extschema@.ff_horizon() IS 'What holds back pruning of this database''s tables, now and in the recent window. Columns: now: at this moment; kind: transaction, idle in transaction, prepared transaction, replication slot, standby feedback; holder; role_name; application; since; held_s: seconds (up to the last look that saw it); xids: transactions begun after its snapshot, so versions that could not be pruned are that old; hot_pct_held: HOT share of the updates meanwhile, percent; hot_pct_else: what the same tables reached without it; lost_hot: updates that were not HOT for it, by that difference; NULL where too little was seen on either side; doing: its last statement; suggestion. Of the past, the hundred holders with the most transactions behind them. Short transactions are seen only while they last.';
REVOKE ALL ON FUNCTION @extschema@.ff_horizon() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_horizon() TO pg_read_all_stats;
-- Stage script: the advice as a psql script that an administrator can read,
-- sign and run, and as JSON for tools.
--
-- Both are made from one plan (ff_plan), so they cannot differ.  Every change
-- carries its own guard: it refuses, with a reason and without harm to the
-- rest, where the database, the relation, its name or its options are not those
-- that the advice was for.  No name reaches the script but quoted, and no
-- control character reaches it at all, so a line is always one line.

-- ---------------------------------------------------------------------------
-- Words: quoting that keeps a script one statement a line
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_unprintable() RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    -- psql ends a comment at a line feed or carriage return; the others, and
    -- what reverses or hides text, would show a reader something else
    SELECT CASE getdatabaseencoding() WHEN 'UTF8' THEN '[\u0001-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]'
                ELSE '[\u0001-\u001f\u007f]' END
$$;
COMMENT ON FUNCTION @extschema@.ff_unprintable() IS 'Regular expression for one character that must not stand in generated text: control characters and, in UTF-8, characters that hide or reverse others.';
REVOKE ALL ON FUNCTION @extschema@.ff_unprintable() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_unprintable() TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_escaped(content text, quote text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT string_agg(CASE WHEN c.ch ~ @extschema@.ff_unprintable()
                           THEN CASE quote WHEN '''' THEN '\u' ELSE '\' END || lpad(to_hex(ascii(c.ch)), 4, '0')
                           WHEN c.ch IN ('\', quote) THEN c.ch || c.ch
                           ELSE c.ch END, '' ORDER BY c.place)
      FROM string_to_table(content, NULL) WITH ORDINALITY AS c(ch, place)
$$;
COMMENT ON FUNCTION @extschema@.ff_escaped(text, text) IS 'The inside of E''...'' or of U&"...", whichever quote says, unprintable characters as escapes.';
REVOKE ALL ON FUNCTION @extschema@.ff_escaped(text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_escaped(text, text) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_quoted_name(name text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN name ~ @extschema@.ff_unprintable() THEN 'U&"' || @extschema@.ff_escaped(name, '"') || '"' ELSE quote_ident(name) END
$$;
COMMENT ON FUNCTION @extschema@.ff_quoted_name(text) IS 'An identifier for generated SQL, on one line whatever it contains: quote_ident(), or U&"..." where it holds unprintable characters.';
REVOKE ALL ON FUNCTION @extschema@.ff_quoted_name(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_quoted_name(text) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_quoted_text(content text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN content IS NULL THEN 'NULL'
                WHEN content ~ @extschema@.ff_unprintable() THEN 'E''' || @extschema@.ff_escaped(content, '''') || ''''
                ELSE quote_literal(content) END
$$;
COMMENT ON FUNCTION @extschema@.ff_quoted_text(text) IS 'A literal for generated SQL, on one line whatever it contains; NULL for NULL.';
REVOKE ALL ON FUNCTION @extschema@.ff_quoted_text(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_quoted_text(text) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_plain(content text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT regexp_replace(content, @extschema@.ff_unprintable(), '?', 'g')
$$;
COMMENT ON FUNCTION @extschema@.ff_plain(text) IS 'Text for a comment: unprintable characters, line ends among them, become question marks.';
REVOKE ALL ON FUNCTION @extschema@.ff_plain(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_plain(text) TO pg_read_all_stats;

-- ---------------------------------------------------------------------------
-- Options: what they will be, and how they come back
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_options_then(reloptions text[], fillfactor integer) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    -- as the server does it: others keep their order, a new value goes last
    SELECT array_append(coalesce(array_agg(o.opt ORDER BY o.place) FILTER (WHERE o.opt NOT LIKE 'fillfactor=%'), ARRAY[]::text[]), 'fillfactor=' || fillfactor)
      FROM unnest(reloptions) WITH ORDINALITY AS o(opt, place)
$$;
COMMENT ON FUNCTION @extschema@.ff_options_then(text[], integer) IS 'Stored options (pg_class.reloptions) after ALTER ... SET (fillfactor = N), exactly as the server will store them.';
REVOKE ALL ON FUNCTION @extschema@.ff_options_then(text[], integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_options_then(text[], integer) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_options_undo(reloptions text[]) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    -- what stood behind fillfactor is set again too, so that the order returns
    SELECT coalesce('SET (' || string_agg(format('%s = %s', @extschema@.ff_quoted_name(split_part(o.opt, '=', 1)),
                                                 @extschema@.ff_quoted_text(substr(o.opt, strpos(o.opt, '=') + 1))), ', ' ORDER BY o.place) || ')',
                    'RESET (fillfactor)')
      FROM unnest(reloptions) WITH ORDINALITY AS o(opt, place)
     WHERE o.place >= (SELECT min(f.place) FROM unnest(reloptions) WITH ORDINALITY AS f(opt, place) WHERE f.opt LIKE 'fillfactor=%')
$$;
COMMENT ON FUNCTION @extschema@.ff_options_undo(text[]) IS 'The clause of ALTER that turns the options after a change of fillfactor back into these, text for text: RESET where fillfactor was absent, else SET with the value as it was spelled.';
REVOKE ALL ON FUNCTION @extschema@.ff_options_undo(text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_options_undo(text[]) TO pg_read_all_stats;

-- ---------------------------------------------------------------------------
-- Disk and speed (src/disk.c)
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_disk(tablespace oid, OUT free_bytes bigint, OUT total_bytes bigint)
LANGUAGE c STRICT VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'ff_disk';
COMMENT ON FUNCTION @extschema@.ff_disk(oid) IS 'Free and total bytes of the file system that a tablespace is on; 0 is the default tablespace of this database. Error: 42704 no such tablespace.';
REVOKE ALL ON FUNCTION @extschema@.ff_disk(oid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_disk(oid) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_disk_wal(OUT free_bytes bigint, OUT total_bytes bigint)
LANGUAGE c STRICT VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'ff_disk_wal';
COMMENT ON FUNCTION @extschema@.ff_disk_wal() IS 'Free and total bytes of the file system that the WAL is written to.';
REVOKE ALL ON FUNCTION @extschema@.ff_disk_wal() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_disk_wal() TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_io_rate(OUT read_bytes_per_s double precision, OUT write_bytes_per_s double precision, OUT source text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- too few pages to speak of a rate
    enough CONSTANT bigint := 1000;
    in_bytes boolean;
    statements record;
BEGIN
    IF to_regclass('pg_catalog.pg_stat_io') IS NOT NULL THEN
        in_bytes := EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass('pg_catalog.pg_stat_io') AND attname = 'read_bytes');
        EXECUTE format('SELECT sum(%s) FILTER (WHERE read_time > 0) / nullif(sum(read_time), 0) * 1000, '
                       '       sum(%s) FILTER (WHERE write_time > 0) / nullif(sum(write_time), 0) * 1000 '
                       '  FROM pg_stat_io WHERE object = ''relation''',
                       CASE WHEN in_bytes THEN 'read_bytes' ELSE 'reads * op_bytes' END,
                       CASE WHEN in_bytes THEN 'write_bytes' ELSE 'writes * op_bytes' END)
           INTO read_bytes_per_s, write_bytes_per_s;
        source := 'pg_stat_io';
    ELSE
        SELECT CASE WHEN d.blks_read >= enough THEN d.blks_read * current_setting('block_size')::bigint / nullif(d.blk_read_time, 0) * 1000 END
          INTO read_bytes_per_s
          FROM pg_stat_database d WHERE d.datname = current_database();
        source := 'pg_stat_database';
        SELECT format('%I.%I', n.nspname, c.relname) AS name INTO statements
          FROM pg_extension e
          JOIN pg_depend d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.deptype = 'e' AND d.classid = 'pg_class'::regclass
          JOIN pg_class c ON c.oid = d.objid AND c.relname = 'pg_stat_statements'
          JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE e.extname = 'pg_stat_statements' AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT');
        IF FOUND THEN
            EXECUTE format('SELECT CASE WHEN sum(shared_blks_written) >= $1 THEN sum(shared_blks_written) * $2 / nullif(sum(blk_write_time), 0) * 1000 END FROM %s WHERE blk_write_time > 0', statements.name)
               INTO write_bytes_per_s USING enough, current_setting('block_size')::bigint;
            source := 'pg_stat_database and pg_stat_statements';
        END IF;
    END IF;
    IF read_bytes_per_s IS NULL OR write_bytes_per_s IS NULL THEN
        source := NULL;
    END IF;
EXCEPTION WHEN object_not_in_prerequisite_state THEN
    -- pg_stat_statements was created, but is not preloaded
    read_bytes_per_s := NULL;
    write_bytes_per_s := NULL;
    source := NULL;
END
$$;
COMMENT ON FUNCTION @extschema@.ff_io_rate() IS 'How fast this server read and wrote relation files so far, bytes per second, from the times that track_io_timing measured (operating system cache included), and where that was found. NULL where it was not measured.';
REVOKE ALL ON FUNCTION @extschema@.ff_io_rate() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_io_rate() TO pg_read_all_stats;

-- ---------------------------------------------------------------------------
-- Rewrites: the ways to bring a change to old pages
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_rewrites(relation oid, new_bytes bigint)
RETURNS TABLE (method text, possible boolean, why text, statement text, runs_in text, lock text, disk_bytes bigint, free_bytes bigint, wal_bytes bigint, seconds double precision)
LANGUAGE plpgsql VOLATILE ROWS 4
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    t       record;
    size    record;
    rate    record;
    server  CONSTANT integer := current_setting('server_version_num')::integer;
    -- a rewrite should not take the last bytes of a disk
    spare   CONSTANT double precision := 1.1;
    keyed   boolean;
    identity boolean;
    too_big text;
    wal     bigint;
    duration double precision;
    extension record;
    cluster_name text;
    cluster_index text;
BEGIN
    SELECT c.oid, c.relkind, c.relpersistence, c.relreplident, n.nspname, c.relname, c.reltoastrelid,
           @extschema@.ff_quoted_name(n.nspname::text) || '.' || @extschema@.ff_quoted_name(c.relname::text) AS name,
           c.reltablespace, n.nspname || c.relname ~ @extschema@.ff_unprintable() AS unprintable
      INTO t
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = relation;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF t.relkind = 'i' THEN
        SELECT d.free_bytes INTO free_bytes FROM @extschema@.ff_disk(t.reltablespace) d;
        SELECT * INTO rate FROM @extschema@.ff_io_rate();
        method := 'REINDEX CONCURRENTLY';
        statement := format('REINDEX INDEX CONCURRENTLY %s;', t.name);
        runs_in := 'psql';
        lock := 'readers and writers go on; waits for all transactions that are open when it begins';
        disk_bytes := new_bytes;
        wal_bytes := CASE WHEN t.relpersistence = 'u' OR current_setting('wal_level') = 'minimal' THEN 0 ELSE new_bytes END;
        -- it reads the table twice, and writes the index once
        seconds := (SELECT 2 * z.heap_bytes FROM pg_index i CROSS JOIN LATERAL @extschema@.ff_sizes(i.indrelid) z WHERE i.indexrelid = relation) / rate.read_bytes_per_s
                   + new_bytes / rate.write_bytes_per_s;
        why := CASE WHEN (SELECT i.indisexclusion FROM pg_index i WHERE i.indexrelid = relation) THEN 'not for the index of an exclusion constraint'
                    WHEN new_bytes * spare > free_bytes THEN format('needs %s of disk, and %s are free', pg_size_pretty(new_bytes), pg_size_pretty(free_bytes)) END;
        possible := why IS NULL;
        why := coalesce(why, 'built in; where it fails it leaves an invalid index behind, to be dropped');
        RETURN NEXT;
        RETURN;
    END IF;
    SELECT coalesce(z.heap_bytes, 0) AS heap, coalesce(z.index_bytes, 0) AS indexes, coalesce(z.toast_bytes, 0) AS toast INTO size
      FROM @extschema@.ff_sizes(relation) z;
    SELECT * INTO rate FROM @extschema@.ff_io_rate();
    SELECT d.free_bytes INTO free_bytes FROM @extschema@.ff_disk(t.reltablespace) d;

    disk_bytes := coalesce(new_bytes, size.heap) + size.indexes + size.toast;
    wal := CASE WHEN t.relpersistence = 'u' OR current_setting('wal_level') = 'minimal' THEN 0 ELSE disk_bytes END;
    duration := (size.heap + size.toast) / rate.read_bytes_per_s + disk_bytes / rate.write_bytes_per_s;
    IF disk_bytes * spare > free_bytes THEN
        too_big := format('needs %s of disk, and %s are free', pg_size_pretty(disk_bytes), pg_size_pretty(free_bytes));
    END IF;

    -- a primary key, or a unique index over columns that are never null
    SELECT coalesce(bool_or(i.indisprimary OR (i.indisunique AND i.indpred IS NULL AND i.indexprs IS NULL
                                               AND NOT EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey) AND NOT a.attnotnull))), false),
           coalesce(bool_or(i.indimmediate AND CASE t.relreplident WHEN 'd' THEN i.indisprimary WHEN 'i' THEN i.indisreplident ELSE false END), false)
      INTO keyed, identity
      FROM pg_index i WHERE i.indrelid = relation AND i.indisvalid;

    -- a table that was clustered is to keep its order
    SELECT k.relname, @extschema@.ff_quoted_name(k.relname::text) INTO cluster_name, cluster_index
      FROM pg_index i JOIN pg_class k ON k.oid = i.indexrelid WHERE i.indrelid = relation AND i.indisclustered AND i.indisvalid;

    wal_bytes := wal;
    seconds := duration;

    -- the server's own way, from 19 on
    IF server >= 190000 THEN
        method := 'REPACK (CONCURRENTLY)';
        statement := format('REPACK (CONCURRENTLY) %s%s;', t.name, ' USING INDEX ' || cluster_index);
        runs_in := 'psql';
        lock := 'readers and writers go on; ACCESS EXCLUSIVE for a moment at the end';
        why := CASE WHEN t.relkind <> 'r' THEN 'only for tables'
                    WHEN t.relpersistence = 'u' THEN 'not for unlogged tables'
                    WHEN NOT identity THEN 'needs a primary key or a replica identity index'
                    WHEN current_setting('wal_level') = 'minimal' THEN 'needs wal_level replica or logical'
                    WHEN current_setting('max_repack_replication_slots', true) = '0' THEN 'needs max_repack_replication_slots above 0'
                    ELSE too_big END;
        possible := why IS NULL;
        why := coalesce(why, 'built in, and nobody waits');
        RETURN NEXT;
    END IF;

    -- pg_squeeze
    SELECT e.oid, n.nspname INTO extension FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pg_squeeze';
    IF FOUND OR EXISTS (SELECT 1 FROM pg_available_extensions a WHERE a.name = 'pg_squeeze') THEN
        method := 'pg_squeeze';
        statement := format('SELECT %s.squeeze_table(%s, %s, %s::name, NULL::name, NULL::name[][]);', @extschema@.ff_quoted_name(coalesce(extension.nspname, 'squeeze')::text),
                            @extschema@.ff_quoted_text(t.nspname::text), @extschema@.ff_quoted_text(t.relname::text), @extschema@.ff_quoted_text(cluster_name));
        runs_in := 'psql';
        lock := 'readers and writers go on; ACCESS EXCLUSIVE for a moment at the end';
        why := CASE WHEN extension.oid IS NULL THEN 'available here, but not created in this database: see its documentation'
                    WHEN t.relkind <> 'r' THEN 'only for tables'
                    WHEN t.relpersistence = 'u' THEN 'not for unlogged tables'
                    WHEN NOT identity THEN 'needs a primary key or a replica identity index'
                    WHEN current_setting('wal_level') <> 'logical' THEN 'needs wal_level logical'
                    ELSE too_big END;
        possible := why IS NULL;
        why := coalesce(why, 'created in this database, and nobody waits');
        RETURN NEXT;
    END IF;

    -- pg_repack
    SELECT e.oid, e.extversion INTO extension FROM pg_extension e WHERE e.extname = 'pg_repack';
    IF FOUND OR EXISTS (SELECT 1 FROM pg_available_extensions a WHERE a.name = 'pg_repack') THEN
        method := 'pg_repack';
        -- by default it would end the sessions that it waits for
        statement := format('pg_repack%s --no-kill-backend --wait-timeout=60 --table=%s', CASE WHEN cluster_index IS NULL THEN ' --no-order' ELSE '' END,
                            '''' || replace(quote_ident(t.nspname) || '.' || quote_ident(t.relname), '''', '''\''''') || '''');
        runs_in := 'shell';
        lock := 'readers and writers go on; ACCESS EXCLUSIVE for moments at the start and the end';
        why := CASE WHEN t.unprintable THEN 'its name cannot be written on a command line'
                    WHEN current_database() ~ '[^[:alnum:]_.-]' THEN 'it cannot connect to a database of this name'
                    WHEN extension.oid IS NULL THEN 'available here, but not created in this database: CREATE EXTENSION pg_repack'
                    WHEN t.relkind <> 'r' THEN 'only for tables'
                    WHEN t.relpersistence = 'u' THEN 'not for unlogged tables'
                    WHEN NOT keyed THEN 'needs a primary key or a unique index over columns that are NOT NULL'
                    ELSE too_big END;
        possible := why IS NULL;
        IF t.unprintable THEN
            statement := NULL;
        END IF;
        why := coalesce(why, format('created in this database (version %s, which the program on the client must match); run as superuser', extension.extversion));
        RETURN NEXT;
    END IF;

    runs_in := 'psql';
    lock := 'ACCESS EXCLUSIVE all the while: every reader and writer waits, on standbys too';
    why := too_big;
    possible := why IS NULL;
    why := coalesce(why, 'always there, but in a maintenance window only');
    IF cluster_index IS NOT NULL THEN
        method := 'CLUSTER';
        statement := format('CLUSTER %s USING %s;', t.name, cluster_index);
        RETURN NEXT;
    END IF;
    method := 'VACUUM FULL';
    statement := format('VACUUM (FULL, ANALYZE) %s;', t.name);
    RETURN NEXT;
END
$$;
COMMENT ON FUNCTION @extschema@.ff_rewrites(oid, bigint) IS 'The ways to rewrite a table or index to about this many bytes (the table alone), the least disturbing first: method, whether it is possible and why (not), statement and where it runs (psql, shell), lock, disk needed and free in its tablespace (bytes), WAL written (bytes), duration (seconds, from ff_io_rate(); NULL unknown). Internal step of ff_plan().';
REVOKE ALL ON FUNCTION @extschema@.ff_rewrites(oid, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_rewrites(oid, bigint) TO pg_read_all_stats;

-- ---------------------------------------------------------------------------
-- Guards
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_do(body text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    -- a tag that does not occur in what it encloses
    SELECT concat('DO ', t.tag, E'\n', body, E'\n', t.tag, ';')
      FROM (SELECT '$ff' || nullif(n, 0) || '$' FROM generate_series(1, 1000) n
             UNION ALL SELECT '$ff$') AS t(tag)
     WHERE strpos(body, t.tag) = 0
     ORDER BY length(t.tag), t.tag
     LIMIT 1
$$;
COMMENT ON FUNCTION @extschema@.ff_do(text) IS 'A DO statement around a PL/pgSQL block.';
REVOKE ALL ON FUNCTION @extschema@.ff_do(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_do(text) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_guard_from(c jsonb) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    -- REINDEX CONCURRENTLY gives an index another OID: it is known by its table and name
    SELECT format('pg_control_system() s LEFT JOIN pg_class c ON c.oid = %s LEFT JOIN pg_namespace n ON n.oid = c.relnamespace',
                  CASE WHEN c->>'table_oid' IS NULL THEN c->>'oid'
                       ELSE format('(SELECT i.indexrelid FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid WHERE i.indrelid = %s AND i.indkey::text = %s AND x.relname = %s)',
                                   c->>'table_oid', @extschema@.ff_quoted_text(c->>'indkey'), @extschema@.ff_quoted_text(c->>'name')) END)
$$;
COMMENT ON FUNCTION @extschema@.ff_guard_from(jsonb) IS 'The FROM clause of a guard, for one change of a plan. Internal step of ff_plan().';
REVOKE ALL ON FUNCTION @extschema@.ff_guard_from(jsonb) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_guard_from(jsonb) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_guarded(c jsonb, statement text, before text, after text, already text, tries integer) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $guarded$
    SELECT @extschema@.ff_do(format($body$DECLARE
    verdict text;
    tries   integer := 0;
BEGIN
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true), pg_catalog.set_config('lock_timeout', '2s', true);
    LOOP
        tries := tries + 1;
        -- is it still what the advice was for?
        SELECT CASE WHEN current_database() <> %1$s OR s.system_identifier <> %2$s THEN 'refused: made for another database or server'
                    WHEN c.oid IS NULL THEN 'refused: it is gone'
                    WHEN n.nspname <> %3$s OR c.relname <> %4$s THEN 'refused: it has another name now'
                    WHEN c.reloptions IS NOT DISTINCT FROM %5$s::text[] THEN 'unchanged: %6$s'
                    WHEN c.reloptions IS DISTINCT FROM %7$s::text[] THEN 'refused: its options were changed since the advice'
               END
          INTO verdict
          FROM %8$s;
        EXIT WHEN verdict IS NOT NULL;
        BEGIN
            %9$s
            -- nothing came in between before the lock was held
            IF NOT EXISTS (SELECT 1 FROM %8$s WHERE n.nspname = %3$s AND c.relname = %4$s AND c.reloptions IS NOT DISTINCT FROM %5$s::text[]) THEN
                RAISE 'its name or options changed meanwhile' USING ERRCODE = 'object_not_in_prerequisite_state';
            END IF;
            verdict := %12$s;
        EXCEPTION
            WHEN lock_not_available THEN
                verdict := CASE WHEN tries >= %10$s THEN 'refused: locked by other sessions, run this again later' END;
            WHEN OTHERS THEN
                verdict := format('refused: %%s (SQLSTATE %%s)', regexp_replace(SQLERRM, '[[:cntrl:]]', '?', 'g'), SQLSTATE);
        END;
        EXIT WHEN verdict IS NOT NULL;
        PERFORM pg_sleep(1);
    END LOOP;
    PERFORM set_config(v.name, (coalesce(nullif(current_setting(v.name, true), ''), '0')::integer + 1)::text, false)
       FROM (SELECT 'ff_script.' || split_part(verdict, ':', 1) AS name) v;
    IF verdict LIKE 'refused:%%' THEN
        RAISE WARNING '%%: %%', %11$s, verdict;
    ELSE
        RAISE NOTICE '%%: %%', %11$s, verdict;
    END IF;
END$body$,
        @extschema@.ff_quoted_text(current_database()::text), (SELECT s.system_identifier FROM @extschema@.ff_server() s),
        @extschema@.ff_quoted_text(c->>'schema'), @extschema@.ff_quoted_text(c->>'name'),
        @extschema@.ff_quoted_text(after), already, @extschema@.ff_quoted_text(before),
        @extschema@.ff_guard_from(c), statement, tries, @extschema@.ff_quoted_text(c->>'relation'),
        @extschema@.ff_quoted_text('done: ' || substr(statement, strpos(statement, c->>'relation') + length(c->>'relation') + 1))))
$guarded$;
COMMENT ON FUNCTION @extschema@.ff_guarded(jsonb, text, text, text, text, integer) IS 'One ALTER of a plan within its guard, a DO statement: refuses with a WARNING where the relation is not as it was before (stored options as text), reports with a NOTICE where it is already as it is after. Internal step of ff_plan().';
REVOKE ALL ON FUNCTION @extschema@.ff_guarded(jsonb, text, text, text, text, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_guarded(jsonb, text, text, text, text, integer) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_rewrite_lines(c jsonb, after text, method text, statement text, runs_in text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH guard AS (
        SELECT format('CASE WHEN current_database() <> %s OR s.system_identifier <> %s THEN ''refused: made for another database or server'' '
                      'WHEN c.oid IS NULL THEN ''refused: it is gone'' '
                      'WHEN n.nspname <> %s OR c.relname <> %s THEN ''refused: it has another name now'' '
                      'WHEN c.reloptions IS DISTINCT FROM %s::text[] THEN ''refused: its options are not those advised'' '
                      'WHEN c.relfilenode <> %s THEN ''unchanged: rewritten already'' END',
                      @extschema@.ff_quoted_text(current_database()::text), (SELECT s.system_identifier FROM @extschema@.ff_server() s),
                      @extschema@.ff_quoted_text(c->>'schema'), @extschema@.ff_quoted_text(c->>'name'), @extschema@.ff_quoted_text(after), c->>'relfilenode') AS verdict,
               @extschema@.ff_guard_from(c) AS source
    )
    SELECT concat_ws(E'\n',
        format('SELECT v IS NULL AS ff_go, set_config(''ff_script.verdict'', coalesce(v, ''''), false) AS ff_verdict FROM (SELECT %s AS v FROM %s) g \gset', g.verdict, g.source),
        '\if :ff_go',
        '\set ON_ERROR_STOP off',
        CASE runs_in WHEN 'shell' THEN E'\\setenv PGHOST :HOST\n\\setenv PGPORT :PORT\n\\setenv PGUSER :USER\n\\setenv PGDATABASE :DBNAME\n\\! ' ELSE '' END || statement || CASE runs_in WHEN 'shell' THEN ' </dev/null' ELSE '' END,
        -- a statement that failed in an open transaction must not be the last word
        '\set ON_ERROR_STOP on',
        '\endif',
        @extschema@.ff_do(format($body$DECLARE
    verdict text := nullif(current_setting('ff_script.verdict'), '');
BEGIN
    IF verdict IS NULL THEN
        SELECT CASE WHEN c.relfilenode <> %1$s THEN 'done: %2$s' ELSE 'refused: %2$s did not rewrite it, see the messages above' END
          INTO verdict
          FROM %3$s;
    END IF;
    PERFORM set_config(v.name, (coalesce(nullif(current_setting(v.name, true), ''), '0')::integer + 1)::text, false)
       FROM (SELECT 'ff_script.' || split_part(verdict, ':', 1) AS name) v;
    IF verdict LIKE 'refused:%%' THEN
        RAISE WARNING '%%: %%', %4$s, verdict;
    ELSE
        RAISE NOTICE '%%: %%', %4$s, verdict;
    END IF;
END$body$, c->>'relfilenode', method, g.source, @extschema@.ff_quoted_text(c->>'relation'))))
      FROM guard g
$$;
COMMENT ON FUNCTION @extschema@.ff_rewrite_lines(jsonb, text, text, text, text) IS 'One rewrite of a plan within its guard, lines for psql: only where the advised options are in force and the file is still the one of the advice. Internal step of ff_plan().';
REVOKE ALL ON FUNCTION @extschema@.ff_rewrite_lines(jsonb, text, text, text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_rewrite_lines(jsonb, text, text, text, text) TO pg_read_all_stats;

-- ---------------------------------------------------------------------------
-- Surroundings
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_cautions(wal_bytes bigint) RETURNS SETOF text
LANGUAGE plpgsql VOLATILE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    r record;
    recovering CONSTANT boolean := pg_is_in_recovery();
    wal_now CONSTANT pg_lsn := CASE WHEN recovering THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END;
BEGIN
    IF recovering THEN
        RETURN NEXT 'this server is a standby: run the script on its primary';
    END IF;
    FOR r IN SELECT s.slot_name, s.slot_type, s.active, s.wal_status, s.safe_wal_size, wal_now - s.restart_lsn AS held FROM pg_replication_slots s ORDER BY s.slot_name LOOP
        RETURN NEXT format('replication slot %s (%s, %s) holds back %s of WAL, status %s%s', quote_ident(r.slot_name), r.slot_type,
                           CASE WHEN r.active THEN 'active' ELSE 'not active' END, coalesce(pg_size_pretty(r.held), 'none'), coalesce(r.wal_status, 'unknown'),
                           CASE WHEN r.safe_wal_size < wal_bytes THEN format(': it is lost once %s more are written, and all rewrites together write about %s', pg_size_pretty(r.safe_wal_size), pg_size_pretty(wal_bytes))
                                ELSE ': what a rewrite writes is kept until it has been read' END);
    END LOOP;
    FOR r IN SELECT a.application_name, a.state, a.sync_state, wal_now - a.replay_lsn AS behind FROM pg_stat_replication a ORDER BY a.application_name LIMIT 20 LOOP
        RETURN NEXT format('standby or subscriber %s (%s, %s) is %s behind: a rewrite sends it as much as it writes, and VACUUM FULL locks the table there too',
                           quote_ident(r.application_name), coalesce(r.state, 'unknown'), coalesce(r.sync_state, 'unknown'), coalesce(pg_size_pretty(r.behind), 'an unknown amount'));
    END LOOP;
    IF EXISTS (SELECT 1 FROM pg_publication) THEN
        RETURN NEXT 'storage options are not replicated logically: subscribers keep their own fillfactor';
    END IF;
    SELECT d.free_bytes INTO r FROM @extschema@.ff_disk_wal() d;
    IF wal_bytes > r.free_bytes / 2 THEN
        RETURN NEXT format('all rewrites together write about %s of WAL, and %s are free where the WAL is', pg_size_pretty(wal_bytes), pg_size_pretty(r.free_bytes));
    END IF;
END
$$;
COMMENT ON FUNCTION @extschema@.ff_cautions(bigint) IS 'What else a rewrite that writes this much WAL (bytes) would touch: slots, standbys, subscribers, the WAL''s disk; a sentence each. Internal step of ff_plan().';
REVOKE ALL ON FUNCTION @extschema@.ff_cautions(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_cautions(bigint) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_partman_template(parent oid) RETURNS oid
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    config  text;
    found_oid oid;
BEGIN
    -- only a table that belongs to the extension pg_partman is believed
    SELECT format('%I.%I', n.nspname, c.relname) INTO config
      FROM pg_extension e
      JOIN pg_depend d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.deptype = 'e' AND d.classid = 'pg_class'::regclass
      JOIN pg_class c ON c.oid = d.objid AND c.relname = 'part_config' AND c.relkind = 'r'
      JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE e.extname = 'pg_partman' AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT');
    IF config IS NOT NULL THEN
        EXECUTE format('SELECT t.oid FROM %s p, pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace, pg_class t JOIN pg_namespace tn ON tn.oid = t.relnamespace '
                       ' WHERE c.oid = $1 AND p.parent_table = n.nspname || ''.'' || c.relname AND p.template_table = tn.nspname || ''.'' || t.relname AND t.relkind = ''r''', config)
           INTO found_oid USING parent;
    END IF;
    RETURN found_oid;
END
$$;
COMMENT ON FUNCTION @extschema@.ff_partman_template(oid) IS 'The table whose options pg_partman gives to new partitions of a partitioned table; NULL where it is not managed, or not visible to this role. Internal step of ff_plan().';
REVOKE ALL ON FUNCTION @extschema@.ff_partman_template(oid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_partman_template(oid) TO pg_read_all_stats;

-- ---------------------------------------------------------------------------
-- The plan
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_plan_change(target oid, fillfactor integer, facts jsonb, new_bytes bigint, wants_rewrite boolean, rewrite_reason text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    tries   CONSTANT integer := 5;
    c       record;
    change  jsonb;
    after   text[];
    command text;
    ways    jsonb;
    chosen  jsonb;
BEGIN
    SELECT k.oid, k.relkind, k.relfilenode, k.reloptions, n.nspname, k.relname, r.rolname AS owner, i.indrelid, i.indkey::text AS indkey,
           @extschema@.ff_quoted_name(n.nspname::text) || '.' || @extschema@.ff_quoted_name(k.relname::text) AS name
      INTO c
      FROM pg_class k
      JOIN pg_namespace n ON n.oid = k.relnamespace
      JOIN pg_roles r ON r.oid = k.relowner
      LEFT JOIN pg_index i ON i.indexrelid = k.oid
     WHERE k.oid = target;
    IF NOT FOUND THEN
        -- dropped since it was advised
        RETURN NULL;
    END IF;
    after := CASE WHEN fillfactor IS NULL THEN c.reloptions ELSE @extschema@.ff_options_then(c.reloptions, fillfactor) END;
    command := format('ALTER %s %s ', CASE c.relkind WHEN 'i' THEN 'INDEX' WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'TABLE' END, c.name);

    change := facts || jsonb_build_object(
        'kind', CASE c.relkind WHEN 'i' THEN 'index' WHEN 'm' THEN 'materialized view' ELSE 'table' END,
        'relation', c.name, 'schema', c.nspname, 'name', c.relname, 'oid', c.oid::text, 'table_oid', c.indrelid::text, 'indkey', c.indkey,
        'relfilenode', c.relfilenode::text, 'owner', c.owner, 'recommended_fillfactor', coalesce(fillfactor, (facts->>'fillfactor')::integer),
        'options_before', to_jsonb(c.reloptions), 'options_after', to_jsonb(after),
        'statement', format('%sSET (fillfactor = %s);', command, fillfactor),
        'undo', command || @extschema@.ff_options_undo(c.reloptions) || ';',
        'lock', 'SHARE UPDATE EXCLUSIVE for a moment: readers and writers go on');
    IF fillfactor IS NULL THEN
        -- its rebuild is all there is to it, and nothing takes that back
        change := change || '{"statement": null, "undo": null, "guarded_statement": null, "guarded_undo": null, "lock": null}';
    ELSE
        change := change || jsonb_build_object(
            'guarded_statement', @extschema@.ff_guarded(change, change->>'statement', c.reloptions::text, after::text, 'already applied', tries),
            'guarded_undo', @extschema@.ff_guarded(change, change->>'undo', after::text, c.reloptions::text, 'already as it was', tries));
    END IF;

    SELECT coalesce(jsonb_agg(to_jsonb(w)), '[]') INTO ways FROM @extschema@.ff_rewrites(target, new_bytes) w;
    SELECT jsonb_agg(w.way || jsonb_build_object('psql', @extschema@.ff_rewrite_lines(change, after::text, w.way->>'method', w.way->>'statement', w.way->>'runs_in')) ORDER BY w.place),
           (jsonb_agg(w.way->'method' ORDER BY w.place) FILTER (WHERE (w.way->>'possible')::boolean))->0
      INTO ways, chosen
      FROM jsonb_array_elements(ways) WITH ORDINALITY AS w(way, place);
    RETURN change || jsonb_build_object('rewrite', jsonb_build_object(
        'wanted', wants_rewrite, 'reason', rewrite_reason,
        'method', CASE WHEN wants_rewrite THEN chosen END, 'methods', coalesce(ways, '[]')));
END
$$;
COMMENT ON FUNCTION @extschema@.ff_plan_change(oid, integer, jsonb, bigint, boolean, text) IS 'One change of a plan: statement, guard, undo and ways to rewrite; NULL where the relation is gone. fillfactor NULL: options stay, only the rewrite. Internal step of ff_plan().';
REVOKE ALL ON FUNCTION @extschema@.ff_plan_change(oid, integer, jsonb, bigint, boolean, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_plan_change(oid, integer, jsonb, bigint, boolean, text) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_plan(target regclass) RETURNS jsonb
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    kind      CONSTANT "char" := (SELECT c.relkind FROM pg_class c WHERE c.oid = target);
    -- what a raise must save of a table, to be worth a rewrite
    worth     CONSTANT double precision := 0.1;
    a         record;
    p         record;
    changes   jsonb[] := '{}';
    counts    jsonb := '{}';
    index_counts jsonb := '{}';
    templates jsonb[] := '{}';
    wants     boolean;
    why       text;
    template  oid;
    wal       bigint;
BEGIN
    IF target IS NOT NULL AND kind IS DISTINCT FROM 'i' THEN
        PERFORM @extschema@.ff_checked_table(target);
    END IF;

    FOR a IN
        SELECT v.*, (SELECT i.inhparent FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid AND c.relispartition WHERE i.inhrelid = v.relation) AS parent
          FROM (SELECT NULL::regclass AS t WHERE target IS NULL
                UNION ALL SELECT t.relid FROM pg_partition_tree(target) t WHERE kind = 'p' AND t.isleaf
                UNION ALL SELECT target WHERE kind NOT IN ('p', 'i')) x
         CROSS JOIN LATERAL @extschema@.ff_advise(x.t) v
         ORDER BY v.size_bytes NULLS FIRST, v.relation
    LOOP
        counts := jsonb_set(counts, ARRAY[a.action], to_jsonb(coalesce((counts->>a.action)::integer, 0) + 1));
        CONTINUE WHEN a.action NOT IN ('lower', 'raise');

        IF a.action = 'raise' THEN
            wants := a.predicted_size_bytes < a.size_bytes * (1 - worth);
            why := CASE WHEN wants THEN format('gives back %s at once; without it, new rows fill up the old pages by and by', pg_size_pretty(a.size_bytes - a.predicted_size_bytes))
                        ELSE 'not worth it: it would give back next to nothing' END;
        ELSE
            SELECT coalesce(c.needs_rewrite, true) INTO wants
              FROM @extschema@.ff_evidence(a.relation) e CROSS JOIN LATERAL @extschema@.ff_choice(e) c;
            why := CASE WHEN wants THEN 'updates fall on old pages, which keep their density until they are rewritten'
                        ELSE 'nothing to do: updates fall on new pages, and those are filled as advised from now on' END;
        END IF;
        changes := changes || @extschema@.ff_plan_change(a.relation, a.recommended_fillfactor,
            jsonb_build_object('action', a.action, 'cause', a.cause, 'confidence', round(a.confidence::numeric, 2), 'fillfactor', a.fillfactor, 'reason', a.reason,
                               'parent', a.parent::oid::text, 'updates_per_s', round(a.updates_per_s::numeric, 2),
                               'effect', jsonb_build_object('hot_pct', round(a.hot_pct::numeric, 1), 'predicted_hot_pct', round(a.predicted_hot_pct::numeric, 1),
                                                            'rows_per_page', a.rows_per_page, 'predicted_rows_per_page', a.predicted_rows_per_page,
                                                            'size_bytes', a.size_bytes, 'predicted_size_bytes', a.predicted_size_bytes,
                                                            'predicted_wal_pct', round(a.predicted_wal_pct::numeric))),
            a.predicted_size_bytes, wants, why);
    END LOOP;

    changes := array_remove(changes, NULL);

    -- new partitions: as the busiest one of those changed
    FOR p IN
        SELECT DISTINCT ON (c->>'parent') (c->>'parent')::oid AS parent, (c->>'recommended_fillfactor')::integer AS fillfactor, c->>'relation' AS leaf,
               count(*) OVER (PARTITION BY c->>'parent') AS changed,
               (SELECT count(*) FROM pg_inherits i WHERE i.inhparent = (c->>'parent')::oid) AS partitions,
               (SELECT @extschema@.ff_quoted_name(n.nspname::text) || '.' || @extschema@.ff_quoted_name(k.relname::text)
                  FROM pg_class k JOIN pg_namespace n ON n.oid = k.relnamespace WHERE k.oid = (c->>'parent')::oid) AS name
          FROM unnest(changes) c
         WHERE c->>'parent' IS NOT NULL
         ORDER BY c->>'parent', (c->>'updates_per_s')::double precision DESC NULLS LAST
    LOOP
        template := @extschema@.ff_partman_template(p.parent);
        templates := templates || jsonb_build_object('parent', p.name, 'parent_oid', p.parent::text, 'fillfactor', p.fillfactor, 'as', p.leaf, 'changed', p.changed, 'partitions', p.partitions,
            'managed_by', CASE WHEN template IS NOT NULL THEN 'pg_partman' END,
            'statement', format('CREATE TABLE ... PARTITION OF %s ... WITH (fillfactor = %s);', p.name, p.fillfactor));
        CONTINUE WHEN kind IS DISTINCT FROM 'p' AND target IS NOT NULL;
        -- those made ahead, still empty
        FOR a IN
            SELECT c.oid, @extschema@.ff_fillfactor(c.reloptions) AS fillfactor
              FROM pg_inherits i
              JOIN @extschema@.ff_candidate k ON k.relid = i.inhrelid AND k.not_examined IS NULL
              JOIN pg_class c ON c.oid = i.inhrelid
             CROSS JOIN LATERAL @extschema@.ff_sizes(c.oid) z
             WHERE i.inhparent = p.parent AND z.heap_bytes = 0 AND @extschema@.ff_fillfactor(c.reloptions) <> p.fillfactor
               AND NOT EXISTS (SELECT 1 FROM pg_partitioned_table d WHERE d.partrelid = p.parent AND d.partdefid = c.oid)
             ORDER BY k.nspname, k.relname
        LOOP
            changes := changes || @extschema@.ff_plan_change(a.oid, p.fillfactor,
                jsonb_build_object('action', 'template', 'cause', 'template', 'fillfactor', a.fillfactor,
                                   'reason', format('an empty partition of %s, made ahead: it is to be filled as %s is advised to be', p.name, p.leaf)),
                0, false, 'it holds no rows');
        END LOOP;
        IF template IS NOT NULL AND (SELECT @extschema@.ff_fillfactor(c.reloptions) FROM pg_class c WHERE c.oid = template) <> p.fillfactor THEN
            changes := changes || @extschema@.ff_plan_change(template, p.fillfactor,
                jsonb_build_object('action', 'template', 'cause', 'template', 'fillfactor', (SELECT @extschema@.ff_fillfactor(c.reloptions) FROM pg_class c WHERE c.oid = template),
                                   'reason', format('pg_partman gives the options of this table to new partitions of %s, which are advised as %s is', p.name, p.leaf)),
                0, false, 'it holds no rows');
        END IF;
    END LOOP;

    -- indexes, by what their pages show now
    FOR a IN SELECT i.* FROM @extschema@.ff_advise_indexes(target) i ORDER BY i.size_bytes NULLS FIRST LOOP
        index_counts := jsonb_set(index_counts, ARRAY[a.action], to_jsonb(coalesce((index_counts->>a.action)::integer, 0) + 1));
        CONTINUE WHEN a.action NOT IN ('lower', 'raise', 'rebuild');
        -- ascending keys fill new pages anyway
        wants := a.action = 'rebuild' OR a.cause = 'never_written';
        changes := changes || @extschema@.ff_plan_change(a.index, CASE WHEN a.action <> 'rebuild' THEN a.recommended_fillfactor END,
            jsonb_build_object('action', a.action, 'cause', a.cause, 'fillfactor', a.fillfactor, 'reason', a.reason,
                               'effect', jsonb_build_object('leaf_density', round(a.leaf_density::numeric, 1), 'size_bytes', a.size_bytes, 'predicted_size_bytes', a.predicted_size_bytes)),
            a.predicted_size_bytes, wants,
            CASE WHEN a.action = 'rebuild' THEN a.reason WHEN wants THEN 'only a rebuild packs it' ELSE 'nothing to do: new keys go to new pages, which are filled as advised from now on' END);
    END LOOP;

    changes := array_remove(changes, NULL);
    SELECT coalesce(sum((m->>'wal_bytes')::bigint), 0) INTO wal
      FROM unnest(changes) c CROSS JOIN LATERAL jsonb_array_elements(c->'rewrite'->'methods') m
     WHERE m->'method' = c->'rewrite'->'method';

    RETURN (
        SELECT jsonb_build_object(
            'format', 1,
            'generator', 'fillfactor_advisor ' || (SELECT e.extversion FROM pg_extension e WHERE e.extname = 'fillfactor_advisor'),
            'database', current_database(), 'system_identifier', (SELECT s.system_identifier::text FROM @extschema@.ff_server() s),
            'server', concat_ws(', ', nullif(current_setting('cluster_name'), ''), 'port ' || current_setting('port')),
            'server_version', current_setting('server_version'), 'client_encoding', pg_client_encoding(),
            'generated_at', to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"'), 'generated_by', current_user,
            'collected', (SELECT jsonb_build_object('collections', count(*),
                                                    'from', to_char(min(o.began_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"'),
                                                    'to', to_char(max(o.began_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"'))
                            FROM @extschema@.ff_collection o WHERE o.began_at > now() - make_interval(days => @extschema@.ff_setting('lookback')::integer)),
            'asked_for', CASE WHEN target IS NULL THEN 'all tables' ELSE (SELECT @extschema@.ff_quoted_name(n.nspname::text) || '.' || @extschema@.ff_quoted_name(c.relname::text)
                                                                            FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = target) END,
            'examined', counts, 'indexes_examined', index_counts,
            'run_as', (SELECT coalesce(jsonb_agg(DISTINCT c->'owner'), '[]') FROM unnest(changes) c),
            'wal_bytes', wal, 'io_rate', (SELECT to_jsonb(i) FROM @extschema@.ff_io_rate() i),
            'cautions', (SELECT coalesce(jsonb_agg(w), '[]') FROM @extschema@.ff_cautions(wal) w),
            'changes', (SELECT coalesce(jsonb_agg(c ORDER BY c->>'kind' = 'index', (c->'effect'->>'size_bytes')::bigint NULLS FIRST, c->>'relation'), '[]') FROM unnest(changes) c),
            'templates', to_jsonb(templates)));
END
$$;
COMMENT ON FUNCTION @extschema@.ff_plan(regclass) IS 'All that ff_script() and ff_script_json() say: where and from what, changes in their order (small to large, tables before indexes) with guard, undo, effect and ways to rewrite, templates for new partitions, cautions.';
REVOKE ALL ON FUNCTION @extschema@.ff_plan(regclass) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_plan(regclass) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_script_json(relation regclass DEFAULT NULL, rewrite boolean DEFAULT false) RETURNS jsonb
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT @extschema@.ff_plan(relation) || jsonb_build_object('rewrites_live', coalesce(rewrite, false))
$$;
REVOKE ALL ON FUNCTION @extschema@.ff_script_json(regclass, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_script_json(regclass, boolean) TO pg_read_all_stats;
COMMENT ON FUNCTION @extschema@.ff_script_json(regclass, boolean) IS
'What ff_script() says, for tools. changes: in the order in which to run them, each with statement and undo as they are, guarded_statement and guarded_undo (DO statements that refuse with a warning where the relation is no longer what the advice was for; all four null for an index that is only to be rebuilt, action rebuild), options_before and options_after exactly as stored, effect (bytes, percent), rewrite (wanted, reason, method chosen, methods with disk, WAL and time). templates: for new partitions. cautions: sentences. rewrites_live repeats the argument. Errors as of ff_script().';

CREATE FUNCTION @extschema@.ff_script_effect(c jsonb) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT concat_ws('; ',
        'rows a page ' || (e->>'rows_per_page') || ' -> ' || (e->>'predicted_rows_per_page'),
        'HOT ' || (e->>'hot_pct') || ' % -> ' || (e->>'predicted_hot_pct') || ' %',
        'WAL per update ' || (e->>'predicted_wal_pct') || ' % of today''s',
        'size ' || pg_size_pretty((e->>'size_bytes')::bigint) || ' -> ' || pg_size_pretty((e->>'predicted_size_bytes')::bigint) || ' once all pages are filled so')
      FROM (SELECT c->'effect') AS x(e)
$$;
COMMENT ON FUNCTION @extschema@.ff_script_effect(jsonb) IS 'The expected effect of one change of a plan, in words; parts that are not known are left out. Internal step of ff_script().';
REVOKE ALL ON FUNCTION @extschema@.ff_script_effect(jsonb) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_script_effect(jsonb) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_script(relation regclass DEFAULT NULL, rewrite boolean DEFAULT false) RETURNS SETOF text
LANGUAGE plpgsql VOLATILE ROWS 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    plan    CONSTANT jsonb := @extschema@.ff_script_json(relation, rewrite);
    -- those that set options; the others are rebuilds alone
    total   CONSTANT integer := (SELECT count(*) FROM jsonb_array_elements(plan->'changes') w WHERE w->>'statement' IS NOT NULL);
    -- every session that runs a part begins and ends so
    opening CONSTANT text[] := ARRAY[
        '\set ON_ERROR_STOP on',
        '\set AUTOCOMMIT on',
        '\set QUIET on',
        format('\encoding %s', plan->>'client_encoding'),
        'SET search_path = pg_catalog, pg_temp;',
        'SET client_min_messages = notice;',
        'SET statement_timeout = 0;',
        'SET lock_timeout = ''2s'';',
        'SET ff_script.done = 0;',
        'SET ff_script.unchanged = 0;',
        'SET ff_script.refused = 0;'];
    closing CONSTANT text[] := string_to_array(@extschema@.ff_do($body$BEGIN
    RAISE NOTICE '% done, % unchanged, % refused', current_setting('ff_script.done'), current_setting('ff_script.unchanged'), current_setting('ff_script.refused');
    IF current_setting('ff_script.refused') <> '0' THEN
        RAISE EXCEPTION '% refused, for the reasons in the warnings above', current_setting('ff_script.refused')
            USING HINT = 'The others are in force. What was locked can be run again; for the rest, generate the script anew.';
    END IF;
END$body$), E'\n') || ARRAY[
        'RESET lock_timeout;', 'RESET statement_timeout;', 'RESET client_min_messages;', 'RESET search_path;'];
    c       jsonb;
    m       jsonb;
    t       text;
    n       integer := 0;
    prefix  text;
    file    CONSTANT text := format('psql -X -d %s', '''' || replace(@extschema@.ff_plain(current_database()::text), '''', '''\''''') || '''');
BEGIN
    RETURN NEXT '-- ' || (plan->>'generator') || ': script of changes for ' || @extschema@.ff_plain(plan->>'asked_for') || ', to be read before it is run';
    RETURN NEXT '-- database:  ' || @extschema@.ff_plain(plan->>'database') || ' of cluster ' || (plan->>'system_identifier') || ' (' || @extschema@.ff_plain(plan->>'server') || '), PostgreSQL ' || @extschema@.ff_plain(plan->>'server_version');
    RETURN NEXT '-- generated: ' || (plan->>'generated_at') || ' by ' || @extschema@.ff_plain(plan->>'generated_by');
    RETURN NEXT '-- collected: ' || coalesce((plan->'collected'->>'from') || ' to ' || (plan->'collected'->>'to') || ', ' || (plan->'collected'->>'collections') || ' collections', 'nothing yet');
    RETURN NEXT '-- examined:  ' || coalesce((SELECT string_agg(e.value || ' ' || e.key, ', ' ORDER BY e.key) FROM jsonb_each_text(plan->'examined') e), 'no table')
                || coalesce('; indexes: ' || (SELECT string_agg(e.value || ' ' || e.key, ', ' ORDER BY e.key) FROM jsonb_each_text(plan->'indexes_examined') e), '');
    IF jsonb_array_length(plan->'changes') = 0 THEN
        RETURN NEXT '-- Nothing is to be changed. ff_advise() and ff_advise_indexes() give the reason for each table and index.';
        RETURN;
    END IF;
    RETURN NEXT '-- run as:    a superuser, or a member of the owners: ' || (SELECT string_agg(@extschema@.ff_plain(o), ', ') FROM jsonb_array_elements_text(plan->'run_as') o);
    RETURN NEXT '-- how:       ' || file || ' -f FILE, not with --single-transaction';
    RETURN NEXT '-- Each change refuses with a warning where something is no longer as it was when this was generated, and the';
    RETURN NEXT '-- rest goes on; psql then ends with an error. Run again, it changes nothing that is in force already.';
    FOR t IN SELECT jsonb_array_elements_text(plan->'cautions') LOOP
        RETURN NEXT '-- caution:   ' || @extschema@.ff_plain(t);
    END LOOP;
    RETURN NEXT '';
    RETURN QUERY SELECT unnest(opening);

    IF total = 0 THEN
        RETURN NEXT '';
        RETURN NEXT '-- No option is to be changed, only rebuilt what the rewrites below name.';
    END IF;
    FOR c IN SELECT w FROM jsonb_array_elements(plan->'changes') w WHERE w->>'statement' IS NOT NULL LOOP
        n := n + 1;
        RETURN NEXT '';
        RETURN NEXT format('-- %s of %s: %s, fillfactor %s -> %s (%s%s)', n, total, c->>'relation', c->>'fillfactor', c->>'recommended_fillfactor', c->>'cause', ', confidence ' || (c->>'confidence'));
        RETURN NEXT '-- reason:    ' || @extschema@.ff_plain(c->>'reason');
        t := @extschema@.ff_script_effect(c);
        IF t <> '' THEN
            RETURN NEXT '-- expected:  ' || t;
        END IF;
        RETURN NEXT '-- lock:      ' || (c->>'lock') || '; 5 tries of 2 s';
        RETURN NEXT '-- old pages: ' || (c->'rewrite'->>'reason') || coalesce('; by ' || (c->'rewrite'->>'method') || ', see below', '');
        RETURN QUERY SELECT string_to_table(c->>'guarded_statement', E'\n');
    END LOOP;

    FOR c IN SELECT jsonb_array_elements(plan->'templates') LOOP
        RETURN NEXT '';
        RETURN NEXT format('-- New partitions of %s should be as %s is (%s of %s partitions change); a partitioned table itself takes no fillfactor:', c->>'parent', c->>'as', c->>'changed', c->>'partitions');
        RETURN NEXT '--   ' || (c->>'statement') || CASE WHEN c->>'managed_by' IS NOT NULL THEN ' (pg_partman does so by its template table)' ELSE '' END;
    END LOOP;

    IF EXISTS (SELECT 1 FROM jsonb_array_elements(plan->'changes') w WHERE (w->'rewrite'->>'wanted')::boolean) THEN
        prefix := CASE WHEN rewrite THEN '' ELSE '--rewrite ' END;
        RETURN NEXT '';
        RETURN NEXT '-- Rewrites: how the changes reach pages that are there already, and indexes to be rebuilt as they are. One at a time, when there is least to do.';
        IF NOT coalesce(rewrite, false) THEN
            RETURN NEXT '-- They are commented out; to run them: sed -n ''s/^--rewrite //p'' FILE | ' || file;
            RETURN QUERY SELECT prefix || unnest(opening);
        END IF;
        FOR c IN SELECT w FROM jsonb_array_elements(plan->'changes') w WHERE (w->'rewrite'->>'wanted')::boolean LOOP
            RETURN NEXT '';
            RETURN NEXT '-- ' || (c->>'relation') || ': ' || @extschema@.ff_plain(c->'rewrite'->>'reason');
            FOR m IN SELECT jsonb_array_elements(c->'rewrite'->'methods') LOOP
                RETURN NEXT format('--   %s %s: %s; disk %s of %s free, WAL about %s, %s; %s', CASE WHEN m->'method' = c->'rewrite'->'method' THEN '*' WHEN (m->>'possible')::boolean THEN '+' ELSE '-' END,
                                   m->>'method', m->>'why', pg_size_pretty((m->>'disk_bytes')::bigint), pg_size_pretty((m->>'free_bytes')::bigint), pg_size_pretty((m->>'wal_bytes')::bigint),
                                   coalesce('at least ' || @extschema@.ff_span((m->>'seconds')::double precision) || ' at the speed measured', 'time unknown, as track_io_timing has measured nothing'), m->>'lock');
                IF m->'method' IS DISTINCT FROM c->'rewrite'->'method' AND (m->>'possible')::boolean THEN
                    RETURN NEXT '--       ' || (m->>'statement');
                END IF;
            END LOOP;
            FOR m IN SELECT w FROM jsonb_array_elements(c->'rewrite'->'methods') w WHERE w->'method' = c->'rewrite'->'method' LOOP
                RETURN QUERY SELECT prefix || string_to_table(m->>'psql', E'\n');
            END LOOP;
        END LOOP;
        IF NOT coalesce(rewrite, false) THEN
            RETURN QUERY SELECT prefix || unnest(closing);
        END IF;
    END IF;

    RETURN NEXT '';
    RETURN QUERY SELECT unnest(closing);
    IF total = 0 THEN
        RETURN;
    END IF;
    RETURN NEXT '';
    RETURN NEXT '-- Undo: the options come back exactly as they were stored; old pages again only by a rewrite. To run it:';
    RETURN NEXT '-- sed -n ''s/^--undo //p'' FILE | ' || file;
    RETURN QUERY SELECT '--undo ' || unnest(opening);
    FOR c IN SELECT w.c FROM jsonb_array_elements(plan->'changes') WITH ORDINALITY AS w(c, place) WHERE w.c->>'statement' IS NOT NULL ORDER BY w.place DESC LOOP
        RETURN QUERY SELECT '--undo ' || string_to_table(c->>'guarded_undo', E'\n');
    END LOOP;
    RETURN QUERY SELECT '--undo ' || unnest(closing);
END
$$;
REVOKE ALL ON FUNCTION @extschema@.ff_script(regclass, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_script(regclass, boolean) TO pg_read_all_stats;
COMMENT ON FUNCTION @extschema@.ff_script(regclass, boolean) IS
'The advice for one table, the partitions of one, or all, as lines of a psql script: write them to a file with psql -XAt, read it, and run it with psql -X.
relation: the table; NULL all. rewrite: true also runs the rewrites that bring a change to old pages, false leaves them as comments.
Every change is a DO statement that refuses with a warning where database, relation, name or options are not those that the advice was for, that gives up after 5 tries of 2 s for its lock, and that changes nothing where it is in force already. The exact undo follows as comments.
Errors: 42P01 unknown OID, 42809 not a table or index that can be advised.';
-- Stage script, for B-tree indexes: what the fill of their leaf pages says of
-- the way they are written, and whether another fillfactor would last.
--
-- A B-tree honours its fillfactor in two places only: when it is built, and when
-- its rightmost page splits because ascending keys came in.  Any other split
-- leaves two halves, so a tree that is written at random is about 70 % full
-- some time after, whatever was set.  Advice to change one is therefore rare.

CREATE FUNCTION @extschema@.ff_index_fillfactor(reloptions text[]) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    -- a B-tree's default is 90, a table's 100; both are read alike
    SELECT CASE WHEN EXISTS (SELECT 1 FROM unnest(reloptions) o WHERE o LIKE 'fillfactor=%') THEN @extschema@.ff_fillfactor(reloptions) ELSE 90 END
$$;
COMMENT ON FUNCTION @extschema@.ff_index_fillfactor(text[]) IS 'Leaf fillfactor, percent, that the server reads from a B-tree index''s stored options; 90 where they name none.';
REVOKE ALL ON FUNCTION @extschema@.ff_index_fillfactor(text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_index_fillfactor(text[]) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_index_judged(
    fillfactor integer, leaf_density double precision, at_fillfactor_pct double precision, half_full_pct double precision,
    fragmentation double precision, deduplicated_pct double precision, leaf_pages double precision, row_pointers double precision,
    inserted bigint, cold_updated bigint, quiet boolean, correlation real,
    OUT cause text, OUT recommended_fillfactor integer)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH seen AS (
        SELECT coalesce(inserted, 0) + coalesce(cold_updated, 0) AS written,
               -- pages as full as the fillfactor, one after the other, hardly any half
               at_fillfactor_pct >= 70 AND half_full_pct <= 10 AND fragmentation <= 10 AS orderly,
               -- ascending keys are shown by growth that split no page in two,
               -- or by the order of the table's rows
               coalesce(inserted, 0) >= 0.2 * row_pointers OR (coalesce(inserted, 0) > 0 AND correlation >= 0.95) AS grows
    ), c AS (
        SELECT CASE
                 WHEN leaf_density IS NULL THEN 'no_data'
                 WHEN written = 0 AND quiet THEN 'never_written'
                 WHEN written = 0 THEN 'no_data'
                 WHEN coalesce(cold_updated, 0) > 5 * coalesce(inserted, 0) AND cold_updated > 0.05 * row_pointers THEN 'version_churn'
                 WHEN deduplicated_pct >= 50 THEN 'deduplicated'
                 WHEN orderly AND grows THEN 'ascending'
                 WHEN orderly AND half_full_pct <= 2 THEN 'as_built'
                 -- a second entry for each row splits full leaves in whatever
                 -- order keys come in; vacuum then takes the first one, so that
                 -- half of a half is left without a row deleted
                 WHEN cold_updated > 0.5 * coalesce(inserted, 0) AND cold_updated > 0.05 * row_pointers AND leaf_density >= 25 THEN 'version_churn'
                 WHEN leaf_density < 45 THEN 'sparse'
                 ELSE 'random' END AS cause
          FROM seen
    )
    SELECT c.cause,
           CASE -- what stays as it is needs no room; what a build at the default
                -- leaves is not worth another one
                WHEN c.cause = 'never_written' AND leaf_density < 85 THEN 100
                -- room in pages that nobody comes back to is wasted, unless old
                -- rows are updated and put new entries there
                WHEN c.cause = 'ascending' AND coalesce(cold_updated, 0) <= 0.01 * inserted THEN greatest(fillfactor, 100)
                ELSE fillfactor END
      FROM c
$$;
COMMENT ON FUNCTION @extschema@.ff_index_judged(integer, double precision, double precision, double precision, double precision, double precision, double precision, double precision, bigint, bigint, boolean, real) IS 'How a B-tree is written, from the fill of its leaf pages (see ff_sample_index()), rows inserted and updated without HOT in the window, whether the table was left alone for the whole window, and the correlation of its first column; and the fillfactor that follows. Internal step of ff_advise_indexes().';
REVOKE ALL ON FUNCTION @extschema@.ff_index_judged(integer, double precision, double precision, double precision, double precision, double precision, double precision, double precision, bigint, bigint, boolean, real) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_index_judged(integer, double precision, double precision, double precision, double precision, double precision, double precision, double precision, bigint, bigint, boolean, real) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_judge_indexes(target regclass)
RETURNS TABLE (
    index                  regclass,
    relation               regclass,
    fillfactor             integer,
    recommended_fillfactor integer,
    action                 text,
    cause                  text,
    size_bytes             bigint,
    predicted_size_bytes   bigint,
    leaf_density           real,
    leaf_density_err       real,
    at_fillfactor_pct      real,
    half_full_pct          real,
    deduplicated_pct       real,
    reason                 text,
    ddl                    text
)
LANGUAGE plpgsql VOLATILE ROWS 1000
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    kind      CONSTANT "char" := (SELECT c.relkind FROM pg_class c WHERE c.oid = target);
    -- with fewer pages than this a few bytes decide
    smallest  CONSTANT bigint := 100;
    block     CONSTANT bigint := current_setting('block_size')::bigint;
    budget    bigint := @extschema@.ff_setting('collect_pages')::bigint;
    deadline  CONSTANT timestamptz := clock_timestamp() + (@extschema@.ff_setting('collect_time') || ' s')::interval;
    may_read  boolean;
    i         record;
    s         record;
    judged    record;
    problem   text;
    then_bytes double precision;
BEGIN
    IF target IS NOT NULL THEN
        IF kind = 'i' THEN
            IF NOT EXISTS (SELECT 1 FROM pg_index x JOIN @extschema@.ff_candidate c ON c.relid = x.indrelid WHERE x.indexrelid = target) THEN
                RAISE 'index "%" is not on a table that can be advised', (SELECT c.relname FROM pg_class c WHERE c.oid = target) USING ERRCODE = 'wrong_object_type';
            END IF;
        ELSE
            PERFORM @extschema@.ff_checked_table(target);
        END IF;
    END IF;
    may_read := (SELECT has_function_privilege(p.oid, 'EXECUTE') FROM pg_proc p JOIN pg_extension e ON e.extnamespace = p.pronamespace
                  WHERE e.extname = 'fillfactor_advisor' AND p.proname = 'ff_sample_index'
                   AND p.proargtypes::text = 'regclass'::regtype::oid::text);

    FOR i IN
        SELECT x.indexrelid, x.indrelid, k.relname, n.nspname, am.amname, x.indisvalid, x.indisready, t.not_examined, k.reloptions,
               CASE WHEN am.amname = 'btree' THEN @extschema@.ff_index_fillfactor(k.reloptions) END AS fillfactor,
               e.inserted, e.updated - e.hot_updated AS cold, e.window_s, e.looked_at,
               (SELECT extract(epoch FROM e.looked_at - r.seen_at)::double precision FROM @extschema@.ff_relation r WHERE r.rel_id = e.rel_id) AS quiet_s,
               (SELECT p.correlation FROM pg_stats p JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = x.indkey[0]
                 WHERE p.schemaname = t.nspname AND p.tablename = t.relname AND p.attname = a.attname AND NOT p.inherited) AS correlation,
               greatest(k.relpages, 0)::bigint AS pages,
               x.indisunique AND x.indexprs IS NULL
                   AND NOT EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = x.indrelid AND a.attnum = ANY (x.indkey) AND NOT a.attnotnull) AS keyed,
               @extschema@.ff_quoted_name(n.nspname::text) || '.' || @extschema@.ff_quoted_name(k.relname::text) AS name
          FROM pg_index x
          JOIN pg_class k ON k.oid = x.indexrelid AND k.relkind = 'i'
          JOIN pg_namespace n ON n.oid = k.relnamespace
          JOIN pg_am am ON am.oid = k.relam
          JOIN @extschema@.ff_candidate t ON t.relid = x.indrelid
          LEFT JOIN @extschema@.ff_evidence(CASE WHEN kind IN ('r', 'm') THEN target WHEN kind = 'i' THEN (SELECT o.indrelid::regclass FROM pg_index o WHERE o.indexrelid = target) END) e ON e.relation = x.indrelid
         WHERE target IS NULL OR x.indexrelid = target OR x.indrelid = target
            OR (kind = 'p' AND x.indrelid IN (SELECT q.relid FROM pg_partition_tree(target) q))
         ORDER BY k.relpages DESC, n.nspname, k.relname
    LOOP
        index := i.indexrelid;
        relation := i.indrelid;
        fillfactor := i.fillfactor;
        recommended_fillfactor := i.fillfactor;
        action := 'keep';
        ddl := NULL;
        s := NULL;
        problem := NULL;
        cause := 'not_examined';
        size_bytes := NULL;
        predicted_size_bytes := NULL;
        leaf_density := NULL; leaf_density_err := NULL; at_fillfactor_pct := NULL; half_full_pct := NULL; deduplicated_pct := NULL;

        IF i.amname <> 'btree' THEN
            reason := format('access method %s: only B-trees are judged.', quote_ident(i.amname));
            RETURN NEXT;
            CONTINUE;
        ELSIF NOT i.indisvalid OR NOT i.indisready THEN
            reason := 'the index is not valid: a CREATE INDEX or REINDEX CONCURRENTLY failed or is still running.';
            RETURN NEXT;
            CONTINUE;
        ELSIF i.not_examined IS NOT NULL THEN
            reason := i.not_examined || '.';
            RETURN NEXT;
            CONTINUE;
        END IF;

        cause := 'no_data';
        action := 'wait';
        IF NOT may_read THEN
            reason := 'its pages may not be read by this role: it needs pg_stat_scan_tables.';
            RETURN NEXT;
            CONTINUE;
        ELSIF budget <= 0 OR clock_timestamp() > deadline THEN
            reason := 'not looked at: larger indexes used up fillfactor_advisor.collect_pages or collect_time. Ask for this one by name.';
            RETURN NEXT;
            CONTINUE;
        END IF;
        BEGIN
            SELECT * INTO s FROM @extschema@.ff_sample_index(i.indexrelid::regclass);
        EXCEPTION WHEN OTHERS THEN
            -- one index's failure is its row
            problem := format('its pages could not be read: %s %s.', SQLSTATE, SQLERRM);
        END;
        IF problem IS NOT NULL THEN
            reason := problem;
            RETURN NEXT;
            CONTINUE;
        END IF;
        budget := budget - s.blocks_read;
        size_bytes := s.blocks * block;
        predicted_size_bytes := size_bytes;
        leaf_density := round(s.leaf_density::numeric, 1);
        leaf_density_err := round(s.leaf_density_err::numeric, 1);
        at_fillfactor_pct := round(s.at_fillfactor_pct::numeric, 1);
        half_full_pct := round(s.half_full_pct::numeric, 1);
        deduplicated_pct := round(s.deduplicated_pct::numeric, 1);
        IF s.blocks < smallest THEN
            cause := 'small';
            action := 'keep';
            reason := format('%s pages: too few to matter.', s.blocks);
            RETURN NEXT;
            CONTINUE;
        ELSIF s.leaf_density IS NULL THEN
            reason := 'no leaf page could be read.';
            RETURN NEXT;
            CONTINUE;
        ELSIF i.looked_at IS NULL OR i.quiet_s IS NULL THEN
            reason := 'its table was not collected yet: run CALL ff_collect() or ff_schedule().';
            RETURN NEXT;
            CONTINUE;
        END IF;

        SELECT * INTO judged
          FROM @extschema@.ff_index_judged(i.fillfactor, s.leaf_density, s.at_fillfactor_pct, s.half_full_pct, s.fragmentation,
                                           -- where no two rows share a key, lists are of versions of one row
                                           CASE WHEN i.keyed THEN 0 ELSE s.deduplicated_pct END,
                                           s.leaf_pages, s.row_pointers, i.inserted, i.cold, i.quiet_s >= 86400.0 * @extschema@.ff_setting('lookback')::integer, i.correlation);
        cause := judged.cause;
        recommended_fillfactor := judged.recommended_fillfactor;
        -- a rebuild packs leaf and inner pages alike, and drops deleted ones
        then_bytes := ((s.leaf_pages + s.internal_pages) * s.leaf_density / recommended_fillfactor + 1) * block;
        action := CASE WHEN recommended_fillfactor > i.fillfactor THEN 'raise' WHEN recommended_fillfactor < i.fillfactor THEN 'lower'
                       -- it stands at 100 already, but was never packed
                       WHEN cause = 'never_written' AND s.leaf_density < 85 AND i.fillfactor = 100 THEN 'rebuild'
                       WHEN cause = 'no_data' THEN 'wait'
                       WHEN cause = 'sparse' THEN 'rebuild' ELSE 'keep' END;
        IF action NOT IN ('keep', 'wait') THEN
            predicted_size_bytes := least(size_bytes, then_bytes::bigint);
            ddl := CASE WHEN action <> 'rebuild' THEN format('ALTER INDEX %s SET (fillfactor = %s); ', i.name, recommended_fillfactor) ELSE '' END
                   || format('REINDEX INDEX CONCURRENTLY %s;', i.name);
        END IF;
        reason := CASE cause
            WHEN 'no_data' THEN format('nothing was written to its table for %s: after %s days of that it could be packed, and writes would show how keys come in.', @extschema@.ff_span(i.quiet_s), @extschema@.ff_setting('lookback'))
            WHEN 'never_written' THEN format('nothing was written to its table for %s, and its leaf pages are %s %% full', @extschema@.ff_span(i.quiet_s), leaf_density)
                || CASE WHEN action = 'keep' THEN format(': a rebuild at 100 would win only %s.', pg_size_pretty(greatest(0, (size_bytes * (1 - leaf_density / 100))::bigint))) ELSE format(': at 100, rebuilt once, it shrinks by %s. If rows are updated or inserted later, full pages split.', pg_size_pretty(size_bytes - predicted_size_bytes)) END
            WHEN 'ascending' THEN format('keys come in ascending: %s %% of its leaf pages are as full as the fillfactor left them, and new rows go to the right end', at_fillfactor_pct)
                || CASE WHEN action = 'raise' THEN format('. Nobody comes back to the room that %s leaves, so 100 saves it in every new page; a rebuild wins %s in the old ones.', i.fillfactor, pg_size_pretty(size_bytes - predicted_size_bytes))
                        WHEN i.fillfactor = 100 THEN '. It is at 100 already.'
                        ELSE format('. %s updates that were not HOT put new entries into old pages, so their room is used.', i.cold) END
            WHEN 'as_built' THEN 'its pages are as they were built, and too few rows came in since to tell where they go. If they come in at random, full pages split in two and the index settles near 70 % full: a lower fillfactor would put that off, and would have to be built in.'
            WHEN 'version_churn' THEN format('%s updates that were not HOT against %s inserts: each put another entry beside the row''s old one, which splits full leaves in whatever order keys come in; the server removes the old one later. Another fillfactor does not end that. Updates that are HOT would not come here at all: see ff_advise() and ff_blockers() for the table.', i.cold, coalesce(i.inserted, 0))
            WHEN 'deduplicated' THEN format('%s %% of its row pointers share their key with others and are stored in lists: new rows lengthen a list where it lies, and lists that are full split by their own rule, not by fillfactor.', deduplicated_pct)
            WHEN 'sparse' THEN format('its leaf pages are only %s %% full, less than inserts at random leave: rows were deleted. A rebuild wins %s; fillfactor has no part in it.', leaf_density, pg_size_pretty(size_bytes - predicted_size_bytes))
            ELSE format('keys come in at random: %s %% of its leaf pages are half full from splits, %s %% of their space is used. Another fillfactor does not last: random inserts settle near 70 %% whatever is set.', half_full_pct, leaf_density) END;
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION @extschema@.ff_judge_indexes(regclass) IS 'All that ff_advise_indexes() says.';
REVOKE ALL ON FUNCTION @extschema@.ff_judge_indexes(regclass) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_judge_indexes(regclass) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_advise_indexes(relation regclass DEFAULT NULL)
RETURNS TABLE (
    index                  regclass,
    relation               regclass,
    fillfactor             integer,
    recommended_fillfactor integer,
    action                 text,
    cause                  text,
    size_bytes             bigint,
    predicted_size_bytes   bigint,
    leaf_density           real,
    leaf_density_err       real,
    at_fillfactor_pct      real,
    half_full_pct          real,
    deduplicated_pct       real,
    reason                 text,
    ddl                    text
)
LANGUAGE sql VOLATILE ROWS 1000
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT * FROM @extschema@.ff_judge_indexes($1)
$$;
REVOKE ALL ON FUNCTION @extschema@.ff_advise_indexes(regclass) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_advise_indexes(regclass) TO pg_read_all_stats;
COMMENT ON FUNCTION @extschema@.ff_advise_indexes(regclass) IS
'Advice on the leaf fillfactor of B-tree indexes: of one index, of one table''s, or, without an argument, of all, largest first. Reads pages of each index now (see ff_sample_index()), together at most fillfactor_advisor.collect_pages of them within collect_time; the reading needs pg_stat_scan_tables besides pg_read_all_stats.
index, relation: the index and its table. fillfactor, recommended_fillfactor: percent, now and advised.
action: raise, lower, rebuild (at the same fillfactor), keep, wait. cause: ascending, never_written (a higher one pays); random, as_built, version_churn, deduplicated (another one would not last or not matter); sparse (rows were deleted); small, no_data, not_examined.
size_bytes, predicted_size_bytes: main fork, now and after a rebuild, bytes. leaf_density: used share of leaf pages, percent, leaf_density_err: half width of its 95 % interval. at_fillfactor_pct, half_full_pct: leaf pages as full as the fillfactor and as a split in the middle leaves them, percent. deduplicated_pct: row pointers in posting lists, percent.
reason: why, in sentences. ddl: the statements, NULL where nothing should change; ff_script() has them with guard and undo.
Errors: 42P01 unknown OID, 42809 neither a table nor an index of one that can be advised.';

-- Stage verify: what came of a change.
--
-- Windows before and after a change are made of whole intervals, so that none
-- holds both states, and only of intervals that can be compared: see
-- ff_verify_windows().  Every share and mean is a ratio of two sums over
-- intervals, and its uncertainty comes from how much it moves from one
-- interval to the next: updates within one interval are not independent of
-- each other, so the usual formulas would promise too much.

-- ---------------------------------------------------------------------------
-- Statistics
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_t_quantile(freedom double precision) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    -- Student's t, two-sided 95 %: tabulated to 30 degrees of freedom, from
    -- there 1.96 + 2.4 / freedom, within 0.002 of it
    SELECT CASE WHEN freedom < 1 THEN 'Infinity'
                WHEN freedom < 31 THEN (ARRAY[12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                              2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                                              2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042])[floor(freedom)::integer]
                ELSE 1.96 + 2.4 / freedom END::double precision
$$;
COMMENT ON FUNCTION @extschema@.ff_t_quantile(double precision) IS 'Half width, in standard errors, of a two-sided 95 % interval with so many degrees of freedom (Student''s t; fractions are rounded down). Infinity below one.';
REVOKE ALL ON FUNCTION @extschema@.ff_t_quantile(double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_t_quantile(double precision) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_ratio(num double precision[], den double precision[], least_variance double precision DEFAULT 0,
    OUT ratio double precision, OUT variance double precision, OUT clusters integer)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH one AS (
        SELECT u.x, u.n FROM unnest(num, den) u(x, n) WHERE u.n > 0 AND u.x IS NOT NULL
    ), total AS (
        SELECT sum(x) / sum(n) AS r, sum(n) AS n, count(*) AS k FROM one
    )
    SELECT t.r,
           CASE WHEN t.k >= 2 THEN greatest(coalesce(least_variance, 0),
                (SELECT sum((o.x - t.r * o.n) ^ 2) FROM one o) * t.k / (t.k - 1) / t.n ^ 2) END,
           t.k::integer
      FROM total t
$$;
COMMENT ON FUNCTION @extschema@.ff_ratio(double precision[], double precision[], double precision) IS 'Ratio of two sums over intervals, and its variance as the intervals show it (ratio estimator with the intervals as clusters), at least least_variance; variance NULL below two intervals, ratio NULL without any.';
REVOKE ALL ON FUNCTION @extschema@.ff_ratio(double precision[], double precision[], double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_ratio(double precision[], double precision[], double precision) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_difference(
    mean1 double precision, variance1 double precision, clusters1 integer,
    mean2 double precision, variance2 double precision, clusters2 integer) RETURNS double precision[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN variance1 + variance2 = 0 THEN ARRAY[mean2 - mean1, mean2 - mean1, mean2 - mean1]
                WHEN variance1 + variance2 > 0 THEN
                    (SELECT ARRAY[mean2 - mean1, mean2 - mean1 - half, mean2 - mean1 + half]
                       FROM (SELECT sqrt(variance1 + variance2) * @extschema@.ff_t_quantile(
                                 -- Welch and Satterthwaite's degrees of freedom
                                 (variance1 + variance2) ^ 2 / (variance1 ^ 2 / nullif(clusters1 - 1, 0) + variance2 ^ 2 / nullif(clusters2 - 1, 0))) AS half) h)
           END
$$;
COMMENT ON FUNCTION @extschema@.ff_difference(double precision, double precision, integer, double precision, double precision, integer) IS 'Second mean less the first, and the ends of its 95 % interval (Welch), as an array of three; NULL where a variance is not known.';
REVOKE ALL ON FUNCTION @extschema@.ff_difference(double precision, double precision, integer, double precision, double precision, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_difference(double precision, double precision, integer, double precision, double precision, integer) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_relative_change(
    mean1 double precision, variance1 double precision, clusters1 integer,
    mean2 double precision, variance2 double precision, clusters2 integer) RETURNS double precision[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    -- on logarithms, so that no end can be below -100 %; the variance of a
    -- logarithm is the squared coefficient of variation
    SELECT CASE WHEN mean1 > 0 AND mean2 > 0 THEN
               (SELECT array_agg(100 * (exp(x.d) - 1) ORDER BY x.n)
                  FROM unnest(@extschema@.ff_difference(ln(mean1), variance1 / mean1 ^ 2, clusters1, ln(mean2), variance2 / mean2 ^ 2, clusters2)) WITH ORDINALITY x(d, n))
           END
$$;
COMMENT ON FUNCTION @extschema@.ff_relative_change(double precision, double precision, integer, double precision, double precision, integer) IS 'Second mean against the first, change in percent, and the ends of its 95 % interval (Welch, on logarithms), as an array of three; NULL where a variance is not known or a mean is not positive.';
REVOKE ALL ON FUNCTION @extschema@.ff_relative_change(double precision, double precision, integer, double precision, double precision, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_relative_change(double precision, double precision, integer, double precision, double precision, integer) TO pg_read_all_stats;

-- ---------------------------------------------------------------------------
-- Which intervals are compared
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_verify_windows(relation_id bigint, before timestamptz, seen timestamptz, in_epoch integer)
RETURNS TABLE (
    side            text,
    began_at        timestamptz,
    ended_at        timestamptz,
    updated         double precision,
    hot_updated     double precision,
    newpage_updated double precision,
    blocks_fetched  double precision,
    blocks_hit      double precision,
    heap_bytes      bigint,
    index_bytes     bigint,
    left_out        text
)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
    -- most that the update rate of an interval may differ from the usual one
    -- after the change, as a factor
    WITH constant AS (
        SELECT 4.0 AS rate_factor, make_interval(days => @extschema@.ff_setting('lookback')::integer) AS reach
    ), span AS (
        -- to the change before and the one after, at most the window of advice
        SELECT greatest(before - k.reach, max(o.seen_at) FILTER (WHERE o.seen_at <= before)) AS began,
               least(seen + k.reach, min(o.before_at) FILTER (WHERE o.seen_at > seen)) AS ended
          FROM constant k
          LEFT JOIN (SELECT c.before_at, c.seen_at FROM @extschema@.ff_change c WHERE c.rel_id = relation_id
                     UNION ALL
                     SELECT h.before_at, h.seen_at FROM @extschema@.ff_setting_history h WHERE relation_id IS NULL AND h.before_at IS NOT NULL) o ON true
         GROUP BY k.reach
    ), server AS (
        SELECT e.epoch_id FROM @extschema@.ff_epoch e
          JOIN @extschema@.ff_epoch own ON own.epoch_id = in_epoch
         WHERE e.system_identifier = own.system_identifier AND e.server_version / 10000 = own.server_version / 10000
    ), source AS (
        SELECT i.began_at, i.ended_at, interval '0' AS slack, i.updated::double precision, i.hot_updated::double precision, i.newpage_updated::double precision,
               i.blocks_fetched::double precision, i.blocks_hit::double precision, i.heap_bytes, i.index_bytes, i.rewritten,
               i.epoch_id IN (SELECT s.epoch_id FROM server s) AS here
          FROM @extschema@.ff_interval i, span p
         WHERE i.rel_id = relation_id AND i.ended_at BETWEEN p.began AND p.ended + (i.ended_at - i.began_at)
        UNION ALL
        -- a setting is judged by all statements: their looks take the place of
        -- intervals, their calls that of updates; a look comes a moment after
        -- the collection that it belongs to
        SELECT min(h.began_at), h.ended_at, least(interval '5 s', (h.ended_at - min(h.began_at)) / 4), sum(h.calls), NULL, NULL, NULL, NULL, NULL, NULL, false,
               bool_and(EXISTS (SELECT 1 FROM @extschema@.ff_statement_epoch e
                                  JOIN @extschema@.ff_epoch own ON own.epoch_id = in_epoch
                                 WHERE e.statement_epoch_id = h.statement_epoch_id AND e.system_identifier = own.system_identifier
                                   AND e.server_version / 10000 = own.server_version / 10000))
          FROM @extschema@.ff_statement_history h, span p
         WHERE relation_id IS NULL AND h.ended_at BETWEEN p.began AND p.ended + (h.ended_at - h.began_at)
         GROUP BY h.ended_at
    ), sided AS (
        SELECT s.*, CASE WHEN s.ended_at <= before + s.slack THEN 'before' ELSE 'after' END AS side,
               s.ended_at > before + s.slack AND s.began_at < seen - s.slack AS holds_change
          FROM source s, span p
         WHERE s.began_at >= p.began - s.slack AND s.ended_at <= p.ended + s.slack
    ), reason AS (
        SELECT s.*, CASE WHEN s.holds_change THEN 'holds the change'
                         WHEN NOT s.here THEN 'other server'
                         WHEN s.rewritten THEN 'rewritten'
                         -- old pages get the new density when the table is rewritten
                         WHEN s.side = 'after' AND s.ended_at <= (SELECT min(o.ended_at) FROM sided o WHERE o.side = 'after' AND o.rewritten AND NOT o.holds_change)
                             THEN 'before the rewrite'
                         WHEN s.updated = 0 THEN 'no updates' END AS why
          FROM sided s
    ), ordered AS (
        SELECT r.*, count(*) OVER side_of AS intervals, sum(r.updated) OVER side_of AS total,
               coalesce(sum(r.updated) OVER (PARTITION BY r.side, r.why ORDER BY r.ended_at ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS earlier
          FROM reason r WINDOW side_of AS (PARTITION BY r.side, r.why)
    ), settled AS (
        -- the first third of the updates of either window may still settle
        SELECT o.*, coalesce(o.why, CASE WHEN o.intervals >= 3 AND 3 * o.earlier < o.total THEN 'settling' END) AS why2,
               o.updated / nullif(extract(epoch FROM o.ended_at - o.began_at), 0)::double precision AS rate
          FROM ordered o
    ), usual AS (
        SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY s.rate) AS rate FROM settled s WHERE s.side = 'after' AND s.why2 IS NULL
    )
    SELECT s.side, s.began_at, s.ended_at, s.updated, s.hot_updated, s.newpage_updated, s.blocks_fetched, s.blocks_hit, s.heap_bytes, s.index_bytes,
           coalesce(s.why2, CASE WHEN s.rate > u.rate * k.rate_factor OR s.rate < u.rate / k.rate_factor THEN 'other rate' END)
      FROM settled s, usual u, constant k
     ORDER BY s.ended_at
$$;
COMMENT ON FUNCTION @extschema@.ff_verify_windows(bigint, timestamptz, timestamptz, integer) IS
'The intervals around one change of a table (its rel_id), or of a setting (NULL), and for each why it is left out of the comparison; left_out is NULL where it counts.
Reasons: holds the change; other server (system identifier or major version); rewritten (the table got a new file in it); before the rewrite (the first after the change: until then old pages keep their density); no updates; settling (the first third of the updates before and after, where there are at least three intervals); other rate (updates per second more than four times, or less than a quarter of, the usual rate after the change).
For a setting updated are the calls of all statements. Internal step of ff_verify().';
REVOKE ALL ON FUNCTION @extschema@.ff_verify_windows(bigint, timestamptz, timestamptz, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_verify_windows(bigint, timestamptz, timestamptz, integer) TO pg_read_all_stats;

-- ---------------------------------------------------------------------------
-- What the statements say
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_verify_calls(relation_id bigint, before tstzmultirange, after tstzmultirange)
RETURNS TABLE (
    statement_id bigint,
    side         text,
    ended_at     timestamptz,
    calls        double precision,
    "rows"       double precision,
    total_ms     double precision,
    stddev_ms    double precision,
    wal_bytes    double precision,
    blocks       double precision
)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
    -- Updates of this table alone, top level of the statement: only there are
    -- rows, WAL and blocks those of the table's updates.  All statements for a
    -- setting.
    WITH chosen AS (
        SELECT s.statement_id
          FROM @extschema@.ff_statement s
         WHERE s.kind <> 'other'
           AND (relation_id IS NULL
                OR EXISTS (SELECT 1 FROM @extschema@.ff_statement_target t
                            WHERE t.statement_id = s.statement_id AND t.rel_id = relation_id AND t.command = 'UPDATE' AND t.how = 'top')
                   AND (SELECT count(*) FROM @extschema@.ff_statement_target t WHERE t.statement_id = s.statement_id) = 1)
    ), sided AS (
        -- a look at the statements comes a moment after that at the counters,
        -- so the middle of its interval decides
        SELECT h.*, CASE WHEN h.began_at + (h.ended_at - h.began_at) / 2 <@ before THEN 'before'
                         WHEN h.began_at + (h.ended_at - h.began_at) / 2 <@ after THEN 'after' END AS side
          FROM @extschema@.ff_statement_history h
          JOIN chosen c USING (statement_id)
         WHERE h.ended_at > lower(before) AND h.began_at < upper(after)
    )
    SELECT s.statement_id, s.side, s.ended_at, s.calls, s.rows, s.total_ms, s.stddev_ms, s.wal_bytes, s.blocks_hit + s.blocks_read
      FROM sided s
     WHERE s.side IS NOT NULL
       AND EXISTS (SELECT 1 FROM sided o WHERE o.statement_id = s.statement_id AND o.side <> s.side)
$$;
COMMENT ON FUNCTION @extschema@.ff_verify_calls(bigint, tstzmultirange, tstzmultirange) IS 'What the statements that ran both before and after a change did in the intervals compared: those that do nothing but update one table (its rel_id), or all (NULL). Times in milliseconds, blocks are shared blocks hit or read. Internal step of ff_verify().';
REVOKE ALL ON FUNCTION @extschema@.ff_verify_calls(bigint, tstzmultirange, tstzmultirange) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_verify_calls(bigint, tstzmultirange, tstzmultirange) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_statement_effect(relation_id bigint, before tstzmultirange, after tstzmultirange,
    OUT statements integer, OUT calls_before bigint, OUT calls_after bigint,
    OUT mean_ms_before double precision, OUT mean_ms_after double precision, OUT mean double precision[],
    OUT stddev_ms_before double precision, OUT stddev_ms_after double precision, OUT stddev double precision[],
    OUT wal_before double precision, OUT wal_after double precision, OUT wal double precision[],
    OUT blocks_before double precision, OUT blocks_after double precision)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
    WITH seen AS MATERIALIZED (
        SELECT * FROM @extschema@.ff_verify_calls(relation_id, before, after)
    ), usual AS (
        -- each statement's own means before are the yardstick for after, so
        -- that another mix of statements is no difference
        SELECT s.statement_id, sum(s.total_ms) / sum(s.calls) AS ms, sum(s.calls * s.stddev_ms ^ 2) / sum(s.calls) AS square,
               sum(s.wal_bytes) / nullif(sum(s.rows), 0) AS wal, sum(s.blocks) / nullif(sum(s.rows), 0) AS blocks
          FROM seen s WHERE s.side = 'before' GROUP BY s.statement_id
    ), one AS (
        SELECT s.side, s.ended_at, sum(s.calls) AS calls, sum(s.rows) AS rows,
               sum(s.total_ms) AS ms, sum(s.calls * u.ms) AS ms_usual,
               sum(s.calls * s.stddev_ms ^ 2) AS square, sum(s.calls * u.square) AS square_usual,
               sum(s.wal_bytes) AS wal, sum(s.rows * u.wal) AS wal_usual,
               sum(s.blocks) AS blocks, sum(s.rows * u.blocks) AS blocks_usual
          FROM seen s JOIN usual u USING (statement_id) GROUP BY s.side, s.ended_at
    ), both_sides AS (
        SELECT o.side, sum(o.calls)::bigint AS calls, sum(o.ms) / sum(o.calls) AS mean, sqrt(sum(o.square) / sum(o.calls)) AS stddev,
               sum(o.wal) / nullif(sum(o.rows), 0) AS wal, sum(o.blocks) / nullif(sum(o.rows), 0) AS blocks,
               sum(o.blocks) / nullif(sum(o.blocks_usual), 0) AS blocks_ratio,
               -- never surer than single calls would allow
               @extschema@.ff_ratio(array_agg(o.ms), array_agg(o.ms_usual), sum(o.square) / nullif(sum(o.ms_usual) ^ 2, 0)) AS m,
               @extschema@.ff_ratio(array_agg(o.wal), array_agg(o.wal_usual)) AS w,
               -- of the standard deviation the logarithm, one value an interval
               avg(ln(o.square / o.square_usual) / 2) FILTER (WHERE o.square > 0 AND o.square_usual > 0) AS spread,
               var_samp(ln(o.square / o.square_usual) / 2) FILTER (WHERE o.square > 0 AND o.square_usual > 0)
                   / nullif(count(*) FILTER (WHERE o.square > 0 AND o.square_usual > 0), 0) AS spread_variance,
               (count(*) FILTER (WHERE o.square > 0 AND o.square_usual > 0))::integer AS spreads
          FROM one o GROUP BY o.side
    )
    SELECT (SELECT count(*) FROM usual)::integer, b.calls, a.calls,
           b.mean, b.mean * (a.m).ratio,
           @extschema@.ff_relative_change((b.m).ratio, (b.m).variance, (b.m).clusters, (a.m).ratio, (a.m).variance, (a.m).clusters),
           b.stddev, b.stddev * exp(a.spread - b.spread),
           (SELECT array_agg(100 * (exp(d) - 1) ORDER BY n) FROM unnest(@extschema@.ff_difference(b.spread, b.spread_variance, b.spreads, a.spread, a.spread_variance, a.spreads)) WITH ORDINALITY x(d, n)),
           b.wal, b.wal * (a.w).ratio,
           @extschema@.ff_relative_change((b.w).ratio, (b.w).variance, (b.w).clusters, (a.w).ratio, (a.w).variance, (a.w).clusters),
           b.blocks, b.blocks * a.blocks_ratio
      FROM both_sides b JOIN both_sides a ON a.side = 'after'
     WHERE b.side = 'before'
$$;
COMMENT ON FUNCTION @extschema@.ff_statement_effect(bigint, tstzmultirange, tstzmultirange) IS
'Execution time, its standard deviation, WAL and blocks of the statements of ff_verify_calls(), before and after. Figures after are for the mix of statements after, each measured against itself before. mean, stddev, wal: change in percent and the ends of its 95 % interval, an array of three. wal_before, wal_after: bytes per updated row; blocks_before, blocks_after: shared blocks per updated row. Internal step of ff_verify().';
REVOKE ALL ON FUNCTION @extschema@.ff_statement_effect(bigint, tstzmultirange, tstzmultirange) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_statement_effect(bigint, tstzmultirange, tstzmultirange) TO pg_read_all_stats;

-- ---------------------------------------------------------------------------
-- Verdict
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_verdict(
    intervals_before integer, intervals_after integer, updates_before double precision, updates_after double precision,
    hot double precision[], wal double precision[], mean double precision[], stddev double precision[], row_bytes_pct double precision,
    what text DEFAULT 'updates', OUT verdict text, OUT reason text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- intervals of which the scatter between them can be told at all
    least_intervals CONSTANT integer := 3;
    least_updates   CONSTANT double precision := @extschema@.ff_setting('min_updates');
    -- differences that matter, besides being certain: HOT share in points,
    -- the others in percent; what size per row may cost without a gain
    hot_matters     CONSTANT double precision := 1;
    wal_matters     CONSTANT double precision := 5;
    mean_matters    CONSTANT double precision := 5;
    stddev_matters  CONSTANT double precision := 10;
    size_matters    CONSTANT double precision := 5;
    size_hurts      CONSTANT double precision := 10;
    -- half width beyond which no difference cannot be claimed either
    hot_unclear     CONSTANT double precision := 5;
    mean_unclear    CONSTANT double precision := 10;
    one             record;
    better          text[] := '{}';
    worse           text[] := '{}';
    unclear         text[] := '{}';
    equal           text[] := '{}';
    cost            double precision;
BEGIN
    IF updates_before < least_updates AND updates_after < least_updates AND (row_bytes_pct <= -size_matters OR row_bytes_pct >= size_hurts) THEN
        -- a table that is only inserted into: there is nothing else to judge
        verdict := CASE WHEN row_bytes_pct < 0 THEN 'helped' ELSE 'hurt' END;
        reason := format('hardly any %s on either side, so only the size is judged: table bytes per live row %s %%', what, to_char(row_bytes_pct, 'FMSG999990'));
        RETURN;
    ELSIF intervals_after < least_intervals OR updates_after < least_updates THEN
        verdict := 'too early';
        reason := format('%s intervals with %s %s can be used since the change; %s with %s are needed', intervals_after, updates_after, what, least_intervals, least_updates);
        RETURN;
    ELSIF intervals_before < least_intervals OR updates_before < least_updates THEN
        verdict := 'too early';
        reason := format('%s intervals with %s %s from before the change can be compared; %s with %s are needed', intervals_before, updates_before, what, least_intervals, least_updates);
        RETURN;
    END IF;

    -- the standard deviation speaks for a setting only: that of a table's
    -- statements moves with its mean
    FOR one IN
        SELECT v.*, v.d[1] AS difference, v.d[2] AS low, v.d[3] AS high
          FROM (VALUES ('HOT share', 'points', hot, -1, hot_matters, hot_unclear),
                       ('WAL per update', '%', wal, 1, wal_matters, NULL),
                       ('mean time', '%', mean, 1, mean_matters, CASE WHEN hot IS NULL THEN mean_unclear END),
                       ('standard deviation of time', '%', CASE WHEN hot IS NULL THEN stddev END, 1, stddev_matters, NULL)) v(name, unit, d, bad, matters, unclear)
         WHERE v.d[1] IS NOT NULL
    LOOP
        reason := format('%s %s %s (95 %% interval %s to %s)', one.name, to_char(one.difference, 'FMSG999990.0'), one.unit,
                         to_char(one.low, 'FMSG999990.0'), to_char(one.high, 'FMSG999990.0'));
        IF one.low * one.high > 0 AND abs(one.difference) >= one.matters THEN
            IF one.difference * one.bad < 0 THEN
                better := better || reason;
            ELSE
                worse := worse || reason;
            END IF;
        ELSIF one.high - one.low > 2 * one.unclear THEN
            unclear := unclear || reason;
        ELSE
            equal := equal || reason;
        END IF;
    END LOOP;

    IF better <> '{}' AND worse <> '{}' THEN
        -- the same weights as the choice; what was not measured counts as equal
        cost := 0.5 * ln(greatest(1 + coalesce(mean[1], 0) / 100, 0.01)) + 0.3 * ln(greatest(1 + coalesce(wal[1], 0) / 100, 0.01))
                + 0.2 * ln(greatest(1 + coalesce(row_bytes_pct, 0) / 100, 0.01));
        verdict := CASE WHEN cost < -0.01 THEN 'helped' WHEN cost > 0.01 THEN 'hurt' ELSE 'no difference' END;
        reason := format('%s, but %s: weighed together, cost %s %%', array_to_string(better, ', '), array_to_string(worse, ', '), to_char(100 * (exp(cost) - 1), 'FMSG999990.0'));
    ELSIF better <> '{}' THEN
        verdict := 'helped';
        reason := array_to_string(better || equal || unclear, ', ');
    ELSIF worse <> '{}' THEN
        verdict := 'hurt';
        reason := array_to_string(worse || equal || unclear, ', ');
    ELSIF unclear <> '{}' THEN
        verdict := 'too early';
        reason := array_to_string(unclear, ', ') || ': the intervals scatter too much to tell yet';
        RETURN;
    ELSIF equal = '{}' THEN
        verdict := 'too early';
        reason := 'nothing could be measured on both sides';
        RETURN;
    ELSIF row_bytes_pct <= -size_matters THEN
        verdict := 'helped';
        reason := 'nothing lost: ' || array_to_string(equal, ', ');
    ELSIF row_bytes_pct >= size_hurts THEN
        verdict := 'hurt';
        reason := 'nothing gained: ' || array_to_string(equal, ', ');
    ELSE
        verdict := 'no difference';
        reason := array_to_string(equal, ', ');
    END IF;
    IF row_bytes_pct IS NOT NULL THEN
        reason := reason || format('; table bytes per live row %s %%', to_char(row_bytes_pct, 'FMSG999990'));
    END IF;
END
$$;
COMMENT ON FUNCTION @extschema@.ff_verdict(integer, integer, double precision, double precision, double precision[], double precision[], double precision[], double precision[], double precision, text) IS
'Verdict on a change: helped, no difference, hurt or too early, and the reason in words. A difference counts where its 95 % interval excludes zero and it is large enough to matter: 1 point of HOT share, 5 % of WAL per update or of mean time, 10 % of the standard deviation. Where gains and losses meet, time, WAL and size per row are weighed 0.5, 0.3 and 0.2. Where there are hardly any updates on either side, the size per row alone is judged. hot (points), wal, mean, stddev (percent): difference and the ends of its interval, NULL where not measured; row_bytes_pct: change of table bytes per live row, percent. Internal step of ff_verify().';
REVOKE ALL ON FUNCTION @extschema@.ff_verdict(integer, integer, double precision, double precision, double precision[], double precision[], double precision[], double precision[], double precision, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_verdict(integer, integer, double precision, double precision, double precision[], double precision[], double precision[], double precision[], double precision, text) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_undo_options(relation regclass, old_options text[], new_options text[], fillfactor boolean) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- toast.* options are stored with the TOAST table, not here
    WITH o AS (
        SELECT split_part(u.option, '=', 1) AS name, substr(u.option, strpos(u.option, '=') + 1) AS value, u.old
          FROM (SELECT unnest(old_options), true UNION ALL SELECT unnest(new_options), false) u(option, old)
    ), one AS (
        SELECT coalesce(a.name, b.name) AS name, a.name IS NOT NULL AS was_set, a.value
          FROM (SELECT * FROM o WHERE o.old) a FULL JOIN (SELECT * FROM o WHERE NOT o.old) b ON a.name = b.name
         WHERE a.value IS DISTINCT FROM b.value AND (lower(coalesce(a.name, b.name)) = 'fillfactor') = fillfactor
    )
    SELECT string_agg(format('ALTER %s %I.%I %s;', CASE c.relkind WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'TABLE' END, n.nspname, c.relname,
                             CASE WHEN one.was_set THEN format('SET (%I = %L)', one.name, one.value) ELSE format('RESET (%I)', one.name) END), ' ' ORDER BY one.name)
      FROM one, pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.oid = relation
$$;
COMMENT ON FUNCTION @extschema@.ff_undo_options(regclass, text[], text[], boolean) IS 'Statements that put a table''s storage options back, exactly as they were stored: its fillfactor, or all others. Internal step of ff_verify().';
REVOKE ALL ON FUNCTION @extschema@.ff_undo_options(regclass, text[], text[], boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_undo_options(regclass, text[], text[], boolean) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_undo_indexes(relation regclass, dropped text[], created text[]) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- a new index that is still there is found by its definition
    SELECT nullif(concat_ws(' ',
        (SELECT string_agg(format('DROP INDEX %I.%I;', n.nspname, c.relname), ' ' ORDER BY c.relname)
           FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace
          WHERE i.indrelid = relation AND pg_get_indexdef(i.indexrelid) = ANY (created)),
        (SELECT string_agg(d || ';', ' ') FROM unnest(dropped) d WHERE d <> '')), '')
$$;
COMMENT ON FUNCTION @extschema@.ff_undo_indexes(regclass, text[], text[]) IS 'Statements that drop the indexes created and make those dropped again, given their definitions; a constraint that an index belonged to is not restored. Internal step of ff_verify().';
REVOKE ALL ON FUNCTION @extschema@.ff_undo_indexes(regclass, text[], text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_undo_indexes(regclass, text[], text[]) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_verify(relation regclass DEFAULT NULL)
RETURNS TABLE (
    relation             regclass,
    change               text,
    changed_at           timestamptz,
    old_value            text,
    new_value            text,
    verdict              text,
    reason               text,
    undo                 text,
    intervals_before     integer,
    intervals_after      integer,
    updates_before       bigint,
    updates_after        bigint,
    updates_per_s_before double precision,
    updates_per_s_after  double precision,
    hot_pct_before       double precision,
    hot_pct_after        double precision,
    hot_change           double precision,
    hot_change_low       double precision,
    hot_change_high      double precision,
    moved_pct_before     double precision,
    moved_pct_after      double precision,
    wal_bytes_per_update_before double precision,
    wal_bytes_per_update_after  double precision,
    wal_change_pct       double precision,
    wal_change_low       double precision,
    wal_change_high      double precision,
    blocks_per_update_before double precision,
    blocks_per_update_after  double precision,
    mean_ms_before       double precision,
    mean_ms_after        double precision,
    mean_change_pct      double precision,
    mean_change_low      double precision,
    mean_change_high     double precision,
    stddev_ms_before     double precision,
    stddev_ms_after      double precision,
    stddev_change_pct    double precision,
    stddev_change_low    double precision,
    stddev_change_high   double precision,
    heap_bytes_before    bigint,
    heap_bytes_after     bigint,
    index_bytes_before   bigint,
    index_bytes_after    bigint,
    row_bytes_before     double precision,
    row_bytes_after      double precision,
    hit_pct_before       double precision,
    hit_pct_after        double precision,
    predicted_hot_pct    double precision,
    predicted_hot_low    double precision,
    predicted_hot_high   double precision,
    predicted_wal_pct    double precision,
    predicted_size_bytes bigint,
    left_out             text,
    missing              text
)
LANGUAGE sql STABLE ROWS 100
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
    WITH asked AS (
        SELECT @extschema@.ff_checked_table($1) AS relid
    ), setting AS (
        SELECT h.setting, h.value, h.unit, h.before_at, h.seen_at, lag(h.value) OVER (PARTITION BY h.setting ORDER BY h.seen_at) AS old_value
          FROM @extschema@.ff_setting_history h
    ), changed AS (
        SELECT c.rel_id, r.relid::regclass AS relid, c.kind AS change, c.before_at, c.seen_at, c.epoch_id, c.old_fillfactor, c.new_fillfactor,
               CASE c.kind WHEN 'fillfactor' THEN c.old_fillfactor::text WHEN 'options' THEN array_to_string(@extschema@.ff_other_options(c.old_options), ', ')
                    ELSE array_to_string(c.dropped_indexes, '; ') END AS old_value,
               CASE c.kind WHEN 'fillfactor' THEN c.new_fillfactor::text WHEN 'options' THEN array_to_string(@extschema@.ff_other_options(c.new_options), ', ')
                    ELSE array_to_string(c.created_indexes, '; ') END AS new_value,
               CASE c.kind WHEN 'indexes' THEN @extschema@.ff_undo_indexes(r.relid::regclass, c.dropped_indexes, c.created_indexes)
                    ELSE @extschema@.ff_undo_options(r.relid::regclass, c.old_options, c.new_options, c.kind = 'fillfactor') END AS undo,
               (SELECT string_agg(o.kind, ', ' ORDER BY o.kind) FROM @extschema@.ff_change o
                 WHERE o.rel_id = c.rel_id AND o.seen_at = c.seen_at AND o.kind <> c.kind) AS together,
               c.kind = 'fillfactor' AND c.new_fillfactor < c.old_fillfactor
                   AND NOT EXISTS (SELECT 1 FROM @extschema@.ff_interval i WHERE i.rel_id = c.rel_id AND i.ended_at > c.before_at AND i.rewritten) AS old_pages
          FROM @extschema@.ff_change c
          JOIN @extschema@.ff_relation r ON r.rel_id = c.rel_id AND r.closed_at IS NULL
          JOIN pg_class t ON t.oid = r.relid
         WHERE (SELECT a.relid FROM asked a) IS NULL OR r.relid = (SELECT a.relid FROM asked a)
        UNION ALL
        SELECT NULL, NULL, 'setting ' || s.setting, s.before_at, s.seen_at,
               (SELECT k.epoch_id FROM @extschema@.ff_collection k WHERE k.began_at <= s.seen_at ORDER BY k.began_at DESC LIMIT 1), NULL, NULL,
               concat_ws(' x ', s.old_value, s.unit), concat_ws(' x ', s.value, s.unit),
               format('ALTER SYSTEM SET %I = %L; SELECT pg_reload_conf();', s.setting, s.old_value),
               (SELECT string_agg(o.setting, ', ' ORDER BY o.setting) FROM @extschema@.ff_setting_history o
                 WHERE o.seen_at = s.seen_at AND o.setting <> s.setting AND o.before_at IS NOT NULL), false
          FROM setting s
         WHERE s.before_at IS NOT NULL AND (SELECT a.relid FROM asked a) IS NULL
    ), counted AS (
        SELECT c.*, w.*
          FROM changed c
         CROSS JOIN LATERAL (
               SELECT (count(*) FILTER (WHERE b))::integer AS n1, (count(*) FILTER (WHERE a))::integer AS n2,
                      coalesce(sum(v.updated) FILTER (WHERE b), 0) AS u1, coalesce(sum(v.updated) FILTER (WHERE a), 0) AS u2,
                      sum(extract(epoch FROM v.ended_at - v.began_at)) FILTER (WHERE b)::double precision AS s1,
                      sum(extract(epoch FROM v.ended_at - v.began_at)) FILTER (WHERE a)::double precision AS s2,
                      sum(v.hot_updated) FILTER (WHERE b) AS h1, sum(v.hot_updated) FILTER (WHERE a) AS h2,
                      sum(v.newpage_updated) FILTER (WHERE b) AS p1, sum(v.newpage_updated) FILTER (WHERE a) AS p2,
                      array_agg(v.hot_updated) FILTER (WHERE b) AS hots1, array_agg(v.hot_updated) FILTER (WHERE a) AS hots2,
                      array_agg(v.updated) FILTER (WHERE b) AS updates1, array_agg(v.updated) FILTER (WHERE a) AS updates2,
                      range_agg(tstzrange(v.began_at, v.ended_at, '[]')) FILTER (WHERE b) AS t1, range_agg(tstzrange(v.began_at, v.ended_at, '[]')) FILTER (WHERE a) AS t2,
                      100 * sum(v.blocks_hit) FILTER (WHERE b) / nullif(sum(v.blocks_fetched) FILTER (WHERE b), 0) AS hit1,
                      100 * sum(v.blocks_hit) FILTER (WHERE a) / nullif(sum(v.blocks_fetched) FILTER (WHERE a), 0) AS hit2,
                      (array_agg(v.heap_bytes ORDER BY v.ended_at DESC) FILTER (WHERE v.side = 'before' AND v.heap_bytes IS NOT NULL))[1] AS heap1,
                      (array_agg(v.heap_bytes ORDER BY v.ended_at DESC) FILTER (WHERE v.side = 'after' AND v.heap_bytes IS NOT NULL))[1] AS heap2,
                      (array_agg(v.index_bytes ORDER BY v.ended_at DESC) FILTER (WHERE v.side = 'before' AND v.index_bytes IS NOT NULL))[1] AS index1,
                      (array_agg(v.index_bytes ORDER BY v.ended_at DESC) FILTER (WHERE v.side = 'after' AND v.index_bytes IS NOT NULL))[1] AS index2,
                      min(v.began_at) AS first_at, max(v.ended_at) AS last_at
                 FROM @extschema@.ff_verify_windows(c.rel_id, c.before_at, c.seen_at, c.epoch_id) v
                CROSS JOIN LATERAL (SELECT v.left_out IS NULL AND v.side = 'before' AS b, v.left_out IS NULL AND v.side = 'after' AS a) x) w
    ), left_out AS (
        SELECT c.rel_id, c.change, c.seen_at, string_agg(format('%s %s %s', l.n, l.side, l.left_out), ', ' ORDER BY l.side DESC, l.left_out) AS left_out
          FROM changed c
         CROSS JOIN LATERAL (SELECT v.side, v.left_out, count(*) AS n
                               FROM @extschema@.ff_verify_windows(c.rel_id, c.before_at, c.seen_at, c.epoch_id) v
                              WHERE v.left_out <> 'holds the change' GROUP BY v.side, v.left_out) l
         GROUP BY c.rel_id, c.change, c.seen_at
    ), measured AS (
        SELECT c.*, l.left_out,
               -- never surer than single updates would allow (Agresti and Coull's share)
               @extschema@.ff_ratio(c.hots1, c.updates1, (c.h1 + 2) * (c.u1 - c.h1 + 2) / (c.u1 + 4) ^ 3) AS hot1,
               @extschema@.ff_ratio(c.hots2, c.updates2, (c.h2 + 2) * (c.u2 - c.h2 + 2) / (c.u2 + 4) ^ 3) AS hot2,
               e.statements, e.mean_ms_before, e.mean_ms_after, e.mean, e.stddev_ms_before, e.stddev_ms_after, e.stddev,
               e.wal_before, e.wal_after, e.wal, e.blocks_before, e.blocks_after,
               (@extschema@.ff_split_updates(c.u1::double precision, c.h1::double precision, c.p1::double precision, v1.same_page::double precision, v1.moved::double precision, NULL::double precision)).moved_share AS moved1,
               (@extschema@.ff_split_updates(c.u2::double precision, c.h2::double precision, c.p2::double precision, v2.same_page::double precision, v2.moved::double precision, NULL::double precision)).moved_share AS moved2,
               r1.bytes AS row1, r2.bytes AS row2, p.predicted_hot_pct, p.predicted_hot_low, p.predicted_hot_high, p.predicted_wal_pct, p.predicted_size_bytes,
               p.made_at
          FROM counted c
          LEFT JOIN left_out l ON l.rel_id IS NOT DISTINCT FROM c.rel_id AND l.change = c.change AND l.seen_at = c.seen_at
          LEFT JOIN LATERAL @extschema@.ff_statement_effect(c.rel_id, c.t1, c.t2) e ON true
         CROSS JOIN LATERAL (SELECT sum(s.superseded_same_page) AS same_page, sum(s.superseded_moved) AS moved
                               FROM @extschema@.ff_page_sample s WHERE s.rel_id = c.rel_id AND s.sampled_at BETWEEN lower(c.t1) AND c.seen_at) v1
         CROSS JOIN LATERAL (SELECT sum(s.superseded_same_page) AS same_page, sum(s.superseded_moved) AS moved
                               FROM @extschema@.ff_page_sample s WHERE s.rel_id = c.rel_id AND s.sampled_at >= lower(c.t2)
                                AND s.sampled_at <= upper(c.t2) + (upper(c.t2) - lower(c.t2))) v2
          LEFT JOIN LATERAL (SELECT s.blocks * 8192.0 / nullif(s.live_rows, 0) AS bytes FROM @extschema@.ff_page_sample s
                              WHERE s.rel_id = c.rel_id AND s.sampled_at BETWEEN c.first_at AND c.seen_at ORDER BY s.sampled_at DESC LIMIT 1) r1 ON true
          LEFT JOIN LATERAL (SELECT s.blocks * 8192.0 / nullif(s.live_rows, 0) AS bytes FROM @extschema@.ff_page_sample s
                              WHERE s.rel_id = c.rel_id AND s.sampled_at >= coalesce(lower(c.t2), c.seen_at)
                                AND s.sampled_at < coalesce((SELECT min(o.seen_at) FROM @extschema@.ff_change o WHERE o.rel_id = c.rel_id AND o.seen_at > c.seen_at), 'infinity')
                              ORDER BY s.sampled_at DESC LIMIT 1) r2 ON true
          LEFT JOIN LATERAL (SELECT * FROM @extschema@.ff_prediction o
                              WHERE c.change = 'fillfactor' AND o.rel_id = c.rel_id AND o.from_fillfactor = c.old_fillfactor AND o.to_fillfactor = c.new_fillfactor
                                AND o.made_at < c.seen_at
                              ORDER BY o.made_at DESC LIMIT 1) p ON true
    ), compared AS (
        SELECT m.*, h.d AS hot, 100 * (m.row2 / m.row1 - 1) AS row_pct
          FROM measured m
         CROSS JOIN LATERAL (SELECT array_agg(greatest(-100, least(100, 100 * x.d)) ORDER BY x.n) AS d
                               FROM unnest(@extschema@.ff_difference((m.hot1).ratio, (m.hot1).variance, (m.hot1).clusters,
                                                                     (m.hot2).ratio, (m.hot2).variance, (m.hot2).clusters)) WITH ORDINALITY x(d, n)) h
    )
    SELECT c.relid, c.change, c.seen_at, c.old_value, c.new_value, v.verdict,
           concat(CASE WHEN c.change = 'fillfactor' AND (c.hot1).ratio IS NOT NULL AND (c.hot2).ratio IS NOT NULL
                       THEN format('HOT share %s %% at %s, %s %% at %s', round((100 * (c.hot1).ratio)::numeric, 1), c.old_fillfactor, round((100 * (c.hot2).ratio)::numeric, 1), c.new_fillfactor)
                       WHEN (c.hot1).ratio IS NOT NULL AND (c.hot2).ratio IS NOT NULL
                       THEN format('HOT share %s %% before, %s %% after', round((100 * (c.hot1).ratio)::numeric, 1), round((100 * (c.hot2).ratio)::numeric, 1)) END
                  || CASE WHEN c.predicted_hot_pct IS NOT NULL
                          THEN format(' (%s %% predicted, %s to %s)', round(c.predicted_hot_pct::numeric), round(c.predicted_hot_low::numeric), round(c.predicted_hot_high::numeric)) ELSE '' END || ': ',
                  v.reason,
                  CASE WHEN v.verdict = 'too early' AND c.left_out IS NOT NULL THEN '; intervals left out: ' || c.left_out END,
                  CASE WHEN c.old_pages AND v.verdict <> 'helped' THEN '; the table was not rewritten since, so its old pages are as full as before' END,
                  CASE WHEN c.together IS NOT NULL THEN '; changed at the same time, so not told apart: ' || c.together END,
                  CASE WHEN c.change = 'indexes' AND v.verdict = 'hurt' THEN '; what the indexes are good for in reading is not judged here' END, '.'),
           CASE WHEN v.verdict = 'hurt' THEN c.undo END,
           c.n1, c.n2, c.u1::bigint, c.u2::bigint, c.u1 / nullif(c.s1, 0), c.u2 / nullif(c.s2, 0),
           100 * (c.hot1).ratio, 100 * (c.hot2).ratio, c.hot[1], c.hot[2], c.hot[3],
           100 * c.moved1, 100 * c.moved2,
           c.wal_before, c.wal_after, c.wal[1], c.wal[2], c.wal[3], c.blocks_before, c.blocks_after,
           c.mean_ms_before, c.mean_ms_after, c.mean[1], c.mean[2], c.mean[3],
           c.stddev_ms_before, c.stddev_ms_after, c.stddev[1], c.stddev[2], c.stddev[3],
           c.heap1, c.heap2, c.index1, c.index2, c.row1, c.row2, c.hit1, c.hit2,
           c.predicted_hot_pct, c.predicted_hot_low, c.predicted_hot_high, c.predicted_wal_pct, c.predicted_size_bytes,
           c.left_out,
           nullif(concat_ws('; ',
               CASE WHEN c.statements IS NULL AND c.t1 IS NOT NULL AND c.t2 IS NOT NULL
                    THEN 'WAL, blocks and time: ' || coalesce((SELECT k.reason FROM @extschema@.ff_statement_look k ORDER BY k.collection_id DESC LIMIT 1),
                         CASE WHEN c.rel_id IS NULL THEN 'no statement' ELSE 'no statement that only updates this table' END || ' was seen both before and after') END,
               CASE WHEN c.change = 'fillfactor' AND c.made_at IS NULL THEN 'prediction: this change was not advised by a collection before it' END,
               CASE WHEN c.rel_id IS NOT NULL AND c.u1 > 0 AND c.u2 > 0 AND (c.moved1 IS NULL OR c.moved2 IS NULL)
                    THEN 'moved share: not counted before PostgreSQL 16, and no old versions were seen in the pages' END), '')
      FROM compared c
     CROSS JOIN LATERAL @extschema@.ff_verdict(c.n1, c.n2, c.u1, c.u2, c.hot, c.wal, c.mean, c.stddev, c.row_pct,
                                               CASE WHEN c.rel_id IS NULL THEN 'calls' ELSE 'updates' END) v
    UNION ALL
    SELECT a.relid, NULL, NULL, NULL, NULL, NULL,
           CASE WHEN k.not_examined IS NOT NULL THEN k.not_examined || '.'
                WHEN a.relid IS NOT NULL AND NOT EXISTS (SELECT 1 FROM @extschema@.ff_relation r WHERE r.relid = a.relid AND r.closed_at IS NULL)
                THEN 'not collected yet: run CALL ff_collect() or ff_schedule().'
                ELSE coalesce('no change was seen since ' || to_char(coalesce((SELECT r.opened_at FROM @extschema@.ff_relation r WHERE r.relid = a.relid AND r.closed_at IS NULL),
                                                        (SELECT min(k.began_at) FROM @extschema@.ff_collection k)), 'YYYY-MM-DD HH24:MI') || '.',
                              'not collected yet: run CALL ff_collect() or ff_schedule().') END,
           NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
           NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
      FROM asked a
      LEFT JOIN @extschema@.ff_candidate k ON k.relid = a.relid
     WHERE NOT EXISTS (SELECT 1 FROM changed)
     ORDER BY 3 DESC, 1, 2
$$;
REVOKE ALL ON FUNCTION @extschema@.ff_verify(regclass) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_verify(regclass) TO pg_read_all_stats;
COMMENT ON FUNCTION @extschema@.ff_verify(regclass) IS
'Before and after each change of a table''s fillfactor, other storage options or indexes that a collection noticed, and, without an argument, of server settings; the latest change first. Where nothing changed, one row that says so.
relation: the table; NULL for a setting. change: fillfactor, options, indexes, or setting NAME. changed_at: the first look that saw it. old_value, new_value.
verdict: helped, no difference, hurt, too early. reason: why, in a sentence. undo: the statement that takes it back, where it hurt.
intervals_, updates_: what is compared (whole collection intervals; for a setting, calls of all statements), updates_per_s_; left_out: intervals that are not, and why, see ff_verify_windows().
hot_pct_: HOT share, percent; hot_change: difference in points, _low and _high the ends of its 95 % interval, from the scatter between intervals.
moved_pct_: updates that left their page, percent. wal_bytes_per_update_, blocks_per_update_, mean_ms_, stddev_ms_: from the statements that only update this table and ran on both sides, each measured against itself; changes in percent with 95 % intervals. NULL without pg_stat_statements, see missing.
heap_bytes_, index_bytes_: sizes at the end of either window. row_bytes_: table bytes per live row. hit_pct_: heap pages found in shared buffers, percent.
predicted_: what advice promised before the change: HOT share (percent, with its range), WAL per update against before (percent), bytes of the table.
Errors: 42P01 unknown OID, 42809 not a table.';

-- ---------------------------------------------------------------------------
-- Statements, one by one
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_verify_statements(relation regclass DEFAULT NULL)
RETURNS TABLE (
    relation        regclass,
    change          text,
    changed_at      timestamptz,
    queryid         bigint,
    query           text,
    calls_before    bigint,
    calls_after     bigint,
    mean_ms_before  double precision,
    mean_ms_after   double precision,
    mean_change_ms  double precision,
    mean_change_low double precision,
    mean_change_high double precision,
    stddev_ms_before double precision,
    stddev_ms_after double precision
)
LANGUAGE sql STABLE ROWS 100
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
    WITH changed AS (
        SELECT c.rel_id, r.relid::regclass AS relid, c.kind AS change, c.seen_at, w.t1, w.t2
          FROM @extschema@.ff_change c
          JOIN @extschema@.ff_relation r ON r.rel_id = c.rel_id AND r.closed_at IS NULL
          JOIN pg_class t ON t.oid = r.relid
         CROSS JOIN LATERAL (SELECT range_agg(tstzrange(v.began_at, v.ended_at, '[]')) FILTER (WHERE v.side = 'before') AS t1,
                                    range_agg(tstzrange(v.began_at, v.ended_at, '[]')) FILTER (WHERE v.side = 'after') AS t2
                               FROM @extschema@.ff_verify_windows(c.rel_id, c.before_at, c.seen_at, c.epoch_id) v WHERE v.left_out IS NULL) w
         WHERE $1 IS NULL OR r.relid = @extschema@.ff_checked_table($1)
        UNION ALL
        SELECT NULL, NULL, 'setting ' || h.setting, h.seen_at, w.t1, w.t2
          FROM @extschema@.ff_setting_history h
         CROSS JOIN LATERAL (SELECT range_agg(tstzrange(v.began_at, v.ended_at, '[]')) FILTER (WHERE v.side = 'before') AS t1,
                                    range_agg(tstzrange(v.began_at, v.ended_at, '[]')) FILTER (WHERE v.side = 'after') AS t2
                               FROM @extschema@.ff_verify_windows(NULL::bigint, h.before_at, h.seen_at,
                                        (SELECT k.epoch_id FROM @extschema@.ff_collection k WHERE k.began_at <= h.seen_at ORDER BY k.began_at DESC LIMIT 1)) v
                              WHERE v.left_out IS NULL) w
         WHERE h.before_at IS NOT NULL AND $1 IS NULL
    ), per AS (
        SELECT c.relid, c.change, c.seen_at, s.statement_id, s.side, sum(s.calls) AS calls, sum(s.total_ms) / sum(s.calls) AS mean,
               sqrt(greatest(sum(s.calls * s.stddev_ms ^ 2 + s.total_ms ^ 2 / s.calls) / sum(s.calls) - (sum(s.total_ms) / sum(s.calls)) ^ 2, 0)) AS stddev,
               @extschema@.ff_ratio(array_agg(s.total_ms), array_agg(s.calls), sum(s.calls * s.stddev_ms ^ 2) / sum(s.calls) ^ 2) AS m
          FROM changed c
         CROSS JOIN LATERAL @extschema@.ff_verify_calls(c.rel_id, c.t1, c.t2) s
         GROUP BY c.relid, c.change, c.seen_at, s.statement_id, s.side
    )
    SELECT b.relid, b.change, b.seen_at, s.queryid, s.text, b.calls::bigint, a.calls::bigint, b.mean, a.mean, a.mean - b.mean, d.d[2], d.d[3], b.stddev, a.stddev
      FROM per b
      JOIN per a ON a.statement_id = b.statement_id AND a.relid IS NOT DISTINCT FROM b.relid AND a.change = b.change AND a.seen_at = b.seen_at AND a.side = 'after'
      JOIN @extschema@.ff_statement s ON s.statement_id = b.statement_id
     CROSS JOIN LATERAL (SELECT @extschema@.ff_difference((b.m).ratio, (b.m).variance, (b.m).clusters, (a.m).ratio, (a.m).variance, (a.m).clusters) AS d) d
     WHERE b.side = 'before'
     ORDER BY b.seen_at DESC, 1, 2, a.calls * a.mean DESC
$$;
REVOKE ALL ON FUNCTION @extschema@.ff_verify_statements(regclass) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_verify_statements(regclass) TO pg_read_all_stats;
COMMENT ON FUNCTION @extschema@.ff_verify_statements(regclass) IS
'The statements behind each row of ff_verify(), one by one: calls, mean and standard deviation of the execution time (milliseconds) in the intervals compared, and the difference of the means with its 95 % interval. That interval follows from the scatter between collection intervals or from that between single calls, whichever is larger (Welch).
Errors: 42P01 unknown OID, 42809 not a table.';

-- ---------------------------------------------------------------------------
-- Promises and what came of them
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_tracked_settings() RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT ARRAY['autovacuum', 'autovacuum_max_workers', 'autovacuum_naptime', 'autovacuum_vacuum_cost_delay', 'autovacuum_vacuum_cost_limit',
                 'autovacuum_vacuum_scale_factor', 'autovacuum_vacuum_threshold', 'backend_flush_after', 'bgwriter_flush_after',
                 'bgwriter_lru_maxpages', 'checkpoint_flush_after', 'checkpoint_timeout', 'effective_io_concurrency', 'full_page_writes',
                 'hot_standby_feedback', 'idle_in_transaction_session_timeout', 'max_wal_size', 'old_snapshot_threshold', 'shared_buffers',
                 'synchronous_commit', 'track_io_timing', 'wal_compression']
$$;
COMMENT ON FUNCTION @extschema@.ff_tracked_settings() IS 'Names of the settings whose changes a collection writes down for ff_verify().';
REVOKE ALL ON FUNCTION @extschema@.ff_tracked_settings() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_tracked_settings() TO pg_stat_scan_tables, pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_collect_settings(id bigint) RETURNS bigint
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH look AS (
        SELECT c.began_at, (SELECT max(o.began_at) FROM @extschema@.ff_collection o WHERE o.collection_id < c.collection_id) AS before_at
          FROM @extschema@.ff_collection c WHERE c.collection_id = id
    ), changed AS (
        INSERT INTO @extschema@.ff_setting_history (setting, seen_at, before_at, value, unit)
        SELECT s.name, l.began_at, CASE WHEN h.setting IS NOT NULL THEN coalesce(l.before_at, h.seen_at) END, s.reset_val, s.unit
          FROM pg_settings s
         CROSS JOIN look l
          LEFT JOIN LATERAL (SELECT * FROM @extschema@.ff_setting_history o WHERE o.setting = s.name ORDER BY o.seen_at DESC LIMIT 1) h ON true
         WHERE s.name = ANY (@extschema@.ff_tracked_settings())
           AND (h.setting IS NULL OR h.value IS DISTINCT FROM s.reset_val)
        ON CONFLICT DO NOTHING
        RETURNING setting
    )
    SELECT count(*) FROM changed
$$;
COMMENT ON FUNCTION @extschema@.ff_collect_settings(bigint) IS 'Writes down the tracked server settings where they differ from the last look; returns how many did. Internal step of ff_collect().';
REVOKE ALL ON FUNCTION @extschema@.ff_collect_settings(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_collect_settings(bigint) TO pg_stat_scan_tables;

CREATE FUNCTION @extschema@.ff_promises_due(id bigint) RETURNS SETOF bigint
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- Tables that changed in this collection, the one asked longest ago
    -- first, as many as one collection may ask the model for.  A table known
    -- for longer than an hour is asked once an hour: the answer is costly
    -- and moves slowly.
    SELECT r.rel_id
      FROM @extschema@.ff_collection c
      JOIN @extschema@.ff_interval i ON i.grain = 0 AND i.ended_at = c.began_at
      JOIN @extschema@.ff_relation r ON r.rel_id = i.rel_id
     WHERE c.collection_id = id AND (i.updated > 0 OR r.fillfactor < 100) AND r.closed_at IS NULL AND r.sampled_at IS NOT NULL
       AND (r.promised_at IS NULL OR r.promised_at <= c.began_at - interval '1 hour' OR r.opened_at > c.began_at - interval '1 hour')
     ORDER BY r.promised_at NULLS FIRST, i.updated DESC, r.rel_id
     LIMIT 20
$$;
COMMENT ON FUNCTION @extschema@.ff_promises_due(bigint) IS 'rel_id of the tables whose advice may promise something new after a collection, at most 20. Internal step of ff_collect().';
REVOKE ALL ON FUNCTION @extschema@.ff_promises_due(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_promises_due(bigint) TO pg_stat_scan_tables;

CREATE FUNCTION @extschema@.ff_collect_promise(id bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- a promise is written anew when its HOT share moved by so many points, or after a day
    new_promise CONSTANT double precision := 2;
    looked_at   CONSTANT timestamptz := clock_timestamp();
    relation    regclass;
    shown       record;
    e           @extschema@.ff_table_evidence;
    choice      record;
    last        @extschema@.ff_prediction;
    made        timestamptz;
    changed     timestamptz;
    written     bigint := 0;
BEGIN
    UPDATE @extschema@.ff_relation r SET promised_at = looked_at WHERE r.rel_id = id RETURNING r.relid::regclass INTO relation;
    SELECT d.evidence, d.hot_share, d.wants_model INTO shown FROM @extschema@.ff_diagnosis(relation) d;
    IF shown.wants_model THEN
        e := shown.evidence;
        SELECT * INTO choice FROM @extschema@.ff_choice(e);
        SELECT * INTO last FROM @extschema@.ff_prediction p WHERE p.rel_id = id ORDER BY p.made_at DESC LIMIT 1;
        IF choice.recommended_fillfactor <> e.fillfactor
           AND (last IS NULL OR (last.from_fillfactor, last.to_fillfactor) <> (e.fillfactor, choice.recommended_fillfactor)
                OR last.made_at < looked_at - interval '1 day' OR last.judged_at IS NOT NULL
                OR coalesce(abs(last.predicted_hot_pct - choice.predicted_hot_pct) >= new_promise,
                            last.predicted_hot_pct IS NULL AND choice.predicted_hot_pct IS NOT NULL))
        THEN
            INSERT INTO @extschema@.ff_prediction (rel_id, made_at, from_fillfactor, to_fillfactor, hot_pct, predicted_hot_pct, predicted_hot_low,
                        predicted_hot_high, predicted_wal_pct, size_bytes, predicted_size_bytes, confidence)
            VALUES (id, looked_at, e.fillfactor, choice.recommended_fillfactor, 100 * shown.hot_share, choice.predicted_hot_pct, choice.predicted_hot_low,
                    choice.predicted_hot_high, choice.predicted_wal_pct, e.heap_bytes, choice.predicted_size_bytes, choice.confidence);
            written := 1;
        END IF;
    END IF;

    -- The last change, if it was promised something: judged as soon as that is
    -- possible, then once an hour while the window after it grows.
    SELECT p.made_at, c.seen_at INTO made, changed
      FROM @extschema@.ff_change c
      JOIN @extschema@.ff_prediction p ON p.rel_id = c.rel_id AND p.from_fillfactor = c.old_fillfactor AND p.to_fillfactor = c.new_fillfactor AND p.made_at < c.seen_at
     WHERE c.rel_id = id AND c.kind = 'fillfactor' AND c.seen_at > looked_at - make_interval(days => @extschema@.ff_setting('lookback')::integer)
     ORDER BY c.seen_at DESC, p.made_at DESC LIMIT 1;
    IF NOT FOUND THEN
        RETURN written;
    END IF;
    UPDATE @extschema@.ff_prediction p
       SET judged_at = looked_at, verdict = v.verdict, achieved_hot_pct = v.hot_pct_after, achieved_wal_pct = 100 + v.wal_change_pct
      FROM @extschema@.ff_verify(relation) v
     WHERE p.rel_id = id AND p.made_at = made AND (p.judged_at IS NULL OR p.judged_at < looked_at - interval '1 hour')
       AND v.change = 'fillfactor' AND v.changed_at = changed AND v.verdict <> 'too early';
    RETURN written;
END
$$;
COMMENT ON FUNCTION @extschema@.ff_collect_promise(bigint) IS 'Writes down what advice to change a table''s fillfactor promises now, where that is new, and what came of the promise that the last change took up. Returns the promises written. Internal step of ff_collect().';
REVOKE ALL ON FUNCTION @extschema@.ff_collect_promise(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_collect_promise(bigint) TO pg_stat_scan_tables;

CREATE FUNCTION @extschema@.ff_calibration(relation_id bigint) RETURNS double precision
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- Points of HOT share that a prediction may miss by without blame, and
    -- those beyond it that halve the trust.
    WITH constant AS (
        SELECT 5.0::double precision AS tolerance, 10.0::double precision AS halving
    ), judged AS (
        SELECT p.*, greatest(0, least(p.predicted_hot_low, p.predicted_hot_pct - k.tolerance) - p.achieved_hot_pct,
                                p.achieved_hot_pct - greatest(p.predicted_hot_high, p.predicted_hot_pct + k.tolerance)) AS missed_by, k.halving
          FROM @extschema@.ff_prediction p, constant k
         WHERE p.rel_id = relation_id AND p.judged_at IS NOT NULL
         ORDER BY p.made_at DESC LIMIT 3
    )
    SELECT avg(CASE WHEN verdict = 'hurt' THEN 0.2
                    WHEN predicted_hot_pct IS NULL THEN CASE verdict WHEN 'helped' THEN 1 ELSE 0.5 END
                    ELSE 1 / (1 + missed_by / halving) * CASE verdict WHEN 'helped' THEN 1 ELSE 0.5 END END)
      FROM judged
$$;
COMMENT ON FUNCTION @extschema@.ff_calibration(bigint) IS 'How well earlier predictions for a table (its rel_id) came true, 0 to 1, over the last three that were taken up and judged; NULL where none was. 1: the HOT share came within the range promised (or 5 points) and the change helped; halved for every 10 points beyond, halved where it made no difference, 0.2 where it hurt.';
REVOKE ALL ON FUNCTION @extschema@.ff_calibration(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_calibration(bigint) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_calibrated(confidence double precision, calibration double precision) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN calibration IS NULL THEN confidence
                WHEN calibration < 0.8 THEN confidence * calibration / 0.8
                ELSE confidence + (1 - confidence) * (calibration - 0.8) / 0.4 END
$$;
COMMENT ON FUNCTION @extschema@.ff_calibrated(double precision, double precision) IS 'A confidence (0 to 1) in the light of earlier predictions for the table, see ff_calibration(): halfway to 1 where all came true, as it was at 0.8, less in proportion below; unchanged where none was judged.';
REVOKE ALL ON FUNCTION @extschema@.ff_calibrated(double precision, double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_calibrated(double precision, double precision) TO pg_read_all_stats;

-- Stage settings: server settings that belong to the same problem.  Each row
-- has its numbers from this server; where nothing was measured, a change is at
-- most a trial, and ff_verify() says what came of it.

CREATE FUNCTION @extschema@.ff_clock_ns() RETURNS double precision
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- the quickest of some rounds counts, so that a busy machine does not look like a
    -- slow clock; all of them together take some milliseconds
    readings CONSTANT integer := 4000;
    began    timestamptz;
    middle   timestamptz;
    with_it  interval;
    without  interval;
BEGIN
    FOR round IN 1 .. 7 LOOP
        began := clock_timestamp();
        PERFORM count(clock_timestamp()) FROM generate_series(1, readings);
        middle := clock_timestamp();
        PERFORM count(i) FROM generate_series(1, readings) i;
        with_it := least(with_it, middle - began);
        without := least(without, clock_timestamp() - middle);
    END LOOP;
    RETURN greatest(extract(epoch FROM with_it - without) * 1e9 / readings, 0);
END
$$;
COMMENT ON FUNCTION @extschema@.ff_clock_ns() IS 'Time that one reading of the clock takes here, nanoseconds, roughly (the call itself excluded); pg_test_timing measures it exactly.';
REVOKE ALL ON FUNCTION @extschema@.ff_clock_ns() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_clock_ns() TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_undo_setting(setting text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- A value that ALTER SYSTEM made is set again; one from anywhere else
    -- comes back when ALTER SYSTEM's is taken away.  Where the value is from
    -- is hidden from some roles: then it is set.
    SELECT CASE WHEN s.sourcefile !~ 'postgresql\.auto\.conf$' OR s.sourcefile IS NULL AND s.source = 'default'
                THEN format('ALTER SYSTEM RESET %I; SELECT pg_reload_conf();', s.name)
                ELSE format('ALTER SYSTEM SET %I = %L; SELECT pg_reload_conf();', s.name, s.reset_val) END
      FROM pg_settings s WHERE s.name = $1
$$;
COMMENT ON FUNCTION @extschema@.ff_undo_setting(text) IS 'The statements that bring a server setting back to its present value after an ALTER SYSTEM SET; NULL where there is no such setting.';
REVOKE ALL ON FUNCTION @extschema@.ff_undo_setting(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_undo_setting(text) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_set_option(relation regclass, option text, value text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT format('ALTER %s %I.%I SET (%I = %L);', CASE c.relkind WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'TABLE' END, n.nspname, c.relname, option, value)
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = relation
$$;
COMMENT ON FUNCTION @extschema@.ff_set_option(regclass, text, text) IS 'The statement that sets a storage option of a table, names quoted.';
REVOKE ALL ON FUNCTION @extschema@.ff_set_option(regclass, text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_set_option(regclass, text, text) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_vacuum_lag()
RETURNS TABLE (
    relation       regclass,
    reloptions     text[],
    live_rows      double precision,
    dead_rows      double precision,
    removable_rows double precision,
    starts_at      double precision,
    scale_factor   double precision,
    enabled        boolean,
    vacuums        bigint,
    window_s       double precision
)
LANGUAGE sql STABLE ROWS 100
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
    WITH own AS (
        SELECT c.relid, c.reloptions, c.reltuples, r.rel_id,
               (SELECT max(split_part(o, '=', 2)) FROM unnest(c.reloptions) o WHERE o ~* '^autovacuum_vacuum_scale_factor=')::double precision AS scale_factor,
               (SELECT max(split_part(o, '=', 2)) FROM unnest(c.reloptions) o WHERE o ~* '^autovacuum_vacuum_threshold=')::double precision AS threshold,
               -- as parse_bool reads it
               NOT EXISTS (SELECT 1 FROM unnest(c.reloptions) o WHERE o ~* '^autovacuum_enabled=(of|n|f|0)') AS enabled
          FROM @extschema@.ff_candidate c
          JOIN @extschema@.ff_relation r ON r.relid = c.relid AND r.closed_at IS NULL
         WHERE c.not_examined IS NULL
    )
    SELECT o.relid::regclass, o.reloptions, p.live_rows, p.dead_rows, p.dead_rows - p.recently_dead_rows,
           coalesce(o.threshold, current_setting('autovacuum_vacuum_threshold')::double precision)
               + coalesce(o.scale_factor, current_setting('autovacuum_vacuum_scale_factor')::double precision) * CASE WHEN o.reltuples > 0 THEN o.reltuples ELSE p.live_rows END,
           coalesce(o.scale_factor, current_setting('autovacuum_vacuum_scale_factor')::double precision), o.enabled, i.vacuums, i.window_s
      FROM own o
     CROSS JOIN LATERAL (SELECT s.live_rows, s.dead_rows, s.recently_dead_rows FROM @extschema@.ff_page_sample s
                          WHERE s.rel_id = o.rel_id ORDER BY s.sampled_at DESC LIMIT 1) p
     CROSS JOIN LATERAL (SELECT coalesce(sum(v.vacuums), 0)::bigint AS vacuums, extract(epoch FROM max(v.ended_at) - min(v.began_at))::double precision AS window_s
                           FROM @extschema@.ff_interval v
                          WHERE v.rel_id = o.rel_id AND v.ended_at > now() - make_interval(days => @extschema@.ff_setting('lookback')::integer)) i
     WHERE p.live_rows + p.dead_rows > 0
$$;
COMMENT ON FUNCTION @extschema@.ff_vacuum_lag() IS 'How far each sampled table is from its next autovacuum: live and dead rows of the last sample (removable_rows without those that a snapshot still needs), the dead rows at which autovacuum starts, its scale factor, whether it is enabled for the table, and vacuums in the window of window_s seconds. Internal step of ff_settings().';
REVOKE ALL ON FUNCTION @extschema@.ff_vacuum_lag() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_vacuum_lag() TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_settings()
RETURNS TABLE (
    setting        text,
    scope          text,
    relation       regclass,
    current_value  text,
    proposed_value text,
    action         text,
    evidence       text,
    reason         text,
    source         text,
    ddl            text,
    undo           text
)
LANGUAGE sql VOLATILE ROWS 20
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
    -- What counts as much: where page cost is worth measuring, nanoseconds a
    -- reading; full-page images as a share of WAL, and the WAL (bytes) from
    -- which on it is judged; dead rows as a share of a table, and the smallest
    -- table so judged, rows.
    WITH constant AS (
        SELECT 250.0 AS slow_clock_ns, 0.5 AS images_share, 1e8 AS enough_wal, 0.1 AS dead_share, 10000.0 AS enough_rows
    ), present AS MATERIALIZED (
        SELECT s.name, s.reset_val AS value, s.enumvals, current_setting(s.name) AS shown
          FROM pg_settings s
    ), size AS MATERIALIZED (
        SELECT (SELECT sum(z.heap_bytes + coalesce(z.index_bytes, 0) + coalesce(z.toast_bytes, 0))
                  FROM @extschema@.ff_candidate c CROSS JOIN LATERAL @extschema@.ff_sizes(c.relid) z WHERE c.not_examined IS NULL)::double precision AS data,
               @extschema@.ff_ram_bytes()::double precision AS ram,
               (SELECT p.value::double precision * current_setting('block_size')::integer FROM present p WHERE p.name = 'shared_buffers') AS buffers,
               (SELECT sum(h.blocks_written)::double precision FROM @extschema@.ff_statement_history h
                 WHERE h.ended_at > now() - make_interval(days => @extschema@.ff_setting('lookback')::integer)) AS written,
               (SELECT sum(h.blocks_dirtied)::double precision FROM @extschema@.ff_statement_history h
                 WHERE h.ended_at > now() - make_interval(days => @extschema@.ff_setting('lookback')::integer)) AS dirtied,
               version() ~* 'linux' AS linux
    ), clock AS MATERIALIZED (
        SELECT @extschema@.ff_clock_ns() AS ns
    ), wal AS MATERIALIZED (
        SELECT w.wal_records AS records, w.wal_fpi AS images, w.wal_bytes::double precision AS bytes,
               least(1, w.wal_fpi * current_setting('block_size')::double precision / nullif(w.wal_bytes, 0)::double precision) AS most_share, w.stats_reset
          FROM pg_stat_wal w
    ), idle AS MATERIALIZED (
        SELECT count(*) AS held, max(h.held_s) AS longest_s, sum(h.lost_hot) AS lost_hot, (array_agg(h.role_name ORDER BY h.held_s DESC))[1] AS role_name
          FROM @extschema@.ff_horizon() h WHERE h.kind = 'idle in transaction' AND h.held_s >= 60
    ), lag AS MATERIALIZED (
        SELECT l.*, n.nspname, c.relname FROM @extschema@.ff_vacuum_lag() l JOIN pg_class c ON c.oid = l.relation JOIN pg_namespace n ON n.oid = c.relnamespace
    ), tried AS MATERIALIZED (
        -- the last change of a setting, and what came of it
        SELECT DISTINCT ON (v.change) substr(v.change, 9) AS name, v.verdict, v.reason, v.changed_at, v.old_value, v.undo
          FROM @extschema@.ff_verify() v
         WHERE EXISTS (SELECT 1 FROM @extschema@.ff_setting_history h WHERE h.before_at IS NOT NULL) AND v.change LIKE 'setting %'
         ORDER BY v.change, v.changed_at DESC
    ), proposal AS (
        -- backend_flush_after
        SELECT 10 AS n, 'backend_flush_after' AS name, NULL::regclass AS relation,
               CASE WHEN p.value = '0' AND z.linux AND z.data > greatest(z.ram, z.buffers) THEN '2MB' END AS proposed, 'trial' AS how,
               format('tables and indexes of this database %s, memory %s (%s times), shared_buffers %s', pg_size_pretty(z.data::bigint), pg_size_pretty(z.ram::bigint),
                      round((z.data / nullif(z.ram, 0))::numeric, 2), pg_size_pretty(z.buffers::bigint))
                   || CASE WHEN z.dirtied > 0 THEN format('; statements wrote %s pages out themselves and dirtied %s', z.written, z.dirtied) ELSE '' END AS evidence,
               CASE WHEN NOT z.linux THEN 'it acts on Linux only'
                    WHEN p.value <> '0' THEN 'set already; ff_verify() judges it once statements were seen before and after the change'
                    WHEN z.data IS NULL THEN 'no table here yet'
                    WHEN z.data <= z.buffers THEN 'the data fit shared_buffers, where it was seen to change nothing'
                    WHEN z.data <= z.ram THEN 'the data fit memory, so evicted pages are seldom waited for'
                    ELSE 'the data are larger than memory: a backend that evicts dirty pages may cause bursts of writing, which this spreads. Measurements disagree, so try it and let ff_verify() judge mean and standard deviation' END AS reason,
               'PostgreSQL documentation, "Resource Consumption", Asynchronous Behavior; published measurement with a working set of 4 times RAM: 2 MB gave -4.4 % mean and -27 % standard deviation of update time, nothing where the data fit shared_buffers; three paired runs of 60 s elsewhere showed no consistent effect' AS source
          FROM present p, size z WHERE p.name = 'backend_flush_after'
        UNION ALL
        -- track_io_timing
        SELECT 20, 'track_io_timing', NULL,
               CASE WHEN p.value = 'off' AND c.ns <= k.slow_clock_ns THEN 'on' END, 'change',
               format('one reading of the clock takes %s ns here', round(c.ns::numeric)),
               CASE WHEN p.value = 'on' THEN 'on already: the cost of a page read is measured'
                    WHEN c.ns <= k.slow_clock_ns THEN 'the cost of a page read can be measured instead of assumed, for two readings of the clock a page read; it makes nothing faster by itself'
                    ELSE 'the clock is slow here: two readings a page read would cost too much' END,
               'PostgreSQL documentation, "Run-time Statistics", and pg_test_timing'
          FROM present p, clock c, constant k WHERE p.name = 'track_io_timing'
        UNION ALL
        -- wal_compression
        SELECT 30, 'wal_compression', NULL,
               CASE WHEN p.value = 'off' AND w.bytes >= k.enough_wal AND w.most_share >= k.images_share
                    THEN CASE WHEN 'lz4' = ANY (p.enumvals) THEN 'lz4' ELSE 'on' END END, 'trial',
               format('%s of WAL since %s, %s records, %s full-page images: at most %s %% of it', pg_size_pretty(w.bytes::bigint), to_char(w.stats_reset, 'YYYY-MM-DD HH24:MI'),
                      w.records, w.images, round((100 * w.most_share)::numeric)),
               CASE WHEN p.value <> 'off' THEN 'on already'
                    WHEN w.bytes < k.enough_wal THEN 'too little WAL yet to judge'
                    WHEN w.most_share >= k.images_share THEN 'full-page images may be most of the WAL, and they compress; it costs CPU time at every first change of a page after a checkpoint. Rarer checkpoints (checkpoint_timeout, max_wal_size) save them altogether'
                    ELSE 'full-page images are not what the WAL consists of' END,
               'PostgreSQL documentation, "Write Ahead Log" and view pg_stat_wal (an image has at most one page, less its hole)'
          FROM present p, wal w, constant k WHERE p.name = 'wal_compression'
        UNION ALL
        -- idle_in_transaction_session_timeout
        SELECT 40, 'idle_in_transaction_session_timeout', NULL,
               CASE WHEN i.held > 0 AND (p.value = '0' OR p.value::bigint > 600000) THEN '10min' END, 'trial',
               CASE WHEN i.held = 0 THEN 'no session was seen idle in transaction for a minute'
                    ELSE format('%s sessions idle in transaction held a snapshot for a minute or more, the longest (role %s) for %s', i.held, coalesce(quote_ident(i.role_name), 'unknown'), @extschema@.ff_span(i.longest_s))
                         || coalesce(format('; %s updates were not HOT meanwhile that usually are', i.lost_hot), '') END,
               CASE WHEN i.held = 0 THEN 'nothing to cure'
                    WHEN p.value <> '0' AND p.value::bigint <= 600000 THEN 'set already'
                    ELSE 'nothing that such a session could still see can be pruned. The server ends the session when the time is over: the application must bear that, so commit sooner where that is possible; see ff_horizon()' END,
               'PostgreSQL documentation, "Client Connection Defaults", idle_in_transaction_session_timeout, and "Heap-Only Tuples"'
          FROM present p, idle i WHERE p.name = 'idle_in_transaction_session_timeout'
        UNION ALL
        -- autovacuum at all
        SELECT 50, 'autovacuum', NULL, CASE WHEN p.value = 'off' THEN 'on' END, 'change',
               format('autovacuum is %s', p.value),
               CASE WHEN p.value = 'off' THEN 'without it dead index entries and moved rows are never cleaned up, and transaction ids run out' ELSE 'as it should be' END,
               'PostgreSQL documentation, "Routine Vacuuming"'
          FROM present p WHERE p.name = 'autovacuum'
        UNION ALL
        SELECT 60, 'autovacuum_enabled', l.relation, 'true', 'change',
               format('%s dead of %s rows; %s vacuums in %s', round(l.dead_rows::numeric), round((l.live_rows + l.dead_rows)::numeric), l.vacuums, coalesce(@extschema@.ff_span(l.window_s), 'the time since it was first seen')),
               'autovacuum is off for this table and its dead rows stay; if that is on purpose, vacuum it by other means',
               'PostgreSQL documentation, "Routine Vacuuming"'
          FROM lag l, constant k WHERE NOT l.enabled AND l.removable_rows >= k.dead_share * (l.live_rows + l.dead_rows) AND l.live_rows + l.dead_rows >= k.enough_rows
        UNION ALL
        -- scale factor of the tables whose dead rows outpace vacuum
        SELECT 61, 'autovacuum_vacuum_scale_factor', l.relation,
               CASE WHEN l.removable_rows < l.starts_at THEN CASE WHEN l.scale_factor > 0.05 THEN '0.05' WHEN l.scale_factor > 0.02 THEN '0.02' WHEN l.scale_factor > 0.01 THEN '0.01' END END, 'trial',
               format('%s dead rows that nobody can see, of %s rows (%s %%); autovacuum starts at %s; %s vacuums in %s', round(l.removable_rows::numeric), round((l.live_rows + l.dead_rows)::numeric),
                      round((100 * l.removable_rows / (l.live_rows + l.dead_rows))::numeric), round(l.starts_at::numeric), l.vacuums, coalesce(@extschema@.ff_span(l.window_s), 'the time since it was first seen')),
               CASE WHEN l.removable_rows >= l.starts_at THEN 'a vacuum is due already and does not come round: the scale factor is not the reason; see autovacuum_max_workers, autovacuum_naptime and autovacuum_vacuum_cost_limit'
                    WHEN l.scale_factor <= 0.01 THEN 'low already'
                    ELSE 'dead rows take room in pages that updates could use, and vacuum is not due yet. More frequent vacuums read the indexes more often, so ff_verify() should judge it' END,
               'PostgreSQL documentation, "Routine Vacuuming", The Autovacuum Daemon'
          FROM lag l, constant k
         WHERE l.enabled AND l.removable_rows >= k.dead_share * (l.live_rows + l.dead_rows) AND l.live_rows + l.dead_rows >= k.enough_rows
        UNION ALL
        SELECT 62, 'autovacuum_vacuum_scale_factor', NULL, NULL, 'trial',
               format('%s of %s sampled tables have %s %% or more dead rows that could be removed', count(*) FILTER (WHERE l.removable_rows >= k.dead_share * (l.live_rows + l.dead_rows) AND l.live_rows + l.dead_rows >= k.enough_rows),
                      count(l.relation), round(100 * k.dead_share)),
               'single tables that need it are better served one by one', 'PostgreSQL documentation, "Routine Vacuuming", The Autovacuum Daemon'
          FROM constant k LEFT JOIN lag l ON true GROUP BY k.dead_share
        UNION ALL
        -- settings that hold back pruning by themselves; gone in later versions
        SELECT 70, p.name, NULL, CASE WHEN p.value::integer > 0 THEN '0' END, 'change', format('it is %s transactions', p.value),
               CASE WHEN p.value::integer > 0 THEN 'every old row version is kept for so many transactions longer, also by pruning' ELSE 'it holds nothing back' END,
               'PostgreSQL documentation, "Replication", vacuum_defer_cleanup_age (removed in 16)'
          FROM present p WHERE p.name = 'vacuum_defer_cleanup_age'
        UNION ALL
        -- leave as is
        SELECT 80, p.name, NULL, NULL, 'leave', format('it is %s', p.shown), v.why, v.source
          FROM present p
          JOIN (VALUES ('full_page_writes', 'full-page images cost WAL, but without them a torn page cannot be recovered; fewer updates that leave their page and rarer checkpoints write fewer of them', 'PostgreSQL documentation, "Write Ahead Log"'),
                       ('synchronous_commit', 'it decides what a crash may lose, not how updates are stored', 'PostgreSQL documentation, "Write Ahead Log"'),
                       ('hot_standby_feedback', 'on a standby it trades cancelled queries there for versions kept here; see ff_horizon() for what is held back now', 'PostgreSQL documentation, "Replication"'),
                       ('old_snapshot_threshold', 'it ends snapshots by error and was removed in 17; a timeout for idle transactions does less harm', 'PostgreSQL 17 release notes'),
                       ('shared_buffers', 'no measurement here speaks for another size; fewer pages changed by each update relieve it at any size', 'PostgreSQL documentation, "Resource Consumption"')) v(name, why, source) ON v.name = p.name
    ), told AS (
        SELECT o.n, o.name, o.relation, o.evidence, o.source,
               CASE WHEN t.verdict = 'hurt' AND o.relation IS NULL THEN t.old_value ELSE o.proposed END AS proposed,
               CASE WHEN t.verdict = 'hurt' AND o.relation IS NULL THEN 'change' WHEN o.proposed IS NULL THEN 'leave' ELSE o.how END AS action,
               o.reason || CASE WHEN t.verdict IS NOT NULL AND o.relation IS NULL
                                THEN format('. Changed from %s, seen %s; ff_verify(): %s: %s', t.old_value, to_char(t.changed_at, 'YYYY-MM-DD HH24:MI'), t.verdict, rtrim(t.reason, '.')) ELSE '' END || '.' AS reason,
               CASE WHEN t.verdict = 'hurt' AND o.relation IS NULL THEN t.undo END AS way_back
          FROM proposal o LEFT JOIN tried t ON t.name = o.name
    )
    SELECT d.name, CASE WHEN d.relation IS NULL THEN 'system' ELSE 'table' END, d.relation,
           CASE WHEN d.relation IS NULL THEN (SELECT p.shown FROM present p WHERE p.name = d.name)
                ELSE coalesce((SELECT max(split_part(o, '=', 2)) FROM lag l, unnest(l.reloptions) o WHERE l.relation = d.relation AND split_part(o, '=', 1) = d.name),
                              (SELECT p.shown || ' (system)' FROM present p WHERE p.name = d.name)) END,
           d.proposed, d.action, d.evidence, d.reason, d.source,
           CASE WHEN d.action = 'leave' THEN NULL
                WHEN d.way_back IS NOT NULL THEN d.way_back
                WHEN d.relation IS NULL THEN format('ALTER SYSTEM SET %I = %L; SELECT pg_reload_conf();', d.name, d.proposed)
                ELSE (SELECT @extschema@.ff_set_option(d.relation, d.name, d.proposed)) END,
           CASE WHEN d.action = 'leave' THEN NULL
                WHEN d.relation IS NULL THEN @extschema@.ff_undo_setting(d.name)
                ELSE (SELECT @extschema@.ff_undo_options(d.relation, l.reloptions, ARRAY(SELECT o FROM unnest(l.reloptions) o WHERE split_part(o, '=', 1) <> d.name) || (d.name || '=' || d.proposed), false) FROM lag l WHERE l.relation = d.relation) END
      FROM told d
     ORDER BY d.action = 'leave', d.n, d.relation::oid, d.name
$$;
COMMENT ON FUNCTION @extschema@.ff_settings() IS
'Settings that belong to the same problem as fillfactor, one row each, also where nothing should change.
setting; scope: system or table; relation: the table. current_value, proposed_value (NULL: none).
action: change (its use does not depend on a measurement), trial (may help; change it and let ff_verify() judge), leave.
evidence: numbers from this server. reason: why. source: where the rule is from.
ddl, undo: the statements that set it and that restore the present state; NULL for leave. ALTER SYSTEM cannot run in a transaction block: run the statements one by one.
A change that ff_verify() found to have hurt is proposed to be taken back.';
REVOKE ALL ON FUNCTION @extschema@.ff_settings() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_settings() TO pg_read_all_stats;
-- Stage report: everything that is known, on one HTML page to look at.
--
-- The page stands alone: no script, no outside resource, and a policy in its
-- head that forbids both.  It is plain ASCII whatever the database's and the
-- client's encodings are.  No name or text of the database gets into it but
-- through ff_html().

-- ---------------------------------------------------------------------------
-- Text and tables
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_html(content text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN content ~ '^[ !#-%(-;=?-~]*$' THEN content ELSE (
        SELECT string_agg(CASE WHEN c.ch = '&' THEN '&amp;' WHEN c.ch = '<' THEN '&lt;' WHEN c.ch = '>' THEN '&gt;'
                               WHEN c.ch = '"' THEN '&quot;' WHEN c.ch = '''' THEN '&#39;'
                               WHEN c.ch ~ '[ -~]' THEN c.ch
                               WHEN c.ch IN (E'\n', E'\t') THEN ' '
                               WHEN ascii(c.ch) < 32 OR ascii(c.ch) = 127 THEN '&#xFFFD;'
                               WHEN getdatabaseencoding() <> 'UTF8' THEN c.ch
                               -- what would hide or reverse its neighbours
                               WHEN ascii(c.ch) < 160 OR ascii(c.ch) BETWEEN 8203 AND 8207 OR ascii(c.ch) BETWEEN 8232 AND 8238
                                    OR ascii(c.ch) BETWEEN 8288 AND 8297 OR ascii(c.ch) IN (65279, 65534, 65535) THEN '&#xFFFD;'
                               ELSE '&#' || ascii(c.ch) || ';' END, '' ORDER BY c.place)
          FROM string_to_table(content, NULL) WITH ORDINALITY c(ch, place)) END
$$;
COMMENT ON FUNCTION @extschema@.ff_html(text) IS 'A text for an HTML page: what has a meaning there is escaped, line ends are spaces, unprintable characters and those that hide or reverse others are replaced, all others beyond ASCII are numeric references (where the database is in UTF8).';
REVOKE ALL ON FUNCTION @extschema@.ff_html(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_html(text) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_html_row(cells text[], target text DEFAULT NULL, class text DEFAULT NULL) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT '<tr' || coalesce(' class="' || class || '"', '') || '>'
           || string_agg(CASE WHEN c.place > 1
                              THEN '<td' || CASE WHEN c.cell ~ '^[-+]?[0-9][0-9.,]*( %| bytes| [kMGTP]B)?$' THEN ' class="n"'
                                              WHEN c.cell ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}' AND length(c.cell) < 20 THEN ' class="t"' ELSE '' END
                                   || '>' || coalesce(@extschema@.ff_html(c.cell), '') || '</td>'
                              WHEN target IS NOT NULL THEN '<th scope="row"><a href="#' || target || '">' || @extschema@.ff_html(c.cell) || '</a></th>'
                              ELSE '<th scope="row">' || coalesce(@extschema@.ff_html(c.cell), '') || '</th>' END, '' ORDER BY c.place)
           || E'</tr>\n'
      FROM unnest(cells) WITH ORDINALITY c(cell, place)
$$;
COMMENT ON FUNCTION @extschema@.ff_html_row(text[], text, text) IS 'A row of an HTML table, cells escaped, the first its header, which links to the element of id target (NULL: to none); numbers are aligned, times not broken.';
REVOKE ALL ON FUNCTION @extschema@.ff_html_row(text[], text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_html_row(text[], text, text) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_html_table(caption text, head text[], rows text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT E'<div class="wide"><table>\n<caption>' || @extschema@.ff_html(caption) || E'</caption>\n<thead><tr>'
           || (SELECT string_agg('<th scope="col"' || CASE WHEN h.name LIKE '#%' THEN ' class="n"' ELSE '' END || '>' || @extschema@.ff_html(ltrim(h.name, '#')) || '</th>', '' ORDER BY h.place) FROM unnest(head) WITH ORDINALITY h(name, place))
           || E'</tr></thead>\n<tbody>\n' || rows || E'</tbody></table></div>\n'
     WHERE rows <> ''
$$;
COMMENT ON FUNCTION @extschema@.ff_html_table(text, text[], text) IS 'An HTML table of rows by ff_html_row(); a # before a name in head marks a column of numbers. NULL where there are no rows.';
REVOKE ALL ON FUNCTION @extschema@.ff_html_table(text, text[], text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_html_table(text, text[], text) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_html_section(id text, title text, body text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT format(E'<section id="%s">\n<h2>%s</h2>\n%s</section>\n', id, @extschema@.ff_html(title), body)
     WHERE body <> ''
$$;
COMMENT ON FUNCTION @extschema@.ff_html_section(text, text, text) IS 'A section of the report; NULL where its body, which is HTML, is empty.';
REVOKE ALL ON FUNCTION @extschema@.ff_html_section(text, text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_html_section(text, text, text) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_number(value double precision, digits integer, unit text DEFAULT '') RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT round(value::numeric, digits)::text || unit
$$;
COMMENT ON FUNCTION @extschema@.ff_number(double precision, integer, text) IS 'A number with a fixed count of decimal digits and a unit; NULL for NULL.';
REVOKE ALL ON FUNCTION @extschema@.ff_number(double precision, integer, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_number(double precision, integer, text) TO pg_read_all_stats;

-- ---------------------------------------------------------------------------
-- Pictures.  Coordinates are user units of each one's own view box.
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_svg(title text, description text, width integer, height integer, body text, caption text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT format(E'<figure>\n<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" role="img" aria-label="%s">\n<title>%s</title>\n<desc>%s</desc>\n%s\n</svg>\n<figcaption>%s</figcaption>\n</figure>\n',
                  width, height, @extschema@.ff_html(title), @extschema@.ff_html(title), @extschema@.ff_html(description), body, caption)
     WHERE body IS NOT NULL
$$;
COMMENT ON FUNCTION @extschema@.ff_svg(text, text, integer, integer, text, text) IS 'A figure of an HTML page: a picture by its inner SVG, its equivalent in words, and a caption, which is HTML. NULL where there is nothing to draw.';
REVOKE ALL ON FUNCTION @extschema@.ff_svg(text, text, integer, integer, text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_svg(text, text, integer, integer, text, text) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_svg_text(at point, content text, anchor text DEFAULT 'middle', class text DEFAULT 'tick') RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT format('<text class="%s" x="%s" y="%s" text-anchor="%s">%s</text>', class, round(at[0]::numeric, 1), round(at[1]::numeric, 1), anchor, @extschema@.ff_html(content))
$$;
COMMENT ON FUNCTION @extschema@.ff_svg_text(point, text, text, text) IS 'A word in a picture, at a point, escaped.';
REVOKE ALL ON FUNCTION @extschema@.ff_svg_text(point, text, text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_svg_text(point, text, text, text) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_svg_grid(area box, labels text[]) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT string_agg(format('<line class="grid" x1="%s" x2="%s" y1="%s" y2="%s"/>', round(l.x0::numeric, 1), round(l.x1::numeric, 1), round(l.y::numeric, 1), round(l.y::numeric, 1))
                      || @extschema@.ff_svg_text(point(l.x0 - 6, l.y + 3.5), l.label, 'end'), '' ORDER BY l.y)
      FROM (SELECT u.label, (area[1])[0] AS x0, (area[0])[0] AS x1,
                   (area[1])[1] + height(area) * (u.place - 1) / nullif(cardinality(labels) - 1, 0) AS y
              FROM unnest(labels) WITH ORDINALITY u(label, place)) l
$$;
COMMENT ON FUNCTION @extschema@.ff_svg_grid(box, text[]) IS 'Horizontal lines across an area of a picture, spread evenly over its height, with their labels.';
REVOKE ALL ON FUNCTION @extschema@.ff_svg_grid(box, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_svg_grid(box, text[]) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_svg_curve(steps jsonb, fillfactor integer, advised integer, seen_hot real) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- A step holds from its fillfactor down to the next one, so lines are
    -- stairs.  Above: HOT share, 0 to 100 %, at y 160 to 10; below: size and
    -- WAL against today, 0 to 2.5 times, at y 250 to 180.
    WITH s AS (
        SELECT r.*, 40 + (r.fillfactor - 10) * 430 / 90.0 AS x,
               160 - 1.5 * coalesce(r.hot_pct, 0) AS y, 160 - 1.5 * coalesce(r.hot_pct_low, r.hot_pct, 0) AS y_low, 160 - 1.5 * coalesce(r.hot_pct_high, r.hot_pct, 0) AS y_high,
               250 - 28 * least(2.6, r.size_bytes / nullif(t.size_bytes, 0)::double precision) AS y_size,
               250 - 28 * least(2.6, r.wal_bytes_per_update / nullif(t.wal_bytes_per_update, 0)) AS y_wal
          FROM jsonb_to_recordset(steps) AS r(fillfactor integer, rows_per_page integer, hot_pct double precision, hot_pct_low double precision,
                                              hot_pct_high double precision, size_bytes double precision, wal_bytes_per_update double precision, is_current boolean)
         CROSS JOIN (SELECT c.* FROM jsonb_to_recordset(steps) AS c(size_bytes double precision, wal_bytes_per_update double precision, is_current boolean)
                      WHERE c.is_current LIMIT 1) t
    ), lines AS (
        SELECT 'M470 ' || round((array_agg(y ORDER BY x DESC))[1]::numeric, 1) || string_agg(format(' V%s H%s', round(y::numeric, 1), round(x_next::numeric, 1)), '' ORDER BY x DESC) AS hot,
               'M470 ' || round((array_agg(y_high ORDER BY x DESC))[1]::numeric, 1) || string_agg(format(' V%s H%s', round(y_high::numeric, 1), round(x_next::numeric, 1)), '' ORDER BY x DESC)
                 || string_agg(format(' V%s H%s', round(y_low::numeric, 1), round(x::numeric, 1)), '' ORDER BY x) || ' H470 Z' AS band,
               'M470 ' || round((array_agg(y_size ORDER BY x DESC))[1]::numeric, 1) || string_agg(format(' V%s H%s', round(y_size::numeric, 1), round(x_next::numeric, 1)), '' ORDER BY x DESC) AS size,
               'M470 ' || round((array_agg(y_wal ORDER BY x DESC))[1]::numeric, 1) || string_agg(format(' V%s H%s', round(y_wal::numeric, 1), round(x_next::numeric, 1)), '' ORDER BY x DESC) AS wal
          FROM (SELECT s.*, lead(s.x, 1, 40) OVER (ORDER BY s.x DESC) AS x_next FROM s) n
    ), marks AS (
        SELECT max(c.hot_pct) AS now_hot, max(c.y) AS now_y, max(a.hot_pct) AS then_hot, max(a.hot_pct_low) AS then_low, max(a.hot_pct_high) AS then_high,
               max(a.y) AS then_y, max(a.y_size) AS then_size, max(a.x) AS then_x
          FROM (SELECT * FROM s WHERE s.is_current LIMIT 1) c
          FULL JOIN (SELECT * FROM s WHERE s.fillfactor = advised AND advised <> $2) a ON true
    )
    SELECT @extschema@.ff_svg('Predicted HOT share at each fillfactor',
             CASE WHEN m.now_hot IS NULL THEN 'No updates are foreseen, so only the size of the table changes' ELSE format('At %s, as now, %s %% of updates are predicted to be HOT', $2, round(m.now_hot::numeric, 1)) END
             || CASE WHEN m.then_x IS NULL THEN '; no other step is advised.'
                     WHEN m.then_hot IS NULL THEN format('; %s is advised.', advised)
                     ELSE format('; at %s, as advised, %s %% (%s to %s).', advised, round(m.then_hot::numeric, 1), round(m.then_low::numeric, 1), round(m.then_high::numeric, 1)) END
             || ' The table below the picture has every step.',
             480, 290,
             @extschema@.ff_svg_grid(box(point(40, 10), point(470, 160)), ARRAY['100 %', '75 %', '50 %', '25 %', '0 %'])
             || @extschema@.ff_svg_grid(box(point(40, 194), point(470, 250)), ARRAY['2x', '1x', '0x'])
             || (SELECT string_agg(@extschema@.ff_svg_text(point(40 + (f - 10) * 430 / 90.0, 266), f::text), '') FROM generate_series(10, 100, 10) f)
             || @extschema@.ff_svg_text(point(255, 283), 'fillfactor')
             || CASE WHEN m.now_hot IS NULL THEN @extschema@.ff_svg_text(point(255, 90), 'no updates')
                     ELSE format('<path class="band" d="%s"/><path class="hot" d="%s"/><path class="wal" d="%s"/>', l.band, l.hot, l.wal) END
             || format('<path class="size" d="%s"/>', l.size)
             || format('<line class="now" x1="%s" x2="%s" y1="10" y2="250"/><circle class="now" cx="%s" cy="%s" r="5"/>', x.now_x, x.now_x, x.now_x, round(CASE WHEN m.now_hot IS NULL THEN 222 ELSE m.now_y END::numeric, 1))
             || CASE WHEN m.then_x IS NULL THEN ''
                     ELSE format('<line class="then" x1="%s" x2="%s" y1="10" y2="250"/><path class="then" d="M%s %s l6 6 l-6 6 l-6 -6 Z"/>',
                                 round(m.then_x::numeric, 1), round(m.then_x::numeric, 1), round(m.then_x::numeric, 1), round(CASE WHEN m.then_hot IS NULL THEN m.then_size ELSE m.then_y END::numeric - 6, 1)) END,
             CASE WHEN m.now_hot IS NULL THEN 'Against today: <span class="key size"></span>size of the table'
                  ELSE 'Above: <span class="key hot"></span>predicted HOT share of the updates, with its range. Below, against today: <span class="key size"></span>size of the table, <span class="key wal"></span>WAL per update' END
             || ' (cut at 2.6x).<br><span class="dot now"></span>now ' || $2
             || CASE WHEN m.now_hot IS NULL THEN '' ELSE format(': %s %% predicted%s', round(m.now_hot::numeric, 1), CASE WHEN seen_hot IS NULL THEN '' ELSE format(', %s %% seen', seen_hot) END) END
             || CASE WHEN m.then_x IS NULL THEN '; no other step is advised.'
                     ELSE '; <span class="dot then"></span>advised ' || advised
                          || CASE WHEN m.then_hot IS NULL THEN '.' ELSE format(': %s %% (%s to %s).', round(m.then_hot::numeric, 1), round(m.then_low::numeric, 1), round(m.then_high::numeric, 1)) END END)
      FROM lines l, marks m, (SELECT round(40 + ($2 - 10) * 430 / 90.0, 1) AS now_x) x
$$;
COMMENT ON FUNCTION @extschema@.ff_svg_curve(jsonb, integer, integer, real) IS 'The curve of ff_curve() as a figure: HOT share with its range, size and WAL per update, over fillfactor; the current and the advised step marked. Internal step of ff_report().';
REVOKE ALL ON FUNCTION @extschema@.ff_svg_curve(jsonb, integer, integer, real) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_svg_curve(jsonb, integer, integer, real) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_report_history(id bigint)
RETURNS TABLE (began_at timestamptz, ended_at timestamptz, fillfactor integer, updated bigint, hot_share double precision, moved_share double precision)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- at most about a hundred points, however long the history is
    WITH i AS (
        SELECT n.*, ntile(100) OVER (ORDER BY n.ended_at) AS bucket
          FROM @extschema@.ff_interval n WHERE n.rel_id = id AND n.updated > 0
    ), b AS (
        SELECT min(i.began_at) AS began_at, max(i.ended_at) AS ended_at, i.fillfactor, sum(i.updated)::bigint AS updated, sum(i.hot_updated) AS hot,
               CASE WHEN bool_and(i.newpage_updated IS NOT NULL) THEN sum(i.newpage_updated) END AS newpage
          FROM i GROUP BY i.bucket, i.fillfactor
    )
    SELECT b.began_at, b.ended_at, b.fillfactor, b.updated, b.hot / b.updated::double precision,
           (SELECT s.moved_share FROM @extschema@.ff_split_updates(b.updated::double precision, b.hot::double precision, b.newpage::double precision, v.same_page::double precision, v.moved::double precision) s)
      FROM b
      LEFT JOIN LATERAL (
            -- PostgreSQL 15: what the pages told next
            SELECT p.superseded_same_page AS same_page, p.superseded_moved AS moved
              FROM @extschema@.ff_page_sample p
             WHERE b.newpage IS NULL AND p.rel_id = id AND p.sampled_at >= b.began_at AND p.superseded_same_page + p.superseded_moved > 0
             ORDER BY p.sampled_at LIMIT 1) v ON true
     ORDER BY b.ended_at
$$;
COMMENT ON FUNCTION @extschema@.ff_report_history(bigint) IS 'HOT and moved share of a table''s updates (0 to 1) over time, in about a hundred points; moved_share before PostgreSQL 16 as the pages told, NULL where they did not. Internal step of ff_report().';
REVOKE ALL ON FUNCTION @extschema@.ff_report_history(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_report_history(bigint) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_svg_history(id bigint) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH h AS MATERIALIZED (
        SELECT * FROM @extschema@.ff_report_history(id)
    ), span AS (
        SELECT min(h.began_at) AS t0, max(h.ended_at) AS t1, count(*) AS points, greatest(extract(epoch FROM max(h.ended_at) - min(h.began_at)), 1) AS seconds,
               sum(h.updated) AS updated, sum(h.updated * h.hot_share) / nullif(sum(h.updated), 0) AS hot,
               (array_agg(h.hot_share ORDER BY h.ended_at))[1] AS first_hot, (array_agg(h.hot_share ORDER BY h.ended_at DESC))[1] AS last_hot
          FROM h
    ), p AS (
        SELECT 40 + 430 * extract(epoch FROM h.began_at - s.t0) / s.seconds AS x0, 40 + 430 * extract(epoch FROM h.ended_at - s.t0) / s.seconds AS x1,
               130 - 120 * h.hot_share AS y_hot, 130 - 120 * h.moved_share AS y_moved, h.ended_at,
               -- nothing is drawn where nothing was seen
               CASE WHEN extract(epoch FROM h.began_at - lag(h.ended_at) OVER (ORDER BY h.ended_at)) <= 0.03 * s.seconds THEN 'L' ELSE 'M' END AS pen
          FROM h, span s
    ), path AS (
        SELECT string_agg(format('%s%s %s H%s', pen, round(x0, 1), round(y_hot::numeric, 1), round(x1, 1)), ' ' ORDER BY ended_at) AS hot,
               regexp_replace(string_agg(format('%s%s %s H%s', pen, round(x0, 1), round(y_moved::numeric, 1), round(x1, 1)), ' ' ORDER BY ended_at) FILTER (WHERE y_moved IS NOT NULL), '^L', 'M') AS moved
          FROM p
    ), changes AS (
        SELECT string_agg(format('<line class="change" x1="%1$s" x2="%1$s" y1="6" y2="130"/>', round(x, 1))
                          || @extschema@.ff_svg_text(point(x + CASE WHEN x > 400 THEN -4 ELSE 4 END, 14), format('%s to %s', c.old_fillfactor, c.new_fillfactor), CASE WHEN x > 400 THEN 'end' ELSE 'start' END, 'mark'), '') AS marks,
               string_agg(format('%s to %s at %s', c.old_fillfactor, c.new_fillfactor, to_char(c.seen_at, 'YYYY-MM-DD HH24:MI')), ', ' ORDER BY c.seen_at) AS words
          FROM @extschema@.ff_change c, span s
         CROSS JOIN LATERAL (SELECT 40 + 430 * extract(epoch FROM least(greatest(c.seen_at, s.t0), s.t1) - s.t0) / s.seconds AS x) g
         WHERE c.rel_id = id AND c.kind = 'fillfactor'
    )
    SELECT @extschema@.ff_svg('HOT share and moved share over time',
             format('%s updates from %s to %s: %s %% were HOT, %s %% at first and %s %% at last. Fillfactor changes: %s.', s.updated, to_char(s.t0, 'YYYY-MM-DD HH24:MI'), to_char(s.t1, 'YYYY-MM-DD HH24:MI'),
                    round((100 * s.hot)::numeric, 1), round((100 * s.first_hot)::numeric, 1), round((100 * s.last_hot)::numeric, 1), coalesce(c.words, 'none')),
             480, 155,
             @extschema@.ff_svg_grid(box(point(40, 10), point(470, 130)), ARRAY['100 %', '50 %', '0 %'])
             || (SELECT string_agg(@extschema@.ff_svg_text(point(40 + 430 * k / 4.0, 147), to_char(s.t0 + (s.t1 - s.t0) * (k / 4.0), CASE WHEN s.seconds < 600 THEN 'HH24:MI:SS' WHEN s.seconds < 172800 THEN 'HH24:MI' ELSE 'Mon FMDD' END), CASE k WHEN 0 THEN 'start' WHEN 4 THEN 'end' ELSE 'middle' END), '') FROM generate_series(0, 4) k)
             || format('<path class="hot" d="%s"/>', l.hot) || coalesce('<path class="moved" d="' || l.moved || '"/>', '') || coalesce(c.marks, ''),
             format('<span class="key hot"></span>HOT%s. %s updates, %s to %s.%s', CASE WHEN l.moved IS NULL THEN '' ELSE ', <span class="key moved"></span>moved to another page' END,
                    s.updated, to_char(s.t0, 'YYYY-MM-DD HH24:MI'), to_char(s.t1, 'YYYY-MM-DD HH24:MI'), coalesce(' Fillfactor changed: ' || c.words || '.', '')))
      FROM span s, path l, changes c
     WHERE s.points > 0
$$;
COMMENT ON FUNCTION @extschema@.ff_svg_history(bigint) IS 'HOT and moved share of a table''s updates over time as a figure, fillfactor changes marked; NULL where no update was seen. Internal step of ff_report().';
REVOKE ALL ON FUNCTION @extschema@.ff_svg_history(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_svg_history(bigint) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_svg_histogram(bins integer[], sampled_at timestamptz) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH b AS (
        SELECT u.place, u.pages, u.pages / nullif((SELECT sum(a.n) FROM unnest(bins) a(n)), 0)::double precision AS share,
               u.pages / nullif((SELECT max(a.n) FROM unnest(bins) a(n)), 0)::double precision AS height
          FROM unnest(bins) WITH ORDINALITY u(pages, place)
    )
    SELECT @extschema@.ff_svg('How full the pages are',
             'Share of sampled pages by used space: ' || string_agg(format('%s to %s %%: %s %%', 10 * place - 10, 10 * place, round((100 * share)::numeric, 1)), ', ' ORDER BY place) || '.',
             480, 125,
             '<line class="grid" x1="40" x2="470" y1="100" y2="100"/>'
             || string_agg(format('<rect class="bar" x="%s" y="%s" width="39" height="%s"/>', 42 + 43 * (place - 1), round(100 - 80 * height::numeric, 1), round(80 * height::numeric, 1))
                           || CASE WHEN pages > 0 THEN @extschema@.ff_svg_text(point(61.5 + 43 * (place - 1), 100 - 80 * height - 4), CASE WHEN share < 0.01 THEN '<1 %' ELSE round((100 * share)::numeric) || ' %' END) ELSE '' END
                           || @extschema@.ff_svg_text(point(40 + 43 * (place - 1), 116), (10 * place - 10)::text), '' ORDER BY place)
             || @extschema@.ff_svg_text(point(470, 116), '100'),
             format('%s sampled pages by used space, percent of the page; %s.', (SELECT sum(a.n) FROM unnest(bins) a(n)), to_char(sampled_at, 'YYYY-MM-DD HH24:MI')))
      FROM b
    HAVING sum(pages) > 0
$$;
COMMENT ON FUNCTION @extschema@.ff_svg_histogram(integer[], timestamptz) IS 'The page-fill histogram of a sample as a figure; NULL where no page was read. Internal step of ff_report().';
REVOKE ALL ON FUNCTION @extschema@.ff_svg_histogram(integer[], timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_svg_histogram(integer[], timestamptz) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_svg_sizes(names text[], heap_bytes bigint[], total_bytes bigint[]) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- sizes differ by many powers of ten: dots on a logarithmic scale, from 8 kB
    WITH limits AS (
        SELECT m.source, m.bytes, m.used FROM @extschema@.ff_memory() m WHERE m.bytes > 0 AND (m.used OR m.source = 'shared_buffers')
    ), t AS (
        SELECT u.* FROM unnest(names, heap_bytes, total_bytes) WITH ORDINALITY u(name, heap, total, place) WHERE u.heap > 0
    ), scale AS (
        SELECT log(8192::numeric) AS lo, log(greatest((SELECT max(total) FROM t), (SELECT max(bytes) FROM limits), 10485760)::numeric * 1.3) AS hi, 34 + 20 * (SELECT count(*) FROM t) AS bottom
    )
    SELECT @extschema@.ff_svg('Memory of the server against table sizes',
             'Memory: ' || coalesce((SELECT string_agg(format('%s %s', l.source, pg_size_pretty(l.bytes)), ', ' ORDER BY l.bytes) FROM limits l), 'unknown')
             || '. Table with indexes: ' || (SELECT string_agg(format('%s %s', t.name, pg_size_pretty(t.total)), ', ' ORDER BY t.place) FROM t) || '.',
             720, s.bottom::integer + 24,
             (SELECT string_agg(format('<line class="grid" x1="%1$s" x2="%1$s" y1="26" y2="%2$s"/>', round(210 + 490 * (log(g.bytes) - s.lo) / (s.hi - s.lo), 1), s.bottom)
                                || @extschema@.ff_svg_text(point((210 + 490 * (log(g.bytes) - s.lo) / (s.hi - s.lo))::double precision, s.bottom + 16), g.label), '')
                FROM (SELECT 32::numeric ^ u.place * 1024 AS bytes, u.label FROM unnest(ARRAY['32 kB', '1 MB', '32 MB', '1 GB', '32 GB', '1 TB', '32 TB']) WITH ORDINALITY u(label, place)) g
               WHERE log(g.bytes) BETWEEN s.lo AND s.hi)
             || coalesce((SELECT string_agg(format('<line class="%1$s" x1="%2$s" x2="%2$s" y1="20" y2="%3$s"/>', CASE WHEN l.used THEN 'ram' ELSE 'now' END, round(210 + 490 * (log(l.bytes::numeric) - s.lo) / (s.hi - s.lo), 1), s.bottom)
                                || @extschema@.ff_svg_text(point((210 + 490 * (log(l.bytes::numeric) - s.lo) / (s.hi - s.lo))::double precision, 14), l.source || ' ' || pg_size_pretty(l.bytes), CASE WHEN l.used THEN 'end' ELSE 'middle' END, 'mark'), '')
                FROM limits l), '')
             || (SELECT string_agg(@extschema@.ff_svg_text(point(202, 40 + 20 * (t.place - 1)), CASE WHEN length(t.name) > 34 THEN left(t.name, 33) || '~' ELSE t.name END, 'end', 'name')
                                   || format('<line class="stem" x1="%s" x2="%s" y1="%s" y2="%s"/><circle class="total" cx="%s" cy="%s" r="4.5"/><circle class="heap" cx="%s" cy="%s" r="4.5"/>', g.x_heap, g.x_total, g.y, g.y, g.x_total, g.y, g.x_heap, g.y), '')
                   FROM t CROSS JOIN LATERAL (SELECT round(210 + 490 * (log(greatest(t.heap, 8192)::numeric) - s.lo) / (s.hi - s.lo), 1) AS x_heap,
                                                     round(210 + 490 * (log(greatest(t.total, t.heap, 8192)::numeric) - s.lo) / (s.hi - s.lo), 1) AS x_total, 36 + 20 * (t.place - 1) AS y) g),
             '<span class="dot heap"></span>table, <span class="dot total"></span>table and its indexes; each line of the scale is 32 times the one before. The solid upright line is the memory that tables are compared with.')
      FROM scale s
     WHERE EXISTS (SELECT 1 FROM t)
$$;
COMMENT ON FUNCTION @extschema@.ff_svg_sizes(text[], bigint[], bigint[]) IS 'Sizes of tables (bytes, without and with indexes) against the server''s memory as a figure. Internal step of ff_report().';
REVOKE ALL ON FUNCTION @extschema@.ff_svg_sizes(text[], bigint[], bigint[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_svg_sizes(text[], bigint[], bigint[]) TO pg_read_all_stats;

-- ---------------------------------------------------------------------------
-- The page
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_report_style() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT $css$
:root { color-scheme: light dark; --page: #fff; --card: #fff; --soft: #f4f6f8; --ink: #1b232c; --muted: #566270; --line: #d9dfe6;
  --hot: #1d5fb8; --band: #1d5fb826; --moved: #ad4e09; --good: #14713f; --warn: #8a5a00; }
@media (prefers-color-scheme: dark) { :root { --page: #12161b; --card: #181d23; --soft: #1f262e; --ink: #e6eaef; --muted: #a0acb9; --line: #343d48;
  --hot: #72b0ff; --band: #72b0ff30; --moved: #f2a863; --good: #5fd39a; --warn: #e8bf62; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.5rem 4rem; max-width: 76rem; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.7rem; margin: 0; letter-spacing: -.01em; }
h2 { font-size: 1.2rem; margin: 2.5rem 0 .7rem; padding-top: .6rem; border-top: 1px solid var(--line); }
h3 { font-size: 1.02rem; margin: 0; overflow-wrap: anywhere; }
p { margin: .4rem 0; max-width: 62rem; }
a { color: var(--hot); text-decoration-thickness: 1px; text-underline-offset: 2px; }
a:focus-visible, summary:focus-visible { outline: 2px solid var(--hot); outline-offset: 2px; }
.sub, figcaption, caption, summary { color: var(--muted); font-size: .86rem; }
dl.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .7rem; margin: 1.3rem 0 0; }
dl.tiles div { background: var(--soft); border-radius: 8px; padding: .6rem .9rem; }
dt { color: var(--muted); font-size: .8rem; }
dd { margin: 0; font-size: 1.3rem; font-weight: 600; font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; margin: .3rem 0 .8rem; font-size: .86rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: .2rem 0 .4rem; caption-side: top; }
th, td { padding: .32rem .6rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
thead th { color: var(--muted); font-weight: 600; vertical-align: bottom; border-bottom: 1.5px solid var(--muted); }
th.n { text-align: right; }
tbody th { font-weight: 600; overflow-wrap: anywhere; min-width: 14.5rem; max-width: 22rem; }
td:last-child { overflow-wrap: anywhere; }
td.n { text-align: right; white-space: nowrap; }
td.t { white-space: nowrap; }
article { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 1rem 1.2rem; margin: 0 0 1.1rem; }
article header { display: flex; flex-wrap: wrap; gap: .4rem .8rem; align-items: baseline; }
.badge { font-size: .78rem; font-weight: 600; border: 1px solid currentColor; border-radius: 99px; padding: .02rem .6rem; white-space: nowrap; color: var(--muted); }
.badge.lower, .badge.raise { color: var(--good); }
.badge.wait { color: var(--warn); }
.facts { color: var(--muted); font-size: .86rem; margin: .1rem 0 0; }
pre { background: var(--soft); border-radius: 6px; padding: .5rem .8rem; margin: .6rem 0; overflow-x: auto; font: .84rem/1.45 ui-monospace, "DejaVu Sans Mono", monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(22rem, 1fr)); gap: .4rem 1.6rem; align-items: start; margin-top: .6rem; }
figure { margin: 0 0 .6rem; }
svg { display: block; width: 100%; height: auto; max-width: 46rem; }
svg text { font: 10.5px system-ui, "DejaVu Sans", sans-serif; fill: var(--muted); }
svg text.mark, svg text.name { fill: var(--ink); }
svg .grid { stroke: var(--line); stroke-width: 1; }
svg .band { fill: var(--band); }
svg path.hot { fill: none; stroke: var(--hot); stroke-width: 2; stroke-linecap: round; }
svg path.moved { fill: none; stroke: var(--moved); stroke-width: 2; stroke-dasharray: 6 3; }
svg path.size { fill: none; stroke: var(--ink); stroke-width: 1.5; }
svg path.wal { fill: none; stroke: var(--moved); stroke-width: 1.5; stroke-dasharray: 5 3; }
svg .bar { fill: var(--hot); }
svg line.now, svg line.change { stroke: var(--muted); stroke-width: 1; stroke-dasharray: 3 3; }
svg line.then { stroke: var(--good); stroke-width: 1; stroke-dasharray: 3 3; }
svg line.ram { stroke: var(--ink); stroke-width: 1.5; }
svg .stem { stroke: var(--line); stroke-width: 2; }
svg circle.now, svg circle.total { fill: var(--card); stroke: var(--ink); stroke-width: 1.8; }
svg circle.heap { fill: var(--hot); }
svg path.then { fill: var(--good); stroke: var(--card); stroke-width: 1; }
.key { display: inline-block; width: 1.5em; height: 0; border-top: 2px solid var(--hot); margin: 0 .3em .25em 0; vertical-align: middle; }
.key.moved, .key.wal { border-top: 2px dashed var(--moved); }
.key.size { border-color: var(--ink); }
.dot { display: inline-block; width: .62em; height: .62em; border-radius: 50%; margin: 0 .35em 0 0; border: 1.5px solid var(--ink); }
.dot.then { border-radius: 1px; transform: rotate(45deg); background: var(--good); border-color: var(--good); }
.dot.heap { background: var(--hot); border-color: var(--hot); }
details { margin: .3rem 0; }
summary { cursor: pointer; }
@media (max-width: 40rem) { body { padding: 1rem .8rem 3rem; } .charts { grid-template-columns: 1fr; } }
@media print { :root { --page: #fff; --card: #fff; --soft: #f4f6f8; --ink: #000; --muted: #444; --line: #bbb; --hot: #1d5fb8; --band: #1d5fb826; --moved: #ad4e09; --good: #14713f; --warn: #8a5a00; }
  body { padding: 0; max-width: none; font-size: 10.5pt; } a { color: inherit; text-decoration: none; }
  .charts { grid-template-columns: 1fr 1fr; } article, figure, tr { break-inside: avoid; } h2, h3 { break-after: avoid; } details { display: none; } .wide { overflow: visible; } thead { display: table-header-group; } }
$css$
$$;
COMMENT ON FUNCTION @extschema@.ff_report_style() IS 'The style sheet of the report. Internal step of ff_report().';
REVOKE ALL ON FUNCTION @extschema@.ff_report_style() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_report_style() TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_report_steps(e @extschema@.ff_table_evidence) RETURNS jsonb
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT jsonb_agg(to_jsonb(m) ORDER BY m.fillfactor DESC)
      FROM @extschema@.ff_model_extra(e) x CROSS JOIN LATERAL @extschema@.ff_model(e, x) m
     WHERE coalesce(e.inserted_width, e.updated_width) > 0
$$;
COMMENT ON FUNCTION @extschema@.ff_report_steps(@extschema@.ff_table_evidence) IS 'The rows of ff_model() for a table as a JSON array; NULL where it was not sampled. Internal step of ff_report().';
REVOKE ALL ON FUNCTION @extschema@.ff_report_steps(@extschema@.ff_table_evidence) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_report_steps(@extschema@.ff_table_evidence) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_report_blockers(relation regclass) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- a statement's first 300 characters say which one it is
    SELECT @extschema@.ff_html_table('Indexes that keep updates from being HOT.', ARRAY['index', 'columns', '#updates/s', '#scans', '#size', 'statements', 'what could be done'],
                string_agg(@extschema@.ff_html_row(ARRAY[coalesce(b.index::text, '-'), array_to_string(b.columns, ', '), @extschema@.ff_number(b.updates_per_s::double precision, 1), b.scans::text, pg_size_pretty(b.index_bytes),
                               (SELECT string_agg(CASE WHEN length(q.query) > 300 THEN left(q.query, 300) || ' ...' ELSE q.query END, '; ') FROM (SELECT * FROM unnest(b.statements) u(query) LIMIT 3) q),
                               concat_ws('. ', b.reason, b.suggestion, b.ddl)]), '' ORDER BY b.updates_per_s DESC NULLS LAST))
      FROM @extschema@.ff_blockers($1) b
     WHERE $1 IS NOT NULL AND b.index IS NOT NULL
$$;
COMMENT ON FUNCTION @extschema@.ff_report_blockers(regclass) IS 'What ff_blockers() says of a table, as an HTML table; NULL where nothing blocks. Internal step of ff_report().';
REVOKE ALL ON FUNCTION @extschema@.ff_report_blockers(regclass) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_report_blockers(regclass) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_report_table(e @extschema@.ff_table_evidence, advised integer, action text, cause text, confidence real, hot_pct real, reason text, ddl text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT format(E'<article id="t%s">\n<header><h3>%s</h3><span class="badge %s">%s</span></header>\n', e.relation::oid, @extschema@.ff_html(n.name::text), action,
                  @extschema@.ff_html(CASE WHEN action IN ('lower', 'raise') THEN format('%s from %s to %s', action, e.fillfactor, advised) ELSE format('%s %s', action, e.fillfactor) END))
           || format(E'<p class="facts">%s</p>\n<p>%s</p>\n',
                @extschema@.ff_html(concat_ws('; ', 'cause: ' || cause, 'confidence ' || confidence, @extschema@.ff_number((e.updated / nullif(e.window_s, 0))::double precision, 1, ' updates/s'),
                     pg_size_pretty(e.heap_bytes) || ' table', pg_size_pretty(e.index_bytes) || format(' in %s indexes', e.indexes),
                     CASE WHEN e.live_rows > 0 THEN 'about ' || round(e.live_rows) || ' rows of ' || round(greatest(e.inserted_width, e.updated_width)) || ' bytes' END)),
                @extschema@.ff_html(reason))
           || coalesce(E'<pre>' || @extschema@.ff_html(ddl) || E'</pre>\n', '')
           || E'<div class="charts">\n'
           || coalesce(@extschema@.ff_svg_curve(s.steps, e.fillfactor, advised, hot_pct), '')
           || coalesce('<div>' || nullif(concat(@extschema@.ff_svg_history(e.rel_id), @extschema@.ff_svg_histogram(e.fill_histogram, e.sampled_at)), '') || E'</div>\n', '')
           || E'</div>\n'
           || coalesce(@extschema@.ff_report_blockers(CASE WHEN cause = 'indexed_column' THEN e.relation END), '')
           || coalesce(E'<details><summary>Every step in numbers</summary>\n'
                || @extschema@.ff_html_table('Prediction for ' || n.name, ARRAY['fillfactor', '#rows per page', '#HOT %', '#from', '#to', '#moved %', '#table', '#WAL per update', '#cost'],
                     (SELECT string_agg(@extschema@.ff_html_row(ARRAY[m.fillfactor || CASE WHEN m.is_current THEN ' now' WHEN m.fillfactor = advised THEN ' advised' ELSE '' END, m.rows_per_page::text,
                                  @extschema@.ff_number(m.hot_pct::double precision, 1), @extschema@.ff_number(m.hot_pct_low::double precision, 1), @extschema@.ff_number(m.hot_pct_high::double precision, 1), @extschema@.ff_number(m.moved_pct::double precision, 1),
                                  pg_size_pretty(m.size_bytes), @extschema@.ff_number(m.wal_bytes_per_update::double precision, 0, ' bytes'), @extschema@.ff_number(m.cost::double precision, 3)]), '' ORDER BY m.fillfactor DESC)
                        FROM jsonb_to_recordset(s.steps) m(fillfactor integer, rows_per_page integer, hot_pct double precision, hot_pct_low double precision, hot_pct_high double precision,
                                                           moved_pct double precision, size_bytes bigint, wal_bytes_per_update double precision, cost double precision, is_current boolean)))
                || E'</details>\n', '')
           || E'</article>\n'
      FROM @extschema@.ff_report_steps(e) s(steps), (SELECT format('%s.%s', e.nspname, e.relname)) n(name)
$$;
COMMENT ON FUNCTION @extschema@.ff_report_table(@extschema@.ff_table_evidence, integer, text, text, real, real, text, text) IS 'One table in detail, as HTML: what ff_advise() says of it, the curve, its history, its pages, what blocks HOT. Internal step of ff_report().';
REVOKE ALL ON FUNCTION @extschema@.ff_report_table(@extschema@.ff_table_evidence, integer, text, text, real, real, text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_report_table(@extschema@.ff_table_evidence, integer, text, text, real, real, text, text) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_report_verified() RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT @extschema@.ff_html_table('Changes that collections noticed, the latest first. WAL per update: change with its 95 % interval.',
                ARRAY['of', 'change', 'seen', 'before', 'after', 'verdict', '#HOT before', '#HOT after', '#WAL per update', 'why'],
                string_agg(@extschema@.ff_html_row(ARRAY[coalesce(v.relation::text, 'the server'), v.change, to_char(v.changed_at, 'YYYY-MM-DD HH24:MI'), v.old_value, v.new_value, v.verdict,
                               @extschema@.ff_number(v.hot_pct_before::double precision, 1, ' %'), @extschema@.ff_number(v.hot_pct_after::double precision, 1, ' %'),
                               @extschema@.ff_number(v.wal_change_pct::double precision, 0, ' %') || format(' (%s to %s)', @extschema@.ff_number(v.wal_change_low::double precision, 0), @extschema@.ff_number(v.wal_change_high::double precision, 0)),
                               concat_ws(' Undo: ', v.reason, v.undo)], NULL, translate(v.verdict, ' ', '-')), '' ORDER BY v.changed_at DESC))
      FROM (SELECT * FROM @extschema@.ff_verify() WHERE changed_at IS NOT NULL ORDER BY changed_at DESC LIMIT 100) v
$$;
COMMENT ON FUNCTION @extschema@.ff_report_verified() IS 'What ff_verify() says of the last hundred changes, as an HTML table; NULL where nothing was changed. Internal step of ff_report().';
REVOKE ALL ON FUNCTION @extschema@.ff_report_verified() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_report_verified() TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_report_limits() RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT E'<ul>\n' || string_agg('<li>' || @extschema@.ff_html(w.words) || E'</li>\n', '' ORDER BY w.place) || E'</ul>\n'
      FROM (SELECT 1, 'Nothing was collected yet: run CALL ff_collect() or ff_schedule().' WHERE NOT EXISTS (SELECT 1 FROM @extschema@.ff_collection)
            UNION ALL
            SELECT 2, CASE WHEN c.ended_at IS NULL THEN 'The last collection did not finish, or is still running.'
                           ELSE format('The last collection read the counters of %s tables, sampled %s, skipped %s that were locked or gone, failed on %s and left %s for the next one.', c.relations, c.sampled, c.skipped, c.failed, c.deferred) END
              FROM (SELECT * FROM @extschema@.ff_collection ORDER BY collection_id DESC LIMIT 1) c
            UNION ALL
            SELECT 3, format('%s collections in which track_counts was off are in the window.', count(*)) FROM @extschema@.ff_collection c WHERE NOT c.track_counts HAVING count(*) > 0
            UNION ALL
            SELECT 4, 'The statistics were reset or the server crashed within the history; no figure spans such an event.' FROM @extschema@.ff_epoch HAVING count(*) > 1
            UNION ALL
            SELECT 5, 'PostgreSQL 15 does not count updates that leave their page; their share is taken from old row versions still in the pages.' WHERE current_setting('server_version_num')::integer < 160000
            UNION ALL
            SELECT 7, 'Indexes are not on this page, because judging them reads their pages: see ff_advise_indexes().'
            UNION ALL
            SELECT 6, 'pg_stat_statements is not installed in this database: statements, their WAL and times are not known.' WHERE NOT EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'pg_stat_statements')) w(place, words)
$$;
COMMENT ON FUNCTION @extschema@.ff_report_limits() IS 'What the report cannot know, and why, as an HTML list; NULL where there is nothing. Internal step of ff_report().';
REVOKE ALL ON FUNCTION @extschema@.ff_report_limits() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_report_limits() TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_report(detailed integer DEFAULT 20) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    a        record;
    e        @extschema@.ff_table_evidence;
    span     record;
    name     text;
    n        integer := 0;
    changes  integer := 0;
    waits    integer := 0;
    skipped  integer := 0;
    passed   integer := 0;
    beyond   integer := 0;
    updated  numeric := 0;
    hot      numeric := 0;
    todo     text[] := '{}';
    cure     text[] := '{}';
    shown    text[] := '{}';
    rest     text[] := '{}';
    left_out text[] := '{}';
    names    text[] := '{}';
    heaps    bigint[] := '{}';
    totals   bigint[] := '{}';
    page     text[];
BEGIN
    IF detailed IS NULL OR detailed < 0 THEN
        RAISE 'number of tables to show in detail must be zero or more' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    FOR a IN
        SELECT r.*, row_number() OVER (ORDER BY r.rank, r.gain DESC NULLS LAST, r.lost DESC NULLS LAST, r.place) AS rank_place,
               row_number() OVER (ORDER BY (r.evidence).heap_bytes + (r.evidence).index_bytes DESC NULLS LAST) AS size_place
          FROM (SELECT m.*, row_number() OVER () AS place, m.updates_per_s * (1 - m.hot_pct / 100) AS lost,
                       CASE WHEN m.action IN ('lower', 'raise') THEN 1
                            WHEN m.cause IN ('page_full', 'batch_update', 'row_growth', 'indexed_column', 'old_snapshot', 'read_mostly', 'too_wide') THEN 2
                            WHEN EXISTS (SELECT 1 FROM @extschema@.ff_change c WHERE c.rel_id = (m.evidence).rel_id AND c.kind = 'fillfactor') THEN 3
                            ELSE 4 END AS rank
                  FROM @extschema@.ff_advise_most(NULL::regclass, detailed) m) r
         ORDER BY rank_place
    LOOP
        e := a.evidence;
        name := format('%s.%s', e.nspname, e.relname);
        n := n + 1;
        updated := updated + coalesce(e.updated, 0);
        hot := hot + coalesce(e.hot_updated, 0);
        IF a.action IN ('lower', 'raise') THEN
            changes := changes + 1;
            todo := todo || @extschema@.ff_html_row(ARRAY[name, a.fillfactor::text, a.recommended_fillfactor::text, a.cause,
                        @extschema@.ff_number(a.hot_pct::double precision, 1, ' %'), @extschema@.ff_number(a.predicted_hot_pct::double precision, 1, ' %'),
                        pg_size_pretty(a.size_bytes), pg_size_pretty(a.predicted_size_bytes), @extschema@.ff_number(a.predicted_wal_pct::double precision, 0, ' %'),
                        @extschema@.ff_number((100 * (1 - 1 / nullif(a.gain, 0)))::double precision, 1, ' %'), @extschema@.ff_number(a.confidence::double precision, 2), CASE WHEN a.needs_rewrite THEN 'yes' ELSE 'no' END],
                        CASE WHEN a.rank_place <= detailed THEN 't' || a.relation::oid END);
        ELSIF a.action = 'wait' THEN
            waits := waits + 1;
        END IF;
        IF a.passed_over THEN
            passed := passed + 1;
        END IF;
        IF a.rank = 2 AND a.action <> 'wait' THEN
            beyond := beyond + 1;
        END IF;
        IF a.rank = 2 AND a.action <> 'wait' AND cardinality(cure) < greatest(detailed, 20) THEN
            cure := cure || @extschema@.ff_html_row(ARRAY[name, a.cause, @extschema@.ff_number(a.updates_per_s::double precision, 1), @extschema@.ff_number(a.hot_pct::double precision, 1, ' %'), @extschema@.ff_number(a.lost::double precision, 1), a.reason],
                        CASE WHEN a.rank_place <= detailed THEN 't' || a.relation::oid END);
        END IF;
        IF a.cause = 'not_examined' THEN
            skipped := skipped + 1;
            left_out := left_out || @extschema@.ff_html_row(ARRAY[name, a.reason]);
        ELSIF a.rank < 4 AND a.rank_place <= detailed THEN
            shown := shown || @extschema@.ff_report_table(e, a.recommended_fillfactor, a.action, a.cause, a.confidence, a.hot_pct, a.reason, a.ddl);
        ELSE
            rest := rest || @extschema@.ff_html_row(ARRAY[name, a.fillfactor::text, a.action, a.cause, @extschema@.ff_number(a.updates_per_s::double precision, 1), @extschema@.ff_number(a.hot_pct::double precision, 1, ' %'),
                        pg_size_pretty(a.size_bytes), a.reason]);
        END IF;
        IF a.size_place <= 15 AND e.heap_bytes > 0 THEN
            names := names || name;
            heaps := heaps || e.heap_bytes;
            totals := totals || (e.heap_bytes + coalesce(e.index_bytes, 0));
        END IF;
    END LOOP;
    SELECT array_agg(s.name ORDER BY s.total DESC), array_agg(s.heap ORDER BY s.total DESC), array_agg(s.total ORDER BY s.total DESC)
      INTO names, heaps, totals FROM unnest(names, heaps, totals) s(name, heap, total);
    SELECT count(*) AS collections, min(c.began_at) AS first, max(c.began_at) AS last INTO span FROM @extschema@.ff_collection c;

    page := ARRAY[
        E'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
        -- belt and braces: nothing is escaped wrongly, and if it were it could do nothing
        E'<meta http-equiv="Content-Security-Policy" content="default-src ''none''; style-src ''unsafe-inline''; img-src data:; base-uri ''none''; form-action ''none''">\n',
        E'<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="referrer" content="no-referrer">\n<link rel="icon" href="data:,">\n',
        format(E'<title>Fillfactor report of %s</title>\n<style>%s</style>\n</head>\n<body>\n', @extschema@.ff_html(current_database()::text), @extschema@.ff_report_style()),
        format(E'<header>\n<h1>Fillfactor report of %s</h1>\n<p class="sub">%s</p>\n', @extschema@.ff_html(current_database()::text),
               @extschema@.ff_html(concat_ws('; ', 'PostgreSQL ' || current_setting('server_version'), 'fillfactor_advisor ' || (SELECT x.extversion FROM pg_extension x WHERE x.extname = 'fillfactor_advisor'),
                   'made at ' || to_char(now(), 'YYYY-MM-DD HH24:MI TZ'),
                   CASE WHEN span.collections = 0 THEN 'nothing collected yet'
                        ELSE format('%s collections from %s to %s', span.collections, to_char(span.first, 'YYYY-MM-DD HH24:MI'), to_char(span.last, 'YYYY-MM-DD HH24:MI')) END))),
        format(E'<dl class="tiles"><div><dt>tables examined</dt><dd>%s</dd></div><div><dt>to change</dt><dd>%s</dd></div><div><dt>not by fillfactor</dt><dd>%s</dd></div><div><dt>to wait for</dt><dd>%s</dd></div><div><dt>updates seen</dt><dd>%s</dd></div><div><dt>of these, HOT</dt><dd>%s</dd></div></dl>\n</header>\n<main>\n',
               n - skipped, changes, beyond, waits, to_char(updated, 'FM999,999,999,999,999'), coalesce(round(100 * hot / nullif(updated, 0), 1) || ' %', '-')),
        @extschema@.ff_html_section('first', 'What to do first',
            coalesce(@extschema@.ff_html_table('The most worthwhile change first. Saved: of the expected cost (time, WAL and size, as weighted in the settings). Rewrite: whether old pages matter, so that the table should be rewritten.',
                         ARRAY['table', '#now', '#new', 'cause', '#HOT', '#predicted', '#table size', '#then', '#WAL per update', '#saved', '#confidence', 'rewrite'], array_to_string(todo, '')),
                     E'<p>No change of a fillfactor is advised.</p>\n')
            || CASE WHEN passed > 0 THEN format(E'<p>Of %s more tables room in their pages may be worth something; the model was asked only for the %s with the most to win. ff_report(%s) asks for all.</p>\n', passed, detailed, detailed + passed) ELSE '' END
            || CASE WHEN changes > 0 THEN E'<p class="sub">ff_script() writes the statements to review, with their undo; ff_verify() says afterwards whether they helped.</p>\n' ELSE '' END),
        @extschema@.ff_html_section('cure', 'Where fillfactor is not the cure',
            @extschema@.ff_html_table('Tables whose updates are not all HOT, for a reason that no other fillfactor cures; the most updates that were not HOT first.'
                || CASE WHEN beyond > cardinality(cure) THEN format(' The first %s of %s.', cardinality(cure), beyond) ELSE '' END,
                ARRAY['table', 'cause', '#updates/s', '#HOT', '#not HOT/s', 'why'], array_to_string(cure, ''))),
        @extschema@.ff_html_section('details', 'Tables in detail', array_to_string(shown, '')),
        @extschema@.ff_html_section('rest', CASE WHEN cardinality(shown) > 0 THEN 'All other tables' ELSE 'All tables' END,
            @extschema@.ff_html_table(format('%s tables.', cardinality(rest)), ARRAY['table', '#fillfactor', 'action', 'cause', '#updates/s', '#HOT', '#size', 'why'], array_to_string(rest, ''))),
        @extschema@.ff_html_section('verified', 'Did it help', coalesce(@extschema@.ff_report_verified(), E'<p>No change of a table''s fillfactor, options or indexes was noticed within the history.</p>\n')),
        @extschema@.ff_html_section('memory', 'Memory and table sizes',
            coalesce(@extschema@.ff_svg_sizes(names, heaps, totals), '')
            || coalesce(@extschema@.ff_html_table('What may hold tables. The larger a table against memory, the more a moved row costs: index leaves must be read.', ARRAY['source', '#size', 'compared with', 'note'],
                   (SELECT string_agg(@extschema@.ff_html_row(ARRAY[m.source, coalesce(pg_size_pretty(m.bytes), '-'), CASE WHEN m.used THEN 'yes' ELSE '' END, m.note]), '') FROM @extschema@.ff_memory() m)), '')),
        @extschema@.ff_html_section('settings', 'Settings',
            coalesce(@extschema@.ff_html_table('Settings of the server that belong to the same problem, see ff_settings() for the statements.', ARRAY['setting', 'of', 'now', 'proposed', 'action', 'evidence', 'why'],
                   (SELECT string_agg(@extschema@.ff_html_row(ARRAY[s.setting, coalesce(s.relation::text, 'the server'), s.current_value, s.proposed_value, s.action, s.evidence, s.reason]), '' ORDER BY s.action = 'leave', s.action, s.setting, s.relation::text)
                      FROM @extschema@.ff_settings() s)), '') ||
            coalesce(@extschema@.ff_html_table('Settings of the advisor, as they are for this session.', ARRAY['setting', 'value', 'meaning'],
                   (SELECT string_agg(@extschema@.ff_html_row(ARRAY[s.name, current_setting(s.name) || CASE WHEN s.setting IS DISTINCT FROM s.boot_val THEN ' (changed)' ELSE '' END, s.short_desc]), '' ORDER BY s.name)
                      FROM pg_settings s WHERE s.name LIKE 'fillfactor_advisor.%')), '')),
        @extschema@.ff_html_section('limits', 'What was not examined, and what is not known',
            coalesce(@extschema@.ff_report_limits(), '')
            || coalesce(@extschema@.ff_html_table('Not examined.', ARRAY['table', 'why'], array_to_string(left_out, '')), '')
            || coalesce(@extschema@.ff_html_table('Could not be sampled the last time.', ARRAY['table', 'times', 'last', 'error'],
                   (SELECT string_agg(@extschema@.ff_html_row(ARRAY[format('%s.%s', r.nspname, r.relname), p.occurrences::text, to_char(p.seen_at, 'YYYY-MM-DD HH24:MI'), p.sqlstate || ' ' || p.message]), '' ORDER BY p.seen_at DESC)
                      FROM @extschema@.ff_problem p JOIN @extschema@.ff_relation r USING (rel_id))), '')),
        @extschema@.ff_html_section('words', 'How to read this',
            E'<p><b>HOT</b>: an update whose new row version finds room in the same page and changes no indexed column; it needs no new index entry. <b>Moved</b>: an update whose version went to another page because its own was full; this is what a lower fillfactor can prevent. <b>Step</b>: only rows per page count, so between two steps of a curve nothing changes. <b>Range</b>: what the model finds plausible given how well it explains the table today. <b>Confidence</b>: how much was seen, and how well the model explains it.</p>\n'),
        E'</main>\n</body>\n</html>\n'];
    RETURN array_to_string(page, '');
END
$$;
COMMENT ON FUNCTION @extschema@.ff_report(integer) IS 'Everything on one HTML page that needs nothing else: what to do first, each table with something to change or to explain (as many as detailed says, the most worthwhile first; the model is asked for these alone) with its predicted curve, history and page fill, all others in short, memory against table sizes, settings, and what was not examined. To write it: psql -XAtqc "SELECT ff_report()" > report.html. Error 22023: detailed is NULL or negative.';
REVOKE ALL ON FUNCTION @extschema@.ff_report(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_report(integer) TO pg_read_all_stats;
-- Stage report, for machines: views whose columns keep their names, cheap
-- enough to be read every minute.  They ask no model and read no page; what
-- is advised is what a collection foretold last (ff_prediction).
-- Ready queries and a dashboard: sql/monitoring.

CREATE VIEW @extschema@.ff_metrics AS
SELECT r.nspname AS schemaname, r.relname, r.fillfactor,
       p.to_fillfactor AS advised_fillfactor, p.predicted_hot_pct / 100 AS predicted_hot_ratio, p.confidence,
       h.updated / nullif(h.seconds, 0) AS updates_per_s,
       h.hot / nullif(h.updated, 0) AS hot_ratio, h.newpage / nullif(h.updated, 0) AS newpage_ratio,
       h.heap_bytes, h.index_bytes,
       s.live_pct / 100 AS live_ratio, s.dead_pct / 100 AS dead_ratio, s.free_pct / 100 AS free_ratio,
       extract(epoch FROM now() - r.sampled_at)::double precision AS sample_age_s,
       extract(epoch FROM now() - r.seen_at)::double precision AS change_age_s
  FROM @extschema@.ff_relation r
  LEFT JOIN LATERAL (
        SELECT sum(i.updated)::double precision AS updated, sum(i.hot_updated)::double precision AS hot,
               CASE WHEN bool_and(i.newpage_updated IS NOT NULL) THEN sum(i.newpage_updated)::double precision END AS newpage,
               extract(epoch FROM max(i.ended_at) - min(i.began_at))::double precision AS seconds,
               (array_agg(i.heap_bytes ORDER BY i.ended_at DESC))[1] AS heap_bytes, (array_agg(i.index_bytes ORDER BY i.ended_at DESC))[1] AS index_bytes
          FROM @extschema@.ff_interval i WHERE i.rel_id = r.rel_id AND i.ended_at > now() - interval '1 hour') h ON true
  LEFT JOIN LATERAL (SELECT * FROM @extschema@.ff_page_sample o WHERE o.rel_id = r.rel_id ORDER BY o.sampled_at DESC LIMIT 1) s ON true
  LEFT JOIN LATERAL (SELECT * FROM @extschema@.ff_prediction o WHERE o.rel_id = r.rel_id ORDER BY o.made_at DESC LIMIT 1) p ON p.from_fillfactor = r.fillfactor
 WHERE r.closed_at IS NULL;
COMMENT ON VIEW @extschema@.ff_metrics IS 'One row a table, for monitoring; columns keep their names. Rates and shares are of the last hour, NULL where it was not written to.';
COMMENT ON COLUMN @extschema@.ff_metrics.schemaname IS 'schema';
COMMENT ON COLUMN @extschema@.ff_metrics.relname IS 'name';
COMMENT ON COLUMN @extschema@.ff_metrics.fillfactor IS 'effective fillfactor, percent';
COMMENT ON COLUMN @extschema@.ff_metrics.advised_fillfactor IS 'fillfactor that was advised last, percent; NULL where none other is';
COMMENT ON COLUMN @extschema@.ff_metrics.predicted_hot_ratio IS 'HOT share foretold at the advised fillfactor, 0 to 1';
COMMENT ON COLUMN @extschema@.ff_metrics.confidence IS 'confidence of that, 0 to 1';
COMMENT ON COLUMN @extschema@.ff_metrics.updates_per_s IS 'rows updated per second';
COMMENT ON COLUMN @extschema@.ff_metrics.hot_ratio IS 'HOT share of the updates, 0 to 1';
COMMENT ON COLUMN @extschema@.ff_metrics.newpage_ratio IS 'share of the updates that left their page, 0 to 1; NULL before PostgreSQL 16';
COMMENT ON COLUMN @extschema@.ff_metrics.heap_bytes IS 'size of the table''s main fork, bytes';
COMMENT ON COLUMN @extschema@.ff_metrics.index_bytes IS 'size of its indexes, bytes';
COMMENT ON COLUMN @extschema@.ff_metrics.live_ratio IS 'share of the table that is live rows, 0 to 1, by the last sample';
COMMENT ON COLUMN @extschema@.ff_metrics.dead_ratio IS 'share of the table that is dead rows, 0 to 1';
COMMENT ON COLUMN @extschema@.ff_metrics.free_ratio IS 'share of the table that is free, 0 to 1';
COMMENT ON COLUMN @extschema@.ff_metrics.sample_age_s IS 'seconds since its pages were sampled';
COMMENT ON COLUMN @extschema@.ff_metrics.change_age_s IS 'seconds since a collection saw a change of it';
REVOKE ALL ON @extschema@.ff_metrics FROM PUBLIC;
GRANT SELECT ON @extschema@.ff_metrics TO pg_read_all_stats;

CREATE VIEW @extschema@.ff_metrics_collection AS
SELECT (SELECT count(*) FROM @extschema@.ff_collection) AS collections,
       extract(epoch FROM now() - c.began_at)::double precision AS collection_age_s,
       extract(epoch FROM c.ended_at - c.began_at)::double precision AS collection_duration_s,
       c.relations, c.changed, c.sampled, c.skipped, c.failed, c.deferred,
       (SELECT count(*) FROM @extschema@.ff_problem) AS problems
  FROM (VALUES (1)) one(row)
  LEFT JOIN (SELECT * FROM @extschema@.ff_collection ORDER BY collection_id DESC LIMIT 1) c ON true;
COMMENT ON VIEW @extschema@.ff_metrics_collection IS 'The last collection on one row, for monitoring; columns keep their names.';
COMMENT ON COLUMN @extschema@.ff_metrics_collection.collections IS 'collections in the history';
COMMENT ON COLUMN @extschema@.ff_metrics_collection.collection_age_s IS 'seconds since the last one began; NULL: none yet';
COMMENT ON COLUMN @extschema@.ff_metrics_collection.collection_duration_s IS 'seconds that it took; NULL: still running, or ended by an error';
COMMENT ON COLUMN @extschema@.ff_metrics_collection.relations IS 'tables whose counters were read';
COMMENT ON COLUMN @extschema@.ff_metrics_collection.changed IS 'tables that had changed';
COMMENT ON COLUMN @extschema@.ff_metrics_collection.sampled IS 'tables whose pages were sampled';
COMMENT ON COLUMN @extschema@.ff_metrics_collection.skipped IS 'tables that were locked or gone';
COMMENT ON COLUMN @extschema@.ff_metrics_collection.failed IS 'tables that raised another error';
COMMENT ON COLUMN @extschema@.ff_metrics_collection.deferred IS 'tables left for the next collection';
COMMENT ON COLUMN @extschema@.ff_metrics_collection.problems IS 'tables that could not be sampled the last time';
REVOKE ALL ON @extschema@.ff_metrics_collection FROM PUBLIC;
GRANT SELECT ON @extschema@.ff_metrics_collection TO pg_read_all_stats;
