-- What is new.

CREATE FUNCTION @extschema@.ff_changes(since interval DEFAULT '7 days')
RETURNS TABLE (at timestamptz, relation text, what text, details text)
LANGUAGE plpgsql STABLE ROWS 100
SET jit = off
AS $$
#variable_conflict use_column
BEGIN
    PERFORM ff_internal.check_role('reader');
    RETURN QUERY
    SELECT date_trunc('second', o.at),
           (SELECT ff_internal.quoted_name(r.nspname, r.relname)
              FROM ff_internal.relation r WHERE r.rel_id = o.rel_id), o.what, o.details
      FROM (SELECT e.seen_at, e.rel_id, e.what, e.details FROM ff_internal.advice_event e
            UNION ALL
            SELECT d.until, d.rel_id, 'expired', 'the dismissal: ' || ff_internal.plain(d.reason)
              FROM ff_internal.dismissal d WHERE d.until <= now()
            UNION ALL
            SELECT c.seen_at, c.rel_id, CASE WHEN p.made_at IS NULL THEN 'changed' ELSE 'taken' END,
                   c.change || coalesce(', as advised ' || to_char(p.made_at, 'YYYY-MM-DD'), '')
              FROM ff_internal.changes c
              LEFT JOIN LATERAL ff_internal.predicted(c.altered) p ON true
            UNION ALL
            SELECT w.at, NULL, w.what, ff_internal.plain(concat_ws(', ', h.holder, h.role_name, h.application, w.held))
              FROM ff_internal.horizon_history h
             CROSS JOIN LATERAL (SELECT max(c.began_at) FROM ff_internal.collection c) l(at)
             CROSS JOIN LATERAL (VALUES
                (h.since, h.kind, 'holds back pruning'),
                (CASE WHEN h.last_seen_at < l.at THEN h.last_seen_at END, h.kind || ' ended',
                 'seen last after ' || ff_internal.span(extract(epoch FROM h.last_seen_at - h.since))))
                w(at, what, held)
             WHERE h.last_seen_at >= (SELECT ff_internal.observed_since())
            UNION ALL
            SELECT c.began_at, NULL, 'collection failed', v.details
              FROM ff_internal.collection c
             CROSS JOIN LATERAL (
                SELECT CASE WHEN c.failed > 0
                            THEN ff_internal.counted(c.failed, 'table') || ' could not be sampled'
                            WHEN c.ended_at IS NULL AND EXISTS (SELECT FROM ff_internal.collection n
                                                                 WHERE n.collection_id > c.collection_id)
                            THEN 'it did not end' END) v(details)
             WHERE v.details IS NOT NULL) o(at, rel_id, what, details)
     WHERE o.at + coalesce($1, interval '7 days') > now()
     ORDER BY o.at DESC, 2, o.what;
END
$$;
COMMENT ON FUNCTION @extschema@.ff_changes(interval) IS
'What is new, newest first, one line each: advice made (advised), with another fillfactor (moved), withdrawn, '
'dismissed, taken back, expired, as collections find it when they renew a prediction; changes of tables and server '
'settings (changed; taken: as advised); verdicts on those of tables, once they came twice in a row; indexes that began '
'or ceased to block updates (blocked, unblocked); sessions, slots and prepared transactions that held back pruning, '
'and their end; collections that failed. since: how far to look back. relation: NULL for what concerns all tables.';
