-- Stage reason: a decision in words.  Nothing is decided here.

-- Whether the history has a table of this name, of another server or database: it was restored.
CREATE FUNCTION ff_internal.is_restored(e ff_internal.table_evidence) RETURNS boolean
LANGUAGE sql STABLE
RETURN e.rel_id IS NULL AND EXISTS (SELECT FROM ff_internal.relation r
                                     WHERE (r.nspname, r.relname) = (e.nspname, e.relname) AND r.closed_at IS NULL);

-- Why nothing can be said of a table yet; NULL where something can.
CREATE FUNCTION ff_internal.reason_no_data(v ff_internal.decision) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    d ff_internal.diagnosis := v.diagnosis;
    e ff_internal.table_evidence := d.evidence;
BEGIN
    IF e.problem IS NOT NULL AND (e.sample).sampled_at IS NULL THEN
        RETURN 'its pages could not be sampled, each collection tries again: ' || e.problem;
    ELSIF ff_internal.is_restored(e) THEN
        RETURN 'its history comes from another server or database: one collection is needed to take it up, run CALL '
               'ff_collect()';
    ELSIF e.rel_id IS NULL THEN
        RETURN 'not collected yet: run CALL ff_collect() or ff_schedule()';
    ELSIF (e.sample).sampled_at IS NULL THEN
        RETURN 'its pages were not sampled yet: the budget of the last collection was spent on others, the next ones '
               'go on from there';
    ELSIF (e.counters).intervals IS NULL AND NOT d.idle THEN
        RETURN 'nothing was written to it since the first look: one more collection after some work is needed';
    ELSIF (e.sample).blocks = 0 OR d.row_width = 0 THEN
        RETURN 'the table is empty: it is judged once a collection finds rows in it';
    ELSIF d.cause = 'no_data' AND coalesce((e.since_change).updated,
                                           0) < ff_internal.setting('min_updates')::bigint THEN
        RETURN format('%s updates since its fillfactor or its indexes changed, of %s in %s: too few to see what that '
                      'did. ',
                      coalesce((e.since_change).updated, 0), (e.counters).updated, ff_internal.span(e.window_s))
               || ff_internal.until_when(e, (e.since_change).updated, ff_internal.setting('min_updates')::bigint);
    ELSIF d.cause = 'no_data' THEN
        RETURN format('%s of its updates were not HOT, but neither the server nor the pages say whether they left '
                      'their page: a sample taken while it is being updated is needed, or pg_stat_statements',
                      ff_internal.percent(100 * (1 - d.hot_share)));
    END IF;
    RETURN NULL;
END
$$;

-- Of a table whose updates are nearly all HOT.
CREATE FUNCTION ff_internal.reason_settled(v ff_internal.decision) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    d ff_internal.diagnosis := v.diagnosis;
    e ff_internal.table_evidence := d.evidence;
    s ff_internal.page_sample := e.sample;
    earlier CONSTANT bigint := (e.since_change).updated - (e.recent).updated;
    earlier_hot CONSTANT bigint := (e.since_change).hot_updated - (e.recent).hot_updated;
    hot text := CASE WHEN d.hot_share >= 0.9995 THEN 'all recent updates were HOT'
                     ELSE ff_internal.percent(100 * d.hot_share) || ' of recent updates were HOT' END;
BEGIN
    IF d.newpage_share >= 0.0005 THEN
        hot := hot || format(', %s left their page', ff_internal.percent(100 * d.newpage_share));
    END IF;
    IF earlier > 0 AND earlier_hot < 0.95 * earlier * d.hot_share THEN
        hot := hot || format(', after %s HOT before', ff_internal.percent(100.0 * earlier_hot / earlier));
    END IF;
    RETURN hot || ': ' ||
        CASE WHEN v.action = 'lower'
             THEN 'what is left to save is pruning, which full pages need at nearly every update'
             WHEN v.action = 'raise' THEN 'they need less room than there is'
             -- a rewrite takes the marks of HOT updates off the rows
             WHEN e.fillfactor = 100
                  AND coalesce(s.updated_hot_rows / nullif(s.updated_hot_rows + s.updated_nonhot_rows, 0), 0) < 0.5
             THEN 'but its rows were loaded anew since, and each page filled so sheds a row before it has room again'
             ELSE 'its pages have room already' END;
END
$$;

-- How few updates there were, and until when they are waited for.
CREATE FUNCTION ff_internal.reason_few(v ff_internal.decision) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    d ff_internal.diagnosis := v.diagnosis;
    e ff_internal.table_evidence := d.evidence;
    w ff_internal.window_counters := e.counters;
    few text := format('%s in %s', ff_internal.counted(w.updated, 'update'), ff_internal.span(e.window_s))
                || CASE WHEN w.inserted > 0 THEN format(' against %s inserted rows', w.inserted) ELSE '' END;
BEGIN
    IF v.because = 'idle' THEN
        RETURN format('nothing was written to it for %s: while that is so, it needs nothing', CASE
                      WHEN w.intervals IS NULL THEN ff_internal.span(e.window_s) ELSE 'a day or longer' END);
    ELSIF v.because = 'siblings' THEN
        RETURN few || ', but the other partitions are updated, and this one will be as they are';
    ELSIF v.action = 'raise' THEN
        RETURN few;
    ELSIF v.action = 'keep' THEN
        RETURN few || ': too few to matter';
    END IF;
    RETURN few || CASE
        WHEN v.because = 'short'
        THEN ': too few to judge from. A full day of watching is needed: '
             || ff_internal.span_over(e.window_s, 86400)
        WHEN w.updated < ff_internal.setting('min_updates')::bigint
        THEN ': too few to judge from. '
             || ff_internal.until_when(e, w.updated, ff_internal.setting('min_updates')::bigint)
        ELSE '. ' || ff_internal.until_confident(v) END;
END
$$;

-- How much of a time is over, and how much is left: '5 hours are over, about 19 hours are left'.
CREATE FUNCTION ff_internal.span_over(seconds double precision, needed double precision) RETURNS text
LANGUAGE sql STABLE
RETURN format('%s are over, about %s are left', ff_internal.span(seconds),
              ff_internal.span(greatest(0, needed - seconds)));

-- How long it takes at the window's rate until so many updates were seen; where there were none, what it waits for.
CREATE FUNCTION ff_internal.until_when(e ff_internal.table_evidence, seen bigint, needed bigint) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT format('%s updates needed, %s seen', needed, coalesce(seen, 0))
           || CASE WHEN (e.counters).updated > 0 AND e.window_s > 0
                   THEN format(': about %s at %s rate',
                               ff_internal.span(greatest(0, needed - coalesce(seen, 0)) * e.window_s
                                                / (e.counters).updated),
                               CASE WHEN seen > 0 THEN 'this' ELSE 'its earlier' END)
                   ELSE ': as long as it takes until somebody updates it' END
$$;

-- The part seen of the time that confidence asks for, a day with three cycles; and what it makes of it.
CREATE FUNCTION ff_internal.time_seen(e ff_internal.table_evidence) RETURNS double precision
LANGUAGE sql STABLE
RETURN least(1, e.window_s / 86400, (e.counters).cycles / 3);

CREATE FUNCTION ff_internal.time_trust(seen double precision) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 0.5 + 0.5 * sqrt(seen);

-- How long it takes until the confidence needed is there, if only time is missing, and what else is.
CREATE FUNCTION ff_internal.until_confident(v ff_internal.decision) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    e      ff_internal.table_evidence := (v.diagnosis).evidence;
    cycles CONSTANT double precision := coalesce((e.counters).cycles, 3);
    seen   CONSTANT double precision := ff_internal.time_seen(e);
    -- as it would be after a day and three cycles
    most   CONSTANT double precision := v.confidence / ff_internal.time_trust(seen);
    needed CONSTANT double precision := (2 * v.needed_confidence / nullif(most, 0) - 1) ^ 2;
BEGIN
    IF most > v.needed_confidence AND seen < 1 THEN
        RETURN format('a longer time has to be seen first: about %s more', ff_internal.span(greatest(
                      needed * 86400 - e.window_s, e.window_s * (3 * needed / cycles - 1), 1)));
    END IF;
    RETURN format('a confidence of %s is needed, and time alone brings %s: each collection that sees updates tries '
                  'anew',
                  trim_scale(round(v.needed_confidence::numeric, 2)), trim_scale(round(most::numeric, 2)));
END
$$;

-- When the next collection is due, in words: by the job of pg_cron, where this role sees one that runs every so many
-- minutes or seconds, else by the pace of the last ones, if that is kept; NULL: nothing tells.
CREATE FUNCTION ff_internal.next_collection() RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    seen  CONSTANT boolean := CASE WHEN EXISTS (SELECT FROM pg_extension x WHERE x.extname = 'pg_cron') THEN
                              CASE WHEN has_schema_privilege('cron', 'USAGE')
                                   THEN has_table_privilege('cron.job', 'SELECT') END END;
    last  timestamptz;
    pace  interval;
    every interval;
BEGIN
    -- from two gaps on there may be a pace
    SELECT max(c.began_at), percentile_cont(0.5) WITHIN GROUP (ORDER BY c.gap) INTO last, pace
      FROM (SELECT o.began_at, o.began_at - lag(o.began_at) OVER (ORDER BY o.began_at) AS gap
              FROM (SELECT began_at FROM ff_internal.collection ORDER BY began_at DESC LIMIT 10) o) c
    HAVING count(c.gap) >= 2;
    IF seen THEN
        SELECT min(make_interval(mins => coalesce(m[1], '1')::integer * (m[2] IS NULL)::integer,
                                 secs => coalesce(m[2], '0')::integer)) INTO every
          FROM cron.job j,
               regexp_match(j.schedule, '^(?:(?:[*]|[0-9]+-59)(?:/([0-9]+))?(?: [*]){4}|([0-9]+) seconds?)$') m
         WHERE j.active AND j.database = current_database() AND j.command LIKE '%ff_internal.collect()%';
    END IF;
    RETURN 'next collection at ' || to_char(CASE
           WHEN last + coalesce(every, pace) >= now() THEN last + coalesce(every, pace)
           WHEN every IS NOT NULL THEN date_bin(every, now(), '2001-01-01 UTC') + every
           -- one missed is late, not gone
           WHEN last + 2 * pace >= now() THEN now() END, 'YYYY-MM-DD HH24:MI');
END
$$;

-- What the evidence shows, one branch a cause.
CREATE FUNCTION ff_internal.reason_cause(v ff_internal.decision) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    d ff_internal.diagnosis := v.diagnosis;
    e ff_internal.table_evidence := d.evidence;
    p ff_internal.page_sample := e.sample;
    fits integer := coalesce((v.now_step).rows_per_page, ff_internal.rows_per_page(e.fillfactor, d.row_width));
BEGIN
    CASE d.cause
        WHEN 'few_updates' THEN
            RETURN ff_internal.reason_few(v);
        WHEN 'too_wide' THEN
            RETURN format('rows of %s bytes: a page holds one of them at any fillfactor', round(d.row_width::numeric));
        WHEN 'settled' THEN
            RETURN ff_internal.reason_settled(v);
        WHEN 'indexed_column' THEN
            RETURN format('%s of recent updates could not be HOT, because an indexed column changed%s: no fillfactor '
                          'can help. '
                          'ff_blockers() shows the index and the statements',
                              ff_internal.percent(100 * d.blocked_share),
                          ' (' || ff_internal.suspect_indexes(e.relation) || ')');
        WHEN 'old_snapshot' THEN
            RETURN d.held_back || ': end it first, ff_horizon() names it; more room would only fill up as well';
        ELSE
            RETURN format('%s left their page because it was full',
                          CASE WHEN d.newpage_share >= 0.9995 THEN 'all recent updates'
                              ELSE ff_internal.percent(100 * d.newpage_share) || ' of recent updates' END)
                   || CASE d.cause
                        WHEN 'batch_update' THEN format('; one transaction updates %s rows of a page together, of the '
                                                        '%s that fit it',
                                                        round(least(p.update_group_rows, fits)::numeric), fits)
                        WHEN 'row_growth' THEN format('; rows grow from %s to %s bytes',
                                                      round(p.inserted_width::numeric), round(p.updated_width::numeric))
                        ELSE '' END;
    END CASE;
END
$$;

-- What comes if nothing is done, over the time that the choice is made for.
CREATE FUNCTION ff_internal.reason_unchanged(v ff_internal.decision) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    e    ff_internal.table_evidence := (v.diagnosis).evidence;
    now  ff_internal.step := v.now_step;
    size CONSTANT bigint := now.size_bytes + now.index_bytes;
    seen CONSTANT bigint := 8192 * (e.sample).blocks + e.index_bytes;
BEGIN
    RETURN '. If nothing is done' || coalesce(format(', %s HOT once settled',
                                                    ff_internal.percent(now.settled_hot_pct)), '')
           || coalesce(format(', %s of WAL a day', pg_size_pretty(
                  (now.wal_bytes_per_update * 86400 * (e.counters).updated / nullif(e.window_s, 0))::bigint)), '')
           || CASE WHEN size > 1.1 * seen
                   THEN format(', and %s of table and indexes instead of %s in %s', pg_size_pretty(size),
                               pg_size_pretty(seen),
                               ff_internal.span(ff_internal.setting('payback_time')::double precision))
                   ELSE '' END;
END
$$;

-- What a change would bring.
CREATE FUNCTION ff_internal.reason_change(v ff_internal.decision) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    d    ff_internal.diagnosis := v.diagnosis;
    e    ff_internal.table_evidence := d.evidence;
    now  ff_internal.step := v.now_step;
    next ff_internal.step := v.then_step;
    hot  text := format('%s HOT predicted (%s to %s)', ff_internal.percent(next.hot_pct),
                        trim_scale(round(next.hot_pct_low::numeric, 1)),
                            trim_scale(round(next.hot_pct_high::numeric, 1)));
    less bigint := e.heap_bytes + e.index_bytes - next.size_bytes - next.index_bytes;
    says text := format('. At %s a page is filled with %s rows instead of %s',
                        v.recommended_fillfactor, next.rows_per_page, now.rows_per_page);
BEGIN
    IF v.action = 'lower' THEN
        RETURN says || CASE WHEN next.hot_pct IS NULL THEN '' ELSE ': ' || hot END
               || CASE WHEN next.needs_rewrite THEN '; old pages keep their density until a rewrite, which would pay'
                       ELSE '; updates fall on new pages, so no rewrite is needed' END
               || coalesce(ff_internal.reason_unchanged(v), '');
    END IF;
    RETURN says || CASE WHEN less > 0 THEN format(', %s less to store and read once rewritten', pg_size_pretty(less))
        ELSE '' END
           || CASE WHEN next.hot_pct < 100 * d.hot_share - 0.05 THEN '; ' || hot ELSE '' END;
END
$$;

-- What is missing for a change.
CREATE FUNCTION ff_internal.reason_wait(v ff_internal.decision) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    e      ff_internal.table_evidence := (v.diagnosis).evidence;
    next   ff_internal.step := v.then_step;
    better text := format('. %s may be better, but ', next.fillfactor);
    enough bigint := 4 * ff_internal.setting('min_updates')::bigint;
BEGIN
    IF v.passed_over THEN
        RETURN '. The model was not asked here: ff_advise() with the name of the table asks it';
    ELSIF next.fillfactor IS NULL OR next.fillfactor = (v.now_step).fillfactor
        OR (v.diagnosis).cause = 'few_updates' THEN
        RETURN '';
    ELSIF v.because = 'taken' THEN
        RETURN better || 'its fillfactor was changed lately: a full day has to be seen first, '
               || ff_internal.span_over(e.since_change_s, 86400);
    ELSIF v.because = 'settling' THEN
        RETURN better || 'it may become HOT by itself: a full day has to be seen first, '
               || ff_internal.span_over(e.window_s, 86400);
    ELSIF v.because = 'short' AND e.since_change_s < 86400 THEN
        RETURN better || format('a full day has to be seen first, as busy as those before: %s%s',
                                ff_internal.span_over(e.since_change_s, 86400),
                                CASE WHEN e.since_change_s < e.window_s
                                     THEN ', since its fillfactor or its indexes changed' ELSE '' END);
    ELSIF v.because = 'short' THEN
        RETURN better || format('since its fillfactor or its indexes changed it was updated less than half as often as '
                                'before: that has to come back, or to last for %s more',
                                ff_internal.span(ff_internal.setting('lookback')::double precision
                                                 - e.since_change_s));
    ELSIF (e.since_change).updated < enough THEN
        RETURN better || 'more has to be seen first: ' || ff_internal.until_when(e, (e.since_change).updated, enough);
    ELSIF ((v.fit).choice).confidence < v.needed_confidence THEN
        RETURN better || 'no replay comes near enough to what was seen: each collection that sees updates tries anew';
    ELSIF v.confidence >= ff_internal.setting('min_confidence')::double precision THEN
        better := better || format('the table would have %s instead of %s, and ',
                                   pg_size_pretty(next.size_bytes), pg_size_pretty((v.now_step).size_bytes));
    END IF;
    RETURN better || ff_internal.until_confident(v);
END
$$;

-- Why the fillfactor stays although updates leave full pages.
CREATE FUNCTION ff_internal.reason_keep(v ff_internal.decision) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    e        ff_internal.table_evidence := (v.diagnosis).evidence;
    c        ff_internal.choice := (v.fit).choice;
    min_gain double precision := 1 + ff_internal.setting('min_gain')::double precision / 100;
    says     text := '';
BEGIN
    IF v.cause = 'read_mostly' THEN
        says := format('. Readers fetch %s pages for each updated row, and would fetch more',
                       round((v.readers_pages / (e.counters).updated)::numeric));
    END IF;
    IF v.cause = 'settling' THEN
        RETURN ff_internal.reason_unchanged(v)
               || '. It settles by itself: each page sheds a row once, whose room serves all later updates. '
               || CASE WHEN c.settle_updates < 1 THEN 'It has nearly settled'
                       ELSE format('After %s more updates%s nearly all that can be will be HOT',
                                   to_char(c.settle_updates, 'FM999,999,999,999,999'),
                                   coalesce(', ' || ff_internal.span(c.settle_updates * e.since_change_s
                                                                     / nullif((e.since_change).updated, 0))
                                            || ' at this rate,', '')) END;
    ELSIF (v.diagnosis).cause NOT IN ('page_full', 'batch_update', 'row_growth') THEN
        RETURN says;
    ELSIF v.because IN ('siblings', 'taken') THEN
        RETURN says || '. ' || CASE v.because WHEN 'siblings'
            THEN 'Seen over all partitions, no other fillfactor is clearly better'
                                    ELSE 'Another fillfactor is not so much better that the last change should be '
                                         'undone' END;
    END IF;
    says := says || '. No other fillfactor is clearly better'
            || CASE WHEN c.best_gain <= 1.005 THEN ''
                    WHEN c.best_gain < min_gain THEN format(': the best step would save %s, less than '
                                                            'fillfactor_advisor.min_gain',
                                                            ff_internal.percent(100 * (1 - 1 / c.best_gain)))
                    ELSE format(': one might save %s, but not by every explanation of what was seen',
                                ff_internal.percent(100 * (1 - 1 / c.best_gain))) END;
    IF c.filled_at > e.fillfactor AND c.rewrite_gain >= min_gain THEN
        says := says || format('. Its fullest pages are still as full as at %s: a rewrite (VACUUM FULL, or pg_repack) '
                               'gives them the room, '
                               'which should bring %s HOT', c.filled_at, ff_internal.percent(c.rewrite_hot_pct));
    END IF;
    IF v.cause = 'row_growth' OR (v.now_step).size_bytes > 1.1 * 8192 * (e.sample).blocks THEN
        says := says || ff_internal.reason_unchanged(v);
    END IF;
    RETURN says;
END
$$;

-- What else a reader should know.
CREATE FUNCTION ff_internal.reason_notes(v ff_internal.decision) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    d ff_internal.diagnosis := v.diagnosis;
    e ff_internal.table_evidence := d.evidence;
    c ff_internal.choice := (v.fit).choice;
BEGIN
    RETURN concat(
        CASE WHEN v.action IN ('lower', 'raise') AND v.because = 'siblings'
             THEN '. Judged together with the other partitions of its parent' END,
        CASE WHEN v.action <> 'wait' AND c.advised_step <> c.advised_in_ram THEN format(
             '. Table and indexes are %s times memory (%s would be best within it): ' || CASE
                 WHEN c.advised_step < c.advised_in_ram
                 THEN 'a row that leaves its page makes index pages be read and written'
                 ELSE 'each page more is read from disk more often than it saves' END,
             round(e.ram_ratio::numeric, CASE WHEN e.ram_ratio < 10 THEN 1 ELSE 0 END), c.advised_in_ram) END,
        CASE WHEN d.wants_model AND NOT d.eligible_known AND v.action IN ('lower', 'wait')
             THEN '. Whether an indexed column changes is not known, as no update stayed in its page: '
                  'pg_stat_statements would tell' END,
        CASE WHEN e.counts_lost THEN '. track_counts was off for a part of the time' END,
        CASE WHEN e.open_writers > 0 AND v.action IN ('wait', 'keep')
             THEN format('. %s open transactions may hold updates that are not counted yet', e.open_writers) END,
        '. ' || initcap(left(r.words, 1)) || substr(r.words, 2),
        CASE WHEN v.action IN ('lower', 'raise') AND e.window_s < 86400
             THEN format('. Provisional: watched for %s', ff_internal.span(e.window_s)) END)
      FROM (SELECT ff_internal.rehearsed(e.rel_id, e.fillfactor)) r(words);
END
$$;

-- Why, in a sentence or a few.
CREATE FUNCTION ff_internal.reason(v ff_internal.decision) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    no_data text;
BEGIN
    IF (v.diagnosis).cause = 'not_examined' THEN
        RETURN ((v.diagnosis).evidence).not_examined;
    END IF;
    no_data := ff_internal.reason_no_data(v);
    IF no_data IS NOT NULL THEN
        RETURN no_data;
    END IF;
    RETURN upper(left(x.text, 1)) || substr(x.text, 2) || '.'
      FROM (SELECT ff_internal.reason_cause(v)
                   || CASE v.action WHEN 'keep' THEN ff_internal.reason_keep(v)
                                    WHEN 'wait' THEN ff_internal.reason_wait(v)
                                    ELSE ff_internal.reason_change(v) END
                   || ff_internal.reason_notes(v)) x(text);
END
$$;

-- The same in at most 30 characters.
CREATE FUNCTION ff_internal.phrase(v ff_internal.decision) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    d ff_internal.diagnosis := v.diagnosis;
    e ff_internal.table_evidence := d.evidence;
BEGIN
    RETURN CASE
        WHEN d.cause = 'not_examined' THEN 'not examined'
        WHEN e.problem IS NOT NULL AND (e.sample).sampled_at IS NULL THEN 'could not be sampled'
        WHEN e.rel_id IS NULL
        THEN CASE WHEN ff_internal.is_restored(e) THEN 'one collection is needed' ELSE 'not collected yet' END
        WHEN (e.sample).sampled_at IS NULL THEN 'not sampled yet'
        WHEN d.idle THEN 'not written to'
        WHEN (e.counters).intervals IS NULL THEN 'nothing was written yet'
        WHEN d.cause = 'no_data' AND coalesce((e.since_change).updated, 0) < ff_internal.setting('min_updates')::bigint
        THEN ff_internal.counted(coalesce((e.since_change).updated, 0)::bigint, 'update') || ' since it was altered'
        WHEN d.cause = 'no_data' THEN 'too little is known'
        WHEN d.cause = 'few_updates' AND v.action = 'wait'
        THEN ff_internal.counted((e.counters).updated, 'update') || ' so far'
        WHEN d.cause = 'few_updates' AND v.action = 'raise' THEN 'its reserve is not used'
        WHEN d.cause = 'few_updates' THEN 'hardly updated'
        WHEN v.action = 'wait' THEN 'more must be seen first'
        WHEN v.cause = 'read_mostly' THEN 'mostly read'
        WHEN v.cause = 'settling' THEN 'becomes HOT by itself'
        WHEN d.cause = 'settled' AND v.action = 'lower' THEN 'full pages are pruned often'
        WHEN d.cause = 'settled' THEN 'updates are HOT already'
        WHEN d.cause = 'batch_update' THEN format('%s rows a page at once',
                                                  round((e.sample).update_group_rows::numeric))
        WHEN d.cause = 'row_growth' THEN format('rows grow by %s bytes',
                                                round(((e.sample).updated_width - (e.sample).inserted_width)::numeric))
        WHEN d.cause = 'indexed_column' THEN 'an indexed column changes'
        WHEN d.cause = 'old_snapshot' THEN 'an old snapshot is held'
        WHEN d.cause = 'too_wide' THEN 'one row fills a page'
        ELSE 'updates leave full pages' END;
END
$$;
