-- ff_blockers() with real indexes, updates and statements; then ff_horizon() with a prepared transaction.
-- Counters become visible at commit, so this file does not run in one transaction.
SET client_min_messages = error;
-- nothing here is about the model, which each collection would ask for some thirty tables
SET fillfactor_advisor.fits = 0;
CREATE EXTENSION IF NOT EXISTS pgtap;
DROP EXTENSION IF EXISTS fillfactor_advisor CASCADE;
CREATE SCHEMA ff;
CREATE EXTENSION fillfactor_advisor SCHEMA ff;
SELECT current_setting('shared_preload_libraries') ~ 'pg_stat_statements'
       AND EXISTS (SELECT 1 FROM pg_available_extensions WHERE name = 'pg_stat_statements') AS statements,
       current_setting('max_prepared_transactions')::int > 0 AS prepared,
       current_setting('server_version_num')::int >= 160000 AS summarizing \gset
SELECT plan(117);

-- which columns an index depends on
CREATE TABLE c (id int PRIMARY KEY, a int, b text, "D d" int, e int UNIQUE, f int,
	g int GENERATED ALWAYS AS (f + 1) STORED, ref int REFERENCES c (e));
CREATE INDEX c_two ON c (a, "D d");
CREATE INDEX c_inc ON c (a) INCLUDE (b, f);
CREATE INDEX c_expr ON c (lower(b), a);
CREATE INDEX c_pred ON c (a) WHERE f > 0 AND b IS NULL;
CREATE INDEX c_both ON c ((f + 1)) WHERE b IS NULL;
CREATE INDEX c_row ON c ((c.* IS NOT NULL));
CREATE INDEX c_brin ON c USING brin (a);
CREATE UNIQUE INDEX c_uni ON c (a, f);
CREATE TABLE x (r int4range, EXCLUDE USING gist (r WITH &&));
CREATE TABLE p (k int, v int) PARTITION BY RANGE (k);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (100000);
CREATE INDEX p_v ON p (v);

CREATE VIEW of AS
	SELECT i.oid, i.relname,
		(SELECT string_agg(column_name || ' ' || role, ', ') FROM ff_internal.index_columns(i.oid)) AS cols,
		ff_internal.index_needed(i.oid) AS needed
  FROM pg_class i WHERE relkind = 'i';
SELECT is(cols, 'id key', 'columns of a primary key') FROM of WHERE relname = 'c_pkey';
SELECT is(cols, 'a key, D d key', 'columns of a two-column index') FROM of WHERE relname = 'c_two';
SELECT is(cols, 'a key, b include, f include', 'columns of an index with INCLUDE') FROM of WHERE relname = 'c_inc';
SELECT is(cols, 'a key, b expression', 'columns of an index with an expression') FROM of WHERE relname = 'c_expr';
SELECT is(cols, 'a key, b predicate, f predicate', 'columns of a partial index') FROM of WHERE relname = 'c_pred';
SELECT is(cols, 'b expression or predicate, f expression or predicate',
	'columns of an index with expression and predicate')
	FROM of WHERE relname = 'c_both';
SELECT matches(cols, '^id whole row, a whole row, .*ref whole row$', 'an index on the whole row depends on all columns')
	FROM of WHERE relname = 'c_row';
SELECT is(ff_internal.changed_columns('c'::regclass, ARRAY['a', 'f']), ARRAY['a', 'f', 'g'],
	'a generated column changes with the column it uses');
SELECT is(ff_internal.changed_columns('c'::regclass, NULL), NULL, 'unknown columns stay unknown');
SELECT is(ff_internal.changed_columns('c'::regclass, ARRAY['a']), ARRAY['a'],
	'a generated column does not change with other columns');
SELECT is(needed, 'primary key c_pkey', 'needed: primary key') FROM of WHERE relname = 'c_pkey';
SELECT is(needed, 'unique constraint c_e_key', 'needed: unique constraint, also for foreign keys')
	FROM of WHERE relname = 'c_e_key';
SELECT is(needed, 'unique index', 'needed: unique index') FROM of WHERE relname = 'c_uni';
SELECT is(needed, 'exclusion constraint x_r_excl', 'needed: exclusion constraint') FROM of WHERE relname = 'x_r_excl';
SELECT is(needed, 'part of the partitioned index p_v', 'needed: part of a partitioned index')
	FROM of WHERE relname = 'p1_v_idx';
SELECT is(needed, NULL, 'a plain index is needed for nothing') FROM of WHERE relname = 'c_two';
CREATE TABLE par (a int, b int, PRIMARY KEY (a, b));
CREATE TABLE chi (id int PRIMARY KEY, a int, b int, CONSTRAINT chi_fk FOREIGN KEY (a, b) REFERENCES par);
CREATE INDEX chi_turned ON chi (b, a, id);
CREATE INDEX chi_part ON chi (b);
CREATE INDEX chi_else ON chi (b, id, a);
SELECT matches(needed, '^foreign key chi_fk, .* deleted from par$',
	'needed: foreign key whose columns come first, in any order')
	FROM of WHERE relname = 'chi_turned';
SELECT matches(needed, '^foreign key chi_fk', 'needed: foreign key, some of whose columns come first')
	FROM of WHERE relname = 'chi_part';
SELECT is(needed, NULL, 'not needed: another column stands between those of the foreign key')
	FROM of WHERE relname = 'chi_else';
CREATE TABLE uni (a int);
CREATE UNIQUE INDEX uni_a ON uni (a);
ALTER TABLE chi ADD CONSTRAINT chi_uni FOREIGN KEY (a) REFERENCES uni (a);
SELECT is(needed, 'foreign key chi_uni', 'needed: a unique index that a foreign key refers to')
	FROM of WHERE relname = 'uni_a';
-- as a later PostgreSQL may count them
BEGIN;
SET LOCAL allow_system_table_mods = on;
DO $$
BEGIN
	EXECUTE format('CREATE OR REPLACE VIEW pg_catalog.pg_stat_all_tables AS
		SELECT v.*, 0::bigint AS n_tup_hot_indexed_upd FROM (%s) v',
		rtrim(pg_get_viewdef('pg_stat_all_tables'::regclass), ';'));
END $$;
SELECT format('%s %s', ff_internal.indexed_columns('c'::regclass), count(*)) AS then
  FROM ff_internal.blocking_indexes('c'::regclass) b WHERE NOT b.summarizing \gset
ROLLBACK;
SELECT isnt(format('%s %s', ff_internal.indexed_columns('c'::regclass), count(*)), '{} 0'::text,
	'indexes keep updates from being HOT')
  FROM ff_internal.blocking_indexes('c'::regclass) b WHERE NOT b.summarizing;
SELECT is(:'then'::text, '{} 0', 'but not on a server that counts HOT updates of indexed columns');
-- with as many constraints as indexes, a pass over all of them for each takes minutes
BEGIN;
SET LOCAL enable_seqscan = off;
DISCARD PLANS;
SELECT pg_stat_get_xact_numscans('pg_constraint'::regclass) AS before \gset
SELECT is((SELECT count(needed) + count(ff_internal.drop_index(oid)) > 0 FROM of)::text || ' '
	|| pg_stat_get_xact_numscans('pg_constraint'::regclass) - :before, 'true 0',
	'the constraints of an index are found by index');
COMMIT;
SELECT is(ff_internal.summarizing((SELECT oid FROM pg_am WHERE amname = 'brin'),
	current_setting('server_version_num')::integer, false),
	:'summarizing'::boolean, 'BRIN is summarizing from PostgreSQL 16 on');
SELECT is(ff_internal.summarizing((SELECT oid FROM pg_am WHERE amname = 'btree'),
	current_setting('server_version_num')::integer, false),
	false, 'B-tree is not summarizing');
SELECT ok(ff_internal.summarizing((SELECT oid FROM pg_am WHERE amname = 'btree'), 190000, true),
	'where no index keeps updates from being HOT, B-tree does not either');
SELECT is(ff_internal.summarizing((SELECT oid FROM pg_am WHERE amname = 'heap'),
	current_setting('server_version_num')::integer, true),
	NULL, 'NULL for heap, which is no index method');

-- before any collection
SELECT is((SELECT reason FROM ff.ff_blockers('c')), 'no interval was collected yet', 'before any collection: a reason');
SELECT throws_ok($$SELECT * FROM ff.ff_blockers('c_two')$$, '42809', NULL, 'ff_blockers() of an index is an error');
SELECT is((SELECT reason FROM ff.ff_blockers('p')),
	(SELECT not_examined FROM ff_internal.user_table WHERE relid = 'p'::regclass),
	'a partitioned table: the reason why it is not examined');

-- without statements: which index may be the cause
CREATE TABLE alone (id int PRIMARY KEY, a int, pad text) WITH (fillfactor = 40, autovacuum_enabled = off);
CREATE INDEX alone_a ON alone (a);
CREATE TABLE several (id int PRIMARY KEY, a int, b int) WITH (fillfactor = 40, autovacuum_enabled = off);
CREATE INDEX several_a ON several (a);
CREATE INDEX several_b ON several (b);
INSERT INTO alone SELECT i, i, 'x' FROM generate_series(1, 2000) i;
INSERT INTO several SELECT i, i, i FROM generate_series(1, 2000) i;
CALL ff.ff_collect();
UPDATE alone SET a = a + 1;
UPDATE several SET b = b + 1;
SELECT pg_stat_force_next_flush() \g /dev/null
CALL ff.ff_collect();
-- What ff_blockers() says of all tables takes long, so it is asked once, by :ask, after each change that it should see,
-- and kept in the order of its rows: in listed all, in told what blocks.
CREATE VIEW asked AS
	SELECT row_number() OVER () AS place, relation::text AS rel, index::text AS idx, columns::text AS cols,
		usage AS role,
		blocked_per_s > 0 AS rate, won_hot_per_s > 0 AS won, won_wal_per_s > 0 AND won_cpu_ms_per_s > 0 AS costs, scans,
		needed_for, summarizing, statements, reason, suggestion, ddl, definition, index_bytes
	  FROM ff.ff_blockers();
CREATE TEMPORARY TABLE listed AS TABLE asked WITH NO DATA;
CREATE TEMPORARY VIEW told AS SELECT * FROM listed WHERE role IS DISTINCT FROM 'unused' ORDER BY place;
\set ask 'TRUNCATE listed; INSERT INTO listed TABLE asked;'
:ask
SELECT is((SELECT format('%s %s %s %s %s', idx, cols, rate, won, costs) FROM told WHERE rel = 'alone'),
	'alone_a {a} t t t', 'without statements: the only index besides the primary key is named');
SELECT is((SELECT format('%s %s %s %s', idx, cols, rate, won) FROM told WHERE rel = 'several'), 'several_b {b} t t',
	'without statements: the versions of rows in pages tell which column changes');
SELECT matches((SELECT reason FROM told WHERE rel = 'several'),
	'could not be HOT, because pages show it, .* no statement seen sets b', 'and so the reason says');
CREATE TABLE keyed (id int PRIMARY KEY, a int);
SELECT is((SELECT array_agg((b.indexrelid IS NOT NULL, ff_internal.blocker_cure(b) ~ 'way out')::text)
	FROM ff_internal.blockers(jsonb_populate_record(e, v.seen || '{"kept_share": 0.4, "kept_with_room": 0.4}'),
		true) b),
	v.named, 'without statements, the primary key alone: ' || v.what)
  FROM ff_internal.evidence('keyed') e
 CROSS JOIN (VALUES ('{"blocked_share": null}'::jsonb, NULL, 'not named for lack of evidence'),
	('{"blocked_share": 0.4}', '{"(t,f)"}'::text[], 'named if pages show that one blocks, without a cure'))
	v(seen, named, what);
-- as if no page had both versions of a row
\set blind 'UPDATE ff_internal.page_sample SET changed_columns = NULL;'
:blind
:ask
SELECT is((SELECT array_agg(idx ORDER BY idx) FROM told WHERE rel = 'several'), ARRAY['several_a', 'several_b'],
	'without statements: of several indexes all but the primary key are named');
SELECT ok((SELECT bool_and(rate IS NULL
	AND reason ~ 'not known without the statements that set its columns; pg_stat_statements is not created')
	FROM told WHERE rel = 'several'),
	'without statements: no figures for several indexes, and the reason');

\if :statements
CREATE EXTENSION pg_stat_statements;
SELECT pg_stat_statements_reset() \g /dev/null
CREATE TABLE unused (id int PRIMARY KEY, a int, h int) WITH (fillfactor = 40, autovacuum_enabled = off);
CREATE INDEX "Not %I; ""used""" ON unused (a);
CREATE TABLE uniq (id int PRIMARY KEY, a int, h int) WITH (fillfactor = 40, autovacuum_enabled = off);
CREATE UNIQUE INDEX uniq_a ON uniq (a);
CREATE TABLE used (id int PRIMARY KEY, state int, h int) WITH (fillfactor = 40, autovacuum_enabled = off);
CREATE INDEX used_open ON used (id) WHERE state > 5000;
CREATE INDEX used_state ON used USING brin (state);
CREATE TABLE hot (id int PRIMARY KEY, a int, h int) WITH (fillfactor = 40, autovacuum_enabled = off);
CREATE INDEX hot_a ON hot (a);
CREATE TABLE broken (id int PRIMARY KEY, a int) WITH (fillfactor = 40, autovacuum_enabled = off);
CREATE INDEX broken_a ON broken (a);
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'broken_a'::regclass;
ALTER TABLE p1 SET (fillfactor = 40, autovacuum_enabled = off);
CREATE TABLE uc (k int, CONSTRAINT uc_k UNIQUE (k) DEFERRABLE);
CREATE TABLE refers (id int PRIMARY KEY, a int,
	CONSTRAINT refers_fk FOREIGN KEY (a) REFERENCES c (e)) WITH (fillfactor = 40, autovacuum_enabled = off);
CREATE INDEX refers_a ON refers (a);
INSERT INTO c (id, e) VALUES (1, 1), (2, 2);
INSERT INTO refers SELECT i, 1 FROM generate_series(1, 2000) i;
CREATE TABLE q (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, batch int, status int,
	p text) WITH (autovacuum_enabled = off);
CREATE INDEX q_status ON q (status);
CREATE INDEX q_batch ON q (batch);
CREATE TABLE moving (id int PRIMARY KEY, pid int, pad text) WITH (autovacuum_enabled = off);
CREATE INDEX moving_pid ON moving (pid);
CREATE TABLE roomless (id int PRIMARY KEY, a int, h int) WITH (autovacuum_enabled = off);
CREATE INDEX roomless_a ON roomless (a);
-- two indexes in the way of one statement: one really changes, or both; a key behind an unchanged one; BRIN; two
-- tenants
CREATE TABLE seen_gone (id int PRIMARY KEY, seen int, gone int) WITH (fillfactor = 40, autovacuum_enabled = off);
CREATE INDEX gone_i ON seen_gone (gone);
CREATE INDEX seen_i ON seen_gone (seen);
INSERT INTO seen_gone SELECT i, i, NULL FROM generate_series(1, 2000) i;
CREATE TABLE unread (id int PRIMARY KEY, seen int, gone int) WITH (fillfactor = 40, autovacuum_enabled = off);
CREATE INDEX unread_gone ON unread (gone);
CREATE INDEX unread_seen ON unread (seen);
INSERT INTO unread SELECT i, i, 1 FROM generate_series(1, 2000) i;
ANALYZE unread;
SET enable_seqscan = off;
SELECT count(*) FROM unread WHERE seen IS NOT NULL \g /dev/null
RESET enable_seqscan;
CREATE TABLE apart (LIKE unread INCLUDING ALL) WITH (fillfactor = 40, autovacuum_enabled = off);
CREATE TABLE moved (LIKE unread INCLUDING ALL) WITH (fillfactor = 40, autovacuum_enabled = off);
CREATE TABLE stamped (LIKE unread INCLUDING ALL) WITH (fillfactor = 40, autovacuum_enabled = off);
INSERT INTO apart SELECT * FROM unread;
INSERT INTO moved SELECT * FROM unread;
INSERT INTO stamped SELECT * FROM unread;
CREATE TABLE carried (id int PRIMARY KEY, k int, v int, f int) WITH (fillfactor = 40, autovacuum_enabled = off);
CREATE INDEX carried_v ON carried (k) INCLUDE (v);
CREATE INDEX carried_f ON carried (k) WHERE f > 5000;
INSERT INTO carried SELECT i, i, i, i FROM generate_series(1, 2000) i;
CREATE TABLE both_change (id int PRIMARY KEY, a int, b int) WITH (fillfactor = 40, autovacuum_enabled = off);
CREATE INDEX both_a ON both_change (a);
CREATE INDEX both_b ON both_change (b);
INSERT INTO both_change SELECT i, i, i FROM generate_series(1, 2000) i;
CREATE TABLE behind (id int PRIMARY KEY, day int, seen int, low int) WITH (fillfactor = 40, autovacuum_enabled = off);
CREATE INDEX behind_key ON behind (day, seen);
CREATE INDEX behind_brin ON behind USING brin (low);
ALTER TABLE behind ADD doc jsonb DEFAULT '{"a": [1, 2, 3]}';
CREATE INDEX behind_doc ON behind USING gin (doc);
CREATE UNIQUE INDEX behind_low ON behind (low, id);
INSERT INTO behind SELECT i, i, i, i FROM generate_series(1, 2000) i;
CREATE SCHEMA tenant1;
CREATE SCHEMA tenant2;
CREATE TABLE tenant1.item (id int PRIMARY KEY, x int, y int) WITH (fillfactor = 40, autovacuum_enabled = off);
CREATE TABLE tenant2.item (LIKE tenant1.item INCLUDING ALL) WITH (fillfactor = 40, autovacuum_enabled = off);
CREATE INDEX item1_x ON tenant1.item (x);
CREATE INDEX item1_y ON tenant1.item (y);
CREATE INDEX item2_x ON tenant2.item (x);
CREATE INDEX item2_y ON tenant2.item (y);
CREATE SCHEMA tenant3;
CREATE TABLE tenant3.item (id int, x int, y int) PARTITION BY RANGE (id);
CREATE TABLE tenant3.part PARTITION OF tenant3.item FOR VALUES FROM (0) TO (9999)
	WITH (fillfactor = 40, autovacuum_enabled = off);
CREATE INDEX part_x ON tenant3.part (x);
CREATE INDEX part_y ON tenant3.part (y);
CREATE VIEW item AS SELECT 1 AS x;
INSERT INTO tenant3.item SELECT i, i, i FROM generate_series(1, 2000) i;
INSERT INTO tenant1.item SELECT i, i, i FROM generate_series(1, 2000) i;
INSERT INTO tenant2.item SELECT i, i, i FROM generate_series(1, 2000) i;
-- triggers: one whose text shows what it changes, one whose text does not; updates inside a function
CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF NEW.h = 0 THEN /* NEW.state := 1; */ NEW . updated_at = clock_timestamp(); -- NEW.state := 2;
    END IF; RETURN NEW; END $$;
CREATE TABLE touched (id int PRIMARY KEY, state int, h int,
	updated_at timestamptz) WITH (fillfactor = 40, autovacuum_enabled = off);
CREATE INDEX touched_state ON touched (state);
CREATE INDEX touched_at ON touched (updated_at);
CREATE TRIGGER touch BEFORE UPDATE ON touched FOR EACH ROW EXECUTE FUNCTION touch();
CREATE TRIGGER after_all AFTER UPDATE ON touched FOR EACH ROW WHEN (false) EXECUTE FUNCTION touch();
CREATE FUNCTION blur() RETURNS trigger
	LANGUAGE plpgsql AS $$ BEGIN RETURN jsonb_populate_record(NEW, jsonb_build_object('state', NEW.state + 1)); END $$;
CREATE TABLE blurred (id int PRIMARY KEY, state int, h int,
	at timestamptz) WITH (fillfactor = 40, autovacuum_enabled = off);
CREATE INDEX blurred_state ON blurred (state);
CREATE INDEX blurred_at ON blurred (at);
CREATE TRIGGER blur BEFORE INSERT OR UPDATE ON blurred FOR EACH ROW EXECUTE FUNCTION blur();
CREATE TABLE inner_t (id int PRIMARY KEY, a int, b int) WITH (fillfactor = 40, autovacuum_enabled = off);
CREATE INDEX inner_a ON inner_t (a);
CREATE INDEX inner_b ON inner_t (b);
CREATE FUNCTION work_inside() RETURNS void LANGUAGE plpgsql AS $$ BEGIN UPDATE inner_t SET a = a + 1; END $$;
CREATE TABLE fat (id int PRIMARY KEY, doc text) WITH (autovacuum_enabled = off);
ALTER TABLE fat ALTER doc SET STORAGE EXTERNAL;
INSERT INTO fat SELECT i, repeat('x', 20000) FROM generate_series(1, 100) i;
CREATE TABLE fat_still (id int PRIMARY KEY, n int, doc text) WITH (autovacuum_enabled = off);
ALTER TABLE fat_still ALTER doc SET STORAGE EXTERNAL;
INSERT INTO fat_still SELECT i, 0, repeat('x', 20000) FROM generate_series(1, 100) i;
INSERT INTO touched SELECT i, i, 0, now() FROM generate_series(1, 2000) i;
INSERT INTO blurred SELECT i, i, 0, now() FROM generate_series(1, 2000) i;
INSERT INTO inner_t SELECT i, i, 0 FROM generate_series(1, 2000) i;
INSERT INTO uc SELECT i FROM generate_series(1, 2000) i;
INSERT INTO moving SELECT i, 0, repeat('x', 100) FROM generate_series(1, 2000) i;
INSERT INTO roomless SELECT i, i, 0 FROM generate_series(1, 2000) i;
INSERT INTO unused SELECT i, i, 0 FROM generate_series(1, 2000) i;
INSERT INTO uniq SELECT i, i, 0 FROM generate_series(1, 2000) i;
INSERT INTO used SELECT i, i, 0 FROM generate_series(1, 2000) i;
INSERT INTO hot SELECT i, i, 0 FROM generate_series(1, 2000) i;
INSERT INTO broken SELECT i, i FROM generate_series(1, 2000) i;
INSERT INTO p SELECT i, i FROM generate_series(1, 2000) i;
CALL ff.ff_collect();
UPDATE unused SET a = a + 1, h = 1;
UPDATE uniq SET a = a + 10000;
UPDATE used SET state = state + 1;
UPDATE hot SET h = h + 1;
UPDATE broken SET a = a + 1;
UPDATE p SET v = v + 1;
UPDATE uc SET k = k + 1;
UPDATE refers SET a = 2;
UPDATE seen_gone SET seen = seen + 1, gone = NULL;
UPDATE unread SET seen = seen + 1, gone = 1;
UPDATE apart SET gone = 1 WHERE id <= 1000;
UPDATE apart SET seen = seen + 1 WHERE id > 1000;
UPDATE moved SET gone = 2;
UPDATE moved SET seen = seen + 1 WHERE id <= 1000;
UPDATE stamped SET seen = seen + 1, gone = length('ab');
UPDATE carried SET v = v + 1 WHERE id <= 1000;
UPDATE carried SET f = f + 1 WHERE id > 1000;
UPDATE both_change SET a = a + 1, b = b + 1;
UPDATE behind SET seen = seen + 1;
UPDATE behind SET low = low + 1 WHERE id < 100;
SET search_path = tenant1, public;
UPDATE item SET x = x + 1;
SET search_path = tenant2, public;
UPDATE item SET x = x + 1;
SET search_path = tenant3, public;
UPDATE item SET x = x + 1;
RESET search_path;
UPDATE roomless SET h = h + 1;
DO $$ BEGIN FOR i IN 1..10 LOOP UPDATE fat SET doc = doc || i; UPDATE fat_still SET n = i; END LOOP; END $$;
UPDATE touched SET state = state + 1 WHERE id <= 1000;
UPDATE touched SET h = 0 WHERE id > 1000;
UPDATE blurred SET at = now() WHERE id <= 1000;
UPDATE blurred SET h = 1 WHERE id > 1000;
SELECT work_inside() \g /dev/null
CREATE PROCEDURE batches() LANGUAGE plpgsql AS $$
BEGIN
    FOR b IN 1..4 LOOP
        INSERT INTO q (batch, status, p) SELECT b, 0, repeat('x', 100) FROM generate_series(1, 500);
        COMMIT;
        UPDATE q SET status = 1 WHERE batch = b;
        COMMIT;
    END LOOP;
    FOR i IN 1..2000 LOOP
        UPDATE moving SET pid = i WHERE id = i;
    END LOOP;
END $$;
SET pg_stat_statements.track = 'all';
CALL batches();
RESET pg_stat_statements.track;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT count(*) FROM used WHERE id > 0 AND state > 5000 \g /dev/null
RESET enable_seqscan;
RESET enable_bitmapscan;
SELECT pg_stat_force_next_flush() \g /dev/null
CALL ff.ff_collect();
:ask
SELECT is((SELECT array_agg(format('%s %s', idx, rate) ORDER BY idx) FROM told WHERE rel IN ('seen_gone', 'unread')),
	'{"gone_i f","seen_i t","unread_gone f","unread_seen t"}',
	'two indexes, one set to what it was: versions of rows in pages tell which one is in the way, without ANALYZE');
SELECT matches((SELECT reason || '|' || suggestion FROM told WHERE idx = 'unread_gone'),
	'^statements set gone, but hardly ever change it, as pages or .*[|]nothing to do here while',
	'and the reason says so');
SELECT is((SELECT format('%s %s', name, changed > 0.3 * compared) FROM ff_internal.changes_compared('touched'::regclass)
	WHERE name = 'updated_at'), 'updated_at t', 'what a trigger changes is seen, too');
SELECT is((SELECT count(*) FROM ff_internal.changes_compared('c'::regclass)), 0::bigint,
	'few updates: nothing is said of their columns');
:blind
ANALYZE seen_gone, apart, moved, stamped;
:ask

SELECT is((SELECT format('%s %s %s %s %s %s', idx, cols, role, rate, won, scans) FROM told WHERE rel = 'unused'),
	'"Not %I; ""used""" {a} key t t 0', 'the index whose column is updated is named');
SELECT is((SELECT format('%s|%s', ddl, regexp_replace(suggestion, 'in [0-9]+ (s|min):', 'in SPAN:'))
	FROM told WHERE rel = 'unused'),
          '|no scan in SPAN: drop it only after 7 days without one',
          'never scanned, but watched only briefly: no DROP');
SELECT is((SELECT scans_since FROM ff.ff_blockers('unused')),
	(SELECT opened_at FROM ff_internal.relation WHERE relid = 'unused'::regclass AND closed_at IS NULL),
	'scans are watched since the first collection');
SELECT is((SELECT array_agg(format('%s %s', idx, rate) ORDER BY idx) FROM told WHERE rel = 'seen_gone'),
	ARRAY['gone_i f', 'seen_i t'], 'two indexes, one column always NULL: only the other index is in the way');
SELECT matches((SELECT reason || '|' || suggestion FROM told WHERE idx = 'gone_i'),
	'^statements set gone, but hardly ever change it, as .* the last ANALYZE show: .*[|]nothing to do here while',
	'the harmless index is said to be harmless');
SELECT is((SELECT string_agg(format('%s %s', idx, reason ~ 'whether gone really changes is not known'), ', '
	ORDER BY idx) FROM told WHERE rel = 'unread'),
	'unread_gone t, unread_seen f', 'analyzed only before the updates: whether the given value is new is not known');
SELECT is((SELECT suggestion FROM told WHERE idx = 'unread_seen'),
	'scanned 1 time: weigh these scans against the updates', 'an index that is scanned: what to weigh');
CREATE ROLE regress_ff_blockers;
SELECT ff.ff_grant('regress_ff_blockers', 'reader') \g /dev/null
SET ROLE regress_ff_blockers;
SELECT is((SELECT array_agg(reason ~ 'whether gone really changes is not known: .* may not read its statistics'
	ORDER BY index::text) FROM ff.ff_blockers('seen_gone')), '{t,f}',
	'without SELECT on the table, whether it is new is not known either');
RESET ROLE;
SELECT is((SELECT array_agg(format('%s %s', index, 10 * round(10 * blocked_per_s / updates_per_s)) ORDER BY index::text)
	FROM ff.ff_blockers('apart'), ff.ff_advise('apart')),
	'{"apart_gone_idx 0","apart_seen_idx 50"}', 'a statement sets only what all rows have, and half of all is HOT');
SELECT is((SELECT array_agg(format('%s %s', index, 10 * round(10 * blocked_per_s / updates_per_s)) ORDER BY index::text)
	FROM ff.ff_blockers('moved'), ff.ff_advise('moved')),
	'{"moved_gone_idx 70","moved_seen_idx 30"}', 'all rows have one value now, but were not HOT when they got it');
SELECT is((SELECT array_agg(format('%s %s', idx, rate) ORDER BY idx) FROM told WHERE rel = 'stamped'),
	'{"stamped_gone_idx t","stamped_seen_idx t"}', 'what is computed may have changed in all rows alike');
SELECT is((SELECT array_agg(regexp_replace(suggestion, '[ ,][^;]*; no scan in [0-9]+ (s|min):.*', ' ...; no scan')
	ORDER BY idx) FROM told WHERE idx = 'carried_v'),
	'{"v ...; no scan"}', 'what INCLUDE tells comes before what scans say');
SELECT ok((SELECT bool_and(won_hot_per_s = 0) AND min(won_together_per_s) = 0
	AND max(won_together_per_s) = max(blocked_per_s)
	AND bool_and(reason
		~ 'without this index alone 0 % of the updates would be HOT, without it and those above (0|100) %')
	FROM ff.ff_blockers('both_change')),
	'two indexes in one way: nothing alone, all together, in the order of the rows');
SELECT is((SELECT array_agg(index::text) FROM ff.ff_blockers('both_change')), ARRAY['both_a', 'both_b'],
	'the rows stand in the order in which to drop');
SELECT is((SELECT array_agg(format('%s %s %s %s %s %s', index, usage, blocked_per_s > 0, won_hot_per_s,
	won_wal_per_s > 0, ddl))
	FROM ff.ff_blockers('behind') WHERE usage = 'unused'),
          ARRAY['behind_doc unused f 0 t '],
          'an index in no way of HOT that nothing scans or needs, of any kind: asked for this table, it is named');
SELECT matches((SELECT reason || '|' || suggestion FROM ff.ff_blockers('behind') WHERE index = 'behind_doc'::regclass),
	'^no statement seen sets its columns, but each update that is not HOT [(].* per second[)] writes to it[|]no scan in',
	'with what it costs, and how long its scans were watched');
SELECT is((SELECT count(*) FROM listed WHERE role = 'unused'), 0::bigint,
	'in the list of all tables, not before it was watched for 7 days');
SELECT matches((SELECT suggestion FROM told WHERE idx = 'behind_key'),
	'^seen could be left out of it: then these updates can be HOT; no scan in ',
	'a key column behind an unchanged one: narrow the index');
SELECT matches((SELECT suggestion FROM told WHERE idx = 'behind_brin'),
	CASE WHEN :'summarizing' THEN '^nothing to do here' ELSE '^from PostgreSQL 16 on these updates are HOT; ' END,
	'BRIN: HOT from PostgreSQL 16 on');
SELECT is((SELECT string_agg(format('%s %s', idx, rate), ', ' ORDER BY idx) FROM told WHERE rel ~ '^tenant'),
	'tenant1.item1_x t, tenant2.item2_x t, tenant3.part_x t',
	'tables of one name in three schemas, one of them partitioned: the index whose column is set, in all');
SELECT matches(reason,
	'[.]\s[0-9]+ MB of its [0-9]+ MB are TOAST, and each update puts 2[0-9] kB there: no fillfactor changes that',
	'a wide column is rewritten by each update: the reason says that most is TOAST') FROM ff.ff_advise('fat');
SELECT unalike(reason, '%TOAST%', 'TOAST that updates leave alone is not mentioned') FROM ff.ff_advise('fat_still');
SELECT is((SELECT string_agg(format('%s %s', t.name, t.changes), ', ')
	FROM ff_internal.update_triggers('touched'::regclass) t),
	'touch {updated_at}', 'a trigger before updates: the column that its text assigns, without those in comments');
SELECT is((SELECT string_agg(format('%s %s', t.name, t.changes), ', ')
	FROM ff_internal.update_triggers('blurred'::regclass) t),
	'blur ', 'a trigger whose text assigns nothing');
SELECT is((ff_internal.has_triggers('blurred'::regclass), ff_internal.has_triggers('fat'::regclass))::text, '(1,0)',
	'whether triggers may change a row before it is updated');
SELECT is((SELECT array_agg(format('%s %s %s %s', index, columns, round(100 * blocked_per_s / updates_per_s),
	round(100 * won_hot_per_s / updates_per_s)))
	FROM ff.ff_blockers('touched'), ff.ff_advise('touched')),
          ARRAY['touched_at {updated_at} 100 50', 'touched_state {state} 50 0'],
          'a trigger sets an indexed column: its index is in the way of all updates');
SELECT matches((SELECT reason FROM told WHERE idx = 'touched_at'),
	'because they set updated_at [(]updated_at by trigger touch[)]', 'the trigger is named');
SELECT is((SELECT array_agg(format('%s %s %s', index, usage, round(100 * blocked_per_s / updates_per_s)))
	FROM ff.ff_blockers('blurred'), ff.ff_advise('blurred')),
	'{"blurred_at key 50","blurred_state unused "}',
	'statements explain half of what was not HOT: the index that they set is in the way of half');
SELECT matches((SELECT reason FROM told WHERE idx = 'blurred_at'),
	'statements explain 50 % of the updates; trigger blur may change at, state where no statement does',
	'and the trigger is named, with the indexed columns that not all statements set');
SELECT matches((SELECT reason FROM ff.ff_blockers('blurred') WHERE usage = 'unused'),
	'^no statement seen sets its columns, but each .* writes to it; statements explain 50 %',
	'an unused index may be in the way after all');
SELECT matches((SELECT reason FROM ff.ff_advise('blurred')),
	'indexed column changed [(]blurred_at;\sstatements explain 50 % of the updates;\strigger blur may change at,',
	'ff_advise() names the trigger, too');
SELECT matches((SELECT min(reason) FROM told WHERE rel = 'inner_t'),
	'not known without the statements that set its columns; .*explain too few of the updates; those inside '
	'functions are seen with pg_stat_statements.track = all',
	'updates inside a function: the setting that shows them is named');
SELECT is((SELECT string_agg(ff_internal.rate_words(r), ', ')
	FROM unnest('{0,0.000003472,0.02,20,2345.6}'::float8[]) r), 
	'0 per day, 0.3 per day, 1.2 per minute, 20 per second, 2350 per second',
		'rates are of the shortest time with one');
-- a tenant made later: statements that were read before count for it, too
CREATE SCHEMA tenant4;
CREATE TABLE tenant4.item (LIKE tenant1.item INCLUDING ALL) WITH (fillfactor = 40, autovacuum_enabled = off);
INSERT INTO tenant4.item SELECT i, i, i FROM generate_series(1, 2000) i;
CALL ff.ff_collect();
SET search_path = tenant4, public;
UPDATE item SET x = x + 1;
RESET search_path;
SELECT pg_stat_force_next_flush() \g /dev/null
CALL ff.ff_collect();
:blind
SELECT is((SELECT format('%s %s', round((sum(u.rows))::numeric), array_agg(DISTINCT u.columns))
	FROM unnest('{tenant1.item,tenant2.item,tenant3.part,tenant4.item}'::regclass[]) t,
		ff_internal.updates_seen(t, '-infinity') u), '8000 {{x}}',
	'each update of the four counts for one of them');
SELECT is((SELECT array_agg(index::text) FROM ff.ff_blockers('tenant4.item') WHERE usage <> 'unused'),
	'{tenant4.item_x_idx}', 'and the index whose column is set is named');
UPDATE ff_internal.epoch SET began_at = began_at - interval '8 days';
UPDATE ff_internal.relation SET opened_at = opened_at - interval '8 days';
UPDATE ff_internal.collection SET began_at = began_at - interval '8 days'
	WHERE collection_id < (SELECT max(collection_id) FROM ff_internal.collection);
:ask
SELECT is((SELECT ddl FROM told WHERE rel = 'unused'), 'DROP INDEX CONCURRENTLY public."Not %I; ""used""";',
	'never scanned in 8 days and not needed: DROP INDEX');
SELECT is((SELECT ddl FROM listed WHERE idx = 'behind_doc'),
	'DROP INDEX CONCURRENTLY public.behind_doc;', 'after 8 days without a scan: DROP INDEX');
SELECT matches((SELECT statements[1] FROM told WHERE rel = 'unused'),
	'^1 call, 2000 rows: UPDATE unused SET a = a \+ \$1, h = \$2$', 'the statement is shown with calls and rows');
-- a table's other indexes stand beside it
SELECT ok((SELECT bool_and(idx IS NOT NULL)
                  AND max(place) FILTER (WHERE dropped) < min(place) FILTER (WHERE NOT dropped)
             FROM (SELECT idx, place, bool_or(ddl IS NOT NULL) OVER (PARTITION BY rel) AS dropped
                     FROM told
                    WHERE statements IS NOT NULL AND suggestion !~ '^nothing to do') t),
	'tables with a DROP come first');
SELECT is((SELECT format('%s|%s', ddl, suggestion) FROM told WHERE idx = 'uniq_a'),
	'|keep it: unique index; the way out is not to change a', 'a unique index has no DROP');
SELECT is((SELECT format('%s %s %s', role, scans > 0, ddl) FROM told WHERE idx = 'used_open'), 'predicate t ',
	'a used index has no DROP, and its predicate is named as blocking');
SELECT is((SELECT summarizing FROM told WHERE idx = 'used_state'), :'summarizing'::boolean,
	'a BRIN index is marked as summarizing');
SELECT ok((SELECT bool_and(reason ~ 'lets updates be HOT' AND ddl IS NULL) FROM told WHERE summarizing) IS NOT FALSE,
	'a summarizing index is not blamed');
SELECT is((SELECT format('%s %s', index, reason) FROM ff.ff_blockers('hot')), ' 100 % of the updates were HOT',
	'a table with HOT updates has no blocker');
SELECT is((SELECT count(*) FROM listed WHERE idx IS NULL), 0::bigint,
	'tables without a blocker have no row in the full list');
SELECT matches((SELECT suggestion FROM told WHERE rel = 'broken'), '^invalid', 'an invalid index is listed as invalid');
SELECT is((SELECT format('%s %s %s', idx, rate, ddl) FROM told WHERE rel = 'p1'), 'p1_v_idx t ',
	'a partition updated through its parent: its index is named, without DROP');
SELECT ok((SELECT bool_and(index_bytes > 0 AND definition ~ '^CREATE (UNIQUE )?INDEX .*;$')
	FROM told WHERE idx IS NOT NULL),
	'every index has its size and definition');
SELECT is((SELECT count(*) FROM told t JOIN pg_constraint c ON c.conindid = t.idx::regclass WHERE t.ddl IS NOT NULL),
	0::bigint, 'the index of a constraint has no DROP');
SELECT matches((SELECT format('%s|%s|%s', scans, ddl, suggestion) FROM told WHERE idx = 'refers_a'),
	'^0\|\|keep it: foreign key refers_fk, ', 'an index that a foreign key needs has no DROP');
SELECT is((SELECT ff_internal.indexed_share(e.relation, e.began_at, (e.counted).updated, 0, 0)
	FROM ff_internal.evidence('uc') e),
	1::float8, 'columns of a deferrable constraint count as indexed');
SELECT is((SELECT ff_internal.indexed_share(e.relation, e.began_at, (e.counted).updated, 0, 0)
	FROM ff_internal.evidence('hot') e),
	0::float8, 'columns without an index do not count as indexed');
SELECT is((SELECT ff_internal.indexed_share(e.relation, e.began_at, (e.counted).updated, 0, 0)
	FROM ff_internal.evidence('q') e),
	1::float8, 'batch queue: all updates set an indexed column');
SELECT cmp_ok((SELECT newpage_share FROM ff_internal.evidence('q')), '>', 0.9::float8,
	'batch queue: most updates leave their page');
SELECT is((SELECT array_agg(format('%s %s %s', idx, cols, rate)) FROM told WHERE rel = 'q'),
	ARRAY['q_status {status} t'], 'batch queue: the index whose column is updated is named');
SELECT matches((SELECT reason FROM told WHERE rel = 'q'), 'because they set status; they left their page as well',
	'batch queue: the reason says that updates left their page as well');
SELECT is((SELECT array_agg(format('%s %s %s', idx, cols, rate)) FROM told WHERE rel = 'moving'),
	ARRAY['moving_pid {pid} t'], 'single updates that leave their page: the index is named too');
SELECT is((SELECT format('%s %s', index, usage) FROM ff.ff_blockers('roomless')), 'roomless_a unused',
	'full pages, no indexed column set: no index is named, but an unused one');
DROP INDEX "Not %I; ""used""";
CREATE INDEX "Not %I; ""used""" ON unused (a);
SELECT is((SELECT format('%s|%s', ddl, scans_since) FROM ff.ff_blockers('unused')), '|',
	'an index just created again: no DROP, and not watched yet');
CALL ff.ff_collect();
:blind
SELECT is((SELECT format('%s|%s', ddl, scans_since > now() - interval '1 hour') FROM ff.ff_blockers('unused')), '|t',
	'an index just created again: watched since the next collection');
UPDATE ff_internal.collection SET began_at = began_at - interval '8 days' WHERE began_at > now() - interval '1 day';
SELECT isnt((SELECT ddl FROM ff.ff_blockers('unused')), NULL, 'an index created again and watched for 8 days: DROP');
SELECT pg_stat_reset_shared('bgwriter') \g /dev/null
SELECT is((SELECT format('%s|%s', ddl, scans_since) FROM ff.ff_blockers('unused')),
	format('|%s', pg_stat_get_bgwriter_stat_reset_time()), 'statistics lost, as by a crash: watched only since then');
SELECT is(ff_internal.suspect_indexes('unused'), '"Not %I; ""used"""',
	'ff_advise() names the index whose column the statements set');
SELECT is(ff_internal.suspect_indexes('several'), 'several_a, several_b',
	'ff_advise() names all possible indexes if it knows no statement');
\else
SELECT skip('no pg_stat_statements', 67);
CREATE ROLE regress_ff_blockers;
\endif

-- what a user sees of it
CREATE TEMPORARY TABLE blocked AS TABLE ff.ff_blocked;
SELECT results_eq('SELECT relation::text, index::text, columns FROM blocked',
    $$SELECT relation::text, index::text, array_to_string(columns, ', ') FROM ff.ff_blockers()$$,
    'ff_blocked has all, in the same order');
SELECT cmp_ok((SELECT max(length(l)) FROM blocked, string_to_table(what_to_do, E'\n') l
    WHERE l !~ '^DROP INDEX'), '<=', 30, 'ff_blocked: lines are short');

-- roles
DROP OWNED BY regress_ff_blockers;
SET ROLE regress_ff_blockers;
SELECT throws_ok('SELECT * FROM ff.ff_blockers()', '42501', NULL, 'a plain role may not call ff_blockers()');
SELECT throws_ok('SELECT * FROM ff.ff_horizon()', '42501', NULL, 'a plain role may not call ff_horizon()');
RESET ROLE;
DROP ROLE regress_ff_blockers;

-- a prepared transaction holds back pruning
\if :prepared
SET fillfactor_advisor.snapshot_age = 0;
BEGIN;
INSERT INTO x VALUES ('[1,2)');
PREPARE TRANSACTION 'held "%I';
CALL ff.ff_collect();
SELECT is((SELECT format('%s %s', now, kind) FROM ff.ff_horizon() WHERE holder = 'gid held "%I'),
	't prepared transaction', 'a prepared transaction is shown as holding back pruning now');
SET fillfactor_advisor.snapshot_age = 60;
SELECT is((SELECT suggestion FROM ff.ff_horizon() WHERE holder = 'gid held "%I'),
	'none is needed if it ends within 60 s',
	'what holds back pruning for less than snapshot_age needs no cure');
ROLLBACK PREPARED 'held "%I';
CALL ff.ff_collect();
SELECT is((SELECT format('%s %s %s', now, kind, held_s >= 0) FROM ff.ff_horizon() WHERE holder = 'gid held "%I'),
	'f prepared transaction t', 'a finished prepared transaction is still shown');
SELECT is((SELECT count(*) FROM ff_internal.horizon_history WHERE holder = 'gid held "%I'), 1::bigint,
	'the history has one row for it');
\else
SELECT skip('max_prepared_transactions is 0', 4);
\endif

-- why an index may be needed although no scan is counted
CREATE TABLE ordered (i int NOT NULL, j int);
CREATE INDEX ordered_j ON ordered (j);
ALTER TABLE ordered CLUSTER ON ordered_j;
SELECT is(ff_internal.index_needed('ordered_j'::regclass), 'the order of CLUSTER',
	'the index that a table is clustered on is needed');
CREATE UNIQUE INDEX ordered_i ON ordered (i);
ALTER TABLE ordered REPLICA IDENTITY USING INDEX ordered_i;
SELECT matches(ff_internal.index_needed('ordered_i'::regclass), 'unique index|replica identity',
	'a unique index used as replica identity is needed');

-- many expression indexes, never analyzed: one short row each
CREATE TABLE many (a int) WITH (fillfactor = 30, autovacuum_enabled = off);
DO $$ BEGIN FOR i IN 1..300 LOOP EXECUTE format('CREATE INDEX ON many ((a + %s))', i); END LOOP; END $$;
INSERT INTO many SELECT g FROM generate_series(1, 500) g;
CALL ff.ff_collect();
UPDATE many SET a = a + 1;
SELECT pg_stat_force_next_flush();
CALL ff.ff_collect();
CREATE TEMPORARY TABLE rows AS SELECT b::text AS line FROM ff.ff_blockers('many') b;
SELECT is(count(*), 300::bigint, 'each of 300 indexes has a row') FROM rows;
SELECT cmp_ok(sum(octet_length(line)), '<', 300 * 600::bigint, 'a row takes less than 600 bytes on average') FROM rows;
SELECT * FROM finish();
