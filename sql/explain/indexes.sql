-- Whether another fillfactor of a B-tree would last. It applies when the tree is built, and when
-- ascending keys split its rightmost page; any other split leaves two halves, whatever the setting.

-- The result of ff_sample_index(), without index and relation; in a mirror, what is known without pages, and why.
CREATE FUNCTION ff_internal.index_pages(index regclass) RETURNS jsonb
LANGUAGE sql VOLATILE
RETURN coalesce((SELECT o.said->'pages' FROM ff_internal.observed o WHERE o.kind = 'index' AND o.id = index),
                (SELECT to_jsonb(s) - '{index,relation}'::text[] FROM @extschema@.ff_sample_index(index) s));

-- The verdict on an index from the facts of index_facts(): the first rule that holds.
CREATE FUNCTION ff_internal.index_judged(
    facts jsonb, OUT action text, OUT cause text, OUT recommended_fillfactor integer, OUT size_bytes bigint,
    OUT predicted_size_bytes bigint, OUT reason text)
LANGUAGE sql STABLE
AS $$
    WITH f AS (
        SELECT f.*, f.inserted + f.non_hot AS written,
               f.non_hot > ff_internal.threshold('FEW') * f.inserted AS revisited,
               f.non_hot > 0.05 * f.row_pointers AS churned, ff_internal.setting('min_updates') AS enough,
               -- pages as full as the fillfactor, in order, hardly any half full
               f.at_fillfactor_pct >= 70 AND f.half_full_pct <= 10 AND f.fragmentation <= 10 AS orderly,
               -- keys are known to ascend, or the index grew without splits in the middle
               f.ascends AND f.inserted > 0 OR f.inserted >= 0.2 * f.row_pointers AS grows,
               'nothing was written to its table for %8$s' AS still, ff_internal.threshold('FULL_DAY') AS full_day,
               'keys come in ascending: %2$s %% of its leaf pages are as full as fillfactor left them. ' AS ascending,
               '%5$s non-HOT updates, against %6$s inserts, each added an entry beside the old one of their row. That '
               'splits full leaf pages, in whatever order keys come in; see ff_advise() and ff_blockers()' AS churn
          FROM jsonb_to_record(facts) f(
               hindrance text, unread text, problem text, fillfactor integer, collected boolean, inserted bigint,
               non_hot bigint, window_s float8, quiet_s float8, ascends boolean, keyed boolean, blocks bigint,
               leaf_pages float8, internal_pages float8, leaf_density float8, at_fillfactor_pct float8,
               half_full_pct float8, fragmentation float8, deduplicated_pct float8, row_pointers float8,
               live_rows float8)
    ), verdict AS (
        SELECT f.*, r.cause, r.action, r.says, CASE r.action WHEN 'raise' THEN 100 ELSE f.fillfactor END AS advised
          FROM f CROSS JOIN LATERAL (VALUES
               (1, f.hindrance IS NOT NULL, 'not_examined', 'keep', '%10$s'),
               (2, f.problem IS NOT NULL, 'no_data', 'wait', '%10$s'),
               (3, f.blocks < ff_internal.threshold('SMALL_INDEX'), 'small', 'keep',
                f.blocks || ' pages: too few to matter'),
               (4, f.leaf_density IS NULL, 'no_data', 'wait',
                coalesce(f.unread || ', and the length of its keys is not known', 'no leaf page could be read')),
               (5, NOT f.collected, 'no_data', 'wait',
                'its table was not collected yet: run CALL ff_collect() or ff_schedule()'),
               (6, f.written = 0 AND (f.quiet_s >= ff_internal.setting('lookback')) IS NOT TRUE, 'no_data', 'wait',
                f.still || ': it can be packed once that has lasted %9$s'),
               (7, f.written = 0 AND f.leaf_density >= 85, 'never_written', 'keep',
                f.still || ', and its leaf pages are %1$s %% full: a rebuild would save almost nothing'),
               (8, f.written = 0, 'never_written', CASE f.fillfactor WHEN 100 THEN 'rebuild' ELSE 'raise' END,
                f.still || ', and its leaf pages are %1$s %% full: rebuilt at 100 it shrinks by %7$s'),
               (9, f.non_hot > 5 * f.inserted AND f.churned, 'version_churn', 'keep', f.churn),
               -- unless rows share keys, posting lists hold versions of one row
               (10, f.deduplicated_pct >= 50 AND NOT f.keyed, 'deduplicated', 'keep', '%4$s %% of its row pointers '
                'are in lists, as rows share keys: these split by a rule of their own, not by fillfactor'),
               (11, f.orderly AND f.grows AND f.revisited, 'ascending', 'keep',
                f.ascending || '%5$s non-HOT updates used that room'),
               (12, f.orderly AND f.grows AND f.fillfactor = 100, 'ascending', 'keep', f.ascending || 'It is at 100'),
               (13, f.orderly AND f.grows AND (f.window_s < f.full_day OR f.written < f.enough), 'ascending', 'wait',
                format('%sA day in which %s rows are written is needed first; so far %s in %s', f.ascending, f.enough,
                       f.written, ff_internal.span(f.window_s))),
               (14, f.orderly AND f.grows, 'ascending', 'raise', f.ascending
                || 'That room is not used later: 100 saves it in new pages, a rebuild frees %7$s in the old ones'),
               (15, f.orderly AND f.half_full_pct <= 2, 'as_built', 'keep',
                'its pages are as they were built: too few rows came in since'),
               (16, f.ascends AND f.revisited AND f.leaf_density >= 25, 'ascending_churn', 'keep',
                'keys come in ascending, but %3$s %% of its pages are half full from splits. ' || f.churn),
               -- splits and vacuum can leave leaves a quarter full without a row deleted
               (17, f.non_hot > 0.5 * f.inserted AND f.churned AND f.leaf_density >= 25, 'version_churn', 'keep',
                f.churn),
               (18, f.leaf_density < 45, 'sparse', 'rebuild',
                'its leaf pages are only %1$s %% full: rows were deleted. A rebuild frees %7$s'),
               (19, f.unread IS NOT NULL, 'no_data', 'keep',
                f.unread || ': by size and number of entries, the leaf pages are at most %1$s %% full'),
               (20, f.inserted = 0, 'no_data', 'wait', '%3$s %% of its leaf pages are half full from splits, but no '
                'row came in while it was watched: in which order keys come is not known'),
               (21, true, 'random', 'keep', 'keys come in at random: %3$s %% of its leaf pages are half full, from '
                'splits. Another fillfactor does not last: random inserts settle near 70 %% whatever is set'))
               r(place, holds, cause, action, says)
         WHERE r.holds ORDER BY r.place LIMIT 1
    )
    SELECT v.action, v.cause, v.advised, 8192 * v.blocks, p.bytes,
           format(v.says || '.', round(v.leaf_density::numeric, 1), round(v.at_fillfactor_pct::numeric, 1),
                  round(v.half_full_pct::numeric, 1), round(v.deduplicated_pct::numeric, 1), v.non_hot, v.inserted,
                  pg_size_pretty(8192 * v.blocks - p.bytes), ff_internal.span(v.quiet_s),
                  ff_internal.span(ff_internal.setting('lookback')), coalesce(v.hindrance, v.problem))
      FROM verdict v CROSS JOIN LATERAL (
           -- only entries of live rows are built again; how many of them a partial index has is unknown
           SELECT 8192 * CASE WHEN v.live_rows IS NOT NULL OR NOT v.churned
                       THEN least(v.blocks, (v.leaf_pages + v.internal_pages) * v.leaf_density / v.advised
                                            * least(1, coalesce(v.live_rows / nullif(v.row_pointers, 0), 1)) + 1)
                       END::bigint) p(bytes)
$$;

-- Returns what is known of indexes, largest first, for index_judged(); samples pages within the budget of a collection.
-- hindrance: why one is not judged. non_hot: updates. quiet_s: seconds without writes. ascends: a sequence or the
-- insert time. keyed: no two rows share a key. live_rows: of its table; NULL: unknown, or it has only some of them.
-- seconds: how long to go on. small: also those that are too small to matter.
CREATE FUNCTION ff_internal.index_facts(
    target regclass, seconds float8 DEFAULT ff_internal.setting('collect_time'), small boolean DEFAULT true)
RETURNS TABLE (index regclass, relation regclass, fillfactor integer, facts jsonb)
LANGUAGE plpgsql VOLATILE ROWS 1000
AS $$
#variable_conflict use_column
DECLARE
    deadline CONSTANT timestamptz := clock_timestamp() + make_interval(secs => seconds);
    kind     CONSTANT "char" := (SELECT c.relkind FROM pg_class c WHERE c.oid = target);
    budget   bigint := ff_internal.setting('collect_pages');
    i        record;
    pages    jsonb;
BEGIN
    IF kind IS DISTINCT FROM 'i' THEN
        PERFORM ff_internal.checked_table(target);
    ELSIF NOT EXISTS (SELECT FROM pg_index x JOIN ff_internal.user_table c ON c.relid = x.indrelid
                       WHERE x.indexrelid = target) THEN
        PERFORM ff_internal.refuse('42809', format('index "%s" is not on a table that can be advised', c.relname))
           FROM pg_class c WHERE c.oid = target;
    END IF;
    FOR i IN
        WITH wanted AS MATERIALIZED (
            SELECT x.*, t.nspname, t.not_examined
              FROM pg_index x
              JOIN ff_internal.user_table t ON t.relid = x.indrelid
             WHERE (target IS NULL OR target IN (x.indexrelid, x.indrelid)
                    OR kind = 'p' AND x.indrelid IN (SELECT q.relid FROM pg_partition_tree(target) q))
               AND (small OR (SELECT z.heap_bytes >= 8192 * ff_internal.threshold('SMALL_INDEX')
                                FROM ff_internal.sizes(x.indexrelid) z))
        )
        SELECT x.indexrelid::regclass AS index, x.indrelid::regclass AS relation,
               -- a B-tree's default is 90, a table's 100
               CASE WHEN m.amname = 'btree'
                    THEN CASE WHEN EXISTS (SELECT FROM unnest(c.reloptions) o WHERE o ^@ 'fillfactor=')
                              THEN ff_internal.effective_fillfactor(c.reloptions) ELSE 90 END END AS fillfactor,
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
               x.indisunique AND x.indexprs IS NULL AND NOT EXISTS (
                   SELECT FROM pg_attribute k
                    WHERE k.attrelid = x.indrelid AND k.attnum = ANY (x.indkey) AND NOT k.attnotnull) AS keyed
          FROM wanted x
          JOIN pg_class c ON c.oid = x.indexrelid AND c.relkind = 'i'
          JOIN pg_am m ON m.oid = c.relam
          LEFT JOIN ff_internal.evidence(VARIADIC 0::regclass || ARRAY(SELECT w.indrelid::regclass FROM wanted w)) e
                 ON e.relation = x.indrelid
          LEFT JOIN ff_internal.relation r ON r.rel_id = e.rel_id
          LEFT JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = x.indkey[0]
          LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
         ORDER BY c.relpages DESC, x.nspname, c.relname
    LOOP
        pages := '{}';
        IF budget <= 0 OR clock_timestamp() > deadline THEN
            pages := '{"problem": "not read: larger indexes used up fillfactor_advisor.collect_pages or '
                     'collect_time. Ask for this one by name"}';
        ELSIF i.hindrance IS NULL THEN
            BEGIN
                pages := ff_internal.index_pages(i.index);
                budget := budget - (pages->>'blocks_read')::bigint;
            EXCEPTION
                -- the failure of one index becomes its row
                WHEN insufficient_privilege THEN
                    pages := '{"problem": "its pages may not be read by this role: it needs pg_stat_scan_tables"}';
                WHEN OTHERS THEN
                    pages := jsonb_build_object('problem',
                                                format('its pages could not be read: %s %s', SQLSTATE, SQLERRM));
            END;
        END IF;
        RETURN QUERY SELECT i.index, i.relation, i.fillfactor, to_jsonb(i) || pages;
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
    WITH judged AS MATERIALIZED (
        SELECT l.index, l.relation, l.fillfactor, l.facts, j.*,
               -- in the list of all tables, those of which the same is said share a row
               $1 IS NULL AND count(*) OVER same > 1 AND j.cause IN ('small', 'not_examined')
                   AND j.reason !~ '^the index is not valid' AS folded,
               count(*) OVER same AS n, sum(j.size_bytes) OVER same AS size, row_number() OVER same AS place
          FROM ff_internal.index_facts($1) l
         CROSS JOIN LATERAL ff_internal.index_judged(l.facts) j
        WINDOW same AS (PARTITION BY j.cause, CASE j.cause WHEN 'not_examined' THEN j.reason END)
    )
    (SELECT j.index, j.relation, j.fillfactor, j.recommended_fillfactor, j.action, j.cause, j.size_bytes,
            j.predicted_size_bytes, round(p.leaf_density, 1)::real, round(p.leaf_density_err, 1)::real,
            round(p.at_fillfactor_pct, 1)::real, round(p.half_full_pct, 1)::real, round(p.deduplicated_pct, 1)::real,
            j.reason, nullif(concat_ws(' ',
                CASE WHEN j.action = 'raise' THEN ff_internal.alter_options(j.index, '{fillfactor=100}') END,
                CASE WHEN j.action IN ('raise', 'rebuild')
                     THEN concat('REINDEX INDEX', CASE WHEN (ff_internal.index_needed(j.index) ~ '^exclusion')
                                     IS NOT TRUE THEN ' CONCURRENTLY' END,
                                 ' ' || ff_internal.qualified_name(j.index) || ';') END), '')
       FROM judged j
      CROSS JOIN LATERAL jsonb_to_record(j.facts) p(
            leaf_density numeric, leaf_density_err numeric, at_fillfactor_pct numeric, half_full_pct numeric,
            deduplicated_pct numeric)
      WHERE NOT j.folded ORDER BY j.size_bytes DESC NULLS LAST, j.index::text)
    UNION ALL
    SELECT NULL, NULL, NULL, NULL, j.action, j.cause, j.size::bigint, NULL, NULL, NULL, NULL, NULL, NULL,
           j.n || CASE j.cause WHEN 'small' THEN ' indexes have fewer than 100 pages each: too few to matter.'
                               ELSE ' indexes: ' || j.reason END, NULL
      FROM judged j WHERE j.folded AND j.place = 1
$$;
COMMENT ON FUNCTION @extschema@.ff_advise_indexes(regclass) IS
'Advice on the leaf fillfactor of B-tree indexes: of one index, of one table''s, or of all, largest first; then those '
'that are too small or no B-trees share a row without a name. Reads '
'pages of each now (see ff_sample_index()), together at most fillfactor_advisor.collect_pages within collect_time; '
'this needs pg_stat_scan_tables besides pg_read_all_stats.
fillfactor, recommended_fillfactor: percent, now and advised. action: raise (after a day and '
'fillfactor_advisor.min_updates rows), rebuild (at the same fillfactor), keep, wait. cause: ascending, never_written '
'(a higher one pays); random, as_built, version_churn, ascending_churn, deduplicated (another one would not last or '
'not matter); sparse (rows were deleted); small, no_data, not_examined.
size_bytes, predicted_size_bytes: main fork, now and after a rebuild. leaf_density: used share of leaf pages, '
'percent; leaf_density_err: half width of its 95 % interval. at_fillfactor_pct, half_full_pct: leaf pages as full as '
'the fillfactor, and as a split in the middle leaves them, percent. deduplicated_pct: row pointers in posting lists, '
'percent. reason: why. ddl: the statements; ff_script() adds guard and undo.
Errors: 42P01 unknown OID, 42809 neither a table nor an index of one that can be advised.';
