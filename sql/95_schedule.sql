-- Schedule: ff_collect() as a pg_cron job.

-- The name of the job of a database. A name has 63 bytes: a long one is shortened, still unique.
CREATE FUNCTION ff_internal.job_name(database name) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT 'fillfactor_advisor ' || CASE WHEN octet_length(database::text) <= 44 THEN database::text
           ELSE left(encode(sha256(convert_to(database::text, 'UTF8')), 'hex'), 32) END
$$;

-- Where pg_cron is: here; elsewhere (it runs from cron_database); not_created (it would run from this one); absent. A
-- schema that merely is called cron is never touched.
CREATE FUNCTION ff_internal.cron(OUT state text, OUT cron_database text)
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT CASE WHEN s.setting <> current_database() THEN 'elsewhere'
                WHEN EXISTS (SELECT FROM pg_extension e WHERE e.extname = 'pg_cron') THEN 'here'
                WHEN s.setting IS NULL THEN 'absent' ELSE 'not_created' END, s.setting
      FROM (SELECT) one LEFT JOIN pg_settings s ON s.name = 'cron.database_name';
END;

-- Whether a text is a schedule that every cron understands: five fields, or a word such as @hourly.
CREATE FUNCTION ff_internal.is_schedule(schedule text) RETURNS boolean
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN schedule ~ '^@(hourly|daily|midnight|weekly|monthly|yearly|annually|reboot)$' OR schedule ~* (
    -- each a list of *, a number or name, or a range of them, with an optional step
    SELECT '^' || string_agg(
               replace('ITEM(,ITEM)*', 'ITEM', replace('([*]|N(-N)?)(/[1-9][0-9]?)?', 'N', '(' || f.n || ')')),
               '[[:blank:]]+' ORDER BY f.place) || '$'
      FROM unnest(ARRAY['[0-5]?[0-9]', '[01]?[0-9]|2[0-3]', '0?[1-9]|[12][0-9]|3[01]',
                        '0?[1-9]|1[0-2]|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec',
                        '[0-7]|sun|mon|tue|wed|thu|fri|sat']) WITH ORDINALITY f(n, place));

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
        PERFORM ff_internal.refuse('22004', 'schedule must not be null', NULL,
                                   'To stop collecting, use ff_unschedule().');
    ELSIF state = 'here' THEN
        -- a wrong one is refused by pg_cron, in its own words
        RETURN;
    -- nobody else looks at it; pg_cron may know seconds, and $ for the last day of the month, too
    ELSIF NOT ff_internal.is_schedule(CASE state WHEN 'elsewhere'
              THEN regexp_replace(replace(schedule, '$', '*'), '^[1-5]?[0-9] seconds?$', '* * * * *')
              ELSE schedule END) THEN
        PERFORM ff_internal.refuse('22023', 'invalid schedule: ' || quote_literal(schedule), NULL,
            'A schedule has five fields: minute, hour, day of the month, month, day of the week; for example '
            '''*/5 * * * *'', every five minutes.');
    ELSIF state = 'elsewhere' THEN
        RETURN;
    ELSIF state = 'not_created' THEN
        PERFORM ff_internal.refuse('42704', 'pg_cron is loaded but not created in this database', NULL,
                                   'Run CREATE EXTENSION pg_cron, then ff_schedule() again.');
    END IF;

    -- In a crontab % is a line end and a line end cannot be written.
    crontab := CASE WHEN command || current_database() ~ '[[:cntrl:]]' THEN 'call psql on this database'
                    ELSE replace(format('%s  PGDATABASE=%s psql -X -q -c %s', schedule,
                                        ff_internal.shell_quoted(current_database()),
                                        ff_internal.shell_quoted(command)), '%', '\%') END;
    PERFORM ff_internal.refuse('55000', 'pg_cron is not loaded by this server', NULL, format(
        'Add pg_cron to shared_preload_libraries, restart, and run CREATE EXTENSION pg_cron in the database that '
        'cron.database_name names. Without pg_cron, a line in the crontab (or a systemd timer with its command) does '
        'the same: %s', crontab));
END
$$;

-- Makes a job of a name in this database; where pg_cron runs from another one, a warning, and the statement to run
-- there.
CREATE FUNCTION ff_internal.schedule_job(job_name text, schedule text, action text) RETURNS text
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    here   CONSTANT record := ff_internal.cron();
    job    bigint;
    others bigint;
BEGIN
    PERFORM ff_internal.check_cron(schedule, action);
    IF here.state = 'elsewhere' THEN
        RAISE WARNING 'nothing is scheduled yet: pg_cron runs from database "%"', here.cron_database
            USING HINT = 'Run the returned statement there.';
        RETURN format('SELECT cron.schedule_in_database(%L, %L, %L, %L);',
                      job_name, schedule, ff_internal.job_command(job_name, action), current_database());
    END IF;
    -- its job would fail each time
    PERFORM ff_internal.check_collector();
    job := cron.schedule(job_name, schedule, ff_internal.job_command(job_name, action));
    SELECT count(*) INTO others
      FROM cron.job j WHERE j.jobid <> job AND j.jobname = job_name AND j.database = current_database();
    IF others > 0 THEN
        RAISE WARNING 'another role has scheduled the same collection'
            USING DETAIL = 'The second of two collectors leaves without harm.',
                  HINT = 'ff_unschedule(), run by a superuser, removes all of them.';
    END IF;
    RETURN format('job %s runs %s in database %I as user %I, schedule %s. Run ff_unschedule() before DROP EXTENSION.',
                  job, action, current_database(), current_user, schedule);
END
$$;

-- Removes the jobs that this role may see and that a condition on cron.job holds for; where pg_cron runs from another
-- database, a warning, and the statement to run there.
CREATE FUNCTION ff_internal.unschedule_jobs(condition text) RETURNS text
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    here    CONSTANT record := ff_internal.cron();
    removed bigint := 0;
BEGIN
    IF here.state = 'elsewhere' THEN
        RAISE WARNING 'nothing is removed yet: pg_cron runs from database "%"', here.cron_database
            USING HINT = 'Run the returned statement there.';
        RETURN format('SELECT cron.unschedule(jobid) FROM cron.job WHERE %s;', condition);
    ELSIF here.state = 'here' THEN
        EXECUTE 'SELECT count(cron.unschedule(j.jobid)) FROM (SELECT jobid FROM cron.job WHERE ' || condition || ') j'
           INTO removed;
    END IF;
    RETURN ff_internal.counted(removed, 'job') || ' removed'
           || CASE here.state WHEN 'here' THEN '' ELSE ': pg_cron is not in this database' END;
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
BEGIN
    PERFORM cron.unschedule(o.jobid)
       FROM (SELECT j.jobid FROM cron.job j
              WHERE j.username = current_user AND j.jobname = ff_internal.job_name(j.database::name)
                AND j.database NOT IN (SELECT n.database FROM ff_internal.database_jobs($1) n)) o;
    PERFORM cron.schedule_in_database(n.job_name, n.job_schedule, n.command, n.database::text, NULL::text, true)
       FROM (SELECT * FROM ff_internal.database_jobs($1) d
              WHERE NOT EXISTS (SELECT FROM cron.job j
                                 WHERE j.username = current_user AND j.active
                                   AND (j.jobname, j.schedule, j.command, j.database)
                                       = (d.job_name, d.job_schedule, d.command, d.database))) n;
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
           THEN 'jobname = ''fillfactor_advisor, all databases'' OR jobname ^@ ''fillfactor_advisor '''
           ELSE format('jobname = %L AND database = %L', ff_internal.job_name(current_database()), current_database())
           END
$$;

CREATE FUNCTION @extschema@.ff_schedule(schedule text DEFAULT '*/5 * * * *', all_databases boolean DEFAULT false)
RETURNS text
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    collect CONSTANT text := 'CALL ff_internal.collect()';
BEGIN
    PERFORM ff_internal.check_role('collector');
    IF NOT all_databases THEN
        RETURN ff_internal.schedule_job(ff_internal.job_name(current_database()), schedule, collect);
    END IF;
    PERFORM ff_internal.check_cron(schedule, collect);
    IF (ff_internal.cron()).state = 'here' THEN
        RETURN (ff_internal.counted(ff_internal.schedule_databases(schedule), 'database') || '; ')
               || ff_internal.schedule_job('fillfactor_advisor, all databases', schedule,
                      format('PERFORM ff_internal.schedule_databases(%L)', schedule));
    END IF;
    RAISE WARNING 'nothing is scheduled yet: pg_cron runs from database "%"', (ff_internal.cron()).cron_database
        USING DETAIL = 'From here the jobs of databases that are made later cannot be kept.',
              HINT = 'Run the returned statements there, and again for new databases; or create the extension there '
                     'and call ff_schedule(all_databases => true) in it.';
    RETURN (SELECT string_agg(format('SELECT cron.schedule_in_database(%L, %L, %L, %L);',
                                     j.job_name, j.job_schedule, j.command, j.database), E'\n')
              FROM ff_internal.database_jobs(schedule) j);
END
$$;
COMMENT ON FUNCTION @extschema@.ff_schedule(text, boolean) IS
'Schedules CALL ff_collect() as a pg_cron job of the calling role; called again, it changes the schedule.
schedule: in cron syntax; pg_cron 1.5 also takes ''30 seconds''.
all_databases: a job for each database of the server, which collects if the extension is there, at different times. '
'One more job takes in new databases and removes the jobs of dropped ones.
A job that is left after DROP EXTENSION fails and says how to remove it. Where pg_cron runs from another database: a '
'warning, and the statements to run there.
Errors: 22023 not a schedule, 42501 the role may not write the history, 55000 there is no pg_cron; the hint has the '
'line for a crontab.';

CREATE FUNCTION @extschema@.ff_unschedule(all_databases boolean DEFAULT false) RETURNS text
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT ff_internal.check_role('collector');
    SELECT ff_internal.unschedule_jobs(ff_internal.own_jobs(all_databases))
$$;
COMMENT ON FUNCTION @extschema@.ff_unschedule(boolean) IS
'Removes the pg_cron jobs that ff_schedule() made for this database; ff_unschedule(true) removes those of '
'ff_schedule(all_databases => true). Only jobs that the calling role may see are removed. Where pg_cron runs from '
'another database: a warning, and the statement to run there.';

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
    PERFORM ff_internal.check_role('collector');
    IF (parts BETWEEN 1 AND 100) IS NOT TRUE THEN
        PERFORM ff_internal.refuse('22023', 'parts must be between 1 and 100');
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
'Schedules ff_fleet_refresh() as pg_cron jobs of the calling role, one for each part, and says what each is. NULL as '
'the schedule removes them. Otherwise as ff_schedule().';
