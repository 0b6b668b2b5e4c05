-- The script's contents, its plan and its rights.  Running the script is
-- tested on a separate server (t/030_script.pl).  Batches need transactions of
-- their own, so this is not one transaction.
SET client_min_messages = error;
CREATE SCHEMA ff;
CREATE EXTENSION fillfactor_advisor SCHEMA ff;
SET search_path = public, ff;
SELECT plan(106);

-- ---------------------------------------------------------------------------
-- Quoting
-- ---------------------------------------------------------------------------
SELECT is(ff_internal.quoted_name('plain'), 'plain', 'a plain name is not quoted');
SELECT is(ff_internal.quoted_name('select'), '"select"', 'a keyword is quoted');
SELECT is(ff_internal.quoted_name(E'a\nb"c\\d'), 'U&"a\+00000ab""c\\d"', 'a line feed becomes an escape');
SELECT is(ff_internal.quoted_text(E'a\r''b\\'), 'E''a\U0000000d''''b\\''',
	'a carriage return in a literal becomes an escape');
SELECT is(ff_internal.quoted_text(NULL), 'NULL', 'quoted_text() of NULL is the word NULL');
SELECT is(ff_internal.plain(E'a\nb\\q'), 'a?b\q', 'text for a comment has no line break');

-- the server reads an escaped name as it was
CREATE FUNCTION back(name) RETURNS name LANGUAGE plpgsql AS $$
DECLARE r name;
BEGIN
	EXECUTE format('CREATE TEMP TABLE %s ()', ff_internal.quoted_name($1));
	EXECUTE format('SELECT relname FROM pg_class WHERE relname = %s', ff_internal.quoted_text($1)) INTO r;
	EXECUTE format('DROP TABLE %s', ff_internal.quoted_name($1));
	RETURN r;
END $$;
SELECT is(back(n), n, 'the server reads this quoted name back: ' || ff_internal.plain(n))
  FROM unnest(ARRAY['plain', E'a\nb', E'\t"\\x', E'\u202e\u2028', E'x''\r\n;--', '$ff$', 'ä€𝄞' || E'\n𝄞',
      E'a\u061c\U000e0041''"', repeat('ä', 31) || E'\n']::name[]) n;

-- ---------------------------------------------------------------------------
-- Options set and restored, as the server stores them
-- ---------------------------------------------------------------------------
CREATE TABLE o (x integer);
CREATE FUNCTION there_and_back(options text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE before text[]; expected text[]; after text[]; again text[];
BEGIN
	EXECUTE 'DROP TABLE o; CREATE TABLE o (x integer) ' || options;
	before := (SELECT reloptions FROM pg_class WHERE oid = 'o'::regclass);
	expected := ff_internal.options_after(before, '{fillfactor=55}');
	ALTER TABLE o SET (fillfactor = 55);
	after := (SELECT reloptions FROM pg_class WHERE oid = 'o'::regclass);
	EXECUTE ff_internal.restore_options('o'::regclass, before, after);
	again := (SELECT reloptions FROM pg_class WHERE oid = 'o'::regclass);
	RETURN concat_ws(' ', CASE WHEN after = expected THEN 'foreseen' ELSE after::text END,
		CASE WHEN again IS NOT DISTINCT FROM before THEN 'restored' ELSE again::text END);
END $$;
SELECT is(there_and_back(o), 'foreseen restored', 'predicted and restored: options ' || o)
  FROM unnest(ARRAY['', 'WITH (fillfactor = 100)', 'WITH (fillfactor = ''80.5'')', 'WITH (fillfactor = ''0x50'')',
      E'WITH (fillfactor = E''80\\n'')',
                    'WITH (autovacuum_enabled = off)',
                    'WITH (fillfactor = 70, autovacuum_enabled = off, toast.autovacuum_enabled = off)',
                    'WITH (autovacuum_enabled, fillfactor = 90, autovacuum_vacuum_scale_factor = 0.1)']) o;

-- any options and any change of them that the history may hold
CREATE FUNCTION changed_back(old_options text[], new_options text[], kind text DEFAULT NULL)
	RETURNS text[] LANGUAGE plpgsql AS $$
BEGIN
	DROP TABLE o; CREATE TABLE o (x integer);
	UPDATE pg_class SET reloptions = new_options WHERE oid = 'o'::regclass;
	EXECUTE coalesce(ff_internal.restore_options('o'::regclass, old_options, new_options, kind), 'SELECT');
	RETURN (SELECT reloptions FROM pg_class WHERE oid = 'o'::regclass);
END $$;
SELECT is(changed_back(o, n), o, format('options restored after %s -> %s', o, n))
  FROM unnest(ARRAY['{}', '{fillfactor=80.5}', '{autovacuum_vacuum_threshold=7,fillfactor=0x50,autovacuum_enabled=off}',
      '{fillfactor=90,autovacuum_enabled=off}']) a
 CROSS JOIN unnest(ARRAY['{}', '{fillfactor=80}', '{autovacuum_enabled=off,parallel_workers=2}',
     '{autovacuum_enabled=off,autovacuum_vacuum_threshold=7,fillfactor=50}']) b
 CROSS JOIN LATERAL (SELECT nullif(a, '{}')::text[] AS o, nullif(b, '{}')::text[] AS n) x;
SELECT is(changed_back('{fillfactor=70,autovacuum_enabled=off}',
	'{autovacuum_enabled=on,fillfactor=50,parallel_workers=3}', 'fillfactor'),
          '{autovacuum_enabled=on,parallel_workers=3,fillfactor=70}', 'only fillfactor is restored');
SELECT is(changed_back('{fillfactor=70,autovacuum_enabled=off}',
	'{autovacuum_enabled=on,fillfactor=50,parallel_workers=3}', 'options'),
          '{fillfactor=50,autovacuum_enabled=off}', 'only the other options are restored');
SELECT is(changed_back(o, '{autovacuum_vacuum_threshold=50,fillfactor=90,autovacuum_vacuum_scale_factor=0.1}'), o,
	'options that moved to another place are restored to theirs')
  FROM (SELECT '{autovacuum_vacuum_scale_factor=0.1,autovacuum_vacuum_threshold=50}'::text[] AS o) x;
SELECT is(ff_internal.restore_options('o'::regclass, '{fillfactor=70}', '{fillfactor=70}'), NULL,
	'no statement to restore equal options');

-- ---------------------------------------------------------------------------
-- Disk
-- ---------------------------------------------------------------------------
SELECT cmp_ok(ff_internal.free_bytes(0), '>', 0::bigint, 'the free space of the default tablespace is known');
SELECT cmp_ok(abs(ff_internal.free_bytes(0) - ff_internal.free_bytes(d.dattablespace)), '<', 1::bigint << 30,
	'tablespace 0 stands for the default tablespace')
	FROM pg_database d WHERE d.datname = current_database();
SELECT cmp_ok(ff_internal.free_bytes(NULL), '>', 0::bigint, 'the free space of the WAL directory is known');
SELECT throws_ok('SELECT ff_internal.free_bytes(1)', '42704', NULL, 'an unknown tablespace is an error');

-- ---------------------------------------------------------------------------
-- Nothing to do
-- ---------------------------------------------------------------------------
SELECT is((SELECT count(*) FROM ff_script() s WHERE s !~ '^(--|$)'), 0::bigint,
	'nothing to change: the script has only comments');
SELECT is((SELECT count(*) FILTER (WHERE s ~ 'Nothing is to be changed')
	|| ' '
	|| count(*) FILTER (WHERE s ~ '^-- (brings|run it)')
	FROM ff_script() s),
	'1 0', 'nothing to change: the script says so');
SELECT is((SELECT string_agg(regexp_replace(s, '; made [0-9].*', ''), ' ') FROM ff_script(undo => true) s
	WHERE s !~ '^-- database'),
	format('-- fillfactor_advisor %s: the way back of changes for all tables, to be read before they are run '
	'-- No change of a fillfactor that a collection saw is left to be taken back.',
	(SELECT extversion FROM pg_extension WHERE extname = 'fillfactor_advisor')), 'nothing to undo: the script says so');
CREATE VIEW ci AS
	SELECT (t->>'changes')::int = (t->>'provisional')::int
	       AND NOT EXISTS (SELECT FROM ff_verify() WHERE verdict = 'hurt') AS passes
	  FROM (SELECT ff_script_json()->'total') j(t);
SELECT ok(passes, 'nothing to change: a test in CI passes') FROM ci;
SELECT is(ff_script_json()->'changes', '[]'::jsonb, 'nothing to change: the JSON form has no changes');
SELECT throws_ok('SELECT ff_script(1)', '42P01', NULL, 'an unknown table is refused');
SELECT throws_ok('SELECT ff_script(''pg_class'')', '42809', NULL, 'a catalog is refused');
SELECT throws_ok('CREATE VIEW v AS SELECT 1 AS x; SELECT ff_script(''v'')', '42809', NULL, 'a view is refused');

-- ---------------------------------------------------------------------------
-- A table and partitions whose batches need room, and a table that wastes it
-- ---------------------------------------------------------------------------
CREATE TABLE jobs (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, batch int NOT NULL,
	status int NOT NULL DEFAULT 0, payload text);
CREATE TABLE parts (id bigint NOT NULL, batch int NOT NULL, status int NOT NULL DEFAULT 0,
	payload text) PARTITION BY RANGE (batch);
CREATE TABLE part_old PARTITION OF parts FOR VALUES FROM (0) TO (1);
CREATE TABLE part_now PARTITION OF parts FOR VALUES FROM (1) TO (2000000000);
CREATE TABLE part_next PARTITION OF parts FOR VALUES FROM (2000000000) TO (2100000000);
CREATE TABLE part_else PARTITION OF parts DEFAULT;
INSERT INTO parts SELECT i, 0, 0, repeat('p', 90) FROM generate_series(1, 5000) i;
CREATE TABLE log (line text) WITH (fillfactor = 50);
CREATE PROCEDURE work() LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1..6 LOOP
		INSERT INTO jobs (batch, payload) SELECT i, repeat('p', 90) FROM generate_series(1, 500);
		INSERT INTO parts SELECT n, (SELECT max(id) FROM jobs), 0, repeat('p', 90) FROM generate_series(1, 500) n;
		INSERT INTO log SELECT repeat('l', 100) FROM generate_series(1, 1000);
		COMMIT;
		UPDATE jobs SET status = 1 WHERE id > (SELECT max(id) - 500 FROM jobs);
		UPDATE parts SET status = 1 WHERE batch = (SELECT max(id) FROM jobs);
		COMMIT;
	END LOOP;
END $$;
-- a session reports its counters when idle, at most once a second
\o /dev/null
SET fillfactor_advisor.fits = 0;
CALL work(); SELECT pg_stat_force_next_flush(); CALL ff_collect();
CALL work(); SELECT pg_stat_force_next_flush(); CALL ff_collect();
CALL work(); SELECT pg_stat_force_next_flush(); CALL ff_collect();
-- make the history a day long
UPDATE ff_internal.counter_interval i SET began_at = began_at - interval '1 day'
	WHERE NOT EXISTS (SELECT FROM ff_internal.counter_interval o WHERE o.rel_id = i.rel_id AND o.ended_at < i.ended_at);
RESET fillfactor_advisor.fits;
CALL ff_collect();
\o
-- until something changes: the plan for all tables (NULL) and for some, and the lines of the script
CREATE TEMPORARY TABLE planned AS
	SELECT t AS of, ff_script_json(t) AS plan FROM unnest(ARRAY[NULL, 'jobs', 'parts', 'part_now',
		'log']::regclass[]) t;
CREATE TEMPORARY TABLE written AS
	SELECT t AS of, s AS line, n FROM unnest(ARRAY[NULL, 'jobs', 'log']::regclass[]) t,
		ff_script(t) WITH ORDINALITY x(s, n);
CREATE FUNCTION pg_temp.plan_of(table_or_all regclass DEFAULT NULL) RETURNS jsonb LANGUAGE sql AS
	'SELECT plan FROM planned WHERE "of" IS NOT DISTINCT FROM table_or_all';
CREATE FUNCTION pg_temp.script_of(table_or_all regclass DEFAULT NULL) RETURNS SETOF text LANGUAGE sql AS
	'SELECT line FROM written WHERE "of" IS NOT DISTINCT FROM table_or_all ORDER BY n';

SELECT ok(NOT passes, 'changes that are not provisional: a test in CI fails') FROM ci;
SELECT is((SELECT string_agg(relation::text, ' ' ORDER BY relation::text) FROM ff_advise() WHERE action = 'lower'),
	'jobs part_now', 'the batch table and the current partition are to be lowered');
SELECT is((SELECT string_agg(c->>'relation', ' ' ORDER BY c->>'relation')
	FROM jsonb_array_elements(pg_temp.plan_of()->'changes') c
	WHERE c->>'action' = 'lower'),
          'public.jobs public.part_now', 'the plan has all tables that are to be lowered');
SELECT is((SELECT string_agg(c->>'relation', ' ' ORDER BY place)
	FROM jsonb_array_elements(pg_temp.plan_of()->'changes') WITH ORDINALITY w(c, place)
	WHERE c->>'cause' <> 'template'),
          (SELECT string_agg(a.relation, ' ' ORDER BY a.place)
              FROM (SELECT x->>'relation' AS relation, n AS place
                  FROM ff_internal.plan_advice(NULL) WITH ORDINALITY p(f, n), ff_internal.plan_change(f) x) a),
          'the plan has the order of the advice');
SELECT is((SELECT c->>'relation'
	FROM jsonb_array_elements(ff_script_json(top => 1)->'changes') c
	WHERE c->>'cause' <> 'template'),
          (SELECT ff_internal.qualified_name(a.relation) FROM ff_advise() a
              WHERE a.action IN ('lower', 'raise')
              ORDER BY a.wal_bytes_per_day_saved DESC, a.cpu_seconds_per_day_saved DESC, a.disk_bytes_change
              LIMIT 1),
          'the change that saves most WAL comes first');
SELECT is(pg_temp.plan_of('jobs')->'changes'->0->>'statement', (SELECT ddl FROM ff_advise('jobs')),
	'the statement is that of the advice');
SELECT is(pg_temp.plan_of('jobs')->'changes'->0->>'undo', 'ALTER TABLE public.jobs RESET (fillfactor);',
	'the undo of a new option is RESET');
SELECT is(jsonb_array_length(pg_temp.plan_of('jobs')->'changes'), 1, 'the plan for one table has one change');
SELECT is((SELECT string_agg(c->>'relation', ' ') FROM jsonb_array_elements(pg_temp.plan_of('parts')->'changes') c),
	'public.part_now', 'the plan for a partitioned table has its current partition');
SELECT is((SELECT string_agg(c->>'relation', ' ') FROM jsonb_array_elements(pg_temp.plan_of('part_now')->'changes') c),
	'public.part_now', 'the plan for one partition has only that one');
SELECT is(pg_temp.plan_of('parts')->'templates'->0->>'statement',
          format('CREATE TABLE ... PARTITION OF public.parts ... WITH (fillfactor = %s);',
              (SELECT recommended_fillfactor FROM ff_advise('part_now'))),
          'the plan for a partitioned table has a template for new partitions');
SELECT is((SELECT count(*) FROM pg_temp.script_of() s WHERE s ~ '^--   CREATE TABLE ... PARTITION OF public.parts'),
	1::bigint, 'the script has the template as a comment');
SELECT is((SELECT count(*) FROM pg_temp.script_of() s WHERE s ~ 'ALTER TABLE public.parts '), 0::bigint,
	'the script has no statement for the parent');

-- what the script runs is what the plan says
SELECT is((SELECT string_agg(s, E'\n') FROM pg_temp.script_of('jobs') s) LIKE E'%\n'
	|| replace(pg_temp.plan_of('jobs')->'changes'->0->>'guarded_statement', ', false);', ', :''undo'');')
	|| E'\n%',
	true, 'the script runs the guarded statement of the plan');
SELECT is((SELECT c->>'guarded_undo' FROM jsonb_array_elements(pg_temp.plan_of('jobs')->'changes') c),
	(SELECT left(c->>'guarded_statement', -7) || 'true);'
		FROM jsonb_array_elements(pg_temp.plan_of('jobs')->'changes') c),
	'the guarded undo is the same call');
-- the length of the script: the guard once, and a few lines for each change
SELECT cmp_ok((SELECT count(*) FROM pg_temp.script_of('jobs')) + 4 * 3, '<=', 62::bigint,
	'a script of five changes has at most 62 lines');
SELECT cmp_ok((SELECT count(*) FROM pg_temp.script_of()) - (SELECT count(*) FROM pg_temp.script_of('jobs')), '<=',
	4 * (jsonb_array_length(pg_temp.plan_of()->'changes') - 1) + 4::bigint,
	'each further change takes at most four lines, a template three, rewrites one of the head');
SELECT is((SELECT count(*) FROM pg_temp.script_of() s WHERE s ~ '[[:cntrl:]]'), 0::bigint,
	'no line of the script has control characters');

-- a part of the script, and provisional changes
SELECT is((SELECT count(*) FROM ff_script(top => 1) s
	WHERE s ~ 'CALL pg_temp.ff_change[(].[{]'), 1::bigint, 'top => 1: one change');
SELECT is((SELECT count(*) FROM ff_script(top => 1) s
	WHERE s ~ '^-- brings: +[0-9]+ changes?(, provisional)?: .*; [0-9]+ more left out by top$'),
	1::bigint, 'top => 1: the script says how many changes are left out');
SELECT is(jsonb_array_length(ff_script_json(top => 100)->'changes'), jsonb_array_length(pg_temp.plan_of()->'changes'),
	'top => 100: all changes');
SELECT throws_ok('SELECT ff_script(top => 0)', '22023', NULL, 'top => 0 is an error');
CREATE TEMP TABLE made AS SELECT jsonb_set(jsonb_set(p, '{changes,0,provisional}', provisional::text::jsonb), '{total}',
		ff_internal.plan_total(ARRAY[jsonb_set(p->'changes'->0, '{provisional}', provisional::text::jsonb)]
			|| ARRAY(SELECT jsonb_build_object('provisional', false, 'wal_saved', 3 * 1024 * 1024,
				'disk_bytes_change', -1024 * 1024)))) AS plan, provisional
  FROM (SELECT pg_temp.plan_of('jobs') AS p) j, unnest(ARRAY[true, false]) provisional;
SELECT is((SELECT string_agg(coalesce(substring(s, '^.*CALL'), ''), ', ' ORDER BY n)
	FROM made, ff_internal.script(plan, true) WITH ORDINALITY x(s, n)
            WHERE provisional AND s ~ 'CALL pg_temp.ff_change[(].[{]'), '\if :provisional \\ CALL',
            'a provisional change depends on :provisional');
SELECT matches((SELECT s FROM made, ff_internal.script(plan, true) s WHERE provisional AND s ~ '^-- brings'),
	'2 changes [(]1 of them provisional, which are not counted here[)]: about 3072 kB less WAL a day, 1024 kB '
	'less disk$',
	'a provisional change does not count in the total');
SELECT is((SELECT count(*) FROM made, ff_internal.script(plan, true) s
	WHERE provisional AND s ~ '^-- also: +-v provisional=on '),
	1::bigint, 'a provisional change: the script says how to run it');
SELECT matches((SELECT s FROM made, ff_internal.script(plan, true) s WHERE NOT provisional AND s ~ '^-- brings'),
	'2 changes: about .* WAL a day', 'a change that is not provisional counts in the total');
SELECT is((SELECT string_agg(s, E'\n' ORDER BY n)
	FROM made, ff_internal.script(plan, true) WITH ORDINALITY x(s, n)
	WHERE provisional AND s !~ '^(-- (also|brings|1 of)|.if :provisional .(.*CALL pg_temp|else))'),
          (SELECT string_agg(s, E'\n' ORDER BY n)
              FROM made, ff_internal.script(plan, true) WITH ORDINALITY x(s, n)
              WHERE NOT provisional AND s !~ '^(-- brings|CALL pg_temp.ff_change|-- 1 of)'),
          'provisional or not, the rest of the script is equal');
-- in PostgreSQL 19 it is always on
SELECT count(set_config('standard_conforming_strings', 'off', false)),
	count(set_config('escape_string_warning', 'on', false))
 WHERE current_setting('server_version_num')::integer < 190000 \gset
SELECT is((SELECT count(*) FROM ff_script('log', true) s WHERE right(s, 5) = chr(92) || 'gset'), 2::bigint,
	'the script is right with standard_conforming_strings off');
SELECT count(set_config('standard_conforming_strings', 'on', false)),
	count(set_config('escape_string_warning', 'on', false))
 WHERE current_setting('server_version_num')::integer < 190000 \gset

-- rewrites: table log wastes half of its pages
SELECT is((SELECT action FROM ff_advise('log')), 'raise', 'fillfactor of log is to be raised');
SELECT is((SELECT count(*) FROM pg_temp.script_of('log') s WHERE s !~ '^--' AND s ~ 'VACUUM|ff_rewrite'), 0::bigint,
	'no rewrite is in the script by default');
SELECT is((SELECT count(*) FROM pg_temp.script_of('log') s
	WHERE s ~ '^--   rewrite: gives back .* at once; .* free disk, about .* of WAL by VACUUM FULL'),
	1::bigint, 'the script says what a rewrite gives back and needs');
SELECT is((SELECT count(*) FROM pg_temp.script_of('log') s WHERE s ~ '^-- rewrites: +ff_script[(]rewrite => true[)]'),
	1::bigint, 'the script says how to get rewrites');
SELECT is((SELECT count(*) FROM ff_script('log', true) s
	WHERE s ~ ($x$^SELECT pg_temp.ff_rewrite\('{public,log,\d+}', '{fillfactor=\d+}', '\d+', (false|true)\) $x$
		|| $x$AS ff_go \\gset$|^VACUUM \(FULL, ANALYZE\) public.log;$$x$)),
	3::bigint, 'a script with rewrites has VACUUM FULL');
-- roles that may collect write the history, superusers run the script
SELECT is((SELECT count(*) FROM unnest('{relfilenode,reason,who\,0,options_after\,0}'::text[]) k,
		ff_internal.script(jsonb_set(pg_temp.plan_of('log'), '{changes,0}'::text[] || string_to_array(k, ','),
			to_jsonb(E'1, false) \\gset\n\\! id'::text)), true) l WHERE l ~ E'\n' OR l ~ '^(?!--)[^'']*[\\]!'),
	0::bigint, 'a value of the history is quoted or in a comment, on the line where it stands');
SELECT is((SELECT count(*) FROM ff_script('jobs', true) s WHERE s ~ 'VACUUM'), 0::bigint,
	'a script with rewrites has none for a table whose updates are on new pages');
SELECT ok((m->>'disk_bytes')::bigint > 0 AND (m->>'free_bytes')::bigint > 0 AND (m->>'possible')::boolean,
	'the JSON form has disk needed and free')
  FROM jsonb_array_elements(pg_temp.plan_of('log')->'changes'->0->'rewrite'->'methods') m
 WHERE m->>'method' = 'VACUUM FULL';

ALTER TABLE log ADD COLUMN id bigint GENERATED ALWAYS AS IDENTITY;
CREATE INDEX "log order" ON log (id);
SELECT is((SELECT string_agg(method || ': ' || statement, E'\n')
	FROM ff_internal.rewrites('log'::regclass, 1000)
	WHERE runs_in = 'psql' AND method !~ '^REPACK'),
          'VACUUM FULL: VACUUM (FULL, ANALYZE) public.log;', 'VACUUM FULL is possible everywhere');
SELECT ok(bool_and(wal_bytes = 0 OR current_setting('wal_level') <> 'minimal'),
	'a rewrite writes WAL unless wal_level is minimal')
	FROM ff_internal.rewrites('log'::regclass, 1000);
ALTER TABLE log SET UNLOGGED;
SELECT is(sum(wal_bytes), 0::numeric, 'the rewrite of an unlogged table writes no WAL')
	FROM ff_internal.rewrites('log'::regclass, 1000);
SELECT is((SELECT string_agg(method, ', ')
	FROM ff_internal.rewrites('log'::regclass, 9000000000000000000 / 1000)
	WHERE runs_in = 'psql' AND possible),
	NULL, 'a table that does not fit the disk is not rewritten');
SELECT matches(why, 'needs .* of disk, and .* are free', 'a table that does not fit the disk: the reason says so')
	FROM ff_internal.rewrites('log'::regclass, 9000000000000000000 / 1000)
	WHERE method = 'VACUUM FULL';

SELECT is(ff_internal.plan_change('{"oid": 1}'), NULL, 'the plan leaves out a dropped table');

-- a tool applies a change by the plan, and undoes it
SELECT ff_script_json('jobs')->'changes'->0->>'guarded_statement' AS apply,
	ff_script_json('jobs')->'changes'->0->>'guarded_undo' AS undo, ff_script_json()->>'guard' AS guard \gset
:guard
SET client_min_messages = error;
SET search_path = public, ff;
:apply
SELECT is((SELECT reloptions::text FROM pg_class WHERE oid = 'jobs'::regclass),
	(SELECT format('{fillfactor=%s}', substring(:'apply', 'fillfactor = (\d+)'))), 'the guarded statement applies');
:apply
:undo
SELECT is((SELECT reloptions::text FROM pg_class WHERE oid = 'jobs'::regclass), NULL,
	'the guarded undo restores the options');
ALTER TABLE jobs SET (autovacuum_enabled = off);
:apply
SELECT is((SELECT reloptions::text FROM pg_class WHERE oid = 'jobs'::regclass), '{autovacuum_enabled=off}',
	'the guarded statement changes nothing if the options have changed');

-- ---------------------------------------------------------------------------
-- Rights
-- ---------------------------------------------------------------------------
CREATE ROLE regress_ff_script_reader;
CREATE ROLE regress_ff_script_plain;
GRANT pg_read_all_stats TO regress_ff_script_reader;
GRANT USAGE ON SCHEMA ff TO regress_ff_script_reader, regress_ff_script_plain;
SET ROLE regress_ff_script_reader;
SELECT lives_ok('SELECT ff.ff_script()', 'pg_read_all_stats may call ff_script()');
SELECT lives_ok('SELECT ff.ff_script_json()', 'pg_read_all_stats may call ff_script_json()');
SET ROLE regress_ff_script_plain;
SELECT throws_ok('SELECT ff.ff_script()', '42501', NULL, 'a plain role may not call ff_script()');
SELECT throws_ok('SELECT ff.ff_script_json()', '42501', NULL, 'a plain role may not call ff_script_json()');
SELECT throws_ok('SELECT ff_internal.script_plan(NULL, NULL)', '42501', NULL,
	'a plain role may not call script_plan()');
SELECT throws_ok('SELECT ff_internal.free_bytes(0)', '42501', NULL, 'a plain role may not call free_bytes()');
RESET ROLE;
DROP OWNED BY regress_ff_script_reader, regress_ff_script_plain;
DROP ROLE regress_ff_script_reader, regress_ff_script_plain;

SELECT * FROM finish();
