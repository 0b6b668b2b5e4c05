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
-- Sources of the guard.  They know a relation by schema_name, relation_name and identity: a table's OID; for an index
-- its table's and the numbers of its columns, as REINDEX CONCURRENTLY gives it another OID.
-- look: the query that gives refusal, options (as stored) and file.  change: PL/pgSQL that runs statement where options
-- are still those of before, and leaves a verdict; {look} in it stands for the query.  tell: a block that counts the
-- verdict and reports it.
CREATE FUNCTION ff_internal.guard_sources(OUT look text, OUT change text, OUT tell text)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $sources$
    SELECT replace(replace($look$    SELECT CASE WHEN current_database() <> {database} OR s.system_identifier <> {system}
                THEN 'refused: made for another database or server'
                WHEN r.who IS NOT NULL THEN NULL
                WHEN EXISTS (SELECT FROM pg_class o WHERE o.oid::text = identity) THEN 'refused: it has another name now'
                ELSE 'refused: it is gone' END AS refusal, r.reloptions AS options, r.relfilenode AS file
      FROM pg_control_system() s LEFT JOIN (
           SELECT c.reloptions, c.relfilenode, concat_ws(' ', coalesce(i.indrelid, c.oid), i.indkey) AS who
             FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_index i ON i.indexrelid = c.oid
            WHERE n.nspname = schema_name AND c.relname = relation_name) r ON r.who = identity$look$,
               '{system}', (SELECT s.system_identifier::text FROM ff_internal.server() s)),
               '{database}', ff_internal.quoted_text(current_database()::text)),
$change$    FOR try IN 1 .. 5 LOOP
        SELECT * INTO seen FROM {look};
        verdict := CASE WHEN seen.refusal IS NOT NULL THEN seen.refusal
                        WHEN seen.options IS NOT DISTINCT FROM after THEN 'unchanged: already in force'
                        WHEN seen.options IS DISTINCT FROM before THEN 'refused: its options were changed since the advice' END;
        EXIT WHEN verdict IS NOT NULL;
        BEGIN
            EXECUTE statement;
            SELECT * INTO seen FROM {look};
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
$change$, replace($tell$DECLARE
    kind CONSTANT pg_catalog.text := 'ff_script.' || split_part(verdict, ':', 1);
    said CONSTANT pg_catalog.text := regexp_replace(format('%I.%I: %s', schema_name, relation_name, verdict), {unprintable}, '?', 'g');
BEGIN
    PERFORM set_config(kind, (coalesce(nullif(current_setting(kind, true), ''), '0')::integer + 1)::text, false);
    IF kind = 'ff_script.refused' THEN RAISE WARNING '%', said; ELSE RAISE NOTICE '%', said; END IF;
END$tell$, '{unprintable}', quote_literal(ff_internal.unprintable()))
$sources$;

-- One change of a plan within its guard, as a DO statement that needs nothing else. before, after: stored options as text.
CREATE FUNCTION ff_internal.guarded(c jsonb, before text, after text, statement text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT ff_internal.do_block(concat(
        'DECLARE', (SELECT string_agg(format(E'\n    %s := %s;', v.name, ff_internal.quoted_text(v.value)), '' ORDER BY v.place)
                      FROM (VALUES (1, 'schema_name pg_catalog.text', c->>'schema'), (2, 'relation_name pg_catalog.text', c->>'name'),
                                   (3, 'identity pg_catalog.text', c->>'identity'), (4, 'before pg_catalog.text[]', before),
                                   (5, 'after pg_catalog.text[]', after), (6, 'statement pg_catalog.text', statement)) v(place, name, value)),
        E'\n    seen pg_catalog.record;\n    verdict pg_catalog.text;\nBEGIN\n',
        E'    PERFORM pg_catalog.set_config(''search_path'', ''pg_catalog, pg_temp'', true);\n    SET LOCAL lock_timeout = ''2s'';\n',
        replace(g.change, '{look}', E'(\n' || g.look || ') l'), g.tell, E';\nEND'))
      FROM ff_internal.guard_sources() g
$$;

-- The lines with which the script begins, and each part of it that is run by itself: settings, the guard as functions of
-- the session, and that of rewrites where there are any.
CREATE FUNCTION ff_internal.script_guard(client_encoding text, rewrites boolean) RETURNS SETOF text
LANGUAGE sql STABLE ROWS 60
SET search_path = pg_catalog, pg_temp
AS $guard$
    SELECT string_to_table(concat_ws(E'\n',
        '\set ON_ERROR_STOP on \set AUTOCOMMIT on \set QUIET on',
        '\encoding ' || client_encoding,
        'SET search_path = pg_catalog, pg_temp; SET client_min_messages = notice; SET statement_timeout = 0; SET lock_timeout = ''2s'';',
        'SET ff_script.done = 0; SET ff_script.unchanged = 0; SET ff_script.refused = 0;',
        ff_internal.do_block($body$BEGIN
    IF pg_is_in_recovery() THEN RAISE 'this server is a standby: run the script on its primary'; END IF;
    IF statement_timestamp() <> transaction_timestamp() THEN
        RAISE 'a transaction is open: run the script with psql -X -f, without --single-transaction';
    END IF;
END$body$),
        'CREATE OR REPLACE FUNCTION pg_temp.ff_look(schema_name text, relation_name text, identity text, OUT refusal text, OUT options text[], OUT file oid)',
        'LANGUAGE sql SET search_path = pg_catalog, pg_temp AS ' || ff_internal.dollar_quoted(g.look) || ';',
        'CREATE OR REPLACE FUNCTION pg_temp.ff_tell(schema_name text, relation_name text, verdict text) RETURNS void',
        'LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS ' || ff_internal.dollar_quoted(g.tell) || ';',
        'CREATE OR REPLACE PROCEDURE pg_temp.ff_change(schema_name text, relation_name text, identity text, before text[], after text[], statement text)',
        'LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = ''2s'' AS ' || ff_internal.dollar_quoted(
            E'DECLARE\n    seen record;\n    verdict text;\nBEGIN\n'
            || replace(g.change, '{look}', 'pg_temp.ff_look(schema_name, relation_name, identity)')
            || E'    PERFORM pg_temp.ff_tell(schema_name, relation_name, verdict);\nEND') || ';',
        CASE WHEN rewrites THEN
            'CREATE OR REPLACE FUNCTION pg_temp.ff_rewrite(schema_name text, relation_name text, identity text, wanted text[], file oid, statement text, '
            || E'was_run boolean DEFAULT false)\nRETURNS SETOF text LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS '
            || ff_internal.dollar_quoted($body$DECLARE
    seen record;
    verdict text;
BEGIN
    SELECT * INTO seen FROM pg_temp.ff_look(schema_name, relation_name, identity);
    verdict := CASE WHEN seen.refusal IS NOT NULL THEN seen.refusal
                    WHEN seen.options IS DISTINCT FROM wanted THEN 'refused: its options are not those advised'
                    WHEN seen.file <> ff_rewrite.file THEN CASE WHEN was_run THEN 'done: ' || statement ELSE 'unchanged: rewritten already' END
                    WHEN was_run THEN 'refused: not rewritten, see the messages above' END;
    IF verdict IS NULL THEN
        RETURN NEXT statement;
        RETURN NEXT format('DO %L', format('BEGIN PERFORM pg_temp.ff_rewrite(%L, %L, %L, %L, %L, %L, true); END',
                                           schema_name, relation_name, identity, wanted, file, statement));
    ELSE
        PERFORM pg_temp.ff_tell(schema_name, relation_name, verdict);
    END IF;
END$body$) || ';' END,
        'CREATE OR REPLACE PROCEDURE pg_temp.ff_end() LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS ' || ff_internal.dollar_quoted($body$DECLARE
    refused CONSTANT text := current_setting('ff_script.refused');
BEGIN
    RAISE NOTICE '% done, % unchanged, % refused', current_setting('ff_script.done'), current_setting('ff_script.unchanged'), refused;
    IF refused <> '0' THEN
        RAISE '% refused, for the reasons in the warnings above', refused
            USING HINT = 'The others are in force. What was locked can be run again; for the rest, generate the script anew.';
    END IF;
END$body$) || ';'), E'\n')
      FROM ff_internal.guard_sources() g
$guard$;

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
        SELECT c.oid, c.relkind, c.reloptions AS before, c.relfilenode, n.nspname, c.relname, r.rolname, i.indrelid, i.indkey::text AS indkey,
               CASE WHEN fillfactor IS NULL THEN c.reloptions
                    ELSE ff_internal.options_after(c.reloptions, ARRAY['fillfactor=' || fillfactor]) END AS after
          FROM pg_class c
          JOIN pg_namespace n ON n.oid = c.relnamespace
          JOIN pg_roles r ON r.oid = c.relowner
          LEFT JOIN pg_index i ON i.indexrelid = c.oid
         WHERE c.oid = target
    ), change AS (
        SELECT c.*, facts || jsonb_build_object(
                   'kind', CASE c.relkind WHEN 'i' THEN 'index' WHEN 'm' THEN 'materialized view' ELSE 'table' END,
                   'relation', ff_internal.qualified_name(c.oid), 'schema', c.nspname, 'name', c.relname,
                   'oid', c.oid::text, 'table_oid', c.indrelid::text, 'indkey', c.indkey,
                   'identity', concat_ws(' ', coalesce(c.indrelid, c.oid), c.indkey), 'relfilenode', c.relfilenode::text,
                   'owner', c.rolname, 'recommended_fillfactor', coalesce(fillfactor, (facts->>'fillfactor')::integer),
                   'options_before', to_jsonb(c.before), 'options_after', to_jsonb(c.after)) AS told,
               ff_internal.alter_options(c.oid, ARRAY['fillfactor=' || fillfactor]) AS statement,
               ff_internal.restore_options(c.oid, c.before, c.after) AS undo
          FROM relation c
    )
    SELECT c.told || jsonb_build_object(
               'statement', c.statement, 'undo', c.undo,
               'lock', CASE WHEN fillfactor IS NOT NULL THEN 'SHARE UPDATE EXCLUSIVE for a moment: readers and writers go on' END,
               'guarded_statement', CASE WHEN fillfactor IS NOT NULL
                                         THEN ff_internal.guarded(c.told, c.before::text, c.after::text, c.statement) END,
               'guarded_undo', CASE WHEN fillfactor IS NOT NULL
                                    THEN ff_internal.guarded(c.told, c.after::text, c.before::text, c.undo) END,
               'rewrite', jsonb_build_object('wanted', wants_rewrite, 'reason', rewrite_reason,
                   'method', CASE WHEN wants_rewrite THEN w.methods->w.chosen->'method' END, 'methods', coalesce(w.methods, '[]')))
      FROM change c
     CROSS JOIN LATERAL (
           SELECT jsonb_agg(to_jsonb(m) - 'place' ORDER BY m.place),
                  (min(m.place) FILTER (WHERE m.possible) - 1)::integer
             FROM (SELECT r.*, row_number() OVER () AS place FROM ff_internal.rewrites(c.oid, new_bytes) r) m) w(methods, chosen)
$$;

-- The changes advised for tables, small to large; how many tables were examined, by action; and how many changes were
-- left out, as only the top ones, of which most is gained, were asked for.
CREATE FUNCTION ff_internal.plan_tables(target regclass, top integer, OUT changes jsonb[], OUT examined jsonb, OUT left_out bigint)
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    -- what a raise must save of a table, to be worth a rewrite (chosen)
    WITH constant AS (
        SELECT 0.1 AS worth
    ), asked AS (
        SELECT NULL::regclass AS relation WHERE target IS NULL
        UNION ALL
        SELECT t.relid FROM pg_class c CROSS JOIN LATERAL pg_partition_tree(target) t WHERE c.oid = target AND c.relkind = 'p' AND t.isleaf
        UNION ALL
        SELECT target FROM pg_class c WHERE c.oid = target AND c.relkind NOT IN ('p', 'i')
    ), advised AS MATERIALIZED (
        SELECT a.*, a.action IN ('lower', 'raise') AS changes,
               CASE WHEN a.action IN ('lower', 'raise') THEN to_jsonb(a) END AS told
          FROM asked s CROSS JOIN LATERAL ff_internal.advice(s.relation, 2147483647) a
    ), chosen AS MATERIALIZED (
        SELECT a.*, row_number() OVER (ORDER BY a.gain DESC NULLS LAST, a.relation) AS place,
               CASE WHEN a.action = 'raise' THEN a.predicted_size_bytes < a.size_bytes * (1 - k.worth) ELSE coalesce(a.needs_rewrite, true) END AS rewrite,
               (SELECT i.inhparent FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid AND c.relispartition WHERE i.inhrelid = a.relation) AS parent
          FROM advised a, constant k WHERE a.changes
    ), planned AS (
        SELECT c.relation, c.size_bytes, ff_internal.plan_change(c.relation, c.recommended_fillfactor,
            (SELECT jsonb_object_agg(f.key, f.value) FROM jsonb_each(c.told) f
              WHERE f.key IN ('action', 'cause', 'confidence', 'fillfactor', 'reason', 'updates_per_s', 'observed', 'provisional'))
                || jsonb_build_object('parent', c.parent::text, 'effect',
                   (SELECT jsonb_object_agg(f.key, f.value) FROM jsonb_each(c.told) f
                     WHERE f.key IN ('hot_pct', 'predicted_hot_pct', 'rows_per_page', 'predicted_rows_per_page', 'size_bytes', 'predicted_size_bytes',
                                     'predicted_wal_pct', 'gain_pct', 'wal_bytes_per_day_saved', 'disk_bytes_change', 'cpu_seconds_per_day_saved'))),
            c.predicted_size_bytes, c.rewrite,
            CASE WHEN c.action = 'raise' AND c.rewrite
                 THEN format('gives back %s at once; without it, new rows fill up the old pages by and by', pg_size_pretty(c.size_bytes - c.predicted_size_bytes))
                 WHEN c.action = 'raise' THEN 'not worth it: it would give back next to nothing'
                 WHEN c.rewrite THEN 'updates fall on old pages, which keep their density until they are rewritten'
                 ELSE 'nothing to do: updates fall on new pages, and those are filled as advised from now on' END) AS change
          FROM chosen c WHERE (c.place > top) IS NOT TRUE
    )
    SELECT (SELECT coalesce(array_agg(p.change ORDER BY p.size_bytes NULLS FIRST, p.relation), '{}') FROM planned p WHERE p.change IS NOT NULL),
           (SELECT coalesce(jsonb_object_agg(e.action, e.tables), '{}') FROM (SELECT a.action, count(*) AS tables FROM advised a GROUP BY a.action) e),
           (SELECT count(*) FROM chosen c WHERE c.place > top)
$$;

-- The same for indexes, by what their pages show now.
CREATE FUNCTION ff_internal.plan_indexes(target regclass, top bigint, OUT changes jsonb[], OUT examined jsonb, OUT left_out bigint)
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH advised AS MATERIALIZED (
        SELECT i.*, i.action IN ('lower', 'raise', 'rebuild') AS changes,
               -- ascending keys fill new pages anyway
               i.action = 'rebuild' OR i.cause = 'never_written' AS rewrite
          FROM ff_internal.judge_indexes(target) i
    ), chosen AS MATERIALIZED (
        SELECT a.*, row_number() OVER (ORDER BY a.size_bytes - a.predicted_size_bytes DESC, a.index) AS place FROM advised a WHERE a.changes
    ), planned AS (
        SELECT c.index, c.size_bytes, ff_internal.plan_change(c.index, CASE WHEN c.action <> 'rebuild' THEN c.recommended_fillfactor END,
            jsonb_build_object('action', c.action, 'cause', c.cause, 'fillfactor', c.fillfactor, 'reason', c.reason,
                'effect', jsonb_build_object('leaf_density', c.leaf_density, 'size_bytes', c.size_bytes, 'predicted_size_bytes', c.predicted_size_bytes,
                                             'disk_bytes_change', c.predicted_size_bytes - c.size_bytes)),
            c.predicted_size_bytes, c.rewrite,
            CASE WHEN c.action = 'rebuild' THEN c.reason WHEN c.rewrite THEN 'only a rebuild packs it'
                 ELSE 'nothing to do: new keys go to new pages, which are filled as advised from now on' END) AS change
          FROM chosen c WHERE (c.place > top) IS NOT TRUE
    )
    SELECT (SELECT coalesce(array_agg(p.change ORDER BY p.size_bytes NULLS FIRST, p.index), '{}') FROM planned p WHERE p.change IS NOT NULL),
           (SELECT coalesce(jsonb_object_agg(e.action, e.indexes), '{}') FROM (SELECT a.action, count(*) AS indexes FROM advised a GROUP BY a.action) e),
           (SELECT count(*) FROM chosen c WHERE c.place > top)
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

-- What all changes of a plan bring that are not provisional: changes, provisional ones, WAL (bytes a day less, NULL
-- unknown), disk (bytes more), rewrites and what they write (bytes) and take (seconds, and whether all of that is known).
CREATE FUNCTION ff_internal.plan_total(changes jsonb[]) RETURNS jsonb
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT jsonb_build_object('changes', count(*), 'provisional', count(*) FILTER (WHERE NOT o.counts),
               'wal_bytes_per_day_saved', sum((o.c->'effect'->>'wal_bytes_per_day_saved')::numeric) FILTER (WHERE o.counts),
               'disk_bytes_change', sum((o.c->'effect'->>'disk_bytes_change')::numeric) FILTER (WHERE o.counts),
               'rewrites', count(m) FILTER (WHERE o.counts),
               'rewrite_wal_bytes', coalesce(sum((m->>'wal_bytes')::bigint), 0),
               'rewrite_seconds', sum((m->>'seconds')::double precision) FILTER (WHERE o.counts),
               'io_known', bool_and((m->>'io_known')::boolean) FILTER (WHERE o.counts))
      FROM (SELECT c, (c->>'provisional')::boolean IS NOT TRUE AS counts FROM unnest(changes) c) o
      LEFT JOIN LATERAL jsonb_array_elements(o.c->'rewrite'->'methods') m ON m->'method' = o.c->'rewrite'->'method'
$$;

-- All that ff_script() and ff_script_json() say: where and from what, changes in their order (small to large, tables
-- before indexes) with guard, undo, effect and ways to rewrite, templates for new partitions, cautions.
CREATE FUNCTION ff_internal.plan(target regclass, top integer) RETURNS jsonb
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    kind      CONSTANT "char" := (SELECT c.relkind FROM pg_class c WHERE c.oid = target);
    utc       CONSTANT text := 'YYYY-MM-DD HH24:MI:SS "UTC"';
    tables    record;
    indexes   record;
    templates record;
    changes   jsonb[];
    total     jsonb;
BEGIN
    IF target IS NOT NULL AND kind IS DISTINCT FROM 'i' THEN
        PERFORM ff_internal.checked_table(target);
    ELSIF top <= 0 THEN
        RAISE 'top must be greater than 0' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT * INTO tables FROM ff_internal.plan_tables(target, top);
    -- one partition stands for itself
    SELECT * INTO templates FROM ff_internal.plan_templates(tables.changes, kind = 'p' OR target IS NULL);
    SELECT * INTO indexes FROM ff_internal.plan_indexes(target, top - cardinality(tables.changes));
    SELECT coalesce(array_agg(c ORDER BY c->>'kind' = 'index', (c->'effect'->>'size_bytes')::bigint NULLS FIRST, c->>'relation'), '{}') INTO changes
      FROM unnest(tables.changes || templates.more || indexes.changes) c;
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
                        FROM ff_internal.collection o WHERE o.began_at > now() - make_interval(secs => ff_internal.setting('lookback')::integer)),
        'asked_for', coalesce(ff_internal.qualified_name(target), 'all tables'),
        'examined', tables.examined, 'indexes_examined', indexes.examined, 'left_out', tables.left_out + indexes.left_out,
        'run_as', (SELECT coalesce(jsonb_agg(DISTINCT c->'owner'), '[]') FROM unnest(changes) c),
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
'What ff_script() says, for tools. changes: in the order in which to run them, each with statement and undo as they are, guarded_statement and guarded_undo (DO statements that refuse with a warning where the relation is no longer what the advice was for; all four null for an index that is only to be rebuilt, action rebuild), options_before and options_after exactly as stored, provisional (watched less than a day), effect (bytes, percent), rewrite (wanted, reason, method chosen, methods with disk, WAL and time; io_known: the time includes reading and writing). total: what the changes bring together that are not provisional. templates: for new partitions. cautions: sentences. rewrites_live repeats the argument. Errors as of ff_script().';

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
CREATE FUNCTION ff_internal.script_effect(c jsonb) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT concat_ws('; ',
        ff_internal.less_or_more((e->>'wal_bytes_per_day_saved')::numeric) || ' WAL a day',
        'HOT ' || (e->>'hot_pct') || ' % -> ' || (e->>'predicted_hot_pct') || ' %',
        'WAL per update ' || (e->>'predicted_wal_pct') || ' % of today''s',
        'rows a page ' || (e->>'rows_per_page') || ' -> ' || (e->>'predicted_rows_per_page'),
        'size ' || pg_size_pretty((e->>'size_bytes')::bigint) || ' -> ' || pg_size_pretty((e->>'predicted_size_bytes')::bigint) || ' once all pages are filled so')
      FROM (SELECT c->'effect') AS x(e)
$$;

-- What all changes of a plan bring together, in words.
CREATE FUNCTION ff_internal.script_total(total jsonb) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT format('%s changes', t.changes) || CASE WHEN t.provisional > 0 THEN format(', %s of them provisional', t.provisional) ELSE '' END
           || coalesce(': ' || nullif(concat_ws(', ',
                'about ' || ff_internal.less_or_more(t.wal_bytes_per_day_saved) || ' WAL a day',
                ff_internal.less_or_more(-t.disk_bytes_change) || ' disk',
                CASE WHEN t.rewrites > 0
                     THEN CASE WHEN t.io_known THEN 'about ' ELSE 'at least ' END || ff_internal.span(t.rewrite_seconds) || ' of rewriting' END), ''), '')
      FROM jsonb_to_record(total) t(changes integer, provisional integer, wal_bytes_per_day_saved numeric, disk_bytes_change numeric,
                                    rewrites integer, rewrite_seconds double precision, io_known boolean)
$$;

-- The name of this database as psql takes it, for a shell: what has an equals sign, or looks like an address, psql takes
-- for a connection string.
CREATE FUNCTION ff_internal.psql_command(database text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
    SELECT 'psql -X -d ' || ff_internal.shell_quoted(
               CASE WHEN database ~ '=|^postgres(ql)?://' THEN 'dbname=''' || regexp_replace(database, '([''\\])', '\\\1', 'g') || '''' ELSE database END)
$$;

-- What stands above the guard: what it is, what it brings, where it belongs, what it was made from, and how to run it.
CREATE FUNCTION ff_internal.script_header(plan jsonb, rewrite boolean) RETURNS SETOF text
LANGUAGE sql STABLE ROWS 12
SET search_path = pg_catalog, pg_temp
AS $$
    WITH p AS (
        SELECT h.*, ff_internal.psql_command(ff_internal.plain(h.database)) AS psql, h.total->>'changes' <> '0' AS changes,
               '''1,/^-- Changes/p; s/^--%s //p'' FILE | ' AS pick
          FROM jsonb_to_record(plan) h(generator text, asked_for text, database text, system_identifier text, server text, server_version text,
                                       generated_at text, generated_by text, collected jsonb, examined jsonb, indexes_examined jsonb, left_out bigint,
                                       run_as jsonb, total jsonb, cautions jsonb)
    )
    SELECT '-- ' || ff_internal.plain(l.line) FROM p CROSS JOIN LATERAL (VALUES
        (1, format('%s: changes for %s, to be read before they are run', p.generator, p.asked_for)),
        (2, 'brings:    ' || CASE WHEN p.changes THEN ff_internal.script_total(p.total) END || CASE WHEN p.left_out > 0 THEN format('; %s more are left out', p.left_out) ELSE '' END),
        (3, format('database:  %s of cluster %s (%s), PostgreSQL %s', p.database, p.system_identifier, p.server, p.server_version)),
        (4, format('generated: %s by %s', p.generated_at, p.generated_by)),
        (5, 'evidence:  ' || coalesce(format('%s collections, ', p.collected->>'collections') || (p.collected->>'from') || ' to ' || (p.collected->>'to'), 'nothing collected yet')),
        (6, 'examined:  ' || coalesce((SELECT string_agg(e.value || ' ' || e.key, ', ' ORDER BY e.key) FROM jsonb_each_text(p.examined) e), 'no table')
                          || coalesce('; indexes: ' || (SELECT string_agg(e.value || ' ' || e.key, ', ' ORDER BY e.key) FROM jsonb_each_text(p.indexes_examined) e), '')),
        (7, CASE WHEN NOT p.changes THEN 'Nothing is to be changed. ff_advise() and ff_advise_indexes() give the reason for each table and index.' END),
        (8, 'run as:    a superuser, or a member of the owners: ' || CASE WHEN p.changes THEN (SELECT string_agg(o, ', ') FROM jsonb_array_elements_text(p.run_as) o) END),
        (9, 'how:       ' || CASE WHEN p.changes THEN p.psql END || ' -f FILE'),
        (10, 'rewrites:  ' || CASE WHEN NOT rewrite AND EXISTS (SELECT FROM jsonb_array_elements(plan->'changes') c WHERE (c->'rewrite'->>'wanted')::boolean)
                                   THEN 'sed -n ' || format(p.pick, 'rewrite') || p.psql END),
        (11, 'undo:      sed -n ' || CASE WHEN p.changes THEN format(p.pick, 'undo') || p.psql END),
        (12, 'provisional changes (watched for less than a day) are commented out; all: sed ''s/^--provisional //'' FILE | ' || CASE WHEN p.total->>'provisional' <> '0' THEN p.psql END)
        ) l(place, line) WHERE l.line IS NOT NULL
    UNION ALL
    SELECT '-- caution:   ' || ff_internal.plain(t) FROM p CROSS JOIN LATERAL jsonb_array_elements_text(p.cautions) t WHERE p.changes
$$;

-- The lines of one change: a comment of what, why and what it brings, the call that makes it, and as a comment the one that takes it back.
CREATE FUNCTION ff_internal.script_change(c jsonb, n bigint, total bigint) RETURNS SETOF text
LANGUAGE sql STABLE ROWS 7
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT l.line
      FROM (SELECT ff_internal.quoted_text(c->>'schema'), ff_internal.quoted_text(c->>'name'), ff_internal.quoted_text(c->>'identity'),
                   ff_internal.quoted_text(ff_internal.text_array(c->'options_before')), ff_internal.quoted_text(ff_internal.text_array(c->'options_after')))
           k(schema, name, identity, before, after)
     CROSS JOIN LATERAL (VALUES
        (''),
        (format('-- %s of %s: %s, fillfactor %s -> %s (%s)', n, total, c->>'relation', c->>'fillfactor', c->>'recommended_fillfactor',
                concat_ws(', ', c->>'cause', 'confidence ' || (c->>'confidence'), CASE WHEN (c->>'provisional')::boolean THEN 'provisional' END))),
        ('--   why:     ' || ff_internal.plain(c->>'reason')),
        ('--   brings:  ' || nullif(ff_internal.script_effect(c), '')),
        ('--   rewrite: ' || ff_internal.plain(c->'rewrite'->>'reason') || '; by ' || (c->'rewrite'->>'method') || ', see below'),
        (format('%sCALL pg_temp.ff_change(%s, %s, %s, %s, %s, %s);', CASE WHEN (c->>'provisional')::boolean THEN '--provisional ' END,
                k.schema, k.name, k.identity, k.before, k.after, ff_internal.quoted_text(c->>'statement'))),
        (format('--undo CALL pg_temp.ff_change(%s, %s, %s, %s, %s, %s);', k.schema, k.name, k.identity, k.after, k.before, ff_internal.quoted_text(c->>'undo')))
        ) l(line) WHERE l.line IS NOT NULL
$$;

-- The lines of one rewrite: its ways as comments, and the guarded statement of the one chosen, each line behind prefix.
CREATE FUNCTION ff_internal.script_rewrite(c jsonb, prefix text) RETURNS SETOF text
LANGUAGE plpgsql STABLE ROWS 10
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
DECLARE
    way  record;
    call text;
BEGIN
    RETURN NEXT '';
    RETURN NEXT '-- ' || (c->>'relation') || ': ' || ff_internal.plain(c->'rewrite'->>'reason');
    FOR way IN SELECT m.*, m.method = c->'rewrite'->>'method' AS chosen
                 FROM jsonb_to_recordset(c->'rewrite'->'methods') m(method text, possible boolean, why text, statement text, lock text, disk_bytes bigint,
                                                                    free_bytes bigint, wal_bytes bigint, seconds double precision, io_known boolean)
    LOOP
        RETURN NEXT format('--   %s %s: %s; %s', CASE WHEN way.chosen THEN '*' WHEN way.possible THEN '+' ELSE '-' END, way.method, way.why,
                           CASE WHEN way.chosen THEN format('disk %s of %s free, WAL about %s, %s %s; ', pg_size_pretty(way.disk_bytes),
                               pg_size_pretty(way.free_bytes), pg_size_pretty(way.wal_bytes), CASE WHEN way.io_known THEN 'about' ELSE 'at least' END,
                               ff_internal.span(way.seconds)) ELSE '' END || way.lock);
        IF way.possible AND way.chosen IS NOT TRUE THEN
            RETURN NEXT '--       ' || way.statement;
        END IF;
    END LOOP;
    SELECT m.* INTO way FROM jsonb_to_recordset(c->'rewrite'->'methods') m(method text, statement text, runs_in text) WHERE m.method = c->'rewrite'->>'method';
    call := format('pg_temp.ff_rewrite(%s, %s, %s, %s, %s, %s', ff_internal.quoted_text(c->>'schema'), ff_internal.quoted_text(c->>'name'),
                   ff_internal.quoted_text(c->>'identity'), ff_internal.quoted_text(ff_internal.text_array(c->'options_after')), c->>'relfilenode',
                   ff_internal.quoted_text(way.statement));
    IF way.runs_in = 'psql' THEN
        RETURN NEXT prefix || 'SELECT ' || call || ') \gexec';
    ELSIF way.runs_in = 'shell' THEN
        RETURN QUERY SELECT prefix || l FROM unnest(ARRAY['\set ff_go off', 'SELECT count(*) > 0 AS ff_go FROM ' || call || ') \gset', '\if :ff_go',
            '\! ' || way.statement || ' </dev/null', 'SELECT count(*) > 0 AS ff_go FROM ' || call || ', true) \gset', '\endif']) l;
    END IF;
END
$$;

-- A plan as lines of a psql script.
CREATE FUNCTION ff_internal.script(plan jsonb, rewrite boolean) RETURNS SETOF text
LANGUAGE plpgsql STABLE ROWS 100
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
DECLARE
    changes  CONSTANT jsonb[] := ARRAY(SELECT c FROM jsonb_array_elements(plan->'changes') c);
    rewrites CONSTANT jsonb[] := ARRAY(SELECT c FROM unnest(changes) c WHERE (c->'rewrite'->>'wanted')::boolean);
    total    CONSTANT bigint := (SELECT count(*) FROM unnest(changes) c WHERE c->>'statement' IS NOT NULL);
    prefix   CONSTANT text := CASE WHEN rewrite THEN '' ELSE '--rewrite ' END;
    finish   CONSTANT text := 'CALL pg_temp.ff_end(); RESET lock_timeout; RESET statement_timeout; RESET client_min_messages; RESET search_path;';
BEGIN
    RETURN QUERY SELECT ff_internal.script_header(plan, rewrite);
    IF changes = '{}' THEN
        RETURN;
    END IF;
    RETURN NEXT '';
    RETURN NEXT '-- Guard: each change refuses with a warning where something is no longer as it was, and gives up after 5 tries of 2 s for its';
    RETURN NEXT '-- lock (SHARE UPDATE EXCLUSIVE: readers and writers go on); the rest goes on. Run again, it changes only what is not in force.';
    RETURN QUERY SELECT ff_internal.script_guard(plan->>'client_encoding', rewrites <> '{}');
    RETURN NEXT '';
    RETURN NEXT '-- Changes' || CASE WHEN total = 0 THEN ': of no option; only what the rewrites below name is rebuilt' ELSE '' END;
    RETURN QUERY SELECT l FROM unnest(changes) WITH ORDINALITY c(c, n), ff_internal.script_change(c.c, c.n, total) l WHERE c.c->>'statement' IS NOT NULL;
    RETURN QUERY SELECT l FROM jsonb_array_elements(plan->'templates') t, unnest(ARRAY['',
        format('-- New partitions of %s should be as %s is (%s of %s partitions change); a partitioned table itself takes no fillfactor:',
               t->>'parent', t->>'as', t->>'changed', t->>'partitions'),
        '--   ' || (t->>'statement') || CASE WHEN t->>'managed_by' IS NOT NULL THEN ' (pg_partman does so by its template table)' ELSE '' END]) l;
    IF rewrites <> '{}' THEN
        RETURN NEXT '';
        RETURN NEXT '-- Rewrites: how the changes reach pages that are there already, and indexes to be rebuilt as they are. One at a time, when there is least to do.';
        RETURN NEXT prefix || '\set ON_ERROR_STOP off';
        RETURN QUERY SELECT prefix || v FROM unnest(ARRAY['\setenv PGHOST :HOST', '\setenv PGPORT :PORT', '\setenv PGUSER :USER', '\setenv PGDATABASE :DBNAME']) v
                      WHERE EXISTS (SELECT FROM unnest(rewrites) c WHERE c->'rewrite'->>'method' = 'pg_repack');
        RETURN QUERY SELECT l FROM unnest(rewrites) c, ff_internal.script_rewrite(c, CASE WHEN rewrite AND (c->>'provisional')::boolean THEN '--provisional ' ELSE prefix END) l;
        RETURN NEXT prefix || '\set ON_ERROR_STOP on';
        RETURN QUERY SELECT prefix || finish WHERE NOT rewrite;
    END IF;
    RETURN NEXT '';
    RETURN NEXT finish;
    RETURN NEXT '--undo ' || finish;
END
$$;

CREATE FUNCTION @extschema@.ff_script(relation regclass DEFAULT NULL, rewrite boolean DEFAULT false, top integer DEFAULT NULL) RETURNS SETOF text
LANGUAGE sql VOLATILE ROWS 100
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT ff_internal.script(ff_internal.plan(relation, top), coalesce(rewrite, false))
$$;
COMMENT ON FUNCTION @extschema@.ff_script(regclass, boolean, integer) IS
'The advice for one table, the partitions of one, or all, as lines of a psql script: write them to a file with psql -XAt, read it, and run it with psql -X -f.
relation: the table; NULL all. rewrite: true also runs the rewrites that bring a change to old pages, false leaves them as comments. top: only as many changes, those of which most is gained; NULL all.
It begins with a guard, defined once; then each change is a comment of what, why and what it brings, one call, and the call that takes it back as a comment. A call refuses with a warning where database, relation, name or options are not those that the advice was for, gives up after 5 tries of 2 s for its lock, and changes nothing where it is in force already. Changes watched for less than a day are provisional and commented out.
Errors: 42P01 unknown OID, 42809 not a table or index that can be advised, 22023 top below 1.';
