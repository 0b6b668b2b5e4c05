-- Schedule: ff_collect() as a pg_cron job.

-- Where pg_cron is, and its functions and job table, quoted. Only members of the extension pg_cron are named: a schema
-- that merely is called cron is never touched. state: here, elsewhere (the server runs it from another database),
-- not_created (it would run from this one), absent, unknown (the settings are hidden from this role). job_name,
-- command: those of ff_schedule().
CREATE FUNCTION ff_internal.cron(
    OUT state text,
    OUT cron_database text,
    OUT schedule_function text,
    OUT unschedule_function text,
    OUT job_table text,
    OUT job_name text,
    OUT command text
)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    extension oid;
BEGIN
    -- whatever schema the extension's public part is in, now and later
    command := 'CALL ff_internal.collect()';

    -- a job's name is a name, 63 bytes: a long database name is shortened, still unique
    job_name := 'fillfactor_advisor ' || current_database();
    IF octet_length(job_name) > 63 THEN
        job_name := 'fillfactor_advisor ' || left(encode(sha256(convert_to(current_database(), 'UTF8')), 'hex'), 32);
    END IF;

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
           max(format('%I.%I', n.nspname, p.proname)) FILTER (WHERE p.proname = 'unschedule'
               AND p.proargtypes::text = '20')
      INTO schedule_function, unschedule_function
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
    IF schedule_function IS NULL OR unschedule_function IS NULL OR job_table IS NULL THEN
        RAISE EXCEPTION 'pg_cron is too old'
            USING ERRCODE = 'feature_not_supported',
                  DETAIL = 'It has no schedule(text, text, text), unschedule(bigint) or job table of its own.',
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

-- The command of a pg_cron job of this name: a DO block that does CALL ff_collect(), or error 42704 with a hint how to
-- remove the job once the extension is dropped.
CREATE FUNCTION ff_internal.job_command(job_name text) RETURNS text
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
               'CALL ff_internal.collect(); '
               'END',
               format('Remove the job where pg_cron is: SELECT cron.unschedule(jobid) FROM cron.job '
                      'WHERE jobname = %L AND database = %L;', job_name, current_database())))
$$;

CREATE FUNCTION @extschema@.ff_schedule(schedule text DEFAULT '*/5 * * * *') RETURNS text
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
DECLARE
    cron record;
    job bigint;
    others bigint;
    crontab text;
BEGIN
    IF schedule IS NULL THEN
        RAISE EXCEPTION 'schedule must not be null'
            USING ERRCODE = 'null_value_not_allowed',
                  HINT = 'To stop collecting, use ff_unschedule().';
    END IF;
    SELECT * INTO cron FROM ff_internal.cron();

    IF cron.state = 'here' THEN
        -- its job would fail each time
        PERFORM ff_internal.check_collector();
        -- a wrong schedule is refused by pg_cron, in its own words
        EXECUTE format('SELECT %s($1, $2, $3)', cron.schedule_function)
           INTO job USING cron.job_name, schedule, ff_internal.job_command(cron.job_name);
        EXECUTE format('SELECT count(*) FROM %s WHERE jobid <> $1 AND jobname = $2 AND database = $3', cron.job_table)
           INTO others USING job, cron.job_name, current_database();
        IF others > 0 THEN
            RAISE WARNING 'another role has scheduled the same collection'
                USING DETAIL = 'The second of two collectors leaves without harm.',
                      HINT = 'ff_unschedule(), run by a superuser, removes all of them.';
        END IF;
        RETURN format('job %s: a DO block with %s in database %I, schedule %s, as user %I. '
                      'Run ff_unschedule() before DROP EXTENSION.',
                      job, cron.command, current_database(), schedule, current_user);
    END IF;

    -- Nobody else looks at it; pg_cron may know seconds, and $ for the last
    -- day of the month, too.
    IF NOT ff_internal.is_schedule(CASE cron.state WHEN 'elsewhere'
           THEN regexp_replace(replace(schedule, '$', '*'), '^[1-5]?[0-9] seconds?$', '* * * * *')
           ELSE schedule END) THEN
        RAISE EXCEPTION 'invalid schedule: %', quote_literal(schedule)
            USING ERRCODE = 'invalid_parameter_value',
                  HINT = 'A schedule has five fields: minute, hour, day of the month, month, day of the week; for '
                         'example ''*/5 * * * *'', every five minutes.';
    END IF;

    IF cron.state = 'elsewhere' THEN
        RAISE WARNING 'nothing is scheduled yet: pg_cron runs from database "%"', cron.cron_database
            USING HINT = 'Run the returned statement there.';
        RETURN format('SELECT cron.schedule_in_database(%L, %L, %L, %L);',
                      cron.job_name, schedule, ff_internal.job_command(cron.job_name), current_database());
    ELSIF cron.state = 'not_created' THEN
        RAISE EXCEPTION 'pg_cron is loaded but not created in this database'
            USING ERRCODE = 'undefined_object',
                  HINT = 'Run CREATE EXTENSION pg_cron, then ff_schedule() again.';
    END IF;

    -- In a crontab % is a line end and a line end cannot be written.
    IF cron.command || current_database() ~ '[[:cntrl:]]' THEN
        crontab := 'call psql on this database';
    ELSE
        crontab := format('%s  PGDATABASE=''%s'' psql -X -q -c ''%s''', schedule,
                          replace(replace(current_database(), '''', '''\'''''), '%', '\%'),
                          replace(replace(cron.command, '''', '''\'''''), '%', '\%'));
    END IF;
    RAISE EXCEPTION '%', CASE cron.state
            WHEN 'unknown' THEN 'pg_cron is not in this database, and the server''s settings are hidden from this role'
            ELSE 'pg_cron is not loaded by this server' END
        USING ERRCODE = 'object_not_in_prerequisite_state',
              HINT = format('Add pg_cron to shared_preload_libraries, restart, and run CREATE EXTENSION pg_cron in the '
                            'database that cron.database_name names. Without pg_cron a line in the crontab (or a '
                            'systemd timer with its command) does the same: %s', crontab);
END
$$;
COMMENT ON FUNCTION @extschema@.ff_schedule(text) IS
'schedules a pg_cron job of the calling role (cron syntax; a newer pg_cron also takes ''30 seconds''): a DO block '
'that does CALL ff_collect(), or, left after DROP EXTENSION, fails and says how to remove it; called again it changes '
'the schedule. Where pg_cron runs from another database: a warning, and the statement to run there. Errors: 22023 no '
'schedule that cron understands, 42501 the role may not write the history, 55000 there is no pg_cron (the hint has '
'the line for a crontab)';

CREATE FUNCTION @extschema@.ff_unschedule() RETURNS text
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    cron record;
    removed bigint;
BEGIN
    SELECT * INTO cron FROM ff_internal.cron();

    IF cron.state = 'here' THEN
        EXECUTE format('SELECT count(%s(j.jobid)) FROM (SELECT jobid FROM %s WHERE jobname = $1 AND database = $2) j',
                       cron.unschedule_function, cron.job_table)
           INTO removed USING cron.job_name, current_database();
        RETURN format('%s job(s) removed', removed);
    ELSIF cron.state = 'elsewhere' THEN
        RAISE WARNING 'nothing is removed yet: pg_cron runs from database "%"', cron.cron_database
            USING HINT = 'Run the returned statement there.';
        RETURN format('SELECT cron.unschedule(jobid) FROM cron.job WHERE jobname = %L AND database = %L;',
                      cron.job_name, current_database());
    END IF;
    RETURN '0 job(s) removed: pg_cron is not in this database';
END
$$;
COMMENT ON FUNCTION @extschema@.ff_unschedule() IS
'removes the pg_cron jobs of ff_schedule() for this database that the calling role may see, and no other job; may be '
'called again. Where pg_cron runs from another database: a warning, and the statement to run there';
