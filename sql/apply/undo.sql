-- The statements that undo a change. A superuser may run them, while other roles may write the history: so
-- they have only quoted names and values, and the definition of a dropped index in a comment.

-- The statements that restore a server setting, its value given as in pg_settings: RESET if it has that value without
-- ALTER SYSTEM. NULL: not in tracked_settings(), or no valid value.
CREATE FUNCTION ff_internal.undo_setting(setting text, value text) RETURNS text
LANGUAGE sql STABLE
RETURN (
    SELECT format('ALTER SYSTEM %s; SELECT pg_reload_conf();',
                  CASE WHEN value = s.reset_val
                            AND (s.source = 'default' OR s.sourcefile !~ 'postgresql[.]auto[.]conf$')
                            -- a mirror does not know
                            AND NOT EXISTS (SELECT FROM ff_internal.observed o WHERE o.kind = 'server')
                       THEN format('RESET %I', s.name)
                       ELSE format('SET %I = %L', s.name, ff_internal.setting_shown(value, s.unit)) END)
      FROM pg_settings s
     WHERE s.name = undo_setting.setting AND s.name = ANY (ff_internal.tracked_settings())
       AND value = ANY (coalesce(s.enumvals, ARRAY[value]))
       AND value ~ CASE s.vartype WHEN 'bool' THEN '^(on|off)$' WHEN 'enum' THEN ''
                                  ELSE '^-?[0-9]+([.][0-9]+)?$' END);

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
                       SELECT target UNION ALL SELECT t.relid FROM pg_partition_tree(target) t))
             ORDER BY c.rel_id, c.seen_at DESC) u
     -- not if it was changed again since
     WHERE u.new_fillfactor = ff_internal.effective_fillfactor(u.reloptions)
       AND (target IS NOT NULL OR u.made_at IS NOT NULL)
     ORDER BY u.seen_at DESC, u.rel_id
$$;
