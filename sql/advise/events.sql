-- The history of advice, which ff_changes() shows.

-- Writes a line of the history of a table's advice. Sends it to listeners of channel fillfactor_advisor if
-- fillfactor_advisor.notify_worth is set: verdicts that a change hurt, and advice that saves so much WAL a day (NULL:
-- unknown).
CREATE FUNCTION ff_internal.note(id bigint, what text, details text, wal_bytes double precision DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    worth CONSTANT double precision := ff_internal.setting('notify_worth');
BEGIN
    INSERT INTO ff_internal.advice_event (rel_id, seen_at, what, details)
    VALUES (id, clock_timestamp(), what, ff_internal.plain(details));
    IF worth >= 0 AND (what = 'advised' AND wal_bytes >= worth * 1048576 OR what = 'verdict' AND details ^@ 'hurt') THEN
        PERFORM pg_notify('fillfactor_advisor', left(ff_internal.plain(concat_ws(' ',
            (SELECT ff_internal.quoted_name(r.nspname, r.relname) FROM ff_internal.relation r WHERE r.rel_id = id),
            what || ':', details)), 2000));
    END IF;
END
$$;

-- Writes what became of a table's advice since its last fit (NULL: none), unless it is dismissed, and whether indexes
-- block its updates. wal_bytes: WAL a day that a change saves; worth: in words; watched: how long; why: as in
-- ff_advice. What a day brings is known once an hour was watched: then advice is noted again.
CREATE FUNCTION ff_internal.note_fit(
    last ff_internal.fit, id bigint, d ff_internal.decision, dismissed boolean, fillfactor integer, wal_bytes float8,
    worth text, watched interval, why text)
RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    -- advice to leave the present fillfactor; once that is changed, it is history
    stood CONSTANT boolean := last.to_fillfactor <> fillfactor AND last.from_fillfactor = fillfactor;
    long  CONSTANT interval := make_interval(secs => ff_internal.threshold('RATES'));
    least_move CONSTANT integer := 3;  -- that is worth a line; chosen
    blocked boolean;
BEGIN
    IF dismissed THEN
        NULL;
    ELSIF d.changes AND (stood IS NOT TRUE
                         OR watched >= long AND watched - (ff_internal.observed_at() - last.made_at) < long) THEN
        PERFORM ff_internal.note(id, 'advised', format('fillfactor %s -> %s%s', fillfactor, d.step, ', ' || worth),
                                 CASE WHEN watched >= long THEN wal_bytes END);
    ELSIF d.changes AND abs(last.to_fillfactor - d.step) >= least_move THEN
        PERFORM ff_internal.note(id, 'moved', format('to fillfactor %s instead of %s%s', d.step, last.to_fillfactor,
                                                     ', ' || worth));
    ELSIF stood AND NOT d.changes THEN
        PERFORM ff_internal.note(id, 'withdrawn', format('fillfactor %s -> %s: now %s, %s', fillfactor,
                                                         last.to_fillfactor, d.action, why));
    END IF;
    blocked := (SELECT e.what = 'blocked' FROM ff_internal.advice_event e
                 WHERE e.rel_id = id AND e.what IN ('blocked', 'unblocked') ORDER BY e.seen_at DESC LIMIT 1);
    IF d.seen_cause = 'indexed_column' AND blocked IS NOT TRUE THEN
        PERFORM ff_internal.note(id, 'blocked', concat('updates change an indexed column: ',
                    (SELECT ff_internal.suspect_indexes(r.relid) FROM ff_internal.relation r WHERE r.rel_id = id)));
    -- other causes do not tell
    ELSIF d.seen_cause = 'settled' AND blocked THEN
        PERFORM ff_internal.note(id, 'unblocked', 'most updates change no indexed column any more');
    END IF;
END
$$;
