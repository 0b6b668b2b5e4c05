-- Types of stage explain.

CREATE TYPE ff_internal.blocker AS (
    relid oid, indexrelid oid, summarizing boolean, seen boolean, statements text[], columns text[], usage text,
    kept_by float8, kept_alone float8, won float8, entries float8,
    scans bigint, since timestamptz, needed text, still boolean, free boolean, place bigint,
    won_together float8, together text, won_by_all float8, besides text
);
COMMENT ON TYPE ff_internal.blocker IS
'An index that blockers() lists, see there and blocking_indexes(). Updates per second: blocked by it (kept_by), by it '
'alone (kept_alone), HOT without it (won); entries: index entries per second saved without it; since: start of '
'counting its scans; free: nothing needs it; place: order in which to drop; won_together: HOT without it and all '
'before it; together, won_by_all: all that are in the way, and HOT without them; besides: of the first, and of those '
'that no statement sets, what changes indexed columns besides the statements seen.';
