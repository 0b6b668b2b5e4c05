-- Input and output of the model, and the results that collections store.

CREATE FUNCTION ff_internal.model_fields() RETURNS text LANGUAGE c AS 'MODULE_PATHNAME', 'ff_model_fields';
CALL ff_internal.define(format($$
CREATE TYPE ff_internal.model_input AS (%s);
$$, ff_internal.model_fields()));
DROP FUNCTION ff_internal.model_fields();
COMMENT ON TYPE ff_internal.model_input IS 'Input of the model for a table, see src/model/fields.h. NULL: unknown.';

CREATE TYPE ff_internal.step AS (
    fillfactor integer, rows_per_page integer, hot_pct float8, hot_pct_low float8, hot_pct_high float8,
    newpage_pct float8, settled_hot_pct float8, size_bytes bigint, index_bytes bigint, wal_bytes_per_update float8,
    wal_of_updates float8, us_per_update float8, cost float8, needs_rewrite boolean, rewritten_hot_pct float8,
    rewritten_hot_low float8, rewritten_hot_high float8
);
COMMENT ON TYPE ff_internal.step IS
'What one fillfactor would do to a table; between two steps nothing changes. fillfactor: the highest of the step. '
'rows_per_page: that inserts put on a page. hot_pct, newpage_pct: updates that are HOT, or go to another page, over '
'a window like the observed one, percent; _low, _high: its range. settled_hot_pct: HOT once the table has settled. '
'size_bytes, index_bytes: main fork and indexes after payback_time; of a step above the present one, once rewritten. '
'wal_bytes_per_update: all WAL, of a rewrite, too, mean over that time; wal_of_updates: of it, of UPDATE statements. '
'us_per_update: microseconds of CPU and waiting for pages. cost: relative to the best step. needs_rewrite: cheaper '
'if the table is rewritten at once: all figures assume what is cheaper. rewritten_...: HOT share if it is rewritten, '
'once settled, and a range that covers a window like the observed one, too.';

CREATE TYPE ff_internal.choice AS (
    action text, current_step integer, advised_step integer, gain float8, best_gain float8, rewrite_gain float8,
    rewrite_hot_pct float8, wal_bytes_now float8, us_now float8, confidence float8,
    settling float8, settle_updates float8, filled_at integer, update_call_rows float8, set_apart float8, workload jsonb
);
COMMENT ON TYPE ff_internal.choice IS
'The model''s result for a table. action: wait: too little was seen; keep; set: for new pages; rewrite: set, and '
'rewrite the table. Steps, by their fillfactor: current_step; advised_step, the current one if no other saves '
'min_gain. gain, best_gain, rewrite_gain: cost now / cost at the '
'advised step, at the cheapest one, after a rewrite at the present fillfactor (HOT share then: rewrite_hot_pct). '
'wal_bytes_now, us_now: of an updated row if nothing changes, mean over payback_time. confidence: how well the model '
'explains what was seen, 0 to 1. settling: weight of the explanations in which the table becomes HOT by itself; '
'settle_updates: rows updated until then. filled_at: fillfactor at which its pages were filled, if higher than the '
'table''s. update_call_rows: rows updated per call of a statement. set_apart: rows of an update that happened once '
'and was left out. workload: the explanation closest to the prediction once settled, as TwinWorkload '
'(src/model/twin.h).';

-- The next fit takes its advised step as standing (kept until another one is clearly better) if made_with is the same,
-- the next decision its fillfactors: the same change again needs less confidence. ff_advise() uses it while valid_for
-- fits the table, on one table also made_with and evidence_hash: else it makes a new one, and does not store it.
CALL ff_internal.define($$
CREATE TABLE ff_internal.fit (
    -- The last fit of a table by a collection, and what ff_advise() said then.
    rel_id          bigint PRIMARY KEY,
    made_at         timestamptz NOT NULL, -- when the evidence was last judged
    evidence_hash   text NOT NULL, -- hash of the evidence used
    made_with       text NOT NULL, -- hash of the settings used, the version of the model and the server
    valid_for       text NOT NULL, -- hash of file, fillfactor, indexes, server and version of the model
    choice          ff_internal.choice, -- the model's choice; NULL: not asked, or no row length is known
    steps           ff_internal.step[], -- its curve, from 100 downwards
    action          text NOT NULL CHECK (action IN ('lower', 'raise', 'keep', 'wait')), -- what ff_advise() said then
    from_fillfactor smallint NOT NULL CHECK (from_fillfactor BETWEEN 10 AND 100), -- effective then, percent
    to_fillfactor   smallint NOT NULL CHECK (to_fillfactor BETWEEN 10 AND 100), -- advised, percent
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
    to_fillfactor        smallint NOT NULL CHECK (to_fillfactor BETWEEN 10 AND 100), -- advised, percent
    predicted_hot_pct    float8, -- HOT share, percent; NULL: the model gave none
    predicted_hot_low    float8, -- lower end of its range
    predicted_hot_high   float8, -- upper end
    predicted_wal_pct    float8, -- WAL of a row updated by UPDATE statements, percent of that if nothing changes
    size_bytes           bigint, -- main fork then, bytes
    predicted_size_bytes bigint, -- main fork predicted, bytes
    judged_at            timestamptz, -- when the change was last judged; NULL: not made, or too early
    verdict              text CHECK (verdict IN ('helped', 'no difference', 'hurt')), -- of ff_verify()
    achieved_hot_pct     float8, -- HOT share after the change, percent
    PRIMARY KEY (rel_id, made_at),
    CHECK (from_fillfactor <> to_fillfactor)
);
$$);
