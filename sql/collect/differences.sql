-- Write what changed: tables that are gone, changes of options and indexes, intervals.

-- Returns the tables with first < OID <= last that differ from their baselines; NULL: none.
CREATE FUNCTION ff_internal.table_differences(
    first oid, last oid, epoch integer, one_reset boolean, previous timestamptz
) RETURNS ff_internal.table_difference[]
LANGUAGE plpgsql VOLATILE
-- without caching, which would keep the entries of all tables until the transaction ends
SET stats_fetch_consistency = none
AS $$
DECLARE
    here record;
BEGIN
    SELECT * INTO here FROM ff_internal.server;
    RETURN (
    WITH state AS MATERIALIZED (    -- each evaluated once
        SELECT s AS now FROM ff_internal.table_state s WHERE s.relid > first AND s.relid <= last
    ), compared AS (
        SELECT w.was, n.now, i.counted, f.*, bool_or(f.fell) OVER () AS some_fell, w.epoch_id <> epoch AS new_epoch,
               -- some may be missing because the table was locked
               f.redefined OR coalesce('' = ANY (w.index_definitions), false) AS reread,
               (i.counted).inserted + (i.counted).updated + (i.counted).deleted AS changed_rows,
               n.inserted + n.updated + n.deleted AS rows,
               -- reset_at is exact where it is known; else: a reset clears these times, so one from before the last
               -- collection proves that nothing was reset since
               one_reset AND coalesce(coalesce(n.reset_at, least(
                   pg_stat_get_last_vacuum_time(n.relid), pg_stat_get_last_autovacuum_time(n.relid),
                   pg_stat_get_last_analyze_time(n.relid), pg_stat_get_last_autoanalyze_time(n.relid)))
                   >= previous, true) AS perhaps_reset
          FROM (SELECT r AS was, r.* FROM ff_internal.relation r
                 WHERE (r.system_identifier, r.database_oid) = (here.system_identifier, here.database_oid)
                   AND r.relid > first AND r.relid <= last AND r.closed_at IS NULL) w
          FULL JOIN (SELECT s.now, (s.now).* FROM state s) n ON n.relid = w.relid AND n.created_xid = w.created_xid
         CROSS JOIN LATERAL ff_internal.counted_since(n.now, w.was) i
         CROSS JOIN LATERAL (
               SELECT i.fell OR coalesce(n.analyzes < w.analyzes, false) AS fell,
                      (n.nspname, n.relname, n.relfilenode, n.reloptions, n.index_oids) IS DISTINCT FROM
                      (w.nspname, w.relname, w.relfilenode, w.reloptions, w.index_oids) AS redefined) f
    )
    SELECT array_agg(ROW(d.was, d.now, d.counted, CASE WHEN l.lost THEN d.rows ELSE d.changed_rows END, d.redefined,
                         l.lost, x.*)::ff_internal.table_difference)
      FROM compared d
     -- counters may exceed their old values again after a reset; if none fell, any of these may be the one reset
     CROSS JOIN LATERAL (SELECT d.fell OR d.new_epoch OR d.perhaps_reset AND NOT d.some_fell) l(lost)
     CROSS JOIN LATERAL (
           SELECT (d.was).index_definitions, (d.was).indexed_columns WHERE NOT d.reread
           UNION ALL
           SELECT ff_internal.index_definitions((d.now).relid, (d.now).index_oids),
                  ff_internal.blocking_columns((d.now).index_oids) WHERE d.reread) x
     WHERE d.changed_rows <> 0 OR d.fell OR d.reread OR d.new_epoch);
END
$$;

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
           old_options, new_options, dropped_indexes, created_indexes, reindexed_columns)
    SELECT w.rel_id, k.kind, least(greatest(w.seen_at, previous), snapshot_at), snapshot_at, epoch,
           w.fillfactor, n.fillfactor, w.reloptions, n.reloptions, x.dropped, x.created,
           CASE WHEN w.indexed_columns IS NOT NULL
                THEN ARRAY(SELECT coalesce(b, a) FROM unnest(w.indexed_columns) b
                             FULL JOIN unnest(d.indexed_columns) a ON a = b WHERE a IS NULL OR b IS NULL) END
      FROM unnest(differences) d
     CROSS JOIN LATERAL (SELECT (d.was).*) w CROSS JOIN LATERAL (SELECT (d.now).*) n
     -- indexes dropped and created, except those replaced by one of the same shape
     CROSS JOIN LATERAL (
           WITH one_sided AS (
               SELECT o.*, s.shape, row_number() OVER (PARTITION BY o.gone, s.shape ORDER BY o.id) AS place
                 FROM (SELECT id, b.id IS NULL, coalesce(a.definition, b.definition)
                         FROM unnest(w.index_oids, w.index_definitions) a(id, definition)
                         FULL JOIN unnest(n.index_oids, d.index_definitions) b(id, definition) USING (id)
                        WHERE a.id IS NULL OR b.id IS NULL) o(id, gone, definition)
                -- the definition without name and storage options; after a column or function was renamed, or a dump
                -- wrote a cast differently, it is another one, once
                CROSS JOIN LATERAL (
                      SELECT CASE WHEN o.definition LIKE 'CREATE UNIQUE %' THEN 'UNIQUE' ELSE '' END
                             || coalesce(regexp_replace(substring(o.definition FROM ' USING .*'),
                                    ' WITH [(](, |[a-z_]+=(''[^'']*''|[a-z0-9_]+))*[)]', ''), o.definition)) s(shape)
           )
           SELECT array_agg(a.definition ORDER BY a.id, a.definition) FILTER (WHERE a.gone) AS dropped,
                  array_agg(a.definition ORDER BY a.id) FILTER (WHERE NOT a.gone) AS created
             FROM one_sided a
            WHERE NOT EXISTS (SELECT FROM one_sided b
                               WHERE b.gone <> a.gone AND b.place = a.place
                                 -- '': the index is locked, and perhaps the same
                                 AND (b.shape = a.shape OR '' IN (a.shape, b.shape)))) x
     CROSS JOIN LATERAL (VALUES
           ('fillfactor', n.fillfactor <> w.fillfactor),
           ('options', ff_internal.other_options(n.reloptions)
                       IS DISTINCT FROM ff_internal.other_options(w.reloptions)),
           ('indexes', x.dropped IS NOT NULL OR x.created IS NOT NULL)) k(kind, differs)
     WHERE n.relid = w.relid AND d.redefined AND k.differs
$$;

-- Writes changes, baselines and intervals. The first interval of a table created since the previous collection of this
-- epoch counts from zero, and begins when its file was made, if that is known; not in a mirror, where the source may
-- have had it before.
CREATE FUNCTION ff_internal.write_differences(
    differences ff_internal.table_difference[], epoch integer, previous timestamptz, snapshot_at timestamptz
) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    state CONSTANT text := ff_internal.column_list('ff_internal.table_state')
                           || ', epoch_id, seen_at, index_definitions, indexed_columns';
BEGIN
    PERFORM ff_internal.write_changes(differences, epoch, previous, snapshot_at);

    EXECUTE format($q$
        INSERT INTO ff_internal.relation AS r (system_identifier, database_oid, opened_at, changes_since_sample, %1$s)
        SELECT s.system_identifier, s.database_oid, $4,
               d.changed_rows
               -- a rewrite moves every row
               + CASE WHEN (d.now).relfilenode <> (d.was).relfilenode
                      THEN coalesce((SELECT greatest(o.reltuples, 100)::bigint FROM ff_internal.user_table o
                                      WHERE o.relid = (d.now).relid), 100) ELSE 0 END,
               (d.now).*, $2, $4, d.index_definitions, d.indexed_columns
          FROM unnest($1) d CROSS JOIN ff_internal.server s
         WHERE (d.now).relid IS NOT NULL
        ON CONFLICT (system_identifier, database_oid, relid) WHERE closed_at IS NULL DO UPDATE
           SET (%1$s) = ROW(%2$s), changes_since_sample = r.changes_since_sample + EXCLUDED.changes_since_sample $q$,
        state, regexp_replace(state, '(\w+)', 'EXCLUDED.\1', 'g'))
      USING differences, epoch, previous, snapshot_at;

    EXECUTE format($q$
        INSERT INTO ff_internal.counter_interval (rel_id, began_at, ended_at, epoch_id, rollup, fillfactor, rewritten,
               heap_bytes, index_bytes, %s)
        SELECT r.rel_id,
               least(greatest((d.was).seen_at, $3,
                              CASE WHEN (d.was).rel_id IS NULL THEN ff_internal.born_at(r.relid) END), $4),
               $4, $2, 0, r.fillfactor,
               coalesce(r.relfilenode <> (d.was).relfilenode, false), z.heap_bytes, z.index_bytes, (d.counted).*
          FROM unnest($1) d
          JOIN ff_internal.relation r ON r.relid = (d.now).relid AND r.closed_at IS NULL
         CROSS JOIN LATERAL ff_internal.sizes(r.relid) z
         WHERE (d.redefined AND (d.was).rel_id IS NOT NULL OR d.changed_rows <> 0)
           AND CASE WHEN (d.was).rel_id IS NULL
                    THEN $3 IS NOT NULL AND (SELECT s.observed IS NULL FROM ff_internal.server s)
                    ELSE NOT d.lost END $q$, ff_internal.column_list('ff_internal.counters'))
      USING differences, epoch, previous, snapshot_at;
END
$$;
