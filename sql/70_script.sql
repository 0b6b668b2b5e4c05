-- Stage script: the advice as a psql script that an administrator can read,
-- sign and run, and as JSON for tools.
--
-- Both are made from one plan (plan), so they cannot differ.  Every change
-- carries its own guard: it refuses, with a reason and without harm to the
-- rest, where the database, the relation, its name or its options are not those
-- that the advice was for.  No name reaches the script but quoted, and no
-- control character reaches it at all, so a line is always one line.

-- ---------------------------------------------------------------------------
-- Disk and speed (src/disk.c)
-- ---------------------------------------------------------------------------
-- Free and total bytes of the file system that a tablespace is on; 0 is the default tablespace of this database.
-- Error: 42704 no such tablespace.
CREATE FUNCTION ff_internal.disk(tablespace oid, OUT free_bytes bigint, OUT total_bytes bigint)
LANGUAGE c STRICT VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'ff_disk';

-- Free and total bytes of the file system that the WAL is written to.
CREATE FUNCTION ff_internal.disk_wal(OUT free_bytes bigint, OUT total_bytes bigint)
LANGUAGE c STRICT VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'ff_disk_wal';

-- How fast this server read and wrote relation files so far, bytes per second, from the times that track_io_timing
-- measured (operating system cache included), and where that was found. NULL where it was not measured.
CREATE FUNCTION ff_internal.io_rate(OUT read_bytes_per_s double precision, OUT write_bytes_per_s double precision, OUT source text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- too few pages to speak of a rate
    enough CONSTANT bigint := 1000;
    in_bytes boolean;
    statements record;
BEGIN
    IF to_regclass('pg_catalog.pg_stat_io') IS NOT NULL THEN
        in_bytes := EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass('pg_catalog.pg_stat_io') AND attname = 'read_bytes');
        EXECUTE format('SELECT sum(%s) FILTER (WHERE read_time > 0) / nullif(sum(read_time), 0) * 1000, '
                       '       sum(%s) FILTER (WHERE write_time > 0) / nullif(sum(write_time), 0) * 1000 '
                       '  FROM pg_stat_io WHERE object = ''relation''',
                       CASE WHEN in_bytes THEN 'read_bytes' ELSE 'reads * op_bytes' END,
                       CASE WHEN in_bytes THEN 'write_bytes' ELSE 'writes * op_bytes' END)
           INTO read_bytes_per_s, write_bytes_per_s;
        source := 'pg_stat_io';
    ELSE
        SELECT CASE WHEN d.blks_read >= enough THEN d.blks_read * current_setting('block_size')::bigint / nullif(d.blk_read_time, 0) * 1000 END
          INTO read_bytes_per_s
          FROM pg_stat_database d WHERE d.datname = current_database();
        source := 'pg_stat_database';
        SELECT format('%I.%I', n.nspname, c.relname) AS name INTO statements
          FROM pg_extension e
          JOIN pg_depend d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.deptype = 'e' AND d.classid = 'pg_class'::regclass
          JOIN pg_class c ON c.oid = d.objid AND c.relname = 'pg_stat_statements'
          JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE e.extname = 'pg_stat_statements' AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT');
        IF FOUND THEN
            EXECUTE format('SELECT CASE WHEN sum(shared_blks_written) >= $1 THEN sum(shared_blks_written) * $2 / nullif(sum(blk_write_time), 0) * 1000 END FROM %s WHERE blk_write_time > 0', statements.name)
               INTO write_bytes_per_s USING enough, current_setting('block_size')::bigint;
            source := 'pg_stat_database and pg_stat_statements';
        END IF;
    END IF;
    IF read_bytes_per_s IS NULL OR write_bytes_per_s IS NULL THEN
        source := NULL;
    END IF;
EXCEPTION WHEN object_not_in_prerequisite_state THEN
    -- pg_stat_statements was created, but is not preloaded
    read_bytes_per_s := NULL;
    write_bytes_per_s := NULL;
    source := NULL;
END
$$;

-- ---------------------------------------------------------------------------
-- Rewrites: the ways to bring a change to old pages
-- ---------------------------------------------------------------------------
-- The ways to rewrite a table or index to about this many bytes (the table alone), the least disturbing first: method,
-- whether it is possible and why (not), statement and where it runs (psql, shell), lock, disk needed and free in its
-- tablespace (bytes), WAL written (bytes), duration (seconds, from io_rate(); NULL unknown).
CREATE FUNCTION ff_internal.rewrites(relation oid, new_bytes bigint)
RETURNS TABLE (method text, possible boolean, why text, statement text, runs_in text, lock text, disk_bytes bigint, free_bytes bigint, wal_bytes bigint, seconds double precision)
LANGUAGE plpgsql VOLATILE ROWS 4
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    t       record;
    size    record;
    rate    record;
    server  CONSTANT integer := current_setting('server_version_num')::integer;
    -- a rewrite should not take the last bytes of a disk
    spare   CONSTANT double precision := 1.1;
    keyed   boolean;
    identity boolean;
    too_big text;
    wal     bigint;
    duration double precision;
    extension record;
    cluster_name text;
    cluster_index text;
BEGIN
    SELECT c.oid, c.relkind, c.relpersistence, c.relreplident, n.nspname, c.relname, c.reltoastrelid,
           ff_internal.quoted_name(n.nspname::text) || '.' || ff_internal.quoted_name(c.relname::text) AS name,
           c.reltablespace, n.nspname || c.relname ~ ff_internal.unprintable() AS unprintable
      INTO t
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = relation;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF t.relkind = 'i' THEN
        SELECT d.free_bytes INTO free_bytes FROM ff_internal.disk(t.reltablespace) d;
        SELECT * INTO rate FROM ff_internal.io_rate();
        method := 'REINDEX CONCURRENTLY';
        statement := format('REINDEX INDEX CONCURRENTLY %s;', t.name);
        runs_in := 'psql';
        lock := 'readers and writers go on; waits for all transactions that are open when it begins';
        disk_bytes := new_bytes;
        wal_bytes := CASE WHEN t.relpersistence = 'u' OR current_setting('wal_level') = 'minimal' THEN 0 ELSE new_bytes END;
        -- it reads the table twice, and writes the index once
        seconds := (SELECT 2 * z.heap_bytes FROM pg_index i CROSS JOIN LATERAL ff_internal.sizes(i.indrelid) z WHERE i.indexrelid = relation) / rate.read_bytes_per_s
                   + new_bytes / rate.write_bytes_per_s;
        why := CASE WHEN (SELECT i.indisexclusion FROM pg_index i WHERE i.indexrelid = relation) THEN 'not for the index of an exclusion constraint'
                    WHEN new_bytes * spare > free_bytes THEN format('needs %s of disk, and %s are free', pg_size_pretty(new_bytes), pg_size_pretty(free_bytes)) END;
        possible := why IS NULL;
        why := coalesce(why, 'built in; where it fails it leaves an invalid index behind, to be dropped');
        RETURN NEXT;
        RETURN;
    END IF;
    SELECT coalesce(z.heap_bytes, 0) AS heap, coalesce(z.index_bytes, 0) AS indexes, coalesce(z.toast_bytes, 0) AS toast INTO size
      FROM ff_internal.sizes(relation) z;
    SELECT * INTO rate FROM ff_internal.io_rate();
    SELECT d.free_bytes INTO free_bytes FROM ff_internal.disk(t.reltablespace) d;

    disk_bytes := coalesce(new_bytes, size.heap) + size.indexes + size.toast;
    wal := CASE WHEN t.relpersistence = 'u' OR current_setting('wal_level') = 'minimal' THEN 0 ELSE disk_bytes END;
    duration := (size.heap + size.toast) / rate.read_bytes_per_s + disk_bytes / rate.write_bytes_per_s;
    IF disk_bytes * spare > free_bytes THEN
        too_big := format('needs %s of disk, and %s are free', pg_size_pretty(disk_bytes), pg_size_pretty(free_bytes));
    END IF;

    -- a primary key, or a unique index over columns that are never null
    SELECT coalesce(bool_or(i.indisprimary OR (i.indisunique AND i.indpred IS NULL AND i.indexprs IS NULL
                                               AND NOT EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey) AND NOT a.attnotnull))), false),
           coalesce(bool_or(i.indimmediate AND CASE t.relreplident WHEN 'd' THEN i.indisprimary WHEN 'i' THEN i.indisreplident ELSE false END), false)
      INTO keyed, identity
      FROM pg_index i WHERE i.indrelid = relation AND i.indisvalid;

    -- a table that was clustered is to keep its order
    SELECT k.relname, ff_internal.quoted_name(k.relname::text) INTO cluster_name, cluster_index
      FROM pg_index i JOIN pg_class k ON k.oid = i.indexrelid WHERE i.indrelid = relation AND i.indisclustered AND i.indisvalid;

    wal_bytes := wal;
    seconds := duration;

    -- the server's own way, from 19 on
    IF server >= 190000 THEN
        method := 'REPACK (CONCURRENTLY)';
        statement := format('REPACK (CONCURRENTLY) %s%s;', t.name, ' USING INDEX ' || cluster_index);
        runs_in := 'psql';
        lock := 'readers and writers go on; ACCESS EXCLUSIVE for a moment at the end';
        why := CASE WHEN t.relkind <> 'r' THEN 'only for tables'
                    WHEN t.relpersistence = 'u' THEN 'not for unlogged tables'
                    WHEN NOT identity THEN 'needs a primary key or a replica identity index'
                    WHEN current_setting('wal_level') = 'minimal' THEN 'needs wal_level replica or logical'
                    WHEN current_setting('max_repack_replication_slots', true) = '0' THEN 'needs max_repack_replication_slots above 0'
                    ELSE too_big END;
        possible := why IS NULL;
        why := coalesce(why, 'built in, and nobody waits');
        RETURN NEXT;
    END IF;

    -- pg_squeeze
    SELECT e.oid, n.nspname INTO extension FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pg_squeeze';
    IF FOUND OR EXISTS (SELECT 1 FROM pg_available_extensions a WHERE a.name = 'pg_squeeze') THEN
        method := 'pg_squeeze';
        statement := format('SELECT %s.squeeze_table(%s, %s, %s::name, NULL::name, NULL::name[][]);', ff_internal.quoted_name(coalesce(extension.nspname, 'squeeze')::text),
                            ff_internal.quoted_text(t.nspname::text), ff_internal.quoted_text(t.relname::text), ff_internal.quoted_text(cluster_name));
        runs_in := 'psql';
        lock := 'readers and writers go on; ACCESS EXCLUSIVE for a moment at the end';
        why := CASE WHEN extension.oid IS NULL THEN 'available here, but not created in this database: see its documentation'
                    WHEN t.relkind <> 'r' THEN 'only for tables'
                    WHEN t.relpersistence = 'u' THEN 'not for unlogged tables'
                    WHEN NOT identity THEN 'needs a primary key or a replica identity index'
                    WHEN current_setting('wal_level') <> 'logical' THEN 'needs wal_level logical'
                    ELSE too_big END;
        possible := why IS NULL;
        why := coalesce(why, 'created in this database, and nobody waits');
        RETURN NEXT;
    END IF;

    -- pg_repack
    SELECT e.oid, e.extversion INTO extension FROM pg_extension e WHERE e.extname = 'pg_repack';
    IF FOUND OR EXISTS (SELECT 1 FROM pg_available_extensions a WHERE a.name = 'pg_repack') THEN
        method := 'pg_repack';
        -- by default it would end the sessions that it waits for
        statement := format('pg_repack%s --no-kill-backend --wait-timeout=60 --table=%s', CASE WHEN cluster_index IS NULL THEN ' --no-order' ELSE '' END,
                            '''' || replace(quote_ident(t.nspname) || '.' || quote_ident(t.relname), '''', '''\''''') || '''');
        runs_in := 'shell';
        lock := 'readers and writers go on; ACCESS EXCLUSIVE for moments at the start and the end';
        why := CASE WHEN t.unprintable THEN 'its name cannot be written on a command line'
                    WHEN current_database() ~ '[^[:alnum:]_.-]' THEN 'it cannot connect to a database of this name'
                    WHEN extension.oid IS NULL THEN 'available here, but not created in this database: CREATE EXTENSION pg_repack'
                    WHEN t.relkind <> 'r' THEN 'only for tables'
                    WHEN t.relpersistence = 'u' THEN 'not for unlogged tables'
                    WHEN NOT keyed THEN 'needs a primary key or a unique index over columns that are NOT NULL'
                    ELSE too_big END;
        possible := why IS NULL;
        IF t.unprintable THEN
            statement := NULL;
        END IF;
        why := coalesce(why, format('created in this database (version %s, which the program on the client must match); run as superuser', extension.extversion));
        RETURN NEXT;
    END IF;

    runs_in := 'psql';
    lock := 'ACCESS EXCLUSIVE all the while: every reader and writer waits, on standbys too';
    why := too_big;
    possible := why IS NULL;
    why := coalesce(why, 'always there, but in a maintenance window only');
    IF cluster_index IS NOT NULL THEN
        method := 'CLUSTER';
        statement := format('CLUSTER %s USING %s;', t.name, cluster_index);
        RETURN NEXT;
    END IF;
    method := 'VACUUM FULL';
    statement := format('VACUUM (FULL, ANALYZE) %s;', t.name);
    RETURN NEXT;
END
$$;

-- ---------------------------------------------------------------------------
-- Guards
-- ---------------------------------------------------------------------------
-- The FROM clause of a guard, for one change of a plan.
CREATE FUNCTION ff_internal.guard_from(c jsonb) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    -- REINDEX CONCURRENTLY gives an index another OID: it is known by its table and name
    SELECT format('pg_control_system() s LEFT JOIN pg_class c ON c.oid = %s LEFT JOIN pg_namespace n ON n.oid = c.relnamespace',
                  CASE WHEN c->>'table_oid' IS NULL THEN c->>'oid'
                       ELSE format('(SELECT i.indexrelid FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid WHERE i.indrelid = %s AND i.indkey::text = %s AND x.relname = %s)',
                                   c->>'table_oid', ff_internal.quoted_text(c->>'indkey'), ff_internal.quoted_text(c->>'name')) END)
$$;

-- One ALTER of a plan within its guard, a DO statement: refuses with a WARNING where the relation is not as it was
-- before (stored options as text), reports with a NOTICE where it is already as it is after.
CREATE FUNCTION ff_internal.guarded(c jsonb, statement text, before text, after text, already text, tries integer) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $guarded$
    SELECT ff_internal.do_block(format($body$DECLARE
    verdict text;
    tries   integer := 0;
BEGIN
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true), pg_catalog.set_config('lock_timeout', '2s', true);
    LOOP
        tries := tries + 1;
        -- is it still what the advice was for?
        SELECT CASE WHEN current_database() <> %1$s OR s.system_identifier <> %2$s THEN 'refused: made for another database or server'
                    WHEN c.oid IS NULL THEN 'refused: it is gone'
                    WHEN n.nspname <> %3$s OR c.relname <> %4$s THEN 'refused: it has another name now'
                    WHEN c.reloptions IS NOT DISTINCT FROM %5$s::text[] THEN 'unchanged: %6$s'
                    WHEN c.reloptions IS DISTINCT FROM %7$s::text[] THEN 'refused: its options were changed since the advice'
               END
          INTO verdict
          FROM %8$s;
        EXIT WHEN verdict IS NOT NULL;
        BEGIN
            %9$s
            -- nothing came in between before the lock was held
            IF NOT EXISTS (SELECT 1 FROM %8$s WHERE n.nspname = %3$s AND c.relname = %4$s AND c.reloptions IS NOT DISTINCT FROM %5$s::text[]) THEN
                RAISE 'its name or options changed meanwhile' USING ERRCODE = 'object_not_in_prerequisite_state';
            END IF;
            verdict := %12$s;
        EXCEPTION
            WHEN lock_not_available THEN
                verdict := CASE WHEN tries >= %10$s THEN 'refused: locked by other sessions, run this again later' END;
            WHEN OTHERS THEN
                verdict := format('refused: %%s (SQLSTATE %%s)', regexp_replace(SQLERRM, '[[:cntrl:]]', '?', 'g'), SQLSTATE);
        END;
        EXIT WHEN verdict IS NOT NULL;
        PERFORM pg_sleep(1);
    END LOOP;
    PERFORM set_config(v.name, (coalesce(nullif(current_setting(v.name, true), ''), '0')::integer + 1)::text, false)
       FROM (SELECT 'ff_script.' || split_part(verdict, ':', 1) AS name) v;
    IF verdict LIKE 'refused:%%' THEN
        RAISE WARNING '%%: %%', %11$s, verdict;
    ELSE
        RAISE NOTICE '%%: %%', %11$s, verdict;
    END IF;
END$body$,
        ff_internal.quoted_text(current_database()::text), (SELECT s.system_identifier FROM ff_internal.server() s),
        ff_internal.quoted_text(c->>'schema'), ff_internal.quoted_text(c->>'name'),
        ff_internal.quoted_text(after), already, ff_internal.quoted_text(before),
        ff_internal.guard_from(c), statement, tries, ff_internal.quoted_text(c->>'relation'),
        ff_internal.quoted_text('done: ' || substr(statement, strpos(statement, c->>'relation') + length(c->>'relation') + 1))))
$guarded$;

-- One rewrite of a plan within its guard, lines for psql: only where the advised options are in force and the file is
-- still the one of the advice.
CREATE FUNCTION ff_internal.rewrite_lines(c jsonb, after text, method text, statement text, runs_in text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH guard AS (
        SELECT format('CASE WHEN current_database() <> %s OR s.system_identifier <> %s THEN ''refused: made for another database or server'' '
                      'WHEN c.oid IS NULL THEN ''refused: it is gone'' '
                      'WHEN n.nspname <> %s OR c.relname <> %s THEN ''refused: it has another name now'' '
                      'WHEN c.reloptions IS DISTINCT FROM %s::text[] THEN ''refused: its options are not those advised'' '
                      'WHEN c.relfilenode <> %s THEN ''unchanged: rewritten already'' END',
                      ff_internal.quoted_text(current_database()::text), (SELECT s.system_identifier FROM ff_internal.server() s),
                      ff_internal.quoted_text(c->>'schema'), ff_internal.quoted_text(c->>'name'), ff_internal.quoted_text(after), c->>'relfilenode') AS verdict,
               ff_internal.guard_from(c) AS source
    )
    SELECT concat_ws(E'\n',
        format('SELECT v IS NULL AS ff_go, set_config(''ff_script.verdict'', coalesce(v, ''''), false) AS verdict FROM (SELECT %s AS v FROM %s) g \gset', g.verdict, g.source),
        '\if :ff_go',
        '\set ON_ERROR_STOP off',
        CASE runs_in WHEN 'shell' THEN E'\\setenv PGHOST :HOST\n\\setenv PGPORT :PORT\n\\setenv PGUSER :USER\n\\setenv PGDATABASE :DBNAME\n\\! ' ELSE '' END || statement || CASE runs_in WHEN 'shell' THEN ' </dev/null' ELSE '' END,
        -- a statement that failed in an open transaction must not be the last word
        '\set ON_ERROR_STOP on',
        '\endif',
        ff_internal.do_block(format($body$DECLARE
    verdict text := nullif(current_setting('ff_script.verdict'), '');
BEGIN
    IF verdict IS NULL THEN
        SELECT CASE WHEN c.relfilenode <> %1$s THEN 'done: %2$s' ELSE 'refused: %2$s did not rewrite it, see the messages above' END
          INTO verdict
          FROM %3$s;
    END IF;
    PERFORM set_config(v.name, (coalesce(nullif(current_setting(v.name, true), ''), '0')::integer + 1)::text, false)
       FROM (SELECT 'ff_script.' || split_part(verdict, ':', 1) AS name) v;
    IF verdict LIKE 'refused:%%' THEN
        RAISE WARNING '%%: %%', %4$s, verdict;
    ELSE
        RAISE NOTICE '%%: %%', %4$s, verdict;
    END IF;
END$body$, c->>'relfilenode', method, g.source, ff_internal.quoted_text(c->>'relation'))))
      FROM guard g
$$;

-- ---------------------------------------------------------------------------
-- Surroundings
-- ---------------------------------------------------------------------------
-- What else a rewrite that writes this much WAL (bytes) would touch: slots, standbys, subscribers, the WAL's disk; a
-- sentence each.
CREATE FUNCTION ff_internal.cautions(wal_bytes bigint) RETURNS SETOF text
LANGUAGE plpgsql VOLATILE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    r record;
    recovering CONSTANT boolean := pg_is_in_recovery();
    wal_now CONSTANT pg_lsn := CASE WHEN recovering THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END;
BEGIN
    IF recovering THEN
        RETURN NEXT 'this server is a standby: run the script on its primary';
    END IF;
    FOR r IN SELECT s.slot_name, s.slot_type, s.active, s.wal_status, s.safe_wal_size, wal_now - s.restart_lsn AS held FROM pg_replication_slots s ORDER BY s.slot_name LOOP
        RETURN NEXT format('replication slot %s (%s, %s) holds back %s of WAL, status %s%s', quote_ident(r.slot_name), r.slot_type,
                           CASE WHEN r.active THEN 'active' ELSE 'not active' END, coalesce(pg_size_pretty(r.held), 'none'), coalesce(r.wal_status, 'unknown'),
                           CASE WHEN r.safe_wal_size < wal_bytes THEN format(': it is lost once %s more are written, and all rewrites together write about %s', pg_size_pretty(r.safe_wal_size), pg_size_pretty(wal_bytes))
                                ELSE ': what a rewrite writes is kept until it has been read' END);
    END LOOP;
    FOR r IN SELECT a.application_name, a.state, a.sync_state, wal_now - a.replay_lsn AS behind FROM pg_stat_replication a ORDER BY a.application_name LIMIT 20 LOOP
        RETURN NEXT format('standby or subscriber %s (%s, %s) is %s behind: a rewrite sends it as much as it writes, and VACUUM FULL locks the table there too',
                           quote_ident(r.application_name), coalesce(r.state, 'unknown'), coalesce(r.sync_state, 'unknown'), coalesce(pg_size_pretty(r.behind), 'an unknown amount'));
    END LOOP;
    IF EXISTS (SELECT 1 FROM pg_publication) THEN
        RETURN NEXT 'storage options are not replicated logically: subscribers keep their own fillfactor';
    END IF;
    SELECT d.free_bytes INTO r FROM ff_internal.disk_wal() d;
    IF wal_bytes > r.free_bytes / 2 THEN
        RETURN NEXT format('all rewrites together write about %s of WAL, and %s are free where the WAL is', pg_size_pretty(wal_bytes), pg_size_pretty(r.free_bytes));
    END IF;
END
$$;

-- The table whose options pg_partman gives to new partitions of a partitioned table; NULL where it is not managed, or
-- not visible to this role.
CREATE FUNCTION ff_internal.partman_template(parent oid) RETURNS oid
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    config  text;
    found_oid oid;
BEGIN
    -- only a table that belongs to the extension pg_partman is believed
    SELECT format('%I.%I', n.nspname, c.relname) INTO config
      FROM pg_extension e
      JOIN pg_depend d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.deptype = 'e' AND d.classid = 'pg_class'::regclass
      JOIN pg_class c ON c.oid = d.objid AND c.relname = 'part_config' AND c.relkind = 'r'
      JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE e.extname = 'pg_partman' AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT');
    IF config IS NOT NULL THEN
        EXECUTE format('SELECT t.oid FROM %s p, pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace, pg_class t JOIN pg_namespace tn ON tn.oid = t.relnamespace '
                       ' WHERE c.oid = $1 AND p.parent_table = n.nspname || ''.'' || c.relname AND p.template_table = tn.nspname || ''.'' || t.relname AND t.relkind = ''r''', config)
           INTO found_oid USING parent;
    END IF;
    RETURN found_oid;
END
$$;

-- ---------------------------------------------------------------------------
-- The plan
-- ---------------------------------------------------------------------------
-- One change of a plan: statement, guard, undo and ways to rewrite; NULL where the relation is gone. fillfactor NULL:
-- options stay, only the rewrite.
CREATE FUNCTION ff_internal.plan_change(target oid, fillfactor integer, facts jsonb, new_bytes bigint, wants_rewrite boolean, rewrite_reason text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    tries   CONSTANT integer := 5;
    c       record;
    change  jsonb;
    after   text[];
    ways    jsonb;
    chosen  jsonb;
BEGIN
    SELECT k.oid, k.relkind, k.relfilenode, k.reloptions, n.nspname, k.relname, r.rolname AS owner, i.indrelid, i.indkey::text AS indkey,
           ff_internal.quoted_name(n.nspname::text) || '.' || ff_internal.quoted_name(k.relname::text) AS name
      INTO c
      FROM pg_class k
      JOIN pg_namespace n ON n.oid = k.relnamespace
      JOIN pg_roles r ON r.oid = k.relowner
      LEFT JOIN pg_index i ON i.indexrelid = k.oid
     WHERE k.oid = target;
    IF NOT FOUND THEN
        -- dropped since it was advised
        RETURN NULL;
    END IF;
    after := CASE WHEN fillfactor IS NULL THEN c.reloptions ELSE ff_internal.options_after(c.reloptions, ARRAY['fillfactor=' || fillfactor]) END;

    change := facts || jsonb_build_object(
        'kind', CASE c.relkind WHEN 'i' THEN 'index' WHEN 'm' THEN 'materialized view' ELSE 'table' END,
        'relation', c.name, 'schema', c.nspname, 'name', c.relname, 'oid', c.oid::text, 'table_oid', c.indrelid::text, 'indkey', c.indkey,
        'relfilenode', c.relfilenode::text, 'owner', c.owner, 'recommended_fillfactor', coalesce(fillfactor, (facts->>'fillfactor')::integer),
        'options_before', to_jsonb(c.reloptions), 'options_after', to_jsonb(after),
        'statement', ff_internal.alter_options(target, ARRAY['fillfactor=' || fillfactor]),
        'undo', ff_internal.restore_options(target, c.reloptions, after),
        'lock', 'SHARE UPDATE EXCLUSIVE for a moment: readers and writers go on');
    IF fillfactor IS NULL THEN
        -- its rebuild is all there is to it, and nothing takes that back
        change := change || '{"statement": null, "undo": null, "guarded_statement": null, "guarded_undo": null, "lock": null}';
    ELSE
        change := change || jsonb_build_object(
            'guarded_statement', ff_internal.guarded(change, change->>'statement', c.reloptions::text, after::text, 'already applied', tries),
            'guarded_undo', ff_internal.guarded(change, change->>'undo', after::text, c.reloptions::text, 'already as it was', tries));
    END IF;

    SELECT coalesce(jsonb_agg(to_jsonb(w)), '[]') INTO ways FROM ff_internal.rewrites(target, new_bytes) w;
    SELECT jsonb_agg(w.way || jsonb_build_object('psql', ff_internal.rewrite_lines(change, after::text, w.way->>'method', w.way->>'statement', w.way->>'runs_in')) ORDER BY w.place),
           (jsonb_agg(w.way->'method' ORDER BY w.place) FILTER (WHERE (w.way->>'possible')::boolean))->0
      INTO ways, chosen
      FROM jsonb_array_elements(ways) WITH ORDINALITY AS w(way, place);
    RETURN change || jsonb_build_object('rewrite', jsonb_build_object(
        'wanted', wants_rewrite, 'reason', rewrite_reason,
        'method', CASE WHEN wants_rewrite THEN chosen END, 'methods', coalesce(ways, '[]')));
END
$$;

-- All that ff_script() and ff_script_json() say: where and from what, changes in their order (small to large, tables
-- before indexes) with guard, undo, effect and ways to rewrite, templates for new partitions, cautions.
CREATE FUNCTION ff_internal.plan(target regclass) RETURNS jsonb
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    kind      CONSTANT "char" := (SELECT c.relkind FROM pg_class c WHERE c.oid = target);
    -- what a raise must save of a table, to be worth a rewrite
    worth     CONSTANT double precision := 0.1;
    a         record;
    p         record;
    changes   jsonb[] := '{}';
    counts    jsonb := '{}';
    index_counts jsonb := '{}';
    templates jsonb[] := '{}';
    wants     boolean;
    why       text;
    template  oid;
    wal       bigint;
BEGIN
    IF target IS NOT NULL AND kind IS DISTINCT FROM 'i' THEN
        PERFORM ff_internal.checked_table(target);
    END IF;

    FOR a IN
        SELECT v.*, (SELECT i.inhparent FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid AND c.relispartition WHERE i.inhrelid = v.relation) AS parent
          FROM (SELECT NULL::regclass AS t WHERE target IS NULL
                UNION ALL SELECT t.relid FROM pg_partition_tree(target) t WHERE kind = 'p' AND t.isleaf
                UNION ALL SELECT target WHERE kind NOT IN ('p', 'i')) x
         CROSS JOIN LATERAL @extschema@.ff_advise(x.t) v
         ORDER BY v.size_bytes NULLS FIRST, v.relation
    LOOP
        counts := jsonb_set(counts, ARRAY[a.action], to_jsonb(coalesce((counts->>a.action)::integer, 0) + 1));
        CONTINUE WHEN a.action NOT IN ('lower', 'raise');

        IF a.action = 'raise' THEN
            wants := a.predicted_size_bytes < a.size_bytes * (1 - worth);
            why := CASE WHEN wants THEN format('gives back %s at once; without it, new rows fill up the old pages by and by', pg_size_pretty(a.size_bytes - a.predicted_size_bytes))
                        ELSE 'not worth it: it would give back next to nothing' END;
        ELSE
            SELECT coalesce(c.needs_rewrite, true) INTO wants
              FROM ff_internal.evidence(a.relation) e CROSS JOIN LATERAL ff_internal.choice(e) c;
            why := CASE WHEN wants THEN 'updates fall on old pages, which keep their density until they are rewritten'
                        ELSE 'nothing to do: updates fall on new pages, and those are filled as advised from now on' END;
        END IF;
        changes := changes || ff_internal.plan_change(a.relation::oid, a.recommended_fillfactor,
            jsonb_build_object('action', a.action, 'cause', a.cause, 'confidence', round(a.confidence::numeric, 2), 'fillfactor', a.fillfactor, 'reason', a.reason,
                               'parent', a.parent::oid::text, 'updates_per_s', round(a.updates_per_s::numeric, 2),
                               'effect', jsonb_build_object('hot_pct', round(a.hot_pct::numeric, 1), 'predicted_hot_pct', round(a.predicted_hot_pct::numeric, 1),
                                                            'rows_per_page', a.rows_per_page, 'predicted_rows_per_page', a.predicted_rows_per_page,
                                                            'size_bytes', a.size_bytes, 'predicted_size_bytes', a.predicted_size_bytes,
                                                            'predicted_wal_pct', round(a.predicted_wal_pct::numeric))),
            a.predicted_size_bytes, wants, why);
    END LOOP;

    changes := array_remove(changes, NULL);

    -- new partitions: as the busiest one of those changed
    FOR p IN
        SELECT DISTINCT ON (c->>'parent') (c->>'parent')::oid AS parent, (c->>'recommended_fillfactor')::integer AS fillfactor, c->>'relation' AS leaf,
               count(*) OVER (PARTITION BY c->>'parent') AS changed,
               (SELECT count(*) FROM pg_inherits i WHERE i.inhparent = (c->>'parent')::oid) AS partitions,
               (SELECT ff_internal.quoted_name(n.nspname::text) || '.' || ff_internal.quoted_name(k.relname::text)
                  FROM pg_class k JOIN pg_namespace n ON n.oid = k.relnamespace WHERE k.oid = (c->>'parent')::oid) AS name
          FROM unnest(changes) c
         WHERE c->>'parent' IS NOT NULL
         ORDER BY c->>'parent', (c->>'updates_per_s')::double precision DESC NULLS LAST
    LOOP
        template := ff_internal.partman_template(p.parent);
        templates := templates || jsonb_build_object('parent', p.name, 'parent_oid', p.parent::text, 'fillfactor', p.fillfactor, 'as', p.leaf, 'changed', p.changed, 'partitions', p.partitions,
            'managed_by', CASE WHEN template IS NOT NULL THEN 'pg_partman' END,
            'statement', format('CREATE TABLE ... PARTITION OF %s ... WITH (fillfactor = %s);', p.name, p.fillfactor));
        CONTINUE WHEN kind IS DISTINCT FROM 'p' AND target IS NOT NULL;
        -- those made ahead, still empty
        FOR a IN
            SELECT c.oid, ff_internal.effective_fillfactor(c.reloptions) AS fillfactor
              FROM pg_inherits i
              JOIN ff_internal.candidate k ON k.relid = i.inhrelid AND k.not_examined IS NULL
              JOIN pg_class c ON c.oid = i.inhrelid
             CROSS JOIN LATERAL ff_internal.sizes(c.oid) z
             WHERE i.inhparent = p.parent AND z.heap_bytes = 0 AND ff_internal.effective_fillfactor(c.reloptions) <> p.fillfactor
               AND NOT EXISTS (SELECT 1 FROM pg_partitioned_table d WHERE d.partrelid = p.parent AND d.partdefid = c.oid)
             ORDER BY k.nspname, k.relname
        LOOP
            changes := changes || ff_internal.plan_change(a.oid, p.fillfactor,
                jsonb_build_object('action', 'template', 'cause', 'template', 'fillfactor', a.fillfactor,
                                   'reason', format('an empty partition of %s, made ahead: it is to be filled as %s is advised to be', p.name, p.leaf)),
                0::bigint, false, 'it holds no rows');
        END LOOP;
        IF template IS NOT NULL AND (SELECT ff_internal.effective_fillfactor(c.reloptions) FROM pg_class c WHERE c.oid = template) <> p.fillfactor THEN
            changes := changes || ff_internal.plan_change(template, p.fillfactor,
                jsonb_build_object('action', 'template', 'cause', 'template', 'fillfactor', (SELECT ff_internal.effective_fillfactor(c.reloptions) FROM pg_class c WHERE c.oid = template),
                                   'reason', format('pg_partman gives the options of this table to new partitions of %s, which are advised as %s is', p.name, p.leaf)),
                0::bigint, false, 'it holds no rows');
        END IF;
    END LOOP;

    -- indexes, by what their pages show now
    FOR a IN SELECT i.* FROM @extschema@.ff_advise_indexes(target) i ORDER BY i.size_bytes NULLS FIRST LOOP
        index_counts := jsonb_set(index_counts, ARRAY[a.action], to_jsonb(coalesce((index_counts->>a.action)::integer, 0) + 1));
        CONTINUE WHEN a.action NOT IN ('lower', 'raise', 'rebuild');
        -- ascending keys fill new pages anyway
        wants := a.action = 'rebuild' OR a.cause = 'never_written';
        changes := changes || ff_internal.plan_change(a.index::oid, CASE WHEN a.action <> 'rebuild' THEN a.recommended_fillfactor END,
            jsonb_build_object('action', a.action, 'cause', a.cause, 'fillfactor', a.fillfactor, 'reason', a.reason,
                               'effect', jsonb_build_object('leaf_density', round(a.leaf_density::numeric, 1), 'size_bytes', a.size_bytes, 'predicted_size_bytes', a.predicted_size_bytes)),
            a.predicted_size_bytes, wants,
            CASE WHEN a.action = 'rebuild' THEN a.reason WHEN wants THEN 'only a rebuild packs it' ELSE 'nothing to do: new keys go to new pages, which are filled as advised from now on' END);
    END LOOP;

    changes := array_remove(changes, NULL);
    SELECT coalesce(sum((m->>'wal_bytes')::bigint), 0) INTO wal
      FROM unnest(changes) c CROSS JOIN LATERAL jsonb_array_elements(c->'rewrite'->'methods') m
     WHERE m->'method' = c->'rewrite'->'method';

    RETURN (
        SELECT jsonb_build_object(
            'format', 1,
            'generator', 'fillfactor_advisor ' || (SELECT e.extversion FROM pg_extension e WHERE e.extname = 'fillfactor_advisor'),
            'database', current_database(), 'system_identifier', (SELECT s.system_identifier::text FROM ff_internal.server() s),
            'server', concat_ws(', ', nullif(current_setting('cluster_name'), ''), 'port ' || current_setting('port')),
            'server_version', current_setting('server_version'), 'client_encoding', pg_client_encoding(),
            'generated_at', to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"'), 'generated_by', current_user,
            'collected', (SELECT jsonb_build_object('collections', count(*),
                                                    'from', to_char(min(o.began_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"'),
                                                    'to', to_char(max(o.began_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"'))
                            FROM ff_internal.collection o WHERE o.began_at > now() - make_interval(secs => ff_internal.setting('lookback')::integer)),
            'asked_for', CASE WHEN target IS NULL THEN 'all tables' ELSE (SELECT ff_internal.quoted_name(n.nspname::text) || '.' || ff_internal.quoted_name(c.relname::text)
                                                                            FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = target) END,
            'examined', counts, 'indexes_examined', index_counts,
            'run_as', (SELECT coalesce(jsonb_agg(DISTINCT c->'owner'), '[]') FROM unnest(changes) c),
            'wal_bytes', wal, 'io_rate', (SELECT to_jsonb(i) FROM ff_internal.io_rate() i),
            'cautions', (SELECT coalesce(jsonb_agg(w), '[]') FROM ff_internal.cautions(wal) w),
            'changes', (SELECT coalesce(jsonb_agg(c ORDER BY c->>'kind' = 'index', (c->'effect'->>'size_bytes')::bigint NULLS FIRST, c->>'relation'), '[]') FROM unnest(changes) c),
            'templates', to_jsonb(templates)));
END
$$;

CREATE FUNCTION @extschema@.ff_script_json(relation regclass DEFAULT NULL, rewrite boolean DEFAULT false) RETURNS jsonb
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT ff_internal.plan(relation) || jsonb_build_object('rewrites_live', coalesce(rewrite, false))
$$;
COMMENT ON FUNCTION @extschema@.ff_script_json(regclass, boolean) IS
'What ff_script() says, for tools. changes: in the order in which to run them, each with statement and undo as they are, guarded_statement and guarded_undo (DO statements that refuse with a warning where the relation is no longer what the advice was for; all four null for an index that is only to be rebuilt, action rebuild), options_before and options_after exactly as stored, effect (bytes, percent), rewrite (wanted, reason, method chosen, methods with disk, WAL and time). templates: for new partitions. cautions: sentences. rewrites_live repeats the argument. Errors as of ff_script().';

-- The expected effect of one change of a plan, in words; parts that are not known are left out.
CREATE FUNCTION ff_internal.script_effect(c jsonb) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT concat_ws('; ',
        'rows a page ' || (e->>'rows_per_page') || ' -> ' || (e->>'predicted_rows_per_page'),
        'HOT ' || (e->>'hot_pct') || ' % -> ' || (e->>'predicted_hot_pct') || ' %',
        'WAL per update ' || (e->>'predicted_wal_pct') || ' % of today''s',
        'size ' || pg_size_pretty((e->>'size_bytes')::bigint) || ' -> ' || pg_size_pretty((e->>'predicted_size_bytes')::bigint) || ' once all pages are filled so')
      FROM (SELECT c->'effect') AS x(e)
$$;

CREATE FUNCTION @extschema@.ff_script(relation regclass DEFAULT NULL, rewrite boolean DEFAULT false) RETURNS SETOF text
LANGUAGE plpgsql VOLATILE ROWS 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    plan    CONSTANT jsonb := @extschema@.ff_script_json(relation, rewrite);
    -- those that set options; the others are rebuilds alone
    total   CONSTANT integer := (SELECT count(*) FROM jsonb_array_elements(plan->'changes') w WHERE w->>'statement' IS NOT NULL);
    -- every session that runs a part begins and ends so
    opening CONSTANT text[] := ARRAY[
        '\set ON_ERROR_STOP on',
        '\set AUTOCOMMIT on',
        '\set QUIET on',
        format('\encoding %s', plan->>'client_encoding'),
        'SET search_path = pg_catalog, pg_temp;',
        'SET client_min_messages = notice;',
        'SET statement_timeout = 0;',
        'SET lock_timeout = ''2s'';',
        'SET ff_script.done = 0;',
        'SET ff_script.unchanged = 0;',
        'SET ff_script.refused = 0;'];
    closing CONSTANT text[] := string_to_array(ff_internal.do_block($body$BEGIN
    RAISE NOTICE '% done, % unchanged, % refused', current_setting('ff_script.done'), current_setting('ff_script.unchanged'), current_setting('ff_script.refused');
    IF current_setting('ff_script.refused') <> '0' THEN
        RAISE EXCEPTION '% refused, for the reasons in the warnings above', current_setting('ff_script.refused')
            USING HINT = 'The others are in force. What was locked can be run again; for the rest, generate the script anew.';
    END IF;
END$body$), E'\n') || ARRAY[
        'RESET lock_timeout;', 'RESET statement_timeout;', 'RESET client_min_messages;', 'RESET search_path;'];
    c       jsonb;
    m       jsonb;
    t       text;
    n       integer := 0;
    prefix  text;
    -- what has an equals sign, or looks like an address, psql takes for a connection string
    file    CONSTANT text := (SELECT format('psql -X -d %s', '''' || replace(CASE WHEN d.name ~ '=|^postgres(ql)?://' THEN 'dbname=''' || regexp_replace(d.name, '([''\\])', '\\\1', 'g') || '''' ELSE d.name END, '''', '''\''''') || '''')
                                FROM (SELECT ff_internal.plain(current_database()::text)) d(name));
BEGIN
    RETURN NEXT '-- ' || (plan->>'generator') || ': script of changes for ' || ff_internal.plain(plan->>'asked_for') || ', to be read before it is run';
    RETURN NEXT '-- database:  ' || ff_internal.plain(plan->>'database') || ' of cluster ' || (plan->>'system_identifier') || ' (' || ff_internal.plain(plan->>'server') || '), PostgreSQL ' || ff_internal.plain(plan->>'server_version');
    RETURN NEXT '-- generated: ' || (plan->>'generated_at') || ' by ' || ff_internal.plain(plan->>'generated_by');
    RETURN NEXT '-- collected: ' || coalesce((plan->'collected'->>'from') || ' to ' || (plan->'collected'->>'to') || ', ' || (plan->'collected'->>'collections') || ' collections', 'nothing yet');
    RETURN NEXT '-- examined:  ' || coalesce((SELECT string_agg(e.value || ' ' || e.key, ', ' ORDER BY e.key) FROM jsonb_each_text(plan->'examined') e), 'no table')
                || coalesce('; indexes: ' || (SELECT string_agg(e.value || ' ' || e.key, ', ' ORDER BY e.key) FROM jsonb_each_text(plan->'indexes_examined') e), '');
    IF jsonb_array_length(plan->'changes') = 0 THEN
        RETURN NEXT '-- Nothing is to be changed. ff_advise() and ff_advise_indexes() give the reason for each table and index.';
        RETURN;
    END IF;
    RETURN NEXT '-- run as:    a superuser, or a member of the owners: ' || (SELECT string_agg(ff_internal.plain(o), ', ') FROM jsonb_array_elements_text(plan->'run_as') o);
    RETURN NEXT '-- how:       ' || file || ' -f FILE, not with --single-transaction';
    RETURN NEXT '-- Each change refuses with a warning where something is no longer as it was when this was generated, and the';
    RETURN NEXT '-- rest goes on; psql then ends with an error. Run again, it changes nothing that is in force already.';
    FOR t IN SELECT jsonb_array_elements_text(plan->'cautions') LOOP
        RETURN NEXT '-- caution:   ' || ff_internal.plain(t);
    END LOOP;
    RETURN NEXT '';
    RETURN QUERY SELECT unnest(opening);

    IF total = 0 THEN
        RETURN NEXT '';
        RETURN NEXT '-- No option is to be changed, only rebuilt what the rewrites below name.';
    END IF;
    FOR c IN SELECT w FROM jsonb_array_elements(plan->'changes') w WHERE w->>'statement' IS NOT NULL LOOP
        n := n + 1;
        RETURN NEXT '';
        RETURN NEXT format('-- %s of %s: %s, fillfactor %s -> %s (%s%s)', n, total, c->>'relation', c->>'fillfactor', c->>'recommended_fillfactor', c->>'cause', ', confidence ' || (c->>'confidence'));
        RETURN NEXT '-- reason:    ' || ff_internal.plain(c->>'reason');
        t := ff_internal.script_effect(c);
        IF t <> '' THEN
            RETURN NEXT '-- expected:  ' || t;
        END IF;
        RETURN NEXT '-- lock:      ' || (c->>'lock') || '; 5 tries of 2 s';
        RETURN NEXT '-- old pages: ' || (c->'rewrite'->>'reason') || coalesce('; by ' || (c->'rewrite'->>'method') || ', see below', '');
        RETURN QUERY SELECT string_to_table(c->>'guarded_statement', E'\n');
    END LOOP;

    FOR c IN SELECT jsonb_array_elements(plan->'templates') LOOP
        RETURN NEXT '';
        RETURN NEXT format('-- New partitions of %s should be as %s is (%s of %s partitions change); a partitioned table itself takes no fillfactor:', c->>'parent', c->>'as', c->>'changed', c->>'partitions');
        RETURN NEXT '--   ' || (c->>'statement') || CASE WHEN c->>'managed_by' IS NOT NULL THEN ' (pg_partman does so by its template table)' ELSE '' END;
    END LOOP;

    IF EXISTS (SELECT 1 FROM jsonb_array_elements(plan->'changes') w WHERE (w->'rewrite'->>'wanted')::boolean) THEN
        prefix := CASE WHEN rewrite THEN '' ELSE '--rewrite ' END;
        RETURN NEXT '';
        RETURN NEXT '-- Rewrites: how the changes reach pages that are there already, and indexes to be rebuilt as they are. One at a time, when there is least to do.';
        IF NOT coalesce(rewrite, false) THEN
            RETURN NEXT '-- They are commented out; to run them: sed -n ''s/^--rewrite //p'' FILE | ' || file;
            RETURN QUERY SELECT prefix || unnest(opening);
        END IF;
        FOR c IN SELECT w FROM jsonb_array_elements(plan->'changes') w WHERE (w->'rewrite'->>'wanted')::boolean LOOP
            RETURN NEXT '';
            RETURN NEXT '-- ' || (c->>'relation') || ': ' || ff_internal.plain(c->'rewrite'->>'reason');
            FOR m IN SELECT jsonb_array_elements(c->'rewrite'->'methods') LOOP
                RETURN NEXT format('--   %s %s: %s; disk %s of %s free, WAL about %s, %s; %s', CASE WHEN m->'method' = c->'rewrite'->'method' THEN '*' WHEN (m->>'possible')::boolean THEN '+' ELSE '-' END,
                                   m->>'method', m->>'why', pg_size_pretty((m->>'disk_bytes')::bigint), pg_size_pretty((m->>'free_bytes')::bigint), pg_size_pretty((m->>'wal_bytes')::bigint),
                                   coalesce('at least ' || ff_internal.span((m->>'seconds')::double precision) || ' at the speed measured', 'time unknown, as track_io_timing has measured nothing'), m->>'lock');
                IF m->'method' IS DISTINCT FROM c->'rewrite'->'method' AND (m->>'possible')::boolean THEN
                    RETURN NEXT '--       ' || (m->>'statement');
                END IF;
            END LOOP;
            FOR m IN SELECT w FROM jsonb_array_elements(c->'rewrite'->'methods') w WHERE w->'method' = c->'rewrite'->'method' LOOP
                RETURN QUERY SELECT prefix || string_to_table(m->>'psql', E'\n');
            END LOOP;
        END LOOP;
        IF NOT coalesce(rewrite, false) THEN
            RETURN QUERY SELECT prefix || unnest(closing);
        END IF;
    END IF;

    RETURN NEXT '';
    RETURN QUERY SELECT unnest(closing);
    IF total = 0 THEN
        RETURN;
    END IF;
    RETURN NEXT '';
    RETURN NEXT '-- Undo: the options come back exactly as they were stored; old pages again only by a rewrite. To run it:';
    RETURN NEXT '-- sed -n ''s/^--undo //p'' FILE | ' || file;
    RETURN QUERY SELECT '--undo ' || unnest(opening);
    FOR c IN SELECT w.c FROM jsonb_array_elements(plan->'changes') WITH ORDINALITY AS w(c, place) WHERE w.c->>'statement' IS NOT NULL ORDER BY w.place DESC LOOP
        RETURN QUERY SELECT '--undo ' || string_to_table(c->>'guarded_undo', E'\n');
    END LOOP;
    RETURN QUERY SELECT '--undo ' || unnest(closing);
END
$$;
COMMENT ON FUNCTION @extschema@.ff_script(regclass, boolean) IS
'The advice for one table, the partitions of one, or all, as lines of a psql script: write them to a file with psql -XAt, read it, and run it with psql -X.
relation: the table; NULL all. rewrite: true also runs the rewrites that bring a change to old pages, false leaves them as comments.
Every change is a DO statement that refuses with a warning where database, relation, name or options are not those that the advice was for, that gives up after 5 tries of 2 s for its lock, and that changes nothing where it is in force already. The exact undo follows as comments.
Errors: 42P01 unknown OID, 42809 not a table or index that can be advised.';
