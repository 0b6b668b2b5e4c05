-- Stage reason: puts a decision into words. Decides nothing.

-- Time left until the table was watched for a day.
CREATE FUNCTION ff_internal.until_day(seconds float8) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN format('a full day has to be seen first, about %s are left',
              ff_internal.span(greatest(0, ff_internal.threshold('FULL_DAY') - seconds)));

-- Time left, at the window's rate, until enough updates were seen.
CREATE FUNCTION ff_internal.until_updated(e ff_internal.table_evidence, seen bigint, needed bigint) RETURNS text
LANGUAGE sql STABLE
RETURN format('%s updates needed, %s seen: ', needed, seen)
       || coalesce('about ' || ff_internal.span(greatest(0, needed - seen) * e.window_s
                                                / nullif(e.updated, 0)) || ' at the rate of the window',
                   'when it is updated again');

-- What is missing for the confidence needed.
CREATE FUNCTION ff_internal.until_confident(e ff_internal.table_evidence, d ff_internal.decision) RETURNS text
LANGUAGE sql STABLE
RETURN CASE WHEN e.window_s < ff_internal.threshold('FULL_DAY') THEN ff_internal.until_day(e.window_s)
            ELSE format('a confidence of %s is needed, and it is %s: it grows while updates go on as before',
                        trim_scale(round(d.needed_confidence::numeric, 2)),
                        trim_scale(round(d.confidence::numeric, 2))) END;

-- When the next collection is due, if the last ten came at even gaps, so something schedules them; NULL: overdue.
CREATE FUNCTION ff_internal.next_collection() RETURNS text
LANGUAGE sql STABLE
AS $$
    SELECT CASE WHEN p.even IS NOT TRUE THEN 'collections do not come regularly: see ff_schedule()'
                -- one missed collection is only late
                WHEN p.last + 2 * p.pace >= now()
                THEN 'next collection at ' || ff_internal.minute(greatest(p.last + p.pace, now())) END
      FROM (SELECT max(c.began_at) AS last, percentile_cont(0.5) WITHIN GROUP (ORDER BY c.gap) AS pace,
                   count(c.gap) >= 3 AND percentile_cont(0.8) WITHIN GROUP (ORDER BY c.gap)
                       < 1.1 * percentile_cont(0.2) WITHIN GROUP (ORDER BY c.gap) AS even
              FROM (SELECT o.began_at, o.began_at - lag(o.began_at) OVER (ORDER BY o.began_at) AS gap
                      FROM (SELECT began_at FROM ff_internal.collection ORDER BY began_at DESC LIMIT 10) o) c) p
$$;

-- Why the statements seen do not tell which columns updates change.
CREATE FUNCTION ff_internal.statements_hint() RETURNS text
LANGUAGE sql STABLE
RETURN coalesce((SELECT s.reason FROM ff_internal.statement_snapshot s ORDER BY s.collection_id DESC LIMIT 1),
                'the statements seen explain too few of the updates'
                || CASE WHEN ff_internal.server_setting('pg_stat_statements.track') <> 'all'
                        THEN '; those inside functions are seen with pg_stat_statements.track = all' ELSE '' END);

-- What changes indexed columns where the statements seen explain clearly less than what was not HOT; NULL: they do
-- explain it.
CREATE FUNCTION ff_internal.besides_statements(e ff_internal.table_evidence) RETURNS text
LANGUAGE sql STABLE
RETURN CASE WHEN e.kept_share >= ff_internal.threshold('BLOCKED') AND e.indexed_share IS NULL
            THEN concat_ws('; ', ff_internal.statements_hint(), ff_internal.trigger_words(e.relation, e.began_at))
            WHEN e.kept_share - e.indexed_share >= ff_internal.threshold('UNEXPLAINED')
            THEN 'statements explain ' || ff_internal.percent(100 * e.indexed_share) || ' of the updates; '
                 || coalesce(ff_internal.trigger_words(e.relation, e.began_at),
                             'look for functions, triggers and the unattributed rows of ff_statements()') END;

-- Why nothing can be said of a table yet; NULL if something can.
CREATE FUNCTION ff_internal.words_without_data(
    e ff_internal.table_evidence, d ff_internal.decision, OUT phrase text, OUT reason text)
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    since  CONSTANT bigint := coalesce(e.since_updated, 0);
    enough CONSTANT bigint := ff_internal.setting('min_updates');
BEGIN
    IF d.seen_cause = 'not_examined' THEN
        phrase := 'not examined';
        reason := e.not_examined;
    ELSIF e.problem IS NOT NULL AND e.sampled_at IS NULL THEN
        phrase := 'could not be sampled';
        reason := 'its pages could not be sampled, each collection tries again: ' || e.problem;
    ELSIF e.rel_id IS NULL THEN
        phrase := 'not collected yet';
        reason := CASE WHEN EXISTS (SELECT FROM ff_internal.relation r
                                     WHERE (r.nspname, r.relname) = (e.nspname, e.relname) AND r.closed_at IS NULL)
                       THEN 'its history comes from another server or database: one collection is needed to take it '
                            'up, run CALL ff_collect()'
                       ELSE 'not collected yet: run CALL ff_collect() or ff_schedule()' END;
    ELSIF e.sampled_at IS NULL THEN
        phrase := 'not sampled yet';
        reason := 'its pages were not sampled yet: the next collections go on where the last one ran out of budget';
    ELSIF e.window_s > 0 IS NOT TRUE AND e.intervals IS NULL THEN
        phrase := 'one collection so far';
        reason := 'one collection so far: one more is needed, after some work';
    ELSIF e.intervals IS NULL AND NOT d.idle THEN
        phrase := 'nothing was written yet';
        reason := 'nothing was written to it since its first collection: one more is needed after some writes';
    ELSIF d.seen_cause = 'no_data' AND e.blocks = 0 AND e.updated < enough THEN
        phrase := 'empty';
        reason := 'the table is empty: it is judged once a collection finds rows in it';
    ELSIF d.seen_cause = 'no_data' AND since < enough THEN
        phrase := ff_internal.counted(since, 'update') || ' since it was altered';
        reason := 'too little was seen since its fillfactor or its indexes changed: '
                  || ff_internal.until_updated(e, since, enough);
    ELSIF d.seen_cause = 'no_data' AND coalesce(e.updated_width, e.inserted_width) IS NULL
          AND e.recoverable_share > 0 THEN
        phrase := 'empty at each collection';
        reason := format('%s left their page because it was full, but it was empty whenever it was sampled: how much '
                         'room a row needs is known once a sample finds one',
                         ff_internal.of_recent_updates(e.newpage_share));
    ELSIF d.seen_cause = 'no_data' THEN
        phrase := 'too little is known';
        reason := format('%s of its updates were not HOT, but neither the server nor the pages say whether they left '
                         'their page: a sample taken while it is being updated is needed, or pg_stat_statements%s',
                         ff_internal.percent(100 * (1 - e.hot_share)),
                         ' (' || (SELECT s.reason FROM ff_internal.statement_snapshot s
                                   ORDER BY s.collection_id DESC LIMIT 1) || ')');
    END IF;
END
$$;

-- For a table with hardly any updates.
CREATE FUNCTION ff_internal.words_of_few(
    e ff_internal.table_evidence, d ff_internal.decision, OUT phrase text, OUT reason text)
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    enough CONSTANT bigint := ff_internal.setting('min_updates');
BEGIN
    IF d.idle THEN
        phrase := 'not written to';
        reason := format('nothing was written to it for %s: while that is so, it needs nothing',
                         CASE WHEN e.intervals IS NULL THEN ff_internal.span(e.window_s) ELSE 'a day or longer' END);
        RETURN;
    END IF;
    phrase := CASE d.action WHEN 'wait' THEN ff_internal.counted(e.updated, 'update') || ' so far'
                            WHEN 'raise' THEN 'its reserve is not used' ELSE 'hardly updated' END;
    reason := concat(ff_internal.counted(e.updated, 'update'), ' in ', ff_internal.span(e.window_s),
                     ' against ' || nullif(e.inserted, 0) || ' inserted rows')
              || CASE WHEN d.because = 'siblings'
                      THEN ', but the other partitions are updated, and this one will be as they are'
                      WHEN d.action = 'raise' THEN ''
                      WHEN d.action = 'keep' THEN ': too few to matter'
                      WHEN d.because = 'watched_too_briefly' THEN ': ' || ff_internal.until_day(e.window_s)
                      WHEN e.updated < enough
                      THEN ': too few to judge from. ' || ff_internal.until_updated(e, e.updated, enough)
                      ELSE '. ' || ff_internal.until_confident(e, d) END;
END
$$;

CREATE FUNCTION ff_internal.of_recent_updates(share float8) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN share >= 0.9995 THEN 'all' ELSE ff_internal.percent(100 * share) || ' of' END || ' recent updates';

-- For any other table: what the evidence shows.
CREATE FUNCTION ff_internal.words_of_cause(
    e ff_internal.table_evidence, f ff_internal.fit, d ff_internal.decision, OUT phrase text, OUT reason text)
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    fits  CONSTANT integer := coalesce((ff_internal.step_at(f.steps, d.current_step)).rows_per_page,
                                       ff_internal.rows_per_page(e.fillfactor, d.row_width));
    full_page CONSTANT text := ff_internal.of_recent_updates(e.newpage_share)
                               || ' left their page because it was full';
    ended text;
BEGIN
    CASE d.seen_cause
        WHEN 'too_wide' THEN
            phrase := 'one row fills a page';
            reason := format('rows of %s bytes: a page holds one at any fillfactor', round(d.row_width::numeric));
        WHEN 'settled' THEN
            phrase := CASE d.action WHEN 'lower' THEN 'full pages are pruned often' ELSE 'updates are HOT already' END;
            reason := ff_internal.of_recent_updates(e.hot_share) || ' were HOT' || CASE
                WHEN d.action = 'lower' THEN ': what is left to save is pruning'
                WHEN d.action = 'raise' THEN ': they need less room than there is'
                -- a rewrite clears the marks of HOT updates
                WHEN e.fillfactor = 100 AND e.live_rows > 0
                     AND EXISTS (SELECT FROM ff_internal.page_sample p
                                  WHERE p.rel_id = e.rel_id AND p.sampled_at = e.sampled_at
                                    AND p.updated_hot_rows <= p.updated_nonhot_rows)
                THEN ', but its rows were loaded anew since: each full page sheds a row before it has room again'
                ELSE ': its pages have room already' END;
        WHEN 'indexed_column' THEN
            phrase := 'an indexed column changes';
            reason := format('%s were non-HOT, because an indexed column changed%s. No fillfactor makes them HOT; '
                             'ff_blockers() shows the index and the statements',
                             ff_internal.of_recent_updates(e.blocked_share),
                             ' (' || concat_ws('; ', ff_internal.suspect_indexes(e.relation),
                                               -- beside the primary key, one index is the only suspect
                                               CASE WHEN e.indexes > 2 OR e.indexed_share IS NOT NULL
                                                    THEN ff_internal.besides_statements(e) END) || ')');
        WHEN 'old_snapshot' THEN
            SELECT CASE WHEN max(h.last_seen_at) < (SELECT max(c.began_at) FROM ff_internal.collection c)
                        THEN ff_internal.minute(max(h.last_seen_at)) END INTO ended
              FROM ff_internal.horizon_history h;
            phrase := 'an old snapshot ' || CASE WHEN ended IS NULL THEN 'is' ELSE 'was' END || ' held';
            reason := e.held_back || coalesce(', until ' || ended || ': wait for updates from after that; ',
                                              ': end it first; more room would only fill up as well; ')
                      || 'ff_horizon() names it';
        WHEN 'batch_update' THEN
            phrase := format('%s rows a page at once', round(e.update_group_rows::numeric));
            reason := format('%s; one transaction updates %s rows of a page together, of the %s that fit it', full_page,
                             round(least(e.update_group_rows, fits)::numeric), fits);
        WHEN 'row_growth' THEN
            phrase := format('rows grow by %s bytes', round((e.updated_width - e.inserted_width)::numeric));
            reason := format('%s; rows grow from %s to %s bytes', full_page, round(e.inserted_width::numeric),
                             round(e.updated_width::numeric));
        ELSE
            phrase := 'updates leave full pages';
            reason := full_page;
    END CASE;
    phrase := CASE WHEN d.action = 'wait' THEN 'more must be seen first'
                   WHEN d.action = 'keep' AND d.because IS DISTINCT FROM 'not_worth'
                        AND d.cause IN ('page_full', 'batch_update', 'row_growth') THEN 'no step is clearly better'
                   WHEN d.because = 'not_worth' THEN 'saves too little' WHEN d.cause = 'read_mostly' THEN 'mostly read'
                   WHEN d.cause = 'settling' THEN 'becomes HOT by itself' ELSE phrase END;
END
$$;

-- What happens over payback_time if nothing is done.
CREATE FUNCTION ff_internal.if_nothing_is_done(e ff_internal.table_evidence, now ff_internal.step) RETURNS text
LANGUAGE sql STABLE
AS $$
    SELECT '. ' || concat_ws(', ', 'If nothing is done', ff_internal.percent(n.settled_hot_pct) || ' HOT once settled',
               CASE WHEN e.window_s < 3600 THEN pg_size_pretty((n.wal_bytes_per_update * 1000)::bigint)
                                                || ' of WAL per 1,000 updates'
                    ELSE pg_size_pretty((n.wal_bytes_per_update * 86400 * ff_internal.updates_per_s(e))::bigint)
                         || ' of WAL a day' END)
           || CASE WHEN s.later > 1.1 * s.now
                   THEN format('; with as many rows as now, table and indexes grow from %s to %s in %s',
                               pg_size_pretty(s.now), pg_size_pretty(s.later),
                               ff_internal.span(ff_internal.setting('payback_time'))) ELSE '' END
      FROM (SELECT now.*) n
     CROSS JOIN LATERAL (SELECT 8192 * e.blocks + e.index_bytes, n.size_bytes + n.index_bytes) s(now, later)
$$;

-- What more room saves where no more updates are HOT.
CREATE FUNCTION ff_internal.saved_without_hot(seen_cause text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE seen_cause WHEN 'settled' THEN 'pages are pruned less often'
                       ELSE 'the old and the new version of a row share a page more often' END;

-- Why a step that pays, but makes no more updates HOT, is not advised.
CREATE FUNCTION ff_internal.words_without_hot(
    e ff_internal.table_evidence, d ff_internal.decision, n ff_internal.step) RETURNS text
LANGUAGE sql STABLE
RETURN format('. %s would save %s of its cost, because %s%s, but ', n.fillfactor,
              ff_internal.percent(100 * (1 - 1 / d.gain)), ff_internal.saved_without_hot(d.seen_cause),
              CASE WHEN n.needs_rewrite THEN ' and its pages are rewritten' ELSE '' END)
       || CASE d.because WHEN 'less_hot'
          THEN format('fewer updates would be HOT: %s predicted, %s seen', ff_internal.percent(n.hot_pct),
                      ff_internal.percent(100 * e.hot_share))
          ELSE format('hardly any update more would be HOT: less than %s is not clear enough then',
                      ff_internal.percent(ff_internal.setting('min_gain')
                                          * ff_internal.threshold('CLEAR_GAINS'))) END;

-- Why the step that costs least (ff_curve() marks it) is not the one advised; NULL: it is, or is named already.
CREATE FUNCTION ff_internal.words_of_best(
    e ff_internal.table_evidence, f ff_internal.fit, d ff_internal.decision) RETURNS text
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    c    ff_internal.choice := f.choice;
    now  ff_internal.step := ff_internal.step_at(f.steps, d.current_step);
    best ff_internal.step := ff_internal.best_step(f.steps, d.current_step, d.recommended_fillfactor);
    -- the cost of each step is relative to the best one
    saved CONSTANT float8 := 100 * (1 - best.cost / now.cost);
    named CONSTANT boolean := d.action <> 'keep' OR d.because IN ('less_hot', 'no_hot_gain', 'not_worth');
BEGIN
    IF NOT d.wants_model OR best.hot_pct IS NULL OR saved IS NULL OR best.fillfactor = now.fillfactor
       OR best.fillfactor = d.step AND named THEN
        RETURN NULL;
    END IF;
    RETURN format('. The best step, %s, would save %s, but ', best.fillfactor, ff_internal.percent(saved)) || CASE
        WHEN saved < ff_internal.setting('min_gain')
        THEN format('less than %s is not worth a change (fillfactor_advisor.min_gain)',
                    ff_internal.percent(ff_internal.setting('min_gain')))
        WHEN d.because = 'siblings' THEN 'not over all partitions'
        WHEN best.fillfactor < now.fillfactor AND d.seen_cause = 'settled' THEN 'nearly all updates are HOT already'
        WHEN best.hot_pct < 100 * e.hot_share
        THEN format('fewer updates would be HOT: %s predicted, %s seen', ff_internal.percent(best.hot_pct),
                    ff_internal.percent(100 * e.hot_share))
        WHEN best.needs_rewrite AND c.rewrite_gain > sqrt(now.cost / best.cost)
        THEN format('most of that is what any rewrite saves, at %s too', e.fillfactor)
        WHEN d.step <> now.fillfactor
        THEN format('that is not clearly more than %s, which is nearer to today''s', d.step)
        ELSE 'that is not sure: it does not follow from all that explains what was seen' END;
END
$$;

-- What a change would bring, what is missing for one, or why the fillfactor stays.
CREATE FUNCTION ff_internal.words_of_action(
    e ff_internal.table_evidence, f ff_internal.fit, d ff_internal.decision) RETURNS text
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    cause  CONSTANT text := d.seen_cause;
    c      ff_internal.choice := f.choice;
    now    ff_internal.step := ff_internal.step_at(f.steps, d.current_step);
    n      ff_internal.step := ff_internal.step_at(f.steps, d.step);
    less   CONSTANT bigint := e.heap_bytes + e.index_bytes - n.size_bytes - n.index_bytes;
    enough CONSTANT bigint := d.needed_updates;
BEGIN
    IF d.action IN ('lower', 'raise') THEN
        RETURN concat(
            format('. At %s a page is filled with %s instead of %s rows', n.fillfactor, n.rows_per_page,
                   now.rows_per_page),
            ': ' || ff_internal.percent(n.hot_pct) || ' HOT predicted (' || trim_scale(round(n.hot_pct_low::numeric, 1))
                || ' to ' || trim_scale(round(n.hot_pct_high::numeric, 1)) || ')',
            CASE WHEN d.action = 'lower' AND n.hot_pct < 100 * (e.hot_share + ff_internal.threshold('LACKING'))
                 THEN format(', hardly more than now, but %s, which saves %s', ff_internal.saved_without_hot(cause),
                             ff_internal.percent(100 * (1 - 1 / d.gain))) END,
            CASE WHEN d.action = 'raise' AND less > 0
                 THEN format(', %s less to store and read once rewritten', pg_size_pretty(less))
                 WHEN d.action = 'raise' THEN ''
                 WHEN n.needs_rewrite THEN '; only a rewrite changes existing pages, and it would pay for itself'
                 ELSE '; updates fall on new pages, so no rewrite is needed' END,
            CASE d.action WHEN 'lower' THEN ff_internal.if_nothing_is_done(e, now) END);
    ELSIF d.passed_over THEN
        RETURN format('. The model was not asked yet: each collection asks it of up to %s tables, those with most to '
                      'gain first; ff_advise() with the name of the table asks it at once',
                      ff_internal.setting('fits'));
    ELSIF d.action = 'wait' AND cause <> 'few_updates' AND n.fillfactor <> now.fillfactor THEN
        RETURN format('. %s may be better, but ', n.fillfactor) || CASE
            WHEN d.because = 'just_changed' THEN 'it was changed lately: ' || ff_internal.until_day(e.since_change_s)
            WHEN d.because = 'may_settle' THEN 'it may become HOT by itself: ' || ff_internal.until_day(e.window_s)
            WHEN d.because = 'watched_too_briefly' AND e.since_change_s < ff_internal.threshold('FULL_DAY')
            THEN ff_internal.until_day(e.since_change_s)
            WHEN d.because = 'watched_too_briefly'
            THEN format('since its last change it is updated less than half as often as before: wait until it is '
                        'as busy again, or for %s more',
                        ff_internal.span(extract(epoch FROM ff_internal.lookback())::float8 - e.since_change_s))
            WHEN e.since_updated < enough
            THEN ff_internal.until_updated(e, e.since_updated, enough)
                 || format(' (%s times fillfactor_advisor.min_updates)', ff_internal.threshold('ENOUGH'))
            ELSE ff_internal.until_confident(e, d) END;
    ELSIF d.because IN ('less_hot', 'no_hot_gain') THEN
        RETURN ff_internal.words_without_hot(e, d, n);
    ELSIF d.because = 'not_worth' THEN
        RETURN format('. %s would save %s of its cost, which is too little to be worth a change; it is less than %s of '
                      'what the updates of the costliest table cost (fillfactor_advisor.min_worth); and less than '
                      '8 MB of disk',
                      n.fillfactor, ff_internal.percent(100 * (1 - 1 / d.gain)),
                      ff_internal.percent(ff_internal.setting('min_worth')));
    ELSIF d.cause = 'settling' THEN
        RETURN concat(
            ff_internal.if_nothing_is_done(e, now),
            CASE WHEN cause = 'row_growth' THEN '. If rows do not get longer than now, it' ELSE '. It' END,
            ' settles by itself: each page sheds a row once, whose room serves all later updates. ',
            CASE WHEN c.settle_updates < 1 THEN 'Nearly all that can be HOT already is'
                 ELSE format('After %s more updates%s nearly all that can be HOT will be',
                             round(c.settle_updates::numeric),
                             ', ' || ff_internal.span(c.settle_updates * e.since_change_s
                                                      / nullif(e.since_updated, 0)) || ' at this rate,') END);
    ELSIF d.action = 'wait' OR cause NOT IN ('page_full', 'batch_update', 'row_growth') THEN
        RETURN '';
    END IF;
    RETURN concat(
        CASE WHEN d.cause = 'read_mostly' THEN '. Readers fetch more than 50 pages for each updated row' END,
        CASE d.because
            WHEN 'siblings' THEN '. Seen over all partitions, no other fillfactor is clearly better'
            WHEN 'just_changed' THEN '. No other fillfactor is better by enough to undo the last change'
            ELSE '. No other fillfactor is clearly better' END,
        CASE WHEN c.filled_at > e.fillfactor
                  AND c.rewrite_gain >= 1 + ff_internal.setting('min_gain') / 100
             THEN format('. Its fullest pages are still as full as at %s: a rewrite should bring %s HOT', c.filled_at,
                         ff_internal.percent(c.rewrite_hot_pct)) END,
        CASE WHEN cause = 'row_growth' OR now.size_bytes > 1.1 * 8192 * e.blocks
             THEN ff_internal.if_nothing_is_done(e, now) END);
END
$$;

-- The size that its rows need, if it has far more, and what becomes of the rest; NULL: it has not.
CREATE FUNCTION ff_internal.words_of_bloat(e ff_internal.table_evidence, d ff_internal.decision) RETURNS text
LANGUAGE sql STABLE
AS $$
    SELECT format('. Its rows need %s, and it has %s: ', pg_size_pretty(z.needed::bigint), pg_size_pretty(z.size))
           || CASE WHEN p.recently_dead_rows > 0.8 * p.dead_rows AND p.recently_dead_rows > e.live_rows
                   THEN format('%s old row versions wait for a snapshot to end, ff_horizon() names it',
                               round(p.recently_dead_rows::numeric))
                   -- it was fuller
                   WHEN e.inserted > 2 * e.live_rows
                   THEN format('it held more before; VACUUM FULL or pg_repack makes it %s smaller until it does again',
                               pg_size_pretty((z.size - z.needed)::bigint))
                   ELSE format('VACUUM FULL or pg_repack makes it %s smaller, which needs no other fillfactor',
                               pg_size_pretty((z.size - z.needed)::bigint)) END
      FROM ff_internal.page_sample p
     CROSS JOIN LATERAL (
           SELECT least(e.heap_bytes, 8192 * e.blocks) AS size,
                  coalesce(8192 * ceil(e.live_rows / nullif(ff_internal.rows_per_page(
                      e.fillfactor, greatest(e.inserted_width, e.updated_width)), 0)), 0) AS needed) z
     WHERE p.rel_id = e.rel_id AND p.sampled_at = e.sampled_at AND d.seen_cause <> 'old_snapshot'
       AND z.size > ff_internal.threshold('BLOAT') * z.needed
       AND z.size - z.needed >= ff_internal.threshold('BLOAT_BYTES')
     LIMIT 1
$$;

-- What updates put into TOAST, if most of the table is there; NULL: it is not, or they do not. Rows that were inserted
-- have as many chunks as live ones; the other chunks are of updates.
CREATE FUNCTION ff_internal.words_of_toast(e ff_internal.table_evidence) RETURNS text
LANGUAGE sql STABLE
AS $$
    SELECT format('. %s of its %s are TOAST, and each update puts %s there: no fillfactor changes that',
                  pg_size_pretty(e.toast_bytes), pg_size_pretty(e.toast_bytes + e.heap_bytes + e.index_bytes),
                  -- a chunk is at most a quarter of a page
                  pg_size_pretty((2000 * t.chunks / t.updated)::bigint))
      FROM pg_class c
      LEFT JOIN ff_internal.observed o ON o.kind = 'table' AND o.id = c.oid
     CROSS JOIN LATERAL jsonb_to_record(o.said || (o.said->'counted')) s(
           toast_inserted bigint, toast_live bigint, inserted bigint, live bigint, updated bigint)
     CROSS JOIN LATERAL (
           SELECT coalesce(s.toast_inserted, pg_stat_get_tuples_inserted(c.reltoastrelid))
                  - coalesce(s.inserted, pg_stat_get_tuples_inserted(c.oid))
                    * coalesce(s.toast_live, pg_stat_get_live_tuples(c.reltoastrelid))
                    / greatest(1, coalesce(s.live, pg_stat_get_live_tuples(c.oid)))::float8 AS chunks,
                  nullif(coalesce(s.updated, pg_stat_get_tuples_updated(c.oid)), 0) AS updated) t
     WHERE c.oid = e.relation AND e.toast_bytes > e.heap_bytes + e.index_bytes AND t.chunks >= t.updated
$$;

-- What the source of a mirror did not tell of a table, and the GRANT that helps, in sentences; NULL: nothing lacks.
CREATE FUNCTION ff_internal.unread(relation oid) RETURNS text
LANGUAGE sql STABLE
RETURN (SELECT string_agg(m.lack || '.', ' ')
          FROM ff_internal.observed o
         CROSS JOIN LATERAL (
               SELECT format('The source denied %s', concat_ws(': ', d.what,
                              replace(d."grant", 'ON the table', 'ON ' || ff_internal.qualified_name(relation))))
                 FROM jsonb_to_recordset(o.said->'denied') d(what text, "grant" text)
                WHERE d.what !~ '^widths' OR EXISTS (
                      SELECT FROM ff_internal.observed t
                       WHERE t.kind = 'table' AND t.id = relation AND t.said->>'width' IS NULL)
               UNION ALL
               SELECT 'Not read: ' || u FROM jsonb_array_elements_text(o.said->'unread') u
                WHERE strpos(u, ff_internal.qualified_name(relation) || ':') > 0) m(lack)
         WHERE o.kind = 'server');

-- The reason as a phrase of at most 34 characters, and in sentences.
CREATE FUNCTION ff_internal.words(
    e ff_internal.table_evidence, f ff_internal.fit, d ff_internal.decision, OUT phrase text, OUT reason text)
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    c      ff_internal.choice := f.choice;
    changes CONSTANT boolean := d.action IN ('lower', 'raise');
    w       record := ff_internal.words_without_data(e, d);
    rehearsed text;
BEGIN
    phrase := w.phrase;
    reason := w.reason;
    IF reason IS NOT NULL THEN
        RETURN;
    ELSIF d.seen_cause = 'few_updates' THEN
        w := ff_internal.words_of_few(e, d);
    ELSE
        w := ff_internal.words_of_cause(e, f, d);
    END IF;
    phrase := w.phrase;
    IF c.current_step IS NOT NULL THEN
        SELECT format('. Rehearsed at %s: HOT %s %% (predicted %s), WAL per update %s %% and size %s %% of those at '
                      '%s; %s; %s',
                      r.to_fillfactor, round(r.hot_pct::numeric, 1),
                      trim_scale(round(r.predicted_hot_pct::numeric, 1)), round(r.wal_pct::numeric),
                      round(r.size_pct::numeric), r.from_fillfactor, r.verdict, r.brings)
               || CASE WHEN r.left_out > 0
                       THEN format(', with %s of its kinds of work left out as too rare', r.left_out) ELSE '' END
          INTO rehearsed
          FROM ff_internal.rehearsal r WHERE r.rel_id = e.rel_id AND r.from_fillfactor = e.fillfactor
         ORDER BY r.measured_at DESC LIMIT 1;
    END IF;
    reason := concat(
        upper(left(w.reason, 1)), substr(w.reason, 2), ff_internal.words_of_action(e, f, d),
        ff_internal.words_of_best(e, f, d), CASE WHEN NOT changes THEN ff_internal.words_of_bloat(e, d) END,
        CASE WHEN NOT d.idle THEN ff_internal.words_of_toast(e) END,
        CASE WHEN changes AND d.because = 'siblings' THEN '. Judged together with the other partitions' END,
        CASE WHEN d.action <> 'wait' AND c.advised_step <> c.advised_in_ram
             THEN format('. Table and indexes are %s times memory; if they fitted, %s would be best',
                         round(e.ram_ratio::numeric, 1), c.advised_in_ram) END,
        CASE WHEN d.wants_model AND NOT d.columns_known AND d.action IN ('lower', 'wait')
             THEN '. Whether an indexed column changes is not known: ' || ff_internal.statements_hint() END,
        CASE WHEN e.counts_lost THEN '. track_counts was off for a part of the time' END,
        CASE WHEN e.open_writers > 0 AND NOT changes
             THEN format('. %s open transactions may hold updates that are not counted yet', e.open_writers) END,
        rehearsed,
        CASE WHEN changes AND e.window_s < ff_internal.threshold('FULL_DAY')
             THEN '. Provisional: watched for ' || ff_internal.span(e.window_s) END,
        '.');
END
$$;
