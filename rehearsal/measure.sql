-- What a rehearsal counts and measures on the scratch server. A run loads the table and works in laps; a lap has four
-- phases, between which the table may be vacuumed.

SET check_function_bodies = off;
-- ticks: updates of a lap; loaded: rows on a page after loading; vacuumed: updates at the last vacuum; began, xid: time
-- and transaction ID at which the phase began; cycle: see phase_begin()
CREATE TABLE ff_rehearsal.setup (document jsonb, workload jsonb, columns integer, indexes integer, new text,
    sessions integer, runs jsonb DEFAULT '[]', rows bigint, ticks float8, loaded float8,
    vacuumed bigint, began timestamptz, xid bigint, cycle float8);
CREATE TABLE ff_rehearsal.lap (id integer GENERATED ALWAYS AS IDENTITY, lsn pg_lsn, updates bigint, hot bigint,
    seconds float8 DEFAULT 0, transactions bigint DEFAULT 0, hot_pct float8, wal_bytes float8);
-- Returns the counters. Waits up to 5 s until pgbench's sessions have ended, because they report theirs then.
CREATE FUNCTION ff_rehearsal.counter(OUT lsn pg_lsn, OUT updates bigint, OUT hot bigint, OUT dead bigint,
    OUT live bigint) LANGUAGE plpgsql AS $f$ BEGIN
    FOR i IN 1 .. 500 LOOP
        EXIT WHEN NOT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'pgbench'
            AND datname = current_database());
        PERFORM pg_sleep(0.01), pg_stat_clear_snapshot();
    END LOOP;
    SELECT pg_current_wal_insert_lsn(), pg_stat_get_tuples_updated(t), pg_stat_get_tuples_hot_updated(t),
        pg_stat_get_dead_tuples(t), greatest(1, pg_stat_get_live_tuples(t))
      INTO lsn, updates, hot, dead, live
      FROM (SELECT 'ff_rehearsal.t'::regclass) r(t);
    END $f$;
-- updates: one transaction of the class comes in so many; never: a lap has fewer.
CREATE FUNCTION ff_rehearsal.class(OUT k bigint, OUT c jsonb, OUT calls float8, OUT updates float8, OUT never boolean)
    RETURNS SETOF record LANGUAGE sql STABLE AS $f$
    SELECT x.place - 1, x.c, n.calls, u.updates, u.updates > 1.001 * o.ticks
      FROM ff_rehearsal.setup o
     CROSS JOIN LATERAL jsonb_array_elements(o.workload->'classes') WITH ORDINALITY x(c, place)
     CROSS JOIN LATERAL (SELECT greatest(1, (x.c->>'calls')::float8)) n(calls)
     CROSS JOIN LATERAL (SELECT n.calls / (x.c->>'rate')::float8 * CASE WHEN x.c ? 'part'
           THEN greatest(1, o.rows * (x.c->>'part')::float8) ELSE (x.c->>'rows')::float8 END) u(updates) $f$;
-- Returns the transactions of one session, then options for pgbench with those of each class.
CREATE FUNCTION ff_rehearsal.phase_begin(phase integer) RETURNS text LANGUAGE sql AS $f$
    WITH class AS (
        SELECT x.*, o.sessions, CASE WHEN x.never THEN 0 ELSE o.ticks / x.updates END AS a_lap
          FROM ff_rehearsal.setup o CROSS JOIN ff_rehearsal.class() x
    ), n AS (
        SELECT *, floor(a_lap / 4 * (phase + 1) + 0.5) - floor(a_lap / 4 * phase + 0.5) AS n,
               CASE WHEN c->>'pick' = 'follow' THEN -1
                    ELSE floor(a_lap / 4 * phase + 0.5) * calls / sessions END AS before
          FROM class
    ), cycle AS (
        -- cycle: transactions in a cycle of the held snapshot, of which a lap has a whole number; xid: the ID at which
        -- the first phase began, if only these transactions had used IDs since
        UPDATE ff_rehearsal.setup o SET began = clock_timestamp(), xid = ff_rehearsal.xid() - t.before, cycle = t.a_lap
               / greatest(1, round(o.ticks / nullif((o.workload->>'held_cycle')::float8 * o.rows, 0)))
          FROM (SELECT sum(a_lap), sum(floor(a_lap / 4 * phase + 0.5)) FROM class) t(a_lap, before)
    )
    SELECT ceil(sum(n) / min(sessions))::bigint || ' ' || string_agg(format('-D n%s=%s -D turn%1$s=%3$s', k, n::bigint,
        before::bigint), ' ' ORDER BY k) FROM n $f$;
-- xid(): the oldest running transaction. hold() waits while the held part of a cycle lasts: its caller's snapshot is
-- held meanwhile.
CREATE FUNCTION ff_rehearsal.xid() RETURNS bigint LANGUAGE sql VOLATILE
    AS $f$ SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint $f$;
CREATE FUNCTION ff_rehearsal.hold() RETURNS void LANGUAGE plpgsql AS $f$
DECLARE until float8; BEGIN
    SELECT xid + (floor((ff_rehearsal.xid() - xid) / cycle) + (workload->>'held_share')::float8) * cycle INTO until
      FROM ff_rehearsal.setup;
    WHILE ff_rehearsal.xid() < until LOOP PERFORM pg_sleep(0.0005); END LOOP;
    END $f$;
-- Ends a phase. Returns whether vacuum is due by autovacuum's rules for the original table, with time counted in
-- updates. each: transactions of one session.
CREATE FUNCTION ff_rehearsal.phase_end(each bigint) RETURNS boolean LANGUAGE sql AS $f$
    UPDATE ff_rehearsal.lap l SET transactions = l.transactions + each * o.sessions,
        seconds = l.seconds + extract(epoch FROM clock_timestamp() - o.began)
      FROM ff_rehearsal.setup o WHERE l.id = (SELECT max(id) FROM ff_rehearsal.lap);
    WITH due AS (UPDATE ff_rehearsal.setup o SET vacuumed = c.updates FROM ff_rehearsal.counter() c
     WHERE (o.workload->>'vacuum_gap')::float8 >= 0
       AND c.dead > 0 AND c.dead >= c.live * greatest(0.01, (o.workload->>'vacuum_share')::float8)
       AND c.updates - o.vacuumed >= c.live * (o.workload->>'vacuum_gap')::float8
    RETURNING true) SELECT count(*) > 0 FROM due $f$;
-- Ends a lap and begins the next. Returns its HOT share, with 'settled' if it is within a point of the lap before, or
-- too little time is left for another lap.
CREATE FUNCTION ff_rehearsal.lap(seconds float8) RETURNS text LANGUAGE sql AS $f$
    UPDATE ff_rehearsal.lap l SET wal_bytes = (c.lsn - l.lsn) / nullif(c.updates - l.updates, 0),
           hot_pct = 100.0 * (c.hot - l.hot) / nullif(c.updates - l.updates, 0)
      FROM ff_rehearsal.counter() c WHERE l.id = (SELECT max(id) FROM ff_rehearsal.lap);
    INSERT INTO ff_rehearsal.lap (lsn, updates, hot) SELECT lsn, updates, hot FROM ff_rehearsal.counter();
    SELECT coalesce(round(a.hot[2]::numeric, 1)::text, '-') || CASE
           WHEN count(*) > 2 AND (abs(a.hot[2] - a.hot[3]) <= 1 OR sum(l.seconds) + max(l.seconds) > 6 * $1)
           THEN ' settled' ELSE '' END
      FROM ff_rehearsal.lap l, (SELECT array_agg(hot_pct ORDER BY id DESC) FROM ff_rehearsal.lap) a(hot)
     GROUP BY a.hot $f$;
-- Makes the table at a fillfactor with so many rows.
CREATE FUNCTION ff_rehearsal.load(fillfactor integer, n bigint) RETURNS void LANGUAGE plpgsql AS $f$
DECLARE s ff_rehearsal.setup; BEGIN
    SELECT * INTO s FROM ff_rehearsal.setup;
    DROP TABLE IF EXISTS ff_rehearsal.t;
    EXECUTE format('CREATE TABLE ff_rehearsal.t (id integer PRIMARY KEY, n integer NOT NULL, %spad text)'
        ' WITH (fillfactor = %s, autovacuum_enabled = off)',
        (SELECT string_agg(format('i%s integer NOT NULL, ', i), '') FROM generate_series(1, s.columns) i), fillfactor);
    ALTER TABLE ff_rehearsal.t ALTER pad SET STORAGE PLAIN;
    EXECUTE format('INSERT INTO ff_rehearsal.t SELECT %s FROM generate_series(1, %s) g', replace(s.new, '{n}', 'g'), n);
    FOR i IN 0 .. s.indexes - 1 LOOP
        EXECUTE format('CREATE INDEX ON ff_rehearsal.t (i%s)', i % s.columns + 1);
    END LOOP;
    UPDATE ff_rehearsal.setup SET vacuumed = 0,
           loaded = n / greatest(1, pg_relation_size('ff_rehearsal.t') / 8192)::float8;
    TRUNCATE ff_rehearsal.lap;
    END $f$;
CREATE FUNCTION ff_rehearsal.run_end(pair integer, side text) RETURNS text LANGUAGE sql AS $f$
    UPDATE ff_rehearsal.setup o SET runs = runs || jsonb_build_object('pair', pair, 'side', side, 'laps', r.laps,
        'wal_bytes', l.wal_bytes, 'rows_per_page', o.loaded, 'size_bytes', pg_relation_size('ff_rehearsal.t'))
      FROM (SELECT max(id), jsonb_agg(hot_pct ORDER BY id) FILTER (WHERE hot_pct IS NOT NULL)
              FROM ff_rehearsal.lap) r(next, laps)
      JOIN ff_rehearsal.lap l ON l.id = r.next - 1
    RETURNING format(' %%, WAL %s bytes an update, %s transactions/s', round(l.wal_bytes),
                     round((l.transactions / l.seconds)::numeric, 1)) $f$;
-- Returns why the server is not quiet, NULL if it is: other work writes WAL, or keeps old row versions.
CREATE FUNCTION ff_rehearsal.unrest() RETURNS text LANGUAGE plpgsql AS $f$
DECLARE own float8; was pg_lsn; next xid8; share integer; BEGIN
    SELECT (c.lsn - l.lsn) / l.seconds INTO own FROM ff_rehearsal.counter() c, ff_rehearsal.lap l;
    was := pg_current_wal_insert_lsn();
    next := pg_snapshot_xmax(pg_current_snapshot());
    PERFORM pg_sleep(3);
    share := round(100 * (pg_current_wal_insert_lsn() - was) / 3 / own);
    RETURN CASE WHEN share > 2
        THEN format('other work on this server writes WAL (%s %% of the rehearsal''s), which would be counted', share)
        WHEN pg_snapshot_xmin(pg_current_snapshot()) < next OR EXISTS (SELECT FROM pg_stat_replication
             WHERE backend_xmin IS NOT NULL) OR EXISTS (SELECT FROM pg_replication_slots WHERE xmin IS NOT NULL)
        THEN 'an open transaction, a standby or a replication slot keeps old row versions on this server' END;
    END $f$;
-- Chooses the rows of the table: so many that a lap can update each twice, pass over the table four times and hold a
-- snapshot once. Chooses the updates of a lap: so many that the rarest class comes a whole number of times, if three
-- times the seconds are enough for that. Returns rows, updates, seconds of a lap, and these in words.
CREATE FUNCTION ff_rehearsal.choose(seconds float8, chosen bigint) RETURNS text LANGUAGE sql AS $f$
    UPDATE ff_rehearsal.setup o SET ticks = $1 * (c.updates - l.updates) / greatest(0.001, l.seconds)
      FROM ff_rehearsal.counter() c, ff_rehearsal.lap l;
    UPDATE ff_rehearsal.setup o SET rows = CASE WHEN $2 > 0 THEN $2
        ELSE least((o.document->'table'->>'rows')::float8, greatest(1000, least(o.ticks / 2, (
            SELECT min(o.ticks / 4 * (c->>'rate')::float8 / (c->>'part')::float8)
              FROM jsonb_array_elements(o.workload->'classes') c WHERE c ? 'part'),
            o.ticks / nullif((o.workload->>'held_cycle')::float8, 0)))) END;
    WITH lap AS (
        UPDATE ff_rehearsal.setup o SET ticks = coalesce(w.updates * ceil(l.ticks / w.updates - 0.01), l.ticks)
          FROM ff_rehearsal.setup s
         CROSS JOIN LATERAL (SELECT greatest(s.ticks, (s.workload->>'held_cycle')::float8 * s.rows)) l(ticks)
         CROSS JOIN LATERAL (SELECT max(x.updates) FROM ff_rehearsal.class() x
                              WHERE x.updates <= greatest(3 * s.ticks, l.ticks)) w(updates)
        RETURNING o.*, ceil($1 * o.ticks / s.ticks) AS seconds
    )
    SELECT concat_ws(' ', o.rows, ceil(o.ticks), o.seconds, format('%s rows of %s, %s updates in a lap of %s s', o.rows,
               round((o.document->'table'->>'rows')::float8), round(o.ticks), o.seconds))
      FROM lap o $f$;
-- The classes for which a lap, of so many seconds, is too short
CREATE FUNCTION ff_rehearsal.never(seconds float8) RETURNS SETOF text LANGUAGE sql AS $f$
    SELECT format('left out, because it comes less than once in a lap: %s (--seconds=%s is enough)',
                  ff_rehearsal.words(x.c), ceil($1 / 3 * x.updates / o.ticks))
      FROM ff_rehearsal.setup o, ff_rehearsal.class() x WHERE x.never $f$;
