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

-- A schedule of one time an hour, or of every so many minutes, moved by n minutes; any other as it is.
CREATE FUNCTION ff_internal.spread(schedule text, n bigint) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (SELECT CASE WHEN n % f[1]::integer > 0 THEN format('%s-59/%s%s', n % f[1]::integer, f[1], f[3])
                    WHEN f[2] IS NOT NULL THEN (f[2]::integer + n) % 60 || f[3] ELSE schedule END
          FROM regexp_match(schedule, '^(?:[*]/([1-9]|[1-5]\d)|([1-5]?\d))((?: +\S+){4})$') f);

-- Error 55000 if pg_cron is absent. True, with a warning, if it runs from another database: the caller returns what is
-- to be run there.
CREATE FUNCTION ff_internal.cron_elsewhere(action text) RETURNS boolean
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    here CONSTANT record := ff_internal.cron();
BEGIN
    IF here.state = 'absent' THEN
        PERFORM ff_internal.refuse('55000', 'pg_cron is not in this database', NULL, format(
            'Add pg_cron to shared_preload_libraries, restart, and run CREATE EXTENSION pg_cron in the database that '
            'cron.database_name names. Without pg_cron, a crontab can run psql -X -q -d DATABASE -c "%s".', action));
    ELSIF here.state = 'elsewhere' THEN
        RAISE WARNING 'nothing is done yet: pg_cron runs from database "%"', here.cron_database
            USING HINT = 'Run what is returned there.';
    END IF;
    RETURN here.state = 'elsewhere';
END
$$;

-- Creates a job for this database, which undo removes; elsewhere, returns the statement. A comment in the command says
-- how to remove a job that DROP EXTENSION left, which then fails.
CREATE FUNCTION ff_internal.schedule_job(job_name text, schedule text, action text, undo text) RETURNS text
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    command CONSTANT text := format('%s -- left without the extension? SELECT cron.unschedule(%s);', action,
                                    ff_internal.quoted_text(job_name));
BEGIN
    IF ff_internal.cron_elsewhere(action) THEN
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
    removed bigint;
BEGIN
    IF (ff_internal.cron()).state = 'absent' THEN
        RETURN '0 jobs removed: pg_cron is not in this database';
    ELSIF ff_internal.cron_elsewhere(NULL) THEN
        RETURN format('SELECT cron.unschedule(jobid) FROM cron.job WHERE %s;', condition);
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
    IF schedule IS NULL THEN
        PERFORM ff_internal.refuse('22004', 'schedule must not be null', NULL,
                                   'To stop collecting, use ff_unschedule().');
    ELSIF NOT all_databases THEN
        RETURN ff_internal.schedule_job(ff_internal.job_name(current_database()), schedule, collect,
                                        'ff_unschedule()');
    ELSIF ff_internal.cron_elsewhere(collect) THEN
        RETURN (SELECT string_agg(format('SELECT cron.schedule_in_database(%L, %L, %L, %L);',
                                         j.job_name, j.own_schedule, j.command, j.database), E'\n')
                  FROM ff_internal.database_jobs(schedule) j);
    END IF;
    RETURN ff_internal.counted(ff_internal.schedule_databases(schedule), 'database') || '; '
           || ff_internal.schedule_job('fillfactor_advisor, all databases', schedule,
                  format('SELECT ff_internal.schedule_databases(%L)', schedule), 'ff_unschedule(true)');
END
$$;
COMMENT ON FUNCTION @extschema@.ff_schedule(text, boolean) IS
'Schedules CALL ff_collect() as a pg_cron job of the calling role; another call changes the schedule.
schedule: in cron syntax; pg_cron 1.5 also takes ''30 seconds''.
all_databases: a job for each database of the server, which collects if the extension is there; another job adds new '
'databases and removes dropped ones. If the schedule is every so many minutes or once an hour, the jobs begin in '
'different minutes.
If pg_cron runs from another database: a warning, and the statements to run there, again for new databases.
DROP EXTENSION leaves the job, which fails from then on; a comment in its command has the statement that removes it.
Errors: 22023 pg_cron does not take the schedule, 42501 the role may not write the history, 55000 there is no pg_cron; '
'the hint says what a crontab can run.';

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
