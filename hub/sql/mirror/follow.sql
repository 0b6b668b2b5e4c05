-- Makes the tables and indexes of the source here, and follows its changes: by OID, so that a table keeps its history
-- under another name and another table of that name does not get it. Each is made in a subtransaction of its own; what
-- fails is noted, and tried again with the next observation.

-- Runs statements, all or none. Returns NULL or the error. Waits for no lock.
CREATE FUNCTION ff_hub.attempt(VARIADIC statements text[]) RETURNS text
LANGUAGE plpgsql VOLATILE
SET lock_timeout = '1s'
SET client_min_messages = error
AS $$
DECLARE
    statement text;
BEGIN
    FOREACH statement IN ARRAY statements LOOP
        EXECUTE statement;
    END LOOP;
    RETURN NULL;
EXCEPTION WHEN OTHERS THEN
    RETURN format('%s %s', SQLSTATE, SQLERRM);
END
$$;

-- Whether a table is a mirror's: it has the constraint that refuses rows.
CREATE FUNCTION ff_hub.is_mirrored(relation oid) RETURNS boolean
LANGUAGE sql STABLE
RETURN EXISTS (SELECT FROM pg_constraint c WHERE c.conrelid = relation AND c.conname = 'mirror_holds_no_rows');

-- Tables of a mirror that was restored from a dump have other OIDs, and none is known if the extension was made again:
-- finds them by their names, as those of a former source, and lets the core do the same with their history.
CREATE FUNCTION ff_hub.find_restored() RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    INSERT INTO ff_hub.mirror (server) SELECT o.said->>'server' FROM ff_internal.observed o WHERE o.kind = 'server'
    ON CONFLICT DO NOTHING;
    UPDATE ff_hub.mirror m SET made_in = n.here, shapes = '{}', counters = '{}', changed_at = clock_timestamp()
      FROM (SELECT concat_ws(' ', s.system_identifier, s.database_oid, 'ff_hub.mirrored'::regclass::oid)
              FROM ff_internal.own_server() s) n(here)
     WHERE m.made_in IS DISTINCT FROM n.here;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    WITH here AS MATERIALIZED (
        SELECT c.oid, coalesce(m.relid, c.oid) AS old, coalesce(m.shape, jsonb_strip_nulls(jsonb_build_object(
                   'schema', n.nspname, 'name', c.relname, 'unlogged', c.relpersistence = 'u', 'options', c.reloptions,
                   'columns', (SELECT coalesce(jsonb_agg(jsonb_build_object('number', a.attnum, 'name', a.attname,
                                                                            'type', t.typname)), '[]')
                                 FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
                                WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped)))) AS shape
          FROM pg_constraint k
          JOIN pg_class c ON c.oid = k.conrelid
          JOIN pg_namespace n ON n.oid = c.relnamespace
          LEFT JOIN ff_hub.mirrored m ON m.table_oid IS NULL AND m.shape->>'schema' = n.nspname
                                     AND m.shape->>'name' = c.relname
         WHERE k.conname = 'mirror_holds_no_rows'
    ), forgotten AS (
        DELETE FROM ff_hub.mirrored RETURNING relid
    ), unsaid AS (
        DELETE FROM ff_internal.observed o WHERE o.kind IN ('table', 'index') RETURNING o.kind, o.id, o.said
    ), said AS (
        -- all are deleted before any is inserted: an OID may have been that of another table
        INSERT INTO ff_internal.observed (kind, id, said)
        SELECT u.kind, h.oid, u.said FROM here h JOIN unsaid u ON u.kind = 'table' AND u.id = h.old
         WHERE (SELECT count(*) FROM unsaid) > 0
    )
    INSERT INTO ff_hub.mirrored (relid, shape)
    SELECT h.oid, h.shape FROM here h WHERE (SELECT count(*) FROM forgotten) >= 0;
    UPDATE ff_internal.relation SET system_identifier = 0 WHERE closed_at IS NULL;
    UPDATE ff_internal.epoch SET history_oid = 0
     WHERE epoch_id = (SELECT max(e.epoch_id) FROM ff_internal.epoch e);
END
$$;

-- Forgets tables and indexes that are not here any more: dropped by somebody.
CREATE FUNCTION ff_hub.forget_lost() RETURNS void
LANGUAGE sql VOLATILE
AS $$
    WITH gone AS (
        DELETE FROM ff_hub.mirrored m
         WHERE NOT EXISTS (SELECT FROM pg_class c
                            WHERE c.oid = m.relid AND c.relname = m.shape->>'name'
                              AND (m.table_oid IS NOT NULL OR c.relchecks > 0))
        RETURNING coalesce(m.table_oid, m.source_oid)::bigint % 1021 AS bucket
    )
    UPDATE ff_hub.mirror SET shapes = shapes || l.lost
      FROM (SELECT jsonb_object_agg(g.bucket, '') FROM gone g WHERE g.bucket IS NOT NULL) l(lost)
     WHERE l.lost IS NOT NULL
$$;

-- Notes why something of a table could not be made here, so that the source sends the table's bucket again; fault NULL:
-- it could. Twenty are named.
CREATE FUNCTION ff_hub.note_fault(table_oid oid, what text, fault text) RETURNS void
LANGUAGE sql VOLATILE
AS $$
    UPDATE ff_hub.mirror m
       -- the tables of a former source have no OID there
       SET failed = m.failed || CASE WHEN table_oid IS NULL THEN '{}'
                                     ELSE jsonb_build_object(table_oid::bigint % 1021, '') END,
           unread = m.unread || CASE WHEN jsonb_array_length(m.unread) < 20
                                     THEN to_jsonb(left(ff_internal.plain(what || ': ' || fault), 400))
                                     WHEN m.unread->>20 IS NULL THEN '["and others"]' ELSE '[]' END
     WHERE fault IS NOT NULL
$$;

-- Drops an index of a mirror's table, with its constraint.
CREATE FUNCTION ff_hub.drop_mirrored_index(index oid) RETURNS text
LANGUAGE sql VOLATILE
RETURN (SELECT ff_hub.attempt(coalesce(format('ALTER TABLE %s DROP CONSTRAINT ', k.conrelid::regclass)
                                       || quote_ident(k.conname), format('DROP INDEX %s', c.oid::regclass)))
          FROM pg_index i
          JOIN pg_class c ON c.oid = i.indexrelid
          LEFT JOIN pg_constraint k ON k.conrelid = i.indrelid AND k.conindid = c.oid AND k.contype IN ('p', 'u')
         WHERE c.oid = index AND ff_hub.is_mirrored(i.indrelid));

-- Finds tables of a former source by their names; their indexes are made again. Returns whether there are any.
CREATE FUNCTION ff_hub.find_former(said jsonb) RETURNS boolean
LANGUAGE sql VOLATILE
AS $$
    WITH found AS (
        UPDATE ff_hub.mirrored m SET source_oid = n.oid, shape = m.shape || '{"parents": [0]}'
          FROM jsonb_to_recordset(said->'tables') n(oid oid, shape jsonb), pg_class c
         WHERE m.source_oid IS NULL AND n.shape->>'schema' = m.shape->>'schema' AND n.shape->>'name' = m.shape->>'name'
           AND c.oid = m.relid AND (c.relkind = 'p') = (n.shape->>'kind' = 'p')
        RETURNING m.relid
    )
    SELECT count(ff_hub.drop_mirrored_index(i.indexrelid)) IS NOT NULL AND count(f.relid) > 0
      FROM found f LEFT JOIN pg_index i ON i.indrelid = f.relid
$$;

-- Takes these tables out of their families, and others out of theirs.
CREATE FUNCTION ff_hub.detach(relations oid[]) RETURNS void
LANGUAGE sql VOLATILE
AS $$
    SELECT ff_hub.attempt(CASE p.relkind WHEN 'p' THEN format('ALTER TABLE %s DETACH PARTITION %s', p.oid::regclass,
                                                              i.inhrelid::regclass)
                          ELSE format('ALTER TABLE %s NO INHERIT %s', i.inhrelid::regclass, p.oid::regclass) END)
      FROM pg_inherits i JOIN pg_class p ON p.oid = i.inhparent
     WHERE i.inhrelid = ANY (relations) OR i.inhparent = ANY (relations)
$$;

-- Drops these tables.
CREATE FUNCTION ff_hub.drop_mirrored(relations oid[]) RETURNS void
LANGUAGE sql VOLATILE
AS $$
    SELECT ff_hub.detach(relations);
    SELECT ff_hub.note_fault(d.source_oid, 'table ' || d.name, ff_hub.attempt('DROP TABLE ' || d.name))
      FROM (SELECT c.oid::regclass::text AS name, m.source_oid
              FROM pg_class c LEFT JOIN ff_hub.mirrored m ON m.relid = c.oid
             WHERE c.oid = ANY (relations) AND ff_hub.is_mirrored(c.oid) OFFSET 0) d;
    SELECT ff_hub.forget_lost() WHERE cardinality(relations) > 0;
$$;

-- Before tables are changed: takes apart families whose members change, gives those that are renamed a spare name, and
-- drops indexes that these tables do not have any more on the source, or have differently.
CREATE FUNCTION ff_hub.make_way(said jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    PERFORM ff_hub.detach(ARRAY(
        SELECT m.relid FROM jsonb_to_recordset(said->'tables') n(oid oid, shape jsonb)
          JOIN ff_hub.mirrored m ON m.source_oid = n.oid
         WHERE n.shape->'columns' <> m.shape->'columns' OR n.shape->'parents' IS DISTINCT FROM m.shape->'parents'));
    UPDATE ff_hub.mirrored m SET shape = m.shape || jsonb_build_object('name', a.spare)
      FROM (SELECT m.source_oid, s.spare,
                   ff_hub.attempt(format('ALTER TABLE %s RENAME TO %I', m.relid::regclass, s.spare)) AS fault
              FROM jsonb_to_recordset(said->'tables') n(oid oid, shape jsonb)
              JOIN ff_hub.mirrored m ON m.source_oid = n.oid
             CROSS JOIN LATERAL (SELECT format('mirror renames %s %s', n.oid, gen_random_uuid())) s(spare)
             WHERE n.shape->>'name' <> m.shape->>'name' OR n.shape->>'schema' <> m.shape->>'schema') a
     WHERE m.source_oid = a.source_oid AND a.fault IS NULL;
    PERFORM ff_hub.drop_mirrored_index(m.relid)
       FROM jsonb_to_recordset(said->'tables') t(oid oid, shape jsonb)
       JOIN ff_hub.mirrored w ON w.source_oid = t.oid
       JOIN ff_hub.mirrored m ON m.table_oid = t.oid
      WHERE t.shape->>'schema' <> w.shape->>'schema'
         OR t.shape IS NOT NULL AND NOT EXISTS (
            SELECT FROM jsonb_to_recordset(said->'indexes') n(oid oid, "table" oid, shape jsonb)
             WHERE n.oid = m.source_oid AND n."table" = m.table_oid
               AND n.shape - '{definition,options}'::text[] = m.shape - '{definition,options}'::text[]);
    IF FOUND THEN
        PERFORM ff_hub.forget_lost();
    END IF;
END
$$;

-- The storage options in a shape, as far as they can be ones.
CREATE FUNCTION ff_hub.options_of(shape jsonb) RETURNS text[]
LANGUAGE sql IMMUTABLE
RETURN (SELECT array_agg(o.option ORDER BY o.place)
          FROM jsonb_array_elements_text(shape->'options') WITH ORDINALITY o(option, place)
         WHERE o.option ~ '^[a-z_]{1,63}=[-+.[:alnum:]]{0,63}$');

-- Sets the storage options of a table or index that had another shape, one by one; this server may not know all.
CREATE FUNCTION ff_hub.follow_options(id oid, was jsonb) RETURNS void
LANGUAGE sql VOLATILE
AS $$
    SELECT ff_hub.attempt(format('ALTER TABLE %s ', m.relid::regclass)
                          || CASE WHEN o.new IS NULL THEN format('RESET (%I)', o.old)
                                  ELSE format('SET (%I = %L)', o.new, o.value) END)
      FROM ff_hub.mirrored m
     CROSS JOIN LATERAL (
           SELECT o.option_name, n.option_name, n.option_value
             FROM pg_options_to_table(ff_hub.options_of(was)) o
             FULL JOIN pg_options_to_table(ff_hub.options_of(m.shape)) n ON n.option_name = o.option_name
            WHERE o.option_value IS DISTINCT FROM n.option_value) o(old, new, value)
     WHERE m.source_oid = id AND m.shape->>'kind' IS DISTINCT FROM 'p'
$$;

-- Makes one table, or changes its name, schema, columns, persistence and options to the new ones; one that cannot be
-- changed is made again. Returns NULL, or why not.
CREATE FUNCTION ff_hub.follow_table(id oid, wanted jsonb) RETURNS text
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    name  CONSTANT text := quote_ident(wanted->>'schema') || '.' || quote_ident(wanted->>'name');
    m     ff_hub.mirrored;
    old   oid;
    fault text;
BEGIN
    IF wanted->>'schema' ~ '^pg_' OR wanted->>'schema' IN ('information_schema', 'ff_internal', 'ff_hub') THEN
        RETURN 'the schema is not for users';
    ELSIF wanted->>'access_method' <> 'heap' THEN
        RETURN 'only access method heap has a fillfactor that works this way';
    END IF;
    SELECT * INTO m FROM ff_hub.mirrored o WHERE o.source_oid = id;
    fault := ff_hub.attempt(VARIADIC CASE WHEN m.shape IS NULL THEN ff_hub.table_statements(wanted)
        ELSE array_remove(ff_hub.schema_statements(wanted->>'schema') || ARRAY[
            CASE WHEN wanted->>'schema' <> m.shape->>'schema'
                 THEN format('ALTER TABLE %s SET SCHEMA %I', m.relid::regclass, wanted->>'schema') END,
            CASE WHEN wanted->>'name' <> m.shape->>'name'
                 THEN format('ALTER TABLE %I.%I RENAME TO %I', wanted->>'schema', m.shape->>'name', wanted->>'name')
                 END,
            ff_hub.column_statement(name, m.shape, wanted),
            CASE WHEN wanted->'unlogged' <> m.shape->'unlogged' AND wanted->>'kind' <> 'p'
                 THEN format('ALTER TABLE %s SET %s', name,
                             CASE WHEN (wanted->>'unlogged')::boolean THEN 'UNLOGGED' ELSE 'LOGGED' END) END
            ], NULL) END);
    -- it has too many columns, or another one in the invented partition key; or a restore left it
    old := coalesce(m.relid, to_regclass(name)::oid);
    IF left(fault, 5) IN ('54011', '42P16', '42P07') AND ff_hub.is_mirrored(old) THEN
        PERFORM ff_hub.detach(ARRAY[old]);
        fault := ff_hub.attempt(VARIADIC format('DROP TABLE %s', old::regclass) || ff_hub.table_statements(wanted));
        m.shape := NULL;
    END IF;
    IF fault IS NULL THEN
        INSERT INTO ff_hub.mirrored (relid, source_oid, shape) VALUES (to_regclass(name), id, wanted)
        ON CONFLICT (source_oid) DO UPDATE SET relid = EXCLUDED.relid, shape = EXCLUDED.shape;
        PERFORM ff_hub.follow_options(id, m.shape);
    END IF;
    RETURN fault;
EXCEPTION WHEN data_exception OR integrity_constraint_violation THEN
    -- what was sent is not a shape
    RETURN format('%s %s', SQLSTATE, SQLERRM);
END
$$;

-- Makes the tables another's partition or child that are so on the source, but not here; the source's OID serves as the
-- invented bound.
CREATE FUNCTION ff_hub.attach_all() RETURNS void
LANGUAGE sql VOLATILE
AS $$
    SELECT ff_hub.note_fault(n.source_oid, format('parents of %I.%I', n.shape->>'schema', n.shape->>'name'),
                       ff_hub.attempt(VARIADIC n.not_null || n.attach))
      FROM (SELECT c.source_oid, c.shape, CASE p.relkind
                   WHEN 'p' THEN format('ALTER TABLE %s ATTACH PARTITION %s FOR VALUES IN (%s)', p.oid::regclass,
                                        c.relid::regclass, c.source_oid)
                   ELSE format('ALTER TABLE %s INHERIT %s', c.relid::regclass, p.oid::regclass) END AS attach,
                   ARRAY(SELECT format('ALTER TABLE %s ALTER COLUMN %I SET NOT NULL', c.relid::regclass, o.attname)
                           FROM pg_attribute o JOIN pg_attribute a USING (attname)
                          WHERE o.attrelid = c.relid AND a.attrelid = p.oid AND a.attnum > 0 AND a.attnotnull
                            AND NOT o.attnotnull) AS not_null
              FROM ff_hub.mirrored c
             CROSS JOIN LATERAL jsonb_array_elements_text(c.shape->'parents') WITH ORDINALITY n(parent, place)
              JOIN ff_hub.mirrored m ON m.source_oid = n.parent::oid
              JOIN pg_class p ON p.oid = m.relid
             WHERE c.source_oid IS NOT NULL
               AND NOT EXISTS (SELECT FROM pg_inherits i WHERE i.inhrelid = c.relid AND i.inhparent = p.oid)
             ORDER BY c.source_oid, n.place) n
$$;

-- Makes one index, or gives it its new options and definition. Returns NULL, or why not.
CREATE FUNCTION ff_hub.follow_index(id oid, of_table ff_hub.mirrored, wanted jsonb) RETURNS text
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    was   CONSTANT jsonb := (SELECT o.shape FROM ff_hub.mirrored o WHERE o.source_oid = id);
    fault text;
    way   text;
BEGIN
    IF was IS NULL THEN
        -- left by a restore
        PERFORM ff_hub.drop_mirrored_index(i.indexrelid)
           FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
          WHERE i.indrelid = of_table.relid AND c.relname = wanted->>'name';
        FOR way IN SELECT * FROM ff_hub.index_statements(of_table.relid::regclass::text, of_table.shape, wanted) LOOP
            fault := ff_hub.attempt(way);
            EXIT WHEN fault IS NULL OR fault ^@ '42P07';
        END LOOP;
        IF fault IS NOT NULL THEN
            RETURN fault;
        END IF;
    END IF;
    INSERT INTO ff_hub.mirrored (relid, source_oid, table_oid, shape)
    SELECT c.oid, id, of_table.source_oid, wanted
      FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
     WHERE i.indrelid = of_table.relid AND c.relname = wanted->>'name'
    ON CONFLICT (source_oid) DO UPDATE SET shape = mirrored.shape - 'options' || wanted;
    PERFORM ff_hub.follow_options(id, was);
    RETURN NULL;
EXCEPTION WHEN data_exception OR integrity_constraint_violation THEN
    RETURN format('%s %s', SQLSTATE, SQLERRM);
END
$$;

-- Does everything that makes this database like its source, and notes what could not be made. Each object needs locks
-- until the transaction ends; when half of the server's are taken, the rest is left for the next observation.
CREATE FUNCTION ff_hub.follow(said jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    -- of a table with its TOAST table, and of an index
    locks_left integer := current_setting('max_locks_per_transaction')::integer
                          * current_setting('max_connections')::integer / 2;
    later CONSTANT text := 'left for the next collection: the server has locks for so many tables at a time';
    one   record;
BEGIN
    PERFORM ff_hub.make_way(said);
    -- tables that the source does not have any more; of a former one after a day: the present one may just be restored
    PERFORM ff_hub.drop_mirrored(ARRAY(
        SELECT m.relid FROM ff_hub.mirrored m
         WHERE m.table_oid IS NULL
           AND CASE WHEN m.source_oid IS NULL
                    THEN (said->>'left')::bigint = 0
                         AND (SELECT o.changed_at < clock_timestamp() - interval '1 day' FROM ff_hub.mirror o)
                    ELSE said->'shapes' ? (m.source_oid::bigint % 1021)::text
                         AND NOT EXISTS (SELECT FROM jsonb_to_recordset(said->'tables') n(oid oid, shape jsonb)
                                          WHERE n.oid = m.source_oid AND n.shape IS NOT NULL) END));
    FOR one IN
        SELECT n.oid::oid AS oid, n.shape
          FROM jsonb_to_recordset(said->'tables') n(oid bigint, shape jsonb)
          LEFT JOIN ff_hub.mirrored m ON m.source_oid = n.oid::oid
         WHERE n.shape IS DISTINCT FROM m.shape AND n.shape IS NOT NULL
         ORDER BY n.shape->>'kind' = 'p' DESC, n.oid
    LOOP
        locks_left := locks_left - 4;
        PERFORM ff_hub.note_fault(one.oid, format('table %I.%I', one.shape->>'schema', one.shape->>'name'),
                            CASE WHEN locks_left > 0 THEN ff_hub.follow_table(one.oid, one.shape) ELSE later END);
    END LOOP;
    IF FOUND THEN
        -- an index goes with its columns
        PERFORM ff_hub.forget_lost();
    END IF;
    PERFORM ff_hub.attach_all();
    FOR one IN
        SELECT n.oid, n.shape, t AS of_table
          FROM jsonb_to_recordset(said->'indexes') n(oid oid, "table" oid, shape jsonb)
          JOIN ff_hub.mirrored t ON t.source_oid = n."table" AND t.shape->>'kind' <> 'p'
          LEFT JOIN ff_hub.mirrored m ON m.source_oid = n.oid
         WHERE n.shape IS NOT NULL
           AND (m.shape - 'definition' IS DISTINCT FROM n.shape - 'definition' OR NOT m.shape @> n.shape)
         ORDER BY n."table", n.oid
    LOOP
        locks_left := locks_left - 2;
        PERFORM ff_hub.note_fault((one.of_table).source_oid,
            format('index %I of %I.%I', one.shape->>'name', (one.of_table).shape->>'schema',
                   (one.of_table).shape->>'name'),
            CASE WHEN locks_left > 0 THEN ff_hub.follow_index(one.oid, one.of_table, one.shape) ELSE later END);
    END LOOP;
END
$$;
