-- Types of stage collect that need its views.

CALL ff_internal.define($$
CREATE TYPE ff_internal.table_difference AS (
    -- A table that differs from its baseline.
    was               ff_internal.relation,    -- the baseline; NULL: a new table
    now               ff_internal.table_state, -- NULL: the table is gone
    counted           ff_internal.counters,    -- counted since the baseline
    changed_rows      bigint,        -- rows inserted, updated and deleted since then, or since the reset
    redefined         boolean,       -- its file, name, options or indexes differ
    lost              boolean,       -- its counters were reset, or may have been
    index_definitions text[],        -- now
    indexed_columns   smallint[]     -- now
);
$$);
