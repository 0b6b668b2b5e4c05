-- Rehearsals without a scratch server: the parts of the script, how a result is judged, and which results are accepted.
CREATE EXTENSION fillfactor_advisor;
SET client_min_messages = warning;
SELECT plan(117);

-- ------------------------------------------------------------------ the pgbench script of a mixture
CREATE FUNCTION script(class jsonb, others jsonb DEFAULT '[]') RETURNS text LANGUAGE sql AS $$
    SELECT ff_internal.pgbench_script(jsonb_build_object('classes', jsonb_build_array(class || '{"weight": 1}') || others,
        'table', '{"name": "t", "key": "id", "number": "id", "to_key": "{n}", "values": "{n}, 0"}'::jsonb)) $$;
SELECT matches(script('{"command": "update", "pick": "any", "set": "n = 1"}'),
    E'\n\\\\set a random\\(1, :rows\\)\nUPDATE t t SET n = 1 WHERE id = :a;\n', 'script: update of one random row');
SELECT matches(script('{"command": "update", "pick": "any", "rows": 10, "set": "n = 1"}'),
    E'random\\(1, greatest\\(1, :rows - 10 \\+ 1\\)\\)\n\\\\set b :a \\+ 10 - 1\nUPDATE t t SET n = 1 WHERE id BETWEEN :a AND :b;', 'script: update of neighbouring rows');
SELECT matches(script('{"command": "update", "pick": "any", "rows": 10, "every": 3, "set": "n = 1"}'),
    E'\\\\set b :a \\+ 10 \\* 3 - 1\nUPDATE t t SET n = 1 WHERE id BETWEEN :a AND :b AND \\(id - :a\\) % 3 = 0;', 'script: update of every third row of a range');
SELECT matches(script('{"command": "update", "pick": "any", "rows": 10, "every": 0, "set": "n = 1"}'),
    'WHERE id = ANY \(ARRAY\(SELECT g FROM \(SELECT 1 \+ floor\(random\(\) \* :rows\)::bigint AS g FROM generate_series\(1, 10\)\) r\)\);', 'script: update of scattered rows');
SELECT matches(script('{"command": "update", "pick": "all", "every": 3, "set": "n = 1"}'),
    E'\\\\set turn0 :turn0 \\+ 1\n\\\\set a \\(:turn0 \\+ :client_id\\) % 3\nUPDATE t t SET n = 1 WHERE id % 3 = :a;', 'script: update of every third row of the table');
SELECT matches(script('{"command": "update", "pick": "all", "set": "n = 1"}'), E'UPDATE t t SET n = 1;\n', 'script: update of all rows');
SELECT matches(script('{"command": "update", "pick": "any", "calls": 2, "ends": "ROLLBACK", "set": "n = 1"}'),
    E'BEGIN;\n\\\\set a [^\n]*\nUPDATE [^\n]*\n\\\\set a [^\n]*\nUPDATE [^\n]*\nROLLBACK;', 'script: two statements in a transaction that is rolled back');
SELECT matches(script('{"command": "insert", "rows": 5}'), 'INSERT INTO t SELECT g, 0 FROM generate_series\(:a::bigint, :b::bigint\) g;', 'script: insert of a batch');
SELECT matches(script('{"command": "insert"}'), 'INSERT INTO t SELECT g, 0 FROM \(VALUES \(:a::bigint\)\) r\(g\);', 'script: insert of one row');
SELECT matches(script('{"command": "update", "pick": "any", "part": 0.25, "set": "n = 1"}'), E'\\\\set part0 greatest\\(1, int\\(:rows \\* 0.25\\)\\)', 'script: update within a part of the table');
SELECT matches(script('{"command": "update", "pick": "any", "set": "n = 1"}', '[{"command": "delete", "pick": "newest", "distance": [9, 9], "weight": 0.1}]'),
    E'\\\\set pick case when [^\n]* < :rare1 then 1 when [^\n]* < :rare0 then 0 when :u >= [^\n]* then 1 when :u >= [^\n]* then 0 end\n\\\\if :pick = 1\n.*\n.*\nDELETE FROM t WHERE id = :a;\n\\\\elif :pick = 0\n',
    'script: the rarest class is tried first, frequent ones get the rest');
CREATE FUNCTION dealt(class jsonb) RETURNS text LANGUAGE sql AS $$
    SELECT ff_internal.pgbench_script(jsonb_build_object('oldest', '1 - :rows / :sessions + :turn1 * 3', 'classes', '[{"command": "insert", "weight": 1}, {"command": "delete", "pick": "oldest", "rows": 3, "weight": 0.1}]' || class,
        'table', '{"name": "t", "key": "id", "number": "id", "to_key": "{n}", "values": "{n}, 0"}'::jsonb)) $$;
SELECT matches(dealt('{"command": "update", "pick": "any", "set": "n = 1", "weight": 1}'),
    E'\\\\set x random\\(1 - :rows / :sessions \\+ :turn1 \\* 3, :i\\)\n\\\\set a case when :x > 0 then :own \\+ :x else greatest\\(1, :rows \\+ :x \\* :sessions - :client_id\\) end',
    'script with deletes: a random row of the session that still exists');
SELECT matches(dealt('{"command": "update", "pick": "turn", "rows": 2, "set": "n = 1", "weight": 1}'),
    E'\\\\set x 1 - :rows / :sessions \\+ :turn1 \\* 3 \\+ :turn2 \\* 2 % greatest\\(1, :left - 2 \\+ 1\\)', 'script with deletes: existing rows in turn');
SELECT matches(dealt('{"command": "update", "pick": "skewed", "set": "n = 1", "weight": 1}'),
    E'random_zipfian\\(1, :left, 1.05\\)', 'script with deletes: some existing rows more often');
SELECT matches(dealt('[]'), E'\\\\set a \\(:turn1 \\* :sessions \\+ :client_id\\) \\* 3 \\+ 1\n\\\\set a case when :x > 0 then :own \\+ :x else :a end\n'
    '\\\\set turn1 :turn1 \\+ 1\n\\\\set b :a \\+ 3 - 1\nDELETE FROM t WHERE id BETWEEN :a AND :b;', 'script with deletes: the oldest rows are deleted');

-- ------------------------------------------------------------------ the table
CREATE TYPE mood AS ENUM ('good', 'bad');
CREATE DOMAIN short AS varchar(20);
CREATE FUNCTION mine(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1';
CREATE TABLE t (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, m mood NOT NULL, s short, p point, n int, c1 text, gone int,
    g int GENERATED ALWAYS AS (1) STORED);
ALTER TABLE t DROP gone;
CREATE INDEX t_n ON t (n) WHERE n > 0;
CREATE INDEX t_mine ON t (mine(n));
CREATE TABLE made AS SELECT ff_internal.rehearsal_table('t'::regclass) AS t;
SELECT is((SELECT t->>'columns' FROM made),
    'id integer, ff2 integer, ff3 character varying, ff4 uuid, n integer, ff6 text, ff8 integer', 'the made table replaces enums, domains, other types and generated columns');
SELECT is((SELECT concat_ws(' ', t->>'key', t->>'pad', split_part(t->>'touch', ' ', 1), split_part(t->>'touch_indexed', ' ', 1)) FROM made),
    'ff1 ff3 ff2 ff5', 'the made table has a key, a column that grows, and columns that updates set');
SELECT is((SELECT t->'replaced' FROM made), '["p is uuid"]', 'types that were replaced are listed');
SELECT is((SELECT t->'indexes'->0->>1 FROM made), 'CREATE UNIQUE INDEX ON ff_rehearsal.t USING btree (id)', 'the made table has the index of the key');
SELECT is((SELECT t->'indexes'->1 FROM made), '["t_n", "CREATE INDEX ON ff_rehearsal.t USING btree (n) WHERE (n > 0)", "CREATE INDEX ON ff_rehearsal.t USING btree (n)", "CREATE INDEX ON ff_rehearsal.t USING hash (n)"]',
    'an index is made, or else a plain one on its columns');
SELECT is((SELECT t->'indexes'->2 FROM made), '["t_mine", "CREATE INDEX ON ff_rehearsal.t USING btree (n)", "CREATE INDEX ON ff_rehearsal.t USING hash (n)"]', 'an index on a user''s function is made as a plain one');
SELECT is((SELECT t->'plain' FROM made), '["t_mine"]', 'indexes made as plain ones are listed');

-- three updates in a row of a made-up value of each type: each gives a new value
CREATE FUNCTION unchanged(type regtype, value text DEFAULT NULL) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE k record; was text; now text;
BEGIN
    SELECT * INTO k FROM ff_internal.rehearsal_type(type);
    EXECUTE format('SELECT (%s)::%s::text', coalesce(quote_literal(value), replace(replace(k.value, '{n}', '7::bigint'), '{w}', '30')), k.made::regtype) INTO was;
    FOR i IN 1 .. 3 LOOP
        EXECUTE format('SELECT (%s)::%2$s::text FROM (SELECT %3$L::%2$s) r(c)', replace(replace(k.touch, '{c}', 'c'), '{n}', '1'), k.made::regtype, was) INTO now;
        IF now = was OR now IS NULL THEN RETURN NEXT format('%s %s %s', type, was, i); END IF;
        was := now;
    END LOOP;
END $$;
SELECT is_empty('SELECT unchanged(t.oid) FROM pg_type t WHERE t.typnamespace = ''pg_catalog''::regnamespace AND t.typtype IN (''b'', ''r'', ''m'') AND t.typlen <> -2
    AND NOT t.typname = ANY (''{pg_node_tree}'')', 'an update of an indexed column changes a value of every type');
SELECT is_empty($$ SELECT unchanged(v.type, v.value) FROM (VALUES ('text'::regtype, ''), ('varchar', 'open'), ('bpchar', 'Y'), ('bytea', ''), ('bytea', 'open'), ('jsonb', '{}'), ('jsonb', '[1, {"a": 2}]'),
    ('text[]', '{}'), ('text[]', '{NULL}'), ('text[]', '{{a,b},{c,d}}'), ('int[]', '{}'), ('int[]', '{5,NULL}'), ('int[]', '{{1,2},{3,4}}'), ('numeric', '0'), ('numeric', 'NaN'), ('numeric', '0.5'),
    ('float8', '0.5'), ('float8', '1e300'), ('float8', 'NaN'), ('float4', '0'), ('date', 'infinity'), ('timestamptz', '-infinity'), ('timestamp', '2020-01-01'), ('uuid', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
    ('int2', '32767'), ('int4', '-2147483648'), ('int8', '9223372036854775807'), ('bool', 't')) v(type, value) $$, 'an update of an indexed column changes special values, too');
-- ------------------------------------------------------------------ a life as a mixture
CREATE FUNCTION class(c jsonb) RETURNS jsonb LANGUAGE sql AS $$
    SELECT ff_internal.rehearsal_classes(jsonb_build_object('replayed_rows', 1000, 'classes', jsonb_build_array(
        '{"command": "update", "pick": "any", "rate": 1, "rows": 1, "calls": 1, "distance": 1, "near": 0, "skew": 1, "stride": 1, "indexed": 0, "resizes": 0}'::jsonb || c)),
        t, 1) FROM made $$;
SELECT is(class('{}')->0->>'set', 'ff2 = coalesce(t.ff2 # 1, (1::bigint)::integer)', 'a class of updates sets a column without index');
SELECT is(class('{"resizes": 1}')->0->>'set', 'ff3 = rpad(coalesce(t.ff3, ''''), ff_rehearsal.next(ff_rehearsal.number(t.ff1), length(coalesce(t.ff3, ''''))), ''x''), '
    'ff2 = coalesce(t.ff2 # 1, (1::bigint)::integer)', 'a class of growing updates also lengthens a column');
SELECT is(jsonb_array_length(class('{"indexed": 0.25}')), 2, 'updates of which some set an indexed column are two classes');
SELECT is(jsonb_array_length(class('{"indexed": 4e-16}')), 1, 'a share of indexed updates that is a rounding error makes no class');
SELECT is((class('{"indexed": 0.25}')->1->>'rate')::float8, 0.25::float8, 'each of two classes has its share of the rate');
SELECT is(class('{"pick": "sweep", "rows": 500, "stride": 2, "whole": 1}')->0->>'pick', 'all', 'a sweep over every second row is of the whole table');
SELECT is(class('{"pick": "sweep", "rows": 334, "stride": 2, "whole": 1}')->0->>'part', '0.5', 'a sweep of the whole table is one also after the table grew');
SELECT is(class('{"pick": "sweep", "rows": 10}')->0->>'pick', 'turn', 'a sweep in parts takes rows in turn');
SELECT is(class('{"rows": 400}')->0->>'part', '0.4', 'a class of 400 rows of 1000 is scaled to a part of the table');
SELECT is((class('{"rows": 400}')->0->>'weight')::float8, 1 / 8000.0::float8, 'a class that is scaled to a part of the table is rarer');
SELECT is(class('{"command": "delete", "pick": "oldest"}'), NULL, 'without inserts there is no class of deletes');
SELECT is((SELECT ff_internal.rehearsal_mixture('{"lag": 2, "replayed_rows": 1000, "classes": [{"command": "insert", "rate": 1, "rows": 1, "indexed": 0}, {"command": "delete", "rate": 1, "rows": 7, "indexed": 0}]}', t)
    FROM made)->>'oldest', '1 - :rows / :sessions + :turn1 * 7', 'a mixture with deletes knows the oldest row left');
SELECT is((SELECT ff_internal.rehearsal_mixture('{"lag": 0, "held": 50, "held_share": 0.25, "replayed_rows": 1000, "classes": [{"command": "update", "rate": 1, "rows": 4}]}', t)
    FROM made)->>'held_cycle', '0.8', 'a snapshot held for 50 transactions of 200, which are 800 updates of 1000 rows');
SELECT is((SELECT ff_internal.rehearsal_mixture('{"lag": 0, "held": 0.8, "held_share": 0.4, "replayed_rows": 1000, "classes": [{"command": "update", "rate": 1, "rows": 4}]}', t)
    FROM made)->>'held_cycle', '0', 'a snapshot held for less than one transaction is left out');

-- ------------------------------------------------------------------ the head of the script
CREATE FUNCTION head(more jsonb) RETURNS text LANGUAGE sql AS $$
    SELECT ff_internal.rehearsal_head('t'::regclass, '{"from": 100, "to": 90}'::jsonb || more,
        '{"hot_a": [96.26, 80.2, 100], "hot_b": [97, 90, 100], "wal_pct": [50]}', '{"sessions": 1, "classes": []}', '{}') $$;
SELECT matches(head('{"advised": true}'), E'# +The advised change, to be followed by a rewrite, and its undo:\n# +ALTER TABLE public.t SET \\(fillfactor = 90\\);\n# +ALTER TABLE public.t RESET \\(fillfactor\\);', 'head: the advised change, and RESET as undo if no fillfactor was set');
ALTER TABLE t SET (fillfactor = 100);
SELECT matches(head('{}'), E'# +The change \\(not advised\\), to be followed by a rewrite, and its undo:\n# +ALTER TABLE public.t SET \\(fillfactor = 90\\);\n# +ALTER TABLE public.t SET \\(fillfactor = 100\\);', 'head: a change that is not advised, and the old fillfactor as undo');
SELECT matches(head('{}'), E'# Predicted, once settled: HOT share 96.3 % at 100, 97.0 % at 90; WAL per update 50.0 % of that now\n', 'head: the predicted HOT share and WAL');

-- the functions and the table of a rehearsal without rows, in this database
CREATE FUNCTION loaded(t jsonb, insert_len int[], update_len int[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    DROP SCHEMA IF EXISTS ff_rehearsal CASCADE;
    CREATE SCHEMA ff_rehearsal;
    EXECUTE regexp_replace(ff_internal.rehearsal_functions('public.t', t, jsonb_build_object('grow_updates', 3, 'insert_len', insert_len, 'update_len', update_len)), E'\\\\if.*\\\\else(.*)\\\\endif', '\1');
    EXECUTE format('CREATE TABLE ff_rehearsal.t (%s)', t->>'columns');
END $$;
SET check_function_bodies = off;
SELECT loaded(t, array_fill(104, '{8}') || array_fill(304, '{8}'), array_fill(404, '{16}')) FROM made;
CREATE OR REPLACE FUNCTION ff_rehearsal.base() RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT 40.0::float8';
SELECT is((SELECT array_agg(ff_rehearsal.length(n, g) ORDER BY n, g) FROM unnest('{1,2}'::int[]) n, unnest('{0,1}'::int[]) g), '{30,330,130,230}',
    'one of two variable columns gets half of the length and all that updates add');
SELECT is((SELECT array_agg(ff_rehearsal.next(1, n)) FROM unnest('{30,130,300,330}'::int[]) n), '{134,230,330,330}', 'rows grow by thirds up to their final length');

-- each type as the only key: from row numbers, loaded or inserted by four sessions, to keys and back, in order
CREATE FUNCTION keyed(type text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE bad text;
BEGIN
    DROP TABLE IF EXISTS keyed;
    EXECUTE format('CREATE TABLE keyed (n int, k %s)', type);
    CREATE INDEX ON keyed (k);
    PERFORM loaded(ff_internal.rehearsal_table('keyed'::regclass), array_fill(104, '{16}'), array_fill(104, '{16}'));
    SELECT string_agg(n::text, ' ') INTO bad
      FROM (SELECT n, ff_rehearsal.number(ff_rehearsal.key(n)) AS back, ff_rehearsal.key(n) AS k, lag(ff_rehearsal.key(n)) OVER (ORDER BY n) AS before
              FROM unnest('{1,2,3,99,100,65536,99999999,100000001,400000001,499999999}'::bigint[]) n) r
     WHERE back <> n OR k <= before;
    RETURN bad;
END $$;
SELECT is_empty($$ SELECT type, keyed(type) FROM unnest('{smallint,int,bigint,"numeric(4,2)","numeric(2,2)",numeric,real,float8,boolean,date,"timestamp(0)",timestamptz,time,interval,uuid,text,varchar(3),char(2),bytea,inet,mood,short,jsonb,int[],int4range}'::text[]) type
    WHERE keyed(type) IS NOT NULL $$, 'keys of all types give their row number back');

-- rows of many kinds of columns are as long as the table's
CREATE TABLE kinds (id smallint PRIMARY KEY, v varchar(20), c char(60), e varchar(10) NOT NULL, n numeric(10,2), a text, b text, j jsonb, tags text[], x json, i inet, u uuid, f boolean, "ff7" date, none text);
INSERT INTO kinds SELECT g, repeat('€', g % 20), md5(g::text), repeat('e', 1 + g % 10), g / 7.0, CASE WHEN g % 2 = 0 THEN repeat('a', g % 150) END, repeat('b', g * 7 % 300),
    jsonb_build_object('a', g), ARRAY['x' || g, 'y'], '{"a": 1}', '10.0.0.1', gen_random_uuid(), NULL, now(), NULL FROM generate_series(1, 3000) g;
ANALYZE kinds;
CREATE FUNCTION filled(t jsonb, insert_len int[], update_len int[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE bare text; statement text;
BEGIN
    PERFORM loaded(t, insert_len, update_len);
    -- as the script does it
    bare := substring(ff_internal.rehearsal_documents('t'::regclass, '{}', '{}', jsonb_build_object('sessions', 1, 'table', '{}'::jsonb, 'classes', '[]'::jsonb), t, '{}') FROM E'\nbare\\(\\)\n[^\n]*\n[^\n]*\n(.*?)\n\\\\gexec');
    FOR i IN 1 .. 3 LOOP
        TRUNCATE ff_rehearsal.t;
        EXECUTE format('INSERT INTO ff_rehearsal.t SELECT %s FROM generate_series(1, 1600) g', replace(t->>'values', '{n}', 'g'));
        IF i < 3 THEN EXECUTE bare INTO statement; EXECUTE statement; END IF;
    END LOOP;
END $$;
CREATE FUNCTION lengths(relation regclass, OUT wanted int[], OUT mean float8, OUT made float8) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('SELECT percentile_disc((SELECT array_agg((i + 0.5) / 16) FROM generate_series(0, 15) i)) WITHIN GROUP (ORDER BY l), avg(l) FROM (SELECT (pg_column_size(t.*) + 7) / 8 * 8 FROM %s t) r(l)', relation)
       INTO wanted, mean;
    PERFORM filled(ff_internal.rehearsal_table(relation), wanted, wanted);
    SELECT avg((pg_column_size(r.*) + 7) / 8 * 8) INTO made FROM ff_rehearsal.t r;
END $$;
SELECT ok(abs(mean - made) < 8, format('made-up rows are as long as the table''s: %s, made up %s', mean, made)) FROM lengths('kinds');
CREATE TABLE gaps (id int PRIMARY KEY, a int, u uuid, note text);
INSERT INTO gaps SELECT g, g, gen_random_uuid(), CASE WHEN g % 3 = 0 THEN repeat('x', g % 100) END FROM generate_series(1, 3000) g;
ANALYZE gaps;
SELECT ok(abs(mean - made) < 1, format('made-up rows are as long as those of a table with NULLs: %s, made up %s', mean, made)) FROM lengths('gaps');

-- the growing column before and after an aligned one: it grows by thirds of 40 bytes, rounded up as in the twin
CREATE FUNCTION grown(columns text) RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE t jsonb; size int[]; sizes int[];
BEGIN
    DROP TABLE IF EXISTS grows;
    EXECUTE format('CREATE TABLE grows (id int PRIMARY KEY, %s)', columns);
    t := ff_internal.rehearsal_table('grows'::regclass, true);
    PERFORM filled(t, array_fill(48, '{16}'), array_fill(88, '{16}'));
    EXECUTE t->>'renames';
    FOR i IN 0 .. 3 LOOP
        SELECT array_agg(DISTINCT (pg_column_size(r.*) + 7) / 8 * 8) INTO size FROM ff_rehearsal.t r;
        sizes := sizes || size;
        EXECUTE format('UPDATE ff_rehearsal.t t SET %s', t->>'resize');
    END LOOP;
    RETURN sizes;
END $$;
SELECT is(grown('status text NOT NULL, opened timestamptz NOT NULL'), '{48,64,80,88}', 'growing rows have the lengths of the twin at each update');
SELECT is(grown('opened timestamptz NOT NULL, status text NOT NULL'), '{48,64,80,88}', 'growing rows have the lengths of the twin, also with the growing column last');

-- a table as wide as can be
DO $$ BEGIN EXECUTE (SELECT format('CREATE TABLE wide (id int PRIMARY KEY, %s)', string_agg(format('c%s %s', i, CASE WHEN i % 3 = 0 THEN 'int' ELSE 'text' END), ', ')) FROM generate_series(1, 1599) i); END $$;
SET statement_timeout = '60s';
SELECT is(jsonb_typeof(ff_internal.rehearsal_table('wide'::regclass)->'values'), 'string', 'a table of 1,600 columns can be made up');
RESET statement_timeout;

-- rows that grow: nullable columns are filled in later; the growing column has no index
CREATE TABLE tickets (id int PRIMARY KEY, status text NOT NULL, closed timestamptz, agent uuid);
INSERT INTO tickets SELECT g, 'open', CASE WHEN g % 10 > 0 THEN now() END, gen_random_uuid() FROM generate_series(1, 1000) g;
CREATE INDEX ON tickets (lower(status));
ANALYZE tickets;
CREATE TABLE growing AS SELECT ff_internal.rehearsal_table('tickets'::regclass, true) AS t;
SELECT is((SELECT concat_ws('|', t->>'pad', split_part(t->>'columns', ', ', 5)) FROM growing), 'ff5|ff5 text', 'growing rows get a text column of their own if the only one has an index');
SELECT is((SELECT t->>'pad' FROM (SELECT ff_internal.rehearsal_table('tickets'::regclass)) r(t)), 'ff2', 'rows that do not grow get no extra column');
SELECT lives_ok($$ SELECT loaded(t, array_fill(72, '{16}'), array_fill(112, '{16}')) FROM growing $$, 'the table for growing rows can be made');
DO $$ BEGIN EXECUTE (SELECT format('INSERT INTO ff_rehearsal.t SELECT %s FROM generate_series(1, 200) g', replace(t->>'values', '{n}', 'g')) FROM growing); END $$;
SELECT results_eq('SELECT count(ff3), count(ff4), count(ff5) FROM ff_rehearsal.t', 'VALUES (0::bigint, 200::bigint, 200::bigint)', 'growing rows are inserted with NULL in columns that have NULLs');

-- a table where only the key has an index
CREATE TABLE single (id int PRIMARY KEY, a int, b text);
CREATE TABLE spared AS SELECT ff_internal.rehearsal_table('single'::regclass) AS t;
SELECT is((SELECT concat_ws('|', t->'touch_indexed', split_part(t->>'touch', ' ', 1), t->'spare'->>'index', split_part(t->'spare'->>'touch', ' ', 1), split_part(t->'spare'->>'touch_indexed', ' ', 1)) FROM spared),
    'ff2|["a", "CREATE INDEX ON ff_rehearsal.t USING btree (ff2)", "CREATE INDEX ON ff_rehearsal.t USING hash (ff2)"]|ff1|ff2', 'a spare index is made for updates that have to change an indexed column');
-- ------------------------------------------------------------------ indexes whose expressions the work may break
-- creates all functions of the scratch server, as the script does
CREATE FUNCTION prepared(t jsonb, classes jsonb, made jsonb DEFAULT '{}', held float8 DEFAULT 0) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    DROP SCHEMA IF EXISTS ff_rehearsal CASCADE;
    CREATE SCHEMA ff_rehearsal;
    EXECUTE regexp_replace(split_part(split_part(ff_internal.rehearsal_documents('t'::regclass, made, '{}', jsonb_build_object('sessions', 1, 'held_cycle', held, 'held_share', 0.5, 'classes', classes,
        'table', jsonb_build_object('values', t->'values')), t, '{"grow_updates": 1, "insert_len": [104], "update_len": [104]}'),
        E'\nsetup()\n{\n    q -v existing=$existing <<''FF_END''\n', 2), E'\nFF_END\n', 1), E'\\\\if.*\\\\else(.*)\\\\endif', '\1');
    EXECUTE format('CREATE TABLE ff_rehearsal.t (%s)', t->>'columns');
    UPDATE ff_rehearsal.setup SET rows = 1000, ticks = 4000;
END $$;
CREATE TABLE casts (id int PRIMARY KEY, code text NOT NULL, payload jsonb, n int, later int);
CREATE INDEX casts_code ON casts ((code::int));
CREATE INDEX casts_payload ON casts (((payload->>'id')::int));
CREATE INDEX casts_n ON casts ((100 / n)) WHERE n > 0;
CREATE INDEX casts_later ON casts (later) WHERE 10 / later >= 0;
CREATE TABLE cast_made AS SELECT ff_internal.rehearsal_table('casts'::regclass) AS t;
SELECT prepared(t, jsonb_build_array(jsonb_build_object('command', 'update', 'rate', 1, 'rows', 1, 'set', 'ff2 = CASE left(t.ff2, 1) WHEN ''0'' THEN ''x'' ELSE ''0'' END || substr(t.ff2, 2)'),
    jsonb_build_object('command', 'update', 'rate', 1, 'rows', 1, 'set', 'ff5 = 0'), '{"command": "insert", "rate": 1, "rows": 1}')) FROM cast_made;
INSERT INTO ff_rehearsal.t SELECT g, g::text, jsonb_build_object('id', g), g, g FROM generate_series(1, 100) g;
SET client_min_messages = error;
SELECT ff_rehearsal.index(i->>0, VARIADIC ARRAY(SELECT jsonb_array_elements_text(i - 0))) FROM cast_made, jsonb_array_elements(t->'indexes') i;
SET client_min_messages = warning;
SELECT results_eq($$ SELECT regexp_replace(pg_get_indexdef(indexrelid), '.* USING ', '') FROM pg_index WHERE indrelid = 'ff_rehearsal.t'::regclass ORDER BY indexrelid $$,
    $$ VALUES ('btree (id)'), ('btree (code)'), ('btree ((((payload ->> ''id''::text))::integer))'), ('btree (((100 / n))) WHERE (n > 0)'), ('btree (later)') $$,
    'an index whose expression fails for written values becomes a plain one, others stay');
SELECT results_eq('SELECT count(*), min(code), count(*) FILTER (WHERE later = 0) FROM ff_rehearsal.t', $$ VALUES (100::bigint, '1', 0::bigint) $$, 'trying out index expressions leaves the rows as they were');
SELECT is(pg_relation_size('ff_rehearsal.t'), 8192::bigint, 'trying out index expressions does not grow the table');
SELECT matches((SELECT string_agg(l, E'\n') FROM cast_made, ff_internal.rehearsal_load('t', t) l), 'index\(''casts_code'', ''CREATE INDEX', 'messages have the name of the original index');

-- ------------------------------------------------------------------ the length of a lap, and classes too rare for it
-- chosen(CLASSES): the choice of rows and lap if 1,000 single updates take a second and laps begin with 8 s
CREATE FUNCTION chosen(classes jsonb, held float8 DEFAULT 0) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM prepared(t, classes, '{"table_rows": 100000, "row_bytes": 100, "ram_bytes": 1e12}', held) FROM made;
    INSERT INTO ff_rehearsal.lap (lsn, updates, hot, seconds, transactions) VALUES ('0/0', -1000, 0, 1, 1000);
    RETURN ff_rehearsal.choose(8, 100, 0, 1000, true);
END $$;
CREATE FUNCTION counted(k int, OUT counts bigint[]) LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
    FOR p IN 0 .. 7 LOOP
        n := substring(ff_rehearsal.phase_begin(p) FROM format('n%s=(\d+)', k));
        counts := counts || n;
    END LOOP;
END $$;
SELECT matches(chosen('[{"command": "update", "rate": 1, "rows": 1}]'), '^4000 8000 1000.000 8 ', 'lap: half as many rows as updates');
SELECT matches(chosen('[{"command": "update", "rate": 0.5, "rows": 1}, {"command": "update", "rate": 0.5, "rows": 9, "part": 0.9}]'), '^1111 8000 1000.000 8 ', 'lap: fewer rows for a pass in each phase');
SELECT is(counted(1), '{1,1,1,1,1,1,1,1}', 'lap: the pass runs once in each phase');
SELECT matches(chosen('[{"command": "update", "rate": 1, "rows": 1}, {"command": "update", "rate": 0.05, "rows": 1000, "words": "a batch"}]'), '^4000 20000 1000.000 20 ', 'lap: longer for a batch');
SELECT is(counted(1), '{0,1,0,0,0,1,0,0}', 'lap: the batch runs in the same phase of each lap');
SELECT is_empty('SELECT ff_rehearsal.never(20)', 'lap: no class is left out');
SELECT matches(chosen('[{"command": "update", "rate": 1, "rows": 1}, {"command": "update", "rate": 0.2, "rows": 1000, "words": "a batch"}]'), '^4000 10000 1000.000 10 ', 'lap: the batch runs a whole number of times');
SELECT matches(chosen('[{"command": "update", "rate": 1, "rows": 1, "words": "one"}, {"command": "update", "rate": 0.04, "rows": 1000, "words": "a batch"}]'), '^4000 8000 1000.000 8 ', 'lap: not longer than three times the first length');
SELECT is(counted(1), '{0,0,0,0,0,0,0,0}', 'lap: a class that would need more is left out');
SELECT results_eq('SELECT ff_rehearsal.never(8)', $$ VALUES ('left out, because it comes less than once in a lap: a batch (--seconds=9 is enough)') $$, 'lap: the class left out is reported with the seconds it needs');
SELECT is(ff_rehearsal.result()->'never', '["a batch"]', 'lap: the class left out is in the result');
SELECT matches(chosen('[{"command": "update", "rate": 1, "rows": 1}]', 20), '^1000 20000 1000.000 20 ', 'lap: as long as a long held snapshot needs');
-- a held snapshot goes through all phases of a lap: phase 1 continues where phase 0 ended
SELECT chosen('[{"command": "update", "rate": 1, "rows": 1}]', 2) LIKE '4000 8000 %' AS held \gset
BEGIN;
SELECT ff_rehearsal.phase_begin(1) \g /dev/null
SELECT results_eq('SELECT cycle, ff_rehearsal.xid() - xid BETWEEN 2000 AND 3000 FROM ff_rehearsal.setup', 'VALUES (8000::float8, true)', 'a snapshot is held once a lap and its cycle continues from phase to phase');
COMMIT;
SELECT ok(:'held', 'lap: with a held snapshot, rows are updates divided by its cycle');
-- vacuum_gap 0.75 of 2,000 live rows is 1,500 updates
UPDATE ff_rehearsal.setup SET ticks = 4000, mixture = mixture || '{"vacuum_share": 0.2, "vacuum_gap": 0.75}', vacuumed = 0;
CREATE FUNCTION due(updated bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format($f$CREATE OR REPLACE FUNCTION ff_rehearsal.counter(OUT lsn pg_lsn, OUT updates bigint, OUT hot bigint, OUT dead bigint, OUT live bigint, OUT others bigint) LANGUAGE sql
        AS 'SELECT NULL::pg_lsn, %s::bigint, 0::bigint, 1000::bigint, 2000::bigint, 0::bigint'$f$, updated);
    RETURN ff_rehearsal.phase_end(0);
END $$;
SELECT is(ARRAY[due(1400), due(1600), due(1600), due(3000), due(3100)], '{f,t,f,f,t}', 'vacuum is due once after each 1,500 updates');
-- ------------------------------------------------------------------ results
CREATE FUNCTION result(more jsonb DEFAULT '{}', hot_b float8 DEFAULT 99, wal_b float8 DEFAULT 50, spread float8 DEFAULT 0.5,
    drift float8 DEFAULT 0.5, wal_pct float8 DEFAULT 50, latency float8[] DEFAULT '{10,10,10}') RETURNS jsonb LANGUAGE sql AS $$
    SELECT jsonb_build_object('format', 1, 'system_identifier', (SELECT system_identifier::text FROM pg_control_system()),
        'database_oid', (SELECT oid::text FROM pg_database WHERE datname = current_database()), 'rel_id', coalesce((SELECT rel_id FROM ff_internal.relation WHERE relid = 't'::regclass), 1000),
        'from', 100, 'to', 50, 'measured_at', extract(epoch FROM now()), 'never', '[]'::jsonb,
        'predicted', '{"hot_a": [1, 0, 2], "hot_b": [100, 99, 100], "rows_a": [55], "rows_b": [27]}'::jsonb || jsonb_build_object('wal_pct', jsonb_build_array(wal_pct)),
        'runs', (SELECT jsonb_agg(jsonb_build_object('pair', p, 'side', s, 'wal_bytes', CASE s WHEN 'B' THEN wal_b ELSE 100 END, 'rows_per_page', CASE s WHEN 'B' THEN 27 ELSE 54 END,
            'laps', CASE s WHEN 'B' THEN jsonb_build_array(0, hot_b + p * spread - 2 * spread - drift, hot_b + p * spread - 2 * spread) ELSE '[1, 1]' END,
            'size_bytes', CASE s WHEN 'B' THEN 16384 ELSE 8192 END, 'tps', 100, 'latency_ms', coalesce(latency[p], 10)))
            FROM generate_series(0, 3) p, unnest(CASE p WHEN 0 THEN '{A1,A2}'::text[] ELSE '{A,B}' END) s)) || more $$;
CREATE FUNCTION verdict(r jsonb) RETURNS text LANGUAGE sql AS $$ SELECT verdict FROM ff_internal.rehearsal_judged(r) WHERE place = 12 $$;
CREATE FUNCTION pays(r jsonb) RETURNS text LANGUAGE sql AS $$ SELECT verdict FROM ff_internal.rehearsal_judged(r) WHERE place = 13 $$;
SELECT is(verdict(result()), 'prediction held', 'verdict: prediction held');
SELECT is(verdict(result(hot_b => 80)), 'did not hold', 'verdict: less HOT than predicted did not hold');
SELECT is(verdict(result(hot_b => 93.3, spread => 0)), 'did not hold', 'verdict: HOT just below the allowed range did not hold');
SELECT results_eq($$ SELECT predicted, allowed_low, allowed_high FROM ff_internal.rehearsal_judged(result()) WHERE place IN (1, 2, 3, 4, 6) $$,
    $$ VALUES (1::float8, 0::float8, 7::float8), (100, 94, 100), (50, 40, 62.5), (NULL, NULL, NULL), (55, 44, 68.75) $$, 'the allowed ranges of HOT, WAL and rows per page');
SELECT is(verdict(result(wal_b => 80)), 'did not hold', 'verdict: more WAL than predicted did not hold');
SELECT is(verdict(result(hot_b => 90, spread => 9)), 'noise too large', 'verdict: runs that differ too much are noise');
SELECT is(verdict(result(drift => 2.1)), 'not settled', 'verdict: laps that still rise are not settled');
SELECT is(verdict(result(drift => -6.2)), 'not settled', 'verdict: laps that still fall are not settled');
SELECT is(verdict(jsonb_set(result(), '{runs}', (SELECT jsonb_agg(jsonb_set(r, '{laps}', '[99]')) FROM jsonb_array_elements(result()->'runs') r))),
    'not settled', 'verdict: runs of one lap are not settled');
SELECT is(verdict(result(wal_pct => 95, wal_b => 99)), 'prediction held', 'verdict: a small saving predicted and measured held');
SELECT is(verdict(result(wal_pct => 95, wal_b => 101)), 'did not hold', 'verdict: a saving predicted and a loss measured did not hold');
SELECT is(verdict(result(wal_pct => 105, wal_b => 99)), 'did not hold', 'verdict: a loss predicted and a saving measured did not hold');
SELECT is(verdict(result(wal_pct => 99.5, wal_b => 101)), 'prediction held', 'verdict: differences within 2 % held');
SELECT is((SELECT string_agg(DISTINCT verdict, ' ') FROM ff_internal.rehearsal_judged(jsonb_set(result(), '{predicted,rows_b}', '[40]')) WHERE place IN (7, 12)),
    'did not hold', 'verdict: fewer rows per page than predicted did not hold');
SELECT is(pays(result()), 'saves WAL: WAL per update -50.0 % (-50.0 to -50.0; up to 2.0 % is noise), HOT share +98.0 points, size +100.0 %', 'effect: WAL, HOT share and size, with noise');
SELECT matches(pays(result(hot_b => 0.98)), ', HOT share \+0.0 points, ', 'effect: a change of zero is +0.0, not -0.0');
SELECT is(split_part(pays(result(wal_b => 99)), ':', 1), 'no measurable difference', 'effect: 1 % WAL is no measurable difference');
SELECT is(split_part(pays(jsonb_set(result(wal_b => 99), '{runs}', (SELECT jsonb_agg(r || jsonb_build_object('size_bytes', CASE r->>'side' WHEN 'B' THEN small ELSE 10000 END)) FROM jsonb_array_elements(result(wal_b => 99)->'runs') r))), ':', 1),
    brings, format('effect: the same WAL and a table of %s bytes instead of 10000', small)) FROM (VALUES (9700, 'saves space'), (9900, 'no measurable difference')) x(small, brings);
SELECT is(split_part(pays(result(wal_b => 150)), ':', 1), 'writes more WAL', 'effect: more WAL');
SELECT is(split_part(pays(jsonb_set(result(wal_b => 90), '{runs,0,wal_bytes}', '88')), ':', 1), 'no measurable difference', 'effect: none if equal runs differ as much');
SELECT is(split_part(pays(jsonb_set(result(wal_b => 90), '{runs,0,wal_bytes}', '140')), ':', 1), 'cannot be told', 'effect: cannot be told if equal runs differ far more');
SELECT results_eq($$ SELECT measured, low, high FROM ff_internal.rehearsal_judged(result()) WHERE place = 2 $$,
    $$ VALUES (99::float8, 99 - 4.303 * 0.5 / sqrt(3), 100::float8) $$, 'a share has a mean and a 95 % interval that ends at 100');
SELECT results_eq($$ SELECT round(measured::numeric, 6), round(low::numeric, 6), round(high::numeric, 6)
                       FROM ff_internal.rehearsal_judged(result(latency => '{1,10,100}')) WHERE place = 10 $$,
    $$ SELECT 10.0, round((10 / exp(h))::numeric, 6), round((10 * exp(h))::numeric, 6) FROM (SELECT 4.303 * ln(10::float8) / sqrt(3)) x(h) $$,
    'a positive figure has a geometric mean and interval');
CREATE TABLE parted (id int PRIMARY KEY) PARTITION BY RANGE (id);
CREATE TEMP TABLE scratch (id int);
CREATE TABLE left_out (id int);
SELECT ff_exclude('public.left_out');
-- SQLSTATE, message, detail and hint of a statement that fails
CREATE FUNCTION failure(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE d text; h text;
BEGIN
    EXECUTE statement;
    RETURN 'none';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS d = PG_EXCEPTION_DETAIL, h = PG_EXCEPTION_HINT;
    RETURN concat_ws('|', SQLSTATE, SQLERRM, nullif(d, ''), nullif(h, ''));
END $$;
SELECT results_eq($$ SELECT failure(format('SELECT * FROM %s(%L)', f, t)) FROM unnest('{parted,scratch,left_out,casts}'::text[]) WITH ORDINALITY x(t, n), unnest('{ff_rehearsal,ff_curve}'::text[]) f ORDER BY n $$,
    $$ SELECT e FROM unnest(ARRAY['55000|"parted" is not examined|Partitioned: holds no rows itself, its partitions are advised one by one.', '55000|"scratch" is not examined|Temporary table: it goes with its session.',
        '55000|"left_out" is not examined|Excluded by public.left_out: ff_include() takes it in again.', '55000|too little is known of "casts" yet|Not collected yet: run CALL ff_collect() or ff_schedule().']) WITH ORDINALITY x(e, n), generate_series(1, 2) ORDER BY n $$,
    'ff_rehearsal() and ff_curve() give the reason why a table is not examined');
SELECT is(failure('SELECT * FROM ff_rehearsal_result(result())'), '42P01|the table of the rehearsal is gone|Nothing is stored.|If the table is there, run CALL ff_collect() and write the rehearsal again.', 'a result for a table never collected is refused');
CALL ff_collect();
SELECT throws_ok('SELECT * FROM ff_rehearsal_result(NULL)', '22004', NULL, 'a result NULL is refused');
SELECT results_eq($$ SELECT measure, verdict FROM ff_rehearsal_result(result('{"never": ["update of all rows"]}')) WHERE verdict LIKE '%all rows' $$,
    $$ VALUES ('not covered by the verdict', 'left out as too rare for a lap: update of all rows') $$, 'a class that was left out is reported');
DELETE FROM ff_internal.rehearsal;

-- each field of a result damaged in many ways: a clear error that names it, unless the value is allowed or unused
CREATE TABLE damaged AS
WITH RECURSIVE field AS (
    SELECT ARRAY[k] AS path, v FROM jsonb_each(result()) r(k, v)
    UNION ALL
    SELECT f.path || e.k, e.v
      FROM field f CROSS JOIN LATERAL (SELECT * FROM jsonb_each(CASE jsonb_typeof(f.v) WHEN 'object' THEN f.v END)
          UNION ALL SELECT (o - 1)::text, v FROM jsonb_array_elements(CASE jsonb_typeof(f.v) WHEN 'array' THEN f.v END) WITH ORDINALITY a(v, o)) e(k, v)
)
SELECT f.path, d.way, CASE d.way WHEN 'gone' THEN result() #- f.path ELSE jsonb_set(result(), f.path, d.way::jsonb) END AS result, NULL::text AS said
  FROM field f CROSS JOIN unnest('{gone,"null","\"a word\"",-1,0,1e300,1e-300,1e-400,50.5,"\"NaN\"",[5],"{\"0\": 5, \"-1\": 5, \"-2\": 5}","\"\"",true}'::text[]) d(way);
UPDATE damaged SET said = failure(format('SELECT * FROM ff_rehearsal_result(%L)', result));
SELECT cmp_ok(count(*), '>', 1000::bigint, 'there are over 1000 damaged results') FROM damaged;
SELECT is_empty($$ SELECT path, way, said FROM damaged
    WHERE said !~ '^(none$|22023\|this is not the result of a rehearsal\|(Fields? .* (is missing|(has|have) to be .*)|There have to be two runs .*)\.\|Pass the last line|55000\|the script of this rehearsal was written in another database\||42P01\|the table of the rehearsal is gone\|)' $$,
    'a damaged result is stored or refused with a clear error');
SELECT is_empty($$ SELECT path, way FROM damaged WHERE said = 'none' AND NOT (path[3] = 'laps' AND (way IN ('gone', '0') OR path[4] = '0')
        OR way = '0' AND (path[2] = 'hot_a' OR path[2] = 'hot_b' AND path[3] = '1')
        OR way = '0' AND path[3] = 'pair' OR way = '50.5' AND path[1] IN ('runs', 'predicted')
        OR way = '[5]' AND path[array_upper(path, 1)] IN ('never', 'wal_pct', 'rows_a', 'rows_b')) $$, 'damaged results are stored only if values are possible or unused');
SELECT is((SELECT said FROM damaged WHERE path = '{runs,1,tps}' AND way = 'gone'), '22023|this is not the result of a rehearsal|Field "tps" of run A2 of pair 0 is missing.|Pass the last line that the script of ff_rehearsal() printed, as it is.', 'the error names a missing field of the equal pair');
SELECT is((SELECT split_part(said, '|', 3) FROM damaged WHERE path = '{predicted,wal_pct,0}' AND way = '1e300'), 'Field "predicted.wal_pct.0" has to be from 0.001 to 1000000.', 'the error names an impossible prediction');
TRUNCATE ff_internal.rehearsal;
SELECT is(split_part(failure(format('SELECT * FROM ff_rehearsal_result(%L)', d.result)), '|', 3), d.detail, d.detail)
  FROM (VALUES ('[1]'::jsonb, 'Field "never" has to be a list.'), ('5', 'Field "never" has to be a list.'),
               (result('{"to": 100}'), 'Fields "rel_id", "from" and "to" have to be whole numbers, "from" another one than "to".'),
               (jsonb_set(result(), '{predicted,wal_pct}', '{"0": 50}'), 'Field "predicted.wal_pct.0" is missing.'),
               (jsonb_set(result(), '{runs,1,laps}', '{"-1": 50, "-2": 50}'), 'Field "laps.-2" of run A2 of pair 0 is missing.'),
               (result(jsonb_build_object('more', repeat('x', 70000))), 'It is larger than 64 kB.'),
               (jsonb_set(result(), '{runs}', result()->'runs' || (result()->'runs'->1)), 'There have to be two runs for each of 4 to 11 pairs.')) d(result, detail);
-- the largest and the smallest figures that are accepted, in turn
SELECT lives_ok($$ SELECT * FROM ff_rehearsal_result(jsonb_set(result(), '{runs}', (SELECT jsonb_agg(r || jsonb_build_object('tps', x[n % 2 + 1], 'latency_ms', 10 * x[n % 2 + 1], 'wal_bytes', 1000 * x[n % 2 + 1],
    'size_bytes', CASE n % 2 WHEN 0 THEN 8192 ELSE 1e14 END, 'rows_per_page', CASE n % 2 WHEN 0 THEN 0.1 ELSE 1000 END, 'laps', jsonb_build_array(100 * (n % 2), 100 - 100 * (n % 2))))
    FROM jsonb_array_elements(result()->'runs') WITH ORDINALITY a(r, n), (SELECT '{1e-4,1e6}'::numeric[]) l(x)))) $$, 'no mean or interval of accepted figures overflows');
DELETE FROM ff_internal.rehearsal;
SELECT throws_ok($$ SELECT * FROM ff_rehearsal_result(result('{"system_identifier": "1"}')) $$, '55000', NULL, 'a result of another server is refused');
SELECT throws_ok($$ SELECT * FROM ff_rehearsal_result(result('{"database_oid": "1"}')) $$, '55000', NULL, 'a result of another database is refused');
SELECT is((SELECT verdict FROM ff_rehearsal_result(result()) WHERE measure = 'verdict'), 'prediction held', 'a result is accepted and judged');
SELECT * FROM finish();
