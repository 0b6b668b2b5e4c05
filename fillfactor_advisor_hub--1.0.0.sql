-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION fillfactor_advisor_hub" to load this file. \quit

-- What a hub stores about its sources. Everything received is data: typed, bounded by the checks below, and replaced as
-- a whole by the next answer, so nothing grows and nothing is to be pruned.
--
-- No object of the hub depends on one of the core: bodies that name those are texts. So the core can be upgraded alone,
-- and check_version() then says what to do.

-- Nothing below can be bound to an operator or function of somebody else's.
SET LOCAL search_path TO pg_catalog, pg_temp;

CREATE SCHEMA ff_hub;
COMMENT ON SCHEMA ff_hub IS 'Tables and inner functions of the extension fillfactor_advisor_hub.';
-- What a hub stores about its sources.

CALL ff_internal.define($$
CREATE TABLE ff_hub.source (
    -- A database, of any server, that this hub knows, and its last answer about itself.
    source_id         integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- key; never reused
    source            text NOT NULL UNIQUE CHECK (length(source) BETWEEN 1 AND 63), -- name given by the hub's users
    server            name,          -- foreign server used to ask it; NULL: its exports are imported
    tried_at          timestamptz,   -- when it was last asked
    succeeded_at      timestamptz,   -- when its last answer was stored
    failures          integer NOT NULL DEFAULT 0 CHECK (failures >= 0), -- failed attempts since then
    error             text CHECK (length(error) <= 600), -- why the last attempt failed, with SQLSTATE; NULL: it did not
    version           text CHECK (length(version) <= 30), -- version of the extension there
    model_version     integer,       -- version of the model there
    server_version    integer CHECK (server_version BETWEEN 100000 AND 999999), -- server_version_num there
    system_identifier numeric(20, 0) CHECK (system_identifier >= 0), -- shared with standbys and clones
    timeline          bigint CHECK (timeline BETWEEN 1 AND 4294967295), -- WAL timeline, changes with a promotion
    in_recovery       boolean,       -- it was a standby
    started_at        timestamptz,   -- start of the server: tells a server with two names from a clone
    database_oid      bigint CHECK (database_oid BETWEEN 1 AND 4294967295), -- OID of the database
    database          text CHECK (length(database) <= 63), -- its name
    exported_at       timestamptz,   -- time of the answer by its own clock
    collected_at      timestamptz,   -- last collection there, by the same clock
    CHECK (isfinite(started_at) AND isfinite(exported_at) AND isfinite(collected_at)),
    CHECK (succeeded_at IS NULL OR (exported_at, started_at, in_recovery, timeline, database_oid, database,
                                    system_identifier, server_version) IS NOT NULL)
) WITH (fillfactor = 50);
$$);
CREATE INDEX source_identity ON ff_hub.source (system_identifier, database_oid);

CALL ff_internal.define($$
CREATE TABLE ff_hub.advice (
    -- What each source last advised, one row per table; columns as in ff_advise().
    source_id               integer NOT NULL, -- its source
    relid                   bigint NOT NULL CHECK (relid BETWEEN 1 AND 4294967295), -- OID of the table there
    relation                text NOT NULL CHECK (length(relation) <= 2000), -- its schema and name, quoted
    fillfactor              smallint NOT NULL CHECK (fillfactor BETWEEN 10 AND 100), -- effective fillfactor, percent
    advised                 smallint CHECK (advised BETWEEN 10 AND 100), -- advised fillfactor, percent; NULL: no change
    action                  text NOT NULL CHECK (action IN ('lower', 'raise', 'keep', 'wait')), -- as in ff_advise()
    confidence              real CHECK (confidence BETWEEN 0 AND 1), -- 0 to 1
    provisional             boolean, -- less than a day was watched
    why                     text CHECK (length(why) <= 300), -- the cause in a phrase
    gain_pct                real CHECK (gain_pct BETWEEN -1e9 AND 100), -- cost saved by the change, percent
    wal_bytes_per_day_saved bigint,  -- WAL saved by it, bytes a day
    disk_bytes_change       bigint,  -- of table and indexes, bytes
    updates_per_s           real CHECK (updates_per_s BETWEEN 0 AND 1e12), -- rows updated per second
    input                   jsonb CHECK (octet_length(input::text) <= 100000), -- the model's input, for a change
    weighed                 smallint CHECK (weighed BETWEEN 10 AND 100),
        -- the model's fillfactor once the reads of standbys are added; NULL: none
    weighed_at              timestamptz, -- when the model was asked for it
    PRIMARY KEY (source_id, relid),
    CHECK ((action IN ('lower', 'raise')) = (advised IS NOT NULL))
);
$$);

CALL ff_internal.define($$
CREATE TABLE ff_hub.reads (
    -- How often each table is read on a standby. The arrays hold sequential scans, index scans, heap pages requested.
    source_id  integer NOT NULL,  -- the standby
    relid      bigint NOT NULL CHECK (relid BETWEEN 1 AND 4294967295), -- OID of the table, the same on its primary
    counters   bigint[] NOT NULL CHECK (cardinality(counters) = 3 AND 0 <= ALL (counters)), -- so far
    since      timestamptz,       -- their last reset
    observed_s float8 NOT NULL, -- seconds that the rates cover, at most a day
    per_s      float8[] NOT NULL, -- per second: the mean of that time, beyond a day a running mean
    PRIMARY KEY (source_id, relid)
);
$$);
-- Who may use a hub, and with which version of the core.

-- Error 55000 unless core and hub have the same version.
CREATE FUNCTION ff_hub.check_version() RETURNS void
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    core CONSTANT text := (SELECT e.extversion FROM pg_extension e WHERE e.extname = 'fillfactor_advisor');
    hub  CONSTANT text := (SELECT e.extversion FROM pg_extension e WHERE e.extname = 'fillfactor_advisor_hub');
BEGIN
    IF core IS DISTINCT FROM hub THEN
        RAISE 'extension fillfactor_advisor has version %, fillfactor_advisor_hub version %', core, hub
            USING ERRCODE = 'object_not_in_prerequisite_state',
                  DETAIL = 'A hub works with the version that it was made with.',
                  HINT = 'Run ALTER EXTENSION fillfactor_advisor UPDATE and ALTER EXTENSION fillfactor_advisor_hub '
                         'UPDATE.';
    END IF;
END
$$;
SELECT ff_hub.check_version();
CALL ff_internal.refuse_strangers('fillfactor_advisor_hub');

-- Public functions and views begin with it. Errors: the versions differ (55000); the caller is no reader or collector,
-- or a collector who may not write the hub's tables (42501).
CREATE FUNCTION ff_hub.check_role(what text) RETURNS void
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    PERFORM ff_hub.check_version();
    PERFORM ff_internal.check_role(what);
    IF what = 'collector' AND NOT (SELECT bool_and(has_table_privilege('ff_hub.source', p))
                                     FROM unnest('{INSERT,UPDATE,DELETE}'::text[]) p) THEN
        PERFORM ff_internal.refuse('42501', format('role %I may not write the tables of the hub', current_user), NULL,
            format('Ask a superuser to run SELECT ff_grant(%L, ''collector'').', current_user));
    END IF;
END
$$;
-- What the sources are to each other.

-- Sources with the same identity (system identifier, database OID) are one database. lead represents it: the primary of
-- the highest timeline, if there is one. role: primary; standby; duplicate (the same server under another name); former
-- primary (another one was promoted or started since its last answer); clone (another server with this identity that
-- also accepts writes); NULL: never answered.
CREATE VIEW ff_hub.member AS
SELECT s.*, l.source AS lead, l.source_id AS lead_id, l.in_recovery AS lead_in_recovery,
       CASE WHEN s.succeeded_at IS NOT NULL -- greatest() would turn NULL into 0
            THEN greatest(now() - CASE WHEN s.server IS NULL THEN s.exported_at ELSE s.succeeded_at END, interval '0')
            END AS age,
       CASE WHEN s.system_identifier IS NULL THEN NULL
            WHEN s.source_id = l.source_id AND NOT s.in_recovery THEN 'primary'
            WHEN s.source_id <> l.source_id AND EXISTS (
                 SELECT FROM ff_hub.source t
                  WHERE (t.system_identifier, t.database_oid, t.started_at)
                        = (s.system_identifier, s.database_oid, s.started_at)
                    AND (t.failures > 0, t.source_id) < (s.failures > 0, s.source_id)) THEN 'duplicate'
            WHEN s.in_recovery THEN 'standby'
            WHEN s.exported_at <= l.started_at OR s.failures > 0 AND s.timeline < l.timeline THEN 'former primary'
            ELSE 'clone' END AS role
  FROM ff_hub.source s
  LEFT JOIN LATERAL (
       SELECT o.* FROM ff_hub.source o
        WHERE (o.system_identifier, o.database_oid) = (s.system_identifier, s.database_oid)
        ORDER BY o.in_recovery, o.timeline DESC, o.failures > 0,
                 -- first those that answered after the last of them started
                 o.exported_at <= max(o.started_at) FILTER (WHERE NOT o.in_recovery) OVER (), o.source_id
        LIMIT 1) l ON true;
COMMENT ON VIEW ff_hub.member IS 'Sources and their roles.';
-- fetches the answers of a hub's sources with contrib's dblink, through foreign servers. An answer is one
-- text, read as jsonb; its columns are typed and checked here. No part of it is ever executed.

-- Limits, all chosen. connect_s: highest connect_timeout of a server. answer: time for the whole answer; the source
-- stops after nine tenths of it. lock_ms: lock_timeout there. bytes: size of an answer. sources: asked at the same time
-- by one refresh. refresh: it asks no more sources after this.
CREATE FUNCTION ff_hub.limits(
    OUT connect_s integer, OUT answer interval, OUT lock_ms integer, OUT bytes integer,
    OUT sources integer, OUT refresh interval)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (10, '20 s'::interval, 2000, 67108864, 32, '2 min'::interval);

-- Calls a function of dblink, whose schema may be any.
CREATE FUNCTION ff_hub.dblink(function text, VARIADIC arguments text[] DEFAULT '{}') RETURNS text
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    result text;
BEGIN
    EXECUTE format('SELECT %s.dblink_%s(%s)::text',
                   (SELECT e.extnamespace::regnamespace FROM pg_extension e WHERE e.extname = 'dblink'), function,
                   (SELECT string_agg(quote_literal(a), ', ' ORDER BY place)
                      FROM unnest(arguments) WITH ORDINALITY u(a, place))) INTO result;
    RETURN result;
END
$$;

-- Seconds that connecting to a foreign server may take: connect_timeout times hosts. Errors: no such server (42704),
-- no valid timeout (22023).
CREATE FUNCTION ff_hub.connect_timeout(server name) RETURNS integer
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    most    CONSTANT integer := (ff_hub.limits()).connect_s;
    timeout text;
    hosts   integer;
BEGIN
    SELECT max(o.option_value) FILTER (WHERE o.option_name = 'connect_timeout'),
           max(cardinality(string_to_array(o.option_value, ','))) FILTER (WHERE o.option_name ^@ 'host')
      INTO timeout, hosts
      FROM pg_foreign_server s LEFT JOIN pg_options_to_table(s.srvoptions) o ON true
     WHERE s.srvname = server GROUP BY s.oid;
    IF NOT FOUND THEN
        PERFORM ff_internal.refuse('42704', format('server %s does not exist', quote_ident(server)), NULL,
            format('CREATE SERVER %I FOREIGN DATA WRAPPER dblink_fdw OPTIONS (host ''...'', dbname ''...'', '
                   'connect_timeout ''3''); and a user mapping with user and password.', server));
    ELSIF timeout !~ '^[0-9]{1,5}$' OR coalesce(timeout::integer NOT BETWEEN 2 AND most, true) THEN
        PERFORM ff_internal.refuse('22023',
            format('server %I has no connect_timeout of 2 to %s seconds', server, most),
            'A host that is down would hold up all the others.',
            format('ALTER SERVER %I OPTIONS (%s connect_timeout ''3'');', server,
                   CASE WHEN timeout IS NULL THEN 'ADD' ELSE 'SET' END));
    END IF;
    RETURN timeout::integer * coalesce(hosts, 1);
END
$$;

-- Ends the running statement with error 57014 after this time; zero cancels that. See src/base/server.c.
CREATE FUNCTION ff_hub.deadline(span interval) RETURNS void
AS 'MODULE_PATHNAME', 'ff_deadline'
LANGUAGE c VOLATILE;

-- Connects and sends a query that returns one text: read only, with an empty search_path and timeouts a little shorter
-- than patience. From PostgreSQL 16 on dblink ignores connect_timeout, so deadline() enforces it, a second later.
-- Errors: those of dblink_connect(); 08001 also for the timeout.
CREATE FUNCTION ff_hub.send(connection text, server name, query text, patience interval) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    bounds record;
    most   CONSTANT interval := make_interval(secs => ff_hub.connect_timeout(server) + 1);
    began  CONSTANT timestamptz := clock_timestamp();
BEGIN
    SELECT * INTO bounds FROM ff_hub.limits();
    BEGIN
        PERFORM ff_hub.deadline(most);
        PERFORM ff_hub.dblink('connect', connection, server);
        PERFORM ff_hub.deadline('0');
    EXCEPTION WHEN query_canceled OR OTHERS THEN
        PERFORM ff_hub.deadline('0');
        -- an earlier cancel is not from deadline()
        IF SQLSTATE <> '57014' OR clock_timestamp() < began + most THEN
            RAISE;
        END IF;
        RAISE 'could not establish connection: timeout expired' USING ERRCODE = '08001';
    END;
    PERFORM ff_hub.dblink('send_query', connection,
        format('SET transaction_read_only = on; SET client_min_messages = error; SET search_path = ''''; '
               'SET lock_timeout = %s; SET statement_timeout = %s; '
               'SELECT pg_catalog.left(coalesce((%s)::pg_catalog.text, ''null''), %s) LIMIT 1',
               bounds.lock_ms, round(900 * extract(epoch FROM patience)), query, bounds.bytes + 1));
END
$$;

-- Returns the answer on a connection, NULL if there is none yet. Raises the source's error; one that WHEN OTHERS does
-- not catch becomes 38000.
CREATE FUNCTION ff_hub.answer(connection text) RETURNS text
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    most   CONSTANT integer := (ff_hub.limits()).bytes;
    result CONSTANT text := (
        SELECT format('SELECT max(r.answer) FROM %s.dblink_get_result($1::text, true) r(answer text)',
                      e.extnamespace::regnamespace) FROM pg_extension e WHERE e.extname = 'dblink');
    answer text;
BEGIN
    WHILE ff_hub.dblink('is_busy', connection) = '0' LOOP
        EXECUTE result INTO answer USING connection;
        IF coalesce(answer, '') = '' THEN
            RAISE 'the connection ended without an answer' USING ERRCODE = 'connection_failure';
        ELSIF octet_length(answer) > most THEN
            RAISE 'its answer is larger than %', pg_size_pretty(most::bigint) USING ERRCODE = 'program_limit_exceeded';
        ELSIF answer <> 'SET' THEN
            RETURN answer;
        END IF;
    END LOOP;
    RETURN NULL;
EXCEPTION WHEN query_canceled OR assert_failure THEN
    IF ff_hub.dblink('error_message', connection) = 'OK' THEN
        RAISE;
    END IF;
    RAISE '%', SQLERRM USING ERRCODE = 'external_routine_exception';
END
$$;

-- Closes a connection, even a busy one. (Cancelling would need another connection to a host that may hang.)
CREATE FUNCTION ff_hub.hang_up(connection text) RETURNS void
LANGUAGE sql VOLATILE
RETURN (SELECT ff_hub.dblink('disconnect', connection)
         WHERE connection = ANY (ff_hub.dblink('get_connections')::text[]));

-- ---------------------------------------------------------------------------
-- Answers
-- ---------------------------------------------------------------------------
-- Error unless this is an export of a known format.
CREATE FUNCTION ff_hub.check_export(export jsonb) RETURNS void
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    known   CONSTANT integer := ff_internal.export_format();
    version CONSTANT text := CASE WHEN jsonb_typeof(export->'format') = 'number' THEN export->>'format' END;
BEGIN
    IF (version ~ '^[1-9][0-9]{0,8}$' AND jsonb_typeof(export->'advice') = 'array'
        AND coalesce(jsonb_typeof(export->'reads'), 'array') = 'array') IS NOT TRUE THEN
        PERFORM ff_internal.refuse('22023', 'this is not an export of the extension', NULL,
                                   'SELECT ff_export() gives one.');
    ELSIF version::integer > known THEN
        PERFORM ff_internal.refuse('0A000',
            format('the export has format %s, and this hub reads formats up to %s', version, known), NULL,
            'Upgrade the extension on the hub.');
    END IF;
END
$$;

-- Stores a source's answer. If the source is another database than before, its old data are deleted. Advice is
-- replaced; unchanged rows are not written and keep what was weighed. The reads of a standby become rates, from the
-- difference to its last counters unless it restarted: a mean over the first day, then a running mean.
CREATE FUNCTION ff_hub.store(id integer, export jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    old     ff_hub.source;
    new     ff_hub.source;
    seconds float8;    -- since the last answer; NULL: restarted
    advice  ff_hub.advice[];
    reads   ff_hub.reads[];
BEGIN
    PERFORM ff_hub.check_export(export);
    SELECT * INTO STRICT old FROM ff_hub.source s WHERE s.source_id = id FOR UPDATE;
    -- keys of a later version are ignored
    new := jsonb_populate_record(new,
        export - '{source_id,source,server,tried_at,succeeded_at,failures,error}'::text[]);
    IF (old.system_identifier, old.database_oid) IS DISTINCT FROM (new.system_identifier, new.database_oid) THEN
        DELETE FROM ff_hub.reads r WHERE r.source_id = id;
        DELETE FROM ff_hub.advice a WHERE a.source_id = id;
    END IF;
    advice := ARRAY(
        SELECT jsonb_populate_record(NULL::ff_hub.advice, n || jsonb_build_object(
                   'source_id', id, 'relid', n->'oid', 'relation', ff_internal.plain(n->>'relation'),
                   'why', ff_internal.plain(n->>'why'), 'weighed', o.weighed, 'weighed_at', o.weighed_at))
          FROM jsonb_array_elements(export->'advice') n
          LEFT JOIN ff_hub.advice o
                 ON (o.source_id, o.relid, o.fillfactor::text, o.advised::text)
                    = (id, (n->>'oid')::bigint, n->>'fillfactor', n->>'advised'));
    DELETE FROM ff_hub.advice a
     WHERE a.source_id = id AND NOT EXISTS (SELECT FROM unnest(advice) n WHERE n.relid = a.relid AND n = a);
    INSERT INTO ff_hub.advice SELECT * FROM unnest(advice) ON CONFLICT DO NOTHING;
    IF (old.timeline, old.started_at) = (new.timeline, new.started_at) AND new.exported_at > old.exported_at THEN
        seconds := extract(epoch FROM new.exported_at - old.exported_at);
    END IF;
    reads := ARRAY(
        SELECT (id, n.oid, c.now, n.since, least(86400, c.seen + coalesce(d.s, 0)),
                ARRAY(SELECT coalesce(w.rate + ((w.now - w.was) / d.s - w.rate) * d.s
                                               / greatest(d.s, least(86400, c.seen + d.s)), w.rate)
                        FROM unnest(c.now, c.was, c.rates) w(now, was, rate)))::ff_hub.reads
          FROM jsonb_to_recordset(coalesce(export->'reads', '[]'))
                   n(oid bigint, seq_scans bigint, index_scans bigint, blocks bigint, since timestamptz)
          LEFT JOIN ff_hub.reads o ON (o.source_id, o.relid) = (id, n.oid)
         -- a table missing from the last answer had no reads then
         CROSS JOIN LATERAL (
               SELECT ARRAY[n.seq_scans, n.index_scans, n.blocks], coalesce(o.counters, '{0,0,0}'),
                      coalesce(o.per_s, '{0,0,0}'), coalesce(o.observed_s, 0)) c(now, was, rates, seen)
          LEFT JOIN LATERAL (
               SELECT seconds
                WHERE (o.relid IS NULL OR n.since IS NOT DISTINCT FROM o.since)
                  AND NOT EXISTS (SELECT FROM unnest(c.now, c.was) u(now, was) WHERE u.now < u.was)) d(s) ON true);
    DELETE FROM ff_hub.reads r WHERE r.source_id = id;
    INSERT INTO ff_hub.reads SELECT * FROM unnest(reads);
    UPDATE ff_hub.source s
       SET (succeeded_at, failures, error, version, model_version, server_version, system_identifier, timeline,
            in_recovery, started_at, database_oid, database, exported_at, collected_at)
         = (clock_timestamp(), 0, NULL, ff_internal.plain(new.version), new.model_version, new.server_version,
            new.system_identifier, new.timeline, new.in_recovery, new.started_at, new.database_oid,
            ff_internal.plain(new.database), new.exported_at, new.collected_at)
     WHERE s.source_id = id;
END
$$;

-- Stores a failure. Quoted text is removed from connection errors: only the hub's owner may see host and user.
CREATE FUNCTION ff_hub.failed(id integer, state text, message text, hint text) RETURNS void
LANGUAGE sql VOLATILE
AS $$
    UPDATE ff_hub.source s
       SET failures = s.failures + 1,
           error = left(ff_internal.plain(concat_ws(' ', state, CASE WHEN state ^@ '08'
                       THEN regexp_replace(regexp_replace(message, '"[^"]*"( [(][^)]*[)])?', '"..."', 'g'),
                                           '[[:space:]]+', ' ', 'g')
                       ELSE message END, nullif(hint, ''))), 600)
     WHERE s.source_id = id
$$;

-- ---------------------------------------------------------------------------
-- Sources
-- ---------------------------------------------------------------------------
-- Error 22023 if the name is invalid.
CREATE FUNCTION ff_hub.check_source(source text) RETURNS void
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    IF source IS NULL OR length(source) NOT BETWEEN 1 AND 63 OR source ~ ff_internal.unprintable() THEN
        PERFORM ff_internal.refuse('22023', 'invalid name of a source: ' || coalesce(quote_literal(source), 'NULL'),
                                   NULL, 'A name has 1 to 63 characters, all of which can be printed.');
    END IF;
END
$$;

CREATE FUNCTION @extschema@.ff_fleet_add(source text, server name) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    PERFORM ff_hub.check_role('collector');
    PERFORM ff_hub.check_source(source);
    PERFORM ff_hub.connect_timeout(server);
    INSERT INTO ff_hub.source AS s (source, server) VALUES (source, server)
    ON CONFLICT ON CONSTRAINT source_source_key DO UPDATE SET server = EXCLUDED.server;
END
$$;
COMMENT ON FUNCTION @extschema@.ff_fleet_add(text, name) IS
'Adds a source to this hub, or gives it another server: a database, of any server, that has the extension.
source: a name of your choice. server: a foreign server of dblink_fdw or postgres_fdw that leads to it, with a '
'connect_timeout of 2 to 10 seconds and a user mapping for the role that refreshes. It does not connect yet.
Errors: 42704 no such server, 22023 no such timeout, or invalid name.';

CREATE FUNCTION @extschema@.ff_fleet_remove(source text) RETURNS boolean
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    gone integer;
BEGIN
    PERFORM ff_hub.check_role('collector');
    -- waits for a session that is storing an answer; only later statements see the rows it stored
    DELETE FROM ff_hub.source s WHERE s.source = ff_fleet_remove.source RETURNING s.source_id INTO gone;
    DELETE FROM ff_hub.advice a WHERE a.source_id = gone;
    DELETE FROM ff_hub.reads r WHERE r.source_id = gone;
    RETURN gone IS NOT NULL;
END
$$;
COMMENT ON FUNCTION @extschema@.ff_fleet_remove(text) IS
'Removes a source and its data; returns whether there was one. Its foreign server stays.';

CREATE FUNCTION @extschema@.ff_import(export jsonb, source text DEFAULT NULL) RETURNS text
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    name text;
    old  ff_hub.source;
    hint text;
BEGIN
    PERFORM ff_hub.check_role('collector');
    PERFORM ff_hub.check_export(export);
    name := coalesce(source, left(ff_internal.plain(concat_ws(' ', export->>'database',
                                                              export->>'system_identifier')), 63));
    PERFORM ff_hub.check_source(name);
    SELECT * INTO old FROM ff_hub.source s WHERE s.source = name FOR UPDATE;
    IF old.server IS NOT NULL OR old.exported_at > (export->>'exported_at')::timestamptz THEN
        PERFORM ff_internal.refuse('55000',
            CASE WHEN old.server IS NULL THEN format('a newer export of source %I was imported', name)
                 ELSE format('source %I is asked by a server', name) END, NULL,
            'Import it under another name, or remove the source first: SELECT ff_fleet_remove(...).');
    ELSIF old.source_id IS NULL THEN
        INSERT INTO ff_hub.source (source) VALUES (name) RETURNING * INTO old;
    END IF;
    PERFORM ff_hub.store(old.source_id, export);
    RETURN name;
EXCEPTION WHEN data_exception OR integrity_constraint_violation THEN
    -- keep message and hint, but not the context
    GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
    PERFORM ff_internal.refuse(SQLSTATE, SQLERRM, NULL,
                               coalesce(nullif(hint, ''), 'Only what ff_export() gave, unchanged, can be imported.'));
END
$$;
COMMENT ON FUNCTION @extschema@.ff_import(jsonb, text) IS
'Stores a result of ff_export(), for sources that the hub cannot connect to; a later export replaces it.
source: its name on this hub; by default its database and system identifier. Returns that name.
Errors: 22023 not an export, 0A000 a later format, 55000 older than the stored one, or the source has a server; type '
'and constraint errors if it was modified.';
-- a refresh asks the sources and weighs the reads of standbys, in short transactions: queries on the hub
-- never wait for a source. A session that asks a source holds an advisory lock on its key, so a killed refresh leaves
-- nothing behind.

-- Total reads of a primary's tables by all standbys on its timeline.
CREATE VIEW ff_hub.standby_reads AS
SELECT l.source_id, r.relid, count(*) AS standbys, sum(r.per_s[1]) AS seq_per_s, sum(r.per_s[2]) AS index_per_s,
       sum(r.per_s[3]) AS blocks_per_s
  FROM ff_hub.member m
  JOIN ff_hub.source l ON l.source_id = m.lead_id AND l.timeline = m.timeline AND NOT l.in_recovery
  JOIN ff_hub.reads r ON r.source_id = m.source_id AND r.per_s[3] > 0
 WHERE m.role = 'standby'
 GROUP BY l.source_id, r.relid;
COMMENT ON VIEW ff_hub.standby_reads IS 'Reads of a primary''s tables on its standbys, per second.';

-- For one table: asks the model whether it chooses another step when the reads of standbys are added to the primary's,
-- assuming the primary's memory and read speed. Done for new advice and hourly, within the refresh's time. Returns
-- false if no table is left. Sources with another model version are not weighed.
CREATE FUNCTION ff_hub.weigh(part integer, parts integer, began timestamptz) RETURNS boolean
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    a     record;
    given ff_internal.model_input;
    steps integer[];
BEGIN
    SELECT w.*, s.seq_per_s, s.index_per_s, s.blocks_per_s INTO a
      FROM ff_hub.standby_reads s
      JOIN ff_hub.advice w USING (source_id, relid)
      JOIN ff_hub.source o USING (source_id)
     WHERE clock_timestamp() < began + (ff_hub.limits()).refresh
       AND w.input IS NOT NULL AND (w.weighed_at > began - interval '1 hour') IS NOT TRUE
       AND o.model_version = ff_internal.model_version() AND w.source_id % parts = part - 1
     ORDER BY w.weighed_at NULLS FIRST, s.blocks_per_s DESC LIMIT 1;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    BEGIN
        given := jsonb_populate_record(given, a.input);
        steps[1] := (ff_internal.model(given, false) #>> '{choice,advised_step}')::integer;
        given.seq_scans := given.seq_scans + a.seq_per_s * given.observed_s;
        given.index_scans := given.index_scans + a.index_per_s * given.observed_s;
        given.blocks_fetched := given.blocks_fetched + a.blocks_per_s * given.observed_s;
        steps[2] := (ff_internal.model(given, false) #>> '{choice,advised_step}')::integer;
    EXCEPTION WHEN data_exception THEN
        RAISE WARNING 'what % was advised by cannot be read', a.relation USING DETAIL = SQLERRM;
        steps := NULL;
    END;
    UPDATE ff_hub.advice w
       SET (weighed, weighed_at)
         = (CASE WHEN steps[1] <> steps[2] THEN nullif(steps[2], coalesce(a.advised, a.fillfactor)) END,
            clock_timestamp())
     WHERE (w.source_id, w.relid) = (a.source_id, a.relid);
    RETURN true;
END
$$;

-- ---------------------------------------------------------------------------
-- Asking
-- ---------------------------------------------------------------------------
-- Sources that this session is asking.
CREATE FUNCTION ff_hub.mine() RETURNS SETOF integer
LANGUAGE sql STABLE
AS $$
    SELECT l.objid::integer
      FROM pg_locks l
     WHERE l.locktype = 'advisory' AND l.pid = pg_backend_pid() AND l.objsubid = 2
       AND l.classid = 'ff_hub.source'::regclass
$$;

-- Disconnects from a source and unlocks it.
CREATE FUNCTION ff_hub.leave(id integer) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    PERFORM ff_hub.hang_up('fillfactor_advisor ' || id);
    PERFORM pg_advisory_unlock('ff_hub.source'::regclass::oid::integer, id);
END
$$;

-- Sends the query to a source (asking), or stores its answer or error. Returns false while waiting for the answer.
CREATE FUNCTION ff_hub.turn(s ff_hub.source, asking boolean) RETURNS boolean
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    connection CONSTANT text := 'fillfactor_advisor ' || s.source_id;
    patience   CONSTANT interval := (ff_hub.limits()).answer;
    answer     text;
    detail     text;
    hint       text;
BEGIN
    BEGIN
        IF asking THEN
            PERFORM ff_hub.send(connection, s.server, 'SELECT ff_internal.export()', patience);
            RETURN false;
        END IF;
        answer := ff_hub.answer(connection);
        IF answer IS NOT NULL THEN
            PERFORM ff_hub.store(s.source_id, answer::jsonb);
        ELSIF clock_timestamp() < s.tried_at + patience THEN
            RETURN false;
        ELSE
            RAISE 'it did not answer within %', patience USING ERRCODE = 'external_routine_exception';
        END IF;
    EXCEPTION WHEN OTHERS THEN
        GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
        -- details only of connection errors; others quote what was sent
        PERFORM ff_hub.failed(s.source_id, SQLSTATE,
            concat_ws(': ', SQLERRM, CASE WHEN SQLSTATE ^@ '08' THEN nullif(detail, '') END), hint);
    END;
    PERFORM ff_hub.leave(s.source_id);
    RETURN true;
END
$$;

-- One step of a refresh, in one transaction: asks at most one more source (previously failed ones last) and stores one
-- answer. Weighs reads when no source is left. Returns false, with a notice, if nothing or no time is left.
CREATE FUNCTION ff_hub.step(part integer, parts integer, began timestamptz) RETURNS boolean
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    pause  CONSTANT float8 := 0.01;    -- seconds between checks of connections, chosen
    bounds record;
    id     integer;
    s      ff_hub.source;
    n      record;
BEGIN
    SELECT * INTO bounds FROM ff_hub.limits();
    -- the first that no other session is asking
    SELECT o.source_id INTO id
      FROM (SELECT o.source_id FROM ff_hub.source o
             WHERE o.server IS NOT NULL AND o.source_id % parts = part - 1
               AND (o.tried_at IS NULL OR o.tried_at < began) AND clock_timestamp() < began + bounds.refresh
               AND (SELECT count(*) FROM ff_hub.mine()) < bounds.sources
             ORDER BY o.failures > 0, o.tried_at NULLS FIRST, o.source_id OFFSET 0) o
     WHERE pg_try_advisory_lock('ff_hub.source'::regclass::oid::integer, o.source_id) LIMIT 1;
    IF id IS NOT NULL THEN
        -- unless another session asked it meanwhile
        UPDATE ff_hub.source o SET tried_at = clock_timestamp()
         WHERE o.source_id = id AND (o.tried_at IS NULL OR o.tried_at < began) RETURNING * INTO s;
        IF FOUND THEN
            PERFORM ff_hub.turn(s, true);
        ELSE
            PERFORM ff_hub.leave(id);
        END IF;
    END IF;
    FOR s IN
        SELECT o.* FROM ff_hub.source o
         WHERE o.source_id IN (SELECT ff_hub.mine()) ORDER BY o.tried_at
    LOOP
        IF ff_hub.turn(s, false) THEN
            RETURN true;
        END IF;
    END LOOP;
    IF id IS NOT NULL THEN
        RETURN true;
    ELSIF FOUND THEN
        PERFORM pg_sleep(pause);
        RETURN true;
    END IF;
    -- sources removed meanwhile
    PERFORM ff_hub.leave(m) FROM ff_hub.mine() m;
    IF ff_hub.weigh(part, parts, began) THEN
        RETURN true;
    END IF;
    SELECT count(*) FILTER (WHERE o.succeeded_at >= began) AS fresh, count(*) AS sources,
           count(*) FILTER (WHERE o.tried_at >= began AND o.failures > 0) AS failed INTO n
      FROM ff_hub.source o WHERE o.server IS NOT NULL AND o.source_id % parts = part - 1;
    RAISE NOTICE '% of % sources answered, % failed, % were not asked', n.fresh, n.sources, n.failed,
        n.sources - n.fresh - n.failed;
    RETURN false;
END
$$;

-- Checks rights and arguments, and cleans up after an interrupted refresh of this session.
CREATE FUNCTION ff_hub.begin(part integer, parts integer) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    PERFORM ff_hub.check_role('collector');
    IF (part BETWEEN 1 AND parts) IS NOT TRUE THEN
        PERFORM ff_internal.refuse('22023',
            format('there is no part %s of %s', coalesce(part::text, 'NULL'), coalesce(parts::text, 'NULL')), NULL,
            'CALL ff_fleet_refresh(2, 4) is the second of four parts.');
    END IF;
    PERFORM ff_hub.leave(m) FROM ff_hub.mine() m;
END
$$;

-- Schema-qualifies every name: a procedure that commits cannot set a search_path.
CREATE PROCEDURE ff_hub.fleet_refresh(part integer, parts integer)
LANGUAGE plpgsql
AS $$
DECLARE
    began CONSTANT pg_catalog.timestamptz DEFAULT pg_catalog.clock_timestamp();
BEGIN
    PERFORM ff_hub.begin(part, parts);
    WHILE ff_hub.step(part, parts, began) LOOP
        COMMIT;
    END LOOP;
END
$$;

CREATE PROCEDURE @extschema@.ff_fleet_refresh(part integer DEFAULT 1, parts integer DEFAULT 1)
LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM ff_internal.check_role('collector');
    CALL ff_hub.fleet_refresh(part, parts);
END
$$;
COMMENT ON PROCEDURE @extschema@.ff_fleet_refresh(integer, integer) IS
'Asks all sources of this hub, many at a time, and stores their answers, each in its own transaction; a notice '
'reports the result. A source that fails, hangs (20 seconds) or sends an invalid answer keeps its last one, with the '
'error and its age, and is asked last next time. After two minutes no more sources are asked; the remaining ones come '
'first next time.
part, parts: only this share of the sources, for several sessions in parallel.
Errors: 22023 no such part, 2D000 in a transaction block.';
-- what the hub stores, as views, scripts and an HTML page.

CALL ff_internal.define($$
CREATE VIEW @extschema@.ff_fleet (
    -- The sources of this hub and their state, one row each, as stored: it asks none of them.
    source,         -- name on this hub
    server,         -- foreign server that leads to it; NULL: imported
    database,       -- name of the database there
    role,
        -- primary, standby, duplicate (the same server under another name), former primary, clone (two servers of the
        -- same identity accept writes); NULL: it never answered
    state,          -- ok, failing (the last try failed), stale (no answer for an hour), imported, new
    age,            -- of its data
    last_success,   -- last answer
    last_try,       -- when it was last asked
    error,          -- why the last try failed
    server_version, -- server_version_num there
    version,        -- version of the extension there
    timeline,       -- WAL timeline; a promotion changes it
    collected_at,   -- last collection there
    tables,         -- tables in its answer
    changes,        -- of these, tables with advice to change
    note            -- anything unusual
) WITH (security_barrier) AS
SELECT m.source, m.server, m.database, m.role,
       CASE WHEN m.succeeded_at IS NULL AND m.failures = 0 THEN 'new' WHEN m.failures > 0 THEN 'failing'
            WHEN m.server IS NULL THEN 'imported' WHEN m.age > interval '1 hour' THEN 'stale' ELSE 'ok' END,
       date_trunc('second', m.age), m.succeeded_at, m.tried_at, m.error, m.server_version, m.version, m.timeline,
       m.collected_at, n.tables, n.changes,
       nullif(concat_ws('; ',
           format(CASE m.role WHEN 'duplicate' THEN CASE WHEN m.in_recovery THEN 'the same server as another source'
                                                   ELSE 'the same server as source %s' END
                       WHEN 'clone' THEN 'it has the identity of source %s, and both accept writes: a copy, or two '
                                         'primaries'
                       WHEN 'former primary' THEN 'source %s is the primary now'
                       WHEN 'standby' THEN CASE WHEN NOT m.lead_in_recovery
                                                THEN 'its reads are counted for source %s' END END, m.lead),
           CASE WHEN m.succeeded_at IS NOT NULL AND m.collected_at IS NULL THEN 'nothing was collected there yet'
                WHEN m.exported_at > m.collected_at + interval '1 day'
                THEN 'its last collection is older than a day' END), '')
  FROM ff_hub.member m
 CROSS JOIN LATERAL (SELECT count(*) AS tables, count(a.advised) AS changes
                       FROM ff_hub.advice a WHERE a.source_id = m.source_id) n
 WHERE ff_hub.check_role('reader') IS NOT NULL
 ORDER BY m.source;
$$);

CALL ff_internal.define($$
CREATE VIEW @extschema@.ff_fleet_advice (
    -- ff_advice of all sources: changes first, those that save most WAL at the top. Each database appears once, even if
    -- several sources report it; the reads of its standbys are weighed.
    source,                  -- source of the advice
    database,                -- its database
    relation,                -- the table
    now,                     -- effective fillfactor, percent
    new,                     -- advised fillfactor, percent; NULL if nothing should change
    action,                  -- lower, raise, keep, wait
    gain,                    -- cost saved by the change
    confidence,              -- 0 to 1
    why,                     -- the cause
    wal_bytes_per_day_saved, -- WAL saved by the change, bytes per day
    disk_bytes_change,       -- of table and indexes, bytes
    age,                     -- of the answer with it
    note
        -- stale (its source does not answer), provisional (observed for less than a day), reads on standbys
) WITH (security_barrier) AS
SELECT a.source, a.database, a.relation, a.fillfactor, n.new,
       CASE WHEN n.new < a.fillfactor THEN 'lower' WHEN n.new > a.fillfactor THEN 'raise' WHEN a.turned THEN 'keep'
            ELSE a.action END,
       CASE WHEN NOT a.turned THEN round(a.gain_pct)::integer || ' %' END, a.confidence, a.why, n.wal,
       CASE WHEN NOT a.turned THEN a.disk_bytes_change END, date_trunc('second', a.age),
       nullif(concat_ws('; ',
           CASE WHEN a.failures > 0 OR a.age > interval '1 hour' THEN 'stale' END,
           CASE WHEN a.provisional AND n.new IS NOT NULL THEN 'provisional' END,
           CASE WHEN a.turned
                THEN format('%s without the reads of %s', coalesce(a.action || ' to ' || a.advised, a.action),
                            format(CASE a.standbys WHEN 1 THEN 'a standby' ELSE '%s standbys' END, a.standbys)) END,
           'read on standbys: ' || round(nullif(a.blocks_per_s, 0)::numeric, 1) || ' pages/s'), '')
  FROM (SELECT m.source, m.database, m.failures, m.age, w.*, s.standbys, s.blocks_per_s,
               s.standbys IS NOT NULL AND w.weighed IS NOT NULL AS turned
          FROM ff_hub.member m
          JOIN ff_hub.advice w ON w.source_id = m.source_id
          LEFT JOIN ff_hub.standby_reads s ON s.source_id = w.source_id AND s.relid = w.relid
         WHERE m.source_id = m.lead_id OR m.role = 'clone') a
 CROSS JOIN LATERAL (SELECT CASE WHEN a.turned THEN nullif(a.weighed, a.fillfactor) ELSE a.advised END AS new,
                            CASE WHEN NOT a.turned THEN a.wal_bytes_per_day_saved END AS wal) n
 WHERE ff_hub.check_role('reader') IS NOT NULL
 ORDER BY n.new IS NULL, n.wal DESC NULLS LAST, a.updates_per_s DESC NULLS LAST, a.source, a.relation;
$$);

CREATE FUNCTION @extschema@.ff_fleet_script(source text, rewrite boolean DEFAULT false, top integer DEFAULT NULL)
RETURNS SETOF text
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    connection CONSTANT text := 'fillfactor_advisor script';
    patience   CONSTANT interval := '2 min';    -- chosen: the model may be asked there
    began      CONSTANT timestamptz := clock_timestamp();
    s          ff_hub.source;
    answer     text;
BEGIN
    PERFORM ff_hub.check_role('collector');
    SELECT * INTO s FROM ff_hub.source o WHERE o.source = ff_fleet_script.source;
    IF s.source_id IS NULL THEN
        PERFORM ff_internal.refuse('42704', format('source %s does not exist', coalesce(quote_ident(source), 'NULL')),
                                   NULL, 'See ff_fleet for the sources.');
    ELSIF s.server IS NULL THEN
        PERFORM ff_internal.refuse('55000', format('source %I was imported', source), NULL, 'Run ff_script() there.');
    END IF;
    PERFORM ff_hub.hang_up(connection);
    BEGIN
        PERFORM ff_hub.send(connection, s.server,
                                       format('SELECT ff_internal.export_script(%L, %L)', rewrite, top), patience);
        WHILE answer IS NULL LOOP
            IF clock_timestamp() > began + patience THEN
                RAISE 'source % did not answer within %', source, patience USING ERRCODE = '38000';
            END IF;
            PERFORM pg_sleep(0.02);
            answer := ff_hub.answer(connection);
        END LOOP;
    EXCEPTION WHEN OTHERS THEN
        PERFORM ff_hub.hang_up(connection);
        RAISE;
    END;
    PERFORM ff_hub.hang_up(connection);
    RETURN NEXT format('-- Sent by source %s. It is that server''s word: read it before you run it there.',
                       ff_internal.plain(source));
    RETURN QUERY
        SELECT CASE WHEN l.line ^@ '\encoding ' THEN '\encoding ' || pg_client_encoding()
                    ELSE ff_internal.plain(l.line) END
          FROM string_to_table(answer, E'\n') l(line);
END
$$;
COMMENT ON FUNCTION @extschema@.ff_fleet_script(text, boolean, integer) IS
'Fetches the script of a source now, as ff_script() returns it there; it refuses to run on any other server. The '
'source has two minutes. rewrite, top: as for ff_script().
Errors: 42704 no such source, 55000 it was imported, 08001 it cannot be reached, and its own.';

-- ---------------------------------------------------------------------------
-- The page
-- ---------------------------------------------------------------------------
-- changes: in the order of their worth.
CREATE FUNCTION ff_hub.page(
    sources @extschema@.ff_fleet[], changes @extschema@.ff_fleet_advice[], clusters bigint, top integer)
RETURNS text
LANGUAGE sql STABLE
AS $$
    SELECT ff_internal.refuse('22023', 'top must be greater than 0') WHERE top < 1;
    SELECT ff_internal.page('Fillfactor report of a fleet', concat(
        (SELECT format(E'<h1>%s sources on %s clusters, %s of them well; ', count(*), clusters,
                       count(*) FILTER (WHERE s.state IN ('ok', 'imported'))) FROM unnest(sources) s),
        (SELECT format(E'%s changes are advised%s.</h1>\n', count(*), ': ' || nullif(ff_internal.brings(
                       sum(c.wal_bytes_per_day_saved), sum(c.disk_bytes_change), NULL), ''))
           FROM unnest(changes) c),
        format(E'<p class="sub">Made at %s on the hub in database %s.</p>\n<nav></nav>\n',
               ff_internal.minute(now()), ff_internal.html(current_database()::text))), concat(
        E'<section>\n<h2>What to do first</h2>\n', coalesce((
            SELECT ff_internal.html_table('The changes that save most WAL. SELECT * FROM ff_fleet_script(''source'') '
                       'gives the statements of a source, with guards and undo.', json_agg(r))
              FROM (SELECT c.relation AS "table", c.source, c.database, c.now AS "now|0", c.new AS "new|0",
                           c.gain AS cost, c.confidence AS "confidence|2", -c.wal_bytes_per_day_saved AS "WAL a day|+B",
                           c.disk_bytes_change AS "disk|+B", c.why, c.note, c.age::text AS age
                      FROM unnest(changes) WITH ORDINALITY c WHERE c.ordinality <= coalesce(top, c.ordinality)
                     ORDER BY c.ordinality) r),
                 E'<p>Nothing is to be changed.</p>\n'),
        E'</section>\n<section>\n<h2>Sources</h2>\n', coalesce((
            SELECT ff_internal.html_table('Those that need attention first.', json_agg(r))
              FROM (SELECT s.source, s.state, s.role, s.database, s.age::text AS age, s.tables AS "tables|0",
                           s.changes AS "changes|0", s.server_version AS "PostgreSQL|0", s.version,
                           s.timeline AS "timeline|0", concat_ws('; ', s.error, s.note) AS note
                      FROM unnest(sources) s
                     ORDER BY s.state IN ('ok', 'imported'), s.note IS NULL, s.source) r),
            E'<p>There is none: see ff_fleet_add().</p>\n'),
        E'</section>\n'))
$$;

CREATE FUNCTION @extschema@.ff_fleet_report(top integer DEFAULT 100) RETURNS text
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT ff_hub.check_role('reader');
    SELECT ff_hub.page(ARRAY(SELECT s FROM @extschema@.ff_fleet s),
                       ARRAY(SELECT a FROM @extschema@.ff_fleet_advice a WHERE a.new IS NOT NULL),
                       (SELECT count(DISTINCT s.system_identifier) FROM ff_hub.source s), top);
END;
COMMENT ON FUNCTION @extschema@.ff_fleet_report(integer) IS
'One HTML page of the fleet: the changes of all sources that save most WAL (at most top; NULL: all), and the state of '
'the sources. To write it: psql -XAtqc "SELECT ff_fleet_report()" > fleet.html
Error 22023: top below 1.';
-- Schedule: ff_fleet_refresh() as pg_cron jobs.

CREATE FUNCTION @extschema@.ff_fleet_schedule(schedule text DEFAULT '*/5 * * * *', parts integer DEFAULT 1)
RETURNS SETOF text
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    jobs CONSTANT text := (SELECT format('fillfactor_advisor, fleet %s ', d.oid)
                             FROM pg_database d WHERE d.datname = current_database());
BEGIN
    PERFORM ff_hub.check_role('collector');
    IF (parts BETWEEN 1 AND 100) IS NOT TRUE THEN
        PERFORM ff_internal.refuse('22023', 'parts must be between 1 and 100');
    END IF;
    -- first remove the jobs of another number of parts
    IF schedule IS NULL OR (ff_internal.cron()).state = 'here' THEN
        RETURN NEXT ff_internal.unschedule_jobs(format('jobname ^@ %L', jobs));
    END IF;
    FOR part IN 1 .. CASE WHEN schedule IS NULL THEN 0 ELSE parts END LOOP
        RETURN NEXT ff_internal.schedule_job(format('%s%s/%s', jobs, part, parts), schedule,
                                             format('CALL ff_hub.fleet_refresh(%s, %s)', part, parts),
                                             'fillfactor_advisor_hub');
    END LOOP;
END
$$;
COMMENT ON FUNCTION @extschema@.ff_fleet_schedule(text, integer) IS
'Schedules ff_fleet_refresh() as pg_cron jobs of the calling role, one per part, and describes each. A NULL schedule '
'removes them. Otherwise like ff_schedule().';
-- Rights of the hub's objects, and what pg_dump dumps: see give_rights() in sql/base/grant.sql.
CALL ff_internal.give_rights('fillfactor_advisor_hub',
    collecting => '{limits, dblink, connect_timeout, deadline, send, answer, hang_up, check_export, store, failed,
        check_source, weigh, mine, leave, turn, step, begin, fleet_refresh}',
    for_both => '{}', for_all => '{check_version, check_role}');
