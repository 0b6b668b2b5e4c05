-- What makes updates non-HOT although their page has room: an index on a column that changes (except
-- summarizing ones from PostgreSQL 16 on), or a snapshot that keeps old versions alive.

-- What needs an index, besides the scans of queries; NULL: nothing. hub/observe.sql has the same for a mirror.
CREATE FUNCTION ff_internal.index_needed(index oid) RETURNS text
LANGUAGE sql STABLE
RETURN coalesce(
    -- found by its table, or by what depends on the index: pg_constraint has no index of conindid
    (SELECT CASE c.contype WHEN 'p' THEN 'primary key ' WHEN 'u' THEN 'unique constraint '
                           WHEN 'x' THEN 'exclusion constraint ' ELSE 'foreign key ' END || quote_ident(c.conname)
       FROM (SELECT o.oid FROM pg_index i JOIN pg_constraint o ON o.conrelid = i.indrelid WHERE i.indexrelid = index
             UNION
             SELECT d.objid FROM pg_depend d
              WHERE d.classid = 'pg_constraint'::regclass AND d.refclassid = 'pg_class'::regclass
                AND d.refobjid = index) n
      CROSS JOIN LATERAL (SELECT k.* FROM pg_constraint k WHERE k.oid = n.oid AND k.conindid = index OFFSET 0) c
      ORDER BY c.contype = 'f', c.conname LIMIT 1),
    (SELECT CASE WHEN i.indisunique THEN 'unique index' WHEN i.indisreplident THEN 'replica identity'
                 -- CLUSTER with a sort counts no scan
                 WHEN i.indisclustered THEN 'the order of CLUSTER' END
       FROM pg_index i WHERE i.indexrelid = index),
    (SELECT o.said->>'needed' FROM ff_internal.observed o WHERE o.kind = 'index' AND o.id = index),
    (SELECT 'part of the partitioned index ' || quote_ident(p.relname)
       FROM pg_inherits h JOIN pg_class p ON p.oid = h.inhparent WHERE h.inhrelid = index),
    -- without it, each delete reads the whole table; rare deletes may not have scanned it yet
    (SELECT format('foreign key %I, whose check finds by it the rows that refer to one deleted from %I',
                   c.conname, p.relname)
       FROM pg_index i
       JOIN pg_constraint c ON c.conrelid = i.indrelid AND c.contype = 'f'
       JOIN pg_class p ON p.oid = c.confrelid
      WHERE i.indexrelid = index
        AND (i.indkey::int2[])[0:least(cardinality(c.conkey), i.indnkeyatts) - 1] <@ c.conkey
      ORDER BY c.conname LIMIT 1));

-- Time since which an index's counter has every scan; NULL: unknown, or no collection has seen the index yet.
CREATE FUNCTION ff_internal.scans_counted_since(index oid) RETURNS timestamptz
LANGUAGE sql STABLE
AS $$
    SELECT greatest(e.began_at, r.opened_at, f.seen_at,
                    -- resets that no collection has seen yet; resetting one index moves the database's time, too
                    s.database_reset, nullif(s.cluster_reset, e.cluster_reset),
                    -- an invalid index may have become valid long after it was made
                    (SELECT max(h.seen_at) FROM ff_internal.change h
                      WHERE h.rel_id = r.rel_id AND h.kind = 'indexes' AND h.created_indexes IS NOT NULL),
                    (SELECT max(c.began_at) FROM ff_internal.collection c WHERE NOT c.track_counts))
      FROM (SELECT n.* FROM ff_internal.epoch n ORDER BY n.epoch_id DESC LIMIT 1) e
      JOIN ff_internal.server s USING (system_identifier, timeline, database_oid, server_version)
      JOIN pg_index i ON i.indexrelid = index
      JOIN ff_internal.followed r ON r.relid = i.indrelid AND index = ANY (r.index_oids)
     -- recreating an equal index is no change of the table: xmin, as the latest possible 64-bit id, dates it
     CROSS JOIN (SELECT greatest(pg_snapshot_xmax(pg_current_snapshot())::text::bigint
                                 - (pg_snapshot_xmax(pg_current_snapshot())::text::bigint - a.xmin::text::bigint
                                    & 4294967295), 0)::text::xid8
                   FROM pg_attribute a WHERE a.attrelid = index AND a.attnum = 1 OFFSET 0) made(xid)
     CROSS JOIN LATERAL (
           SELECT CASE WHEN s.observed IS NOT NULL THEN r.opened_at
                       ELSE (SELECT c.began_at FROM ff_internal.collection c
                              WHERE c.epoch_id = e.epoch_id AND c.next_xid > made.xid
                              ORDER BY c.next_xid LIMIT 1) END OFFSET 0) f(seen_at)
     WHERE f.seen_at IS NOT NULL
$$;

-- The indexes that keep a table's updates from being HOT, and those that nothing needs or scans but each other update
-- writes to. only_watched: of the latter only those watched for long enough to drop them, 7 days.
CREATE FUNCTION ff_internal.blockers(e ff_internal.table_evidence, only_watched boolean)
RETURNS SETOF ff_internal.blocker
LANGUAGE sql STABLE ROWS 10
BEGIN ATOMIC
    WITH known AS (
        SELECT i.indexrelid, x.summarizing, x.seen, x.statements, x.columns, coalesce(x.usage, 'unused') AS usage,
               coalesce(x.share, z.nothing) AS share, coalesce(x.alone, z.nothing) AS alone, x.ids, x.parts, x.still,
               s.scans, f.since, n.needed, r.rate, u.besides,
               -- of what was kept from HOT, what statements explain
               e.kept_share * r.rate * o.part AS kept, e.kept_with_room * r.rate * o.part AS with_room,
               x.indexrelid IS NOT NULL AND NOT x.summarizing AND x.still IS NOT TRUE AS blocks,
               n.needed IS NULL AND x.summarizing IS NOT TRUE AND x.still IS NOT TRUE
               AND (NOT i.indisvalid OR s.scans = 0 AND f.since <= now() - interval '7 days') IS TRUE AS free
          -- OFFSET: before anything is looked up
          FROM (SELECT h.*
                  FROM ff_internal.threshold('FEW') few
                 CROSS JOIN LATERAL (SELECT e.kept_share >= few AS kept,
                                            (e.recent).updated > 0 AND 1 - e.hot_share >= few AS not_hot) h
                 WHERE h.kept OR h.not_hot OFFSET 0) here
          JOIN pg_index i ON i.indrelid = e.relation AND e.not_examined IS NULL
          JOIN pg_class c ON c.oid = i.indexrelid
          JOIN pg_am m ON m.oid = c.relam
         CROSS JOIN ff_internal.updates_per_s(e) r(rate)
          LEFT JOIN ff_internal.blocking_indexes(CASE WHEN here.kept THEN e.relation END) x
                 ON x.indexrelid = i.indexrelid
          LEFT JOIN ff_internal.observed q ON q.kind = 'index' AND q.id = i.indexrelid
         CROSS JOIN (SELECT ff_internal.besides_statements(e) OFFSET 0) u(besides)
         CROSS JOIN LATERAL (SELECT least(1, CASE WHEN x.seen   -- NULL counts as 1
                                                  THEN e.indexed_share / nullif(e.kept_share, 0) END)) o(part)
         CROSS JOIN LATERAL (SELECT CASE WHEN x.indexrelid IS NULL AND u.besides IS NULL THEN 0 END) z(nothing)
         CROSS JOIN LATERAL ff_internal.scans_counted_since(i.indexrelid) f(since)
         CROSS JOIN LATERAL ff_internal.index_needed(i.indexrelid) n(needed)
         -- a standby does not know those of its primary
         CROSS JOIN LATERAL (SELECT (SELECT coalesce((q.said->>'scans')::bigint, pg_stat_get_numscans(i.indexrelid))
                                       FROM ff_internal.server v WHERE NOT v.in_recovery)) s(scans)
         -- keys hardly ever change: one needs more than the lack of evidence
         WHERE x.indexrelid IS NOT NULL AND (x.seen OR e.blocked_share > 0 OR NOT i.indisprimary)
            OR c.relkind = 'i' AND m.amname <> 'brin' AND i.indisready AND s.scans = 0 AND n.needed IS NULL
               AND here.not_hot AND (f.since <= now() - interval '7 days' OR NOT i.indisvalid OR NOT only_watched)
    ), placed AS (
        SELECT k.*, row_number() OVER (ORDER BY NOT k.blocks, k.usage = 'unused', k.summarizing, k.free AND k.seen DESC,
                                                k.alone DESC NULLS LAST, k.share DESC NULLS LAST,
                                                k.needed IS NOT NULL, k.indexrelid) AS place FROM known k
    ), last AS (
        -- an update becomes HOT with the last index that is in its way
        SELECT max(p.place) AS place, max(q.part) AS part
          FROM placed p CROSS JOIN LATERAL unnest(p.ids, p.parts) q(id, part) WHERE p.blocks GROUP BY q.id
    )
    SELECT e.relation, p.indexrelid, p.summarizing, p.seen, p.statements, p.columns, p.usage,
           p.kept * p.share, p.kept * p.alone, w.won,
           -- an update that becomes HOT saves an entry in every index, any other non-HOT update the one in this index
           CASE WHEN NOT p.summarizing THEN w.won * e.indexes + greatest(0, (1 - e.hot_share) * p.rate - w.won)
                WHEN p.usage = 'unused' THEN (1 - e.hot_share) * p.rate ELSE 0 END,
           p.scans, p.since, p.needed, p.still, p.free, p.place,
           CASE WHEN NOT p.seen THEN w.won
                WHEN p.blocks
                THEN p.with_room * coalesce((SELECT sum(l.part) FROM last l WHERE l.place <= p.place), 0) END,
           CASE WHEN p.place = 1 OR p.seen IS NOT TRUE THEN p.besides END
      FROM placed p
     CROSS JOIN LATERAL (SELECT p.with_room * p.alone) w(won);
END;

-- A rate, per second, in words, with three digits: of the shortest time in which there is one.
CREATE FUNCTION ff_internal.rate_words(per_s float8) RETURNS text
LANGUAGE sql STABLE
RETURN (SELECT trim_scale(to_char(u.s * per_s, '9.99EEEE')::numeric) || ' per ' || u.name
          FROM (VALUES (1, 'second'), (60, 'minute'), (3600, 'hour'), (86400, 'day')) u(s, name)
         WHERE u.s * per_s >= 1 OR u.name = 'day' ORDER BY u.s LIMIT 1);

-- Says why an index is listed.
CREATE FUNCTION ff_internal.blocker_reason(b ff_internal.blocker, e ff_internal.table_evidence) RETURNS text
LANGUAGE sql STABLE
AS $$
    SELECT concat(CASE
           WHEN b.usage = 'unused'
           THEN format('no statement seen sets its columns, but each update that is not HOT (%s) writes to it',
                       ff_internal.rate_words(b.entries))
           WHEN b.summarizing
           THEN format('%s is set, but this kind of index lets updates be HOT on this version', n.columns)
           WHEN b.still
           THEN format('statements set %s, but hardly ever change it, as pages or the last ANALYZE show: another index '
                       'keeps these updates from being HOT', n.columns)
           WHEN b.kept_by IS NULL
           THEN 'updates were not HOT; which index it was is not known without the statements that set its columns'
           ELSE format('about %s of the updates (%s) could not be HOT, because %s %s',
                       ff_internal.percent(100 * b.kept_by / r.rate), ff_internal.rate_words(b.kept_by),
                       CASE WHEN b.seen THEN 'they set'
                            ELSE 'pages show it, or no other index can be in the way; no statement seen sets' END,
                       n.columns) END,
           (SELECT format(' (%s by trigger %s)', string_agg(DISTINCT quote_ident(c), ', '),
                          string_agg(DISTINCT quote_ident(t.name), ', '))
              FROM ff_internal.update_triggers(b.relid) t, unnest(t.changes) c
             WHERE c = ANY (b.columns) HAVING count(*) > 0),
           '; ' || b.besides,
           CASE WHEN b.still IS NULL AND b.seen AND NOT b.summarizing
                THEN format('; whether %s really changes is not known: no ANALYZE since, or this role may not read '
                            'its statistics', n.columns) END,
           CASE WHEN b.kept_alone < 0.99 * b.kept_by
                THEN format('; without this index alone %s of the updates would be HOT, without it and those above %s',
                            ff_internal.percent(100 * b.won / r.rate),
                            ff_internal.percent(100 * b.won_together / r.rate)) END,
           CASE WHEN b.kept_by > 0 AND e.kept_with_room < 0.99 * e.kept_share
                THEN '; they left their page as well: to be HOT they would need room in it, too' END)
      FROM (SELECT array_to_string(b.columns, ', ')) n(columns), ff_internal.updates_per_s(e) r(rate)
$$;

-- Says what could be done about an index: first what its columns tell, then whether it may go.
CREATE FUNCTION ff_internal.blocker_cure(b ff_internal.blocker) RETURNS text
LANGUAGE sql STABLE
AS $$
    SELECT CASE
           WHEN b.still THEN 'nothing to do here while that is so'
           WHEN b.summarizing THEN 'nothing to do here'
           WHEN b.free AND NOT i.indisvalid
           THEN 'invalid, but maintained: drop it, unless CREATE INDEX CONCURRENTLY is at work now'
           WHEN b.free
           THEN format('not scanned once since %s: drop it, if it is not scanned on a standby either%s',
                       ff_internal.minute(b.since), CASE WHEN i.indexprs IS NOT NULL
                       THEN '; CREATE STATISTICS keeps those on its expressions' END)
           ELSE concat_ws('; ', CASE
                WHEN m.amname = 'brin' THEN 'from PostgreSQL 16 on these updates are HOT'
                WHEN b.usage = 'include'
                     -- the first column stays
                     OR b.usage = 'key' AND b.needed IS NULL AND a.attname <> ALL (b.columns)
                THEN format('%s could be left out of it: then these updates can be HOT', n.columns) END, CASE
                WHEN b.needed <> ''
                THEN concat('keep it: ', b.needed, CASE WHEN b.usage <> 'include' AND b.seen
                                                        THEN '; the way out is not to change ' || n.columns END)
                WHEN b.scans IS NULL THEN 'its scans are counted on the primary: ask there'
                WHEN b.scans = 0
                THEN format('no scan %s: drop it only after 7 days without one',
                            coalesce('in ' || ff_internal.span(extract(epoch FROM now() - b.since)::float8), 'known'))
                ELSE format('scanned %s: weigh these scans against the updates',
                            ff_internal.counted(b.scans, 'time')) END) END
      FROM pg_index i
      JOIN pg_class c ON c.oid = i.indexrelid
      JOIN pg_am m ON m.oid = c.relam
      LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
     CROSS JOIN (SELECT array_to_string(b.columns, ', ')) n(columns)
     WHERE i.indexrelid = b.indexrelid
$$;

CREATE FUNCTION @extschema@.ff_blockers(relation regclass DEFAULT NULL)
RETURNS TABLE (
    relation regclass, index regclass, columns text[], usage text, blocked_per_s real, won_hot_per_s real,
    won_together_per_s real, won_wal_per_s bigint, won_cpu_ms_per_s real, scans bigint, scans_since timestamptz,
    index_bytes bigint, needed_for text, summarizing boolean, statements text[], reason text, suggestion text, ddl text,
    definition text
)
LANGUAGE sql STABLE ROWS 100
SET jit = off
AS $$
    SELECT ff_internal.check_role('reader');
    SELECT e.relation, b.indexrelid::regclass, b.columns, b.usage, to_char(b.kept_by, '9.99EEEE')::real,
           to_char(b.won, '9.99EEEE')::real, to_char(b.won_together, '9.99EEEE')::real,
           round(b.entries * p.wal_bytes)::bigint, to_char(b.entries * p.cpu_us / 1000, '9.99EEEE')::real, b.scans,
           b.since, z.heap_bytes, b.needed, b.summarizing, b.statements,
           CASE WHEN b.relid IS NOT NULL THEN ff_internal.blocker_reason(b, e)
                WHEN e.not_examined <> '' THEN e.not_examined
                WHEN (e.counted).updated IS NULL THEN 'no interval was collected yet'
                WHEN coalesce((e.recent).updated, 0) = 0 THEN 'no updates were seen'
                ELSE concat(ff_internal.percent(100 * e.hot_share), ' of the updates were HOT',
                            CASE WHEN e.newpage_share >= ff_internal.threshold('FEW')
                                 THEN ', the others left their page for lack of room' END) END,
           ff_internal.blocker_cure(b), CASE WHEN b.free THEN ff_internal.drop_index(b.indexrelid) END,
           nullif((ff_internal.index_definitions(b.relid, ARRAY[b.indexrelid]))[1], '') || ';'
      FROM ff_internal.evidence(ff_internal.checked_table($1)) e
      LEFT JOIN LATERAL ff_internal.blockers(e, $1 IS NULL) b ON true
     CROSS JOIN (SELECT ff_internal.threshold('WAL_ENTRY'), ff_internal.threshold('US_ENTRY')) p(wal_bytes, cpu_us)
      LEFT JOIN LATERAL ff_internal.sizes(b.indexrelid) z ON true
     WHERE b.relid IS NOT NULL OR $1 IS NOT NULL
    WINDOW of_table AS (PARTITION BY e.relation)
     ORDER BY b.usage = 'unused', b.summarizing, b.still IS TRUE,
              (bool_or(b.free AND b.seen) OVER of_table) IS TRUE DESC,
              max(b.won_together) OVER of_table DESC NULLS LAST, e.relation::text, b.place
$$;
COMMENT ON FUNCTION @extschema@.ff_blockers(regclass) IS
'Indexes that keep updates from being HOT whatever room their page has, the surest gain first; then those that nothing '
'uses, but each update that is not HOT writes. For one table without any, a row says why. NULL figures are unknown, '
'see reason. None where a later PostgreSQL counts HOT updates of indexed columns.
columns: its columns set by the statements seen (without statements: all). usage: their role in it (key, include, '
'expression, predicate, whole row), or unused: none is set and no scan is known; in the list of all tables only after '
'7 days.
Per second of the window: blocked_per_s: updates kept from being HOT (before PostgreSQL 16 at most: how many lacked '
'room is unknown). won_hot_per_s: those HOT without this one index; won_together_per_s: without it and the rows of its '
'table above. won_wal_per_s (bytes), won_cpu_ms_per_s: saved at least, by index entries not written.
scans: on this server; NULL on a standby. scans_since: since when none can have been missed. needed_for: why it must '
'stay. summarizing: kind of index that lets updates be HOT. statements: those that set the columns, with calls and '
'rows of the window. ddl: only if nothing needs it and it was not scanned for 7 days since scans_since, or it is '
'invalid. definition: recreates it (NULL: the table is locked).
Errors: 42P01 unknown OID, 42809 not a table.';

CALL ff_internal.define($$
CREATE VIEW @extschema@.ff_blocked (
    -- The indexes of ff_blockers() at a glance.
    relation,
    index,
    columns,   -- its columns set by the statements seen
    blocked,   -- updates that it keeps from being HOT; NULL: unknown
    scans,     -- of the index, on this server; NULL on a standby
    what_to_do -- the cure, with a statement only if nothing needs it
) AS
SELECT b.relation::text, b.index::text, array_to_string(b.columns, ', '),
       regexp_replace(ff_internal.rate_words(b.blocked_per_s), ' per (s|min|h|day).*', E'/\\1'), b.scans,
       concat_ws(E'\n', ff_internal.lines(concat_ws('; ', CASE WHEN b.blocked_per_s IS NULL THEN b.reason END,
                                                    b.suggestion), 30), b.ddl)
  FROM @extschema@.ff_blockers() b
$$);

CREATE FUNCTION @extschema@.ff_horizon()
RETURNS TABLE (
    now boolean, kind text, holder text, role_name name, application text, since timestamptz, held_s float8,
    xids bigint, hot_pct_held float8, hot_pct_else float8, lost_hot bigint, doing text,
    suggestion text
)
LANGUAGE sql VOLATILE ROWS 20
AS $$
    SELECT ff_internal.check_role('reader');
    SELECT ff_internal.warn_unless_seen();
    WITH current AS MATERIALIZED (
        SELECT n.kind, n.holder, n.role_name, n.application,
               coalesce(n.since, (SELECT max(h.since) FROM ff_internal.horizon_history h
                                   WHERE h.holder = n.holder AND h.last_seen_at >= s.observed_since)) AS since,
               ff_internal.observed_at() AS until, n.xids, n.doing, true AS now
          FROM ff_internal.horizon_holders() n, ff_internal.observed_since() s(observed_since)
    ), held AS MATERIALIZED (
        SELECT * FROM current
        UNION ALL
        (SELECT h.kind, h.holder, h.role_name, h.application, h.since, h.last_seen_at, h.xids, h.doing, false
           FROM ff_internal.horizon_history h
          WHERE h.last_seen_at > now() - ff_internal.lookback()
            AND h.last_seen_at >= (SELECT ff_internal.observed_since())
            AND NOT EXISTS (SELECT FROM current n WHERE (n.holder, n.since) = (h.holder, h.since))
          ORDER BY h.xids DESC LIMIT 100)
    ), quiet AS MATERIALIZED (
        -- each table's HOT share while nothing held back pruning
        SELECT i.rel_id, sum(i.hot_updated) / sum(i.updated) AS hot_share
          FROM ff_internal.counter_interval i,
               (SELECT ff_internal.held_times(now() - ff_internal.lookback()) OFFSET 0) b(ranges)
         WHERE i.ended_at > now() - ff_internal.lookback() AND NOT b.ranges && tstzrange(i.began_at, i.ended_at, '()')
         GROUP BY i.rel_id HAVING sum(i.updated) >= 100
    ), spans AS MATERIALIZED (
        -- all tables together: a collection ends the intervals of all at once
        SELECT i.began_at, i.ended_at, sum(i.updated) AS updated, sum(i.hot_updated) AS hot,
               sum(i.updated * q.hot_share) AS otherwise
          FROM ff_internal.counter_interval i
          JOIN quiet q USING (rel_id)
         WHERE i.ended_at >= (SELECT min(h.since) FROM held h)
         GROUP BY i.began_at, i.ended_at
    )
    SELECT s.now, s.kind, s.holder, s.role_name, s.application, s.since,
           round(extract(epoch FROM s.until - s.since))::float8, s.xids, round(100 * c.hot / c.updated, 1)::float8,
           round(100 * c.otherwise / c.updated, 1)::float8,
           CASE WHEN c.updated > 0 THEN greatest(round(c.otherwise - c.hot), 0) END, s.doing,
           CASE WHEN s.kind ~ 'transaction$' AND s.until - s.since < make_interval(secs => a.seconds)
                THEN 'none is needed if it ends within ' || ff_internal.span(a.seconds)
                ELSE CASE s.kind
                     WHEN 'idle in transaction' THEN 'commit sooner, or set idle_in_transaction_session_timeout'
                     WHEN 'transaction' THEN 'run long queries on a standby, or in smaller transactions'
                     WHEN 'prepared transaction' THEN 'COMMIT PREPARED or ROLLBACK PREPARED, if it was forgotten'
                     WHEN 'replication slot' THEN 'bring its consumer back, or drop the slot'
                     ELSE 'long queries on the standby, with hot_standby_feedback on, hold it back here' END END
      FROM held s
      -- the same tables meanwhile, each weighted by its updates then
     CROSS JOIN LATERAL (
           SELECT nullif(sum(i.updated), 0) AS updated, sum(i.hot) AS hot, sum(i.otherwise) AS otherwise
             FROM spans i
            WHERE i.began_at >= s.since AND i.ended_at <= s.until) c
     CROSS JOIN ff_internal.setting('snapshot_age') a(seconds)
     ORDER BY s.now DESC, s.xids DESC, s.since
$$;
COMMENT ON FUNCTION @extschema@.ff_horizon() IS
'What holds back pruning of this database''s tables, now and within fillfactor_advisor.lookback; of the past, the '
'hundred holders with the most transactions behind them. Short transactions are seen only while they last; collections '
'and reads of a hub are left out.
now: at this moment. kind: transaction, idle in transaction, prepared transaction, replication slot, standby '
'feedback. held_s: seconds, until now or the last collection that saw it. xids: transactions begun after its snapshot. '
'hot_pct_held, hot_pct_else: HOT share of the updates meanwhile, and of the same tables without any such, percent. '
'lost_hot: updates not HOT because of it; NULL: too little was seen. doing: its last statement '
'without literals, or only its first word.';
