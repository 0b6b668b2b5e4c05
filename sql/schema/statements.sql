-- Tables of the stage statements: which statements write which table, and how much.

CREATE TABLE ff_internal.statement_epoch (
    statement_epoch_id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    system_identifier  bigint NOT NULL,
    database_oid       oid NOT NULL,
    server_version     integer NOT NULL,
    stats_reset        timestamptz,
    began_at           timestamptz NOT NULL
);
COMMENT ON TABLE ff_internal.statement_epoch IS
'A span in which the counters of pg_stat_statements only grow, but for entries evicted or reset one by one. It has '
'its own resets, apart from epoch.';
COMMENT ON COLUMN ff_internal.statement_epoch.system_identifier IS 'identifier of the cluster';
COMMENT ON COLUMN ff_internal.statement_epoch.database_oid IS 'OID of the database at that time';
COMMENT ON COLUMN ff_internal.statement_epoch.server_version IS
'server_version_num without the minor version: query identifiers hold within it';
COMMENT ON COLUMN ff_internal.statement_epoch.stats_reset IS
'pg_stat_statements_info.stats_reset: moves with every reset and with a crash';
COMMENT ON COLUMN ff_internal.statement_epoch.began_at IS 'first look in this epoch';

CREATE TABLE ff_internal.statement_snapshot (
    collection_id      bigint PRIMARY KEY,
    snapshot_at          timestamptz NOT NULL,
    statement_epoch_id integer,
    evictions          bigint,
    entries            integer CHECK (entries >= 0),
    hidden             integer CHECK (hidden >= 0),
    tracked            integer CHECK (tracked >= 0),
    admitted           integer CHECK (admitted >= 0),
    left_out           integer CHECK (left_out >= 0),
    lost               integer CHECK (lost >= 0),
    reason             text,
    texts_reason       text,
    CHECK ((reason IS NULL) = (statement_epoch_id IS NOT NULL))
);
CREATE INDEX statement_snapshot_snapshot_at ON ff_internal.statement_snapshot (snapshot_at);
COMMENT ON TABLE ff_internal.statement_snapshot IS
'One row for each collection: what was read of pg_stat_statements, or why nothing was.';
COMMENT ON COLUMN ff_internal.statement_snapshot.snapshot_at IS 'when the counters were read';
COMMENT ON COLUMN ff_internal.statement_snapshot.evictions IS
'pg_stat_statements_info.dealloc, cumulative: how often entries were evicted';
COMMENT ON COLUMN ff_internal.statement_snapshot.entries IS 'entries of this database';
COMMENT ON COLUMN ff_internal.statement_snapshot.hidden IS
'of these, other roles'' entries that the collecting role may not see';
COMMENT ON COLUMN ff_internal.statement_snapshot.tracked IS 'statements followed that were among them';
COMMENT ON COLUMN ff_internal.statement_snapshot.admitted IS 'statements read for the first time';
COMMENT ON COLUMN ff_internal.statement_snapshot.left_out IS
'statements that write but are beyond fillfactor_advisor.statements';
COMMENT ON COLUMN ff_internal.statement_snapshot.lost IS
'entries that were evicted and entered again, or reset, or may have been: their interval is lost';
COMMENT ON COLUMN ff_internal.statement_snapshot.reason IS 'why nothing was read; NULL where it was';
COMMENT ON COLUMN ff_internal.statement_snapshot.texts_reason IS
'why texts of new statements could not be read; these are left out and asked for again; NULL where they could, or '
'there were none';

CREATE TABLE ff_internal.statement (
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
CREATE UNIQUE INDEX statement_open ON ff_internal.statement (queryid, toplevel) WHERE closed_at IS NULL;
COMMENT ON TABLE ff_internal.statement IS
'Statements read, each once. A statement whose table is gone is closed; should it come back, that is a new row.';
COMMENT ON COLUMN ff_internal.statement.queryid IS 'pg_stat_statements.queryid';
COMMENT ON COLUMN ff_internal.statement.toplevel IS 'sent by a client, not run inside a function';
COMMENT ON COLUMN ff_internal.statement.kind IS
'write: at least one table it writes is known; unattributed: none is, see reason; other: writes no table, not followed';
COMMENT ON COLUMN ff_internal.statement.text IS
'its text as first seen, the first 4000 characters; NULL for kind other and where there was none';
COMMENT ON COLUMN ff_internal.statement.text_bytes IS 'length of the whole text, bytes';
COMMENT ON COLUMN ff_internal.statement.text_hash IS 'SHA-256 of the whole text';
COMMENT ON COLUMN ff_internal.statement.reason IS 'why its text could not be read';
COMMENT ON COLUMN ff_internal.statement.statement_epoch_id IS 'epoch in which it was read';
COMMENT ON COLUMN ff_internal.statement.opened_at IS 'when it was read';
COMMENT ON COLUMN ff_internal.statement.closed_at IS
'when its table was found gone, or it had not been called for a week, or was evicted and another called more often; '
'NULL: followed';

CREATE TABLE ff_internal.statement_target (
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
CREATE INDEX statement_target_relid ON ff_internal.statement_target (relid);
COMMENT ON TABLE ff_internal.statement_target IS 'The tables a statement writes.';
COMMENT ON COLUMN ff_internal.statement_target."position" IS 'order in the statement, from 1';
COMMENT ON COLUMN ff_internal.statement_target.command IS 'what it does to this table';
COMMENT ON COLUMN ff_internal.statement_target.how IS
'where in the statement: top, on_conflict (DO UPDATE), merge, cte (in a WITH; its rows are not in the statement''s '
'row count)';
COMMENT ON COLUMN ff_internal.statement_target.schema_name IS 'schema as written; NULL: none';
COMMENT ON COLUMN ff_internal.statement_target.relation_name IS 'table as written';
COMMENT ON COLUMN ff_internal.statement_target.relid IS 'OID of the table meant; NULL: see reason';
COMMENT ON COLUMN ff_internal.statement_target.rel_id IS
'key in relation; NULL for a partitioned table, which holds no rows itself';
COMMENT ON COLUMN ff_internal.statement_target.columns IS 'columns that an UPDATE sets, as written';
COMMENT ON COLUMN ff_internal.statement_target.reason IS 'why the table is not known';

CREATE TYPE ff_internal.statement_entry AS (
    queryid bigint, toplevel boolean, userid oid, entered_at timestamptz, calls bigint, rows bigint,
    total_ms double precision, stddev_ms double precision, min_ms double precision, max_ms double precision,
    blocks_hit bigint, blocks_read bigint, blocks_dirtied bigint, blocks_written bigint,
    read_ms double precision, write_ms double precision, wal_records bigint, wal_fpi bigint, wal_bytes numeric
);
COMMENT ON TYPE ff_internal.statement_entry IS
'An entry of pg_stat_statements, cumulative. entered_at: stats_since, NULL before version 1.11 of it; total_ms to '
'max_ms: execution time, milliseconds; read_ms, write_ms: time for blocks_read and blocks_written, milliseconds; '
'wal_fpi: full-page images.';

CREATE TABLE ff_internal.statement_baseline (
    statement_id       bigint NOT NULL,
    userid             oid NOT NULL,
    statement_epoch_id integer NOT NULL,
    seen_at            timestamptz NOT NULL,
    entry              ff_internal.statement_entry NOT NULL,
    PRIMARY KEY (statement_id, userid)
) WITH (fillfactor = 70);
COMMENT ON TABLE ff_internal.statement_baseline IS
'The entries of pg_stat_statements at the last snapshot that found them changed; one row a statement and role.';
COMMENT ON COLUMN ff_internal.statement_baseline.userid IS 'role that ran the statement';
COMMENT ON COLUMN ff_internal.statement_baseline.seen_at IS 'that snapshot';
COMMENT ON COLUMN ff_internal.statement_baseline.entry IS 'its counters then';

CREATE TYPE ff_internal.statement_difference AS (
    statement_id bigint, now ff_internal.statement_entry, was ff_internal.statement_entry, same boolean, fresh boolean,
    lost boolean
);
COMMENT ON TYPE ff_internal.statement_difference IS
'An entry of a statement followed (now) and its baseline (was). same: the baseline is of the same entry; fresh: '
'entered since the snapshot before; lost: neither, so that what it did is not known.';

CREATE TABLE ff_internal.statement_history (
    statement_id       bigint NOT NULL,
    began_at           timestamptz NOT NULL,
    ended_at           timestamptz NOT NULL,
    statement_epoch_id integer NOT NULL,
    rollup              smallint NOT NULL DEFAULT 0 CHECK (rollup BETWEEN 0 AND 2),
    calls              bigint NOT NULL CHECK (calls > 0),
    rows               bigint NOT NULL CHECK (rows >= 0),
    total_ms           double precision NOT NULL CHECK (total_ms >= 0),
    stddev_ms          double precision NOT NULL CHECK (stddev_ms >= 0),
    blocks_hit         bigint NOT NULL CHECK (blocks_hit >= 0),
    blocks_read        bigint NOT NULL CHECK (blocks_read >= 0),
    blocks_dirtied     bigint NOT NULL CHECK (blocks_dirtied >= 0),
    blocks_written     bigint NOT NULL CHECK (blocks_written >= 0),
    read_ms            double precision NOT NULL CHECK (read_ms >= 0),
    write_ms           double precision NOT NULL DEFAULT 0 CHECK (write_ms >= 0),
    wal_records        bigint NOT NULL CHECK (wal_records >= 0),
    wal_fpi            bigint NOT NULL CHECK (wal_fpi >= 0),
    wal_bytes          bigint NOT NULL CHECK (wal_bytes >= 0),
    CHECK (ended_at >= began_at)
);
CREATE INDEX statement_history_id_ended_at ON ff_internal.statement_history (statement_id, ended_at);
CREATE INDEX statement_history_rollup_ended_at ON ff_internal.statement_history (rollup, ended_at);
COMMENT ON TABLE ff_internal.statement_history IS
'What a statement did between two looks in one statement epoch, all roles together; no row where it was not called.';
COMMENT ON COLUMN ff_internal.statement_history.began_at IS 'the look before';
COMMENT ON COLUMN ff_internal.statement_history.ended_at IS 'the look that saw it';
COMMENT ON COLUMN ff_internal.statement_history.rollup IS
'0: one collection; 1: rolled up to an hour; 2: rolled up to a day';
COMMENT ON COLUMN ff_internal.statement_history.calls IS 'executions';
COMMENT ON COLUMN ff_internal.statement_history.rows IS 'rows of the statement itself, not of its WITH queries';
COMMENT ON COLUMN ff_internal.statement_history.total_ms IS
'execution time, milliseconds; the mean is total_ms / calls';
COMMENT ON COLUMN ff_internal.statement_history.stddev_ms IS
'standard deviation of the execution times of this interval (of the population), milliseconds';
COMMENT ON COLUMN ff_internal.statement_history.blocks_hit IS 'shared buffer hits';
COMMENT ON COLUMN ff_internal.statement_history.blocks_read IS 'blocks read into shared buffers';
COMMENT ON COLUMN ff_internal.statement_history.blocks_dirtied IS 'blocks dirtied';
COMMENT ON COLUMN ff_internal.statement_history.blocks_written IS 'blocks the statement had to write out itself';
COMMENT ON COLUMN ff_internal.statement_history.read_ms IS
'time for blocks_read, milliseconds; 0 while track_io_timing is off';
COMMENT ON COLUMN ff_internal.statement_history.write_ms IS
'time for blocks_written, milliseconds; 0 while track_io_timing is off';
COMMENT ON COLUMN ff_internal.statement_history.wal_records IS 'WAL records';
COMMENT ON COLUMN ff_internal.statement_history.wal_fpi IS 'full-page images in the WAL';
COMMENT ON COLUMN ff_internal.statement_history.wal_bytes IS 'WAL, bytes';
