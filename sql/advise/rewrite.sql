-- The ways to apply a change to existing pages, and what they cost here.

-- Free bytes of a tablespace's file system (0: this database's default), or of that of the WAL (NULL). Error 42704: no
-- such tablespace.
CREATE FUNCTION ff_internal.free_bytes(tablespace oid) RETURNS bigint
LANGUAGE c VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'ff_free_bytes';

-- The duration of a rewrite in words.
CREATE FUNCTION ff_internal.rewrite_time(seconds float8) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN seconds < 1 THEN 'about a second' ELSE 'about ' || ff_internal.span(seconds) END;

-- Cost of any rewrite to about new_bytes (main fork). seconds include the time to read pages if it was measured.
CREATE FUNCTION ff_internal.rewrite_cost(
    relation oid, new_bytes bigint, OUT disk_bytes bigint, OUT free_bytes bigint, OUT wal_bytes bigint,
    OUT seconds float8, OUT too_big text)
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    -- Bytes per second for copying rows and building indexes, measured on one core with VACUUM FULL (15) of two tables
    -- of 500 MB (rows of 1,000 bytes; of 120, with two indexes). spare: free disk required, as a factor (chosen).
    WITH constant AS (
        SELECT 200e6 AS copied_per_s, 50e6 AS built_per_s, 1.1 AS spare,
               current_setting('block_size')::float8 AS block
    ), size AS (
        SELECT c.reltablespace,
               c.relpersistence <> 'u' AND ff_internal.server_setting('wal_level') <> 'minimal' AS logged,
               z.heap_bytes + coalesce(z.toast_bytes, 0) AS read_bytes,
               -- CONCURRENTLY reads the table twice
               CASE c.relkind WHEN 'i' THEN 2 ELSE 1 END AS times,
               CASE c.relkind WHEN 'i' THEN 0
                    ELSE coalesce(new_bytes, z.heap_bytes) + coalesce(z.toast_bytes, 0) END AS table_bytes,
               CASE c.relkind WHEN 'i' THEN new_bytes ELSE coalesce(z.index_bytes, 0) END AS index_bytes
          FROM pg_class c
          LEFT JOIN pg_index i ON i.indexrelid = c.oid
         CROSS JOIN LATERAL (
               SELECT sum(o.heap_bytes)::bigint, sum(o.index_bytes)::bigint, sum(o.toast_bytes)::bigint
                 FROM (SELECT coalesce(i.indrelid, c.oid)
                       UNION ALL
                       SELECT d.shard FROM ff_internal.shards() d WHERE d.parent = c.oid) t(id)
                CROSS JOIN ff_internal.sizes(t.id) o) z(heap_bytes, index_bytes, toast_bytes)
         WHERE c.oid = relation
    )
    SELECT n.bytes, d.free_bytes, n.wal_bytes,
           z.times * (z.read_bytes / k.copied_per_s + coalesce(z.read_bytes / k.block * t.read_us / 1e6, 0))
               + z.index_bytes / k.built_per_s,
           CASE WHEN n.bytes * k.spare > d.free_bytes
                THEN format('needs %s of disk, and %s are free', pg_size_pretty(n.bytes), pg_size_pretty(d.free_bytes))
           END
      INTO disk_bytes, free_bytes, wal_bytes, seconds, too_big
      FROM size z
     CROSS JOIN constant k
     CROSS JOIN ff_internal.io_speed() t
      -- a mirror has other disks
      LEFT JOIN LATERAL (SELECT ff_internal.free_bytes(z.reltablespace)
                          WHERE NOT EXISTS (SELECT FROM ff_internal.observed)) d(free_bytes) ON true
     CROSS JOIN LATERAL (SELECT z.table_bytes + z.index_bytes,
                                CASE WHEN z.logged THEN z.table_bytes + z.index_bytes ELSE 0 END) n(bytes, wal_bytes);
END
$$;

-- What rewrites need. undecodable: why its changes cannot be decoded from WAL; unrepackable: why pg_repack cannot do
-- it.
CREATE FUNCTION ff_internal.rewrite_conditions(
    relation oid, OUT schema text, OUT name text, OUT cluster_by text, OUT undecodable text, OUT unrepackable text)
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    SELECT n.nspname, c.relname, i.cluster_by,
           coalesce(k.hindrance,
                    CASE WHEN i.identity IS NOT TRUE THEN 'needs a primary key or a replica identity index' END),
           CASE WHEN n.nspname || c.relname ~ ff_internal.unprintable()
                THEN 'its name cannot be written on a command line'
                WHEN (SELECT s.database FROM ff_internal.server s) ~ '[^[:alnum:]_.-]'
                THEN 'it cannot connect to a database of this name'
                WHEN k.hindrance IS NOT NULL THEN k.hindrance
                WHEN i.keyed IS NOT TRUE
                THEN 'needs a primary key or a unique index over columns that are NOT NULL' END
      INTO schema, name, cluster_by, undecodable, unrepackable
      FROM pg_class c
      JOIN pg_namespace n ON n.oid = c.relnamespace
     CROSS JOIN LATERAL (SELECT CASE WHEN c.relkind <> 'r' THEN 'only for tables'
                                     WHEN c.relpersistence = 'u' THEN 'not for unlogged tables'
                                     WHEN c.oid IN (SELECT d.parent FROM ff_internal.shards() d)
                                     THEN 'not for distributed tables' END) k(hindrance)
     CROSS JOIN LATERAL (
           -- in a mirror, what is said of an index; there, only keys are NOT NULL
           SELECT (SELECT r.relname FROM pg_class r WHERE r.oid = max(x.indexrelid) FILTER (
                        WHERE x.indisclustered OR o.said->>'needed' = 'the order of CLUSTER')),
                  bool_or(x.indimmediate AND CASE c.relreplident WHEN 'd' THEN x.indisprimary
                                             ELSE c.relreplident = 'i' AND x.indisreplident END
                          OR o.said->>'needed' = 'replica identity'),
                  bool_or(x.indisunique AND x.indpred IS NULL AND x.indexprs IS NULL
                          AND (o.id IS NOT NULL OR NOT EXISTS (
                              SELECT FROM pg_attribute a
                               WHERE a.attrelid = c.oid AND a.attnum = ANY (x.indkey) AND NOT a.attnotnull)))
             FROM pg_index x
             LEFT JOIN ff_internal.observed o ON o.kind = 'index' AND o.id = x.indexrelid
            WHERE x.indrelid = c.oid AND x.indisvalid) i(cluster_by, identity, keyed)
     WHERE c.oid = relation;
END
$$;

-- The ways to rewrite a table or index to about new_bytes (main fork), least disturbing first; why: or why not.
CREATE FUNCTION ff_internal.rewrites(relation oid, new_bytes bigint)
RETURNS TABLE (method text, possible boolean, why text, statement text, runs_in text, lock text, disk_bytes bigint,
               free_bytes bigint, wal_bytes bigint, seconds float8)
LANGUAGE sql VOLATILE ROWS 4
AS $$
    SELECT w.method, y.hindrance IS NULL, coalesce(y.hindrance, 'possible'), w.statement, w.runs_in, w.lock,
           z.disk_bytes, z.free_bytes, z.wal_bytes, z.seconds * w.times
      FROM pg_class c
     CROSS JOIN ff_internal.rewrite_conditions(c.oid) t
     CROSS JOIN LATERAL (SELECT ff_internal.qualified_name(c.oid), ff_internal.quoted_name(t.cluster_by),
                                ff_internal.server_setting('wal_level'), s.observed FROM ff_internal.server s)
                        o(target, in_order, wal_level, observed)
     -- Copying while others read and write takes longer: 1.2 (measured by test/bench/rewrite: 1.05 to 1.7)
     CROSS JOIN LATERAL (VALUES
           (1, 'REINDEX CONCURRENTLY', c.relkind = 'i', format('REINDEX INDEX CONCURRENTLY %s;', o.target), 'psql', 1,
            (SELECT 'not for the index of an exclusion constraint' FROM pg_index x
               LEFT JOIN ff_internal.observed n ON n.kind = 'index' AND n.id = x.indexrelid
              WHERE x.indexrelid = c.oid AND (x.indisexclusion OR n.said->>'needed' ~ '^exclusion')),
            'readers and writers go on; waits for all transactions that are open when it begins; where it fails, '
            'it leaves an invalid index to be dropped'),
           (2, 'REPACK (CONCURRENTLY)',
            c.relkind <> 'i' AND ff_internal.server_setting('max_repack_replication_slots') IS NOT NULL,
            format('REPACK (CONCURRENTLY) %s%s;', o.target, ' USING INDEX ' || o.in_order), 'psql', 1.2,
            coalesce(t.undecodable, CASE
                WHEN o.wal_level = 'minimal' THEN 'needs wal_level replica or logical'
                WHEN ff_internal.server_setting('max_repack_replication_slots') = '0'
                THEN 'needs max_repack_replication_slots above 0' END),
            'readers and writers go on; ACCESS EXCLUSIVE for a moment at the end'),
           -- by default pg_repack would end the sessions that it waits for
           (3, 'pg_repack', c.relkind <> 'i'
            AND CASE WHEN o.observed IS NULL THEN EXISTS (SELECT FROM pg_extension r WHERE r.extname = 'pg_repack')
                     ELSE o.observed->'extensions' ? 'pg_repack' END,
            CASE WHEN t.schema || t.name !~ ff_internal.unprintable()
                 THEN concat('pg_repack', CASE WHEN o.in_order IS NULL THEN ' --no-order' END,
                             -- services have no superuser
                             CASE WHEN o.observed IS NOT NULL THEN ' --no-superuser-check' END,
                             ' --no-kill-backend --wait-timeout=60 --table=',
                             ff_internal.shell_quoted(format('%I.%I', t.schema, t.name))) END,
            'shell', 1.2, t.unrepackable,
            'as superuser, client and server of one version; readers and writers go on; '
            'ACCESS EXCLUSIVE for moments at the start and the end'),
           (4, 'VACUUM FULL', c.relkind <> 'i', format('VACUUM (FULL, ANALYZE) %s;', o.target), 'psql', 1, NULL,
            'ACCESS EXCLUSIVE all the while: every reader and writer waits, on standbys too'))
           w(place, method, fits, statement, runs_in, times, hindrance, lock)
     CROSS JOIN ff_internal.rewrite_cost(rewrites.relation, new_bytes) z
     CROSS JOIN LATERAL (SELECT coalesce(w.hindrance, z.too_big)) y(hindrance)
     WHERE c.oid = rewrites.relation AND w.fits
     ORDER BY w.place
$$;
