-- Writes doc/reference.md from the descriptions in the catalogs, for make
-- reference and for the test that it is up to date.
-- psql -XAtq -f test/queries/reference.sql, in a database with the extension in public
SET search_path = pg_catalog;
SELECT $md$# Reference

Made from the `COMMENT`s of the installed extensions, the hub's (`ff_fleet...`, `ff_import`) included, by `make
reference`; a test compares. Who may call is said in [operations](operations.md).

## Functions
$md$;

CREATE FUNCTION pg_temp.cell(words text) RETURNS text LANGUAGE sql AS $$
	SELECT replace(replace(coalesce(words, ''), '|', '\|'), E'\n', ' ')
$$;

-- in the order in which they are used; one that is not in the list comes last
CREATE TEMP VIEW function AS
SELECT p.proname, coalesce(u.place, 99) AS place, p.proretset, d.description,
       CASE p.prokind WHEN 'p' THEN 'CALL ' ELSE '' END || p.proname || '('
           || regexp_replace(pg_get_function_arguments(p.oid), '^OUT .*|, OUT .*|::(regclass|text)\M', '', 'g')
            || ')' AS signature,
       coalesce((SELECT string_agg('`' || o.name || '` ' || format_type(o.type, NULL), ', ' ORDER BY o.n)
                   FROM unnest(p.proallargtypes, p.proargnames, p.proargmodes) WITH ORDINALITY o(type, name, mode, n)
                  WHERE o.mode IN ('o', 't', 'b')),
                -- rows of a type of its own
                (SELECT string_agg('`' || a.attname || '` ' || format_type(a.atttypid, NULL), ', ' ORDER BY a.attnum)
                   FROM pg_type t JOIN pg_attribute a ON a.attrelid = t.typrelid AND a.attnum > 0
                  WHERE t.oid = p.prorettype AND t.typnamespace = 'ff_internal'::regnamespace),
                CASE WHEN p.prokind = 'f' THEN replace(format_type(p.prorettype, NULL), 'public.', '') END) AS result
  FROM pg_extension e
  JOIN pg_proc p ON p.pronamespace = e.extnamespace AND p.proname ^@ 'ff_'
  JOIN pg_description d ON d.classoid = 'pg_proc'::regclass AND d.objoid = p.oid
  LEFT JOIN unnest(ARRAY[
                     'ff_collect', 'ff_schedule', 'ff_unschedule', 'ff_exclude', 'ff_include', 'ff_grant',
                     'ff_advise', 'ff_dismiss', 'ff_changes', 'ff_curve', 'ff_history', 'ff_blockers', 'ff_horizon', 'ff_advise_indexes',
                     'ff_settings', 'ff_script', 'ff_script_json', 'ff_rehearsal', 'ff_rehearsal_result',
                     'ff_verify', 'ff_report', 'ff_memory', 'ff_statements', 'ff_sample', 'ff_sample_index',
                     'ff_fleet_add', 'ff_fleet_remove', 'ff_fleet_refresh', 'ff_fleet_schedule', 'ff_fleet_script',
                     'ff_fleet_report', 'ff_export', 'ff_import', 'ff_mirror', 'ff_mirror_import'])
            WITH ORDINALITY u(name, place) ON u.name = p.proname
 WHERE e.extname = 'fillfactor_advisor';

SELECT format(E'### %s\n\n%s%s\n', signature, replace(description, E'\n', E'\n\n'),
              coalesce(E'\n\n' || CASE WHEN proretset THEN 'Rows of: ' ELSE 'Gives: ' END || result || '.', ''))
  FROM function ORDER BY place, proname COLLATE "C", signature COLLATE "C";

SELECT E'\n## Views\n';
SELECT format(E'### %s\n\n%s\n\n| column | type | meaning |\n| --- | --- | --- |\n%s\n', c.relname,
              obj_description(c.oid, 'pg_class'),
              (SELECT string_agg(format('| `%s` | %s | %s |', a.attname, format_type(a.atttypid, a.atttypmod),
                                        pg_temp.cell(col_description(c.oid, a.attnum))), E'\n' ORDER BY a.attnum)
                 FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped))
  FROM pg_extension e JOIN pg_class c ON c.relnamespace = e.extnamespace AND c.relkind = 'v' AND c.relname ^@ 'ff_'
 WHERE e.extname = 'fillfactor_advisor'
 ORDER BY c.relname COLLATE "C";

SELECT E'## Tables\n\nIn the schema `ff_internal`; `\\d+` shows what each column means. They may change with every '
       'version.\n';
SELECT format(E'- **%s**: %s', c.oid::regclass, obj_description(c.oid, 'pg_class'))
  FROM pg_class c WHERE c.relnamespace IN ('ff_internal'::regnamespace, 'ff_hub'::regnamespace) AND c.relkind = 'r'
 ORDER BY c.relname COLLATE "C";

SELECT E'\n## Settings\n\n'
       'A session knows them from its first call of one of the functions on (or after `LOAD '
       '''fillfactor_advisor''`). Before that, `SHOW` calls a setting unrecognized, and `SET` and `ALTER ... '
       'SET` take any value, which is checked at that call: a bad one is a warning then, and the default is '
       'used.'
       '\n\n| setting | default | meaning |\n| --- | --- | --- |';
-- the library is loaded by the first call
SELECT ''::text WHERE ff_internal.setting('ram') IS NULL;
SELECT format('| `%s` | %s | %s |', s.name, current_setting(s.name), pg_temp.cell(s.short_desc))
  FROM pg_settings s WHERE s.name LIKE 'fillfactor\_advisor.%' ORDER BY s.name COLLATE "C";
