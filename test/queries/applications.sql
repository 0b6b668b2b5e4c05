-- Statements as applications and object-relational mappers write them, for the parser: tables, and the view
-- application(statement). All run on almost empty tables.
CREATE SCHEMA app;
CREATE TYPE app.money2 AS (amount numeric, currency text);
CREATE TYPE app.mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN app.short AS varchar(20);
CREATE TABLE app.t (id bigint PRIMARY KEY, n int, num numeric(12,2), txt text, d date, ts timestamp,
    tz timestamptz DEFAULT now(), iv interval, tm time,
    j jsonb DEFAULT '{}', js json, arr int[], tarr text[], b boolean, u uuid, ip inet, bt bit(8), vb varbit, bin bytea,
    p point, r int4range, m app.mood, c app.money2);
CREATE TABLE app.jobs (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, queue text DEFAULT 'default', payload jsonb,
    state text DEFAULT 'available',
    attempts int DEFAULT 0, max_attempts int DEFAULT 20, priority int DEFAULT 0, run_at timestamptz DEFAULT now(),
    locked_at timestamptz, locked_by text, finished_at timestamptz, error text);
CREATE TABLE app.users (id int PRIMARY KEY, email text UNIQUE, name text, "lastSeenAt" timestamptz,
    sign_in_count int DEFAULT 0, settings jsonb, deleted_at timestamp, version int DEFAULT 0, created_on date);
CREATE TABLE app."OrderItem" ("orderId" int, "productId" int, quantity int, "unitPrice" numeric, "createdAt" timestamp,
    PRIMARY KEY ("orderId", "productId"));
CREATE TABLE app.counters (key text, bucket timestamptz, hits bigint, PRIMARY KEY (key, bucket));
SET search_path = app, public;

-- each becomes part of four statements
CREATE TABLE app.expression (e text);
INSERT INTO app.expression SELECT unnest(ARRAY[
$$now() + interval '30 s'$$, $$now() - INTERVAL '5 minutes'$$, $$interval '1' day$$, $$interval '1-2' year to month$$,
$$interval '10:30' hour to second$$, $$interval(0) '1.5 s'$$,
$$interval '4 days' second(2)$$, $$'1 day'::interval$$, $$n * interval '1 second'$$, $$cast('1 hour' AS interval)$$,
$$date '2024-02-29'$$, $$DATE'2024-02-29'$$, $$'2024-02-29'::date + 1$$,
$$time '10:00'$$, $$time(3) '10:00:00.5'$$, $$time with time zone '10:00+02'$$, $$time(0) without time zone '10:00'$$,
$$timestamp '2024-01-01 00:00'$$, $$timestamp(3) '2024-01-01'$$,
$$timestamp with time zone '2024-01-01'$$, $$timestamp(0) without time zone '2024-01-01'$$,
$$timestamptz '2024-01-01 00:00+00'$$, $$pg_catalog.timestamptz 'now'$$, $$"timestamptz" 'now'$$,
$$bit '101'$$, $$bit(3) '101'$$, $$bit varying '101'$$, $$B'101'$$, $$X'1F'$$, $$bytea '\x00'$$, $$json '{"a": 1}'$$,
$$jsonb '{"a": 1}' || j$$, $$'{"a": 1}'::jsonb -> 'a'$$, $$j #>> '{a,b}'$$,
$$point '(1,2)'$$, $$circle '<(1,2),3>' @> p$$, $$uuid 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'$$,
$$inet '10.0.0.1' << inet '10.0.0.0/8'$$, $$app.mood 'sad'$$, $$"app"."short" 'x'$$, $$app.short 'y'$$,
$$numeric '1.5'$$, $$numeric(6,2) '1.5'$$, $$decimal '1.5'$$, $$int '1' + integer '2'$$, $$bigint '3'$$,
$$smallint '3'$$, $$real '1.5'$$, $$double precision '1.5'$$, $$float(24) '1.5'$$, $$float8 '1.5'$$,
$$boolean 't'$$, $$bool 'f'$$, $$text 'x'$$, $$char 'x'$$, $$char(3) 'abc'$$, $$character varying(5) 'abc'$$,
$$varchar(5) 'abc'$$, $$national character varying(3) 'abc'$$, $$bpchar 'x'$$, $$N'abc'$$,
$$int4range '[1,5)' && r$$, $$tstzrange(now(), now() + interval '1 h', '[)')$$, $$money '1.50'$$, $$tsquery 'a & b'$$,
$$to_tsvector('english', 'a b')$$, $$xid '5'$$, $$regclass 'app.t'$$, $$name 'x'$$, $$macaddr '08:00:2b:01:02:03'$$,
$$extract(epoch from now() - tz)$$, $$EXTRACT(DAY FROM date '2024-01-01')$$, $$extract('year' from ts)$$,
$$date_part('day', ts)$$, $$date_trunc('hour', now() - interval '1 day')$$,
$$date_bin('15 minutes', ts, timestamp '2001-01-01')$$, $$now() AT TIME ZONE 'UTC'$$,
$$timestamp '2024-01-01' AT TIME ZONE interval '-08:00'$$, $$make_interval(secs => 30)$$, $$current_date - 7$$,
$$localtimestamp(0)$$,
$$position('b' in 'abc')$$, $$substring(txt from 2 for 3)$$, $$substring(txt from '%#"b#"%' for '#')$$,
$$overlay(txt placing 'x' from 2 for 1)$$, $$trim(both 'x' from txt)$$, $$trim(leading from '  x')$$,
$$txt || E'\n' || 'x'$$,
$$U&'d\0061t'$$, $$U&'d!0061t' UESCAPE '!'$$, $$'a' COLLATE "C" < 'b'$$, $$txt LIKE 'a%' ESCAPE '!'$$,
$$txt ILIKE '%b%'$$, $$txt SIMILAR TO 'a|b'$$, $$txt ~* '^a'$$, $$txt NOT LIKE'x%'$$, $$normalize('a', NFC)$$,
$$'a' IS NFC NORMALIZED$$,
$$'foo'
'bar'$$, $e$$q$it's$q$$e$, $$'it''s'$$, $$-1$$, $$- 1.5e3$$, $$n+1-2*3$$, $$n IN (1, 2, 3)$$, $$n IN (1)$$,
$$n NOT IN (-1, -2)$$, $$txt IN ('a', 'b')$$, $$d IN (date '2024-01-01', date '2024-01-02')$$,
$$d IN ('2024-01-01'::date, '2024-01-02'::date)$$, $$n::bigint IN (1::bigint, 2::bigint)$$, $$n = ANY ('{1,2,3}')$$,
$$n = ANY (ARRAY[1, 2, 3])$$, $$tarr && ARRAY['a', 'b']::text[]$$, $$arr[1]$$, $$arr[1:2]$$, $$(ARRAY[1,2,3])[2]$$,
$$ARRAY[[1,2],[3,4]]$$, $$arr || 4$$, $$array_append(arr, 5)$$, $$CASE WHEN n > 1 THEN 'a' ELSE 'b' END$$,
$$CASE n WHEN 1 THEN interval '1 h' WHEN 2 THEN interval '2 h' ELSE '0' END$$, $$CASE WHEN n = 1 THEN'a'ELSE'b'END$$,
$$txt='a'OR txt='b'$$, $$coalesce(txt, 'x')$$, $$nullif(n, 0)$$, $$greatest(n, 1, 2)$$, $$b IS TRUE$$,
$$b IS NOT UNKNOWN$$, $$n IS DISTINCT FROM NULL$$, $$n IS NOT DISTINCT FROM 5$$, $$n BETWEEN 1 AND 10$$,
$$n BETWEEN SYMMETRIC 10 AND 1$$, $$(n, txt) = (1, 'a')$$, $$(n, txt) IN ((1, 'a'), (2, 'b'))$$,
$$ROW(1, 'a')::app.money2$$, $$(c).amount$$,
$$(ts, interval '1 day') OVERLAPS (timestamp '2024-01-01', interval '1 h')$$,
$$exists (SELECT 1 FROM app.users WHERE id = 5 LIMIT 1)$$,
$$(SELECT id FROM app.users ORDER BY 1 OFFSET 2 ROWS FETCH FIRST 1 ROW ONLY)$$,
$$(SELECT max(x) FROM (VALUES (1), (2)) v(x))$$,
$$(SELECT count(*) FILTER (WHERE g > 2) FROM generate_series(1, 5) g)$$,
$$(SELECT sum(g) OVER (ORDER BY g ROWS 2 PRECEDING) FROM generate_series(1, 3) g LIMIT 1)$$,
$$(SELECT sum(id) OVER (ORDER BY "lastSeenAt" RANGE BETWEEN interval '1 day' PRECEDING AND '1 h' FOLLOWING)
    FROM app.users LIMIT 1)$$,
$$(SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY g) FROM generate_series(1, 3) g)$$,
$$(SELECT count(*) FROM app.t TABLESAMPLE system (10) REPEATABLE (1))$$, $$jsonb_set(j, '{a}', '1')$$,
$$jsonb_build_object('a', 1, 'b', 'x')$$, $$j ? 'a'$$, $$j @> '{"a": 1}'$$, $$j @? '$.a[*] ? (@ > 1)'$$,
$$(j->>'a')::int + 1$$, $$j['a']$$, $$md5(random()::text || clock_timestamp()::text)$$, $$gen_random_uuid()$$,
$$nextval('pg_catalog.pg_class'::regclass) IS NULL AND false$$, $$to_char(now(), 'YYYY-MM')$$,
$$encode('\x01'::bytea, 'hex')$$, $$abs(-5)$$, $$round(num, 2)$$, $$power(2, 10)$$, $$width_bucket(5, 0, 10, 5)$$,
$$string_to_array('a,b', ',')$$]);

CREATE TABLE app.statement (s text);
INSERT INTO app.statement SELECT unnest(ARRAY[
-- mappers
$$UPDATE "users" SET "sign_in_count" = 5, "lastSeenAt" = '2024-01-01 10:00:00.123456' WHERE "users"."id" = 1$$,
$$UPDATE "users" SET "settings" = '{"theme":"dark"}', "version" = 3 WHERE "users"."id" = 1 AND "users"."version" = 2$$,
$$UPDATE "users" SET "sign_in_count" = COALESCE("sign_in_count", 0) + 1 WHERE "users"."id" = 1$$,
$$INSERT INTO "users" ("email", "id", "name") VALUES ('a@b.c', 1, 'A') RETURNING "id"$$,
$$INSERT INTO "users" ("id","email","name") VALUES (2,'b@b.c','B'), (3,'c@b.c',NULL) ON CONFLICT DO NOTHING$$,
$$INSERT INTO users (id, email, created_on) VALUES (4, 'd@b.c', DATE '2024-01-01')
    ON CONFLICT (id) DO UPDATE SET email = EXCLUDED.email, created_on = EXCLUDED.created_on
    WHERE users.created_on < DATE '2024-06-01'$$,
$$INSERT INTO users (id, email) VALUES (5, 'x')
    ON CONFLICT ON CONSTRAINT users_email_key DO UPDATE SET name = 'seen', "lastSeenAt" = now() - interval '1 s'$$,
$$UPDATE users SET deleted_at = timestamp '2024-01-01 00:00:00'
    WHERE id IN (SELECT id FROM users WHERE "lastSeenAt" < now() - interval '1 year' LIMIT 100)$$,
$$UPDATE "app"."users" SET "name" = CAST('x' AS TEXT), "created_on" = '2024-01-01'::DATE
    WHERE ("app"."users"."id" = 1 AND 1=1)$$,
$$UPDATE "OrderItem" SET "quantity" = "quantity" + 1, "unitPrice" = 9.99
    WHERE ("orderId","productId") IN ((1,2),(3,4))$$,
$$DELETE FROM "OrderItem" WHERE "createdAt" < CURRENT_TIMESTAMP - INTERVAL '30' DAY$$,
$$UPDATE users u SET name = v.name FROM (VALUES (1, 'x'), (2, 'y')) AS v(id, name) WHERE u.id = v.id$$,
$$UPDATE users SET (name, email) = ('n', 'e') WHERE id = 77$$,
$$UPDATE users SET (name, version) = (SELECT name, 5 FROM users WHERE id = 2) WHERE id = 1$$,
$$UPDATE users SET settings = jsonb_set(coalesce(settings, '{}'), '{flags,beta}', 'true', true)
    WHERE id = ANY ('{1,2,3}'::int[])$$,
$$UPDATE users SET settings['theme'] = '"dark"' WHERE id = 1$$,
$$DELETE FROM users USING jobs WHERE users.id = jobs.id AND jobs.state = 'dead'$$,
$$INSERT INTO users (id, email, "lastSeenAt")
    SELECT 100 + g, 'u' || g, now() - g * interval '1 minute'
    FROM generate_series(1, 3) g$$,
-- job queues
$$UPDATE jobs SET locked_at = now(), locked_by = 'host:1'
    WHERE id IN (SELECT id FROM jobs
        WHERE (locked_at IS NULL OR locked_at < now() - interval '5 minutes')
            AND run_at <= now() AND attempts < max_attempts
        ORDER BY priority, run_at LIMIT 10 FOR UPDATE SKIP LOCKED)
    RETURNING *$$,
$$WITH j AS (SELECT id FROM jobs WHERE state = 'available' AND queue = 'default'
    ORDER BY priority ASC, run_at ASC
    LIMIT 5 FOR UPDATE SKIP LOCKED) UPDATE jobs SET state = 'executing',
    attempts = jobs.attempts + 1
    FROM j WHERE jobs.id = j.id RETURNING jobs.id$$,
$$UPDATE jobs SET state = 'retryable', run_at = now() + attempts * interval '15 seconds', error = 'E' WHERE id = 1$$,
$$UPDATE jobs SET state = CASE WHEN attempts >= max_attempts THEN 'discarded' ELSE 'available' END,
    finished_at = CASE WHEN attempts >= max_attempts THEN timezone('UTC', now()) END
    WHERE state = 'executing' AND locked_at < timezone('UTC', now()) - interval '60 minutes'$$,
$$UPDATE jobs SET run_at = greatest(now(), run_at) + (exp(least(attempts, 10)) * interval '1 second'), locked_by = NULL,
    locked_at = NULL
    WHERE id = 3 AND locked_by = 'w'$$,
$$DELETE FROM jobs WHERE finished_at < now() - interval '7 days' AND state IN ('completed', 'cancelled')$$,
$$DELETE FROM jobs WHERE id = (SELECT id FROM jobs ORDER BY id FOR UPDATE SKIP LOCKED LIMIT 1) RETURNING payload$$,
$$WITH gone AS (DELETE FROM jobs WHERE finished_at < date '2020-01-01' RETURNING id)
    INSERT INTO counters (key, bucket, hits)
    SELECT 'gone', date_trunc('hour', now()), count(*) FROM gone
    ON CONFLICT (key, bucket) DO UPDATE SET hits = counters.hits + EXCLUDED.hits$$,
$$INSERT INTO jobs (queue, payload, run_at)
    VALUES ('mail', '{"to": 1}', now() + interval '1 h'), ('mail', '{"to": 2}', now() + interval '2 h')
    RETURNING id$$,
$$UPDATE jobs SET payload = payload || jsonb '{"seen": true}' - 'old' WHERE payload @> '{"to": 1}'$$,
-- counters, upserts, leases
$$INSERT INTO counters VALUES ('a', date_trunc('minute', now()), 1)
    ON CONFLICT (key, bucket) DO UPDATE SET hits = counters.hits + 1$$,
$$INSERT INTO counters AS c VALUES ('a', to_timestamp(1700000000), 1)
    ON CONFLICT (key, bucket)
    WHERE true DO UPDATE SET hits = CASE WHEN c.bucket < now() - interval '1 day' THEN 1 ELSE c.hits + 1 END$$,
$$INSERT INTO counters (key, bucket, hits)
    SELECT k, timestamptz '2024-01-01 00:00Z' + i * interval '1 hour', 0
    FROM unnest(ARRAY['x', 'y']) k, generate_series(0, 1) i ON CONFLICT DO NOTHING$$,
$$MERGE INTO counters c USING (VALUES ('a', timestamptz '2024-01-01', 5),
    ('b', timestamptz '2024-01-01', 6)) v(key, bucket, hits) ON c.key = v.key
    AND c.bucket = v.bucket WHEN MATCHED AND v.hits > 100 THEN DELETE WHEN MATCHED THEN
    UPDATE SET hits = c.hits + v.hits WHEN NOT MATCHED THEN INSERT
    VALUES (v.key, v.bucket, v.hits)$$,
$$MERGE INTO users u USING jobs j ON u.id = j.id AND j.run_at < now() - interval '1 day' WHEN MATCHED THEN
    UPDATE SET name = 'late', "lastSeenAt" = j.run_at + interval '1 h'$$,
$$UPDATE counters SET hits = 0 WHERE bucket < (date 'yesterday')::timestamptz$$,
$$UPDATE t SET tz = now() + (5 || ' seconds')::interval WHERE id = 1 AND (tz IS NULL OR tz < now())$$,
$$UPDATE t SET d = d + interval '1 month' - interval '1 day', ts = ts + '1 day'
    WHERE d BETWEEN date '2024-01-01' AND date '2024-12-31'$$,
$$UPDATE t SET p = point '(0,0)', bt = bit '10101010', r = int4range '[1,2)', m = mood 'ok', c = ROW(1, 'EUR')
    WHERE id = 1$$,
$$UPDATE t SET arr[1] = 5, arr[2:3] = '{6,7}', c.amount = 1.5 WHERE id = 1$$,
$$UPDATE ONLY t AS x SET txt = DEFAULT, n = x.n WHERE x.id = 1 AND EXTRACT(HOUR FROM x.ts) > 5$$,
$$UPDATE t SET iv = INTERVAL '1 day' * 2, tm = TIME '10:00', tz = TIMESTAMP '2024-01-01' AT TIME ZONE 'Europe/Berlin'
    WHERE EXTRACT(EPOCH FROM (now() - tz)) > 3600$$,
$$DELETE FROM t WHERE ts < localtimestamp - cast('90 days' as interval) AND id % 10 = 3$$,
$$UPDATE/*+ IndexScan(t) */t SET/* a comment with ' and $9 */n=1 -- another 'one' $8
  WHERE txt='x'$$,
$$UPDATE t SET txt = 'a $1 b', n = 2 WHERE txt = $q$ $2 interval $3 $q$ AND "iv" = interval '1 s'$$,
$$UPDATE t SET txt = 'interval ''2 days''' WHERE txt = E'interval \'1 day\''$$]);

CREATE VIEW app.application AS
SELECT row_number() OVER () AS n, s AS statement
  FROM (SELECT format(f, e) AS s
          FROM app.expression, unnest(ARRAY[
               'UPDATE t SET txt = (%s)::text WHERE id = 5', 'DELETE FROM t WHERE (%s) IS NULL AND id = 6',
               'INSERT INTO t (id, txt) SELECT 7, ''x'' FROM t WHERE (%s) IS NULL '
               'ON CONFLICT (id) DO UPDATE SET txt = EXCLUDED.txt',
               'MERGE INTO t USING users u ON t.id = u.id WHEN MATCHED AND (%s) IS NULL '
               'THEN UPDATE SET n = 1, b = false']) f
        UNION ALL
        SELECT s FROM app.statement) all_of;
