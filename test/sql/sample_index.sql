-- Samples of B-tree indexes: exact numbers on constructed pages.
-- Temporary tables, for the reason given in sample.sql.
CREATE EXTENSION fillfactor_advisor;
SET max_parallel_maintenance_workers = 0;

CREATE TEMP TABLE t (id int, v int, pad text);
INSERT INTO t SELECT g, g % 10, repeat('x', 50) FROM generate_series(1, 10000) g;

-- Built: leaves in the order of the file, all at fillfactor except the last one.
CREATE INDEX built ON t (id);
SELECT index, relation, blocks = blocks_read AS whole, blocks_new, blocks_bad,
       leaf_pages, internal_pages, deleted_pages, fragmentation, row_pointers, deduplicated_pct
  FROM ff_sample_index('built');
SELECT leaf_density BETWEEN 87 AND 91 AS density, leaf_density_err,
       round(at_fillfactor_pct * leaf_pages / 100) = leaf_pages - 1 AS all_but_the_last,
       round(half_full_pct * leaf_pages / 100) AS the_last
  FROM ff_sample_index('built');
CREATE INDEX built_70 ON t (id) WITH (fillfactor = 70);
SELECT leaf_density BETWEEN 67 AND 71 AS density, at_fillfactor_pct > 90 AS at_fillfactor
    FROM ff_sample_index('built_70');

-- Grown at the right end, and at the left end
CREATE TEMP TABLE ascending (id int PRIMARY KEY);
INSERT INTO ascending SELECT g FROM generate_series(1, 20000) g;
SELECT row_pointers, at_fillfactor_pct > 95 AS at_fillfactor, half_full_pct < 5 AS not_half_full, fragmentation
  FROM ff_sample_index('ascending_pkey');
CREATE TEMP TABLE descending (id int PRIMARY KEY);
INSERT INTO descending SELECT -g FROM generate_series(1, 20000) g;
SELECT row_pointers, at_fillfactor_pct < 5 AS not_at_fillfactor, half_full_pct > 95 AS half_full,
    fragmentation > 90 AS fragmented
  FROM ff_sample_index('descending_pkey');

-- Ten values in 10,000 rows: all pointers are in posting lists
CREATE INDEX deduplicated ON t (v);
SELECT row_pointers, deduplicated_pct, row_pointers * 7 < 8192 * leaf_pages AS dense
  FROM ff_sample_index('deduplicated');
CREATE INDEX single ON t (v) WITH (deduplicate_items = off);
SELECT row_pointers, deduplicated_pct, row_pointers * 16 < 8192 * leaf_pages AS dense FROM ff_sample_index('single');

-- Emptied pages are deleted
DELETE FROM t WHERE id BETWEEN 2000 AND 8000;
VACUUM (TRUNCATE OFF) t;
SELECT row_pointers, deleted_pages > 10 AS deleted, blocks = leaf_pages + internal_pages + deleted_pages + 1 AS complete
  FROM ff_sample_index('built');

-- An index without rows is a metapage
CREATE TEMP TABLE empty (id int PRIMARY KEY);
SELECT * FROM ff_sample_index('empty_pkey') \gx

-- Relations that cannot be sampled
CREATE TABLE invalid (id int);
INSERT INTO invalid VALUES (1), (1);
\set VERBOSITY sqlstate
SELECT ff_sample_index(NULL);
SELECT ff_sample_index(0);
SELECT ff_sample_index('t');
CREATE INDEX a_hash ON t USING hash (id);
SELECT ff_sample_index('a_hash');
CREATE UNIQUE INDEX CONCURRENTLY invalid_id ON invalid (id);
SELECT ff_sample_index('invalid_id');
CREATE TABLE parent (id int PRIMARY KEY) PARTITION BY RANGE (id);
SELECT ff_sample_index('parent_pkey');
CREATE ROLE regress_ff_nobody;
SET ROLE regress_ff_nobody;
SELECT ff_sample_index('built');
RESET ROLE;
\set VERBOSITY default
DROP ROLE regress_ff_nobody;
DROP TABLE invalid, parent;
DROP EXTENSION fillfactor_advisor;
