-- The extension's objects are in the schema that the user chose and in ff_internal.
BEGIN;
SELECT plan(5);
CREATE SCHEMA "odd schema";
CREATE EXTENSION fillfactor_advisor SCHEMA "odd schema";
SELECT is((SELECT extnamespace::regnamespace::text FROM pg_extension WHERE extname = 'fillfactor_advisor'),
	'"odd schema"', 'the extension is in the schema asked for');
SELECT is((SELECT extversion FROM pg_extension WHERE extname = 'fillfactor_advisor'),
	(SELECT default_version FROM pg_available_extensions WHERE name = 'fillfactor_advisor'),
	'the extension has the version of the control file');
SELECT is_empty($$
	SELECT d.objid::regprocedure FROM pg_depend d
		JOIN pg_extension e ON d.refobjid = e.oid AND d.refclassid = 'pg_extension'::regclass
	  JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
	 WHERE e.extname = 'fillfactor_advisor' AND d.deptype = 'e'
	   AND p.pronamespace <> CASE WHEN p.proname ^@ 'ff_' THEN e.extnamespace ELSE 'ff_internal'::regnamespace END $$,
	'functions for users are in the chosen schema, all others in ff_internal');
SELECT is_empty($$
	SELECT d.objid::regclass FROM pg_depend d
		JOIN pg_extension e ON d.refobjid = e.oid AND d.refclassid = 'pg_extension'::regclass
	  JOIN pg_class c ON d.classid = 'pg_class'::regclass AND d.objid = c.oid
	 WHERE e.extname = 'fillfactor_advisor' AND d.deptype = 'e'
	   AND c.relnamespace <> CASE WHEN c.relkind = 'v'
	   AND c.relname ^@ 'ff_' THEN e.extnamespace
	   ELSE 'ff_internal'::regnamespace END $$,
	'views for users are in the chosen schema, all else in ff_internal');
SELECT throws_ok($$ CREATE EXTENSION fillfactor_advisor $$, '42710', NULL, 'the extension cannot be created twice');
SELECT * FROM finish();
ROLLBACK;
