-- The statements that undo a change. A superuser may run them, while other roles may write the history: so
-- they have only quoted names and values, and the definition of a dropped index in a comment.

-- The statements that restore a server setting, its value given as in pg_settings: RESET if that is in force without
-- ALTER SYSTEM, as far as the caller may see. NULL: not in tracked_settings(), or no valid value.
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

-- The statements that undo a change of a table's indexes, given the definitions that it dropped and created; not of
-- those that belong to a constraint or a partitioned index. Comments mark what the reader must do.
CREATE FUNCTION ff_internal.undo_indexes(relation oid, dropped text[], created text[]) RETURNS text
LANGUAGE sql STABLE
RETURN nullif(concat_ws(' ', (
    SELECT string_agg(ff_internal.drop_index(c.oid), ' ' ORDER BY c.oid)
      FROM pg_index i
      JOIN pg_class c ON c.oid = i.indexrelid AND NOT c.relispartition
     WHERE i.indrelid = relation
       AND nullif((ff_internal.index_definitions(relation, ARRAY[c.oid]))[1], '') = ANY (created)), (
    SELECT string_agg(format('/* dropped, to be created again by hand: %s */',
                             replace(replace(ff_internal.plain(d), '*/', '* /'), '/*', '/ *')), ' ' ORDER BY n)
      FROM unnest(dropped) WITH ORDINALITY g(d, n) WHERE d <> '')), '');

-- The way back of the last change of each table's fillfactor, newest first, if it was as advised; or of a target's and
-- its partitions', if it was not, too. Options that others changed since stay.
CREATE FUNCTION ff_internal.plan_undo(target regclass) RETURNS SETOF jsonb
LANGUAGE sql STABLE ROWS 100
AS $$
    SELECT jsonb_build_object(
               'oid', u.relid::oid, 'action', 'undo', 'fillfactor', u.new_fillfactor,
               'recommended_fillfactor', u.old_fillfactor, 'provisional', false, 'options_after',
               CASE WHEN ff_internal.other_options(u.reloptions)
                         IS NOT DISTINCT FROM ff_internal.other_options(u.old_options) THEN u.old_options
                    ELSE nullif(ARRAY(SELECT o FROM unnest(u.reloptions) o WHERE NOT o ^@ 'fillfactor=')
                                || ARRAY(SELECT o FROM unnest(u.old_options) o WHERE o ^@ 'fillfactor='), '{}') END,
               'reason', format('%s -> %s, seen %s, %s', u.old_fillfactor, u.new_fillfactor,
                                ff_internal.minute(u.seen_at),
                                concat_ws(', ', CASE WHEN u.made_at IS NULL THEN 'not advised' ELSE 'as advised' END,
                                          u.verdict)))
      FROM (SELECT DISTINCT ON (c.rel_id) c.*, r.relid, p.made_at, k.reloptions
              FROM ff_internal.change c
              JOIN ff_internal.followed r USING (rel_id)
              JOIN ff_internal.user_table k ON k.relid = r.relid
              LEFT JOIN LATERAL ff_internal.predicted(c) p ON true
             WHERE c.kind = 'fillfactor' AND (target IS NULL OR r.relid IN (
                       SELECT t FROM ff_internal.with_children(target) t))
             ORDER BY c.rel_id, c.seen_at DESC) u
     -- not if it was changed again since
     WHERE u.new_fillfactor = ff_internal.effective_fillfactor(u.reloptions)
       AND (target IS NOT NULL OR u.made_at IS NOT NULL)
     ORDER BY u.seen_at DESC, u.rel_id
$$;
