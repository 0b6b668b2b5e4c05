-- Stage evidence: everything known of a table, in one row.

-- The window: src/collect/window.c.

CREATE FUNCTION ff_internal.window_add(
    state internal, fresh boolean, began_at timestamptz, ended_at timestamptz, counts bigint[]) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'ff_window_add';

CREATE FUNCTION ff_internal.window_sum(state internal) RETURNS ff_internal.table_window
LANGUAGE c STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'ff_window_sum';

-- Sums of the intervals of one table; fresh: the interval is after the last change of fillfactor or indexes; counts:
-- those of window_counters, in its order.
CREATE AGGREGATE ff_internal.window_of(
    fresh boolean, began_at timestamptz, ended_at timestamptz, counts bigint[])
(SFUNC = ff_internal.window_add, STYPE = internal, FINALFUNC = ff_internal.window_sum);

-- Returns the sums of a table's intervals in the lookback, or of every table's (id NULL), in one pass.
CREATE FUNCTION ff_internal.windows(id bigint DEFAULT NULL, OUT rel_id bigint, OUT in_window ff_internal.table_window)
RETURNS SETOF record
LANGUAGE plpgsql STABLE ROWS 1000
SET jit = off
-- chosen: 10,000 tables with a week of history need 40 MB, and twice the time if they spill
SET work_mem = '128MB'
-- one table through its index, all in one pass
SET plan_cache_mode = force_custom_plan
AS $$
#variable_conflict use_column
DECLARE
    -- starts at a whole hour, because intervals are rolled up to hours
    since CONSTANT timestamptz := date_trunc('hour', now() - ff_internal.lookback(), 'UTC');
BEGIN
    RETURN QUERY
    -- evaluated once, not for each interval
    WITH x AS MATERIALIZED (SELECT * FROM ff_internal.last_change c WHERE id IS NULL OR c.rel_id = id)
    SELECT i.rel_id,
           ff_internal.window_of(
               x.rel_id IS NULL OR i.ended_at >= x.changed_at AND i.began_at >= coalesce(x.reindexed_at, '-infinity'),
               i.began_at, i.ended_at, ARRAY[i.inserted, i.updated, i.hot_updated, i.newpage_updated, i.seq_scans,
                                             i.index_scans, i.blocks_fetched])
      FROM ff_internal.counter_interval i
      LEFT JOIN x ON x.rel_id = i.rel_id
     WHERE i.ended_at >= since AND (id IS NULL OR i.rel_id = id)
     GROUP BY i.rel_id;
END
$$;

-- Returns everything observed, one row per table, examined or not.
CREATE FUNCTION ff_internal.evidence(relation regclass DEFAULT NULL)
RETURNS SETOF ff_internal.table_evidence
LANGUAGE sql STABLE ROWS 1000
SET jit = off
AS $$
    -- No statistics, missing or old, may cause a loop over all tables for each table: LATERAL with LIMIT or an
    -- aggregate is an index lookup, and a full join is never a nested loop.
    WITH examined AS MATERIALIZED (
        SELECT c.*, r.rel_id, r.opened_at, r.sampled_at, r.seen_at, r.fillfactor AS known_fillfactor,
               ff_internal.effective_fillfactor(c.reloptions) AS fillfactor
          FROM ff_internal.candidate c
         CROSS JOIN ff_internal.server() o
          LEFT JOIN LATERAL (
                -- after a restore, OIDs mean nothing until a collection has matched the tables
                SELECT k.* FROM ff_internal.relation k
                 WHERE k.system_identifier = o.system_identifier AND k.database_oid = o.database_oid
                   AND k.relid = c.relid AND k.closed_at IS NULL LIMIT 1) r ON true
         WHERE $1 IS NULL OR c.relid = $1
    ), counted AS MATERIALIZED (
        SELECT w.rel_id, t.*
          FROM ff_internal.windows(CASE WHEN $1 IS NOT NULL
                                        THEN (SELECT coalesce(max(e.rel_id), 0) FROM examined e) END) w
         CROSS JOIN LATERAL (SELECT (w.in_window).*) t
    ), collections AS MATERIALIZED (
        SELECT max(c.began_at) AS snapshot_at, bool_or(NOT c.track_counts) AS counts_lost,
               (array_agg(c.open_writers ORDER BY c.began_at DESC))[1] AS open_writers, ff_internal.ram_bytes() AS ram
          FROM ff_internal.collection c WHERE c.began_at > now() - ff_internal.lookback()
    )
    SELECT e.relid::regclass, e.rel_id, e.nspname, e.relname, e.not_examined, e.fillfactor, e.reloptions,
           l.at, extract(epoch FROM l.at - l.since)::double precision,
           extract(epoch FROM l.at - greatest(l.since, h.changed_at))::double precision,
           n.counters,
           -- no collection has seen this change yet, so its effect is unknown
           CASE WHEN e.fillfactor = e.known_fillfactor THEN n.since_change END,
           CASE WHEN e.fillfactor = e.known_fillfactor THEN n.recent END,
           c.counts_lost, c.open_writers, z.heap_bytes, z.index_bytes, z.toast_bytes, x.indexes::integer,
           c.ram, (z.heap_bytes + z.index_bytes) / nullif(c.ram, 0)::double precision,
           (SELECT p.sqlstate || ' ' || p.message FROM ff_internal.problem p WHERE p.rel_id = e.rel_id),
           v.superseded_hot, v.superseded_same_page, v.superseded_newpage, p.sample
      FROM examined e
      FULL JOIN counted n ON n.rel_id = e.rel_id
     CROSS JOIN collections c
     -- an interrupted collection leaves intervals, but has no row
     CROSS JOIN LATERAL (SELECT greatest(c.snapshot_at, e.seen_at) AS at, coalesce((n.counters).began_at,
                                CASE WHEN e.rel_id IS NOT NULL
                                     THEN greatest(e.opened_at, now() - ff_internal.lookback()) END) AS since) l
      LEFT JOIN LATERAL ff_internal.sizes(CASE WHEN e.not_examined IS NULL THEN e.relid END) z ON true
     CROSS JOIN LATERAL (SELECT count(*) AS indexes FROM pg_index o WHERE o.indrelid = e.relid AND o.indisvalid) x
      LEFT JOIN LATERAL (SELECT s AS sample FROM ff_internal.page_sample s
                          WHERE s.rel_id = e.rel_id AND s.sampled_at <= e.sampled_at
                          ORDER BY s.sampled_at DESC LIMIT 1) p ON true
      LEFT JOIN LATERAL (SELECT h.* FROM ff_internal.last_change h
                          WHERE h.rel_id = e.rel_id LIMIT 1) h ON true
      LEFT JOIN LATERAL (SELECT (p.sample).superseded_hot, (p.sample).superseded_same_page,
                                (p.sample).superseded_newpage
                          WHERE (p.sample).fillfactor = e.fillfactor
                            AND (p.sample).sampled_at >= coalesce(h.samples_from, '-infinity')) v ON true
     -- IS NOT NULL would let the planner make the full join a left join
     WHERE coalesce(e.relid, 0::oid) <> 0::oid
$$;

-- Updates per second, as shown by ff_advise(); NULL if no time was watched.
CREATE FUNCTION ff_internal.updates_per_s(e ff_internal.table_evidence) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (e.counters).updated / nullif(e.window_s, 0);

-- Share (0 to 1) of the updated rows whose statement sets an indexed column. If the statements explain less than 90 %
-- of the updates, or the columns of one are unknown: 0 if only the primary key is indexed, most updates are HOT and no
-- page shows otherwise, else NULL.
CREATE FUNCTION ff_internal.indexed_share(e ff_internal.table_evidence) RETURNS double precision
LANGUAGE sql STABLE
AS $$
    SELECT CASE WHEN bool_and(s.columns IS NOT NULL) AND sum(s.rows) >= 0.9 * (e.counters).updated
                THEN coalesce(sum(s.rows) FILTER (WHERE s.columns && (SELECT ff_internal.indexed_columns(e.relation))),
                              0) / sum(s.rows)::double precision
                -- keys hardly ever change, and neither pages nor counters show that they did
                WHEN coalesce(e.seen_same_page, 0) = 0 AND (e.recent).hot_updated >= 0.5 * (e.recent).updated
                     AND NOT EXISTS (SELECT 1 FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
                                      WHERE i.indrelid = e.relation AND i.indislive AND NOT i.indisprimary
                                        AND NOT ff_internal.summarizing(c.relam))
                THEN 0 END
      FROM ff_internal.updates_seen(e.relation, (e.counters).began_at) s
     WHERE s.rows > 0
$$;
