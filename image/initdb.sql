-- Runs once, when the server image makes its cluster: the extensions in the database of POSTGRES_DB.
CREATE EXTENSION pg_stat_statements;
CREATE EXTENSION dblink;
CREATE EXTENSION fillfactor_advisor;
CREATE EXTENSION fillfactor_advisor_hub;
-- pg_cron can be in one database of a server only, which need not be that of POSTGRES_DB
SELECT current_setting('cron.database_name') AS cron_database \gset
\connect :"cron_database"
CREATE EXTENSION pg_cron;
