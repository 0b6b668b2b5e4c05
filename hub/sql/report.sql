-- What the hub stores, as views, scripts and an HTML page.

CALL ff_internal.define($$
CREATE VIEW @extschema@.ff_fleet (
    -- The sources of this hub and their state, one row each, as stored: it asks none of them.
    source,         -- name on this hub
    server,         -- foreign server that leads to it; NULL: imported
    database,       -- name of the database there
    role,
        -- primary, standby, duplicate (the same server under another name), former primary, clone (two servers of the
        -- same identity accept writes); NULL: it never answered
    state,          -- ok, failing (the last try failed), stale (no answer for an hour), imported, new
    age,            -- of its data
    last_success,   -- last answer
    last_try,       -- when it was last asked
    error,          -- why the last try failed
    server_version, -- server_version_num there
    version,        -- version of the extension there
    timeline,       -- WAL timeline; a promotion changes it
    collected_at,   -- last collection there
    tables,         -- tables in its answer
    changes,        -- of these, tables with advice to change
    note            -- anything unusual
) WITH (security_barrier) AS
SELECT m.source, m.server, m.database, m.role,
       CASE WHEN m.succeeded_at IS NULL AND m.failures = 0 THEN 'new' WHEN m.failures > 0 THEN 'failing'
            WHEN m.server IS NULL THEN 'imported' WHEN m.age > interval '1 hour' THEN 'stale' ELSE 'ok' END,
       date_trunc('second', m.age), m.succeeded_at, m.tried_at, m.error, m.server_version, m.version, m.timeline,
       m.collected_at, n.tables, n.changes,
       nullif(concat_ws('; ',
           format(CASE m.role
                  WHEN 'duplicate' THEN CASE WHEN m.in_recovery THEN 'the same server as another source'
                                             ELSE 'the same server as source %s' END
                  WHEN 'clone' THEN 'it has the identity of source %s, and both accept writes: a copy, or two primaries'
                  WHEN 'former primary' THEN 'source %s is the primary now'
                  WHEN 'standby' THEN CASE WHEN NOT m.lead_in_recovery THEN 'its reads are counted for source %s' END
                  END, m.lead),
           CASE WHEN m.succeeded_at IS NOT NULL AND m.collected_at IS NULL THEN 'nothing was collected there yet'
                WHEN m.exported_at > m.collected_at + interval '1 day'
                THEN 'its last collection is older than a day' END), '')
  FROM ff_hub.member m
 CROSS JOIN LATERAL (SELECT count(*) AS tables, count(a.advised) AS changes
                       FROM ff_hub.advice a WHERE a.source_id = m.source_id) n
 WHERE ff_hub.check_role('reader') IS NOT NULL
 ORDER BY m.source;
$$);

CALL ff_internal.define($$
CREATE VIEW @extschema@.ff_fleet_advice (
    -- ff_advice of all sources: changes first, by the WAL that they save, then CPU time, then disk. Each database is
    -- there once, even if several sources report it; the reads of its standbys are weighed.
    source,                  -- source of the advice
    database,                -- its database
    relation,                -- the table
    now,                     -- effective fillfactor, percent
    new,                     -- advised fillfactor, percent; NULL if nothing should change
    action,                  -- lower, raise, keep, wait
    gain,                    -- cost saved by the change
    confidence,              -- 0 to 1
    why,                     -- the cause
    watched,                 -- time that it rests on
    wal_bytes_per_day_saved, -- WAL saved by the change, bytes per day; NULL: watched for less than an hour
    disk_bytes_change,       -- of table and indexes, bytes
    age,                     -- of the answer with it
    note
        -- stale (its source does not answer), provisional (observed for less than a day), reads on standbys
) WITH (security_barrier) AS
SELECT a.source, a.database, a.relation, a.fillfactor, a.new,
       CASE WHEN a.new < a.fillfactor THEN 'lower' WHEN a.new > a.fillfactor THEN 'raise' WHEN a.turned THEN 'keep'
            ELSE a.action END,
       round(w.gain_pct)::integer || ' %', a.confidence, a.why, make_interval(secs => round(a.observed_s)),
       CASE WHEN a.observed_s >= 3600 THEN w.wal END, w.disk, date_trunc('second', a.age),
       nullif(concat_ws('; ',
           CASE WHEN a.failures > 0 OR a.age > interval '1 hour' THEN 'stale' END,
           CASE WHEN a.provisional AND a.new IS NOT NULL THEN 'provisional' END,
           CASE WHEN a.turned THEN concat_ws(' to ', a.action, a.advised) || ' without the reads on standbys' END,
           'read on standbys: ' || round(nullif(a.blocks_per_s, 0)::numeric, 1) || ' pages/s'), '')
  FROM (SELECT m.source, m.database, m.failures, m.age, o.*, s.blocks_per_s, t.turned,
               CASE WHEN t.turned THEN nullif(o.weighed, o.fillfactor) ELSE o.advised END AS new
          FROM ff_hub.member m
          JOIN ff_hub.advice o ON o.source_id = m.source_id
          LEFT JOIN ff_hub.standby_reads s ON s.source_id = o.source_id AND s.relid = o.relid
         CROSS JOIN LATERAL (SELECT s.relid IS NOT NULL AND o.weighed IS NOT NULL) t(turned)
         WHERE m.source_id = m.lead_id OR m.role = 'clone') a
  LEFT JOIN LATERAL (SELECT a.gain_pct, a.wal_bytes_per_day_saved AS wal, a.cpu_seconds_per_day_saved AS cpu,
                            a.disk_bytes_change AS disk WHERE NOT a.turned) w ON true
 WHERE ff_hub.check_role('reader') IS NOT NULL
 ORDER BY a.new IS NULL, w.wal DESC NULLS LAST, w.cpu DESC NULLS LAST, w.disk, a.updates_per_s DESC NULLS LAST,
       a.source, a.relation;
$$);

CREATE FUNCTION @extschema@.ff_fleet_script(source text, rewrite boolean DEFAULT false, top integer DEFAULT NULL)
RETURNS SETOF text
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    s      ff_hub.source;
    answer text;
BEGIN
    PERFORM ff_hub.check_role('collector');
    SELECT * INTO s FROM ff_hub.source o WHERE o.source = ff_fleet_script.source;
    IF s.source_id IS NULL THEN
        PERFORM ff_internal.refuse('42704', format('source %s does not exist', coalesce(quote_ident(source), 'NULL')),
                                   NULL, 'See ff_fleet for the sources.');
    ELSIF s.server IS NULL THEN
        PERFORM ff_internal.refuse('55000', format('source %I was imported', source), NULL, 'Run ff_script() there.');
    END IF;
    -- chosen: the model may be asked there
    answer := ff_hub.ask(s.server, format('SELECT ff_internal.export_script(%L, %L)', rewrite, top), '2 min');
    RETURN NEXT format('-- Sent by source %s. It is that server''s word: read it before you run it there.',
                       ff_internal.plain(source));
    RETURN QUERY
        SELECT ff_internal.plain(regexp_replace(l.line, '^(\\set ON_ERROR_STOP .*\\encoding )\S+$',
                                                '\1' || pg_client_encoding()))
          FROM string_to_table(answer, E'\n') l(line);
END
$$;
COMMENT ON FUNCTION @extschema@.ff_fleet_script(text, boolean, integer) IS
'Fetches the script of a source now, as ff_script() returns it there; it refuses to run on any other server. The '
'source has two minutes. rewrite, top: as for ff_script().
Errors: 42704 no such source, 55000 it was imported, 08001 it cannot be reached, and its own.';

-- The page. changes: in the order of their worth.
CREATE FUNCTION ff_hub.page(
    sources @extschema@.ff_fleet[], changes @extschema@.ff_fleet_advice[], clusters bigint, top integer)
RETURNS text
LANGUAGE sql STABLE
AS $$
    SELECT ff_internal.refuse('22023', 'top must be greater than 0') WHERE top < 1;
    SELECT ff_internal.page('Fillfactor report of a fleet', (
        SELECT format(E'<h1>%s of %s, %s well; %s advised%s.</h1>\n'
                      '<p class="sub">Made at %s on the hub in database %s.</p>\n<nav></nav>\n',
                      ff_internal.counted(cardinality(sources), 'source'), ff_internal.counted(clusters, 'cluster'),
                      (SELECT count(*) FROM unnest(sources) s WHERE s.state IN ('ok', 'imported')),
                      ff_internal.counted(count(*), 'change'), ': ' || nullif(ff_internal.effect_words(
                          sum(c.wal_bytes_per_day_saved), sum(c.disk_bytes_change)), ''),
                      ff_internal.minute(now()), ff_internal.html(current_database()::text))
          FROM unnest(changes) c), concat(
        E'<section>\n<h2>What to do first</h2>\n', coalesce((
            SELECT ff_internal.html_table('The changes that save most WAL. SELECT * FROM ff_fleet_script(''source'') '
                       'gives the statements of a source, with guards and undo.', json_agg(r))
              FROM (SELECT c.relation AS "table", c.source, c.database, c.now AS "now|0", c.new AS "new|0",
                           c.gain AS cost, c.confidence AS "confidence|2", -c.wal_bytes_per_day_saved AS "WAL a day|+B",
                           c.disk_bytes_change AS "disk|+B", c.why, c.note, c.age::text AS age
                      FROM unnest(changes) WITH ORDINALITY c ORDER BY c.ordinality LIMIT top) r),
            E'<p>Nothing is to be changed.</p>\n'),
        E'</section>\n<section>\n<h2>Sources</h2>\n', coalesce((
            SELECT ff_internal.html_table('Those that need attention first.', json_agg(r))
              FROM (SELECT s.source, s.state, s.role, s.database, s.age::text AS age, s.tables AS "tables|0",
                           s.changes AS "changes|0",
                           (s.server_version / 10000) || '.' || s.server_version % 10000 AS "PostgreSQL", s.version,
                           s.timeline AS "timeline|0", concat_ws('; ', s.error, s.note) AS note
                      FROM unnest(sources) s
                     ORDER BY s.state IN ('ok', 'imported'), s.note IS NULL, s.source) r),
            E'<p>There is none: see ff_fleet_add().</p>\n'),
        E'</section>\n'))
$$;

CREATE FUNCTION @extschema@.ff_fleet_report(top integer DEFAULT 100) RETURNS text
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT ff_hub.check_role('reader');
    SELECT ff_hub.page(ARRAY(SELECT s FROM @extschema@.ff_fleet s),
                       ARRAY(SELECT a FROM @extschema@.ff_fleet_advice a WHERE a.new IS NOT NULL),
                       (SELECT count(DISTINCT s.system_identifier) FROM ff_hub.source s), top);
END;
COMMENT ON FUNCTION @extschema@.ff_fleet_report(integer) IS
'One HTML page of the fleet: the changes of all sources that save most WAL (at most top; NULL: all), and the state of '
'the sources. To write it: psql -XAtqc "SELECT ff_fleet_report()" > fleet.html
Error 22023: top below 1.';
