-- Stage script: the advice as a psql script that an administrator can read,
-- sign and run, and as JSON for tools.
--
-- Both are made from one plan, so they cannot differ.  Every change is guarded:
-- it refuses, with a reason and without harm to the rest, where the database, the
-- relation, its name or its options are not those that the advice was for.  No
-- name reaches the script but quoted, and no control character reaches it at all,
-- so a line is always one line.

-- ---------------------------------------------------------------------------
-- The guard
-- ---------------------------------------------------------------------------
-- What a session runs first that is to run changes of a plan: it has to be on a primary, in no transaction. It knows a
-- relation by schema, name and identity: a table's OID; for an index its table's and the numbers of its columns, as
-- REINDEX CONCURRENTLY gives it another OID.
CREATE FUNCTION ff_internal.script_guard() RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $guard$
    SELECT format($format$SET search_path = pg_catalog, pg_temp; SET statement_timeout = 0; SET lock_timeout = '2s';
SET client_min_messages = notice; SET ff_script.done = 0; SET ff_script.unchanged = 0; SET ff_script.refused = 0;
SET ff_script.database = %s; SET ff_script.system = '%s';
SET ff_script.unprintable = %s;$format$,
                  ff_internal.quoted_text(current_database()::text), s.system_identifier, quote_literal(ff_internal.unprintable()))
           || $text$
DO $ff$ BEGIN
    IF pg_is_in_recovery() THEN RAISE 'this server is a standby: run the script on its primary'; END IF;
    IF statement_timestamp() <> transaction_timestamp() THEN
        RAISE 'a transaction is open: run the script with psql -X -f, without --single-transaction';
    END IF;
END $ff$;
CREATE OR REPLACE FUNCTION pg_temp.ff_look(schema_name text, relation_name text, identity text,
    OUT refusal text, OUT options text[], OUT file oid) LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $ff$
    SELECT CASE WHEN current_database() <> current_setting('ff_script.database')
                  OR s.system_identifier::text <> current_setting('ff_script.system')
                THEN 'refused: made for another database or server'
                WHEN r.who IS NOT NULL THEN NULL
                WHEN EXISTS (SELECT FROM pg_class o WHERE o.oid::text = identity) THEN 'refused: it has another name now'
                ELSE 'refused: it is gone' END, r.reloptions, r.relfilenode
      FROM pg_control_system() s LEFT JOIN (
           SELECT c.reloptions, c.relfilenode, concat_ws(' ', coalesce(i.indrelid, c.oid), i.indkey) AS who
             FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_index i ON i.indexrelid = c.oid
            WHERE n.nspname = schema_name AND c.relname = relation_name) r ON r.who = identity
$ff$;
CREATE OR REPLACE FUNCTION pg_temp.ff_tell(schema_name text, relation_name text, verdict text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $ff$
DECLARE
    kind CONSTANT text := 'ff_script.' || split_part(verdict, ':', 1);
    said CONSTANT text := regexp_replace(format('%I.%I: %s', schema_name, relation_name, verdict),
                                         current_setting('ff_script.unprintable'), '?', 'g');
BEGIN
    PERFORM set_config(kind, (current_setting(kind)::integer + 1)::text, false);
    IF kind = 'ff_script.refused' THEN RAISE WARNING '%', said; ELSE RAISE NOTICE '%', said; END IF;
END $ff$;
CREATE OR REPLACE PROCEDURE pg_temp.ff_change(schema_name text, relation_name text, identity text,
    before text[], after text[], statement text)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' AS $ff$
DECLARE
    seen record;
    verdict text;
BEGIN
    FOR try IN 1 .. 5 LOOP
        SELECT * INTO seen FROM pg_temp.ff_look(schema_name, relation_name, identity);
        verdict := CASE WHEN seen.refusal IS NOT NULL THEN seen.refusal
                        WHEN seen.options IS NOT DISTINCT FROM after THEN 'unchanged: already in force'
                        WHEN seen.options IS DISTINCT FROM before THEN 'refused: its options were changed since the advice' END;
        EXIT WHEN verdict IS NOT NULL;
        BEGIN
            EXECUTE statement;
            -- nothing came in between before the lock was held
            SELECT * INTO seen FROM pg_temp.ff_look(schema_name, relation_name, identity);
            IF seen.refusal IS NOT NULL OR seen.options IS DISTINCT FROM after THEN
                RAISE 'its name or options changed meanwhile' USING ERRCODE = 'object_not_in_prerequisite_state';
            END IF;
            verdict := 'done: ' || statement;
        EXCEPTION
            WHEN lock_not_available THEN
                verdict := CASE WHEN try = 5 THEN 'refused: locked by other sessions, run this again later' END;
            WHEN OTHERS THEN
                verdict := format('refused: %s (SQLSTATE %s)', SQLERRM, SQLSTATE);
        END;
        EXIT WHEN verdict IS NOT NULL;
        PERFORM pg_sleep(1);
    END LOOP;
    PERFORM pg_temp.ff_tell(schema_name, relation_name, verdict);
END $ff$;
CREATE OR REPLACE PROCEDURE pg_temp.ff_end() LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $ff$ BEGIN
    RAISE NOTICE '% done, % unchanged, % refused', current_setting('ff_script.done'),
        current_setting('ff_script.unchanged'), current_setting('ff_script.refused');
    IF current_setting('ff_script.refused') <> '0' THEN
        RAISE '% refused, for the reasons in the warnings above', current_setting('ff_script.refused')
            USING HINT = 'The others are in force. What was locked can be run again; else generate the script anew.';
    END IF;
END $ff$;$text$
      FROM ff_internal.server() s
$guard$;

-- The guard of rewrites, after that of the script: it gives the statement and, to be run after it, one that says what came
-- of it; nothing where the options are not the advised ones or the file is not that of the advice any more.
CREATE FUNCTION ff_internal.rewrite_guard() RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
RETURN $text$CREATE OR REPLACE FUNCTION pg_temp.ff_rewrite(schema_name text, relation_name text, identity text, wanted text[],
    old_file oid, statement text, was_run boolean DEFAULT false) RETURNS SETOF text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $ff$
DECLARE
    seen record;
    verdict text;
BEGIN
    SELECT * INTO seen FROM pg_temp.ff_look(schema_name, relation_name, identity);
    verdict := CASE WHEN seen.refusal IS NOT NULL THEN seen.refusal
                    WHEN seen.options IS DISTINCT FROM wanted THEN 'refused: its options are not those advised'
                    WHEN seen.file <> old_file AND was_run THEN 'done: ' || statement
                    WHEN seen.file <> old_file THEN 'unchanged: rewritten already'
                    WHEN was_run THEN 'refused: not rewritten, see the messages above' END;
    IF verdict IS NOT NULL THEN
        PERFORM pg_temp.ff_tell(schema_name, relation_name, verdict);
        RETURN;
    END IF;
    RETURN NEXT statement;
    RETURN NEXT format('DO %L', format('BEGIN PERFORM pg_temp.ff_rewrite(%L, %L, %L, %L, %L, %L, true); END',
                                       schema_name, relation_name, identity, wanted, old_file, statement));
END $ff$;$text$;

-- ---------------------------------------------------------------------------
-- Surroundings
-- ---------------------------------------------------------------------------
-- What else a rewrite that writes this much WAL (bytes) would touch: slots, standbys, subscribers, the WAL's disk; a
-- sentence each.
CREATE FUNCTION ff_internal.cautions(wal_bytes bigint) RETURNS SETOF text
LANGUAGE sql VOLATILE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
    WITH wal AS MATERIALIZED (
        SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END AS here
    )
    SELECT 'this server is a standby: run the script on its primary' WHERE pg_is_in_recovery()
    UNION ALL
    (SELECT format('replication slot %s (%s, %s) holds back %s of WAL, status %s%s', quote_ident(s.slot_name), s.slot_type,
                   CASE WHEN s.active THEN 'active' ELSE 'not active' END, coalesce(pg_size_pretty(w.here - s.restart_lsn), 'none'),
                   coalesce(s.wal_status, 'unknown'),
                   CASE WHEN s.safe_wal_size < wal_bytes
                        THEN format(': it is lost once %s more are written, and all rewrites together write about %s',
                                    pg_size_pretty(s.safe_wal_size), pg_size_pretty(wal_bytes))
                        ELSE ': what a rewrite writes is kept until it has been read' END)
       FROM pg_replication_slots s, wal w ORDER BY s.slot_name)
    UNION ALL
    (SELECT format('standby or subscriber %s (%s, %s) is %s behind: a rewrite sends it as much as it writes, and '
                   'VACUUM FULL locks the table there too', quote_ident(a.application_name), coalesce(a.state, 'unknown'),
                   coalesce(a.sync_state, 'unknown'), coalesce(pg_size_pretty(w.here - a.replay_lsn), 'an unknown amount'))
       FROM pg_stat_replication a, wal w ORDER BY a.application_name LIMIT 20)
    UNION ALL
    SELECT 'storage options are not replicated logically: subscribers keep their own fillfactor'
     WHERE EXISTS (SELECT FROM pg_publication)
    UNION ALL
    SELECT format('all rewrites together write about %s of WAL, and %s are free where the WAL is',
                  pg_size_pretty(wal_bytes), pg_size_pretty(d.free_bytes))
      FROM ff_internal.disk_wal() d WHERE wal_bytes > d.free_bytes / 2
$$;

-- The table whose options pg_partman gives to new partitions of a partitioned table; NULL where it is not managed, or
-- not visible to this role.
CREATE FUNCTION ff_internal.partman_template(parent oid) RETURNS oid
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    config   text;
    template oid;
BEGIN
    -- only a table that belongs to the extension pg_partman is believed
    SELECT format('%I.%I', n.nspname, c.relname) INTO config
      FROM pg_extension e
      JOIN pg_depend d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.deptype = 'e'
      JOIN pg_class c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid AND c.relname = 'part_config' AND c.relkind = 'r'
      JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE e.extname = 'pg_partman' AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT');
    IF config IS NOT NULL THEN
        EXECUTE format('SELECT t.oid FROM %s p JOIN pg_class c ON c.oid = $1 JOIN pg_namespace n ON n.oid = c.relnamespace '
                       '  JOIN pg_class t ON t.relkind = ''r'' JOIN pg_namespace s ON s.oid = t.relnamespace '
                       ' WHERE p.parent_table = n.nspname || ''.'' || c.relname '
                       '   AND p.template_table = s.nspname || ''.'' || t.relname', config)
           INTO template USING parent;
    END IF;
    RETURN template;
END
$$;

-- ---------------------------------------------------------------------------
-- The plan
-- ---------------------------------------------------------------------------
-- One change of a plan: statement, guard, undo and ways to rewrite; NULL where the relation is gone. fillfactor NULL:
-- options stay, only the rewrite. facts: what else is told of it, fillfactor (the present one) among it.
CREATE FUNCTION ff_internal.plan_change(
    target oid, fillfactor integer, facts jsonb, new_bytes bigint, wants_rewrite boolean, rewrite_reason text) RETURNS jsonb
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH relation AS (
        SELECT c.*, n.nspname, r.rolname, i.indrelid, i.indkey::text AS indkey,
               concat_ws(' ', coalesce(i.indrelid, c.oid), i.indkey) AS identity,
               ff_internal.options_after(c.reloptions, ARRAY['fillfactor=' || fillfactor]) AS after
          FROM pg_class c
          JOIN pg_namespace n ON n.oid = c.relnamespace
          JOIN pg_roles r ON r.oid = c.relowner
          LEFT JOIN pg_index i ON i.indexrelid = c.oid
         WHERE c.oid = target
    ), direction AS (
        SELECT jsonb_object_agg(d.key, d.statement) || jsonb_object_agg('guarded_' || d.key, format(
                   'CALL pg_temp.ff_change(%s, %s, %s, %s, %s, %s);', ff_internal.quoted_text(c.nspname::text),
                   ff_internal.quoted_text(c.relname::text), ff_internal.quoted_text(c.identity), ff_internal.quoted_text(d.before::text),
                   ff_internal.quoted_text(d.after::text), ff_internal.quoted_text(d.statement))) AS statements
          FROM relation c
         CROSS JOIN LATERAL (VALUES
               ('statement', c.reloptions, c.after, ff_internal.alter_options(c.oid, ARRAY['fillfactor=' || fillfactor])),
               ('undo', c.after, c.reloptions, ff_internal.restore_options(c.oid, c.reloptions, c.after))
               ) d(key, before, after, statement)
    )
    SELECT facts || jsonb_build_object(
               'kind', CASE c.relkind WHEN 'i' THEN 'index' WHEN 'm' THEN 'materialized view' ELSE 'table' END,
               'relation', ff_internal.qualified_name(c.oid), 'schema', c.nspname, 'name', c.relname, 'identity', c.identity,
               'oid', c.oid::text, 'table_oid', c.indrelid::text, 'indkey', c.indkey, 'relfilenode', c.relfilenode::text,
               'owner', c.rolname, 'recommended_fillfactor', coalesce(fillfactor, (facts->>'fillfactor')::integer),
               'options_before', c.reloptions, 'options_after', CASE WHEN fillfactor IS NULL THEN c.reloptions ELSE c.after END,
               'lock', 'SHARE UPDATE EXCLUSIVE for a moment: readers and writers go on')
           || d.statements
           || CASE WHEN fillfactor IS NULL
                   THEN '{"statement": null, "undo": null, "guarded_statement": null, "guarded_undo": null, "lock": null}' ELSE '{}' END::jsonb
           || jsonb_build_object('rewrite', jsonb_build_object('wanted', wants_rewrite, 'reason', rewrite_reason, 'methods', coalesce(w.methods, '[]'),
                  'method', CASE WHEN wants_rewrite THEN jsonb_path_query_first(w.methods, '$[*] ? (@.possible == true).method') END))
      FROM relation c
     CROSS JOIN direction d
     CROSS JOIN LATERAL (SELECT jsonb_agg(to_jsonb(r)) FROM ff_internal.rewrites(c.oid, new_bytes) r) w(methods)
$$;

-- What a plan keeps of a row of advice, the figures below effect.
CREATE FUNCTION ff_internal.plan_facts(advice jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT jsonb_object_agg(f.key, f.value) FILTER (WHERE f.key IN ('action', 'cause', 'confidence', 'fillfactor', 'reason', 'updates_per_s',
                                                                    'observed', 'provisional'))
           || jsonb_build_object('effect', jsonb_build_object('disk_bytes_change',
                  (advice->>'predicted_size_bytes')::bigint - (advice->>'size_bytes')::bigint)
              || jsonb_object_agg(f.key, f.value) FILTER (WHERE f.key ~ '(_pct|_page|_bytes|_density|_change|_saved)$'))
      FROM jsonb_each(advice) f
$$;

-- What is advised for each table and index examined, by what their pages show now. facts: NULL where nothing is to
-- change; rank: by what is gained; rewrite, why: whether it should be rewritten.
CREATE FUNCTION ff_internal.plan_advice(target regclass)
RETURNS TABLE (relation oid, is_index boolean, action text, rank bigint, fillfactor integer, facts jsonb, new_bytes bigint,
               rewrite boolean, why text)
LANGUAGE sql VOLATILE ROWS 1000
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
    -- what a raise must save of a table, to be worth a rewrite (chosen)
    WITH constant AS (
        SELECT 0.1 AS worth
    ), asked AS (
        SELECT NULL::regclass AS relation WHERE target IS NULL
        UNION ALL
        SELECT t.relid FROM pg_class c CROSS JOIN LATERAL pg_partition_tree(target) t
         WHERE c.oid = target AND c.relkind = 'p' AND t.isleaf
        UNION ALL
        SELECT target FROM pg_class c WHERE c.oid = target AND c.relkind NOT IN ('p', 'i')
    )
    SELECT a.relation, false, a.action, row_number() OVER (ORDER BY a.gain DESC NULLS LAST, a.relation), a.recommended_fillfactor,
           f.facts || jsonb_build_object('parent', (SELECT i.inhparent::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
                                                     WHERE i.inhrelid = a.relation AND c.relispartition)),
           a.predicted_size_bytes, r.rewrite,
           CASE WHEN a.action = 'raise' AND r.rewrite THEN format('gives back %s at once; without it, new rows fill up the old pages by and by',
                                                                  pg_size_pretty(a.size_bytes - a.predicted_size_bytes))
                WHEN a.action = 'raise' THEN 'not worth it: it would give back next to nothing'
                WHEN r.rewrite THEN 'updates fall on old pages, which keep their density until they are rewritten'
                ELSE 'nothing to do: updates fall on new pages, and those are filled as advised from now on' END
      FROM asked s
     CROSS JOIN constant k
     CROSS JOIN LATERAL ff_internal.advice(s.relation, 2147483647) a
     CROSS JOIN LATERAL (SELECT CASE WHEN a.action = 'raise' THEN a.predicted_size_bytes < a.size_bytes * (1 - k.worth)
                                     ELSE coalesce(a.needs_rewrite, true) END) r(rewrite)
      LEFT JOIN LATERAL (SELECT ff_internal.plan_facts(to_jsonb(a)) WHERE a.action IN ('lower', 'raise')) f(facts) ON true
    UNION ALL
    SELECT i.index, true, i.action, row_number() OVER (ORDER BY i.size_bytes - i.predicted_size_bytes DESC NULLS LAST, i.index),
           CASE WHEN i.action <> 'rebuild' THEN i.recommended_fillfactor END, f.facts, i.predicted_size_bytes, r.rewrite,
           CASE WHEN i.action = 'rebuild' THEN i.reason WHEN r.rewrite THEN 'only a rebuild packs it'
                ELSE 'nothing to do: new keys go to new pages, which are filled as advised from now on' END
      FROM ff_internal.judge_indexes(target) i
     -- ascending keys fill new pages anyway
     CROSS JOIN LATERAL (SELECT i.action = 'rebuild' OR i.cause = 'never_written') r(rewrite)
      LEFT JOIN LATERAL (SELECT ff_internal.plan_facts(to_jsonb(i)) WHERE i.action IN ('lower', 'raise', 'rebuild')) f(facts) ON true
$$;

-- What new partitions should get, given the changes of a plan: of each parent, as its busiest changed partition. With
-- them the empty partitions made ahead, and pg_partman's template table, as changes of their own.
CREATE FUNCTION ff_internal.plan_templates(changes jsonb[], with_changes boolean, OUT templates jsonb[], OUT more jsonb[])
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH parent AS MATERIALIZED (
        SELECT DISTINCT ON (c->>'parent') (c->>'parent')::oid AS oid, ff_internal.qualified_name((c->>'parent')::oid) AS name,
               (c->>'recommended_fillfactor')::integer AS fillfactor, c->>'relation' AS leaf, (c->'provisional')::boolean AS provisional,
               count(*) OVER (PARTITION BY c->>'parent') AS changed,
               (SELECT count(*) FROM pg_inherits i WHERE i.inhparent = (c->>'parent')::oid) AS partitions,
               ff_internal.partman_template((c->>'parent')::oid) AS template
          FROM unnest(changes) c
         WHERE c->>'parent' IS NOT NULL
         ORDER BY c->>'parent', (c->>'updates_per_s')::double precision DESC NULLS LAST
    ), ahead AS (
        SELECT p.*, c.oid AS relid, c.reloptions, 2 AS place,
               format('pg_partman gives the options of this table to new partitions of %s, which are advised as %s is', p.name, p.leaf) AS reason
          FROM parent p JOIN pg_class c ON c.oid = p.template
        UNION ALL
        SELECT p.*, c.oid, c.reloptions, 1,
               format('an empty partition of %s, made ahead: it is to be filled as %s is advised to be', p.name, p.leaf)
          FROM parent p
          JOIN pg_inherits i ON i.inhparent = p.oid
          JOIN ff_internal.candidate k ON k.relid = i.inhrelid AND k.not_examined IS NULL
          JOIN pg_class c ON c.oid = i.inhrelid
         CROSS JOIN LATERAL ff_internal.sizes(c.oid) z
         WHERE z.heap_bytes = 0 AND NOT EXISTS (SELECT FROM pg_partitioned_table d WHERE d.partrelid = p.oid AND d.partdefid = c.oid)
    )
    SELECT (SELECT coalesce(array_agg(jsonb_build_object('parent', p.name, 'parent_oid', p.oid::text, 'fillfactor', p.fillfactor, 'as', p.leaf,
                        'changed', p.changed, 'partitions', p.partitions, 'managed_by', CASE WHEN p.template IS NOT NULL THEN 'pg_partman' END,
                        'statement', format('CREATE TABLE ... PARTITION OF %s ... WITH (fillfactor = %s);', p.name, p.fillfactor)) ORDER BY p.name), '{}')
              FROM parent p),
           (SELECT coalesce(array_agg(ff_internal.plan_change(a.relid, a.fillfactor,
                        jsonb_build_object('action', 'template', 'cause', 'template', 'fillfactor', ff_internal.effective_fillfactor(a.reloptions),
                                           'provisional', a.provisional, 'reason', a.reason),
                        0, false, 'it holds no rows') ORDER BY a.name, a.place, ff_internal.qualified_name(a.relid)), '{}')
              FROM ahead a WHERE with_changes AND ff_internal.effective_fillfactor(a.reloptions) <> a.fillfactor)
$$;

-- What all changes of a plan bring that are not provisional: WAL (bytes a day less, NULL unknown), disk (bytes more),
-- and how many rewrites, what they write (bytes) and take (seconds, and whether that includes reading and writing).
CREATE FUNCTION ff_internal.plan_total(changes jsonb[]) RETURNS jsonb
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT jsonb_build_object('changes', cardinality(changes), 'provisional', cardinality(changes) - count(*),
               'wal_bytes_per_day_saved', sum((c->'effect'->>'wal_bytes_per_day_saved')::numeric),
               'disk_bytes_change', sum((c->'effect'->>'disk_bytes_change')::numeric), 'rewrites', count(m),
               'rewrite_wal_bytes', coalesce(sum((m->>'wal_bytes')::bigint), 0),
               'rewrite_seconds', sum((m->>'seconds')::double precision), 'io_known', bool_and((m->>'io_known')::boolean))
      FROM unnest(changes) c
      LEFT JOIN LATERAL jsonb_array_elements(c->'rewrite'->'methods') m ON m->'method' = c->'rewrite'->'method'
     WHERE (c->>'provisional')::boolean IS NOT TRUE
$$;

-- All that ff_script() and ff_script_json() say: where and from what, changes in their order (small to large, tables
-- before indexes), templates for new partitions, cautions. top: only as many changes, of which most is gained.
CREATE FUNCTION ff_internal.plan(target regclass, top integer) RETURNS jsonb
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    kind      CONSTANT "char" := (SELECT c.relkind FROM pg_class c WHERE c.oid = target);
    utc       CONSTANT text := 'YYYY-MM-DD HH24:MI:SS "UTC"';
    advised   record;
    templates record;
    changes   jsonb[];
    total     jsonb;
BEGIN
    IF top <= 0 THEN
        RAISE 'top must be greater than 0' USING ERRCODE = 'invalid_parameter_value';
    ELSIF kind IS DISTINCT FROM 'i' THEN
        PERFORM ff_internal.checked_table(target);
    END IF;
    WITH advice AS MATERIALIZED (
        SELECT a.*, row_number() OVER (ORDER BY a.facts IS NULL, a.is_index, a.rank) AS place FROM ff_internal.plan_advice(target) a
    ), count AS (
        SELECT a.is_index, jsonb_object_agg(a.action, a.n) AS by_action
          FROM (SELECT v.is_index, v.action, count(*) AS n FROM advice v GROUP BY v.is_index, v.action) a GROUP BY a.is_index
    )
    SELECT array_remove(ARRAY(SELECT ff_internal.plan_change(a.relation, a.fillfactor, a.facts, a.new_bytes, a.rewrite, a.why)
                                FROM advice a WHERE a.facts IS NOT NULL AND (a.place > top) IS NOT TRUE), NULL) AS changes,
           (SELECT c.by_action FROM count c WHERE NOT c.is_index) AS tables, (SELECT c.by_action FROM count c WHERE c.is_index) AS indexes,
           (SELECT count(*) FROM advice a WHERE a.facts IS NOT NULL AND a.place > top) AS left_out
      INTO advised;
    -- one partition stands for itself
    SELECT * INTO templates FROM ff_internal.plan_templates(advised.changes, kind = 'p' OR target IS NULL);
    changes := ARRAY(SELECT c FROM unnest(advised.changes || templates.more) c
                      ORDER BY c->>'kind' = 'index', (c->'effect'->>'size_bytes')::bigint NULLS FIRST, c->>'relation');
    total := ff_internal.plan_total(changes);
    RETURN jsonb_build_object(
        'format', 1,
        'generator', 'fillfactor_advisor ' || (SELECT e.extversion FROM pg_extension e WHERE e.extname = 'fillfactor_advisor'),
        'database', current_database(), 'system_identifier', (SELECT s.system_identifier::text FROM ff_internal.server() s),
        'server', concat_ws(', ', nullif(current_setting('cluster_name'), ''), 'port ' || current_setting('port')),
        'server_version', current_setting('server_version'), 'client_encoding', pg_client_encoding(),
        'generated_at', to_char(clock_timestamp() AT TIME ZONE 'UTC', utc), 'generated_by', current_user,
        'collected', (SELECT jsonb_build_object('collections', count(*), 'from', to_char(min(o.began_at) AT TIME ZONE 'UTC', utc),
                                                'to', to_char(max(o.began_at) AT TIME ZONE 'UTC', utc))
                        FROM ff_internal.collection o
                       WHERE o.began_at > now() - make_interval(secs => ff_internal.setting('lookback')::integer)),
        'asked_for', coalesce(ff_internal.qualified_name(target), 'all tables'),
        'examined', coalesce(advised.tables, '{}'), 'indexes_examined', coalesce(advised.indexes, '{}'), 'left_out', advised.left_out,
        'run_as', (SELECT coalesce(jsonb_agg(DISTINCT c->'owner'), '[]') FROM unnest(changes) c), 'guard', ff_internal.script_guard(),
        'total', total, 'wal_bytes', total->'rewrite_wal_bytes', 'io_rate', (SELECT to_jsonb(i) FROM ff_internal.io_rate() i),
        'cautions', (SELECT coalesce(jsonb_agg(w), '[]') FROM ff_internal.cautions((total->>'rewrite_wal_bytes')::bigint) w),
        'changes', to_jsonb(changes), 'templates', to_jsonb(templates.templates));
END
$$;

CREATE FUNCTION @extschema@.ff_script_json(relation regclass DEFAULT NULL, rewrite boolean DEFAULT false, top integer DEFAULT NULL)
RETURNS jsonb
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT ff_internal.plan(relation, top) || jsonb_build_object('rewrites_live', coalesce(rewrite, false))
$$;
COMMENT ON FUNCTION @extschema@.ff_script_json(regclass, boolean, integer) IS
'What ff_script() says, for tools. guard: statements that a session runs first. changes: in the order in which to run them, each with statement and undo as they are, guarded_statement and guarded_undo (calls of the guard, which refuse with a warning where the relation is no longer what the advice was for; all four null for an index that is only to be rebuilt, action rebuild), options_before and options_after exactly as stored, provisional (watched for less than a day), effect (bytes, percent), rewrite (wanted, reason, method chosen, methods with disk, WAL and time; io_known: the time includes reading and writing). total: what the changes bring together that are not provisional. templates: for new partitions. cautions: sentences. rewrites_live repeats the argument. Errors as of ff_script().';

-- ---------------------------------------------------------------------------
-- The script
-- ---------------------------------------------------------------------------
-- Bytes saved: '12 MB less', or more.
CREATE FUNCTION ff_internal.less_or_more(saved numeric) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT pg_size_pretty(abs(round(saved))) || CASE WHEN saved < 0 THEN ' more' ELSE ' less' END
$$;

-- The expected effect of one change of a plan, in words; parts that are not known are left out.
CREATE FUNCTION ff_internal.script_effect(e jsonb) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT concat_ws('; ',
        ff_internal.less_or_more((e->>'wal_bytes_per_day_saved')::numeric) || ' WAL a day',
        'HOT ' || (e->>'hot_pct') || ' % -> ' || (e->>'predicted_hot_pct') || ' %',
        'WAL per update ' || (e->>'predicted_wal_pct') || ' % of today''s',
        'rows a page ' || (e->>'rows_per_page') || ' -> ' || (e->>'predicted_rows_per_page'),
        'size ' || pg_size_pretty((e->>'size_bytes')::bigint) || ' -> ' || pg_size_pretty((e->>'predicted_size_bytes')::bigint)
            || ' once all pages are filled so')
$$;

-- What all changes of a plan bring together, in words.
CREATE FUNCTION ff_internal.script_total(total jsonb) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT concat_ws(', ', format('%s changes', t.changes) || CASE WHEN t.provisional > 0 THEN format(' (%s of them provisional)', t.provisional) ELSE '' END,
                     'about ' || ff_internal.less_or_more(t.wal_bytes_per_day_saved) || ' WAL a day',
                     ff_internal.less_or_more(-t.disk_bytes_change) || ' disk',
                     CASE WHEN t.rewrites > 0 THEN CASE WHEN t.io_known THEN 'about ' ELSE 'at least ' END || ff_internal.span(t.rewrite_seconds) || ' of rewriting' END)
      FROM jsonb_to_record(total) t(changes integer, provisional integer, wal_bytes_per_day_saved numeric, disk_bytes_change numeric,
                                    rewrites integer, rewrite_seconds double precision, io_known boolean)
$$;

-- Numbers by action, in words.
CREATE FUNCTION ff_internal.script_counts(by_action jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT coalesce(string_agg(e.value || ' ' || e.key, ', ' ORDER BY e.key), 'none') FROM jsonb_each_text(by_action) e
$$;

-- How a shell calls psql for a database: what has an equals sign, or looks like an address, psql takes for a connection
-- string.
CREATE FUNCTION ff_internal.psql_command(database text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
    SELECT 'psql -X -d ' || ff_internal.shell_quoted(CASE WHEN database ~ '=|^postgres(ql)?://'
               THEN 'dbname=''' || regexp_replace(database, '([''\\])', '\\\1', 'g') || '''' ELSE database END)
$$;

-- What stands above the guard: what it is, what it brings, where it belongs, what it was made from, and how to run it.
CREATE FUNCTION ff_internal.script_header(plan jsonb, rewrites text) RETURNS SETOF text
LANGUAGE sql STABLE ROWS 12
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT '-- ' || ff_internal.plain(l.line)
      FROM (SELECT ff_internal.psql_command(ff_internal.plain(plan->>'database')), plan->'changes' <> '[]', plan->'collected') p(psql, changes, collected)
     CROSS JOIN LATERAL unnest(ARRAY[
           format('%s: changes for %s, to be read before they are run', plan->>'generator', plan->>'asked_for'),
           format('database:  %s of cluster %s (%s), PostgreSQL %s', plan->>'database', plan->>'system_identifier', plan->>'server', plan->>'server_version'),
           format('generated: %s by %s', plan->>'generated_at', plan->>'generated_by'),
           'evidence:  ' || coalesce(format('%s collections, ', p.collected->>'collections') || (p.collected->>'from') || ' to ' || (p.collected->>'to'), 'none yet'),
           'examined:  tables: ' || ff_internal.script_counts(plan->'examined') || '; indexes: ' || ff_internal.script_counts(plan->'indexes_examined')] ||
           CASE WHEN p.changes THEN ARRAY[
           'brings:    ' || ff_internal.script_total(plan->'total') || CASE WHEN plan->>'left_out' <> '0' THEN format('; %s more are left out', plan->>'left_out') ELSE '' END,
           'run as:    a superuser, or a member of the owners: ' || (SELECT string_agg(o, ', ') FROM jsonb_array_elements_text(plan->'run_as') o),
           'how:       ' || p.psql || ' -f FILE',
           CASE WHEN plan->'total'->>'provisional' <> '0'
                THEN 'all:       sed ''s/^--provisional //'' FILE | ' || p.psql || ', also what was watched for less than a day' END,
           format('rewrites:  sed -n ''1,/^-- Changes/p; s/^%s//p'' FILE | ', rewrites) || p.psql,
           'undo:      sed -n ''1,/^-- Changes/p; s/^--undo //p'' FILE | ' || p.psql]
           ELSE ARRAY['Nothing is to be changed. ff_advise() and ff_advise_indexes() give the reason for each table and index.'] END
           || ARRAY(SELECT 'caution:   ' || t FROM jsonb_array_elements_text(plan->'cautions') t WHERE p.changes)) l(line)
     WHERE l.line IS NOT NULL
$$;

-- The lines of one change: a comment of what, why and what it brings, the call that makes it, and the one that takes it
-- back, as a comment.
CREATE FUNCTION ff_internal.script_change(c jsonb, n bigint, total bigint) RETURNS SETOF text
LANGUAGE sql STABLE ROWS 7
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT l.line FROM unnest(ARRAY['',
        format('-- %s of %s: %s, fillfactor %s -> %s (%s)', n, total, c->>'relation', c->>'fillfactor', c->>'recommended_fillfactor',
               concat_ws(', ', c->>'cause', 'confidence ' || (c->>'confidence'), CASE WHEN (c->>'provisional')::boolean THEN 'provisional' END)),
        '--   why:     ' || ff_internal.plain(c->>'reason'),
        '--   brings:  ' || nullif(ff_internal.script_effect(c->'effect'), ''),
        '--   rewrite: ' || ff_internal.plain(c->'rewrite'->>'reason') || '; by ' || (c->'rewrite'->>'method') || ', see below',
        CASE WHEN (c->>'provisional')::boolean THEN '--provisional ' ELSE '' END || (c->>'guarded_statement'),
        '--undo ' || (c->>'guarded_undo')]) l(line) WHERE l.line IS NOT NULL
$$;

-- The lines of one rewrite: its ways as comments, and the guarded statement of the one chosen, each line behind prefix.
CREATE FUNCTION ff_internal.script_rewrite(c jsonb, prefix text) RETURNS SETOF text
LANGUAGE sql STABLE ROWS 10
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
    WITH way AS MATERIALIZED (
        SELECT w.place, m.*, m.method = c->'rewrite'->>'method' AS chosen
          FROM jsonb_array_elements(c->'rewrite'->'methods') WITH ORDINALITY w(way, place)
         CROSS JOIN jsonb_to_record(w.way) m(method text, possible boolean, why text, statement text, runs_in text, lock text,
                                             disk_bytes bigint, free_bytes bigint, wal_bytes bigint, seconds double precision, io_known boolean)
    )
    SELECT '' UNION ALL
    SELECT '-- ' || (c->>'relation') || ': ' || ff_internal.plain(c->'rewrite'->>'reason') UNION ALL
    (SELECT l FROM way w CROSS JOIN LATERAL unnest(ARRAY[
            format('--   %s %s: %s; ', CASE WHEN w.chosen THEN '*' WHEN w.possible THEN '+' ELSE '-' END, w.method, w.why)
                || CASE WHEN w.chosen THEN format('disk %s of %s free, WAL about %s, %s %s; ', pg_size_pretty(w.disk_bytes), pg_size_pretty(w.free_bytes),
                       pg_size_pretty(w.wal_bytes), CASE WHEN w.io_known THEN 'about' ELSE 'at least' END, ff_internal.span(w.seconds)) ELSE '' END || w.lock,
            CASE WHEN w.possible AND w.chosen IS NOT TRUE THEN '--       ' || w.statement END]) l
      WHERE l IS NOT NULL ORDER BY w.place) UNION ALL
    SELECT prefix || l FROM way w
     CROSS JOIN LATERAL (SELECT format('pg_temp.ff_rewrite(%s, %s, %s, %s, %s, %s', ff_internal.quoted_text(c->>'schema'), ff_internal.quoted_text(c->>'name'),
                                       ff_internal.quoted_text(c->>'identity'), ff_internal.quoted_text(ff_internal.text_array(c->'options_after')),
                                       c->>'relfilenode', ff_internal.quoted_text(w.statement))) x(call)
     CROSS JOIN LATERAL unnest(CASE w.runs_in WHEN 'psql' THEN ARRAY['SELECT ' || x.call || ') \gexec']
            ELSE ARRAY['\set ff_go off', 'SELECT count(*) > 0 AS ff_go FROM ' || x.call || ') \gset', '\if :ff_go', '\! ' || w.statement || ' </dev/null',
                       'SELECT count(*) > 0 AS ff_go FROM ' || x.call || ', true) \gset', '\endif'] END) l
     WHERE w.chosen
$$;

-- A plan as lines of a psql script.
CREATE FUNCTION ff_internal.script(plan jsonb, rewrite boolean) RETURNS SETOF text
LANGUAGE plpgsql STABLE ROWS 100
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
DECLARE
    changes  CONSTANT jsonb[] := ARRAY(SELECT c FROM jsonb_array_elements(plan->'changes') c WHERE c->>'statement' IS NOT NULL);
    rewrites CONSTANT jsonb[] := ARRAY(SELECT c FROM jsonb_array_elements(plan->'changes') c WHERE (c->'rewrite'->>'wanted')::boolean);
    prefix   CONSTANT text := CASE WHEN rewrite THEN '' ELSE '--rewrite ' END;
    finish   CONSTANT text := 'CALL pg_temp.ff_end(); RESET lock_timeout; RESET statement_timeout; RESET client_min_messages; RESET search_path;';
BEGIN
    RETURN QUERY SELECT ff_internal.script_header(plan, CASE WHEN rewrites <> '{}' THEN nullif(prefix, '') END);
    IF plan->'changes' = '[]' THEN
        RETURN;
    END IF;
    RETURN QUERY SELECT unnest(ARRAY['',
        '-- Guard: each change refuses with a warning where something is no longer as it was, and gives up after 5 tries of 2 s',
        '-- for its lock (SHARE UPDATE EXCLUSIVE: readers and writers go on); the rest goes on. Run again, it changes nothing',
        '-- that is in force.', '\set ON_ERROR_STOP on \set AUTOCOMMIT on \set QUIET on', '\encoding ' || (plan->>'client_encoding')]);
    RETURN QUERY SELECT string_to_table(plan->>'guard', E'\n');
    RETURN QUERY SELECT string_to_table(ff_internal.rewrite_guard(), E'\n') WHERE rewrites <> '{}';
    RETURN NEXT '';
    RETURN NEXT '-- Changes' || CASE WHEN changes = '{}' THEN ': of no option; only what the rewrites below name is rebuilt' ELSE '' END;
    RETURN QUERY SELECT l FROM unnest(changes) WITH ORDINALITY c(c, n), ff_internal.script_change(c.c, c.n, cardinality(changes)) l;
    RETURN QUERY SELECT l FROM jsonb_array_elements(plan->'templates') t, unnest(ARRAY['',
        format('-- New partitions of %s should be as %s is (%s of %s partitions change); a partitioned table itself takes no fillfactor:',
               t->>'parent', t->>'as', t->>'changed', t->>'partitions'),
        '--   ' || (t->>'statement') || CASE WHEN t->>'managed_by' IS NOT NULL THEN ' (pg_partman does so by its template table)' ELSE '' END]) l;
    IF rewrites <> '{}' THEN
        RETURN NEXT '';
        RETURN NEXT '-- Rewrites: how changes reach pages that are there already, and indexes to be rebuilt as they are. One at a time, at a quiet hour.';
        RETURN QUERY SELECT prefix || v FROM unnest(ARRAY['\set ON_ERROR_STOP off', '\setenv PGHOST :HOST \setenv PGPORT :PORT \setenv PGUSER :USER \setenv PGDATABASE :DBNAME']) v;
        RETURN QUERY SELECT l FROM unnest(rewrites) c,
                            ff_internal.script_rewrite(c, CASE WHEN rewrite AND (c->>'provisional')::boolean THEN '--provisional ' ELSE prefix END) l;
        RETURN NEXT prefix || '\set ON_ERROR_STOP on';
        RETURN QUERY SELECT prefix || finish WHERE NOT rewrite;
    END IF;
    RETURN NEXT '';
    RETURN NEXT finish;
    RETURN NEXT '--undo ' || finish;
END
$$;

CREATE FUNCTION @extschema@.ff_script(relation regclass DEFAULT NULL, rewrite boolean DEFAULT false, top integer DEFAULT NULL)
RETURNS SETOF text
LANGUAGE sql VOLATILE ROWS 100
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT ff_internal.script(ff_internal.plan(relation, top), coalesce(rewrite, false))
$$;
COMMENT ON FUNCTION @extschema@.ff_script(regclass, boolean, integer) IS
'The advice for one table, the partitions of one, or all, as lines of a psql script: write them to a file with psql -XAt, read it, and run it with psql -X -f.
relation: the table; NULL all. rewrite: true also runs the rewrites that bring a change to old pages, false leaves them as comments. top: only as many changes, of which most is gained; NULL all.
It begins with a guard, defined once; then each change is a comment of what, why and what it brings, one call, and as a comment the call that takes it back. A call refuses with a warning where database, relation, name or options are not those that the advice was for, gives up after 5 tries of 2 s for its lock, and changes nothing where it is in force already. Changes that were watched for less than a day are provisional, and comments.
Errors: 42P01 unknown OID, 42809 not a table or index that can be advised, 22023 top below 1.';
