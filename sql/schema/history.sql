-- Stage history: what was seen of every table, when, and in which epoch of the counters. Counters are stored as
-- differences, never as totals, so that nothing can subtract across a reset; relation has the baselines.

CALL ff_internal.define($$
CREATE TABLE ff_internal.epoch (
    -- A span in which cumulative counters only grow; no interval crosses its end.
    epoch_id          integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    system_identifier bigint NOT NULL, -- identifier of the cluster
    database_oid      oid NOT NULL,  -- OID of the database then
    timeline          bigint NOT NULL, -- WAL timeline, changes with a promotion
    server_version    integer NOT NULL, -- server_version_num
    database_reset    timestamptz,   -- pg_stat_database.stats_reset at the last collection; resetting a single table's
        -- counters moves it, too, but ends no epoch
    cluster_reset     timestamptz,   -- pg_stat_bgwriter.stats_reset; moved by a crash
    began_at          timestamptz NOT NULL -- first collection in this epoch
);
$$);

CALL ff_internal.define($$
CREATE TABLE ff_internal.collection (
    -- The calls of ff_collect().
    collection_id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    epoch_id        integer NOT NULL,
    began_at        timestamptz NOT NULL, -- when the counters were read
    ended_at        timestamptz,     -- NULL: running, or ended by an error
    relations       integer NOT NULL CHECK (relations >= 0), -- heap tables whose counters were read
    changed         integer NOT NULL CHECK (changed >= 0), -- tables for which an interval was written
    sampled         integer CHECK (sampled >= 0), -- tables whose pages were sampled
    skipped         integer CHECK (skipped >= 0), -- tables that were locked or gone when their turn came
    failed          integer CHECK (failed >= 0), -- tables that raised another error, see problem
    deferred        integer CHECK (deferred >= 0), -- tables left for the next collection
    track_counts    boolean NOT NULL, -- setting of the collecting session
    open_writers    integer NOT NULL CHECK (open_writers >= 0),
        -- sessions writing since before the previous collection: their updates are not counted yet
    own_inserts     bigint NOT NULL, -- this table's counter of inserted rows; it falls if all counters are reset
    next_xid        xid8,            -- next transaction id
    busy_ms         double precision, -- time spent so far in statements and open transactions by sessions of this
        -- database, milliseconds
    blocks_read     bigint CHECK (blocks_read >= 0), -- blocks of this database read so far
    read_ms         double precision CHECK (read_ms >= 0), -- time for these, milliseconds; NULL: track_io_timing was
        -- off
    blocks_written  bigint CHECK (blocks_written >= 0), -- blocks of relations written so far by the whole server; NULL
        -- before PostgreSQL 16
    write_ms        double precision CHECK (write_ms >= 0), -- time for these, likewise
    read_us         double precision, -- microseconds to read a block, mean over the lookback; NULL: too few were timed
    write_us        double precision -- the same for writing; before PostgreSQL 16 by the statements followed
);
$$);
CREATE INDEX collection_began_at ON ff_internal.collection (began_at);

CALL ff_internal.define($$
CREATE TYPE ff_internal.counters AS (
    -- What the server counts for a table, in a baseline since the last reset.
    inserted        bigint,          -- rows inserted
    updated         bigint,          -- rows updated, rolled-back updates included
    hot_updated     bigint,          -- rows HOT updated
    newpage_updated bigint,          -- rows updated to another page; NULL before PostgreSQL 16
    deleted         bigint,          -- rows deleted
    seq_scans       bigint,          -- sequential scans begun
    index_scans     bigint,          -- scans begun on all of its indexes
    blocks_fetched  bigint,          -- heap pages requested
    blocks_hit      bigint,          -- heap pages found in shared buffers
    vacuums         bigint           -- vacuums, manual and automatic
);
$$);

CALL ff_internal.define($$
CREATE TABLE ff_internal.relation (
    -- A table, followed through renames and restores, as of seen_at, and the baseline of its counters.
    rel_id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- key of the history; never reused
    system_identifier bigint NOT NULL, -- cluster in which relid is valid
    database_oid      oid NOT NULL,  -- database in which relid is valid
    relid             oid NOT NULL,  -- OID of the table
    created_xid       xid NOT NULL,  -- transaction that created the table, see candidate
    nspname           name NOT NULL, -- schema
    relname           name NOT NULL, -- name
    relfilenode       oid NOT NULL,  -- file; a rewrite or TRUNCATE changes it
    reloptions        text[],        -- storage options, as stored
    fillfactor        smallint NOT NULL CHECK (fillfactor BETWEEN 10 AND 100), -- effective, percent
    index_oids        oid[],         -- its valid indexes, sorted; NULL: none
    LIKE ff_internal.counters INCLUDING COMMENTS,
    analyzes          bigint NOT NULL, -- analyzes, manual and automatic
    index_definitions text[],        -- CREATE INDEX statements
    index_keys        bigint[],      -- see index_keys()
    indexed_columns   smallint[],    -- see blocking_columns(); NULL: unknown
    opened_at         timestamptz NOT NULL, -- when it was first seen
    closed_at         timestamptz,   -- when the table was found to be gone; NULL while it exists
    epoch_id          integer NOT NULL, -- epoch of the baseline
    seen_at           timestamptz NOT NULL, -- when the baseline was written, at the last collection that saw a change
    sampled_at        timestamptz,   -- when its pages were last sampled
    changes_since_sample bigint NOT NULL DEFAULT 0 CHECK (changes_since_sample >= 0)
        -- rows inserted, updated and deleted since then; all rows after a rewrite
) WITH (fillfactor = 80);
$$);
CREATE INDEX relation_relid ON ff_internal.relation (relid);
CREATE UNIQUE INDEX relation_open ON ff_internal.relation (system_identifier, database_oid, relid)
    WHERE closed_at IS NULL;

CALL ff_internal.define($$
CREATE TABLE ff_internal.counter_interval (
    -- What a table's counters did between two collections of one epoch; no row if nothing changed.
    rel_id      bigint NOT NULL,
    began_at    timestamptz NOT NULL, -- the previous collection
    ended_at    timestamptz NOT NULL CHECK (ended_at >= began_at), -- the collection that wrote it
    epoch_id    integer NOT NULL,
    rollup      smallint NOT NULL DEFAULT 0 CHECK (rollup BETWEEN 0 AND 2), -- 0: one collection; 1: an hour; 2: a day
    fillfactor  smallint NOT NULL CHECK (fillfactor BETWEEN 10 AND 100), -- effective at the end, percent
    rewritten   boolean NOT NULL,    -- the table got a new file
    LIKE ff_internal.counters INCLUDING COMMENTS,
    heap_bytes  bigint CHECK (heap_bytes >= 0), -- size of the main fork at the end, bytes; NULL: unknown
    index_bytes bigint CHECK (index_bytes >= 0), -- size of all indexes at the end, bytes; NULL: unknown
    CHECK (num_nulls(inserted, updated, hot_updated, deleted, seq_scans, index_scans, blocks_fetched, blocks_hit,
                     vacuums) = 0),
    CHECK (least(inserted, updated, hot_updated, newpage_updated, deleted, seq_scans, index_scans, blocks_fetched,
                 blocks_hit, vacuums) >= 0)
);
$$);
CREATE INDEX counter_interval_rel_id_ended_at ON ff_internal.counter_interval (rel_id, ended_at);
CREATE INDEX counter_interval_rollup_ended_at ON ff_internal.counter_interval (rollup, ended_at);
CREATE INDEX counter_interval_rewritten ON ff_internal.counter_interval (rel_id, ended_at) WHERE rewritten;

CALL ff_internal.define($$
CREATE TABLE ff_internal.page_sample (
    -- What a random sample of a table's pages showed. Rows and versions are estimates for the whole table; _err: half
    -- width of the 95 % interval of the column before, in its unit. Pooled columns include earlier samples, which fade
    -- over fillfactor_advisor.lookback; kept columns are from the last sample that had a value. Histograms are weights
    -- without trailing zeros, NULL if empty.
    rel_id               bigint NOT NULL,
    sampled_at           timestamptz NOT NULL, -- when the sample began
    rollup               smallint NOT NULL DEFAULT 0 CHECK (rollup BETWEEN 0 AND 2), -- 0: every sample; 1: the last of
        -- an hour; 2: the last of a day
    fillfactor           smallint NOT NULL CHECK (fillfactor BETWEEN 10 AND 100), -- effective then, percent
    blocks               bigint NOT NULL, -- size of the main fork, pages
    blocks_read          integer NOT NULL, -- pages read
    blocks_new           integer NOT NULL, -- of these, all-zero; counted as free
    blocks_bad           integer NOT NULL, -- of these, rejected as contradictory; counted as empty
    live_pct             real,       -- live row bytes, percent of the table
    live_pct_err         real,       -- points
    dead_pct             real,       -- dead and recently dead row bytes, percent of the table
    dead_pct_err         real,       -- points
    free_pct             real,       -- free space, percent of the table
    free_pct_err         real,       -- points
    live_rows            double precision, -- live rows
    live_rows_err        real,       -- rows
    dead_rows            double precision, -- dead and recently dead rows
    recently_dead_rows   double precision, -- of these, possibly still visible to a snapshot
    updated_hot_rows     double precision, -- live rows whose newest version is heap-only; a rewrite clears that flag
    updated_nonhot_rows  double precision, -- live rows whose newest version came from a non-HOT update
    superseded_hot       double precision, -- old versions with a heap-only successor; pooled since the last change of
        -- fillfactor or indexes; only its ratio to the next two counts
    superseded_same_page double precision, -- with a successor in the same page, not heap-only: an indexed column
        -- changed
    superseded_newpage   double precision, -- with a successor in another page: the page was full
    rows_per_page        real,       -- live rows on a page that holds any, mean
    rows_per_page_max    real,       -- most live rows seen on a page
    inserted_width       real,       -- mean length of rows never updated, bytes with header, not aligned; kept
    updated_width        real,       -- the same for rows updated since insert; kept
    updated_pct          real,       -- live rows updated since insert, percent of live rows
    update_group_rows    real,       -- rows of a page that one transaction updated, median over these rows; kept
    fill_histogram       integer[],  -- pages read by used share, ten bins from 0 to 100 %; not scaled to the table
    inserted_lengths     real[],     -- MAXALIGNed lengths of rows never updated: up to 16 pairs of bytes and rows,
        -- ascending; neighbours are merged to their mean; pooled
    updated_lengths      real[],     -- the same for rows updated since insert; pooled
    group_old_page       real[],     -- updated rows by how many rows of their page the same transaction updated: 1, 2,
        -- 3-4, 5-8, ..., 129-256, more; pooled
    group_new_page       real[],     -- the same on pages that one update filled with rows of other pages; pooled
    update_distances     real[],     -- updated rows by transactions between the inserts of their page and their newest
        -- version; bin i: 2^i to below 2^(i+1), the first includes 0; pooled
    update_ages          real[]      -- updated rows by transactions since their newest version, same bins
);
$$);
CREATE INDEX page_sample_rel_id_sampled_at ON ff_internal.page_sample (rel_id, sampled_at);
CREATE INDEX page_sample_rollup_sampled_at ON ff_internal.page_sample (rollup, sampled_at);

CALL ff_internal.define($$
CREATE TABLE ff_internal.change (
    -- Changes of a table's fillfactor, other storage options and indexes, one row per kind.
    change_id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    rel_id          bigint NOT NULL,
    kind            text NOT NULL CHECK (kind IN ('fillfactor', 'indexes', 'options')),
        -- fillfactor: the effective one; options: another storage option; indexes: one was dropped or became valid
    before_at       timestamptz NOT NULL, -- last collection that saw the old state
    seen_at         timestamptz NOT NULL CHECK (seen_at >= before_at), -- the first that saw the new state
    epoch_id        integer NOT NULL, -- epoch of seen_at
    old_fillfactor  smallint NOT NULL CHECK (old_fillfactor BETWEEN 10 AND 100), -- effective, percent
    new_fillfactor  smallint NOT NULL CHECK (new_fillfactor BETWEEN 10 AND 100), -- effective, percent
    old_options     text[],          -- storage options, as stored
    new_options     text[],          -- storage options, as stored
    dropped_indexes text[],          -- statements that recreate the dropped indexes; NULL: none
    created_indexes text[],          -- statements that made the new indexes; NULL: none
    indexed_columns smallint[]       -- columns in blocking_columns() only before or only after; NULL: unknown
);
$$);
CREATE INDEX change_rel_id_seen_at ON ff_internal.change (rel_id, seen_at);

CALL ff_internal.define($$
CREATE TABLE ff_internal.prediction (
    -- What advice to change a fillfactor predicted (renewed if it moved, or daily), and the outcome once followed.
    rel_id               bigint NOT NULL,
    made_at              timestamptz NOT NULL, -- when the model was asked
    from_fillfactor      smallint NOT NULL CHECK (from_fillfactor BETWEEN 10 AND 100), -- effective then, percent
    to_fillfactor        smallint NOT NULL CHECK (to_fillfactor BETWEEN 10 AND 100), -- advised fillfactor, percent
    predicted_hot_pct    double precision, -- predicted HOT share, percent; NULL: the model gave none
    predicted_hot_low    double precision, -- lower end of its range, percent
    predicted_hot_high   double precision, -- upper end of its range, percent
    wal_bytes_saved      double precision, -- predicted WAL saving per row updated, bytes; negative: more
    size_bytes           bigint,     -- size of the main fork then, bytes
    predicted_size_bytes bigint,     -- predicted size of the main fork, bytes
    judged_at            timestamptz, -- when the change was last judged; NULL: not made, or too early
    verdict              text CHECK (verdict IN ('helped', 'no difference', 'hurt')), -- of ff_verify()
    achieved_hot_pct     double precision, -- HOT share after the change, percent
    PRIMARY KEY (rel_id, made_at),
    CHECK (from_fillfactor <> to_fillfactor)
);
$$);

CALL ff_internal.define($$
CREATE TABLE ff_internal.setting_history (
    -- Server settings that ff_verify() judges: the first value, and each change.
    setting   text NOT NULL,         -- name
    seen_at   timestamptz NOT NULL,  -- the collection that first saw the value
    before_at timestamptz,           -- the last collection that saw another value; NULL: the first row
    value     text,                  -- value for new sessions of the collecting role
    unit      text,                  -- as in pg_settings; NULL: none
    PRIMARY KEY (setting, seen_at)
);
$$);

CALL ff_internal.define($$
CREATE TABLE ff_internal.problem (
    -- Why a table could not be sampled; deleted when a sample succeeds.
    rel_id      bigint PRIMARY KEY,
    seen_at     timestamptz NOT NULL, -- last time
    occurrences integer NOT NULL CHECK (occurrences > 0), -- consecutive failures
    sqlstate    text NOT NULL CHECK (sqlstate ~ '^[0-9A-Z]{5}$'), -- SQLSTATE of the error
    message     text NOT NULL        -- its message
);
$$);

CALL ff_internal.define($$
CREATE TABLE ff_internal.excluded (
    -- Tables left out, see ff_exclude().
    pattern      text PRIMARY KEY CHECK (strpos(pattern, '.') > 1), -- SCHEMA.TABLE, unquoted, with * and ?
    since        timestamptz NOT NULL, -- when it was added
    like_pattern text NOT NULL GENERATED ALWAYS AS (replace(replace(replace(replace(replace( -- the same for LIKE
                     pattern, E'\\', E'\\\\'), '%', E'\\%'), '_', E'\\_'), '*', '%'), '?', '_')) STORED
);
$$);

CREATE VIEW ff_internal.candidate AS
SELECT c.oid AS relid,
       -- No command updates the pg_depend row that ties a row type to its table, and it is dropped with the table.
       -- ALTER TABLE updates the rows in pg_class and pg_type, GRANT those in pg_attribute, even of system columns.
       (SELECT d.xmin FROM pg_depend d
         WHERE d.classid = 'pg_type'::regclass AND d.objid = c.reltype AND d.objsubid = 0
           AND d.refclassid = 'pg_class'::regclass AND d.refobjid = c.oid AND d.deptype = 'i') AS created_xid,
       n.nspname, c.relname,
       -- no mapped relation is included, so this is the file
       c.relfilenode, c.reloptions, c.reltuples,
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
'Tables outside the system schemas. not_examined: why a table is not examined; NULL: it is. created_xid: transaction '
'that created the table; distinguishes it from a later table with the same OID.';
