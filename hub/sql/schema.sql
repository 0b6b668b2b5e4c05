-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION fillfactor_advisor_hub" to load this file. \quit

-- What a hub stores about its sources. Everything received is data: typed, bounded by the checks below, and replaced as
-- a whole by the next answer, so nothing grows and nothing is to be pruned.
--
-- No object of the hub depends on one of the core: bodies that name those are texts. So the core can be upgraded alone,
-- and check_version() then says what to do.

-- Nothing below can be bound to an operator or function of somebody else's.
SET LOCAL search_path TO pg_catalog, pg_temp;

CREATE SCHEMA ff_hub;
COMMENT ON SCHEMA ff_hub IS 'Tables and inner functions of the extension fillfactor_advisor_hub.';

-- Error 55000 unless core and hub have the same version.
CREATE FUNCTION ff_hub.check_version() RETURNS void
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    core CONSTANT text := (SELECT e.extversion FROM pg_extension e WHERE e.extname = 'fillfactor_advisor');
    hub  CONSTANT text := (SELECT e.extversion FROM pg_extension e WHERE e.extname = 'fillfactor_advisor_hub');
BEGIN
    IF core IS DISTINCT FROM hub THEN
        RAISE 'extension fillfactor_advisor has version %, fillfactor_advisor_hub version %', core, hub
            USING ERRCODE = 'object_not_in_prerequisite_state',
                  DETAIL = 'A hub works with the version that it was made with.',
                  HINT = 'Run ALTER EXTENSION fillfactor_advisor UPDATE and ALTER EXTENSION fillfactor_advisor_hub '
                         'UPDATE.';
    END IF;
END
$$;
SELECT ff_hub.check_version();
CALL ff_internal.refuse_strangers('fillfactor_advisor_hub');

-- Public functions and views begin with it. Errors: the versions differ (55000); the caller is no reader or collector,
-- or a collector who may not write the hub's tables (42501).
CREATE FUNCTION ff_hub.check_role(what text) RETURNS void
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    PERFORM ff_hub.check_version();
    PERFORM ff_internal.check_role(what);
    IF what = 'collector' AND NOT (SELECT bool_and(has_table_privilege('ff_hub.source', p))
                                     FROM unnest('{INSERT,UPDATE,DELETE}'::text[]) p) THEN
        PERFORM ff_internal.refuse('42501', format('role %I may not write the tables of the hub', current_user), NULL,
            format('Ask a superuser to run SELECT ff_grant(%L, ''collector'').', current_user));
    END IF;
END
$$;

CALL ff_internal.define($$
CREATE TABLE ff_hub.source (
    -- A database, of any server, that this hub knows, and its last answer about itself.
    source_id         integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- key; never reused
    source            text NOT NULL UNIQUE CHECK (length(source) BETWEEN 1 AND 63), -- name given by the hub's users
    server            name,          -- foreign server used to ask it; NULL: its exports are imported
    tried_at          timestamptz,   -- when it was last asked
    succeeded_at      timestamptz,   -- when its last answer was stored
    failures          integer NOT NULL DEFAULT 0 CHECK (failures >= 0), -- failed attempts since then
    error             text CHECK (length(error) <= 600), -- why the last attempt failed, with SQLSTATE; NULL: it did not
    version           text CHECK (length(version) <= 30), -- version of the extension there
    model_version     integer,       -- version of the model there
    server_version    integer CHECK (server_version BETWEEN 100000 AND 999999), -- server_version_num there
    system_identifier numeric(20, 0) CHECK (system_identifier >= 0), -- shared with standbys and clones
    timeline          bigint CHECK (timeline BETWEEN 1 AND 4294967295), -- WAL timeline, changes with a promotion
    in_recovery       boolean,       -- it was a standby
    started_at        timestamptz,   -- start of the server: tells a server with two names from a clone
    database_oid      bigint CHECK (database_oid BETWEEN 1 AND 4294967295), -- OID of the database
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
    source_id               integer NOT NULL, -- its source
    relid                   bigint NOT NULL CHECK (relid BETWEEN 1 AND 4294967295), -- OID of the table there
    relation                text NOT NULL CHECK (length(relation) <= 2000), -- its schema and name, quoted
    fillfactor              smallint NOT NULL CHECK (fillfactor BETWEEN 10 AND 100), -- effective fillfactor, percent
    advised                 smallint CHECK (advised BETWEEN 10 AND 100), -- advised fillfactor, percent; NULL: no change
    action                  text NOT NULL CHECK (action IN ('lower', 'raise', 'keep', 'wait')), -- as in ff_advise()
    confidence              real CHECK (confidence BETWEEN 0 AND 1), -- 0 to 1
    provisional             boolean, -- less than a day was watched
    why                     text CHECK (length(why) <= 300), -- the cause in a phrase
    gain_pct                real CHECK (gain_pct BETWEEN -1e9 AND 100), -- cost saved by the change, percent
    wal_bytes_per_day_saved bigint,  -- WAL saved by it, bytes a day
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
    source_id  integer NOT NULL,  -- the standby
    relid      bigint NOT NULL CHECK (relid BETWEEN 1 AND 4294967295), -- OID of the table, the same on its primary
    counters   bigint[] NOT NULL CHECK (cardinality(counters) = 3 AND 0 <= ALL (counters)), -- so far
    since      timestamptz,       -- their last reset
    observed_s float8 NOT NULL, -- seconds that the rates cover, at most a day
    per_s      float8[] NOT NULL, -- per second: the mean of that time, beyond a day a running mean
    PRIMARY KEY (source_id, relid)
);
$$);

-- Sources with the same identity (system identifier, database OID) are one database. lead represents it: the primary of
-- the highest timeline, if there is one. role: primary; standby; duplicate (the same server under another name); former
-- primary (another one was promoted or started since its last answer); clone (another server with this identity that
-- also accepts writes); NULL: never answered.
CREATE VIEW ff_hub.member AS
SELECT s.*, l.source AS lead, l.source_id AS lead_id, l.in_recovery AS lead_in_recovery,
       CASE WHEN s.succeeded_at IS NOT NULL -- greatest() would turn NULL into 0
            THEN greatest(now() - CASE WHEN s.server IS NULL THEN s.exported_at ELSE s.succeeded_at END, interval '0')
            END AS age,
       CASE WHEN s.system_identifier IS NULL THEN NULL
            WHEN s.source_id = l.source_id AND NOT s.in_recovery THEN 'primary'
            WHEN s.source_id <> l.source_id AND EXISTS (
                 SELECT FROM ff_hub.source t
                  WHERE (t.system_identifier, t.database_oid, t.started_at)
                        = (s.system_identifier, s.database_oid, s.started_at)
                    AND (t.failures > 0, t.source_id) < (s.failures > 0, s.source_id)) THEN 'duplicate'
            WHEN s.in_recovery THEN 'standby'
            WHEN s.exported_at <= l.started_at OR s.failures > 0 AND s.timeline < l.timeline THEN 'former primary'
            ELSE 'clone' END AS role
  FROM ff_hub.source s
  LEFT JOIN LATERAL (
       SELECT o.* FROM ff_hub.source o
        WHERE (o.system_identifier, o.database_oid) = (s.system_identifier, s.database_oid)
        ORDER BY o.in_recovery, o.timeline DESC, o.failures > 0,
                 -- first those that answered after the last of them started
                 o.exported_at <= max(o.started_at) FILTER (WHERE NOT o.in_recovery) OVER (), o.source_id
        LIMIT 1) l ON true;
COMMENT ON VIEW ff_hub.member IS 'Sources and their roles.';
