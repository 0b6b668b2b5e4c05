-- Statements as applications write them, through a real pg_stat_statements: what it made of each says the same as the
-- statement itself. The list is in test/queries/applications.sql.
SELECT current_setting('shared_preload_libraries') ~ 'pg_stat_statements'
       AND EXISTS (SELECT 1 FROM pg_available_extensions WHERE name = 'pg_stat_statements') AS statements \gset
SET client_min_messages = error;
CREATE EXTENSION IF NOT EXISTS pgtap;
SELECT plan(4);
\if :statements
CREATE EXTENSION fillfactor_advisor SCHEMA public;
CREATE EXTENSION pg_stat_statements SCHEMA public;
\ir ../queries/applications.sql
CREATE TABLE app.seen (n bigint, query text);
-- entries of equal statements would be one: each is read before the next
SELECT format('SELECT count(*) FROM (SELECT pg_stat_statements_reset(0, %s)) r', d.oid),
    a.statement || format(' /* application %s */', a.n),
       format('INSERT INTO app.seen SELECT %s, query FROM pg_stat_statements WHERE dbid = %s AND query LIKE ''%%/* '
           'application %1$s */''',
           a.n, d.oid)
  FROM app.application a, pg_database d WHERE d.datname = current_database() ORDER BY a.n
\o /dev/null
\gexec
\o
CREATE FUNCTION pg_temp.read(query text) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(coalesce(p.reason, concat_ws(' ', p.command, p.how, p.schema_name, p.relation_name, p.columns)),
        '; ')
        FROM ff_internal.parse_statement(query) p $$;
CREATE TABLE app.compared AS
SELECT a.n, a.statement, s.query, pg_temp.read(a.statement) AS original, pg_temp.read(s.query) AS normalized
  FROM app.application a LEFT JOIN app.seen s USING (n);
SELECT is((SELECT string_agg(statement, E'\n') FROM app.compared WHERE query IS NULL), NULL,
    'each statement ran and was seen');
SELECT cmp_ok((SELECT count(*) FROM app.compared), '>=', 500::bigint, 'there are 500 or more');
-- forms that normalization breaks, such as interval $1, are in it
SELECT cmp_ok((SELECT count(*) FROM app.compared
    WHERE query ~* '\m(interval|date|timestamp|bit|numeric|varying) ?(\(\d\) ?)?\$\d|\mextract\(\$\d'),
    '>=', 100::bigint, 'a hundred are no SQL any more');
SELECT is((SELECT string_agg(concat_ws(E'\n', query, normalized), E'\n') FROM app.compared
    WHERE original IS DISTINCT FROM normalized),
    NULL, 'each is read as the statement was');
\else
SELECT skip('no pg_stat_statements', 4);
\endif
SELECT * FROM finish();
