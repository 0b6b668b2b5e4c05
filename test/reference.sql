-- Writes doc/reference.md from the descriptions in the catalogs, for make
-- reference and for the test that it is up to date.
-- psql -XAtq -f test/reference.sql, in a database with the extension in public
SET search_path = pg_catalog;
SELECT $md$# Reference

Made from the `COMMENT`s of the installed extension by `make reference`; a test compares. The steps of collecting and
the like, called internal there, are left out. "For" names the roles whose members may call or read; nobody else may.

## Functions
$md$;

CREATE FUNCTION pg_temp.readers(acl aclitem[], owner oid) RETURNS text LANGUAGE sql AS $$
	SELECT coalesce(string_agg(DISTINCT '`' || a.grantee::regrole || '`', ', '), 'superusers only') FROM aclexplode(acl) a WHERE a.grantee <> owner
$$;
CREATE FUNCTION pg_temp.cell(words text) RETURNS text LANGUAGE sql AS $$
	SELECT replace(replace(coalesce(words, ''), '|', '\|'), E'\n', ' ')
$$;

CREATE TEMP VIEW function AS
SELECT p.proname, u.place AS user_place, p.proretset, p.prokind, d.description, pg_temp.readers(p.proacl, p.proowner) AS readers,
       CASE p.prokind WHEN 'p' THEN 'CALL ' ELSE '' END || p.proname || '(' || regexp_replace(pg_get_function_arguments(p.oid), '^OUT .*|, OUT .*|::(regclass|text)\M', '', 'g') || ')' AS signature,
       coalesce((SELECT string_agg('`' || o.name || '` ' || format_type(o.type, NULL), ', ' ORDER BY o.n)
                   FROM unnest(p.proallargtypes, p.proargnames, p.proargmodes) WITH ORDINALITY o(type, name, mode, n) WHERE o.mode IN ('o', 't', 'b')),
                CASE WHEN p.prokind = 'f' THEN replace(format_type(p.prorettype, NULL), 'public.', '') END) AS result
  FROM pg_depend m
  JOIN pg_extension e ON e.oid = m.refobjid AND m.refclassid = 'pg_extension'::regclass AND e.extname = 'fillfactor_advisor'
  JOIN pg_proc p ON m.classid = 'pg_proc'::regclass AND p.oid = m.objid
  JOIN pg_description d ON d.classoid = 'pg_proc'::regclass AND d.objoid = p.oid
  LEFT JOIN unnest(ARRAY['ff_collect', 'ff_schedule', 'ff_unschedule', 'ff_progress', 'ff_advise', 'ff_curve', 'ff_blockers', 'ff_advise_indexes',
                         'ff_script', 'ff_verify', 'ff_verify_statements', 'ff_settings', 'ff_memory', 'ff_report', 'ff_sample', 'ff_sample_index', 'ff_statements'])
            WITH ORDINALITY u(name, place) ON u.name = p.proname
 WHERE m.deptype = 'e';

SELECT format(E'### %s\n\n%s%s\n\nFor: %s.\n', signature, replace(description, E'\n', E'\n\n'),
              coalesce(E'\n\n' || CASE WHEN proretset THEN 'Rows of: ' ELSE 'Gives: ' END || result || '.', ''), readers)
  FROM function WHERE user_place IS NOT NULL ORDER BY user_place;

SELECT E'## Functions that others are made of\n';
SELECT format(E'- **%s**%s: %s', signature, coalesce(' gives ' || result, ''), replace(description, E'\n', ' '))
  FROM function WHERE user_place IS NULL AND description !~ '^[Ii]nternal|Internal step|[Ii]nternal:' ORDER BY proname COLLATE "C", signature COLLATE "C";

SELECT E'\n## Tables, views and types\n';
SELECT format(E'### %s\n\n%s\n\nFor: %s.\n\n| column | type | meaning |\n| --- | --- | --- |\n%s\n', c.relname, d.description,
              CASE WHEN c.relkind = 'c' THEN 'what functions return' ELSE pg_temp.readers(c.relacl, c.relowner) END,
              (SELECT string_agg(format('| `%s` | %s | %s |', a.attname, replace(format_type(a.atttypid, a.atttypmod), 'public.', ''), pg_temp.cell(col_description(c.oid, a.attnum))), E'\n' ORDER BY a.attnum)
                 FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped))
  FROM pg_depend m
  JOIN pg_extension e ON e.oid = m.refobjid AND m.refclassid = 'pg_extension'::regclass AND e.extname = 'fillfactor_advisor'
  LEFT JOIN pg_type t ON m.classid = 'pg_type'::regclass AND t.oid = m.objid
  JOIN pg_class c ON c.oid = CASE WHEN m.classid = 'pg_class'::regclass THEN m.objid WHEN t.typtype = 'c' THEN t.typrelid END AND c.relkind IN ('r', 'v', 'c')
  JOIN pg_description d ON d.objsubid = 0 AND (d.classoid, d.objoid) IN ((m.classid, m.objid))
 WHERE m.deptype = 'e'
 ORDER BY c.relkind = 'c', c.relname COLLATE "C";

SELECT E'## Settings\n\n| setting | default | meaning |\n| --- | --- | --- |';
-- the library is loaded by the first call
SELECT ''::text WHERE ff_internal.setting('ram') IS NULL;
SELECT format('| `%s` | %s | %s |', s.name, concat_ws(' ', s.boot_val, s.unit), pg_temp.cell(s.short_desc))
  FROM pg_settings s WHERE s.name LIKE 'fillfactor\_advisor.%' ORDER BY s.name COLLATE "C";
