-- The advice as a psql script to review and run, and as JSON, both from one plan. Names are quoted and
-- control characters removed, so a line stays one line.

-- What a session runs first. It identifies a relation by {schema,name,identity}: a table's OID, or an index's table and
-- column numbers, because REINDEX CONCURRENTLY changes an index's OID.
CREATE FUNCTION ff_internal.script_guard() RETURNS text
LANGUAGE sql STABLE
RETURN (
    SELECT format($text$SET search_path = pg_catalog, pg_temp; SET lock_timeout = '2s'; SET statement_timeout = 0;
SET client_min_messages = notice; SET ff_script.told = ''; SET ff_script.made = %s;
DO $ff$ DECLARE made text := current_setting('ff_script.made'); here text := 'database ' || current_database(); BEGIN
    IF NOT has_function_privilege('pg_control_system()', 'EXECUTE') THEN made := split_part(made, ' of cluster ', 1);
    ELSIF made <> here THEN here := concat(here, ' of cluster ', (pg_control_system()).system_identifier); END IF;
    IF here <> made THEN RAISE 'refused: made for another database or server: %%, not %%', made, here;
    ELSIF pg_is_in_recovery() THEN RAISE 'this server is a standby: run the script on its primary';
    ELSIF statement_timestamp() <> transaction_timestamp() THEN
        RAISE 'a transaction is open: run the script with psql -X -f, without --single-transaction'; END IF; END $ff$;
CREATE OR REPLACE FUNCTION pg_temp.ff_state(who text[], before text[], after text[]) RETURNS text LANGUAGE sql
SET search_path = pg_catalog, pg_temp AS $ff$ SELECT coalesce((SELECT CASE
        WHEN c.reloptions IS NOT DISTINCT FROM after THEN 'unchanged: already in force'
        WHEN c.reloptions IS DISTINCT FROM before THEN format('refused: its options are %%s, expected were %%s',
            coalesce(c.reloptions::text, 'none'), coalesce(before::text, 'none')) ELSE '' END
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_index i ON i.indexrelid = c.oid
     WHERE (n.nspname, c.relname, concat_ws(' ', coalesce(i.indrelid, c.oid), i.indkey)) = (who[1], who[2], who[3])),
  (SELECT 'refused: renamed to ' || oid::regclass FROM pg_class WHERE oid::text = who[3]), 'refused: it is gone') $ff$;
CREATE OR REPLACE PROCEDURE pg_temp.ff_tell(who text[], verdict text) LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $ff$ DECLARE said text := regexp_replace(
    format('%%I.%%I: %%s', who[1], who[2], verdict), %s, '?', 'g'); BEGIN
    PERFORM set_config('ff_script.told', current_setting('ff_script.told') || left(verdict, 1), false);
    IF verdict ^@ 'refused' THEN RAISE WARNING '%%', said; ELSE RAISE NOTICE '%%', said; END IF; END $ff$;
CREATE OR REPLACE PROCEDURE pg_temp.ff_change(who text[], before text[], after text[], change text, undo text,
    take_back boolean) LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $ff$ DECLARE verdict text; BEGIN
    IF take_back THEN CALL pg_temp.ff_change(who, after, before, undo, change, false); RETURN; END IF;
    FOR try IN 1 .. 5 LOOP BEGIN
        verdict := pg_temp.ff_state(who, before, after); EXIT WHEN verdict <> '';
        EXECUTE change; -- undone if another session changed the table before the lock was held
        IF pg_temp.ff_state(who, before, after) !~ '^unchanged' THEN RAISE 'changed by somebody else meanwhile'; END IF;
        verdict := 'done: ' || change; EXIT;
    EXCEPTION WHEN lock_not_available THEN verdict := 'refused: locked, run this again later'; PERFORM pg_sleep(1);
              WHEN OTHERS THEN verdict := format('refused: %%s (SQLSTATE %%s)', SQLERRM, SQLSTATE); EXIT;
    END; END LOOP; CALL pg_temp.ff_tell(who, verdict); END $ff$;$text$,
               ff_internal.quoted_text(concat('database ', s.database, ' of cluster ' || s.cluster)),
               quote_literal(ff_internal.unprintable()))
      FROM ff_internal.server s);

-- Warnings for rewrites that write wal_bytes.
CREATE FUNCTION ff_internal.cautions(wal_bytes bigint) RETURNS SETOF text
LANGUAGE sql VOLATILE ROWS 10
AS $$
    WITH wal AS MATERIALIZED (
        SELECT CASE WHEN s.in_recovery THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END AS here
          FROM ff_internal.server s WHERE s.observed IS NULL
    )
    SELECT v.caution
      FROM ff_internal.server s
     CROSS JOIN LATERAL (VALUES
           (s.in_recovery, 'this server is a standby: run the script on its primary'),
           (s.observed IS NOT NULL, 'a mirror sees no free disk, subscribers and WAL kept for slots: look there before '
                                    'rewrites')) v(holds, caution)
     WHERE v.holds
    UNION ALL
    (SELECT concat_ws(', ', format('replication slot %s (%s, %s) holds back %s of WAL and that of rewrites',
                                   quote_ident(s.slot_name), s.slot_type,
                                   CASE WHEN s.active THEN 'active' ELSE 'not active' END,
                                   coalesce(pg_size_pretty(w.here - s.restart_lsn), 'none')),
                      'is lost once it is ' || pg_size_pretty(s.safe_wal_size) || ' more')
       FROM pg_replication_slots s, wal w ORDER BY s.slot_name)
    UNION ALL
    (SELECT format('standby or subscriber %s (%s, %s) is %s behind, and rewrites send it as much as they write',
                   quote_ident(a.application_name), coalesce(a.state, 'unknown'), coalesce(a.sync_state, 'unknown'),
                   coalesce(pg_size_pretty(w.here - a.replay_lsn), 'an unknown amount'))
       FROM pg_stat_replication a, wal w ORDER BY a.application_name LIMIT 20)
    UNION ALL
    SELECT 'storage options are not replicated logically: subscribers keep their own fillfactor'
      FROM wal WHERE EXISTS (SELECT FROM pg_publication)
    UNION ALL
    SELECT format('all rewrites together write about %s of WAL, and %s are free where the WAL is',
                  pg_size_pretty(wal_bytes), pg_size_pretty(d.free_bytes))
      FROM wal, ff_internal.free_bytes(NULL) d(free_bytes) WHERE wal_bytes > d.free_bytes / 2
$$;

-- Advised changes, tables before indexes, in the order of ff_advise(), and whether to rewrite each. If no table is
-- asked for, of indexes only those that free enough disk to be worth a change.
CREATE FUNCTION ff_internal.plan_advice(target regclass) RETURNS SETOF jsonb
LANGUAGE sql VOLATILE ROWS 1000
SET jit = off
BEGIN ATOMIC
    WITH advised AS (
        SELECT 1 AS kind, v.wal_saved AS wal, a.cpu_seconds_per_day_saved AS cpu,
               a.disk_bytes_change AS disk, a.relation::oid AS oid, a.action, to_jsonb(a) - 'ddl' || jsonb_build_object(
                   'wal_saved', v.wal_saved, 'wal_now', v.wal_now, 'saves', ff_internal.wal_saved(
                       v.wal_saved, ff_internal.updates_per_s(v.evidence), (v.evidence).window_s)) AS facts,
               a.needs_rewrite AS rewrite,
               CASE WHEN a.cause = 'few_updates'
                    THEN format('gives back %s at once; otherwise new rows fill the old pages only gradually',
                                pg_size_pretty(a.size_bytes - a.predicted_size_bytes))
                    ELSE 'old pages keep their density until then; by the model, it saves more than it costs'
               END AS reason
          FROM (SELECT NULL::regclass AS relation WHERE target IS NULL
                UNION ALL
                SELECT coalesce(t.relid, target)
                  FROM pg_class c
                  LEFT JOIN pg_partition_tree(target) t ON t.isleaf AND c.relkind = 'p'
                 WHERE c.oid = target AND c.relkind <> 'i') s
         CROSS JOIN LATERAL ff_internal.advice(s.relation) v
         CROSS JOIN LATERAL (SELECT (v.advice).*) a
         WHERE a.gain_pct IS NOT NULL
        UNION ALL
        SELECT 2, NULL, NULL, i.predicted_size_bytes - i.size_bytes, i.index, i.action,
               to_jsonb(i) - '{index,ddl}'::text[]
                   || jsonb_build_object('disk_bytes_change', i.predicted_size_bytes - i.size_bytes),
               i.action = 'rebuild' OR i.cause = 'never_written', 'only a rebuild packs it'
          FROM @extschema@.ff_advise_indexes(target) i
         WHERE i.action IN ('raise', 'rebuild')
           AND (target IS NOT NULL OR ff_internal.setting('min_worth') = 0
                OR i.size_bytes - i.predicted_size_bytes >= ff_internal.threshold('WORTH_DISK'))
    )
    SELECT a.facts || jsonb_build_object('oid', a.oid, 'rewrite',
               jsonb_build_object('wanted', a.rewrite, 'reason', CASE WHEN a.rewrite THEN a.reason END))
      FROM advised a
     ORDER BY a.kind, a.wal DESC NULLS LAST, a.cpu DESC NULLS LAST, a.disk, a.oid;
END;

-- One change of a plan; NULL if the relation is gone.
CREATE FUNCTION ff_internal.plan_change(facts jsonb) RETURNS jsonb
LANGUAGE sql VOLATILE
RETURN (
    SELECT facts || jsonb_build_object(
               'kind', CASE c.relkind WHEN 'i' THEN 'index' WHEN 'm' THEN 'materialized view' ELSE 'table' END,
               'relation', ff_internal.qualified_name(c.oid), 'who', i.who, 'relfilenode',
               coalesce(o.said->>'relfilenode', c.relfilenode::text), 'owner',
               coalesce(o.said->>'owner', CASE WHEN o.said IS NULL THEN r.rolname ELSE 'their owner' END),
               'options_before', b.options, 'options_after', a.options, 'statement', s.change,
               'undo', s.undo, 'guarded_statement', g.call || ', false);', 'guarded_undo', g.call || ', true);',
               'rewrite', facts->'rewrite' || jsonb_build_object('methods', coalesce(m.methods, '[]'), 'method',
                              jsonb_path_query_first(m.methods, '$[*] ? (@.possible == true).method')))
      FROM pg_class c
      JOIN pg_namespace n ON n.oid = c.relnamespace
      JOIN pg_roles r ON r.oid = c.relowner
      LEFT JOIN ff_internal.observed o ON o.kind IN ('table', 'index') AND o.id = c.oid
     CROSS JOIN LATERAL (SELECT CASE WHEN o.said IS NULL THEN c.reloptions
                                     ELSE ff_internal.text_array(o.said->'options') END) b(options)
     CROSS JOIN LATERAL (
           SELECT ARRAY[n.nspname, c.relname, coalesce(o.said->>'oid', concat_ws(' ', coalesce(max(x.indrelid), c.oid),
                                                                                 max(x.indkey::text)))]
             FROM pg_index x WHERE x.indexrelid = c.oid) i(who)
     CROSS JOIN LATERAL (
           -- a rebuild or a plain rewrite changes no option
           SELECT CASE facts->>'action' WHEN 'rebuild' THEN b.options WHEN 'keep' THEN b.options
                       WHEN 'undo' THEN ff_internal.text_array(facts->'options_after')
                       ELSE ff_internal.options_after(b.options, ARRAY[
                            'fillfactor=' || (facts->>'recommended_fillfactor')]) END) a(options)
     CROSS JOIN LATERAL (
           SELECT ff_internal.restore_options(c.oid, a.options, b.options),
                  ff_internal.restore_options(c.oid, b.options, a.options)) s(change, undo)
      LEFT JOIN LATERAL (
           SELECT 'CALL pg_temp.ff_change(' || string_agg(ff_internal.quoted_text(x.argument), ', ' ORDER BY x.n)
             FROM unnest(ARRAY[i.who::text, b.options::text, a.options::text, s.change, s.undo])
                  WITH ORDINALITY x(argument, n)) g(call) ON s.change IS NOT NULL
     CROSS JOIN LATERAL (
           SELECT jsonb_agg(to_jsonb(y))
             FROM ff_internal.rewrites(c.oid, (facts->>'predicted_size_bytes')::bigint) y
            WHERE (facts->'rewrite'->>'wanted')::boolean) m(methods)
     WHERE c.oid = (facts->>'oid')::oid);

-- What new partitions should get: the advice for the busiest changed one. ahead: changes of existing empty ones.
CREATE FUNCTION ff_internal.plan_templates(changes jsonb[]) RETURNS TABLE (template jsonb, ahead jsonb[])
LANGUAGE sql VOLATILE ROWS 10
AS $$
    SELECT jsonb_build_object('parent', p.name, 'leaf', p.leaf->>'relation', 'statement', format(
               'CREATE TABLE ... PARTITION OF %s ... WITH (fillfactor = %s);', p.name, f.fillfactor)),
           ARRAY(SELECT ff_internal.plan_change(jsonb_build_object(
                            'oid', c.oid, 'action', 'template', 'cause', 'template', 'fillfactor', o.fillfactor,
                            'recommended_fillfactor', f.fillfactor, 'provisional', p.leaf->'provisional',
                            'reason', format('an empty partition of %s, made ahead: it is to be as %s', p.name,
                                             p.leaf->>'relation'),
                            'rewrite', '{"wanted": false}'::jsonb))
                   FROM pg_inherits i
                   JOIN pg_class c ON c.oid = i.inhrelid
                   JOIN ff_internal.user_table k ON k.relid = c.oid AND k.not_examined IS NULL
                  CROSS JOIN ff_internal.effective_fillfactor(c.reloptions) o(fillfactor)
                  WHERE i.inhparent = p.oid AND o.fillfactor <> f.fillfactor
                    AND EXISTS (SELECT FROM ff_internal.sizes(c.oid) z WHERE z.heap_bytes = 0)
                    AND NOT EXISTS (SELECT FROM pg_partitioned_table d WHERE d.partdefid = c.oid))
      FROM (SELECT DISTINCT ON (p.oid) p.oid, ff_internal.qualified_name(p.oid) AS name, c AS leaf
              FROM unnest(changes) c
              JOIN pg_inherits i ON i.inhrelid = (c->>'oid')::oid
              JOIN pg_class p ON p.oid = i.inhparent AND p.relkind = 'p'
             WHERE c->>'action' <> 'keep'
             ORDER BY p.oid, (c->>'updates_per_s')::float8 DESC NULLS LAST) p
     CROSS JOIN LATERAL (SELECT (p.leaf->>'recommended_fillfactor')::integer) f(fillfactor)
$$;

-- What ff_script() and ff_script_json() return.
CREATE FUNCTION ff_internal.script_plan(target regclass, top integer, undo boolean DEFAULT false) RETURNS jsonb
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    kind      CONSTANT "char" := (SELECT c.relkind FROM pg_class c WHERE c.oid = target);
    utc       CONSTANT text := 'YYYY-MM-DD HH24:MI:SS "UTC"';
    here      record;
    advised   jsonb[];
    others    text;
    changes   jsonb[];
    templates jsonb;
    total     jsonb;
BEGIN
    IF top <= 0 THEN
        PERFORM ff_internal.refuse('22023', 'top must be greater than 0');
    ELSIF kind IS DISTINCT FROM 'i' THEN
        PERFORM ff_internal.checked_table(target);
    END IF;
    SELECT * INTO here FROM ff_internal.server;
    advised := CASE WHEN undo THEN ARRAY(SELECT ff_internal.plan_undo(target))
                    ELSE ARRAY(SELECT ff_internal.plan_advice(target)) END;
    IF undo AND target IS NULL THEN
        -- what others changed on their own is only named
        others := (SELECT string_agg(ff_internal.qualified_name((a->>'oid')::oid), ', ')
                     FROM unnest(advised) a WHERE NOT (a->'advised')::boolean);
        advised := ARRAY(SELECT a FROM unnest(advised) WITH ORDINALITY u(a, place)
                          WHERE (a->'advised')::boolean ORDER BY place);
    END IF;
    changes := ARRAY(SELECT c FROM unnest(advised[:coalesce(top, cardinality(advised))]) a, ff_internal.plan_change(a) c
                      WHERE c IS NOT NULL);
    WITH t AS MATERIALIZED (
        SELECT * FROM ff_internal.plan_templates(changes) WHERE NOT undo
    )
    SELECT coalesce(jsonb_agg(t.template), '[]'),
           -- if one partition was requested, change no others
           changes || ARRAY(SELECT unnest(a.ahead) FROM t a WHERE kind = 'p' OR target IS NULL)
      INTO templates, changes FROM t;
    changes := ARRAY(SELECT c FROM unnest(changes) WITH ORDINALITY u(c, place) ORDER BY c->>'kind' = 'index', place);
    total := ff_internal.plan_total(changes);
    RETURN jsonb_build_object(
        'generator', (SELECT e.extname || ' ' || e.extversion
                        FROM pg_extension e WHERE e.extname = 'fillfactor_advisor'),
        'database', here.database, 'host', here.observed->>'host', 'port', here.observed->>'port',
        'client_encoding', pg_client_encoding(), 'undo', undo,
        'server', format('cluster %s (%s), PostgreSQL %s', coalesce(here.cluster::text, 'of unknown identifier'),
                      concat_ws(', ', nullif(ff_internal.server_setting('cluster_name'), ''), here.observed->>'host',
                      'port ' || coalesce(here.observed->>'port', ff_internal.server_setting('port'))),
                      ff_internal.server_setting('server_version')),
        'asked_for', coalesce(ff_internal.qualified_name(target), 'all tables'),
        'evidence', (SELECT format('%s%s; generated %s by %s', ff_internal.counted(count(*), 'collection'),
                                   ', ' || to_char(min(o.began_at) AT TIME ZONE 'UTC', utc) || ' to '
                                        || to_char(max(o.began_at) AT TIME ZONE 'UTC', utc),
                                   to_char(now() AT TIME ZONE 'UTC', utc), current_user)
                       FROM ff_internal.collection o WHERE o.began_at > now() - ff_internal.lookback()),
        'run_as', (SELECT string_agg(DISTINCT c->>'owner', ', ') FROM unnest(changes) c),
        'total', total, 'left_out', cardinality(advised) - least(top, cardinality(advised)),
        'guard', ff_internal.script_guard(),
        'cautions', ARRAY(SELECT ff_internal.cautions((total->>'rewrite_wal_bytes')::bigint)),
        'changes', ARRAY(SELECT c - '{wal_saved,wal_now}'::text[] FROM unnest(changes) c),
        'templates', templates) || CASE WHEN others <> '' THEN jsonb_build_object('others', others) ELSE '{}' END;
END
$$;

CREATE FUNCTION @extschema@.ff_script_json(relation regclass DEFAULT NULL, top integer DEFAULT NULL) RETURNS jsonb
LANGUAGE sql VOLATILE
AS $$
    SELECT ff_internal.check_role('reader');
    SELECT ff_internal.script_plan(relation, top)
$$;
COMMENT ON FUNCTION @extschema@.ff_script_json(regclass, integer) IS
'The plan of ff_script() as JSON, for tools.
guard: statements that a session runs first. changes: in the order to run them, each with the columns of ff_advise() '
'or ff_advise_indexes(), and with saves (WAL, in words), statement and undo; guarded_statement and guarded_undo, calls '
'of the guard (all four null for action rebuild); options_before and options_after as stored; rewrite (wanted, '
'reason, method chosen, methods with disk, WAL and time).
total: sums over the changes that are not provisional, or over all if all are, with their rewrites. '
'templates: for new partitions. cautions: sentences. Errors: as for ff_script().';

-- Comment lines above the guard.
CREATE FUNCTION ff_internal.script_header(p jsonb, rewrite boolean) RETURNS SETOF text
LANGUAGE sql STABLE ROWS 12
AS $$
    SELECT '-- ' || ff_internal.plain(l.line)
      FROM jsonb_to_record(p) h(
           generator text, undo boolean, asked_for text, total jsonb, left_out integer, others text, database text,
           server text, evidence text, host text, port text, run_as text, cautions text[])
     CROSS JOIN jsonb_to_record(h.total) t(changes integer, provisional integer, rewrites integer, words text)
     CROSS JOIN ff_internal.plain(h.database) db
      -- psql treats a name with an equals sign, or one like a URI, as a connection string
     CROSS JOIN ff_internal.shell_quoted(CASE WHEN db !~ '=|^postgres(ql)?://' THEN db
               ELSE 'dbname=''' || regexp_replace(db, E'([''\\\\])', E'\\\\\\1', 'g') || '''' END) target
     CROSS JOIN unnest(ARRAY[
           format('%s: %s for %s, to be read before they are run', h.generator,
                  CASE WHEN h.undo THEN 'the way back of changes' ELSE 'changes' END, h.asked_for),
           CASE WHEN t.changes > 0
                THEN concat('brings:    ', t.words, CASE WHEN h.undo THEN ': the fillfactors from before' END,
                            '; ' || nullif(h.left_out, 0) || ' more left out by top')
                WHEN h.undo
                THEN 'No change of a fillfactor that a collection saw is left to be taken back: after one, run CALL '
                     'ff_collect() first.'
                ELSE 'Nothing is to be changed. ff_advise() and ff_advise_indexes() say why.' END,
           'left out:  ' || h.others || ': not changed as advised; name one to get its way back',
           format('database:  %s of %s', h.database, h.server), 'evidence:  ' || h.evidence,
           CASE WHEN t.changes > 0
                THEN format('run it:    psql -X %s-d %s -f FILE, as a superuser or a member of %s; -v undo=on takes '
                            'everything back', concat('-h ' || ff_internal.shell_quoted(h.host) || ' ',
                                                      '-p ' || h.port || ' '), target, h.run_as) END,
           CASE WHEN t.provisional > 0
                THEN 'also:      -v provisional=on runs what is provisional, too: watched for less than a day' END,
           CASE WHEN t.rewrites > 0 AND NOT rewrite THEN 'rewrites:  ff_script(rewrite => true) includes them' END]
           || ARRAY(SELECT 'caution:   ' || c FROM unnest(h.cautions) c WHERE t.changes > 0)) l(line)
     WHERE l.line IS NOT NULL
$$;

-- The chosen way of a rewrite and what it needs; no row if none is wanted or possible.
CREATE FUNCTION ff_internal.chosen_rewrite(c jsonb, OUT way jsonb, OUT needs text)
LANGUAGE sql STABLE
AS $$
    SELECT m, format('%s, %s free disk, about %s of WAL', ff_internal.rewrite_time((m->>'seconds')::float8),
                     concat(pg_size_pretty((m->>'disk_bytes')::bigint),
                            ' of ' || pg_size_pretty((m->>'free_bytes')::bigint)),
                     pg_size_pretty((m->>'wal_bytes')::bigint))
      FROM jsonb_array_elements(c->'rewrite'->'methods') m WHERE m->'method' = c->'rewrite'->'method'
$$;

-- The lines of one change.
CREATE FUNCTION ff_internal.script_change(c jsonb, n bigint, changes bigint) RETURNS SETOF text
LANGUAGE sql STABLE ROWS 4
AS $$
    SELECT l.line
      FROM ff_internal.chosen_rewrite(c) w
     CROSS JOIN CAST(left(c->>'guarded_statement', -length('false);')) || ':''undo'');' AS text) call
     CROSS JOIN unnest(ARRAY[
           format('-- %s of %s: %s, %s', n, changes, c->>'relation', concat_ws('; ',
               CASE c->>'action' WHEN 'rebuild' THEN 'rebuild at fillfactor ' || (c->>'fillfactor')
                    WHEN 'keep' THEN 'rewrite at fillfactor ' || (c->>'fillfactor')
                    ELSE format('fillfactor %s -> %s', c->>'fillfactor', c->>'recommended_fillfactor') END,
               c->>'saves', 'HOT ' || (c->>'hot_pct') || ' % -> ' || (c->>'predicted_hot_pct') || ' %',
               'rows a page ' || (c->>'rows_per_page') || ' -> ' || (c->>'predicted_rows_per_page'),
               'size ' || pg_size_pretty((c->>'size_bytes')::bigint) || ' -> '
                   || pg_size_pretty((c->>'predicted_size_bytes')::bigint))),
           format('--   why: %s%s',
                  ff_internal.plain(translate(regexp_replace(c->>'reason', E'\nConfidence [^\n]*$', ''), E'\n', ' ')),
                  ' (' || (c->>'cause') || ')'),
           '--   rewrite: ' || (c->'rewrite'->>'reason') || '; '
               || coalesce(w.needs || ' by ' || (w.way->>'method'), 'but none is possible, see ff_script_json()'),
           CASE WHEN call IS NULL THEN '--   no option changes: ff_script(rewrite => true) writes what runs it' END,
           replace(CASE WHEN (c->>'provisional')::boolean THEN '\if :provisional \\ CALL \endif' ELSE 'CALL' END,
                   'CALL', call)]) l(line)
     WHERE l.line IS NOT NULL
$$;

-- The lines of one rewrite.
CREATE FUNCTION ff_internal.script_rewrite(c jsonb) RETURNS SETOF text
LANGUAGE sql STABLE ROWS 10
SET standard_conforming_strings = on
AS $$
    SELECT l
      FROM ff_internal.chosen_rewrite(c) w
     CROSS JOIN format('pg_temp.ff_rewrite(%s, %s, %s, %s',
               ff_internal.quoted_text(ff_internal.text_array(c->'who')::text),
               ff_internal.quoted_text(ff_internal.text_array(c->'options_after')::text), c->>'relfilenode',
               ff_internal.quoted_text(w.way->>'statement')) call
     CROSS JOIN unnest(
               ARRAY['', format('-- %s: %s', c->>'relation', c->'rewrite'->>'reason'),
                     format('--   * %s: %s; %s; %s', w.way->>'method', w.way->>'why', w.needs, w.way->>'lock')]
               || CASE WHEN (c->>'provisional')::boolean THEN ARRAY['\if :provisional'] END
               || CASE w.way->>'runs_in' WHEN 'psql' THEN ARRAY['SELECT ' || call || ') \gexec']
                  ELSE ARRAY['\set ff_go off', 'SELECT count(*) > 0 AS ff_go FROM ' || call || ') \gset',
                             '\if :ff_go', '\! ' || (w.way->>'statement') || ' </dev/null',
                             'SELECT count(*) > 0 AS ff_go FROM ' || call || ', true) \gset', '\endif'] END
               || CASE WHEN (c->>'provisional')::boolean THEN ARRAY['\endif'] END) l
     WHERE w.way IS NOT NULL
$$;

-- A plan as lines of a psql script.
CREATE FUNCTION ff_internal.script(plan jsonb, rewrite boolean) RETURNS SETOF text
LANGUAGE plpgsql STABLE ROWS 100
SET standard_conforming_strings = on
AS $$
DECLARE
    changes  CONSTANT jsonb[] := ARRAY(SELECT jsonb_array_elements(plan->'changes'));
    rewrites CONSTANT jsonb[] := ARRAY(SELECT c FROM unnest(changes) c
                                        WHERE rewrite AND (c->'rewrite'->>'wanted')::boolean);
    -- of rewrites: refuses, or returns the statement and one that reports the result
    guard    CONSTANT text :=
$text$CREATE OR REPLACE FUNCTION pg_temp.ff_rewrite(who text[], expected text[], old_file oid, statement text,
    was_run boolean DEFAULT false) RETURNS SETOF text LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $ff$
DECLARE
    options CONSTANT text := pg_temp.ff_state(who, expected, expected);
    verdict CONSTANT text := CASE WHEN NOT options ^@ 'unchanged' THEN options
        WHEN pg_relation_filenode(format('%I.%I', who[1], who[2])::regclass) = old_file
        THEN CASE WHEN was_run THEN 'refused: not rewritten, see the messages above' END
        WHEN was_run THEN 'done: ' || statement ELSE 'unchanged: rewritten already' END;
BEGIN
    IF verdict IS NOT NULL THEN CALL pg_temp.ff_tell(who, verdict); RETURN; END IF;
    RETURN NEXT statement;
    RETURN NEXT format('DO %L', format('BEGIN PERFORM pg_temp.ff_rewrite(%L, %L, %L, %L, true); END',
                                       who, expected, old_file, statement));
END $ff$;$text$;
BEGIN
    RETURN QUERY SELECT ff_internal.script_header(plan, rewrite);
    IF changes = '{}' THEN
        RETURN;
    END IF;
    RETURN QUERY SELECT unnest(ARRAY[
        '-- Guard: refuses what changed since, or stays locked for 5 tries of 2 s (SHARE UPDATE EXCLUSIVE: reads and '
        'writes go on)', '\set ON_ERROR_STOP on \set SHOW_CONTEXT never \set AUTOCOMMIT on \set QUIET on '
        '\if :{?undo} \else \set undo off \endif \if :{?provisional} \else \set provisional :undo \endif '
        '\encoding ' || (plan->>'client_encoding')]);
    RETURN QUERY SELECT string_to_table(concat_ws(E'\n', plan->>'guard',
                            CASE WHEN rewrites <> '{}' THEN guard END, ''), E'\n');
    RETURN QUERY SELECT l FROM unnest(changes) WITH ORDINALITY c(c, n),
                               ff_internal.script_change(c.c, c.n, cardinality(changes)) l;
    RETURN QUERY SELECT l FROM jsonb_array_elements(plan->'templates') t, unnest(ARRAY['',
        format('-- New partitions of %s should be as %s is; a partitioned table takes no fillfactor:',
               t->>'parent', t->>'leaf'), '--   ' || (t->>'statement')]) l;
    IF rewrites <> '{}' THEN
        RETURN QUERY SELECT unnest(ARRAY['',
            '-- Rewrites: they bring changes to pages that are there already. One at a time, at a quiet hour; none '
            'with undo=on.', '\set ON_ERROR_STOP off \setenv PGHOST :HOST \setenv PGPORT :PORT \setenv PGUSER :USER '
            '\setenv PGDATABASE :DBNAME', '\if :undo \else']);
        RETURN QUERY SELECT ff_internal.script_rewrite(c) FROM unnest(rewrites) c;
        RETURN NEXT '\endif \set ON_ERROR_STOP on';
    END IF;
    IF (plan->'total'->>'provisional')::integer > 0 THEN
        RETURN NEXT format('\if :provisional \else \echo ''%s not run: see "also" at the top of the script'' \endif',
                           ff_internal.counted((plan->'total'->>'provisional')::bigint, 'provisional change'));
    END IF;
    RETURN QUERY SELECT string_to_table(
$text$DO $ff$ DECLARE told text := current_setting('ff_script.told');
    refused integer := length(translate(told, 'du', '')); BEGIN
    RAISE NOTICE '% done, % unchanged, % refused', length(translate(told, 'ru', '')), length(translate(told, 'rd', '')),
        refused;
    IF refused > 0 THEN RAISE '% refused, see above; what was locked can be run again', refused; END IF; END $ff$;
RESET search_path; RESET lock_timeout; RESET statement_timeout; RESET client_min_messages;$text$, E'\n');
END
$$;

CREATE FUNCTION @extschema@.ff_script(
    relation regclass DEFAULT NULL, rewrite boolean DEFAULT false, top integer DEFAULT NULL,
    undo boolean DEFAULT false) RETURNS SETOF text
LANGUAGE sql VOLATILE ROWS 100
AS $$
    SELECT ff_internal.check_role('reader');
    SELECT ff_internal.script(ff_internal.script_plan(relation, top, coalesce(undo, false)), coalesce(rewrite, false))
$$;
COMMENT ON FUNCTION @extschema@.ff_script(regclass, boolean, integer, boolean) IS
'The advice for one table, the partitions of one, or all, as lines of a psql script, in the order of ff_advice. Write '
'them to a file with psql -XAt, read it, and run it with psql -X -f FILE; with -v undo=on it undoes everything.
relation: NULL: all tables. rewrite: also runs the rewrites that apply a change to old pages; otherwise the script '
'only says where one pays. top: at most this many changes. undo: instead of advice, the way back from the history: '
'each table''s last change of fillfactor, if it was as advised, newest first; with a relation, also if it was not. It '
'leaves old pages as they are, and the fillfactors of indexes, which the history does not have.
The guard refuses another database or server, a standby and an open transaction. Each change is a comment and one '
'call, which does nothing if the option is already set, refuses with a warning if name or options differ from those of '
'the advice, and stops waiting for the lock after 5 tries of 2 s. Changes that were observed for less than a day are '
'provisional: they run only with -v provisional=on.
Errors: 42P01 unknown OID, 42809 not a table or index that can be advised, 22023 top below 1.';
