-- What the source of a mirror said.

CALL ff_internal.define($$
CREATE TABLE ff_internal.observed (
    -- Only in a mirror, a database that has the tables of another one, the source, empty: what the source said last.
    kind text NOT NULL CHECK (kind IN ('server', 'table', 'index', 'statements', 'holders')), -- what it is about
    id   oid NOT NULL,               -- OID of the table or index here; 0 for the other kinds
    said jsonb NOT NULL,             -- what was read, see the readers of each kind
    PRIMARY KEY (kind, id)
);
$$);
