-- Rights of the hub's objects, and what pg_dump dumps: see give_rights() in sql/base/grant.sql.
CALL ff_internal.give_rights('fillfactor_advisor_hub',
    collecting => '{limits, dblink, connect_timeout, deadline, send, answer, hang_up, check_export, store, failed,
        check_source, weigh, mine, leave, turn, step, begin, fleet_refresh}',
    for_both => '{}', for_all => '{check_version, check_role}');
