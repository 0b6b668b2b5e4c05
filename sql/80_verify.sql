
-- Stage verify: what came of a change.
--
-- Windows before and after a change are made of whole intervals, so that none
-- holds both states, and only of intervals that can be compared: see
-- verify_windows().  Every share and mean is a ratio of two sums over
-- intervals, and its uncertainty comes from how much it moves from one
-- interval to the next: updates within one interval are not independent of
-- each other, so the usual formulas would promise too much.

-- ---------------------------------------------------------------------------
-- Statistics
-- ---------------------------------------------------------------------------
-- Half width, in standard errors, of a two-sided 95 % interval with so many degrees of freedom (Student's t; fractions
-- are rounded down). Infinity below one.
CREATE FUNCTION ff_internal.t_quantile(freedom double precision) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    -- Student's t, two-sided 95 %: tabulated to 30 degrees of freedom, from
    -- there 1.96 + 2.4 / freedom, within 0.002 of it
    SELECT CASE WHEN freedom < 1 THEN 'Infinity'
                WHEN freedom < 31 THEN (ARRAY[12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                              2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                                              2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042])[floor(freedom)::integer]
                ELSE 1.96 + 2.4 / freedom END::double precision
$$;

-- Ratio of two sums over intervals, and its variance as the intervals show it (ratio estimator with the intervals as
-- clusters), at least least_variance; variance NULL below two intervals, ratio NULL without any.
CREATE FUNCTION ff_internal.ratio(num double precision[], den double precision[], least_variance double precision DEFAULT 0,
    OUT ratio double precision, OUT variance double precision, OUT clusters integer)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH one AS (
        SELECT u.x, u.n FROM unnest(num, den) u(x, n) WHERE u.n > 0 AND u.x IS NOT NULL
    ), total AS (
        SELECT sum(x) / sum(n) AS r, sum(n) AS n, count(*) AS k FROM one
    )
    SELECT t.r,
           CASE WHEN t.k >= 2 THEN greatest(coalesce(least_variance, 0),
                (SELECT sum((o.x - t.r * o.n) ^ 2) FROM one o) * t.k / (t.k - 1) / t.n ^ 2) END,
           t.k::integer
      FROM total t
$$;

-- Second mean less the first, and the ends of its 95 % interval (Welch), as an array of three; NULL where a variance
-- is not known.
CREATE FUNCTION ff_internal.difference(
    mean1 double precision, variance1 double precision, clusters1 integer,
    mean2 double precision, variance2 double precision, clusters2 integer) RETURNS double precision[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN variance1 + variance2 = 0 THEN ARRAY[mean2 - mean1, mean2 - mean1, mean2 - mean1]
                WHEN variance1 + variance2 > 0 THEN
                    (SELECT ARRAY[mean2 - mean1, mean2 - mean1 - half, mean2 - mean1 + half]
                       FROM (SELECT sqrt(variance1 + variance2) * ff_internal.t_quantile(
                                 -- Welch and Satterthwaite's degrees of freedom
                                 (variance1 + variance2) ^ 2 / (variance1 ^ 2 / nullif(clusters1 - 1, 0) + variance2 ^ 2 / nullif(clusters2 - 1, 0))) AS half) h)
           END
$$;

-- Second mean against the first, change in percent, and the ends of its 95 % interval (Welch, on logarithms), as an
-- array of three; NULL where a variance is not known or a mean is not positive.
CREATE FUNCTION ff_internal.relative_change(
    mean1 double precision, variance1 double precision, clusters1 integer,
    mean2 double precision, variance2 double precision, clusters2 integer) RETURNS double precision[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    -- on logarithms, so that no end can be below -100 %; the variance of a
    -- logarithm is the squared coefficient of variation
    SELECT CASE WHEN mean1 > 0 AND mean2 > 0 THEN
               (SELECT array_agg(100 * (exp(x.d) - 1) ORDER BY x.n)
                  FROM unnest(ff_internal.difference(ln(mean1), variance1 / mean1 ^ 2, clusters1, ln(mean2), variance2 / mean2 ^ 2, clusters2)) WITH ORDINALITY x(d, n))
           END
$$;

-- ---------------------------------------------------------------------------
-- Which intervals are compared
-- ---------------------------------------------------------------------------
-- The intervals around one change of a table (its rel_id), or of a setting (NULL), and for each why it is left out of
-- the comparison; left_out is NULL where it counts. Reasons: holds the change; other server (system identifier or
-- major version); rewritten (the table got a new file in it); before the rewrite (the first after the change: until
-- then old pages keep their density); no updates; settling (the first third of the updates before and after, where
-- there are at least three intervals); other rate (updates per second more than four times, or less than a quarter of,
-- the usual rate after the change). For a setting updated are the calls of all statements.
CREATE FUNCTION ff_internal.verify_windows(relation_id bigint, before timestamptz, seen timestamptz, in_epoch integer)
RETURNS TABLE (
    side            text,
    began_at        timestamptz,
    ended_at        timestamptz,
    updated         double precision,
    hot_updated     double precision,
    newpage_updated double precision,
    blocks_fetched  double precision,
    blocks_hit      double precision,
    heap_bytes      bigint,
    index_bytes     bigint,
    left_out        text
)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
    -- most that the update rate of an interval may differ from the usual one
    -- after the change, as a factor
    WITH constant AS (
        SELECT 4.0 AS rate_factor, make_interval(secs => ff_internal.setting('lookback')::integer) AS reach
    ), span AS (
        -- to the change before and the one after, at most the window of advice
        SELECT greatest(before - k.reach, max(o.seen_at) FILTER (WHERE o.seen_at <= before)) AS began,
               least(seen + k.reach, min(o.before_at) FILTER (WHERE o.seen_at > seen)) AS ended
          FROM constant k
          LEFT JOIN (SELECT c.before_at, c.seen_at FROM ff_internal.change c WHERE c.rel_id = relation_id
                     UNION ALL
                     SELECT h.before_at, h.seen_at FROM ff_internal.setting_history h WHERE relation_id IS NULL AND h.before_at IS NOT NULL) o ON true
         GROUP BY k.reach
    ), server AS (
        SELECT e.epoch_id FROM ff_internal.epoch e
          JOIN ff_internal.epoch own ON own.epoch_id = in_epoch
         WHERE e.system_identifier = own.system_identifier AND e.server_version / 10000 = own.server_version / 10000
    ), source AS (
        SELECT i.began_at, i.ended_at, interval '0' AS slack, i.updated::double precision, i.hot_updated::double precision, i.newpage_updated::double precision,
               i.blocks_fetched::double precision, i.blocks_hit::double precision, i.heap_bytes, i.index_bytes, i.rewritten,
               i.epoch_id IN (SELECT s.epoch_id FROM server s) AS here
          FROM ff_internal.counter_interval i, span p
         WHERE i.rel_id = relation_id AND i.ended_at BETWEEN p.began AND p.ended + (i.ended_at - i.began_at)
        UNION ALL
        -- a setting is judged by all statements: their looks take the place of
        -- intervals, their calls that of updates; a look comes a moment after
        -- the collection that it belongs to
        SELECT min(h.began_at), h.ended_at, least(interval '5 s', (h.ended_at - min(h.began_at)) / 4), sum(h.calls), NULL, NULL, NULL, NULL, NULL, NULL, false,
               bool_and(EXISTS (SELECT 1 FROM ff_internal.statement_epoch e
                                  JOIN ff_internal.epoch own ON own.epoch_id = in_epoch
                                 WHERE e.statement_epoch_id = h.statement_epoch_id AND e.system_identifier = own.system_identifier
                                   AND e.server_version / 10000 = own.server_version / 10000))
          FROM ff_internal.statement_history h, span p
         WHERE relation_id IS NULL AND h.ended_at BETWEEN p.began AND p.ended + (h.ended_at - h.began_at)
         GROUP BY h.ended_at
    ), sided AS (
        SELECT s.*, CASE WHEN s.ended_at <= before + s.slack THEN 'before' ELSE 'after' END AS side,
               s.ended_at > before + s.slack AND s.began_at < seen - s.slack AS holds_change
          FROM source s, span p
         WHERE s.began_at >= p.began - s.slack AND s.ended_at <= p.ended + s.slack
    ), reason AS (
        SELECT s.*, CASE WHEN s.holds_change THEN 'holds the change'
                         WHEN NOT s.here THEN 'other server'
                         WHEN s.rewritten THEN 'rewritten'
                         -- old pages get the new density when the table is rewritten
                         WHEN s.side = 'after' AND s.ended_at <= (SELECT min(o.ended_at) FROM sided o WHERE o.side = 'after' AND o.rewritten AND NOT o.holds_change)
                             THEN 'before the rewrite'
                         WHEN s.updated = 0 THEN 'no updates' END AS why
          FROM sided s
    ), ordered AS (
        SELECT r.*, count(*) OVER side_of AS intervals, sum(r.updated) OVER side_of AS total,
               coalesce(sum(r.updated) OVER (PARTITION BY r.side, r.why ORDER BY r.ended_at ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS earlier
          FROM reason r WINDOW side_of AS (PARTITION BY r.side, r.why)
    ), settled AS (
        -- the first third of the updates of either window may still settle
        SELECT o.*, coalesce(o.why, CASE WHEN o.intervals >= 3 AND 3 * o.earlier < o.total THEN 'settling' END) AS why2,
               o.updated / nullif(extract(epoch FROM o.ended_at - o.began_at), 0)::double precision AS rate
          FROM ordered o
    ), usual AS (
        SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY s.rate) AS rate FROM settled s WHERE s.side = 'after' AND s.why2 IS NULL
    )
    SELECT s.side, s.began_at, s.ended_at, s.updated, s.hot_updated, s.newpage_updated, s.blocks_fetched, s.blocks_hit, s.heap_bytes, s.index_bytes,
           coalesce(s.why2, CASE WHEN s.rate > u.rate * k.rate_factor OR s.rate < u.rate / k.rate_factor THEN 'other rate' END)
      FROM settled s, usual u, constant k
     ORDER BY s.ended_at
$$;

-- ---------------------------------------------------------------------------
-- What the statements say
-- ---------------------------------------------------------------------------
-- What the statements that ran both before and after a change did in the intervals compared: those that do nothing but
-- update one table (its rel_id), or all (NULL). Times in milliseconds, blocks are shared blocks hit or read.
CREATE FUNCTION ff_internal.verify_calls(relation_id bigint, before tstzmultirange, after tstzmultirange)
RETURNS TABLE (
    statement_id bigint,
    side         text,
    ended_at     timestamptz,
    calls        double precision,
    "rows"       double precision,
    total_ms     double precision,
    stddev_ms    double precision,
    wal_bytes    double precision,
    blocks       double precision
)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
    -- Updates of this table alone, top level of the statement: only there are
    -- rows, WAL and blocks those of the table's updates.  All statements for a
    -- setting.
    WITH chosen AS (
        SELECT s.statement_id
          FROM ff_internal.statement s
         WHERE s.kind <> 'other'
           AND (relation_id IS NULL
                OR EXISTS (SELECT 1 FROM ff_internal.statement_target t
                            WHERE t.statement_id = s.statement_id AND t.rel_id = relation_id AND t.command = 'UPDATE' AND t.how = 'top')
                   AND (SELECT count(*) FROM ff_internal.statement_target t WHERE t.statement_id = s.statement_id) = 1)
    ), sided AS (
        -- a look at the statements comes a moment after that at the counters,
        -- so the middle of its interval decides
        SELECT h.*, CASE WHEN h.began_at + (h.ended_at - h.began_at) / 2 <@ before THEN 'before'
                         WHEN h.began_at + (h.ended_at - h.began_at) / 2 <@ after THEN 'after' END AS side
          FROM ff_internal.statement_history h
          JOIN chosen c USING (statement_id)
         WHERE h.ended_at > lower(before) AND h.began_at < upper(after)
    )
    SELECT s.statement_id, s.side, s.ended_at, s.calls, s.rows, s.total_ms, s.stddev_ms, s.wal_bytes, s.blocks_hit + s.blocks_read
      FROM sided s
     WHERE s.side IS NOT NULL
       AND EXISTS (SELECT 1 FROM sided o WHERE o.statement_id = s.statement_id AND o.side <> s.side)
$$;

-- Execution time, its standard deviation, WAL and blocks of the statements of verify_calls(), before and after.
-- Figures after are for the mix of statements after, each measured against itself before. mean, stddev, wal: change in
-- percent and the ends of its 95 % interval, an array of three. wal_before, wal_after: bytes per updated row;
-- blocks_before, blocks_after: shared blocks per updated row.
CREATE FUNCTION ff_internal.statement_effect(relation_id bigint, before tstzmultirange, after tstzmultirange,
    OUT statements integer, OUT calls_before bigint, OUT calls_after bigint,
    OUT mean_ms_before double precision, OUT mean_ms_after double precision, OUT mean double precision[],
    OUT stddev_ms_before double precision, OUT stddev_ms_after double precision, OUT stddev double precision[],
    OUT wal_before double precision, OUT wal_after double precision, OUT wal double precision[],
    OUT blocks_before double precision, OUT blocks_after double precision)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
    WITH seen AS MATERIALIZED (
        SELECT * FROM ff_internal.verify_calls(relation_id, before, after)
    ), usual AS (
        -- each statement's own means before are the yardstick for after, so
        -- that another mix of statements is no difference
        SELECT s.statement_id, sum(s.total_ms) / sum(s.calls) AS ms, sum(s.calls * s.stddev_ms ^ 2) / sum(s.calls) AS square,
               sum(s.wal_bytes) / nullif(sum(s.rows), 0) AS wal, sum(s.blocks) / nullif(sum(s.rows), 0) AS blocks
          FROM seen s WHERE s.side = 'before' GROUP BY s.statement_id
    ), one AS (
        SELECT s.side, s.ended_at, sum(s.calls) AS calls, sum(s.rows) AS rows,
               sum(s.total_ms) AS ms, sum(s.calls * u.ms) AS ms_usual,
               sum(s.calls * s.stddev_ms ^ 2) AS square, sum(s.calls * u.square) AS square_usual,
               sum(s.wal_bytes) AS wal, sum(s.rows * u.wal) AS wal_usual,
               sum(s.blocks) AS blocks, sum(s.rows * u.blocks) AS blocks_usual
          FROM seen s JOIN usual u USING (statement_id) GROUP BY s.side, s.ended_at
    ), both_sides AS (
        SELECT o.side, sum(o.calls)::bigint AS calls, sum(o.ms) / sum(o.calls) AS mean, sqrt(sum(o.square) / sum(o.calls)) AS stddev,
               sum(o.wal) / nullif(sum(o.rows), 0) AS wal, sum(o.blocks) / nullif(sum(o.rows), 0) AS blocks,
               sum(o.blocks) / nullif(sum(o.blocks_usual), 0) AS blocks_ratio,
               -- never surer than single calls would allow
               ff_internal.ratio(array_agg(o.ms), array_agg(o.ms_usual), sum(o.square) / nullif(sum(o.ms_usual) ^ 2, 0)) AS m,
               ff_internal.ratio(array_agg(o.wal), array_agg(o.wal_usual)) AS w,
               -- of the standard deviation the logarithm, one value an interval
               avg(ln(o.square / o.square_usual) / 2) FILTER (WHERE o.square > 0 AND o.square_usual > 0) AS spread,
               var_samp(ln(o.square / o.square_usual) / 2) FILTER (WHERE o.square > 0 AND o.square_usual > 0)
                   / nullif(count(*) FILTER (WHERE o.square > 0 AND o.square_usual > 0), 0) AS spread_variance,
               (count(*) FILTER (WHERE o.square > 0 AND o.square_usual > 0))::integer AS spreads
          FROM one o GROUP BY o.side
    )
    SELECT (SELECT count(*) FROM usual)::integer, b.calls, a.calls,
           b.mean, b.mean * (a.m).ratio,
           ff_internal.relative_change((b.m).ratio, (b.m).variance, (b.m).clusters, (a.m).ratio, (a.m).variance, (a.m).clusters),
           b.stddev, b.stddev * exp(a.spread - b.spread),
           (SELECT array_agg(100 * (exp(d) - 1) ORDER BY n) FROM unnest(ff_internal.difference(b.spread, b.spread_variance, b.spreads, a.spread, a.spread_variance, a.spreads)) WITH ORDINALITY x(d, n)),
           b.wal, b.wal * (a.w).ratio,
           ff_internal.relative_change((b.w).ratio, (b.w).variance, (b.w).clusters, (a.w).ratio, (a.w).variance, (a.w).clusters),
           b.blocks, b.blocks * a.blocks_ratio
      FROM both_sides b JOIN both_sides a ON a.side = 'after'
     WHERE b.side = 'before'
$$;

-- ---------------------------------------------------------------------------
-- Verdict
-- ---------------------------------------------------------------------------
-- Verdict on a change: helped, no difference, hurt or too early, and the reason in words. A difference counts where
-- its 95 % interval excludes zero and it is large enough to matter: 1 point of HOT share, 5 % of WAL per update or of
-- mean time, 10 % of the standard deviation. Where gains and losses meet, time, WAL and size per row are weighed 0.5,
-- 0.3 and 0.2. Where there are hardly any updates on either side, the size per row alone is judged. hot (points), wal,
-- mean, stddev (percent): difference and the ends of its interval, NULL where not measured; row_bytes_pct: change of
-- table bytes per live row, percent.
CREATE FUNCTION ff_internal.verdict(
    intervals_before integer, intervals_after integer, updates_before double precision, updates_after double precision,
    hot double precision[], wal double precision[], mean double precision[], stddev double precision[], row_bytes_pct double precision,
    what text DEFAULT 'updates', OUT verdict text, OUT reason text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- intervals of which the scatter between them can be told at all
    least_intervals CONSTANT integer := 3;
    least_updates   CONSTANT double precision := ff_internal.setting('min_updates');
    -- differences that matter, besides being certain: HOT share in points,
    -- the others in percent; what size per row may cost without a gain
    hot_matters     CONSTANT double precision := 1;
    wal_matters     CONSTANT double precision := 5;
    mean_matters    CONSTANT double precision := 5;
    stddev_matters  CONSTANT double precision := 10;
    size_matters    CONSTANT double precision := 5;
    size_hurts      CONSTANT double precision := 10;
    -- half width beyond which no difference cannot be claimed either
    hot_unclear     CONSTANT double precision := 5;
    mean_unclear    CONSTANT double precision := 10;
    one             record;
    better          text[] := '{}';
    worse           text[] := '{}';
    unclear         text[] := '{}';
    equal           text[] := '{}';
    cost            double precision;
BEGIN
    IF updates_before < least_updates AND updates_after < least_updates AND (row_bytes_pct <= -size_matters OR row_bytes_pct >= size_hurts) THEN
        -- a table that is only inserted into: there is nothing else to judge
        verdict := CASE WHEN row_bytes_pct < 0 THEN 'helped' ELSE 'hurt' END;
        reason := format('hardly any %s on either side, so only the size is judged: table bytes per live row %s %%', what, to_char(row_bytes_pct, 'FMSG999990'));
        RETURN;
    ELSIF intervals_after < least_intervals OR updates_after < least_updates THEN
        verdict := 'too early';
        reason := format('%s intervals with %s %s can be used since the change; %s with %s are needed', intervals_after, updates_after, what, least_intervals, least_updates);
        RETURN;
    ELSIF intervals_before < least_intervals OR updates_before < least_updates THEN
        verdict := 'too early';
        reason := format('%s intervals with %s %s from before the change can be compared; %s with %s are needed', intervals_before, updates_before, what, least_intervals, least_updates);
        RETURN;
    END IF;

    -- the standard deviation speaks for a setting only: that of a table's
    -- statements moves with its mean
    FOR one IN
        SELECT v.*, v.d[1] AS difference, v.d[2] AS low, v.d[3] AS high
          FROM (VALUES ('HOT share', 'points', hot, -1, hot_matters, hot_unclear),
                       ('WAL per update', '%', wal, 1, wal_matters, NULL),
                       ('mean time', '%', mean, 1, mean_matters, CASE WHEN hot IS NULL THEN mean_unclear END),
                       ('standard deviation of time', '%', CASE WHEN hot IS NULL THEN stddev END, 1, stddev_matters, NULL)) v(name, unit, d, bad, matters, unclear)
         WHERE v.d[1] IS NOT NULL
    LOOP
        reason := format('%s %s %s (95 %% interval %s to %s)', one.name, to_char(one.difference, 'FMSG999990.0'), one.unit,
                         to_char(one.low, 'FMSG999990.0'), to_char(one.high, 'FMSG999990.0'));
        IF one.low * one.high > 0 AND abs(one.difference) >= one.matters THEN
            IF one.difference * one.bad < 0 THEN
                better := better || reason;
            ELSE
                worse := worse || reason;
            END IF;
        ELSIF one.high - one.low > 2 * one.unclear THEN
            unclear := unclear || reason;
        ELSE
            equal := equal || reason;
        END IF;
    END LOOP;

    IF better <> '{}' AND worse <> '{}' THEN
        -- the same weights as the choice; what was not measured counts as equal
        cost := 0.5 * ln(greatest(1 + coalesce(mean[1], 0) / 100, 0.01)) + 0.3 * ln(greatest(1 + coalesce(wal[1], 0) / 100, 0.01))
                + 0.2 * ln(greatest(1 + coalesce(row_bytes_pct, 0) / 100, 0.01));
        verdict := CASE WHEN cost < -0.01 THEN 'helped' WHEN cost > 0.01 THEN 'hurt' ELSE 'no difference' END;
        reason := format('%s, but %s: weighed together, cost %s %%', array_to_string(better, ', '), array_to_string(worse, ', '), to_char(100 * (exp(cost) - 1), 'FMSG999990.0'));
    ELSIF better <> '{}' THEN
        verdict := 'helped';
        reason := array_to_string(better || equal || unclear, ', ');
    ELSIF worse <> '{}' THEN
        verdict := 'hurt';
        reason := array_to_string(worse || equal || unclear, ', ');
    ELSIF unclear <> '{}' THEN
        verdict := 'too early';
        reason := array_to_string(unclear, ', ') || ': the intervals scatter too much to tell yet';
        RETURN;
    ELSIF equal = '{}' THEN
        verdict := 'too early';
        reason := 'nothing could be measured on both sides';
        RETURN;
    ELSIF row_bytes_pct <= -size_matters THEN
        verdict := 'helped';
        reason := 'nothing lost: ' || array_to_string(equal, ', ');
    ELSIF row_bytes_pct >= size_hurts THEN
        verdict := 'hurt';
        reason := 'nothing gained: ' || array_to_string(equal, ', ');
    ELSE
        verdict := 'no difference';
        reason := array_to_string(equal, ', ');
    END IF;
    IF row_bytes_pct IS NOT NULL THEN
        reason := reason || format('; table bytes per live row %s %%', to_char(row_bytes_pct, 'FMSG999990'));
    END IF;
END
$$;

-- Statements that drop the indexes created and make those dropped again, given their definitions; a constraint that an
-- index belonged to is not restored, nor an index that index_statement() does not vouch for.
CREATE FUNCTION ff_internal.undo_indexes(relation regclass, dropped text[], created text[]) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- a new index that is still there is found by its definition
    SELECT nullif(concat_ws(' ',
        (SELECT string_agg(format('DROP INDEX %s.%s;', ff_internal.quoted_name(n.nspname::text), ff_internal.quoted_name(c.relname::text)), ' ' ORDER BY c.relname)
           FROM (SELECT array_agg(i.indexrelid) AS ids FROM pg_index i WHERE i.indrelid = relation) x
          CROSS JOIN unnest(x.ids, ff_internal.index_definitions(relation::oid, x.ids)) d(id, definition)
           JOIN pg_class c ON c.oid = d.id JOIN pg_namespace n ON n.oid = c.relnamespace
          WHERE d.definition <> '' AND d.definition = ANY (created)),
        (SELECT concat_ws(' ', string_agg(s.statement, ' ' ORDER BY d.place),
                          CASE WHEN count(*) > count(s.statement)
                               THEN format('/* not written out: %s of the old definitions, which call what is not the server''s own; read them before you run them */', count(*) - count(s.statement)) END)
           FROM unnest(dropped) WITH ORDINALITY AS d(definition, place)
          CROSS JOIN LATERAL (SELECT ff_internal.index_statement(relation::oid, d.definition) AS statement) s
          WHERE d.definition <> '')), '')
$$;

-- ---------------------------------------------------------------------------
-- Settings: as SHOW has them, and back
-- ---------------------------------------------------------------------------
-- Units of settings, in bytes or microseconds.
CREATE FUNCTION ff_internal.units() RETURNS TABLE (name text, kind text, size numeric)
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 11
SET search_path = pg_catalog, pg_temp
AS $$
    VALUES ('B', 'memory', 1::numeric), ('kB', 'memory', 1024), ('MB', 'memory', 1048576), ('GB', 'memory', 1073741824), ('TB', 'memory', 1099511627776),
           ('us', 'time', 1), ('ms', 'time', 1000), ('s', 'time', 1000000), ('min', 'time', 60000000), ('h', 'time', 3600000000), ('d', 'time', 86400000000)
$$;

-- A setting's value as a number: bytes or microseconds (kind memory or time) where it or the setting has a unit, else
-- as it is; NULL where it is no number. The value may have a unit of its own, as in a configuration file; unit is that
-- of pg_settings.
CREATE FUNCTION ff_internal.setting_amount(value text, unit text, OUT amount numeric, OUT kind text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    -- a unit of its own goes before that of the setting, which may be a
    -- multiple (8kB)
    WITH m AS (
        SELECT v.m[1]::numeric AS n, coalesce(v.m[2], unit) AS unit
          FROM regexp_match(value, '^\s*([-+]?[0-9]*\.?[0-9]+(?:e[-+]?[0-9]+)?)\s*(B|kB|MB|GB|TB|us|ms|s|min|h|d)?\s*$') v(m) WHERE v.m IS NOT NULL
    )
    SELECT m.n * coalesce(nullif(b.m[1], '')::numeric * s.size, s.size, 1), s.kind
      FROM m
      LEFT JOIN LATERAL regexp_match(m.unit, '^([0-9]*)([A-Za-z]+)$') b(m) ON true
      LEFT JOIN ff_internal.units() s ON s.name = b.m[2]
$$;

-- A setting's value as SHOW has it, given how pg_settings has it: the number and its unit (such as 8kB; NULL: none).
CREATE FUNCTION ff_internal.setting_shown(value text, unit text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    -- as the server does: the largest unit that leaves a whole number, none
    -- for zero and for values that mean something special
    SELECT CASE WHEN a.kind IS NOT NULL AND a.amount > 0
                THEN (SELECT trim_scale(a.amount / s.size) || s.name FROM ff_internal.units() s
                       WHERE s.kind = a.kind AND (a.amount % s.size = 0 OR s.size = 1) ORDER BY s.size DESC LIMIT 1)
                ELSE value END
      FROM (SELECT 1) one LEFT JOIN ff_internal.setting_amount(value, unit) a ON true
$$;

-- The statements that bring a server setting back to an earlier value (as pg_settings has it): ALTER SYSTEM RESET
-- where that is what the other configuration files, or the default, give without ALTER SYSTEM; else it is set. The
-- files are asked only on behalf of roles that may read pg_file_settings, for others the default alone counts; where
-- the present value comes from is hidden from some roles: then the old one is set. NULL where that is none of
-- tracked_settings(), or no value of it.
CREATE FUNCTION ff_internal.restore_setting(setting text, old_value text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    s      record;
    beside text;
    equal  boolean;
BEGIN
    -- the history may name any, and any value, which a superuser would run
    SELECT p.name, p.unit, p.vartype, p.boot_val, p.sourcefile INTO s
      FROM pg_settings p
     WHERE p.name = restore_setting.setting AND p.name = ANY (ff_internal.tracked_settings())
       AND CASE p.vartype WHEN 'bool' THEN old_value IN ('on', 'off') WHEN 'enum' THEN old_value = ANY (p.enumvals)
                          ELSE (SELECT m.amount IS NOT NULL FROM ff_internal.setting_amount(old_value, p.unit) m) END;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    -- Where ALTER SYSTEM set the present value, and the old one is what would
    -- be there without it, nobody had set the old one by ALTER SYSTEM.
    IF s.sourcefile ~ '[/\\]postgresql\.auto\.conf$' THEN
        beside := s.boot_val;
        IF has_table_privilege('pg_file_settings', 'SELECT') AND has_function_privilege('pg_show_all_file_settings()', 'EXECUTE') THEN
            SELECT f.setting INTO beside
              FROM (SELECT s.boot_val AS setting, 0 AS seqno
                    UNION ALL
                    SELECT f.setting, f.seqno FROM pg_file_settings f
                     WHERE lower(f.name) = lower(s.name) AND f.sourcefile !~ '[/\\]postgresql\.auto\.conf$') f
             ORDER BY f.seqno DESC LIMIT 1;
        END IF;
        equal := CASE s.vartype WHEN 'bool' THEN old_value::boolean = beside::boolean
                                WHEN 'integer' THEN (ff_internal.setting_amount(old_value, s.unit)).amount = (ff_internal.setting_amount(beside, s.unit)).amount
                                WHEN 'real' THEN (ff_internal.setting_amount(old_value, s.unit)).amount = (ff_internal.setting_amount(beside, s.unit)).amount
                                ELSE lower(old_value) = lower(beside) END;
    END IF;
    RETURN CASE WHEN equal THEN format('ALTER SYSTEM RESET %I; SELECT pg_reload_conf();', s.name)
                ELSE format('ALTER SYSTEM SET %I = %L; SELECT pg_reload_conf();', s.name, ff_internal.setting_shown(old_value, s.unit)) END;
END
$$;

CREATE FUNCTION @extschema@.ff_verify(relation regclass DEFAULT NULL)
RETURNS TABLE (
    relation             regclass,
    change               text,
    changed_at           timestamptz,
    old_value            text,
    new_value            text,
    verdict              text,
    reason               text,
    undo                 text,
    intervals_before     integer,
    intervals_after      integer,
    updates_before       bigint,
    updates_after        bigint,
    updates_per_s_before double precision,
    updates_per_s_after  double precision,
    hot_pct_before       double precision,
    hot_pct_after        double precision,
    hot_change           double precision,
    hot_change_low       double precision,
    hot_change_high      double precision,
    moved_pct_before     double precision,
    moved_pct_after      double precision,
    wal_bytes_per_update_before double precision,
    wal_bytes_per_update_after  double precision,
    wal_change_pct       double precision,
    wal_change_low       double precision,
    wal_change_high      double precision,
    blocks_per_update_before double precision,
    blocks_per_update_after  double precision,
    mean_ms_before       double precision,
    mean_ms_after        double precision,
    mean_change_pct      double precision,
    mean_change_low      double precision,
    mean_change_high     double precision,
    stddev_ms_before     double precision,
    stddev_ms_after      double precision,
    stddev_change_pct    double precision,
    stddev_change_low    double precision,
    stddev_change_high   double precision,
    heap_bytes_before    bigint,
    heap_bytes_after     bigint,
    index_bytes_before   bigint,
    index_bytes_after    bigint,
    row_bytes_before     double precision,
    row_bytes_after      double precision,
    hit_pct_before       double precision,
    hit_pct_after        double precision,
    predicted_hot_pct    double precision,
    predicted_hot_low    double precision,
    predicted_hot_high   double precision,
    predicted_wal_pct    double precision,
    predicted_size_bytes bigint,
    left_out             text,
    missing              text
)
LANGUAGE sql STABLE ROWS 100
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
    WITH asked AS (
        SELECT ff_internal.checked_table($1) AS relid
    ), setting AS (
        SELECT h.setting, h.value, h.unit, h.before_at, h.seen_at, lag(h.value) OVER (PARTITION BY h.setting ORDER BY h.seen_at) AS old_value
          FROM ff_internal.setting_history h
    ), changed AS (
        SELECT c.rel_id, r.relid::regclass AS relid, c.kind AS change, c.before_at, c.seen_at, c.epoch_id, c.old_fillfactor, c.new_fillfactor,
               CASE c.kind WHEN 'fillfactor' THEN c.old_fillfactor::text WHEN 'options' THEN array_to_string(ff_internal.other_options(c.old_options), ', ')
                    ELSE array_to_string(c.dropped_indexes, '; ') END AS old_value,
               CASE c.kind WHEN 'fillfactor' THEN c.new_fillfactor::text WHEN 'options' THEN array_to_string(ff_internal.other_options(c.new_options), ', ')
                    ELSE array_to_string(c.created_indexes, '; ') END AS new_value,
               CASE c.kind WHEN 'indexes' THEN ff_internal.undo_indexes(r.relid::regclass, c.dropped_indexes, c.created_indexes)
                    ELSE ff_internal.restore_options(r.relid, c.old_options, c.new_options, c.kind) END AS undo,
               (SELECT string_agg(o.kind, ', ' ORDER BY o.kind) FROM ff_internal.change o
                 WHERE o.rel_id = c.rel_id AND o.seen_at = c.seen_at AND o.kind <> c.kind) AS together,
               c.kind = 'fillfactor' AND c.new_fillfactor < c.old_fillfactor
                   AND NOT EXISTS (SELECT 1 FROM ff_internal.counter_interval i WHERE i.rel_id = c.rel_id AND i.ended_at > c.before_at AND i.rewritten) AS old_pages
          FROM ff_internal.change c
          JOIN ff_internal.relation r ON r.rel_id = c.rel_id AND r.closed_at IS NULL
          JOIN pg_class t ON t.oid = r.relid
         WHERE (SELECT a.relid FROM asked a) IS NULL OR r.relid = (SELECT a.relid FROM asked a)
        UNION ALL
        SELECT NULL, NULL, 'setting ' || s.setting, s.before_at, s.seen_at,
               (SELECT k.epoch_id FROM ff_internal.collection k WHERE k.began_at <= s.seen_at ORDER BY k.began_at DESC LIMIT 1), NULL, NULL,
               ff_internal.setting_shown(s.old_value, s.unit), ff_internal.setting_shown(s.value, s.unit),
               ff_internal.restore_setting(s.setting, s.old_value),
               (SELECT string_agg(o.setting, ', ' ORDER BY o.setting) FROM ff_internal.setting_history o
                 WHERE o.seen_at = s.seen_at AND o.setting <> s.setting AND o.before_at IS NOT NULL), false
          FROM setting s
         WHERE s.before_at IS NOT NULL AND (SELECT a.relid FROM asked a) IS NULL
    ), counted AS (
        SELECT c.*, w.*
          FROM changed c
         CROSS JOIN LATERAL (
               SELECT (count(*) FILTER (WHERE b))::integer AS n1, (count(*) FILTER (WHERE a))::integer AS n2,
                      coalesce(sum(v.updated) FILTER (WHERE b), 0) AS u1, coalesce(sum(v.updated) FILTER (WHERE a), 0) AS u2,
                      sum(extract(epoch FROM v.ended_at - v.began_at)) FILTER (WHERE b)::double precision AS s1,
                      sum(extract(epoch FROM v.ended_at - v.began_at)) FILTER (WHERE a)::double precision AS s2,
                      sum(v.hot_updated) FILTER (WHERE b) AS h1, sum(v.hot_updated) FILTER (WHERE a) AS h2,
                      sum(v.newpage_updated) FILTER (WHERE b) AS p1, sum(v.newpage_updated) FILTER (WHERE a) AS p2,
                      array_agg(v.hot_updated) FILTER (WHERE b) AS hots1, array_agg(v.hot_updated) FILTER (WHERE a) AS hots2,
                      array_agg(v.updated) FILTER (WHERE b) AS updates1, array_agg(v.updated) FILTER (WHERE a) AS updates2,
                      range_agg(tstzrange(v.began_at, v.ended_at, '[]')) FILTER (WHERE b) AS t1, range_agg(tstzrange(v.began_at, v.ended_at, '[]')) FILTER (WHERE a) AS t2,
                      100 * sum(v.blocks_hit) FILTER (WHERE b) / nullif(sum(v.blocks_fetched) FILTER (WHERE b), 0) AS hit1,
                      100 * sum(v.blocks_hit) FILTER (WHERE a) / nullif(sum(v.blocks_fetched) FILTER (WHERE a), 0) AS hit2,
                      (array_agg(v.heap_bytes ORDER BY v.ended_at DESC) FILTER (WHERE v.side = 'before' AND v.heap_bytes IS NOT NULL))[1] AS heap1,
                      (array_agg(v.heap_bytes ORDER BY v.ended_at DESC) FILTER (WHERE v.side = 'after' AND v.heap_bytes IS NOT NULL))[1] AS heap2,
                      (array_agg(v.index_bytes ORDER BY v.ended_at DESC) FILTER (WHERE v.side = 'before' AND v.index_bytes IS NOT NULL))[1] AS index1,
                      (array_agg(v.index_bytes ORDER BY v.ended_at DESC) FILTER (WHERE v.side = 'after' AND v.index_bytes IS NOT NULL))[1] AS index2,
                      min(v.began_at) AS first_at, max(v.ended_at) AS last_at
                 FROM ff_internal.verify_windows(c.rel_id, c.before_at, c.seen_at, c.epoch_id) v
                CROSS JOIN LATERAL (SELECT v.left_out IS NULL AND v.side = 'before' AS b, v.left_out IS NULL AND v.side = 'after' AS a) x) w
    ), left_out AS (
        SELECT c.rel_id, c.change, c.seen_at, string_agg(format('%s %s %s', l.n, l.side, l.left_out), ', ' ORDER BY l.side DESC, l.left_out) AS left_out
          FROM changed c
         CROSS JOIN LATERAL (SELECT v.side, v.left_out, count(*) AS n
                               FROM ff_internal.verify_windows(c.rel_id, c.before_at, c.seen_at, c.epoch_id) v
                              WHERE v.left_out <> 'holds the change' GROUP BY v.side, v.left_out) l
         GROUP BY c.rel_id, c.change, c.seen_at
    ), measured AS (
        SELECT c.*, l.left_out,
               -- never surer than single updates would allow (Agresti and Coull's share)
               ff_internal.ratio(c.hots1, c.updates1, (c.h1 + 2) * (c.u1 - c.h1 + 2) / (c.u1 + 4) ^ 3) AS hot1,
               ff_internal.ratio(c.hots2, c.updates2, (c.h2 + 2) * (c.u2 - c.h2 + 2) / (c.u2 + 4) ^ 3) AS hot2,
               e.statements, e.mean_ms_before, e.mean_ms_after, e.mean, e.stddev_ms_before, e.stddev_ms_after, e.stddev,
               e.wal_before, e.wal_after, e.wal, e.blocks_before, e.blocks_after,
               (ff_internal.split_updates(c.u1::double precision, c.h1::double precision, c.p1::double precision, v1.same_page::double precision, v1.moved::double precision, NULL, v1.hot::double precision)).newpage_share AS moved1,
               (ff_internal.split_updates(c.u2::double precision, c.h2::double precision, c.p2::double precision, v2.same_page::double precision, v2.moved::double precision, NULL, v2.hot::double precision)).newpage_share AS moved2,
               r1.bytes AS row1, r2.bytes AS row2, p.predicted_hot_pct, p.predicted_hot_low, p.predicted_hot_high, p.predicted_wal_pct, p.predicted_size_bytes,
               p.made_at
          FROM counted c
          LEFT JOIN left_out l ON l.rel_id IS NOT DISTINCT FROM c.rel_id AND l.change = c.change AND l.seen_at = c.seen_at
          LEFT JOIN LATERAL ff_internal.statement_effect(c.rel_id, c.t1, c.t2) e ON true
         CROSS JOIN LATERAL (SELECT sum(s.superseded_hot) AS hot, sum(s.superseded_same_page) AS same_page, sum(s.superseded_newpage) AS moved
                               FROM ff_internal.page_sample s WHERE s.rel_id = c.rel_id AND s.sampled_at BETWEEN lower(c.t1) AND c.seen_at) v1
         CROSS JOIN LATERAL (SELECT sum(s.superseded_hot) AS hot, sum(s.superseded_same_page) AS same_page, sum(s.superseded_newpage) AS moved
                               FROM ff_internal.page_sample s WHERE s.rel_id = c.rel_id AND s.sampled_at >= lower(c.t2)
                                AND s.sampled_at <= upper(c.t2) + (upper(c.t2) - lower(c.t2))) v2
          LEFT JOIN LATERAL (SELECT s.blocks * 8192.0 / nullif(s.live_rows, 0) AS bytes FROM ff_internal.page_sample s
                              WHERE s.rel_id = c.rel_id AND s.sampled_at BETWEEN c.first_at AND c.seen_at ORDER BY s.sampled_at DESC LIMIT 1) r1 ON true
          LEFT JOIN LATERAL (SELECT s.blocks * 8192.0 / nullif(s.live_rows, 0) AS bytes FROM ff_internal.page_sample s
                              WHERE s.rel_id = c.rel_id AND s.sampled_at >= coalesce(lower(c.t2), c.seen_at)
                                AND s.sampled_at < coalesce((SELECT min(o.seen_at) FROM ff_internal.change o WHERE o.rel_id = c.rel_id AND o.seen_at > c.seen_at), 'infinity')
                              ORDER BY s.sampled_at DESC LIMIT 1) r2 ON true
          LEFT JOIN LATERAL (SELECT * FROM ff_internal.prediction o
                              WHERE c.change = 'fillfactor' AND o.rel_id = c.rel_id AND o.from_fillfactor = c.old_fillfactor AND o.to_fillfactor = c.new_fillfactor
                                AND o.made_at < c.seen_at
                              ORDER BY o.made_at DESC LIMIT 1) p ON true
    ), compared AS (
        SELECT m.*, h.d AS hot, 100 * (m.row2 / m.row1 - 1) AS row_pct
          FROM measured m
         CROSS JOIN LATERAL (SELECT array_agg(greatest(-100, least(100, 100 * x.d)) ORDER BY x.n) AS d
                               FROM unnest(ff_internal.difference((m.hot1).ratio, (m.hot1).variance, (m.hot1).clusters,
                                                                     (m.hot2).ratio, (m.hot2).variance, (m.hot2).clusters)) WITH ORDINALITY x(d, n)) h
    )
    SELECT c.relid, c.change, c.seen_at, c.old_value, c.new_value, v.verdict,
           concat(CASE WHEN c.change = 'fillfactor' AND (c.hot1).ratio IS NOT NULL AND (c.hot2).ratio IS NOT NULL
                       THEN format('HOT share %s %% at %s, %s %% at %s', round((100 * (c.hot1).ratio)::numeric, 1), c.old_fillfactor, round((100 * (c.hot2).ratio)::numeric, 1), c.new_fillfactor)
                       WHEN (c.hot1).ratio IS NOT NULL AND (c.hot2).ratio IS NOT NULL
                       THEN format('HOT share %s %% before, %s %% after', round((100 * (c.hot1).ratio)::numeric, 1), round((100 * (c.hot2).ratio)::numeric, 1)) END
                  || CASE WHEN c.predicted_hot_pct IS NOT NULL
                          THEN format(' (%s %% predicted, %s to %s)', round(c.predicted_hot_pct::numeric), round(c.predicted_hot_low::numeric), round(c.predicted_hot_high::numeric)) ELSE '' END || ': ',
                  v.reason,
                  CASE WHEN v.verdict = 'too early' AND c.left_out IS NOT NULL THEN '; intervals left out: ' || c.left_out END,
                  CASE WHEN c.old_pages AND v.verdict <> 'helped' THEN '; the table was not rewritten since, so its old pages are as full as before' END,
                  CASE WHEN c.together IS NOT NULL THEN '; changed at the same time, so not told apart: ' || c.together END,
                  CASE WHEN c.change = 'indexes' AND v.verdict = 'hurt' THEN '; what the indexes are good for in reading is not judged here' END, '.'),
           CASE WHEN v.verdict = 'hurt' THEN c.undo END,
           c.n1, c.n2, c.u1::bigint, c.u2::bigint, c.u1 / nullif(c.s1, 0), c.u2 / nullif(c.s2, 0),
           100 * (c.hot1).ratio, 100 * (c.hot2).ratio, c.hot[1], c.hot[2], c.hot[3],
           100 * c.moved1, 100 * c.moved2,
           c.wal_before, c.wal_after, c.wal[1], c.wal[2], c.wal[3], c.blocks_before, c.blocks_after,
           c.mean_ms_before, c.mean_ms_after, c.mean[1], c.mean[2], c.mean[3],
           c.stddev_ms_before, c.stddev_ms_after, c.stddev[1], c.stddev[2], c.stddev[3],
           c.heap1, c.heap2, c.index1, c.index2, c.row1, c.row2, c.hit1, c.hit2,
           c.predicted_hot_pct, c.predicted_hot_low, c.predicted_hot_high, c.predicted_wal_pct, c.predicted_size_bytes,
           c.left_out,
           nullif(concat_ws('; ',
               CASE WHEN c.statements IS NULL AND c.t1 IS NOT NULL AND c.t2 IS NOT NULL
                    THEN 'WAL, blocks and time: ' || coalesce((SELECT k.reason FROM ff_internal.statement_snapshot k ORDER BY k.collection_id DESC LIMIT 1),
                         CASE WHEN c.rel_id IS NULL THEN 'no statement' ELSE 'no statement that only updates this table' END || ' was seen both before and after') END,
               CASE WHEN c.change = 'fillfactor' AND c.made_at IS NULL THEN 'prediction: this change was not advised by a collection before it' END,
               CASE WHEN c.rel_id IS NOT NULL AND c.u1 > 0 AND c.u2 > 0 AND (c.moved1 IS NULL OR c.moved2 IS NULL)
                    THEN 'moved share: not counted before PostgreSQL 16, and no old versions were seen in the pages' END), '')
      FROM compared c
     CROSS JOIN LATERAL ff_internal.verdict(c.n1, c.n2, c.u1, c.u2, c.hot, c.wal, c.mean, c.stddev, c.row_pct,
                                               CASE WHEN c.rel_id IS NULL THEN 'calls' ELSE 'updates' END) v
    UNION ALL
    SELECT a.relid, NULL, NULL, NULL, NULL, NULL,
           CASE WHEN k.not_examined IS NOT NULL THEN k.not_examined || '.'
                WHEN a.relid IS NOT NULL AND NOT EXISTS (SELECT 1 FROM ff_internal.relation r WHERE r.relid = a.relid AND r.closed_at IS NULL)
                THEN 'not collected yet: run CALL ff_collect() or ff_schedule().'
                ELSE coalesce('no change was seen since ' || to_char(coalesce((SELECT r.opened_at FROM ff_internal.relation r WHERE r.relid = a.relid AND r.closed_at IS NULL),
                                                        (SELECT min(k.began_at) FROM ff_internal.collection k)), 'YYYY-MM-DD HH24:MI') || '.',
                              'not collected yet: run CALL ff_collect() or ff_schedule().') END,
           NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
           NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
      FROM asked a
      LEFT JOIN ff_internal.candidate k ON k.relid = a.relid
     WHERE NOT EXISTS (SELECT 1 FROM changed)
     ORDER BY 3 DESC, 1, 2
$$;
COMMENT ON FUNCTION @extschema@.ff_verify(regclass) IS
'Before and after each change of a table''s fillfactor, other storage options or indexes that a collection noticed, and, without an argument, of server settings; the latest change first. Where nothing changed, one row that says so.
relation: the table; NULL for a setting. change: fillfactor, options, indexes, or setting NAME. changed_at: the first look that saw it. old_value, new_value.
verdict: helped, no difference, hurt, too early. reason: why, in a sentence. undo: the statement that takes it back, where it hurt.
intervals_, updates_: what is compared (whole collection intervals; for a setting, calls of all statements), updates_per_s_; left_out: intervals that are not, and why, see verify_windows().
hot_pct_: HOT share, percent; hot_change: difference in points, _low and _high the ends of its 95 % interval, from the scatter between intervals.
moved_pct_: updates that left their page, percent. wal_bytes_per_update_, blocks_per_update_, mean_ms_, stddev_ms_: from the statements that only update this table and ran on both sides, each measured against itself; changes in percent with 95 % intervals. NULL without pg_stat_statements, see missing.
heap_bytes_, index_bytes_: sizes at the end of either window. row_bytes_: table bytes per live row. hit_pct_: heap pages found in shared buffers, percent.
predicted_: what advice promised before the change: HOT share (percent, with its range), WAL per update against before (percent), bytes of the table.
Errors: 42P01 unknown OID, 42809 not a table.';

-- ---------------------------------------------------------------------------
-- Statements, one by one
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_verify_statements(relation regclass DEFAULT NULL)
RETURNS TABLE (
    relation        regclass,
    change          text,
    changed_at      timestamptz,
    queryid         bigint,
    query           text,
    calls_before    bigint,
    calls_after     bigint,
    mean_ms_before  double precision,
    mean_ms_after   double precision,
    mean_change_ms  double precision,
    mean_change_low double precision,
    mean_change_high double precision,
    stddev_ms_before double precision,
    stddev_ms_after double precision
)
LANGUAGE sql STABLE ROWS 100
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
    WITH changed AS (
        SELECT c.rel_id, r.relid::regclass AS relid, c.kind AS change, c.seen_at, w.t1, w.t2
          FROM ff_internal.change c
          JOIN ff_internal.relation r ON r.rel_id = c.rel_id AND r.closed_at IS NULL
          JOIN pg_class t ON t.oid = r.relid
         CROSS JOIN LATERAL (SELECT range_agg(tstzrange(v.began_at, v.ended_at, '[]')) FILTER (WHERE v.side = 'before') AS t1,
                                    range_agg(tstzrange(v.began_at, v.ended_at, '[]')) FILTER (WHERE v.side = 'after') AS t2
                               FROM ff_internal.verify_windows(c.rel_id, c.before_at, c.seen_at, c.epoch_id) v WHERE v.left_out IS NULL) w
         WHERE $1 IS NULL OR r.relid = ff_internal.checked_table($1)
        UNION ALL
        SELECT NULL, NULL, 'setting ' || h.setting, h.seen_at, w.t1, w.t2
          FROM ff_internal.setting_history h
         CROSS JOIN LATERAL (SELECT range_agg(tstzrange(v.began_at, v.ended_at, '[]')) FILTER (WHERE v.side = 'before') AS t1,
                                    range_agg(tstzrange(v.began_at, v.ended_at, '[]')) FILTER (WHERE v.side = 'after') AS t2
                               FROM ff_internal.verify_windows(NULL::bigint, h.before_at, h.seen_at,
                                        (SELECT k.epoch_id FROM ff_internal.collection k WHERE k.began_at <= h.seen_at ORDER BY k.began_at DESC LIMIT 1)) v
                              WHERE v.left_out IS NULL) w
         WHERE h.before_at IS NOT NULL AND $1 IS NULL
    ), per AS (
        SELECT c.relid, c.change, c.seen_at, s.statement_id, s.side, sum(s.calls) AS calls, sum(s.total_ms) / sum(s.calls) AS mean,
               sqrt(greatest(sum(s.calls * s.stddev_ms ^ 2 + s.total_ms ^ 2 / s.calls) / sum(s.calls) - (sum(s.total_ms) / sum(s.calls)) ^ 2, 0)) AS stddev,
               ff_internal.ratio(array_agg(s.total_ms), array_agg(s.calls), sum(s.calls * s.stddev_ms ^ 2) / sum(s.calls) ^ 2) AS m
          FROM changed c
         CROSS JOIN LATERAL ff_internal.verify_calls(c.rel_id, c.t1, c.t2) s
         GROUP BY c.relid, c.change, c.seen_at, s.statement_id, s.side
    )
    SELECT b.relid, b.change, b.seen_at, s.queryid, s.text, b.calls::bigint, a.calls::bigint, b.mean, a.mean, a.mean - b.mean, d.d[2], d.d[3], b.stddev, a.stddev
      FROM per b
      JOIN per a ON a.statement_id = b.statement_id AND a.relid IS NOT DISTINCT FROM b.relid AND a.change = b.change AND a.seen_at = b.seen_at AND a.side = 'after'
      JOIN ff_internal.statement s ON s.statement_id = b.statement_id
     CROSS JOIN LATERAL (SELECT ff_internal.difference((b.m).ratio, (b.m).variance, (b.m).clusters, (a.m).ratio, (a.m).variance, (a.m).clusters) AS d) d
     WHERE b.side = 'before'
     ORDER BY b.seen_at DESC, 1, 2, a.calls * a.mean DESC
$$;
COMMENT ON FUNCTION @extschema@.ff_verify_statements(regclass) IS
'The statements behind each row of ff_verify(), one by one: calls, mean and standard deviation of the execution time (milliseconds) in the intervals compared, and the difference of the means with its 95 % interval. That interval follows from the scatter between collection intervals or from that between single calls, whichever is larger (Welch).
Errors: 42P01 unknown OID, 42809 not a table.';

-- ---------------------------------------------------------------------------
-- Promises and what came of them
-- ---------------------------------------------------------------------------
-- Rel_id of the tables whose advice may be another one after a collection, at most 20; removes the advice for tables
-- that are gone.
CREATE FUNCTION ff_internal.predictions_due(id bigint) RETURNS SETOF bigint
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    -- advice for a table goes with it
    DELETE FROM ff_internal.advised a
     WHERE NOT EXISTS (SELECT 1 FROM ff_internal.relation r WHERE r.rel_id = a.rel_id AND r.closed_at IS NULL);

    -- Tables that changed in this collection, and those whose advice stands
    -- and may have turned without a change; the one asked longest ago first,
    -- as many as one collection may ask the model for.  A table known for
    -- longer than an hour is asked once an hour: the answer is costly and
    -- moves slowly.
    SELECT r.rel_id
      FROM ff_internal.collection c
     CROSS JOIN LATERAL (
           SELECT u.rel_id, max(u.updated) AS updated, bool_or(u.stands) AS stands
             FROM (SELECT i.rel_id, i.updated, false FROM ff_internal.counter_interval i WHERE i.rollup = 0 AND i.ended_at = c.began_at
                   UNION ALL
                   SELECT a.rel_id, 0, true FROM ff_internal.advised a) u(rel_id, updated, stands)
            GROUP BY u.rel_id) d
      JOIN ff_internal.relation r ON r.rel_id = d.rel_id
     WHERE c.collection_id = id AND (d.updated > 0 OR r.fillfactor < 100 OR d.stands) AND r.closed_at IS NULL AND r.sampled_at IS NOT NULL
       AND (r.predicted_at IS NULL OR r.predicted_at <= c.began_at - interval '1 hour' OR r.opened_at > c.began_at - interval '1 hour')
     ORDER BY r.predicted_at NULLS FIRST, d.updated DESC, r.rel_id
     LIMIT 20
$$;

-- Writes down whether another fillfactor is advised for a table now (advised), what that promises, where it is new
-- (prediction), and what came of the promise that the last change took up. Returns the promises written.
CREATE FUNCTION ff_internal.collect_prediction(id bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- a promise is written anew when its HOT share moved by so many points, or after a day
    new_promise CONSTANT double precision := 2;
    snapshot_at   CONSTANT timestamptz := clock_timestamp();
    relation    regclass;
    advice      record;
    e           ff_internal.table_evidence;
    choice      record;
    last        ff_internal.prediction;
    made        timestamptz;
    changed     timestamptz;
    written     bigint := 0;
BEGIN
    UPDATE ff_internal.relation r SET predicted_at = snapshot_at WHERE r.rel_id = id RETURNING r.relid::regclass INTO relation;
    IF relation IS NULL THEN
        RETURN 0;
    END IF;
    SELECT a.action, a.fillfactor, a.recommended_fillfactor, a.hot_pct, a.predicted_hot_pct, a.confidence, a.evidence INTO advice
      FROM ff_internal.advice(relation, NULL::integer) a;
    IF advice.action IN ('lower', 'raise') THEN
        INSERT INTO ff_internal.advised AS s (rel_id, asked_at, from_fillfactor, to_fillfactor, predicted_hot_pct, confidence)
        VALUES (id, snapshot_at, advice.fillfactor, advice.recommended_fillfactor, advice.predicted_hot_pct::numeric, advice.confidence::numeric)
        ON CONFLICT (rel_id) DO UPDATE
           SET asked_at = EXCLUDED.asked_at, from_fillfactor = EXCLUDED.from_fillfactor, to_fillfactor = EXCLUDED.to_fillfactor,
               predicted_hot_pct = EXCLUDED.predicted_hot_pct, confidence = EXCLUDED.confidence;

        SELECT * INTO last FROM ff_internal.prediction p WHERE p.rel_id = id ORDER BY p.made_at DESC LIMIT 1;
        IF last IS NULL OR (last.from_fillfactor, last.to_fillfactor) <> (advice.fillfactor, advice.recommended_fillfactor)
           OR last.made_at < snapshot_at - interval '1 day' OR last.judged_at IS NOT NULL
           OR coalesce(abs(last.predicted_hot_pct - advice.predicted_hot_pct) >= new_promise,
                       last.predicted_hot_pct IS NULL AND advice.predicted_hot_pct IS NOT NULL)
        THEN
            -- once more, for the whole of it: that is seldom
            e := advice.evidence;
            SELECT * INTO choice FROM ff_internal.choice(e);
            INSERT INTO ff_internal.prediction (rel_id, made_at, from_fillfactor, to_fillfactor, hot_pct, predicted_hot_pct, predicted_hot_low,
                        predicted_hot_high, predicted_wal_pct, size_bytes, predicted_size_bytes, confidence)
            VALUES (id, snapshot_at, advice.fillfactor, advice.recommended_fillfactor, advice.hot_pct, choice.predicted_hot_pct, choice.predicted_hot_low,
                    choice.predicted_hot_high, choice.predicted_wal_pct, e.heap_bytes, choice.predicted_size_bytes, choice.confidence);
            written := 1;
        END IF;
    ELSE
        DELETE FROM ff_internal.advised s WHERE s.rel_id = id;
    END IF;

    -- The last change, if it was promised something: judged as soon as that is
    -- possible, then once an hour while the window after it grows.
    SELECT p.made_at, c.seen_at INTO made, changed
      FROM ff_internal.change c
      JOIN ff_internal.prediction p ON p.rel_id = c.rel_id AND p.from_fillfactor = c.old_fillfactor AND p.to_fillfactor = c.new_fillfactor AND p.made_at < c.seen_at
     WHERE c.rel_id = id AND c.kind = 'fillfactor' AND c.seen_at > snapshot_at - make_interval(secs => ff_internal.setting('lookback')::integer)
     ORDER BY c.seen_at DESC, p.made_at DESC LIMIT 1;
    IF NOT FOUND THEN
        RETURN written;
    END IF;
    UPDATE ff_internal.prediction p
       SET judged_at = snapshot_at, verdict = v.verdict, achieved_hot_pct = v.hot_pct_after, achieved_wal_pct = 100 + v.wal_change_pct
      FROM @extschema@.ff_verify(relation) v
     WHERE p.rel_id = id AND p.made_at = made AND (p.judged_at IS NULL OR p.judged_at < snapshot_at - interval '1 hour')
       AND v.change = 'fillfactor' AND v.changed_at = changed AND v.verdict <> 'too early';
    RETURN written;
END
$$;

-- How well earlier predictions for a table (its rel_id) came true, 0 to 1, over the last three that were taken up and
-- judged; NULL where none was. 1: the HOT share came within the range promised (or 5 points) and the change helped;
-- halved for every 10 points beyond, halved where it made no difference, 0.2 where it hurt.
CREATE FUNCTION ff_internal.calibration(relation_id bigint) RETURNS double precision
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- Points of HOT share that a prediction may miss by without blame, and
    -- those beyond it that halve the trust.
    WITH constant AS (
        SELECT 5.0::double precision AS tolerance, 10.0::double precision AS halving
    ), judged AS (
        SELECT p.*, greatest(0, least(p.predicted_hot_low, p.predicted_hot_pct - k.tolerance) - p.achieved_hot_pct,
                                p.achieved_hot_pct - greatest(p.predicted_hot_high, p.predicted_hot_pct + k.tolerance)) AS missed_by, k.halving
          FROM ff_internal.prediction p, constant k
         WHERE p.rel_id = relation_id AND p.judged_at IS NOT NULL
         ORDER BY p.made_at DESC LIMIT 3
    )
    SELECT avg(CASE WHEN verdict = 'hurt' THEN 0.2
                    WHEN predicted_hot_pct IS NULL THEN CASE verdict WHEN 'helped' THEN 1 ELSE 0.5 END
                    ELSE 1 / (1 + missed_by / halving) * CASE verdict WHEN 'helped' THEN 1 ELSE 0.5 END END)
      FROM judged
$$;

-- A confidence (0 to 1) in the light of earlier predictions for the table, see calibration(): halfway to 1 where all
-- came true, as it was at 0.8, less in proportion below; unchanged where none was judged.
CREATE FUNCTION ff_internal.calibrated(confidence double precision, calibration double precision) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN calibration IS NULL THEN confidence
                WHEN calibration < 0.8 THEN confidence * calibration / 0.8
                ELSE confidence + (1 - confidence) * (calibration - 0.8) / 0.4 END
$$;
