-- Stage model: facts that hold whatever the table.  Replays are deterministic,
-- so shares of known lifecycles can be bounded exactly.
CREATE EXTENSION fillfactor_advisor;
\set VERBOSITY sqlstate

-- Rows per page: the formula at known widths, never under one.
SELECT width, array_agg(ff_internal.rows_per_page(f, width) ORDER BY f DESC) AS at_100_95_90_70_50_10
  FROM unnest(ARRAY[24, 64, 121, 128, 500, 2440, 4000, 8160]) width, unnest(ARRAY[100, 95, 90, 70, 50, 10]) f
 GROUP BY width ORDER BY width;

-- Loading puts just as many rows on a page, at every width and fillfactor.
SELECT count(*) AS loads, count(*) FILTER (WHERE t.pages <> ceil(300.0 / least(291, ff_internal.rows_per_page(f, width)))) AS wrong
  FROM generate_series(24, 2000, 152) width, generate_series(10, 100, 5) f,
       LATERAL (SELECT width AS insert_len, 300 AS start_rows, 0 AS measure) l, LATERAL ff_internal.twin(l, f) t;

-- A step's edge is the highest fillfactor of the step.
SELECT count(*) AS edges, bool_and(ff_internal.rows_per_page(e, width) = ff_internal.rows_per_page(f, width)) AS same_rows,
       bool_and(e >= f) AS not_lower, bool_and(e = 100 OR ff_internal.rows_per_page(e + 1, width) > ff_internal.rows_per_page(e, width)) AS highest
  FROM generate_series(32, 8160, 56) width, generate_series(10, 100) f, ff_internal.step_edge(f, width) e;
SELECT ff_internal.step_edge(95, 2440), ff_internal.step_edge(89, 2440), ff_internal.step_edge(70, 2440), ff_internal.step_edge(59, 2440);
SELECT ff_internal.step_edge(9, 100);
SELECT ff_internal.step_edge(101, 100);
SELECT ff_internal.step_edge(90, 0);
SELECT ff_internal.step_edge(90, 8161);
SELECT ff_internal.step_edge(NULL, 100);

-- The twin: what must be so.
SELECT f, t.updates, t.hot = 0 AS never_hot, t.same_page_cold = t.updates AS all_in_their_page
  FROM (SELECT 128 AS insert_len, 5000 AS start_rows, 5000 AS measure, 0 AS hot_eligible) l, unnest(ARRAY[50, 80]) f, ff_internal.twin(l, f) t;
SELECT f, round(100 * t.hot / t.updates) AS hot
  FROM (SELECT 104 AS insert_len, 200 AS insert_rows, 200 AS update_rows, 0.5 AS inserts_per_update, 1 AS fresh_share, 200 AS fresh_distance, 10000 AS measure) l,
       unnest(ARRAY[50, 100]) f, ff_internal.twin(l, f) t;
SELECT bool_and(a = b) AS deterministic
  FROM (SELECT 80 AS insert_len, 200 AS update_len, 3 AS grow_updates, 3000 AS start_rows, 0.3 AS inserts_per_update) l,
       generate_series(10, 100, 10) f, ff_internal.twin(l, f) a, ff_internal.twin(l, f) b;
SELECT ff_internal.twin(ROW(1), 9);
SELECT ff_internal.twin(l, 90) FROM (SELECT 'wide'::text AS insert_len) l;

-- The model: evidence by name, one row a step.
CREATE TEMP TABLE seen AS
SELECT * FROM (VALUES
    ('batch',   100, 20000, 0, 10000, 104, 104, 75, 100, 20000, 400, 3),
    ('settled', 100, 50000, 49900, 0, 128, 128, 1, 90, 20000, 350, 2),
    ('indexed', 100, 50000, 500, 0, 128, 128, 1, 90, 20000, 350, 2),
    ('at_70',    70, 50000, 50000, 0, 128, 128, 1, 90, 20000, 480, 2)
) v (name, fillfactor, updated, hot_updated, inserted, inserted_width, updated_width, update_group_rows, updated_pct, live_rows, blocks, indexes);
CREATE TEMP VIEW answered AS
SELECT s.name, m.* FROM seen s
 CROSS JOIN LATERAL (SELECT s.*, s.updated AS recent_updated, s.hot_updated AS recent_hot, s.inserted AS recent_inserted, 600 AS recent_s,
                            s.update_group_rows AS insert_group_rows, 8192 * s.blocks AS heap_bytes, 8192 * 100 AS index_bytes,
                            CASE WHEN s.name = 'indexed' THEN 1000 END AS seen_same_page, CASE s.name WHEN 'indexed' THEN 1 WHEN 'batch' THEN 1000 END AS seen_newpage) e
 CROSS JOIN LATERAL (SELECT 100000 AS total_updated, 3 AS vacuums) x
 CROSS JOIN LATERAL ff_internal.model(e, x) m;
SELECT name, count(*) > 10 AS steps, min(fillfactor) >= 10 AND max(fillfactor) = 100 AS within, count(DISTINCT rows_per_page) = count(*) AS edges_only,
       bool_and(hot_pct BETWEEN 0 AND 100 AND hot_pct_low <= hot_pct AND hot_pct <= hot_pct_high AND hot_pct_low >= 0 AND hot_pct_high <= 100) AS range,
       bool_and(newpage_pct BETWEEN 0 AND 100 AND hot_pct + newpage_pct < 100.001) AS shares, min(cost) = 1 AS best_is_one,
       count(*) FILTER (WHERE is_current) AS current, count(*) FILTER (WHERE is_advised) AS advised,
       bool_and(confidence BETWEEN 0 AND 1) AS confidence, bool_and(gain >= 1) AS gain
  FROM answered GROUP BY name ORDER BY name;
SELECT name, max(size_bytes) FILTER (WHERE fillfactor = 100) < 0.7 * min(size_bytes) FILTER (WHERE fillfactor = 50) AS fuller_is_smaller
  FROM answered WHERE name IN ('settled', 'at_70') GROUP BY name ORDER BY name;
-- batches want room, settled tables and indexed columns do not
SELECT name, max(fillfactor) FILTER (WHERE is_advised) BETWEEN 25 AND 55 AS half, max(fillfactor) FILTER (WHERE is_advised) >= 90 AS full,
       bool_and(hot_pct < 3) AS never_hot FROM answered GROUP BY name ORDER BY name;
-- less than min_gain is no reason
BEGIN;
SET LOCAL fillfactor_advisor.min_gain = 100;
SELECT name, bool_and(is_advised = is_current) AS kept FROM answered GROUP BY name ORDER BY name;
ROLLBACK;
-- no updates: nothing is predicted, the fullest page is best
SELECT bool_and(m.hot_pct IS NULL), max(m.fillfactor) FILTER (WHERE m.is_advised) FROM (SELECT 70 AS fillfactor, 100 AS inserted_width, 10 AS blocks, 500 AS live_rows) e, (SELECT 1 AS vacuums) x, ff_internal.model(e, x) m;
-- no width: no rows
SELECT count(*) FROM (SELECT 90 AS fillfactor, 5 AS updated) e, (SELECT 1 AS vacuums) x, ff_internal.model(e, x) m;
-- nonsense ends in an answer, not in an error
SELECT count(*) > 0 AS answered FROM (SELECT 1e300 AS updated, 'NaN'::float8 AS hot_updated, -5 AS live_rows, 'Infinity'::float8 AS inserted_width, -1 AS fillfactor, 50 AS updated_width) e, (SELECT -1 AS vacuums) x, ff_internal.model(e, x) m;
SELECT count(*) FROM (SELECT 'many'::text AS updated) e, (SELECT 1 AS vacuums) x, ff_internal.model(e, x) m;

-- memory's part: one table, young, updated all over, three tenths of it not HOT, with
-- two indexes; well within memory, as large as memory, at ten times memory.  The
-- curve is the same.  At memory's size each page more is read by everybody; far
-- beyond it, a row that moves has index pages read and written.
WITH m AS (
    SELECT r.ratio, m.*
      FROM (VALUES (0.1), (1), (10)) r(ratio)
     CROSS JOIN LATERAL (SELECT 100 AS fillfactor, 3000000 AS updated, 2100000 AS hot_updated, 900000 AS newpage_updated, 0 AS inserted, 0 AS deleted,
                                600 AS window_s, 6000000 AS live_rows, 105264 AS blocks, 57 AS rows_per_page,
                                128 AS inserted_width, 0 AS inserted_width_err, 128 AS updated_width, 0 AS updated_width_err, 39.3 AS updated_pct,
                                1 AS update_group_rows, 2 AS indexes, 862322688 AS heap_bytes, 640000000 AS index_bytes,
                                1502322688 / r.ratio AS ram_bytes) e
     CROSS JOIN LATERAL (SELECT 6000000 AS total_inserted, 3000000 AS total_updated, 300 AS checkpoint_s) x
     CROSS JOIN LATERAL ff_internal.model(e, x) m
)
SELECT (SELECT count(DISTINCT (fillfactor, hot_pct)) = count(DISTINCT fillfactor) FROM m) AS same_curve,
       a.fillfactor > b.fillfactor AND a.gain < b.gain - 0.03 AS less_at_memory, b.fillfactor < 90 AS within, c.fillfactor <= b.fillfactor AND c.gain > b.gain + 0.02 AS more_beyond,
       a.advised_in_ram = b.fillfactor AND c.advised_in_ram = b.fillfactor AS said_why
  FROM m a, m b, m c
 WHERE a.is_advised AND b.is_advised AND c.is_advised AND (a.ratio, b.ratio, c.ratio) = (1, 0.1, 10);

-- ff_curve says why it has nothing to show.
CREATE TABLE model_t (a int);
CREATE VIEW model_v AS SELECT 1 AS a;
SELECT * FROM ff_curve(NULL);
SELECT * FROM ff_curve('model_v');
SELECT * FROM ff_curve(4294967295::oid::regclass);
SELECT * FROM ff_curve('model_t');
DROP VIEW model_v;
DROP TABLE model_t;

SET fillfactor_advisor.payback_time = 0;
SET fillfactor_advisor.storage_weight = 2;
SET fillfactor_advisor.min_gain = -1;
DROP VIEW answered;
DROP EXTENSION fillfactor_advisor;
