-- All objects of the extension, to compare an upgraded database with a fresh one:
-- every member, its definition, description and rights, and what pg_dump
-- includes.  OIDs, positions left by dropped columns and the order in which objects
-- were created are left out.  For psql -XAt.
SET search_path = pg_catalog, pg_temp;

CREATE TEMP VIEW member AS
SELECT d.classid, d.objid
  FROM pg_depend d JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
 WHERE e.extname IN ('fillfactor_advisor', 'fillfactor_advisor_hub') AND d.deptype = 'e';
CREATE TEMP VIEW relation AS
SELECT c.oid::regclass::text AS name, c.* FROM pg_temp.member m
    JOIN pg_class c ON m.classid = 'pg_class'::regclass AND c.oid = m.objid;

-- grants as one text, sorted
CREATE FUNCTION pg_temp.grants(acl aclitem[]) RETURNS text LANGUAGE sql AS $$
    SELECT coalesce(string_agg(a::text, ' ' ORDER BY a::text), 'none') FROM unnest(acl) a
$$;

SELECT format('extension %s: relocatable %s, schema %s', extname, extrelocatable, extnamespace::regnamespace)
  FROM pg_extension WHERE extname IN ('fillfactor_advisor', 'fillfactor_advisor_hub') ORDER BY extname;

SELECT 'member ' || pg_describe_object(classid, objid, 0) AS line FROM pg_temp.member ORDER BY line;

-- a column's options, except the server's own mark of its creation (minor releases of 15)
CREATE FUNCTION pg_temp.options(options text[]) RETURNS text LANGUAGE sql AS $$
    SELECT coalesce(string_agg(o, ' ' ORDER BY o), 'none') FROM unnest(options) o WHERE o !~ '^pg_attver='
$$;

-- ---------------------------------------------------------------------------
-- Functions, types
-- ---------------------------------------------------------------------------
SELECT format(E'function %s: %s\n%s', p.oid::regprocedure, obj_description(p.oid, 'pg_proc'),
              CASE
                  WHEN p.prokind = 'a' THEN (SELECT format('aggregate of %s and %s', a.aggtransfn, a.aggfinalfn)
                      FROM pg_aggregate a WHERE a.aggfnoid = p.oid)
                   ELSE pg_get_functiondef(p.oid) END)
  FROM pg_temp.member m
  JOIN pg_proc p ON m.classid = 'pg_proc'::regclass AND p.oid = m.objid
 ORDER BY p.oid::regprocedure::text;

SELECT format('type %s: %s', t.oid::regtype, obj_description(t.oid, 'pg_type'))
  FROM pg_temp.member m
  JOIN pg_type t ON m.classid = 'pg_type'::regclass AND t.oid = m.objid
 ORDER BY t.oid::regtype::text;

-- ---------------------------------------------------------------------------
-- Tables, views, sequences, composite types
-- ---------------------------------------------------------------------------
SELECT format(
    'relation %s: kind %s, persistence %s, access method %s, options %s, of TOAST %s, rules %s, triggers %s, row '
    'security %s, replica identity %s: %s',
              r.name, r.relkind, r.relpersistence, (SELECT amname FROM pg_am WHERE oid = r.relam), r.reloptions,
              (SELECT t.reloptions FROM pg_class t WHERE t.oid = r.reltoastrelid),
              (SELECT count(*) FROM pg_rewrite w WHERE w.ev_class = r.oid),
              (SELECT count(*) FROM pg_trigger t WHERE t.tgrelid = r.oid),
              r.relrowsecurity, r.relreplident, obj_description(r.oid, 'pg_class'))
  FROM pg_temp.relation r ORDER BY r.name;

SELECT format('column %s.%s, the %s.: %s%s%s%s%s, storage %s%s, statistics %s, options %s, rights %s: %s',
              r.name, a.attname, row_number() OVER (PARTITION BY r.oid ORDER BY a.attnum),
              format_type(a.atttypid, a.atttypmod),
              CASE WHEN a.attnotnull THEN ' NOT NULL' END, ' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid),
              ' identity ' || nullif(a.attidentity::text, ''), ' generated ' || nullif(a.attgenerated::text, ''),
              a.attstorage, ', compression ' || nullif(a.attcompression::text, ''), nullif(a.attstattarget, -1),
              pg_temp.options(a.attoptions), pg_temp.grants(a.attacl),
              col_description(r.oid, a.attnum))
  FROM pg_temp.relation r JOIN pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped
  LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
 ORDER BY r.name, a.attnum;

SELECT format('constraint %s on %s: %s%s', k.conname, r.name, pg_get_constraintdef(k.oid),
    ': ' || obj_description(k.oid, 'pg_constraint'))
  FROM pg_temp.relation r JOIN pg_constraint k ON k.conrelid = r.oid ORDER BY r.name, k.conname;

SELECT format('index %s, valid %s, clustered %s%s', pg_get_indexdef(i.indexrelid), i.indisvalid, i.indisclustered,
    ': ' || obj_description(i.indexrelid, 'pg_class'))
  FROM pg_temp.relation r JOIN pg_index i ON i.indrelid = r.oid ORDER BY i.indexrelid::regclass::text;

SELECT format('statistics %s%s', pg_get_statisticsobjdef(s.oid), ': ' || obj_description(s.oid, 'pg_statistic_ext'))
  FROM pg_temp.relation r JOIN pg_statistic_ext s ON s.stxrelid = r.oid ORDER BY r.name, s.stxname;

SELECT format('sequence %s: %s from %s by %s, %s to %s, cache %s, cycle %s, of %s', r.name,
    format_type(s.seqtypid, NULL), s.seqstart, s.seqincrement,
              s.seqmin, s.seqmax, s.seqcache, s.seqcycle,
              (SELECT pg_describe_object(d.refclassid, d.refobjid, d.refobjsubid) FROM pg_depend d
                WHERE d.classid = 'pg_class'::regclass AND d.objid = r.oid
                  AND d.refclassid = 'pg_class'::regclass AND d.deptype IN ('a', 'i')))
  FROM pg_temp.relation r JOIN pg_sequence s ON s.seqrelid = r.oid ORDER BY r.name;

SELECT format(E'view %s:\n%s', r.name, pg_get_viewdef(r.oid)) FROM pg_temp.relation r
    WHERE r.relkind IN ('v', 'm') ORDER BY r.name;

-- ---------------------------------------------------------------------------
-- Rights, initial rights for pg_dump, and dumped contents
-- ---------------------------------------------------------------------------
SELECT format('rights of function %s: %s', p.oid::regprocedure, pg_temp.grants(p.proacl))
  FROM pg_temp.member m
  JOIN pg_proc p ON m.classid = 'pg_proc'::regclass AND p.oid = m.objid
 ORDER BY p.oid::regprocedure::text;
SELECT format('rights of type %s: %s', t.oid::regtype, pg_temp.grants(t.typacl))
  FROM pg_temp.member m
  JOIN pg_type t ON m.classid = 'pg_type'::regclass AND t.oid = m.objid
 ORDER BY t.oid::regtype::text;
SELECT format('rights of %s: %s', r.name, pg_temp.grants(r.relacl)) FROM pg_temp.relation r ORDER BY r.name;
SELECT format('initial rights of %s: %s', pg_describe_object(i.classoid, i.objoid, i.objsubid),
    pg_temp.grants(i.initprivs)) AS line
  FROM pg_temp.member m JOIN pg_init_privs i ON (i.classoid, i.objoid) = (m.classid, m.objid) ORDER BY line;
SELECT format('owner of %s: %s', pg_describe_object(m.classid, m.objid, 0),
    coalesce(p.proowner, c.relowner, t.typowner)::regrole) AS line
  FROM pg_temp.member m
  LEFT JOIN pg_proc p ON m.classid = 'pg_proc'::regclass AND p.oid = m.objid
  LEFT JOIN pg_class c ON m.classid = 'pg_class'::regclass AND c.oid = m.objid
  LEFT JOIN pg_type t ON m.classid = 'pg_type'::regclass AND t.oid = m.objid
 ORDER BY line;
SELECT format('dumped %s%s', c.id::regclass, ' where ' || nullif(c.condition, '')) AS line
  FROM pg_extension e, unnest(e.extconfig, e.extcondition) c(id, condition)
 WHERE e.extname IN ('fillfactor_advisor', 'fillfactor_advisor_hub') ORDER BY line;
