-- Stage undo: the statements that take a change back. Roles may write the history that are no superusers, and a
-- superuser may run the undo: it is made of quoted names and values, and of index definitions that were checked.

-- Units of settings, in bytes or microseconds.
CREATE FUNCTION ff_internal.units() RETURNS TABLE (name text, kind text, size numeric)
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 11
BEGIN ATOMIC
    VALUES ('B', 'memory', 1::numeric), ('kB', 'memory', 1024), ('MB', 'memory', 1048576),
           ('GB', 'memory', 1073741824), ('TB', 'memory', 1099511627776), ('us', 'time', 1), ('ms', 'time', 1000),
           ('s', 'time', 1000000), ('min', 'time', 60000000), ('h', 'time', 3600000000), ('d', 'time', 86400000000);
END;

-- A setting's value as a number, of bytes or microseconds where it or the setting (such as 8kB) has a unit.
CREATE FUNCTION ff_internal.setting_amount(value text, unit text, OUT amount numeric, OUT kind text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT v.m[1]::numeric * coalesce(nullif(b.m[1], '')::numeric, 1) * coalesce(s.size, 1), s.kind
      FROM regexp_match(value, '^[ ]*([-+]?[0-9]*[.]?[0-9]+(?:e[-+]?[0-9]+)?)[ ]*([a-zA-Z]*)[ ]*$') v(m)
      LEFT JOIN LATERAL regexp_match(coalesce(nullif(v.m[2], ''), unit), '^([0-9]*)([A-Za-z]+)$') b(m) ON true
      LEFT JOIN ff_internal.units() s ON s.name = b.m[2]
     WHERE v.m IS NOT NULL AND (v.m[2] = '' OR s.name IS NOT NULL);
END;

-- A setting's value as SHOW has it, given how pg_settings has it.
CREATE FUNCTION ff_internal.setting_shown(value text, unit text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce((SELECT trim_scale(a.amount / s.size) || s.name
                   FROM ff_internal.setting_amount(value, unit) a JOIN ff_internal.units() s ON s.kind = a.kind
                  -- none for zero, and for values that mean something special
                  WHERE a.amount > 0 AND (a.amount % s.size = 0 OR s.size = 1)
                  ORDER BY s.size DESC LIMIT 1), value);

-- A setting's value in a spelling that can be compared; NULL where it is none of this type.
CREATE FUNCTION ff_internal.setting_key(value text, vartype text, unit text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE vartype WHEN 'enum' THEN lower(value)
                    WHEN 'bool' THEN CASE WHEN value ~* '^(on|t|tr|tru|true|y|ye|yes|1)$' THEN 'on'
                                          WHEN value ~* '^(of|off|f|fa|fal|fals|false|n|no|0)$' THEN 'off' END
                    WHEN 'string' THEN NULL
                    ELSE (SELECT trim_scale(a.amount)::text FROM ff_internal.setting_amount(value, unit) a) END;

-- The value that a server setting would have without ALTER SYSTEM, as far as the caller may know.
CREATE FUNCTION ff_internal.setting_beside(setting text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    value text;
BEGIN
    IF has_table_privilege('pg_file_settings', 'SELECT')
       AND has_function_privilege('pg_show_all_file_settings()', 'EXECUTE') THEN
        SELECT f.setting INTO value
          FROM pg_file_settings f
         WHERE lower(f.name) = lower($1) AND f.sourcefile !~ 'postgresql[.]auto[.]conf$' AND f.error IS NULL
         ORDER BY f.seqno DESC LIMIT 1;
    END IF;
    RETURN coalesce(value, (SELECT s.boot_val FROM pg_settings s WHERE s.name = $1));
END
$$;

-- The statements that bring a server setting back to a value: RESET where that is what stands without ALTER SYSTEM.
-- NULL where the setting is none of tracked_settings(), or the value none of it.
CREATE FUNCTION ff_internal.undo_setting(setting text, value text) RETURNS text
LANGUAGE sql STABLE
RETURN (
    SELECT CASE WHEN CASE WHEN s.sourcefile ~ 'postgresql[.]auto[.]conf$'
                          THEN k.wanted = ff_internal.setting_key(ff_internal.setting_beside(s.name), s.vartype, s.unit)
                          ELSE (s.sourcefile IS NOT NULL OR s.source = 'default')
                               AND k.wanted = ff_internal.setting_key(s.reset_val, s.vartype, s.unit) END
                THEN format('ALTER SYSTEM RESET %I; SELECT pg_reload_conf();', s.name)
                ELSE format('ALTER SYSTEM SET %I = %L; SELECT pg_reload_conf();', s.name,
                            ff_internal.setting_shown(value, s.unit)) END
      FROM pg_settings s
     CROSS JOIN LATERAL ff_internal.setting_key(value, s.vartype, s.unit) k(wanted)
     -- the history may name any setting and any value
     WHERE s.name = undo_setting.setting AND s.name = ANY (ff_internal.tracked_settings())
       AND k.wanted IS NOT NULL AND (s.enumvals IS NULL OR value = ANY (s.enumvals)));

-- An index definition without its name and storage options: what it indexes, and how.
CREATE FUNCTION ff_internal.index_shape(definition text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN definition LIKE 'CREATE UNIQUE %' THEN 'UNIQUE' ELSE '' END
       || coalesce(regexp_replace(substring(definition FROM ' USING .*'),
                                  ' WITH [(](, |[a-z_]+=(''[^'']*''|[a-z0-9_]+))*[)]', ''), definition);

-- The storage options in an index definition, as pg_class.reloptions holds them; NULL where it has none.
CREATE FUNCTION ff_internal.index_options(definition text) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT array_agg(o.m[1] || '=' || coalesce(o.m[2], o.m[3]) ORDER BY o.place)
      FROM regexp_matches(substring(definition FROM ' WITH ([(][a-z_]+=.*)'),
                          '[(, ]([a-z_]+)=(?:''([^'']*)''|([a-z0-9_]+))(?=[,)])', 'g') WITH ORDINALITY o(m, place));

-- The statements that bring the indexes of a table back, given the definitions of those dropped and created since. What
-- is left to the reader stands in a comment.
CREATE FUNCTION ff_internal.undo_indexes(relation oid, dropped text[], created text[]) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH came AS (
        -- those that are still there
        SELECT d.id, d.definition, ff_internal.index_shape(d.definition) AS shape
          FROM (SELECT array_agg(i.indexrelid) AS ids FROM pg_index i WHERE i.indrelid = relation) x
         CROSS JOIN unnest(x.ids, ff_internal.index_definitions(relation, x.ids)) d(id, definition)
         WHERE d.definition <> '' AND d.definition = ANY (created)
    ), gone AS (
        SELECT d.definition, d.place, ff_internal.index_shape(d.definition) AS shape
          FROM unnest(dropped) WITH ORDINALITY d(definition, place) WHERE d.definition <> ''
    ), back AS (
        SELECT g.place, ff_internal.index_statement(relation, g.definition) AS statement
          FROM gone g WHERE g.shape NOT IN (SELECT c.shape FROM came c)
    )
    SELECT string_agg(x.statement, ' ' ORDER BY x.place, x.n)
      FROM (SELECT 1, g.place, ff_internal.restore_options(c.id, ff_internal.index_options(g.definition),
                                                           ff_internal.index_options(c.definition))
              FROM came c JOIN gone g USING (shape)
            UNION ALL
            SELECT 2, c.id, CASE
                   WHEN EXISTS (SELECT FROM pg_inherits h WHERE h.inhrelid = c.id)
                   THEN '/* a partition of an index stays: drop that index if you do not want it */'
                   ELSE coalesce(ff_internal.drop_index(c.id),
                        '/* the index of a constraint stays: drop the constraint if you do not want it */') END
              FROM came c WHERE c.shape NOT IN (SELECT g.shape FROM gone g)
            UNION ALL
            SELECT 3, b.place, b.statement FROM back b
            UNION ALL
            SELECT 4, 0, format('/* not written out: %s of the old definitions, which call what is not the '
                                'server''s own; read them before you run them */', count(*))
              FROM back b WHERE b.statement IS NULL HAVING count(*) > 0) x(place, n, statement)
$$;

-- The statements that take a change of a table back; NULL where there are none.
CREATE FUNCTION ff_internal.undo_change(id bigint) RETURNS text
LANGUAGE sql STABLE
RETURN (
    SELECT CASE c.kind WHEN 'indexes' THEN ff_internal.undo_indexes(r.relid, c.dropped_indexes, c.created_indexes)
                       ELSE ff_internal.restore_options(r.relid, c.old_options, c.new_options, c.kind) END
      FROM ff_internal.change c
      JOIN ff_internal.relation r USING (rel_id)
      JOIN pg_class t ON t.oid = r.relid AND t.relkind IN ('r', 'm')
     WHERE c.change_id = id);
