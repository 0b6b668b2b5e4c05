-- The steps of a collection. CALL ff_collect() drives them (src/collect/collect.c).

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

-- Begins a collection and returns its time; in a mirror, reads the source first. If the history was restored into this
-- database, or the source is another one, matches its tables by name and closes those not found.
CREATE FUNCTION ff_internal.collect_begin(at timestamptz) RETURNS timestamptz
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    here        record;
    snapshot_at timestamptz;
BEGIN
    IF (SELECT s.observed->>'server' FROM ff_internal.server s) IS NOT NULL THEN
        EXECUTE 'SELECT ff_hub.observe()';
    END IF;
    SELECT s.*, (SELECT (e.system_identifier, e.database_oid, e.history_oid)
                        <> (s.system_identifier, s.database_oid, e.tableoid)
                   FROM ff_internal.epoch e ORDER BY e.epoch_id DESC LIMIT 1) AS restored
      INTO here FROM ff_internal.server s;
    snapshot_at := coalesce((here.observed->>'read_at')::timestamptz, at);
    IF here.observed IS NOT NULL AND snapshot_at <= (SELECT max(c.began_at) FROM ff_internal.collection c) THEN
        PERFORM ff_internal.refuse('55000', 'nothing newer of the source was read than what is collected',
                                   format('It was read at %s.', snapshot_at),
                                   CASE WHEN here.observed->>'server' IS NULL
                                        THEN 'Import the files of a source in the order in which they were written.'
                                        ELSE 'The clock of this server was set back: wait until it is as late again.'
                                        END);
    ELSIF here.restored IS NOT FALSE AND EXISTS (
          SELECT FROM pg_stat_activity a
           WHERE a.datname = current_database() AND a.application_name = 'pg_restore') THEN
        PERFORM ff_internal.refuse('55006', 'pg_restore is at work in this database',
                                   'A collection now would mix with the history that it may still bring.',
                                   'Collect after it has ended.');
    ELSIF here.restored IS NOT TRUE THEN
        RETURN snapshot_at;
    END IF;
    -- first that of none, because an OID of before may now be that of another table
    UPDATE ff_internal.relation r SET system_identifier = 0 WHERE r.closed_at IS NULL;
    UPDATE ff_internal.relation r
       SET system_identifier = here.system_identifier, database_oid = here.database_oid, relid = c.relid,
           -- not the file: a new one was rewritten. An index's old OID may now be that of another one.
           created_xid = c.created_xid,
           index_oids = (SELECT array_agg(0::oid) FROM unnest(r.index_oids)), indexed_columns = NULL
      FROM ff_internal.user_table c
      -- of two of a name, the other was renamed
      JOIN (SELECT DISTINCT ON (o.nspname, o.relname) o.nspname, o.relname, o.rel_id
              FROM ff_internal.relation o WHERE o.closed_at IS NULL
             ORDER BY o.nspname, o.relname, o.seen_at DESC, o.rel_id DESC) l USING (nspname, relname)
     WHERE r.rel_id = l.rel_id;
    PERFORM ff_internal.close_tables(ARRAY(
        SELECT r.rel_id FROM ff_internal.relation r WHERE r.closed_at IS NULL AND r.system_identifier = 0),
        snapshot_at);
    -- statement targets hold OIDs, too
    UPDATE ff_internal.statement_target t
       SET (relid, reason) = (SELECT max(r.relid), CASE count(*) WHEN 0 THEN 'not known after a restore' END
                                FROM ff_internal.relation r WHERE r.rel_id = t.rel_id AND r.closed_at IS NULL)
     WHERE t.relid IS NOT NULL;
    -- query identifiers and counters are valid in one database only
    UPDATE ff_internal.statement s SET closed_at = snapshot_at WHERE s.closed_at IS NULL;
    DELETE FROM ff_internal.statement_baseline;
    UPDATE ff_internal.statement_snapshot l SET stats_reset = '-infinity' WHERE l.reason IS NULL;
    RETURN snapshot_at;
END
$$;

-- Reads the next batch of tables. Returns the OID to continue after; NULL: done. If the counters of a single table were
-- reset, all remaining tables are one batch: only together do they show which one.
CREATE FUNCTION ff_internal.collect_counters(snapshot_at timestamptz, after bigint, batch integer) RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    last        oid;
    epoch       record;
    differences ff_internal.table_difference[];
BEGIN
    PERFORM pg_stat_clear_snapshot();
    -- for each batch, because statistics may be reset in between
    SELECT * INTO epoch FROM ff_internal.current_epoch(snapshot_at, after = 0);
    SELECT c.oid INTO last FROM pg_class c
     WHERE c.oid > after::oid AND c.relkind = ANY (ARRAY['r', 'm']::"char"[]) AND NOT epoch.one_reset
     ORDER BY c.oid LIMIT 1 OFFSET batch - 1;

    differences := ff_internal.table_differences(after::oid, coalesce(last, 4294967295), epoch.epoch_id,
                                                 epoch.one_reset, epoch.previous);
    IF EXISTS (SELECT FROM unnest(differences) d WHERE (d.now).relid IS NULL) THEN
        -- a table that exists but is no longer examined stays open, under its present name
        PERFORM ff_internal.close_tables(array_agg((d.was).rel_id), snapshot_at)
           FROM unnest(differences) d
          WHERE (d.now).relid IS NULL
            AND NOT EXISTS (SELECT FROM ff_internal.user_table c
                             WHERE c.relid = (d.was).relid AND c.created_xid = (d.was).created_xid)
         HAVING count(*) > 0;
        UPDATE ff_internal.relation r SET nspname = c.nspname, relname = c.relname
          FROM unnest(differences) d
          JOIN ff_internal.user_table c ON c.relid = (d.was).relid AND c.created_xid = (d.was).created_xid
         WHERE (d.now).relid IS NULL AND r.rel_id = (d.was).rel_id
           AND (r.nspname, r.relname) <> (c.nspname, c.relname);
    END IF;
    PERFORM ff_internal.write_differences(differences, epoch.epoch_id, epoch.previous, snapshot_at)
      WHERE differences IS NOT NULL;
    RETURN last;
END
$$;

-- Microseconds to read one block, as measured by the last collection; NULL: unknown. A random disk read takes at least
-- 50 (chosen); less means read-ahead or the system's cache.
CREATE FUNCTION ff_internal.io_speed(OUT read_us float8)
LANGUAGE sql STABLE
RETURN (SELECT CASE WHEN c.read_us > 0 THEN greatest(50, c.read_us) END FROM ff_internal.collection c
         WHERE c.ended_at IS NOT NULL AND c.began_at >= (SELECT ff_internal.observed_since())
         ORDER BY c.began_at DESC LIMIT 1);

-- The server settings whose changes collections record and ff_verify() judges.
CREATE FUNCTION ff_internal.tracked_settings() RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '{autovacuum, autovacuum_max_workers, autovacuum_naptime, autovacuum_vacuum_cost_delay,
         autovacuum_vacuum_cost_limit, autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold,
         backend_flush_after, bgwriter_flush_after, bgwriter_lru_maxpages, checkpoint_flush_after,
         checkpoint_timeout, effective_io_concurrency, full_page_writes, hot_standby_feedback,
         idle_in_transaction_session_timeout, max_wal_size, old_snapshot_threshold, shared_buffers,
         synchronous_commit, track_io_timing, vacuum_defer_cleanup_age, wal_compression, wal_level}'::text[];

-- Records that all counters were read, and which settings changed since. Returns the collection_id.
CREATE FUNCTION ff_internal.collect_counted(snapshot_at timestamptz) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET stats_fetch_consistency = none
AS $$
DECLARE
    here     record;
    previous timestamptz;
    c        ff_internal.collection;
BEGIN
    PERFORM pg_stat_clear_snapshot();
    SELECT * INTO here FROM ff_internal.server;
    -- before the epoch: a reset between the two then shows as a fall next time; includes this row
    SELECT 1 + (k.counted).inserted INTO c.own_inserts FROM ff_internal.counters('ff_internal.collection'::regclass) k;
    SELECT n.epoch_id, n.previous INTO c.epoch_id, previous FROM ff_internal.current_epoch(snapshot_at, false) n;
    IF here.observed IS NOT NULL THEN
        c := jsonb_populate_record(c, '{"track_counts": true, "open_writers": 0, "own_inserts": 0}' || here.observed);
    ELSE
        SELECT current_setting('track_counts')::boolean,
               (SELECT count(*) FROM pg_stat_get_activity(NULL) s
                 WHERE s.datid = here.database_oid AND s.pid <> pg_backend_pid() AND s.backend_xid IS NOT NULL
                   -- a procedure that commits in between reports its counts at its end
                   AND least(s.xact_start, s.query_start) < coalesce(previous, snapshot_at)),
               pg_snapshot_xmax(pg_current_snapshot()),
               pg_stat_get_db_active_time(d) + pg_stat_get_db_idle_in_transaction_time(d),
               pg_stat_get_db_blocks_fetched(d) - pg_stat_get_db_blocks_hit(d),
               CASE WHEN t.reset_val::boolean THEN pg_stat_get_db_blk_read_time(d) END
          INTO c.track_counts, c.open_writers, c.next_xid, c.busy_ms, c.blocks_read, c.read_ms
          FROM (SELECT here.database_oid) o(d), pg_settings t WHERE t.name = 'track_io_timing';
    END IF;
    c.began_at := snapshot_at;
    c.relations := (SELECT count(*) FROM ff_internal.relation r WHERE r.closed_at IS NULL);
    c.changed := (SELECT count(*) FROM ff_internal.counter_interval i WHERE i.rollup = 0 AND i.ended_at = snapshot_at);
    INSERT INTO ff_internal.setting_history (setting, seen_at, before_at, value, unit)
    SELECT s.name, snapshot_at, CASE WHEN h.setting IS NOT NULL THEN coalesce(o.began_at, h.seen_at) END,
           s.reset_val, s.unit
      FROM ff_internal.server_settings s
     CROSS JOIN (SELECT max(l.began_at) AS began_at FROM ff_internal.collection l) o
      LEFT JOIN LATERAL (SELECT * FROM ff_internal.setting_history l
                          WHERE l.setting = s.name AND l.seen_at >= (SELECT ff_internal.observed_since())
                          ORDER BY l.seen_at DESC LIMIT 1) h ON true
     WHERE s.name = ANY (ff_internal.tracked_settings())
       AND (h.setting IS NULL OR h.value IS DISTINCT FROM s.reset_val);
    INSERT INTO ff_internal.collection OVERRIDING USER VALUE SELECT c.* RETURNING collection_id INTO c.collection_id;
    RETURN c.collection_id;
END
$$;

-- Tables to sample now: never sampled, 1 % of the rows changed since the last sample, or any did and a day has passed.
-- Longest waiting first; the wait of a table without changes counts one eighth, that of one sampled before one half.
CREATE FUNCTION ff_internal.collect_due() RETURNS SETOF bigint
LANGUAGE sql STABLE
AS $$
    SELECT r.rel_id
      FROM ff_internal.relation r
      LEFT JOIN ff_internal.user_table c ON c.relid = r.relid
     WHERE r.closed_at IS NULL
       AND (r.sampled_at IS NULL
            OR r.changes_since_sample > 0 AND (r.sampled_at < clock_timestamp() - interval '1 day'
                                               OR r.changes_since_sample >= 0.01 * greatest(c.reltuples, 100)))
     ORDER BY (clock_timestamp() - coalesce(r.sampled_at, r.opened_at))
              * CASE WHEN r.changes_since_sample = 0 THEN 1 WHEN r.sampled_at IS NULL THEN 8 ELSE 4 END DESC,
              r.changes_since_sample DESC, r.rel_id
$$;

-- The approximate length of a table's rows, by the WAL of its INSERT statements since it was rewritten or its indexes
-- changed; NULL: too few, full-page images hide it, or they write none (unlogged).
CREATE FUNCTION ff_internal.inserted_width(relation oid) RETURNS float8
LANGUAGE sql STABLE
AS $$
    -- a record has 31 bytes besides its row, a B-tree's entry 56 besides its key (measured); a partial index, or one of
    -- another kind, may get none; a row has more than its header of 24 bytes
    SELECT nullif(greatest(24, sum(h.wal_bytes) / sum(h.rows) - 31 - coalesce(max(x.bytes), 0)), 24)
      FROM ff_internal.followed r
     CROSS JOIN LATERAL (
           SELECT sum(56 + 8 * ceil(greatest(8, k.bytes) / 8.0)) AS bytes
             FROM unnest(r.index_oids, r.index_definitions) i(id, definition)
            CROSS JOIN LATERAL (
                  SELECT sum(CASE WHEN a.attlen > 0 THEN a.attlen ELSE s.avg_width END) AS bytes
                    FROM pg_index o
                    JOIN pg_attribute a ON a.attrelid = o.indexrelid
                    LEFT JOIN pg_attribute c ON c.attrelid = o.indrelid AND c.attnum = o.indkey[a.attnum - 1]
                    LEFT JOIN pg_stats s ON s.schemaname = r.nspname AND s.tablename = r.relname
                                        AND s.attname = c.attname AND NOT s.inherited
                   WHERE o.indexrelid = i.id) k
            WHERE i.definition LIKE '% USING btree %' AND i.definition NOT LIKE '% WHERE %') x
     CROSS JOIN LATERAL (
           SELECT greatest((SELECT max(c.seen_at) FROM ff_internal.change c
                             WHERE c.rel_id = r.rel_id AND c.kind = 'indexes'),
                           (SELECT max(n.ended_at) FROM ff_internal.counter_interval n
                             WHERE n.rel_id = r.rel_id AND n.rewritten), '-infinity')) l(since)
      JOIN ff_internal.statement_target t ON t.relid = r.relid AND t.command = 'INSERT' AND t.how = 'top'
      JOIN ff_internal.statement_history h ON h.statement_id = t.statement_id AND h.began_at >= l.since
     WHERE r.relid = relation
       AND NOT EXISTS (SELECT FROM ff_internal.statement_target o
                        WHERE o.statement_id = t.statement_id AND o."position" <> t."position")
    HAVING sum(h.rows) >= 100 AND sum(h.wal_fpi) <= ff_internal.threshold('FEW') * sum(h.rows)
$$;

-- Samples one table into page_sample and returns the number of pages read.
CREATE FUNCTION ff_internal.collect_pages(id bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    r        ff_internal.relation;
    s        ff_internal.page_sample;
    earlier  ff_internal.page_sample;
    fault    text;
    began_at CONSTANT timestamptz := ff_internal.observed_at();
BEGIN
    SELECT o.* INTO r FROM ff_internal.relation o WHERE o.rel_id = id;
    SELECT p.* INTO earlier FROM ff_internal.page_sample p WHERE p.rel_id = id AND p.sampled_at = r.sampled_at;
    IF EXISTS (SELECT FROM ff_internal.observed o WHERE o.kind = 'table' AND o.id = r.relid) THEN
        -- a mirror has no pages, so there is nothing to pool
        EXECUTE 'SELECT o.blocks, 0, 0, 0, o.live_rows, o.dead_rows, o.rows_per_page, o.inserted_width
                   FROM ff_hub.observed_sample($1, $2, $3) o'
           INTO s.blocks, s.blocks_read, s.blocks_new, s.blocks_bad, s.live_rows, s.dead_rows, s.rows_per_page,
                s.inserted_width
          USING r.relid, id, earlier.inserted_width;
        earlier := NULL;
    ELSE
        s := ff_internal.sample(r.relid);
        IF s.live_rows = 0 AND s.dead_rows > 0 THEN
            -- a queue that is empty now: the dead versions that are left tell how long its rows are
            s.inserted_width := round(s.dead_pct / 100 * s.blocks * 8192 / s.dead_rows);
        ELSIF s.inserted_width IS NULL AND s.updated_width > 0 AND earlier.inserted_width IS NULL THEN
            -- every row was updated: the WAL of inserts tells how long they were, if far shorter than now (chosen)
            SELECT w INTO s.inserted_width FROM ff_internal.inserted_width(r.relid) w
             WHERE w < least(0.75 * s.updated_width, s.updated_width - 32);
        END IF;
    END IF;
    IF s.inserted_width > 0 AND s.inserted_length IS NULL THEN
        s.inserted_length := ARRAY[8 * ceil(s.inserted_width / 8), coalesce(nullif(s.live_rows, 0), s.dead_rows)];
    END IF;
    s.rel_id := id;
    s.sampled_at := began_at;
    s.rollup := 0;
    s.fillfactor := r.fillfactor;
    INSERT INTO ff_internal.page_sample SELECT p.* FROM ff_internal.pool_samples(s, earlier,
        -- bounded, because exp() raises an error on underflow
        exp(greatest(-100, least(0, extract(epoch FROM earlier.sampled_at - began_at))
                           / ff_internal.setting('lookback'))),
        earlier.fillfactor = r.fillfactor
        AND earlier.sampled_at < (SELECT c.samples_from FROM ff_internal.last_change c WHERE c.rel_id = id)
            IS NOT TRUE) p;
    UPDATE ff_internal.relation o SET sampled_at = began_at, changes_since_sample = 0 WHERE o.rel_id = id;
    -- of an index, or the TOAST table
    SELECT z.fault INTO fault FROM ff_internal.sizes(r.relid) z;
    IF fault IS NULL THEN
        DELETE FROM ff_internal.problem p WHERE p.rel_id = id;
    ELSE
        PERFORM ff_internal.collect_problem(id, '58030', fault);
    END IF;
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

-- Drops the texts that the source of a mirror sent: they may hold constants. It sends those not followed again.
CREATE FUNCTION ff_internal.forget_texts() RETURNS void
LANGUAGE sql VOLATILE
AS $$
    UPDATE ff_internal.observed o SET said = o.said - 'texts' WHERE o.kind = 'statements' AND o.said ? 'texts'
$$;

-- Runs a step in a subtransaction, so that an error affects only this table or step. Returns its result, -1 after an
-- error. The history has the errors of samples and of reading statements; of other steps, a warning says that the
-- collection could not do what (if not NULL). Cancel, shutdown, lack of resources and read-only transactions end it.
CREATE FUNCTION ff_internal.try_step(step text, id bigint, what text) RETURNS bigint
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
        IF step = 'collect_pages' THEN
            PERFORM ff_internal.collect_problem(id, SQLSTATE, SQLERRM);
        ELSIF step = 'collect_statements' THEN
            INSERT INTO ff_internal.statement_snapshot (collection_id, snapshot_at, reason)
            VALUES (id, ff_internal.observed_at(), SQLERRM);
            PERFORM ff_internal.forget_texts();
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

-- Closes a collection.
CREATE FUNCTION ff_internal.collect_end(id bigint, deferred integer) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    done ff_internal.collection;
BEGIN
    WITH timed AS (
        SELECT c.blocks_read - lag(c.blocks_read) OVER epoch AS blocks, c.read_ms - lag(c.read_ms) OVER epoch AS ms
          FROM ff_internal.collection c
         WHERE c.began_at > now() - ff_internal.lookback() AND c.began_at >= (SELECT ff_internal.observed_since())
        WINDOW epoch AS (PARTITION BY c.epoch_id ORDER BY c.collection_id)
    )
    UPDATE ff_internal.collection c
       SET ended_at = ff_internal.observed_at(), deferred = collect_end.deferred,
           -- a mirror samples no pages
           sampled = (SELECT count(*) FROM ff_internal.relation r
                       WHERE r.sampled_at >= c.began_at AND NOT EXISTS (SELECT FROM ff_internal.observed)),
           (skipped, failed) = (SELECT count(*) FILTER (WHERE s), count(*) FILTER (WHERE NOT s)
                                  FROM ff_internal.problem p, ff_internal.is_skip(p.sqlstate) s
                                 WHERE p.seen_at >= c.began_at),
           -- chosen: the mean of fewer is mostly noise
           read_us = (SELECT 1000 * sum(t.ms) / sum(t.blocks) FROM timed t
                       WHERE t.blocks > 0 AND t.ms > 0 HAVING sum(t.blocks) >= 1000)
     WHERE c.collection_id = id RETURNING * INTO done;
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
