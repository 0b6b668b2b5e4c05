-- The window of the history: its intervals add up to the same before and after
-- pruning; and which intervals count as recent.
BEGIN;
SELECT plan(34);
CREATE EXTENSION fillfactor_advisor;
SET LOCAL client_min_messages = warning;

-- ---------------------------------------------------------------------------
-- What is recent
-- ---------------------------------------------------------------------------
-- intervals of a minute, the newest first; the first FRESH of them came after the last change
CREATE FUNCTION recent(updated bigint[], newpage bigint[] DEFAULT NULL, fresh int DEFAULT 99, OUT updated_ bigint,
	OUT hot bigint, OUT newpage_ bigint)
LANGUAGE sql AS $$
	SELECT (w.recent).updated, (w.recent).hot_updated, (w.recent).newpage_updated
	  FROM (SELECT (ff_internal.window_of(u.n <= fresh, now() - u.n * interval '1 min',
	                    now() - (u.n - 1) * interval '1 min',
	                    z, u.v, u.v / 2, CASE WHEN newpage IS NULL THEN z ELSE newpage[u.n] END, z, z, z, z, z, z)).*
	          FROM unnest(updated) WITH ORDINALITY u(v, n), (SELECT 0::bigint) o(z)) w $$;
\set z '0::bigint'
SELECT is(recent('{10,25,25,30}')::text, '(35,17,0)', 'recent: the newest intervals with a third of the updates');
SELECT is(recent('{30,60}')::text, '(30,15,0)', 'recent: exactly a third is enough');
SELECT is(recent('{0,0}', '{0,NULL}')::text, '(0,0,)', 'recent: all intervals if there are no updates');
SELECT is(recent('{20,70}', '{5,NULL}')::text, '(90,45,)', 'recent: one NULL in newpage makes the sum NULL');
SELECT is(recent('{10,20,3000}', fresh => 2)::text, '(10,5,0)', 'recent: only intervals since the last change');
SELECT is(recent('{300,400,10000,300}')::text, '(700,350,0)',
	'recent: one interval with most updates is an event, not a habit');
SELECT is(recent('{300,150,10000}')::text, '(10450,5225,0)', 'recent: it counts if the others are too few to judge');
SELECT is(recent('{300,10000,10000}')::text, '(10300,5150,0)', 'recent: what happens twice counts');
SELECT is((SELECT (w.intervals, w.counted, w.cycles, (w.since).updated)::text
	FROM (SELECT (ff_internal.window_of(false, now(), now(), n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8], n[9], n[10])).*
	        FROM (SELECT '{1,2,1,0,3,4,5,6,7,8}'::bigint[]) i(n)) w),
	'(1,"(1,2,1,0,3,4,5,6,7,8)",1,0)', 'the sum of one interval is that interval');
-- nine tenths of the updates in one hour and a tenth in another are hardly more than one cycle
SELECT is((SELECT round(w.cycles::numeric, 2)
	FROM (SELECT (ff_internal.window_of(true, at - interval '1 min', at, :z, n, n, :z, :z, :z, :z, :z, :z, :z)).*
             FROM (VALUES (170, 400::bigint), (160, 500), (350, 100)) v(minutes, n),
                 LATERAL (SELECT date_trunc('hour', now(), 'UTC') - make_interval(mins => minutes)) a(at)) w),
             1.22, 'cycles are hours, weighted by their updates');
SELECT is((SELECT w.cycles FROM (SELECT (ff_internal.window_of(true, at - interval '1 min', at, :z, 5::bigint, :z, :z, :z, :z, :z, :z, :z, :z)).*
             FROM (VALUES (10), (20), (30)) v(minutes),
                 LATERAL (SELECT date_trunc('hour', now(), 'UTC') - make_interval(mins => minutes)) a(at)) w),
             1::float8, 'three intervals of one hour are one cycle');
SELECT is(ff_internal.window_of(true, NULL, NULL, :z, 1::bigint, :z, :z, :z, :z, :z, :z, :z, :z)::text,
	format('(,0,"%1$s",,,"%1$s","%1$s")', '(0,0,0,0,0,0,0,0,0,0)'),
	'no intervals: zeros and NULLs');
SELECT throws_ok('SELECT ff_internal.window_of(true, now(), now(), ' || list || ')', '42804', NULL,
	'not the columns of counters: ' || list)
	FROM (VALUES ('1::bigint'), ('0, 1, 2, 3, 4, 5, 6, 7, 8, 9'), ('VARIADIC ARRAY[1::bigint]')) v(list);
-- one interval a minute over three days: minutes, hours, days
SELECT ok(w.intervals BETWEEN 120 + 45 AND 60 * 3 + 24 * 3 + 2,
	'old intervals count as hours, very old ones as days')
  FROM (SELECT (ff_internal.window_of(true, t - interval '1 min', t, :z, 1::bigint, 1::bigint, :z, :z, :z, :z, :z, :z, :z)).*
          FROM generate_series(now() - interval '3 days' + interval '1 min', now(), '1 min') t) w;

-- ---------------------------------------------------------------------------
-- 40 tables with ten days of all kinds of history
-- ---------------------------------------------------------------------------
DO $$ BEGIN FOR n IN 1..40 LOOP
	EXECUTE format('CREATE TABLE t%s (i int) WITH (fillfactor = %s)', n, CASE n % 5 WHEN 4 THEN 80 ELSE 100 END);
	END LOOP; END $$;
CALL ff_collect();
SELECT setseed(0.25);
CREATE TEMP TABLE kind AS
SELECT rel_id, substr(relname, 2)::int AS n, fillfactor FROM ff_internal.relation WHERE relname ~ '^t\d+$' ORDER BY n;
INSERT INTO ff_internal.counter_interval (rel_id, began_at, ended_at, epoch_id, rollup, fillfactor, rewritten, inserted,
	updated, hot_updated, newpage_updated, deleted,
                         seq_scans, index_scans, blocks_fetched, blocks_hit, vacuums, heap_bytes, index_bytes)
SELECT k.rel_id, t - interval '5 min', t, 1, 0,
       -- another fillfactor for a while, long ago or just now
       CASE WHEN n % 10 = 3 AND t < now() - interval '3 days' OR n % 10 = 4
           AND t BETWEEN now() - interval '4 hours' AND now() - interval '81 min' THEN 90
           ELSE k.fillfactor END,
       random() < 0.001, (1000 * random())::int,
       CASE WHEN n % 7 = 1 THEN 0 ELSE u END, CASE WHEN n % 7 = 1 THEN 0 ELSE u / 2 END,
       CASE WHEN n % 3 = 1 AND random() < 0.01 THEN NULL ELSE u / 3 END, 5, 1, u, 3 * u, 2 * u, 0,
           CASE WHEN random() < 0.9 THEN 81920 END, 16384
  FROM kind k
 CROSS JOIN generate_series(now() - interval '10 days', now() - interval '1 min', '20 min') t
 CROSS JOIN LATERAL (SELECT (10 + 100 * random() + k.n)::int AS u) x
 -- some are busy, some hardly ever, some not at all
 WHERE random() < CASE WHEN t IS NULL OR k.n > 38 THEN 0 WHEN k.n % 4 = 0 THEN 0.01 ELSE 0.5 END;
INSERT INTO ff_internal.collection (epoch_id, began_at, relations, changed, track_counts, open_writers, own_inserts)
SELECT 1, t, 40, 0, true, 0, 0 FROM generate_series(now() - interval '10 days', now() - interval '1 min', '20 min') t;
INSERT INTO ff_internal.change (rel_id, kind, before_at, seen_at, epoch_id, old_fillfactor, new_fillfactor)
SELECT k.rel_id, kind, at, at, 1, 90, k.fillfactor
  FROM kind k
  JOIN (VALUES (3, 'fillfactor', now() - interval '3 days'), (4, 'fillfactor', now() - interval '80 min'),
      (5, 'indexes', now() - interval '2 days'),
                           (6, 'indexes', now() - interval '90 min'),
                           (8, 'indexes', now() - interval '9 days')) c(kind_of, kind, at) ON k.n % 10 = c.kind_of;
UPDATE ff_internal.relation SET seen_at = coalesce((SELECT max(ended_at)
	FROM ff_internal.counter_interval i WHERE i.rel_id = ff_internal.relation.rel_id),
	now() - interval '9 days');

-- the sums of the plain intervals: of the whole window, and since the last change
CREATE TEMP VIEW by_hand AS
SELECT k.rel_id, sum(i.updated) AS updated, sum(i.inserted) AS inserted, min(i.began_at) AS began_at,
       sum(i.updated) FILTER (WHERE CASE c.kind
           WHEN 'indexes' THEN i.began_at >= c.seen_at
           WHEN 'fillfactor' THEN i.began_at >= c.seen_at ELSE true END) AS since_change,
       sum(i.hot_updated) FILTER (WHERE CASE c.kind
           WHEN 'indexes' THEN i.began_at >= c.seen_at
           WHEN 'fillfactor' THEN i.began_at >= c.seen_at
           ELSE true END) AS hot_since_change
  FROM kind k JOIN ff_internal.counter_interval i USING (rel_id) LEFT JOIN ff_internal.change c USING (rel_id)
 WHERE i.ended_at >= date_trunc('hour', now() - ff_internal.lookback(), 'UTC') GROUP BY k.rel_id;
CREATE TEMP VIEW told AS
SELECT e.rel_id, (e.counted).updated, (e.counted).inserted, e.began_at,
       nullif((e.since).updated, 0) AS since_change, nullif((e.since).hot_updated, 0) AS hot_since_change
  FROM ff_internal.evidence() e WHERE nspname = 'public' AND e.intervals > 0;
SELECT set_eq('TABLE told',
	$$
		SELECT rel_id, updated, inserted, began_at, nullif(since_change, 0) AS a, nullif(hot_since_change, 0) AS b
		FROM by_hand $$,
	'evidence adds up the window, and what came since the last change');
SELECT cmp_ok((SELECT count(*) FROM told), '>', 30::bigint, 'evidence was compared for many tables');
SELECT is((SELECT count(*) FROM ff_internal.evidence() e
	JOIN kind k USING (rel_id), LATERAL ff_internal.evidence(e.relation) o
	WHERE e::text IS DISTINCT FROM o::text),
	0::bigint, 'evidence of one table equals its row in the evidence of all');

ALTER TABLE t2 SET (fillfactor = 90);
SELECT is((SELECT (e.since).updated IS NULL AND (e.counted).updated > 1000 FROM ff_internal.evidence('t2') e), true,
	'a fillfactor change not collected yet: updates before it still count for the workload');
ALTER TABLE t2 SET (fillfactor = 100);

-- ---------------------------------------------------------------------------
-- Pruning
-- ---------------------------------------------------------------------------
-- without tables whose indexes changed: the hour of the change counts neither before nor after it
CREATE TEMP VIEW compared AS
SELECT e::text FROM ff_internal.evidence() e
	WHERE nspname = 'public' AND e.rel_id IN (SELECT k.rel_id FROM kind k WHERE k.n % 10 <> 5);
CREATE TEMP TABLE before AS TABLE compared;
SELECT cmp_ok(ff_internal.prune(1000000), '>', 9000::bigint, 'pruning rolls up old intervals');
SELECT set_eq('TABLE compared', 'TABLE before', 'evidence is the same after pruning');
SELECT cmp_ok((SELECT count(*) FROM ff_internal.counter_interval WHERE rollup = 1), '>', 1000::bigint,
	'the history has rows by the hour');

-- ---------------------------------------------------------------------------
-- What held back pruning, and when autovacuum comes
-- ---------------------------------------------------------------------------
INSERT INTO ff_internal.horizon_history (kind, holder, since, last_seen_at, xids)
SELECT 'transaction', 'process ' || n, now() - interval '1 hour', now() - interval '1 hour' + n * interval '1 s', 100
  FROM generate_series(1, 200) n;
CREATE FUNCTION rows_read() RETURNS bigint LANGUAGE sql AS
$$ SELECT pg_stat_get_xact_tuples_returned(t) + pg_stat_get_xact_tuples_fetched(t)
     FROM (SELECT 'ff_internal.horizon_history'::regclass) o(t) $$;
CREATE TEMP TABLE intervals AS SELECT rel_id, count(*) AS n FROM ff_internal.counter_interval GROUP BY rel_id;
SELECT cmp_ok((SELECT max(n) FROM intervals), '>', 100::bigint, 'a table has many intervals');
CREATE TEMP TABLE read_before AS SELECT rows_read() AS n;
SELECT lives_ok($$ SELECT ff_internal.held_back(rel_id, now() - interval '20 days', now())
	FROM intervals ORDER BY n DESC LIMIT 1 $$, 'what an old snapshot cost is asked');
SELECT cmp_ok(rows_read() - n, '<=', 400::bigint, 'each holder is read once, not once for each interval')
  FROM read_before;
-- a share that falls from 90 % or more is put down to the snapshot, one that was low before is not
INSERT INTO ff_internal.horizon_history (kind, holder, since, last_seen_at, xids)
SELECT 'transaction', 'process 201', i.began_at, i.ended_at, 100 FROM ff_internal.counter_interval i
 WHERE i.rel_id = (SELECT rel_id FROM intervals ORDER BY n DESC, rel_id LIMIT 1) ORDER BY i.ended_at DESC LIMIT 1;
CREATE FUNCTION held_at(hot_otherwise float8) RETURNS text LANGUAGE sql AS $$
	UPDATE ff_internal.counter_interval i SET updated = 1000,
			hot_updated = CASE WHEN o.held THEN 100 ELSE 10 * hot_otherwise END
		FROM (SELECT n.rel_id, n.ended_at, EXISTS (SELECT FROM ff_internal.horizon_history h
				WHERE tstzrange(h.since, h.last_seen_at, '[]') && tstzrange(n.began_at, n.ended_at, '()')) AS held
				FROM ff_internal.counter_interval n) o
		WHERE o.rel_id = i.rel_id AND o.ended_at = i.ended_at
			AND i.rel_id = (SELECT rel_id FROM intervals ORDER BY n DESC, rel_id LIMIT 1);
	SELECT ff_internal.held_back(rel_id, now() - interval '20 days', now()) FROM intervals ORDER BY n DESC,
		rel_id LIMIT 1
$$;
SELECT is(held_at(95), '10 % of its updates were HOT while an old snapshot was held, 95 % otherwise',
	'a HOT share that fell while a snapshot was held is put down to it');
SELECT is(held_at(80), NULL, 'not one that was low without it');
-- it ended before the last interval
UPDATE ff_internal.horizon_history h SET since = i.began_at, last_seen_at = i.ended_at
  FROM (SELECT * FROM ff_internal.counter_interval n
         WHERE n.rel_id = (SELECT rel_id FROM intervals ORDER BY n DESC, rel_id LIMIT 1)
         ORDER BY n.ended_at DESC OFFSET 1 LIMIT 1) i WHERE h.holder = 'process 201';
SELECT matches(held_at(95), '^10 % of its updates were HOT while an old snapshot was held, 95 % otherwise$',
	'a snapshot that ended, and updates are HOT since');
UPDATE ff_internal.counter_interval i SET hot_updated = 100, updated = e.enough
  FROM (SELECT n.rel_id, max(n.ended_at) AS ended_at, ff_internal.setting('min_updates') AS enough
          FROM ff_internal.counter_interval n
         WHERE n.rel_id = (SELECT rel_id FROM intervals ORDER BY n DESC, rel_id LIMIT 1) GROUP BY n.rel_id) e
 WHERE (i.rel_id, i.ended_at) = (e.rel_id, e.ended_at);
SELECT is((SELECT ff_internal.held_back(rel_id, now() - interval '20 days', now()) FROM intervals
	ORDER BY n DESC, rel_id LIMIT 1), NULL, 'it ended, and enough updates since then lack room as well');
UPDATE ff_internal.counter_interval i SET updated = updated - 1
 WHERE (i.rel_id, i.ended_at) = (SELECT n.rel_id, max(n.ended_at) FROM ff_internal.counter_interval n
		WHERE n.rel_id = (SELECT rel_id FROM intervals ORDER BY n DESC, rel_id LIMIT 1) GROUP BY n.rel_id);
SELECT matches((SELECT ff_internal.held_back(rel_id, now() - interval '20 days', now()) FROM intervals
	ORDER BY n DESC, rel_id LIMIT 1), 'while an old snapshot was held', 'one fewer is not enough');
SELECT is((SELECT row(v.*)::text FROM ff_internal.autovacuum('{autovacuum_vacuum_max_threshold=5000,
	autovacuum_vacuum_scale_factor=0.3,autovacuum_vacuum_threshold=70}') v), '(t,0.3,70,5000)',
	'the most dead rows that autovacuum waits for limits its threshold');
SELECT is((SELECT v.most FROM ff_internal.autovacuum(NULL) v),
	CASE WHEN current_setting('server_version_num')::int >= 180000
	     THEN current_setting('autovacuum_vacuum_max_threshold')::float8 END, 'a table without this option has that of the server');
SELECT is((SELECT v.most FROM ff_internal.autovacuum('{autovacuum_vacuum_max_threshold=-1}') v), NULL,
	'-1 means no limit');
SELECT * FROM finish();
ROLLBACK;
