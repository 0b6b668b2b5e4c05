-- Who may call what.  Least privilege: a role in pg_monitor with INSERT, UPDATE
-- and DELETE on the history tables collects; one in pg_read_all_stats reads.
-- Not in a transaction block: collections commit.
\set QUIET 1
SET client_min_messages = error;
DROP ROLE IF EXISTS regress_ff_plain, regress_ff_owner, regress_ff_scan, regress_ff_reader, regress_ff_monitor, regress_ff_collector;
CREATE ROLE regress_ff_plain;
CREATE ROLE regress_ff_owner;
CREATE ROLE regress_ff_scan IN ROLE pg_stat_scan_tables;
CREATE ROLE regress_ff_reader IN ROLE pg_read_all_stats;
CREATE ROLE regress_ff_monitor IN ROLE pg_monitor;
CREATE ROLE regress_ff_collector IN ROLE pg_monitor;
CREATE SCHEMA advisor;
CREATE EXTENSION fillfactor_advisor SCHEMA advisor;
GRANT USAGE ON SCHEMA advisor TO regress_ff_plain, regress_ff_owner, regress_ff_scan, regress_ff_reader, regress_ff_monitor, regress_ff_collector;
CREATE TABLE secret (id int, v int);
INSERT INTO secret SELECT g, 0 FROM generate_series(1, 1000) g;
ALTER TABLE secret OWNER TO regress_ff_owner;
REVOKE ALL ON secret FROM PUBLIC;
SELECT plan(41);

-- what README tells to grant
SELECT format('GRANT INSERT, UPDATE, DELETE ON %s TO regress_ff_collector', string_agg(c.oid::regclass::text, ', '))
  FROM pg_extension e JOIN pg_class c ON c.oid = ANY (e.extconfig) WHERE e.extname = 'fillfactor_advisor' AND c.relkind = 'r' \gexec

-- outcome(ROLE, COMMAND): SQLSTATE, 00000 where it may
CREATE FUNCTION outcome(role name, command text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SET LOCAL ROLE %I', role);
	EXECUTE command;
	EXECUTE 'RESET ROLE';
	RETURN '00000';
EXCEPTION WHEN OTHERS THEN
	RETURN sqlstate;
END $$;

-- 1. to sample, 2. to read advice, evidence and history, 3. to write history
SELECT is(outcome('regress_ff_' || role, command), CASE WHEN may THEN '00000' ELSE '42501' END, format('%s %s %s', role, CASE WHEN may THEN 'may' ELSE 'may not' END, what))
  FROM (VALUES ('plain', 0), ('owner', 0), ('scan', 1), ('reader', 2), ('monitor', 3), ('collector', 7)) r(role, rights)
 CROSS JOIN (VALUES ('sample', 1, $$ SELECT advisor.ff_sample('public.secret') $$),
                    ('read advice', 2, $$ SELECT advisor.ff_advise() $$),
                    ('read history', 2, $$ SELECT * FROM advisor.ff_interval $$),
                    ('write history', 4, $$ INSERT INTO advisor.ff_problem VALUES (-1, now(), 1, '00000', '') $$)) c(what, needs, command)
 CROSS JOIN LATERAL (SELECT rights & needs > 0 AS may) m;
DELETE FROM advisor.ff_problem;

-- a whole collection
\set ON_ERROR_STOP 0
SET ROLE regress_ff_plain;
CALL advisor.ff_collect();
\set plain :SQLSTATE
SET ROLE regress_ff_owner;
CALL advisor.ff_collect();
\set owner :SQLSTATE
SET ROLE regress_ff_scan;
CALL advisor.ff_collect();
\set scan :SQLSTATE
SET ROLE regress_ff_reader;
CALL advisor.ff_collect();
\set reader :SQLSTATE
SET ROLE regress_ff_monitor;
CALL advisor.ff_collect();
\set monitor :SQLSTATE
\set why :LAST_ERROR_MESSAGE
RESET ROLE;
\set ON_ERROR_STOP 1
SELECT is(ARRAY[:'plain', :'owner', :'scan', :'reader', :'monitor'], '{42501,42501,42501,42501,42501}', 'a role without rights on the history may not collect');
SELECT is(:'why'::text, 'role regress_ff_monitor may not write the history', 'and is told what it lacks');
SELECT is((SELECT count(*) FROM advisor.ff_epoch) + (SELECT count(*) FROM advisor.ff_collection) + (SELECT count(*) FROM advisor.ff_relation), 0::bigint,
	'and leaves nothing behind');
SELECT is_empty($$ SELECT * FROM pg_locks WHERE locktype = 'advisory' $$, 'no lock either');

SET ROLE regress_ff_collector;
CALL advisor.ff_collect();
\set first :SQLSTATE
RESET ROLE;
UPDATE secret SET v = 1 WHERE id <= 100;
SELECT pg_stat_force_next_flush();
SET ROLE regress_ff_collector;
CALL advisor.ff_collect();
\set second :SQLSTATE
RESET ROLE;
SELECT is(ARRAY[:'first', :'second'], '{00000,00000}', 'the collector may collect');
SELECT is((SELECT sum(updated) FROM advisor.ff_interval), 100::numeric, 'the counters of a table that it may not read');
SELECT is((SELECT live_rows FROM advisor.ff_page_sample ORDER BY sampled_at DESC LIMIT 1), 1000::float8, 'and its pages');
SELECT is((SELECT failed FROM advisor.ff_collection ORDER BY collection_id DESC LIMIT 1), 0, 'without a problem');
SELECT is((SELECT coalesce(reason ~* 'permission', false) FROM advisor.ff_statement_look ORDER BY collection_id DESC LIMIT 1), false, 'statements too, where there are any to read');
SELECT is(outcome('regress_ff_collector', 'SELECT * FROM public.secret'), '42501', 'but not its contents');
SELECT is(outcome('regress_ff_collector', 'DROP TABLE advisor.ff_interval'), '42501', 'it owns nothing');
SELECT is(outcome('regress_ff_collector', 'TRUNCATE advisor.ff_interval'), '42501', 'cannot empty the history at once');
SELECT is(outcome('regress_ff_collector', 'CREATE TRIGGER t BEFORE INSERT ON advisor.ff_interval EXECUTE FUNCTION pg_catalog.suppress_redundant_updates_trigger()'), '42501', 'and plants nothing in it');

-- the reader
CREATE FUNCTION read_advice() RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	SET LOCAL ROLE regress_ff_reader;
	RETURN QUERY SELECT a.action FROM advisor.ff_advise('public.secret') a;
	RESET ROLE;
END $$;
SELECT is((SELECT count(*) FROM read_advice()), 1::bigint, 'a reader gets advice on a table that it may not read');
SELECT is(outcome('regress_ff_reader', 'SELECT advisor.ff_prune(1)'), '42501', 'and may not take a step of a collection');

-- every function, for a plain role
SELECT is_empty($$ SELECT p.oid::regprocedure FROM pg_proc p WHERE p.pronamespace = 'advisor'::regnamespace AND has_function_privilege('regress_ff_plain', p.oid, 'EXECUTE') $$,
	'a plain role may call nothing');
SELECT is_empty($$ SELECT c.oid::regclass FROM pg_class c WHERE c.relnamespace = 'advisor'::regnamespace AND c.relkind IN ('r', 'v')
	AND has_table_privilege('regress_ff_plain', c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER') $$,
	'and read nothing');
SELECT * FROM finish();
DROP EXTENSION fillfactor_advisor CASCADE;
DROP OWNED BY regress_ff_plain, regress_ff_owner, regress_ff_scan, regress_ff_reader, regress_ff_monitor, regress_ff_collector;
DROP ROLE regress_ff_plain, regress_ff_owner, regress_ff_scan, regress_ff_reader, regress_ff_monitor, regress_ff_collector;
