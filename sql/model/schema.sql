-- Input and output of the model, and the results that collections store.

CREATE FUNCTION ff_internal.model_fields() RETURNS text LANGUAGE c AS 'MODULE_PATHNAME', 'ff_model_fields';
CALL ff_internal.define(format($$
CREATE TYPE ff_internal.model_input AS (%s);
$$, ff_internal.model_fields()));
DROP FUNCTION ff_internal.model_fields();
COMMENT ON TYPE ff_internal.model_input IS
'Input of the model for a table, to read a stored one; src/model/fields.h has and describes the fields. NULL: unknown.';

CALL ff_internal.define($$
CREATE TYPE ff_internal.step AS (
    -- What one fillfactor would do to a table; between two steps nothing changes.
    fillfactor           integer, -- highest of the step, percent
    rows_per_page        integer, -- rows that inserts put on a page
    hot_pct              float8, -- HOT share over a window like the observed one, percent
    hot_pct_low          float8, -- lower end of its range
    hot_pct_high         float8, -- upper end
    newpage_pct          float8, -- updates to another page, percent
    settled_hot_pct      float8, -- HOT share once the table has settled, percent
    size_bytes           bigint, -- main fork after fillfactor_advisor.payback_time; of a step above the present one,
        -- once rewritten
    index_bytes          bigint, -- all indexes, likewise
    wal_bytes_per_update float8, -- all WAL, of a rewrite, too; mean over that time
    wal_of_updates       float8, -- of these, of UPDATE statements
    us_per_update        float8, -- microseconds of CPU and waiting for pages, likewise
    cost                 float8, -- time, WAL and size, weighted by the settings, relative to the best step
    needs_rewrite        boolean, -- cheaper if the table is rewritten at once: all figures assume what is cheaper
    rewritten_hot_pct    float8, -- HOT share if it is rewritten, once settled, percent
    rewritten_hot_low    float8, -- lower end of a range that covers that of a window like the observed one, too
    rewritten_hot_high   float8  -- upper end
);
$$);

CALL ff_internal.define($$
CREATE TYPE ff_internal.choice AS (
    -- The model's result for a table, and the step that it would take.
    action           text, -- wait: too little was seen; keep; set: for new pages; rewrite: set, and rewrite the table
    current_step     integer, -- fillfactor of the table's present step, percent
    advised_step     integer, -- fillfactor of the advised step; the current one if no other saves min_gain
    advised_in_ram   integer, -- the same if everything were in memory
    gain             float8, -- cost now / cost at advised_step
    best_gain        float8, -- cost now / cost at the cheapest step, advised or not
    rewrite_gain     float8, -- cost now / cost after a rewrite at the present fillfactor
    rewrite_hot_pct  float8, -- HOT share after that
    wal_bytes_now    float8, -- WAL of an updated row if nothing changes, mean over payback_time
    us_now           float8, -- microseconds, likewise
    confidence       float8, -- how well the model explains what was seen, 0 to 1
    settling         float8, -- weight of the explanations in which the table becomes HOT by itself, 0 to 1
    settle_updates   float8, -- rows updated until then
    filled_at        integer, -- fillfactor at which its pages were filled, if higher than the table's
    update_call_rows float8, -- rows updated per call of a statement
    set_apart        float8, -- rows of an update that happened once and that the model left out; 0: none
    workload             jsonb -- explanation closest to the prediction once settled, as TwinWorkload (src/model/twin.h)
);
$$);

-- A fit is made of the evidence and of what the last fit of the table advised, in three loops:
-- 1. collect_fit() stores it; ff_advise() uses it while valid_for fits the table, on one table also made_with and
--    evidence_hash: else it makes a new one, and does not store it.
-- 2. Only if made_with is the same, the next fit takes its advised step as standing (kept until another one is clearly
--    better).
-- 3. The next decision takes its fillfactors as the advice that stands: the same change again needs less confidence.
CALL ff_internal.define($$
CREATE TABLE ff_internal.fit (
    -- The last fit of a table by a collection, and what ff_advise() said then.
    rel_id          bigint PRIMARY KEY,
    made_at         timestamptz NOT NULL, -- when the evidence was last judged
    evidence_hash   text NOT NULL, -- hash of the evidence used
    made_with       text NOT NULL, -- hash of the settings used and the version of the model
    valid_for       text NOT NULL, -- hash of file, fillfactor, indexes, server and version of the model
    choice          ff_internal.choice, -- the model's choice; NULL: not asked, or no row length is known
    steps           ff_internal.step[], -- its curve, from 100 downwards
    action          text NOT NULL CHECK (action IN ('lower', 'raise', 'keep', 'wait')), -- what ff_advise() said then
    from_fillfactor smallint NOT NULL CHECK (from_fillfactor BETWEEN 10 AND 100), -- effective fillfactor then, percent
    to_fillfactor   smallint NOT NULL CHECK (to_fillfactor BETWEEN 10 AND 100), -- advised fillfactor, percent
    confidence      real NOT NULL CHECK (confidence BETWEEN 0 AND 1), -- of the advice, 0 to 1
    updates_per_s   real, -- rows updated per second over the window
    updated         bigint, -- rows updated since the last change, as used for it
    CHECK ((action IN ('lower', 'raise')) = (from_fillfactor <> to_fillfactor))
) WITH (fillfactor = 50);
$$);

CALL ff_internal.define($$
CREATE TABLE ff_internal.prediction (
    -- What advice to change a fillfactor predicted (renewed if it moved, or daily), and the outcome once followed.
    rel_id               bigint NOT NULL,
    made_at              timestamptz NOT NULL, -- when the model was asked
    from_fillfactor      smallint NOT NULL CHECK (from_fillfactor BETWEEN 10 AND 100), -- effective then, percent
    to_fillfactor        smallint NOT NULL CHECK (to_fillfactor BETWEEN 10 AND 100), -- advised fillfactor, percent
    predicted_hot_pct    float8, -- predicted HOT share, percent; NULL: the model gave none
    predicted_hot_low    float8, -- lower end of its range, percent
    predicted_hot_high   float8, -- upper end of its range, percent
    predicted_wal_pct    float8, -- predicted WAL of an updated row by UPDATE statements, percent of that if nothing
        -- changes
    size_bytes           bigint,     -- size of the main fork then, bytes
    predicted_size_bytes bigint,     -- predicted size of the main fork, bytes
    judged_at            timestamptz, -- when the change was last judged; NULL: not made, or too early
    verdict              text CHECK (verdict IN ('helped', 'no difference', 'hurt')), -- of ff_verify()
    achieved_hot_pct     float8, -- HOT share after the change, percent
    PRIMARY KEY (rel_id, made_at),
    CHECK (from_fillfactor <> to_fillfactor)
);
$$);
