-- Facts that the advice rests on, and its errors.  Causes and actions are
-- tested in test/advise/advice.sql.
CREATE EXTENSION fillfactor_advisor;

-- fillfactor is read as the server reads it
SELECT o, ff_internal.effective_fillfactor(o)
  FROM (VALUES (NULL::text[]), ('{}'), ('{fillfactor=70}'), ('{fillfactor=80.5}'), ('{fillfactor=0x50}'),
               ('{autovacuum_enabled=false,fillfactor=10}'), ('{autovacuum_enabled=false}')) v(o);

-- 100 updates, 60 of them HOT and 30 to another page: 10 stayed in their page and were not
-- HOT, so with room 6 in 7 of the moved ones would have been HOT
SELECT newpage_share, round(blocked_share::numeric, 4) AS blocked, round(eligible_share::numeric, 4) AS eligible,
    round(recoverable_share::numeric, 4) AS recoverable
  FROM ff_internal.split_updates(100, 60, 30, NULL, NULL);
-- all moved: all could be HOT, unless the statements set indexed columns
SELECT * FROM ff_internal.split_updates(100, 0, 100, NULL, NULL);
SELECT * FROM ff_internal.split_updates(100, 0, 100, NULL, NULL, 0.75);
-- all stayed and none was HOT: all changed an indexed column
SELECT * FROM ff_internal.split_updates(100, 0, 0, NULL, NULL);
-- not counted by the server: old versions in the pages give the shares
SELECT newpage_share, round(blocked_share::numeric, 4) AS blocked, round(eligible_share::numeric, 4) AS eligible,
    round(recoverable_share::numeric, 4) AS recoverable
  FROM ff_internal.split_updates(100, 60, NULL, 10, 30);
-- many old versions: two in three of those that stayed were HOT, so 30 stayed without
-- being HOT; the statements allow at most 15 for 60 HOT ones
SELECT round(newpage_share::numeric, 4) AS moved, round(blocked_share::numeric, 4) AS blocked,
    round(eligible_share::numeric, 4) AS eligible
  FROM ff_internal.split_updates(100, 60, NULL, 20, 300, NULL, 40);
SELECT round(newpage_share::numeric, 4) AS moved, round(blocked_share::numeric, 4) AS blocked,
    round(eligible_share::numeric, 4) AS eligible
  FROM ff_internal.split_updates(100, 60, NULL, 20, 300, 0.2, 40);
-- no old version HOT: no room would help
SELECT * FROM ff_internal.split_updates(100, 0, NULL, 40, 300, NULL, 0);
-- the same, but statements set no indexed column in half of them, and no trigger does: room helps these
SELECT recoverable_share, kept_share FROM ff_internal.split_updates(10000, 0, 9300, NULL, NULL, 0.5, NULL, 0);
SELECT recoverable_share, kept_share FROM ff_internal.split_updates(10000, 0, 9300, NULL, NULL, 0.5, NULL, 1);
-- neither counted nor seen in the pages: unknown
SELECT * FROM ff_internal.split_updates(100, 60, NULL, 0, 0);
-- all HOT: nothing else needs to be known
SELECT * FROM ff_internal.split_updates(100, 100, NULL, NULL, NULL);
SELECT * FROM ff_internal.split_updates(0, 0, 0, 0, 0);

SELECT s, ff_internal.span(s) FROM (VALUES (0.4::float8), (119), (120), (7199), (7200), (172799), (172800)) v(s);

-- quoting of names in statements
CREATE SCHEMA "odd ""schema";
CREATE TABLE "odd ""schema"."t;--\'
x" (i int);
SELECT ff_internal.alter_options(c.oid, '{fillfactor=50}') FROM pg_class c
    WHERE c.relnamespace = '"odd ""schema"'::regnamespace;
CREATE MATERIALIZED VIEW mv AS SELECT 1 AS i;
SELECT ff_internal.alter_options('mv'::regclass, '{fillfactor=90}');

-- every table has a row and a reason, also before the first collection
SELECT relation, fillfactor, recommended_fillfactor, action, cause, reason, ddl
    FROM ff_advise() ORDER BY relation::text COLLATE "C";

-- relations that are not advised, and errors
CREATE VIEW v AS SELECT 1 AS i;
CREATE SEQUENCE s;
CREATE TABLE t (i int PRIMARY KEY) WITH (fillfactor = 70);
CREATE TABLE parent (i int) PARTITION BY LIST (i);
CREATE TABLE leaf PARTITION OF parent FOR VALUES IN (1);
\set SHOW_CONTEXT never
SELECT ff_advise('v');
SELECT ff_advise('s');
SELECT ff_advise('t_pkey');
SELECT ff_advise('pg_class');
SELECT ff_advise(4294967295);
SELECT relation, action, cause, reason FROM ff_advise('parent');
SELECT relation, fillfactor, action, cause FROM ff_advise('leaf');
SELECT relation, fillfactor, action, cause FROM ff_advise('t');
SELECT count(*) = (SELECT count(*) FROM ff_internal.user_table) AS "NULL means all" FROM ff_advise(NULL);

DROP SCHEMA "odd ""schema" CASCADE;
DROP TABLE t, parent;
DROP VIEW v;
DROP SEQUENCE s;
DROP MATERIALIZED VIEW mv;
DROP EXTENSION fillfactor_advisor;
