-- Makes a database a mirror: of a server that it asks, or of one whose observations are imported.

-- Error unless this database may become the mirror of this source, or is it.
CREATE FUNCTION ff_hub.check_mirror(server name) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    m ff_hub.mirror;
BEGIN
    PERFORM ff_hub.find_restored();
    SELECT * INTO m FROM ff_hub.mirror;
    IF m.only_one IS NULL AND EXISTS (SELECT FROM ff_internal.relation) THEN
        PERFORM ff_internal.refuse('55000', format('database %I has a history of its own tables', current_database()),
            NULL, 'A mirror needs a database of its own: CREATE DATABASE ...');
    ELSIF m.server IS NOT NULL AND server IS NULL THEN
        PERFORM ff_internal.refuse('55000', format('this mirror asks server %I', m.server), NULL,
            'Import files in another database.');
    END IF;
END
$$;

-- What a mirror says of itself after a collection.
CREATE FUNCTION ff_hub.mirror_words() RETURNS SETOF text
LANGUAGE sql STABLE
AS $$
    SELECT w.line
      FROM ff_internal.observed o
     CROSS JOIN (SELECT count(*) FILTER (WHERE m.table_oid IS NULL) AS tables,
                        count(*) FILTER (WHERE m.table_oid IS NOT NULL) AS indexes FROM ff_hub.mirrored m) n
     CROSS JOIN LATERAL (
           SELECT 1, format('mirror of database %I%s, PostgreSQL %s, read at %s: %s, %s', o.said->>'database',
                            ' on ' || (o.said->>'host'), (o.said->>'server_version')::integer / 10000,
                            date_trunc('second', (o.said->>'read_at')::timestamptz),
                            ff_internal.counted(n.tables, 'table'),
                            n.indexes || CASE n.indexes WHEN 1 THEN ' index' ELSE ' indexes' END)
           UNION ALL
           SELECT 2, format('not readable: %s. On the source: %s;', d->>'what', d->>'grant')
             FROM jsonb_array_elements(o.said->'denied') d
           UNION ALL
           SELECT 3, 'statements: ' || (s.said->>'reason') FROM ff_internal.observed s WHERE s.kind = 'statements'
           UNION ALL
           SELECT 3, 'the source is a standby: it counts no writes; a mirror of the primary knows them'
            WHERE (o.said->>'in_recovery')::boolean
           UNION ALL
           SELECT 4, 'not here: ' || u FROM jsonb_array_elements_text(o.said->'unread') u
           UNION ALL
           SELECT 5, 'not found in the source, and kept for a day: ' || ff_internal.counted(count(*), 'table')
             FROM ff_hub.mirrored m WHERE m.source_oid IS NULL HAVING count(*) > 0) w(place, line)
     WHERE o.kind = 'server' AND w.line IS NOT NULL
     ORDER BY w.place, w.line
$$;

CREATE FUNCTION @extschema@.ff_mirror(server name) RETURNS SETOF text
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    PERFORM ff_hub.check_role('collector');
    PERFORM ff_hub.check_mirror(server);
    PERFORM ff_hub.connect_timeout(server);
    INSERT INTO ff_hub.mirror AS m (server) VALUES (server)
    ON CONFLICT (only_one) DO UPDATE SET server = EXCLUDED.server;
    -- a collection asks the source of a mirror
    INSERT INTO ff_internal.observed (kind, id, said) VALUES ('server', 0, jsonb_build_object('server', server))
    ON CONFLICT (kind, id) DO UPDATE SET said = observed.said || EXCLUDED.said;
    CALL ff_internal.collect();
    RETURN QUERY SELECT * FROM ff_hub.mirror_words();
END
$$;
COMMENT ON FUNCTION @extschema@.ff_mirror(name) IS
'Makes this database the mirror of a database on which nothing is installed: makes its tables here, empty, and '
'collects for the first time. From then on CALL ff_collect() reads the source by one read-only statement, follows its '
'changes, and everything else is about the source''s tables. Called again, it collects; with another server, it goes '
'on there, with the tables of the same names. Returns what it found, what it may not read, and what is not made yet.
server: a foreign server of dblink_fdw or postgres_fdw, with a connect_timeout of 2 to 10 seconds and a user mapping '
'for a role of the source that has pg_monitor.
Errors: 42704 no such server, 22023 no such timeout or not an answer, 55000 the database has a history of its own, and '
'those of the connection and the source.';

CREATE FUNCTION @extschema@.ff_mirror_import(observation jsonb) RETURNS SETOF text
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    PERFORM ff_hub.check_role('collector');
    PERFORM ff_hub.check_mirror(NULL);
    INSERT INTO ff_hub.mirror (server) VALUES (NULL) ON CONFLICT DO NOTHING;
    PERFORM ff_hub.find_restored();
    PERFORM ff_hub.take(observation, NULL);
    CALL ff_internal.collect();
    RETURN QUERY SELECT * FROM ff_hub.mirror_words();
END
$$;
COMMENT ON FUNCTION @extschema@.ff_mirror_import(jsonb) IS
'For a mirror whose source cannot be connected to: reads one file that psql -XAtf observe.sql wrote there, as '
'ff_mirror() reads an answer, and collects. Files are imported in the order in which they were written, two or more '
'with work in between. Returns what it found.
Errors: 22023 not such a file, 0A000 a later format, 55000 older than what is collected, the database has a history of '
'its own, or the mirror asks a server.';
