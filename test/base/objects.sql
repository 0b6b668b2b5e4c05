-- Every object of the extension and of the hub has a comment, and nobody has rights on it except those it is granted
-- to.
BEGIN;
SELECT plan(9);
CREATE SCHEMA own;
CREATE EXTENSION fillfactor_advisor SCHEMA own;
SET client_min_messages = error;
SELECT count(*) > 0 AS dblink FROM pg_available_extensions WHERE name = 'dblink' \gset
\if :dblink
CREATE EXTENSION fillfactor_advisor_hub SCHEMA own CASCADE;
\endif

CREATE VIEW member AS
SELECT d.classid, d.objid FROM pg_depend d
	JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
 WHERE e.extname IN ('fillfactor_advisor', 'fillfactor_advisor_hub') AND d.deptype = 'e';

SELECT cmp_ok(count(*), '>', 20::bigint, 'the extension has members') FROM member;
SELECT is_empty($$
	SELECT objid::regprocedure FROM member
	WHERE classid = 'pg_proc'::regclass AND objid::regprocedure::text !~ '^ff_(internal|hub)\.'
	AND obj_description(objid, classid::regclass::name) IS NULL $$,
	'every function for users is described');
SELECT is_empty($$ SELECT objid::regclass FROM member JOIN pg_class c ON c.oid = objid
	WHERE classid = 'pg_class'::regclass AND c.relkind IN ('r', 'v', 'm')
		AND obj_description(objid, 'pg_class') IS NULL $$,
	'every table and view is described');
SELECT is_empty($$
	SELECT t.oid::regtype FROM member JOIN pg_type t ON t.oid = objid
	LEFT JOIN pg_class c ON c.oid = t.typrelid
	WHERE classid = 'pg_type'::regclass AND t.typelem = 0
		AND coalesce(c.relkind, 'c') = 'c'
		AND obj_description(t.oid, 'pg_type') IS NULL $$,
	'every type is described');
SELECT is_empty($$
	SELECT format('%s.%s', c.relname, a.attname) FROM member m
	JOIN pg_class c ON c.oid = m.objid JOIN pg_attribute a ON a.attrelid = c.oid
	WHERE m.classid = 'pg_class'::regclass AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
	  AND col_description(c.oid, a.attnum) IS NULL
	  -- key columns need no comment
	  AND a.attname !~ '^(rel|epoch|collection|change|statement|source)_id$' $$,
	'every column of a table is described');
SELECT is_empty($$ SELECT objid::regprocedure FROM member JOIN pg_proc p ON p.oid = objid
	WHERE classid = 'pg_proc'::regclass
		AND (p.proacl IS NULL OR EXISTS (SELECT FROM aclexplode(p.proacl) a WHERE a.grantee = 0))
	  -- rights.sql calls each of these as a role without rights
	  AND NOT (p.proname ^@ 'ff_'
	      OR p.proname IN ('overview', 'fitted', 'rate_words', 'lines', 'check_role', 'check_version', 'refuse', 'setting',
	          'threshold', 'lookback', 'own_server')) $$,
	'only functions that check the caller, and their helpers, are granted to PUBLIC');
SELECT is_empty($$ SELECT objid::regclass FROM member JOIN pg_class c ON c.oid = objid
	WHERE classid = 'pg_class'::regclass AND EXISTS (SELECT FROM aclexplode(c.relacl) a WHERE a.grantee = 0)
	  AND NOT (c.relkind = 'v' AND c.relname ^@ 'ff_') $$,
	  'of tables and views, only the public views are granted to PUBLIC');
SELECT is_empty($$ SELECT objid::regprocedure FROM member JOIN pg_proc p ON p.oid = objid
	WHERE classid = 'pg_proc'::regclass AND (p.prosecdef OR p.prokind <> 'a'
		AND p.prolang <> (SELECT oid FROM pg_language WHERE lanname = 'c')
		AND p.prosqlbody IS NULL
	  AND NOT coalesce('search_path=pg_catalog, pg_temp' = ANY (p.proconfig), false)
	  -- a procedure that commits cannot set search_path, and must not need it: only qualified names, no operators
	  AND NOT (p.prokind = 'p' AND p.prosrc !~ '[^\w\s.,;()'']'
	      AND p.prosrc !~ '(^|[^.\w])\w+\(' AND p.prosrc !~ '\stimestamptz')) $$,
	'no function is SECURITY DEFINER or depends on the caller''s search_path');
SELECT is_empty($$
	SELECT c.oid::regclass FROM pg_class c
	WHERE c.relnamespace::regnamespace::text IN ('ff_internal', 'ff_hub') AND c.relkind IN ('r', 'S')
	AND NOT EXISTS (SELECT FROM pg_extension e
		WHERE e.extname ^@ 'fillfactor_advisor' AND c.oid = ANY (e.extconfig)) $$,
	'every table and sequence is dumped with its contents');
SELECT * FROM finish();
ROLLBACK;
