-- Turns the document of ff_rehearsal() into what runs on the scratch server: a table and its workload as pgbench.sql
-- takes it.
--
-- The table is not an imitation. It has the key id, the integer n that no index has, one integer for each other index,
-- and a padding that gives rows their lengths: HOT share, WAL and size depend on these.

-- Returns the table. columns: integers with an index, i1 and so on; at most five, and no more than the shortest row has
-- room for: further indexes are on the same columns. indexes: besides that of the key. new: values of a new row {n}.
-- resize: what an update sets to give a row its next length.
--
-- Lengths are known in steps of eight bytes; a row gets the middle of its step. Row n takes the length at 1 + n * 7 %
-- (number of lengths), so that neighbours differ. A row grows or shrinks by equal steps, of which the first starts at
-- the end of its eight bytes: a length is rounded up, as in the twin.
CREATE FUNCTION ff_rehearsal.shape(document jsonb, OUT columns integer, OUT indexes integer, OUT new text,
                                   OUT resize text)
LANGUAGE sql STABLE
AS $$
    WITH given AS (
        SELECT ARRAY(SELECT l::integer FROM jsonb_array_elements_text(d.w->'insert_len') l) AS inserted,
               ARRAY(SELECT l::integer FROM jsonb_array_elements_text(d.w->'update_len') l) AS final,
               greatest(1, (d.w->>'grow_updates')::float8) AS updates,
               greatest((document->'table'->>'indexes')::integer - 1,
                        jsonb_path_exists(d.w, '$.classes[*] ? (@.indexed > 0)')::integer) AS indexes
          FROM (SELECT document->'workload') d(w)
    ), sized AS (
        SELECT g.*, least(g.indexes, 5, greatest(1, ((SELECT min(l) FROM unnest(g.inserted) l) - 32) / 4)) AS columns
          FROM given g
    ), pad AS (
        -- bytes of the padding; the rest of a row: 24 of header, id, n, the indexed integers, 4 of the padding's header
        SELECT s.columns, s.indexes, array_agg(p.was ORDER BY p.o) AS was, array_agg(p.becomes ORDER BY p.o) AS becomes,
               -- NULL where there is no room even for its header
               array_agg(CASE WHEN u.was >= 36 + 4 * s.columns THEN p.was END ORDER BY p.o) AS new,
               array_agg(ceil(abs(p.becomes - p.was) / s.updates)::integer ORDER BY p.o) AS step
          FROM sized s
         CROSS JOIN LATERAL unnest(s.inserted, s.final) WITH ORDINALITY u(was, becomes, o)
         CROSS JOIN LATERAL (SELECT u.o, greatest(0, u.was - 40 - 4 * s.columns),
                                    greatest(0, u.becomes - 40 - 4 * s.columns)) p(o, was, becomes)
         GROUP BY s.columns, s.indexes
    )
    SELECT p.columns, p.indexes,
           format('{n}, 0, %srepeat(''p'', (''%s''::integer[])[1 + {n} * 7::bigint %% %s])',
                  repeat('{n}, ', p.columns), p.new, cardinality(p.new)),
           format(replace(replace(
               'pad = repeat(''p'', CASE WHEN %1$s{i} <= %2$s{i}'
               ' THEN least(%2$s{i}, {now} + CASE WHEN {now} <= %1$s{i} THEN 4 ELSE 0 END + %3$s{i})'
               ' ELSE greatest(%2$s{i}, {now} - %3$s{i}) END)',
               '{i}', '[1 + t.id * 7::bigint %% %4$s]'), '{now}', 'coalesce(length(t.pad), 0)'),
               format('(''%s''::integer[])', p.was), format('(''%s''::integer[])', p.becomes),
               format('(''%s''::integer[])', p.step), cardinality(p.was))
      FROM pad p
$$;

-- Returns the classes of a document's workload as pgbench.sql takes them, with what only the rehearsal needs: rate,
-- rows for each row updated; indexed, it changes an indexed column; resizes, it changes the length of the row. resize:
-- what sets the next length.
CREATE FUNCTION ff_rehearsal.classes(workload jsonb, sessions integer, resize text) RETURNS jsonb
LANGUAGE sql STABLE
AS $$
    WITH class AS (
        SELECT x.*, l.place, greatest(1, round(x.stride)) AS every,
               x.rows / (workload->>'replayed_rows')::float8 AS part,
               sum(x.rate) FILTER (WHERE x.command = 'insert') OVER () AS inserts
          FROM jsonb_array_elements(workload->'classes') WITH ORDINALITY l(class, place)
         CROSS JOIN LATERAL jsonb_to_record(l.class) x(command text, pick text, rate float8, rows float8,
               distance float8, near float8, skew float8, stride float8, indexed float8, resizes float8,
               all_rows float8)
    ), shaped AS (
        -- If only some updates change an indexed column, they become two classes; so does each return to new rows.
        SELECT c.*, i.is_indexed, i.sets, t.turns, k AS turn, c.rate * i.share / t.turns AS calls_rate,
               greatest(1, round(c.rows)) AS n,
               -- a few rows, each picked by itself: one statement for each
               c.stride < 0.5 AND c.rows <= 20 AND c.pick NOT IN ('turn', 'sweep') AND c.command = 'update' AS single,
               -- takes a share of the table: the twin gives other classes at most a quarter of the replayed rows
               c.part * greatest(1, c.stride) > 0.251 AND c.command = 'update' AS scaled,
               CASE WHEN c.command = 'delete' THEN 'oldest' WHEN c.all_rows > 0 THEN 'all'
                    -- a sweep not much faster than the inserts takes each new row once
                    WHEN c.pick = 'turn' OR c.pick = 'sweep' AND c.rate <= 1.2 * c.inserts THEN 'follow'
                    WHEN c.pick = 'sweep' THEN 'turn' ELSE c.pick END AS how
          FROM class c
         CROSS JOIN LATERAL (VALUES (false, 'n = t.n + 1', 1 - c.indexed), (true, 'i1 = t.i1 + 1', c.indexed)
                            ) i(is_indexed, sets, share)
         CROSS JOIN LATERAL (SELECT CASE WHEN c.pick = 'turn' AND c.inserts > 0
               THEN least(4, greatest(1, ceil(c.rate * greatest(1, c.stride) / c.inserts / 1.05))) ELSE 1 END) t(turns)
         CROSS JOIN LATERAL generate_series(1, t.turns::integer) k
         -- a smaller share is a rounding error
         WHERE i.share > 0.0001 AND (c.command <> 'delete' OR c.inserts > 0)
    )
    SELECT jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
               'command', s.command, 'pick', s.how,
               'rate', s.calls_rate,
               -- a share of the table is taken of 20000 rows, about as many as a rehearsal has
               'weight', s.calls_rate / CASE WHEN s.how = 'all' THEN 20000 / s.every
                                             WHEN s.scaled THEN 20000 * s.part ELSE s.n END,
               'rows', CASE WHEN s.single THEN 1 ELSE s.n END, 'calls', CASE WHEN s.single THEN s.n END,
               'distance', CASE WHEN s.how = 'newest'
                                THEN jsonb_build_array(d.near, greatest(d.near, ceil(s.distance / sessions) - 1))
                                WHEN s.pick = 'turn'
                                THEN jsonb_build_array(ceil(s.distance * s.turn / s.turns / sessions))
                                WHEN s.how = 'follow' AND (workload->>'start_rows')::float8 >= 1
                                THEN '[":rows / :sessions"]'
                                WHEN s.how = 'follow' THEN '[0]'::jsonb END,
               -- rows to advance: as many as are inserted from call to call, but at least those that a call spans
               'step', CASE WHEN s.how = 'follow'
                            THEN greatest(1, round(s.n * greatest(s.every, s.inserts * s.turns / s.rate))) END)
               || CASE s.command WHEN 'update' THEN jsonb_build_object(
               'part', CASE WHEN s.how = 'all' THEN 1.0 / s.every
                            WHEN s.scaled THEN s.part END,
               'every', CASE WHEN NOT s.single THEN
                             CASE WHEN s.stride < 0.5 AND s.how IN ('any', 'skewed') THEN 0 ELSE s.every END END,
               -- pgbench's smallest exponent is 1.001
               'skew', CASE WHEN s.how = 'skewed' THEN greatest(1.001, s.skew) END,
               -- the twin spreads the favourites, too
               'scattered', CASE WHEN s.how = 'skewed' THEN true END,
               'indexed', CASE WHEN s.is_indexed THEN true END,
               'resizes', CASE WHEN s.resizes > 0 THEN true END,
               'set', concat_ws(', ', CASE WHEN s.resizes > 0 THEN resize END, s.sets)) ELSE '{}' END)
               ORDER BY s.place, s.is_indexed, s.turn)
      FROM shaped s CROSS JOIN LATERAL ceil(s.near / sessions) d(near)
$$;

-- Describes a class of a workload in words.
CREATE FUNCTION ff_rehearsal.words(c jsonb) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN concat_ws(', ', (c->>'command') || ' of ' || CASE
               WHEN c->>'pick' = 'all' THEN 'all rows'
               WHEN c ? 'part' THEN round(100 * (c->>'part')::numeric, 1) || ' % of the table'
               ELSE concat((c->>'rows')::bigint * coalesce((c->>'calls')::bigint, 1), ' rows') END,
           '{"any": "at random", "skewed": "some far more often than others", "newest": "recently inserted",
             "follow": "each some time after its insert", "turn": "in turn", "oldest": "the oldest"}'::jsonb
               ->>(CASE WHEN c->>'command' <> 'insert' THEN c->>'pick' END),
           CASE c->>'every' WHEN '0' THEN 'each by itself' WHEN '1' THEN NULL ELSE 'one in ' || (c->>'every') END,
           CASE c->>'indexed' WHEN 'true' THEN 'changes an indexed column' END,
           CASE c->>'resizes' WHEN 'true' THEN 'changes the length of the row' END)
       || format('; %s rows per 100 updates', round(100 * (c->>'rate')::numeric, 1));

-- Returns the workload of a document as pgbench.sql takes it, with what the phases need: when to vacuum (vacuum_share,
-- vacuum_gap), and the part of a cycle in which a snapshot is held (held_share), in updates of each row (held_cycle, 0:
-- none is held).
CREATE FUNCTION ff_rehearsal.workload(document jsonb, new text, resize text) RETURNS jsonb
LANGUAGE sql STABLE
AS $$
    SELECT jsonb_build_object('sessions', s.sessions, 'held_share', h.share, 'classes', c.classes,
               -- held for less than one transaction counts as not held, as in the twin
               'held_cycle', CASE WHEN h.held >= 1 AND h.share > 0 THEN h.held / h.share / h.rows / h.work ELSE 0 END,
               'vacuum_share', document->'workload'->'vacuum_share', 'vacuum_gap', document->'workload'->'vacuum_gap',
               'oldest', '1 - :rows / :sessions' || coalesce((
                   SELECT format(' + :turn%s * %s', d.ordinality - 1, d.value->>'rows')
                     FROM jsonb_array_elements(c.classes) WITH ORDINALITY d
                    WHERE d.value->>'pick' = 'oldest' LIMIT 1), ''),
               'table', jsonb_build_object('name', 'ff_rehearsal.t', 'values', new))
      FROM (SELECT l.*, (SELECT sum(c.rate / c.rows)
                           FROM jsonb_to_recordset(document->'workload'->'classes') c(rate float8, rows float8))
              FROM jsonb_to_record(document->'workload')
                   l(lag float8, held float8, held_share float8, replayed_rows float8)) h(lag, held, share, rows, work)
      -- As many as make the oldest snapshot about as old as on the source; with 3, 5 or 8, pgbench_script() would give
      -- each session the same class many times in a row.
     CROSS JOIN LATERAL (SELECT CASE WHEN h.lag < 0.25 THEN 1 WHEN h.lag < 1 THEN 2 ELSE 4 END) s(sessions)
     CROSS JOIN ff_rehearsal.classes(document->'workload', s.sessions, resize) c(classes)
$$;
