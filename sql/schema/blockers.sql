-- Who held back pruning, and for how long.

CREATE TABLE ff_internal.horizon_history (
    kind         text NOT NULL CHECK (kind IN ('transaction', 'idle in transaction', 'prepared transaction', 'replication slot', 'standby feedback')),
    holder       text NOT NULL,
    role_name    name,
    application  text,
    since        timestamptz NOT NULL,
    first_seen_at timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL,
    looks        integer NOT NULL CHECK (looks > 0),
    xids         bigint NOT NULL,
    doing        text,
    PRIMARY KEY (holder, since),
    CHECK (last_seen_at >= first_seen_at)
) WITH (fillfactor = 70);
CREATE INDEX horizon_history_last_seen_at ON ff_internal.horizon_history (last_seen_at);
COMMENT ON TABLE ff_internal.horizon_history IS 'What held back pruning for longer than fillfactor_advisor.snapshot_age, one row for each holder and time; collections see it while it lasts.';
COMMENT ON COLUMN ff_internal.horizon_history.kind IS 'kind of holder, as last seen';
COMMENT ON COLUMN ff_internal.horizon_history.holder IS 'process, prepared transaction or slot';
COMMENT ON COLUMN ff_internal.horizon_history.role_name IS 'its role';
COMMENT ON COLUMN ff_internal.horizon_history.application IS 'application_name, or the slot''s plugin';
COMMENT ON COLUMN ff_internal.horizon_history.since IS 'begin of its transaction; for a slot the look that saw it first';
COMMENT ON COLUMN ff_internal.horizon_history.first_seen_at IS 'first look that saw it';
COMMENT ON COLUMN ff_internal.horizon_history.last_seen_at IS 'last look that saw it';
COMMENT ON COLUMN ff_internal.horizon_history.looks IS 'looks that saw it';
COMMENT ON COLUMN ff_internal.horizon_history.xids IS 'most transactions begun after its snapshot, over these looks';
COMMENT ON COLUMN ff_internal.horizon_history.doing IS 'its statement when last seen, or the slot''s state';
