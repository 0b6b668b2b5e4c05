-- The ways to apply a change to existing pages, and what they cost here.

-- Free bytes of a tablespace's file system (0: this database's default), or of that of the WAL (NULL). NULL: its folder
-- cannot be examined. Error 42704: no such tablespace.
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
DECLARE
    -- bytes per second, measured on one core with VACUUM FULL (15) of two tables of 500 MB (rows of 1,000 bytes; of
    -- 120, with two indexes)
    copied_per_s CONSTANT float8 := 200e6;
    built_per_s  CONSTANT float8 := 50e6;
    spare        CONSTANT float8 := 1.1;    -- free disk required, as a factor (chosen)
    c    pg_class;
    z    record;
    read float8;
BEGIN
    SELECT * INTO c FROM pg_class o WHERE o.oid = relation;
    SELECT sum(o.heap_bytes)::bigint AS heap, coalesce(sum(o.toast_bytes), 0)::bigint AS toast,
           coalesce(sum(o.index_bytes), 0)::bigint AS indexes INTO z
      FROM (SELECT coalesce((SELECT i.indrelid FROM pg_index i WHERE i.indexrelid = relation), relation)
            UNION ALL SELECT d.shard FROM ff_internal.shards() d WHERE d.parent = relation) t(id)
     CROSS JOIN ff_internal.sizes(t.id) o;
    IF c.relkind = 'i' THEN
        read := 2 * (z.heap + z.toast);    -- CONCURRENTLY reads the table twice
        z.indexes := new_bytes;
        disk_bytes := new_bytes;
    ELSE
        read := z.heap + z.toast;
        disk_bytes := coalesce(new_bytes, z.heap) + z.toast + z.indexes;
    END IF;
    seconds := read / copied_per_s + z.indexes / built_per_s
        + coalesce(read / 8192 * (SELECT t.read_us FROM ff_internal.io_speed() t) / 1e6, 0);
    wal_bytes := CASE WHEN c.relpersistence <> 'u' AND ff_internal.server_setting('wal_level') <> 'minimal'
                      THEN disk_bytes ELSE 0 END;
    -- a mirror has other disks
    IF NOT EXISTS (SELECT FROM ff_internal.observed) THEN
        free_bytes := ff_internal.free_bytes(c.reltablespace);
    END IF;
    IF disk_bytes * spare > free_bytes THEN
        too_big := format('needs %s of disk, and %s are free', pg_size_pretty(disk_bytes), pg_size_pretty(free_bytes));
    END IF;
END
$$;

-- What rewrites need. hindrance: why only VACUUM FULL can do it; identified: its changes can be decoded from WAL;
-- keyed: it has a key that pg_repack can use.
CREATE FUNCTION ff_internal.rewrite_conditions(
    relation oid, OUT hindrance text, OUT identified boolean, OUT keyed boolean)
LANGUAGE sql STABLE
BEGIN ATOMIC
    -- in a mirror, what is said of an index; there, only keys are NOT NULL
    SELECT CASE WHEN c.relkind <> 'r' THEN 'only for tables'
                WHEN c.relpersistence = 'u' THEN 'not for unlogged tables'
                WHEN c.oid IN (SELECT d.parent FROM ff_internal.shards() d) THEN 'not for distributed tables' END,
           bool_or(x.indimmediate AND CASE c.relreplident WHEN 'd' THEN x.indisprimary
                                      ELSE c.relreplident = 'i' AND x.indisreplident END
                   OR o.said->>'needed' = 'replica identity'),
           bool_or(x.indisunique AND x.indpred IS NULL AND x.indexprs IS NULL
                   AND (o.id IS NOT NULL OR NOT EXISTS (
                       SELECT FROM pg_attribute a
                        WHERE a.attrelid = c.oid AND a.attnum = ANY (x.indkey) AND NOT a.attnotnull)))
      FROM pg_class c
      LEFT JOIN pg_index x ON x.indrelid = c.oid AND x.indisvalid
      LEFT JOIN ff_internal.observed o ON o.kind = 'index' AND o.id = x.indexrelid
     WHERE c.oid = relation
     GROUP BY c.oid, c.relkind, c.relpersistence, c.relreplident;
END;

-- The ways to rewrite a table or index to about new_bytes (main fork), least disturbing first; why: or why not.
CREATE FUNCTION ff_internal.rewrites(relation oid, new_bytes bigint)
RETURNS TABLE (method text, possible boolean, why text, statement text, runs_in text, lock text, disk_bytes bigint,
               free_bytes bigint, wal_bytes bigint, seconds float8)
LANGUAGE sql VOLATILE ROWS 4
AS $$
    SELECT w.method, y.hindrance IS NULL, coalesce(y.hindrance, 'possible'), w.statement, w.runs_in, w.lock,
           z.disk_bytes, z.free_bytes, z.wal_bytes, z.seconds * w.times
      FROM pg_class c
     CROSS JOIN ff_internal.server s
     CROSS JOIN ff_internal.rewrite_conditions(c.oid) t
     CROSS JOIN ff_internal.qualified_name(c.oid) target
     CROSS JOIN concat_ws('.', c.relnamespace::regnamespace, quote_ident(c.relname)) name
     -- NULL before 19
     CROSS JOIN ff_internal.server_setting('max_repack_replication_slots') slots
     -- Copying while others read and write takes longer: 1.2 (measured by test/bench/rewrite: 1.05 to 1.7)
     CROSS JOIN LATERAL (VALUES
           (1, 'REINDEX CONCURRENTLY', c.relkind = 'i', format('REINDEX INDEX CONCURRENTLY %s;', target), 'psql', 1,
            (SELECT 'not for the index of an exclusion constraint' FROM pg_index x
               LEFT JOIN ff_internal.observed n ON n.kind = 'index' AND n.id = x.indexrelid
              WHERE x.indexrelid = c.oid AND (x.indisexclusion OR n.said->>'needed' ~ '^exclusion')),
            'readers and writers go on; waits for all transactions that are open when it begins; where it fails, '
            'it leaves an invalid index to be dropped'),
           (2, 'REPACK (CONCURRENTLY)', c.relkind <> 'i' AND slots IS NOT NULL,
            format('REPACK (CONCURRENTLY) %s;', target), 'psql', 1.2,
            CASE WHEN t.hindrance IS NOT NULL THEN t.hindrance
                 WHEN t.identified IS NOT TRUE THEN 'needs a primary key or a replica identity index'
                 WHEN ff_internal.server_setting('wal_level') = 'minimal' THEN 'needs wal_level replica or logical'
                 WHEN slots = '0' THEN 'needs max_repack_replication_slots above 0' END,
            'readers and writers go on; ACCESS EXCLUSIVE for a moment at the end'),
           -- by default pg_repack would end the sessions that it waits for
           (3, 'pg_repack', c.relkind <> 'i'
            AND CASE WHEN s.observed IS NULL THEN EXISTS (SELECT FROM pg_extension r WHERE r.extname = 'pg_repack')
                     ELSE s.observed->'extensions' ? 'pg_repack' END,
            CASE WHEN name !~ ff_internal.unprintable()
                 -- services have no superuser
                 THEN concat('pg_repack --no-order', CASE WHEN s.observed IS NOT NULL THEN ' --no-superuser-check' END,
                             ' --no-kill-backend --wait-timeout=60 --table=', ff_internal.shell_quoted(name)) END,
            'shell', 1.2,
            CASE WHEN name ~ ff_internal.unprintable() THEN 'its name cannot be written on a command line'
                 WHEN s.database ~ '[^[:alnum:]_.-]' THEN 'it cannot connect to a database of this name'
                 WHEN t.hindrance IS NOT NULL THEN t.hindrance
                 WHEN t.keyed IS NOT TRUE
                 THEN 'needs a primary key or a unique index over columns that are NOT NULL' END,
            'as superuser, client and server of one version; readers and writers go on; '
            'ACCESS EXCLUSIVE for moments at the start and the end'),
           (4, 'VACUUM FULL', c.relkind <> 'i', format('VACUUM (FULL, ANALYZE) %s;', target), 'psql', 1, NULL,
            'ACCESS EXCLUSIVE all the while: every reader and writer waits, on standbys too'))
           w(place, method, fits, statement, runs_in, times, hindrance, lock)
     CROSS JOIN ff_internal.rewrite_cost(c.oid, new_bytes) z
     CROSS JOIN LATERAL (SELECT coalesce(w.hindrance, z.too_big)) y(hindrance)
     WHERE c.oid = rewrites.relation AND w.fits
     ORDER BY w.place
$$;
