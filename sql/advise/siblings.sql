-- Stage shards: Citus distributes a table over shards, tables that only Citus may alter.

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
        RETURN QUERY EXECUTE
            'SELECT p.oid, unnest(coalesce(array_agg(c.oid ORDER BY c.oid) FILTER (WHERE c.oid IS NOT NULL), '
            '                              ARRAY[NULL::oid])) '
            '  FROM pg_catalog.pg_dist_shard s '
            '  JOIN pg_class p ON p.oid = s.logicalrelid AND p.relkind = ''r'' '
            '  LEFT JOIN pg_class c ON c.relkind = ''r'' AND c.relnamespace = p.relnamespace '
            '        AND c.relname ^@ left(p.relname, 30) '
            '        AND right(c.relname, length(s.shardid::text) + 1) = ''_'' || s.shardid '
            ' GROUP BY p.oid';
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
COMMENT ON VIEW ff_internal.sibling IS 'Partitions and shards (leaf), each with its table (parent).';

-- Decision for a distributed table: that of its busiest shard (the first), with the counters and sizes of all. If no
-- shard is on this node, the first is the table itself.
CREATE FUNCTION ff_internal.distributed(parent regclass, shards ff_internal.decision[]) RETURNS ff_internal.decision
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    v    ff_internal.decision := shards[1];
    d    ff_internal.diagnosis := v.diagnosis;
    own  ff_internal.table_evidence := d.evidence;
    w    ff_internal.window_counters := own.counters;
    p    ff_internal.page_sample := own.sample;
    now  ff_internal.step := v.now_step;
    next ff_internal.step := v.then_step;
    skew text;
BEGIN
    IF own.relation = parent THEN
        v.shards := 'It is distributed, and its shards are on other nodes: collect there.';
        RETURN v;
    END IF;
    SELECT sum(e.heap_bytes), sum(e.index_bytes), sum(e.ram_ratio), sum(k.inserted), sum(k.updated), sum(k.hot_updated),
           sum((u.now_step).size_bytes), sum((u.now_step).index_bytes),
           -- a shard without a fit stays as it is
           sum(coalesce(x.size_bytes, e.heap_bytes)), sum(coalesce(x.index_bytes, e.index_bytes)),
           sum((e.sample).blocks),
           ', with ' || ff_internal.percent(100 * min(coalesce(k.updated, 0)) / nullif(sum(k.updated), 0)::float8)
               || ' to ' || ff_internal.percent(100 * max(k.updated) / nullif(sum(k.updated), 0)::float8)
               || ' of the updates each, ' || ff_internal.percent(100 * min(g.hot_share))
               || ' to ' || ff_internal.percent(100 * max(g.hot_share)) || ' of them HOT'
      INTO own.heap_bytes, own.index_bytes, own.ram_ratio, w.inserted, w.updated, w.hot_updated,
           now.size_bytes, now.index_bytes, next.size_bytes, next.index_bytes, p.blocks, skew
      FROM unnest(shards) u
     CROSS JOIN unnest(ARRAY[u.diagnosis]) g
     CROSS JOIN unnest(ARRAY[g.evidence]) e
     CROSS JOIN unnest(ARRAY[e.counters]) k
      LEFT JOIN unnest((u.fit).steps) x ON x.fillfactor = (v.then_step).fillfactor;
    SELECT parent, n.nspname, c.relname, c.reloptions INTO own.relation, own.nspname, own.relname, own.reloptions
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = parent;
    own.counters := w;
    own.sample := p;
    d.evidence := own;
    v.diagnosis := d;
    v.now_step := now;
    v.then_step := next;
    v.shards := format('It is distributed; %s here judged together%s.',
                       ff_internal.counted(cardinality(shards), 'shard'), skew)
        || CASE WHEN v.action IN ('lower', 'raise')
                THEN ' Change it on the coordinator, which passes it on to all shards; lock_timeout does not reach '
                     'them, so the statement may wait there for longer.' ELSE '' END;
    RETURN v;
END
$$;
