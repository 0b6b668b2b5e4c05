-- Tables that are judged together. Citus distributes a table over shards, tables that only Citus may alter.

-- Lets the calling function see the shards of this node, see src/base/server.c.
CREATE FUNCTION ff_internal.show_shards() RETURNS void
LANGUAGE c VOLATILE
AS 'MODULE_PATHNAME', 'ff_show_shards_sql';

-- Returns the distributed tables, each with its shards on this node, or with NULL. A shard's name is the table's,
-- shortened if necessary, plus its number.
CREATE FUNCTION ff_internal.shards() RETURNS TABLE (parent oid, shard oid)
LANGUAGE plpgsql STABLE ROWS 1
AS $$
BEGIN
    PERFORM ff_internal.show_shards();
    IF to_regclass('pg_catalog.pg_dist_shard') IS NOT NULL THEN
        RETURN QUERY EXECUTE $query$
            SELECT p.oid, unnest(coalesce(array_agg(c.oid ORDER BY c.oid) FILTER (WHERE c.oid > 0), ARRAY[NULL::oid]))
              FROM pg_catalog.pg_dist_shard s
              JOIN pg_class p ON p.oid = s.logicalrelid AND p.relkind = 'r'
              LEFT JOIN pg_class c ON c.relkind = 'r' AND c.relnamespace = p.relnamespace
                    AND c.relname ^@ left(p.relname, 30)
                    AND right(c.relname, length(s.shardid::text) + 1) = '_' || s.shardid
             GROUP BY p.oid $query$;
    END IF;
END
$$;

CREATE VIEW ff_internal.sibling AS
WITH shard AS MATERIALIZED (SELECT s.* FROM ff_internal.shards() s WHERE s.shard IS NOT NULL)
SELECT i.inhparent AS parent, i.inhrelid AS leaf
  FROM pg_inherits i
  JOIN pg_class c ON c.oid = i.inhrelid AND c.relispartition AND c.relkind = 'r'
 WHERE i.inhrelid NOT IN (SELECT shard.shard FROM shard)
UNION ALL
SELECT shard.parent, shard.shard FROM shard;
COMMENT ON VIEW ff_internal.sibling IS 'Partitions and shards (leaf), each with its table (parent).';

-- The curves of the partitions or shards of one parent, as one: the mean ln(cost) of each step, weighted by updates,
-- and the fillfactor advised to most of them. (A pooled sample of their pages would describe no real table.) One row
-- for each leaf with an updated sibling.
CREATE FUNCTION ff_internal.siblings(relation regclass)
RETURNS TABLE (relid oid, fillfactor float8[], log_cost float8[], advised integer)
LANGUAGE sql STABLE ROWS 100
AS $$
    WITH leaf AS MATERIALIZED (
        SELECT i.parent, i.leaf, f.updates_per_s AS weight, f.steps, count(*) OVER (PARTITION BY i.parent) AS leaves,
               CASE WHEN f.to_fillfactor <> f.from_fillfactor THEN f.to_fillfactor END AS advised
          FROM ff_internal.sibling i
          JOIN ff_internal.followed r ON r.relid = i.leaf
          JOIN ff_internal.fit f ON f.rel_id = r.rel_id
         WHERE ($1 IS NULL OR i.parent = (SELECT o.parent FROM ff_internal.sibling o WHERE o.leaf = $1))
           AND (f.choice).current_step IS NOT NULL AND f.updates_per_s > 0
    ), costs AS (
        -- only steps that all leaves have: rows of other lengths have other steps
        SELECT l.parent, s.fillfactor, array_agg(l.leaf) AS leaves, mode() WITHIN GROUP (ORDER BY l.advised) AS advised,
               sum(l.weight * ln(s.cost)) / sum(l.weight) AS log_cost
          FROM leaf l CROSS JOIN unnest(l.steps) s
         GROUP BY l.parent, s.fillfactor, l.leaves
        HAVING count(*) = l.leaves
    ), curve AS MATERIALIZED (
        SELECT c.parent, array_agg(c.fillfactor::float8) AS fillfactor, array_agg(c.log_cost) AS log_cost,
               max(c.advised)::integer AS advised, min(c.leaves) AS leaves
          FROM costs c GROUP BY c.parent
    )
    SELECT i.leaf, c.fillfactor, c.log_cost, c.advised
      FROM curve c
      JOIN ff_internal.sibling i ON i.parent = c.parent AND c.leaves <> ARRAY[i.leaf]
     WHERE $1 IS NULL OR i.leaf = $1
$$;

-- Decision for a distributed table: that of its busiest shard (the first), with the counters and sizes of all. If no
-- shard is on this node, the first is the table itself.
CREATE FUNCTION ff_internal.distributed(parent regclass, shards ff_internal.judged[]) RETURNS ff_internal.judged
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    v ff_internal.judged := shards[1];
    e ff_internal.table_evidence := v.evidence;
    f ff_internal.fit := v.fit;
    k float8;
BEGIN
    IF e.relation = parent THEN
        v.shards := 'It is distributed, and its shards are on other nodes: collect there.';
        RETURN v;
    END IF;
    SELECT sum(o.heap_bytes), sum(o.index_bytes), sum(o.ram_ratio), ff_internal.total(o.counted), sum(o.blocks),
           sum(o.live_rows)
      INTO e.heap_bytes, e.index_bytes, e.ram_ratio, e.counted, e.blocks, e.live_rows
      FROM unnest(shards) u CROSS JOIN LATERAL (SELECT (u.evidence).*) o;
    -- the others change as the busiest one does
    k := e.heap_bytes / nullif((v.evidence).heap_bytes, 0)::float8;
    f.steps := ARRAY(SELECT jsonb_populate_record(s, jsonb_build_object(
                                'size_bytes', (k * s.size_bytes)::bigint, 'index_bytes',
                                (e.index_bytes / nullif((v.evidence).index_bytes, 0)::float8 * s.index_bytes)::bigint))
                       FROM unnest(f.steps) s ORDER BY s.fillfactor DESC);
    SELECT parent, n.nspname, c.relname, c.reloptions INTO e.relation, e.nspname, e.relname, e.reloptions
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = parent;
    v.evidence := e;
    v.fit := f;
    v.shards := format('It is distributed; %s here judged together.%s',
                       ff_internal.counted(cardinality(shards), 'shard'),
                       CASE WHEN (v.decision).changes
                            THEN ' Change it on the coordinator, which passes it on to all shards; lock_timeout does '
                                 'not reach them, so the statement may wait there for longer.' END);
    RETURN v;
END
$$;
