-- Stage script, for rewrites: the ways to bring a change to pages that are there
-- already, what each of them needs and how long it takes here.

-- Free and total bytes of the file system that a tablespace is on; 0 is the default tablespace of this database.
-- Error: 42704 no such tablespace.
CREATE FUNCTION ff_internal.disk(tablespace oid, OUT free_bytes bigint, OUT total_bytes bigint)
LANGUAGE c STRICT VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'ff_disk';

-- Free and total bytes of the file system that the WAL is written to.
CREATE FUNCTION ff_internal.disk_wal(OUT free_bytes bigint, OUT total_bytes bigint)
LANGUAGE c STRICT VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'ff_disk_wal';

-- How fast relation files were read and written here, bytes per second, the operating system's cache included. NULL
-- where that was not timed, see io_times().
CREATE FUNCTION ff_internal.io_rate(OUT read_bytes_per_s double precision, OUT write_bytes_per_s double precision)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT b.bytes / t.read_us * 1e6, b.bytes / t.write_us * 1e6
      FROM ff_internal.io_times() t, (SELECT current_setting('block_size')::double precision) b(bytes)
$$;

-- What a rewrite of a table to about new_bytes (its main fork), or of an index, needs in any way: disk and WAL, bytes;
-- how long it takes, seconds, and whether that includes reading and writing (they are left out where their speed is
-- not known); and too_big: why it does not fit the disk, NULL where it does.
CREATE FUNCTION ff_internal.rewrite_cost(
    relation oid, new_bytes bigint,
    OUT disk_bytes bigint, OUT free_bytes bigint, OUT wal_bytes bigint, OUT seconds double precision, OUT io_known boolean,
    OUT too_big text)
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    -- CPU of copying rows, bytes of the table per second, and of building indexes, bytes of these per second: measured
    -- on one core by VACUUM FULL of two tables of 500 MB (rows of 1,000 and of 120 bytes, these with two indexes; 15).
    -- A rewrite should not take the last bytes of a disk: spare (chosen).
    WITH constant AS (
        SELECT 200e6 AS copied_per_s, 50e6 AS built_per_s, 1.1 AS spare
    ), size AS (
        SELECT c.reltablespace, c.relpersistence, c.relkind = 'i' AS is_index, z.heap_bytes + coalesce(z.toast_bytes, 0) AS table_bytes,
               CASE WHEN c.relkind = 'i' THEN new_bytes ELSE coalesce(z.index_bytes, 0) END AS index_bytes,
               CASE WHEN c.relkind = 'i' THEN 0 ELSE coalesce(new_bytes, z.heap_bytes) + coalesce(z.toast_bytes, 0) END AS new_table_bytes
          FROM pg_class c
          LEFT JOIN pg_index i ON i.indexrelid = c.oid
         CROSS JOIN LATERAL ff_internal.sizes(coalesce(i.indrelid, c.oid)) z
         WHERE c.oid = relation
    )
    SELECT n.disk_bytes, d.free_bytes, n.wal_bytes,
           -- CONCURRENTLY reads the table twice
           CASE WHEN z.is_index THEN 2 ELSE 1 END * (z.table_bytes / k.copied_per_s + coalesce(z.table_bytes / r.read_bytes_per_s, 0))
               + z.index_bytes / k.built_per_s + coalesce((n.disk_bytes + n.wal_bytes) / r.write_bytes_per_s, 0),
           r.read_bytes_per_s IS NOT NULL AND r.write_bytes_per_s IS NOT NULL,
           CASE WHEN n.disk_bytes * k.spare > d.free_bytes
                THEN format('needs %s of disk, and %s are free', pg_size_pretty(n.disk_bytes), pg_size_pretty(d.free_bytes)) END
      FROM size z
     CROSS JOIN constant k
     CROSS JOIN ff_internal.io_rate() r
     CROSS JOIN LATERAL ff_internal.disk(z.reltablespace) d
     CROSS JOIN LATERAL (
           SELECT z.new_table_bytes + z.index_bytes,
                  CASE WHEN z.relpersistence = 'u' OR current_setting('wal_level') = 'minimal' THEN 0
                       ELSE z.new_table_bytes + z.index_bytes END) n(disk_bytes, wal_bytes)
$$;

-- A word for a shell's command line.
CREATE FUNCTION ff_internal.shell_quoted(word text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
    SELECT '''' || replace(word, '''', '''\''''') || ''''
$$;

-- What the ways to rewrite a relation ask of it.  keyed: it has a unique index over columns that are never null, as
-- pg_repack asks for; undecodable: why its changes cannot be decoded from WAL while it is copied.
CREATE FUNCTION ff_internal.rewrite_conditions(
    relation oid, OUT keyed boolean, OUT cluster_index name, OUT undecodable text, OUT unrepackable text)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT i.keyed, i.cluster_index,
           CASE WHEN c.relkind <> 'r' THEN 'only for tables'
                WHEN c.relpersistence = 'u' THEN 'not for unlogged tables'
                WHEN NOT i.identity THEN 'needs a primary key or a replica identity index' END,
           CASE WHEN n.nspname || c.relname ~ ff_internal.unprintable() THEN 'its name cannot be written on a command line'
                WHEN current_database() ~ '[^[:alnum:]_.-]' THEN 'it cannot connect to a database of this name'
                WHEN c.relkind <> 'r' THEN 'only for tables'
                WHEN c.relpersistence = 'u' THEN 'not for unlogged tables'
                WHEN NOT i.keyed THEN 'needs a primary key or a unique index over columns that are NOT NULL' END
      FROM pg_class c
      JOIN pg_namespace n ON n.oid = c.relnamespace
     CROSS JOIN LATERAL (
           SELECT coalesce(bool_or(x.indisprimary OR (x.indisunique AND x.indpred IS NULL AND x.indexprs IS NULL AND NOT EXISTS (
                               SELECT FROM pg_attribute a WHERE a.attrelid = x.indrelid AND a.attnum = ANY (x.indkey) AND NOT a.attnotnull))), false),
                  coalesce(bool_or(x.indimmediate AND CASE c.relreplident WHEN 'd' THEN x.indisprimary WHEN 'i' THEN x.indisreplident ELSE false END), false),
                  (SELECT k.relname FROM pg_index o JOIN pg_class k ON k.oid = o.indexrelid WHERE o.indrelid = c.oid AND o.indisclustered AND o.indisvalid)
             FROM pg_index x WHERE x.indrelid = c.oid AND x.indisvalid) i(keyed, identity, cluster_index)
     WHERE c.oid = relation
$$;

-- The ways to rewrite a table or index to about new_bytes (the table alone), the least disturbing first: method,
-- whether it is possible and why (not), statement and where it runs (psql, shell), lock, and what rewrite_cost() says.
CREATE FUNCTION ff_internal.rewrites(relation oid, new_bytes bigint)
RETURNS TABLE (method text, possible boolean, why text, statement text, runs_in text, lock text, disk_bytes bigint,
               free_bytes bigint, wal_bytes bigint, seconds double precision, io_known boolean)
LANGUAGE sql VOLATILE ROWS 4
SET search_path = pg_catalog, pg_temp
AS $$
    -- Copying beside readers and writers takes longer: concurrently (pg_repack against VACUUM FULL of the same table of
    -- 500 MB: 1.3 to 2.3 times)
    WITH t AS (
        SELECT c.relkind, n.nspname::text AS schema, c.relname::text AS name, ff_internal.qualified_name(c.oid) AS target,
               i.indisexclusion, q.*, ff_internal.quoted_name(q.cluster_index::text) AS cluster_by, w.*, 1.5 AS concurrently,
               current_setting('server_version_num')::integer >= 190000 AS has_repack,
               'readers and writers go on; ACCESS EXCLUSIVE for a moment at the end' AS online
          FROM pg_class c
          JOIN pg_namespace n ON n.oid = c.relnamespace
          LEFT JOIN pg_index i ON i.indexrelid = c.oid
         CROSS JOIN LATERAL ff_internal.rewrite_conditions(c.oid) q
         CROSS JOIN LATERAL ff_internal.rewrite_cost(c.oid, new_bytes) w
         WHERE c.oid = relation
    ), extension AS (
        SELECT a.name, e.extversion AS version, ff_internal.quoted_name(coalesce(n.nspname, 'squeeze')::text) AS schema,
               CASE WHEN e.oid IS NULL THEN 'available here, but not created in this database: CREATE EXTENSION ' || a.name END AS missing
          FROM pg_available_extensions a
          LEFT JOIN pg_extension e ON e.extname = a.name
          LEFT JOIN pg_namespace n ON n.oid = e.extnamespace
         WHERE a.name IN ('pg_squeeze', 'pg_repack')
    ), way AS (
        SELECT 1 AS place, 'REINDEX CONCURRENTLY' AS method, format('REINDEX INDEX CONCURRENTLY %s;', t.target) AS statement,
               'psql' AS runs_in, 'readers and writers go on; waits for all transactions that are open when it begins' AS lock,
               CASE WHEN t.indisexclusion THEN 'not for the index of an exclusion constraint' END AS hindrance,
               'built in; where it fails it leaves an invalid index behind, to be dropped' AS praise, t.seconds
          FROM t WHERE t.relkind = 'i'
        UNION ALL
        SELECT 2, 'REPACK (CONCURRENTLY)', format('REPACK (CONCURRENTLY) %s%s;', t.target, ' USING INDEX ' || t.cluster_by), 'psql', t.online,
               coalesce(t.undecodable,
                        CASE WHEN current_setting('wal_level') = 'minimal' THEN 'needs wal_level replica or logical'
                             WHEN current_setting('max_repack_replication_slots', true) = '0' THEN 'needs max_repack_replication_slots above 0' END),
               'built in, and nobody waits', t.seconds * t.concurrently
          FROM t WHERE t.relkind <> 'i' AND t.has_repack
        UNION ALL
        SELECT 3, e.name, format('SELECT %s.squeeze_table(%s, %s, %s::name, NULL::name, NULL::name[][]);', e.schema,
                                 ff_internal.quoted_text(t.schema), ff_internal.quoted_text(t.name), ff_internal.quoted_text(t.cluster_index::text)),
               'psql', t.online,
               coalesce(e.missing, t.undecodable, CASE WHEN current_setting('wal_level') <> 'logical' THEN 'needs wal_level logical' END),
               'created in this database, and nobody waits', t.seconds * t.concurrently
          FROM t JOIN extension e ON e.name = 'pg_squeeze' WHERE t.relkind <> 'i'
        UNION ALL
        -- by default pg_repack would end the sessions that it waits for
        SELECT 4, e.name, CASE WHEN t.schema || t.name !~ ff_internal.unprintable()
                               THEN format('pg_repack%s --no-kill-backend --wait-timeout=60 --table=%s', CASE WHEN t.cluster_index IS NULL THEN ' --no-order' END,
                                           ff_internal.shell_quoted(format('%I.%I', t.schema, t.name))) END,
               'shell', 'readers and writers go on; ACCESS EXCLUSIVE for moments at the start and the end',
               coalesce(e.missing, t.unrepackable),
               format('created in this database (version %s, which the program on the client must match); run as superuser', e.version),
               t.seconds * t.concurrently
          FROM t JOIN extension e ON e.name = 'pg_repack' WHERE t.relkind <> 'i'
        UNION ALL
        SELECT v.place, v.method, v.statement, 'psql', 'ACCESS EXCLUSIVE all the while: every reader and writer waits, on standbys too',
               NULL, 'always there, but in a maintenance window only', t.seconds
          FROM t CROSS JOIN LATERAL (VALUES
               (5, 'CLUSTER', format('CLUSTER %s USING ', t.target) || t.cluster_by || ';'),
               (6, 'VACUUM FULL', format('VACUUM (FULL, ANALYZE) %s;', t.target))) v(place, method, statement)
         WHERE t.relkind <> 'i' AND v.statement IS NOT NULL
    )
    SELECT w.method, w.hindrance IS NULL AND t.too_big IS NULL, coalesce(w.hindrance, t.too_big, w.praise), w.statement, w.runs_in, w.lock,
           t.disk_bytes, t.free_bytes, t.wal_bytes, w.seconds, t.io_known
      FROM way w, t
     ORDER BY w.place
$$;
