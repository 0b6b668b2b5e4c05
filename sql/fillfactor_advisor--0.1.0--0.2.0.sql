-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION fillfactor_advisor UPDATE TO '0.2.0'" to load this file. \quit

-- Nothing below can be bound to an operator or function of somebody else's:
-- the extension's own objects are always written with their schema.
SET LOCAL search_path TO pg_catalog, pg_temp;

-- A function of one of our names, put here by somebody else since, could be
-- taken for ours.
DO $$
DECLARE
    stranger text;
BEGIN
    SELECT p.oid::regprocedure::text INTO stranger
      FROM pg_proc p JOIN pg_extension e ON e.extnamespace = p.pronamespace
     WHERE e.extname = 'fillfactor_advisor' AND p.proname ^@ 'ff_'
       AND NOT EXISTS (SELECT 1 FROM pg_depend d
                        WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
                          AND d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid)
     LIMIT 1;
    IF stranger IS NOT NULL THEN
        RAISE 'function % is in the way', stranger
            USING ERRCODE = 'duplicate_function',
                  DETAIL = 'Functions whose names begin with "ff_" must be the extension''s own in the schema that it is installed in.',
                  HINT = 'Drop it, then run ALTER EXTENSION fillfactor_advisor UPDATE again.';
    END IF;
END
$$;

DROP FUNCTION @extschema@.ff_model(record, record);
CREATE FUNCTION @extschema@.ff_model(
    evidence record, extra record,
    OUT fillfactor integer, OUT rows_per_page integer,
    OUT hot_pct double precision, OUT hot_pct_low double precision, OUT hot_pct_high double precision,
    OUT moved_pct double precision, OUT settled_hot_pct double precision,
    OUT size_bytes bigint, OUT index_bytes bigint, OUT wal_bytes_per_update double precision, OUT us_per_update double precision,
    OUT cost double precision, OUT is_current boolean, OUT is_advised boolean,
    OUT gain double precision, OUT best_gain double precision, OUT confidence double precision, OUT agreement double precision,
    OUT needs_rewrite boolean, OUT seen_hot_pct double precision, OUT fitted_hot_pct double precision,
    OUT fresh_share double precision, OUT hot_eligible double precision, OUT advised_in_ram integer, OUT runs integer, OUT lifecycles text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'ff_model_0_2'
LANGUAGE c STRICT IMMUTABLE PARALLEL SAFE COST 100000 ROWS 50;
COMMENT ON FUNCTION @extschema@.ff_model(record, record) IS 'Internal: fits lifecycles to a row of ff_evidence() and of ff_model_extra(), taken by column name, and replays them at every step edge from 100 to 10. One row a step, see ff_curve(); gain to lifecycles describe the fit and the choice and are the same on every row. Error 42804 where a column that it reads is not a number.';
REVOKE ALL ON FUNCTION @extschema@.ff_model(record, record) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_model(record, record) TO pg_read_all_stats;

DROP FUNCTION @extschema@.ff_choice(@extschema@.ff_table_evidence);
CREATE FUNCTION @extschema@.ff_choice(
    e @extschema@.ff_table_evidence,
    OUT recommended_fillfactor integer, OUT predicted_hot_pct double precision, OUT predicted_hot_low double precision, OUT predicted_hot_high double precision,
    OUT predicted_rows_per_page integer, OUT predicted_size_bytes bigint, OUT predicted_wal_pct double precision,
    OUT confidence double precision, OUT gain double precision, OUT needs_rewrite boolean, OUT note text, OUT memory_note text)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH m AS MATERIALIZED (
        SELECT m.* FROM @extschema@.ff_model_extra(e) x CROSS JOIN LATERAL @extschema@.ff_model(e, x) m
    )
    SELECT CASE WHEN a.is_current THEN e.fillfactor ELSE a.fillfactor END,
           a.hot_pct, a.hot_pct_low, a.hot_pct_high, a.rows_per_page, a.size_bytes,
           100 * a.wal_bytes_per_update / nullif(c.wal_bytes_per_update, 0), a.confidence, a.gain, a.needs_rewrite,
           CASE WHEN a.is_current AND a.best_gain > 1.005
                THEN format('the best step would save %s %%, less than fillfactor_advisor.min_gain', round((100 * (1 - 1 / a.best_gain))::numeric, 1)) END,
           CASE WHEN a.fillfactor <> a.advised_in_ram
                THEN format(CASE WHEN a.fillfactor < a.advised_in_ram
                                 THEN 'table and indexes are %s times memory (%s would be best within it): a row that leaves its page makes index pages be read and written'
                                 ELSE 'table and indexes are %s times memory (%s would be best within it): each page more is read from disk more often than it saves' END,
                            round(e.ram_ratio::numeric, CASE WHEN e.ram_ratio < 10 THEN 1 ELSE 0 END), a.advised_in_ram) END
      FROM m a CROSS JOIN m c
     WHERE a.is_advised AND c.is_current
$$;
COMMENT ON FUNCTION @extschema@.ff_choice(@extschema@.ff_table_evidence) IS 'The step with the least expected cost, or the table''s own where no other saves fillfactor_advisor.min_gain percent: recommended_fillfactor, what it will do (predicted_wal_pct: WAL per update, percent of today''s), confidence that the model explains the table (0 to 1), gain (cost now against cost then), needs_rewrite (true where most updates fall on pages that are filled already), note, memory_note (why it would be another one, were the table within memory; NULL where it would not). No row where the pages were never sampled. Internal step of ff_advise().';
REVOKE ALL ON FUNCTION @extschema@.ff_choice(@extschema@.ff_table_evidence) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_choice(@extschema@.ff_table_evidence) TO pg_read_all_stats;

DROP FUNCTION @extschema@.ff_split_updates(double precision, double precision, double precision, double precision, double precision, double precision);
CREATE FUNCTION @extschema@.ff_split_updates(
    updated double precision, hot double precision, newpage double precision,
    seen_same_page double precision, seen_moved double precision, indexed_share double precision DEFAULT NULL, seen_hot double precision DEFAULT NULL,
    OUT moved_share double precision, OUT blocked_share double precision, OUT eligible_share double precision, OUT recoverable_share double precision)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH moved AS (
        SELECT nullif(updated, 0) AS u, least(hot, updated) AS h,
               CASE WHEN updated <= hot THEN 0
                    WHEN newpage IS NOT NULL THEN least(newpage, updated - hot)
                    -- old versions go as soon whether HOT replaced them or not, so of
                    -- those that stayed these tell the shares; those that moved away
                    -- left them in full pages, where they stay for longer
                    WHEN seen_hot + seen_same_page >= 30
                        THEN greatest(0, (updated - hot) - hot / nullif(greatest(seen_hot / (seen_hot + seen_same_page), 1 - coalesce(indexed_share, 1)), 0)
                                                               * least(seen_same_page / (seen_hot + seen_same_page), coalesce(indexed_share, 1)))
                    WHEN seen_same_page + seen_moved > 0 THEN (updated - hot) * seen_moved / (seen_same_page + seen_moved)
               END AS m
    ), eligible AS (
        -- an update that left its page would have been HOT as often as those
        -- that stayed; too few of these to tell, the statements may know;
        -- where nobody does, nothing speaks against it
        SELECT u, h, m, CASE WHEN u - m >= 30 THEN h / (u - m)
                             WHEN m IS NOT NULL THEN coalesce(1 - indexed_share, 1) END AS e
          FROM moved
    )
    SELECT m / u, (u - h) / u - m / u * e, e, m / u * e FROM eligible
$$;
COMMENT ON FUNCTION @extschema@.ff_split_updates(double precision, double precision, double precision, double precision, double precision, double precision, double precision) IS
'Splits a number of updates, given how many were HOT and how many went to a new page (NULL before PostgreSQL 16: then old versions seen in the pages tell: from 30 on, those replaced in their page, seen_same_page against seen_hot, which go at the same time, give the share of those that stayed without being HOT, at most the share whose statements set an indexed column; below, seen_same_page against seen_moved). moved_share: went to another page; eligible_share: HOT among those that stayed, or, where fewer than 30 stayed, the share whose statements set no indexed column (1 - indexed_share; 1 where that is not known either); recoverable_share: moved_share x eligible_share, which more room per page can prevent; blocked_share: the other updates that were not HOT: an indexed column changed, which no fillfactor can prevent. Shares of all updates, 0 to 1; NULL where unknown.';
REVOKE ALL ON FUNCTION @extschema@.ff_split_updates(double precision, double precision, double precision, double precision, double precision, double precision, double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_split_updates(double precision, double precision, double precision, double precision, double precision, double precision, double precision) TO pg_read_all_stats;

CREATE OR REPLACE FUNCTION @extschema@.ff_diagnosis(relation regclass DEFAULT NULL)
RETURNS TABLE (
    evidence          @extschema@.ff_table_evidence,
    cause             text,
    wants_model       boolean,
    hot_share         double precision,
    moved_share       double precision,
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
               OR d.cause = 'settled' AND e.recent_inserted > 0.05 * e.recent_updated
               -- a reserve may be given back, but not on the word of a quiet
               -- hour: pages that tell of updates forbid it
               OR e.fillfactor < 100 AND (d.cause IN ('indexed_column', 'too_wide')
                    -- not where the rows were loaded anew since they were updated
                    OR d.cause = 'settled' AND NOT (e.updated > 0.1 * e.live_rows AND coalesce(e.updated_pct, 0) < 1)
                    OR d.cause = 'few_updates' AND coalesce(e.updated_pct, 0) < 1 AND e.updated < 0.01 * e.inserted
                       AND e.inserted >= (SELECT @extschema@.ff_setting('min_updates')::bigint)),
           e.recent_hot / nullif(e.recent_updated, 0)::double precision,
           s.moved_share, s.blocked_share, s.recoverable_share,
           e.recent_updated * (1 - s.moved_share) >= 30 OR y.indexed IS NOT NULL OR e.indexes <= 1, d.held_back, w.width
      FROM @extschema@.ff_evidence(relation) e
      -- what the statements say of indexed columns, asked only where it matters
      LEFT JOIN LATERAL (SELECT @extschema@.ff_indexed_share(w.e) AS indexed
                           FROM (SELECT e WHERE e.recent_hot < 0.98 * e.recent_updated OFFSET 0) w) y ON true
      LEFT JOIN LATERAL (SELECT p.*
                           -- no old version left in the pages to tell: again the statements
                           FROM (SELECT coalesce(e.seen_same_page, 0) + coalesce(e.seen_moved, 0) = 0 AS unseen) u
                          CROSS JOIN LATERAL @extschema@.ff_split_updates(e.recent_updated::double precision, e.recent_hot::double precision, e.recent_newpage::double precision,
                                         CASE WHEN u.unseen THEN y.indexed ELSE e.seen_same_page END::double precision,
                                         CASE WHEN u.unseen THEN 1 - y.indexed ELSE e.seen_moved END::double precision, y.indexed,
                                         CASE WHEN NOT u.unseen THEN e.seen_hot END::double precision) p
                          WHERE e.recent_updated > 0) s ON true
     CROSS JOIN LATERAL (SELECT greatest(coalesce(e.updated_width, 0), coalesce(e.inserted_width, 0))::double precision AS width) w
     CROSS JOIN LATERAL (SELECT b.held_back, CASE
            WHEN e.not_examined IS NOT NULL THEN 'not_examined'
            WHEN e.sampled_at IS NULL OR e.intervals IS NULL OR e.blocks = 0 OR w.width = 0 THEN 'no_data'
            -- too little happened to say anything of updates
            WHEN e.updated < (SELECT @extschema@.ff_setting('min_updates')::bigint) THEN 'few_updates'
            WHEN @extschema@.ff_rows_per_page(100, w.width) < 2 THEN 'too_wide'
            -- next to all of them are HOT, whatever became of the rest
            WHEN e.recent_hot >= 0.98 * e.recent_updated THEN 'settled'
            WHEN s.moved_share IS NULL THEN 'no_data'
            WHEN s.recoverable_share < 0.02 AND s.blocked_share >= 0.05 THEN 'indexed_column'
            WHEN s.recoverable_share < 0.02 THEN 'settled'
            WHEN s.blocked_share > 4 * s.recoverable_share AND s.recoverable_share < 0.1 THEN 'indexed_column'
            WHEN b.held_back IS NOT NULL THEN 'old_snapshot'
            WHEN e.updated_width > 1.1 * e.inserted_width AND e.updated_width - e.inserted_width >= 8 THEN 'row_growth'
            WHEN e.update_group_rows >= greatest(3, 0.1 * e.rows_per_page) THEN 'batch_update'
            ELSE 'page_full' END AS cause
       FROM (SELECT CASE WHEN s.recoverable_share >= 0.02 THEN @extschema@.ff_held_back(e) END AS held_back) b) d
$$;

CREATE OR REPLACE FUNCTION @extschema@.ff_advise_most(relation regclass, models integer)
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
    evidence                 @extschema@.ff_table_evidence
)
LANGUAGE sql STABLE ROWS 1000
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
    WITH judged AS (
        SELECT d.evidence, (d.evidence).*, d.cause AS seen_cause, d.wants_model, d.wants_model AND d.place > $2 AS passed_over,
               d.hot_share, d.moved_share, d.blocked_share, d.recoverable_share, d.eligible_known, d.held_back, d.row_width, c.*
          FROM (SELECT a.*, row_number() OVER (ORDER BY a.wants_model DESC,
                                                     a.recoverable_share * (a.evidence).recent_updated / nullif((a.evidence).recent_s, 0) DESC NULLS LAST,
                                                     (a.evidence).heap_bytes DESC NULLS LAST) AS place
                  FROM @extschema@.ff_diagnosis(@extschema@.ff_checked_table($1)) a) d
          -- OFFSET keeps the filter in front of the model, which is asked only where it matters
          LEFT JOIN LATERAL (SELECT x.* FROM (SELECT d.evidence AS e WHERE d.wants_model AND (d.place > $2) IS NOT TRUE OFFSET 0) w CROSS JOIN LATERAL @extschema@.ff_choice(w.e) x) c ON true
    ), trusted AS (
        SELECT j.*,
               -- how far the counts can be trusted: events seen against those
               -- asked for, halved where counting was off; and the model's own,
               -- in the light of its earlier predictions for the table
               (CASE WHEN j.not_examined IS NOT NULL THEN 1
                     WHEN j.intervals IS NULL OR j.sampled_at IS NULL THEN 0
                     ELSE least(1, CASE WHEN j.updated < 0.01 * j.inserted THEN j.inserted ELSE j.updated END
                                   / (4.0 * (SELECT @extschema@.ff_setting('min_updates')::bigint))) END
                * CASE WHEN j.counts_lost THEN 0.5 ELSE 1 END
                * CASE WHEN j.wants_model AND NOT j.eligible_known THEN 0.5 ELSE 1 END
                * CASE WHEN j.wants_model AND j.seen_cause <> 'few_updates'
                       THEN @extschema@.ff_calibrated(coalesce(j.confidence, 0), @extschema@.ff_calibration(j.rel_id)) ELSE 1 END)::double precision AS trust
          FROM judged j
    ), decided AS (
        SELECT t.*, CASE WHEN t.verdict IN ('lower', 'raise') THEN t.recommended_fillfactor ELSE t.fillfactor END AS new_fillfactor,
               CASE WHEN t.seen_cause IN ('page_full', 'batch_update', 'row_growth') AND t.verdict = 'keep'
                         AND t.blocks_fetched > 50 * t.updated THEN 'read_mostly' ELSE t.seen_cause END AS named_cause,
               @extschema@.ff_rows_per_page(t.fillfactor, t.row_width) AS fits_now,
               @extschema@.ff_rows_per_page(CASE WHEN t.verdict IN ('lower', 'raise') THEN t.recommended_fillfactor ELSE t.fillfactor END, t.row_width) AS fits_then,
               round((100 * t.hot_share)::numeric, 1) AS hot
          FROM (SELECT r.*,
                       CASE WHEN r.seen_cause = 'no_data' THEN 'wait'
                            WHEN r.seen_cause = 'not_examined' THEN 'keep'
                            WHEN r.passed_over THEN 'wait'
                            WHEN r.recommended_fillfactor <> r.fillfactor AND r.trust < (SELECT @extschema@.ff_setting('min_confidence')::double precision) THEN 'wait'
                            WHEN r.recommended_fillfactor < r.fillfactor THEN 'lower'
                            WHEN r.recommended_fillfactor > r.fillfactor THEN 'raise'
                            WHEN r.seen_cause = 'few_updates' AND r.updated < 0.01 * r.inserted AND r.open_writers = 0 AND NOT r.counts_lost THEN 'keep'
                            WHEN r.seen_cause = 'few_updates' AND (r.open_writers > 0 OR r.counts_lost OR r.window_s < 86400) THEN 'wait'
                            ELSE 'keep' END AS verdict
                  FROM trusted r) t
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
             WHEN d.seen_cause = 'no_data' THEN format('%s %% of its updates were not HOT, but neither the server nor the pages say whether they left their page: sample it while it is being updated', 100 - d.hot)
             ELSE concat(
               CASE d.seen_cause
                 WHEN 'few_updates' THEN format('%s updates in %s', d.updated, @extschema@.ff_span(d.window_s))
                      || CASE WHEN d.inserted > 0 THEN format(' against %s inserted rows', d.inserted) ELSE '' END
                      || CASE WHEN d.verdict = 'raise' THEN '' WHEN d.verdict = 'wait' THEN ': too few to judge from' ELSE ': too few to matter' END
                 WHEN 'too_wide' THEN format('rows of %s bytes: a page holds one of them at any fillfactor', round(d.row_width::numeric))
                 WHEN 'indexed_column' THEN format('%s %% of recent updates could not be HOT wherever they went, because an indexed column changed%s: no fillfactor can help. ff_blockers() shows the index and the statements',
                      round((100 * d.blocked_share)::numeric, 1), ' (' || @extschema@.ff_suspect_indexes(d.relation) || ')')
                 WHEN 'settled' THEN format('%s %% of recent updates were HOT, at most %s %% left their page%s: %s',
                      d.hot, round((100 * coalesce(d.moved_share, 1 - d.hot_share))::numeric, 1),
                      CASE WHEN d.earlier_updated > 0 AND d.earlier_hot < 0.95 * d.earlier_updated * d.hot_share
                           THEN format(', after %s %% HOT before', round(100.0 * d.earlier_hot / d.earlier_updated, 1)) ELSE '' END,
                      CASE d.verdict WHEN 'lower' THEN 'what is left to save is pruning, which full new pages need at nearly every update' ELSE 'its pages have room already' END)
                 WHEN 'old_snapshot' THEN d.held_back || ': end it first, ff_horizon() names it; more room would only fill up as well'
                 ELSE format('%s %% of recent updates left their page because it was full', round((100 * d.moved_share)::numeric, 1))
                      || CASE d.seen_cause
                           WHEN 'batch_update' THEN format('; one transaction updates %s rows of a page together, of the %s that fit it', round(least(d.update_group_rows, d.fits_now)::numeric), d.fits_now)
                           WHEN 'row_growth' THEN format('; rows grow from %s to %s bytes', round(d.inserted_width::numeric), round(d.updated_width::numeric))
                           ELSE '' END
               END,
               CASE d.verdict
                 WHEN 'lower' THEN format('. At %s a page is filled with %s rows instead of %s', d.new_fillfactor, d.fits_then, d.fits_now)
                      || CASE WHEN d.predicted_hot_pct IS NULL THEN '' ELSE format(': %s %% HOT predicted (%s to %s)',
                                         trim_scale(round(d.predicted_hot_pct::numeric, 1)), trim_scale(round(d.predicted_hot_low::numeric, 1)), trim_scale(round(d.predicted_hot_high::numeric, 1))) END
                      || CASE WHEN d.needs_rewrite THEN '; old pages keep their density until the table is rewritten' ELSE '; updates fall on new pages, so no rewrite is needed' END
                 WHEN 'raise' THEN format('. At %s a page is filled with %s rows instead of %s', d.new_fillfactor, d.fits_then, d.fits_now)
                      || CASE WHEN d.heap_bytes > d.predicted_size_bytes
                              THEN format(', %s less to store and read once rewritten', pg_size_pretty(d.heap_bytes - d.predicted_size_bytes)) ELSE '' END
                 WHEN 'wait' THEN CASE WHEN d.passed_over THEN '. The model was not asked here: ff_advise() with the name of the table asks it'
                      WHEN d.recommended_fillfactor <> d.fillfactor
                      THEN format('. %s may be better, but more has to be seen first', d.recommended_fillfactor) ELSE '' END
                 ELSE CASE WHEN d.named_cause = 'read_mostly' THEN format('. Readers fetch %s pages for each updated row, and would fetch more', d.blocks_fetched / d.updated) ELSE '' END
                      || CASE WHEN d.seen_cause IN ('page_full', 'batch_update', 'row_growth')
                              THEN '. No other fillfactor is clearly better' || coalesce(': ' || d.note, '') ELSE '' END
               END,
               CASE WHEN d.verdict IN ('lower', 'raise', 'keep') THEN '. ' || upper(left(d.memory_note, 1)) || substr(d.memory_note, 2) END,
               CASE WHEN d.wants_model AND NOT d.eligible_known AND d.verdict IN ('lower', 'wait')
                    THEN '. Whether an indexed column changes is not known, as no update stayed in its page: pg_stat_statements would tell' END,
               CASE WHEN d.counts_lost THEN '. track_counts was off for a part of the time' END,
               CASE WHEN d.open_writers > 0 AND d.verdict IN ('wait', 'keep') THEN format('. %s open transactions may hold updates that are not counted yet', d.open_writers) END,
               '.')
           END,
           CASE WHEN d.verdict IN ('lower', 'raise') THEN @extschema@.ff_ddl(d.relation, d.new_fillfactor) END,
           CASE WHEN d.verdict IN ('lower', 'raise') THEN d.gain END, d.needs_rewrite, coalesce(d.passed_over, false), d.evidence
      FROM decided d
     ORDER BY d.verdict NOT IN ('lower', 'raise'), d.gain DESC NULLS LAST, d.updated DESC NULLS LAST, d.nspname, d.relname
$$;

