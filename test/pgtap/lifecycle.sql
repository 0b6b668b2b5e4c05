-- Evidence is the same with and without the summaries that collections keep,
-- whatever happened to a table and however old the summary is.
BEGIN;
SELECT plan(23);
CREATE EXTENSION fillfactor_advisor;
SET LOCAL client_min_messages = warning;

-- ---------------------------------------------------------------------------
-- What is recent
-- ---------------------------------------------------------------------------
SELECT is(ff_internal.recent_intervals(90, '{10,25,25,30}', '{1,2,3,4}', '{5,6,7,8}', '{9,8,7,6}', '{1,2,4,8}')::text, '(2,35,3,11,17,3)', 'a third of the updates is recent, whole intervals');
SELECT is(ff_internal.recent_intervals(90, '{30,60}', '{1,2}', '{5,6}', '{9,8}', '{1,2}')::text, '(1,30,1,5,9,1)', 'a third exactly is enough');
SELECT is(ff_internal.recent_intervals(0, '{0,0}', '{0,0}', '{0,0}', '{9,8}', '{1,2}')::text, '(2,0,0,0,17,3)', 'without updates, everything is');
SELECT is(ff_internal.recent_intervals(90, '{20,70}', '{1,2}', '{5,NULL}', '{9,8}', '{1,2}')::text, '(2,90,3,,17,3)', 'not counted once is not counted');
SELECT is(ff_internal.recent_intervals(0, '{}', '{}', '{}', '{}', '{}')::text, '(0,0,0,0,0,0)', 'nothing is nothing');
SELECT throws_ok($$SELECT ff_internal.recent_intervals(1, '{1}', '{1}', '{1}', '{}', '{1}')$$, '2202E', NULL, 'figures that are not of the same intervals are refused');
SELECT ok(min(extract(epoch FROM now() - ff_internal.window_since(n)) / 3600 - 24 * 7) >= 0 AND max(extract(epoch FROM now() - ff_internal.window_since(n)) / 3600 - 24 * 7) < 24
	AND count(DISTINCT ff_internal.window_since(n)) = 24, 'a window has seven days and a part of one, and not all leave a day behind at once')
  FROM generate_series(1, 48) n;
SELECT is(ff_internal.interval_bucket(ff_internal.whole_hours() - interval '1 microsecond'), ff_internal.whole_hours() - interval '1 hour', 'the end of an hour counts with that hour');
SELECT is(ff_internal.interval_bucket(ff_internal.whole_hours()), ff_internal.whole_hours(), 'what is younger counts alone');

-- ---------------------------------------------------------------------------
-- 40 tables with ten days of all kinds of history
-- ---------------------------------------------------------------------------
DO $$ BEGIN FOR n IN 1..40 LOOP EXECUTE format('CREATE TABLE t%s (i int) WITH (fillfactor = %s)', n, CASE n % 5 WHEN 4 THEN 80 ELSE 100 END); END LOOP; END $$;
CALL ff_collect();
SELECT setseed(0.25);
CREATE TEMP TABLE kind AS
SELECT rel_id, row_number() OVER (ORDER BY rel_id)::int AS n, fillfactor FROM ff_internal.relation;
INSERT INTO ff_internal.counter_interval (rel_id, began_at, ended_at, epoch_id, rollup, fillfactor, rewritten, inserted, updated, hot_updated, newpage_updated, deleted,
                         seq_scans, index_scans, blocks_fetched, blocks_hit, vacuums, heap_bytes, index_bytes)
SELECT k.rel_id, t - interval '5 min', t, 1, 0,
       -- another fillfactor for a while, long ago or just now
       CASE WHEN n % 10 = 3 AND t < now() - interval '3 days' OR n % 10 = 4 AND t BETWEEN now() - interval '4 hours' AND now() - interval '80 min' THEN 90 ELSE k.fillfactor END,
       random() < 0.001, (1000 * random())::int,
       CASE WHEN n % 7 = 1 THEN 0 ELSE u END, CASE WHEN n % 7 = 1 THEN 0 ELSE u / 2 END,
       CASE WHEN n % 3 = 1 AND random() < 0.01 THEN NULL ELSE u / 3 END, 5, 1, u, 3 * u, 2 * u, 0, CASE WHEN random() < 0.9 THEN 81920 END, 16384
  FROM kind k CROSS JOIN generate_series(now() - interval '10 days', now() - interval '1 min', '20 min') t CROSS JOIN LATERAL (SELECT (100 * random() + k.n)::int AS u) x
 -- some are busy, some hardly ever, some not at all
 WHERE random() < CASE WHEN t IS NULL OR k.n > 38 THEN 0 WHEN k.n % 4 = 0 THEN 0.01 ELSE 0.5 END;
DELETE FROM ff_internal.page_sample;
INSERT INTO ff_internal.page_sample (rel_id, sampled_at, fillfactor, blocks, blocks_read, blocks_new, blocks_bad, superseded_hot, superseded_same_page, superseded_newpage)
SELECT i.rel_id, i.ended_at + interval '1 second', i.fillfactor, 10, 10, 0, 0, random() * 100, random() * 10, random() * 3 FROM ff_internal.counter_interval i;
INSERT INTO ff_internal.collection (epoch_id, began_at, relations, changed, track_counts, open_writers, own_inserts)
SELECT 1, t, 40, 0, true, 0, 0 FROM generate_series(now() - interval '10 days', now() - interval '1 min', '20 min') t;
INSERT INTO ff_internal.change (rel_id, kind, before_at, seen_at, epoch_id, old_fillfactor, new_fillfactor)
SELECT k.rel_id, kind, at, at, 1, 90, k.fillfactor
  FROM kind k JOIN (VALUES (3, 'fillfactor', now() - interval '3 days'), (4, 'fillfactor', now() - interval '80 min'), (5, 'indexes', now() - interval '2 days'),
                           (6, 'indexes', now() - interval '90 min'), (8, 'indexes', now() - interval '9 days')) c(kind_of, kind, at) ON k.n % 10 = c.kind_of;
-- as a collection leaves it: some have nothing newer than their summary
UPDATE ff_internal.relation SET seen_at = coalesce((SELECT max(ended_at) FROM ff_internal.counter_interval i WHERE i.rel_id = ff_internal.relation.rel_id), now() - interval '9 days'), sampled_at = (SELECT max(sampled_at) FROM ff_internal.page_sample s WHERE s.rel_id = ff_internal.relation.rel_id);

-- evidence without summaries, with those of this hour, and with old ones
CREATE FUNCTION differing(a text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
	CREATE TEMP TABLE with_summaries AS SELECT e::text FROM ff_internal.evidence() e WHERE nspname = 'public';
	CREATE TEMP TABLE kept AS SELECT * FROM ff_internal.summary;
	DELETE FROM ff_internal.summary;
	SELECT count(*) INTO n FROM ((SELECT e::text FROM ff_internal.evidence() e WHERE nspname = 'public' EXCEPT TABLE with_summaries) UNION ALL (TABLE with_summaries EXCEPT SELECT e::text FROM ff_internal.evidence() e WHERE nspname = 'public')) d;
	INSERT INTO ff_internal.summary SELECT * FROM kept;
	DROP TABLE with_summaries, kept;
	RETURN n;
END $$;
DELETE FROM ff_internal.summary;
SELECT is((SELECT count(*) FROM ff_internal.summaries_due()), 40 - 8::bigint, 'summaries are wanted, but of tables that changed just now');
SELECT is(ff_internal.collect_summaries(ARRAY(SELECT rel_id FROM ff_internal.relation)), 40::bigint, 'they can be made of all');
SELECT is((SELECT count(*) FROM ff_internal.summaries_due()), 0::bigint, 'then none is due');
SELECT is(differing('now'), 0::bigint, 'evidence is the same with summaries and without');
SELECT cmp_ok((SELECT count(*) FROM ff_internal.evidence() WHERE intervals > 0 AND recent_newpage IS NOT NULL AND earlier_updated > 0 AND seen_newpage > 0), '>', 15::bigint, 'of tables that had much to sum up');

ALTER TABLE t2 SET (fillfactor = 90);
SELECT is(differing('altered'), 0::bigint, 'also after a change of fillfactor that no collection has seen');
ALTER TABLE t2 SET (fillfactor = 100);

DELETE FROM ff_internal.summary;
INSERT INTO ff_internal.summary SELECT s.* FROM (SELECT array_agg(rel_id) AS ids, array_agg(fillfactor::int) AS fillfactors FROM ff_internal.relation) a,
	LATERAL ff_internal.summarise(ids, fillfactors, ff_internal.whole_hours() - interval '1 day') s;
SELECT is(differing('old'), 0::bigint, 'also with summaries of yesterday');
SELECT cmp_ok((SELECT count(*) FROM ff_internal.summaries_due()), '>', 20::bigint, 'which are due to be made anew');

-- they are used: evidence that is false shows
DELETE FROM ff_internal.summary WHERE intervals = 0;
UPDATE ff_internal.summary SET deleted = deleted + 1000000;
SELECT is((SELECT count(*) FROM ff_internal.evidence() WHERE deleted > 1000000), (SELECT count(*) FROM ff_internal.summary JOIN kind k USING (rel_id) WHERE k.n % 10 NOT IN (4, 6)), 'they are used, but where something changed since');
UPDATE ff_internal.summary SET deleted = deleted - 1000000;

-- ---------------------------------------------------------------------------
-- Pruning
-- ---------------------------------------------------------------------------
SELECT cmp_ok(ff_internal.prune(1000000), '>', 10000::bigint, 'hours are rolled up');
SELECT is(differing('pruned'), 0::bigint, 'evidence is still the same');
SELECT cmp_ok((SELECT count(*) FROM ff_internal.summary), '>=', 20::bigint, 'with the summaries there were');
SELECT cmp_ok((SELECT count(*) FROM ff_internal.counter_interval WHERE rollup = 1), '>', 1000::bigint, 'and hours there are');
SET LOCAL fillfactor_advisor.retention = '2d';
SELECT is(ff_internal.prune(1000000) > 0 AND differing('cut') = 0, true, 'nor does it differ where the retention cuts into the window');
SELECT * FROM finish();
ROLLBACK;
