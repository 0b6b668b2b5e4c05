-- The cause and the action for every kind of table, from histories written by
-- hand: one story for each cause.
BEGIN;
SELECT plan(199);
CREATE EXTENSION fillfactor_advisor;
SET LOCAL client_min_messages = warning;

\ir ../queries/stories.sql
-- what ff_advise() and ff_advice say of all tables, kept for several assertions
CREATE TEMP TABLE advised AS SELECT * FROM ff_advise() WITH NO DATA;
CREATE TEMP TABLE overview AS TABLE ff_advice WITH NO DATA;
\set ask_again 'TRUNCATE advised; INSERT INTO advised SELECT * FROM ff_advise();'
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

SELECT is(recommended_fillfactor, 100, 'insert-only at 70: 100 is advised') FROM ff_advise('insert70');
SELECT is(string_agg(a.relation::text || ': ' || a.reason, ' '), NULL, 'no sentence has a gap where nothing is known')
	FROM ff_advise() o, ff_advise(o.relation) a WHERE a.reason ~ '  | [.,;:)]|[(] ';

-- the first fit of a table that was changed 40 minutes ago; what came before is not since then
SAVEPOINT lately;
SELECT story('lately', 20000, 20000, 0, 20000,
	'{"update_group_rows": 56, "updated_pct": 98, "live_rows": 1260000, "blocks": 21000}');
SELECT statements_of('lately', 'k', 20000, 'UPDATE lately SET k = 1 WHERE k = 0');
INSERT INTO ff_internal.change (rel_id, kind, before_at, seen_at, epoch_id, old_fillfactor, new_fillfactor)
SELECT rel_id, 'fillfactor', now() - interval '45 min', now() - interval '40 min', epoch_id, 70, 100
	FROM ff_internal.relation WHERE relname = 'lately';
SELECT unnest(ARRAY[is((v.decision).because, 'just_changed', 'the first fit knows what was just changed'),
	is(((v.evidence).since).updated, 800000::bigint, 'updates from before a change are not since it')])
	FROM ff_internal.decisions('lately', true) v;
ROLLBACK TO lately;

-- an unlogged table saves no WAL
SELECT story('scratch', 20000, 20000, 0, 20000,
	'{"update_group_rows": 56, "updated_pct": 98, "live_rows": 1260000, "blocks": 21000}');
SELECT statements_of('scratch', 'k', 20000, 'UPDATE scratch SET k = 1 WHERE k = 0');
ALTER TABLE scratch SET UNLOGGED;
UPDATE ff_internal.relation r SET relfilenode = c.relfilenode FROM pg_class c WHERE c.oid = r.relid
	AND r.relname = 'scratch';
SELECT unnest(ARRAY[is(u.action, 'lower', 'unlogged: advised as the logged one'),
	is((u.wal_bytes_per_day_saved, u.predicted_wal_pct)::text, '(0,)', 'unlogged: no WAL is saved'),
	ok(u.cpu_seconds_per_day_saved > 0 AND l.wal_bytes_per_day_saved > 0, 'unlogged: CPU time is saved'),
	ok(u.reason !~ 'WAL a day' AND l.reason ~ 'WAL a day', 'unlogged: no WAL in the reason')])
	FROM ff_advise('scratch') u, ff_advise('batch') l;
SELECT ff_internal.collect_fit(rel_id) FROM ff_internal.relation WHERE relname = 'scratch';
SELECT matches(saves, '^[0-9]+ s CPU/d$', 'unlogged: worth CPU time') FROM ff_advice WHERE relation = 'scratch';
SELECT is(max(wal_bytes_per_update), 0::real, 'unlogged: no WAL in the curve') FROM ff_curve('scratch');
SELECT ok(ff_report() ~ 'scratch', 'unlogged: in the report');
SELECT story('short70', 1000, 0, 0, 0,
	'{"updated_pct": 0, "updated_width": null, "updated_hot_rows": 0, "updated_nonhot_rows": 0, '
	'"rows_per_page": 42, "rows_per_page_max": 42}',
	70, idle => '9 hours');
SELECT unnest(ARRAY[is(action, 'wait', 'insert-only at 70: waits for a full day'),
	matches(reason, 'a full day has to be seen first, about 14 hours are left',
		'insert-only at 70: the reason says how many hours are left')])
	FROM ff_advise('short70');
SELECT story('was_updated', 1000, 0, 0, 0,
	'{"updated_pct": 0, "updated_width": null, "updated_hot_rows": 0, "updated_nonhot_rows": 0, '
	'"rows_per_page": 42, "rows_per_page_max": 42}',
	70);
INSERT INTO ff_internal.counter_interval
SELECT (jsonb_populate_record(i,
	jsonb_build_object('began_at', now() - interval '60 hours', 'ended_at', now() - interval '50 hours', 'fillfactor',
		100, 'updated', 5000))).*
  FROM ff_internal.counter_interval i JOIN ff_internal.relation r USING (rel_id)
 WHERE r.relname = 'was_updated' LIMIT 1;
INSERT INTO ff_internal.change (rel_id, kind, before_at, seen_at, epoch_id, old_fillfactor, new_fillfactor)
SELECT rel_id, 'fillfactor', now() - interval '50 hours', now() - interval '30 hours', epoch_id, 100, 70
	FROM ff_internal.relation WHERE relname = 'was_updated';
SELECT unnest(ARRAY[is(action, 'wait', 'updated before its fillfactor changed: waits for updates'),
	matches(reason,
		'^Too little was seen since its fillfactor or its indexes changed: 500 updates are needed, and 0 came so far: about '
		'[0-9]+ hours more at the rate of the window',
		'updated before its fillfactor changed: the reason says what is needed')])
	FROM ff_advise('was_updated');
-- fillfactor is raised only after a day, and if the table is as busy as before its last change
CREATE FUNCTION changed(name text, ago interval, kind text, old int) RETURNS void LANGUAGE sql AS $$
    INSERT INTO ff_internal.change (rel_id, kind, before_at, seen_at, epoch_id, old_fillfactor, new_fillfactor)
    SELECT rel_id, kind, now() - ago, now() - ago, epoch_id, old, fillfactor
        FROM ff_internal.relation WHERE relname = name $$;
SELECT story('roomy', 0, 1000, 1000, 0,
	'{"rows_per_page": 24, "rows_per_page_max": 24, "inserted_width": 121, "blocks": 2500, "updated_hot_rows": 50000}',
	40);
SELECT is(action, 'raise', 'unused room: fillfactor is raised after a day') FROM ff_advise('roomy');
SELECT story('roomy_new', 0, 1000, 1000, 0,
	'{"rows_per_page": 24, "rows_per_page_max": 24, "inserted_width": 121, "blocks": 2500, "updated_hot_rows": 50000}',
	40, idle => '9 hours');
SELECT unnest(ARRAY[is(action, 'wait', 'unused room, watched for 10 hours: waits'),
	matches(reason, 'a full day has to be seen first, about 14 hours are left',
	'unused room, watched for 10 hours: the reason says how long')]) FROM ff_advise('roomy_new');
SELECT changed('roomy', '50 minutes', 'indexes', 40);
SELECT unnest(ARRAY[is(action, 'wait', 'unused room, indexes just changed: waits'),
	matches(reason, 'a full day has to be seen first, about 23 hours are left',
		'unused room, indexes just changed: the reason says how long')])
	FROM ff_advise('roomy');
UPDATE ff_internal.change SET before_at = now() - interval '26 hours', seen_at = now() - interval '25 hours'
	WHERE rel_id = (SELECT rel_id FROM ff_internal.relation WHERE relname = 'roomy');
INSERT INTO ff_internal.counter_interval
SELECT (jsonb_populate_record(i,
	jsonb_build_object('began_at', now() - interval '60 hours', 'ended_at', now() - interval '50 hours', 'updated',
		9000000))).*
  FROM ff_internal.counter_interval i JOIN ff_internal.relation r USING (rel_id) WHERE r.relname = 'roomy' LIMIT 1;
SELECT is(action, 'wait', 'unused room, much less busy since the indexes changed: waits') FROM ff_advise('roomy');
-- a new or dropped index keeps the evidence if no update sets a column that it blocks
SELECT story('reindexed', 0, 1000, 1000, 0,
	'{"group_old_page": [1000], "rows_per_page": 24, "rows_per_page_max": 24, "inserted_width": 121, "blocks": '
	'2500, "updated_hot_rows": 50000}',
	40);
ALTER TABLE reindexed ADD k int;
SELECT changed('reindexed', '50 minutes', 'indexes', 40);
SELECT statements_of('reindexed', 'k', 1000, 'UPDATE reindexed SET k = 1');
CREATE FUNCTION reindexed(columns smallint[]) RETURNS text LANGUAGE sql AS $$
    UPDATE ff_internal.change SET reindexed_columns = columns
     WHERE rel_id = (SELECT rel_id FROM ff_internal.relation WHERE relname = 'reindexed');
    SELECT format('%s updates, %s', (e.since).updated, a.action)
        FROM ff_internal.evidence('reindexed') e, ff_advise('reindexed') a $$;
SET LOCAL fillfactor_advisor.min_worth = 0;
SELECT is(reindexed('{1}'), '60000 updates, raise',
	'indexes changed, no statement sets a column: all updates still count');
SELECT is(reindexed('{}'), '60000 updates, raise',
	'indexes changed, all columns are in another index: all updates still count');
SELECT is(reindexed('{1,3}'), '50000 updates, wait',
	'indexes changed, a statement sets a column: only later updates count');
SELECT is(reindexed(NULL), '50000 updates, wait', 'indexes changed, columns unknown: only later updates count');
UPDATE ff_internal.statement_history SET rows = 800
	WHERE statement_id = (SELECT statement_id FROM ff_internal.statement WHERE text = 'UPDATE reindexed SET k = 1');
SELECT is(reindexed('{1}'), '50000 updates, wait',
	'indexes changed, a fifth of the updates unexplained: only later updates count');
RESET fillfactor_advisor.min_worth;

-- a snapshot that is held, and one that ended
SELECT matches(ARRAY[phrase, (advice).reason]::text, '^."an old snapshot is held.*[.]\sEnd it first, because',
	'an old snapshot: end it') FROM ff_internal.advice('snapshot');
SAVEPOINT ended;
UPDATE ff_internal.horizon_history SET last_seen_at = (SELECT max(began_at)
	FROM ff_internal.collection) - interval '1 s';
SELECT is(array_agg(ARRAY[phrase,
	(regexp_match((advice).reason, '[.]\sIt was held until ([-0-9: ]+): wait for\s+updates'))[1]]),
	(SELECT ARRAY[ARRAY['an old snapshot was held', to_char(max(last_seen_at), 'YYYY-MM-DD HH24:MI')]]
	FROM ff_internal.horizon_history), 'it ended: the reason says when') FROM ff_internal.advice('snapshot');
UPDATE ff_internal.horizon_history SET last_seen_at = (SELECT max(began_at)
	FROM ff_internal.collection) - interval '1 minute';
SELECT is(phrase, 'updates leave full pages', 'it ended, and updates lack room since as well: that is the cause')
	FROM ff_internal.advice('snapshot');
ROLLBACK TO ended;

-- one run of a statement is no habit
SAVEPOINT ran;
SELECT is(action, 'lower', 'batches, again and again: lower') FROM ff_advise('batch');
WITH h AS (
	SELECT h.ctid AS place, row_number() OVER () AS n
	  FROM ff_internal.statement_history h JOIN ff_internal.statement s USING (statement_id)
	  	WHERE s.text ~ '^UPDATE batch'
), gone AS (
	DELETE FROM ff_internal.statement_history s USING h WHERE s.ctid = h.place AND h.n > 1
)
UPDATE ff_internal.statement_history s SET calls = 1, rows = 700000 FROM h WHERE s.ctid = h.place AND h.n = 1;
SELECT matches(action || ' ' || reason, '^wait.* may be better, but most of its updates were one run of a statement: '
	'wait until it runs again', 'most updates were one run of a statement: wait for another') FROM ff_advise('batch');
DELETE FROM ff_internal.counter_interval
 WHERE rel_id = (SELECT rel_id FROM ff_internal.relation WHERE relname = 'batch')
   AND began_at < (SELECT max(began_at) FROM ff_internal.counter_interval) - interval '4 hours';
SELECT matches(reason, '(?s)one run of a statement.*at most 5 hours', 'within hours, too')
  FROM (SELECT reason || CASE WHEN observed < '5 hours' THEN ' at most 5 hours' ELSE observed::text END
      FROM ff_advise('batch')) a(reason);
ROLLBACK TO ran;

-- nor are many batches within two hours, if other times tell another story
UPDATE ff_internal.counter_interval SET updated = 3000, hot_updated = 3000
 WHERE rel_id = (SELECT rel_id FROM ff_internal.relation WHERE relname = 'batch') AND ended_at - began_at > '2 hours';
SELECT matches(action || ' ' || reason, '^wait.* may be better, but most of its updates came in one burst, and nothing '
	'like it before or after: wait until that happens again',
	'most updates came in one hour: wait for another like it') FROM ff_advise('batch');
ROLLBACK TO ran;

-- a table that is no longer written to, and then altered
SELECT story('closed', 1000, 1000, 400, 600);
UPDATE ff_internal.counter_interval SET began_at = began_at - interval '2 days', ended_at = ended_at - interval '2 days'
	WHERE rel_id = (SELECT rel_id FROM ff_internal.relation WHERE relname = 'closed');
UPDATE ff_internal.relation SET opened_at = now() - interval '5 days', seen_at = now() - interval '5 days'
 WHERE relname = 'closed';
SELECT changed('closed', '1 hour', 'fillfactor', 90);
SELECT unnest(ARRAY[is(action || ' ' || cause, 'keep few_updates', 'nothing written for a day: keep'),
	matches(reason, '^Nothing was written to it for a day or longer: while that is so, it needs nothing',
		'nothing written for a day: the reason says so')])
	FROM ff_advise('closed');
DELETE FROM ff_internal.counter_interval
	WHERE rel_id = (SELECT rel_id FROM ff_internal.relation WHERE relname = 'closed');
SELECT unnest(ARRAY[is(action || ' ' || confidence, 'keep 1',
	'nothing written in the whole window: keep, with confidence 1'),
	matches(reason, '^Nothing was written to it for 5 days',
		'nothing written in the whole window: the reason says for how many days')])
	FROM ff_advise('closed');
UPDATE ff_internal.relation SET opened_at = now() - interval '3 hours', seen_at = now() - interval '3 hours'
 WHERE relname = 'closed';
SELECT matches(action || ' ' || reason,
	'^keep Nothing was written to it for 3 hours: while that is so, it needs nothing',
	'nothing written on its first day: keep, with low confidence') FROM ff_advise('closed');
INSERT INTO overview TABLE ff_advice;
SELECT is((SELECT count(*) FROM overview WHERE relation = 'closed'), 0::bigint,
	'ff_advice: a table that nothing is written to is left out');
SELECT is((SELECT count(*) FROM overview),
	(SELECT count(*) FROM ff_internal.advice() WHERE NOT ((decision).idle AND (advice).action = 'keep')),
	'all others are there');
SELECT unnest(ARRAY[is(w.phrase, v.phrase, 'a reserve that nothing uses: the phrase, ' || v.phrase),
	matches(w.reason, v.reason, 'a reserve that nothing uses: the reason, ' || v.phrase)])
  FROM ff_internal.advice('closed') a
 CROSS JOIN (VALUES (40, 'its reserve is not used',
     '^Nothing was written to it for 3 hours, and 12 MB of its 20 MB are room for updates: '
	'if that stays so, set to 100 and rewritten, it gives them back[.]'),
	(80, 'not written to', 'needs nothing[.]'),
	(100, 'mostly empty', 'Its rows need [0-9]+ kB, and it has 20 MB: VACUUM FULL or pg_repack makes it 12 MB smaller'))
	v(fillfactor, phrase, reason)
 CROSS JOIN LATERAL (SELECT jsonb_populate_record(a.evidence, jsonb_build_object('fillfactor', v.fillfactor,
	'heap_bytes', 20971520, 'blocks', 2560, 'live_rows', 2560 * ff_internal.rows_per_page(40, 100),
	'inserted_width', 100, 'updated_width', 100))) x(e)
 CROSS JOIN LATERAL (SELECT d FROM ff_internal.decide(x.e, a.fit, NULL, NULL, NULL, false) d) d
 CROSS JOIN LATERAL ff_internal.words(x.e, a.fit, d.d) w;
UPDATE ff_internal.relation SET opened_at = now(), seen_at = now() WHERE relname = 'closed';
-- a third of the rows of each page at once
SELECT story('thirds', 0, 1000, 450, 550, '{"update_group_rows": 20, "updated_pct": 100}');
SELECT story('memory', 300, 1000, 450, 550, '{"update_group_rows": 8, "updated_pct": 100}', deleted => 300,
	fetched => 6000, index_scans => 1000);
SELECT story('sheds', 0, 1000, 900, 100, '{"live_rows": 600000, "blocks": 10000}');
SELECT ff_internal.collect_fit(rel_id) FROM ff_internal.relation WHERE relname IN ('full15', 'growth', 'thirds');
SELECT is((SELECT string_agg(relation || ': ' || reason, E'\n') FROM ff_advise(),
	substring(reason, E'\nConfidence [0-9.]+ = ([^\n;]+)(?:; [0-9.]+ needed)?[.]$') shown
	WHERE cause NOT IN ('not_examined', 'no_data')
		AND (shown IS NULL OR abs(confidence - (SELECT round(exp(sum(ln(m[1]::numeric + 1e-9))), 2)
		FROM regexp_matches(shown, '[0-9]+[.][0-9]+', 'g') m)) > 0.02)), NULL,
		'the last line of each reason shows the confidence as the product of its factors');
SELECT cmp_ok((SELECT max(length(why)) FROM ff_advice), '<=', 34, 'ff_advice: short phrases');
-- a change that pays for its table may still be worth too little
SAVEPOINT worth;
SELECT array_agg(relation::oid) AS worthy FROM ff_advise() WHERE action = 'lower' \gset
SET LOCAL fillfactor_advisor.min_worth = 100;
CREATE TEMP TABLE unworthy AS SELECT * FROM ff_advise() WHERE relation = ANY (:'worthy'::oid[]);
SELECT is(array_agg(DISTINCT action), '{keep}',
	'changes that save less than min_worth of the costliest table''s WAL are not advised') FROM unworthy;
SELECT is(bool_and(reason ~ ('[.]\n[0-9]+ would save [0-9.]+ % of its cost, but that is less than 100 % of the cost of '
	'the costliest table''s updates [(]fillfactor_advisor.min_worth[)], and less than 8192 kB of disk[.]')), true, 'the reason says so') FROM unworthy;
SELECT is((SELECT array_agg(DISTINCT phrase) FROM ff_internal.advice() a
	WHERE (a.advice).relation = ANY (:'worthy'::oid[])), '{saves too little}', 'and the overview');
SET LOCAL fillfactor_advisor.min_worth = 0;
SELECT is(array_agg(relation::oid), :'worthy'::oid[], 'min_worth 0: any change is advised, in the same order')
	FROM ff_advise() WHERE action = 'lower';
ROLLBACK TO worth;
SELECT is(ff_internal.effect_words(3e9, 5e6, 50, 7200, 32, 2, 100, -3e6),
	'about 2861 MB less WAL a day (-32 %), 4883 kB more disk; 2930 kB less disk by 2 rewrites (about 100 s)',
	'the total of changes, in words');
SELECT is(ff_internal.effect_words(3e9, -5e6, 50, 3599, 32),
	'about 678 kB less WAL per 1,000 updates (-32 %), 4883 kB less disk',
	'watched for less than an hour: per 1,000 updates');
SELECT is(ff_internal.plan_total(ARRAY(SELECT jsonb_build_object('provisional', p, 'wal_saved', 3e9,
	'wal_now', 1e10, 'disk_bytes_change', -1048576, 'updates_per_s', 50, 'observed', '2 hours')
	FROM unnest(v.provisional) p))->>'words', v.said, 'totals: ' || v.said)
  FROM (VALUES ('{f,t,f}'::boolean[],
      '3 changes (1 of them provisional, which are not counted here): about 5722 MB less '
	'WAL a day (-30 %), 2048 kB less disk'),
	('{t,t}', '2 changes: about 5722 MB less WAL a day (-30 %), 2048 kB less disk')) v(provisional, said);
-- what was watched for minutes says nothing of a day
SAVEPOINT brief;
UPDATE ff_internal.counter_interval SET began_at = ended_at - interval '1 min'
 WHERE ended_at > now() - interval '20 min';
DELETE FROM ff_internal.counter_interval WHERE ended_at <= now() - interval '20 min';
UPDATE ff_internal.relation SET opened_at = now() - interval '21 min', seen_at = now() - interval '21 min';
SELECT is(ARRAY[count(*) > 0, bool_and(num_nulls(wal_bytes_per_day_saved, cpu_seconds_per_day_saved) = 2),
	bool_and(reason !~ 'a day')], '{t,t,t}', 'watched for less than an hour: nothing is given for a day')
	FROM ff_advise() WHERE gain_pct IS NOT NULL;
SELECT is(ARRAY[t->'wal_bytes_per_day_saved' = 'null', t->>'words' ~ 'WAL per 1,000 updates [(]-[0-9]+ %[)]'], '{t,t}',
	'nor in the totals') FROM CAST(ff_script_json()->'total' AS jsonb) t;
ROLLBACK TO brief;
SELECT is((SELECT count(*) FROM ff_advise() WHERE NOT needs_rewrite AND num_nonnulls(rewrite_seconds,
	rewrite_disk_bytes, rewrite_wal_bytes) > 0), 0::bigint, 'advice without a rewrite has no cost of a rewrite');
CREATE TEMP TABLE sheds_curve AS SELECT * FROM ff_internal.decision_with_curve('sheds', true);
SELECT matches(ff_internal.words_of_action(jsonb_populate_record(v.evidence, '{"blocks": 5000, "index_bytes": 0}'),
	v.fit, v.decision),
		'^[.] If nothing is done, [0-9.]+ % HOT once settled, [0-9]+ MB of WAL a day; with as many rows as '
	'now, table and indexes grow from 39 MB to [0-9]+ MB in 30 days[.] If the same rows go on being updated, it settles by itself',
	'a table that settles by itself: the reason says what happens if nothing is done')
	FROM sheds_curve v;
SELECT matches(ff_internal.words_of_action(v.evidence, v.fit,
		jsonb_populate_record(v.decision, '{"seen_cause": "row_growth"}')),
	'[.] If the same rows go on being updated, and do not get longer than now, it settles by itself',
	'the same if rows grow: it holds only if they do not grow further') FROM sheds_curve v;
DROP TABLE sheds_curve;
SELECT matches(ff_internal.words_of_action(
           NULL,
           jsonb_populate_record(NULL::ff_internal.fit, format('{"choice": {"settle_updates": %s}}', updates)::jsonb),
           jsonb_populate_record(NULL::ff_internal.decision, '{"action": "keep", "cause": "settling"}')), said || '$',
	format('a table that settles, %s updates before its end, says how far it is', updates))
  FROM (VALUES (0, 'serves all later updates'),
      (2000, '[.] After 2000 more updates nearly all that can be HOT will be')) v(updates, said);

SELECT is((ff_internal.words_of_cause(
           jsonb_populate_record(NULL::ff_internal.table_evidence,
                                 '{"window_s": 60, "counted": {"updated": 2, "inserted": 1000}}'), NULL,
           jsonb_populate_record(NULL::ff_internal.decision,
                                 '{"action": "wait", "seen_cause": "few_updates", "idle": false}'))).reason,
    '2 updates in 60 s against 1000 inserted rows: too few to matter, if that stays so for an hour',
    'a table that is inserted into waits for time, not for updates');

-- a table that waits says when the next collection comes, if the collections are regular and still run
SELECT unalike(reason, '%ext collection at%', 'too few collections: no time of the next one') FROM ff_advise('few');
INSERT INTO ff_internal.collection (epoch_id, began_at, relations, changed, track_counts, open_writers, own_inserts)
SELECT 1, now() - n * interval '1 hour', 0, 0, true, 0, 0 FROM generate_series(1, 9) n;
SELECT matches(reason, '[.]\nNext collection at ' || to_char(now() + interval '1 hour', 'YYYY-MM-DD HH24:MI')
	|| '[.]\nConfidence', 'hourly collections: the reason has the time of the next one') FROM ff_advise('few');
UPDATE ff_internal.collection SET began_at = began_at - interval '3 hours';
SELECT is(ff_internal.next_collection(), NULL, 'collections stopped: no time of the next one');
UPDATE ff_internal.collection SET began_at = began_at + interval '3 hours';
DELETE FROM ff_internal.collection WHERE began_at BETWEEN now() - interval '10 hours' AND now() - interval '1 minute';
SELECT matches(reason, 'indexed_j', 'the reason names the index that blocks HOT') FROM ff_advise('indexed');
:ask_again
SELECT is((SELECT count(*) FROM advised WHERE ddl IS NOT NULL AND action NOT IN ('lower', 'raise')), 0::bigint,
	'only lower and raise have a statement');
SELECT is((SELECT count(*) FROM advised
	WHERE reason IS NULL OR cause IS NULL OR action IS NULL OR confidence NOT BETWEEN 0 AND 1),
	0::bigint, 'every row has an action, a cause, a reason and a confidence');
SELECT is((SELECT count(*) FROM advised), (SELECT count(*) FROM ff_internal.user_table), 'one row for every table');

-- every phrase of the overview can be reached
CREATE TEMP TABLE phrases AS SELECT phrase FROM ff_internal.advice();
CREATE FUNCTION phrase(name text, changed jsonb, fitted jsonb DEFAULT '{}') RETURNS void LANGUAGE sql AS $$
    INSERT INTO phrases
    SELECT (ff_internal.words(e, f, d)).phrase
      FROM ff_internal.decide_one(name::regclass) v
     CROSS JOIN LATERAL jsonb_populate_record(v.evidence, changed) e
     CROSS JOIN LATERAL jsonb_populate_record(v.fit, jsonb_build_object('choice', to_jsonb((v.fit).choice) || fitted)) f
     CROSS JOIN LATERAL ff_internal.decide(e, f, NULL, NULL, NULL, false, ff_internal.most_costs()) d $$;
SELECT phrase(name, '{}') FROM unnest('{settled,indexed,growth,readers,sheds,insert70}'::text[]) name;
SELECT phrase('closed', '{"window_s": 90000, "heap_bytes": 20971520, "blocks": 2560, "live_rows": 100,
	"inserted_width": 100}');
SELECT phrase('full15', v.changed, v.fitted)
  FROM (VALUES ('{}'::jsonb, '{}'::jsonb), ('{"sampled_at": null, "problem": "58030 an error"}', '{}'),
      ('{"sampled_at": null}', '{}'), ('{"intervals": null, "window_s": 0}', '{}'),
      ('{"intervals": null, "counted": null, "since": null}', '{}'), ('{"blocks": 0, "counted": {"updated": 0}}', '{}'),
      ('{"inserted_width": null, "updated_width": null}', '{}'), ('{}', '{"confidence": 0}'),
      ('{}', '{"wal_bytes_now": 1}'),
      ('{}', '{"advised_step": 100, "action": "keep"}'), ('{"heap_bytes": 99000000, "blocks": 9999}',
      '{"advised_step": 100, "action": "rewrite", "gain": 1.1, "confidence": 1}'),
      ('{"recent": {"hot_updated": 0}, "hot_share": 0, "recoverable_share": 0, "blocked_share": 0}', '{}')) v(changed,
          fitted);
SAVEPOINT phrases;
DELETE FROM ff_internal.change;
DELETE FROM ff_internal.counter_interval WHERE updated = 9000000;
SELECT phrase('roomy', '{}');
UPDATE ff_internal.horizon_history SET last_seen_at = now() - interval '1 hour';
SET LOCAL fillfactor_advisor.min_worth = 100;
SELECT phrase(name, '{}') FROM unnest('{snapshot,full15}'::text[]) name;
SELECT string_agg(format('(%L)', phrase), ',') AS more FROM phrases \gset
ROLLBACK TO phrases;
INSERT INTO phrases VALUES :more;
SELECT is(string_agg(piece, ', ' ORDER BY piece), NULL, 'every phrase can be reached')
  FROM (SELECT DISTINCT btrim(replace(m[1], '%s', '')) AS piece
          FROM pg_proc p, regexp_matches(p.prosrc, 'phrase := ([^;]*);', 'g') a,
               regexp_matches(regexp_replace(a[1], '(WHEN|<>|=|IN [(]) *''\w+''(, ''\w+'')*', '', 'g'),
                   '''([^'']*[a-z]{3}[^'']*)''', 'g') m
         WHERE p.pronamespace = 'ff_internal'::regnamespace) c
 WHERE NOT EXISTS (SELECT FROM phrases o WHERE strpos(regexp_replace(o.phrase, '[0-9]+', ''), piece) > 0);

-- one reason has one voice: what no fillfactor makes HOT is lowered for nothing but a clear gain, and that is said
CREATE TEMP TABLE curves AS
	SELECT name, v.*
	  FROM unnest('{indexed,settled,full}'::text[]) name, ff_internal.decision_with_curve(name::regclass, true) v;
CREATE FUNCTION said(name text, changed jsonb, step jsonb, decided jsonb) RETURNS text LANGUAGE sql AS $$
    SELECT (ff_internal.words(jsonb_populate_record(v.evidence, changed), x,
        jsonb_populate_record(v.decision, '{"best_refused": null, "best_step": 70, "best_gain": 1.2}' || decided)))
        .reason
      FROM curves v
     CROSS JOIN LATERAL jsonb_populate_record(v.fit, jsonb_build_object('steps', ARRAY(
           SELECT to_jsonb(s) || CASE WHEN s.fillfactor < 100
               AND s.cost = (SELECT min(o.cost) FROM unnest((v.fit).steps) o WHERE o.fillfactor < 100) THEN step
                   || '{"fillfactor": 70}'
                                      WHEN s.fillfactor = 100 THEN '{"cost": 1.2, "hot_pct": 1}'
                                      ELSE '{"cost": 1.5}' END
                                          FROM unnest((v.fit).steps) s))) x
     WHERE v.name = said.name $$;
SELECT matches(said('indexed', '{}', '{"cost": 1, "hot_pct": 1, "hot_pct_low": 0, "hot_pct_high": 2}',
	'{"action": "lower", "changes": true, "step": 70, "gain": 1.2, "recommended_fillfactor": 70}'),
    '[(]indexed_j.*[)][.] No fillfactor makes them HOT; .*At 70 a page .*: 1 % HOT predicted [(]0 to 2[)] '
    'in as long as '
    'was watched, 0 % once settled, hardly more than now, but updates cost 16.7 % less',
    'lowered without a HOT gain: the reason says what that saves');
SELECT matches(said('indexed', '{}', '{"cost": 1, "hot_pct": 1}',
	'{"action": "keep", "because": "no_hot_gain", "step": 70, "gain": 1.05}'),
    '[.] 70 would save 4.8 % of its cost, but hardly any update more would be HOT: for that, less than 10 % is not '
    'clear enough[.]$',
    'kept: the reason names the step and why not, once');
SELECT matches(said('settled', '{}', '{"cost": 1, "hot_pct": 94.2}',
	'{"action": "keep", "because": "less_hot", "step": 70, "gain": 1.2}'),
    '[.] 70 would save 16.7 % of its cost, but fewer updates would be HOT: 94.2 % predicted, 99.5 % seen[.]$',
    'fewer would be HOT: the reason has both shares');
SELECT matches(said('full', '{}', '{"cost": 1, "hot_pct": 39, "settled_hot_pct": 1, "wal_bytes_per_update": 1e9}',
		jsonb_build_object('action', 'keep', 'changes', false, 'because', NULL, 'step', 90, 'current_step', 100, 'gain', 1,
			'recommended_fillfactor', 100, 'best_refused', refused)),
		'[.] The best step, 70, would save 16.7 %, but ' || why, 'the best step is named, with why not: ' || why)
  FROM (VALUES ('less_hot', 'fewer updates would be HOT: 39 % predicted, 40 % seen'),
               ('less_hot_settled', 'fewer updates would be HOT: 39 % predicted once settled, 40 % seen'),
               ('less_hot_than_kept', 'fewer updates would be HOT: 1 % once settled, [0-9.]+ % if nothing is done'),
               ('no_hot_gain', 'hardly any update more would be HOT: for that, less than 10 % is not clear enough'),
               ('any_rewrite', 'most of that is what any rewrite saves, at 100 too'),
               ('settled', 'nearly all updates are HOT already'), ('siblings', 'not over all partitions'),
               ('more_wal', 'it would write [0-9.]+ % more WAL'), ('unsure', 'that is not sure'),
               ('nearer', 'that is not clearly more than 90, which is nearer to today''s'),
               ('standing', 'that is not clearly more than 90, which was advised before'),
               ('no_better', 'that is not clearly more than 90'),
               ('min_gain', 'less than 2 % is not worth a change')) v(refused, why);
SELECT matches(said('full', '{}', '{"cost": 1.1999, "hot_pct": 80}',
	'{"action": "keep", "changes": false, "because": null, "step": 100, "current_step": 100}'),
	'[.] No other fillfactor is clearly better[.]', 'the present step is the best: nothing is said of another');
SELECT matches((ff_internal.words(v.evidence, x, jsonb_populate_record(v.decision,
		'{"action": "keep", "because": "any_rewrite", "step": 90, "current_step": 100, "gain": 1.2, "best_step": 80,
		"best_gain": 1.2245, "best_refused": "any_rewrite"}'))).reason,
	'room already[.] The best step, 80, would save 18.3 %, but most of that is what any rewrite saves, at 100 too[.]$',
	'what holds for two steps is said of the best one')
  FROM curves v
 CROSS JOIN LATERAL jsonb_populate_record(v.fit, jsonb_build_object(
		'choice', to_jsonb((v.fit).choice) || '{"rewrite_gain": 1.2}', 'steps',
		'[{"fillfactor": 100, "cost": 1.2, "hot_pct": 99}, {"fillfactor": 90, "cost": 1, "hot_pct": 100,
		"needs_rewrite": true},
		{"fillfactor": 80, "cost": 0.98, "hot_pct": 100, "needs_rewrite": true}]'::jsonb)) x
 WHERE v.name = 'settled';
SELECT is((SELECT count(*) FROM ff_advise() WHERE action = 'lower' AND predicted_hot_pct < hot_pct), 0::bigint,
	'lower never predicts a smaller HOT share');
-- curve and reason name the same best step, and why not
SELECT is(string_agg(format('%s: %s / %s', t.name, c.bar, a.reason), E'\n'), NULL,
	'the step that ff_curve() marks as the best has its reason there, and the same in ff_advise()')
  FROM unnest('{settled,indexed,full,growth,sheds,few,insertonly,insert70,readers}'::text[]) t(name)
 CROSS JOIN LATERAL ff_curve(t.name::regclass, true) c
 CROSS JOIN LATERAL ff_advise(t.name::regclass) a
 CROSS JOIN LATERAL ff_internal.advice(t.name::regclass) o
 CROSS JOIN LATERAL regexp_match(c.bar, 'best [(]-([0-9.]+ %)[)]: (.*)') m
 WHERE c.bar ~ 'best [(]' AND NOT (m[2] = o.phrase OR strpos(replace(a.reason, E'\n', ' '),
	format('The best step, %s, would save %s, but %s', c.fillfactor, m[1], m[2])) > 0) IS NOT FALSE;
SELECT story('one_row', 0, 1000, 1000, 0, '{"live_rows": 1, "blocks": 1, "rows_per_page": 1, "rows_per_page_max": 1}');
SELECT set_eq($$ SELECT fillfactor FROM ff_curve('batch') $$, $$
	SELECT c.fillfactor FROM ff_curve('batch', true) c WHERE c.is_current OR c.is_advised OR c.bar ~ 'best' OR EXISTS (
		SELECT FROM generate_series(30, 100, 10) tenth WHERE c.fillfactor >= tenth AND NOT EXISTS (
			SELECT FROM ff_curve('batch', true) o WHERE o.fillfactor >= tenth AND o.fillfactor < c.fillfactor)) $$,
	'ff_curve() shows the steps of 100, 90, ... 30, and those that matter');
SELECT is((SELECT string_agg(bar, '|') FROM ff_curve('one_row', true) WHERE bar ~ 'best'),
	'#################### current, advised, best', 'a table of one row: one step is the best');

-- a queue: empty whenever it is sampled
SELECT story(name, 1000, 1000, hot, 1000 - hot,
	'{"live_rows": 0, "blocks": 600, "inserted_width": null, "updated_width": null, "updated_hot_rows": 0, '
	'"updated_nonhot_rows": 0, "dead_rows": 90000, "recently_dead_rows": 89000}',
	deleted => 1000)
  FROM (VALUES ('queue', 999), ('queue_full', 400), ('queue_waits', 400)) v(name, hot);
INSERT INTO queue SELECT i, i FROM generate_series(1, 140000) i;
UPDATE ff_internal.page_sample SET dead_rows = 0, recently_dead_rows = 0, blocks = 0
	WHERE rel_id = (SELECT rel_id FROM ff_internal.relation WHERE relname = 'queue_full');
SELECT matches(a.action || ' ' || a.cause || ' ' || a.reason, v.said, 'a queue: ' || v.said) FROM (VALUES
    ('queue',
        'keep settled 99.9 % of recent updates were HOT: its pages have room already[.]\sIts rows need 0 bytes, and '
        'it has 4800 kB: 89000 old row versions wait for a snapshot to end'),
    ('queue_waits', 'keep old_snapshot 89000 old row versions wait for a snapshot to end'),
    ('queue_full',
        'keep page_full 60 % of recent updates left their page because it was full, but it was empty whenever it was '
        'sampled: how much room its rows need is unknown[.]\s')) v(name, said)
 CROSS JOIN LATERAL ff_advise(v.name::regclass) a;

-- bloat and TOAST are said
SELECT story('bloated', 0, 1000, 1000, 0,
	'{"live_rows": 4000, "dead_rows": 10}');
INSERT INTO bloated SELECT i, i FROM generate_series(1, 230000) i;
SELECT matches(reason,
	'[.]\sIts rows need 528 kB, and it has 8000 kB: VACUUM FULL or pg_repack makes it 7472 kB smaller, which '
	'needs no other fillfactor',
	'a table much larger than its rows: the reason says what a rewrite brings')
	FROM ff_advise('bloated');
UPDATE ff_internal.page_sample SET live_rows = 31000
	WHERE rel_id = (SELECT rel_id FROM ff_internal.relation WHERE relname = 'bloated');
SELECT unalike(reason, '%Its rows need%', 'less than twice: nothing is said') FROM ff_advise('bloated');
-- a rewrite at the same fillfactor is advised like any change: reason, figures, overview and script agree
SELECT story('emptied', 0, 1000, 1000, 0, '{"live_rows": 4000, "dead_rows": 10, "blocks": 1200}');
INSERT INTO emptied SELECT i, i FROM generate_series(1, 290000) i;
SELECT ff_internal.collect_fit(rel_id) FROM ff_internal.relation WHERE relname = 'emptied';
SAVEPOINT plain;
UPDATE ff_internal.fit SET choice.action = 'rewrite', choice.advised_step = (choice).current_step, choice.gain = 1.25,
	choice.rewrite_hot_pct = 99.5, choice.confidence = 0.9
 WHERE rel_id = (SELECT rel_id FROM ff_internal.relation WHERE relname = 'emptied');
:ask_again
SELECT is(ROW (action, fillfactor, recommended_fillfactor, gain_pct, predicted_hot_pct, predicted_size_bytes,
	needs_rewrite, wal_bytes_per_day_saved, disk_bytes_change, ddl)::text,
	ROW ('keep', 100, 100, 20, 99.5, 66 * 8192, true, NULL, 66 * 8192 - size_bytes, NULL)::text,
	'a plain rewrite: its figures') FROM advised WHERE relation = 'emptied'::regclass;
SELECT matches(reason,
	'[.]\nIts rows need 528 kB, and it has 9600 kB: a rewrite at the same fillfactor makes it 9072 kB '
	'smaller, and it would pay for itself[.]\nRewriting it takes ', 'and its reason')
	FROM advised WHERE relation = 'emptied'::regclass;
SELECT is((SELECT bool_and(rewrite_seconds >= 0 AND rewrite_disk_bytes > 0 AND rewrite_wal_bytes > 0)
	FROM advised WHERE needs_rewrite), true, 'advice to rewrite has time, disk and WAL of the rewrite');
SELECT matches(reason, 'Rewriting it takes about a second, .* of disk and .* of WAL[.]',
	'the reason says what the rewrite takes') FROM advised WHERE needs_rewrite LIMIT 1;
SELECT is(action || ' ' || saves || ' ' || why, 'keep 9744 kB disk a plain rewrite pays', 'the overview')
	FROM ff_advice WHERE relation = 'emptied';
SELECT is(array_agg(ROW (c->>'statement', c->'rewrite'->>'wanted', c->'rewrite'->>'method')::text),
	ARRAY[CASE WHEN current_setting('server_version_num')::integer < 190000 THEN '(,true,"VACUUM FULL")'
		ELSE '(,true,"REPACK (CONCURRENTLY)")' END], 'the plan of the script')
	FROM jsonb_array_elements(ff_script_json()->'changes') c WHERE c->>'relation' = 'public.emptied';
SELECT is(count(*) FILTER (WHERE l ~ '^-- 1 of 1: public.emptied, rewrite at fillfactor 100; ') || ' '
	|| count(*) FILTER (WHERE l
		~ '^(VACUUM [(]FULL, ANALYZE|REPACK [(]CONCURRENTLY)[)] public.emptied'),
	'1 1',
	'the script rewrites it') FROM ff_script('emptied', rewrite => true) l;
SELECT is((ff_script_json()->'total'->>'changes')::bigint, (SELECT count(*) FROM ff_advise() WHERE gain_pct IS NOT NULL)
	+ (SELECT count(*) FROM ff_advise_indexes() WHERE size_bytes - predicted_size_bytes >= 8388608),
		'and counts it, as ff_advise() does');
SELECT ok(ff_report(0) ~ ('data-k="change"><th scope="row"><a href="#t'
	|| 'emptied'::regclass::oid), 'the report has it among the changes');
SELECT ff_dismiss('emptied', 'no');
SELECT matches(reason, '^Dismissed .*\nOtherwise a rewrite would be advised[.]', 'it can be dismissed')
	FROM ff_advise() WHERE relation = 'emptied'::regclass;
ROLLBACK TO plain;
SELECT story('fat', 0, 1000, 1000, 0);
ALTER TABLE fat ADD t text;
ALTER TABLE fat ALTER t SET STORAGE EXTERNAL;
INSERT INTO fat SELECT i, i, repeat('x', 20000) FROM generate_series(1, 20) i;
SELECT unalike(reason, '%are TOAST%', 'counters of TOAST not known yet: nothing is said') FROM ff_advise('fat');

-- excluded, and included again
SELECT matches(ff_exclude('public.se?tled*'),
	'^public[.]se[?]tled[*] leaves out 2 tables: public[.]settled[^ ]*, public[.]settled[^ ]*$',
	'ff_exclude() lists the tables that its pattern matches');
:ask_again
SELECT is((SELECT array_agg(format('%s %s %s', relation, cause, reason ~ '[Ee]xcluded by public.se.tled')
	ORDER BY relation::text)
	FROM advised WHERE relation::text ~ '^settled'),
          ARRAY['settled not_examined t', 'settled15 not_examined t'],
          'the reason of an excluded table names the pattern');
SELECT is((SELECT count(*) FROM advised WHERE reason ~ '[Ee]xcluded'), 2::bigint, 'no other table is excluded');
SELECT throws_ok('SELECT ff_include(''public.se?tled'')', '42704', 'not excluded: ''public.se?tled''',
	'ff_include() of another pattern is an error');
SELECT matches(ff_include('public.se?tled*'), ' no longer leaves out 2 tables: ',
	'ff_include() of the same pattern lists the tables');
SELECT is((SELECT cause FROM ff_advise('settled')), 'settled', 'an included table is advised as before');
SELECT throws_ok('SELECT ff_exclude(''jobs'')', '22023', NULL, 'ff_exclude(): a pattern without a schema is an error');
SELECT throws_ok('SELECT ff_exclude(NULL)', '22023', NULL, 'ff_exclude(): NULL is an error');
-- in a pattern, only * and ? are special
SAVEPOINT patterns;
SELECT format('CREATE TABLE %I (i int)', name)
	FROM unnest(ARRAY['a%b', 'a_b', 'axb', 'a''b', 'a"b', 'a\b', 'a.b', 'a[x]b', 'a(x|y)b', 'A+b', E'a\nb']) name \gexec
SELECT is(ff_exclude(pattern), pattern || ' leaves out ' || tables,
	format('ff_exclude(): tables that %s matches', pattern))
  FROM (VALUES ('public.a%b', '1 table: public.a%b'), ('public.a_b', '1 table: public.a_b'),
      ('public.a''b', '1 table: public.a''b'), ('public.a"b', '1 table: public.a"b'),
               ('public.a\b', '1 table: public.a\b'), ('public.a.b', '1 table: public.a.b'),
               ('public.a[x]b', '1 table: public.a[x]b'), ('public.a(x|y)b', '1 table: public.a(x|y)b'),
               ('public.a+b', '0 tables'), ('public."a_b"', '0 tables'), ('nowhere.*', '0 tables'),
               ('public.a?b',
                   '8 tables: public.a"b, public.a%b, public.a''b, public.a.b, public.a?b, ...')) v(pattern, tables);
SELECT is((SELECT count(*) FROM ff_internal.excluded), 12::bigint, 'each pattern is kept');
SELECT is((SELECT count(*) FROM ff_advise() WHERE reason ~ '[Ee]xcluded'), 10::bigint,
	'a table that several patterns match has one row');
SELECT is(ff_exclude('*.*'),
	format('*.* leaves out %s tables: ', (SELECT count(*) FROM ff_internal.user_table))
		|| (SELECT string_agg(name, ', ')
			FROM (SELECT ff_internal.plain(nspname || '.' || relname)
				FROM ff_internal.user_table ORDER BY 1 LIMIT 5) n(name))
		|| ', ...',
	'the pattern *.* matches all tables, and five are listed');
SELECT is((SELECT count(*) FROM ff_advise() WHERE cause <> 'not_examined'), 0::bigint, 'with *.* no table is examined');
ROLLBACK TO patterns;

-- what a collection fitted is used as it is while nothing changed
SELECT is(ff_internal.collect_fit(rel_id), 1::bigint, 'collect_fit() fits a table')
	FROM ff_internal.relation WHERE relname IN ('full15', 'growth');
:ask_again
SELECT is((SELECT array_agg(format('%s %s', relation, action) ORDER BY relation::text COLLATE "C")
	FROM advised WHERE relation::text ~ '^(full15|growth|partly)$'),
          ARRAY['full15 lower', 'growth lower', 'partly wait'],
          'advice on all tables uses the model only for fitted ones');
SELECT matches((SELECT reason FROM advised WHERE relation = 'partly'::regclass), 'No prediction was made yet',
	'the reason of a table without a fit says so');
UPDATE ff_internal.counter_interval SET updated = updated + 1
	WHERE rel_id = (SELECT rel_id FROM ff_internal.relation WHERE relname = 'full15');
SELECT is((SELECT action FROM ff_advise() WHERE relation = 'full15'::regclass), 'lower',
	'an older fit is used after more updates');
ALTER INDEX full15_j RENAME TO full_i;
SELECT is((SELECT action FROM ff_advise() WHERE relation = 'full15'::regclass), 'lower',
	'a fit is used after an index was renamed');
-- fit_of_another(WHAT, COMMAND): COMMAND makes the fit unusable; advice on this table alone makes a new one
CREATE FUNCTION fit_of_another(what text, command text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE command;
    RETURN NEXT is(action || (reason ~ 'No prediction was made yet'), 'waittrue',
        what || ' is not used, and the reason says so')
      FROM ff_advise() WHERE relation = 'full15'::regclass;
    RETURN NEXT is(action, 'lower', what || ': advice on the table alone makes a new fit') FROM ff_advise('full15');
END $$;
SAVEPOINT another;
SELECT fit_of_another('a fit of another model version',
	'CREATE OR REPLACE FUNCTION ff_internal.model_version() RETURNS integer LANGUAGE sql RETURN 0');
ROLLBACK TO another;
SELECT fit_of_another('a fit of the table''s old file',
	'ALTER TABLE full15 ALTER i TYPE bigint; UPDATE ff_internal.relation r SET relfilenode = c.relfilenode '
	'FROM pg_class c WHERE c.oid = r.relid');
ROLLBACK TO another;
SELECT fit_of_another('a fit from another server', '
	CREATE OR REPLACE FUNCTION ff_internal.own_server(
		OUT system_identifier bigint, OUT timeline bigint, OUT database_oid oid)
	LANGUAGE sql STABLE RETURN (1::bigint, 1::bigint,
		(SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database()));
	UPDATE ff_internal.relation SET system_identifier = 1;
	UPDATE ff_internal.epoch SET system_identifier = 1, timeline = 1');
ROLLBACK TO another;
SELECT fit_of_another('a fit made before an index was dropped', 'DROP INDEX full_i');
ROLLBACK TO another;

SAVEPOINT fitted;
-- lowering min_updates makes a stored fit outdated
SELECT ff_internal.fit_made_with() AS made_with \gset
SET LOCAL fillfactor_advisor.min_updates = 100;
SELECT isnt(ff_internal.fit_made_with(), :'made_with', 'another min_updates: the fit is outdated');
ROLLBACK TO fitted;
-- the hash of the evidence is the same in every session
CREATE TEMP TABLE hashed AS
	SELECT ff_internal.evidence_hash(e) || ff_internal.fit_made_with() AS hash
	FROM ff_internal.evidence('growth') e;
SET LOCAL TimeZone = 'Asia/Tokyo';
SELECT is(ff_internal.evidence_hash(e) || ff_internal.fit_made_with(), hash,
	'the evidence has the same hash in another time zone')
	FROM ff_internal.evidence('growth') e, hashed;
SET LOCAL DateStyle = 'German';
SET LOCAL extra_float_digits = -5;
SET LOCAL IntervalStyle = 'iso_8601';
SELECT is(ff_internal.evidence_hash(e) || ff_internal.fit_made_with(), hash,
	'the evidence has the same hash with other formats')
	FROM ff_internal.evidence('growth') e, hashed;
ROLLBACK TO fitted;

-- a choice is kept until the evidence against it is clear
CREATE FUNCTION chosen_last(f int) RETURNS void LANGUAGE sql AS $$
	UPDATE ff_internal.fit SET choice.advised_step = f, to_fillfactor = f, evidence_hash = ''
		WHERE rel_id = (SELECT rel_id FROM ff_internal.relation WHERE relname = 'growth') $$;
SELECT (choice).advised_step AS stands,
	(SELECT min(s.fillfactor) FROM unnest(steps) s WHERE s.fillfactor > to_fillfactor) AS beside,
	(SELECT s.fillfactor FROM unnest(steps) s ORDER BY s.cost DESC LIMIT 1) AS worst
  FROM ff_internal.fit JOIN ff_internal.relation USING (rel_id) WHERE relname = 'growth' \gset
SELECT chosen_last(:beside);
SELECT is((SELECT recommended_fillfactor FROM ff_advise('growth')), :beside,
	'an earlier choice next to the best step is kept');
SET LOCAL fillfactor_advisor.min_updates = 101;
SELECT is((SELECT recommended_fillfactor FROM ff_advise('growth')), :stands,
	'not one that was made with other settings');
RESET fillfactor_advisor.min_updates;
SELECT chosen_last(:worst);
SELECT is((SELECT recommended_fillfactor FROM ff_advise('growth')), :stands,
	'an earlier choice that is clearly worse is replaced');

-- confidence too low, because of the fit or because too little was seen
SET LOCAL fillfactor_advisor.min_confidence = 1;
SELECT unnest(ARRAY[is(action, 'wait', 'needed confidence 1: waits'),
	matches(reason, 'may be better, but a confidence of 1 is needed, and it is 0[.]',
		'needed confidence 1: the reason gives both numbers')])
	FROM ff_advise('batch');
SET LOCAL fillfactor_advisor.min_updates = 1000000000;
SELECT unalike(reason, '%a confidence of%', 'too few updates: the reason is that, not the confidence')
	FROM ff_advise('batch');
RESET fillfactor_advisor.min_updates;
RESET fillfactor_advisor.min_confidence;

-- the same table, within memory, as large as memory, and ten times as large
CREATE TEMP TABLE by_memory AS
SELECT v.ratio, d.recommended_fillfactor, d.gain
  FROM (VALUES (0.1), (1), (10)) v(ratio)
 CROSS JOIN LATERAL ff_internal.evidence('memory') e
 CROSS JOIN LATERAL jsonb_populate_record(e,
     jsonb_build_object('index_bytes', 4096000, 'ram_bytes', (12288000 / v.ratio)::bigint, 'ram_ratio', v.ratio)) x
 CROSS JOIN LATERAL json_to_record(ff_internal.model(ff_internal.model_input(x), false))
     m(choice ff_internal.choice, steps ff_internal.step[])
 CROSS JOIN LATERAL jsonb_populate_record(NULL::ff_internal.fit, to_jsonb(m)) f
 CROSS JOIN LATERAL ff_internal.decide(x, f, NULL, NULL, NULL, false) d;
SELECT cmp_ok(b.recommended_fillfactor, '>', a.recommended_fillfactor,
	'a table as large as memory gets less room than a small one')
	FROM by_memory a, by_memory b WHERE a.ratio = 0.1 AND b.ratio = 1;
SELECT cmp_ok(b.recommended_fillfactor, '<', a.recommended_fillfactor,
	'ten times memory: more room than a table as large as memory')
	FROM by_memory a, by_memory b WHERE a.ratio = 1 AND b.ratio = 10;
SELECT cmp_ok(b.gain, '>', a.gain, 'ten times memory: room saves more than in a small table')
	FROM by_memory a, by_memory b WHERE a.ratio = 0.1 AND b.ratio = 10;
-- a table that was made as a collection began has an interval without length
UPDATE ff_internal.collection SET busy_ms = coalesce(busy_ms, 0);
INSERT INTO ff_internal.counter_interval
SELECT n.* FROM (SELECT * FROM ff_internal.counter_interval o WHERE o.updated > 0 ORDER BY o.ended_at DESC LIMIT 1) i,
       (SELECT max(o.began_at) AS began_at FROM ff_internal.collection o) c,
       (SELECT o.rel_id FROM ff_internal.relation o WHERE o.relname = 'growth' UNION ALL SELECT 1000000) r,
       jsonb_populate_record(NULL::ff_internal.counter_interval, to_jsonb(i)
           || jsonb_build_object('rel_id', r.rel_id, 'began_at', c.began_at, 'ended_at', c.began_at)) n;
SELECT isnt((SELECT action FROM ff_advise('growth')), NULL, 'it is advised nevertheless');
SELECT is(ff_internal.history_picture(1000000), NULL, 'such an interval alone is no history to draw');
-- which tables are due: 10,000 stored fits are not 10,000 hashes of the settings
SET LOCAL track_functions = 'all';
CREATE FUNCTION hashed() RETURNS bigint LANGUAGE sql VOLATILE AS $$
	SELECT coalesce(pg_stat_get_xact_function_calls('ff_internal.fit_made_with()'::regprocedure), 0) $$;
SELECT hashed() AS before, max(collection_id) AS id FROM ff_internal.collection \gset
SELECT count(*) FROM ff_internal.fits_due(:id) \g /dev/null
SELECT is((SELECT count(*) > 1 FROM ff_internal.fit)::text || ' ' || (hashed() - :before), 'true 1',
	'settings are hashed once a collection, not once a fit');
DELETE FROM ff_internal.fit USING ff_internal.relation r WHERE r.rel_id = fit.rel_id AND r.relname ^@ 'insert';
SELECT is(string_agg(r.relname, ' '), 'insert70',
	'a table that is only inserted into is fitted if its fillfactor leaves room')
	FROM ff_internal.fits_due(:id) d JOIN ff_internal.relation r ON r.rel_id = d WHERE r.relname ^@ 'insert';
SELECT is(read_us, NULL, 'without track_io_timing the time of a page read is unknown') FROM ff_internal.io_speed();
SELECT * FROM finish();
ROLLBACK;
