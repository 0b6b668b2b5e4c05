-- The model: facts that hold for every table.
CREATE EXTENSION fillfactor_advisor;
\set VERBOSITY sqlstate

-- Rows per page: the formula at known widths, never under one.
SELECT width, array_agg(ff_internal.rows_per_page(f, width) ORDER BY f DESC) AS at_100_95_90_70_50_10
  FROM unnest(ARRAY[NULL, 0, 24, 32.5, 64, 121, 128, 500, 2440, 4000, 8160, 1e9]) width,
      unnest(ARRAY[100, 95, 90, 70, 50, 10]) f
 GROUP BY width ORDER BY width;
SELECT ff_internal.rows_per_page(f, 100) FROM unnest(ARRAY[-2147483648, 10, 100, 2147483647]) f;

-- Evidence of one table gives a choice and one row for each step.  Replays are deterministic.
CREATE FUNCTION model_of(facts jsonb, curve boolean DEFAULT true, OUT c ff_internal.choice,
    OUT steps ff_internal.step[])
    LANGUAGE sql
RETURN (SELECT m
    FROM json_to_record(ff_internal.model(jsonb_populate_record(NULL::ff_internal.model_input, facts), curve))
         m(choice ff_internal.choice, steps ff_internal.step[]));
CREATE TEMP TABLE seen AS
SELECT name, to_jsonb(v) - 'name' - 'updated' - 'hot' - 'inserted' - 'bytes' - 'group_bin'
       || jsonb_build_object('interval_seconds', ARRAY[600], 'interval_updated', ARRAY[updated],
              'interval_hot', ARRAY[hot],
           'interval_inserted', ARRAY[inserted], 'interval_deleted', ARRAY[inserted], 'interval_vacuums', ARRAY[3],
           'earlier_updated', 100000, 'inserted_length', ARRAY[bytes, 1], 'updated_length', ARRAY[bytes, 1],
           'group_old_page', array_fill(0, ARRAY[group_bin]) || 1, 'index_bytes', 8192 * 100) AS facts
  FROM (VALUES
    ('batch',   100, 20000, 0, 10000, 104, 7, 100, 20000, 400, 3, NULL::int, 1000),
    ('settled', 100, 50000, 49900, 0, 128, 0, 90, 20000, 350, 2, NULL, NULL),
    ('indexed', 100, 50000, 500, 0, 128, 0, 90, 20000, 350, 2, 1000, 1),
    ('at_70',    70, 50000, 50000, 0, 128, 0, 90, 20000, 480, 2, NULL, NULL)
) v (name, fillfactor, updated, hot, inserted, bytes, group_bin, updated_pct, live_rows, blocks, indexes,
    seen_same_page, seen_moved);
CREATE TEMP VIEW answered AS
SELECT s.name, m.c, t.* FROM seen s CROSS JOIN LATERAL model_of(s.facts) m CROSS JOIN LATERAL unnest(m.steps) t;
CREATE TEMP TABLE answers AS TABLE answered;
SELECT name, count(*) > 10 AS steps, min(fillfactor) >= 10 AND max(fillfactor) = 100 AS within,
    count(DISTINCT rows_per_page) = count(*) AS edges_only,
       bool_and(hot_pct BETWEEN 0 AND 100 AND hot_pct_low <= hot_pct
           AND hot_pct <= hot_pct_high AND hot_pct_low >= 0
           AND hot_pct_high <= 100) AS range,
       bool_and(newpage_pct BETWEEN 0 AND 100 AND hot_pct + newpage_pct < 100.001) AS shares,
       min(cost) = 1 AS best_is_one,
       count(*) FILTER (WHERE fillfactor = (c).current_step) AS current,
       count(*) FILTER (WHERE fillfactor = (c).advised_step) AS advised,
       bool_and((c).confidence BETWEEN 0 AND 1) AS confidence, bool_and((c).gain >= 1) AS gain
  FROM answers GROUP BY name ORDER BY name;
-- pages stay as full as they are if a lower fillfactor is set; a raise is shown rewritten
SELECT name,
    max(size_bytes) FILTER (WHERE fillfactor = 100)
        < 0.8 * min(size_bytes) FILTER (WHERE fillfactor <= 51) AS fuller_is_smaller
  FROM answers WHERE name IN ('settled', 'at_70') GROUP BY name ORDER BY name;
-- batches get room, settled tables and indexed columns do not; with less room, pages are pruned less often
SELECT name, max((c).action) IN ('set', 'rewrite') AS change, max((c).advised_step) <= 80 AS room,
    max((c).advised_step) >= 90 AS full, bool_and(hot_pct < 3) AS never_hot
  FROM answers GROUP BY name ORDER BY name;
SELECT bool_and(a = b) AS deterministic FROM seen s, model_of(s.facts) a, model_of(s.facts) b;
-- the members of the library's JSON are the columns of the types
CREATE FUNCTION attributes(regclass) RETURNS text[] LANGUAGE sql
RETURN ARRAY(SELECT attname::text FROM pg_attribute WHERE attrelid = $1 AND attnum > 0 ORDER BY 1);
SELECT ARRAY(SELECT json_object_keys(j -> 'choice') ORDER BY 1) = attributes('ff_internal.choice') AS choice,
       ARRAY(SELECT json_object_keys(j -> 'steps' -> 0) ORDER BY 1) = attributes('ff_internal.step') AS step
  FROM seen s, LATERAL ff_internal.model(jsonb_populate_record(NULL::ff_internal.model_input, s.facts), true) j
 WHERE s.name = 'batch';
-- the last choice is kept until another step is clearly better
CREATE TEMP TABLE batch AS
SELECT s.facts, m.c,
    (SELECT min(t.fillfactor) FROM unnest(m.steps) t WHERE t.fillfactor > (m.c).advised_step) AS beside,
       (SELECT t.fillfactor FROM unnest(m.steps) t ORDER BY t.cost DESC LIMIT 1) AS worst
  FROM seen s, model_of(s.facts) m WHERE s.name = 'batch';
SELECT v.what, (m.c).advised_step = v.standing AS stands
  FROM batch b, LATERAL (VALUES ('beside', beside), ('worst', worst)) v(what, standing),
      model_of(b.facts || jsonb_build_object('standing', v.standing)) m
 ORDER BY v.what;
-- at a fillfactor below 100 with all updates HOT, no more room is advised
SELECT f AS fillfactor, (m.c).advised_step >= (m.c).current_step AS no_more_room
  FROM batch b, unnest(ARRAY[80, 60, 50]) f,
      model_of(b.facts || jsonb_build_object('fillfactor', f, 'interval_hot', ARRAY[20000], 'blocks', 400 * 100 / f)) m
 ORDER BY f;
DROP TABLE batch;
-- a gain below min_gain changes nothing
BEGIN;
SET LOCAL fillfactor_advisor.min_gain = 100;
SELECT name, bool_and((c).advised_step = (c).current_step) AS kept FROM answered GROUP BY name ORDER BY name;
ROLLBACK;
-- if nothing can be saved, nothing is replayed, unless a curve is requested
BEGIN;
SET LOCAL fillfactor_advisor.wal_weight = 0;
SET LOCAL fillfactor_advisor.size_weight = 0;
SELECT curve, (m.c).action, (m.c).workload IS NOT NULL AS replayed, bool_and(t.hot_pct IS NULL) AS no_curve
  FROM seen s, (VALUES (false), (true)) v(curve), model_of(s.facts || '{"index_scans": 1e9}', curve) m,
      unnest(m.steps) t
 WHERE s.name = 'settled' GROUP BY 1, 2, 3 ORDER BY 1;
ROLLBACK;
-- hardly any updates: no prediction, and after a day 100 is advised
SELECT v.seconds, (m.c).action, bool_and(t.hot_pct IS NULL) AS unknown, (m.c).advised_step
  FROM (VALUES (80000), (90000)) v(seconds),
       model_of(jsonb_build_object('fillfactor', 70, 'inserted_length', ARRAY[104, 1], 'blocks', 10, 'live_rows', 500,
           'interval_seconds', ARRAY[v.seconds],
                                   'interval_inserted', ARRAY[1000], 'interval_updated', ARRAY[0])) m, unnest(m.steps) t
 GROUP BY 1, 2, 4 ORDER BY 1;
-- no row length: no steps
SELECT m.steps IS NULL AS no_answer FROM model_of('{"fillfactor": 90, "interval_updated": [5]}') m;
-- impossible values give steps, not an error
SELECT cardinality(m.steps) > 0 AS answered
  FROM model_of(
      '{"interval_updated": [1e300, null], "interval_hot": ["NaN"], "interval_seconds": [0, 1], "live_rows": -5, '
      '"inserted_length": ["Infinity", 1], "fillfactor": -1, "updated_length": [56, 1], "statement_command": [9, 1], '
      '"statement_rows": []}') m;
-- a column that is missing or has another type is an error
BEGIN;
ALTER TYPE ff_internal.model_input RENAME ATTRIBUTE live_rows TO rows_alive;
SELECT ff_internal.model(jsonb_populate_record(NULL::ff_internal.model_input, '{"live_rows": 1}'), true);
ROLLBACK;
BEGIN;
SET LOCAL client_min_messages = warning;
DROP FUNCTION model_of CASCADE;
ALTER TYPE ff_internal.model_input ALTER ATTRIBUTE live_rows TYPE date;
SELECT ff_internal.model(jsonb_populate_record(NULL::ff_internal.model_input, '{"live_rows": "2000-01-01"}'), true);
ROLLBACK;
-- the function reads settings, so it is not immutable
SELECT provolatile FROM pg_proc WHERE oid = 'ff_internal.model'::regproc;

-- the effect of memory: one table, a third of each page updated together, with two indexes; well
-- within memory, as large as memory, at ten times memory.  The curve is the same.  At
-- memory's size every reader pays for more pages; far beyond it, a row that moves makes
-- index pages be read and written.
WITH m AS (
    SELECT r.ratio, (m.c).*, m.steps
      FROM (VALUES (0.1), (1), (10)) r(ratio)
     CROSS JOIN LATERAL model_of(jsonb_build_object(
                'fillfactor', 100, 'interval_seconds', ARRAY[600], 'interval_updated', ARRAY[3000000],
                'interval_hot', ARRAY[1350000], 'interval_newpage', ARRAY[1650000],
                'interval_inserted', ARRAY[900000], 'interval_deleted', ARRAY[900000],
                'live_rows', 6000000, 'blocks', 105264, 'rows_per_page', 57, 'inserted_length', ARRAY[128, 1],
                'updated_length', ARRAY[128, 1], 'updated_pct', 100, 'group_old_page', ARRAY[0, 0, 0, 0, 0, 1],
                'indexes', 2,
                'index_bytes', 640000000, 'ram_bytes', 1502322688 / r.ratio, 'earlier_updated', 60000000,
                'index_scans', 3000000, 'blocks_fetched', 6000000, 'seq_scans', 0, 'checkpoint_s', 300)) m
), curve AS (
    SELECT t.fillfactor, t.rewritten_hot_pct FROM m, unnest(m.steps) t
)
SELECT (SELECT count(DISTINCT (fillfactor, rewritten_hot_pct)) = count(DISTINCT fillfactor) FROM curve) AS same_curve,
       a.advised_step >= b.advised_step AND a.gain < b.gain - 0.01 AS less_at_memory, b.advised_step < 90 AS within,
       c.advised_step <= b.advised_step AND c.gain > b.gain AS more_beyond
  FROM m a, m b, m c
 WHERE (a.ratio, b.ratio, c.ratio) = (1, 0.1, 10);

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
DROP TABLE answers;
DROP FUNCTION model_of(jsonb, boolean);
DROP EXTENSION fillfactor_advisor;
