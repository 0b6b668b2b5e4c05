-- Types of stage advise.

CALL ff_internal.define($$
CREATE TYPE ff_internal.decision AS (
    -- The decision for a table, see src/advise/decision.c. Steps are fillfactors; a gain is cost now / cost at a step.
    cause text,        -- as in ff_advise()
    seen_cause text,   -- what the evidence alone shows; cause may be read_mostly or settling instead
    lacks text,        -- what keeps it from telling a cause or a step: sample, rows, interval, count (of rows), updates
        -- (since it was altered), why_not_hot, width; NULL: nothing
    action text,       -- lower, raise, keep or wait
    because text,      -- why the step is not the model's own (siblings), or a change waits: just_changed, ran_once,
        -- one_burst, watched_too_briefly, less_busy (since a change), may_settle; or is not made: not_worth, more_wal,
        -- toast, less_hot, less_hot_settled (than seen), less_hot_than_kept (once settled), no_hot_gain, any_rewrite
    rewrite text,      -- at the fillfactor it keeps: pays; or possible, refills, awaits_snapshot, if it has more than
        -- twice the pages that its rows need
    recommended_fillfactor integer, -- the present one if nothing is to change
    current_step integer, step integer, gain float8, -- present step (NULL: no model), and one considered
    best_step integer, best_gain float8, -- the step that costs least
    best_refused text, -- why it is not advised: as because, or min_gain, settled (nearly all are HOT), unsure, nearer
        -- (step is, to today's), standing (step was advised before), no_better
    confidence float8, -- 0 to 1: the product of the next eight, which the reason names
    of_updates float8, of_time float8, of_counters float8, of_columns float8, of_rows float8, of_pages float8,
    of_model float8, of_earlier float8, needed_confidence float8, needed_updates float8,
    row_width float8,  -- bytes with header, when inserted
    reserve float8,    -- bytes that the fillfactor of an idle table keeps free, if worth a change
    changes boolean,   -- action is lower or raise
    rewrites boolean,  -- the pages that it has are to be rewritten, with that change or without
    provisional boolean, -- less than a day was watched, and that matters
    wants_model boolean, passed_over boolean, -- the model decides; it should have been asked, but was not
    idle boolean,      -- nothing was written over the whole window, or for a day after an alteration
    at_rest boolean,   -- idle, and there is nothing that it could give back
    lacks_room boolean, -- by seen_cause: page_full, batch_update or row_growth
    columns_known boolean -- it is known whether updates change an indexed column
);
$$);

CALL ff_internal.define($$
CREATE TYPE ff_internal.judged AS (
    -- A table and its decision.
    evidence ff_internal.table_evidence,
    fit      ff_internal.fit,        -- NULL: the model was not asked
    decision ff_internal.decision,
    shards   text                    -- of a distributed table, in words
);
$$);

CALL ff_internal.define($$
CREATE TYPE ff_internal.advice AS (
    -- A row of ff_advise(), whose comment describes the columns.
    relation regclass, fillfactor integer, recommended_fillfactor integer, action text, cause text, confidence real,
    updates_per_s real, hot_pct real, recoverable_pct real, predicted_hot_pct real, rows_per_page integer,
    predicted_rows_per_page integer, size_bytes bigint, predicted_size_bytes bigint, ram_ratio real,
    predicted_wal_pct real, gain_pct real, wal_bytes_per_day_saved bigint, disk_bytes_change bigint,
    cpu_seconds_per_day_saved real, needs_rewrite boolean, rewrite_disk_bytes bigint, rewrite_wal_bytes bigint,
    rewrite_seconds float8, observed interval, provisional boolean, reason text, ddl text
);
$$);

CALL ff_internal.define($$
CREATE TABLE ff_internal.rehearsal (
    -- Results of rehearsals (ff_rehearsal()) that ff_rehearsal_result() stored.
    rel_id             bigint NOT NULL,
    measured_at        timestamptz NOT NULL CHECK (isfinite(measured_at)), -- when the scratch server finished it
    from_fillfactor    smallint NOT NULL CHECK (from_fillfactor BETWEEN 10 AND 100), -- at the time, percent
    to_fillfactor      smallint NOT NULL CHECK (to_fillfactor BETWEEN 10 AND 100 AND to_fillfactor <> from_fillfactor),
        -- compared with it, percent
    verdict            text NOT NULL CHECK (
        verdict IN ('prediction held', 'did not hold', 'not settled', 'noise too large', 'prediction too wide')),
        -- whether the prediction held
    effect             text NOT NULL CHECK (
        effect IN ('saves WAL', 'writes more WAL', 'saves space', 'no measurable difference', 'cannot be told')),
        -- of the change, judged only by what was measured
    hot_pct            double precision NOT NULL CHECK (hot_pct BETWEEN 0 AND 100), -- measured at to_fillfactor
    wal_pct            double precision NOT NULL CHECK (wal_pct > 0 AND wal_pct < 'infinity'),
        -- WAL per update at to_fillfactor, percent of that at from_fillfactor
    size_pct           double precision NOT NULL CHECK (size_pct > 0 AND size_pct < 'infinity'), -- of the size, too
    predicted_hot_pct  double precision NOT NULL CHECK (predicted_hot_pct BETWEEN 0 AND 100),
        -- at to_fillfactor, once settled
    left_out           smallint NOT NULL CHECK (left_out >= 0),
        -- classes of transactions too rare for a lap; the verdict does not cover them
    PRIMARY KEY (rel_id, measured_at)
);
$$);

CALL ff_internal.define($$
CREATE TABLE ff_internal.dismissal (
    -- Advice that somebody declined with ff_dismiss(); one row per table.
    rel_id       bigint PRIMARY KEY,
    dismissed_at timestamptz NOT NULL, -- when
    dismissed_by name NOT NULL,        -- role that called ff_dismiss()
    reason       text NOT NULL,        -- as given
    until        timestamptz NOT NULL, -- when it expires; infinity: never
    wal_bytes    double precision,     -- WAL a day that the advice saved then; NULL: not known yet
    parent       text,                 -- the table whose partitions or shards, those made later too, were declined
    parent_relid oid,                  -- its OID; NULL: it was dropped, or not found by its name after a restore
    epoch_id     integer               -- where parent_relid is valid
);
$$);

CALL ff_internal.define($$
CREATE TABLE ff_internal.advice_event (
    -- What became of the advice for a table, and whether indexes block its updates; see ff_changes().
    rel_id  bigint,
    seen_at timestamptz NOT NULL, -- when
    what    text NOT NULL CHECK (
        what IN ('advised', 'moved', 'withdrawn', 'dismissed', 'taken back', 'verdict', 'blocked', 'unblocked')),
        -- what happened
    details text NOT NULL         -- in words, one line
);
$$);
CREATE INDEX advice_event_seen_at ON ff_internal.advice_event (seen_at);
CREATE INDEX advice_event_rel_id ON ff_internal.advice_event (rel_id, seen_at);
