-- Stage rehearsal: what came of rehearsals on scratch servers.

CALL ff_internal.define($$
CREATE TABLE ff_internal.rehearsal (
    -- Results of rehearsals (ff_rehearsal()) that ff_rehearsal_result() stored, the last ten of a table.
    rel_id             bigint NOT NULL, -- key of the table's history
    measured_at        timestamptz NOT NULL CHECK (isfinite(measured_at)), -- when the scratch server had measured it
    from_fillfactor    smallint NOT NULL CHECK (from_fillfactor BETWEEN 10 AND 100),
        -- of the table when the rehearsal was written, percent
    to_fillfactor      smallint NOT NULL CHECK (to_fillfactor BETWEEN 10 AND 100), -- compared with it, percent
    verdict            text NOT NULL CHECK (
        verdict IN ('prediction held', 'did not hold', 'not settled', 'noise too large')),
        -- whether what was predicted came true
    brings             text NOT NULL CHECK (
        brings IN ('saves WAL', 'writes more WAL', 'saves space', 'no measurable difference', 'cannot be told')),
        -- what the change brings, by what was measured alone
    hot_pct            double precision NOT NULL CHECK (hot_pct BETWEEN 0 AND 100),
        -- HOT share measured at to_fillfactor, percent
    wal_pct            double precision NOT NULL CHECK (wal_pct > 0 AND wal_pct < 'infinity'),
        -- WAL per update measured at to_fillfactor, percent of that at from_fillfactor
    predicted_hot_pct  double precision NOT NULL CHECK (predicted_hot_pct BETWEEN 0 AND 100),
        -- HOT share predicted there, once settled, percent
    predicted_hot_low  double precision NOT NULL CHECK (predicted_hot_low BETWEEN 0 AND predicted_hot_pct),
        -- lower end of its range, percent
    predicted_hot_high double precision NOT NULL CHECK (predicted_hot_high BETWEEN predicted_hot_pct AND 100),
        -- upper end of its range, percent
    left_out           smallint NOT NULL CHECK (left_out >= 0),
        -- kinds of transactions too rare for its laps, which the verdict does not cover
    PRIMARY KEY (rel_id, measured_at)
);
$$);
