-- Memory that may hold tables.

-- Memory of the machine, and the lowest limit of the server's control groups, bytes; NULL: unknown, none. note: where
-- the limit was found.
CREATE FUNCTION ff_internal.machine_memory(OUT ram bigint, OUT container_limit bigint, OUT note text)
AS 'MODULE_PATHNAME', 'ff_machine_memory'
LANGUAGE C STRICT VOLATILE PARALLEL SAFE;

CREATE FUNCTION @extschema@.ff_memory(OUT source text, OUT bytes bigint, OUT used boolean, OUT note text)
RETURNS SETOF record
LANGUAGE sql VOLATILE PARALLEL SAFE
AS $$
    SELECT ff_internal.check_role('reader');
    SELECT v.source, v.bytes, row_number() OVER (ORDER BY v.bytes IS NULL, v.rank, v.bytes) = 1, v.note
      FROM (SELECT EXISTS (SELECT FROM ff_internal.observed o WHERE o.kind = 'server')) o(mirror)
      -- of this machine, not of the source's
      LEFT JOIN ff_internal.machine_memory() m ON NOT o.mirror
     CROSS JOIN LATERAL (
           VALUES (1, 'fillfactor_advisor.ram', 1048576 * nullif(ff_internal.setting('ram')::bigint, 0),
                   'setting, overrides what is detected; 0: detect'),
                  (2, 'ram', m.ram, CASE WHEN o.mirror THEN 'unknown of the source: set fillfactor_advisor.ram here'
                                         ELSE 'memory of the machine' END),
                  (2, 'container limit', m.container_limit, m.note),
                  (3, 'effective_cache_size', pg_size_bytes(ff_internal.server_setting('effective_cache_size')),
                   'what the planner is told, not a measurement')) v(rank, source, bytes, note)
     ORDER BY v.rank, v.source DESC
$$;
COMMENT ON FUNCTION @extschema@.ff_memory() IS
'Memory that may hold tables, one row per source: bytes (NULL: unknown or no limit), used (true in the one row that '
'ram_ratio divides by), note. fillfactor_advisor.ram overrides what is detected.';

-- Bytes of the used row of ff_memory().
CREATE FUNCTION ff_internal.ram_bytes() RETURNS bigint
LANGUAGE sql VOLATILE PARALLEL SAFE
RETURN (SELECT m.bytes FROM @extschema@.ff_memory() m WHERE m.used);
