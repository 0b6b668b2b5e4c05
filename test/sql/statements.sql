-- Parsing of statement texts. No object named here exists, and none needs to.
CREATE EXTENSION fillfactor_advisor;

CREATE FUNCTION pg_temp.show(query text) RETURNS SETOF text LANGUAGE sql
AS $$SELECT coalesce(reason,
    concat_ws(' ', command, how, quote_nullable(schema_name), quote_ident(relation_name), columns::text))
       FROM ff_internal.parse_statement(query)$$;

-- plain statements, as pg_stat_statements normalises them
SELECT pg_temp.show('UPDATE pgbench_accounts SET abalance = abalance + $1 WHERE aid = $2');
SELECT pg_temp.show('UPDATE ONLY s.t AS x SET a = $1, b = x.c, a = $2 FROM u WHERE u.id = x.id RETURNING *');
SELECT pg_temp.show('INSERT INTO t (a, b) VALUES ($1, $2)');
SELECT pg_temp.show('DELETE FROM s.t USING u WHERE t.id = u.id');
SELECT pg_temp.show('COPY t (a, b) FROM STDIN');
SELECT pg_temp.show('COPY t TO STDOUT');
SELECT pg_temp.show('SELECT * FROM t FOR UPDATE');

-- the SET list
SELECT pg_temp.show('UPDATE t SET (a, b) = ($1, $2), (c, d) = (SELECT e, f FROM u), g = DEFAULT');
SELECT pg_temp.show('UPDATE t SET a[1] = $1, a[2:3] = $2, b.x = $3, b.y.z = $4');

-- what is set to what it is does not change
SELECT pg_temp.show('UPDATE t SET a = a, b = t.b, c = $1');
SELECT pg_temp.show('UPDATE s.t SET a = s.t.a, b = u.b, c = t.a FROM u WHERE u.id = t.id');
SELECT pg_temp.show('UPDATE t AS x SET a = x.a, b = t.b, (c, d) = (c, $1), (e, f) = ROW (x.f, x.f), g[1] = g, h.i = h');
SELECT pg_temp.show('UPDATE t SET a = a');
SELECT pg_temp.show(
    'INSERT INTO t VALUES ($1, $2) ON CONFLICT (id, "A b") DO UPDATE SET id = EXCLUDED.id, "A b" = excluded."A b", '
    'n = EXCLUDED.n, m = EXCLUDED.id, k = t.k');
SELECT pg_temp.show(
    'INSERT INTO t VALUES ($1) ON CONFLICT (lower(a), b COLLATE "C", c text_pattern_ops) DO UPDATE SET a = '
    'EXCLUDED.a, b = EXCLUDED.b, c = EXCLUDED.c');
SELECT pg_temp.show(
    'MERGE INTO s.t x USING u ON x.id = u.id WHEN MATCHED AND u.n > $1 THEN UPDATE SET a = x.a, id = u.id WHEN '
    'MATCHED THEN UPDATE SET b = x.a');

SELECT pg_temp.show(
    'UPDATE t SET id = u.id, a = u.b, n = $1, k = $2, m = u.m FROM u WHERE t.id = u.id AND (u.b = a AND t.n = $1) AND '
    '(t.k = $2 OR m = u.m) AND m > u.m');
SELECT pg_temp.show(
    'MERGE INTO t USING u ON t.id = u.id WHEN MATCHED AND t.a = u.a THEN UPDATE SET id = u.id, a = u.a, b = u.b');

-- columns set to a given value, which may be what they are, and those set to a computed one
SELECT columns, computed, conflict_key FROM ff_internal.parse_statement(
    'UPDATE t SET a = $1, b = $2::jsonb, c = NULL, d = coalesce($3, u.d), e = CASE id WHEN $4 THEN $5 ELSE e END, '
    'f = f + $6, g = now(), h = (SELECT 1), (i, j) = ($7, lower($8)), k = DEFAULT, l[1] = $9 FROM u');
SELECT columns, computed, conflict_key FROM ff_internal.parse_statement(
    'INSERT INTO t VALUES ($1) ON CONFLICT ON CONSTRAINT t_key DO UPDATE SET id = EXCLUDED.id, a = $2, b = EXCLUDED.c');
SELECT columns, computed, conflict_key FROM ff_internal.parse_statement(
    'MERGE INTO t USING u ON t.id = u.id WHEN MATCHED AND u.x THEN UPDATE SET a = $1, b = $2 WHEN MATCHED THEN UPDATE '
    'SET b = t.b + $3');

-- ON CONFLICT
SELECT pg_temp.show(
    'INSERT INTO t AS x (id, n) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET n = x.n + excluded.n, seen = now() '
    'WHERE x.n < $3');
SELECT pg_temp.show('INSERT INTO t VALUES ($1) ON CONFLICT DO NOTHING');

-- MERGE
SELECT pg_temp.show(
    'MERGE INTO s.t USING u ON t.id = u.id WHEN MATCHED AND u.gone THEN DELETE WHEN MATCHED AND u.x > $1 THEN '
    'UPDATE SET a = u.a, b = u.b WHEN MATCHED THEN UPDATE SET b = $2, c = $3 WHEN NOT MATCHED THEN INSERT (id) '
    'VALUES (u.id)');
SELECT pg_temp.show('MERGE INTO t USING u ON t.id = u.id WHEN MATCHED THEN DO NOTHING');

-- WITH, nested
SELECT pg_temp.show(
    'WITH moved AS (DELETE FROM a RETURNING *), fixed AS (UPDATE b SET n = $1 RETURNING *) INSERT INTO c SELECT * '
    'FROM moved');
SELECT pg_temp.show(
    'WITH x AS (WITH y AS (INSERT INTO d VALUES ($1) ON CONFLICT (i) DO UPDATE SET j = $2 RETURNING *) SELECT * '
    'FROM y) SELECT * FROM x');
SELECT pg_temp.show('UPDATE a SET n = (WITH q AS (SELECT 1) SELECT * FROM q)');

-- names as object-relational mappers write them
SELECT pg_temp.show($$UPDATE "public"."User ""Accounts""" SET "updatedAt" = $1, "Naive %I;--" = $2
    WHERE "public"."User ""Accounts"""."id" = $3$$);
SELECT pg_temp.show('/* app:web,controller:carts */ update Cart set QTY = $1 -- trailing');
SELECT pg_temp.show('UPDATE db.s.t SET a = 1');

-- statements within other statements, and texts without any
SELECT pg_temp.show('PREPARE p (int) AS UPDATE t SET a = $1');
SELECT pg_temp.show('EXPLAIN ANALYZE UPDATE t SET a = $1');
SELECT pg_temp.show('DO $x$BEGIN UPDATE t SET a = 1; END$x$');
SELECT pg_temp.show('CREATE TABLE x AS SELECT 1');
SELECT pg_temp.show('UPDATE a SET x = 1; DELETE FROM b');
SELECT pg_temp.show('');
SELECT pg_temp.show('   -- only a comment');

-- lists that PostgreSQL 18 and later shorten
SELECT pg_temp.show('UPDATE t SET a = $1 WHERE id IN ($2 /*, ... */)');

-- constants that a parameter took the place of, where the grammar wants the constant
SELECT pg_temp.show(
    'UPDATE t SET a = now() + interval $1, b = timestamp(3) with time zone $2 WHERE extract($3 from c) > $4 AND d '
    '< now() - interval $5');
SELECT
    pg_temp.show(
        'UPDATE t SET a = "s x".kind $1, b = CASE WHEN c THEN$2ELSE$3END WHERE e NOT LIKE$4AND f IS $5 NORMALIZED');
-- nothing in a string, name or comment is touched, and a name with a dollar stays
SELECT pg_temp.show('UPDATE t SET "interval $1" = ''date $2'', a$1 = bit $3 /* interval $4 */ WHERE b = $$time $5$$');
SELECT pg_temp.show('UPDATE t SET a = interval $1 $2');
SELECT pg_temp.show('INSERT INTO t VALUES ' || repeat('(date $1, interval $2), ', 20000) || '($1, $2)');

-- texts that cannot be parsed: one row with a reason, and no error
SELECT pg_temp.show(NULL);
SELECT pg_temp.show('<insufficient privilege>');
SELECT pg_temp.show('UPDATE t SET a = $1 WHERE id = $2 AND name LI');
SELECT pg_temp.show('UPDATE t SET a = $1 WHERE id = ''trunca');
SELECT pg_temp.show('UPDATE t SET a = U&''\zzzz''');
SELECT pg_temp.show('UPDATE t SET a = $1 WHERE id IN (' || repeat('$2, ', 300000) || '$3)');
SELECT pg_temp.show('UPDATE t SET a = $1 WHERE id IN (' || repeat('$2, ', 200000) || '$3)');
SELECT pg_temp.show('UPDATE t SET a = ' || repeat('(', 300000) || '1' || repeat(')', 300000));
SET max_stack_depth = '100kB';
SELECT pg_temp.show('UPDATE t SET a = 1' || repeat(' + 1', 100000));
RESET max_stack_depth;

-- many in one transaction
SELECT count(*) AS rows, count(DISTINCT relation_name) AS tables, count(reason) AS unread
  FROM generate_series(1, 3000) i,
       LATERAL ff_internal.parse_statement(CASE WHEN i % 3 = 0 THEN 'UPDATE t SET'
           ELSE format('UPDATE t%s SET a = $1', i) END);

-- rights
CREATE ROLE regress_ff_nobody;
SET ROLE regress_ff_nobody;
SELECT * FROM ff_internal.parse_statement('SELECT 1');
RESET ROLE;
DROP ROLE regress_ff_nobody;
DROP EXTENSION fillfactor_advisor;
