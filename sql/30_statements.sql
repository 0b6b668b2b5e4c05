
-- Stage statements: which statements write which table and column, how often, at
-- what cost.  Everything else works without this stage; what is missing then is
-- said in ff_statement_look.reason.

-- ---------------------------------------------------------------------------
-- Reading one text
-- ---------------------------------------------------------------------------
CREATE FUNCTION @extschema@.ff_parse_statement(
    query text,
    OUT command text,
    OUT schema_name text,
    OUT relation_name text,
    OUT columns text[],
    OUT how text,
    OUT reason text
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'ff_parse_statement';
COMMENT ON FUNCTION @extschema@.ff_parse_statement(text) IS 'The tables a statement writes, one row for each command (INSERT, UPDATE, DELETE, COPY) and table, with the columns an UPDATE sets and where it stands (top, on_conflict, merge, cte); for a text that cannot be read one row with the reason. Parses only: looks up and executes nothing.';
REVOKE ALL ON FUNCTION @extschema@.ff_parse_statement(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.ff_parse_statement(text) TO pg_stat_scan_tables, pg_read_all_stats;
