-- A refresh asks the sources and weighs the reads of standbys, in short transactions: queries on the hub never wait for
-- a source. A session that asks a source holds an advisory lock on its key, so a killed refresh leaves nothing behind.

-- Total reads of a primary's tables by all standbys on its timeline.
CREATE VIEW ff_hub.standby_reads AS
SELECT l.source_id, r.relid, sum(r.per_s[1]) AS seq_per_s, sum(r.per_s[2]) AS index_per_s,
       sum(r.per_s[3]) AS blocks_per_s
  FROM ff_hub.member m
  JOIN ff_hub.source l ON l.source_id = m.lead_id AND l.timeline = m.timeline AND NOT l.in_recovery
  JOIN ff_hub.reads r ON r.source_id = m.source_id AND r.per_s[3] > 0
 WHERE m.role = 'standby'
 GROUP BY l.source_id, r.relid;
COMMENT ON VIEW ff_hub.standby_reads IS 'Reads of a primary''s tables on its standbys, per second.';

-- For one table with advice to change: asks the model whether it chooses another step when the reads of standbys are
-- added, with the primary's memory and read speed. Done for new advice and hourly, within the refresh's time. Returns
-- false if no table is left. Sources with another model version are not weighed.
CREATE FUNCTION ff_hub.weigh(part integer, parts integer, began timestamptz) RETURNS boolean
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    a          record;
    given      ff_internal.model_input;
    alone      integer;
    with_reads integer;
BEGIN
    SELECT w.*, s.seq_per_s, s.index_per_s, s.blocks_per_s INTO a
      FROM ff_hub.standby_reads s
      JOIN ff_hub.advice w USING (source_id, relid)
      JOIN ff_hub.source o USING (source_id)
     WHERE clock_timestamp() < began + (ff_hub.limits()).refresh
       AND w.input IS NOT NULL AND (w.weighed_at > began - interval '1 hour') IS NOT TRUE
       AND o.model_version = ff_internal.model_version() AND w.source_id % parts = part - 1
     ORDER BY w.weighed_at NULLS FIRST, s.blocks_per_s DESC LIMIT 1;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    BEGIN
        given := jsonb_populate_record(given, a.input);
        alone := ff_internal.model(given, false) #>> '{choice,advised_step}';
        given.seq_scans := given.seq_scans + a.seq_per_s * given.observed_s;
        given.index_scans := given.index_scans + a.index_per_s * given.observed_s;
        given.blocks_fetched := given.blocks_fetched + a.blocks_per_s * given.observed_s;
        with_reads := ff_internal.model(given, false) #>> '{choice,advised_step}';
    EXCEPTION WHEN data_exception THEN
        RAISE WARNING 'what % was advised by cannot be read', a.relation USING DETAIL = SQLERRM;
    END;
    UPDATE ff_hub.advice w
       SET weighed_at = clock_timestamp(),
           weighed = CASE WHEN with_reads <> alone THEN nullif(with_reads, coalesce(a.advised, a.fillfactor)) END
     WHERE (w.source_id, w.relid) = (a.source_id, a.relid);
    RETURN true;
END
$$;

-- Sources that this session is asking.
CREATE FUNCTION ff_hub.mine() RETURNS SETOF integer
LANGUAGE sql STABLE
AS $$
    SELECT l.objid::integer
      FROM pg_locks l
     WHERE l.locktype = 'advisory' AND l.pid = pg_backend_pid() AND l.objsubid = 2
       AND l.classid = 'ff_hub.source'::regclass
$$;

-- Disconnects from a source and unlocks it.
CREATE FUNCTION ff_hub.leave(id integer) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    PERFORM ff_hub.hang_up('fillfactor_advisor ' || id);
    PERFORM pg_advisory_unlock('ff_hub.source'::regclass::oid::integer, id);
END
$$;

-- Sends the query to a source (asking), or stores its answer or error. Returns false while waiting for the answer.
CREATE FUNCTION ff_hub.turn(s ff_hub.source, asking boolean) RETURNS boolean
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    connection CONSTANT text := 'fillfactor_advisor ' || s.source_id;
    patience   CONSTANT interval := (ff_hub.limits()).answer;
    answer     text;
    detail     text;
    hint       text;
BEGIN
    BEGIN
        IF asking THEN
            PERFORM ff_hub.send(connection, s.server, 'SELECT ff_internal.export()', patience);
            RETURN false;
        END IF;
        answer := ff_hub.answer(connection, s.tried_at, patience);
        IF answer IS NULL THEN
            RETURN false;
        END IF;
        PERFORM ff_hub.store(s.source_id, answer::jsonb);
    EXCEPTION WHEN OTHERS THEN
        GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
        -- details only of connection errors; others quote what was sent
        PERFORM ff_hub.failed(s.source_id, SQLSTATE,
            concat_ws(': ', SQLERRM, CASE WHEN SQLSTATE ^@ '08' THEN nullif(detail, '') END), hint);
    END;
    PERFORM ff_hub.leave(s.source_id);
    RETURN true;
END
$$;

-- One step of a refresh, in one transaction: asks at most one more source (previously failed ones last) and stores one
-- answer. Weighs reads when no source is left. Returns false, with a notice, if nothing or no time is left. The name
-- keeps it out of ff_horizon().
CREATE FUNCTION ff_hub.step(part integer, parts integer, began timestamptz) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET application_name = 'fillfactor_advisor'
AS $$
DECLARE
    pause  CONSTANT float8 := 0.01;    -- seconds between checks of connections, chosen
    bounds record;
    id     integer;
    s      ff_hub.source;
    n      record;
BEGIN
    PERFORM ff_hub.check_role('collector');
    IF (part BETWEEN 1 AND parts) IS NOT TRUE THEN
        PERFORM ff_internal.refuse('22023',
            format('there is no part %s of %s', coalesce(part::text, 'NULL'), coalesce(parts::text, 'NULL')), NULL,
            'CALL ff_fleet_refresh(2, 4) is the second of four parts.');
    END IF;
    SELECT * INTO bounds FROM ff_hub.limits();
    -- left by an interrupted refresh of this session
    PERFORM ff_hub.leave(o.source_id) FROM ff_hub.source o
      WHERE o.source_id IN (SELECT ff_hub.mine()) AND (o.tried_at < began) IS NOT FALSE;
    -- the first that no other session is asking
    SELECT o.source_id INTO id
      FROM (SELECT o.source_id FROM ff_hub.source o
             WHERE o.server IS NOT NULL AND o.source_id % parts = part - 1
               AND (o.tried_at IS NULL OR o.tried_at < began) AND clock_timestamp() < began + bounds.refresh
               AND (SELECT count(*) FROM ff_hub.mine()) < bounds.sources
             ORDER BY o.failures > 0, o.tried_at NULLS FIRST, o.source_id OFFSET 0) o
     WHERE pg_try_advisory_lock('ff_hub.source'::regclass::oid::integer, o.source_id) LIMIT 1;
    IF id IS NOT NULL THEN
        -- unless another session asked it meanwhile
        UPDATE ff_hub.source o SET tried_at = clock_timestamp()
         WHERE o.source_id = id AND (o.tried_at IS NULL OR o.tried_at < began) RETURNING * INTO s;
        IF FOUND THEN
            PERFORM ff_hub.turn(s, true);
        ELSE
            PERFORM ff_hub.leave(id);
        END IF;
    END IF;
    FOR s IN
        SELECT o.* FROM ff_hub.source o
         WHERE o.source_id IN (SELECT ff_hub.mine()) ORDER BY o.tried_at
    LOOP
        IF ff_hub.turn(s, false) THEN
            RETURN true;
        END IF;
    END LOOP;
    IF FOUND THEN
        PERFORM pg_sleep(CASE WHEN id IS NULL THEN pause ELSE 0 END);
        RETURN true;
    END IF;
    -- sources removed meanwhile
    PERFORM ff_hub.leave(m) FROM ff_hub.mine() m;
    IF id IS NOT NULL OR ff_hub.weigh(part, parts, began) THEN
        RETURN true;
    END IF;
    SELECT count(*) FILTER (WHERE o.succeeded_at >= began) AS fresh, count(*) AS sources,
           count(*) FILTER (WHERE o.tried_at >= began AND o.failures > 0) AS failed INTO n
      FROM ff_hub.source o WHERE o.server IS NOT NULL AND o.source_id % parts = part - 1;
    RAISE NOTICE '% of % sources answered, % failed, % were not asked', n.fresh, n.sources, n.failed,
        n.sources - n.fresh - n.failed;
    RETURN false;
END
$$;

-- Schema-qualifies every name: a procedure that commits cannot set a search_path.
CREATE PROCEDURE ff_hub.fleet_refresh(part integer, parts integer)
LANGUAGE plpgsql
AS $$
DECLARE
    began CONSTANT pg_catalog.timestamptz DEFAULT pg_catalog.clock_timestamp();
BEGIN
    WHILE ff_hub.step(part, parts, began) LOOP
        COMMIT;
    END LOOP;
END
$$;

CREATE PROCEDURE @extschema@.ff_fleet_refresh(part integer DEFAULT 1, parts integer DEFAULT 1)
LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM ff_internal.check_role('collector');
    CALL ff_hub.fleet_refresh(part, parts);
END
$$;
COMMENT ON PROCEDURE @extschema@.ff_fleet_refresh(integer, integer) IS
'Asks all sources of this hub, many at a time, and stores their answers, each in its own transaction; a notice '
'reports the result. A source that fails, hangs (20 seconds) or sends an invalid answer keeps its last one, with the '
'error and its age, and is asked last next time. After two minutes no more sources are asked; the remaining ones come '
'first next time.
part, parts: only this share of the sources, for several sessions in parallel.
Errors: 22023 no such part, 2D000 in a transaction block.';
