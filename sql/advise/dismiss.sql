-- Dismissed advice.

-- The dismissal of a table's advice that saves so much WAL a day; no row: none, expired, or overtaken, because that is
-- three times as much (chosen; at least 3 MB) as when it was dismissed.
CREATE FUNCTION ff_internal.dismissal_of(id bigint, wal_bytes float8) RETURNS SETOF ff_internal.dismissal
LANGUAGE sql STABLE ROWS 1
BEGIN ATOMIC
    SELECT * FROM ff_internal.dismissal d
     WHERE d.rel_id = id AND d.until > now()
       AND (d.wal_bytes IS NOT NULL AND dismissal_of.wal_bytes > 3 * greatest(d.wal_bytes, 1048576)) IS NOT TRUE;
END;

CREATE VIEW ff_internal.dismissed_parent AS
SELECT d.* FROM ff_internal.dismissal d
  JOIN ff_internal.epoch e USING (epoch_id)
  JOIN ff_internal.server s USING (system_identifier, database_oid)
 WHERE e.history_oid = e.tableoid;
COMMENT ON VIEW ff_internal.dismissed_parent IS
'Dismissals of a parent whose OID is one of this database; after a restore none until a collection has matched them by '
'name.';

-- Takes up the new names of dismissed parents, and after a restore their new OIDs.
CREATE FUNCTION ff_internal.follow_parents() RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    restored CONSTANT bigint[] := ARRAY(
        SELECT d.rel_id FROM ff_internal.dismissal d WHERE d.parent IS NOT NULL
        EXCEPT SELECT p.rel_id FROM ff_internal.dismissed_parent p);
BEGIN
    -- hardly ever: all tables are searched
    IF NOT EXISTS (SELECT FROM ff_internal.dismissal d WHERE d.parent IS NOT NULL) THEN
        RETURN;
    END IF;
    UPDATE ff_internal.dismissal d SET parent = n.name
      FROM ff_internal.dismissed_parent p
      JOIN ff_internal.user_table c ON c.relid = p.parent_relid
     CROSS JOIN LATERAL ff_internal.quoted_name(c.nspname, c.relname) n(name)
     WHERE d.rel_id = p.rel_id AND d.parent <> n.name;
    -- a later table may get the OID of one that was dropped
    UPDATE ff_internal.dismissal d SET parent_relid = NULL
     WHERE d.parent_relid IS NOT NULL AND NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = d.parent_relid);
    IF restored <> '{}' THEN
        UPDATE ff_internal.dismissal d
           SET parent_relid = n.relid, epoch_id = (SELECT max(e.epoch_id) FROM ff_internal.epoch e)
          FROM ff_internal.dismissal o
          LEFT JOIN (SELECT c.relid, ff_internal.quoted_name(c.nspname, c.relname) AS name
                       FROM ff_internal.user_table c) n ON n.name = o.parent
         WHERE o.rel_id = ANY (restored) AND d.rel_id = o.rel_id;
    END IF;
END
$$;

-- Brings the dismissal of a table's advice up to date when it is fitted, and returns whether it stands. is_new: it has
-- no fit: then it is dismissed with its parent, if that was dismissed before it was made. Fits are not dumped, so the
-- history tells whether that dismissal was taken back before. changes: a change is advised, which saves so much WAL a
-- day; that is remembered once an hour was watched.
CREATE FUNCTION ff_internal.keep_dismissal(
    id bigint, is_new boolean, changes boolean, wal_bytes float8, watched interval) RETURNS boolean
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    stands boolean;
    made   ff_internal.dismissal;
BEGIN
    IF is_new THEN
        INSERT INTO ff_internal.dismissal (rel_id, dismissed_at, dismissed_by, reason, until, parent, parent_relid,
                                           epoch_id)
        SELECT id, o.dismissed_at, o.dismissed_by, o.reason, o.until, o.parent, o.parent_relid, o.epoch_id
          FROM ff_internal.followed r
          JOIN ff_internal.dismissed_parent o ON o.dismissed_at < r.opened_at AND o.until > now()
         WHERE r.rel_id = id AND o.parent_relid IN (
               SELECT a FROM ff_internal.with_parents(r.relid) a
                UNION ALL SELECT s.parent FROM ff_internal.shards() s WHERE s.shard = r.relid)
           AND NOT EXISTS (SELECT FROM ff_internal.advice_event e
                            WHERE e.rel_id = id AND e.what = 'taken back' AND e.seen_at > o.dismissed_at)
         ORDER BY o.dismissed_at DESC LIMIT 1 ON CONFLICT DO NOTHING RETURNING * INTO made;
        PERFORM ff_internal.note(id, 'dismissed', format('with %s, by %s: %s', made.parent, made.dismissed_by,
                                                         made.reason))
          WHERE FOUND;
    END IF;
    stands := EXISTS (SELECT FROM ff_internal.dismissal_of(id, wal_bytes));
    IF changes AND stands THEN
        UPDATE ff_internal.dismissal o SET wal_bytes = keep_dismissal.wal_bytes
         WHERE o.rel_id = id AND o.wal_bytes IS NULL
           AND watched >= make_interval(secs => ff_internal.threshold('RATES'));
    ELSIF changes THEN
        DELETE FROM ff_internal.dismissal o WHERE o.rel_id = id AND o.until > now();
        PERFORM ff_internal.note(id, 'taken back', 'the dismissal: the change saves three times as much WAL as then')
          WHERE FOUND;
    END IF;
    RETURN stands;
END
$$;

CREATE FUNCTION @extschema@.ff_dismiss(relation regclass, reason text, until timestamptz DEFAULT 'infinity')
RETURNS text
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    whole  text;
    name   text;
    tables bigint[];
    ends   CONSTANT text := to_char(nullif(until, 'infinity'), '" until "YYYY-MM-DD HH24:MI');
BEGIN
    PERFORM ff_internal.check_role('collector');
    PERFORM ff_internal.refuse('22004', 'relation must not be null') WHERE relation IS NULL;
    whole := ff_internal.qualified_name(ff_internal.checked_table(relation));
    -- a parent stands for its partitions, heirs or shards; to be taken back, for those detached since, too
    tables := ARRAY(
        SELECT r.rel_id FROM ff_internal.followed r
         WHERE r.relid IN (SELECT t FROM ff_internal.with_children(relation) t UNION ALL
                           SELECT s.shard FROM ff_internal.shards() s WHERE s.parent = relation)
         UNION
        SELECT d.rel_id FROM ff_internal.dismissed_parent d
         WHERE ff_dismiss.reason IS NULL AND d.parent_relid = relation);
    IF tables = '{}' THEN
        PERFORM ff_internal.refuse('55000', format('table %s was not collected yet', whole), NULL,
                                   'Run CALL ff_collect().');
    ELSIF btrim(reason) = '' OR reason IS NOT NULL AND (until > now()) IS NOT TRUE THEN
        PERFORM ff_internal.refuse('22023', 'invalid dismissal', NULL,
            'A dismissal has a reason and ends in the future: '
            'SELECT ff_dismiss(''shop.jobs'', ''too small'', now() + interval ''90 days'').');
    END IF;
    WITH gone AS (
        DELETE FROM ff_internal.dismissal d WHERE d.rel_id = ANY (tables) RETURNING d.rel_id
    )
    SELECT CASE WHEN reason IS NULL THEN array_agg(g.rel_id) ELSE tables END INTO tables FROM gone g;
    name := concat(whole, ' (' || ff_internal.counted(nullif(cardinality(tables), 1), 'table') || ')');
    IF reason IS NULL THEN
        PERFORM ff_internal.refuse('42704', format('the advice for %s is not dismissed', whole)) WHERE tables IS NULL;
        PERFORM ff_internal.note(u, 'taken back', 'the dismissal, by ' || current_user) FROM unnest(tables) u;
        RETURN format('advice for %s counts again', name);
    END IF;
    -- the next collection adds what it would save
    INSERT INTO ff_internal.dismissal (rel_id, dismissed_at, dismissed_by, reason, until, parent, parent_relid,
                                       epoch_id)
    SELECT r.rel_id, now(), current_user, ff_dismiss.reason, ff_dismiss.until, p.parent, p.parent_relid, p.epoch_id
      FROM ff_internal.followed r
      LEFT JOIN (SELECT whole, relation::oid, max(e.epoch_id) FROM ff_internal.epoch e)
                p(parent, parent_relid, epoch_id) ON p.parent_relid <> r.relid
     WHERE r.rel_id = ANY (tables);
    PERFORM ff_internal.note(u, 'dismissed', format('by %s%s: %s', current_user, left(ends, -6), reason))
       FROM unnest(tables) u;
    RETURN format('advice for %s is dismissed%s', name, ends);
END
$$;
COMMENT ON FUNCTION @extschema@.ff_dismiss(regclass, text, timestamptz) IS
'Declines the advice for a table, and for all its partitions, shards or tables that inherit from it, those made later '
'too, and says why. It is then shown as dismissed, with the reason, and left out of the script and of all totals; '
'collections go on. It counts again after until, or as soon as it saves three times as much WAL a day as when its '
'prediction is next renewed. A NULL reason takes the dismissal back. Dismissals are dumped with the database and '
'follow the table when it is renamed.
Errors: 22023 no reason, or until is not in the future; 42501 the role may not write the history; 42704 nothing '
'to take back; 55000 the table was not collected yet.';
