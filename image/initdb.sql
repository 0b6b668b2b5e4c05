-- Runs once, when the server image makes its cluster: the extensions in the database of POSTGRES_DB.
CREATE EXTENSION pg_stat_statements;
CREATE EXTENSION fillfactor_advisor;
