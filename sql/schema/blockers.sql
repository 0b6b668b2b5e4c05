-- What held back pruning, and for how long.

CALL ff_internal.define($$
CREATE TABLE ff_internal.horizon_history (
    -- What held back pruning for longer than fillfactor_advisor.snapshot_age, one row per holder and start.
    kind          text NOT NULL,     -- kind of holder, as last seen
    holder        text NOT NULL,     -- process, prepared transaction or slot
    role_name     name,              -- its role
    application   text,              -- application_name, or the slot's plugin
    since         timestamptz NOT NULL, -- start of its transaction; for a slot the first collection that saw it
    last_seen_at  timestamptz NOT NULL, -- last collection that saw it
    xids          bigint NOT NULL,   -- most transactions begun after its snapshot
    doing         text,              -- its statement when last seen, or the slot's state
    PRIMARY KEY (holder, since),
    CHECK (kind IN ('transaction', 'idle in transaction', 'prepared transaction', 'replication slot',
                    'standby feedback'))
) WITH (fillfactor = 70);
$$);
CREATE INDEX horizon_history_last_seen_at ON ff_internal.horizon_history (last_seen_at);
