-- What the sources are to each other.

-- Sources with the same identity (system identifier, database OID) are one database. lead represents it: the primary of
-- the highest timeline, if there is one. role: as in ff_fleet; a former primary is one after whose last answer another
-- was promoted or started. outdated: imported, and later again under another name: its database was renamed.
CREATE VIEW ff_hub.member AS
WITH source AS (
    SELECT s.*, s.server IS NULL AND EXISTS (
               SELECT FROM ff_hub.source o
                WHERE (o.system_identifier, o.database_oid, o.started_at)
                      = (s.system_identifier, s.database_oid, s.started_at)
                  AND o.server IS NULL AND o.exported_at > s.exported_at) AS outdated
      FROM ff_hub.source s
)
SELECT s.*, l.source AS lead, l.source_id AS lead_id, l.in_recovery AS lead_in_recovery,
       CASE WHEN s.succeeded_at IS NOT NULL -- greatest() would turn NULL into 0
            THEN greatest(now() - CASE WHEN s.server IS NULL THEN s.exported_at ELSE s.succeeded_at END, interval '0')
            END AS age,
       CASE WHEN s.system_identifier IS NULL THEN NULL
            WHEN s.source_id = l.source_id AND NOT s.in_recovery THEN 'primary'
            WHEN s.source_id <> l.source_id AND EXISTS (
                 SELECT FROM source t
                  WHERE (t.system_identifier, t.database_oid, t.started_at)
                        = (s.system_identifier, s.database_oid, s.started_at)
                    AND (t.failures > 0, t.outdated, t.source_id) < (s.failures > 0, s.outdated, s.source_id))
            THEN 'duplicate'
            WHEN s.in_recovery THEN 'standby'
            WHEN s.exported_at <= l.started_at OR s.failures > 0 AND s.timeline < l.timeline THEN 'former primary'
            ELSE 'clone' END AS role
  FROM source s
  LEFT JOIN LATERAL (
       SELECT o.* FROM source o
        WHERE (o.system_identifier, o.database_oid) = (s.system_identifier, s.database_oid)
        ORDER BY o.in_recovery, o.timeline DESC, o.failures > 0, o.outdated,
                 -- first those that answered after the last of them started
                 o.exported_at <= max(o.started_at) FILTER (WHERE NOT o.in_recovery) OVER (), o.source_id
        LIMIT 1) l ON true;
COMMENT ON VIEW ff_hub.member IS 'Sources and their roles.';
