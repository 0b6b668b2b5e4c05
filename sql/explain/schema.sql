-- Types of stage explain.

CREATE TYPE ff_internal.blocker AS (
    relid oid, indexrelid oid, summarizing boolean, seen boolean, statements text[], columns text[], usage text,
    kept_by float8, kept_alone float8, won float8, entries float8, scans bigint, since timestamptz, needed text,
    still boolean, free boolean, place bigint, won_together float8, besides text
);
COMMENT ON TYPE ff_internal.blocker IS
'An index that blockers() lists, see also blocking_indexes(). Updates per second: blocked by it (kept_by), by it alone '
'(kept_alone), HOT without it (won), or without it and all before it (won_together); entries: index entries per second '
'saved. free: nothing needs it; place: order in which to drop; besides: what else changes indexed columns.';

CREATE TYPE ff_internal.index_evidence AS (
    hindrance text, problem text, unread text, fillfactor integer, collected boolean, inserted bigint, non_hot bigint,
    window_s float8, quiet_s float8, ascends boolean, keyed boolean, live_rows float8, blocks bigint,
    leaf_pages float8, internal_pages float8, row_pointers float8, leaf_density numeric(4, 1),
    leaf_density_err real, at_fillfactor_pct numeric(4, 1), half_full_pct numeric(4, 1),
    fragmentation numeric(4, 1), deduplicated_pct numeric(4, 1)
);
COMMENT ON TYPE ff_internal.index_evidence IS
'What is known of an index, of its table (non_hot: updates; quiet_s: seconds without writes; live_rows: NULL: unknown, '
'or the index has some of them), and columns of ff_sample_index(). hindrance: why it is not judged; problem, in a '
'mirror unread: why no pages were read. ascends: a sequence or the insert time. keyed: no two rows share '
'a key.';
