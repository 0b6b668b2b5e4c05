-- Tables of the demo and of the test of the whole loop, one for each outcome
-- that an advisor has to tell apart.  pgbench's own tables are the sixth.
CREATE SCHEMA shop;

-- Jobs: a batch is inserted by one transaction and updated by the next; about
-- 56 rows a page, and the updated columns have no index.
CREATE TABLE shop.jobs (
	id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	batch    bigint NOT NULL,
	status   int NOT NULL DEFAULT 0,
	result   int NOT NULL DEFAULT 0,
	payload  text NOT NULL
);
CREATE INDEX jobs_batch ON shop.jobs (batch);
CREATE SEQUENCE shop.batch;

-- Orders: the updated column is indexed, so no update can be HOT.
CREATE TABLE shop.orders (
	id       bigint PRIMARY KEY,
	status   int NOT NULL,
	note     text NOT NULL
);
CREATE INDEX orders_status ON shop.orders (status);
INSERT INTO shop.orders SELECT i, i % 8, repeat('n', 60) FROM generate_series(1, 20000) i;

-- Log: rows are only inserted, so the reserve is wasted.
CREATE TABLE shop.log (
	at       timestamptz NOT NULL DEFAULT clock_timestamp(),
	line     text NOT NULL
) WITH (fillfactor = 70);

-- Countries: hardly any updates.
CREATE TABLE shop.countries (
	code     text PRIMARY KEY,
	name     text NOT NULL
);
INSERT INTO shop.countries SELECT 'c' || i, 'country ' || i FROM generate_series(1, 200) i;
