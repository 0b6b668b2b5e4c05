-- Stage rehearsal: results of rehearsals on scratch servers.

CALL ff_internal.define($$
CREATE TABLE ff_internal.rehearsal (
    -- Results of rehearsals (ff_rehearsal()) that ff_rehearsal_result() stored, the ten newest of each table.
    rel_id             bigint NOT NULL, -- key of the table's history
    measured_at        timestamptz NOT NULL CHECK (isfinite(measured_at)), -- when the scratch server finished it
    from_fillfactor    smallint NOT NULL CHECK (from_fillfactor BETWEEN 10 AND 100),
        -- fillfactor of the table when the script was written, percent
    to_fillfactor      smallint NOT NULL CHECK (to_fillfactor BETWEEN 10 AND 100),
        -- fillfactor compared with it, percent
    verdict            text NOT NULL CHECK (
        verdict IN ('prediction held', 'did not hold', 'not settled', 'noise too large')),
        -- whether the prediction held
    brings             text NOT NULL CHECK (
        brings IN ('saves WAL', 'writes more WAL', 'saves space', 'no measurable difference', 'cannot be told')),
        -- what the change brings, judged only by what was measured
    hot_pct            double precision NOT NULL CHECK (hot_pct BETWEEN 0 AND 100),
        -- HOT share measured at to_fillfactor, percent
    wal_pct            double precision NOT NULL CHECK (wal_pct > 0 AND wal_pct < 'infinity'),
        -- WAL per update measured at to_fillfactor, percent of that at from_fillfactor
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
