-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION fillfactor_advisor_hub" to load this file. \quit

-- Everything received is data: typed, bounded by checks, and replaced as a whole by the next answer, so nothing grows.
--
-- No object of the hub depends on one of the core: bodies that name those are texts. So the core can be upgraded alone,
-- and check_version() then says what to do.

-- Nothing below can be bound to an operator or function of somebody else's.
SET LOCAL search_path TO pg_catalog, pg_temp;

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_namespace n WHERE n.nspname = 'ff_hub') THEN
        RAISE 'schema "ff_hub" already exists'
            USING ERRCODE = 'duplicate_schema',
                  DETAIL = 'The extension makes this schema itself and keeps its tables and inner functions there.',
                  HINT = 'Drop the schema or rename it.';
    END IF;
END
$$;

CREATE SCHEMA ff_hub;
GRANT USAGE ON SCHEMA ff_hub TO PUBLIC;
COMMENT ON SCHEMA ff_hub IS 'Tables and inner functions of the extension fillfactor_advisor_hub.';
