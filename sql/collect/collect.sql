-- Stage collect: read the counters, write intervals, choose what to sample. CALL ff_collect() drives these steps
-- (src/collect/collect.c).

-- Error 42501, with a hint, if the calling role may not write the history; one table stands for all.
CREATE FUNCTION ff_internal.check_collector() RETURNS void
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT ff_internal.refuse('42501', format('role %I may not write the history', current_user),
               'A collection inserts into, updates and deletes from the tables of the extension.',
               format('Ask a superuser to run SELECT ff_grant(%L, ''collector'').', current_user))
      FROM unnest('{INSERT,UPDATE,DELETE}'::text[]) p
    HAVING NOT bool_and(has_table_privilege('ff_internal.collection', p));
END;

-- Readers (src/collect/relation.c): none of them waits for a lock.

-- A table's valid indexes, sorted by OID (NULL: none), and its statistics since the last reset.
CREATE FUNCTION ff_internal.counters(
    relation oid,
    OUT index_oids oid[], OUT inserted bigint, OUT updated bigint, OUT hot_updated bigint, OUT newpage_updated bigint,
    OUT deleted bigint, OUT seq_scans bigint, OUT index_scans bigint, OUT blocks_fetched bigint, OUT blocks_hit bigint,
    OUT vacuums bigint, OUT analyzes bigint)
LANGUAGE c STRICT VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'ff_counters';

-- Returns the statements that make these indexes; '' for an index that is gone, and for all if the table is locked.
CREATE FUNCTION ff_internal.index_definitions(relation oid, indexes oid[]) RETURNS text[]
LANGUAGE c STRICT STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'ff_index_definitions';

-- Main forks of a table, of all its indexes and of its TOAST table, bytes; NULL: missing file.
CREATE FUNCTION ff_internal.sizes(relation oid, OUT heap_bytes bigint, OUT index_bytes bigint, OUT toast_bytes bigint)
LANGUAGE c STRICT VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'ff_sizes';

-- Identifier of the cluster, WAL timeline, and OID of this database.
CREATE FUNCTION ff_internal.server(OUT system_identifier bigint, OUT timeline bigint, OUT database_oid oid)
LANGUAGE c STRICT VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'ff_server';

-- Fillfactor, percent, that the server reads from a table's stored options, whatever their spelling.
CREATE FUNCTION ff_internal.effective_fillfactor(reloptions text[]) RETURNS integer
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'ff_fillfactor';

-- Returns the server's epoch, a new one if necessary. one_reset: the counters of a single table, index or function were
-- reset since the last collection; true until all tables are read in one transaction (all_tables).
CREATE FUNCTION ff_internal.current_epoch(all_tables boolean, OUT epoch_id integer, OUT one_reset boolean)
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    here      ff_internal.epoch;
    last      ff_internal.epoch;
    none_fell boolean;
BEGIN
    SELECT * INTO last FROM ff_internal.epoch e ORDER BY e.epoch_id DESC LIMIT 1;
    SELECT last.epoch_id, s.system_identifier, s.database_oid, s.timeline,
           current_setting('server_version_num')::integer, pg_stat_get_db_stat_reset_time(s.database_oid),
           pg_stat_get_bgwriter_stat_reset_time(), last.began_at
      INTO here FROM ff_internal.server() s;
    epoch_id := last.epoch_id;
    one_reset := last.database_reset IS DISTINCT FROM here.database_reset;
    -- Each collection adds one row to the table collection, so that table's counter falls exactly if all counters were
    -- reset. A count of 1 proves nothing: the first row may have been counted after a reset.
    SELECT c.own_inserts > 1 AND k.inserted >= c.own_inserts INTO none_fell
      FROM ff_internal.collection c, ff_internal.counters(c.tableoid) k
     ORDER BY c.collection_id DESC LIMIT 1;
    IF none_fell THEN
        last.database_reset := here.database_reset;
    END IF;
    IF last IS DISTINCT FROM here THEN
        one_reset := false;
        here.began_at := clock_timestamp();
        INSERT INTO ff_internal.epoch OVERRIDING USER VALUE SELECT here.* RETURNING epoch.epoch_id INTO epoch_id;
    ELSIF one_reset AND all_tables THEN
        UPDATE ff_internal.epoch e SET database_reset = here.database_reset WHERE e.epoch_id = here.epoch_id;
    END IF;
END
$$;

-- Hashes of index definitions without names and storage options; NULL: the index is gone. A dump and restore keeps
-- them: columns count by position without the dropped ones, user functions and operators, which may be renamed, are not
-- told apart, and casts are left out because a dump may write them differently.
CREATE FUNCTION ff_internal.index_keys(indexes oid[]) RETURNS bigint[]
LANGUAGE sql STABLE
AS $$
    SELECT array_agg(k.key ORDER BY n.place)
      FROM unnest(indexes) WITH ORDINALITY n(id, place)
      LEFT JOIN LATERAL (
           SELECT hashtextextended(concat_ws('|', m.amname, i.indisunique, i.indnullsnotdistinct, i.indimmediate,
                      i.indnkeyatts, ARRAY(SELECT array_position(a.present, c) FROM unnest(i.indkey::int2[]) c),
                      ARRAY(SELECT (SELECT o.opcname FROM pg_opclass o WHERE o.oid = c)
                              FROM unnest(i.indclass::oid[]) c),
                      i.indcollation::oid[]::regcollation[], i.indoption,
                      ARRAY(SELECT coalesce(CASE WHEN e[1] = ':varattno'
                                                 THEN array_position(a.present, e[2]::int2)::text
                                                 -- FirstNormalObjectId: lower OIDs are the server's own
                                                 WHEN e[1] IN (':funcid', ':opno') AND e[2]::bigint >= 16384 THEN ''
                                                 ELSE e[2] END, e[3], e[4])
                              FROM regexp_matches(concat(i.indexprs, '|', i.indpred),
                                       '(:varattno|:funcid|:opno|:boolop|:[a-z]+testtype|:op) ([[:alnum:]-]+)'
                                       -- constants of built-in types: others may be OIDs
                                       '|:consttype [0-9]{1,4} [^{}]*:constvalue ([^{}]*)'
                                       '|([|]|[{](?!RELABEL|ARRAY|CASETEST)[A-Z]+)', 'g') e)), 0) AS key
             FROM pg_index i
             JOIN pg_class r ON r.oid = n.id
             JOIN pg_am m ON m.oid = r.relam
            CROSS JOIN LATERAL (SELECT array_agg(a.attnum ORDER BY a.attnum) AS present FROM pg_attribute a
                                 WHERE a.attrelid = i.indrelid AND a.attnum > 0 AND NOT a.attisdropped) a
            WHERE i.indexrelid = n.id) k ON true
$$;

-- A table's storage options except fillfactor, sorted; NULL: none.
CREATE FUNCTION ff_internal.other_options(reloptions text[]) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (SELECT array_agg(o.option ORDER BY o.option) FROM unnest(reloptions) o(option)
         WHERE o.option !~* '^fillfactor=');

-- Counters: each batch of tables, in OID order, is compared with the baselines; differences are written.

CREATE VIEW ff_internal.table_state AS
SELECT c.relid, c.created_xid, c.nspname, c.relname, c.relfilenode, c.reloptions,
       ff_internal.effective_fillfactor(c.reloptions)::smallint AS fillfactor, k.*
  FROM ff_internal.user_table c CROSS JOIN LATERAL ff_internal.counters(c.relid) k
 WHERE c.not_examined IS NULL;
COMMENT ON VIEW ff_internal.table_state IS 'The tables examined as they are now; columns as in relation.';

CALL ff_internal.define($$
CREATE TYPE ff_internal.table_difference AS (
    -- A table that differs from its baseline.
    was               ff_internal.relation,    -- the baseline; NULL: a new table
    now               ff_internal.table_state, -- NULL: the table is gone
    counted           ff_internal.counters,    -- counted since the baseline
    redefined         boolean,       -- its file, name, options or indexes differ
    lost              boolean,       -- its counters were reset, or may have been
    index_definitions text[],        -- now
    index_keys        bigint[],      -- now
    indexed_columns   smallint[]     -- now
);
$$);

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
    SELECT * INTO here FROM ff_internal.server();
    RETURN (
        SELECT array_agg(ROW(d.was, d.now, d.counted, d.redefined,
                   -- counters may exceed their old values again after a reset; if none fell, any of these may be the
                   -- one that was reset
                   d.fell OR d.new_epoch OR d.perhaps_reset AND NOT d.some_fell, x.*)::ff_internal.table_difference)
          FROM (SELECT w.was, n.now, ROW(i.*)::ff_internal.counters AS counted, f.*,
                       bool_or(f.fell) OVER () AS some_fell,
                       -- some may be missing because the table was locked
                       f.redefined OR coalesce('' = ANY (w.index_definitions), false) AS reread,
                       i.inserted + i.updated + i.deleted <> 0 AS changed, w.epoch_id <> epoch AS new_epoch,
                       -- a reset clears these times: one from before the last collection proves that there was none
                       one_reset AND coalesce(least(
                           pg_stat_get_last_vacuum_time(n.relid), pg_stat_get_last_autovacuum_time(n.relid),
                           pg_stat_get_last_analyze_time(n.relid), pg_stat_get_last_autoanalyze_time(n.relid))
                           >= previous, true) AS perhaps_reset
                  FROM (SELECT r AS was, r.* FROM ff_internal.relation r
                         WHERE (r.system_identifier, r.database_oid) = (here.system_identifier, here.database_oid)
                           AND r.relid > first AND r.relid <= last AND r.closed_at IS NULL) w
                  -- OFFSET 0: evaluates each state once
                  FULL JOIN (SELECT t.now, (t.now).*
                               FROM (SELECT s AS now FROM ff_internal.table_state s
                                      WHERE s.relid > first AND s.relid <= last OFFSET 0) t) n
                    ON n.relid = w.relid AND n.created_xid = w.created_xid
                 CROSS JOIN LATERAL (
                       SELECT n.inserted - coalesce(w.inserted, 0) AS inserted,
                              n.updated - coalesce(w.updated, 0) AS updated,
                              n.hot_updated - coalesce(w.hot_updated, 0) AS hot_updated,
                              n.newpage_updated - coalesce(w.newpage_updated, 0) AS newpage_updated,
                              n.deleted - coalesce(w.deleted, 0) AS deleted,
                              n.seq_scans - coalesce(w.seq_scans, 0) AS seq_scans,
                              -- falls when an index is dropped
                              greatest(n.index_scans - coalesce(w.index_scans, 0), 0) AS index_scans,
                              n.blocks_fetched - coalesce(w.blocks_fetched, 0) AS blocks_fetched,
                              greatest(n.blocks_hit - coalesce(w.blocks_hit, 0), 0) AS blocks_hit,
                              n.vacuums - coalesce(w.vacuums, 0) AS vacuums) i
                 CROSS JOIN LATERAL (
                       SELECT least(i.inserted, i.updated, i.hot_updated, i.newpage_updated, i.deleted, i.seq_scans,
                                    i.blocks_fetched, i.vacuums, n.analyzes - w.analyzes) < 0 AS fell,
                              (n.nspname, n.relname, n.relfilenode, n.reloptions, n.index_oids)
                                IS DISTINCT FROM (w.nspname, w.relname, w.relfilenode, w.reloptions, w.index_oids)
                                AS redefined) f) d
         CROSS JOIN LATERAL (
               SELECT (d.was).index_definitions, (d.was).index_keys, (d.was).indexed_columns WHERE NOT d.reread
               UNION ALL
               SELECT ff_internal.index_definitions((d.now).relid, (d.now).index_oids),
                      ff_internal.index_keys((d.now).index_oids), ff_internal.blocking_columns((d.now).index_oids)
                WHERE d.reread) x
         WHERE d.changed OR d.fell OR d.reread OR d.new_epoch);
END
$$;

-- Closes the history of tables that are gone.
CREATE FUNCTION ff_internal.close_tables(gone bigint[], snapshot_at timestamptz) RETURNS void
LANGUAGE sql VOLATILE
BEGIN ATOMIC
    UPDATE ff_internal.relation r SET closed_at = snapshot_at WHERE r.rel_id = ANY (gone);
    DELETE FROM ff_internal.problem p WHERE p.rel_id = ANY (gone);
END;

-- Writes changes, baselines and intervals. The first interval of a table created since the previous collection of this
-- epoch counts from zero.
CREATE FUNCTION ff_internal.write_differences(
    differences ff_internal.table_difference[], epoch integer, previous timestamptz, snapshot_at timestamptz
) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
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
     WHERE n.relid = w.relid AND d.redefined AND k.differs;

    UPDATE ff_internal.relation r
       SET (relid, created_xid, nspname, relname, relfilenode, reloptions, fillfactor, index_oids, inserted, updated,
            hot_updated, newpage_updated, deleted, seq_scans, index_scans, blocks_fetched, blocks_hit, vacuums,
            analyzes) = ROW(n.*),
           epoch_id = epoch, seen_at = snapshot_at, index_definitions = d.index_definitions,
           index_keys = d.index_keys, indexed_columns = d.indexed_columns,
           changes_since_sample = r.changes_since_sample + CASE WHEN d.lost THEN n.inserted + n.updated + n.deleted
               ELSE (d.counted).inserted + (d.counted).updated + (d.counted).deleted END
               -- a rewrite moves every row
               + CASE WHEN n.relfilenode = r.relfilenode THEN 0
                      ELSE coalesce((SELECT greatest(o.reltuples, 100)::bigint FROM pg_class o
                                      WHERE o.oid = n.relid AND o.reltuples < 1e15), 100) END
      FROM unnest(differences) d CROSS JOIN LATERAL (SELECT (d.now).*) n
     WHERE r.rel_id = (d.was).rel_id AND n.relid = r.relid;

    INSERT INTO ff_internal.relation OVERRIDING USER VALUE
    SELECT 0, s.system_identifier, s.database_oid, n.*, d.index_definitions, d.index_keys, d.indexed_columns,
           snapshot_at, NULL, epoch, snapshot_at, NULL, n.inserted + n.updated + n.deleted
      FROM unnest(differences) d CROSS JOIN LATERAL (SELECT (d.now).*) n CROSS JOIN ff_internal.server() s
     WHERE (d.was).rel_id IS NULL;

    INSERT INTO ff_internal.counter_interval
    SELECT r.rel_id, least(greatest((d.was).seen_at, previous), snapshot_at), snapshot_at, epoch, 0, r.fillfactor,
           coalesce(r.relfilenode <> (d.was).relfilenode, false), i.*, z.heap_bytes, z.index_bytes
      FROM unnest(differences) d
     CROSS JOIN LATERAL (SELECT (d.counted).*) i
      JOIN ff_internal.relation r ON r.relid = (d.now).relid AND r.closed_at IS NULL
     CROSS JOIN LATERAL ff_internal.sizes(r.relid) z
     WHERE (d.redefined AND (d.was).rel_id IS NOT NULL OR i.inserted + i.updated + i.deleted <> 0)
       AND CASE WHEN (d.was).rel_id IS NULL THEN previous IS NOT NULL ELSE NOT d.lost END;
END
$$;

-- Begins a collection. If the history was restored into this database, matches its tables by name, once, and closes
-- those not found.
CREATE FUNCTION ff_internal.collect_begin(snapshot_at timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    here record;
BEGIN
    SELECT s.*, (SELECT (e.system_identifier, e.database_oid) <> (s.system_identifier, s.database_oid)
                   FROM ff_internal.epoch e ORDER BY e.epoch_id DESC LIMIT 1) AS restored
      INTO here FROM ff_internal.server() s;
    IF here.restored IS NOT TRUE THEN
        RETURN;
    END IF;
    UPDATE ff_internal.relation r
       SET system_identifier = here.system_identifier, database_oid = here.database_oid, relid = c.relid,
           created_xid = c.created_xid, relfilenode = c.relfilenode,
           -- indexes have new OIDs; an old OID may now be that of another index
           index_oids = (SELECT array_agg(0::oid) FROM unnest(r.index_oids)), indexed_columns = NULL
      FROM ff_internal.user_table c
     WHERE r.closed_at IS NULL AND (r.system_identifier, r.database_oid) <> (here.system_identifier, here.database_oid)
       AND (c.nspname, c.relname) = (r.nspname, r.relname) AND c.not_examined IS NULL;
    PERFORM ff_internal.close_tables(ARRAY(
        SELECT r.rel_id FROM ff_internal.relation r
         WHERE r.closed_at IS NULL
           AND (r.system_identifier, r.database_oid) <> (here.system_identifier, here.database_oid)), snapshot_at);
    -- statement targets hold OIDs, too; a partitioned table has no history, so only its name identifies it
    UPDATE ff_internal.statement_target t SET relid = r.relid
      FROM ff_internal.relation r WHERE r.rel_id = t.rel_id AND r.closed_at IS NULL;
    UPDATE ff_internal.statement_target t
       SET (relid, reason) = (SELECT CASE count(*) WHEN 1 THEN min(c.oid) END,
                                     CASE count(*) WHEN 1 THEN NULL ELSE 'not found by its name after a restore' END
                                FROM pg_class c WHERE c.relkind = 'p' AND c.relname = t.relation_name)
     WHERE t.rel_id IS NULL AND t.relid IS NOT NULL;
    -- query identifiers and counters are valid in one database only
    UPDATE ff_internal.statement s SET closed_at = snapshot_at WHERE s.closed_at IS NULL;
    DELETE FROM ff_internal.statement_baseline;
    UPDATE ff_internal.statement_snapshot l SET stats_reset = '-infinity' WHERE l.reason IS NULL;
END
$$;

-- Reads the next batch of tables, with OIDs above after. Returns the OID to continue after; NULL: done. If the counters
-- of a single table were reset, all remaining tables are one batch: only together do they show which one.
CREATE FUNCTION ff_internal.collect_counters(snapshot_at timestamptz, after bigint, batch integer) RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    most     CONSTANT oid := 4294967295;
    last     oid;
    epoch    record;
    previous timestamptz;
    differences ff_internal.table_difference[];
BEGIN
    PERFORM pg_stat_clear_snapshot();
    -- for each batch, because statistics may be reset in between
    SELECT * INTO epoch FROM ff_internal.current_epoch(after = 0);
    SELECT max(c.began_at) INTO previous FROM ff_internal.collection c WHERE c.epoch_id = epoch.epoch_id;
    SELECT max(t.oid) INTO last
      FROM (SELECT c.oid FROM pg_class c
             WHERE c.oid > after::oid AND c.relkind = ANY (ARRAY['r', 'm']::"char"[]) AND NOT epoch.one_reset
             ORDER BY c.oid LIMIT batch) t
    HAVING count(*) = batch;

    differences := ff_internal.table_differences(after::oid, coalesce(last, most), epoch.epoch_id, epoch.one_reset,
                                                 previous);
    PERFORM ff_internal.close_tables(array_agg((d.was).rel_id), snapshot_at)
       FROM unnest(differences) d
      WHERE (d.now).relid IS NULL
        -- a table that exists but is no longer examined stays open
        AND NOT EXISTS (SELECT FROM ff_internal.user_table c
                         WHERE c.relid = (d.was).relid AND c.created_xid = (d.was).created_xid)
     HAVING count(*) > 0;
    PERFORM ff_internal.write_differences(differences, epoch.epoch_id, previous, snapshot_at)
      WHERE differences IS NOT NULL;
    RETURN last;
END
$$;

-- Microseconds to read and to write one block, as measured by the last collection; NULL: unknown.
CREATE FUNCTION ff_internal.io_speed(OUT read_us double precision, OUT write_us double precision)
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    SELECT c.read_us, c.write_us INTO read_us, write_us FROM ff_internal.collection c WHERE c.ended_at IS NOT NULL
     ORDER BY c.began_at DESC LIMIT 1;
END
$$;

-- Records that all tables' counters were read; the next intervals begin here. Returns the collection_id.
CREATE FUNCTION ff_internal.collect_counted(snapshot_at timestamptz) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET stats_fetch_consistency = none
AS $$
DECLARE
    database    CONSTANT oid := (SELECT s.database_oid FROM ff_internal.server() s);
    timed       CONSTANT boolean := (SELECT s.reset_val FROM pg_settings s WHERE s.name = 'track_io_timing');
    own_inserts bigint;
    epoch       integer;
    previous    timestamptz;
    blocks_written bigint;
    write_ms    double precision;
    id          bigint;
BEGIN
    PERFORM pg_stat_clear_snapshot();
    -- before the epoch: a reset between the two then shows as a fall next time
    SELECT k.inserted INTO own_inserts FROM ff_internal.counters('ff_internal.collection'::regclass) k;
    SELECT n.epoch_id INTO epoch FROM ff_internal.current_epoch(false) n;
    SELECT max(began_at) INTO previous FROM ff_internal.collection WHERE epoch_id = epoch;
    IF to_regclass('pg_catalog.pg_stat_io') IS NOT NULL THEN
        EXECUTE format($q$ SELECT sum(%s) / current_setting('block_size')::integer, sum(i.write_time) FILTER (WHERE $1)
                             FROM pg_catalog.pg_stat_io i WHERE i.object = 'relation' $q$,
                       CASE WHEN EXISTS (SELECT FROM pg_attribute a WHERE a.attname = 'write_bytes'
                                            AND a.attrelid = to_regclass('pg_catalog.pg_stat_io'))
                            THEN 'i.write_bytes' ELSE 'i.writes * i.op_bytes' END)
           INTO blocks_written, write_ms USING timed;
    END IF;
    INSERT INTO ff_internal.collection (epoch_id, began_at, relations, changed, track_counts, open_writers, own_inserts,
           next_xid, busy_ms, blocks_read, read_ms, blocks_written, write_ms)
    SELECT epoch, snapshot_at, (SELECT count(*) FROM ff_internal.relation r WHERE r.closed_at IS NULL),
           (SELECT count(*) FROM ff_internal.counter_interval i WHERE i.rollup = 0 AND i.ended_at = snapshot_at),
           current_setting('track_counts')::boolean,
           (SELECT count(*) FROM pg_stat_get_activity(NULL) s
             WHERE s.datid = database AND s.pid <> pg_backend_pid() AND s.backend_xid IS NOT NULL
               -- a procedure that commits in between reports its counts at its end
               AND least(s.xact_start, s.query_start) < coalesce(previous, snapshot_at)),
           -- includes this row
           1 + own_inserts,
           pg_snapshot_xmax(pg_current_snapshot()),
           pg_stat_get_db_active_time(database) + pg_stat_get_db_idle_in_transaction_time(database),
           pg_stat_get_db_blocks_fetched(database) - pg_stat_get_db_blocks_hit(database),
           CASE WHEN timed THEN pg_stat_get_db_blk_read_time(database) END,
           blocks_written, write_ms
    RETURNING collection_id INTO id;
    RETURN id;
END
$$;

-- Returns the rel_id of the tables to sample now: never sampled, 1 % of the rows changed since the last sample, or any
-- change and a day has passed. Longest waiting first, then most changed; the wait of a table without changes counts one
-- eighth, that of a table sampled before one half, so that no table waits forever.
CREATE FUNCTION ff_internal.collect_due() RETURNS SETOF bigint
LANGUAGE sql STABLE
AS $$
    SELECT r.rel_id
      FROM ff_internal.relation r
      LEFT JOIN pg_class c ON c.oid = r.relid
     WHERE r.closed_at IS NULL
       AND CASE WHEN r.sampled_at IS NULL THEN true
                WHEN r.changes_since_sample = 0 THEN false
                WHEN r.sampled_at < clock_timestamp() - interval '1 day' THEN true
                ELSE r.changes_since_sample
                     >= 0.01 * greatest(CASE WHEN c.reltuples BETWEEN 0 AND 1e15 THEN c.reltuples ELSE 0 END, 100) END
     ORDER BY (clock_timestamp() - coalesce(r.sampled_at, r.opened_at))
              * CASE WHEN r.changes_since_sample = 0 THEN 1 WHEN r.sampled_at IS NULL THEN 8 ELSE 4 END DESC,
              r.changes_since_sample DESC, r.rel_id
$$;

-- Samples one table into page_sample and returns the number of pages read.
CREATE FUNCTION ff_internal.collect_pages(id bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    r          ff_internal.relation;
    s          ff_internal.page_sample;
    earlier    ff_internal.page_sample;
    changed_at timestamptz;
    began_at   CONSTANT timestamptz := clock_timestamp();
BEGIN
    SELECT o.* INTO r FROM ff_internal.relation o WHERE o.rel_id = id;
    SELECT greatest(c.changed_at, c.samples_from) INTO changed_at FROM ff_internal.last_change c WHERE c.rel_id = id;
    SELECT p.* INTO earlier FROM ff_internal.page_sample p WHERE p.rel_id = id AND p.sampled_at = r.sampled_at;
    s := ff_internal.sample(r.relid);
    s.rel_id := id;
    s.sampled_at := began_at;
    s.rollup := 0;
    s.fillfactor := r.fillfactor;
    s := ff_internal.pool_samples(s, earlier,
             -- bounded, because exp() raises an error on underflow
             exp(greatest(-100, least(0, extract(epoch FROM earlier.sampled_at - s.sampled_at))
                                / ff_internal.setting('lookback'))),
             earlier.fillfactor = s.fillfactor AND earlier.sampled_at >= coalesce(changed_at, '-infinity'));
    INSERT INTO ff_internal.page_sample SELECT s.*;
    UPDATE ff_internal.relation o SET sampled_at = s.sampled_at, changes_since_sample = 0 WHERE o.rel_id = id;
    DELETE FROM ff_internal.problem p WHERE p.rel_id = id;
    RETURN s.blocks_read;
END
$$;

-- Records why a table could not be sampled.
CREATE FUNCTION ff_internal.collect_problem(id bigint, state text, why text) RETURNS void
LANGUAGE sql VOLATILE
BEGIN ATOMIC
    INSERT INTO ff_internal.problem AS p (rel_id, seen_at, occurrences, sqlstate, message)
    VALUES (id, clock_timestamp(), 1, state, why)
    ON CONFLICT (rel_id) DO UPDATE
       SET seen_at = EXCLUDED.seen_at, sqlstate = EXCLUDED.sqlstate, message = EXCLUDED.message,
           occurrences = p.occurrences + 1;
END;

-- Runs a step in a subtransaction, so that an error affects only this table or step. Returns the step's result, NULL if
-- it is not a number, -1 after an error. The function writer gets the error (id, SQLSTATE, message); without one, a
-- warning says that the collection could not do what (none if that is NULL, or for is_skip() errors). Cancel, shutdown,
-- lack of resources and read-only transactions end the collection.
CREATE FUNCTION ff_internal.try_step(step text, id bigint, writer text, what text) RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    result text;
BEGIN
    EXECUTE format('SELECT ff_internal.%I($1)', step) INTO result USING id;
    RETURN CASE WHEN result ~ '^[0-9]+$' THEN result::bigint END;
EXCEPTION
    WHEN operator_intervention OR insufficient_resources OR program_limit_exceeded OR invalid_transaction_state THEN
        RAISE;
    WHEN OTHERS THEN
        IF writer IS NOT NULL THEN
            EXECUTE format('SELECT ff_internal.%I($1, $2, $3)', writer) USING id, SQLSTATE, SQLERRM;
        ELSIF what IS NOT NULL AND NOT ff_internal.is_skip(SQLSTATE) THEN
            RAISE WARNING USING ERRCODE = SQLSTATE, MESSAGE = format('could not %s: %s', what, SQLERRM);
        END IF;
        RETURN -1;
END
$$;

-- Whether an error only means that a table was locked, gone or unreadable; the next collection tries again.
CREATE FUNCTION ff_internal.is_skip(state text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN state IN ('55P03', '42P01', '0A000');

-- Closes a collection: stores its counts, and the mean time to read and to write a block over the lookback, if timed.
-- Before PostgreSQL 16, writes are those of the statements followed.
CREATE FUNCTION ff_internal.collect_end(id bigint, deferred integer) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    done record;
BEGIN
    SELECT (SELECT count(*) FROM ff_internal.relation r WHERE r.sampled_at >= c.began_at) AS sampled,
           count(p.rel_id) FILTER (WHERE ff_internal.is_skip(p.sqlstate)) AS skipped,
           count(p.rel_id) FILTER (WHERE NOT ff_internal.is_skip(p.sqlstate)) AS failed
      INTO done
      FROM ff_internal.collection c
      LEFT JOIN ff_internal.problem p ON p.seen_at >= c.began_at
     WHERE c.collection_id = id GROUP BY c.collection_id;
    WITH timed AS (
        SELECT v.*
          FROM (SELECT c AS now, lag(c) OVER (PARTITION BY c.epoch_id ORDER BY c.collection_id) AS was
                  FROM ff_internal.collection c WHERE c.began_at > now() - ff_internal.lookback()) s
         CROSS JOIN LATERAL (VALUES
               ('read', (s.now).blocks_read - (s.was).blocks_read, (s.now).read_ms - (s.was).read_ms),
               ('write', (s.now).blocks_written - (s.was).blocks_written, (s.now).write_ms - (s.was).write_ms)
               ) v(what, blocks, ms)
        UNION ALL
        SELECT 'write', h.blocks_written, h.write_ms FROM ff_internal.statement_history h
         WHERE to_regclass('pg_catalog.pg_stat_io') IS NULL AND h.ended_at > now() - ff_internal.lookback()
    ), took AS (
        -- 1,000 blocks (chosen): the mean of fewer is mostly noise
        SELECT m.what, 1000 * sum(m.ms) / sum(m.blocks) AS us
          FROM timed m WHERE m.blocks > 0 AND m.ms > 0 GROUP BY m.what HAVING sum(m.blocks) >= 1000
    )
    UPDATE ff_internal.collection c
       SET ended_at = clock_timestamp(), sampled = done.sampled, skipped = done.skipped, failed = done.failed,
           deferred = collect_end.deferred,
           read_us = (SELECT t.us FROM took t WHERE t.what = 'read'),
           write_us = (SELECT t.us FROM took t WHERE t.what = 'write')
     WHERE c.collection_id = id;
    IF done.failed > 0 THEN
        RAISE WARNING '% of % relations could not be sampled', done.failed, done.failed + done.skipped + done.sampled
            USING HINT = 'See the table ff_internal.problem for each one''s error.';
    END IF;
END
$$;

CREATE PROCEDURE ff_internal.collect()
LANGUAGE c
AS 'MODULE_PATHNAME', 'ff_collect';

CREATE PROCEDURE @extschema@.ff_collect()
LANGUAGE c
AS 'MODULE_PATHNAME', 'ff_collect';
COMMENT ON PROCEDURE @extschema@.ff_collect() IS
'Reads the counters of every table, records what changed, and samples the most urgent tables within '
'fillfactor_advisor.collect_pages and collect_time. Commits as it goes when called outside a transaction block. A '
'second collector ends with a notice. Errors: 25006 in recovery or a read-only transaction, 42501 if the role may not '
'write the history. PREPARE TRANSACTION after it fails with 0A000.';
