-- A call of each function of the extension and of the hub, in public.calls; for a table (:target), its index
-- (:index), and its key in the history (:t).  optional: all arguments may be left out.

CREATE TABLE public.calls AS
SELECT p.oid AS function, format('%s %I.%I(%s)',
    CASE WHEN p.prokind = 'p' THEN 'CALL' WHEN p.prorettype = 'record'::regtype
        AND p.proargmodes IS NULL THEN 'SELECT' ELSE 'SELECT * FROM' END,
    n.nspname, p.proname,
              (SELECT string_agg(CASE WHEN p.provariadic <> 0
                  AND a.n = p.pronargs THEN 'VARIADIC '
                  ELSE '' END || CASE format_type(a.type, NULL)
                                      WHEN 'regclass' THEN quote_literal(:'target') || '::pg_catalog.regclass'
                                      WHEN 'oid' THEN CASE WHEN p.proname ~ 'index'
                                      AND p.pronargs = 1 THEN quote_literal(:'index')
                                      ELSE quote_literal(:'target') END || '::pg_catalog.regclass::pg_catalog.oid'
                                      WHEN 'bigint' THEN :'t' || '::pg_catalog.int8'
                                      WHEN 'integer' THEN '80'
                                      WHEN 'text' THEN CASE
                                      WHEN p.proname = 'setting' THEN '''lookback'''
                                      ELSE '''10''::pg_catalog.text' END
                                      WHEN 'double precision' THEN '0.5::pg_catalog.float8'
                                      WHEN 'boolean' THEN 'true'
                                      WHEN 'text[]' THEN '''{fillfactor=90}''::pg_catalog.text[]'
                                      WHEN 'timestamp with time zone' THEN 'pg_catalog.now()'
                                      WHEN 'name' THEN '''sampled_at''::pg_catalog.name'
                                      WHEN 'oid[]' THEN '''{1}''::pg_catalog.oid[]'
                                      WHEN 'jsonb' THEN '''{}''::pg_catalog.jsonb'
                                      WHEN 'json' THEN '''[]''::pg_catalog.json'
                                      -- a strict function of NULL is not called
                                      WHEN 'ff_internal.step[]' THEN '''{}''::ff_internal.step[]'
                                      ELSE 'NULL::' || CASE
                                          WHEN y.typnamespace = 'pg_catalog'::regnamespace THEN 'pg_catalog.'
                                              || quote_ident(y.typname)
                                          ELSE format_type(a.type, NULL) END END,
                                      ', '
                                          ORDER BY a.n)
                 FROM unnest(p.proargtypes) WITH ORDINALITY a(type, n) JOIN pg_type y ON y.oid = a.type)) AS command,
       p.pronargs > 0 AND p.pronargs = p.pronargdefaults AS optional
  FROM pg_depend d
  JOIN pg_extension e ON e.oid = d.refobjid AND d.refclassid = 'pg_extension'::regclass
   AND e.extname IN ('fillfactor_advisor', 'fillfactor_advisor_hub')
  JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
  JOIN pg_namespace n ON n.oid = p.pronamespace
 -- of rows of no type that could be given
 WHERE NOT 'record'::regtype = ANY (p.proargtypes::oid[]);
