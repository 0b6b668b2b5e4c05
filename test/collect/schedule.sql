-- The pg_cron job: its name, command and owner if pg_cron is in this database; the
-- statement to run if it is in another; and that a look-alike of pg_cron is never called.
BEGIN;
SET client_min_messages = error;
CREATE EXTENSION IF NOT EXISTS pgtap;
DROP EXTENSION IF EXISTS fillfactor_advisor CASCADE;
CREATE SCHEMA "F f; %I";
CREATE EXTENSION fillfactor_advisor_hub SCHEMA "F f; %I" CASCADE;
SET search_path = "F f; %I", public;
SELECT plan(34);

SELECT CASE WHEN current_setting('cron.database_name', true) = current_database() THEN 'here'
            WHEN current_setting('cron.database_name', true) IS NULL THEN 'absent'
            ELSE 'elsewhere' END AS cron \gset
SELECT :'cron' = 'here' AS here, :'cron' = 'elsewhere' AS elsewhere, :'cron' = 'absent' AS absent \gset

CREATE FUNCTION pg_temp.code(command text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE command;
    RETURN '00000';
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE;
END $$;
SELECT throws_ok($$SELECT ff_schedule(NULL)$$, '22004', NULL, 'a NULL schedule is refused');
SELECT is(ARRAY(SELECT ff_internal.spread(s, n) FROM (VALUES ('*/5 * * * *', 0), ('*/5 * * * *', 7),
		('7 * * * *', 55), ('58 3 * * 1-5', 4), ('0,30 * * * *', 1), ('@hourly', 9), ('* * * * *', 3),
		('30 seconds', 3), ('*/0 * * * *', 3)) v(s, n)),
	'{*/5 * * * *,2-59/5 * * * *,2 * * * *,2 3 * * 1-5,"0,30 * * * *",@hourly,* * * * *,30 seconds,*/0 * * * *}'::text[],
	'schedules of every so many minutes, and of one time an hour, are spread over minutes');

\if :here
CREATE EXTENSION IF NOT EXISTS pg_cron;
SELECT is((ff_internal.cron()).state, 'here', 'pg_cron is found here');
SELECT cron.schedule('someone else''s job', '0 0 1 1 *', 'SELECT 1') AS other_job \gset
SELECT is(ff_unschedule(), '0 jobs removed', 'ff_unschedule() without a job removes none');
SELECT matches(ff_schedule(),
	'^job \d+ runs CALL ff_internal\.collect\(\) in database .*Run ff_unschedule\(\) before DROP',
	'ff_schedule() says which job it made');
SELECT is(string_agg(format('%s|%s|%s|%s|%s', schedule, command, database, username, active), E'\n'),
    format('*/5 * * * *|CALL ff_internal.collect() -- left without the extension? SELECT cron.unschedule(%L);|%s|%s|t',
        'fillfactor_advisor ' || current_database(), current_database(), current_user),
    'the job has the default schedule, command, database and owner') FROM cron.job
    WHERE jobname = 'fillfactor_advisor ' || current_database();
SELECT is(pg_temp.code($$SELECT ff_schedule('59 seconds')$$),
	CASE WHEN extversion ~ '^1[.][0-4]' THEN '22023' ELSE '00000' END,
	'pg_cron refuses seconds before 1.5') FROM pg_extension WHERE extname = 'pg_cron';
SELECT lives_ok($$SELECT ff_schedule('* * * * *')$$, 'ff_schedule() can be called again with another schedule');
SELECT is(string_agg(schedule, ','), '* * * * *', 'a second call leaves one job with the new schedule')
	FROM cron.job WHERE command LIKE '%CALL ff_internal.collect()%';
SELECT throws_ok($$SELECT ff_schedule('no such schedule')$$, '22023', NULL,
	'pg_cron refuses what is no schedule');
-- a job of another role with the same name
CREATE ROLE regress_ff_cron;
INSERT INTO cron.job (schedule, command, nodename, nodeport, database, username, active, jobname)
    SELECT schedule, command, nodename, nodeport, database, 'regress_ff_cron', false, jobname
        FROM cron.job WHERE command LIKE '%CALL ff_internal.collect()%';
-- and a job with the same name in another database, which must stay
INSERT INTO cron.job (schedule, command, nodename, nodeport, database, username, active, jobname)
    SELECT schedule, command, nodename, nodeport, 'template1', 'regress_ff_other', false, jobname
        FROM cron.job WHERE command LIKE '%CALL ff_internal.collect()%' AND active;
SELECT is(ff_unschedule(), '2 jobs removed', 'ff_unschedule() removes both jobs of this database');
SELECT is(ff_unschedule(), '0 jobs removed', 'ff_unschedule() again is no error');
SELECT is(count(*), 2::bigint, 'ff_unschedule() leaves other jobs') FROM cron.job
	WHERE jobid = :other_job OR username = 'regress_ff_other';
SELECT throws_ok($$SET LOCAL ROLE regress_ff_cron; SELECT "F f; %I".ff_schedule()$$, '42501', NULL,
	'a plain role may not call ff_schedule()');
RESET ROLE;
-- all databases: a job for each, in different minutes and without waiting, and one that keeps them up to date; other
-- jobs stay
SELECT matches(ff_schedule('*/5 * * * *', all_databases => true),
	'^\d+ databases; job \d+ runs SELECT ff_internal\.schedule_databases\(''\*/5 \* \* \* \*''\) in database ',
	'all_databases: ff_schedule() says what it made');
CREATE VIEW pg_temp.own AS
	SELECT j.* FROM cron.job j
	WHERE j.jobname LIKE 'fillfactor\_advisor %' AND j.username = current_user;
SELECT set_eq('SELECT database FROM pg_temp.own',
	'SELECT datname::text FROM pg_database WHERE datallowconn AND NOT datistemplate',
	'all_databases: each database that allows connections has a job');
SELECT is(count(DISTINCT schedule) || ' ' || count(*) FILTER (WHERE command ~ 'sleep'), least(5, count(*)) || ' 0',
	'all_databases: the jobs begin in different minutes, and none waits')
	FROM pg_temp.own;
SELECT jobid AS kept FROM pg_temp.own WHERE database = current_database() \gset
-- a database that was dropped, and a new one
INSERT INTO cron.job (schedule, command, nodename, nodeport, database, username, active, jobname)
    SELECT schedule, command, nodename, nodeport, 'long gone', username, true, 'fillfactor_advisor long gone'
        FROM cron.job WHERE jobid = :kept;
DELETE FROM cron.job WHERE jobname = 'fillfactor_advisor postgres';
SELECT cmp_ok((SELECT ff_internal.schedule_databases('*/5 * * * *')), '=',
	(SELECT count(*) FROM pg_database WHERE datallowconn AND NOT datistemplate),
	'all_databases: the keeping job finds all databases');
SELECT set_eq('SELECT database FROM pg_temp.own',
	'SELECT datname::text FROM pg_database WHERE datallowconn AND NOT datistemplate',
	'all_databases: the keeping job adds new databases and removes dropped ones');
SELECT is((SELECT jobid FROM pg_temp.own WHERE database = current_database()), :kept::bigint,
	'all_databases: the keeping job leaves other jobs as they are');
SELECT matches((SELECT command FROM pg_temp.own WHERE database = 'postgres'),
	'IF EXISTS .*fillfactor_advisor.* THEN CALL ff_internal.collect\(\); END IF',
	'all_databases: a job does nothing in a database without the extension');
SELECT is((SELECT array_agg(substring(said FROM '^0 jobs|Run (.*) before DROP EXTENSION'))
	FROM ff_fleet_schedule('*/5 * * * *', 3) said),
	'{NULL,ff_fleet_schedule(NULL),ff_fleet_schedule(NULL),ff_fleet_schedule(NULL)}',
	'ff_fleet_schedule(): for each of three parts, how to remove its job');
SELECT is((SELECT count(*) FROM cron.job WHERE command ~ 'CALL ff_hub\.fleet_refresh\([123], 3\)'), 3::bigint,
	'ff_fleet_schedule(): each part has a job');
SELECT is(ff_unschedule(all_databases => true),
	format('%s jobs removed', (SELECT count(*) + 2 FROM pg_database WHERE datallowconn AND NOT datistemplate)),
	'ff_unschedule(all_databases) removes all jobs, also another role''s and the keeping one');
SELECT is((SELECT count(*) FROM ff_fleet_schedule(NULL)), 1::bigint, 'ff_fleet_schedule(NULL) returns one row');
SELECT is((SELECT count(*) FROM cron.job WHERE command ~ 'ff_internal'), 0::bigint, 'no job of the extension is left');
-- a job that may not write would fail each time
CREATE ROLE regress_ff_monitor IN ROLE pg_monitor;
GRANT USAGE ON SCHEMA "F f; %I" TO regress_ff_monitor;
SET LOCAL ROLE regress_ff_monitor;
SELECT throws_ok($$SELECT "F f; %I".ff_schedule()$$, '42501', 'role regress_ff_monitor may not write the history',
	'a role that may not write the history cannot schedule');
RESET ROLE;
SELECT skip('pg_cron is here', 7);
\else
SELECT skip('pg_cron is not in this database', 25);
-- a look-alike
CREATE SCHEMA cron;
CREATE TABLE cron.job (jobid bigint, jobname text, database text, schedule text, command text, username text);
CREATE FUNCTION cron.schedule(text, text, text) RETURNS bigint
	LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''look-alike called''; END';
CREATE FUNCTION cron.schedule_in_database(text, text, text, text) RETURNS bigint
	LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''look-alike called''; END';
CREATE FUNCTION cron.unschedule(bigint) RETURNS boolean
	LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''look-alike called''; END';
INSERT INTO cron.job
	VALUES (1, 'fillfactor_advisor ' || current_database(), current_database(), '* * * * *',
		'CALL ff_internal.collect()', current_user);
SELECT is((ff_internal.cron()).state, :'cron', 'a look-alike is not taken for pg_cron');
\if :elsewhere
SELECT is(ff_schedule('7 * * * *'),
    format('SELECT cron.schedule_in_database(%L, %L, %L, %L);', 'fillfactor_advisor ' || current_database(),
        '7 * * * *', format('CALL ff_internal.collect() -- left without the extension? SELECT cron.unschedule(%L);',
            'fillfactor_advisor ' || current_database()), current_database()),
    'elsewhere: the statement to schedule there');
SELECT is(ff_unschedule(),
    format('SELECT cron.unschedule(jobid) FROM cron.job WHERE jobname = %L AND database = %L;',
        'fillfactor_advisor ' || current_database(),
           current_database()), 'elsewhere: the statement to unschedule there');
SELECT is((SELECT count(*)
	FROM string_to_table(ff_schedule(all_databases => true), E'\n') l
	WHERE l LIKE 'SELECT cron.schedule_in_database(%'),
    (SELECT count(*) FROM pg_database WHERE datallowconn AND NOT datistemplate),
    'elsewhere: the statements for all databases');
SELECT is(ff_unschedule(true),
	'SELECT cron.unschedule(jobid) FROM cron.job WHERE jobname = ''fillfactor_advisor, all databases'' OR '
	'jobname ^@ ''fillfactor_advisor '';',
	'elsewhere: the statement that removes all');
SELECT skip('pg_cron is loaded', 2);
\else
SELECT skip('pg_cron is not loaded', 4);
SELECT throws_ok('SELECT ff_schedule()', '55000', 'pg_cron is not in this database', 'absent: clear error');
SELECT is(ff_unschedule(), '0 jobs removed: pg_cron is not in this database', 'absent: nothing to remove');
\endif
\endif

SELECT * FROM finish();
ROLLBACK;
