-- ff_changes(): each kind of news, one line each, newest first; and what is sent to listeners.
BEGIN;
CREATE EXTENSION fillfactor_advisor;
SET LOCAL client_min_messages = warning;
SELECT * FROM no_plan();

\ir ../queries/stories.sql
SELECT rel_id AS id, fillfactor AS now FROM ff_internal.relation WHERE relname = 'batch' \gset
SELECT rel_id AS indexed FROM ff_internal.relation WHERE relname = 'indexed' \gset
DELETE FROM ff_internal.change;
CREATE FUNCTION news(of text) RETURNS SETOF text LANGUAGE sql AS $$
    SELECT concat_ws(' ', c.what, c.details) FROM ff_changes() WITH ORDINALITY c
        WHERE c.relation = 'public.' || of ORDER BY c.ordinality $$;
SELECT throws_ok($$ INSERT INTO ff_internal.advice_event VALUES (1, now(), 'anything', '') $$, '23514', NULL,
    'no other kind of event');
SELECT is_empty($$
    SELECT * FROM ff_changes()
    WHERE what NOT IN ('changed', 'holds back pruning') AND relation IS NOT NULL $$,
    'no news at first');

-- advised, moved, withdrawn: an event carries the time of the clock, and a fit compares with the last one
SELECT ff_internal.collect_fit(:id);
SELECT to_fillfactor AS new FROM ff_internal.fit WHERE rel_id = :id \gset
CREATE FUNCTION later() RETURNS void
    LANGUAGE sql AS $$ UPDATE ff_internal.advice_event SET seen_at = seen_at - interval '1 minute' $$;
CREATE FUNCTION worth() RETURNS text LANGUAGE sql AS $$ SELECT '(, [0-9]+ [kMG]?B(ytes)? (less|more) WAL a day)?$' $$;
SELECT later();
SELECT matches(string_agg(n, '|'), format('^advised fillfactor %s -> %s', :now, :new) || worth(), 'advised')
    FROM news('batch') n;
SELECT ff_internal.collect_fit(:id);
SELECT is(count(*), 1::bigint, 'the same advice is no news') FROM news('batch') n;
UPDATE ff_internal.fit SET to_fillfactor = :new + 2 WHERE rel_id = :id;
SELECT ff_internal.collect_fit(:id);
SELECT is(count(*), 1::bigint, 'nor is a step that moves by 2') FROM news('batch') n;
UPDATE ff_internal.fit SET to_fillfactor = :new + 3 WHERE rel_id = :id;
SELECT ff_internal.collect_fit(:id);
SELECT later();
SELECT matches((array_agg(n))[1], format('^moved to fillfactor %s instead of %s', :new, :new + 3) || worth(), 'moved')
    FROM news('batch') n;
SAVEPOINT withdrawn;
SELECT ff_internal.note_fit(f, :id, jsonb_populate_record(a.decision, '{"action": "wait", "changes": false}'), false,
    :now, NULL, NULL, NULL, 'more must be seen first')
    FROM ff_internal.advice('batch') a, ff_internal.fit f WHERE rel_id = :id;
SELECT matches((array_agg(n))[1], format('^withdrawn fillfactor %s -> %s: now wait, more must be seen first$', :now,
	:new), 'withdrawn')
    FROM news('batch') n;
ROLLBACK TO withdrawn;
-- once an hour was watched, what a day brings is known: said again, once
CREATE FUNCTION noted(id bigint, watched interval) RETURNS SETOF text LANGUAGE sql AS $$
    DELETE FROM ff_internal.advice_event;
    UPDATE ff_internal.fit f SET made_at = ff_internal.observed_at() - interval '10 min' WHERE f.rel_id = id;
    SELECT ff_internal.note_fit(f, id, a.decision, false, f.from_fillfactor, 5e9, '5 GB less WAL a day', watched,
        a.phrase)
        FROM ff_internal.advice('batch') a, ff_internal.fit f WHERE f.rel_id = id;
    SELECT * FROM news('batch') $$;
SELECT is_empty(format('SELECT noted(%s, %L)', :id, '50 min'), 'watched for less than an hour: nothing more');
SELECT is(string_agg(n, '|'), format('advised fillfactor %s -> %s, 5 GB less WAL a day', :now, :new),
    'watched for an hour now: advised, with what a day brings') FROM noted(:id, '65 min') n;
SELECT is_empty(format('SELECT noted(%s, %L)', :id, '75 min'), 'watched for longer: nothing more');
ROLLBACK TO withdrawn;

-- dismissed, taken back by hand and by worth, expired
SELECT ff_dismiss('batch', E'a <script>\nwe keep it', now() + interval '1 day');
SELECT later();
SELECT is((array_agg(n))[1],
    format('dismissed by %s until %s: a <script>?we keep it', current_user,
        to_char(now() + interval '1 day', 'YYYY-MM-DD')),
    'dismissed, on one line')
    FROM news('batch') n;
SELECT doesnt_match(ff_report(0), 'a <script>', 'the report escapes it');
UPDATE ff_internal.fit SET to_fillfactor = from_fillfactor, action = 'keep' WHERE rel_id = :id;
SELECT ff_internal.collect_fit(:id);
SELECT matches((array_agg(n))[1], '^dismissed', 'advice that is dismissed is no news') FROM news('batch') n;
UPDATE ff_internal.dismissal SET until = now() - interval '1 second';
SELECT is((array_agg(n))[1], 'expired the dismissal: a <script>?we keep it', 'expired') FROM news('batch') n;
SELECT ff_dismiss('batch', 'again');
SELECT ff_dismiss('batch', NULL);
SELECT is((array_agg(n))[1], 'taken back the dismissal, by ' || current_user, 'taken back') FROM news('batch') n;
SELECT later();
SAVEPOINT overtaken;
SELECT ff_dismiss('batch', 'too small');
SELECT later();
UPDATE ff_internal.relation SET updated = updated WHERE rel_id = :id;
UPDATE ff_internal.dismissal SET wal_bytes = 1;
SELECT is(ff_internal.keep_dismissal(:id, false, true, 1e12, NULL), false, 'a change that saves much more');
SELECT is((array_agg(n))[1], 'taken back the dismissal: the change saves three times as much WAL as then', 'overtaken')
    FROM news('batch') n;
SELECT is_empty('SELECT FROM ff_internal.dismissal', 'and no longer dismissed');
ROLLBACK TO overtaken;

-- indexes that block, and that no longer do
SELECT ff_internal.collect_fit(:indexed);
SELECT later();
SELECT matches(string_agg(n, '|'), '^blocked updates change an indexed column: .*indexed', 'blocked, with the indexes')
    FROM news('indexed') n;
SELECT ff_internal.collect_fit(:indexed);
SELECT is(count(*), 1::bigint, 'once') FROM news('indexed') n;
SELECT ff_internal.note_fit(f, :indexed, jsonb_populate_record(a.decision, '{"seen_cause": "no_data"}'), false, 100,
    NULL, NULL, NULL, NULL)
    FROM ff_internal.advice('indexed') a, ff_internal.fit f WHERE rel_id = :indexed;
SELECT is(count(*), 1::bigint, 'too little data says nothing about indexes') FROM news('indexed') n;
SELECT ff_internal.note_fit(f, :indexed, jsonb_populate_record(a.decision, '{"seen_cause": "settled"}'), false, 100,
    NULL, NULL, NULL, NULL)
    FROM ff_internal.advice('indexed') a, ff_internal.fit f WHERE rel_id = :indexed;
SELECT is((array_agg(n))[1], 'unblocked most updates change no indexed column any more', 'unblocked')
    FROM news('indexed') n;

-- changed, as advised or not
INSERT INTO ff_internal.change (rel_id, kind, before_at, seen_at, epoch_id, old_fillfactor, new_fillfactor)
SELECT rel_id, 'fillfactor', now() - interval '90 min', clock_timestamp() - age, epoch_id, :now, f
  FROM ff_internal.relation, (VALUES (:new, interval '0'), (:new - 1, '1 hour')) v(f, age) WHERE rel_id = :id;
UPDATE ff_internal.prediction SET made_at = made_at - interval '2 hours';
SELECT is(ARRAY(SELECT n FROM news('batch') n WHERE n ~ '^(taken f|changed)'),
          ARRAY[format('taken fillfactor %s -> %s, as advised %s', :now, :new,
              to_char(now() - interval '2 hours', 'YYYY-MM-DD')),
              format('changed fillfactor %s -> %s', :now, :new - 1)],
          'taken, and changed otherwise');

-- holders and collections
INSERT INTO ff_internal.horizon_history (kind, holder, role_name, application, since, last_seen_at, xids)
SELECT 'transaction', 'pid 1', 'bob', 'nightly <b>', max(began_at) - interval '2 hours',
    max(began_at) - interval '1 hour', 7
    FROM ff_internal.collection;
SELECT bag_has($$ SELECT what || ': ' || details FROM ff_changes() WHERE relation IS NULL $$,
               $$
                   VALUES ('transaction: pid 1, bob, nightly <b>, holds back pruning'),
                       ('transaction ended: pid 1, bob, nightly <b>, seen last after 60 min') $$,
               'a holder comes and goes');
UPDATE ff_internal.collection SET failed = 2
    WHERE collection_id = (SELECT max(collection_id) FROM ff_internal.collection);
SELECT bag_has($$ SELECT what || ': ' || details FROM ff_changes() $$,
    $$ VALUES ('collection failed: 2 tables could not be sampled') $$, 'a collection with failures');

-- order, span, names
SELECT results_eq('SELECT at FROM ff_changes()', 'SELECT at FROM ff_changes() ORDER BY at DESC', 'newest first');
SELECT is_empty($$ SELECT FROM ff_changes() WHERE details ~ '[[:cntrl:]]' OR what IS NULL OR details IS NULL $$,
    'one line each');
SELECT is((SELECT count(*) FROM ff_changes(NULL)), (SELECT count(*) FROM ff_changes('7 days')), 'NULL is the default');
UPDATE ff_internal.advice_event SET seen_at = seen_at - interval '8 days';
SELECT cmp_ok((SELECT count(*) FROM ff_changes()), '<', (SELECT count(*) FROM ff_changes('9 days')),
    'older news are left out');
UPDATE ff_internal.relation SET relname = E'new "na\nme"' WHERE rel_id = :id;
SELECT is(count(DISTINCT relation), 1::bigint, 'a renamed table has its new name, which can be pasted')
    FROM ff_changes('9 days') WHERE relation = 'public.U&"new ""na\+00000ame"""';

SELECT * FROM finish();
ROLLBACK;
