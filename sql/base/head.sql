-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION fillfactor_advisor" to load this file. \quit

-- Nothing below can be bound to an operator or function of somebody else's.
SET LOCAL search_path TO pg_catalog, pg_temp;

CREATE SCHEMA ff_internal;
GRANT USAGE ON SCHEMA ff_internal TO PUBLIC;
COMMENT ON SCHEMA ff_internal IS 'Tables and inner functions of the extension fillfactor_advisor.';
