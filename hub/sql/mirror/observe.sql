-- Asks the source of a mirror, by the statement of observe.sql.

-- The statement, which says what it reads; only in asked, its first part, is something put in.
CREATE FUNCTION ff_hub.observation(asked jsonb DEFAULT '{}') RETURNS text
LANGUAGE sql IMMUTABLE
AS $function$
    SELECT replace(rtrim($observe$
@observe.sql@
$observe$, E'; \n'), $$'{}'::jsonb AS asked$$, quote_literal(asked) || '::jsonb AS asked')
$function$;

-- What the source need not send again, and of how many tables it may send more: half of the locks that this server has
-- for one transaction are enough for these, with three indexes each.
CREATE FUNCTION ff_hub.known() RETURNS jsonb
LANGUAGE sql STABLE
AS $$
    SELECT jsonb_build_object('shapes', m.shapes, 'counters', m.counters, 'since', m.clock,
               'most', 1 + current_setting('max_locks_per_transaction')::bigint
                           * current_setting('max_connections')::bigint / 20,
               'statements', ff_internal.setting('statements') + s.others, 'texts', s.keys)
      FROM ff_hub.mirror m
     CROSS JOIN (SELECT count(*) FILTER (WHERE s.kind = 'other') AS others,
                        coalesce(jsonb_agg(s.queryid || ' ' || s.toplevel), '[]') AS keys
                   FROM ff_internal.statement s WHERE s.closed_at IS NULL) s
$$;

-- Reads the source of this mirror. A collection calls it. If a table was locked in between, the sizes of all are the
-- last ones; if one was dropped in between, it asks again; if a text of pg_stat_statements does not fit this database's
-- encoding, no texts are read.
CREATE FUNCTION ff_hub.observe() RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    server  name;
    address text;
    asked   jsonb;
    answer  jsonb;
BEGIN
    PERFORM ff_hub.check_role('collector');
    PERFORM ff_hub.find_restored();
    PERFORM ff_hub.forget_lost();
    SELECT m.server, format('%s:%s', max(o.option_value) FILTER (WHERE o.option_name = 'host'),
                            max(o.option_value) FILTER (WHERE o.option_name = 'port'))
      INTO server, address
      FROM ff_hub.mirror m
      LEFT JOIN pg_foreign_server s ON s.srvname = m.server
      LEFT JOIN LATERAL pg_options_to_table(s.srvoptions) o ON true
     GROUP BY m.server;
    asked := ff_hub.known();
    FOR attempt IN 1 .. 3 LOOP
        BEGIN
            answer := ff_hub.ask(server, ff_hub.observation(asked))::jsonb;
            EXIT;
        EXCEPTION WHEN lock_not_available OR internal_error OR character_not_in_repertoire
                       OR untranslatable_character THEN
            IF attempt = 3 THEN
                RAISE;
            END IF;
            asked := asked || CASE SQLSTATE WHEN '55P03' THEN '{"sizes": false}' WHEN 'XX000' THEN '{}'
                                            ELSE '{"statements": 0}' END::jsonb;
        END;
    END LOOP;
    PERFORM ff_hub.take(answer, address);
END
$$;
