-- ff_settings(): what it proposes on which evidence, and what it leaves alone.
BEGIN;
CREATE EXTENSION fillfactor_advisor;
SET LOCAL client_min_messages = warning;
SELECT plan(29);

CREATE FUNCTION row_of(name text, OUT action text, OUT proposed text, OUT evidence text, OUT reason text, OUT ddl text,
    OUT undo text)
    LANGUAGE sql AS
$$
    SELECT s.action, s.proposed_value, s.evidence, s.reason, s.ddl, s.undo
    FROM ff_settings() s WHERE s.setting = name AND s.relation IS NULL $$;

-- before any collection
SELECT is((SELECT count(*) FROM ff_settings()
    WHERE action NOT IN ('change', 'trial', 'leave') OR evidence IS NULL OR reason !~ '\.$'),
    0::bigint,
    'every row has an action, evidence and a reason');
SELECT is((SELECT count(*) FROM ff_settings()
    WHERE (action = 'leave') <> (ddl IS NULL) OR (ddl IS NULL) <> (undo IS NULL)
        OR (action = 'leave') <> (proposed_value IS NULL)),
    0::bigint,
    'a proposal has a value, a statement and an undo; leave has none');
SELECT is((SELECT string_agg(setting, ' ' ORDER BY setting) FROM ff_settings()),
    'autovacuum idle_in_transaction_session_timeout track_io_timing wal_compression',
    'each setting has one row');
SELECT is((SELECT (action, proposed)::text FROM row_of('idle_in_transaction_session_timeout')), '(leave,)',
    'no session idle in transaction: leave');
SELECT is((SELECT action FROM row_of('track_io_timing')),
    CASE current_setting('track_io_timing') WHEN 'off' THEN 'trial' ELSE 'leave' END,
    'track_io_timing: a trial unless it is on');

-- a table of 20,000 rows
CREATE TABLE big (i int, filler text);
INSERT INTO big SELECT i, repeat('x', 100) FROM generate_series(1, 20000) i;
ANALYZE big;
CALL ff_collect();
SELECT rel_id AS big FROM ff_internal.relation WHERE relname = 'big' \gset
CREATE FUNCTION sampled(live float8, dead float8, recently float8) RETURNS void LANGUAGE sql AS $$
    INSERT INTO ff_internal.page_sample (rel_id, sampled_at, fillfactor, blocks, blocks_read, blocks_new, blocks_bad,
        live_rows, dead_rows, recently_dead_rows)
    SELECT rel_id, clock_timestamp(), 100, 1000, 300, 0, 0, live, dead, recently
        FROM ff_internal.relation WHERE relname = 'big';
$$;
CREATE VIEW of_table AS
    SELECT setting, action, current_value, proposed_value, evidence, reason, ddl, undo
    FROM ff_settings() WHERE relation = 'big'::regclass;

SELECT is_empty('SELECT * FROM of_table', 'no dead rows: the table has no row');
SELECT sampled(20000, 3000, 2500);
SELECT is_empty('SELECT * FROM of_table', 'dead rows that a snapshot still needs: the table has no row');
SELECT sampled(20000, 3000, 100);
SELECT is((SELECT (setting, action, current_value, proposed_value)::text FROM of_table),
    '(autovacuum_vacuum_scale_factor,trial,"0.2 (system)",0.05)',
    'many removable dead rows, no vacuum due: a lower scale factor');
SELECT matches((SELECT evidence FROM of_table),
    '^2900 of 23000 rows are dead and needed by nobody \(13 %\); autovacuum starts at 4050$',
    'many removable dead rows: the evidence');
SELECT is((SELECT ddl FROM of_table), 'ALTER TABLE public.big SET (autovacuum_vacuum_scale_factor = ''0.05'');',
    'many removable dead rows: the statement');
SELECT is((SELECT undo FROM of_table), 'ALTER TABLE public.big RESET (autovacuum_vacuum_scale_factor);',
    'many removable dead rows: the undo');
SELECT sampled(20000, 9000, 100);
SELECT is((SELECT (action, proposed_value)::text FROM of_table), '(leave,)', 'a vacuum is due: leave');
SELECT matches((SELECT reason FROM of_table), '^a vacuum is due; if it stays so, see autovacuum_max_workers',
    'a vacuum is due: the reason says so, and what to see if it does not come');
ALTER TABLE big SET (autovacuum_vacuum_scale_factor = '.30', fillfactor = 90);
SELECT sampled(20000, 3000, 100);
SELECT is((SELECT (current_value, proposed_value, undo)::text FROM of_table),
    '(.30,0.05,"ALTER TABLE public.big SET (autovacuum_vacuum_scale_factor = ''.30'');")',
    'the table has its own value: the undo restores its spelling');
DO $$ DECLARE s text; BEGIN SELECT ddl INTO s FROM of_table; EXECUTE s; END $$;
SELECT is((SELECT reloptions FROM pg_class WHERE relname = 'big'),
    '{fillfactor=90,autovacuum_vacuum_scale_factor=0.05}', 'the proposed statement works and keeps other options');
SELECT is((SELECT (action, proposed_value)::text FROM of_table), '(leave,)', 'after the change a vacuum is due: leave');
ALTER TABLE big SET (autovacuum_enabled = 'of');
SELECT is((SELECT (setting, action, current_value, proposed_value, undo)::text FROM of_table),
    '(autovacuum_enabled,change,of,true,"ALTER TABLE public.big SET (autovacuum_enabled = ''of'');")',
    'autovacuum is off for the table: on is proposed');

-- A session idle in transaction, from the history.
INSERT INTO ff_internal.horizon_history (kind, holder, role_name, since, last_seen_at, xids)
SELECT 'idle in transaction', 'pid 1', 'someone; else', now() - interval '2 hours', now() - interval '1 hour', 1000;
SELECT is((SELECT (action, proposed, ddl)::text FROM row_of('idle_in_transaction_session_timeout')),
    '(trial,10min,"ALTER SYSTEM SET idle_in_transaction_session_timeout = ''10min''; SELECT pg_reload_conf();")',
    'sessions held snapshots: a timeout, as a trial');
SELECT matches((SELECT evidence FROM row_of('idle_in_transaction_session_timeout')),
    '^1 session .*\(role "someone; else"\) for 60 min', 'sessions held snapshots: the evidence says who and how long');
SAVEPOINT short;
UPDATE ff_internal.horizon_history SET last_seen_at = now(), since = now() - interval '83 s';
SELECT is((SELECT (action, proposed)::text FROM row_of('idle_in_transaction_session_timeout')), '(trial,1min)',
    'sessions held snapshots for 83 s: a timeout that would have ended them');
ROLLBACK TO short;
SELECT is((SELECT undo FROM row_of('idle_in_transaction_session_timeout')),
    'ALTER SYSTEM RESET idle_in_transaction_session_timeout; SELECT pg_reload_conf();',
    'sessions held snapshots: the undo is RESET');

-- What ff_verify() found about a change is reported.
DELETE FROM ff_internal.horizon_history;
INSERT INTO ff_internal.statement (queryid, toplevel, kind, text, opened_at)
SELECT 1, true, 'write', 'UPDATE t', now();
INSERT INTO ff_internal.statement_history (statement_id, began_at, ended_at, epoch_id, calls, rows, total_ms, squares,
    blocks_hit, blocks_read, blocks_dirtied, wal_records, wal_fpi, wal_bytes)
SELECT (SELECT max(statement_id) FROM ff_internal.statement), now() - make_interval(mins => 5 * (n + 1)),
    now() - make_interval(mins => 5 * n), (SELECT max(epoch_id) FROM ff_internal.epoch),
    1000, 1000, CASE WHEN n > 10 THEN 1000 ELSE 1500 END, CASE WHEN n > 10 THEN 1010 ELSE 2260 END, 1, 0, 100, 0, 0, 0
  FROM generate_series(0, 20) n;
UPDATE ff_internal.collection SET began_at = now() - interval '1 day';
UPDATE ff_internal.setting_history SET seen_at = now() - interval '1 day';
DELETE FROM ff_internal.setting_history WHERE setting = 'track_io_timing';
INSERT INTO ff_internal.setting_history (setting, seen_at, before_at, value)
VALUES ('track_io_timing', now() - interval '1 day', NULL, 'off'),
       ('track_io_timing', now() - interval '50 min', now() - interval '55 min', 'on');
SELECT matches((SELECT reason FROM row_of('track_io_timing')),
    '^Changed: setting track_io_timing off -> on, .* ff_verify\(\): hurt: statement time 1\.000 -> 1\.500 ms '
    '\(\+50 %\)',
    'a setting that hurt: the reason says so');
SELECT is((SELECT (action, proposed)::text FROM row_of('track_io_timing')), '(change,off)',
    'a setting that hurt: the value before is proposed');
SELECT matches((SELECT ddl FROM row_of('track_io_timing')),
    '^ALTER SYSTEM (RESET track_io_timing|SET track_io_timing = ''off'');',
    'a setting that hurt: the statement takes it back');

-- Rights.
CREATE ROLE regress_ff_settings;
GRANT USAGE ON SCHEMA public TO regress_ff_settings;
SET LOCAL ROLE regress_ff_settings;
SELECT throws_ok('SELECT * FROM public.ff_settings()', '42501', NULL, 'a plain role may not call ff_settings()');
RESET ROLE;
GRANT pg_read_all_stats TO regress_ff_settings;
SET LOCAL ROLE regress_ff_settings;
SELECT lives_ok('SELECT * FROM public.ff_settings()', 'pg_read_all_stats may call ff_settings()');
SELECT lives_ok('SELECT * FROM public.ff_verify()', 'pg_read_all_stats may call ff_verify()');
SELECT lives_ok('SELECT * FROM public.ff_history(''big'')', 'pg_read_all_stats may call ff_history()');
SELECT throws_ok('SELECT ff_internal.collect_fit(1)', '42501', NULL, 'pg_read_all_stats may not call collect_fit()');
RESET ROLE;

SELECT * FROM finish();
ROLLBACK;
