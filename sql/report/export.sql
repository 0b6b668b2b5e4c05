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
    SELECT jsonb_strip_nulls(jsonb_build_object(
               'format', ff_internal.export_format(), 'exported_at', clock_timestamp(),
               'version', (SELECT e.extversion FROM pg_extension e WHERE e.extname = 'fillfactor_advisor'),
               'model_version', ff_internal.model_version(),
               'system_identifier', s.system_identifier::text, 'timeline', s.timeline,
               'in_recovery', s.in_recovery,
               'started_at', coalesce(s.observed->>'started_at', to_jsonb(pg_postmaster_start_time()) #>> '{}'),
               'server_version', s.server_version, 'database_oid', s.database_oid::bigint, 'database', s.database,
               'collected_at', (SELECT max(c.began_at) FROM ff_internal.collection c),
               'advice', (
                   SELECT coalesce(jsonb_agg(jsonb_build_object(
                              'oid', a.relation::oid::bigint,
                              'relation', ff_internal.quoted_name((v.evidence).nspname, (v.evidence).relname),
                              'fillfactor', a.fillfactor, 'advised', nullif(a.recommended_fillfactor, a.fillfactor),
                              'action', a.action, 'confidence', a.confidence, 'provisional', a.provisional,
                              'why', v.phrase, 'gain_pct', a.gain_pct, 'observed_s', extract(epoch FROM a.observed),
                              'wal_bytes_per_day_saved', v.wal_saved::bigint,
                              'cpu_seconds_per_day_saved', a.cpu_seconds_per_day_saved,
                              'disk_bytes_change', a.disk_bytes_change, 'updates_per_s', a.updates_per_s,
                              'input', CASE WHEN a.ddl <> '' AND v.shards IS NULL
                                            THEN to_jsonb(ff_internal.model_input(v.evidence)) END)), '[]')
                     FROM ff_internal.advice() v CROSS JOIN LATERAL (SELECT (v.advice).*) a
                    WHERE a.cause <> 'not_examined'),
               'reads', CASE WHEN pg_is_in_recovery() THEN (
                   SELECT coalesce(jsonb_agg(jsonb_build_object(
                              'oid', t.relid::bigint, 'seq_scans', coalesce(t.seq_scan, 0),
                              'index_scans', coalesce(t.idx_scan, 0), 'blocks', io.heap_blks_read + io.heap_blks_hit,
                              -- the table's own, from PostgreSQL 19 on
                              'since', coalesce(to_jsonb(t)->>'stats_reset', to_jsonb(d.stats_reset) #>> '{}'))), '[]')
                     FROM pg_stat_user_tables t
                     JOIN pg_statio_user_tables io USING (relid)
                    WHERE t.seq_scan > 0 OR t.idx_scan > 0) END))
      FROM ff_internal.server s
      JOIN pg_stat_database d ON d.datname = current_database());

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
