-- Stage advice: which fillfactor to set, if any.
--
-- Diagnosis derives the cause from the evidence alone. The model chooses the fillfactor; collections compute and store
-- its fits. This file adds the reasons against a change. Every table of the database gets a row and a reason.

-- ---------------------------------------------------------------------------
-- Fits
-- ---------------------------------------------------------------------------
-- The settings that a fit depends on.
CREATE FUNCTION ff_internal.fit_settings() RETURNS text
LANGUAGE sql STABLE
RETURN (SELECT string_agg(ff_internal.setting(n.name)::text, ' ' ORDER BY n.name)
          FROM unnest('{payback_time, time_weight, wal_weight, size_weight, storage_weight, min_gain, '
                      'page_read_cost}'::text[]) n(name));

-- Hash of everything whose change makes a stored fit useless, see table fit.
CREATE FUNCTION ff_internal.fit_shape(relation oid, fillfactor integer) RETURNS text
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    RETURN (
    SELECT md5(concat_ws(' ', ff_internal.model_version(), o.system_identifier, c.oid, c.relfilenode, fillfactor,
                         (SELECT array_agg(k.keys ORDER BY k.keys)
                            FROM pg_index i, concat_ws(' ', i.indkey, i.indexprs, i.indpred) k(keys)
                           WHERE i.indrelid = c.oid AND i.indislive)))
      FROM pg_class c CROSS JOIN ff_internal.server() o WHERE c.oid = relation);
END
$$;

-- Hash of the evidence and the settings that a fit depends on, apart from its shape.
CREATE FUNCTION ff_internal.fit_mark(e ff_internal.table_evidence) RETURNS text
LANGUAGE sql STABLE
RETURN md5(concat_ws(' ', e.counters, e.since_change, e.recent, (e.sample).sampled_at, e.seen_hot, e.seen_same_page,
                     e.seen_newpage, e.ram_bytes, ff_internal.fit_settings()));

-- Computes a table's fit without storing it. It starts from the last fit and keeps the last advice. curve: replay all
-- steps even if the choice does not need them.
CREATE FUNCTION ff_internal.new_fit(d ff_internal.diagnosis, last ff_internal.fit, curve boolean)
RETURNS ff_internal.fit
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    e ff_internal.table_evidence := d.evidence;
BEGIN
    SELECT m.choice, m.steps INTO last.choice, last.steps
      FROM ff_internal.model(
               ff_internal.model_input(e, coalesce(d.indexed_share, ff_internal.indexed_share(e)), last), curve) m;
    last.updates_per_s := ff_internal.updates_per_s(e);
    last.updated := (e.since_change).updated;
    RETURN last;
END
$$;

CREATE FUNCTION ff_internal.step_at(steps ff_internal.step[], fillfactor integer) RETURNS ff_internal.step
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (SELECT s FROM unnest(steps) s WHERE s.fillfactor = step_at.fillfactor);

-- ---------------------------------------------------------------------------
-- Siblings
-- ---------------------------------------------------------------------------
-- Ratio of costs from which a step is clearly better (chosen).
CREATE FUNCTION ff_internal.clearly_better() RETURNS float8
LANGUAGE sql STABLE
RETURN ff_internal.better() ^ 5;

-- Returns the best step for the partitions or shards of one parent together: least mean cost, weighted by their
-- updates. (A pooled sample of their pages would describe no real table.) One row for each leaf with an updated
-- sibling; it is the leaf's own step if the best one is not better().
CREATE FUNCTION ff_internal.sibling_choices(relation regclass) RETURNS TABLE (relid oid, best integer)
LANGUAGE sql STABLE ROWS 100
AS $$
    WITH leaf AS MATERIALIZED (
        SELECT i.parent, i.leaf, f.updates_per_s AS weight, f.steps, count(*) OVER (PARTITION BY i.parent) AS leaves,
               CASE WHEN f.action IN ('lower', 'raise') THEN f.to_fillfactor END AS advised
          FROM ff_internal.sibling i
          JOIN ff_internal.relation r ON r.relid = i.leaf AND r.closed_at IS NULL
          JOIN ff_internal.fit f ON f.rel_id = r.rel_id
         WHERE ($1 IS NULL OR i.parent = (SELECT o.parent FROM ff_internal.sibling o WHERE o.leaf = $1))
           AND (f.choice).current_step IS NOT NULL AND f.updates_per_s > 0
    ), costs AS MATERIALIZED (
        -- only steps that all leaves have: rows of other lengths have other steps
        SELECT l.parent, s.fillfactor, array_agg(l.leaf) AS leaves, mode() WITHIN GROUP (ORDER BY l.advised) AS advised,
               sum(l.weight * ln(s.cost)) / sum(l.weight) AS log_cost
          FROM leaf l CROSS JOIN unnest(l.steps) s
         GROUP BY l.parent, s.fillfactor, l.leaves
        HAVING count(*) = l.leaves
    ), best AS (
        -- the step advised to most of them stays until another is clearly better
        SELECT DISTINCT ON (c.parent) c.*
          FROM (SELECT *, min(log_cost) OVER (PARTITION BY parent) AS least FROM costs) c
         ORDER BY c.parent, coalesce(c.fillfactor = c.advised
                                     AND c.log_cost < c.least + ln(ff_internal.clearly_better()), false) DESC,
                  c.log_cost, c.fillfactor DESC
    )
    SELECT i.leaf, CASE WHEN own.log_cost - b.log_cost < ln(ff_internal.better()) THEN own.fillfactor
                        ELSE b.fillfactor END
      FROM best b
      JOIN ff_internal.sibling i ON i.parent = b.parent AND b.leaves <> ARRAY[i.leaf]
      JOIN pg_class c ON c.oid = i.leaf
     CROSS JOIN LATERAL (SELECT o.* FROM costs o
                          WHERE o.parent = b.parent AND o.fillfactor >= ff_internal.effective_fillfactor(c.reloptions)
                          ORDER BY o.fillfactor LIMIT 1) own
     WHERE $1 IS NULL OR i.leaf = $1
$$;

-- ---------------------------------------------------------------------------
-- Deciding
-- ---------------------------------------------------------------------------
-- Returns how far the advice can be trusted, 0 to 1. It is a product of:
-- - the updates seen (inserts, if there are hardly any updates), divided by four times min_updates, at most 1;
-- - the time observed: from 0.5 at first to 1 after a day with three cycles, by a square root;
-- - 0.5 if counters were off for a time, and 0.5 if it is unknown whether updates change an indexed column;
-- - the model's confidence, calibrated by the outcome of earlier advice; next: the step that is considered.
CREATE FUNCTION ff_internal.confidence(d ff_internal.diagnosis, f ff_internal.fit, next integer) RETURNS float8
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    e ff_internal.table_evidence := d.evidence;
    w ff_internal.window_counters := e.counters;
BEGIN
    IF d.cause IN ('not_examined', 'no_data') OR (e.sample).sampled_at IS NULL THEN
        RETURN (d.cause = 'not_examined')::integer;
    END IF;
    RETURN CASE WHEN d.idle THEN 1
                ELSE least(1, CASE WHEN w.updated < 0.01 * w.inserted THEN w.inserted
                                   ELSE coalesce((e.since_change).updated, 0) END
                              / (4.0 * ff_internal.setting('min_updates')::bigint)) END
           * (0.5 + 0.5 * sqrt(least(1, e.window_s / 86400, w.cycles / 3)))
           * CASE WHEN e.counts_lost THEN 0.5 ELSE 1 END
           * CASE WHEN d.wants_model AND NOT d.eligible_known THEN 0.5 ELSE 1 END
           * CASE WHEN d.wants_model AND d.cause <> 'few_updates'
                  THEN CASE WHEN (f.choice).confidence IS NULL THEN 0
                            ELSE ff_internal.calibrated((f.choice).confidence, ff_internal.calibration(e.rel_id,
                                     e.fillfactor, nullif(next, (f.choice).current_step))) END
                  ELSE 1 END;
END
$$;

-- Decides for a table with enough updates for the model.
CREATE FUNCTION ff_internal.decide_updated(v ff_internal.decision) RETURNS ff_internal.decision
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    e      ff_internal.table_evidence := (v.diagnosis).evidence;
    c      ff_internal.choice := (v.fit).choice;
    w      ff_internal.window_counters := e.counters;
    next   CONSTANT integer := (v.then_step).fillfactor;
    calls  CONSTANT bigint := w.updated / greatest(1, coalesce(c.update_call_rows, 1));
    change CONSTANT text := CASE sign(next - (v.now_step).fillfactor) WHEN -1 THEN 'lower' WHEN 1 THEN 'raise' END;
    taken  boolean;
BEGIN
    IF v.gain > 1 AND change IS NOT NULL THEN
        -- taken: after a recent change of fillfactor, do not advise another one within a day or for an unclear gain.
        -- Do not reverse a change that was made as advised unless ff_verify() says that it hurt.
        SELECT e.since_change_s < 86400 OR v.gain < ff_internal.clearly_better()
               OR sign(h.new_fillfactor - h.old_fillfactor) <> sign(next - e.fillfactor)
                  AND EXISTS (SELECT FROM ff_internal.prediction p
                               WHERE p.rel_id = h.rel_id AND p.made_at < h.seen_at AND p.verdict IS DISTINCT FROM 'hurt'
                                 AND (p.from_fillfactor, p.to_fillfactor) = (h.old_fillfactor, h.new_fillfactor))
          INTO taken
          FROM ff_internal.change h
         WHERE h.rel_id = e.rel_id AND h.kind = 'fillfactor' AND h.seen_at > now() - ff_internal.lookback()
         ORDER BY h.seen_at DESC LIMIT 1;
        -- short: raise only after a day in which the table was at least half as busy as over the whole window. After a
        -- change of its indexes, too, wait a day, unless the same was advised before.
        -- settling: wait a day if the table may become HOT by itself and the gain is not clear.
        v.because := CASE WHEN taken THEN 'taken'
                          WHEN change = 'raise'
                               AND (e.since_change_s < 86400
                                    OR (e.since_change).updated * e.window_s < 0.5 * w.updated * e.since_change_s)
                            OR e.since_change_s < least(86400, e.window_s)
                               AND ((v.fit).action, (v.fit).to_fillfactor) IS DISTINCT FROM (change, next) THEN 'short'
                          WHEN change = 'lower' AND (v.fit).action IS DISTINCT FROM change AND c.settling > 0.1
                               AND e.window_s < 86400 AND v.gain < ff_internal.clearly_better() THEN 'settling'
                          ELSE v.because END;
        v.action := CASE WHEN taken AND e.since_change_s >= 86400 THEN 'keep'
                         WHEN v.because IN ('taken', 'short', 'settling') OR v.confidence < v.needed_confidence
                         THEN 'wait' ELSE change END;
        RETURN v;
    END IF;
    v.action := CASE c.action WHEN 'wait' THEN 'wait' ELSE 'keep' END;
    IF v.cause IN ('page_full', 'batch_update', 'row_growth') THEN
        -- Read mostly: readers fetch more than 50 pages per updated row. One scan per call of an UPDATE is not counted:
        -- it may have searched for the rows.
        v.cause := CASE WHEN 50 * w.updated
                             < least(w.blocks_fetched, 2 * greatest(w.index_scans - calls, 0) + (e.sample).blocks
                                     * greatest(w.seq_scans - greatest(calls - w.index_scans, 0), 0)) THEN 'read_mostly'
                        WHEN c.settling > 0.5 THEN 'settling' ELSE v.cause END;
    END IF;
    RETURN v;
END
$$;

-- f: NULL if the model was not asked; siblings_best: see sibling_choices().
CREATE FUNCTION ff_internal.decide(d ff_internal.diagnosis, f ff_internal.fit, siblings_best integer)
RETURNS ff_internal.decision
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    e     ff_internal.table_evidence := d.evidence;
    c     ff_internal.choice := f.choice;
    other ff_internal.step := ff_internal.step_at(f.steps, siblings_best);
    v     ff_internal.decision;
BEGIN
    v.diagnosis := d;
    v.fit := f;
    v.cause := d.cause;
    v.needed_confidence := ff_internal.setting('min_confidence');
    v.passed_over := d.wants_model AND c.current_step IS NULL;
    IF c.current_step IS NOT NULL THEN
        v.now_step := ff_internal.step_at(f.steps, c.current_step);
        v.then_step := ff_internal.step_at(f.steps, c.advised_step);
        v.gain := CASE WHEN c.advised_step = c.current_step THEN 1 ELSE c.gain END;
        -- take the siblings' step unless its own is clearly better
        IF other.fillfactor <> c.advised_step AND other.cost < (v.then_step).cost * ff_internal.clearly_better() THEN
            v.then_step := other;
            v.gain := CASE WHEN siblings_best = c.current_step THEN 1 ELSE c.best_gain / other.cost END;
            v.because := 'siblings';
        END IF;
        -- a step that more than doubles the size needs more confidence: by default 0.6 at four times (chosen)
        v.needed_confidence := 1 - (1 - v.needed_confidence)
            * least(1, 2.0 * (v.now_step).size_bytes / nullif((v.then_step).size_bytes, 0));
        -- advice that already stands needs half the confidence
        IF f.action IN ('lower', 'raise')
           AND (f.from_fillfactor, f.to_fillfactor) = (e.fillfactor, (v.then_step).fillfactor) THEN
            v.needed_confidence := v.needed_confidence / 2;
        END IF;
    END IF;
    v.confidence := ff_internal.confidence(d, f, (v.then_step).fillfactor);
    IF d.cause = 'no_data' OR v.passed_over THEN
        v.action := 'wait';
    ELSIF d.cause = 'few_updates' AND NOT d.idle THEN
        -- Remove a reserve after a full day, unless the siblings need it: by their curves, or if those are missing, by
        -- their history: more than one update per hundred inserts (chosen).
        v.because := CASE WHEN e.fillfactor = 100 THEN NULL
                          WHEN siblings_best < 100 OR (
                              SELECT sum(n.updated) > 0.01 * sum(n.inserted)
                                FROM ff_internal.sibling o
                                JOIN ff_internal.sibling i ON i.parent = o.parent AND i.leaf <> o.leaf
                                JOIN ff_internal.relation r ON r.relid = i.leaf AND r.closed_at IS NULL
                                JOIN ff_internal.counter_interval n ON n.rel_id = r.rel_id
                               WHERE o.leaf = e.relation) THEN 'siblings'
                          WHEN e.window_s < 86400 THEN 'short' END;
        v.action := CASE WHEN v.because = 'siblings' THEN 'keep'
                         WHEN v.because = 'short' OR e.open_writers > 0 OR e.counts_lost THEN 'wait'
                         WHEN c.action IN ('set', 'rewrite')
                         THEN CASE WHEN v.confidence < v.needed_confidence THEN 'wait' ELSE 'raise' END
                         WHEN (e.counters).updated < 0.01 * (e.counters).inserted OR e.window_s >= 86400 THEN 'keep'
                         ELSE 'wait' END;
    ELSIF d.wants_model AND d.cause <> 'few_updates' THEN
        v := ff_internal.decide_updated(v);
    ELSE
        v.action := 'keep';
    END IF;
    v.recommended_fillfactor := CASE WHEN v.action IN ('lower', 'raise') THEN (v.then_step).fillfactor
                                     ELSE e.fillfactor END;
    RETURN v;
END
$$;

-- Decides for one table or for all (NULL). Uses stored fits of the same shape. For one table, the fit's evidence must
-- be current, too; otherwise the model is asked again. always: ask it even if the decision does not need it.
CREATE FUNCTION ff_internal.decisions(relation regclass, always boolean DEFAULT false)
RETURNS SETOF ff_internal.decision
LANGUAGE plpgsql STABLE ROWS 1000
SET jit = off
AS $$
DECLARE
    t     record;
    d     ff_internal.diagnosis;
    fit   ff_internal.fit;
    one   CONSTANT boolean := $1 IS NOT NULL;
    shape text;
    mark  text;
BEGIN
    FOR t IN
        SELECT o AS diagnosis, l AS last, s.best
          FROM ff_internal.diagnosis($1) o
          LEFT JOIN ff_internal.fit l ON l.rel_id = (o.evidence).rel_id
          LEFT JOIN ff_internal.sibling_choices($1) s ON s.relid = (o.evidence).relation
    LOOP
        d := t.diagnosis;
        fit := NULL;
        IF (d.wants_model OR always) AND ((d.evidence).sample).sampled_at IS NOT NULL
           AND (one OR (t.last).steps IS NOT NULL) THEN
            fit := t.last;
            shape := ff_internal.fit_shape((d.evidence).relation, (d.evidence).fillfactor);
            mark := CASE WHEN one THEN ff_internal.fit_mark(d.evidence) END;
            IF one AND ((fit.shape, fit.mark) = (shape, mark) AND fit.steps IS NOT NULL
                        AND NOT (always AND (fit.steps[1]).settled_hot_pct IS NULL)) IS NOT TRUE THEN
                fit := ff_internal.new_fit(d, fit, always);
                fit.mark := mark;
                fit.shape := shape;
            ELSIF fit.shape <> shape THEN
                fit := NULL;
            END IF;
        END IF;
        RETURN NEXT ff_internal.decide(d, fit, t.best);
    END LOOP;
END
$$;

-- Decides for one table, its curve included. updated: its updates have to be known. Errors: 22004 NULL, those of
-- checked_table(), 55000 if too little is known, with the reason that ff_advise() gives.
CREATE FUNCTION ff_internal.known_decision(relation regclass, updated boolean) RETURNS ff_internal.decision
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    v ff_internal.decision;
BEGIN
    IF relation IS NULL THEN
        PERFORM ff_internal.refuse('22004', 'relation must not be null');
    END IF;
    SELECT * INTO v FROM ff_internal.decisions(ff_internal.checked_table(relation), true);
    IF (v.fit).steps IS NULL
       OR updated AND (((v.fit).choice).life->'classes' @> '[{"command": "update"}]') IS NOT TRUE THEN
        PERFORM ff_internal.refuse('55000', format(CASE WHEN v.cause = 'not_examined' THEN '"%s" is not examined'
                                                        WHEN (v.fit).steps IS NULL
                                                        THEN 'too little is known of "%s" yet'
                                                        ELSE 'too little is known of the updates of "%s"' END,
                                                   ((v.diagnosis).evidence).relname),
                                   upper(left(w.reason, 1)) || rtrim(substr(w.reason, 2), '.') || '.',
                                   CASE WHEN v.cause <> 'not_examined' AND (v.fit).steps IS NOT NULL
                                        THEN 'Run CALL ff_collect() before and after some of its updates.' END)
           FROM ff_internal.words(v) w;
    END IF;
    RETURN v;
END
$$;

-- Like decisions(). pooled: one decision for a distributed table replaces those of its shards; relation may be a shard.
CREATE FUNCTION ff_internal.pooled_decisions(relation regclass, pooled boolean)
RETURNS SETOF ff_internal.decision
LANGUAGE plpgsql STABLE ROWS 1000
AS $$
DECLARE
    tables CONSTANT oid[] := (SELECT array_agg(s.parent) FROM ff_internal.shards() s
                               WHERE pooled AND ($1 IS NULL OR $1 IN (s.parent, s.shard)));
BEGIN
    IF tables IS NULL THEN
        RETURN QUERY SELECT * FROM ff_internal.decisions($1);
        RETURN;
    END IF;
    PERFORM ff_internal.show_shards();
    RETURN QUERY
    WITH known AS MATERIALIZED (
        SELECT v, e.relation, s.parent, (e.counters).updated
          FROM ff_internal.decisions(NULL) v
         CROSS JOIN unnest(ARRAY[(v.diagnosis).evidence]) e
          LEFT JOIN ff_internal.shards() s ON coalesce(s.shard, s.parent) = e.relation
    )
    SELECT (p.v).*
      FROM (SELECT k.v FROM known k
             WHERE k.parent IS NULL AND k.relation <> ALL (tables) AND $1 IS NULL
            UNION ALL
            SELECT ff_internal.distributed(k.parent, array_agg(k.v ORDER BY k.updated DESC NULLS LAST))
              FROM known k WHERE k.parent = ANY (tables) GROUP BY k.parent) p;
END
$$;

-- ---------------------------------------------------------------------------
-- Advice
-- ---------------------------------------------------------------------------
-- Returns decisions as figures and words: the columns of ff_advise() and ff_advice, and the decision itself. whole: a
-- distributed table replaces its shards.
CREATE FUNCTION ff_internal.advice(relation regclass DEFAULT NULL, whole boolean DEFAULT true)
RETURNS TABLE (
    relation                   regclass,
    fillfactor                 integer,
    recommended_fillfactor     integer,
    action                     text,
    cause                      text,
    confidence                 real,
    updates_per_s              real,
    hot_pct                    real,
    recoverable_pct            real,
    predicted_hot_pct          real,
    rows_per_page              integer,
    predicted_rows_per_page    integer,
    size_bytes                 bigint,
    predicted_size_bytes       bigint,
    ram_ratio                  real,
    predicted_wal_pct          real,
    gain_pct                   real,
    wal_bytes_per_day_saved    bigint,
    disk_bytes_change          bigint,
    cpu_seconds_per_day_saved  real,
    needs_rewrite              boolean,
    rewrite_disk_bytes         bigint,
    rewrite_wal_bytes          bigint,
    rewrite_seconds            float8,
    observed                   interval,
    provisional                boolean,
    reason                     text,
    ddl                        text,
    phrase                     text,
    evidence                   ff_internal.table_evidence,
    decision                   ff_internal.decision
)
LANGUAGE sql STABLE ROWS 1000
SET jit = off
AS $$
    SELECT e.relation, e.fillfactor, v.recommended_fillfactor, v.action, v.cause, round(v.confidence::numeric, 2)::real,
           u.per_s::numeric(20, 2)::real, round((100 * d.hot_share)::numeric, 1)::real,
           round((100 * d.recoverable_share)::numeric, 1)::real,
           round(CASE WHEN x.changes THEN n.hot_pct ELSE 100 * d.hot_share END::numeric, 1)::real,
           r.fits, CASE WHEN x.changes THEN n.rows_per_page ELSE r.fits END,
           e.heap_bytes, CASE WHEN x.changes THEN n.size_bytes ELSE e.heap_bytes END, e.ram_ratio::numeric(20, 4)::real,
           CASE WHEN x.changes THEN round((100 * n.wal_bytes_per_update / nullif(c.wal_bytes_now, 0))::numeric)
                WHEN w.updated > 0 THEN 100 END::real,
           b.gain_pct, b.wal_bytes, b.disk_bytes, b.cpu_s, x.needs_rewrite, m.disk_bytes, m.wal_bytes, m.seconds,
           make_interval(secs => e.window_s),
           v.cause NOT IN ('not_examined', 'too_wide') AND coalesce(e.window_s < 86400, true),
           concat(rtrim(t.reason, CASE WHEN x.next IS NULL THEN '' ELSE '.' END), '; ' || x.next || '.',
                  ' Rewriting it takes ' || ff_internal.rewrite_time(m.seconds) || ', '
                      || pg_size_pretty(m.disk_bytes) || ' of disk and ' || pg_size_pretty(m.wal_bytes) || ' of WAL.',
                  ' ' || v.shards), b.ddl, t.phrase, e, v
      FROM ff_internal.pooled_decisions(relation, whole) v
     CROSS JOIN unnest(ARRAY[v.diagnosis]) d
     CROSS JOIN unnest(ARRAY[d.evidence]) e
     CROSS JOIN unnest(ARRAY[e.counters]) w
     CROSS JOIN unnest(ARRAY[v.then_step]) n
     CROSS JOIN unnest(ARRAY[(v.fit).choice]) c
     CROSS JOIN ff_internal.words(v) t
     CROSS JOIN LATERAL (SELECT c.changes, c.changes AND coalesce(n.needs_rewrite, true) AS needs_rewrite,
                                CASE WHEN v.action = 'wait' THEN (SELECT ff_internal.next_collection()) END AS next
                           FROM (SELECT v.action IN ('lower', 'raise')) c(changes)) x
     CROSS JOIN LATERAL (SELECT s.n, s.n * 86400 FROM ff_internal.updates_per_s(e) s(n)) u(per_s, per_day)
     CROSS JOIN unnest(ARRAY[coalesce((v.now_step).rows_per_page,
                                              ff_internal.rows_per_page(e.fillfactor, d.row_width))]) r(fits)
      LEFT JOIN LATERAL (
           SELECT round((100 * (1 - 1 / v.gain))::numeric, 1)::real AS gain_pct,
                  coalesce((c.wal_bytes_now - n.wal_bytes_per_update) * u.per_day, 0)::bigint AS wal_bytes,
                  n.size_bytes + n.index_bytes - e.heap_bytes - e.index_bytes AS disk_bytes,
                  round((coalesce((c.us_now - n.us_per_update) * u.per_day, 0) / 1e6)::numeric, 1)::real AS cpu_s,
                  ff_internal.alter_options(e.relation, ARRAY['fillfactor=' || v.recommended_fillfactor]) AS ddl
            WHERE x.changes OFFSET 0) b ON true
      -- the least disturbing way; both OFFSETs make the filter run before the function
      LEFT JOIN LATERAL (SELECT m.* FROM (SELECT WHERE x.needs_rewrite OFFSET 0) o,
                                         ff_internal.rewrites(e.relation, n.size_bytes) m WHERE m.possible LIMIT 1) m ON true
     ORDER BY x.changes DESC, b.gain_pct DESC NULLS LAST, w.updated DESC NULLS LAST, e.nspname, e.relname
$$;

CREATE FUNCTION @extschema@.ff_advise(relation regclass DEFAULT NULL)
RETURNS TABLE (
    relation                   regclass,
    fillfactor                 integer,
    recommended_fillfactor     integer,
    action                     text,
    cause                      text,
    confidence                 real,
    updates_per_s              real,
    hot_pct                    real,
    recoverable_pct            real,
    predicted_hot_pct          real,
    rows_per_page              integer,
    predicted_rows_per_page    integer,
    size_bytes                 bigint,
    predicted_size_bytes       bigint,
    ram_ratio                  real,
    predicted_wal_pct          real,
    gain_pct                   real,
    wal_bytes_per_day_saved    bigint,
    disk_bytes_change          bigint,
    cpu_seconds_per_day_saved  real,
    needs_rewrite              boolean,
    rewrite_disk_bytes         bigint,
    rewrite_wal_bytes          bigint,
    rewrite_seconds            float8,
    observed                   interval,
    provisional                boolean,
    reason                     text,
    ddl                        text
)
LANGUAGE sql STABLE ROWS 1000
AS $$
    SELECT ff_internal.check_role('reader');
    SELECT a.relation, a.fillfactor, a.recommended_fillfactor, a.action, a.cause, a.confidence, a.updates_per_s,
        a.hot_pct,
           a.recoverable_pct, a.predicted_hot_pct, a.rows_per_page, a.predicted_rows_per_page, a.size_bytes,
           a.predicted_size_bytes, a.ram_ratio, a.predicted_wal_pct, a.gain_pct, a.wal_bytes_per_day_saved,
           a.disk_bytes_change, a.cpu_seconds_per_day_saved, a.needs_rewrite, a.rewrite_disk_bytes,
           a.rewrite_wal_bytes, a.rewrite_seconds, a.observed, a.provisional, a.reason, a.ddl
      FROM ff_internal.advice(ff_internal.checked_table($1)) a
$$;
COMMENT ON FUNCTION @extschema@.ff_advise(regclass) IS
'Advice for one table or for all: one row each, even if nothing should change. For all tables, it is what collections '
'stored; for one table, it is computed again if there is newer evidence. ff_advice is the overview.
action: lower, raise, keep, wait (more data is needed). cause: page_full, batch_update, row_growth (updates '
'leave full pages: fillfactor helps); indexed_column, old_snapshot, settled, settling, few_updates, read_mostly, '
'too_wide (it does not help); no_data (unknown so far); not_examined (partitioned, foreign, temporary, excluded, or '
'not heap).
fillfactor, recommended_fillfactor: percent, now and advised (equal if nothing should change). confidence: 0 to 1, '
'from how well the model explains the data, how much and how long was observed, and how earlier advice turned out.
updates_per_s: rows updated per second over the window. hot_pct: HOT share of the recent updates. recoverable_pct: '
'share not HOT only because the page was full. predicted_hot_pct: HOT share at the recommended '
'fillfactor, over a window like the observed one; ff_curve() also says where it settles.
rows_per_page, predicted_rows_per_page: rows that inserts put on a page. size_bytes, predicted_size_bytes: main '
'fork, now and once its pages have the new density. ram_ratio: (table + indexes) / memory, see ff_memory(). '
'predicted_wal_pct: WAL per update, percent of today.
For a change only: gain_pct: cost saved (time, WAL and size, weighted by the settings), percent. '
'wal_bytes_per_day_saved, cpu_seconds_per_day_saved: at the rate of the window. disk_bytes_change: table and '
'indexes. needs_rewrite: a rewrite saves more within fillfactor_advisor.payback_time than it costs. '
'rewrite_disk_bytes, rewrite_wal_bytes, rewrite_seconds: cost of the least disturbing way; excludes I/O time if no '
'collection timed I/O (track_io_timing).
observed: time that the window covers. provisional: less than a day. reason: why, in sentences. ddl: the statement; '
'see ff_script().
Errors: 42P01 unknown OID, 42809 not a table.';

CREATE FUNCTION ff_internal.signed_size(bytes numeric) RETURNS text
LANGUAGE sql STABLE
RETURN CASE WHEN bytes < 0 THEN '-' ELSE '+' END || pg_size_pretty(abs(round(bytes)));

-- The rows of ff_advice; total rows have no relation.
CREATE FUNCTION ff_internal.overview()
RETURNS TABLE (relation regclass, total text, now integer, new integer, action text, gain text, confidence real,
               why text)
LANGUAGE plpgsql STABLE ROWS 1000
AS $$
BEGIN
    PERFORM ff_internal.check_role('reader');
    RETURN QUERY
    WITH advice AS MATERIALIZED (
        SELECT a.*, row_number() OVER () AS place, a.gain_pct IS NOT NULL AS changes,
               (((a.decision).fit).choice).wal_bytes_now * 86400 * ff_internal.updates_per_s(a.evidence) AS wal_now
          FROM ff_internal.advice() a
    ), total AS (
        SELECT count(*) AS n, sum(a.wal_bytes_per_day_saved) AS wal, sum(a.wal_now) AS wal_now,
               sum(a.disk_bytes_change) AS disk, min(extract(epoch FROM a.observed)) AS watched,
               ff_internal.rewrite_time(sum(a.rewrite_seconds)) AS rewrites
          FROM advice a WHERE a.changes HAVING count(*) > 0
    )
    (SELECT a.relation, NULL, a.fillfactor, CASE WHEN a.changes THEN a.recommended_fillfactor END, a.action,
            round(a.gain_pct)::integer || ' %', a.confidence, a.phrase
       FROM advice a ORDER BY a.place)
    UNION ALL
    SELECT NULL, l.name, NULL, NULL, NULL, NULL, NULL, l.words
      FROM total t
     CROSS JOIN LATERAL (VALUES
           (ff_internal.counted(t.n, 'change') || ':', ff_internal.signed_size(-t.wal) || ' WAL/day'
               || coalesce(to_char(-100 * t.wal / nullif(t.wal_now, 0), '" ("FMSG990" %)"'), '')),
           ('', CASE WHEN t.watched < 86400
                     THEN 'at the rate of the ' || ff_internal.span(t.watched) || ' watched' END),
           ('', ff_internal.signed_size(t.disk) || ' disk'), ('', t.rewrites || ' of rewriting')) l(name, words)
     WHERE l.words IS NOT NULL
    UNION ALL
    SELECT NULL, 'nothing collected:', NULL, NULL, NULL, NULL, NULL, 'run CALL ff_collect()'
     WHERE NOT EXISTS (SELECT FROM ff_internal.collection);
END
$$;

-- Long names are shortened to keep each line under 100 characters.
CREATE VIEW @extschema@.ff_advice AS
SELECT CASE WHEN length(n.name) > 22 THEN left(n.name, 8) || '..' || right(n.name, 12) ELSE n.name END AS relation,
       o.now, o.new, o.action, o.gain, o.confidence, o.why
  FROM ff_internal.overview() o
 CROSS JOIN LATERAL (SELECT coalesce(o.relation::text, o.total)) n(name);
COMMENT ON VIEW @extschema@.ff_advice IS
'Advice at a glance, under 100 characters wide; ff_advise() says more. Changes come first; the last lines are their '
'totals: WAL per day, disk, rewrite time.';
COMMENT ON COLUMN @extschema@.ff_advice.relation IS 'the table; a name of more than 22 characters is shortened';
COMMENT ON COLUMN @extschema@.ff_advice.now IS 'effective fillfactor, percent';
COMMENT ON COLUMN @extschema@.ff_advice.new IS 'advised fillfactor, percent; NULL if nothing should change';
COMMENT ON COLUMN @extschema@.ff_advice.action IS 'lower, raise, keep, wait';
COMMENT ON COLUMN @extschema@.ff_advice.gain IS 'cost saved by the change (time, WAL and size, weighted)';
COMMENT ON COLUMN @extschema@.ff_advice.confidence IS '0 to 1';
COMMENT ON COLUMN @extschema@.ff_advice.why IS 'the cause; ff_advise() has the whole reason';

-- ---------------------------------------------------------------------------
-- Fits at collection
-- ---------------------------------------------------------------------------
-- Returns the rel_id of tables whose advice a collection may have changed, largest possible gain first, at most
-- fillfactor_advisor.fits. Also removes the fits of dropped tables.
CREATE FUNCTION ff_internal.fits_due(id bigint) RETURNS SETOF bigint
LANGUAGE sql VOLATILE
SET jit = off
AS $$
    DELETE FROM ff_internal.fit f
     WHERE NOT EXISTS (SELECT 1 FROM ff_internal.relation r WHERE r.rel_id = f.rel_id AND r.closed_at IS NULL);

    -- Tables that changed since their fit, and tables with advice to change, which may be outdated even without
    -- activity. Each at most hourly, unless it was altered.
    SELECT r.rel_id
      FROM ff_internal.collection c
      JOIN ff_internal.relation r ON r.closed_at IS NULL AND r.sampled_at IS NOT NULL
      LEFT JOIN ff_internal.fit f ON f.rel_id = r.rel_id
     CROSS JOIN LATERAL (SELECT coalesce(f.action IN ('lower', 'raise'), false) AS stands) a
     -- since the last fit, or for the last hour
     CROSS JOIN LATERAL (
           SELECT sum(i.updated) AS updated, sum(i.updated - i.hot_updated) AS non_hot,
                  coalesce(bool_or(i.rewritten), false)
                  OR EXISTS (SELECT FROM ff_internal.change h WHERE h.rel_id = r.rel_id AND h.seen_at > f.made_at)
                     AS altered
             FROM ff_internal.counter_interval i
            WHERE i.rel_id = r.rel_id AND i.ended_at > coalesce(f.made_at, c.began_at - interval '1 hour')) d
     WHERE c.collection_id = id AND (r.seen_at > coalesce(f.made_at, r.opened_at) OR a.stands)
       AND (f.rel_id IS NULL OR f.made_at <= c.began_at - interval '1 hour'
            OR r.opened_at > c.began_at - interval '1 hour' OR d.altered)
       AND (d.updated > 0 OR d.updated = 0 AND r.fillfactor < 100 OR f.rel_id IS NULL AND r.updated > 0 OR a.stands
            OR d.altered)
     ORDER BY greatest(d.updated, 1) * greatest(ln((f.choice).best_gain),
                                                d.non_hot / greatest(d.updated, 1)::float8, 0.001)
              * least(24, coalesce(extract(epoch FROM c.began_at - f.made_at) / 3600, 24)) DESC,
              r.rel_id
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
    a    record;
    f    ff_internal.fit;
    n    ff_internal.step;
    last ff_internal.prediction;
BEGIN
    SELECT x.* INTO a
      FROM ff_internal.relation r CROSS JOIN ff_internal.advice(r.relid, false) x
     WHERE r.rel_id = id AND r.closed_at IS NULL;
    IF a.relation IS NULL THEN
        RETURN 0;
    END IF;
    f := (a.decision).fit;
    IF (f.choice).current_step IS NULL THEN
        -- the model was not asked: keep its last choice
        f.choice.advised_step := (SELECT (o.choice).advised_step FROM ff_internal.fit o
                                   WHERE o.rel_id = id AND o.from_fillfactor = a.fillfactor);
    END IF;
    INSERT INTO ff_internal.fit
    VALUES (id, clock_timestamp(), coalesce(f.mark, ''), coalesce(f.shape, ''), f.choice, f.steps, a.action,
            a.fillfactor, a.recommended_fillfactor, a.confidence, a.updates_per_s, f.updated)
    ON CONFLICT (rel_id) DO UPDATE
       SET (rel_id, made_at, mark, shape, choice, steps, action, from_fillfactor, to_fillfactor, confidence,
            updates_per_s, updated) = ROW (EXCLUDED.*);
    SELECT * INTO last FROM ff_internal.prediction p WHERE p.rel_id = id ORDER BY p.made_at DESC LIMIT 1;
    n := (a.decision).then_step;
    IF a.action IN ('lower', 'raise')
       AND ((last.from_fillfactor, last.to_fillfactor) IS DISTINCT FROM (a.fillfactor, a.recommended_fillfactor)
            OR last.made_at < clock_timestamp() - interval '1 day' OR last.judged_at IS NOT NULL
            OR (abs(last.predicted_hot_pct - n.hot_pct) < new_prediction OR n.hot_pct IS NULL) IS NOT TRUE) THEN
        INSERT INTO ff_internal.prediction
        VALUES (id, clock_timestamp(), a.fillfactor, a.recommended_fillfactor, n.hot_pct, n.hot_pct_low, n.hot_pct_high,
                (f.choice).wal_bytes_now - n.wal_bytes_per_update, a.size_bytes, n.size_bytes);
    END IF;
    RETURN 1;
END
$$;
