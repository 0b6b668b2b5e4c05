-- What was seen of every table, when, and in which epoch of the counters. Counters are stored as differences, so that
-- nothing can subtract across a reset; relation has the baselines.

CALL ff_internal.define($$
CREATE TABLE ff_internal.epoch (
    -- A span in which cumulative counters only grow; no interval crosses its end.
    epoch_id          integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    system_identifier bigint NOT NULL, -- the cluster
    database_oid      oid NOT NULL,  -- the database
    timeline          bigint NOT NULL, -- changes with a promotion
    server_version    integer NOT NULL, -- server_version_num
    database_reset    timestamptz,   -- pg_stat_database.stats_reset; a single table's reset moves it but ends no epoch
    cluster_reset     timestamptz,   -- pg_stat_bgwriter.stats_reset; moved by a crash
    began_at          timestamptz NOT NULL, -- its first collection
    history_oid       oid NOT NULL   -- this table's OID then; another one after a restore into the same database
);
$$);

CALL ff_internal.define($$
CREATE TABLE ff_internal.collection (
    -- The calls of ff_collect().
    collection_id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    epoch_id        integer NOT NULL,
    began_at        timestamptz NOT NULL, -- when the counters were read
    ended_at        timestamptz,     -- NULL: running, or failed
    relations       integer NOT NULL CHECK (relations >= 0), -- tables read
    changed         integer NOT NULL CHECK (changed >= 0), -- intervals written
    sampled         integer CHECK (sampled >= 0), -- tables sampled
    skipped         integer CHECK (skipped >= 0), -- tables that were locked or gone
    failed          integer CHECK (failed >= 0), -- tables that raised another error, see problem
    deferred        integer CHECK (deferred >= 0), -- tables left for the next collection
    track_counts    boolean NOT NULL, -- the setting
    open_writers    integer NOT NULL CHECK (open_writers >= 0), -- sessions whose updates are not counted yet
    own_inserts     bigint NOT NULL, -- this table's counter of inserted rows, see current_epoch()
    next_xid        xid8,            -- next transaction id
    busy_ms         float8,          -- time in statements and open transactions so far, milliseconds
    blocks_read     bigint CHECK (blocks_read >= 0), -- blocks of this database read so far
    read_ms         float8 CHECK (read_ms >= 0), -- time for these, milliseconds; NULL: track_io_timing was off
    read_us         float8           -- to read a block, microseconds, over the lookback; NULL: too few were timed
);
$$);
CREATE INDEX collection_began_at ON ff_internal.collection (began_at);
CREATE INDEX collection_uncounted ON ff_internal.collection (began_at) WHERE NOT track_counts;
-- both for scans_counted_since(), which asks once an index
CREATE INDEX collection_epoch_id_next_xid ON ff_internal.collection (epoch_id, next_xid);

CALL ff_internal.define($$
CREATE TYPE ff_internal.counters AS (
    -- What the server counts for a table; in a baseline, since the last reset.
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
    rel_id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- key of the history
    system_identifier bigint NOT NULL, -- where relid is valid
    database_oid      oid NOT NULL,  -- where relid is valid
    relid             oid NOT NULL,  -- the table
    created_xid       xid NOT NULL,  -- transaction that created it, see user_table
    nspname           name NOT NULL, -- schema
    relname           name NOT NULL, -- name
    relfilenode       oid NOT NULL,  -- file; a rewrite or TRUNCATE changes it
    reloptions        text[],        -- storage options, as stored
    fillfactor        smallint NOT NULL CHECK (fillfactor BETWEEN 10 AND 100), -- effective, percent
    index_oids        oid[],         -- its valid indexes; NULL: none
    analyzes          bigint NOT NULL, -- analyzes, manual and automatic
    reset_at          timestamptz,   -- of its counters, see counters()
    index_definitions text[],        -- CREATE INDEX statements
    indexed_columns   smallint[],    -- see blocking_columns(); NULL: unknown
    opened_at         timestamptz NOT NULL, -- when it was first seen
    closed_at         timestamptz,   -- when it was found to be gone
    epoch_id          integer NOT NULL, -- epoch of the baseline
    seen_at           timestamptz NOT NULL, -- when the baseline was written
    sampled_at        timestamptz,   -- when its pages were last sampled
    changes_since_sample bigint NOT NULL DEFAULT 0 CHECK (changes_since_sample >= 0), -- rows; all after a rewrite
    LIKE ff_internal.counters INCLUDING COMMENTS
) WITH (fillfactor = 80);
$$);
CREATE INDEX relation_relid ON ff_internal.relation (relid);
CREATE UNIQUE INDEX relation_open ON ff_internal.relation (system_identifier, database_oid, relid)
    WHERE closed_at IS NULL;

CALL ff_internal.define($$
CREATE TABLE ff_internal.counter_interval (
    -- What a table's counters did between two collections of one epoch, if anything.
    rel_id      bigint NOT NULL,
    began_at    timestamptz NOT NULL, -- the previous collection, or when the table was made
    ended_at    timestamptz NOT NULL CHECK (ended_at >= began_at), -- the collection that wrote it
    epoch_id    integer NOT NULL,
    rollup      smallint NOT NULL DEFAULT 0 CHECK (rollup BETWEEN 0 AND 2), -- 0: one collection; 1: an hour; 2: a day
    fillfactor  smallint NOT NULL CHECK (fillfactor BETWEEN 10 AND 100), -- at the end, percent
    rewritten   boolean NOT NULL,    -- the table got a new file
    heap_bytes  bigint CHECK (heap_bytes >= 0), -- main fork at the end, bytes
    index_bytes bigint CHECK (index_bytes >= 0), -- all indexes at the end, bytes
    LIKE ff_internal.counters INCLUDING COMMENTS
);
$$);
CREATE INDEX counter_interval_rel_id_ended_at ON ff_internal.counter_interval (rel_id, ended_at);
CREATE INDEX counter_interval_rollup_ended_at ON ff_internal.counter_interval (rollup, ended_at);
CREATE INDEX counter_interval_rewritten ON ff_internal.counter_interval (rel_id, ended_at) WHERE rewritten;

CALL ff_internal.define($$
CREATE TABLE ff_internal.change (
    -- Changes of a table's fillfactor, other storage options and indexes, a row per kind.
    change_id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    rel_id          bigint NOT NULL,
    kind            text NOT NULL CHECK (kind IN ('fillfactor', 'indexes', 'options')), -- options: others
    before_at       timestamptz NOT NULL, -- last seen before
    seen_at         timestamptz NOT NULL CHECK (seen_at >= before_at), -- first seen
    epoch_id        integer NOT NULL,
    old_fillfactor  smallint NOT NULL CHECK (old_fillfactor BETWEEN 10 AND 100), -- effective, percent
    new_fillfactor  smallint NOT NULL CHECK (new_fillfactor BETWEEN 10 AND 100), -- effective, percent
    old_options     text[],          -- as stored
    new_options     text[],          -- as stored
    dropped_indexes text[],          -- definitions; NULL: none
    created_indexes text[],          -- definitions; NULL: none
    reindexed_columns smallint[],    -- blocking_columns() only before or only after; NULL: unknown
    judged_at       timestamptz,     -- when a collection last judged it; NULL: not yet
    verdict         text CHECK (verdict IN ('helped', 'no difference', 'hurt')), -- then; NULL: too early
    told            text CHECK (told IN ('helped', 'no difference', 'hurt')) -- verdict last noted in advice_event
);
$$);
CREATE INDEX change_rel_id_seen_at ON ff_internal.change (rel_id, seen_at);

CALL ff_internal.define($$
CREATE TABLE ff_internal.setting_history (
    -- Server settings that ff_verify() judges: the first value, and each change.
    setting   text NOT NULL,         -- name
    seen_at   timestamptz NOT NULL,  -- first seen
    before_at timestamptz,           -- last seen with another value; NULL: the first row
    value     text,                  -- for new sessions
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
    like_pattern text NOT NULL GENERATED ALWAYS AS (replace(replace(replace(replace(replace( -- the same for LIKE
                     pattern, E'\\', E'\\\\'), '%', E'\\%'), '_', E'\\_'), '*', '%'), '?', '_')) STORED
);
$$);

-- Which statements write which table, and how much.

CALL ff_internal.define($$
CREATE TABLE ff_internal.statement_snapshot (
    -- What each collection read from pg_stat_statements, or why nothing.
    collection_id      bigint PRIMARY KEY,
    snapshot_at        timestamptz NOT NULL, -- when it was read
    stats_reset        timestamptz,  -- pg_stat_statements_info.stats_reset
    evictions          bigint,       -- so far: pg_stat_statements_info.dealloc
    hidden             integer CHECK (hidden >= 0), -- entries of other roles
    left_out           integer CHECK (left_out >= 0), -- statements not followed
    reason             text,         -- why nothing was read
    texts_reason       text,         -- why texts of new statements could not be read
    CHECK ((reason IS NULL) = (stats_reset IS NOT NULL))
);
$$);
CREATE INDEX statement_snapshot_snapshot_at ON ff_internal.statement_snapshot (snapshot_at);

CALL ff_internal.define($$
CREATE TABLE ff_internal.statement (
    -- Statements read. A closed one that returns gets a new row.
    statement_id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queryid            bigint NOT NULL, -- pg_stat_statements.queryid
    toplevel           boolean NOT NULL, -- sent by a client, not run inside a function
    kind               text NOT NULL CHECK (kind IN ('write', 'unattributed', 'other')),
        -- unattributed: no table that it writes is known; other: writes none, not followed
    text               text CHECK (length(text) <= 4000), -- constants as ?; other: NULL
    reason             text,         -- why its text could not be read
    opened_at          timestamptz NOT NULL, -- when it was read
    closed_at          timestamptz   -- see close_statements(), admit_statements(); NULL: followed
);
$$);
CREATE UNIQUE INDEX statement_open ON ff_internal.statement (queryid, toplevel) WHERE closed_at IS NULL;

CALL ff_internal.define($$
CREATE TABLE ff_internal.statement_target (
    -- The tables that a statement writes.
    statement_id  bigint NOT NULL,
    "position"    integer NOT NULL, -- in the statement, from 1
    command       text NOT NULL CHECK (command IN ('INSERT', 'UPDATE', 'DELETE', 'COPY')), -- to the table
    how           text NOT NULL CHECK (how IN ('top', 'on_conflict', 'merge', 'cte')), -- place in the statement
    relation_name text NOT NULL,     -- as written
    relid         oid,               -- the table; NULL: see reason
    rel_id        bigint,            -- key in relation; NULL for a partitioned table
    columns       text[],            -- columns that an UPDATE changes, not those set to what they are
    computed      text[],            -- of these, those set to more than a given value, which may be what they are
    shared        boolean NOT NULL DEFAULT false, -- may be any table of that name with these columns
    reason        text,              -- why the table is unknown
    PRIMARY KEY (statement_id, "position"),
    CHECK ((relid IS NULL) = (reason IS NOT NULL))
);
$$);
CREATE INDEX statement_target_relid ON ff_internal.statement_target (relid);
CREATE INDEX statement_target_shared ON ff_internal.statement_target (relation_name) WHERE shared;

CALL ff_internal.define($$
CREATE TYPE ff_internal.named_part AS (
    -- The part (0 to 1) of what statements to a name without a schema did that a table of the name counts.
    relid    oid,                    -- the table
    columns  text[],                 -- statement_target.columns
    inserted float8,                 -- of INSERT and COPY
    updated  float8,                 -- of UPDATE
    deleted  float8                  -- of DELETE
);
$$);

CALL ff_internal.define($$
CREATE TYPE ff_internal.statement_counters AS (
    -- What pg_stat_statements counts for a statement.
    calls          bigint,           -- executions
    rows           bigint,           -- rows, without those of WITH queries
    total_ms       float8,           -- execution time, milliseconds
    squares        float8,           -- sum of squared execution times, ms^2
    blocks_hit     bigint,           -- shared buffer hits
    blocks_read    bigint,           -- blocks read into shared buffers
    blocks_dirtied bigint,           -- blocks dirtied
    wal_records    bigint,           -- WAL records
    wal_fpi        bigint,           -- full-page images in the WAL
    wal_bytes      bigint            -- WAL, bytes
);
$$);

CALL ff_internal.define($$
CREATE TYPE ff_internal.statement_entry AS (
    -- An entry of pg_stat_statements.
    queryid    bigint,
    toplevel   boolean,
    userid     oid,
    entered_at timestamptz,          -- when it was entered; NULL before pg_stat_statements 1.11
    min_ms     float8,
    max_ms     float8,
    counted    ff_internal.statement_counters
);
$$);

CALL ff_internal.define($$
CREATE TABLE ff_internal.statement_baseline (
    -- Entries of pg_stat_statements when they last changed.
    statement_id       bigint NOT NULL,
    userid             oid NOT NULL, -- its role
    stats_reset        timestamptz NOT NULL, -- as in statement_snapshot
    seen_at            timestamptz NOT NULL, -- that snapshot
    entry              ff_internal.statement_entry NOT NULL, -- the entry then
    PRIMARY KEY (statement_id, userid)
) WITH (fillfactor = 70);
$$);

CALL ff_internal.define($$
CREATE TABLE ff_internal.statement_history (
    -- What a statement did between two snapshots, if it was called.
    statement_id       bigint NOT NULL,
    began_at           timestamptz NOT NULL, -- the previous snapshot
    ended_at           timestamptz NOT NULL CHECK (ended_at >= began_at), -- the snapshot that wrote it
    epoch_id           integer NOT NULL,
    rollup             smallint NOT NULL DEFAULT 0 CHECK (rollup BETWEEN 0 AND 2), -- as in counter_interval
    LIKE ff_internal.statement_counters INCLUDING COMMENTS,
    CHECK (calls > 0)
);
$$);
DO $$
BEGIN
    EXECUTE format('ALTER TABLE ff_internal.counter_interval ADD CHECK (least(%s) >= 0)',
                   ff_internal.column_list('ff_internal.counters'));
    EXECUTE format('ALTER TABLE ff_internal.statement_history ADD CHECK (num_nulls(%1$s) = 0 AND least(%1$s) >= 0)',
                   ff_internal.column_list('ff_internal.statement_counters'));
END
$$;
CREATE INDEX statement_history_id_ended_at ON ff_internal.statement_history (statement_id, ended_at);
CREATE INDEX statement_history_rollup_ended_at ON ff_internal.statement_history (rollup, ended_at);

-- What held back pruning, and for how long.

CALL ff_internal.define($$
CREATE TABLE ff_internal.horizon_history (
    -- What held back pruning for longer than fillfactor_advisor.snapshot_age, one row per holder and start.
    kind          text NOT NULL,     -- kind of holder, as last seen
    holder        text NOT NULL,     -- process, gid or slot
    role_name     name,              -- its role
    application   text,              -- application_name, or the slot's plugin
    since         timestamptz NOT NULL, -- start of its transaction; of a slot: first seen
    last_seen_at  timestamptz NOT NULL, -- last collection that saw it
    xids          bigint NOT NULL,   -- transactions begun after its snapshot, most
    doing         text,              -- see horizon_holders()
    PRIMARY KEY (holder, since),
    CHECK (kind IN ('transaction', 'idle in transaction', 'prepared transaction', 'replication slot',
                    'standby feedback'))
) WITH (fillfactor = 70);
$$);
CREATE INDEX horizon_history_last_seen_at ON ff_internal.horizon_history (last_seen_at);
