-- Stage advise: dismissed advice.

CREATE FUNCTION @extschema@.ff_dismiss(relation regclass, reason text, until timestamptz DEFAULT 'infinity')
RETURNS text
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    id    bigint;
    name  text;
    worth double precision;
BEGIN
    PERFORM ff_internal.check_role('collector');
    PERFORM ff_internal.refuse('22004', 'relation must not be null') WHERE relation IS NULL;
    name := ff_internal.qualified_name(relation);
    SELECT r.rel_id INTO id
      FROM ff_internal.checked_table(relation) t
      JOIN ff_internal.followed r ON r.relid = t;
    IF id IS NULL THEN
        PERFORM ff_internal.refuse('55000', format('table %s was not collected yet', name), NULL,
                                   'Run CALL ff_collect().');
    ELSIF reason IS NULL THEN
        DELETE FROM ff_internal.dismissal d WHERE d.rel_id = id;
        IF NOT FOUND THEN
            PERFORM ff_internal.refuse('42704', format('the advice for %s is not dismissed', name));
        END IF;
        PERFORM ff_internal.note(id, 'taken back', 'the dismissal, by ' || current_user);
        RETURN format('advice for %s counts again', name);
    ELSIF btrim(reason) = '' OR (until > now()) IS NOT TRUE THEN
        PERFORM ff_internal.refuse('22023', 'invalid dismissal', NULL,
            'A dismissal has a reason and ends in the future: '
            'SELECT ff_dismiss(''shop.jobs'', ''too small'', now() + interval ''90 days'').');
    END IF;
    DELETE FROM ff_internal.dismissal d WHERE d.rel_id = id;
    SELECT (a.advice).wal_bytes_per_day_saved INTO worth FROM ff_internal.advice(relation, false) a;
    INSERT INTO ff_internal.dismissal (rel_id, dismissed_at, dismissed_by, reason, until, wal_bytes)
    VALUES (id, now(), current_user, reason, until, worth);
    PERFORM ff_internal.note(id, 'dismissed', format('by %s%s: %s', current_user,
                             to_char(nullif(until, 'infinity'), '" until "YYYY-MM-DD'), reason));
    RETURN format('advice for %s is dismissed%s', name,
                  to_char(nullif(until, 'infinity'), '" until "YYYY-MM-DD HH24:MI'));
END
$$;
COMMENT ON FUNCTION @extschema@.ff_dismiss(regclass, text, timestamptz) IS
'Declines the advice for a table, and says why. It is then shown as dismissed, with the reason, and is left out of the '
'script and of all totals; collections go on. It counts again after until, or as soon as it saves three times as much '
'WAL a day as now. A NULL reason takes the dismissal back. Dismissals are dumped with the database and follow the '
'table when it is renamed.
Errors: 22023 no reason, or until is not in the future; 42501 the role may not write the history; 42704 nothing '
'to take back; 55000 the table was not collected yet.';
