-- Rights of the hub's objects, and what pg_dump dumps: see give_rights() in sql/base/grant.sql.
CALL ff_internal.give_rights('fillfactor_advisor_hub',
    collecting => '{
        limits, dblink, connect_timeout, deadline, send, answer, hang_up, check_export, store, failed,
        check_source, weigh, mine, leave, turn, step, begin, fleet_refresh, columns_of, schema_statements,
        table_statements, column_statements, index_statements, attempt, is_mirrored, find_restored,
        forget_lost, shape_here, find_former, detach, drop_mirrored, make_way, drop_mirrored_index,
        options_of, follow_options, follow_table, attach_all, follow_index, follow, check_observation,
        server_said, digests_said, index_pages, store_said, take, observation, known, ask, observe,
        check_mirror, mirror_words}',
    for_both => '{}', for_all => '{check_version, check_role}');
