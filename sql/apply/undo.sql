-- Stage undo: the statements that undo a change. A superuser may run them, while other roles may write the history. So
-- they contain only quoted names and values; the definition of a dropped index is shown in a comment.

-- Returns the statements that restore a server setting's value, given as in pg_settings: RESET if it is in force
-- without ALTER SYSTEM, as far as the caller may see. NULL: not in tracked_settings(), or no valid value.
CREATE FUNCTION ff_internal.undo_setting(setting text, value text) RETURNS text
LANGUAGE plpgsql STABLE STRICT
AS $$
DECLARE
    s      record;
    beside boolean;     -- it would have that value without ALTER SYSTEM
BEGIN
    SELECT * INTO s FROM pg_settings p
     WHERE p.name = undo_setting.setting AND p.name = ANY (ff_internal.tracked_settings());
    IF s.name IS NULL OR value <> ALL (coalesce(s.enumvals, ARRAY[value]))
       OR s.vartype = 'bool' AND value NOT IN ('on', 'off')
       OR s.vartype IN ('integer', 'real') AND value !~ '^-?[0-9]+([.][0-9]+)?$' THEN
        RETURN NULL;
    END IF;
    IF EXISTS (SELECT FROM ff_internal.observed o WHERE o.kind = 'server') THEN
        beside := false;    -- a mirror does not know
    ELSIF s.source = 'default' OR s.sourcefile !~ 'postgresql[.]auto[.]conf$' THEN
        beside := value = s.reset_val;
    ELSIF has_table_privilege('pg_file_settings', 'SELECT')
          AND has_function_privilege('pg_show_all_file_settings()', 'EXECUTE') THEN
        beside := coalesce((
            SELECT CASE WHEN s.vartype = 'bool' THEN f.setting::boolean = value::boolean
                        WHEN s.unit IS NULL OR f.setting !~ '^[-+]?[0-9]+([.][0-9]+)? *[A-Za-z]*$'
                        THEN lower(f.setting) = value
                        WHEN s.unit ~ 'B$' THEN pg_size_bytes(ff_internal.setting_shown(f.setting, s.unit))
                                                = pg_size_bytes(ff_internal.setting_shown(value, s.unit))
                        ELSE ff_internal.setting_shown(f.setting, s.unit)::interval
                             = ff_internal.setting_shown(value, s.unit)::interval END
              FROM pg_file_settings f
             WHERE lower(f.name) = s.name AND f.sourcefile !~ 'postgresql[.]auto[.]conf$' AND f.error IS NULL
             ORDER BY f.seqno DESC LIMIT 1), value = s.boot_val);
    END IF;
    RETURN format('ALTER SYSTEM %s; SELECT pg_reload_conf();',
                  CASE WHEN beside THEN format('RESET %I', s.name)
                       ELSE format('SET %I = %L', s.name, ff_internal.setting_shown(value, s.unit)) END);
END
$$;

-- An index definition without its name and storage options.
CREATE FUNCTION ff_internal.index_shape(definition text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN definition LIKE 'CREATE UNIQUE %' THEN 'UNIQUE' ELSE '' END
       || coalesce(regexp_replace(substring(definition FROM ' USING .*'),
                                  ' WITH [(](, |[a-z_]+=(''[^'']*''|[a-z0-9_]+))*[)]', ''), definition);

-- The storage options in an index definition, as in pg_class.reloptions; NULL: none.
CREATE FUNCTION ff_internal.index_options(definition text) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT array_agg(o.m[1] || '=' || coalesce(o.m[2], o.m[3]) ORDER BY o.place)
      FROM regexp_matches(substring(definition FROM ' WITH ([(][a-z_]+=.*)'),
                          '[(, ]([a-z_]+)=(?:''([^'']*)''|([a-z0-9_]+))(?=[,)])', 'g') WITH ORDINALITY o(m, place));

-- Returns the statements that restore a table's indexes, given the definitions dropped and created since. An index of
-- the same shape gets its old options back. Other new indexes are dropped. A comment marks what the reader must do: of
-- a dropped index it has the stored definition, which may be anybody's text.
CREATE FUNCTION ff_internal.undo_indexes(relation oid, dropped text[], created text[]) RETURNS text
LANGUAGE sql STABLE
AS $$
    WITH came AS (
        SELECT d.id, d.definition, ff_internal.index_shape(d.definition) AS shape
          FROM (SELECT array_agg(i.indexrelid) AS ids FROM pg_index i WHERE i.indrelid = relation) x
         CROSS JOIN unnest(x.ids, ff_internal.index_definitions(relation, x.ids)) d(id, definition)
         WHERE d.definition <> '' AND d.definition = ANY (created)
    ), gone AS (
        SELECT d.definition, d.place, ff_internal.index_shape(d.definition) AS shape
          FROM unnest(dropped) WITH ORDINALITY d(definition, place) WHERE d.definition <> ''
    )
    SELECT string_agg(CASE
           WHEN c.id IS NULL
           THEN format('/* dropped, to be created again by hand: %s */',
                       replace(replace(ff_internal.plain(g.definition), '*/', '* /'), '/*', '/ *'))
           WHEN g.definition IS NOT NULL
           THEN ff_internal.restore_options(c.id, ff_internal.index_options(g.definition),
                                            ff_internal.index_options(c.definition))
           WHEN EXISTS (SELECT FROM pg_inherits h WHERE h.inhrelid = c.id)
           THEN '/* a partition of an index stays: drop that index if you do not want it */'
           ELSE coalesce(ff_internal.drop_index(c.id),
                         '/* the index of a constraint stays: drop the constraint if you do not want it */') END,
           ' ' ORDER BY c.id IS NULL, g.definition IS NULL, g.place, c.id)
      FROM came c FULL JOIN gone g USING (shape)
$$;

-- Returns the statements that undo a change of a table; NULL if there are none.
CREATE FUNCTION ff_internal.undo_change(id bigint) RETURNS text
LANGUAGE sql STABLE
RETURN (
    SELECT CASE c.kind WHEN 'indexes' THEN ff_internal.undo_indexes(r.relid, c.dropped_indexes, c.created_indexes)
                       ELSE ff_internal.restore_options(r.relid, c.old_options, c.new_options, c.kind) END
      FROM ff_internal.change c
      JOIN ff_internal.followed r USING (rel_id)
      JOIN pg_class t ON t.oid = r.relid AND t.relkind IN ('r', 'm')
     WHERE c.change_id = id);
