-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION fillfactor_advisor" to load this file. \quit

-- Nothing below can be bound to an operator or function of somebody else's:
-- the extension's own objects are always written with their schema.
SET LOCAL search_path TO pg_catalog, pg_temp;
