-- The extension installs, has descriptions, and leaves nothing behind when dropped.
-- Only facts that later stages do not change.
CREATE SCHEMA advisor;
CREATE EXTENSION fillfactor_advisor SCHEMA advisor;
SELECT extname, extrelocatable, n.nspname
  FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
 WHERE extname = 'fillfactor_advisor';
-- the schema cannot be changed after CREATE EXTENSION
ALTER EXTENSION fillfactor_advisor SET SCHEMA public;
-- every function has a description; functions bound when
-- called, not when created, have a fixed search_path; none is SECURITY DEFINER
SELECT p.proname
  FROM pg_proc p
 WHERE pronamespace = 'advisor'::regnamespace
   AND obj_description(p.oid, 'pg_proc') IS NULL
 ORDER BY 1;
SELECT p.proname
  FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
 WHERE pronamespace = 'advisor'::regnamespace AND l.lanname <> 'c'
   AND NOT 'search_path=pg_catalog, pg_temp' = ANY (coalesce(proconfig, '{}'))
   AND p.prokind <> 'p' AND p.prosqlbody IS NULL
 ORDER BY 1;
SELECT p.proname
  FROM pg_proc p
 WHERE pronamespace = 'advisor'::regnamespace AND prosecdef
 ORDER BY 1;
DROP EXTENSION fillfactor_advisor;
SELECT count(*) FROM pg_proc WHERE pronamespace = 'advisor'::regnamespace;
SELECT count(*) FROM pg_class WHERE relnamespace = 'advisor'::regnamespace;
SELECT count(*) FROM pg_type WHERE typnamespace = 'advisor'::regnamespace;
DROP SCHEMA advisor;
