-- Stage model: what each fillfactor would do to a table, and which one to take.
--
-- The model itself is C (src/model/); here it gets its evidence.

-- Rows of a length (bytes, header included) with which an insert fills an empty 8 kB page at a fillfactor: 8168 bytes
-- less the reserve, each row aligned to 8 bytes and with a line pointer of 4. At least one row always fits.
CREATE FUNCTION ff_internal.rows_per_page(fillfactor integer, width double precision) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- bound when it is created, so that it needs no search_path and can be inlined
RETURN CASE WHEN width > 0 THEN greatest(1,
               floor((8168 - floor(8192 * (100 - fillfactor) / 100.0)) / (ceil(width / 8) * 8 + 4))::integer) END;

-- The highest fillfactor with which a page takes as many rows of a length (bytes, header included) as with the one
-- given: between two such steps nothing changes. Errors: 22023 fillfactor or length out of range.
CREATE FUNCTION ff_internal.step_edge(fillfactor integer, width integer) RETURNS integer
AS 'MODULE_PATHNAME', 'ff_step_edge'
LANGUAGE c STRICT IMMUTABLE PARALLEL SAFE;

-- Fits lifecycles to a table's evidence, replays them at every step edge and weighs the steps by the settings; NULL
-- where no row length is known. Errors: 42703 the evidence lacks a column, 42804 one is not double precision.
CREATE FUNCTION ff_internal.model(
    evidence ff_internal.model_input, OUT choice ff_internal.choice, OUT steps ff_internal.step[])
AS 'MODULE_PATHNAME', 'ff_model'
LANGUAGE c STRICT STABLE PARALLEL SAFE COST 100000;

-- Changes with what the model answers; fits of another version are not used.
CREATE FUNCTION ff_internal.model_version() RETURNS integer
AS 'MODULE_PATHNAME', 'ff_model_version'
LANGUAGE c STRICT IMMUTABLE PARALLEL SAFE;

-- WAL bytes and microseconds of CPU that one index entry costs in the model.
CREATE FUNCTION ff_internal.index_entry_price(OUT wal_bytes double precision, OUT cpu_us double precision)
AS 'MODULE_PATHNAME', 'ff_index_entry_price'
LANGUAGE c STRICT IMMUTABLE PARALLEL SAFE;

-- Splits a number of updates, given how many were HOT and how many went to a new page (NULL before PostgreSQL 16: then
-- old versions seen in the pages tell, and the share whose statements set an indexed column, see update_split.c).
-- newpage_share: went to another page; eligible_share: HOT among those that stayed, or what the statements say;
-- recoverable_share: newpage_share x eligible_share, which more room per page can prevent; blocked_share: the other
-- updates that were not HOT, which no fillfactor can prevent; kept_share: kept from being HOT by an index, whether or
-- not they lacked room as well; kept_with_room: of these, those that had room. Shares of all updates, 0 to 1; NULL
-- where unknown, but the last two, which then count all that were not HOT.
CREATE FUNCTION ff_internal.split_updates(
    updated double precision, hot double precision, newpage double precision,
    seen_same_page double precision, seen_newpage double precision,
    by_statements double precision DEFAULT NULL, seen_hot double precision DEFAULT NULL,
    OUT newpage_share double precision, OUT blocked_share double precision,
    OUT eligible_share double precision, OUT recoverable_share double precision,
    OUT kept_share double precision, OUT kept_with_room double precision)
AS 'MODULE_PATHNAME', 'ff_split_updates'
LANGUAGE c IMMUTABLE PARALLEL SAFE;

-- ---------------------------------------------------------------------------
-- What the model is given besides the evidence
-- ---------------------------------------------------------------------------
-- Whether nothing but the statements writes WAL of the table's own: no triggers, no values out of line, no entries of
-- other kinds of indexes or of one that is not counted.
CREATE FUNCTION ff_internal.writes_alone(e ff_internal.table_evidence) RETURNS boolean
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT e.toast_bytes = 0
       AND EXISTS (SELECT 1 FROM pg_class c WHERE c.oid = e.relation AND c.relpersistence = 'p')
       AND NOT EXISTS (SELECT 1 FROM pg_trigger g
                        WHERE g.tgrelid = e.relation AND NOT g.tgisinternal AND g.tgenabled <> 'D')
       AND NOT EXISTS (SELECT 1 FROM pg_index i
                         JOIN pg_class c ON c.oid = i.indexrelid
                         JOIN pg_am m ON m.oid = c.relam
                        WHERE i.indrelid = e.relation AND i.indislive
                          AND (m.amname <> 'btree' OR i.indpred IS NOT NULL OR NOT i.indisvalid))
$$;

-- WAL records that a row updated wrote since a time, by the statements that update the table: one for the row, one for
-- each page pruned on the way to it, and where it was not HOT one for each index and one where it moved. NULL where
-- the statements known do not account for the updates by a tenth (a partition's may name its parent), or where they
-- are seen to write more: other tables that they read, triggers, foreign keys they set, TOAST, partial indexes and
-- other than B-trees, full-page images where hint bits are logged, an unlogged table, a condition of ON CONFLICT, more
-- inserts than updates by it, MERGE, WITH. What functions in them write is not seen.
CREATE FUNCTION ff_internal.update_records(e ff_internal.table_evidence, since timestamptz) RETURNS double precision
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH target AS MATERIALIZED (
        SELECT t.statement_id, t.how = 'on_conflict' AS upsert,
               t.how IN ('top', 'on_conflict')
               -- pages of tables that are read are pruned, too, and rows picked there locked
               AND s.text_bytes <= 4000 AND s.text !~* '[[:<:]](select|from)[[:>:]]'
               -- ON CONFLICT locks rows also that its condition leaves as they are
               AND NOT (t.how = 'on_conflict' AND s.text ~* '[[:<:]]where[[:>:]]')
               AND NOT EXISTS (SELECT 1 FROM ff_internal.statement_target o
                                WHERE o.statement_id = t.statement_id AND o."position" <> t."position"
                                  AND (o.relid IS DISTINCT FROM t.relid OR o.command <> 'INSERT'))
               -- a key is looked up, and so locked, where it is set
               AND NOT EXISTS (SELECT 1 FROM pg_constraint k
                                 JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = ANY (k.conkey)
                                WHERE k.conrelid = e.relation AND k.contype = 'f'
                                  AND (t.how = 'on_conflict' OR coalesce(a.attname = ANY (t.columns), true))) AS alone
          FROM ff_internal.statement_target t
          JOIN ff_internal.statement s ON s.statement_id = t.statement_id
         WHERE t.relid = e.relation AND t.command = 'UPDATE'
    ), written AS (
        SELECT coalesce(sum(h.rows) FILTER (WHERE NOT t.upsert), 0)::double precision AS updated,
               coalesce(sum(h.rows) FILTER (WHERE t.upsert), 0)::double precision AS upserted,
               sum(h.rows)::double precision AS rows, sum(h.wal_records)::double precision AS records,
               sum(h.wal_fpi) AS images, bool_and(t.alone) AS alone
          FROM target t
          JOIN ff_internal.statement_history h ON h.statement_id = t.statement_id
         WHERE h.began_at >= since AND h.ended_at > since AND h.rows > 0
    ), split AS (
        -- of the rows of INSERT ... ON CONFLICT, those updated are the updates that no other statement made
        SELECT w.*, least(greatest((e.recent).updated - w.updated, 0), w.upserted) AS conflicts FROM written w
    )
    SELECT (s.records
            -- a row inserted: itself, confirmed, its index entries; one updated instead is locked first
            - (s.upserted - s.conflicts) * (2 + e.indexes) - s.conflicts) / (s.updated + s.conflicts)
      FROM split s
     WHERE s.alone AND s.updated + s.conflicts BETWEEN greatest(1, 0.9 * (e.recent).updated)
         AND 1.1 * (e.recent).updated
       -- most of them updates, and the others all that was inserted
       AND (s.upserted = 0 OR s.conflicts >= 0.5 * s.upserted
                              AND abs(s.upserted - s.conflicts - (e.recent).inserted) <= 0.1 * s.conflicts)
       -- a hint bit set first after a checkpoint is a record of its own
       AND (s.images <= 0.05 * s.rows
            OR current_setting('data_checksums') = 'off' AND current_setting('wal_log_hints') = 'off')
       AND ff_internal.writes_alone(e)
$$;

-- Mean time of a page read from outside shared buffers, microseconds, at least 50: from pg_stat_io where there is one
-- (PostgreSQL 16), else of this database; NULL without track_io_timing, or with fewer than 1,000 reads since the
-- statistics were reset.
CREATE FUNCTION ff_internal.page_read_us() RETURNS double precision
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    r record;
BEGIN
    IF current_setting('track_io_timing') = 'off' THEN
        RETURN NULL;
    -- without the scans, which read ahead in rings of buffers of their own
    ELSIF to_regclass('pg_catalog.pg_stat_io') IS NOT NULL THEN
        EXECUTE $io$SELECT sum(i.reads) AS reads, sum(i.read_time) AS ms FROM pg_catalog.pg_stat_io i
                     WHERE i.object = 'relation' AND i.context = 'normal'$io$ INTO r;
    ELSE
        SELECT d.blks_read AS reads, d.blk_read_time AS ms INTO r
          FROM pg_stat_database d WHERE d.datname = current_database();
    END IF;
    RETURN CASE WHEN r.reads > 1000 AND r.ms > 0 THEN greatest(50, 1000 * r.ms / r.reads) END;
END
$$;

-- Of the statements of one command (UPDATE, INSERT) that write the table: rows of one call, as the mean row meets it,
-- and WAL bytes of a row. No row where none is known.
CREATE FUNCTION ff_internal.statement_figures(e ff_internal.table_evidence, command text,
                                              OUT call_rows double precision, OUT wal_bytes double precision)
RETURNS SETOF record
LANGUAGE sql STABLE ROWS 1
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT sum(s.rows ^ 2 / s.calls) / sum(s.rows), sum(s.wal_bytes) / sum(s.rows)
      FROM (SELECT sum(h.calls)::double precision AS calls, sum(h.rows)::double precision AS rows,
                   sum(h.wal_bytes)::double precision AS wal_bytes
              FROM ff_internal.statement_target t
              JOIN ff_internal.statement_history h ON h.statement_id = t.statement_id
             WHERE t.relid = ANY (ff_internal.with_ancestors(e.relation)) AND t.command = $2
               AND t.how <> 'cte' AND h.ended_at > (e.counters).began_at
             GROUP BY t.statement_id
            HAVING sum(h.rows) > 0) s
    HAVING count(*) > 0
$$;

-- Sessions of the database at work at a time while the recent updates were made, on average, the collections themselves
-- left out; NULL where nobody knows. The newest intervals are enough.
CREATE FUNCTION ff_internal.sessions_at_work(e ff_internal.table_evidence) RETURNS double precision
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT sum(n.updated * greatest(0, l.busy_ms - f.busy_ms - 1000 * o.collecting_s)
               / (1000 * extract(epoch FROM n.ended_at - n.began_at))) / nullif(sum(n.updated), 0)
      FROM (SELECT * FROM ff_internal.counter_interval i
             WHERE i.rel_id = e.rel_id AND i.began_at >= (e.recent).began_at AND i.updated > 0
             ORDER BY i.ended_at DESC LIMIT 50) n
      JOIN ff_internal.collection f ON f.began_at = n.began_at
      JOIN ff_internal.collection l ON l.began_at = n.ended_at AND l.epoch_id = f.epoch_id AND l.busy_ms >= f.busy_ms
     CROSS JOIN LATERAL (SELECT coalesce(sum(extract(epoch FROM c.ended_at - c.began_at)), 0) AS collecting_s
                           FROM ff_internal.collection c
                          WHERE c.began_at >= n.began_at AND c.began_at < n.ended_at) o
$$;

-- Transactions from the table's creation to the last of its intervals, whatever other tables have seen since.
CREATE FUNCTION ff_internal.table_xids(id bigint) RETURNS double precision
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN a.xids BETWEEN 0 AND age(r.created_xid) THEN a.xids ELSE age(r.created_xid) END
      FROM ff_internal.relation r
      LEFT JOIN LATERAL (
            SELECT mod(max(c.next_xid::text::numeric) - r.created_xid::text::numeric, 4294967296.0)::bigint AS xids
              FROM ff_internal.collection c
             WHERE c.began_at = (SELECT max(i.ended_at) FROM ff_internal.counter_interval i
                                 WHERE i.rel_id = r.rel_id)) a ON true
     WHERE r.rel_id = id
$$;

-- Everything that the model is given of a table. indexed: what indexed_share() says of it. Columns in the order of the
-- type, which says what each is. Counts are of the recent part of the window, of all of it where nothing was updated.
CREATE FUNCTION ff_internal.model_input(e ff_internal.table_evidence, indexed double precision)
RETURNS ff_internal.model_input
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT e.fillfactor, coalesce(n.updated, 0), coalesce(n.hot_updated, 0), n.newpage_updated,
           coalesce(n.inserted, 0), coalesce(n.deleted, 0), n.seconds, r.inserted, r.updated, w.updated, n.vacuums,
           e.seen_hot, e.seen_same_page, e.seen_newpage, s.blocks, s.live_rows,
           s.inserted_width, s.inserted_width_err, s.updated_width, s.updated_width_err, s.updated_pct,
           s.rows_per_page, s.rows_per_page_max, s.update_group_rows, s.insert_group_rows,
           s.update_distance_p10, s.update_distance, s.update_distance_p90, ff_internal.table_xids(e.rel_id),
           us.call_rows, ins.call_rows, indexed,
           coalesce((SELECT o.option_value::double precision FROM pg_options_to_table(e.reloptions) o
                      WHERE o.option_name = 'autovacuum_vacuum_scale_factor'),
                    current_setting('autovacuum_vacuum_scale_factor')::double precision),
           extract(epoch FROM current_setting('autovacuum_naptime')::interval),
           ff_internal.sessions_at_work(e), ff_internal.update_records(e, n.began_at), e.indexes,
           e.index_bytes, e.heap_bytes, e.ram_bytes,
           coalesce(n.index_scans, 0), coalesce(n.seq_scans, 0), coalesce(n.blocks_fetched, 0),
           extract(epoch FROM current_setting('checkpoint_timeout')::interval), ff_internal.page_read_us(), us.wal_bytes
      FROM unnest(ARRAY[e.since_change]) w
     CROSS JOIN unnest(ARRAY[e.recent]) n
     CROSS JOIN unnest(ARRAY[e.sample]) s
      LEFT JOIN ff_internal.relation r ON r.rel_id = e.rel_id
      LEFT JOIN ff_internal.statement_figures(e, 'UPDATE') us ON true
      LEFT JOIN ff_internal.statement_figures(e, 'INSERT') ins ON true
$$;
