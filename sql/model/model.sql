-- What each fillfactor would do to a table, and which one to take: the model is C (src/model/), here is its evidence.

-- Rows of a length (bytes with header) that inserts put on an empty page at a fillfactor, as in the model.
CREATE FUNCTION ff_internal.rows_per_page(fillfactor integer, width float8) RETURNS integer
AS 'MODULE_PATHNAME', 'ff_rows_per_page'
LANGUAGE c STRICT IMMUTABLE PARALLEL SAFE;

-- Returns the choice and the curve: an object with the members choice and steps, of these types. evidence: see
-- model_input(). curve: replay all steps even if the choice does not need them. NULL if no row length is known. Errors:
-- 42703 the evidence lacks a column, 42804 a column is no number.
CREATE FUNCTION ff_internal.model(evidence record, curve boolean) RETURNS json
AS 'MODULE_PATHNAME', 'ff_model'
LANGUAGE c STABLE PARALLEL SAFE COST 100000;

-- Changes whenever the model's answers change; fits of another version are not used.
CREATE FUNCTION ff_internal.model_version() RETURNS integer
AS 'MODULE_PATHNAME', 'ff_model_version'
LANGUAGE c STRICT IMMUTABLE PARALLEL SAFE;

-- Autovacuum settings in effect with these options; scale, threshold: see autovacuum_vacuum_scale_factor; most: dead
-- rows at which it starts at the latest, autovacuum_vacuum_max_threshold; NULL: no limit, as before PostgreSQL 18.
CREATE FUNCTION ff_internal.autovacuum(
    reloptions text[], OUT enabled boolean, OUT scale float8, OUT threshold float8, OUT most float8)
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT coalesce(o.own ->> 'autovacuum_enabled', 'on')::boolean,
           coalesce(o.own ->> 'autovacuum_vacuum_scale_factor',
                    ff_internal.server_setting('autovacuum_vacuum_scale_factor'))::float8,
           coalesce(o.own ->> 'autovacuum_vacuum_threshold',
                    ff_internal.server_setting('autovacuum_vacuum_threshold'))::float8,
           nullif(coalesce(o.own ->> 'autovacuum_vacuum_max_threshold',
                           ff_internal.server_setting('autovacuum_vacuum_max_threshold'))::float8, -1)
      FROM (SELECT jsonb_object_agg(u.option_name, u.option_value) FROM pg_options_to_table(reloptions) u) o(own);
END;

-- When the last collection before a time began, or that time: a table's first interval begins between two of them.
CREATE FUNCTION ff_internal.collection_before(at timestamptz) RETURNS timestamptz
LANGUAGE sql STABLE
RETURN coalesce((SELECT max(c.began_at) FROM ff_internal.collection c WHERE c.began_at <= at), at);

-- The arrays of model_input about statements that wrote a table since its last change: the eight with the most rows.
-- pg_stat_statements counts rows inserted and updated by ON CONFLICT DO UPDATE or MERGE together: the updates that no
-- other statement explains are taken to be theirs. If statements are known only for the later part of the time, the
-- earlier part is assumed to be like it.
CREATE FUNCTION ff_internal.statement_input(
    e ff_internal.table_evidence, OUT statement_command float8[], OUT statement_calls float8[],
    OUT statement_rows float8[], OUT statement_sets_indexed float8[], OUT statement_wal_bytes float8[],
    OUT statement_blocks_dirtied float8[])
LANGUAGE sql STABLE
AS $$
    WITH seen AS MATERIALIZED (
        SELECT t.*, h.*, count(*) OVER of AS commands, bool_or(t.how = 'on_conflict') OVER of
               OR bool_and(t.how = 'merge' AND t.command <> 'DELETE') OVER of AND count(*) OVER of > 1 AS upsert
          FROM ff_internal.targets_of(e.relation, e.since_began_at) o
         CROSS JOIN LATERAL (SELECT (o.target).*) t
         CROSS JOIN (SELECT ff_internal.collection_before(e.since_began_at) OFFSET 0) b(began_at)
         CROSS JOIN LATERAL (
               SELECT min(n.began_at) AS began_at, sum(n.calls) * o.part AS calls, sum(n.rows) * o.part AS rows,
                      sum(n.wal_bytes) * o.part AS wal_bytes, sum(n.blocks_dirtied) * o.part AS blocks_dirtied
                 FROM ff_internal.statement_history n
                WHERE n.statement_id = t.statement_id AND n.began_at >= b.began_at) h
         WHERE h.rows > 0
        WINDOW of AS (PARTITION BY t.statement_id)
    ), later AS (
        SELECT greatest(1, coalesce((e.since).updated / nullif(sum(i.updated), 0), 1))::float8 AS times
          FROM ff_internal.counter_interval i
         WHERE i.rel_id = e.rel_id AND i.ended_at > (SELECT min(s.began_at) FROM seen s)
    ), upserts AS (
        SELECT least(1, greatest(0, (e.since).updated / l.times
                                    - coalesce(sum(s.rows) FILTER (WHERE NOT s.upsert), 0))
                        / nullif(sum(s.rows) FILTER (WHERE s.upsert), 0)) AS updated
          FROM seen s, later l WHERE s.command = 'UPDATE' GROUP BY l.times
    ), top AS (
        SELECT s.*, p.part * l.times AS times, l.times AS call_times
          FROM seen s
         CROSS JOIN later l
          LEFT JOIN upserts u ON true
         CROSS JOIN LATERAL (SELECT CASE WHEN NOT s.upsert THEN 1 WHEN s.command = 'UPDATE' THEN u.updated
                                         ELSE 1 - u.updated END) p(part)
         WHERE p.part > 0
         ORDER BY s.rows * p.part DESC, s.statement_id LIMIT 8
    )
    -- WITH does not show which rows are the table's, nor a MERGE that may delete, too, which it updated
    SELECT array_agg(CASE WHEN t.how = 'cte' OR t.how = 'merge' AND t.commands > 1 AND NOT t.upsert THEN 3
                          WHEN t.command = 'UPDATE' THEN 1 WHEN t.command = 'DELETE' THEN 2 ELSE 0 END),
           array_agg(t.calls * t.call_times), array_agg(t.rows * t.times),
           array_agg((ff_internal.changed_columns(e.relation, t.columns) && i.columns)::integer),
           array_agg(t.wal_bytes * t.times), array_agg(t.blocks_dirtied * t.times)
      FROM top t CROSS JOIN (SELECT ff_internal.indexed_columns(e.relation) OFFSET 0) i(columns)
$$;

-- Rows updated after the begin and after the end of a snapshot that was held once since a time and has ended: most rows
-- updated in the interval before a sample then still wait in the pages. NULL: none, several, or one is held.
CREATE FUNCTION ff_internal.held_once(id bigint, since timestamptz, OUT held_from float8, OUT held_until float8)
LANGUAGE sql STABLE
AS $$
    WITH seen AS (
        SELECT p.sampled_at, o.held, lag(p.sampled_at) OVER w AS previous_at, lag(o.held, 1, false) OVER w AS was_held
          FROM ff_internal.page_sample p
         CROSS JOIN LATERAL (
               SELECT coalesce(2 * p.recently_dead_rows > (
                   SELECT i.updated FROM ff_internal.counter_interval i
                    WHERE i.rel_id = id AND i.ended_at <= p.sampled_at AND i.updated > 0
                    ORDER BY i.ended_at DESC LIMIT 1), false) AS held) o
         WHERE p.rel_id = id AND p.sampled_at >= since
        WINDOW w AS (ORDER BY p.sampled_at)
    )
    SELECT max(o.after) FILTER (WHERE s.held), max(o.after) FILTER (WHERE NOT s.held)
      FROM seen s
     -- it began or ended between two samples
     CROSS JOIN LATERAL (
           SELECT coalesce(sum(i.updated * CASE WHEN i.ended_at > s.sampled_at THEN 1 ELSE 0.5 END), 0)::float8
             FROM ff_internal.counter_interval i WHERE i.rel_id = id AND i.ended_at > s.previous_at) o(after)
     WHERE s.held <> s.was_held
    HAVING count(*) = 2 AND bool_and(s.previous_at IS NOT NULL)
$$;

-- What advice predicted of a change of fillfactor that followed it.
CREATE FUNCTION ff_internal.predicted(c ff_internal.change) RETURNS SETOF ff_internal.prediction
LANGUAGE sql STABLE ROWS 1
BEGIN ATOMIC
    SELECT p.* FROM ff_internal.prediction p
     WHERE p.rel_id = (c).rel_id AND p.made_at < (c).seen_at AND (c).kind = 'fillfactor'
       AND (p.from_fillfactor, p.to_fillfactor) = ((c).old_fillfactor, (c).new_fillfactor)
     ORDER BY p.made_at DESC LIMIT 1;
END;

-- Whether a change of fillfactor followed advice, and did not hurt so far.
CREATE FUNCTION ff_internal.as_advised(c ff_internal.change) RETURNS boolean
LANGUAGE sql STABLE
RETURN EXISTS (SELECT FROM ff_internal.predicted(c) p WHERE p.verdict IS DISTINCT FROM 'hurt');

-- The parts of model_input that come from the table's history; NULL if unknown. Columns as there.
CREATE FUNCTION ff_internal.history_input(
    e ff_internal.table_evidence,
    OUT window_xids float8, OUT recent_share float8, OUT recent_dead float8, OUT held_from float8,
    OUT held_until float8, OUT set_from float8, OUT filled_at float8, OUT updated_since float8,
    OUT before_updated float8, OUT before_hot float8, OUT followed float8, OUT sessions float8)
LANGUAGE sql STABLE
AS $$
    WITH present AS (
        SELECT * FROM ff_internal.counter_interval i WHERE i.rel_id = e.rel_id AND i.began_at >= e.since_began_at
    )
    SELECT (SELECT nullif(greatest(0, l.next_xid::text::numeric - f.next_xid::text::numeric), 0)
              FROM ff_internal.collection f, ff_internal.collection l
             WHERE f.began_at = ff_internal.collection_before(e.since_began_at)
               AND l.began_at = (SELECT max(i.ended_at) FROM ff_internal.counter_interval i WHERE i.rel_id = e.rel_id)),
           d.*, k.*, f.old_fillfactor, CASE WHEN NOT a.rewritten THEN f.old_fillfactor END, a.updated, b.updated, b.hot,
           EXISTS (SELECT FROM ff_internal.change c WHERE c.rel_id = e.rel_id AND c.new_fillfactor = e.fillfactor
                                                      AND ff_internal.as_advised(c))::integer,
           -- without the time of collections; the newest intervals are enough
           (SELECT sum(n.updated * greatest(0, l.busy_ms - f.busy_ms - 1000 * o.collecting_s)
                       / (1000 * extract(epoch FROM n.ended_at - n.began_at))) / nullif(sum(n.updated), 0)
              FROM (SELECT * FROM present i WHERE i.updated > 0 AND i.ended_at > i.began_at
                     ORDER BY i.ended_at DESC LIMIT 50) n
              JOIN ff_internal.collection f ON f.began_at = n.began_at
              JOIN ff_internal.collection l
                   ON l.began_at = n.ended_at AND l.epoch_id = f.epoch_id AND l.busy_ms >= f.busy_ms
             CROSS JOIN LATERAL (SELECT coalesce(sum(extract(epoch FROM c.ended_at - c.began_at)), 0) AS collecting_s
                                   FROM ff_internal.collection c
                                  WHERE c.began_at >= n.began_at AND c.began_at < n.ended_at) o)
      FROM (SELECT avg((o.dead > 0.01)::integer)::float8, avg(o.dead) FILTER (WHERE o.dead > 0.01)
              FROM ff_internal.page_sample p
             CROSS JOIN LATERAL (SELECT coalesce(p.recently_dead_rows, 0) / greatest(1, p.live_rows)) o(dead)
             WHERE p.rel_id = e.rel_id AND p.sampled_at > (SELECT min(i.ended_at) FROM present i)) d
      LEFT JOIN ff_internal.held_once(e.rel_id, e.since_began_at) k ON true
      LEFT JOIN LATERAL (SELECT * FROM ff_internal.change c WHERE c.rel_id = e.rel_id AND c.kind = 'fillfactor'
                          ORDER BY c.seen_at DESC LIMIT 1) f ON true
      LEFT JOIN LATERAL (SELECT coalesce(sum(i.updated), 0), coalesce(bool_or(i.rewritten), false)
                           FROM ff_internal.counter_interval i WHERE i.rel_id = e.rel_id AND i.ended_at > f.before_at)
                        a(updated, rewritten) ON f.rel_id IS NOT NULL
      -- what was seen at the fillfactor before, with the same indexes
      LEFT JOIN LATERAL (
           SELECT sum(i.updated)::float8 AS updated, sum(i.hot_updated)::float8 AS hot
             FROM ff_internal.counter_interval i
            WHERE i.rel_id = e.rel_id AND i.ended_at <= f.before_at AND i.fillfactor = f.old_fillfactor
              AND NOT EXISTS (SELECT FROM ff_internal.change o
                               WHERE o.rel_id = e.rel_id AND o.seen_at > i.began_at
                                 AND (o.kind = 'indexes' OR o.kind = 'fillfactor' AND o.before_at < f.before_at))) b
        ON true
$$;

-- Returns all input of the model for a table, by name: as type model_input. last: the last fit, if it counts.
CREATE FUNCTION ff_internal.model_input(e ff_internal.table_evidence, last ff_internal.fit DEFAULT NULL) RETURNS record
LANGUAGE sql STABLE
AS $$
    WITH spans AS (
        -- at the present fillfactor and indexes: the newest 31 intervals, and all older ones as one, as long as they
        -- would be at the rate of their mean update
        SELECT coalesce(sum(i.updated) ^ 2 / nullif(sum(i.updated ^ 2 / i.seconds), 0), sum(i.seconds)) AS seconds,
               ff_internal.total(i) AS did
          FROM (SELECT *, greatest(0.001, extract(epoch FROM ended_at - began_at))::float8 AS seconds,
                       least(32, row_number() OVER (ORDER BY ended_at DESC)) AS place
                  FROM ff_internal.counter_interval WHERE rel_id = e.rel_id AND began_at >= e.since_began_at) i
         GROUP BY i.place ORDER BY i.place
    ), input AS (
        SELECT n.*, t.*, h.*, (e.since).*, e.since_change_s AS observed_s,
               greatest(0, r.updated - coalesce((e.since).updated, 0)) AS earlier_updated,
               coalesce(e.indexed_share, ff_internal.indexed_share(
                   e.relation, e.began_at, (e.counted).updated, e.hot_share, e.seen_same_page)) AS indexed_share,
               ff_internal.has_triggers(e.relation) AS triggers,
               e.blocks, e.live_rows, e.rows_per_page, s.rows_per_page_max, s.updated_pct,
               e.seen_hot, e.seen_same_page, e.seen_newpage AS seen_moved,
               s.inserted_length::float8[], s.updated_length::float8[], s.group_old_page::float8[],
               s.group_new_page::float8[], s.update_distance::float8[], s.update_age::float8[],
               e.fillfactor, e.indexes, e.index_bytes, e.ram_bytes,
               -- a step that the decision refused does not stand
               CASE WHEN last.from_fillfactor = e.fillfactor
                         AND (last.action <> 'keep' OR (last.choice).advised_step = (last.choice).current_step)
                    THEN coalesce(nullif(last.to_fillfactor, last.from_fillfactor), (last.choice).advised_step)
                    END AS standing,
               v.scale AS vacuum_scale, v.threshold AS vacuum_threshold, v.most AS vacuum_most,
               CASE WHEN v.enabled AND ff_internal.server_setting('autovacuum') = 'on'
                    THEN extract(epoch FROM ff_internal.server_setting('autovacuum_naptime')::interval)
                    ELSE -1 END AS vacuum_nap_s,
               extract(epoch FROM ff_internal.server_setting('checkpoint_timeout')::interval) AS checkpoint_s,
               ff_internal.io_speed() AS read_us,
               (SELECT (c.relpersistence = 'u')::integer FROM pg_class c WHERE c.oid = e.relation) AS unlogged,
               -- from PostgreSQL 19 on, a logical slot is enough
               ('logical' IN (ff_internal.server_setting('wal_level'),
                              coalesce(ff_internal.server_setting('effective_wal_level'), '')))::integer AS logical,
               ff_internal.reloads(e) AS reloads
          FROM (SELECT array_agg(i.seconds) AS interval_seconds,
                       array_agg((i.did).inserted::float8) AS interval_inserted,
                       array_agg((i.did).updated::float8) AS interval_updated,
                       array_agg((i.did).hot_updated::float8) AS interval_hot,
                       array_agg((i.did).newpage_updated::float8) AS interval_newpage,
                       array_agg((i.did).deleted::float8) AS interval_deleted,
                       array_agg((i.did).vacuums::float8) AS interval_vacuums FROM spans i) n
         CROSS JOIN ff_internal.statement_input(e) t
         CROSS JOIN ff_internal.history_input(e) h
         CROSS JOIN ff_internal.autovacuum(e.reloptions) v
         CROSS JOIN ff_internal.last_sample(e) s
          LEFT JOIN ff_internal.relation r ON r.rel_id = e.rel_id
    )
    SELECT i FROM input i
$$;
