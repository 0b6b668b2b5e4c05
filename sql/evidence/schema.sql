-- Types of stage evidence.

CALL ff_internal.define($$
CREATE TYPE ff_internal.window_counters AS (
    -- Sums of some intervals of one table.
    began_at        timestamptz,     -- start of the first interval; NULL: none
    intervals       bigint,          -- number of intervals; after two hours those of an hour count as one, after two
        -- days those of a day
    inserted        bigint,          -- rows inserted
    updated         bigint,          -- rows updated
    hot_updated     bigint,          -- rows HOT updated
    newpage_updated bigint,          -- rows updated whose new version went to another page; NULL before PostgreSQL 16
    seq_scans       bigint,          -- sequential scans begun
    index_scans     bigint,          -- index scans begun
    blocks_fetched  bigint,          -- heap pages requested
    cycles          double precision -- hours (days, before the last two) that the updates were spread over: the square
        -- of their sum divided by the sum of their squares; NULL without updates
);
$$);

CALL ff_internal.define($$
CREATE TYPE ff_internal.table_window AS (
    -- A table's history over the last days.
    counters     ff_internal.window_counters, -- fillfactor_advisor.lookback
    since_change ff_internal.window_counters, -- the part since the last change of fillfactor or indexes
    recent       ff_internal.window_counters -- the newest part of that with a third of its updates; all if it has none
);
$$);

CALL ff_internal.define($$
CREATE TYPE ff_internal.table_evidence AS (
    -- Everything observed of a table.
    relation       regclass,         -- the table
    rel_id         bigint,           -- key of its history; NULL: never collected
    nspname        name,             -- schema
    relname        name,             -- name
    not_examined   text,             -- why it is not examined; NULL: it is
    fillfactor     integer,          -- effective fillfactor now, percent
    reloptions     text[],           -- its storage options now, as stored
    snapshot_at    timestamptz,      -- when its counters were last read
    window_s       double precision, -- seconds watched in the window; NULL: never collected
    since_change_s double precision, -- seconds of these since the last change of fillfactor or indexes
    counters       ff_internal.window_counters, -- as in table_window; NULL: nothing was written
    since_change   ff_internal.window_counters, -- the same
    recent         ff_internal.window_counters, -- the same
    counts_lost    boolean,          -- track_counts was off in a collection of the window
    open_writers   integer,          -- sessions whose updates were not counted yet at the last collection
    heap_bytes     bigint,           -- size of the main fork now; NULL: unknown
    index_bytes    bigint,           -- size of all indexes now; NULL: unknown
    toast_bytes    bigint,           -- size of the TOAST table now; NULL: unknown
    indexes        integer,          -- valid indexes
    ram_bytes      bigint,           -- memory that may hold the table, see ff_memory()
    ram_ratio      double precision, -- (heap_bytes + index_bytes) / ram_bytes
    problem        text,             -- SQLSTATE and message if the last sample failed
    seen_hot       double precision, -- superseded_hot of the sample; NULL: sampled before the last change
    seen_same_page double precision, -- superseded_same_page, likewise
    seen_newpage   double precision, -- superseded_newpage, likewise
    sample         ff_internal.page_sample -- the last sample of its pages; NULL: never sampled
);
$$);
