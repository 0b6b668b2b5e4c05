-- What this database reports to a hub, or to a file. A hub of any version calls ff_internal.export() and
-- ff_internal.export_script(), so their names and arguments and the meaning of the keys must not change.

-- Format that is written, and the highest that can be read. A key with a new meaning needs a new format.
CREATE FUNCTION ff_internal.export_format() RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 1;

-- Keys: input: the model's input, for a change that reads on standbys may affect. reads: on a standby only.
CREATE FUNCTION ff_internal.export() RETURNS jsonb
LANGUAGE sql STABLE
RETURN (
    SELECT jsonb_strip_nulls(to_jsonb(o)) FROM (
        SELECT ff_internal.export_format() AS format, clock_timestamp() AS exported_at,
               (SELECT e.extversion FROM pg_extension e WHERE e.extname = 'fillfactor_advisor') AS version,
               ff_internal.model_version() AS model_version, s.system_identifier::text AS system_identifier,
               s.timeline, s.in_recovery, s.server_version, s.database_oid::bigint AS database_oid, s.database,
               coalesce(s.observed->>'started_at', to_jsonb(pg_postmaster_start_time()) #>> '{}') AS started_at,
               (SELECT max(c.began_at) FROM ff_internal.collection c) AS collected_at,
               (SELECT coalesce(jsonb_agg(x), '[]') FROM (
                    SELECT a.relation::oid::bigint AS oid,
                           ff_internal.quoted_name((v.evidence).nspname, (v.evidence).relname) AS relation,
                           a.fillfactor, nullif(a.recommended_fillfactor, a.fillfactor) AS advised, a.action,
                           a.confidence, a.provisional, v.phrase AS why, a.gain_pct,
                           extract(epoch FROM a.observed) AS observed_s,
                           v.wal_saved::bigint AS wal_bytes_per_day_saved, a.cpu_seconds_per_day_saved,
                           a.disk_bytes_change, a.updates_per_s,
                           CASE WHEN a.ddl <> '' AND v.shards IS NULL
                                THEN to_jsonb(ff_internal.model_input(v.evidence)) END AS input
                      FROM ff_internal.advice() v CROSS JOIN LATERAL (SELECT (v.advice).*) a
                     WHERE a.cause <> 'not_examined') x) AS advice,
               CASE WHEN pg_is_in_recovery() THEN (SELECT coalesce(jsonb_agg(x), '[]') FROM (
                    SELECT t.relid::bigint AS oid, coalesce(t.seq_scan, 0) AS seq_scans,
                           coalesce(t.idx_scan, 0) AS index_scans, io.heap_blks_read + io.heap_blks_hit AS blocks,
                           -- the table's own, from PostgreSQL 19 on
                           coalesce(to_jsonb(t)->>'stats_reset', to_jsonb(d.stats_reset) #>> '{}') AS since
                      FROM pg_stat_user_tables t JOIN pg_statio_user_tables io USING (relid)
                     WHERE t.seq_scan > 0 OR t.idx_scan > 0) x) END AS reads
          FROM ff_internal.server s JOIN pg_stat_database d ON d.datname = current_database()) o);

CREATE FUNCTION @extschema@.ff_export() RETURNS jsonb
LANGUAGE sql STABLE
AS $$
    SELECT ff_internal.check_role('reader');
    SELECT ff_internal.export()
$$;
COMMENT ON FUNCTION @extschema@.ff_export() IS
'What this database reports to a hub, as one document with a format number: identity, versions, and the advice of the '
'last collection; on a standby also how often each table was read there. ff_import() on the hub reads it from a file. '
'It contains names of tables, columns and indexes, but none of their values.';

-- The script of ff_script() as one text, for a hub.
CREATE FUNCTION ff_internal.export_script(rewrite boolean, top integer) RETURNS text
LANGUAGE sql VOLATILE
RETURN (SELECT string_agg(l.line, E'\n' ORDER BY l.place)
          FROM ff_internal.script(ff_internal.script_plan(NULL, top), rewrite) WITH ORDINALITY l(line, place));
