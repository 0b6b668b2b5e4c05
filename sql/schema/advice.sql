-- What the model is given, what it answers, and the answers that collections keep.

CALL ff_internal.define($$
CREATE TYPE ff_internal.model_input AS (
    -- What the model is given of a table, see model_input(); src/model.c takes it by name, NULL is unknown.
    -- Counts are since fillfactor or indexes last changed.
    interval_seconds        double precision[], -- seconds that each interval covers; the newest first, the oldest ones
        -- as one
    interval_inserted       double precision[], -- rows inserted in each
    interval_updated        double precision[], -- rows updated
    interval_hot            double precision[], -- of these, HOT
    interval_newpage        double precision[], -- of these, to another page; NULL where not counted (PostgreSQL 15)
    interval_deleted        double precision[], -- rows deleted
    interval_vacuums        double precision[], -- vacuums, manual and automatic
    observed_s              double precision, -- seconds watched, those included in which nothing was written
    earlier_updated         double precision, -- rows updated before the intervals
    window_xids             double precision, -- transactions of the cluster from the first interval to the last
    statement_command       double precision[], -- statements that write the table, the most rows first: 0 INSERT, 1
        -- UPDATE, 2 DELETE, 3 another
    statement_calls         double precision[], -- calls of each
    statement_rows          double precision[], -- rows of each; of ON CONFLICT DO UPDATE those inserted and those
        -- updated apart
    statement_sets_indexed  double precision[], -- 1: it sets an indexed column, 0: it does not; NULL: unknown
    statement_wal_records   double precision[], -- WAL records; NULL where they are not of the table alone
    statement_wal_bytes     double precision[], -- WAL bytes
    indexed_share           double precision, -- share of the updated rows for which an indexed column was set, see
        -- indexed_share()
    blocks                  double precision, -- size of the main fork at the last sample, pages
    live_rows               double precision, -- live rows in the table
    rows_per_page           double precision, -- live rows on a page that holds any, mean
    rows_per_page_max       double precision, -- the most seen
    updated_pct             double precision, -- live rows updated since insert, percent
    seen_hot                double precision, -- old versions in the pages whose successor is heap-only; only ratios of
        -- the three count
    seen_same_page          double precision, -- the same: in the same page, not heap-only
    seen_moved              double precision, -- the same: in another page
    recent_share            double precision, -- share of the samples with dead versions that some snapshot might still
        -- see
    recent_dead             double precision, -- in these, such versions per live row, mean
    inserted_length         double precision[], -- this to update_age: histograms of page_sample
    updated_length          double precision[], -- see there
    group_old_page          double precision[], -- see there
    group_new_page          double precision[], -- see there
    update_distance         double precision[], -- see there
    update_age              double precision[], -- see there
    fillfactor              double precision, -- effective now, percent
    filled_at               double precision, -- fillfactor before the last change, where the table was not rewritten
        -- since
    updated_since           double precision, -- rows updated since that change
    standing                double precision, -- fillfactor that the last choice was for, of the fit that this begins
        -- with
    followed                double precision, -- 1: the present fillfactor was advised here before it was set
    prior_updated           double precision, -- rows updated that that fit was made of; NULL: there is none
    prior_cost              double precision[], -- its cost at each fillfactor, from 0 on; NULL between its steps
    indexes                 double precision, -- valid indexes
    index_bytes             double precision, -- size of the indexes now
    ram_bytes               double precision, -- memory that may hold table and indexes
    vacuum_scale            double precision, -- its autovacuum scale factor
    vacuum_threshold        double precision, -- its autovacuum threshold, rows
    vacuum_nap_s            double precision, -- least seconds between two autovacuums; -1: there is none
    sessions                double precision, -- sessions of the database at work at a time, mean
    index_scans             double precision, -- index scans begun
    seq_scans               double precision, -- sequential scans begun
    blocks_fetched          double precision, -- heap pages asked for
    checkpoint_s            double precision, -- seconds between two checkpoints
    read_us                 double precision -- microseconds of a random page read; NULL: not measured
);
$$);

CALL ff_internal.define($$
CREATE TYPE ff_internal.step AS (
    -- What one fillfactor would do to a table; between two steps nothing changes.
    fillfactor           integer, -- highest of the step, percent
    rows_per_page        integer, -- rows with which inserts fill a page
    hot_pct              double precision, -- HOT share over a window such as the one observed, percent; NULL without
        -- updates
    hot_pct_low          double precision, -- lower end of its range
    hot_pct_high         double precision, -- upper end of its range
    newpage_pct          double precision, -- share of the updates that go to another page, percent
    settled_hot_pct      double precision, -- HOT share once the table has settled, percent
    size_bytes           bigint, -- main fork at the end of fillfactor_advisor.payback_time
    index_bytes          bigint, -- all indexes, the same
    wal_bytes_per_update double precision, -- WAL of a row updated, with what comes along with it, a rewrite included;
        -- mean over that time; NULL without updates
    us_per_update        double precision, -- microseconds of CPU and waiting for pages, the same
    cost                 double precision, -- time, WAL and size, weighted by the settings, relative to the best step
    needs_rewrite        boolean -- the step costs less where the table is rewritten at once
);
$$);

CALL ff_internal.define($$
CREATE TYPE ff_internal.choice AS (
    -- What the model makes of a table, and which step it would take.
    action           text, -- wait: too little was seen; keep; set: for new pages; rewrite: and rewrite the table
    current_step     integer, -- fillfactor of the step that the table is at, percent
    advised_step     integer, -- of the step advised; the current one where no other saves min_gain
    advised_in_ram   integer, -- of the step that would be advised if everything were in memory
    gain             double precision, -- cost as it is against cost at advised_step; 1: nothing advised
    best_gain        double precision, -- the same of the cheapest step, advised or not
    rewrite_gain     double precision, -- cost as it is against cost once rewritten at the fillfactor it has
    rewrite_hot_pct  double precision, -- HOT share over a window such as the one observed, once rewritten so, percent
    wal_bytes_now    double precision, -- WAL of a row updated as it is, bytes, mean over the time that the choice is
        -- made for
    us_now           double precision, -- microseconds of a row updated as it is, the same
    bound            double precision, -- part of the cost that no fillfactor could save; where that is nearly all,
        -- nothing was replayed
    confidence       double precision, -- how well the model explains what was seen, 0 to 1
    agreement        double precision, -- weight of the explanations by which the change is cheaper, 0 to 1
    settling         double precision, -- weight of those by which the table becomes HOT by itself, 0 to 1
    settle_updates   double precision, -- rows updated until then
    filled_at        integer, -- fillfactor at which its pages were filled, where higher than the table's
    update_call_rows double precision, -- rows updated by one call of a statement
    runs             integer, -- replays it took
    life             jsonb -- the life of the table that explains best what was seen; members as TwinLife has them
        -- (src/model/twin.h)
);
$$);

CALL ff_internal.define($$
CREATE TABLE ff_internal.fit (
    -- What a collection last made of a table's evidence, and what ff_advise() said then.
    rel_id          bigint PRIMARY KEY,
    made_at         timestamptz NOT NULL, -- when the evidence was last judged
    mark            text NOT NULL, -- hash of the evidence and of the settings that it was made of
    shape           text NOT NULL, -- hash of what makes any older fit useless: another file, fillfactor, set of
        -- indexes, server or version of the model
    choice          ff_internal.choice, -- the model's choice; NULL where it was not asked or no row length is known
    steps           ff_internal.step[], -- its curve, from 100 downwards
    action          text NOT NULL CHECK (action IN ('lower', 'raise', 'keep', 'wait')), -- what ff_advise() said then
    from_fillfactor smallint NOT NULL CHECK (from_fillfactor BETWEEN 10 AND 100), -- effective fillfactor then, percent
    to_fillfactor   smallint NOT NULL CHECK (to_fillfactor BETWEEN 10 AND 100), -- advised fillfactor, percent; the same
        -- where no change was advised
    confidence      real NOT NULL CHECK (confidence BETWEEN 0 AND 1), -- confidence of the advice, 0 to 1
    updates_per_s   real, -- rows updated per second over the window; NULL: nothing was written
    updated         bigint, -- rows updated since the last change, of which it was made; NULL: nothing was written
    CHECK ((action IN ('lower', 'raise')) = (from_fillfactor <> to_fillfactor))
) WITH (fillfactor = 50);
$$);

CALL ff_internal.define($$
CREATE TYPE ff_internal.diagnosis AS (
    -- What the evidence shows of a table. Shares are of the recent updates, 0 to 1; see split_updates().
    evidence          ff_internal.table_evidence, -- what it was made of
    cause             text, -- as ff_advise() has it
    wants_model       boolean, -- the model decides
    hot_share         double precision, -- HOT
    newpage_share     double precision, -- went to another page
    blocked_share     double precision, -- not HOT, whatever the room
    recoverable_share double precision, -- not HOT for want of room only
    indexed_share     double precision, -- by statements that set an indexed column; NULL where not asked, or not known
    kept_share        double precision, -- kept from being HOT by an index, whether or not they lacked room as well
    kept_with_room    double precision, -- of these, those that had room
    eligible_known    boolean, -- it is known whether updates change an indexed column
    held_back         text, -- what an old snapshot cost, in words; NULL: none did
    idle              boolean, -- nothing was written to it for a day, or as long as the window, and nothing speaks for
        -- a change
    row_width         double precision -- length of rows as inserted, bytes with header
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
    gain                   double precision, -- cost now against cost at then_step
    confidence             double precision, -- 0 to 1, see decide()
    needed_confidence      double precision, -- confidence that the change would need
    passed_over            boolean, -- the model would have been asked, but was not
    readers_pages          double precision, -- pages that readers fetched while the recent updates were made
    because                text, -- what decided besides the table's own curve: siblings, taken (a change made lately),
        -- short (no full day, as busy as others, was watched), settling (less than a day was watched, and it may become
        -- HOT by itself), idle (nothing is written to it); NULL: nothing
    shards                 text -- of a distributed table: how its shards differ, in words
);
$$);
