-- Stage advice: what the evidence says of each table, and what to do.
--
-- The cause comes from the evidence alone (ff_diagnosis), the fillfactor from
-- the model (ff_choice), and only where the cause is one that a fillfactor can
-- cure.  Every table of the database gets a row and a reason.

-- ---------------------------------------------------------------------------
-- Where the updates that are not HOT come from
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_split_updates(
    updated double precision, hot double precision, newpage double precision,
    seen_same_page double precision, seen_moved double precision,
    OUT moved_share double precision, OUT blocked_share double precision, OUT eligible_share double precision, OUT recoverable_share double precision)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH c AS (
        SELECT nullif(updated, 0) AS u, least(hot, updated) AS h,
               CASE WHEN updated <= hot THEN 0
                    WHEN newpage IS NOT NULL THEN least(newpage, updated - hot)
                    WHEN seen_same_page + seen_moved > 0 THEN (updated - hot) * seen_moved / (seen_same_page + seen_moved)
               END AS m
    )
    SELECT m / u, (u - h - m) / u, h / nullif(u - m, 0),
           -- an update that left its page would have been HOT as often as
           -- those that stayed; where none stayed, nothing speaks against it
           m / u * coalesce(h / nullif(u - m, 0), 1)
      FROM c
$$;
COMMENT ON FUNCTION @extschema@.ff_split_updates(double precision, double precision, double precision, double precision, double precision) IS
'Splits a number of updates, given how many were HOT and how many went to a new page (NULL before PostgreSQL 16: then old versions seen in the pages give the ratio). moved_share: went to another page, which more room per page can prevent; blocked_share: stayed in their page and were not HOT, because an indexed column changed, which no fillfactor can prevent; eligible_share: HOT among those that stayed; recoverable_share: moved_share x eligible_share. Shares of all updates, 0 to 1; NULL where unknown.';
REVOKE ALL ON FUNCTION @extschema@.ff_split_updates(double precision, double precision, double precision, double precision, double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_split_updates(double precision, double precision, double precision, double precision, double precision) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_rows_per_page(fillfactor integer, width double precision) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN width > 0 THEN greatest(1,
               floor((8168 - floor(8192 * (100 - fillfactor) / 100.0)) / (ceil(width / 8) * 8 + 4))::integer) END
$$;
COMMENT ON FUNCTION @extschema@.ff_rows_per_page(integer, double precision) IS 'Rows of a length (bytes, header included) with which an insert fills an empty 8 kB page at a fillfactor: 8168 bytes less the reserve, each row aligned to 8 bytes and with a line pointer of 4. At least one row always fits.';
REVOKE ALL ON FUNCTION @extschema@.ff_rows_per_page(integer, double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_rows_per_page(integer, double precision) TO pg_read_all_stats;

-- ---------------------------------------------------------------------------
-- Cause
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_diagnosis(relation regclass DEFAULT NULL)
RETURNS TABLE (
    evidence          @extschema@.ff_table_evidence,
    cause             text,
    wants_model       boolean,
    hot_share         double precision,
    moved_share       double precision,
    blocked_share     double precision,
    recoverable_share double precision,
    row_width         double precision
)
LANGUAGE sql STABLE ROWS 1000
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT e, d.cause, d.cause IN ('page_full', 'batch_update', 'row_growth') OR (e.fillfactor < 100 AND d.cause IN ('settled', 'few_updates', 'read_mostly')),
           e.recent_hot / nullif(e.recent_updated, 0)::double precision,
           s.moved_share, s.blocked_share, s.recoverable_share, w.width
      FROM @extschema@.ff_evidence(relation) e
     CROSS JOIN LATERAL @extschema@.ff_split_updates(e.recent_updated, e.recent_hot, e.recent_newpage, e.seen_same_page, e.seen_moved) s
     CROSS JOIN LATERAL (SELECT greatest(coalesce(e.updated_width, 0), coalesce(e.inserted_width, 0))::double precision AS width) w
     CROSS JOIN LATERAL (SELECT CASE
            WHEN e.not_examined IS NOT NULL OR e.sampled_at IS NULL OR e.intervals IS NULL OR e.blocks = 0 OR w.width = 0 THEN 'no_data'
            -- too little happened to say anything of updates
            WHEN e.updated < @extschema@.ff_setting('min_updates')::bigint THEN 'few_updates'
            WHEN @extschema@.ff_rows_per_page(100, w.width) < 2 THEN 'too_wide'
            WHEN s.moved_share IS NULL THEN 'no_data'
            WHEN s.recoverable_share < 0.02 AND s.blocked_share >= 0.05 THEN 'indexed_column'
            WHEN s.recoverable_share < 0.02 THEN 'settled'
            WHEN s.blocked_share > 4 * s.recoverable_share AND s.recoverable_share < 0.1 THEN 'indexed_column'
            -- versions that no vacuum could remove yet outnumber a third of the rows
            WHEN e.recently_dead_rows > 0.3 * e.live_rows AND e.recently_dead_rows > 0.8 * e.dead_rows THEN 'old_snapshot'
            WHEN e.updated_width > 1.1 * e.inserted_width AND e.updated_width - e.inserted_width >= 8 THEN 'row_growth'
            WHEN e.update_group_rows >= greatest(3, 0.1 * e.rows_per_page) THEN 'batch_update'
            ELSE 'page_full' END AS cause) d
$$;
COMMENT ON FUNCTION @extschema@.ff_diagnosis(regclass) IS 'The cause that the evidence shows, one row a table, and whether a fillfactor could matter at all (wants_model). Shares are of the recent updates, 0 to 1. Internal step of ff_advise().';
REVOKE ALL ON FUNCTION @extschema@.ff_diagnosis(regclass) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_diagnosis(regclass) TO pg_read_all_stats;
