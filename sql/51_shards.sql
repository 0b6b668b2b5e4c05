-- Stage shards: the tables of Citus, each distributed over shards, which are tables that only Citus may alter.

-- Has the calling function see the shards of this node, see src/fleet.c.
CREATE FUNCTION ff_internal.show_shards() RETURNS void
LANGUAGE c VOLATILE
AS 'MODULE_PATHNAME', 'ff_show_shards_sql';

-- The distributed tables, each with its shards on this node, or with NULL where there is none. A shard has the name of
-- its table, shortened if need be, with its number.
CREATE FUNCTION ff_internal.shards() RETURNS TABLE (parent oid, shard oid)
LANGUAGE plpgsql STABLE ROWS 1
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM ff_internal.show_shards();
    IF to_regclass('pg_catalog.pg_dist_shard') IS NOT NULL THEN
        RETURN QUERY EXECUTE
            'SELECT d.parent, d.shard '
            '  FROM (SELECT p.oid AS parent, c.oid AS shard, count(c.oid) OVER (PARTITION BY p.oid) AS here, '
            '               row_number() OVER (PARTITION BY p.oid ORDER BY c.oid) AS place '
            '          FROM pg_catalog.pg_dist_shard s '
            '          JOIN pg_class p ON p.oid = s.logicalrelid AND p.relkind = ''r'' '
            '          LEFT JOIN pg_class c ON c.relkind = ''r'' AND c.relnamespace = p.relnamespace '
            '                AND c.relname ^@ left(p.relname, 30) '
            '                AND right(c.relname, length(s.shardid::text) + 1) = ''_'' || s.shardid) d '
            ' WHERE d.place <= greatest(d.here, 1)';
    END IF;
END
$$;

-- Tables that are judged together: the partitions of a table, or its shards.
CREATE VIEW ff_internal.sibling AS
WITH shard AS MATERIALIZED (SELECT s.* FROM ff_internal.shards() s WHERE s.shard IS NOT NULL)
SELECT i.inhparent AS parent, i.inhrelid AS leaf
  FROM pg_inherits i
  JOIN pg_class c ON c.oid = i.inhrelid AND c.relispartition AND c.relkind = 'r'
 WHERE i.inhrelid NOT IN (SELECT shard.shard FROM shard)
UNION ALL
SELECT shard.parent, shard.shard FROM shard;
COMMENT ON VIEW ff_internal.sibling IS 'Partitions and shards (leaf), each with the table that it is of (parent).';

-- What is advised for a distributed table: as for its busiest shard, the first, with the figures of all of them. Where
-- there is no shard on this node, the table itself is the first.
CREATE FUNCTION ff_internal.distributed(parent regclass, shards ff_internal.decision[]) RETURNS ff_internal.decision
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v   ff_internal.decision := shards[1];
    d   ff_internal.diagnosis := v.diagnosis;
    own ff_internal.table_evidence := d.evidence;
    w   ff_internal.window_counters := own.counters;
    p   ff_internal.page_sample := own.sample;
    t   record;
BEGIN
    IF own.relation = parent THEN
        v.shards := 'It is distributed, and its shards are on other nodes: collect there.';
        RETURN v;
    END IF;
    SELECT sum(e.heap_bytes) AS heap, sum(e.index_bytes) AS index, sum(e.ram_ratio) AS ram,
           sum(k.inserted) AS inserted, sum(k.updated) AS updated, nullif(sum(k.updated), 0)::float8 AS some,
           sum(k.hot_updated) AS hot, sum(k.updated * u.confidence) AS confidence,
           sum(k.updated * g.hot_share) AS hot_share, sum(k.updated * g.recoverable_share) AS recoverable_share,
           max(k.updated) AS most, min(coalesce(k.updated, 0)) AS least, min(g.hot_share) AS least_hot,
           max(g.hot_share) AS most_hot, sum((u.now_step).size_bytes) AS now_size,
           sum((u.now_step).index_bytes) AS now_index, sum((e.sample).blocks) AS blocks,
           -- one that the model was not asked of stays as it is
           sum(coalesce(x.size_bytes, e.heap_bytes)) AS then_size,
           sum(coalesce(x.index_bytes, e.index_bytes)) AS then_index
      INTO t
      FROM unnest(shards) u
     CROSS JOIN LATERAL unnest(ARRAY[u.diagnosis]) g
     CROSS JOIN LATERAL unnest(ARRAY[g.evidence]) e
     CROSS JOIN LATERAL unnest(ARRAY[e.counters]) k
      LEFT JOIN LATERAL unnest((u.fit).steps) x ON x.fillfactor = (v.then_step).fillfactor;
    SELECT parent, n.nspname, c.relname, c.reloptions INTO own.relation, own.nspname, own.relname, own.reloptions
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = parent;
    own.heap_bytes := t.heap;
    own.index_bytes := t.index;
    own.ram_ratio := t.ram;
    w.inserted := t.inserted;
    w.updated := t.updated;
    w.hot_updated := t.hot;
    own.counters := w;
    p.blocks := t.blocks;
    own.sample := p;
    d.evidence := own;
    d.hot_share := coalesce(t.hot_share / t.some, d.hot_share);
    d.recoverable_share := coalesce(t.recoverable_share / t.some, d.recoverable_share);
    v.diagnosis := d;
    v.confidence := coalesce(t.confidence / t.some, v.confidence);
    v.now_step.size_bytes := t.now_size;
    v.now_step.index_bytes := t.now_index;
    v.then_step.size_bytes := t.then_size;
    v.then_step.index_bytes := t.then_index;
    v.shards := format('It is distributed; %s here judged together', ff_internal.counted(cardinality(shards), 'shard'))
        || coalesce(format(', with %s to %s of the updates each, %s to %s of them HOT',
                           ff_internal.percent(100 * t.least / t.some), ff_internal.percent(100 * t.most / t.some),
                           ff_internal.percent(100 * t.least_hot), ff_internal.percent(100 * t.most_hot)), '')
        || CASE WHEN v.action IN ('lower', 'raise')
                THEN '. Change it on the coordinator, which passes it on to all shards; lock_timeout does not reach '
                     'them, so the statement may wait there for longer' ELSE '' END || '.';
    RETURN v;
END
$$;
