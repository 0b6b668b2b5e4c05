-- Stage advice: what the evidence says of each table, and what to do.
--
-- The cause comes from the evidence alone (diagnosis), the fillfactor from
-- the model (choice), and only where the cause is one that a fillfactor can
-- cure.  Every table of the database gets a row and a reason.

-- ---------------------------------------------------------------------------
-- Where the updates that are not HOT come from
-- ---------------------------------------------------------------------------
-- Splits a number of updates, given how many were HOT and how many went to a new page (NULL before PostgreSQL 16: then
-- old versions seen in the pages tell: from 30 on, those replaced in their page, seen_same_page against seen_hot give
-- the share of those that stayed without being HOT, at most the share whose statements set an indexed column, and just
-- that where the pages show half of it or more; below, indexed_share, where no more are HOT than it lets be; else
-- seen_same_page against seen_newpage; where none was seen, indexed_share). newpage_share: went to another page;
-- eligible_share: HOT among those that stayed, or, where fewer than 30 stayed, the share whose statements set no
-- indexed column (1 - indexed_share; 1 where that is not known either); recoverable_share: newpage_share x
-- eligible_share, which more room per page can prevent; blocked_share: the other updates that were not HOT: an indexed
-- column changed, which no fillfactor can prevent. Shares of all updates, 0 to 1; NULL where unknown.
CREATE FUNCTION ff_internal.split_updates(
    updated double precision, hot double precision, newpage double precision,
    seen_same_page double precision, seen_newpage double precision, indexed_share double precision DEFAULT NULL, seen_hot double precision DEFAULT NULL,
    OUT newpage_share double precision, OUT blocked_share double precision, OUT eligible_share double precision, OUT recoverable_share double precision)
AS 'MODULE_PATHNAME', 'ff_split_updates'
LANGUAGE c IMMUTABLE PARALLEL SAFE;

-- ---------------------------------------------------------------------------
-- Cause
-- ---------------------------------------------------------------------------
-- What a recorded holder of the visibility horizon (ff_horizon()) cost a table, in words; NULL where it was none:
-- either the table's HOT share fell by more than 10 points while one was there, from 90 % or more, or most versions in
-- its pages wait for one.
CREATE FUNCTION ff_internal.held_back(e ff_internal.table_evidence) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    c record;
BEGIN
    IF NOT EXISTS (SELECT 1 FROM ff_internal.horizon_history h WHERE h.last_seen_at >= (e.since_change).began_at) THEN
        RETURN NULL;
    END IF;
    SELECT coalesce(sum(i.updated) FILTER (WHERE o.held), 0) AS held_updated, coalesce(sum(i.hot_updated) FILTER (WHERE o.held), 0) AS held_hot,
           coalesce(sum(i.updated) FILTER (WHERE NOT o.held), 0) AS free_updated, coalesce(sum(i.hot_updated) FILTER (WHERE NOT o.held), 0) AS free_hot
      INTO c
      FROM ff_internal.counter_interval i
     CROSS JOIN LATERAL (SELECT EXISTS (SELECT 1 FROM ff_internal.horizon_history h
                                         WHERE h.since < i.ended_at AND h.last_seen_at > i.began_at) AS held) o
     WHERE i.rel_id = e.rel_id AND i.began_at >= (e.since_change).began_at;
    IF c.held_updated = 0 THEN
        RETURN NULL;
    ELSIF c.free_updated >= 100 AND c.free_hot >= 0.9 * c.free_updated
          AND c.held_hot / c.held_updated < c.free_hot / c.free_updated - 0.1 THEN
        RETURN format('%s %% of its updates were HOT while an old snapshot was held, %s %% otherwise',
                      round(100 * c.held_hot / c.held_updated, 1), round(100 * c.free_hot / c.free_updated, 1));
    ELSIF c.held_updated >= c.free_updated AND (e.sample).recently_dead_rows > 0.3 * (e.sample).live_rows AND (e.sample).recently_dead_rows > 0.8 * (e.sample).dead_rows THEN
        RETURN format('%s old row versions wait for a snapshot to end (%s %% of live rows)',
                      round((e.sample).recently_dead_rows::numeric), round((100 * (e.sample).recently_dead_rows / nullif((e.sample).live_rows, 0))::numeric));
    END IF;
    RETURN NULL;
END
$$;

-- The cause that the evidence shows, one row a table, and whether a fillfactor could matter at all (wants_model).
-- Shares are of the recent updates, 0 to 1.
CREATE FUNCTION ff_internal.diagnosis(relation regclass DEFAULT NULL)
RETURNS TABLE (
    evidence          ff_internal.table_evidence,
    cause             text,
    wants_model       boolean,
    hot_share         double precision,
    newpage_share       double precision,
    blocked_share     double precision,
    recoverable_share double precision,
    eligible_known    boolean,
    held_back         text,
    row_width         double precision
)
LANGUAGE sql STABLE ROWS 1000
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
    SELECT e, d.cause, d.cause IN ('page_full', 'batch_update', 'row_growth')
               -- HOT already, but full new pages are pruned at every update
               OR d.cause = 'settled' AND (e.recent).inserted > 0.05 * (e.recent).updated
               -- a reserve may be given back, but not on the word of a quiet
               -- hour: pages that tell of updates forbid it
               OR e.fillfactor < 100 AND (d.cause IN ('indexed_column', 'too_wide')
                    -- not where the rows were loaded anew since they were updated
                    OR d.cause = 'settled' AND NOT ((e.counters).updated > 0.1 * (e.sample).live_rows AND coalesce((e.sample).updated_pct, 0) < 1)
                    OR d.cause = 'few_updates' AND coalesce((e.sample).updated_pct, 0) < 1 AND (e.counters).updated < 0.01 * (e.counters).inserted
                       AND (e.counters).inserted >= (SELECT ff_internal.setting('min_updates')::bigint)),
           (e.recent).hot_updated / nullif((e.recent).updated, 0)::double precision,
           s.newpage_share, s.blocked_share, CASE WHEN d.cause = 'too_wide' THEN 0 ELSE s.recoverable_share END,
           (e.recent).updated * (1 - s.newpage_share) >= 30 OR y.indexed IS NOT NULL OR e.indexes <= 1, d.held_back, CASE WHEN d.cause = 'too_wide' THEN w.width ELSE w.inserted_width END
      FROM ff_internal.evidence(relation) e
      -- what the statements say of indexed columns, asked only where it matters
      LEFT JOIN LATERAL (SELECT ff_internal.indexed_share(w.e) AS indexed
                           FROM (SELECT e WHERE (e.recent).hot_updated < 0.98 * (e.recent).updated OFFSET 0) w) y ON true
      LEFT JOIN LATERAL (SELECT p.*
                           FROM ff_internal.split_updates((e.recent).updated::double precision, (e.recent).hot_updated::double precision, (e.recent).newpage_updated::double precision,
                                         e.seen_same_page, e.seen_newpage, y.indexed, e.seen_hot) p
                          WHERE (e.recent).updated > (e.recent).hot_updated
                          UNION ALL
                         -- what the function says of nothing to split, without the call
                         SELECT 0, 0, 1, 0 WHERE (e.recent).updated > 0 AND (e.recent).updated <= (e.recent).hot_updated) s ON true
     CROSS JOIN LATERAL (SELECT greatest(coalesce((e.sample).updated_width, 0), coalesce((e.sample).inserted_width, 0))::double precision AS width,
                                coalesce((e.sample).inserted_width, (e.sample).updated_width, 0)::double precision AS inserted_width) w
     CROSS JOIN LATERAL (SELECT b.held_back, CASE
            WHEN e.not_examined IS NOT NULL THEN 'not_examined'
            WHEN (e.sample).sampled_at IS NULL OR (e.counters).intervals IS NULL OR (e.sample).blocks = 0 OR w.width = 0 THEN 'no_data'
            -- too little happened to say anything of updates
            WHEN (e.counters).updated < (SELECT ff_internal.setting('min_updates')::bigint) THEN 'few_updates'
            WHEN ff_internal.rows_per_page(100, w.width) < 2 THEN 'too_wide'
            -- fillfactor or indexes were changed, and what that did is not seen yet
            WHEN coalesce((e.since_change).updated, 0) < (SELECT ff_internal.setting('min_updates')::bigint) THEN 'no_data'
            -- next to all of them are HOT, whatever became of the rest
            WHEN (e.recent).hot_updated >= 0.98 * (e.recent).updated THEN 'settled'
            WHEN s.newpage_share IS NULL THEN 'no_data'
            WHEN s.recoverable_share < 0.02 AND s.blocked_share >= 0.05 THEN 'indexed_column'
            WHEN s.recoverable_share < 0.02 THEN 'settled'
            WHEN s.blocked_share > 4 * s.recoverable_share AND s.recoverable_share < 0.1 THEN 'indexed_column'
            WHEN b.held_back IS NOT NULL THEN 'old_snapshot'
            WHEN (e.sample).updated_width > 1.1 * (e.sample).inserted_width AND (e.sample).updated_width - (e.sample).inserted_width >= 8 THEN 'row_growth'
            WHEN (e.sample).update_group_rows >= greatest(3, 0.1 * (e.sample).rows_per_page) THEN 'batch_update'
            ELSE 'page_full' END AS cause
       FROM (SELECT CASE WHEN s.recoverable_share >= 0.02 THEN ff_internal.held_back(e) END AS held_back) b) d
$$;

-- ---------------------------------------------------------------------------
-- Words
-- ---------------------------------------------------------------------------
-- Names of the indexes that make updates of a table non-HOT, as far as its statements are known, or else of all that
-- may; the most suspicious first; NULL where there is none. ff_blockers() tells more.
CREATE FUNCTION ff_internal.suspect_indexes(relation regclass) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- those on a column that a known statement sets, if there are any
    touched oid[] := ARRAY(SELECT * FROM ff_internal.touched_indexes(relation));
BEGIN
    RETURN (SELECT string_agg(quote_ident(c.relname), ', ' ORDER BY i.indisprimary, i.indisunique, c.relname)
              FROM pg_index i
              JOIN pg_class c ON c.oid = i.indexrelid
             WHERE i.indrelid = relation AND i.indislive
               AND CASE WHEN cardinality(touched) > 0 THEN i.indexrelid = ANY (touched)
                        ELSE NOT ff_internal.summarizing(c.relam)
                             -- a primary key is hardly ever updated: suspect only where nothing else is
                             AND (NOT i.indisprimary OR NOT EXISTS (SELECT 1 FROM pg_index o WHERE o.indrelid = i.indrelid AND o.indislive AND NOT o.indisprimary))
                        END);
END
$$;

-- A number of seconds in words, rounded to the unit that fits.
CREATE FUNCTION ff_internal.span(seconds double precision) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN seconds < 120 THEN round(seconds::numeric) || ' s'
                WHEN seconds < 7200 THEN round((seconds / 60)::numeric) || ' min'
                WHEN seconds < 172800 THEN round((seconds / 3600)::numeric) || ' hours'
                ELSE round((seconds / 86400)::numeric) || ' days' END
$$;

-- Its argument, NULL included, where that is a table that can be examined. Errors: 42P01 unknown OID, 42809 not a
-- table.
CREATE FUNCTION ff_internal.checked_table(relation regclass) RETURNS regclass
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF relation IS NOT NULL THEN
        IF NOT EXISTS (SELECT 1 FROM pg_class c WHERE c.oid = relation) THEN
            RAISE 'relation with OID % does not exist', relation::oid USING ERRCODE = 'undefined_table';
        ELSIF NOT EXISTS (SELECT 1 FROM ff_internal.candidate c WHERE c.relid = relation) THEN
            RAISE '"%" is not a table that can be advised', (SELECT c.relname FROM pg_class c WHERE c.oid = relation)
                USING ERRCODE = 'wrong_object_type',
                      DETAIL = 'Advice is for tables and materialized views outside the system schemas.',
                      HINT = 'For a B-tree index see ff_advise_indexes().';
        END IF;
    END IF;
    RETURN relation;
END
$$;

-- ---------------------------------------------------------------------------
-- Advice
-- ---------------------------------------------------------------------------
-- What ff_advise() says, with gain (cost now against cost then), needs_rewrite, passed_over (the model would have been
-- asked, but was not) and the evidence. Asks the model for so many tables at most, those with the most recoverable
-- updates first; NULL: for every table that a fillfactor could help. Internal step of ff_advise() and ff_report().
CREATE FUNCTION ff_internal.advice(relation regclass, models integer)
RETURNS TABLE (
    relation                 regclass,
    fillfactor               integer,
    recommended_fillfactor   integer,
    action                   text,
    cause                    text,
    confidence               real,
    hot_pct                  real,
    predicted_hot_pct        real,
    recoverable_pct          real,
    updates_per_s            real,
    rows_per_page            integer,
    predicted_rows_per_page  integer,
    size_bytes               bigint,
    predicted_size_bytes     bigint,
    ram_ratio                real,
    predicted_wal_pct        real,
    sampled_at               timestamptz,
    reason                   text,
    ddl                      text,
    gain                     double precision,
    needs_rewrite            boolean,
    passed_over              boolean,
    evidence                 ff_internal.table_evidence
)
LANGUAGE sql STABLE ROWS 1000
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
    WITH judged AS (
        SELECT d.evidence, e.*, p.sampled_at, p.blocks, p.live_rows, p.inserted_width, p.updated_width, p.update_group_rows,
               p.updated_hot_rows, p.updated_nonhot_rows, k.intervals, k.inserted, k.updated, k.seq_scans, k.index_scans, k.blocks_fetched,
               (e.since_change).updated - (e.recent).updated AS earlier_updated,
               (e.since_change).hot_updated - (e.recent).hot_updated AS earlier_hot, d.cause AS seen_cause, d.wants_model, d.wants_model AND d.place > $2 AS passed_over,
               d.hot_share, d.newpage_share, d.blocked_share, d.recoverable_share, d.eligible_known, d.held_back, d.row_width, c.*
          FROM (SELECT a.*, row_number() OVER (ORDER BY a.wants_model DESC,
                                                     a.recoverable_share * ((a.evidence).recent).updated / nullif(((a.evidence).recent).seconds, 0) DESC NULLS LAST,
                                                     (a.evidence).heap_bytes DESC NULLS LAST) AS place
                  FROM ff_internal.diagnosis(ff_internal.checked_table($1)) a) d
          -- its columns, taken apart once and not one by one
         CROSS JOIN LATERAL unnest(ARRAY[d.evidence]) e
         CROSS JOIN LATERAL unnest(ARRAY[e.sample]) p
         CROSS JOIN LATERAL unnest(ARRAY[e.counters]) k
          -- OFFSET keeps the filter in front of the model, which is asked only where it matters
          LEFT JOIN LATERAL (SELECT x.* FROM (SELECT d.evidence AS e WHERE d.wants_model AND (d.place > $2) IS NOT TRUE OFFSET 0) w CROSS JOIN LATERAL ff_internal.choice(w.e) x) c ON true
    ), trusted AS (
        SELECT j.*,
               -- how far the counts can be trusted: events seen against those
               -- asked for, halved where counting was off; and the model's own,
               -- in the light of its earlier predictions for the table
               (CASE WHEN j.not_examined IS NOT NULL THEN 1
                     WHEN j.intervals IS NULL OR j.sampled_at IS NULL OR j.seen_cause = 'no_data' THEN 0
                     ELSE least(1, CASE WHEN j.updated < 0.01 * j.inserted THEN j.inserted ELSE j.updated END
                                   / (4.0 * (SELECT ff_internal.setting('min_updates')::bigint))) END
                * CASE WHEN j.counts_lost THEN 0.5 ELSE 1 END
                * CASE WHEN j.wants_model AND NOT j.eligible_known THEN 0.5 ELSE 1 END
                * CASE WHEN j.wants_model AND j.seen_cause <> 'few_updates'
                       THEN ff_internal.calibrated(coalesce(j.confidence, 0), ff_internal.calibration(j.rel_id)) ELSE 1 END)::double precision AS trust
          FROM judged j
    ), decided AS (
        SELECT t.*, CASE WHEN t.verdict IN ('lower', 'raise') THEN t.recommended_fillfactor ELSE t.fillfactor END AS new_fillfactor,
               CASE WHEN t.seen_cause IN ('page_full', 'batch_update', 'row_growth') AND t.verdict = 'keep'
                         AND t.readers_pages > 50 * t.updated THEN 'read_mostly' ELSE t.seen_cause END AS named_cause,
               -- of rows as they are inserted, as the model has them
               coalesce(t.current_rows_per_page, ff_internal.rows_per_page(t.fillfactor, t.row_width)) AS fits_now,
               CASE WHEN t.verdict IN ('lower', 'raise') THEN t.predicted_rows_per_page
                    ELSE coalesce(t.current_rows_per_page, ff_internal.rows_per_page(t.fillfactor, t.row_width)) END AS fits_then,
               round((100 * t.hot_share)::numeric, 1) AS hot,
               format('%s %% HOT predicted (%s to %s)', trim_scale(round(t.predicted_hot_pct::numeric, 1)),
                      trim_scale(round(t.predicted_hot_low::numeric, 1)), trim_scale(round(t.predicted_hot_high::numeric, 1))) AS hot_predicted
          FROM (SELECT r.*,
                       -- each call of an UPDATE may have needed a scan of its own to find its rows
                       least(r.blocks_fetched, 2 * greatest(r.index_scans - o.calls, 0)
                             + r.blocks * greatest(r.seq_scans - greatest(o.calls - r.index_scans, 0), 0)) AS readers_pages,
                       CASE WHEN r.seen_cause = 'no_data' THEN 'wait'
                            WHEN r.seen_cause = 'not_examined' THEN 'keep'
                            WHEN r.passed_over THEN 'wait'
                            WHEN r.recommended_fillfactor <> r.fillfactor AND r.trust < (SELECT ff_internal.setting('min_confidence')::double precision) THEN 'wait'
                            WHEN r.recommended_fillfactor < r.fillfactor THEN 'lower'
                            WHEN r.recommended_fillfactor > r.fillfactor THEN 'raise'
                            WHEN r.seen_cause = 'few_updates' AND r.updated < 0.01 * r.inserted AND r.open_writers = 0 AND NOT r.counts_lost THEN 'keep'
                            WHEN r.seen_cause = 'few_updates' AND (r.open_writers > 0 OR r.counts_lost OR r.window_s < 86400) THEN 'wait'
                            ELSE 'keep' END AS verdict
                  FROM trusted r
                 CROSS JOIN LATERAL (SELECT (r.updated / greatest(1, coalesce(r.update_call_rows, 1)))::bigint AS calls) o) t
    )
    SELECT d.relation, d.fillfactor, d.new_fillfactor, d.verdict, d.named_cause,
           round(d.trust::numeric, 2)::real,
           d.hot::real, round((CASE WHEN d.verdict IN ('lower', 'raise') THEN d.predicted_hot_pct ELSE d.hot END)::numeric, 1)::real,
           round((100 * d.recoverable_share)::numeric, 1)::real,
           (d.updated / nullif(d.window_s, 0))::numeric(20, 2)::real,
           d.fits_now, d.fits_then,
           d.heap_bytes, CASE WHEN d.verdict IN ('lower', 'raise') THEN d.predicted_size_bytes ELSE d.heap_bytes END,
           d.ram_ratio::numeric(20, 4)::real,
           round((CASE WHEN d.verdict IN ('lower', 'raise') THEN d.predicted_wal_pct WHEN d.updated > 0 THEN 100 END)::numeric)::real,
           d.sampled_at,
           CASE
             WHEN d.not_examined IS NOT NULL THEN d.not_examined
             WHEN d.problem IS NOT NULL AND d.sampled_at IS NULL THEN 'its pages could not be sampled: ' || d.problem
             WHEN d.rel_id IS NULL THEN 'not collected yet: run CALL ff_collect() or ff_schedule()'
             WHEN d.sampled_at IS NULL THEN 'its pages were not sampled yet: the budget of the last collection was spent on others'
             WHEN d.intervals IS NULL THEN 'nothing was written to it since the first collection: one more collection after some work is needed'
             WHEN d.blocks = 0 OR d.row_width = 0 THEN 'the table is empty'
             WHEN d.seen_cause = 'no_data' AND coalesce((d.since_change).updated, 0) < (SELECT ff_internal.setting('min_updates')::bigint)
             THEN format('%s updates since its fillfactor or indexes changed, of %s in %s: too few to see what that did',
                         coalesce((d.since_change).updated, 0), d.updated, ff_internal.span(d.window_s))
             WHEN d.seen_cause = 'no_data' THEN format('%s %% of its updates were not HOT, but neither the server nor the pages say whether they left their page: sample it while it is being updated', 100 - d.hot)
             ELSE concat(
               CASE d.seen_cause
                 WHEN 'few_updates' THEN format('%s updates in %s', d.updated, ff_internal.span(d.window_s))
                      || CASE WHEN d.inserted > 0 THEN format(' against %s inserted rows', d.inserted) ELSE '' END
                      || CASE WHEN d.verdict = 'raise' THEN '' WHEN d.verdict = 'wait' THEN ': too few to judge from' ELSE ': too few to matter' END
                 WHEN 'too_wide' THEN format('rows of %s bytes: a page holds one of them at any fillfactor', round(d.row_width::numeric))
                 WHEN 'indexed_column' THEN format('%s %% of recent updates could not be HOT wherever they went, because an indexed column changed%s: no fillfactor can help. ff_blockers() shows the index and the statements',
                      round((100 * d.blocked_share)::numeric, 1), ' (' || ff_internal.suspect_indexes(d.relation) || ')')
                 WHEN 'settled' THEN format('%s %% of recent updates were HOT, at most %s %% left their page%s: %s',
                      d.hot, round((100 * coalesce(d.newpage_share, 1 - d.hot_share))::numeric, 1),
                      CASE WHEN d.earlier_updated > 0 AND d.earlier_hot < 0.95 * d.earlier_updated * d.hot_share
                           THEN format(', after %s %% HOT before', round(100.0 * d.earlier_hot / d.earlier_updated, 1)) ELSE '' END,
                      CASE WHEN d.verdict = 'lower' THEN 'what is left to save is pruning, which full new pages need at nearly every update'
                           -- a rewrite takes the marks of HOT updates off the rows
                           WHEN d.fillfactor = 100 AND coalesce(d.updated_hot_rows / nullif(d.updated_hot_rows + d.updated_nonhot_rows, 0), 0) < 0.5
                           THEN 'but its rows were loaded anew since, and each page filled so sheds a row before it has room again'
                           ELSE 'its pages have room already' END)
                 WHEN 'old_snapshot' THEN d.held_back || ': end it first, ff_horizon() names it; more room would only fill up as well'
                 ELSE format('%s %% of recent updates left their page because it was full', round((100 * d.newpage_share)::numeric, 1))
                      || CASE d.seen_cause
                           WHEN 'batch_update' THEN format('; one transaction updates %s rows of a page together, of the %s that fit it', round(least(d.update_group_rows, d.fits_now)::numeric), d.fits_now)
                           WHEN 'row_growth' THEN format('; rows grow from %s to %s bytes', round(d.inserted_width::numeric), round(d.updated_width::numeric))
                           ELSE '' END
               END,
               CASE d.verdict
                 WHEN 'lower' THEN format('. At %s a page is filled with %s rows instead of %s', d.new_fillfactor, d.fits_then, d.fits_now)
                      || CASE WHEN d.predicted_hot_pct IS NULL THEN '' ELSE ': ' || d.hot_predicted END
                      || CASE WHEN d.needs_rewrite THEN '; old pages keep their density until the table is rewritten' ELSE '; updates fall on new pages, so no rewrite is needed' END
                 WHEN 'raise' THEN format('. At %s a page is filled with %s rows instead of %s', d.new_fillfactor, d.fits_then, d.fits_now)
                      || CASE WHEN d.heap_bytes + d.index_bytes > d.predicted_size_bytes + d.predicted_index_bytes
                              THEN format(', %s less to store and read once rewritten',
                                          pg_size_pretty(d.heap_bytes + d.index_bytes - d.predicted_size_bytes - d.predicted_index_bytes)) ELSE '' END
                      || CASE WHEN round(d.predicted_hot_pct::numeric, 1) < d.hot THEN '; ' || d.hot_predicted ELSE '' END
                 WHEN 'wait' THEN CASE WHEN d.passed_over THEN '. The model was not asked here: ff_advise() with the name of the table asks it'
                      WHEN d.recommended_fillfactor <> d.fillfactor
                      THEN format('. %s may be better, but %s', d.recommended_fillfactor,
                                  CASE WHEN d.updated >= 4 * (SELECT ff_internal.setting('min_updates')::bigint)
                                            AND d.confidence < (SELECT ff_internal.setting('min_confidence')::double precision)
                                       THEN 'no replay comes near enough to what was seen (updates of several kinds are replayed as one)'
                                       ELSE 'more has to be seen first' END) ELSE '' END
                 ELSE CASE WHEN d.named_cause = 'read_mostly' THEN format('. Readers fetch %s pages for each updated row, and would fetch more', d.readers_pages / d.updated) ELSE '' END
                      || CASE WHEN d.seen_cause IN ('page_full', 'batch_update', 'row_growth')
                              THEN '. No other fillfactor is clearly better' || coalesce(': ' || d.note, '')
                                   || CASE WHEN d.needs_rewrite AND d.filled_at > d.fillfactor AND d.rewrite_gain >= 1 + (SELECT ff_internal.setting('min_gain')::double precision) / 100
                                           THEN format('. Its fullest pages are still as full as at %s: a rewrite (VACUUM FULL, or pg_repack) gives them the room, which should bring %s %% HOT', d.filled_at, trim_scale(round(d.predicted_hot_pct::numeric, 1))) ELSE '' END
                              ELSE '' END
               END,
               CASE WHEN d.verdict IN ('lower', 'raise', 'keep') THEN '. ' || upper(left(d.memory_note, 1)) || substr(d.memory_note, 2) END,
               CASE WHEN d.wants_model AND NOT d.eligible_known AND d.verdict IN ('lower', 'wait')
                    THEN '. Whether an indexed column changes is not known, as no update stayed in its page: pg_stat_statements would tell' END,
               CASE WHEN d.counts_lost THEN '. track_counts was off for a part of the time' END,
               CASE WHEN d.open_writers > 0 AND d.verdict IN ('wait', 'keep') THEN format('. %s open transactions may hold updates that are not counted yet', d.open_writers) END,
               '.')
           END,
           CASE WHEN d.verdict IN ('lower', 'raise') THEN ff_internal.alter_options(d.relation, ARRAY['fillfactor=' || d.new_fillfactor]) END,
           CASE WHEN d.verdict IN ('lower', 'raise') THEN d.gain END, d.needs_rewrite, coalesce(d.passed_over, false), d.evidence
      FROM decided d
     ORDER BY d.verdict NOT IN ('lower', 'raise'), d.gain DESC NULLS LAST, d.updated DESC NULLS LAST, d.nspname, d.relname
$$;

CREATE FUNCTION @extschema@.ff_advise(relation regclass DEFAULT NULL)
RETURNS TABLE (
    relation                 regclass,
    fillfactor               integer,
    recommended_fillfactor   integer,
    action                   text,
    cause                    text,
    confidence               real,
    hot_pct                  real,
    predicted_hot_pct        real,
    recoverable_pct          real,
    updates_per_s            real,
    rows_per_page            integer,
    predicted_rows_per_page  integer,
    size_bytes               bigint,
    predicted_size_bytes     bigint,
    ram_ratio                real,
    predicted_wal_pct        real,
    sampled_at               timestamptz,
    reason                   text,
    ddl                      text
)
LANGUAGE sql STABLE ROWS 1000
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT a.relation, a.fillfactor, a.recommended_fillfactor, a.action, a.cause, a.confidence, a.hot_pct, a.predicted_hot_pct, a.recoverable_pct,
           a.updates_per_s, a.rows_per_page, a.predicted_rows_per_page, a.size_bytes, a.predicted_size_bytes, a.ram_ratio, a.predicted_wal_pct,
           a.sampled_at, a.reason, a.ddl
      FROM ff_internal.advice($1, NULL::integer) a
$$;
COMMENT ON FUNCTION @extschema@.ff_advise(regclass) IS
'Advice for one table or, without an argument, for all: one row each, also where nothing should change.
relation: the table. fillfactor, recommended_fillfactor: percent, now and advised (equal where nothing should change).
action: lower, raise, keep, wait (more has to be seen first). cause: page_full, batch_update, row_growth (updates leave full pages: fillfactor helps); indexed_column, old_snapshot, settled, few_updates, read_mostly, too_wide (it does not); no_data (nobody can know yet); not_examined (partitioned, foreign, temporary or not heap).
confidence: 0 to 1, how well the model meets what is seen today, how much was seen, and how earlier advice for the table came true.
updates_per_s: rows updated per second over the window. hot_pct: HOT share of the recent updates. recoverable_pct: share of updates that were not HOT only because their page was full. predicted_hot_pct: HOT share at the recommended fillfactor.
rows_per_page, predicted_rows_per_page: rows with which an insert fills a page, now and then.
size_bytes, predicted_size_bytes: main fork of the table, bytes, now and once its pages have the new density.
ram_ratio: (table + indexes) / memory, see ff_memory(). predicted_wal_pct: WAL per update against today, percent.
sampled_at: age of the page evidence. reason: why, in a sentence. ddl: the statement, NULL where nothing should change; see ff_script().
Errors: 42P01 unknown OID, 42809 not a table.';
