-- Look-alikes in the caller's search_path, in the temporary schema and in the
-- extension's own schema: none is ever called, at install or later.
\set QUIET 1
SET client_min_messages = error;
SELECT plan(16);

-- Whatever of it runs raises this.
CREATE FUNCTION public.trap() RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE 'hostile code ran' USING ERRCODE = 'TRAP0'; END $$;

-- ---------------------------------------------------------------------------
-- In front of pg_catalog in the caller's search_path
-- ---------------------------------------------------------------------------
CREATE SCHEMA hostile;
-- every function of pg_catalog that the install script or a body names
CREATE FUNCTION hostile.plant() RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	f record;
	planted int := 0;
BEGIN
	FOR f IN
		SELECT p.proname, pg_get_function_identity_arguments(p.oid) AS arguments, pg_get_function_result(p.oid) AS result
		  FROM pg_proc p
		 WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind = 'f'
		   AND p.proname = ANY ('{format,quote_ident,quote_literal,coalesce,concat,concat_ws,now,clock_timestamp,make_interval,current_setting,set_config,
		       pg_stat_clear_snapshot,pg_stat_get_activity,pg_backend_pid,pg_stat_get_numscans,pg_relation_filenode,pg_size_pretty,pg_extension_config_dump,
		       pg_stat_get_db_stat_reset_time,pg_stat_get_bgwriter_stat_reset_time,pg_get_indexdef,date_trunc,round,floor,ceil,length,substring,replace,
		       unnest,cardinality,array_length,regexp_replace,md5,jsonb_build_object,to_char,sqrt,ln,exp,power,abs,has_table_privilege,pg_has_role,left,right,upper,lower}'::text[])
		   AND pg_get_function_result(p.oid) !~ '^(any|internal|TABLE|SETOF)' AND pg_get_function_identity_arguments(p.oid) !~ 'VARIADIC|internal|any|OUT '
	LOOP
		EXECUTE format('CREATE FUNCTION hostile.%I(%s) RETURNS %s LANGUAGE plpgsql AS %L', f.proname, f.arguments, f.result, 'BEGIN PERFORM public.trap(); END');
		planted := planted + 1;
	END LOOP;
	-- operators, the exact types of the built-in ones
	FOR f IN
		SELECT o.oprname, o.oprleft::regtype AS l, o.oprright::regtype AS r, o.oprresult::regtype AS result, row_number() OVER () AS n
		  FROM pg_operator o
		 WHERE o.oprnamespace = 'pg_catalog'::regnamespace AND o.oprkind = 'b' AND o.oprname IN ('=', '<>', '<', '>', '<=', '>=', '+', '-', '*', '/', '||', '~', '!~', '^@', '~~')
		   AND 'anyarray'::regtype NOT IN (o.oprleft, o.oprright)
		   AND o.oprleft::regtype::text !~ '^any' AND o.oprright::regtype::text !~ '^any'
	LOOP
		EXECUTE format('CREATE FUNCTION hostile.operator_%s(%s, %s) RETURNS %s LANGUAGE plpgsql AS %L', f.n, f.l, f.r, f.result, 'BEGIN PERFORM public.trap(); END');
		EXECUTE format('CREATE OPERATOR hostile.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = hostile.operator_%s)', f.oprname, f.l, f.r, f.n);
		planted := planted + 1;
	END LOOP;
	RETURN planted;
END $$;
SELECT cmp_ok(hostile.plant(), '>', 300, 'look-alikes of functions and operators');
-- of catalogs and types
CREATE TABLE hostile.pg_class (oid oid, relname text);
CREATE TABLE hostile.pg_extension (oid oid, extname text, extnamespace oid);
CREATE TYPE hostile.text AS (a int);
CREATE TYPE hostile.bigint AS (a int);
CREATE TEMP TABLE pg_namespace (oid oid, nspname text);
CREATE TEMP TABLE pg_database (oid oid, datname text);
CREATE DOMAIN pg_temp.regclass AS oid CHECK (public.trap() IS NOT NULL);
CREATE DOMAIN pg_temp.float8 AS int CHECK (public.trap() IS NOT NULL);
CREATE TABLE public.t (id int PRIMARY KEY, v int);
INSERT INTO public.t SELECT g, 0 FROM generate_series(1, 1000) g;

-- outcome(COMMAND): its SQLSTATE, with another search_path while it runs
CREATE FUNCTION public.outcome(command pg_catalog.text, path pg_catalog.text DEFAULT 'public') RETURNS pg_catalog.text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_catalog.set_config('search_path', path, false);
	BEGIN
		EXECUTE command;
	EXCEPTION WHEN OTHERS THEN
		PERFORM pg_catalog.set_config('search_path', 'public', false);
		RETURN sqlstate;
	END;
	PERFORM pg_catalog.set_config('search_path', 'public', false);
	RETURN '00000';
END $$;
SELECT is(outcome('SELECT 1 = 1', 'hostile, pg_catalog, pg_temp'), 'TRAP0', 'the trap works: an operator');
SELECT is(outcome('SELECT now()', 'hostile, pg_catalog'), 'TRAP0', 'a function');

CREATE SCHEMA advisor;
-- The server puts the extension's own schema behind pg_catalog while the script
-- runs: what is there is called where it matches better.
CREATE FUNCTION advisor.trap(name, pg_catalog.text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN PERFORM public.trap(); END $$;
CREATE OPERATOR advisor.^@ (LEFTARG = name, RIGHTARG = pg_catalog.text, FUNCTION = advisor.trap);
SELECT is(outcome($$ SELECT 'ff'::name ^@ 'f' $$, 'advisor'), 'TRAP0', 'an operator of better matching types');
SELECT is(outcome('CREATE EXTENSION fillfactor_advisor SCHEMA advisor', 'hostile, pg_temp, pg_catalog'), '00000', 'CREATE EXTENSION calls none of them');
-- the functions without an argument that must be given
CREATE TABLE public.calls (command pg_catalog.text, outcome pg_catalog.text);
INSERT INTO public.calls (command)
SELECT format('%s %I.%I()', CASE p.prokind WHEN 'p' THEN 'CALL' ELSE 'SELECT * FROM' END, n.nspname, p.proname)
  FROM pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
 WHERE n.nspname = 'advisor' AND p.pronargs = p.pronargdefaults AND p.proname NOT IN ('ff_schedule', 'ff_unschedule');
INSERT INTO public.calls (command)
SELECT format('SELECT * FROM %I.%I(%L::pg_catalog.regclass)', n.nspname, p.proname, 'public.t')
  FROM pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
 WHERE n.nspname = 'advisor' AND p.prokind = 'f' AND p.proname <> 'ff_sample_index'
   AND p.proargtypes[0] = 'pg_catalog.regclass'::pg_catalog.regtype AND p.pronargs - p.pronargdefaults <= 1;
SELECT cmp_ok(count(*), '>=', 12::bigint, 'every function that needs no argument, or a table') FROM public.calls;

-- a first history, and updates enough for every path of the advice
CALL advisor.ff_collect();
UPDATE public.t SET v = v + 1;
UPDATE public.t SET v = v + 1;
SELECT pg_stat_force_next_flush();
CALL advisor.ff_collect();
UPDATE public.t SET v = v + 1;
SELECT pg_stat_force_next_flush();
UPDATE public.calls SET outcome = public.outcome(command);
SELECT is_empty($$ SELECT command, outcome FROM public.calls WHERE outcome <> public.outcome(command, 'hostile, pg_temp, pg_catalog, advisor') $$,
	'none calls a look-alike found first in search_path');
SELECT isnt_empty($$ SELECT FROM public.calls WHERE outcome = '00000' AND command ~ 'ff_advise' $$, 'nor are they all refused');
SELECT cmp_ok((SELECT count(*) FROM advisor.ff_interval), '>', 1::bigint, 'and they did their work');

-- ---------------------------------------------------------------------------
-- In the extension's own schema, where somebody else may create things
-- ---------------------------------------------------------------------------
-- Overloads that would be a better match for some call: every function of the
-- extension, its arguments of all the types that could be meant instead.
CREATE FUNCTION public.overload() RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	f record;
	planted int := 0;
	instead CONSTANT jsonb := '{"float8": ["int4", "int8", "numeric", "float4"], "int4": ["int2", "int8", "numeric"], "int8": ["int4", "numeric", "oid"],
		"text": ["varchar", "name", "\"char\""], "regclass": ["oid", "int8", "text"], "oid": ["regclass", "int4", "int8"], "_text": ["_varchar", "_name"], "name": ["text"]}';
BEGIN
	FOR f IN
		WITH RECURSIVE own AS (
			SELECT p.oid, p.proname, p.prokind, p.pronargs, p.proargtypes FROM pg_proc p WHERE p.pronamespace = 'advisor'::regnamespace AND p.pronargs BETWEEN 1 AND 6
		), choice AS (
			SELECT o.oid, i, t FROM own o, generate_series(0, o.pronargs - 1) i,
			       LATERAL (SELECT format_type(o.proargtypes[i], NULL) AS t
			                UNION ALL SELECT jsonb_array_elements_text(instead -> (SELECT typname::text FROM pg_type WHERE oid = o.proargtypes[i]))) x
		), combined AS (
			SELECT oid, 0 AS i, t AS arguments FROM choice WHERE i = 0
			UNION ALL
			SELECT c.oid, c.i + 1, c.arguments || ', ' || x.t FROM combined c JOIN choice x ON x.oid = c.oid AND x.i = c.i + 1
		)
		SELECT o.proname, o.prokind, c.arguments FROM combined c JOIN own o ON o.oid = c.oid AND c.i = o.pronargs - 1
		 WHERE c.arguments <> (SELECT string_agg(format_type(t, NULL), ', ' ORDER BY n) FROM unnest(o.proargtypes) WITH ORDINALITY u(t, n))
	LOOP
		BEGIN
			EXECUTE format('CREATE FUNCTION advisor.%I(%s) RETURNS void LANGUAGE plpgsql AS %L', f.proname, f.arguments, 'BEGIN PERFORM public.trap(); END');
			planted := planted + 1;
		EXCEPTION WHEN duplicate_function THEN
			NULL;
		END;
	END LOOP;
	RETURN planted;
END $$;
SELECT cmp_ok(public.overload(), '>', 100, 'overloads of the extension''s functions in its own schema');
DISCARD PLANS;
SELECT is_empty($$ SELECT command, outcome, public.outcome(command) FROM public.calls WHERE outcome <> public.outcome(command) $$, 'none of them is called by another');

-- ---------------------------------------------------------------------------
-- There before the extension
-- ---------------------------------------------------------------------------
DROP EXTENSION fillfactor_advisor;
CREATE SCHEMA taken;
CREATE FUNCTION taken.ff_setting(name) RETURNS text LANGUAGE sql AS 'SELECT NULL::text';
SELECT throws_ok('CREATE EXTENSION fillfactor_advisor SCHEMA taken', '42723', NULL, 'a function of one of its names, of other arguments, is in the way');
DROP FUNCTION taken.ff_setting(name);
CREATE TABLE taken.ff_interval (rel_id bigint);
SELECT throws_ok('CREATE EXTENSION fillfactor_advisor SCHEMA taken', '42P07', NULL, 'so is a table');
DROP TABLE taken.ff_interval;
CREATE VIEW taken.ff_candidate AS SELECT 1;
SELECT throws_ok('CREATE EXTENSION fillfactor_advisor SCHEMA taken', '42P07', NULL, 'a view');
DROP VIEW taken.ff_candidate;
CREATE DOMAIN taken.ff_table_evidence AS int;
SELECT throws_ok('CREATE EXTENSION fillfactor_advisor SCHEMA taken', '42710', NULL, 'a type');
DROP DOMAIN taken.ff_table_evidence;
SELECT lives_ok('CREATE EXTENSION fillfactor_advisor SCHEMA taken', 'without them it installs');
SELECT * FROM finish();
