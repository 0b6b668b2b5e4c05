-- Stage rehearsal: writes a script that runs the life that the model found on a scratch server.
--
-- The script is not executed here. The user's names occur in it only in comments, and as quoted names and literals in
-- here-documents of SQL, each on one line. The shell and pgbench see only names of this file: ff_rehearsal.t, and for
-- its columns ff1, ff2 and so on.

-- SQL for the scratch server: functions that count and measure. A lap has four phases.
CREATE FUNCTION ff_internal.rehearsal_counting() RETURNS text
LANGUAGE sql IMMUTABLE
RETURN $sql$
SET check_function_bodies = off;
CREATE TABLE ff_rehearsal.lap (id integer GENERATED ALWAYS AS IDENTITY, lsn pg_lsn, updates bigint, hot bigint,
    others bigint, seconds float8 DEFAULT 0, transactions bigint DEFAULT 0, hot_pct float8, wal_bytes float8);
-- Returns the counters. Waits up to 5 s until pgbench's sessions have ended, because they report theirs then. others:
-- rows written in other databases.
CREATE FUNCTION ff_rehearsal.counter(OUT lsn pg_lsn, OUT updates bigint, OUT hot bigint, OUT dead bigint,
    OUT live bigint, OUT others bigint) LANGUAGE plpgsql AS $f$ BEGIN
    FOR i IN 1 .. 500 LOOP
        EXIT WHEN NOT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'pgbench'
            AND datname = current_database());
        PERFORM pg_sleep(0.01), pg_stat_clear_snapshot();
    END LOOP;
    SELECT pg_current_wal_insert_lsn(), pg_stat_get_tuples_updated(t), pg_stat_get_tuples_hot_updated(t),
        pg_stat_get_dead_tuples(t), greatest(1, pg_stat_get_live_tuples(t)), (
        SELECT sum(tup_inserted + tup_updated + tup_deleted) FROM pg_stat_database
         WHERE datname <> current_database()) INTO lsn, updates, hot, dead, live, others
      FROM (SELECT 'ff_rehearsal.t'::regclass) r(t);
    END $f$;
-- Returns the classes. updates: one transaction of the class comes in so many; never: a lap has fewer.
CREATE FUNCTION ff_rehearsal.class(OUT k bigint, OUT c jsonb, OUT calls float8, OUT updates float8, OUT never boolean)
    RETURNS SETOF record LANGUAGE sql STABLE AS $f$
    SELECT x.place - 1, x.c, n.calls, u.updates, u.updates > 1.001 * o.ticks
      FROM ff_rehearsal.setup o
     CROSS JOIN LATERAL jsonb_array_elements(o.mixture->'classes') WITH ORDINALITY x(c, place)
     CROSS JOIN LATERAL (SELECT greatest(1, (x.c->>'calls')::float8)) n(calls)
     CROSS JOIN LATERAL (SELECT n.calls / (x.c->>'rate')::float8 * CASE WHEN x.c ? 'part'
           THEN greatest(1, o.rows * (x.c->>'part')::float8) ELSE (x.c->>'rows')::float8 END) u(updates) $f$;
-- Begins a phase. Returns the transactions of one session, then options for pgbench with those of each class.
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
               / greatest(1, round(o.ticks / nullif((o.mixture->>'held_cycle')::float8 * o.rows, 0)))
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
    SELECT xid + (floor((ff_rehearsal.xid() - xid) / cycle) + (mixture->>'held_share')::float8) * cycle INTO until
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
     WHERE (o.mixture->>'vacuum_gap')::float8 >= 0
       AND c.dead > 0 AND c.dead >= c.live * greatest(0.01, (o.mixture->>'vacuum_share')::float8)
       AND c.updates - o.vacuumed >= c.live * (o.mixture->>'vacuum_gap')::float8
    RETURNING true) SELECT count(*) > 0 FROM due $f$;
-- Ends a lap and begins the next. Returns its HOT share, with 'settled' if it is within a point of the lap before, or
-- if another lap could end after six times the seconds of one.
CREATE FUNCTION ff_rehearsal.lap(seconds float8) RETURNS text LANGUAGE sql AS $f$
    UPDATE ff_rehearsal.lap l SET wal_bytes = (c.lsn - l.lsn) / nullif(c.updates - l.updates, 0),
           hot_pct = 100.0 * (c.hot - l.hot) / nullif(c.updates - l.updates, 0)
      FROM ff_rehearsal.counter() c WHERE l.id = (SELECT max(id) FROM ff_rehearsal.lap);
    INSERT INTO ff_rehearsal.lap (lsn, updates, hot, others)
    SELECT lsn, updates, hot, others FROM ff_rehearsal.counter();
    SELECT coalesce(round(a.hot[2]::numeric, 1)::text, '-') || CASE
           WHEN count(*) > 2 AND (abs(a.hot[2] - a.hot[3]) <= 1 OR sum(l.seconds) + max(l.seconds) > 6 * $1)
           THEN ' settled' ELSE '' END
      FROM ff_rehearsal.lap l, (SELECT array_agg(hot_pct ORDER BY id DESC) FROM ff_rehearsal.lap) a(hot)
     GROUP BY a.hot $f$;
$sql$;

-- SQL for the scratch server: functions that keep a run's result, make indexes, see whether the server is quiet, and
-- choose the size of the table and of a lap.
CREATE FUNCTION ff_internal.rehearsal_choosing() RETURNS text
LANGUAGE sql IMMUTABLE
RETURN $sql$
CREATE FUNCTION ff_rehearsal.run_end(pair integer, side text) RETURNS text LANGUAGE sql AS $f$
    UPDATE ff_rehearsal.setup o SET runs = runs || jsonb_build_object('pair', pair, 'side', side, 'laps', r.laps,
        'wal_bytes', l.wal_bytes, 'rows_per_page', o.loaded, 'size_bytes', pg_relation_size('ff_rehearsal.t'),
        'tps', l.transactions / l.seconds, 'latency_ms', 1000 * l.seconds / l.transactions * o.sessions)
      FROM (SELECT max(id), max(others), jsonb_agg(hot_pct ORDER BY id) FILTER (WHERE hot_pct IS NOT NULL)
              FROM ff_rehearsal.lap) r(next, others, laps)
      JOIN ff_rehearsal.lap l ON l.id = r.next - 1
    RETURNING format(' %%, WAL %s bytes an update, %s transactions/s', round(l.wal_bytes),
        round((l.transactions / l.seconds)::numeric, 1)) || CASE WHEN r.others - l.others > 0.01 * o.ticks
        THEN format('; %s rows were written in other databases meanwhile', r.others - l.others) ELSE '' END $f$;
CREATE FUNCTION ff_rehearsal.result() RETURNS jsonb LANGUAGE sql AS $f$
    SELECT o.made - '{settings,started,table_rows,ram_bytes,row_bytes,advised}'::text[]
           || jsonb_build_object('predicted', o.predicted, 'runs', o.runs, 'measured_at', extract(epoch FROM now()),
              'never', (SELECT coalesce(jsonb_agg(x.c->'words'), '[]') FROM ff_rehearsal.class() x WHERE x.never))
      FROM ff_rehearsal.setup o $f$;
-- Fails if an index refuses what the work writes: its expression may fail for some values. The table that tries it is
-- rolled back.
CREATE FUNCTION ff_rehearsal.try() RETURNS void LANGUAGE plpgsql AS $f$
DECLARE statement text; BEGIN
    IF NOT EXISTS (SELECT FROM pg_index WHERE indrelid = 'ff_rehearsal.t'::regclass
                      AND (indexprs IS NOT NULL OR indpred IS NOT NULL)) THEN
        RETURN;
    END IF;
    ALTER TABLE ff_rehearsal.t RENAME TO whole;
    CREATE TABLE ff_rehearsal.t (LIKE ff_rehearsal.whole INCLUDING INDEXES);
    INSERT INTO ff_rehearsal.t SELECT * FROM ff_rehearsal.whole LIMIT 10000;
    PERFORM ff_rehearsal.rename();
    FOR statement IN
        SELECT 'UPDATE ff_rehearsal.t t SET ' || (x.c->>'set')
          FROM ff_rehearsal.class() x, generate_series(1, 3) WHERE x.c ? 'set'
         UNION ALL
        SELECT format('INSERT INTO ff_rehearsal.t SELECT %s FROM generate_series(100000001, 100001000) g',
                      replace(o.mixture->'table'->>'values', '{n}', 'g'))
          FROM ff_rehearsal.setup o WHERE o.mixture->'classes' @> '[{"command": "insert"}]'
    LOOP
        EXECUTE statement;
    END LOOP;
    RAISE SQLSTATE 'FF000';
EXCEPTION WHEN SQLSTATE 'FF000' THEN
    NULL;
    END $f$;
-- Makes an index with the first of these statements that works. The first load warns if that is not the first one.
CREATE FUNCTION ff_rehearsal.index(name text, VARIADIC statements text[]) RETURNS void LANGUAGE plpgsql AS $f$ BEGIN
    FOR i IN 1 .. cardinality(statements) LOOP
        BEGIN
            EXECUTE statements[i];
            PERFORM ff_rehearsal.try();
            RETURN;
        EXCEPTION WHEN OTHERS THEN
            IF i = cardinality(statements) THEN
                RAISE;
            ELSIF (SELECT loaded IS NULL FROM ff_rehearsal.setup) THEN
                RAISE WARNING 'index % is made as %: the same updates are HOT, but WAL differs (error: %)', name,
                    substring(statements[i + 1] FROM 'USING .*?\)'), SQLERRM;
            END IF;
        END;
    END LOOP;
    END $f$;
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
-- snapshot once; without --short, a table larger than half of memory keeps its ratio to memory. Chooses the updates of
-- a lap: so many that the rarest class comes a whole number of times, if three times the seconds are enough for that.
-- Returns rows, updates, transactions per second, seconds of a lap, and all of it in words.
CREATE FUNCTION ff_rehearsal.choose(seconds float8, load float8, chosen bigint, memory_mb float8, short boolean)
    RETURNS text LANGUAGE sql AS $f$
    UPDATE ff_rehearsal.setup o
       SET ticks = $1 * $2 / 100 * (c.updates - l.updates) / greatest(0.001, l.seconds),
           pace = $2 / 100 * l.transactions / greatest(0.001, l.seconds),
           memory = CASE WHEN $4 > 0 THEN $4 * 1048576 ELSE pg_size_bytes(current_setting('effective_cache_size')) END
      FROM ff_rehearsal.counter() c, ff_rehearsal.lap l;
    UPDATE ff_rehearsal.setup o SET rows = CASE WHEN $3 > 0 THEN $3
        WHEN NOT $5 AND f.table_rows * f.row_bytes > f.ram_bytes / 2
        THEN least(f.table_rows, greatest(1000, f.table_rows * o.memory / f.ram_bytes))
        ELSE least(f.table_rows, greatest(1000, least(o.ticks / 2, (
            SELECT min(o.ticks / 4 * (c->>'rate')::float8 / (c->>'part')::float8)
              FROM jsonb_array_elements(o.mixture->'classes') c WHERE c ? 'part'),
            o.ticks / nullif((o.mixture->>'held_cycle')::float8, 0)))) END
      FROM ff_rehearsal.setup s, jsonb_to_record(s.made) f(table_rows float8, row_bytes float8, ram_bytes float8);
    WITH lap AS (
        UPDATE ff_rehearsal.setup o SET ticks = coalesce(w.updates * ceil(l.ticks / w.updates - 0.01), l.ticks)
          FROM ff_rehearsal.setup s
         CROSS JOIN LATERAL (SELECT greatest(s.ticks, (s.mixture->>'held_cycle')::float8 * s.rows)) l(ticks)
         CROSS JOIN LATERAL (SELECT max(x.updates) FROM ff_rehearsal.class() x
                              WHERE x.updates <= greatest(3 * s.ticks, l.ticks)) w(updates)
        RETURNING o.*, ceil($1 * o.ticks / s.ticks) AS seconds
    )
    SELECT concat_ws(' ', o.rows, ceil(o.ticks), round(o.pace::numeric, 3), o.seconds, format(
        '%s rows of %s, %s updates in a lap of %s s; table and indexes are %s times memory on the source, %s here',
        o.rows, round(f.table_rows), round(o.ticks), o.seconds,
        round((f.table_rows * f.row_bytes / f.ram_bytes)::numeric, 3),
        round((o.rows * f.row_bytes / o.memory)::numeric, 3)))
      FROM lap o, jsonb_to_record(o.made) f(table_rows float8, row_bytes float8, ram_bytes float8) $f$;
-- Returns the classes that are left out because a lap is too short, and the --seconds that they need; seconds: of a lap
CREATE FUNCTION ff_rehearsal.never(seconds float8) RETURNS SETOF text LANGUAGE sql AS $f$
    SELECT format('left out, because it comes less than once in a lap: %s (--seconds=%s is enough)', x.c->>'words',
                  ceil($1 / 3 * x.updates / o.ticks))
      FROM ff_rehearsal.setup o, ff_rehearsal.class() x WHERE x.never $f$;
$sql$;

-- SQL for the scratch server that depends on the table. rehearsal_functions(): converts between a row's number and its
-- key, gives its length, and numbers the rows of a copy anew (:existing). rehearsal_load(): the table at fillfactor :ff
-- with :rows rows; only the rows (:bare), or also all that a run begins with.
CREATE FUNCTION ff_internal.rehearsal_functions(copy text, t jsonb, life jsonb) RETURNS text
LANGUAGE sql IMMUTABLE
SET standard_conforming_strings = on
RETURN format($f$
CREATE FUNCTION ff_rehearsal.key(n bigint) RETURNS %1$s LANGUAGE sql IMMUTABLE AS $ff$ SELECT %2$s $ff$;
CREATE FUNCTION ff_rehearsal.number(k %1$s) RETURNS bigint LANGUAGE sql IMMUTABLE AS $ff$ SELECT %3$s $ff$;
-- Lengths of row n when inserted (grown 0) or fully grown (1): whole(): of the row; payload(): of its columns that
-- vary; length(): of the pad, which gets what the others leave. base(): of all else. Lengths are known in steps of
-- eight bytes; a row gets the middle of its step.
CREATE FUNCTION ff_rehearsal.base() RETURNS float8 LANGUAGE sql IMMUTABLE AS $ff$ SELECT NULL::float8 $ff$;
CREATE FUNCTION ff_rehearsal.whole(n bigint, grown integer) RETURNS integer LANGUAGE sql IMMUTABLE AS $ff$
    SELECT (CASE $2 WHEN 0 THEN '%7$s'::integer[] ELSE '%8$s'::integer[] END)[1 + $1 * 7 %% 16] $ff$;
CREATE FUNCTION ff_rehearsal.payload(n bigint, grown integer) RETURNS float8 LANGUAGE sql IMMUTABLE AS $ff$
    SELECT CASE WHEN ff_rehearsal.base() IS NULL THEN $1 %% 8
                ELSE greatest(0, ff_rehearsal.whole($1, $2) - 4 - ff_rehearsal.base()) END $ff$;
CREATE FUNCTION ff_rehearsal.length(n bigint, grown integer) RETURNS integer LANGUAGE sql IMMUTABLE AS $ff$
    SELECT greatest(0, ff_rehearsal.payload($1, $2) - %9$s * ff_rehearsal.payload($1, 0))::integer $ff$;
\if :existing
CREATE VIEW ff_rehearsal.copy AS
    SELECT ctid AS place, row_number() OVER (ORDER BY %4$s) AS n FROM ONLY %5$s;
CREATE FUNCTION ff_rehearsal.next(n bigint, now integer) RETURNS integer LANGUAGE sql IMMUTABLE AS $ff$ SELECT $2 $ff$;
\else
-- in PL/pgSQL: each call of an SQL function would cost twenty times as much as an update
CREATE FUNCTION ff_rehearsal.next(n bigint, now integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $ff$
DECLARE f integer := ff_rehearsal.length(n, 0); t integer := ff_rehearsal.length(n, 1); BEGIN
    -- the first step starts at the end of its eight bytes: a length is rounded up, as in the twin
    RETURN CASE WHEN t >= f THEN least(t, now + CASE WHEN now <= f THEN 4 ELSE 0 END + ceil((t - f) / %6$s::float8))
                ELSE greatest(t, now - ceil((f - t) / %6$s::float8)) END;
    END $ff$;
\endif
-- gives the columns their short names, after the indexes are made
CREATE FUNCTION ff_rehearsal.rename() RETURNS void LANGUAGE sql AS %10$s;
$f$, t->>'key_type', t->>'key_value', t->>'key_number',
     CASE WHEN (t->>'in_order')::boolean THEN t->>'key_name' ELSE 'ctid' END, copy,
     greatest(1, (life->>'grow_updates')::numeric),
     translate((life->'insert_len')::text, '[]', '{}'), translate((life->'update_len')::text, '[]', '{}'),
     coalesce(t->>'rest', '0'), ff_internal.quoted_text(coalesce(t->>'renames', '')));

CREATE FUNCTION ff_internal.rehearsal_load(copy text, t jsonb) RETURNS text
LANGUAGE sql IMMUTABLE
SET standard_conforming_strings = on
RETURN format($l$DROP TABLE IF EXISTS ff_rehearsal.t;
CREATE TABLE ff_rehearsal.t (%s) WITH (fillfactor = :ff, autovacuum_enabled = off);
\if :existing
INSERT INTO ff_rehearsal.t SELECT %s FROM ff_rehearsal.copy r JOIN ONLY %s c ON c.ctid = r.place ORDER BY r.place;
\else
ALTER TABLE ff_rehearsal.t SET (toast_tuple_target = 8160);
INSERT INTO ff_rehearsal.t SELECT %s FROM generate_series(1, :rows) g;
\endif
\if :bare
\quit
\endif
%sUPDATE ff_rehearsal.setup SET loaded = :rows / greatest(1, pg_relation_size('ff_rehearsal.t') / 8192)::float8,
    vacuumed = 0;
SELECT ff_rehearsal.rename() \g /dev/null
VACUUM ANALYZE ff_rehearsal.t;
TRUNCATE ff_rehearsal.lap;
SELECT ff_rehearsal.lap(0) \g /dev/null$l$,
    t->>'columns', t->>'copied', copy, replace(t->>'values', '{n}', 'g'),
    (SELECT string_agg(format(E'SELECT ff_rehearsal.index(%s) \\g /dev/null\n',
                (SELECT string_agg(ff_internal.quoted_text(s.text), ', ' ORDER BY s.place)
                   FROM jsonb_array_elements_text(i) WITH ORDINALITY s(text, place))), '')
       FROM jsonb_array_elements(t->'indexes') i));

-- The shell program: before its here-documents of SQL the functions, after them the options, the checks and the main
-- part. It needs a POSIX sh, psql and pgbench.
CREATE FUNCTION ff_internal.rehearsal_begins() RETURNS text
LANGUAGE sql IMMUTABLE
RETURN $sh$set -eu
seconds=120 load=75 pairs=3 memory=0 rows=0 existing=false short=false pace= schema=false child= holder= dots= dir=
most_a= most_b= seed=0
say() { printf '%s\n' "$*" >&2 || :; }
die() { [ -z "$dots" ] || ends; say "error: $*"; exit 1; }
# Begins a line and adds a dot every ten seconds; ends() completes it.
begins()
{
    printf '%s' "$*" >&2
    while sleep 10 </dev/null >/dev/null 2>&1 && kill -0 $$ 2>/dev/null; do printf ' .' >&2; done &
    dots=$!
}
ends() { end "$dots"; dots=; say "$*"; }
q() { psql -XAtq -P pager=off -v ON_ERROR_STOP=1 "$@"; }

# Cleans up at the end, after an error and after Ctrl-C.
finish()
{
    status=$?
    trap '' INT TERM HUP PIPE
    [ -z "$dots" ] || ends
    end "$child"
    end "$holder"
    if $schema; then q -c 'DROP SCHEMA ff_rehearsal CASCADE' || say "left behind: the schema ff_rehearsal"; fi
    [ -z "$dir" ] || rm -rf "$dir"
    exit "$status"
}
end() { [ -z "$1" ] || { kill "$1" 2>/dev/null || :; wait "$1" 2>/dev/null || :; }; }

# Stops if the disk is too small for so many rows and updates in a lap.
enough()    # ROWS UPDATES
{
    disk=$(room -v rows="$1" -v updates="$2")
    [ -z "$free" ] || [ "$free" -gt "$disk" ] || die "too little disk: $disk MB are needed, $free MB are free"
}
$sh$;

-- The shell functions of a run.
CREATE FUNCTION ff_internal.rehearsal_runs() RETURNS text
LANGUAGE sql IMMUTABLE
RETURN $sh$
# Runs one of the four phases of a lap. It has a fixed number of transactions, so that every run does the same.
phase()     # NUMBER
{
    counts=$(q -c "SELECT ff_rehearsal.phase_begin($1)")
    each=${counts%% *}
    if [ "$each" -gt 0 ]; then
        pgbench -n -M prepared -c "$sessions" -j 1 -t "$each" $pace --max-tries=100 --random-seed=$((seed + $1)) \
            -D rows="$rows" -D sessions="$sessions" -D n=0 -D own=0 -D i=0 ${counts#* } -f "$dir/script.sql" \
            >"$dir/out" 2>&1 &
        child=$!
        wait "$child" || { child=; sed -n '/^transaction type/q; /error:/,$p' "$dir/out" >&2; die "pgbench failed"; }
        child=
    fi
    [ "$(q -c "SELECT ff_rehearsal.phase_end($each)")" != t ] || q -c 'VACUUM ANALYZE ff_rehearsal.t'
}

# Runs phases, with another session that holds snapshots if the source had held ones.
phases()    # NUMBER ...
{
    if $held; then
        printf 'SELECT ff_rehearsal.hold();\n\\sleep 1 ms\n' | PGAPPNAME=held pgbench -n -T 86400 -f - >/dev/null 2>&1 &
        holder=$!
    fi
    for p; do phase "$p"; done
    end "$holder"
    holder=
}

fill()      # FILLFACTOR
{
    load -v ff="$1" -v rows="$rows" -v existing=$existing -v bare=false
    q -c CHECKPOINT 2>/dev/null || :
}

# Loads the table, runs laps until it has settled or no time is left, and keeps the figures of the last lap. The first
# run of a fillfactor decides how many laps its others have. Both runs of a pair draw the same random numbers.
run()       # FILLFACTOR PAIR SIDE
{
    seed=$((1000 * ($2 + 1)))
    begins "pair $2, $3: fillfactor $1, HOT by lap"
    fill "$1"
    case $3 in B) most=$most_b ;; *) most=$most_a ;; esac
    laps=0
    while [ "$laps" != "$most" ]; do
        # gives each lap the same full-page images: otherwise a checkpoint comes every 300 s by default
        [ "$seconds" -lt 60 ] || q -c CHECKPOINT 2>/dev/null || :
        phases $((4 * laps)) $((4 * laps + 1)) $((4 * laps + 2)) $((4 * laps + 3))
        laps=$((laps + 1))
        hot=$(q -c "SELECT ff_rehearsal.lap($seconds)")
        printf ' %s' "${hot% *}" >&2
        if [ -z "$most" ] && { [ "$hot" != "${hot% *}" ] || [ "$laps" = 5 ]; }; then most=$laps; fi
    done
    case $3 in B) most_b=$most ;; *) most_a=$most ;; esac
    ends "$(q -c "SELECT ff_rehearsal.run_end($2, '$3')")"
}
$sh$;

CREATE FUNCTION ff_internal.rehearsal_checks() RETURNS text
LANGUAGE sql IMMUTABLE
RETURN $sh$for option; do
    value=${option#*=}
    case $option in
    --short) short=true seconds=8 load=100 ;;
    --object=existing) existing=true ;;
    --seconds=*|--load=*|--pairs=*|--memory=*|--rows=*)
        case $value in ''|0*|*[!0-9]*|??????????*) die "not a whole number from 1 to 999999999: $value" ;; esac
        export "${option#--}" ;;
    *) die "no such option: $option; see the head of this file" ;;
    esac
done
[ "$pairs" -ge 3 ] && [ "$pairs" -le 10 ] || die "--pairs must be from 3 to 10"
[ "$load" -le 100 ] || die "--load must be from 1 to 100"
# when a program here is ended, its statement on the server ends, too
export PGOPTIONS="-c search_path=pg_catalog,pg_temp -c client_min_messages=warning -c statement_timeout=0 \
-c client_connection_check_interval=100"
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP PIPE
[ -n "${PGDATABASE:-}${PGSERVICE:-}" ] || die "set PGDATABASE to a scratch database, and PGHOST, PGPORT, PGUSER"
command -v psql >/dev/null && command -v pgbench >/dev/null || die "psql and pgbench must be in the PATH"
version=$(pgbench --version)
version=${version##*) }
[ "${version%%[!0-9]*}" -ge 15 ] || die "pgbench is older than 15"
encoding=$(q -c 'SHOW server_encoding') || die "no connection: set PGHOST, PGPORT, PGUSER, PGDATABASE"
if [ -n "$encodings" ]; then
    case " $encodings " in
    *" $encoding "*) export PGCLIENTENCODING="$written" ;;
    *) die "$encoding cannot hold the table's names: createdb -T template0 --locale=C -E ${encodings##* } ..." ;;
    esac
fi
refused=$(check)
[ -z "$refused" ] || die "$refused"
for left in "${TMPDIR:-/tmp}"/ff_rehearsal.*; do
    ! [ -w "$left" ] || kill -0 "${left##*.}" 2>/dev/null || say "a rehearsal that was killed left this: rm -r $left"
done
local=$(q -c "SELECT inet_server_addr() IS NULL OR inet_server_addr() = inet_client_addr()")
free=
data=$(q -c "SELECT setting FROM pg_settings WHERE name = 'data_directory'")
if [ "$local" = t ] && [ -n "$data" ]; then
    free=$(df -Pk "$data" 2>/dev/null | { read -r _; read -r _ _ _ kb _; echo $((kb / 1024)); }) || free=
fi
if $existing; then enough 0 0; else enough 10000 80000; fi
differences >&2
$sh$;

CREATE FUNCTION ff_internal.rehearsal_course() RETURNS text
LANGUAGE sql IMMUTABLE
RETURN $sh$dir=${TMPDIR:-/tmp}/ff_rehearsal.$$
( umask 077; mkdir "$dir" ) || { dir=; die "cannot make a folder in ${TMPDIR:-/tmp}"; }
q -c 'CREATE SCHEMA ff_rehearsal' || die "cannot create the schema ff_rehearsal: is another rehearsal running here?"
schema=true
setup
workload >"$dir/script.sql"
[ "$(q -c "SELECT current_setting('is_superuser')")" = off ] || PGOPTIONS="$PGOPTIONS -c deadlock_timeout=10ms"

# Measure the length of a row without what varies, and the speed of this machine; then choose the number of rows.
begins "trying the work on this machine
"
for i in 1 2; do
    load -v ff="$from" -v rows=10000 -v existing=false -v bare=true
    bare
done
chosen=$rows rows=10000
if $existing; then rows=$(q -c 'SELECT count(*) FROM ff_rehearsal.copy') chosen=$rows; fi
[ "$rows" -gt 0 ] || die "the table is empty"
q -c "UPDATE ff_rehearsal.setup SET rows = $rows, ticks = 80000"
fill "$from"
phases 0 1
unrest=$(q -c 'SELECT ff_rehearsal.unrest()')
[ -z "$unrest" ] || die "$unrest"
if [ "$memory" = 0 ] && [ "$local" = t ] && [ -r /proc/meminfo ]; then
    while read -r name kb _; do [ "$name" != MemTotal: ] || memory=$((kb / 1024)); done </proc/meminfo
fi
plan=$(q -c "SELECT ff_rehearsal.choose($seconds, $load, $chosen, $memory, $short)")
IFS=' ' read -r rows updates rate lap plan <<END
$plan
END
[ "$load" = 100 ] || pace="-R $rate"
ends " done"
enough "$rows" "$updates"
runs=$((2 * pairs + 2))
say "$plan, about $disk MB of disk${free:+ of $free MB free}"
q -c "SELECT ff_rehearsal.never($lap)" >&2
say "$runs runs of 2 to 5 laps: about $((runs * 2 * lap / 60 + 1)) to $((runs * 6 * seconds / 60 + 2)) minutes"
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

-- Returns what the script knows of its table besides the workload. made: where it comes from, what is compared, sizes
-- and settings. predicted: arrays with a figure; for HOT shares, the settled one and a range that covers it and the
-- range predicted for the observed window.
CREATE FUNCTION ff_internal.rehearsal_facts(v ff_internal.judged, to_fillfactor integer, OUT made jsonb,
    OUT predicted jsonb)
LANGUAGE sql STABLE
AS $$
    SELECT jsonb_build_object('format', 1, 'system_identifier', s.system_identifier::text,
               'database_oid', s.database_oid::text, 'rel_id', e.rel_id, 'from', e.fillfactor, 'to', to_fillfactor,
               'table_rows', r.rows, 'ram_bytes', e.ram_bytes,
               'row_bytes', greatest(24, round((e.heap_bytes + e.index_bytes) / r.rows)),
               'advised', d.action IN ('lower', 'raise') AND d.recommended_fillfactor = to_fillfactor,
               'started', extract(epoch FROM pg_postmaster_start_time())::text,
               -- settings that affect what is measured
               'settings', (SELECT jsonb_object_agg(n, current_setting(n)) FROM unnest('{server_version,data_checksums,
                   shared_buffers,effective_cache_size,wal_level,wal_compression,full_page_writes,wal_log_hints,
                   max_wal_size,checkpoint_timeout,fsync,synchronous_commit}'::text[]) n)),
           jsonb_build_object(
               'hot_a', jsonb_build_array(a.settled_hot_pct, least(a.settled_hot_pct, a.hot_pct_low),
                                          greatest(a.settled_hot_pct, a.hot_pct_high)),
               'hot_b', jsonb_build_array(b.settled_hot_pct, least(b.settled_hot_pct, b.hot_pct_low),
                                          greatest(b.settled_hot_pct, b.hot_pct_high)),
               'wal_pct', jsonb_build_array(100 * b.wal_bytes_per_update / nullif(c.wal_bytes_now, 0)),
               'rows_a', jsonb_build_array(w.rows_a), 'rows_b', jsonb_build_array(w.rows_b))
      FROM (SELECT (v.evidence).*) e
     CROSS JOIN (SELECT (v.decision).*) d
     CROSS JOIN (SELECT ((v.fit).choice).*) c
     CROSS JOIN ff_internal.server() s
     CROSS JOIN LATERAL ff_internal.step_at((v.fit).steps, d.current_step) a
     CROSS JOIN LATERAL (SELECT greatest(1, round((c.workload->>'table_rows')::float8))) r(rows)
     CROSS JOIN LATERAL (SELECT 1 / avg(1.0 / ff_internal.rows_per_page(e.fillfactor, l.len::float8)),
                                1 / avg(1.0 / ff_internal.rows_per_page(to_fillfactor, l.len::float8))
                           FROM jsonb_array_elements_text(c.workload->'insert_len') l(len)) w(rows_a, rows_b)
      LEFT JOIN LATERAL (SELECT x.* FROM unnest((v.fit).steps) x WHERE x.fillfactor >= to_fillfactor
                          ORDER BY x.fillfactor LIMIT 1) b ON true
$$;

-- Returns the head of the script: comments that explain it.
CREATE FUNCTION ff_internal.rehearsal_head(relation oid, made jsonb, predicted jsonb, m jsonb, t jsonb) RETURNS text
LANGUAGE sql STABLE
AS $$
    SELECT string_agg(rtrim('# ' || ff_internal.plain(l.line)) || E'\n', '' ORDER BY l.place)
      FROM pg_class c CROSS JOIN LATERAL (SELECT ARRAY['fillfactor=' || (made->>'to')]) a(options)
     CROSS JOIN LATERAL unnest(ARRAY[
    format('Rehearsal: fillfactor %s instead of %s for %s of database %I', made->>'to', made->>'from',
           ff_internal.qualified_name(c.oid), current_database()),
    '',
    'This script makes a similar table on a scratch server, with made-up rows of the same lengths (it contains no',
    'value of the table). pgbench runs the workload that the advisor inferred, at both fillfactors in turn. Then the',
    'script prints what it measured beside what was predicted.',
    '',
    format('1. On another server, PostgreSQL %s or later, with nothing else to do: createdb scratch',
           current_setting('server_version_num')::integer / 10000),
    '   PGHOST, PGPORT and PGUSER name that server. The script needs sh, psql, and pgbench 15 or later.',
    '2. PGDATABASE=scratch sh FILE --short     three to ten minutes; without --short 35 to 100 minutes',
    '   It stops if the disk is too small. It drops its schema ff_rehearsal at the end, also after Ctrl-C.',
    '3. The row verdict says whether the prediction held:',
    '   prediction held   all figures are within the allowed ranges beside them',
    '   did not hold      the rows above show where',
    '   not settled       the HOT share still changed from lap to lap: take longer laps (--short --seconds=20)',
    '   noise too large   the runs differ too much to tell: repeat it while the machine is quiet, with longer laps',
    '                     and more runs (--short --seconds=20 --pairs=6, 20 to 30 minutes)',
    '   The line below it says what the change brings, judged only by what was measured.',
    '4. In psql, in the database of the table, store the last line of the output; the advice then considers it:',
    E'   \\set result `tail -n 1 OUTPUT`',
    '   SELECT * FROM ff_rehearsal_result(:''result'');',
    CASE WHEN (made->>'advised')::boolean THEN '   The advised change, to be followed by a rewrite, and its undo:'
         ELSE '   The change (not advised), to be followed by a rewrite, and its undo:' END,
    '   ' || ff_internal.alter_options(c.oid, a.options),
    '   ' || ff_internal.restore_options(c.oid, c.reloptions, ff_internal.options_after(c.reloptions, a.options),
                                         'fillfactor'),
    '',
    'The WAL of the whole server is counted, so nothing else should run on it. low, high: 95 % interval.',
    '',
    '--short            laps of 8 s at full load, with no more rows than a lap can update: memory does not matter',
    '--seconds=120      length of a lap; a run has two to five laps, until its HOT share settles; the last one counts',
    '--load=75          percent of what this machine can do; 100: without pauses between transactions',
    '--pairs=3          pairs of runs, 3 to 10; a pair of equal runs before them shows the noise',
    '--memory=MB        memory to scale a large table to, instead of that of the machine',
    '--rows=N           rows of the table, instead of a number that the script chooses',
    '--object=existing  takes rows and keys from a copy of the table in PGDATABASE: restored, or in a clone of the',
    '                   server. In a clone, first run ALTER DATABASE ... RENAME TO ...: this tells it from the source.',
    '',
    format('Predicted, once settled: HOT share %s %% at %s, %s %% at %s; WAL per update %s %% of that now',
           round((predicted#>>'{hot_a,0}')::numeric, 1), made->>'from',
           round((predicted#>>'{hot_b,0}')::numeric, 1), made->>'to', round((predicted#>>'{wal_pct,0}')::numeric, 1)),
    format('The workload that the advisor inferred, in %s session(s). If the application does something else, neither',
           m->>'sessions'),
    'the advice nor this rehearsal is valid:']
    || ARRAY(SELECT '    ' || (c->>'words') FROM jsonb_array_elements(m->'classes') c)
    || ARRAY['The script names what it leaves out because it is too rare for a lap, and the settings that differ.',
    'Not modelled: triggers, foreign keys, defaults, other tables and the locks between them, queries that',
    'only read, values stored out of line. Statements are prepared (extended protocol), whatever the application',
    'uses. Generated and identity columns become plain columns.']
    || ARRAY(SELECT format('Index %I becomes a plain B-tree if the scratch server does not have what it needs', i)
               FROM jsonb_array_elements_text(t->'plain') i)
    || ARRAY(SELECT format('Updates that change an index change one on %s that only the rehearsal has', t->>'column')
              WHERE t ? 'column')
    || ARRAY(SELECT format('Column %s in the rehearsal', c)
               FROM jsonb_array_elements_text(t->'replaced') c))
           WITH ORDINALITY l(line, place)
     WHERE c.oid = relation
$$;

-- SQL for the scratch server: returns the OID of the copy of the table there, found by name; NULL if there is none.
CREATE FUNCTION ff_internal.rehearsal_copy(relation oid) RETURNS text
LANGUAGE sql STABLE
SET standard_conforming_strings = on
RETURN (SELECT format($q$(SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE c.relkind = 'r' AND (n.nspname, c.relname) = (%s, %s))$q$,
    ff_internal.quoted_text(n.nspname::text), ff_internal.quoted_text(c.relname::text))
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = relation);

-- SQL for the scratch server: returns why the rehearsal cannot run there, NULL if it can. A clone of the source has its
-- system identifier, but was started at another time; a renamed database shows that it was made for this purpose.
CREATE FUNCTION ff_internal.rehearsal_check(relation oid, made jsonb) RETURNS text
LANGUAGE sql STABLE
SET standard_conforming_strings = on
RETURN format($q$SELECT CASE
    WHEN s.system_identifier::text = %1$s AND extract(epoch FROM pg_postmaster_start_time())::text = %2$s
        THEN 'this is the server that the advice is for'
    WHEN s.system_identifier::text = %1$s AND NOT EXISTS (SELECT FROM pg_database WHERE oid::text = %3$s
                                                             AND datname <> %4$s)
        THEN 'this is the server that the advice is for, or a clone of it: in a clone, rename its database first'
    WHEN current_setting('server_version_num')::integer / 10000 < %5$s
        THEN 'this server is older than the one that the advice is for, PostgreSQL %5$s'
    WHEN pg_is_in_recovery() THEN 'this server is a standby'
    WHEN current_setting('block_size') <> '8192' THEN 'the block size of this server is not 8 kB'
    WHEN to_regnamespace('ff_rehearsal') IS NOT NULL THEN 'the schema ff_rehearsal exists: another rehearsal is '
        || 'running in this database, or was killed; if so, DROP SCHEMA ff_rehearsal CASCADE'
    WHEN NOT has_database_privilege(current_database(), 'CREATE') THEN 'no CREATE privilege on this database'
    WHEN :'existing'::boolean AND o.copy IS NULL THEN 'there is no copy of the table in this database'
    WHEN :'existing'::boolean
         AND NOT (has_table_privilege(o.copy, 'SELECT') AND (
             SELECT has_schema_privilege(c.relnamespace, 'USAGE') FROM pg_class c WHERE c.oid = o.copy))
        THEN 'no privilege to read the copy of the table'
    WHEN NOT :'existing'::boolean AND EXISTS (
         SELECT FROM pg_class c WHERE c.oid >= 16384 AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
            AND c.relpersistence <> 't' AND NOT EXISTS (SELECT FROM pg_depend d
            WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'))
    THEN 'this database is not empty' END
  FROM pg_control_system() s CROSS JOIN (SELECT %6$s) o(copy);$q$,
    ff_internal.quoted_text(made->>'system_identifier'), ff_internal.quoted_text(coalesce(made->>'started', '')),
    ff_internal.quoted_text(coalesce(made->>'database_oid', '')), ff_internal.quoted_text(current_database()),
    current_setting('server_version_num')::integer / 10000, ff_internal.rehearsal_copy(relation));

-- Returns the here-documents of SQL and the pgbench script, each as a shell function.
CREATE FUNCTION ff_internal.rehearsal_documents(relation oid, made jsonb, predicted jsonb, m jsonb, t jsonb, life jsonb)
RETURNS text
LANGUAGE sql STABLE
SET standard_conforming_strings = on
AS $$
    SELECT string_agg(format(E'%s()\n{\n    %s <<''FF_END''\n%s\nFF_END\n}\n', d.name, d.command, d.document), '')
      FROM (VALUES
        ('check', 'q -v existing=$existing', ff_internal.rehearsal_check(relation, made)),
        ('room', 'q -v existing=$existing "$@"', format($q$SELECT ceil((3.0 * %1$s * (r.rows + 5.0 * :updates * %2$s)
    + CASE WHEN :existing THEN 120 * r.rows ELSE 0 END + pg_size_bytes(current_setting('max_wal_size'))) / 1048576)
  FROM (SELECT CASE WHEN :existing AND :rows = 0 THEN pg_total_relation_size(%3$s) / %1$s ELSE :rows END
       ) r(rows);$q$, made->>'row_bytes', (SELECT coalesce(sum((c->>'rate')::float8), 0)
              FROM jsonb_array_elements(m->'classes') c WHERE c->>'command' = 'insert'),
            ff_internal.rehearsal_copy(relation))),
        ('differences', 'q', (SELECT string_agg(format($q$SELECT
    %1$L || ': ' || here || ' here, ' || %2$s || ' on the source'
  FROM current_setting(%1$L) s(here) WHERE here <> %2$s;$q$, d.name, ff_internal.quoted_text(d.there)), E'\n')
              FROM jsonb_each_text(made->'settings') d(name, there))),
        ('setup', 'q -v existing=$existing', format(E'CREATE TABLE ff_rehearsal.setup (mixture jsonb, predicted jsonb,'
            ' made jsonb, sessions integer,\n    runs jsonb DEFAULT \'[]\', rows bigint, ticks float8, pace float8,'
            ' memory float8, loaded float8,\n    vacuumed bigint, began timestamptz, xid bigint, cycle float8);\n'
            'INSERT INTO ff_rehearsal.setup VALUES (%s, %s, %s, %s);',
            ff_internal.quoted_text(m::text), ff_internal.quoted_text(predicted::text),
            ff_internal.quoted_text(made::text), m->>'sessions')
            || ff_internal.rehearsal_counting() || ff_internal.rehearsal_choosing()
            || ff_internal.rehearsal_functions(ff_internal.qualified_name(relation), t, life)
            || (SELECT string_agg(replace(pg_get_functiondef(f), 'ff_internal.', 'ff_rehearsal.') || ';', E'\n')
                  FROM unnest('{ff_internal.rehearsal_means,ff_internal.rehearsal_judged}'::regproc[]) f)),
        ('load', 'q "$@"', ff_internal.rehearsal_load(ff_internal.qualified_name(relation), t)),
        -- The first call sets base() to a row's length without its payload. The payload has 0 to 7 bytes, so that the
        -- alignment of columns does not matter: it adds 3.5 bytes on average, and rounding up 3.5 more. The second call
        -- corrects base() by the error of the rows' length.
        ('bare', 'q', $q$SELECT format('CREATE OR REPLACE FUNCTION ff_rehearsal.base() RETURNS float8'
    ' LANGUAGE sql IMMUTABLE AS %L', 'SELECT ' || avg((s.size + 7) / 8 * 8) + coalesce(ff_rehearsal.base() - (
    SELECT avg(ff_rehearsal.whole(n, 0)) FROM generate_series(1, 16) n), -7) || '::float8')
  FROM (SELECT pg_column_size(t.*) FROM ff_rehearsal.t) s(size)
\gexec$q$),
        ('workload', 'cat', rtrim(ff_internal.pgbench_script(m), E'\n')),
        ('answer', 'psql -Xq -v ON_ERROR_STOP=1', $q$\pset footer off
SELECT measure, round(measured::numeric, 1) AS measured, round(low::numeric, 1) AS low, round(high::numeric, 1) AS high,
       round(predicted::numeric, 1) AS predicted, round(allowed_low::numeric, 1) AS "allowed: from",
       round(allowed_high::numeric, 1) AS "to", verdict
  FROM ff_rehearsal.rehearsal_judged(ff_rehearsal.result()) WHERE place < 13;
\pset format unaligned
\pset tuples_only on
SELECT measure || ': ' || verdict FROM ff_rehearsal.rehearsal_judged(ff_rehearsal.result()) WHERE place > 12;
SELECT ff_rehearsal.result();$q$)) d(name, command, document)
$$;

-- Returns the lines of the whole script for a life of a table; none if no key finds its rows.
CREATE FUNCTION ff_internal.rehearsal(relation oid, life jsonb, made jsonb, predicted jsonb) RETURNS SETOF text
LANGUAGE sql STABLE ROWS 500
AS $$
    SELECT string_to_table(concat(E'#!/bin/sh\n', ff_internal.rehearsal_head(relation, made, predicted, m, t),
               format(E'from=%s to=%s sessions=%s held=%s encodings=%L written=%s\n', made->>'from', made->>'to',
                      m->>'sessions', ((m->>'held_cycle')::float8 > 0)::text,
                      -- empty unless a name needs one of them, escaped or not
                      CASE WHEN d.documents ~ E'[^\\x01-\\x7f]|\\\\(U|[u+]?(?!00[0-7])[0-9a-f]{4})' THEN concat_ws(' ',
                           nullif(e.server, 'UTF8'), CASE WHEN e.server <> 'SQL_ASCII' THEN 'UTF8' END) ELSE '' END,
                      CASE e.client WHEN 'SQL_ASCII' THEN e.server ELSE e.client END),
               ff_internal.rehearsal_begins(), ff_internal.rehearsal_runs(), d.documents,
               ff_internal.rehearsal_checks(), rtrim(ff_internal.rehearsal_course(), E'\n')), E'\n')
      FROM ff_internal.rehearsal_table(relation, jsonb_path_exists(life, '$.classes[*] ? (@.resizes > 0)')) o
     CROSS JOIN LATERAL (SELECT o || CASE WHEN jsonb_path_exists(life, '$.classes[*] ? (@.indexed > 0)') AND o ? 'spare'
                                          THEN (o->'spare') || jsonb_build_object('indexes',
                                               (o->'indexes') || jsonb_build_array(o->'spare'->'index'))
                                          ELSE '{}' END) s(t)
     CROSS JOIN LATERAL ff_internal.rehearsal_mixture(life, t) m
     CROSS JOIN LATERAL ff_internal.rehearsal_documents(relation, made, predicted, m, t, life) d(documents)
     CROSS JOIN (SELECT current_setting('server_encoding'), current_setting('client_encoding')) e(server, client)
     WHERE o ? 'key'
$$;

CREATE FUNCTION @extschema@.ff_rehearsal(relation regclass, fillfactor integer DEFAULT NULL) RETURNS SETOF text
LANGUAGE plpgsql STABLE ROWS 500
AS $$
DECLARE
    v   ff_internal.judged;
    now integer;
BEGIN
    PERFORM ff_internal.check_role('reader');
    IF fillfactor NOT BETWEEN 10 AND 100 THEN
        PERFORM ff_internal.refuse('22023', format('fillfactor %s is out of range', fillfactor),
            'It must be between 10 and 100.');
    END IF;
    v := ff_internal.decision_with_curve(relation, true);
    now := (v.evidence).fillfactor;
    fillfactor := coalesce(fillfactor, CASE WHEN (v.decision).action IN ('lower', 'raise')
                                            THEN (v.decision).recommended_fillfactor
                                            WHEN now > 90 THEN 90 ELSE 100 END);
    IF fillfactor = now THEN
        PERFORM ff_internal.refuse('22023', format('the table has fillfactor %s already', now), NULL,
            'Give the one to compare it with.');
    END IF;
    RETURN QUERY SELECT ff_internal.rehearsal(relation, ((v.fit).choice).workload, f.made, f.predicted)
                   FROM ff_internal.rehearsal_facts(v, fillfactor) f;
    IF NOT FOUND THEN
        PERFORM ff_internal.refuse('0A000', 'no index of the table finds rows by a key that can be made up',
            'A rehearsal needs a B-tree that begins with a column, and another column.');
    END IF;
END
$$;
COMMENT ON FUNCTION @extschema@.ff_rehearsal(regclass, integer) IS
E'Returns a shell script that shows on a scratch server what another fillfactor does to a table like this one. It runs '
'the workload that the advice assumes on made-up rows, at both fillfactors in turn, and prints what it measured beside '
'what was predicted. Its head says how to run it; nothing is executed here.\n'
'relation: the table. fillfactor: compared with that of the table; NULL: the advised one, otherwise 90 (100 for a '
'table at 90 or less).\n'
'Errors: 22004 NULL, 42P01 unknown OID, 42809 not a table, 22023 fillfactor out of range or that of the table, 55000 '
'not examined, or too little is known of its updates, 0A000 no usable key.';
