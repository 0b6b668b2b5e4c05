-- Turns a workload (JSON) into a pgbench script. Rehearsals and the bench run the same scripts.
--
-- A workload has the members
--   table      name, and values: those of a new row {n}; the rows' key is the column id
--   sessions   of pgbench
--   oldest     number of the oldest row that is left to a session, its own from 1 on; the rows loaded are dealt out to
--              the sessions then. Without it, nothing deletes the oldest rows.
--   classes    of transactions, each with
--     command          update, insert, delete, upsert, select
--     weight           which class is rarer
--     rows, part       rows of a call, or share of the table instead
--     calls, ends      calls of a transaction; COMMIT or ROLLBACK
--     pick             any, skewed, newest, turn (each row once, then again), follow (each row inserted, once, at a
--                      distance), oldest (to delete), all
--     distance, step   from and to, rows behind the newest; rows from call to call
--     skew, scattered  exponent; favourites all over the table
--     every            1: neighbours, k: every k-th row, 0: each by itself
--     set              what an UPDATE sets
--
-- Loaded rows are numbered from 1 to :rows, and the :i rows that a session has inserted from :own + 1 on. If a class
-- takes a part of the table, its number of rows is a pgbench variable.

-- Returns pgbench lines for class k of workload m. They set :a to the number of a call's first row and, if a call takes
-- several rows, :b to that of the last. For pick all, :a is a remainder modulo every.
CREATE FUNCTION ff_rehearsal.pgbench_pick(m jsonb, k integer, c jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
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

-- Returns the pgbench lines of a transaction of class k.
CREATE FUNCTION ff_rehearsal.pgbench_transaction(m jsonb, k integer, c jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET standard_conforming_strings = on
AS $$
    WITH class AS (
        SELECT m->'table'->>'name' AS name,
               -- g, not :a: pgbench allows 255 variables in a statement
               replace(m->'table'->>'values', '{n}', 'g') AS new,
               r.rows, coalesce((c->>'calls')::integer, 1) AS calls, coalesce(c->>'ends', 'COMMIT') AS ends,
               CASE WHEN c->>'pick' = 'all' AND r.every > 1 THEN format(' WHERE id %% %s = :a', r.every)
                    WHEN c->>'pick' = 'all' THEN ''
                    -- picks each row by itself
                    WHEN r.every = 0 THEN format(' WHERE id = ANY (ARRAY(SELECT 1 + floor(random() * :rows)::integer '
                                                 'FROM generate_series(1, %s)))', r.rows)
                    WHEN r.rows = '1' THEN ' WHERE id = :a'
                    ELSE ' WHERE id BETWEEN :a AND :b'
                         || CASE WHEN r.every > 1 THEN format(' AND (id - :a) %% %s = 0', r.every) ELSE '' END
                    END AS these
          FROM (SELECT coalesce((c->>'every')::bigint, 1), coalesce(c->>'rows', '1')) r(every, rows)
    ), call AS (
        SELECT s.*, CASE WHEN c->>'command' <> 'insert'
            THEN CASE c->>'every' WHEN '0' THEN '' ELSE ff_rehearsal.pgbench_pick(m, k, c) END
                 -- does nothing if no row has waited long enough
                 || CASE c->>'pick' WHEN 'follow' THEN E'\\if :due\n' ELSE '' END
                 || CASE c->>'command'
                    WHEN 'update' THEN format('UPDATE %s t SET %s%s', s.name, c->>'set', s.these)
                    WHEN 'delete' THEN format('DELETE FROM %s%s', s.name, s.these)
                    WHEN 'select' THEN format('SELECT * FROM %s%s', s.name, s.these)
                    WHEN 'upsert' THEN format('INSERT INTO %s AS t SELECT %s FROM (VALUES (:a::bigint)) r(g)'
                                              ' ON CONFLICT (id) DO UPDATE SET %s', s.name, s.new, c->>'set')
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

-- Returns the pgbench script of a workload: one transaction of one of its classes. It needs -D rows, sessions, and for
-- each class k (from 0) nk: its transactions in this phase, of all sessions together; turnk: calls that one session
-- made before, -1 for pick follow; n, own and i: 0. Each class gets its exact number of transactions, spread evenly;
-- pgbench's choice by weight is random.
CREATE FUNCTION ff_rehearsal.pgbench_script(m jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
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
        -- the rarest first: if two claim a transaction, the more frequent loses little
        SELECT format(E'\\set pick case%s%s end\n',
                      string_agg(format(' when (:g * :rare%1$s + %2$s * :total / %3$s) %% :total < :rare%1$s then %1$s',
                                        x.k, k.stride * x.place * x.place % k.modulus, k.modulus), '' ORDER BY x.place),
                      string_agg(format(' when :u >= :from%1$s and :u < :to%1$s then %1$s', x.k), '' ORDER BY x.place))
               || string_agg(format(E'\\%s :pick = %s\n%s', CASE x.place WHEN 1 THEN 'if' ELSE 'elif' END, x.k,
                                    ff_rehearsal.pgbench_transaction(m, x.k, x.c)), '' ORDER BY x.place) AS text
          FROM class x CROSS JOIN constant k
    )
    SELECT E'\\if :n = 0\n' || b.text
           || format(E'\\set own (:client_id + 1) * %1$s\n'
                     'SELECT greatest(0, max(id) - :own) AS i FROM %2$s WHERE id > :own AND id < :own + %1$s\n\\gset\n'
                     '\\set begun :i\n\\set left :i + 1 - (%3$s)\n\\endif\n',
                     k.range, m->'table'->>'name', coalesce(m->>'oldest', '1 - :rows'))
           || format(E'\\set g :n * :sessions + :client_id\n\\set n :n + 1\n\\set u (:g * %s) %% %s\n%s\\endif\n',
                     k.stride, k.modulus, c.text)
      FROM constant k CROSS JOIN begun b CROSS JOIN chosen c
$$;
