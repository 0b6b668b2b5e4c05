-- Asks the source of a mirror, by the statement of observe.sql, and what its answer says of pages.

-- The statement, which says what it reads; only in asked, its first part, is something put in.
CREATE FUNCTION ff_hub.observation(asked jsonb DEFAULT '{}') RETURNS text
LANGUAGE sql IMMUTABLE
AS $function$
    SELECT replace(rtrim($observe$
@observe.sql@
$observe$, E'; \n'), $$'{}'::jsonb AS asked$$, quote_literal(asked) || '::jsonb AS asked')
$function$;

-- What the source need not send again, and of how many tables it may send more: half of the locks that this server has
-- for one transaction are enough for these, with three indexes each. At most 1,000 (chosen), because each takes
-- longer the more its transaction made already.
CREATE FUNCTION ff_hub.known() RETURNS jsonb
LANGUAGE sql STABLE
AS $$
    SELECT jsonb_build_object('shapes', m.shapes, 'counters', m.counters, 'since', m.clock,
               'most', least(1000, 1 + current_setting('max_locks_per_transaction')::bigint
                                       * current_setting('max_connections')::bigint / 20),
               'statements', ff_internal.setting('statements') + s.others, 'texts', s.keys)
      FROM ff_hub.mirror m
     CROSS JOIN (SELECT count(*) FILTER (WHERE s.kind = 'other') AS others,
                        coalesce(jsonb_agg(s.queryid || ' ' || s.toplevel), '[]') AS keys
                   FROM ff_internal.statement s WHERE s.closed_at IS NULL) s
$$;

-- Reads the source; a collection calls it. If a table was locked in between, or a file could not be examined, the sizes
-- of all are the last ones; if a table was dropped, it asks again; if a statement's text does not fit this database's
-- encoding, no texts are read.
CREATE FUNCTION ff_hub.observe() RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    server  name;
    address text;
    asked   jsonb;
    answer  jsonb;
    unsized text;
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
    -- once for each kind of fault
    FOR attempt IN 1 .. 4 LOOP
        BEGIN
            answer := ff_hub.ask(server, ff_hub.observation(asked))::jsonb;
            EXIT;
        EXCEPTION
            WHEN lock_not_available OR internal_error OR character_not_in_repertoire OR untranslatable_character THEN
                IF attempt = 4 THEN
                    RAISE;
                END IF;
                asked := asked || CASE SQLSTATE WHEN '55P03' THEN '{"sizes": false}' WHEN 'XX000' THEN '{}'
                                                ELSE '{"statements": 0}' END::jsonb;
            WHEN insufficient_privilege OR io_error OR undefined_file THEN
                -- stat() of a file; but if no size was asked for, a right or something else is missing
                IF attempt = 4 OR asked ? 'sizes' THEN
                    RAISE;
                END IF;
                asked := asked || '{"sizes": false}';
                unsized := concat_ws(' ', SQLSTATE, SQLERRM);
        END;
    END LOOP;
    PERFORM ff_hub.take(answer, address, unsized);
END
$$;

-- What a mirror knows instead of pages: rows and their mean length. id: rel_id of the table, for its earlier
-- fillfactors; columns as in page_sample. The length is that of pg_stats, or else the least of: that by the WAL of
-- inserts, that of an earlier sample, and the shortest of which no more rows fit into a page than are seen there, when
-- they were last counted or now. The shortest, because a step that is right for longer rows may change nothing for
-- shorter ones.
CREATE FUNCTION ff_hub.observed_sample(
    relation oid, id bigint DEFAULT NULL, earlier_width real DEFAULT NULL, OUT blocks bigint, OUT live_rows float8,
    OUT dead_rows float8, OUT rows_per_page real, OUT inserted_width real)
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    -- TOAST_TUPLE_TARGET: longer rows move columns out
    longest CONSTANT float8 := 2032;
BEGIN
    SELECT p.blocks, p.live, x.dead, p.live / nullif(p.blocks, 0),
           coalesce(x.width, least(greatest(24, least(longest, l.shortest)), earlier_width,
                                   ff_internal.inserted_width(relation)))
      INTO blocks, live_rows, dead_rows, rows_per_page, inserted_width
      FROM ff_internal.observed o
     CROSS JOIN LATERAL jsonb_to_record(o.said) x(
           heap_bytes bigint, live float8, dead float8, width float8, relpages float8, reltuples float8,
           maintained_at timestamptz, counted ff_internal.counters)
     CROSS JOIN LATERAL (SELECT coalesce(ceil(x.heap_bytes / 8192.0), x.relpages, 0)) n(blocks)
     -- what was counted when most of its pages were not there says nothing of these
     CROSS JOIN LATERAL (SELECT CASE WHEN x.reltuples > 0 AND 2 * x.relpages >= n.blocks
                                     THEN x.reltuples / nullif(x.relpages, 0) END) r(per_page)
     -- After a reset, live rows are counted from zero until vacuum or analyze counts all. Rows of a session that loads
     -- and then analyzes are counted twice until the next analyze.
     CROSS JOIN LATERAL (SELECT n.blocks, CASE WHEN x.maintained_at IS NULL AND (r.per_page > 0 OR x.live < x.reltuples
                                                    OR n.blocks > 0 AND (x.counted).inserted = 0)
                                               THEN r.per_page * n.blocks
                                               ELSE least(x.live, greatest(x.reltuples, (x.counted).inserted
                                                                                        - (x.counted).deleted))
                                                    END) p(blocks, live)
     -- live rows up to the highest fillfactor known, with dead ones in all of the page, which has a header of 24 bytes;
     -- a row has a line pointer of 4 bytes
     CROSS JOIN LATERAL (
           SELECT 81.92 * greatest(ff_internal.effective_fillfactor(c.reloptions),
                                   (SELECT max(h.old_fillfactor) FROM ff_internal.change h
                                     WHERE h.rel_id = observed_sample.id)) - 24
             FROM pg_class c WHERE c.oid = relation) f(filled)
     CROSS JOIN LATERAL (
           SELECT min(v.bytes / (v.rows + 1) - 4)
             FROM (VALUES (f.filled, p.live / nullif(p.blocks, 0)), (f.filled, r.per_page),
                          (8168, (p.live + x.dead) / nullif(p.blocks, 0))) v(bytes, rows)
            WHERE v.rows > 0) l(shortest)
     WHERE o.kind = 'table' AND o.id = relation;
END
$$;
