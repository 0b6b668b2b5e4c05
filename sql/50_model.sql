-- Stage model: which fillfactor, and what it will change.
--
-- First version: room by arithmetic only.  It knows how many rows must fit a
-- page besides their old versions, and predicts nothing about HOT or WAL: those
-- columns are NULL until the twin of the heap computes them.

CREATE FUNCTION @extschema@.ff_rows_per_page(fillfactor integer, width double precision) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- bound when it is created, so that it needs no search_path and can be inlined
RETURN CASE WHEN width > 0 THEN greatest(1,
               floor((8168 - floor(8192 * (100 - fillfactor) / 100.0)) / (ceil(width / 8) * 8 + 4))::integer) END;
COMMENT ON FUNCTION @extschema@.ff_rows_per_page(integer, double precision) IS 'Rows of a length (bytes, header included) with which an insert fills an empty 8 kB page at a fillfactor: 8168 bytes less the reserve, each row aligned to 8 bytes and with a line pointer of 4. At least one row always fits.';
REVOKE ALL ON FUNCTION @extschema@.ff_rows_per_page(integer, double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_rows_per_page(integer, double precision) TO pg_read_all_stats;

CREATE FUNCTION @extschema@.ff_choice(
    e @extschema@.ff_table_evidence,
    OUT recommended_fillfactor integer, OUT predicted_hot_pct double precision, OUT predicted_hot_low double precision, OUT predicted_hot_high double precision,
    OUT predicted_rows_per_page integer, OUT predicted_size_bytes bigint, OUT predicted_wal_pct double precision,
    OUT confidence double precision, OUT gain double precision, OUT needs_rewrite boolean, OUT note text)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH w AS (
        SELECT coalesce(e.inserted_width, e.updated_width)::double precision AS old, coalesce(e.updated_width, e.inserted_width)::double precision AS new
    ), need AS (
        -- rows that a page may be filled with, so that their new versions fit too
        SELECT w.*, CASE WHEN e.updated = 0 THEN @extschema@.ff_rows_per_page(100, w.old)
                         ELSE (SELECT max(n) FROM generate_series(1, @extschema@.ff_rows_per_page(100, w.old)) n
                                WHERE n * (ceil(w.old / 8) * 8 + 4) + least(n, greatest(1, e.update_group_rows)) * (ceil(w.new / 8) * 8 + 4) <= 8168) END AS rows
          FROM w
    ), step AS (
        SELECT need.*, (SELECT max(f) FROM generate_series(10, 100) f WHERE @extschema@.ff_rows_per_page(f, need.old) <= need.rows) AS f FROM need
    )
    SELECT s.f, NULL::double precision, NULL::double precision, NULL::double precision, @extschema@.ff_rows_per_page(s.f, s.old),
           (e.heap_bytes::double precision * @extschema@.ff_rows_per_page(e.fillfactor, s.old) / @extschema@.ff_rows_per_page(s.f, s.old))::bigint,
           NULL::double precision, NULL::double precision, NULL::double precision, e.inserted < e.updated / 10.0, NULL::text
      FROM step s
$$;
COMMENT ON FUNCTION @extschema@.ff_choice(@extschema@.ff_table_evidence) IS 'The fillfactor whose pages have room for the new versions of all rows that one transaction updates together, by arithmetic. Internal step of ff_advise().';
REVOKE ALL ON FUNCTION @extschema@.ff_choice(@extschema@.ff_table_evidence) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_choice(@extschema@.ff_table_evidence) TO pg_read_all_stats;
