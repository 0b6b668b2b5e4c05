-- The history of a table as a time line.

-- Begin of a time's bucket. Longer ones than an hour follow the local clock: days begin at midnight in summer, too.
CREATE FUNCTION ff_internal.bucket_of(at timestamptz, bucket interval) RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE
-- 2001-01-01 was a Monday, so weeks begin on Mondays
RETURN CASE WHEN bucket > interval '1 hour' THEN date_bin(bucket, at::timestamp, timestamp '2001-01-01')::timestamptz
            ELSE date_bin(bucket, at, (timestamp '2001-01-01')::timestamptz) END;

-- What happened to a table (its rel_id), by time bucket (NULL: the shortest usual length that gives at most so many);
-- first_at, ended_at: the time covered by its data. An interval belongs to the bucket in which it began, a change to
-- that of the last collection before.
CREATE FUNCTION ff_internal.history(id bigint, bucket interval, most integer)
RETURNS TABLE (began_at timestamptz, first_at timestamptz, ended_at timestamptz, updates bigint,
               hot_pct double precision, newpage_pct double precision, blocked_pct double precision, inserts bigint,
               deletes bigint, size_bytes bigint, fillfactor integer, event text)
LANGUAGE sql STABLE ROWS 100
SET jit = off
AS $$
    WITH chosen AS MATERIALIZED (
        SELECT coalesce(bucket, (
                   SELECT b FROM unnest('{1 s,5 s,15 s,1 min,5 min,15 min,1 h,3 h,6 h,12 h,1 d,7 d}'::interval[]) b
                    WHERE b * most >= max(i.ended_at) - min(i.began_at) ORDER BY b LIMIT 1), interval '28 d') AS length
          FROM ff_internal.counter_interval i WHERE i.rel_id = id
    ), counted AS (
        SELECT ff_internal.bucket_of(i.began_at, b.length) AS began_at, min(i.began_at) AS first_at,
               max(i.ended_at) AS ended_at, (ff_internal.total(i)).updated::double precision AS u,
               (ff_internal.total(i)).hot_updated::double precision AS hot,
               (ff_internal.total(i)).newpage_updated::double precision AS newpage,
               (ff_internal.total(i)).inserted AS inserts, (ff_internal.total(i)).deleted AS deletes,
               (array_agg(i.heap_bytes ORDER BY i.heap_bytes IS NULL, i.ended_at DESC))[1] AS size_bytes,
               (array_agg(i.fillfactor ORDER BY i.ended_at DESC))[1] AS fillfactor, bool_or(i.rewritten) AS rewritten
          FROM ff_internal.counter_interval i, chosen b WHERE i.rel_id = id GROUP BY 1
    ), changed AS (
        SELECT ff_internal.bucket_of(c.before_at, b.length) AS began_at, min(c.before_at) AS first_at,
               max(c.seen_at) AS ended_at, string_agg(c.change, ', ' ORDER BY c.seen_at, c.change) AS words
          FROM ff_internal.changes c, chosen b WHERE c.rel_id = id AND c.kind <> 'rewrite' GROUP BY 1
    )
    SELECT began_at, least(n.first_at, c.first_at), greatest(n.ended_at, c.ended_at), coalesce(n.u, 0)::bigint,
           100 * n.hot / nullif(n.u, 0), 100 * s.newpage_share, 100 * (1 - n.hot / nullif(n.u, 0) - s.newpage_share),
           coalesce(n.inserts, 0), coalesce(n.deletes, 0), n.size_bytes, n.fillfactor,
           nullif(concat_ws(', ', c.words, CASE WHEN n.rewritten THEN 'rewritten' END), '')
      FROM counted n
      FULL JOIN changed c USING (began_at)
      LEFT JOIN LATERAL (
           -- before PostgreSQL 16: from the next page sample
           SELECT p.superseded_hot AS hot, p.superseded_same_page AS same_page, p.superseded_newpage AS newpage
             FROM ff_internal.page_sample p
            WHERE n.newpage IS NULL AND p.rel_id = id AND p.sampled_at >= began_at
              AND p.superseded_same_page + p.superseded_newpage > 0
            ORDER BY p.sampled_at LIMIT 1) p ON true
      LEFT JOIN LATERAL ff_internal.split_updates(n.u, n.hot, n.newpage, p.same_page, p.newpage, NULL, p.hot) s
             ON n.u > 0
     WHERE n.u > 0 OR n.inserts > 0 OR n.deletes > 0 OR n.rewritten OR c.words IS NOT NULL
     ORDER BY 1
$$;

CREATE FUNCTION @extschema@.ff_history(relation regclass, bucket interval DEFAULT NULL)
RETURNS TABLE (began_at timestamptz, updates bigint, hot_pct numeric, newpage_pct numeric, blocked_pct numeric,
               inserts bigint, deletes bigint, size_bytes bigint, fillfactor integer, bar text, event text)
LANGUAGE plpgsql STABLE ROWS 100
AS $$
BEGIN
    PERFORM ff_internal.check_role('reader');
    PERFORM ff_internal.refuse('22023', 'invalid bucket: ' || $2, NULL,
                               'A bucket is longer than zero and has no months.')
      WHERE $2 <= interval '0' OR date_trunc('month', $2) <> interval '0';
    PERFORM ff_internal.checked_table($1);
    RETURN QUERY
    WITH own AS (
        SELECT r.rel_id FROM ff_internal.followed r WHERE r.relid = $1
    )
    SELECT date_trunc('second', h.began_at), h.updates, round(h.hot_pct::numeric, 1), round(h.newpage_pct::numeric, 1),
           round(h.blocked_pct::numeric, 1), h.inserts, h.deletes, h.size_bytes, h.fillfactor,
           rpad(repeat('#', round(h.hot_pct / 5)::integer), 20, '.'), h.event
      FROM own o
     -- 40 rows fit a screen
     CROSS JOIN LATERAL ff_internal.history(o.rel_id, $2, 40) h
    UNION ALL
    SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, ff_internal.no_history($1)
     WHERE NOT EXISTS (SELECT 1 FROM own) AND $1 IS NOT NULL;
END
$$;
COMMENT ON FUNCTION @extschema@.ff_history(regclass, interval) IS
'The history of a table, oldest first: one row per time bucket in which anything happened. bucket: its length; NULL '
'gives about 40 rows.
updates, inserts, deletes: rows. hot_pct, newpage_pct, blocked_pct: percent of updates that were HOT, that went to '
'another page, that stayed in their page but changed an indexed column; before PostgreSQL 16 the last two come from '
'page samples. size_bytes, fillfactor: main fork and fillfactor at the end of the bucket. bar: HOT share. event: '
'changes of fillfactor, options, indexes; rewrites.
Errors: 42P01 unknown OID, 42809 not a table, 22023 a bucket that is not positive or has months.';
