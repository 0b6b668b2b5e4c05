-- Stage rehearsal table: SQL that makes a table like the user's on a scratch server, without any of its values.

-- Returns how a rehearsal makes a column of a type. made: its type there, the same, one as wide, or bytea. The others
-- are expressions, NULL if there is none. value: for row {n}, with {w} bytes of payload; number: the row of value {c},
-- if rows can be found by it; touch: any value but {c}; resize: {c} as long as the row with key {k} needs it next.
CREATE FUNCTION ff_internal.rehearsal_type(type oid, OUT made oid, OUT value text, OUT number text, OUT touch text,
                                           OUT resize text)
LANGUAGE sql STABLE
AS $$
    SELECT m.oid, replace(v.value, '{t}', m.typname), replace(v.number, '{t}', m.typname),
           replace(v.touch, '{x}', coalesce(v.content, '')),
           replace(v.resize, '{x}', format('rpad(%1$s, ff_rehearsal.next(ff_rehearsal.number({k}), length(%1$s)), '
                                           '''x'')', v.content))
      FROM pg_type t
      JOIN (VALUES
        ('{int2}'::text[], '{n} / 100 % 32000', NULL, '{c} # 1::smallint', NULL, NULL),
        ('{int4,int8}', '{n}', '{c}', '{c} # 1', NULL, NULL),
        ('{numeric}', '{n}', '{c}', 'CASE WHEN {c} IN (0, ''NaN'') THEN 1 ELSE - {c} END', NULL, NULL),
        ('{float4,float8}', '{n} / 100', NULL, 'CASE WHEN {c} IN (0, ''NaN'') THEN 1 ELSE - {c} END', NULL, NULL),
        ('{bool}', '{n} % 2 = 0', NULL, 'NOT {c}', NULL, NULL),
        ('{date}', 'date ''2000-01-01'' + ({n} / 100 % 10000)::integer', NULL,
            'CASE WHEN isfinite({c}) THEN {c} + 1 ELSE date ''2000-01-01'' END', NULL, NULL),
        ('{timestamp,timestamptz}', '''2000-01-01 00:00+00''::{t} + interval ''1 s'' * {n}',
            'extract(epoch FROM {c} - ''2000-01-01 00:00+00''::{t})',
            'CASE WHEN isfinite({c}) THEN {c} + interval ''1 s'' ELSE ''2000-01-01 00:00+00'' END', NULL, NULL),
        ('{uuid}', 'lpad(to_hex({n}), 32, ''0'')', '(''x'' || right({c}::text, 12))::bit(48)',
            '(translate(left({c}::text, 1), ''0123456789abcdef'', ''123456789abcdef0'') || substr({c}::text, 2))::uuid',
            NULL, NULL),
        ('{text,varchar,bpchar}', 'lpad({n}::text, {w}, ''0'')', '{c}',
            'CASE left({c}, 1) WHEN ''0'' THEN ''x'' ELSE ''0'' END || substr({c}, 2)', '{c}', '{x}'),
        ('{bytea}', 'lpad({n}::text, {w}, ''0'')', 'encode({c}, ''escape'')',
            'CASE length({c}) WHEN 0 THEN ''0'' ELSE set_byte({c}, 0, 255 - get_byte({c}, 0)) END',
            'encode({c}, ''hex'')', 'decode({x}, ''hex'')'),
        ('{jsonb}', 'to_jsonb(lpad({n}::text, {w}, ''0''))', NULL,
            'to_jsonb(CASE left({x}, 1) WHEN ''0'' THEN ''x'' ELSE ''0'' END || substr({x}, 2))',
            '({c} #>> ''{}'')', 'to_jsonb({x})'),
        ('{_text,_varchar}', 'ARRAY[lpad({n}::text, {w} - 24, ''0'')]', NULL,
            'CASE array_ndims({c}) WHEN 1 THEN array_prepend(CASE left(({c})[1], 1) WHEN ''0'' THEN ''x'''
            ' ELSE ''0'' END || coalesce(substr(({c})[1], 2), ''''), ({c})[2:]) ELSE ''{0}'' END', NULL, NULL),
        ('{_int4,_int8}', 'array_fill({n}, ARRAY[greatest(1, ({w} - 20) / 4)])', NULL,
            'CASE array_ndims({c}) WHEN 1 THEN array_prepend(({c})[1] # 1, ({c})[2:]) ELSE ''{0}'' END', NULL, NULL))
           v(names, value, number, touch, content, resize)
      JOIN pg_type m ON m.typname = ANY (v.names) AND m.typnamespace = 'pg_catalog'::regnamespace
        ON m.oid = t.oid OR m.typname = CASE t.typlen WHEN 1 THEN 'bool' WHEN 2 THEN 'int2' WHEN 4 THEN 'int4'
                                                      WHEN 8 THEN 'int8' WHEN 16 THEN 'uuid' ELSE 'bytea' END
     WHERE t.oid = type ORDER BY m.oid = t.oid DESC LIMIT 1
$$;

-- Returns the indexes of a table as a rehearsal makes them. definition, plain, hash: the index itself, a plain B-tree
-- on its columns, hash indexes on these; the scratch server makes the first that it can. columns: those that it refers
-- to, also in expressions and its predicate; finds: rows can be found by its first column; strange: it may need
-- functions or operator classes that a scratch server does not have.
CREATE FUNCTION ff_internal.rehearsal_indexes(relation oid)
RETURNS TABLE (indexrelid oid, relname name, first smallint, rank integer, finds boolean, columns smallint[],
               plain text, hash text, definition text, strange boolean)
LANGUAGE sql STABLE ROWS 10
AS $$
    SELECT x.indexrelid, o.relname, x.indkey[0], CASE WHEN x.indisprimary THEN 0 WHEN x.indisunique THEN 1 ELSE 2 END,
           m.amname = 'btree' AND x.indpred IS NULL AND x.indkey[0] > 0, k.columns, k.plain, k.hash, d.method,
           d.method IS NULL OR EXISTS (SELECT FROM pg_opclass p WHERE p.oid = ANY (x.indclass)
                                          AND p.opcnamespace <> 'pg_catalog'::regnamespace)
      FROM pg_index x
      JOIN pg_class o ON o.oid = x.indexrelid
      JOIN pg_am m ON m.oid = o.relam
     -- does not wait for a lock
     CROSS JOIN LATERAL (SELECT CASE WHEN x.indexprs IS NULL AND x.indpred IS NULL
           THEN substring((ff_internal.index_definitions(relation, ARRAY[x.indexrelid]))[1] FROM ' (USING .*)') END) d(method)
     CROSS JOIN LATERAL (
           SELECT array_agg(c.attnum),
                  -- an index has at most 32 columns
                  format('CREATE INDEX ON ff_rehearsal.t USING btree (%s)',
                         string_agg(c.name, ', ' ORDER BY c.place) FILTER (WHERE c.place <= 32)),
                  string_agg(format('CREATE INDEX ON ff_rehearsal.t USING hash (%s)', c.name), '; ' ORDER BY c.place)
             FROM (SELECT c.attnum, ff_internal.quoted_name(c.column_name),
                          row_number() OVER (ORDER BY array_position(x.indkey::smallint[], c.attnum), c.attnum)
                     FROM ff_internal.index_columns(x.indexrelid) c) c(attnum, name, place)) k(columns, plain, hash)
     WHERE x.indrelid = relation AND x.indisvalid
$$;

-- Returns the columns of a table as a rehearsal makes them, with the statistics that the caller may see. Types have no
-- limit of length or precision: a limit takes no space, and made-up values must fit. Virtual columns are left out, and
-- stored generated ones become plain: only the class decides what an update changes. name: quoted; short: its name in
-- the rehearsal; copied: its value from row c of a copy of the table; varies: its length can be chosen; replaced: it
-- gets another type (not told for enums); indexed: an update that changes it is not HOT; named: an index refers to it;
-- finds: rank and OID of an index that can find rows by it.
CREATE FUNCTION ff_internal.rehearsal_columns(relation oid)
RETURNS TABLE (attnum smallint, name text, short text, type text, value text, number text, touch text, resize text,
               copied text, nulls real, replaced boolean, indexed boolean, varies boolean, width integer, named boolean,
               finds bigint[])
LANGUAGE sql STABLE ROWS 20
AS $$
    WITH RECURSIVE base AS (
        SELECT a.attnum, a.attname, a.atttypid AS type, a.attnotnull
          FROM pg_attribute a
         WHERE a.attrelid = relation AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated <> 'v'
        UNION ALL
        SELECT b.attnum, b.attname, t.typbasetype, b.attnotnull
          FROM base b JOIN pg_type t ON t.oid = b.type AND t.typtype = 'd'
    ), known AS MATERIALIZED (
        SELECT t.type, m.* FROM (SELECT DISTINCT b.type FROM base b) t CROSS JOIN ff_internal.rehearsal_type(t.type) m
    ), stats AS MATERIALIZED (
        SELECT s.attname, s.null_frac,
               -- a short value has a header of one byte
               greatest(1, s.avg_width - CASE WHEN s.avg_width > 127 THEN 4 ELSE 1 END) AS payload
          FROM pg_class c
          JOIN pg_namespace n ON n.oid = c.relnamespace
          JOIN pg_stats s ON s.schemaname = n.nspname AND s.tablename = c.relname AND NOT s.inherited
         WHERE c.oid = relation
    ), index AS MATERIALIZED (
        SELECT * FROM ff_internal.rehearsal_indexes(relation)
    ), own AS MATERIALIZED (
        -- short names differ from all names of the table's columns
        SELECT ff_internal.indexed_columns(relation) AS indexed,
               'ff' || repeat('_', max(coalesce(1 + length(substring(b.attname FROM '^ff(_*)[0-9]+$')), 0))) AS prefix
          FROM base b
    )
    SELECT b.attnum, q.name, own.prefix || b.attnum, d.type,
           format('(%s)::%s', replace(m.value, '{n}', '{n}::bigint'), d.type), '(' || m.number || ')::bigint',
           m.touch, m.resize,
           CASE WHEN m.made = 'bpchar'::regtype
                THEN format('c.%1$s::text || repeat(''x'', octet_length(c.%1$s) - octet_length(c.%1$s::text))', q.name)
                WHEN m.made = b.type THEN format('c.%s', q.name)
                ELSE format(CASE d.type WHEN 'bytea' THEN 'convert_to(c.%s::text, ''UTF8'')'
                                        WHEN 'uuid' THEN 'md5(c.%s::text)::uuid'
                                        WHEN 'boolean' THEN 'hashtext(c.%s::text) %% 2 = 0'
                                        WHEN 'smallint' THEN 'hashtext(c.%s::text) %% 32000'
                                        WHEN 'integer' THEN 'hashtext(c.%s::text)'
                                        ELSE 'hashtextextended(c.%s::text, 0)' END, q.name) END,
           CASE WHEN b.attnotnull THEN 0 ELSE coalesce(s.null_frac, 0) END, m.made <> b.type AND t.typtype <> 'e',
           b.attname = ANY (own.indexed), m.resize IS NOT NULL, coalesce(s.payload, 15),
           b.attnum IN (SELECT unnest(i.columns) FROM index i),
           (SELECT min(ARRAY[i.rank, i.indexrelid::bigint]) FROM index i WHERE i.finds AND i.first = b.attnum)
      FROM base b
      JOIN pg_type t ON t.oid = b.type AND t.typtype <> 'd'
     CROSS JOIN own
      LEFT JOIN stats s USING (attname)
      JOIN known m ON m.type = b.type
     CROSS JOIN LATERAL (SELECT format_type(m.made, -1)) d(type)
     CROSS JOIN LATERAL (SELECT ff_internal.quoted_name(b.attname)) q(name)
$$;

-- Returns the same columns and how each is filled. is_key: rows are found by it, and number is the row of value {c};
-- pad: it gives a row its length; share: its part of the payload; becomes: its type; at_first: its name until the
-- indexes are made; new: its value in a new row {n}; touched: its value after an update of row t. If rows grow (grows),
-- columns with NULLs are inserted as NULL, and if no column without an index can grow, one is added.
CREATE FUNCTION ff_internal.rehearsal_made(relation oid, grows boolean)
RETURNS TABLE (attnum smallint, name text, short text, type text, value text, number text, touch text, resize text,
               copied text, nulls real, replaced boolean, indexed boolean, varies boolean, width integer,
               is_key boolean, pad boolean, share float8, becomes text, at_first text, new text, touched text)
LANGUAGE sql STABLE ROWS 20
AS $$
    WITH own AS MATERIALIZED (
        SELECT o.*, o.finds IS NOT NULL AND count(*) OVER () > 1
                    AND row_number() OVER (ORDER BY o.finds IS NULL, o.number IS NULL, o.finds) = 1 AS is_key
          FROM ff_internal.rehearsal_columns(relation) o
    ), c AS MATERIALIZED (
        SELECT * FROM own
         UNION ALL
        SELECT n.attnum, n.short, n.short, 'text', k.value, NULL, k.touch, k.resize, '''''', 0, false, false, true, 1,
               false, NULL, false
          FROM (SELECT (max(o.attnum) + 1)::smallint, max(rtrim(o.short, '0123456789')) || max(o.attnum) + 1
                  FROM own o HAVING grows AND NOT bool_or(o.varies AND NOT o.indexed)) n(attnum, short)
         CROSS JOIN ff_internal.rehearsal_type('text'::regtype) k
    ), varying AS (
        SELECT c.attnum, c.width, w.mean, row_number() OVER (ORDER BY c.indexed, w.mean DESC, c.attnum) = 1 AS pad,
               row_number() OVER (ORDER BY w.mean DESC, c.attnum) AS place
          FROM c CROSS JOIN LATERAL (SELECT c.width * (1 - c.nulls)) w(mean)
         WHERE c.varies AND NOT c.is_key
    ), part AS MATERIALIZED (
        -- the eight widest columns and the pad, which gets no share of NULLs, share the payload
        SELECT v.attnum, v.pad, v.width / sum(CASE WHEN v.pad THEN v.width ELSE v.mean END) OVER () AS share
          FROM varying v WHERE v.pad OR v.place <= 8
    )
    SELECT c.attnum, c.name, c.short, c.type, v.value, CASE WHEN c.is_key THEN coalesce(c.number, '{c}') END, c.touch,
           c.resize, c.copied, c.nulls, c.replaced, c.indexed, c.varies, c.width, c.is_key, p.pad, p.share,
           -- a key whose values do not give the row number becomes an integer
           CASE WHEN c.is_key AND c.number IS NULL THEN 'integer' ELSE c.type END,
           CASE WHEN c.named THEN c.name ELSE c.short END,
           CASE WHEN c.is_key THEN 'ff_rehearsal.key({n}::bigint)'
                WHEN c.nulls > 0.005 AND p.pad IS NOT TRUE
                THEN format('CASE WHEN {n}::bigint %% 100 >= %s THEN %s END',
                            CASE WHEN grows THEN 100 ELSE round(100 * c.nulls) END, v.value)
                ELSE v.value END,
           format('coalesce(%s, %s)', replace(c.touch, '{c}', 't.' || c.short),
                  replace(replace(c.value, '{n}', '1'), '{w}', c.width::text))
      FROM c
      LEFT JOIN part p USING (attnum)
     CROSS JOIN LATERAL (SELECT CASE WHEN c.is_key AND c.number IS NULL THEN '{n}::integer'
           ELSE replace(c.value, '{w}', CASE
           WHEN c.is_key THEN greatest(10, c.width)::text
           -- NULL takes less space than an empty value
           WHEN p.pad AND c.nulls > 0.005 THEN 'nullif(ff_rehearsal.length({n}::bigint, 0), 0)'
           WHEN p.pad THEN 'ff_rehearsal.length({n}::bigint, 0)'
           WHEN p.share > 0
           THEN format('(ff_rehearsal.payload({n}::bigint, 0) * %s)::integer', round(p.share::numeric, 4))
           ELSE c.width::text END) END) v(value)
$$;

-- Returns the table of a rehearsal as JSON. columns: their definitions; renames: statements that give short names to
-- those whose names the indexes need; values: of a new row {n}; copied: of row c of a copy, with number r.n. key: the
-- column by which rows are found, NULL if none; key_name, key_type: its name in the table, its type; key_value,
-- key_number: from the row number n to the key k, and back; in_order: the rows of a copy are numbered in key order.
-- rest: share of the payload that is not the pad's; touch, touch_indexed: what updates set that change no index, or
-- one; resize, resize_touch: what they set in the pad. indexes: for each its name and statements, of which the first
-- that works counts; plain: names of those that may become plain; replaced: columns with another type. spare: what
-- differs if updates have to change an index and only the key has one.
CREATE FUNCTION ff_internal.rehearsal_table(relation oid, grows boolean DEFAULT false) RETURNS jsonb
LANGUAGE sql STABLE
AS $$
    WITH i AS MATERIALIZED (
        SELECT * FROM ff_internal.rehearsal_indexes(relation)
    ), made AS MATERIALIZED (
        SELECT * FROM ff_internal.rehearsal_made(relation, grows)
    ), key AS (
        -- if nothing else can be set: an update that changes nothing is HOT, too
        SELECT m.*, format('%1$s = t.%1$s', m.short) AS same FROM made m WHERE m.is_key
    ), other AS MATERIALIZED (
        SELECT m.*, m.short || ' = ' || m.touched AS sets,
               row_number() OVER (PARTITION BY m.indexed ORDER BY m.replaced, m.varies, m.nulls, m.attnum) AS place
          FROM made m WHERE NOT m.is_key
    ), pad AS (
        SELECT m.short, replace(m.resize, '{k}', 't.' || key.short) AS resize, m.touched, 1 - m.share AS rest,
               format(CASE m.type WHEN 'jsonb' THEN 'coalesce(t.%s, to_jsonb(''''::text))'
                                  ELSE 'coalesce(t.%s, '''')' END, m.short) AS now
          FROM made m CROSS JOIN key WHERE m.pad
    )
    SELECT jsonb_strip_nulls(jsonb_build_object(
               'columns', string_agg(m.at_first || ' ' || m.becomes, ', ' ORDER BY m.attnum),
               'renames', string_agg(format('ALTER TABLE ff_rehearsal.t RENAME %s TO %s;', m.name, m.short), E'\n'
                                     ORDER BY m.attnum) FILTER (WHERE m.at_first <> m.short),
               'values', string_agg(m.new, ', ' ORDER BY m.attnum),
               'copied', string_agg(CASE WHEN m.is_key THEN 'ff_rehearsal.key(r.n)' ELSE m.copied END, ', '
                                    ORDER BY m.attnum),
               'replaced', array_agg(m.name || ' is ' || m.becomes ORDER BY m.attnum)
                           FILTER (WHERE m.replaced OR m.becomes <> m.type))
           || coalesce((SELECT jsonb_build_object('key', key.short, 'key_name', key.name, 'key_type', key.becomes,
                   'key_value', replace(key.value, '{n}', 'n'), 'key_number', replace(key.number, '{c}', 'k'),
                   'in_order', key.type !~ '^(text|character|bpchar|bytea|uuid)', 'touch', key.same,
                   'spare', (SELECT jsonb_build_object('touch_indexed', o.sets, 'column', o.name, 'index',
                                    jsonb_build_array(o.name,
                                        format('CREATE INDEX ON ff_rehearsal.t USING btree (%s)', o.at_first),
                                        format('CREATE INDEX ON ff_rehearsal.t USING hash (%s)', o.at_first)))
                                    || CASE WHEN o.place = 1 THEN jsonb_build_object('touch', key.same) ELSE '{}' END
                               FROM other o WHERE NOT EXISTS (SELECT FROM other b WHERE b.indexed)
                              ORDER BY o.pad IS TRUE, o.place = 1, o.place LIMIT 1)) FROM key), '{}')
           || coalesce((SELECT jsonb_object_agg(CASE WHEN o.indexed THEN 'touch_indexed' ELSE 'touch' END, o.sets)
                          FROM other o WHERE o.place = 1), '{}')
           || coalesce((SELECT jsonb_build_object('pad', pad.short, 'rest', round(pad.rest::numeric, 4),
                   'resize', pad.short || ' = ' || replace(pad.resize, '{c}', pad.now),
                   'resize_touch', pad.short || ' = ' || replace(pad.resize, '{c}', pad.touched)) FROM pad), '{}')
           || (SELECT jsonb_build_object('indexes', coalesce(jsonb_agg(array_remove(ARRAY[
                   ff_internal.quoted_name(i.relname),
                   format('CREATE %sINDEX ON ff_rehearsal.t ', CASE WHEN i.rank < 2 AND i.first = key.attnum
                                                                    THEN 'UNIQUE ' ELSE '' END) || i.definition,
                   i.plain, i.hash], NULL) ORDER BY i.indexrelid), '[]'),
                   'plain', array_agg(i.relname ORDER BY i.indexrelid) FILTER (WHERE i.strange))
                 FROM i LEFT JOIN key ON true))
      FROM made m
$$;
