-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION fillfactor_advisor" to load this file. \quit

-- Nothing below can be bound to an operator or function of somebody else's:
-- the extension's own objects are always written with their schema.
SET LOCAL search_path TO pg_catalog, pg_temp;

-- What is not meant for users lives in a schema of the extension's own. Objects
-- of our names that somebody else made before could be taken for ours.
DO $$
DECLARE
    stranger text;
BEGIN
    SELECT p.oid::regprocedure::text INTO stranger
      FROM pg_proc p JOIN pg_extension e ON e.extnamespace = p.pronamespace
     WHERE e.extname = 'fillfactor_advisor' AND p.proname ^@ 'ff_' LIMIT 1;
    IF stranger IS NOT NULL THEN
        RAISE 'function % is in the way', stranger
            USING ERRCODE = 'duplicate_function',
                  DETAIL = 'In the schema of the extension, functions whose names begin with "ff_" must be its own.',
                  HINT = 'Drop it, or choose another schema: CREATE EXTENSION fillfactor_advisor SCHEMA ...';
    ELSIF EXISTS (SELECT 1 FROM pg_namespace n WHERE n.nspname = 'ff_internal') THEN
        RAISE 'schema "ff_internal" already exists'
            USING ERRCODE = 'duplicate_schema',
                  DETAIL = 'The extension makes this schema itself and keeps its tables and inner functions there.',
                  HINT = 'Drop the schema or rename it.';
    END IF;
END
$$;

CREATE SCHEMA ff_internal;
COMMENT ON SCHEMA ff_internal IS 'Tables and inner functions of the extension fillfactor_advisor.';
