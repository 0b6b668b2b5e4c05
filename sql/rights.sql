-- Rights of all objects above, and what pg_dump dumps: see give_rights() in sql/base/grant.sql.
CALL ff_internal.give_rights('fillfactor_advisor',
    collecting => '{
        sample, pool_samples, index_pages, collect, collect_begin, collect_counters, collect_counted,
        collect_pages, collect_problem, try_step, is_skip, collect_end, collect_statements, collect_horizon,
        forget_texts, current_epoch, counted_since, table_differences, close_tables, write_changes,
        write_differences, read_statements, inserted_width, close_statements,
        add_statement, admit_statements, sum_statements, write_statements, roll_up, prune, cron,
        check_collector, job_name, cron_elsewhere, spread, schedule_job, unschedule_jobs, database_jobs,
        schedule_databases, fits_due, collect_fit, note, note_fit, keep_dismissal, follow_parents,
        collect_verdicts}',
    for_both => '{
        counted, index_definitions, own_index_definitions, other_options, collect_due,
        parse_statement, total, counters_plus, column_list, with_children, with_parents, resolve,
        tables_named, shell_quoted, horizon_holders, tracked_settings}',
    for_all => '{refuse, check_role, overview, fitted, rate_words, lines, setting, threshold, lookback, own_server}',
    installing => '{define, refuse_strangers, give_rights}');
