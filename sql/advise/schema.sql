-- Stage advise: what the evidence shows, what is advised, and what was predicted.

CALL ff_internal.define($$
CREATE TYPE ff_internal.diagnosis AS (
    -- What the evidence shows about a table. Shares of the recent updates, 0 to 1, see split_updates().
    evidence          ff_internal.table_evidence, -- its input
    cause             text, -- as in ff_advise()
    wants_model       boolean, -- the model decides
    hot_share         float8, -- HOT
    newpage_share     float8, -- went to another page
    blocked_share     float8, -- not HOT, with or without room
    recoverable_share float8, -- not HOT only for lack of room
    indexed_share     float8, -- by statements that set an indexed column; NULL: not evaluated, or unknown
    kept_share        float8, -- kept from being HOT by an index, with or without room
    kept_with_room    float8, -- of these, those with room
    eligible_known    boolean, -- it is known whether updates change an indexed column
    held_back         text, -- what an old snapshot cost, in words; NULL: nothing
    idle              boolean, -- nothing was written for a day, or over the whole window
    row_width         float8 -- length of inserted rows, bytes with header
);
$$);

CALL ff_internal.define($$
CREATE TYPE ff_internal.decision AS (
    -- The advice for a table, before it is put into words.
    diagnosis              ff_internal.diagnosis, -- what the evidence shows
    fit                    ff_internal.fit, -- what the model makes of it; NULL: not asked
    now_step               ff_internal.step, -- the table's present step of the curve
    then_step              ff_internal.step, -- the model's step, even if not advised
    action                 text, -- lower, raise, keep or wait
    cause                  text, -- as in ff_advise()
    recommended_fillfactor integer, -- percent; the present one if nothing is to change
    gain                   float8, -- cost now / cost at then_step
    confidence             float8, -- 0 to 1, see confidence()
    needed_confidence      float8, -- needed for a change
    passed_over            boolean, -- the model should have been asked, but was not
    because                text, -- what decided besides its own curve: siblings; taken: changed recently; short:
        -- watched for less than a day as busy as others; settling: the same, and it may become HOT by itself
    shards                 text -- for a distributed table: how its shards differ, in words
);
$$);

CALL ff_internal.define($$
CREATE TABLE ff_internal.rehearsal (
    -- Results of rehearsals (ff_rehearsal()) that ff_rehearsal_result() stored, the ten newest of each table.
    rel_id             bigint NOT NULL, -- key of the table's history
    measured_at        timestamptz NOT NULL CHECK (isfinite(measured_at)), -- when the scratch server finished it
    from_fillfactor    smallint NOT NULL CHECK (from_fillfactor BETWEEN 10 AND 100),
        -- fillfactor of the table when the document was written, percent
    to_fillfactor      smallint NOT NULL CHECK (to_fillfactor BETWEEN 10 AND 100 AND to_fillfactor <> from_fillfactor),
        -- fillfactor compared with it, percent
    verdict            text NOT NULL CHECK (
        verdict IN ('prediction held', 'did not hold', 'not settled', 'noise too large', 'prediction too wide')),
        -- whether the prediction held
    brings             text NOT NULL CHECK (
        brings IN ('saves WAL', 'writes more WAL', 'saves space', 'no measurable difference', 'cannot be told')),
        -- what the change brings, judged only by what was measured
    hot_pct            double precision NOT NULL CHECK (hot_pct BETWEEN 0 AND 100),
        -- HOT share measured at to_fillfactor, percent
    wal_pct            double precision NOT NULL CHECK (wal_pct > 0 AND wal_pct < 'infinity'),
        -- WAL per update measured at to_fillfactor, percent of that at from_fillfactor
    size_pct           double precision NOT NULL CHECK (size_pct > 0 AND size_pct < 'infinity'),
        -- size of the table measured at to_fillfactor, percent of that at from_fillfactor
    predicted_hot_pct  double precision NOT NULL CHECK (predicted_hot_pct BETWEEN 0 AND 100),
        -- HOT share predicted at to_fillfactor, once settled, percent
    predicted_hot_low  double precision NOT NULL CHECK (predicted_hot_low BETWEEN 0 AND predicted_hot_pct),
        -- lower end of its range, percent
    predicted_hot_high double precision NOT NULL CHECK (predicted_hot_high BETWEEN predicted_hot_pct AND 100),
        -- upper end of its range, percent
    left_out           smallint NOT NULL CHECK (left_out >= 0),
        -- classes of transactions too rare for a lap; the verdict does not cover them
    PRIMARY KEY (rel_id, measured_at)
);
$$);
