-- Who may use a hub, and with which version of the core.

-- Error 55000 unless core and hub have the same version.
CREATE FUNCTION ff_hub.check_version() RETURNS void
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    core CONSTANT text := (SELECT e.extversion FROM pg_extension e WHERE e.extname = 'fillfactor_advisor');
    hub  CONSTANT text := (SELECT e.extversion FROM pg_extension e WHERE e.extname = 'fillfactor_advisor_hub');
BEGIN
    IF core IS DISTINCT FROM hub THEN
        RAISE 'extension fillfactor_advisor has version %, fillfactor_advisor_hub version %', core, hub
            USING ERRCODE = 'object_not_in_prerequisite_state',
                  DETAIL = 'A hub works with the version that it was made with.',
                  HINT = 'Run ALTER EXTENSION fillfactor_advisor UPDATE and ALTER EXTENSION fillfactor_advisor_hub '
                         'UPDATE.';
    END IF;
END
$$;
SELECT ff_hub.check_version();
CALL ff_internal.refuse_strangers('fillfactor_advisor_hub');

-- Public functions and views begin with it. Errors: the versions differ (55000); the caller is no reader or collector,
-- or a collector who may not write the hub's tables (42501).
CREATE FUNCTION ff_hub.check_role(what text) RETURNS void
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    PERFORM ff_hub.check_version();
    PERFORM ff_internal.check_role(what);
    IF what = 'collector' AND NOT (SELECT bool_and(has_table_privilege('ff_hub.source', p))
                                     FROM unnest('{INSERT,UPDATE,DELETE}'::text[]) p) THEN
        PERFORM ff_internal.refuse('42501', format('role %I may not write the tables of the hub', current_user), NULL,
            format('Ask a superuser to run SELECT ff_grant(%L, ''collector'').', current_user));
    END IF;
END
$$;
