-- The hub as an extension: in a schema of its own, refused where something is in its way, dropped without a trace, and
-- no part of it in the way of the core.
BEGIN;
SET client_min_messages = error;
SELECT plan(20);
CREATE SCHEMA core;
CREATE SCHEMA fleet;
CREATE EXTENSION dblink;
CREATE EXTENSION fillfactor_advisor SCHEMA core;

-- SQLSTATE, message and hint of a command's error, or 'none'
CREATE FUNCTION pg_temp.refusal(command text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	hint text;
BEGIN
	EXECUTE command;
	RETURN 'none';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	RETURN concat_ws(' ', sqlstate, sqlerrm, nullif(hint, ''));
END $$;

-- all objects of this database that are not the server's
CREATE FUNCTION pg_temp.everything() RETURNS SETOF text LANGUAGE sql AS $$
	SELECT pg_describe_object(classid, objid, 0) FROM pg_depend WHERE objid >= 16384
	UNION SELECT 'schema ' || nspname FROM pg_namespace
$$;
CREATE TEMP TABLE before (object text);
CREATE FUNCTION pg_temp.changed() RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(coalesce('new: ' || e, 'gone: ' || object), ', ')
	  FROM pg_temp.everything() e FULL JOIN before ON object = e WHERE e IS NULL OR object IS NULL
$$;
INSERT INTO before SELECT object FROM pg_temp.everything() object;

-- ---------------------------------------------------------------------------
-- What is in the way
-- ---------------------------------------------------------------------------
CREATE SCHEMA ff_hub;
SELECT is(pg_temp.refusal('CREATE EXTENSION fillfactor_advisor_hub SCHEMA fleet'),
	'42P06 schema "ff_hub" already exists Drop the schema or rename it.', 'a schema ff_hub of somebody else: refused');
DROP SCHEMA ff_hub;
SELECT is(pg_temp.changed(), NULL, 'a schema ff_hub of somebody else: nothing is made');

CREATE FUNCTION fleet.ff_fleet_refresh() RETURNS void LANGUAGE sql AS '';
SELECT is(pg_temp.refusal('CREATE EXTENSION fillfactor_advisor_hub SCHEMA fleet'),
	'42723 function fleet.ff_fleet_refresh() already exists '
	'Drop it, or choose another schema: CREATE EXTENSION fillfactor_advisor_hub SCHEMA ...',
	'a stranger''s function of the same name: refused');
DROP FUNCTION fleet.ff_fleet_refresh();
CREATE FUNCTION fleet.ff_fleet_refresh(text) RETURNS void LANGUAGE sql AS '';
SELECT matches(pg_temp.refusal('CREATE EXTENSION fillfactor_advisor_hub SCHEMA fleet'),
	'^42723 function fleet\.ff_fleet_refresh\(text\) already exists ',
	'a stranger''s function of the same name with other arguments: refused');
DROP FUNCTION fleet.ff_fleet_refresh(text);
SELECT is(pg_temp.changed(), NULL, 'a stranger''s function: nothing is made');
-- in a schema that is not the hub's, it is no stranger
CREATE FUNCTION public.ff_fleet_refresh() RETURNS void LANGUAGE sql AS '';
SELECT is(pg_temp.refusal('CREATE EXTENSION fillfactor_advisor_hub SCHEMA fleet'), 'none',
	'the hub can be in another schema than the core');
DROP FUNCTION public.ff_fleet_refresh();

-- ---------------------------------------------------------------------------
-- Hub and core in two schemas
-- ---------------------------------------------------------------------------
CREATE TABLE public.one (id int);
SELECT is(fleet.ff_import(core.ff_export(), 'itself'), 'itself', 'the hub stores what the core exports');
SELECT is((SELECT concat_ws(' ', source, role, state, changes) FROM fleet.ff_fleet), 'itself primary imported 0',
	'the hub shows the source');
SELECT matches(fleet.ff_fleet_report(), '1 source of 1 cluster, 1 well', 'the hub makes its report');
CREATE ROLE regress_ff_fleet;
SELECT bag_eq($$ SELECT substring(g FROM 'ON SCHEMA (.*) TO') FROM core.ff_grant('regress_ff_fleet', 'reader') g
                  WHERE g ~ 'SCHEMA' $$,
	$$ SELECT string_agg(s, ', ') FROM (SELECT DISTINCT extnamespace::regnamespace::text FROM pg_extension
	                                     WHERE extname ^@ 'fillfactor_advisor') x(s) $$,
	'ff_grant() grants the use of both schemas');

-- each part of the hub: members, and what belongs to members (columns' defaults, constraints, rules of views, types)
CREATE TEMP VIEW part AS
WITH RECURSIVE part(classid, objid) AS (
	SELECT d.classid, d.objid FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid
	 WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e' AND e.extname = 'fillfactor_advisor_hub'
	UNION
	SELECT d.classid, d.objid FROM part p
	  JOIN pg_depend d ON (d.refclassid, d.refobjid) = (p.classid, p.objid) AND d.deptype IN ('a', 'i'))
SELECT * FROM part;
SELECT cmp_ok((SELECT count(*) FROM part), '>', 40::bigint, 'the parts of the hub are known');
SELECT is_empty($$
	SELECT pg_describe_object(d.classid, d.objid, d.objsubid),
		pg_describe_object(d.refclassid, d.refobjid, d.refobjsubid)
	  FROM part p
	  JOIN pg_depend d ON (d.classid, d.objid) = (p.classid, p.objid)
	  JOIN pg_depend c ON (c.classid, c.objid) = (d.refclassid, d.refobjid) AND c.deptype = 'e'
	  JOIN pg_extension e ON e.oid = c.refobjid
	 WHERE c.refclassid = 'pg_extension'::regclass AND e.extname = 'fillfactor_advisor' $$,
	'no part of the hub depends on an object of the core, which can so be upgraded alone');
SELECT results_eq($$ SELECT r.extname FROM pg_depend d JOIN pg_extension e ON e.oid = d.objid
	                   JOIN pg_extension r ON r.oid = d.refobjid
	                  WHERE d.classid = 'pg_extension'::regclass AND e.extname = 'fillfactor_advisor_hub' ORDER BY 1 $$,
	'{dblink,fillfactor_advisor}'::name[], 'the hub depends on the extensions that it requires');

-- ---------------------------------------------------------------------------
-- Dropped
-- ---------------------------------------------------------------------------
SELECT is(pg_temp.refusal('DROP EXTENSION fillfactor_advisor'),
	'2BP01 cannot drop extension fillfactor_advisor because other objects depend on it '
	'Use DROP ... CASCADE to drop the dependent objects too.', 'the core is not dropped while the hub is there');

-- the jobs of the hub, scheduled by the statements that it gives where pg_cron runs from another database
SELECT current_setting('cron.database_name', true) <> current_database() IS TRUE AS elsewhere \gset
\if :elsewhere
CREATE SCHEMA cron;
CREATE TABLE cron.job (jobname text, database text, command text);
CREATE FUNCTION cron.schedule_in_database(text, text, text, text) RETURNS text
	LANGUAGE sql AS 'INSERT INTO cron.job VALUES ($1, $4, $3) RETURNING jobname';
\o /dev/null
SELECT * FROM fleet.ff_fleet_schedule(parts => 2) \gexec
\o
CREATE TEMP TABLE job AS SELECT * FROM cron.job;
DROP SCHEMA cron CASCADE;
\endif

DROP EXTENSION fillfactor_advisor_hub;
DROP TABLE public.one;
SELECT is_empty($$ SELECT oid::regnamespace FROM pg_namespace WHERE nspname = 'ff_hub' $$,
	'the schema ff_hub goes with the hub');
\if :elsewhere
SELECT is((SELECT count(*) FROM job), 2::bigint, 'there is a job for each part');
SELECT is_empty($$
	SELECT jobname, pg_temp.refusal(command) FROM job
	 WHERE pg_temp.refusal(command) <> '3F000 schema "ff_hub" does not exist' $$,
	'a job that is left behind does nothing but say what is gone');
DROP TABLE job;
\else
SELECT skip('pg_cron does not run from another database', 2);
\endif
DROP VIEW part;
SELECT is(pg_temp.changed(), NULL, 'nothing else is left of the hub, and the core is whole');
SELECT matches((SELECT string_agg(g, ' ') FROM core.ff_grant('regress_ff_fleet', 'collector') g),
	'GRANT USAGE ON SCHEMA core TO .* ON ff_internal\.', 'the core grants rights without the hub');
SELECT is(pg_temp.refusal('DROP EXTENSION fillfactor_advisor'), 'none', 'the core can then be dropped, too');
SELECT * FROM finish();
ROLLBACK;
