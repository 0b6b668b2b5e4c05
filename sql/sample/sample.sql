-- What the pages of one relation show.

-- Samples the pages of one heap table; columns as in page_sample, of which the first four stay NULL.
CREATE FUNCTION ff_internal.sample(relation regclass) RETURNS ff_internal.page_sample
AS 'MODULE_PATHNAME', 'ff_sample'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;

-- Pools a sample with an earlier one of the same table: adds pooled columns, the earlier ones times keep; kept columns
-- without a new value stay. same_state: fillfactor and indexes did not change in between; if they did, superseded
-- versions are not pooled. Returns the sample alone if an argument is NULL. src/sample/heap.c has each column's rule.
CREATE FUNCTION ff_internal.pool_samples(
    sample ff_internal.page_sample, earlier ff_internal.page_sample, keep float8, same_state boolean)
RETURNS ff_internal.page_sample
AS 'MODULE_PATHNAME', 'ff_pool_samples'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

-- Half width of a two-sided 95 % interval, in standard errors, by degrees of freedom (Student's t).
CREATE FUNCTION ff_internal.t_quantile(freedom float8) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'ff_t_quantile';

CREATE FUNCTION @extschema@.ff_sample(
    relation regclass, OUT relation regclass, OUT blocks bigint, OUT blocks_read integer,
    OUT live_pct real, OUT live_pct_err real, OUT dead_pct real, OUT dead_pct_err real,
    OUT free_pct real, OUT free_pct_err real, OUT live_rows float8, OUT live_rows_err real,
    OUT inserted_width real, OUT updated_width real)
AS 'MODULE_PATHNAME', 'ff_sample'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION @extschema@.ff_sample(regclass) IS
'Samples the pages of one heap table now: a few hundred chosen at random, more if fillfactor_advisor.sample_error '
'asks for it, fillfactor_advisor.sample_pages at most; small tables are read whole. Waits for no lock, dirties no '
'page.
Columns ending in _err are half widths of the 95 % interval of the column before; 0 if all pages were read. Those of '
'bytes and rows allow for pages that the sample missed ("rule of three"). Estimates are for the whole table; NULL: '
'nothing to measure.
blocks: pages of its main fork. blocks_read: pages read. live_pct, dead_pct, free_pct: bytes of live and of dead row '
'versions, and free space, percent of the table, by the rules of pgstattuple. live_rows: live rows.
inserted_width, updated_width: mean length of live rows never updated and updated since insert, bytes with header.
Errors: 22004 NULL, 42P01 unknown OID, 42809 not a heap table with storage, 0A000 a temporary table of '
'another session, or an unlogged one in recovery, 55P03 locked.';

CREATE FUNCTION @extschema@.ff_sample_index(
    index regclass, OUT index regclass, OUT relation regclass, OUT blocks bigint, OUT blocks_read int,
    OUT blocks_new int, OUT blocks_bad int, OUT leaf_pages float8, OUT internal_pages float8,
    OUT deleted_pages float8, OUT leaf_density float8, OUT leaf_density_err float8, OUT fragmentation float8,
    OUT at_fillfactor_pct float8, OUT half_full_pct float8, OUT row_pointers float8, OUT deduplicated_pct float8)
AS 'MODULE_PATHNAME', 'ff_sample_index'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION @extschema@.ff_sample_index(regclass) IS
'Samples the pages of one B-tree index now, in the same way as ff_sample().
blocks: pages of its main fork; blocks_read: pages read; of these, blocks_new are all zero and blocks_bad rejected '
'as contradictory. leaf_pages, internal_pages, deleted_pages (or half dead): pages by kind.
leaf_density: used share of leaf pages, percent. fragmentation: leaf pages whose right sibling lies before them, '
'percent. Both as in pgstatindex.
at_fillfactor_pct: leaf pages within 3 points of the fillfactor, percent: left by splits at the right end, or a '
'build. half_full_pct: leaf pages at most 60 % full, percent: left by splits in the middle.
row_pointers: pointers to table rows in leaf pages. deduplicated_pct: percent of them in posting lists.';
