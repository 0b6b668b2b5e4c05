-- A batch is inserted, and all of it is updated right after.
SELECT nextval('shop.batch') AS batch \gset
INSERT INTO shop.jobs (batch, payload) SELECT :batch, repeat('p', 90) FROM generate_series(1, 500);
UPDATE shop.jobs SET status = 1, result = 42 WHERE batch = :batch;
