-- Advice on B-tree indexes: the cause for each way of writing to an index, and
-- that following the advice has the predicted effect.
SET client_min_messages = error;
CREATE SCHEMA ff;
CREATE EXTENSION fillfactor_advisor SCHEMA ff;
SET search_path = public, ff;
SELECT no_plan();

CREATE TABLE grow (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, r double precision,
	d integer) WITH (autovacuum_enabled = off);
CREATE INDEX grow_r ON grow (r);
CREATE INDEX grow_d ON grow (d);
CREATE INDEX grow_hash ON grow USING hash (id);
CREATE TABLE late (id bigint PRIMARY KEY, status integer) WITH (autovacuum_enabled = off);
CREATE INDEX late_status ON late (status);
CREATE TABLE queue (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, batch integer, status integer,
	payload text) WITH (autovacuum_enabled = off);
CREATE TABLE still (r double precision);
CREATE INDEX still_r ON still (r);
CREATE TABLE built (r double precision);
CREATE TABLE thinned (id bigint PRIMARY KEY) WITH (autovacuum_enabled = off);
CREATE TABLE apart (id integer, EXCLUDE USING btree (id WITH =)) WITH (autovacuum_enabled = off);
CREATE TABLE tiny (id bigint PRIMARY KEY);
CREATE TABLE parts (id bigint PRIMARY KEY) PARTITION BY RANGE (id);
CREATE TABLE part PARTITION OF parts FOR VALUES FROM (0) TO (10);
SELECT setseed(0.5) \g /dev/null
INSERT INTO still SELECT random() FROM generate_series(1, 80000);
INSERT INTO built SELECT random() FROM generate_series(1, 60000);
CREATE INDEX built_r ON built (r);
INSERT INTO thinned SELECT generate_series(1, 100000);
INSERT INTO apart SELECT generate_series(1, 50000);
INSERT INTO late SELECT i, i % 8 FROM generate_series(1, 60000) i;
INSERT INTO tiny VALUES (1);
CREATE TABLE one (id integer PRIMARY KEY, k integer);
INSERT INTO one SELECT i, i FROM generate_series(1, 60000) i;
CREATE INDEX one_k ON one (k);

SELECT is(string_agg(DISTINCT i.cause, ',' ORDER BY i.cause), 'not_examined,small',
	'before any collection: keep only for tiny or unsuitable indexes')
	FROM (SELECT c.relid FROM ff_internal.user_table c JOIN pg_class k ON k.oid = c.relid AND k.relkind <> 'p') t
	CROSS JOIN LATERAL ff_advise_indexes(t.relid) i WHERE i.action = 'keep';
SELECT ok(bool_and(reason ~ 'not collected yet'), 'before any collection: the reason of waiting says so')
	FROM ff_advise_indexes() WHERE action = 'wait';

\o /dev/null
SELECT pg_stat_force_next_flush(); CALL ff_collect();
INSERT INTO grow (r, d) SELECT random(), i % 4 FROM generate_series(1, 70000) i;
UPDATE late SET status = status + 1;
DELETE FROM thinned WHERE id % 4 <> 0;
DELETE FROM apart WHERE id % 4 <> 0;
VACUUM thinned, apart;
INSERT INTO built SELECT random() FROM generate_series(1, 50);
INSERT INTO tiny VALUES (2);
INSERT INTO one VALUES (60001, 60001);
SELECT pg_stat_force_next_flush(); CALL ff_collect();
INSERT INTO grow (r, d) SELECT random(), i % 4 FROM generate_series(1, 70000) i;
INSERT INTO thinned VALUES (-1);
INSERT INTO apart VALUES (-1);
SELECT pg_stat_force_next_flush(); CALL ff_collect();
-- in the history, table "still" was not written to for a month
UPDATE ff_internal.relation SET seen_at = seen_at - interval '30 days' WHERE relname = 'still';
CREATE INDEX not_valid ON late (id);
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'not_valid'::regclass;
\o

-- ascending keys, each row updated in the transaction after its insert: most of
-- these updates find their page full, and their entries split full leaves
CREATE PROCEDURE work() LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1..80 LOOP
		INSERT INTO queue (batch, payload) SELECT i, repeat('p', 90) FROM generate_series(1, 500);
		COMMIT;
		UPDATE queue SET status = 1 WHERE id > (SELECT max(id) - 500 FROM queue);
		COMMIT;
	END LOOP;
END $$;
\o /dev/null
CALL work(); SELECT pg_stat_force_next_flush(); CALL ff_collect();
CALL work(); SELECT pg_stat_force_next_flush(); CALL ff_collect();
\o

SELECT is((SELECT (action, cause, recommended_fillfactor)::text FROM ff_advise_indexes('grow_pkey')),
	'(wait,ascending,90)', 'watched for seconds: waits');
SELECT matches(reason, 'A day in which 500 rows are written is needed first; so far 140000 in .* s',
	'watched for seconds: the reason says what is needed')
	FROM ff_advise_indexes('grow_pkey');
-- in the history, all tables were watched for two days
UPDATE ff_internal.counter_interval SET began_at = began_at - interval '2 days';
CREATE TEMP TABLE listed AS SELECT * FROM ff_advise_indexes();
-- by table, each index has a row; the list of all tables leaves out those that are too small to matter
CREATE TEMP TABLE advice AS
SELECT i.*, i.index::text AS name
	FROM (SELECT c.relid FROM ff_internal.user_table c JOIN pg_class k ON k.oid = c.relid AND k.relkind <> 'p') t
	CROSS JOIN LATERAL ff_advise_indexes(t.relid) i;
SELECT is((SELECT array_agg(index ORDER BY index) FROM listed), 
	(SELECT array_agg(index ORDER BY index) FROM advice
		WHERE pg_relation_size(index) >= 100 * 8192 OR reason ~ 'not valid'),
	'the list of all tables has those that are not too small');
SELECT is(action || ', ' || cause, expected, name)
  FROM (VALUES ('grow_pkey', 'raise, ascending'), ('grow_r', 'keep, random'), ('grow_d', 'keep, deduplicated'),
      ('grow_hash', 'keep, not_examined'),
               ('late_pkey', 'keep, version_churn'), ('queue_pkey', 'keep, ascending_churn'),
               ('one_pkey', 'keep, as_built'), ('one_k', 'keep, as_built'), ('still_r', 'raise, never_written'),
               ('built_r', 'keep, as_built'), ('thinned_pkey', 'rebuild, sparse'), ('apart_id_excl', 'rebuild, sparse'),
               ('tiny_pkey', 'keep, small'), ('not_valid', 'keep, not_examined')) AS e(name, expected)
               LEFT JOIN advice USING (name);
SELECT is(count(*),
	(SELECT count(*) FROM pg_index i JOIN ff_internal.user_table c ON c.relid = i.indrelid
		JOIN pg_class k ON k.oid = i.indexrelid AND k.relkind = 'i'),
	'every index has a row')
	FROM advice;
SELECT is(count(*), 0::bigint, 'every row has a reason') FROM advice WHERE reason IS NULL OR reason !~ '\.$';
SELECT is(count(*), 0::bigint, 'every row has a statement, except keep and wait')
	FROM advice WHERE (ddl IS NULL) <> (action IN ('keep', 'wait'));
SELECT is(ddl, 'REINDEX INDEX public.apart_id_excl;', 'CONCURRENTLY is not for exclusion constraints')
	FROM advice WHERE name = 'apart_id_excl';
SELECT matches(reason, 'does not last: random inserts settle near 70 %',
	'random inserts: the reason says that fillfactor does not last')
	FROM advice WHERE name = 'grow_r';
SELECT matches(reason, 'keys come in ascending, but .* half full from splits.*see ff_advise\(\)',
	'ascending keys with churn: the reason says ascending')
	FROM advice WHERE name = 'queue_pkey';
SELECT matches(reason, 'in whatever order keys come in.*see ff_advise\(\)',
	'updates only: the reason leaves the order of keys open')
	FROM advice WHERE name = 'late_pkey';
CREATE FUNCTION judged(non_hot bigint, inserted bigint, ascends boolean, leaf_density real, at_fillfactor_pct real,
	half_full_pct real, fragmentation real)
	RETURNS text LANGUAGE sql AS $$
	SELECT j.cause || ', ' || j.action
		FROM ff_internal.index_judged(jsonb_populate_record(NULL::ff_internal.index_evidence, jsonb_build_object(
			'fillfactor', 90, 'collected', true, 'non_hot', non_hot, 'inserted', inserted, 'window_s', 90000, 'quiet_s', 0, 'ascends', ascends,
		'keyed', false, 'blocks', 1000, 'leaf_pages', 990, 'internal_pages', 5, 'leaf_density', leaf_density,
		'at_fillfactor_pct', at_fillfactor_pct, 'half_full_pct', half_full_pct, 'fragmentation', fragmentation,
		'deduplicated_pct', 0, 'row_pointers', 100000))) j
$$;
SELECT is(judged(non_hot, 10000, ascends, d, 5, 60, 30), expected,
	format('%s %% full, %s not HOT against 10000 inserts, ascending: %s', d, non_hot, ascends))
  FROM (VALUES (55, 9000, false, 'version_churn, keep'), (55, 5001, false, 'version_churn, keep'),
      (55, 5000, false, 'random, keep'), (55, 100, false, 'random, keep'),
               (40, 9000, false, 'version_churn, keep'), (20, 9000, false, 'sparse, rebuild'),
               (40, 0, false, 'sparse, rebuild'),
               (55, 9000, true, 'ascending_churn, keep'), (55, 101, true, 'ascending_churn, keep'),
               (55, 100, true, 'random, keep'),
               (20, 9000, true, 'sparse, rebuild')) v(d, non_hot, ascends, expected);
SELECT is(judged(1, 0, false, 55, 5, 60, 30), 'no_data, wait',
	'half full, but no inserts: no order of keys is claimed');
SELECT is(judged(1, 1, false, 55, 5, 60, 30), 'random, keep', 'half full, and inserts: at random');
SELECT is(judged(non_hot, inserted, ascends, 90, 95, 0, 0), expected,
	format('orderly, %s inserts, %s not HOT, ascending: %s', inserted, non_hot, ascends))
  FROM (VALUES (1, 0, false, 'as_built, keep'), (1000, 0, true, 'ascending, raise'), (1, 0, true, 'ascending, wait'),
      (20000, 0, false, 'ascending, raise'), (20000, 201, true, 'ascending, keep'),
      (0, 0, true, 'no_data, wait')) v(inserted, non_hot, ascends, expected);
SELECT ok(leaf_density BETWEEN 60 AND 80, 'random inserts: leaf density is 60 to 80 %')
	FROM advice WHERE name = 'grow_r';
SELECT is(ddl, 'ALTER INDEX public.grow_pkey SET (fillfactor = 100); REINDEX INDEX CONCURRENTLY public.grow_pkey;',
	'the statement sets fillfactor and rebuilds the index')
	FROM advice WHERE name = 'grow_pkey';
SELECT is((SELECT string_agg(index::text, ' ' ORDER BY index::text) FROM ff_advise_indexes('grow')),
	'grow_d grow_hash grow_pkey grow_r', 'advice on one table covers all its indexes');
SELECT is((SELECT string_agg(index::text, ' ') FROM ff_advise_indexes('grow_r')), 'grow_r',
	'advice on one index covers only that one');
SELECT is((SELECT string_agg(index::text, ' ') FROM ff_advise_indexes('parts')), 'part_pkey',
	'advice on a partitioned table covers the indexes of its partitions');
SELECT throws_ok('SELECT ff_advise_indexes(1)', '42P01', NULL, 'an unknown relation is refused');
SELECT throws_ok('SELECT ff_advise_indexes(''pg_class'')', '42809', NULL, 'a system table is refused');
SELECT throws_ok('SELECT ff_advise_indexes(''pg_class_oid_index'')', '42809', NULL, 'a system index is refused');
CREATE TABLE spelled (a int, b int);
CREATE INDEX spelled_a ON spelled (a) WITH (deduplicate_items = off);
CREATE INDEX spelled_b ON spelled (b) WITH (deduplicate_items = off, fillfactor = '0x50');
SELECT is(fillfactor, 90, 'the default fillfactor of an index is 90') FROM ff_internal.index_facts('spelled_a');
SELECT is(fillfactor, 80, 'an odd spelling of fillfactor is read as the server reads it')
	FROM ff_internal.index_facts('spelled_b');
CREATE UNIQUE INDEX spelled_c ON spelled (a);
ALTER TABLE spelled ALTER b SET NOT NULL;
CREATE UNIQUE INDEX spelled_d ON spelled (b);
SELECT is(string_agg(index::text || ' ' || (facts).keyed, ', ' ORDER BY index::text), 'spelled_c false, spelled_d true',
	'rows share the key NULL of a unique index')
	FROM unnest('{spelled_c,spelled_d}'::regclass[]) i CROSS JOIN LATERAL ff_internal.index_facts(i);
DROP TABLE spelled;

-- ---------------------------------------------------------------------------
-- In the script: after the tables, with guard, rebuild and undo
-- ---------------------------------------------------------------------------
SELECT is_empty($$SELECT FROM jsonb_array_elements(ff_script_json()->'changes') c WHERE c->>'kind' = 'index'$$,
	'a few hundred kilobytes are not worth a change');
SET fillfactor_advisor.min_worth = 0;
SELECT is((SELECT string_agg(c->>'relation', ' ' ORDER BY place)
	FROM jsonb_array_elements(ff_script_json()->'changes') WITH ORDINALITY AS w(c, place)
	WHERE c->>'kind' = 'index'),
          (SELECT string_agg('public.' || name, ' ' ORDER BY size_bytes - predicted_size_bytes DESC)
              FROM advice WHERE action IN ('raise', 'rebuild')),
          'the script has the index changes, ordered by bytes saved');
SELECT ok(bool_and(kind >= before), 'the script has tables before indexes')
  FROM (SELECT (c->>'kind' = 'index')::int AS kind,
      lag((c->>'kind' = 'index')::int, 1, 0) OVER (ORDER BY place) AS before
          FROM jsonb_array_elements(ff_script_json()->'changes') WITH ORDINALITY AS w(c, place)) x;
SELECT c->>'guarded_statement' AS apply, c->>'guarded_undo' AS take_back,
	c->'rewrite'->'methods'->0->>'statement' AS rebuild, c->>'options_before' AS before
  FROM jsonb_array_elements(ff_script_json('still_r')->'changes') c \gset
SELECT ff_script_json('still_r')->>'guard' AS guard \gset
:guard
SET search_path = public, ff;
SET client_min_messages = error;
:apply
SELECT is((SELECT reloptions::text FROM pg_class WHERE oid = 'still_r'::regclass), '{fillfactor=100}',
	'the guarded statement sets the index fillfactor');
:rebuild
SELECT cmp_ok((SELECT leaf_density FROM ff_sample_index('still_r')), '>', 97::double precision,
	'the rebuild packs the index');
SELECT is(pg_relation_size('still_r') / 8192 - a.predicted_size_bytes / 8192 BETWEEN -0.02 * a.size_bytes / 8192
	AND 0.02 * a.size_bytes / 8192,
	true, 'the rebuilt index has the predicted size, within 2 %')
	FROM advice a WHERE name = 'still_r';
:take_back
SELECT is((SELECT reloptions::text FROM pg_class WHERE oid = 'still_r'::regclass), NULL,
	'the undo works although the rebuild gave the index another OID');
-- what a rebuild would give, also where none is advised
CREATE TEMP TABLE rebuilt AS
	SELECT * FROM advice
	WHERE cause IN ('random', 'version_churn', 'ascending_churn', 'deduplicated', 'as_built');
SELECT format('REINDEX INDEX %s', name) FROM rebuilt \gexec
SELECT ok(abs(r.predicted_size_bytes::numeric / pg_relation_size(r.index) - 1) < 0.08,
	format('%s, %s: rebuilt, it has %s %% of the predicted size', r.name, r.cause,
		round(100.0 * pg_relation_size(r.index) / r.predicted_size_bytes)))
	FROM rebuilt r;
-- a rebuild without a change of options: only with rewrite => true
SELECT is((SELECT count(*) FROM ff_script('thinned') s
	WHERE s ~ '^(SELECT|CALL pg_temp.ff_change)|ff_rewrite|SET .fillfactor|Nothing is to be changed'),
	0::bigint, 'rebuild only: the default script sets no option and rebuilds nothing');
SELECT is((SELECT count(*) FROM ff_script('thinned') s
	WHERE s ~ '^-- 1 of 1: public.thinned_pkey, rebuild at fillfactor 90(;|$)'),
	1::bigint, 'rebuild only: the default script has it as a comment');
SELECT is((SELECT count(*) FROM ff_script('thinned') s
	WHERE s ~ '^--   why: +its leaf pages are only .* rows were deleted'),
	1::bigint, 'rebuild only: the script has the reason');
SELECT is((SELECT count(*) FROM ff_script('thinned', true) s
	WHERE s ~ '^--   rewrite: .* free disk, about .* of WAL by REINDEX CONCURRENTLY'),
	1::bigint, 'rebuild only: the script has the disk it needs');
SELECT is((SELECT count(*) FROM ff_script('thinned', true) s
	WHERE s ~ '^REINDEX INDEX CONCURRENTLY public.thinned_pkey;'),
	1::bigint, 'rebuild only: the script with rewrites has the statement');
SELECT is(c - 'rewrite' @>
	'{"action": "rebuild", "cause": "sparse", "fillfactor": 90, "recommended_fillfactor": 90, "statement": null, '
	'"undo": null, "guarded_statement": null, "guarded_undo": null, "options_before": null, "options_after": null}'
          AND (c->'rewrite'->>'wanted')::boolean AND c->'rewrite'->>'method' = 'REINDEX CONCURRENTLY', true,
          'rebuild only: the JSON form has no statement but a wanted rewrite')
  FROM jsonb_array_elements(ff_script_json('thinned')->'changes') c;
\set script `mktemp /tmp/ff_rebuild.XXXXXX`
\o :script
SELECT ff_script('thinned', true);
\o
\o /dev/null
\i :script
\o
\setenv script :script
\! rm -f "$script"
\set QUIET 1
SET search_path = public, ff;
SET client_min_messages = error;
SELECT cmp_ok((SELECT leaf_density FROM ff_sample_index('thinned_pkey')), '>', 85::double precision,
	'rebuild only: running the script packs the index');
SELECT is((SELECT reloptions::text FROM pg_class WHERE oid = 'thinned_pkey'::regclass), NULL,
	'rebuild only: running the script leaves the options');
-- ascending keys: new pages are filled as advised without a rebuild
ALTER INDEX grow_pkey SET (fillfactor = 100);
INSERT INTO grow (r, d) SELECT 0, 0 FROM generate_series(1, 120000);
SELECT cmp_ok((SELECT leaf_density FROM ff_sample_index('grow_pkey')), '>', 94::double precision,
	'ascending keys fill new pages to 100');

-- ---------------------------------------------------------------------------
-- Budget and rights
-- ---------------------------------------------------------------------------
SET fillfactor_advisor.collect_pages = 1;
SELECT ok(count(*) > 5 AND count(*) FILTER (WHERE reason ~ 'not read') = count(*) - 1,
	'with a budget of one page, all other indexes are reported as not read')
	FROM ff_advise_indexes() WHERE cause <> 'not_examined';
RESET fillfactor_advisor.collect_pages;
CREATE ROLE regress_ff_reader;
CREATE ROLE regress_ff_scanner;
GRANT pg_read_all_stats TO regress_ff_reader;
GRANT pg_read_all_stats, pg_stat_scan_tables TO regress_ff_scanner;
GRANT USAGE ON SCHEMA ff TO regress_ff_reader, regress_ff_scanner;
SET ROLE regress_ff_reader;
SELECT ok(bool_and(reason ~ 'needs pg_stat_scan_tables'), 'a role that may not read pages is told what it needs')
	FROM ff.ff_advise_indexes() WHERE action = 'wait';
SELECT lives_ok('SELECT ff.ff_script()', 'a role that may not read pages gets a script for the tables');
SET ROLE regress_ff_scanner;
SELECT is((SELECT count(*) FROM ff.ff_advise_indexes() WHERE cause = 'never_written'), 1::bigint,
	'a role that may read pages gets advice on indexes');
SELECT string_agg(format('%s %s %s', index::oid, action, cause), E'\n' ORDER BY index::oid) AS as_scanner
	FROM ff.ff_advise_indexes() \gset
RESET ROLE;
SELECT is(:'as_scanner',
	(SELECT string_agg(format('%s %s %s', index::oid, action, cause), E'\n' ORDER BY index::oid)
		FROM ff_advise_indexes()),
	'a role that may read pages gets the same advice as a superuser');
DROP OWNED BY regress_ff_reader, regress_ff_scanner;
DROP ROLE regress_ff_reader, regress_ff_scanner;

SELECT * FROM finish();
