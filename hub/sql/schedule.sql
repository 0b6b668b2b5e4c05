-- Schedule: ff_fleet_refresh() as pg_cron jobs.

CREATE FUNCTION @extschema@.ff_fleet_schedule(schedule text DEFAULT '*/5 * * * *', parts integer DEFAULT 1)
RETURNS SETOF text
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    jobs CONSTANT text := (SELECT format('fillfactor_advisor, fleet %s ', d.oid)
                             FROM pg_database d WHERE d.datname = current_database());
BEGIN
    PERFORM ff_hub.check_role('collector');
    IF (parts BETWEEN 1 AND 100) IS NOT TRUE THEN
        PERFORM ff_internal.refuse('22023', 'parts must be between 1 and 100');
    END IF;
    -- first remove the jobs of another number of parts
    IF schedule IS NULL OR (ff_internal.cron()).state = 'here' THEN
        RETURN NEXT ff_internal.unschedule_jobs(format('jobname ^@ %L', jobs));
    END IF;
    FOR part IN 1 .. CASE WHEN schedule IS NULL THEN 0 ELSE parts END LOOP
        RETURN NEXT ff_internal.schedule_job(format('%s%s/%s', jobs, part, parts),
                                             ff_internal.spread(schedule, part - 1),
                                             format('CALL ff_hub.fleet_refresh(%s, %s)', part, parts),
                                             'ff_fleet_schedule(NULL)');
    END LOOP;
END
$$;
COMMENT ON FUNCTION @extschema@.ff_fleet_schedule(text, integer) IS
'Schedules ff_fleet_refresh() as pg_cron jobs of the calling role, one per part, and describes each. A NULL schedule '
'removes them. Otherwise like ff_schedule().';
