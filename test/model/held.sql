-- What the history tells the model beside the window: a snapshot that was held once, and the HOT share at the
-- fillfactor before the last change.
BEGIN;
SELECT plan(12);
CREATE EXTENSION fillfactor_advisor;
SET LOCAL client_min_messages = warning;
CREATE TABLE t (i int);
CALL ff_collect();

-- What held_once() says if the samples after intervals of 100 updates had so many recently dead versions. A sample
-- comes a second after its interval; NULL: there is none.
CREATE FUNCTION held(dead int[], updated int DEFAULT 100) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	id bigint := (SELECT rel_id FROM ff_internal.relation);
	ended timestamptz;
BEGIN
	DELETE FROM ff_internal.counter_interval;
	DELETE FROM ff_internal.page_sample;
	FOR n IN 1 .. cardinality(dead) LOOP
		ended := now() - (cardinality(dead) - n + 1) * interval '5 min';
		INSERT INTO ff_internal.counter_interval (rel_id, began_at, ended_at, epoch_id, rollup, fillfactor, rewritten,
			inserted, updated, hot_updated, newpage_updated, deleted, seq_scans, index_scans, blocks_fetched,
			blocks_hit,
			vacuums, heap_bytes, index_bytes)
		VALUES (id, ended - interval '5 min', ended, 1, 0, 100, false, 0, updated, updated, 0, 0, 0, 0, 0, 0, 0, 8192,
			0);
		IF dead[n] IS NOT NULL THEN
			INSERT INTO ff_internal.page_sample (rel_id, sampled_at, fillfactor, blocks, blocks_read, blocks_new,
				blocks_bad,
				live_rows, dead_rows, recently_dead_rows)
			VALUES (id, ended + interval '1 s', 100, 10, 10, 0, 0, 1000, dead[n], dead[n]);
		END IF;
	END LOOP;
	RETURN (SELECT concat_ws(' to ', h.held_from, h.held_until)
		FROM ff_internal.held_once(id, now() - interval '1 day') h);
END $$;
SELECT is(held('{0,0,90,190,0,0}'), '350 to 150', 'a snapshot that has ended: updates after its begin and its end');
SELECT is(held('{0,40,0,90,0}'), '150 to 50',
	'it is held if most rows updated since the last interval are still there');
SELECT is(held('{0,NULL,NULL,290,NULL,0}'), '350 to 100', 'it began and ended between samples');
SELECT is(held('{0,90,0,90,0}'), '', 'several are a habit');
SELECT is(held('{0,0,90,190}'), '', 'one is still held');
SELECT is(held('{90,190,0,0}'), '', 'when it began is unknown');
SELECT is(held('{0,90,0}', 0), '', 'nothing was updated');

-- the fillfactor was 100, then 90 for the last of four intervals
CREATE FUNCTION before_change() RETURNS text
LANGUAGE sql AS $$
	SELECT concat_ws(' ', h.set_from, h.filled_at, h.updated_since, h.before_updated, h.before_hot)
	  FROM ff_internal.evidence('t') e CROSS JOIN LATERAL ff_internal.history_input(e) h $$;
SELECT held('{0,0,0,0}');
ALTER TABLE t SET (fillfactor = 90);
UPDATE ff_internal.relation SET fillfactor = 90;
UPDATE ff_internal.counter_interval SET hot_updated = 82;
UPDATE ff_internal.counter_interval SET fillfactor = 90, hot_updated = 99 WHERE ended_at > now() - interval '6 min';
INSERT INTO ff_internal.change (rel_id, kind, before_at, seen_at, epoch_id, old_fillfactor, new_fillfactor)
SELECT rel_id, 'fillfactor', now() - interval '10 min', now() - interval '9 min', 1, 100, 90 FROM ff_internal.relation;
SELECT is(before_change(), '100 100 100 300 246', 'what was seen at the fillfactor before');
INSERT INTO ff_internal.change (rel_id, kind, before_at, seen_at, epoch_id, old_fillfactor, new_fillfactor)
SELECT rel_id, 'indexes', now() - interval '17 min', now() - interval '15.5 min', 1, 100, 100 FROM ff_internal.relation;
SELECT is(before_change(), '100 100 100 100 82', 'with other indexes it does not count');
UPDATE ff_internal.counter_interval SET rewritten = true WHERE fillfactor = 90;
SELECT is(before_change(), '100 100 100 82', 'nor are its pages filled as before if it was rewritten since');

-- the newest 31 intervals are seen one by one, all older ones as one: its length is that of the time of its updates
DELETE FROM ff_internal.change;
CREATE FUNCTION older(updated_last int) RETURNS numeric
LANGUAGE sql AS $$
	SELECT held(array_fill(0, '{35}'), 0);
	UPDATE ff_internal.counter_interval i SET updated = n.updated
	  FROM (SELECT o.ended_at, CASE row_number() OVER (ORDER BY o.ended_at) WHEN 2 THEN 1000 WHEN 4 THEN updated_last
	               ELSE 0 END AS updated FROM ff_internal.counter_interval o) n WHERE n.ended_at = i.ended_at;
	SELECT round((to_jsonb(ff_internal.model_input(e))->'interval_seconds'->>-1)::numeric)
	  FROM ff_internal.evidence('t') e $$;
SELECT is(older(0), 300::numeric, 'one of four older intervals had updates: they are as long as that one');
SELECT is(older(1000), 600::numeric, 'two had as many: as long as these two');
SELECT * FROM finish();
ROLLBACK;
