-- ff_dismiss(): a declined change is shown, but counts nowhere, until it expires, is taken back or is worth much more.
BEGIN;
CREATE EXTENSION fillfactor_advisor;
SET LOCAL client_min_messages = warning;
SELECT * FROM no_plan();

\ir ../queries/stories.sql
CREATE TABLE uncollected (i int);
SELECT rel_id AS id, fillfactor AS now FROM ff_internal.relation WHERE relname = 'batch' \gset
SELECT ff_internal.collect_fit(:id);
SELECT recommended_fillfactor AS new, wal_bytes_per_day_saved AS saved, gain_pct AS gain FROM ff_advise('batch') \gset
CREATE FUNCTION hint_of(command text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE hint text;
BEGIN
    EXECUTE command;
    RETURN NULL;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
    RETURN hint;
END $$;

-- refused
SELECT throws_ok($$ SELECT ff_dismiss(NULL, 'x') $$, '22004', 'relation must not be null', 'NULL is no table');
SELECT throws_ok($$ SELECT ff_dismiss('uncollected', 'x') $$, '55000', 'table public.uncollected was not collected yet',
    'a table without history');
SELECT is(hint_of($$ SELECT ff_dismiss('uncollected', 'x') $$), 'Run CALL ff_collect().', 'and what to do about it');
SELECT throws_ok($$ SELECT ff_dismiss('pg_class', 'x') $$, '42809', NULL, 'a catalog');
SELECT throws_ok($$ SELECT ff_dismiss('batch', ' ') $$, '22023', 'invalid dismissal', 'no reason');
SELECT throws_ok($$ SELECT ff_dismiss('batch', 'x', now()) $$, '22023', 'invalid dismissal',
    'it must end in the future');
SELECT throws_ok($$ SELECT ff_dismiss('batch', 'x', NULL) $$, '22023', 'invalid dismissal',
    'it must end some time or never');
SELECT throws_ok($$ SELECT ff_dismiss('batch', NULL) $$, '42704', 'the advice for public.batch is not dismissed',
    'nothing to take back');

-- advice without a prediction, as for a table that is only inserted into
SAVEPOINT raised;
SELECT rel_id AS raised FROM ff_internal.relation WHERE relname = 'insert70' \gset
SELECT ff_internal.collect_fit(:raised);
SELECT is(advised_fillfactor > 70, true, 'a raise is advised, and monitoring knows') FROM ff_metrics
 WHERE relname = 'insert70';
SELECT is(ff_dismiss('insert70', 'as it was made'), 'advice for public.insert70 is dismissed', 'it is dismissed');
SELECT is(advised_fillfactor, NULL, 'then monitoring counts no change') FROM ff_metrics
 WHERE relname = 'insert70';
SELECT ff_internal.collect_fit(:raised);
SELECT ff_internal.collect_fit(:raised);
SELECT is(count(*), 1::bigint, 'and it stays dismissed with later collections') FROM ff_internal.dismissal
 WHERE rel_id = :raised;
ROLLBACK TO raised;

-- dismissed
SAVEPOINT dismissed;
SELECT is(action, 'lower', 'a change is advised') FROM ff_advise('batch');
SELECT is(ff_dismiss('batch', E'too <b>small</b>\n for us.'), 'advice for public.batch is dismissed',
    'it is dismissed');
SELECT is((action, recommended_fillfactor, gain_pct, wal_bytes_per_day_saved, disk_bytes_change, ddl, needs_rewrite,
    rewrite_seconds)::text,
    ('keep', :now, NULL::real, NULL::bigint, NULL::bigint, NULL::text, false, NULL::float8)::text,
    'it is kept, and nothing is saved')
  FROM ff_advise('batch');
SELECT matches(reason,
    format('^Dismissed %s by %s: too <b>small</b>[?] for us[.]\nOtherwise fillfactor %s would be advised[.]\n[A-Z]',
        to_char(now(), 'YYYY-MM-DD'), current_user, :new),
               'the reason says who declined what') FROM ff_advise('batch');
SELECT is(action || ': ' || why, 'keep: dismissed, see ff_advise()', 'the overview has it')
    FROM ff_advice WHERE relation = 'batch';
SELECT is_empty($$
    SELECT FROM jsonb_array_elements(ff_script_json()->'changes') c
    WHERE c->>'relation' = 'public.batch' $$,
    'the script leaves it out');
SELECT is((SELECT string_agg(a->>'action', '')
    FROM jsonb_array_elements(ff_export()->'advice') a
    WHERE a->>'relation' = 'public.batch'),
    'keep', 'a hub sees that it is kept');
SELECT doesnt_match(ff_report(0), 'ALTER TABLE public.batch', 'the report has no statement');
SELECT matches(ff_report(0), 'too &lt;b&gt;small&lt;/b&gt;', 'the report has the reason, escaped');
SELECT is(ff_internal.collect_fit(:id), 1::bigint, 'collections go on');
SELECT is(action || to_fillfactor, 'lower' || :new, 'and keep what would be advised')
    FROM ff_internal.fit WHERE rel_id = :id;
ALTER TABLE batch RENAME TO renamed;
SELECT matches(reason, '^Dismissed ', 'a renamed table stays dismissed') FROM ff_advise('renamed');
ALTER TABLE renamed RENAME TO batch;

-- until it saves three times as much as the next collection saw
SELECT is(wal_bytes BETWEEN 0.999 * :saved AND 1.001 * :saved, true, 'what the change saved then is kept')
	FROM ff_internal.dismissal;
CREATE FUNCTION stands(than text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE 'UPDATE ff_internal.dismissal SET wal_bytes = ' || than;
    RETURN action = 'keep' FROM ff_advise() WHERE relation = 'batch'::regclass;
END $$;
SELECT is(stands(:saved::bigint || ' / 3 + 1'), true, 'dismissed while it saves three times as much');
SELECT is(stands(:saved::bigint || ' / 3 - 1'), false, 'more brings it back');
SELECT is(stands('NULL'), true, 'dismissed before any change was advised');
SELECT ff_internal.collect_fit(:id);
SELECT is(wal_bytes BETWEEN 0.99 * :saved AND 1.01 * :saved, true,
    'the first collection that advises a change tells its worth')
    FROM ff_internal.dismissal;
SELECT is((SELECT string_agg(substr(bar, 22), '|' ORDER BY fillfactor DESC) FROM ff_curve('batch', true)
	WHERE bar ~ '[a-z]'),
    'current, advised|best (-' || :'gain' || ' %), dismissed',
        'the curve marks what was dismissed, and why it is not advised');
SELECT is(stands('-1'), false, 'a change that saves more than 3 MB a day is advised again');
SELECT stands(:'saved');
UPDATE ff_internal.fit SET choice.wal_bytes_now = (choice).wal_bytes_now + 1000000;
SELECT is(action, 'lower', 'advised again once it saves much more') FROM ff_advise() WHERE relation = 'batch'::regclass;
ROLLBACK TO dismissed;

-- expired, and taken back
SELECT is(ff_dismiss('batch', 'later', '2999-12-31 12:00'),
    'advice for public.batch is dismissed until 2999-12-31 12:00', 'dismissed for a time');
SELECT matches(reason, '^Dismissed [-0-9]+ by [^ ]+ until 2999-12-31: later[.]\n', 'the reason says how long')
    FROM ff_advise('batch');
SELECT is(ff_dismiss('batch', 'never'), 'advice for public.batch is dismissed', 'dismissed again: the last one counts');
SELECT matches(reason, '^Dismissed [-0-9]+ by [^ ]+: never[.]\n', 'with its reason') FROM ff_advise('batch');
UPDATE ff_internal.dismissal SET until = now();
SELECT is(action, 'lower', 'an expired dismissal does not count') FROM ff_advise('batch');
SELECT ff_dismiss('batch', 'never');
SELECT is(ff_dismiss('batch', NULL), 'advice for public.batch counts again', 'it is taken back');
SELECT is(action, 'lower', 'and advised again') FROM ff_advise('batch');
SELECT is_empty('SELECT FROM ff_internal.dismissal', 'nothing is left of it');

-- a parent stands for its partitions
SAVEPOINT parted;
CREATE TABLE parted (i int, j int) PARTITION BY RANGE (i);
SELECT throws_ok($$ SELECT ff_dismiss('parted', 'x') $$, '55000', 'table public.parted was not collected yet',
    'a parent without partitions');
ALTER TABLE parted ATTACH PARTITION batch FOR VALUES FROM (0) TO (1);
ALTER TABLE parted ATTACH PARTITION growth FOR VALUES FROM (1) TO (2);
SELECT is(ff_dismiss('parted', 'as a whole'), 'advice for public.parted (2 tables) is dismissed',
	'a parent is dismissed');
SELECT is((SELECT string_agg(format('%s %s', relation, reason ~ '^Dismissed .*: as a whole'), ', '
	ORDER BY relation::text)
    FROM ff_advise() WHERE relation IN ('batch'::regclass, 'growth'::regclass)), 'batch t, growth f',
    'its partitions are, those without advice to change keep their reason');
SELECT is(count(*), 2::bigint, 'both are remembered') FROM ff_internal.dismissal;
-- a partition made later is, too, from its first fit on
SAVEPOINT later;
UPDATE ff_internal.dismissal SET dismissed_at = now() - interval '1 day';
UPDATE ff_internal.relation SET opened_at = now() WHERE relname = 'growth';
DELETE FROM ff_internal.dismissal d USING ff_internal.relation r WHERE r.rel_id = d.rel_id AND r.relname = 'growth';
CREATE FUNCTION later() RETURNS bigint LANGUAGE sql AS $$
    SELECT ff_internal.collect_fit(r.rel_id) FROM ff_internal.relation r WHERE r.relname = 'growth';
    SELECT count(*) FROM ff_internal.dismissal d JOIN ff_internal.relation r USING (rel_id)
     WHERE r.relname = 'growth' AND d.reason = 'as a whole' $$;
SELECT is(later(), 1::bigint, 'one that is new');
SELECT matches(details, '^with public.parted, by .*: as a whole$', 'ff_changes() has it')
    FROM ff_changes() WHERE relation = 'public.growth' AND what = 'dismissed' ORDER BY at DESC LIMIT 1;
SELECT is(ff_dismiss('growth', NULL), 'advice for public.growth counts again', 'that is taken back');
SELECT is(later(), 0::bigint, 'not one that was fitted before: somebody took it back');
DELETE FROM ff_internal.fit;
SELECT is(later(), 0::bigint, 'nor after a restore, which brings no fits');
DELETE FROM ff_internal.fit;
DELETE FROM ff_internal.advice_event;
SELECT is(later(), 1::bigint, 'only the history tells');
UPDATE ff_internal.dismissal SET wal_bytes = 1;
SELECT is(ff_internal.keep_dismissal(rel_id, false, true, 1e12, NULL), false, 'or the change saves much more')
    FROM ff_internal.relation WHERE relname = 'growth';
DELETE FROM ff_internal.fit;
SELECT is(later(), 0::bigint, 'then neither after a restore');
DELETE FROM ff_internal.fit;
DELETE FROM ff_internal.advice_event;
UPDATE ff_internal.dismissal SET (parent, parent_relid, epoch_id) = (NULL, NULL, NULL);
SELECT is(later(), 0::bigint, 'not if only its sibling was dismissed');
ROLLBACK TO later;
-- that follows the parent, not its name
SAVEPOINT moved;
SELECT rel_id AS growth FROM ff_internal.relation WHERE relname = 'growth' \gset
UPDATE ff_internal.dismissal SET dismissed_at = now() - interval '1 day';
UPDATE ff_internal.relation SET opened_at = now() WHERE rel_id = :growth;
CREATE FUNCTION as_new(id bigint) RETURNS boolean LANGUAGE sql AS $$
    DELETE FROM ff_internal.dismissal WHERE rel_id = id;
    SELECT ff_internal.keep_dismissal(id, true, false, NULL, NULL) $$;
ALTER TABLE parted RENAME TO "The whole";
SELECT is(as_new(:growth), true, 'a later partition of a renamed parent, too');
SELECT ff_internal.fits_due(0);
SELECT results_eq('SELECT DISTINCT parent FROM ff_internal.dismissal', $$ VALUES ('public."The whole"') $$,
    'a collection learns its new name');
CREATE TABLE parted (i int, j int) PARTITION BY RANGE (i);
ALTER TABLE "The whole" DETACH PARTITION growth;
ALTER TABLE parted ATTACH PARTITION growth FOR VALUES FROM (1) TO (2);
SELECT is(as_new(:growth), false, 'none of another parent that has its name of before');
SELECT throws_ok($$ SELECT ff_dismiss('parted', NULL) $$, '42704', 'the advice for public.parted is not dismissed',
    'which was not dismissed');
-- a restore gives it another OID, and its own to another one
SAVEPOINT restored;
UPDATE ff_internal.epoch SET system_identifier = 1;
UPDATE ff_internal.relation SET system_identifier = 1;
UPDATE ff_internal.dismissal SET parent_relid = 'parted'::regclass;
SELECT throws_ok($$ SELECT ff_dismiss('parted', NULL) $$, '55000', 'table public.parted was not collected yet',
    'before a collection after a restore, OIDs are not believed');
SELECT ff_internal.collect_begin(now());
SELECT throws_ok($$ SELECT ff_dismiss('parted', NULL) $$, '42704', 'the advice for public.parted is not dismissed',
    'nor once only the tables are matched');
SELECT ff_internal.current_epoch(now(), true);
SELECT ff_internal.fits_due(0);
SELECT is(as_new(:growth), false, 'nor after it');
ALTER TABLE parted DETACH PARTITION growth;
ALTER TABLE "The whole" ATTACH PARTITION growth FOR VALUES FROM (1) TO (2);
SELECT is(as_new(:growth), true, 'the parent is found by its name');
ALTER TABLE "The whole" DETACH PARTITION growth;
SELECT is(ff_dismiss('"The whole"', NULL), 'advice for public."The whole" (2 tables) counts again',
    'and taken back of all, one detached since, too');
ROLLBACK TO restored;
-- a collector needs no rights on its schema
CREATE SCHEMA regress_closed;
ALTER TABLE "The whole" SET SCHEMA regress_closed;
ALTER TABLE parted DETACH PARTITION growth;
ALTER TABLE regress_closed."The whole" ATTACH PARTITION growth FOR VALUES FROM (1) TO (2);
CREATE ROLE regress_ff_declining;
SELECT ff_grant('regress_ff_declining', 'collector');
SET LOCAL ROLE regress_ff_declining;
SELECT ff_internal.fits_due(0);
DELETE FROM ff_internal.dismissal WHERE rel_id = :growth;
SELECT ff_internal.keep_dismissal(:growth, true, false, NULL, NULL) AS stands \gset
RESET ROLE;
SELECT is(:'stands'::boolean, true, 'a collector needs no rights on the schema of the parent');
SELECT matches(details, '^with regress_closed."The whole", by ', 'whose name it knows')
    FROM ff_changes() WHERE relation = 'public.growth' AND what = 'dismissed' ORDER BY at DESC LIMIT 1;
-- a later table may get the OID of one that was dropped
ALTER TABLE regress_closed."The whole" DETACH PARTITION growth;
ALTER TABLE regress_closed."The whole" DETACH PARTITION batch;
DROP TABLE regress_closed."The whole";
SELECT ff_internal.fits_due(0);
SELECT is((count(*), count(parent_relid)), (2::bigint, 0::bigint),
    'if the parent is dropped, its tables stay dismissed, and no later ones are') FROM ff_internal.dismissal;
ROLLBACK TO moved;
-- and one of another parent below
SAVEPOINT below;
SELECT rel_id AS growth FROM ff_internal.relation WHERE relname = 'growth' \gset
CREATE TABLE top (i int, j int) PARTITION BY RANGE (i);
CREATE TABLE "Other 1" PARTITION OF top FOR VALUES FROM (2) TO (3) PARTITION BY RANGE (i);
ALTER TABLE parted DETACH PARTITION growth;
ALTER TABLE top ATTACH PARTITION parted FOR VALUES FROM (0) TO (2);
SELECT is(ff_dismiss('top', 'as a whole'), 'advice for public.top is dismissed', 'the parent of a parent');
UPDATE growth SET i = 2;
ALTER TABLE "Other 1" ATTACH PARTITION growth FOR VALUES FROM (2) TO (3);
UPDATE ff_internal.relation SET opened_at = now() + interval '1 second' WHERE rel_id = :growth;
DELETE FROM ff_internal.dismissal WHERE rel_id = :growth;
SELECT is(ff_internal.keep_dismissal(:growth, true, false, NULL, NULL), true,
	'its later partitions, too, at any level');
UPDATE ff_internal.dismissal SET parent_relid = 'parted'::regclass;
DELETE FROM ff_internal.dismissal WHERE rel_id = :growth;
SELECT is(ff_internal.keep_dismissal(:growth, true, false, NULL, NULL), false, 'but none of another branch');
ROLLBACK TO below;
SELECT is(ff_dismiss('batch', NULL), 'advice for public.batch counts again', 'one of them is taken back');
SELECT is(ff_dismiss('parted', NULL), 'advice for public.parted counts again', 'and the other');
SELECT ff_dismiss('parted', 'as a whole');
ALTER TABLE parted DETACH PARTITION growth;
SELECT is(ff_dismiss('parted', NULL), 'advice for public.parted (2 tables) counts again',
	'and all, one detached since, too');
ALTER TABLE parted ATTACH PARTITION growth FOR VALUES FROM (1) TO (2);
SELECT throws_ok($$ SELECT ff_dismiss('parted', NULL) $$, '42704', 'the advice for public.parted is not dismissed',
    'none is left');
ROLLBACK TO parted;

-- old history goes, but not what is still in force
SELECT ff_dismiss('batch', 'kept');
INSERT INTO ff_internal.dismissal VALUES (-1, now(), 'nobody', 'table is gone', 'infinity', NULL, NULL);
DELETE FROM ff_internal.advice_event;
INSERT INTO ff_internal.advice_event SELECT i, now() - age, what, age::text
  FROM (VALUES (:id, interval '100 days', 'advised'), (:id, '1 day', 'moved'), (:id, '300 days', 'blocked'),
      (:id, '200 days', 'unblocked'), (-1, '200 days', 'blocked'), (:id, '400 days', 'taken back'),
      (:id, '250 days', 'taken back'), (-1, '250 days', 'taken back')) v(i, age, what);
SELECT ff_internal.prune(1000);
SELECT results_eq('SELECT details FROM ff_internal.advice_event ORDER BY seen_at',
    $$ VALUES ('300 days'), ('250 days'), ('200 days'), ('1 day') $$,
    'old lines go, but the last ones on indexes, and that a dismissal was taken back');
SELECT results_eq('SELECT reason FROM ff_internal.dismissal', $$ VALUES ('kept') $$,
    'dismissals of tables that are gone go');
SELECT set_eq($$
    SELECT c.relname::text FROM pg_extension e, unnest(e.extconfig) t
    JOIN pg_class c ON c.oid = t
    WHERE e.extname = 'fillfactor_advisor' AND c.relname IN ('dismissal', 'advice_event') $$,
              '{dismissal,advice_event}'::text[], 'both are dumped');
DROP TABLE batch;
SELECT is(ff_internal.collect_fit(:id), 0::bigint, 'a table that was dropped meanwhile is not fitted');
SELECT * FROM finish();
ROLLBACK;
