-- A mirror: what its source said is written into the table observed by hand, for empty tables, and everything else has
-- to follow from that.  Not in a transaction block: each command needs a transaction of its own.
SET client_min_messages = error;
CREATE EXTENSION fillfactor_advisor_hub CASCADE;
CREATE TABLE job (id bigint PRIMARY KEY, state int, payload text) WITH (autovacuum_enabled = off);
CREATE TABLE account (id int PRIMARY KEY, balance int, seen timestamptz);
CREATE INDEX account_seen ON account (seen);
CREATE TABLE idle (id int);
CREATE TABLE gone (id int);
CREATE TABLE own (id int);
SELECT plan(130);

-- says(KIND, OID, CHANGE): the source says this of a table, an index or itself, besides what it said before
CREATE FUNCTION says(kind text, id oid, change jsonb) RETURNS void LANGUAGE sql AS $$
	INSERT INTO ff_internal.observed VALUES (kind, id, change)
	ON CONFLICT ON CONSTRAINT observed_pkey DO UPDATE SET said = CASE jsonb_typeof(EXCLUDED.said)
		WHEN 'array' THEN EXCLUDED.said ELSE observed.said || EXCLUDED.said END $$;
CREATE FUNCTION counts(name text, more jsonb) RETURNS void LANGUAGE sql AS $$
	SELECT says('table', name::regclass, jsonb_build_object('counted', (
		SELECT jsonb_object_agg(k, coalesce((o.said->'counted'->>k)::bigint, 0) + coalesce((more->>k)::bigint, 0))
		  FROM unnest(
		      '{inserted,updated,hot_updated,newpage_updated,deleted,seq_scans,index_scans,blocks_fetched,blocks_hit,'
		      'vacuums}'::text[]) k
		  LEFT JOIN ff_internal.observed o ON o.kind = 'table' AND o.id = name::regclass))) $$;
-- reads(MINUTES): the source was read so many minutes after the first time, which was an hour ago
CREATE TABLE begun AS SELECT date_trunc('second', now()) - interval '60 min' AS at;
CREATE FUNCTION reads(minutes int) RETURNS void LANGUAGE sql AS $$
	SELECT says('server', 0,
		jsonb_build_object('read_at', b.at + make_interval(mins => minutes), 'next_xid', 1000 + 500 * minutes,
			'busy_ms', 30000 * minutes))
		FROM begun b $$;
CREATE FUNCTION setting_is(name text, value text, unit text DEFAULT NULL) RETURNS void LANGUAGE sql AS $$
	SELECT says('server', 0,
		jsonb_build_object('settings',
			coalesce(o.said->'settings', '{}')
				|| jsonb_build_object(name, jsonb_build_object('value', value, 'unit', unit))))
	  FROM ff_internal.observed o WHERE o.kind = 'server' $$;
-- an entry of pg_stat_statements
CREATE FUNCTION entry(id bigint, calls bigint, rows bigint) RETURNS jsonb LANGUAGE sql AS $$
	SELECT jsonb_build_object('queryid', id, 'toplevel', true, 'userid', 10, 'entered_at', NULL, 'min_ms', 0.5,
		'max_ms', 9, 'counted', jsonb_build_object(
		'calls', calls, 'rows', rows, 'total_ms', calls, 'squares', calls, 'blocks_hit', 4 * rows, 'blocks_read', 0,
		'blocks_dirtied', rows,
		'wal_records', rows * 3, 'wal_fpi', 0, 'wal_bytes', rows * 300)) $$;

-- ---------------------------------------------------------------------------
-- Without a mirror
-- ---------------------------------------------------------------------------
SELECT is(s.observed, NULL, 'no mirror: nothing is observed') FROM ff_internal.server s;
SELECT is((s.system_identifier, s.timeline, s.database_oid)::text, o::text, 'no mirror: the server is this one')
	FROM ff_internal.server s, ff_internal.own_server() o;
SELECT is((s.database, s.server_version, s.in_recovery)::text,
	(current_database(), current_setting('server_version_num')::int, false)::text,
	'no mirror: its database, version and state')
	FROM ff_internal.server s;
SELECT is(ff_internal.server_setting('work_mem'), current_setting('work_mem'),
	'no mirror: settings are as SHOW says them');
SELECT is(ff_internal.server_setting('no_such_setting'), NULL, 'no mirror: an unknown setting is NULL');
SELECT set_eq('SELECT name, reset_val FROM ff_internal.server_settings', 'SELECT name, reset_val FROM pg_settings',
	'no mirror: all settings are this server''s');
SELECT ok(ff_internal.observed_at() BETWEEN now() AND clock_timestamp(), 'no mirror: numbers are of now');

-- ---------------------------------------------------------------------------
-- The first reading
-- ---------------------------------------------------------------------------
SELECT says('server', 0, '{
	"host": "db.example", "database": "shop", "database_oid": 4294967290, "system_identifier": "7000000000000000001",
	"timeline": 3, "server_version": 150004, "in_recovery": false, "started_at": "2026-01-01T00:00:00+00:00",
	"database_reset": "2026-01-01T00:00:00+00:00", "cluster_reset": "2026-01-01T00:00:00+00:00", "track_counts": true,
	"open_writers": 0,
	"blocks_read": 100000, "read_ms": 1000, "denied": [], "settings": {}}');
SELECT setting_is('effective_cache_size', '524288', '8kB'), setting_is('shared_buffers', '16384', '8kB'),
	setting_is('block_size', '8192'), setting_is('server_version', '15.4'), setting_is('port', '5444'),
	setting_is('autovacuum', 'on'), setting_is('autovacuum_vacuum_scale_factor', '0.2'),
		setting_is('autovacuum_vacuum_threshold', '50'), setting_is('autovacuum_naptime', '15', 's'),
	setting_is('checkpoint_timeout', '900', 's'), setting_is('wal_level', 'replica'),
		setting_is('data_checksums', 'off'), setting_is('wal_log_hints', 'off'), setting_is('track_io_timing', 'off'),
	setting_is('max_wal_size', '1024', 'MB'), setting_is('backend_flush_after', '0', '8kB'),
		setting_is('wal_compression', 'off'), setting_is('idle_in_transaction_session_timeout', '0', 'ms');
SELECT says('table', 'job'::regclass,
	'{"oid": 50001, "relfilenode": 60001, "reltuples": 90000, "relpages": 1000, "live": 100000, "dead": 0, '
	'"analyzes": 1, "maintained_at": "2026-02-01T00:00:00+00:00", "heap_bytes": 8192000, "index_bytes": '
	'2000000, "toast_bytes": 0, "width": 85.5, "alone": true, "options": ["autovacuum_enabled=off"]}');
SELECT says('table', 'account'::regclass,
	'{"oid": 50002, "relfilenode": 60002, "reltuples": 40000, "relpages": 500, "live": 40000, "dead": 10000, '
	'"analyzes": 1, "maintained_at": "2026-02-01T00:00:00+00:00", "heap_bytes": 4915200, "index_bytes": '
	'1000000, "toast_bytes": 0, "alone": true}');
SELECT says('table', t::regclass,
	'{"oid": 50003, "relfilenode": 60003, "reltuples": 1000, "relpages": 5, "live": 1000, "dead": 0, '
	'"analyzes": 1, "heap_bytes": 40960, "index_bytes": 0, "toast_bytes": 0, "width": 28, "alone": true}')
	FROM unnest('{idle,gone}'::text[]) t;
SELECT counts(t, '{"inserted": 5000000000, "updated": 7}') FROM unnest('{job,account,idle,gone}'::text[]) t;
SELECT says('index', 'account_seen'::regclass,
	'{"oid": 50010, "scans": 0, "bytes": 500000, "definition": "CREATE INDEX account_seen ON public.account '
	'USING btree (my_schema.rounded(seen))"}');
SELECT says('index', 'job_pkey'::regclass,
	'{"oid": 50011, "scans": 0, "bytes": 500000, "definition": "CREATE UNIQUE INDEX job_pkey ON job USING btree (id)"}');
SELECT says('statements', 0, jsonb_build_object('stats_reset', NULL, 'evictions', NULL, 'reason', NULL, 'entries',
	jsonb_build_array(entry(1, 100, 20000), entry(2, 100, 20000), entry(3, 500, 500)),
	'texts', '[{"queryid": 1, "toplevel": true, "query": "INSERT INTO job SELECT * FROM unnest($1::job[])"},
		{"queryid": 2, "toplevel": true, "query": "UPDATE job SET state = $1 WHERE id BETWEEN $2 AND $3"},
		{"queryid": 3, "toplevel": true, "query": "UPDATE account SET seen = now() WHERE id = $1"}]'::jsonb));
SELECT says('holders', 0, '[]');
SELECT reads(0);
CALL ff_collect();

SELECT is(pg_size_bytes(ff_internal.server_setting('effective_cache_size')), 4294967296,
	'a setting of the source with a unit');
SELECT is(ff_internal.server_setting('autovacuum_naptime')::interval, interval '15 s', 'a time of the source');
SELECT is(ff_internal.server_setting('work_mem'), NULL,
	'a setting that the source did not send is unknown, not this server''s');
SELECT is(ff_internal.observed_at(), at, 'numbers are of the time when the source was read') FROM begun;
SELECT is((system_identifier, database_oid, timeline, server_version, database_reset, cluster_reset, began_at)::text,
	(7000000000000000001, 4294967290::oid, 3::bigint, 150004, '2026-01-01 00:00:00+00'::timestamptz,
		'2026-01-01 00:00:00+00'::timestamptz, at)::text,
	'the epoch is the source''s')
  FROM ff_internal.epoch, begun;
SELECT is((c.began_at, c.ended_at, c.relations, c.open_writers, c.own_inserts, c.next_xid::text, c.busy_ms,
	c.blocks_read, c.read_ms)::text,
	(b.at, b.at, 4, 0, 0::bigint, '1000', 0::float8, 100000::bigint, 1000::float8)::text,
	'the collection is the source''s')
	FROM ff_internal.collection c, begun b;
SELECT is((relfilenode, inserted, updated, analyzes, opened_at)::text,
	(60001::oid, 5000000000, 7::bigint, 1::bigint, at)::text, 'a baseline is the source''s')
	FROM ff_internal.relation, begun WHERE relname = 'job';
SELECT is(index_definitions,
	ARRAY['', 'CREATE INDEX account_seen ON public.account USING btree (my_schema.rounded(seen))'],
	'index definitions are the source''s; one that it did not tell may be as it was') FROM ff_internal.relation WHERE relname = 'account';
SELECT is((s.blocks, s.blocks_read, s.live_rows, s.dead_rows, s.inserted_width, s.inserted_length, s.rows_per_page,
	s.updated_length, s.superseded_hot)::text,
	(1000::bigint, 0, 100000::float8, 0::float8, 85.5::real, '{88,100000}'::real[], 100::real, NULL::real[],
		NULL::float8)::text,
	'instead of pages: rows and their mean length')
  FROM ff_internal.page_sample s JOIN ff_internal.relation r USING (rel_id) WHERE r.relname = 'job';
SELECT is(round(s.inserted_width::numeric, 1), round(8168.0 / ((40000 + 10000) / 600.0 + 1) - 4, 1),
	'a length that is not known is the shortest of which no more rows fit into the fullest pages seen')
	FROM ff_internal.page_sample s JOIN ff_internal.relation r USING (rel_id)
	WHERE r.relname = 'account';
SELECT is_empty('SELECT * FROM ff_internal.problem', 'no sample failed');
SELECT is((heap_bytes, index_bytes, toast_bytes, fault)::text,
	(8192000::bigint, 2000000::bigint, 0::bigint, NULL::text)::text, 'sizes of a table are the source''s')
	FROM ff_internal.sizes('job'::regclass);
SELECT is(heap_bytes, 500000::bigint, 'the size of an index is the source''s')
	FROM ff_internal.sizes('account_seen'::regclass);
SELECT is((SELECT not_examined FROM ff_internal.user_table WHERE relid = 'own'::regclass),
	'this database is a mirror, and its source has no such table',
	'a table that the source does not have is not examined');
SELECT is(reason, 'This database is a mirror, and its source has no such table.', 'ff_advise() says so')
	FROM ff_advise('own');
SELECT throws_ok($$ SELECT ff_sample('job') $$, '0A000', 'cannot sample "job" in a mirror',
	'ff_sample() says that a mirror has no pages');
SELECT throws_ok($$ SELECT ff_sample_index('account_seen') $$, '0A000', 'cannot sample "account_seen" in a mirror',
	'ff_sample_index() too');
SELECT lives_ok($$ SELECT ff_sample('own') $$, 'a table of the mirror itself can be sampled');
SELECT is(used, source = 'effective_cache_size', 'memory is what the source''s planner is told: ' || source)
	FROM ff_memory();
SELECT is(bytes, 4294967296, 'effective_cache_size is the source''s') FROM ff_memory() WHERE used;
SELECT is(bytes, NULL, 'this machine''s memory does not count') FROM ff_memory() WHERE source = 'ram';
SELECT throws_ok('CALL ff_collect()', '55000', 'nothing newer of the source was read than what is collected',
	'the same reading is not collected twice');

-- ---------------------------------------------------------------------------
-- Readings with work between them
-- ---------------------------------------------------------------------------
-- works(FROM, TO): each minute 40 batches of 200 jobs, inserted and updated, and 100 updates of an indexed column
CREATE PROCEDURE works(first int, last int) LANGUAGE plpgsql AS $$
BEGIN
	FOR m IN first .. last LOOP
		PERFORM counts('job',
			'{"inserted": 8000, "updated": 8000, "hot_updated": 100, "index_scans": 40, "blocks_fetched": 30000, '
			'"blocks_hit": 30000}'),
		        counts('account', '{"updated": 100, "index_scans": 100, "blocks_fetched": 300, "blocks_hit": 300}');
		PERFORM says('statements', 0,
			jsonb_build_object('texts', '[]'::jsonb, 'entries',
				jsonb_build_array(entry(1, 100 + 40 * m, 20000 + 8000 * m), entry(2, 100 + 40 * m, 20000 + 8000 * m),
					entry(3, 500 + 100 * m, 500 + 100 * m))));
		-- 15 has no such counter
		UPDATE ff_internal.observed SET said = said #- '{counted,newpage_updated}' WHERE kind = 'table';
		PERFORM says('table', 'job'::regclass,
			jsonb_build_object('live', 100000 + 8000 * m, 'heap_bytes', 8192 * (1000 + 150 * m), 'index_bytes',
				2000000 + 8192 * 30 * m));
		PERFORM reads(m);
		COMMIT;
		CALL ff_collect();
	END LOOP;
END $$;
-- only the last of these collections has to ask the model
SET fillfactor_advisor.fits = 0;
CALL works(1, 19);
RESET fillfactor_advisor.fits;
CALL works(20, 20);
SELECT is((count(*), sum(i.inserted), sum(i.updated), sum(i.hot_updated), count(i.newpage_updated), max(heap_bytes),
	min(began_at), max(ended_at))::text,
	(20::bigint, 160000::numeric, 160000::numeric, 2000::numeric, 0::bigint, 8192 * 4000::bigint, min(at),
		min(at) + interval '20 min')::text,
	'intervals are differences of what the source said')
  FROM ff_internal.counter_interval i JOIN ff_internal.relation r USING (rel_id), begun WHERE r.relname = 'job';
SELECT is(count(*), 0::bigint, 'no interval of an idle table')
	FROM ff_internal.counter_interval i JOIN ff_internal.relation r USING (rel_id)
	WHERE r.relname = 'idle';
SELECT set_eq($$ SELECT queryid, kind, text FROM ff_internal.statement $$,
	$$
		VALUES (1::bigint, 'write', 'INSERT INTO job SELECT * FROM unnest($1::job[])'),
			(2, 'write', 'UPDATE job SET state = $1 WHERE id BETWEEN $2 AND $3'),
			(3, 'write', 'UPDATE account SET seen = now() WHERE id = $1') $$,
	'statements have the texts that the source sent once');
SELECT is((sum(h.calls), sum(h.rows), min(h.began_at), max(h.ended_at))::text,
	(800::numeric, 160000::numeric, min(at), min(at) + interval '20 min')::text, 'statements have a history')
	FROM ff_internal.statement_history h
	JOIN ff_internal.statement s USING (statement_id), begun WHERE s.queryid = 2;
SELECT is((command, relation, calls)::text, ('UPDATE', 'account'::regclass, 2000::bigint)::text,
	'ff_statements() shows them')
	FROM ff_statements('account');
SELECT is(ff_internal.inserted_width('job'::regclass), 300::float8 - 31 - 64,
	'the WAL of inserts tells how long rows are');
BEGIN;
UPDATE ff_internal.relation SET index_definitions = index_definitions || '{CREATE INDEX b ON job USING btree (id),
	CREATE INDEX p ON job USING btree (id) WHERE state > 0, CREATE INDEX r ON job USING brin (id), ""}'
	WHERE relid = 'job'::regclass;
SELECT is(ff_internal.inserted_width('job'::regclass), 300::float8 - 31 - 2 * 64,
	'only B-trees have an entry of each row');
UPDATE ff_internal.statement_history SET wal_bytes = (24 + 31 + 2 * 64) * rows;
SELECT is(ff_internal.inserted_width('job'::regclass), NULL, 'no row is as short as its header');
UPDATE ff_internal.statement_history SET wal_bytes = 0;
SELECT is(ff_internal.inserted_width('job'::regclass), NULL, 'an unlogged table writes no WAL that could tell');
ROLLBACK;
BEGIN;
CREATE INDEX job_long ON job (id, state, (id + 1));
UPDATE ff_internal.relation SET index_oids = ARRAY['job_long'::regclass::oid],
	index_definitions = '{CREATE INDEX job_long ON job USING btree (id)}' WHERE relid = 'job'::regclass;
SELECT is(ff_internal.inserted_width('job'::regclass), 300::float8 - 31 - 56 - 24, 'a longer key has longer entries');
INSERT INTO ff_internal.change (rel_id, kind, before_at, seen_at, epoch_id, old_fillfactor, new_fillfactor)
SELECT r.rel_id, 'indexes', s.at, s.at, r.epoch_id, 100, 100 FROM ff_internal.relation r,
	(SELECT max(h.ended_at) AS at FROM ff_internal.statement_history h) s WHERE r.relid = 'job'::regclass;
SELECT is(ff_internal.inserted_width('job'::regclass), NULL, 'WAL from before an index was made does not tell');
ROLLBACK;
BEGIN;
UPDATE ff_internal.counter_interval i SET rewritten = true
	WHERE i.ended_at = (SELECT max(o.ended_at) FROM ff_internal.counter_interval o);
SELECT is(ff_internal.inserted_width('job'::regclass), NULL, 'nor from before a rewrite: it may have been unlogged');
ROLLBACK;
SELECT is(ff_internal.inserted_width('account'::regclass), NULL, 'no inserts, no length');
BEGIN;
UPDATE ff_internal.observed SET said = said - 'width' || '{"heap_bytes": 163840000, "relpages": 0, "reltuples": -1}'
	WHERE kind = 'table' AND id = 'job'::regclass;
SELECT is((ff_hub.observed_sample('job'::regclass)).inserted_width, 205::real,
	'where pg_stats is denied and pages have much room, it counts');
UPDATE ff_internal.statement_history SET wal_fpi = rows;
SELECT is(round((ff_hub.observed_sample('job'::regclass)).inserted_width)::int,
	round(8168 / 14.0 - 4)::int, 'not with full-page images: then pages tell');
ALTER TABLE job SET (fillfactor = 70);
SELECT is(round((ff_hub.observed_sample('job'::regclass)).inserted_width)::int,
	round((0.7 * 8192 - 24) / 14 - 4)::int, 'of pages that are filled to the fillfactor');
INSERT INTO ff_internal.change (rel_id, kind, before_at, seen_at, epoch_id, old_fillfactor, new_fillfactor)
SELECT rel_id, 'fillfactor', now(), now(), epoch_id, 90, 70 FROM ff_internal.relation WHERE relname = 'job';
SELECT is(round((ff_hub.observed_sample('job'::regclass, rel_id)).inserted_width)::int,
	round((0.9 * 8192 - 24) / 14 - 4)::int, 'or to one that the table had')
	FROM ff_internal.relation WHERE relname = 'job';
UPDATE ff_internal.observed SET said = said || '{"live": 10}' WHERE kind = 'table' AND id = 'job'::regclass;
SELECT is((ff_hub.observed_sample('job'::regclass)).inserted_width, 2032::real,
	'rows are not longer than TOAST lets them be');
UPDATE ff_internal.observed SET said = said || '{"live": 240000, "reltuples": 120000}'
		|| jsonb_build_object('counted', said->'counted' || '{"inserted": 130000, "deleted": 10000}')
	WHERE kind = 'table' AND id = 'job'::regclass;
SELECT is((ff_hub.observed_sample('job'::regclass)).live_rows, 120000::float8,
	'rows that the statistics count twice count once');
UPDATE ff_internal.observed SET said = said - 'maintained_at'
		|| '{"live": 0, "relpages": 600, "reltuples": 54000, "heap_bytes": 8192000}'
	WHERE kind = 'table' AND id = 'job'::regclass;
SELECT is((ff_hub.observed_sample('job'::regclass)).live_rows, 90000::float8,
	'after a reset its rows are as many a page as when it was analyzed');
UPDATE ff_internal.observed SET said = said || '{"relpages": 499}' WHERE kind = 'table' AND id = 'job'::regclass;
SELECT is((s.live_rows, s.rows_per_page)::text, (NULL::float8, NULL::real)::text,
	'not if it has more than twice as many pages since: how many is not known')
	FROM ff_hub.observed_sample('job'::regclass) s;
UPDATE ff_internal.observed SET said = said || '{"live": 60000, "reltuples": 100}'
	WHERE kind = 'table' AND id = 'job'::regclass;
SELECT is((ff_hub.observed_sample('job'::regclass)).live_rows, 60000::float8,
	'unless more were counted: then there was no reset');
UPDATE ff_internal.observed SET said = said || '{"live": 0, "relpages": 0, "reltuples": -1}'
		|| jsonb_build_object('counted', said->'counted' || '{"inserted": 0, "deleted": 0}')
	WHERE kind = 'table' AND id = 'job'::regclass;
SELECT is((ff_hub.observed_sample('job'::regclass)).live_rows, NULL,
	'nor is it if it was never analyzed, and has pages that nothing was inserted into');
UPDATE ff_internal.page_sample SET live_rows = NULL, rows_per_page = NULL;
SELECT is((action, cause, split_part(reason, E'\n', 1))::text, ('wait', 'no_data',
	'How many rows it has is not known since its statistics were reset: ANALYZE it on the source.')::text,
	'which the advice says')
	FROM ff_advise('job');
SELECT is((action, cause)::text, ('keep', 'few_updates')::text, 'of a table that is not written to, it does not matter')
	FROM ff_advise('idle');
ROLLBACK;
SELECT is(sum(sampled), 0::bigint, 'a mirror samples no pages') FROM ff_internal.collection;
SELECT is((ff_internal.resolve(NULL, 'job_view', NULL)).reason,
	'no table of that name in this database',
	'nor has it views');
CREATE TABLE advised AS SELECT * FROM ff_advise();
SELECT is((action, recommended_fillfactor <= 60, size_bytes, ddl ~ 'ALTER TABLE public.job SET [(]fillfactor')::text,
	('lower', true, 8192 * 4000::bigint, true)::text,
	'batches of 200 rows of 88 bytes: about half of each page is advised')
	FROM advised WHERE relation = 'job'::regclass;
SELECT is((cause, action)::text, ('indexed_column', 'keep')::text, 'an indexed column changes: no fillfactor helps')
	FROM advised WHERE relation = 'account'::regclass;
SELECT ok(reason ~ 'account_seen', 'the reason names the index') FROM advised WHERE relation = 'account'::regclass;
SELECT is(hot_pct, 1.3::real, 'the HOT share is the source''s') FROM advised WHERE relation = 'job'::regclass;
SELECT is(ram_ratio, round(((8192 * 4000 + 2000000 + 8192 * 600) / 4294967296.0)::numeric, 4)::real,
	'ram_ratio is by the source''s memory')
	FROM advised WHERE relation = 'job'::regclass;
SELECT is(observed, interval '20 min', 'and what was watched is the source''s time')
	FROM advised WHERE relation = 'job'::regclass;
SELECT ok(count(*) >= 5 AND count(*) FILTER (WHERE is_advised) = 1, 'ff_curve() has the steps') FROM ff_curve('job');
SELECT is((index, columns, scans, scans_since, definition, index_bytes)::text,
	('account_seen'::regclass, '{seen}'::text[], 0::bigint, at,
		'CREATE INDEX account_seen ON public.account USING btree (my_schema.rounded(seen));', 500000::bigint)::text,
	'ff_blockers() shows scans, size and definition of the source')
	FROM ff_blockers('account'), begun;
SELECT is(reason, 'its pages could not be read: 0A000 cannot sample "account_seen" in a mirror.',
	'ff_advise_indexes() says why an index cannot be judged')
	FROM ff_advise_indexes('account_seen');
SELECT is((relname, fillfactor, heap_bytes)::text, ('job'::name, 100::smallint, 8192 * 4000::bigint)::text,
	'ff_metrics has the source''s sizes')
	FROM ff_metrics WHERE relname = 'job';
SELECT is(sum(updates), 160000::numeric, 'ff_history() too') FROM ff_history('job');
SELECT ok(r ~ '<title>[^<]*shop on db[.]example' AND r ~ 'PostgreSQL 15[.]4;',
	'the report says which server and database it speaks of')
	FROM ff_report() r;
SELECT is((e->>'system_identifier', e->>'database', e->>'database_oid', e->>'server_version', e->>'started_at',
	e->>'in_recovery')::text,
	('7000000000000000001', 'shop', '4294967290', '150004', '2026-01-01T00:00:00+00:00', 'false')::text,
	'ff_export() is of the source')
	FROM ff_export() e;
SELECT is((SELECT count(*) FROM ff_settings() WHERE relation IS NULL AND current_value IS NOT NULL), 4::bigint,
	'ff_settings() knows the source''s values');
SELECT is((action, reason)::text, ('leave', 'too little WAL yet to judge.')::text,
	'WAL that is not known is not judged')
	FROM ff_settings() WHERE setting = 'wal_compression';
SELECT setting_is('idle_in_transaction_session_timeout', '60000', 'ms');
SELECT is((current_value, reason)::text, ('60000ms', 'set already.')::text, 'a setting is judged by the source''s value')
	FROM ff_settings() WHERE setting = 'idle_in_transaction_session_timeout';
SELECT is(array_agg(DISTINCT reason ~ 'On a managed service, set it in its configuration: ALTER SYSTEM is refused there'
	ORDER BY reason ~ 'On a managed service, set it in its configuration: ALTER SYSTEM is refused there'), '{t}',
	'it says where ALTER SYSTEM does not work')
	FROM ff_settings() WHERE ddl ~ 'ALTER SYSTEM';
SELECT is(ff_internal.blocking_columns(ARRAY['account_seen'::regclass::oid]), '{3}', 'before: a B-tree index blocks');

-- ---------------------------------------------------------------------------
-- The script runs on the source
-- ---------------------------------------------------------------------------
SELECT says('table', 'job'::regclass, '{"owner": "shop_owner"}');
CREATE TABLE script AS SELECT string_agg(l, E'\n') AS text FROM ff_script('job', true) l;
SELECT ok(text ~ 'ff_script.made = ''database shop of cluster 7000000000000000001'''
	AND text ~ 'pg_control_system',
	'its guard is the source''s database and cluster')
	FROM script;
SELECT ok(text ~ 'database:  shop of cluster 7000000000000000001 \(db.example, port 5444\), PostgreSQL 15.4',
	'its head says which server and database it is for')
	FROM script;
SELECT ok(text ~ E'psql -X -h ''db.example'' -d ''shop'' -f FILE', 'and how to run it there') FROM script;
SELECT ok(text ~ E'ff_change\\(''{public,job,50001}'', ''{autovacuum_enabled=off}''',
	'a change is guarded by the source''s OID and options')
	FROM script;
SELECT ok(text ~ 'as a superuser or a member of shop_owner;', 'it names who owns the tables there') FROM script;
SELECT ok(text ~ 'a mirror sees no free disk' AND text !~ 'are free where the WAL is', 'free disk is not known')
	FROM script;
SELECT is(c->>'relfilenode', '60001', 'a rewrite is guarded by the source''s file')
	FROM ff_script_json('job') s, jsonb_array_elements(s->'changes') c;
SELECT is(array_agg(method), '{VACUUM FULL}', 'no pg_repack on the source')
	FROM ff_internal.rewrites('job'::regclass, 8192);
SELECT says('server', 0, '{"extensions": ["pg_repack"]}');
SELECT is(array_agg(method), '{pg_repack,VACUUM FULL}', 'pg_repack on the source')
	FROM ff_internal.rewrites('job'::regclass, 8192);
SELECT is(max(statement) FILTER (WHERE method = 'pg_repack'), 'pg_repack --no-order --no-superuser-check '
	'--no-kill-backend --wait-timeout=60 --table=''public.job''', 'which needs no superuser there')
	FROM ff_internal.rewrites('job'::regclass, 8192);
SELECT says('server', 0,
	'{"denied": [{"what": "pg_control_system(), which tells a server from its copy", "grant": "GRANT EXECUTE '
	'ON FUNCTION pg_control_system() TO ff"}, {"what": "widths of columns", "grant": "GRANT SELECT ON ALL '
	'TABLES IN SCHEMA public, \"a TO b\" TO \"f TO f\""}]}');
SELECT ok(l ~ 'ff_script.made = ''database shop'';' AND l !~ ' of cluster [0-9]', 'a made-up identity is no guard')
	FROM (SELECT string_agg(l, E'\n') FROM ff_script('job') l) s(l);
SELECT is(ff_script_json('job')->'head'->>1,
	'database:  shop of cluster unknown (db.example, port 5444), PostgreSQL 15.4',
	'nor is it shown');

-- ---------------------------------------------------------------------------
-- Denied reads
-- ---------------------------------------------------------------------------
SELECT ok(reason ~ 'The source denied pg_control_system[^:]*: GRANT EXECUTE ON FUNCTION pg_control_system\(\) TO ff'
	AND reason !~ 'widths',
	'advice names what the source denied, and the GRANT')
	FROM ff_advise('job');
SELECT ok(reason ~ 'denied widths of columns: GRANT SELECT ON public.account TO\s"f TO f"',
	'a width that is missing is named where it is missing')
	FROM ff_advise('account');
SELECT ok(reason !~ 'denied', 'an idle table lacks nothing') FROM ff_advise('idle');

-- ---------------------------------------------------------------------------
-- Holders, versions
-- ---------------------------------------------------------------------------
SELECT is_empty('SELECT * FROM ff_horizon()', 'sessions of this server hold nothing back there');
SELECT says('holders', 0,
	jsonb_build_array(jsonb_build_object('kind', 'idle in transaction', 'holder', 'pid 4711', 'role_name', 'web',
		'application', 'shop', 'since', at - interval '1 day', 'xids', 9000, 'doing', 'UPDATE')))
	FROM begun;
SELECT is((now, kind, holder, role_name, held_s, xids)::text,
	(true, 'idle in transaction', 'pid 4711', 'web'::name, 86400 + 1200::float8, 9000::bigint)::text,
	'a holder of the source, until it was read')
	FROM ff_horizon();
SELECT ok(ff_internal.summarizing(a.oid, 160000, false) AND NOT ff_internal.summarizing(a.oid, 150004, false),
	'BRIN is judged by the source''s version')
	FROM pg_am a WHERE amname = 'brin';
CREATE INDEX account_brin ON account USING brin (balance);
SELECT is(ff_internal.blocking_columns(ARRAY['account_brin'::regclass::oid]), '{2}', 'on 15, a BRIN index blocks');
SELECT says('server', 0, '{"server_version": 170001}');
SELECT is(ff_internal.blocking_columns(ARRAY['account_brin'::regclass::oid]), '{}', 'on 17, it does not');
SELECT says('server', 0, '{"server_version": 150004}');
DROP INDEX account_brin;
SELECT is((ff_internal.still_columns('account'::regclass)).columns, NULL, 'columns with one value: unknown');
SELECT says('table', 'account'::regclass, '{"still": ["balance"]}');
SELECT is((ff_internal.still_columns('account'::regclass)).columns, '{balance}',
	'columns with one value: as the source says');
SELECT says('table', 'account'::regclass,
	'{"triggers": [{"name": "touch", "fired_by": ["balance"], "changes": ["seen"]}, {"name": "audit"}]}');
SELECT is(string_agg(t::text, ' ' ORDER BY t.name), '(audit,,) (touch,{2},{seen})',
	'triggers of the source: by which columns they are fired, and what they set')
	FROM ff_internal.update_triggers('account'::regclass) t;
SELECT is(ff_internal.changed_columns('account'::regclass, ARRAY[c]), r::text[], c || ': what its update changes')
	FROM (VALUES ('balance', '{balance,seen}'), ('id', '{id}')) v(c, r);
SELECT is(ff_internal.words_of_size(e, NULL, jsonb_populate_record(NULL::ff_internal.decision, '{"idle": false}')), '',
	'little TOAST: nothing is said')
	FROM ff_internal.evidence('account'::regclass) e;
SELECT says('table', 'account'::regclass,
	'{"toast_bytes": 100000000, "toast_inserted": 50000100000, "toast_live": 40000, "live": 4000}');
SELECT matches(ff_internal.words_of_size(e, NULL, jsonb_populate_record(NULL::ff_internal.decision, '{"idle": false}')),
	'95 MB of its 101 MB are TOAST, and each update puts',
	'the TOAST table of the source is known')
	FROM ff_internal.evidence('account'::regclass) e;
SELECT says('index', 'account_seen'::regclass, '{"oid": "50002 3", "relfilenode": 60077, "pages": {"blocks": 610,
	"leaf_pages": 609, "internal_pages": 0, "row_pointers": 40000, "blocks_read": 0, "leaf_density": 30,
	"unread": "a mirror reads no pages"}}');
SELECT is((action, cause, predicted_size_bytes, ddl)::text,
	('rebuild', 'sparse', 204 * 8192, 'REINDEX INDEX CONCURRENTLY public.account_seen;')::text,
	'an index that is hardly filled by size and entries')
	FROM ff_advise_indexes('account_seen');
SELECT is((c->>'who', c->>'relfilenode')::text, ('["public", "account_seen", "50002 3"]', '60077')::text,
	'its rebuild is guarded by the source''s OID and file')
	FROM ff_internal.plan_change(jsonb_build_object('oid', 'account_seen'::regclass::oid, 'action', 'rebuild')) c;
SELECT says('index', 'account_seen'::regclass, '{"pages": {"blocks": 610, "leaf_pages": 609, "leaf_density": 80,
	"unread": "a mirror reads no pages", "row_pointers": 100000, "internal_pages": 0}}');
SELECT is((action, reason)::text, ('keep',
	'a mirror reads no pages: by size and number of entries, the leaf pages are at most 80 % full.')::text,
	'one that is not, of which only pages tell more')
	FROM ff_advise_indexes('account_seen');
SELECT says('index', 'account_seen'::regclass, '{"pages": {"blocks": 610, "unread": "a mirror reads no pages"}}');
SELECT is(reason, 'a mirror reads no pages, and the length of its keys is not known.', 'or of which nothing is known')
	FROM ff_advise_indexes('account_seen');
SELECT is((of_pages, round((confidence / of_pages / of_updates / of_time / of_model / of_columns)::numeric, 6))::text,
	'(0.5,1.000000)', 'without pages a mirror is half as sure')
	FROM (SELECT (v.decision).* FROM ff_internal.advice('job') v) d;
SELECT matches(reason, 'x pages not read 0.5 x model', 'and the reason says so') FROM ff_advise('job');
CALL works(21, 21);
SELECT is((holder, since, last_seen_at)::text, ('pid 4711', at - interval '1 day', at + interval '21 min')::text,
	'a holder has a history')
	FROM ff_internal.horizon_history, begun;
SELECT is((setting, value, before_at, seen_at)::text,
	('idle_in_transaction_session_timeout', '60000', at + interval '20 min', at + interval '21 min')::text,
	'a changed setting has a history')
	FROM ff_internal.setting_history, begun WHERE before_at IS NOT NULL;

-- ---------------------------------------------------------------------------
-- Changes, epochs
-- ---------------------------------------------------------------------------
-- as applied there
ALTER TABLE job SET (fillfactor = 50);
SELECT says('table', 'job'::regclass,
	'{"relfilenode": 60009, "options": ["autovacuum_enabled=off", "fillfactor=50"]}');
CALL works(22, 22);
SELECT is((kind, old_fillfactor, new_fillfactor, seen_at)::text,
	('fillfactor', 100::smallint, 50::smallint, at + interval '22 min')::text, 'a change of the fillfactor')
	FROM ff_internal.change, begun;
SELECT is(i.rewritten, true, 'another file is a rewrite')
	FROM ff_internal.counter_interval i JOIN ff_internal.relation r USING (rel_id), begun
	WHERE r.relname = 'job' AND i.ended_at = at + interval '22 min';
SELECT ok(count(*) > 0, 'ff_verify() knows the change') FROM ff_verify()
	WHERE relation = 'job'::regclass AND change ~ '50' AND verdict <> '';

DROP TABLE gone;
CREATE TABLE gone (id int);
SELECT says('table', 'gone'::regclass,
	'{"oid": 50055, "relfilenode": 60055, "reltuples": 10, "relpages": 1, "live": 10, "dead": 0, "analyzes": '
	'0, "heap_bytes": 8192, "index_bytes": 0, "toast_bytes": 0, "width": 28, "alone": true}'),
	counts('gone', '{"inserted": 10, "updated": 999}');
CALL works(23, 23);
SELECT is((count(*), count(closed_at))::text, (2::bigint, 1::bigint)::text,
	'a table dropped and made again has a history of its own')
	FROM ff_internal.relation WHERE relname = 'gone';
SELECT is(count(*), 0::bigint, 'and what it counted before it was seen is no interval')
	FROM ff_internal.counter_interval i JOIN ff_internal.relation r USING (rel_id)
	WHERE r.relname = 'gone';

-- epochs(), ended(MINUTES): how many epochs there are, intervals of job that a reading wrote
CREATE FUNCTION epochs() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM ff_internal.epoch';
CREATE FUNCTION ended(minutes int) RETURNS bigint
	LANGUAGE sql AS
		'SELECT count(*) FROM ff_internal.counter_interval i JOIN ff_internal.relation r USING (rel_id), begun '
		'WHERE r.relname = ''job'' AND i.ended_at = at + make_interval(mins => minutes)';
SELECT is((epochs(), ended(23))::text, (1::bigint, 1::bigint)::text, 'until now all is one epoch');
SELECT says('server', 0, '{"database_reset": "2026-03-01T00:00:00+00:00"}');
CALL works(24, 24);
SELECT is((epochs(), ended(24))::text, (2::bigint, 0::bigint)::text, 'a reset of the statistics begins an epoch');
CALL works(25, 25);
SELECT is((epochs(), ended(25))::text, (2::bigint, 1::bigint)::text, 'which goes on');
SELECT says('server', 0, '{"cluster_reset": "2026-03-02T00:00:00+00:00"}');
CALL works(26, 26);
SELECT is((epochs(), ended(26))::text, (3::bigint, 0::bigint)::text, 'a crash begins an epoch');
SELECT says('server', 0, '{"timeline": 4}');
CALL works(27, 27);
SELECT is((epochs(), ended(27))::text, (4::bigint, 0::bigint)::text, 'a failover begins an epoch');
SELECT says('server', 0, '{"server_version": 150005, "started_at": "2026-03-03T00:00:00+00:00"}');
CALL works(28, 28);
SELECT is((epochs(), ended(28))::text, (5::bigint, 0::bigint)::text, 'an update of the server begins an epoch');
SELECT rel_id AS job FROM ff_internal.relation WHERE relname = 'job' \gset
SELECT says('server', 0, '{"system_identifier": "7000000000000000002"}');
SELECT is(reason ~ 'comes from a dump or another', true, 'after a change of identity no OID is believed')
	FROM ff_advise('job');
CALL works(29, 29);
SELECT is((epochs(), ended(29), rel_id)::text, (6::bigint, 0::bigint, :job::bigint)::text,
	'another identity begins an epoch, and tables keep their history by name')
	FROM ff_internal.relation WHERE relname = 'job' AND closed_at IS NULL;
CALL works(30, 30);
SELECT is((epochs(), ended(30))::text, (6::bigint, 1::bigint)::text, 'which goes on, too');
SELECT counts('job', '{"updated": -100000}');
CALL works(31, 31);
SELECT is((epochs(), ended(31))::text, (6::bigint, 0::bigint)::text, 'counters that fell are a reset of one table');

-- ---------------------------------------------------------------------------
-- Texts that a collection did not use may hold constants, too
-- ---------------------------------------------------------------------------
SELECT says('statements', 0, '{"reason": "denied", "texts": [{"queryid": 4, "toplevel": true, "query": "hidden"}]}');
SELECT reads(32);
CALL ff_collect();
SELECT is(count(*), 0::bigint, 'they are not kept') FROM ff_internal.observed WHERE said::text ~ 'hidden';

-- ---------------------------------------------------------------------------
-- What a DBA decides stays here
-- ---------------------------------------------------------------------------
SELECT isnt(ff_exclude('public.acc*'), NULL, 'ff_exclude() works');
SELECT is(reason, 'Excluded by public.acc*: ff_include() takes it in again.', 'and is said') FROM ff_advise('account');

SELECT * FROM finish();
