-- Every kind of relation: whether it is examined and why not; row widths of
-- unusual tables.  Not in a transaction block: counters and an invalid index need
-- commits.
SET client_min_messages = warning;
CREATE EXTENSION fillfactor_advisor;
SET fillfactor_advisor.min_updates = 1;
SELECT plan(84);

-- ---------------------------------------------------------------------------
-- Relations that are not examined
-- ---------------------------------------------------------------------------
CREATE TABLE parent (id int, v int) PARTITION BY RANGE (id);
CREATE TABLE leaf PARTITION OF parent FOR VALUES FROM (0) TO (1000);
CREATE FOREIGN DATA WRAPPER nowhere;
CREATE SERVER nowhere FOREIGN DATA WRAPPER nowhere;
CREATE FOREIGN TABLE far_away (id int) SERVER nowhere;
CREATE ACCESS METHOD other_heap TYPE TABLE HANDLER heap_tableam_handler;
CREATE TABLE other_method (id int) USING other_heap;
INSERT INTO other_method VALUES (1);
CREATE VIEW a_view AS SELECT 1 AS id;
CREATE SEQUENCE a_sequence;
CREATE MATERIALIZED VIEW a_matview AS SELECT g AS id FROM generate_series(1, 10) g;
CREATE TEMP TABLE temporary AS SELECT 1 AS id;
CREATE TABLE toasted (id int, pad text);
ALTER TABLE toasted ALTER pad SET STORAGE EXTERNAL;
INSERT INTO toasted SELECT g, repeat('x', 20000) FROM generate_series(1, 20) g;
CREATE TYPE a_type AS (id int);
CREATE UNLOGGED TABLE unlogged AS SELECT 1 AS id;
CREATE INDEX toasted_id ON toasted (id);
CREATE INDEX parent_id ON parent (id);
INSERT INTO leaf SELECT g, 0 FROM generate_series(1, 100) g;

CREATE FUNCTION sample_error(relation regclass) RETURNS text LANGUAGE plpgsql AS
$$ BEGIN PERFORM public.ff_sample(relation); RETURN 'none'; EXCEPTION WHEN OTHERS THEN RETURN sqlstate; END $$;
CREATE FUNCTION advice_error(relation regclass) RETURNS text LANGUAGE plpgsql AS
$$ BEGIN PERFORM * FROM public.ff_advise(relation); RETURN 'none'; EXCEPTION WHEN OTHERS THEN RETURN sqlstate; END $$;

SELECT lives_ok('CALL ff_collect()', 'a collection works with all kinds of relations');
SELECT is(advice_error(name::regclass), advice, format('ff_advise of %s', what)) FROM (VALUES
	('parent', 'a partitioned table', 'none'), ('far_away', 'a foreign table', 'none'),
	('other_method', 'a table of another access method', 'none'),
	('a_matview', 'a materialized view', 'none'), ('unlogged', 'an unlogged table', 'none'),
	('a_view', 'a view', '42809'), ('a_sequence', 'a sequence', '42809'), ('toasted_id', 'an index', '42809'),
	('parent_id', 'a partitioned index', '42809'), ('a_type', 'a type', '42809'),
	('temporary', 'a temporary table', 'none'), ('pg_class', 'a catalog', '42809'),
	((SELECT reltoastrelid::regclass::text FROM pg_class WHERE relname = 'toasted'), 'a TOAST table',
		'42809')) v(name, what, advice);
SELECT is(sample_error(name::regclass), error, format('ff_sample of %s', what)) FROM (VALUES
	('parent', 'a partitioned table', '42809'), ('far_away', 'a foreign table', '42809'),
	('other_method', 'a table of another access method', '42809'),
	('a_matview', 'a materialized view', 'none'), ('unlogged', 'an unlogged table', 'none'),
	('a_view', 'a view', '42809'), ('a_sequence', 'a sequence', '42809'), ('toasted_id', 'an index', '42809'),
	('parent_id', 'a partitioned index', '42809'), ('a_type', 'a type', '42809'),
	('temporary', 'a temporary table of this session', 'none'), ('pg_class', 'a catalog', 'none'),
	((SELECT reltoastrelid::regclass::text FROM pg_class WHERE relname = 'toasted'), 'a TOAST table',
		'none')) v(name, what, error);
SELECT results_eq(
	$$
		SELECT relation::text, action, cause, ddl, reason ~* words FROM ff_advise()
		JOIN (VALUES ('parent', 'partitioned'), ('far_away', 'another server'),
	     ('other_method', 'access method other_heap')) v(name, words) ON relation = name::regclass ORDER BY 1 $$,
	$$
		VALUES ('far_away', 'keep', 'not_examined', NULL, true), ('other_method', 'keep', 'not_examined', NULL, true),
			('parent', 'keep', 'not_examined', NULL, true) $$,
	'relations that are not examined have a row and a reason, but no statement');
SELECT results_eq($$
	SELECT relname::text COLLATE "default" FROM ff_internal.relation
	WHERE sampled_at IS NOT NULL ORDER BY 1 $$,
	$$ VALUES ('a_matview'), ('leaf'), ('toasted'), ('unlogged') $$,
	'a partition, a materialized view and an unlogged table were sampled');
SELECT is((SELECT z::text FROM ff_internal.sizes('unlogged'::regclass) z), '(8192,0,0,)',
	'a table without indexes and TOAST table has size 0 for them');
-- a table made since the last collection is watched from then on, as far as the file system tells
SELECT pg_sleep(1.5) \g /dev/null
CREATE TABLE newborn (id int PRIMARY KEY, v int);
CREATE TABLE reborn (id int PRIMARY KEY, v int);
INSERT INTO newborn SELECT g, 0 FROM generate_series(1, 1000) g;
INSERT INTO reborn SELECT g, 0 FROM generate_series(1, 1000) g;
ALTER TABLE reborn ALTER v TYPE bigint;
UPDATE newborn SET v = 1;
SELECT pg_stat_force_next_flush() \g /dev/null
CALL ff_collect();
SELECT is(ff_internal.born_at('reborn'::regclass), NULL, 'when a rewritten table was made is unknown');
SELECT is(began_at, (SELECT max(c.began_at) FROM ff_internal.collection c WHERE c.began_at < i.ended_at),
	'its first interval begins with the collection before')
  FROM ff_internal.counter_interval i JOIN ff_internal.relation r USING (rel_id) WHERE r.relname = 'reborn';
SELECT CASE WHEN b.born_at IS NULL THEN skip('this file system does not record when a file was made', 2) ELSE
	is(i.began_at, b.born_at, 'a new table: its first interval begins when it was made') || E'\n' ||
	is(extract(epoch FROM i.began_at - c.began_at) >= 1.4
	   AND e.window_s < extract(epoch FROM i.ended_at - c.began_at) - 1.4
	   AND abs(ff_internal.updates_per_s(e) * extract(epoch FROM i.ended_at - b.born_at) / 1000 - 1) < 0.01,
	   true, 'its rates are of its own time') END
  FROM ff_internal.evidence('newborn') e JOIN ff_internal.counter_interval i USING (rel_id)
 CROSS JOIN ff_internal.born_at('newborn'::regclass) b(born_at)
 CROSS JOIN LATERAL (SELECT max(c.began_at) AS began_at FROM ff_internal.collection c WHERE c.began_at < i.began_at) c;
SELECT is(ff_internal.collection_before(i.began_at),
	(SELECT max(c.began_at) FROM ff_internal.collection c WHERE c.began_at < i.ended_at),
	'the model takes the statements since the collection before')
  FROM ff_internal.evidence('newborn') e JOIN ff_internal.counter_interval i USING (rel_id);
DROP TABLE newborn, reborn;
CALL ff_collect();
SELECT throws_ok('SELECT * FROM ff_advise(4294967295::oid::regclass)', '42P01', NULL,
	'ff_advise of an unknown OID is an error');

-- ---------------------------------------------------------------------------
-- Numbers of rows that are missing or not finite
-- ---------------------------------------------------------------------------
CREATE TABLE empty (id int PRIMARY KEY);
CREATE TABLE odd (id int PRIMARY KEY, v int);
INSERT INTO odd SELECT g, 0 FROM generate_series(1, 100) g;
SELECT is(reltuples, -1::real, 'a table that was never analyzed has reltuples -1') FROM pg_class WHERE relname = 'odd';
CALL ff_collect();
SELECT results_eq($$ SELECT cause, action, split_part(reason, E'.\n', 1) FROM ff_advise('empty') $$,
	$$
		VALUES ('no_data', 'wait',
			'One collection so far: one more is needed, after some work') $$,
	'an empty table: wait for writes');
UPDATE odd SET v = 1 WHERE id <= 5;
INSERT INTO empty VALUES (1);
DELETE FROM empty;
VACUUM empty;
SELECT pg_stat_force_next_flush();
CALL ff_collect();
SELECT results_eq($$ SELECT cause, action, split_part(reason, E'.\n', 1) FROM ff_advise('empty') $$,
	$$ VALUES ('no_data', 'wait', 'The table is empty: it is judged once a collection finds rows in it') $$,
	'a table that was emptied: wait for rows');
SELECT isnt(sampled_at, NULL, 'a table that was never analyzed was sampled')
	FROM ff_internal.relation WHERE relname = 'odd';
CREATE INDEX odd_v ON odd (v);
-- failing(RELATION): the reading functions that fail, with their errors
CREATE FUNCTION failing(relation regclass) RETURNS text LANGUAGE plpgsql AS $$
DECLARE call text; failed text;
BEGIN
	FOREACH call IN ARRAY ARRAY['ff_settings()', 'ff_script()', 'ff_verify()', 'ff_blockers()', 'ff_advise_indexes()',
		'ff_statements()', 'ff_horizon()', 'ff_report()',
		'ff_metrics', 'ff_metrics_collection', format('ff_curve(%L)', relation), format('ff_sample(%L)', relation)] LOOP
		BEGIN
			EXECUTE 'SELECT * FROM public.' || call;
		EXCEPTION WHEN OTHERS THEN
			failed := concat_ws('; ', failed, call || ': ' || sqlerrm);
		END;
	END LOOP;
	RETURN failed;
END $$;
CREATE FUNCTION with_reltuples(n real) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	UPDATE pg_class SET reltuples = n
		WHERE relname IN ('odd', 'odd_v', 'empty', 'leaf', 'ff_internal.counter_interval', 'ff_internal.page_sample');
	UPDATE odd SET v = v + 1;
	PERFORM pg_stat_force_next_flush();
	RETURN NEXT lives_ok('CALL ff_collect()', format('reltuples %s: a collection works', n));
	RETURN NEXT lives_ok('SELECT * FROM ff_advise()', format('reltuples %s: ff_advise() works', n));
	RETURN NEXT is(failing('odd'), NULL, format('reltuples %s: every reading function works', n));
	-- a collection reads reltuples again for a new file
	TRUNCATE odd;
	INSERT INTO odd SELECT g, 0 FROM generate_series(1, 100) g;
	UPDATE pg_class SET reltuples = n WHERE relname = 'odd';
	RETURN NEXT lives_ok('CALL ff_collect()', format('reltuples %s of a new file: a collection works', n));
	RETURN NEXT is(count(*), 0::bigint, format('reltuples %s: no table had a problem', n)) FROM ff_internal.problem;
END $$;
SELECT with_reltuples(n) FROM unnest('{NaN,Infinity,-Infinity,-1,3e38}'::real[]) n;
UPDATE pg_class SET reltuples = 'NaN' WHERE relname = 'odd';
CALL ff_collect();
SELECT sampled_at AS sampled FROM ff_internal.relation WHERE relname = 'odd' \gset
UPDATE odd SET v = v + 1;
SELECT pg_stat_force_next_flush();
CALL ff_collect();
SELECT isnt(sampled_at, :'sampled', 'a table with reltuples NaN is sampled again after a change')
	FROM ff_internal.relation WHERE relname = 'odd';

-- ---------------------------------------------------------------------------
-- Widths
-- ---------------------------------------------------------------------------
SELECT format('CREATE TABLE columns100 AS SELECT %s FROM generate_series(1, 50) g', string_agg('g AS c' || i, ', '))
	FROM generate_series(1, 100) i \gexec
SELECT format('CREATE TABLE nulls100 AS SELECT %s FROM generate_series(1, 50) g',
	string_agg(CASE WHEN i % 2 = 0 THEN 'g' ELSE 'NULL::int' END || ' AS c' || i, ', '))
	FROM generate_series(1, 100) i \gexec
SELECT format('CREATE TABLE dropped1599 (kept int, %s)', string_agg('c' || i || ' int', ', '))
	FROM generate_series(1, 1599) i \gexec
SELECT format('ALTER TABLE dropped1599 %s', string_agg('DROP c' || i, ', ')) FROM generate_series(1, 1599) i \gexec
INSERT INTO dropped1599 SELECT generate_series(1, 50);
CREATE TABLE wide (id int, pad text);
ALTER TABLE wide ALTER pad SET STORAGE PLAIN;
INSERT INTO wide SELECT g, repeat('x', 5000) FROM generate_series(1, 50) g;
-- a header of 23 bytes and, if any column is null, one bit a column, aligned to 8; then the columns
SELECT is((ff_sample('columns100')).inserted_width, (24 + 400)::real, 'row width: 100 columns');
SELECT is((ff_sample('nulls100')).inserted_width, (40 + 200)::real, 'row width: 100 columns, half of them null');
UPDATE nulls100 SET c1 = c2 WHERE c2 <= 10;
SELECT results_eq($$ SELECT updated_pct, updated_width, inserted_width FROM ff_internal.sample('nulls100') $$,
	$$ VALUES (20::real, (40 + 204)::real, (40 + 200)::real) $$,
	'row width: inserted rows, and updated rows with one null less');
SELECT is((ff_sample('dropped1599')).inserted_width, (224 + 4)::real, 'row width: 1599 dropped columns');
SELECT is((ff_sample('wide')).inserted_width, (24 + 4 + 4 + 5000)::real, 'row width: rows larger than half a page');
SELECT is((ff_sample('toasted')).inserted_width, (24 + 4 + 18)::real,
	'row width: toasted rows, only the part in the table');
CALL ff_collect();
UPDATE wide SET id = -id;
SELECT pg_stat_force_next_flush();
CALL ff_collect();
SELECT results_eq($$ SELECT action, cause, rows_per_page, predicted_rows_per_page FROM ff_advise('wide') $$,
	$$ VALUES ('keep', 'too_wide', 1, 1) $$, 'rows larger than half a page: too wide for any fillfactor');

-- ---------------------------------------------------------------------------
-- Options and indexes
-- ---------------------------------------------------------------------------
CREATE TABLE odd_fillfactor1 (id int) WITH (fillfactor = '80.5');
CREATE TABLE odd_fillfactor2 (id int) WITH (fillfactor = '0x50');
SELECT is(array_agg(fillfactor ORDER BY relation::text), '{80,80}',
	'ff_advise() reads an odd fillfactor as the server does')
	FROM ff_advise() WHERE relation::text ~ '^odd_fillfactor';
INSERT INTO odd_fillfactor2 VALUES (1);
SELECT is((SELECT fillfactor FROM ff_internal.table_state WHERE relid = 'odd_fillfactor2'::regclass), 80::smallint,
	'table_state has an odd fillfactor as the server reads it');

CREATE TABLE doubles AS SELECT 1 AS id, g AS v FROM generate_series(1, 10) g;
CREATE INDEX doubles_v ON doubles (v);
\set ON_ERROR_STOP 0
CREATE UNIQUE INDEX CONCURRENTLY doubles_id ON doubles (id);
\set ON_ERROR_STOP 1
SELECT is(indisvalid, false, 'a failed CREATE INDEX CONCURRENTLY leaves an invalid index')
	FROM pg_index WHERE indexrelid = 'doubles_id'::regclass;
CALL ff_collect();
SELECT is(indexes, 1, 'an invalid index is not counted') FROM ff_internal.evidence('doubles');
SELECT is(array_agg(fillfactor), '{80,80}', 'the history has an odd fillfactor as the server reads it')
	FROM ff_internal.relation WHERE relname ~ '^odd_fillfactor';
SELECT is(index_oids, ARRAY['doubles_v'::regclass::oid], 'an invalid index is no change of the indexes')
	FROM ff_internal.relation WHERE relid = 'doubles'::regclass;
SELECT results_eq($$
	SELECT action, ddl, reason ~ '^the index is not valid: a CREATE INDEX or REINDEX CONCURRENTLY failed'
	FROM ff_advise_indexes('doubles') WHERE index = 'doubles_id'::regclass $$,
	$$ VALUES ('keep', NULL::text, true) $$, 'an invalid index has a row and a reason, but no statement');
SELECT throws_ok($$ SELECT * FROM ff_sample_index('doubles_id') $$, '55000', 'index "doubles_id" is not valid',
	'ff_sample_index() of an invalid index is a clear error');
SELECT is(failing('doubles'), NULL, 'every reading function works with an invalid index');

SELECT is((SELECT count(*) FROM ff_advise()), (SELECT count(*) FROM pg_class c
	JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE relkind IN ('r', 'p', 'm', 'f') AND (nspname = 'public' OR relpersistence = 't') AND relname !~ '^ff_'),
	'ff_advise() has one row for every table, also temporary ones');
SELECT is((SELECT count(*) FROM ff_internal.problem), 0::bigint, 'no table had a problem');
SELECT * FROM finish();
