-- ff_verify(): verdicts from histories written by hand; one story for each verdict and
-- for each reason to leave intervals out.
BEGIN;
CREATE EXTENSION fillfactor_advisor;
SET LOCAL client_min_messages = warning;
SELECT plan(151);

CALL ff_collect();
SELECT max(epoch_id) AS epoch FROM ff_internal.epoch \gset

-- No change, and relations without history.
CREATE TABLE unknown (i int);
SELECT is((SELECT string_agg(note, '') FROM ff_verify('unknown')),
    'not collected yet: run CALL ff_collect() or ff_schedule()', 'a table not collected yet gets a row that says so');
SELECT matches((SELECT string_agg(note, '') FROM ff_verify()), '^no change was seen since 2...-',
    'no change at all: one row that says since when');
CREATE TABLE parted (i int) PARTITION BY RANGE (i);
SELECT matches((SELECT string_agg(note, '') FROM ff_verify('parted')), '^partitioned: ',
    'a partitioned table says that its partitions are examined');
SELECT throws_ok($$SELECT ff_verify('pg_class')$$, '42809', NULL, 'a catalog is refused');
SELECT throws_ok($$SELECT ff_verify(1)$$, '42P01', NULL, 'an unknown OID is refused');

-- ---------------------------------------------------------------------------
-- Statistics
-- ---------------------------------------------------------------------------
SELECT cmp_ok(abs(ff_internal.t_quantile(v.freedom) / v.t - 1), '<', 0.01::float8,
    format('t quantile for %s degrees of freedom', v.freedom))
  FROM (VALUES (0.5, 12.706), (1, 12.706), (2, 4.303), (3, 3.182), (6, 2.447), (30, 2.042), (60, 2.000),
      (1e6, 1.960)) v(freedom, t);
-- four intervals of 1000 updates on either side with variance 200 * 4 / 3 / 4000^2: 6 degrees of freedom
CREATE FUNCTION compared(x1 float8[], x2 float8[], logarithms boolean, q float8 DEFAULT 0)
    RETURNS text LANGUAGE sql AS $$
SELECT concat_ws(' ', round(before::numeric, 4), round(after::numeric, 4), round(low::numeric, 6),
    round(high::numeric, 6))
  FROM ff_internal.compared(ARRAY(SELECT i > cardinality(x1) FROM generate_series(1, cardinality(x1 || x2)) i),
      x1 || x2,
       array_fill(1000::float8, ARRAY[cardinality(x1 || x2)]), array_fill(q, ARRAY[cardinality(x1 || x2)]),
       logarithms) $$;
CREATE FUNCTION expected(before numeric, after numeric, variance float8, logarithms boolean)
    RETURNS text LANGUAGE sql AS $$
SELECT concat_ws(' ', round(before, 4), round(after, 4), round(low::numeric, 6), round(high::numeric, 6))
  FROM (SELECT sqrt(2 * variance) * ff_internal.t_quantile(6)) h(half)
 CROSS JOIN LATERAL (SELECT CASE
     WHEN logarithms THEN before * (after / before * exp(-half) - 1)
     ELSE after - before - half END,
                            CASE
                                WHEN logarithms THEN before * (after / before * exp(half) - 1)
                                ELSE after - before + half END) e(low, high) $$;
SELECT is(compared('{90,110,100,100}', '{190,210,200,200}', false),
    expected(0.1, 0.2, 200 * 4 / 3.0::float8 / 16e6, false),
    'compare shares: the confidence interval follows from the variance between intervals');
SELECT is(compared('{90,110,100,100}', '{180,220,200,200}', true),
    expected(0.1, 0.2, 200 * 4 / 3.0::float8 / 16e6 / 0.01, true),
    'compare logarithms: the confidence interval is that of the factor');
SELECT is(compared('{100,100,100,100}', '{200,200,200,200}', false, 1000), expected(0.1, 0.2, 4000 / 16e6, false),
    'compare: the variance is at least that of single updates');
SELECT is(compared('{100,100}', '{500,500}', false), '0.1000 0.5000 0.400000 0.400000',
    'compare: without variance the interval has width 0');
SELECT is(compared('{100}', '{500,510}', false), '0.1000 0.5050',
    'compare: one interval on a side gives no confidence interval');
SELECT is(compared('{0,0}', '{1000,1000}', true), '0.0000 1.0000',
    'compare logarithms: zeros give no confidence interval');
SELECT is(compared('{NULL}', '{1000}', false), '1.0000', 'compare: only NULL on one side gives no comparison');

-- ---------------------------------------------------------------------------
-- Stories
-- ---------------------------------------------------------------------------

-- A table collected every five minutes; the change happened in the interval
-- that ended five hours ago.
CREATE FUNCTION story(name text, updated1 int[], hot1 int[], updated2 int[], hot2 int[],
    kind text DEFAULT 'fillfactor', old_options text[] DEFAULT NULL, new_options text[] DEFAULT '{fillfactor=50}',
    rewritten2 int[] DEFAULT '{}', epochs1 int[] DEFAULT '{}', epochs2 int[] DEFAULT '{}',
    row_bytes float8[] DEFAULT NULL, dropped text[] DEFAULT NULL, created text[] DEFAULT NULL,
    during int DEFAULT 100000) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    id    bigint;
    epoch int := (SELECT min(epoch_id) FROM ff_internal.epoch);
    t     timestamptz := now() - interval '5 hours';
    step  interval := '5 minutes';
BEGIN
    EXECUTE format('CREATE TABLE IF NOT EXISTS %I (i int, j int)', name);
    INSERT INTO ff_internal.relation (system_identifier, database_oid, relid, created_xid, nspname, relname,
        relfilenode, reloptions, fillfactor, opened_at, epoch_id, seen_at,
                             inserted, updated, hot_updated, newpage_updated, deleted, seq_scans, index_scans,
                             blocks_fetched, blocks_hit, vacuums, analyzes)
    SELECT e.system_identifier, e.database_oid, c.relid, c.created_xid, 'public', name, c.relfilenode, new_options,
        ff_internal.effective_fillfactor(new_options), t - interval '1 day', epoch, now(),
           0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
      FROM ff_internal.epoch e, ff_internal.user_table c
     WHERE e.epoch_id = epoch AND c.relid = quote_ident(name)::regclass
    RETURNING rel_id INTO id;
    INSERT INTO ff_internal.counter_interval (rel_id, began_at, ended_at, epoch_id, fillfactor, rewritten, inserted,
        updated, hot_updated, newpage_updated, deleted,
                             seq_scans, index_scans, blocks_fetched, blocks_hit, vacuums, heap_bytes, index_bytes)
    SELECT id, t - step * (cardinality(updated1) - n + 2), t - step * (cardinality(updated1) - n + 1),
        coalesce(epochs1[n], epoch), ff_internal.effective_fillfactor(old_options), false,
           0, updated1[n], hot1[n], updated1[n] - hot1[n], 0, 0, 0, 1000, 900, 0, 8192000, 1000000
      FROM generate_series(1, cardinality(updated1)) n
    UNION ALL
    SELECT id, t - step, t, epoch, ff_internal.effective_fillfactor(new_options), false, 0, during, 0, during, 0, 0, 0,
        1000, 900, 0, 8192000, 1000000
    UNION ALL
    SELECT id, t + step * (n - 1), t + step * n, coalesce(epochs2[n], epoch),
        ff_internal.effective_fillfactor(new_options), n = ANY (rewritten2),
           0, updated2[n], hot2[n], updated2[n] - hot2[n], 0, 0, 0, 1000, 990, 0, 16384000, 500000
      FROM generate_series(1, cardinality(updated2)) n;
    INSERT INTO ff_internal.change (rel_id, kind, before_at, seen_at, epoch_id, old_fillfactor, new_fillfactor,
        old_options, new_options, dropped_indexes, created_indexes)
    VALUES (id, kind, t - step, t, epoch, ff_internal.effective_fillfactor(old_options),
        ff_internal.effective_fillfactor(new_options), old_options, new_options, dropped, created);
    INSERT INTO ff_internal.page_sample (rel_id, sampled_at, fillfactor, blocks, blocks_read, blocks_new, blocks_bad,
        live_rows)
    SELECT id, x.at, 100, 1000, 300, 0, 0, 8192000 / b.bytes
      FROM (VALUES (1, t - step - interval '1 s'), (2, t + step * cardinality(updated2) - interval '1 s')) x(n, at)
      JOIN unnest(row_bytes) WITH ORDINALITY b(bytes, n) USING (n);
    RETURN id;
END $$;

-- told(NAME, MEASURE): one measure of ff_verify() for a table
CREATE FUNCTION told(name text, what text DEFAULT 'overall')
RETURNS TABLE (before float8, after float8, low float8, high float8, predicted float8, verdict text, note text,
    undo text, change text)
    LANGUAGE sql AS $$
SELECT v.before, v.after, v.difference_low, v.difference_high, v.predicted, v.verdict, v.note, v.undo, v.change
  FROM ff_verify(quote_ident(name)::regclass, true) v WHERE v.measure = what
$$;

-- helped: of six equal intervals the first two are left out as settling
SELECT story('helped', '{1000,1000,1000,1000,1000,1000}', '{500,500,90,110,100,100}', '{1000,1000,1000,1000,1000,1000}',
    '{0,0,985,995,990,990}') AS helped \gset
SELECT is((SELECT (verdict, change)::text FROM told('helped')), '(helped,"fillfactor 100 -> 50")',
    'helped: verdict and change');
SELECT is((SELECT string_agg(format('%s %s %s', v.measure, v.before, v.after), ', ')
    FROM ff_verify('helped', true) v WHERE v.before IS NOT NULL),
    'intervals 4 4, updates 4000 4000, HOT share 10 99, newpage share 90 1',
    'helped: all measures, in order');
-- before: the scatter (1.67e-5) is less than single updates allow (2.29e-5);
-- after: 4.17e-6 against 2.96e-6
SELECT is((SELECT (low, high)::text FROM told('helped', 'HOT share')),
    (SELECT (round((89 - w)::numeric, 1)::float8, round((89 + w)::numeric, 1)::float8)::text
       FROM (SELECT (92 * 912 + 112 * 892 + 2 * 102 * 902) / 1004.0 / 16e6 AS v1, 50 * 4 / 3.0 / 16e6 AS v2) v,
            LATERAL
                (SELECT 100 * sqrt(v1 + v2) * ff_internal.t_quantile((v1 + v2) ^ 2 / (v1 ^ 2 / 3 + v2 ^ 2 / 3)) AS w)
                    i),
            'helped: the confidence interval of the HOT share');
SELECT is((SELECT undo FROM told('helped')), NULL, 'helped: nothing to undo');
SELECT is((SELECT note FROM told('helped', 'intervals')), 'left out: 2 before (settling), 2 after (settling)',
    'helped: what is left out');
SELECT is((SELECT note FROM told('helped')), 'HOT share 10.0 -> 99.0 %', 'helped: the reason');
SELECT is((SELECT string_agg(v.measure || ' ' || v.verdict, ', ') FROM ff_verify('helped') v),
    'overall helped, HOT share better', 'helped: the measures with a verdict');
SELECT matches((SELECT note FROM told('helped', 'statements')), '^WAL and time are not known: ',
    'helped: what is not known');
SELECT matches((SELECT note FROM told('helped', 'HOT share')), '^not advised', 'helped: nothing was predicted');
SELECT is((SELECT string_agg(v.measure, ', ') FROM ff_verify('helped') v), 'overall, HOT share, statements',
    'helped: by default only measures that count are shown');

-- hurt, and the undo with the option as it was spelled
SELECT story('hurt', '{1000,1000,1000,1000}', '{900,900,900,900}', '{1000,1000,1000,1000}', '{500,500,500,500}',
    old_options => '{fillfactor=0x50,autovacuum_enabled=off}',
    new_options => '{autovacuum_enabled=off}') > 0 AS ok \gset
SELECT is((SELECT verdict FROM told('hurt')), 'too early', 'two intervals after settling are too few');
SELECT story('Hurt;--', '{1000,1000,1000,1000,1000,1000}', '{900,900,900,900,900,900}',
    '{1000,1000,1000,1000,1000,1000}', '{500,500,500,500,500,500}',
    old_options => '{fillfactor=0x50,autovacuum_enabled=off}',
    new_options => '{autovacuum_enabled=off}') > 0 AS ok \gset
SELECT is((SELECT (verdict, change)::text FROM told('Hurt;--')), '(hurt,"fillfactor 80 -> 100")',
    'hurt: verdict and change');
SELECT is((SELECT undo FROM told('Hurt;--')), 'ALTER TABLE public."Hurt;--" SET (fillfactor = ''0x50'');',
    'hurt: the undo restores the option as it was spelled');
SELECT story('hurt2', '{1000,1000,1000,1000,1000,1000}', '{900,900,900,900,900,900}', '{1000,1000,1000,1000,1000,1000}',
    '{500,500,500,500,500,500}') > 0 AS ok \gset
SELECT is((SELECT undo FROM told('hurt2')), 'ALTER TABLE public.hurt2 RESET (fillfactor);',
    'hurt: the undo of a new option is RESET');

-- no difference, and a table that only shrank or grew
SELECT story('same', '{1000,1000,1000,1000,1000,1000}', '{900,905,895,900,905,895}', '{1000,1000,1000,1000,1000,1000}',
    '{900,905,895,900,905,895}') > 0 AS ok \gset
SELECT is((SELECT verdict FROM told('same')), 'no difference', 'no difference: verdict');
SELECT matches((SELECT note FROM told('same')),
    '; not rewritten since; its old pages are as full as before$',
    'no difference: the note says that the table was not rewritten');
SELECT story('shrunk', '{1000,1000,1000,1000,1000,1000}', '{900,905,895,900,905,895}',
    '{1000,1000,1000,1000,1000,1000}', '{900,905,895,900,905,895}',
    old_options => '{fillfactor=50}', new_options => '{fillfactor=100}', row_bytes => '{200,100}') > 0 AS ok \gset
SELECT is((SELECT (o.verdict, r.before, r.after)::text FROM told('shrunk') o, told('shrunk', 'bytes per row') r),
    '(helped,200,100)', 'a smaller table that is not worse: helped');
SELECT story('grown', '{1000,1000,1000,1000,1000,1000}', '{900,905,895,900,905,895}', '{1000,1000,1000,1000,1000,1000}',
    '{900,905,895,900,905,895}', row_bytes => '{100,200}') > 0 AS ok \gset
SELECT is((SELECT (verdict, undo)::text FROM told('grown')), '(hurt,"ALTER TABLE public.grown RESET (fillfactor);")',
    'a larger table that is not better: hurt');
SELECT story('wide', '{1000,1000,1000,1000,1000,1000}', '{500,505,495,500,505,495}', '{1000,1000,1000,1000,1000,1000}',
    '{900,905,895,900,905,895}', row_bytes => '{100,500}') > 0 AS ok \gset
SELECT matches((SELECT verdict || ': ' || note FROM told('wide')),
    '^no difference: HOT share 49.9 -> 89.9 %; but its rows take more room; what its updates cost is not certain, so ',
    'five times as large for more HOT, and WAL is not known: no verdict against it');
SELECT rel_id AS wide FROM ff_internal.relation WHERE relname = 'wide' \gset
CREATE FUNCTION predict(id bigint, old int, new int, hot float8, low float8, high float8, wal float8) RETURNS void
LANGUAGE sql AS $$
INSERT INTO ff_internal.prediction (rel_id, made_at, from_fillfactor, to_fillfactor, predicted_hot_pct,
    predicted_hot_low, predicted_hot_high, predicted_wal_pct)
VALUES (id, now() - interval '6 hours', old, new, hot, low, high, wal) $$;
SELECT predict(:wide, 100, 50, 90, 80, 100, 30);
SELECT matches((SELECT verdict || ': ' || note FROM told('wide')),
    '^helped: HOT share 49.9 -> 89.9 %; but its rows take more room; weighed with the WAL that was predicted, cost -',
    'where the WAL is not known, the predicted one is weighed with the size');
UPDATE ff_internal.prediction SET predicted_hot_pct = 490 WHERE rel_id = :wide;
SELECT matches((SELECT verdict || ': ' || note FROM told('wide')), '^no difference: .*, cost [+]',
    'as far as the predicted HOT share was reached: a tenth of the saving is less than the size');
UPDATE ff_internal.prediction SET predicted_wal_pct = NULL WHERE rel_id = :wide;
SELECT alike((SELECT note FROM told('wide')), '%cannot be weighed%', 'no WAL was predicted, as of an unlogged table');
DELETE FROM ff_internal.prediction WHERE rel_id = :wide;
SELECT story('raised', '{1000,1000,1000,1000,1000,1000}', '{900,905,895,900,905,895}', '{1000,1000,1000,1000,1000,1000}',
    '{880,885,875,880,885,875}', row_bytes => '{200,100}', old_options => '{fillfactor=50}',
    new_options => '{fillfactor=100}') AS raised \gset
SELECT matches((SELECT verdict || ': ' || note FROM told('raised')), '^hurt: HOT share 89.9 -> 87.9 %',
    'fewer are HOT, and it is not known what that costs');
SELECT predict(:raised, 50, 100, 88, 35, 97, 102);
SELECT matches((SELECT verdict || ': ' || note FROM told('raised')),
    '^helped: its rows take less room; but HOT share 89.9 -> 87.9 %; weighed with the WAL that was predicted, cost -',
    'fewer are HOT, as was predicted');
UPDATE ff_internal.counter_interval SET hot_updated = hot_updated - 500
 WHERE rel_id = :raised AND fillfactor = 100 AND updated = 1000;
SELECT matches((SELECT verdict || ': ' || note FROM told('raised')), '^hurt: HOT share 89.9 -> 37.9 %',
    'far fewer than was predicted: what that costs was not');
UPDATE ff_internal.counter_interval SET hot_updated = hot_updated + 500
 WHERE rel_id = :raised AND fillfactor = 100 AND updated = 1000;
DELETE FROM ff_internal.prediction WHERE rel_id = :raised;
SELECT story('noise', '{1000,1000,1000,1000,1000,1000}', '{100,900,100,900,100,900}', '{1000,1000,1000,1000,1000,1000}',
    '{200,900,900,100,900,200}') > 0 AS ok \gset
SELECT is((SELECT verdict FROM told('noise')), 'too early', 'too much variance: too early');
SELECT is((SELECT (verdict, high - low > 100)::text FROM told('noise', 'HOT share')), '(unclear,t)',
    'too much variance: the confidence interval says so');
SELECT matches((SELECT note FROM told('noise')), 'the intervals scatter too much to tell yet',
    'too much variance: the note says so');

-- too early
SELECT story('early', '{1000,1000,1000,1000,1000,1000}', '{100,100,100,100,100,100}', '{1000}',
    '{1000}') > 0 AS ok \gset
SELECT matches((SELECT verdict || ': ' || note FROM told('early')),
    '^too early: 1 interval with 1000 updates since it; 3 with 500 are needed, besides the first '
    'third; (?!later)',
    'too early: too few intervals');
SAVEPOINT upgraded;
UPDATE ff_internal.epoch SET system_identifier = 77 WHERE epoch_id = (
    SELECT max(c.epoch_id) FROM ff_internal.change c JOIN ff_internal.relation r USING (rel_id)
     WHERE r.relname = 'early');
SELECT alike((SELECT note FROM told('early')), '1 interval % besides the first third; % later collections add none',
    'changed on another server: later collections add none');
ROLLBACK TO upgraded;
SELECT story('few', '{100,100,100,100,100}', '{0,0,0,0,0}', '{100,100,100,100,100}',
    '{100,100,100,100,100}') > 0 AS ok \gset
SELECT is((SELECT verdict FROM told('few')), 'too early', 'too early: too few updates');

-- a table that is only inserted into
SELECT story('log', '{0,0,0}', '{0,0,0}', '{0,0,0}', '{0,0,0}', old_options => '{fillfactor=70}',
    new_options => '{fillfactor=100}', row_bytes => '{100,70}', during => 0) > 0 AS ok \gset
SELECT is((SELECT (verdict, note)::text FROM told('log')),
    '(helped,"hardly any updates; only the size is judged; bytes per row -30 %")',
    'only inserted into: the size is judged');
SELECT story('log2', '{0,0,0}', '{0,0,0}', '{0,0,0}', '{0,0,0}', row_bytes => '{70,100}', during => 0) > 0 AS ok \gset
SELECT is((SELECT (verdict, undo)::text FROM told('log2')), '(hurt,"ALTER TABLE public.log2 RESET (fillfactor);")',
    'only inserted into, and larger: hurt');
SELECT story('log3', '{0,0,0}', '{0,0,0}', '{0,0,0}', '{0,0,0}', row_bytes => '{100,99}', during => 0) > 0 AS ok \gset
SELECT is((SELECT verdict FROM told('log3')), 'too early', 'only inserted into, about as large: too early');
SELECT story('log4', '{0,0,0}', '{0,0,0}', '{0,0,0}', '{0,0,0}', row_bytes => '{70,100}') > 0 AS ok \gset
SELECT is((SELECT verdict FROM told('log4')), 'too early',
    'larger by what was updated before it was changed, but after the last collection: not judged by its size');

-- Epochs: an interval of another epoch of this server counts; one of another
-- server does not.
INSERT INTO ff_internal.epoch (system_identifier, database_oid, timeline, server_version, began_at, history_oid)
SELECT e.system_identifier + d, e.database_oid, 1, e.server_version, e.began_at, e.history_oid
    FROM ff_internal.epoch e, (VALUES (0), (1)) v(d) WHERE epoch_id = :epoch;
SELECT story('crash', '{1000,1000,1000,1000,1000,1000}', '{100,100,100,100,100,100}', '{1000,1000,1000,1000,1000,1000}',
    '{900,900,900,900,900,900}',
    epochs2 => ARRAY[:epoch, :epoch, :epoch, :epoch + 1, :epoch + 1, :epoch + 1]) > 0 AS ok \gset
SELECT is((SELECT (o.verdict, i.after)::text FROM told('crash') o, told('crash', 'intervals') i), '(helped,4)',
    'crash in between: intervals of both epochs count');
SELECT story('restored', '{1000,1000,1000,1000,1000,1000}', '{100,100,100,100,100,100}',
    '{1000,1000,1000,1000,1000,1000}', '{900,900,900,900,900,900}',
    epochs1 => ARRAY[:epoch + 2, :epoch + 2, :epoch + 2, :epoch + 2, :epoch + 2, :epoch + 2]) > 0 AS ok \gset
SELECT is((SELECT (o.verdict, i.before, i.note)::text FROM told('restored') o, told('restored', 'intervals') i),
    '("too early",0,"left out: 6 before (other server), 2 after (settling)")',
    'restored on this server: intervals of the other one do not count');
DELETE FROM ff_internal.epoch WHERE epoch_id = :epoch + 2;

-- Rewritten two intervals after the change.
SELECT story('rewritten', '{1000,1000,1000,1000,1000,1000}', '{100,100,100,100,100,100}',
    '{1000,1000,1000,1000,1000,1000,1000}', '{0,0,0,900,900,900,900}', rewritten2 => '{3}') > 0 AS ok \gset
SELECT is((SELECT (o.verdict, i.after, i.note)::text
    FROM told('rewritten') o, told('rewritten', 'intervals') i
    WHERE o.change ~ 'fillfactor' AND i.change = o.change),
    '("too early",2,"left out: 2 before (settling), 2 after (before the rewrite), 1 after (rewritten), 2 after '
    '(settling)")',
    'rewritten: only later intervals count');
SELECT story('rewritten2', '{1000,1000,1000,1000,1000,1000}', '{100,100,100,100,100,100}',
    '{1000,1000,1000,1000,1000,1000,1000,1000}', '{0,0,0,900,900,900,900,900}', rewritten2 => '{3}') > 0 AS ok \gset
SELECT is((SELECT (o.verdict, h.after)::text
    FROM told('rewritten2') o, told('rewritten2', 'HOT share') h
    WHERE o.change ~ 'fillfactor' AND h.change = o.change),
    '(helped,90)', 'rewritten: the change is judged by later intervals');
SELECT ok((SELECT note !~ 'not rewritten' FROM told('rewritten') WHERE change ~ 'fillfactor'),
    'rewritten: the note does not say that old pages are full');

-- An old snapshot was held for the last two intervals after the change: they do not count, unless both sides are like that.
SELECT story('held', '{1000,1000,1000,1000,1000,1000}', '{100,100,100,100,100,100}',
    '{1000,1000,1000,1000,1000,1000,1000,1000}', '{900,900,900,900,900,900,100,100}') > 0 AS ok \gset
SAVEPOINT held;
INSERT INTO ff_internal.horizon_history (kind, holder, since, last_seen_at, xids)
VALUES ('transaction', '1', now() - interval '5 hours' + interval '31 minutes',
    now() - interval '5 hours' + interval '39 minutes', 9);
SELECT is((SELECT (o.verdict, i.note)::text FROM told('held') o, told('held', 'intervals') i),
    '(helped,"left out: 2 before (settling), 2 after (old snapshot), 2 after (settling)")',
    'intervals with an old snapshot are left out');
UPDATE ff_internal.horizon_history SET since = since - interval '30 minutes';
SELECT is((SELECT (o.verdict, i.note)::text FROM told('held') o, told('held', 'intervals') i),
    '("too early","left out: 2 before (settling), 8 after (old snapshot)")',
        'nor do they if all after it are like that');
UPDATE ff_internal.horizon_history SET since = since - interval '60 minutes';
SELECT unalike((SELECT note FROM told('held', 'intervals')), '%snapshot%', 'unless most of both sides are like that');
ROLLBACK TO held;

-- before a change three are enough, as README says: none of them is left out
SELECT story(n, u, h, '{1000,1000,1000,1000,1000}', '{900,900,900,900,900}') > 0 AS ok
  FROM (VALUES ('two', '{1000,1000}'::int[], '{100,100}'::int[]), ('three', '{1000,1000,1000}', '{100,100,100}'),
               ('four', '{1000,1000,1000,1000}', '{100,100,100,100}')) v(n, u, h) \g /dev/null
SELECT is((SELECT string_agg(concat_ws(' ', n, o.verdict, i.before, i.note), ', ' ORDER BY n)
        FROM unnest('{three,four,two}'::text[]) n, told(n) o, told(n, 'intervals') i),
    'four helped 4 left out: 2 after (settling), three helped 3 left out: 2 after (settling), '
    'two too early 2 left out: 2 after (settling)', 'three intervals before a change are enough');

-- A rewrite is a separate change, unless it came with another one.
SELECT is((SELECT (verdict, note)::text FROM told('rewritten2') WHERE change = 'rewritten'),
    '("too early","2 intervals with 2000 updates before it; 3 with 500 are '
    'needed; later collections add none; left out: 2 after (settling)")',
    'rewritten: the window of the rewrite begins at the change before');
SELECT story('moved', '{1000,1000,1000,1000,1000,1000}', '{500,500,500,500,500,500}',
    '{1000,1000,1000,1000,1000,1000,1000,1000,1000,1000,1000,1000,1000}',
    '{500,500,500,500,500,500,400,200,200,200,200,200,200}', rewritten2 => '{7}') AS moved \gset
SELECT is((SELECT string_agg(change || ': ' || verdict, ', ') FROM told('moved')),
    'rewritten: hurt, fillfactor 100 -> 50: hurt', 'a rewrite is listed as the latest change');
-- emptied by TRUNCATE and filled again: 50,000 of the 55,555 rows that it has; a queue deletes as it inserts
SAVEPOINT reloaded;
INSERT INTO ff_internal.page_sample (rel_id, sampled_at, fillfactor, blocks, blocks_read, blocks_new, blocks_bad,
    live_rows) SELECT :moved, ended_at + interval '1 s', 100, 2000, 300, 0, 0, 55555
      FROM ff_internal.counter_interval WHERE rel_id = :moved AND rewritten;
UPDATE ff_internal.counter_interval SET inserted = 60000, deleted = 10001 WHERE rel_id = :moved AND rewritten;
SELECT is((SELECT string_agg(change || ': ' || verdict, ', ') FROM told('moved')),
    'rewritten: hurt, fillfactor 100 -> 50: hurt', 'a rewritten queue is one that was rewritten');
UPDATE ff_internal.counter_interval SET deleted = 10000 WHERE rel_id = :moved AND rewritten;
SELECT is((SELECT o.change || ', ' || i.after || ', ' || i.note FROM told('moved') o, told('moved', 'intervals') i),
    'fillfactor 100 -> 50, 4, left out: 2 before (settling), 7 after (before the rewrite), 2 after (settling)',
    'one that was emptied and filled again is not; all intervals with new pages count');
ROLLBACK TO reloaded;
SELECT is((SELECT (o.note, o.undo, i.before, i.after)::text FROM told('moved') o
    JOIN told('moved', 'intervals') i USING (change) WHERE change = 'rewritten'),
    '("HOT share 50.0 -> 20.0 %; a rewrite cannot be taken back",,4,4)',
    'a rewrite is judged by intervals before and after it, and has no undo');
UPDATE ff_internal.change SET seen_at = seen_at + interval '35 min' WHERE rel_id = :moved;
SELECT is((SELECT string_agg(change, ', ') FROM told('moved')), 'fillfactor 100 -> 50',
    'a rewrite together with another change is part of it');

-- Before the change, ten times the update rate.
SELECT story('busier', '{10000,10000,10000,10000,10000,10000}', '{100,100,100,100,100,100}',
    '{1000,1000,1000,1000,1000,1000}', '{900,900,900,900,900,900}') > 0 AS ok \gset
SELECT is((SELECT (o.verdict, i.note)::text FROM told('busier') o, told('busier', 'intervals') i),
    '("too early","left out: 4 before (other rate), 2 before (settling), 2 after (settling)")',
    'another update rate: intervals do not count');
SELECT story('night', '{1000,1000,1000,1000,1000,1000,10,1000}', '{100,100,100,100,100,100,10,100}',
    '{1000,1000,1000,1000,1000,1000}', '{900,900,900,900,900,900}') > 0 AS ok \gset
SELECT is((SELECT (o.verdict, h.before, i.note)::text
    FROM told('night') o, told('night', 'HOT share') h, told('night', 'intervals') i),
    '(helped,10,"left out: 1 before (other rate), 3 before (settling), 2 after (settling)")',
    'a quiet interval before the change does not count');

-- Another change ends the window; simultaneous changes cannot be separated.
SELECT story('twice', '{1000,1000,1000,1000,1000,1000}', '{100,100,100,100,100,100}', '{1000,1000,1000,1000,1000,1000}',
    '{900,900,900,900,900,900}') AS twice \gset
INSERT INTO ff_internal.change (rel_id, kind, before_at, seen_at, epoch_id, old_fillfactor, new_fillfactor)
SELECT rel_id, 'fillfactor', now() - interval '4 h 45 min', now() - interval '4 h 40 min', epoch_id, 50, 60
    FROM ff_internal.change WHERE rel_id = :twice
UNION ALL
SELECT rel_id, 'options', now() - interval '4 h 45 min', now() - interval '4 h 40 min', epoch_id, 50, 60
    FROM ff_internal.change WHERE rel_id = :twice;
SELECT is((SELECT (o.verdict, i.after, o.note ~ '; later collections add none;')::text FROM told('twice') o
    JOIN told('twice', 'intervals') i USING (change) WHERE change ~ '50$'),
    '("too early",2,t)', 'the window ends at the next change');
SELECT is((SELECT count(*) FROM told('twice')
    WHERE note ~ 'changed at the same time; not told apart: (options|fillfactor)'),
    2::bigint, 'simultaneous changes: the note says so');

-- Indexes.
CREATE TABLE dropped (i int, j int);
SELECT story('dropped', '{1000,1000,1000,1000,1000,1000}', '{0,0,0,0,0,0}', '{1000,1000,1000,1000,1000,1000}',
    '{1000,1000,1000,1000,1000,1000}', kind => 'indexes', new_options => NULL,
    dropped => ARRAY['CREATE INDEX dropped_j ON public.dropped USING btree (j)']) > 0 AS ok \gset
SELECT is((SELECT (verdict, change)::text FROM told('dropped')), '(helped,"index dropped: dropped_j")',
    'a dropped index: helped');
CREATE TABLE "Created" (i int, j int);
CREATE INDEX "J;" ON "Created" (j);
SELECT story('Created', '{1000,1000,1000,1000,1000,1000}', '{1000,1000,1000,1000,1000,1000}',
    '{1000,1000,1000,1000,1000,1000}', '{0,0,0,0,0,0}', kind => 'indexes', new_options => NULL,
    dropped => ARRAY['CREATE INDEX gone ON public."Created" USING btree (i)'],
    created => ARRAY['CREATE INDEX "J;" ON public."Created" USING btree (j)']) > 0 AS ok \gset
SELECT is((SELECT (verdict, undo)::text FROM told('Created')),
    (SELECT ('hurt'::text,
        'DROP INDEX CONCURRENTLY public."J;"; /* dropped, to be created again by hand: CREATE INDEX gone ON '
        'public."Created" USING btree (i) */'::text)::text),
    'a created index: hurt, with an undo');

-- The undo leaves the index of a constraint.
CREATE TABLE keyed (i int PRIMARY KEY, j int);
SELECT story('keyed', '{1000,1000,1000,1000,1000,1000}', '{1000,1000,1000,1000,1000,1000}',
    '{1000,1000,1000,1000,1000,1000}', '{0,0,0,0,0,0}', kind => 'indexes', new_options => NULL,
    created => ARRAY['CREATE UNIQUE INDEX keyed_pkey ON public.keyed USING btree (i)']) > 0 AS ok \gset
SELECT is((SELECT (change, undo)::text FROM told('keyed')),
    '("index created: keyed_pkey",)',
    'the undo leaves the index of a constraint');

-- Other options.
SELECT story('options', '{1000,1000,1000,1000,1000,1000}', '{900,900,900,900,900,900}',
    '{1000,1000,1000,1000,1000,1000}', '{800,800,800,800,800,800}', kind => 'options',
    old_options => '{autovacuum_vacuum_scale_factor=0.10,fillfactor=90}',
    new_options => '{fillfactor=90,autovacuum_enabled=off}') > 0 AS ok \gset
SELECT is((SELECT (verdict, change)::text FROM told('options')),
    '(hurt,"options autovacuum_vacuum_scale_factor=0.10 -> autovacuum_enabled=off")',
    'other options: hurt, and the change');
SELECT is((SELECT undo FROM told('options')),
    'ALTER TABLE public.options RESET (autovacuum_enabled); ALTER TABLE public.options SET '
    '(autovacuum_vacuum_scale_factor = ''0.10'');',
    'other options: the undo');

-- ---------------------------------------------------------------------------
-- Statements
-- ---------------------------------------------------------------------------
CREATE FUNCTION statement(id bigint, query_id bigint, total1 float8[], total2 float8[], stddev1 float8 DEFAULT 0.1,
    stddev2 float8 DEFAULT 0.1, wal1 int DEFAULT 1000, wal2 int DEFAULT 600, how text DEFAULT 'top')
    RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    t         timestamptz := now() - interval '5 hours' + interval '10 ms';
    step      interval := '5 minutes';
    statement bigint;
    epoch     int := (SELECT min(epoch_id) FROM ff_internal.epoch);
BEGIN
    INSERT INTO ff_internal.statement (queryid, toplevel, kind, text, opened_at)
    VALUES (query_id, true, 'write', 'UPDATE ' || query_id, t)
 RETURNING statement_id INTO statement;
    INSERT INTO ff_internal.statement_target (statement_id, "position", command, how, relation_name, relid, rel_id)
    SELECT statement, 1, 'UPDATE', how, relname, relid, rel_id FROM ff_internal.relation WHERE rel_id = id;
    INSERT INTO ff_internal.statement_history (statement_id, began_at, ended_at, epoch_id, calls, rows, total_ms,
        squares, blocks_hit, blocks_read, blocks_dirtied, wal_records, wal_fpi, wal_bytes)
    SELECT statement, t - step * (cardinality(total1) - n + 2), t - step * (cardinality(total1) - n + 1), epoch, 100,
        1000, total1[n], 100 * stddev1 ^ 2 + total1[n] ^ 2 / 100, 4000, 0, 0, 0, 0, wal1 * 1000
      FROM generate_series(1, cardinality(total1)) n
    UNION ALL
    SELECT statement, t - step, t, epoch, 100, 1000, 100000, 101000000, 0, 0, 0, 0, 0, 0
    UNION ALL
    SELECT statement, t + step * (n - 1), t + step * n, epoch, 100, 1000, total2[n],
        100 * stddev2 ^ 2 + total2[n] ^ 2 / 100, 2000, 0, 0, 0, 0, wal2 * 1000
      FROM generate_series(1, cardinality(total2)) n;
END $$;

SELECT statement(:helped, 1, '{300,300,101,99,100,100}', '{300,300,81,79,80,80}');
SELECT is((SELECT (o.verdict, w.before, w.after, w.low, w.high)::text
    FROM told('helped') o, told('helped', 'WAL per update') w),
    '(helped,1000,600,-400,-400)', 'statements: WAL per update before and after');
SELECT is((SELECT (t.before, t.after)::text FROM told('helped', 'statement time') t), '(1,0.8)', 'statements: mean time without the interval of the change and settling ones');
-- four fifths of it are images, of a checkpoint every five minutes
SAVEPOINT images;
UPDATE ff_internal.statement_history SET wal_fpi = 0.8 * wal_bytes / 8192;
SELECT is((SELECT (verdict, before, after)::text FROM told('helped', 'WAL per update')), '(unclear,1000,600)',
    'statements: WAL that is mostly images of pages depends on when checkpoints came');
ROLLBACK TO images;
-- variance from single calls: (0.1 ms / 1 ms)^2 over 400 calls on each side = 2.5e-5;
-- variance between intervals: 2 / 3 / 4 / 100^2 = 1.7e-5, which is less
SELECT ok((SELECT abs(low - (0.8 * exp(-w) - 1)) < 0.001 AND abs(high - (0.8 * exp(w) - 1)) < 0.001
             FROM told('helped', 'statement time'), (SELECT sqrt(2.5e-5 + 2.5e-5 / 0.64) * 2.571) x(w)),
             'statements: the confidence interval of the mean time, on logarithms');
SELECT is((SELECT count(*) FROM told('helped', 'statements') WHERE note IS NOT NULL), 0::bigint,
    'statements: no note that figures are missing');
SELECT statement((SELECT rel_id FROM ff_internal.relation WHERE relname = 'same'), 2, '{100,100,100,100,100,100}',
    '{100,100,100,100,100,100}', how => 'cte');
SELECT is((SELECT after FROM told('same', 'statement time')), NULL,
    'statements: an update within another statement does not count');
-- more HOT and less WAL, but slower
SELECT story('slower', '{1000,1000,1000,1000,1000,1000}', '{500,500,500,500,500,500}',
    '{1000,1000,1000,1000,1000,1000}', '{550,550,550,550,550,550}') AS slower \gset
SELECT statement(:slower, 3, '{100,100,100,100,100,100}', '{200,200,200,200,200,200}', wal2 => 950);
SELECT matches((SELECT verdict || ': ' || note FROM told('slower')),
    '^hurt: HOT share 50\.0 -> 55\.0 %; WAL per update 1000 -> 950 bytes [(]-5 %[)]; but statement time '
        '1\.000 -> 2\.000 ms [(][+]100 %[)]; weighed together, '
    'cost \+39\.3 %',
    'gains and losses are weighed together');
SAVEPOINT raised;
SELECT statement(:raised, 7, '{100,100,100,100,100,100}', '{100,100,100,100,100,100}', wal2 => 1000);
SELECT matches((SELECT verdict || ': ' || note FROM told('raised')),
    '^helped: its rows take less room; but HOT share 89.9 -> 87.9 %; weighed together, cost -',
    'half the size outweighs what writes no more WAL');
ALTER TABLE raised SET UNLOGGED;
UPDATE ff_internal.statement_history SET wal_bytes = 0;
SELECT is((SELECT verdict FROM told('raised')), 'helped', 'of an unlogged table the time is enough');
ROLLBACK TO raised;
-- what is unclear is not weighed
SAVEPOINT unclear;
SELECT story('wide2', '{1000,1000,1000,1000,1000,1000}', '{500,505,495,500,505,495}', '{1000,1000,1000,1000,1000,1000}',
    '{900,905,895,900,905,895}', row_bytes => '{100,500}') AS wide2 \gset
SELECT statement(:wide2, 5, '{10,190,10,190,10,190}', '{5,95,5,95,5,95}', wal2 => 1000);
SELECT is((SELECT verdict FROM told('wide2', 'statement time')), 'unclear', 'half the time, but the intervals scatter');
SELECT is((SELECT verdict FROM told('wide2')), 'hurt', 'what is unclear does not outweigh the size');
UPDATE ff_internal.statement_history SET wal_fpi = 0.8 * wal_bytes / 8192;
SELECT is((SELECT o.verdict || ', ' || w.verdict FROM told('wide2') o, told('wide2', 'WAL per update') w),
    'no difference, unclear', 'nor does the size count alone');
ROLLBACK TO unclear;
-- the time of statements that scan a table follows its rows
SAVEPOINT scanned;
SELECT story('scanned', '{1000,1000,1000,1000,1000,1000}', '{500,500,500,500,500,500}',
    '{1000,1000,1000,1000,1000,1000}', '{550,550,550,550,550,550}', row_bytes => '{100,100}') AS scanned \gset
SELECT statement(:scanned, 6, '{100,100,100,100,100,100}', '{200,200,200,200,200,200}', wal2 => 950);
UPDATE ff_internal.counter_interval SET seq_scans = 100 WHERE rel_id = :scanned;
SELECT is((SELECT verdict FROM told('scanned', 'statement time')), 'worse',
	'scans of a table with as many rows: time counts');
UPDATE ff_internal.page_sample SET blocks = 3 * blocks, live_rows = 3 * live_rows
 WHERE rel_id = :scanned AND sampled_at > now() - interval '5 hours';
SELECT is((SELECT (t.verdict, t.note, o.verdict)::text FROM told('scanned', 'statement time') t, told('scanned') o),
    '(,"its statements scan the table, which had 81920 rows before and has 245760",helped)',
    'three times the rows: time does not count');
UPDATE ff_internal.counter_interval SET seq_scans = 49 WHERE rel_id = :scanned;
SELECT is((SELECT verdict FROM told('scanned', 'statement time')), 'worse',
	'fewer than half of them scan it: time counts');
INSERT INTO ff_internal.epoch (system_identifier, database_oid, timeline, server_version, began_at, history_oid)
SELECT e.system_identifier, e.database_oid, e.timeline + 1, e.server_version, now() - interval '5 h 1 min', e.history_oid
  FROM ff_internal.epoch e WHERE epoch_id = :epoch;
SELECT is((SELECT (t.verdict, t.note, w.note)::text FROM told('scanned', 'statement time') t,
        told('scanned', 'WAL per update') w),
    '(,"the primary (by a promotion) changed meanwhile",)', 'across a promotion time does not count');
UPDATE ff_internal.epoch SET began_at = now() - interval '1 day' WHERE epoch_id > :epoch;
SELECT is((SELECT verdict FROM told('scanned', 'statement time')), 'worse', 'after one before both sides it does');
-- nor what else changed WAL and time
INSERT INTO ff_internal.setting_history (setting, seen_at, before_at, value)
SELECT s, now() - interval '4 h 35 min', now() - interval '4 h 40 min', 'other'
  FROM unnest('{autovacuum_naptime,shared_buffers,synchronous_commit,wal_compression}'::text[]) s;
SELECT is((SELECT (t.verdict, w.verdict)::text FROM told('scanned', 'statement time') t,
        told('scanned', 'WAL per update') w), '(worse,better)', 'until other settings are changed, WAL and time count');
UPDATE ff_internal.setting_history SET seen_at = seen_at - interval '25 min', before_at = before_at - interval '25 min'
 WHERE value = 'other';
SELECT alike((SELECT note FROM told('scanned')), '%; shared_buffers, synchronous_commit, wal_compression changed meanwhile; %',
    'the verdict says so');
SELECT is((SELECT string_agg(format('%s %s %s', v.measure, v.verdict, v.note), ', ') FROM ff_verify('scanned', true) v
            WHERE v.measure IN ('statement time', 'WAL per update')),
    'WAL per update  shared_buffers, wal_compression changed meanwhile, '
    'statement time  shared_buffers, synchronous_commit, wal_compression changed meanwhile',
    'if they change with the table, neither counts');
ROLLBACK TO scanned;
-- as wide as a terminal: short lines, the undo on a line of its own
SELECT is((SELECT (relation, change, verdict, result)::text FROM ff_verified WHERE relation = 'slower'),
	('slower'::regclass, '100 -> 50', 'hurt', E'HOT share 50.0 -> 55.0 %;\nWAL per update 1000 -> 950 bytes (-5 %);\n'
	'but statement time 1.000 -> 2.000 ms (+100 %);\nweighed together, cost +39.3 %;\nnot rewritten since;\n'
	'its old pages are as full as before\nundo: ALTER TABLE public.slower RESET (fillfactor);')::text,
	'ff_verified: a line for each measure, and the undo');
SELECT cmp_ok((SELECT max(length(l)) FROM ff_verified, string_to_table(result, E'\n') l WHERE l !~ '^undo: '), '<=', 46,
	'ff_verified: lines are short');
UPDATE ff_internal.change SET new_options = '{autovacuum_vacuum_scale_factor=0.05,autovacuum_analyze_scale_factor=0.02}'
 WHERE kind = 'options';
SELECT cmp_ok((SELECT max(length(l)) FROM ff_verified, string_to_table(change, E'\n') l), '<', 48,
	'ff_verified: so are those of what changed');
SELECT is((SELECT count(*) FROM ff_verified WHERE change ~ 'analyze_scale_factor=0.02'), (SELECT count(*)
	FROM ff_internal.change WHERE kind = 'options'), 'and nothing of it is left out');
SELECT is((SELECT count(*) FROM ff_verified), (SELECT count(*) FROM ff_verify() WHERE measure = 'overall'),
	'ff_verified: a row for each change');

-- weights set by the user: a measure with weight 0 is no loss
SET LOCAL fillfactor_advisor.time_weight = 0;
SELECT is((SELECT (verdict, note)::text FROM told('slower')),
    '(helped,"HOT share 50.0 -> 55.0 %; WAL per update 1000 -> 950 bytes (-5 %)")',
    'weights: time does not count');
SELECT is((SELECT verdict FROM told('slower', 'statement time')), NULL, 'weights: time without weight has no verdict');
SET LOCAL fillfactor_advisor.time_weight = 0.01;
SELECT matches((SELECT verdict || ': ' || note FROM told('slower')),
    '^no difference: .*weighed together, cost -0\.8 %;', 'weights: time counts little');
SET LOCAL fillfactor_advisor.wal_weight = 0;
SELECT matches((SELECT verdict || ': ' || note FROM told('slower')),
    '^no difference: HOT share 50\.0 -> 55\.0 %; but statement time .* ms [(][+]100 %[)]; '
        'weighed together, cost \+0\.7 %;',
    'weights: WAL does not count');
RESET fillfactor_advisor.time_weight;
RESET fillfactor_advisor.wal_weight;
SET LOCAL fillfactor_advisor.storage_weight = 0;
SELECT is((SELECT array_agg(verdict) FROM unnest('{shrunk,grown}'::text[]) n, told(n)), '{no difference,no difference}',
    'weights: storage does not count');
RESET fillfactor_advisor.storage_weight;

-- Settings.
INSERT INTO ff_internal.setting_history (setting, seen_at, before_at, value, unit)
SELECT 'backend_flush_after', now() - interval '2 days', NULL, '0', '8kB'
UNION ALL SELECT 'backend_flush_after', now() - interval '5 hours', now() - interval '5 hours 5 minutes', '256', '8kB';
UPDATE ff_internal.setting_history SET seen_at = now() - interval '2 days'
    WHERE before_at IS NULL AND setting <> 'backend_flush_after';
UPDATE ff_internal.collection SET began_at = now() - interval '1 day';
SELECT is((SELECT (s.verdict, c.before, c.after)::text FROM ff_verify() s
    JOIN ff_verify(all_measures => true) c USING (change)
    WHERE change = 'setting backend_flush_after 0 -> 2048kB' AND s.measure = 'overall' AND c.measure = 'calls'),
    '(hurt,1200,1200)', 'a setting is judged by all statements that ran before and after');
SELECT is((SELECT undo FROM ff_verify() WHERE change ~ 'backend_flush_after' AND measure = 'overall'),
    'ALTER SYSTEM RESET backend_flush_after; SELECT pg_reload_conf();', 'a setting that hurt has an undo');
SELECT matches((SELECT note FROM ff_verify() WHERE change ~ 'backend_flush_after' AND measure = 'overall'),
    'changed at the same time; not told apart: [0-9]+ tables$', 'and says how many tables changed with it');
DELETE FROM ff_internal.statement_history
    WHERE statement_id IN (SELECT statement_id FROM ff_internal.statement WHERE queryid IN (1, 2, 3));
SELECT is((SELECT verdict FROM ff_verify() WHERE change ~ 'backend_flush_after' AND measure = 'overall'), 'too early',
    'a setting with too few calls: too early');
SELECT statement(:helped, 4, '{1000,1000,1010,990,1000,1000}', '{1000,1000,990,1010,1000,1000}', stddev1 => 1.0,
    stddev2 => 0.5),
    statement(:helped, 5, '{1000,1000,1010,990,1000,1000}', '{1000,1000,990,1010,1000,1000}', stddev1 => 1.0,
        stddev2 => 0.5);
SELECT is((SELECT string_agg(format('%s %s %s', measure, verdict, after - before), ', ')
    FROM ff_verify() WHERE change ~ 'backend_flush_after' AND verdict IS NOT NULL),
    'overall helped , WAL per update better -400, statement time equal 0', 'a setting: less WAL helped');

-- Values with units, as SET takes them.
SELECT is((SELECT array_agg(ff_internal.setting_shown(v, u) ORDER BY n)
    FROM (VALUES (1, '2.5', 'ms'), (2, '-1', 'kB'), (3, '0', '8kB'), (4, 'on', NULL), (5, '100', NULL),
        (6, '131072', '8kB'), (7, '90', 's'), (8, '1.2.3', 's')) x(n, v, u)),
    '{2.5ms,-1,0,on,100,1048576kB,90s,1.2.3}', 'values of settings are shown with their unit');

-- ---------------------------------------------------------------------------
-- Predictions that were followed
-- ---------------------------------------------------------------------------
SELECT is(ff_internal.calibration(:helped), NULL, 'no prediction: no calibration');
INSERT INTO ff_internal.prediction (rel_id, made_at, from_fillfactor, to_fillfactor, predicted_hot_pct,
    predicted_hot_low, predicted_hot_high, predicted_wal_pct)
VALUES (:helped, now() - interval '6 hours', 100, 50, 97, 95, 98, 70);
SELECT matches((SELECT predicted || ', ' || note FROM told('helped', 'HOT share')), '^97, predicted between 95 and 98$',
    'the predicted HOT share and range are shown');
SELECT is((SELECT (before, predicted)::text FROM told('helped', 'WAL per update')), '(1000,700)',
    'the predicted WAL is a share of that before');
-- only these are due; each has a history that ended half an hour after its change
UPDATE ff_internal.change SET judged_at = now(), verdict = 'helped' WHERE rel_id <> :helped;
SELECT is(ff_internal.collect_verdicts(0), 1::bigint, 'collect_verdicts() judges a change that was not judged yet');
SELECT is((SELECT (verdict, achieved_hot_pct, judged_at IS NOT NULL)::text
    FROM ff_internal.prediction WHERE rel_id = :helped),
    '(helped,99,t)', 'the verdict and the HOT share achieved are stored with the prediction that was followed');
CREATE FUNCTION verdicts() RETURNS text[]
    LANGUAGE sql AS $$ SELECT array_agg(c.details ORDER BY c.details) FROM ff_changes() c WHERE c.what = 'verdict' $$;
SELECT is(verdicts(), NULL, 'ff_changes() has no verdict that came once');
UPDATE ff_internal.collection SET began_at = date_trunc('hour', now())
 WHERE collection_id = (SELECT max(collection_id) FROM ff_internal.collection);
SELECT max(collection_id) + 1 AS next FROM ff_internal.collection \gset
UPDATE ff_internal.change SET judged_at = now() - interval '2 hours' WHERE rel_id = :helped;
SELECT is(ff_internal.collect_verdicts(:next), 0::bigint, 'nothing was counted since: it is not judged again');
UPDATE ff_internal.change SET judged_at = now() - interval '5 hours' WHERE rel_id = :helped;
SELECT is(ff_internal.collect_verdicts(:next), 1::bigint, 'something was: it is, an hour later');
SELECT is(verdicts(), '{helped: fillfactor 100 -> 50}',
    'ff_changes() has a verdict on a table that came twice');
CREATE FUNCTION judged_again() RETURNS bigint LANGUAGE sql AS $$
    UPDATE ff_internal.change SET judged_at = now() - interval '5 hours'
     WHERE rel_id = (SELECT r.rel_id FROM ff_internal.relation r WHERE r.relname = 'helped');
    SELECT ff_internal.collect_verdicts((SELECT max(collection_id) + 1 FROM ff_internal.collection)) $$;
SELECT judged_again();
SELECT is(cardinality(verdicts()), 1, 'the same verdict is no news');
UPDATE ff_internal.advice_event SET details = 'hurt: fillfactor 100 -> 50' WHERE rel_id = :helped;
UPDATE ff_internal.change SET told = 'hurt' WHERE rel_id = :helped;
SELECT judged_again();
SELECT is(verdicts(), '{helped: fillfactor 100 -> 50,hurt: fillfactor 100 -> 50}', 'another verdict is');
-- the last word of ff_changes() is that of ff_verify()
DELETE FROM ff_internal.advice_event;
INSERT INTO ff_internal.advice_event
SELECT r.rel_id, c.seen_at + interval '1 min', 'verdict', 'helped: fillfactor 100 -> 50'
  FROM ff_internal.relation r JOIN ff_internal.change c USING (rel_id) WHERE r.relname = 'early';
UPDATE ff_internal.change SET judged_at = now() - interval '5 hours', verdict = NULL, told = 'helped'
 WHERE rel_id = (SELECT r.rel_id FROM ff_internal.relation r WHERE r.relname = 'early');
SELECT ff_internal.collect_verdicts(:next);
SELECT matches(verdicts()::text, ',"too early again: [^,]*}$', 'a verdict that became too early again is, too');
SELECT is((SELECT c.verdict FROM ff_internal.change c JOIN ff_internal.relation r USING (rel_id)
	WHERE r.relname = 'early'),
    NULL, 'and is not stored with the change any longer');
-- by hand, options, indexes, and one that cannot be judged yet
DELETE FROM ff_internal.advice_event;
UPDATE ff_internal.change c SET judged_at = NULL, verdict = NULL, told = NULL FROM ff_internal.relation r
 WHERE r.rel_id = c.rel_id AND r.relname IN ('hurt2', 'options', 'dropped', 'early');
SELECT is(ff_internal.collect_verdicts(:next), 4::bigint, 'changes that nobody advised are judged');
UPDATE ff_internal.change c SET judged_at = NULL FROM ff_internal.relation r
 WHERE r.rel_id = c.rel_id AND r.relname IN ('hurt2', 'options', 'dropped', 'early');
SELECT ff_internal.collect_verdicts(:next);
SELECT is(verdicts(), (SELECT array_agg(DISTINCT v.verdict || ': ' || v.change ORDER BY v.verdict || ': ' || v.change)
    FROM ff_verify() v WHERE v.measure = 'overall' AND v.relation::text IN ('hurt2', 'options', 'dropped')),
    'ff_changes() has the verdicts of ff_verify() on a fillfactor, options and indexes');
SELECT is((SELECT array_agg(c.kind || ' ' || coalesce(c.verdict, '-') ORDER BY r.relname)
    FROM ff_internal.change c JOIN ff_internal.relation r USING (rel_id)
    WHERE r.relname IN ('hurt2', 'options', 'dropped', 'early')),
    '{indexes helped,fillfactor -,fillfactor hurt,options hurt}', 'they are stored with the changes');
SELECT is(ff_internal.calibration(:helped), 1::float8, 'HOT share within 5 points of the prediction: calibration 1');
UPDATE ff_internal.prediction SET predicted_hot_pct = 84, predicted_hot_low = 80, predicted_hot_high = 89
    WHERE rel_id = :helped;
SELECT is(ff_internal.calibration(:helped), 0.5::float8, 'HOT share ten points outside the range: calibration 0.5');
UPDATE ff_internal.prediction SET verdict = 'hurt' WHERE rel_id = :helped;
SELECT is(ff_internal.calibration(:helped), 0.2::float8, 'the change hurt: calibration 0.2');
-- advice that stood for days was predicted each day; the verdict is with the last prediction
SELECT is((SELECT ff_internal.as_advised(c) FROM ff_internal.change c WHERE c.rel_id = :helped), false,
    'a change that hurt is not as advised');
INSERT INTO ff_internal.prediction (rel_id, made_at, from_fillfactor, to_fillfactor)
VALUES (:helped, now() - interval '2 days', 100, 50);
SELECT is((SELECT ff_internal.as_advised(c) FROM ff_internal.change c WHERE c.rel_id = :helped), false,
    'nor if an earlier prediction of it has no verdict');
UPDATE ff_internal.prediction SET verdict = 'helped' WHERE rel_id = :helped AND verdict = 'hurt';
ALTER TABLE helped SET (fillfactor = 50);
SELECT is((SELECT (h.followed, ff_internal.as_advised(c))::text
    FROM ff_internal.change c CROSS JOIN ff_internal.evidence() e CROSS JOIN ff_internal.history_input(e) h
    WHERE c.rel_id = :helped AND e.rel_id = :helped), '(1,t)', 'one that helped is, for the model, too');
ALTER TABLE helped RESET (fillfactor);

-- Which tables are fitted: those whose updates grew by a tenth, and the others once a day.
INSERT INTO ff_internal.collection (epoch_id, began_at, relations, changed, track_counts, open_writers, own_inserts)
SELECT :epoch, max(i.ended_at), 1, 1, true, 0, 0 FROM ff_internal.counter_interval i WHERE i.rel_id = :helped
RETURNING collection_id AS last, began_at AS last_at \gset
-- times: how many times the updates since then the fit is based on
CREATE FUNCTION due(id bigint, asked interval, times int, look timestamptz, last bigint)
    RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    UPDATE ff_internal.relation SET sampled_at = look, opened_at = look - interval '1 day' WHERE rel_id = id;
    DELETE FROM ff_internal.fit WHERE asked IS NULL AND rel_id = id;
    INSERT INTO ff_internal.fit (rel_id, made_at, evidence_hash, made_with, valid_for, action, from_fillfactor,
        to_fillfactor, confidence, updated)
    SELECT id, look - asked, '', ff_internal.fit_made_with(), '', 'keep', 100, 100, 0,
           (SELECT times * sum(updated) FROM ff_internal.counter_interval WHERE rel_id = id AND ended_at > look - asked)
     WHERE asked IS NOT NULL
    ON CONFLICT (rel_id) DO UPDATE SET made_at = EXCLUDED.made_at, updated = EXCLUDED.updated;
    RETURN EXISTS (SELECT FROM ff_internal.fits_due(last) d WHERE d = id);
END $$;
SELECT ok(due(:helped, NULL, 1, :'last_at', :last), 'a table never fitted is due for a fit');
DELETE FROM ff_internal.change WHERE rel_id = :helped;
SELECT ok(NOT due(:helped, '59 min', 11, :'last_at', :last), 'updates grew by less than a tenth: it is not due');
SELECT ok(due(:helped, '59 min', 10, :'last_at', :last), 'they grew by a tenth: it is due');
SELECT ok(due(:helped, '1 day', 11, :'last_at', :last), 'a table fitted a day ago is due');
UPDATE ff_internal.fit SET made_with = 'other settings' WHERE rel_id = :helped;
SELECT ok(due(:helped, '59 min', 11, :'last_at', :last), 'a table fitted with other settings is due');
UPDATE ff_internal.fit SET made_with = ff_internal.fit_made_with() WHERE rel_id = :helped;
SELECT rel_id AS same FROM ff_internal.relation WHERE relname = 'same' \gset
DELETE FROM ff_internal.counter_interval
    WHERE rel_id = :same AND ended_at > :'last_at'::timestamptz - interval '1 day';
DELETE FROM ff_internal.change WHERE rel_id = :same;
SELECT ok(NOT due(:same, '1 day', 1, :'last_at', :last), 'an unchanged table is not due');
UPDATE ff_internal.fit SET made_with = 'another server' WHERE rel_id = :same;
SELECT ok(due(:same, '1 min', 1, :'last_at', :last), 'with another model or server it is');
UPDATE ff_internal.fit SET made_with = ff_internal.fit_made_with() WHERE rel_id = :same;
SELECT ok(NOT due(:same, '1 min', 1, :'last_at', :last) AND due(:same, '-1 day', 1, :'last_at', :last),
    'nor is its fit believed that a clock made that was ahead');
UPDATE ff_internal.fit SET (action, to_fillfactor, confidence) = ('lower', 50, 0.5) WHERE rel_id = :same;
INSERT INTO ff_internal.fit (rel_id, made_at, evidence_hash, made_with, valid_for, action, from_fillfactor,
    to_fillfactor, confidence)
    VALUES (-1, now(), '', '', '', 'lower', 100, 50, 0.5);
SELECT ok(due(:same, '1 day', 1, :'last_at', :last), 'an unchanged table with advice to change is due after a day');
SELECT ok(NOT due(:same, '23 hours', 1, :'last_at', :last), 'but not before');
SELECT is((SELECT array_agg(rel_id) FROM ff_internal.fit WHERE action = 'lower'), ARRAY[:same::bigint],
    'fits of tables that are gone are deleted');
SELECT is(ff_internal.collect_fit(:same), 1::bigint, 'a table with outdated advice is fitted again');
SELECT is((SELECT count(*) FROM ff_internal.fit WHERE action = 'lower'), 0::bigint, 'the new fit withdraws the advice');
SELECT is(ff_internal.collect_fit(-1), 0::bigint, 'collect_fit() of an unknown table fits none');

SELECT * FROM finish();
ROLLBACK;
