-- Schedule: ff_collect() as a pg_cron job.

-- Name of a database's job; a hash replaces a long name to keep it within 63 bytes.
CREATE FUNCTION ff_internal.job_name(database name) RETURNS text
LANGUAGE sql STABLE
RETURN 'fillfactor_advisor ' || CASE WHEN octet_length(database::text) <= 44 THEN database::text
                                     ELSE left(encode(sha256(convert_to(database, 'UTF8')), 'hex'), 32) END;

-- Where pg_cron is: here; elsewhere (it runs from cron_database); absent, or not created yet.
CREATE FUNCTION ff_internal.cron(OUT state text, OUT cron_database text)
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT CASE WHEN s.setting <> current_database() THEN 'elsewhere'
                WHEN EXISTS (SELECT FROM pg_extension e WHERE e.extname = 'pg_cron') THEN 'here'
                ELSE 'absent' END, s.setting
      FROM (SELECT) one LEFT JOIN pg_settings s ON s.name = 'cron.database_name';
END;

-- A schedule moved by n minutes, modulo the shortest time between two of its minutes; as it is if it has none.
CREATE FUNCTION ff_internal.spread(schedule text, n bigint) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    WITH runs AS (
        SELECT DISTINCT m, substring(s, ' .*') AS rest
          FROM (SELECT CASE lower(schedule) WHEN '@hourly' THEN '0 * * * *' WHEN '@daily' THEN '0 0 * * *'
                       ELSE schedule END) given(s)
         CROSS JOIN string_to_table(substring(s, '^([-*/,\d]+)( +\S+){4}$'), ',') part
         CROSS JOIN regexp_match(part, '^(?:[*]|(\d{1,2})(?:-(\d{1,2}))?)(?:/(\d{1,2}))?$') f
         CROSS JOIN generate_series(coalesce(f[1], '0')::integer, coalesce(f[2], f[1], '59')::integer,
                                    coalesce(f[3], '1')::integer) m
    ), shortest AS (
        SELECT min(r.gap) AS gap
          FROM (SELECT lead(o.m, 1, o.m + 60) OVER (ORDER BY o.m) - o.m AS gap
                  FROM (SELECT m FROM runs UNION ALL SELECT min(m) + 60 FROM runs) o) r
    )
    SELECT CASE WHEN n % min(l.gap) > 0
                THEN CASE WHEN count(*) > 1 AND count(*) * min(l.gap) = 60 THEN format('%s-59/%s', min(t), min(l.gap))
                          ELSE string_agg(t::text, ',' ORDER BY t) END || min(r.rest)
                ELSE schedule END
      FROM runs r CROSS JOIN shortest l CROSS JOIN LATERAL (SELECT (r.m + n % l.gap) % 60) x(t));

-- Error if the schedule is none that pg_cron takes, or pg_cron is absent, with a crontab line for the action.
CREATE FUNCTION ff_internal.check_cron(schedule text, action text) RETURNS void
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    fields CONSTANT text := (
        SELECT string_agg(replace('I(,I)*', 'I', replace('(N|([*]|N-N)(/[1-9]\d?)?)', 'N', n)), ' +')
          FROM unnest('{[0-5]?\\d,([01]?\\d|2[0-3]),(0?[1-9]|[12]\\d|3[01]|[$]),
                        (0?[1-9]|1[0-2]|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec),
                        ([0-7]|sun|mon|tue|wed|thu|fri|sat)}'::text[]) n);
    cron_version CONSTANT integer[] := (
        SELECT regexp_match(coalesce(x.installed_version, x.default_version), '^(\d+)[.](\d+)')
          FROM pg_available_extensions x WHERE x.name = 'pg_cron');
BEGIN
    IF schedule IS NULL THEN
        PERFORM ff_internal.refuse('22004', 'schedule must not be null', NULL,
                                   'To stop collecting, use ff_unschedule().');
    ELSIF schedule !~* concat('^(([1-9]|[1-5]\d) seconds?|@(hourly|daily|midnight|weekly|monthly|yearly|annually)|',
                              fields, ')$') THEN
        PERFORM ff_internal.refuse('22023', format('not a schedule: %s', schedule), NULL,
                                   'For example */5 * * * *, or, with pg_cron 1.5, 30 seconds.');
    ELSIF schedule ~* 'second' AND cron_version < '{1,5}' THEN
        PERFORM ff_internal.refuse('22023', 'this version of pg_cron takes no seconds', NULL,
            'Update it to 1.5 (ALTER EXTENSION pg_cron UPDATE), or collect every minute: * * * * *');
    ELSIF (ff_internal.cron()).state = 'absent' THEN
        PERFORM ff_internal.refuse('55000', 'pg_cron is not in this database', NULL, format(
            'Add pg_cron to shared_preload_libraries, restart, and run CREATE EXTENSION pg_cron in the database that '
            'cron.database_name names. Without pg_cron, a line in the crontab does the same: %s',
            -- in a crontab % is a line end, and a real one cannot be written
            CASE WHEN current_database() ~ '[[:cntrl:]]' OR schedule ~* 'second' THEN 'call psql on this database'
                 ELSE replace(format('%s  PGDATABASE=%s psql -X -q -c %s', schedule,
                                     ff_internal.shell_quoted(current_database()), ff_internal.shell_quoted(action)),
                              '%', E'\\%') END));
    END IF;
END
$$;

-- Creates a job for this database, which undo removes. If pg_cron runs from another one: warns and returns the
-- statement to run there. A comment in the command says how to remove a job that DROP EXTENSION left, which then fails.
CREATE FUNCTION ff_internal.schedule_job(job_name text, schedule text, action text, undo text) RETURNS text
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    command CONSTANT text := format('%s -- left without the extension? SELECT cron.unschedule(%s);', action,
                                    ff_internal.quoted_text(job_name));
    here    CONSTANT record := ff_internal.cron();
BEGIN
    PERFORM ff_internal.check_cron(schedule, action);
    IF here.state = 'elsewhere' THEN
        RAISE WARNING 'nothing is scheduled yet: pg_cron runs from database "%"', here.cron_database
            USING HINT = 'Run the returned statement there.';
        RETURN format('SELECT cron.schedule_in_database(%L, %L, %L, %L);', job_name, schedule, command,
                      current_database());
    END IF;
    -- otherwise the job would fail each time
    PERFORM ff_internal.check_collector();
    RETURN format('job %s runs %s in database %I as user %I, schedule %s. Run %s before DROP EXTENSION.',
                  cron.schedule(job_name, schedule, command), action, current_database(), current_user, schedule, undo);
END
$$;

-- Removes the jobs that this role may see and that match a condition on cron.job; elsewhere as above.
CREATE FUNCTION ff_internal.unschedule_jobs(condition text) RETURNS text
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    here    CONSTANT record := ff_internal.cron();
    removed bigint;
BEGIN
    IF here.state = 'elsewhere' THEN
        RAISE WARNING 'nothing is removed yet: pg_cron runs from database "%"', here.cron_database
            USING HINT = 'Run the returned statement there.';
        RETURN format('SELECT cron.unschedule(jobid) FROM cron.job WHERE %s;', condition);
    ELSIF here.state = 'absent' THEN
        RETURN '0 jobs removed: pg_cron is not in this database';
    END IF;
    EXECUTE 'SELECT count(cron.unschedule(j.jobid)) FROM (SELECT jobid FROM cron.job WHERE ' || condition || ') j'
       INTO removed;
    RETURN ff_internal.counted(removed, 'job') || ' removed';
END
$$;

-- A job for each database that accepts connections, spread over minutes. It finds out whether the extension is there.
CREATE FUNCTION ff_internal.database_jobs(schedule text)
RETURNS TABLE (job_name text, own_schedule text, command text, database text)
LANGUAGE sql STABLE ROWS 10
AS $$
    SELECT ff_internal.job_name(d.datname), ff_internal.spread(schedule, row_number() OVER (ORDER BY d.oid) - 1),
           'DO ''BEGIN IF EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname OPERATOR(pg_catalog.=) '
           '''''fillfactor_advisor'''') THEN CALL ff_internal.collect(); END IF; END''', d.datname::text
      FROM pg_database d
     WHERE d.datallowconn AND NOT d.datistemplate AND has_database_privilege(d.oid, 'CONNECT')
$$;

-- Creates, updates and removes jobs so that each database has its job; returns their number. Called by
-- ff_schedule(all_databases => true) and its job.
CREATE FUNCTION ff_internal.schedule_databases(schedule text) RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    PERFORM cron.unschedule(o.jobid)
       FROM (SELECT j.jobid FROM cron.job j
              WHERE j.username = current_user AND j.jobname = ff_internal.job_name(j.database::name)
                AND j.database NOT IN (SELECT n.database FROM ff_internal.database_jobs($1) n)) o;
    PERFORM cron.schedule_in_database(n.job_name, n.own_schedule, n.command, n.database, NULL::text, true)
       FROM (SELECT * FROM ff_internal.database_jobs($1)
             EXCEPT
             SELECT j.jobname, j.schedule, j.command, j.database FROM cron.job j
              WHERE j.username = current_user AND j.active) n;
    RETURN (SELECT count(*) FROM ff_internal.database_jobs($1));
END
$$;

CREATE FUNCTION @extschema@.ff_schedule(schedule text DEFAULT '*/5 * * * *', all_databases boolean DEFAULT false)
RETURNS text
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    collect CONSTANT text := 'CALL ff_internal.collect()';
BEGIN
    PERFORM ff_internal.check_role('collector');
    IF NOT all_databases THEN
        RETURN ff_internal.schedule_job(ff_internal.job_name(current_database()), schedule, collect,
                                        'ff_unschedule()');
    END IF;
    PERFORM ff_internal.check_cron(schedule, collect);
    IF (ff_internal.cron()).state = 'here' THEN
        RETURN (ff_internal.counted(ff_internal.schedule_databases(schedule), 'database') || '; ')
               || ff_internal.schedule_job('fillfactor_advisor, all databases', schedule,
                      format('SELECT ff_internal.schedule_databases(%L)', schedule), 'ff_unschedule(true)');
    END IF;
    RAISE WARNING 'nothing is scheduled yet: pg_cron runs from database "%"', (ff_internal.cron()).cron_database
        USING HINT = 'Run the returned statements there, and again for new databases; or create the extension there '
                     'and call ff_schedule(all_databases => true) in it.';
    RETURN (SELECT string_agg(format('SELECT cron.schedule_in_database(%L, %L, %L, %L);',
                                     j.job_name, j.own_schedule, j.command, j.database), E'\n')
              FROM ff_internal.database_jobs(schedule) j);
END
$$;
COMMENT ON FUNCTION @extschema@.ff_schedule(text, boolean) IS
'Schedules CALL ff_collect() as a pg_cron job of the calling role; another call changes the schedule.
schedule: in cron syntax; pg_cron 1.5 also takes ''30 seconds''.
all_databases: a job for each database of the server, which collects if the extension is there; another job adds new '
'databases and removes dropped ones. The jobs begin in different minutes, unless they run every minute or every few '
'seconds.
If pg_cron runs from another database: a warning, and the statements to run there.
DROP EXTENSION leaves the job, which fails from then on; a comment in its command, in cron.job and in the log, has the '
'statement that removes it.
Errors: 22023 not a schedule, 42501 the role may not write the history, 55000 there is no pg_cron; the hint has the '
'line for a crontab.';

-- The job that maintains the others has a comma in its name instead of a space.
CREATE FUNCTION @extschema@.ff_unschedule(all_databases boolean DEFAULT false) RETURNS text
LANGUAGE sql VOLATILE
AS $$
    SELECT ff_internal.check_role('collector');
    SELECT ff_internal.unschedule_jobs(
               CASE WHEN all_databases
                    THEN 'jobname = ''fillfactor_advisor, all databases'' OR jobname ^@ ''fillfactor_advisor '''
                    ELSE format('jobname = %L AND database = %L', ff_internal.job_name(current_database()),
                                current_database()) END)
$$;
COMMENT ON FUNCTION @extschema@.ff_unschedule(boolean) IS
'Removes the pg_cron jobs that ff_schedule() made for this database; ff_unschedule(true) removes those of '
'ff_schedule(all_databases => true). Only jobs that the calling role may see are removed. If pg_cron runs from another '
'database: a warning, and the statement to run there.';
