-- Types of stage evidence.

CALL ff_internal.define($$
CREATE TYPE ff_internal.table_window AS (
    -- Sums of a table's intervals in fillfactor_advisor.lookback.
    began_at       timestamptz,      -- start of the first interval
    intervals      bigint,           -- number of intervals; after two hours those of an hour count as one, after two
        -- days those of a day
    counted        ff_internal.counters, -- in all of them
    cycles         float8,           -- hours (days, before the last two) that the updates were spread over: the
        -- square of their sum divided by the sum of their squares; NULL without updates
    since_began_at timestamptz,      -- start of the first interval since the last change of fillfactor or indexes;
        -- NULL: none
    since          ff_internal.counters, -- in those since then
    recent         ff_internal.counters -- in the newest of these with a third of their updates, all without updates
);
$$);

CALL ff_internal.define($$
CREATE TYPE ff_internal.table_evidence AS (
    -- Everything observed of a table.
    relation             regclass,   -- the table
    rel_id               bigint,     -- key of its history; NULL: never collected
    nspname              name,       -- schema
    relname              name,       -- name
    not_examined         text,       -- why it is not examined; NULL: it is
    fillfactor           integer,    -- effective fillfactor now, percent
    reloptions           text[],     -- its storage options now, as stored
    snapshot_at          timestamptz, -- when its counters were last read
    window_s             float8, -- seconds watched in the window; NULL: never collected
    began_at             timestamptz, -- as in table_window, to recent; NULL: nothing was written
    intervals            bigint,
    counted              ff_internal.counters,
    cycles               float8,
    since_change_s       float8, -- seconds watched since the last change of fillfactor or indexes
    since_began_at       timestamptz, -- as there, to recent; NULL: no collection saw the change yet
    since                ff_internal.counters,
    recent               ff_internal.counters,
    counts_lost          boolean,    -- track_counts was off in a collection of the window
    open_writers         integer,    -- sessions whose updates were not counted yet at the last collection
    heap_bytes           bigint,     -- size of the main fork now; NULL: unknown
    index_bytes          bigint,     -- size of all indexes now; NULL: unknown
    toast_bytes          bigint,     -- size of the TOAST table now; NULL: unknown
    indexes              integer,    -- valid indexes
    ram_bytes            bigint,     -- memory that may hold the table, see ff_memory()
    ram_ratio            float8, -- (heap_bytes + index_bytes) / ram_bytes
    problem              text,       -- SQLSTATE and message if the last sample failed
    sampled_at           timestamptz, -- key of its last page sample; NULL: never sampled
    blocks               bigint,     -- as in page_sample, to update_group_rows
    live_rows            float8,
    rows_per_page        real,
    inserted_width       real,
    updated_width        real,
    update_group_rows    real,
    seen_hot             float8, -- superseded_hot of the sample; NULL: sampled before the last change
    seen_same_page       float8, -- superseded_same_page, likewise
    seen_newpage         float8, -- superseded_newpage, likewise
    loaded_anew          boolean,    -- no more rows have the mark of a HOT update than not: a rewrite clears it
    indexed_share        float8, -- see indexed_share(); NULL: unknown, or nearly all recent updates were HOT
    hot_share            float8, -- HOT share of the recent updates, 0 to 1
    newpage_share        float8, -- as split_updates() says of the recent updates, to kept_with_room
    blocked_share        float8,
    recoverable_share    float8,
    kept_share           float8,
    kept_with_room       float8,
    held_back            text        -- what an old snapshot cost, in words, if updates lack room; NULL: nothing
);
$$);
