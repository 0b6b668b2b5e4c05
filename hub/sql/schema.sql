-- What a hub stores about its sources.

CALL ff_internal.define($$
CREATE TABLE ff_hub.source (
    -- A database, of any server, that this hub knows, and its last answer about itself.
    source_id         integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    source            text NOT NULL UNIQUE CHECK (length(source) BETWEEN 1 AND 63), -- its name here
    server            name,          -- foreign server; NULL: its exports are imported
    tried_at          timestamptz,   -- when it was last asked
    succeeded_at      timestamptz,   -- when its last answer was stored
    failures          integer NOT NULL DEFAULT 0 CHECK (failures >= 0), -- failed attempts since then
    error             text CHECK (length(error) <= 600), -- why the last attempt failed; NULL: it did not
    version           text CHECK (length(version) <= 30), -- version of the extension there
    model_version     integer,       -- version of the model there
    server_version    integer CHECK (server_version BETWEEN 100000 AND 999999), -- server_version_num there
    system_identifier numeric(20, 0) CHECK (system_identifier >= 0), -- shared with standbys and clones
    timeline          bigint CHECK (timeline BETWEEN 1 AND 4294967295), -- WAL timeline, changes with a promotion
    in_recovery       boolean,       -- it was a standby
    started_at        timestamptz,   -- tells a server with two names from a clone
    database_oid      bigint CHECK (database_oid BETWEEN 1 AND 4294967295), -- there
    database          text CHECK (length(database) <= 63), -- its name
    exported_at       timestamptz,   -- time of the answer by its own clock
    collected_at      timestamptz,   -- last collection there, by the same clock
    CHECK (isfinite(started_at) AND isfinite(exported_at) AND isfinite(collected_at)),
    CHECK (succeeded_at IS NULL OR (exported_at, started_at, in_recovery, timeline, database_oid, database,
                                    system_identifier, server_version) IS NOT NULL)
) WITH (fillfactor = 50);
$$);
CREATE INDEX source_identity ON ff_hub.source (system_identifier, database_oid);

CALL ff_internal.define($$
CREATE TABLE ff_hub.advice (
    -- What each source last advised, one row per table; columns as in ff_advise().
    source_id               integer NOT NULL,
    relid                   bigint NOT NULL CHECK (relid BETWEEN 1 AND 4294967295), -- OID there
    relation                text NOT NULL CHECK (length(relation) <= 2000), -- its name, quoted
    fillfactor              smallint NOT NULL CHECK (fillfactor BETWEEN 10 AND 100), -- in effect
    advised                 smallint CHECK (advised BETWEEN 10 AND 100), -- NULL: no change
    action                  text NOT NULL CHECK (action IN ('lower', 'raise', 'keep', 'wait')), -- what to do
    confidence              real CHECK (confidence BETWEEN 0 AND 1), -- 0 to 1
    provisional             boolean, -- watched for less than a day
    why                     text CHECK (length(why) <= 300), -- the cause in a phrase
    gain_pct                real CHECK (gain_pct BETWEEN -1e9 AND 100), -- cost saved by the change, percent
    observed_s              float8 CHECK (observed_s BETWEEN 0 AND 1e12), -- seconds watched
    wal_bytes_per_day_saved bigint,  -- WAL saved by it, bytes a day
    cpu_seconds_per_day_saved real CHECK (abs(cpu_seconds_per_day_saved) <= 1e12), -- CPU time saved by it
    disk_bytes_change       bigint,  -- of table and indexes, bytes
    updates_per_s           real CHECK (updates_per_s BETWEEN 0 AND 1e12), -- rows updated per second
    input                   jsonb CHECK (octet_length(input::text) <= 100000), -- the model's input, for a change
    weighed                 smallint CHECK (weighed BETWEEN 10 AND 100),
        -- the model's fillfactor once the reads of standbys are added; NULL: none
    weighed_at              timestamptz, -- when the model was asked for it
    PRIMARY KEY (source_id, relid),
    CHECK ((action IN ('lower', 'raise')) = (advised IS NOT NULL))
);
$$);

CALL ff_internal.define($$
CREATE TABLE ff_hub.reads (
    -- How often each table is read on a standby. The arrays hold sequential scans, index scans, heap pages requested.
    source_id  integer NOT NULL, -- the standby
    relid      bigint NOT NULL CHECK (relid BETWEEN 1 AND 4294967295), -- OID of the table, the same on its primary
    counters   bigint[] NOT NULL CHECK (cardinality(counters) = 3 AND 0 <= ALL (counters)), -- so far
    since      timestamptz,       -- their last reset
    observed_s float8 NOT NULL, -- seconds that the rates cover, at most a day
    per_s      float8[] NOT NULL, -- per second: the mean of that time, beyond a day a running mean
    PRIMARY KEY (source_id, relid)
);
$$);
