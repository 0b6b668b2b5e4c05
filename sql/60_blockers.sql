-- Stage blockers: what makes updates non-HOT although their page has room: an
-- index on a column that changes, or a snapshot that keeps old versions alive.
--
-- The rule holds for PostgreSQL 15 to 19: an update that sets a column of an
-- index is not HOT, but for summarizing indexes from 16 on.

-- ---------------------------------------------------------------------------
-- Indexes that are needed
-- ---------------------------------------------------------------------------
-- What an index is there for besides the scans of queries, so that it must not be dropped for want of scans; NULL:
-- nothing.
CREATE FUNCTION ff_internal.index_needed(index oid) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT coalesce(
        (SELECT CASE c.contype WHEN 'p' THEN 'primary key ' WHEN 'u' THEN 'unique constraint '
                               WHEN 'x' THEN 'exclusion constraint ' ELSE 'foreign key ' END || quote_ident(c.conname)
           FROM pg_constraint c WHERE c.conindid = index
          ORDER BY c.contype = 'f', c.conname LIMIT 1),
        (SELECT CASE WHEN i.indisprimary THEN 'primary key' WHEN i.indisexclusion THEN 'exclusion constraint'
                     WHEN i.indisunique THEN 'unique index' WHEN i.indisreplident THEN 'replica identity'
                     -- CLUSTER by sorting counts no scan
                     WHEN i.indisclustered THEN 'the order of CLUSTER' END
           FROM pg_index i WHERE i.indexrelid = index),
        (SELECT 'part of the partitioned index ' || quote_ident(p.relname)
           FROM pg_inherits h JOIN pg_class p ON p.oid = h.inhparent WHERE h.inhrelid = index),
        -- rare deletes may not have scanned it yet, and without it each reads the whole table
        (SELECT format('foreign key %I, whose check finds by it the rows that refer to one deleted from %I',
                       c.conname, p.relname)
           FROM pg_index i
           JOIN pg_constraint c ON c.conrelid = i.indrelid AND c.contype = 'f'
           JOIN pg_class p ON p.oid = c.confrelid
          WHERE i.indexrelid = index
            AND (i.indkey::int2[])[0:least(cardinality(c.conkey), i.indnkeyatts) - 1] <@ c.conkey
          ORDER BY c.conname LIMIT 1))
$$;

-- Since when every scan of a table's indexes is known to be in their counters: the latest of the beginning of the
-- statistics epoch, the last reset or loss of statistics, the first collection that saw the table, the last change of
-- its indexes, and the last collection that found track_counts off. NULL: no collection has seen it since.
CREATE FUNCTION ff_internal.scans_counted_since(relation oid) RETURNS timestamptz
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- greatest() passes over what is NULL: a time that is not known, or that never came
    SELECT greatest(e.began_at, r.opened_at,
                    -- a reset ends an epoch when a collection notices; that of an index alone moves the database's, never
                    pg_stat_get_db_stat_reset_time(e.database_oid),
                    nullif(pg_stat_get_bgwriter_stat_reset_time(), e.cluster_reset),
                    (SELECT max(h.seen_at) FROM ff_internal.change h
                      WHERE h.rel_id = r.rel_id AND h.kind = 'indexes' AND h.created_indexes IS NOT NULL),
                    (SELECT max(c.began_at) FROM ff_internal.collection c WHERE NOT c.track_counts))
      FROM (SELECT n.* FROM ff_internal.epoch n ORDER BY n.epoch_id DESC LIMIT 1) e
      JOIN ff_internal.server() s ON (s.system_identifier, s.timeline) = (e.system_identifier, e.timeline)
      JOIN pg_database d ON d.oid = e.database_oid AND d.datname = current_database()
      JOIN ff_internal.relation r ON (r.system_identifier, r.database_oid, r.relid) = (e.system_identifier,
          e.database_oid, $1)
                                 AND r.closed_at IS NULL
     WHERE e.server_version = current_setting('server_version_num')::integer
$$;

-- The first collection that an index was there for: one dropped and made again alike is no change of the table. Its
-- transaction id is taken as the latest one, 64 bits wide, that it can be. NULL: none was yet.
CREATE FUNCTION ff_internal.index_seen_since(index oid) RETURNS timestamptz
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT min(c.began_at)
      FROM pg_attribute a
     CROSS JOIN (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::numeric) n(next)
      JOIN ff_internal.collection c
        ON c.next_xid::text::numeric > n.next - mod(n.next + 4294967296.0 - a.xmin::text::numeric, 4294967296.0)
     WHERE a.attrelid = index AND a.attnum = 1
       AND EXISTS (SELECT 1 FROM ff_internal.relation r JOIN pg_index i ON i.indrelid = r.relid
                    WHERE i.indexrelid = index AND r.closed_at IS NULL AND index = ANY (r.index_oids))
$$;

-- ---------------------------------------------------------------------------
-- Which indexes are in the way
-- ---------------------------------------------------------------------------
-- Tables with updates that an index kept from being HOT: how many a second (kept), those of them that had room
-- (with_room), those that were not HOT at all (cold), over the window; room_known: whether those that left their page
-- were told apart.
CREATE FUNCTION ff_internal.blocked_tables(relation regclass)
RETURNS TABLE (relid oid, updates_per_s double precision, kept double precision, with_room double precision,
               cold double precision, room_known boolean, has_trigger boolean)
LANGUAGE sql STABLE ROWS 10
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
    SELECT e.relation::oid, r.rate, d.kept_share * r.rate, d.kept_with_room * r.rate, (1 - d.hot_share) * r.rate,
           d.newpage_share IS NOT NULL,
           EXISTS (SELECT 1 FROM pg_trigger t WHERE t.tgrelid = e.relation::oid AND NOT t.tgisinternal
                      AND t.tgtype & 1 = 1 AND t.tgtype & 2 = 2 AND t.tgtype & 16 = 16)
      FROM ff_internal.diagnosis($1) d
     CROSS JOIN LATERAL unnest(ARRAY[d.evidence]) e
     CROSS JOIN LATERAL (SELECT (e.counters).updated / nullif(e.window_s, 0) AS rate) r
     -- updates of which a hundredth or less is kept from being HOT are not worth a row
     WHERE e.not_examined IS NULL AND d.kept_share >= 0.01
$$;

-- The statements of the window that set columns of a table's indexes, one row a statement and index: how many rows,
-- and how many indexes, but for summarizing ones, each statement touches.
CREATE FUNCTION ff_internal.touching_statements(relation oid)
RETURNS TABLE (indexrelid oid, summarizing boolean, columns text[], usages text[],
               statement_id bigint, weight double precision, in_the_way bigint, example text)
LANGUAGE sql STABLE ROWS 100
SET search_path = pg_catalog, pg_temp
AS $$
    WITH updating AS MATERIALIZED (
        SELECT s.statement_id, h.calls, h.rows, s.text, t.how, array_agg(c.name) AS columns
          FROM ff_internal.statement_target t
          JOIN ff_internal.statement s ON s.statement_id = t.statement_id AND s.closed_at IS NULL
         CROSS JOIN LATERAL (SELECT sum(n.calls)::bigint AS calls, sum(n.rows)::bigint AS rows
                               FROM ff_internal.statement_history n
                              WHERE n.statement_id = s.statement_id AND n.ended_at > now() - ff_internal.lookback()) h
         CROSS JOIN LATERAL unnest(ff_internal.changed_columns($1, t.columns)) c(name)
         WHERE t.command = 'UPDATE' AND t.relid = ANY (ff_internal.with_ancestors($1)) AND h.calls > 0
         GROUP BY s.statement_id, h.calls, h.rows, s.text, t.how
    ), touched AS MATERIALIZED (
        SELECT i.indexrelid, coalesce(ff_internal.summarizing(c.relam), false) AS summarizing, u.statement_id,
               array_agg(DISTINCT k.column_name::text) AS columns, array_agg(DISTINCT k.role) AS usages
          FROM pg_index i
          JOIN pg_class c ON c.oid = i.indexrelid
         CROSS JOIN LATERAL ff_internal.index_columns(i.indexrelid) k
          JOIN (SELECT u.statement_id, unnest(u.columns) AS name FROM updating u) u ON u.name = k.column_name::text
         WHERE i.indrelid = $1 AND i.indislive
         GROUP BY i.indexrelid, c.relam, u.statement_id
    )
    SELECT t.indexrelid, t.summarizing, t.columns, t.usages, t.statement_id,
           coalesce(CASE WHEN u.how IS DISTINCT FROM 'cte' THEN u.rows END, u.calls)::double precision,
           count(*) FILTER (WHERE NOT t.summarizing) OVER (PARTITION BY t.statement_id),
           format('%s calls, %s rows: %s', u.calls,
                  coalesce((CASE WHEN u.how IS DISTINCT FROM 'cte' THEN u.rows END)::text, 'unknown'),
                  left(regexp_replace(u.text, '[[:cntrl:][:space:]]+', ' ', 'g'), 200))
      FROM touched t JOIN updating u USING (statement_id)
$$;

-- The indexes of a table that are in the way, one row each. seen: by a statement that sets its columns; else it may be,
-- as no statement is known that explains it. share: of the updates kept from being HOT those that set its columns;
-- alone: those that set columns of no other index; others: these in words; NULL where not known.
CREATE FUNCTION ff_internal.blocking_indexes(relation oid)
RETURNS TABLE (indexrelid oid, summarizing boolean, seen boolean, columns text[], usage text, share double precision,
               alone double precision, others text, statements text[])
LANGUAGE sql STABLE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
    WITH touching AS MATERIALIZED (
        SELECT * FROM ff_internal.touching_statements($1)
    ), total AS (
        SELECT sum(t.weight) AS weight, count(*) AS statements
          FROM (SELECT DISTINCT statement_id, weight FROM touching WHERE NOT summarizing) t
    ), found AS (
        SELECT t.indexrelid, t.summarizing, true AS seen,
               ARRAY(SELECT DISTINCT c FROM unnest(string_to_array(string_agg(array_to_string(t.columns, chr(1)),
                   chr(1)), chr(1))) c
                      ORDER BY c) AS columns,
               (SELECT string_agg(DISTINCT r, ', ')
                  FROM unnest(string_to_array(string_agg(array_to_string(t.usages, ','), ','), ',')) r) AS usage,
               sum(t.weight) / nullif(w.weight, 0) AS share,
               coalesce(sum(t.weight) FILTER (WHERE t.in_the_way = 1), 0) / nullif(w.weight, 0) AS alone,
               format('%s other indexes', max(t.in_the_way) - 1) AS others,
               (array_agg(t.example ORDER BY t.weight DESC, t.statement_id))[1:5] AS statements
          FROM touching t CROSS JOIN total w
         GROUP BY t.indexrelid, t.summarizing, w.weight
    ), suspected AS (
        -- the primary key only if there is no other
        SELECT i.indexrelid, count(*) OVER () AS n
          FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
         WHERE i.indrelid = $1 AND i.indislive AND NOT coalesce(ff_internal.summarizing(c.relam), false)
           AND (SELECT w.statements FROM total w) = 0
           AND (NOT i.indisprimary
                OR NOT EXISTS (SELECT 1 FROM pg_index o JOIN pg_class d ON d.oid = o.indexrelid
                                WHERE o.indrelid = $1 AND o.indislive AND NOT o.indisprimary
                                  AND NOT coalesce(ff_internal.summarizing(d.relam), false)))
    )
    SELECT * FROM found
    UNION ALL
    SELECT s.indexrelid, false, false, k.columns, k.usage, CASE WHEN s.n = 1 THEN 1 END, CASE WHEN s.n = 1 THEN 1 END,
        NULL, NULL
      FROM suspected s
     CROSS JOIN LATERAL (SELECT array_agg(DISTINCT k.column_name::text ORDER BY k.column_name::text) AS columns,
                                string_agg(DISTINCT k.role, ', ' ORDER BY k.role) AS usage
                           FROM ff_internal.index_columns(s.indexrelid) k) k
$$;

-- ---------------------------------------------------------------------------
-- Words
-- ---------------------------------------------------------------------------
-- Why an index is listed. rate, alone: updates a second that it keeps from being HOT, and those that it alone does.
CREATE FUNCTION ff_internal.blocker_reason(
    b record, x record, rate double precision, alone double precision) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    says text;
BEGIN
    IF x.summarizing THEN
        RETURN format('column %s is set, but this kind of index lets updates be HOT on this version',
                      array_to_string(x.columns, ', '));
    ELSIF NOT x.seen AND b.has_statements THEN
        says := 'updates were not HOT although they stayed in their page, but no statement seen sets an indexed '
                'column: '
                'look for functions, triggers and the unattributed rows of ff_statements()';
    ELSIF NOT x.seen THEN
        says := CASE WHEN b.room_known THEN 'updates stayed in their page and were not HOT; '
                     ELSE 'updates were not HOT, and it is not known whether for this index or for lack of room; ' END
                || 'which index it was is not known without their statements'
                || coalesce(': ' || (SELECT s.reason
                                     FROM ff_internal.statement_snapshot s ORDER BY s.collection_id DESC LIMIT 1), '');
    ELSE
        says := format('about %s of %s updates per second could not be HOT, because they set %s',
                       round(rate::numeric, 1), round(b.updates_per_s::numeric, 1), array_to_string(x.columns, ', '))
                || CASE WHEN alone < 0.99 * rate
                    THEN format('; %s of them for this index alone, the others for others as well (up to %s)',
                                                             CASE WHEN alone > 0 THEN round(alone::numeric, 1)::text
                                                                 ELSE 'none' END, x.others)
                        ELSE '' END
                || CASE WHEN b.with_room < 0.99 * b.kept
                    THEN '; they left their page as well: to be HOT they would need room in it, too' ELSE '' END
                || CASE WHEN b.room_known THEN '' ELSE ' (at most: how many moved for lack of room is not known)' END;
    END IF;
    RETURN says || CASE WHEN b.has_trigger THEN '; a BEFORE UPDATE trigger may set further columns' ELSE '' END;
END
$$;

-- What could be done about an index. since: see scans_counted_since(); watch: how long without a scan is long enough.
CREATE FUNCTION ff_internal.blocker_suggestion(
    x record, valid boolean, has_expressions boolean, scans bigint, since timestamptz, needed_for text,
        watch interval) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN CASE
        WHEN x.summarizing THEN 'nothing to do'
        WHEN NOT valid AND needed_for IS NULL
        THEN 'invalid, of use to no query, but maintained: drop it, unless CREATE INDEX CONCURRENTLY is at work on it '
             'now'
        WHEN needed_for IS NOT NULL
        THEN format('keep it: %s; the way out is not to change %s', needed_for,
                    CASE WHEN x.seen THEN array_to_string(x.columns, ', ') ELSE 'its columns' END)
        WHEN scans = 0 AND since <= now() - watch
        THEN format('not scanned once since %s: drop it, if it is not scanned on a standby either',
                    to_char(since, 'YYYY-MM-DD HH24:MI'))
             || CASE WHEN has_expressions THEN '; the planner''s statistics on its expressions go with it: '
                          'CREATE STATISTICS keeps them' ELSE '' END
        WHEN scans = 0
        THEN format('no scan is known, but its scans were watched for %s only: not to be dropped before %s days '
                    'without one, '
                    'so that a weekly job had its chance',
                    ff_internal.span(coalesce(greatest(extract(epoch FROM now() - since), 0), 0)::double precision),
                    extract(day FROM watch))
        WHEN x.usage = 'include'
        THEN 'the column is only carried along (INCLUDE): without it in the index, these updates can be HOT'
        WHEN x.usage = 'predicate'
        THEN 'only its WHERE clause depends on the column: another predicate would let these updates be HOT'
        ELSE format('scanned %s times: weigh these scans against the updates', scans) END;
END
$$;

-- Why a table has no blocker.
CREATE FUNCTION ff_internal.no_blocker(relation regclass) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN e.not_examined IS NOT NULL THEN e.not_examined
                WHEN (e.counters).updated IS NULL THEN 'no interval was collected yet'
                WHEN coalesce((e.recent).updated, 0) = 0 THEN 'no updates were seen'
                ELSE format('%s of the updates were HOT', ff_internal.percent(100 * d.hot_share))
                     || CASE WHEN d.newpage_share >= 0.01 THEN ', the others left their page for lack of room'
                         ELSE '' END END
      FROM ff_internal.diagnosis(relation) d CROSS JOIN LATERAL unnest(ARRAY[d.evidence]) e
$$;

-- ---------------------------------------------------------------------------
-- Blockers
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_blockers(relation regclass DEFAULT NULL)
RETURNS TABLE (
    relation         regclass,
    index            regclass,
    columns          text[],
    usage            text,
    updates_per_s    real,
    won_hot_per_s    real,
    won_wal_per_s    bigint,
    won_cpu_ms_per_s real,
    scans            bigint,
    scans_since      timestamptz,
    index_bytes      bigint,
    needed_for       text,
    summarizing      boolean,
    statements       text[],
    reason           text,
    suggestion       text,
    ddl              text,
    definition       text
)
LANGUAGE sql STABLE ROWS 100
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
    WITH constants AS (
        -- no scan in this time: a weekly job had its chance
        SELECT interval '7 days' AS watch
    ), blocked AS MATERIALIZED (
        SELECT b.*, ff_internal.scans_counted_since(b.relid) AS counted_since,
               (SELECT count(*) FROM pg_index i WHERE i.indrelid = b.relid AND i.indislive) AS indexes,
               EXISTS (SELECT 1 FROM ff_internal.statement_target t
                        WHERE t.command = 'UPDATE' AND t.relid = ANY (ff_internal.with_ancestors(b.relid))) AS has_statements
          FROM ff_internal.blocked_tables(ff_internal.checked_table($1)) b
    ), weighed AS MATERIALIZED (
        SELECT b.relid, x.indexrelid, x AS found, b AS blocked_table, o.*,
               pg_stat_get_numscans(x.indexrelid) AS scans, ff_internal.index_needed(x.indexrelid) AS needed,
               CASE WHEN x.summarizing THEN 0 ELSE b.kept * x.share END AS rate,
               CASE WHEN x.summarizing THEN 0 ELSE b.with_room * x.alone END AS won, b.kept * x.alone AS alone,
               -- index entries not written: an update that becomes HOT saves one in every index, one that stays as it
               -- is saves the one in this index
               CASE WHEN x.summarizing THEN 0
                    ELSE b.with_room * x.alone * b.indexes + greatest(b.cold - b.with_room * x.alone, 0) END AS entries,
               CASE WHEN b.counted_since IS NOT NULL AND f.seen_since IS NOT NULL
                    THEN greatest(b.counted_since, f.seen_since) END AS since
          FROM blocked b
         CROSS JOIN LATERAL ff_internal.blocking_indexes(b.relid) x
          JOIN pg_index i ON i.indexrelid = x.indexrelid
         CROSS JOIN LATERAL (SELECT i.indisvalid, i.indexprs IS NOT NULL AS has_expressions) o
         CROSS JOIN LATERAL (SELECT ff_internal.index_seen_since(x.indexrelid) AS seen_since) f
    ), told AS MATERIALIZED (
        SELECT w.*, k.watch, w.needed IS NULL AND NOT (w.found).summarizing
                    AND (NOT w.indisvalid OR w.scans = 0 AND coalesce(w.since <= now() - k.watch, false)) AS free
          FROM weighed w CROSS JOIN constants k
    )
    (SELECT t.relid::regclass, t.indexrelid::regclass, (t.found).columns, (t.found).usage,
            round(t.rate::numeric, 2)::real, round(t.won::numeric, 2)::real, round(t.entries * p.wal_bytes)::bigint,
            round((t.entries * p.cpu_us / 1000)::numeric, 3)::real,
            t.scans, t.since, z.heap_bytes, t.needed, (t.found).summarizing, (t.found).statements,
            ff_internal.blocker_reason(t.blocked_table, t.found, t.rate, t.alone),
            ff_internal.blocker_suggestion(t.found, t.indisvalid, t.has_expressions, t.scans, t.since, t.needed,
                                           t.watch),
            CASE WHEN t.free THEN format('DROP INDEX CONCURRENTLY %s;', ff_internal.qualified_name(t.indexrelid)) END,
            -- without waiting for a lock
            nullif((ff_internal.index_definitions(t.relid, ARRAY[t.indexrelid]))[1], '') || ';'
       FROM told t
      CROSS JOIN ff_internal.index_entry_price() p
       LEFT JOIN LATERAL ff_internal.sizes(t.indexrelid) z ON true
      ORDER BY (t.found).summarizing, t.free AND (t.found).seen DESC, t.won DESC NULLS LAST, t.rate DESC NULLS LAST,
               t.relid::regclass::text, t.indexrelid::regclass::text)
    UNION ALL
    SELECT $1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
           ff_internal.no_blocker($1), NULL, NULL, NULL
     WHERE $1 IS NOT NULL AND NOT EXISTS (SELECT 1 FROM told)
$$;
COMMENT ON FUNCTION @extschema@.ff_blockers(regclass) IS
'Indexes that keep updates from being HOT whatever room their page has, one row each, the surest gain first. For one table without any, a row that says why. The rule holds for PostgreSQL 15 to 19.
relation, index. columns: those of it that are set by the statements seen (without statements: all of it). usage: what they are in it (key, include, expression, predicate, whole row).
updates_per_s: updates it keeps from being HOT, over the window. won_hot_per_s: of these, those that would be HOT without this one index, or if the columns were not set, not counting those that left their page as well. won_wal_per_s (bytes), won_cpu_ms_per_s: the least that saves, from the number of index entries not written.
scans: of the index, as this server counts them. scans_since: since when no scan can have been missed: the latest of the beginning or loss of statistics and the first collection that saw the table and the index (NULL: none did since). index_bytes: its size.
needed_for: constraint or other reason for which it must stay. summarizing: kind of index that lets updates be HOT. statements: those that set the columns, with calls and rows of the window. reason, suggestion: in words.
ddl: only for an index that is not needed and was not scanned in at least 7 days since scans_since, or is invalid. definition: what makes it again (NULL where the table''s lock is not available at once). NULL figures are unknown, see reason.
Errors: 42P01 unknown OID, 42809 not a table.';

-- ---------------------------------------------------------------------------
-- Old snapshots
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_horizon()
RETURNS TABLE (
    now          boolean,
    kind         text,
    holder       text,
    role_name    name,
    application  text,
    since        timestamptz,
    held_s       double precision,
    xids         bigint,
    hot_pct_held double precision,
    hot_pct_else double precision,
    lost_hot     bigint,
    doing        text,
    suggestion   text
)
LANGUAGE sql VOLATILE ROWS 20
SET search_path = pg_catalog, pg_temp
AS $$
    WITH holders AS MATERIALIZED (
        SELECT * FROM ff_internal.horizon_holders()
    ), held AS (
        SELECT n.kind, n.holder, n.role_name, n.application, coalesce(n.since, h.since) AS since,
            clock_timestamp() AS until,
               greatest(n.xids, h.xids) AS xids, n.doing, n.catalog_only, true AS now
          FROM holders n
          LEFT JOIN LATERAL (SELECT o.* FROM ff_internal.horizon_history o
                              WHERE o.holder = n.holder AND (o.since = n.since OR n.since IS NULL)
                              ORDER BY o.since DESC LIMIT 1) h ON true
        UNION ALL
        (SELECT h.kind, h.holder, h.role_name, h.application, h.since, h.last_seen_at, h.xids, h.doing, false, false
           FROM ff_internal.horizon_history h
          WHERE h.last_seen_at > clock_timestamp() - ff_internal.lookback()
            AND NOT EXISTS (SELECT 1 FROM holders n WHERE n.holder = h.holder
                            AND (n.since = h.since OR n.since IS NULL))
          ORDER BY h.xids DESC LIMIT 100)
    ), spans AS MATERIALIZED (
        SELECT row_number() OVER () AS n, * FROM held
    ), quiet AS MATERIALIZED (
        -- each table's HOT share while nothing of all this was held
        SELECT i.rel_id, sum(i.updated) AS updated, sum(i.hot_updated) AS hot
          FROM ff_internal.counter_interval i
         WHERE i.ended_at > clock_timestamp() - ff_internal.lookback()
           AND NOT EXISTS (SELECT 1 FROM spans s WHERE NOT s.catalog_only AND s.since < i.ended_at
                           AND s.until > i.began_at)
         GROUP BY i.rel_id HAVING sum(i.updated) >= 100
    ), cost AS (
        -- the same tables while it was, each table weighed by its updates then
        SELECT s.n, sum(i.updated) AS updated, sum(i.hot_updated) AS hot,
            sum(i.updated * q.hot / q.updated) AS otherwise
          FROM spans s
          JOIN ff_internal.counter_interval i ON i.began_at >= s.since AND i.ended_at <= s.until AND i.updated > 0
          JOIN quiet q ON q.rel_id = i.rel_id
         WHERE NOT s.catalog_only
         GROUP BY s.n
    )
    SELECT s.now, s.kind, s.holder, s.role_name, s.application, s.since,
           extract(epoch FROM s.until - s.since)::double precision, s.xids,
           100 * c.hot / c.updated::double precision, 100 * c.otherwise / c.updated::double precision,
           CASE WHEN c.n IS NOT NULL THEN greatest(round(c.otherwise - c.hot), 0)::bigint END, s.doing,
           CASE WHEN s.catalog_only THEN 'holds back system catalogs only'
                ELSE CASE s.kind WHEN 'idle in transaction'
                    THEN 'commit sooner in the application, or set idle_in_transaction_session_timeout'
                     WHEN 'transaction' THEN 'run long queries on a standby, or in smaller transactions'
                     WHEN 'prepared transaction' THEN 'COMMIT PREPARED or ROLLBACK PREPARED, if its transaction '
                                                      'manager has forgotten it'
                     WHEN 'replication slot' THEN 'bring its consumer back, or drop the slot if nobody will use it '
                                                  'again'
                     ELSE 'long queries on the standby, with hot_standby_feedback on, hold it back here' END END
      FROM spans s LEFT JOIN cost c ON c.n = s.n
     ORDER BY s.catalog_only, s.now DESC, s.xids DESC, s.since
$$;
COMMENT ON FUNCTION @extschema@.ff_horizon() IS 'What holds back pruning of this database''s tables, now and in the '
                                                                                         'recent window. Columns: now: at this moment; kind: transaction, idle in transaction, prepared transaction, replication slot, standby feedback; holder; role_name; application; since; held_s: seconds (up to the last look that saw it); xids: transactions begun after its snapshot, so versions that could not be pruned are that old; hot_pct_held: HOT share of the updates meanwhile, percent; hot_pct_else: what the same tables reached without it; lost_hot: updates that were not HOT for it, by that difference; NULL where too little was seen on either side; doing: its last statement; suggestion. Of the past, the hundred holders with the most transactions behind them. Short transactions are seen only while they last.';
