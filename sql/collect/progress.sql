-- Progress of a running collection, derived from its locks and what it has committed.

CREATE FUNCTION @extschema@.ff_progress()
RETURNS TABLE (pid integer, phase text, began_at timestamptz, running_s float8, current_table regclass,
               sampled bigint, waiting bigint, collection_id bigint)
LANGUAGE sql VOLATILE ROWS 1
AS $$
    SELECT ff_internal.check_role('reader');
    SELECT l.pid, p.phase, a.query_start, extract(epoch FROM clock_timestamp() - a.query_start)::float8,
           -- the one user table that it has locked
           (SELECT t.relation::regclass FROM pg_locks t
              JOIN ff_internal.relation r ON r.relid = t.relation AND r.closed_at IS NULL
             WHERE t.pid = l.pid AND t.locktype = 'relation' AND t.database = l.database LIMIT 1),
           (SELECT count(*) FROM ff_internal.relation r WHERE r.sampled_at >= c.began_at HAVING p.phase <> 'counters'),
           CASE WHEN p.phase = 'pages' THEN
               (SELECT count(*) FROM ff_internal.collect_due() d(rel_id)
                 WHERE NOT EXISTS (SELECT 1 FROM ff_internal.problem r
                                    WHERE r.rel_id = d.rel_id AND r.seen_at >= c.began_at)) END,
           c.collection_id
      FROM pg_locks l
      JOIN pg_database b ON b.oid = l.database AND b.datname = current_database()
      LEFT JOIN pg_stat_get_activity(NULL) a ON a.pid = l.pid
      LEFT JOIN (SELECT * FROM ff_internal.collection ORDER BY collection_id DESC LIMIT 1) c
        ON c.began_at >= a.query_start
     CROSS JOIN LATERAL (SELECT CASE WHEN c.collection_id IS NULL THEN 'counters' WHEN c.ended_at IS NULL THEN 'pages'
                                     ELSE 'history' END) p(phase)
     -- the collector's lock, see src/collect/lock.c
     WHERE l.locktype = 'userlock' AND l.classid = 1717985636 AND l.objid = 1 AND l.objsubid = 2 AND l.granted
$$;
COMMENT ON FUNCTION @extschema@.ff_progress() IS
'The collection running in this database, if any. pid: its session. phase: counters (of all tables), pages '
'(samples), history (pruning). began_at, running_s: of the CALL, seconds. current_table: the table being sampled. '
'sampled: tables done so far. waiting: tables still to be sampled within the budget. '
'collection_id: its row in collection. The progress of a collection inside a transaction block is not visible.';
