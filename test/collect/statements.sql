-- Statement history with a real pg_stat_statements: names, parsing, differences, resets.
SELECT current_setting('shared_preload_libraries') ~ 'pg_stat_statements' AS preloaded,
       EXISTS (SELECT 1 FROM pg_available_extensions WHERE name = 'pg_stat_statements') AS available \gset
BEGIN;
SET client_min_messages = error;
CREATE EXTENSION IF NOT EXISTS pgtap;
DROP EXTENSION IF EXISTS fillfactor_advisor CASCADE;
CREATE SCHEMA ff;
CREATE EXTENSION fillfactor_advisor SCHEMA ff;
SELECT plan(53);

-- names of tables
CREATE SCHEMA a;
CREATE SCHEMA b;
CREATE TABLE a.once (id int PRIMARY KEY, n int);
CREATE TABLE a.twice (id int);
CREATE TABLE b.twice (id int);
CREATE VIEW a.v AS SELECT * FROM a.once;
CREATE TABLE a.parted (k int, v int) PARTITION BY RANGE (k);
CREATE TABLE a.part1 PARTITION OF a.parted FOR VALUES FROM (0) TO (100);
CREATE TEMP TABLE passing (id int);
CREATE TABLE a.hid (id int);
CREATE TEMP TABLE hid (id int);
SELECT is((ff_internal.resolve(NULL, 'once', NULL)).relid, 'a.once'::regclass::oid,
	'resolve: the only table of a name');
SELECT is((ff_internal.resolve('b', 'twice', NULL)).relid, 'b.twice'::regclass::oid, 'resolve: a name with a schema');
SELECT is((ff_internal.resolve(NULL, 'twice', NULL)).reason, 'several tables of that name: a.twice, b.twice',
	'resolve: several tables of a name are listed');
SELECT is((ff_internal.resolve(NULL, 'Once', NULL)).reason,
	'no table of that name in this database', 'resolve: no table of a name');
SELECT is((ff_internal.resolve('b', 'once', NULL)).reason,
	'no table of that name in this database',
	'resolve: no table of a name in the given schema');
SELECT is((ff_internal.resolve(NULL, 'v', NULL)).reason, 'view', 'resolve: a view');
SELECT is((ff_internal.resolve(NULL, 'parted', NULL)).relid, 'a.parted'::regclass::oid, 'resolve: a partitioned table');
SELECT is((ff_internal.resolve(NULL, 'passing', NULL)).reason, 'temporary table', 'resolve: a temporary table');
SELECT matches((ff_internal.resolve(NULL, 'hid', NULL)).reason, '^several tables of that name: a.hid, pg_temp_\d+.hid$',
	'resolve: a temporary table of the same name makes two');
SELECT ok((r).relid IS NULL AND (r).reason IS NULL, 'resolve: a system table is neither found nor reported')
	FROM ff_internal.resolve(NULL, 'pg_class', NULL) r;
SELECT ok((r).relid IS NULL AND (r).reason IS NULL, 'resolve: the extension''s own table is neither found nor reported')
	FROM ff_internal.resolve(NULL, 'statement_snapshot', NULL) r;

-- texts of other versions and systems, truncated, broken or deeply nested: each is parsed or has a reason, none is an
-- error
CREATE FUNCTION pg_temp.read(query text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    RETURN (SELECT coalesce(string_agg(coalesce(p.reason, concat_ws(' ', p.command, p.how, p.relation_name, p.columns)),
        '; '),
        'nothing')
        FROM ff_internal.parse_statement(query) p);
EXCEPTION WHEN OTHERS THEN
    RETURN concat_ws(' ', 'ERROR', sqlstate, sqlerrm);
END $$;
CREATE TABLE texts (query text);
INSERT INTO texts SELECT unnest(ARRAY[
'WITH x AS (INSERT INTO t VALUES (1) RETURNING a) SELECT JSON_ARRAY(a, 1 RETURNING jsonb), JSON_OBJECT(''a'': '
'a ABSENT ON NULL WITH UNIQUE KEYS RETURNING text FORMAT JSON), JSON_ARRAYAGG(a ORDER BY a), JSON_OBJECTAGG(a: '
'a) FROM x',
'UPDATE t SET j = JSON_ARRAY(SELECT a FROM u RETURNING jsonb) WHERE j IS JSON OBJECT WITH UNIQUE KEYS',
'UPDATE t SET j = JSON(''{}'' WITH UNIQUE KEYS), k = JSON_SCALAR(1), l = JSON_SERIALIZE(j RETURNING text)',
'UPDATE t SET j = JSON_QUERY(j, ''$.a'' PASSING 1 AS x RETURNING jsonb WITH WRAPPER KEEP QUOTES EMPTY ON EMPTY '
'ERROR ON ERROR), k = JSON_VALUE(j, ''$'' DEFAULT 1 ON EMPTY), l = JSON_EXISTS(j, ''$'' )',
'UPDATE t SET a = x.a FROM JSON_TABLE(j, ''$[*]'' AS p PASSING 1 AS q COLUMNS (id FOR ORDINALITY, a int PATH '
'''$.a'' DEFAULT 1 ON EMPTY, b int EXISTS, c jsonb FORMAT JSON PATH ''$'', NESTED PATH ''$.n'' AS n COLUMNS (z '
'int)) PLAN DEFAULT (UNION)) x',
'UPDATE t SET a = x.a FROM JSON_TABLE(j, ''$[*]'' COLUMNS (id FOR ORDINALITY, a int PATH ''$.a'', NESTED PATH '
'''$.n'' COLUMNS (z int)) ERROR ON ERROR) x',
'UPDATE t SET a = x.a FROM XMLTABLE(XMLNAMESPACES(''http://x'' AS x, DEFAULT ''y''), ''/r'' PASSING BY REF d '
'COLUMNS i FOR ORDINALITY, c text PATH ''a'' DEFAULT ''q'' NOT NULL) x',
'UPDATE t SET x = XMLELEMENT(NAME a, XMLATTRIBUTES(b AS c), XMLFOREST(d AS e)), y = XMLSERIALIZE(CONTENT z AS '
'text INDENT), z = XMLPI(NAME p), q = XMLROOT(a, VERSION NO VALUE), w = a IS DOCUMENT',
'MERGE INTO t USING u ON t.id = u.id WHEN MATCHED THEN UPDATE SET a = 1 WHEN NOT MATCHED BY SOURCE THEN DELETE '
'WHEN NOT MATCHED BY TARGET THEN INSERT VALUES (1) RETURNING merge_action(), t.*',
'UPDATE t SET a = 1 RETURNING WITH (OLD AS o, NEW AS n) o.a, n.a',
'INSERT INTO t VALUES (1) ON CONFLICT (a) DO SELECT FOR UPDATE RETURNING a',
'UPDATE t FOR PORTION OF valid_at FROM ''2000-01-01'' TO ''2001-01-01'' SET a = 1',
'DELETE FROM t FOR PORTION OF valid_at (daterange(''2000-01-01'', ''2001-01-01''))',
'UPDATE t SET a = 1 FROM GRAPH_TABLE (g MATCH (a IS x WHERE a.z = 1)-[e IS y]->(b) COLUMNS (a.n AS an, b.n)) gt',
'UPDATE t SET a = (SELECT sum(x) FILTER (WHERE y) OVER (PARTITION BY z ORDER BY q ROWS BETWEEN UNBOUNDED '
'PRECEDING AND 1 FOLLOWING EXCLUDE TIES) FROM v TABLESAMPLE system (1) REPEATABLE (2))',
'UPDATE t SET a = first_value(x) IGNORE NULLS OVER w',
'UPDATE t SET a = (SELECT 1 FROM v GROUP BY GROUPING SETS ((a), ROLLUP (b), CUBE (c), ()) HAVING GROUPING(a) > '
'0 WINDOW w AS (ORDER BY 1) FETCH FIRST 3 ROWS WITH TIES FOR NO KEY UPDATE OF v SKIP LOCKED)',
'UPDATE t SET a = (SELECT 1 FROM v GROUP BY ALL)',
'UPDATE t SET a = (SELECT 1 FROM v GROUP BY DISTINCT a, ROLLUP(b))',
'UPDATE t SET a = ARRAY[[1,2],[3]] || ARRAY(SELECT 1), b = ROW(1, 2), c = (d).e, f = g[1:2], h = CASE WHEN 1 = '
'ANY (ARRAY[1]) THEN 1 ELSE 2 END, i = COALESCE(a, b), j = GREATEST(a, 1), k = NULLIF(a, b)',
'UPDATE t SET a = current_date, b = current_timestamp(3), c = session_user, d = x COLLATE "C", e = x AT TIME '
'ZONE ''UTC'', e2 = x AT LOCAL, f = EXTRACT(epoch FROM x), g = OVERLAY(a PLACING b FROM 1), h = TRIM(BOTH '
'''x'' FROM y), i = NORMALIZE(x, NFC), j = x IS NOT NFC NORMALIZED, k = x::int[], l = CAST(x AS numeric(3,2)), '
'm = interval ''1'' day, n = b''101'', o = x''ff'', p = 1_000, q = 0x1F, r = U&''\0041''',
'UPDATE t SET a = 1 WHERE CURRENT OF c',
'UPDATE t * SET a = 1',
'UPDATE t SET a = x.a FROM ROWS FROM (generate_series(1,2) AS (a int), unnest($1)) WITH ORDINALITY AS x (a, '
'b), LATERAL (VALUES (1, DEFAULT)) y, (u JOIN w USING (a) AS uw NATURAL JOIN z) CROSS JOIN q',
'WITH RECURSIVE s (a) AS MATERIALIZED (SELECT 1 UNION ALL SELECT a FROM s) SEARCH DEPTH FIRST BY a SET o CYCLE '
'a SET c TO 1 DEFAULT 0 USING p UPDATE t SET a = 1 FROM s',
'INSERT INTO t OVERRIDING SYSTEM VALUE DEFAULT VALUES RETURNING *',
'INSERT INTO t (a[1], b.c) SELECT 1, 2 ON CONFLICT ON CONSTRAINT k DO UPDATE SET (a, b) = ROW (1, 2) WHERE t.a > 1',
'INSERT INTO t VALUES (1) ON CONFLICT (lower(a) COLLATE "C" text_ops, b) WHERE a > 1 DO UPDATE SET a = excluded.a',
'SELECT 1 INTO x FROM t', 'SELECT 1 INTO TEMP x', 'VALUES (1), (2)', 'TABLE t', 
'CREATE TABLE x AS WITH d AS (DELETE FROM t RETURNING *) SELECT * FROM d',
'CREATE MATERIALIZED VIEW v AS SELECT 1', 'REFRESH MATERIALIZED VIEW v',
'DECLARE c CURSOR FOR UPDATE t SET a = 1', 'CALL p(1)', 'DO $x$ BEGIN END $x$', 'EXECUTE p(1)',
'FETCH 1 FROM c', 'MOVE c', 'TRUNCATE t', 'COPY t FROM PROGRAM ''x''',
'COPY (UPDATE t SET a = 1 RETURNING *) TO STDOUT', 'COPY (WITH d AS (DELETE FROM t) SELECT 1) TO STDOUT',
'EXPLAIN (ANALYZE) EXECUTE p', 'EXPLAIN CREATE TABLE x AS UPDATE t SET a = 1',
'EXPLAIN DECLARE c CURSOR FOR SELECT 1', 'EXPLAIN (FORMAT json) DELETE FROM t',
'PREPARE p AS MERGE INTO t USING u ON true WHEN MATCHED THEN DELETE', 'VACUUM t',
'CREATE RULE r AS ON INSERT TO t DO ALSO INSERT INTO u VALUES (1)',
'CREATE FUNCTION f() RETURNS int BEGIN ATOMIC UPDATE t SET a = 1; SELECT 1; END',
'CREATE PROCEDURE f() BEGIN ATOMIC UPDATE t SET a = 1; END', 'REPACK t', 'WAIT FOR LSN ''0/1''',
'UPDATE t SET a = 1;;;UPDATE u SET b = 2', 'UPDATE t SET a = $1::int WHERE b = $2 IS TRUE',
'UPDATE t SET a = :x', 'UPDATE t SET a = ?', 'UPDATE t SET `a` = 1', 'UPDATE t SET a := 1',
'UPDATE TOP (1) t SET a = 1', 'UPDATE t SET a = 1 LIMIT 1', 'DELETE t FROM t', 'REPLACE INTO t VALUES (1)',
'INSERT INTO t SET a = 1', 'UPDATE t SET ROW = (1, 2)', 'UPDATE t SET a = e''\'''' b',
'UPDATE t SET a = ''unterminated', 'UPDATE t SET a = "unterminated', 'UPDATE t SET a = $x$unterminated',
'UPDATE t SET a = /* unterminated', 'UPDATE t SET a = $99999999999999', 'UPDATE t SET a = 1e400',
'UPDATE t SET a = 0xZZ', 'UPDATE t SET a = 1__0', 'UPDATE "" SET a = 1', 'UPDATE t SET a = U&''\D800''',
'UPDATE t SET a = U&''\00zz''', 'UPDATE t SET a = U&''x'' UESCAPE ''+''', 'UPDATE t SET a = E''\x80''',
'UPDATE t SET a = E''\xe2\x82''', 'UPDATE t SET a = E''\000''',
'UPDATE ' || repeat('x', 1000) || ' SET a = 1', E'\uFEFFUPDATE t SET a = 1', E'UPDATE t\u00a0SET a = 1',
E'UPDATE t SET a = 1\x01', 'UPDATE a.b.c.d.e SET x = 1',
'INSERT INTO t AS x VALUES (1) ON CONFLICT DO UPDATE SET a = 1',
'UPDATE t SET a = 1 WHERE x = ALL (VALUES (1))', 'UPDATE t SET a = SOME',
'DELETE FROM ONLY (t) WHERE a IN (SELECT 1 UNION (SELECT 2 INTERSECT SELECT 3) EXCEPT ALL SELECT 4)',
'UPDATE t SET a = x FROM f(VARIADIC ARRAY[1], b => 2, c := 3) x(a int, b text)',
'UPDATE t SET a = percentile_disc(0.5) WITHIN GROUP (ORDER BY b)',
'UPDATE t SET a = x OPERATOR(pg_catalog.+) y, b = -x, c = x ~~* y ESCAPE z, d = x SIMILAR TO y, e = x BETWEEN '
'SYMMETRIC 1 AND 2, f = (a, b) OVERLAPS (c, d), g = x IS DISTINCT FROM y, h = x IS UNKNOWN, i = EXISTS '
'(SELECT), j = UNIQUE (SELECT 1)']);
SELECT is((SELECT string_agg(left(query, 80) || ': ' || pg_temp.read(query), E'\n')
	FROM texts WHERE pg_temp.read(query) ~ '^ERROR'),
	NULL, 'parse: syntax of every version and of other systems gives no error');
SELECT is(pg_temp.read(
	'MERGE INTO t USING u ON t.id = u.id WHEN MATCHED THEN UPDATE SET a = 1 WHEN NOT MATCHED BY SOURCE THEN DELETE '
	'RETURNING merge_action(), t.*'),
    CASE
        WHEN current_setting('server_version_num')::int >= 170000 THEN 'UPDATE merge t {a}; DELETE merge t'
        ELSE 'the text as normalized by pg_stat_statements is no SQL' END,
    'parse: MERGE BY SOURCE from PostgreSQL 17 on');
SELECT is(pg_temp.read(
	'WITH x AS (INSERT INTO t VALUES (1) RETURNING a) SELECT JSON_ARRAY(a, 1 RETURNING jsonb), JSON_OBJECTAGG(a: '
	'a) FROM x'),
    CASE WHEN current_setting('server_version_num')::int >= 160000 THEN 'INSERT cte t'
        ELSE 'the text as normalized by pg_stat_statements is no SQL' END,
    'parse: INSERT in a query with JSON constructors from PostgreSQL 16 on');
-- truncated after every character
SELECT is((SELECT count(*) FROM texts, generate_series(1, length(query)) n
	WHERE length(query) < 1000 AND pg_temp.read(left(query, n)) ~ '^ERROR'),
	0::bigint, 'parse: every text truncated anywhere gives no error');
SELECT is((SELECT string_agg(DISTINCT left(around, 30) || ' ' || n || ': ' || verdict, E'\n') FROM (
    SELECT around, n,
        pg_temp.read('UPDATE t SET a = '
            || repeat(split_part(around, '|', 1), n)
            || '1'
            || repeat(split_part(around, '|', 2), n)) AS verdict
      FROM unnest(ARRAY['(|)', 'NOT |', '- |', '(SELECT |)', 'ARRAY[|]', 'CASE WHEN true THEN | END', 'f(|)', 'x[|]',
          '|+ 1', '| AND b', '| OR (b', '| UNION SELECT 1', '|::int', '|IS NULL ',
                        '(WITH w AS (SELECT |) SELECT 1)', '(SELECT 1 FROM (SELECT |) x)', '(SELECT 1 UNION SELECT |)',
                        'ROW(1, |)', 'EXISTS (SELECT |)', '| || (b', 'a.b[|]', '|, c = 1']) around,
           unnest(ARRAY[100, 9000, 30000]) n) v
   WHERE verdict
       !~ '^(UPDATE top t \{a(,c)?\}|the text as normalized by pg_stat_statements is no SQL|too complex to parse)$'),
   NULL, 'parse: 100, 9,000 and 30,000 levels are parsed or too complex');
SELECT is((SELECT cardinality(p.columns)
	FROM ff_internal.parse_statement('UPDATE t SET '
		|| (SELECT string_agg(format('c%s = 1', i), ', ') FROM generate_series(1, 70000) i)) p),
	1600, 'parse: of 70,000 columns 1,600 are kept');
SELECT is(pg_temp.read('UPDATE ' || repeat('x', 500000) || ' SET a = 1'), format('UPDATE top %s {a}', repeat('x', 63)),
	'parse: a name of half a megabyte is truncated');

-- without pg_stat_statements: a look-alike is not called, and the reason is reported
DROP EXTENSION IF EXISTS pg_stat_statements;
CREATE FUNCTION public.pg_stat_statements(boolean, OUT calls bigint, OUT toplevel boolean, OUT stddev_exec_time float8,
	OUT wal_bytes numeric)
    RETURNS SETOF record LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''look-alike called''; END';
SELECT throws_ok('SELECT ff_internal.collect_statements(-9)', 'P0001',
	'pg_stat_statements is not created in this database: CREATE EXTENSION pg_stat_statements',
	'no pg_stat_statements: the step says so');
SELECT ff_internal.try_step('collect_statements', -9, NULL) \g /dev/null
SELECT is(reason, 'pg_stat_statements is not created in this database: CREATE EXTENSION pg_stat_statements',
	'no pg_stat_statements: ff_statements() says so')
	FROM ff.ff_statements();
DROP FUNCTION public.pg_stat_statements(boolean);
\if :available
\else
SELECT skip('pg_stat_statements is not installed', 30);
\endif
\if :preloaded
CREATE EXTENSION pg_stat_statements SCHEMA a;
SET fillfactor_advisor.statements = 0;
SELECT throws_ok('SELECT ff_internal.collect_statements(-8)', 'P0001', 'fillfactor_advisor.statements is 0',
	'fillfactor_advisor.statements = 0: the step says so');
RESET fillfactor_advisor.statements;

-- the first steps of a collection
CREATE FUNCTION counters() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE at CONSTANT timestamptz := clock_timestamp();
BEGIN
	PERFORM ff_internal.collect_begin(at);
	PERFORM ff_internal.collect_counters(at, 0, 1000000);
	RETURN ff_internal.collect_counted(at);
END $$;

-- from here on only this file changes the counters of this database
SELECT count(*) FROM (SELECT a.pg_stat_statements_reset()) x \g /dev/null
SELECT counters() AS c \gset
SELECT is(ff_internal.try_step('collect_statements', :c, NULL), NULL, 'the first snapshot works');
SELECT is(count(*), 0::bigint, 'the first snapshot gives no history, only a baseline')
	FROM ff_internal.statement_history;

INSERT INTO a.once SELECT i, 0 FROM generate_series(1, 100) i;
UPDATE a.once SET n = n + 1 WHERE id = 1 AND pg_sleep(0.02) IS NOT NULL;
UPDATE a.once SET n = n + 1 WHERE id = 2 AND pg_sleep(0.0) IS NOT NULL;
UPDATE a.once SET n = n + 1 WHERE id BETWEEN 1 AND 10;
SET search_path = a, public;
INSERT INTO twice VALUES (1);
UPDATE v SET n = 7 WHERE id = 3;
INSERT INTO parted SELECT i, 0 FROM generate_series(1, 50) i;
UPDATE parted SET v = v + 1;
INSERT INTO once VALUES (1, 1) ON CONFLICT ON CONSTRAINT once_pkey DO UPDATE SET id = EXCLUDED.id, n = 5;
WITH d AS (DELETE FROM once WHERE id = 100 RETURNING n) UPDATE part1 SET v = 3 WHERE k = 1;
RESET search_path;
SELECT counters() AS c \gset
SELECT is(ff_internal.try_step('collect_statements', :c, NULL), NULL, 'the second snapshot works');

CREATE VIEW told AS
    SELECT relation::text AS tab, command, how, columns::text, calls, rows, reason, query FROM ff.ff_statements();
SELECT is((SELECT array_agg(format('%s %s %s %s %s %s', tab, command, how, columns, calls, rows)
	ORDER BY query, command)
             FROM told WHERE tab LIKE 'a.%' AND command = 'UPDATE' AND how = 'top'),
    ARRAY['a.once UPDATE top {n} 2 2', 'a.once UPDATE top {n} 1 10', 'a.parted UPDATE top {v} 1 50',
        'a.part1 UPDATE top {v} 1 1'],
    'updates: table, columns, calls and rows of the interval');
SELECT is((SELECT format('%s %s %s', tab, columns, calls) FROM told WHERE how = 'on_conflict'), 'a.once {n} 1',
	'ON CONFLICT DO UPDATE is attributed to its table');
SELECT is((SELECT format('%s %s %s %s', tab, command, calls, coalesce(rows::text, 'rows unknown'))
	FROM told WHERE how = 'cte'),
    'a.once DELETE 1 rows unknown', 'DELETE in a WITH query is attributed, with unknown rows');
SELECT is((SELECT string_agg(reason, '; ' ORDER BY reason) FROM told WHERE tab IS NULL AND query ~ '(twice|UPDATE v )'),
    'several tables of that name: a.twice, b.twice; view', 'statements not attributed are shown with the reason');
SELECT is((SELECT count(*) FROM ff.ff_statements('a.part1') WHERE command = 'UPDATE'), 2::bigint,
	'a partition shows its parent''s statements');
SELECT ok((SELECT bool_and(rel_id IS NOT NULL) FROM ff_internal.statement_target
	WHERE relid IN ('a.once'::regclass, 'a.part1'::regclass)),
	'statements are linked to the history of their table');
SELECT is((SELECT string_agg(t.command || t.shared, ' ' ORDER BY t.command)
	FROM ff_internal.statement_target t WHERE t.relation_name IN ('twice', 'v')),
	'INSERTtrue UPDATEfalse', 'a name that only tables with these columns have counts for all of them');
SELECT is((SELECT array_agg(concat(r.relid::regclass, ' ', r.reason, ' ', r.shared) ORDER BY v.n)
	FROM (VALUES (1, NULL, 'twice', '{id}'::text[]), (2, NULL, 'twice', '{id,n}'), (3, 'a', 'twice', '{id}'),
		(4, NULL, 'hid', '{id}'), (5, NULL, 'v', '{n}')) v(n, schema_name, name, columns),
		ff_internal.resolve(v.schema_name, v.name, v.columns) r),
	ARRAY[' several tables of that name: a.twice, b.twice t', ' several tables of that name: a.twice, b.twice f',
		'a.twice  f', format(' several tables of that name: a.hid, %s.hid ', pg_my_temp_schema()::regnamespace),
			' view f'],
	'a name without a schema counts for all tables of that name with these columns, unless one is temporary');
SELECT is((SELECT count(*) FROM ff_internal.statement WHERE kind = 'other' AND text IS NOT NULL), 0::bigint,
	'texts of statements that write nothing are not kept');

-- no calls: no rows, except for this file's own statements
SELECT count(*) AS before FROM ff_internal.statement_history h
	JOIN ff_internal.statement s USING (statement_id) WHERE s.text ~ 'once' \gset
SELECT ff_internal.collect_statements(101) \g /dev/null
SELECT is(count(*), :before::bigint, 'an interval without calls has no row')
	FROM ff_internal.statement_history h JOIN ff_internal.statement s USING (statement_id)
	WHERE s.text ~ 'once';

-- mean and deviation combined from the intervals equal those of the whole
UPDATE a.once SET n = n + 1 WHERE id = 2 AND pg_sleep(0.004) IS NOT NULL;
UPDATE a.once SET n = n + 1 WHERE id = 3 AND pg_sleep(0.001) IS NOT NULL;
SELECT ff_internal.collect_statements(102) \g /dev/null
UPDATE a.once SET n = n + 1 WHERE id = 2 AND pg_sleep(0.007) IS NOT NULL;
SELECT ff_internal.collect_statements(103) \g /dev/null
SELECT is((SELECT format('%s intervals, %s calls', count(*), sum(h.calls))
	FROM ff_internal.statement_history h JOIN ff_internal.statement s USING (statement_id)
	WHERE s.text ~ 'sleep' AND s.text ~ '^UPDATE'),
    '3 intervals, 5 calls', 'calls are stored in three intervals');
SELECT ok(abs(f.mean_ms - p.mean_exec_time) < 0.001
	AND abs(f.stddev_ms - p.stddev_exec_time) < 0.001 AND f.mean_ms > 1
	AND f.stddev_ms > 1 AND f.calls = p.calls,
	'mean and standard deviation equal those of pg_stat_statements')
  FROM ff.ff_statements('a.once') f JOIN a.pg_stat_statements p USING (queryid)
 WHERE f.query ~ 'sleep' AND f.query ~ '^UPDATE';

-- one entry is reset: its interval is lost, even if it has more calls than before
SELECT a.pg_stat_statements_reset(0, 0, queryid) FROM a.pg_stat_statements
	WHERE query ~ 'sleep' AND query ~ '^UPDATE' \g /dev/null
SELECT 'UPDATE a.once SET n = n + 1 WHERE id = 4 AND pg_sleep(0.0) IS NOT NULL' FROM generate_series(1, 20) \gexec
SELECT sum(calls) AS calls_before FROM ff_internal.statement_history h
	JOIN ff_internal.statement s USING (statement_id)
	WHERE s.text ~ 'sleep' AND s.text ~ '^UPDATE' \gset
SELECT ff_internal.collect_statements(104) \g /dev/null
SELECT ok(sum(calls) IN (:calls_before, :calls_before + 20), 'a reset entry gives no false difference')
  FROM ff_internal.statement_history h JOIN ff_internal.statement s USING (statement_id)
 WHERE s.text ~ 'sleep' AND s.text ~ '^UPDATE';

-- a full reset begins a new epoch with a new baseline
SELECT a.pg_stat_statements_reset() \g /dev/null
UPDATE a.once SET n = n + 1 WHERE id BETWEEN 1 AND 10;
SELECT sum(calls) AS calls_before FROM ff_internal.statement_history h
	JOIN ff_internal.statement s USING (statement_id) WHERE s.text ~ 'BETWEEN' \gset
SELECT ff_internal.collect_statements(105) \g /dev/null
SELECT is(sum(calls), :calls_before::numeric, 'no difference crosses a reset')
	FROM ff_internal.statement_history h JOIN ff_internal.statement s USING (statement_id)
	WHERE s.text ~ 'BETWEEN';
SELECT is(count(DISTINCT stats_reset), 2::bigint, 'a full reset is recorded as a new epoch')
	FROM ff_internal.statement_snapshot;
UPDATE a.once SET n = n + 1 WHERE id BETWEEN 1 AND 10;
SELECT ff_internal.collect_statements(106) \g /dev/null
SELECT is(sum(calls), :calls_before + 1::numeric, 'after a reset calls are counted again')
	FROM ff_internal.statement_history h JOIN ff_internal.statement s USING (statement_id)
	WHERE s.text ~ 'BETWEEN';

-- UPDATE and DELETE of a table reach those that inherit from it, INSERT does not
CREATE TABLE a.loose (k int, v int);
CREATE TABLE a.heir () INHERITS (a.loose);
INSERT INTO a.loose VALUES (1);
INSERT INTO a.heir VALUES (1), (2);
UPDATE a.loose SET v = v + 1;
SELECT counters() \g /dev/null
SELECT ff_internal.collect_statements(107) \g /dev/null
SELECT is((SELECT string_agg(format('%s %s', (t.target).relation_name, (t.target).command), ', ' ORDER BY 1)
             FROM ff_internal.targets_of('a.heir'::regclass, NULL) t), 'heir INSERT, loose UPDATE',
    'statements on a table that others inherit from count for these, too');
INSERT INTO ff_internal.counter_interval (rel_id, began_at, ended_at, epoch_id, fillfactor, rewritten, inserted, updated,
	hot_updated, newpage_updated, deleted, seq_scans, index_scans, blocks_fetched, blocks_hit, vacuums, heap_bytes, index_bytes)
SELECT rel_id, now() - interval '1 hour', now(), epoch_id, 100, false, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0, 8192, 0
  FROM ff_internal.relation WHERE relname = 'heir';
UPDATE a.heir SET v = v - 1 WHERE k > 0;
SELECT ff_internal.collect_statements(108) \g /dev/null
SELECT is((SELECT string_agg((t.target).relation_name, ', ' ORDER BY 1) FROM ff_internal.targets_of('a.heir'::regclass, NULL) t
            WHERE (t.target).command = 'UPDATE'), 'heir, loose', 'while its own explain only some of its updates');
SELECT 'UPDATE a.heir SET v = v - 1 WHERE k > 0' FROM generate_series(1, 8) \gexec
SELECT ff_internal.collect_statements(109) \g /dev/null
SELECT is((SELECT string_agg((t.target).relation_name, ', ' ORDER BY 1) FROM ff_internal.targets_of('a.heir'::regclass, NULL) t
            WHERE (t.target).command = 'UPDATE'), 'heir', 'but not if its own do');

-- a renamed table keeps its history; the statements of a dropped table are closed
ALTER TABLE a.once RENAME TO renamed;
UPDATE a.renamed SET n = 99 WHERE id = 5;
SELECT counters() \g /dev/null
SELECT ff_internal.collect_statements(110) \g /dev/null
SELECT ok(EXISTS (SELECT 1 FROM ff.ff_statements('a.renamed') WHERE query ~ 'n = \$1 WHERE id = \$2'),
	'a renamed table has its new statements');
DROP TABLE a.renamed CASCADE;
CREATE TABLE a.once (id int PRIMARY KEY, n int);
INSERT INTO a.once VALUES (1, 1);
UPDATE a.once SET n = n + 1 WHERE id BETWEEN 1 AND 10;
SELECT counters() \g /dev/null
SELECT ff_internal.collect_statements(111) \g /dev/null
SELECT is((SELECT count(*) FROM ff_internal.statement s
	JOIN ff_internal.statement_target t USING (statement_id)
	WHERE t.relation_name = 'once' AND s.closed_at IS NULL
		AND t.relid IS DISTINCT FROM 'a.once'::regclass AND t.reason IS NULL),
    0::bigint, 'no open statement refers to a dropped table');
SELECT is((SELECT array_agg(format('%s %s', command, calls) ORDER BY command, query)
	FROM ff.ff_statements('a.once') WHERE relation IS NOT NULL),
    CASE WHEN current_setting('server_version_num')::int < 180000 THEN ARRAY['INSERT 1', 'UPDATE 1'] ELSE
    (SELECT array_agg(format('%s %s', command, calls) ORDER BY command, query)
        FROM ff.ff_statements('a.once') WHERE calls > 0) END,
    'a new table of the same name has only its own statements');

-- limits
SET fillfactor_advisor.statements = 1;
DELETE FROM b.twice WHERE id = 77;
INSERT INTO b.twice VALUES (5);
DELETE FROM b.twice WHERE id > 77;
INSERT INTO b.twice SELECT 6;
SELECT ff_internal.collect_statements(112) \g /dev/null
SELECT ok(left_out >= 1 AND NOT EXISTS (SELECT FROM ff_internal.statement WHERE opened_at = snapshot_at),
	'beyond the limit no new statement is followed')
	FROM ff_internal.statement_snapshot WHERE collection_id = 112;
SELECT matches((SELECT string_agg(reason, ';') FROM ff.ff_statements() WHERE query IS NULL),
	'are not followed: raise fillfactor_advisor.statements', 'beyond the limit ff_statements() says so');
RESET fillfactor_advisor.statements;

-- pruning rolls up by the hour and loses nothing
UPDATE ff_internal.statement_history SET began_at = date_trunc('hour', began_at) - interval '3 days',
	ended_at = date_trunc('hour', ended_at) - interval '3 days' + interval '1 minute';
CREATE TEMP TABLE sums AS
	SELECT statement_id, sum(calls) AS calls, sum(total_ms) AS total_ms, sum(wal_bytes) AS wal_bytes,
       sum(squares) AS squares FROM ff_internal.statement_history GROUP BY 1;
SELECT ok(ff_internal.prune(10000) > 0, 'pruning rolls up old rows');
SELECT is((SELECT count(*) FROM ff_internal.statement_history WHERE rollup = 0), 0::bigint,
	'pruning rolls up all old rows');
SELECT ok(bool_and(h.calls = s.calls AND abs(h.total_ms - s.total_ms) < 1e-6 AND h.wal_bytes = s.wal_bytes
                   AND abs(h.squares - s.squares) < 1e-6 * (s.squares + 1)), 'rolled up rows keep their sums')
  FROM sums s JOIN ff_internal.statement_history h USING (statement_id);
SELECT ok(bool_and(ended_at >= began_at AND calls > 0), 'rolled up rows have calls, and begin before they end')
	FROM ff_internal.statement_history;
UPDATE ff_internal.statement_history SET ended_at = ended_at - interval '1 year',
	began_at = began_at - interval '1 year';
SELECT ff_internal.prune(10000) \g /dev/null
SELECT is(count(*), 0::bigint, 'rows older than the retention are deleted') FROM ff_internal.statement_history;
\else
\if :available
CREATE EXTENSION pg_stat_statements SCHEMA a;
SELECT ff_internal.try_step('collect_statements', -8, NULL) \g /dev/null
SELECT matches(reason, 'must be loaded via', 'pg_stat_statements not preloaded: the collection says so')
  FROM ff_internal.statement_snapshot WHERE collection_id = -8;
SELECT skip('pg_stat_statements is not preloaded', 32);
\endif
\endif

SELECT * FROM finish();
ROLLBACK;
