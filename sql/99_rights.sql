-- Rights, and what pg_dump keeps, for all objects above.
--
-- Nothing is granted to PUBLIC. Members of pg_read_all_stats (so of pg_monitor)
-- read the history and call what reads; members of pg_stat_scan_tables sample
-- and collect. Functions run with the caller's rights. A function that is not
-- in the list is one that reads.

DROP PROCEDURE ff_internal.define(text);

DO $$
DECLARE
    collecting CONSTANT text[] := '{ff_sample, sample, pool_samples, ff_sample_index, index_pages, ff_collect, ff_schedule,
        ff_unschedule, ff_exclude, ff_include, collect, collect_begin, collect_counters, collect_counted, collect_pages,
        collect_problem, collect_end, collect_statements, collect_statements_failed, collect_horizon, collect_settings,
        current_epoch, index_keys, index_changes, table_differences, close_tables, write_differences, io_counters,
        read_statements, current_statement_epoch, close_statements, close_evicted, choose_statements, add_statement,
        admit_statements, sum_statements, write_statements, rows_kept, take, roll_up, prune_closed, prune, cron,
        is_schedule, check_collector, job_command,
        job_name, check_cron, schedule_job, unschedule_jobs, database_jobs, schedule_databases, own_jobs, ff_fleet_add,
        ff_fleet_remove, ff_import, ff_fleet_refresh, fleet_refresh, ff_fleet_script, ff_fleet_schedule, dblink,
        check_fleet_server, check_export, fleet_limits, fleet_send, fleet_answer, fleet_hang_up, store_reads,
        store_advice, store_export, fleet_failed, fleet_connection, fleet_mine, fleet_leave, fleet_ask, fleet_take,
        fleet_step, fleet_begin, fleet_end, fleet_weigh, step_with_reads, fits_due, collect_fit,
        collect_verdicts}';
    for_both   CONSTANT text[] := '{setting, index_definitions, other_options, collect_due, parse_statement,
        resolve, server, statement_source, horizon_holders, tracked_settings}';
    object     record;
BEGIN
    GRANT USAGE ON SCHEMA ff_internal TO pg_read_all_stats, pg_stat_scan_tables;
    FOR object IN
        SELECT p.oid::regprocedure AS name, CASE p.prokind WHEN 'p' THEN 'PROCEDURE' ELSE 'FUNCTION' END AS kind, CASE
               WHEN p.proname = ANY (for_both) THEN 'pg_read_all_stats, pg_stat_scan_tables'
               WHEN p.proname = ANY (collecting) THEN 'pg_stat_scan_tables'
               ELSE 'pg_read_all_stats' END AS roles
          FROM pg_depend d JOIN pg_proc p ON p.oid = d.objid
         WHERE d.classid = 'pg_proc'::regclass AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
           AND d.refobjid = (SELECT e.oid FROM pg_extension e WHERE e.extname = 'fillfactor_advisor')
    LOOP
        EXECUTE format('REVOKE ALL ON %s %s FROM PUBLIC', object.kind, object.name);
        EXECUTE format('GRANT EXECUTE ON %s %s TO %s', object.kind, object.name, object.roles);
    END LOOP;
    FOR object IN
        SELECT c.oid::regclass AS name, c.oid, c.relkind, c.relname
          FROM pg_depend d JOIN pg_class c ON c.oid = d.objid
         WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
           AND d.refobjid = (SELECT e.oid FROM pg_extension e WHERE e.extname = 'fillfactor_advisor')
           AND c.relkind IN ('r', 'v')
         ORDER BY c.relname
    LOOP
        EXECUTE format('REVOKE ALL ON %s FROM PUBLIC', object.name);
        EXECUTE format('GRANT SELECT ON %s TO pg_read_all_stats', object.name);
        IF object.relkind = 'r' THEN
            PERFORM pg_extension_config_dump(object.oid, '');
        END IF;
    END LOOP;
    -- sequences of identity columns belong to their tables
    FOR object IN
        SELECT s.objid FROM pg_depend s JOIN pg_class c ON c.oid = s.objid AND c.relkind = 'S'
         WHERE s.classid = 'pg_class'::regclass AND s.deptype = 'i' AND c.relnamespace = 'ff_internal'::regnamespace
         ORDER BY c.relname
    LOOP
        PERFORM pg_extension_config_dump(object.objid, '');
    END LOOP;
END
$$;
