-- Partitions of one table are judged together: similar ones get the same advice,
-- and a new one gets none that contradicts the others.
BEGIN;
SELECT plan(20);
CREATE EXTENSION fillfactor_advisor;
SET LOCAL client_min_messages = warning;
\ir ../queries/stories.sql

-- three partitions whose rows grow by slightly different amounts
CREATE TABLE grown (i int, j int) PARTITION BY RANGE (i);
SELECT story('grown_' || n, 1000, 2000, 1000 + d, 1000 - d,
             jsonb_build_object('inserted_width', 64, 'updated_width', 224 - d / 10, 'updated_pct', 85, 'live_rows',
                 40000, 'rows_per_page', 40))
  FROM (VALUES (1, 0), (2, 80), (3, -80)) v(n, d);
ALTER TABLE grown ATTACH PARTITION grown_1 FOR VALUES FROM (0) TO (1);
ALTER TABLE grown ATTACH PARTITION grown_2 FOR VALUES FROM (1) TO (2);
SELECT ff_internal.collect_fit(rel_id) FROM ff_internal.relation WHERE relname ~ '^grown_';
SELECT is((SELECT count(DISTINCT (action, recommended_fillfactor)) FROM ff_advise()
	WHERE relation::text IN ('grown_1', 'grown_2')),
	1::bigint, 'two similar partitions get the same advice');
ALTER TABLE grown ATTACH PARTITION grown_3 FOR VALUES FROM (2) TO (3);
SELECT is((SELECT count(DISTINCT (action, recommended_fillfactor)) FROM ff_advise() WHERE relation::text ~ '^grown_'),
	1::bigint, 'three similar partitions get the same advice');

-- two at 50, where all rows of a page are updated together and HOT, and a new one that was only inserted into
CREATE TABLE daily (i int, j int) PARTITION BY RANGE (i);
SELECT story(name, 1000, 20000, 20000, 0,
	'{"rows_per_page": 30, "rows_per_page_max": 30, "update_group_rows": 28, "updated_pct": 98}', 50)
	FROM unnest('{daily_1,daily_2}'::text[]) name;
SELECT story('daily_3', 100, 0, 0, 0,
	'{"updated_pct": 0, "updated_width": null, "updated_hot_rows": 0, "updated_nonhot_rows": 0, '
	'"rows_per_page": 30, "rows_per_page_max": 30}',
	50);
SELECT is((SELECT action || ' ' || recommended_fillfactor FROM ff_advise('daily_3')), 'raise 100',
	'an insert-only table of its own at 50: raise');
ALTER TABLE daily ATTACH PARTITION daily_1 FOR VALUES FROM (0) TO (1);
ALTER TABLE daily ATTACH PARTITION daily_2 FOR VALUES FROM (1) TO (2);
ALTER TABLE daily ATTACH PARTITION daily_3 FOR VALUES FROM (2) TO (3);
SELECT ff_internal.collect_fit(rel_id) FROM ff_internal.relation WHERE relname IN ('daily_1', 'daily_2');
SELECT is((SELECT action || ' ' || recommended_fillfactor FROM ff_advise('daily_3')), 'keep 50',
	'an insert-only partition at 50: keep if the others need it');
SELECT matches((SELECT reason FROM ff_advise('daily_3')), 'partitions',
	'an insert-only partition at 50: the reason names the partitions');
-- also when they are idle and have no fit any more
SAVEPOINT rest;
DELETE FROM ff_internal.fit f USING ff_internal.relation r
	WHERE r.rel_id = f.rel_id AND r.relname IN ('daily_1', 'daily_2');
SELECT is((SELECT action || ' ' || recommended_fillfactor FROM ff_advise('daily_3')), 'keep 50',
	'an insert-only partition at 50: keep if the others have no fit');
ROLLBACK TO rest;
-- after a restore, the OIDs of the source mean nothing: the siblings may be other tables
UPDATE ff_internal.relation SET system_identifier = system_identifier + 1 WHERE relname IN ('daily_1', 'daily_2');
SELECT is((SELECT count(*) FROM ff_internal.siblings('daily_3')), 0::bigint,
	'siblings known from another server only: no curves of theirs');
SELECT is((SELECT action || ' ' || recommended_fillfactor FROM ff_advise('daily_3')), 'raise 100',
	'siblings known from another server only: they do not count');
ROLLBACK TO rest;
-- one sibling is enough, at whatever fillfactor it is itself
ALTER TABLE daily DETACH PARTITION daily_2;
SELECT is((SELECT action || ' ' || recommended_fillfactor FROM ff_advise('daily_3')), 'keep 50',
	'an insert-only partition at 50: keep if one other needs it');
ALTER TABLE daily DETACH PARTITION daily_1;
SELECT is((SELECT action || ' ' || recommended_fillfactor FROM ff_advise('daily_3')), 'raise 100',
	'an insert-only partition at 50 without others: raise');
CREATE TABLE next (i int, j int) PARTITION BY RANGE (i);
ALTER TABLE grown DETACH PARTITION grown_1;
ALTER TABLE next ATTACH PARTITION grown_1 FOR VALUES FROM (0) TO (1);
SELECT recommended_fillfactor AS advised FROM ff_advise('grown_1') \gset
SELECT story('next_2', 100, 0, 0, 0,
	'{"updated_pct": 0, "updated_width": null, "updated_hot_rows": 0, "updated_nonhot_rows": 0, '
	'"inserted_width": 64, "rows_per_page": 40, "rows_per_page_max": 40}',
	:advised);
SELECT cmp_ok(:advised, '<', 100, 'a partition with growing rows is to be lowered');
ALTER TABLE next ATTACH PARTITION next_2 FOR VALUES FROM (1) TO (2);
SELECT is((SELECT action || ' ' || recommended_fillfactor FROM ff_advise('next_2')), 'keep ' || :advised,
	'a new partition made at the advised fillfactor keeps it');

-- ---------------------------------------------------------------------------
-- Shards of Citus, by an imitation of its catalog: one row for a distributed table
-- ---------------------------------------------------------------------------
SET LOCAL allow_system_table_mods = on;
CREATE TABLE pg_catalog.pg_dist_shard (logicalrelid regclass, shardid bigint);
CREATE TABLE orders (i int, j int);
CREATE TABLE faraway (i int, j int);
SELECT story('orders_' || n, 1000 * share, 1000 * share, 0, 1000 * share,
	'{"update_group_rows": 56, "updated_pct": 98, "live_rows": 1260000, "blocks": 21000}')
	FROM (VALUES (102008, 1), (102009, 3)) v(n, share);
SELECT story('orders_7', 1000, 2000, 1000, 1000, '{"updated_pct": 85}');
INSERT INTO pg_dist_shard VALUES ('orders', 102008), ('orders', 102009), ('orders', 102010), ('faraway', 102011);
SELECT ff_internal.collect_fit(rel_id) FROM ff_internal.relation WHERE relname ~ '^orders_';
SELECT set_eq($$ SELECT relation::text, action FROM ff_advise() WHERE relation::text ~ '^(orders|faraway)' $$,
	$$ VALUES ('orders', 'lower'), ('orders_7', (SELECT action FROM ff_advise('orders_7'))), ('faraway', 'wait') $$,
	'a distributed table has one row, its shards none');
SELECT is((SELECT row(a.*)::text FROM ff_advise('orders_102008') a), (SELECT row(a.*)::text FROM ff_advise('orders') a),
	'advice on a shard is that on its table');
SELECT matches((SELECT replace(reason, E'\n', ' ') FROM ff_advise('orders')),
	'It is distributed; 2 shards here judged together\. Change it on the coordinator, .*lock_timeout does not reach them',
	'a distributed table: the reason says where to change it');
SELECT is((SELECT ddl FROM ff_advise('orders')),
	(SELECT format('ALTER TABLE public.orders SET (fillfactor = %s);', recommended_fillfactor)
		FROM ff_advise('orders')),
	'a distributed table: the statement is for the table');
SELECT results_eq($$ SELECT size_bytes, updates_per_s FROM ff_advise('orders') $$,
	$$
		SELECT sum((v.advice).size_bytes)::bigint, sum((v.advice).updates_per_s)::real
		FROM ff_internal.relation r
		CROSS JOIN LATERAL ff_internal.advice(r.relid, false) v
		WHERE r.relname ~ '^orders_10' $$,
	'a distributed table: size and updates are sums of all shards');
SELECT ok((SELECT count(DISTINCT (v.advice).recommended_fillfactor) = 1
	AND max((v.advice).recommended_fillfactor) = (SELECT recommended_fillfactor FROM ff_advise('orders'))
             FROM ff_internal.relation r
            CROSS JOIN LATERAL ff_internal.advice(r.relid, false) v
            WHERE r.relname ~ '^orders_10'),
             'all shards get the fillfactor of the table');
SELECT is((SELECT count(*) FROM ff_script() WHERE ff_script ~ 'ALTER TABLE public.orders_102'), 0::bigint,
	'no script alters a shard');
SELECT matches((SELECT reason FROM ff_advise('faraway')), 'its shards are on other nodes: collect there',
	'a table without shards here: the reason says to collect elsewhere');
SELECT * FROM finish();
ROLLBACK;
