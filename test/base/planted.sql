-- Roles that are not superusers write the history.  Superusers may run the undo
-- statements that ff_verify() makes from it.  Whatever the history contains, an
-- undo is no other statement and calls none of the planter's functions.
SET client_min_messages = error;
SELECT plan(16);
CREATE SCHEMA advisor;
CREATE EXTENSION fillfactor_advisor SCHEMA advisor;
DO $$ BEGIN IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'regress_ff_planter') THEN DROP OWNED BY regress_ff_planter; DROP ROLE regress_ff_planter; END IF; END $$;
CREATE ROLE regress_ff_planter IN ROLE pg_monitor;
CREATE SCHEMA lair AUTHORIZATION regress_ff_planter;
GRANT USAGE ON SCHEMA advisor TO regress_ff_planter;
SELECT format('GRANT INSERT, UPDATE, DELETE ON %s TO regress_ff_planter', string_agg(c.oid::regclass::text, ', '))
  FROM pg_extension e JOIN pg_class c ON c.oid = ANY (e.extconfig) WHERE e.extname = 'fillfactor_advisor' AND c.relkind = 'r' \gexec
CREATE TYPE public.state AS ENUM ('new', 'done');
CREATE TABLE public.victim (id int, state public.state, note text);
CREATE VIEW public.fence WITH (security_barrier) AS SELECT * FROM public.victim;
INSERT INTO public.victim SELECT g, 'new', 'n' FROM generate_series(1, 100) g;
CALL advisor.ff_collect();
SELECT rel_id AS victim, epoch_id AS epoch FROM ff_internal.relation WHERE relname = 'victim' \gset

SET ROLE regress_ff_planter;
CREATE SEQUENCE lair.ran;  -- a rollback does not undo nextval()
CREATE FUNCTION lair.evil(text) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM nextval('lair.ran'); RETURN 1; END $$;
CREATE FUNCTION lair.evil(int) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT lair.evil('') $$;
CREATE FUNCTION lair.evil(public.victim) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT lair.evil('') $$;
CREATE FUNCTION lair.equal(public.state, public.state) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$ SELECT lair.evil('') = 1 $$;
CREATE OPERATOR lair.= (LEFTARG = public.state, RIGHTARG = public.state, FUNCTION = lair.equal);
CREATE FUNCTION lair.plus(int, int) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT lair.evil('') $$;
CREATE OPERATOR lair.+ (LEFTARG = int, RIGHTARG = int, FUNCTION = lair.plus);
CREATE FUNCTION lair.sure(int, int) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$ SELECT lair.evil('') = 1 $$;
CREATE OPERATOR lair.=== (LEFTARG = int, RIGHTARG = int, FUNCTION = lair.sure);
CREATE FUNCTION lair.include(int) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT lair.evil('') $$;
CREATE FUNCTION lair.lower(text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT lair.evil('')::text $$;
CREATE DOMAIN lair.int4_ops AS int CHECK (lair.evil('') > 0);
CREATE DOMAIN lair.dom AS text CHECK (lair.evil(VALUE) > 0);
CREATE TYPE lair.word AS ENUM ('a');
CREATE FUNCTION lair.cast(lair.word) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT lair.evil('') $$;
CREATE CAST (lair.word AS int) WITH FUNCTION lair.cast(lair.word) AS IMPLICIT;
CREATE TABLE lair.hostile (n int GENERATED ALWAYS AS IDENTITY, definition text);
INSERT INTO lair.hostile (definition)
SELECT replace(d, 'INDEX', 'INDEX i' || n || ' ON public.victim USING btree') FROM unnest(ARRAY[
	'CREATE INDEX (id); ALTER ROLE regress_ff_planter SUPERUSER', E'CREATE INDEX (id)\n;ALTER ROLE regress_ff_planter SUPERUSER', 'CREATE INDEX (id) -- ', 'CREATE INDEX (id) /*',
	'CREATE INDEX (id); SELECT nextval(''lair.ran'')', 'CREATE INDEX (lair.evil(note))', 'CREATE INDEX ("lair"."evil"(note))', 'CREATE INDEX ("lair" . evil (note))', 'CREATE INDEX (lair.evil (note))',
	'CREATE INDEX ((id OPERATOR(lair.+) 1))', 'CREATE INDEX ((id operator (lair.+) 1))', 'CREATE INDEX ((note::lair.dom))', 'CREATE INDEX ((''x''::lair.dom))', 'CREATE INDEX ((note::"lair"."dom"))',
	'CREATE INDEX (CAST(id AS lair.int4_ops))', 'CREATE INDEX ((id :: lair.int4_ops))', 'CREATE INDEX (id) WHERE (note = lair.dom ''x'')', 'CREATE INDEX (id) WHERE (id = ''a''::lair.word)',
	'CREATE INDEX (id) WHERE (note = E''\'' AND lair.evil(note) = 1 OR note = '''')', 'CREATE INDEX (id) WHERE (note = U&''!0027'' UESCAPE ''!'')', 'CREATE INDEX (U&"i!0064" UESCAPE ''!'')',
	'CREATE INDEX (id) WHERE (note = $$x$$)', 'CREATE INDEX (id) WHERE (note = B''1'')', 'CREATE INDEX ((public.victim.evil))', 'CREATE INDEX (:x)', 'CREATE INDEX (id) \! touch /', 'CREATE INDEX (id) \g |cat',
	'CREATE INDEX ((SELECT 1))', 'CREATE INDEX ((ARRAY[id])[1:x])', 'CREATE INDEX (id) TABLESPACE pg_default', 'CREATE INDEX (id) WITH (lair.fillfactor = 70)', 'CREATE INDEX (sum(id) OVER ())', 'CREATE INDEX (id lair.int4_ops)', 'CREATE INDEX ((current_user))', E'CREATE INDEX (id)\r', E'CREATE INDEX ("\x1b")', E'CREATE INDEX (id) WHERE (note = ''\n\\! touch x'')']) WITH ORDINALITY h(d, n);
INSERT INTO lair.hostile (definition)
VALUES ('DROP TABLE public.victim'), ('CREATE INDEX; DROP TABLE public.victim'), ('create index j on public.victim using btree (id)'), ('CREATE INDEX CONCURRENTLY j ON public.victim USING btree (id)'),
	('CREATE INDEX j ON public.victim (id)'), ('CREATE INDEX j ON public.victim (id) WHERE note = ''x USING btree (lair.evil(note)) '''''''), ('CREATE INDEX j ON victim USING btree (id)'), ('CREATE INDEX IF NOT EXISTS j ON public.victim USING btree (id)'), ('CREATE INDEX ON public.victim USING btree (id)'), ('CREATE INDEX j ON x.public.victim USING btree (id)'), ('CREATE INDEX j ON public.victim USING no_such (id)'), ('CREATE TABLE j (id int)'), (' '), ('CREATE INDEX "j" ON public.victim USING lair.evil (id)');
-- these call the server's own functions, unless search_path finds others first
INSERT INTO lair.hostile (definition)
VALUES ('CREATE INDEX fine1 ON public.victim USING btree (lower(note))'), ('CREATE INDEX fine2 ON public.victim USING btree (id) WHERE (state = ''new''::public.state)'),
	('CREATE INDEX fine3 ON public.victim USING btree (((id + 1)))'), ('CREATE INDEX fine4 ON pg_catalog.pg_authid USING btree (id)'), ('CREATE INDEX fine5 ON public.victim USING btree (((victim).id))');
-- changes that hurt, so that ff_verify() gives an undo
INSERT INTO ff_internal.counter_interval (rel_id, began_at, ended_at, epoch_id, fillfactor, rewritten, inserted, updated, hot_updated, deleted, seq_scans, index_scans, blocks_fetched, blocks_hit, vacuums)
SELECT :victim, now() + (n - 1) * interval '5 min' - interval '5 h', now() + n * interval '5 min' - interval '5 h', :epoch, 100, false, 0, 1000, CASE WHEN n <= 6 THEN 900 ELSE n END, 0, 0, 0, 0, 0, 0
  FROM generate_series(1, 14) n WHERE n <> 7;
INSERT INTO ff_internal.change (rel_id, kind, before_at, seen_at, epoch_id, old_fillfactor, new_fillfactor, old_options, new_options, dropped_indexes, created_indexes)
SELECT :victim, k.kind, now() - interval '4 h 30 min', now() - interval '4 h 25 min', :epoch, 100, 100, o.old, o.new, d.definitions, d.definitions
  FROM unnest('{fillfactor,options,indexes}'::text[]) k(kind),
       (SELECT array_agg(definition ORDER BY n) AS definitions FROM lair.hostile) d,
       (VALUES (ARRAY['fillfactor=77); ALTER ROLE regress_ff_planter SUPERUSER; --', E'autovacuum_enabled=off"'');\n\\! touch x\n--', 'x);DROP TABLE public.victim;--=1', 'toast.autovacuum_enabled=x',
                      '=', '', E'a\n"b=c', E'autovacuum_vacuum_cost_delay=\u202e1'], ARRAY['fillfactor=''', 'y);DROP TABLE public.victim;--=1'])) o(old, new);
INSERT INTO ff_internal.setting_history (setting, seen_at, before_at, value, unit)
SELECT s, now() - n * interval '1 h', CASE WHEN n = 1 THEN now() - interval '2 h' END, v[n], NULL
  FROM generate_series(1, 2) n, (VALUES ('archive_command', '{x,"touch /tmp/x"}'::text[]), ('session_preload_libraries', '{x,/tmp/x}'), ('autovacuum', '{on,"nonsense''"}'), ('wal_compression', '{off,x}'),
       ('max_wal_size', '{10,"1; DROP TABLE public.victim"}'), ('checkpoint_timeout', '{10,NULL}'), ('no_such_setting', '{x,y}'), ('synchronous_commit', '{on,off}')) h(s, v)
    ON CONFLICT DO NOTHING;
RESET ROLE;

SELECT is_empty($$ SELECT definition, ff_internal.index_statement('public.victim'::regclass, definition) FROM lair.hostile
	WHERE definition !~ 'INDEX fine' AND ff_internal.index_statement('public.victim'::regclass, definition) IS NOT NULL $$, 'no statement from a definition that does more than create an index or calls another role''s function');
SELECT is((SELECT count(ff_internal.index_statement('public.victim'::regclass, definition)) FROM lair.hostile WHERE definition ~ 'INDEX fine'), 5::bigint, 'harmless definitions give a statement');

-- the output of pg_get_indexdef() creates the same index again
CREATE SCHEMA "O;";
CREATE COLLATION "O;".c FROM "C";
CREATE OPERATOR CLASS "O;".o FOR TYPE int USING btree AS OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 btint4cmp(int, int);
CREATE TYPE "O;".pair AS (x int, y int);
CREATE TABLE "O;"."T ""x" (a int, "B;" text, c public.state, d "O;".pair, e numeric(10, 2), f timestamptz, j jsonb, cc public.state[]);
SET search_path = "O;", public;
SELECT format('CREATE INDEX ON "T ""x" %s', d) FROM unnest(ARRAY['(a)', '(a DESC NULLS LAST, "B;" COLLATE "C") INCLUDE (c) WITH (fillfactor = 70)', '(a o, "B;" COLLATE c text_pattern_ops)', '(a o DESC)', '((a + 1) o)',
	'(lower("B;")) WHERE c = ''new''', '(((d).x), (e::numeric(5, 1)))', '((j ->> ''k;--'')) WHERE a IS NOT NULL AND "B;" LIKE ''x%''', 'USING gin (j jsonb_path_ops)', '(a) WHERE c IN (''new'', ''done'') AND NOT (a BETWEEN 1 AND 3)',
	'(coalesce(a, 0), (CASE WHEN a > 1 THEN ''x'' ELSE '''''''' END))', 'USING brin (a) WITH (pages_per_range = 4)', '(a) WHERE cc = ''{new}''', '(a) WHERE cc @> ARRAY[''new''::public.state]',
	'(date_trunc(''day'', f AT TIME ZONE ''UTC''))', '((a * -1.5e10)) WHERE e > -1.5', '((extract(year FROM f AT TIME ZONE ''UTC'')))', '(substring("B;" FROM 1 FOR 2))']) d \gexec
CREATE UNIQUE INDEX ON "T ""x" (a) NULLS NOT DISTINCT;
-- as collections write them
SET search_path = pg_catalog;
CREATE TABLE public.there AS SELECT indexrelid::regclass::text AS index, pg_get_indexdef(indexrelid) AS definition, ff_internal.index_statement(indrelid, pg_get_indexdef(indexrelid)) AS statement
  FROM pg_index WHERE indrelid = '"O;"."T ""x"'::regclass;
SET search_path = public;
SELECT is((SELECT count(statement) FROM public.there), 19::bigint, 'all kinds of indexes give a statement');
SELECT is_empty($$ SELECT statement FROM public.there WHERE statement !~ 'INDEX CONCURRENTLY .* ON |''lock_timeout'', ''2s''' $$, 'statements create indexes concurrently with a lock timeout');
SELECT format('DROP INDEX %s', index) FROM public.there \gexec
SELECT statement FROM public.there \gexec
SET search_path = pg_catalog;
CREATE TABLE public.back AS SELECT pg_get_indexdef(indexrelid) AS definition FROM pg_index WHERE indrelid = '"O;"."T ""x"'::regclass;
SET search_path = public;
SELECT set_eq('SELECT definition FROM public.back', 'SELECT definition FROM public.there', 'indexes created again have the same definitions');

SELECT is((SELECT count(undo) FROM advisor.ff_verify('public.victim') WHERE verdict = 'hurt'), 3::bigint, 'each planted change hurt and has an undo');
SELECT is((SELECT count(*) FROM advisor.ff_verify('public.victim') WHERE undo ~ '[[:cntrl:]]' OR change ~ '[[:cntrl:]]'), 0::bigint, 'undo and change contain no line break');
-- run as by an administrator with a careless search_path
CREATE FUNCTION public.run(command text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('search_path', 'lair, pg_catalog, public', true);
	EXECUTE command;
	PERFORM set_config('search_path', 'public', true);
	RETURN '00000';
EXCEPTION WHEN OTHERS THEN
	RETURN sqlstate;
END $$;
CREATE TABLE public.way_back AS SELECT substring(change FROM '^[a-z]+') AS change, undo FROM advisor.ff_verify('public.victim') WHERE verdict = 'hurt';
SELECT is((SELECT string_agg(format('%s %s', change, public.run(undo)), ', ' ORDER BY change) FROM public.way_back WHERE change <> 'index'), 'fillfactor 22023, options 22023', 'the server refuses planted options that do not exist');
-- CREATE INDEX CONCURRENTLY needs each statement on its own
\set script `mktemp /tmp/ff_way_back.XXXXXX`
\pset format unaligned
\pset tuples_only true
\o :script
SELECT undo FROM public.way_back WHERE change = 'index';
\o
SET search_path = lair, pg_catalog, public;
\i :script
SET search_path = public;
\setenv script :script
\! rm -f "$script"
SELECT is((SELECT array_agg(indexrelid::regclass::text ORDER BY indexrelid::regclass::text) FROM pg_index WHERE indrelid = 'public.victim'::regclass), '{fine1,fine2,fine3,fine4,fine5}', 'the undo of indexes creates only the harmless ones, on the right table');
-- simple looking definitions do not reach the planter's objects either
SELECT is((SELECT string_agg(public.run(replace(ff_internal.index_statement('public.victim'::regclass, 'CREATE INDEX v ON public.victim USING btree ' || d), 'CONCURRENTLY', '')), ' ' ORDER BY n)
             FROM unnest(ARRAY['(id) where id === 1', '(INCLUDE (id))', '(id) WHERE (id === 1)']) WITH ORDINALITY u(d, n)), '42883 42883 42883', 'planted operators and functions with new names are not found');
SELECT is(ff_internal.index_statement('public.victim'::regclass, 'CREATE INDEX v ON public.victim USING btree (((victim).COLLATE+lair.evil(id)))'), NULL, 'a field named COLLATE does not hide a function call');
SELECT is((SELECT is_called FROM lair.ran), false, 'none of the planter''s functions was called');
SELECT is((SELECT rolsuper FROM pg_roles WHERE rolname = 'regress_ff_planter'), false, 'the planter did not become superuser');
SELECT lives_ok('SELECT * FROM advisor.ff_verify()', 'ff_verify() works with impossible values of settings');
SELECT is((SELECT string_agg(DISTINCT setting || '=' || value, ' ' ORDER BY setting || '=' || value) FROM ff_internal.setting_history
            WHERE seen_at < now() - interval '30 min' AND ff_internal.undo_setting(setting, value) IS NOT NULL),
	'autovacuum=on checkpoint_timeout=10 max_wal_size=10 synchronous_commit=off synchronous_commit=on wal_compression=off', 'only settings that are followed have an undo, and only to valid values');
UPDATE ff_internal.relation SET relid = 'public.fence'::regclass WHERE rel_id = :victim;
SELECT is((SELECT count(undo) FROM advisor.ff_verify() WHERE undo ~ 'fence'), 0::bigint, 'no undo for a view');
SELECT * FROM finish();
DROP OWNED BY regress_ff_planter CASCADE;
DROP ROLE regress_ff_planter;
