-- What the model is given, what it answers, and the answers that collections keep.

CREATE TYPE ff_internal.model_input AS (
    -- the intervals since fillfactor or indexes last changed, the newest first, the oldest ones as one
    interval_seconds float8[], interval_inserted float8[], interval_updated float8[], interval_hot float8[],
    interval_newpage float8[], interval_deleted float8[], interval_vacuums float8[],
    observed_s float8, earlier_updated float8, window_xids float8,
    -- the statements that write it, the most rows first
    statement_command float8[], statement_calls float8[], statement_rows float8[], statement_sets_indexed float8[],
    statement_wal_records float8[], statement_wal_bytes float8[], indexed_share float8,
    -- its pages
    blocks float8, live_rows float8, rows_per_page float8, rows_per_page_max float8, updated_pct float8,
    seen_hot float8, seen_same_page float8, seen_moved float8, recent_share float8, recent_dead float8,
    inserted_length float8[], updated_length float8[], group_old_page float8[], group_new_page float8[],
    update_distance float8[], update_age float8[],
    -- the table, what was made of it before, and its surroundings
    fillfactor float8, filled_at float8, updated_since float8, standing float8, followed float8, prior_updated float8,
    prior_cost float8[], indexes float8, index_bytes float8, ram_bytes float8, vacuum_scale float8,
    vacuum_threshold float8, vacuum_nap_s float8, sessions float8, index_scans float8, seq_scans float8,
    blocks_fetched float8, checkpoint_s float8, read_us float8
);
COMMENT ON TYPE ff_internal.model_input IS
'What the model is given of a table; src/model/fields.h and evidence.h say what each is. NULL is unknown.';

CALL ff_internal.define($$
CREATE TYPE ff_internal.step AS (
    -- What one fillfactor would do to a table; between two steps nothing changes.
    fillfactor           integer, -- highest of the step, percent
    rows_per_page        integer, -- rows with which inserts fill a page
    hot_pct              float8, -- HOT share over a window such as the one observed, percent
    hot_pct_low          float8, -- lower end of its range
    hot_pct_high         float8, -- upper end
    newpage_pct          float8, -- updates that go to another page, percent
    settled_hot_pct      float8, -- HOT share once the table has settled, percent
    size_bytes           bigint, -- main fork after fillfactor_advisor.payback_time
    index_bytes          bigint, -- all indexes, the same
    wal_bytes_per_update float8, -- with what comes along with it, a rewrite included; mean over that time
    us_per_update        float8, -- microseconds of CPU and waiting for pages, the same
    cost                 float8, -- time, WAL and size, weighted by the settings, relative to the best step
    needs_rewrite        boolean -- it costs less where the table is rewritten at once
);
$$);

CALL ff_internal.define($$
CREATE TYPE ff_internal.choice AS (
    -- What the model makes of a table, and which step it would take.
    action           text, -- wait: too little was seen; keep; set: for new pages; rewrite: and rewrite the table
    current_step     integer, -- fillfactor of the step that the table is at, percent
    advised_step     integer, -- of the step advised; the current one where no other saves min_gain
    advised_in_ram   integer, -- of the step that would be advised if everything were in memory
    gain             float8, -- cost as it is against cost at advised_step
    best_gain        float8, -- the same of the cheapest step, advised or not
    rewrite_gain     float8, -- cost as it is against cost once rewritten at the fillfactor it has
    rewrite_hot_pct  float8, -- HOT share then
    wal_bytes_now    float8, -- WAL of a row updated as it is, mean over payback_time
    us_now           float8, -- microseconds, the same
    confidence       float8, -- how well the model explains what was seen, 0 to 1
    settling         float8, -- weight of the explanations by which the table becomes HOT by itself, 0 to 1
    settle_updates   float8, -- rows updated until then
    filled_at        integer, -- fillfactor at which its pages were filled, where higher than the table's
    update_call_rows float8, -- rows updated by one call of a statement
    life             jsonb -- what explains best what was seen, as TwinLife (src/model/twin.h)
);
$$);

CALL ff_internal.define($$
CREATE TABLE ff_internal.fit (
    -- What a collection last made of a table's evidence, and what ff_advise() said then.
    rel_id          bigint PRIMARY KEY,
    made_at         timestamptz NOT NULL, -- when the evidence was last judged
    mark            text NOT NULL, -- hash of the evidence and of the settings that it was made of
    shape           text NOT NULL, -- hash of file, fillfactor, indexes, server and version of the model
    choice          ff_internal.choice, -- the model's choice; NULL where it was not asked or no row length is known
    steps           ff_internal.step[], -- its curve, from 100 downwards
    action          text NOT NULL CHECK (action IN ('lower', 'raise', 'keep', 'wait')), -- what ff_advise() said then
    from_fillfactor smallint NOT NULL CHECK (from_fillfactor BETWEEN 10 AND 100), -- effective fillfactor then, percent
    to_fillfactor   smallint NOT NULL CHECK (to_fillfactor BETWEEN 10 AND 100), -- advised fillfactor, percent
    confidence      real NOT NULL CHECK (confidence BETWEEN 0 AND 1), -- of the advice, 0 to 1
    updates_per_s   real, -- rows updated per second over the window
    updated         bigint, -- rows updated since the last change, of which it was made
    CHECK ((action IN ('lower', 'raise')) = (from_fillfactor <> to_fillfactor))
) WITH (fillfactor = 50);
$$);

CALL ff_internal.define($$
CREATE TYPE ff_internal.diagnosis AS (
    -- What the evidence shows of a table. Shares are of the recent updates, 0 to 1; see split_updates().
    evidence          ff_internal.table_evidence, -- what it was made of
    cause             text, -- as ff_advise() has it
    wants_model       boolean, -- the model decides
    hot_share         float8, -- HOT
    newpage_share     float8, -- went to another page
    blocked_share     float8, -- not HOT, whatever the room
    recoverable_share float8, -- not HOT for want of room only
    indexed_share     float8, -- by statements that set an indexed column; NULL where not asked, or not known
    kept_share        float8, -- kept from being HOT by an index, whether or not they lacked room as well
    kept_with_room    float8, -- of these, those that had room
    eligible_known    boolean, -- it is known whether updates change an indexed column
    held_back         text, -- what an old snapshot cost, in words; NULL: none did
    idle              boolean, -- nothing was written to it for a day, or as long as the window
    row_width         float8 -- length of rows as inserted, bytes with header
);
$$);

CALL ff_internal.define($$
CREATE TYPE ff_internal.decision AS (
    -- What is advised for a table, before it is put in words.
    diagnosis              ff_internal.diagnosis, -- what the evidence shows
    fit                    ff_internal.fit, -- what the model makes of it; NULL where it was not asked
    now_step               ff_internal.step, -- step of the curve that the table is at
    then_step              ff_internal.step, -- step that the model would take, also where that is not advised
    action                 text, -- lower, raise, keep or wait
    cause                  text, -- as ff_advise() has it
    recommended_fillfactor integer, -- percent; the table's own where nothing is to be changed
    gain                   float8, -- cost now against cost at then_step
    confidence             float8, -- 0 to 1, see confidence()
    needed_confidence      float8, -- that a change would need
    passed_over            boolean, -- the model would have been asked, but was not
    because                text, -- what decided besides its own curve: siblings; taken: a change made lately; short: no
        -- full day, as busy as others, was watched; settling: no full day was, and it may become HOT by itself
    shards                 text -- of a distributed table: how its shards differ, in words
);
$$);
