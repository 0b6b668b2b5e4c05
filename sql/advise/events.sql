-- Stage advise: what became of advice, and which of it was dismissed.

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
        PERFORM pg_notify('fillfactor_advisor',
                          left(ff_internal.plain(concat_ws(' ', o.name, what || ':', details)), 2000))
           FROM (SELECT r.nspname || '.' || r.relname FROM ff_internal.relation r WHERE r.rel_id = id) o(name);
    END IF;
END
$$;

-- The dismissal of a table's advice, in sentences before its reason; NULL: none, expired, or overtaken, because the
-- advice now saves three times as much WAL a day (chosen; at least 3 MB) as when it was dismissed. worth: the same in
-- words.
CREATE FUNCTION ff_internal.dismissed(id bigint, step integer, wal_bytes bigint, worth text) RETURNS text
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    -- keeps its plan
    RETURN (SELECT format('Dismissed %s by %s%s: %s. Otherwise fillfactor %s would be advised%s.',
                          to_char(d.dismissed_at, 'YYYY-MM-DD'), ff_internal.plain(d.dismissed_by),
                          to_char(nullif(d.until, 'infinity'), '" until "YYYY-MM-DD'),
                          rtrim(ff_internal.plain(d.reason), '. '), step,
                          ', for ' || worth)
              FROM ff_internal.dismissal d
             WHERE d.rel_id = id AND d.until > now()
               AND (d.wal_bytes IS NULL OR dismissed.wal_bytes <= 3 * greatest(d.wal_bytes, 1048576)));
END
$$;

-- Writes what became of a table's advice since its last fit (NULL: none), and whether indexes block its updates.
-- wal_bytes: WAL a day that a change saves, dismissed or not; worth: the same in words; watched: how long. What a day
-- brings is known once an hour was watched: then advice is noted again. indexes: those that block.
CREATE FUNCTION ff_internal.note_fit(
    last ff_internal.fit, id bigint, d ff_internal.decision, fillfactor integer, wal_bytes float8, worth text,
    watched interval, indexes text)
RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    changes CONSTANT boolean := d.action IN ('lower', 'raise');
    -- advice to leave the present fillfactor; once that is changed, it is history
    stood   CONSTANT boolean := last.action IN ('lower', 'raise') AND last.from_fillfactor = fillfactor;
    is_dismissed CONSTANT boolean := ff_internal.dismissed(id, d.step, wal_bytes::bigint, worth) IS NOT NULL;
    blocked text;
BEGIN
    IF changes AND is_dismissed THEN
        UPDATE ff_internal.dismissal o SET wal_bytes = note_fit.wal_bytes WHERE o.rel_id = id AND o.wal_bytes IS NULL;
    ELSIF changes THEN
        DELETE FROM ff_internal.dismissal o WHERE o.rel_id = id AND o.until > now();
        IF FOUND THEN
            PERFORM ff_internal.note(id, 'taken back',
                                     'the dismissal: the change saves three times as much WAL as then');
        END IF;
    END IF;
    IF changes AND (stood IS NOT TRUE OR watched >= '1 hour'
                    AND watched - (ff_internal.observed_at() - last.made_at) < '1 hour') THEN
        PERFORM ff_internal.note(id, 'advised', format('fillfactor %s -> %s%s', fillfactor, d.step, ', ' || worth),
                                 CASE WHEN NOT is_dismissed AND watched >= '1 hour' THEN wal_bytes END);
    ELSIF changes AND last.to_fillfactor <> d.step THEN
        PERFORM ff_internal.note(id, 'moved', format('to fillfactor %s instead of %s%s', d.step, last.to_fillfactor,
                                                     ', ' || worth));
    ELSIF stood AND NOT changes THEN
        PERFORM ff_internal.note(id, 'withdrawn', format('fillfactor %s -> %s: now %s', fillfactor, last.to_fillfactor,
                                                         d.action));
    END IF;
    -- these causes say nothing about indexes
    IF d.seen_cause NOT IN ('no_data', 'not_examined', 'few_updates', 'too_wide', 'old_snapshot') THEN
        SELECT e.what INTO blocked FROM ff_internal.advice_event e
         WHERE e.rel_id = id AND e.what IN ('blocked', 'unblocked') ORDER BY e.seen_at DESC LIMIT 1;
        IF (d.seen_cause = 'indexed_column') <> (coalesce(blocked, '') = 'blocked') THEN
            PERFORM ff_internal.note(id, CASE WHEN d.seen_cause = 'indexed_column' THEN 'blocked' ELSE 'unblocked' END,
                                     CASE WHEN d.seen_cause = 'indexed_column'
                                          THEN concat('updates change an indexed column: ', indexes)
                                          ELSE 'most updates change no indexed column any more' END);
        END IF;
    END IF;
END
$$;
