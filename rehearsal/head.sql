-- What a rehearsal is going to do, in words.
SELECT format('%s: fillfactor %s instead of %s%s', document->>'relation', document->>'to', document->>'from',
              CASE WHEN (document->>'advised')::boolean THEN ', as advised' ELSE ', which is not advised' END)
  FROM ff_rehearsal.setup
 UNION ALL
SELECT format('predicted, once settled: HOT share %s %% at %s, %s %% at %s%s',
              round((p#>>'{hot_a,0}')::numeric, 1), document->>'from', round((p#>>'{hot_b,0}')::numeric, 1),
              document->>'to',
              -- an unlogged table has none
              '; WAL per update ' || round((p#>>'{wal_pct,0}')::numeric, 1) || ' % of that now')
  FROM ff_rehearsal.setup, jsonb_extract_path(document, 'predicted') p
 UNION ALL
SELECT format('rows of %s to %s bytes; indexes: %s; sessions that update: %s. If the application does something else, '
              || 'neither the advice nor this rehearsal is valid:',
              min(l::integer), max(l::integer), min(indexes) + 1, min(sessions))
  FROM ff_rehearsal.setup, jsonb_array_elements_text(document->'workload'->'insert_len') l
 UNION ALL
SELECT '    ' || ff_rehearsal.words(c) FROM ff_rehearsal.setup, jsonb_array_elements(workload->'classes') c
 UNION ALL
SELECT format('%s: %s here, %s on the source', s.name, current_setting(s.name, true), s.there)
  FROM ff_rehearsal.setup, jsonb_each_text(document->'settings') s(name, there)
 WHERE current_setting(s.name, true) IS DISTINCT FROM s.there;
