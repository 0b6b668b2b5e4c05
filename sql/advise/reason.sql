-- Puts a decision into words. Decides nothing.

-- What a decision waits for, or a change that may be better. In PL/pgSQL, which is faster for thousands of tables.
CREATE FUNCTION ff_internal.awaited(e ff_internal.table_evidence, d ff_internal.decision) RETURNS text
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    seen    CONSTANT bigint := coalesce(CASE d.seen_cause WHEN 'few_updates' THEN (e.counted).updated
                                        ELSE (e.since).updated END, 0);
    needed  CONSTANT float8 := CASE WHEN d.lacks = 'updates' OR d.seen_cause = 'few_updates'
                                    THEN ff_internal.setting('min_updates') ELSE d.needed_updates END;
    seconds CONSTANT float8 := CASE WHEN d.because IN ('just_changed', 'watched_too_briefly')
                                    THEN e.since_change_s ELSE e.window_s END;
    lack    CONSTANT text := CASE
        WHEN (d.because IS NULL OR d.lacks = 'updates') AND seen < needed
        THEN concat(needed, ' updates are needed, and ', seen, ' came so far',
                    ': about ' || ff_internal.span((needed - seen) * e.window_s / nullif((e.counted).updated, 0))
                        || ' more at the rate of the window')
        WHEN seconds < ff_internal.threshold('FULL_DAY')
        THEN format('a full day has to be seen first, about %s are left',
                    ff_internal.span(ff_internal.threshold('FULL_DAY') - seconds))
        ELSE format('a confidence of %s is needed, and it is %s', d.needed_confidence::real,
                    d.confidence::numeric(3, 2)) END;
BEGIN
    RETURN CASE d.because
        WHEN 'ran_once' THEN 'most of its updates were one run of a statement: wait until it runs again'
        WHEN 'one_burst'
        THEN 'most of its updates came in one burst, and nothing like it before or after: wait until that happens again'
        WHEN 'less_busy'
        THEN 'since its last change it is updated less than half as often: wait until it is as busy as before'
        WHEN 'may_settle' THEN 'it may become HOT by itself: ' || lack
        WHEN 'just_changed' THEN 'it was changed lately: ' || lack ELSE lack END;
END
$$;

-- When the next collection is due, if the last ten came at even gaps, so something schedules them; NULL: overdue.
CREATE FUNCTION ff_internal.next_collection() RETURNS text
LANGUAGE sql STABLE
AS $$
    SELECT CASE WHEN (p.gaps >= 3 AND p.pace[2] < 1.1 * p.pace[1]) IS NOT TRUE
                THEN 'collections do not come regularly: see ff_schedule()'
                WHEN p.last + 2 * p.pace[1] < now() THEN NULL    -- one missed collection is only late
                WHEN p.last + p.pace[1] < now() + interval '1 min' THEN 'next collection within a minute'
                ELSE 'next collection at ' || ff_internal.minute(p.last + p.pace[1]) END
      FROM (
        -- 0.8: some may have been made by hand in between
        SELECT max(c.began_at), count(c.gap), percentile_cont('{0.5, 0.8}'::float8[]) WITHIN GROUP (ORDER BY c.gap)
          FROM (SELECT o.began_at, o.began_at - lead(o.began_at) OVER (ORDER BY o.began_at DESC) AS gap
                  FROM ff_internal.collection o ORDER BY o.began_at DESC LIMIT 9) c) p(last, gaps, pace)
$$;

-- Why the statements seen do not tell which columns updates change.
CREATE FUNCTION ff_internal.statements_hint() RETURNS text
LANGUAGE sql STABLE
RETURN coalesce(ff_internal.statements_unread(),
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
                             'look for functions, triggers and the rows of ff_statements() without a table') END;

CREATE FUNCTION ff_internal.of_recent_updates(share float8) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN share >= 0.9995 THEN 'all' ELSE ff_internal.percent(100 * share) || ' of' END || ' recent updates';

-- Why nothing can be said of a table yet, as phrase and reason; NULL if something can.
CREATE FUNCTION ff_internal.words_without_data(e ff_internal.table_evidence, d ff_internal.decision) RETURNS text[]
LANGUAGE sql STABLE
RETURN (
    SELECT CASE coalesce(d.lacks, d.seen_cause)
    WHEN 'not_examined' THEN ARRAY['not examined', e.not_examined]
    WHEN 'sample' THEN CASE
        WHEN e.problem IS NOT NULL
        THEN ARRAY['could not be sampled', 'its pages could not be sampled, each collection tries again: ' || e.problem]
        WHEN e.rel_id IS NULL THEN ARRAY['not collected yet', ff_internal.no_history(e.relation)]
        ELSE ARRAY['not sampled yet', 'its pages were not sampled yet: the next collections go on where the last one '
                                      'ran out of budget'] END
    WHEN 'interval' THEN CASE WHEN EXISTS (SELECT FROM ff_internal.relation r
                                            WHERE r.rel_id = e.rel_id AND r.seen_at > r.opened_at)
        THEN ARRAY['counters were reset', 'its counters were reset, or may have been, since the collection before: the '
                                          'next one knows whether it is written to']
        ELSE ARRAY['one collection so far', 'one collection so far: one more is needed, after some work'] END
    WHEN 'width'
    THEN ARRAY['empty at each collection', format(
               '%s left their page because it was full, but it was empty whenever it was sampled: how much room its '
               'rows need is %s', ff_internal.of_recent_updates(e.newpage_share),
               CASE d.action WHEN 'wait' THEN 'known once a sample finds one' ELSE 'unknown' END)]
    WHEN 'rows' THEN ARRAY['empty', 'the table is empty: it is judged once a collection finds rows in it']
    WHEN 'count'
    THEN ARRAY['too little is known',
               'how many rows it has is not known since its statistics were reset: ANALYZE it on the source']
    WHEN 'updates'
    THEN ARRAY[ff_internal.counted(since, 'update') || ' since it was altered',
               'too little was seen since its fillfactor or its indexes changed: ' || ff_internal.awaited(e, d)]
    WHEN 'why_not_hot'
    THEN ARRAY['too little is known', format(
               '%s of its updates were not HOT, but neither the server nor the pages say whether they left their '
               'page: needed are %sstatements in pg_stat_statements that explain its updates%s',
               ff_internal.percent(100 * (1 - e.hot_share)),
               CASE WHEN NOT EXISTS (SELECT FROM ff_internal.observed)
                    THEN 'a sample taken while it is being updated, or ' END,
               ' (' || ff_internal.statements_unread() || ')')] END
      FROM coalesce((e.since).updated, 0) since);

-- For a table with hardly any updates: what the evidence shows.
CREATE FUNCTION ff_internal.words_of_few(
    e ff_internal.table_evidence, d ff_internal.decision, OUT phrase text, OUT reason text)
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    updates CONSTANT text := ff_internal.counted((e.counted).updated, 'update');
BEGIN
    phrase := CASE WHEN d.at_rest THEN 'not written to'
                   WHEN d.idle AND d.reserve IS NULL THEN 'mostly empty'
                   WHEN d.idle OR d.action = 'raise' THEN 'its reserve is not used'
                   WHEN d.action = 'wait' THEN updates || ' so far'
                   ELSE 'hardly updated' END;
    IF d.idle THEN
        reason := format('nothing was written to it for %s%s',
            CASE WHEN e.intervals IS NULL THEN ff_internal.span(e.window_s) ELSE 'a day or longer' END,
            CASE WHEN d.reserve > 0
                 THEN format(', and %s of its %s are room for updates: %sset to 100 and rewritten, it gives them back',
                             pg_size_pretty(d.reserve::bigint), pg_size_pretty(e.heap_bytes),
                             CASE WHEN e.window_s < ff_internal.threshold('FULL_DAY') THEN 'if that stays so, ' END)
                 WHEN d.at_rest THEN ': while that is so, it needs nothing' END);
        RETURN;
    END IF;
    reason := concat(updates, ' in ', ff_internal.span(e.window_s),
        ' against ' || ff_internal.counted(nullif((e.counted).inserted, 0), 'inserted row'),
        CASE WHEN d.because = 'siblings' THEN ', but the other partitions are updated, and this one will be as they are'
             WHEN d.action = 'raise' THEN ''
             WHEN d.action = 'keep' THEN ': too few to matter'
             WHEN d.because IS NULL AND e.window_s < ff_internal.threshold('RATES')
                  AND (e.counted).updated < ff_internal.threshold('FEW') * (e.counted).inserted
             THEN ': too few to matter, if that stays so for an hour'
             WHEN d.because IS NULL AND (e.counted).updated < ff_internal.setting('min_updates')
             THEN ': too few to judge from. ' || ff_internal.awaited(e, d)
             ELSE ': ' || ff_internal.awaited(e, d) END);
END
$$;

-- Rows of a page that inserts fill at the present fillfactor.
CREATE FUNCTION ff_internal.rows_now(e ff_internal.table_evidence, f ff_internal.fit, d ff_internal.decision)
RETURNS integer
LANGUAGE sql STABLE
RETURN coalesce((ff_internal.step_at(f.steps, d.current_step)).rows_per_page,
                ff_internal.rows_per_page(e.fillfactor, d.row_width));

-- For any other table: what the evidence shows.
CREATE FUNCTION ff_internal.words_of_cause(
    e ff_internal.table_evidence, f ff_internal.fit, d ff_internal.decision, OUT phrase text, OUT reason text)
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    moved CONSTANT text := ff_internal.of_recent_updates(e.newpage_share) || ' left their page because it was full';
    fits  integer;
    ended text;
BEGIN
    CASE d.seen_cause
        WHEN 'few_updates' THEN
            SELECT * INTO phrase, reason FROM ff_internal.words_of_few(e, d);
        WHEN 'too_wide' THEN
            phrase := 'one row fills a page';
            reason := format('rows of %s bytes: a page holds one at any fillfactor', round(d.row_width::numeric));
        WHEN 'settled' THEN
            phrase := CASE d.action WHEN 'lower' THEN 'full pages are pruned often'
                                    WHEN 'raise' THEN 'more room than updates need' ELSE 'updates are HOT already' END;
            reason := ff_internal.of_recent_updates(e.hot_share) || ' were HOT' || CASE
                WHEN d.action = 'lower' THEN ': what is left to save is pruning'
                WHEN d.action <> 'keep' AND d.step > d.current_step THEN ': they need less room than there is'
                WHEN d.action = 'wait' AND d.step < d.current_step THEN ''
                WHEN e.fillfactor = 100 AND e.live_rows > 0 AND e.loaded_anew
                THEN ', but its rows were loaded anew since: each full page sheds a row before it has room again'
                ELSE ': its pages have room already' END;
        WHEN 'indexed_column' THEN
            phrase := 'an indexed column changes';
            reason := format(
                '%s were non-HOT, because an indexed column changed (%s). No fillfactor makes them HOT; ff_blockers() '
                'shows the index and the statements', ff_internal.of_recent_updates(e.blocked_share),
                concat_ws('; ', ff_internal.suspect_indexes(e.relation),
                    -- beside the primary key, one index is the only suspect
                    CASE WHEN e.indexes > 2 OR e.indexed_share IS NOT NULL
                         THEN ff_internal.besides_statements(e) END));
        WHEN 'old_snapshot' THEN
            ended := (SELECT ff_internal.minute(max(h.last_seen_at)) FROM ff_internal.horizon_history h
                       WHERE h.last_seen_at >= (SELECT ff_internal.observed_since())
                      HAVING max(h.last_seen_at) < (SELECT max(c.began_at) FROM ff_internal.collection c));
            phrase := 'an old snapshot ' || CASE WHEN ended IS NULL THEN 'is' ELSE 'was' END || ' held';
            reason := e.held_back || coalesce('. It was held until ' || ended || ': wait for updates from after that; ',
                                              '. End it first, because more room would only fill up as well; ')
                      || 'ff_horizon() names it';
        WHEN 'batch_update' THEN
            fits := ff_internal.rows_now(e, f, d);
            phrase := format('%s rows a page at once', round(e.update_group_rows::numeric));
            reason := format('%s; one transaction updates %s rows of a page together, of the %s that fit it', moved,
                             round(least(e.update_group_rows, fits)::numeric), fits);
        WHEN 'row_growth' THEN
            phrase := format('rows grow by %s bytes', round((e.updated_width - e.inserted_width)::numeric));
            reason := format('%s; rows grow from %s to %s bytes', moved, round(e.inserted_width::numeric),
                             round(e.updated_width::numeric));
        ELSE
            phrase := 'updates leave full pages';
            reason := moved;
    END CASE;
END
$$;

-- What happens over payback_time if nothing is done; n: the present step.
CREATE FUNCTION ff_internal.if_nothing_is_done(e ff_internal.table_evidence, n ff_internal.step) RETURNS text
LANGUAGE sql STABLE
AS $$
    SELECT '. ' || concat_ws(', ', 'If nothing is done', ff_internal.percent(n.settled_hot_pct) || ' HOT once settled',
                             pg_size_pretty(nullif(w.bytes, 0)) || ' of WAL' || w.per)
           || CASE WHEN s.later > 1.1 * s.present
                   THEN format('; with as many rows as now, table and indexes grow from %s to %s in %s',
                               pg_size_pretty(s.present), pg_size_pretty(s.later),
                               ff_internal.span(ff_internal.setting('payback_time'))) ELSE '' END
      FROM ff_internal.updates_per_s(e) u
     CROSS JOIN ff_internal.wal_rate(n.wal_bytes_per_update * 86400 * u, u, e.window_s) w
     CROSS JOIN LATERAL (SELECT 8192 * e.blocks + e.index_bytes, n.size_bytes + n.index_bytes) s(present, later)
$$;

-- Why a step is not advised, by the decision's word for it (why).
CREATE FUNCTION ff_internal.words_of_refusal(
    why text, step integer, e ff_internal.table_evidence, f ff_internal.fit, d ff_internal.decision) RETURNS text
LANGUAGE sql STABLE
RETURN (
    SELECT CASE why
        WHEN 'less_hot'
        THEN format('fewer updates would be HOT: %s predicted, %s seen', ff_internal.percent(n.hot_pct), s.hot)
        WHEN 'less_hot_settled'
        THEN format('fewer updates would be HOT: %s predicted once settled, %s seen',
                    ff_internal.percent(greatest(n.hot_pct, n.settled_hot_pct)), s.hot)
        WHEN 'less_hot_than_kept'
        THEN format('fewer updates would be HOT: %s once settled, %s if nothing is done',
                    ff_internal.percent(n.settled_hot_pct), ff_internal.percent(now.settled_hot_pct))
        WHEN 'no_hot_gain'
        THEN format('hardly any update more would be HOT: for that, less than %s is not clear enough',
                    ff_internal.percent(ff_internal.setting('min_gain') * ff_internal.threshold('CLEAR_GAINS')))
        WHEN 'settled' THEN 'nearly all updates are HOT already'
        WHEN 'any_rewrite' THEN format('most of that is what any rewrite saves, at %s too', e.fillfactor)
        WHEN 'more_wal'
        THEN format('it would write %s more WAL',
                    ff_internal.percent(100 * (n.wal_bytes_per_update / (f.choice).wal_bytes_now - 1)))
        WHEN 'min_gain' THEN format('less than %s is not worth a change (fillfactor_advisor.min_gain)',
                                    ff_internal.percent(ff_internal.setting('min_gain')))
        WHEN 'not_worth'
        THEN format('that is less than %s of the cost of the costliest table''s updates '
                    '(fillfactor_advisor.min_worth), and less than %s of disk',
                    ff_internal.percent(ff_internal.setting('min_worth')),
                    pg_size_pretty(ff_internal.threshold('WORTH_DISK')::bigint))
        WHEN 'siblings' THEN 'not over all partitions'
        WHEN 'nearer' THEN format('that is not clearly more than %s, which is nearer to today''s', d.step)
        WHEN 'standing' THEN format('that is not clearly more than %s, which was advised before', d.step)
        WHEN 'no_better' THEN format('that is not clearly more than %s', d.step)
        WHEN 'unsure'
        THEN 'that is not sure: by some of what may explain the updates seen, it would save nothing' END
      FROM ff_internal.step_at(f.steps, step) n, ff_internal.step_at(f.steps, d.current_step) now,
           ff_internal.percent(100 * e.hot_share) s(hot));

-- What a change would bring, what is missing for one, or why the fillfactor stays.
CREATE FUNCTION ff_internal.words_of_action(
    e ff_internal.table_evidence, f ff_internal.fit, d ff_internal.decision) RETURNS text
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    now   CONSTANT ff_internal.step := ff_internal.step_at(f.steps, d.current_step);
    n     CONSTANT ff_internal.step := ff_internal.step_at(f.steps, d.step);
    saves CONSTANT text := ff_internal.percent(100 * (1 - 1 / d.gain));
    -- of which a change is said to bring more
    hot   CONSTANT float8 := 100 * (e.hot_share + ff_internal.threshold('LACKING'));
BEGIN
    IF d.changes THEN
        RETURN concat(
            format('. At %s a page is filled with %s instead of %s rows', n.fillfactor, n.rows_per_page,
                   now.rows_per_page),
            -- a table without updates has no prediction
            ': ' || ff_internal.percent(n.hot_pct)
                || format(' HOT predicted (%s to %s)', trim_scale(round(n.hot_pct_low::numeric, 1)),
                          trim_scale(round(n.hot_pct_high::numeric, 1))),
            CASE WHEN abs(n.settled_hot_pct - n.hot_pct) >= 1
                 THEN format(' in as long as was watched, %s once settled', ff_internal.percent(n.settled_hot_pct)) END,
            CASE WHEN d.action = 'lower' AND greatest(n.hot_pct, n.settled_hot_pct) < hot
                 THEN format(', hardly more than now, but updates cost %s less', saves) END,
            CASE WHEN d.action = 'raise' THEN ''
                 WHEN d.rewrites
                 THEN '; set alone, it holds for new pages only; by the model, a rewrite of all pages pays for itself'
                 -- a tenth of the updates: chosen
                 WHEN (e.since).inserted >= 0.1 * (e.since).updated
                 THEN '; updates fall on new pages, so no rewrite is needed'
                 ELSE '; rows that move leave room in their old pages, so no rewrite is needed' END,
            CASE d.action WHEN 'lower' THEN ff_internal.if_nothing_is_done(e, now) END);
    ELSIF d.passed_over THEN
        RETURN '. No prediction was made yet: collections make some each time, for the most promising tables first; '
               'ff_advise() for this table makes it at once';
    ELSIF d.action = 'wait' AND d.seen_cause <> 'few_updates' AND n.fillfactor <> now.fillfactor THEN
        RETURN format('. %s may be better, but %s', n.fillfactor, ff_internal.awaited(e, d));
    ELSIF d.action = 'keep' AND d.because NOT IN ('siblings', 'just_changed', 'toast') THEN
        RETURN format('. %s would save %s of its cost, but %s', n.fillfactor, saves,
                      ff_internal.words_of_refusal(d.because, d.step, e, f, d));
    ELSIF d.cause = 'settling' THEN
        RETURN concat(
            ff_internal.if_nothing_is_done(e, now),
            '. If the same rows go on being updated',
            CASE WHEN d.seen_cause = 'row_growth' THEN ', and do not get longer than now' END,
            ', it settles by itself: each page sheds a row once, whose room serves all later updates',
            CASE WHEN (f.choice).settle_updates >= 1
                 THEN format('. After %s more updates nearly all that can be HOT will be',
                             round((f.choice).settle_updates::numeric)) END);
    ELSIF d.action = 'wait' OR d.because = 'toast' OR NOT d.lacks_room THEN
        RETURN '';
    END IF;
    RETURN concat(
        CASE WHEN d.cause = 'read_mostly'
             THEN format('. Readers fetch more than %s pages for each updated row', ff_internal.threshold('READS')) END,
        CASE d.because WHEN 'siblings' THEN '. Over all partitions, no' ELSE '. No' END,
        ' other fillfactor is clearly better',
        CASE WHEN d.seen_cause = 'row_growth' OR now.size_bytes > 1.1 * 8192 * e.blocks
             THEN ff_internal.if_nothing_is_done(e, now) END);
END
$$;

-- What its size says: pages that a rewrite gives back, or TOAST that no fillfactor changes.
CREATE FUNCTION ff_internal.words_of_size(
    e ff_internal.table_evidence, f ff_internal.fit, d ff_internal.decision) RETURNS text
LANGUAGE sql STABLE
AS $$
    SELECT concat(CASE
        WHEN d.rewrite = 'pays' AND (f.choice).filled_at > e.fillfactor
        THEN format('. Its fullest pages are still as full as at %s: a rewrite at the same fillfactor brings %s HOT, '
                    'and it would pay for itself',
                    (f.choice).filled_at, ff_internal.percent((f.choice).rewrite_hot_pct))
        WHEN d.rewrite IS NOT NULL
        THEN format('. Its rows need %s, and it has %s: ', pg_size_pretty(z.needed), pg_size_pretty(z.now))
            || format(CASE d.rewrite
                WHEN 'awaits_snapshot' THEN '%2$s old row versions wait for a snapshot to end, ff_horizon() names it'
                WHEN 'pays' THEN 'a rewrite at the same fillfactor makes it %s smaller, and it would pay for itself'
                WHEN 'refills' THEN 'VACUUM FULL or pg_repack makes it %s smaller, until it holds as much as before'
                ELSE 'VACUUM FULL or pg_repack makes it %s smaller, which needs no other fillfactor' END,
                pg_size_pretty(z.now - z.needed), round((ff_internal.last_sample(e)).recently_dead_rows::numeric)) END,
        CASE WHEN NOT d.idle AND e.toast_bytes > e.heap_bytes + e.index_bytes
             THEN format('. %s of its %s are TOAST, and each update puts ', pg_size_pretty(e.toast_bytes),
                         pg_size_pretty(e.toast_bytes + e.heap_bytes + e.index_bytes))
                  || pg_size_pretty(ff_internal.toasted(e.relation)::bigint)
                  || ' there: no fillfactor changes that, and savings are without it' END)
      FROM (SELECT ff_internal.heap_needed(e)::bigint, least(e.heap_bytes, 8192 * e.blocks)) z(needed, now)
$$;

-- What the source of a mirror did not tell of a table, and the GRANT that helps, in sentences; NULL: nothing lacks.
CREATE FUNCTION ff_internal.unread(relation oid) RETURNS text
LANGUAGE sql STABLE
RETURN (
    SELECT string_agg(m.lack || '.', ' ')
      FROM ff_internal.observed o
      LEFT JOIN ff_internal.observed t ON t.kind = 'table' AND t.id = relation
     CROSS JOIN LATERAL (
        -- of a statement for whole schemas, the part for this table
        SELECT concat_ws(': ', 'The source denied ' || d.what, CASE WHEN d.what ^@ 'widths' THEN regexp_replace(
                   d."grant", '^GRANT .*( TO (?:[^ "]+|"(?:[^"]|"")+"))$',
                   'GRANT SELECT ON ' || replace(ff_internal.qualified_name(relation), '\', '\\') || '\1')
                                                               ELSE d."grant" END)
          FROM jsonb_to_recordset(o.said->'denied') d(what text, "grant" text)
         WHERE NOT d.what ^@ 'widths' OR t.id IS NOT NULL AND t.said->>'width' IS NULL
        UNION ALL
        SELECT 'Not read: ' || u FROM jsonb_array_elements_text(o.said->'unread') u
         WHERE u ^@ 'sizes of tables' OR strpos(u, ff_internal.qualified_name(relation) || ':') > 0) m(lack)
     WHERE o.kind = 'server');

-- The newest rehearsal of a table at its present fillfactor, in a sentence.
CREATE FUNCTION ff_internal.words_of_rehearsal(e ff_internal.table_evidence) RETURNS text
LANGUAGE sql STABLE
RETURN (
    SELECT format('. Rehearsed at %s: HOT %s %% (predicted %s), WAL per update %s %% and size %s %% of those at %s; '
                  '%s; %s', r.to_fillfactor, round(r.hot_pct::numeric, 1),
                  trim_scale(round(r.predicted_hot_pct::numeric, 1)), round(r.wal_pct::numeric),
                  round(r.size_pct::numeric), r.from_fillfactor, r.verdict, r.effect)
           || CASE WHEN r.left_out > 0 THEN ', without its rare work' ELSE '' END
      FROM ff_internal.rehearsal r WHERE r.rel_id = e.rel_id AND r.from_fillfactor = e.fillfactor
     ORDER BY r.measured_at DESC LIMIT 1);

-- The reason as a phrase of at most 34 characters, and in sentences; the confidence as a product, with the factors that
-- are not always 1 (NULL: nothing is known).
CREATE FUNCTION ff_internal.words(
    e ff_internal.table_evidence, f ff_internal.fit, d ff_internal.decision,
    OUT phrase text, OUT reason text, OUT confidence text)
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    no_data CONSTANT text[] := CASE WHEN d.lacks IS NOT NULL OR d.seen_cause = 'not_examined'
                                    THEN ff_internal.words_without_data(e, d) END;
    cause   record;
    refused text;
    said    text;
BEGIN
    phrase := no_data[1];
    reason := no_data[2];
    IF reason IS NULL THEN
        cause := ff_internal.words_of_cause(e, f, d);
        phrase := CASE
            WHEN d.rewrite = 'pays' THEN 'a plain rewrite pays'
            WHEN d.seen_cause = 'few_updates' THEN cause.phrase
            WHEN d.action = 'wait' THEN 'more must be seen first'
            WHEN d.because IN ('not_worth', 'toast') THEN 'saves too little'
            WHEN d.because = 'more_wal' THEN 'another step writes more WAL'
            WHEN d.cause = 'read_mostly' THEN 'mostly read'
            WHEN d.cause = 'settling' THEN 'becomes HOT by itself'
            WHEN d.action = 'keep' AND d.lacks_room THEN 'no step is clearly better' ELSE cause.phrase END;
        said := ff_internal.words_of_action(e, f, d);
        refused := CASE WHEN d.best_refused IS NOT NULL
                        THEN ff_internal.words_of_refusal(d.best_refused, d.best_step, e, f, d) END;
        reason := concat(
            cause.reason,
            -- what holds for the best step as well is said of that one
            CASE WHEN right(said, length(refused)) = refused THEN '' ELSE said END,
            '. The best step, ' || d.best_step || ', would save ' || ff_internal.percent(100 * (1 - 1 / d.best_gain))
                || ', but ' || refused,
            CASE WHEN d.rewrite IS NOT NULL OR e.toast_bytes > e.heap_bytes + e.index_bytes
                 THEN ff_internal.words_of_size(e, f, d) END,
            CASE WHEN d.wants_model AND NOT d.columns_known AND d.action IN ('lower', 'wait')
                 THEN '. Whether an indexed column changes is not known: ' || ff_internal.statements_hint() END,
            CASE WHEN e.open_writers > 0 AND NOT d.changes
                 THEN format('. %s open transactions may hold updates that are not counted yet', e.open_writers) END,
            CASE WHEN (f.choice).current_step > 0 THEN ff_internal.words_of_rehearsal(e) END,
            CASE WHEN d.changes AND d.provisional
                 THEN '. Provisional: watched for ' || ff_internal.span(e.window_s) END);
    END IF;
    reason := upper(left(reason, 1)) || substr(rtrim(reason, '.'), 2) || '.';
    confidence := CASE WHEN d.seen_cause NOT IN ('not_examined', 'no_data') THEN concat(
        to_char(d.confidence, '"Confidence "FM0.09'), to_char(d.of_updates, '" = enough seen "FM0.09'),
        to_char(d.of_time, '" x long enough "FM0.09'),
        to_char(nullif(d.of_counters, 1), '" x counters lost "FM0.09'),
        to_char(nullif(d.of_columns, 1), '" x columns unknown "FM0.09'),
        to_char(nullif(d.of_rows, 1), '" x rows not seen "FM0.09'),
        to_char(nullif(d.of_pages, 1), '" x pages not read "FM0.09'),
        CASE WHEN d.wants_model AND d.seen_cause <> 'few_updates' THEN to_char(d.of_model, '" x model "FM0.09') END,
        to_char(nullif(d.of_earlier, 1), '" x earlier advice "FM0.09'),
        CASE WHEN d.wants_model AND d.action <> 'keep'
             THEN to_char(d.needed_confidence, '"; "FM0.09" needed."') ELSE '.' END) END;
END
$$;
