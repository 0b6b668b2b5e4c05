-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION ... UPDATE" to load this file. \quit

-- Nothing below can be bound to an operator or function of somebody else's.
SET LOCAL search_path TO pg_catalog, pg_temp;
