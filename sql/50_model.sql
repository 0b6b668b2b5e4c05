-- Stage model: what each fillfactor would do to a table, and which one to take.
--
-- The model itself is C (src/lifecycle.c fits, src/heap_twin.c replays, src/curve.c
-- draws, src/choice.c weighs); here it gets its evidence and its answers get names.

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

-- ---------------------------------------------------------------------------
-- The model
-- ---------------------------------------------------------------------------
-- Fits lifecycles to a row of evidence() and of model_extra(), taken by column name, and replays them at every step
-- edge from 100 to 10. One row a step, see ff_curve(); gain to lifecycles describe the fit and the choice and are the
-- same on every row. Error 42804 where a column that it reads is not a number.
CREATE FUNCTION ff_internal.model(
    evidence record, extra record,
    OUT fillfactor integer, OUT rows_per_page integer,
    OUT hot_pct double precision, OUT hot_pct_low double precision, OUT hot_pct_high double precision,
    OUT newpage_pct double precision, OUT settled_hot_pct double precision,
    OUT size_bytes bigint, OUT index_bytes bigint, OUT wal_bytes_per_update double precision, OUT us_per_update double precision,
    OUT cost double precision, OUT is_current boolean, OUT is_advised boolean,
    OUT gain double precision, OUT best_gain double precision, OUT rewrite_gain double precision, OUT wal_bytes_now double precision,
    OUT confidence double precision, OUT agreement double precision,
    OUT needs_rewrite boolean, OUT seen_hot_pct double precision, OUT fitted_hot_pct double precision,
    OUT fresh_share double precision, OUT hot_eligible double precision, OUT advised_in_ram integer, OUT filled_at integer, OUT runs integer, OUT lifecycles text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'ff_model'
LANGUAGE c STRICT IMMUTABLE PARALLEL SAFE COST 100000 ROWS 50;

-- The columns of the evidence that the model reads, side by side.
CREATE FUNCTION ff_internal.model_evidence(
    e ff_internal.table_evidence,
    OUT fillfactor integer, OUT updated bigint, OUT hot_updated bigint, OUT newpage_updated bigint, OUT inserted bigint, OUT deleted bigint,
    OUT index_scans bigint, OUT seq_scans bigint, OUT blocks_fetched bigint, OUT window_s double precision,
    OUT recent_updated bigint, OUT recent_hot bigint, OUT recent_newpage bigint, OUT recent_inserted bigint, OUT recent_s double precision,
    OUT seen_hot double precision, OUT seen_same_page double precision, OUT seen_newpage double precision,
    OUT blocks bigint, OUT live_rows double precision, OUT inserted_width real, OUT inserted_width_err real,
    OUT updated_width real, OUT updated_width_err real, OUT updated_pct real, OUT rows_per_page real, OUT rows_per_page_max real,
    OUT update_group_rows real, OUT insert_group_rows real,
    OUT update_distance real, OUT update_distance_p10 real, OUT update_distance_p90 real,
    OUT indexes integer, OUT index_bytes bigint, OUT heap_bytes bigint, OUT ram_bytes bigint)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT e.fillfactor, c.updated, c.hot_updated, c.newpage_updated, c.inserted, c.deleted, c.index_scans, c.seq_scans, c.blocks_fetched,
           e.since_change_s, r.updated, r.hot_updated, CASE WHEN c.newpage_updated IS NOT NULL THEN r.newpage_updated END, r.inserted, r.seconds,
           e.seen_hot, e.seen_same_page, e.seen_newpage, s.blocks, s.live_rows, s.inserted_width, s.inserted_width_err,
           s.updated_width, s.updated_width_err, s.updated_pct, s.rows_per_page, s.rows_per_page_max, s.update_group_rows, s.insert_group_rows,
           s.update_distance, s.update_distance_p10, s.update_distance_p90, e.indexes, e.index_bytes, e.heap_bytes, e.ram_bytes
      FROM unnest(ARRAY[e.since_change]) c, unnest(ARRAY[e.recent]) r, unnest(ARRAY[e.sample]) s
$$;

-- Replays one lifecycle, given by columns named as in src/heap_twin.h, at a fillfactor: row updates counted, how many
-- of them were HOT, moved to another page, or stayed without being HOT; pages, rows and remains at the end. Errors:
-- 22023 fillfactor out of range, 42804 a column that is not a number.
CREATE FUNCTION ff_internal.twin(
    life record, fillfactor integer,
    OUT updates double precision, OUT hot double precision, OUT moved double precision, OUT same_page_cold double precision,
    OUT pages double precision, OUT live_rows double precision, OUT dead_versions double precision, OUT dead_lps double precision)
AS 'MODULE_PATHNAME', 'ff_twin'
LANGUAGE c STRICT IMMUTABLE PARALLEL SAFE COST 10000;

-- ---------------------------------------------------------------------------
-- What the model wants to know besides the evidence
-- ---------------------------------------------------------------------------
-- Of the rows that statements were seen to update, the share (0 to 1) updated by statements that set an indexed
-- column; where no statement is known, or one whose columns are not, 0 if the primary key is its only index, most
-- updates are HOT and no page shows otherwise, else NULL.
CREATE FUNCTION ff_internal.indexed_share(e ff_internal.table_evidence) RETURNS double precision
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH indexed AS MATERIALIZED (
        -- keys, included columns, expressions and predicates alike: all of them decide about HOT
        SELECT coalesce(array_agg(DISTINCT k.column_name::text), '{}') AS columns
          FROM pg_index i
          JOIN pg_class c ON c.oid = i.indexrelid
         CROSS JOIN LATERAL ff_internal.index_columns(i.indexrelid) k
         WHERE i.indrelid = e.relation AND i.indislive AND NOT coalesce(ff_internal.summarizing(c.relam), false)
    ), seen AS MATERIALIZED (
        SELECT t.columns, sum(h.rows) AS rows
          FROM ff_internal.statement_target t
          JOIN ff_internal.statement_history h ON h.statement_id = t.statement_id
         WHERE (t.relid = e.relation OR t.relid IN (SELECT a.relid FROM pg_partition_ancestors(e.relation) a))
           AND t.command = 'UPDATE' AND h.ended_at > (e.counters).began_at AND h.rows > 0
         GROUP BY t.columns
    )
    -- a statement whose columns are not known could be any of them
    SELECT CASE WHEN bool_and(s.columns IS NOT NULL)
                THEN coalesce(sum(s.rows) FILTER (WHERE ff_internal.changed_columns(e.relation::oid, s.columns) && (SELECT x.columns FROM indexed x)), 0)
                     / sum(s.rows)::double precision
                -- keys are hardly ever changed, and neither the pages nor the counters show that they were
                WHEN coalesce(e.seen_same_page, 0) = 0 AND (e.recent).hot_updated >= 0.5 * (e.recent).updated
                     AND NOT EXISTS (SELECT 1 FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
                                      WHERE i.indrelid = e.relation AND i.indislive AND NOT i.indisprimary AND NOT coalesce(ff_internal.summarizing(c.relam), false))
                THEN 0 END
      FROM seen s
$$;

-- WAL records that a row updated wrote since the evidence's recent intervals began, by the statements that update the
-- table: one for the row, one for each page pruned on the way to it, and where it was not HOT one for each index and
-- one where it moved. NULL where statements known do not account for the updates by a tenth (a partition's may name
-- its parent), or where they are seen to write more: other tables that they read, triggers, foreign keys they set,
-- TOAST, partial indexes and other than B-trees, full-page images where hint bits are logged, an unlogged table, a
-- condition of ON CONFLICT, more inserts than updates by it, MERGE, WITH. What functions in them write is not seen.
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
               AND NOT EXISTS (SELECT 1 FROM pg_constraint k JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = ANY (k.conkey)
                                WHERE k.conrelid = e.relation AND k.contype = 'f' AND (t.how = 'on_conflict' OR coalesce(a.attname = ANY (t.columns), true))) AS alone
          FROM ff_internal.statement_target t
          JOIN ff_internal.statement s ON s.statement_id = t.statement_id
         WHERE t.relid = e.relation AND t.command = 'UPDATE'
    ), written AS (
        SELECT coalesce(sum(h.rows) FILTER (WHERE NOT t.upsert), 0)::double precision AS updated,
               coalesce(sum(h.rows) FILTER (WHERE t.upsert), 0)::double precision AS upserted,
               sum(h.rows)::double precision AS rows, sum(h.wal_records)::double precision AS records, sum(h.wal_fpi) AS images, bool_and(t.alone) AS alone
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
     WHERE s.alone AND s.updated + s.conflicts BETWEEN greatest(1, 0.9 * (e.recent).updated) AND 1.1 * (e.recent).updated
       -- most of them updates, and the others all that was inserted
       AND (s.upserted = 0 OR s.conflicts >= 0.5 * s.upserted AND abs(s.upserted - s.conflicts - (e.recent).inserted) <= 0.1 * s.conflicts)
       -- a hint bit set first after a checkpoint is a record of its own
       AND (s.images <= 0.05 * s.rows OR current_setting('data_checksums') = 'off' AND current_setting('wal_log_hints') = 'off')
       -- nothing else that writes: triggers, values out of line, entries of other kinds of indexes or of one that is not counted
       AND e.toast_bytes = 0
       AND EXISTS (SELECT 1 FROM pg_class c WHERE c.oid = e.relation AND c.relpersistence = 'p')
       AND NOT EXISTS (SELECT 1 FROM pg_trigger g WHERE g.tgrelid = e.relation AND NOT g.tgisinternal AND g.tgenabled <> 'D')
       AND NOT EXISTS (SELECT 1 FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam
                        WHERE i.indrelid = e.relation AND i.indislive AND (m.amname <> 'btree' OR i.indpred IS NOT NULL OR NOT i.indisvalid))
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
    -- without the scans, which read ahead in rings of buffers of their own
    IF to_regclass('pg_catalog.pg_stat_io') IS NOT NULL THEN
        EXECUTE $io$SELECT sum(i.reads) AS reads, sum(i.read_time) AS ms FROM pg_catalog.pg_stat_io i WHERE i.object = 'relation' AND i.context = 'normal'$io$ INTO r;
    ELSE
        SELECT d.blks_read AS reads, d.blk_read_time AS ms INTO r FROM pg_stat_database d WHERE d.datname = current_database();
    END IF;
    -- what the operating system served from memory is in the mean: a disk's own
    -- reads are slower
    RETURN CASE WHEN r.reads > 1000 AND r.ms > 0 THEN greatest(50, 1000 * r.ms / r.reads) END;
END
$$;

-- Rows inserted and updated since the table's counters began, transactions from its creation to the end of the last
-- interval, vacuums in the window, its autovacuum scale factor, the least seconds between two autovacuums and between
-- two checkpoints, microseconds of a page read (NULL without track_io_timing); where its statements are known: rows
-- that one call of an UPDATE updates, as the mean row meets it, WAL bytes of a row updated, rows that one call of an
-- INSERT inserts, and the share of updated rows for which an indexed column was set; rows deleted, vacuums, scans and
-- heap pages asked for while the evidence's recent updates were made (NULL where there were none); sessions of the
-- database at work then at a time, on average (NULL where not known); see update_records().
CREATE FUNCTION ff_internal.model_extra(
    e ff_internal.table_evidence,
    OUT total_inserted bigint, OUT total_updated bigint, OUT table_xids integer, OUT vacuums bigint,
    OUT vacuum_scale double precision, OUT vacuum_nap_s double precision, OUT checkpoint_s double precision, OUT read_us double precision,
    OUT update_call_rows double precision, OUT update_wal_bytes double precision, OUT insert_call_rows double precision,
    OUT indexed_share double precision,
    OUT recent_deleted double precision, OUT recent_vacuums double precision,
    OUT recent_seq_scans double precision, OUT recent_index_scans double precision, OUT recent_blocks_fetched double precision,
    OUT sessions double precision, OUT update_records double precision)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH statement AS (
        SELECT t.command, sum(h.calls)::double precision AS calls, sum(h.rows)::double precision AS rows, sum(h.wal_bytes)::double precision AS wal_bytes
          FROM ff_internal.statement_target t
          JOIN ff_internal.statement_history h ON h.statement_id = t.statement_id
         WHERE (t.relid = e.relation OR t.relid IN (SELECT a.relid FROM pg_partition_ancestors(e.relation) a))
           AND t.how <> 'cte' AND h.ended_at > (e.counters).began_at
         GROUP BY t.statement_id, t.command
        HAVING sum(h.rows) > 0
    ), command AS (
        -- rows per call as the mean row meets it
        SELECT s.command, sum(s.rows ^ 2 / s.calls) / sum(s.rows) AS call_rows, sum(s.wal_bytes) / sum(s.rows) AS wal_bytes
          FROM statement s
         GROUP BY s.command
    ), seen AS (
        -- the newest, until they have the evidence's recent updates
        SELECT i.*, sum(i.updated) OVER (ORDER BY i.ended_at DESC) - i.updated < (e.recent).updated AS recent
          FROM ff_internal.counter_interval i
         WHERE i.rel_id = e.rel_id AND i.began_at >= (e.since_change).began_at AND i.fillfactor = e.fillfactor
    ), counted AS (
        SELECT coalesce(sum(n.vacuums), 0)::bigint AS vacuums,
               -- how many updates of the evidence's recent ones that is
               (e.recent).updated / nullif(sum(n.updated) FILTER (WHERE n.recent), 0)::double precision AS part,
               sum(n.deleted) FILTER (WHERE n.recent) AS deleted, sum(n.vacuums) FILTER (WHERE n.recent) AS recent_vacuums,
               sum(n.seq_scans) FILTER (WHERE n.recent) AS seq_scans, sum(n.index_scans) FILTER (WHERE n.recent) AS index_scans,
               sum(n.blocks_fetched) FILTER (WHERE n.recent) AS blocks_fetched, min(n.began_at) FILTER (WHERE n.recent) AS began_at
          FROM seen n
    ), work AS (
        -- while its rows were updated, the collections themselves left out; the
        -- newest intervals are enough
        SELECT sum(n.updated * greatest(0, l.busy_ms - f.busy_ms - 1000 * o.collecting_s) / (1000 * extract(epoch FROM n.ended_at - n.began_at))) / nullif(sum(n.updated), 0) AS sessions
          FROM (SELECT * FROM seen s WHERE s.recent AND s.updated > 0 ORDER BY s.ended_at DESC LIMIT 50) n
          JOIN ff_internal.collection f ON f.began_at = n.began_at
          JOIN ff_internal.collection l ON l.began_at = n.ended_at AND l.epoch_id = f.epoch_id AND l.busy_ms >= f.busy_ms
         CROSS JOIN LATERAL (SELECT coalesce(sum(extract(epoch FROM c.ended_at - c.began_at)), 0) AS collecting_s
                               FROM ff_internal.collection c WHERE c.began_at >= n.began_at AND c.began_at < n.ended_at) o
    )
    SELECT r.inserted, r.updated, CASE WHEN a.xids BETWEEN 0 AND age(r.created_xid) THEN a.xids::integer ELSE age(r.created_xid) END, k.vacuums,
           coalesce((SELECT o.option_value::double precision FROM pg_options_to_table(e.reloptions) o WHERE o.option_name = 'autovacuum_vacuum_scale_factor'),
                    current_setting('autovacuum_vacuum_scale_factor')::double precision),
           extract(epoch FROM current_setting('autovacuum_naptime')::interval)::double precision,
           extract(epoch FROM current_setting('checkpoint_timeout')::interval)::double precision,
           ff_internal.page_read_us(),
           u.call_rows, u.wal_bytes, i.call_rows, ff_internal.indexed_share(e),
           k.part * k.deleted, k.part * k.recent_vacuums, k.part * k.seq_scans, k.part * k.index_scans, k.part * k.blocks_fetched,
           w.sessions, ff_internal.update_records(e, k.began_at)
      FROM ff_internal.relation r
     CROSS JOIN counted k
     CROSS JOIN work w
      -- as it was at the end of the last interval, whatever other tables have seen since
     CROSS JOIN LATERAL (SELECT mod(max(c.next_xid::text::numeric) - r.created_xid::text::numeric, 4294967296.0)::bigint AS xids
                           FROM ff_internal.collection c
                          WHERE c.began_at = (SELECT max(n.ended_at) FROM seen n)) a
      LEFT JOIN command u ON u.command = 'UPDATE'
      LEFT JOIN command i ON i.command = 'INSERT'
     WHERE r.rel_id = e.rel_id
$$;

-- ---------------------------------------------------------------------------
-- The answers
-- ---------------------------------------------------------------------------
-- The step with the least expected cost, or the table's own where no other saves fillfactor_advisor.min_gain percent:
-- recommended_fillfactor, what it will do (predicted_wal_pct: WAL per update, percent of today's), confidence that the
-- model explains the table (0 to 1), gain (cost now against cost then), needs_rewrite (true where most updates fall on
-- pages that are filled already), filled_at (the fillfactor at which its pages were filled, where that was a higher
-- one than the table's), rewrite_gain (cost now against cost once rewritten at the fillfactor it has),
-- update_call_rows (rows that one call of an UPDATE updates, where known), note, memory_note (why it would be another
-- one, were the table within memory; NULL where it would not). No row where the pages were never sampled.
CREATE FUNCTION ff_internal.choice(
    e ff_internal.table_evidence,
    OUT recommended_fillfactor integer, OUT predicted_hot_pct double precision, OUT predicted_hot_low double precision, OUT predicted_hot_high double precision,
    OUT predicted_rows_per_page integer, OUT current_rows_per_page integer, OUT predicted_size_bytes bigint, OUT predicted_index_bytes bigint, OUT predicted_wal_pct double precision,
    OUT confidence double precision, OUT gain double precision, OUT needs_rewrite boolean, OUT filled_at integer, OUT rewrite_gain double precision,
    OUT update_call_rows double precision, OUT note text, OUT memory_note text)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH m AS MATERIALIZED (
        SELECT m.*, x.update_call_rows FROM ff_internal.model_extra(e) x CROSS JOIN ff_internal.model_evidence(e) f CROSS JOIN LATERAL ff_internal.model(f, x) m
    )
    SELECT CASE WHEN a.is_current THEN e.fillfactor ELSE a.fillfactor END,
           a.hot_pct, a.hot_pct_low, a.hot_pct_high, a.rows_per_page, c.rows_per_page, a.size_bytes, a.index_bytes,
           100 * a.wal_bytes_per_update / nullif(a.wal_bytes_now, 0), a.confidence, a.gain, a.needs_rewrite, a.filled_at, a.rewrite_gain, a.update_call_rows,
           CASE WHEN a.is_current AND a.best_gain > 1.005
                THEN format(CASE WHEN a.best_gain < 1 + ff_internal.setting('min_gain')::double precision / 100
                                 THEN 'the best step would save %s %%, less than fillfactor_advisor.min_gain'
                                 ELSE 'one might save %s %%, but not by every explanation of what was seen' END, round((100 * (1 - 1 / a.best_gain))::numeric, 1)) END,
           CASE WHEN a.fillfactor <> a.advised_in_ram
                THEN format(CASE WHEN a.fillfactor < a.advised_in_ram
                                 THEN 'table and indexes are %s times memory (%s would be best within it): a row that leaves its page makes index pages be read and written'
                                 ELSE 'table and indexes are %s times memory (%s would be best within it): each page more is read from disk more often than it saves' END,
                            round(e.ram_ratio::numeric, CASE WHEN e.ram_ratio < 10 THEN 1 ELSE 0 END), a.advised_in_ram) END
      FROM m a CROSS JOIN m c
     WHERE a.is_advised AND c.is_current
$$;

CREATE FUNCTION @extschema@.ff_curve(relation regclass)
RETURNS TABLE (
    fillfactor           integer,
    rows_per_page        integer,
    bar                  text,
    hot_pct              real,
    hot_pct_low          real,
    hot_pct_high         real,
    size_bytes           bigint,
    cost                 real,
    wal_bytes_per_update real,
    newpage_pct            real,
    settled_hot_pct      real,
    is_current           boolean,
    is_advised           boolean
)
LANGUAGE plpgsql STABLE ROWS 50
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    e ff_internal.table_evidence;
BEGIN
    IF relation IS NULL THEN
        RAISE 'relation must not be null' USING ERRCODE = 'null_value_not_allowed';
    END IF;
    PERFORM ff_internal.checked_table(relation);
    SELECT * INTO e FROM ff_internal.evidence(ff_curve.relation);
    IF e.not_examined IS NOT NULL THEN
        RAISE '"%" is not examined', e.relname USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = e.not_examined || '.';
    ELSIF (e.sample).sampled_at IS NULL OR coalesce((e.sample).inserted_width, (e.sample).updated_width) IS NULL THEN
        RAISE 'no rows of "%" have been sampled yet', e.relname
            USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Run CALL ff_collect() while the table holds rows.';
    END IF;
    -- the mark is that of ff_advise(), which may have reasons to keep that the
    -- model does not know
    RETURN QUERY
        SELECT m.fillfactor, m.rows_per_page,
               rpad(repeat('#', round(coalesce(m.hot_pct, 0) / 5)::integer), 20, '.')
               || CASE WHEN m.is_current AND s.advised THEN ' current, advised' WHEN m.is_current THEN ' current' WHEN s.advised THEN ' advised' ELSE '' END,
               round(m.hot_pct::numeric, 1)::real, round(m.hot_pct_low::numeric, 1)::real, round(m.hot_pct_high::numeric, 1)::real,
               m.size_bytes, round(m.cost::numeric, 3)::real, round(m.wal_bytes_per_update::numeric)::real,
               round(m.newpage_pct::numeric, 1)::real, round(m.settled_hot_pct::numeric, 1)::real, m.is_current, s.advised
          FROM @extschema@.ff_advise(ff_curve.relation) a
         CROSS JOIN ff_internal.model_extra(e) x
         CROSS JOIN ff_internal.model_evidence(e) f CROSS JOIN LATERAL ff_internal.model(f, x) m
         CROSS JOIN LATERAL (SELECT CASE WHEN a.action IN ('lower', 'raise') THEN m.fillfactor = a.recommended_fillfactor ELSE m.is_current END AS advised) s;
END
$$;
COMMENT ON FUNCTION @extschema@.ff_curve(regclass) IS 'What each fillfactor would do to a table, one row a step (between two steps nothing changes), from 100 to 10: rows that inserts put on a page; a bar of the HOT share; percent of updates that will be HOT over a window such as the one observed, with a range; size of the table, bytes; cost relative to the best step (time, WAL and size, weighted by the settings time_weight, wal_weight, size_weight); WAL bytes per update; percent of updates that move to another page; HOT once the table has settled; whether the step is the current or the advised one. Errors: 22004 NULL, 42P01 unknown OID, 42809 not a table, 55000 not sampled yet or not examined.';
