-- Stage export: what this database says of itself to a hub, or to a file.
--
-- The hub calls ff_internal.export() and ff_internal.export_script() by name, of
-- whatever version this one is: their names, arguments and the meaning of the
-- keys stay. A new key is no new format; a key that means something else is.

-- Format of the export that this version writes, and the highest that it reads.
CREATE FUNCTION ff_internal.export_format() RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 1;

-- Rows of advice of the export, from stored fits only: a hub never makes a source ask its model. input: what the model
-- was given, where the reads of standbys could turn its answer.
CREATE FUNCTION ff_internal.export_advice() RETURNS jsonb
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
               'oid', a.relation::oid::bigint,
               'relation', ff_internal.quoted_name((a.evidence).nspname::text) || '.'
                           || ff_internal.quoted_name((a.evidence).relname::text),
               'fillfactor', a.fillfactor, 'advised', nullif(a.recommended_fillfactor, a.fillfactor),
               'action', a.action, 'cause', a.cause, 'confidence', a.confidence, 'provisional', a.provisional,
               'why', a.phrase, 'reason', CASE WHEN c.changes THEN a.reason END, 'gain_pct', a.gain_pct,
               'wal_bytes_per_day_saved', a.wal_bytes_per_day_saved, 'disk_bytes_change', a.disk_bytes_change,
               'size_bytes', a.size_bytes, 'updates_per_s', a.updates_per_s, 'hot_pct', a.hot_pct,
               'input', CASE WHEN c.changes AND (a.decision).shards IS NULL
                             THEN to_jsonb(ff_internal.model_input(a.evidence, coalesce(
                                      (d.diagnosis).indexed_share, ff_internal.indexed_share(a.evidence)))) END)))
      FROM ff_internal.advice(NULL, 0) a
     CROSS JOIN LATERAL unnest(ARRAY[a.decision]) d
     CROSS JOIN LATERAL (SELECT a.action IN ('lower', 'raise') AS changes) c
     WHERE a.cause <> 'not_examined'
$$;

-- Scans and heap pages asked for of each table that was read, by this server's own counters.
CREATE FUNCTION ff_internal.export_reads() RETURNS jsonb
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT jsonb_agg(jsonb_build_object('oid', s.relid::bigint, 'seq_scans', coalesce(s.seq_scan, 0),
               'index_scans', coalesce(s.idx_scan, 0), 'blocks', io.heap_blks_read + io.heap_blks_hit,
               -- of this table alone, from PostgreSQL 19 on
               'since', to_jsonb(s)->'stats_reset'))
      FROM pg_stat_user_tables s
      JOIN pg_statio_user_tables io USING (relid)
     WHERE s.seq_scan > 0 OR s.idx_scan > 0
$$;

CREATE FUNCTION ff_internal.export() RETURNS jsonb
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT jsonb_strip_nulls(jsonb_build_object(
               'format', ff_internal.export_format(),
               'version', (SELECT e.extversion FROM pg_extension e WHERE e.extname = 'fillfactor_advisor'),
               'model_version', ff_internal.model_version(),
               'exported_at', clock_timestamp(),
               'system_identifier', s.system_identifier::text,
               'timeline', s.timeline,
               'in_recovery', pg_is_in_recovery(),
               'started_at', pg_postmaster_start_time(),
               'server_version', current_setting('server_version_num')::integer,
               'cluster_name', nullif(current_setting('cluster_name'), ''),
               'database_oid', d.oid::bigint,
               'database', d.datname,
               'counters_since', (SELECT t.stats_reset FROM pg_stat_database t WHERE t.datid = d.oid),
               'collected_at', (SELECT max(c.began_at) FROM ff_internal.collection c),
               'advice', coalesce(ff_internal.export_advice(), '[]'),
               -- a primary's own reads are in its advice
               'reads', CASE WHEN pg_is_in_recovery() THEN coalesce(ff_internal.export_reads(), '[]') END))
      FROM ff_internal.server() s
      JOIN pg_database d ON d.datname = current_database()
$$;

CREATE FUNCTION @extschema@.ff_export() RETURNS jsonb
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT ff_internal.check_role('reader');
    SELECT ff_internal.export()
$$;
COMMENT ON FUNCTION @extschema@.ff_export() IS
'What a hub is told of this database, see ff_fleet_add(), as one document with a format number: identity of server '
'and database, versions, and the advice as of the last collection, one element a table. On a standby also how often '
'each table was read there. Written to a file, ff_import() on the hub reads it. It holds names of tables, columns '
'and indexes, and no values of theirs.';

-- The script of ff_script() in one text, for a hub.
CREATE FUNCTION ff_internal.export_script(rewrite boolean, top integer) RETURNS text
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT string_agg(l.line, E'\n' ORDER BY l.place)
      FROM ff_internal.script(ff_internal.plan(NULL, top), rewrite) WITH ORDINALITY l(line, place)
$$;
