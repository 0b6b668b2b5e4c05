-- Whether the rehearsal of the document in the file $FF_DOCUMENT can run here. Prints why not, or nothing; then the
-- fillfactors compared, bytes of a row with its indexes, new rows in 1,000 updates, and MB of WAL that are kept.
\set document `cat "$FF_DOCUMENT"`
SELECT CASE
    WHEN d.d->>'format' IS DISTINCT FROM '1' THEN 'this is not a document of ff_rehearsal(), or one of another version'
    WHEN s.system_identifier::text = d.d->'source'->>'system_identifier'
        THEN 'this is the server that the advice is for, or a clone of it'
    WHEN current_setting('server_version_num')::integer / 10000 < (d.d->'source'->>'version')::integer
        THEN 'this server is older than the one that the advice is for, PostgreSQL ' || (d.d->'source'->>'version')
    WHEN pg_is_in_recovery() THEN 'this server is a standby'
    WHEN current_setting('block_size') <> '8192' THEN 'the block size of this server is not 8 kB'
    WHEN to_regnamespace('ff_rehearsal') IS NOT NULL THEN 'the schema ff_rehearsal exists: another rehearsal is '
        || 'running in this database, or was killed; if so, DROP SCHEMA ff_rehearsal CASCADE'
    WHEN NOT has_database_privilege(current_database(), 'CREATE') THEN 'no CREATE privilege on this database'
    WHEN EXISTS (SELECT FROM pg_class c WHERE c.oid >= 16384 AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
                    AND c.relpersistence <> 't' AND NOT EXISTS (SELECT FROM pg_depend d
                    WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'))
        THEN 'this database is not empty'
    WHEN (d.d->>'from')::integer NOT BETWEEN 10 AND 100 OR (d.d->>'to')::integer NOT BETWEEN 10 AND 100
        THEN 'the document has a fillfactor that is not from 10 to 100' END
  FROM pg_control_system() s, (SELECT :'document'::jsonb) d(d);
SELECT (d->>'from')::integer, (d->>'to')::integer, least(1e6, (d->'table'->>'row_bytes')::numeric)::integer,
       (SELECT coalesce(sum(1000 * least(1e6, (c->>'rate')::numeric)), 0)::bigint
          FROM jsonb_array_elements(d->'workload'->'classes') c WHERE c->>'command' = 'insert'),
       pg_size_bytes(current_setting('max_wal_size')) / 1048576
  FROM (SELECT :'document'::jsonb) d(d);
