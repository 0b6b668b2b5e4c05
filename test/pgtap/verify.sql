-- ff_verify(): verdicts from histories written by hand, one story a verdict or
-- a reason to leave intervals out.
BEGIN;
CREATE EXTENSION fillfactor_advisor;
SET LOCAL client_min_messages = warning;
SELECT plan(90);

CALL ff_collect();
SELECT max(epoch_id) AS epoch FROM ff_internal.epoch \gset

-- Nothing changed, nothing known.
CREATE TABLE unknown (i int);
SELECT is((SELECT string_agg(reason, '') FROM ff_verify('unknown')), 'not collected yet: run CALL ff_collect() or ff_schedule().', 'a table not collected yet gets a row that says so');
SELECT matches((SELECT string_agg(reason, '') FROM ff_verify()), '^no change was seen since 2...-', 'no change at all: one row that says since when');
CREATE TABLE parted (i int) PARTITION BY RANGE (i);
SELECT matches((SELECT string_agg(reason, '') FROM ff_verify('parted')), '^partitioned: ', 'a partitioned table says that its partitions are examined');
SELECT throws_ok($$SELECT ff_verify('pg_class')$$, '42809', NULL, 'a catalog is refused');
SELECT throws_ok($$SELECT ff_verify(1)$$, '42P01', NULL, 'so is an unknown OID');

-- ---------------------------------------------------------------------------
-- Statistics
-- ---------------------------------------------------------------------------
SELECT is(ff_internal.t_quantile(1), 12.706::float8, 't, 1 degree of freedom');
SELECT is(ff_internal.t_quantile(3.9), 3.182::float8, 't: fractions are rounded down');
SELECT is(round(ff_internal.t_quantile(60)::numeric, 3), 2.000, 't, 60 degrees of freedom');
SELECT is(ff_internal.t_quantile(0.5), 'Infinity'::float8, 't, less than one degree of freedom');
SELECT is(ff_internal.ratio('{90,110,100,100}', '{1000,1000,1000,1000}')::text, format('(0.1,%s,4)', 200 * 4 / 3.0::float8 / 16e6), 'ratio: variance from the scatter between intervals');
SELECT is(ff_internal.ratio('{100,100,100}', '{1000,1000,1000}', 0.25)::text, '(0.1,0.25,3)', 'ratio: never below the least variance');
SELECT is(ff_internal.ratio('{100}', '{1000}')::text, '(0.1,,1)', 'ratio: one interval has no variance');
SELECT is(ff_internal.ratio('{NULL,1}', '{10,0}')::text, '(,,0)', 'ratio: nothing to divide by');
SELECT is(ff_internal.difference(0.1, 0, 4, 0.5, 0, 4), '{0.4,0.4,0.4}', 'difference without scatter');
SELECT is(ff_internal.difference(1, NULL, 1, 2, 0.1, 4), NULL, 'difference: one interval tells nothing');
-- equal variances of 2 over 4 intervals each: 6 degrees of freedom
SELECT is(ff_internal.difference(10, 2, 4, 20, 2, 4), ARRAY[10, 10 - 2 * 2.447, 10 + 2 * 2.447]::float8[], 'difference, Welch');

-- ---------------------------------------------------------------------------
-- Stories
-- ---------------------------------------------------------------------------

-- A table collected every five minutes; the change happened in the interval
-- that ended five hours ago.  Zero updates stand for an interval without any.
CREATE FUNCTION story(name text, updated1 int[], hot1 int[], updated2 int[], hot2 int[],
    kind text DEFAULT 'fillfactor', old_options text[] DEFAULT NULL, new_options text[] DEFAULT '{fillfactor=50}',
    rewritten2 int[] DEFAULT '{}', epochs1 int[] DEFAULT '{}', epochs2 int[] DEFAULT '{}',
    row_bytes float8[] DEFAULT NULL, dropped text[] DEFAULT NULL, created text[] DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    id    bigint;
    epoch int := (SELECT min(epoch_id) FROM ff_internal.epoch);
    t     timestamptz := now() - interval '5 hours';
    step  interval := '5 minutes';
BEGIN
    EXECUTE format('CREATE TABLE IF NOT EXISTS %I (i int, j int)', name);
    INSERT INTO ff_internal.relation (system_identifier, database_oid, relid, created_xid, nspname, relname, relfilenode, reloptions, fillfactor, opened_at, epoch_id, seen_at,
                             inserted, updated, hot_updated, newpage_updated, deleted, seq_scans, index_scans, blocks_fetched, blocks_hit, vacuums, analyzes)
    SELECT e.system_identifier, e.database_oid, c.oid, a.xmin, 'public', name, c.relfilenode, new_options, ff_internal.effective_fillfactor(new_options), t - interval '1 day', epoch, now(),
           0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
      FROM ff_internal.epoch e, pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = -1
     WHERE e.epoch_id = epoch AND c.oid = quote_ident(name)::regclass
    RETURNING rel_id INTO id;
    INSERT INTO ff_internal.counter_interval (rel_id, began_at, ended_at, epoch_id, fillfactor, rewritten, inserted, updated, hot_updated, newpage_updated, deleted,
                             seq_scans, index_scans, blocks_fetched, blocks_hit, vacuums, heap_bytes, index_bytes)
    SELECT id, t - step * (cardinality(updated1) - n + 2), t - step * (cardinality(updated1) - n + 1), coalesce(epochs1[n], epoch), ff_internal.effective_fillfactor(old_options), false,
           0, updated1[n], hot1[n], updated1[n] - hot1[n], 0, 0, 0, 1000, 900, 0, 8192000, 1000000
      FROM generate_series(1, cardinality(updated1)) n
    UNION ALL
    SELECT id, t - step, t, epoch, ff_internal.effective_fillfactor(new_options), false, 0, 100000, 0, 100000, 0, 0, 0, 1000, 900, 0, 8192000, 1000000
    UNION ALL
    SELECT id, t + step * (n - 1), t + step * n, coalesce(epochs2[n], epoch), ff_internal.effective_fillfactor(new_options), n = ANY (rewritten2),
           0, updated2[n], hot2[n], updated2[n] - hot2[n], 0, 0, 0, 1000, 990, 0, 16384000, 500000
      FROM generate_series(1, cardinality(updated2)) n;
    INSERT INTO ff_internal.change (rel_id, kind, before_at, seen_at, epoch_id, old_fillfactor, new_fillfactor, old_options, new_options, dropped_indexes, created_indexes)
    VALUES (id, kind, t - step, t, epoch, ff_internal.effective_fillfactor(old_options), ff_internal.effective_fillfactor(new_options), old_options, new_options, dropped, created);
    INSERT INTO ff_internal.page_sample (rel_id, sampled_at, fillfactor, blocks, blocks_read, blocks_new, blocks_bad, live_rows)
    SELECT id, x.at, 100, 1000, 300, 0, 0, 8192000 / b.bytes
      FROM (VALUES (1, t - step - interval '1 s'), (2, t + step * cardinality(updated2) - interval '1 s')) x(n, at)
      JOIN unnest(row_bytes) WITH ORDINALITY b(bytes, n) USING (n);
    RETURN id;
END $$;

-- helped: of six equal intervals the first two are left out as settling
SELECT story('helped', '{1000,1000,1000,1000,1000,1000}', '{500,500,90,110,100,100}', '{1000,1000,1000,1000,1000,1000}', '{0,0,985,995,990,990}') AS helped \gset
SELECT is((SELECT (verdict, old_value, new_value, intervals_before, intervals_after, updates_before, updates_after)::text FROM ff_verify('helped')),
    '(helped,100,50,4,4,4000,4000)', 'helped: verdict and windows');
SELECT is((SELECT (hot_pct_before, hot_pct_after, round(hot_change::numeric, 6), moved_pct_before, round(moved_pct_after::numeric, 6), hit_pct_before, hit_pct_after)::text FROM ff_verify('helped')),
    '(10,99,89.000000,90,1.000000,90,99)', 'helped: HOT, moved and hit share');
-- before: the scatter (1.67e-5) is less than single updates allow (2.25e-5);
-- after: 4.17e-6 against 2.60e-6
SELECT is((SELECT (round(hot_change_low::numeric, 2), round(hot_change_high::numeric, 2))::text FROM ff_verify('helped')),
    (SELECT (round((89 - w)::numeric, 2), round((89 + w)::numeric, 2))::text
       FROM (SELECT 402 * 3602 / 4004.0 ^ 3 AS v1, 50 * 4 / 3.0 / 16e6 AS v2) v,
            LATERAL (SELECT 100 * sqrt(v1 + v2) * ff_internal.t_quantile((v1 + v2) ^ 2 / (v1 ^ 2 / 3 + v2 ^ 2 / 3)) AS w) i), 'helped: the interval');
SELECT is((SELECT undo FROM ff_verify('helped')), NULL, 'helped: nothing to undo');
SELECT is((SELECT left_out FROM ff_verify('helped')), '2 before settling, 2 after settling', 'helped: what is left out');
SELECT matches((SELECT reason FROM ff_verify('helped')), '^HOT share 10\.0 % at 100, 99\.0 % at 50: HOT share \+89\.0 points \(95 % interval \+87\..* to \+90\..*\)\.$', 'helped: the reason');
SELECT is((SELECT (heap_bytes_before, heap_bytes_after, index_bytes_before, index_bytes_after)::text FROM ff_verify('helped')), '(8192000,16384000,1000000,500000)', 'helped: sizes');
SELECT is((SELECT (updates_per_s_before, updates_per_s_after)::text FROM ff_verify('helped')), format('(%s,%s)', 1000 / 300.0::float8, 1000 / 300.0::float8), 'helped: rates');
SELECT matches((SELECT missing FROM ff_verify('helped')), '^WAL, blocks and time: .*; prediction: this change was not advised', 'helped: what is missing');
SELECT is((SELECT count(*) FROM ff_verify_statements('helped')), 0::bigint, 'helped: no statement');

-- hurt: and the way back, to the very spelling
SELECT story('hurt', '{1000,1000,1000,1000}', '{900,900,900,900}', '{1000,1000,1000,1000}', '{500,500,500,500}',
    old_options => '{fillfactor=0x50,autovacuum_enabled=off}', new_options => '{autovacuum_enabled=off}') > 0 AS ok \gset
SELECT is((SELECT verdict FROM ff_verify('hurt')), 'too early', 'two intervals after settling are too few');
SELECT story('Hurt;--', '{1000,1000,1000,1000,1000,1000}', '{900,900,900,900,900,900}', '{1000,1000,1000,1000,1000,1000}', '{500,500,500,500,500,500}',
    old_options => '{fillfactor=0x50,autovacuum_enabled=off}', new_options => '{autovacuum_enabled=off}') > 0 AS ok \gset
SELECT is((SELECT (verdict, old_value, new_value)::text FROM ff_verify('"Hurt;--"')), '(hurt,80,100)', 'hurt');
SELECT is((SELECT undo FROM ff_verify('"Hurt;--"')), 'ALTER TABLE public."Hurt;--" SET (fillfactor = ''0x50'');', 'hurt: undo to the option as it was spelled');
SELECT story('hurt2', '{1000,1000,1000,1000,1000,1000}', '{900,900,900,900,900,900}', '{1000,1000,1000,1000,1000,1000}', '{500,500,500,500,500,500}') > 0 AS ok \gset
SELECT is((SELECT undo FROM ff_verify('hurt2')), 'ALTER TABLE public.hurt2 RESET (fillfactor);', 'hurt: undo to no option');

-- no difference, and a table that only shrank or grew
SELECT story('same', '{1000,1000,1000,1000,1000,1000}', '{900,905,895,900,905,895}', '{1000,1000,1000,1000,1000,1000}', '{900,905,895,900,905,895}') > 0 AS ok \gset
SELECT is((SELECT verdict FROM ff_verify('same')), 'no difference', 'no difference');
SELECT matches((SELECT reason FROM ff_verify('same')), '; the table was not rewritten since, so its old pages are as full as before\.$', 'no difference: nor was the table rewritten');
SELECT story('shrunk', '{1000,1000,1000,1000,1000,1000}', '{900,905,895,900,905,895}', '{1000,1000,1000,1000,1000,1000}', '{900,905,895,900,905,895}',
    old_options => '{fillfactor=50}', new_options => '{fillfactor=100}', row_bytes => '{200,100}') > 0 AS ok \gset
SELECT is((SELECT (verdict, row_bytes_before, row_bytes_after)::text FROM ff_verify('shrunk')), '(helped,200,100)', 'smaller and not worse: helped');
SELECT story('grown', '{1000,1000,1000,1000,1000,1000}', '{900,905,895,900,905,895}', '{1000,1000,1000,1000,1000,1000}', '{900,905,895,900,905,895}', row_bytes => '{100,200}') > 0 AS ok \gset
SELECT is((SELECT (verdict, undo)::text FROM ff_verify('grown')), '(hurt,"ALTER TABLE public.grown RESET (fillfactor);")', 'larger and not better: hurt');
SELECT story('noise', '{1000,1000,1000,1000,1000,1000}', '{100,900,100,900,100,900}', '{1000,1000,1000,1000,1000,1000}', '{200,900,900,100,900,200}') > 0 AS ok \gset
SELECT is((SELECT verdict FROM ff_verify('noise')), 'too early', 'too much scatter: too early');
SELECT matches((SELECT reason FROM ff_verify('noise')), 'the intervals scatter too much to tell yet', 'too much scatter: says so');

-- too early
SELECT story('early', '{1000,1000,1000,1000}', '{100,100,100,100}', '{1000}', '{1000}') > 0 AS ok \gset
SELECT matches((SELECT verdict || ': ' || reason FROM ff_verify('early')), '^too early: .*1 intervals with 1000 updates can be used since the change; 3 with 500 are needed', 'too early: too few intervals');
SELECT story('few', '{100,100,100,100,100}', '{0,0,0,0,0}', '{100,100,100,100,100}', '{100,100,100,100,100}') > 0 AS ok \gset
SELECT is((SELECT verdict FROM ff_verify('few')), 'too early', 'too early: too few updates');

-- a table that is only inserted into
SELECT story('log', '{0,0,0}', '{0,0,0}', '{0,0,0}', '{0,0,0}', old_options => '{fillfactor=70}', new_options => '{fillfactor=100}', row_bytes => '{100,70}') > 0 AS ok \gset
SELECT is((SELECT (verdict, reason)::text FROM ff_verify('log')),
    '(helped,"hardly any updates on either side, so only the size is judged: table bytes per live row -30 %.")', 'only inserted into: the size is judged');
SELECT story('log2', '{0,0,0}', '{0,0,0}', '{0,0,0}', '{0,0,0}', row_bytes => '{70,100}') > 0 AS ok \gset
SELECT is((SELECT (verdict, undo)::text FROM ff_verify('log2')), '(hurt,"ALTER TABLE public.log2 RESET (fillfactor);")', 'only inserted into, and larger: hurt');
SELECT story('log3', '{0,0,0}', '{0,0,0}', '{0,0,0}', '{0,0,0}', row_bytes => '{100,99}') > 0 AS ok \gset
SELECT is((SELECT verdict FROM ff_verify('log3')), 'too early', 'only inserted into, and as large: too early');

-- Epochs: an interval of another epoch of this server counts; one that another
-- server counted does not.
INSERT INTO ff_internal.epoch (system_identifier, database_oid, timeline, server_version, began_at)
SELECT e.system_identifier + d, e.database_oid, 1, e.server_version, e.began_at FROM ff_internal.epoch e, (VALUES (0), (1)) v(d) WHERE epoch_id = :epoch;
SELECT story('crash', '{1000,1000,1000,1000,1000,1000}', '{100,100,100,100,100,100}', '{1000,1000,1000,1000,1000,1000}', '{900,900,900,900,900,900}',
    epochs2 => ARRAY[:epoch, :epoch, :epoch, :epoch + 1, :epoch + 1, :epoch + 1]) > 0 AS ok \gset
SELECT is((SELECT (verdict, intervals_after)::text FROM ff_verify('crash')), '(helped,4)', 'a crash in between: intervals of both epochs count');
SELECT story('restored', '{1000,1000,1000,1000,1000,1000}', '{100,100,100,100,100,100}', '{1000,1000,1000,1000,1000,1000}', '{900,900,900,900,900,900}',
    epochs1 => ARRAY[:epoch + 2, :epoch + 2, :epoch + 2, :epoch + 2, :epoch + 2, :epoch + 2]) > 0 AS ok \gset
SELECT is((SELECT (verdict, intervals_before, left_out)::text FROM ff_verify('restored')), '("too early",0,"6 before other server, 2 after settling")', 'another server before: not compared');

-- Rewritten two intervals after the change.
SELECT story('rewritten', '{1000,1000,1000,1000,1000,1000}', '{100,100,100,100,100,100}', '{1000,1000,1000,1000,1000,1000,1000}', '{0,0,0,900,900,900,900}', rewritten2 => '{3}') > 0 AS ok \gset
SELECT is((SELECT (verdict, intervals_after, left_out)::text FROM ff_verify('rewritten')),
    '("too early",2,"2 before settling, 2 after before the rewrite, 1 after rewritten, 2 after settling")', 'rewritten: only what follows counts');
SELECT story('rewritten2', '{1000,1000,1000,1000,1000,1000}', '{100,100,100,100,100,100}', '{1000,1000,1000,1000,1000,1000,1000,1000}', '{0,0,0,900,900,900,900,900}', rewritten2 => '{3}') > 0 AS ok \gset
SELECT is((SELECT (verdict, hot_pct_after)::text FROM ff_verify('rewritten2')), '(helped,90)', 'rewritten: judged by what follows');
SELECT ok((SELECT reason !~ 'not rewritten' FROM ff_verify('rewritten')), 'rewritten: not said of old pages');

-- Ten times the rate before.
SELECT story('busier', '{10000,10000,10000,10000,10000,10000}', '{100,100,100,100,100,100}', '{1000,1000,1000,1000,1000,1000}', '{900,900,900,900,900,900}') > 0 AS ok \gset
SELECT is((SELECT (verdict, left_out)::text FROM ff_verify('busier')), '("too early","4 before other rate, 2 before settling, 2 after settling")', 'another rate: not compared');
SELECT story('night', '{1000,1000,1000,1000,1000,1000,10,1000}', '{100,100,100,100,100,100,10,100}', '{1000,1000,1000,1000,1000,1000}', '{900,900,900,900,900,900}') > 0 AS ok \gset
SELECT is((SELECT (verdict, hot_pct_before, left_out)::text FROM ff_verify('night')), '(helped,10,"1 before other rate, 3 before settling, 2 after settling")', 'a quiet interval is left out');

-- Another change ends the window; two changes at once are not told apart.
SELECT story('twice', '{1000,1000,1000,1000,1000,1000}', '{100,100,100,100,100,100}', '{1000,1000,1000,1000,1000,1000}', '{900,900,900,900,900,900}') AS twice \gset
INSERT INTO ff_internal.change (rel_id, kind, before_at, seen_at, epoch_id, old_fillfactor, new_fillfactor)
SELECT rel_id, 'fillfactor', now() - interval '4 h 45 min', now() - interval '4 h 40 min', epoch_id, 50, 60 FROM ff_internal.change WHERE rel_id = :twice
UNION ALL
SELECT rel_id, 'options', now() - interval '4 h 45 min', now() - interval '4 h 40 min', epoch_id, 50, 60 FROM ff_internal.change WHERE rel_id = :twice;
SELECT is((SELECT (verdict, intervals_after)::text FROM ff_verify('twice') WHERE new_value = '50'), '("too early",2)', 'the next change ends the window');
SELECT is((SELECT count(*) FROM ff_verify('twice') WHERE reason ~ 'changed at the same time, so not told apart: (options|fillfactor)'), 2::bigint, 'changes at once say so');

-- Indexes.
CREATE TABLE dropped (i int, j int);
SELECT story('dropped', '{1000,1000,1000,1000,1000,1000}', '{0,0,0,0,0,0}', '{1000,1000,1000,1000,1000,1000}', '{1000,1000,1000,1000,1000,1000}', kind => 'indexes', new_options => NULL,
    dropped => ARRAY['CREATE INDEX dropped_j ON public.dropped USING btree (j)']) > 0 AS ok \gset
SELECT is((SELECT (verdict, change, old_value, new_value)::text FROM ff_verify('dropped')), '(helped,indexes,"CREATE INDEX dropped_j ON public.dropped USING btree (j)",)', 'an index dropped: helped');
CREATE TABLE "Created" (i int, j int);
CREATE INDEX "J;" ON "Created" (j);
SELECT story('Created', '{1000,1000,1000,1000,1000,1000}', '{1000,1000,1000,1000,1000,1000}', '{1000,1000,1000,1000,1000,1000}', '{0,0,0,0,0,0}', kind => 'indexes', new_options => NULL,
    dropped => ARRAY['CREATE INDEX gone ON public."Created" USING btree (i)'], created => ARRAY['CREATE INDEX "J;" ON public."Created" USING btree (j)']) > 0 AS ok \gset
SELECT is((SELECT (verdict, undo)::text FROM ff_verify('"Created"')),
    (SELECT ('hurt'::text, 'DROP INDEX public."J;"; CREATE INDEX CONCURRENTLY gone ON public."Created" USING btree (i);'::text)::text), 'an index created: hurt, and the way back');

-- Other options.
SELECT story('options', '{1000,1000,1000,1000,1000,1000}', '{900,900,900,900,900,900}', '{1000,1000,1000,1000,1000,1000}', '{800,800,800,800,800,800}', kind => 'options',
    old_options => '{autovacuum_vacuum_scale_factor=0.10,fillfactor=90}', new_options => '{fillfactor=90,autovacuum_enabled=off}') > 0 AS ok \gset
SELECT is((SELECT (verdict, old_value, new_value)::text FROM ff_verify('options')), '(hurt,autovacuum_vacuum_scale_factor=0.10,autovacuum_enabled=off)', 'other options');
SELECT is((SELECT undo FROM ff_verify('options')),
    'ALTER TABLE public.options RESET (autovacuum_enabled); ALTER TABLE public.options SET (autovacuum_vacuum_scale_factor = ''0.10'');', 'other options: undo');

-- ---------------------------------------------------------------------------
-- Statements
-- ---------------------------------------------------------------------------
INSERT INTO ff_internal.statement_epoch (system_identifier, database_oid, server_version, began_at)
SELECT system_identifier, database_oid, server_version / 10000 * 10000, began_at FROM ff_internal.epoch WHERE epoch_id = :epoch;

CREATE FUNCTION statement(id bigint, query_id bigint, total1 float8[], total2 float8[], stddev1 float8 DEFAULT 0.1, stddev2 float8 DEFAULT 0.1, wal1 int DEFAULT 1000, wal2 int DEFAULT 600, how text DEFAULT 'top') RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    t         timestamptz := now() - interval '5 hours' + interval '10 ms';
    step      interval := '5 minutes';
    statement bigint;
    epoch     int := (SELECT max(statement_epoch_id) FROM ff_internal.statement_epoch);
BEGIN
    INSERT INTO ff_internal.statement (queryid, toplevel, kind, text, statement_epoch_id, opened_at) VALUES (query_id, true, 'write', 'UPDATE ' || query_id, epoch, t) RETURNING statement_id INTO statement;
    INSERT INTO ff_internal.statement_target (statement_id, "position", command, how, relation_name, relid, rel_id)
    SELECT statement, 1, 'UPDATE', how, relname, relid, rel_id FROM ff_internal.relation WHERE rel_id = id;
    INSERT INTO ff_internal.statement_history (statement_id, began_at, ended_at, statement_epoch_id, calls, rows, total_ms, stddev_ms, blocks_hit, blocks_read, blocks_dirtied, blocks_written,
                                      read_ms, wal_records, wal_fpi, wal_bytes)
    SELECT statement, t - step * (cardinality(total1) - n + 2), t - step * (cardinality(total1) - n + 1), epoch, 100, 1000, total1[n], stddev1, 4000, 0, 0, 0, 0, 0, 0, wal1 * 1000
      FROM generate_series(1, cardinality(total1)) n
    UNION ALL
    SELECT statement, t - step, t, epoch, 100, 1000, 100000, 100, 0, 0, 0, 0, 0, 0, 0, 0
    UNION ALL
    SELECT statement, t + step * (n - 1), t + step * n, epoch, 100, 1000, total2[n], stddev2, 2000, 0, 0, 0, 0, 0, 0, wal2 * 1000
      FROM generate_series(1, cardinality(total2)) n;
END $$;

SELECT statement(:helped, 1, '{300,300,101,99,100,100}', '{300,300,81,79,80,80}');
SELECT is((SELECT (verdict, wal_bytes_per_update_before, wal_bytes_per_update_after, round(wal_change_pct::numeric, 6), blocks_per_update_before, blocks_per_update_after)::text FROM ff_verify('helped')),
    '(helped,1000,600,-40.000000,4,2)', 'statements: WAL and blocks per update');
SELECT is((SELECT (round(mean_ms_before::numeric, 6), round(mean_ms_after::numeric, 6), round(mean_change_pct::numeric, 6), round(stddev_change_pct::numeric, 6))::text FROM ff_verify('helped')),
    '(1.000000,0.800000,-20.000000,0.000000)', 'statements: time, without the interval of the change and those that settle');
-- single calls: 0.1 ms over 400 calls on both sides, 1 ms the yardstick: 2.5e-5;
-- the scatter between intervals, 2 / 3 / 4 / 100^2 = 1.7e-5, is less
SELECT is((SELECT (round(mean_change_low::numeric, 4), round(mean_change_high::numeric, 4))::text FROM ff_verify('helped')),
    (SELECT (round((100 * (0.8 * exp(-w) - 1))::numeric, 4), round((100 * (0.8 * exp(w) - 1))::numeric, 4))::text
       FROM (SELECT sqrt(2.5e-5 + 2.5e-5 / 0.64) * ff_internal.t_quantile(5) AS w) x), 'statements: the interval of the mean, on logarithms');
SELECT is((SELECT (queryid, query, calls_before, calls_after, round(mean_change_ms::numeric, 6), round(mean_change_low::numeric, 4))::text FROM ff_verify_statements('helped')),
    (SELECT (1::bigint, 'UPDATE 1'::text, 400::bigint, 400::bigint, -0.2 ::numeric(7,6), round((-0.2 - sqrt(5e-5) * 2.447)::numeric, 4))::text), 'statements: one by one');
SELECT ok((SELECT missing !~ 'WAL' FROM ff_verify('helped')), 'statements: nothing is missing of them');
SELECT statement((SELECT rel_id FROM ff_internal.relation WHERE relname = 'same'), 2, '{100,100,100,100,100,100}', '{100,100,100,100,100,100}', how => 'cte');
SELECT is((SELECT mean_ms_after FROM ff_verify('same')), NULL, 'statements: an update within another statement tells nothing of this table alone');
-- more HOT, less WAL, and yet slower
SELECT story('slower', '{1000,1000,1000,1000,1000,1000}', '{500,500,500,500,500,500}', '{1000,1000,1000,1000,1000,1000}', '{550,550,550,550,550,550}') AS slower \gset
SELECT statement(:slower, 3, '{100,100,100,100,100,100}', '{200,200,200,200,200,200}', wal2 => 950);
SELECT matches((SELECT verdict || ': ' || reason FROM ff_verify('slower')), '^hurt: .*, but mean time \+100\.0 % .*: weighed together, cost \+39\.', 'gains against losses: weighed');

-- Settings.
INSERT INTO ff_internal.setting_history (setting, seen_at, before_at, value, unit)
SELECT 'backend_flush_after', now() - interval '2 days', NULL, '0', '8kB'
UNION ALL SELECT 'backend_flush_after', now() - interval '5 hours', now() - interval '5 hours 5 minutes', '256', '8kB';
UPDATE ff_internal.setting_history SET seen_at = now() - interval '2 days' WHERE before_at IS NULL AND setting <> 'backend_flush_after';
UPDATE ff_internal.collection SET began_at = now() - interval '1 day';
SELECT is((SELECT (verdict, old_value, new_value, updates_before, updates_after)::text FROM ff_verify() WHERE change = 'setting backend_flush_after'),
    '(hurt,0,2MB,1200,1200)', 'a setting: judged by all statements that ran before and after');
SELECT is((SELECT undo FROM ff_verify() WHERE change = 'setting backend_flush_after'), 'ALTER SYSTEM SET backend_flush_after = ''0''; SELECT pg_reload_conf();', 'a setting: undo');
DELETE FROM ff_internal.statement_history WHERE statement_id IN (SELECT statement_id FROM ff_internal.statement WHERE queryid IN (1, 2, 3));
SELECT is((SELECT verdict FROM ff_verify() WHERE change = 'setting backend_flush_after'), 'too early', 'a setting: too few calls are too early');
SELECT statement(:helped, 4, '{1000,1000,1010,990,1000,1000}', '{1000,1000,990,1010,1000,1000}', stddev1 => 1.0, stddev2 => 0.5), statement(:helped, 5, '{1000,1000,1010,990,1000,1000}', '{1000,1000,990,1010,1000,1000}', stddev1 => 1.0, stddev2 => 0.5);
SELECT is((SELECT (verdict, round(stddev_change_pct::numeric, 6), round(mean_change_pct::numeric, 6))::text FROM ff_verify() WHERE change = 'setting backend_flush_after'),
    '(helped,-50.000000,0.000000)', 'a setting: the standard deviation counts too');

-- As SHOW has them.
SELECT is_empty($$ SELECT name, setting, unit FROM pg_settings WHERE ff_internal.setting_shown(setting, unit) IS DISTINCT FROM current_setting(name) AND unit IS NOT NULL $$, 'settings with a unit: as SHOW has them');
SELECT is((SELECT array_agg(ff_internal.setting_shown(v, u) ORDER BY n) FROM (VALUES (1, '2.5', 'ms'), (2, '-1', 'kB'), (3, '0', '8kB'), (4, 'on', NULL), (5, '100', NULL), (6, '131072', '8kB'), (7, '90', 's')) x(n, v, u)),
    '{2500us,-1,0,on,100,1GB,90s}', 'a number with its largest whole unit');
SELECT is((SELECT (amount, kind)::text FROM ff_internal.setting_amount('1.5 GB', '8kB')), '(1610612736.0,memory)', 'a unit of its own');
SELECT is((SELECT amount FROM ff_internal.setting_amount('pglz', NULL)), NULL, 'no number');

-- ---------------------------------------------------------------------------
-- Promises
-- ---------------------------------------------------------------------------
SELECT is(ff_internal.calibration(:helped), NULL, 'no promise, no calibration');
SELECT is(ff_internal.calibrated(0.6, NULL), 0.6::float8, 'confidence as it was');
SELECT is(round(ff_internal.calibrated(0.6, 1)::numeric, 6), 0.8, 'confidence halfway to certain where all came true');
SELECT is(round(ff_internal.calibrated(0.6, 0.4)::numeric, 6), 0.3, 'confidence halved where it did not');
INSERT INTO ff_internal.prediction (rel_id, made_at, from_fillfactor, to_fillfactor, hot_pct, predicted_hot_pct, predicted_hot_low, predicted_hot_high)
VALUES (:helped, now() - interval '6 hours', 100, 50, 10, 97, 95, 98);
SELECT matches((SELECT reason FROM ff_verify('helped')), '99\.0 % at 50 \(97 % predicted, 95 to 98\): ', 'the promise is shown');
SELECT is(ff_internal.collect_prediction(:helped), 0::bigint, 'a promise taken up is judged');
SELECT is((SELECT (verdict, achieved_hot_pct, judged_at IS NOT NULL)::text FROM ff_internal.prediction WHERE rel_id = :helped), '(helped,99,t)', 'and what came of it kept');
SELECT is(ff_internal.calibration(:helped), 1::float8, 'within 5 points: it came true');
UPDATE ff_internal.prediction SET predicted_hot_pct = 84, predicted_hot_low = 80, predicted_hot_high = 89 WHERE rel_id = :helped;
SELECT is(ff_internal.calibration(:helped), 0.5::float8, 'ten points beyond its range: half');
UPDATE ff_internal.prediction SET verdict = 'hurt' WHERE rel_id = :helped;
SELECT is(ff_internal.calibration(:helped), 0.2::float8, 'hurt: a fifth');

-- Who is asked: once an hour, but for tables new to the history.
INSERT INTO ff_internal.collection (epoch_id, began_at, relations, changed, track_counts, open_writers, own_inserts)
SELECT :epoch, max(i.ended_at), 1, 1, true, 0, 0 FROM ff_internal.counter_interval i WHERE i.rel_id = :helped
RETURNING collection_id AS last, began_at AS last_at \gset
CREATE FUNCTION due(id bigint, asked interval, opened interval, look timestamptz, last bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    UPDATE ff_internal.relation SET sampled_at = look, predicted_at = look - asked, opened_at = look - opened WHERE rel_id = id;
    RETURN EXISTS (SELECT FROM ff_internal.predictions_due(last) d WHERE d = id);
END $$;
SELECT ok(due(:helped, NULL, '1 day', :'last_at', :last), 'never asked: due');
SELECT ok(NOT due(:helped, '59 min', '1 day', :'last_at', :last), 'asked less than an hour ago: not due');
SELECT ok(due(:helped, '60 min', '1 day', :'last_at', :last), 'an hour ago: due');
SELECT ok(due(:helped, '1 min', '50 min', :'last_at', :last), 'a table new to the history: due each time');
SELECT rel_id AS same FROM ff_internal.relation WHERE relname = 'same' \gset
DELETE FROM ff_internal.counter_interval WHERE rel_id = :same AND ended_at = :'last_at';
SELECT ok(NOT due(:same, '60 min', '1 day', :'last_at', :last), 'nothing changed: not due');
INSERT INTO ff_internal.advised VALUES (:same, now(), 100, 50, 90, 0.5), (-1, now(), 100, 50, 90, 0.5);
SELECT ok(due(:same, '60 min', '1 day', :'last_at', :last), 'nothing changed, but advice stands: due');
SELECT ok(NOT due(:same, '59 min', '1 day', :'last_at', :last), 'once an hour, that too');
SELECT is((SELECT array_agg(rel_id) FROM ff_internal.advised), ARRAY[:same::bigint], 'advice for a table that is gone goes');
SELECT is(ff_internal.collect_prediction(:same), 0::bigint, 'no other fillfactor is advised: no promise');
SELECT is((SELECT count(*) FROM ff_internal.advised), 0::bigint, 'and the advice is taken back');
SELECT is(ff_internal.collect_prediction(-1), 0::bigint, 'no such table');

SELECT * FROM finish();
ROLLBACK;
