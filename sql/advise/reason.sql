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
    ELSIF e.blocks = 0 OR d.row_width = 0 THEN
        phrase := 'empty';
        reason := 'the table is empty: it is judged once a collection finds rows in it';
    ELSIF d.seen_cause = 'no_data' AND since < enough THEN
        phrase := ff_internal.counted(since, 'update') || ' since it was altered';
        reason := 'too little was seen since its fillfactor or its indexes changed: '
                  || ff_internal.until_updated(e, since, enough);
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
    fits  CONSTANT integer := (ff_internal.step_at(f.steps, d.current_step)).rows_per_page;
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
                WHEN e.fillfactor = 100
                     AND EXISTS (SELECT FROM ff_internal.page_sample p
                                  WHERE p.rel_id = e.rel_id AND p.sampled_at = e.sampled_at
                                    AND p.updated_hot_rows <= p.updated_nonhot_rows)
                THEN ', but its rows were loaded anew since: each full page sheds a row before it has room again'
                ELSE ': its pages have room already' END;
        WHEN 'indexed_column' THEN
            phrase := 'an indexed column changes';
            reason := format('%s were non-HOT, because an indexed column changed%s: no fillfactor can help. '
                             'ff_blockers() shows the index and the statements',
                             ff_internal.of_recent_updates(e.blocked_share),
                             ' (' || ff_internal.suspect_indexes(e.relation) || ')');
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
    ELSIF d.because = 'not_worth' THEN
        RETURN format('. %s would save %s of its cost, but that is too little to be worth a change: less than %s of '
                      'what the updates of the costliest table cost (fillfactor_advisor.min_worth), and less than '
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
            ELSE '. No other fillfactor is clearly better' || CASE WHEN c.best_gain > 1.005 THEN format(
                     ': the best step would save %s, ' || CASE WHEN c.best_gain < ff_internal.better()
                                                               THEN 'less than min_gain' ELSE 'which is not sure' END,
                     ff_internal.percent(100 * (1 - 1 / c.best_gain))) ELSE '' END END,
        CASE WHEN c.filled_at > e.fillfactor
                  AND c.rewrite_gain >= ff_internal.better()
             THEN format('. Its fullest pages are still as full as at %s: a rewrite should bring %s HOT', c.filled_at,
                         ff_internal.percent(c.rewrite_hot_pct)) END,
        CASE WHEN cause = 'row_growth' OR now.size_bytes > 1.1 * 8192 * e.blocks
             THEN ff_internal.if_nothing_is_done(e, now) END);
END
$$;

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
        CASE WHEN changes AND d.because = 'siblings' THEN '. Judged together with the other partitions' END,
        CASE WHEN d.action <> 'wait' AND c.advised_step <> c.advised_in_ram
             THEN format('. Table and indexes are %s times memory; if they fitted, %s would be best',
                         round(e.ram_ratio::numeric, 1), c.advised_in_ram) END,
        CASE WHEN d.wants_model AND NOT d.columns_known AND d.action IN ('lower', 'wait')
             THEN '. Whether an indexed column changes is not known: pg_stat_statements would tell' END,
        CASE WHEN e.counts_lost THEN '. track_counts was off for a part of the time' END,
        CASE WHEN e.open_writers > 0 AND NOT changes
             THEN format('. %s open transactions may hold updates that are not counted yet', e.open_writers) END,
        rehearsed,
        CASE WHEN changes AND e.window_s < ff_internal.threshold('FULL_DAY')
             THEN '. Provisional: watched for ' || ff_internal.span(e.window_s) END,
        '.');
END
$$;
