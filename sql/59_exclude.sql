-- Stage exclude: tables that are left out.

CREATE FUNCTION @extschema@.ff_exclude(pattern text) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM ff_internal.check_role('collector');
    IF pattern IS NULL OR strpos(pattern, '.') <= 1 THEN
        PERFORM ff_internal.refuse('22023', 'invalid pattern: ' || quote_nullable(pattern), NULL,
            'A pattern is SCHEMA.TABLE, where * stands for any characters and ? for one: SELECT ff_exclude(''cron.*'').');
    END IF;
    INSERT INTO ff_internal.excluded (pattern, since) VALUES (pattern, now()) ON CONFLICT DO NOTHING;
    RETURN (SELECT count(*) FROM ff_internal.candidate c JOIN ff_internal.excluded x ON x.pattern = ff_exclude.pattern
             WHERE c.nspname || '.' || c.relname LIKE x.like_pattern);
END
$$;
COMMENT ON FUNCTION @extschema@.ff_exclude(text) IS
'Leaves out the tables whose name fits a pattern, SCHEMA.TABLE without quotes, where * stands for any characters and ? '
'for one; returns how many there are now. They are not collected and get no advice; what was collected stays. The '
'patterns are dumped with the database: ff_internal.excluded lists them. Error 22023: not a pattern.';

CREATE FUNCTION @extschema@.ff_include(pattern text) RETURNS boolean
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT ff_internal.check_role('collector');
    WITH gone AS (
        DELETE FROM ff_internal.excluded x WHERE x.pattern = $1 RETURNING 1
    )
    SELECT count(*) > 0 FROM gone
$$;
COMMENT ON FUNCTION @extschema@.ff_include(text) IS 'Takes in again what ff_exclude() left out by this very pattern; '
                                                    'returns whether there was one.';
