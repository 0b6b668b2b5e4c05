-- observe.sql: what fillfactor_advisor_hub reads of a server on which nothing can be installed; one read-only statement
-- for PostgreSQL 13 to 19, which prints one JSON object. A mirror sends it itself. By file:
--
--     psql -XAtf observe.sql DATABASE > 1.json
--
-- twice or more, with work in between; SELECT ff_mirror_import(...) reads the files in that order. The role needs
-- pg_monitor. It reads catalogs and statistics, never a row of a table; settings that are texts stay there, because
-- they may hold passwords, and so do the literals of running statements.
--
-- It waits for no lock but that of a table or index whose size it reads, which pg_locks shows nobody holding
-- exclusively, and for that at most lock_timeout. What not every server has or everybody may call is read as JSON, or
-- by query_to_xml(), which runs the text of a query.
--
-- asked: what the mirror knows. shapes, counters: the digest of each bucket of tables as last sent (OID modulo 1,021,
-- a prime: tables made alike have OIDs in even steps); only those that differ are sent. most: of how many tables,
-- about; the others are counted in left. statements: the most to follow; texts: those known. since: the last
-- observation, by this server's clock.
\set QUIET on
\set ON_ERROR_STOP on
BEGIN TRANSACTION READ ONLY;
SET LOCAL search_path = '';
SET LOCAL lock_timeout = '2s';
SET LOCAL statement_timeout = '1min';
SET LOCAL jit = off;
SET LOCAL extra_float_digits = 1;
WITH asked AS MATERIALIZED (
    SELECT a.asked, (a.asked->>'since')::timestamptz AS since, a.asked->>'sizes' IS NULL AS sizes,
           coalesce((a.asked->>'statements')::int, 1000) AS statements, (a.asked->>'most')::int AS most
      FROM (SELECT '{}'::jsonb AS asked) a
), called AS MATERIALIZED (
    SELECT jsonb_object_agg(q.name, substring(query_to_xml(q.query, false, false, '')::text FROM '<v>(.*)</v>')) AS own
      FROM (VALUES
           ('identifier', has_function_privilege('pg_control_system()', 'EXECUTE'),
            'SELECT system_identifier AS v FROM pg_control_system()'),
           ('timeline', has_function_privilege('pg_control_checkpoint()', 'EXECUTE'),
            'SELECT timeline_id AS v FROM pg_control_checkpoint()'),
           ('wal', current_setting('server_version_num')::int >= 140000,
            'SELECT jsonb_build_object(''bytes'', wal_bytes, ''fpi'', wal_fpi, ''reset'', stats_reset) AS v '
            'FROM pg_stat_wal')) q(name, may, query) WHERE q.may
), here AS MATERIALIZED (
    SELECT d.oid, d.datname, to_jsonb(s) AS stats, current_setting('server_version_num')::int AS version, c.own,
           c.own->>'identifier' AS identifier
      FROM pg_database d JOIN pg_stat_database s ON s.datid = d.oid, called c
     WHERE d.datname = current_database()
), taken AS MATERIALIZED (
    -- tables and indexes whose size or definition would have to be waited for
    SELECT array_agg(l.relation) AS oids FROM pg_locks l, here h
     WHERE l.locktype = 'relation' AND l.mode = 'AccessExclusiveLock' AND l.database = h.oid
), relation AS MATERIALIZED (
    SELECT c.*, c.xmin AS changed, n.nspname, coalesce(a.amname, 'heap') AS amname, c.oid::bigint % 1021 AS bucket
      FROM pg_class c
      JOIN pg_namespace n ON n.oid = c.relnamespace
      LEFT JOIN pg_am a ON a.oid = c.relam
     WHERE c.relkind IN ('r', 'm', 'p') AND c.relpersistence <> 't'
       AND n.nspname !~ '^pg_' AND n.nspname NOT IN ('information_schema', 'ff_internal', 'ff_hub')
), indexed AS MATERIALIZED (
    SELECT i.*, i.xmin AS changed, c.relname, c.xmin AS named, c.reloptions, c.relfilenode, c.reltuples, a.amname,
           r.bucket, r.nspname, r.relname AS table_name, pg_stat_get_numscans(i.indexrelid) AS scans,
           ARRAY[i.indrelid, i.indexrelid] && t.oids IS NOT TRUE AS free
      FROM relation r CROSS JOIN taken t
      JOIN pg_index i ON i.indrelid = r.oid AND i.indislive
      JOIN pg_class c ON c.oid = i.indexrelid
      JOIN pg_am a ON a.oid = c.relam
), part AS (
    -- a change of a catalog's row gives it another xmin, so that sums of these tell each change
    SELECT r.bucket, r.oid, concat_ws(',', r.changed, r.nspname) AS state, 1 AS tables FROM relation r
    UNION ALL
    SELECT r.bucket, r.oid, a.changed, 0 FROM relation r CROSS JOIN LATERAL (
           SELECT sum(a.xmin::text::bigint * (a.attnum + 3))::text AS changed
             FROM pg_attribute a WHERE a.attrelid = r.oid AND a.attnum > 0 OFFSET 0) a
    UNION ALL
    SELECT i.bucket, i.indexrelid, concat_ws(',', i.changed, i.named), 0 FROM indexed i
    UNION ALL
    SELECT r.bucket, r.oid, concat_ws(',', i.inhparent, i.xmin), 0
      FROM relation r JOIN pg_inherits i ON i.inhrelid = r.oid
    UNION ALL
    SELECT r.bucket, r.oid, concat_ws(',', t.oid, t.xmin), 0 FROM relation r JOIN pg_trigger t ON t.tgrelid = r.oid
), shape AS MATERIALIZED (
    SELECT p.bucket, concat_ws(' ', sum(hashtextextended(p.state, p.oid::bigint)), h.oid, h.identifier) AS digest,
           sum(p.tables) AS tables
      FROM part p, here h GROUP BY p.bucket, h.oid, h.identifier
), counted AS MATERIALIZED (
    SELECT r.oid, r.bucket, pg_stat_get_tuples_inserted(r.oid) AS inserted,
           pg_stat_get_tuples_updated(r.oid) AS updated,
           pg_stat_get_tuples_hot_updated(r.oid) AS hot_updated, pg_stat_get_tuples_deleted(r.oid) AS deleted,
           pg_stat_get_numscans(r.oid) AS seq_scans, pg_stat_get_blocks_fetched(r.oid) AS blocks_fetched,
           pg_stat_get_blocks_hit(r.oid) AS blocks_hit,
           pg_stat_get_vacuum_count(r.oid) + pg_stat_get_autovacuum_count(r.oid) AS vacuums,
           pg_stat_get_analyze_count(r.oid) + pg_stat_get_autoanalyze_count(r.oid) AS analyzes,
           coalesce(i.scans, 0) AS index_scans
      FROM relation r
      LEFT JOIN (SELECT i.indrelid, sum(i.scans)::bigint AS scans FROM indexed i GROUP BY 1) i ON i.indrelid = r.oid
     WHERE r.relkind <> 'p'
), counter AS MATERIALIZED (
    SELECT c.bucket, concat_ws(' ', sum(hashtextextended(c::text, 0)), h.oid, h.identifier) AS digest
      FROM counted c, here h GROUP BY c.bucket, h.oid, h.identifier
), changed_shape AS MATERIALIZED (
    -- beginning with other buckets each minute, so that none waits forever
    SELECT c.*, sum(c.tables) OVER (ORDER BY (c.bucket + extract(epoch FROM now())::bigint / 60) % 1021) - c.tables
                AS before
      FROM (SELECT coalesce(s.bucket, k.key::bigint) AS bucket, s.digest, coalesce(s.tables, 0) AS tables
              FROM shape s
              FULL JOIN (SELECT k.key, k.value FROM asked a, jsonb_each_text(a.asked->'shapes') k) k
                     ON k.key::bigint = s.bucket
             WHERE s.digest IS DISTINCT FROM k.value) c
), sent_shape AS MATERIALIZED (
    SELECT c.bucket, c.digest, c.tables FROM changed_shape c, asked a WHERE coalesce(c.before < a.most, true)
), sent_counter AS MATERIALIZED (
    SELECT coalesce(s.bucket, k.key::bigint) AS bucket, s.digest
      FROM counter s
      FULL JOIN (SELECT k.* FROM asked a, jsonb_each_text(a.asked->'counters') k) k ON k.key::bigint = s.bucket
     CROSS JOIN asked a
     WHERE s.digest IS DISTINCT FROM k.value
       -- not of tables that are not made yet
       AND (a.most IS NULL OR a.asked->'shapes' ? coalesce(s.bucket::text, k.key)
            OR s.bucket IN (SELECT t.bucket FROM sent_shape t))
), measured AS MATERIALIZED (
    SELECT b.bucket FROM sent_shape b UNION SELECT b.bucket FROM sent_counter b
), types AS MATERIALIZED (
    -- of a domain, the type below
    SELECT t.oid, CASE WHEN u.typnamespace = 'pg_catalog'::regnamespace THEN u.typname END AS name
      FROM pg_type t JOIN pg_type u ON u.oid = CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.oid END
), uses AS MATERIALIZED (
    -- columns that indexes and generated columns depend on
    SELECT d.classid, d.objid, d.objsubid, array_agg(DISTINCT d.refobjsubid) AS columns
      FROM pg_depend d
     WHERE d.refclassid = 'pg_class'::regclass AND d.refobjsubid > 0
       AND d.refobjid IN (SELECT r.oid FROM relation r JOIN sent_shape USING (bucket))
     GROUP BY d.classid, d.objid, d.objsubid
), made AS MATERIALIZED (
    -- of what generated columns are made; before 16 the dependencies are the column's, later its default's
    SELECT e.adrelid, e.adnum, unnest(u.columns) AS source
      FROM pg_attrdef e
      JOIN pg_attribute a ON a.attrelid = e.adrelid AND a.attnum = e.adnum AND a.attgenerated = 's'
      JOIN uses u ON u.classid = 'pg_attrdef'::regclass AND u.objid = e.oid
                  OR u.classid = 'pg_class'::regclass AND u.objid = e.adrelid AND u.objsubid = e.adnum
), columns AS MATERIALIZED (
    SELECT a.attrelid, jsonb_agg(jsonb_build_object('number', a.attnum, 'name', a.attname,
                                                    'type', coalesce(t.name, 'text')) ORDER BY a.attnum) AS columns
      FROM relation r
      JOIN sent_shape USING (bucket)
      JOIN pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped
      LEFT JOIN types t ON t.oid = a.atttypid
     GROUP BY a.attrelid
), shapes AS (
    SELECT r.oid, jsonb_build_object('schema', r.nspname, 'name', r.relname, 'kind', r.relkind,
               'access_method', r.amname, 'unlogged', r.relpersistence = 'u', 'options', r.reloptions,
               'columns', coalesce(c.columns, '[]'),
               'parents', (SELECT jsonb_agg(i.inhparent::bigint ORDER BY i.inhseqno) FROM pg_inherits i
                            WHERE i.inhrelid = r.oid)) AS shape
      FROM relation r JOIN sent_shape USING (bucket) LEFT JOIN columns c ON c.attrelid = r.oid
), triggers AS (
    -- before an update of a row (tgtype: row, before, update); what they set as in update_triggers()
    SELECT t.tgrelid AS oid, jsonb_agg(jsonb_build_object('name', t.tgname, 'fired_by', (
               SELECT jsonb_agg(a.attname) FROM pg_attribute a
                WHERE a.attrelid = t.tgrelid AND a.attnum = ANY (t.tgattr)),
           'changes', (
               SELECT jsonb_agg(DISTINCT CASE WHEN m.name[2] ~ '^"' THEN replace(trim(m.name[2], '"'), '""', '"')
                                              ELSE lower(m.name[2]) END)
                 FROM regexp_matches(CASE WHEN l.lanname NOT IN ('c', 'internal') THEN regexp_replace(
                          regexp_replace(p.prosrc, E'--[^\\n]*', ' ', 'g'), E'/\\*.*?\\*/', ' ', 'g')
                      ELSE 'new."' || split_part(encode(t.tgargs, 'escape'), E'\\000', 1) || '"=' END,
                      E'(^|;|\\m(?:begin|then|else|loop)\\M)\\s*new\\s*\\.\\s*("[^"]+"|[\\w$]+)\\s*:?=', 'gi') m(name)))
           ORDER BY t.tgname) AS triggers
      FROM relation r
      JOIN measured USING (bucket)
      JOIN pg_trigger t ON t.tgrelid = r.oid AND NOT t.tgisinternal AND t.tgenabled IN ('O', 'A') AND t.tgtype & 19 = 19
      JOIN pg_proc p ON p.oid = t.tgfoid
      JOIN pg_language l ON l.oid = p.prolang
     GROUP BY t.tgrelid
), tables AS (
    SELECT jsonb_strip_nulls(jsonb_build_object(
               'oid', r.oid::bigint, 'shape', s.shape, 'relfilenode', r.relfilenode::bigint,
               'reltuples', r.reltuples, 'relpages', r.relpages,
               'live', pg_stat_get_live_tuples(r.oid), 'dead', pg_stat_get_dead_tuples(r.oid),
               'counted', to_jsonb(c) - '{oid,bucket,analyzes}'::text[] || jsonb_build_object('newpage_updated',
                   CASE WHEN h.version >= 160000
                        THEN (SELECT to_jsonb(v)->'n_tup_newpage_upd' FROM pg_stat_all_tables v
                              WHERE v.relid = r.oid) END),
               'analyzes', c.analyzes,
               'analyzed_at', greatest(pg_stat_get_last_analyze_time(r.oid), pg_stat_get_last_autoanalyze_time(r.oid)),
               'maintained_at', least(pg_stat_get_last_vacuum_time(r.oid), pg_stat_get_last_autovacuum_time(r.oid),
                   pg_stat_get_last_analyze_time(r.oid), pg_stat_get_last_autoanalyze_time(r.oid)),
               'heap_bytes', CASE WHEN a.sizes AND r.relkind <> 'p' AND (r.oid = ANY (l.oids)) IS NOT TRUE
                                  THEN pg_relation_size(r.oid) END,
               'toast_bytes', CASE WHEN a.sizes AND (r.reltoastrelid = ANY (l.oids)) IS NOT TRUE
                                   THEN pg_relation_size(t.oid) END,
               'toast_inserted', pg_stat_get_tuples_inserted(t.oid), 'toast_live', pg_stat_get_live_tuples(t.oid),
               'owner', pg_get_userbyid(r.relowner), 'still', w.still,
               'width', CASE WHEN w.columns = (SELECT count(*) FROM pg_attribute o WHERE o.attrelid = r.oid
                                                  AND o.attnum > 0 AND NOT o.attisdropped) THEN w.width END,
               'triggers', g.triggers)) AS said
      FROM relation r
      JOIN measured USING (bucket)
     CROSS JOIN asked a
     CROSS JOIN here h
     CROSS JOIN taken l
     CROSS JOIN LATERAL (SELECT nullif(r.reltoastrelid, 0)) t(oid)
      LEFT JOIN shapes s ON s.oid = r.oid
      LEFT JOIN counted c ON c.oid = r.oid
      LEFT JOIN triggers g ON g.oid = r.oid
      LEFT JOIN LATERAL (
           -- a header of 24 bytes; still: one value in all rows
           SELECT count(*) AS columns, 24 + sum(p.avg_width * (1 - p.null_frac)) AS width,
                  jsonb_agg(p.attname ORDER BY p.attname)
                      FILTER (WHERE p.null_frac = 1 OR p.null_frac = 0 AND p.n_distinct = 1) AS still
             FROM pg_stats p
            WHERE p.schemaname = r.nspname AND p.tablename = r.relname AND NOT p.inherited) w ON true
), indexes AS (
    SELECT jsonb_strip_nulls(jsonb_build_object(
               'oid', i.indexrelid::bigint, 'table', i.indrelid::bigint, 'scans', i.scans,
               'key', i.indkey::text, 'relfilenode', i.relfilenode::bigint, 'valid', i.indisvalid,
               -- counted when it was analyzed or vacuumed: after a load, as many as rows
               'entries', CASE WHEN i.indpred IS NULL THEN greatest(i.reltuples, pg_stat_get_live_tuples(i.indrelid))
                               WHEN pg_stat_get_mod_since_analyze(i.indrelid) <= 0.2 * i.reltuples THEN i.reltuples END,
               'bytes', CASE WHEN a.sizes AND i.free THEN pg_relation_size(i.indexrelid) END,
               -- of its keys, at most: if one is aligned at 8 bytes, as if all were
               'width', (SELECT CASE WHEN bool_or(k.attalign = 'd') THEN sum(8 * ceil(n.bytes / 8.0))
                                     ELSE sum(n.bytes) END
                           FROM pg_attribute k
                           LEFT JOIN pg_attribute o ON o.attrelid = i.indrelid AND o.attnum = i.indkey[k.attnum - 1]
                           LEFT JOIN pg_stats p ON p.schemaname = i.nspname AND p.tablename = i.table_name
                                               AND p.attname = o.attname AND NOT p.inherited AND k.attlen < 0
                          CROSS JOIN LATERAL (SELECT CASE WHEN k.attlen > 0 THEN k.attlen ELSE p.avg_width END) n(bytes)
                          WHERE k.attrelid = i.indexrelid
                         HAVING bool_and(k.attlen > 0 OR p.avg_width IS NOT NULL)),
               -- what is not here in a mirror, as in index_needed()
               'needed', coalesce(
                   (SELECT 'exclusion constraint ' || quote_ident(n.conname) FROM pg_constraint n
                     WHERE n.conrelid = i.indrelid AND n.conindid = i.indexrelid AND n.contype = 'x'),
                   CASE WHEN i.indisreplident THEN 'replica identity'
                        WHEN i.indisclustered THEN 'the order of CLUSTER' END,
                   (SELECT 'part of the partitioned index ' || quote_ident(p.relname)
                      FROM pg_inherits h JOIN pg_class p ON p.oid = h.inhparent WHERE h.inhrelid = i.indexrelid),
                   (SELECT format('foreign key %I, whose check finds by it the rows that refer to one deleted from %I',
                                  n.conname, p.relname)
                      FROM pg_constraint n JOIN pg_class p ON p.oid = n.confrelid
                     WHERE n.conrelid = i.indrelid AND n.contype = 'f'
                       AND (i.indkey::int2[])[0:least(cardinality(n.conkey), i.indnkeyatts) - 1] <@ n.conkey
                     ORDER BY n.conname LIMIT 1)),
               'shape', CASE WHEN s.bucket IS NOT NULL THEN jsonb_build_object('name', i.relname,
                   'access_method', i.amname, 'unique', i.indisunique, 'options', i.reloptions,
                   'constraint', (SELECT n.contype FROM pg_constraint n
                                   WHERE n.conrelid = i.indrelid AND n.conindid = i.indexrelid
                                     AND n.contype IN ('p', 'u')),
                   -- of its key, expressions and predicate, or of the whole row; and what generated ones are made of
                   'columns', (SELECT coalesce(jsonb_agg(n.c ORDER BY n.place), '[]')
                                 FROM unnest(k.listed || ARRAY(
                                          SELECT m.source FROM made m WHERE m.adrelid = i.indrelid
                                             AND m.adnum = ANY (i.indkey::int2[]::int[] || k.listed)))
                                      WITH ORDINALITY n(c, place) WHERE n.c > 0),
                   'include', to_jsonb((i.indkey::int2[])[i.indnkeyatts:]),
                   'definition', CASE WHEN i.free THEN pg_get_indexdef(i.indexrelid) END) END)) AS said
      FROM indexed i
      JOIN measured USING (bucket)
     CROSS JOIN asked a
      LEFT JOIN sent_shape s USING (bucket)
      LEFT JOIN uses u ON u.classid = 'pg_class'::regclass AND u.objid = i.indexrelid AND u.objsubid = 0
                      AND (i.indexprs IS NOT NULL OR i.indpred IS NOT NULL)
     CROSS JOIN LATERAL (
           SELECT (i.indkey::int2[])[0:i.indnkeyatts - 1]::int[] || coalesce(u.columns,
                  CASE WHEN concat(i.indexprs, i.indpred) ~ ':varattno 0 '
                       THEN ARRAY(SELECT a.attnum::int FROM pg_attribute a
                                   WHERE a.attrelid = i.indrelid AND a.attnum > 0 ORDER BY 1) END)) k(listed)
), reader AS MATERIALIZED (
    -- pg_stat_statements, in whatever schema; preloaded, it has settings
    SELECT quote_ident(n.nspname) || '.pg_stat_statements' AS name, p.proargnames AS columns,
           CASE WHEN p.oid IS NULL THEN 'pg_stat_statements is not created in this database'
                WHEN NOT EXISTS (SELECT FROM pg_settings g WHERE g.name = 'pg_stat_statements.max')
                    THEN 'pg_stat_statements is not loaded: add it to shared_preload_libraries'
                WHEN NOT 'wal_records' = ANY (p.proargnames)
                    THEN 'pg_stat_statements is older than 1.8: ALTER EXTENSION pg_stat_statements UPDATE'
                WHEN NOT has_schema_privilege(n.oid, 'USAGE')
                    THEN format('permission denied: GRANT USAGE ON SCHEMA %I TO %I', n.nspname, current_user)
                ELSE (SELECT format('permission denied: GRANT EXECUTE ON FUNCTION %s TO %I',
                                    string_agg(f.oid::regprocedure::text, ', ' ORDER BY f.oid), current_user)
                        FROM pg_proc f
                       WHERE f.pronamespace = n.oid AND f.proname IN ('pg_stat_statements', 'pg_stat_statements_info')
                         AND NOT has_function_privilege(f.oid, 'EXECUTE') HAVING count(*) > 0) END AS reason
      FROM (SELECT) one
      LEFT JOIN pg_extension e ON e.extname = 'pg_stat_statements'
      LEFT JOIN pg_namespace n ON n.oid = e.extnamespace
      LEFT JOIN pg_proc p ON p.pronamespace = n.oid AND p.proname = 'pg_stat_statements' AND p.proargtypes::text = '16'
), statements AS (
    -- entries that wrote; of the most called new ones the texts, up to 8 MB
    SELECT CASE WHEN r.reason IS NULL THEN query_to_xml(format($q$
        WITH entry AS MATERIALIZED (
            SELECT s.queryid, s.userid, s.calls, s.wal_records, s.shared_blks_dirtied, %1$s AS toplevel,
                   jsonb_build_object('queryid', s.queryid, 'toplevel', %1$s, 'userid', s.userid::bigint,
                       'entered_at', %2$s, 'min_ms', s.min_exec_time, 'max_ms', s.max_exec_time,
                       'counted', jsonb_build_object('calls', s.calls, 'rows', s.rows, 'total_ms', s.total_exec_time,
                           'squares', coalesce(s.calls * s.stddev_exec_time ^ 2
                                               + s.total_exec_time ^ 2 / nullif(s.calls, 0), 0),
                           'blocks_hit', s.shared_blks_hit, 'blocks_read', s.shared_blks_read,
                           'blocks_dirtied', s.shared_blks_dirtied,
                           'wal_records', s.wal_records, 'wal_fpi', s.wal_fpi,
                           'wal_bytes', least(s.wal_bytes, 9223372036854775807))) AS said
              FROM %3$s(false) s
             WHERE s.dbid = %4$s
        ), known AS MATERIALIZED (
            SELECT * FROM jsonb_array_elements_text(%5$L) k(key)
        ), new AS MATERIALIZED (
            SELECT e.queryid, e.toplevel, sum(e.calls) AS calls FROM entry e
             WHERE e.queryid IS NOT NULL AND (e.wal_records > 0 OR e.shared_blks_dirtied > 0)
               AND e.queryid || ' ' || e.toplevel NOT IN (SELECT k.key FROM known k)
             GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2
             LIMIT greatest(0, %6$s - (SELECT count(DISTINCT (o.queryid, o.toplevel)) FROM entry o
                                        JOIN known k ON k.key = o.queryid || ' ' || o.toplevel))
        ), text AS (
            -- only of statements whose constants are parameters here: others may keep a password
            SELECT DISTINCT ON (n.queryid, n.toplevel) n.*,
                   CASE WHEN s.query ~* (E'^([[:space:](]|--[^\\n]*\\n|/[*].*?[*]/)*'
                                         '(select|insert|update|delete|merge|with|values|table|prepare)\\M')
                             -- SELECT INTO makes a table
                             AND s.query !~* E'(?<!\\m(insert|merge)[[:space:]]*)\\minto\\M' THEN s.query
                        WHEN s.query ~* E'^[[:space:]]*copy[[:space:]]+[^''([:space:]][^'']*?\\mfrom\\M'
                        THEN regexp_replace(s.query, E'\\mfrom\\M.*', 'FROM STDIN', 'i')
                        ELSE '' END AS query
              FROM new n JOIN %3$s(true) s ON s.queryid = n.queryid AND %1$s = n.toplevel AND s.dbid = %4$s
             WHERE (SELECT count(*) FROM new) > 0 AND s.query IS NOT NULL
        )
        SELECT %7$s || jsonb_build_object(
                   'entries', (SELECT coalesce(jsonb_agg(e.said), '[]') FROM entry e
                                WHERE e.queryid IS NULL OR e.wal_records > 0 OR e.shared_blks_dirtied > 0),
                   'texts', (SELECT coalesce(jsonb_agg(jsonb_build_object('queryid', t.queryid,
                                        'toplevel', t.toplevel, 'query', t.query)), '[]')
                               FROM (SELECT *, sum(octet_length(t.query)) OVER (ORDER BY t.calls DESC, t.queryid)
                                               AS bytes FROM text t) t WHERE t.bytes <= 8388608)) AS v $q$,
        CASE WHEN 'toplevel' = ANY (r.columns) THEN 's.toplevel' ELSE 'true' END,
        CASE WHEN 'stats_since' = ANY (r.columns) THEN 's.stats_since' ELSE 'NULL::timestamptz' END,
        r.name, h.oid,
        coalesce(a.asked->'texts', '[]'), a.statements,
        CASE WHEN 'toplevel' = ANY (r.columns)
             THEN format($$(SELECT jsonb_build_object('stats_reset', i.stats_reset, 'evictions', i.dealloc)
                              FROM %s_info() i)$$, r.name) ELSE $$'{}'::jsonb$$ END), false, false, '')::text
           END AS answer, r.reason
      FROM reader r, here h, asked a
), holders AS (
    SELECT CASE WHEN w.sender THEN 'standby feedback'
                WHEN a.state LIKE 'idle in transaction%' THEN 'idle in transaction' ELSE 'transaction' END AS kind,
           'pid ' || a.pid AS holder, a.usename::text AS role_name, a.application_name AS application,
           CASE WHEN w.sender THEN a.backend_start ELSE a.xact_start END AS since,
           greatest(age(a.backend_xmin), age(a.backend_xid))::bigint AS xids,
           -- as in horizon_holders(): another word may be a secret
           CASE WHEN NOT w.sender THEN (
               SELECT upper(k.word) FROM pg_get_keywords() k
                WHERE k.word = lower(substring(a.query FROM E'^[\\s(]*([A-Za-z]+)') COLLATE "C")) END AS doing
      FROM pg_stat_activity a CROSS JOIN LATERAL (SELECT a.backend_type = 'walsender') w(sender), here h
     WHERE NOT pg_is_in_recovery()
       AND CASE WHEN w.sender THEN a.backend_xmin IS NOT NULL
                ELSE a.datid = h.oid AND a.pid <> pg_backend_pid()
                     AND (a.backend_xmin IS NOT NULL OR a.backend_xid IS NOT NULL)
                     -- nor another mirror
                     AND NOT (a.state = 'active' AND a.application_name = 'fillfactor_advisor')
                     AND a.pid NOT IN (SELECT v.pid FROM pg_stat_progress_vacuum v) END
    UNION ALL
    SELECT 'prepared transaction', 'gid ' || p.gid, p.owner, NULL, p.prepared, age(p.transaction)::bigint, NULL
      FROM pg_prepared_xacts p, here h WHERE p.database = h.datname
    UNION ALL
    -- one of a standby that streams has what that holds back by hot_standby_feedback
    SELECT CASE WHEN s.active AND s.slot_type = 'physical' THEN 'standby feedback' ELSE 'replication slot' END,
           'slot ' || s.slot_name, NULL, s.plugin, NULL, age(s.xmin)::bigint,
           CASE WHEN s.active THEN 'active, pid ' || s.active_pid ELSE 'not active' END
      FROM pg_replication_slots s WHERE s.xmin IS NOT NULL AND NOT pg_is_in_recovery()
), unread AS (
    SELECT string_agg(DISTINCT quote_ident(r.nspname), ', ') AS schemas, count(DISTINCT r.nspname) AS number
      FROM relation r WHERE r.reltuples > 0 AND r.relkind <> 'p' AND NOT has_table_privilege(r.oid, 'SELECT')
                        AND r.nspname !~ '[[:cntrl:]]'
), denied AS (
    SELECT d.what, format('GRANT %s TO %I', d."right", current_user) AS "grant"
      FROM here h CROSS JOIN unread u CROSS JOIN LATERAL (VALUES
           (NOT pg_has_role('pg_read_all_stats', 'USAGE'), 'sessions and statements of other roles', 'pg_monitor'),
           (h.identifier IS NULL, 'pg_control_system(), which tells a server from its copy',
            'EXECUTE ON FUNCTION pg_catalog.pg_control_system()'),
           (h.own->>'timeline' IS NULL, 'pg_control_checkpoint(), which tells a failover',
            'EXECUTE ON FUNCTION pg_catalog.pg_control_checkpoint()'),
           (u.number > 0,
            'widths of columns in pg_stats, so the mean length of a row is estimated from relpages and reltuples',
            CASE WHEN h.version >= 140000 AND u.number > 5 THEN 'pg_read_all_data'
                 ELSE 'SELECT ON ALL TABLES IN SCHEMA ' || u.schemas END))
           d(missing, what, "right") WHERE d.missing
)
SELECT jsonb_build_object('format', 1,
    'server', jsonb_build_object(
        'database', h.datname, 'database_oid', h.oid::bigint, 'system_identifier', h.identifier,
        'timeline', (h.own->>'timeline')::bigint, 'wal', (h.own->>'wal')::jsonb,
        'extensions', (SELECT jsonb_agg(e.extname) FROM pg_extension e),
        'server_version', h.version, 'in_recovery', pg_is_in_recovery(),
        'hot_indexed', EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = 'pg_stat_all_tables'::regclass
                                  AND a.attname = 'n_tup_hot_indexed_upd'),
        'read_at', clock_timestamp(), 'started_at', pg_postmaster_start_time(),
        'database_reset', h.stats->'stats_reset', 'cluster_reset', pg_stat_get_bgwriter_stat_reset_time(),
        'track_counts', current_setting('track_counts')::boolean,
        'open_writers', (SELECT count(*) FROM pg_stat_get_activity(NULL) s
                          WHERE s.datid = h.oid AND s.pid <> pg_backend_pid() AND s.backend_xid IS NOT NULL
                            AND least(s.xact_start, s.query_start) < coalesce(a.since, now())),
        'next_xid', pg_snapshot_xmax(pg_current_snapshot())::text,
        'busy_ms', (h.stats->>'active_time')::float8 + (h.stats->>'idle_in_transaction_time')::float8,
        'blocks_read', h.stats->'blks_read',
        'read_ms', CASE WHEN current_setting('track_io_timing')::boolean THEN h.stats->'blk_read_time' END,
        'settings', (SELECT jsonb_object_agg(s.name, jsonb_build_object('unit', s.unit, 'value',
                            -- what the server sets itself has no other value
                            CASE s.context WHEN 'internal' THEN s.setting ELSE s.reset_val END))
                       FROM pg_settings s
                      WHERE s.vartype <> 'string' OR s.name IN ('server_version', 'cluster_name')),
        'denied', (SELECT coalesce(jsonb_agg(to_jsonb(d)), '[]') FROM denied d)),
    -- sent again if a definition could not be read
    'shapes', (SELECT coalesce(jsonb_object_agg(s.bucket, CASE WHEN s.bucket IN (
                          SELECT i.bucket FROM indexed i WHERE NOT i.free) THEN '' ELSE s.digest END), '{}')
                 FROM sent_shape s),
    'counters', (SELECT coalesce(jsonb_object_agg(s.bucket, s.digest), '{}') FROM sent_counter s),
    'left', (SELECT coalesce(sum(c.tables), 0) FROM changed_shape c) - (SELECT coalesce(sum(t.tables), 0)
                                                                        FROM sent_shape t),
    'tables', (SELECT coalesce(jsonb_agg(t.said), '[]') FROM tables t),
    'indexes', (SELECT coalesce(jsonb_agg(i.said), '[]') FROM indexes i),
    'statements', coalesce(
        replace(replace(replace(replace(substring(s.answer FROM '<v>(.*)</v>'),
                '&lt;', '<'), '&gt;', '>'), '&#x0d;', E'\r'), '&amp;', '&')::jsonb,
        jsonb_build_object('reason', s.reason)),
    'holders', (SELECT coalesce(jsonb_agg(to_jsonb(o)), '[]') FROM holders o))
  FROM here h, asked a, statements s;
COMMIT;
