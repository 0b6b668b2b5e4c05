-- Samples compared with full reads and with pgstattuple if available; their error
-- intervals; and that they leave no traces.  Contents and seeds are fixed, so the same
-- pages are chosen on every run.
CREATE EXTENSION fillfactor_advisor;
SET client_min_messages = warning;
SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'pgstattuple') AS has_pgstattuple,
       EXISTS (SELECT FROM pg_available_extensions WHERE name = 'pg_buffercache') AS has_buffercache \gset
\if :has_pgstattuple
CREATE EXTENSION pgstattuple;
\endif
\if :has_buffercache
CREATE EXTENSION pg_buffercache;
\endif
SELECT plan(17);

CREATE FUNCTION chance(id int, salt int) RETURNS float8 LANGUAGE sql IMMUTABLE AS
$$ SELECT (hashint4(id * 16 + salt)::bigint + 2147483648) / 4294967296.0 $$;

-- as pgbench loads it; half updated; a third deleted; newest rows updated; one page in 300 emptied; widths; toasted;
-- tiny
CREATE TABLE loaded (id int, v int, filler char(84)) WITH (autovacuum_enabled = off);
INSERT INTO loaded SELECT g, 0, '' FROM generate_series(1, 200000) g;
CREATE TABLE half_updated (LIKE loaded) WITH (autovacuum_enabled = off);
INSERT INTO half_updated SELECT * FROM loaded;
UPDATE half_updated SET v = 1 WHERE chance(id, 1) < 0.5;
CREATE TABLE deleted (LIKE loaded) WITH (autovacuum_enabled = off);
INSERT INTO deleted SELECT * FROM loaded;
DELETE FROM deleted WHERE chance(id, 2) < 0.33;
CREATE TABLE hot_tail (LIKE loaded) WITH (autovacuum_enabled = off);
INSERT INTO hot_tail SELECT * FROM loaded;
UPDATE hot_tail SET v = 1 WHERE id > 186000;
CREATE TABLE rare (LIKE loaded) WITH (autovacuum_enabled = off);
INSERT INTO rare SELECT * FROM loaded;
DELETE FROM rare WHERE chance(id / 57, 7) < 1 / 300.0;
CREATE TABLE widths (id int PRIMARY KEY, pad text) WITH (autovacuum_enabled = off);
INSERT INTO widths SELECT g, repeat('x', (1500 * chance(g, 3) ^ 4)::int) FROM generate_series(1, 60000) g;
UPDATE widths SET pad = pad || pad WHERE chance(id, 4) < 0.1;
CREATE TABLE toasted (id int, pad text) WITH (autovacuum_enabled = off, toast.autovacuum_enabled = off);
ALTER TABLE toasted ALTER pad SET STORAGE EXTERNAL;
INSERT INTO toasted SELECT g, repeat('x', CASE WHEN chance(g, 5) < 0.05 THEN 2500 ELSE (chance(g, 6) * 1900)::int END)
  FROM generate_series(1, 20000) g;
DELETE FROM toasted WHERE id % 10 = 0;
CREATE TABLE one_page (id int) WITH (autovacuum_enabled = off);
INSERT INTO one_page VALUES (1);
CREATE TABLE no_page (id int);
CREATE INDEX random_order ON widths (pad);
CREATE TABLE names (name) AS
	VALUES ('loaded'), ('half_updated'), ('deleted'), ('hot_tail'), ('rare'), ('widths'), ('toasted'), ('one_page');

-- a full read of each table, and samples with 200 seeds
SET fillfactor_advisor.sample_error = 0;
SET fillfactor_advisor.sample_pages = 1000000;
CREATE TABLE truth AS
	SELECT name, s.*, f.live_pct_err
	FROM names, ff_internal.sample(name::regclass) s, ff_sample(name::regclass) f;
RESET fillfactor_advisor.sample_error;
RESET fillfactor_advisor.sample_pages;
CREATE FUNCTION sample(t regclass, seed int) RETURNS SETOF record LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('fillfactor_advisor.sample_seed', seed::text, false);
	RETURN QUERY
		SELECT s.live_pct, s.live_pct_err, s.dead_pct, s.dead_pct_err, s.free_pct, s.free_pct_err, s.live_rows,
			s.blocks_read
		FROM ff_sample(t) s;
END $$;
CREATE TABLE sampled AS
SELECT name, s.* FROM names, generate_series(1, 200) seed,
  sample(name::regclass, seed) AS s(live_pct real, live_pct_err real, dead_pct real, dead_pct_err real,
    free_pct real, free_pct_err real, live_rows float8, blocks_read int);

SELECT is((SELECT count(*) FROM truth WHERE blocks_read = blocks AND live_pct_err = 0), 8::bigint,
	'a full read reads every page and has no error');
SELECT is_empty($$
	SELECT name, live_rows, by_length FROM truth, LATERAL (
		SELECT sum(l.rows::float8) FILTER (WHERE l.n % 2 = 0) AS by_length
		  FROM unnest(inserted_length || updated_length) WITH ORDINALITY l(rows, n)) l
	 WHERE (abs(by_length - live_rows) < 1e-5 * live_rows) IS NOT TRUE $$,
	 'each row is counted once in the histograms of lengths');
SELECT is_empty($$ SELECT name, blocks_read FROM sampled WHERE blocks_read > 3000 $$, 'no sample is above its limit');
SELECT is_empty($$
	SELECT name, max(live_pct_err) FROM sampled WHERE blocks_read < 2900 GROUP BY name
	HAVING avg(live_pct_err) > 0.5 $$,
	'error intervals are on average as narrow as wanted');
-- shares are shown with three decimals
SELECT is_empty($$
	SELECT name FROM sampled s
	WHERE live_pct + dead_pct + free_pct > 100.001 OR live_pct < 0 OR dead_pct < 0 OR free_pct < 0 $$,
	'shares are not negative and add up to 100 at most');
SELECT is_empty($$
	SELECT name, avg(abs(s.live_pct - t.live_pct)), avg(abs(s.dead_pct - t.dead_pct)), avg(abs(s.free_pct - t.free_pct))
	  FROM sampled s JOIN truth t USING (name) GROUP BY name
	HAVING abs(avg(s.live_pct - t.live_pct)) > 0.1
		OR abs(avg(s.dead_pct - t.dead_pct)) > 0.1
		OR abs(avg(s.free_pct - t.free_pct)) > 0.1 $$,
	'estimates are not biased');
SELECT is_empty($$
	SELECT name, covered FROM (
		SELECT name, avg((abs(s.live_pct - t.live_pct) <= s.live_pct_err + 0.001)::int) AS live,
		       avg((abs(s.dead_pct - t.dead_pct) <= s.dead_pct_err + 0.001)::int) AS dead,
		       avg((abs(s.free_pct - t.free_pct) <= s.free_pct_err + 0.001)::int) AS free
		  FROM sampled s JOIN truth t USING (name) GROUP BY name) c,
	  LATERAL (VALUES (live), (dead), (free)) AS v(covered) WHERE covered < 0.90 $$,
	'95 % intervals hold the truth in at least 180 of 200 samples');
SELECT is_empty($$
	SELECT name FROM sampled s JOIN truth t USING (name) GROUP BY name
	HAVING percentile_cont(0.95) WITHIN GROUP (ORDER BY greatest(abs(s.live_pct - t.live_pct),
		abs(s.dead_pct - t.dead_pct), abs(s.free_pct - t.free_pct))) > 1 $$,
	'19 of 20 samples are within 1 point');

\if :has_pgstattuple
SELECT is_empty($$
	SELECT name, live_pct, tuple_percent, dead_pct, dead_tuple_percent, free_pct, free_percent
	  FROM truth, pgstattuple(name::regclass)
	 WHERE abs(live_pct - tuple_percent) > 0.01
	    OR abs(dead_pct - dead_tuple_percent) > 0.01
	    OR abs(free_pct - free_percent) > 0.06
	    OR live_rows <> tuple_count OR dead_rows <> dead_tuple_count $$,
	'a full read finds what pgstattuple finds');
SELECT is_empty($$
	SELECT name, s.leaf_density, p.avg_leaf_density, s.fragmentation, p.leaf_fragmentation, s.leaf_pages, p.leaf_pages
	  FROM (VALUES ('widths_pkey'), ('random_order')) v(name), ff_sample_index(name::regclass) s, pgstatindex(name) p
	 WHERE abs(s.leaf_density - p.avg_leaf_density) > 1 OR abs(s.fragmentation - p.leaf_fragmentation) > 5
	    OR abs(s.leaf_pages - p.leaf_pages) > 0.05 * p.leaf_pages $$,
	'an index sample finds what pgstatindex finds');
\else
SELECT skip('no pgstattuple here', 2);
\endif

-- Nobody has read these rows since they were written, so no hint bit is set yet,
-- and the first reader dirties pages.  A first sample loads catalogs.  All is
-- measured before the tests: pgTAP's own transactions commit
-- without flushing WAL, and hint bits are set only after that.
CREATE FUNCTION trace(query text, OUT dirtied bigint, OUT records bigint, OUT accessed bigint) LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, WAL, FORMAT json) ' || query INTO plan;
	plan := plan -> 0 -> 'Plan';
	dirtied := plan ->> 'Shared Dirtied Blocks';
	records := plan ->> 'WAL Records';
	accessed := (plan ->> 'Shared Hit Blocks')::bigint + (plan ->> 'Shared Read Blocks')::bigint;
END $$;
CREATE TABLE unread (id int, pad text) WITH (autovacuum_enabled = off);
INSERT INTO unread SELECT g, repeat('x', 100) FROM generate_series(1, 40000) g;
CHECKPOINT;
SELECT dirtied FROM trace($$ SELECT * FROM ff_internal.sample('unread'), ff_sample_index('widths_pkey') $$) \g /dev/null
SELECT dirtied AS sample_dirtied, records AS sample_records, accessed AS sample_accessed
  FROM trace($$ SELECT * FROM ff_internal.sample('unread') $$) \gset
SELECT dirtied AS index_dirtied FROM trace($$ SELECT * FROM ff_sample_index('widths_pkey') $$) \gset
\set still_dirty 0
\if :has_buffercache
SELECT count(*) AS still_dirty FROM pg_buffercache
	WHERE relfilenode = pg_relation_filenode('unread') AND isdirty AND relforknumber = 0
	AND reldatabase = (SELECT oid FROM pg_database WHERE datname = current_database()) \gset
\endif
SELECT dirtied AS reader_dirtied FROM trace('SELECT count(*) FROM unread') \gset
SELECT is(:sample_dirtied, 0, 'a sample dirties no page');
SELECT is(:sample_records, 0, 'a sample writes no WAL');
SELECT cmp_ok(:sample_accessed, '>=', 400, 'the sample has read pages');
SELECT is(:still_dirty, 0, 'after the sample no buffer of the table is dirty');
SELECT cmp_ok(:reader_dirtied, '>', 100, 'the first ordinary reader dirties pages');
SELECT is(:index_dirtied, 0, 'an index sample dirties no page');

-- as many columns as counts have bins: they are not compared
SELECT format('CREATE TABLE wide (%s)', string_agg(format('c%s bool', n), ', ')) FROM generate_series(1, 1025) n \gexec
SELECT format('INSERT INTO wide SELECT %s', string_agg('true', ', ')) FROM generate_series(1, 1025) n \gexec
UPDATE wide SET c1025 = false;
SELECT is(live_rows, 1::float8, 'a table of 1,025 columns is sampled') FROM ff_sample('wide');
DROP TABLE wide;

SELECT * FROM finish();
