-- Stage sample: exact numbers on constructed pages.
--
-- Temporary tables, because only this session's own transactions decide what
-- may be pruned from them: other sessions' snapshots do not.  They are not
-- autovacuumed either.
CREATE EXTENSION fillfactor_advisor;
SET max_parallel_workers_per_gather = 0;

-- with the errors, which page_sample does not have
CREATE FUNCTION measured(relation regclass, OUT blocks bigint, OUT blocks_read int, OUT blocks_new int,
    OUT blocks_bad int,
                         OUT live_pct real, OUT live_pct_err real, OUT dead_pct real, OUT dead_pct_err real,
                         OUT free_pct real, OUT free_pct_err real, OUT live_rows float8, OUT live_rows_err real,
                         OUT dead_rows float8, OUT rows_per_page real, OUT rows_per_page_max real,
                         OUT inserted_width real)
AS '$libdir/fillfactor_advisor', 'ff_sample' LANGUAGE C;
-- One row: 24 bytes of header, 4 of id, 77 of pad make 105, 112 when aligned,
-- 116 with the line pointer: a page takes floor(8168 / 116) = 70 of them.
CREATE TEMP TABLE inserted (id int, pad text);
INSERT INTO inserted SELECT g, repeat('x', 76) FROM generate_series(1, 140) g;
SELECT blocks, blocks_read, blocks_new, blocks_bad, live_rows, live_rows_err,
       dead_rows, rows_per_page, rows_per_page_max
  FROM measured('inserted');
SELECT live_pct = round(100 * 140 * 105 / 16384.0, 3)::real AS live, live_pct_err, dead_pct, dead_pct_err,
       free_pct = round(100 * 2 * (8168 - 70 * 116) / 16384.0, 3)::real AS free, free_pct_err
  FROM measured('inserted');
SELECT inserted_width, updated_width, updated_pct,
       update_group_rows, update_distance, inserted_length, updated_length
  FROM ff_internal.sample('inserted');

-- At fillfactor 50: floor((8168 - 4096) / 116) = 35 rows.  The bytes left
-- above the reserve are too few for another row.
CREATE TEMP TABLE half (id int, pad text) WITH (fillfactor = 50);
INSERT INTO half SELECT g, repeat('x', 76) FROM generate_series(1, 70) g;
SELECT blocks, live_rows, rows_per_page,
       free_pct = (100 * (8168 - 35 * 116) / 8192.0)::real AS free
  FROM ff_internal.sample('half');

-- Where did the new version go?  HOT; in the page, but an indexed column
-- changed; in another page, as this one was full.
CREATE TEMP TABLE hot (id int PRIMARY KEY, indexed int, v int, pad text) WITH (fillfactor = 50);
CREATE INDEX ON hot (indexed);
INSERT INTO hot SELECT g, g, 0, repeat('x', 76) FROM generate_series(1, 20) g;
UPDATE hot SET v = 1 WHERE id <= 5;
UPDATE hot SET indexed = -1 WHERE id BETWEEN 6 AND 8;
SELECT blocks, live_rows, dead_rows, updated_hot_rows, updated_nonhot_rows, superseded_hot,
       superseded_same_page, superseded_newpage, updated_pct, update_group_rows, group_old_page, group_new_page
  FROM ff_internal.sample('hot');
-- Which columns updates changed: NULL, short, long and toasted values; a dropped column; at most ten of a page.
SELECT changed_columns FROM ff_internal.sample('hot');
CREATE TEMP TABLE changed (id smallint, gone int, b text, c text, d text, e name, f bigint) WITH (fillfactor = 20);
ALTER TABLE changed ALTER d SET STORAGE EXTERNAL;
INSERT INTO changed SELECT g, g, 'b', repeat('c', 200), repeat('d', 3000), 'e', NULL FROM generate_series(1, 4) g;
ALTER TABLE changed DROP gone;
UPDATE changed SET b = 'B', c = c;
SELECT changed_columns FROM ff_internal.sample('changed');
UPDATE changed SET b = 'B', c = repeat('c', 201), d = d || 'd', f = 1;
SELECT changed_columns FROM ff_internal.sample('changed');
UPDATE changed SET e = 'longer', b = NULL, d = d, f = f WHERE id <= 2;
SELECT changed_columns FROM ff_internal.sample('changed');
CREATE TEMP TABLE twenty WITH (fillfactor = 10) AS SELECT g AS id, 0 AS v FROM generate_series(1, 20) g;
UPDATE twenty SET v = 1;
SELECT changed_columns FROM ff_internal.sample('twenty');
CREATE TEMP TABLE moved (id int PRIMARY KEY, v int, pad text);
INSERT INTO moved SELECT g, 0, repeat('x', 76) FROM generate_series(1, 70) g;
UPDATE moved SET v = 1 WHERE id <= 7;
SELECT blocks, live_rows, dead_rows, updated_hot_rows, updated_nonhot_rows, superseded_hot,
       superseded_same_page, superseded_newpage, rows_per_page, rows_per_page_max, group_old_page, group_new_page
  FROM ff_internal.sample('moved');

-- Deleted rows have no successor; rows of an aborted insert neither.
CREATE TEMP TABLE gone (id int PRIMARY KEY, pad text);
INSERT INTO gone SELECT g, repeat('x', 76) FROM generate_series(1, 20) g;
DELETE FROM gone WHERE id <= 4;
BEGIN;
INSERT INTO gone SELECT g, repeat('x', 76) FROM generate_series(21, 23) g;
ROLLBACK;
INSERT INTO gone SELECT g, repeat('x', 76) FROM generate_series(24, 25) g;
SELECT live_rows, dead_rows, recently_dead_rows, superseded_hot,
       superseded_same_page, superseded_newpage, dead_pct = (100 * 7 * 105 / 8192.0)::real AS dead
  FROM ff_internal.sample('gone');
-- rows deleted by an open transaction are dead for itself, but not for others
BEGIN;
DELETE FROM gone WHERE id = 5;
INSERT INTO gone VALUES (26, repeat('x', 76));
SELECT live_rows, dead_rows, recently_dead_rows FROM ff_internal.sample('gone');
ROLLBACK;
-- a locked row is live, also when several transactions lock it
BEGIN;
SELECT id FROM gone WHERE id = 6 FOR SHARE;
SAVEPOINT s;
SELECT id FROM gone WHERE id = 6 FOR UPDATE;
SELECT live_rows, dead_rows FROM ff_internal.sample('gone');
COMMIT;

-- Pruned and vacuumed: HOT chains leave redirects; other updates leave dead line
-- pointers while indexes still point to them.
VACUUM (INDEX_CLEANUP OFF) hot;
SELECT live_rows, dead_rows, superseded_hot,
       updated_hot_rows, updated_nonhot_rows
  FROM ff_internal.sample('hot');
VACUUM (INDEX_CLEANUP ON) hot;
SELECT live_rows, dead_rows FROM ff_internal.sample('hot');
-- after a rewrite rows still count as updated, but not as HOT or non-HOT
VACUUM FULL hot;
SELECT live_rows, updated_hot_rows, updated_nonhot_rows
  FROM ff_internal.sample('hot');

-- Rows written by one transaction: 5 and 3 on a page, of which 2 are then updated
-- together.  Distance in transaction ids, by powers of two.
CREATE TEMP TABLE groups (id int PRIMARY KEY, v int) WITH (fillfactor = 50);
INSERT INTO groups SELECT g, 0 FROM generate_series(1, 5) g;
INSERT INTO groups SELECT g, 0 FROM generate_series(6, 8) g;
SELECT update_group_rows, update_distance FROM ff_internal.sample('groups');
DO $$ BEGIN FOR i IN 1..3 LOOP PERFORM txid_current(); COMMIT; END LOOP; END $$;
UPDATE groups SET v = 1 WHERE id IN (1, 2);
SELECT update_group_rows, updated_pct FROM ff_internal.sample('groups');
-- three rows of each insert were never updated; the median is the later insert
SELECT update_distance = array_fill(0::real, ARRAY[d.bin]) || 2::real AS median
  FROM ff_internal.sample('groups'),
       (SELECT floor(log(2,
           (SELECT age(xmin) FROM groups WHERE id = 8) - (SELECT age(xmin) FROM groups WHERE id = 1)))::int) d(bin);
-- all rows updated: the original versions show when they were inserted
CREATE TEMP TABLE batch (id int, v int) WITH (fillfactor = 50);
INSERT INTO batch SELECT g, 0 FROM generate_series(1, 30) g;
SELECT xmin::text::bigint AS inserted FROM batch LIMIT 1 \gset
UPDATE batch SET v = 1;
SELECT update_group_rows, update_distance = array_fill(0::real, ARRAY[d.bin]) || 30::real AS distance
  FROM ff_internal.sample('batch'),
      (SELECT floor(log(2, (SELECT xmin::text::bigint FROM batch LIMIT 1) - :inserted))::int) d(bin);

-- One statement updates a fifth of every page while the pages are full:
-- 14 of 70 rows, also on the pages that the new versions filled.
CREATE TEMP TABLE fifth (id int, v int, pad text);
INSERT INTO fifth SELECT g, 0, repeat('x', 72) FROM generate_series(1, 7000) g;
UPDATE fifth SET v = 1 WHERE id % 5 = 0;
SELECT blocks, live_rows, update_group_rows, group_old_page, group_new_page FROM ff_internal.sample('fifth');
-- all rows updated: the old pages lost all their rows
UPDATE fifth SET v = 2;
SELECT update_group_rows FROM ff_internal.sample('fifth');

-- Pooled with an earlier sample, whose numbers fade; it still knows what a restore removes from rows
CREATE TEMP TABLE taken AS SELECT s AS sample FROM ff_internal.sample('fifth') s;
CREATE TEMP TABLE restored (LIKE fifth);
INSERT INTO restored SELECT * FROM fifth;
SELECT p.live_rows, p.updated_pct, p.update_group_rows, p.update_distance IS NOT NULL AS distance,
       p.superseded_newpage = (t.sample).superseded_newpage / 2 AS same_state, q.superseded_newpage AS other_state,
       p.inserted_length, p.updated_length,
           p.group_old_page = ARRAY(SELECT (o / 2)::real FROM unnest((t.sample).group_old_page) o) AS groups
  FROM taken t, ff_internal.sample('restored') s, ff_internal.pool_samples(s, t.sample, 0.5, true) p,
      ff_internal.pool_samples(s, t.sample, 0.5, false) q;

-- numbers faded to nearly zero become zero, without an error
SELECT p.superseded_hot, p.group_old_page, p.inserted_length, p.updated_length
  FROM ff_internal.pool_samples(jsonb_populate_record(NULL::ff_internal.page_sample, '{"superseded_hot": 0}'),
           jsonb_populate_record(NULL::ff_internal.page_sample,
               '{"superseded_hot": 1e-300, "group_old_page": [1e-38], "inserted_length": [32, 1e-38, 40, 1], '
               '"updated_length": [32, 1e-38]}'),
           1e-300, true) p;

-- Widths: 24 + 4 + 4 + 1 + n bytes.  Updated rows have grown.
CREATE TEMP TABLE grows (id int, v int, note text) WITH (fillfactor = 30);
INSERT INTO grows SELECT g, 0, repeat('x', 10 + g % 2 * 10) FROM generate_series(1, 40) g;
UPDATE grows SET note = repeat('y', 100) WHERE id <= 10;
SELECT inserted_width, updated_width, updated_pct
  FROM ff_internal.sample('grows');
-- 50 null columns and one: a bitmap of 7 bytes, aligned 32
SELECT format('CREATE TEMP TABLE wide (%s)', string_agg(format('c%s int', g), ', '))
    FROM generate_series(1, 51) g \gexec
INSERT INTO wide (c51) SELECT 1 FROM generate_series(1, 10);
SELECT live_rows, inserted_width FROM ff_internal.sample('wide');
-- out-of-line values are part of the TOAST table, not of the row
CREATE TABLE toasted (id int, doc text);
ALTER TABLE toasted SET (autovacuum_enabled = off, toast.autovacuum_enabled = off);
ALTER TABLE toasted ALTER doc SET STORAGE EXTERNAL;
INSERT INTO toasted SELECT g, repeat('x', 10000) FROM generate_series(1, 10) g;
SELECT live_rows, inserted_width FROM ff_internal.sample('toasted');
SELECT s.blocks, s.live_rows
    FROM pg_class c, ff_internal.sample(c.reltoastrelid::regclass) s
    WHERE c.oid = 'toasted'::regclass;

-- Nothing to measure
CREATE TEMP TABLE empty (id int);
SELECT * FROM ff_sample('empty') \gx
SELECT to_jsonb(s) - '{relation,sampled_at}'::text[] AS sample FROM ff_internal.sample('empty') s;

-- A table large enough to be sampled instead of read whole.  One row a page.
CREATE TEMP TABLE many (id int, pad text);
ALTER TABLE many ALTER pad SET STORAGE PLAIN;
INSERT INTO many SELECT g, repeat('x', 7000) FROM generate_series(1, 2000) g;
SELECT blocks, blocks_read < 700 AS few, live_rows, live_rows_err, live_pct_err, inserted_width
  FROM measured('many');
DELETE FROM many WHERE id % 3 = 0;
SET fillfactor_advisor.sample_error = 5;
SET fillfactor_advisor.sample_seed = 42;
SELECT blocks_read AS pages, live_rows AS rows FROM measured('many') \gset
SELECT blocks_read = :pages AS same_pages, live_rows = :rows AS same_rows, live_rows_err > 0 AS uncertain,
       blocks_read <= current_setting('fillfactor_advisor.sample_pages')::int AS within_limit
  FROM measured('many');
SELECT abs(live_rows - 1334) < 2 * live_rows_err AND abs(dead_rows - 666) < 2 * live_rows_err AS near
  FROM measured('many');
SET fillfactor_advisor.sample_pages = 100;
SELECT blocks_read <= 100 AS within_limit FROM ff_internal.sample('many');
-- also if all pages are equal, so that the error is zero
CREATE TEMP TABLE equal (pad text);
ALTER TABLE equal ALTER pad SET STORAGE PLAIN;
INSERT INTO equal SELECT repeat('x', 7000) FROM generate_series(1, 5173) g;
SELECT pages, blocks, blocks_read BETWEEN 0.8 * pages AND pages AS within_limit, live_rows, live_rows_err
  FROM (VALUES (100), (108), (113), (127)) v(pages)
 CROSS JOIN LATERAL (SELECT set_config('fillfactor_advisor.sample_pages', pages::text, false)) c
 CROSS JOIN LATERAL measured(CASE WHEN c IS NOT NULL THEN 'equal' END) s;
DROP TABLE equal;
RESET fillfactor_advisor.sample_pages;
-- sample_error 0: all pages are read
SET fillfactor_advisor.sample_error = 0;
SELECT blocks_read, live_rows, live_rows_err, dead_rows FROM measured('many');
RESET fillfactor_advisor.sample_error;
RESET fillfactor_advisor.sample_seed;

-- No relations; relations of all kinds are in test/collect/relations.sql
\set VERBOSITY sqlstate
SELECT ff_sample(NULL);
SELECT ff_sample(0);
SELECT ff_sample(4294967295::oid::regclass);
SELECT ff_sample('hot_pkey');
SET fillfactor_advisor.sample_pages = 0;
\set VERBOSITY default

-- a type with a column missing that the library fills
BEGIN;
ALTER TABLE ff_internal.page_sample RENAME live_pct TO alive_pct;
SELECT ff_internal.sample('inserted');
ROLLBACK;

DROP TABLE toasted;
DROP EXTENSION fillfactor_advisor;
