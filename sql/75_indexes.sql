-- Stage script, for B-tree indexes: what the fill of their leaf pages says of
-- the way they are written, and whether another fillfactor would last.
--
-- A B-tree honours its fillfactor in two places only: when it is built, and when
-- its rightmost page splits because ascending keys came in.  Any other split
-- leaves two halves, so a tree that is written at random is about 70 % full
-- some time after, whatever was set.  Advice to change one is therefore rare.

-- Leaf fillfactor, percent, that the server reads from a B-tree index's stored options; 90 where they name none.
CREATE FUNCTION ff_internal.effective_index_fillfactor(reloptions text[]) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    -- a B-tree's default is 90, a table's 100; both are read alike
    SELECT CASE WHEN EXISTS (SELECT 1 FROM unnest(reloptions) o WHERE o LIKE 'fillfactor=%') THEN ff_internal.effective_fillfactor(reloptions) ELSE 90 END
$$;

-- How a B-tree is written, from the fill of its leaf pages (see ff_sample_index()), rows inserted and updated without
-- HOT in the window, whether the table was left alone for the whole window, and the correlation of its first column;
-- and the fillfactor that follows.
CREATE FUNCTION ff_internal.index_judged(
    fillfactor integer, leaf_density double precision, at_fillfactor_pct double precision, half_full_pct double precision,
    fragmentation double precision, deduplicated_pct double precision, leaf_pages double precision, row_pointers double precision,
    inserted bigint, nonhot_updated bigint, quiet boolean, correlation real,
    OUT cause text, OUT recommended_fillfactor integer)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH seen AS (
        SELECT coalesce(inserted, 0) + coalesce(nonhot_updated, 0) AS written,
               -- pages as full as the fillfactor, one after the other, hardly any half
               at_fillfactor_pct >= 70 AND half_full_pct <= 10 AND fragmentation <= 10 AS orderly,
               -- ascending keys are shown by growth that split no page in two,
               -- or by the order of the table's rows
               coalesce(inserted, 0) >= 0.2 * row_pointers OR (coalesce(inserted, 0) > 0 AND correlation >= 0.95) AS grows
    ), c AS (
        SELECT CASE
                 WHEN leaf_density IS NULL THEN 'no_data'
                 WHEN written = 0 AND quiet THEN 'never_written'
                 WHEN written = 0 THEN 'no_data'
                 WHEN coalesce(nonhot_updated, 0) > 5 * coalesce(inserted, 0) AND nonhot_updated > 0.05 * row_pointers THEN 'version_churn'
                 WHEN deduplicated_pct >= 50 THEN 'deduplicated'
                 WHEN orderly AND grows THEN 'ascending'
                 WHEN orderly AND half_full_pct <= 2 THEN 'as_built'
                 -- a second entry for each row splits full leaves in whatever
                 -- order keys come in; vacuum then takes the first one, so that
                 -- half of a half is left without a row deleted
                 WHEN nonhot_updated > 0.5 * coalesce(inserted, 0) AND nonhot_updated > 0.05 * row_pointers AND leaf_density >= 25 THEN 'version_churn'
                 WHEN leaf_density < 45 THEN 'sparse'
                 ELSE 'random' END AS cause
          FROM seen
    )
    SELECT c.cause,
           CASE -- what stays as it is needs no room; what a build at the default
                -- leaves is not worth another one
                WHEN c.cause = 'never_written' AND leaf_density < 85 THEN 100
                -- room in pages that nobody comes back to is wasted, unless old
                -- rows are updated and put new entries there
                WHEN c.cause = 'ascending' AND coalesce(nonhot_updated, 0) <= 0.01 * inserted THEN greatest(fillfactor, 100)
                ELSE fillfactor END
      FROM c
$$;

-- All that ff_advise_indexes() says.
CREATE FUNCTION ff_internal.judge_indexes(target regclass)
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
LANGUAGE plpgsql VOLATILE ROWS 1000
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    kind      CONSTANT "char" := (SELECT c.relkind FROM pg_class c WHERE c.oid = target);
    -- with fewer pages than this a few bytes decide
    smallest  CONSTANT bigint := 100;
    block     CONSTANT bigint := current_setting('block_size')::bigint;
    budget    bigint := ff_internal.setting('collect_pages')::bigint;
    deadline  CONSTANT timestamptz := clock_timestamp() + (ff_internal.setting('collect_time') || ' s')::interval;
    may_read  boolean;
    i         record;
    s         record;
    judged    record;
    problem   text;
    then_bytes double precision;
BEGIN
    IF target IS NOT NULL THEN
        IF kind = 'i' THEN
            IF NOT EXISTS (SELECT 1 FROM pg_index x JOIN ff_internal.candidate c ON c.relid = x.indrelid WHERE x.indexrelid = target) THEN
                RAISE 'index "%" is not on a table that can be advised', (SELECT c.relname FROM pg_class c WHERE c.oid = target) USING ERRCODE = 'wrong_object_type';
            END IF;
        ELSE
            PERFORM ff_internal.checked_table(target);
        END IF;
    END IF;
    may_read := (SELECT has_function_privilege(p.oid, 'EXECUTE') FROM pg_proc p JOIN pg_extension e ON e.extnamespace = p.pronamespace
                  WHERE e.extname = 'fillfactor_advisor' AND p.proname = 'ff_sample_index'
                   AND p.proargtypes::text = 'regclass'::regtype::oid::text);

    FOR i IN
        SELECT x.indexrelid, x.indrelid, k.relname, n.nspname, am.amname, x.indisvalid, x.indisready, t.not_examined, k.reloptions,
               CASE WHEN am.amname = 'btree' THEN ff_internal.effective_index_fillfactor(k.reloptions) END AS fillfactor,
               (e.counters).inserted, (e.counters).updated - (e.counters).hot_updated AS cold, e.window_s, e.snapshot_at,
               (SELECT extract(epoch FROM e.snapshot_at - r.seen_at)::double precision FROM ff_internal.relation r WHERE r.rel_id = e.rel_id) AS quiet_s,
               (SELECT p.correlation FROM pg_stats p JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = x.indkey[0]
                 WHERE p.schemaname = t.nspname AND p.tablename = t.relname AND p.attname = a.attname AND NOT p.inherited) AS correlation,
               greatest(k.relpages, 0)::bigint AS pages,
               x.indisunique AND x.indexprs IS NULL
                   AND NOT EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = x.indrelid AND a.attnum = ANY (x.indkey) AND NOT a.attnotnull) AS keyed,
               ff_internal.quoted_name(n.nspname::text) || '.' || ff_internal.quoted_name(k.relname::text) AS name
          FROM pg_index x
          JOIN pg_class k ON k.oid = x.indexrelid AND k.relkind = 'i'
          JOIN pg_namespace n ON n.oid = k.relnamespace
          JOIN pg_am am ON am.oid = k.relam
          JOIN ff_internal.candidate t ON t.relid = x.indrelid
          LEFT JOIN ff_internal.evidence(CASE WHEN kind IN ('r', 'm') THEN target WHEN kind = 'i' THEN (SELECT o.indrelid::regclass FROM pg_index o WHERE o.indexrelid = target) END) e ON e.relation = x.indrelid
         WHERE target IS NULL OR x.indexrelid = target OR x.indrelid = target
            OR (kind = 'p' AND x.indrelid IN (SELECT q.relid FROM pg_partition_tree(target) q))
         ORDER BY k.relpages DESC, n.nspname, k.relname
    LOOP
        index := i.indexrelid;
        relation := i.indrelid;
        fillfactor := i.fillfactor;
        recommended_fillfactor := i.fillfactor;
        action := 'keep';
        ddl := NULL;
        s := NULL;
        problem := NULL;
        cause := 'not_examined';
        size_bytes := NULL;
        predicted_size_bytes := NULL;
        leaf_density := NULL; leaf_density_err := NULL; at_fillfactor_pct := NULL; half_full_pct := NULL; deduplicated_pct := NULL;

        IF i.amname <> 'btree' THEN
            reason := format('access method %s: only B-trees are judged.', quote_ident(i.amname));
            RETURN NEXT;
            CONTINUE;
        ELSIF NOT i.indisvalid OR NOT i.indisready THEN
            reason := 'the index is not valid: a CREATE INDEX or REINDEX CONCURRENTLY failed or is still running.';
            RETURN NEXT;
            CONTINUE;
        ELSIF i.not_examined IS NOT NULL THEN
            reason := i.not_examined || '.';
            RETURN NEXT;
            CONTINUE;
        END IF;

        cause := 'no_data';
        action := 'wait';
        IF NOT may_read THEN
            reason := 'its pages may not be read by this role: it needs pg_stat_scan_tables.';
            RETURN NEXT;
            CONTINUE;
        ELSIF budget <= 0 OR clock_timestamp() > deadline THEN
            reason := 'not looked at: larger indexes used up fillfactor_advisor.collect_pages or collect_time. Ask for this one by name.';
            RETURN NEXT;
            CONTINUE;
        END IF;
        BEGIN
            SELECT * INTO s FROM @extschema@.ff_sample_index(i.indexrelid::regclass);
        EXCEPTION WHEN OTHERS THEN
            -- one index's failure is its row
            problem := format('its pages could not be read: %s %s.', SQLSTATE, SQLERRM);
        END;
        IF problem IS NOT NULL THEN
            reason := problem;
            RETURN NEXT;
            CONTINUE;
        END IF;
        budget := budget - s.blocks_read;
        size_bytes := s.blocks * block;
        predicted_size_bytes := size_bytes;
        leaf_density := round(s.leaf_density::numeric, 1);
        leaf_density_err := round(s.leaf_density_err::numeric, 1);
        at_fillfactor_pct := round(s.at_fillfactor_pct::numeric, 1);
        half_full_pct := round(s.half_full_pct::numeric, 1);
        deduplicated_pct := round(s.deduplicated_pct::numeric, 1);
        IF s.blocks < smallest THEN
            cause := 'small';
            action := 'keep';
            reason := format('%s pages: too few to matter.', s.blocks);
            RETURN NEXT;
            CONTINUE;
        ELSIF s.leaf_density IS NULL THEN
            reason := 'no leaf page could be read.';
            RETURN NEXT;
            CONTINUE;
        ELSIF i.snapshot_at IS NULL OR i.quiet_s IS NULL THEN
            reason := 'its table was not collected yet: run CALL ff_collect() or ff_schedule().';
            RETURN NEXT;
            CONTINUE;
        END IF;

        SELECT * INTO judged
          FROM ff_internal.index_judged(i.fillfactor, s.leaf_density, s.at_fillfactor_pct, s.half_full_pct, s.fragmentation,
                                           -- where no two rows share a key, lists are of versions of one row
                                           CASE WHEN i.keyed THEN 0 ELSE s.deduplicated_pct END,
                                           s.leaf_pages, s.row_pointers, i.inserted, i.cold, i.quiet_s >= ff_internal.setting('lookback')::double precision, i.correlation);
        cause := judged.cause;
        recommended_fillfactor := judged.recommended_fillfactor;
        -- a rebuild packs leaf and inner pages alike, and drops deleted ones
        then_bytes := ((s.leaf_pages + s.internal_pages) * s.leaf_density / recommended_fillfactor + 1) * block;
        action := CASE WHEN recommended_fillfactor > i.fillfactor THEN 'raise' WHEN recommended_fillfactor < i.fillfactor THEN 'lower'
                       -- it stands at 100 already, but was never packed
                       WHEN cause = 'never_written' AND s.leaf_density < 85 AND i.fillfactor = 100 THEN 'rebuild'
                       WHEN cause = 'no_data' THEN 'wait'
                       WHEN cause = 'sparse' THEN 'rebuild' ELSE 'keep' END;
        IF action NOT IN ('keep', 'wait') THEN
            predicted_size_bytes := least(size_bytes, then_bytes::bigint);
            ddl := CASE WHEN action <> 'rebuild' THEN format('ALTER INDEX %s SET (fillfactor = %s); ', i.name, recommended_fillfactor) ELSE '' END
                   || format('REINDEX INDEX CONCURRENTLY %s;', i.name);
        END IF;
        reason := CASE cause
            WHEN 'no_data' THEN format('nothing was written to its table for %s: after %s of that it could be packed, and writes would show how keys come in.', ff_internal.span(i.quiet_s), ff_internal.span(ff_internal.setting('lookback')::double precision))
            WHEN 'never_written' THEN format('nothing was written to its table for %s, and its leaf pages are %s %% full', ff_internal.span(i.quiet_s), leaf_density)
                || CASE WHEN action = 'keep' THEN format(': a rebuild at 100 would win only %s.', pg_size_pretty(greatest(0, (size_bytes * (1 - leaf_density / 100))::bigint))) ELSE format(': at 100, rebuilt once, it shrinks by %s. If rows are updated or inserted later, full pages split.', pg_size_pretty(size_bytes - predicted_size_bytes)) END
            WHEN 'ascending' THEN format('keys come in ascending: %s %% of its leaf pages are as full as the fillfactor left them, and new rows go to the right end', at_fillfactor_pct)
                || CASE WHEN action = 'raise' THEN format('. Nobody comes back to the room that %s leaves, so 100 saves it in every new page; a rebuild wins %s in the old ones.', i.fillfactor, pg_size_pretty(size_bytes - predicted_size_bytes))
                        WHEN i.fillfactor = 100 THEN '. It is at 100 already.'
                        ELSE format('. %s updates that were not HOT put new entries into old pages, so their room is used.', i.cold) END
            WHEN 'as_built' THEN 'its pages are as they were built, and too few rows came in since to tell where they go. If they come in at random, full pages split in two and the index settles near 70 % full: a lower fillfactor would put that off, and would have to be built in.'
            WHEN 'version_churn' THEN format('%s updates that were not HOT against %s inserts: each put another entry beside the row''s old one, which splits full leaves in whatever order keys come in; the server removes the old one later. Another fillfactor does not end that. Updates that are HOT would not come here at all: see ff_advise() and ff_blockers() for the table.', i.cold, coalesce(i.inserted, 0))
            WHEN 'deduplicated' THEN format('%s %% of its row pointers share their key with others and are stored in lists: new rows lengthen a list where it lies, and lists that are full split by their own rule, not by fillfactor.', deduplicated_pct)
            WHEN 'sparse' THEN format('its leaf pages are only %s %% full, less than inserts at random leave: rows were deleted. A rebuild wins %s; fillfactor has no part in it.', leaf_density, pg_size_pretty(size_bytes - predicted_size_bytes))
            ELSE format('keys come in at random: %s %% of its leaf pages are half full from splits, %s %% of their space is used. Another fillfactor does not last: random inserts settle near 70 %% whatever is set.', half_full_pct, leaf_density) END;
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
action: raise, lower, rebuild (at the same fillfactor), keep, wait. cause: ascending, never_written (a higher one pays); random, as_built, version_churn, deduplicated (another one would not last or not matter); sparse (rows were deleted); small, no_data, not_examined.
size_bytes, predicted_size_bytes: main fork, now and after a rebuild, bytes. leaf_density: used share of leaf pages, percent, leaf_density_err: half width of its 95 % interval. at_fillfactor_pct, half_full_pct: leaf pages as full as the fillfactor and as a split in the middle leaves them, percent. deduplicated_pct: row pointers in posting lists, percent.
reason: why, in sentences. ddl: the statements, NULL where nothing should change; ff_script() has them with guard and undo.
Errors: 42P01 unknown OID, 42809 neither a table nor an index of one that can be advised.';
