-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION ... UPDATE" to load this file. \quit

-- Nothing below can be bound to an operator or function of somebody else's.
SET LOCAL search_path TO pg_catalog, pg_temp;

-- Error 55000 if this session loaded the library before the upgrade: functions of the new one would be missing in it.
SELECT ff_internal.check_role('reader');
