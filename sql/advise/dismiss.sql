-- Dismissed advice.

CREATE FUNCTION @extschema@.ff_dismiss(relation regclass, reason text, until timestamptz DEFAULT 'infinity')
RETURNS text
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    name  text;
    ids   bigint[];
    known bigint[];
    ends  text := to_char(nullif(until, 'infinity'), '" until "YYYY-MM-DD HH24:MI');
BEGIN
    PERFORM ff_internal.check_role('collector');
    PERFORM ff_internal.refuse('22004', 'relation must not be null') WHERE relation IS NULL;
    name := ff_internal.qualified_name(ff_internal.checked_table(relation));
    -- a parent stands for its partitions or shards
    ids := ARRAY(SELECT DISTINCT r.rel_id
                   FROM (SELECT relation::oid UNION ALL
                         SELECT t.relid FROM pg_partition_tree(relation) t WHERE t.isleaf UNION ALL
                         SELECT s.shard FROM ff_internal.shards() s WHERE s.parent = relation) p(id)
                   JOIN ff_internal.followed r ON r.relid = p.id);
    name := concat(name, ' (' || ff_internal.counted(nullif(greatest(cardinality(ids), 1), 1), 'table') || ')');
    known := ARRAY(SELECT d.rel_id FROM ff_internal.dismissal d WHERE d.rel_id = ANY (ids));
    IF ids = '{}' THEN
        PERFORM ff_internal.refuse('55000', format('table %s was not collected yet', name), NULL,
                                   'Run CALL ff_collect().');
    ELSIF reason IS NULL AND known = '{}' THEN
        PERFORM ff_internal.refuse('42704', format('the advice for %s is not dismissed', name));
    ELSIF reason IS NOT NULL AND (btrim(reason) = '' OR (until > now()) IS NOT TRUE) THEN
        PERFORM ff_internal.refuse('22023', 'invalid dismissal', NULL,
            'A dismissal has a reason and ends in the future: '
            'SELECT ff_dismiss(''shop.jobs'', ''too small'', now() + interval ''90 days'').');
    END IF;
    DELETE FROM ff_internal.dismissal d WHERE d.rel_id = ANY (known);
    IF reason IS NULL THEN
        PERFORM ff_internal.note(u, 'taken back', 'the dismissal, by ' || current_user) FROM unnest(known) u;
        RETURN format('advice for %s counts again', name);
    END IF;
    INSERT INTO ff_internal.dismissal
    SELECT r.rel_id, now(), current_user, ff_dismiss.reason, ff_dismiss.until,
           (SELECT (a.advice).wal_bytes_per_day_saved FROM ff_internal.advice(r.relid, false) a), r.relid <> relation
      FROM ff_internal.followed r WHERE r.rel_id = ANY (ids);
    PERFORM ff_internal.note(u, 'dismissed', format('by %s%s: %s', current_user, left(ends, -6), reason))
       FROM unnest(ids) u;
    RETURN format('advice for %s is dismissed%s', name, ends);
END
$$;
COMMENT ON FUNCTION @extschema@.ff_dismiss(regclass, text, timestamptz) IS
'Declines the advice for a table, or for all its partitions or shards, those made later too, and says why. It is then '
'shown as dismissed, with the reason, and left out of the script and of all totals; collections go on. It counts '
'again after until, or as soon as it saves three times as much WAL a day as now. A NULL reason takes the dismissal '
'back. Dismissals are dumped with the database and follow the table when it is renamed.
Errors: 22023 no reason, or until is not in the future; 42501 the role may not write the history; 42704 nothing '
'to take back; 55000 the table was not collected yet.';
