
-- Stage sample: what the pages of one relation say.

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
	OUT updated_nonhot_rows float8,
	OUT superseded_hot float8,
	OUT superseded_same_page float8,
	OUT superseded_newpage float8,
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
AS 'MODULE_PATHNAME', 'ff_sample'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;

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
updated_hot_rows, updated_nonhot_rows: live rows updated since insert, with and without the heap-only flag of their last update. A rewrite of the table (VACUUM FULL, CLUSTER) clears that flag on all rows.
superseded_hot, superseded_same_page, superseded_newpage: old versions still in a page whose update was HOT; was not HOT although it stayed in the page (an indexed column changed); went to another page (no room).
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

CREATE FUNCTION @extschema@.ff_sample_index(
	index regclass,
	OUT index regclass,
	OUT relation regclass,
	OUT blocks bigint,
	OUT blocks_read int,
	OUT blocks_new int,
	OUT blocks_bad int,
	OUT levels int,
	OUT leaf_pages float8,
	OUT leaf_pages_err float8,
	OUT internal_pages float8,
	OUT deleted_pages float8,
	OUT half_dead_pages float8,
	OUT leaf_density float8,
	OUT leaf_density_err float8,
	OUT fragmentation float8,
	OUT fragmentation_err float8,
	OUT at_fillfactor_pct float8,
	OUT at_fillfactor_pct_err float8,
	OUT half_full_pct float8,
	OUT half_full_pct_err float8,
	OUT density_histogram int[],
	OUT row_pointers float8,
	OUT row_pointers_err float8,
	OUT items_per_leaf float8,
	OUT bytes_per_row float8,
	OUT dead_items_pct float8,
	OUT deduplicated_pct float8,
	OUT page_lsn_age_p10 float8,
	OUT page_lsn_age_p50 float8,
	OUT page_lsn_age_p90 float8
)
AS 'MODULE_PATHNAME', 'ff_sample_index'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@.ff_sample_index(regclass) IS
$$Samples the pages of one B-tree index now, as ff_sample does those of a table.
Columns ending in _err are half widths of the 95 % interval of the column before, in its unit; 0 if all pages were read. Estimates are for the whole index. NULL means that there is nothing to measure.
index, relation: the index and its table.
blocks, blocks_read, blocks_new, blocks_bad: pages of its main fork; of them, read by this call; of those read, all zero, and rejected because their contents contradict themselves.
levels: of the tree, one for an index of a single page.
leaf_pages, internal_pages, deleted_pages, half_dead_pages: pages by what they are.
leaf_density: used share of leaf pages, percent, as pgstatindex defines avg_leaf_density.
fragmentation: leaf pages whose right sibling lies before them in the file, percent of leaf pages, as pgstatindex defines leaf_fragmentation.
at_fillfactor_pct: leaf pages within 3 points of the index's fillfactor, percent: what splits at the right end, or a build, leave behind.
half_full_pct: leaf pages no fuller than 60 %, percent: what splits in the middle leave behind.
density_histogram: leaf pages read, by used share, in ten bins of 10 %; not scaled to the index.
row_pointers: pointers to table rows in leaf pages.
items_per_leaf: index tuples on a leaf page, a posting list counting once.
bytes_per_row: length of leaf tuples per row pointer, without line pointers.
dead_items_pct: leaf tuples known to be dead, not yet removed, percent of leaf tuples.
deduplicated_pct: row pointers in posting lists, percent of row pointers.
page_lsn_age_p10, page_lsn_age_p50, page_lsn_age_p90: bytes of WAL written since a leaf page last changed: quantiles over leaf pages. NULL for indexes of unlogged and temporary tables.$$;
