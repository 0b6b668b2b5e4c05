-- Stage rehearsal table: a table that is like one of the user's, as SQL for a scratch server, without a value of it.

-- How a rehearsal makes a value of a built-in type: value, for row {n}, with {w} bytes of payload; number, the row of
-- such a value, where it can be the key that rows are found by; touch, the value that an UPDATE sets instead of {c}.
-- NULL: of other types nothing is made.
CREATE FUNCTION ff_internal.rehearsal_type(type regtype, OUT value text, OUT number text, OUT touch text)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT replace(v.value, '{t}', t.typname), replace(v.number, '{t}', t.typname), v.touch
      FROM (VALUES
        ('{int2}'::text[], '{n} / 100 % 32000', NULL, '{c} # 1::smallint'),
        ('{int4,int8}', '{n}', '{c}', '{c} # 1'),
        ('{numeric}', '{n}', '{c}', '1 - {c}'),
        ('{float4,float8}', '{n} / 100', NULL, '1 - {c}'),
        ('{bool}', '{n} % 2 = 0', NULL, 'NOT {c}'),
        ('{date}', 'date ''2000-01-01'' + ({n} / 100 % 10000)::integer', NULL, '{c} + 1'),
        ('{timestamp,timestamptz}', '''2000-01-01 00:00+00''::{t} + interval ''1 s'' * {n}',
            'extract(epoch FROM {c} - ''2000-01-01 00:00+00''::{t})', '{c} + interval ''1 ms'''),
        ('{uuid}', 'lpad(to_hex({n}), 32, ''0'')', '(''x'' || right({c}::text, 12))::bit(48)', NULL),
        ('{text,varchar,bpchar}', 'lpad({n}::text, {w}, ''0'')', '{c}',
            'translate(left({c}, 1), ''0x'', ''x0'') || substr({c}, 2)'),
        ('{bytea}', 'decode(repeat(''78'', {w}), ''hex'')', NULL, NULL),
        ('{jsonb}', '''"'' || repeat(''x'', {w} - 8) || ''"''', NULL, NULL)) v(names, value, number, touch)
      JOIN pg_type t ON t.typname = ANY (v.names) AND t.typnamespace = 'pg_catalog'::regnamespace
     WHERE t.oid = type
$$;

-- The columns of a table as a rehearsal makes them: values of domains are of their base type, of enums integers, of all
-- other types that are not known here bytea of the same width (replaced), by the statistics that the caller may see.
-- Columns that are not stored are left out, and generated ones that are have values of their own: what an update sets
-- is up to its class, so nothing must follow from it. name: quoted; short: in the rehearsal; copied: the value of a
-- copy of the table; pads: it can give a row its length.
CREATE FUNCTION ff_internal.rehearsal_columns(relation oid)
RETURNS TABLE (attnum smallint, name text, short text, type text, value text, number text, touch text, copied text,
               nulls real, replaced boolean, indexed boolean, pads boolean, width integer)
LANGUAGE sql STABLE ROWS 20
SET search_path = pg_catalog, pg_temp
AS $$
    WITH RECURSIVE base AS (
        SELECT a.attnum, a.attname, a.atttypid AS type, a.atttypmod AS typmod, a.attnotnull
          FROM pg_attribute a
         WHERE a.attrelid = relation AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated <> 'v'
        UNION ALL
        SELECT b.attnum, b.attname, t.typbasetype, t.typtypmod, b.attnotnull
          FROM base b JOIN pg_type t ON t.oid = b.type AND t.typtype = 'd'
    ), made AS (
        SELECT b.attnum, b.attname, b.attnotnull, s.null_frac, t.typtype = 'e' AS enum, m.type,
               ff_internal.quoted_name(b.attname) AS name, m.type <> b.type AND t.typtype <> 'e' AS replaced,
               CASE WHEN m.type = b.type THEN b.typmod ELSE -1 END AS typmod,
               -- a short value has a header of one byte
               coalesce(greatest(1, s.avg_width - CASE WHEN s.avg_width > 127 THEN 4 ELSE 1 END), 15) AS payload
          FROM base b
          JOIN pg_type t ON t.oid = b.type AND t.typtype <> 'd'
          JOIN pg_class c ON c.oid = relation
          JOIN pg_namespace n ON n.oid = c.relnamespace
          LEFT JOIN pg_stats s ON (s.schemaname, s.tablename, s.attname, s.inherited)
                                  = (n.nspname, c.relname, b.attname, false)
         CROSS JOIN ff_internal.rehearsal_type(b.type) known
         CROSS JOIN LATERAL (SELECT CASE WHEN t.typtype = 'e' THEN 'int4'::regtype
                                         WHEN known.value IS NULL THEN 'bytea'::regtype ELSE b.type END) m(type)
    )
    SELECT m.attnum, m.name, 'ff' || m.attnum, d.type,
           format('(%s)::%s', replace(r.value, '{n}', '{n}::bigint'), d.type),
           -- one that is too short holds no number
           CASE WHEN m.typmod = -1 OR m.typmod >= 16 OR d.type !~ '^(character|numeric)'
                THEN format('(%s)::bigint', r.number) END,
           r.touch,
           CASE WHEN m.replaced THEN format('convert_to(%s::text, ''UTF8'')', m.name)
                WHEN m.enum THEN format('hashtext(%s::text)', m.name) ELSE format('%s::%s', m.name, d.type) END,
           CASE WHEN m.attnotnull THEN 0 ELSE coalesce(m.null_frac, 0) END, m.replaced,
           m.attname = ANY (ff_internal.indexed_columns(relation)), d.type IN ('text', 'character varying'),
           CASE WHEN d.type ~ '^character' AND m.typmod > 4 THEN least(m.payload, m.typmod - 4) ELSE m.payload END
      FROM made m
     CROSS JOIN ff_internal.rehearsal_type(m.type) r
     CROSS JOIN LATERAL (SELECT format_type(m.type, nullif(m.typmod, -1))) d(type)
$$;

-- The table of a rehearsal, as JSON. columns: the definitions; renames: statements that give the columns their short
-- names; values: of a new row {n}; copied: of a copy. key: the column by which rows are found, NULL: there is none;
-- key_name and key_type: its name and type, key_value and key_number: between it and the row's number; pad: the column
-- that gives a row its length, and resize: what an update sets of it; touch and touch_indexed: what updates set that
-- change no index, or one. indexes: their statements; left_out: the names of those that need what a scratch server does
-- not have; replaced: of columns.
CREATE FUNCTION ff_internal.rehearsal_table(relation oid) RETURNS jsonb
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH c AS MATERIALIZED (
        SELECT * FROM ff_internal.rehearsal_columns(relation)
    ), i AS MATERIALIZED (
        SELECT x.indexrelid, x.indkey[0] AS first, x.indisprimary, x.indisunique, o.relname,
               coalesce(d.method, plain.method) AS method,
               m.amname = 'btree' AND x.indpred IS NULL AND x.indkey[0] > 0 AS finds
          FROM pg_index x
          JOIN pg_class o ON o.oid = x.indexrelid
          JOIN pg_am m ON m.oid = o.relam
         -- without waiting for a lock
         CROSS JOIN ff_internal.index_definition(relation,
               nullif((ff_internal.index_definitions(relation, ARRAY[x.indexrelid]))[1], '')) d
          -- what that refuses for a column's name alone
          LEFT JOIN LATERAL (
               SELECT format('USING btree (%s)', string_agg(c.name, ', ' ORDER BY u.place)) AS method
                 FROM unnest(x.indkey::smallint[]) WITH ORDINALITY u(attnum, place) JOIN c USING (attnum)
                WHERE u.place <= x.indnkeyatts AND m.amname = 'btree' AND x.indexprs IS NULL AND x.indpred IS NULL
               HAVING count(*) > 0) plain ON true
         WHERE x.indrelid = relation AND x.indisvalid
    ), key AS (
        SELECT c.* FROM i JOIN c ON c.attnum = i.first AND c.number IS NOT NULL
         WHERE i.finds AND i.method IS NOT NULL
         ORDER BY i.indisprimary DESC, i.indisunique DESC, i.indexrelid LIMIT 1
    ), other AS MATERIALIZED (
        SELECT c.*, format('%s = coalesce(%s, %s)', c.short, replace(c.touch, '{c}', 't.' || c.short),
                           replace(replace(c.value, '{n}', '1'), '{w}', c.width::text)) AS sets,
               row_number() OVER (ORDER BY NOT c.pads, c.indexed, c.width DESC, c.attnum) = 1 AND c.pads AS pad
          FROM c WHERE c.attnum NOT IN (SELECT key.attnum FROM key)
    ), made AS (
        SELECT c.*, CASE WHEN c.attnum = key.attnum THEN 'ff_rehearsal.key({n}::bigint)'
                         -- not the same for all rows: the column may be indexed
                         WHEN other.pad THEN 'rpad({n}::text, ff_rehearsal.length({n}::bigint, 0), ''x'')'
                         WHEN c.nulls > 0.005
                         THEN format('CASE WHEN {n}::bigint %% 100 >= %s THEN %s END', round(100 * c.nulls), v.value)
                         ELSE v.value END AS new
          FROM c
         CROSS JOIN LATERAL (SELECT replace(c.value, '{w}', c.width::text)) v(value)
          LEFT JOIN other ON other.attnum = c.attnum
          LEFT JOIN key ON true
    )
    SELECT jsonb_strip_nulls(jsonb_build_object('columns', string_agg(m.name || ' ' || m.type, ', ' ORDER BY m.attnum),
               'renames', string_agg(format('ALTER TABLE ff_rehearsal.t RENAME %s TO %s;', m.name, m.short), E'\n'
                                     ORDER BY m.attnum),
               'values', string_agg(m.new, ', ' ORDER BY m.attnum),
               'copied', string_agg(m.copied, ', ' ORDER BY m.attnum),
               'replaced', array_agg(m.name ORDER BY m.attnum) FILTER (WHERE m.replaced))
           || coalesce((SELECT jsonb_build_object('key', key.short, 'key_name', key.name, 'key_type', key.type,
                   'key_value', replace(replace(key.value, '{w}', greatest(10, key.width)::text), '{n}', 'n'),
                   'key_number', replace(key.number, '{c}', 'k'),
                   -- where nothing else can be set: a new version with the same values is HOT as well
                   'touch', same.sets, 'touch_indexed', same.sets)
                          FROM key, format('%1$s = t.%1$s', key.short) same(sets)), '{}')
           || coalesce((SELECT jsonb_object_agg(CASE WHEN o.indexed THEN 'touch_indexed' ELSE 'touch' END, o.sets)
                          FROM (SELECT DISTINCT ON (o.indexed) o.* FROM other o WHERE o.touch IS NOT NULL
                                 ORDER BY o.indexed, o.pads, o.nulls, o.attnum) o), '{}')
           || coalesce((SELECT jsonb_build_object('pad', o.short, 'resize', format(
                   '%1$s = rpad(t.%1$s, ff_rehearsal.next(ff_rehearsal.number(t.%2$s), octet_length(t.%1$s)), ''x'')',
                   o.short, key.short))
                          FROM other o, key WHERE o.pad), '{}')
           || (SELECT jsonb_build_object(
                   'indexes', coalesce(jsonb_agg(format('CREATE %sINDEX ON ff_rehearsal.t %s',
                       CASE WHEN i.indisunique AND i.first IN (SELECT key.attnum FROM key) THEN 'UNIQUE ' ELSE '' END,
                       i.method) ORDER BY i.indexrelid) FILTER (WHERE i.method IS NOT NULL), '[]'),
                   'left_out', array_agg(i.relname ORDER BY i.indexrelid) FILTER (WHERE i.method IS NULL)) FROM i))
      FROM made m
$$;
