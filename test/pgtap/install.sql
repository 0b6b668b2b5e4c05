-- The extension in the schema that the user picked, and in no other.
BEGIN;
SELECT plan(4);
CREATE SCHEMA "odd schema";
CREATE EXTENSION fillfactor_advisor SCHEMA "odd schema";
SELECT is((SELECT extnamespace::regnamespace::text FROM pg_extension WHERE extname = 'fillfactor_advisor'),
	'"odd schema"', 'installed in the schema asked for');
SELECT is((SELECT extversion FROM pg_extension WHERE extname = 'fillfactor_advisor'),
	(SELECT default_version FROM pg_available_extensions WHERE name = 'fillfactor_advisor'),
	'at the version that the control file states');
SELECT is_empty($$
	SELECT d.objid FROM pg_depend d JOIN pg_extension e ON d.refobjid = e.oid AND d.refclassid = 'pg_extension'::regclass
	  JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
	 WHERE e.extname = 'fillfactor_advisor' AND d.deptype = 'e' AND p.pronamespace <> e.extnamespace $$,
	'no function outside of it');
SELECT throws_ok($$ CREATE EXTENSION fillfactor_advisor $$, '42710', NULL, 'not twice');
SELECT * FROM finish();
ROLLBACK;
