-- The settings of the extension (src/module.c), for its SQL functions.

CREATE FUNCTION @extschema@.ff_setting(name text) RETURNS text
LANGUAGE c STRICT STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'ff_setting';
COMMENT ON FUNCTION @extschema@.ff_setting(text) IS 'Value of the setting fillfactor_advisor.NAME, also where the library was not loaded yet. Error 42704 where there is none of that name.';
REVOKE ALL ON FUNCTION @extschema@.ff_setting(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_setting(text) TO pg_read_all_stats, pg_stat_scan_tables;
