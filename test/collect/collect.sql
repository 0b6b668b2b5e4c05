-- When a collection sees the same table and the same indexes, how I/O speeds are
-- computed, units of settings, and renamed schemas.  Not in a
-- transaction block: each command needs a transaction of its own.
SET client_min_messages = error;
CREATE SCHEMA "Mixed Case";
CREATE EXTENSION fillfactor_advisor SCHEMA "Mixed Case";
CREATE TYPE mood AS ENUM ('good', 'bad');
CREATE TABLE t (id int PRIMARY KEY, k int, v text, m mood, EXCLUDE USING btree (k WITH =));
CREATE INDEX t_v ON t (lower(v)) WHERE k > 3;
CREATE INDEX t_k ON t (k, v DESC) INCLUDE (m);
CREATE TABLE other (id int);
SELECT plan(39);

CALL "Mixed Case".ff_collect();
CREATE FUNCTION changes() RETURNS TABLE (dropped text[], created text[]) LANGUAGE sql AS
	$$
		SELECT dropped_indexes, created_indexes FROM ff_internal.change
		WHERE kind = 'indexes' ORDER BY change_id DESC LIMIT 1 $$;
-- what the history says of the table now: its row and its indexes
CREATE VIEW now_is AS SELECT r.rel_id, r.index_oids, r.index_definitions
  FROM ff_internal.relation r WHERE r.relid = 't'::regclass AND r.closed_at IS NULL;

-- ---------------------------------------------------------------------------
-- The same indexes
-- ---------------------------------------------------------------------------
CREATE TEMP TABLE before AS TABLE now_is;
ALTER TABLE t RENAME COLUMN v TO w;
ALTER TABLE t RENAME COLUMN k TO kk;
ALTER INDEX t_v SET (fillfactor = 60);
ALTER INDEX t_pkey RENAME TO t_primary;
-- the stored definitions are read again only when an index differs
CREATE INDEX t_other ON t (id);
CALL "Mixed Case".ff_collect();
SELECT is((SELECT (dropped, created)::text FROM changes()),
	'(,"{""CREATE INDEX t_other ON public.t USING btree (id)""}")',
	'renamed columns and index, another index fillfactor: no change of these indexes');
DROP INDEX t_other;
CALL "Mixed Case".ff_collect();
DELETE FROM ff_internal.change;
REINDEX INDEX CONCURRENTLY t_v;
REINDEX INDEX CONCURRENTLY t_primary;
REINDEX INDEX CONCURRENTLY t_k;
CALL "Mixed Case".ff_collect();
SELECT is_empty('SELECT * FROM changes()', 'REINDEX CONCURRENTLY: no change of the indexes');
SELECT isnt(n.index_oids, b.index_oids, 'REINDEX CONCURRENTLY: the indexes have other OIDs') FROM now_is n, before b;
DROP INDEX t_v;
CREATE INDEX t_v2 ON t (lower(w)) WITH (fillfactor = 80, deduplicate_items = off) WHERE kk > 3;
CALL "Mixed Case".ff_collect();
SELECT is_empty('SELECT * FROM changes()', 'an index replaced by an equal one: no change of the indexes');

-- ---------------------------------------------------------------------------
-- Other indexes
-- ---------------------------------------------------------------------------
DROP INDEX t_v2;
CREATE INDEX t_v2 ON t (lower(w)) WHERE kk > 4;
CALL "Mixed Case".ff_collect();
SELECT is((SELECT array_to_string(dropped || created, '; ') FROM changes()),
	'CREATE INDEX t_v2 ON public.t USING btree (lower(w)) WITH (fillfactor=''80'', deduplicate_items=off) WHERE '
	'(kk > 3); CREATE INDEX t_v2 ON public.t USING btree (lower(w)) WHERE (kk > 4)',
	'another predicate is a change');
CREATE FUNCTION replaced(name text, definition text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	before bigint := (SELECT count(*) FROM ff_internal.change WHERE kind = 'indexes');
BEGIN
	EXECUTE format('DROP INDEX %I; CREATE %s', name, definition);
	CALL "Mixed Case".ff_collect();
	RETURN (SELECT count(*) - before FROM ff_internal.change WHERE kind = 'indexes');
END $$;
SELECT is(replaced('t_v2', 'INDEX t_v2 ON t (upper(w)) WHERE kk > 4'), 1::bigint, 'another function is a change');
SELECT is(replaced('t_v2', 'INDEX t_v2 ON t (upper(w) text_pattern_ops) WHERE kk > 4'), 1::bigint,
	'another operator class is a change');
SELECT is(replaced('t_v2', 'INDEX t_v2 ON t (upper(w) COLLATE "C") WHERE kk > 4'), 1::bigint,
	'another collation is a change');
SELECT is(replaced('t_k', 'INDEX t_k ON t (kk, w) INCLUDE (m)'), 1::bigint, 'another sort order is a change');
SELECT is(replaced('t_k', 'INDEX t_k ON t (kk, w, m)'), 1::bigint,
	'a key column instead of an included one is a change');
SELECT is(replaced('t_k', 'INDEX t_k ON t (w, kk, m)'), 1::bigint, 'another order of columns is a change');
SELECT is(replaced('t_k', 'UNIQUE INDEX t_k ON t (w, kk, m)'), 1::bigint, 'UNIQUE is a change');
SELECT is(replaced('t_k', 'UNIQUE INDEX t_k ON t (w, kk, m) NULLS NOT DISTINCT'), 1::bigint,
	'NULLS NOT DISTINCT is a change');
SELECT is(replaced('t_k', 'INDEX t_k ON t USING brin (w, kk)'), 1::bigint, 'another access method is a change');
SELECT is(replaced('t_k', 'INDEX t_k ON t USING brin (w, kk) WITH (pages_per_range = 4)'), 0::bigint,
	'another storage option is no change');

-- for which columns a changed index makes a difference: those in no other index
CREATE FUNCTION columns_of_last() RETURNS text
	LANGUAGE sql AS $$
		SELECT c.reindexed_columns::text FROM ff_internal.change c WHERE kind = 'indexes'
		ORDER BY change_id DESC LIMIT 1 $$;
CREATE FUNCTION done(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	CALL "Mixed Case".ff_collect();
	RETURN columns_of_last();
END $$;
SELECT is(done('CREATE INDEX t_m ON t (m) WHERE w IS NOT NULL'), '{4}', 'new index: columns that were in no index');
SELECT is(done('CREATE INDEX t_m2 ON t (m)'), '{}', 'new index, its column is in another one: no columns');
SELECT is(done('DROP INDEX t_m2'), '{}', 'dropped index, its column is in another one: no columns');
SELECT is(done('DROP INDEX t_m; CREATE INDEX t_id ON t (id)'), '{4}',
	'replaced index: columns that are in no index any more');
-- a renamed function counts as another one, once, but no column of the table is concerned
CREATE FUNCTION half(int) RETURNS int LANGUAGE sql IMMUTABLE RETURN $1 / 2;
SELECT is(done('CREATE INDEX t_half ON t (half(id))'), '{}',
	'new index on an expression of an indexed column: no columns');
ALTER FUNCTION half(int) RENAME TO halved;
REINDEX INDEX CONCURRENTLY t_half;
CALL "Mixed Case".ff_collect();
SELECT is(columns_of_last(), '{}', 'function renamed and its index rebuilt: no columns');
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
SELECT is((SELECT r.rel_id FROM ff_internal.relation r
	WHERE r.relid = 'elsewhere.renamed'::regclass AND r.closed_at IS NULL),
	rel_id,
	'a table is the same after grants, ALTER TABLE and rewrites of the catalogs') FROM before;
SELECT is((SELECT count(*) FROM ff_internal.relation WHERE closed_at IS NOT NULL), 0::bigint,
	'no table''s history was closed');
SELECT is((SELECT r.nspname || '.' || r.relname FROM ff_internal.relation r JOIN before USING (rel_id)),
	'elsewhere.renamed', 'the history has the table''s new name');
DELETE FROM ff_internal.relation WHERE relname = 'other';
UPDATE ff_internal.relation SET relid = 'other'::regclass WHERE relname = 'renamed';
CALL "Mixed Case".ff_collect();
SELECT is((SELECT count(*) FROM ff_internal.relation r JOIN before USING (rel_id) WHERE r.closed_at IS NOT NULL),
	1::bigint, 'another table with the same OID closes the old history');
SELECT is((SELECT count(*) FROM ff_internal.relation r
	WHERE r.closed_at IS NULL AND r.relid IN ('other'::regclass, 'elsewhere.renamed'::regclass)),
	2::bigint, 'both tables begin a new history');

-- ---------------------------------------------------------------------------
-- Empty tables
-- ---------------------------------------------------------------------------
CREATE TABLE queue (id int, pad text) WITH (autovacuum_enabled = off);
INSERT INTO queue SELECT i, repeat('x', 100) FROM generate_series(1, 100) i;
DELETE FROM queue;
CREATE TABLE never_filled (id int);
CALL "Mixed Case".ff_collect();
SELECT is((s.live_rows, s.dead_rows, s.inserted_width, s.inserted_length)::text, v.expected,
	v.name || ': row length')
  FROM (VALUES ('queue', '(0,100,129,"{136,100}")'), ('never_filled', '(0,0,,)')) v(name, expected)
  JOIN ff_internal.relation r ON r.relname = v.name JOIN ff_internal.page_sample s USING (rel_id);

-- ---------------------------------------------------------------------------
-- Speeds, units, names
-- ---------------------------------------------------------------------------
SELECT is((SELECT array_agg(DISTINCT read_ms IS NOT NULL) FROM ff_internal.collection),
	ARRAY[current_setting('track_io_timing')::boolean], 'read time is stored only if track_io_timing is on');
SELECT is((SELECT bool_and(blocks_read >= 0) FROM ff_internal.collection), true, 'blocks read are stored');
SELECT is(t.read_us, NULL, 'nothing was timed: no read speed') FROM ff_internal.io_speed() t;
INSERT INTO ff_internal.collection (epoch_id, began_at, relations, changed, track_counts, open_writers, own_inserts,
	blocks_read, read_ms)
SELECT e, now(), 0, 0, true, 0, 0, r, CASE WHEN timed THEN r_ms END FROM (VALUES
	(1, false, 1000000, 50), (1, true, 2000000, 70), (1, true, 2001500, 270),	-- 1500 blocks in 200 ms
	(1, true, 2000, 10), (2, true, 9000000, 11),
	(2, true, 9000500, 311)) v(e, timed, r, r_ms);	-- a reset, another epoch; 500 in 300 ms
CALL "Mixed Case".ff_collect();
SELECT is(t.read_us, 250::float8, 'the read speed comes from timed collections, never across a reset or an epoch')
	FROM ff_internal.io_speed() t;
SELECT throws_ok('SET fillfactor_advisor.lookback = 9', '22023', NULL, 'lookback = 9, which is seconds, is refused');
SET fillfactor_advisor.lookback = '9d';
SET fillfactor_advisor.retention = '30 d';
SET fillfactor_advisor.payback_time = '36h';
SELECT is(array(SELECT ff_internal.setting(s) FROM unnest('{lookback,retention,payback_time}'::text[]) s),
	'{777600,2592000,129600}', 'settings take units and are returned in seconds');

-- the last nine collections came every ten minutes, the last one five minutes ago
UPDATE ff_internal.collection c SET began_at = now() + interval '5 min' - n.n * interval '10 min'
  FROM (SELECT collection_id, row_number() OVER (ORDER BY collection_id DESC) AS n FROM ff_internal.collection) n
 WHERE n.collection_id = c.collection_id;
SELECT is(ff_internal.next_collection(), 'next collection at ' || to_char(now() + interval '5 min',
	'YYYY-MM-DD HH24:MI'),
	'the next collection is expected ten minutes after the last');
UPDATE ff_internal.collection SET began_at = began_at - interval '5 min';
SELECT is(ff_internal.next_collection(), 'next collection within a minute', 'no time that is already past');
UPDATE ff_internal.collection SET began_at = began_at - interval '5 min';
SELECT is(ff_internal.next_collection(), 'next collection within a minute', 'nor if it is late');

ALTER SCHEMA "Mixed Case" RENAME TO "ren am";
CALL "ren am".ff_collect();
SELECT is((SELECT failed + skipped + deferred FROM ff_internal.collection ORDER BY collection_id DESC LIMIT 1), 0,
	'extension''s schema renamed: a collection works');
SELECT lives_ok('SELECT * FROM "ren am".ff_statements()', 'extension''s schema renamed: ff_statements() works');
SELECT * FROM finish();
