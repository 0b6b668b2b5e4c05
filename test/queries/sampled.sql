-- sampled(FACTS): a page sample written by hand: that of a table of 60,000 rows, for what is not said otherwise. Widths
-- and rows of a group are said once: what the sampler would have counted by them follows.
CREATE FUNCTION sampled(facts jsonb) RETURNS ff_internal.page_sample LANGUAGE sql AS $$
    SELECT jsonb_populate_record(NULL::ff_internal.page_sample, jsonb_build_object(
               'inserted_length',
               CASE
                   WHEN s ->> 'inserted_width' > '' THEN ARRAY[ceil((s ->> 'inserted_width')::float / 8) * 8, 1000] END,
               'updated_length',
               CASE WHEN s ->> 'updated_width' > '' THEN ARRAY[ceil((s ->> 'updated_width')::float / 8) * 8, 1000] END,
               'group_old_page', g.bins,
               'group_new_page',
               CASE WHEN (s -> 'update_group_rows')::float >= (s -> 'rows_per_page')::float / 2 THEN g.bins END) || s)
      FROM (SELECT jsonb_build_object(
                       'rollup', 0, 'blocks', 1000, 'blocks_read', 300, 'blocks_new', 0, 'blocks_bad', 0,
                       'live_pct', 90, 'dead_pct', 1, 'free_pct', 5,
                       'live_rows', 60000, 'dead_rows', 500, 'recently_dead_rows', 0,
                       'updated_hot_rows', 10000, 'updated_nonhot_rows', 1000,
                       'superseded_hot', 0, 'superseded_same_page', 0, 'superseded_newpage', 0,
                       'rows_per_page', 60, 'rows_per_page_max', 61, 'inserted_width', 121, 'updated_width', 121,
                       'updated_pct', 20, 'update_group_rows', 1) || facts) f(s)
     CROSS JOIN LATERAL (SELECT CASE WHEN (s ->> 'update_group_rows')::float > 1 THEN
                                array_fill(0, ARRAY[ceil(log(2, (s ->> 'update_group_rows')::numeric))::int])
                                    || 1000 END) g(bins)
$$;
