
-- Memory: how much of it may hold tables.

CREATE FUNCTION @extschema@.ff_memory(
    OUT source text,
    OUT bytes bigint,
    OUT used boolean,
    OUT note text
) RETURNS SETOF record
AS 'MODULE_PATHNAME', 'ff_memory'
LANGUAGE C STRICT VOLATILE PARALLEL SAFE;
REVOKE ALL ON FUNCTION @extschema@.ff_memory() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_memory() TO pg_read_all_stats;
COMMENT ON FUNCTION @extschema@.ff_memory() IS
'memory that may hold tables, one row a source: bytes (NULL: unknown or no limit), used (true in the one row that ram_ratio divides by), note; fillfactor_advisor.ram overrides what is detected';

-- The divisor of ram_ratio.
CREATE FUNCTION @extschema@.ff_ram_bytes() RETURNS bigint
AS 'MODULE_PATHNAME', 'ff_ram_bytes'
LANGUAGE C STRICT STABLE PARALLEL SAFE;
REVOKE ALL ON FUNCTION @extschema@.ff_ram_bytes() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_ram_bytes() TO pg_read_all_stats;
COMMENT ON FUNCTION @extschema@.ff_ram_bytes() IS
'internal: bytes of memory that tables are compared with, the used row of ff_memory()';

CREATE FUNCTION @extschema@.ff_memory_parse(kind text, content text, mounts text DEFAULT '') RETURNS text
AS 'MODULE_PATHNAME', 'ff_memory_parse'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
REVOKE ALL ON FUNCTION @extschema@.ff_memory_parse(text, text, text) FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.ff_memory_parse(text, text, text) IS
'internal, for tests: what is read out of the content of a file of kind meminfo, limit or cgroup; reads no file';
