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
    SELECT 'this server is a standby: run the script on its primary' FROM ff_internal.server s WHERE s.in_recovery
    UNION ALL
    SELECT 'a mirror sees no free disk, subscribers and WAL kept for slots: look there before rewrites'
     WHERE NOT EXISTS (SELECT FROM wal)
    UNION ALL
    SELECT format('%s is %s of WAL behind, and rewrites add what they write', r.who, pg_size_pretty(w.here - r.lsn))
      FROM wal w, (
           SELECT format('replication slot %I%s', s.slot_name, CASE WHEN NOT s.active THEN ' (not active)' END),
                  s.restart_lsn
             FROM pg_replication_slots s
           UNION ALL
           SELECT format('standby or subscriber %I', a.application_name), a.replay_lsn
             FROM pg_stat_replication a) r(who, lsn)
     WHERE r.lsn IS NOT NULL
    UNION ALL
    SELECT 'storage options are not replicated logically: subscribers keep their own fillfactor'
      FROM wal WHERE EXISTS (SELECT FROM pg_publication)
    UNION ALL
    SELECT format('all rewrites together write about %s of WAL, and %s are free where the WAL is',
                  pg_size_pretty(wal_bytes), pg_size_pretty(d.free_bytes))
      FROM wal, ff_internal.free_bytes(NULL) d(free_bytes) WHERE wal_bytes > d.free_bytes / 2
$$;

-- Advised changes, tables before indexes, in the order of ff_advise(). If no table is asked for, of indexes only those
-- that free enough disk to be worth a change.
CREATE FUNCTION ff_internal.plan_advice(target regclass) RETURNS SETOF jsonb
LANGUAGE sql VOLATILE ROWS 1000
SET jit = off
BEGIN ATOMIC
    WITH advised AS (
        SELECT 1 AS kind, a.relation AS id, to_jsonb(a) - 'ddl' || jsonb_build_object(
                   'wal_saved', v.wal_saved, 'wal_now', v.wal_now, 'saves', ff_internal.wal_saved(
                       v.wal_saved, ff_internal.updates_per_s(v.evidence), (v.evidence).window_s)) AS facts,
               CASE WHEN NOT a.needs_rewrite THEN NULL
                    WHEN a.cause = 'few_updates'
                    THEN format('gives back %s at once; otherwise new rows fill the old pages only gradually',
                                pg_size_pretty(a.size_bytes - a.predicted_size_bytes))
                    ELSE 'old pages keep their density until then; by the model, it saves more than it costs'
               END AS rewrite
          -- nothing is advised for a partitioned table or an index; asked one by one, many partitions take long
          FROM (SELECT array_agg(t) AS oids, count(*) = 1 AS single FROM ff_internal.with_children(target) t) f
         CROSS JOIN LATERAL ff_internal.advice(CASE WHEN f.single THEN target END) v
         CROSS JOIN LATERAL (SELECT (v.advice).*) a
         WHERE a.gain_pct IS NOT NULL AND (f.single OR a.relation = ANY (f.oids))
        UNION ALL
        SELECT 2, i.index, to_jsonb(i) - '{index,ddl}'::text[]
                           || jsonb_build_object('disk_bytes_change', i.predicted_size_bytes - i.size_bytes),
               CASE WHEN i.action = 'rebuild' OR i.cause = 'never_written' THEN 'only a rebuild packs it' END
          FROM @extschema@.ff_advise_indexes(target) i
         WHERE i.action IN ('raise', 'rebuild')
           AND (target IS NOT NULL OR ff_internal.setting('min_worth') = 0
                OR i.size_bytes - i.predicted_size_bytes >= ff_internal.threshold('WORTH_DISK'))
    )
    SELECT a.facts || jsonb_build_object('oid', a.id::oid, 'rewrite',
                                         jsonb_build_object('wanted', a.rewrite IS NOT NULL, 'reason', a.rewrite))
      FROM advised a
     ORDER BY a.kind, (a.facts->>'wal_saved')::float8 DESC NULLS LAST,
              (a.facts->>'cpu_seconds_per_day_saved')::float8 DESC NULLS LAST,
              (a.facts->>'disk_bytes_change')::bigint, a.id;
END;

-- One change of a plan; NULL if the relation is gone.
CREATE FUNCTION ff_internal.plan_change(facts jsonb) RETURNS jsonb
LANGUAGE sql VOLATILE
RETURN (
    SELECT facts || jsonb_build_object(
               'kind', CASE c.relkind WHEN 'i' THEN 'index' WHEN 'm' THEN 'materialized view' ELSE 'table' END,
               'relation', ff_internal.qualified_name(c.oid), 'who', i.who,
               'relfilenode', coalesce(o.said->>'relfilenode', c.relfilenode::text),
               'owner', CASE WHEN o.said IS NULL THEN pg_get_userbyid(c.relowner)
                             ELSE coalesce(o.said->>'owner', 'their owner') END,
               'options_before', b.options, 'options_after', a.options, 'statement', s.change, 'undo', s.undo,
               'guarded_statement', g.call || 'false);', 'guarded_undo', g.call || 'true);',
               'rewrite', coalesce(facts->'rewrite', '{"wanted": false}') || jsonb_build_object(
                   'methods', coalesce(m.methods, '[]'),
                   'method', jsonb_path_query_first(m.methods, '$[*] ? (@.possible == true).method')))
      FROM pg_class c
      JOIN pg_namespace n ON n.oid = c.relnamespace
      LEFT JOIN pg_index x ON x.indexrelid = c.oid
      LEFT JOIN ff_internal.observed o ON o.kind IN ('table', 'index') AND o.id = c.oid
     CROSS JOIN LATERAL (SELECT ARRAY[n.nspname, c.relname, coalesce(
                                    o.said->>'oid', concat_ws(' ', coalesce(x.indrelid, c.oid), x.indkey))]) i(who)
     CROSS JOIN LATERAL (SELECT CASE WHEN o.said IS NULL THEN c.reloptions
                                     ELSE ff_internal.text_array(o.said->'options') END) b(options)
     CROSS JOIN LATERAL (
           -- a rebuild or a plain rewrite changes no option
           SELECT CASE WHEN facts->>'action' IN ('rebuild', 'keep') THEN b.options
                       WHEN facts->>'action' = 'undo' THEN ff_internal.text_array(facts->'options_after')
                       ELSE ff_internal.options_after(b.options, ARRAY[
                                'fillfactor=' || (facts->>'recommended_fillfactor')]) END) a(options)
     CROSS JOIN LATERAL (SELECT ff_internal.restore_options(c.oid, a.options, b.options),
                                ff_internal.restore_options(c.oid, b.options, a.options)) s(change, undo)
      LEFT JOIN LATERAL (
           SELECT format('CALL pg_temp.ff_change(%s, %s, %s, %s, %s, ', ff_internal.quoted_text(i.who::text),
                         ff_internal.quoted_text(b.options::text), ff_internal.quoted_text(a.options::text),
                         ff_internal.quoted_text(s.change), ff_internal.quoted_text(s.undo))) g(call)
             ON s.change IS NOT NULL
     CROSS JOIN LATERAL (
           SELECT jsonb_agg(to_jsonb(y))
             FROM ff_internal.rewrites(c.oid, (facts->>'predicted_size_bytes')::bigint) y
            WHERE (facts->'rewrite'->>'wanted')::boolean) m(methods)
     WHERE c.oid = (facts->>'oid')::oid);

-- The first lines of a script; the last of these says how to run it, or why there is nothing to run.
CREATE FUNCTION ff_internal.script_head(target regclass, undo boolean, changes jsonb[]) RETURNS text[]
LANGUAGE sql STABLE
RETURN (
    SELECT ARRAY[
               format('fillfactor_advisor %s: %s for %s, to be read before they are run; made %s by %s', x.extversion,
                      CASE WHEN undo THEN 'the way back of changes' ELSE 'changes' END,
                      coalesce(ff_internal.qualified_name(target), 'all tables'), date_trunc('second', now()),
                      current_user),
               format('database:  %s of cluster %s (%sport %s), PostgreSQL %s', s.database,
                      coalesce(s.cluster::text, 'unknown'), (s.observed->>'host') || ', ',
                      coalesce(s.observed->>'port', ff_internal.server_setting('port')),
                      ff_internal.server_setting('server_version')),
               CASE WHEN changes <> '{}'
                    THEN format('run it:    psql -X %s%s-d %s -f FILE, as a superuser or a member of %s; -v undo=on '
                                'takes everything back', '-h ' || ff_internal.shell_quoted(s.observed->>'host') || ' ',
                                '-p ' || ff_internal.shell_quoted(s.observed->>'port') || ' ',
                                ff_internal.shell_quoted(d.name),
                                (SELECT string_agg(DISTINCT c->>'owner', ', ') FROM unnest(changes) c))
                    WHEN undo THEN 'No change of a fillfactor that a collection saw is left to be taken back.'
                    ELSE 'Nothing is to be changed. ff_advise() and ff_advise_indexes() say why.' END]
      FROM ff_internal.server s
      JOIN pg_extension x ON x.extname = 'fillfactor_advisor'
     -- psql takes a name with an equals sign, or one like a URI, for a connection string
     CROSS JOIN LATERAL (
           SELECT CASE WHEN s.database ~ '=|^postgres(ql)?://'
                       THEN 'dbname=''' || regexp_replace(s.database, E'([''\\\\])', E'\\\\\\1', 'g') || ''''
                       ELSE s.database::text END) d(name));

-- What ff_script() and ff_script_json() return.
CREATE FUNCTION ff_internal.script_plan(target regclass, top integer, undo boolean DEFAULT false) RETURNS jsonb
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    advised   jsonb[];
    changes   jsonb[];
    total     jsonb;
    templates jsonb;
BEGIN
    IF top <= 0 THEN
        PERFORM ff_internal.refuse('22023', 'top must be greater than 0');
    ELSIF NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = target AND c.relkind = 'i') THEN
        PERFORM ff_internal.checked_table(target);
    END IF;
    advised := CASE WHEN undo THEN ARRAY(SELECT ff_internal.plan_undo(target))
                    ELSE ARRAY(SELECT ff_internal.plan_advice(target)) END;
    changes := array_remove(ARRAY(SELECT ff_internal.plan_change(a) FROM unnest(advised) a LIMIT top), NULL);
    total := ff_internal.plan_total(changes);
    -- new partitions should be as the busiest changed one
    SELECT coalesce(jsonb_agg(to_jsonb(t) || jsonb_build_object('statement', format(
               'CREATE TABLE ... PARTITION OF %s ... WITH (fillfactor = %s);', t.parent, t.fillfactor))), '[]')
      INTO templates
      FROM (SELECT DISTINCT ON (p.oid) ff_internal.qualified_name(p.oid) AS parent, c->>'relation' AS leaf,
                   c->>'recommended_fillfactor' AS fillfactor
              FROM unnest(changes) c
              JOIN pg_inherits i ON i.inhrelid = (c->>'oid')::oid
              JOIN pg_class p ON p.oid = i.inhparent AND p.relkind = 'p'
             WHERE c->>'action' NOT IN ('keep', 'undo')
             ORDER BY p.oid, (c->>'updates_per_s')::float8 DESC NULLS LAST) t;
    RETURN jsonb_build_object(
        'head', ff_internal.script_head(target, undo, changes), 'guard', ff_internal.script_guard(),
        'changes', ARRAY(SELECT c - '{wal_saved,wal_now}'::text[] FROM unnest(changes) c), 'total', total,
        'left_out', nullif(greatest(cardinality(advised) - top, 0), 0), 'templates', templates,
        'cautions', ARRAY(SELECT ff_internal.cautions((total->>'rewrite_wal_bytes')::bigint)));
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
guard: statements that a session runs first. changes: in the order to run them: columns of ff_advise() or '
'ff_advise_indexes(), saves (WAL, in words), statement and undo, guarded_statement and guarded_undo (calls of the '
'guard; all four null for action rebuild), options_before and options_after as stored, rewrite (wanted, reason, '
'method chosen, methods with disk, WAL and time).
total: sums over the changes that are not provisional, or over all if all are, with their rewrites. '
'templates: for new partitions. cautions: sentences. Errors: as for ff_script().';

-- The lines of one change.
CREATE FUNCTION ff_internal.script_change(c jsonb, n bigint, changes bigint) RETURNS SETOF text
LANGUAGE sql STABLE ROWS 4
AS $$
    SELECT l
      FROM jsonb_path_query_first(c, '$.rewrite.methods[*] ? (@.possible == true)') way
     CROSS JOIN regexp_replace(c->>'guarded_statement', 'false[)];$', ':''undo'');') call
     CROSS JOIN unnest(ARRAY[
           format('-- %s of %s: %s, %s', n, changes, c->>'relation', concat_ws('; ',
               CASE c->>'action' WHEN 'rebuild' THEN 'rebuild at fillfactor ' || (c->>'fillfactor')
                    WHEN 'keep' THEN 'rewrite at fillfactor ' || (c->>'fillfactor')
                    ELSE format('fillfactor %s -> %s', c->>'fillfactor', c->>'recommended_fillfactor') END,
               c->>'saves', 'HOT ' || (c->>'hot_pct') || ' % -> ' || (c->>'predicted_hot_pct') || ' %',
               'size ' || pg_size_pretty((c->>'size_bytes')::bigint) || ' -> '
                   || pg_size_pretty((c->>'predicted_size_bytes')::bigint))),
           concat('--   why: ', ff_internal.plain(translate(
                      regexp_replace(c->>'reason', E'\nConfidence [^\n]*$', ''), E'\n', ' ')),
                  ' (' || (c->>'cause') || ')'),
           '--   rewrite: ' || (c->'rewrite'->>'reason') || '; ' || coalesce(
               format('%s, %s free disk, about %s of WAL by ', ff_internal.rewrite_time((way->>'seconds')::float8),
                      pg_size_pretty((way->>'disk_bytes')::bigint), pg_size_pretty((way->>'wal_bytes')::bigint))
               || (way->>'method'), 'but none is possible, see ff_script_json()'),
           CASE WHEN call IS NULL THEN '--   no option changes: ff_script(rewrite => true) writes what runs it'
                WHEN (c->>'provisional')::boolean THEN concat('\if :provisional \\ ', call, ' \endif')
                ELSE call END]) l
     WHERE l <> ''
$$;

-- The lines of one rewrite.
CREATE FUNCTION ff_internal.script_rewrite(c jsonb) RETURNS SETOF text
LANGUAGE sql STABLE ROWS 10
AS $$
    SELECT l
      FROM jsonb_path_query_first(c, '$.rewrite.methods[*] ? (@.possible == true)') way
     CROSS JOIN format('SELECT pg_temp.ff_rewrite(%s, %s, %s, ',
               ff_internal.quoted_text(ff_internal.text_array(c->'who')::text),
               ff_internal.quoted_text(ff_internal.text_array(c->'options_after')::text),
               ff_internal.quoted_text(c->>'relfilenode')) call
     CROSS JOIN unnest(ARRAY[
               '', format('-- %s by %s: %s', c->>'relation', way->>'method', way->>'lock'), '\set ff_go off',
               CASE WHEN (c->>'provisional')::boolean THEN '\if :provisional' END,
               call || 'false) AS ff_go \gset', '\if :ff_go',
               CASE way->>'runs_in' WHEN 'psql' THEN way->>'statement'
                                    ELSE '\! ' || (way->>'statement') || ' </dev/null' END,
               call || 'true) AS ff_go \gset', '\endif',
               CASE WHEN (c->>'provisional')::boolean THEN '\endif' END]) l
     WHERE way IS NOT NULL AND l IS NOT NULL
$$;

-- A plan as lines of a psql script.
CREATE FUNCTION ff_internal.script(plan jsonb, rewrite boolean) RETURNS SETOF text
LANGUAGE plpgsql STABLE ROWS 100
SET standard_conforming_strings = on
AS $$
DECLARE
    changes     CONSTANT jsonb[] := ARRAY(SELECT jsonb_array_elements(plan->'changes'));
    rewrites    CONSTANT jsonb[] := ARRAY(SELECT c FROM unnest(changes) c
                                           WHERE rewrite AND (c->'rewrite'->>'wanted')::boolean);
    provisional CONSTANT text := ff_internal.counted(nullif((plan->'total'->>'provisional')::bigint, 0),
                                                     'provisional change');
    -- of rewrites: whether to go on; was_run: reports the result
    guard       CONSTANT text :=
$text$CREATE OR REPLACE FUNCTION pg_temp.ff_rewrite(who text[], expected text[], old_file oid, was_run boolean)
    RETURNS boolean LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $ff$
DECLARE
    options CONSTANT text := pg_temp.ff_state(who, expected, expected);
    verdict CONSTANT text := CASE WHEN NOT options ^@ 'unchanged' THEN options
        WHEN pg_relation_filenode(format('%I.%I', who[1], who[2])::regclass) <> old_file
        THEN CASE WHEN was_run THEN 'done: rewritten' ELSE 'unchanged: rewritten already' END
        WHEN was_run THEN 'refused: not rewritten, see the messages above' END;
BEGIN
    IF verdict <> '' THEN CALL pg_temp.ff_tell(who, verdict); END IF;
    RETURN verdict IS NULL;
END $ff$;$text$;
BEGIN
    RETURN QUERY SELECT '-- ' || ff_internal.plain(l) FROM unnest(ff_internal.text_array(plan->'head')) l;
    IF changes = '{}' THEN
        RETURN;
    END IF;
    RETURN QUERY SELECT '-- ' || ff_internal.plain(l) FROM unnest(ARRAY[
        concat('brings:    ', plan->'total'->>'words', '; ' || (plan->>'left_out') || ' more left out by top'),
        CASE WHEN provisional <> ''
             THEN 'also:      -v provisional=on runs what is provisional, too: watched for less than a day' END,
        CASE WHEN (plan->'total'->>'rewrites')::integer > 0 AND NOT rewrite
             THEN 'rewrites:  ff_script(rewrite => true) includes them' END]
        || ARRAY(SELECT 'caution:   ' || c FROM jsonb_array_elements_text(plan->'cautions') c)) l WHERE l <> '';
    RETURN QUERY SELECT string_to_table(concat_ws(E'\n',
        '-- Guard: refuses what changed since, or stays locked for 5 tries of 2 s (SHARE UPDATE EXCLUSIVE: reads and '
        'writes go on)', '\set ON_ERROR_STOP on \set SHOW_CONTEXT never \set AUTOCOMMIT on \set QUIET on '
        '\if :{?undo} \else \set undo off \endif \if :{?provisional} \else \set provisional :undo \endif '
        '\encoding ' || pg_client_encoding(), plan->>'guard', CASE WHEN rewrites <> '{}' THEN guard END, ''), E'\n');
    RETURN QUERY SELECT l FROM unnest(changes) WITH ORDINALITY c(c, n),
                               ff_internal.script_change(c.c, c.n, cardinality(changes)) l;
    RETURN QUERY SELECT l FROM jsonb_array_elements(plan->'templates') t, unnest(ARRAY['',
        format('-- New and empty partitions of %s should be as %s is; a partitioned table takes no fillfactor:',
               t->>'parent', t->>'leaf'), '--   ' || (t->>'statement')]) l;
    IF rewrites <> '{}' THEN
        RETURN QUERY SELECT unnest(ARRAY['',
            '-- Rewrites: they bring changes to pages that are there already. One at a time, at a quiet hour; none '
            'with undo=on.', '\set ON_ERROR_STOP off \setenv PGHOST :HOST \setenv PGPORT :PORT \setenv PGUSER :USER '
            '\setenv PGDATABASE :DBNAME', '\if :undo \else']);
        RETURN QUERY SELECT ff_internal.script_rewrite(c) FROM unnest(rewrites) c;
        RETURN NEXT '\endif \set ON_ERROR_STOP on';
    END IF;
    RETURN QUERY SELECT format(
        '\if :provisional \else \echo ''%s not run: see "also" at the top of the script'' \endif', provisional)
     WHERE provisional <> '';
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
'The advice for one table and its partitions or those that inherit from it, or for all, as lines of a psql script, in '
'the order of ff_advice. Write them to a file with psql -XAt, read it, and run it with psql -X -f FILE; with -v '
'undo=on it undoes everything.
relation: NULL: all. rewrite: also runs the rewrites that apply a change to old pages; otherwise the script only says '
'where one pays. top: at most so many changes. undo: instead of advice, the way back from the history: each table''s '
'last change of fillfactor, if it was as advised, newest first; with a relation, also if it was not. It leaves old '
'pages and indexes as they are.
The guard refuses another database or server, a standby and an open transaction. A change is one call, which does '
'nothing if the option is set already, refuses with a warning if name or options differ from those of the advice, and '
'stops waiting for the lock after 5 tries of 2 s. Changes observed for less than a day are provisional: they run only '
'with -v provisional=on.
Errors: 42P01 unknown OID, 42809 not a table or index that can be advised, 22023 top below 1.';
