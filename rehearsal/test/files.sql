-- The SQL files of ff_rehearse without a scratch server: scripts, table, laps and verdicts.
SET client_min_messages = warning;
CREATE SCHEMA ff_rehearsal;
\i rehearsal/pgbench.sql
\i rehearsal/workload.sql
\i rehearsal/measure.sql
\i rehearsal/judge.sql
SELECT * FROM no_plan();

-- ------------------------------------------------------------------ the pgbench script of a workload
CREATE FUNCTION script(class jsonb, others jsonb DEFAULT '[]') RETURNS text LANGUAGE sql AS $$
    SELECT ff_rehearsal.pgbench_script(jsonb_build_object('classes',
        jsonb_build_array(class || '{"weight": 1}') || others,
        'table', '{"name": "t", "values": "{n}, 0"}'::jsonb)) $$;
SELECT matches(script('{"command": "update", "pick": "any", "set": "n = 1"}'),
    E'\n\\\\set a random\\(1, :rows\\)\nUPDATE t t SET n = 1 WHERE id = :a;\n', 'script: update of one random row');
SELECT matches(script('{"command": "update", "pick": "any", "rows": 10, "set": "n = 1"}'),
    E'random\\(1, greatest\\(1, :rows - 10 \\+ 1\\)\\)\n\\\\set b :a \\+ 10 - 1\nUPDATE t t SET n = 1 WHERE id '
    'BETWEEN :a AND :b;',
    'script: update of neighbouring rows');
SELECT matches(script('{"command": "update", "pick": "any", "rows": 10, "every": 3, "set": "n = 1"}'),
    E'\\\\set b :a \\+ 10 \\* 3 - 1\nUPDATE t t SET n = 1 WHERE id BETWEEN :a AND :b AND \\(id - :a\\) % 3 = 0;',
    'script: update of every third row of a range');
SELECT matches(script('{"command": "update", "pick": "any", "rows": 10, "every": 0, "set": "n = 1"}'),
    'WHERE id = ANY \(ARRAY\(SELECT 1 \+ floor\(random\(\) \* :rows\)::integer FROM generate_series\(1, 10\)\)\);',
    'script: update of scattered rows');
SELECT matches(script('{"command": "update", "pick": "all", "every": 3, "set": "n = 1"}'),
    E'\\\\set turn0 :turn0 \\+ 1\n\\\\set a \\(:turn0 \\+ :client_id\\) % 3\nUPDATE t t SET n = 1 WHERE id % 3 = :a;',
    'script: update of every third row of the table');
SELECT matches(script('{"command": "update", "pick": "all", "set": "n = 1"}'), E'UPDATE t t SET n = 1;\n',
    'script: update of all rows');
SELECT matches(script('{"command": "update", "pick": "any", "calls": 2, "ends": "ROLLBACK", "set": "n = 1"}'),
    E'BEGIN;\n\\\\set a [^\n]*\nUPDATE [^\n]*\n\\\\set a [^\n]*\nUPDATE [^\n]*\nROLLBACK;',
    'script: two statements in a transaction that is rolled back');
SELECT matches(script('{"command": "insert", "rows": 5}'),
    'INSERT INTO t SELECT g, 0 FROM generate_series\(:a::bigint, :b::bigint\) g;', 'script: insert of a batch');
SELECT matches(script('{"command": "insert"}'), 'INSERT INTO t SELECT g, 0 FROM \(VALUES \(:a::bigint\)\) r\(g\);',
    'script: insert of one row');
SELECT matches(script('{"command": "update", "pick": "any", "part": 0.25, "set": "n = 1"}'),
    E'\\\\set part0 greatest\\(1, int\\(:rows \\* 0.25\\)\\)', 'script: update within a part of the table');
SELECT matches(script('{"command": "update", "pick": "any", "set": "n = 1"}',
    '[{"command": "delete", "pick": "newest", "distance": [9, 9], "weight": 0.1}]'),
    E'\\\\set pick case when [^\n]* < :rare1 then 1 when [^\n]* < :rare0 then 0 when :u >= [^\n]* then 1 when :u '
    '>= [^\n]* then 0 end\n\\\\if :pick = 1\n.*\n.*\nDELETE FROM t WHERE id = :a;\n\\\\elif :pick = 0\n',
    'script: the rarest class is tried first, frequent ones get the rest');
CREATE FUNCTION dealt(class jsonb) RETURNS text LANGUAGE sql AS $$
    SELECT ff_rehearsal.pgbench_script(jsonb_build_object('oldest', '1 - :rows / :sessions + :turn1 * 3', 'classes',
        '[{"command": "insert", "weight": 1}, {"command": "delete", "pick": "oldest", "rows": 3, "weight": 0.1}]'
            || class,
        'table', '{"name": "t", "values": "{n}, 0"}'::jsonb)) $$;
SELECT matches(dealt('{"command": "update", "pick": "any", "set": "n = 1", "weight": 1}'),
    E'\\\\set x random\\(1 - :rows / :sessions \\+ :turn1 \\* 3, :i\\)\n\\\\set a case when :x > 0 then :own \\+ '
    ':x else greatest\\(1, :rows \\+ :x \\* :sessions - :client_id\\) end',
    'script with deletes: a random row of the session that still exists');
SELECT matches(dealt('{"command": "update", "pick": "turn", "rows": 2, "set": "n = 1", "weight": 1}'),
    E'\\\\set x 1 - :rows / :sessions \\+ :turn1 \\* 3 \\+ :turn2 \\* 2 % greatest\\(1, :left - 2 \\+ 1\\)',
    'script with deletes: existing rows in turn');
SELECT matches(dealt('{"command": "update", "pick": "skewed", "set": "n = 1", "weight": 1}'),
    E'random_zipfian\\(1, :left, 1.05\\)', 'script with deletes: some existing rows more often');
SELECT matches(dealt('[]'),
    E'\\\\set a \\(:turn1 \\* :sessions \\+ :client_id\\) \\* 3 \\+ 1\n\\\\set a case when :x > 0 then :own '
    '\\+ :x else :a end\n'
    '\\\\set turn1 :turn1 \\+ 1\n\\\\set b :a \\+ 3 - 1\nDELETE FROM t WHERE id BETWEEN :a AND :b;',
    'script with deletes: the oldest rows are deleted');


-- ------------------------------------------------------------------ the table
CREATE FUNCTION document(lengths int[], final int[], indexes int,
    classes jsonb DEFAULT '[{"command": "update", "rate": 1, "rows": 1, "indexed": 0}]')
    RETURNS jsonb LANGUAGE sql AS $$
    SELECT jsonb_build_object('table', jsonb_build_object('indexes', indexes),
        'workload',
        jsonb_build_object('insert_len', lengths, 'update_len', final, 'grow_updates', 3, 'classes', classes)) $$;
-- The sizes of the rows of a rehearsal's table, as on a page, after so many updates that change the length
CREATE FUNCTION sizes(d jsonb, updates int DEFAULT 0) RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE s record;
BEGIN
    SELECT * INTO s FROM ff_rehearsal.shape(d);
    TRUNCATE ff_rehearsal.setup;
    INSERT INTO ff_rehearsal.setup (document, columns, indexes, new) VALUES (d, s.columns, s.indexes, s.new);
    PERFORM ff_rehearsal.load(90, 1600);
    FOR i IN 1 .. updates LOOP
        EXECUTE 'UPDATE ff_rehearsal.t t SET ' || s.resize;
    END LOOP;
    RETURN ARRAY(SELECT DISTINCT (pg_column_size(r.*) + 7) / 8 * 8 FROM ff_rehearsal.t r ORDER BY 1);
END $$;
SELECT is(sizes(document(ARRAY[32, 40, 48, 96, 104, 152, 160, 168, 176, 200, 304, 400, 1000, 2000, 4000, 8160],
    array_fill(32, '{16}'), 1)),
    '{32,40,48,96,104,152,160,168,176,200,304,400,1000,2000,4000,8160}', 'rows have the lengths of the document');
SELECT is((SELECT count(DISTINCT n)
    FROM (SELECT (pg_column_size(r.*) + 7) / 8 * 8, count(*) FROM ff_rehearsal.t r GROUP BY 1) x(l, n)),
    1::bigint, 'each length has as many rows');
SELECT is((SELECT reloptions FROM pg_class WHERE oid = 'ff_rehearsal.t'::regclass),
    '{fillfactor=90,autovacuum_enabled=off}', 'the table has the fillfactor and no autovacuum');
SELECT is(sizes(document(array_fill(56, '{16}'), array_fill(56, '{16}'), 4)), '{56}',
    'indexed integers count for the length of the row');
SELECT is((SELECT string_agg(pg_get_indexdef(indexrelid, 1, false), ' ' ORDER BY indexrelid)
    FROM pg_index WHERE indrelid = 'ff_rehearsal.t'::regclass),
    'id i1 i2 i3', 'one integer for each index');
SELECT is(sizes(document(array_fill(40, '{16}'), array_fill(40, '{16}'), 5)), '{40}',
    'short rows stay short with many indexes');
SELECT is((SELECT string_agg(pg_get_indexdef(indexrelid, 1, false), ' ' ORDER BY indexrelid)
    FROM pg_index WHERE indrelid = 'ff_rehearsal.t'::regclass),
    'id i1 i2 i1 i2', 'indexes without room for an integer share one');
SELECT is((SELECT indexes
    FROM ff_rehearsal.shape(document(array_fill(104, '{16}'), array_fill(104, '{16}'), 1,
        '[{"command": "update", "rate": 1, "rows": 1, "indexed": 0.5}]'))),
    1, 'an index is added for updates that change one');
SELECT is((SELECT columns FROM ff_rehearsal.shape(document(array_fill(104, '{16}'), array_fill(104, '{16}'), 0))), 0,
    'a table without indexes has only the key');
SELECT is(ARRAY(SELECT sizes(document(array_fill(48, '{16}'), array_fill(88, '{16}'), 1), n)
    FROM generate_series(0, 4) n),
    '{{48},{64},{80},{88},{88}}', 'rows grow by thirds, rounded up as in the twin, up to their final length');
SELECT is(ARRAY(SELECT sizes(document(array_fill(88, '{16}'), array_fill(48, '{16}'), 1), n)
    FROM generate_series(0, 4) n),
    '{{88},{72},{56},{48},{48}}', 'rows shrink by thirds');
DROP TABLE ff_rehearsal.t;

-- ------------------------------------------------------------------ a workload as pgbench.sql takes it
CREATE FUNCTION class(c jsonb) RETURNS jsonb LANGUAGE sql AS $$
    SELECT ff_rehearsal.classes(jsonb_build_object('replayed_rows', 1000, 'classes', jsonb_build_array(
        '{"command": "update", "pick": "any", "rate": 1, "rows": 1, "calls": 1, "distance": 1, "near": 0, "skew": 1, '
        '"stride": 1, "indexed": 0, "resizes": 0}'::jsonb
            || c)),
        1, 'pad = longer') $$;
SELECT is(class('{}')->0->>'set', 'n = t.n + 1', 'a class of updates sets a column without index');
SELECT is(class('{"resizes": 1}')->0->>'set', 'pad = longer, n = t.n + 1',
    'a class of growing updates also changes the padding');
SELECT is(class('{"indexed": 1}')->0->>'set', 'i1 = t.i1 + 1',
    'a class of updates of an index changes an indexed integer');
SELECT is(jsonb_array_length(class('{"indexed": 0.25}')), 2,
    'updates of which some set an indexed column are two classes');
SELECT is(jsonb_array_length(class('{"indexed": 4e-16}')), 1,
    'a share of indexed updates that is a rounding error makes no class');
SELECT is((class('{"indexed": 0.25}')->1->>'rate')::float8, 0.25::float8,
    'each of two classes has its share of the rate');
SELECT is(class('{"pick": "sweep", "rows": 500, "stride": 2, "all_rows": 1}')->0->>'pick', 'all',
    'a sweep over every second row is of the whole table');
SELECT is(class('{"pick": "sweep", "rows": 334, "stride": 2, "all_rows": 1}')->0->>'part', '0.5',
    'a sweep of the whole table is one also after the table grew');
SELECT is(class('{"pick": "sweep", "rows": 10}')->0->>'pick', 'turn', 'a sweep in parts takes rows in turn');
SELECT is(class('{"rows": 400}')->0->>'part', '0.4', 'a class of 400 rows of 1000 is scaled to a part of the table');
SELECT is((class('{"rows": 400}')->0->>'weight')::float8, 1 / 8000.0::float8,
    'a class that is scaled to a part of the table is rarer');
SELECT is(class('{"command": "delete", "pick": "oldest"}'), NULL, 'without inserts there is no class of deletes');
SELECT is((SELECT ff_rehearsal.workload(
    '{"workload": {"lag": 2, "replayed_rows": 1000, "classes": [{"command": "insert", "rate": 1, "rows": 1, '
    '"indexed": 0}, {"command": "delete", "rate": 1, "rows": 7, "indexed": 0}]}}',
    '', ''))->>'oldest',
    '1 - :rows / :sessions + :turn1 * 7', 'a workload with deletes knows the oldest row left');
SELECT is((SELECT ff_rehearsal.workload(
    '{"workload": {"lag": 0, "held": 50, "held_share": 0.25, "replayed_rows": 1000, "classes": [{"command": '
    '"update", "rate": 1, "rows": 4}]}}',
    '', ''))->>'held_cycle',
    '0.8', 'a snapshot held for 50 transactions of 200, which are 800 updates of 1000 rows');
SELECT is((SELECT ff_rehearsal.workload(
    '{"workload": {"lag": 0, "held": 0.8, "held_share": 0.4, "replayed_rows": 1000, "classes": [{"command": '
    '"update", "rate": 1, "rows": 4}]}}',
    '', ''))->>'held_cycle',
    '0', 'a snapshot held for less than one transaction is left out');

-- ------------------------------------------------------------------ the length of a lap, and classes too rare for it
CREATE TABLE ff_rehearsal.t (id int PRIMARY KEY, n int);
CREATE FUNCTION prepared(classes jsonb, held float8) RETURNS void LANGUAGE sql AS $$
    TRUNCATE ff_rehearsal.setup, ff_rehearsal.lap;
    INSERT INTO ff_rehearsal.setup (document, workload, sessions, rows, ticks)
    VALUES ('{"table": {"rows": 100000}}',
        jsonb_build_object('sessions', 1, 'held_cycle', held, 'held_share', 0.5, 'classes', classes), 1, 1000, 4000) $$;
-- chosen(CLASSES): the choice of rows and lap if 1,000 single updates take a second and laps begin with 8 s
CREATE FUNCTION chosen(classes jsonb, held float8 DEFAULT 0) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM prepared(classes, held);
    INSERT INTO ff_rehearsal.lap (lsn, updates, hot, seconds, transactions) VALUES ('0/0', -1000, 0, 1, 1000);
    RETURN ff_rehearsal.choose(8, 0);
END $$;
CREATE FUNCTION counted(k int, OUT counts bigint[]) LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
    FOR p IN 0 .. 7 LOOP
        n := substring(ff_rehearsal.phase_begin(p) FROM format('n%s=(\d+)', k));
        counts := counts || n;
    END LOOP;
END $$;
SELECT matches(chosen('[{"command": "update", "rate": 1, "rows": 1}]'), '^4000 8000 8 ',
    'lap: half as many rows as updates');
SELECT
    matches(chosen(
        '[{"command": "update", "rate": 0.5, "rows": 1}, {"command": "update", "rate": 0.5, "rows": 9, "part": '
        '0.9}]'),
    '^1111 8000 8 ', 'lap: fewer rows for a pass in each phase');
SELECT is(counted(1), '{1,1,1,1,1,1,1,1}', 'lap: the pass runs once in each phase');
SELECT matches(chosen(
    '[{"command": "update", "rate": 1, "rows": 1}, {"command": "update", "rate": 0.05, "rows": 1000}]'),
    '^4000 20000 20 ', 'lap: longer for a batch');
SELECT is(counted(1), '{0,1,0,0,0,1,0,0}', 'lap: the batch runs in the same phase of each lap');
SELECT is_empty('SELECT ff_rehearsal.never(20)', 'lap: no class is left out');
SELECT matches(chosen(
    '[{"command": "update", "rate": 1, "rows": 1}, {"command": "update", "rate": 0.2, "rows": 1000}]'),
    '^4000 10000 10 ', 'lap: the batch runs a whole number of times');
SELECT matches(chosen(
    '[{"command": "update", "rate": 1, "rows": 1}, {"command": "update", "rate": 0.04, "rows": 1000, '
    '"pick": "turn", "every": 1, "indexed": true}]'),
    '^4000 8000 8 ', 'lap: not longer than three times the first length');
SELECT is(counted(1), '{0,0,0,0,0,0,0,0}', 'lap: a class that would need more is left out');
SELECT results_eq('SELECT ff_rehearsal.never(8)',
    $$ VALUES ('left out, because it comes less than once in a lap: update of 1000 rows, in turn, changes an indexed '
        'column; 4.0 rows per 100 updates (--seconds=9 is enough)') $$,
    'lap: the class left out is reported with the seconds it needs');
SELECT is(ff_rehearsal.measured()->'never',
    '["update of 1000 rows, in turn, changes an indexed column; 4.0 rows per 100 updates"]',
    'lap: the class left out is in the result');
SELECT matches(chosen('[{"command": "update", "rate": 1, "rows": 1}]', 20), '^1000 20000 20 ',
    'lap: as long as a long held snapshot needs');
-- a held snapshot goes through all phases of a lap: phase 1 continues where phase 0 ended
SELECT chosen('[{"command": "update", "rate": 1, "rows": 1}]', 2) LIKE '4000 8000 %' AS held \gset
BEGIN;
SELECT ff_rehearsal.phase_begin(1) \g /dev/null
SELECT results_eq('SELECT cycle, ff_rehearsal.xid() - xid BETWEEN 2000 AND 3000 FROM ff_rehearsal.setup',
    'VALUES (8000::float8, true)', 'a snapshot is held once a lap and its cycle continues from phase to phase');
COMMIT;
SELECT ok(:'held', 'lap: with a held snapshot, rows are updates divided by its cycle');
-- vacuum_gap 0.75 of 2,000 live rows is 1,500 updates
UPDATE ff_rehearsal.setup SET ticks = 4000, workload = workload || '{"vacuum_share": 0.2, "vacuum_gap": 0.75}',
    vacuumed = 0;
CREATE FUNCTION due(updated bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format($f$CREATE
        OR REPLACE FUNCTION ff_rehearsal.counter(OUT lsn pg_lsn, OUT updates bigint, OUT hot bigint, OUT dead bigint,
            OUT live bigint)
        LANGUAGE sql
        AS 'SELECT NULL::pg_lsn, %s::bigint, 0::bigint, 1000::bigint, 2000::bigint'$f$, updated);
    RETURN ff_rehearsal.phase_end(0);
END $$;
SELECT is(ARRAY[due(1400), due(1600), due(1600), due(3000), due(3100)], '{f,t,f,f,t}',
    'vacuum is due once after each 1,500 updates');
-- ------------------------------------------------------------------ verdicts
CREATE FUNCTION result(more jsonb DEFAULT '{}', hot_b float8 DEFAULT 99, wal_b float8 DEFAULT 50,
    spread float8 DEFAULT 0.5,
    drift float8 DEFAULT 0.5, wal_pct float8 DEFAULT 50, rows float8[] DEFAULT '{54,54,54}')
    RETURNS jsonb LANGUAGE sql AS $$
    SELECT jsonb_build_object('format', 1,
        'from', 100, 'to', 50, 'measured_at', extract(epoch FROM now()), 'never', '[]'::jsonb,
        'predicted',
        '{"hot_a": [1, 0, 2], "hot_b": [100, 99, 100], "rows_a": [55], "rows_b": [27]}'::jsonb
            || jsonb_build_object('wal_pct', jsonb_build_array(wal_pct)),
        'runs', (SELECT jsonb_agg(jsonb_build_object('pair', p, 'side', s, 'wal_bytes',
            CASE s WHEN 'B' THEN wal_b ELSE 100 END, 'rows_per_page', CASE s WHEN 'B' THEN 27 ELSE coalesce(rows[p], 54) END,
            'laps',
            CASE s
                WHEN 'B' THEN jsonb_build_array(0, hot_b + p * spread - 2 * spread - drift,
                    hot_b + p * spread - 2 * spread)
                ELSE '[1, 1]' END,
            'size_bytes', CASE s WHEN 'B' THEN 16384 ELSE 8192 END))
            FROM generate_series(0, 3) p, unnest(CASE p WHEN 0 THEN '{A1,A2}'::text[] ELSE '{A,B}' END) s)) || more $$;
CREATE FUNCTION verdict(r jsonb) RETURNS text
    LANGUAGE sql AS $$ SELECT ff_rehearsal.outcome(r)->>'verdict' $$;
CREATE FUNCTION pays(r jsonb) RETURNS text
    LANGUAGE sql AS $$ SELECT ff_rehearsal.outcome(r)->>'effect' $$;
SELECT is(verdict(result()), 'prediction held', 'verdict: prediction held');
SELECT is(verdict(result(hot_b => 80)), 'did not hold', 'verdict: less HOT than predicted did not hold');
SELECT is(verdict(result(hot_b => 93.3, spread => 0)), 'did not hold',
    'verdict: HOT just below the allowed range did not hold');
SELECT results_eq($$
    SELECT predicted, allowed_low, allowed_high FROM ff_rehearsal.judged(result())
    WHERE place IN (1, 2, 3, 4, 6) $$,
    $$ VALUES (1::float8, 0::float8, 7::float8), (100, 94, 100), (50, 40, 62.5), (55, 44, 68.75), (NULL, NULL, NULL) $$,
    'the allowed ranges of HOT, WAL and rows per page');
SELECT is(verdict(result(wal_b => 80)), 'did not hold', 'verdict: more WAL than predicted did not hold');
SELECT is(verdict(result(hot_b => 90, spread => 9)), 'noise too large', 'verdict: runs that differ too much are noise');
SELECT is(verdict(result(drift => 2.1)), 'not settled', 'verdict: laps that still rise are not settled');
SELECT is(verdict(result(drift => -6.2)), 'not settled', 'verdict: laps that still fall are not settled');
SELECT is(verdict(jsonb_set(result(), '{runs}',
    (SELECT jsonb_agg(jsonb_set(r, '{laps}', '[99]')) FROM jsonb_array_elements(result()->'runs') r))),
    'not settled', 'verdict: runs of one lap are not settled');
SELECT is(verdict(result(wal_pct => 95, wal_b => 99)), 'prediction held',
    'verdict: a small saving predicted and measured held');
SELECT is(verdict(result(wal_pct => 95, wal_b => 101)), 'did not hold',
    'verdict: a saving predicted and a loss measured did not hold');
SELECT is(verdict(result(wal_pct => 105, wal_b => 99)), 'did not hold',
    'verdict: a loss predicted and a saving measured did not hold');
SELECT is(verdict(result(wal_pct => 99.5, wal_b => 101)), 'prediction held', 'verdict: differences within 2 % held');
SELECT is((SELECT concat_ws(' ', j.verdict, verdict(r))
    FROM jsonb_set(result(), '{predicted,rows_b}', '[40]') r, ff_rehearsal.judged(r) j WHERE j.place = 5),
    'did not hold did not hold', 'verdict: fewer rows per page than predicted did not hold');
SELECT is(pays(result()), 'saves WAL', 'effect: saves WAL');
SELECT is(ff_rehearsal.outcome(result())->>'headline',
    'saves WAL: a table 2.00 times as large for 50.0 % less WAL per update (-50.0 to -50.0 %), HOT share +98.0 points',
    'the headline has size, WAL and HOT share');
SELECT matches(ff_rehearsal.outcome(result(hot_b => 0.98))->>'headline', ', HOT share \+0.0 points$',
    'headline: a change of zero is +0.0, not -0.0');
SELECT is(ff_rehearsal.outcome(result(wal_b => 150))->>'headline',
    'writes more WAL: a table 2.00 times as large for 50.0 % more WAL per update (+50.0 to +50.0 %), HOT share '
    '+98.0 points',
    'headline: more WAL');
SELECT results_eq($$
    SELECT o->>'verdict', o->>'effect', round((o->>'hot_pct')::numeric, 6), round((o->>'wal_pct')::numeric, 6),
        round((o->>'size_pct')::numeric, 6), o->>'predicted_hot_pct', o->>'left_out'
    FROM ff_rehearsal.outcome(result('{"never": ["a batch"]}')) o $$,
    $$ VALUES ('prediction held', 'saves WAL', 99.000000, 50.000000, 200.000000, '100', '1') $$,
    'the result has the figures that are stored');
SELECT
    is(verdict(result(
        '{"predicted": {"hot_a": [1, 0, 2], "hot_b": [76, 40, 100], "rows_a": [55], "rows_b": [27], "wal_pct": '
        '[50]}}')),
    'prediction too wide', 'verdict: a range that covers over half of all HOT shares does not hold');
SELECT
    is(verdict(result(
        '{"predicted": {"hot_a": [1, 0, 2], "hot_b": [76, 0, 100], "rows_a": [55], "rows_b": [40], "wal_pct": '
        '[50]}}')),
    'did not hold', 'verdict: another figure may be wrong beside a range that is too wide');
SELECT
    is(verdict(result(
        '{"predicted": {"hot_a": [1, 0, 2], "hot_b": [100, 60, 100], "rows_a": [55], "rows_b": [27], "wal_pct": '
        '[50]}}')),
    'prediction held', 'verdict: a range of less than half can fail, so it can hold');
SELECT is(verdict(result('{"predicted": {}}')), NULL, 'verdict: none without a prediction');
SELECT is((pays(result(wal_b => 99))), 'no measurable difference', 'effect: 1 % WAL is no measurable difference');
SELECT is((pays(jsonb_set(result(wal_b => 99), '{runs}',
    (SELECT jsonb_agg(r || jsonb_build_object('size_bytes', CASE r->>'side' WHEN 'B' THEN small ELSE 10000 END))
        FROM jsonb_array_elements(result(wal_b => 99)->'runs') r)))),
    effect, format('effect: the same WAL and a table of %s bytes instead of 10000', small))
    FROM (VALUES (9700, 'saves space'), (9900, 'no measurable difference')) x(small, effect);
SELECT is((pays(result(wal_b => 150))), 'writes more WAL', 'effect: more WAL');
SELECT is((pays(jsonb_set(result(wal_b => 90), '{runs,0,wal_bytes}', '88'))), 'no measurable difference',
    'effect: none if equal runs differ as much');
SELECT is((pays(jsonb_set(result(wal_b => 90), '{runs,0,wal_bytes}', '140'))), 'cannot be told',
    'effect: cannot be told if equal runs differ far more');
SELECT results_eq($$ SELECT measured, low, high FROM ff_rehearsal.judged(result()) WHERE place = 2 $$,
    $$ VALUES (99::float8, 99 - 4.303 * 0.5 / sqrt(3), 100::float8) $$,
    'a share has a mean and a 95 % interval that ends at 100');
SELECT results_eq($$ SELECT round(measured::numeric, 6), round(low::numeric, 6), round(high::numeric, 6)
                       FROM ff_rehearsal.judged(result(rows => '{1,10,100}')) WHERE place = 4 $$,
    $$
        SELECT 10.0, round((10 / exp(h))::numeric, 6), round((10 * exp(h))::numeric, 6)
        FROM (SELECT 4.303 * ln(10::float8) / sqrt(3)) x(h) $$,
    'a positive figure has a geometric mean and interval');
SELECT * FROM finish();
