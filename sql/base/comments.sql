-- How a script makes objects: none of them is taken from strangers, and comments become COMMENTs.

-- Objects of our names that somebody else made before could be taken for ours.
CREATE PROCEDURE ff_internal.refuse_strangers(extension name)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    stranger text;
BEGIN
    SELECT p.oid::regprocedure::text INTO stranger
      FROM pg_extension e
      JOIN pg_proc p ON p.pronamespace = e.extnamespace AND p.proname ^@ 'ff_'
      LEFT JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
      LEFT JOIN pg_extension o ON d.refclassid = 'pg_extension'::regclass AND o.oid = d.refobjid
     WHERE e.extname = extension AND (o.extname ^@ 'fillfactor_advisor') IS NOT TRUE LIMIT 1;
    IF FOUND THEN
        RAISE 'function % already exists', stranger
            USING ERRCODE = 'duplicate_function',
                  DETAIL = 'In the schema of the extension, functions whose names begin with "ff_" must be its own.',
                  HINT = format('Drop it, or choose another schema: CREATE EXTENSION %I SCHEMA ...', extension);
    END IF;
END
$$;
CALL ff_internal.refuse_strangers('fillfactor_advisor');

-- Makes a table, type or view, and COMMENTs of the comments in its definition: behind or below a column about that,
-- below the first line about the whole.
CREATE PROCEDURE ff_internal.define(definition text)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    name text[] := regexp_match(definition, 'CREATE (?:OR REPLACE )?(TABLE|TYPE|VIEW) ((?:"[^"]+"|[^\s"])+)');
    part text[];
BEGIN
    EXECUTE definition;
    -- the first word of a line, then the comments up to the next one
    FOR part IN SELECT regexp_matches(definition, '\n *"?(\w+)[^\n]*?((?:\s+-- [^\n]+)+)', 'g') LOOP
        EXECUTE format('COMMENT ON %s IS %L', CASE WHEN part[1] = 'CREATE' THEN array_to_string(name, ' ')
                                                   ELSE format('COLUMN %s.%I', name[2], part[1]) END,
                       regexp_replace(ltrim(part[2], E' \n-'), '\s+-- ', ' ', 'g'));
    END LOOP;
END
$$;
