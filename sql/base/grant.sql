-- Stage rights: one call grants what a reader or a collector needs.

CREATE FUNCTION @extschema@.ff_grant(role name, what text) RETURNS SETOF text
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    extension record;
    command   text;
BEGIN
    SELECT e.oid, e.extowner, e.extconfig, n.nspname INTO extension
      FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'fillfactor_advisor';
    IF NOT pg_has_role(extension.extowner, 'USAGE') THEN
        PERFORM ff_internal.refuse('42501', format('role %I may not grant rights on the extension', current_user), NULL,
                                   format('Ask a superuser to run SELECT ff_grant(%L, %L).', role, what));
    ELSIF role IS NULL OR what IS NULL OR what NOT IN ('reader', 'collector') THEN
        PERFORM ff_internal.refuse('22023', format('invalid grant: %L to %L', what, role), NULL,
            'Call ff_grant(''role'', ''reader'') or ff_grant(''role'', ''collector'').');
    END IF;
    FOR command IN
        SELECT format('GRANT USAGE ON SCHEMA %I TO %I', extension.nspname, role)
        UNION ALL
        SELECT format('GRANT %I TO %I', g, role)
          FROM unnest(CASE what WHEN 'reader' THEN '{pg_read_all_stats}' ELSE '{pg_monitor}' END::text[]) g
         WHERE NOT pg_has_role(role, g, 'MEMBER')
        UNION ALL
        SELECT format('GRANT INSERT, UPDATE, DELETE ON %s TO %I',
                      string_agg(c.oid::regclass::text, ', ' ORDER BY c.relname), role)
          FROM pg_class c WHERE c.oid = ANY (extension.extconfig) AND c.relkind = 'r' AND what = 'collector'
        HAVING count(*) > 0
    LOOP
        EXECUTE command;
        RETURN NEXT 'done: ' || command || ';';
    END LOOP;
    IF NOT pg_has_role(role, 'pg_read_all_stats', 'USAGE') THEN
        RAISE WARNING 'role % does not inherit the rights of the roles that it is a member of', quote_ident(role)
            USING HINT = format('Run ALTER ROLE %I INHERIT, or SET ROLE before each call.', role);
    END IF;
END
$$;
COMMENT ON FUNCTION @extschema@.ff_grant(name, text) IS
'Grants a role what it needs; returns the statements that it ran.
what: reader (may call advice, script, report, metrics) or collector (also CALL ff_collect() and '
'ff_schedule(): it may write the history, which determines the advice).
To undo it, REVOKE what the statements granted; DROP EXTENSION leaves the membership in pg_read_all_stats or '
'pg_monitor.
Errors: 22023 invalid what, 42704 no such role, 42501 the caller is neither a superuser nor a member of the '
'extension''s owner, or may not grant the predefined role.';
