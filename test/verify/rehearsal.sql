-- ff_rehearsal() and ff_rehearsal_result(): tables that cannot be rehearsed, results that are stored or refused, and
-- how they count for confidence.
CREATE EXTENSION fillfactor_advisor;
SET client_min_messages = warning;
SELECT * FROM no_plan();

CREATE TABLE t (id int PRIMARY KEY, n int);
CREATE TABLE casts (id int);
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
SELECT results_eq($$
    SELECT failure(format('SELECT * FROM %s(%L)', f, t))
    FROM unnest('{parted,scratch,left_out,casts}'::text[]) WITH ORDINALITY x(t, n),
        unnest('{ff_rehearsal,ff_curve}'::text[]) f
    ORDER BY n $$,
    $$
        SELECT e FROM
            unnest(ARRAY[
                '55000|"parted" is not examined|Partitioned: holds no rows itself, its partitions are advised one by '
                'one.',
            '55000|"scratch" is not examined|Temporary table: it goes with its session.',
        '55000|"left_out" is not examined|Excluded by public.left_out: ff_include() takes it in again.',
        '55000|too little is known of "casts" yet|Not collected yet: run CALL ff_collect() or ff_schedule().']) WITH
            ORDINALITY x(e, n),
        generate_series(1, 2)
        ORDER BY n $$,
    'ff_rehearsal() and ff_curve() give the reason why a table is not examined');
CREATE FUNCTION result(more jsonb DEFAULT '{}') RETURNS jsonb LANGUAGE sql AS $$
    SELECT jsonb_build_object('format', 1, 'source', jsonb_build_object('system_identifier',
        (SELECT system_identifier::text FROM pg_control_system()),
        'database_oid', (SELECT oid::text FROM pg_database WHERE datname = current_database())),
        'rel_id', coalesce((SELECT rel_id FROM ff_internal.relation WHERE relid = 't'::regclass), 1000), 'measured_at',
        extract(epoch FROM now()),
        'from', 100, 'to', 50, 'verdict', 'prediction held', 'effect', 'saves WAL', 'hot_pct', 99, 'wal_pct', 50,
        'size_pct', 200,
        'predicted_hot_pct', 100, 'left_out', 0) || more $$;
SELECT is(failure('SELECT ff_rehearsal_result(result())'),
    '42P01|the table of the rehearsal is gone|Nothing is stored.|If the table is there, run CALL ff_collect() '
    'and rehearse it again.',
    'a result for a table never collected is refused');
CALL ff_collect();
SELECT throws_ok('SELECT ff_rehearsal_result(NULL)', '22004', NULL, 'a result NULL is refused');
SELECT is(ff_rehearsal_result(result('{"measured_at": 1000}')), 'stored: 50 instead of 100: prediction held; saves WAL',
    'a result is stored');
SELECT is(ff_rehearsal_result(result('{"measured_at": 1000}')), 'stored: 50 instead of 100: prediction held; saves WAL',
    'a result may be stored again');
SELECT results_eq('SELECT verdict, hot_pct, wal_pct, size_pct, left_out FROM ff_internal.rehearsal',
    $$ VALUES ('prediction held', 99::float8, 50::float8, 200::float8, 0::smallint) $$, 'and is kept once');
TRUNCATE ff_internal.rehearsal;

-- each field damaged in many ways: stored if possible, otherwise refused with a clear error
CREATE TABLE damaged AS
SELECT f.field, d.way,
    CASE d.way WHEN 'gone' THEN result() - f.field
        ELSE result() || jsonb_build_object(f.field, d.way::jsonb) END AS result,
    NULL::text AS said
  FROM jsonb_object_keys(result()) f(field),
      unnest('{gone,"null","\"a word\"",-1,0,1e300,1e-400,50.5,"\"NaN\"","\"Infinity\"",[5],"{}","\"\"",true}'::text[])
          d(way);
UPDATE damaged SET said = failure(format('SELECT ff_rehearsal_result(%L)', result));
SELECT cmp_ok(count(*), '>', 150::bigint, 'there are over 150 damaged results') FROM damaged;
SELECT is_empty($$ SELECT field, way, said FROM damaged
    WHERE said
        !~ '^(none$|22023\|this is not the result of a rehearsal\|.+\|Pass the last line that ff_rehearse printed, as '
            'it is\.$|55000\|the table of this rehearsal is in another database\||42P01\|the table of the rehearsal is '
            'gone\|)' $$,
    'a damaged result is stored or refused with a clear error');
SELECT is_empty($$
    SELECT field, way FROM damaged
    WHERE said = 'none' AND way IN ('gone', 'null', '"a word"', '"NaN"', '"Infinity"', '""', 'true', '{}', '[5]') $$,
    'no missing or impossible value is stored');
SELECT matches((SELECT said FROM damaged WHERE field = 'hot_pct' AND way = '-1'), 'rehearsal_hot_pct_check',
    'the error names a field out of range');
SELECT matches((SELECT said FROM damaged WHERE field = 'wal_pct' AND way = 'gone'), 'column "wal_pct"',
    'the error names a missing field');
TRUNCATE ff_internal.rehearsal;
SELECT is(split_part(failure(format('SELECT ff_rehearsal_result(%L)', r)), '|', 1), '22023', 'refused: ' || r::text)
    FROM unnest('{"[1]",5,"\"x\"","{}",true}'::jsonb[]) r;
SELECT matches(failure($$ SELECT ff_rehearsal_result(result('{"measured_at": 1e11}')) $$), '^22023.*in the future',
    'a result of the future is refused');
SELECT matches(failure($$ SELECT ff_rehearsal_result(result('{"to": 100}')) $$), '^22023.*rehearsal_',
    'a result of one fillfactor is refused');
SELECT throws_ok($$ SELECT ff_rehearsal_result(jsonb_set(result(), '{source,system_identifier}', '"1"')) $$, '55000',
    NULL, 'a result of another server is refused');
SELECT throws_ok($$ SELECT ff_rehearsal_result(jsonb_set(result(), '{source,database_oid}', '"1"')) $$, '55000', NULL,
    'a result of another database is refused');
TRUNCATE ff_internal.rehearsal;
SELECT ff_rehearsal_result(result('{"left_out": 1}')) \g /dev/null
SELECT is((SELECT ff_internal.calibration(rel_id) FROM ff_internal.rehearsal), NULL,
    'a result with a class left out does not change confidence');
TRUNCATE ff_internal.rehearsal;
SELECT ff_rehearsal_result(result('{"verdict": "prediction too wide"}')) \g /dev/null
SELECT is((SELECT ff_internal.calibration(rel_id) FROM ff_internal.rehearsal), NULL,
    'a prediction that cannot fail does not change confidence');
TRUNCATE ff_internal.rehearsal;
SELECT ff_rehearsal_result(result()) \g /dev/null
SELECT is((SELECT ff_internal.calibration(rel_id) FROM ff_internal.rehearsal), NULL,
    'a result that held changes no confidence, either');

SELECT * FROM finish();
