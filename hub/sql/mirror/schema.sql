-- What a mirror knows about its source. A mirror is a database with the tables of a database of another server, empty;
-- its history is of those. What the source said last is in the core's table observed, for the core's readers.

CALL ff_internal.define($$
CREATE TABLE ff_hub.mirror (
    -- The source of this mirror, one row; empty in other databases.
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one), -- key
    server   name,                         -- foreign server used to ask it; NULL: its observations are imported
    made_in  text,                         -- system identifier and OIDs of this database and of the table mirrored
    identity text,                         -- system identifier and OID of the database; NULL: not read yet
    shapes   jsonb NOT NULL DEFAULT '{}',  -- digest of the shapes in each bucket of tables; empty: not all are here
    counters jsonb NOT NULL DEFAULT '{}',  -- digest of the counters in each bucket; empty: of not all
    failed   jsonb NOT NULL DEFAULT '{}',  -- buckets of which something could not be made, each with an empty digest
    unread   jsonb NOT NULL DEFAULT '[]',  -- what and why
    clock    timestamptz,                  -- time of the last observation by the source's clock
    changed_at timestamptz                 -- when the source became another database, or the mirror was restored
);
$$);

CALL ff_internal.define($$
CREATE TABLE ff_hub.mirrored (
    -- The tables and indexes of the source that were made here.
    relid      oid PRIMARY KEY,    -- OID here
    source_oid oid UNIQUE,         -- OID there; NULL: of a former source, and not found in the present one yet
    table_oid  oid,                -- of an index: OID of its table there; NULL: a table
    shape      jsonb NOT NULL      -- what the source said of it, and what it is like here
);
$$);
CREATE INDEX mirrored_table_oid ON ff_hub.mirrored (table_oid);
