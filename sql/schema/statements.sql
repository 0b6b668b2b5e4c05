-- Stage statements: which statements write which table, and how much.

CALL ff_internal.define($$
CREATE TABLE ff_internal.statement_snapshot (
    -- What each collection read from pg_stat_statements, or why nothing.
    collection_id      bigint PRIMARY KEY,
    snapshot_at        timestamptz NOT NULL, -- when the counters were read
    stats_reset        timestamptz,  -- pg_stat_statements_info.stats_reset; no difference crosses it
    evictions          bigint,       -- pg_stat_statements_info.dealloc: evictions so far
    hidden             integer CHECK (hidden >= 0), -- entries of other roles that the collecting role may not see
    left_out           integer CHECK (left_out >= 0), -- statements that write but are not followed
    lost               integer CHECK (lost >= 0), -- entries whose counters were reset, or may have been
    reason             text,         -- why nothing was read; NULL: it was
    texts_reason       text,         -- why texts of new statements could not be read; NULL: they could
    CHECK ((reason IS NULL) = (stats_reset IS NOT NULL))
);
$$);
CREATE INDEX statement_snapshot_snapshot_at ON ff_internal.statement_snapshot (snapshot_at);

CALL ff_internal.define($$
CREATE TABLE ff_internal.statement (
    -- Statements read. A statement is closed when its table is gone; if it returns, it gets a new row.
    statement_id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queryid            bigint NOT NULL, -- pg_stat_statements.queryid
    toplevel           boolean NOT NULL, -- sent by a client, not run inside a function
    kind               text NOT NULL CHECK (kind IN ('write', 'unattributed', 'other')),
        -- write: a table it writes is known; unattributed: none is; other: writes no table, not followed
    text               text CHECK (length(text) <= 4000), -- the first 4000 characters; NULL for kind other
    text_bytes         integer CHECK (text_bytes >= 0), -- length of the whole text
    reason             text,         -- why its text could not be read
    opened_at          timestamptz NOT NULL, -- when it was read
    closed_at          timestamptz   -- when its table was gone, it had not been called for a week, or another took its
        -- place; NULL: followed
);
$$);
CREATE UNIQUE INDEX statement_open ON ff_internal.statement (queryid, toplevel) WHERE closed_at IS NULL;

CALL ff_internal.define($$
CREATE TABLE ff_internal.statement_target (
    -- The tables that a statement writes.
    statement_id  bigint NOT NULL,
    "position"    smallint NOT NULL, -- order in the statement, from 1
    command       text NOT NULL CHECK (command IN ('INSERT', 'UPDATE', 'DELETE', 'COPY')), -- what it does to the table
    how           text NOT NULL CHECK (how IN ('top', 'on_conflict', 'merge', 'cte')),
        -- place in the statement; cte: in a WITH query, whose rows are not counted
    relation_name text NOT NULL,     -- as written
    relid         oid,               -- the table; NULL: see reason
    rel_id        bigint,            -- key in relation; NULL for a partitioned table
    columns       text[],            -- columns that an UPDATE sets, as written
    reason        text,              -- why the table is unknown
    PRIMARY KEY (statement_id, "position"),
    CHECK ((relid IS NULL) = (reason IS NOT NULL))
);
$$);
CREATE INDEX statement_target_relid ON ff_internal.statement_target (relid);

CALL ff_internal.define($$
CREATE TYPE ff_internal.statement_counters AS (
    -- What pg_stat_statements counts for a statement; in an entry, since it was entered.
    calls          bigint,           -- executions
    rows           bigint,           -- rows of the statement itself, without its WITH queries
    total_ms       double precision, -- execution time, milliseconds
    squares        double precision, -- sum of squared execution times, ms^2
    blocks_hit     bigint,           -- shared buffer hits
    blocks_read    bigint,           -- blocks read into shared buffers
    blocks_dirtied bigint,           -- blocks dirtied
    blocks_written bigint,           -- blocks that the statement itself had to write
    write_ms       double precision, -- time for blocks_written, milliseconds; 0 while track_io_timing is off
    wal_records    bigint,           -- WAL records
    wal_fpi        bigint,           -- full-page images in the WAL
    wal_bytes      bigint            -- WAL, bytes
);
$$);

CALL ff_internal.define($$
CREATE TYPE ff_internal.statement_entry AS (
    -- An entry of pg_stat_statements.
    queryid    bigint,               -- hash of the statement
    toplevel   boolean,              -- sent by a client, not run inside a function
    userid     oid,                  -- role that ran it
    entered_at timestamptz,          -- when it was entered; NULL before pg_stat_statements 1.11
    min_ms     double precision,     -- shortest execution, milliseconds
    max_ms     double precision,     -- longest execution, milliseconds
    counted    ff_internal.statement_counters -- its counters
);
$$);

CALL ff_internal.define($$
CREATE TABLE ff_internal.statement_baseline (
    -- The entries of pg_stat_statements at the last snapshot that saw a change.
    statement_id       bigint NOT NULL,
    userid             oid NOT NULL, -- role that ran the statement
    stats_reset        timestamptz NOT NULL, -- as in statement_snapshot
    seen_at            timestamptz NOT NULL, -- time of that snapshot
    entry              ff_internal.statement_entry NOT NULL, -- the entry then
    PRIMARY KEY (statement_id, userid)
) WITH (fillfactor = 70);
$$);

CALL ff_internal.define($$
CREATE TABLE ff_internal.statement_history (
    -- What a statement did between two snapshots, all roles together; no row if it was not called.
    statement_id       bigint NOT NULL,
    began_at           timestamptz NOT NULL, -- the previous snapshot
    ended_at           timestamptz NOT NULL CHECK (ended_at >= began_at), -- the snapshot that wrote it
    epoch_id           integer NOT NULL,
    rollup             smallint NOT NULL DEFAULT 0 CHECK (rollup BETWEEN 0 AND 2), -- 0: one collection; 1: an hour; 2:
        -- a day
    LIKE ff_internal.statement_counters INCLUDING COMMENTS,
    CHECK (calls > 0),
    CHECK (num_nulls(calls, rows, total_ms, squares, blocks_hit, blocks_read, blocks_dirtied, blocks_written,
                     wal_records, wal_fpi, wal_bytes) = 0),
    CHECK (least(rows, total_ms, blocks_hit, blocks_read, blocks_dirtied, blocks_written, write_ms, wal_records,
                 wal_fpi, wal_bytes) >= 0)
);
$$);
CREATE INDEX statement_history_id_ended_at ON ff_internal.statement_history (statement_id, ended_at);
CREATE INDEX statement_history_rollup_ended_at ON ff_internal.statement_history (rollup, ended_at);
