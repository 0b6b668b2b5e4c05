-- Whether another fillfactor of a B-tree would last. It applies when the tree is built, and when
-- ascending keys split its rightmost page; any other split leaves two halves, whatever the setting.

-- The result of ff_sample_index(); in a mirror, what is known without pages, and why.
CREATE FUNCTION ff_internal.index_pages(index regclass) RETURNS jsonb
LANGUAGE sql VOLATILE
RETURN coalesce((SELECT o.said->'pages' FROM ff_internal.observed o WHERE o.kind = 'index' AND o.id = index),
                (SELECT to_jsonb(s) FROM @extschema@.ff_sample_index(index) s));

-- The verdict on an index: the first rule that holds.
CREATE FUNCTION ff_internal.index_judged(
    facts ff_internal.index_evidence, OUT action text, OUT cause text, OUT recommended_fillfactor integer,
    OUT size_bytes bigint, OUT predicted_size_bytes bigint, OUT reason text)
LANGUAGE sql STABLE
AS $$
    WITH f AS (
        SELECT f.*, f.non_hot > ff_internal.threshold('FEW') * f.inserted AS revisited,
               f.non_hot > 0.05 * f.row_pointers AS churned,
               f.window_s < ff_internal.threshold('FULL_DAY') OR f.written < f.enough AS early,
               -- pages as full as the fillfactor, in order, hardly any half full
               f.at_fillfactor_pct >= 70 AND f.half_full_pct <= 10 AND f.fragmentation <= 10 AS orderly,
               -- keys are known to ascend, or the index grew without splits in the middle
               f.ascends AND f.inserted > 0 OR f.inserted >= 0.2 * f.row_pointers AS grows,
               'nothing was written to its table for ' || ff_internal.span(f.quiet_s) AS still,
               ff_internal.percent(f.leaf_density) || ' full' AS filled,
               ff_internal.percent(f.half_full_pct) || ' of its leaf pages are half full from splits' AS halves,
               format('keys come in ascending: %s of its leaf pages are as full as fillfactor left them. ',
                      ff_internal.percent(f.at_fillfactor_pct)) AS ascending,
               format('%s non-HOT updates, against %s inserts, each added an entry, which splits full leaf pages in '
                      'whatever order keys come in; see ff_advise() and ff_blockers()', f.non_hot, f.inserted) AS churn
          FROM (SELECT facts.*, facts.inserted + facts.non_hot AS written,
                       ff_internal.setting('min_updates') AS enough) f
    ), verdict AS (
        SELECT f.*, r.cause, r.action, r.says, CASE r.action WHEN 'raise' THEN 100 ELSE f.fillfactor END AS advised
          FROM f
         CROSS JOIN LATERAL (VALUES
           (1, f.hindrance <> '', 'not_examined', 'keep', f.hindrance),
           (2, f.problem <> '', 'no_data', 'wait', f.problem),
           (3, f.blocks < ff_internal.threshold('SMALL_INDEX'), 'small', 'keep',
            f.blocks || ' pages: too few to matter'),
           (4, f.leaf_density IS NULL, 'no_data', 'wait',
            coalesce(f.unread || ', and the length of its keys is not known', 'no leaf page could be read')),
           (5, NOT f.collected, 'no_data', 'wait',
            'its table was not collected yet: run CALL ff_collect() or ff_schedule()'),
           (6, f.written = 0 AND (f.quiet_s >= ff_internal.setting('lookback')) IS NOT TRUE, 'no_data', 'wait',
            f.still || ': it can be packed once that has lasted for fillfactor_advisor.lookback'),
           (7, f.written = 0, 'never_written',
            CASE WHEN f.leaf_density >= 85 THEN 'keep' WHEN f.fillfactor = 100 THEN 'rebuild' ELSE 'raise' END,
            f.still || ', and its leaf pages are ' || f.filled),
           (8, f.non_hot > 5 * f.inserted AND f.churned, 'version_churn', 'keep', f.churn),
           -- unless rows share keys, posting lists hold versions of one row
           (9, f.deduplicated_pct >= 50 AND NOT f.keyed, 'deduplicated', 'keep',
            'rows share keys, and lists of row pointers split by a rule of their own, not by fillfactor'),
           (10, f.orderly AND f.grows, 'ascending',
            CASE WHEN f.revisited OR f.fillfactor = 100 THEN 'keep' WHEN f.early THEN 'wait' ELSE 'raise' END,
            f.ascending || CASE
                WHEN f.revisited THEN f.non_hot || ' non-HOT updates used that room'
                WHEN f.fillfactor = 100 THEN 'It is at 100'
                WHEN f.early THEN format('A day in which %s rows are written is needed first; so far %s in %s',
                                         f.enough, f.written, ff_internal.span(f.window_s))
                ELSE 'That room is not used later: 100 saves it in new pages, a rebuild in the old ones' END),
           (11, f.orderly AND f.half_full_pct <= 2, 'as_built', 'keep',
            'its pages are as they were built: too few rows came in since'),
           (12, f.ascends AND f.revisited AND f.leaf_density >= 25, 'ascending_churn', 'keep',
            'keys come in ascending, but ' || f.halves || '. ' || f.churn),
           -- splits and vacuum can leave leaves a quarter full without a row deleted
           (13, f.non_hot > 0.5 * f.inserted AND f.churned AND f.leaf_density >= 25, 'version_churn', 'keep',
            f.churn),
           (14, f.leaf_density < 45, 'sparse', 'rebuild',
            'its leaf pages are only ' || f.filled || ': rows were deleted'),
           (15, f.unread <> '', 'no_data', 'keep',
            f.unread || ': by size and number of entries, the leaf pages are at most ' || f.filled),
           (16, f.inserted = 0, 'no_data', 'wait',
            f.halves || ', but no row came in while it was watched: the order of keys is not known'),
           (17, true, 'random', 'keep', 'keys come in at random: ' || f.halves
            || '. Another fillfactor does not last: random inserts settle near 70 % whatever is set'))
           r(place, holds, cause, action, says)
         WHERE r.holds ORDER BY r.place LIMIT 1
    )
    SELECT v.action, v.cause, v.advised, 8192 * v.blocks,
           -- only entries of live rows are built again; how many of them a partial index has is unknown
           CASE WHEN v.live_rows IS NOT NULL OR NOT v.churned
                THEN 8192 * least(v.blocks, (v.leaf_pages + v.internal_pages) * v.leaf_density / v.advised
                                  * least(1, coalesce(v.live_rows / nullif(v.row_pointers, 0), 1)) + 1)::bigint END,
           v.says || '.'
      FROM verdict v
$$;

-- What is known of indexes, largest first; samples pages within the budget of a collection, and for so many seconds.
-- small: also those that are too small to matter.
CREATE FUNCTION ff_internal.index_facts(
    target regclass, seconds float8 DEFAULT ff_internal.setting('collect_time'), small boolean DEFAULT true)
RETURNS TABLE (index regclass, relation regclass, fillfactor integer, facts ff_internal.index_evidence)
LANGUAGE plpgsql VOLATILE ROWS 1000
AS $$
#variable_conflict use_column
DECLARE
    deadline CONSTANT timestamptz := clock_timestamp() + make_interval(secs => seconds);
    wanted   CONSTANT oid[] := ARRAY(SELECT t FROM ff_internal.with_children(target) t);
    budget   bigint := ff_internal.setting('collect_pages');
    i        record;
    pages    jsonb;
BEGIN
    PERFORM ff_internal.checked_table(coalesce((SELECT x.indrelid FROM pg_index x WHERE x.indexrelid = target),
                                               target));
    FOR i IN
        WITH listed AS MATERIALIZED (
            SELECT x.*, t.nspname, t.not_examined
              FROM pg_index x
              JOIN ff_internal.user_table t ON t.relid = x.indrelid
             WHERE (target IS NULL OR x.indexrelid = ANY (wanted) OR x.indrelid = ANY (wanted))
               AND (small OR NOT x.indisvalid
                    OR (SELECT z.heap_bytes >= 8192 * ff_internal.threshold('SMALL_INDEX')
                          FROM ff_internal.sizes(x.indexrelid) z))
        )
        SELECT x.indexrelid::regclass AS index, x.indrelid::regclass AS relation,
               -- a B-tree's default is 90, a table's 100
               CASE WHEN m.amname = 'btree'
                    THEN ff_internal.effective_fillfactor(ff_internal.options_after('{fillfactor=90}', c.reloptions))
                    END AS fillfactor,
               CASE WHEN m.amname <> 'btree' THEN format('access method %I: only B-trees are judged', m.amname)
                    WHEN NOT x.indisvalid OR NOT x.indisready
                    THEN 'the index is not valid: a CREATE INDEX or REINDEX CONCURRENTLY failed or is still running'
                    ELSE x.not_examined END AS hindrance,
               e.snapshot_at IS NOT NULL AND r.rel_id IS NOT NULL AS collected,
               coalesce((e.counted).inserted, 0) AS inserted,
               coalesce((e.counted).updated - (e.counted).hot_updated, 0) AS non_hot,
               CASE WHEN x.indpred IS NULL THEN e.live_rows END AS live_rows,
               coalesce(e.window_s, 0) AS window_s, extract(epoch FROM e.snapshot_at - r.seen_at) AS quiet_s,
               x.indoption[0] & 1 = 0 AND coalesce(a.attidentity <> '' OR pg_get_expr(d.adbin, d.adrelid)
                   ~ '^(nextval[(]|now[(]|CURRENT_TIMESTAMP|clock_timestamp[(])', false) AS ascends,
               x.indisunique AND x.indexprs IS NULL
               AND NOT EXISTS (SELECT FROM pg_attribute k WHERE k.attrelid = x.indrelid AND k.attnum = ANY (x.indkey)
                                                            AND NOT k.attnotnull) AS keyed
          FROM listed x
          JOIN pg_class c ON c.oid = x.indexrelid AND c.relkind = 'i'
          JOIN pg_am m ON m.oid = c.relam
          LEFT JOIN ff_internal.evidence(VARIADIC 0::regclass || ARRAY(SELECT w.indrelid::regclass FROM listed w)) e
                 ON e.relation = x.indrelid
          LEFT JOIN ff_internal.relation r ON r.rel_id = e.rel_id
          LEFT JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = x.indkey[0]
          LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
         ORDER BY c.relpages DESC, x.nspname, c.relname
    LOOP
        pages := '{}';
        IF budget <= 0 OR clock_timestamp() > deadline THEN
            pages := '{"problem": "not read: larger indexes used up collect_pages or collect_time; ask for this one"}';
        ELSIF i.hindrance IS NULL THEN
            BEGIN
                pages := ff_internal.index_pages(i.index);
                budget := budget - (pages->>'blocks_read')::bigint;
            EXCEPTION
                -- the failure of one index becomes its row
                WHEN OTHERS THEN
                    pages := jsonb_build_object('problem', concat('its pages could not be read: ', SQLSTATE, ' ',
                        SQLERRM, CASE SQLSTATE WHEN '42501' THEN ': this role needs pg_stat_scan_tables' END));
            END;
        END IF;
        RETURN QUERY SELECT i.index, i.relation, i.fillfactor,
                            jsonb_populate_record(NULL::ff_internal.index_evidence, to_jsonb(i) || pages);
    END LOOP;
END
$$;

CREATE FUNCTION @extschema@.ff_advise_indexes(relation regclass DEFAULT NULL)
RETURNS TABLE (
    index regclass, relation regclass, fillfactor integer, recommended_fillfactor integer, action text, cause text,
    size_bytes bigint, predicted_size_bytes bigint, leaf_density real, leaf_density_err real, at_fillfactor_pct real,
    half_full_pct real, deduplicated_pct real, reason text, ddl text
)
LANGUAGE sql VOLATILE ROWS 1000
AS $$
    SELECT ff_internal.check_role('reader');
    SELECT l.index, l.relation, l.fillfactor, j.recommended_fillfactor, j.action, j.cause, j.size_bytes,
           j.predicted_size_bytes, f.leaf_density, f.leaf_density_err, f.at_fillfactor_pct, f.half_full_pct,
           f.deduplicated_pct, j.reason, nullif(concat_ws(' ',
               CASE WHEN j.action = 'raise' THEN ff_internal.alter_options(l.index, '{fillfactor=100}') END,
               CASE WHEN j.action IN ('raise', 'rebuild')
                    THEN concat('REINDEX INDEX', CASE WHEN (ff_internal.index_needed(l.index) ~ '^exclusion')
                                    IS NOT TRUE THEN ' CONCURRENTLY' END,
                                ' ' || ff_internal.qualified_name(l.index) || ';') END), '')
      FROM ff_internal.index_facts($1, small => $1 IS NOT NULL) l
     CROSS JOIN LATERAL (SELECT (l.facts).*) f
     CROSS JOIN LATERAL ff_internal.index_judged(l.facts) j
     ORDER BY j.size_bytes DESC NULLS LAST, l.index::text
$$;
COMMENT ON FUNCTION @extschema@.ff_advise_indexes(regclass) IS
'Advice on the leaf fillfactor of B-tree indexes: of one index, of one table''s, or of all of 100 pages or more, '
'largest first. Reads pages of each now (see ff_sample_index()), together at most fillfactor_advisor.collect_pages '
'within collect_time, which needs pg_stat_scan_tables.
fillfactor, recommended_fillfactor: percent, now and advised. action: raise (after a day and '
'fillfactor_advisor.min_updates rows), rebuild (at the same fillfactor), keep, wait. cause: ascending, never_written '
'(a higher one pays); random, as_built, version_churn, ascending_churn, deduplicated (another one would not last or '
'not matter); sparse (rows were deleted); small, no_data, not_examined.
size_bytes, predicted_size_bytes: main fork, now and after a rebuild. In percent: leaf_density: used share of leaf '
'pages; leaf_density_err: half width of its 95 % interval; at_fillfactor_pct, half_full_pct: leaf pages as full as the '
'fillfactor, and as a split in the middle leaves them; deduplicated_pct: row pointers in posting lists. reason: why. '
'ddl: the statements; ff_script() adds guard and undo.
Errors: 42P01 unknown OID, 42809 neither a table nor an index of one that can be advised.';
