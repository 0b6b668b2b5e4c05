-- Tables with a history written by hand, a story for each cause: for the test
-- of the advice, and for the examples of doc/how-it-decides.md.  In a transaction,
-- with the extension there.

\ir sampled.sql

-- statements_of(NAME, SETS, ROWS, TEXT): for an hour, twenty calls a minute of a statement that sets one column, of so
-- many rows a minute.
CREATE FUNCTION statements_of(name text, sets text, rows bigint, text text, command text DEFAULT 'UPDATE')
    RETURNS void LANGUAGE sql AS $$
WITH s AS (
    INSERT INTO ff_internal.statement (queryid, toplevel, kind, text, opened_at)
    VALUES (hashtext(text), true, 'write', text, now()) RETURNING statement_id
), t AS (
    INSERT INTO ff_internal.statement_target (statement_id, "position", command, how, relation_name, relid, columns)
    SELECT statement_id, 1, command, 'top', name, name::regclass, ARRAY[sets] FROM s
)
INSERT INTO ff_internal.statement_history
SELECT (jsonb_populate_record(NULL::ff_internal.statement_history, jsonb_build_object(
           'statement_id', s.statement_id, 'began_at', now() - make_interval(mins => n), 'ended_at',
           now() - make_interval(mins => n - 1),
           'epoch_id', 1, 'rollup', 0, 'calls', 20, 'rows', statements_of.rows, 'total_ms', 10, 'squares', 5,
           'blocks_hit', 5000, 'blocks_read', 0,
           'blocks_dirtied', 0, 'wal_records', 80000, 'wal_fpi', 0, 'wal_bytes',
           8000000))).*
  FROM s, generate_series(1, 60) n;
$$;

-- story(NAME, ...): a table that was idle for a day, then collected once a minute for
-- an hour after ten of the same, its counters the same in every interval, and sampled at the end.
CREATE FUNCTION story(name text, inserted bigint, updated bigint, hot bigint, newpage bigint, sample jsonb DEFAULT '{}',
    fillfactor int DEFAULT 100, deleted bigint DEFAULT 0, intervals int DEFAULT 60, fetched bigint DEFAULT 1000,
    seq_scans bigint DEFAULT 0, index_scans bigint DEFAULT 0,
                      idle interval DEFAULT '1 day')
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    id bigint;
    epoch int := (SELECT max(epoch_id) FROM ff_internal.epoch);
BEGIN
    EXECUTE format('CREATE TABLE %I (i int PRIMARY KEY, j int) WITH (fillfactor = %s)', name, fillfactor);
    EXECUTE format('CREATE INDEX %I ON %I (j)', name || '_j', name);
    INSERT INTO ff_internal.relation (system_identifier, database_oid, relid, created_xid, nspname, relname,
        relfilenode, fillfactor, opened_at, epoch_id, seen_at,
                             inserted, updated, hot_updated, newpage_updated, deleted, seq_scans, index_scans,
                             blocks_fetched, blocks_hit, vacuums, analyzes, sampled_at)
    SELECT s.system_identifier, d.oid, c.oid, a.xmin, 'public', name, c.relfilenode, story.fillfactor,
        now() - interval '2 days', epoch, now(),
           10 * intervals * story.inserted, 10 * intervals * story.updated, 0, 0, 0, 0, 0, 0, 0, 0, 0,
           now() - interval '1 second'
      FROM ff_internal.server s, pg_database d, pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = -1
     WHERE d.datname = current_database() AND c.oid = name::regclass
    RETURNING rel_id INTO id;
    INSERT INTO ff_internal.counter_interval (rel_id, began_at, ended_at, epoch_id, fillfactor, rewritten, inserted,
        updated, hot_updated, newpage_updated, deleted,
                             seq_scans, index_scans, blocks_fetched, blocks_hit, vacuums, heap_bytes, index_bytes)
    SELECT id, now() - make_interval(mins => n), now() - make_interval(mins => n - 1), epoch, story.fillfactor, false,
           story.inserted, story.updated, hot, newpage, story.deleted, story.seq_scans, story.index_scans, fetched,
           fetched, 0, 8192000, 1000000
      FROM generate_series(1, intervals) n
    UNION ALL
    SELECT id, now() - make_interval(mins => intervals) - idle, now() - make_interval(mins => intervals), epoch,
        story.fillfactor, false,
           0, 0, 0, CASE WHEN newpage IS NOT NULL THEN 0 END, 0, 0, 0, 0, 0, 0, 8192000, 1000000
     WHERE idle > '0';
    INSERT INTO ff_internal.page_sample
    SELECT (sampled(jsonb_build_object('rel_id', id, 'sampled_at', now() - interval '1 second', 'fillfactor',
        story.fillfactor,
                                       'update_distance',
                                       CASE WHEN inserted > 0 THEN '[0,0,0,0,0,0,0,0,0,900]'::jsonb END) || sample)).*;
    IF inserted > 0 THEN
        PERFORM statements_of(name, NULL, inserted, format('COPY %I FROM STDIN', name), 'INSERT');
    END IF;
END $$;

CALL ff_collect();
UPDATE ff_internal.collection SET began_at = now(), next_xid = '10000000';
-- 120,000 transactions ago
INSERT INTO ff_internal.collection (epoch_id, began_at, ended_at, relations, changed, track_counts, open_writers,
    own_inserts, next_xid)
SELECT epoch_id, began_at - interval '25 hours', ended_at - interval '25 hours', relations, changed, track_counts, 0,
    own_inserts, '9880000'
    FROM ff_internal.collection;
-- somebody held a snapshot all the while
INSERT INTO ff_internal.horizon_history (kind, holder, since, last_seen_at, xids)
VALUES ('idle in transaction', 'pid 1', now() - interval '3 days', now(), 100000);

--              name       ins   upd   hot  newpage
SELECT story('settled',     0,  1000,  995,    5);
SELECT story('settled15',   0,  1000,  995, NULL);
SELECT story('indexed',     0,  1000,    0,   20);
SELECT story('indexed15',   0,  1000,    0, NULL, '{"superseded_same_page": 980, "superseded_newpage": 20}');
SELECT story('partly',      0,  1000,  500,   20);
SELECT story('full',     1000,  1000,  400,  600);
SELECT story('full15',   1000,  1000,  400, NULL, '{"superseded_same_page": 0, "superseded_newpage": 600}');
SELECT story('blind15',  1000,  1000,  400, NULL);
SELECT story('batch', 20000, 20000, 0, 20000,
    '{"update_group_rows": 56, "updated_pct": 98, "live_rows": 1260000, "blocks": 21000}');
SELECT statements_of('batch', 'k', 20000, 'UPDATE batch SET k = 1 WHERE k = 0');
SELECT story('growth', 1000, 2000, 1000, 1000,
    '{"inserted_width": 64, "updated_width": 224, "updated_pct": 85, "live_rows": 40000, "rows_per_page": 40}');
SELECT story('snapshot', 1000,  1000,  400,  600, '{"dead_rows": 60000, "recently_dead_rows": 59000}');
SELECT story('wide', 1000, 1000, 0, 1000,
    '{"inserted_width": 4400, "updated_width": 4400, "rows_per_page": 1, "rows_per_page_max": 1}');
SELECT story('few',         0,     1,    1,    0, idle => '0');
SELECT story('insertonly', 1000, 0, 0, 0,
    '{"updated_pct": 0, "updated_width": null, "updated_hot_rows": 0, "updated_nonhot_rows": 0}');
SELECT story('insert70', 1000, 0, 0, 0,
    '{"updated_pct": 0, "updated_width": null, "updated_hot_rows": 0, "updated_nonhot_rows": 0, '
    '"inserted_width": 121, "rows_per_page": 42, "rows_per_page_max": 42}',
    70);
SELECT story('readers',  1000,  1000,  940,   60, fetched => 10000000, index_scans => 5000000);
-- each update reads the table to find its row
SELECT story('own_scans', 1000, 1000,  940,   60, fetched => 1000000, seq_scans => 1000);
