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

-- Functions that are dropped below and made anew are to have the rights that
-- were granted, and lack those that were taken away, since they were installed.
DO $$
BEGIN
    PERFORM set_config('ff_upgrade.rights', coalesce((
        SELECT jsonb_agg(jsonb_build_object('oid', p.oid::text, 'name', p.proname,
                         'granted', (SELECT jsonb_agg(format('TO %s%s', CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END, CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END))
                                       FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a WHERE a.grantee <> p.proowner)))
          FROM pg_extension e
          JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.deptype = 'e' AND d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
          JOIN pg_proc p ON p.oid = d.objid
          LEFT JOIN pg_init_privs i ON i.classoid = 'pg_proc'::regclass AND i.objoid = p.oid AND i.objsubid = 0
         WHERE e.extname = 'fillfactor_advisor' AND p.proacl IS DISTINCT FROM i.initprivs), '[]')::text, true);
END
$$;

CREATE FUNCTION @extschema@.ff_index_definitions(relation oid, indexes oid[]) RETURNS text[]
LANGUAGE c STRICT STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'ff_index_definitions';
COMMENT ON FUNCTION @extschema@.ff_index_definitions(oid, oid[]) IS 'Statements that make these indexes of a table, in this order; empty for one that is gone, and for all where the table''s lock was not to be had at once. Never waits, unlike pg_get_indexdef().';
REVOKE ALL ON FUNCTION @extschema@.ff_index_definitions(oid, oid[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_index_definitions(oid, oid[]) TO pg_stat_scan_tables, pg_read_all_stats;

ALTER TABLE @extschema@.ff_collection ADD COLUMN next_xid xid8;
ALTER TABLE @extschema@.ff_collection ADD COLUMN busy_ms double precision;
COMMENT ON COLUMN @extschema@.ff_collection.next_xid IS 'next transaction id then, with its epoch: distances in the pages are counted in these; NULL before 0.2.0';
COMMENT ON COLUMN @extschema@.ff_collection.busy_ms IS 'milliseconds that all sessions of this database had spent by then in statements and open transactions, by pg_stat_database; NULL before 0.2.0';

DROP FUNCTION @extschema@.ff_model(record, record);
CREATE FUNCTION @extschema@.ff_model(
    evidence record, extra record,
    OUT fillfactor integer, OUT rows_per_page integer,
    OUT hot_pct double precision, OUT hot_pct_low double precision, OUT hot_pct_high double precision,
    OUT moved_pct double precision, OUT settled_hot_pct double precision,
    OUT size_bytes bigint, OUT index_bytes bigint, OUT wal_bytes_per_update double precision, OUT us_per_update double precision,
    OUT cost double precision, OUT is_current boolean, OUT is_advised boolean,
    OUT gain double precision, OUT best_gain double precision, OUT rewrite_gain double precision, OUT wal_bytes_now double precision,
    OUT confidence double precision, OUT agreement double precision,
    OUT needs_rewrite boolean, OUT seen_hot_pct double precision, OUT fitted_hot_pct double precision,
    OUT fresh_share double precision, OUT hot_eligible double precision, OUT advised_in_ram integer, OUT filled_at integer, OUT runs integer, OUT lifecycles text)
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
    OUT predicted_rows_per_page integer, OUT current_rows_per_page integer, OUT predicted_size_bytes bigint, OUT predicted_index_bytes bigint, OUT predicted_wal_pct double precision,
    OUT confidence double precision, OUT gain double precision, OUT needs_rewrite boolean, OUT filled_at integer, OUT rewrite_gain double precision,
    OUT update_call_rows double precision, OUT note text, OUT memory_note text)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH m AS MATERIALIZED (
        SELECT m.*, x.update_call_rows FROM @extschema@.ff_model_extra(e) x CROSS JOIN LATERAL @extschema@.ff_model(e, x) m
    )
    SELECT CASE WHEN a.is_current THEN e.fillfactor ELSE a.fillfactor END,
           a.hot_pct, a.hot_pct_low, a.hot_pct_high, a.rows_per_page, c.rows_per_page, a.size_bytes, a.index_bytes,
           100 * a.wal_bytes_per_update / nullif(a.wal_bytes_now, 0), a.confidence, a.gain, a.needs_rewrite, a.filled_at, a.rewrite_gain, a.update_call_rows,
           CASE WHEN a.is_current AND a.best_gain > 1.005
                THEN format(CASE WHEN a.best_gain < 1 + @extschema@.ff_setting('min_gain')::double precision / 100
                                 THEN 'the best step would save %s %%, less than fillfactor_advisor.min_gain'
                                 ELSE 'one might save %s %%, but not by every explanation of what was seen' END, round((100 * (1 - 1 / a.best_gain))::numeric, 1)) END,
           CASE WHEN a.fillfactor <> a.advised_in_ram
                THEN format(CASE WHEN a.fillfactor < a.advised_in_ram
                                 THEN 'table and indexes are %s times memory (%s would be best within it): a row that leaves its page makes index pages be read and written'
                                 ELSE 'table and indexes are %s times memory (%s would be best within it): each page more is read from disk more often than it saves' END,
                            round(e.ram_ratio::numeric, CASE WHEN e.ram_ratio < 10 THEN 1 ELSE 0 END), a.advised_in_ram) END
      FROM m a CROSS JOIN m c
     WHERE a.is_advised AND c.is_current
$$;
COMMENT ON FUNCTION @extschema@.ff_choice(@extschema@.ff_table_evidence) IS 'The step with the least expected cost, or the table''s own where no other saves fillfactor_advisor.min_gain percent: recommended_fillfactor, what it will do (predicted_wal_pct: WAL per update, percent of today''s), confidence that the model explains the table (0 to 1), gain (cost now against cost then), needs_rewrite (true where most updates fall on pages that are filled already), filled_at (the fillfactor at which its pages were filled, where that was a higher one than the table''s), rewrite_gain (cost now against cost once rewritten at the fillfactor it has), update_call_rows (rows that one call of an UPDATE updates, where known), note, memory_note (why it would be another one, were the table within memory; NULL where it would not). No row where the pages were never sampled. Internal step of ff_advise().';
REVOKE ALL ON FUNCTION @extschema@.ff_choice(@extschema@.ff_table_evidence) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_choice(@extschema@.ff_table_evidence) TO pg_read_all_stats;

DROP FUNCTION @extschema@.ff_split_updates(double precision, double precision, double precision, double precision, double precision, double precision);
CREATE FUNCTION @extschema@.ff_split_updates(
    updated double precision, hot double precision, newpage double precision,
    seen_same_page double precision, seen_moved double precision, indexed_share double precision DEFAULT NULL, seen_hot double precision DEFAULT NULL,
    OUT moved_share double precision, OUT blocked_share double precision, OUT eligible_share double precision, OUT recoverable_share double precision)
AS 'MODULE_PATHNAME', 'ff_split_updates'
LANGUAGE c IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.ff_split_updates(double precision, double precision, double precision, double precision, double precision, double precision, double precision) IS
'Splits a number of updates, given how many were HOT and how many went to a new page (NULL before PostgreSQL 16: then old versions seen in the pages tell: from 30 on, those replaced in their page, seen_same_page against seen_hot give the share of those that stayed without being HOT, at most the share whose statements set an indexed column, and just that where the pages show half of it or more; below, indexed_share, where no more are HOT than it lets be; else seen_same_page against seen_moved; where none was seen, indexed_share). moved_share: went to another page; eligible_share: HOT among those that stayed, or, where fewer than 30 stayed, the share whose statements set no indexed column (1 - indexed_share; 1 where that is not known either); recoverable_share: moved_share x eligible_share, which more room per page can prevent; blocked_share: the other updates that were not HOT: an indexed column changed, which no fillfactor can prevent. Shares of all updates, 0 to 1; NULL where unknown.';
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
           s.moved_share, s.blocked_share, CASE WHEN d.cause = 'too_wide' THEN 0 ELSE s.recoverable_share END,
           e.recent_updated * (1 - s.moved_share) >= 30 OR y.indexed IS NOT NULL OR e.indexes <= 1, d.held_back, CASE WHEN d.cause = 'too_wide' THEN w.width ELSE w.inserted_width END
      FROM @extschema@.ff_evidence(relation) e
      -- what the statements say of indexed columns, asked only where it matters
      LEFT JOIN LATERAL (SELECT @extschema@.ff_indexed_share(w.e) AS indexed
                           FROM (SELECT e WHERE e.recent_hot < 0.98 * e.recent_updated OFFSET 0) w) y ON true
      LEFT JOIN LATERAL (SELECT p.*
                           FROM @extschema@.ff_split_updates(e.recent_updated::double precision, e.recent_hot::double precision, e.recent_newpage::double precision,
                                         e.seen_same_page, e.seen_moved, y.indexed, e.seen_hot) p
                          WHERE e.recent_updated > e.recent_hot
                          UNION ALL
                         -- what the function says of nothing to split, without the call
                         SELECT 0, 0, 1, 0 WHERE e.recent_updated > 0 AND e.recent_updated <= e.recent_hot) s ON true
     CROSS JOIN LATERAL (SELECT greatest(coalesce(e.updated_width, 0), coalesce(e.inserted_width, 0))::double precision AS width,
                                coalesce(e.inserted_width, e.updated_width, 0)::double precision AS inserted_width) w
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
        SELECT d.evidence, e.*, d.cause AS seen_cause, d.wants_model, d.wants_model AND d.place > $2 AS passed_over,
               d.hot_share, d.moved_share, d.blocked_share, d.recoverable_share, d.eligible_known, d.held_back, d.row_width, c.*
          FROM (SELECT a.*, row_number() OVER (ORDER BY a.wants_model DESC,
                                                     a.recoverable_share * (a.evidence).recent_updated / nullif((a.evidence).recent_s, 0) DESC NULLS LAST,
                                                     (a.evidence).heap_bytes DESC NULLS LAST) AS place
                  FROM @extschema@.ff_diagnosis(@extschema@.ff_checked_table($1)) a) d
          -- its columns, taken apart once and not one by one
         CROSS JOIN LATERAL unnest(ARRAY[d.evidence]) e
          -- OFFSET keeps the filter in front of the model, which is asked only where it matters
          LEFT JOIN LATERAL (SELECT x.* FROM (SELECT d.evidence AS e WHERE d.wants_model AND (d.place > $2) IS NOT TRUE OFFSET 0) w CROSS JOIN LATERAL @extschema@.ff_choice(w.e) x) c ON true
    ), trusted AS (
        SELECT j.*,
               -- how far the counts can be trusted: events seen against those
               -- asked for, halved where counting was off; and the model's own,
               -- in the light of its earlier predictions for the table
               (CASE WHEN j.not_examined IS NOT NULL THEN 1
                     WHEN j.intervals IS NULL OR j.sampled_at IS NULL OR j.seen_cause = 'no_data' THEN 0
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
                         AND t.readers_pages > 50 * t.updated THEN 'read_mostly' ELSE t.seen_cause END AS named_cause,
               -- of rows as they are inserted, as the model has them
               coalesce(t.current_rows_per_page, @extschema@.ff_rows_per_page(t.fillfactor, t.row_width)) AS fits_now,
               CASE WHEN t.verdict IN ('lower', 'raise') THEN t.predicted_rows_per_page
                    ELSE coalesce(t.current_rows_per_page, @extschema@.ff_rows_per_page(t.fillfactor, t.row_width)) END AS fits_then,
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
                            WHEN r.recommended_fillfactor <> r.fillfactor AND r.trust < (SELECT @extschema@.ff_setting('min_confidence')::double precision) THEN 'wait'
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
                      CASE WHEN d.verdict = 'lower' THEN 'what is left to save is pruning, which full new pages need at nearly every update'
                           -- a rewrite takes the marks of HOT updates off the rows
                           WHEN d.fillfactor = 100 AND coalesce(d.updated_hot_rows / nullif(d.updated_hot_rows + d.updated_cold_rows, 0), 0) < 0.5
                           THEN 'but its rows were loaded anew since, and each page filled so sheds a row before it has room again'
                           ELSE 'its pages have room already' END)
                 WHEN 'old_snapshot' THEN d.held_back || ': end it first, ff_horizon() names it; more room would only fill up as well'
                 ELSE format('%s %% of recent updates left their page because it was full', round((100 * d.moved_share)::numeric, 1))
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
                                  CASE WHEN d.updated >= 4 * (SELECT @extschema@.ff_setting('min_updates')::bigint)
                                            AND d.confidence < (SELECT @extschema@.ff_setting('min_confidence')::double precision)
                                       THEN 'no replay comes near enough to what was seen (updates of several kinds are replayed as one)'
                                       ELSE 'more has to be seen first' END) ELSE '' END
                 ELSE CASE WHEN d.named_cause = 'read_mostly' THEN format('. Readers fetch %s pages for each updated row, and would fetch more', d.readers_pages / d.updated) ELSE '' END
                      || CASE WHEN d.seen_cause IN ('page_full', 'batch_update', 'row_growth')
                              THEN '. No other fillfactor is clearly better' || coalesce(': ' || d.note, '')
                                   || CASE WHEN d.needs_rewrite AND d.filled_at > d.fillfactor AND d.rewrite_gain >= 1 + (SELECT @extschema@.ff_setting('min_gain')::double precision) / 100
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
SELECT pg_extension_config_dump(c.oid, 'WHERE false')
  FROM pg_class c JOIN pg_extension e ON e.extname = 'fillfactor_advisor' AND c.relnamespace = e.extnamespace
 WHERE c.relname = 'ff_summary';

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

DROP FUNCTION @extschema@.ff_sample(regclass);
CREATE FUNCTION @extschema@.ff_sample(
	relation regclass,
	OUT relation regclass,
	OUT blocks bigint,
	OUT blocks_read int,
	OUT blocks_new int,
	OUT blocks_bad int,
	OUT live_pct float8,
	OUT live_pct_err float8,
	OUT dead_pct float8,
	OUT dead_pct_err float8,
	OUT free_pct float8,
	OUT free_pct_err float8,
	OUT reserve_pct float8,
	OUT live_rows float8,
	OUT live_rows_err float8,
	OUT dead_rows float8,
	OUT dead_rows_err float8,
	OUT recently_dead_rows float8,
	OUT redirect_lps float8,
	OUT dead_lps float8,
	OUT unused_lps float8,
	OUT updated_hot_rows float8,
	OUT updated_cold_rows float8,
	OUT superseded_hot float8,
	OUT superseded_same_page float8,
	OUT superseded_moved float8,
	OUT rows_per_page float8,
	OUT rows_per_page_max float8,
	OUT inserted_width float8,
	OUT inserted_width_err float8,
	OUT updated_width float8,
	OUT updated_width_err float8,
	OUT updated_pct float8,
	OUT update_group_rows float8,
	OUT insert_group_rows float8,
	OUT update_distance float8,
	OUT update_distance_p10 float8,
	OUT update_distance_p90 float8,
	OUT page_lsn_age_p10 float8,
	OUT page_lsn_age_p50 float8,
	OUT page_lsn_age_p90 float8,
	OUT full_pct float8,
	OUT fill_histogram int[],
	OUT aborted_rows float8,
	OUT recently_dead_rows_err float8,
	OUT redirect_lps_err float8,
	OUT dead_lps_err float8,
	OUT unused_lps_err float8,
	OUT updated_hot_rows_err float8,
	OUT updated_cold_rows_err float8,
	OUT superseded_hot_err float8,
	OUT superseded_same_page_err float8,
	OUT superseded_moved_err float8,
	OUT aborted_rows_err float8,
	OUT rows_per_page_err float8,
	OUT updated_pct_err float8
)
AS 'MODULE_PATHNAME', 'ff_sample_0_2'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;

REVOKE ALL ON FUNCTION @extschema@.ff_sample(regclass) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_sample(regclass) TO pg_stat_scan_tables;

COMMENT ON FUNCTION @extschema@.ff_sample(regclass) IS
$$Samples the pages of one heap table now: a few hundred pages chosen at random in ranges of blocks, more if fillfactor_advisor.sample_error asks for it, fillfactor_advisor.sample_pages at most; small tables are read whole. Waits for no lock, dirties no page.
Columns ending in _err are half widths of the 95 % interval of the column of the name before that, in its unit; 0 if all pages were read. Estimates are for the whole table. NULL means that there is nothing to measure.
relation: the table.
blocks: pages of its main fork.
blocks_read: of them, read by this call.
blocks_new: of those read, all zero (extended, never initialised); they count as free.
blocks_bad: of those read, rejected because their contents contradict themselves; they count as pages without rows or free space.
live_pct, dead_pct: bytes of live and of dead row versions, percent of the table. As in pgstattuple, versions that only old snapshots can see are dead, and rows being inserted or deleted by open transactions are live.
free_pct: bytes between line pointers and rows, percent of the table.
reserve_pct: the part of free_pct that lies within the reserve of the current fillfactor, where inserts may not go.
live_rows, dead_rows: row versions.
recently_dead_rows: of dead_rows, those that a snapshot may still see, so that pruning has to keep them.
redirect_lps, dead_lps, unused_lps: line pointers without a row: pruned HOT chains, pruned rows still in indexes, free ones.
updated_hot_rows, updated_cold_rows: live rows updated since insert, with and without the heap-only flag of their last update. A rewrite of the table (VACUUM FULL, CLUSTER) clears that flag on all rows.
superseded_hot, superseded_same_page, superseded_moved: old versions still in a page whose update was HOT; was not HOT although it stayed in the page (an indexed column changed); went to another page (no room).
rows_per_page, rows_per_page_max: live rows of the pages that have any: mean, and the most seen.
inserted_width, updated_width: mean length in bytes of live rows never updated and updated since insert, header included, not rounded up to alignment.
updated_pct: live rows updated since insert, percent of live rows.
update_group_rows: median over updated live rows: how many rows of their page the same transaction wrote last.
insert_group_rows: the same over rows never updated.
update_distance, update_distance_p10, update_distance_p90: transaction ids between the inserts of a page (middle row never updated, else an original version not yet pruned) and the last version of its updated rows: median, 10 % and 90 % quantile over rows.
page_lsn_age_p10, page_lsn_age_p50, page_lsn_age_p90: bytes of WAL written since a page last changed: quantiles over pages. NULL for unlogged and temporary tables.
full_pct: pages with the page-full hint (an update found no room since the last prune), percent of pages.
fill_histogram: pages read, by used share of the page, in ten bins of 10 %; not scaled to the table, whose end is read more densely.
aborted_rows: of dead_rows, versions whose inserter rolled back.$$;

DROP FUNCTION @extschema@.ff_epoch_now();
CREATE FUNCTION @extschema@.ff_epoch_now(all_tables boolean, OUT epoch_id integer, OUT one_reset boolean)
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    now_is  @extschema@.ff_epoch;
    last    @extschema@.ff_epoch;
    before  record;
BEGIN
    SELECT 0, s.system_identifier, d.oid, s.timeline, current_setting('server_version_num')::integer,
           pg_stat_get_db_stat_reset_time(d.oid), pg_stat_get_bgwriter_stat_reset_time(), clock_timestamp()
      INTO now_is
      FROM @extschema@.ff_server() s, pg_database d
     WHERE d.datname = current_database();

    one_reset := false;
    SELECT * INTO last FROM @extschema@.ff_epoch e ORDER BY e.epoch_id DESC LIMIT 1;
    IF FOUND AND (last.system_identifier, last.database_oid, last.timeline, last.server_version)
               = (now_is.system_identifier, now_is.database_oid, now_is.timeline, now_is.server_version)
             AND last.cluster_reset IS NOT DISTINCT FROM now_is.cluster_reset
    THEN
        -- The database's reset time also moves when one table's counters are
        -- reset.  A collection inserts one row into ff_collection, so the
        -- counter of that table falls if, and only if, all were reset.
        SELECT c.canary, k.inserted INTO before
          FROM @extschema@.ff_collection c, @extschema@.ff_counters(c.tableoid) k
         ORDER BY c.collection_id DESC LIMIT 1;
        epoch_id := last.epoch_id;
        IF last.database_reset IS NOT DISTINCT FROM now_is.database_reset THEN
            RETURN;
        -- of the first collection's one row nobody can tell whether it was counted anew
        ELSIF before.canary > 1 AND before.inserted >= before.canary THEN
            IF all_tables THEN
                UPDATE @extschema@.ff_epoch e SET database_reset = now_is.database_reset WHERE e.epoch_id = last.epoch_id;
            END IF;
            one_reset := true;
            RETURN;
        END IF;
    END IF;

    INSERT INTO @extschema@.ff_epoch (system_identifier, database_oid, timeline, server_version, database_reset, cluster_reset, began_at)
    VALUES (now_is.system_identifier, now_is.database_oid, now_is.timeline, now_is.server_version, now_is.database_reset, now_is.cluster_reset, now_is.began_at)
    RETURNING ff_epoch.epoch_id INTO epoch_id;
END
$$;
COMMENT ON FUNCTION @extschema@.ff_epoch_now(boolean) IS 'epoch_id: the epoch that the server is in, written down where it is new. one_reset: the counters of a single table, index or function were reset since the last collection; told until a look at all tables follows in the same transaction (all_tables). Internal step of ff_collect().';
REVOKE ALL ON FUNCTION @extschema@.ff_epoch_now(boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_epoch_now(boolean) TO pg_stat_scan_tables;

DROP FUNCTION @extschema@.ff_collect_begin();
CREATE FUNCTION @extschema@.ff_collect_begin(looked_at timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    server    record;
    database  oid := (SELECT oid FROM pg_database WHERE datname = current_database());
BEGIN
    SELECT * INTO server FROM @extschema@.ff_server();
    -- the clock was set back: what comes now would be looked for in vain
    DELETE FROM @extschema@.ff_summary s WHERE s.until > looked_at;

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

    -- What is not found by name is gone.
    WITH closed AS (
        UPDATE @extschema@.ff_relation r SET closed_at = looked_at
         WHERE r.closed_at IS NULL AND (r.system_identifier, r.database_oid) <> (server.system_identifier, database)
        RETURNING r.rel_id
    )
    DELETE FROM @extschema@.ff_problem p USING closed c WHERE c.rel_id = p.rel_id;
END
$$;
COMMENT ON FUNCTION @extschema@.ff_collect_begin(timestamptz) IS 'Begins a collection, as of looked_at: finds the tables of a history that was restored or upgraded into this database. Internal step of ff_collect().';
REVOKE ALL ON FUNCTION @extschema@.ff_collect_begin(timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_collect_begin(timestamptz) TO pg_stat_scan_tables;

CREATE FUNCTION @extschema@.ff_collect_counters(looked_at timestamptz, after bigint, batch integer) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
SET jit = off
-- one plan for all batches: to make it takes longer than to run it; it is to be good for later ones, too
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
-- straight from shared memory: a snapshot of all tables would be kept until the end
SET stats_fetch_consistency = none
AS $$
DECLARE
    server    record;
    database  oid := (SELECT oid FROM pg_database WHERE datname = current_database());
    epoch     integer;
    one_reset boolean;
    previous  timestamptz;
    first     CONSTANT oid := after::oid;   -- exclusive
    last      oid;
BEGIN
    PERFORM pg_stat_clear_snapshot();
    SELECT * INTO server FROM @extschema@.ff_server();
    -- Each batch anew: statistics may be reset between two.  Where those of one
    -- table were, the rest are one batch: only all together tell which it was.
    SELECT n.epoch_id, n.one_reset INTO epoch, one_reset FROM @extschema@.ff_epoch_now(first = 0) n;
    SELECT max(began_at) INTO previous FROM @extschema@.ff_collection WHERE epoch_id = epoch;
    IF NOT one_reset THEN
        SELECT max(t.oid) INTO last
          FROM (SELECT c.oid FROM pg_class c
                 WHERE c.oid > first AND c.relkind = ANY (ARRAY['r', 'm']::"char"[]) ORDER BY c.oid LIMIT batch) t
        HAVING count(*) = batch;
    END IF;
    last := coalesce(last, 4294967295);

    -- Gone, or another table under the same OID.
    WITH closed AS (
        UPDATE @extschema@.ff_relation r SET closed_at = looked_at
         WHERE r.system_identifier = server.system_identifier AND r.database_oid = database AND r.relid > first AND r.relid <= last AND r.closed_at IS NULL
           AND NOT EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = r.relid AND a.attnum = -1 AND a.xmin = r.birth)
        RETURNING r.rel_id
    )
    DELETE FROM @extschema@.ff_problem p USING closed c WHERE c.rel_id = p.rel_id;

    -- One look at the counters serves every statement part: all of them see the
    -- baselines as they were before.
    WITH look AS MATERIALIZED (
        SELECT c.relid, a.xmin AS birth, c.nspname, c.relname, c.relfilenode, c.reloptions,
               @extschema@.ff_fillfactor(c.reloptions) AS fillfactor,
               @extschema@.ff_index_oids(c.relid) AS index_oids, k.*
          FROM @extschema@.ff_candidate c
          JOIN pg_attribute a ON a.attrelid = c.relid AND a.attnum = -1
         CROSS JOIN LATERAL @extschema@.ff_counters(c.relid) k
         WHERE c.not_examined IS NULL AND c.relid > first AND c.relid <= last
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
               -- OFFSET: by the index, table by table, also in a plan that was made when there were none
         CROSS JOIN LATERAL (SELECT b.* FROM @extschema@.ff_relation b
                              WHERE b.system_identifier = server.system_identifier AND b.database_oid = database AND b.relid = l.relid AND b.closed_at IS NULL OFFSET 0) r
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
        SELECT c.rel_id, least(greatest(r.seen_at, previous), looked_at), looked_at, epoch, c.fillfactor, c.rewritten,
               c.inserted - r.inserted, c.updated - r.updated, c.hot_updated - r.hot_updated, c.newpage_updated - r.newpage_updated, c.deleted - r.deleted,
               c.seq_scans - r.seq_scans, greatest(c.index_scans - r.index_scans, 0), c.blocks_fetched - r.blocks_fetched, greatest(c.blocks_hit - r.blocks_hit, 0),
               c.vacuums - r.vacuums, c.heap_bytes, c.index_bytes
          FROM changed c JOIN @extschema@.ff_relation r ON r.rel_id = c.rel_id
         WHERE (c.moved OR c.redefined) AND NOT c.lost
    ), changes AS (
        INSERT INTO @extschema@.ff_change
               (rel_id, kind, before_at, seen_at, epoch_id, old_fillfactor, new_fillfactor, old_options, new_options, dropped_indexes, created_indexes)
        SELECT c.rel_id, k.kind, least(greatest(r.seen_at, previous), looked_at), looked_at, epoch, r.fillfactor, c.fillfactor, r.reloptions, c.reloptions, x.dropped, x.created
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
                   -- in a new file every row has a new place
                   + CASE WHEN c.rewritten THEN coalesce((SELECT greatest(o.reltuples, 100)::bigint FROM pg_class o WHERE o.oid = c.relid AND o.reltuples < 1e15), 100) ELSE 0 END
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
         WHERE NOT EXISTS (SELECT 1 FROM @extschema@.ff_relation r
                            WHERE r.system_identifier = server.system_identifier AND r.database_oid = database AND r.relid = l.relid AND r.closed_at IS NULL OFFSET 0)
        RETURNING rel_id, relid
    )
    -- Born since the previous collection of this epoch: its counters began
    -- at zero then, so they are an interval already.
    INSERT INTO @extschema@.ff_interval
           (rel_id, began_at, ended_at, epoch_id, fillfactor, rewritten, inserted, updated, hot_updated, newpage_updated, deleted,
            seq_scans, index_scans, blocks_fetched, blocks_hit, vacuums, heap_bytes, index_bytes)
    SELECT f.rel_id, least(previous, looked_at), looked_at, epoch, l.fillfactor, false, l.inserted, l.updated, l.hot_updated, l.newpage_updated, l.deleted,
           l.seq_scans, 0, l.blocks_fetched, l.blocks_hit, l.vacuums, s.heap_bytes, s.index_bytes
      FROM fresh f JOIN look l USING (relid) CROSS JOIN LATERAL @extschema@.ff_sizes(l.relid) s
     WHERE previous IS NOT NULL AND l.inserted + l.updated + l.deleted > 0;
    RETURN nullif(last, 4294967295);
END
$$;
COMMENT ON FUNCTION @extschema@.ff_collect_counters(timestamptz, bigint, integer) IS 'Reads the counters of the next batch of tables, by OID, from the one after "after" (0: the first): follows identities, writes an interval for each table that changed, what was changed of its definition, and the new baselines. Returns the OID to go on after; NULL: that was the last. All that are left are one batch where the counters of a single table were reset. Internal step of ff_collect().';
REVOKE ALL ON FUNCTION @extschema@.ff_collect_counters(timestamptz, bigint, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_collect_counters(timestamptz, bigint, integer) TO pg_stat_scan_tables;

CREATE FUNCTION @extschema@.ff_collect_counted(looked_at timestamptz) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
SET stats_fetch_consistency = none
AS $$
DECLARE
    database  oid := (SELECT oid FROM pg_database WHERE datname = current_database());
    canary    bigint;
    epoch     integer;
    previous  timestamptz;
    id        bigint;
BEGIN
    PERFORM pg_stat_clear_snapshot();
    -- first this: a reset that comes between the two is a fall next time
    SELECT k.inserted INTO canary FROM pg_class o, @extschema@.ff_counters(o.oid) k
     WHERE o.relname = 'ff_collection'
       AND o.relnamespace = (SELECT e.extnamespace FROM pg_extension e WHERE e.extname = 'fillfactor_advisor');
    SELECT n.epoch_id INTO epoch FROM @extschema@.ff_epoch_now(false) n;
    SELECT max(began_at) INTO previous FROM @extschema@.ff_collection WHERE epoch_id = epoch;
    INSERT INTO @extschema@.ff_collection (epoch_id, began_at, relations, changed, track_counts, open_writers, canary, next_xid, busy_ms)
    SELECT epoch, looked_at, (SELECT count(*) FROM @extschema@.ff_relation r WHERE r.closed_at IS NULL),
           (SELECT count(*) FROM @extschema@.ff_interval i WHERE i.grain = 0 AND i.ended_at = looked_at), current_setting('track_counts')::boolean,
           (SELECT count(*) FROM pg_stat_get_activity(NULL) s
             WHERE s.datid = database AND s.pid <> pg_backend_pid() AND s.backend_xid IS NOT NULL
               -- a procedure that commits as it goes reports its counts at its end
               AND least(s.xact_start, s.query_start) < coalesce(previous, looked_at)),
           -- this row itself will be counted
           1 + canary,
           pg_snapshot_xmax(pg_current_snapshot()),
           pg_stat_get_db_active_time(database) + pg_stat_get_db_idle_in_transaction_time(database)
    RETURNING collection_id INTO id;
    RETURN id;
END
$$;
COMMENT ON FUNCTION @extschema@.ff_collect_counted(timestamptz) IS 'Writes down that the counters of all tables have been read, as of looked_at: from then on intervals begin. Returns the collection_id. Internal step of ff_collect().';
REVOKE ALL ON FUNCTION @extschema@.ff_collect_counted(timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_collect_counted(timestamptz) TO pg_stat_scan_tables;

CREATE OR REPLACE PROCEDURE @extschema@.ff_collect()
LANGUAGE c
AS 'MODULE_PATHNAME', 'ff_collect_0_2';
COMMENT ON PROCEDURE @extschema@.ff_collect() IS 'Reads the counters of every table, writes what changed, and samples the pages of the most urgent within fillfactor_advisor.collect_pages and collect_time. Commits as it goes when called outside a transaction block. Errors: 25006 in recovery or a read-only transaction, 42501 where the role may not write the history; PREPARE TRANSACTION after it: 0A000. A second collector leaves with a notice.';

CREATE OR REPLACE FUNCTION @extschema@.ff_collect_due() RETURNS SETOF bigint
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- Worth reading again: a hundredth of the rows changed since the last
    -- sample, or anything did and a day has passed.  Longest waiting first,
    -- then most changed; where nothing changed a wait counts for an eighth, where
    -- it changed since a sample for half: no table waits for ever.
    SELECT r.rel_id
      FROM @extschema@.ff_relation r
      LEFT JOIN pg_class c ON c.oid = r.relid
     WHERE r.closed_at IS NULL
       AND CASE WHEN r.sampled_at IS NULL THEN true
                WHEN r.changes_since_sample = 0 THEN false
                WHEN r.sampled_at < clock_timestamp() - interval '1 day' THEN true
                ELSE r.changes_since_sample >= 0.01 * greatest(CASE WHEN c.reltuples BETWEEN 0 AND 1e15 THEN c.reltuples ELSE 0 END, 100) END
     ORDER BY (clock_timestamp() - coalesce(r.sampled_at, r.opened_at))
              * CASE WHEN r.changes_since_sample = 0 THEN 1 WHEN r.sampled_at IS NULL THEN 8 ELSE 4 END DESC,
              r.changes_since_sample DESC, r.rel_id
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
    DELETE FROM @extschema@.ff_change c
     WHERE c.ctid = ANY (ARRAY(SELECT o.ctid FROM @extschema@.ff_change o WHERE o.seen_at < oldest LIMIT batch));
    GET DIAGNOSTICS n = ROW_COUNT;  removed := removed + n;
    DELETE FROM @extschema@.ff_prediction p
     WHERE p.ctid = ANY (ARRAY(SELECT o.ctid FROM @extschema@.ff_prediction o WHERE o.made_at < oldest LIMIT batch));
    GET DIAGNOSTICS n = ROW_COUNT;  removed := removed + n;
    -- the value in force stays, however old
    DELETE FROM @extschema@.ff_setting_history o
     WHERE o.seen_at < oldest AND EXISTS (SELECT 1 FROM @extschema@.ff_setting_history l WHERE l.setting = o.setting AND l.seen_at > o.seen_at);
    DELETE FROM @extschema@.ff_summary s
     WHERE s.rel_id = ANY (ARRAY(SELECT o.rel_id FROM @extschema@.ff_summary o JOIN @extschema@.ff_relation r ON r.rel_id = o.rel_id
                                  WHERE r.closed_at IS NOT NULL LIMIT batch));
    DELETE FROM @extschema@.ff_relation r
     WHERE r.rel_id = ANY (ARRAY(SELECT o.rel_id FROM @extschema@.ff_relation o WHERE o.closed_at < oldest
                                    AND NOT EXISTS (SELECT 1 FROM @extschema@.ff_interval i WHERE i.rel_id = o.rel_id)
                                    AND NOT EXISTS (SELECT 1 FROM @extschema@.ff_page_sample p WHERE p.rel_id = o.rel_id) LIMIT batch));
    GET DIAGNOSTICS n = ROW_COUNT;  removed := removed + n;
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

ALTER TABLE @extschema@.ff_statement_look ADD COLUMN texts_reason text;

COMMENT ON COLUMN @extschema@.ff_statement_look.lost IS 'entries that were evicted and entered again, or reset, or may have been: their interval is lost';

COMMENT ON COLUMN @extschema@.ff_statement_look.texts_reason IS 'why texts of new statements could not be read; these are left out and asked for again; NULL where they could, or there were none';

COMMENT ON COLUMN @extschema@.ff_statement.closed_at IS 'when its table was found gone, or it had not been called for a week, or was evicted and another called more often; NULL: followed';

CREATE OR REPLACE FUNCTION @extschema@.ff_collect_statements(id bigint) RETURNS text
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    at        CONSTANT timestamptz := clock_timestamp();
    most      CONSTANT integer := @extschema@.ff_setting('statements');
    by_name   CONSTANT boolean := current_setting('server_version_num')::integer >= 180000;
    source    record;
    server    record;
    told      record;
    epoch     @extschema@.ff_statement_epoch;
    previous  @extschema@.ff_statement_look;
    why       text;
    one       record;
    target    record;
    meant     record;
    own       name;
    new_ids   bigint[];
    new_tops  boolean[];
    statement bigint;
    n         integer;
    resolved  integer;
    unresolved integer;
    room      integer;
    entries   integer;
    hidden    integer;
    tracked   integer;
    admitted  integer := 0;
    left_out  integer := 0;
    unread    integer := 0;
    lost      integer;
    texts_why text;
BEGIN
    SELECT ns.nspname INTO STRICT own FROM pg_extension e JOIN pg_namespace ns ON ns.oid = e.extnamespace WHERE e.extname = 'fillfactor_advisor';
    SELECT * INTO source FROM @extschema@.ff_statement_source();
    why := CASE WHEN most = 0 THEN 'fillfactor_advisor.statements is 0' ELSE source.reason END;
    IF why IS NULL THEN
        BEGIN
            EXECUTE source.info INTO told;
            EXECUTE source.counters || ' LIMIT 0';
        EXCEPTION WHEN object_not_in_prerequisite_state OR insufficient_privilege OR undefined_function OR undefined_file THEN
            -- not preloaded, not readable, or its library is gone
            why := SQLERRM;
        END;
    END IF;
    IF why IS NOT NULL THEN
        INSERT INTO @extschema@.ff_statement_look (collection_id, looked_at, reason) VALUES (id, at, why);
        RETURN why;
    END IF;

    -- Epoch.  A statement's identifier holds for one major version and database.
    SELECT s.system_identifier, d.oid AS database, current_setting('server_version_num')::integer / 10000 * 10000 AS version
      INTO server FROM @extschema@.ff_server() s, pg_database d WHERE d.datname = current_database();
    SELECT * INTO epoch FROM @extschema@.ff_statement_epoch ORDER BY statement_epoch_id DESC LIMIT 1;
    IF NOT FOUND OR (epoch.system_identifier, epoch.database_oid, epoch.server_version) <> (server.system_identifier, server.database, server.version)
                 OR epoch.stats_reset IS DISTINCT FROM told.stats_reset THEN
        IF (epoch.system_identifier, epoch.database_oid, epoch.server_version) <> (server.system_identifier, server.database, server.version) THEN
            UPDATE @extschema@.ff_statement SET closed_at = at WHERE closed_at IS NULL;
        ELSE
            -- a text that could not be read may have come back whole
            UPDATE @extschema@.ff_statement s SET closed_at = at WHERE s.closed_at IS NULL AND s.reason IS NOT NULL;
        END IF;
        INSERT INTO @extschema@.ff_statement_epoch (system_identifier, database_oid, server_version, stats_reset, began_at)
        VALUES (server.system_identifier, server.database, server.version, told.stats_reset, at)
        RETURNING * INTO epoch;
    END IF;
    SELECT * INTO previous FROM @extschema@.ff_statement_look l
     WHERE l.statement_epoch_id = epoch.statement_epoch_id ORDER BY l.collection_id DESC LIMIT 1;

    -- A table gone takes its statements along.  Where identifiers follow names
    -- (PostgreSQL 18 and later), so does a table that now has another name.
    UPDATE @extschema@.ff_statement_target t
       SET rel_id = r.rel_id
      FROM @extschema@.ff_relation r, @extschema@.ff_statement s
     WHERE t.rel_id IS NULL AND r.relid = t.relid AND r.closed_at IS NULL
       AND s.statement_id = t.statement_id AND s.closed_at IS NULL;
    UPDATE @extschema@.ff_statement s
       SET closed_at = at
     WHERE s.closed_at IS NULL
       AND EXISTS (SELECT 1
                     FROM @extschema@.ff_statement_target t
                     LEFT JOIN pg_class c ON c.oid = t.relid
                     LEFT JOIN @extschema@.ff_relation r ON r.rel_id = t.rel_id
                    WHERE t.statement_id = s.statement_id AND t.relid IS NOT NULL
                      AND (c.oid IS NULL OR r.closed_at IS NOT NULL OR by_name AND c.relname <> t.relation_name));

    -- New statements that write, most called first, as many as there is room for.
    -- One that is followed but was evicted makes room for one called more often
    -- than it ever was, so that many statements of a few calls shut out no other,
    -- and yet only few can displace one another.
    SELECT greatest(most - count(*), 0) INTO room FROM @extschema@.ff_statement s WHERE s.closed_at IS NULL AND s.kind <> 'other';
    BEGIN
        EXECUTE format($q$
            WITH look AS MATERIALIZED (%1$s),
            candidate AS MATERIALIZED (
                SELECT c.queryid, c.toplevel, sum(c.calls) AS calls, row_number() OVER (ORDER BY sum(c.calls) DESC, c.queryid) AS n
                  FROM look c
                 WHERE c.writes AND c.queryid IS NOT NULL
                   AND NOT EXISTS (SELECT 1 FROM %2$I.ff_statement s WHERE s.queryid = c.queryid AND s.toplevel = c.toplevel AND s.closed_at IS NULL)
                 GROUP BY c.queryid, c.toplevel
            ), evicted AS (
                SELECT s.statement_id, coalesce(b.calls, 0) AS calls, row_number() OVER (ORDER BY coalesce(b.calls, 0), s.statement_id) AS n
                  FROM %2$I.ff_statement s
                  LEFT JOIN (SELECT statement_id, sum(calls) AS calls FROM %2$I.ff_statement_baseline GROUP BY statement_id) b ON b.statement_id = s.statement_id
                 WHERE s.closed_at IS NULL AND s.kind <> 'other' AND EXISTS (SELECT 1 FROM candidate c WHERE c.n > $1)
                   AND NOT EXISTS (SELECT 1 FROM look l WHERE l.queryid = s.queryid AND l.toplevel = s.toplevel)
            ), displaced AS (
                UPDATE %2$I.ff_statement s SET closed_at = $2
                  FROM evicted e JOIN candidate c ON c.n = $1 + e.n
                 WHERE s.statement_id = e.statement_id AND c.calls > e.calls
                RETURNING 1
            ), taken AS (
                SELECT $1 + count(*) AS n FROM displaced
            )
            SELECT array_agg(c.queryid) FILTER (WHERE c.n <= t.n), array_agg(c.toplevel) FILTER (WHERE c.n <= t.n), count(*) FILTER (WHERE c.n > t.n)
              FROM candidate c, taken t
            $q$, source.counters, own)
           INTO new_ids, new_tops, left_out USING room, at;

        IF new_ids IS NOT NULL THEN
            FOR one IN EXECUTE source.texts USING new_ids, new_tops LOOP
                IF one.query IS NULL THEN
                    -- the server could not read its file of texts, or lost this one: asked for again next time
                    texts_why := 'no text';
                    unread := unread + 1;
                    CONTINUE;
                END IF;
                INSERT INTO @extschema@.ff_statement (queryid, toplevel, kind, text, text_bytes, text_hash, statement_epoch_id, opened_at)
                VALUES (one.queryid, one.toplevel, 'other', left(one.query, 4000), octet_length(one.query), encode(sha256(convert_to(one.query, getdatabaseencoding())), 'hex'), epoch.statement_epoch_id, at)
                RETURNING statement_id INTO statement;
                n := 0;  resolved := 0;  unresolved := 0;  why := NULL;
                FOR target IN SELECT * FROM @extschema@.ff_parse_statement(one.query) LOOP
                    IF target.reason IS NOT NULL THEN
                        why := target.reason;
                        EXIT;
                    END IF;
                    SELECT * INTO meant FROM @extschema@.ff_resolve(target.schema_name, target.relation_name);
                    CONTINUE WHEN meant.relid IS NULL AND meant.reason IS NULL;
                    n := n + 1;
                    resolved := resolved + (meant.relid IS NOT NULL)::integer;
                    unresolved := unresolved + (meant.relid IS NULL)::integer;
                    INSERT INTO @extschema@.ff_statement_target (statement_id, "position", command, how, schema_name, relation_name, relid, rel_id, columns, reason)
                    VALUES (statement, n, target.command, target.how, target.schema_name, target.relation_name, meant.relid,
                            (SELECT r.rel_id FROM @extschema@.ff_relation r WHERE r.relid = meant.relid AND r.closed_at IS NULL ORDER BY r.rel_id DESC LIMIT 1),
                            target.columns, meant.reason);
                    EXIT WHEN n = 32767;
                END LOOP;
                UPDATE @extschema@.ff_statement s
                   SET kind = CASE WHEN resolved > 0 THEN 'write' WHEN unresolved > 0 OR why IS NOT NULL THEN 'unattributed' ELSE 'other' END,
                       reason = why,
                       text = CASE WHEN n > 0 OR why IS NOT NULL THEN s.text END
                 WHERE s.statement_id = statement;
                admitted := admitted + 1;
            END LOOP;
        END IF;
    EXCEPTION WHEN character_not_in_repertoire OR untranslatable_character THEN
        -- One text that is damaged, or does not fit this database's encoding, be
        -- it another database's, and the server gives none.
        texts_why := SQLERRM;
        admitted := 0;
        unread := coalesce(cardinality(new_ids), 0);
    END;

    -- Differences to the baselines, and the new baselines.  Every part of the
    -- statement sees the same one look, and the baselines as they were before.
    EXECUTE format($q$
        WITH look AS MATERIALIZED (%s),
        followed AS MATERIALIZED (
            SELECT l.*, s.statement_id, b.statement_id IS NOT NULL AS known,
                   -- the same entry, further on
                   coalesce(b.statement_epoch_id = $1 AND b.entered_at IS NOT DISTINCT FROM l.entered_at
                            AND l.calls >= b.calls AND l.rows >= b.rows AND l.total_ms >= b.total_ms AND l.wal_bytes >= b.wal_bytes
                            AND l.wal_records >= b.wal_records AND l.wal_fpi >= b.wal_fpi AND l.blocks_hit >= b.blocks_hit
                            AND l.blocks_read >= b.blocks_read AND l.blocks_dirtied >= b.blocks_dirtied
                            AND l.blocks_written >= b.blocks_written AND l.read_ms >= b.read_ms
                            -- Without the time of entry, the extremes tell an entry that was evicted and came back.  Where
                            -- any was evicted since, at least one of them must be the old one, to the nanosecond.
                            AND (l.entered_at IS NOT NULL OR b.calls = 0
                                 OR l.min_ms <= b.min_ms AND l.max_ms >= b.max_ms
                                    AND (k.evictions IS NOT DISTINCT FROM $5 OR l.min_ms = b.min_ms OR l.max_ms = b.max_ms)), false) AS same,
                   -- entered since the look before: its counters began at zero then
                   coalesce(CASE WHEN l.entered_at IS NOT NULL THEN l.entered_at >= $2
                                 ELSE b.statement_id IS NULL AND $3 AND NOT EXISTS (
                                      SELECT 1 FROM %2$I.ff_statement o
                                       WHERE o.queryid = s.queryid AND o.toplevel = s.toplevel AND o.closed_at IS NOT NULL
                                         AND s.opened_at = $4) END, false) AS fresh,
                   b.statement_epoch_id, b.calls AS calls0, b.rows AS rows0, b.total_ms AS total_ms0, b.stddev_ms AS stddev_ms0,
                   b.blocks_hit AS blocks_hit0, b.blocks_read AS blocks_read0, b.blocks_dirtied AS blocks_dirtied0, b.blocks_written AS blocks_written0,
                   b.read_ms AS read_ms0, b.wal_records AS wal_records0, b.wal_fpi AS wal_fpi0, b.wal_bytes AS wal_bytes0
              FROM look l
              JOIN %2$I.ff_statement s ON s.queryid = l.queryid AND s.toplevel = l.toplevel AND s.closed_at IS NULL AND s.kind <> 'other'
              LEFT JOIN %2$I.ff_statement_baseline b ON b.statement_id = s.statement_id AND b.userid = l.userid
              LEFT JOIN %2$I.ff_statement_look k ON k.looked_at = b.seen_at AND k.statement_epoch_id = b.statement_epoch_id
        ), differences AS (
            SELECT f.statement_id, f.calls - z.calls AS calls, f.rows - z.rows AS rows, f.total_ms - z.total_ms AS total_ms,
                   f.blocks_hit - z.blocks_hit AS blocks_hit, f.blocks_read - z.blocks_read AS blocks_read,
                   f.blocks_dirtied - z.blocks_dirtied AS blocks_dirtied, f.blocks_written - z.blocks_written AS blocks_written,
                   f.read_ms - z.read_ms AS read_ms, f.wal_records - z.wal_records AS wal_records, f.wal_fpi - z.wal_fpi AS wal_fpi,
                   f.wal_bytes - z.wal_bytes AS wal_bytes,
                   -- Sum of squared deviations of the interval alone: that of the whole, less that of the part before,
                   -- less what lies between the two means (Chan, Golub and LeVeque).
                   greatest(f.calls * f.stddev_ms ^ 2 - z.calls * z.stddev_ms ^ 2
                            - CASE WHEN z.calls > 0 THEN ((f.total_ms - z.total_ms) / (f.calls - z.calls) - z.total_ms / z.calls) ^ 2
                                   * z.calls * (f.calls - z.calls)::double precision / f.calls ELSE 0 END, 0) AS deviation
              FROM followed f
             CROSS JOIN LATERAL (SELECT CASE WHEN f.same THEN f.calls0 ELSE 0 END AS calls, CASE WHEN f.same THEN f.rows0 ELSE 0 END AS rows,
                                        CASE WHEN f.same THEN f.total_ms0 ELSE 0 END AS total_ms, CASE WHEN f.same THEN f.stddev_ms0 ELSE 0 END AS stddev_ms,
                                        CASE WHEN f.same THEN f.blocks_hit0 ELSE 0 END AS blocks_hit, CASE WHEN f.same THEN f.blocks_read0 ELSE 0 END AS blocks_read,
                                        CASE WHEN f.same THEN f.blocks_dirtied0 ELSE 0 END AS blocks_dirtied, CASE WHEN f.same THEN f.blocks_written0 ELSE 0 END AS blocks_written,
                                        CASE WHEN f.same THEN f.read_ms0 ELSE 0 END AS read_ms, CASE WHEN f.same THEN f.wal_records0 ELSE 0 END AS wal_records,
                                        CASE WHEN f.same THEN f.wal_fpi0 ELSE 0 END AS wal_fpi, CASE WHEN f.same THEN f.wal_bytes0 ELSE 0 END AS wal_bytes) z
             WHERE (f.same OR f.fresh) AND f.calls > z.calls
        ), written AS (
            INSERT INTO %2$I.ff_statement_history (statement_id, began_at, ended_at, statement_epoch_id, calls, rows, total_ms, stddev_ms,
                   blocks_hit, blocks_read, blocks_dirtied, blocks_written, read_ms, wal_records, wal_fpi, wal_bytes)
            SELECT d.statement_id, $2, $4, $1, sum(d.calls), sum(d.rows), sum(d.total_ms),
                   sqrt(greatest(sum(d.deviation + d.total_ms ^ 2 / d.calls) / sum(d.calls)::double precision - (sum(d.total_ms) / sum(d.calls)::double precision) ^ 2, 0)),
                   sum(d.blocks_hit), sum(d.blocks_read), sum(d.blocks_dirtied), sum(d.blocks_written), sum(d.read_ms),
                   sum(d.wal_records), sum(d.wal_fpi), least(sum(d.wal_bytes), 9223372036854775807)
              FROM differences d WHERE $2 IS NOT NULL GROUP BY d.statement_id
        ), baselines AS (
            INSERT INTO %2$I.ff_statement_baseline AS b (statement_id, userid, statement_epoch_id, seen_at, entered_at, calls, rows, total_ms, stddev_ms,
                   min_ms, max_ms, blocks_hit, blocks_read, blocks_dirtied, blocks_written, read_ms, wal_records, wal_fpi, wal_bytes)
            SELECT f.statement_id, f.userid, $1, $4, f.entered_at, f.calls, f.rows, f.total_ms, f.stddev_ms,
                   f.min_ms, f.max_ms, f.blocks_hit, f.blocks_read, f.blocks_dirtied, f.blocks_written, f.read_ms, f.wal_records, f.wal_fpi, f.wal_bytes
              FROM followed f WHERE NOT f.same OR f.calls > f.calls0
            ON CONFLICT (statement_id, userid) DO UPDATE
               SET statement_epoch_id = EXCLUDED.statement_epoch_id, seen_at = EXCLUDED.seen_at, entered_at = EXCLUDED.entered_at,
                   calls = EXCLUDED.calls, rows = EXCLUDED.rows, total_ms = EXCLUDED.total_ms, stddev_ms = EXCLUDED.stddev_ms,
                   min_ms = EXCLUDED.min_ms, max_ms = EXCLUDED.max_ms, blocks_hit = EXCLUDED.blocks_hit, blocks_read = EXCLUDED.blocks_read,
                   blocks_dirtied = EXCLUDED.blocks_dirtied, blocks_written = EXCLUDED.blocks_written, read_ms = EXCLUDED.read_ms,
                   wal_records = EXCLUDED.wal_records, wal_fpi = EXCLUDED.wal_fpi, wal_bytes = EXCLUDED.wal_bytes
        ), forgotten AS (
            -- writes nothing and is evicted: it need not be remembered
            DELETE FROM %2$I.ff_statement s
             WHERE s.kind = 'other' AND NOT EXISTS (SELECT 1 FROM look l WHERE l.queryid = s.queryid AND l.toplevel = s.toplevel)
        ), idle AS (
            UPDATE %2$I.ff_statement s SET closed_at = $4
             WHERE s.closed_at IS NULL AND s.kind <> 'other' AND s.opened_at < $4 - interval '7 days'
               AND NOT EXISTS (SELECT 1 FROM look l WHERE l.queryid = s.queryid AND l.toplevel = s.toplevel)
               AND NOT EXISTS (SELECT 1 FROM %2$I.ff_statement_baseline b WHERE b.statement_id = s.statement_id AND b.seen_at > $4 - interval '7 days')
        )
        SELECT (SELECT count(*) FROM look), (SELECT count(*) FROM look WHERE queryid IS NULL),
               (SELECT count(DISTINCT statement_id) FROM followed),
               (SELECT count(*) FROM followed WHERE known AND statement_epoch_id = $1 AND NOT same AND NOT fresh)
        $q$, source.counters, own)
       INTO entries, hidden, tracked, lost
      USING epoch.statement_epoch_id, previous.looked_at, coalesce(previous.left_out = 0 AND previous.hidden = 0, false), at, told.evictions;

    DELETE FROM @extschema@.ff_statement_baseline b
     USING @extschema@.ff_statement s WHERE s.statement_id = b.statement_id AND s.closed_at IS NOT NULL;

    INSERT INTO @extschema@.ff_statement_look (collection_id, looked_at, statement_epoch_id, evictions, entries, hidden, tracked, admitted, left_out, lost, texts_reason)
    VALUES (id, at, epoch.statement_epoch_id, told.evictions, entries, hidden, tracked, admitted, left_out + unread, lost, texts_why);
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION @extschema@.ff_statements(relation regclass DEFAULT NULL)
RETURNS TABLE (
    relation regclass,
    command text,
    how text,
    columns text[],
    calls bigint,
    calls_per_s double precision,
    rows bigint,
    rows_per_call double precision,
    mean_ms double precision,
    stddev_ms double precision,
    blocks_per_call double precision,
    wal_bytes_per_call double precision,
    statement_id bigint,
    queryid bigint,
    query text,
    reason text
)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH looked AS MATERIALIZED (
        SELECT * FROM @extschema@.ff_statement_look ORDER BY collection_id DESC LIMIT 1
    ), looks AS MATERIALIZED (
        SELECT l.statement_epoch_id, min(l.looked_at) AS first, max(l.looked_at) AS last,
               max(l.evictions) - min(l.evictions) AS evictions, sum(l.lost) AS lost
          FROM @extschema@.ff_statement_look l
         WHERE l.reason IS NULL AND l.looked_at > now() - make_interval(days => @extschema@.ff_setting('lookback')::integer)
         GROUP BY l.statement_epoch_id
    ), span AS MATERIALIZED (
        -- the part of the window in which statements were looked at
        SELECT extract(epoch FROM max(l.last) - min(l.first))::double precision AS seconds, sum(l.evictions) AS evictions, sum(l.lost) AS lost
          FROM looks l
    ), total AS MATERIALIZED (
        SELECT h.statement_id, sum(h.calls)::bigint AS calls, sum(h.rows)::bigint AS rows, sum(h.total_ms) AS total_ms,
               sqrt(greatest(sum(h.calls * h.stddev_ms ^ 2 + h.total_ms ^ 2 / h.calls) / sum(h.calls)::double precision
                             - (sum(h.total_ms) / sum(h.calls)::double precision) ^ 2, 0)) AS stddev_ms,
               sum(h.blocks_hit + h.blocks_read)::double precision AS blocks, sum(h.wal_bytes)::double precision AS wal_bytes
          FROM @extschema@.ff_statement_history h
         WHERE h.ended_at > now() - make_interval(days => @extschema@.ff_setting('lookback')::integer)
         GROUP BY h.statement_id
    )
    SELECT c.oid::regclass, t.command, t.how, t.columns,
           s.calls, s.calls / nullif(p.seconds, 0), CASE WHEN t.how IS DISTINCT FROM 'cte' THEN s.rows END,
           CASE WHEN t.how IS DISTINCT FROM 'cte' THEN s.rows::double precision / s.calls END,
           s.total_ms / s.calls, s.stddev_ms, s.blocks / s.calls, s.wal_bytes / s.calls,
           q.statement_id, q.queryid, q.text, coalesce(q.reason, t.reason)
      FROM total s
      JOIN @extschema@.ff_statement q ON q.statement_id = s.statement_id AND q.kind <> 'other'
      LEFT JOIN @extschema@.ff_statement_target t ON t.statement_id = s.statement_id
      LEFT JOIN pg_class c ON c.oid = t.relid AND q.closed_at IS NULL
     CROSS JOIN span p
     WHERE $1 IS NULL
        OR c.oid = $1
        OR c.oid IN (SELECT a.relid FROM pg_partition_ancestors($1) a)
    UNION ALL
    SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, w.reason
      FROM (SELECT CASE WHEN l.collection_id IS NULL THEN 'nothing was collected yet: CALL ff_collect()'
                        ELSE l.reason END AS reason
              FROM (VALUES (1)) v LEFT JOIN looked l ON true
            UNION ALL
            SELECT format('%s statements of other roles are hidden from the collecting role: GRANT pg_read_all_stats to it', l.hidden)
              FROM looked l WHERE l.hidden > 0
            UNION ALL
            SELECT format('%s more statements that write are not followed: raise fillfactor_advisor.statements', l.left_out)
              FROM looked l WHERE l.left_out > 0 AND l.texts_reason IS NULL
            UNION ALL
            SELECT format('%s new statements are not followed, because texts of pg_stat_statements cannot be read (%s): one is lost or damaged, or is another database''s and does not fit this one''s encoding; pg_stat_statements_reset() removes it', l.left_out, l.texts_reason)
              FROM looked l WHERE l.texts_reason IS NOT NULL
            UNION ALL
            SELECT format('pg_stat_statements had no room and evicted the least called statements (%s times in the window): what these did is missing: raise pg_stat_statements.max', p.evictions)
              FROM span p WHERE p.evictions > 0
            UNION ALL
            SELECT format('%s intervals of statements are missing, because their counters began anew', p.lost)
              FROM span p WHERE p.lost > 0) w
     WHERE w.reason IS NOT NULL
     ORDER BY 5 DESC NULLS LAST, 13, 2
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
        SELECT c.*, r.rel_id, r.sampled_at, r.seen_at, @extschema@.ff_fillfactor(c.reloptions) AS fillfactor
          FROM (SELECT n.*, o.system_identifier, d.oid AS database_oid
                  FROM @extschema@.ff_candidate n
                 CROSS JOIN @extschema@.ff_server() o
                  JOIN pg_database d ON d.datname = current_database()
                 WHERE $1 IS NULL OR n.relid = $1) c
          LEFT JOIN LATERAL (
                -- of a restored history the OIDs say nothing until a collection found the tables
                SELECT k.rel_id, k.sampled_at, k.seen_at FROM @extschema@.ff_relation k
                 WHERE k.system_identifier = c.system_identifier AND k.database_oid = c.database_oid AND k.relid = c.relid AND k.closed_at IS NULL LIMIT 1) r ON true
    ), memory AS MATERIALIZED (
        SELECT @extschema@.ff_ram_bytes() AS bytes
    ), counted AS MATERIALIZED (
        SELECT s.*, y.*
          FROM (SELECT array_agg(e.rel_id) AS ids, array_agg(e.fillfactor) AS fillfactors FROM examined e WHERE e.rel_id IS NOT NULL) a
         CROSS JOIN LATERAL @extschema@.ff_summarise(a.ids, a.fillfactors, timestamptz 'infinity') s
         CROSS JOIN LATERAL @extschema@.ff_recent(s.updated, s.last_updated, s.last_hot, s.last_newpage, s.last_inserted, s.last_s) y
    ), looks AS MATERIALIZED (
        SELECT max(c.began_at) AS looked_at, bool_or(NOT c.track_counts) AS counts_lost,
               (array_agg(c.open_writers ORDER BY c.began_at DESC))[1] AS open_writers
          FROM @extschema@.ff_collection c
         WHERE c.began_at > now() - make_interval(days => @extschema@.ff_setting('lookback')::integer)
    )
    SELECT e.relid::regclass, e.rel_id, e.nspname, e.relname, e.relkind, e.not_examined, e.fillfactor, e.reloptions,
           -- a collection that was cut short left intervals, but is no look
           greatest(l.looked_at, e.seen_at), n.window_began, extract(epoch FROM greatest(l.looked_at, e.seen_at) - n.window_began)::double precision, n.intervals,
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
DO $$
DECLARE
    kept oid;
BEGIN
    FOR kept IN
        SELECT c.oid FROM pg_class c JOIN pg_extension e ON e.extname = 'fillfactor_advisor' AND c.relnamespace = e.extnamespace
         WHERE c.relname IN ('ff_epoch', 'ff_collection', 'ff_relation', 'ff_interval', 'ff_page_sample', 'ff_problem',
                             'ff_change', 'ff_prediction', 'ff_setting_history',
                             'ff_epoch_epoch_id_seq', 'ff_collection_collection_id_seq', 'ff_relation_rel_id_seq', 'ff_change_change_id_seq')
         ORDER BY c.relkind, c.relname
    LOOP
        PERFORM pg_extension_config_dump(kept, '');
    END LOOP;
    -- what can be made anew is not
    PERFORM pg_extension_config_dump(c.oid, 'WHERE false')
       FROM pg_class c JOIN pg_extension e ON e.extname = 'fillfactor_advisor' AND c.relnamespace = e.extnamespace WHERE c.relname = 'ff_summary';
END
$$;

CREATE FUNCTION @extschema@.ff_is_schedule(schedule text) RETURNS boolean
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    -- Five fields; each a list of *, a number or name, or a range of them,
    -- with an optional step.  Names of months and days stand for numbers.
    WITH field AS (
        SELECT f.place, f.value, b.lo, b.hi, b.names
          FROM regexp_split_to_table(schedule, '[ \t]+') WITH ORDINALITY f(value, place)
          LEFT JOIN (VALUES (1, 0, 59, '[0-9]'), (2, 0, 23, '[0-9]'), (3, 1, 31, '[0-9]'), (4, 1, 12, 'jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec'),
                            (5, 0, 7, 'sun|mon|tue|wed|thu|fri|sat')) b(place, lo, hi, names) ON b.place = f.place
    ), item AS (
        SELECT field.*, m IS NOT NULL AS known, CASE WHEN m[1] ~ '^[0-9]' THEN m[1]::integer END AS first, CASE WHEN m[2] ~ '^[0-9]' THEN m[2]::integer END AS last, m[3]::integer AS step
          FROM field
         CROSS JOIN LATERAL regexp_split_to_table(field.value, ',') i(value)
          LEFT JOIN LATERAL regexp_match(i.value, replace('^(?:\*|([0-9]{1,2}|NAMES)(?:-([0-9]{1,2}|NAMES))?)(?:/([0-9]{1,2}))?$', 'NAMES', field.names), 'i') m ON true
    )
    SELECT schedule ~ '^@(hourly|daily|midnight|weekly|monthly|yearly|annually|reboot)$'
        OR (SELECT count(*) = 5 FROM field)
           AND (SELECT bool_and(known AND coalesce(first BETWEEN lo AND hi, true) AND coalesce(last BETWEEN lo AND hi, true)
                                AND coalesce(first <= last, true) AND coalesce(step > 0, true)) FROM item)
$$;
COMMENT ON FUNCTION @extschema@.ff_is_schedule(text) IS 'Whether a text is a schedule that every cron understands: five fields, or a word such as @hourly.';
REVOKE ALL ON FUNCTION @extschema@.ff_is_schedule(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_is_schedule(text) TO pg_stat_scan_tables;

CREATE FUNCTION @extschema@.ff_check_collector() RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    missing text;
BEGIN
    SELECT format('%I.%I', n.nspname, c.relname) INTO missing
      FROM pg_extension e
      JOIN pg_class c ON c.oid = ANY (e.extconfig) AND c.relkind = 'r'
      JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE e.extname = 'fillfactor_advisor'
       AND NOT (has_table_privilege(c.oid, 'INSERT') AND has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE'))
     ORDER BY 1 LIMIT 1;
    IF missing IS NOT NULL THEN
        RAISE EXCEPTION 'role % may not write the history', quote_ident(current_user)
            USING ERRCODE = 'insufficient_privilege',
                  DETAIL = format('A collection inserts into, updates and deletes from the tables of the extension, among them %s.', missing),
                  HINT = 'Grant the role INSERT, UPDATE and DELETE on them: the chapter "Rights" of README.md has the statements. A superuser needs no grant.';
    END IF;
END
$$;
REVOKE ALL ON FUNCTION @extschema@.ff_check_collector() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_check_collector() TO pg_stat_scan_tables;
COMMENT ON FUNCTION @extschema@.ff_check_collector() IS
'internal: error 42501, with a hint, where the calling role may not write what a collection writes';

CREATE OR REPLACE FUNCTION @extschema@.ff_progress()
RETURNS TABLE (
    pid           integer,
    phase         text,
    began_at      timestamptz,
    running_s     double precision,
    current_table regclass,
    sampled       bigint,
    problems      bigint,
    waiting       bigint,
    collection_id bigint
)
LANGUAGE sql VOLATILE ROWS 1
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT l.pid, p.phase, a.query_start, extract(epoch FROM clock_timestamp() - a.query_start)::double precision,
           -- the one user table that it holds a lock on
           (SELECT t.relation::regclass FROM pg_locks t
             WHERE t.pid = l.pid AND t.locktype = 'relation' AND t.database = l.database
               AND EXISTS (SELECT 1 FROM @extschema@.ff_relation r WHERE r.relid = t.relation AND r.closed_at IS NULL) LIMIT 1),
           CASE WHEN p.phase <> 'counters' THEN (SELECT count(*) FROM @extschema@.ff_relation r WHERE r.sampled_at >= c.began_at) END,
           CASE WHEN p.phase <> 'counters' THEN (SELECT count(*) FROM @extschema@.ff_problem r WHERE r.seen_at >= c.began_at) END,
           CASE WHEN p.phase = 'pages' THEN (SELECT count(*) FROM @extschema@.ff_collect_due() d(rel_id)
                                              WHERE NOT EXISTS (SELECT 1 FROM @extschema@.ff_problem r WHERE r.rel_id = d.rel_id AND r.seen_at >= c.began_at)) END,
           CASE WHEN p.phase <> 'counters' THEN c.collection_id END
      FROM pg_locks l
      JOIN pg_database b ON b.oid = l.database AND b.datname = current_database()
      LEFT JOIN pg_stat_get_activity(NULL) a ON a.pid = l.pid
      LEFT JOIN (SELECT k.* FROM @extschema@.ff_collection k ORDER BY k.collection_id DESC LIMIT 1) c ON c.began_at >= a.query_start
     CROSS JOIN LATERAL (SELECT CASE WHEN c.collection_id IS NULL THEN 'counters' WHEN c.ended_at IS NULL THEN 'pages' ELSE 'history' END AS phase) p
     -- the collector's lock, see src/collect_lock.c; older collectors' may be anybody's
     WHERE l.locktype = 'userlock' AND l.classid = 1717985636 AND l.objid = 1 AND l.objsubid = 2 AND l.granted
$$;

CREATE FUNCTION @extschema@.ff_job_command(job_name text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- A job outlives the extension; then it is the job itself that has to say so.
    SELECT format('DO %L', format(
               'BEGIN '
               'IF NOT EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname OPERATOR(pg_catalog.=) ''fillfactor_advisor'') THEN '
               'RAISE ''extension fillfactor_advisor is gone from this database, its job is left'' USING ERRCODE = ''undefined_object'', HINT = %L; '
               'END IF; '
               'CALL %I.ff_collect(); '
               'END',
               format('Remove the job where pg_cron is: SELECT cron.unschedule(jobid) FROM cron.job WHERE jobname = %L AND database = %L;', job_name, current_database()),
               n.nspname))
      FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
     WHERE e.extname = 'fillfactor_advisor'
$$;
COMMENT ON FUNCTION @extschema@.ff_job_command(text) IS
'internal: the command of a pg_cron job of this name: a DO block that does CALL ff_collect(), or error 42704 with a hint how to remove the job once the extension is dropped';
REVOKE ALL ON FUNCTION @extschema@.ff_job_command(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_job_command(text) TO pg_stat_scan_tables;

CREATE OR REPLACE FUNCTION @extschema@.ff_schedule(schedule text DEFAULT '*/5 * * * *') RETURNS text
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    cron record;
    job bigint;
    others bigint;
    crontab text;
BEGIN
    IF schedule IS NULL THEN
        RAISE EXCEPTION 'schedule must not be null'
            USING ERRCODE = 'null_value_not_allowed',
                  HINT = 'To stop collecting, use ff_unschedule().';
    END IF;
    SELECT * INTO cron FROM @extschema@.ff_cron();

    IF cron.state = 'here' THEN
        -- its job would fail each time
        PERFORM @extschema@.ff_check_collector();
        -- a wrong schedule is refused by pg_cron, in its own words
        EXECUTE format('SELECT %s($1, $2, $3)', cron.schedule_function)
           INTO job USING cron.job_name, schedule, @extschema@.ff_job_command(cron.job_name);
        EXECUTE format('SELECT count(*) FROM %s WHERE jobid <> $1 AND jobname = $2 AND database = $3', cron.job_table)
           INTO others USING job, cron.job_name, current_database();
        IF others > 0 THEN
            RAISE WARNING 'another role has scheduled the same collection'
                USING DETAIL = 'The second of two collectors leaves without harm.',
                      HINT = 'ff_unschedule(), run by a superuser, removes all of them.';
        END IF;
        RETURN format('job %s: a DO block with %s in database %I, schedule %s, as user %I. Run ff_unschedule() before DROP EXTENSION.',
                      job, cron.command, current_database(), schedule, current_user);
    END IF;

    -- Nobody else looks at it; pg_cron may know seconds, and $ for the last
    -- day of the month, too.
    IF NOT @extschema@.ff_is_schedule(CASE cron.state WHEN 'elsewhere' THEN regexp_replace(replace(schedule, '$', '*'), '^[1-5]?[0-9] seconds?$', '* * * * *') ELSE schedule END) THEN
        RAISE EXCEPTION 'invalid schedule: %', quote_literal(schedule)
            USING ERRCODE = 'invalid_parameter_value',
                  HINT = 'A schedule has five fields: minute, hour, day of the month, month, day of the week; for example ''*/5 * * * *'', every five minutes.';
    END IF;

    IF cron.state = 'elsewhere' THEN
        RAISE WARNING 'nothing is scheduled yet: pg_cron runs from database "%"', cron.cron_database
            USING HINT = 'Run the returned statement there.';
        RETURN format('SELECT cron.schedule_in_database(%L, %L, %L, %L);',
                      cron.job_name, schedule, @extschema@.ff_job_command(cron.job_name), current_database());
    ELSIF cron.state = 'not_created' THEN
        RAISE EXCEPTION 'pg_cron is loaded but not created in this database'
            USING ERRCODE = 'undefined_object',
                  HINT = 'Run CREATE EXTENSION pg_cron, then ff_schedule() again.';
    END IF;

    -- In a crontab % is a line end and a line end cannot be written.
    IF cron.command || current_database() ~ '[[:cntrl:]]' THEN
        crontab := 'call psql on this database';
    ELSE
        crontab := format('%s  PGDATABASE=''%s'' psql -X -q -c ''%s''', schedule,
                          replace(replace(current_database(), '''', '''\'''''), '%', '\%'),
                          replace(replace(cron.command, '''', '''\'''''), '%', '\%'));
    END IF;
    RAISE EXCEPTION '%', CASE cron.state
            WHEN 'unknown' THEN 'pg_cron is not in this database, and the server''s settings are hidden from this role'
            ELSE 'pg_cron is not loaded by this server' END
        USING ERRCODE = 'object_not_in_prerequisite_state',
              HINT = format('Add pg_cron to shared_preload_libraries, restart, and run CREATE EXTENSION pg_cron in the database that cron.database_name names. '
                            'Without pg_cron a line in the crontab (or a systemd timer with its command) does the same: %s', crontab);
END
$$;
COMMENT ON FUNCTION @extschema@.ff_schedule(text) IS
'schedules a pg_cron job of the calling role (cron syntax; a newer pg_cron also takes ''30 seconds''): a DO block that does CALL ff_collect(), or, left after DROP EXTENSION, fails and says how to remove it; called again it changes the schedule. Where pg_cron runs from another database: a warning, and the statement to run there. Errors: 22023 no schedule that cron understands, 42501 the role may not write the history, 55000 there is no pg_cron (the hint has the line for a crontab)';

CREATE OR REPLACE FUNCTION @extschema@.ff_indexed_share(e @extschema@.ff_table_evidence) RETURNS double precision
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH indexed AS MATERIALIZED (
        -- keys, included columns, expressions and predicates alike: all of them decide about HOT
        SELECT coalesce(array_agg(DISTINCT k.column_name::text), '{}') AS columns
          FROM pg_index i
          JOIN pg_class c ON c.oid = i.indexrelid
         CROSS JOIN LATERAL @extschema@.ff_index_columns(i.indexrelid) k
         WHERE i.indrelid = e.relation AND i.indislive AND NOT coalesce(@extschema@.ff_summarizing(c.relam), false)
    ), seen AS MATERIALIZED (
        SELECT t.columns, sum(h.rows) AS rows
          FROM @extschema@.ff_statement_target t
          JOIN @extschema@.ff_statement_history h ON h.statement_id = t.statement_id
         WHERE (t.relid = e.relation OR t.relid IN (SELECT a.relid FROM pg_partition_ancestors(e.relation) a))
           AND t.command = 'UPDATE' AND h.ended_at > e.window_began AND h.rows > 0
         GROUP BY t.columns
    )
    -- a statement whose columns are not known could be any of them
    SELECT CASE WHEN bool_and(s.columns IS NOT NULL)
                THEN coalesce(sum(s.rows) FILTER (WHERE @extschema@.ff_changed_columns(e.relation::oid, s.columns) && (SELECT x.columns FROM indexed x)), 0)
                     / sum(s.rows)::double precision
                -- keys are hardly ever changed, and neither the pages nor the counters show that they were
                WHEN coalesce(e.seen_same_page, 0) = 0 AND e.recent_hot >= 0.5 * e.recent_updated
                     AND NOT EXISTS (SELECT 1 FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
                                      WHERE i.indrelid = e.relation AND i.indislive AND NOT i.indisprimary AND NOT coalesce(@extschema@.ff_summarizing(c.relam), false))
                THEN 0 END
      FROM seen s
$$;
COMMENT ON FUNCTION @extschema@.ff_indexed_share(@extschema@.ff_table_evidence) IS 'Of the rows that statements were seen to update, the share (0 to 1) updated by statements that set an indexed column; where no statement is known, or one whose columns are not, 0 if the primary key is its only index, most updates are HOT and no page shows otherwise, else NULL.';

CREATE FUNCTION @extschema@.ff_update_records(e @extschema@.ff_table_evidence, since timestamptz) RETURNS double precision
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH target AS MATERIALIZED (
        SELECT t.statement_id, t.how = 'on_conflict' AS upsert,
               t.how IN ('top', 'on_conflict')
               -- pages of tables that are read are pruned, too, and rows picked there locked
               AND s.text_bytes <= 4000 AND s.text !~* '[[:<:]](select|from)[[:>:]]'
               -- ON CONFLICT locks rows also that its condition leaves as they are
               AND NOT (t.how = 'on_conflict' AND s.text ~* '[[:<:]]where[[:>:]]')
               AND NOT EXISTS (SELECT 1 FROM @extschema@.ff_statement_target o
                                WHERE o.statement_id = t.statement_id AND o."position" <> t."position"
                                  AND (o.relid IS DISTINCT FROM t.relid OR o.command <> 'INSERT'))
               -- a key is looked up, and so locked, where it is set
               AND NOT EXISTS (SELECT 1 FROM pg_constraint k JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = ANY (k.conkey)
                                WHERE k.conrelid = e.relation AND k.contype = 'f' AND (t.how = 'on_conflict' OR coalesce(a.attname = ANY (t.columns), true))) AS alone
          FROM @extschema@.ff_statement_target t
          JOIN @extschema@.ff_statement s ON s.statement_id = t.statement_id
         WHERE t.relid = e.relation AND t.command = 'UPDATE'
    ), written AS (
        SELECT coalesce(sum(h.rows) FILTER (WHERE NOT t.upsert), 0)::double precision AS updated,
               coalesce(sum(h.rows) FILTER (WHERE t.upsert), 0)::double precision AS upserted,
               sum(h.rows)::double precision AS rows, sum(h.wal_records)::double precision AS records, sum(h.wal_fpi) AS images, bool_and(t.alone) AS alone
          FROM target t
          JOIN @extschema@.ff_statement_history h ON h.statement_id = t.statement_id
         WHERE h.began_at >= since AND h.ended_at > since AND h.rows > 0
    ), split AS (
        -- of the rows of INSERT ... ON CONFLICT, those updated are the updates that no other statement made
        SELECT w.*, least(greatest(e.recent_updated - w.updated, 0), w.upserted) AS conflicts FROM written w
    )
    SELECT (s.records
            -- a row inserted: itself, confirmed, its index entries; one updated instead is locked first
            - (s.upserted - s.conflicts) * (2 + e.indexes) - s.conflicts) / (s.updated + s.conflicts)
      FROM split s
     WHERE s.alone AND s.updated + s.conflicts BETWEEN greatest(1, 0.9 * e.recent_updated) AND 1.1 * e.recent_updated
       -- most of them updates, and the others all that was inserted
       AND (s.upserted = 0 OR s.conflicts >= 0.5 * s.upserted AND abs(s.upserted - s.conflicts - e.recent_inserted) <= 0.1 * s.conflicts)
       -- a hint bit set first after a checkpoint is a record of its own
       AND (s.images <= 0.05 * s.rows OR current_setting('data_checksums') = 'off' AND current_setting('wal_log_hints') = 'off')
       -- nothing else that writes: triggers, values out of line, entries of other kinds of indexes or of one that is not counted
       AND e.toast_bytes = 0
       AND EXISTS (SELECT 1 FROM pg_class c WHERE c.oid = e.relation AND c.relpersistence = 'p')
       AND NOT EXISTS (SELECT 1 FROM pg_trigger g WHERE g.tgrelid = e.relation AND NOT g.tgisinternal AND g.tgenabled <> 'D')
       AND NOT EXISTS (SELECT 1 FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam
                        WHERE i.indrelid = e.relation AND i.indislive AND (m.amname <> 'btree' OR i.indpred IS NOT NULL OR NOT i.indisvalid))
$$;
COMMENT ON FUNCTION @extschema@.ff_update_records(@extschema@.ff_table_evidence, timestamptz) IS 'WAL records that a row updated wrote since the evidence''s recent intervals began, by the statements that update the table: one for the row, one for each page pruned on the way to it, and where it was not HOT one for each index and one where it moved. NULL where statements known do not account for the updates by a tenth (a partition''s may name its parent), or where they are seen to write more: other tables that they read, triggers, foreign keys they set, TOAST, partial indexes and other than B-trees, full-page images where hint bits are logged, an unlogged table, a condition of ON CONFLICT, more inserts than updates by it, MERGE, WITH. What functions in them write is not seen.';
REVOKE ALL ON FUNCTION @extschema@.ff_update_records(@extschema@.ff_table_evidence, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_update_records(@extschema@.ff_table_evidence, timestamptz) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_page_read_us() RETURNS double precision
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    r record;
BEGIN
    -- without the scans, which read ahead in rings of buffers of their own
    IF to_regclass('pg_catalog.pg_stat_io') IS NOT NULL THEN
        EXECUTE $io$SELECT sum(i.reads) AS reads, sum(i.read_time) AS ms FROM pg_catalog.pg_stat_io i WHERE i.object = 'relation' AND i.context = 'normal'$io$ INTO r;
    ELSE
        SELECT d.blks_read AS reads, d.blk_read_time AS ms INTO r FROM pg_stat_database d WHERE d.datname = current_database();
    END IF;
    -- what the operating system served from memory is in the mean: a disk's own
    -- reads are slower
    RETURN CASE WHEN r.reads > 1000 AND r.ms > 0 THEN greatest(50, 1000 * r.ms / r.reads) END;
END
$$;
COMMENT ON FUNCTION @extschema@.ff_page_read_us() IS 'Mean time of a page read from outside shared buffers, microseconds, at least 50: from pg_stat_io where there is one (PostgreSQL 16), else of this database; NULL without track_io_timing, or with fewer than 1,000 reads since the statistics were reset.';
REVOKE ALL ON FUNCTION @extschema@.ff_page_read_us() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_page_read_us() TO pg_read_all_stats;

DROP FUNCTION @extschema@.ff_model_extra(@extschema@.ff_table_evidence);
CREATE FUNCTION @extschema@.ff_model_extra(
    e @extschema@.ff_table_evidence,
    OUT total_inserted bigint, OUT total_updated bigint, OUT table_xids integer, OUT vacuums bigint,
    OUT vacuum_scale double precision, OUT vacuum_nap_s double precision, OUT checkpoint_s double precision, OUT read_us double precision,
    OUT update_call_rows double precision, OUT update_wal_bytes double precision, OUT insert_call_rows double precision,
    OUT indexed_share double precision,
    OUT recent_deleted double precision, OUT recent_vacuums double precision,
    OUT recent_seq_scans double precision, OUT recent_index_scans double precision, OUT recent_blocks_fetched double precision,
    OUT sessions double precision, OUT update_records double precision)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH statement AS (
        SELECT t.command, sum(h.calls)::double precision AS calls, sum(h.rows)::double precision AS rows, sum(h.wal_bytes)::double precision AS wal_bytes
          FROM @extschema@.ff_statement_target t
          JOIN @extschema@.ff_statement_history h ON h.statement_id = t.statement_id
         WHERE (t.relid = e.relation OR t.relid IN (SELECT a.relid FROM pg_partition_ancestors(e.relation) a))
           AND t.how <> 'cte' AND h.ended_at > e.window_began
         GROUP BY t.statement_id, t.command
        HAVING sum(h.rows) > 0
    ), command AS (
        -- rows per call as the mean row meets it
        SELECT s.command, sum(s.rows ^ 2 / s.calls) / sum(s.rows) AS call_rows, sum(s.wal_bytes) / sum(s.rows) AS wal_bytes
          FROM statement s
         GROUP BY s.command
    ), seen AS (
        -- the newest, until they have the evidence's recent updates
        SELECT i.*, sum(i.updated) OVER (ORDER BY i.ended_at DESC) - i.updated < e.recent_updated AS recent
          FROM @extschema@.ff_interval i
         WHERE i.rel_id = e.rel_id AND i.began_at >= e.window_began AND i.fillfactor = e.fillfactor
    ), counted AS (
        SELECT coalesce(sum(n.vacuums), 0)::bigint AS vacuums,
               -- how many updates of the evidence's recent ones that is
               e.recent_updated / nullif(sum(n.updated) FILTER (WHERE n.recent), 0)::double precision AS part,
               sum(n.deleted) FILTER (WHERE n.recent) AS deleted, sum(n.vacuums) FILTER (WHERE n.recent) AS recent_vacuums,
               sum(n.seq_scans) FILTER (WHERE n.recent) AS seq_scans, sum(n.index_scans) FILTER (WHERE n.recent) AS index_scans,
               sum(n.blocks_fetched) FILTER (WHERE n.recent) AS blocks_fetched, min(n.began_at) FILTER (WHERE n.recent) AS began_at
          FROM seen n
    ), work AS (
        -- while its rows were updated, the collections themselves left out; the
        -- newest intervals are enough
        SELECT sum(n.updated * greatest(0, l.busy_ms - f.busy_ms - 1000 * o.collecting_s) / (1000 * extract(epoch FROM n.ended_at - n.began_at))) / nullif(sum(n.updated), 0) AS sessions
          FROM (SELECT * FROM seen s WHERE s.recent AND s.updated > 0 ORDER BY s.ended_at DESC LIMIT 50) n
          JOIN @extschema@.ff_collection f ON f.began_at = n.began_at
          JOIN @extschema@.ff_collection l ON l.began_at = n.ended_at AND l.epoch_id = f.epoch_id AND l.busy_ms >= f.busy_ms
         CROSS JOIN LATERAL (SELECT coalesce(sum(extract(epoch FROM c.ended_at - c.began_at)), 0) AS collecting_s
                               FROM @extschema@.ff_collection c WHERE c.began_at >= n.began_at AND c.began_at < n.ended_at) o
    )
    SELECT r.inserted, r.updated, CASE WHEN a.xids BETWEEN 0 AND age(r.birth) THEN a.xids::integer ELSE age(r.birth) END, k.vacuums,
           coalesce((SELECT o.option_value::double precision FROM pg_options_to_table(e.reloptions) o WHERE o.option_name = 'autovacuum_vacuum_scale_factor'),
                    current_setting('autovacuum_vacuum_scale_factor')::double precision),
           extract(epoch FROM current_setting('autovacuum_naptime')::interval)::double precision,
           extract(epoch FROM current_setting('checkpoint_timeout')::interval)::double precision,
           @extschema@.ff_page_read_us(),
           u.call_rows, u.wal_bytes, i.call_rows, @extschema@.ff_indexed_share(e),
           k.part * k.deleted, k.part * k.recent_vacuums, k.part * k.seq_scans, k.part * k.index_scans, k.part * k.blocks_fetched,
           w.sessions, @extschema@.ff_update_records(e, k.began_at)
      FROM @extschema@.ff_relation r
     CROSS JOIN counted k
     CROSS JOIN work w
      -- as it was at the end of the last interval, whatever other tables have seen since
     CROSS JOIN LATERAL (SELECT mod(max(c.next_xid::text::numeric) - r.birth::text::numeric, 4294967296.0)::bigint AS xids
                           FROM @extschema@.ff_collection c
                          WHERE c.began_at = (SELECT max(n.ended_at) FROM seen n)) a
      LEFT JOIN command u ON u.command = 'UPDATE'
      LEFT JOIN command i ON i.command = 'INSERT'
     WHERE r.rel_id = e.rel_id
$$;
COMMENT ON FUNCTION @extschema@.ff_model_extra(@extschema@.ff_table_evidence) IS 'Internal: rows inserted and updated since the table''s counters began, transactions from its creation to the end of the last interval, vacuums in the window, its autovacuum scale factor, the least seconds between two autovacuums and between two checkpoints, microseconds of a page read (NULL without track_io_timing); where its statements are known: rows that one call of an UPDATE updates, as the mean row meets it, WAL bytes of a row updated, rows that one call of an INSERT inserts, and the share of updated rows for which an indexed column was set; rows deleted, vacuums, scans and heap pages asked for while the evidence''s recent updates were made (NULL where there were none); sessions of the database at work then at a time, on average (NULL where not known); see ff_update_records().';
REVOKE ALL ON FUNCTION @extschema@.ff_model_extra(@extschema@.ff_table_evidence) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_model_extra(@extschema@.ff_table_evidence) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_units() RETURNS TABLE (name text, kind text, size numeric)
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 11
SET search_path = pg_catalog, pg_temp
AS $$
    VALUES ('B', 'memory', 1::numeric), ('kB', 'memory', 1024), ('MB', 'memory', 1048576), ('GB', 'memory', 1073741824), ('TB', 'memory', 1099511627776),
           ('us', 'time', 1), ('ms', 'time', 1000), ('s', 'time', 1000000), ('min', 'time', 60000000), ('h', 'time', 3600000000), ('d', 'time', 86400000000)
$$;
COMMENT ON FUNCTION @extschema@.ff_units() IS 'Units of settings, in bytes or microseconds.';
REVOKE ALL ON FUNCTION @extschema@.ff_units() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_units() TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_setting_amount(value text, unit text, OUT amount numeric, OUT kind text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    -- a unit of its own goes before that of the setting, which may be a
    -- multiple (8kB)
    WITH m AS (
        SELECT v.m[1]::numeric AS n, coalesce(v.m[2], unit) AS unit
          FROM regexp_match(value, '^\s*([-+]?[0-9]*\.?[0-9]+(?:e[-+]?[0-9]+)?)\s*(B|kB|MB|GB|TB|us|ms|s|min|h|d)?\s*$') v(m) WHERE v.m IS NOT NULL
    )
    SELECT m.n * coalesce(nullif(b.m[1], '')::numeric * s.size, s.size, 1), s.kind
      FROM m
      LEFT JOIN LATERAL regexp_match(m.unit, '^([0-9]*)([A-Za-z]+)$') b(m) ON true
      LEFT JOIN @extschema@.ff_units() s ON s.name = b.m[2]
$$;
COMMENT ON FUNCTION @extschema@.ff_setting_amount(text, text) IS 'A setting''s value as a number: bytes or microseconds (kind memory or time) where it or the setting has a unit, else as it is; NULL where it is no number. The value may have a unit of its own, as in a configuration file; unit is that of pg_settings.';
REVOKE ALL ON FUNCTION @extschema@.ff_setting_amount(text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_setting_amount(text, text) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_setting_shown(value text, unit text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    -- as the server does: the largest unit that leaves a whole number, none
    -- for zero and for values that mean something special
    SELECT CASE WHEN a.kind IS NOT NULL AND a.amount > 0
                THEN (SELECT trim_scale(a.amount / s.size) || s.name FROM @extschema@.ff_units() s
                       WHERE s.kind = a.kind AND (a.amount % s.size = 0 OR s.size = 1) ORDER BY s.size DESC LIMIT 1)
                ELSE value END
      FROM (SELECT 1) one LEFT JOIN @extschema@.ff_setting_amount(value, unit) a ON true
$$;
COMMENT ON FUNCTION @extschema@.ff_setting_shown(text, text) IS 'A setting''s value as SHOW has it, given how pg_settings has it: the number and its unit (such as 8kB; NULL: none).';
REVOKE ALL ON FUNCTION @extschema@.ff_setting_shown(text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_setting_shown(text, text) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_restore_setting(setting text, old_value text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    s      record;
    beside text;
    equal  boolean;
BEGIN
    -- the history may name any, and any value, which a superuser would run
    SELECT p.name, p.unit, p.vartype, p.boot_val, p.sourcefile INTO s
      FROM pg_settings p
     WHERE p.name = ff_restore_setting.setting AND p.name = ANY (@extschema@.ff_tracked_settings())
       AND CASE p.vartype WHEN 'bool' THEN old_value IN ('on', 'off') WHEN 'enum' THEN old_value = ANY (p.enumvals)
                          ELSE (SELECT m.amount IS NOT NULL FROM @extschema@.ff_setting_amount(old_value, p.unit) m) END;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    -- Where ALTER SYSTEM set the present value, and the old one is what would
    -- be there without it, nobody had set the old one by ALTER SYSTEM.
    IF s.sourcefile ~ '[/\\]postgresql\.auto\.conf$' THEN
        beside := s.boot_val;
        IF has_table_privilege('pg_file_settings', 'SELECT') AND has_function_privilege('pg_show_all_file_settings()', 'EXECUTE') THEN
            SELECT f.setting INTO beside
              FROM (SELECT s.boot_val AS setting, 0 AS seqno
                    UNION ALL
                    SELECT f.setting, f.seqno FROM pg_file_settings f
                     WHERE lower(f.name) = lower(s.name) AND f.sourcefile !~ '[/\\]postgresql\.auto\.conf$') f
             ORDER BY f.seqno DESC LIMIT 1;
        END IF;
        equal := CASE s.vartype WHEN 'bool' THEN old_value::boolean = beside::boolean
                                WHEN 'integer' THEN (@extschema@.ff_setting_amount(old_value, s.unit)).amount = (@extschema@.ff_setting_amount(beside, s.unit)).amount
                                WHEN 'real' THEN (@extschema@.ff_setting_amount(old_value, s.unit)).amount = (@extschema@.ff_setting_amount(beside, s.unit)).amount
                                ELSE lower(old_value) = lower(beside) END;
    END IF;
    RETURN CASE WHEN equal THEN format('ALTER SYSTEM RESET %I; SELECT pg_reload_conf();', s.name)
                ELSE format('ALTER SYSTEM SET %I = %L; SELECT pg_reload_conf();', s.name, @extschema@.ff_setting_shown(old_value, s.unit)) END;
END
$$;
COMMENT ON FUNCTION @extschema@.ff_restore_setting(text, text) IS 'The statements that bring a server setting back to an earlier value (as pg_settings has it): ALTER SYSTEM RESET where that is what the other configuration files, or the default, give without ALTER SYSTEM; else it is set. The files are asked only on behalf of roles that may read pg_file_settings, for others the default alone counts; where the present value comes from is hidden from some roles: then the old one is set. NULL where that is none of ff_tracked_settings(), or no value of it.';
REVOKE ALL ON FUNCTION @extschema@.ff_restore_setting(text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_restore_setting(text, text) TO pg_read_all_stats;

CREATE OR REPLACE FUNCTION @extschema@.ff_plan(target regclass) RETURNS jsonb
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    kind      CONSTANT "char" := (SELECT c.relkind FROM pg_class c WHERE c.oid = target);
    -- what a raise must save of a table, to be worth a rewrite
    worth     CONSTANT double precision := 0.1;
    a         record;
    p         record;
    changes   jsonb[] := '{}';
    counts    jsonb := '{}';
    index_counts jsonb := '{}';
    templates jsonb[] := '{}';
    wants     boolean;
    why       text;
    template  oid;
    wal       bigint;
BEGIN
    IF target IS NOT NULL AND kind IS DISTINCT FROM 'i' THEN
        PERFORM @extschema@.ff_checked_table(target);
    END IF;

    FOR a IN
        SELECT v.*, (SELECT i.inhparent FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid AND c.relispartition WHERE i.inhrelid = v.relation) AS parent
          FROM (SELECT NULL::regclass AS t WHERE target IS NULL
                UNION ALL SELECT t.relid FROM pg_partition_tree(target) t WHERE kind = 'p' AND t.isleaf
                UNION ALL SELECT target WHERE kind NOT IN ('p', 'i')) x
         CROSS JOIN LATERAL @extschema@.ff_advise(x.t) v
         ORDER BY v.size_bytes NULLS FIRST, v.relation
    LOOP
        counts := jsonb_set(counts, ARRAY[a.action], to_jsonb(coalesce((counts->>a.action)::integer, 0) + 1));
        CONTINUE WHEN a.action NOT IN ('lower', 'raise');

        IF a.action = 'raise' THEN
            wants := a.predicted_size_bytes < a.size_bytes * (1 - worth);
            why := CASE WHEN wants THEN format('gives back %s at once; without it, new rows fill up the old pages by and by', pg_size_pretty(a.size_bytes - a.predicted_size_bytes))
                        ELSE 'not worth it: it would give back next to nothing' END;
        ELSE
            SELECT coalesce(c.needs_rewrite, true) INTO wants
              FROM @extschema@.ff_evidence(a.relation) e CROSS JOIN LATERAL @extschema@.ff_choice(e) c;
            why := CASE WHEN wants THEN 'updates fall on old pages, which keep their density until they are rewritten'
                        ELSE 'nothing to do: updates fall on new pages, and those are filled as advised from now on' END;
        END IF;
        changes := changes || @extschema@.ff_plan_change(a.relation::oid, a.recommended_fillfactor,
            jsonb_build_object('action', a.action, 'cause', a.cause, 'confidence', round(a.confidence::numeric, 2), 'fillfactor', a.fillfactor, 'reason', a.reason,
                               'parent', a.parent::oid::text, 'updates_per_s', round(a.updates_per_s::numeric, 2),
                               'effect', jsonb_build_object('hot_pct', round(a.hot_pct::numeric, 1), 'predicted_hot_pct', round(a.predicted_hot_pct::numeric, 1),
                                                            'rows_per_page', a.rows_per_page, 'predicted_rows_per_page', a.predicted_rows_per_page,
                                                            'size_bytes', a.size_bytes, 'predicted_size_bytes', a.predicted_size_bytes,
                                                            'predicted_wal_pct', round(a.predicted_wal_pct::numeric))),
            a.predicted_size_bytes, wants, why);
    END LOOP;

    changes := array_remove(changes, NULL);

    -- new partitions: as the busiest one of those changed
    FOR p IN
        SELECT DISTINCT ON (c->>'parent') (c->>'parent')::oid AS parent, (c->>'recommended_fillfactor')::integer AS fillfactor, c->>'relation' AS leaf,
               count(*) OVER (PARTITION BY c->>'parent') AS changed,
               (SELECT count(*) FROM pg_inherits i WHERE i.inhparent = (c->>'parent')::oid) AS partitions,
               (SELECT @extschema@.ff_quoted_name(n.nspname::text) || '.' || @extschema@.ff_quoted_name(k.relname::text)
                  FROM pg_class k JOIN pg_namespace n ON n.oid = k.relnamespace WHERE k.oid = (c->>'parent')::oid) AS name
          FROM unnest(changes) c
         WHERE c->>'parent' IS NOT NULL
         ORDER BY c->>'parent', (c->>'updates_per_s')::double precision DESC NULLS LAST
    LOOP
        template := @extschema@.ff_partman_template(p.parent);
        templates := templates || jsonb_build_object('parent', p.name, 'parent_oid', p.parent::text, 'fillfactor', p.fillfactor, 'as', p.leaf, 'changed', p.changed, 'partitions', p.partitions,
            'managed_by', CASE WHEN template IS NOT NULL THEN 'pg_partman' END,
            'statement', format('CREATE TABLE ... PARTITION OF %s ... WITH (fillfactor = %s);', p.name, p.fillfactor));
        CONTINUE WHEN kind IS DISTINCT FROM 'p' AND target IS NOT NULL;
        -- those made ahead, still empty
        FOR a IN
            SELECT c.oid, @extschema@.ff_fillfactor(c.reloptions) AS fillfactor
              FROM pg_inherits i
              JOIN @extschema@.ff_candidate k ON k.relid = i.inhrelid AND k.not_examined IS NULL
              JOIN pg_class c ON c.oid = i.inhrelid
             CROSS JOIN LATERAL @extschema@.ff_sizes(c.oid) z
             WHERE i.inhparent = p.parent AND z.heap_bytes = 0 AND @extschema@.ff_fillfactor(c.reloptions) <> p.fillfactor
               AND NOT EXISTS (SELECT 1 FROM pg_partitioned_table d WHERE d.partrelid = p.parent AND d.partdefid = c.oid)
             ORDER BY k.nspname, k.relname
        LOOP
            changes := changes || @extschema@.ff_plan_change(a.oid, p.fillfactor,
                jsonb_build_object('action', 'template', 'cause', 'template', 'fillfactor', a.fillfactor,
                                   'reason', format('an empty partition of %s, made ahead: it is to be filled as %s is advised to be', p.name, p.leaf)),
                0::bigint, false, 'it holds no rows');
        END LOOP;
        IF template IS NOT NULL AND (SELECT @extschema@.ff_fillfactor(c.reloptions) FROM pg_class c WHERE c.oid = template) <> p.fillfactor THEN
            changes := changes || @extschema@.ff_plan_change(template, p.fillfactor,
                jsonb_build_object('action', 'template', 'cause', 'template', 'fillfactor', (SELECT @extschema@.ff_fillfactor(c.reloptions) FROM pg_class c WHERE c.oid = template),
                                   'reason', format('pg_partman gives the options of this table to new partitions of %s, which are advised as %s is', p.name, p.leaf)),
                0::bigint, false, 'it holds no rows');
        END IF;
    END LOOP;

    -- indexes, by what their pages show now
    FOR a IN SELECT i.* FROM @extschema@.ff_advise_indexes(target) i ORDER BY i.size_bytes NULLS FIRST LOOP
        index_counts := jsonb_set(index_counts, ARRAY[a.action], to_jsonb(coalesce((index_counts->>a.action)::integer, 0) + 1));
        CONTINUE WHEN a.action NOT IN ('lower', 'raise', 'rebuild');
        -- ascending keys fill new pages anyway
        wants := a.action = 'rebuild' OR a.cause = 'never_written';
        changes := changes || @extschema@.ff_plan_change(a.index::oid, CASE WHEN a.action <> 'rebuild' THEN a.recommended_fillfactor END,
            jsonb_build_object('action', a.action, 'cause', a.cause, 'fillfactor', a.fillfactor, 'reason', a.reason,
                               'effect', jsonb_build_object('leaf_density', round(a.leaf_density::numeric, 1), 'size_bytes', a.size_bytes, 'predicted_size_bytes', a.predicted_size_bytes)),
            a.predicted_size_bytes, wants,
            CASE WHEN a.action = 'rebuild' THEN a.reason WHEN wants THEN 'only a rebuild packs it' ELSE 'nothing to do: new keys go to new pages, which are filled as advised from now on' END);
    END LOOP;

    changes := array_remove(changes, NULL);
    SELECT coalesce(sum((m->>'wal_bytes')::bigint), 0) INTO wal
      FROM unnest(changes) c CROSS JOIN LATERAL jsonb_array_elements(c->'rewrite'->'methods') m
     WHERE m->'method' = c->'rewrite'->'method';

    RETURN (
        SELECT jsonb_build_object(
            'format', 1,
            'generator', 'fillfactor_advisor ' || (SELECT e.extversion FROM pg_extension e WHERE e.extname = 'fillfactor_advisor'),
            'database', current_database(), 'system_identifier', (SELECT s.system_identifier::text FROM @extschema@.ff_server() s),
            'server', concat_ws(', ', nullif(current_setting('cluster_name'), ''), 'port ' || current_setting('port')),
            'server_version', current_setting('server_version'), 'client_encoding', pg_client_encoding(),
            'generated_at', to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"'), 'generated_by', current_user,
            'collected', (SELECT jsonb_build_object('collections', count(*),
                                                    'from', to_char(min(o.began_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"'),
                                                    'to', to_char(max(o.began_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"'))
                            FROM @extschema@.ff_collection o WHERE o.began_at > now() - make_interval(days => @extschema@.ff_setting('lookback')::integer)),
            'asked_for', CASE WHEN target IS NULL THEN 'all tables' ELSE (SELECT @extschema@.ff_quoted_name(n.nspname::text) || '.' || @extschema@.ff_quoted_name(c.relname::text)
                                                                            FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = target) END,
            'examined', counts, 'indexes_examined', index_counts,
            'run_as', (SELECT coalesce(jsonb_agg(DISTINCT c->'owner'), '[]') FROM unnest(changes) c),
            'wal_bytes', wal, 'io_rate', (SELECT to_jsonb(i) FROM @extschema@.ff_io_rate() i),
            'cautions', (SELECT coalesce(jsonb_agg(w), '[]') FROM @extschema@.ff_cautions(wal) w),
            'changes', (SELECT coalesce(jsonb_agg(c ORDER BY c->>'kind' = 'index', (c->'effect'->>'size_bytes')::bigint NULLS FIRST, c->>'relation'), '[]') FROM unnest(changes) c),
            'templates', to_jsonb(templates)));
END
$$;

CREATE OR REPLACE FUNCTION @extschema@.ff_script(relation regclass DEFAULT NULL, rewrite boolean DEFAULT false) RETURNS SETOF text
LANGUAGE plpgsql VOLATILE ROWS 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    plan    CONSTANT jsonb := @extschema@.ff_script_json(relation, rewrite);
    -- those that set options; the others are rebuilds alone
    total   CONSTANT integer := (SELECT count(*) FROM jsonb_array_elements(plan->'changes') w WHERE w->>'statement' IS NOT NULL);
    -- every session that runs a part begins and ends so
    opening CONSTANT text[] := ARRAY[
        '\set ON_ERROR_STOP on',
        '\set AUTOCOMMIT on',
        '\set QUIET on',
        format('\encoding %s', plan->>'client_encoding'),
        'SET search_path = pg_catalog, pg_temp;',
        'SET client_min_messages = notice;',
        'SET statement_timeout = 0;',
        'SET lock_timeout = ''2s'';',
        'SET ff_script.done = 0;',
        'SET ff_script.unchanged = 0;',
        'SET ff_script.refused = 0;'];
    closing CONSTANT text[] := string_to_array(@extschema@.ff_do($body$BEGIN
    RAISE NOTICE '% done, % unchanged, % refused', current_setting('ff_script.done'), current_setting('ff_script.unchanged'), current_setting('ff_script.refused');
    IF current_setting('ff_script.refused') <> '0' THEN
        RAISE EXCEPTION '% refused, for the reasons in the warnings above', current_setting('ff_script.refused')
            USING HINT = 'The others are in force. What was locked can be run again; for the rest, generate the script anew.';
    END IF;
END$body$), E'\n') || ARRAY[
        'RESET lock_timeout;', 'RESET statement_timeout;', 'RESET client_min_messages;', 'RESET search_path;'];
    c       jsonb;
    m       jsonb;
    t       text;
    n       integer := 0;
    prefix  text;
    -- what has an equals sign, or looks like an address, psql takes for a connection string
    file    CONSTANT text := (SELECT format('psql -X -d %s', '''' || replace(CASE WHEN d.name ~ '=|^postgres(ql)?://' THEN 'dbname=''' || regexp_replace(d.name, '([''\\])', '\\\1', 'g') || '''' ELSE d.name END, '''', '''\''''') || '''')
                                FROM (SELECT @extschema@.ff_plain(current_database()::text)) d(name));
BEGIN
    RETURN NEXT '-- ' || (plan->>'generator') || ': script of changes for ' || @extschema@.ff_plain(plan->>'asked_for') || ', to be read before it is run';
    RETURN NEXT '-- database:  ' || @extschema@.ff_plain(plan->>'database') || ' of cluster ' || (plan->>'system_identifier') || ' (' || @extschema@.ff_plain(plan->>'server') || '), PostgreSQL ' || @extschema@.ff_plain(plan->>'server_version');
    RETURN NEXT '-- generated: ' || (plan->>'generated_at') || ' by ' || @extschema@.ff_plain(plan->>'generated_by');
    RETURN NEXT '-- collected: ' || coalesce((plan->'collected'->>'from') || ' to ' || (plan->'collected'->>'to') || ', ' || (plan->'collected'->>'collections') || ' collections', 'nothing yet');
    RETURN NEXT '-- examined:  ' || coalesce((SELECT string_agg(e.value || ' ' || e.key, ', ' ORDER BY e.key) FROM jsonb_each_text(plan->'examined') e), 'no table')
                || coalesce('; indexes: ' || (SELECT string_agg(e.value || ' ' || e.key, ', ' ORDER BY e.key) FROM jsonb_each_text(plan->'indexes_examined') e), '');
    IF jsonb_array_length(plan->'changes') = 0 THEN
        RETURN NEXT '-- Nothing is to be changed. ff_advise() and ff_advise_indexes() give the reason for each table and index.';
        RETURN;
    END IF;
    RETURN NEXT '-- run as:    a superuser, or a member of the owners: ' || (SELECT string_agg(@extschema@.ff_plain(o), ', ') FROM jsonb_array_elements_text(plan->'run_as') o);
    RETURN NEXT '-- how:       ' || file || ' -f FILE, not with --single-transaction';
    RETURN NEXT '-- Each change refuses with a warning where something is no longer as it was when this was generated, and the';
    RETURN NEXT '-- rest goes on; psql then ends with an error. Run again, it changes nothing that is in force already.';
    FOR t IN SELECT jsonb_array_elements_text(plan->'cautions') LOOP
        RETURN NEXT '-- caution:   ' || @extschema@.ff_plain(t);
    END LOOP;
    RETURN NEXT '';
    RETURN QUERY SELECT unnest(opening);

    IF total = 0 THEN
        RETURN NEXT '';
        RETURN NEXT '-- No option is to be changed, only rebuilt what the rewrites below name.';
    END IF;
    FOR c IN SELECT w FROM jsonb_array_elements(plan->'changes') w WHERE w->>'statement' IS NOT NULL LOOP
        n := n + 1;
        RETURN NEXT '';
        RETURN NEXT format('-- %s of %s: %s, fillfactor %s -> %s (%s%s)', n, total, c->>'relation', c->>'fillfactor', c->>'recommended_fillfactor', c->>'cause', ', confidence ' || (c->>'confidence'));
        RETURN NEXT '-- reason:    ' || @extschema@.ff_plain(c->>'reason');
        t := @extschema@.ff_script_effect(c);
        IF t <> '' THEN
            RETURN NEXT '-- expected:  ' || t;
        END IF;
        RETURN NEXT '-- lock:      ' || (c->>'lock') || '; 5 tries of 2 s';
        RETURN NEXT '-- old pages: ' || (c->'rewrite'->>'reason') || coalesce('; by ' || (c->'rewrite'->>'method') || ', see below', '');
        RETURN QUERY SELECT string_to_table(c->>'guarded_statement', E'\n');
    END LOOP;

    FOR c IN SELECT jsonb_array_elements(plan->'templates') LOOP
        RETURN NEXT '';
        RETURN NEXT format('-- New partitions of %s should be as %s is (%s of %s partitions change); a partitioned table itself takes no fillfactor:', c->>'parent', c->>'as', c->>'changed', c->>'partitions');
        RETURN NEXT '--   ' || (c->>'statement') || CASE WHEN c->>'managed_by' IS NOT NULL THEN ' (pg_partman does so by its template table)' ELSE '' END;
    END LOOP;

    IF EXISTS (SELECT 1 FROM jsonb_array_elements(plan->'changes') w WHERE (w->'rewrite'->>'wanted')::boolean) THEN
        prefix := CASE WHEN rewrite THEN '' ELSE '--rewrite ' END;
        RETURN NEXT '';
        RETURN NEXT '-- Rewrites: how the changes reach pages that are there already, and indexes to be rebuilt as they are. One at a time, when there is least to do.';
        IF NOT coalesce(rewrite, false) THEN
            RETURN NEXT '-- They are commented out; to run them: sed -n ''s/^--rewrite //p'' FILE | ' || file;
            RETURN QUERY SELECT prefix || unnest(opening);
        END IF;
        FOR c IN SELECT w FROM jsonb_array_elements(plan->'changes') w WHERE (w->'rewrite'->>'wanted')::boolean LOOP
            RETURN NEXT '';
            RETURN NEXT '-- ' || (c->>'relation') || ': ' || @extschema@.ff_plain(c->'rewrite'->>'reason');
            FOR m IN SELECT jsonb_array_elements(c->'rewrite'->'methods') LOOP
                RETURN NEXT format('--   %s %s: %s; disk %s of %s free, WAL about %s, %s; %s', CASE WHEN m->'method' = c->'rewrite'->'method' THEN '*' WHEN (m->>'possible')::boolean THEN '+' ELSE '-' END,
                                   m->>'method', m->>'why', pg_size_pretty((m->>'disk_bytes')::bigint), pg_size_pretty((m->>'free_bytes')::bigint), pg_size_pretty((m->>'wal_bytes')::bigint),
                                   coalesce('at least ' || @extschema@.ff_span((m->>'seconds')::double precision) || ' at the speed measured', 'time unknown, as track_io_timing has measured nothing'), m->>'lock');
                IF m->'method' IS DISTINCT FROM c->'rewrite'->'method' AND (m->>'possible')::boolean THEN
                    RETURN NEXT '--       ' || (m->>'statement');
                END IF;
            END LOOP;
            FOR m IN SELECT w FROM jsonb_array_elements(c->'rewrite'->'methods') w WHERE w->'method' = c->'rewrite'->'method' LOOP
                RETURN QUERY SELECT prefix || string_to_table(m->>'psql', E'\n');
            END LOOP;
        END LOOP;
        IF NOT coalesce(rewrite, false) THEN
            RETURN QUERY SELECT prefix || unnest(closing);
        END IF;
    END IF;

    RETURN NEXT '';
    RETURN QUERY SELECT unnest(closing);
    IF total = 0 THEN
        RETURN;
    END IF;
    RETURN NEXT '';
    RETURN NEXT '-- Undo: the options come back exactly as they were stored; old pages again only by a rewrite. To run it:';
    RETURN NEXT '-- sed -n ''s/^--undo //p'' FILE | ' || file;
    RETURN QUERY SELECT '--undo ' || unnest(opening);
    FOR c IN SELECT w.c FROM jsonb_array_elements(plan->'changes') WITH ORDINALITY AS w(c, place) WHERE w.c->>'statement' IS NOT NULL ORDER BY w.place DESC LOOP
        RETURN QUERY SELECT '--undo ' || string_to_table(c->>'guarded_undo', E'\n');
    END LOOP;
    RETURN QUERY SELECT '--undo ' || unnest(closing);
END
$$;

CREATE OR REPLACE FUNCTION @extschema@.ff_unprintable() RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    -- psql ends a comment at a line feed or carriage return; the others, and
    -- what reverses or hides text, would show a reader something else
    SELECT CASE WHEN e.encoding = 'UTF8' THEN '[\u0001-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]'
                -- these have the same 32 control characters beyond ASCII; others have letters there
                WHEN e.encoding ~ '^(LATIN|ISO_8859_)' THEN '[\u0001-\u001f\u007f-\u009f]'
                ELSE '[\u0001-\u001f\u007f]' END
      FROM (SELECT getdatabaseencoding()) e(encoding)
$$;

CREATE OR REPLACE FUNCTION @extschema@.ff_escaped(content text, quote text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT string_agg(CASE WHEN c.ch ~ @extschema@.ff_unprintable()
                           THEN CASE WHEN ascii(c.ch) < 65536 THEN CASE quote WHEN '''' THEN '\u' ELSE '\' END || lpad(to_hex(ascii(c.ch)), 4, '0')
                                     ELSE CASE quote WHEN '''' THEN '\U00' ELSE '\+' END || lpad(to_hex(ascii(c.ch)), 6, '0') END
                           WHEN c.ch IN ('\', quote) THEN c.ch || c.ch
                           ELSE c.ch END, '' ORDER BY c.place)
      FROM string_to_table(content, NULL) WITH ORDINALITY AS c(ch, place)
$$;

CREATE OR REPLACE FUNCTION @extschema@.ff_ddl(relation regclass, fillfactor integer) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT format('ALTER %s %s.%s SET (fillfactor = %s);',
                  CASE c.relkind WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'TABLE' END,
                  @extschema@.ff_quoted_name(n.nspname::text), @extschema@.ff_quoted_name(c.relname::text), fillfactor)
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.oid = relation
$$;

CREATE OR REPLACE FUNCTION @extschema@.ff_set_option(relation regclass, option text, value text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT format('ALTER %s %s.%s SET (%I = %L);', CASE c.relkind WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'TABLE' END,
                  @extschema@.ff_quoted_name(n.nspname::text), @extschema@.ff_quoted_name(c.relname::text), option, value)
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = relation
$$;

CREATE OR REPLACE FUNCTION @extschema@.ff_undo_options(relation regclass, old_options text[], new_options text[], fillfactor boolean) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- toast.* options are stored with the TOAST table, not here
    WITH o AS (
        SELECT split_part(u.option, '=', 1) AS name, substr(u.option, strpos(u.option, '=') + 1) AS value, u.old
          FROM (SELECT unnest(old_options), true UNION ALL SELECT unnest(new_options), false) u(option, old)
    ), one AS (
        SELECT coalesce(a.name, b.name) AS name, a.name IS NOT NULL AS was_set, a.value
          FROM (SELECT * FROM o WHERE o.old) a FULL JOIN (SELECT * FROM o WHERE NOT o.old) b ON a.name = b.name
         WHERE a.value IS DISTINCT FROM b.value AND (lower(coalesce(a.name, b.name)) = 'fillfactor') = fillfactor
           -- the history may hold anything, the server stores no other names
           AND coalesce(a.name, b.name) ~ '^[A-Za-z_][A-Za-z0-9_]*$'
    )
    SELECT string_agg(format('ALTER %s %s.%s %s;', CASE c.relkind WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'TABLE' END,
                             @extschema@.ff_quoted_name(n.nspname::text), @extschema@.ff_quoted_name(c.relname::text),
                             CASE WHEN one.was_set THEN format('SET (%s = %s)', @extschema@.ff_quoted_name(one.name), @extschema@.ff_quoted_text(one.value))
                                  ELSE format('RESET (%s)', @extschema@.ff_quoted_name(one.name)) END), ' ' ORDER BY one.name)
      FROM one, pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.oid = relation AND c.relkind IN ('r', 'm')
$$;
COMMENT ON FUNCTION @extschema@.ff_undo_options(regclass, text[], text[], boolean) IS 'Statements that put a table''s storage options back, exactly as they were stored: its fillfactor, or all others; NULL where it is no table. Internal step of ff_verify().';

CREATE FUNCTION @extschema@.ff_index_statement(relation oid, definition text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- The definition comes from the history, which roles may write that are no
    -- superusers; who runs the statement may be one.  So it has to consist of
    -- nothing but what pg_get_indexdef() writes, and may call no code but the
    -- server's own: what is not qualified is looked for in pg_catalog only, and
    -- of qualified names these are let through that cannot call any.
    name    CONSTANT text := '(?:[A-Za-z_][A-Za-z0-9_]*|"(?:[^"]|"")+")';
    token   CONSTANT text := '''(?:[^'']|'''')*''|"(?:[^"]|"")+"|[A-Za-z_][A-Za-z0-9_]*|[0-9][0-9.]*(?:e[-+]?[0-9]+)?|::|[-+*/<>=~!@#%^&|`?]+|[][(),.]|[ \n]+';
    head    text[];
    made    text;
    t       text[];
    target  text;
    schema_name text;
    object_name text;
    depth   integer := 0;
BEGIN
    head := regexp_match(definition, '^CREATE (UNIQUE )?INDEX (' || name || ') ON (?:ONLY )?' || name || '\.' || name || ' USING (' || name || ')( \(.*)$');
    SELECT @extschema@.ff_quoted_name(n.nspname::text) || '.' || @extschema@.ff_quoted_name(c.relname::text) INTO target
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = relation AND c.relkind IN ('r', 'm');
    IF head IS NULL OR target IS NULL OR strpos(definition, '\') > 0 THEN
        RETURN NULL;
    END IF;
    SELECT array_agg(m[1] ORDER BY n) INTO t FROM regexp_matches(head[4], '(' || token || ')', 'g') WITH ORDINALITY x(m, n);
    IF array_to_string(t, '') <> head[4] THEN
        RETURN NULL;
    END IF;
    -- CASE is written on several lines
    SELECT array_agg(CASE WHEN u.t ~ '^[ \n]+$' THEN ' ' ELSE u.t END ORDER BY u.n) INTO t FROM unnest(t) WITH ORDINALITY u(t, n);
    made := concat('CREATE ', head[1], 'INDEX ', head[2], ' ON ', target, ' USING ', head[3], array_to_string(t, ''), ';');
    IF made ~ @extschema@.ff_unprintable() THEN
        RETURN NULL;
    END IF;
    FOR i IN 1 .. cardinality(t) LOOP
        IF t[i] !~ '^[''"]' AND t[i] ~ '--|/\*' OR lower(t[i]) = 'operator'
           -- another kind of literal: E'', U&'', B''
           OR left(t[i], 1) IN ('''', '"') AND t[i - 1] ~ '^([A-Za-z_0-9]|&$)' THEN
            RETURN NULL;
        ELSIF t[i] = '(' THEN
            depth := depth + 1;
        ELSIF t[i] = ')' THEN
            depth := depth - 1;
        ELSIF t[i] = '.' THEN
            -- a field of a composite value, or a qualified name of two parts
            CONTINUE WHEN t[i - 1] = ')';
            IF t[i - 2] = '.' OR t[i + 2] = '.' OR t[i - 1] !~ ('^' || name || '$') OR t[i + 1] !~ ('^' || name || '$') THEN
                RETURN NULL;
            END IF;
            schema_name := CASE WHEN t[i - 1] LIKE '"%' THEN replace(substr(t[i - 1], 2, length(t[i - 1]) - 2), '""', '"') ELSE lower(t[i - 1]) END;
            object_name := CASE WHEN t[i + 1] LIKE '"%' THEN replace(substr(t[i + 1], 2, length(t[i + 1]) - 2), '""', '"') ELSE lower(t[i + 1]) END;
            CONTINUE WHEN t[i - 3] = 'COLLATE' AND t[i - 2] = ' ' AND t[i - 4] = ' ';
            -- an operator class, which only superusers make, behind a column or expression
            CONTINUE WHEN depth = 1 AND NOT 'WHERE' = ANY (t[:i]) AND t[i - 2] = ' ' AND t[i - 3] ~ ('^(\)|' || name || ')$')
                      AND (t[i + 2] IN (',', ')') OR t[i + 2] = ' ' AND t[i + 3] IN ('ASC', 'DESC', 'NULLS'))
                      AND EXISTS (SELECT 1 FROM pg_opclass o JOIN pg_namespace n ON n.oid = o.opcnamespace JOIN pg_am a ON a.oid = o.opcmethod
                                   WHERE o.opcname = object_name AND n.nspname = schema_name AND quote_ident(a.amname) = head[3]);
            -- a literal of a type that the table has a column of
            CONTINUE WHEN t[i - 2] = '::' AND t[i - 3] LIKE '''%'
                      AND EXISTS (SELECT 1 FROM pg_attribute a JOIN pg_type y ON a.atttypid IN (y.oid, y.typarray) JOIN pg_namespace n ON n.oid = y.typnamespace
                                   WHERE a.attrelid = relation AND a.attnum > 0 AND NOT a.attisdropped AND y.typname = object_name AND n.nspname = schema_name);
            RETURN NULL;
        END IF;
    END LOOP;
    -- whatever it looks like: what is an operator or a call, only the server's parser knows
    RETURN replace(@extschema@.ff_do('BEGIN PERFORM pg_catalog.set_config(''search_path'', ''pg_catalog, pg_temp'', true); ' || made || ' END'), E'\n', ' ');
END
$$;
COMMENT ON FUNCTION @extschema@.ff_index_statement(oid, text) IS 'The statement that makes an index of a table again, on the table as it is called now, given its definition as a collection wrote it down, run with a search_path of pg_catalog alone. NULL where the text is anything but one CREATE INDEX, or names functions, operators or types of others than the server or the table. Internal step of ff_verify().';
REVOKE ALL ON FUNCTION @extschema@.ff_index_statement(oid, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_index_statement(oid, text) TO pg_read_all_stats;

CREATE OR REPLACE FUNCTION @extschema@.ff_undo_indexes(relation regclass, dropped text[], created text[]) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- a new index that is still there is found by its definition
    SELECT nullif(concat_ws(' ',
        (SELECT string_agg(format('DROP INDEX %s.%s;', @extschema@.ff_quoted_name(n.nspname::text), @extschema@.ff_quoted_name(c.relname::text)), ' ' ORDER BY c.relname)
           FROM (SELECT array_agg(i.indexrelid) AS ids FROM pg_index i WHERE i.indrelid = relation) x
          CROSS JOIN unnest(x.ids, @extschema@.ff_index_definitions(relation::oid, x.ids)) d(id, definition)
           JOIN pg_class c ON c.oid = d.id JOIN pg_namespace n ON n.oid = c.relnamespace
          WHERE d.definition <> '' AND d.definition = ANY (created)),
        (SELECT concat_ws(' ', string_agg(s.statement, ' ' ORDER BY d.place),
                          CASE WHEN count(*) > count(s.statement)
                               THEN format('/* not written out: %s of the old definitions, which call what is not the server''s own; read them before you run them */', count(*) - count(s.statement)) END)
           FROM unnest(dropped) WITH ORDINALITY AS d(definition, place)
          CROSS JOIN LATERAL (SELECT @extschema@.ff_index_statement(relation::oid, d.definition) AS statement) s
          WHERE d.definition <> '')), '')
$$;
COMMENT ON FUNCTION @extschema@.ff_undo_indexes(regclass, text[], text[]) IS 'Statements that drop the indexes created and make those dropped again, given their definitions; a constraint that an index belonged to is not restored, nor an index that ff_index_statement() does not vouch for. Internal step of ff_verify().';

CREATE OR REPLACE FUNCTION @extschema@.ff_verify(relation regclass DEFAULT NULL)
RETURNS TABLE (
    relation             regclass,
    change               text,
    changed_at           timestamptz,
    old_value            text,
    new_value            text,
    verdict              text,
    reason               text,
    undo                 text,
    intervals_before     integer,
    intervals_after      integer,
    updates_before       bigint,
    updates_after        bigint,
    updates_per_s_before double precision,
    updates_per_s_after  double precision,
    hot_pct_before       double precision,
    hot_pct_after        double precision,
    hot_change           double precision,
    hot_change_low       double precision,
    hot_change_high      double precision,
    moved_pct_before     double precision,
    moved_pct_after      double precision,
    wal_bytes_per_update_before double precision,
    wal_bytes_per_update_after  double precision,
    wal_change_pct       double precision,
    wal_change_low       double precision,
    wal_change_high      double precision,
    blocks_per_update_before double precision,
    blocks_per_update_after  double precision,
    mean_ms_before       double precision,
    mean_ms_after        double precision,
    mean_change_pct      double precision,
    mean_change_low      double precision,
    mean_change_high     double precision,
    stddev_ms_before     double precision,
    stddev_ms_after      double precision,
    stddev_change_pct    double precision,
    stddev_change_low    double precision,
    stddev_change_high   double precision,
    heap_bytes_before    bigint,
    heap_bytes_after     bigint,
    index_bytes_before   bigint,
    index_bytes_after    bigint,
    row_bytes_before     double precision,
    row_bytes_after      double precision,
    hit_pct_before       double precision,
    hit_pct_after        double precision,
    predicted_hot_pct    double precision,
    predicted_hot_low    double precision,
    predicted_hot_high   double precision,
    predicted_wal_pct    double precision,
    predicted_size_bytes bigint,
    left_out             text,
    missing              text
)
LANGUAGE sql STABLE ROWS 100
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
    WITH asked AS (
        SELECT @extschema@.ff_checked_table($1) AS relid
    ), setting AS (
        SELECT h.setting, h.value, h.unit, h.before_at, h.seen_at, lag(h.value) OVER (PARTITION BY h.setting ORDER BY h.seen_at) AS old_value
          FROM @extschema@.ff_setting_history h
    ), changed AS (
        SELECT c.rel_id, r.relid::regclass AS relid, c.kind AS change, c.before_at, c.seen_at, c.epoch_id, c.old_fillfactor, c.new_fillfactor,
               CASE c.kind WHEN 'fillfactor' THEN c.old_fillfactor::text WHEN 'options' THEN array_to_string(@extschema@.ff_other_options(c.old_options), ', ')
                    ELSE array_to_string(c.dropped_indexes, '; ') END AS old_value,
               CASE c.kind WHEN 'fillfactor' THEN c.new_fillfactor::text WHEN 'options' THEN array_to_string(@extschema@.ff_other_options(c.new_options), ', ')
                    ELSE array_to_string(c.created_indexes, '; ') END AS new_value,
               CASE c.kind WHEN 'indexes' THEN @extschema@.ff_undo_indexes(r.relid::regclass, c.dropped_indexes, c.created_indexes)
                    ELSE @extschema@.ff_undo_options(r.relid::regclass, c.old_options, c.new_options, c.kind = 'fillfactor') END AS undo,
               (SELECT string_agg(o.kind, ', ' ORDER BY o.kind) FROM @extschema@.ff_change o
                 WHERE o.rel_id = c.rel_id AND o.seen_at = c.seen_at AND o.kind <> c.kind) AS together,
               c.kind = 'fillfactor' AND c.new_fillfactor < c.old_fillfactor
                   AND NOT EXISTS (SELECT 1 FROM @extschema@.ff_interval i WHERE i.rel_id = c.rel_id AND i.ended_at > c.before_at AND i.rewritten) AS old_pages
          FROM @extschema@.ff_change c
          JOIN @extschema@.ff_relation r ON r.rel_id = c.rel_id AND r.closed_at IS NULL
          JOIN pg_class t ON t.oid = r.relid
         WHERE (SELECT a.relid FROM asked a) IS NULL OR r.relid = (SELECT a.relid FROM asked a)
        UNION ALL
        SELECT NULL, NULL, 'setting ' || s.setting, s.before_at, s.seen_at,
               (SELECT k.epoch_id FROM @extschema@.ff_collection k WHERE k.began_at <= s.seen_at ORDER BY k.began_at DESC LIMIT 1), NULL, NULL,
               @extschema@.ff_setting_shown(s.old_value, s.unit), @extschema@.ff_setting_shown(s.value, s.unit),
               @extschema@.ff_restore_setting(s.setting, s.old_value),
               (SELECT string_agg(o.setting, ', ' ORDER BY o.setting) FROM @extschema@.ff_setting_history o
                 WHERE o.seen_at = s.seen_at AND o.setting <> s.setting AND o.before_at IS NOT NULL), false
          FROM setting s
         WHERE s.before_at IS NOT NULL AND (SELECT a.relid FROM asked a) IS NULL
    ), counted AS (
        SELECT c.*, w.*
          FROM changed c
         CROSS JOIN LATERAL (
               SELECT (count(*) FILTER (WHERE b))::integer AS n1, (count(*) FILTER (WHERE a))::integer AS n2,
                      coalesce(sum(v.updated) FILTER (WHERE b), 0) AS u1, coalesce(sum(v.updated) FILTER (WHERE a), 0) AS u2,
                      sum(extract(epoch FROM v.ended_at - v.began_at)) FILTER (WHERE b)::double precision AS s1,
                      sum(extract(epoch FROM v.ended_at - v.began_at)) FILTER (WHERE a)::double precision AS s2,
                      sum(v.hot_updated) FILTER (WHERE b) AS h1, sum(v.hot_updated) FILTER (WHERE a) AS h2,
                      sum(v.newpage_updated) FILTER (WHERE b) AS p1, sum(v.newpage_updated) FILTER (WHERE a) AS p2,
                      array_agg(v.hot_updated) FILTER (WHERE b) AS hots1, array_agg(v.hot_updated) FILTER (WHERE a) AS hots2,
                      array_agg(v.updated) FILTER (WHERE b) AS updates1, array_agg(v.updated) FILTER (WHERE a) AS updates2,
                      range_agg(tstzrange(v.began_at, v.ended_at, '[]')) FILTER (WHERE b) AS t1, range_agg(tstzrange(v.began_at, v.ended_at, '[]')) FILTER (WHERE a) AS t2,
                      100 * sum(v.blocks_hit) FILTER (WHERE b) / nullif(sum(v.blocks_fetched) FILTER (WHERE b), 0) AS hit1,
                      100 * sum(v.blocks_hit) FILTER (WHERE a) / nullif(sum(v.blocks_fetched) FILTER (WHERE a), 0) AS hit2,
                      (array_agg(v.heap_bytes ORDER BY v.ended_at DESC) FILTER (WHERE v.side = 'before' AND v.heap_bytes IS NOT NULL))[1] AS heap1,
                      (array_agg(v.heap_bytes ORDER BY v.ended_at DESC) FILTER (WHERE v.side = 'after' AND v.heap_bytes IS NOT NULL))[1] AS heap2,
                      (array_agg(v.index_bytes ORDER BY v.ended_at DESC) FILTER (WHERE v.side = 'before' AND v.index_bytes IS NOT NULL))[1] AS index1,
                      (array_agg(v.index_bytes ORDER BY v.ended_at DESC) FILTER (WHERE v.side = 'after' AND v.index_bytes IS NOT NULL))[1] AS index2,
                      min(v.began_at) AS first_at, max(v.ended_at) AS last_at
                 FROM @extschema@.ff_verify_windows(c.rel_id, c.before_at, c.seen_at, c.epoch_id) v
                CROSS JOIN LATERAL (SELECT v.left_out IS NULL AND v.side = 'before' AS b, v.left_out IS NULL AND v.side = 'after' AS a) x) w
    ), left_out AS (
        SELECT c.rel_id, c.change, c.seen_at, string_agg(format('%s %s %s', l.n, l.side, l.left_out), ', ' ORDER BY l.side DESC, l.left_out) AS left_out
          FROM changed c
         CROSS JOIN LATERAL (SELECT v.side, v.left_out, count(*) AS n
                               FROM @extschema@.ff_verify_windows(c.rel_id, c.before_at, c.seen_at, c.epoch_id) v
                              WHERE v.left_out <> 'holds the change' GROUP BY v.side, v.left_out) l
         GROUP BY c.rel_id, c.change, c.seen_at
    ), measured AS (
        SELECT c.*, l.left_out,
               -- never surer than single updates would allow (Agresti and Coull's share)
               @extschema@.ff_ratio(c.hots1, c.updates1, (c.h1 + 2) * (c.u1 - c.h1 + 2) / (c.u1 + 4) ^ 3) AS hot1,
               @extschema@.ff_ratio(c.hots2, c.updates2, (c.h2 + 2) * (c.u2 - c.h2 + 2) / (c.u2 + 4) ^ 3) AS hot2,
               e.statements, e.mean_ms_before, e.mean_ms_after, e.mean, e.stddev_ms_before, e.stddev_ms_after, e.stddev,
               e.wal_before, e.wal_after, e.wal, e.blocks_before, e.blocks_after,
               (@extschema@.ff_split_updates(c.u1::double precision, c.h1::double precision, c.p1::double precision, v1.same_page::double precision, v1.moved::double precision, NULL, v1.hot::double precision)).moved_share AS moved1,
               (@extschema@.ff_split_updates(c.u2::double precision, c.h2::double precision, c.p2::double precision, v2.same_page::double precision, v2.moved::double precision, NULL, v2.hot::double precision)).moved_share AS moved2,
               r1.bytes AS row1, r2.bytes AS row2, p.predicted_hot_pct, p.predicted_hot_low, p.predicted_hot_high, p.predicted_wal_pct, p.predicted_size_bytes,
               p.made_at
          FROM counted c
          LEFT JOIN left_out l ON l.rel_id IS NOT DISTINCT FROM c.rel_id AND l.change = c.change AND l.seen_at = c.seen_at
          LEFT JOIN LATERAL @extschema@.ff_statement_effect(c.rel_id, c.t1, c.t2) e ON true
         CROSS JOIN LATERAL (SELECT sum(s.superseded_hot) AS hot, sum(s.superseded_same_page) AS same_page, sum(s.superseded_moved) AS moved
                               FROM @extschema@.ff_page_sample s WHERE s.rel_id = c.rel_id AND s.sampled_at BETWEEN lower(c.t1) AND c.seen_at) v1
         CROSS JOIN LATERAL (SELECT sum(s.superseded_hot) AS hot, sum(s.superseded_same_page) AS same_page, sum(s.superseded_moved) AS moved
                               FROM @extschema@.ff_page_sample s WHERE s.rel_id = c.rel_id AND s.sampled_at >= lower(c.t2)
                                AND s.sampled_at <= upper(c.t2) + (upper(c.t2) - lower(c.t2))) v2
          LEFT JOIN LATERAL (SELECT s.blocks * 8192.0 / nullif(s.live_rows, 0) AS bytes FROM @extschema@.ff_page_sample s
                              WHERE s.rel_id = c.rel_id AND s.sampled_at BETWEEN c.first_at AND c.seen_at ORDER BY s.sampled_at DESC LIMIT 1) r1 ON true
          LEFT JOIN LATERAL (SELECT s.blocks * 8192.0 / nullif(s.live_rows, 0) AS bytes FROM @extschema@.ff_page_sample s
                              WHERE s.rel_id = c.rel_id AND s.sampled_at >= coalesce(lower(c.t2), c.seen_at)
                                AND s.sampled_at < coalesce((SELECT min(o.seen_at) FROM @extschema@.ff_change o WHERE o.rel_id = c.rel_id AND o.seen_at > c.seen_at), 'infinity')
                              ORDER BY s.sampled_at DESC LIMIT 1) r2 ON true
          LEFT JOIN LATERAL (SELECT * FROM @extschema@.ff_prediction o
                              WHERE c.change = 'fillfactor' AND o.rel_id = c.rel_id AND o.from_fillfactor = c.old_fillfactor AND o.to_fillfactor = c.new_fillfactor
                                AND o.made_at < c.seen_at
                              ORDER BY o.made_at DESC LIMIT 1) p ON true
    ), compared AS (
        SELECT m.*, h.d AS hot, 100 * (m.row2 / m.row1 - 1) AS row_pct
          FROM measured m
         CROSS JOIN LATERAL (SELECT array_agg(greatest(-100, least(100, 100 * x.d)) ORDER BY x.n) AS d
                               FROM unnest(@extschema@.ff_difference((m.hot1).ratio, (m.hot1).variance, (m.hot1).clusters,
                                                                     (m.hot2).ratio, (m.hot2).variance, (m.hot2).clusters)) WITH ORDINALITY x(d, n)) h
    )
    SELECT c.relid, c.change, c.seen_at, c.old_value, c.new_value, v.verdict,
           concat(CASE WHEN c.change = 'fillfactor' AND (c.hot1).ratio IS NOT NULL AND (c.hot2).ratio IS NOT NULL
                       THEN format('HOT share %s %% at %s, %s %% at %s', round((100 * (c.hot1).ratio)::numeric, 1), c.old_fillfactor, round((100 * (c.hot2).ratio)::numeric, 1), c.new_fillfactor)
                       WHEN (c.hot1).ratio IS NOT NULL AND (c.hot2).ratio IS NOT NULL
                       THEN format('HOT share %s %% before, %s %% after', round((100 * (c.hot1).ratio)::numeric, 1), round((100 * (c.hot2).ratio)::numeric, 1)) END
                  || CASE WHEN c.predicted_hot_pct IS NOT NULL
                          THEN format(' (%s %% predicted, %s to %s)', round(c.predicted_hot_pct::numeric), round(c.predicted_hot_low::numeric), round(c.predicted_hot_high::numeric)) ELSE '' END || ': ',
                  v.reason,
                  CASE WHEN v.verdict = 'too early' AND c.left_out IS NOT NULL THEN '; intervals left out: ' || c.left_out END,
                  CASE WHEN c.old_pages AND v.verdict <> 'helped' THEN '; the table was not rewritten since, so its old pages are as full as before' END,
                  CASE WHEN c.together IS NOT NULL THEN '; changed at the same time, so not told apart: ' || c.together END,
                  CASE WHEN c.change = 'indexes' AND v.verdict = 'hurt' THEN '; what the indexes are good for in reading is not judged here' END, '.'),
           CASE WHEN v.verdict = 'hurt' THEN c.undo END,
           c.n1, c.n2, c.u1::bigint, c.u2::bigint, c.u1 / nullif(c.s1, 0), c.u2 / nullif(c.s2, 0),
           100 * (c.hot1).ratio, 100 * (c.hot2).ratio, c.hot[1], c.hot[2], c.hot[3],
           100 * c.moved1, 100 * c.moved2,
           c.wal_before, c.wal_after, c.wal[1], c.wal[2], c.wal[3], c.blocks_before, c.blocks_after,
           c.mean_ms_before, c.mean_ms_after, c.mean[1], c.mean[2], c.mean[3],
           c.stddev_ms_before, c.stddev_ms_after, c.stddev[1], c.stddev[2], c.stddev[3],
           c.heap1, c.heap2, c.index1, c.index2, c.row1, c.row2, c.hit1, c.hit2,
           c.predicted_hot_pct, c.predicted_hot_low, c.predicted_hot_high, c.predicted_wal_pct, c.predicted_size_bytes,
           c.left_out,
           nullif(concat_ws('; ',
               CASE WHEN c.statements IS NULL AND c.t1 IS NOT NULL AND c.t2 IS NOT NULL
                    THEN 'WAL, blocks and time: ' || coalesce((SELECT k.reason FROM @extschema@.ff_statement_look k ORDER BY k.collection_id DESC LIMIT 1),
                         CASE WHEN c.rel_id IS NULL THEN 'no statement' ELSE 'no statement that only updates this table' END || ' was seen both before and after') END,
               CASE WHEN c.change = 'fillfactor' AND c.made_at IS NULL THEN 'prediction: this change was not advised by a collection before it' END,
               CASE WHEN c.rel_id IS NOT NULL AND c.u1 > 0 AND c.u2 > 0 AND (c.moved1 IS NULL OR c.moved2 IS NULL)
                    THEN 'moved share: not counted before PostgreSQL 16, and no old versions were seen in the pages' END), '')
      FROM compared c
     CROSS JOIN LATERAL @extschema@.ff_verdict(c.n1, c.n2, c.u1, c.u2, c.hot, c.wal, c.mean, c.stddev, c.row_pct,
                                               CASE WHEN c.rel_id IS NULL THEN 'calls' ELSE 'updates' END) v
    UNION ALL
    SELECT a.relid, NULL, NULL, NULL, NULL, NULL,
           CASE WHEN k.not_examined IS NOT NULL THEN k.not_examined || '.'
                WHEN a.relid IS NOT NULL AND NOT EXISTS (SELECT 1 FROM @extschema@.ff_relation r WHERE r.relid = a.relid AND r.closed_at IS NULL)
                THEN 'not collected yet: run CALL ff_collect() or ff_schedule().'
                ELSE coalesce('no change was seen since ' || to_char(coalesce((SELECT r.opened_at FROM @extschema@.ff_relation r WHERE r.relid = a.relid AND r.closed_at IS NULL),
                                                        (SELECT min(k.began_at) FROM @extschema@.ff_collection k)), 'YYYY-MM-DD HH24:MI') || '.',
                              'not collected yet: run CALL ff_collect() or ff_schedule().') END,
           NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
           NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
      FROM asked a
      LEFT JOIN @extschema@.ff_candidate k ON k.relid = a.relid
     WHERE NOT EXISTS (SELECT 1 FROM changed)
     ORDER BY 3 DESC, 1, 2
$$;

CREATE OR REPLACE FUNCTION @extschema@.ff_report_history(id bigint)
RETURNS TABLE (began_at timestamptz, ended_at timestamptz, fillfactor integer, updated bigint, hot_share double precision, moved_share double precision)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- at most about a hundred points, however long the history is
    WITH i AS (
        SELECT n.*, ntile(100) OVER (ORDER BY n.ended_at) AS bucket
          FROM @extschema@.ff_interval n WHERE n.rel_id = id AND n.updated > 0
    ), b AS (
        SELECT min(i.began_at) AS began_at, max(i.ended_at) AS ended_at, i.fillfactor, sum(i.updated)::bigint AS updated, sum(i.hot_updated) AS hot,
               CASE WHEN bool_and(i.newpage_updated IS NOT NULL) THEN sum(i.newpage_updated) END AS newpage
          FROM i GROUP BY i.bucket, i.fillfactor
    )
    SELECT b.began_at, b.ended_at, b.fillfactor, b.updated, b.hot / b.updated::double precision,
           (SELECT s.moved_share FROM @extschema@.ff_split_updates(b.updated::double precision, b.hot::double precision, b.newpage::double precision, v.same_page::double precision, v.moved::double precision, NULL, v.hot::double precision) s)
      FROM b
      LEFT JOIN LATERAL (
            -- PostgreSQL 15: what the pages told next
            SELECT p.superseded_hot AS hot, p.superseded_same_page AS same_page, p.superseded_moved AS moved
              FROM @extschema@.ff_page_sample p
             WHERE b.newpage IS NULL AND p.rel_id = id AND p.sampled_at >= b.began_at AND p.superseded_same_page + p.superseded_moved > 0
             ORDER BY p.sampled_at LIMIT 1) v ON true
     ORDER BY b.ended_at
$$;

CREATE TABLE @extschema@.ff_advised (
    rel_id            bigint PRIMARY KEY,
    asked_at          timestamptz NOT NULL,
    from_fillfactor   smallint NOT NULL CHECK (from_fillfactor BETWEEN 10 AND 100),
    to_fillfactor     smallint NOT NULL CHECK (to_fillfactor BETWEEN 10 AND 100),
    predicted_hot_pct double precision,
    confidence        double precision NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    CHECK (from_fillfactor <> to_fillfactor)
) WITH (fillfactor = 80);
COMMENT ON TABLE @extschema@.ff_advised IS 'Changes of a fillfactor that ff_advise() advised when a collection asked last, one row a table; the row goes when it advises none any more. What was promised, and what came of it, is in ff_prediction.';
COMMENT ON COLUMN @extschema@.ff_advised.asked_at IS 'when a collection asked';
COMMENT ON COLUMN @extschema@.ff_advised.from_fillfactor IS 'effective fillfactor then, percent';
COMMENT ON COLUMN @extschema@.ff_advised.to_fillfactor IS 'advised fillfactor, percent';
COMMENT ON COLUMN @extschema@.ff_advised.predicted_hot_pct IS 'HOT share foretold at the advised fillfactor, percent; NULL where no updates are foreseen';
COMMENT ON COLUMN @extschema@.ff_advised.confidence IS 'confidence of the advice, 0 to 1';
REVOKE ALL ON @extschema@.ff_advised FROM PUBLIC;
GRANT SELECT ON @extschema@.ff_advised TO pg_read_all_stats;

SELECT pg_extension_config_dump(c.oid, '')
  FROM pg_class c JOIN pg_extension e ON e.extname = 'fillfactor_advisor' AND c.relnamespace = e.extnamespace
 WHERE c.relname = 'ff_advised';

CREATE OR REPLACE FUNCTION @extschema@.ff_promises_due(id bigint) RETURNS SETOF bigint
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    -- advice for a table goes with it
    DELETE FROM @extschema@.ff_advised a
     WHERE NOT EXISTS (SELECT 1 FROM @extschema@.ff_relation r WHERE r.rel_id = a.rel_id AND r.closed_at IS NULL);

    -- Tables that changed in this collection, and those whose advice stands
    -- and may have turned without a change; the one asked longest ago first,
    -- as many as one collection may ask the model for.  A table known for
    -- longer than an hour is asked once an hour: the answer is costly and
    -- moves slowly.
    SELECT r.rel_id
      FROM @extschema@.ff_collection c
     CROSS JOIN LATERAL (
           SELECT u.rel_id, max(u.updated) AS updated, bool_or(u.stands) AS stands
             FROM (SELECT i.rel_id, i.updated, false FROM @extschema@.ff_interval i WHERE i.grain = 0 AND i.ended_at = c.began_at
                   UNION ALL
                   SELECT a.rel_id, 0, true FROM @extschema@.ff_advised a) u(rel_id, updated, stands)
            GROUP BY u.rel_id) d
      JOIN @extschema@.ff_relation r ON r.rel_id = d.rel_id
     WHERE c.collection_id = id AND (d.updated > 0 OR r.fillfactor < 100 OR d.stands) AND r.closed_at IS NULL AND r.sampled_at IS NOT NULL
       AND (r.promised_at IS NULL OR r.promised_at <= c.began_at - interval '1 hour' OR r.opened_at > c.began_at - interval '1 hour')
     ORDER BY r.promised_at NULLS FIRST, d.updated DESC, r.rel_id
     LIMIT 20
$$;
COMMENT ON FUNCTION @extschema@.ff_promises_due(bigint) IS 'rel_id of the tables whose advice may be another one after a collection, at most 20; removes the advice for tables that are gone. Internal step of ff_collect().';

CREATE OR REPLACE FUNCTION @extschema@.ff_collect_promise(id bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- a promise is written anew when its HOT share moved by so many points, or after a day
    new_promise CONSTANT double precision := 2;
    looked_at   CONSTANT timestamptz := clock_timestamp();
    relation    regclass;
    advice      record;
    e           @extschema@.ff_table_evidence;
    choice      record;
    last        @extschema@.ff_prediction;
    made        timestamptz;
    changed     timestamptz;
    written     bigint := 0;
BEGIN
    UPDATE @extschema@.ff_relation r SET promised_at = looked_at WHERE r.rel_id = id RETURNING r.relid::regclass INTO relation;
    IF relation IS NULL THEN
        RETURN 0;
    END IF;
    SELECT a.action, a.fillfactor, a.recommended_fillfactor, a.hot_pct, a.predicted_hot_pct, a.confidence, a.evidence INTO advice
      FROM @extschema@.ff_advise_most(relation, NULL::integer) a;
    IF advice.action IN ('lower', 'raise') THEN
        INSERT INTO @extschema@.ff_advised AS s (rel_id, asked_at, from_fillfactor, to_fillfactor, predicted_hot_pct, confidence)
        VALUES (id, looked_at, advice.fillfactor, advice.recommended_fillfactor, advice.predicted_hot_pct::numeric, advice.confidence::numeric)
        ON CONFLICT (rel_id) DO UPDATE
           SET asked_at = EXCLUDED.asked_at, from_fillfactor = EXCLUDED.from_fillfactor, to_fillfactor = EXCLUDED.to_fillfactor,
               predicted_hot_pct = EXCLUDED.predicted_hot_pct, confidence = EXCLUDED.confidence;

        SELECT * INTO last FROM @extschema@.ff_prediction p WHERE p.rel_id = id ORDER BY p.made_at DESC LIMIT 1;
        IF last IS NULL OR (last.from_fillfactor, last.to_fillfactor) <> (advice.fillfactor, advice.recommended_fillfactor)
           OR last.made_at < looked_at - interval '1 day' OR last.judged_at IS NOT NULL
           OR coalesce(abs(last.predicted_hot_pct - advice.predicted_hot_pct) >= new_promise,
                       last.predicted_hot_pct IS NULL AND advice.predicted_hot_pct IS NOT NULL)
        THEN
            -- once more, for the whole of it: that is seldom
            e := advice.evidence;
            SELECT * INTO choice FROM @extschema@.ff_choice(e);
            INSERT INTO @extschema@.ff_prediction (rel_id, made_at, from_fillfactor, to_fillfactor, hot_pct, predicted_hot_pct, predicted_hot_low,
                        predicted_hot_high, predicted_wal_pct, size_bytes, predicted_size_bytes, confidence)
            VALUES (id, looked_at, advice.fillfactor, advice.recommended_fillfactor, advice.hot_pct, choice.predicted_hot_pct, choice.predicted_hot_low,
                    choice.predicted_hot_high, choice.predicted_wal_pct, e.heap_bytes, choice.predicted_size_bytes, choice.confidence);
            written := 1;
        END IF;
    ELSE
        DELETE FROM @extschema@.ff_advised s WHERE s.rel_id = id;
    END IF;

    -- The last change, if it was promised something: judged as soon as that is
    -- possible, then once an hour while the window after it grows.
    SELECT p.made_at, c.seen_at INTO made, changed
      FROM @extschema@.ff_change c
      JOIN @extschema@.ff_prediction p ON p.rel_id = c.rel_id AND p.from_fillfactor = c.old_fillfactor AND p.to_fillfactor = c.new_fillfactor AND p.made_at < c.seen_at
     WHERE c.rel_id = id AND c.kind = 'fillfactor' AND c.seen_at > looked_at - make_interval(days => @extschema@.ff_setting('lookback')::integer)
     ORDER BY c.seen_at DESC, p.made_at DESC LIMIT 1;
    IF NOT FOUND THEN
        RETURN written;
    END IF;
    UPDATE @extschema@.ff_prediction p
       SET judged_at = looked_at, verdict = v.verdict, achieved_hot_pct = v.hot_pct_after, achieved_wal_pct = 100 + v.wal_change_pct
      FROM @extschema@.ff_verify(relation) v
     WHERE p.rel_id = id AND p.made_at = made AND (p.judged_at IS NULL OR p.judged_at < looked_at - interval '1 hour')
       AND v.change = 'fillfactor' AND v.changed_at = changed AND v.verdict <> 'too early';
    RETURN written;
END
$$;
COMMENT ON FUNCTION @extschema@.ff_collect_promise(bigint) IS 'Writes down whether another fillfactor is advised for a table now (ff_advised), what that promises, where it is new (ff_prediction), and what came of the promise that the last change took up. Returns the promises written. Internal step of ff_collect().';

CREATE OR REPLACE FUNCTION @extschema@.ff_settings()
RETURNS TABLE (
    setting        text,
    scope          text,
    relation       regclass,
    current_value  text,
    proposed_value text,
    action         text,
    evidence       text,
    reason         text,
    source         text,
    ddl            text,
    undo           text
)
LANGUAGE sql VOLATILE ROWS 20
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
    -- What counts as much: where page cost is worth measuring, nanoseconds a
    -- reading; full-page images as a share of WAL, and the WAL (bytes) from
    -- which on it is judged; dead rows as a share of a table, and the smallest
    -- table so judged, rows.
    WITH constant AS (
        SELECT 250.0 AS slow_clock_ns, 0.5 AS images_share, 1e8 AS enough_wal, 0.1 AS dead_share, 10000.0 AS enough_rows
    ), present AS MATERIALIZED (
        SELECT s.name, s.reset_val AS value, s.enumvals, current_setting(s.name) AS shown
          FROM pg_settings s
    ), size AS MATERIALIZED (
        SELECT (SELECT sum(z.heap_bytes + coalesce(z.index_bytes, 0) + coalesce(z.toast_bytes, 0))
                  FROM @extschema@.ff_candidate c CROSS JOIN LATERAL @extschema@.ff_sizes(c.relid) z WHERE c.not_examined IS NULL)::double precision AS data,
               @extschema@.ff_ram_bytes()::double precision AS ram,
               (SELECT p.value::double precision * current_setting('block_size')::integer FROM present p WHERE p.name = 'shared_buffers') AS buffers,
               (SELECT sum(h.blocks_written)::double precision FROM @extschema@.ff_statement_history h
                 WHERE h.ended_at > now() - make_interval(days => @extschema@.ff_setting('lookback')::integer)) AS written,
               (SELECT sum(h.blocks_dirtied)::double precision FROM @extschema@.ff_statement_history h
                 WHERE h.ended_at > now() - make_interval(days => @extschema@.ff_setting('lookback')::integer)) AS dirtied,
               version() ~* 'linux' AS linux
    ), clock AS MATERIALIZED (
        SELECT @extschema@.ff_clock_ns() AS ns
    ), wal AS MATERIALIZED (
        SELECT w.wal_records AS records, w.wal_fpi AS images, w.wal_bytes::double precision AS bytes,
               least(1, w.wal_fpi * current_setting('block_size')::double precision / nullif(w.wal_bytes, 0)::double precision) AS most_share, w.stats_reset
          FROM pg_stat_wal w
    ), idle AS MATERIALIZED (
        SELECT count(*) AS held, max(h.held_s) AS longest_s, sum(h.lost_hot) AS lost_hot, (array_agg(h.role_name ORDER BY h.held_s DESC))[1] AS role_name
          FROM @extschema@.ff_horizon() h WHERE h.kind = 'idle in transaction' AND h.held_s >= 60
    ), lag AS MATERIALIZED (
        SELECT l.*, n.nspname, c.relname FROM @extschema@.ff_vacuum_lag() l JOIN pg_class c ON c.oid = l.relation JOIN pg_namespace n ON n.oid = c.relnamespace
    ), tried AS MATERIALIZED (
        -- the last change of a setting, and what came of it
        SELECT DISTINCT ON (v.change) substr(v.change, 9) AS name, v.verdict, v.reason, v.changed_at, v.old_value, v.undo
          FROM @extschema@.ff_verify() v
         WHERE EXISTS (SELECT 1 FROM @extschema@.ff_setting_history h WHERE h.before_at IS NOT NULL) AND v.change LIKE 'setting %'
         ORDER BY v.change, v.changed_at DESC
    ), proposal AS (
        -- backend_flush_after
        SELECT 10 AS n, 'backend_flush_after' AS name, NULL::regclass AS relation,
               CASE WHEN p.value = '0' AND z.linux AND z.data > greatest(z.ram, z.buffers) THEN '2MB' END AS proposed, 'trial' AS how,
               concat(CASE WHEN z.data > 0 THEN 'tables and indexes of this database ' || pg_size_pretty(z.data::bigint) ELSE 'no table with pages in this database yet' END,
                      ', memory ' || coalesce(pg_size_pretty(z.ram::bigint), 'unknown'), ' (' || round((nullif(z.data, 0) / nullif(z.ram, 0))::numeric, 2) || ' times)',
                      ', shared_buffers ' || pg_size_pretty(z.buffers::bigint))
                   || CASE WHEN z.dirtied > 0 THEN format('; statements wrote %s pages out themselves and dirtied %s', z.written, z.dirtied) ELSE '' END AS evidence,
               CASE WHEN NOT z.linux THEN 'it acts on Linux only'
                    WHEN p.value <> '0' THEN 'set already; ff_verify() judges it once statements were seen before and after the change'
                    WHEN z.data > 0 IS NOT TRUE THEN 'no table here yet'
                    WHEN z.data <= z.buffers THEN 'the data fit shared_buffers, where it was seen to change nothing'
                    WHEN z.data <= z.ram THEN 'the data fit memory, so evicted pages are seldom waited for'
                    ELSE 'the data are larger than memory: a backend that evicts dirty pages may cause bursts of writing, which this spreads. Measurements disagree, so try it and let ff_verify() judge mean and standard deviation' END AS reason,
               'PostgreSQL documentation, "Resource Consumption", Asynchronous Behavior; published measurement with a working set of 4 times RAM: 2 MB gave -4.4 % mean and -27 % standard deviation of update time, nothing where the data fit shared_buffers; three paired runs of 60 s elsewhere showed no consistent effect' AS source
          FROM present p, size z WHERE p.name = 'backend_flush_after'
        UNION ALL
        -- track_io_timing
        SELECT 20, 'track_io_timing', NULL,
               CASE WHEN p.value = 'off' AND c.ns <= k.slow_clock_ns THEN 'on' END, 'change',
               format('one reading of the clock takes %s ns here', round(c.ns::numeric)),
               CASE WHEN p.value = 'on' THEN 'on already: the cost of a page read is measured'
                    WHEN c.ns <= k.slow_clock_ns THEN 'the cost of a page read can be measured instead of assumed, for two readings of the clock a page read; it makes nothing faster by itself'
                    ELSE 'the clock is slow here: two readings a page read would cost too much' END,
               'PostgreSQL documentation, "Run-time Statistics", and pg_test_timing'
          FROM present p, clock c, constant k WHERE p.name = 'track_io_timing'
        UNION ALL
        -- wal_compression
        SELECT 30, 'wal_compression', NULL,
               CASE WHEN p.value = 'off' AND w.bytes >= k.enough_wal AND w.most_share >= k.images_share
                    THEN CASE WHEN 'lz4' = ANY (p.enumvals) THEN 'lz4' ELSE 'on' END END, 'trial',
               format('%s of WAL since %s, %s records, %s full-page images: at most %s %% of it', pg_size_pretty(w.bytes::bigint), to_char(w.stats_reset, 'YYYY-MM-DD HH24:MI'),
                      w.records, w.images, round((100 * w.most_share)::numeric)),
               CASE WHEN p.value <> 'off' THEN 'on already'
                    WHEN w.bytes < k.enough_wal THEN 'too little WAL yet to judge'
                    WHEN w.most_share >= k.images_share THEN 'full-page images may be most of the WAL, and they compress; it costs CPU time at every first change of a page after a checkpoint. Rarer checkpoints (checkpoint_timeout, max_wal_size) save them altogether'
                    ELSE 'full-page images are not what the WAL consists of' END,
               'PostgreSQL documentation, "Write Ahead Log" and view pg_stat_wal (an image has at most one page, less its hole)'
          FROM present p, wal w, constant k WHERE p.name = 'wal_compression'
        UNION ALL
        -- idle_in_transaction_session_timeout
        SELECT 40, 'idle_in_transaction_session_timeout', NULL,
               CASE WHEN i.held > 0 AND (p.value = '0' OR p.value::bigint > 600000) THEN '10min' END, 'trial',
               CASE WHEN i.held = 0 THEN 'no session was seen idle in transaction for a minute'
                    ELSE format('%s sessions idle in transaction held a snapshot for a minute or more, the longest (role %s) for %s', i.held, coalesce(quote_ident(i.role_name), 'unknown'), @extschema@.ff_span(i.longest_s))
                         || coalesce(format('; %s updates were not HOT meanwhile that usually are', i.lost_hot), '') END,
               CASE WHEN i.held = 0 THEN 'nothing to cure'
                    WHEN p.value <> '0' AND p.value::bigint <= 600000 THEN 'set already'
                    ELSE 'nothing that such a session could still see can be pruned. The server ends the session when the time is over: the application must bear that, so commit sooner where that is possible; see ff_horizon()' END,
               'PostgreSQL documentation, "Client Connection Defaults", idle_in_transaction_session_timeout, and "Heap-Only Tuples"'
          FROM present p, idle i WHERE p.name = 'idle_in_transaction_session_timeout'
        UNION ALL
        -- autovacuum at all
        SELECT 50, 'autovacuum', NULL, CASE WHEN p.value = 'off' THEN 'on' END, 'change',
               format('autovacuum is %s', p.value),
               CASE WHEN p.value = 'off' THEN 'without it dead index entries and moved rows are never cleaned up, and transaction ids run out' ELSE 'as it should be' END,
               'PostgreSQL documentation, "Routine Vacuuming"'
          FROM present p WHERE p.name = 'autovacuum'
        UNION ALL
        SELECT 60, 'autovacuum_enabled', l.relation, 'true', 'change',
               format('%s dead of %s rows; %s vacuums in %s', round(l.dead_rows::numeric), round((l.live_rows + l.dead_rows)::numeric), l.vacuums, coalesce(@extschema@.ff_span(l.window_s), 'the time since it was first seen')),
               'autovacuum is off for this table and its dead rows stay; if that is on purpose, vacuum it by other means',
               'PostgreSQL documentation, "Routine Vacuuming"'
          FROM lag l, constant k WHERE NOT l.enabled AND l.removable_rows >= k.dead_share * (l.live_rows + l.dead_rows) AND l.live_rows + l.dead_rows >= k.enough_rows
        UNION ALL
        -- scale factor of the tables whose dead rows outpace vacuum
        SELECT 61, 'autovacuum_vacuum_scale_factor', l.relation,
               CASE WHEN l.removable_rows < l.starts_at THEN CASE WHEN l.scale_factor > 0.05 THEN '0.05' WHEN l.scale_factor > 0.02 THEN '0.02' WHEN l.scale_factor > 0.01 THEN '0.01' END END, 'trial',
               format('%s dead rows that nobody can see, of %s rows (%s %%); autovacuum starts at %s; %s vacuums in %s', round(l.removable_rows::numeric), round((l.live_rows + l.dead_rows)::numeric),
                      round((100 * l.removable_rows / (l.live_rows + l.dead_rows))::numeric), round(l.starts_at::numeric), l.vacuums, coalesce(@extschema@.ff_span(l.window_s), 'the time since it was first seen')),
               CASE WHEN l.removable_rows >= l.starts_at THEN 'a vacuum is due already and does not come round: the scale factor is not the reason; see autovacuum_max_workers, autovacuum_naptime and autovacuum_vacuum_cost_limit'
                    WHEN l.scale_factor <= 0.01 THEN 'low already'
                    ELSE 'dead rows take room in pages that updates could use, and vacuum is not due yet. More frequent vacuums read the indexes more often, so ff_verify() should judge it' END,
               'PostgreSQL documentation, "Routine Vacuuming", The Autovacuum Daemon'
          FROM lag l, constant k
         WHERE l.enabled AND l.removable_rows >= k.dead_share * (l.live_rows + l.dead_rows) AND l.live_rows + l.dead_rows >= k.enough_rows
        UNION ALL
        SELECT 62, 'autovacuum_vacuum_scale_factor', NULL, NULL, 'trial',
               format('%s of %s sampled tables have %s %% or more dead rows that could be removed', count(*) FILTER (WHERE l.removable_rows >= k.dead_share * (l.live_rows + l.dead_rows) AND l.live_rows + l.dead_rows >= k.enough_rows),
                      count(l.relation), round(100 * k.dead_share)),
               'single tables that need it are better served one by one', 'PostgreSQL documentation, "Routine Vacuuming", The Autovacuum Daemon'
          FROM constant k LEFT JOIN lag l ON true GROUP BY k.dead_share
        UNION ALL
        -- settings that hold back pruning by themselves; gone in later versions
        SELECT 70, p.name, NULL, CASE WHEN p.value::integer > 0 THEN '0' END, 'change', format('it is %s transactions', p.value),
               CASE WHEN p.value::integer > 0 THEN 'every old row version is kept for so many transactions longer, also by pruning' ELSE 'it holds nothing back' END,
               'PostgreSQL documentation, "Replication", vacuum_defer_cleanup_age (removed in 16)'
          FROM present p WHERE p.name = 'vacuum_defer_cleanup_age'
        UNION ALL
        -- leave as is
        SELECT 80, p.name, NULL, NULL, 'leave', format('it is %s', p.shown), v.why, v.source
          FROM present p
          JOIN (VALUES ('full_page_writes', 'full-page images cost WAL, but without them a torn page cannot be recovered; fewer updates that leave their page and rarer checkpoints write fewer of them', 'PostgreSQL documentation, "Write Ahead Log"'),
                       ('synchronous_commit', 'it decides what a crash may lose, not how updates are stored', 'PostgreSQL documentation, "Write Ahead Log"'),
                       ('hot_standby_feedback', 'on a standby it trades cancelled queries there for versions kept here; see ff_horizon() for what is held back now', 'PostgreSQL documentation, "Replication"'),
                       ('old_snapshot_threshold', 'it ends snapshots by error and was removed in 17; a timeout for idle transactions does less harm', 'PostgreSQL 17 release notes'),
                       ('shared_buffers', 'no measurement here speaks for another size; fewer pages changed by each update relieve it at any size', 'PostgreSQL documentation, "Resource Consumption"')) v(name, why, source) ON v.name = p.name
    ), told AS (
        SELECT o.n, o.name, o.relation, o.evidence, o.source,
               CASE WHEN t.verdict = 'hurt' AND o.relation IS NULL THEN t.old_value ELSE o.proposed END AS proposed,
               CASE WHEN t.verdict = 'hurt' AND o.relation IS NULL THEN 'change' WHEN o.proposed IS NULL THEN 'leave' ELSE o.how END AS action,
               o.reason || CASE WHEN t.verdict IS NOT NULL AND o.relation IS NULL
                                THEN format('. Changed from %s, seen %s; ff_verify(): %s: %s', t.old_value, to_char(t.changed_at, 'YYYY-MM-DD HH24:MI'), t.verdict, rtrim(t.reason, '.')) ELSE '' END || '.' AS reason,
               CASE WHEN t.verdict = 'hurt' AND o.relation IS NULL THEN t.undo END AS way_back
          FROM proposal o LEFT JOIN tried t ON t.name = o.name
    )
    SELECT d.name, CASE WHEN d.relation IS NULL THEN 'system' ELSE 'table' END, d.relation,
           CASE WHEN d.relation IS NULL THEN (SELECT p.shown FROM present p WHERE p.name = d.name)
                ELSE coalesce((SELECT max(split_part(o, '=', 2)) FROM lag l, unnest(l.reloptions) o WHERE l.relation = d.relation AND split_part(o, '=', 1) = d.name),
                              (SELECT p.shown || ' (system)' FROM present p WHERE p.name = d.name)) END,
           d.proposed, d.action, d.evidence, d.reason, d.source,
           CASE WHEN d.action = 'leave' THEN NULL
                WHEN d.way_back IS NOT NULL THEN d.way_back
                WHEN d.relation IS NULL THEN format('ALTER SYSTEM SET %I = %L; SELECT pg_reload_conf();', d.name, d.proposed)
                ELSE (SELECT @extschema@.ff_set_option(d.relation, d.name, d.proposed)) END,
           CASE WHEN d.action = 'leave' THEN NULL
                WHEN d.relation IS NULL THEN @extschema@.ff_undo_setting(d.name)
                ELSE (SELECT @extschema@.ff_undo_options(d.relation, l.reloptions, ARRAY(SELECT o FROM unnest(l.reloptions) o WHERE split_part(o, '=', 1) <> d.name) || (d.name || '=' || d.proposed), false) FROM lag l WHERE l.relation = d.relation) END
      FROM told d
     ORDER BY d.action = 'leave', d.n, d.relation::oid, d.name
$$;

CREATE FUNCTION @extschema@.ff_codepoints(content text) RETURNS integer[]
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- SQL_ASCII is no encoding: mostly its bytes are in UTF-8 all the same
    target CONSTANT name := CASE getdatabaseencoding() WHEN 'SQL_ASCII' THEN 'SQL_ASCII' ELSE 'UTF8' END;
    hex    text;
    ch     text;
BEGIN
    BEGIN
        hex := encode(convert_to(content, target), 'hex');
    EXCEPTION WHEN untranslatable_character OR undefined_function THEN
        -- some character, or all that are not ASCII, are not in Unicode
        hex := '';
        FOREACH ch IN ARRAY string_to_array(content, NULL) LOOP
            BEGIN
                hex := hex || CASE WHEN ch ~ '^[\x01-\x7f]$' THEN encode(convert_to(ch, 'SQL_ASCII'), 'hex') ELSE encode(convert_to(ch, target), 'hex') END;
            EXCEPTION WHEN untranslatable_character OR undefined_function THEN
                hex := hex || 'ff';
            END;
        END LOOP;
    END;
    -- Well-formed sequences of UTF-8; a byte that is in none of them stands
    -- alone.  The longest alternative is taken, so bytes never come apart.
    RETURN ARRAY(
        SELECT CASE length(s.b) WHEN 1 THEN CASE WHEN get_byte(s.b, 0) < 128 THEN get_byte(s.b, 0) END
                                WHEN 2 THEN (get_byte(s.b, 0) & 31) * 64 + (get_byte(s.b, 1) & 63)
                                WHEN 3 THEN (get_byte(s.b, 0) & 15) * 4096 + (get_byte(s.b, 1) & 63) * 64 + (get_byte(s.b, 2) & 63)
                                WHEN 4 THEN (get_byte(s.b, 0) & 7) * 262144 + (get_byte(s.b, 1) & 63) * 4096 + (get_byte(s.b, 2) & 63) * 64 + (get_byte(s.b, 3) & 63) END
          FROM regexp_matches(hex, '(?:..|(?:c[2-9a-f]|d.)[89ab].|(?:e0[ab].|e[1-9abcef][89ab].|ed[89].)[89ab].|(?:f0[9ab].|f[123][89ab].|f48.)[89ab].[89ab].)', 'g') WITH ORDINALITY m(bytes, place)
         CROSS JOIN LATERAL (SELECT decode(m.bytes[1], 'hex') AS b) s
         ORDER BY m.place);
END
$$;
COMMENT ON FUNCTION @extschema@.ff_codepoints(text) IS 'The characters of a text as numbers of Unicode, whatever the encoding of the database; NULL for one that has none. In SQL_ASCII, UTF-8 is read where there is any, and another byte beyond ASCII has none. Internal step of ff_html().';
REVOKE ALL ON FUNCTION @extschema@.ff_codepoints(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_codepoints(text) TO pg_read_all_stats;

CREATE OR REPLACE FUNCTION @extschema@.ff_html(content text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN content ~ '^[ !#-%(-;=?-~]*$' THEN content
                WHEN content IS NOT NULL THEN (
        SELECT string_agg(CASE WHEN c.code = 38 THEN '&amp;' WHEN c.code = 60 THEN '&lt;' WHEN c.code = 62 THEN '&gt;'
                               WHEN c.code = 34 THEN '&quot;' WHEN c.code = 39 THEN '&#39;'
                               WHEN c.code BETWEEN 32 AND 126 THEN chr(c.code)
                               WHEN c.code IN (9, 10, 13) THEN ' '
                               WHEN c.code >= 160
                                    -- what would hide or reverse its neighbours
                                    AND NOT (c.code = 1564 OR c.code BETWEEN 8203 AND 8207 OR c.code BETWEEN 8232 AND 8238 OR c.code BETWEEN 8288 AND 8297
                                             OR c.code = 65279 OR c.code BETWEEN 917504 AND 917631)
                                    -- what is no character and never will be
                                    AND NOT (c.code BETWEEN 64976 AND 65007 OR (c.code & 65534) = 65534) THEN '&#' || c.code || ';'
                               ELSE '&#xFFFD;' END, '' ORDER BY c.place)
          FROM unnest(@extschema@.ff_codepoints(content)) WITH ORDINALITY c(code, place)) END
$$;
COMMENT ON FUNCTION @extschema@.ff_html(text) IS 'A text for an HTML page, plain ASCII in every encoding: what has a meaning there is escaped, line ends are spaces, unprintable characters and those that hide or reverse others are replaced, all others beyond ASCII are numeric references.';

DROP FUNCTION @extschema@.ff_html_row(text[], text, text);
CREATE FUNCTION @extschema@.ff_html_row(cells text[], target text DEFAULT NULL, class text DEFAULT NULL, id text DEFAULT NULL, picture text DEFAULT NULL) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT '<tr' || coalesce(' class="' || class || '"', '') || coalesce(' id="' || id || '"', '') || '>'
           || string_agg(CASE WHEN c.place > 1
                              THEN '<td' || CASE WHEN c.cell ~ '^[-+]?[0-9][0-9.,]*( %| bytes| [kMGTP]B)?$' THEN ' class="n"'
                                              WHEN c.cell ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}' AND length(c.cell) < 20 THEN ' class="t"' ELSE '' END
                                   || '>' || coalesce(@extschema@.ff_html(c.cell), '') || '</td>'
                              WHEN target IS NOT NULL THEN '<th scope="row"><a href="#' || target || '">' || @extschema@.ff_html(c.cell) || '</a></th>'
                              ELSE '<th scope="row">' || coalesce(@extschema@.ff_html(c.cell), '') || '</th>' END, '' ORDER BY c.place)
           || coalesce('<td class="p">' || picture || '</td>', '') || E'</tr>\n'
      FROM unnest(cells) WITH ORDINALITY c(cell, place)
$$;
COMMENT ON FUNCTION @extschema@.ff_html_row(text[], text, text, text, text) IS 'A row of an HTML table, cells escaped, the first its header, which links to the element of id target (NULL: to none); numbers are aligned, times not broken. class and id are its own (NULL: none); picture is HTML for one more cell (NULL: none).';
REVOKE ALL ON FUNCTION @extschema@.ff_html_row(text[], text, text, text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_html_row(text[], text, text, text, text) TO pg_read_all_stats;

CREATE OR REPLACE FUNCTION @extschema@.ff_html_table(caption text, head text[], rows text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT E'<div class="wide"><table>\n<caption>' || @extschema@.ff_html(caption) || E'</caption>\n<thead><tr>'
           || (SELECT string_agg('<th scope="col"' || CASE WHEN h.name LIKE '#%' THEN ' class="n"' ELSE '' END || '>' || @extschema@.ff_html(ltrim(h.name, '#')) || '</th>', '' ORDER BY h.place) FROM unnest(head) WITH ORDINALITY h(name, place))
           || E'</tr></thead>\n<tbody>\n' || rows || E'</tbody></table></div>\n'
     WHERE rows <> ''
$$;

CREATE OR REPLACE FUNCTION @extschema@.ff_html_section(id text, title text, body text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT format(E'<section id="%s">\n<h2>%s</h2>\n%s</section>\n', id, @extschema@.ff_html(title), body)
     WHERE body <> ''
$$;

CREATE OR REPLACE FUNCTION @extschema@.ff_svg(title text, description text, width integer, height integer, body text, caption text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT format(E'<figure>\n<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" role="img" aria-label="%s">\n<title>%s</title>\n<desc>%s</desc>\n%s\n</svg>\n<figcaption>%s</figcaption>\n</figure>\n',
                  width, height, @extschema@.ff_html(title), @extschema@.ff_html(title), @extschema@.ff_html(description), body, caption)
     WHERE body IS NOT NULL
$$;

CREATE OR REPLACE FUNCTION @extschema@.ff_svg_text(at point, content text, anchor text DEFAULT 'middle', class text DEFAULT 'tick') RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT format('<text class="%s" x="%s" y="%s" text-anchor="%s">%s</text>', class, round(at[0]::numeric, 1), round(at[1]::numeric, 1), anchor, @extschema@.ff_html(content))
$$;

CREATE OR REPLACE FUNCTION @extschema@.ff_svg_grid(area box, labels text[]) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT string_agg(format('<line class="grid" x1="%s" x2="%s" y1="%s" y2="%s"/>', round(l.x0::numeric, 1), round(l.x1::numeric, 1), round(l.y::numeric, 1), round(l.y::numeric, 1))
                      || @extschema@.ff_svg_text(point(l.x0 - 6, l.y + 3.5), l.label, 'end'), '' ORDER BY l.y)
      FROM (SELECT u.label, (area[1])[0] AS x0, (area[0])[0] AS x1,
                   (area[1])[1] + height(area) * (u.place - 1) / nullif(cardinality(labels) - 1, 0) AS y
              FROM unnest(labels) WITH ORDINALITY u(label, place)) l
$$;

CREATE FUNCTION @extschema@.ff_report_stairs(steps jsonb)
RETURNS TABLE (fillfactor integer, hot_pct double precision, hot_pct_low double precision, hot_pct_high double precision, size double precision, is_current boolean)
LANGUAGE sql STABLE ROWS 50
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT r.fillfactor, r.hot_pct, coalesce(r.hot_pct_low, r.hot_pct), coalesce(r.hot_pct_high, r.hot_pct),
           r.size_bytes / nullif(max(r.size_bytes) FILTER (WHERE r.is_current) OVER (), 0), r.is_current
      FROM jsonb_to_recordset(steps) AS r(fillfactor integer, hot_pct double precision, hot_pct_low double precision, hot_pct_high double precision,
                                          size_bytes double precision, is_current boolean)
$$;
COMMENT ON FUNCTION @extschema@.ff_report_stairs(jsonb) IS 'Steps of a curve by ff_report_steps(): HOT share with its range, percent, NULL where no updates are foreseen, and the size against today. Internal step of ff_report().';
REVOKE ALL ON FUNCTION @extschema@.ff_report_stairs(jsonb) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_report_stairs(jsonb) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_curve_words(steps jsonb, fillfactor integer, advised integer) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN c.hot_pct IS NULL THEN 'No updates are foreseen, so only the size of the table changes'
                ELSE format('At %s, as now, %s %% of updates are predicted to be HOT', $2, round(c.hot_pct::numeric, 1)) END
           || CASE WHEN a.fillfactor IS NULL THEN '; no other step is advised.'
                   WHEN a.hot_pct IS NULL THEN format('; at %s, as advised, to %s times today''s.', advised, round(a.size::numeric, 2))
                   ELSE format('; at %s, as advised, %s %% (%s to %s).', advised, round(a.hot_pct::numeric, 1), round(a.hot_pct_low::numeric, 1), round(a.hot_pct_high::numeric, 1)) END
      FROM (SELECT 1) one
      LEFT JOIN LATERAL (SELECT s.* FROM @extschema@.ff_report_stairs(steps) s WHERE s.is_current LIMIT 1) c ON true
      LEFT JOIN LATERAL (SELECT s.* FROM @extschema@.ff_report_stairs(steps) s WHERE s.fillfactor = advised AND advised <> $2) a ON true
$$;
COMMENT ON FUNCTION @extschema@.ff_curve_words(jsonb, integer, integer) IS 'A curve in words: what is predicted at the present fillfactor and at the advised one. Internal step of ff_report().';
REVOKE ALL ON FUNCTION @extschema@.ff_curve_words(jsonb, integer, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_curve_words(jsonb, integer, integer) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_svg_small_curve(steps jsonb, fillfactor integer, advised integer) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- 4/3 units a point of fillfactor; HOT share 0 to 100 % at y 33 to 3, or,
    -- where no updates are foreseen, the size, 0 to 2 times.  Points are whole
    -- units, and only where the line turns, so that a picture is small
    -- however many steps there are.
    WITH s AS (
        SELECT t.fillfactor, round((t.fillfactor - 10) * 4 / 3.0)::integer AS x, t.is_current, t.hot_pct IS NOT NULL AS updated,
               (CASE WHEN t.hot_pct IS NULL THEN 33 - 15 * least(2, t.size) ELSE 33 - 0.3 * t.hot_pct END)::integer AS y,
               (33 - 0.3 * t.hot_pct_low)::integer AS low, (33 - 0.3 * t.hot_pct_high)::integer AS high
          FROM @extschema@.ff_report_stairs(steps) t
    ), turns AS (
        SELECT s.*, y IS DISTINCT FROM lag(y) OVER w AS y_turns, high IS DISTINCT FROM lag(high) OVER w AS high_turns, low IS DISTINCT FROM lag(low) OVER w AS low_turns,
               lag(low) OVER w AS low_before
          FROM s WINDOW w AS (ORDER BY s.fillfactor DESC)
    ), line AS (
        SELECT string_agg(format('H%sV%s', x, y), '' ORDER BY t.fillfactor DESC) FILTER (WHERE y_turns) AS y,
               string_agg(format('H%sV%s', x, high), '' ORDER BY t.fillfactor DESC) FILTER (WHERE high_turns) AS high,
               -- back, from the left
               format('V%s', (array_agg(low ORDER BY t.fillfactor))[1]) || coalesce(string_agg(format('H%sV%s', x, low_before), '' ORDER BY t.fillfactor) FILTER (WHERE low_turns AND low_before IS NOT NULL), '') AS low,
               (array_agg(high ORDER BY t.fillfactor DESC))[1] AS first_high, (array_agg(y ORDER BY t.fillfactor DESC))[1] AS first_y,
               max(x) FILTER (WHERE is_current) AS now_x, max(y) FILTER (WHERE is_current) AS now_y,
               max(x) FILTER (WHERE t.fillfactor = advised AND advised <> $2) AS then_x, max(y) FILTER (WHERE t.fillfactor = advised AND advised <> $2) AS then_y,
               coalesce(bool_or(updated), false) AS updated
          FROM turns t
    )
    SELECT format(E'<svg class="small" xmlns="http://www.w3.org/2000/svg" viewBox="-4 -2 128 40" role="img">\n<title>%s</title>\n<desc>%s</desc>\n',
                  CASE WHEN l.updated THEN 'Predicted HOT share at each fillfactor' ELSE 'Predicted size at each fillfactor' END, @extschema@.ff_html(@extschema@.ff_curve_words(steps, $2, advised)))
           || CASE WHEN l.updated THEN format('<path class="band" d="M120 %s%sH0%sH120Z"/><path class="hot" d="M120 %s%sH0"/>', l.first_high, l.high, l.low, l.first_y, l.y)
                   ELSE format('<path class="size" d="M120 %s%sH0"/>', l.first_y, l.y) END
           || coalesce(format('<circle class="now" cx="%s" cy="%s" r="3"/>', l.now_x, l.now_y), '')
           || CASE WHEN l.then_x IS NULL THEN '' ELSE format('<path class="then" d="M%s %sl4 4l-4 4l-4-4Z"/>', l.then_x, l.then_y - 4) END
           || E'\n</svg>'
      FROM line l
     WHERE l.first_y IS NOT NULL
$$;
COMMENT ON FUNCTION @extschema@.ff_svg_small_curve(jsonb, integer, integer) IS 'The predicted HOT share, or, where no updates are foreseen, the size, at each fillfactor as a small picture, with its equivalent in words; NULL where there is no curve. A thousand bytes or two at most. Internal step of ff_report().';
REVOKE ALL ON FUNCTION @extschema@.ff_svg_small_curve(jsonb, integer, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_svg_small_curve(jsonb, integer, integer) TO pg_read_all_stats;

CREATE OR REPLACE FUNCTION @extschema@.ff_svg_curve(steps jsonb, fillfactor integer, advised integer, seen_hot real) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- A step holds from its fillfactor down to the next one, so lines are
    -- stairs.  Above: HOT share, 0 to 100 %, at y 160 to 10; below: size and
    -- WAL against today, 0 to 2.5 times, at y 250 to 180.
    WITH s AS (
        SELECT r.*, 40 + (r.fillfactor - 10) * 430 / 90.0 AS x,
               160 - 1.5 * coalesce(r.hot_pct, 0) AS y, 160 - 1.5 * coalesce(r.hot_pct_low, r.hot_pct, 0) AS y_low, 160 - 1.5 * coalesce(r.hot_pct_high, r.hot_pct, 0) AS y_high,
               250 - 28 * least(2.6, r.size_bytes / nullif(t.size_bytes, 0)::double precision) AS y_size,
               250 - 28 * least(2.6, r.wal_bytes_per_update / nullif(t.wal_bytes_per_update, 0)) AS y_wal
          FROM jsonb_to_recordset(steps) AS r(fillfactor integer, rows_per_page integer, hot_pct double precision, hot_pct_low double precision,
                                              hot_pct_high double precision, size_bytes double precision, wal_bytes_per_update double precision, is_current boolean)
         CROSS JOIN (SELECT c.* FROM jsonb_to_recordset(steps) AS c(size_bytes double precision, wal_bytes_per_update double precision, is_current boolean)
                      WHERE c.is_current LIMIT 1) t
    ), lines AS (
        SELECT 'M470 ' || round((array_agg(y ORDER BY x DESC))[1]::numeric, 1) || string_agg(format(' V%s H%s', round(y::numeric, 1), round(x_next::numeric, 1)), '' ORDER BY x DESC) AS hot,
               'M470 ' || round((array_agg(y_high ORDER BY x DESC))[1]::numeric, 1) || string_agg(format(' V%s H%s', round(y_high::numeric, 1), round(x_next::numeric, 1)), '' ORDER BY x DESC)
                 || string_agg(format(' V%s H%s', round(y_low::numeric, 1), round(x::numeric, 1)), '' ORDER BY x) || ' H470 Z' AS band,
               'M470 ' || round((array_agg(y_size ORDER BY x DESC))[1]::numeric, 1) || string_agg(format(' V%s H%s', round(y_size::numeric, 1), round(x_next::numeric, 1)), '' ORDER BY x DESC) AS size,
               'M470 ' || round((array_agg(y_wal ORDER BY x DESC))[1]::numeric, 1) || string_agg(format(' V%s H%s', round(y_wal::numeric, 1), round(x_next::numeric, 1)), '' ORDER BY x DESC) AS wal
          FROM (SELECT s.*, lead(s.x, 1, 40) OVER (ORDER BY s.x DESC) AS x_next FROM s) n
    ), marks AS (
        SELECT max(c.hot_pct) AS now_hot, max(c.y) AS now_y, max(a.hot_pct) AS then_hot, max(a.hot_pct_low) AS then_low, max(a.hot_pct_high) AS then_high,
               max(a.y) AS then_y, max(a.y_size) AS then_size, max(a.x) AS then_x
          FROM (SELECT * FROM s WHERE s.is_current LIMIT 1) c
          FULL JOIN (SELECT * FROM s WHERE s.fillfactor = advised AND advised <> $2) a ON true
    )
    SELECT @extschema@.ff_svg(CASE WHEN m.now_hot IS NULL THEN 'Predicted size at each fillfactor' ELSE 'Predicted HOT share at each fillfactor' END,
             @extschema@.ff_curve_words(steps, $2, advised) || ' The table below the picture has every step.',
             480, 290,
             @extschema@.ff_svg_grid(box(point(40, 10), point(470, 160)), ARRAY['100 %', '75 %', '50 %', '25 %', '0 %'])
             || @extschema@.ff_svg_grid(box(point(40, 194), point(470, 250)), ARRAY['2x', '1x', '0x'])
             || (SELECT string_agg(@extschema@.ff_svg_text(point(40 + (f - 10) * 430 / 90.0, 266), f::text), '') FROM generate_series(10, 100, 10) f)
             || @extschema@.ff_svg_text(point(255, 283), 'fillfactor')
             || CASE WHEN m.now_hot IS NULL THEN @extschema@.ff_svg_text(point(255, 90), 'no updates')
                     ELSE format('<path class="band" d="%s"/><path class="hot" d="%s"/><path class="wal" d="%s"/>', l.band, l.hot, l.wal) END
             || format('<path class="size" d="%s"/>', l.size)
             || format('<line class="now" x1="%s" x2="%s" y1="10" y2="250"/><circle class="now" cx="%s" cy="%s" r="5"/>', x.now_x, x.now_x, x.now_x, round(CASE WHEN m.now_hot IS NULL THEN 222 ELSE m.now_y END::numeric, 1))
             || CASE WHEN m.then_x IS NULL THEN ''
                     ELSE format('<line class="then" x1="%s" x2="%s" y1="10" y2="250"/><path class="then" d="M%s %s l6 6 l-6 6 l-6 -6 Z"/>',
                                 round(m.then_x::numeric, 1), round(m.then_x::numeric, 1), round(m.then_x::numeric, 1), round(CASE WHEN m.then_hot IS NULL THEN m.then_size ELSE m.then_y END::numeric - 6, 1)) END,
             CASE WHEN m.now_hot IS NULL THEN 'Against today: <span class="key size"></span>size of the table'
                  ELSE 'Above: <span class="key hot"></span>predicted HOT share of the updates, with its range. Below, against today: <span class="key size"></span>size of the table, <span class="key wal"></span>WAL per update' END
             || ' (cut at 2.6x).<br><span class="dot now"></span>now ' || $2
             || CASE WHEN m.now_hot IS NULL THEN '' ELSE format(': %s %% predicted%s', round(m.now_hot::numeric, 1), CASE WHEN seen_hot IS NULL THEN '' ELSE format(', %s %% seen', seen_hot) END) END
             || CASE WHEN m.then_x IS NULL THEN '; no other step is advised.'
                     ELSE '; <span class="dot then"></span>advised ' || advised
                          || CASE WHEN m.then_hot IS NULL THEN '.' ELSE format(': %s %% (%s to %s).', round(m.then_hot::numeric, 1), round(m.then_low::numeric, 1), round(m.then_high::numeric, 1)) END END)
      FROM lines l, marks m, (SELECT round(40 + ($2 - 10) * 430 / 90.0, 1) AS now_x) x
$$;

CREATE OR REPLACE FUNCTION @extschema@.ff_report_style() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT $css$
:root { color-scheme: light dark; --page: #fff; --card: #fff; --soft: #f4f6f8; --ink: #1b232c; --muted: #566270; --line: #d9dfe6;
  --hot: #1d5fb8; --band: #1d5fb826; --moved: #ad4e09; --good: #14713f; --warn: #8a5a00; }
@media (prefers-color-scheme: dark) { :root { --page: #12161b; --card: #181d23; --soft: #1f262e; --ink: #e6eaef; --muted: #a0acb9; --line: #343d48;
  --hot: #72b0ff; --band: #72b0ff30; --moved: #f2a863; --good: #5fd39a; --warn: #e8bf62; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.5rem 4rem; max-width: 76rem; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.7rem; margin: 0; letter-spacing: -.01em; }
h2 { font-size: 1.2rem; margin: 2.5rem 0 .7rem; padding-top: .6rem; border-top: 1px solid var(--line); }
h3 { font-size: 1.02rem; margin: 0; overflow-wrap: anywhere; }
p { margin: .4rem 0; max-width: 62rem; }
a { color: var(--hot); text-decoration-thickness: 1px; text-underline-offset: 2px; }
a:focus-visible, summary:focus-visible { outline: 2px solid var(--hot); outline-offset: 2px; }
.sub, figcaption, caption, summary { color: var(--muted); font-size: .86rem; }
dl.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .7rem; margin: 1.3rem 0 0; }
dl.tiles div { background: var(--soft); border-radius: 8px; padding: .6rem .9rem; }
dt { color: var(--muted); font-size: .8rem; }
dd { margin: 0; font-size: 1.3rem; font-weight: 600; font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; margin: .3rem 0 .8rem; font-size: .86rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: .2rem 0 .4rem; caption-side: top; }
th, td { padding: .32rem .6rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
thead th { color: var(--muted); font-weight: 600; vertical-align: bottom; border-bottom: 1.5px solid var(--muted); }
th.n { text-align: right; }
tbody th { font-weight: 600; overflow-wrap: anywhere; min-width: 14.5rem; max-width: 22rem; }
td:last-child { overflow-wrap: anywhere; }
td.n { text-align: right; white-space: nowrap; }
td.t { white-space: nowrap; }
article { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 1rem 1.2rem; margin: 0 0 1.1rem; }
article header { display: flex; flex-wrap: wrap; gap: .4rem .8rem; align-items: baseline; }
.badge { font-size: .78rem; font-weight: 600; border: 1px solid currentColor; border-radius: 99px; padding: .02rem .6rem; white-space: nowrap; color: var(--muted); }
.badge.lower, .badge.raise { color: var(--good); }
.badge.wait { color: var(--warn); }
.facts { color: var(--muted); font-size: .86rem; margin: .1rem 0 0; }
pre { background: var(--soft); border-radius: 6px; padding: .5rem .8rem; margin: .6rem 0; overflow-x: auto; font: .84rem/1.45 ui-monospace, "DejaVu Sans Mono", monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(22rem, 1fr)); gap: .4rem 1.6rem; align-items: start; margin-top: .6rem; }
figure { margin: 0 0 .6rem; }
svg { display: block; width: 100%; height: auto; max-width: 46rem; }
svg.small { width: 6.6rem; }
td.p { padding-top: .15rem; padding-bottom: 0; }
#first th, #first td { padding-left: .4rem; padding-right: .4rem; }
#first tbody th { min-width: 9rem; }
nav ul { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; list-style: none; margin: 1.1rem 0 0; padding: 0; font-size: .9rem; }
svg text { font: 10.5px system-ui, "DejaVu Sans", sans-serif; fill: var(--muted); }
svg text.mark, svg text.name { fill: var(--ink); }
svg .grid { stroke: var(--line); stroke-width: 1; }
svg .band { fill: var(--band); }
svg path.hot { fill: none; stroke: var(--hot); stroke-width: 2; stroke-linecap: round; }
svg path.moved { fill: none; stroke: var(--moved); stroke-width: 2; stroke-dasharray: 6 3; }
svg path.size { fill: none; stroke: var(--ink); stroke-width: 1.5; }
svg path.wal { fill: none; stroke: var(--moved); stroke-width: 1.5; stroke-dasharray: 5 3; }
svg .bar { fill: var(--hot); }
svg line.now, svg line.change { stroke: var(--muted); stroke-width: 1; stroke-dasharray: 3 3; }
svg line.then { stroke: var(--good); stroke-width: 1; stroke-dasharray: 3 3; }
svg line.ram { stroke: var(--ink); stroke-width: 1.5; }
svg .stem { stroke: var(--line); stroke-width: 2; }
svg circle.now, svg circle.total { fill: var(--card); stroke: var(--ink); stroke-width: 1.8; }
svg circle.heap { fill: var(--hot); }
svg path.then { fill: var(--good); stroke: var(--card); stroke-width: 1; }
.key { display: inline-block; width: 1.5em; height: 0; border-top: 2px solid var(--hot); margin: 0 .3em .25em 0; vertical-align: middle; }
.key.moved, .key.wal { border-top: 2px dashed var(--moved); }
.key.size { border-color: var(--ink); }
.dot { display: inline-block; width: .62em; height: .62em; border-radius: 50%; margin: 0 .35em 0 0; border: 1.5px solid var(--ink); }
.dot.then { border-radius: 1px; transform: rotate(45deg); background: var(--good); border-color: var(--good); }
.dot.heap { background: var(--hot); border-color: var(--hot); }
details { margin: .3rem 0; }
summary { cursor: pointer; }
@media (max-width: 60rem) { tbody th { min-width: 7rem; } caption { white-space: normal; max-width: 90vw; } }
@media (max-width: 40rem) { body { padding: 1rem .8rem 3rem; } .charts { grid-template-columns: 1fr; } }
@media print { :root { --page: #fff; --card: #fff; --soft: #f4f6f8; --ink: #000; --muted: #444; --line: #bbb; --hot: #1d5fb8; --band: #1d5fb826; --moved: #ad4e09; --good: #14713f; --warn: #8a5a00; }
  body { padding: 0; max-width: none; font-size: 10.5pt; } a { color: inherit; text-decoration: none; }
  /* closed details are printed open; browsers that cannot do that print their summaries */
  details::details-content { content-visibility: visible; display: block; height: auto; opacity: 1; } details > summary { list-style: none; }
  nav { display: none; } .charts { grid-template-columns: 1fr 1fr; } figure, tr { break-inside: avoid; } h2, h3, caption { break-after: avoid; } .wide { overflow: visible; }
  table { font-size: 8pt; } th, td { padding: .12rem .3rem; } tbody th { min-width: 6rem; } thead { display: table-header-group; } td:last-child { overflow-wrap: anywhere; } }
$css$
$$;

CREATE OR REPLACE FUNCTION @extschema@.ff_blockers(relation regclass DEFAULT NULL)
RETURNS TABLE (
    relation         regclass,
    index            regclass,
    columns          text[],
    role             text,
    updates_per_s    double precision,
    won_hot_per_s    double precision,
    won_wal_per_s    double precision,
    won_cpu_ms_per_s double precision,
    scans            bigint,
    scans_since      timestamptz,
    index_bytes      bigint,
    needed_for       text,
    summarizing      boolean,
    statements       text[],
    reason           text,
    suggestion       text,
    ddl              text,
    definition       text
)
LANGUAGE sql STABLE ROWS 100
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
    WITH constants AS (
        SELECT interval '7 days' AS watch,   -- no scan in this time: a weekly job had its chance
               0.05 AS tell                  -- share of updates that stayed in their page from which these tell of those that left it
    ), judged AS MATERIALIZED (
        SELECT (d.evidence).relation::oid AS relid, (d.evidence).not_examined, d.cause, d.hot_share, d.moved_share,
               (d.evidence).recent_updated AS updated,
               (d.evidence).recent_updated / nullif((d.evidence).recent_s, 0) AS updates_per_s,
               ((d.evidence).recent_updated - (d.evidence).recent_hot) / nullif((d.evidence).recent_s, 0) AS cold_per_s,
               1 - d.hot_share - d.moved_share AS blocked_share,
               -- Updates that could not have been HOT: those that stayed in their page and were not, and of those that
               -- left it the same part (what more room would have made HOT is recoverable).  Unknown: all that were not.
               CASE WHEN 1 - d.hot_share - d.moved_share < 0.01 THEN 0
                    WHEN st.stayed < (SELECT k.tell FROM constants k) THEN 1 - d.hot_share - d.moved_share
                    ELSE greatest(1 - d.hot_share - coalesce(d.recoverable_share, 0), 0) END AS pages_share,
               -- The same by the statements, where hardly any that sets an indexed column left its new version in the
               -- page to be seen: these would not have been HOT with room either.
               CASE WHEN st.stayed < (SELECT k.tell FROM constants k)
                    THEN 1 - d.hot_share - d.moved_share + greatest(least(d.moved_share, st.setting - st.stayed), 0) END AS statements_share,
               EXISTS (SELECT 1 FROM pg_trigger t WHERE t.tgrelid = (d.evidence).relation::oid AND NOT t.tgisinternal
                          AND t.tgtype & 1 = 1 AND t.tgtype & 2 = 2 AND t.tgtype & 16 = 16) AS has_trigger
          FROM @extschema@.ff_diagnosis(@extschema@.ff_checked_table($1)) d
          -- at least so many of those that set an indexed column stayed in their page: HOT ones beyond what the others can be, and all that were not HOT
          LEFT JOIN LATERAL (SELECT i AS setting, greatest(d.hot_share + i - 1, 0) + (1 - d.hot_share - d.moved_share) AS stayed
                               FROM @extschema@.ff_indexed_share(d.evidence) i
                              WHERE d.moved_share >= 0.01) st ON true
    ), blocked AS MATERIALIZED (
        SELECT j.*, greatest(j.pages_share, j.statements_share) * j.updates_per_s AS blocked_per_s,
               -- those that room would not help, but that lack room as well: an index less makes none of them HOT
               j.pages_share * j.updates_per_s AS roomy_per_s
          FROM judged j
         WHERE j.not_examined IS NULL AND j.updated > 0 AND greatest(j.pages_share, j.statements_share) >= 0.01
    ), indexes AS MATERIALIZED (
        -- also those not valid: they are maintained, so they block
        SELECT i.indrelid AS relid, i.indexrelid, i.indisprimary, i.indisvalid, c.relname, n.nspname,
               coalesce(@extschema@.ff_summarizing(c.relam), false) AS summarizing,
               @extschema@.ff_index_needed(i.indexrelid) AS needed_for,
               pg_stat_get_numscans(i.indexrelid) AS scans,
               @extschema@.ff_scans_watched(i.indexrelid) AS since
          FROM blocked b
          JOIN pg_index i ON i.indrelid = b.relid AND i.indislive
          JOIN pg_class c ON c.oid = i.indexrelid
          JOIN pg_namespace n ON n.oid = c.relnamespace
    ), index_columns AS MATERIALIZED (
        SELECT x.relid, x.indexrelid, x.summarizing, k.column_name, k.role
          FROM indexes x CROSS JOIN LATERAL @extschema@.ff_index_columns(x.indexrelid) k
    ), updating AS MATERIALIZED (
        SELECT b.relid, s.statement_id, s.how, @extschema@.ff_changed_columns(b.relid, s.columns) AS columns, s.calls, s.rows, s.query,
               coalesce(s.rows, s.calls)::double precision AS weight
          FROM blocked b
          JOIN @extschema@.ff_statements() s
            ON s.command = 'UPDATE' AND (s.relation = b.relid OR s.relation IN (SELECT a.relid FROM pg_partition_ancestors(b.relid) a))
    ), touching AS MATERIALIZED (
        -- which statement sets columns of which index
        SELECT u.relid, u.statement_id, u.weight, u.calls, u.rows, u.query, k.indexrelid, k.summarizing,
               array_agg(DISTINCT k.column_name::text) AS columns, array_agg(DISTINCT k.role) AS roles,
               count(*) FILTER (WHERE NOT k.summarizing) OVER (PARTITION BY u.relid, u.statement_id) AS in_the_way
          FROM updating u
          JOIN index_columns k ON k.relid = u.relid AND k.column_name = ANY (u.columns)
         GROUP BY u.relid, u.statement_id, u.weight, u.calls, u.rows, u.query, k.indexrelid, k.summarizing
    ), weights AS (
        SELECT t.relid, sum(t.weight) AS weight
          FROM (SELECT DISTINCT relid, statement_id, weight FROM touching WHERE NOT summarizing) t GROUP BY t.relid
    ), found AS (
        SELECT t.relid, t.indexrelid,
               (SELECT array_agg(DISTINCT c ORDER BY c) FROM touching o, unnest(o.columns) c WHERE o.indexrelid = t.indexrelid AND o.relid = t.relid) AS columns,
               (SELECT string_agg(DISTINCT r, ', ' ORDER BY r) FROM touching o, unnest(o.roles) r WHERE o.indexrelid = t.indexrelid AND o.relid = t.relid) AS role,
               sum(t.weight) / nullif(w.weight, 0) AS share,
               coalesce(sum(t.weight) FILTER (WHERE t.in_the_way = 1), 0) / nullif(w.weight, 0) AS alone,
               (array_agg(format('%s calls, %s rows: %s', t.calls, coalesce(t.rows::text, 'unknown'),
                                 left(regexp_replace(t.query, '[[:cntrl:][:space:]]+', ' ', 'g'), 200))
                          ORDER BY t.weight DESC, t.statement_id))[1:5] AS statements,
               (SELECT string_agg(DISTINCT quote_ident(x.relname), ', ')
                  FROM touching o JOIN indexes x ON x.indexrelid = o.indexrelid
                 WHERE o.relid = t.relid AND o.indexrelid <> t.indexrelid AND NOT o.summarizing
                   AND o.statement_id = ANY (array_agg(t.statement_id))) AS others,
               true AS seen
          FROM touching t LEFT JOIN weights w ON w.relid = t.relid
         GROUP BY t.relid, t.indexrelid, w.weight
    ), suspected AS (
        -- no statement is known that explains it: every index may be the one,
        -- the primary key only if there is no other
        SELECT x.relid, x.indexrelid,
               (SELECT array_agg(DISTINCT k.column_name::text ORDER BY k.column_name::text) FROM index_columns k WHERE k.indexrelid = x.indexrelid) AS columns,
               (SELECT string_agg(DISTINCT k.role, ', ' ORDER BY k.role) FROM index_columns k WHERE k.indexrelid = x.indexrelid) AS role,
               CASE WHEN count(*) OVER (PARTITION BY x.relid) = 1 THEN 1 END::double precision AS share,
               CASE WHEN count(*) OVER (PARTITION BY x.relid) = 1 THEN 1 END::double precision AS alone,
               NULL::text[] AS statements,
               NULL::text AS others,
               false AS seen
          FROM indexes x
         WHERE NOT x.summarizing
           AND NOT EXISTS (SELECT 1 FROM touching t WHERE t.relid = x.relid AND NOT t.summarizing)
           AND (NOT x.indisprimary OR NOT EXISTS (SELECT 1 FROM indexes o WHERE o.relid = x.relid AND NOT o.indisprimary AND NOT o.summarizing))
    ), weighed AS (
        SELECT f.*, x.relname, x.nspname, x.indisvalid, x.summarizing, x.needed_for, x.scans, x.since, b.blocked_share, b.has_trigger,
               x.since <= now() - k.watch AS watched, k.watch, b.roomy_per_s < 0.99 * b.blocked_per_s AS without_room,
               b.updates_per_s AS all_per_s,
               CASE WHEN x.summarizing THEN 0 ELSE b.blocked_per_s * f.share END AS updates_per_s,
               CASE WHEN x.summarizing THEN 0 ELSE b.roomy_per_s * f.alone END AS won_hot_per_s,
               b.blocked_per_s * f.alone AS alone_per_s,
               -- index entries not written: an update that becomes HOT saves one in every
               -- index, one that stays as it is saves the one in this index
               CASE WHEN x.summarizing THEN 0
                    ELSE b.roomy_per_s * f.alone * (SELECT count(*) FROM indexes o WHERE o.relid = f.relid)
                         + greatest(b.cold_per_s - b.roomy_per_s * f.alone, 0) END AS entries_per_s,
               NOT x.summarizing AND (x.needed_for IS NULL AND x.scans = 0 AND coalesce(x.since <= now() - k.watch, false) OR NOT x.indisvalid) AS free,
               EXISTS (SELECT 1 FROM updating u WHERE u.relid = f.relid) AS has_statements
          FROM (SELECT * FROM found UNION ALL SELECT * FROM suspected) f
          JOIN indexes x ON x.indexrelid = f.indexrelid AND x.relid = f.relid
          JOIN blocked b ON b.relid = f.relid
         CROSS JOIN constants k
    )
    SELECT o.relation, o.index, o.columns, o.role, o.updates_per_s, o.won_hot_per_s, o.won_wal_per_s, o.won_cpu_ms_per_s,
           o.scans, o.since, o.index_bytes, o.needed_for, o.summarizing, o.statements, o.reason, o.suggestion, o.ddl, o.definition
      FROM (
        SELECT w.relid::regclass AS relation, w.indexrelid::regclass AS index, w.columns, w.role,
               w.updates_per_s, w.won_hot_per_s,
               -- Measured per index entry that an update writes: 80 bytes of WAL and 2 microseconds, a B-tree on an
               -- integer, all in memory, no full-page images: the least that is won.
               w.entries_per_s * 80 AS won_wal_per_s, w.entries_per_s * 0.002 AS won_cpu_ms_per_s,
               w.scans, w.since, z.heap_bytes AS index_bytes, w.needed_for, w.summarizing, w.statements,
               CASE WHEN w.summarizing THEN format('column %s is set, but this kind of index lets updates be HOT on this version', array_to_string(w.columns, ', '))
                    WHEN NOT w.seen AND w.has_statements THEN
                        'updates were not HOT although they stayed in their page, but no statement seen sets an indexed column: look for functions, triggers and the unattributed rows of ff_statements()'
                    WHEN NOT w.seen THEN
                        CASE WHEN w.blocked_share IS NULL THEN 'updates were not HOT, and it is not known whether for this index or for lack of room; '
                             ELSE 'updates stayed in their page and were not HOT; ' END
                        || 'which index it was is not known without their statements'
                        || coalesce(': ' || (SELECT s.reason FROM @extschema@.ff_statement_look s ORDER BY s.collection_id DESC LIMIT 1), '')
                    ELSE format('about %s of %s updates per second could not be HOT, because they set %s',
                                round(w.updates_per_s::numeric, 1), round(w.all_per_s::numeric, 1), array_to_string(w.columns, ', '))
                         || CASE WHEN w.alone_per_s < 0.99 * w.updates_per_s THEN format('; %s of them for this index alone, the others for %s as well',
                                                                                               CASE WHEN w.alone_per_s > 0 THEN round(w.alone_per_s::numeric, 1)::text ELSE 'none' END, w.others) ELSE '' END
                         || CASE WHEN w.without_room THEN '; they left their page as well: to be HOT they would need room in it, too' ELSE '' END
                         || CASE WHEN w.blocked_share IS NULL THEN ' (at most: how many moved for lack of room is not known)' ELSE '' END
               END || CASE WHEN w.has_trigger AND NOT w.summarizing THEN '; a BEFORE UPDATE trigger may set further columns' ELSE '' END AS reason,
               CASE WHEN w.summarizing THEN 'nothing to do'
                    WHEN NOT w.indisvalid AND w.needed_for IS NULL THEN 'invalid, of use to no query, but maintained: drop it, unless CREATE INDEX CONCURRENTLY is at work on it now'
                    WHEN w.needed_for IS NOT NULL THEN format('keep it: %s; the way out is not to change %s', w.needed_for,
                        CASE WHEN w.seen THEN array_to_string(w.columns, ', ') ELSE 'its columns' END)
                    WHEN w.scans = 0 AND w.watched THEN format('not scanned once since %s: drop it, if it is not scanned on a standby either', to_char(w.since, 'YYYY-MM-DD HH24:MI'))
                    WHEN w.scans = 0 THEN format('no scan is known, but its scans were watched for %s only: not to be dropped before %s days without one, so that a weekly job had its chance',
                                                 @extschema@.ff_span(coalesce(greatest(extract(epoch FROM now() - w.since), 0), 0)::double precision), extract(day FROM w.watch))
                    WHEN w.role = 'include' THEN 'the column is only carried along (INCLUDE): without it in the index, these updates can be HOT'
                    WHEN w.role = 'predicate' THEN 'only its WHERE clause depends on the column: another predicate would let these updates be HOT'
                    ELSE format('scanned %s times: weigh these scans against the updates', w.scans)
               END AS suggestion,
               CASE WHEN w.free AND w.needed_for IS NULL THEN format('DROP INDEX CONCURRENTLY %s.%s;', @extschema@.ff_quoted_name(w.nspname::text), @extschema@.ff_quoted_name(w.relname::text)) END AS ddl,
               -- without waiting for a lock
               nullif((@extschema@.ff_index_definitions(w.relid, ARRAY[w.indexrelid]))[1], '') || ';' AS definition,
               w.summarizing AS last, w.free AND w.needed_for IS NULL AND w.seen AS jackpot, w.relname
          FROM weighed w
          LEFT JOIN LATERAL @extschema@.ff_sizes(w.indexrelid) z ON true
        UNION ALL
        SELECT j.relid::regclass, NULL, NULL, NULL, CASE WHEN j.updated > 0 THEN 0 END, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
               CASE WHEN j.not_examined IS NOT NULL THEN j.not_examined
                    WHEN j.updated IS NULL THEN 'no interval was collected yet'
                    WHEN j.updated = 0 THEN 'no updates were seen'
                    WHEN b.relid IS NULL AND j.moved_share >= 0.01 THEN format('%s %% of the updates were HOT, the others left their page for lack of room', round((100 * j.hot_share)::numeric, 1))
                    WHEN b.relid IS NULL THEN format('%s %% of the updates were HOT', round((100 * j.hot_share)::numeric, 1))
                    ELSE 'it has no index that stands in the way: the updates were not HOT for lack of room' END,
               NULL, NULL, NULL, true, false, NULL
          FROM judged j
          LEFT JOIN blocked b ON b.relid = j.relid
         WHERE NOT EXISTS (SELECT 1 FROM weighed w WHERE w.relid = j.relid)) o
     ORDER BY o.last, o.jackpot DESC, o.won_hot_per_s DESC NULLS LAST, o.updates_per_s DESC NULLS LAST, o.relation::text, o.relname
$$;
COMMENT ON FUNCTION @extschema@.ff_blockers(regclass) IS 'What keeps updates from being HOT whatever room their page has, one row for each table and index, the surest gain first; a row without index says why there is none. Columns: relation; index; columns: those of it that are set by the statements seen (without statements: all of it); role: what they are in it (key, include, expression, predicate, whole row); updates_per_s: updates it keeps from being HOT; won_hot_per_s: of these, those that would be HOT without this one index, or if the columns were not set, not counting those that left their page as well; won_wal_per_s (bytes) and won_cpu_ms_per_s: the least that saves, from the number of index entries not written; scans: of the index, as the server counts them, on this server; scans_since: since when no scan can have been missed: the latest of the beginning or loss of statistics and the first collection that saw the table and the index (NULL: none did since); index_bytes; needed_for: constraint or other reason for which it must stay; summarizing: kind of index that lets updates be HOT; statements: those that set the columns, with calls and rows of the window; reason; suggestion; ddl: only for an index that is not needed, by a foreign key either, and was not scanned in at least 7 days since scans_since, or is invalid; definition: what makes it again (NULL where the table''s lock is not to be had at once). NULL figures are unknown, see reason.';

CREATE OR REPLACE FUNCTION @extschema@.ff_report_blockers(relation regclass) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- a statement's first 300 characters say which one it is
    WITH b AS MATERIALIZED (
        SELECT * FROM @extschema@.ff_blockers($1) WHERE $1 IS NOT NULL
    )
    SELECT coalesce(@extschema@.ff_html_table('Indexes on columns that updates set, and whether they keep updates from being HOT.', ARRAY['index', 'columns', '#updates/s', '#scans', '#size', 'statements', 'what could be done'],
                string_agg(@extschema@.ff_html_row(ARRAY[n.name, array_to_string(b.columns, ', '), @extschema@.ff_number(b.updates_per_s::double precision, 1), b.scans::text, pg_size_pretty(b.index_bytes),
                               (SELECT string_agg(CASE WHEN length(q.query) > 300 THEN left(q.query, 300) || ' ...' ELSE q.query END, '; ') FROM (SELECT * FROM unnest(b.statements) u(query) LIMIT 3) q),
                               concat_ws('. ', b.reason, b.suggestion, b.ddl)]), '' ORDER BY b.updates_per_s DESC NULLS LAST, n.name) FILTER (WHERE b.index IS NOT NULL)),
                format(E'<p class="facts">Indexes in the way: none; %s.</p>\n', @extschema@.ff_html(string_agg(b.reason, '; ') FILTER (WHERE b.index IS NULL))))
      FROM b
      LEFT JOIN LATERAL (SELECT c.relname::text FROM pg_class c WHERE c.oid = b.index) n(name) ON true
    HAVING count(*) > 0
$$;
COMMENT ON FUNCTION @extschema@.ff_report_blockers(regclass) IS 'What ff_blockers() says of a table, as HTML: a table of its indexes, or in a line why none is in the way. Internal step of ff_report().';

DROP FUNCTION @extschema@.ff_report_table(@extschema@.ff_table_evidence, integer, text, text, real, real, text, text);
CREATE FUNCTION @extschema@.ff_report_table(e @extschema@.ff_table_evidence, steps jsonb, advised integer, action text, cause text, confidence real, hot_pct real, reason text, ddl text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT format(E'<article id="t%s">\n<header><h3>%s</h3><span class="badge %s">%s</span></header>\n', e.relation::oid, @extschema@.ff_html(n.name::text), action,
                  @extschema@.ff_html(CASE WHEN action IN ('lower', 'raise') THEN format('%s from %s to %s', action, e.fillfactor, advised) ELSE format('%s %s', action, e.fillfactor) END))
           || format(E'<p class="facts">%s</p>\n<p>%s</p>\n',
                @extschema@.ff_html(concat_ws('; ', 'cause: ' || cause, 'confidence ' || confidence, @extschema@.ff_number((e.updated / nullif(e.window_s, 0))::double precision, 1, ' updates/s'),
                     pg_size_pretty(e.heap_bytes) || ' table', pg_size_pretty(e.index_bytes) || format(CASE WHEN e.indexes = 1 THEN ' in %s index' ELSE ' in %s indexes' END, e.indexes),
                     CASE WHEN e.live_rows > 0 THEN 'about ' || round(e.live_rows) || ' rows of ' || round(greatest(e.inserted_width, e.updated_width)) || ' bytes' END)),
                @extschema@.ff_html(reason))
           || coalesce(E'<pre>' || @extschema@.ff_html(ddl) || E'</pre>\n', '')
           || E'<div class="charts">\n'
           || coalesce(@extschema@.ff_svg_curve(steps, e.fillfactor, advised, hot_pct), '')
           || coalesce('<div>' || nullif(concat(@extschema@.ff_svg_history(e.rel_id), @extschema@.ff_svg_histogram(e.fill_histogram, e.sampled_at)), '') || E'</div>\n', '')
           || E'</div>\n'
           || coalesce(@extschema@.ff_report_blockers(e.relation), '')
           || coalesce(E'<details><summary>Every step in numbers</summary>\n'
                || @extschema@.ff_html_table('Prediction for ' || n.name, ARRAY['fillfactor', '#rows per page', '#HOT %', '#from', '#to', '#moved %', '#table', '#WAL per update', '#cost'],
                     (SELECT string_agg(@extschema@.ff_html_row(ARRAY[m.fillfactor || CASE WHEN m.is_current THEN ' now' WHEN m.fillfactor = advised THEN ' advised' ELSE '' END, m.rows_per_page::text,
                                  @extschema@.ff_number(m.hot_pct::double precision, 1), @extschema@.ff_number(m.hot_pct_low::double precision, 1), @extschema@.ff_number(m.hot_pct_high::double precision, 1), @extschema@.ff_number(m.moved_pct::double precision, 1),
                                  pg_size_pretty(m.size_bytes), @extschema@.ff_number(m.wal_bytes_per_update::double precision, 0, ' bytes'), @extschema@.ff_number(m.cost::double precision, 3)]), '' ORDER BY m.fillfactor DESC)
                        FROM jsonb_to_recordset(steps) m(fillfactor integer, rows_per_page integer, hot_pct double precision, hot_pct_low double precision, hot_pct_high double precision,
                                                           moved_pct double precision, size_bytes bigint, wal_bytes_per_update double precision, cost double precision, is_current boolean)))
                || E'</details>\n', '')
           || E'</article>\n'
      FROM (SELECT format('%s.%s', e.nspname, e.relname)) n(name)
$$;
COMMENT ON FUNCTION @extschema@.ff_report_table(@extschema@.ff_table_evidence, jsonb, integer, text, text, real, real, text, text) IS 'One table in detail, as HTML: what ff_advise() says of it, the curve, its history, its pages, what blocks HOT. Internal step of ff_report().';
REVOKE ALL ON FUNCTION @extschema@.ff_report_table(@extschema@.ff_table_evidence, jsonb, integer, text, text, real, real, text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_report_table(@extschema@.ff_table_evidence, jsonb, integer, text, text, real, real, text, text) TO pg_read_all_stats;

CREATE OR REPLACE FUNCTION @extschema@.ff_report_limits() RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT E'<ul>\n' || string_agg('<li>' || @extschema@.ff_html(w.words) || E'</li>\n', '' ORDER BY w.place) || E'</ul>\n'
      FROM (SELECT 1, 'Nothing was collected yet: run CALL ff_collect() or ff_schedule().' WHERE NOT EXISTS (SELECT 1 FROM @extschema@.ff_collection)
            UNION ALL
            SELECT 2, CASE WHEN c.ended_at IS NULL THEN 'The last collection did not finish, or is still running.'
                           ELSE format('The last collection read the counters of %s tables, sampled %s, skipped %s that were locked or gone, failed on %s and left %s for the next one.', c.relations, c.sampled, c.skipped, c.failed, c.deferred) END
              FROM (SELECT * FROM @extschema@.ff_collection ORDER BY collection_id DESC LIMIT 1) c
            UNION ALL
            SELECT 3, format('%s collections in which track_counts was off are in the window.', count(*)) FROM @extschema@.ff_collection c WHERE NOT c.track_counts HAVING count(*) > 0
            UNION ALL
            SELECT 4, 'The statistics were reset or the server crashed within the history; no figure spans such an event.' FROM @extschema@.ff_epoch HAVING count(*) > 1
            UNION ALL
            SELECT 5, 'PostgreSQL 15 does not count updates that leave their page; their share is taken from old row versions still in the pages.' WHERE current_setting('server_version_num')::integer < 160000
            UNION ALL
            SELECT 7, 'Indexes are not on this page, because judging them reads their pages: see ff_advise_indexes().'
            UNION ALL
            SELECT 6, format('What statements did, their WAL and times, is not known, or not all of it: %s.', s.reason)
              FROM @extschema@.ff_statements() s WHERE s.statement_id IS NULL AND EXISTS (SELECT 1 FROM @extschema@.ff_statement_look)) w(place, words)
$$;

CREATE OR REPLACE FUNCTION @extschema@.ff_report(detailed integer DEFAULT 20) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    a        record;
    e        @extschema@.ff_table_evidence;
    span     record;
    name     text;
    n        integer := 0;
    changes  integer := 0;
    waits    integer := 0;
    skipped  integer := 0;
    steps    jsonb;
    in_detail boolean;
    beyond   integer := 0;
    updated  numeric := 0;
    hot      numeric := 0;
    todo     text[] := '{}';
    cure     text[] := '{}';
    shown    text[] := '{}';
    rest     text[] := '{}';
    left_out text[] := '{}';
    names    text[] := '{}';
    heaps    bigint[] := '{}';
    totals   bigint[] := '{}';
    sections text[];
    page     text[];
BEGIN
    IF detailed IS NULL OR detailed < 0 THEN
        RAISE 'number of tables to show in detail must be zero or more' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    FOR a IN
        SELECT r.*, row_number() OVER (ORDER BY r.rank, r.gain DESC NULLS LAST, r.lost DESC NULLS LAST, r.place) AS rank_place,
               row_number() OVER (ORDER BY (r.evidence).heap_bytes + (r.evidence).index_bytes DESC NULLS LAST) AS size_place
          FROM (SELECT m.*, row_number() OVER () AS place, m.updates_per_s * (1 - m.hot_pct / 100) AS lost,
                       CASE WHEN m.action IN ('lower', 'raise') THEN 1
                            WHEN m.cause IN ('page_full', 'batch_update', 'row_growth', 'indexed_column', 'old_snapshot', 'read_mostly', 'too_wide') THEN 2
                            WHEN EXISTS (SELECT 1 FROM @extschema@.ff_change c WHERE c.rel_id = (m.evidence).rel_id AND c.kind = 'fillfactor') THEN 3
                            ELSE 4 END AS rank
                  FROM @extschema@.ff_advise_most(NULL::regclass, NULL::integer) m) r
         ORDER BY rank_place
    LOOP
        e := a.evidence;
        name := format('%s.%s', e.nspname, e.relname);
        n := n + 1;
        updated := updated + coalesce(e.updated, 0);
        hot := hot + coalesce(e.hot_updated, 0);
        in_detail := a.rank < 4 AND a.rank_place <= detailed;
        steps := CASE WHEN a.action IN ('lower', 'raise') OR in_detail THEN @extschema@.ff_report_steps(e) END;
        IF a.action IN ('lower', 'raise') THEN
            changes := changes + 1;
            todo := todo || @extschema@.ff_html_row(ARRAY[name, a.fillfactor::text, a.recommended_fillfactor::text, a.cause,
                        @extschema@.ff_number(a.hot_pct::double precision, 1, ' %'), @extschema@.ff_number(a.predicted_hot_pct::double precision, 1, ' %'),
                        pg_size_pretty(a.size_bytes), pg_size_pretty(a.predicted_size_bytes), @extschema@.ff_number(a.predicted_wal_pct::double precision, 0, ' %'),
                        @extschema@.ff_number((100 * (1 - 1 / nullif(a.gain, 0)))::double precision, 1, ' %'), @extschema@.ff_number(a.confidence::double precision, 2), CASE WHEN a.needs_rewrite THEN 'yes' ELSE 'no' END],
                        't' || a.relation::oid, NULL, NULL, coalesce(@extschema@.ff_svg_small_curve(steps, a.fillfactor, a.recommended_fillfactor), ''));
        ELSIF a.action = 'wait' THEN
            waits := waits + 1;
        END IF;
        IF a.rank = 2 AND a.action <> 'wait' THEN
            beyond := beyond + 1;
        END IF;
        IF a.rank = 2 AND a.action <> 'wait' AND cardinality(cure) < greatest(detailed, 20) THEN
            cure := cure || @extschema@.ff_html_row(ARRAY[name, a.cause, @extschema@.ff_number(a.updates_per_s::double precision, 1), @extschema@.ff_number(a.hot_pct::double precision, 1, ' %'), @extschema@.ff_number(a.lost::double precision, 1), a.reason],
                        't' || a.relation::oid);
        END IF;
        IF a.cause = 'not_examined' THEN
            skipped := skipped + 1;
            left_out := left_out || @extschema@.ff_html_row(ARRAY[name, a.reason]);
        ELSIF in_detail THEN
            shown := shown || @extschema@.ff_report_table(e, steps, a.recommended_fillfactor, a.action, a.cause, a.confidence, a.hot_pct, a.reason, a.ddl);
        ELSE
            rest := rest || @extschema@.ff_html_row(ARRAY[name, a.fillfactor::text, a.action, a.cause, @extschema@.ff_number(a.updates_per_s::double precision, 1), @extschema@.ff_number(a.hot_pct::double precision, 1, ' %'),
                        pg_size_pretty(a.size_bytes), a.reason], NULL, NULL, 't' || a.relation::oid);
        END IF;
        IF a.size_place <= 15 AND e.heap_bytes > 0 THEN
            names := names || name;
            heaps := heaps || e.heap_bytes;
            totals := totals || (e.heap_bytes + coalesce(e.index_bytes, 0));
        END IF;
    END LOOP;
    SELECT array_agg(s.name ORDER BY s.total DESC), array_agg(s.heap ORDER BY s.total DESC), array_agg(s.total ORDER BY s.total DESC)
      INTO names, heaps, totals FROM unnest(names, heaps, totals) s(name, heap, total);
    SELECT count(*) AS collections, min(c.began_at) AS first, max(c.began_at) AS last INTO span FROM @extschema@.ff_collection c;

    sections := ARRAY[
        @extschema@.ff_html_section('first', 'What to do first',
            coalesce(@extschema@.ff_html_table('The most worthwhile change first. Saved: of the expected cost (time, WAL and size, as weighted in the settings). Rewrite: whether old pages matter, so that the table should be rewritten. Curve: predicted HOT share (0 to 100 %) at fillfactors from 10, left, to 100, or the size where no updates are foreseen; ring: now, diamond: advised.',
                         ARRAY['table', '#now', '#new', 'cause', '#HOT', '#predicted', '#table size', '#then', '#WAL per update', '#saved', '#confidence', 'rewrite', 'curve'], array_to_string(todo, '')),
                     E'<p>No change of a fillfactor is advised.</p>\n')
            || CASE WHEN changes > 0 THEN E'<p class="sub">ff_script() writes the statements to review, with their undo; ff_verify() says afterwards whether they helped.</p>\n' ELSE '' END),
        @extschema@.ff_html_section('cure', 'Where fillfactor is not the cure',
            @extschema@.ff_html_table('Tables whose updates are not all HOT, for a reason that no other fillfactor cures, or not clearly enough; the most updates that were not HOT first.'
                || CASE WHEN beyond > cardinality(cure) THEN format(' The first %s of %s.', cardinality(cure), beyond) ELSE '' END,
                ARRAY['table', 'cause', '#updates/s', '#HOT', '#not HOT/s', 'why'], array_to_string(cure, ''))),
        @extschema@.ff_html_section('details', 'Tables in detail', array_to_string(shown, '')),
        @extschema@.ff_html_section('rest', CASE WHEN cardinality(shown) > 0 THEN 'All other tables' ELSE 'All tables' END,
            @extschema@.ff_html_table(format('%s tables.', cardinality(rest)), ARRAY['table', '#fillfactor', 'action', 'cause', '#updates/s', '#HOT', '#size', 'why'], array_to_string(rest, ''))),
        @extschema@.ff_html_section('verified', 'Did it help', coalesce(@extschema@.ff_report_verified(), E'<p>No change of a table''s fillfactor, options or indexes was noticed within the history.</p>\n')),
        @extschema@.ff_html_section('memory', 'Memory and table sizes',
            coalesce(@extschema@.ff_svg_sizes(names, heaps, totals), '')
            || coalesce(@extschema@.ff_html_table('What may hold tables. The larger a table against memory, the more a moved row costs: index leaves must be read.', ARRAY['source', '#size', 'compared with', 'note'],
                   (SELECT string_agg(@extschema@.ff_html_row(ARRAY[m.source, coalesce(pg_size_pretty(m.bytes), '-'), CASE WHEN m.used THEN 'yes' ELSE '' END, m.note]), '') FROM @extschema@.ff_memory() m)), '')),
        @extschema@.ff_html_section('settings', 'Settings',
            coalesce(@extschema@.ff_html_table('Settings of the server that belong to the same problem, see ff_settings() for the statements.', ARRAY['setting', 'of', 'now', 'proposed', 'action', 'evidence', 'why'],
                   (SELECT string_agg(@extschema@.ff_html_row(ARRAY[s.setting, coalesce(s.relation::text, 'the server'), s.current_value, s.proposed_value, s.action, s.evidence, s.reason]), '' ORDER BY s.action = 'leave', s.action, s.setting, s.relation::text)
                      FROM @extschema@.ff_settings() s)), '') ||
            coalesce(@extschema@.ff_html_table('Settings of the advisor, as they are for this session.', ARRAY['setting', 'value', 'meaning'],
                   (SELECT string_agg(@extschema@.ff_html_row(ARRAY[s.name, current_setting(s.name) || CASE WHEN s.setting IS DISTINCT FROM s.boot_val THEN ' (changed)' ELSE '' END, s.short_desc]), '' ORDER BY s.name)
                      FROM pg_settings s WHERE s.name LIKE 'fillfactor_advisor.%')), '')),
        @extschema@.ff_html_section('limits', 'What was not examined, and what is not known',
            coalesce(@extschema@.ff_report_limits(), '')
            || coalesce(@extschema@.ff_html_table('Not examined.', ARRAY['table', 'why'], array_to_string(left_out, '')), '')
            || coalesce(@extschema@.ff_html_table('Could not be sampled the last time.', ARRAY['table', 'times', 'last', 'error'],
                   (SELECT string_agg(@extschema@.ff_html_row(ARRAY[format('%s.%s', r.nspname, r.relname), p.occurrences::text, to_char(p.seen_at, 'YYYY-MM-DD HH24:MI'), p.sqlstate || ' ' || p.message]), '' ORDER BY p.seen_at DESC)
                      FROM @extschema@.ff_problem p JOIN @extschema@.ff_relation r USING (rel_id))), '')),
        @extschema@.ff_html_section('words', 'How to read this',
            E'<p><b>HOT</b>: an update whose new row version finds room in the same page and changes no indexed column; it needs no new index entry. <b>Moved</b>: an update whose version went to another page because its own was full; this is what a lower fillfactor can prevent. <b>Step</b>: only rows per page count, so between two steps of a curve nothing changes. <b>Range</b>: what the model finds plausible given how well it explains the table today. <b>Confidence</b>: how much was seen, and how well the model explains it.</p>\n')];
    page := ARRAY[
        E'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
        -- belt and braces: nothing is escaped wrongly, and if it were it could do nothing
        E'<meta http-equiv="Content-Security-Policy" content="default-src ''none''; style-src ''unsafe-inline''; img-src data:; base-uri ''none''; form-action ''none''">\n',
        E'<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="referrer" content="no-referrer">\n<link rel="icon" href="data:,">\n',
        format(E'<title>Fillfactor report of %s</title>\n<style>%s</style>\n</head>\n<body>\n', @extschema@.ff_html(current_database()::text), @extschema@.ff_report_style()),
        format(E'<header>\n<h1>Fillfactor report of %s</h1>\n<p class="sub">%s</p>\n', @extschema@.ff_html(current_database()::text),
               @extschema@.ff_html(concat_ws('; ', 'PostgreSQL ' || current_setting('server_version'), 'fillfactor_advisor ' || (SELECT x.extversion FROM pg_extension x WHERE x.extname = 'fillfactor_advisor'),
                   'made at ' || to_char(now(), 'YYYY-MM-DD HH24:MI TZ'),
                   CASE WHEN span.collections = 0 THEN 'nothing collected yet'
                        ELSE format('%s collections from %s to %s', span.collections, to_char(span.first, 'YYYY-MM-DD HH24:MI'), to_char(span.last, 'YYYY-MM-DD HH24:MI')) END))),
        format(E'<dl class="tiles"><div><dt>tables examined</dt><dd>%s</dd></div><div><dt>to change</dt><dd>%s</dd></div><div><dt>not by fillfactor</dt><dd>%s</dd></div><div><dt>to wait for</dt><dd>%s</dd></div><div><dt>updates seen</dt><dd>%s</dd></div><div><dt>of these, HOT</dt><dd>%s</dd></div></dl>\n%s</header>\n<main>\n',
               n - skipped, changes, beyond, waits, to_char(updated, 'FM999,999,999,999,999'), coalesce(round(100 * hot / nullif(updated, 0), 1) || ' %', '-'),
               (SELECT E'<nav aria-label="Contents"><ul>' || string_agg(format('<li><a href="#%s">%s</a></li>', h.m[1], h.m[2]), '' ORDER BY u.place) || E'</ul></nav>\n'
                  FROM unnest(sections) WITH ORDINALITY u(html, place) CROSS JOIN LATERAL regexp_match(left(u.html, 200), '^<section id="([a-z]+)">\n<h2>([^<]*)</h2>') h(m)
                 WHERE h.m IS NOT NULL))]
        || sections || E'</main>\n</body>\n</html>\n'::text;
    RETURN array_to_string(page, '');
END
$$;
COMMENT ON FUNCTION @extschema@.ff_report(integer) IS 'Everything on one HTML page that needs nothing else: what to do first, ranked, with the predicted curve of every table for which a change is advised; each table with something to change or to explain (as many as detailed says, the most worthwhile first) with its curve at large, history, page fill and blockers; all others in short; memory against table sizes, settings, and what was not examined. To write it: psql -XAtqc "SELECT ff_report()" > report.html. Error 22023: detailed is NULL or negative.';

CREATE OR REPLACE VIEW @extschema@.ff_metrics AS
SELECT r.nspname AS schemaname, r.relname, r.fillfactor,
       a.to_fillfactor AS advised_fillfactor, a.predicted_hot_pct / 100 AS predicted_hot_ratio, a.confidence,
       h.updated / nullif(h.seconds, 0) AS updates_per_s,
       h.hot / nullif(h.updated, 0) AS hot_ratio, h.newpage / nullif(h.updated, 0) AS newpage_ratio,
       h.heap_bytes, h.index_bytes,
       s.live_pct / 100 AS live_ratio, s.dead_pct / 100 AS dead_ratio, s.free_pct / 100 AS free_ratio,
       extract(epoch FROM now() - r.sampled_at)::double precision AS sample_age_s,
       extract(epoch FROM now() - r.seen_at)::double precision AS change_age_s,
       extract(epoch FROM now() - r.promised_at)::double precision AS advice_age_s
  FROM @extschema@.ff_relation r
  LEFT JOIN LATERAL (
        SELECT sum(i.updated)::double precision AS updated, sum(i.hot_updated)::double precision AS hot,
               CASE WHEN bool_and(i.newpage_updated IS NOT NULL) THEN sum(i.newpage_updated)::double precision END AS newpage,
               extract(epoch FROM max(i.ended_at) - min(i.began_at))::double precision AS seconds,
               (array_agg(i.heap_bytes ORDER BY i.ended_at DESC))[1] AS heap_bytes, (array_agg(i.index_bytes ORDER BY i.ended_at DESC))[1] AS index_bytes
          FROM @extschema@.ff_interval i WHERE i.rel_id = r.rel_id AND i.ended_at > now() - interval '1 hour') h ON true
  LEFT JOIN LATERAL (SELECT * FROM @extschema@.ff_page_sample o WHERE o.rel_id = r.rel_id ORDER BY o.sampled_at DESC LIMIT 1) s ON true
  -- taken up meanwhile, it is advice no more
  LEFT JOIN @extschema@.ff_advised a ON a.rel_id = r.rel_id AND a.from_fillfactor = r.fillfactor
 WHERE r.closed_at IS NULL;
CREATE OR REPLACE VIEW @extschema@.ff_metrics_collection AS
SELECT (SELECT count(*) FROM @extschema@.ff_collection) AS collections,
       extract(epoch FROM now() - c.began_at)::double precision AS collection_age_s,
       extract(epoch FROM c.ended_at - c.began_at)::double precision AS collection_duration_s,
       c.relations, c.changed, c.sampled, c.skipped, c.failed, c.deferred,
       (SELECT count(*) FROM @extschema@.ff_problem) AS problems
  FROM (VALUES (1)) one(row)
  LEFT JOIN (SELECT * FROM @extschema@.ff_collection ORDER BY collection_id DESC LIMIT 1) c ON true;

COMMENT ON COLUMN @extschema@.ff_metrics.advised_fillfactor IS 'fillfactor that ff_advise() advised when a collection asked last, percent; NULL where it advised no other';
COMMENT ON COLUMN @extschema@.ff_metrics.confidence IS 'confidence of that advice, 0 to 1';
COMMENT ON COLUMN @extschema@.ff_metrics.advice_age_s IS 'seconds since a collection asked for its advice, once an hour while it changes or another fillfactor is advised; NULL: not yet';

COMMENT ON COLUMN @extschema@.ff_relation.changes_since_sample IS 'rows inserted, updated and deleted since then; all of them where the table was rewritten';

-- who may write the history may write its new tables
DO $$
DECLARE
    own     CONSTANT pg_init_privs[] := ARRAY(SELECT i FROM pg_init_privs i
                                               JOIN pg_depend d ON (d.classid, d.objid) = (i.classoid, i.objoid) AND d.deptype = 'e' AND d.refclassid = 'pg_extension'::regclass
                                               JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'fillfactor_advisor');
    may     record;
    anew    record;
    who     text;
BEGIN
    FOR may IN
        SELECT n.relname, a.privilege_type, a.grantee::regrole AS grantee
          FROM pg_class c JOIN pg_extension e ON e.extname = 'fillfactor_advisor' AND c.relnamespace = e.extnamespace
         CROSS JOIN LATERAL aclexplode(c.relacl) a
         CROSS JOIN (VALUES ('ff_summary'), ('ff_advised')) n(relname)
         WHERE c.relname = 'ff_interval' AND a.privilege_type IN ('INSERT', 'UPDATE', 'DELETE') AND a.grantee NOT IN (0, c.relowner)
    LOOP
        EXECUTE format('GRANT %s ON @extschema@.%I TO %s', may.privilege_type, may.relname, may.grantee);
    END LOOP;

    -- and who may, or may not, call a function that was made anew, still may or may not
    FOR anew IN
        SELECT p.oid::regprocedure AS function, p.proacl, p.proowner, r.one->'granted' AS granted
          FROM jsonb_array_elements(current_setting('ff_upgrade.rights')::jsonb) r(one)
          JOIN pg_extension e ON e.extname = 'fillfactor_advisor'
          JOIN pg_proc p ON p.pronamespace = e.extnamespace AND p.proname = (r.one->>'name')
         WHERE NOT EXISTS (SELECT 1 FROM pg_proc o WHERE o.oid = (r.one->>'oid')::oid)
    LOOP
        FOR who IN SELECT DISTINCT CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END FROM aclexplode(anew.proacl) a WHERE a.grantee <> anew.proowner LOOP
            EXECUTE format('REVOKE ALL ON FUNCTION %s FROM %s', anew.function, who);
        END LOOP;
        FOR who IN SELECT jsonb_array_elements_text(CASE jsonb_typeof(anew.granted) WHEN 'array' THEN anew.granted ELSE '[]' END) LOOP
            EXECUTE format('GRANT EXECUTE ON FUNCTION %s %s', anew.function, who);
        END LOOP;
    END LOOP;

    -- An extension's script takes what it grants for the extension's own, which
    -- pg_dump leaves out.  These are not: there is no other way to say so.
    WITH ours AS (
        UPDATE pg_init_privs i SET initprivs = o.initprivs FROM unnest(own) o
         WHERE (i.classoid, i.objoid, i.objsubid) = (o.classoid, o.objoid, o.objsubid) AND i.initprivs <> o.initprivs
        RETURNING i.classoid, i.objoid, i.objsubid, i.initprivs
    ), named AS (
        -- from 17 on, the roles named there are written down, but for those of initdb
        SELECT DISTINCT d.oid AS dbid, o.classoid, o.objoid, o.objsubid, r.role
          FROM ours o
         CROSS JOIN LATERAL aclexplode(o.initprivs) a
         CROSS JOIN LATERAL (VALUES (a.grantee), (a.grantor)) r(role)
          JOIN pg_database d ON d.datname = current_database()
         WHERE r.role >= 16384
    ), gone AS (
        DELETE FROM pg_shdepend s USING ours o, pg_database d
         WHERE d.datname = current_database() AND s.dbid = d.oid AND (s.classid, s.objid, s.objsubid) = (o.classoid, o.objoid, o.objsubid) AND s.deptype = 'i'
           AND NOT EXISTS (SELECT 1 FROM named n WHERE (n.classoid, n.objoid, n.objsubid, n.role) = (s.classid, s.objid, s.objsubid, s.refobjid))
    )
    INSERT INTO pg_shdepend (dbid, classid, objid, objsubid, refclassid, refobjid, deptype)
    SELECT n.dbid, n.classoid, n.objoid, n.objsubid, 'pg_authid'::regclass, n.role, 'i'
      FROM named n
     WHERE current_setting('server_version_num')::integer >= 170000
       AND NOT EXISTS (SELECT 1 FROM pg_shdepend s
                        WHERE (s.dbid, s.classid, s.objid, s.objsubid, s.refobjid) = (n.dbid, n.classoid, n.objoid, n.objsubid, n.role) AND s.deptype = 'i');
END
$$;
