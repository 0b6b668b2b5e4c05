-- What a source says becomes rows of the core's table observed. Each value is read with a type of its own here, and
-- what is stored is made of these values: nothing unknown gets in, and the core's readers cannot fail because of it.

-- The row server of the table observed, with those settings that can be values of settings of that name. Error 22023 or
-- 0A000 unless this is an observation of a known format.
CREATE FUNCTION ff_hub.server_said(said jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    known CONSTANT integer := 1;
    s     record;
BEGIN
    IF jsonb_typeof(said->'format') = 'number' AND (said->>'format')::numeric > known THEN
        PERFORM ff_internal.refuse('0A000',
            format('the observation has format %s, and this hub reads formats up to %s', said->>'format', known), NULL,
            'Upgrade the extension on the hub, or use its observe.sql.');
    ELSIF (said->'format' = to_jsonb(known)
           AND ARRAY['object', 'object', 'object', 'array', 'array', 'object', 'array']
               = ARRAY(SELECT jsonb_typeof(said->k)
                         FROM unnest('{server,shapes,counters,tables,indexes,statements,holders}'::text[])
                              WITH ORDINALITY u(k, place) ORDER BY place)) IS NOT TRUE THEN
        PERFORM ff_internal.refuse('22023', 'this is not an observation of a server', NULL,
                                   'psql -XAtf observe.sql DATABASE > FILE writes one.');
    END IF;
    SELECT * INTO s
      FROM jsonb_to_record(said->'server') x(database text, database_oid oid, system_identifier bigint, timeline bigint,
           server_version integer, in_recovery boolean, read_at timestamptz, started_at timestamptz,
           hot_indexed boolean, database_reset timestamptz, cluster_reset timestamptz, track_counts boolean,
           open_writers integer, next_xid xid8, busy_ms float8, blocks_read bigint, read_ms float8, extensions name[]);
    IF (length(s.database) BETWEEN 1 AND 63 AND s.database_oid > 0 AND s.server_version BETWEEN 130000 AND 999999
        AND s.track_counts IS NOT NULL AND s.in_recovery IS NOT NULL AND s.open_writers >= 0
        AND s.read_at > '2020-01-01' AND s.read_at < clock_timestamp() + interval '1 day' AND isfinite(s.started_at)
        AND coalesce(s.blocks_read, 0) >= 0 AND coalesce(s.read_ms, 0) >= 0 AND coalesce(s.busy_ms, 0) >= 0
        AND coalesce(s.timeline, 1) BETWEEN 1 AND 4294967295) IS NOT TRUE THEN
        PERFORM ff_internal.refuse('22023', 'what the source says about its server cannot be true');
    END IF;
    s.database := ff_internal.plain(s.database);
    RETURN to_jsonb(s) || coalesce((
        SELECT jsonb_build_object('wal', w)
          FROM jsonb_to_record(nullif(said#>'{server,wal}', 'null')) w(bytes numeric, fpi bigint, reset timestamptz)
         WHERE w.bytes BETWEEN 0 AND 1e30 AND w.fpi >= 0), '{}') || jsonb_build_object('settings', (
        SELECT coalesce(jsonb_object_agg(k.key, jsonb_build_object('value', v.value, 'unit', v.unit)), '{}')
          FROM jsonb_each(said#>'{server,settings}') k
         CROSS JOIN LATERAL jsonb_to_record(k.value) v(value text, unit text)
          LEFT JOIN pg_settings p ON p.name = k.key
         WHERE k.key ~ '^[a-z_.]{1,63}$' AND coalesce(v.unit ~ '^[0-9]{0,5}(B|kB|MB|GB|TB|us|ms|s|min|h|d)$', true)
           AND v.value ~ CASE p.vartype WHEN 'bool' THEN '^(on|off)$'
                                        WHEN 'integer' THEN '^-?[0-9]{1,10}$'
                                        WHEN 'real' THEN '^-?[0-9]{1,15}([.][0-9]{1,20})?(e-?[0-9]{1,2})?$'
                                        WHEN 'enum' THEN '^[a-z0-9_-]{1,63}$'
                                        ELSE '^[-[:alnum:]_. ()+~]{0,63}$' END), 'denied', (
        SELECT coalesce(jsonb_agg(jsonb_build_object('what', left(ff_internal.plain(d.what), 200),
                                                     'grant', left(ff_internal.plain(d."grant"), 1000))), '[]')
          FROM jsonb_to_recordset(said#>'{server,denied}') d(what text, "grant" text)));
END
$$;

-- What is known of an index without reading its pages: its size, and how full its leaf pages are at most if its entries
-- are of this width (NULL: unknown), as shared keys need less. method: the source's. Columns as in index_facts().
CREATE FUNCTION ff_hub.index_pages(bytes bigint, entries float8, width float8, valid boolean, method text)
RETURNS jsonb
LANGUAGE sql STABLE
RETURN (SELECT jsonb_strip_nulls(CASE WHEN h.hindrance IS NULL
                    THEN jsonb_build_object('unread', 'a mirror reads no pages', 'blocks', n.blocks, 'blocks_read', 0,
                             'leaf_pages', n.blocks - 1, 'internal_pages', 0, 'row_pointers', entries,
                             -- a header of 8 bytes, a line pointer of 4; a page has 40 bytes besides
                             'leaf_density', least(100, 100 * entries * (8 * ceil((8 + width) / 8) + 4)
                                                        / nullif((n.blocks - 1) * (n.block - 40), 0)))
                    ELSE jsonb_build_object('hindrance', h.hindrance, 'blocks_read', 0) END)
          FROM (SELECT bytes / b.block, b.block FROM (SELECT current_setting('block_size')::integer) b(block))
               n(blocks, block),
               (SELECT CASE WHEN method <> 'btree' THEN format('access method %I: only B-trees are judged', method)
                            WHEN NOT valid THEN 'the index is not valid: a CREATE INDEX or REINDEX CONCURRENTLY failed '
                                                'or is still running' END) h(hindrance));

-- Stores what was said about indexes and tables, statements, and what holds back pruning; what is not here is left out.
-- A size that could not be read is the last one.
CREATE FUNCTION ff_hub.store_said(said jsonb) RETURNS void
LANGUAGE sql VOLATILE
AS $$
    INSERT INTO ff_internal.observed AS o (kind, id, said)
    SELECT 'index', m.relid, jsonb_build_object(
               'oid', concat_ws(' ', m.table_oid, substring(n.key FROM '^[0-9 ]{0,200}$')),
               'scans', greatest(n.scans, 0), 'relfilenode', n.relfilenode, 'bytes', b.bytes,
               'needed', left(ff_internal.plain(n.needed), 300), 'options', ff_hub.options_of(m.shape),
               'definition', ff_internal.plain(left(m.shape->>'definition', 20000)),
               'pages', ff_hub.index_pages(b.bytes, nullif(greatest(n.entries, 0), 0), n.width, n.valid,
                                           left(m.shape->>'access_method', 63)))
      FROM jsonb_to_recordset(said->'indexes') n(oid oid, scans bigint, key text, relfilenode oid, bytes bigint,
                                                 entries float8, width float8, valid boolean, needed text)
      JOIN ff_hub.mirrored m ON m.source_oid = n.oid AND m.table_oid IS NOT NULL
      LEFT JOIN ff_internal.observed l ON l.kind = 'index' AND l.id = m.relid
     CROSS JOIN LATERAL (SELECT CASE WHEN n.bytes >= 0 THEN n.bytes ELSE (l.said->>'bytes')::bigint END) b(bytes)
    ON CONFLICT (kind, id) DO UPDATE SET said = EXCLUDED.said;
    INSERT INTO ff_internal.observed AS o (kind, id, said)
    SELECT 'table', m.relid,
           to_jsonb(n) || jsonb_build_object('options', ff_hub.options_of(m.shape), 'triggers', (
               SELECT jsonb_agg(to_jsonb(g)) FROM jsonb_to_recordset(n.triggers)
                      g(name name, fired_by text[], changes text[])), 'index_bytes', (
               SELECT coalesce(sum((x.said->>'bytes')::bigint), 0) FROM ff_hub.mirrored i
                 JOIN ff_internal.observed x ON x.kind = 'index' AND x.id = i.relid
                WHERE i.table_oid = m.source_oid))
      FROM jsonb_to_recordset(said->'tables') n(oid oid, relfilenode oid, reltuples real, relpages integer,
               live bigint, dead bigint, counted ff_internal.counters, analyzes bigint, analyzed_at timestamptz,
               maintained_at timestamptz, heap_bytes bigint, toast_bytes bigint, toast_inserted bigint,
               toast_live bigint, width float8, owner name, still text[], triggers jsonb)
      JOIN ff_hub.mirrored m ON m.source_oid = n.oid AND m.table_oid IS NULL
     -- a counter below zero is none
     WHERE (SELECT bool_and(k.value::text::bigint >= 0)
              FROM jsonb_each(jsonb_strip_nulls(to_jsonb(n.counted))) k) IS NOT FALSE
    ON CONFLICT (kind, id) DO UPDATE
       SET said = jsonb_strip_nulls(jsonb_build_object('heap_bytes', o.said->'heap_bytes',
                                                       'toast_bytes', o.said->'toast_bytes'))
                  || jsonb_strip_nulls(EXCLUDED.said);
    DELETE FROM ff_internal.observed o
     WHERE o.kind IN ('table', 'index') AND o.id NOT IN (SELECT m.relid FROM ff_hub.mirrored m);
    INSERT INTO ff_internal.observed (kind, id, said)
    SELECT 'statements', 0, to_jsonb(s) || jsonb_build_object(
               'reason', left(ff_internal.plain(s.reason), 600),
               'entries', (SELECT coalesce(jsonb_agg(to_jsonb(e)), '[]')
                             FROM jsonb_populate_recordset(NULL::ff_internal.statement_entry,
                                                           coalesce(said->'statements'->'entries', '[]')) e
                            WHERE e.toplevel IS NOT NULL AND (e.counted).calls >= 0),
               'texts', (SELECT coalesce(jsonb_agg(to_jsonb(t)), '[]')
                           FROM jsonb_to_recordset(coalesce(said->'statements'->'texts', '[]'))
                                t(queryid bigint, toplevel boolean, query text)))
      FROM jsonb_to_record(said->'statements') s(stats_reset timestamptz, evictions bigint, reason text)
    UNION ALL
    SELECT 'holders', 0, (
           SELECT coalesce(jsonb_agg(to_jsonb(h)), '[]')
             FROM (SELECT h.kind, left(ff_internal.plain(h.holder), 200) AS holder, left(h.role_name, 63) AS role_name,
                          left(ff_internal.plain(h.application), 200) AS application, h.since, h.xids,
                          left(ff_internal.plain(h.doing), 200) AS doing
                     FROM jsonb_to_recordset(said->'holders') h(kind text, holder text, role_name text,
                              application text, since timestamptz, xids bigint, doing text)
                    WHERE h.kind IN ('standby feedback', 'idle in transaction', 'transaction', 'prepared transaction',
                                     'replication slot') AND h.holder IS NOT NULL) h)
    ON CONFLICT (kind, id) DO UPDATE SET said = EXCLUDED.said
$$;

-- Digests as they are sent again.
CREATE FUNCTION ff_hub.digests_said(known jsonb, said jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE
RETURN (SELECT coalesce(jsonb_object_agg(d.key, d.value), '{}')
          FROM jsonb_each(jsonb_strip_nulls(known || said)) d
         WHERE d.key ~ '^[0-9]{1,4}$' AND length(d.value #>> '{}') <= 100);

-- Stores an observation: makes this database like the source and replaces what the source said. address: where it was
-- read, host:port; NULL: from a file. unsized: why it was read without sizes; NULL: with them. A source that may not
-- tell its system identifier keeps the one that it told before, or gets one made of these.
CREATE FUNCTION ff_hub.take(said jsonb, address text, unsized text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql VOLATILE
SET extra_float_digits = 1
AS $$
DECLARE
    m       ff_hub.mirror;
    here    jsonb;
    made_up text;
    former  text;
BEGIN
    here := ff_hub.server_said(said);
    SELECT * INTO STRICT m FROM ff_hub.mirror;
    made_up := hashtextextended(address, (here->>'database_oid')::bigint);
    here := here || jsonb_build_object('server', m.server,
        'host', nullif(regexp_replace(address, ':[0-9,]*$', ''), ''), 'port', substring(address FROM ':([0-9,]+)$'),
        'read_at', CASE WHEN m.server IS NULL THEN here->'read_at' ELSE to_jsonb(clock_timestamp()) END);
    here := here || jsonb_build_object('system_identifier', coalesce(here->>'system_identifier',
        (SELECT o.said->>'system_identifier' FROM ff_internal.observed o
          WHERE o.kind = 'server' AND (o.said->'host', o.said->'port', o.said->'database_oid')
                                      = (here->'host', here->'port', here->'database_oid')), made_up));
    IF m.identity NOT IN (concat_ws(' ', here->>'system_identifier', here->>'database_oid'),
                          concat_ws(' ', made_up, here->>'database_oid')) THEN
        SELECT o.said->>'database' INTO former FROM ff_internal.observed o WHERE o.kind = 'server';
        IF m.server IS NULL AND here->>'database' <> former THEN
            PERFORM ff_internal.refuse('55000', format('this is an observation of database %I', here->>'database'),
                        format('This is a mirror of %I.', former), 'Each source has a mirror of its own.');
        END IF;
        RAISE WARNING 'the source is another database now'
            USING HINT = 'Tables of the same names keep their history; others are kept for a day.';
        -- tables have other OIDs there
        DELETE FROM ff_hub.mirrored WHERE table_oid IS NOT NULL;
        UPDATE ff_hub.mirrored SET source_oid = NULL;
        UPDATE ff_hub.mirror SET changed_at = clock_timestamp();
    END IF;
    IF ff_hub.find_former(said) THEN
        -- what was said of them last is of the former source: no difference crosses this
        here := here || jsonb_build_object('database_reset', here->'read_at');
    END IF;
    UPDATE ff_hub.mirror SET failed = '{}', unread = '[]';
    PERFORM ff_hub.note_fault(NULL, 'sizes of tables and indexes, so the last ones count', unsized);
    IF unsized IS NOT NULL THEN
        RAISE WARNING 'the source could not read sizes of tables and indexes' USING DETAIL = unsized;
    END IF;
    PERFORM ff_hub.follow(said);
    UPDATE ff_hub.mirror o
       SET identity = concat_ws(' ', here->>'system_identifier', here->>'database_oid'),
           -- also of a bucket that failed and has no table there any more
           shapes = ff_hub.digests_said(o.shapes, said->'shapes') || o.failed,
           -- without sizes, these are sent again
           counters = CASE WHEN unsized IS NULL THEN ff_hub.digests_said(o.counters, said->'counters')
                           ELSE o.counters END || o.failed,
           clock = (said->'server'->>'read_at')::timestamptz,
           unread = o.unread || CASE WHEN (said->>'left')::bigint > 0 THEN to_jsonb(
               ff_internal.counted((said->>'left')::bigint, 'more table') || ', which the next collections make')
               ELSE '[]' END
    RETURNING * INTO m;
    IF m.failed <> '{}' THEN
        RAISE WARNING 'some tables or indexes of the source could not be made here'
            USING DETAIL = m.unread->>(unsized IS NOT NULL)::integer, HINT = 'SELECT ff_mirror(...) names them.';
    END IF;
    PERFORM ff_hub.store_said(said);
    INSERT INTO ff_internal.observed (kind, id, said)
    VALUES ('server', 0, here || jsonb_build_object('unread', m.unread))
    ON CONFLICT (kind, id) DO UPDATE SET said = EXCLUDED.said;
END
$$;
