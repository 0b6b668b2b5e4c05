-- Tables with a history written by hand, for tests of the report: as many as
-- the variable n says, all empty, with the figures of seven kinds of table in
-- turn, an idle day and an hour of intervals each; one in three was never collected.
\ir ../queries/sampled.sql
CALL ff_collect();
UPDATE ff_internal.collection SET began_at = now(), relations = :n, changed = 0;
SELECT format('CREATE TABLE t%s (i int PRIMARY KEY, j int) WITH (fillfactor = %s); CREATE INDEX ON t%s (j);', k,
    CASE k % 18 WHEN 5 THEN 70 ELSE 100 END, k)
    FROM generate_series(1, :n) k \gexec

INSERT INTO ff_internal.relation (system_identifier, database_oid, relid, created_xid, nspname, relname, relfilenode,
    reloptions, index_oids, fillfactor, opened_at, epoch_id, seen_at,
                         inserted, updated, hot_updated, newpage_updated, deleted, seq_scans, index_scans,
                         blocks_fetched, blocks_hit, vacuums, analyzes, sampled_at)
SELECT s.system_identifier, d.oid, c.oid, a.xmin, 'public', c.relname, c.relfilenode, c.reloptions,
    (ff_internal.counters(c.oid)).index_oids, ff_internal.effective_fillfactor(c.reloptions), now() - interval '2 days',
    (SELECT max(epoch_id) FROM ff_internal.epoch), now(),
       0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, now() - interval '1 second'
  FROM ff_internal.server s, pg_database d, pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = -1
 WHERE d.datname = current_database() AND c.relkind = 'r' AND c.relname ~ '^t\d+$'
   AND substr(c.relname, 2)::int % 3 > 0;

CREATE TEMP VIEW kind AS
SELECT r.rel_id, r.fillfactor, r.sampled_at, substr(r.relname, 2)::int AS k, v.*
  FROM ff_internal.relation r
  JOIN (VALUES (1,  500, 3000,   0, 3000, '{"update_group_rows": 56}'),
               (7,    0, 1000, 995,    5, '{}'),
               (13,   0, 1000,   0,   20, '{}'),
               (4, 1000, 2000, 400, 1600, '{"inserted_width": 64, "updated_width": 224}'),
               (10,   0, 1000, 1000,   0, '{}'),
               (16,   0,    1,    1,   0, '{}'),
               (5, 1000, 0, 0, 0,
                   '{"updated_pct": 0, "updated_width": null, "updated_hot_rows": 0, "updated_nonhot_rows": 0, '
                   '"rows_per_page": 42, "rows_per_page_max": 42}')
       ) v(one_of, inserted, updated, hot, newpage, sample) ON v.one_of = CASE substr(r.relname, 2)::int % 18
       WHEN 5 THEN 5 WHEN 1 THEN 1 WHEN 4 THEN 4 WHEN 13 THEN 13 WHEN 7 THEN 7
       WHEN 16 THEN 16 ELSE 10 END
 WHERE r.nspname = 'public' AND r.relname ~ '^t\d+$';

INSERT INTO ff_internal.counter_interval (rel_id, began_at, ended_at, epoch_id, fillfactor, rewritten, inserted,
    updated, hot_updated, newpage_updated, deleted,
                         seq_scans, index_scans, blocks_fetched, blocks_hit, vacuums, heap_bytes, index_bytes)
SELECT rel_id, now() - make_interval(mins => n), now() - make_interval(mins => n - 1),
    (SELECT max(epoch_id) FROM ff_internal.epoch), fillfactor, false,
       inserted, updated, hot, newpage, 0, 0, 0, 1000, 1000, 0, 8192000, 1000000
  FROM kind, generate_series(1, 60) n
UNION ALL
-- idle the day before
SELECT rel_id, now() - interval '25 hours', now() - interval '1 hour', (SELECT max(epoch_id) FROM ff_internal.epoch),
    fillfactor, false,
       0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8192000, 1000000
  FROM kind;

INSERT INTO ff_internal.page_sample
SELECT (sampled(jsonb_build_object('rel_id', rel_id, 'sampled_at', sampled_at, 'fillfactor', fillfactor)
    || sample::jsonb)).*
  FROM kind;

-- transactions do not count on, so the advice is always the same
UPDATE ff_internal.collection SET began_at = (SELECT max(ended_at) FROM ff_internal.counter_interval),
    next_xid = pg_snapshot_xmax(pg_current_snapshot());
