-- All results on one self-contained HTML page. A policy in its head allows only its own script and
-- style. Text from the database enters it only through html(), in the encoding of the client, which the head names.

CREATE VIEW ff_internal.report_row AS
SELECT a.*, v.wal_saved, v.wal_now, v.saves, CASE WHEN k.explains THEN v.evidence END AS evidence,
       CASE WHEN k.explains THEN v.fit END AS fit,
       (v.decision).current_step, (v.decision).at_rest AS static, k.*, n.name,
       row_number() OVER (ORDER BY k.kind <> 'change', NOT k.explains, v.wal_saved DESC NULLS LAST,
                                   a.cpu_seconds_per_day_saved DESC NULLS LAST, a.disk_bytes_change,
                                   a.updates_per_s * (100 - a.hot_pct) DESC NULLS LAST, n.name) AS place
  FROM ff_internal.advice() v
 CROSS JOIN LATERAL (SELECT (v.advice).*) a
 CROSS JOIN LATERAL (SELECT a.gain_pct IS NOT NULL,
                            a.cause IN ('indexed_column', 'old_snapshot', 'read_mostly', 'too_wide')) c(changes, other)
 CROSS JOIN LATERAL (
    SELECT CASE WHEN c.changes THEN a.recommended_fillfactor END AS advised,
           CASE WHEN c.changes AND a.action = 'keep' THEN 'rewrite' ELSE a.action END AS does,
           CASE WHEN c.changes THEN 'change' WHEN a.action = 'wait' THEN 'wait'
                WHEN a.cause = 'not_examined' THEN 'skipped' WHEN c.other THEN 'cure' ELSE 'fine' END AS kind,
           c.changes OR c.other OR EXISTS (
               SELECT FROM ff_internal.change h
                WHERE h.rel_id = (v.evidence).rel_id AND h.kind = 'fillfactor') AS explains) k
 CROSS JOIN LATERAL (
    SELECT ff_internal.html(ff_internal.quoted_name((v.evidence).nspname, (v.evidence).relname)) AS name) n;
COMMENT ON VIEW ff_internal.report_row IS
'The tables of ff_report(). place: rank by worth. kind: change (of a fillfactor, or a rewrite), cure (the cause is not '
'fillfactor), wait, fine, skipped. does: the action, or rewrite. explains: has details to show (evidence, fit). '
'static: nothing is written to it.';

-- The answer in one sentence, and tiles: each counts the tables of a kind and, clicked, shows only them.
CREATE FUNCTION ff_internal.report_answer(tables ff_internal.report_row[]) RETURNS text
LANGUAGE sql STABLE
RETURN (
    SELECT format(E'<h1>%s.%s</h1>\n<div class="tiles">\n%s</div>\n',
               upper(left(c.total->>'words', 1)) || substr(c.total->>'words', 2),
               ' Based on ' || ff_internal.span(w.s) || CASE WHEN w.s < ff_internal.threshold('FULL_DAY')
                   THEN ': provisional. Collect for a day, better a week, before you apply it.' ELSE '.' END,
               (SELECT string_agg(format(
                           E'<button type="button" class="%s" aria-pressed="false"><b>%s</b>%s</button>\n', k.kind,
                           (SELECT count(*) FROM unnest(tables) t WHERE t.kind = k.kind), k.words), '' ORDER BY k.place)
                  FROM (VALUES (1, 'change', 'to change'), (2, 'cure', 'need another cure'),
                               (3, 'wait', 'need more time'), (4, 'fine', 'are fine'),
                               (5, 'skipped', 'not examined')) k(place, kind, words)))
      FROM (SELECT ff_internal.plan_total(ARRAY(
                       SELECT to_jsonb(o) FROM (SELECT t.wal_saved, t.wal_now, t.disk_bytes_change, t.updates_per_s,
                                                       t.observed, t.rewrite_seconds, t.provisional
                                                  FROM unnest(tables) t WHERE t.kind = 'change') o))) c(total)
     -- if there are no changes, watched as long as any examined table
     CROSS JOIN LATERAL (
        SELECT coalesce((c.total->>'observed_s')::float8, extract(epoch FROM max(t.observed))::float8) AS s
          FROM unnest(tables) t WHERE t.kind <> 'skipped') w);

-- A list of the tables of a kind; NULL: of all that are not shown in detail.
CREATE FUNCTION ff_internal.report_list(
    tables ff_internal.report_row[], of_kind text, detailed integer, most integer, caption text) RETURNS text
LANGUAGE sql STABLE
RETURN (
    SELECT ff_internal.html_table(caption, json_agg(r))
      FROM (SELECT CASE WHEN of_kind IN ('change', 'cure') THEN format('<a href="#t%s">%s</a>', t.relation::oid, t.name)
                        ELSE t.name END AS "table|html",
                   t.fillfactor AS "now|0", c.advised AS "new|0", CASE WHEN of_kind IS NULL THEN t.action END AS action,
                   t.cause, t.updates_per_s AS "updates/s|1", t.hot_pct AS "HOT|1 %",
                   c.predicted_hot_pct AS "HOT then|1 %", t.size_bytes AS "size|B",
                   c.predicted_size_bytes AS "size then|B", c.predicted_wal_pct - 100 AS "WAL per update|+0 %",
                   c.saves, -c.gain_pct AS "cost|+1 %", c.confidence AS "confidence|2",
                   CASE WHEN c.needs_rewrite THEN coalesce(ff_internal.rewrite_time(c.rewrite_seconds), 'yes') END
                       AS rewrite,
                   CASE WHEN of_kind = 'change'
                        THEN ff_internal.curve_picture((t.fit).steps, t.current_step, t.advised, false) END
                       AS "curve|html",
                   CASE WHEN of_kind IS DISTINCT FROM 'change' THEN t.reason END AS why,
                   concat('id="t' || CASE WHEN of_kind IS NULL THEN t.relation::oid END || '" ',
                          'data-k="', t.kind, '"') AS "@|html"
              FROM unnest(tables) t
              LEFT JOIN LATERAL (SELECT t.* WHERE of_kind = 'change') c ON true
             WHERE CASE WHEN of_kind IS NULL
                        THEN t.kind <> 'skipped' AND NOT t.static AND NOT (t.explains AND t.place <= detailed)
                        ELSE t.kind = of_kind END
             ORDER BY t.place LIMIT most) r);

-- One table in detail. Of its indexes at most 20; statements are cut to 300 characters.
CREATE FUNCTION ff_internal.report_table(t ff_internal.report_row) RETURNS text
LANGUAGE sql STABLE
RETURN (
    SELECT concat(
        format(E'<article id="t%s" data-k="%s">\n<header><h3>%s</h3><span class="badge %s">%s %s%s</span></header>\n',
               t.relation::oid, t.kind, t.name, t.kind, t.does, t.fillfactor,
               ' to ' || nullif(t.advised, t.fillfactor)),
        format(E'<p>%s</p>\n%s<p class="sub">%s</p>\n', ff_internal.html(t.reason),
            '<pre>' || ff_internal.html(t.ddl) || E'</pre>\n', ff_internal.html(concat_ws('; ',
            'about ' || round(e.live_rows) || ' rows', pg_size_pretty(e.index_bytes) || ' in indexes: ' || e.indexes,
            'left as it is: ' || pg_size_pretty(now.size_bytes + now.index_bytes) || ' with indexes in '
                || ff_internal.span(ff_internal.setting('payback_time'))))),
        E'<div class="charts">\n', ff_internal.curve_picture((t.fit).steps, t.current_step, t.advised, true),
        ff_internal.history_picture(e.rel_id), E'</div>\n',
        coalesce((
            SELECT ff_internal.html_table('Indexes on columns that updates set, which keep them from being HOT, then '
                       'those that nothing uses; ff_blockers() has all.', json_agg(r))
              FROM (SELECT c.relname AS index, array_to_string(b.columns, ', ') AS columns,
                           CASE WHEN b.usage <> 'unused' THEN ff_internal.rate_words(b.blocked_per_s) END AS blocked,
                           b.scans AS "scans|0", b.index_bytes AS "size|B",
                           (SELECT string_agg(left(q, 300), '; ') FROM unnest(b.statements[:3]) q) AS statements,
                           concat_ws('; ', b.reason, b.suggestion, b.ddl) AS "what could be done"
                      FROM @extschema@.ff_blockers(t.relation) b JOIN pg_class c ON c.oid = b.index LIMIT 20) r),
            E'<p class="sub">No index is in the way of HOT.</p>\n'), E'</article>\n')
      FROM (SELECT (t.evidence).*) e CROSS JOIN ff_internal.step_at((t.fit).steps, t.current_step) now);

-- The sections that are one list. Pages of indexes are read for three seconds.
CREATE FUNCTION ff_internal.report_lists(OUT place integer, OUT id text, OUT title text, OUT content text)
RETURNS SETOF record
LANGUAGE sql VOLATILE ROWS 5
BEGIN ATOMIC
    SELECT 1, 'week', 'This week', coalesce(
               ff_internal.html_table('Newest first, at most twelve lines; ff_changes() has all.', json_agg(r)),
               E'<p>Nothing is new.</p>\n')
      FROM (SELECT ff_internal.minute(n.at) AS at, n.relation AS "table", n.what, n.details
              FROM @extschema@.ff_changes() n LIMIT 12) r
    UNION ALL
    SELECT 5, 'held', 'What holds back pruning', ff_internal.html_table(
               'While one of these has an old snapshot, dead versions stay, and updates find no room. HOT share of the '
               'updates meanwhile and otherwise; ff_horizon() has more.', json_agg(r))
      FROM (SELECT h.kind AS what, h.holder, h.role_name AS role, h.application, ff_internal.minute(h.since) AS since,
                   ff_internal.span(h.held_s) AS "held for", h.hot_pct_held AS "HOT meanwhile|1 %",
                   h.hot_pct_else AS "HOT otherwise|1 %", h.suggestion AS "what to do"
              FROM @extschema@.ff_horizon() h LIMIT 20) r
    UNION ALL
    SELECT 6, 'indexes', 'Indexes', ff_internal.html_table(
               'Largest first, at most twenty; ff_advise_indexes() has all and the statements.', json_agg(r))
      FROM (SELECT l.index::text AS index, l.fillfactor AS "now|0", j.recommended_fillfactor AS "new|0", j.action,
                   j.size_bytes AS "size|B", j.predicted_size_bytes AS "size then|B", j.reason AS why
              FROM ff_internal.index_facts(NULL, 3, false) l CROSS JOIN LATERAL ff_internal.index_judged(l.facts) j
             WHERE j.action IN ('raise', 'rebuild') LIMIT 20) r
    UNION ALL
    SELECT 7, 'dismissed', 'Dismissed', ff_internal.html_table(
               'Declined by ff_dismiss(), and not counted above.', json_agg(r))
      FROM (SELECT ff_internal.quoted_name(t.nspname, t.relname) AS "table",
                   ff_internal.minute(d.dismissed_at) AS since, d.dismissed_by AS "by",
                   ff_internal.minute(nullif(d.until, 'infinity')) AS until, d.reason AS why
              FROM ff_internal.dismissal d JOIN ff_internal.relation t USING (rel_id)
             WHERE d.until > now() AND t.closed_at IS NULL ORDER BY d.dismissed_at DESC) r
    UNION ALL
    SELECT 8, 'verified', 'Did it help', coalesce(
               ff_internal.html_table('The latest hundred changes; ff_verify() has all, in numbers.', json_agg(r)),
               E'<p>No change of a table''s fillfactor, options or indexes was noticed within the history.</p>\n')
      FROM (SELECT coalesce(v.relation, 'the server') AS "of", v.change, v.changed AS seen, v.verdict, v.result AS why
              FROM @extschema@.ff_verified v WHERE v.change <> '' LIMIT 100) r
    UNION ALL
    SELECT 11, 'settings', 'Settings', concat(
               ff_internal.html_table('See ff_settings() for the statements.',
                                      json_agg(r) FILTER (WHERE r.action <> 'leave')),
               format(E'<p>%s can stay as they are: see ff_settings().</p>\n',
                      ff_internal.counted(count(*) FILTER (WHERE r.action = 'leave'), 'setting')))
      FROM (SELECT s.setting, coalesce(s.relation::text, 'the server') AS "of", s.current_value AS now,
                   s.proposed_value AS proposed, s.action, s.evidence, s.reason AS why
              FROM @extschema@.ff_settings() s) r;
END;

CREATE FUNCTION @extschema@.ff_report(detailed integer DEFAULT 20) RETURNS text
LANGUAGE plpgsql STABLE
SET jit = off
AS $$
DECLARE
    tables ff_internal.report_row[];
    title  text;
    body   text;
    here   record;
BEGIN
    PERFORM ff_internal.check_role('reader');
    IF detailed IS NULL OR detailed < 0 THEN
        PERFORM ff_internal.refuse('22023', 'the number of tables to show in detail must be zero or more');
    END IF;
    SELECT * INTO here FROM ff_internal.server;
    title := 'Fillfactor report of ' || ff_internal.html(concat(here.database, ' on ' || (here.observed->>'host')));
    tables := ARRAY(SELECT t FROM ff_internal.report_row t ORDER BY t.place);
    SELECT string_agg(format(E'<section id="%s">\n<h2>%s</h2>\n%s</section>\n', s.id, s.title, s.content), ''
                      ORDER BY s.place) INTO body
      FROM (SELECT * FROM ff_internal.report_lists() UNION ALL VALUES
        (3, 'first', 'What to do first', ff_internal.report_list(tables, 'change', 0, NULL,
            'The most worthwhile first; ff_script() writes the statements, each with a guard and its undo. Cost: time, '
            'WAL and size, weighted. Curve: HOT share at fillfactors 10 to 100, dashed now, green advised.')),
        (4, 'cure', 'Where fillfactor is not the cure', ff_internal.report_list(tables, 'cure', 0,
            greatest(detailed, 20), 'The most updates that are not HOT first, at most ' || greatest(detailed, 20))),
        (9, 'details', 'Tables in detail', (
            SELECT string_agg(ff_internal.report_table(t), '' ORDER BY t.place) FROM unnest(tables) t
             WHERE t.explains AND t.kind <> 'skipped' AND t.place <= detailed)),
        (10, 'rest', 'All other tables', concat(
            ff_internal.report_list(tables, NULL, detailed, NULL, 'The busiest first.'),
            (SELECT format(E'<p>Nothing was written to %s: while that is so, they need nothing.</p>\n',
                           ff_internal.counted(count(*), 'more table'))
               FROM unnest(tables) t WHERE t.static HAVING count(*) > 0))),
        (12, 'limits', 'What is not known', (
            SELECT concat(string_agg('<p>' || ff_internal.html(w.words) || E'</p>\n', ''),
                ff_internal.report_list(tables, 'skipped', 0, NULL, 'Not examined.'),
                (SELECT ff_internal.html_table('Could not be sampled the last time.', json_agg(r))
                   FROM (SELECT ff_internal.quoted_name(r.nspname, r.relname) AS "table", p.occurrences AS "times|0",
                                ff_internal.minute(p.seen_at) AS last, p.sqlstate || ' ' || p.message AS error
                           FROM ff_internal.problem p
                           JOIN ff_internal.relation r USING (rel_id) ORDER BY p.seen_at DESC) r))
              FROM (SELECT 'What statements did, their WAL and times, is not known, or not all of it: ' || s || '.'
                      FROM ff_internal.statements_missing() s
                     WHERE EXISTS (SELECT 1 FROM ff_internal.statement_snapshot)
                    UNION ALL
                    SELECT format('The source denied %s: %s.', d.what, d."grant")
                      FROM jsonb_to_recordset(here.observed->'denied') d(what text, "grant" text)) w(words))))
        s(place, id, title, content)
     WHERE s.content <> '';
    RETURN ff_internal.page(title, concat(ff_internal.report_answer(tables),
        format(E'<p class="sub">%s; PostgreSQL %s; fillfactor_advisor %s; made at %s. HOT: the update found room in '
               'its page and wrote no index.</p>\n<nav aria-label="Contents">\n', title,
               ff_internal.html(ff_internal.server_setting('server_version')),
               (SELECT x.extversion FROM pg_extension x WHERE x.extname = 'fillfactor_advisor'),
               ff_internal.minute(now())),
        (SELECT string_agg(format(E'<a href="#%s">%s</a>\n', m[1], m[2]), '')
           FROM regexp_matches(body, E'<section id="([a-z]+)">\n<h2>([^<]*)', 'g') m), E'</nav>\n'), body);
END
$$;
COMMENT ON FUNCTION @extschema@.ff_report(integer) IS
'All results on one self-contained HTML page: the answer in a sentence, what is new this week, tables ranked by worth, '
'what holds back pruning, indexes, dismissed advice, whether earlier changes helped, settings, what is unknown. It '
'reads pages of indexes for at most three seconds.
detailed: number of tables shown in detail. To write it: psql -XAtqc "SELECT ff_report()" > report.html. Error 22023: '
'detailed is NULL or negative.';
