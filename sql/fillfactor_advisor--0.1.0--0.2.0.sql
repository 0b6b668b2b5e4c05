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

CREATE FUNCTION @extschema@.ff_index_definitions(relation oid, indexes oid[]) RETURNS text[]
LANGUAGE c STRICT STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'ff_index_definitions';
COMMENT ON FUNCTION @extschema@.ff_index_definitions(oid, oid[]) IS 'Statements that make these indexes of a table, in this order; empty for one that is gone, and for all where the table''s lock was not to be had at once. Never waits, unlike pg_get_indexdef().';
REVOKE ALL ON FUNCTION @extschema@.ff_index_definitions(oid, oid[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_index_definitions(oid, oid[]) TO pg_stat_scan_tables, pg_read_all_stats;

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
                          WHERE e.recent_updated > e.recent_hot
                          UNION ALL
                         -- what the function says of nothing to split, without the call
                         SELECT 0, 0, 1, 0 WHERE e.recent_updated > 0 AND e.recent_updated <= e.recent_hot) s ON true
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

COMMENT ON COLUMN @extschema@.ff_interval.heap_bytes IS 'size of the main fork at the end, bytes; NULL where it was not to be had';

COMMENT ON COLUMN @extschema@.ff_interval.index_bytes IS 'size of all indexes at the end, bytes; NULL where one was not to be had';

CREATE TABLE @extschema@.ff_summary (
    rel_id          bigint PRIMARY KEY,
    since           timestamptz NOT NULL,
    until           timestamptz NOT NULL CHECK (until > since),
    fillfactor      smallint NOT NULL CHECK (fillfactor BETWEEN 10 AND 100),
    changed_at      timestamptz,
    window_began    timestamptz,
    intervals       bigint NOT NULL,
    inserted        bigint NOT NULL,
    updated         bigint NOT NULL,
    hot_updated     bigint NOT NULL,
    newpage_updated bigint,
    deleted         bigint NOT NULL,
    seq_scans       bigint NOT NULL,
    index_scans     bigint NOT NULL,
    blocks_fetched  bigint NOT NULL,
    blocks_hit      bigint NOT NULL,
    rewritten       boolean NOT NULL,
    last_updated    bigint[] NOT NULL,
    last_hot        bigint[] NOT NULL,
    last_newpage    bigint[] NOT NULL,
    last_inserted   bigint[] NOT NULL,
    last_s          double precision[] NOT NULL,
    seen_hot        double precision,
    seen_same_page  double precision,
    seen_moved      double precision
) WITH (fillfactor = 80);

COMMENT ON TABLE @extschema@.ff_summary IS 'What the older part of a table''s window adds up to, so that advice need not do it: made by collections from ff_interval and ff_page_sample, used while it is what these would give, and never needed. Not dumped. Whoever changes rows of these two by hand empties it.';

COMMENT ON COLUMN @extschema@.ff_summary.since IS 'begin of the window, see ff_window_since(): what ended before is not in it';

COMMENT ON COLUMN @extschema@.ff_summary.until IS 'end (exclusive) of what is in it; newer intervals and samples come on top';

COMMENT ON COLUMN @extschema@.ff_summary.fillfactor IS 'effective fillfactor that it was made for, percent';

COMMENT ON COLUMN @extschema@.ff_summary.changed_at IS 'last change of fillfactor or indexes known then; NULL: none';

COMMENT ON COLUMN @extschema@.ff_summary.window_began IS 'begin of the first interval; NULL: there is none';

COMMENT ON COLUMN @extschema@.ff_summary.intervals IS 'intervals, whole hours counted as one';

COMMENT ON COLUMN @extschema@.ff_summary.inserted IS 'rows inserted';

COMMENT ON COLUMN @extschema@.ff_summary.updated IS 'rows updated';

COMMENT ON COLUMN @extschema@.ff_summary.hot_updated IS 'rows HOT updated';

COMMENT ON COLUMN @extschema@.ff_summary.newpage_updated IS 'rows updated whose new version went to another page; NULL where not counted';

COMMENT ON COLUMN @extschema@.ff_summary.deleted IS 'rows deleted';

COMMENT ON COLUMN @extschema@.ff_summary.seq_scans IS 'sequential scans begun';

COMMENT ON COLUMN @extschema@.ff_summary.index_scans IS 'index scans begun';

COMMENT ON COLUMN @extschema@.ff_summary.blocks_fetched IS 'heap pages asked for';

COMMENT ON COLUMN @extschema@.ff_summary.blocks_hit IS 'heap pages found in shared buffers';

COMMENT ON COLUMN @extschema@.ff_summary.rewritten IS 'the table got a new file';

COMMENT ON COLUMN @extschema@.ff_summary.last_updated IS 'rows updated in each of the recent intervals or whole hours, newest first, see ff_recent()';

COMMENT ON COLUMN @extschema@.ff_summary.last_hot IS 'of these, HOT';

COMMENT ON COLUMN @extschema@.ff_summary.last_newpage IS 'of these, to another page; NULL where not counted';

COMMENT ON COLUMN @extschema@.ff_summary.last_inserted IS 'rows inserted in each';

COMMENT ON COLUMN @extschema@.ff_summary.last_s IS 'seconds that each covers';

COMMENT ON COLUMN @extschema@.ff_summary.seen_hot IS 'old row versions in the pages whose successor is heap-only, summed over samples; NULL without one';

COMMENT ON COLUMN @extschema@.ff_summary.seen_same_page IS 'the same: successor in the same page but not heap-only';

COMMENT ON COLUMN @extschema@.ff_summary.seen_moved IS 'the same: successor in another page';

REVOKE ALL ON @extschema@.ff_summary FROM PUBLIC;
GRANT SELECT ON @extschema@.ff_summary TO pg_read_all_stats;
-- who may write the history may write this
DO $$
DECLARE
    may record;
BEGIN
    FOR may IN
        SELECT a.privilege_type, a.grantee::regrole AS grantee
          FROM pg_class c JOIN pg_extension e ON e.extname = 'fillfactor_advisor' AND c.relnamespace = e.extnamespace
         CROSS JOIN LATERAL aclexplode(c.relacl) a
         WHERE c.relname = 'ff_interval' AND a.privilege_type IN ('INSERT', 'UPDATE', 'DELETE') AND a.grantee NOT IN (0, c.relowner)
    LOOP
        EXECUTE format('GRANT %s ON @extschema@.ff_summary TO %s', may.privilege_type, may.grantee);
    END LOOP;
    PERFORM pg_extension_config_dump(c.oid, 'WHERE false')
       FROM pg_class c JOIN pg_extension e ON e.extname = 'fillfactor_advisor' AND c.relnamespace = e.extnamespace WHERE c.relname = 'ff_summary';
END
$$;

COMMENT ON FUNCTION @extschema@.ff_sizes(oid) IS 'Main forks of a table, of all its indexes and of its TOAST table, bytes; NULL where the relation is gone or a file is missing. Needs no lock, so it never waits, unlike pg_relation_size().';

CREATE OR REPLACE VIEW @extschema@.ff_candidate AS
SELECT c.oid AS relid, n.nspname, c.relname, c.relkind, c.relpersistence, c.relispartition, c.relnamespace,
       -- nothing mapped is among them, so this is the file
       c.relfilenode, c.reloptions, c.reltuples, c.relallvisible, c.relpages,
       CASE WHEN c.relkind = 'p' THEN 'partitioned: holds no rows itself, its partitions are advised one by one'
            WHEN c.relkind = 'f' THEN 'foreign table: its pages are on another server'
            WHEN c.relpersistence = 't' THEN 'temporary table: it goes with its session'
            WHEN am.amname <> 'heap' OR am.amname IS NULL
                THEN 'access method ' || coalesce(quote_ident(am.amname), 'none') || ': only heap has a fillfactor that works this way'
       END AS not_examined
  FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace
  LEFT JOIN pg_am am ON am.oid = c.relam
 WHERE c.relkind = ANY (ARRAY['r', 'm', 'p', 'f']::"char"[])
   AND (n.nspname !~ '^pg_' OR c.relpersistence = 't') AND n.nspname <> 'information_schema'
   AND NOT EXISTS (SELECT 1 FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid
                    WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid
                      AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
                      AND e.extname = 'fillfactor_advisor');

CREATE OR REPLACE FUNCTION @extschema@.ff_collect_begin() RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
SET jit = off
-- straight from shared memory: a snapshot of all tables would be kept until the end
SET stats_fetch_consistency = none
AS $$
DECLARE
    server    record;
    database  oid := (SELECT oid FROM pg_database WHERE datname = current_database());
    epoch     integer;
    one_reset boolean;
    previous  timestamptz;
    looked_at timestamptz;
    seen      integer;
    written   integer;
    id        bigint;
BEGIN
    PERFORM pg_stat_clear_snapshot();
    SELECT * INTO server FROM @extschema@.ff_server();
    SELECT n.epoch_id, n.one_reset INTO epoch, one_reset FROM @extschema@.ff_epoch_now() n;
    looked_at := clock_timestamp();
    -- the clock was set back: what comes now would be looked for in vain
    DELETE FROM @extschema@.ff_summary s WHERE s.until > looked_at;
    SELECT max(began_at) INTO previous FROM @extschema@.ff_collection WHERE epoch_id = epoch;

    -- A history that was restored or upgraded into this database finds its
    -- tables by name, once.
    UPDATE @extschema@.ff_relation r
       SET system_identifier = server.system_identifier, database_oid = database, relid = c.relid, birth = a.xmin,
           relfilenode = c.relfilenode
      FROM @extschema@.ff_candidate c
      JOIN pg_attribute a ON a.attrelid = c.relid AND a.attnum = -1
     WHERE r.closed_at IS NULL
       AND (r.system_identifier, r.database_oid) <> (server.system_identifier, database)
       AND (c.nspname, c.relname) = (r.nspname, r.relname) AND c.not_examined IS NULL;

    -- Gone, another table under the same OID, or not found by name.
    UPDATE @extschema@.ff_relation r
       SET closed_at = looked_at
     WHERE r.closed_at IS NULL
       AND ((r.system_identifier, r.database_oid) <> (server.system_identifier, database)
            OR NOT EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = r.relid AND a.attnum = -1 AND a.xmin = r.birth));
    DELETE FROM @extschema@.ff_problem p
     USING @extschema@.ff_relation r WHERE r.rel_id = p.rel_id AND r.closed_at = looked_at;

    -- One look at all counters serves every statement part: all of them see
    -- the baselines as they were before.
    WITH look AS MATERIALIZED (
        SELECT c.relid, a.xmin AS birth, c.nspname, c.relname, c.relfilenode, c.reloptions,
               @extschema@.ff_fillfactor(c.reloptions) AS fillfactor,
               @extschema@.ff_index_oids(c.relid) AS index_oids, k.*
          FROM @extschema@.ff_candidate c
          JOIN pg_attribute a ON a.attrelid = c.relid AND a.attnum = -1
         CROSS JOIN LATERAL @extschema@.ff_counters(c.relid) k
         WHERE c.not_examined IS NULL
    ), known AS (
        SELECT l.*, r.rel_id, r.epoch_id,
               r.relfilenode <> l.relfilenode AS rewritten,
               (l.inserted, l.updated, l.hot_updated, coalesce(l.newpage_updated, 0), l.deleted)
                 IS DISTINCT FROM (r.inserted, r.updated, r.hot_updated, coalesce(r.newpage_updated, 0), r.deleted) AS moved,
               -- one table's counters were reset: any of them fell
               l.inserted < r.inserted OR l.updated < r.updated OR l.hot_updated < r.hot_updated OR l.deleted < r.deleted
                 OR coalesce(l.newpage_updated < r.newpage_updated, false) OR l.seq_scans < r.seq_scans OR l.blocks_fetched < r.blocks_fetched
                 OR l.vacuums < r.vacuums OR l.analyzes < r.analyzes AS fell,
               -- a vacuum or analyze before the last collection would have been
               -- forgotten by a reset since
               one_reset AND coalesce(least(pg_stat_get_last_vacuum_time(l.relid), pg_stat_get_last_autovacuum_time(l.relid),
                                            pg_stat_get_last_analyze_time(l.relid), pg_stat_get_last_autoanalyze_time(l.relid)) >= previous, true) AS perhaps_reset,
               r.epoch_id IS DISTINCT FROM epoch AS new_epoch,
               (l.nspname, l.relname, l.relfilenode, l.reloptions, l.index_oids)
                 IS DISTINCT FROM (r.nspname, r.relname, r.relfilenode, r.reloptions, r.index_oids) AS redefined,
               -- its lock was not to be had when its indexes were to be read
               coalesce('' = ANY (r.index_definitions), false) AS unread
          FROM look l
          JOIN @extschema@.ff_relation r ON r.relid = l.relid AND r.closed_at IS NULL
    ), changed AS MATERIALIZED (
        SELECT k.*, s.heap_bytes, s.index_bytes,
               -- A reset table whose counters exceed the old ones already shows
               -- none that fell: then whatever it may have been is not believed.
               k.fell OR k.new_epoch OR (k.perhaps_reset AND NOT EXISTS (SELECT 1 FROM known o WHERE o.fell)) AS lost,
               CASE WHEN k.redefined OR k.unread THEN @extschema@.ff_index_definitions(k.relid, k.index_oids) END AS index_definitions,
               (SELECT coalesce(sum(pg_stat_get_numscans(i.indexrelid)), 0) FROM pg_index i WHERE i.indrelid = k.relid)::bigint AS index_scans
          FROM known k CROSS JOIN LATERAL @extschema@.ff_sizes(k.relid) s
         WHERE k.moved OR k.fell OR k.new_epoch OR k.redefined OR k.unread
    ), interval_rows AS (
        INSERT INTO @extschema@.ff_interval
               (rel_id, began_at, ended_at, epoch_id, fillfactor, rewritten, inserted, updated, hot_updated, newpage_updated, deleted,
                seq_scans, index_scans, blocks_fetched, blocks_hit, vacuums, heap_bytes, index_bytes)
        SELECT c.rel_id, greatest(r.seen_at, previous), looked_at, epoch, c.fillfactor, c.rewritten,
               c.inserted - r.inserted, c.updated - r.updated, c.hot_updated - r.hot_updated, c.newpage_updated - r.newpage_updated, c.deleted - r.deleted,
               c.seq_scans - r.seq_scans, greatest(c.index_scans - r.index_scans, 0), c.blocks_fetched - r.blocks_fetched, greatest(c.blocks_hit - r.blocks_hit, 0),
               c.vacuums - r.vacuums, c.heap_bytes, c.index_bytes
          FROM changed c JOIN @extschema@.ff_relation r ON r.rel_id = c.rel_id
         WHERE (c.moved OR c.redefined) AND NOT c.lost
        RETURNING rel_id
    ), changes AS (
        INSERT INTO @extschema@.ff_change
               (rel_id, kind, before_at, seen_at, epoch_id, old_fillfactor, new_fillfactor, old_options, new_options, dropped_indexes, created_indexes)
        SELECT c.rel_id, k.kind, greatest(r.seen_at, previous), looked_at, epoch, r.fillfactor, c.fillfactor, r.reloptions, c.reloptions, x.dropped, x.created
          FROM changed c JOIN @extschema@.ff_relation r ON r.rel_id = c.rel_id
         CROSS JOIN LATERAL @extschema@.ff_index_changes(r.index_oids, r.index_definitions, c.index_oids, c.index_definitions) x
         CROSS JOIN LATERAL (VALUES ('fillfactor', c.fillfactor <> r.fillfactor),
                                    ('options', @extschema@.ff_other_options(c.reloptions) IS DISTINCT FROM @extschema@.ff_other_options(r.reloptions)),
                                    ('indexes', x.dropped IS NOT NULL OR x.created IS NOT NULL)) k(kind, differs)
         WHERE c.redefined AND k.differs
    ), baselines AS (
        UPDATE @extschema@.ff_relation r
           SET nspname = c.nspname, relname = c.relname, relfilenode = c.relfilenode, reloptions = c.reloptions, fillfactor = c.fillfactor,
               index_oids = c.index_oids, index_definitions = CASE WHEN c.redefined OR c.unread THEN c.index_definitions ELSE r.index_definitions END,
               epoch_id = epoch, seen_at = looked_at,
               inserted = c.inserted, updated = c.updated, hot_updated = c.hot_updated, newpage_updated = c.newpage_updated, deleted = c.deleted,
               seq_scans = c.seq_scans, index_scans = c.index_scans, blocks_fetched = c.blocks_fetched, blocks_hit = c.blocks_hit,
               vacuums = c.vacuums, analyzes = c.analyzes,
               changes_since_sample = CASE WHEN c.lost THEN r.changes_since_sample + c.inserted + c.updated + c.deleted
                   ELSE r.changes_since_sample + c.inserted - r.inserted + c.updated - r.updated + c.deleted - r.deleted END
          FROM changed c WHERE r.rel_id = c.rel_id
    ), fresh AS (
        INSERT INTO @extschema@.ff_relation
               (system_identifier, database_oid, relid, birth, nspname, relname, relfilenode, reloptions, fillfactor, index_oids, index_definitions, opened_at, epoch_id, seen_at,
                inserted, updated, hot_updated, newpage_updated, deleted, seq_scans, index_scans, blocks_fetched, blocks_hit, vacuums, analyzes, changes_since_sample)
        SELECT server.system_identifier, database, l.relid, l.birth, l.nspname, l.relname, l.relfilenode, l.reloptions, l.fillfactor,
               l.index_oids, @extschema@.ff_index_definitions(l.relid, l.index_oids), looked_at, epoch, looked_at,
               l.inserted, l.updated, l.hot_updated, l.newpage_updated, l.deleted, l.seq_scans,
               (SELECT coalesce(sum(pg_stat_get_numscans(i.indexrelid)), 0) FROM pg_index i WHERE i.indrelid = l.relid)::bigint,
               l.blocks_fetched, l.blocks_hit, l.vacuums, l.analyzes, l.inserted + l.updated + l.deleted
          FROM look l
         WHERE NOT EXISTS (SELECT 1 FROM @extschema@.ff_relation r WHERE r.relid = l.relid AND r.closed_at IS NULL)
        RETURNING rel_id, relid
    ), first_interval AS (
        -- Born since the previous collection of this epoch: its counters began
        -- at zero then, so they are an interval already.
        INSERT INTO @extschema@.ff_interval
               (rel_id, began_at, ended_at, epoch_id, fillfactor, rewritten, inserted, updated, hot_updated, newpage_updated, deleted,
                seq_scans, index_scans, blocks_fetched, blocks_hit, vacuums, heap_bytes, index_bytes)
        SELECT f.rel_id, previous, looked_at, epoch, l.fillfactor, false, l.inserted, l.updated, l.hot_updated, l.newpage_updated, l.deleted,
               l.seq_scans, 0, l.blocks_fetched, l.blocks_hit, l.vacuums, s.heap_bytes, s.index_bytes
          FROM fresh f JOIN look l USING (relid) CROSS JOIN LATERAL @extschema@.ff_sizes(l.relid) s
         WHERE previous IS NOT NULL AND l.inserted + l.updated + l.deleted > 0
        RETURNING rel_id
    )
    SELECT (SELECT count(*) FROM look),
           (SELECT count(*) FROM interval_rows) + (SELECT count(*) FROM first_interval)
      INTO seen, written;

    INSERT INTO @extschema@.ff_collection (epoch_id, began_at, relations, changed, track_counts, open_writers, canary)
    SELECT epoch, looked_at, seen, written, current_setting('track_counts')::boolean,
           (SELECT count(*) FROM pg_stat_get_activity(NULL) s
             WHERE s.datid = database AND s.pid <> pg_backend_pid() AND s.backend_xid IS NOT NULL
               -- a procedure that commits as it goes reports its counts at its end
               AND least(s.xact_start, s.query_start) < coalesce(previous, looked_at)),
           -- this row itself will be counted
           1 + (SELECT k.inserted FROM pg_class o, @extschema@.ff_counters(o.oid) k
                 WHERE o.relname = 'ff_collection'
                   AND o.relnamespace = (SELECT e.extnamespace FROM pg_extension e WHERE e.extname = 'fillfactor_advisor'))
    RETURNING collection_id INTO id;
    RETURN id;
END
$$;

CREATE OR REPLACE FUNCTION @extschema@.ff_prune(batch bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    oldest  CONSTANT timestamptz := clock_timestamp() - make_interval(days => @extschema@.ff_setting('retention')::integer);
    most    CONSTANT bigint := @extschema@.ff_setting('history_rows')::bigint;
    step    record;
    removed bigint := 0;
    n       bigint;
BEGIN
    -- past the retention
    WITH gone AS (
        DELETE FROM @extschema@.ff_interval i
         WHERE i.ctid = ANY (ARRAY(SELECT o.ctid FROM @extschema@.ff_interval o, (VALUES (0), (1), (2)) g(grain)
                                    WHERE o.grain = g.grain AND o.ended_at < oldest LIMIT batch))
        RETURNING i.rel_id, i.ended_at AS at
    ), stale AS (
        DELETE FROM @extschema@.ff_summary s USING gone g WHERE s.rel_id = g.rel_id AND s.since <= g.at
    )
    SELECT count(*) INTO n FROM gone;
    removed := removed + n;
    WITH gone AS (
        DELETE FROM @extschema@.ff_page_sample i
         WHERE i.ctid = ANY (ARRAY(SELECT o.ctid FROM @extschema@.ff_page_sample o, (VALUES (0), (1), (2)) g(grain)
                                    WHERE o.grain = g.grain AND o.sampled_at < oldest LIMIT greatest(batch - removed, 0)))
        RETURNING i.rel_id, i.sampled_at AS at
    ), stale AS (
        DELETE FROM @extschema@.ff_summary s USING gone g WHERE s.rel_id = g.rel_id AND s.since <= g.at
    )
    SELECT count(*) INTO n FROM gone;
    removed := removed + n;

    -- past the limit of rows: the oldest, rolled up or not
    n := least(batch - removed, @extschema@.ff_rows_kept('ff_interval') - most);
    IF n > 0 THEN
        WITH gone AS (
            DELETE FROM @extschema@.ff_interval i
             WHERE i.ctid = ANY (ARRAY(SELECT o.tid FROM (VALUES (0), (1), (2)) g(grain)
                                        CROSS JOIN LATERAL (SELECT t.ctid AS tid, t.ended_at FROM @extschema@.ff_interval t
                                                             WHERE t.grain = g.grain ORDER BY t.ended_at LIMIT n) o
                                        ORDER BY o.ended_at LIMIT n))
            RETURNING i.rel_id, i.ended_at AS at
        ), stale AS (
            DELETE FROM @extschema@.ff_summary s USING gone g WHERE s.rel_id = g.rel_id AND s.since <= g.at
        )
        SELECT count(*) INTO n FROM gone;
        removed := removed + n;
    END IF;
    n := least(batch - removed, @extschema@.ff_rows_kept('ff_page_sample') - most);
    IF n > 0 THEN
        WITH gone AS (
            DELETE FROM @extschema@.ff_page_sample i
             WHERE i.ctid = ANY (ARRAY(SELECT o.tid FROM (VALUES (0), (1), (2)) g(grain)
                                        CROSS JOIN LATERAL (SELECT t.ctid AS tid, t.sampled_at FROM @extschema@.ff_page_sample t
                                                             WHERE t.grain = g.grain ORDER BY t.sampled_at LIMIT n) o
                                        ORDER BY o.sampled_at LIMIT n))
            RETURNING i.rel_id, i.sampled_at AS at
        ), stale AS (
            DELETE FROM @extschema@.ff_summary s USING gone g WHERE s.rel_id = g.rel_id AND s.since <= g.at
        )
        SELECT count(*) INTO n FROM gone;
        removed := removed + n;
    END IF;

    -- after a day by the hour, after two weeks by the day
    -- (UTC, so that all sessions agree; a volatile bound would have the index read whole)
    FOR step IN SELECT v.*, date_trunc(v.unit, clock_timestamp() - v.age, 'UTC') AS before
                  FROM (VALUES (0, 'hour', interval '1 day'), (1, 'day', interval '14 days')) v(grain, unit, age) LOOP
        WITH taken AS (
            DELETE FROM @extschema@.ff_interval i
             WHERE i.ctid = ANY (ARRAY(SELECT o.ctid FROM @extschema@.ff_interval o
                                        WHERE o.grain = step.grain AND o.ended_at < step.before
                                        ORDER BY o.ended_at LIMIT greatest(batch - removed, 0)))
            RETURNING *
        ), rolled AS (
            INSERT INTO @extschema@.ff_interval
                   (rel_id, began_at, ended_at, epoch_id, grain, fillfactor, rewritten, inserted, updated, hot_updated, newpage_updated, deleted,
                    seq_scans, index_scans, blocks_fetched, blocks_hit, vacuums, heap_bytes, index_bytes)
            SELECT rel_id, min(began_at), max(ended_at), epoch_id, step.grain + 1, fillfactor, bool_or(rewritten),
                   sum(inserted), sum(updated), sum(hot_updated),
                   CASE WHEN count(newpage_updated) = count(*) THEN sum(newpage_updated) END, sum(deleted),
                   sum(seq_scans), sum(index_scans), sum(blocks_fetched), sum(blocks_hit), sum(vacuums),
                   (array_agg(heap_bytes ORDER BY ended_at DESC) FILTER (WHERE heap_bytes IS NOT NULL))[1],
                   (array_agg(index_bytes ORDER BY ended_at DESC) FILTER (WHERE index_bytes IS NOT NULL))[1]
              FROM taken GROUP BY rel_id, epoch_id, fillfactor, date_trunc(step.unit, ended_at, 'UTC')
        ), stale AS (
            -- hours of one fillfactor and one set of indexes add up to what they were
            DELETE FROM @extschema@.ff_summary s USING taken t
             WHERE s.rel_id = t.rel_id AND s.since <= t.ended_at AND (step.grain > 0 OR s.fillfactor <> t.fillfactor OR s.changed_at >= s.since)
        )
        SELECT count(*) INTO n FROM taken;
        removed := removed + n;

        -- of samples the last one of the hour or day is kept
        WITH old AS (
            SELECT o.ctid AS tid, o.rel_id, o.sampled_at
              FROM @extschema@.ff_page_sample o
             WHERE o.grain = step.grain AND o.sampled_at < step.before
             ORDER BY o.sampled_at LIMIT greatest(batch - removed, 0)
        ), ranked AS (
            SELECT tid, row_number() OVER (PARTITION BY rel_id, date_trunc(step.unit, sampled_at, 'UTC') ORDER BY sampled_at DESC) = 1 AS last_one FROM old
        ), gone AS (
            DELETE FROM @extschema@.ff_page_sample i WHERE i.ctid = ANY (ARRAY(SELECT tid FROM ranked WHERE NOT last_one))
            RETURNING i.rel_id, i.sampled_at, i.fillfactor, i.superseded_hot, i.superseded_same_page, i.superseded_moved
        ), stale AS (
            DELETE FROM @extschema@.ff_summary s USING gone g
             WHERE s.rel_id = g.rel_id AND s.since <= g.sampled_at AND s.changed_at >= s.since
        ), less AS (
            -- what ff_summarise() added up
            UPDATE @extschema@.ff_summary s
               SET seen_hot = s.seen_hot - l.hot, seen_same_page = s.seen_same_page - l.same_page, seen_moved = s.seen_moved - l.moved
              FROM (SELECT o.rel_id, coalesce(sum(round(g.superseded_hot * 1024) / 1024), 0) AS hot,
                           coalesce(sum(round(g.superseded_same_page * 1024) / 1024), 0) AS same_page,
                           coalesce(sum(round(g.superseded_moved * 1024) / 1024), 0) AS moved
                      FROM gone g
                      JOIN @extschema@.ff_summary o ON o.rel_id = g.rel_id AND g.sampled_at >= o.since AND g.sampled_at < o.until AND g.fillfactor = o.fillfactor
                     GROUP BY o.rel_id) l
             WHERE s.rel_id = l.rel_id AND (s.changed_at >= s.since) IS NOT TRUE
        ), kept AS (
            UPDATE @extschema@.ff_page_sample i SET grain = step.grain + 1 WHERE i.ctid = ANY (ARRAY(SELECT tid FROM ranked WHERE last_one))
        )
        SELECT count(*) INTO n FROM ranked;
        removed := removed + n;
    END LOOP;

    DELETE FROM @extschema@.ff_collection c
     WHERE c.collection_id = ANY (ARRAY(SELECT o.collection_id FROM @extschema@.ff_collection o WHERE o.began_at < oldest ORDER BY o.began_at LIMIT batch));
    GET DIAGNOSTICS n = ROW_COUNT;  removed := removed + n;
    DELETE FROM @extschema@.ff_change o WHERE o.seen_at < oldest;
    DELETE FROM @extschema@.ff_prediction o WHERE o.made_at < oldest;
    -- the value in force stays, however old
    DELETE FROM @extschema@.ff_setting_history o
     WHERE o.seen_at < oldest AND EXISTS (SELECT 1 FROM @extschema@.ff_setting_history l WHERE l.setting = o.setting AND l.seen_at > o.seen_at);
    DELETE FROM @extschema@.ff_summary s USING @extschema@.ff_relation r WHERE r.rel_id = s.rel_id AND r.closed_at IS NOT NULL;
    DELETE FROM @extschema@.ff_relation r
     WHERE r.closed_at < oldest
       AND NOT EXISTS (SELECT 1 FROM @extschema@.ff_interval i WHERE i.rel_id = r.rel_id)
       AND NOT EXISTS (SELECT 1 FROM @extschema@.ff_page_sample p WHERE p.rel_id = r.rel_id);
    RETURN removed;
END
$$;

CREATE OR REPLACE FUNCTION @extschema@.ff_prune_statements(batch bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    oldest  CONSTANT timestamptz := clock_timestamp() - make_interval(days => @extschema@.ff_setting('retention')::integer);
    step    record;
    removed bigint := 0;
    n       bigint;
BEGIN
    DELETE FROM @extschema@.ff_statement_history h
     WHERE h.ctid = ANY (ARRAY(SELECT o.ctid FROM @extschema@.ff_statement_history o, (VALUES (0), (1), (2)) g(grain)
                                WHERE o.grain = g.grain AND o.ended_at < oldest LIMIT batch));
    GET DIAGNOSTICS n = ROW_COUNT;  removed := removed + n;

    -- after a day by the hour, after two weeks by the day
    -- (UTC, so that all sessions agree; a volatile bound would have the index read whole)
    FOR step IN SELECT v.*, date_trunc(v.unit, clock_timestamp() - v.age, 'UTC') AS before
                  FROM (VALUES (0, 'hour', interval '1 day'), (1, 'day', interval '14 days')) v(grain, unit, age) LOOP
        WITH taken AS (
            DELETE FROM @extschema@.ff_statement_history h
             WHERE h.ctid = ANY (ARRAY(SELECT o.ctid FROM @extschema@.ff_statement_history o
                                        WHERE o.grain = step.grain AND o.ended_at < step.before
                                        ORDER BY o.ended_at LIMIT greatest(batch - removed, 0)))
            RETURNING *
        ), rolled AS (
            INSERT INTO @extschema@.ff_statement_history (statement_id, began_at, ended_at, statement_epoch_id, grain, calls, rows, total_ms, stddev_ms,
                   blocks_hit, blocks_read, blocks_dirtied, blocks_written, read_ms, wal_records, wal_fpi, wal_bytes)
            SELECT t.statement_id, min(t.began_at), max(t.ended_at), t.statement_epoch_id, step.grain + 1, sum(t.calls), sum(t.rows), sum(t.total_ms),
                   sqrt(greatest(sum(t.calls * t.stddev_ms ^ 2 + t.total_ms ^ 2 / t.calls) / sum(t.calls)::double precision
                                 - (sum(t.total_ms) / sum(t.calls)::double precision) ^ 2, 0)),
                   sum(t.blocks_hit), sum(t.blocks_read), sum(t.blocks_dirtied), sum(t.blocks_written), sum(t.read_ms),
                   sum(t.wal_records), sum(t.wal_fpi), sum(t.wal_bytes)
              FROM taken t GROUP BY t.statement_id, t.statement_epoch_id, date_trunc(step.unit, t.ended_at, 'UTC')
        )
        SELECT count(*) INTO n FROM taken;
        removed := removed + n;
    END LOOP;

    DELETE FROM @extschema@.ff_statement_look l
     WHERE l.collection_id = ANY (ARRAY(SELECT o.collection_id FROM @extschema@.ff_statement_look o WHERE o.looked_at < oldest ORDER BY o.looked_at LIMIT greatest(batch - removed, 0)));
    GET DIAGNOSTICS n = ROW_COUNT;  removed := removed + n;
    WITH gone AS (
        DELETE FROM @extschema@.ff_statement s
         WHERE s.closed_at IS NOT NULL
           AND NOT EXISTS (SELECT 1 FROM @extschema@.ff_statement_history h WHERE h.statement_id = s.statement_id)
        RETURNING s.statement_id
    )
    DELETE FROM @extschema@.ff_statement_target t USING gone WHERE t.statement_id = gone.statement_id;
    RETURN removed;
END
$$;

COMMENT ON COLUMN @extschema@.ff_table_evidence.window_began IS 'begin of the first interval of the window that the figures below cover: at most fillfactor_advisor.lookback days and a part of one more, only since fillfactor or the set of indexes last changed';

COMMENT ON COLUMN @extschema@.ff_table_evidence.intervals IS 'intervals in it, those of an hour counted as one once it ended two hours ago';

COMMENT ON COLUMN @extschema@.ff_table_evidence.heap_bytes IS 'size of the main fork now; NULL where not to be had';

COMMENT ON COLUMN @extschema@.ff_table_evidence.index_bytes IS 'size of all indexes now; NULL where not to be had';

COMMENT ON COLUMN @extschema@.ff_table_evidence.toast_bytes IS 'size of the TOAST table now; NULL where not to be had';

CREATE FUNCTION @extschema@.ff_window_since(rel_id bigint) RETURNS timestamptz
LANGUAGE c STRICT STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'ff_window_since';
COMMENT ON FUNCTION @extschema@.ff_window_since(bigint) IS 'Where the window of a table (its rel_id) begins: fillfactor_advisor.lookback days and up to one more before this transaction, at an hour of the day of its own, so that it leaves a day behind once a day. Internal step of ff_evidence().';
REVOKE ALL ON FUNCTION @extschema@.ff_window_since(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_window_since(bigint) TO pg_read_all_stats, pg_stat_scan_tables;

CREATE FUNCTION @extschema@.ff_whole_hours() RETURNS timestamptz
LANGUAGE c STRICT STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'ff_whole_hours';
COMMENT ON FUNCTION @extschema@.ff_whole_hours() IS 'Until when (exclusive) the intervals of an hour count as one: the begin of the hour two hours before this transaction. Internal step of ff_evidence().';
REVOKE ALL ON FUNCTION @extschema@.ff_whole_hours() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_whole_hours() TO pg_read_all_stats, pg_stat_scan_tables;

CREATE FUNCTION @extschema@.ff_unit(ended_at timestamptz) RETURNS timestamptz
LANGUAGE c STRICT STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'ff_unit';
COMMENT ON FUNCTION @extschema@.ff_unit(timestamptz) IS 'What an interval that ended then counts with: the begin of its hour (UTC) before ff_whole_hours(), from there on itself. Internal step of ff_evidence().';
REVOKE ALL ON FUNCTION @extschema@.ff_unit(timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_unit(timestamptz) TO pg_read_all_stats, pg_stat_scan_tables;

CREATE FUNCTION @extschema@.ff_recent(
    total bigint, updated bigint[], hot_updated bigint[], newpage_updated bigint[], inserted bigint[], seconds double precision[],
    OUT recent integer, OUT recent_updated bigint, OUT recent_hot bigint, OUT recent_newpage bigint, OUT recent_inserted bigint, OUT recent_s double precision)
LANGUAGE c STRICT IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'ff_recent';
COMMENT ON FUNCTION @extschema@.ff_recent(bigint, bigint[], bigint[], bigint[], bigint[], double precision[]) IS 'Sums of the recent ones among intervals, given newest first: the newest, each as a whole, until they have a third of the total of updates; all where that is zero. recent: how many. Internal step of ff_evidence().';
REVOKE ALL ON FUNCTION @extschema@.ff_recent(bigint, bigint[], bigint[], bigint[], bigint[], double precision[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_recent(bigint, bigint[], bigint[], bigint[], bigint[], double precision[]) TO pg_read_all_stats, pg_stat_scan_tables;

CREATE VIEW @extschema@.ff_last_change AS
SELECT c.rel_id, c.changed_at, c.reindexed_at,
       -- the sample that came with the change saw the versions from before it
       CASE WHEN c.reindexed_at IS NOT NULL
            THEN coalesce((SELECT min(o.began_at) FROM @extschema@.ff_collection o WHERE o.began_at > c.reindexed_at), 'infinity') END AS samples_from
  FROM (SELECT h.rel_id, max(h.seen_at) AS changed_at, max(h.seen_at) FILTER (WHERE h.kind = 'indexes') AS reindexed_at
          FROM @extschema@.ff_change h WHERE h.kind IN ('fillfactor', 'indexes') GROUP BY h.rel_id) c;

COMMENT ON VIEW @extschema@.ff_last_change IS 'When fillfactor or indexes of a table last changed (changed_at) and when its indexes did (reindexed_at), after which other updates can be HOT and other samples speak of them (samples_from).';

REVOKE ALL ON @extschema@.ff_last_change FROM PUBLIC;

GRANT SELECT ON @extschema@.ff_last_change TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_summarise(ids bigint[], fillfactors integer[], until timestamptz) RETURNS SETOF @extschema@.ff_summary
LANGUAGE sql STABLE ROWS 1000
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
    -- Table by table and newest first, as the index has them: the plan does
    -- not depend on statistics, and nothing is sorted that is larger than
    -- one table's window.
    WITH wanted AS MATERIALIZED (
        SELECT w.rel_id AS id, w.fillfactor AS fillfactor_now, w.since AS since_now, w.changed_at AS changed_last, w.reindexed_at, w.samples_from, s.*,
               -- whatever is written of a table moves these
               coalesce(r.seen_at < s.until AND coalesce(r.sampled_at < s.until, true), false) AS quiet
          FROM (SELECT a.rel_id, a.fillfactor, @extschema@.ff_window_since(a.rel_id) AS since, x.changed_at, x.reindexed_at, x.samples_from
                  FROM unnest($1, $2) a(rel_id, fillfactor)
                  LEFT JOIN LATERAL (SELECT * FROM @extschema@.ff_last_change l WHERE l.rel_id = a.rel_id LIMIT 1) x ON true) w
          LEFT JOIN LATERAL (SELECT o.seen_at, o.sampled_at FROM @extschema@.ff_relation o WHERE o.rel_id = w.rel_id LIMIT 1) r ON true
          -- a summary that is what its part of the window would add up to now
          LEFT JOIN LATERAL (SELECT * FROM @extschema@.ff_summary o
                              WHERE o.rel_id = w.rel_id AND o.since = w.since AND o.until <= least($3, @extschema@.ff_whole_hours())
                                AND o.fillfactor = w.fillfactor
                                AND o.changed_at IS NOT DISTINCT FROM w.changed_at AND coalesce(w.changed_at < o.until, true) LIMIT 1) s ON true
    )
    SELECT w.rel_id, w.since, $3, w.fillfactor, w.changed_at, w.window_began, w.intervals, w.inserted, w.updated, w.hot_updated, w.newpage_updated, w.deleted,
           w.seq_scans, w.index_scans, w.blocks_fetched, w.blocks_hit, w.rewritten,
           w.last_updated, w.last_hot, w.last_newpage, w.last_inserted, w.last_s, w.seen_hot, w.seen_same_page, w.seen_moved
      FROM wanted w
     WHERE w.quiet
    UNION ALL
    SELECT s.id, s.since_now, $3, s.fillfactor_now::smallint, s.changed_last, least(s.window_began, k.window_began), coalesce(s.intervals, 0) + k.intervals,
           coalesce(s.inserted, 0) + k.inserted, z.total, coalesce(s.hot_updated, 0) + k.hot_updated,
           CASE WHEN s.rel_id IS NULL THEN k.newpage_updated ELSE s.newpage_updated + k.newpage_updated END, coalesce(s.deleted, 0) + k.deleted,
           coalesce(s.seq_scans, 0) + k.seq_scans, coalesce(s.index_scans, 0) + k.index_scans,
           coalesce(s.blocks_fetched, 0) + k.blocks_fetched, coalesce(s.blocks_hit, 0) + k.blocks_hit, coalesce(s.rewritten, false) OR k.rewritten,
           z.updated[:y.recent], z.hot[:y.recent], z.newpage[:y.recent], z.inserted[:y.recent], z.s[:y.recent],
           CASE WHEN num_nonnulls(s.seen_hot, v.hot) > 0 THEN coalesce(s.seen_hot, 0) + coalesce(v.hot, 0) END,
           CASE WHEN num_nonnulls(s.seen_same_page, v.same_page) > 0 THEN coalesce(s.seen_same_page, 0) + coalesce(v.same_page, 0) END,
           CASE WHEN num_nonnulls(s.seen_moved, v.moved) > 0 THEN coalesce(s.seen_moved, 0) + coalesce(v.moved, 0) END
      FROM (SELECT * FROM wanted w WHERE NOT w.quiet) s
     CROSS JOIN LATERAL (
        SELECT min(u.began_at) AS window_began, count(*) AS intervals,
               coalesce(sum(u.inserted), 0)::bigint AS inserted, coalesce(sum(u.updated), 0)::bigint AS updated, coalesce(sum(u.hot_updated), 0)::bigint AS hot_updated,
               CASE WHEN count(u.newpage_updated) = count(*) THEN coalesce(sum(u.newpage_updated), 0)::bigint END AS newpage_updated,
               coalesce(sum(u.deleted), 0)::bigint AS deleted, coalesce(sum(u.seq_scans), 0)::bigint AS seq_scans, coalesce(sum(u.index_scans), 0)::bigint AS index_scans,
               coalesce(sum(u.blocks_fetched), 0)::bigint AS blocks_fetched, coalesce(sum(u.blocks_hit), 0)::bigint AS blocks_hit, coalesce(bool_or(u.rewritten), false) AS rewritten,
               coalesce(array_agg(u.updated), '{}') AS last_updated, coalesce(array_agg(u.hot_updated), '{}') AS last_hot,
               coalesce(array_agg(u.newpage_updated), '{}') AS last_newpage, coalesce(array_agg(u.inserted), '{}') AS last_inserted,
               coalesce(array_agg(extract(epoch FROM u.ended_at - u.began_at)::double precision), '{}') AS last_s
          FROM (SELECT r.unit, min(r.began_at) AS began_at, max(r.ended_at) AS ended_at,
                       sum(r.inserted)::bigint AS inserted, sum(r.updated)::bigint AS updated, sum(r.hot_updated)::bigint AS hot_updated,
                       CASE WHEN count(r.newpage_updated) = count(*) THEN sum(r.newpage_updated)::bigint END AS newpage_updated,
                       sum(r.deleted)::bigint AS deleted, sum(r.seq_scans)::bigint AS seq_scans, sum(r.index_scans)::bigint AS index_scans,
                       sum(r.blocks_fetched)::bigint AS blocks_fetched, sum(r.blocks_hit)::bigint AS blocks_hit, bool_or(r.rewritten) AS rewritten
                  FROM (SELECT i.*, @extschema@.ff_unit(i.ended_at) AS unit,
                               bool_or(i.fillfactor <> s.fillfactor_now OR coalesce(i.ended_at <= s.reindexed_at, false))
                                   OVER (ORDER BY i.ended_at DESC ROWS UNBOUNDED PRECEDING) AS other_times
                          FROM @extschema@.ff_interval i
                         WHERE i.rel_id = s.id AND i.ended_at >= coalesce(s.until, s.since_now) AND i.ended_at < $3) r
                 -- only intervals since fillfactor or the indexes last changed speak of today
                 WHERE NOT r.other_times
                 GROUP BY r.unit
                 ORDER BY r.unit DESC) u) k
     CROSS JOIN LATERAL (
        -- what the old versions still in the pages told, over all samples;
        -- multiples of 1/1024 add up exactly, and can be taken away again
        SELECT sum(round(p.superseded_hot * 1024) / 1024) AS hot, sum(round(p.superseded_same_page * 1024) / 1024) AS same_page,
               sum(round(p.superseded_moved * 1024) / 1024) AS moved
          FROM @extschema@.ff_page_sample p
         WHERE p.rel_id = s.id AND p.sampled_at >= greatest(coalesce(s.until, s.since_now), s.samples_from) AND p.sampled_at < $3 AND p.fillfactor = s.fillfactor_now) v
     CROSS JOIN LATERAL (
        -- what was not recent any more at s.until is not recent now
        SELECT coalesce(s.updated, 0) + k.updated AS total,
               k.last_updated || s.last_updated AS updated, k.last_hot || s.last_hot AS hot, k.last_newpage || s.last_newpage AS newpage,
               k.last_inserted || s.last_inserted AS inserted, k.last_s || s.last_s AS s) z
     CROSS JOIN LATERAL @extschema@.ff_recent(z.total, z.updated, z.hot, z.newpage, z.inserted, z.s) y
$$;
COMMENT ON FUNCTION @extschema@.ff_summarise(bigint[], integer[], timestamptz) IS 'What the windows of these tables (rel_id) add up to, given the fillfactor that each has today, until a whole hour up to ff_whole_hours() or until infinity: a row for each, as in ff_summary. Goes on from the row there, where that is still right. Internal step of ff_evidence().';
REVOKE ALL ON FUNCTION @extschema@.ff_summarise(bigint[], integer[], timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_summarise(bigint[], integer[], timestamptz) TO pg_read_all_stats, pg_stat_scan_tables;

CREATE FUNCTION @extschema@.ff_summaries_due() RETURNS SETOF bigint
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- Not valid any more, or so old that what came since is a lot to add;
    -- oldest first.  A table whose fillfactor or indexes changed just now has
    -- none until that hour counts as a whole.
    SELECT r.rel_id
      FROM @extschema@.ff_relation r
      -- full joins are never nested loops, whatever statistics there are
      FULL JOIN @extschema@.ff_summary s ON s.rel_id = r.rel_id
      FULL JOIN @extschema@.ff_last_change x ON x.rel_id = r.rel_id
     WHERE CASE WHEN r.rel_id IS NULL OR r.closed_at IS NOT NULL OR x.changed_at >= @extschema@.ff_whole_hours() THEN false
                ELSE s.rel_id IS NULL OR s.since <> @extschema@.ff_window_since(r.rel_id) OR s.fillfactor <> r.fillfactor
                     OR s.changed_at IS DISTINCT FROM x.changed_at
                     OR s.until <= @extschema@.ff_whole_hours() - interval '3 hours' AND r.seen_at >= s.until END
     ORDER BY s.until NULLS FIRST, r.rel_id
$$;
COMMENT ON FUNCTION @extschema@.ff_summaries_due() IS 'rel_id of the tables whose row in ff_summary should be made anew, oldest first. Internal step of ff_collect().';
REVOKE ALL ON FUNCTION @extschema@.ff_summaries_due() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_summaries_due() TO pg_stat_scan_tables;

CREATE FUNCTION @extschema@.ff_collect_summaries(ids bigint[]) RETURNS bigint
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH made AS (
        INSERT INTO @extschema@.ff_summary AS o
        SELECT s.*
          FROM (SELECT array_agg(r.rel_id) AS ids, array_agg(r.fillfactor::integer) AS fillfactors
                  FROM @extschema@.ff_relation r WHERE r.rel_id = ANY (ids)) a
         CROSS JOIN LATERAL @extschema@.ff_summarise(a.ids, a.fillfactors, @extschema@.ff_whole_hours()) s
        ON CONFLICT (rel_id) DO UPDATE
           SET (since, until, fillfactor, changed_at, window_began, intervals, inserted, updated, hot_updated, newpage_updated, deleted,
                seq_scans, index_scans, blocks_fetched, blocks_hit, rewritten, last_updated, last_hot, last_newpage, last_inserted, last_s,
                seen_hot, seen_same_page, seen_moved)
             = (EXCLUDED.since, EXCLUDED.until, EXCLUDED.fillfactor, EXCLUDED.changed_at, EXCLUDED.window_began, EXCLUDED.intervals, EXCLUDED.inserted,
                EXCLUDED.updated, EXCLUDED.hot_updated, EXCLUDED.newpage_updated, EXCLUDED.deleted, EXCLUDED.seq_scans, EXCLUDED.index_scans,
                EXCLUDED.blocks_fetched, EXCLUDED.blocks_hit, EXCLUDED.rewritten, EXCLUDED.last_updated, EXCLUDED.last_hot, EXCLUDED.last_newpage,
                EXCLUDED.last_inserted, EXCLUDED.last_s, EXCLUDED.seen_hot, EXCLUDED.seen_same_page, EXCLUDED.seen_moved)
        RETURNING o.rel_id
    )
    SELECT count(*) FROM made;
$$;
COMMENT ON FUNCTION @extschema@.ff_collect_summaries(bigint[]) IS 'Makes the rows of ff_summary of these tables (rel_id) anew and returns how many. Internal step of ff_collect().';
REVOKE ALL ON FUNCTION @extschema@.ff_collect_summaries(bigint[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_collect_summaries(bigint[]) TO pg_stat_scan_tables;

CREATE OR REPLACE FUNCTION @extschema@.ff_evidence(relation regclass DEFAULT NULL)
RETURNS SETOF @extschema@.ff_table_evidence
LANGUAGE sql STABLE ROWS 1000
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
    -- Written so that no statistics, be they missing or old, make it loop over
    -- all tables for each table: LATERAL with LIMIT or an aggregate is a look
    -- at an index, a full join is never a nested loop.
    WITH examined AS MATERIALIZED (
        SELECT c.*, r.rel_id, r.sampled_at, @extschema@.ff_fillfactor(c.reloptions) AS fillfactor
          FROM (SELECT n.*, o.system_identifier, d.oid AS database_oid
                  FROM @extschema@.ff_candidate n
                 CROSS JOIN @extschema@.ff_server() o
                  JOIN pg_database d ON d.datname = current_database()
                 WHERE $1 IS NULL OR n.relid = $1) c
          LEFT JOIN LATERAL (
                -- of a restored history the OIDs say nothing until a collection found the tables
                SELECT k.rel_id, k.sampled_at FROM @extschema@.ff_relation k
                 WHERE k.system_identifier = c.system_identifier AND k.database_oid = c.database_oid AND k.relid = c.relid AND k.closed_at IS NULL LIMIT 1) r ON true
    ), memory AS MATERIALIZED (
        SELECT @extschema@.ff_ram_bytes() AS bytes
    ), counted AS MATERIALIZED (
        SELECT s.*, y.*
          FROM (SELECT array_agg(e.rel_id) AS ids, array_agg(e.fillfactor) AS fillfactors FROM examined e WHERE e.rel_id IS NOT NULL) a
         CROSS JOIN LATERAL @extschema@.ff_summarise(a.ids, a.fillfactors, 'infinity') s
         CROSS JOIN LATERAL @extschema@.ff_recent(s.updated, s.last_updated, s.last_hot, s.last_newpage, s.last_inserted, s.last_s) y
    ), looks AS MATERIALIZED (
        SELECT max(c.began_at) AS looked_at, bool_or(NOT c.track_counts) AS counts_lost,
               (array_agg(c.open_writers ORDER BY c.began_at DESC))[1] AS open_writers
          FROM @extschema@.ff_collection c
         WHERE c.began_at > now() - make_interval(days => @extschema@.ff_setting('lookback')::integer)
    )
    SELECT e.relid::regclass, e.rel_id, e.nspname, e.relname, e.relkind, e.not_examined, e.fillfactor, e.reloptions,
           l.looked_at, n.window_began, extract(epoch FROM l.looked_at - n.window_began)::double precision, n.intervals,
           n.inserted, n.updated, n.hot_updated, n.newpage_updated, n.deleted,
           n.seq_scans, n.index_scans, n.blocks_fetched, n.blocks_hit,
           n.recent_updated, n.recent_hot, CASE WHEN n.newpage_updated IS NOT NULL THEN n.recent_newpage END, n.recent_inserted, n.recent_s,
           n.updated - n.recent_updated, n.hot_updated - n.recent_hot, n.rewritten, l.counts_lost, l.open_writers,
           k.seen_hot, k.seen_same_page, k.seen_moved,
           z.heap_bytes, z.index_bytes, z.toast_bytes, b.heap_bytes,
           x.indexes::integer,
           m.bytes, (z.heap_bytes + z.index_bytes) / nullif(m.bytes, 0)::double precision,
           (SELECT p.sqlstate || ' ' || p.message FROM @extschema@.ff_problem p WHERE p.rel_id = e.rel_id),
           p.sampled_at,
           p.blocks, p.blocks_read, p.blocks_new, p.blocks_bad, p.live_pct, p.live_pct_err, p.dead_pct,
           p.dead_pct_err, p.free_pct, p.free_pct_err, p.reserve_pct, p.live_rows, p.live_rows_err, p.dead_rows,
           p.recently_dead_rows, p.redirect_lps, p.dead_lps, p.unused_lps, p.updated_hot_rows, p.updated_cold_rows,
           p.superseded_hot, p.superseded_same_page, p.superseded_moved, p.rows_per_page, p.rows_per_page_max,
           p.inserted_width, p.inserted_width_err, p.updated_width, p.updated_width_err, p.updated_pct,
           p.update_group_rows, p.insert_group_rows, p.update_distance, p.update_distance_p10, p.update_distance_p90,
           p.page_lsn_age_p10, p.page_lsn_age_p50, p.page_lsn_age_p90, p.full_pct, p.fill_histogram
      FROM examined e
      FULL JOIN counted k ON k.rel_id = e.rel_id
     CROSS JOIN looks l
     CROSS JOIN memory m
      LEFT JOIN LATERAL (SELECT k.* WHERE k.intervals > 0) n ON true
      LEFT JOIN LATERAL @extschema@.ff_sizes(CASE WHEN e.not_examined IS NULL THEN e.relid END) z ON true
      LEFT JOIN LATERAL (SELECT i.heap_bytes FROM @extschema@.ff_interval i
                          WHERE i.rel_id = n.rel_id AND i.ended_at >= n.window_began AND i.began_at >= n.window_began AND i.heap_bytes IS NOT NULL
                          ORDER BY i.ended_at LIMIT 1) b ON true
     CROSS JOIN LATERAL (SELECT count(*) AS indexes FROM pg_index o WHERE o.indrelid = e.relid AND o.indisvalid) x
      LEFT JOIN LATERAL (SELECT * FROM @extschema@.ff_page_sample s
                          WHERE s.rel_id = e.rel_id AND s.sampled_at <= e.sampled_at
                          ORDER BY s.sampled_at DESC LIMIT 1) p ON true
$$;
COMMENT ON FUNCTION @extschema@.ff_evidence(regclass) IS 'Everything observed over the recent window, one row a table outside the system schemas, examined or not. Only intervals since fillfactor or the set of indexes last changed count, at most fillfactor_advisor.lookback days of them and a part of one more; older than two hours, those of an hour count as one.';
