-- Rights of all objects above, and what pg_dump dumps.
--
-- PUBLIC may use the public functions and views, but each calls check_role(): its error says who may. Members of
-- pg_read_all_stats (and so of pg_monitor) read the history and call reading functions; members of pg_stat_scan_tables
-- sample and collect. Functions run with the caller's rights. Functions in no list below are reading ones.
--
-- A function with a text body gets a search_path of pg_catalog; a procedure that commits cannot have one.

DROP PROCEDURE ff_internal.define(text);

DO $$
DECLARE
    collecting CONSTANT text[] := '{sample, pool_samples, pooled, pool_bins, pool_lengths, index_pages,
        collect, collect_begin, collect_counters, collect_counted, collect_pages, collect_problem, try_step, is_skip,
        collect_end, collect_statements, collect_statements_failed, collect_horizon, collect_settings, current_epoch,
        index_keys, counted_since, table_differences, close_tables, write_changes, write_differences, read_statements,
        close_statements, add_statement, is_shared,
        admit_statements, sum_statements, write_statements, rows_kept, roll_up,
        prune, cron, check_collector, job_command, job_name, check_cron,
        schedule_job, unschedule_jobs, database_jobs, schedule_databases,
        fleet_refresh, dblink,
        deadline, connect_timeout, check_source, check_export, fleet_limits, fleet_send, fleet_answer, fleet_hang_up,
        store_export, fleet_failed, fleet_mine, fleet_leave, fleet_turn, fleet_step,
        fleet_begin, fleet_weigh, fits_due, collect_fit, note, note_fit, collect_verdicts}';
    for_both   CONSTANT text[] := '{counted, index_definitions, other_options, collect_due, parse_statement,
        total, counters_plus, counter_columns, resolve, shell_quoted, horizon_holders, statement_shown, tracked_settings}';
    for_all    CONSTANT text[] := '{refuse, check_role, overview, setting, lookback, server}';
    object     record;
BEGIN
    GRANT USAGE ON SCHEMA ff_internal TO PUBLIC;
    FOR object IN
        SELECT d.objid, c.relkind, p.proname, p.oid::regprocedure AS routine, c.oid::regclass AS relation, c.relname,
               p.prokind = 'f' AND p.prosqlbody IS NULL AND l.lanname IN ('sql', 'plpgsql') AS is_text
          FROM pg_depend d
          LEFT JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
          LEFT JOIN pg_language l ON l.oid = p.prolang
          LEFT JOIN pg_class c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
         WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
           AND d.refobjid = (SELECT e.oid FROM pg_extension e WHERE e.extname = 'fillfactor_advisor')
         ORDER BY c.relname
    LOOP
        IF object.proname IS NOT NULL THEN
            EXECUTE format('REVOKE ALL ON ROUTINE %s FROM PUBLIC', object.routine);
            EXECUTE format('GRANT EXECUTE ON ROUTINE %s TO %s', object.routine,
                CASE WHEN object.proname ^@ 'ff_' OR object.proname = ANY (for_all) THEN 'PUBLIC'
                     WHEN object.proname = ANY (for_both) THEN 'pg_read_all_stats, pg_stat_scan_tables'
                     WHEN object.proname = ANY (collecting) THEN 'pg_stat_scan_tables' ELSE 'pg_read_all_stats' END);
            IF object.is_text THEN
                EXECUTE format('ALTER FUNCTION %s SET search_path = pg_catalog, pg_temp', object.routine);
            END IF;
        ELSIF object.relkind IN ('r', 'v') THEN
            EXECUTE format('REVOKE ALL ON %s FROM PUBLIC', object.relation);
            -- public views check the caller, too
            EXECUTE format('GRANT SELECT ON %s TO %s', object.relation,
                CASE WHEN object.relname ^@ 'ff_' THEN 'PUBLIC' ELSE 'pg_read_all_stats' END);
        END IF;
        IF object.relkind = 'r' THEN
            PERFORM pg_extension_config_dump(object.objid, '');
        END IF;
    END LOOP;
    -- sequences of identity columns belong to their tables
    FOR object IN
        SELECT c.oid FROM pg_class c WHERE c.relkind = 'S' AND c.relnamespace = 'ff_internal'::regnamespace
    LOOP
        PERFORM pg_extension_config_dump(object.oid, '');
    END LOOP;
END
$$;
