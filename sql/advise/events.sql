-- What became of advice, and which of it was dismissed.

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
           FROM (SELECT (SELECT r.nspname || '.' || r.relname FROM ff_internal.relation r WHERE r.rel_id = id)) o(name);
    END IF;
END
$$;

-- The dismissal of a table's advice that saves so much WAL a day; no row: none, expired, or overtaken, because that is
-- three times as much (chosen; at least 3 MB) as when it was dismissed.
CREATE FUNCTION ff_internal.dismissal_of(id bigint, wal_bytes float8) RETURNS SETOF ff_internal.dismissal
LANGUAGE plpgsql STABLE ROWS 1
AS $$
BEGIN
    -- keeps its plan
    RETURN QUERY
        SELECT * FROM ff_internal.dismissal d
         WHERE d.rel_id = id AND d.until > now()
           AND (d.wal_bytes IS NULL OR dismissal_of.wal_bytes <= 3 * greatest(d.wal_bytes, 1048576));
END
$$;

-- The same in sentences before the reason.
CREATE FUNCTION ff_internal.dismissed(
    e ff_internal.table_evidence, f ff_internal.fit, d ff_internal.decision) RETURNS text
LANGUAGE sql STABLE
AS $$
    SELECT format('Dismissed %s by %s%s: %s. Otherwise %s would be advised%s.',
                  to_char(o.dismissed_at, 'YYYY-MM-DD'), ff_internal.plain(o.dismissed_by),
                  to_char(nullif(o.until, 'infinity'), '" until "YYYY-MM-DD'),
                  rtrim(ff_internal.plain(o.reason), '. '),
                  CASE WHEN d.rewrite = 'pays' THEN 'a rewrite' ELSE 'fillfactor ' || d.recommended_fillfactor END,
                  ', for ' || ff_internal.wal_saved(b.wal_bytes, ff_internal.updates_per_s(e), e.window_s))
      FROM ff_internal.effect(e, f, d) b
     CROSS JOIN LATERAL ff_internal.dismissal_of(e.rel_id, b.wal_bytes) o
     WHERE b.gain_pct IS NOT NULL
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
    long    CONSTANT interval := make_interval(secs => ff_internal.threshold('RATES'));
    is_dismissed boolean;
    blocks  CONSTANT boolean := d.seen_cause = 'indexed_column';
    blocked text;
BEGIN
    IF last.rel_id IS NULL THEN
        -- a partition made since its table was dismissed is, too
        INSERT INTO ff_internal.dismissal
        SELECT r.rel_id, o.dismissed_at, o.dismissed_by, o.reason, o.until, NULL, true
          FROM ff_internal.followed r
          JOIN ff_internal.sibling w ON w.leaf = r.relid
          JOIN ff_internal.sibling s USING (parent)
          JOIN ff_internal.followed f ON f.relid = s.leaf
          JOIN ff_internal.dismissal o ON o.rel_id = f.rel_id AND o.of_parent AND o.until > now()
         WHERE r.rel_id = id AND r.opened_at > o.dismissed_at
         ORDER BY o.dismissed_at DESC LIMIT 1 ON CONFLICT DO NOTHING;
    END IF;
    is_dismissed := EXISTS (SELECT FROM ff_internal.dismissal_of(id, wal_bytes));
    IF changes AND is_dismissed THEN
        UPDATE ff_internal.dismissal o SET wal_bytes = note_fit.wal_bytes
         WHERE o.rel_id = id AND o.wal_bytes IS NULL AND watched >= long;
    ELSIF changes THEN
        DELETE FROM ff_internal.dismissal o WHERE o.rel_id = id AND o.until > now();
        IF FOUND THEN
            PERFORM ff_internal.note(id, 'taken back',
                                     'the dismissal: the change saves three times as much WAL as then');
        END IF;
    END IF;
    IF changes AND (stood IS NOT TRUE
                    OR watched >= long AND watched - (ff_internal.observed_at() - last.made_at) < long) THEN
        PERFORM ff_internal.note(id, 'advised', format('fillfactor %s -> %s%s', fillfactor, d.step, ', ' || worth),
                                 CASE WHEN NOT is_dismissed AND watched >= long THEN wal_bytes END);
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
        IF blocks <> (coalesce(blocked, '') = 'blocked') THEN
            PERFORM ff_internal.note(id, CASE WHEN blocks THEN 'blocked' ELSE 'unblocked' END, CASE WHEN blocks
                THEN concat('updates change an indexed column: ', indexes)
                ELSE 'most updates change no indexed column any more' END);
        END IF;
    END IF;
END
$$;
