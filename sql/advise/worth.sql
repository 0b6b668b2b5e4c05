-- What changes bring, one or all together, in figures and words.

-- Bytes saved: '12 MB less', or more.
CREATE FUNCTION ff_internal.less_or_more(saved numeric) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN pg_size_pretty(abs(round(saved))) || CASE WHEN saved < 0 THEN ' more' ELSE ' less' END;

-- Bytes that are given for a day as they are shown: for 1,000 updates until an hour was watched.
CREATE FUNCTION ff_internal.wal_rate(a_day float8, updates_per_s float8, watched_s float8)
RETURNS TABLE (bytes numeric, per text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 1
BEGIN ATOMIC
    SELECT round(CASE WHEN s.short THEN a_day / nullif(86.4 * updates_per_s, 0) ELSE a_day END::numeric),
           CASE WHEN s.short THEN ' per 1,000 updates' ELSE ' a day' END
      FROM (SELECT watched_s < ff_internal.threshold('RATES')) s(short);
END;

-- WAL that changes save, in words; NULL: none.
CREATE FUNCTION ff_internal.wal_saved(wal float8, updates_per_s float8, watched_s float8) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (SELECT ff_internal.less_or_more(nullif(w.bytes, 0)) || ' WAL' || w.per
          FROM ff_internal.wal_rate(wal, updates_per_s, watched_s) w);

-- The total effect of changes, in words; of rewrites apart. wal_pct: of the WAL of the updates.
CREATE FUNCTION ff_internal.effect_words(wal_saved numeric, disk numeric, updates_per_s float8 DEFAULT NULL,
    watched_s float8 DEFAULT NULL, wal_pct numeric DEFAULT NULL, rewrites bigint DEFAULT 0,
    rewrite_s float8 DEFAULT NULL, rewrite_disk numeric DEFAULT NULL) RETURNS text
LANGUAGE sql STABLE
RETURN concat_ws('; ',
    nullif(concat_ws(', ', 'about ' || ff_internal.wal_saved(wal_saved, updates_per_s, watched_s)
                           || coalesce(to_char(-wal_pct, '" ("FMSG990" %)"'), ''),
                     ff_internal.less_or_more(-nullif(disk, 0)) || ' disk'), ''),
    CASE WHEN rewrites > 0
         THEN concat(ff_internal.less_or_more(-nullif(rewrite_disk, 0)) || ' disk by ',
                     ff_internal.counted(rewrites, 'rewrite'), ' (', ff_internal.rewrite_time(rewrite_s), ')') END);

-- Totals of the changes that are not provisional, or of all if all are: savings, bytes and seconds of rewrites; words:
-- their number and what they bring, or why there are none. changes: columns of ff_advise(), wal_saved and wal_now of
-- advice(), and the rewrites of a script.
CREATE FUNCTION ff_internal.plan_total(changes jsonb[]) RETURNS jsonb
LANGUAGE sql STABLE
RETURN (
    SELECT to_jsonb(t) - '{wal_saved,wal_now,rewriting,rewrites_disk}'::text[] || jsonb_build_object(
        'wal_bytes_per_day_saved', CASE WHEN t.observed_s >= ff_internal.threshold('RATES') THEN round(t.wal_saved) END,
        'words', CASE WHEN t.changes > 0
            THEN concat(
                ff_internal.counted(t.changes, 'change'),
                CASE WHEN t.provisional < t.changes
                     THEN ' (' || nullif(t.provisional, 0) || ' of them provisional, which are not counted here)' END,
                ': ' || nullif(ff_internal.effect_words(
                    t.wal_saved, t.disk_bytes_change - coalesce(t.rewrites_disk, 0), t.updates_per_s, t.observed_s,
                    100 * t.wal_saved / nullif(t.wal_now, 0), t.rewriting, t.rewrite_seconds, t.rewrites_disk), ''))
            ELSE (SELECT (ARRAY['nothing was collected yet: run CALL ff_collect()',
                                'one collection so far: one more is needed, after some work',
                                'no change is advised'])[count(*) + 1]
                    FROM (SELECT FROM ff_internal.collection LIMIT 2) c) END)
      FROM (
        SELECT cardinality(changes) AS changes, min(p.n) AS provisional, sum((c->>'wal_saved')::numeric) AS wal_saved,
            sum((c->>'wal_now')::numeric) AS wal_now, sum((c->>'disk_bytes_change')::numeric) AS disk_bytes_change,
            sum((c->>'updates_per_s')::float8) AS updates_per_s,
            min(extract(epoch FROM (c->>'observed')::interval))::float8 AS observed_s, count(m) AS rewrites,
            coalesce(sum((m->>'wal_bytes')::bigint), 0) AS rewrite_wal_bytes, sum(w.seconds) AS rewrite_seconds,
            count(w.seconds) AS rewriting,
            sum((c->>'disk_bytes_change')::numeric) FILTER (WHERE w.seconds >= 0) AS rewrites_disk
          FROM (SELECT count(*) AS n FROM unnest(changes) c WHERE (c->>'provisional')::boolean) p
          LEFT JOIN unnest(changes) c ON (c->>'provisional')::boolean IS NOT TRUE OR p.n = cardinality(changes)
          LEFT JOIN jsonb_array_elements(c->'rewrite'->'methods') m ON m->'method' = c->'rewrite'->'method'
         CROSS JOIN LATERAL (SELECT coalesce(m->>'seconds', c->>'rewrite_seconds')::float8) w(seconds)) t);
