-- Rights of the hub's objects, and what pg_dump dumps: see give_rights() in sql/base/grant.sql.
CALL ff_internal.give_rights('fillfactor_advisor_hub', reading => '{page}',
    for_all => '{check_version, check_role}', others => 'pg_stat_scan_tables');
