-- What a collection takes for the same table and the same indexes, what it keeps
-- for speeds, units of settings, and names that are changed under it.  Not in a
-- transaction block: commands are to have transactions of their own.
SET client_min_messages = error;
CREATE SCHEMA "Mixed Case";
CREATE EXTENSION fillfactor_advisor SCHEMA "Mixed Case";
CREATE TYPE mood AS ENUM ('good', 'bad');
CREATE TABLE t (id int PRIMARY KEY, k int, v text, m mood, EXCLUDE USING btree (k WITH =));
CREATE INDEX t_v ON t (lower(v)) WHERE k > 3;
CREATE INDEX t_k ON t (k, v DESC) INCLUDE (m);
CREATE TABLE other (id int);
SELECT plan(37);

CALL "Mixed Case".ff_collect();
CREATE FUNCTION changes() RETURNS TABLE (dropped text[], created text[]) LANGUAGE sql AS
	$$ SELECT dropped_indexes, created_indexes FROM ff_internal.change WHERE kind = 'indexes' ORDER BY change_id DESC LIMIT 1 $$;
-- what a collection has for a table: its row, and its indexes
CREATE VIEW now_is AS SELECT r.rel_id, r.index_oids, r.index_keys
  FROM ff_internal.relation r WHERE r.relid = 't'::regclass AND r.closed_at IS NULL;

-- ---------------------------------------------------------------------------
-- The same indexes
-- ---------------------------------------------------------------------------
CREATE TEMP TABLE before AS TABLE now_is;
ALTER TABLE t RENAME COLUMN v TO w;
ALTER TABLE t RENAME COLUMN k TO kk;
ALTER INDEX t_v SET (fillfactor = 60);
ALTER INDEX t_pkey RENAME TO t_primary;
CALL "Mixed Case".ff_collect();
SELECT is_empty('SELECT * FROM changes()', 'names and a fillfactor are no change of the set of indexes');
REINDEX INDEX CONCURRENTLY t_v;
REINDEX INDEX CONCURRENTLY t_primary;
REINDEX INDEX CONCURRENTLY t_k;
CALL "Mixed Case".ff_collect();
SELECT is_empty('SELECT * FROM changes()', 'nor is building them anew, with other names of columns and another fillfactor than before');
SELECT isnt(n.index_oids, b.index_oids, 'though these are others') FROM now_is n, before b;
SELECT is((SELECT array_agg(k ORDER BY k) FROM unnest(n.index_keys) k), (SELECT array_agg(k ORDER BY k) FROM unnest(b.index_keys) k), 'with the same keys') FROM now_is n, before b;
DROP INDEX t_v;
CREATE INDEX t_v2 ON t (lower(w)) WITH (fillfactor = 80, deduplicate_items = off) WHERE kk > 3;
CALL "Mixed Case".ff_collect();
SELECT is_empty('SELECT * FROM changes()', 'nor is one replaced by an equal one');

-- ---------------------------------------------------------------------------
-- Others
-- ---------------------------------------------------------------------------
DROP INDEX t_v2;
CREATE INDEX t_v2 ON t (lower(w)) WHERE kk > 4;
CALL "Mixed Case".ff_collect();
SELECT is((SELECT array_to_string(dropped || created, '; ') FROM changes()),
	'CREATE INDEX t_v2 ON public.t USING btree (lower(w)) WITH (fillfactor=''80'', deduplicate_items=off) WHERE (kk > 3); CREATE INDEX t_v2 ON public.t USING btree (lower(w)) WHERE (kk > 4)', 'another predicate');
CREATE FUNCTION replaced(name text, definition text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	before bigint := (SELECT count(*) FROM ff_internal.change WHERE kind = 'indexes');
BEGIN
	EXECUTE format('DROP INDEX %I; CREATE %s', name, definition);
	CALL "Mixed Case".ff_collect();
	RETURN (SELECT count(*) - before FROM ff_internal.change WHERE kind = 'indexes');
END $$;
SELECT is(replaced('t_v2', 'INDEX t_v2 ON t (upper(w)) WHERE kk > 4'), 1::bigint, 'another function');
SELECT is(replaced('t_v2', 'INDEX t_v2 ON t (upper(w) text_pattern_ops) WHERE kk > 4'), 1::bigint, 'another operator class');
SELECT is(replaced('t_v2', 'INDEX t_v2 ON t (upper(w) COLLATE "C") WHERE kk > 4'), 1::bigint, 'another collation');
SELECT is(replaced('t_k', 'INDEX t_k ON t (kk, w) INCLUDE (m)'), 1::bigint, 'another order');
SELECT is(replaced('t_k', 'INDEX t_k ON t (kk, w, m)'), 1::bigint, 'a column of the key instead of one included');
SELECT is(replaced('t_k', 'INDEX t_k ON t (w, kk, m)'), 1::bigint, 'columns the other way round');
SELECT is(replaced('t_k', 'UNIQUE INDEX t_k ON t (w, kk, m)'), 1::bigint, 'unique');
SELECT is(replaced('t_k', 'UNIQUE INDEX t_k ON t (w, kk, m) NULLS NOT DISTINCT'), 1::bigint, 'nulls not distinct');
SELECT is(replaced('t_k', 'INDEX t_k ON t USING brin (w, kk)'), 1::bigint, 'another access method');
SELECT is(replaced('t_k', 'INDEX t_k ON t USING brin (w, kk) WITH (pages_per_range = 4)'), 0::bigint, 'another option of it is none');

-- which columns an index keeps from being HOT, or does no more
CREATE FUNCTION columns_of_last() RETURNS text LANGUAGE sql AS $$ SELECT c.indexed_columns::text FROM ff_internal.change c WHERE kind = 'indexes' ORDER BY change_id DESC LIMIT 1 $$;
CREATE FUNCTION done(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	CALL "Mixed Case".ff_collect();
	RETURN columns_of_last();
END $$;
SELECT is(done('CREATE INDEX t_m ON t (m) WHERE w IS NOT NULL'), '{4}', 'of a new index, those that were in none');
SELECT is(done('CREATE INDEX t_m2 ON t (m)'), '{}', 'none, where all are in another');
SELECT is(done('DROP INDEX t_m2'), '{}', 'nor when that goes');
SELECT is(done('DROP INDEX t_m; CREATE INDEX t_id ON t (id)'), '{4}', 'those that are in none any more');
-- a function that is renamed is the same
CREATE FUNCTION half(int) RETURNS int LANGUAGE sql IMMUTABLE RETURN $1 / 2;
SELECT is(done('CREATE INDEX t_half ON t (half(id))'), '{}', 'an expression');
ALTER FUNCTION half(int) RENAME TO halved;
REINDEX INDEX CONCURRENTLY t_half;
SELECT count(*) AS changes FROM ff_internal.change WHERE kind = 'indexes' \gset
CALL "Mixed Case".ff_collect();
SELECT is((SELECT count(*) FROM ff_internal.change WHERE kind = 'indexes'), :changes::bigint, 'renamed, and the index built anew: no change');
DROP INDEX t_half;

-- ---------------------------------------------------------------------------
-- The same table
-- ---------------------------------------------------------------------------
GRANT SELECT (ctid, tableoid, xmin, xmax, cmin, cmax, id), UPDATE (w) ON t TO pg_monitor;
REVOKE ALL ON t FROM pg_monitor;
GRANT USAGE ON TYPE t TO pg_monitor;
ALTER TABLE t RENAME TO renamed;
CREATE SCHEMA elsewhere;
ALTER TABLE renamed SET SCHEMA elsewhere;
ALTER TABLE elsewhere.renamed OWNER TO pg_monitor;
ALTER TABLE elsewhere.renamed ADD COLUMN n int, DROP COLUMN m, ALTER id TYPE bigint, SET (autovacuum_enabled = off);
VACUUM FULL elsewhere.renamed;
VACUUM FULL pg_attribute;
VACUUM FULL pg_class;
VACUUM FULL pg_type;
VACUUM FULL pg_depend;
VACUUM FREEZE pg_depend;
CALL "Mixed Case".ff_collect();
SELECT is((SELECT r.rel_id FROM ff_internal.relation r WHERE r.relid = 'elsewhere.renamed'::regclass AND r.closed_at IS NULL), rel_id,
	'grants on system columns, ALTER TABLE and rewrites of the catalogs leave a table the one it was') FROM before;
SELECT is((SELECT count(*) FROM ff_internal.relation WHERE closed_at IS NOT NULL), 0::bigint, 'no history is closed');
SELECT is((SELECT r.nspname || '.' || r.relname FROM ff_internal.relation r JOIN before USING (rel_id)), 'elsewhere.renamed', 'and its name is the new one');
DELETE FROM ff_internal.relation WHERE relname = 'other';
UPDATE ff_internal.relation SET relid = 'other'::regclass WHERE relname = 'renamed';
CALL "Mixed Case".ff_collect();
SELECT is((SELECT count(*) FROM ff_internal.relation r JOIN before USING (rel_id) WHERE r.closed_at IS NOT NULL), 1::bigint, 'another table that has its OID is another');
SELECT is((SELECT count(*) FROM ff_internal.relation r WHERE r.closed_at IS NULL AND r.relid IN ('other'::regclass, 'elsewhere.renamed'::regclass)), 2::bigint, 'and both begin anew');

-- ---------------------------------------------------------------------------
-- Speeds, units, names
-- ---------------------------------------------------------------------------
SELECT is((SELECT array_agg(DISTINCT read_ms IS NOT NULL) FROM ff_internal.collection), ARRAY[current_setting('track_io_timing')::boolean], 'time is kept while reads are timed');
SELECT is((SELECT bool_and(blocks_read >= 0 AND (blocks_written IS NULL) = (current_setting('server_version_num')::int < 160000)) FROM ff_internal.collection), true,
	'with the blocks read, and, where the server counts them, those written');
SELECT is(format('%s|%s', t.read_us, t.write_us), '|', 'nothing was timed: no speed') FROM ff_internal.io_speed() t;
INSERT INTO ff_internal.collection (epoch_id, began_at, relations, changed, track_counts, open_writers, own_inserts, blocks_read, read_ms, blocks_written, write_ms)
SELECT e, now(), 0, 0, true, 0, 0, r, CASE WHEN timed THEN r_ms END, w, CASE WHEN timed THEN w_ms END FROM (VALUES
	(1, false, 1000000, 50, 0, 0), (1, true, 2000000, 70, 500, 10), (1, true, 2001500, 270, 3500, 610),	-- 1500 blocks in 200 ms, 3000 in 600 ms
	(1, true, 2000, 10, 100, 5), (2, true, 9000000, 11, 900000, 6), (2, true, 9000500, 311, 900000, 6)) v(e, timed, r, r_ms, w, w_ms);	-- a reset, another epoch; 500 in 300 ms
CALL "Mixed Case".ff_collect();
SELECT is(format('%s|%s', t.read_us, t.write_us), '250|200', 'speeds are differences between collections that timed, never across a reset or an epoch') FROM ff_internal.io_speed() t;
SELECT throws_ok('SET fillfactor_advisor.lookback = 9', '22023', NULL, 'seconds, where days were meant, are refused');
SET fillfactor_advisor.lookback = '9d';
SET fillfactor_advisor.retention = '30 d';
SET fillfactor_advisor.payback_time = '36h';
SELECT is(array(SELECT ff_internal.setting(s) FROM unnest('{lookback,retention,payback_time}'::text[]) s), '{777600,2592000,129600}', 'times take units; they are read in seconds');

-- the pace of the last ones, which is kept: nine in the last ninety minutes
UPDATE ff_internal.collection c SET began_at = now() - n.n * interval '10 min'
  FROM (SELECT collection_id, row_number() OVER (ORDER BY collection_id DESC) AS n FROM ff_internal.collection) n WHERE n.collection_id = c.collection_id;
SELECT is(ff_internal.next_collection(), 'next collection at ' || to_char(now(), 'YYYY-MM-DD HH24:MI'), 'the next collection is due ten minutes after the last');

ALTER SCHEMA "Mixed Case" RENAME TO "ren am";
CALL "ren am".ff_collect();
SELECT is((SELECT failed + skipped + deferred FROM ff_internal.collection ORDER BY collection_id DESC LIMIT 1), 0, 'the schema of the extension renamed, a collection works');
SELECT lives_ok('SELECT * FROM "ren am".ff_progress()', 'as does ff_progress()');
SELECT lives_ok('SELECT * FROM "ren am".ff_statements()', 'and ff_statements()');
SELECT * FROM finish();
