-- Roles that are not superusers write the history.  Superusers may run the undo
-- statements that ff_verify() makes from it.  Whatever the history contains, an
-- undo is no other statement and calls none of the planter's functions.
SET client_min_messages = error;
SELECT plan(9);
CREATE SCHEMA advisor;
CREATE EXTENSION fillfactor_advisor SCHEMA advisor;
SELECT 'DROP OWNED BY regress_ff_planter', 'DROP ROLE regress_ff_planter'
  FROM pg_roles WHERE rolname = 'regress_ff_planter' \gexec
CREATE ROLE regress_ff_planter IN ROLE pg_monitor;
CREATE SCHEMA lair AUTHORIZATION regress_ff_planter;
GRANT USAGE ON SCHEMA advisor TO regress_ff_planter;
SELECT format('GRANT INSERT, UPDATE, DELETE ON %s TO regress_ff_planter', string_agg(c.oid::regclass::text, ', '))
  FROM pg_extension e JOIN pg_class c ON c.oid = ANY (e.extconfig)
 WHERE e.extname = 'fillfactor_advisor' AND c.relkind = 'r' \gexec
CREATE TYPE public.state AS ENUM ('new', 'done');
CREATE TABLE public.victim (id int, state public.state, note text);
CREATE VIEW public.fence WITH (security_barrier) AS SELECT * FROM public.victim;
INSERT INTO public.victim SELECT g, 'new', 'n' FROM generate_series(1, 100) g;
CALL advisor.ff_collect();
SELECT rel_id AS victim, epoch_id AS epoch FROM ff_internal.relation WHERE relname = 'victim' \gset

SET ROLE regress_ff_planter;
CREATE SEQUENCE lair.ran;  -- a rollback does not undo nextval()
CREATE FUNCTION lair.evil(text) RETURNS int
	LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM nextval('lair.ran'); RETURN 1; END $$;
CREATE FUNCTION lair.evil(int) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT lair.evil('') $$;
CREATE FUNCTION lair.evil(public.victim) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT lair.evil('') $$;
CREATE FUNCTION lair.equal(public.state, public.state) RETURNS boolean
	LANGUAGE sql IMMUTABLE AS $$ SELECT lair.evil('') = 1 $$;
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
	'CREATE INDEX (id); ALTER ROLE regress_ff_planter SUPERUSER',
	E'CREATE INDEX (id)\n;ALTER ROLE regress_ff_planter SUPERUSER', 'CREATE INDEX (id) -- ', 'CREATE INDEX (id) /*',
	'CREATE INDEX (id); SELECT nextval(''lair.ran'')', 'CREATE INDEX (lair.evil(note))',
	'CREATE INDEX ("lair"."evil"(note))', 'CREATE INDEX ("lair" . evil (note))', 'CREATE INDEX (lair.evil (note))',
	'CREATE INDEX ((id OPERATOR(lair.+) 1))', 'CREATE INDEX ((id operator (lair.+) 1))',
	'CREATE INDEX ((note::lair.dom))', 'CREATE INDEX ((''x''::lair.dom))', 'CREATE INDEX ((note::"lair"."dom"))',
	'CREATE INDEX (CAST(id AS lair.int4_ops))', 'CREATE INDEX ((id :: lair.int4_ops))',
	'CREATE INDEX (id) WHERE (note = lair.dom ''x'')', 'CREATE INDEX (id) WHERE (id = ''a''::lair.word)',
	'CREATE INDEX (id) WHERE (note = E''\'' AND lair.evil(note) = 1 OR note = '''')',
	'CREATE INDEX (id) WHERE (note = U&''!0027'' UESCAPE ''!'')', 'CREATE INDEX (U&"i!0064" UESCAPE ''!'')',
	'CREATE INDEX (id) WHERE (note = $$x$$)', 'CREATE INDEX (id) WHERE (note = B''1'')',
	'CREATE INDEX ((public.victim.evil))', 'CREATE INDEX (:x)', 'CREATE INDEX (id) \! touch /',
	'CREATE INDEX (id) \g |cat',
	'CREATE INDEX ((SELECT 1))', 'CREATE INDEX ((ARRAY[id])[1:x])', 'CREATE INDEX (id) TABLESPACE pg_default',
	'CREATE INDEX (id) WITH (lair.fillfactor = 70)', 'CREATE INDEX (sum(id) OVER ())',
	'CREATE INDEX (id lair.int4_ops)', 'CREATE INDEX ((current_user))', E'CREATE INDEX (id)\r',
	E'CREATE INDEX ("\x1b")', E'CREATE INDEX (id) WHERE (note = ''\n\\! touch x'')']) WITH ORDINALITY h(d, n);
INSERT INTO lair.hostile (definition)
VALUES ('DROP TABLE public.victim'), ('CREATE INDEX; DROP TABLE public.victim'),
	('create index j on public.victim using btree (id)'),
	('CREATE INDEX CONCURRENTLY j ON public.victim USING btree (id)'),
	('CREATE INDEX j ON public.victim (id)'),
		('CREATE INDEX j ON public.victim (id) WHERE note = ''x USING btree (lair.evil(note)) '''''''),
		('CREATE INDEX j ON victim USING btree (id)'),
		('CREATE INDEX IF NOT EXISTS j ON public.victim USING btree (id)'),
		('CREATE INDEX ON public.victim USING btree (id)'), ('CREATE INDEX j ON x.public.victim USING btree (id)'),
		('CREATE INDEX j ON public.victim USING no_such (id)'), ('CREATE TABLE j (id int)'), (' '),
		('CREATE INDEX "j" ON public.victim USING lair.evil (id)');
-- these call the server's own functions, unless search_path finds others first
INSERT INTO lair.hostile (definition)
VALUES ('CREATE INDEX fine1 ON public.victim USING btree (lower(note))'),
	('CREATE INDEX fine2 ON public.victim USING btree (id) WHERE (state = ''new''::public.state)'),
	('CREATE INDEX fine3 ON public.victim USING btree (((id + 1)))'),
		('CREATE INDEX fine4 ON pg_catalog.pg_authid USING btree (id)'),
		('CREATE INDEX fine5 ON public.victim USING btree (((victim).id))');
-- changes that hurt, so that ff_verify() gives an undo
INSERT INTO ff_internal.counter_interval (rel_id, began_at, ended_at, epoch_id, fillfactor, rewritten, inserted,
	updated, hot_updated, deleted, seq_scans, index_scans, blocks_fetched, blocks_hit, vacuums)
SELECT :victim, now() + (n - 1) * interval '5 min' - interval '5 h', now() + n * interval '5 min' - interval '5 h',
	:epoch, 100, false, 0, 1000, CASE WHEN n <= 6 THEN 900 ELSE n END, 0, 0, 0, 0, 0, 0
  FROM generate_series(1, 14) n WHERE n <> 7;
INSERT INTO ff_internal.change (rel_id, kind, before_at, seen_at, epoch_id, old_fillfactor, new_fillfactor, old_options,
	new_options, dropped_indexes, created_indexes)
SELECT :victim, k.kind, now() - interval '4 h 30 min', now() - interval '4 h 25 min', :epoch, 100, 100, o.old, o.new,
	d.definitions, d.definitions
  FROM unnest('{fillfactor,options,indexes}'::text[]) k(kind),
       (SELECT array_agg(definition ORDER BY n) AS definitions FROM lair.hostile) d,
       (VALUES (ARRAY['fillfactor=77); ALTER ROLE regress_ff_planter SUPERUSER; --',
           E'autovacuum_enabled=off"'');\n\\! touch x\n--', 'x);DROP TABLE public.victim;--=1',
           'toast.autovacuum_enabled=x',
                      '=', '', E'a\n"b=c', E'autovacuum_vacuum_cost_delay=\u202e1'],
                      ARRAY['fillfactor=''', 'y);DROP TABLE public.victim;--=1'])) o(old, new);
INSERT INTO ff_internal.setting_history (setting, seen_at, before_at, value, unit)
SELECT s, now() - n * interval '1 h', CASE WHEN n = 1 THEN now() - interval '2 h' END, v[n], NULL
  FROM generate_series(1, 2) n, (VALUES ('archive_command', '{x,"touch /tmp/x"}'::text[]),
      ('session_preload_libraries', '{x,/tmp/x}'), ('autovacuum', '{on,"nonsense''"}'), ('wal_compression', '{off,x}'),
       ('max_wal_size', '{10,"1; DROP TABLE public.victim"}'), ('checkpoint_timeout', '{10,NULL}'),
       ('no_such_setting', '{x,y}'), ('synchronous_commit', '{on,off}')) h(s, v)
    ON CONFLICT DO NOTHING;
RESET ROLE;

SELECT is((SELECT count(undo) FROM advisor.ff_verify('public.victim') WHERE verdict = 'hurt'), 3::bigint,
	'each planted change hurt and has an undo');
SELECT is((SELECT count(*) FROM advisor.ff_verify('public.victim')
	WHERE undo ~ '[[:cntrl:]]' OR change ~ '[[:cntrl:]]'),
	0::bigint, 'undo and change contain no line break');
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
CREATE TABLE public.way_back AS
	SELECT substring(change FROM '^[a-z]+') AS change, undo
	FROM advisor.ff_verify('public.victim') WHERE verdict = 'hurt';
SELECT is((SELECT string_agg(format('%s %s', change, public.run(undo)), ', ' ORDER BY change)
	FROM public.way_back WHERE change <> 'index'),
	'fillfactor 22023, options 22023', 'the server refuses planted options that do not exist');
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
SELECT is((SELECT array_agg(indexrelid::regclass::text) FROM pg_index WHERE indrelid = 'public.victim'::regclass), NULL,
	'the undo of indexes shows planted definitions in comments and creates none');
SELECT is((SELECT is_called FROM lair.ran), false, 'none of the planter''s functions was called');
SELECT is((SELECT rolsuper FROM pg_roles WHERE rolname = 'regress_ff_planter'), false,
	'the planter did not become superuser');
SELECT lives_ok('SELECT * FROM advisor.ff_verify()', 'ff_verify() works with impossible values of settings');
SELECT is((SELECT string_agg(DISTINCT setting || '=' || value, ' ' ORDER BY setting || '=' || value)
	FROM ff_internal.setting_history
            WHERE seen_at < now() - interval '30 min' AND ff_internal.undo_setting(setting, value) IS NOT NULL),
	'autovacuum=on checkpoint_timeout=10 max_wal_size=10 synchronous_commit=off synchronous_commit=on '
	'wal_compression=off',
	'only settings that are followed have an undo, and only to valid values');
UPDATE ff_internal.relation SET relid = 'public.fence'::regclass WHERE rel_id = :victim;
SELECT is((SELECT count(undo) FROM advisor.ff_verify() WHERE undo ~ 'fence'), 0::bigint, 'no undo for a view');
SELECT * FROM finish();
DROP OWNED BY regress_ff_planter CASCADE;
DROP ROLE regress_ff_planter;
