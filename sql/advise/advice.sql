-- Which fillfactor to set, if any. Collections make and store the fits of the model; the decision follows
-- from them and the evidence. Every table of the database gets a row and a reason.

-- Hash of everything whose change makes a stored fit useless.
CREATE FUNCTION ff_internal.fit_valid_for(relation oid, fillfactor integer) RETURNS text
LANGUAGE sql STABLE
RETURN (
    SELECT md5(concat_ws(' ', ff_internal.model_version(),
               coalesce(o.said->>'system_identifier', s.system_identifier::text), c.oid,
               coalesce(t.said->>'relfilenode', c.relfilenode::text), fillfactor,
               (SELECT array_agg(k ORDER BY k) FROM pg_index i, concat_ws(' ', i.indkey, i.indexprs, i.indpred) k
                 WHERE i.indrelid = c.oid AND i.indislive)))
      -- for each table, so not by the views user_table and server
      FROM pg_class c
     CROSS JOIN ff_internal.own_server() s
      LEFT JOIN ff_internal.observed t ON t.kind = 'table' AND t.id = c.oid
      LEFT JOIN ff_internal.observed o ON o.kind = 'server' AND o.id = 0
     WHERE c.oid = relation);

-- Hash of the settings that a fit depends on, the version of the model and the server. numeric: the same text in every
-- session.
CREATE FUNCTION ff_internal.fit_made_with() RETURNS text
LANGUAGE sql STABLE
RETURN md5(concat_ws(' ', ff_internal.model_version(), (SELECT s.system_identifier FROM ff_internal.server s), (
    SELECT string_agg(ff_internal.setting(n)::numeric::text, ' ' ORDER BY n)
      FROM unnest('{payback_time, time_weight, wal_weight, size_weight, storage_weight, min_gain, min_updates, '
                  'page_read_cost}'::text[]) n), (
    SELECT string_agg(ff_internal.server_setting(n), ' ' ORDER BY n)
      FROM unnest('{autovacuum, autovacuum_naptime, autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold, '
                  'autovacuum_vacuum_max_threshold, checkpoint_timeout, wal_level, effective_wal_level}'::text[]) n)));

-- Hash of the evidence that a fit depends on. Times as seconds and numbers as numeric: the same text in every session.
CREATE FUNCTION ff_internal.evidence_hash(e ff_internal.table_evidence) RETURNS text
LANGUAGE sql STABLE
RETURN md5(jsonb_build_array(
    extract(epoch FROM e.began_at), e.intervals, e.counted, e.cycles::numeric, extract(epoch FROM e.since_began_at),
    e.since, e.recent, extract(epoch FROM e.sampled_at), e.seen_hot::numeric, e.seen_same_page::numeric,
    e.seen_newpage::numeric, e.ram_bytes, ff_internal.other_options(e.reloptions))::text);

-- Decides for one table. Makes a new fit if the stored one is outdated, without storing it. always: even if no decision
-- needs it, with all steps.
CREATE FUNCTION ff_internal.decide_one(relation regclass, always boolean DEFAULT false) RETURNS ff_internal.judged
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    e   ff_internal.table_evidence;
    f   ff_internal.fit;
    d   ff_internal.decision;
    now ff_internal.fit;
    s   record;
BEGIN
    SELECT * INTO e FROM ff_internal.evidence($1);
    SELECT * INTO s FROM ff_internal.siblings($1);
    SELECT * INTO d FROM ff_internal.decide(e, NULL, s.fillfactor, s.log_cost, s.advised, false);
    IF (d.wants_model OR always) AND e.sampled_at IS NOT NULL THEN
        SELECT * INTO f FROM ff_internal.fit o WHERE o.rel_id = e.rel_id;
        now := f;
        now.valid_for := ff_internal.fit_valid_for(e.relation, e.fillfactor);
        now.made_with := ff_internal.fit_made_with();
        now.evidence_hash := ff_internal.evidence_hash(e);
        IF f.steps IS NULL OR always AND (f.steps[1]).settled_hot_pct IS NULL
           OR (f.valid_for, f.made_with, f.evidence_hash)
              IS DISTINCT FROM (now.valid_for, now.made_with, now.evidence_hash) THEN
            now.updates_per_s := ff_internal.updates_per_s(e);
            now.updated := (e.since).updated;
            SELECT m.choice, m.steps INTO now.choice, now.steps
              FROM json_to_record(ff_internal.model(
                       ff_internal.model_input(e, CASE WHEN f.made_with = now.made_with THEN f END), always))
                   m(choice ff_internal.choice, steps ff_internal.step[]);
            f := now;
        END IF;
        -- of all fits, so only where the model would change something
        SELECT * INTO d FROM ff_internal.decide(e, f, s.fillfactor, s.log_cost, s.advised, always,
            CASE WHEN (f.choice).action IN ('set', 'rewrite') THEN ff_internal.most_costs() END);
    END IF;
    RETURN ROW (e, f, d, NULL::text);
END
$$;

-- Decides for one table, its curve included. updated: its updates have to be known. Errors: 22004 NULL, those of
-- checked_table(), 55000 if too little is known.
CREATE FUNCTION ff_internal.decision_with_curve(relation regclass, updated boolean) RETURNS ff_internal.judged
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    v ff_internal.judged;
    f ff_internal.fit;
BEGIN
    PERFORM ff_internal.refuse('22004', 'relation must not be null') WHERE relation IS NULL;
    v := ff_internal.decide_one(ff_internal.checked_table(relation), true);
    f := v.fit;
    PERFORM ff_internal.refuse('55000', format(CASE WHEN (v.decision).cause = 'not_examined' THEN '"%s" is not examined'
                                                    WHEN f.steps IS NULL THEN 'too little is known of "%s" yet'
                                                    ELSE 'too little is known of the updates of "%s"' END,
                                               (v.evidence).relname),
                               (ff_internal.words(v.evidence, f, v.decision)).reason,
                               CASE WHEN f.steps IS NOT NULL
                                    THEN 'Run CALL ff_collect() before and after some of its updates.' END)
      WHERE f.steps IS NULL
         OR updated AND ((f.choice).workload->'classes' @> '[{"command": "update"}]') IS NOT TRUE;
    RETURN v;
END
$$;

-- Decides for one table, or for all (NULL): then by stored fits. pooled: one decision for a distributed table replaces
-- those of its shards; relation may be a shard.
CREATE FUNCTION ff_internal.decisions(relation regclass, pooled boolean) RETURNS SETOF ff_internal.judged
LANGUAGE plpgsql STABLE ROWS 1000
SET jit = off
AS $$
DECLARE
    most_costs CONSTANT float8[] := ff_internal.most_costs();
    tables CONSTANT oid[] := ARRAY(SELECT s.parent FROM ff_internal.shards() s
                                    WHERE pooled AND ($1 IS NULL OR $1 IN (s.parent, s.shard)));
BEGIN
    IF $1 IS NOT NULL AND tables = '{}' THEN
        RETURN NEXT ff_internal.decide_one($1);
        RETURN;
    END IF;
    PERFORM ff_internal.show_shards();
    RETURN QUERY
    WITH known AS MATERIALIZED (
        SELECT ROW (e, CASE WHEN d.wants_model THEN f END, d, NULL::text)::ff_internal.judged AS v, e.relation,
               (e.counted).updated, p.parent
          FROM ff_internal.evidence() e
          -- CASE keeps the hash from becoming a key of the join, computed for tables without a fit
          LEFT JOIN ff_internal.fit f ON f.rel_id = e.rel_id AND CASE WHEN f.steps IS NOT NULL
                THEN f.valid_for = ff_internal.fit_valid_for(e.relation, e.fillfactor) END
          LEFT JOIN ff_internal.siblings(NULL) s ON s.relid = e.relation
          LEFT JOIN ff_internal.shards() p ON coalesce(p.shard, p.parent) = e.relation AND p.parent = ANY (tables)
         CROSS JOIN LATERAL ff_internal.decide(e, f, s.fillfactor, s.log_cost, s.advised, false, most_costs) d
    )
    SELECT (k.v).* FROM known k WHERE k.parent IS NULL AND k.relation <> ALL (tables) AND $1 IS NULL
     UNION ALL
    SELECT (p.v).*
      FROM (SELECT ff_internal.distributed(k.parent, array_agg(k.v ORDER BY k.updated DESC NULLS LAST)) AS v
              FROM known k WHERE k.parent IS NOT NULL GROUP BY k.parent) p;
END
$$;

-- Returns decisions as figures and words, and what they rest on, in the order of ff_advice. phrase: at most 34
-- characters. saves: as in ff_advice. wal_saved, wal_now: by the change and of all updates, bytes a day, however short
-- the window. pooled: a distributed table replaces its shards.
CREATE FUNCTION ff_internal.advice(relation regclass DEFAULT NULL, pooled boolean DEFAULT true)
RETURNS TABLE (
    advice ff_internal.advice, phrase text, saves text, wal_saved float8, wal_now float8,
    evidence ff_internal.table_evidence, fit ff_internal.fit, decision ff_internal.decision, shards text)
LANGUAGE sql STABLE ROWS 1000
SET jit = off
AS $$
    SELECT ROW (
            e.relation, e.fillfactor, CASE WHEN x.advised THEN d.recommended_fillfactor ELSE e.fillfactor END,
            CASE WHEN k.words IS NULL THEN d.action ELSE 'keep' END, d.cause, round(d.confidence::numeric, 2)::real,
            u.per_s::numeric(20, 2)::real, round((100 * e.hot_share)::numeric, 1)::real,
            round((100 * CASE WHEN d.seen_cause = 'too_wide' THEN 0 ELSE e.recoverable_share END)::numeric, 1)::real,
            round(CASE WHEN x.advised THEN b.hot_pct ELSE 100 * e.hot_share END::numeric, 1)::real,
            r.fits, CASE WHEN x.advised THEN coalesce(n.rows_per_page, r.fits) ELSE r.fits END,
            e.heap_bytes, CASE WHEN x.advised THEN b.size_bytes ELSE e.heap_bytes END,
            e.ram_ratio::numeric(20, 4)::real,
            CASE WHEN x.advised THEN CASE WHEN g.wal_bytes IS NOT NULL
                      THEN round((100 * n.wal_bytes_per_update / nullif(c.wal_bytes_now, 0))::numeric) END
                 WHEN (e.counted).updated > 0 THEN 100 END::real,
            g.gain_pct, CASE WHEN h.told THEN g.wal_bytes END, g.disk_bytes, CASE WHEN h.told THEN g.cpu_s END,
            x.advised AND d.rewrites, m.disk_bytes, m.wal_bytes, round(m.seconds::numeric, 1)::float8,
            make_interval(secs => round(e.window_s)), d.provisional,
            concat_ws(E'\n', ff_internal.lines(concat_ws(' ',
                k.words, t.reason,
                CASE WHEN d.action = 'wait' AND e.rel_id IS NOT NULL
                     THEN (SELECT upper(left(n, 1)) || substr(n, 2) || '.' FROM ff_internal.next_collection() n) END,
                'Rewriting it takes ' || ff_internal.rewrite_time(m.seconds) || ', ' || pg_size_pretty(m.disk_bytes)
                    || ' of disk and ' || pg_size_pretty(m.wal_bytes) || ' of WAL.',
                v.shards,
                CASE WHEN e.not_examined IS NULL AND e.intervals > 0 AND EXISTS (SELECT FROM ff_internal.observed)
                     THEN ff_internal.unread(e.relation) END)), t.confidence),
            CASE WHEN x.advised AND e.fillfactor <> d.recommended_fillfactor
                 THEN ff_internal.alter_options(e.relation, ARRAY['fillfactor=' || d.recommended_fillfactor])
            END)::ff_internal.advice,
        CASE WHEN k.words IS NULL THEN t.phrase ELSE 'dismissed, see ff_advise()' END,
        CASE WHEN coalesce(g.wal_bytes, 0) <= 0 AND g.disk_bytes < 0 THEN pg_size_pretty(-g.disk_bytes) || ' disk'
             WHEN g.wal_bytes <> 0
             THEN replace(pg_size_pretty(w.bytes), 'bytes', 'B') || CASE w.per WHEN ' a day' THEN '/d' ELSE '/1000' END
             WHEN h.told AND abs(g.cpu_s) >= 1 THEN round(g.cpu_s) || ' s CPU/d'
             ELSE round(g.gain_pct) || ' % of cost' END,
        g.wal_bytes, c.wal_bytes_now * 86400 * u.per_s, v.evidence, v.fit, v.decision, v.shards
      FROM ff_internal.decisions(relation, pooled) v
     CROSS JOIN LATERAL (SELECT (v.evidence).*) e
     CROSS JOIN LATERAL (SELECT (v.decision).*) d
     CROSS JOIN LATERAL (SELECT ((v.fit).choice).*) c
      LEFT JOIN LATERAL (SELECT s.* FROM unnest((v.fit).steps) s WHERE s.fillfactor = d.step) n ON true
     CROSS JOIN LATERAL ff_internal.words(v.evidence, v.fit, v.decision) t
     CROSS JOIN LATERAL (SELECT ff_internal.updates_per_s(v.evidence)) u(per_s)
     CROSS JOIN LATERAL (SELECT e.window_s >= ff_internal.threshold('RATES')) h(told)
      -- OFFSET, here and below: the filter runs before the function, or the function once
     CROSS JOIN LATERAL (SELECT ff_internal.rows_now(v.evidence, v.fit, v.decision) OFFSET 0) r(fits)
      LEFT JOIN LATERAL (SELECT b.* FROM (SELECT WHERE d.changes OR d.rewrite = 'pays' OFFSET 0) o,
                                         ff_internal.effect(v.evidence, v.fit, v.decision) b) b ON true
      LEFT JOIN LATERAL (
           SELECT format('Dismissed %s by %s%s: %s. Otherwise %s would be advised.',
                         to_char(o.dismissed_at, 'YYYY-MM-DD'), ff_internal.plain(o.dismissed_by),
                         to_char(nullif(o.until, 'infinity'), '" until "YYYY-MM-DD'),
                         rtrim(ff_internal.plain(o.reason), '. '), CASE WHEN d.rewrite = 'pays' THEN 'a rewrite'
                         ELSE 'fillfactor ' || d.recommended_fillfactor END)
             FROM ff_internal.dismissal_of(e.rel_id, b.wal_bytes) o
            WHERE b.gain_pct IS NOT NULL OFFSET 0) k(words) ON true
     CROSS JOIN LATERAL (SELECT b.gain_pct IS NOT NULL AND k.words IS NULL) x(advised)
      LEFT JOIN LATERAL (SELECT b.* WHERE x.advised) g ON true
     CROSS JOIN LATERAL ff_internal.wal_rate(g.wal_bytes, u.per_s, e.window_s) w
      -- the least disturbing way
      LEFT JOIN LATERAL (SELECT m.* FROM (SELECT WHERE x.advised AND d.rewrites OFFSET 0) o,
                                         ff_internal.rewrites(e.relation, b.size_bytes) m
                          WHERE m.possible LIMIT 1) m ON true
     ORDER BY x.advised DESC, g.wal_bytes DESC NULLS LAST, g.cpu_s DESC NULLS LAST, g.disk_bytes,
              (e.counted).updated DESC NULLS LAST, e.nspname, e.relname
$$;

CREATE FUNCTION @extschema@.ff_advise(relation regclass DEFAULT NULL) RETURNS SETOF ff_internal.advice
LANGUAGE sql STABLE ROWS 1000
AS $$
    SELECT ff_internal.check_role('reader');
    SELECT a.advice FROM ff_internal.advice(ff_internal.checked_table($1)) a
$$;
COMMENT ON FUNCTION @extschema@.ff_advise(regclass) IS
'Advice for one table or for all: one row each, even if nothing should change. For all tables, it is what collections '
'stored; for one table, it is computed again if there is newer evidence. ff_advice is the overview.
action: lower, raise, keep (also if ff_dismiss() declined a change), wait (more data is needed). cause: page_full, '
'batch_update, row_growth (updates leave full pages: fillfactor helps); indexed_column, old_snapshot, settled, '
'settling, few_updates, read_mostly, too_wide (it rarely helps); no_data (unknown so far); not_examined (partitioned, '
'foreign, temporary, excluded, or not heap).
fillfactor, recommended_fillfactor: percent, now and advised (equal if nothing should change). confidence: 0 to 1, '
'a product, which the last line of reason shows: enough seen (updates / four times min_updates), long enough (0.5 at '
'first, 1 after a day with three cycles of the work), model (how well it explains the data); if they matter, counters '
'lost, columns unknown (whether an indexed one changes), rows not seen, pages not read, earlier advice.
updates_per_s: rows updated per second over the window. hot_pct: HOT share of the recent updates. recoverable_pct: '
'share not HOT only because the page was full. predicted_hot_pct: HOT share at the recommended fillfactor, over a '
'window like the observed one.
rows_per_page, predicted_rows_per_page: rows that inserts put on a page. size_bytes, predicted_size_bytes: main '
'fork, now and after fillfactor_advisor.payback_time (raised: once rewritten), with as many rows as now. ram_ratio: '
'(table + indexes) / memory, see ff_memory(). predicted_wal_pct: WAL per update, percent of today.
For a change, or a rewrite that pays at the fillfactor it has (keep): gain_pct: cost saved (time, WAL and size, '
'weighted by the settings), percent. wal_bytes_per_day_saved, cpu_seconds_per_day_saved: at the rate of the window; '
'NULL until an hour was watched. disk_bytes_change: table and indexes. needs_rewrite: a rewrite saves more within '
'fillfactor_advisor.payback_time than it costs; or it is hardly updated and, raised, a tenth smaller. '
'rewrite_disk_bytes, rewrite_wal_bytes, rewrite_seconds: cost of the least disturbing way, without I/O time if no '
'collection timed I/O (track_io_timing).
observed: time that the window covers. provisional: less than a day. reason: why, one part a line. ddl: the '
'statement; see ff_script().
Errors: 42P01 unknown OID, 42809 not a table.';

-- The rows of ff_advice. The totals are a notice: a row of them would move when others sort or filter the view.
CREATE FUNCTION ff_internal.overview()
RETURNS TABLE (relation regclass, now integer, new integer, action text, saves text, sure real, why text)
LANGUAGE plpgsql STABLE ROWS 1000
AS $$
DECLARE
    a       record;
    changes jsonb[] := '{}';
    total   jsonb;
    unused  bigint := 0;     -- tables that nothing is written to
BEGIN
    PERFORM ff_internal.check_role('reader');
    FOR a IN SELECT (v.advice).*, v.phrase, v.saves AS worth, v.wal_saved, v.wal_now, (v.decision).at_rest
               FROM ff_internal.advice() v
    LOOP
        IF a.at_rest THEN
            unused := unused + 1;
            CONTINUE;
        END IF;
        relation := a.relation;
        now := a.fillfactor;
        new := nullif(a.recommended_fillfactor, a.fillfactor);
        action := a.action;
        saves := a.worth;
        sure := CASE WHEN a.cause <> 'not_examined' AND a.action <> 'wait' THEN a.confidence END;
        why := a.phrase;
        RETURN NEXT;
        IF a.gain_pct IS NOT NULL THEN
            changes := changes || to_jsonb(a);
        END IF;
    END LOOP;
    total := ff_internal.plan_total(changes);
    RAISE NOTICE '%', concat_ws('; ',
        (SELECT 'mirror of ' || s.database || coalesce(' on ' || (s.observed->>'host'), '')
           FROM ff_internal.server s WHERE s.observed IS NOT NULL),
        coalesce(ff_internal.restored(), CASE WHEN NOT FOUND THEN 'this database has no tables' END, total->>'words'),
        CASE WHEN (total->>'observed_s')::float8 < ff_internal.threshold('FULL_DAY')
             THEN 'watched for ' || ff_internal.span((total->>'observed_s')::float8) END,
        'nothing is written to ' || ff_internal.counted(nullif(unused, 0), 'more table'));
END
$$;

CALL ff_internal.define($$
CREATE VIEW @extschema@.ff_advice (
    -- Advice at a glance, under 100 characters wide for names of up to 22 characters; ff_advise() says more. Changes
    -- come first, by the WAL that they save, then CPU time, then disk. A notice has their totals, and the number of
    -- tables that are left out because nothing is written to them.
    relation, -- the table, as one would write it
    now,      -- effective fillfactor, percent
    new,      -- advised fillfactor, percent; NULL if nothing should change
    action,   -- lower, raise, keep, wait
    saves,    -- what the change saves: WAL a day (/d), or WAL per 1,000 updates (/1000) until an hour was watched; disk
              -- or seconds of CPU a day if no WAL, or its cost
    sure,     -- confidence, 0 to 1; NULL: not examined, or it waits
    why       -- the cause; ff_advise() has the whole reason
) AS SELECT o.relation::text, o.now, o.new, o.action, o.saves, o.sure, o.why FROM ff_internal.overview() o
$$);

-- Returns the rel_id of tables whose advice a collection may have changed, largest possible gain first, at most
-- fillfactor_advisor.fits. Also removes the fits of dropped tables, and follows the parents of dismissed ones.
CREATE FUNCTION ff_internal.fits_due(id bigint) RETURNS SETOF bigint
LANGUAGE sql VOLATILE
SET jit = off
AS $$
    DELETE FROM ff_internal.fit f
     WHERE NOT EXISTS (SELECT FROM ff_internal.relation r WHERE r.rel_id = f.rel_id AND r.closed_at IS NULL);
    SELECT ff_internal.follow_parents();

    -- Tables that were altered, whose evidence grew by a tenth (chosen) since their fit or has become enough to judge
    -- by, or whose fit was made with other settings or is a day old: then also those with advice to change, which may
    -- be outdated without activity.
    WITH m(enough, made_with) AS MATERIALIZED (
        SELECT ff_internal.setting('min_updates'), ff_internal.fit_made_with()
    )
    SELECT r.rel_id
      FROM ff_internal.collection c
      JOIN ff_internal.relation r ON r.closed_at IS NULL AND r.sampled_at IS NOT NULL
      -- none of a clock that was ahead
      LEFT JOIN ff_internal.fit f ON f.rel_id = r.rel_id AND f.made_at <= c.began_at
     CROSS JOIN LATERAL (SELECT coalesce(f.to_fillfactor <> f.from_fillfactor, false), c.began_at - f.made_at)
                        a(stands, age)
     CROSS JOIN m
     -- since the last fit, or for the last hour
     CROSS JOIN LATERAL (
           SELECT sum(i.updated) AS updated, sum(i.updated - i.hot_updated) AS non_hot,
                  coalesce(bool_or(i.rewritten), false)
                  OR EXISTS (SELECT FROM ff_internal.change h WHERE h.rel_id = r.rel_id AND h.seen_at > f.made_at)
                     AS altered
             FROM ff_internal.counter_interval i
            WHERE i.rel_id = r.rel_id AND i.ended_at > coalesce(f.made_at, c.began_at - interval '1 hour')) d
     WHERE c.collection_id = id
       AND (r.seen_at > coalesce(f.made_at, r.opened_at) OR a.stands OR f.made_with <> m.made_with
            OR r.opened_at > c.began_at)
       AND (f.rel_id IS NULL OR a.age >= '1 day' OR d.altered OR d.updated >= 0.1 * greatest(1, f.updated)
            OR f.updated < m.enough AND f.updated + d.updated >= m.enough OR f.made_with <> m.made_with
            OR d.updated = 0 AND r.seen_at > f.made_at AND a.age > 0.1 * (c.began_at - r.opened_at))
       AND (d.updated > 0 OR d.updated = 0 AND r.fillfactor < 100 OR a.stands OR d.altered
            -- a restored history has no fits, a new version of the model or of the server those of another one
            OR (f.rel_id IS NULL OR f.made_with <> m.made_with) AND (r.updated > 0 OR r.fillfactor < 100 OR EXISTS (
               SELECT FROM ff_internal.counter_interval i
                WHERE i.rel_id = r.rel_id AND i.updated > 0 AND i.ended_at > c.began_at - ff_internal.lookback())))
     ORDER BY greatest(d.updated, 1) * greatest(ln((f.choice).best_gain),
                                                d.non_hot / greatest(d.updated, 1)::float8, 0.001)
              * least(24, coalesce(extract(epoch FROM a.age) / 3600, 24)) DESC, r.rel_id
     LIMIT ff_internal.setting('fits')::integer
$$;

-- Fits a table (rel_id) and stores the advice. Stores a change's prediction, too; again once it moved or is a day old.
-- Returns 1, or 0 if there is no such table.
CREATE FUNCTION ff_internal.collect_fit(id bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    -- percentage points of predicted HOT share (chosen)
    new_prediction CONSTANT float8 := 2;
    at   CONSTANT timestamptz := ff_internal.observed_at();
    v    record;
    a    ff_internal.advice;
    d    ff_internal.decision;
    f    ff_internal.fit;
    n    ff_internal.step;
    had  ff_internal.fit;
    last ff_internal.prediction;
BEGIN
    SELECT x.* INTO v FROM ff_internal.relation r CROSS JOIN ff_internal.advice(r.relid, false) x
     WHERE r.rel_id = id AND r.closed_at IS NULL;
    a := v.advice;
    IF a.relation IS NULL THEN    -- dropped meanwhile
        RETURN 0;
    END IF;
    d := v.decision;
    f := v.fit;
    SELECT * INTO had FROM ff_internal.fit o WHERE o.rel_id = id;
    IF (f.choice).current_step IS NULL THEN
        -- the model was not asked: keep its last choice
        f.choice.advised_step := CASE WHEN had.from_fillfactor = a.fillfactor THEN (had.choice).advised_step END;
        f.made_with := ff_internal.fit_made_with();
    END IF;
    -- the decision, even if somebody dismissed it
    INSERT INTO ff_internal.fit (rel_id, made_at, evidence_hash, made_with, valid_for, choice, steps, action,
                                 from_fillfactor, to_fillfactor, confidence, updates_per_s, updated)
    VALUES (id, at, coalesce(f.evidence_hash, ''), f.made_with, coalesce(f.valid_for, ''), f.choice, f.steps, d.action,
            a.fillfactor, d.recommended_fillfactor, a.confidence, a.updates_per_s,
            coalesce(f.updated, ((v.evidence).since).updated))
    ON CONFLICT (rel_id) DO UPDATE
       SET (rel_id, made_at, evidence_hash, made_with, valid_for, choice, steps, action, from_fillfactor,
            to_fillfactor, confidence, updates_per_s, updated) = ROW (EXCLUDED.*);
    PERFORM ff_internal.note_fit(had, id, d,
                ff_internal.keep_dismissal(id, had.rel_id IS NULL, d.changes, b.wal_bytes, a.observed),
                a.fillfactor, b.wal_bytes,
                ff_internal.wal_saved(b.wal_bytes, a.updates_per_s, extract(epoch FROM a.observed)::float8), a.observed,
                v.phrase)
       FROM ff_internal.effect(v.evidence, f, d) b;
    SELECT * INTO last FROM ff_internal.prediction p WHERE p.rel_id = id ORDER BY p.made_at DESC LIMIT 1;
    n := ff_internal.step_at(f.steps, d.step);
    IF d.changes
       AND ((last.from_fillfactor, last.to_fillfactor) IS DISTINCT FROM (a.fillfactor, d.recommended_fillfactor)
            OR last.made_at < at - interval '1 day' OR last.judged_at IS NOT NULL
            OR (abs(last.predicted_hot_pct - n.hot_pct) < new_prediction OR n.hot_pct IS NULL) IS NOT TRUE) THEN
        INSERT INTO ff_internal.prediction (rel_id, made_at, from_fillfactor, to_fillfactor, predicted_hot_pct,
                                            predicted_hot_low, predicted_hot_high, predicted_wal_pct, size_bytes,
                                            predicted_size_bytes)
        VALUES (id, at, a.fillfactor, d.recommended_fillfactor, n.hot_pct, n.hot_pct_low, n.hot_pct_high,
                100 * n.wal_of_updates / nullif((ff_internal.step_at(f.steps, d.current_step)).wal_of_updates, 0),
                a.size_bytes, n.size_bytes);
    END IF;
    RETURN 1;
END
$$;
