-- Memory: how much of it may hold tables.

CREATE FUNCTION @extschema@.ff_memory(OUT source text, OUT bytes bigint, OUT used boolean, OUT note text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'ff_memory'
LANGUAGE C STRICT VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.ff_memory() IS
'Memory that may hold tables, one row a source: bytes (NULL: unknown or no limit), used (true in the one row that '
'ram_ratio divides by), note. fillfactor_advisor.ram overrides what is detected.';

-- Bytes of the used row of ff_memory().
CREATE FUNCTION ff_internal.ram_bytes() RETURNS bigint
AS 'MODULE_PATHNAME', 'ff_ram_bytes'
LANGUAGE C STRICT STABLE PARALLEL SAFE;
