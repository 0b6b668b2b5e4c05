-- The server and database that are observed: this one, or in a mirror its source. Readers look into the table observed
-- first, which is empty elsewhere. In a mirror, where server.observed is not NULL, sizes and counters come from the
-- source's word, pages and disks are not seen, and words say so.

-- Identifier of this cluster, its WAL timeline, and OID of this database.
CREATE FUNCTION ff_internal.own_server(OUT system_identifier bigint, OUT timeline bigint, OUT database_oid oid)
LANGUAGE c STRICT VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'ff_server';

CREATE VIEW ff_internal.server AS
SELECT coalesce(x.system_identifier, s.system_identifier) AS system_identifier,
       coalesce(x.timeline, s.timeline) AS timeline, coalesce(x.database_oid, s.database_oid) AS database_oid,
       coalesce(x.database, current_database()) AS database,
       coalesce(x.server_version, current_setting('server_version_num')::integer) AS server_version,
       coalesce(x.in_recovery, pg_is_in_recovery()) AS in_recovery,
       CASE WHEN o.said IS NOT NULL THEN coalesce(x.hot_indexed, false)
            ELSE EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = 'pg_stat_all_tables'::regclass
                            AND a.attname = 'n_tup_hot_indexed_upd') END AS hot_indexed,
       CASE WHEN o.said IS NULL THEN pg_stat_get_db_stat_reset_time(s.database_oid) ELSE x.database_reset END
           AS database_reset,
       CASE WHEN o.said IS NULL THEN pg_stat_get_bgwriter_stat_reset_time() ELSE x.cluster_reset END AS cluster_reset,
       -- where the source denied it, the identifier is made up
       CASE WHEN o.said @? '$.denied[*] ? (@.what starts with "pg_control_system")' THEN NULL
            ELSE coalesce(x.system_identifier, s.system_identifier) END AS cluster,
       o.said AS observed
  FROM ff_internal.own_server() s
  LEFT JOIN ff_internal.observed o ON o.kind = 'server' AND o.id = 0
  LEFT JOIN LATERAL jsonb_to_record(o.said) x(
            system_identifier bigint, timeline bigint, database_oid oid, database name, server_version integer,
            in_recovery boolean, hot_indexed boolean, database_reset timestamptz, cluster_reset timestamptz)
         ON true;
COMMENT ON VIEW ff_internal.server IS
'The observed server and database, one row. hot_indexed: it counts updates that are HOT although an indexed column '
'changed, as a later PostgreSQL may, so that no index is in the way. database_reset, cluster_reset: when the '
'statistics of the database and of the background writer were reset. cluster: the identifier, NULL if the source '
'denied it. observed: all that the source of a mirror said; NULL elsewhere.';

-- The time that the last collection's numbers are of: now, or when the source of a mirror was read.
CREATE FUNCTION ff_internal.observed_at() RETURNS timestamptz
LANGUAGE sql VOLATILE
RETURN coalesce((SELECT (o.said->>'read_at')::timestamptz FROM ff_internal.observed o
                  WHERE o.kind = 'server' AND o.id = 0), clock_timestamp());

CREATE VIEW ff_internal.server_settings AS
SELECT s.name, s.reset_val, s.unit, s.enumvals
  FROM pg_settings s WHERE NOT EXISTS (SELECT FROM ff_internal.observed o WHERE o.kind = 'server')
UNION ALL
SELECT k.key, k.value->>'value', k.value->>'unit', NULL
  FROM ff_internal.observed o CROSS JOIN LATERAL jsonb_each(o.said->'settings') k
 WHERE o.kind = 'server';
COMMENT ON VIEW ff_internal.server_settings IS 'Settings of the observed server; columns as in pg_settings.';

-- Warns that what sessions of other roles do is not known, if the source of a mirror denied it.
CREATE FUNCTION ff_internal.warn_unless_seen() RETURNS void
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    lack CONSTANT jsonb := (
        SELECT jsonb_path_query_first(o.said, '$.denied[*] ? (@.what starts with "sessions")')
          FROM ff_internal.observed o WHERE o.kind = 'server');
BEGIN
    IF lack IS NOT NULL THEN
        RAISE WARNING 'the source denied %', lack->>'what' USING HINT = format('On the source: %s;', lack->>'grant');
    END IF;
END
$$;

-- A value and unit of pg_settings in the form for SET: 256 of 8kB is 2048kB.
CREATE FUNCTION ff_internal.setting_shown(value text, unit text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN value ~ '^(?=.*[1-9])[0-9]{1,18}([.][0-9]{1,9})?$' AND unit ~ '^[0-9]{0,9}[A-Za-z]+$'
            THEN value::numeric * coalesce(substring(unit, '^[0-9]+')::numeric, 1) || ltrim(unit, '0123456789')
            ELSE value END;

-- A setting of the observed server, as SHOW says it; NULL: there is none of that name.
CREATE FUNCTION ff_internal.server_setting(name text) RETURNS text
LANGUAGE sql STABLE
RETURN (SELECT CASE WHEN o.said IS NULL THEN current_setting(server_setting.name, true)
                    ELSE ff_internal.setting_shown(s.own->>'value', s.own->>'unit') END
          FROM (SELECT) one
          LEFT JOIN ff_internal.observed o ON o.kind = 'server' AND o.id = 0
         CROSS JOIN LATERAL (SELECT o.said->'settings'->server_setting.name) s(own));
