-- Stage fleet: a refresh asks the sources and weighs the reads of standbys.
--
-- A refresh is a series of short transactions; in each at most one source is
-- called up and one answer stored.  A source that is being asked is known by a
-- session's advisory lock on its key, so several refreshes never ask it at once,
-- and one that was killed leaves nothing behind.

-- ---------------------------------------------------------------------------
-- Reads of standbys
-- ---------------------------------------------------------------------------
-- How often the standbys of a primary's timeline read its tables, all of them together.
CREATE VIEW ff_internal.fleet_standby_reads AS
SELECT l.source_id, r.relid, count(*) AS standbys, sum(r.per_s[1]) AS seq_per_s, sum(r.per_s[2]) AS index_per_s,
       sum(r.per_s[3]) AS blocks_per_s
  FROM ff_internal.fleet_member m
  JOIN ff_internal.fleet_source l ON l.source_id = m.lead_id AND l.timeline = m.timeline AND NOT l.in_recovery
  JOIN ff_internal.fleet_reads r ON r.source_id = m.source_id AND r.per_s[3] > 0
 WHERE m.role = 'standby'
 GROUP BY l.source_id, r.relid;
COMMENT ON VIEW ff_internal.fleet_standby_reads IS 'Reads of a primary''s tables on its standbys, a second.';

-- Weighs the reads of standbys for one table that they were not weighed for, or an hour ago, or when they were fewer or
-- more; false where there is none: whether the model takes another step with these reads added to those of the primary,
-- whose memory and speed of reading are taken for theirs. A source whose model is another is not weighed. began: of the
-- refresh, whose time it does not exceed; the next one goes on.
CREATE FUNCTION ff_internal.fleet_weigh(part integer, parts integer, began timestamptz) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    a     record;
    given ff_internal.model_input;
    steps integer[];
BEGIN
    SELECT w.*, k.mark, s.seq_per_s, s.index_per_s, s.blocks_per_s INTO a
      FROM ff_internal.fleet_standby_reads s
      JOIN ff_internal.fleet_advice w USING (source_id, relid)
      JOIN ff_internal.fleet_source o USING (source_id)
     CROSS JOIN LATERAL (SELECT md5(concat_ws(' ', w.fillfactor, w.advised,
               to_char(s.blocks_per_s, '9EEEE'), to_char(s.index_per_s, '9EEEE'), date_trunc('hour', now()))) AS mark) k
     WHERE clock_timestamp() < began + (ff_internal.fleet_limits()).refresh
       AND w.input IS NOT NULL AND w.weighed_mark IS DISTINCT FROM k.mark
       AND o.model_version = ff_internal.model_version() AND w.source_id % parts = part - 1
     ORDER BY w.weighed_mark IS NOT NULL, s.blocks_per_s DESC LIMIT 1;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    BEGIN
        given := jsonb_populate_record(given, a.input);
        steps[1] := ((ff_internal.model(given, false)).choice).advised_step;
        given.seq_scans := given.seq_scans + a.seq_per_s * given.observed_s;
        given.index_scans := given.index_scans + a.index_per_s * given.observed_s;
        given.blocks_fetched := given.blocks_fetched + a.blocks_per_s * given.observed_s;
        steps[2] := ((ff_internal.model(given, false)).choice).advised_step;
    EXCEPTION WHEN data_exception THEN
        RAISE WARNING 'what % was advised by cannot be read', a.relation USING DETAIL = SQLERRM;
        steps := NULL;
    END;
    UPDATE ff_internal.fleet_advice w
       SET (weighed, weighed_mark)
         = (CASE WHEN steps[1] = steps[2] THEN coalesce(a.advised, a.fillfactor) ELSE steps[2] END, a.mark)
     WHERE (w.source_id, w.relid) = (a.source_id, a.relid);
    RETURN true;
END
$$;

-- ---------------------------------------------------------------------------
-- Asking
-- ---------------------------------------------------------------------------
-- The name of the connection to a source.
CREATE FUNCTION ff_internal.fleet_connection(id integer) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 'fillfactor_advisor ' || id;

-- Sources that this session is asking.
CREATE FUNCTION ff_internal.fleet_mine() RETURNS SETOF integer
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT l.objid::integer
      FROM pg_locks l
     WHERE l.locktype = 'advisory' AND l.pid = pg_backend_pid() AND l.objsubid = 2
       AND l.classid = 'ff_internal.fleet_source'::regclass
       AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
$$;

-- Done with a source, whatever came of it.
CREATE FUNCTION ff_internal.fleet_leave(id integer) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM ff_internal.fleet_hang_up(ff_internal.fleet_connection(id));
    PERFORM pg_advisory_unlock('ff_internal.fleet_source'::regclass::oid::integer, id);
END
$$;

-- Begins to ask a source, or notes why not; false where another session was faster.
CREATE FUNCTION ff_internal.fleet_ask(id integer, began timestamptz) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    s      ff_internal.fleet_source;
    detail text;
    hint   text;
BEGIN
    IF NOT pg_try_advisory_lock('ff_internal.fleet_source'::regclass::oid::integer, id) THEN
        RETURN false;
    END IF;
    UPDATE ff_internal.fleet_source o SET tried_at = clock_timestamp(), asked_at = clock_timestamp()
     WHERE o.source_id = id AND (o.tried_at IS NULL OR o.tried_at < began) RETURNING * INTO s;
    IF NOT FOUND THEN
        PERFORM ff_internal.fleet_leave(id);
        RETURN false;
    END IF;
    BEGIN
        PERFORM ff_internal.fleet_send(ff_internal.fleet_connection(id), s.server, 'SELECT ff_internal.export()',
                                       (ff_internal.fleet_limits()).answer);
    EXCEPTION WHEN OTHERS THEN
        GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
        PERFORM ff_internal.fleet_failed(id, SQLSTATE, concat_ws(': ', SQLERRM, nullif(detail, '')), hint);
        PERFORM ff_internal.fleet_leave(id);
    END;
    RETURN true;
END
$$;

-- Takes what a source has answered; false while there is nothing to take and its time is not over.
CREATE FUNCTION ff_internal.fleet_take(s ff_internal.fleet_source) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    patience CONSTANT interval := (ff_internal.fleet_limits()).answer;
    answer   text;
    hint     text;
BEGIN
    BEGIN
        answer := ff_internal.fleet_answer(ff_internal.fleet_connection(s.source_id));
        IF answer IS NOT NULL THEN
            PERFORM ff_internal.store_export(s.source_id, answer::jsonb, octet_length(answer));
        ELSIF clock_timestamp() < s.asked_at + patience THEN
            RETURN false;
        ELSE
            RAISE 'it did not answer within %', patience USING ERRCODE = 'external_routine_exception';
        END IF;
    EXCEPTION WHEN OTHERS THEN
        GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
        PERFORM ff_internal.fleet_failed(s.source_id, SQLSTATE, SQLERRM, hint);
    END;
    PERFORM ff_internal.fleet_leave(s.source_id);
    RETURN true;
END
$$;

-- One step of a refresh, a transaction of its own: at most one source more is asked and one answer taken; those that
-- failed last time come last, the one tried longest ago first. False once nothing is left, or no time.
CREATE FUNCTION ff_internal.fleet_step(part integer, parts integer, began timestamptz) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    pause  CONSTANT double precision := 0.01;    -- seconds between two looks at connections, chosen
    bounds record;
    id     integer;
    s      ff_internal.fleet_source;
    asked  boolean := false;
BEGIN
    SELECT * INTO bounds FROM ff_internal.fleet_limits();
    FOR id IN
        SELECT o.source_id FROM ff_internal.fleet_source o
         WHERE o.server IS NOT NULL AND o.source_id % parts = part - 1 AND (o.tried_at IS NULL OR o.tried_at < began)
           AND clock_timestamp() < began + bounds.refresh
           AND (SELECT count(*) FROM ff_internal.fleet_mine()) < bounds.sources
         ORDER BY o.failures > 0, o.tried_at NULLS FIRST, o.source_id
    LOOP
        asked := ff_internal.fleet_ask(id, began);
        EXIT WHEN asked;
    END LOOP;
    FOR s IN
        SELECT o.* FROM ff_internal.fleet_source o
         WHERE o.source_id IN (SELECT ff_internal.fleet_mine()) ORDER BY o.asked_at
    LOOP
        IF ff_internal.fleet_take(s) THEN
            RETURN true;
        END IF;
    END LOOP;
    -- removed meanwhile
    PERFORM ff_internal.fleet_leave(m) FROM ff_internal.fleet_mine() m
      WHERE NOT EXISTS (SELECT FROM ff_internal.fleet_source o WHERE o.source_id = m);
    IF NOT asked AND s.source_id IS NULL THEN
        RETURN false;
    ELSIF NOT asked THEN
        PERFORM pg_sleep(pause);
    END IF;
    RETURN true;
END
$$;

-- Before a refresh: whether it can be, and nothing left of one that was interrupted in this session.
CREATE FUNCTION ff_internal.fleet_begin(part integer, parts integer) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM ff_internal.check_collector();
    PERFORM ff_internal.dblink('get_connections');
    IF (part BETWEEN 1 AND parts) IS NOT TRUE THEN
        PERFORM ff_internal.refuse('22023',
            format('there is no part %s of %s', coalesce(part::text, 'NULL'), coalesce(parts::text, 'NULL')), NULL,
            'CALL ff_fleet_refresh(2, 4) is the second of four parts.');
    END IF;
    PERFORM ff_internal.fleet_leave(m) FROM ff_internal.fleet_mine() m;
END
$$;

-- After it: what it reached, as a notice.
CREATE FUNCTION ff_internal.fleet_end(part integer, parts integer, began timestamptz) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    n record;
BEGIN
    SELECT count(*) FILTER (WHERE s.succeeded_at >= began) AS fresh, count(*) AS sources,
           count(*) FILTER (WHERE s.tried_at >= began AND s.failures > 0) AS failed INTO n
      FROM ff_internal.fleet_source s WHERE s.server IS NOT NULL AND s.source_id % parts = part - 1;
    RAISE NOTICE '% of % sources answered, % failed, % were not asked', n.fresh, n.sources, n.failed,
        n.sources - n.fresh - n.failed;
END
$$;

-- Nothing in it is found by the caller's search_path: it has no operator and no name without a schema. (A procedure
-- that commits may not set one of its own.)
CREATE PROCEDURE ff_internal.fleet_refresh(part integer, parts integer)
LANGUAGE plpgsql
AS $$
DECLARE
    began CONSTANT pg_catalog.timestamptz DEFAULT pg_catalog.clock_timestamp();
BEGIN
    PERFORM ff_internal.fleet_begin(part, parts);
    WHILE ff_internal.fleet_step(part, parts, began) LOOP
        COMMIT;
    END LOOP;
    WHILE ff_internal.fleet_weigh(part, parts, began) LOOP
        COMMIT;
    END LOOP;
    PERFORM ff_internal.fleet_end(part, parts, began);
END
$$;

CREATE PROCEDURE @extschema@.ff_fleet_refresh(part integer DEFAULT 1, parts integer DEFAULT 1)
LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM ff_internal.check_role('collector');
    CALL ff_internal.fleet_refresh(part, parts);
END
$$;
COMMENT ON PROCEDURE @extschema@.ff_fleet_refresh(integer, integer) IS
'Asks all sources of this hub, many at a time, and stores what they say, each in a transaction of its own. A source '
'that fails, hangs or sends nonsense keeps what it said before, with the error and its age; it is given 20 seconds, '
'its host the connect_timeout of its server. Sources that failed last time are asked last. After two minutes no source '
'is called up any more; who is left is first the next time. part, parts: only that share of the sources, for several '
'sessions side by side; a source that another session is asking is passed over. A notice tells what was reached. '
'Errors: 55000 dblink is not in this database, 22023 no such part, 2D000 in a transaction block.';
