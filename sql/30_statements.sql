
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
    texts_reason       text,
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
COMMENT ON COLUMN @extschema@.ff_statement_look.lost IS 'entries that were evicted and entered again, or reset, or may have been: their interval is lost';
COMMENT ON COLUMN @extschema@.ff_statement_look.reason IS 'why nothing was read; NULL where it was';
COMMENT ON COLUMN @extschema@.ff_statement_look.texts_reason IS 'why texts of new statements could not be read; these are left out and asked for again; NULL where they could, or there were none';

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
COMMENT ON COLUMN @extschema@.ff_statement.closed_at IS 'when its table was found gone, or it had not been called for a week, or was evicted and another called more often; NULL: followed';

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
    left_out  integer := 0;
    unread    integer := 0;
    lost      integer;
    texts_why text;
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
    -- One that is followed but was evicted makes room for one called more often
    -- than it ever was, so that many statements of a few calls shut out no other,
    -- and yet only few can displace one another.
    SELECT greatest(most - count(*), 0) INTO room FROM @extschema@.ff_statement s WHERE s.closed_at IS NULL AND s.kind <> 'other';
    BEGIN
        EXECUTE format($q$
            WITH look AS MATERIALIZED (%1$s),
            candidate AS MATERIALIZED (
                SELECT c.queryid, c.toplevel, sum(c.calls) AS calls, row_number() OVER (ORDER BY sum(c.calls) DESC, c.queryid) AS n
                  FROM look c
                 WHERE c.writes AND c.queryid IS NOT NULL
                   AND NOT EXISTS (SELECT 1 FROM %2$I.ff_statement s WHERE s.queryid = c.queryid AND s.toplevel = c.toplevel AND s.closed_at IS NULL)
                 GROUP BY c.queryid, c.toplevel
            ), evicted AS (
                SELECT s.statement_id, coalesce(b.calls, 0) AS calls, row_number() OVER (ORDER BY coalesce(b.calls, 0), s.statement_id) AS n
                  FROM %2$I.ff_statement s
                  LEFT JOIN (SELECT statement_id, sum(calls) AS calls FROM %2$I.ff_statement_baseline GROUP BY statement_id) b ON b.statement_id = s.statement_id
                 WHERE s.closed_at IS NULL AND s.kind <> 'other' AND EXISTS (SELECT 1 FROM candidate c WHERE c.n > $1)
                   AND NOT EXISTS (SELECT 1 FROM look l WHERE l.queryid = s.queryid AND l.toplevel = s.toplevel)
            ), displaced AS (
                UPDATE %2$I.ff_statement s SET closed_at = $2
                  FROM evicted e JOIN candidate c ON c.n = $1 + e.n
                 WHERE s.statement_id = e.statement_id AND c.calls > e.calls
                RETURNING 1
            ), taken AS (
                SELECT $1 + count(*) AS n FROM displaced
            )
            SELECT array_agg(c.queryid) FILTER (WHERE c.n <= t.n), array_agg(c.toplevel) FILTER (WHERE c.n <= t.n), count(*) FILTER (WHERE c.n > t.n)
              FROM candidate c, taken t
            $q$, source.counters, own)
           INTO new_ids, new_tops, left_out USING room, at;

        IF new_ids IS NOT NULL THEN
            FOR one IN EXECUTE source.texts USING new_ids, new_tops LOOP
                IF one.query IS NULL THEN
                    -- the server could not read its file of texts, or lost this one: asked for again next time
                    texts_why := 'no text';
                    unread := unread + 1;
                    CONTINUE;
                END IF;
                INSERT INTO @extschema@.ff_statement (queryid, toplevel, kind, text, text_bytes, text_hash, statement_epoch_id, opened_at)
                VALUES (one.queryid, one.toplevel, 'other', left(one.query, 4000), octet_length(one.query), encode(sha256(convert_to(one.query, getdatabaseencoding())), 'hex'), epoch.statement_epoch_id, at)
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
    EXCEPTION WHEN character_not_in_repertoire OR untranslatable_character THEN
        -- One text that is damaged, or does not fit this database's encoding, be
        -- it another database's, and the server gives none.
        texts_why := SQLERRM;
        admitted := 0;
        unread := coalesce(cardinality(new_ids), 0);
    END;

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
                            -- Without the time of entry, the extremes tell an entry that was evicted and came back.  Where
                            -- any was evicted since, at least one of them must be the old one, to the nanosecond.
                            AND (l.entered_at IS NOT NULL OR b.calls = 0
                                 OR l.min_ms <= b.min_ms AND l.max_ms >= b.max_ms
                                    AND (k.evictions IS NOT DISTINCT FROM $5 OR l.min_ms = b.min_ms OR l.max_ms = b.max_ms)), false) AS same,
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
              LEFT JOIN %2$I.ff_statement_look k ON k.looked_at = b.seen_at AND k.statement_epoch_id = b.statement_epoch_id
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
      USING epoch.statement_epoch_id, previous.looked_at, coalesce(previous.left_out = 0 AND previous.hidden = 0, false), at, told.evictions;

    DELETE FROM @extschema@.ff_statement_baseline b
     USING @extschema@.ff_statement s WHERE s.statement_id = b.statement_id AND s.closed_at IS NOT NULL;

    INSERT INTO @extschema@.ff_statement_look (collection_id, looked_at, statement_epoch_id, evictions, entries, hidden, tracked, admitted, left_out, lost, texts_reason)
    VALUES (id, at, epoch.statement_epoch_id, told.evictions, entries, hidden, tracked, admitted, left_out + unread, lost, texts_why);
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
    -- (UTC, so that all sessions agree; a volatile bound would have the index read whole)
    FOR step IN SELECT v.*, date_trunc(v.unit, clock_timestamp() - v.age, 'UTC') AS before
                  FROM (VALUES (0, 'hour', interval '1 day'), (1, 'day', interval '14 days')) v(grain, unit, age) LOOP
        WITH taken AS (
            DELETE FROM @extschema@.ff_statement_history h
             WHERE h.ctid = ANY (ARRAY(SELECT o.ctid FROM @extschema@.ff_statement_history o
                                        WHERE o.grain = step.grain AND o.ended_at < step.before
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
              FROM taken t GROUP BY t.statement_id, t.statement_epoch_id, date_trunc(step.unit, t.ended_at, 'UTC')
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
    ), looks AS MATERIALIZED (
        SELECT l.statement_epoch_id, min(l.looked_at) AS first, max(l.looked_at) AS last,
               max(l.evictions) - min(l.evictions) AS evictions, sum(l.lost) AS lost
          FROM @extschema@.ff_statement_look l
         WHERE l.reason IS NULL AND l.looked_at > now() - make_interval(days => @extschema@.ff_setting('lookback')::integer)
         GROUP BY l.statement_epoch_id
    ), span AS MATERIALIZED (
        -- the part of the window in which statements were looked at
        SELECT extract(epoch FROM max(l.last) - min(l.first))::double precision AS seconds, sum(l.evictions) AS evictions, sum(l.lost) AS lost
          FROM looks l
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
              FROM looked l WHERE l.left_out > 0 AND l.texts_reason IS NULL
            UNION ALL
            SELECT format('%s new statements are not followed, because texts of pg_stat_statements cannot be read (%s): one is lost or damaged, or is another database''s and does not fit this one''s encoding; pg_stat_statements_reset() removes it', l.left_out, l.texts_reason)
              FROM looked l WHERE l.texts_reason IS NOT NULL
            UNION ALL
            SELECT format('pg_stat_statements had no room and evicted the least called statements (%s times in the window): what these did is missing: raise pg_stat_statements.max', p.evictions)
              FROM span p WHERE p.evictions > 0
            UNION ALL
            SELECT format('%s intervals of statements are missing, because their counters began anew', p.lost)
              FROM span p WHERE p.lost > 0) w
     WHERE w.reason IS NOT NULL
     ORDER BY 5 DESC NULLS LAST, 13, 2
$$;
COMMENT ON FUNCTION @extschema@.ff_statements(regclass) IS 'The statements that write a table, over the recent window, one row for each table and command. Columns: relation: NULL where it is not known, see reason; command; how: where in the statement it stands (top, on_conflict, merge, cte); columns: those an UPDATE sets; calls; calls_per_s; rows: rows of the statement, NULL for the targets of its WITH queries, which are not counted; rows_per_call; mean_ms, stddev_ms: execution time, milliseconds, mean and standard deviation over the window; blocks_per_call: shared blocks hit or read; wal_bytes_per_call: bytes; statement_id: key of its history; queryid: as in pg_stat_statements; query: its text, the first 4000 characters; reason: why the table is not known, or, in a row of its own, what is missing altogether.';
REVOKE ALL ON FUNCTION @extschema@.ff_statements(regclass) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_statements(regclass) TO pg_read_all_stats;
