-- Stage rehearsal: the life that the model found, as a script for a scratch server, and what came of it there.
--
-- Nothing of the script is executed here. In it, names of the user stand in comments, and as quoted names and literals
-- in
-- documents of SQL, each on one line; the shell and pgbench see names of this file alone: ff_rehearsal.t, and for its
-- columns c1, c2 and so on.

-- ---------------------------------------------------------------------------
-- The table
-- ---------------------------------------------------------------------------
-- How a rehearsal makes a value of a built-in type: value, for row {n}, with {w} bytes of payload; number, the row of
-- such a value, where it can be the key that rows are found by; touch, the value that an UPDATE sets instead of {c}.
-- NULL: of other types nothing is made.
CREATE FUNCTION ff_internal.rehearsal_type(type oid, OUT value text, OUT number text, OUT touch text)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT v.value, v.number, v.touch
      FROM (VALUES
        ('int2',        '({n} / 100 % 32000)::smallint', NULL, '{c} # 1::smallint'),
        ('int4',        '({n})::integer', '{c}::bigint', '{c} # 1'),
        ('int8',        '({n})::bigint', '{c}', '{c} # 1'),
        ('float4',      '({n} / 100)::real', NULL, '1 - {c}'),
        ('float8',      '({n} / 100)::double precision', NULL, '1 - {c}'),
        ('numeric',     '({n})::numeric', '{c}::bigint', '{c} + CASE WHEN {c} % 2 = 0 THEN 1 ELSE -1 END'),
        ('bool',        '({n} % 2 = 0)', NULL, 'NOT {c}'),
        ('char',        '''x''::"char"', NULL, NULL),
        ('name',        '''x''::name', NULL, NULL),
        ('date',        'date ''2000-01-01'' + ({n} / 100 % 10000)::integer', NULL, '{c} + 1'),
        ('time',        'time ''00:00''', NULL, '{c} + interval ''1 s'''),
        ('interval',    'interval ''1 s'' * ({n})', NULL, '{c} + interval ''1 s'''),
        ('timestamp',   'timestamp ''2000-01-01'' + interval ''1 s'' * ({n})',
                        'extract(epoch FROM {c} - timestamp ''2000-01-01'')::bigint', '{c} + interval ''1 ms'''),
        ('timestamptz', 'timestamptz ''2000-01-01 00:00+00'' + interval ''1 s'' * ({n})',
                        'extract(epoch FROM {c} - timestamptz ''2000-01-01 00:00+00'')::bigint',
                            '{c} + interval ''1 ms'''),
        ('uuid',        'lpad(to_hex({n}), 32, ''0'')::uuid', '(''x'' || right({c}::text, 12))::bit(48)::bigint', NULL),
        ('text',        'lpad(({n})::text, {w}, ''0'')', '{c}::bigint',
            'translate(left({c}, 1), ''0x'', ''x0'') || substr({c}, 2)'),
        ('varchar',     'lpad(({n})::text, {w}, ''0'')', '{c}::bigint',
            'translate(left({c}, 1), ''0x'', ''x0'') || substr({c}, 2)'),
        ('bpchar',      'lpad(({n})::text, {w}, ''0'')', NULL,
            'translate(left({c}, 1), ''0x'', ''x0'') || substr({c}, 2)'),
        ('bytea',       'decode(repeat(''78'', {w}), ''hex'')', NULL, NULL),
        ('json',        '(''"'' || repeat(''x'', {w} - 2) || ''"'')::json', NULL, NULL),
        ('jsonb',       '(''"'' || repeat(''x'', {w} - 8) || ''"'')::jsonb', NULL, NULL),
        ('inet',        'inet ''10.0.0.0'' + ({n} % 1000000)', NULL, '{c} + 1')
      ) v(name, value, number, touch)
      JOIN pg_type t ON t.typname = v.name AND t.typnamespace = 'pg_catalog'::regnamespace
     WHERE t.oid = type
$$;

-- The columns of a table as a rehearsal makes them, n from 1 on: values of domains are of their base type, of enums
-- integers, of all other types that are not known here bytea of the same width (replaced). width: bytes of payload, by
-- the statistics that the caller may see. indexed, plain: an update of it touches an index, or none.
CREATE FUNCTION ff_internal.rehearsal_columns(relation oid)
RETURNS TABLE (n integer, attnum smallint, name text, type text, value text, number text, touch text, width integer,
               nulls real, replaced boolean, indexed boolean, pads boolean)
LANGUAGE sql STABLE ROWS 20
SET search_path = pg_catalog, pg_temp
AS $$
    WITH RECURSIVE base AS (
        SELECT a.attnum, a.attname, a.atttypid AS type, a.atttypmod AS typmod, a.attnotnull
          FROM pg_attribute a WHERE a.attrelid = relation AND a.attnum > 0 AND NOT a.attisdropped
        UNION ALL
        SELECT b.attnum, b.attname, t.typbasetype, t.typtypmod, b.attnotnull
          FROM base b JOIN pg_type t ON t.oid = b.type AND t.typtype = 'd'
    ), known AS (
        SELECT b.*, CASE WHEN t.typtype = 'e' THEN 'int4'::regtype WHEN r.value IS NULL THEN 'bytea'::regtype
            ELSE b.type END AS made,
               r.value IS NULL AND t.typtype <> 'e' AS replaced, s.null_frac,
               -- a short value has a header of one byte
               coalesce(s.avg_width - CASE WHEN s.avg_width > 127 THEN 4 ELSE 1 END, 15) AS payload
          FROM base b
          JOIN pg_type t ON t.oid = b.type AND t.typtype <> 'd'
          JOIN pg_class c ON c.oid = relation
          JOIN pg_namespace n ON n.oid = c.relnamespace
          LEFT JOIN pg_stats s ON s.schemaname = n.nspname AND s.tablename = c.relname AND s.attname = b.attname
              AND NOT s.inherited
         CROSS JOIN LATERAL ff_internal.rehearsal_type(b.type) r
    ), made AS (
        SELECT k.*, r.*, CASE WHEN k.made = k.type THEN k.typmod ELSE -1 END AS modifier
          FROM known k CROSS JOIN LATERAL ff_internal.rehearsal_type(k.made) r
    )
    SELECT row_number() OVER (ORDER BY m.attnum)::integer, m.attnum, m.attname::text, format_type(m.made,
        nullif(m.modifier, -1)),
           m.value, CASE WHEN m.modifier = -1 OR m.modifier >= 16 OR m.made NOT IN ('varchar'::regtype,
               'numeric'::regtype) THEN m.number END,
           m.touch, greatest(1, CASE WHEN m.modifier > 4 AND m.made IN ('varchar'::regtype, 'bpchar'::regtype)
                                     THEN least(m.payload, m.modifier - 4) ELSE m.payload END),
           CASE WHEN m.attnotnull THEN 0 ELSE coalesce(m.null_frac, 0) END, m.replaced,
           m.attname::text = ANY (ff_internal.indexed_columns(relation)),
           m.made IN ('text'::regtype, 'varchar'::regtype) AND m.modifier = -1
      FROM made m
$$;

-- The table of a rehearsal, as JSON: columns; key, the number of the column by which rows are found, NULL: there is
-- none; pad, that of the column that gives a row its length; touched and touched_indexed, of those that updates set;
-- indexes, the definitions from USING on; left_out, the names of indexes that need what a scratch server does not have.
CREATE FUNCTION ff_internal.rehearsal_table(relation oid) RETURNS jsonb
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH c AS MATERIALIZED (
        SELECT * FROM ff_internal.rehearsal_columns(relation)
    ), i AS MATERIALIZED (
        SELECT x.indexrelid, x.indkey[0] AS first, x.indisprimary, x.indisunique, o.relname, coalesce(d.method,
            plain.method) AS method,
               m.amname = 'btree' AND x.indpred IS NULL AND x.indkey[0] > 0 AS finds
          FROM pg_index x
          JOIN pg_class o ON o.oid = x.indexrelid
          JOIN pg_am m ON m.oid = o.relam
         -- without waiting for a lock
         CROSS JOIN LATERAL ff_internal.index_definition(relation,
               nullif((ff_internal.index_definitions(relation, ARRAY[x.indexrelid]))[1], '')) d
          -- what that refuses for a column's name alone
          LEFT JOIN LATERAL (
                SELECT format('USING btree (%s)', string_agg(ff_internal.quoted_name(c.name), ', '
                    ORDER BY u.place)) AS method
                  FROM unnest(x.indkey::smallint[]) WITH ORDINALITY u(attnum, place) JOIN c ON c.attnum = u.attnum
                 WHERE u.place <= x.indnkeyatts AND m.amname = 'btree' AND x.indexprs IS NULL AND x.indpred IS NULL
                HAVING count(*) > 0) plain ON true
         WHERE x.indrelid = relation AND x.indisvalid
    ), k AS (
        SELECT c.n, c.attnum FROM i JOIN c ON c.attnum = i.first AND c.number IS NOT NULL
         WHERE i.finds AND i.method IS NOT NULL
         ORDER BY i.indisprimary DESC, i.indisunique DESC, i.indexrelid LIMIT 1
    ), p AS (
        SELECT c.n FROM c WHERE c.pads AND c.n IS DISTINCT FROM (SELECT k.n FROM k) ORDER BY c.indexed, c.width DESC,
            c.n LIMIT 1
    )
    SELECT jsonb_build_object(
        'key', (SELECT k.n FROM k), 'pad', (SELECT p.n FROM p),
        'columns', (SELECT jsonb_agg(to_jsonb(c) ORDER BY c.n) FROM c),
        'touched', (SELECT c.n FROM c WHERE c.touch IS NOT NULL AND NOT c.indexed AND c.n IS DISTINCT FROM (SELECT k.n
            FROM k)
                     ORDER BY c.pads, c.nulls, c.n LIMIT 1),
        'touched_indexed', (SELECT c.n FROM c WHERE c.touch IS NOT NULL AND c.indexed AND c.n IS DISTINCT
            FROM (SELECT k.n FROM k)
                             ORDER BY c.pads, c.nulls, c.n LIMIT 1),
        'indexes', coalesce((SELECT jsonb_agg(format('CREATE %sINDEX ON ff_rehearsal.t %s',
                                 CASE WHEN i.indisunique AND i.first = (SELECT k.attnum FROM k) THEN 'UNIQUE '
                                     ELSE '' END, i.method)
                                 ORDER BY i.indexrelid) FROM i WHERE i.method IS NOT NULL), '[]'),
        'left_out', coalesce((SELECT jsonb_agg(i.relname ORDER BY i.indexrelid) FROM i WHERE i.method IS NULL), '[]'))
$$;

-- What the values of a new row are, for the mixture: column by column, {n} its number.
CREATE FUNCTION ff_internal.rehearsal_values(t jsonb) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT string_agg(CASE WHEN (c->>'n') = t->>'key' THEN 'ff_rehearsal.key({n}::bigint)'
                           WHEN (c->>'n') = t->>'pad'
                           THEN 'ff_rehearsal.pad({n}::bigint, ff_rehearsal.length({n}::bigint, 0))'
                           WHEN (c->>'nulls')::real > 0.005
                           THEN format('CASE WHEN {n}::bigint %% 100 >= %s THEN %s END',
                               round(100 * (c->>'nulls')::numeric), v.value)
                           ELSE v.value END, ', ' ORDER BY (c->>'n')::integer)
      FROM jsonb_array_elements(t->'columns') c
     -- pgbench's parameters have no type of their own
     CROSS JOIN LATERAL (SELECT format('(%s)::%s', replace(replace(c->>'value', '{w}', c->>'width'), '{n}',
         '{n}::bigint'), c->>'type')) v(value)
$$;

-- ---------------------------------------------------------------------------
-- A life as a mixture
-- ---------------------------------------------------------------------------
-- What an UPDATE of a class sets. prefix: of the columns' names.
CREATE FUNCTION ff_internal.rehearsal_set(t jsonb, life jsonb, prefix text, indexed boolean,
    resizes boolean) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT concat_ws(', ',
        CASE WHEN resizes AND t->>'pad' IS NOT NULL
             THEN format('%1$s%2$s = ff_rehearsal.pad(ff_rehearsal.number(t.%1$s%3$s),'
                         ' ff_rehearsal.next(ff_rehearsal.number(t.%1$s%3$s), octet_length(t.%1$s%2$s)))',
                         prefix, t->>'pad', t->>'key') END,
        CASE WHEN resizes AND t->>'pad' = touched.n THEN NULL
             -- a new version with the same values is HOT as well
             WHEN touched.n IS NULL THEN format('%1$s%2$s = t.%1$s%2$s', prefix, t->>'key')
             ELSE format('%s%s = coalesce(%s, %s)', prefix, touched.n, replace(c->>'touch', '{c}', format('t.%s%s',
                 prefix, touched.n)),
                         replace(replace(c->>'value', '{w}', c->>'width'), '{n}', '1')) END)
      FROM (SELECT CASE WHEN indexed THEN t->>'touched_indexed' ELSE t->>'touched' END) touched(n)
      LEFT JOIN jsonb_array_elements(t->'columns') c ON c->>'n' = touched.n
$$;

-- The classes of a life as those of a mixture, in the form of doc/rehearsal.md; t: of rehearsal_table().
CREATE FUNCTION ff_internal.rehearsal_classes(life jsonb, t jsonb, prefix text, sessions integer) RETURNS jsonb
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH class AS (
        SELECT x.*, l.ordinality, greatest(1, round(x.stride)) AS every,
               x.rows * greatest(1, x.stride) / (life->>'replayed_rows')::float8 AS part,
               sum(x.rate) FILTER (WHERE x.command = 'insert') OVER () AS inserts
          FROM jsonb_array_elements(life->'classes') WITH ORDINALITY l
         CROSS JOIN LATERAL jsonb_to_record(l.value) x(command text, pick text, rate float8, rows float8, calls float8,
               times float8, distance float8, near float8, skew float8, scattered float8, stride float8, indexed float8,
               resizes float8, burst float8)
    ), halves AS (
        -- updates of which some change an indexed column are two classes
        SELECT c.*, i.indexed AS sets_indexed, i.share, jsonb_build_object('set', ff_internal.rehearsal_set(t, life,
            prefix, i.indexed, c.resizes > 0)) AS sets
          FROM class c CROSS JOIN LATERAL (VALUES (false, 1 - c.indexed), (true, c.indexed)) i(indexed, share)
         WHERE i.share > 0 AND (c.command <> 'delete' OR c.inserts > 0)
    ), shaped AS (
        SELECT h.*, greatest(1, round(h.rows)) AS n, h.part > 0.25 AND h.command = 'update' AS scaled,
               -- rows picked each by itself: statement by statement, where these are few
               h.stride < 0.5 AND h.rows <= 20 AND h.pick NOT IN ('turn', 'sweep') AND h.command = 'update' AS single,
               CASE WHEN h.command = 'delete' THEN 'newest'
                    WHEN h.part >= 0.9 AND h.pick IN ('sweep', 'fixed') THEN 'all'
                    -- a sweep that inserts keep ahead of comes to each new row in turn
                    WHEN h.pick = 'turn' OR h.pick = 'sweep' AND h.rate <= 1.2 * h.inserts * h.times THEN 'follow'
                    WHEN h.pick IN ('fixed', 'sweep') THEN 'turn' ELSE h.pick END AS how
          FROM halves h
    )
    SELECT jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
               'command', s.command, 'pick', s.how, 'burst', s.burst, 'rate', s.rate * s.share / s.times,
               'weight', s.rate * s.share / s.times / s.n,
               'rows', CASE WHEN s.single THEN 1 ELSE s.n END, 'calls', CASE WHEN s.single THEN s.n END,
               'part', CASE WHEN s.scaled AND s.how <> 'all' THEN s.rows / (life->>'replayed_rows')::float8 END,
               'times', CASE WHEN s.command = 'update' THEN greatest(1, round(s.times)) END,
               'every', CASE WHEN s.command <> 'update' OR s.single THEN NULL
                             WHEN s.stride < 0.5 AND s.how IN ('any', 'skewed') THEN 0 ELSE s.every END,
               'aligned', CASE WHEN s.pick = 'fixed' THEN true END,
               'distance', CASE WHEN s.command = 'delete' THEN '[":rows / :sessions", ":rows / :sessions"]'
                                WHEN s.how = 'newest'
                                THEN jsonb_build_array(d.near, greatest(d.near, ceil(s.distance / sessions) - 1))
                                WHEN s.pick = 'turn' THEN jsonb_build_array(ceil(s.distance / sessions))
                                WHEN s.how = 'follow' AND (life->>'start_rows')::float8 >= 1 THEN '[":rows / :sessions"]'
                                WHEN s.how = 'follow' THEN '[0]'::jsonb END,
               -- rows that it goes on by: it comes to each row as often as it updates more than are inserted
               'step', CASE WHEN s.how = 'follow'
                            THEN greatest(1, round(s.n * s.every * greatest(1, s.inserts * s.times / s.rate))) END,
               -- the least exponent that pgbench takes is 1.001
               'skew', CASE WHEN s.how = 'skewed' THEN greatest(1.001, s.skew) END,
               'scattered', CASE WHEN s.how = 'skewed' THEN s.scattered > 0 END))
               || CASE s.command WHEN 'update' THEN s.sets ELSE '{}' END ORDER BY s.ordinality, s.sets_indexed)
      FROM shaped s CROSS JOIN LATERAL ceil(s.near / sessions) d(near)
$$;

-- A life as a mixture: what pgbench_script() takes, and what the counts of each phase are made of.
CREATE FUNCTION ff_internal.rehearsal_mixture(life jsonb, t jsonb, prefix text) RETURNS jsonb
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT jsonb_build_object(
        'sessions', s.sessions, 'held', least(1, (life->>'held_share')::float8), 'vacuum_share',
            (life->>'vacuum_share')::float8,
        'vacuum_gap', (life->>'vacuum_gap')::float8,
        'classes', ff_internal.rehearsal_classes(life, t, prefix, s.sessions),
        'table', jsonb_build_object('name', 'ff_rehearsal.t', 'key', prefix || (t->>'key'), 'to_key',
            'ff_rehearsal.key({n})',
                                    'number', format('ff_rehearsal.number(%s%s)', prefix, t->>'key'),
                                    'values', ff_internal.rehearsal_values(t)))
      -- about as many as leave the oldest snapshot as old as it is; the even order of pgbench_script(), dealt out to 3, 5 or
      -- 8 sessions, would give each the same class many times in a row
      FROM (SELECT CASE WHEN l.lag < 0.25 THEN 1 WHEN l.lag < 1 THEN 2 ELSE 4 END
              FROM (SELECT (life->>'lag')::float8) l(lag)) s(sessions)
$$;

-- ---------------------------------------------------------------------------
-- What was measured beside what was predicted
-- ---------------------------------------------------------------------------
-- One row a measure and one for the verdict, of a result as the script prints it: means over its pairs, with 95 %
-- intervals; of ratios, the mean of the logarithms. Pair 0, the equal one, and the intervals tell the noise. The script
-- carries this function along, so that both sides judge alike; it calls nothing of the extension's.
CREATE FUNCTION ff_internal.rehearsal_judged(result jsonb)
RETURNS TABLE (place integer, measure text, measured float8, low float8, high float8, predicted float8, verdict text)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- Points of HOT share, and a factor of WAL, that count as equal: the aim of the predictions (chosen)
    WITH constant AS (
        SELECT 5.0::float8 AS points, 1.25::float8 AS factor, (result->>'from')::integer AS a,
            (result->>'to')::integer AS b,
               -- 97.5 % quantiles of Student's t, by degrees of freedom
               '{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262}'::float8[] AS t
    ), run AS (
        SELECT * FROM jsonb_to_recordset(result->'runs')
               x(pair integer, side text, hot_pct float8, wal_bytes float8, rows_per_page float8, size_bytes float8,
                   tps float8, latency_ms float8)
    ), pair AS (
        SELECT a.pair, a.hot_pct AS hot_a, b.hot_pct AS hot_b, a.wal_bytes AS wal_a, b.wal_bytes AS wal_b,
            a.rows_per_page AS rows_a,
               b.rows_per_page AS rows_b, a.size_bytes AS size_a, b.size_bytes AS size_b, a.tps AS tps_a,
                   b.tps AS tps_b,
               a.latency_ms AS ms_a, b.latency_ms AS ms_b
          FROM run a JOIN run b ON b.pair = a.pair WHERE a.side = 'A' AND b.side = 'B'
    ), noise AS (
        SELECT abs(a.hot_pct - b.hot_pct) AS hot, abs(ln(a.wal_bytes / b.wal_bytes)) AS wal
          FROM run a JOIN run b ON b.pair = 0 AND b.side = 'A2' WHERE a.pair = 0 AND a.side = 'A1'
    ), value AS (
        SELECT v.* FROM constant k CROSS JOIN pair p CROSS JOIN LATERAL (VALUES
            (1, format('HOT share at %s, %%', k.a), p.hot_a, 'hot_a', false), (2, format('HOT share at %s, %%', k.b),
                p.hot_b, 'hot_b', false),
            (3, format('WAL per update, %s against %s, %%', k.b, k.a), ln(p.wal_b / p.wal_a), 'wal_pct', true),
            (4, format('WAL bytes per update at %s', k.a), p.wal_a, '', false), (5, format('WAL bytes per update at %s',
                k.b), p.wal_b, '', false),
            (6, format('rows on a page filled at %s', k.a), p.rows_a, 'rows_a', false), (7,
                format('rows on a page filled at %s', k.b), p.rows_b, 'rows_b', false),
            (8, format('size, %s against %s, %%', k.b, k.a), ln(p.size_b / p.size_a), 'size_pct', true),
            (9, format('on this machine: transactions/s, %s against %s, %%', k.b, k.a), ln(p.tps_b / p.tps_a), '',
                true),
            (10, format('on this machine: latency at %s, ms', k.a), p.ms_a, '', false), (11,
                format('on this machine: latency at %s, ms', k.b), p.ms_b, '', false)
        ) v(place, measure, value, predicted, is_log)
    ), mean AS (
        SELECT v.place, v.measure, v.predicted, v.is_log, avg(v.value) AS mean,
               coalesce(stddev_samp(v.value), 0) / sqrt(count(*)) * k.t[least(9, greatest(1, count(*) - 1))] AS half
          FROM value v CROSS JOIN constant k GROUP BY v.place, v.measure, v.predicted, v.is_log, k.t
    ), judged AS (
        SELECT m.place, m.measure, f.mean AS measured, f.low, f.high,
            (result->'predicted'->m.predicted->>0)::float8 AS predicted,
               CASE WHEN m.place > 3 OR result->'predicted'->m.predicted->>0 IS NULL THEN NULL
                    WHEN m.is_log THEN CASE WHEN greatest(m.half, n.wal) > ln(k.factor) THEN 'noise too large'
                                            WHEN abs(m.mean - ln((result->'predicted'->m.predicted->>0)::float8 / 100))
                                                 <= ln(k.factor) THEN 'held'
                                            ELSE 'did not hold' END
                    WHEN greatest(m.half, n.hot) > k.points THEN 'noise too large'
                    WHEN m.mean BETWEEN (result->'predicted'->m.predicted->>1)::float8 - k.points
                                    AND (result->'predicted'->m.predicted->>2)::float8 + k.points THEN 'held'
                    ELSE 'did not hold' END AS verdict
          FROM mean m CROSS JOIN constant k CROSS JOIN noise n
         CROSS JOIN LATERAL (SELECT CASE WHEN m.is_log THEN 100 * exp(m.mean) ELSE m.mean END,
                                    CASE WHEN m.is_log THEN 100 * exp(m.mean - m.half) ELSE m.mean - m.half END,
                                    CASE WHEN m.is_log THEN 100 * exp(m.mean + m.half) ELSE m.mean + m.half END) f(mean,
                                        low, high)
    )
    SELECT * FROM judged
    UNION ALL
    SELECT 12, 'verdict', NULL, NULL, NULL, NULL,
           CASE WHEN bool_or(j.verdict = 'noise too large') THEN 'noise too large' WHEN bool_and(j.verdict = 'held')
               THEN 'prediction held'
                ELSE 'did not hold' END
      FROM judged j
     ORDER BY 1
$$;

-- ---------------------------------------------------------------------------
-- The script
-- ---------------------------------------------------------------------------
-- SQL of the scratch server: its tables, and what counts and measures.
CREATE FUNCTION ff_internal.rehearsal_counting() RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
RETURN $sql$
SET check_function_bodies = off;
CREATE TABLE ff_rehearsal.setup (mixture jsonb, predicted jsonb, made jsonb, rows bigint, ticks float8,
    unvacuumed float8 DEFAULT 0, short boolean);
CREATE TABLE ff_rehearsal.lap (id integer GENERATED ALWAYS AS IDENTITY, lsn pg_lsn, updates bigint, hot bigint,
    seconds float8 DEFAULT 0,
    transactions bigint DEFAULT 0, hot_pct float8, wal_bytes float8);
CREATE TABLE ff_rehearsal.run (pair integer, side text, hot_pct float8, wal_bytes float8, rows_per_page float8,
    size_bytes float8, tps float8, latency_ms float8);
-- not the same for all rows: the column may be indexed
CREATE FUNCTION ff_rehearsal.pad(n bigint, bytes integer) RETURNS text LANGUAGE sql IMMUTABLE AS $f$
    SELECT rpad(n::text, bytes, 'x') $f$;
CREATE FUNCTION ff_rehearsal.base() RETURNS integer LANGUAGE sql IMMUTABLE AS $f$ SELECT 100000 $f$;
-- transactions of each class in a phase, four of which are a lap: what pgbench is given
CREATE FUNCTION ff_rehearsal.counts(phase integer) RETURNS text LANGUAGE sql STABLE AS $f$
    WITH class AS (
        SELECT x.ordinality - 1 AS k, c->>'pick' AS pick, greatest(1, coalesce((c->>'calls')::float8, 1)) AS calls,
            s.sessions,
               least(4, greatest(1, round(1 / (c->>'burst')::float8)))::integer AS q,
               o.ticks * (c->>'rate')::float8 / (coalesce((c->>'calls')::float8, 1)
                   * CASE WHEN c->>'pick' = 'all' THEN o.rows / (c->>'every')::float8 WHEN c->'part' IS NOT NULL
                       THEN greatest(1, o.rows * (c->>'part')::float8)
                          ELSE (c->>'rows')::float8 END) AS a_lap
          FROM ff_rehearsal.setup o CROSS JOIN LATERAL (SELECT (o.mixture->>'sessions')::integer) s(sessions)
         CROSS JOIN LATERAL jsonb_array_elements(o.mixture->'classes') WITH ORDINALITY x(c, ordinality)
    ), n AS (
        SELECT c.*, CASE WHEN phase % c.q = 0 THEN floor(c.a_phase * (phase / c.q + 1) + 0.5)
                                                   - floor(c.a_phase * (phase / c.q) + 0.5) ELSE 0 END AS n,
               CASE WHEN c.pick = 'follow' THEN -1
                    ELSE floor(c.a_phase * ((phase + c.q - 1) / c.q) + 0.5) * c.calls / c.sessions END AS before
          FROM (SELECT *, a_lap * q / 4 AS a_phase FROM class) c
    )
    SELECT ceil(sum(n) / min(sessions))::bigint || ' ' || string_agg(format('-D n%s=%s -D turn%s=%s', k, n::bigint, k,
        before::bigint), ' ' ORDER BY k) FROM n $f$;
-- the counters that sessions which have ended leave behind
CREATE FUNCTION ff_rehearsal.wait() RETURNS void LANGUAGE plpgsql AS $f$ BEGIN
    FOR i IN 1 .. 500 LOOP
        EXIT WHEN NOT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'pgbench'
            AND datname = current_database());
        PERFORM pg_sleep(0.01);
        PERFORM pg_stat_clear_snapshot();
    END LOOP; END $f$;
CREATE VIEW ff_rehearsal.counter AS
    SELECT pg_current_wal_insert_lsn() AS lsn, pg_stat_get_tuples_updated(c.oid) AS updates,
           pg_stat_get_tuples_hot_updated(c.oid) AS hot
      FROM pg_class c WHERE c.relname = 't' AND c.relnamespace = 'ff_rehearsal'::regnamespace;
CREATE FUNCTION ff_rehearsal.lap_begin() RETURNS void LANGUAGE sql AS $f$
    SELECT ff_rehearsal.wait();
    INSERT INTO ff_rehearsal.lap (lsn, updates, hot) SELECT * FROM ff_rehearsal.counter $f$;
-- whether a lap's HOT share is that of the lap before, within a point
CREATE FUNCTION ff_rehearsal.lap_end() RETURNS boolean LANGUAGE sql AS $f$
    SELECT ff_rehearsal.wait();
    UPDATE ff_rehearsal.lap l SET wal_bytes = (c.lsn - l.lsn) / nullif(c.updates - l.updates, 0),
           hot_pct = 100.0 * (c.hot - l.hot) / nullif(c.updates - l.updates, 0)
      FROM ff_rehearsal.counter c WHERE l.id = (SELECT max(id) FROM ff_rehearsal.lap);
    SELECT coalesce(max(hot_pct) - min(hot_pct) <= 1 AND count(hot_pct) = 2, false)
      FROM (SELECT hot_pct FROM ff_rehearsal.lap ORDER BY id DESC LIMIT 2) l $f$;
CREATE FUNCTION ff_rehearsal.phase_end(processed bigint, tps float8) RETURNS boolean LANGUAGE sql AS $f$
    SELECT ff_rehearsal.wait();
    UPDATE ff_rehearsal.lap l SET transactions = l.transactions + processed,
        seconds = l.seconds + coalesce(processed / nullif(tps, 0), 0)
     WHERE l.id = (SELECT max(id) FROM ff_rehearsal.lap);
    -- as autovacuum would, by its rules, in the time of the table that is rehearsed
    UPDATE ff_rehearsal.setup o SET unvacuumed = o.unvacuumed + o.ticks / 4;
    UPDATE ff_rehearsal.setup o SET unvacuumed = 0
      FROM pg_class c CROSS JOIN LATERAL greatest(1, pg_stat_get_live_tuples(c.oid)) live
     WHERE c.oid = 'ff_rehearsal.t'::regclass AND (o.mixture->>'vacuum_gap')::float8 >= 0
       AND pg_stat_get_dead_tuples(c.oid) >= live * greatest(0.01, (o.mixture->>'vacuum_share')::float8)
       AND o.unvacuumed >= live * (o.mixture->>'vacuum_gap')::float8;
    SELECT unvacuumed = 0 FROM ff_rehearsal.setup $f$;
$sql$;

-- SQL of the scratch server: how large the table is, and what came of it.
CREATE FUNCTION ff_internal.rehearsal_choosing() RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
RETURN $sql$
-- an index that cannot be made of what rows hold here is left out, and said
CREATE FUNCTION ff_rehearsal.index(statement text) RETURNS void LANGUAGE plpgsql AS $f$ BEGIN EXECUTE statement;
    EXCEPTION WHEN OTHERS THEN RAISE WARNING 'left out: % (%)', statement, SQLERRM; END $f$;
-- rows: as many as a lap meets twice, and passes over the table at least four times where some class does; without
-- --short and where memory matters, those of the table by the memory here and there
CREATE FUNCTION ff_rehearsal.choose(seconds float8, chosen bigint, memory_mb float8) RETURNS bigint LANGUAGE sql AS $f$
    UPDATE ff_rehearsal.setup SET made = made || jsonb_build_object('memory_bytes',
        CASE WHEN $3 > 0 THEN $3 * 1048576 ELSE pg_size_bytes(current_setting('effective_cache_size')) END);
    UPDATE ff_rehearsal.setup o SET ticks = $1 * (c.updates - l.updates) / greatest(0.001, l.seconds)
      FROM ff_rehearsal.counter c, ff_rehearsal.lap l;
    UPDATE ff_rehearsal.setup o SET rows = CASE WHEN $2 > 0 THEN $2
        WHEN NOT o.short AND f.ratio > 0.5 THEN least(f.rows, greatest(1000, f.rows * f.memory_bytes / f.ram_bytes))
        ELSE least(f.rows, greatest(1000, least(o.ticks / 2, (
            SELECT min(o.ticks * (c->>'rate')::float8 / 4
                       * CASE WHEN c->>'pick' = 'all' THEN (c->>'every')::float8 ELSE 1 / (c->>'part')::float8 END)
              FROM jsonb_array_elements(o.mixture->'classes') c
             WHERE c->>'pick' = 'all' OR c->'part' IS NOT NULL)))) END
      FROM (SELECT (made->>'table_rows')::float8 AS rows, (made->>'ram_ratio')::float8 AS ratio,
                   (made->>'ram_bytes')::float8 AS ram_bytes, (made->>'memory_bytes')::float8 AS memory_bytes
              FROM ff_rehearsal.setup) f;
    SELECT rows FROM ff_rehearsal.setup $f$;
CREATE FUNCTION ff_rehearsal.plan() RETURNS text LANGUAGE sql AS $f$
    SELECT format('%s rows of %s, %s updates a lap; the table and its indexes are %s times memory there, about %s here',
                  rows, made->>'table_rows', round(ticks), round((made->>'ram_ratio')::numeric, 3),
                  round(rows * (made->>'row_bytes')::numeric / (made->>'memory_bytes')::numeric, 3))
      FROM ff_rehearsal.setup $f$;
-- the table thrice, what is inserted in five laps, and WAL
CREATE FUNCTION ff_rehearsal.disk_mb() RETURNS bigint LANGUAGE sql AS $f$
    SELECT ceil((3 * (o.made->>'row_bytes')::float8 * (o.rows + 5 * o.ticks * (
               SELECT coalesce(sum((c->>'rate')::float8), 0) FROM jsonb_array_elements(o.mixture->'classes') c
                WHERE c->>'command' = 'insert')) + pg_size_bytes(current_setting('max_wal_size'))) / 1048576)::bigint
      FROM ff_rehearsal.setup o $f$;
CREATE FUNCTION ff_rehearsal.held_each() RETURNS integer LANGUAGE sql AS $f$
    SELECT CASE WHEN held > 0 THEN least(4, round(1 / held))::integer ELSE 0 END
      FROM (SELECT (mixture->>'held')::float8 AS held FROM ff_rehearsal.setup) m $f$;
CREATE FUNCTION ff_rehearsal.run_end(pair integer, side text) RETURNS text LANGUAGE sql AS $f$
    INSERT INTO ff_rehearsal.run SELECT pair, side, l.hot_pct, l.wal_bytes, (SELECT rows_per_page
        FROM ff_rehearsal.loaded),
           pg_relation_size('ff_rehearsal.t'), l.transactions / l.seconds,
               1000 * l.seconds / l.transactions * (o.mixture->>'sessions')::integer
      FROM ff_rehearsal.lap l, ff_rehearsal.setup o ORDER BY l.id DESC LIMIT 1;
    SELECT format('HOT %s %%, WAL %s bytes an update, %s transactions/s', round(r.hot_pct::numeric, 1),
        round(r.wal_bytes), round(r.tps))
      FROM ff_rehearsal.run r WHERE (r.pair, r.side) = ($1, $2) $f$;
CREATE FUNCTION ff_rehearsal.result() RETURNS jsonb LANGUAGE sql AS $f$
    SELECT o.made || jsonb_build_object('predicted', o.predicted, 'measured_at', now(), 'rows', o.rows, 'short',
        o.short,
           'server_version', current_setting('server_version_num')::integer,
           'runs', (SELECT jsonb_agg(to_jsonb(r) ORDER BY r.pair, r.side) FROM ff_rehearsal.run r))
               FROM ff_rehearsal.setup o $f$;
$sql$;

-- SQL of the scratch server that is of this table. functions: between a row's number and its key, and its length.
-- load: the table at fillfactor :ff with :rows rows, made up or, :existing, those of a copy; columns have the names of
-- the table until the indexes are made, then prefix and a number.
CREATE FUNCTION ff_internal.rehearsal_functions(relation oid, t jsonb, life jsonb) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
    SELECT format($f$
\if :existing
CREATE TABLE ff_rehearsal.keys AS SELECT row_number() OVER (ORDER BY %4$s) AS n, %4$s::%1$s AS k FROM %5$s
    WHERE %4$s IS NOT NULL;
CREATE UNIQUE INDEX ON ff_rehearsal.keys (n);
CREATE INDEX ON ff_rehearsal.keys (k);
ANALYZE ff_rehearsal.keys;
CREATE FUNCTION ff_rehearsal.key(bigint) RETURNS %1$s LANGUAGE sql STABLE AS $ff$
    SELECT CASE WHEN $1 < 100000000 THEN (SELECT k FROM ff_rehearsal.keys WHERE n = $1) ELSE (%2$s)::%1$s END $ff$;
CREATE FUNCTION ff_rehearsal.number(%1$s) RETURNS bigint LANGUAGE sql STABLE AS $ff$
    SELECT coalesce((SELECT n FROM ff_rehearsal.keys WHERE k = $1 LIMIT 1), %3$s) $ff$;
\else
CREATE FUNCTION ff_rehearsal.key(bigint) RETURNS %1$s LANGUAGE sql IMMUTABLE AS $ff$ SELECT (%2$s)::%1$s $ff$;
CREATE FUNCTION ff_rehearsal.number(%1$s) RETURNS bigint LANGUAGE sql IMMUTABLE AS $ff$ SELECT %3$s $ff$;
\endif
$f$, k->>'type', replace(replace(k->>'value', '{w}', greatest(10, (k->>'width')::integer)::text), '{n}', '$1'),
                  replace(k->>'number', '{c}', '$1'), ff_internal.quoted_name(k->>'name'),
                      ff_internal.qualified_name(relation))
           || format($f$
-- bytes of payload that make row n as long as it is inserted (0), or once it was updated (1); and its next length
CREATE FUNCTION ff_rehearsal.length(n bigint, grown integer) RETURNS integer LANGUAGE sql IMMUTABLE AS $ff$
    SELECT greatest(0, b - CASE WHEN b > 126 THEN 3 ELSE 0 END)
      FROM (SELECT (CASE $2 WHEN 0 THEN '%1$s'::integer[]
          ELSE '%2$s'::integer[] END)[1 + $1 * 7 %% 16] - 4 - ff_rehearsal.base()) b(b) $ff$;
\if :existing
CREATE FUNCTION ff_rehearsal.next(n bigint, now integer) RETURNS integer LANGUAGE sql IMMUTABLE AS $ff$ SELECT $2 $ff$;
\else
CREATE FUNCTION ff_rehearsal.next(n bigint, now integer) RETURNS integer LANGUAGE sql VOLATILE AS $ff$
    SELECT CASE WHEN %3$s THEN ff_rehearsal.length(floor(1e6 * random())::bigint, 1)
                WHEN w.t >= w.f THEN least(w.t, $2 + ceil((w.t - w.f) / %4$s)::integer)
                ELSE greatest(w.t, $2 - ceil((w.f - w.t) / %4$s)::integer) END
      FROM (SELECT ff_rehearsal.length($1, 0), ff_rehearsal.length($1, 1)) w(f, t) $ff$;
\endif
$f$, translate((life->'insert_len')::text, '[]', '{}'), translate((life->'update_len')::text, '[]', '{}'),
             CASE WHEN (life->>'redraw')::float8 > 0 THEN 'true' ELSE 'false' END, greatest(1,
                 (life->>'grow_updates')::numeric))
      FROM jsonb_array_elements(t->'columns') k WHERE k->>'n' = t->>'key'
$$;

CREATE FUNCTION ff_internal.rehearsal_load(relation oid, t jsonb, prefix text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
    WITH c AS (
        SELECT c->>'n' AS n, ff_internal.quoted_name(c->>'name') AS name, c->>'type' AS type,
            (c->>'replaced')::boolean AS replaced
          FROM jsonb_array_elements(t->'columns') c
    )
    SELECT format($l$DROP TABLE IF EXISTS ff_rehearsal.t, ff_rehearsal.loaded;
CREATE TABLE ff_rehearsal.t (%s) WITH (fillfactor = :ff, autovacuum_enabled = off, toast_tuple_target = 8160);
SELECT format('ALTER TABLE ff_rehearsal.t ALTER %%I SET STORAGE EXTERNAL', a.attname)
  FROM pg_attribute a WHERE a.attrelid = 'ff_rehearsal.t'::regclass AND a.attstorage = 'x' \gexec
\if :existing
INSERT INTO ff_rehearsal.t SELECT %s FROM %s;
\else
INSERT INTO ff_rehearsal.t SELECT %s FROM generate_series(1, :rows) g;
\endif
CREATE TABLE ff_rehearsal.loaded AS SELECT :rows / greatest(1,
    pg_relation_size('ff_rehearsal.t') / 8192)::float8 AS rows_per_page;
%s%sVACUUM ANALYZE ff_rehearsal.t;$l$, string_agg(c.name || ' ' || c.type, ', ' ORDER BY c.n::integer),
             string_agg(CASE WHEN c.replaced THEN format('convert_to(%s::text, ''UTF8'')', c.name)
                             -- of enums, too
                             WHEN c.type = 'integer' THEN format('CASE WHEN pg_typeof(%1$s)::oid < 16384'
                                 ' THEN %1$s::text::integer ELSE hashtext(%1$s::text) END', c.name)
                             ELSE format('%s::%s', c.name, c.type) END, ', ' ORDER BY c.n::integer),
             ff_internal.qualified_name(relation), replace(ff_internal.rehearsal_values(t), '{n}', 'g'),
             (SELECT string_agg(format(E'SELECT ff_rehearsal.index(%s);\n', ff_internal.quoted_text(i)), '')
                 FROM jsonb_array_elements_text(t->'indexes') i),
             string_agg(format(E'ALTER TABLE ff_rehearsal.t RENAME %s TO %s%s;\n', c.name, prefix, c.n), ''
                 ORDER BY c.n::integer))
      FROM c
$$;

-- The shell program up to its documents of SQL, and from there on: what a run is, and the course of all. It needs a
-- POSIX sh, psql and pgbench.
CREATE FUNCTION ff_internal.rehearsal_begins() RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
RETURN $sh$set -eu
seconds=120 pairs=3 memory=0 existing=false short=false rows=0 schema=false child= holder= dir=
say() { printf '%s\n' "$*" >&2; }
die() { say "error: $*"; exit 1; }
q() { psql -XAtq -v ON_ERROR_STOP=1 "$@"; }
whole() { case $1 in ''|0*|*[!0-9]*|??????????*) die "not a whole number: $1" ;; esac; }
for option; do
    value=${option#*=}
    case $option in
    --short) short=true seconds=12 ;;
    --minutes=*) whole "$value"; seconds=$((60 * value)) ;;
    --seconds=*) whole "$value"; seconds=$value ;;
    --pairs=*) whole "$value"; pairs=$value ;;
    --memory=*) whole "$value"; memory=$value ;;
    --rows=*) whole "$value"; rows=$value ;;
    --object=existing) existing=true ;;
    *) die "no such option: $option; see the head of this file" ;;
    esac
done
[ "$pairs" -ge 3 ] && [ "$pairs" -le 10 ] || die "--pairs is 3 to 10"
export PGOPTIONS="-c search_path=pg_catalog,pg_temp -c client_min_messages=warning -c statement_timeout=0"

# The end, an error or Ctrl-C: nothing is left behind.
finish()
{
    status=$?
    trap '' INT TERM HUP PIPE
    [ -z "$child" ] || { kill "$child" 2>/dev/null || :; wait "$child" 2>/dev/null || :; }
    release
    if $schema; then q -c 'DROP SCHEMA ff_rehearsal CASCADE' || say "left behind: the schema ff_rehearsal"; fi
    [ -z "$dir" ] || rm -rf "$dir"
    exit "$status"
}
# the session that holds a snapshot
release()
{
    [ -z "$holder" ] || { kill "$holder" 2>/dev/null || :; wait "$holder" 2>/dev/null || :; holder=; }
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP PIPE
command -v psql >/dev/null && command -v pgbench >/dev/null || die "psql and pgbench have to be in the PATH"
version=$(pgbench --version)
version=${version##*) }
[ "${version%%[!0-9]*}" -ge 15 ] || die "pgbench is older than 15"
q -c 'SELECT 1' >/dev/null || die "no connection: set PGHOST, PGPORT, PGUSER, PGDATABASE"
$sh$;

CREATE FUNCTION ff_internal.rehearsal_runs() RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
RETURN $sh$refused=$(check)
[ -z "$refused" ] || die "$refused"
dir=${TMPDIR:-/tmp}/ff_rehearsal.$$
( umask 077; mkdir "$dir" ) || { dir=; die "no folder can be made in ${TMPDIR:-/tmp}"; }
q -c 'CREATE SCHEMA ff_rehearsal' || die "the schema ff_rehearsal cannot be made: is another rehearsal at work here?"
schema=true
setup
workload >"$dir/script.sql"
superuser=$(q -c "SELECT current_setting('is_superuser')")
if [ "$superuser" = on ]; then PGOPTIONS="$PGOPTIONS -c deadlock_timeout=10ms"; fi
sessions=$(q -c "SELECT mixture->>'sessions' FROM ff_rehearsal.setup")
held=$(q -c "SELECT ff_rehearsal.held_each()")

# One of the four phases of a lap: its transactions are counted, so that every run does the same.
phase()     # NUMBER
{
    counts=$(q -c "SELECT ff_rehearsal.counts($1)")
    each=${counts%% *} processed=0 tps=0
    if [ "$held" -gt 0 ] && [ $(($1 % held)) = 0 ]; then
        q -c 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM ff_rehearsal.t; SELECT pg_sleep(86400)' \
            >/dev/null 2>&1 &
        holder=$!
    fi
    if [ "$each" -gt 0 ]; then
        pgbench -n -M prepared -c "$sessions" -j 1 -t "$each" --max-tries=100 --random-seed=$((1000 + $1)) \
            -D rows="$rows" -D sessions="$sessions" -D n=0 -D own=0 -D i=0 ${counts#* } -f "$dir/script.sql" \
            >"$dir/out" 2>&1 &
        child=$!
        wait "$child" || { child=; cat "$dir/out" >&2; die "pgbench failed"; }
        child=
        while IFS= read -r line; do
            case $line in
            "number of transactions actually processed: "*) line=${line#*: }; processed=${line%%/*} ;;
            "tps = "*) line=${line#tps = }; tps=${line%% *} ;;
            esac
        done <"$dir/out"
    fi
    release
    due=$(q -c "SELECT ff_rehearsal.phase_end($processed, $tps)")
    if [ "$due" = t ]; then q -c 'VACUUM ANALYZE ff_rehearsal.t'; fi
}

fill()      # FILLFACTOR
{
    load -v ff="$1" -v rows="$rows" -v existing=$existing >/dev/null
    q -c CHECKPOINT 2>/dev/null || :
    q -c 'TRUNCATE ff_rehearsal.lap' -c 'UPDATE ff_rehearsal.setup SET unvacuumed = 0'
}

# Load the table, go on until it has settled, and measure the last lap.
run()       # FILLFACTOR PAIR SIDE
{
    fill "$1"
    lap=0 settled=f
    while [ "$settled" = f ] && [ "$lap" -lt 5 ]; do
        q -c 'SELECT ff_rehearsal.lap_begin()' >/dev/null
        for p in 0 1 2 3; do phase $((4 * lap + p)); done
        lap=$((lap + 1))
        settled=$(q -c 'SELECT ff_rehearsal.lap_end()')
    done
    measured=$(q -c "SELECT ff_rehearsal.run_end($2, '$3')")
    say "pair $2, $3: fillfactor $1, lap $lap, $measured"
}

$sh$;

CREATE FUNCTION ff_internal.rehearsal_course() RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
RETURN $sh$# What this machine can do, and how many rows it takes so that a lap meets each.
chosen=$rows rows=10000
if $existing; then rows=$(q -c 'SELECT count(*) FROM ff_rehearsal.keys') chosen=$rows; fi
[ "$rows" -gt 0 ] || die "the table is empty"
q -c "UPDATE ff_rehearsal.setup SET rows = $rows, ticks = 80000"
fill "$from"
if ! $existing; then bare; fill "$from"; fi
q -c 'SELECT ff_rehearsal.lap_begin()' >/dev/null
phase 0
phase 1
local=$(q -c "SELECT inet_server_addr() IS NULL OR inet_server_addr() = inet_client_addr()")
if [ "$memory" = 0 ] && [ "$local" = t ] && [ -r /proc/meminfo ]; then
    while read -r name kb _; do [ "$name" != MemTotal: ] || memory=$((kb / 1024)); done </proc/meminfo
fi
rows=$(choose -v seconds="$seconds" -v chosen="$chosen" -v memory="$memory")
disk=$(q -c "SELECT ff_rehearsal.disk_mb()")
data=$(q -c "SELECT setting FROM pg_settings WHERE name = 'data_directory'")
free=
if [ "$local" = t ] && [ -n "$data" ]; then
    free=$(df -Pk "$data" 2>/dev/null | { read -r _; read -r _ _ _ kb _; echo $((kb / 1024)); }) || free=
fi
[ -z "$free" ] || [ "$free" -gt "$disk" ] || die "too little disk: $disk MB are needed, $free MB are free"
plan=$(q -c 'SELECT ff_rehearsal.plan()')
say "$plan, about $disk MB of disk${free:+ of $free MB free}; $((2 * pairs + 2)) runs of 2 to 5 laps of $seconds s"
run "$from" 0 A1
run "$from" 0 A2
pair=1
while [ "$pair" -le "$pairs" ]; do
    [ $((pair % 2)) = 1 ] || run "$to" "$pair" B
    run "$from" "$pair" A
    [ $((pair % 2)) = 0 ] || run "$to" "$pair" B
    pair=$((pair + 1))
done
answer
$sh$;

-- A document of SQL as a shell function.
CREATE FUNCTION ff_internal.rehearsal_document(name text, command text, document text) RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
RETURN format(E'%s()\n{\n    %s <<''FF_END''\n%s\nFF_END\n}\n', name, command, document);

-- HOT share of a step once settled, with a range that holds that of the window seen.
CREATE FUNCTION ff_internal.hot_range(s ff_internal.step) RETURNS jsonb
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
RETURN jsonb_build_array(s.settled_hot_pct, least(s.settled_hot_pct, s.hot_pct_low), greatest(s.settled_hot_pct,
    s.hot_pct_high));

-- What the script knows of its table besides the workload: where it comes from, what is compared, how large things are;
-- and what is predicted there, each as a figure with its range.
CREATE FUNCTION ff_internal.rehearsal_facts(v ff_internal.decision, to_fillfactor integer, OUT made jsonb,
    OUT predicted jsonb)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT jsonb_build_object('format', 1, 'system_identifier', s.system_identifier::text, 'relid',
        e.relation::oid::bigint,
               'schema', e.nspname, 'table', e.relname, 'from', e.fillfactor, 'to', to_fillfactor, 'made_at', now(),
               'table_rows', greatest(1, round((c.lives->0->>'table_rows')::float8)), 'ram_bytes', e.ram_bytes,
                   'ram_ratio', coalesce(e.ram_ratio, 0),
               'row_bytes', greatest(24, round((e.heap_bytes + e.index_bytes) / greatest(1,
                   (c.lives->0->>'table_rows')::float8)))),
           jsonb_build_object('hot_a', ff_internal.hot_range(a), 'hot_b', ff_internal.hot_range(b),
               'wal_pct', jsonb_build_array(100 * b.wal_bytes_per_update / nullif(c.wal_bytes_now, 0)),
               'rows_a', jsonb_build_array(a.rows_per_page), 'rows_b', jsonb_build_array(b.rows_per_page),
               'size_pct', jsonb_build_array(100.0 * b.size_bytes / nullif(a.size_bytes, 0)))
      FROM unnest(ARRAY[(v.diagnosis).evidence]) e
     CROSS JOIN unnest(ARRAY[(v.fit).choice]) c
     CROSS JOIN ff_internal.server() s
     CROSS JOIN unnest(ARRAY[v.now_step]) a
      LEFT JOIN LATERAL (SELECT x.* FROM unnest((v.fit).steps) x WHERE x.fillfactor >= to_fillfactor
          ORDER BY x.fillfactor LIMIT 1) b ON true
$$;

-- A class of a mixture in words.
CREATE FUNCTION ff_internal.rehearsal_words(c jsonb) RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
RETURN concat(c->>'command', ' of ',
    CASE WHEN c->>'pick' = 'all' THEN CASE c->>'every' WHEN '1' THEN 'all rows' ELSE format('one row in %s',
        c->>'every') END
         WHEN c->'part' IS NOT NULL THEN format('%s %% of the table', round(100 * (c->>'part')::numeric, 1))
         WHEN c->>'rows' = '1' THEN CASE WHEN (c->>'calls')::numeric > 1 THEN format('%s rows by as many statements',
             c->>'calls') ELSE 'one row' END
         ELSE (c->>'rows') || ' rows' END,
    CASE WHEN c->>'pick' <> 'all' AND (c->>'every')::numeric > 1 THEN format(', one in %s', c->>'every')
        WHEN c->>'every' = '0' THEN ', each picked by itself' END,
    CASE c->>'command' WHEN 'insert' THEN '' WHEN 'delete' THEN ', the oldest' ELSE CASE c->>'pick' WHEN 'any'
        THEN ', at random' WHEN 'skewed' THEN ', some far more often than others'
        WHEN 'newest' THEN ', inserted lately' WHEN 'follow' THEN ', each some time after its insert' WHEN 'turn'
            THEN ', in turn' END END,
    CASE WHEN c->>'set' IS NULL THEN '' WHEN (c->>'times')::numeric > 1 THEN format(', %s times', c->>'times') END,
    CASE WHEN (c->>'burst')::numeric < 0.8 THEN ', at times' END, format('; %s rows for each row updated',
        round((c->>'rate')::numeric, 3)));

-- What the head of the script says.
CREATE FUNCTION ff_internal.rehearsal_head(made jsonb, predicted jsonb, m jsonb, t jsonb) RETURNS SETOF text
LANGUAGE sql STABLE ROWS 30
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT '# ' || ff_internal.plain(l.line) FROM unnest(ARRAY[
    format('Rehearsal: fillfactor %s instead of %s for %I.%I of database %I', made->>'to', made->>'from',
        made->>'schema', made->>'table', current_database()),
    '',
    'It makes a table like that one on a scratch server, with made-up rows of the same lengths (no value of the',
    'table is in this file), runs on it with pgbench what the advisor takes for the table''s workload, at both',
    'fillfactors, and prints what it measured beside what was predicted. It needs sh, psql, pgbench 15 or later, and',
    'an empty database:',
    '    createdb scratch && PGDATABASE=scratch sh FILE --short',
    'PGHOST, PGPORT and PGUSER say where. All is made in a schema ff_rehearsal, which is gone at the end, also after',
    'an error or Ctrl-C.',
    '',
    '--short            a first look: laps of 12 s, five to ten minutes in all; memory is not regarded',
    '--minutes=2        of a lap, or --seconds=N; in all 8 runs of 2 to 5 laps',
    '--pairs=3          of runs, after one of equal runs that tells the noise: A A, A B, B A, A B',
    '--memory=MB        to which the table is scaled where memory matters; else that of the machine',
    '--rows=N           of the table, instead',
    '--object=existing  a copy of the table in that database (restored, or a clone): its rows and keys are taken',
    'Disk: said before the first run, which is refused where too little is free.',
    '',
    format('Predicted, once settled: HOT share %s %% at %s, %s %% at %s',
        coalesce(round((predicted->'hot_a'->>0)::numeric, 1)::text, '?'), made->>'from',
           coalesce(round((predicted->'hot_b'->>0)::numeric, 1)::text, '?'), made->>'to'),
    format('The workload, %s sessions, as fast as they can:', m->>'sessions')]
    || ARRAY(SELECT '    ' || ff_internal.rehearsal_words(c) FROM jsonb_array_elements(m->'classes') c)
    || ARRAY['Not modelled: triggers, foreign keys, defaults, other tables and the locks between them, queries that',
    'only read, values stored out of line, pauses between transactions. Statements are prepared (extended protocol),',
    'whatever the application uses. Generated and identity columns are plain ones.']
    || ARRAY(SELECT format('Left out, as a scratch server may not have what it needs: index %I', i)
        FROM jsonb_array_elements_text(t->'left_out') i)
    || ARRAY(SELECT format('Column %I is bytea of the same width here', c->>'name')
        FROM jsonb_array_elements(t->'columns') c WHERE (c->>'replaced')::boolean)
    || ARRAY['', 'Its last line is the result: SELECT * FROM ff_rehearsal_result(''...'') stores it on the source.',
    format('What it rehearses: ALTER TABLE %s SET (fillfactor = %s), rewritten; ff_script() writes that and its undo.',
           ff_internal.plain(ff_internal.qualified_name((made->>'relid')::oid)), made->>'to')]) l(line)
$$;

-- The documents of SQL, and the pgbench script, as shell functions.
CREATE FUNCTION ff_internal.rehearsal_documents(relation oid, made jsonb, predicted jsonb, m jsonb, t jsonb, life jsonb,
    prefix text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
    SELECT string_agg(ff_internal.rehearsal_document(d.name, d.command, d.document), '' ORDER BY d.place)
      FROM (VALUES
        (1, 'check', 'q -v existing=$existing', format($q$SELECT CASE
    WHEN s.system_identifier::text = %s THEN 'this is the server that the advice is for, or a clone of it'
    WHEN current_setting('server_version_num')::integer / 10000 < %s
        THEN 'this server is older than the one that the advice is for, PostgreSQL %s'
    WHEN pg_is_in_recovery() THEN 'this server is a standby'
    WHEN current_setting('block_size') <> '8192' THEN 'this server has another block size than 8 kB'
    WHEN NOT has_database_privilege(current_database(), 'CREATE') THEN 'no right to make a schema in this database'
    WHEN :'existing'::boolean AND o.copy IS NULL THEN 'there is no copy of the table in this database'
    WHEN :'existing'::boolean AND NOT has_table_privilege(o.copy, 'SELECT')
        THEN 'no right to read the copy of the table'
    WHEN NOT :'existing'::boolean AND EXISTS (SELECT FROM pg_class c WHERE c.oid >= 16384 AND c.relkind IN ('r', 'p',
        'v', 'm', 'f', 'S')
         AND c.relpersistence <> 't' AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass
             AND d.objid = c.oid AND d.deptype = 'e'))
    THEN 'this database is not empty' END
  FROM pg_control_system() s CROSS JOIN (SELECT (SELECT c.oid FROM pg_class c JOIN pg_namespace n
      ON n.oid = c.relnamespace
        WHERE c.relkind = 'r' AND (n.nspname, c.relname) = (%s, %s))) o(copy);$q$,
            ff_internal.quoted_text(made->>'system_identifier'),
            current_setting('server_version_num')::integer / 10000,
                current_setting('server_version_num')::integer / 10000,
            ff_internal.quoted_text(made->>'schema'), ff_internal.quoted_text(made->>'table'))),
        (2, 'setup', 'q -v existing=$existing -v short=$short >/dev/null',
            ff_internal.rehearsal_counting() || ff_internal.rehearsal_choosing()
            || ff_internal.rehearsal_functions(relation, t, life)
            || replace(pg_get_functiondef('ff_internal.rehearsal_judged(jsonb)'::regprocedure), 'ff_internal.',
                'ff_rehearsal.') || ';'
            || format(E'\nINSERT INTO ff_rehearsal.setup (mixture, predicted, made, short)\n'
                      'VALUES (%s, %s, %s, :short);',
                      ff_internal.quoted_text(m::text), ff_internal.quoted_text(predicted::text),
                          ff_internal.quoted_text(made::text))),
        (3, 'load', 'q "$@"', ff_internal.rehearsal_load(relation, t, prefix)),
        (4, 'bare', 'q', $q$SELECT format('CREATE OR REPLACE FUNCTION ff_rehearsal.base() RETURNS integer'
              ' LANGUAGE sql IMMUTABLE AS %L',
              'SELECT ' || round(avg(pg_column_size(t.*)))) FROM ff_rehearsal.t \gexec$q$),
        (5, 'choose', 'q "$@"', 'SELECT ff_rehearsal.choose(:seconds, :chosen, :memory);'),
        (6, 'workload', 'cat', rtrim(ff_internal.pgbench_script(m), E'\n')),
        (7, 'answer', 'psql -Xq -v ON_ERROR_STOP=1', $q$\pset footer off
SELECT measure, round(measured::numeric, 1) AS measured, round(low::numeric, 1) AS low, round(high::numeric, 1) AS high,
       round(predicted::numeric, 1) AS predicted, verdict FROM ff_rehearsal.rehearsal_judged(ff_rehearsal.result());
\pset format unaligned
\pset tuples_only on
SELECT ff_rehearsal.result();$q$)) d(place, name, command, document)
$$;

CREATE FUNCTION @extschema@.ff_rehearsal(relation regclass, fillfactor integer DEFAULT NULL) RETURNS SETOF text
LANGUAGE plpgsql STABLE ROWS 500
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v ff_internal.decision;
    made jsonb;
    predicted jsonb;
    life jsonb;
    t jsonb;
    m jsonb;
    -- no column of the table has such a name with a number behind it
    prefix text := 'c';
BEGIN
    IF relation IS NULL THEN
        RAISE 'relation must not be null' USING ERRCODE = 'null_value_not_allowed';
    ELSIF fillfactor NOT BETWEEN 10 AND 100 THEN
        RAISE 'fillfactor % is out of range', fillfactor USING ERRCODE = 'invalid_parameter_value',
            DETAIL = 'It must be between 10 and 100.';
    END IF;
    SELECT * INTO v FROM ff_internal.decisions(ff_internal.checked_table(relation), 1, true);
    life := ((v.fit).choice).lives->0;
    IF life IS NULL OR NOT EXISTS (SELECT FROM jsonb_array_elements(life->'classes') c
        WHERE c->>'command' = 'update') THEN
        RAISE 'nothing is known yet of how "%" is updated', (SELECT c.relname FROM pg_class c WHERE c.oid = relation)
            USING ERRCODE = 'object_not_in_prerequisite_state',
                  HINT = 'Run CALL ff_collect() before and after some of its updates.';
    END IF;
    fillfactor := coalesce(fillfactor, CASE WHEN v.action IN ('lower', 'raise') THEN v.recommended_fillfactor
                                            WHEN ((v.diagnosis).evidence).fillfactor > 90 THEN 90 ELSE 100 END);
    IF fillfactor = ((v.diagnosis).evidence).fillfactor THEN
        RAISE 'the table has fillfactor % already', fillfactor
            USING ERRCODE = 'invalid_parameter_value', HINT = 'Give the one to compare it with.';
    END IF;
    t := ff_internal.rehearsal_table(relation);
    IF t->>'key' IS NULL THEN
        RAISE 'no index of the table finds rows by a key that can be made up'
            USING ERRCODE = 'feature_not_supported',
                  DETAIL = 'A rehearsal needs a B-tree whose first column is a number, a text, a UUID or a time stamp.';
    END IF;
    WHILE EXISTS (SELECT FROM jsonb_array_elements(t->'columns') c WHERE c->>'name' ~ ('^' || prefix || '[0-9]+$')) LOOP
        prefix := prefix || 'c';
    END LOOP;
    SELECT f.made, f.predicted INTO made, predicted FROM ff_internal.rehearsal_facts(v, fillfactor) f;
    m := ff_internal.rehearsal_mixture(life, t, prefix);
    RETURN NEXT '#!/bin/sh';
    RETURN QUERY SELECT ff_internal.rehearsal_head(made, predicted, m, t);
    RETURN QUERY SELECT string_to_table(format(E'from=%s to=%s\n', made->>'from', made->>'to')
        || ff_internal.rehearsal_begins()
        || ff_internal.rehearsal_documents(relation, made, predicted, m, t, life, prefix)
            || ff_internal.rehearsal_runs() || rtrim(ff_internal.rehearsal_course(), E'\n'), E'\n');
END
$$;
COMMENT ON FUNCTION @extschema@.ff_rehearsal(regclass, integer) IS
'A shell script that shows on a scratch server what another fillfactor does to a table like this one: made-up rows, the workload that the advice assumes, both fillfactors by turns, what is measured beside what is predicted. Its head says how to run it; nothing is executed here.
relation: the table. fillfactor: to compare with that of the table; NULL: the one advised, or else 90 (100 for a table at 90 or less).
Errors: 22004 NULL, 42P01 unknown OID, 42809 not a table, 22023 fillfactor out of range or that of the table, 55000 no updates are known, 0A000 no usable key.';

-- ---------------------------------------------------------------------------
-- The result, back where the advice comes from
-- ---------------------------------------------------------------------------
-- Whether all that the judging takes from a result is there, of its type, and within bounds; numbers out of range, NaN
-- and runs that do not make pairs are not. Errors of a cast are the caller's to name.
CREATE FUNCTION ff_internal.rehearsal_complete(result jsonb) RETURNS boolean
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH run AS (
        SELECT * FROM jsonb_to_recordset(result->'runs')
               x(pair integer, side text, hot_pct float8, wal_bytes float8, rows_per_page float8, size_bytes float8,
                   tps float8, latency_ms float8)
    )
    SELECT (SELECT count(*) BETWEEN 8 AND 22 AND bool_and(coalesce(r.pair BETWEEN 0 AND 10
                   AND r.side = ANY (CASE r.pair WHEN 0 THEN '{A1,A2}'::text[] ELSE '{A,B}' END) AND r.hot_pct BETWEEN 0
                       AND 100
                   AND r.wal_bytes BETWEEN 1 AND 1e9 AND r.rows_per_page BETWEEN 0 AND 300 AND r.size_bytes BETWEEN 1
                       AND 1e15
                   AND r.tps BETWEEN 1e-6 AND 1e9 AND r.latency_ms BETWEEN 1e-6 AND 1e9, false))
                   AND count(*) = 2 * (max(r.pair) + 1) AND count(DISTINCT (r.pair, r.side)) = count(*) FROM run r)
       AND (result->>'from')::integer BETWEEN 10 AND 100 AND (result->>'to')::integer BETWEEN 10 AND 100
       AND (SELECT coalesce(bool_and((p.range->>1)::float8 BETWEEN 0 AND (p.range->>0)::float8
                                     AND (p.range->>0)::float8 <= (p.range->>2)::float8
                                         AND (p.range->>2)::float8 <= 100), false)
              FROM (VALUES (result->'predicted'->'hot_a'), (result->'predicted'->'hot_b')) p(range))
       AND coalesce((result->'predicted'->'wal_pct'->>0)::float8 BETWEEN 0.1 AND 1e5, true)
       AND coalesce((result->'predicted'->'size_pct'->>0)::float8 BETWEEN 0.1 AND 1e5, true)
       AND coalesce((result->'predicted'->'rows_a'->>0)::float8 + (result->'predicted'->'rows_b'->>0)::float8 BETWEEN 2
           AND 600, true)
       AND (result->>'measured_at')::timestamptz BETWEEN now() - ff_internal.lookback() AND now() + interval '1 day'
$$;

CREATE FUNCTION @extschema@.ff_rehearsal_result(result jsonb)
RETURNS TABLE (measure text, measured real, low real, high real, predicted real, verdict text)
LANGUAGE plpgsql VOLATILE ROWS 12
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    most_bytes CONSTANT integer := 65536;       -- of a result; 22 runs take 4 kB
    most_kept  CONSTANT integer := 10;          -- of a table
    id         bigint;
    complete   boolean := false;
BEGIN
    IF result IS NULL THEN
        RAISE 'the result must not be null' USING ERRCODE = 'null_value_not_allowed';
    END IF;
    IF octet_length(result::text) <= most_bytes THEN
        BEGIN
            complete := result->>'format' = '1' AND ff_internal.rehearsal_complete(result);
        EXCEPTION WHEN data_exception THEN
            RAISE 'not the result of a rehearsal' USING ERRCODE = 'invalid_parameter_value', DETAIL = SQLERRM || '.';
        END;
    END IF;
    IF complete IS NOT TRUE THEN
        RAISE 'not the result of a rehearsal' USING ERRCODE = 'invalid_parameter_value',
            DETAIL = 'Something is missing in it, of another type, too large or out of range.',
            HINT = 'Pass the last line that the script of ff_rehearsal() printed, as it is.';
    ELSIF result->>'system_identifier' <> (SELECT s.system_identifier::text FROM ff_internal.server() s) THEN
        RAISE 'the rehearsal was written by another server' USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    SELECT r.rel_id INTO id FROM ff_internal.relation r
      JOIN pg_class c ON c.oid = r.relid JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE r.closed_at IS NULL AND (c.oid::bigint::text, n.nspname, c.relname) = (result->>'relid', result->>'schema',
         result->>'table');
    IF id IS NULL THEN
        RAISE 'the table of the rehearsal is not in this database, or not collected'
            USING ERRCODE = 'undefined_table';
    END IF;
    INSERT INTO ff_internal.rehearsal
    SELECT id, (result->>'measured_at')::timestamptz, clock_timestamp(), (result->>'from')::smallint,
        (result->>'to')::smallint,
           max(j.verdict) FILTER (WHERE j.place = 12), max(j.measured) FILTER (WHERE j.place = 2), (p.hot->>0)::float8,
               (p.hot->>1)::float8,
           (p.hot->>2)::float8, result
      FROM ff_internal.rehearsal_judged(result) j CROSS JOIN (SELECT result->'predicted'->'hot_b') p(hot) GROUP BY p.hot
    ON CONFLICT (rel_id, measured_at) DO NOTHING;
    DELETE FROM ff_internal.rehearsal o WHERE o.rel_id = id AND o.measured_at NOT IN (
        SELECT k.measured_at FROM ff_internal.rehearsal k WHERE k.rel_id = id
            ORDER BY k.measured_at DESC LIMIT most_kept);
    RETURN QUERY SELECT j.measure, j.measured::numeric(30, 3)::real, j.low::numeric(30, 3)::real, j.high::numeric(30,
        3)::real,
                        j.predicted::numeric(30, 3)::real, j.verdict FROM ff_internal.rehearsal_judged(result) j;
END
$$;
COMMENT ON FUNCTION @extschema@.ff_rehearsal_result(jsonb) IS
'Stores the result of a rehearsal, the last line that the script of ff_rehearsal() printed, and shows what it says: one row a measure, the verdict last. ff_advise() mentions the newest of a table, and its confidence counts it. The last ten of a table are kept; one stored twice is stored once.
result: the line. measure: what. measured, low, high: mean over the pairs with its 95 % interval. predicted: by the advice. verdict: held, did not hold, noise too large, NULL where nothing is judged; of the last row: prediction held, did not hold, noise too large.
Errors: 22004 NULL, 22023 not a result, 55000 of another server, 42P01 the table is not here.';
