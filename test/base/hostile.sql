-- Look-alikes in the caller's search_path, in the temporary schema and in the
-- extension's own schema, casts of another role's types, and objects that exist
-- before the extension: none of them is ever called, neither by CREATE EXTENSION
-- nor later.
SET client_min_messages = error;
CREATE SCHEMA advisor;
SELECT plan(53);
SELECT count(*) > 0 AS statements FROM pg_available_extensions WHERE name = 'pg_stat_statements' \gset
\if :statements
CREATE EXTENSION pg_stat_statements;
\endif
\set own advisor
\set scripts 'sql/*.sql sql/*/*.sql hub/sql/*.sql'
\ir ../hostile/plant.sql
\ir ../hostile/plant_temp.sql
-- for this script itself
SET search_path = pg_catalog, public, pg_temp;

-- outcome(COMMAND, PATH, ROLE): its SQLSTATE, and "called" if any planted object
-- ran; its effects are rolled back, unless STAYS is given
CREATE FUNCTION public.outcome(command text, path text DEFAULT 'public', role name DEFAULT current_user,
	stays boolean DEFAULT false)
	RETURNS text LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	state text := '00000';
BEGIN
	PERFORM setval('hostile.ran', 1, false);
	BEGIN
		EXECUTE format('SET LOCAL ROLE %I', role);
		PERFORM set_config('search_path', path, true);
		EXECUTE command;
		-- search_path is still the hostile one
		PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
		RESET ROLE;
		IF NOT stays THEN
			RAISE USING ERRCODE = 'P0BCK';
		END IF;
	EXCEPTION WHEN OTHERS THEN
		state := CASE WHEN sqlstate = 'P0BCK' THEN '00000' ELSE sqlstate END;
	END;
	RETURN state || CASE WHEN (SELECT is_called FROM hostile.ran) THEN ' called' ELSE '' END;
END $$;

-- ---------------------------------------------------------------------------
-- The traps work
-- ---------------------------------------------------------------------------
SELECT cmp_ok((SELECT count(*) FROM hostile.planted WHERE kind = 'function'), '>', 300::bigint,
	'look-alikes of functions were planted');
SELECT cmp_ok((SELECT count(*) FROM hostile.planted WHERE kind ~ '^operator'), '>', 5000::bigint,
	'look-alikes of operators were planted');
SELECT cmp_ok((SELECT count(*) FROM hostile.planted WHERE kind = 'better match'), '>', 3000::bigint,
	'functions of better matching types were planted');
SELECT matches(public.outcome(c.command, c.path), 'called$', 'the trap works: ' || c.what)
  FROM (VALUES ('an operator', 'SELECT 1 = 1', 'hostile, pg_catalog'),
      ('a function', 'SELECT now()', 'hostile, pg_catalog'), ('an aggregate', 'SELECT sum(1)', 'hostile, pg_catalog'),
               ('a set', 'SELECT * FROM generate_series(1, 2)', 'hostile, pg_catalog'),
               ('an operator of better matching types', $$SELECT 'ff'::name ^@ 'f'::text$$, 'advisor'),
               ('a function instead of VARIADIC "any"', $$SELECT format('%s', 'x'::text)$$, 'advisor'),
               ('a function of better matching types', $$SELECT length('x'::name)$$, 'advisor'),
               ('a catalog', 'SELECT FROM pg_class', 'hostile, pg_catalog'),
               ('a type', $$SELECT 'x'::text$$, 'hostile, pg_catalog'),
               ('a cast', 'SELECT 1::hostile.word', 'public'),
               ('a temporary catalog', 'SELECT FROM pg_class', 'pg_temp, pg_catalog'),
               ('a temporary type', $$SELECT 'x'::text$$, 'pg_temp, pg_catalog')) c(what, command, path);

-- ---------------------------------------------------------------------------
-- Install
-- ---------------------------------------------------------------------------
SELECT count(*) > 0 AS dblink FROM pg_available_extensions WHERE name = 'dblink' \gset
\if :dblink
\set hub '; CREATE EXTENSION fillfactor_advisor_hub SCHEMA advisor'
CREATE EXTENSION dblink SCHEMA public;
\else
\set hub ''
\endif
SELECT is(public.outcome('CREATE EXTENSION fillfactor_advisor SCHEMA advisor' || :'hub',
	'pg_temp, hostile, advisor, pg_catalog', stays => true),
	'00000', 'CREATE EXTENSION calls no look-alike');

-- ---------------------------------------------------------------------------
-- Calls: every function of the extension, with arguments that fit
-- ---------------------------------------------------------------------------
-- so that collections do not read the thousands of statements that planted the look-alikes
\if :statements
SELECT public.pg_stat_statements_reset() \g /dev/null
\endif
-- a table to lower, one to raise, and changes to verify
CREATE TABLE public.t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, batch int NOT NULL,
	status int NOT NULL DEFAULT 0, payload text) WITH (autovacuum_enabled = off);
CREATE INDEX t_batch ON public.t (batch);
CREATE TABLE public.log (line text) WITH (fillfactor = 50);
CREATE TABLE public.keys (id bigint PRIMARY KEY);
INSERT INTO public.keys SELECT g FROM generate_series(1, 60000) g;
CREATE PROCEDURE public.work() LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO public.keys SELECT 100000 + g + (SELECT max(id) FROM public.keys) FROM generate_series(1, 1000) g;
	FOR i IN 1..6 LOOP
		INSERT INTO public.t (batch, payload) SELECT i, repeat('p', 90) FROM generate_series(1, 500);
		INSERT INTO public.log SELECT repeat('l', 100) FROM generate_series(1, 1000);
		COMMIT;
		UPDATE public.t SET status = 1 WHERE id > (SELECT max(id) - 500 FROM public.t);
		COMMIT;
	END LOOP;
END $$;
\o /dev/null
CALL public.work(); SELECT pg_stat_force_next_flush(); CALL advisor.ff_collect();
ALTER TABLE public.t SET (parallel_workers = 0);
DROP INDEX public.t_batch;
CALL public.work(); SELECT pg_stat_force_next_flush(); CALL advisor.ff_collect();
CALL public.work(); SELECT pg_stat_force_next_flush(); CALL advisor.ff_collect();
CALL public.work(); SELECT pg_stat_force_next_flush(); CALL advisor.ff_collect();
-- make the history a day long, with the index dropped before
UPDATE ff_internal.change SET seen_at = seen_at - interval '1 day', before_at = before_at - interval '1 day';
UPDATE ff_internal.counter_interval i SET began_at = i.began_at - (n.later + 1) * interval '8 hours',
		ended_at = i.ended_at - n.later * interval '8 hours'
	FROM (SELECT rel_id, ended_at, count(*) OVER (PARTITION BY rel_id ORDER BY ended_at DESC) - 1 AS later
		FROM ff_internal.counter_interval) n
	WHERE n.rel_id = i.rel_id AND n.ended_at = i.ended_at;
SELECT ff_internal.collect_fit(rel_id) FROM ff_internal.relation WHERE closed_at IS NULL;
\o
SELECT is((SELECT string_agg(format('%s %s', relation, action), ', ' ORDER BY relation::text)
	FROM advisor.ff_advise() WHERE action IN ('lower', 'raise')),
	'log raise, t lower', 'one table is advised to lower, one to raise');
SELECT cmp_ok((SELECT count(*) FROM advisor.ff_verify('public.t')), '>=', 2::bigint, 'there are changes to verify');
SELECT rel_id AS t FROM ff_internal.relation WHERE relname = 't' \gset

-- a collector that is not superuser
DROP ROLE IF EXISTS regress_ff_collecting;
CREATE ROLE regress_ff_collecting IN ROLE pg_monitor;
GRANT USAGE ON SCHEMA advisor TO regress_ff_collecting;
SELECT format('GRANT INSERT, UPDATE, DELETE ON %s TO regress_ff_collecting', string_agg(c.oid::regclass::text, ', '))
  FROM pg_extension e JOIN pg_class c ON c.oid = ANY (e.extconfig)
 WHERE e.extname ^@ 'fillfactor_advisor' AND c.relkind = 'r' \gexec

\set target public.t
\set index public.t_pkey
\ir ../queries/calls.sql
ALTER TABLE public.calls ADD of_superuser text, ADD of_collector text;
INSERT INTO public.calls (function, command)
	SELECT function, regexp_replace(command, '\(.*', '()') FROM public.calls
	WHERE optional;
UPDATE public.calls SET of_superuser = public.outcome(command),
	of_collector = public.outcome(command, role => 'regress_ff_collecting');
SELECT is_empty($$
	SELECT p.oid::regprocedure FROM pg_proc p
	WHERE p.pronamespace::regnamespace::text IN ('advisor', 'ff_internal', 'ff_hub')
		AND p.proowner = (SELECT oid FROM pg_roles WHERE rolname = current_user)
	AND NOT EXISTS (SELECT FROM public.calls c WHERE c.function = p.oid)
	AND NOT 'record'::regtype = ANY (p.proargtypes::oid[]) $$,
	'every function of the extension has a call');
SELECT cmp_ok((SELECT count(*) FILTER (WHERE of_superuser = '00000')::float8 / count(*) FROM public.calls), '>',
	0.85::float8, 'most calls succeed for a superuser');
SELECT cmp_ok((SELECT count(*) FILTER (WHERE of_collector = '00000')::float8 / count(*) FROM public.calls), '>',
	0.85::float8, 'most calls succeed for a collector');
SELECT is((SELECT string_agg(command, E'\n') FROM public.calls
	WHERE of_superuser ~ 'called' OR of_collector ~ 'called'),
	NULL, 'with the usual search_path, no call reaches a look-alike');
-- calls that end differently with another search_path, or with more objects planted
CREATE FUNCTION public.otherwise(path text)
	RETURNS TABLE (command text, who text, before text, after text) LANGUAGE sql AS $$
	SELECT c.command, 'superuser', c.of_superuser, o
		FROM public.calls c, public.outcome(c.command, path) o WHERE o <> c.of_superuser
	UNION ALL
	SELECT c.command, 'collector', c.of_collector, o
		FROM public.calls c, public.outcome(c.command, path, 'regress_ff_collecting') o
		WHERE o <> c.of_collector
$$;
DISCARD PLANS;
SELECT is_empty($$ SELECT * FROM public.otherwise('pg_temp, hostile, advisor, pg_catalog') $$,
	'with a hostile search_path, no call reaches a look-alike');
-- outside a transaction block a collection commits after each step
CALL public.work();
SELECT pg_stat_force_next_flush() \gset
SELECT setval('hostile.ran', 1, false) \gset
SET search_path = pg_temp, hostile, advisor, pg_catalog;
CALL advisor.ff_collect();
SET search_path = pg_catalog, public, pg_temp;
SELECT is((SELECT format('%s %s %s', c.changed >= 3, c.sampled > 0, r.is_called)
	FROM ff_internal.collection c, hostile.ran r ORDER BY c.collection_id DESC LIMIT 1),
	't t f', 'a collection that commits as it goes calls no look-alike');
SELECT is(public.outcome('TABLE ' || c.oid::regclass, 'pg_temp, hostile, advisor, pg_catalog'), '00000',
	'no look-alike is called by the view ' || c.relname)
  FROM pg_class c
 WHERE c.relnamespace::regnamespace::text IN ('advisor', 'ff_internal', 'ff_hub')
   AND c.relkind = 'v' AND c.relname !~ '^pg_'
 ORDER BY c.relname;

-- ---------------------------------------------------------------------------
-- In the extension's own schema, if another role may create objects there
-- ---------------------------------------------------------------------------
-- Overloads that would match some call better: every function of the extension in
-- this schema, with arguments of all types that could be meant instead, including
-- the attacker's own types with their implicit casts.
CREATE FUNCTION public.overload(more boolean) RETURNS int LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	f record;
	planted int := 0;
	instead CONSTANT jsonb := '{
		"float8": ["text", "int4", "int8", "numeric", "float4", "hostile.word"],
		"int4": ["text", "int2", "int8", "numeric", "hostile.word"],
		"int8": ["text", "int4", "numeric", "oid", "hostile.word"],
		"text": ["varchar", "name", "\"char\"", "hostile.word", "hostile.text"],
		"regclass": ["oid", "int8", "text", "hostile.word", "hostile.regclass"],
		"oid": ["text", "regclass", "int4", "int8", "hostile.word"],
		"_text": ["text", "_varchar", "_name", "anyarray"], "name": ["text", "hostile.word"],
		"bool": ["text", "int4", "hostile.word"], "jsonb": ["json", "text", "hostile.word"],
		"timestamptz": ["text", "timestamp", "date", "hostile.word"]}';
BEGIN
	FOR f IN
		WITH RECURSIVE own AS (
			SELECT p.oid, p.proname, p.pronargs, p.proargtypes, pg_get_function_result(p.oid) AS result,
				p.proretset OR coalesce(p.proargmodes && '{o,t}', false) AS row,
			       -- with the same result type, or the call would not fit
			       (SELECT string_agg(format(', OUT %I %s', a.name, format_type(a.type, NULL)), '' ORDER BY a.n)
			           FROM unnest(p.proargnames, p.proallargtypes,
			               p.proargmodes) WITH ORDINALITY a(name, type, mode, n)
			           WHERE a.mode = 'o') AS out
			  FROM pg_proc p JOIN public.calls c ON c.function = p.oid
			 WHERE p.pronamespace = 'advisor'::regnamespace AND p.pronargs BETWEEN 1 AND 6 AND p.prokind = 'f'
		), choice AS (
			SELECT o.oid, i, t FROM own o, generate_series(0, o.pronargs - 1) i,
			       LATERAL (SELECT format_type(o.proargtypes[i], NULL) AS t
			                UNION ALL
			               SELECT jsonb_array_elements_text(instead -> (SELECT typname::text
			                   FROM pg_type WHERE oid = o.proargtypes[i]))) x
		), combined AS (
			SELECT oid, 0 AS i, t AS arguments, 1 AS many FROM choice WHERE i = 0
			UNION ALL
			-- of more than three arguments at most two differ
			SELECT c.oid, c.i + 1, c.arguments || ', ' || x.t,
				c.many + (x.t <> format_type(o.proargtypes[x.i], NULL))::int
			  FROM combined c JOIN choice x ON x.oid = c.oid AND x.i = c.i + 1
			  JOIN own o ON o.oid = c.oid WHERE o.pronargs <= 3 OR c.many < 3
		)
		SELECT o.proname, c.arguments, o.result, o.row, o.out FROM combined c
			JOIN own o ON o.oid = c.oid AND c.i = o.pronargs - 1
		 WHERE c.arguments <> (SELECT string_agg(format_type(t, NULL), ', ' ORDER BY n)
		     FROM unnest(o.proargtypes) WITH ORDINALITY u(t, n))
		UNION ALL
		SELECT o.proname, v.arguments, o.result, o.row, o.out
		  FROM own o, LATERAL (VALUES (array_to_string(array_fill('anyelement'::text, ARRAY[o.pronargs::int]), ', ')),
		      ('VARIADIC text[]'), ('VARIADIC anyarray'),
		                              (CASE
		                                  WHEN more THEN concat_ws(', ',
		                                      (SELECT string_agg(format_type(t, NULL), ', ' ORDER BY n)
		                                          FROM unnest(o.proargtypes) WITH ORDINALITY u(t, n)),
		                                      'more int DEFAULT 1') END)) v(arguments)
		 WHERE v.arguments IS NOT NULL
	LOOP
		planted := planted
			+ hostile.plant('advisor', f.proname, concat(f.arguments, f.out), f.result, 'overload', f.row)::int;
	END LOOP;
	RETURN planted;
END $$;
SELECT cmp_ok((SELECT public.overload(false)), '>', 300, 'overloads were planted in the extension''s own schema');
DISCARD PLANS;
SELECT is_empty($$ SELECT * FROM public.otherwise('public') $$,
	'no function of the extension calls a planted overload');
-- an overload with one more argument that has a default: the call becomes ambiguous
SELECT cmp_ok((SELECT public.overload(true)), '>', 10, 'overloads with an additional default argument were planted');
DISCARD PLANS;
SELECT is_empty($$ SELECT * FROM public.otherwise('public') WHERE after <> '42725' $$,
	'with default arguments a call may be ambiguous, but reaches no overload');

-- ---------------------------------------------------------------------------
-- Objects that exist before the extension, under each name that it or its hub uses
-- ---------------------------------------------------------------------------
CREATE TABLE public.names AS
SELECT e.extname = 'fillfactor_advisor_hub' AS of_hub, c.relname AS name, 'relation' AS kind
	FROM pg_class c
	JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid
	JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND e.oid = d.refobjid
 WHERE e.extname IN ('fillfactor_advisor', 'fillfactor_advisor_hub') AND d.deptype = 'e'
UNION ALL
-- except indexes named by the server
SELECT e.extname = 'fillfactor_advisor_hub', c.relname, 'index' FROM pg_index i
	JOIN pg_class c ON c.oid = i.indexrelid
	JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = i.indrelid
	JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND e.oid = d.refobjid
 WHERE e.extname IN ('fillfactor_advisor', 'fillfactor_advisor_hub') AND d.deptype = 'e'
   AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid)
UNION ALL
SELECT DISTINCT p.proname ~ '^ff_(fleet|import)', p.proname, 'function'
	FROM public.calls c JOIN pg_proc p ON p.oid = c.function;
-- all others are in schemas that the extensions create
DELETE FROM public.names WHERE name !~ '^ff_';
SELECT cmp_ok((SELECT count(*) FROM public.names), '>=', 20::bigint,
	'the names of public views and functions are known');
DROP EXTENSION fillfactor_advisor CASCADE;
CREATE SCHEMA taken;
GRANT ALL ON SCHEMA taken TO regress_ff_attacker;
CREATE FUNCTION public.in_the_way(decoy text, extension text) RETURNS text LANGUAGE sql AS $$
	SELECT public.outcome(format('SET LOCAL ROLE regress_ff_attacker; %s; RESET ROLE; CREATE EXTENSION %I SCHEMA taken',
		decoy, extension))
$$;
CREATE TABLE public.decoys AS
SELECT n.of_hub, n.name, format(d.decoy, n.name) AS decoy
  FROM public.names n
  JOIN (VALUES ('relation', 'CREATE TABLE taken.%I (rel_id bigint)'),
      ('relation', 'CREATE VIEW taken.%I AS SELECT 1 AS rel_id'), ('relation', 'CREATE SEQUENCE taken.%I'),
      ('relation', 'CREATE TYPE taken.%I AS (rel_id bigint)'),
               ('index', 'CREATE TABLE taken.%I (rel_id bigint)'),
               ('function',
                   'CREATE FUNCTION taken.%I(name) RETURNS text LANGUAGE sql AS ''SELECT NULL::text''')) d(kind, decoy)
                       USING (kind)
UNION ALL
SELECT n.of_hub, n.name, format('CREATE DOMAIN taken.%I AS int', n.name) FROM public.names n JOIN pg_class c ON false;
CREATE TABLE public.ended AS
	SELECT decoy, public.in_the_way(decoy, 'fillfactor_advisor') AS outcome FROM public.decoys WHERE NOT of_hub;
-- which the hub needs
CREATE EXTENSION fillfactor_advisor SCHEMA taken;
INSERT INTO public.ended
	SELECT decoy, public.in_the_way(decoy, 'fillfactor_advisor_hub') FROM public.decoys WHERE of_hub;
DROP EXTENSION fillfactor_advisor;
SELECT is_empty($$
	SELECT decoy, outcome FROM public.ended WHERE outcome NOT IN ('42723', '42P07', '42710', '55000') $$,
	'CREATE EXTENSION fails if an object has one of its names');
SELECT is(public.outcome('SET LOCAL ROLE regress_ff_attacker; CREATE SCHEMA ff_internal; RESET ROLE; CREATE EXTENSION '
	'fillfactor_advisor SCHEMA taken'),
	'42P06',
	'CREATE EXTENSION fails if a schema ff_internal exists');
SELECT is(public.outcome('CREATE EXTENSION fillfactor_advisor SCHEMA taken'
	|| replace(:'hub', 'SCHEMA advisor', 'SCHEMA taken')),
	'00000', 'CREATE EXTENSION succeeds without these objects');
SELECT * FROM finish();
-- the attacker's role stays: dropping all that it owns takes more locks than there are
DROP OWNED BY regress_ff_collecting;
DROP ROLE regress_ff_collecting;
