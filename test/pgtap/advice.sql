-- The cause of every kind of table, from a history written by hand: one
-- story a cause, its numbers in one row.
BEGIN;
SELECT plan(47);
CREATE EXTENSION fillfactor_advisor;
SET LOCAL client_min_messages = warning;

\ir ../stories.sql
CREATE TABLE untouched (i int);
CREATE TABLE late (i int);

SELECT unnest(ARRAY[is(a.cause, v.cause, format('%s: cause', v.name)),
                    ok(a.action = ANY (v.actions), format('%s: %s is one of %s', v.name, a.action, v.actions))])
  FROM (VALUES ('settled',    'settled',        '{keep}'::text[]),
               ('settled15',  'settled',        '{keep}'),
               ('indexed',    'indexed_column', '{keep}'),
               ('indexed15',  'indexed_column', '{keep}'),
               ('partly',     'indexed_column', '{keep}'),
               ('full',       'page_full',      '{lower,keep}'),
               ('full15',     'page_full',      '{lower,keep}'),
               ('blind15',    'no_data',        '{wait}'),
               ('readers',    'read_mostly',    '{keep}'),
               ('own_scans',  'page_full',      '{keep}'),
               ('batch',      'batch_update',   '{lower}'),
               ('growth',     'row_growth',     '{lower,keep}'),
               ('snapshot',   'old_snapshot',   '{keep}'),
               ('wide',       'too_wide',       '{keep}'),
               ('few',        'few_updates',    '{wait}'),
               ('insertonly', 'few_updates',    '{keep}'),
               ('insert70',   'few_updates',    '{raise}')) v(name, cause, actions)
 CROSS JOIN LATERAL ff_advise(v.name::regclass) a;

SELECT is(recommended_fillfactor, 100, 'an insert-only table goes back to 100') FROM ff_advise('insert70');
SELECT matches(reason, 'indexed_j', 'the index that is in the way is named') FROM ff_advise('indexed');
SELECT is((SELECT count(*) FROM ff_advise() WHERE ddl IS NOT NULL AND action NOT IN ('lower', 'raise')), 0::bigint, 'no statement where nothing should change');
SELECT is((SELECT count(*) FROM ff_advise() WHERE reason IS NULL OR cause IS NULL OR action IS NULL OR confidence NOT BETWEEN 0 AND 1), 0::bigint, 'every row has an action, a cause, a reason and a confidence');
SELECT is((SELECT count(*) FROM ff_advise()), (SELECT count(*) FROM ff_internal.candidate), 'one row for every table');

-- not sure enough: of what was seen, or because too little was
SET LOCAL fillfactor_advisor.min_confidence = 1;
SELECT is(action, 'wait', 'no replay is near enough for a confidence of 1') FROM ff_advise('batch');
SELECT matches(reason, 'may be better, but no replay comes near enough to what was seen', 'which more updates would not change') FROM ff_advise('batch');
SET LOCAL fillfactor_advisor.min_updates = 1000000000;
SELECT unalike(reason, '%no replay comes near%', 'unless too few were seen') FROM ff_advise('batch');
RESET fillfactor_advisor.min_updates;
RESET fillfactor_advisor.min_confidence;

-- the same table and HOT shares, within memory, as large as memory, and ten times as large
CREATE TEMP TABLE by_memory AS
SELECT v.ratio, c.recommended_fillfactor, c.memory_note
  FROM (VALUES (0.1), (1), (10)) v(ratio)
 CROSS JOIN LATERAL ff_internal.evidence('full') e
 CROSS JOIN LATERAL jsonb_populate_record(e, jsonb_build_object('heap_bytes', 8192000, 'index_bytes', 4096000,
                                                                'recent', to_jsonb(e.recent) || jsonb_build_object('hot_updated', (e.recent).updated * 66 / 100,
                                                                                                                   'newpage_updated', (e.recent).updated - (e.recent).updated * 66 / 100),
                                                                'ram_bytes', (12288000 / v.ratio)::bigint, 'ram_ratio', v.ratio)) x
 CROSS JOIN LATERAL ff_internal.choice(x) c;
SELECT cmp_ok(b.recommended_fillfactor, '>', a.recommended_fillfactor, 'a table as large as memory gets less room than within') FROM by_memory a, by_memory b WHERE a.ratio = 0.1 AND b.ratio = 1;
SELECT cmp_ok(b.recommended_fillfactor, '<', a.recommended_fillfactor, 'far beyond memory it gets more room than within') FROM by_memory a, by_memory b WHERE a.ratio = 0.1 AND b.ratio = 10;
SELECT results_eq('SELECT memory_note IS NULL FROM by_memory ORDER BY ratio', ARRAY[true, false, false], 'memory is named where it matters');
SELECT matches(b.memory_note, '^table and indexes are 10 times memory \(\d+ would be best within it\): a row that leaves its page', 'and how') FROM by_memory b WHERE b.ratio = 10;
SELECT is(ff_internal.page_read_us(), NULL, 'without track_io_timing nobody knows what a page read takes');
SELECT * FROM finish();
ROLLBACK;
