-- Stage export: what this database reports to a hub, or to a file. A hub of any version calls ff_internal.export() and
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
               'in_recovery', pg_is_in_recovery(), 'started_at', pg_postmaster_start_time(),
               'server_version', current_setting('server_version_num')::integer,
               'database_oid', d.datid::bigint, 'database', d.datname,
               'collected_at', (SELECT max(c.began_at) FROM ff_internal.collection c),
               'advice', (
                   SELECT coalesce(jsonb_agg(jsonb_build_object(
                              'oid', a.relation::oid::bigint,
                              'relation', ff_internal.quoted_name((v.evidence).nspname::text) || '.'
                                          || ff_internal.quoted_name((v.evidence).relname::text),
                              'fillfactor', a.fillfactor, 'advised', nullif(a.recommended_fillfactor, a.fillfactor),
                              'action', a.action, 'confidence', a.confidence, 'provisional', a.provisional,
                              'why', v.phrase, 'gain_pct', a.gain_pct,
                              'wal_bytes_per_day_saved', a.wal_bytes_per_day_saved,
                              'disk_bytes_change', a.disk_bytes_change, 'updates_per_s', a.updates_per_s,
                              'input', CASE WHEN a.action IN ('lower', 'raise') AND v.shards IS NULL
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
      FROM ff_internal.server() s
      JOIN pg_stat_database d ON d.datname = current_database());

-- What ff_export(true) adds.
CREATE FUNCTION ff_internal.export_figures() RETURNS jsonb
LANGUAGE sql STABLE
RETURN jsonb_build_object(
    'verdicts', (SELECT coalesce(jsonb_agg(v), '[]') FROM ff_internal.verified(NULL, true) v),
    'blockers', (SELECT coalesce(jsonb_agg(b), '[]') FROM ff_internal.blocked() b),
    'curves', (SELECT coalesce(jsonb_object_agg(r.relid::regclass, f.steps), '{}')
                 FROM ff_internal.fit f JOIN ff_internal.followed r USING (rel_id) WHERE f.steps IS NOT NULL));

CREATE FUNCTION @extschema@.ff_export(everything boolean DEFAULT false) RETURNS jsonb
LANGUAGE sql STABLE
AS $$
    SELECT ff_internal.check_role('reader');
    SELECT ff_internal.export() || CASE WHEN everything THEN ff_internal.export_figures() ELSE '{}' END
$$;
COMMENT ON FUNCTION @extschema@.ff_export(boolean) IS
'What this database reports to a hub, as one document with a format number: identity, versions, and the advice of the '
'last collection; on a standby also how often each table was read there. ff_import() on the hub reads it from a '
'file. everything: also, for tools, verdicts (as of ff_verify(), with all measures and intervals), blockers (as of '
'ff_blockers()) and curves (the steps of all fits) as numbers. It contains names of tables, columns and indexes, but '
'none of their values; with everything also statements as pg_stat_statements shows them.';

-- The script of ff_script() as one text, for a hub.
CREATE FUNCTION ff_internal.export_script(rewrite boolean, top integer) RETURNS text
LANGUAGE sql VOLATILE
RETURN (SELECT string_agg(l.line, E'\n' ORDER BY l.place)
          FROM ff_internal.script(ff_internal.plan(NULL, top), rewrite) WITH ORDINALITY l(line, place));
