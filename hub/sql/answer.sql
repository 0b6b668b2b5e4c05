-- Fetches the answers of a hub's sources with contrib's dblink, through foreign servers. An answer is one text, read as
-- jsonb; its columns are typed and checked here. No part of it is ever executed.

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
           coalesce(max(cardinality(string_to_array(o.option_value, ','))) FILTER (WHERE o.option_name ^@ 'host'), 1)
      INTO timeout, hosts
      FROM pg_foreign_server s LEFT JOIN pg_options_to_table(s.srvoptions) o ON true
     WHERE s.srvname = server GROUP BY s.oid;
    IF NOT FOUND THEN
        PERFORM ff_internal.refuse('42704', format('server %s does not exist', quote_ident(server)), NULL,
            format('CREATE SERVER %I FOREIGN DATA WRAPPER dblink_fdw OPTIONS (host ''...'', dbname ''...'', '
                   'connect_timeout ''3''); and a user mapping with user and password.', server));
    ELSIF (timeout ~ '^[0-9]{1,5}$' AND timeout::integer BETWEEN 2 AND most) IS NOT TRUE THEN
        PERFORM ff_internal.refuse('22023',
            format('server %I has no connect_timeout of 2 to %s seconds', server, most),
            'A host that is down would hold up all the others.',
            format('ALTER SERVER %I OPTIONS (%s connect_timeout ''3'');', server,
                   CASE WHEN timeout IS NULL THEN 'ADD' ELSE 'SET' END));
    END IF;
    RETURN timeout::integer * hosts;
END
$$;

-- Ends the running statement with error 57014 after this time; zero cancels that. See src/base/server.c.
CREATE FUNCTION ff_hub.deadline(span interval) RETURNS void
AS 'MODULE_PATHNAME', 'ff_deadline'
LANGUAGE c VOLATILE;

-- Connects and sends a query that returns one text: read only, with an empty search_path and timeouts a little shorter
-- than patience, in one transaction: nothing stays set in a session that a pooler gives to others next. From PostgreSQL
-- 16 on dblink ignores connect_timeout, so deadline() enforces it, a second later, with error 08001.
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
        format('SET LOCAL transaction_read_only = on; SET LOCAL client_min_messages = error; '
               'SET LOCAL search_path = ''''; SET LOCAL application_name = fillfactor_advisor; SET LOCAL jit = off; '
               'SET LOCAL extra_float_digits = 1; SET LOCAL lock_timeout = %s; SET LOCAL statement_timeout = %s; '
               'SELECT pg_catalog.left(coalesce((%s)::pg_catalog.text, ''null''), %s) LIMIT 1',
               bounds.lock_ms, round(900 * extract(epoch FROM patience)), query, bounds.bytes + 1));
END
$$;

-- Returns the answer on a connection, NULL if there is none yet. Raises the source's error; one that WHEN OTHERS does
-- not catch, or no answer in time, is 38000.
CREATE FUNCTION ff_hub.answer(connection text, asked_at timestamptz DEFAULT NULL, patience interval DEFAULT NULL)
RETURNS text
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
    IF clock_timestamp() > asked_at + patience THEN
        RAISE 'it did not answer within %', patience USING ERRCODE = 'external_routine_exception';
    END IF;
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

-- Sends a query to a foreign server and waits for its answer.
CREATE FUNCTION ff_hub.ask(server name, query text, patience interval DEFAULT (ff_hub.limits()).answer) RETURNS text
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    connection CONSTANT text := 'fillfactor_advisor';
    pause      CONSTANT float8 := 0.01;    -- seconds between checks of the connection, chosen
    began      CONSTANT timestamptz := clock_timestamp();
    answer     text;
BEGIN
    PERFORM ff_hub.hang_up(connection);
    PERFORM ff_hub.send(connection, server, query, patience);
    LOOP
        answer := ff_hub.answer(connection, began, patience);
        EXIT WHEN answer IS NOT NULL;
        PERFORM pg_sleep(pause);
    END LOOP;
    PERFORM ff_hub.hang_up(connection);
    RETURN answer;
EXCEPTION WHEN query_canceled OR OTHERS THEN
    PERFORM ff_hub.hang_up(connection);
    RAISE;
END
$$;

-- Error unless this is an export of a known format.
CREATE FUNCTION ff_hub.check_export(export jsonb) RETURNS void
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    known CONSTANT integer := ff_internal.export_format();
BEGIN
    IF (export @? 'strict $.format ? (@.type() == "number" && @ >= 1 && @ < 1e9 && @ % 1 == 0)'
        AND jsonb_typeof(export->'advice') = 'array'
        AND coalesce(jsonb_typeof(export->'reads'), 'array') = 'array') IS NOT TRUE THEN
        PERFORM ff_internal.refuse('22023', 'this is not an export of the extension', NULL,
                                   'SELECT ff_export() gives one.');
    ELSIF (export->>'format')::numeric > known THEN
        PERFORM ff_internal.refuse('0A000', format('the export has format %s, and this hub reads formats up to %s',
                                                   export->>'format', known), NULL,
                                   'Upgrade the extension on the hub.');
    END IF;
END
$$;

-- Stores a source's answer. If the source is another database than before, its old data are deleted. Advice is
-- replaced; unchanged rows are not written and keep what was weighed. The reads of a standby become rates, from the
-- difference to its last counters unless it or they began anew: a mean over the first day, then a running mean.
CREATE FUNCTION ff_hub.store(id integer, export jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    old     ff_hub.source;
    new     ff_hub.source;
    seconds float8;    -- since the last answer; NULL: restarted
    advice  ff_hub.advice[];
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
    DELETE FROM ff_hub.reads r
     WHERE r.source_id = id
       AND r.relid NOT IN (SELECT (n->>'oid')::bigint FROM jsonb_array_elements(export->'reads') n);
    INSERT INTO ff_hub.reads AS o (source_id, relid, counters, since, observed_s, per_s)
    -- one missing from the last answer had no reads then
    SELECT id, n.oid, c.now, n.since, least(86400, coalesce(seconds, 0)),
           ARRAY(SELECT coalesce(u.now / seconds, 0) FROM unnest(c.now) u(now))
      FROM jsonb_to_recordset(export->'reads')
               n(oid bigint, seq_scans bigint, index_scans bigint, blocks bigint, since timestamptz)
     CROSS JOIN LATERAL (SELECT ARRAY[n.seq_scans, n.index_scans, n.blocks]) c(now)
    ON CONFLICT (source_id, relid) DO UPDATE SET (counters, since, observed_s, per_s) = (
        SELECT EXCLUDED.counters, EXCLUDED.since, least(86400, o.observed_s + coalesce(d.s, 0)),
               ARRAY(SELECT coalesce(u.rate + ((u.now - u.was) / d.s - u.rate)
                                              * least(1, d.s / least(86400, o.observed_s + d.s)), u.rate)
                       FROM unnest(EXCLUDED.counters, o.counters, o.per_s) u(now, was, rate))
          FROM (SELECT CASE WHEN EXCLUDED.since IS NOT DISTINCT FROM o.since AND NOT EXISTS (
                                 SELECT FROM unnest(EXCLUDED.counters, o.counters) u(now, was) WHERE u.now < u.was)
                            THEN seconds END) d(s));
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

-- Error 22023 if the name is invalid.
CREATE FUNCTION ff_hub.check_source(source text) RETURNS void
LANGUAGE sql STABLE
AS $$
    SELECT ff_internal.refuse('22023', 'invalid name of a source: ' || coalesce(quote_literal(source), 'NULL'), NULL,
                              'A name has 1 to 63 characters, all of which can be printed.')
     WHERE (length(source) BETWEEN 1 AND 63 AND source !~ ff_internal.unprintable()) IS NOT TRUE
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
EXCEPTION WHEN data_exception OR integrity_constraint_violation OR cardinality_violation THEN
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
