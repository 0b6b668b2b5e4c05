-- plant.sql: all look-alikes that a role without special rights can create for the
-- names and types used in the extension's scripts and functions.  Variables:
-- own, the present or future schema of the extension, where the role may
-- create objects; scripts, the SQL files with the words to imitate.
--   hostile   look-alikes with exactly the server's types, which are called if
--             this schema comes before pg_catalog in search_path
--   :own      functions and operators with types that match a call better than
--             those of pg_catalog, wherever that is in search_path
--   casts     implicit ones between the role's own types and the server's
-- plant_temp.sql fills the temporary schema.  Each of these warns if it runs, and
-- advances the sequence hostile.ran, which no rollback reverts.
SET client_min_messages = error;
-- what it plants must not affect this script
SET search_path = pg_catalog, pg_temp;
SELECT 'CREATE ROLE regress_ff_attacker'
	WHERE NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'regress_ff_attacker') \gexec
SELECT format('GRANT CREATE ON DATABASE %I TO regress_ff_attacker', current_database()) \gexec
GRANT USAGE, CREATE ON SCHEMA :"own" TO regress_ff_attacker;
\setenv FF_SCRIPTS :scripts
\set words `cat $FF_SCRIPTS | grep -oE '[a-z_][a-z_0-9]*' | sort -u | tr '\n' ','`
SET ROLE regress_ff_attacker;
CREATE SCHEMA hostile;
GRANT USAGE ON SCHEMA hostile TO PUBLIC;
CREATE SEQUENCE hostile.ran;
CREATE FUNCTION hostile.trap(what text) RETURNS boolean
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS
$$ BEGIN PERFORM nextval('hostile.ran'); RAISE WARNING 'hostile code ran: %', what; RETURN true; END $$;
CREATE TABLE hostile.planted (kind text, name text);
GRANT SELECT ON hostile.planted TO PUBLIC;

-- Creates a function of the attacker; false if that is impossible, as with
-- some pseudotypes.
CREATE FUNCTION hostile.plant(into_schema name, name text, arguments text, result text, kind text,
	returns_row boolean DEFAULT false)
	RETURNS boolean LANGUAGE plpgsql AS $plant$
BEGIN
	EXECUTE format('CREATE FUNCTION %I.%I(%s) RETURNS %s LANGUAGE plpgsql AS %L', into_schema, name, arguments, result,
	               format('BEGIN PERFORM hostile.trap(%L); %s END', format('%s %s(%s)', kind, name, arguments),
	                   CASE WHEN returns_row OR result IN ('void', 'trigger') THEN 'RETURN;' ELSE 'RETURN NULL;' END));
	INSERT INTO hostile.planted VALUES (kind, name);
	RETURN true;
EXCEPTION WHEN invalid_function_definition OR feature_not_supported OR duplicate_function OR undefined_object THEN
	RETURN false;
END $plant$;

-- types of one line can be mistaken for each other
CREATE TABLE hostile.alike AS
SELECT a.type::regtype::oid AS type, o.type::regtype::oid AS other
  FROM (VALUES ('{text,name,varchar,bpchar,"\"char\""}'::text[]), ('{int2,int4,int8,oid,numeric,float4,float8}'),
      ('{regclass,oid,int8,regtype,regproc,text,name}'),
               ('{timestamptz,timestamp,date,text}'), ('{_text,_name,_varchar}'), ('{_int4,_int8,_oid,_int2}'),
               ('{jsonb,json,text}')) l(types),
       unnest(l.types) a(type), unnest(l.types) o(type)
 WHERE a.type <> o.type
 GROUP BY 1, 2;

\o /dev/null
-- functions and aggregates with the server's types
SELECT hostile.plant('hostile', p.proname,
	CASE WHEN p.prokind = 'f' THEN pg_get_function_arguments(p.oid) ELSE oidvectortypes(p.proargtypes) END,
	CASE WHEN p.prokind = 'f' THEN pg_get_function_result(p.oid) ELSE format_type(p.prorettype, NULL) END,
                     'function', p.proretset OR coalesce(p.proargmodes && '{o,b,t}', false))
  FROM pg_proc p
 WHERE p.pronamespace = 'pg_catalog'::regnamespace
   AND p.proname = ANY (string_to_array(:'words', ',')) AND p.prokind <> 'p';
-- better matches: one argument of another type, and real types instead of "any"
WITH f AS (
	SELECT p.oid, p.proname, p.proargtypes::oid[] AS types, format_type(p.prorettype, NULL) AS result, p.provariadic
	  FROM pg_proc p
	 WHERE p.pronamespace = 'pg_catalog'::regnamespace
	   AND p.proname = ANY (string_to_array(:'words', ',')) AND p.prokind = 'f'
	   AND NOT p.proretset AND p.pronargs BETWEEN 1 AND 4
), arguments AS (
	SELECT f.proname, f.result,
		(SELECT string_agg(format_type(CASE WHEN u.n = place.n THEN a.other ELSE u.type END, NULL), ', ' ORDER BY u.n)
			FROM unnest(f.types) WITH ORDINALITY u(type, n)) AS arguments
	  FROM f CROSS JOIN LATERAL unnest(f.types) WITH ORDINALITY place(type, n)
	  JOIN hostile.alike a ON a.type = place.type
	UNION
	SELECT f.proname, f.result, concat_ws(', ',
		(SELECT string_agg(format_type(u.type, NULL), ', ' ORDER BY u.n)
			FROM unnest(f.types) WITH ORDINALITY u(type, n)
			WHERE u.n < cardinality(f.types)),
	                                      array_to_string(array_fill(any_one, ARRAY[many]), ', '))
	  FROM f, unnest('{text,integer,bigint,name,numeric}'::text[]) any_one, generate_series(1, 3) many
	 WHERE f.provariadic = '"any"'::regtype
)
SELECT hostile.plant(s.name, a.proname, a.arguments, a.result, 'better match')
  FROM arguments a, (VALUES ('hostile'), (:'own')) s(name)
 WHERE NOT EXISTS (SELECT 1 FROM pg_proc p
     WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.proname = a.proname
         AND oidvectortypes(p.proargtypes) = a.arguments);
-- operators with the server's types, and with types for which it has none
WITH o AS (
	SELECT o.oprname, o.oprleft AS l, o.oprright AS r, o.oprresult AS result FROM pg_operator o
	 WHERE o.oprnamespace = 'pg_catalog'::regnamespace AND o.oprkind = 'b'
	   AND o.oprname IN ('=', '<>', '<', '>', '<=', '>=', '+', '-', '*', '/', '%', '^', '||', '~', '!~', '~*', '!~*',
	       '^@', '~~', '!~~', '->', '->>', '@>', '<@', '&')
), made AS (
	SELECT 'hostile' AS into_schema, o.*, 'operator' AS kind FROM o
	UNION ALL
	SELECT DISTINCT s.name, o.oprname, x.l, x.r, o.result, 'operator, better match'
	  FROM o JOIN hostile.alike a ON a.type = o.l JOIN hostile.alike b ON b.type = o.r
	 CROSS JOIN LATERAL (VALUES (a.other, o.r), (o.l, b.other), (a.other, b.other)) x(l, r)
	 CROSS JOIN (VALUES ('hostile'), (:'own')) s(name)
	 WHERE o.oprname IN ('=', '<>', '<', '>', '<=', '>=', '+', '-', '*', '/', '||', '~', '!~', '^@', '~~')
	   AND NOT EXISTS (SELECT 1 FROM o e WHERE e.oprname = o.oprname AND (e.l, e.r) = (x.l, x.r))
), numbered AS (
	SELECT DISTINCT ON (into_schema, oprname, l, r) m.*, 'operator_' || row_number() OVER () AS function FROM made m
)
SELECT format('CREATE OPERATOR %I.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = %I.%I)', into_schema, oprname,
	format_type(l, NULL), format_type(r, NULL), into_schema, function)
  FROM numbered
 WHERE hostile.plant(into_schema, function, format_type(l, NULL) || ', ' || format_type(r, NULL),
     format_type(result, NULL), kind || ' ' || oprname) \gexec
-- catalogs and views
SELECT format('CREATE VIEW hostile.%I AS SELECT %s FROM pg_catalog.%I WHERE hostile.trap(%L)', relname,
              (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum)
                  FROM pg_attribute a
                  WHERE a.attrelid = c.oid AND a.attnum > 0 AND a.atttypid <> 'anyarray'::regtype),
              relname, relname),
       format('INSERT INTO hostile.planted VALUES (''view'', %L)', relname)
  FROM pg_class c
 WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind IN ('r', 'v')
   AND relname = ANY (string_to_array(:'words', ',')) \gexec
-- types with the server's names
SELECT format('CREATE DOMAIN hostile.%I AS pg_catalog.%I CHECK (hostile.trap(%L))', typname, typname, typname),
	format('INSERT INTO hostile.planted VALUES (''domain'', %L)', typname)
  FROM pg_type
 WHERE typnamespace = 'pg_catalog'::regnamespace AND typtype = 'b' AND typname !~ '^_'
   AND (typname = ANY (string_to_array(:'words', ','))
       OR typname IN ('int4', 'int8', 'bool', 'float8', 'varchar')) \gexec
-- casts of the attacker's own types
CREATE TYPE hostile.word AS ENUM ('a');
CREATE TYPE hostile.pair AS (a pg_catalog.int4, b pg_catalog.int4);
SELECT format('CREATE FUNCTION hostile.make_word(%s) RETURNS hostile.word LANGUAGE plpgsql AS $$ BEGIN PERFORM '
	'hostile.trap(''cast''); RETURN NULL; END $$',
	t),
       format('CREATE CAST (%s AS hostile.word) WITH FUNCTION hostile.make_word(%s) AS IMPLICIT', t, t),
       format('CREATE FUNCTION hostile.%I(hostile.word) RETURNS %s LANGUAGE plpgsql AS $$ BEGIN PERFORM '
           'hostile.trap(''cast''); RETURN NULL; END $$',
           'from_word_' || n, t),
       format('CREATE CAST (hostile.word AS %s) WITH FUNCTION hostile.%I(hostile.word) AS IMPLICIT', t,
           'from_word_' || n),
           'INSERT INTO hostile.planted VALUES (''cast'', ''word'')'
  FROM unnest('{text,name,integer,bigint,oid,double precision,regclass,boolean,"timestamp with time '
      'zone",jsonb,"text[]","\"char\""}'::pg_catalog.text[]) WITH ORDINALITY x(t, n) \gexec
-- objects of other extensions that are not installed
SELECT 'CREATE SCHEMA cron',
	'CREATE TABLE cron.job (jobid bigint, schedule text, command text, jobname text, database text, username '
	'text, active boolean)',
       'GRANT USAGE ON SCHEMA cron TO PUBLIC', 'GRANT ALL ON cron.job TO PUBLIC',
       $$ CREATE FUNCTION cron.schedule(text, text, text) RETURNS bigint
           LANGUAGE sql AS 'SELECT hostile.trap(''cron'')::int::bigint' $$,
       $$ CREATE FUNCTION cron.unschedule(bigint) RETURNS boolean LANGUAGE sql AS 'SELECT hostile.trap(''cron'')' $$,
       $$ CREATE FUNCTION cron.schedule_in_database(text, text, text, text) RETURNS bigint
           LANGUAGE sql AS 'SELECT hostile.trap(''cron'')::int::bigint' $$
 WHERE NOT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = 'cron') \gexec
SELECT format(
	'CREATE FUNCTION %I.pg_stat_statements(showtext boolean) RETURNS SETOF pg_catalog.pg_stat_activity LANGUAGE '
	'plpgsql AS ''BEGIN PERFORM hostile.trap(''''pg_stat_statements''''); END''',
	s),
       format(
           'CREATE FUNCTION %I.pg_stat_statements_info() RETURNS SETOF pg_catalog.pg_stat_activity LANGUAGE plpgsql AS '
           '''BEGIN PERFORM hostile.trap(''''pg_stat_statements''''); END''',
           s),
       format('CREATE VIEW %I.pg_stat_statements AS SELECT 1::pg_catalog.int8 AS queryid WHERE '
           'hostile.trap(''pg_stat_statements'')',
           s)
  FROM unnest(ARRAY['hostile', :'own']) s \gexec
\o
RESET ROLE;
RESET search_path;
