-- Stage diagnosis: why updates are not HOT, from the evidence alone. Every table gets a row.

-- Says what a recorded holder of the visibility horizon cost a table; NULL: nothing. Either its HOT share fell from 90
-- % or more by more than 10 points meanwhile, or most versions in its pages wait for a snapshot.
CREATE FUNCTION ff_internal.held_back(e ff_internal.table_evidence) RETURNS text
LANGUAGE sql STABLE
AS $$
    SELECT CASE
           WHEN c.free >= 100 AND c.free_hot >= 0.9 * c.free AND c.held_hot / c.held < c.free_hot / c.free - 0.1
           THEN format('%s of its updates were HOT while an old snapshot was held, %s otherwise',
                       ff_internal.percent(100 * c.held_hot / c.held), ff_internal.percent(100 * c.free_hot / c.free))
           WHEN c.held >= c.free AND s.recently_dead_rows > 0.3 * s.live_rows
                AND s.recently_dead_rows > 0.8 * s.dead_rows
           THEN format('%s old row versions wait for a snapshot to end (live rows: %s)',
                       round(s.recently_dead_rows::numeric), round(s.live_rows::numeric)) END
      FROM unnest(ARRAY[e.sample]) s
     CROSS JOIN (SELECT coalesce(sum(i.updated) FILTER (WHERE o.held), 0)::float8 AS held,
                        sum(i.hot_updated) FILTER (WHERE o.held) AS held_hot,
                        coalesce(sum(i.updated) FILTER (WHERE NOT o.held), 0)::float8 AS free,
                        sum(i.hot_updated) FILTER (WHERE NOT o.held) AS free_hot
                   FROM ff_internal.counter_interval i
                  CROSS JOIN LATERAL (SELECT EXISTS (SELECT 1 FROM ff_internal.horizon_history h
                                                      WHERE h.since < i.ended_at
                                                        AND h.last_seen_at > i.began_at) AS held) o
                  WHERE i.rel_id = e.rel_id AND i.began_at >= (e.since_change).began_at
                    AND EXISTS (SELECT FROM ff_internal.horizon_history h
                                 WHERE h.last_seen_at > (e.since_change).began_at)) c
     WHERE c.held > 0
$$;

-- Returns the cause that the evidence shows, one row per table.
CREATE FUNCTION ff_internal.diagnosis(relation regclass DEFAULT NULL) RETURNS SETOF ff_internal.diagnosis
LANGUAGE sql STABLE ROWS 1000
SET jit = off
AS $$
    SELECT e, d.cause,
           -- the model can help; an old snapshot has to end first, and with few updates 100 needs no advice
           d.cause NOT IN ('not_examined', 'no_data', 'too_wide', 'old_snapshot') AND NOT i.idle
           AND (d.cause <> 'few_updates' OR e.fillfactor < 100), r.hot_updated / nullif(r.updated, 0)::float8,
           s.newpage_share, s.blocked_share, CASE WHEN d.cause = 'too_wide' THEN 0 ELSE s.recoverable_share END,
           y.indexed, s.kept_share, s.kept_with_room,
           r.updated * (1 - s.newpage_share) >= 30 OR y.indexed IS NOT NULL OR e.indexes <= 1,
           d.held_back, i.idle, CASE WHEN d.cause = 'too_wide' THEN w.width ELSE w.inserted_width END
      FROM ff_internal.evidence(relation) e
      -- composites, expanded once instead of field by field
     CROSS JOIN unnest(ARRAY[e.recent]) r
     CROSS JOIN unnest(ARRAY[e.sample]) p
     CROSS JOIN (SELECT ff_internal.setting('min_updates')::bigint AS updates) enough
      -- what the statements say of indexed columns; evaluated only if it matters
      LEFT JOIN LATERAL (SELECT ff_internal.indexed_share(w.e) AS indexed
                           FROM (SELECT e WHERE r.hot_updated < 0.98 * r.updated OFFSET 0) w) y ON true
      LEFT JOIN ff_internal.split_updates(r.updated, r.hot_updated, r.newpage_updated, e.seen_same_page,
                                                  e.seen_newpage, y.indexed, e.seen_hot) s ON r.updated > 0
     CROSS JOIN LATERAL (
            SELECT greatest(coalesce(p.updated_width, 0), coalesce(p.inserted_width, 0))::float8 AS width,
                   coalesce(p.inserted_width, p.updated_width, 0)::float8 AS inserted_width) w
     CROSS JOIN LATERAL (SELECT coalesce(e.window_s >= 86400 AND CASE
            WHEN (e.counters).updated >= enough.updates AND coalesce((e.since_change).updated, 0) < enough.updates
            THEN NOT EXISTS (SELECT 1 FROM ff_internal.counter_interval o
                              WHERE o.rel_id = e.rel_id AND o.ended_at > e.snapshot_at - interval '1 day'
                                AND o.inserted + o.updated + o.deleted > 0)
            ELSE (e.counters).intervals IS NULL END, false) AS idle) i
     CROSS JOIN LATERAL (SELECT b.held_back, CASE
            WHEN e.not_examined IS NOT NULL THEN 'not_examined'
            WHEN p.sampled_at IS NULL OR p.blocks = 0 OR w.width = 0 THEN 'no_data'
            WHEN i.idle OR (e.counters).updated < enough.updates THEN 'few_updates'
            WHEN (e.counters).intervals IS NULL THEN 'no_data'
            WHEN ff_internal.rows_per_page(100, w.width) < 2 THEN 'too_wide'
            -- the effect of the last change is not known yet
            WHEN coalesce((e.since_change).updated, 0) < enough.updates THEN 'no_data'
            -- nearly all are HOT; the rest does not matter
            WHEN r.hot_updated >= 0.98 * r.updated THEN 'settled'
            WHEN s.newpage_share IS NULL THEN 'no_data'
            WHEN s.blocked_share >= 0.05 AND s.recoverable_share < 0.02
                 OR s.blocked_share > 4 * s.recoverable_share AND s.recoverable_share BETWEEN 0.02 AND 0.1
            THEN 'indexed_column'
            WHEN s.recoverable_share < 0.02 THEN 'settled'
            WHEN b.held_back IS NOT NULL THEN 'old_snapshot'
            WHEN p.updated_width > 1.1 * p.inserted_width AND p.updated_width - p.inserted_width >= 8 THEN 'row_growth'
            WHEN p.update_group_rows >= greatest(3, 0.1 * p.rows_per_page) THEN 'batch_update'
            ELSE 'page_full' END AS cause
       -- OFFSET: evaluated once
       FROM (SELECT CASE WHEN s.recoverable_share >= 0.02 THEN ff_internal.held_back(e) END OFFSET 0) b(held_back)) d
$$;

-- Returns its argument, NULL included, if that table can be examined. Errors: 42P01 unknown OID, 42809 not a table.
CREATE FUNCTION ff_internal.checked_table(relation regclass) RETURNS regclass
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    IF relation IS NOT NULL THEN
        IF NOT EXISTS (SELECT 1 FROM pg_class c WHERE c.oid = relation) THEN
            PERFORM ff_internal.refuse('42P01', format('relation with OID %s does not exist', relation::oid));
        ELSIF NOT EXISTS (SELECT 1 FROM ff_internal.candidate c WHERE c.relid = relation) THEN
            PERFORM ff_internal.refuse('42809', format('"%s" is not a table that can be advised', c.relname),
                        'Advice is for tables and materialized views outside the system schemas.',
                        'For a B-tree index see ff_advise_indexes().')
               FROM pg_class c WHERE c.oid = relation;
        END IF;
    END IF;
    RETURN relation;
END
$$;
