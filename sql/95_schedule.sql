-- Schedule: ff_collect() as a pg_cron job.

-- The name of the job of a database. A name has 63 bytes: a long one is shortened, still unique.
CREATE FUNCTION ff_internal.job_name(database name) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT 'fillfactor_advisor ' || CASE WHEN octet_length(database::text) <= 44 THEN database::text
           ELSE left(encode(sha256(convert_to(database::text, 'UTF8')), 'hex'), 32) END
$$;

-- Where pg_cron is, and its functions and job table, quoted. Only members of the extension pg_cron are named: a schema
-- that merely is called cron is never touched. state: here, elsewhere (the server runs it from another database),
-- not_created (it would run from this one), absent, unknown (the settings are hidden from this role).
CREATE FUNCTION ff_internal.cron(
    OUT state text,
    OUT cron_database text,
    OUT schedule_function text,
    OUT schedule_in_function text,
    OUT unschedule_function text,
    OUT job_table text
)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    extension oid;
BEGIN
    SELECT s.setting INTO cron_database FROM pg_settings s WHERE s.name = 'cron.database_name';
    SELECT e.oid INTO extension FROM pg_extension e WHERE e.extname = 'pg_cron';

    IF extension IS NULL THEN
        state := CASE WHEN cron_database = current_database() THEN 'not_created'
                      WHEN cron_database IS NOT NULL THEN 'elsewhere'
                      WHEN pg_has_role(current_user, 'pg_read_all_settings', 'USAGE') THEN 'absent'
                      ELSE 'unknown' END;
        RETURN;
    ELSIF cron_database <> current_database() THEN
        state := 'elsewhere';
        RETURN;
    END IF;

    state := 'here';
    SELECT max(format('%I.%I', n.nspname, p.proname)) FILTER (WHERE p.proname = 'schedule'
               AND p.proargtypes::text = '25 25 25'),
           max(format('%I.%I', n.nspname, p.proname)) FILTER (WHERE p.proname = 'schedule_in_database'
               AND p.proargtypes::text = '25 25 25 25 25 16'),
           max(format('%I.%I', n.nspname, p.proname)) FILTER (WHERE p.proname = 'unschedule'
               AND p.proargtypes::text = '20')
      INTO schedule_function, schedule_in_function, unschedule_function
      FROM pg_depend d
      JOIN pg_proc p ON p.oid = d.objid
      JOIN pg_namespace n ON n.oid = p.pronamespace
     WHERE d.classid = 'pg_proc'::regclass
       AND d.refclassid = 'pg_extension'::regclass AND d.refobjid = extension AND d.deptype = 'e';
    SELECT format('%I.%I', n.nspname, c.relname) INTO job_table
      FROM pg_depend d
      JOIN pg_class c ON c.oid = d.objid
      JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE d.classid = 'pg_class'::regclass AND d.objsubid = 0
       AND d.refclassid = 'pg_extension'::regclass AND d.refobjid = extension AND d.deptype = 'e'
       AND c.relname = 'job' AND c.relkind = 'r';
    IF schedule_function IS NULL OR schedule_in_function IS NULL OR unschedule_function IS NULL
       OR job_table IS NULL THEN
        RAISE EXCEPTION 'pg_cron is too old'
            USING ERRCODE = 'feature_not_supported',
                  DETAIL = 'It has no schedule(), schedule_in_database(), unschedule() or job table of its own.',
                  HINT = 'Run ALTER EXTENSION pg_cron UPDATE; version 1.4 or later is needed.';
    END IF;
END
$$;

-- Whether a text is a schedule that every cron understands: five fields, or a word such as @hourly.
CREATE FUNCTION ff_internal.is_schedule(schedule text) RETURNS boolean
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    -- Five fields; each a list of *, a number or name, or a range of them,
    -- with an optional step.  Names of months and days stand for numbers.
    WITH field AS (
        SELECT f.place, f.value, b.lo, b.hi, b.names
          FROM regexp_split_to_table(schedule, '[[:blank:]]+') WITH ORDINALITY f(value, place)
          LEFT JOIN (VALUES (1, 0, 59, '[0-9]'), (2, 0, 23, '[0-9]'), (3, 1, 31, '[0-9]'),
                            (4, 1, 12, 'jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec'),
                            (5, 0, 7, 'sun|mon|tue|wed|thu|fri|sat')) b(place, lo, hi, names) ON b.place = f.place
    ), item AS (
        SELECT field.lo, field.hi, m IS NOT NULL AS known, CASE WHEN m[1] ~ '^[0-9]' THEN m[1]::integer END AS first,
               CASE WHEN m[2] ~ '^[0-9]' THEN m[2]::integer END AS last, m[3]::integer AS step
          FROM field
         CROSS JOIN LATERAL regexp_split_to_table(field.value, ',') i(value)
          LEFT JOIN LATERAL regexp_match(i.value, replace(
                    '^(?:[*]|([0-9]{1,2}|NAMES)(?:-([0-9]{1,2}|NAMES))?)(?:/([0-9]{1,2}))?$', 'NAMES', field.names),
                    'i') m ON true
    )
    SELECT schedule ~ '^@(hourly|daily|midnight|weekly|monthly|yearly|annually|reboot)$'
        OR (SELECT count(*) = 5 FROM field)
           AND (SELECT bool_and(known AND coalesce(first BETWEEN lo AND hi, true)
                                AND coalesce(last BETWEEN lo AND hi, true)
                                AND coalesce(first <= last, true) AND coalesce(step > 0, true)) FROM item)
$$;

-- Error 42501, with a hint, where the calling role may not write what a collection writes.
CREATE FUNCTION ff_internal.check_collector() RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    missing text;
BEGIN
    SELECT format('%I.%I', n.nspname, c.relname) INTO missing
      FROM pg_extension e
      JOIN pg_class c ON c.oid = ANY (e.extconfig) AND c.relkind = 'r'
      JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE e.extname = 'fillfactor_advisor'
       AND NOT (has_table_privilege(c.oid, 'INSERT') AND has_table_privilege(c.oid, 'UPDATE')
                AND has_table_privilege(c.oid, 'DELETE'))
     ORDER BY 1 LIMIT 1;
    IF missing IS NOT NULL THEN
        RAISE EXCEPTION 'role % may not write the history', quote_ident(current_user)
            USING ERRCODE = 'insufficient_privilege',
                  DETAIL = format('A collection inserts into, updates and deletes from the tables of the extension, '
                                  'among them %s.', missing),
                  HINT = format('Ask a superuser to run SELECT ff_grant(%L, ''collector'').', current_user);
    END IF;
END
$$;

-- The command of a pg_cron job of this name: a DO block that does action (PL/pgSQL), or error 42704 with a hint how to
-- remove the job once the extension is dropped.
CREATE FUNCTION ff_internal.job_command(job_name text, action text DEFAULT 'CALL ff_internal.collect()') RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- A job outlives the extension; then it is the job itself that has to say so.
    SELECT format('DO %L', format(
               'BEGIN '
               'IF NOT EXISTS (SELECT FROM pg_catalog.pg_extension '
               'WHERE extname OPERATOR(pg_catalog.=) ''fillfactor_advisor'') THEN '
               'RAISE ''extension fillfactor_advisor is gone from this database, its job is left'' '
               'USING ERRCODE = ''undefined_object'', HINT = %L; '
               'END IF; '
               '%s; '
               'END',
               format('Remove the job where pg_cron is: SELECT cron.unschedule(jobid) FROM cron.job '
                      'WHERE jobname = %L AND database = %L;', job_name, current_database()), action))
$$;

-- ---------------------------------------------------------------------------
-- One job
-- ---------------------------------------------------------------------------
-- Error where a text is no schedule, or where there is no pg_cron: the hint then has a line for a crontab that does
-- command.
CREATE FUNCTION ff_internal.check_cron(schedule text, command text) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
DECLARE
    state   CONSTANT text := (ff_internal.cron()).state;
    crontab text;
BEGIN
    IF schedule IS NULL THEN
        RAISE EXCEPTION 'schedule must not be null'
            USING ERRCODE = 'null_value_not_allowed',
                  HINT = 'To stop collecting, use ff_unschedule().';
    ELSIF state = 'here' THEN
        -- a wrong one is refused by pg_cron, in its own words
        RETURN;
    END IF;

    -- Nobody else looks at it; pg_cron may know seconds, and $ for the last
    -- day of the month, too.
    IF NOT ff_internal.is_schedule(CASE state WHEN 'elsewhere'
           THEN regexp_replace(replace(schedule, '$', '*'), '^[1-5]?[0-9] seconds?$', '* * * * *')
           ELSE schedule END) THEN
        RAISE EXCEPTION 'invalid schedule: %', quote_literal(schedule)
            USING ERRCODE = 'invalid_parameter_value',
                  HINT = 'A schedule has five fields: minute, hour, day of the month, month, day of the week; for '
                         'example ''*/5 * * * *'', every five minutes.';
    ELSIF state = 'elsewhere' THEN
        RETURN;
    ELSIF state = 'not_created' THEN
        RAISE EXCEPTION 'pg_cron is loaded but not created in this database'
            USING ERRCODE = 'undefined_object',
                  HINT = 'Run CREATE EXTENSION pg_cron, then ff_schedule() again.';
    END IF;

    -- In a crontab % is a line end and a line end cannot be written.
    IF command || current_database() ~ '[[:cntrl:]]' THEN
        crontab := 'call psql on this database';
    ELSE
        crontab := format('%s  PGDATABASE=''%s'' psql -X -q -c ''%s''', schedule,
                          replace(replace(current_database(), '''', '''\'''''), '%', '\%'),
                          replace(replace(command, '''', '''\'''''), '%', '\%'));
    END IF;
    RAISE EXCEPTION '%', CASE state
            WHEN 'unknown' THEN 'pg_cron is not in this database, and the server''s settings are hidden from this role'
            ELSE 'pg_cron is not loaded by this server' END
        USING ERRCODE = 'object_not_in_prerequisite_state',
              HINT = format('Add pg_cron to shared_preload_libraries, restart, and run CREATE EXTENSION pg_cron in the '
                            'database that cron.database_name names. Without pg_cron a line in the crontab (or a '
                            'systemd timer with its command) does the same: %s', crontab);
END
$$;

-- Makes a job of a name in this database; where pg_cron runs from another one, a warning, and the statement to run
-- there.
CREATE FUNCTION ff_internal.schedule_job(job_name text, schedule text, action text) RETURNS text
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    cron   record;
    job    bigint;
    others bigint;
BEGIN
    PERFORM ff_internal.check_cron(schedule, action);
    SELECT * INTO cron FROM ff_internal.cron();
    IF cron.state = 'elsewhere' THEN
        RAISE WARNING 'nothing is scheduled yet: pg_cron runs from database "%"', cron.cron_database
            USING HINT = 'Run the returned statement there.';
        RETURN format('SELECT cron.schedule_in_database(%L, %L, %L, %L);',
                      job_name, schedule, ff_internal.job_command(job_name, action), current_database());
    END IF;
    -- its job would fail each time
    PERFORM ff_internal.check_collector();
    EXECUTE format('SELECT %s($1, $2, $3)', cron.schedule_function)
       INTO job USING job_name, schedule, ff_internal.job_command(job_name, action);
    EXECUTE format('SELECT count(*) FROM %s WHERE jobid <> $1 AND jobname = $2 AND database = $3', cron.job_table)
       INTO others USING job, job_name, current_database();
    IF others > 0 THEN
        RAISE WARNING 'another role has scheduled the same collection'
            USING DETAIL = 'The second of two collectors leaves without harm.',
                  HINT = 'ff_unschedule(), run by a superuser, removes all of them.';
    END IF;
    RETURN format('job %s: a DO block with %s in database %I, schedule %s, as user %I. '
                  'Run ff_unschedule() before DROP EXTENSION.', job, action, current_database(), schedule, current_user);
END
$$;

-- Removes the jobs that this role may see and that a condition on cron.job holds for; where pg_cron runs from another
-- database, a warning, and the statement to run there.
CREATE FUNCTION ff_internal.unschedule_jobs(condition text) RETURNS text
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    cron    record;
    removed bigint;
BEGIN
    SELECT * INTO cron FROM ff_internal.cron();
    IF cron.state = 'here' THEN
        EXECUTE format('SELECT count(%s(j.jobid)) FROM (SELECT jobid FROM %s WHERE %s) j',
                       cron.unschedule_function, cron.job_table, condition) INTO removed;
        RETURN format('%s job(s) removed', removed);
    ELSIF cron.state = 'elsewhere' THEN
        RAISE WARNING 'nothing is removed yet: pg_cron runs from database "%"', cron.cron_database
            USING HINT = 'Run the returned statement there.';
        RETURN format('SELECT cron.unschedule(jobid) FROM cron.job WHERE %s;', condition);
    END IF;
    RETURN '0 job(s) removed: pg_cron is not in this database';
END
$$;

-- ---------------------------------------------------------------------------
-- All databases of the server
-- ---------------------------------------------------------------------------
-- A job for each database that can be connected to: it collects where the extension is and does nothing elsewhere, as
-- nobody sees from here which databases have it. They begin at different times: in different minutes where the schedule
-- is every so many minutes, and then spread over the minute, waiting without a snapshot.
CREATE FUNCTION ff_internal.database_jobs(schedule text)
RETURNS TABLE (job_name text, job_schedule text, command text, database name)
LANGUAGE sql STABLE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT ff_internal.job_name(d.datname),
           coalesce(d.place % e.every || '-59/' || e.every || substring(schedule FROM ' .*$'), schedule),
           format('DO %L', format(
               'BEGIN FOR i IN 1 .. %s LOOP PERFORM pg_catalog.pg_sleep(1); COMMIT; END LOOP; '
               'IF EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname OPERATOR(pg_catalog.=) '
               '''fillfactor_advisor'') THEN CALL ff_internal.collect(); END IF; END',
               d.place / coalesce(e.every, 1) * 60 / ceil(d.databases::numeric / coalesce(e.every, 1))::integer)),
           d.datname
      FROM (SELECT b.datname, row_number() OVER (ORDER BY b.oid)::integer - 1 AS place, count(*) OVER () AS databases
              FROM pg_database b
             WHERE b.datallowconn AND NOT b.datistemplate AND has_database_privilege(b.oid, 'CONNECT')) d
     CROSS JOIN (SELECT substring(schedule FROM '^[*]/([2-9]|[1-5][0-9]) ')::integer AS every) e
$$;

-- Makes the jobs of all databases what they should be now: new databases get theirs, those of dropped ones go. Returns
-- how many there are. A job of ff_schedule(all_databases => true) does this in the database that pg_cron runs from.
CREATE FUNCTION ff_internal.schedule_databases(schedule text) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    cron record;
BEGIN
    SELECT * INTO cron FROM ff_internal.cron();
    EXECUTE format('SELECT count(%s(o.jobid)) FROM (SELECT * FROM %s j WHERE j.username = current_user '
                   '   AND j.jobname = ff_internal.job_name(j.database::name) '
                   '   AND j.database NOT IN (SELECT n.database FROM ff_internal.database_jobs($1) n)) o',
                   cron.unschedule_function, cron.job_table) USING schedule;
    EXECUTE format('SELECT count(%s(n.job_name, n.job_schedule, n.command, n.database::text, NULL::text, true)) '
                   '  FROM (SELECT * FROM ff_internal.database_jobs($1) d '
                   '         WHERE NOT EXISTS (SELECT FROM %s j WHERE j.username = current_user AND j.active '
                   '                              AND (j.jobname, j.schedule, j.command, j.database) '
                   '                                  = (d.job_name, d.job_schedule, d.command, d.database))) n',
                   cron.schedule_in_function, cron.job_table) USING schedule;
    RETURN (SELECT count(*) FROM ff_internal.database_jobs(schedule));
END
$$;

-- The condition on cron.job for the job of this database, or for those of all and their keeper, whose name has a comma
-- where others have a space.
CREATE FUNCTION ff_internal.own_jobs(all_databases boolean) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN all_databases
           THEN 'jobname = ''fillfactor_advisor, all databases'' OR jobname LIKE ''fillfactor\_advisor %'''
           ELSE format('jobname = %L AND database = %L', ff_internal.job_name(current_database()), current_database()) END
$$;

CREATE FUNCTION @extschema@.ff_schedule(schedule text DEFAULT '*/5 * * * *', all_databases boolean DEFAULT false)
RETURNS text
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    cron record;
BEGIN
    IF NOT all_databases THEN
        RETURN ff_internal.schedule_job(ff_internal.job_name(current_database()), schedule, 'CALL ff_internal.collect()');
    END IF;
    PERFORM ff_internal.check_cron(schedule, 'CALL ff_internal.collect()');
    SELECT * INTO cron FROM ff_internal.cron();
    IF cron.state = 'here' THEN
        RETURN format('%s databases; ', ff_internal.schedule_databases(schedule))
               || ff_internal.schedule_job('fillfactor_advisor, all databases', schedule,
                      format('PERFORM ff_internal.schedule_databases(%L)', schedule));
    END IF;
    RAISE WARNING 'nothing is scheduled yet: pg_cron runs from database "%"', cron.cron_database
        USING DETAIL = 'From here the jobs of databases that are made later cannot be kept.',
              HINT = 'Run the returned statements there, and again for new databases; or create the extension there and '
                     'call ff_schedule(all_databases => true) in it.';
    RETURN (SELECT string_agg(format('SELECT cron.schedule_in_database(%L, %L, %L, %L);',
                                     j.job_name, j.job_schedule, j.command, j.database), E'\n')
              FROM ff_internal.database_jobs(schedule) j);
END
$$;
COMMENT ON FUNCTION @extschema@.ff_schedule(text, boolean) IS
'schedules a pg_cron job of the calling role (cron syntax; a newer pg_cron also takes ''30 seconds''): a DO block '
'that does CALL ff_collect(), or, left after DROP EXTENSION, fails and says how to remove it; called again it changes '
'the schedule. all_databases: a job for each database of the server that can be connected to, which collects where the '
'extension is; they begin at different times, and one job more takes in new databases and forgets dropped ones. Where '
'pg_cron runs from another database: a warning, and the statements to run there. Errors: 22023 no schedule that cron '
'understands, 42501 the role may not write the history, 55000 there is no pg_cron (the hint has the line for a crontab)';

CREATE FUNCTION @extschema@.ff_unschedule(all_databases boolean DEFAULT false) RETURNS text
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT ff_internal.unschedule_jobs(ff_internal.own_jobs(all_databases))
$$;
COMMENT ON FUNCTION @extschema@.ff_unschedule(boolean) IS
'removes the pg_cron jobs of ff_schedule() for this database, or for all, that the calling role may see, and no other '
'job; may be called again. Where pg_cron runs from another database: a warning, and the statement to run there';

-- ---------------------------------------------------------------------------
-- Fleet
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_fleet_schedule(schedule text DEFAULT '*/5 * * * *', parts integer DEFAULT 1)
RETURNS SETOF text
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    id CONSTANT oid := (SELECT d.oid FROM pg_database d WHERE d.datname = current_database());
BEGIN
    IF (parts BETWEEN 1 AND 100) IS NOT TRUE THEN
        RAISE 'parts must be between 1 and 100' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    -- those of other numbers of parts go first
    IF schedule IS NULL OR (ff_internal.cron()).state = 'here' THEN
        RETURN NEXT ff_internal.unschedule_jobs(format('jobname ~ %L', format('^fillfactor_advisor, fleet %s ', id)));
    END IF;
    FOR part IN 1 .. CASE WHEN schedule IS NULL THEN 0 ELSE parts END LOOP
        RETURN NEXT ff_internal.schedule_job(
            format('fillfactor_advisor, fleet %s %s/%s', id, part, parts), schedule,
            format('CALL ff_internal.fleet_refresh(%s, %s)', part, parts));
    END LOOP;
END
$$;
COMMENT ON FUNCTION @extschema@.ff_fleet_schedule(text, integer) IS
'Schedules ff_fleet_refresh() as pg_cron jobs of the calling role, one for each of so many parts, and says of each what '
'it is; NULL as the schedule removes them. Otherwise as ff_schedule().';
