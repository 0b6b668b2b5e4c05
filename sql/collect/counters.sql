-- What the server counts for each table, and the baselines. None of the readers waits for a lock.

-- A table's valid indexes, sorted by OID (NULL: none), and its statistics since the last reset; reset_at: -infinity:
-- never, NULL: not known before PostgreSQL 19.
CREATE FUNCTION ff_internal.counters(
    relation oid, OUT index_oids oid[], OUT analyzes bigint, OUT counted ff_internal.counters,
    OUT reset_at timestamptz)
LANGUAGE c STRICT VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'ff_counters';

-- The sums of the counters of rows that have them; NULL if one of the values is.
CREATE FUNCTION ff_internal.counters_plus(total ff_internal.counters, counted record)
RETURNS ff_internal.counters
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'ff_counters_plus';

CREATE AGGREGATE ff_internal.total(record)
(SFUNC = ff_internal.counters_plus, STYPE = ff_internal.counters);

-- Returns the statements that make these indexes; '' for an index that is gone, and for all if the table is locked.
CREATE FUNCTION ff_internal.own_index_definitions(relation oid, indexes oid[]) RETURNS text[]
LANGUAGE c STRICT STABLE PARALLEL RESTRICTED
-- the same text in every session
SET quote_all_identifiers = off
AS 'MODULE_PATHNAME', 'ff_index_definitions';

-- The same; in a mirror those of the source.
CREATE FUNCTION ff_internal.index_definitions(relation oid, indexes oid[]) RETURNS text[]
LANGUAGE sql STABLE
RETURN (SELECT array_agg(CASE WHEN NOT m.mirror THEN d.definition
                              ELSE coalesce(o.said->>'definition', '') END ORDER BY d.place)
          FROM (SELECT EXISTS (SELECT FROM ff_internal.observed s WHERE s.kind = 'server') OFFSET 0) m(mirror),
               unnest(indexes, ff_internal.own_index_definitions(relation, indexes))
               WITH ORDINALITY d(id, definition, place)
          LEFT JOIN ff_internal.observed o ON o.kind = 'index' AND o.id = d.id);

-- Main forks of a table, of all its indexes and of its TOAST table, bytes; NULL: missing file. fault: why one could not
-- be measured.
CREATE FUNCTION ff_internal.own_sizes(
    relation oid, OUT heap_bytes bigint, OUT index_bytes bigint, OUT toast_bytes bigint, OUT fault text)
LANGUAGE c STRICT VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'ff_sizes';

-- The same; in a mirror those of the source.
CREATE FUNCTION ff_internal.sizes(
    relation oid, OUT heap_bytes bigint, OUT index_bytes bigint, OUT toast_bytes bigint, OUT fault text)
RETURNS SETOF record
LANGUAGE sql STABLE ROWS 1
BEGIN ATOMIC
    SELECT CASE WHEN o.said IS NULL THEN z.heap_bytes
                ELSE coalesce(o.said->>'heap_bytes', o.said->>'bytes')::bigint END,
           CASE WHEN o.said IS NULL THEN z.index_bytes ELSE (o.said->>'index_bytes')::bigint END,
           CASE WHEN o.said IS NULL THEN z.toast_bytes ELSE (o.said->>'toast_bytes')::bigint END, z.fault
      FROM ff_internal.own_sizes(relation) z
      LEFT JOIN ff_internal.observed o ON o.kind IN ('table', 'index') AND o.id = relation;
END;

-- When a table was made, by its file; NULL: unknown, or it was rewritten since.
CREATE FUNCTION ff_internal.born_at(relation oid) RETURNS timestamptz
LANGUAGE c STRICT VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'ff_born_at';

CREATE VIEW ff_internal.followed AS
SELECT r.* FROM ff_internal.relation r
  JOIN ff_internal.server s USING (system_identifier, database_oid)
 WHERE r.closed_at IS NULL
   AND (SELECT e.history_oid = e.tableoid FROM ff_internal.epoch e ORDER BY e.epoch_id DESC LIMIT 1);
COMMENT ON VIEW ff_internal.followed IS
'The tables followed in this database; after a restore none until a collection has matched them by name.';

-- That the history waits for a collection to match its tables; NULL: it does not.
CREATE FUNCTION ff_internal.restored() RETURNS text
LANGUAGE sql STABLE
RETURN CASE WHEN NOT EXISTS (SELECT FROM ff_internal.followed)
                 AND EXISTS (SELECT FROM ff_internal.relation r WHERE r.closed_at IS NULL)
            THEN 'the history comes from a dump or another database: run CALL ff_collect() to take it up' END;

-- Since when this server was observed, and no other one in between: what older rows say of settings, disks and holders
-- of snapshots is of another server. held_times() uses them: intervals of counters come from there, too.
-- -infinity: there was no other; infinity: no collection of this one yet.
CREATE FUNCTION ff_internal.observed_since() RETURNS timestamptz
LANGUAGE sql STABLE
RETURN (SELECT CASE WHEN o.epoch_id IS NULL THEN '-infinity'
                    ELSE coalesce((SELECT min(e.began_at) FROM ff_internal.epoch e WHERE e.epoch_id > o.epoch_id),
                                  'infinity') END
          FROM (SELECT max(e.epoch_id) AS epoch_id FROM ff_internal.epoch e, ff_internal.server s
                 WHERE (e.system_identifier, e.database_oid) <> (s.system_identifier, s.database_oid)) o);

-- Why there is no history of a table, or of any (NULL); NULL if there is.
CREATE FUNCTION ff_internal.no_history(relation regclass) RETURNS text
LANGUAGE sql STABLE
AS $$
    SELECT coalesce((SELECT c.not_examined FROM ff_internal.user_table c WHERE c.relid = $1), ff_internal.restored(),
                    CASE WHEN NOT EXISTS (SELECT FROM ff_internal.collection)
                           OR $1 IS NOT NULL AND $1 NOT IN (SELECT r.relid FROM ff_internal.followed r)
                         THEN 'not collected yet: run CALL ff_collect() or ff_schedule()' END)
$$;

-- Fillfactor, percent, that the server reads from a table's stored options, whatever their spelling.
CREATE FUNCTION ff_internal.effective_fillfactor(reloptions text[]) RETURNS integer
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'ff_fillfactor';

-- The server's epoch, a new one if necessary, which begins with the collection at snapshot_at. one_reset: a single
-- table's counters were reset since the last one; true until all tables are read in one transaction (all_tables).
-- previous: the last collection of this epoch.
CREATE FUNCTION ff_internal.current_epoch(
    snapshot_at timestamptz, all_tables boolean, OUT epoch_id integer, OUT one_reset boolean, OUT previous timestamptz)
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    here      ff_internal.epoch;
    last      ff_internal.epoch;
    none_fell boolean;
BEGIN
    SELECT * INTO last FROM ff_internal.epoch e ORDER BY e.epoch_id DESC LIMIT 1;
    SELECT last.epoch_id, s.system_identifier, s.database_oid, s.timeline, s.server_version, s.database_reset,
           s.cluster_reset, last.began_at, 'ff_internal.epoch'::regclass
      INTO here FROM ff_internal.server s;
    epoch_id := last.epoch_id;
    one_reset := last.database_reset IS DISTINCT FROM here.database_reset;
    -- Each collection adds one row to the table collection, so that table's counter falls exactly if all counters were
    -- reset. A count of 1 proves nothing: the first row may have been counted after a reset; a mirror has none.
    SELECT c.own_inserts > 1 AND (k.counted).inserted >= c.own_inserts INTO none_fell
      FROM ff_internal.collection c, ff_internal.counters(c.tableoid) k
     ORDER BY c.collection_id DESC LIMIT 1;
    IF none_fell THEN
        last.database_reset := here.database_reset;
    END IF;
    IF last IS DISTINCT FROM here THEN
        one_reset := false;
        here.began_at := snapshot_at;
        INSERT INTO ff_internal.epoch OVERRIDING USER VALUE SELECT here.* RETURNING epoch.epoch_id INTO epoch_id;
    ELSIF one_reset AND all_tables THEN
        UPDATE ff_internal.epoch e SET database_reset = here.database_reset WHERE e.epoch_id = here.epoch_id;
    END IF;
    SELECT max(c.began_at) INTO previous FROM ff_internal.collection c WHERE c.epoch_id = current_epoch.epoch_id;
END
$$;

-- A table's storage options except fillfactor, sorted; NULL: none.
CREATE FUNCTION ff_internal.other_options(reloptions text[]) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (SELECT array_agg(o.option ORDER BY o.option) FROM unnest(reloptions) o(option)
         WHERE o.option !~* '^fillfactor=');

CREATE VIEW ff_internal.table_state AS
SELECT c.relid, c.created_xid, c.nspname, c.relname, c.relfilenode, c.reloptions,
       ff_internal.effective_fillfactor(c.reloptions)::smallint AS fillfactor, k.index_oids,
       coalesce((c.observed->>'analyzes')::bigint, k.analyzes) AS analyzes,
       CASE WHEN c.observed IS NULL THEN k.reset_at END AS reset_at, n.*
  FROM ff_internal.user_table c CROSS JOIN LATERAL ff_internal.counters(c.relid) k
 CROSS JOIN LATERAL jsonb_populate_record(CASE WHEN c.observed IS NULL THEN k.counted END, c.observed->'counted') n
 WHERE c.not_examined IS NULL;
COMMENT ON VIEW ff_internal.table_state IS 'The tables examined as they are now; columns as in relation.';

-- What was counted since a baseline (NULL: since the table was created). fell: a counter was reset.
CREATE FUNCTION ff_internal.counted_since(
    now ff_internal.table_state, was ff_internal.relation, OUT counted ff_internal.counters, OUT fell boolean)
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'ff_counted_since';
