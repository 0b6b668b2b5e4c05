-- The cause of every kind of table, from a history written by hand: one
-- story a cause, its numbers in one row.
BEGIN;
SELECT plan(37);
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
SELECT is((SELECT count(*) FROM ff_advise()), (SELECT count(*) FROM ff_candidate), 'one row for every table');
SELECT * FROM finish();
ROLLBACK;
