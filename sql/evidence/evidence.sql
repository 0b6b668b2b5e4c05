-- Everything known of a table, in one row.

-- Whether a table was emptied and filled again in an interval: it has a new file, and got nine tenths of the rows
-- (chosen) that its next sample found, beside those deleted. TRUNCATE deletes none.
CREATE FUNCTION ff_internal.reloaded(i ff_internal.counter_interval) RETURNS boolean
LANGUAGE sql STABLE
RETURN i.rewritten AND i.inserted - i.deleted >= 0.9 * (
    SELECT greatest(1, p.live_rows) FROM ff_internal.page_sample p
     WHERE p.rel_id = i.rel_id AND p.sampled_at >= i.ended_at ORDER BY p.sampled_at LIMIT 1);

-- The window: src/evidence/window.c.

CREATE FUNCTION ff_internal.window_add(
    state internal, fresh boolean, began_at timestamptz, ended_at timestamptz, VARIADIC counted "any") RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'ff_window_add';

CREATE FUNCTION ff_internal.window_sum(state internal) RETURNS ff_internal.table_window
LANGUAGE c STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'ff_window_sum';

-- Sums of the intervals of one table; fresh: after the last change of fillfactor or indexes; counted: the columns of
-- type counters. Errors: 42804 others.
CREATE AGGREGATE ff_internal.window_of(
    fresh boolean, began_at timestamptz, ended_at timestamptz, VARIADIC counted "any")
(SFUNC = ff_internal.window_add, STYPE = internal, FINALFUNC = ff_internal.window_sum);

-- The sums of these tables' intervals since a time, or of all tables' (NULL); for evidence(), with its settings.
CREATE FUNCTION ff_internal.windows(
    ids bigint[], since timestamptz, OUT rel_id bigint, OUT in_window ff_internal.table_window)
RETURNS SETOF record
LANGUAGE plpgsql STABLE ROWS 1000
-- chosen: 10,000 tables with a week of history need 40 MB, and twice the time if they spill
SET work_mem = '128MB'
AS $$
BEGIN
    RETURN QUERY EXECUTE format($q$
        -- evaluated once, not for each interval
        WITH x AS MATERIALIZED (SELECT * FROM ff_internal.last_change c WHERE $2 IS NULL OR c.rel_id = ANY ($2))
        SELECT i.rel_id, ff_internal.window_of(x.rel_id IS NULL OR i.began_at >= x.changed_at, i.began_at, i.ended_at,
                                               %s)
          FROM ff_internal.counter_interval i
          LEFT JOIN x ON x.rel_id = i.rel_id
         -- rollup: of all tables, the index finds the intervals of the lookback
         WHERE i.rollup IN (0, 1, 2) AND i.ended_at >= $1 AND ($2 IS NULL OR i.rel_id = ANY ($2))
         GROUP BY i.rel_id $q$, ff_internal.column_list('ff_internal.counters')) USING since, ids;
END
$$;

-- Splits updates by why they were not HOT: shares of all updates, as in FitSplit (src/model/plan.h); NULL: unknown.
-- Before PostgreSQL 16 newpage is NULL: then old versions in the pages (seen_*) decide, and by_statements, the share of
-- updates whose statement sets an indexed column. triggers: 0: none may set one.
CREATE FUNCTION ff_internal.split_updates(
    updated float8, hot float8, newpage float8, seen_same_page float8, seen_newpage float8,
    by_statements float8 DEFAULT NULL, seen_hot float8 DEFAULT NULL, triggers float8 DEFAULT NULL,
    OUT newpage_share float8, OUT blocked_share float8, OUT eligible_share float8, OUT recoverable_share float8,
    OUT kept_share float8, OUT kept_with_room float8)
AS 'MODULE_PATHNAME', 'ff_split_updates'
LANGUAGE c IMMUTABLE PARALLEL SAFE;

-- Share (0 to 1) of the rows updated since began_at whose statement sets an indexed column. If the statements explain
-- too few of the updates, or the columns of one are unknown: 0 if only the primary key is indexed, which hardly ever
-- changes, at least half of the recent updates were HOT (chosen) and no page shows otherwise (same_page), else NULL.
-- parts: as in targets_of().
CREATE FUNCTION ff_internal.indexed_share(
    relation regclass, began_at timestamptz, updated bigint, recent_hot_share float8, same_page float8,
    parts ff_internal.named_part[] DEFAULT NULL) RETURNS float8
LANGUAGE sql STABLE
AS $$
    SELECT CASE WHEN bool_and(s.columns IS NOT NULL) AND sum(s.rows) >= ff_internal.threshold('EXPLAINED') * updated
                THEN coalesce(sum(s.rows) FILTER (WHERE s.columns && (SELECT ff_internal.indexed_columns($1))), 0)
                     / sum(s.rows)::float8
                WHEN recent_hot_share >= 0.5 AND coalesce(same_page, 0) = 0
                     AND NOT EXISTS (SELECT FROM ff_internal.server v, pg_index i
                                       JOIN pg_class c ON c.oid = i.indexrelid
                                      WHERE i.indrelid = $1 AND i.indislive AND NOT i.indisprimary
                                        AND NOT ff_internal.summarizing(c.relam, v.server_version, v.hot_indexed))
                THEN 0 END
      FROM ff_internal.updates_seen($1, began_at, parts) s
     WHERE s.rows > 0
$$;

-- Whether most dead versions of a sample wait for a snapshot to end, and are more than so many times its live rows.
CREATE FUNCTION ff_internal.most_wait(s ff_internal.page_sample, times float8) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN s.recently_dead_rows > greatest(times * s.live_rows, 0.8 * s.dead_rows);

-- When holders of the visibility horizon were seen that were still seen after a time. Sorted: one search in it for an
-- interval, however many holders there were.
CREATE FUNCTION ff_internal.held_times(since timestamptz) RETURNS tstzmultirange
LANGUAGE sql STABLE
RETURN (SELECT coalesce(range_agg(tstzrange(h.since, h.last_seen_at, '[]')), '{}')
          FROM ff_internal.horizon_history h WHERE h.last_seen_at > held_times.since);

-- Says what a recorded holder of the visibility horizon cost a table (rel_id) since a time: its HOT share fell from
-- MOSTLY_HOT by more than 10 points meanwhile, or most versions in its pages wait for a snapshot. NULL: nothing, or
-- enough updates came since the last one ended, and lack room as well.
CREATE FUNCTION ff_internal.held_back(id bigint, since timestamptz, sampled timestamptz) RETURNS text
LANGUAGE sql STABLE
AS $$
    WITH did AS (
        SELECT i.updated, i.hot_updated AS hot, h.ranges && tstzrange(i.began_at, i.ended_at, '()') AS held,
               i.began_at >= upper(h.ranges) AS after
          FROM ff_internal.counter_interval i
         CROSS JOIN (SELECT ff_internal.held_times(held_back.since) AS ranges OFFSET 0) h
         WHERE i.rel_id = id AND i.began_at >= held_back.since
    ), sums AS (
        SELECT coalesce(sum(d.updated) FILTER (WHERE d.held), 0)::float8 AS held,
               sum(d.hot) FILTER (WHERE d.held) AS held_hot,
               coalesce(sum(d.updated) FILTER (WHERE NOT d.held), 0)::float8 AS free,
               sum(d.hot) FILTER (WHERE NOT d.held) AS free_hot,
               sum(d.updated) FILTER (WHERE d.after) AS after, sum(d.hot) FILTER (WHERE d.after) AS after_hot
          FROM did d
    )
    SELECT CASE WHEN c.free >= 100 AND c.free_hot >= k.mostly * c.free
                     AND c.held_hot / c.held < c.free_hot / c.free - 0.1
                THEN format('%s of its updates were HOT while an old snapshot was held, %s otherwise',
                            ff_internal.percent(100 * c.held_hot / c.held),
                            ff_internal.percent(100 * c.free_hot / c.free))
                WHEN c.held >= c.free
                THEN (SELECT format('%s old row versions wait for a snapshot to end (live rows: %s)',
                                    round(s.recently_dead_rows::numeric), round(s.live_rows::numeric))
                        FROM ff_internal.page_sample s
                       WHERE s.rel_id = id AND s.sampled_at = sampled AND ff_internal.most_wait(s, 0.3) LIMIT 1) END
      FROM sums c, ff_internal.threshold('MOSTLY_HOT') k(mostly)
     WHERE c.held > 0
       AND (c.after >= ff_internal.setting('min_updates') AND c.after_hot < k.mostly * c.after) IS NOT TRUE
$$;

-- Returns everything observed, one row per table, examined or not; of these tables, or of all (the first is NULL).
CREATE FUNCTION ff_internal.evidence(VARIADIC relations regclass[] DEFAULT NULL)
RETURNS SETOF ff_internal.table_evidence
LANGUAGE plpgsql STABLE ROWS 1000
SET jit = off
-- one table through its index, all in one pass
SET plan_cache_mode = force_custom_plan
AS $$
#variable_conflict use_column
DECLARE
    -- A whole hour, because intervals are rolled up to hours. One time for all tables of a name, whose sums they share:
    -- a table made later wrote nothing before.
    window_from CONSTANT timestamptz := date_trunc('hour', now() - ff_internal.lookback(), 'UTC');
BEGIN
    RETURN QUERY
    -- No statistics, missing or old, may cause a loop over all tables for each table: LATERAL with LIMIT or an
    -- aggregate is an index lookup, and a full join is never a nested loop.
    WITH examined AS MATERIALIZED (
        SELECT c.relid, c.nspname, c.relname, c.reloptions, c.not_examined, r.rel_id, r.sampled_at,
               r.seen_at, r.fillfactor AS known, ff_internal.effective_fillfactor(c.reloptions) AS fillfactor,
               r.opened_at, r.inserted + r.updated + r.deleted > 0 AS written,
               CASE WHEN o.in_recovery AND o.observed IS NOT NULL
                    THEN 'the source is a standby, which counts no writes: a mirror of its primary knows them'
                    END AS uncounted
          FROM ff_internal.user_table c
         CROSS JOIN ff_internal.server o
          LEFT JOIN LATERAL (
                -- after a restore, OIDs mean nothing until a collection has matched the tables
                SELECT k.* FROM ff_internal.relation k
                 WHERE k.system_identifier = o.system_identifier AND k.database_oid = o.database_oid
                   AND k.relid = c.relid AND k.closed_at IS NULL AND (SELECT ff_internal.restored()) IS NULL
                 LIMIT 1) r ON true
         WHERE relations[1] IS NULL OR c.relid = ANY (relations)
    ), counted AS MATERIALIZED (
        SELECT w.rel_id, (w.in_window).*
          FROM ff_internal.windows(CASE WHEN relations[1] IS NOT NULL
                                        THEN ARRAY(SELECT e.rel_id FROM examined e) END, window_from) w
    ), named AS MATERIALIZED (
        SELECT p.relid, p.parts
          FROM ff_internal.parts_of_tables(CASE WHEN relations[1] IS NOT NULL THEN relations END, window_from) p
    ), collections AS MATERIALIZED (
        SELECT max(c.began_at) AS snapshot_at, bool_or(NOT c.track_counts) AS counts_lost,
               (array_agg(c.open_writers ORDER BY c.began_at DESC))[1] AS open_writers, ff_internal.ram_bytes() AS ram
          FROM ff_internal.collection c WHERE c.began_at > now() - ff_internal.lookback()
    )
    SELECT e.relid::regclass, e.rel_id, e.nspname, e.relname, coalesce(e.not_examined, e.uncounted), e.fillfactor,
           e.reloptions, l.at, extract(epoch FROM l.at - l.since)::float8, n.began_at, n.intervals, n.counted, n.cycles,
           extract(epoch FROM l.at - greatest(l.since, h.changed_at))::float8, f.since_began_at, f.since, f.recent,
           c.counts_lost, c.open_writers, z.heap_bytes, z.index_bytes, z.toast_bytes, x.indexes::integer,
           c.ram, (z.heap_bytes + z.index_bytes) / nullif(c.ram, 0)::float8,
           (SELECT p.sqlstate || ' ' || p.message FROM ff_internal.problem p WHERE p.rel_id = e.rel_id),
           p.sampled_at, p.blocks, p.live_rows, p.rows_per_page, p.inserted_width, p.updated_width, p.update_group_rows,
           v.hot, v.same_page, v.newpage, p.updated_hot_rows <= p.updated_nonhot_rows, y.indexed, o.hot,
           s.newpage_share, s.blocked_share, s.recoverable_share, s.kept_share, s.kept_with_room,
           CASE WHEN s.recoverable_share >= ff_internal.threshold('LACKING')
                     AND (SELECT max(h.last_seen_at) FROM ff_internal.horizon_history h) > f.since_began_at
                THEN ff_internal.held_back(e.rel_id, f.since_began_at, p.sampled_at) END
      FROM examined e
      FULL JOIN counted n ON n.rel_id = e.rel_id
      FULL JOIN named a ON a.relid = e.relid
     CROSS JOIN collections c
      LEFT JOIN LATERAL (SELECT h.* FROM ff_internal.last_change h WHERE h.rel_id = e.rel_id LIMIT 1) h ON true
      -- no collection has seen this change yet, so its effect is unknown
      LEFT JOIN LATERAL (SELECT n.since_began_at, n.since, n.recent WHERE e.fillfactor = e.known) f ON true
     CROSS JOIN LATERAL (SELECT (f.recent).*) r
      LEFT JOIN LATERAL ff_internal.sizes(CASE WHEN e.not_examined IS NULL THEN e.relid END) z ON true
     CROSS JOIN LATERAL (SELECT count(*) AS indexes FROM pg_index o WHERE o.indrelid = e.relid AND o.indisvalid) x
      LEFT JOIN LATERAL (SELECT s.* FROM ff_internal.page_sample s WHERE s.rel_id = e.rel_id
                            AND s.sampled_at <= e.sampled_at ORDER BY s.sampled_at DESC LIMIT 1) p ON true
     -- an interrupted collection leaves intervals, but has no row
     CROSS JOIN LATERAL (SELECT greatest(c.snapshot_at, e.seen_at), coalesce(n.began_at, CASE WHEN e.rel_id IS NOT NULL
                                -- what was done before its counters were reset is unknown; if they are 0 and its file
                                -- did not grow, nothing was
                                THEN greatest(CASE WHEN e.written OR z.heap_bytes > 8192 * p.blocks THEN e.seen_at
                                                   ELSE e.opened_at END, now() - ff_internal.lookback()) END))
                        l(at, since)
      LEFT JOIN LATERAL (SELECT p.superseded_hot, p.superseded_same_page, p.superseded_newpage
                          WHERE p.fillfactor = e.fillfactor AND p.sampled_at >= coalesce(h.samples_from, '-infinity'))
                        v(hot, same_page, newpage) ON true
     -- what the statements say of indexed columns, only if it matters; OFFSET: evaluated once
     CROSS JOIN LATERAL (SELECT r.hot_updated / nullif(r.updated, 0)::float8) o(hot)
     CROSS JOIN LATERAL (SELECT CASE WHEN o.hot < ff_internal.threshold('NEARLY_ALL')
                                     THEN ff_internal.indexed_share(
                                              e.relid, CASE WHEN a.parts IS NULL THEN n.began_at ELSE window_from END,
                                              (n.counted).updated, o.hot, v.same_page, coalesce(a.parts, '{}'))
                                     END OFFSET 0) y(indexed)
      LEFT JOIN LATERAL ff_internal.split_updates(r.updated, r.hot_updated, r.newpage_updated, v.same_page, v.newpage,
                                                  y.indexed, v.hot, CASE WHEN y.indexed < 1
                                                      THEN ff_internal.has_triggers(e.relid) END) s ON r.updated > 0
     -- IS NOT NULL would let the planner make the full join a left join
     WHERE coalesce(e.relid, 0::oid) <> 0::oid;
END
$$;

-- Updates per second, as shown by ff_advise(); NULL if no time was watched.
CREATE FUNCTION ff_internal.updates_per_s(e ff_internal.table_evidence) RETURNS float8
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (e.counted).updated / nullif(e.window_s, 0);

-- Intervals of the window in which it was emptied and filled again, at most two; NULL: it got too few rows for that.
CREATE FUNCTION ff_internal.reloads(e ff_internal.table_evidence) RETURNS float8
LANGUAGE sql STABLE
RETURN CASE WHEN (e.counted).inserted > ff_internal.threshold('REFILLS') * e.live_rows THEN (
            SELECT count(*) FROM (SELECT FROM ff_internal.counter_interval i
                                   WHERE i.rel_id = e.rel_id AND i.rewritten AND i.ended_at > e.began_at
                                     AND ff_internal.reloaded(i) LIMIT 2) r) END;

-- The last sample of its pages; NULL: none.
CREATE FUNCTION ff_internal.last_sample(e ff_internal.table_evidence) RETURNS ff_internal.page_sample
LANGUAGE sql STABLE
RETURN (SELECT p FROM ff_internal.page_sample p WHERE p.rel_id = e.rel_id AND p.sampled_at = e.sampled_at LIMIT 1);
