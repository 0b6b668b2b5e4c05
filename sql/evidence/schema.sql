-- Types of stage evidence.

CREATE TYPE ff_internal.table_window AS (
    began_at timestamptz, intervals bigint, counted ff_internal.counters, cycles float8,
    since_began_at timestamptz, since ff_internal.counters, recent ff_internal.counters
);
COMMENT ON TYPE ff_internal.table_window IS
'Sums of a table''s intervals in fillfactor_advisor.lookback: of all (counted, the first began at began_at), of '
'those since the last change of fillfactor or indexes (since, since_began_at; NULL: none), and of the newest of '
'these with a third of their updates (recent). intervals: their number; after two hours those of an hour count as '
'one, after two days those of a day. cycles: hours (days, before the last two) that the updates were spread over: '
'the square of their sum divided by the sum of their squares; NULL without updates.';

CREATE TYPE ff_internal.table_evidence AS (
    relation regclass, rel_id bigint, nspname name, relname name, not_examined text, fillfactor integer,
    reloptions text[], snapshot_at timestamptz, window_s float8,
    -- as in table_window
    began_at timestamptz, intervals bigint, counted ff_internal.counters, cycles float8, since_change_s float8,
    since_began_at timestamptz, since ff_internal.counters, recent ff_internal.counters,
    counts_lost boolean, open_writers integer, heap_bytes bigint, index_bytes bigint, toast_bytes bigint,
    indexes integer, ram_bytes bigint, ram_ratio float8, problem text,
    -- of the last page sample
    sampled_at timestamptz, blocks bigint, live_rows float8, rows_per_page real, inserted_width real,
    updated_width real, update_group_rows real, seen_hot float8, seen_same_page float8, seen_newpage float8,
    loaded_anew boolean, indexed_share float8, hot_share float8,
    -- as split_updates() says of the recent updates
    newpage_share float8, blocked_share float8, recoverable_share float8, kept_share float8, kept_with_room float8,
    held_back text
);
COMMENT ON TYPE ff_internal.table_evidence IS
'Everything observed of a table; NULL: unknown. rel_id: NULL if it was never collected. not_examined: why, NULL: it '
'is. snapshot_at: when its counters were last read. window_s, since_change_s: seconds watched in the window, and '
'since the last change of fillfactor or indexes. since, since_began_at, recent: NULL, too, if no collection saw the '
'change yet. counts_lost: track_counts was off in a collection of the window. open_writers: sessions whose updates '
'were not counted yet at the last one. indexes: valid ones. ram_ratio: (heap_bytes + index_bytes) / ram_bytes. '
'problem: SQLSTATE and message if the last sample failed. seen_hot, seen_same_page, seen_newpage: superseded '
'versions; NULL: sampled before the last change. loaded_anew: no more rows have the mark of a HOT update than not: a '
'rewrite clears it. indexed_share: see there; NULL, too, if nearly all recent updates were HOT. hot_share: of the '
'recent updates. held_back: what an old snapshot cost, in words, if updates lack room.';
