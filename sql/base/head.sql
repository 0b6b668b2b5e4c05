-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION fillfactor_advisor" to load this file. \quit

-- Nothing below can be bound to an operator or function of somebody else's.
SET LOCAL search_path TO pg_catalog, pg_temp;

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_namespace n WHERE n.nspname = 'ff_internal') THEN
        RAISE 'schema "ff_internal" already exists'
            USING ERRCODE = 'duplicate_schema',
                  DETAIL = 'The extension makes this schema itself and keeps its tables and inner functions there.',
                  HINT = 'Drop the schema or rename it.';
    END IF;
END
$$;

CREATE SCHEMA ff_internal;
COMMENT ON SCHEMA ff_internal IS 'Tables and inner functions of the extension fillfactor_advisor.';
