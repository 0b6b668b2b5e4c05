-- Stage collect: look at the counters, write intervals, choose what to sample,
-- keep the history small.  CALL ff_collect() drives these steps, see
-- src/collect.c.

-- ---------------------------------------------------------------------------
-- Readers (src/relinfo.c)
-- ---------------------------------------------------------------------------
-- Cumulative statistics of one table by one look into the statistics system, without a lock: rows and scans and pages
-- since the last reset; zeros where nothing was counted; newpage_updated NULL before PostgreSQL 16.
CREATE FUNCTION ff_internal.counters(
    relation oid,
    OUT inserted bigint, OUT updated bigint, OUT hot_updated bigint, OUT newpage_updated bigint, OUT deleted bigint,
    OUT live_rows bigint, OUT dead_rows bigint,
    OUT seq_scans bigint, OUT seq_rows bigint, OUT blocks_fetched bigint, OUT blocks_hit bigint,
    OUT vacuums bigint, OUT analyzes bigint)
LANGUAGE c STRICT VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'ff_counters';

-- Valid indexes of a table, in order, without a lock; NULL where there is none.
CREATE FUNCTION ff_internal.index_oids(relation oid) RETURNS oid[]
LANGUAGE c STRICT STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'ff_index_oids';

-- Statements that make these indexes of a table, in this order; empty for one that is gone, and for all where the
-- table's lock was not to be had at once. Never waits, unlike pg_get_indexdef().
CREATE FUNCTION ff_internal.index_definitions(relation oid, indexes oid[]) RETURNS text[]
LANGUAGE c STRICT STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'ff_index_definitions';

-- Main forks of a table, of all its indexes and of its TOAST table, bytes; NULL where the relation is gone or a file
-- is missing. Needs no lock, so it never waits, unlike pg_relation_size().
CREATE FUNCTION ff_internal.sizes(relation oid, OUT heap_bytes bigint, OUT index_bytes bigint, OUT toast_bytes bigint)
LANGUAGE c STRICT VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'ff_sizes';

-- Identifier of the cluster, WAL timeline, and whether it is in recovery.
CREATE FUNCTION ff_internal.server(OUT system_identifier bigint, OUT timeline bigint, OUT in_recovery boolean)
LANGUAGE c STRICT VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'ff_server';

-- Fillfactor, percent, that the server reads from a table's stored options (pg_class.reloptions), whatever their
-- spelling; 100 where they name none.
CREATE FUNCTION ff_internal.effective_fillfactor(reloptions text[]) RETURNS integer
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'ff_fillfactor';

-- ---------------------------------------------------------------------------
-- Which relations are examined, and why the others are not
-- ---------------------------------------------------------------------------

-- ---------------------------------------------------------------------------
-- Epoch
-- ---------------------------------------------------------------------------
-- Epoch_id: the epoch that the server is in, written down where it is new. one_reset: the counters of a single table,
-- index or function were reset since the last collection; told until a look at all tables follows in the same
-- transaction (all_tables).
CREATE FUNCTION ff_internal.current_epoch(all_tables boolean, OUT epoch_id integer, OUT one_reset boolean)
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    now_is  ff_internal.epoch;
    last    ff_internal.epoch;
    before  record;
BEGIN
    SELECT 0, s.system_identifier, d.oid, s.timeline, current_setting('server_version_num')::integer,
           pg_stat_get_db_stat_reset_time(d.oid), pg_stat_get_bgwriter_stat_reset_time(), clock_timestamp()
      INTO now_is
      FROM ff_internal.server() s, pg_database d
     WHERE d.datname = current_database();

    one_reset := false;
    SELECT * INTO last FROM ff_internal.epoch e ORDER BY e.epoch_id DESC LIMIT 1;
    IF FOUND AND (last.system_identifier, last.database_oid, last.timeline, last.server_version)
               = (now_is.system_identifier, now_is.database_oid, now_is.timeline, now_is.server_version)
             AND last.cluster_reset IS NOT DISTINCT FROM now_is.cluster_reset
    THEN
        -- The database's reset time also moves when one table's counters are
        -- reset.  A collection inserts one row into collection, so the
        -- counter of that table falls if, and only if, all were reset.
        SELECT c.own_inserts, k.inserted INTO before
          FROM ff_internal.collection c, ff_internal.counters(c.tableoid) k
         ORDER BY c.collection_id DESC LIMIT 1;
        epoch_id := last.epoch_id;
        IF last.database_reset IS NOT DISTINCT FROM now_is.database_reset THEN
            RETURN;
        -- of the first collection's one row nobody can tell whether it was counted anew
        ELSIF before.own_inserts > 1 AND before.inserted >= before.own_inserts THEN
            IF all_tables THEN
                UPDATE ff_internal.epoch e SET database_reset = now_is.database_reset WHERE e.epoch_id = last.epoch_id;
            END IF;
            one_reset := true;
            RETURN;
        END IF;
    END IF;

    INSERT INTO ff_internal.epoch (system_identifier, database_oid, timeline, server_version, database_reset, cluster_reset, began_at)
    VALUES (now_is.system_identifier, now_is.database_oid, now_is.timeline, now_is.server_version, now_is.database_reset, now_is.cluster_reset, now_is.began_at)
    RETURNING epoch.epoch_id INTO epoch_id;
END
$$;

-- ---------------------------------------------------------------------------
-- Changes
-- ---------------------------------------------------------------------------
-- Definitions of the indexes that went and came between two looks at a table; NULL where none did. An index replaced
-- by an equal one is no change.
CREATE FUNCTION ff_internal.index_changes(old_oids oid[], old_definitions text[], new_oids oid[], new_definitions text[], OUT dropped text[], OUT created text[])
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    -- An index that came while an equal one went (REINDEX CONCURRENTLY, or a
    -- history restored elsewhere) is no change, nor is another name.
    WITH one AS (
        SELECT o.id, o.definition, 1 AS side FROM unnest(old_oids, old_definitions) o(id, definition) WHERE o.id <> ALL (coalesce(new_oids, '{}'))
        UNION ALL
        SELECT n.id, n.definition, 2 FROM unnest(new_oids, new_definitions) n(id, definition) WHERE n.id <> ALL (coalesce(old_oids, '{}'))
    ), keyed AS (
        SELECT one.*, (definition LIKE 'CREATE UNIQUE %')::text || coalesce(substring(definition FROM ' USING .*'), definition) AS key FROM one
    ), numbered AS (
        SELECT k.*, row_number() OVER (PARTITION BY side, key ORDER BY id) AS n FROM keyed k
    ), unpaired AS (
        SELECT a.* FROM numbered a WHERE NOT EXISTS (SELECT 1 FROM numbered b WHERE b.side <> a.side AND b.key = a.key AND b.n = a.n)
    )
    SELECT array_agg(definition ORDER BY id) FILTER (WHERE side = 1), array_agg(definition ORDER BY id) FILTER (WHERE side = 2) FROM unpaired
$$;

-- A table's stored options without its fillfactor, in order; NULL where there is no other.
CREATE FUNCTION ff_internal.other_options(reloptions text[]) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT array_agg(o.option ORDER BY o.option) FROM unnest(reloptions) o(option) WHERE o.option !~* '^fillfactor='
$$;

-- ---------------------------------------------------------------------------
-- Begin: identities, intervals, changes, baselines
-- ---------------------------------------------------------------------------
-- Begins a collection, as of snapshot_at: finds the tables of a history that was restored or upgraded into this
-- database.
CREATE FUNCTION ff_internal.collect_begin(snapshot_at timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    server    record;
    database  oid := (SELECT oid FROM pg_database WHERE datname = current_database());
BEGIN
    SELECT * INTO server FROM ff_internal.server();
    -- A history that was restored or upgraded into this database finds its
    -- tables by name, once.
    UPDATE ff_internal.relation r
       SET system_identifier = server.system_identifier, database_oid = database, relid = c.relid, created_xid = a.xmin,
           relfilenode = c.relfilenode
      FROM ff_internal.candidate c
      JOIN pg_attribute a ON a.attrelid = c.relid AND a.attnum = -1
     WHERE r.closed_at IS NULL
       AND (r.system_identifier, r.database_oid) <> (server.system_identifier, database)
       AND (c.nspname, c.relname) = (r.nspname, r.relname) AND c.not_examined IS NULL;

    -- What is not found by name is gone.
    WITH closed AS (
        UPDATE ff_internal.relation r SET closed_at = snapshot_at
         WHERE r.closed_at IS NULL AND (r.system_identifier, r.database_oid) <> (server.system_identifier, database)
        RETURNING r.rel_id
    )
    DELETE FROM ff_internal.problem p USING closed c WHERE c.rel_id = p.rel_id;
END
$$;

-- Reads the counters of the next batch of tables, by OID, from the one after "after" (0: the first): follows
-- identities, writes an interval for each table that changed, what was changed of its definition, and the new
-- baselines. Returns the OID to go on after; NULL: that was the last. All that are left are one batch where the
-- counters of a single table were reset.
CREATE FUNCTION ff_internal.collect_counters(snapshot_at timestamptz, after bigint, batch integer) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
SET jit = off
-- one plan for all batches: to make it takes longer than to run it; it is to be good for later ones, too
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
-- straight from shared memory: a snapshot of all tables would be kept until the end
SET stats_fetch_consistency = none
AS $$
DECLARE
    server    record;
    database  oid := (SELECT oid FROM pg_database WHERE datname = current_database());
    epoch     integer;
    one_reset boolean;
    previous  timestamptz;
    first     CONSTANT oid := after::oid;   -- exclusive
    last      oid;
BEGIN
    PERFORM pg_stat_clear_snapshot();
    SELECT * INTO server FROM ff_internal.server();
    -- Each batch anew: statistics may be reset between two.  Where those of one
    -- table were, the rest are one batch: only all together tell which it was.
    SELECT n.epoch_id, n.one_reset INTO epoch, one_reset FROM ff_internal.current_epoch(first = 0) n;
    SELECT max(began_at) INTO previous FROM ff_internal.collection WHERE epoch_id = epoch;
    IF NOT one_reset THEN
        SELECT max(t.oid) INTO last
          FROM (SELECT c.oid FROM pg_class c
                 WHERE c.oid > first AND c.relkind = ANY (ARRAY['r', 'm']::"char"[]) ORDER BY c.oid LIMIT batch) t
        HAVING count(*) = batch;
    END IF;
    last := coalesce(last, 4294967295);

    -- Gone, or another table under the same OID.
    WITH closed AS (
        UPDATE ff_internal.relation r SET closed_at = snapshot_at
         WHERE r.system_identifier = server.system_identifier AND r.database_oid = database AND r.relid > first AND r.relid <= last AND r.closed_at IS NULL
           AND NOT EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = r.relid AND a.attnum = -1 AND a.xmin = r.created_xid)
        RETURNING r.rel_id
    )
    DELETE FROM ff_internal.problem p USING closed c WHERE c.rel_id = p.rel_id;

    -- One look at the counters serves every statement part: all of them see the
    -- baselines as they were before.
    WITH look AS MATERIALIZED (
        SELECT c.relid, a.xmin AS created_xid, c.nspname, c.relname, c.relfilenode, c.reloptions,
               ff_internal.effective_fillfactor(c.reloptions) AS fillfactor,
               ff_internal.index_oids(c.relid) AS index_oids, k.*
          FROM ff_internal.candidate c
          JOIN pg_attribute a ON a.attrelid = c.relid AND a.attnum = -1
         CROSS JOIN LATERAL ff_internal.counters(c.relid) k
         WHERE c.not_examined IS NULL AND c.relid > first AND c.relid <= last
    ), known AS (
        SELECT l.*, r.rel_id, r.epoch_id,
               r.relfilenode <> l.relfilenode AS rewritten,
               (l.inserted, l.updated, l.hot_updated, coalesce(l.newpage_updated, 0), l.deleted)
                 IS DISTINCT FROM (r.inserted, r.updated, r.hot_updated, coalesce(r.newpage_updated, 0), r.deleted) AS moved,
               -- one table's counters were reset: any of them fell
               l.inserted < r.inserted OR l.updated < r.updated OR l.hot_updated < r.hot_updated OR l.deleted < r.deleted
                 OR coalesce(l.newpage_updated < r.newpage_updated, false) OR l.seq_scans < r.seq_scans OR l.blocks_fetched < r.blocks_fetched
                 OR l.vacuums < r.vacuums OR l.analyzes < r.analyzes AS fell,
               -- a vacuum or analyze before the last collection would have been
               -- forgotten by a reset since
               one_reset AND coalesce(least(pg_stat_get_last_vacuum_time(l.relid), pg_stat_get_last_autovacuum_time(l.relid),
                                            pg_stat_get_last_analyze_time(l.relid), pg_stat_get_last_autoanalyze_time(l.relid)) >= previous, true) AS perhaps_reset,
               r.epoch_id IS DISTINCT FROM epoch AS new_epoch,
               (l.nspname, l.relname, l.relfilenode, l.reloptions, l.index_oids)
                 IS DISTINCT FROM (r.nspname, r.relname, r.relfilenode, r.reloptions, r.index_oids) AS redefined,
               -- its lock was not to be had when its indexes were to be read
               coalesce('' = ANY (r.index_definitions), false) AS unread
          FROM look l
               -- OFFSET: by the index, table by table, also in a plan that was made when there were none
         CROSS JOIN LATERAL (SELECT b.* FROM ff_internal.relation b
                              WHERE b.system_identifier = server.system_identifier AND b.database_oid = database AND b.relid = l.relid AND b.closed_at IS NULL OFFSET 0) r
    ), changed AS MATERIALIZED (
        SELECT k.*, s.heap_bytes, s.index_bytes,
               -- A reset table whose counters exceed the old ones already shows
               -- none that fell: then whatever it may have been is not believed.
               k.fell OR k.new_epoch OR (k.perhaps_reset AND NOT EXISTS (SELECT 1 FROM known o WHERE o.fell)) AS lost,
               CASE WHEN k.redefined OR k.unread THEN ff_internal.index_definitions(k.relid, k.index_oids) END AS index_definitions,
               (SELECT coalesce(sum(pg_stat_get_numscans(i.indexrelid)), 0) FROM pg_index i WHERE i.indrelid = k.relid)::bigint AS index_scans
          FROM known k CROSS JOIN LATERAL ff_internal.sizes(k.relid) s
         WHERE k.moved OR k.fell OR k.new_epoch OR k.redefined OR k.unread
    ), interval_rows AS (
        INSERT INTO ff_internal.counter_interval
               (rel_id, began_at, ended_at, epoch_id, fillfactor, rewritten, inserted, updated, hot_updated, newpage_updated, deleted,
                seq_scans, index_scans, blocks_fetched, blocks_hit, vacuums, heap_bytes, index_bytes)
        SELECT c.rel_id, least(greatest(r.seen_at, previous), snapshot_at), snapshot_at, epoch, c.fillfactor, c.rewritten,
               c.inserted - r.inserted, c.updated - r.updated, c.hot_updated - r.hot_updated, c.newpage_updated - r.newpage_updated, c.deleted - r.deleted,
               c.seq_scans - r.seq_scans, greatest(c.index_scans - r.index_scans, 0), c.blocks_fetched - r.blocks_fetched, greatest(c.blocks_hit - r.blocks_hit, 0),
               c.vacuums - r.vacuums, c.heap_bytes, c.index_bytes
          FROM changed c JOIN ff_internal.relation r ON r.rel_id = c.rel_id
         WHERE (c.moved OR c.redefined) AND NOT c.lost
    ), changes AS (
        INSERT INTO ff_internal.change
               (rel_id, kind, before_at, seen_at, epoch_id, old_fillfactor, new_fillfactor, old_options, new_options, dropped_indexes, created_indexes)
        SELECT c.rel_id, k.kind, least(greatest(r.seen_at, previous), snapshot_at), snapshot_at, epoch, r.fillfactor, c.fillfactor, r.reloptions, c.reloptions, x.dropped, x.created
          FROM changed c JOIN ff_internal.relation r ON r.rel_id = c.rel_id
         CROSS JOIN LATERAL ff_internal.index_changes(r.index_oids, r.index_definitions, c.index_oids, c.index_definitions) x
         CROSS JOIN LATERAL (VALUES ('fillfactor', c.fillfactor <> r.fillfactor),
                                    ('options', ff_internal.other_options(c.reloptions) IS DISTINCT FROM ff_internal.other_options(r.reloptions)),
                                    ('indexes', x.dropped IS NOT NULL OR x.created IS NOT NULL)) k(kind, differs)
         WHERE c.redefined AND k.differs
    ), baselines AS (
        UPDATE ff_internal.relation r
           SET nspname = c.nspname, relname = c.relname, relfilenode = c.relfilenode, reloptions = c.reloptions, fillfactor = c.fillfactor,
               index_oids = c.index_oids, index_definitions = CASE WHEN c.redefined OR c.unread THEN c.index_definitions ELSE r.index_definitions END,
               epoch_id = epoch, seen_at = snapshot_at,
               inserted = c.inserted, updated = c.updated, hot_updated = c.hot_updated, newpage_updated = c.newpage_updated, deleted = c.deleted,
               seq_scans = c.seq_scans, index_scans = c.index_scans, blocks_fetched = c.blocks_fetched, blocks_hit = c.blocks_hit,
               vacuums = c.vacuums, analyzes = c.analyzes,
               changes_since_sample = CASE WHEN c.lost THEN r.changes_since_sample + c.inserted + c.updated + c.deleted
                   ELSE r.changes_since_sample + c.inserted - r.inserted + c.updated - r.updated + c.deleted - r.deleted END
                   -- in a new file every row has a new place
                   + CASE WHEN c.rewritten THEN coalesce((SELECT greatest(o.reltuples, 100)::bigint FROM pg_class o WHERE o.oid = c.relid AND o.reltuples < 1e15), 100) ELSE 0 END
          FROM changed c WHERE r.rel_id = c.rel_id
    ), fresh AS (
        INSERT INTO ff_internal.relation
               (system_identifier, database_oid, relid, created_xid, nspname, relname, relfilenode, reloptions, fillfactor, index_oids, index_definitions, opened_at, epoch_id, seen_at,
                inserted, updated, hot_updated, newpage_updated, deleted, seq_scans, index_scans, blocks_fetched, blocks_hit, vacuums, analyzes, changes_since_sample)
        SELECT server.system_identifier, database, l.relid, l.created_xid, l.nspname, l.relname, l.relfilenode, l.reloptions, l.fillfactor,
               l.index_oids, ff_internal.index_definitions(l.relid, l.index_oids), snapshot_at, epoch, snapshot_at,
               l.inserted, l.updated, l.hot_updated, l.newpage_updated, l.deleted, l.seq_scans,
               (SELECT coalesce(sum(pg_stat_get_numscans(i.indexrelid)), 0) FROM pg_index i WHERE i.indrelid = l.relid)::bigint,
               l.blocks_fetched, l.blocks_hit, l.vacuums, l.analyzes, l.inserted + l.updated + l.deleted
          FROM look l
         WHERE NOT EXISTS (SELECT 1 FROM ff_internal.relation r
                            WHERE r.system_identifier = server.system_identifier AND r.database_oid = database AND r.relid = l.relid AND r.closed_at IS NULL OFFSET 0)
        RETURNING rel_id, relid
    )
    -- Born since the previous collection of this epoch: its counters began
    -- at zero then, so they are an interval already.
    INSERT INTO ff_internal.counter_interval
           (rel_id, began_at, ended_at, epoch_id, fillfactor, rewritten, inserted, updated, hot_updated, newpage_updated, deleted,
            seq_scans, index_scans, blocks_fetched, blocks_hit, vacuums, heap_bytes, index_bytes)
    SELECT f.rel_id, least(previous, snapshot_at), snapshot_at, epoch, l.fillfactor, false, l.inserted, l.updated, l.hot_updated, l.newpage_updated, l.deleted,
           l.seq_scans, 0, l.blocks_fetched, l.blocks_hit, l.vacuums, s.heap_bytes, s.index_bytes
      FROM fresh f JOIN look l USING (relid) CROSS JOIN LATERAL ff_internal.sizes(l.relid) s
     WHERE previous IS NOT NULL AND l.inserted + l.updated + l.deleted > 0;
    RETURN nullif(last, 4294967295);
END
$$;

-- Writes down that the counters of all tables have been read, as of snapshot_at: from then on intervals begin. Returns
-- the collection_id.
CREATE FUNCTION ff_internal.collect_counted(snapshot_at timestamptz) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
SET stats_fetch_consistency = none
AS $$
DECLARE
    database  oid := (SELECT oid FROM pg_database WHERE datname = current_database());
    own_inserts    bigint;
    epoch     integer;
    previous  timestamptz;
    id        bigint;
BEGIN
    PERFORM pg_stat_clear_snapshot();
    -- first this: a reset that comes between the two is a fall next time
    SELECT k.inserted INTO own_inserts FROM ff_internal.counters('ff_internal.collection'::regclass) k;
    SELECT n.epoch_id INTO epoch FROM ff_internal.current_epoch(false) n;
    SELECT max(began_at) INTO previous FROM ff_internal.collection WHERE epoch_id = epoch;
    INSERT INTO ff_internal.collection (epoch_id, began_at, relations, changed, track_counts, open_writers, own_inserts, next_xid, busy_ms)
    SELECT epoch, snapshot_at, (SELECT count(*) FROM ff_internal.relation r WHERE r.closed_at IS NULL),
           (SELECT count(*) FROM ff_internal.counter_interval i WHERE i.rollup = 0 AND i.ended_at = snapshot_at), current_setting('track_counts')::boolean,
           (SELECT count(*) FROM pg_stat_get_activity(NULL) s
             WHERE s.datid = database AND s.pid <> pg_backend_pid() AND s.backend_xid IS NOT NULL
               -- a procedure that commits as it goes reports its counts at its end
               AND least(s.xact_start, s.query_start) < coalesce(previous, snapshot_at)),
           -- this row itself will be counted
           1 + own_inserts,
           pg_snapshot_xmax(pg_current_snapshot()),
           pg_stat_get_db_active_time(database) + pg_stat_get_db_idle_in_transaction_time(database)
    RETURNING collection_id INTO id;
    RETURN id;
END
$$;

-- ---------------------------------------------------------------------------
-- Pages: what to sample, one sample, its failure
-- ---------------------------------------------------------------------------
-- Rel_id of the tables whose pages should be sampled now, most urgent first.
CREATE FUNCTION ff_internal.collect_due() RETURNS SETOF bigint
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- Worth reading again: a hundredth of the rows changed since the last
    -- sample, or anything did and a day has passed.  Longest waiting first,
    -- then most changed; where nothing changed a wait counts for an eighth, where
    -- it changed since a sample for half: no table waits for ever.
    SELECT r.rel_id
      FROM ff_internal.relation r
      LEFT JOIN pg_class c ON c.oid = r.relid
     WHERE r.closed_at IS NULL
       AND CASE WHEN r.sampled_at IS NULL THEN true
                WHEN r.changes_since_sample = 0 THEN false
                WHEN r.sampled_at < clock_timestamp() - interval '1 day' THEN true
                ELSE r.changes_since_sample >= 0.01 * greatest(CASE WHEN c.reltuples BETWEEN 0 AND 1e15 THEN c.reltuples ELSE 0 END, 100) END
     ORDER BY (clock_timestamp() - coalesce(r.sampled_at, r.opened_at))
              * CASE WHEN r.changes_since_sample = 0 THEN 1 WHEN r.sampled_at IS NULL THEN 8 ELSE 4 END DESC,
              r.changes_since_sample DESC, r.rel_id
$$;

-- Samples one table into page_sample and returns the number of pages read. What earlier samples saw fades over
-- fillfactor_advisor.lookback; of superseded versions only that counts which came after fillfactor or indexes changed.
CREATE FUNCTION ff_internal.collect_pages(id bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    r          ff_internal.relation;
    s          ff_internal.page_sample;
    earlier    ff_internal.page_sample;
    changed_at timestamptz;
BEGIN
    SELECT o.* INTO r FROM ff_internal.relation o WHERE o.rel_id = id;
    SELECT greatest(c.changed_at, c.samples_from) INTO changed_at FROM ff_internal.last_change c WHERE c.rel_id = id;
    SELECT p.* INTO earlier FROM ff_internal.page_sample p WHERE p.rel_id = id AND p.sampled_at = r.sampled_at;
    s := ff_internal.sample(r.relid);
    s.rel_id := id;
    s.rollup := 0;
    s.fillfactor := r.fillfactor;
    s := ff_internal.pool_samples(s, earlier,
             exp(least(0, extract(epoch FROM earlier.sampled_at - s.sampled_at)) / ff_internal.setting('lookback')::double precision),
             earlier.fillfactor = s.fillfactor AND earlier.sampled_at >= coalesce(changed_at, '-infinity'));
    INSERT INTO ff_internal.page_sample SELECT s.*;
    UPDATE ff_internal.relation o SET sampled_at = s.sampled_at, changes_since_sample = 0 WHERE o.rel_id = id;
    DELETE FROM ff_internal.problem p WHERE p.rel_id = id;
    RETURN s.blocks_read;
END
$$;

-- Writes down why a table could not be sampled.
CREATE FUNCTION ff_internal.collect_problem(id bigint, state text, why text) RETURNS void
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    INSERT INTO ff_internal.problem AS p (rel_id, seen_at, occurrences, sqlstate, message)
    VALUES (id, clock_timestamp(), 1, state, why)
    ON CONFLICT (rel_id) DO UPDATE
       SET seen_at = EXCLUDED.seen_at, sqlstate = EXCLUDED.sqlstate, message = EXCLUDED.message, occurrences = p.occurrences + 1
$$;

-- Closes a collection with its counts.
CREATE FUNCTION ff_internal.collect_end(id bigint, sampled integer, skipped integer, failed integer, deferred integer) RETURNS void
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    UPDATE ff_internal.collection c
       SET ended_at = clock_timestamp(), sampled = $2, skipped = $3, failed = $4, deferred = $5
     WHERE c.collection_id = $1
$$;

-- ---------------------------------------------------------------------------
-- Prune: finer history becomes coarser, then goes
-- ---------------------------------------------------------------------------
-- Rows that a history table has at least, by the server's own counts, this session's included, without reading it. Too
-- low for rows inserted since the last vacuum or analyze.
CREATE FUNCTION ff_internal.rows_kept(history_table text) RETURNS bigint
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
SET stats_fetch_consistency = none
AS $$
    -- Two counts of the server, neither to be relied on alone: the running one
    -- may have rows twice that were reported after a vacuum had seen them, that
    -- of the last vacuum or analyze lacks all that came since.
    SELECT least(k.live_rows + pg_stat_get_xact_tuples_inserted(c.oid),
                 CASE WHEN c.reltuples BETWEEN 0 AND 1e15 THEN c.reltuples::bigint ELSE 0 END - k.dead_rows)
           - pg_stat_get_xact_tuples_deleted(c.oid)
      FROM pg_class c
     CROSS JOIN LATERAL ff_internal.counters(c.oid) k
     WHERE c.relname = history_table AND c.relnamespace = 'ff_internal'::regnamespace
$$;

-- One batch of keeping the history small: rows older than fillfactor_advisor.retention or beyond
-- fillfactor_advisor.history_rows go, those older than a day are rolled up to hours, those older than two weeks to
-- days. Returns the rows handled; fewer than the batch means that nothing is left.
CREATE FUNCTION ff_internal.prune(batch bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    oldest  CONSTANT timestamptz := clock_timestamp() - make_interval(secs => ff_internal.setting('retention')::integer);
    most    CONSTANT bigint := ff_internal.setting('history_rows')::bigint;
    step    record;
    removed bigint := 0;
    n       bigint;
BEGIN
    -- past the retention
    DELETE FROM ff_internal.counter_interval i
     WHERE i.ctid = ANY (ARRAY(SELECT o.ctid FROM ff_internal.counter_interval o, (VALUES (0), (1), (2)) g(rollup)
                                WHERE o.rollup = g.rollup AND o.ended_at < oldest LIMIT batch));
    GET DIAGNOSTICS n = ROW_COUNT;
    removed := removed + n;
    DELETE FROM ff_internal.page_sample i
     WHERE i.ctid = ANY (ARRAY(SELECT o.ctid FROM ff_internal.page_sample o, (VALUES (0), (1), (2)) g(rollup)
                                WHERE o.rollup = g.rollup AND o.sampled_at < oldest LIMIT greatest(batch - removed, 0)));
    GET DIAGNOSTICS n = ROW_COUNT;
    removed := removed + n;

    -- past the limit of rows: the oldest, rolled up or not
    n := least(batch - removed, ff_internal.rows_kept('counter_interval') - most);
    IF n > 0 THEN
        DELETE FROM ff_internal.counter_interval i
         WHERE i.ctid = ANY (ARRAY(SELECT o.tid FROM (VALUES (0), (1), (2)) g(rollup)
                                    CROSS JOIN LATERAL (SELECT t.ctid AS tid, t.ended_at FROM ff_internal.counter_interval t
                                                         WHERE t.rollup = g.rollup ORDER BY t.ended_at LIMIT n) o
                                    ORDER BY o.ended_at LIMIT n));
        GET DIAGNOSTICS n = ROW_COUNT;
        removed := removed + n;
    END IF;
    n := least(batch - removed, ff_internal.rows_kept('page_sample') - most);
    IF n > 0 THEN
        DELETE FROM ff_internal.page_sample i
         WHERE i.ctid = ANY (ARRAY(SELECT o.tid FROM (VALUES (0), (1), (2)) g(rollup)
                                    CROSS JOIN LATERAL (SELECT t.ctid AS tid, t.sampled_at FROM ff_internal.page_sample t
                                                         WHERE t.rollup = g.rollup ORDER BY t.sampled_at LIMIT n) o
                                    ORDER BY o.sampled_at LIMIT n));
        GET DIAGNOSTICS n = ROW_COUNT;
        removed := removed + n;
    END IF;

    -- after a day by the hour, after two weeks by the day
    -- (UTC, so that all sessions agree; a volatile bound would have the index read whole)
    FOR step IN SELECT v.*, date_trunc(v.unit, clock_timestamp() - v.age, 'UTC') AS before
                  FROM (VALUES (0, 'hour', interval '1 day'), (1, 'day', interval '14 days')) v(rollup, unit, age) LOOP
        WITH taken AS (
            DELETE FROM ff_internal.counter_interval i
             WHERE i.ctid = ANY (ARRAY(SELECT o.ctid FROM ff_internal.counter_interval o
                                        WHERE o.rollup = step.rollup AND o.ended_at < step.before
                                        ORDER BY o.ended_at LIMIT greatest(batch - removed, 0)))
            RETURNING *
        ), rolled AS (
            INSERT INTO ff_internal.counter_interval
                   (rel_id, began_at, ended_at, epoch_id, rollup, fillfactor, rewritten, inserted, updated, hot_updated, newpage_updated, deleted,
                    seq_scans, index_scans, blocks_fetched, blocks_hit, vacuums, heap_bytes, index_bytes)
            SELECT rel_id, min(began_at), max(ended_at), epoch_id, step.rollup + 1, fillfactor, bool_or(rewritten),
                   sum(inserted), sum(updated), sum(hot_updated),
                   CASE WHEN count(newpage_updated) = count(*) THEN sum(newpage_updated) END, sum(deleted),
                   sum(seq_scans), sum(index_scans), sum(blocks_fetched), sum(blocks_hit), sum(vacuums),
                   (array_agg(heap_bytes ORDER BY ended_at DESC) FILTER (WHERE heap_bytes IS NOT NULL))[1],
                   (array_agg(index_bytes ORDER BY ended_at DESC) FILTER (WHERE index_bytes IS NOT NULL))[1]
              FROM taken GROUP BY rel_id, epoch_id, fillfactor, date_trunc(step.unit, ended_at, 'UTC')
        )
        SELECT count(*) INTO n FROM taken;
        removed := removed + n;

        -- of samples the last one of the hour or day is kept
        WITH old AS (
            SELECT o.ctid AS tid, o.rel_id, o.sampled_at
              FROM ff_internal.page_sample o
             WHERE o.rollup = step.rollup AND o.sampled_at < step.before
             ORDER BY o.sampled_at LIMIT greatest(batch - removed, 0)
        ), ranked AS (
            SELECT tid, row_number() OVER (PARTITION BY rel_id, date_trunc(step.unit, sampled_at, 'UTC') ORDER BY sampled_at DESC) = 1 AS last_one FROM old
        ), gone AS (
            DELETE FROM ff_internal.page_sample i WHERE i.ctid = ANY (ARRAY(SELECT tid FROM ranked WHERE NOT last_one))
        ), kept AS (
            UPDATE ff_internal.page_sample i SET rollup = step.rollup + 1 WHERE i.ctid = ANY (ARRAY(SELECT tid FROM ranked WHERE last_one))
        )
        SELECT count(*) INTO n FROM ranked;
        removed := removed + n;
    END LOOP;

    DELETE FROM ff_internal.collection c
     WHERE c.collection_id = ANY (ARRAY(SELECT o.collection_id FROM ff_internal.collection o WHERE o.began_at < oldest ORDER BY o.began_at LIMIT batch));
    GET DIAGNOSTICS n = ROW_COUNT;  removed := removed + n;
    DELETE FROM ff_internal.change c
     WHERE c.ctid = ANY (ARRAY(SELECT o.ctid FROM ff_internal.change o WHERE o.seen_at < oldest LIMIT batch));
    GET DIAGNOSTICS n = ROW_COUNT;  removed := removed + n;
    DELETE FROM ff_internal.prediction p
     WHERE p.ctid = ANY (ARRAY(SELECT o.ctid FROM ff_internal.prediction o WHERE o.made_at < oldest LIMIT batch));
    GET DIAGNOSTICS n = ROW_COUNT;  removed := removed + n;
    -- the value in force stays, however old
    DELETE FROM ff_internal.setting_history o
     WHERE o.seen_at < oldest AND EXISTS (SELECT 1 FROM ff_internal.setting_history l WHERE l.setting = o.setting AND l.seen_at > o.seen_at);
    DELETE FROM ff_internal.relation r
     WHERE r.rel_id = ANY (ARRAY(SELECT o.rel_id FROM ff_internal.relation o WHERE o.closed_at < oldest
                                    AND NOT EXISTS (SELECT 1 FROM ff_internal.counter_interval i WHERE i.rel_id = o.rel_id)
                                    AND NOT EXISTS (SELECT 1 FROM ff_internal.page_sample p WHERE p.rel_id = o.rel_id) LIMIT batch));
    GET DIAGNOSTICS n = ROW_COUNT;  removed := removed + n;
    RETURN removed;
END
$$;

-- ---------------------------------------------------------------------------
-- The collection
-- ---------------------------------------------------------------------------
CREATE PROCEDURE ff_internal.collect()
LANGUAGE c
AS 'MODULE_PATHNAME', 'ff_collect';

CREATE PROCEDURE @extschema@.ff_collect()
LANGUAGE c
AS 'MODULE_PATHNAME', 'ff_collect';
COMMENT ON PROCEDURE @extschema@.ff_collect() IS 'Reads the counters of every table, writes what changed, and samples the pages of the most urgent within fillfactor_advisor.collect_pages and collect_time. Commits as it goes when called outside a transaction block. Errors: 25006 in recovery or a read-only transaction, 42501 where the role may not write the history; PREPARE TRANSACTION after it: 0A000. A second collector leaves with a notice.';
