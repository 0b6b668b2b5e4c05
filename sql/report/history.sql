-- The history of a table as a time line.

-- Begin of a time's bucket. Longer ones than an hour follow the local clock: days begin at midnight in summer, too.
CREATE FUNCTION ff_internal.bucket_of(at timestamptz, bucket interval) RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE
-- 2001-01-01 was a Monday, so weeks begin on Mondays
RETURN CASE WHEN bucket > interval '1 hour' THEN date_bin(bucket, at::timestamp, timestamp '2001-01-01')::timestamptz
            ELSE date_bin(bucket, at, (timestamp '2001-01-01')::timestamptz) END;

-- An interval belongs to the bucket in which it began, a change to that of the last collection before.
CREATE FUNCTION @extschema@.ff_history(relation regclass, bucket interval DEFAULT NULL)
RETURNS TABLE (began_at timestamptz, updates bigint, hot_pct numeric, newpage_pct numeric, blocked_pct numeric,
               inserts bigint, deletes bigint, size_bytes bigint, fillfactor integer, bar text, event text)
LANGUAGE plpgsql STABLE ROWS 100
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    most CONSTANT integer := 40;        -- rows fit a screen
    id   bigint;
    size interval := bucket;
BEGIN
    PERFORM ff_internal.check_role('reader');
    IF bucket <= interval '0' OR date_trunc('month', bucket) <> interval '0' THEN
        PERFORM ff_internal.refuse('22023', 'invalid bucket: ' || bucket, NULL,
                                   'A bucket is longer than zero and has no months.');
    END IF;
    PERFORM ff_internal.checked_table(relation);
    SELECT r.rel_id INTO id FROM ff_internal.followed r WHERE r.relid = relation;
    IF id IS NULL AND relation IS NOT NULL THEN
        event := ff_internal.no_history(relation);
        RETURN NEXT;
    END IF;
    size := coalesce(bucket, (
        SELECT b FROM unnest('{1 s,5 s,15 s,1 min,5 min,15 min,1 h,3 h,6 h,12 h,1 d,7 d}'::interval[]) b
         WHERE b * most >= (SELECT max(i.ended_at) - min(i.began_at)
                              FROM ff_internal.counter_interval i WHERE i.rel_id = id)
         ORDER BY b LIMIT 1), interval '28 d');
    RETURN QUERY
    WITH counted AS (
        SELECT ff_internal.bucket_of(i.began_at, size) AS began_at, (ff_internal.total(i)).*,
               (array_agg(i.heap_bytes ORDER BY i.heap_bytes IS NULL, i.ended_at DESC))[1] AS size_bytes,
               (array_agg(i.fillfactor ORDER BY i.ended_at DESC))[1] AS fillfactor, bool_or(i.rewritten) AS rewritten
          FROM ff_internal.counter_interval i WHERE i.rel_id = id GROUP BY 1
    ), changed AS (
        SELECT ff_internal.bucket_of(c.before_at, size) AS began_at,
               string_agg(c.change, ', ' ORDER BY c.seen_at, c.change) AS words
          FROM ff_internal.changes c WHERE c.rel_id = id AND c.kind <> 'rewrite' GROUP BY 1
    )
    SELECT date_trunc('second', began_at), coalesce(n.updated, 0), round(h.hot_pct, 1),
           round(100 * s.newpage_share::numeric, 1), round(100 - h.hot_pct - 100 * s.newpage_share::numeric, 1),
           coalesce(n.inserted, 0), coalesce(n.deleted, 0), n.size_bytes, n.fillfactor::integer,
           rpad(repeat('#', round(h.hot_pct / 5)::integer), 20, '.'),
           nullif(concat_ws(', ', c.words, CASE WHEN n.rewritten THEN 'rewritten' END), '')
      FROM counted n
      FULL JOIN changed c USING (began_at)
     CROSS JOIN LATERAL (SELECT 100.0 * n.hot_updated / nullif(n.updated, 0)) h(hot_pct)
      LEFT JOIN LATERAL (
           -- before PostgreSQL 16: from the next page sample
           SELECT p.* FROM ff_internal.page_sample p
            WHERE n.newpage_updated IS NULL AND p.rel_id = id AND p.sampled_at >= began_at
              AND p.superseded_same_page + p.superseded_newpage > 0
            ORDER BY p.sampled_at LIMIT 1) p ON true
      LEFT JOIN LATERAL ff_internal.split_updates(n.updated, n.hot_updated, n.newpage_updated, p.superseded_same_page,
                p.superseded_newpage, NULL, p.superseded_hot) s ON n.updated > 0
     WHERE n.updated > 0 OR n.inserted > 0 OR n.deleted > 0 OR n.rewritten OR c.words <> ''
     ORDER BY 1;
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
