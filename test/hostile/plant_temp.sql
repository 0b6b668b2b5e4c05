-- plant_temp.sql: look-alikes in the temporary schema of this session, after
-- plant.sql: tables and views of the catalogs' names, types of the server's names,
-- functions and operators.
\o /dev/null
SET search_path = pg_catalog, pg_temp;
SELECT format('CREATE TEMP VIEW %I AS TABLE hostile.%I', name, name) FROM hostile.planted WHERE kind = 'view' \gexec
SELECT format('CREATE DOMAIN pg_temp.%I AS pg_catalog.%I CHECK (hostile.trap(%L))', name, name, 'temporary ' || name)
    FROM hostile.planted WHERE kind = 'domain' \gexec
SELECT format('CREATE FUNCTION pg_temp.%I(%s) RETURNS %s LANGUAGE plpgsql AS %L', p.proname,
    pg_catalog.pg_get_function_arguments(p.oid), pg_catalog.pg_get_function_result(p.oid), p.prosrc)
  FROM pg_catalog.pg_proc p
 WHERE p.pronamespace = 'hostile'::pg_catalog.regnamespace
   AND p.prosrc OPERATOR(pg_catalog.~)
       'function (format|now|current_setting|set_config|quote_ident|concat|to_regclass|clock_timestamp)\(' \gexec
CREATE FUNCTION pg_temp.equal(pg_catalog.oid, pg_catalog.oid) RETURNS boolean
    LANGUAGE sql AS $$ SELECT hostile.trap('temporary operator') $$;
CREATE OPERATOR pg_temp.= (LEFTARG = pg_catalog.oid, RIGHTARG = pg_catalog.oid, FUNCTION = pg_temp.equal);
RESET search_path;
\o
