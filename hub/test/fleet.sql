-- What a hub does with exports: they are data that anybody may have written. Every case is an imported export,
-- so nothing here depends on a clock or a connection.
BEGIN;
SELECT plan(77);
SET client_min_messages = error;
CREATE SCHEMA "F f";
CREATE EXTENSION fillfactor_advisor_hub SCHEMA "F f" CASCADE;
SET search_path = "F f", public;

-- an export as another server would send it; what differs is given
CREATE FUNCTION pg_temp.export(differs jsonb DEFAULT '{}') RETURNS jsonb LANGUAGE sql AS $$
	SELECT '{"format": 1, "version": "1.0.0", "model_version": 1, "exported_at": "2999-01-01 12:00+00",
		"system_identifier": "7000000000000000001", "timeline": 1, "in_recovery": false,
		"started_at": "2999-01-01 10:00+00", "server_version": 170002, "database_oid": 16384, "database": "shop",
		"collected_at": "2999-01-01 11:58+00", "a key of a later version": [1, 2],
		"advice": [
			{"oid": 20001, "relation": "public.jobs", "fillfactor": 100, "advised": 50, "action": "lower",
				"cause": "batch_update", "confidence": 0.8, "provisional": false, "why": "55 rows a page at once",
				"gain_pct": 36.5, "observed_s": 3600, "wal_bytes_per_day_saved": 1000000, "disk_bytes_change": 0,
				"size_bytes": 8192, "updates_per_s": 10.5, "hot_pct": 0, "new": {}},
			{"oid": 20002, "relation": "public.log", "fillfactor": 100, "action": "keep", "cause": "few_updates",
				"confidence": 0.9, "why": "hardly updated", "size_bytes": 8192}]}'::jsonb || differs
$$;
CREATE FUNCTION pg_temp.first(differs jsonb) RETURNS jsonb LANGUAGE sql AS $$
	SELECT pg_temp.export(jsonb_build_object('advice', jsonb_build_array(pg_temp.export()->'advice'->0 || differs)))
$$;
CREATE FUNCTION pg_temp.said(command text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	hint text;
	place text;
BEGIN
	EXECUTE command;
	RETURN 'nothing';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT, place = PG_EXCEPTION_CONTEXT;
	-- where in our functions it was is for nobody
	RETURN concat_ws('; ', substring(place, 'function [^ ]*ff_.*'), sqlstate || ' ' || sqlerrm, nullif(hint, ''));
END $$;

-- ---------------------------------------------------------------------------
-- Out and in
-- ---------------------------------------------------------------------------
CREATE TABLE "it's <b>" (id int PRIMARY KEY, v int);
INSERT INTO "it's <b>" SELECT g, 0 FROM generate_series(1, 100) g;
SELECT is(ff_export()->'format', '1', 'an export has a format');
SELECT is(concat_ws(' ', ff_export()->>'system_identifier', ff_export()->>'database', ff_export()->>'in_recovery'),
	concat_ws(' ', (SELECT system_identifier FROM pg_control_system()), current_database(), 'false'),
	'an export says which server and database it is from');
SELECT is(jsonb_path_query_first(ff_export(), '$.advice[*] ? (@.relation like_regex "it")')->>'relation',
	format('%I.%I', 'F f', 'it''s <b>'), 'an export has its tables, quoted');
SELECT is(ff_import(ff_export(), 'this one'), 'this one', 'an export can be imported under a name');
SELECT is((SELECT (role, state, tables, changes)::text FROM ff_fleet),
	format('(primary,imported,%s,0)', jsonb_array_length(ff_export()->'advice')), 'ff_fleet shows the imported source');
SELECT set_eq($$ SELECT relation, now::int, action, why FROM ff_fleet_advice $$,
	$$
		SELECT format('%I.%I', n.nspname, c.relname), o.now, o.action, o.why
		FROM (SELECT * FROM ff_advice WHERE now IS NOT NULL OFFSET 0) o
		JOIN pg_class c ON c.oid = to_regclass(o.relation)
		JOIN pg_namespace n ON n.oid = c.relnamespace WHERE o.why <> 'not examined' $$,
	'ff_fleet_advice shows the advice of ff_advice');
SELECT is(ff_import(ff_export()),
	format('%s %s', current_database(), (SELECT system_identifier FROM pg_control_system())),
	'an export imported without a name is named by database and system identifier');
SELECT is((SELECT string_agg(role, ' ' ORDER BY source_id) FROM ff_hub.member), 'duplicate primary',
	'the same server under another name is a duplicate: the later file counts');
SELECT is((SELECT count(DISTINCT source) FROM ff_fleet_advice), 1::bigint,
	'the advice of a duplicate is not shown again');
SELECT is((SELECT count(*) FROM ff_fleet WHERE note ^@ format('the same server as source %s %s;', current_database(),
	(SELECT system_identifier FROM pg_control_system()))), 1::bigint,
	'the note of a duplicate names the other source');
SELECT is(ff_fleet_remove('this one'), true, 'a source can be removed');
SELECT is(ff_fleet_remove('this one'), false, 'removing a source again returns false');
SELECT ff_fleet_remove(source) FROM ff_fleet \g /dev/null
SELECT is((SELECT count(*) FROM ff_hub.advice), 0::bigint, 'removing a source removes its advice');

-- ---------------------------------------------------------------------------
-- What is not an export
-- ---------------------------------------------------------------------------
SELECT is(pg_temp.said(format('SELECT ff_import(%L, ''x'')', e)),
	'22023 this is not an export of the extension; SELECT ff_export() gives one.', format('not an export: %s', e))
  FROM unnest(
      '{null,"[]","{}","17","\"format\"","{\"format\": \"1\", \"advice\": []}","{\"format\": 1}","{\"format\": 1, '
      '\"advice\": {}}","{\"format\": 1.5, \"advice\": []}","{\"format\": 0, \"advice\": []}"}'::jsonb[]) e;
SELECT is(pg_temp.said($$ SELECT ff_import(pg_temp.export('{"format": 2}'), 'x') $$),
	'0A000 the export has format 2, and this hub reads formats up to 1; Upgrade the extension on the hub.',
	'an export of a later format is refused');
SELECT is(left(pg_temp.said(format('SELECT ff_import(pg_temp.first(%L), ''x'')', e)), 5), state,
	format('refused: %s', left(e::text, 60)))
  FROM (VALUES ('{"fillfactor": 9}'::jsonb, '23514'), ('{"advised": 101}', '23514'), ('{"action": "drop"}', '23514'),
      ('{"confidence": "NaN"}', '23514'), ('{"gain_pct": 1e400}', '22003'),
               ('{"updates_per_s": -1}', '23514'), ('{"oid": "x"}', '22P02'), ('{"oid": 99999999999}', '23514'),
               ('{"relation": null}', '23502'), ('{"advised": null}', '23514'),
               (jsonb_build_object('why', repeat('x', 301)), '23514'),
               (jsonb_build_object('relation', repeat('x', 100000)), '23514'),
               (jsonb_build_object('input', jsonb_build_object('x', repeat('x', 110000))), '23514')) c(e, state);
SELECT is(left(pg_temp.said(format('SELECT ff_import(pg_temp.export(%L), ''x'')', e)), 5), state,
	format('refused: %s', e))
  FROM (VALUES ('{"timeline": 0}'::jsonb, '23514'), ('{"system_identifier": null}', '23514'),
      ('{"exported_at": "never"}', '22007'), ('{"exported_at": "infinity"}', '23514'),
      ('{"collected_at": "-infinity"}', '23514'), ('{"server_version": 7}', '23514')) c(e, state);
SELECT is((SELECT count(*) FROM ff_hub.source), 0::bigint, 'a refused export leaves nothing behind');

-- ---------------------------------------------------------------------------
-- Hostile contents
-- ---------------------------------------------------------------------------
SELECT ff_import(pg_temp.first(jsonb_build_object('relation', E'public."<script>alert(1)</script>\n; DROP TABLE x; --"',
	'why', E'\\! rm -rf\x1b[2J')),
	'h') \g /dev/null
SELECT is((SELECT relation FROM ff_fleet_advice), 'public."<script>alert(1)</script>?; DROP TABLE x; --"',
	'control characters in names are replaced');
SELECT ok(ff_fleet_report() ~ 'public.&quot;&lt;script&gt;alert\(1\)&lt;/script&gt;\?; DROP'
	AND ff_fleet_report() !~ '<script>alert',
	'markup is escaped in the report');
SELECT ok(ff_fleet_report()
	~ '1 source of 1 cluster, 1 well; 1 change advised: about 977 kB less WAL a day',
	'the report has totals');
SELECT ff_fleet_remove('h') \g /dev/null

-- ---------------------------------------------------------------------------
-- Identity
-- ---------------------------------------------------------------------------
CREATE FUNCTION pg_temp.roles() RETURNS text
	LANGUAGE sql AS $$
		SELECT string_agg(concat_ws(' ', source, role, 'of ' || nullif(lead, source)), ', ' ORDER BY source)
		FROM ff_hub.member $$;
SELECT ff_import(pg_temp.export(), 'a'),
	ff_import(pg_temp.export('{"database_oid": 16385, "database": "other"}'), 'other') \g /dev/null
SELECT is(pg_temp.roles(), 'a primary, other primary', 'two databases of one server are two primaries');
SELECT ff_import(pg_temp.export('{"database": "named", "exported_at": "2999-01-01 12:00:30+00"}'), 'named') \g /dev/null
SELECT is(pg_temp.roles(), 'a duplicate of named, named primary, other primary',
	'of a database that was renamed the later file counts');
SELECT ff_fleet_remove('named') \g /dev/null
SELECT ff_import(pg_temp.export(
	'{"in_recovery": true, "started_at": "2999-01-01 10:30+00", "reads": [{"oid": 20001, "seq_scans": 10, '
	'"index_scans": 0, "blocks": 100}]}'),
	'b') \g /dev/null
SELECT is(pg_temp.roles(), 'a primary, b standby of a, other primary', 'a standby joins its primary');
SELECT is((SELECT string_agg(source, ' ' ORDER BY source) FROM ff_fleet_advice WHERE relation = 'public.jobs'),
	'a other', 'only the primary''s advice is shown, not the standby''s');
SELECT is((SELECT count(*) FROM ff_hub.standby_reads), 0::bigint, 'the first counters of a standby give no rate');
SELECT ff_import(pg_temp.export(
	'{"in_recovery": true, "exported_at": "2999-01-01 12:01:40+00", "started_at": "2999-01-01 10:30+00", "reads": '
	'[{"oid": 20001, "seq_scans": 20, "index_scans": 50, "blocks": 1100}]}'),
	'b') \g /dev/null
SELECT is((SELECT (seq_per_s, index_per_s, blocks_per_s)::text FROM ff_hub.standby_reads), '(0.1,0.5,10)',
	'two exports of a standby give the rate of its reads');
SELECT is((SELECT note FROM ff_fleet_advice WHERE source = 'a' AND new = 50), 'read on standbys: 10.0 pages/s',
	'the advice notes what is read on standbys');
SELECT ff_import(pg_temp.export(
	'{"in_recovery": true, "exported_at": "2999-01-01 12:03:20+00", "started_at": "2999-01-01 12:02+00", "reads": '
	'[{"oid": 20001, "seq_scans": 5, "index_scans": 0, "blocks": 50}]}'),
	'b') \g /dev/null
SELECT is((SELECT (seq_per_s, index_per_s, blocks_per_s)::text FROM ff_hub.standby_reads), '(0.1,0.5,10)',
	'a restarted standby keeps its rate');
SELECT ff_import(pg_temp.export(
	'{"in_recovery": true, "exported_at": "2999-01-01 12:04:20+00", "started_at": "2999-01-01 12:02+00", "reads": '
	'[{"oid": 20001, "seq_scans": 1005, "index_scans": 1000, "blocks": 100000, "since": "2999-01-01 12:04+00"}]}'),
	'b') \g /dev/null
SELECT is((SELECT (seq_per_s, index_per_s, blocks_per_s)::text FROM ff_hub.standby_reads), '(0.1,0.5,10)',
	'a reset of one table''s counters keeps its rate');
SELECT ff_import(pg_temp.export(
	'{"in_recovery": true, "exported_at": "2999-01-01 12:05:20+00", "started_at": "2999-01-01 12:02+00", "reads": '
	'[{"oid": 20001, "seq_scans": 1605, "index_scans": 1000, "blocks": 100000, "since": "2999-01-01 12:04+00"}]}'),
	'b') \g /dev/null
SELECT is((SELECT round(seq_per_s::numeric, 2) FROM ff_hub.standby_reads), round((0.1 * 100 + 600) / 160, 2),
	'later rates are weighted by time');
-- b is promoted, while nothing comes from a
SELECT ff_import(pg_temp.export(
	'{"timeline": 2, "exported_at": "2999-01-01 12:06+00", "started_at": "2999-01-01 12:02+00"}'),
	'b') \g /dev/null
SELECT is(pg_temp.roles(), 'a former primary of b, b primary, other primary',
	'after a promotion the standby is the primary');
SELECT is((SELECT string_agg(source, ' ' ORDER BY source) FROM ff_fleet_advice WHERE relation = 'public.jobs'),
	'b other', 'after a promotion only the new primary''s advice is shown');
-- a goes on as before
SELECT ff_import(pg_temp.export('{"exported_at": "2999-01-01 12:07+00"}'), 'a') \g /dev/null
SELECT is(pg_temp.roles(), 'a clone of b, b primary, other primary', 'of two that accept writes, one is a clone');
SELECT is((SELECT note FROM ff_fleet WHERE source = 'a'),
	'it has the identity of source b, and both accept writes: a copy, or two primaries',
	'the note of a clone says that both accept writes');
-- a is rebuilt as another cluster: nothing of the old one stays
SELECT ff_import(pg_temp.first('{"oid": 777}')
	|| '{"system_identifier": "7000000000000000002", "exported_at": "2999-01-01 12:08+00"}',
	'a') \g /dev/null
SELECT is(pg_temp.roles()
	|| (SELECT string_agg(relid::text, ' ') FROM ff_hub.advice JOIN ff_hub.source USING (source_id) WHERE source = 'a'),
	'a primary, b primary, other primary777', 'another server under an old name starts without the old advice');
SELECT is(pg_temp.said($$ SELECT ff_import(pg_temp.export(), 'a') $$),
	'55000 a newer export of source a was imported; Import it under another name, or remove the source first: '
	'SELECT ff_fleet_remove(...).',
	'an older export is refused');

-- ---------------------------------------------------------------------------
-- Sources
-- ---------------------------------------------------------------------------
SELECT is(pg_temp.said($$ SELECT ff_fleet_add('x', 'none') $$),
	'42704 server "none" does not exist; CREATE SERVER "none" FOREIGN DATA WRAPPER dblink_fdw OPTIONS (host '
	'''...'', dbname ''...'', connect_timeout ''3''); and a user mapping with user and password.',
	'a source on an unknown foreign server is refused');
CREATE FOREIGN DATA WRAPPER regress_ff_wrapper;
CREATE SERVER slow FOREIGN DATA WRAPPER regress_ff_wrapper OPTIONS (host 'h');
SELECT is(pg_temp.said($$ SELECT ff_fleet_add('x', 'slow') $$),
	'22023 server slow has no connect_timeout of 2 to 10 seconds; ALTER SERVER slow OPTIONS (ADD '
	'connect_timeout ''3'');',
	'a foreign server without connect_timeout is refused');
ALTER SERVER slow OPTIONS (ADD connect_timeout '3');
SELECT lives_ok($$ SELECT ff_fleet_add('x', 'slow') $$, 'a source can be added before it can be reached');
SELECT is((SELECT concat_ws(' ', state, age) FROM ff_fleet WHERE source = 'x'), 'new',
	'a new source has state new and no age');
SELECT throws_ok('DROP EXTENSION dblink', '2BP01', NULL, 'dblink stays as long as the hub needs it');
SELECT is(pg_temp.said($$ SELECT ff_import(pg_temp.export(), 'x') $$),
	'55000 source x is asked by a server; Import it under another name, or remove the source first: SELECT '
	'ff_fleet_remove(...).',
	'an export for a source that is refreshed is refused');
SELECT is(pg_temp.said($$ SELECT * FROM ff_fleet_script('b') $$), '55000 source b was imported; Run ff_script() there.',
	'there is no script for an imported source');
-- a refresh that has run for too long connects to no more sources
SELECT is(ff_hub.step(1, 1, clock_timestamp() - interval '121 s'), false, 'after two minutes no source is asked');
SELECT is(ff_hub.step(1, 1, clock_timestamp() - interval '110 s'), true, 'before two minutes the next source is asked');
-- connection errors name hosts and users, which readers of the hub need not know
SELECT ff_hub.failed(source_id, '08001',
	E'could not establish connection: connection to server at "10.1.2.3" (10.1.2.3), port 5432 failed: FATAL:  '
	'password authentication failed for user "spy"',
	'')
	FROM ff_hub.source WHERE source = 'x' \g /dev/null
SELECT is((SELECT state || ': ' || error FROM ff_fleet WHERE source = 'x'),
	'failing: 08001 could not establish connection: connection to server at "...", port 5432 failed: FATAL: '
	'password authentication failed for user "..."',
	'a stored error names no host and no user');
-- mistakes of callers
SELECT is(pg_temp.said($$ SELECT ff_fleet_add(E'a\nb', 'slow') $$),
	E'22023 invalid name of a source: \'a\nb\'; A name has 1 to 63 characters, all of which can be printed.',
	'a source name with a control character is refused');
SELECT is(pg_temp.said($$ SELECT ff_import('{"format": 1, "advice": []}') $$),
	'22023 invalid name of a source: '
		|| quote_literal('')
		|| '; A name has 1 to 63 characters, all of which can be printed.',
	'an export without identity needs a source name');
SELECT is(pg_temp.said($$ SELECT ff_fleet_report(0) $$), '22023 top must be greater than 0',
	'a report of zero rows is refused');
GRANT USAGE ON SCHEMA "F f" TO pg_stat_scan_tables;
SET ROLE pg_stat_scan_tables;
SELECT throws_ok($$ SELECT "F f".ff_fleet_remove('x') $$, '42501',
	'role pg_stat_scan_tables may not write the tables of the hub',
	'a role that may not write the history cannot remove a source');
RESET ROLE;
SELECT * FROM finish();
ROLLBACK;
