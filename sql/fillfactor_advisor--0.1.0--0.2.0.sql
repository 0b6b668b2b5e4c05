-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION fillfactor_advisor UPDATE TO '0.2.0'" to load this file. \quit

-- Nothing below can be bound to an operator or function of somebody else's:
-- the extension's own objects are always written with their schema.
SET LOCAL search_path TO pg_catalog, pg_temp;

-- A function of one of our names, put here by somebody else since, could be
-- taken for ours.
DO $$
DECLARE
    stranger text;
BEGIN
    SELECT p.oid::regprocedure::text INTO stranger
      FROM pg_proc p JOIN pg_extension e ON e.extnamespace = p.pronamespace
     WHERE e.extname = 'fillfactor_advisor' AND p.proname ^@ 'ff_'
       AND NOT EXISTS (SELECT 1 FROM pg_depend d
                        WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
                          AND d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid)
     LIMIT 1;
    IF stranger IS NOT NULL THEN
        RAISE 'function % is in the way', stranger
            USING ERRCODE = 'duplicate_function',
                  DETAIL = 'Functions whose names begin with "ff_" must be the extension''s own in the schema that it is installed in.',
                  HINT = 'Drop it, then run ALTER EXTENSION fillfactor_advisor UPDATE again.';
    END IF;
END
$$;
