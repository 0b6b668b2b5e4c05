-- Who may call what.  Least privilege: a role in pg_monitor with INSERT, UPDATE
-- and DELETE on the history tables collects; one in pg_read_all_stats reads.
-- Not in a transaction block: collections commit.
SET client_min_messages = error;
DROP ROLE IF EXISTS regress_ff_plain, regress_ff_owner, regress_ff_scan, regress_ff_reader, regress_ff_monitor,
	regress_ff_collector;
CREATE ROLE regress_ff_plain;
CREATE ROLE regress_ff_owner;
CREATE ROLE regress_ff_scan IN ROLE pg_stat_scan_tables;
CREATE ROLE regress_ff_reader;
CREATE ROLE regress_ff_monitor IN ROLE pg_monitor;
CREATE ROLE regress_ff_collector;
CREATE SCHEMA advisor;
CREATE EXTENSION fillfactor_advisor SCHEMA advisor;
SELECT count(*) > 0 AS dblink FROM pg_available_extensions WHERE name = 'dblink' \gset
\if :dblink
CREATE EXTENSION fillfactor_advisor_hub SCHEMA advisor CASCADE;
\endif
GRANT USAGE ON SCHEMA advisor TO regress_ff_plain, regress_ff_owner, regress_ff_scan, regress_ff_monitor;
CREATE TABLE secret (id int, v int);
INSERT INTO secret SELECT g, 0 FROM generate_series(1, 1000) g;
ALTER TABLE secret OWNER TO regress_ff_owner;
REVOKE ALL ON secret FROM PUBLIC;
SELECT plan(62);

-- ff_grant() gives a reader and a collector all that they need
SELECT is((SELECT array_agg(replace(g, ' WITH INHERIT TRUE', '') ORDER BY n)
		FROM advisor.ff_grant('regress_ff_reader', 'reader') WITH ORDINALITY x(g, n)),
	'{"done: GRANT USAGE ON SCHEMA advisor TO regress_ff_reader;","done: GRANT pg_read_all_stats TO '
	'regress_ff_reader;"}',
	'ff_grant() says what it granted to a reader');
SELECT matches((SELECT string_agg(replace(g, ' WITH INHERIT TRUE', ''), ' ')
		FROM advisor.ff_grant('regress_ff_collector', 'collector') g),
	'^done: GRANT USAGE ON SCHEMA advisor TO regress_ff_collector; done: GRANT pg_monitor TO regress_ff_collector; '
	'done: GRANT INSERT, UPDATE, DELETE ON ff_(internal|hub)[.].*ff_internal[.].* TO regress_ff_collector;$',
	'ff_grant() says what it granted to a collector');
SELECT is((SELECT count(*) FROM advisor.ff_grant('regress_ff_collector', 'collector') g WHERE g ~ 'pg_monitor'),
	0::bigint, 'ff_grant() does not grant a membership again');
SELECT throws_ok($$ SELECT advisor.ff_grant('regress_ff_none', 'reader') $$, '42704',
	'role "regress_ff_none" does not exist', 'ff_grant() to an unknown role fails');
SELECT throws_ok($$ SELECT advisor.ff_grant('regress_ff_reader', 'writer') $$, '22023',
	'invalid grant: ''writer'' to ''regress_ff_reader''', 'ff_grant() for an unknown use fails');
SELECT throws_ok($$ SELECT advisor.ff_grant(NULL, 'reader') $$, '22023', NULL, 'ff_grant() to NULL fails');
SET ROLE regress_ff_collector;
SELECT throws_ok($$ SELECT advisor.ff_grant('regress_ff_plain', 'reader') $$, '42501',
	'role regress_ff_collector may not grant rights on the extension',
	'ff_grant() by a role that does not own the extension fails');
RESET ROLE;
CREATE ROLE regress_ff_other NOINHERIT;
GRANT pg_read_all_stats TO regress_ff_other;
SELECT current_setting('server_version_num')::integer < 160000 AS by_role \gset
\if :by_role
SELECT throws_ok($$ SELECT advisor.ff_grant('regress_ff_other', 'reader') $$, '22023',
	'role regress_ff_other does not inherit what it is granted', 'ff_grant() to a NOINHERIT role would bring it nothing');
ALTER ROLE regress_ff_other INHERIT;
\else
SELECT ok(NOT pg_has_role('regress_ff_other', 'pg_read_all_stats', 'USAGE'), 'a NOINHERIT role has no use of a grant');
\endif
SELECT advisor.ff_grant('regress_ff_other', 'reader') \g /dev/null
SELECT ok(pg_has_role('regress_ff_other', 'pg_read_all_stats', 'USAGE'),
	'ff_grant() gives it the rights of a membership that it had already');
REVOKE ALL ON SCHEMA advisor FROM regress_ff_other;
DROP ROLE regress_ff_other;

-- outcome(ROLE, COMMAND): the SQLSTATE, 00000 on success
CREATE FUNCTION outcome(role name, command text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SET LOCAL ROLE %I', role);
	EXECUTE command;
	EXECUTE 'RESET ROLE';
	RETURN '00000';
EXCEPTION WHEN OTHERS THEN
	RETURN sqlstate;
END $$;

-- the hint of the error that a command ends with
CREATE FUNCTION public.hint_of(command text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE hint text;
BEGIN
	EXECUTE command;
	RETURN NULL;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	RETURN hint;
END $$;

-- rights as bits: 1 to sample, 2 to read advice and history, 4 to write history
SELECT is(outcome('regress_ff_' || role, command), CASE WHEN may THEN '00000' ELSE '42501' END,
	format('%s %s %s', role, CASE WHEN may THEN 'may' ELSE 'may not' END, what))
  FROM (VALUES ('plain', 0), ('owner', 0), ('scan', 1), ('reader', 2), ('monitor', 3), ('collector', 7)) r(role, rights)
 CROSS JOIN (VALUES ('sample', 1, $$ SELECT advisor.ff_sample('public.secret') $$),
                    ('read advice', 2, $$ SELECT advisor.ff_advise() $$),
                    ('read history', 2, $$ SELECT * FROM ff_internal.counter_interval $$),
                    ('write history', 4,
                        $$ INSERT INTO ff_internal.problem
                            VALUES (-1, now(), 1, '00000', '') $$)) c(what, needs, command)
 CROSS JOIN LATERAL (SELECT rights & needs > 0 AS may) m;
DELETE FROM ff_internal.problem;

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
SELECT public.hint_of('CALL advisor.ff_collect()') AS hint \gset
RESET ROLE;
\set ON_ERROR_STOP 1
SELECT is(ARRAY[:'plain', :'owner', :'scan', :'reader', :'monitor'], '{42501,42501,42501,42501,42501}',
	'a role without rights on the history may not collect');
SELECT is(:'why'::text, 'role regress_ff_monitor may not write the history',
	'a role without rights on the history is told what it lacks');
SELECT is(:'hint'::text, 'Ask a superuser to run SELECT ff_grant(''regress_ff_monitor'', ''collector'').',
	'a role without rights on the history is told how to get them');
SELECT is((SELECT count(*) FROM ff_internal.epoch)
	+ (SELECT count(*) FROM ff_internal.collection)
	+ (SELECT count(*) FROM ff_internal.relation),
	0::bigint,
	'a refused collection leaves no rows behind');
SELECT is_empty($$ SELECT * FROM pg_locks WHERE locktype IN ('advisory', 'userlock') $$,
	'a refused collection leaves no lock behind');

SET ROLE regress_ff_collector;
CALL advisor.ff_collect();
\set first :SQLSTATE
RESET ROLE;
-- all rows alike: a workload that the model, which many functions below ask, is done with soon
UPDATE secret SET v = 1;
SELECT pg_stat_force_next_flush();
SET ROLE regress_ff_collector;
CALL advisor.ff_collect();
\set second :SQLSTATE
RESET ROLE;
SELECT is(ARRAY[:'first', :'second'], '{00000,00000}', 'the collector may collect');
SELECT is((SELECT sum(updated) FROM ff_internal.counter_interval), 1000::numeric,
	'the collector has the counters of a table that it may not read');
SELECT is((SELECT live_rows FROM ff_internal.page_sample ORDER BY sampled_at DESC LIMIT 1), 1000::float8,
	'the collector sampled a table that it may not read');
SELECT is((SELECT failed FROM ff_internal.collection ORDER BY collection_id DESC LIMIT 1), 0,
	'the collection had no problem');
SELECT is((SELECT coalesce(reason ~* 'permission', false)
	FROM ff_internal.statement_snapshot ORDER BY collection_id DESC LIMIT 1),
	false, 'the collection of statements had no permission error');
SELECT is(outcome('regress_ff_collector', 'SELECT * FROM public.secret'), '42501',
	'the collector may not read the table itself');
SELECT is(outcome('regress_ff_collector', 'DROP TABLE ff_internal.counter_interval'), '42501',
	'the collector may not drop a history table');
SELECT is(outcome('regress_ff_collector', 'TRUNCATE ff_internal.counter_interval'), '42501',
	'the collector may not truncate a history table');
SELECT is(outcome('regress_ff_collector',
	'CREATE TRIGGER t BEFORE INSERT ON ff_internal.counter_interval EXECUTE FUNCTION '
	'pg_catalog.suppress_redundant_updates_trigger()'),
	'42501', 'the collector may not create a trigger on a history table');

-- the reader
CREATE FUNCTION read_advice() RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	SET LOCAL ROLE regress_ff_reader;
	RETURN QUERY SELECT a.action FROM advisor.ff_advise('public.secret') a;
	RESET ROLE;
END $$;
SELECT is((SELECT count(*) FROM read_advice()), 1::bigint, 'a reader gets advice on a table that it may not read');
SELECT is(outcome('regress_ff_reader', 'SELECT ff_internal.prune(1)'), '42501',
	'a reader may not call a step of a collection');

-- ---------------------------------------------------------------------------
-- Every function, table and view, including new ones: one whose rights are not
-- stated here fails the test
-- ---------------------------------------------------------------------------
CREATE VIEW own_extension AS
	SELECT oid, extname FROM pg_extension
	WHERE extname IN ('fillfactor_advisor', 'fillfactor_advisor_hub');
CREATE VIEW own_function AS
SELECT p.oid, p.proname, p.prosrc, p.prolang, p.proacl, p.proowner FROM pg_depend d
	JOIN own_extension e ON d.refclassid = 'pg_extension'::regclass AND e.oid = d.refobjid
	JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
 WHERE d.deptype = 'e';
-- who may call what, where it is not the readers, and the functions that check the caller, or help those that do
CREATE TABLE listed AS
SELECT unnest(l.names) AS name, l.may, l.of_hub
  FROM (VALUES
	-- functions that read pages, and the steps of a collection
	('{
		add_statement,admit_statements,check_collector,cron_elsewhere,close_statements,close_tables,collect,
		collect_begin,collect_counted,collect_counters,collect_end,collect_fit,collect_horizon,collect_pages,
		collect_problem,collect_statements,collect_verdicts,
		counted_since,cron,current_epoch,database_jobs,ff_collect,ff_dismiss,ff_exclude,ff_include,
		ff_rehearsal_result,ff_sample,ff_sample_index,ff_schedule,ff_unschedule,fits_due,forget_texts,index_pages,
		is_skip,job_name,keep_dismissal,follow_parents,note,note_fit,
		inserted_width,pool_samples,prune,
		read_statements,roll_up,sample,schedule_databases,schedule_job,spread,sum_statements,table_differences,
		try_step,unschedule_jobs,write_changes,write_differences,write_statements}'::name[],
		'{pg_stat_scan_tables}'::text[], false),
	('{
		answer,ask,attach_all,attempt,check_export,check_mirror,
		check_source,column_statement,columns_of,connect_timeout,dblink,deadline,
		digests_said,detach,drop_mirrored,drop_mirrored_index,failed,ff_fleet_add,
		ff_fleet_refresh,ff_fleet_remove,ff_fleet_schedule,ff_fleet_script,ff_import,ff_mirror,
		ff_mirror_import,find_former,find_restored,fleet_refresh,follow,follow_index,follow_options,follow_table,forget_lost,
		hang_up,index_statements,is_mirrored,known,leave,limits,make_way,mine,mirror_words,note_fault,observation,
		observe,observed_sample,options_of,schema_statements,send,server_said,step,store,store_said,
		table_statements,take,turn,weigh}',
		'{pg_stat_scan_tables}', true),
	-- functions for both collections and readers
	('{counted,collect_due,column_list,counters_plus,horizon_holders,index_definitions,'
		'own_index_definitions,other_options,parse_statement,resolve,shell_quoted,tables_named,total,'
		'tracked_settings,with_children,with_parents}',
		'{pg_read_all_stats,pg_stat_scan_tables}', false),
	('{ff_grant,define,refuse_strangers,give_rights}', '{}', false)) l(names, may, of_hub);
CREATE TABLE helping AS
	SELECT unnest('{overview,fitted,rate_words,lines,check_role,check_version,refuse,setting,threshold,lookback,
		own_server}'::name[]) AS name;
SELECT is_empty(format($$ (SELECT name FROM listed WHERE %L OR NOT of_hub UNION ALL SELECT name FROM helping)
	EXCEPT SELECT proname FROM own_function $$, :'dblink'), 'each function that is listed exists');
SELECT is_empty($$ SELECT name FROM listed GROUP BY name HAVING count(*) > 1 $$, 'no function is listed twice');
CREATE TABLE stated AS
SELECT f.oid, f.proname, coalesce(l.may, '{pg_read_all_stats}') AS may, h.name IS NOT NULL AS helps
  FROM own_function f LEFT JOIN listed l ON l.name = f.proname LEFT JOIN helping h ON h.name = f.proname;
SELECT is_empty($$ SELECT f.oid::regprocedure, s.may, g.may FROM own_function f JOIN stated s USING (oid)
	CROSS JOIN LATERAL (SELECT ARRAY(SELECT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END
		FROM aclexplode(coalesce(f.proacl, acldefault('f', f.proowner))) a
		WHERE a.grantee <> f.proowner ORDER BY 1) AS may) g
	WHERE CASE WHEN f.proname ^@ 'ff_' OR s.helps THEN '{PUBLIC}' ELSE s.may END <> g.may $$,
	'each function is granted to the stated roles: by default to readers, public ones to everybody');
SELECT is_empty($$
	SELECT f.oid::regprocedure FROM own_function f JOIN stated s USING (oid)
	WHERE 'pg_read_all_stats' = ANY (s.may)
	AND f.prosrc
		~* '(insert +into|update|delete +from|merge +into|truncate) +(only +)?ff_(internal|hub)\.' $$,
			'functions for readers write no history');
SELECT set_eq($$
	SELECT f.proname::text FROM own_function f JOIN stated s USING (oid)
	WHERE 'pg_read_all_stats' = ANY (s.may) AND f.prolang = (SELECT oid FROM pg_language WHERE lanname = 'c') $$,
	'{born_at,check_role,counters,counters_plus,decision_of,free_bytes,effective_fillfactor,'
	'own_index_definitions,machine_memory,model,model_version,parse_statement,refuse,'
	'rows_per_page,own_server,setting,'
	'show_shards,own_sizes,split_updates,summarizing,t_quantile,threshold,window_add,window_sum}'::text[],
	'the C functions for readers are the listed ones');

SELECT rel_id AS t FROM ff_internal.relation WHERE relname = 'secret' \gset
\set target public.secret
\set index public.secret
\ir ../queries/calls.sql
-- without aggregates and functions that only aggregates can call
DELETE FROM public.calls c USING pg_catalog.pg_proc p
	WHERE p.oid = c.function
		AND (p.prokind = 'a' OR 'internal'::pg_catalog.regtype = ANY (p.proargtypes::pg_catalog.oid[]));

-- tried(ROLE, COMMAND): the SQLSTATE; effects are rolled back
CREATE FUNCTION tried(role name, command text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SET LOCAL ROLE %I', role);
	EXECUTE command;
	RAISE USING ERRCODE = 'P0BCK';
EXCEPTION WHEN OTHERS THEN
	RETURN CASE sqlstate WHEN 'P0BCK' THEN '00000' ELSE sqlstate END;
END $$;
CREATE TABLE roles AS
SELECT * FROM (VALUES ('plain', '{}'::text[]), ('owner', '{}'), ('scan', '{pg_stat_scan_tables}'),
	('reader', '{pg_read_all_stats}'),
                      ('monitor', '{pg_stat_scan_tables,pg_read_all_stats}'),
                      ('collector', '{pg_stat_scan_tables,pg_read_all_stats}')) r(role, groups);
CREATE TABLE rights AS
SELECT c.command, s.proname, r.role, s.may && r.groups AS may, tried('regress_ff_' || r.role, c.command) AS outcome
  FROM public.calls c JOIN stated s ON s.oid = c.function CROSS JOIN roles r;
SELECT cmp_ok((SELECT count(*) FROM rights), '>=', 800::bigint, 'every function was called as each of six roles');
SELECT is_empty($$
	SELECT role, command, outcome FROM rights
	WHERE NOT may AND outcome <> '42501'
		AND NOT proname = ANY (SELECT name FROM helping WHERE name <> 'overview') $$,
	'a role that may not call a function is refused');
-- each public function and view tells a role without rights how to get them
GRANT SELECT ON public.calls TO regress_ff_plain;
SET ROLE regress_ff_plain;
SELECT is_empty($$
	SELECT c.command, h.hint FROM public.calls c
	JOIN pg_catalog.pg_proc p ON p.oid = c.function
	CROSS JOIN LATERAL public.hint_of(c.command) h(hint)
	WHERE p.proname ^@ 'ff_'
		AND h.hint
			!~ '^Ask a superuser to run SELECT ff_grant[(]''[^'']+'', ''(reader|collector|10)''[)]\.$' IS NOT FALSE $$,
	'public functions tell a role without rights how to get them');
SELECT is_empty($$
	SELECT v.name
	FROM (SELECT n.nspname || '.' || c.relname FROM pg_catalog.pg_class c
		JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relkind = 'v' AND c.relname ^@ 'ff_') v(name)
	WHERE public.hint_of('SELECT * FROM ' || v.name) IS DISTINCT FROM
		'Ask a superuser to run SELECT ff_grant(''regress_ff_plain'', ''reader'').' $$,
	'public views tell a role without rights how to get them');
RESET ROLE;
SELECT is_empty($$
	SELECT role, command FROM rights
	WHERE may AND outcome = '42501' AND role IN ('reader', 'collector') $$,
	'a reader and a collector may call all functions granted to them');
SELECT is_empty($$
	SELECT role, command FROM rights
	WHERE may AND outcome = '42501' AND role = 'monitor'
		AND proname IN (SELECT s.proname FROM stated s WHERE 'pg_read_all_stats' = ANY (s.may)) $$,
	'a monitor may call all functions for readers');
SELECT set_eq($$
	SELECT proname::text FROM rights
	WHERE may AND outcome <> '42501' AND role = 'scan' $$,
	'{ff_exclude,ff_rehearsal_result,ff_sample,sample,pool_samples,try_step,
		is_skip,ff_sample_index,index_pages,counted,own_index_definitions,other_options,column_list,
		with_children,with_parents,
		counted_since,parse_statement,
		resolve,tables_named,shell_quoted,tracked_settings,cron,ff_schedule,ff_unschedule,job_name,cron_elsewhere,
		schedule_job,unschedule_jobs,database_jobs,schedule_databases,spread,store,hang_up,answer,send,mine,limits,leave,
		dblink,deadline,connect_timeout,columns_of,schema_statements,table_statements,column_statement,
		index_statements,attempt,detach,is_mirrored,drop_mirrored_index,
		server_said,digests_said,options_of,take,observation,ask}'::text[],
	'a role that may only sample can call only functions that need no history');

CREATE TABLE reads AS
SELECT c.relname, c.relkind, a.what, r.role,
	tried('regress_ff_' || r.role,
		format(a.command, c.oid::regclass,
			(SELECT quote_ident(attname) FROM pg_attribute
				WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped AND attidentity = ''
				LIMIT 1))) AS outcome
  FROM pg_depend d
  JOIN own_extension e ON d.refclassid = 'pg_extension'::regclass AND e.oid = d.refobjid
  JOIN pg_class c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
  JOIN (VALUES ('{r,v}'::"char"[], 'SELECT', 'SELECT FROM %s'),
      ('{r}', 'INSERT', 'INSERT INTO %1$s (%2$s) SELECT %2$s FROM %1$s WHERE false'),
      ('{r}', 'UPDATE', 'UPDATE %s SET %2$s = %2$s WHERE false'), ('{r}', 'DELETE', 'DELETE FROM %s WHERE false'),
               ('{r}', 'TRUNCATE', 'TRUNCATE %s'), ('{r}', 'LOCK', 'LOCK %s IN ACCESS EXCLUSIVE MODE'),
               ('{r,v}', 'OWNER', 'ALTER TABLE %s RENAME TO mine'),
               ('{S}', 'SEQUENCE', 'SELECT pg_catalog.setval(''%s'', 1000)'),
               ('{S}', 'SEQUENCE', 'SELECT pg_catalog.nextval(''%s'')'),
               ('{S}', 'SEQUENCE', 'SELECT FROM %s')) a(kinds, what, command) ON c.relkind = ANY (a.kinds)
 CROSS JOIN roles r;
SELECT is_empty($$
	SELECT role, what, relname, outcome FROM reads
	WHERE (outcome = '42501') IS DISTINCT FROM NOT CASE
		WHEN what = 'SELECT' THEN role IN ('reader', 'monitor', 'collector')
	-- DELETE includes LOCK
	WHEN what IN ('INSERT', 'UPDATE', 'DELETE', 'LOCK') THEN role = 'collector' ELSE false END $$,
	'tables and views are read by readers and written by collectors, row by row');
SELECT * FROM finish();
DROP EXTENSION fillfactor_advisor CASCADE;
DROP OWNED BY regress_ff_plain, regress_ff_owner, regress_ff_scan, regress_ff_reader, regress_ff_monitor,
	regress_ff_collector;
DROP ROLE regress_ff_plain, regress_ff_owner, regress_ff_scan, regress_ff_reader, regress_ff_monitor,
	regress_ff_collector;
