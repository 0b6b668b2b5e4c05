-- Stage mixture: turns a life that the model found into a mixture, the table's workload as JSON, and a mixture into a
-- pgbench script. Rehearsals and the project's benches run the same script.
--
-- A mixture has a table and classes of transactions; doc/rehearsal.md lists its members. Loaded rows are numbered from
-- 1 to :rows, and the :i rows that a session has inserted from :own + 1 on. If a class takes a part of the table, its
-- number of rows is a pgbench variable.

-- Returns pgbench lines for class k of mixture m. They set :a to the number of a call's first row and, if a call takes
-- several rows, :b to that of the last. For pick all, :a is a remainder modulo every.
CREATE FUNCTION ff_internal.pgbench_pick(m jsonb, k integer, c jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
    WITH class AS (
        SELECT c->>'pick' AS pick, coalesce(c->>'every', '1') AS every, c->'distance'->>0 AS near,
               c->'distance'->>1 AS far,
               CASE coalesce(c->>'every', '1') WHEN '1' THEN r.rows ELSE r.rows || ' * ' || (c->>'every') END AS span,
               EXISTS (SELECT FROM jsonb_array_elements(m->'classes') d WHERE d->>'command' = 'insert') AS inserts,
               (SELECT d->'distance'->>0 FROM jsonb_array_elements(m->'classes') d
                 WHERE d->>'command' = 'delete' AND d->>'pick' = 'newest' LIMIT 1) AS kept,
               coalesce(m->>'oldest', '1 - :rows') AS oldest,
               -- :x > 0: a row that the session inserted; otherwise a loaded one: any, or one of the session's share
               format(E'\n\\set a case when :x > 0 then :own + :x else greatest(1, :rows + %s) end',
                      CASE WHEN m ? 'oldest' THEN ':x * :sessions - :client_id' ELSE ':x' END) AS own
          FROM (SELECT coalesce(c->>'rows', '1')) r(rows)
    )
    SELECT CASE
        WHEN s.pick = 'all' THEN
            format(E'\\set turn%1$s :turn%1$s + 1\n\\set a (:turn%1$s + :client_id) %% %2$s', k, s.every)
        WHEN s.pick = 'oldest' THEN
            format(E'\\set x %3$s\n\\set a (:turn%1$s * :sessions + :client_id) * %2$s + 1\n'
                   '\\set a case when :x > 0 then :own + :x else :a end\n\\set turn%1$s :turn%1$s + 1',
                   k, s.span, s.oldest)
        WHEN s.pick = 'newest' THEN format('\set x :i - random(%s, %s) - (%s - 1)', s.near, s.far, s.span) || s.own
        WHEN s.pick = 'follow' THEN
            format(E'\\set x :i - greatest(0, %3$s - %4$s)\n'
                   '\\set turn%1$s case when :turn%1$s < 0 then :begun - greatest(0, %3$s - %4$s) else :turn%1$s end\n'
                   '\\set due :turn%1$s + %2$s <= :x\n'
                   '\\set turn%1$s case when :due then greatest(:turn%1$s + %2$s, :x - 4 * %4$s) else :turn%1$s end\n'
                   '\\set x :turn%1$s - (%4$s - 1)', k, c->>'step', s.near, s.span) || s.own
        WHEN s.pick = 'turn' AND s.inserts THEN
            format(E'\\set turn%1$s :turn%1$s + 1\n'
                   '\\set x %3$s + :turn%1$s * %2$s %% greatest(1, :left - %2$s + 1)', k, s.span, s.oldest) || s.own
        WHEN s.pick = 'turn' THEN
            format(E'\\set turn%1$s :turn%1$s + 1\n'
                   '\\set a 1 + (:turn%1$s * %2$s + :client_id * (:rows / :sessions)) %% %3$s', k, s.span, l.last)
        WHEN s.pick = 'skewed' THEN
            format('\set a random_zipfian(1, %s, %s)', l.last, coalesce(c->>'skew', '1.05'))
            || CASE WHEN coalesce((c->>'scattered')::boolean, s.span = '1')
                    THEN format(E'\n\\set a 1 + permute(:a - 1, %s)', l.last) ELSE '' END
            || CASE WHEN s.inserts THEN format(E'\n\\set x %s - 1 + :a', s.oldest) || s.own ELSE '' END
        -- one number in eleven is beyond the loaded rows: its first upsert inserts the row
        WHEN c->>'command' = 'upsert' THEN '\set a random(1, :rows + :rows / 10)'
        WHEN s.kept IS NOT NULL THEN format('\set x :i - random(0, %s)', s.kept) || s.own
        WHEN s.inserts THEN format('\set x random(%s, :i)', s.oldest) || s.own
        ELSE format('\set a random(1, %s)', l.last) END
        || CASE WHEN s.pick = 'all' OR s.span = '1' THEN E'\n' ELSE format(E'\n\\set b :a + %s - 1\n', s.span) END
      FROM class s
     CROSS JOIN LATERAL (SELECT CASE WHEN s.inserts THEN ':left' ELSE ':rows' END) r(rows)
     CROSS JOIN LATERAL (SELECT CASE s.span WHEN '1' THEN r.rows
                                     ELSE format('greatest(1, %s - %s + 1)', r.rows, s.span) END) l(last)
$$;

-- Returns the WHERE clause for the rows of a call of class c; empty: all rows. t: the mixture's table.
CREATE FUNCTION ff_internal.pgbench_where(t jsonb, c jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE
        WHEN c->>'pick' = 'all' AND s.every > 1 THEN format(' WHERE %s %% %s = :a', t->>'number', s.every)
        WHEN c->>'pick' = 'all' THEN ''
        -- picks each row by itself
        WHEN s.every = 0 THEN
            format(' WHERE %s = ANY (ARRAY(SELECT %s FROM (SELECT 1 + floor(random() * :rows)::bigint AS g'
                   ' FROM generate_series(1, %s)) r))', t->>'key', replace(t->>'to_key', '{n}', 'g'), s.rows)
        WHEN s.rows = '1' THEN format(' WHERE %s = %s', t->>'key', replace(t->>'to_key', '{n}', ':a'))
        ELSE format(' WHERE %s BETWEEN %s AND %s', t->>'key',
                    replace(t->>'to_key', '{n}', ':a'), replace(t->>'to_key', '{n}', ':b'))
             || CASE WHEN s.every > 1 THEN format(' AND (%s - :a) %% %s = 0', t->>'number', s.every) ELSE '' END END
      FROM (SELECT coalesce((c->>'every')::bigint, 1), coalesce(c->>'rows', '1')) s(every, rows)
$$;

-- Returns the pgbench lines of a transaction of class k.
CREATE FUNCTION ff_internal.pgbench_transaction(m jsonb, k integer, c jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
    WITH class AS (
        SELECT m->'table'->>'name' AS name, m->'table'->>'key' AS key,
               -- g, not :a: pgbench allows 255 variables in a statement
               replace(m->'table'->>'values', '{n}', 'g') AS new,
               coalesce(c->>'rows', '1') AS rows, ff_internal.pgbench_where(m->'table', c) AS these,
               coalesce((c->>'calls')::integer, 1) AS calls, coalesce(c->>'ends', 'COMMIT') AS ends
    ), call AS (
        SELECT s.*, CASE WHEN c->>'command' <> 'insert'
            THEN CASE c->>'every' WHEN '0' THEN '' ELSE ff_internal.pgbench_pick(m, k, c) END
                 -- does nothing if no row has waited long enough
                 || CASE c->>'pick' WHEN 'follow' THEN E'\\if :due\n' ELSE '' END
                 || CASE c->>'command'
                    WHEN 'update' THEN format('UPDATE %s t SET %s%s', s.name, c->>'set', s.these)
                    WHEN 'delete' THEN format('DELETE FROM %s%s', s.name, s.these)
                    WHEN 'select' THEN format('SELECT * FROM %s%s', s.name, s.these)
                    WHEN 'upsert' THEN format('INSERT INTO %s AS t SELECT %s FROM (VALUES (:a::bigint)) r(g)'
                                              ' ON CONFLICT (%s) DO UPDATE SET %s', s.name, s.new, s.key, c->>'set')
                    END || E';\n'
                 || CASE c->>'pick' WHEN 'follow' THEN E'\\endif\n' ELSE '' END
            WHEN s.rows = '1'
            THEN format(E'\\set a :own + :i + 1\n\\set i :i + 1\n'
                        'INSERT INTO %s SELECT %s FROM (VALUES (:a::bigint)) r(g);\n', s.name, s.new)
            ELSE format(E'\\set a :own + :i + 1\n\\set i :i + %s\n\\set b :own + :i\n'
                        'INSERT INTO %s SELECT %s FROM generate_series(:a::bigint, :b::bigint) g;\n',
                        s.rows, s.name, s.new) END AS text
          FROM class s
    )
    SELECT CASE WHEN s.calls = 1 AND s.ends = 'COMMIT' THEN s.text
                ELSE E'BEGIN;\n' || repeat(s.text, s.calls) || s.ends || E';\n' END
      FROM call s
$$;

-- Returns the pgbench script of a mixture: one transaction of one of its classes. It needs -D rows, sessions, and for
-- each class k (from 0) nk: its transactions in this phase, of all sessions together; turnk: calls that one session
-- made before, -1 for pick follow; n, own and i: 0. Each class gets its exact number of transactions, spread evenly.
-- pgbench's choice by weight is random: of sixteen passes over a table, the halves of a run could get five and eleven.
CREATE FUNCTION ff_internal.pgbench_script(m jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
    -- few: a class with fewer transactions in a phase gets them by count, others by share. Multiples of the stride,
    -- modulo the prime, fall evenly into any part of it. range: row numbers of one session.
    WITH constant AS (
        SELECT 100 AS few, 618037 AS stride, 1000003 AS modulus, 100000000 AS range
    ), class AS (
        SELECT k, x.value || CASE WHEN x.value ? 'part' THEN jsonb_build_object('rows', ':part' || k) ELSE '{}' END c,
               row_number() OVER (ORDER BY (x.value->>'weight')::float8, x.value->>'command' <> 'insert',
                   x.ordinality) AS place
          FROM jsonb_array_elements(m->'classes') WITH ORDINALITY x
         CROSS JOIN LATERAL (SELECT x.ordinality::integer - 1) n(k)
    ), begun AS (
        -- rare: transactions given by count; from, to: the others' parts of the prime. The most frequent class is never
        -- rare, because it gets what is left.
        SELECT E'\\set total 0\n\\set most 0\n\\set to 0\n'
            || string_agg(format(E'\\set total :total + :n%1$s\n\\set most greatest(:most, :n%1$s)\n', x.k)
                          || CASE WHEN x.c->'part' IS NULL THEN ''
                                  ELSE format(E'\\set part%s greatest(1, int(:rows * %s))\n', x.k, x.c->>'part') END,
                                      '')
            || E'\\set total (:total + :sessions - 1) / :sessions * :sessions\n'
            || string_agg(format(E'\\set rare%1$s case when :n%1$s < least(%2$s, :most) then :n%1$s else 0 end\n'
                                 '\\set from%1$s :to\n\\set to :to + :n%1$s - :rare%1$s\n\\set to%1$s :to\n',
                                 x.k, k.few), '' ORDER BY x.place)
            || string_agg(format(E'\\set from%1$s :from%1$s * %2$s / greatest(1, :to)\n'
                                 '\\set to%1$s :to%1$s * %2$s / greatest(1, :to)\n', x.k, k.modulus), '') AS text
          FROM class x CROSS JOIN constant k
    ), chosen AS (
        -- Rare classes come first, the rarest before all: if two claim a transaction, the more frequent loses little.
        SELECT format(E'\\set pick case%s%s end\n',
                      string_agg(format(' when (:g * :rare%1$s + %2$s * :total / %3$s) %% :total < :rare%1$s then %1$s',
                                        x.k, k.stride * x.place * x.place % k.modulus, k.modulus), '' ORDER BY x.place),
                      string_agg(format(' when :u >= :from%1$s and :u < :to%1$s then %1$s', x.k), '' ORDER BY x.place))
               || string_agg(format(E'\\%s :pick = %s\n%s', CASE x.place WHEN 1 THEN 'if' ELSE 'elif' END, x.k,
                                    ff_internal.pgbench_transaction(m, x.k, x.c)), '' ORDER BY x.place) AS text
          FROM class x CROSS JOIN constant k
    )
    SELECT E'\\if :n = 0\n' || b.text
           || format(E'\\set own (:client_id + 1) * %s\n'
                     'SELECT greatest(0, max(%s) - :own) AS i FROM %s WHERE %s > %s AND %s < %s\n\\gset\n'
                     '\\set begun :i\n\\set left :i + 1 - (%s)\n\\endif\n',
                     k.range, t->>'number', t->>'name', t->>'key', replace(t->>'to_key', '{n}', ':own'),
                     t->>'key', replace(t->>'to_key', '{n}', format('(:own + %s)', k.range)),
                     coalesce(m->>'oldest', '1 - :rows'))
           || format(E'\\set g :n * :sessions + :client_id\n\\set n :n + 1\n\\set u (:g * %s) %% %s\n%s\\endif\n',
                     k.stride, k.modulus, c.text)
      FROM constant k CROSS JOIN begun b CROSS JOIN chosen c CROSS JOIN (SELECT m->'table') t(t)
$$;

-- ---------------------------------------------------------------------------
-- A life as a mixture
-- ---------------------------------------------------------------------------
-- Returns the classes of a life as classes of a mixture, as in doc/rehearsal.md. t: result of rehearsal_table().
CREATE FUNCTION ff_internal.rehearsal_classes(life jsonb, t jsonb, sessions integer) RETURNS jsonb
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH class AS (
        SELECT x.*, l.place, greatest(1, round(x.stride)) AS every, x.rows / (life->>'replayed_rows')::float8 AS part,
               sum(x.rate) FILTER (WHERE x.command = 'insert') OVER () AS inserts
          FROM jsonb_array_elements(life->'classes') WITH ORDINALITY l(class, place)
         CROSS JOIN LATERAL jsonb_to_record(l.class) x(command text, pick text, rate float8, rows float8,
               distance float8, near float8, skew float8, stride float8, indexed float8, resizes float8, whole float8)
    ), shaped AS (
        -- If only some updates change an indexed column, they become two classes. If updates return to new rows, each
        -- return becomes a class with its own distance, as in the twin.
        SELECT c.*, i.touch, t.turns, k AS turn, c.rate * i.share / t.turns AS calls_rate,
               greatest(1, round(c.rows)) AS n,
               -- a few rows, each picked by itself: one statement for each
               c.stride < 0.5 AND c.rows <= 20 AND c.pick NOT IN ('turn', 'sweep') AND c.command = 'update' AS single,
               -- takes a share of the table: the twin gives other classes at most a quarter of the replayed rows
               c.part * greatest(1, c.stride) > 0.251 AND c.command = 'update' AS scaled,
               CASE WHEN c.command = 'delete' THEN 'oldest' WHEN c.whole > 0 THEN 'all'
                    -- a sweep not much faster than the inserts takes each new row once
                    WHEN c.pick = 'turn' OR c.pick = 'sweep' AND c.rate <= 1.2 * c.inserts THEN 'follow'
                    WHEN c.pick = 'sweep' THEN 'turn' ELSE c.pick END AS how
          FROM class c
         CROSS JOIN LATERAL (VALUES ('touch', 1 - c.indexed), ('touch_indexed', c.indexed)) i(touch, share)
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
                                WHEN s.how = 'follow' AND (life->>'start_rows')::float8 >= 1
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
               'indexed', CASE WHEN s.touch = 'touch_indexed' THEN true END,
               'resizes', CASE WHEN s.resizes > 0 THEN true END,
               'set', CASE WHEN s.resizes = 0 OR NOT t ? 'pad' THEN t->>s.touch
                           WHEN t->>s.touch ^@ concat(t->>'pad', ' =') THEN t->>'resize_touch'
                           ELSE concat_ws(', ', t->>'resize', t->>s.touch) END) ELSE '{}' END)
               ORDER BY s.place, s.touch, s.turn)
      FROM shaped s CROSS JOIN LATERAL ceil(s.near / sessions) d(near)
$$;

-- Describes a class of a mixture in words.
CREATE FUNCTION ff_internal.rehearsal_words(c jsonb) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN concat_ws(', ', (c->>'command') || ' of ' || CASE
               WHEN c->>'pick' = 'all' THEN 'all rows'
               WHEN c ? 'part' THEN round(100 * (c->>'part')::numeric, 1) || ' % of the table'
               ELSE ff_internal.counted((c->>'rows')::bigint * coalesce((c->>'calls')::bigint, 1), 'row') END,
           '{"any": "at random", "skewed": "some far more often than others", "newest": "recently inserted",
             "follow": "each some time after its insert", "turn": "in turn", "oldest": "the oldest"}'::jsonb
               ->>(CASE WHEN c->>'command' <> 'insert' THEN c->>'pick' END),
           CASE c->>'every' WHEN '0' THEN 'each by itself' WHEN '1' THEN NULL ELSE 'one in ' || (c->>'every') END)
       || CASE WHEN c->>'indexed' = 'true' THEN ', changes an indexed column' ELSE '' END
       || CASE WHEN c->>'resizes' = 'true' THEN ', changes the length of the row' ELSE '' END
       || format(CASE c->>'command' WHEN 'update' THEN '; %s %% of the updates' ELSE '; %s rows per 100 updates' END,
                 round(100 * (c->>'rate')::numeric, 1));

-- Returns a life as a mixture: the input of pgbench_script() and, on the scratch server, of each phase's counts.
CREATE FUNCTION ff_internal.rehearsal_mixture(life jsonb, t jsonb) RETURNS jsonb
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT jsonb_build_object('sessions', s.sessions, 'held_share', h.share, 'classes', (
                   SELECT jsonb_agg(d.value || jsonb_build_object('words', ff_internal.rehearsal_words(d.value))
                                    ORDER BY d.ordinality)
                     FROM jsonb_array_elements(c.classes) WITH ORDINALITY d),
               -- held for less than one transaction counts as not held, as in the twin
               'held_cycle', CASE WHEN h.held >= 1 AND h.share > 0 THEN h.held / h.share / h.rows / h.work ELSE 0 END,
               'vacuum_share', life->'vacuum_share', 'vacuum_gap', life->'vacuum_gap',
               'oldest', '1 - :rows / :sessions' || coalesce((
                   SELECT format(' + :turn%s * %s', d.ordinality - 1, d.value->>'rows')
                     FROM jsonb_array_elements(c.classes) WITH ORDINALITY d
                    WHERE d.value->>'pick' = 'oldest' LIMIT 1), ''),
               'table', jsonb_build_object('name', 'ff_rehearsal.t', 'key', t->'key', 'to_key', 'ff_rehearsal.key({n})',
                   'number', format('ff_rehearsal.number(%s)', t->>'key'), 'values', t->'values'))
      FROM (SELECT l.*, (SELECT sum(c.rate / c.rows)
                           FROM jsonb_to_recordset(life->'classes') c(rate float8, rows float8))
              FROM jsonb_to_record(life) l(lag float8, held float8, held_share float8, replayed_rows float8))
           h(lag, held, share, rows, work)
      -- As many sessions as make the oldest snapshot about as old as on the source. With 3, 5 or 8 sessions, the order
      -- of pgbench_script() would give each session the same class many times in a row.
     CROSS JOIN LATERAL (SELECT CASE WHEN h.lag < 0.25 THEN 1 WHEN h.lag < 1 THEN 2 ELSE 4 END) s(sessions)
     CROSS JOIN ff_internal.rehearsal_classes(life, t, s.sessions) c(classes)
$$;
