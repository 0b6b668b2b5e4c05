-- Tables left out.

-- The tables that now match a pattern of ff_exclude(), in words; five by name.
CREATE FUNCTION ff_internal.tables_matching(pattern text) RETURNS text
LANGUAGE sql STABLE
AS $$
    SELECT concat(ff_internal.counted(count(*), 'table'),
                  ': ' || array_to_string((array_agg(f.name ORDER BY f.name))[:5], ', '),
                  CASE WHEN count(*) > 5 THEN ', ...' END)
      FROM ff_internal.user_table c
     CROSS JOIN LATERAL (SELECT ff_internal.plain(c.nspname || '.' || c.relname)) f(name)
      JOIN ff_internal.excluded x ON x.pattern = $1 AND c.nspname || '.' || c.relname LIKE x.like_pattern
$$;

CREATE FUNCTION @extschema@.ff_exclude(pattern text) RETURNS text
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    tables text;
BEGIN
    PERFORM ff_internal.check_role('collector');
    IF pattern IS NULL OR strpos(pattern, '.') <= 1 THEN
        PERFORM ff_internal.refuse('22023', 'invalid pattern: ' || quote_nullable(pattern), NULL,
            'A pattern is SCHEMA.TABLE, where * stands for any characters and ? for one: '
            'SELECT ff_exclude(''cron.*'').');
    END IF;
    INSERT INTO ff_internal.excluded (pattern) VALUES (pattern) ON CONFLICT DO NOTHING;
    tables := ff_internal.tables_matching(pattern);
    IF tables ^@ '0 ' THEN
        RAISE WARNING 'no table matches % now', pattern
            USING HINT = 'Tables made later may; ff_include() removes it. In a pattern, names have no quotes.';
    END IF;
    RETURN format('%s leaves out %s', pattern, tables);
END
$$;
COMMENT ON FUNCTION @extschema@.ff_exclude(text) IS
'Leaves out the tables whose name matches a pattern, SCHEMA.TABLE without quotes, where * stands for any characters '
'and ? for one; returns which those are now. They cost nothing and get no advice; what was collected stays. '
'ff_internal.excluded lists the patterns and is dumped with the database. Error 22023: not a pattern.';

CREATE FUNCTION @extschema@.ff_include(pattern text) RETURNS text
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    tables text;
BEGIN
    PERFORM ff_internal.check_role('collector');
    tables := ff_internal.tables_matching(pattern);
    DELETE FROM ff_internal.excluded x WHERE x.pattern = $1;
    IF NOT FOUND THEN
        PERFORM ff_internal.refuse('42704', 'not excluded: ' || quote_nullable(pattern),
            'Excluded are: ' || coalesce((SELECT string_agg(ff_internal.plain(x.pattern), ', ' ORDER BY x.pattern)
                                            FROM ff_internal.excluded x), 'none') || '.');
    END IF;
    RETURN format('%s no longer leaves out %s', pattern, tables);
END
$$;
COMMENT ON FUNCTION @extschema@.ff_include(text) IS
'Removes a pattern of ff_exclude(), written identically; returns which tables it matches now. Error 42704: no such '
'pattern; the detail lists them.';
