
-- Stage blockers: what makes updates non-HOT although their page has room: an
-- index on a column that changes, or a snapshot that keeps old versions alive.

-- ---------------------------------------------------------------------------
-- Indexes that are touched, indexes that are needed
-- ---------------------------------------------------------------------------
-- Indexes of a table that depend on a column that a statement of the recent window set, so that its updates could not
-- be HOT; none where no statements are known. Internal.
CREATE FUNCTION ff_internal.touched_indexes(relation regclass) RETURNS SETOF oid
LANGUAGE sql STABLE ROWS 5
SET search_path = pg_catalog, pg_temp
AS $$
    WITH changed AS MATERIALIZED (
        SELECT DISTINCT unnest(ff_internal.changed_columns($1, t.columns)) AS name
          FROM ff_internal.statement_target t
          JOIN ff_internal.statement s ON s.statement_id = t.statement_id AND s.closed_at IS NULL
         WHERE t.command = 'UPDATE'
           AND (t.relid = $1 OR t.relid IN (SELECT a.relid FROM pg_partition_ancestors($1) a))
           AND EXISTS (SELECT 1 FROM ff_internal.statement_history h
                        WHERE h.statement_id = s.statement_id
                          AND h.ended_at > now() - make_interval(secs => ff_internal.setting('lookback')::integer))
    )
    SELECT i.indexrelid
      FROM pg_index i
      JOIN pg_class c ON c.oid = i.indexrelid
     WHERE i.indrelid = $1 AND i.indislive AND NOT coalesce(ff_internal.summarizing(c.relam), false)
       AND EXISTS (SELECT 1 FROM ff_internal.index_columns(i.indexrelid) k JOIN changed ON changed.name = k.column_name)
$$;

-- What an index is there for besides the scans of queries, so that it must not be dropped for want of scans; NULL:
-- nothing. Internal.
CREATE FUNCTION ff_internal.index_needed(index oid) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT coalesce(
        (SELECT CASE c.contype WHEN 'p' THEN 'primary key ' WHEN 'u' THEN 'unique constraint ' WHEN 'x' THEN 'exclusion constraint '
                     ELSE 'foreign key ' END || quote_ident(c.conname)
           FROM pg_constraint c WHERE c.conindid = index
          ORDER BY c.contype = 'f', c.conname LIMIT 1),
        (SELECT CASE WHEN i.indisprimary THEN 'primary key' WHEN i.indisexclusion THEN 'exclusion constraint'
                     WHEN i.indisunique THEN 'unique index' WHEN i.indisreplident THEN 'replica identity' END
           FROM pg_index i WHERE i.indexrelid = index),
        (SELECT 'part of the partitioned index ' || quote_ident(p.relname)
           FROM pg_inherits h JOIN pg_class p ON p.oid = h.inhparent WHERE h.inhrelid = index),
        -- rare deletes may not have scanned it yet, and without it each reads the whole table
        (SELECT format('foreign key %I, whose check finds by it the rows that refer to one deleted from %I', c.conname, p.relname)
           FROM pg_index i
           JOIN pg_constraint c ON c.conrelid = i.indrelid AND c.contype = 'f'
           JOIN pg_class p ON p.oid = c.confrelid
          WHERE i.indexrelid = index
            AND (i.indkey::int2[])[0:least(cardinality(c.conkey), i.indnkeyatts) - 1] <@ c.conkey
          ORDER BY c.conname LIMIT 1))
$$;

-- Since when every scan of an index is known to be in its counter: the latest of the beginning of the statistics
-- epoch, the last reset or loss of statistics, the first collection that saw the table and the first that saw the
-- index, and the last that found track_counts off. NULL: no collection has seen it since. Internal.
CREATE FUNCTION ff_internal.scans_watched(index oid) RETURNS timestamptz
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- greatest() passes over what is NULL: a time that is not known, or that never came
    SELECT CASE WHEN w.seen_at IS NOT NULL THEN
               greatest(e.began_at, w.seen_at, r.opened_at,
                        -- a reset ends an epoch when a collection notices; that of an index alone, which moves the database's, never
                        pg_stat_get_db_stat_reset_time(e.database_oid),
                        nullif(pg_stat_get_bgwriter_stat_reset_time(), e.cluster_reset),
                        (SELECT max(h.seen_at) FROM ff_internal.change h
                          WHERE h.rel_id = r.rel_id AND h.kind = 'indexes' AND h.created_indexes IS NOT NULL),
                        (SELECT max(c.began_at) FROM ff_internal.collection c WHERE NOT c.track_counts)) END
      FROM (SELECT n.* FROM ff_internal.epoch n ORDER BY n.epoch_id DESC LIMIT 1) e
      JOIN ff_internal.server() s ON (s.system_identifier, s.timeline) = (e.system_identifier, e.timeline)
      JOIN pg_database d ON d.oid = e.database_oid AND d.datname = current_database()
      JOIN pg_index i ON i.indexrelid = index
      JOIN ff_internal.relation r ON (r.system_identifier, r.database_oid, r.relid) = (e.system_identifier, e.database_oid, i.indrelid)
                                    AND r.closed_at IS NULL AND index = ANY (r.index_oids)
      JOIN pg_attribute a ON a.attrelid = index AND a.attnum = 1
      -- One dropped and made again alike is no change to change.  The first
      -- collection younger than the index's own row was the first to see it.
      LEFT JOIN LATERAL (SELECT c.began_at AS seen_at FROM ff_internal.collection c WHERE age(c.xmin) <= age(a.xmin) ORDER BY c.began_at LIMIT 1) w ON true
     WHERE e.server_version = current_setting('server_version_num')::integer
$$;

-- ---------------------------------------------------------------------------
-- Blockers
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_blockers(relation regclass DEFAULT NULL)
RETURNS TABLE (
    relation         regclass,
    index            regclass,
    columns          text[],
    role             text,
    updates_per_s    double precision,
    won_hot_per_s    double precision,
    won_wal_per_s    double precision,
    won_cpu_ms_per_s double precision,
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
        SELECT interval '7 days' AS watch,   -- no scan in this time: a weekly job had its chance
               0.05 AS tell                  -- share of updates that stayed in their page from which these tell of those that left it
    ), judged AS MATERIALIZED (
        SELECT (d.evidence).relation::oid AS relid, (d.evidence).not_examined, d.cause, d.hot_share, d.newpage_share,
               ((d.evidence).recent).updated AS updated,
               ((d.evidence).recent).updated / nullif(((d.evidence).recent).seconds, 0) AS updates_per_s,
               (((d.evidence).recent).updated - ((d.evidence).recent).hot_updated) / nullif(((d.evidence).recent).seconds, 0) AS cold_per_s,
               1 - d.hot_share - d.newpage_share AS blocked_share,
               -- Updates that could not have been HOT: those that stayed in their page and were not, and of those that
               -- left it the same part (what more room would have made HOT is recoverable).  Unknown: all that were not.
               CASE WHEN 1 - d.hot_share - d.newpage_share < 0.01 THEN 0
                    WHEN st.stayed < (SELECT k.tell FROM constants k) THEN 1 - d.hot_share - d.newpage_share
                    ELSE greatest(1 - d.hot_share - coalesce(d.recoverable_share, 0), 0) END AS pages_share,
               -- The same by the statements, where hardly any that sets an indexed column left its new version in the
               -- page to be seen: these would not have been HOT with room either.
               CASE WHEN st.stayed < (SELECT k.tell FROM constants k)
                    THEN 1 - d.hot_share - d.newpage_share + greatest(least(d.newpage_share, st.setting - st.stayed), 0) END AS statements_share,
               EXISTS (SELECT 1 FROM pg_trigger t WHERE t.tgrelid = (d.evidence).relation::oid AND NOT t.tgisinternal
                          AND t.tgtype & 1 = 1 AND t.tgtype & 2 = 2 AND t.tgtype & 16 = 16) AS has_trigger
          FROM ff_internal.diagnosis(ff_internal.checked_table($1)) d
          -- at least so many of those that set an indexed column stayed in their page: HOT ones beyond what the others can be, and all that were not HOT
          LEFT JOIN LATERAL (SELECT i AS setting, greatest(d.hot_share + i - 1, 0) + (1 - d.hot_share - d.newpage_share) AS stayed
                               FROM ff_internal.indexed_share(d.evidence) i
                              WHERE d.newpage_share >= 0.01) st ON true
    ), blocked AS MATERIALIZED (
        SELECT j.*, greatest(j.pages_share, j.statements_share) * j.updates_per_s AS blocked_per_s,
               -- those that room would not help, but that lack room as well: an index less makes none of them HOT
               j.pages_share * j.updates_per_s AS roomy_per_s
          FROM judged j
         WHERE j.not_examined IS NULL AND j.updated > 0 AND greatest(j.pages_share, j.statements_share) >= 0.01
    ), indexes AS MATERIALIZED (
        -- also those not valid: they are maintained, so they block
        SELECT i.indrelid AS relid, i.indexrelid, i.indisprimary, i.indisvalid, c.relname, n.nspname,
               coalesce(ff_internal.summarizing(c.relam), false) AS summarizing,
               ff_internal.index_needed(i.indexrelid) AS needed_for,
               pg_stat_get_numscans(i.indexrelid) AS scans,
               ff_internal.scans_watched(i.indexrelid) AS since
          FROM blocked b
          JOIN pg_index i ON i.indrelid = b.relid AND i.indislive
          JOIN pg_class c ON c.oid = i.indexrelid
          JOIN pg_namespace n ON n.oid = c.relnamespace
    ), index_columns AS MATERIALIZED (
        SELECT x.relid, x.indexrelid, x.summarizing, k.column_name, k.role
          FROM indexes x CROSS JOIN LATERAL ff_internal.index_columns(x.indexrelid) k
    ), updating AS MATERIALIZED (
        SELECT b.relid, s.statement_id, s.how, ff_internal.changed_columns(b.relid, s.columns) AS columns, s.calls, s.rows, s.query,
               coalesce(s.rows, s.calls)::double precision AS weight
          FROM blocked b
          JOIN @extschema@.ff_statements() s
            ON s.command = 'UPDATE' AND (s.relation = b.relid OR s.relation IN (SELECT a.relid FROM pg_partition_ancestors(b.relid) a))
    ), touching AS MATERIALIZED (
        -- which statement sets columns of which index
        SELECT u.relid, u.statement_id, u.weight, u.calls, u.rows, u.query, k.indexrelid, k.summarizing,
               array_agg(DISTINCT k.column_name::text) AS columns, array_agg(DISTINCT k.role) AS roles,
               count(*) FILTER (WHERE NOT k.summarizing) OVER (PARTITION BY u.relid, u.statement_id) AS in_the_way
          FROM updating u
          JOIN index_columns k ON k.relid = u.relid AND k.column_name = ANY (u.columns)
         GROUP BY u.relid, u.statement_id, u.weight, u.calls, u.rows, u.query, k.indexrelid, k.summarizing
    ), weights AS (
        SELECT t.relid, sum(t.weight) AS weight
          FROM (SELECT DISTINCT relid, statement_id, weight FROM touching WHERE NOT summarizing) t GROUP BY t.relid
    ), found AS (
        SELECT t.relid, t.indexrelid,
               (SELECT array_agg(DISTINCT c ORDER BY c) FROM touching o, unnest(o.columns) c WHERE o.indexrelid = t.indexrelid AND o.relid = t.relid) AS columns,
               (SELECT string_agg(DISTINCT r, ', ' ORDER BY r) FROM touching o, unnest(o.roles) r WHERE o.indexrelid = t.indexrelid AND o.relid = t.relid) AS role,
               sum(t.weight) / nullif(w.weight, 0) AS share,
               coalesce(sum(t.weight) FILTER (WHERE t.in_the_way = 1), 0) / nullif(w.weight, 0) AS alone,
               (array_agg(format('%s calls, %s rows: %s', t.calls, coalesce(t.rows::text, 'unknown'),
                                 left(regexp_replace(t.query, '[[:cntrl:][:space:]]+', ' ', 'g'), 200))
                          ORDER BY t.weight DESC, t.statement_id))[1:5] AS statements,
               (SELECT string_agg(DISTINCT quote_ident(x.relname), ', ')
                  FROM touching o JOIN indexes x ON x.indexrelid = o.indexrelid
                 WHERE o.relid = t.relid AND o.indexrelid <> t.indexrelid AND NOT o.summarizing
                   AND o.statement_id = ANY (array_agg(t.statement_id))) AS others,
               true AS seen
          FROM touching t LEFT JOIN weights w ON w.relid = t.relid
         GROUP BY t.relid, t.indexrelid, w.weight
    ), suspected AS (
        -- no statement is known that explains it: every index may be the one,
        -- the primary key only if there is no other
        SELECT x.relid, x.indexrelid,
               (SELECT array_agg(DISTINCT k.column_name::text ORDER BY k.column_name::text) FROM index_columns k WHERE k.indexrelid = x.indexrelid) AS columns,
               (SELECT string_agg(DISTINCT k.role, ', ' ORDER BY k.role) FROM index_columns k WHERE k.indexrelid = x.indexrelid) AS role,
               CASE WHEN count(*) OVER (PARTITION BY x.relid) = 1 THEN 1 END::double precision AS share,
               CASE WHEN count(*) OVER (PARTITION BY x.relid) = 1 THEN 1 END::double precision AS alone,
               NULL::text[] AS statements,
               NULL::text AS others,
               false AS seen
          FROM indexes x
         WHERE NOT x.summarizing
           AND NOT EXISTS (SELECT 1 FROM touching t WHERE t.relid = x.relid AND NOT t.summarizing)
           AND (NOT x.indisprimary OR NOT EXISTS (SELECT 1 FROM indexes o WHERE o.relid = x.relid AND NOT o.indisprimary AND NOT o.summarizing))
    ), weighed AS (
        SELECT f.*, x.relname, x.nspname, x.indisvalid, x.summarizing, x.needed_for, x.scans, x.since, b.blocked_share, b.has_trigger,
               x.since <= now() - k.watch AS watched, k.watch, b.roomy_per_s < 0.99 * b.blocked_per_s AS without_room,
               b.updates_per_s AS all_per_s,
               CASE WHEN x.summarizing THEN 0 ELSE b.blocked_per_s * f.share END AS updates_per_s,
               CASE WHEN x.summarizing THEN 0 ELSE b.roomy_per_s * f.alone END AS won_hot_per_s,
               b.blocked_per_s * f.alone AS alone_per_s,
               -- index entries not written: an update that becomes HOT saves one in every
               -- index, one that stays as it is saves the one in this index
               CASE WHEN x.summarizing THEN 0
                    ELSE b.roomy_per_s * f.alone * (SELECT count(*) FROM indexes o WHERE o.relid = f.relid)
                         + greatest(b.cold_per_s - b.roomy_per_s * f.alone, 0) END AS entries_per_s,
               NOT x.summarizing AND (x.needed_for IS NULL AND x.scans = 0 AND coalesce(x.since <= now() - k.watch, false) OR NOT x.indisvalid) AS free,
               EXISTS (SELECT 1 FROM updating u WHERE u.relid = f.relid) AS has_statements
          FROM (SELECT * FROM found UNION ALL SELECT * FROM suspected) f
          JOIN indexes x ON x.indexrelid = f.indexrelid AND x.relid = f.relid
          JOIN blocked b ON b.relid = f.relid
         CROSS JOIN constants k
    )
    SELECT o.relation, o.index, o.columns, o.role, o.updates_per_s, o.won_hot_per_s, o.won_wal_per_s, o.won_cpu_ms_per_s,
           o.scans, o.since, o.index_bytes, o.needed_for, o.summarizing, o.statements, o.reason, o.suggestion, o.ddl, o.definition
      FROM (
        SELECT w.relid::regclass AS relation, w.indexrelid::regclass AS index, w.columns, w.role,
               w.updates_per_s, w.won_hot_per_s,
               -- Measured per index entry that an update writes: 80 bytes of WAL and 2 microseconds, a B-tree on an
               -- integer, all in memory, no full-page images: the least that is won.
               w.entries_per_s * 80 AS won_wal_per_s, w.entries_per_s * 0.002 AS won_cpu_ms_per_s,
               w.scans, w.since, z.heap_bytes AS index_bytes, w.needed_for, w.summarizing, w.statements,
               CASE WHEN w.summarizing THEN format('column %s is set, but this kind of index lets updates be HOT on this version', array_to_string(w.columns, ', '))
                    WHEN NOT w.seen AND w.has_statements THEN
                        'updates were not HOT although they stayed in their page, but no statement seen sets an indexed column: look for functions, triggers and the unattributed rows of ff_statements()'
                    WHEN NOT w.seen THEN
                        CASE WHEN w.blocked_share IS NULL THEN 'updates were not HOT, and it is not known whether for this index or for lack of room; '
                             ELSE 'updates stayed in their page and were not HOT; ' END
                        || 'which index it was is not known without their statements'
                        || coalesce(': ' || (SELECT s.reason FROM ff_internal.statement_snapshot s ORDER BY s.collection_id DESC LIMIT 1), '')
                    ELSE format('about %s of %s updates per second could not be HOT, because they set %s',
                                round(w.updates_per_s::numeric, 1), round(w.all_per_s::numeric, 1), array_to_string(w.columns, ', '))
                         || CASE WHEN w.alone_per_s < 0.99 * w.updates_per_s THEN format('; %s of them for this index alone, the others for %s as well',
                                                                                               CASE WHEN w.alone_per_s > 0 THEN round(w.alone_per_s::numeric, 1)::text ELSE 'none' END, w.others) ELSE '' END
                         || CASE WHEN w.without_room THEN '; they left their page as well: to be HOT they would need room in it, too' ELSE '' END
                         || CASE WHEN w.blocked_share IS NULL THEN ' (at most: how many moved for lack of room is not known)' ELSE '' END
               END || CASE WHEN w.has_trigger AND NOT w.summarizing THEN '; a BEFORE UPDATE trigger may set further columns' ELSE '' END AS reason,
               CASE WHEN w.summarizing THEN 'nothing to do'
                    WHEN NOT w.indisvalid AND w.needed_for IS NULL THEN 'invalid, of use to no query, but maintained: drop it, unless CREATE INDEX CONCURRENTLY is at work on it now'
                    WHEN w.needed_for IS NOT NULL THEN format('keep it: %s; the way out is not to change %s', w.needed_for,
                        CASE WHEN w.seen THEN array_to_string(w.columns, ', ') ELSE 'its columns' END)
                    WHEN w.scans = 0 AND w.watched THEN format('not scanned once since %s: drop it, if it is not scanned on a standby either', to_char(w.since, 'YYYY-MM-DD HH24:MI'))
                    WHEN w.scans = 0 THEN format('no scan is known, but its scans were watched for %s only: not to be dropped before %s days without one, so that a weekly job had its chance',
                                                 ff_internal.span(coalesce(greatest(extract(epoch FROM now() - w.since), 0), 0)::double precision), extract(day FROM w.watch))
                    WHEN w.role = 'include' THEN 'the column is only carried along (INCLUDE): without it in the index, these updates can be HOT'
                    WHEN w.role = 'predicate' THEN 'only its WHERE clause depends on the column: another predicate would let these updates be HOT'
                    ELSE format('scanned %s times: weigh these scans against the updates', w.scans)
               END AS suggestion,
               CASE WHEN w.free AND w.needed_for IS NULL THEN format('DROP INDEX CONCURRENTLY %s.%s;', ff_internal.quoted_name(w.nspname::text), ff_internal.quoted_name(w.relname::text)) END AS ddl,
               -- without waiting for a lock
               nullif((ff_internal.index_definitions(w.relid, ARRAY[w.indexrelid]))[1], '') || ';' AS definition,
               w.summarizing AS last, w.free AND w.needed_for IS NULL AND w.seen AS jackpot, w.relname
          FROM weighed w
          LEFT JOIN LATERAL ff_internal.sizes(w.indexrelid) z ON true
        UNION ALL
        SELECT j.relid::regclass, NULL, NULL, NULL, CASE WHEN j.updated > 0 THEN 0 END, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
               CASE WHEN j.not_examined IS NOT NULL THEN j.not_examined
                    WHEN j.updated IS NULL THEN 'no interval was collected yet'
                    WHEN j.updated = 0 THEN 'no updates were seen'
                    WHEN b.relid IS NULL AND j.newpage_share >= 0.01 THEN format('%s %% of the updates were HOT, the others left their page for lack of room', round((100 * j.hot_share)::numeric, 1))
                    WHEN b.relid IS NULL THEN format('%s %% of the updates were HOT', round((100 * j.hot_share)::numeric, 1))
                    ELSE 'it has no index that stands in the way: the updates were not HOT for lack of room' END,
               NULL, NULL, NULL, true, false, NULL
          FROM judged j
          LEFT JOIN blocked b ON b.relid = j.relid
         WHERE NOT EXISTS (SELECT 1 FROM weighed w WHERE w.relid = j.relid)) o
     ORDER BY o.last, o.jackpot DESC, o.won_hot_per_s DESC NULLS LAST, o.updates_per_s DESC NULLS LAST, o.relation::text, o.relname
$$;
COMMENT ON FUNCTION @extschema@.ff_blockers(regclass) IS 'What keeps updates from being HOT whatever room their page has, one row for each table and index, the surest gain first; a row without index says why there is none. Columns: relation; index; columns: those of it that are set by the statements seen (without statements: all of it); role: what they are in it (key, include, expression, predicate, whole row); updates_per_s: updates it keeps from being HOT; won_hot_per_s: of these, those that would be HOT without this one index, or if the columns were not set, not counting those that left their page as well; won_wal_per_s (bytes) and won_cpu_ms_per_s: the least that saves, from the number of index entries not written; scans: of the index, as the server counts them, on this server; scans_since: since when no scan can have been missed: the latest of the beginning or loss of statistics and the first collection that saw the table and the index (NULL: none did since); index_bytes; needed_for: constraint or other reason for which it must stay; summarizing: kind of index that lets updates be HOT; statements: those that set the columns, with calls and rows of the window; reason; suggestion; ddl: only for an index that is not needed, by a foreign key either, and was not scanned in at least 7 days since scans_since, or is invalid; definition: what makes it again (NULL where the table''s lock is not to be had at once). NULL figures are unknown, see reason.';

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
        SELECT n.kind, n.holder, n.role_name, n.application, coalesce(n.since, h.since) AS since, clock_timestamp() AS until,
               greatest(n.xids, h.xids) AS xids, n.doing, n.catalog_only, true AS now
          FROM holders n
          LEFT JOIN LATERAL (SELECT o.* FROM ff_internal.horizon_history o
                              WHERE o.holder = n.holder AND (o.since = n.since OR n.since IS NULL)
                              ORDER BY o.since DESC LIMIT 1) h ON true
        UNION ALL
        (SELECT h.kind, h.holder, h.role_name, h.application, h.since, h.last_seen_at, h.xids, h.doing, false, false
           FROM ff_internal.horizon_history h
          WHERE h.last_seen_at > clock_timestamp() - make_interval(secs => ff_internal.setting('lookback')::integer)
            AND NOT EXISTS (SELECT 1 FROM holders n WHERE n.holder = h.holder AND (n.since = h.since OR n.since IS NULL))
          ORDER BY h.xids DESC LIMIT 100)
    ), spans AS MATERIALIZED (
        SELECT row_number() OVER () AS n, * FROM held
    ), quiet AS MATERIALIZED (
        -- each table's HOT share while nothing of all this was held
        SELECT i.rel_id, sum(i.updated) AS updated, sum(i.hot_updated) AS hot
          FROM ff_internal.counter_interval i
         WHERE i.ended_at > clock_timestamp() - make_interval(secs => ff_internal.setting('lookback')::integer)
           AND NOT EXISTS (SELECT 1 FROM spans s WHERE NOT s.catalog_only AND s.since < i.ended_at AND s.until > i.began_at)
         GROUP BY i.rel_id HAVING sum(i.updated) >= 100
    ), cost AS (
        -- the same tables while it was, each table weighed by its updates then
        SELECT s.n, sum(i.updated) AS updated, sum(i.hot_updated) AS hot, sum(i.updated * q.hot / q.updated) AS otherwise
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
                ELSE CASE s.kind WHEN 'idle in transaction' THEN 'commit sooner in the application, or set idle_in_transaction_session_timeout'
                     WHEN 'transaction' THEN 'run long queries on a standby, or in smaller transactions'
                     WHEN 'prepared transaction' THEN 'COMMIT PREPARED or ROLLBACK PREPARED, if its transaction manager has forgotten it'
                     WHEN 'replication slot' THEN 'bring its consumer back, or drop the slot if nobody will use it again'
                     ELSE 'long queries on the standby, with hot_standby_feedback on, hold it back here' END END
      FROM spans s LEFT JOIN cost c ON c.n = s.n
     ORDER BY s.catalog_only, s.now DESC, s.xids DESC, s.since
$$;
COMMENT ON FUNCTION @extschema@.ff_horizon() IS 'What holds back pruning of this database''s tables, now and in the recent window. Columns: now: at this moment; kind: transaction, idle in transaction, prepared transaction, replication slot, standby feedback; holder; role_name; application; since; held_s: seconds (up to the last look that saw it); xids: transactions begun after its snapshot, so versions that could not be pruned are that old; hot_pct_held: HOT share of the updates meanwhile, percent; hot_pct_else: what the same tables reached without it; lost_hot: updates that were not HOT for it, by that difference; NULL where too little was seen on either side; doing: its last statement; suggestion. Of the past, the hundred holders with the most transactions behind them. Short transactions are seen only while they last.';
