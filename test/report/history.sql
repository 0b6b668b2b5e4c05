-- ff_history(): a table's life in buckets, from a history written by hand.
BEGIN;
CREATE EXTENSION fillfactor_advisor;
SET LOCAL client_min_messages = warning;
SET LOCAL TimeZone = 'Asia/Kolkata';
SELECT plan(25);

CREATE TABLE orders (i int, j int);
CREATE TABLE unknown (i int);
CREATE TABLE parted (i int) PARTITION BY RANGE (i);
SELECT is((SELECT string_agg(event, '') FROM ff_history('orders')),
    'not collected yet: run CALL ff_collect() or ff_schedule()', 'not collected yet: one row that says so');
SELECT matches((SELECT string_agg(event, '') FROM ff_history('parted')), '^partitioned: ',
    'a partitioned table says that its partitions are examined');
SELECT throws_ok($$SELECT ff_history('pg_class')$$, '42809', NULL, 'a catalog is refused');
SELECT throws_ok($$SELECT ff_history(1)$$, '42P01', NULL, 'an unknown OID is refused');
SELECT is_empty('SELECT * FROM ff_history(NULL)', 'no rows for NULL');
DROP TABLE unknown;
CALL ff_collect();
SELECT is_empty($$SELECT * FROM ff_history('orders')$$, 'collected once: no rows yet');

-- Ten intervals of five minutes from 10:00 on, the last an hour later: 1000
-- updates each, HOT 0 to 90 %, then a rewrite; a change of the fillfactor at
-- 10:25; a quiet hour; an index at 13:00 that nothing was written after.
SELECT rel_id AS orders, epoch_id AS epoch FROM ff_internal.relation WHERE relname = 'orders' \gset
CREATE FUNCTION clock(at time) RETURNS timestamptz LANGUAGE sql AS $$ SELECT (current_date - 1) + at $$;
INSERT INTO ff_internal.counter_interval (rel_id, began_at, ended_at, epoch_id, fillfactor, rewritten, inserted,
    updated, hot_updated, newpage_updated, deleted,
                         seq_scans, index_scans, blocks_fetched, blocks_hit, vacuums, heap_bytes, index_bytes)
SELECT :orders, clock('10:00') + n * interval '5 min' + CASE n WHEN 9 THEN interval '1 h' ELSE '0' END,
    clock('10:05') + n * interval '5 min' + CASE n WHEN 9 THEN interval '1 h' ELSE '0' END,
       :epoch, CASE WHEN n < 5 THEN 100 ELSE 50 END, n = 9, n, 1000, 100 * n, 1000 - 100 * n - 50 * (n / 5), 2 * n, 0,
           0, 0, 0, 0, 8192 * (n + 1), 8192
  FROM generate_series(0, 9) n;
INSERT INTO ff_internal.change (rel_id, kind, before_at, seen_at, epoch_id, old_fillfactor, new_fillfactor,
    created_indexes)
VALUES (:orders, 'fillfactor', clock('10:25'), clock('10:30'), :epoch, 100, 50, NULL),
       (:orders, 'indexes', clock('13:00'), clock('13:05'), :epoch, 50, 50,
           '{"CREATE INDEX \"orders j\" ON public.orders USING btree (j)"}');
SELECT is((SELECT array_agg(began_at) FROM ff_history('orders', '1 h')),
    ARRAY[clock('10:00'), clock('11:00'), clock('13:00')], 'whole hours of the session''s time zone, the oldest first');
SELECT is((SELECT (updates, hot_pct, newpage_pct, blocked_pct)::text FROM ff_history('orders', '1 h') LIMIT 1),
    '(9000,40.0,57.8,2.2)', 'an hour has its HOT, newpage and blocked shares');
SELECT is((SELECT (inserts, deletes, size_bytes, fillfactor)::text FROM ff_history('orders', '1 h') LIMIT 1),
    '(36,72,73728,50)', 'an hour has its row counts, and size and fillfactor at its end');
SELECT is((SELECT bar FROM ff_history('orders', '1 h') LIMIT 1), '########............', 'the bar shows the HOT share');
SELECT is((SELECT string_agg(coalesce(event, '-'), '; ') FROM ff_history('orders', '1 h')),
    'fillfactor 100 -> 50; rewritten; index created: "orders j"',
    'changes, rewrites and new indexes are events of their hour');
SELECT is((SELECT (updates, hot_pct, bar, fillfactor)::text FROM ff_history('orders', '1 h') WHERE event ~ 'index'),
    '(0,,,)', 'an hour without updates has no HOT share, bar or fillfactor');
SELECT is((SELECT array_agg(updates) FROM ff_history('orders', '5 min')),
    '{1000,1000,1000,1000,1000,1000,1000,1000,1000,1000,0}',
    'five minutes: one row an interval, none for quiet intervals');
SELECT is((SELECT array_agg(round(hot_pct)) FROM ff_history('orders', '5 min')), '{0,10,20,30,40,50,60,70,80,90,NULL}',
    'five minutes: each row has its HOT share');
SELECT is((SELECT event FROM ff_history('orders', '5 min') WHERE fillfactor = 50 LIMIT 1), 'fillfactor 100 -> 50',
    'a fillfactor change is an event of the interval that contains it');
SELECT is((SELECT count(*) FROM ff_history('orders', '1 day')), 1::bigint, 'one row for a whole day');
SELECT is((SELECT began_at FROM ff_history('orders', '1 day')), clock('0:00'),
    'a day begins at midnight of the session''s time zone');
SELECT results_eq($$SELECT * FROM ff_history('orders')$$, $$SELECT * FROM ff_history('orders', '5 min')$$,
    'without a bucket, five minutes are chosen');
SELECT throws_ok($$SELECT ff_history('orders', '1 month')$$, '22023', NULL, 'a bucket of a month is refused');
SELECT throws_ok($$SELECT ff_history('orders', '0')$$, '22023', NULL, 'a bucket of length zero is refused');

-- PostgreSQL 15 does not count updates to another page; page samples estimate them.
UPDATE ff_internal.counter_interval SET newpage_updated = NULL;
SELECT is((SELECT (newpage_pct, blocked_pct)::text FROM ff_history('orders', '1 h') LIMIT 1), '(,)',
    'newpage not counted and no sample: no newpage and blocked share');
INSERT INTO ff_internal.page_sample (rel_id, sampled_at, fillfactor, blocks, blocks_read, blocks_new, blocks_bad,
    live_rows, superseded_hot, superseded_same_page, superseded_newpage)
VALUES (:orders, clock('10:50'), 50, 100, 100, 0, 0, 1000, 600, 300, 700);
SELECT is((SELECT (newpage_pct, blocked_pct)::text FROM ff_history('orders', '1 h') LIMIT 1), '(40.0,20.0)',
    'newpage not counted: shares come from the page sample');

-- a day of summer and one of winter
SET LOCAL TimeZone = 'Europe/Berlin';
DELETE FROM ff_internal.change;
DELETE FROM ff_internal.counter_interval;
INSERT INTO ff_internal.counter_interval (rel_id, began_at, ended_at, epoch_id, fillfactor, rewritten, inserted,
    updated, hot_updated, deleted, seq_scans, index_scans,
                         blocks_fetched, blocks_hit, vacuums)
SELECT :orders, d + time '00:10', d + time '00:20', :epoch, 50, false, 0, 1000, 0, 0, 0, 0, 0, 0, 0
    FROM unnest('{2026-01-15,2026-07-15}'::date[]) d;
SELECT is((SELECT string_agg(began_at::text, ', ' ORDER BY began_at) FROM ff_history('orders', '1 day')),
    '2026-01-15 00:00:00+01, 2026-07-15 00:00:00+02', 'a day begins at midnight, in summer and in winter');
SELECT is((SELECT string_agg(began_at::text, ', ' ORDER BY began_at) FROM ff_history('orders', '7 days')),
    '2026-01-12 00:00:00+01, 2026-07-13 00:00:00+02', 'a week begins on Monday');

-- the oldest interval was 40 days earlier
UPDATE ff_internal.counter_interval SET began_at = began_at - interval '40 days', ended_at = ended_at - interval '40 days'
 WHERE ended_at = (SELECT min(o.ended_at) FROM ff_internal.counter_interval o);
SELECT results_eq($$SELECT * FROM ff_history('orders')$$, $$SELECT * FROM ff_history('orders', '7 days')$$,
    'without a bucket, all of a longer history fits a screen');
SELECT * FROM finish();
ROLLBACK;
