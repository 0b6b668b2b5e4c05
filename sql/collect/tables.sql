-- Which tables there are.

CREATE VIEW ff_internal.user_table AS
SELECT c.oid AS relid,
       -- No command updates the pg_depend row that ties a row type to its table, and it is dropped with the table.
       -- ALTER TABLE updates the rows in pg_class and pg_type, GRANT those in pg_attribute, even of system columns.
       (SELECT d.xmin FROM pg_depend d
         WHERE d.classid = 'pg_type'::regclass AND d.objid = c.reltype AND d.objsubid = 0
           AND d.refclassid = 'pg_class'::regclass AND d.refobjid = c.oid AND d.deptype = 'i') AS created_xid,
       n.nspname, c.relname,
       -- no mapped relation is included, so this is the file
       coalesce((o.said->>'relfilenode')::oid, c.relfilenode) AS relfilenode,
       CASE WHEN o.said IS NULL THEN c.reloptions ELSE ff_internal.text_array(o.said->'options') END AS reloptions,
       -- the owner of a table can set it to anything
       (SELECT t.n FROM coalesce((o.said->>'reltuples')::real, c.reltuples) t(n) WHERE t.n BETWEEN 0 AND 1e15)
           AS reltuples, o.said AS observed,
       CASE WHEN c.relkind = 'p' THEN 'partitioned: holds no rows itself, its partitions are advised one by one'
            WHEN c.relkind = 'f' THEN 'foreign table: its pages are on another server'
            WHEN c.relpersistence = 't' THEN 'temporary table: it goes with its session'
            WHEN am.amname <> 'heap' OR am.amname IS NULL
                THEN 'access method ' || coalesce(quote_ident(am.amname), 'none')
                     || ': only heap has a fillfactor that works this way'
            WHEN o.said IS NULL AND EXISTS (SELECT FROM ff_internal.observed s WHERE s.kind = 'server')
                THEN 'this database is a mirror, and its source has no such table'
            ELSE (SELECT 'excluded by ' || min(x.pattern) || ': ff_include() takes it in again'
                    FROM ff_internal.excluded x WHERE n.nspname || '.' || c.relname LIKE x.like_pattern)
       END AS not_examined
  FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace
  LEFT JOIN pg_am am ON am.oid = c.relam
  LEFT JOIN ff_internal.observed o ON o.kind = 'table' AND o.id = c.oid
 WHERE c.relkind = ANY (ARRAY['r', 'm', 'p', 'f']::"char"[])
   AND (n.nspname !~ '^pg_' OR c.relpersistence = 't')
   AND n.nspname NOT IN ('information_schema', 'ff_internal', 'ff_hub');
COMMENT ON VIEW ff_internal.user_table IS
'Tables outside the system schemas. not_examined: why a table is not examined; NULL: it is. created_xid: transaction '
'that created the table; distinguishes it from a later table with the same OID. observed: in a mirror, what the '
'source said of the table. reltuples: NULL: unknown.';
