-- Stage collect: write what changed: tables that are gone, changes of options and indexes, intervals.

-- Closes the history of tables that are gone.
CREATE FUNCTION ff_internal.close_tables(gone bigint[], snapshot_at timestamptz) RETURNS void
LANGUAGE sql VOLATILE
BEGIN ATOMIC
    UPDATE ff_internal.relation r SET closed_at = snapshot_at WHERE r.rel_id = ANY (gone);
    DELETE FROM ff_internal.problem p WHERE p.rel_id = ANY (gone);
END;

-- Writes what changed of tables that were known before: fillfactor, other options, indexes.
CREATE FUNCTION ff_internal.write_changes(
    differences ff_internal.table_difference[], epoch integer, previous timestamptz, snapshot_at timestamptz
) RETURNS void
LANGUAGE sql VOLATILE
AS $$
    INSERT INTO ff_internal.change (rel_id, kind, before_at, seen_at, epoch_id, old_fillfactor, new_fillfactor,
           old_options, new_options, dropped_indexes, created_indexes, indexed_columns)
    SELECT w.rel_id, k.kind, least(greatest(w.seen_at, previous), snapshot_at), snapshot_at, epoch,
           w.fillfactor, n.fillfactor, w.reloptions, n.reloptions, x.dropped, x.created,
           CASE WHEN w.indexed_columns IS NOT NULL
                THEN ARRAY(SELECT coalesce(b, a) FROM unnest(w.indexed_columns) b
                             FULL JOIN unnest(d.indexed_columns) a ON a = b WHERE a IS NULL OR b IS NULL) END
      FROM unnest(differences) d
     CROSS JOIN LATERAL (SELECT (d.was).*) w CROSS JOIN LATERAL (SELECT (d.now).*) n
     -- indexes dropped and created, except those replaced by an equal one
     CROSS JOIN LATERAL (
           WITH one_sided AS (
               SELECT o.*, row_number() OVER (PARTITION BY o.gone, o.key ORDER BY o.id) AS place
                 FROM (SELECT i.*, true
                         FROM unnest(w.index_oids, w.index_definitions, w.index_keys) i(id, definition, key)
                        WHERE i.id <> ALL (coalesce(n.index_oids, '{}'))
                        UNION ALL
                       SELECT i.*, false
                         FROM unnest(n.index_oids, d.index_definitions, d.index_keys) i(id, definition, key)
                        WHERE i.id <> ALL (coalesce(w.index_oids, '{}'))) o(id, definition, key, gone)
           )
           SELECT array_agg(a.definition ORDER BY a.id, a.definition) FILTER (WHERE a.gone) AS dropped,
                  array_agg(a.definition ORDER BY a.id) FILTER (WHERE NOT a.gone) AS created
             FROM one_sided a
            WHERE NOT EXISTS (SELECT FROM one_sided b
                               WHERE b.gone <> a.gone AND (b.key, b.place) = (a.key, a.place))) x
     CROSS JOIN LATERAL (VALUES
           ('fillfactor', n.fillfactor <> w.fillfactor),
           ('options', ff_internal.other_options(n.reloptions)
                       IS DISTINCT FROM ff_internal.other_options(w.reloptions)),
           ('indexes', x.dropped IS NOT NULL OR x.created IS NOT NULL)) k(kind, differs)
     WHERE n.relid = w.relid AND d.redefined AND k.differs
$$;

-- Writes changes, baselines and intervals. The first interval of a table created since the previous collection of this
-- epoch counts from zero.
CREATE FUNCTION ff_internal.write_differences(
    differences ff_internal.table_difference[], epoch integer, previous timestamptz, snapshot_at timestamptz
) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    columns CONSTANT text := ff_internal.counter_columns();
BEGIN
    PERFORM ff_internal.write_changes(differences, epoch, previous, snapshot_at);

    EXECUTE format($q$
        UPDATE ff_internal.relation r
           SET (relid, created_xid, nspname, relname, relfilenode, reloptions, fillfactor, index_oids, analyzes) =
                   ROW(n.relid, n.created_xid, n.nspname, n.relname, n.relfilenode, n.reloptions, n.fillfactor,
                       n.index_oids, n.analyzes),
               epoch_id = $2, seen_at = $4, index_definitions = d.index_definitions,
               index_keys = d.index_keys, indexed_columns = d.indexed_columns,
               changes_since_sample = r.changes_since_sample + x.rows
                   -- a rewrite moves every row
                   + CASE WHEN n.relfilenode = r.relfilenode THEN 0
                          ELSE coalesce((SELECT greatest(o.reltuples, 100)::bigint FROM pg_class o
                                          WHERE o.oid = n.relid AND o.reltuples < 1e15), 100) END,
               (%1$s) = ROW((n.counted).*)
          FROM unnest($1) d CROSS JOIN LATERAL (SELECT (d.now).*) n
         CROSS JOIN LATERAL (SELECT c.inserted + c.updated + c.deleted AS rows
                               FROM (SELECT (CASE WHEN d.lost THEN n.counted ELSE d.counted END).*) c) x
         WHERE r.rel_id = (d.was).rel_id AND n.relid = r.relid $q$, columns)
      USING differences, epoch, previous, snapshot_at;

    EXECUTE format($q$
        INSERT INTO ff_internal.relation (system_identifier, database_oid, relid, created_xid, nspname, relname,
               relfilenode, reloptions, fillfactor, index_oids, analyzes, index_definitions, index_keys,
               indexed_columns, opened_at, epoch_id, seen_at, changes_since_sample, %1$s)
        SELECT s.system_identifier, s.database_oid, n.relid, n.created_xid, n.nspname, n.relname, n.relfilenode,
               n.reloptions, n.fillfactor, n.index_oids, n.analyzes, d.index_definitions, d.index_keys,
               d.indexed_columns, $4, $2, $4, (n.counted).inserted + (n.counted).updated + (n.counted).deleted,
               (n.counted).*
          FROM unnest($1) d CROSS JOIN LATERAL (SELECT (d.now).*) n CROSS JOIN ff_internal.server() s
         WHERE (d.was).rel_id IS NULL $q$, columns)
      USING differences, epoch, previous, snapshot_at;

    EXECUTE format($q$
        INSERT INTO ff_internal.counter_interval (rel_id, began_at, ended_at, epoch_id, rollup, fillfactor, rewritten,
               heap_bytes, index_bytes, %1$s)
        SELECT r.rel_id, least(greatest((d.was).seen_at, $3), $4), $4, $2, 0, r.fillfactor,
               coalesce(r.relfilenode <> (d.was).relfilenode, false), z.heap_bytes, z.index_bytes, (d.counted).*
          FROM unnest($1) d
          JOIN ff_internal.relation r ON r.relid = (d.now).relid AND r.closed_at IS NULL
         CROSS JOIN LATERAL ff_internal.sizes(r.relid) z
         WHERE (d.redefined AND (d.was).rel_id IS NOT NULL
                OR (d.counted).inserted + (d.counted).updated + (d.counted).deleted <> 0)
           AND CASE WHEN (d.was).rel_id IS NULL THEN $3 IS NOT NULL ELSE NOT d.lost END $q$, columns)
      USING differences, epoch, previous, snapshot_at;
END
$$;
