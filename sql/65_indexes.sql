-- Stage indexes: what the fill of B-tree leaf pages says of the way they are
-- written, and whether another fillfactor would last.
--
-- A B-tree honours its fillfactor in two places only: when it is built, and when
-- its rightmost page splits because ascending keys came in.  Any other split
-- leaves two halves, so a tree that is written at random is about 70 % full
-- some time after, whatever was set.  Advice to change one is therefore rare.
-- Nothing here reads statistics that are hidden from some roles.

-- Leaf fillfactor, percent, that the server reads from a B-tree index's stored options; 90 where they name none.
CREATE FUNCTION ff_internal.effective_index_fillfactor(reloptions text[]) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    -- a B-tree's default is 90, a table's 100; both are read alike
    SELECT CASE WHEN EXISTS (SELECT FROM unnest(reloptions) o WHERE o LIKE 'fillfactor=%')
                THEN ff_internal.effective_fillfactor(reloptions) ELSE 90 END
$$;

-- How a B-tree is written, from the fill of its leaf pages (see ff_sample_index()), the rows inserted and updated without
-- HOT in the window, whether its table was left alone for the whole window, and whether its first column is made to
-- ascend (a sequence, or the time of the insert); and the fillfactor that follows.
CREATE FUNCTION ff_internal.index_judged(
    fillfactor integer, leaf_density double precision, at_fillfactor_pct double precision, half_full_pct double precision,
    fragmentation double precision, deduplicated_pct double precision, row_pointers double precision,
    inserted bigint, nonhot_updated bigint, quiet boolean, ascends boolean,
    OUT cause text, OUT recommended_fillfactor integer)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH seen AS (
        SELECT s.inserted + s.cold AS written, s.*,
               -- pages as full as the fillfactor, one after the other, hardly any half
               at_fillfactor_pct >= 70 AND half_full_pct <= 10 AND fragmentation <= 10 AS orderly,
               -- ascending keys are known, or shown by growth that split no page in two
               ascends AND s.inserted > 0 OR s.inserted >= 0.2 * row_pointers AS grows,
               s.cold > 0.05 * row_pointers AS churned
          FROM (SELECT coalesce(inserted, 0) AS inserted, coalesce(nonhot_updated, 0) AS cold) s
    ), c AS (
        SELECT s.*, CASE
                 WHEN leaf_density IS NULL OR (written = 0 AND NOT quiet) THEN 'no_data'
                 WHEN written = 0 THEN 'never_written'
                 WHEN cold > 5 * s.inserted AND churned THEN 'version_churn'
                 WHEN deduplicated_pct >= 50 THEN 'deduplicated'
                 WHEN orderly AND grows THEN 'ascending'
                 WHEN orderly AND half_full_pct <= 2 THEN 'as_built'
                 WHEN ascends AND cold > 0.01 * s.inserted AND leaf_density >= 25 THEN 'ascending_churn'
                 -- a second entry for each row splits full leaves in whatever order keys come in; vacuum then takes
                 -- the first one, so that half of a half is left without a row deleted
                 WHEN cold > 0.5 * s.inserted AND churned AND leaf_density >= 25 THEN 'version_churn'
                 WHEN leaf_density < 45 THEN 'sparse'
                 ELSE 'random' END AS cause
          FROM seen s
    )
    SELECT c.cause,
           CASE -- what stays as it is needs no room; what a build at the default leaves is not worth another one
                WHEN c.cause = 'never_written' AND leaf_density < 85 THEN 100
                -- room in pages that nobody comes back to is wasted, unless old rows are updated and put new entries there
                WHEN c.cause = 'ascending' AND c.cold <= 0.01 * c.inserted THEN greatest(fillfactor, 100)
                ELSE fillfactor END
      FROM c
$$;

-- What is known of each index without reading its pages: of one, of a table's or a partitioned table's, or of all,
-- largest first. hindrance: why it is not judged. cold: rows updated without HOT. quiet_s: seconds for which nothing
-- was written to the table. keyed: no two rows share a key.
CREATE FUNCTION ff_internal.index_facts(target regclass)
RETURNS TABLE (index regclass, relation regclass, fillfactor integer, hindrance text, collected boolean, inserted bigint,
               cold bigint, window_s double precision, quiet_s double precision, ascends boolean, keyed boolean)
LANGUAGE sql STABLE ROWS 1000
SET search_path = pg_catalog, pg_temp
AS $$
    WITH asked AS MATERIALIZED (
        SELECT (SELECT c.relkind FROM pg_class c WHERE c.oid = target) AS kind,
               coalesce((SELECT i.indrelid FROM pg_index i WHERE i.indexrelid = target), target)::regclass AS relation
    )
    SELECT x.indexrelid::regclass, x.indrelid::regclass,
           CASE WHEN m.amname = 'btree' THEN ff_internal.effective_index_fillfactor(c.reloptions) END,
           CASE WHEN m.amname <> 'btree' THEN format('access method %I: only B-trees are judged', m.amname)
                WHEN NOT x.indisvalid OR NOT x.indisready
                THEN 'the index is not valid: a CREATE INDEX or REINDEX CONCURRENTLY failed or is still running'
                ELSE t.not_examined END,
           e.snapshot_at IS NOT NULL AND r.rel_id IS NOT NULL, (e.counters).inserted,
           (e.counters).updated - (e.counters).hot_updated, e.window_s,
           extract(epoch FROM e.snapshot_at - r.seen_at)::double precision,
           coalesce(a.attidentity <> '' OR pg_get_expr(d.adbin, d.adrelid) ~ '^(nextval[(]|now[(]|CURRENT_TIMESTAMP|clock_timestamp[(])', false)
               AND x.indoption[0] & 1 = 0,
           x.indisunique AND x.indexprs IS NULL AND NOT EXISTS (
               SELECT FROM pg_attribute k WHERE k.attrelid = x.indrelid AND k.attnum = ANY (x.indkey) AND NOT k.attnotnull)
      FROM asked s
      JOIN pg_index x ON target IS NULL OR x.indexrelid = target OR x.indrelid = target
                      OR (s.kind = 'p' AND x.indrelid IN (SELECT q.relid FROM pg_partition_tree(target) q))
      JOIN pg_class c ON c.oid = x.indexrelid AND c.relkind = 'i'
      JOIN pg_namespace n ON n.oid = c.relnamespace
      JOIN pg_am m ON m.oid = c.relam
      JOIN ff_internal.candidate t ON t.relid = x.indrelid
      LEFT JOIN ff_internal.evidence(CASE WHEN s.kind <> 'p' THEN s.relation END) e ON e.relation = x.indrelid
      LEFT JOIN ff_internal.relation r ON r.rel_id = e.rel_id
      LEFT JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = x.indkey[0]
      LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
     ORDER BY c.relpages DESC, n.nspname, c.relname
$$;

-- Why, in a sentence: of a cause of index_judged(), or small.
CREATE FUNCTION ff_internal.index_reason(
    cause text, action text, fillfactor integer, leaf_density real, at_fillfactor_pct real, half_full_pct real, deduplicated_pct real,
    size_bytes bigint, saved bigint, inserted bigint, cold bigint, window_s double precision, quiet_s double precision) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE cause
        WHEN 'no_data' THEN format('nothing was written to its table for %s: after %s of that it could be packed, and writes would show '
            'how keys come in', ff_internal.span(quiet_s), ff_internal.span(ff_internal.setting('lookback')::double precision))
        WHEN 'never_written' THEN format('nothing was written to its table for %s, and its leaf pages are %s %% full: ', ff_internal.span(quiet_s), leaf_density)
            || CASE WHEN action = 'keep' THEN format('a rebuild at 100 would win only %s', pg_size_pretty(greatest(0, (size_bytes * (1 - leaf_density / 100))::bigint)))
                    ELSE format('at 100, rebuilt once, it shrinks by %s. If rows are updated or inserted later, full pages split', pg_size_pretty(saved)) END
        WHEN 'ascending' THEN format('keys come in ascending: %s %% of its leaf pages are as full as the fillfactor left them, and new rows go to the right end. ', at_fillfactor_pct)
            || CASE WHEN action = 'raise' THEN format('Nobody comes back to the room that %s leaves, so 100 saves it in every new page; a rebuild wins %s in the old ones', fillfactor, pg_size_pretty(saved))
                    WHEN action = 'wait' THEN format('At 100 the room that %s leaves may be saved, but only %s rows were written in %s: %s in a day are asked for',
                                                     fillfactor, inserted + cold, ff_internal.span(window_s), ff_internal.setting('min_updates'))
                    WHEN fillfactor = 100 THEN 'It is at 100 already'
                    ELSE format('%s updates that were not HOT put new entries into old pages, so their room is used', cold) END
        WHEN 'ascending_churn' THEN format('keys come in ascending, but %s updates that were not HOT put new entries beside the old ones, in the middle: %s %% of its leaf '
            'pages are as full as the fillfactor left them, %s %% half full from splits. Updates that are HOT would not come here: see ff_advise() and ff_blockers() for the table',
            cold, at_fillfactor_pct, half_full_pct)
        WHEN 'as_built' THEN 'its pages are as they were built, and too few rows came in since to tell where they go. If they come in at random, full pages split in two and the '
            'index settles near 70 % full: a lower fillfactor would put that off, and would have to be built in'
        WHEN 'version_churn' THEN format('%s updates that were not HOT against %s inserts: each put another entry beside the row''s old one, which splits full leaves in whatever '
            'order keys come in; the server removes the old one later. Another fillfactor does not end that. Updates that are HOT would not come here at all: see ff_advise() and '
            'ff_blockers() for the table', cold, inserted)
        WHEN 'deduplicated' THEN format('%s %% of its row pointers share their key with others and are stored in lists: new rows lengthen a list where it lies, and full lists '
            'split by their own rule, not by fillfactor', deduplicated_pct)
        WHEN 'sparse' THEN format('its leaf pages are only %s %% full, less than inserts at random leave: rows were deleted. A rebuild wins %s; fillfactor has no part in it',
                                  leaf_density, pg_size_pretty(saved))
        ELSE format('keys come in at random%s: %s %% of its leaf pages are half full from splits, %s %% of their space is used. Another fillfactor does not last: random inserts '
            'settle near 70 %% whatever is set', CASE WHEN cold > 0.1 * inserted THEN format(', or %s updates that were not HOT put new entries between old ones', cold) END,
            half_full_pct, leaf_density) END
$$;

-- All that ff_advise_indexes() says.
CREATE FUNCTION ff_internal.judge_indexes(target regclass)
RETURNS TABLE (index regclass, relation regclass, fillfactor integer, recommended_fillfactor integer, action text, cause text,
               size_bytes bigint, predicted_size_bytes bigint, leaf_density real, leaf_density_err real, at_fillfactor_pct real,
               half_full_pct real, deduplicated_pct real, reason text, ddl text)
LANGUAGE plpgsql VOLATILE ROWS 1000
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    -- pages, with fewer than which a few bytes decide; seconds of watching that a raise needs (both chosen)
    smallest CONSTANT bigint := 100;
    watched  CONSTANT double precision := 86400;
    block    CONSTANT bigint := current_setting('block_size')::bigint;
    budget   bigint := ff_internal.setting('collect_pages')::bigint;
    deadline CONSTANT timestamptz := clock_timestamp() + (ff_internal.setting('collect_time') || ' s')::interval;
    -- in whatever schema the extension is
    sampler  CONSTANT regprocedure := (SELECT p.oid FROM pg_proc p JOIN pg_extension e ON e.extnamespace = p.pronamespace
                                        WHERE e.extname = 'fillfactor_advisor' AND p.proname = 'ff_sample_index'
                                          AND oidvectortypes(p.proargtypes) = 'regclass');
    i        record;
    s        record;
BEGIN
    IF (SELECT c.relkind FROM pg_class c WHERE c.oid = target) IS DISTINCT FROM 'i' THEN
        PERFORM ff_internal.checked_table(target);
    ELSIF NOT EXISTS (SELECT FROM pg_index x JOIN ff_internal.candidate c ON c.relid = x.indrelid WHERE x.indexrelid = target) THEN
        RAISE 'index "%" is not on a table that can be advised', (SELECT c.relname FROM pg_class c WHERE c.oid = target)
            USING ERRCODE = 'wrong_object_type';
    END IF;
    FOR i IN SELECT * FROM ff_internal.index_facts(target) LOOP
        index := i.index; relation := i.relation; fillfactor := i.fillfactor; recommended_fillfactor := i.fillfactor;
        action := CASE WHEN i.hindrance IS NULL THEN 'wait' ELSE 'keep' END;
        cause := CASE WHEN i.hindrance IS NULL THEN 'no_data' ELSE 'not_examined' END;
        size_bytes := NULL; predicted_size_bytes := NULL; leaf_density := NULL; leaf_density_err := NULL;
        at_fillfactor_pct := NULL; half_full_pct := NULL; deduplicated_pct := NULL; ddl := NULL;
        reason := coalesce(i.hindrance,
            CASE WHEN NOT has_function_privilege(sampler, 'EXECUTE') THEN 'its pages may not be read by this role: it needs pg_stat_scan_tables'
                 WHEN budget <= 0 OR clock_timestamp() > deadline
                 THEN 'not looked at: larger indexes used up fillfactor_advisor.collect_pages or collect_time. Ask for this one by name' END);
        IF reason IS NULL THEN
            BEGIN
                EXECUTE format('SELECT * FROM %s($1)', sampler::oid::regproc) INTO s USING i.index;
                budget := budget - s.blocks_read;
                size_bytes := s.blocks * block;
                predicted_size_bytes := size_bytes;
                leaf_density := round(s.leaf_density::numeric, 1);
                leaf_density_err := round(s.leaf_density_err::numeric, 1);
                at_fillfactor_pct := round(s.at_fillfactor_pct::numeric, 1);
                half_full_pct := round(s.half_full_pct::numeric, 1);
                deduplicated_pct := round(s.deduplicated_pct::numeric, 1);
                reason := CASE WHEN s.blocks >= smallest AND s.leaf_density IS NULL THEN 'no leaf page could be read'
                               WHEN s.blocks >= smallest AND NOT i.collected THEN 'its table was not collected yet: run CALL ff_collect() or ff_schedule()' END;
            EXCEPTION WHEN OTHERS THEN
                -- one index's failure is its row
                reason := format('its pages could not be read: %s %s', SQLSTATE, SQLERRM);
            END;
        END IF;
        IF reason IS NOT NULL THEN
            NULL;
        ELSIF s.blocks < smallest THEN
            cause := 'small';
            action := 'keep';
            reason := format('%s pages: too few to matter', s.blocks);
        ELSE
            SELECT j.cause, j.recommended_fillfactor INTO cause, recommended_fillfactor
              FROM ff_internal.index_judged(i.fillfactor, s.leaf_density, s.at_fillfactor_pct, s.half_full_pct, s.fragmentation,
                       -- where no two rows share a key, lists are of versions of one row
                       CASE WHEN i.keyed THEN 0 ELSE s.deduplicated_pct END, s.row_pointers, i.inserted, i.cold,
                       i.quiet_s >= ff_internal.setting('lookback')::double precision, i.ascends) j;
            action := CASE WHEN cause = 'no_data' THEN 'wait'
                           WHEN cause = 'ascending' AND recommended_fillfactor > i.fillfactor
                                AND (coalesce(i.window_s, 0) < watched OR i.inserted + i.cold < ff_internal.setting('min_updates')::bigint) THEN 'wait'
                           WHEN recommended_fillfactor > i.fillfactor THEN 'raise'
                           WHEN recommended_fillfactor < i.fillfactor THEN 'lower'
                           -- it stands at 100 already, but was never packed
                           WHEN cause = 'never_written' AND s.leaf_density < 85 AND i.fillfactor = 100 THEN 'rebuild'
                           WHEN cause = 'sparse' THEN 'rebuild' ELSE 'keep' END;
            IF action IN ('keep', 'wait') THEN
                recommended_fillfactor := i.fillfactor;
            ELSE
                -- a rebuild packs leaf and inner pages alike, and drops deleted ones
                predicted_size_bytes := least(size_bytes, (((s.leaf_pages + s.internal_pages) * s.leaf_density / recommended_fillfactor + 1) * block)::bigint);
                ddl := concat_ws(' ', CASE WHEN action <> 'rebuild' THEN ff_internal.alter_options(i.index, ARRAY['fillfactor=' || recommended_fillfactor]) END,
                                 format('REINDEX INDEX CONCURRENTLY %s;', ff_internal.qualified_name(i.index)));
            END IF;
            reason := ff_internal.index_reason(cause, action, i.fillfactor, leaf_density, at_fillfactor_pct, half_full_pct, deduplicated_pct,
                                               size_bytes, size_bytes - predicted_size_bytes, coalesce(i.inserted, 0), coalesce(i.cold, 0), i.window_s, i.quiet_s);
        END IF;
        reason := reason || '.';
        RETURN NEXT;
    END LOOP;
END
$$;

CREATE FUNCTION @extschema@.ff_advise_indexes(relation regclass DEFAULT NULL)
RETURNS TABLE (
    index                  regclass,
    relation               regclass,
    fillfactor             integer,
    recommended_fillfactor integer,
    action                 text,
    cause                  text,
    size_bytes             bigint,
    predicted_size_bytes   bigint,
    leaf_density           real,
    leaf_density_err       real,
    at_fillfactor_pct      real,
    half_full_pct          real,
    deduplicated_pct       real,
    reason                 text,
    ddl                    text
)
LANGUAGE sql VOLATILE ROWS 1000
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT * FROM ff_internal.judge_indexes($1)
$$;
COMMENT ON FUNCTION @extschema@.ff_advise_indexes(regclass) IS
'Advice on the leaf fillfactor of B-tree indexes: of one index, of one table''s, or, without an argument, of all, largest first. Reads pages of each index now (see ff_sample_index()), together at most fillfactor_advisor.collect_pages of them within collect_time; the reading needs pg_stat_scan_tables besides pg_read_all_stats.
index, relation: the index and its table. fillfactor, recommended_fillfactor: percent, now and advised.
action: raise (after a day and fillfactor_advisor.min_updates rows), lower, rebuild (at the same fillfactor), keep, wait. cause: ascending, never_written (a higher one pays); random, as_built, version_churn, ascending_churn, deduplicated (another one would not last or not matter); sparse (rows were deleted); small, no_data, not_examined.
size_bytes, predicted_size_bytes: main fork, now and after a rebuild, bytes. leaf_density: used share of leaf pages, percent, leaf_density_err: half width of its 95 % interval. at_fillfactor_pct, half_full_pct: leaf pages as full as the fillfactor and as a split in the middle leaves them, percent. deduplicated_pct: row pointers in posting lists, percent.
reason: why, in sentences. ddl: the statements, NULL where nothing should change; ff_script() has them with guard and undo.
Errors: 42P01 unknown OID, 42809 neither a table nor an index of one that can be advised.';
