-- Rights: of an extension's objects, and of the roles that use them.

-- Gives rights on all members of an extension, a search_path to its functions, and says what pg_dump dumps. The last
-- piece of a script calls it, of an upgrade too.
--
-- PUBLIC may use the public functions and views, but each calls check_role(): its error says who may. Members of
-- pg_read_all_stats (and so of pg_monitor) read the history and call reading functions; members of pg_stat_scan_tables
-- sample and collect. Functions run with the caller's rights; those in none of the lists are for the role others.
--
-- A function with a text body gets a search_path of pg_catalog, and its backslashes mean what they say; a procedure
-- that commits can have neither.
CREATE PROCEDURE ff_internal.give_rights(
    extension name, for_all text[], for_both text[] DEFAULT '{}', collecting text[] DEFAULT '{}',
    reading text[] DEFAULT '{}', installing text[] DEFAULT '{}', others text DEFAULT 'pg_read_all_stats')
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    object record;
BEGIN
    FOR object IN
        SELECT c.relkind, c.oid::regclass AS relation, p.oid::regprocedure::text AS routine,
               p.prokind = 'f' AND p.prosqlbody IS NULL AND l.lanname IN ('sql', 'plpgsql') AS is_text,
               strpos(p.prosrc, E'\\') > 0 AS has_backslash,
               CASE WHEN p.proname ^@ 'ff_' OR c.relname ^@ 'ff_' OR p.proname = ANY (for_all) THEN 'PUBLIC'
                    WHEN p.proname = ANY (for_both) THEN 'pg_read_all_stats, pg_stat_scan_tables'
                    WHEN p.proname = ANY (collecting) THEN 'pg_stat_scan_tables'
                    WHEN p.oid IS NULL OR p.proname = ANY (reading) THEN 'pg_read_all_stats'
                    WHEN p.proname <> ALL (installing) THEN others END AS grantee
          FROM pg_extension e
          JOIN pg_depend d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.deptype = 'e'
          LEFT JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
          LEFT JOIN pg_language l ON l.oid = p.prolang
          LEFT JOIN pg_class c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
         WHERE e.extname = extension ORDER BY c.relname
    LOOP
        IF object.routine IS NOT NULL THEN
            EXECUTE concat_ws('; ',
                'REVOKE ALL ON ROUTINE ' || object.routine || ' FROM PUBLIC, pg_read_all_stats, pg_stat_scan_tables',
                'GRANT EXECUTE ON ROUTINE ' || object.routine || ' TO ' || object.grantee,
                CASE WHEN object.is_text
                     THEN 'ALTER FUNCTION ' || object.routine || ' SET search_path = pg_catalog, pg_temp' END,
                CASE WHEN object.is_text AND object.has_backslash
                     THEN 'ALTER FUNCTION ' || object.routine || ' SET standard_conforming_strings = on' END);
        ELSIF object.relkind IN ('r', 'v') THEN
            EXECUTE format('REVOKE ALL ON %1$s FROM PUBLIC; GRANT SELECT ON %1$s TO %2$s', object.relation,
                           object.grantee);
        END IF;
        IF object.relkind IN ('r', 'S') THEN
            -- a table with rows of a type of its own is a cache: another version may have another type
            PERFORM pg_extension_config_dump(object.relation, CASE WHEN count(*) > 0 THEN 'WHERE false' ELSE '' END)
               FROM pg_attribute a
               JOIN pg_type t ON t.oid = a.atttypid
               LEFT JOIN pg_type i ON i.oid = t.typelem AND t.typcategory = 'A'
              WHERE a.attrelid = object.relation AND a.attnum > 0 AND 'c' IN (t.typtype, i.typtype);
        END IF;
    END LOOP;
END
$$;

CREATE FUNCTION @extschema@.ff_grant(role name, what text) RETURNS SETOF text
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    -- from PostgreSQL 16 on, a grant says whether it is inherited, whatever the role was when it was made
    by_grant CONSTANT boolean := current_setting('server_version_num')::integer >= 160000;
    command  text;
BEGIN
    -- of the hub, too, where it is
    IF EXISTS (SELECT FROM pg_extension e
                WHERE e.extname ^@ 'fillfactor_advisor' AND NOT pg_has_role(e.extowner, 'USAGE')) THEN
        PERFORM ff_internal.refuse('42501', format('role %I may not grant rights on the extension', current_user), NULL,
                                   format('Ask a superuser to run SELECT ff_grant(%L, %L).', role, what));
    ELSIF role IS NULL OR what IS NULL OR what NOT IN ('reader', 'collector') THEN
        PERFORM ff_internal.refuse('22023', format('invalid grant: %L to %L', what, role), NULL,
            'Call ff_grant(''role'', ''reader'') or ff_grant(''role'', ''collector'').');
    ELSIF EXISTS (SELECT FROM pg_roles r WHERE r.rolname = role AND NOT r.rolinherit AND NOT r.rolsuper)
          AND NOT by_grant THEN
        PERFORM ff_internal.refuse('22023', format('role %I does not inherit what it is granted', role), NULL,
                                   format('Run ALTER ROLE %I INHERIT first.', role));
    END IF;
    FOR command IN
        SELECT format('GRANT USAGE ON SCHEMA %s TO %I', string_agg(DISTINCT e.extnamespace::regnamespace::text, ', '),
                      role)
          FROM pg_extension e WHERE e.extname ^@ 'fillfactor_advisor'
        UNION ALL
        SELECT format('GRANT %I TO %I%s', g, role, CASE WHEN by_grant THEN ' WITH INHERIT TRUE' END)
          FROM CAST(CASE what WHEN 'reader' THEN 'pg_read_all_stats' ELSE 'pg_monitor' END AS name) g
         WHERE NOT pg_has_role(role, g, 'USAGE')
        UNION ALL
        SELECT format('GRANT INSERT, UPDATE, DELETE ON %s TO %I',
                      string_agg(c.oid::regclass::text, ', ' ORDER BY c.relname), role)
          FROM pg_extension e JOIN pg_class c ON c.oid = ANY (e.extconfig)
         WHERE e.extname ^@ 'fillfactor_advisor' AND c.relkind = 'r' AND what = 'collector'
        HAVING count(*) > 0
    LOOP
        EXECUTE command;
        RETURN NEXT 'done: ' || command || ';';
    END LOOP;
END
$$;
COMMENT ON FUNCTION @extschema@.ff_grant(name, text) IS
'Grants a role what it needs; returns the statements that it ran.
what: reader (may call advice, script, report, metrics) or collector (also CALL ff_collect() and ff_schedule(): it '
'may write the history, which determines the advice).
To undo it, REVOKE what the statements granted; DROP EXTENSION leaves USAGE of the schema, and the membership in '
'pg_read_all_stats or pg_monitor.
Errors: 22023 invalid what, or a NOINHERIT role before PostgreSQL 16, 42704 no such role, 42501 the caller is neither '
'a superuser nor a member of the extension''s owner, or may not grant the predefined role.';
