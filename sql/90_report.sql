-- Stage report: everything that is known, on one HTML page to look at.
--
-- The page stands alone: no script, no outside resource, and a policy in its
-- head that forbids both.  It is plain ASCII whatever the database's and the
-- client's encodings are.  No name or text of the database gets into it but
-- through html().

-- ---------------------------------------------------------------------------
-- Text and tables
-- ---------------------------------------------------------------------------
-- The characters of a text as numbers of Unicode, whatever the encoding of the database; NULL for one that has none.
-- In SQL_ASCII, UTF-8 is read where there is any, and another byte beyond ASCII has none.
CREATE FUNCTION ff_internal.codepoints(content text) RETURNS integer[]
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- SQL_ASCII is no encoding: mostly its bytes are in UTF-8 all the same
    target CONSTANT name := CASE getdatabaseencoding() WHEN 'SQL_ASCII' THEN 'SQL_ASCII' ELSE 'UTF8' END;
    hex    text;
    ch     text;
BEGIN
    BEGIN
        hex := encode(convert_to(content, target), 'hex');
    EXCEPTION WHEN untranslatable_character OR undefined_function THEN
        -- some character, or all that are not ASCII, are not in Unicode
        hex := '';
        FOREACH ch IN ARRAY string_to_array(content, NULL) LOOP
            BEGIN
                hex := hex || CASE WHEN ch ~ '^[\x01-\x7f]$' THEN encode(convert_to(ch, 'SQL_ASCII'), 'hex') ELSE encode(convert_to(ch, target), 'hex') END;
            EXCEPTION WHEN untranslatable_character OR undefined_function THEN
                hex := hex || 'ff';
            END;
        END LOOP;
    END;
    -- Well-formed sequences of UTF-8; a byte that is in none of them stands
    -- alone.  The longest alternative is taken, so bytes never come apart.
    RETURN ARRAY(
        SELECT CASE length(s.b) WHEN 1 THEN CASE WHEN get_byte(s.b, 0) < 128 THEN get_byte(s.b, 0) END
                                WHEN 2 THEN (get_byte(s.b, 0) & 31) * 64 + (get_byte(s.b, 1) & 63)
                                WHEN 3 THEN (get_byte(s.b, 0) & 15) * 4096 + (get_byte(s.b, 1) & 63) * 64 + (get_byte(s.b, 2) & 63)
                                WHEN 4 THEN (get_byte(s.b, 0) & 7) * 262144 + (get_byte(s.b, 1) & 63) * 4096 + (get_byte(s.b, 2) & 63) * 64 + (get_byte(s.b, 3) & 63) END
          FROM regexp_matches(hex, '(?:..|(?:c[2-9a-f]|d.)[89ab].|(?:e0[ab].|e[1-9abcef][89ab].|ed[89].)[89ab].|(?:f0[9ab].|f[123][89ab].|f48.)[89ab].[89ab].)', 'g') WITH ORDINALITY m(bytes, place)
         CROSS JOIN LATERAL (SELECT decode(m.bytes[1], 'hex') AS b) s
         ORDER BY m.place);
END
$$;

-- A text for an HTML page, plain ASCII in every encoding: what has a meaning there is escaped, line ends are spaces,
-- unprintable characters and those that hide or reverse others are replaced, all others beyond ASCII are numeric
-- references.
CREATE FUNCTION ff_internal.html(content text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN content ~ '^[ !#-%(-;=?-~]*$' THEN content
                WHEN content IS NOT NULL THEN (
        SELECT string_agg(CASE WHEN c.code = 38 THEN '&amp;' WHEN c.code = 60 THEN '&lt;' WHEN c.code = 62 THEN '&gt;'
                               WHEN c.code = 34 THEN '&quot;' WHEN c.code = 39 THEN '&#39;'
                               WHEN c.code BETWEEN 32 AND 126 THEN chr(c.code)
                               WHEN c.code IN (9, 10, 13) THEN ' '
                               WHEN c.code >= 160
                                    -- what would hide or reverse its neighbours
                                    AND NOT (c.code = 1564 OR c.code BETWEEN 8203 AND 8207 OR c.code BETWEEN 8232 AND 8238 OR c.code BETWEEN 8288 AND 8297
                                             OR c.code = 65279 OR c.code BETWEEN 917504 AND 917631)
                                    -- what is no character and never will be
                                    AND NOT (c.code BETWEEN 64976 AND 65007 OR (c.code & 65534) = 65534) THEN '&#' || c.code || ';'
                               ELSE '&#xFFFD;' END, '' ORDER BY c.place)
          FROM unnest(ff_internal.codepoints(content)) WITH ORDINALITY c(code, place)) END
$$;

-- A row of an HTML table, cells escaped, the first its header, which links to the element of id target (NULL: to
-- none); numbers are aligned, times not broken. class and id are its own (NULL: none); picture is HTML for one more
-- cell (NULL: none).
CREATE FUNCTION ff_internal.html_row(cells text[], target text DEFAULT NULL, class text DEFAULT NULL, id text DEFAULT NULL, picture text DEFAULT NULL) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT '<tr' || coalesce(' class="' || class || '"', '') || coalesce(' id="' || id || '"', '') || '>'
           || string_agg(CASE WHEN c.place > 1
                              THEN '<td' || CASE WHEN c.cell ~ '^[-+]?[0-9][0-9.,]*( %| bytes| [kMGTP]B)?$' THEN ' class="n"'
                                              WHEN c.cell ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}' AND length(c.cell) < 20 THEN ' class="t"' ELSE '' END
                                   || '>' || coalesce(ff_internal.html(c.cell), '') || '</td>'
                              WHEN target IS NOT NULL THEN '<th scope="row"><a href="#' || target || '">' || ff_internal.html(c.cell) || '</a></th>'
                              ELSE '<th scope="row">' || coalesce(ff_internal.html(c.cell), '') || '</th>' END, '' ORDER BY c.place)
           || coalesce('<td class="p">' || picture || '</td>', '') || E'</tr>\n'
      FROM unnest(cells) WITH ORDINALITY c(cell, place)
$$;

-- An HTML table of rows by html_row(); a # before a name in head marks a column of numbers. NULL where there are no
-- rows.
CREATE FUNCTION ff_internal.html_table(caption text, head text[], rows text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT E'<div class="wide"><table>\n<caption>' || ff_internal.html(caption) || E'</caption>\n<thead><tr>'
           || (SELECT string_agg('<th scope="col"' || CASE WHEN h.name LIKE '#%' THEN ' class="n"' ELSE '' END || '>' || ff_internal.html(ltrim(h.name, '#')) || '</th>', '' ORDER BY h.place) FROM unnest(head) WITH ORDINALITY h(name, place))
           || E'</tr></thead>\n<tbody>\n' || rows || E'</tbody></table></div>\n'
     WHERE rows <> ''
$$;

-- A section of the report; NULL where its body, which is HTML, is empty.
CREATE FUNCTION ff_internal.html_section(id text, title text, body text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT format(E'<section id="%s">\n<h2>%s</h2>\n%s</section>\n', id, ff_internal.html(title), body)
     WHERE body <> ''
$$;

-- A number with a fixed count of decimal digits and a unit; NULL for NULL.
CREATE FUNCTION ff_internal.number(value double precision, digits integer, unit text DEFAULT '') RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT round(value::numeric, digits)::text || unit
$$;

-- ---------------------------------------------------------------------------
-- Pictures.  Coordinates are user units of each one's own view box.
-- ---------------------------------------------------------------------------
-- A figure of an HTML page: a picture by its inner SVG, its equivalent in words, and a caption, which is HTML. NULL
-- where there is nothing to draw.
CREATE FUNCTION ff_internal.svg(title text, description text, width integer, height integer, body text, caption text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT format(E'<figure>\n<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" role="img" aria-label="%s">\n<title>%s</title>\n<desc>%s</desc>\n%s\n</svg>\n<figcaption>%s</figcaption>\n</figure>\n',
                  width, height, ff_internal.html(title), ff_internal.html(title), ff_internal.html(description), body, caption)
     WHERE body IS NOT NULL
$$;

-- A word in a picture, at a point, escaped.
CREATE FUNCTION ff_internal.svg_text(at point, content text, anchor text DEFAULT 'middle', class text DEFAULT 'tick') RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT format('<text class="%s" x="%s" y="%s" text-anchor="%s">%s</text>', class, round(at[0]::numeric, 1), round(at[1]::numeric, 1), anchor, ff_internal.html(content))
$$;

-- Horizontal lines across an area of a picture, spread evenly over its height, with their labels.
CREATE FUNCTION ff_internal.svg_grid(area box, labels text[]) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT string_agg(format('<line class="grid" x1="%s" x2="%s" y1="%s" y2="%s"/>', round(l.x0::numeric, 1), round(l.x1::numeric, 1), round(l.y::numeric, 1), round(l.y::numeric, 1))
                      || ff_internal.svg_text(point(l.x0 - 6, l.y + 3.5), l.label, 'end'), '' ORDER BY l.y)
      FROM (SELECT u.label, (area[1])[0] AS x0, (area[0])[0] AS x1,
                   (area[1])[1] + height(area) * (u.place - 1) / nullif(cardinality(labels) - 1, 0) AS y
              FROM unnest(labels) WITH ORDINALITY u(label, place)) l
$$;

-- Steps of a curve by report_steps(): HOT share with its range, percent, NULL where no updates are foreseen, and the
-- size against today.
CREATE FUNCTION ff_internal.report_stairs(steps jsonb)
RETURNS TABLE (fillfactor integer, hot_pct double precision, hot_pct_low double precision, hot_pct_high double precision, size double precision, is_current boolean)
LANGUAGE sql STABLE ROWS 50
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT r.fillfactor, r.hot_pct, coalesce(r.hot_pct_low, r.hot_pct), coalesce(r.hot_pct_high, r.hot_pct),
           r.size_bytes / nullif(max(r.size_bytes) FILTER (WHERE r.is_current) OVER (), 0), r.is_current
      FROM jsonb_to_recordset(steps) AS r(fillfactor integer, hot_pct double precision, hot_pct_low double precision, hot_pct_high double precision,
                                          size_bytes double precision, is_current boolean)
$$;

-- A curve in words: what is predicted at the present fillfactor and at the advised one.
CREATE FUNCTION ff_internal.curve_words(steps jsonb, fillfactor integer, advised integer) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN c.hot_pct IS NULL THEN 'No updates are foreseen, so only the size of the table changes'
                ELSE format('At %s, as now, %s %% of updates are predicted to be HOT', $2, round(c.hot_pct::numeric, 1)) END
           || CASE WHEN a.fillfactor IS NULL THEN '; no other step is advised.'
                   WHEN a.hot_pct IS NULL THEN format('; at %s, as advised, to %s times today''s.', advised, round(a.size::numeric, 2))
                   ELSE format('; at %s, as advised, %s %% (%s to %s).', advised, round(a.hot_pct::numeric, 1), round(a.hot_pct_low::numeric, 1), round(a.hot_pct_high::numeric, 1)) END
      FROM (SELECT 1) one
      LEFT JOIN LATERAL (SELECT s.* FROM ff_internal.report_stairs(steps) s WHERE s.is_current LIMIT 1) c ON true
      LEFT JOIN LATERAL (SELECT s.* FROM ff_internal.report_stairs(steps) s WHERE s.fillfactor = advised AND advised <> $2) a ON true
$$;

-- The predicted HOT share, or, where no updates are foreseen, the size, at each fillfactor as a small picture, with
-- its equivalent in words; NULL where there is no curve. A thousand bytes or two at most.
CREATE FUNCTION ff_internal.svg_small_curve(steps jsonb, fillfactor integer, advised integer) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- 4/3 units a point of fillfactor; HOT share 0 to 100 % at y 33 to 3, or,
    -- where no updates are foreseen, the size, 0 to 2 times.  Points are whole
    -- units, and only where the line turns, so that a picture is small
    -- however many steps there are.
    WITH s AS (
        SELECT t.fillfactor, round((t.fillfactor - 10) * 4 / 3.0)::integer AS x, t.is_current, t.hot_pct IS NOT NULL AS updated,
               (CASE WHEN t.hot_pct IS NULL THEN 33 - 15 * least(2, t.size) ELSE 33 - 0.3 * t.hot_pct END)::integer AS y,
               (33 - 0.3 * t.hot_pct_low)::integer AS low, (33 - 0.3 * t.hot_pct_high)::integer AS high
          FROM ff_internal.report_stairs(steps) t
    ), turns AS (
        SELECT s.*, y IS DISTINCT FROM lag(y) OVER w AS y_turns, high IS DISTINCT FROM lag(high) OVER w AS high_turns, low IS DISTINCT FROM lag(low) OVER w AS low_turns,
               lag(low) OVER w AS low_before
          FROM s WINDOW w AS (ORDER BY s.fillfactor DESC)
    ), line AS (
        SELECT string_agg(format('H%sV%s', x, y), '' ORDER BY t.fillfactor DESC) FILTER (WHERE y_turns) AS y,
               string_agg(format('H%sV%s', x, high), '' ORDER BY t.fillfactor DESC) FILTER (WHERE high_turns) AS high,
               -- back, from the left
               format('V%s', (array_agg(low ORDER BY t.fillfactor))[1]) || coalesce(string_agg(format('H%sV%s', x, low_before), '' ORDER BY t.fillfactor) FILTER (WHERE low_turns AND low_before IS NOT NULL), '') AS low,
               (array_agg(high ORDER BY t.fillfactor DESC))[1] AS first_high, (array_agg(y ORDER BY t.fillfactor DESC))[1] AS first_y,
               max(x) FILTER (WHERE is_current) AS now_x, max(y) FILTER (WHERE is_current) AS now_y,
               max(x) FILTER (WHERE t.fillfactor = advised AND advised <> $2) AS then_x, max(y) FILTER (WHERE t.fillfactor = advised AND advised <> $2) AS then_y,
               coalesce(bool_or(updated), false) AS updated
          FROM turns t
    )
    SELECT format(E'<svg class="small" xmlns="http://www.w3.org/2000/svg" viewBox="-4 -2 128 40" role="img">\n<title>%s</title>\n<desc>%s</desc>\n',
                  CASE WHEN l.updated THEN 'Predicted HOT share at each fillfactor' ELSE 'Predicted size at each fillfactor' END, ff_internal.html(ff_internal.curve_words(steps, $2, advised)))
           || CASE WHEN l.updated THEN format('<path class="band" d="M120 %s%sH0%sH120Z"/><path class="hot" d="M120 %s%sH0"/>', l.first_high, l.high, l.low, l.first_y, l.y)
                   ELSE format('<path class="size" d="M120 %s%sH0"/>', l.first_y, l.y) END
           || coalesce(format('<circle class="now" cx="%s" cy="%s" r="3"/>', l.now_x, l.now_y), '')
           || CASE WHEN l.then_x IS NULL THEN '' ELSE format('<path class="then" d="M%s %sl4 4l-4 4l-4-4Z"/>', l.then_x, l.then_y - 4) END
           || E'\n</svg>'
      FROM line l
     WHERE l.first_y IS NOT NULL
$$;

-- The curve of ff_curve() as a figure: HOT share with its range, size and WAL per update, over fillfactor; the current
-- and the advised step marked.
CREATE FUNCTION ff_internal.svg_curve(steps jsonb, fillfactor integer, advised integer, seen_hot real) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- A step holds from its fillfactor down to the next one, so lines are
    -- stairs.  Above: HOT share, 0 to 100 %, at y 160 to 10; below: size and
    -- WAL against today, 0 to 2.5 times, at y 250 to 180.
    WITH s AS (
        SELECT r.*, 40 + (r.fillfactor - 10) * 430 / 90.0 AS x,
               160 - 1.5 * coalesce(r.hot_pct, 0) AS y, 160 - 1.5 * coalesce(r.hot_pct_low, r.hot_pct, 0) AS y_low, 160 - 1.5 * coalesce(r.hot_pct_high, r.hot_pct, 0) AS y_high,
               250 - 28 * least(2.6, r.size_bytes / nullif(t.size_bytes, 0)::double precision) AS y_size,
               250 - 28 * least(2.6, r.wal_bytes_per_update / nullif(t.wal_bytes_per_update, 0)) AS y_wal
          FROM jsonb_to_recordset(steps) AS r(fillfactor integer, rows_per_page integer, hot_pct double precision, hot_pct_low double precision,
                                              hot_pct_high double precision, size_bytes double precision, wal_bytes_per_update double precision, is_current boolean)
         CROSS JOIN (SELECT c.* FROM jsonb_to_recordset(steps) AS c(size_bytes double precision, wal_bytes_per_update double precision, is_current boolean)
                      WHERE c.is_current LIMIT 1) t
    ), lines AS (
        SELECT 'M470 ' || round((array_agg(y ORDER BY x DESC))[1]::numeric, 1) || string_agg(format(' V%s H%s', round(y::numeric, 1), round(x_next::numeric, 1)), '' ORDER BY x DESC) AS hot,
               'M470 ' || round((array_agg(y_high ORDER BY x DESC))[1]::numeric, 1) || string_agg(format(' V%s H%s', round(y_high::numeric, 1), round(x_next::numeric, 1)), '' ORDER BY x DESC)
                 || string_agg(format(' V%s H%s', round(y_low::numeric, 1), round(x::numeric, 1)), '' ORDER BY x) || ' H470 Z' AS band,
               'M470 ' || round((array_agg(y_size ORDER BY x DESC))[1]::numeric, 1) || string_agg(format(' V%s H%s', round(y_size::numeric, 1), round(x_next::numeric, 1)), '' ORDER BY x DESC) AS size,
               'M470 ' || round((array_agg(y_wal ORDER BY x DESC))[1]::numeric, 1) || string_agg(format(' V%s H%s', round(y_wal::numeric, 1), round(x_next::numeric, 1)), '' ORDER BY x DESC) AS wal
          FROM (SELECT s.*, lead(s.x, 1, 40) OVER (ORDER BY s.x DESC) AS x_next FROM s) n
    ), marks AS (
        SELECT max(c.hot_pct) AS now_hot, max(c.y) AS now_y, max(a.hot_pct) AS then_hot, max(a.hot_pct_low) AS then_low, max(a.hot_pct_high) AS then_high,
               max(a.y) AS then_y, max(a.y_size) AS then_size, max(a.x) AS then_x
          FROM (SELECT * FROM s WHERE s.is_current LIMIT 1) c
          FULL JOIN (SELECT * FROM s WHERE s.fillfactor = advised AND advised <> $2) a ON true
    )
    SELECT ff_internal.svg(CASE WHEN m.now_hot IS NULL THEN 'Predicted size at each fillfactor' ELSE 'Predicted HOT share at each fillfactor' END,
             ff_internal.curve_words(steps, $2, advised) || ' The table below the picture has every step.',
             480, 290,
             ff_internal.svg_grid(box(point(40, 10), point(470, 160)), ARRAY['100 %', '75 %', '50 %', '25 %', '0 %'])
             || ff_internal.svg_grid(box(point(40, 194), point(470, 250)), ARRAY['2x', '1x', '0x'])
             || (SELECT string_agg(ff_internal.svg_text(point(40 + (f - 10) * 430 / 90.0, 266), f::text), '') FROM generate_series(10, 100, 10) f)
             || ff_internal.svg_text(point(255, 283), 'fillfactor')
             || CASE WHEN m.now_hot IS NULL THEN ff_internal.svg_text(point(255, 90), 'no updates')
                     ELSE format('<path class="band" d="%s"/><path class="hot" d="%s"/><path class="wal" d="%s"/>', l.band, l.hot, l.wal) END
             || format('<path class="size" d="%s"/>', l.size)
             || format('<line class="now" x1="%s" x2="%s" y1="10" y2="250"/><circle class="now" cx="%s" cy="%s" r="5"/>', x.now_x, x.now_x, x.now_x, round(CASE WHEN m.now_hot IS NULL THEN 222 ELSE m.now_y END::numeric, 1))
             || CASE WHEN m.then_x IS NULL THEN ''
                     ELSE format('<line class="then" x1="%s" x2="%s" y1="10" y2="250"/><path class="then" d="M%s %s l6 6 l-6 6 l-6 -6 Z"/>',
                                 round(m.then_x::numeric, 1), round(m.then_x::numeric, 1), round(m.then_x::numeric, 1), round(CASE WHEN m.then_hot IS NULL THEN m.then_size ELSE m.then_y END::numeric - 6, 1)) END,
             CASE WHEN m.now_hot IS NULL THEN 'Against today: <span class="key size"></span>size of the table'
                  ELSE 'Above: <span class="key hot"></span>predicted HOT share of the updates, with its range. Below, against today: <span class="key size"></span>size of the table, <span class="key wal"></span>WAL per update' END
             || ' (cut at 2.6x).<br><span class="dot now"></span>now ' || $2
             || CASE WHEN m.now_hot IS NULL THEN '' ELSE format(': %s %% predicted%s', round(m.now_hot::numeric, 1), CASE WHEN seen_hot IS NULL THEN '' ELSE format(', %s %% seen', seen_hot) END) END
             || CASE WHEN m.then_x IS NULL THEN '; no other step is advised.'
                     ELSE '; <span class="dot then"></span>advised ' || advised
                          || CASE WHEN m.then_hot IS NULL THEN '.' ELSE format(': %s %% (%s to %s).', round(m.then_hot::numeric, 1), round(m.then_low::numeric, 1), round(m.then_high::numeric, 1)) END END)
      FROM lines l, marks m, (SELECT round(40 + ($2 - 10) * 430 / 90.0, 1) AS now_x) x
$$;

-- HOT and moved share of a table's updates over time as a figure, fillfactor changes marked; NULL where no update was
-- seen.
CREATE FUNCTION ff_internal.svg_history(id bigint) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH h AS MATERIALIZED (
        -- at most about a hundred points, however long the history is
        SELECT h.first_at AS began_at, h.ended_at, h.updates AS updated, h.hot_pct / 100 AS hot_share, h.newpage_pct / 100 AS newpage_share
          FROM ff_internal.history(id, ff_internal.history_bucket(id, 100)) h WHERE h.updates > 0
    ), span AS (
        SELECT min(h.began_at) AS t0, max(h.ended_at) AS t1, count(*) AS points, greatest(extract(epoch FROM max(h.ended_at) - min(h.began_at)), 1) AS seconds,
               sum(h.updated) AS updated, sum(h.updated * h.hot_share) / nullif(sum(h.updated), 0) AS hot,
               (array_agg(h.hot_share ORDER BY h.ended_at))[1] AS first_hot, (array_agg(h.hot_share ORDER BY h.ended_at DESC))[1] AS last_hot
          FROM h
    ), p AS (
        SELECT 40 + 430 * extract(epoch FROM h.began_at - s.t0) / s.seconds AS x0, 40 + 430 * extract(epoch FROM h.ended_at - s.t0) / s.seconds AS x1,
               130 - 120 * h.hot_share AS y_hot, 130 - 120 * h.newpage_share AS y_moved, h.ended_at,
               -- nothing is drawn where nothing was seen
               CASE WHEN extract(epoch FROM h.began_at - lag(h.ended_at) OVER (ORDER BY h.ended_at)) <= 0.03 * s.seconds THEN 'L' ELSE 'M' END AS pen
          FROM h, span s
    ), path AS (
        SELECT string_agg(format('%s%s %s H%s', pen, round(x0, 1), round(y_hot::numeric, 1), round(x1, 1)), ' ' ORDER BY ended_at) AS hot,
               regexp_replace(string_agg(format('%s%s %s H%s', pen, round(x0, 1), round(y_moved::numeric, 1), round(x1, 1)), ' ' ORDER BY ended_at) FILTER (WHERE y_moved IS NOT NULL), '^L', 'M') AS moved
          FROM p
    ), changes AS (
        SELECT string_agg(format('<line class="change" x1="%1$s" x2="%1$s" y1="6" y2="130"/>', round(x, 1))
                          || ff_internal.svg_text(point(x + CASE WHEN x > 400 THEN -4 ELSE 4 END, 14), format('%s to %s', c.old_fillfactor, c.new_fillfactor), CASE WHEN x > 400 THEN 'end' ELSE 'start' END, 'mark'), '') AS marks,
               string_agg(format('%s to %s at %s', c.old_fillfactor, c.new_fillfactor, to_char(c.seen_at, 'YYYY-MM-DD HH24:MI')), ', ' ORDER BY c.seen_at) AS words
          FROM ff_internal.change c, span s
         CROSS JOIN LATERAL (SELECT 40 + 430 * extract(epoch FROM least(greatest(c.seen_at, s.t0), s.t1) - s.t0) / s.seconds AS x) g
         WHERE c.rel_id = id AND c.kind = 'fillfactor'
    )
    SELECT ff_internal.svg('HOT share and moved share over time',
             format('%s updates from %s to %s: %s %% were HOT, %s %% at first and %s %% at last. Fillfactor changes: %s.', s.updated, to_char(s.t0, 'YYYY-MM-DD HH24:MI'), to_char(s.t1, 'YYYY-MM-DD HH24:MI'),
                    round((100 * s.hot)::numeric, 1), round((100 * s.first_hot)::numeric, 1), round((100 * s.last_hot)::numeric, 1), coalesce(c.words, 'none')),
             480, 155,
             ff_internal.svg_grid(box(point(40, 10), point(470, 130)), ARRAY['100 %', '50 %', '0 %'])
             || (SELECT string_agg(ff_internal.svg_text(point(40 + 430 * k / 4.0, 147), to_char(s.t0 + (s.t1 - s.t0) * (k / 4.0), CASE WHEN s.seconds < 600 THEN 'HH24:MI:SS' WHEN s.seconds < 172800 THEN 'HH24:MI' ELSE 'Mon FMDD' END), CASE k WHEN 0 THEN 'start' WHEN 4 THEN 'end' ELSE 'middle' END), '') FROM generate_series(0, 4) k)
             || format('<path class="hot" d="%s"/>', l.hot) || coalesce('<path class="moved" d="' || l.moved || '"/>', '') || coalesce(c.marks, ''),
             format('<span class="key hot"></span>HOT%s. %s updates, %s to %s.%s', CASE WHEN l.moved IS NULL THEN '' ELSE ', <span class="key moved"></span>moved to another page' END,
                    s.updated, to_char(s.t0, 'YYYY-MM-DD HH24:MI'), to_char(s.t1, 'YYYY-MM-DD HH24:MI'), coalesce(' Fillfactor changed: ' || c.words || '.', '')))
      FROM span s, path l, changes c
     WHERE s.points > 0
$$;

-- The page-fill histogram of a sample as a figure; NULL where no page was read.
CREATE FUNCTION ff_internal.svg_histogram(bins integer[], sampled_at timestamptz) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH b AS (
        SELECT u.place, u.pages, u.pages / nullif((SELECT sum(a.n) FROM unnest(bins) a(n)), 0)::double precision AS share,
               u.pages / nullif((SELECT max(a.n) FROM unnest(bins) a(n)), 0)::double precision AS height
          FROM unnest(bins) WITH ORDINALITY u(pages, place)
    )
    SELECT ff_internal.svg('How full the pages are',
             'Share of sampled pages by used space: ' || string_agg(format('%s to %s %%: %s %%', 10 * place - 10, 10 * place, round((100 * share)::numeric, 1)), ', ' ORDER BY place) || '.',
             480, 125,
             '<line class="grid" x1="40" x2="470" y1="100" y2="100"/>'
             || string_agg(format('<rect class="bar" x="%s" y="%s" width="39" height="%s"/>', 42 + 43 * (place - 1), round(100 - 80 * height::numeric, 1), round(80 * height::numeric, 1))
                           || CASE WHEN pages > 0 THEN ff_internal.svg_text(point(61.5 + 43 * (place - 1), 100 - 80 * height - 4), CASE WHEN share < 0.01 THEN '<1 %' ELSE round((100 * share)::numeric) || ' %' END) ELSE '' END
                           || ff_internal.svg_text(point(40 + 43 * (place - 1), 116), (10 * place - 10)::text), '' ORDER BY place)
             || ff_internal.svg_text(point(470, 116), '100'),
             format('%s sampled pages by used space, percent of the page; %s.', (SELECT sum(a.n) FROM unnest(bins) a(n)), to_char(sampled_at, 'YYYY-MM-DD HH24:MI')))
      FROM b
    HAVING sum(pages) > 0
$$;

-- Sizes of tables (bytes, without and with indexes) against the server's memory as a figure.
CREATE FUNCTION ff_internal.svg_sizes(names text[], heap_bytes bigint[], total_bytes bigint[]) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- sizes differ by many powers of ten: dots on a logarithmic scale, from 8 kB
    WITH limits AS (
        SELECT m.source, m.bytes, m.used FROM @extschema@.ff_memory() m WHERE m.bytes > 0 AND (m.used OR m.source = 'shared_buffers')
    ), t AS (
        SELECT u.* FROM unnest(names, heap_bytes, total_bytes) WITH ORDINALITY u(name, heap, total, place) WHERE u.heap > 0
    ), scale AS (
        SELECT log(8192::numeric) AS lo, log(greatest((SELECT max(total) FROM t), (SELECT max(bytes) FROM limits), 10485760)::numeric * 1.3) AS hi, 34 + 20 * (SELECT count(*) FROM t) AS bottom
    )
    SELECT ff_internal.svg('Memory of the server against table sizes',
             'Memory: ' || coalesce((SELECT string_agg(format('%s %s', l.source, pg_size_pretty(l.bytes)), ', ' ORDER BY l.bytes) FROM limits l), 'unknown')
             || '. Table with indexes: ' || (SELECT string_agg(format('%s %s', t.name, pg_size_pretty(t.total)), ', ' ORDER BY t.place) FROM t) || '.',
             720, s.bottom::integer + 24,
             (SELECT string_agg(format('<line class="grid" x1="%1$s" x2="%1$s" y1="26" y2="%2$s"/>', round(210 + 490 * (log(g.bytes) - s.lo) / (s.hi - s.lo), 1), s.bottom)
                                || ff_internal.svg_text(point((210 + 490 * (log(g.bytes) - s.lo) / (s.hi - s.lo))::double precision, s.bottom + 16), g.label), '')
                FROM (SELECT 32::numeric ^ u.place * 1024 AS bytes, u.label FROM unnest(ARRAY['32 kB', '1 MB', '32 MB', '1 GB', '32 GB', '1 TB', '32 TB']) WITH ORDINALITY u(label, place)) g
               WHERE log(g.bytes) BETWEEN s.lo AND s.hi)
             || coalesce((SELECT string_agg(format('<line class="%1$s" x1="%2$s" x2="%2$s" y1="20" y2="%3$s"/>', CASE WHEN l.used THEN 'ram' ELSE 'now' END, round(210 + 490 * (log(l.bytes::numeric) - s.lo) / (s.hi - s.lo), 1), s.bottom)
                                || ff_internal.svg_text(point((210 + 490 * (log(l.bytes::numeric) - s.lo) / (s.hi - s.lo))::double precision, 14), l.source || ' ' || pg_size_pretty(l.bytes), CASE WHEN l.used THEN 'end' ELSE 'middle' END, 'mark'), '')
                FROM limits l), '')
             || (SELECT string_agg(ff_internal.svg_text(point(202, 40 + 20 * (t.place - 1)), CASE WHEN length(t.name) > 34 THEN left(t.name, 33) || '~' ELSE t.name END, 'end', 'name')
                                   || format('<line class="stem" x1="%s" x2="%s" y1="%s" y2="%s"/><circle class="total" cx="%s" cy="%s" r="4.5"/><circle class="heap" cx="%s" cy="%s" r="4.5"/>', g.x_heap, g.x_total, g.y, g.y, g.x_total, g.y, g.x_heap, g.y), '')
                   FROM t CROSS JOIN LATERAL (SELECT round(210 + 490 * (log(greatest(t.heap, 8192)::numeric) - s.lo) / (s.hi - s.lo), 1) AS x_heap,
                                                     round(210 + 490 * (log(greatest(t.total, t.heap, 8192)::numeric) - s.lo) / (s.hi - s.lo), 1) AS x_total, 36 + 20 * (t.place - 1) AS y) g),
             '<span class="dot heap"></span>table, <span class="dot total"></span>table and its indexes; each line of the scale is 32 times the one before. The solid upright line is the memory that tables are compared with.')
      FROM scale s
     WHERE EXISTS (SELECT 1 FROM t)
$$;

-- ---------------------------------------------------------------------------
-- The page
-- ---------------------------------------------------------------------------
-- The style sheet of the report.
CREATE FUNCTION ff_internal.report_style() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT $css$
:root { color-scheme: light dark; --page: #fff; --card: #fff; --soft: #f4f6f8; --ink: #1b232c; --muted: #566270; --line: #d9dfe6;
  --hot: #1d5fb8; --band: #1d5fb826; --moved: #ad4e09; --good: #14713f; --warn: #8a5a00; }
@media (prefers-color-scheme: dark) { :root { --page: #12161b; --card: #181d23; --soft: #1f262e; --ink: #e6eaef; --muted: #a0acb9; --line: #343d48;
  --hot: #72b0ff; --band: #72b0ff30; --moved: #f2a863; --good: #5fd39a; --warn: #e8bf62; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.5rem 4rem; max-width: 76rem; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.7rem; margin: 0; letter-spacing: -.01em; }
h2 { font-size: 1.2rem; margin: 2.5rem 0 .7rem; padding-top: .6rem; border-top: 1px solid var(--line); }
h3 { font-size: 1.02rem; margin: 0; overflow-wrap: anywhere; }
p { margin: .4rem 0; max-width: 62rem; }
a { color: var(--hot); text-decoration-thickness: 1px; text-underline-offset: 2px; }
a:focus-visible, summary:focus-visible { outline: 2px solid var(--hot); outline-offset: 2px; }
.sub, figcaption, caption, summary { color: var(--muted); font-size: .86rem; }
dl.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .7rem; margin: 1.3rem 0 0; }
dl.tiles div { background: var(--soft); border-radius: 8px; padding: .6rem .9rem; }
dt { color: var(--muted); font-size: .8rem; }
dd { margin: 0; font-size: 1.3rem; font-weight: 600; font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; margin: .3rem 0 .8rem; font-size: .86rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: .2rem 0 .4rem; caption-side: top; }
th, td { padding: .32rem .6rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
thead th { color: var(--muted); font-weight: 600; vertical-align: bottom; border-bottom: 1.5px solid var(--muted); }
th.n { text-align: right; }
tbody th { font-weight: 600; overflow-wrap: anywhere; min-width: 14.5rem; max-width: 22rem; }
td:last-child { overflow-wrap: anywhere; }
td.n { text-align: right; white-space: nowrap; }
td.t { white-space: nowrap; }
article { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 1rem 1.2rem; margin: 0 0 1.1rem; }
article header { display: flex; flex-wrap: wrap; gap: .4rem .8rem; align-items: baseline; }
.badge { font-size: .78rem; font-weight: 600; border: 1px solid currentColor; border-radius: 99px; padding: .02rem .6rem; white-space: nowrap; color: var(--muted); }
.badge.lower, .badge.raise { color: var(--good); }
.badge.wait { color: var(--warn); }
.facts { color: var(--muted); font-size: .86rem; margin: .1rem 0 0; }
pre { background: var(--soft); border-radius: 6px; padding: .5rem .8rem; margin: .6rem 0; overflow-x: auto; font: .84rem/1.45 ui-monospace, "DejaVu Sans Mono", monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(22rem, 1fr)); gap: .4rem 1.6rem; align-items: start; margin-top: .6rem; }
figure { margin: 0 0 .6rem; }
svg { display: block; width: 100%; height: auto; max-width: 46rem; }
svg.small { width: 6.6rem; }
td.p { padding-top: .15rem; padding-bottom: 0; }
#first th, #first td { padding-left: .4rem; padding-right: .4rem; }
#first tbody th { min-width: 9rem; }
nav ul { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; list-style: none; margin: 1.1rem 0 0; padding: 0; font-size: .9rem; }
svg text { font: 10.5px system-ui, "DejaVu Sans", sans-serif; fill: var(--muted); }
svg text.mark, svg text.name { fill: var(--ink); }
svg .grid { stroke: var(--line); stroke-width: 1; }
svg .band { fill: var(--band); }
svg path.hot { fill: none; stroke: var(--hot); stroke-width: 2; stroke-linecap: round; }
svg path.moved { fill: none; stroke: var(--moved); stroke-width: 2; stroke-dasharray: 6 3; }
svg path.size { fill: none; stroke: var(--ink); stroke-width: 1.5; }
svg path.wal { fill: none; stroke: var(--moved); stroke-width: 1.5; stroke-dasharray: 5 3; }
svg .bar { fill: var(--hot); }
svg line.now, svg line.change { stroke: var(--muted); stroke-width: 1; stroke-dasharray: 3 3; }
svg line.then { stroke: var(--good); stroke-width: 1; stroke-dasharray: 3 3; }
svg line.ram { stroke: var(--ink); stroke-width: 1.5; }
svg .stem { stroke: var(--line); stroke-width: 2; }
svg circle.now, svg circle.total { fill: var(--card); stroke: var(--ink); stroke-width: 1.8; }
svg circle.heap { fill: var(--hot); }
svg path.then { fill: var(--good); stroke: var(--card); stroke-width: 1; }
.key { display: inline-block; width: 1.5em; height: 0; border-top: 2px solid var(--hot); margin: 0 .3em .25em 0; vertical-align: middle; }
.key.moved, .key.wal { border-top: 2px dashed var(--moved); }
.key.size { border-color: var(--ink); }
.dot { display: inline-block; width: .62em; height: .62em; border-radius: 50%; margin: 0 .35em 0 0; border: 1.5px solid var(--ink); }
.dot.then { border-radius: 1px; transform: rotate(45deg); background: var(--good); border-color: var(--good); }
.dot.heap { background: var(--hot); border-color: var(--hot); }
details { margin: .3rem 0; }
summary { cursor: pointer; }
@media (max-width: 60rem) { tbody th { min-width: 7rem; } caption { white-space: normal; max-width: 90vw; } }
@media (max-width: 40rem) { body { padding: 1rem .8rem 3rem; } .charts { grid-template-columns: 1fr; } }
@media print { :root { --page: #fff; --card: #fff; --soft: #f4f6f8; --ink: #000; --muted: #444; --line: #bbb; --hot: #1d5fb8; --band: #1d5fb826; --moved: #ad4e09; --good: #14713f; --warn: #8a5a00; }
  body { padding: 0; max-width: none; font-size: 10.5pt; } a { color: inherit; text-decoration: none; }
  /* closed details are printed open; browsers that cannot do that print their summaries */
  details::details-content { content-visibility: visible; display: block; height: auto; opacity: 1; } details > summary { list-style: none; }
  nav { display: none; } .charts { grid-template-columns: 1fr 1fr; } figure, tr { break-inside: avoid; } h2, h3, caption { break-after: avoid; } .wide { overflow: visible; }
  table { font-size: 8pt; } th, td { padding: .12rem .3rem; } tbody th { min-width: 6rem; } thead { display: table-header-group; } td:last-child { overflow-wrap: anywhere; } }
$css$
$$;

-- The curve of a table as a JSON array; NULL where it was not sampled.
CREATE FUNCTION ff_internal.report_steps(relation regclass) RETURNS jsonb
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT jsonb_agg(to_jsonb(s) || jsonb_build_object('is_current', s.fillfactor = (v.now_step).fillfactor)
                     ORDER BY s.fillfactor DESC)
      FROM ff_internal.decisions(relation, 1, true) v CROSS JOIN LATERAL unnest((v.fit).steps) s
$$;

-- What ff_blockers() says of a table, as HTML: a table of its indexes, or in a line why none is in the way.
CREATE FUNCTION ff_internal.report_blockers(relation regclass) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- a statement's first 300 characters say which one it is
    WITH b AS MATERIALIZED (
        SELECT * FROM @extschema@.ff_blockers($1) WHERE $1 IS NOT NULL
    )
    SELECT coalesce(ff_internal.html_table('Indexes on columns that updates set, and whether they keep updates from being HOT.', ARRAY['index', 'columns', '#updates/s', '#scans', '#size', 'statements', 'what could be done'],
                string_agg(ff_internal.html_row(ARRAY[n.name, array_to_string(b.columns, ', '), ff_internal.number(b.updates_per_s::double precision, 1), b.scans::text, pg_size_pretty(b.index_bytes),
                               (SELECT string_agg(CASE WHEN length(q.query) > 300 THEN left(q.query, 300) || ' ...' ELSE q.query END, '; ') FROM (SELECT * FROM unnest(b.statements) u(query) LIMIT 3) q),
                               concat_ws('. ', b.reason, b.suggestion, b.ddl)]), '' ORDER BY b.updates_per_s DESC NULLS LAST, n.name) FILTER (WHERE b.index IS NOT NULL)),
                format(E'<p class="facts">Indexes in the way: none; %s.</p>\n', ff_internal.html(string_agg(b.reason, '; ') FILTER (WHERE b.index IS NULL))))
      FROM b
      LEFT JOIN LATERAL (SELECT c.relname::text FROM pg_class c WHERE c.oid = b.index) n(name) ON true
    HAVING count(*) > 0
$$;

-- One table in detail, as HTML: what ff_advise() says of it, the curve, its history, its pages, what blocks HOT.
CREATE FUNCTION ff_internal.report_table(e ff_internal.table_evidence, steps jsonb, advised integer, action text, cause text, confidence real, hot_pct real, reason text, ddl text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT format(E'<article id="t%s">\n<header><h3>%s</h3><span class="badge %s">%s</span></header>\n', e.relation::oid, ff_internal.html(n.name::text), action,
                  ff_internal.html(CASE WHEN action IN ('lower', 'raise') THEN format('%s from %s to %s', action, e.fillfactor, advised) ELSE format('%s %s', action, e.fillfactor) END))
           || format(E'<p class="facts">%s</p>\n<p>%s</p>\n',
                ff_internal.html(concat_ws('; ', 'cause: ' || cause, 'confidence ' || confidence, ff_internal.number(((e.counters).updated / nullif(e.window_s, 0))::double precision, 1, ' updates/s'),
                     pg_size_pretty(e.heap_bytes) || ' table', pg_size_pretty(e.index_bytes) || format(CASE WHEN e.indexes = 1 THEN ' in %s index' ELSE ' in %s indexes' END, e.indexes),
                     CASE WHEN (e.sample).live_rows > 0 THEN 'about ' || round((e.sample).live_rows) || ' rows of ' || round(greatest((e.sample).inserted_width, (e.sample).updated_width)) || ' bytes' END)),
                ff_internal.html(reason))
           || coalesce(E'<pre>' || ff_internal.html(ddl) || E'</pre>\n', '')
           || E'<div class="charts">\n'
           || coalesce(ff_internal.svg_curve(steps, e.fillfactor, advised, hot_pct), '')
           || coalesce('<div>' || nullif(concat(ff_internal.svg_history(e.rel_id), ff_internal.svg_histogram((e.sample).fill_histogram, (e.sample).sampled_at)), '') || E'</div>\n', '')
           || E'</div>\n'
           || coalesce(ff_internal.report_blockers(e.relation), '')
           || coalesce(E'<details><summary>Every step in numbers</summary>\n'
                || ff_internal.html_table('Prediction for ' || n.name, ARRAY['fillfactor', '#rows per page', '#HOT %', '#from', '#to', '#moved %', '#table', '#WAL per update', '#cost'],
                     (SELECT string_agg(ff_internal.html_row(ARRAY[m.fillfactor || CASE WHEN m.is_current THEN ' now' WHEN m.fillfactor = advised THEN ' advised' ELSE '' END, m.rows_per_page::text,
                                  ff_internal.number(m.hot_pct::double precision, 1), ff_internal.number(m.hot_pct_low::double precision, 1), ff_internal.number(m.hot_pct_high::double precision, 1), ff_internal.number(m.newpage_pct::double precision, 1),
                                  pg_size_pretty(m.size_bytes), ff_internal.number(m.wal_bytes_per_update::double precision, 0, ' bytes'), ff_internal.number(m.cost::double precision, 3)]), '' ORDER BY m.fillfactor DESC)
                        FROM jsonb_to_recordset(steps) m(fillfactor integer, rows_per_page integer, hot_pct double precision, hot_pct_low double precision, hot_pct_high double precision,
                                                           newpage_pct double precision, size_bytes bigint, wal_bytes_per_update double precision, cost double precision, is_current boolean)))
                || E'</details>\n', '')
           || E'</article>\n'
      FROM (SELECT format('%s.%s', e.nspname, e.relname)) n(name)
$$;

-- What ff_verify() says of the last hundred changes, as an HTML table; NULL where nothing was changed.
CREATE FUNCTION ff_internal.report_verified() RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH one AS (
        SELECT v.relation, v.change, v.changed_at, max(v.verdict) FILTER (WHERE v.place = 0) AS verdict,
               concat_ws(' Undo: ', max(v.note) FILTER (WHERE v.place = 0) || '.', max(v.undo)) AS why,
               max(v.before) FILTER (WHERE v.measure = 'HOT share') AS hot_before,
               max(v.after) FILTER (WHERE v.measure = 'HOT share') AS hot_after,
               -- in percent of before: after, and the ends of the interval of the difference
               max(100 / nullif(v.before, 0) * v.after - 100) FILTER (WHERE v.measure = 'WAL per update') AS wal,
               max(100 / nullif(v.before, 0) * v.low) FILTER (WHERE v.measure = 'WAL per update') AS wal_low,
               max(100 / nullif(v.before, 0) * v.high) FILTER (WHERE v.measure = 'WAL per update') AS wal_high
          FROM ff_internal.verified(NULL) v
         GROUP BY v.relation, v.change, v.changed_at
         ORDER BY v.changed_at DESC, v.relation, v.change LIMIT 100
    )
    SELECT ff_internal.html_table('Changes that collections noticed, the latest first. WAL per update: change with its 95 % interval.',
                ARRAY['of', 'change', 'seen', 'verdict', '#HOT before', '#HOT after', '#WAL per update', 'why'],
                string_agg(ff_internal.html_row(ARRAY[coalesce(o.relation::text, 'the server'), o.change,
                               to_char(o.changed_at, 'YYYY-MM-DD HH24:MI'), o.verdict,
                               ff_internal.number(o.hot_before, 1, ' %'), ff_internal.number(o.hot_after, 1, ' %'),
                               ff_internal.number(o.wal, 0, ' %')
                                   || format(' (%s to %s)', ff_internal.number(o.wal_low, 0), ff_internal.number(o.wal_high, 0)),
                               o.why], NULL, translate(o.verdict, ' ', '-')), '' ORDER BY o.changed_at DESC, o.relation, o.change))
      FROM one o
$$;

-- What the report cannot know, and why, as an HTML list; NULL where there is nothing.
CREATE FUNCTION ff_internal.report_limits() RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT E'<ul>\n' || string_agg('<li>' || ff_internal.html(w.words) || E'</li>\n', '' ORDER BY w.place) || E'</ul>\n'
      FROM (SELECT 1, 'Nothing was collected yet: run CALL ff_collect() or ff_schedule().' WHERE NOT EXISTS (SELECT 1 FROM ff_internal.collection)
            UNION ALL
            SELECT 2, CASE WHEN c.ended_at IS NULL THEN 'The last collection did not finish, or is still running.'
                           ELSE format('The last collection read the counters of %s tables, sampled %s, skipped %s that were locked or gone, failed on %s and left %s for the next one.', c.relations, c.sampled, c.skipped, c.failed, c.deferred) END
              FROM (SELECT * FROM ff_internal.collection ORDER BY collection_id DESC LIMIT 1) c
            UNION ALL
            SELECT 3, format('%s collections in which track_counts was off are in the window.', count(*)) FROM ff_internal.collection c WHERE NOT c.track_counts HAVING count(*) > 0
            UNION ALL
            SELECT 4, 'The statistics were reset or the server crashed within the history; no figure spans such an event.' FROM ff_internal.epoch HAVING count(*) > 1
            UNION ALL
            SELECT 5, 'PostgreSQL 15 does not count updates that leave their page; their share is taken from old row versions still in the pages.' WHERE current_setting('server_version_num')::integer < 160000
            UNION ALL
            SELECT 7, 'Indexes are not on this page, because judging them reads their pages: see ff_advise_indexes().'
            UNION ALL
            SELECT 6, format('What statements did, their WAL and times, is not known, or not all of it: %s.', s.reason)
              FROM @extschema@.ff_statements() s WHERE s.statement_id IS NULL AND EXISTS (SELECT 1 FROM ff_internal.statement_snapshot)) w(place, words)
$$;

CREATE FUNCTION @extschema@.ff_report(detailed integer DEFAULT 20) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    a        record;
    e        ff_internal.table_evidence;
    span     record;
    name     text;
    n        integer := 0;
    changes  integer := 0;
    waits    integer := 0;
    skipped  integer := 0;
    steps    jsonb;
    in_detail boolean;
    beyond   integer := 0;
    updated  numeric := 0;
    hot      numeric := 0;
    todo     text[] := '{}';
    cure     text[] := '{}';
    shown    text[] := '{}';
    rest     text[] := '{}';
    left_out text[] := '{}';
    names    text[] := '{}';
    heaps    bigint[] := '{}';
    totals   bigint[] := '{}';
    sections text[];
    page     text[];
BEGIN
    IF detailed IS NULL OR detailed < 0 THEN
        RAISE 'number of tables to show in detail must be zero or more' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    FOR a IN
        SELECT r.*, row_number() OVER (ORDER BY r.rank, r.gain DESC NULLS LAST, r.lost DESC NULLS LAST, r.place) AS rank_place,
               row_number() OVER (ORDER BY (r.evidence).heap_bytes + (r.evidence).index_bytes DESC NULLS LAST) AS size_place
          FROM (SELECT m.*, row_number() OVER () AS place, m.updates_per_s * (1 - m.hot_pct / 100) AS lost,
                       CASE WHEN m.action IN ('lower', 'raise') THEN 1
                            WHEN m.cause IN ('page_full', 'batch_update', 'row_growth', 'indexed_column', 'old_snapshot', 'read_mostly', 'too_wide') THEN 2
                            WHEN EXISTS (SELECT 1 FROM ff_internal.change c WHERE c.rel_id = (m.evidence).rel_id AND c.kind = 'fillfactor') THEN 3
                            ELSE 4 END AS rank
                  FROM ff_internal.advice(NULL, ff_internal.models_allowed()) m) r
         ORDER BY rank_place
    LOOP
        e := a.evidence;
        name := format('%s.%s', e.nspname, e.relname);
        n := n + 1;
        updated := updated + coalesce((e.counters).updated, 0);
        hot := hot + coalesce((e.counters).hot_updated, 0);
        in_detail := a.rank < 4 AND a.rank_place <= detailed;
        steps := CASE WHEN a.action IN ('lower', 'raise') OR in_detail THEN ff_internal.report_steps(e.relation) END;
        IF a.action IN ('lower', 'raise') THEN
            changes := changes + 1;
            todo := todo || ff_internal.html_row(ARRAY[name, a.fillfactor::text, a.recommended_fillfactor::text, a.cause,
                        ff_internal.number(a.hot_pct::double precision, 1, ' %'), ff_internal.number(a.predicted_hot_pct::double precision, 1, ' %'),
                        pg_size_pretty(a.size_bytes), pg_size_pretty(a.predicted_size_bytes), ff_internal.number(a.predicted_wal_pct::double precision, 0, ' %'),
                        ff_internal.number((100 * (1 - 1 / nullif(a.gain, 0)))::double precision, 1, ' %'), ff_internal.number(a.confidence::double precision, 2), CASE WHEN a.needs_rewrite THEN 'yes' ELSE 'no' END],
                        't' || a.relation::oid, NULL, NULL, coalesce(ff_internal.svg_small_curve(steps, a.fillfactor, a.recommended_fillfactor), ''));
        ELSIF a.action = 'wait' THEN
            waits := waits + 1;
        END IF;
        IF a.rank = 2 AND a.action <> 'wait' THEN
            beyond := beyond + 1;
        END IF;
        IF a.rank = 2 AND a.action <> 'wait' AND cardinality(cure) < greatest(detailed, 20) THEN
            cure := cure || ff_internal.html_row(ARRAY[name, a.cause, ff_internal.number(a.updates_per_s::double precision, 1), ff_internal.number(a.hot_pct::double precision, 1, ' %'), ff_internal.number(a.lost::double precision, 1), a.reason],
                        't' || a.relation::oid);
        END IF;
        IF a.cause = 'not_examined' THEN
            skipped := skipped + 1;
            left_out := left_out || ff_internal.html_row(ARRAY[name, a.reason]);
        ELSIF in_detail THEN
            shown := shown || ff_internal.report_table(e, steps, a.recommended_fillfactor, a.action, a.cause, a.confidence, a.hot_pct, a.reason, a.ddl);
        ELSE
            rest := rest || ff_internal.html_row(ARRAY[name, a.fillfactor::text, a.action, a.cause, ff_internal.number(a.updates_per_s::double precision, 1), ff_internal.number(a.hot_pct::double precision, 1, ' %'),
                        pg_size_pretty(a.size_bytes), a.reason], NULL, NULL, 't' || a.relation::oid);
        END IF;
        IF a.size_place <= 15 AND e.heap_bytes > 0 THEN
            names := names || name;
            heaps := heaps || e.heap_bytes;
            totals := totals || (e.heap_bytes + coalesce(e.index_bytes, 0));
        END IF;
    END LOOP;
    SELECT array_agg(s.name ORDER BY s.total DESC), array_agg(s.heap ORDER BY s.total DESC), array_agg(s.total ORDER BY s.total DESC)
      INTO names, heaps, totals FROM unnest(names, heaps, totals) s(name, heap, total);
    SELECT count(*) AS collections, min(c.began_at) AS first, max(c.began_at) AS last INTO span FROM ff_internal.collection c;

    sections := ARRAY[
        ff_internal.html_section('first', 'What to do first',
            coalesce(ff_internal.html_table('The most worthwhile change first. Saved: of the expected cost (time, WAL and size, as weighted in the settings). Rewrite: whether old pages matter, so that the table should be rewritten. Curve: predicted HOT share (0 to 100 %) at fillfactors from 10, left, to 100, or the size where no updates are foreseen; ring: now, diamond: advised.',
                         ARRAY['table', '#now', '#new', 'cause', '#HOT', '#predicted', '#table size', '#then', '#WAL per update', '#saved', '#confidence', 'rewrite', 'curve'], array_to_string(todo, '')),
                     E'<p>No change of a fillfactor is advised.</p>\n')
            || CASE WHEN changes > 0 THEN E'<p class="sub">ff_script() writes the statements to review, with their undo; ff_verify() says afterwards whether they helped.</p>\n' ELSE '' END),
        ff_internal.html_section('cure', 'Where fillfactor is not the cure',
            ff_internal.html_table('Tables whose updates are not all HOT, for a reason that no other fillfactor cures, or not clearly enough; the most updates that were not HOT first.'
                || CASE WHEN beyond > cardinality(cure) THEN format(' The first %s of %s.', cardinality(cure), beyond) ELSE '' END,
                ARRAY['table', 'cause', '#updates/s', '#HOT', '#not HOT/s', 'why'], array_to_string(cure, ''))),
        ff_internal.html_section('details', 'Tables in detail', array_to_string(shown, '')),
        ff_internal.html_section('rest', CASE WHEN cardinality(shown) > 0 THEN 'All other tables' ELSE 'All tables' END,
            ff_internal.html_table(format('%s tables.', cardinality(rest)), ARRAY['table', '#fillfactor', 'action', 'cause', '#updates/s', '#HOT', '#size', 'why'], array_to_string(rest, ''))),
        ff_internal.html_section('verified', 'Did it help', coalesce(ff_internal.report_verified(), E'<p>No change of a table''s fillfactor, options or indexes was noticed within the history.</p>\n')),
        ff_internal.html_section('memory', 'Memory and table sizes',
            coalesce(ff_internal.svg_sizes(names, heaps, totals), '')
            || coalesce(ff_internal.html_table('What may hold tables. The larger a table against memory, the more a moved row costs: index leaves must be read.', ARRAY['source', '#size', 'compared with', 'note'],
                   (SELECT string_agg(ff_internal.html_row(ARRAY[m.source, coalesce(pg_size_pretty(m.bytes), '-'), CASE WHEN m.used THEN 'yes' ELSE '' END, m.note]), '') FROM @extschema@.ff_memory() m)), '')),
        ff_internal.html_section('settings', 'Settings',
            coalesce(ff_internal.html_table('Settings of the server that belong to the same problem, see ff_settings() for the statements.', ARRAY['setting', 'of', 'now', 'proposed', 'action', 'evidence', 'why'],
                   (SELECT string_agg(ff_internal.html_row(ARRAY[s.setting, coalesce(s.relation::text, 'the server'), s.current_value, s.proposed_value, s.action, s.evidence, s.reason]), '' ORDER BY s.action = 'leave', s.action, s.setting, s.relation::text)
                      FROM ff_internal.settings() s)), '') ||
            coalesce(ff_internal.html_table('Settings of the advisor, as they are for this session.', ARRAY['setting', 'value', 'meaning'],
                   (SELECT string_agg(ff_internal.html_row(ARRAY[s.name, current_setting(s.name) || CASE WHEN s.setting IS DISTINCT FROM s.boot_val THEN ' (changed)' ELSE '' END, s.short_desc]), '' ORDER BY s.name)
                      FROM pg_settings s WHERE s.name LIKE 'fillfactor_advisor.%')), '')),
        ff_internal.html_section('limits', 'What was not examined, and what is not known',
            coalesce(ff_internal.report_limits(), '')
            || coalesce(ff_internal.html_table('Not examined.', ARRAY['table', 'why'], array_to_string(left_out, '')), '')
            || coalesce(ff_internal.html_table('Could not be sampled the last time.', ARRAY['table', 'times', 'last', 'error'],
                   (SELECT string_agg(ff_internal.html_row(ARRAY[format('%s.%s', r.nspname, r.relname), p.occurrences::text, to_char(p.seen_at, 'YYYY-MM-DD HH24:MI'), p.sqlstate || ' ' || p.message]), '' ORDER BY p.seen_at DESC)
                      FROM ff_internal.problem p JOIN ff_internal.relation r USING (rel_id))), '')),
        ff_internal.html_section('words', 'How to read this',
            E'<p><b>HOT</b>: an update whose new row version finds room in the same page and changes no indexed column; it needs no new index entry. <b>Moved</b>: an update whose version went to another page because its own was full; this is what a lower fillfactor can prevent. <b>Step</b>: only rows per page count, so between two steps of a curve nothing changes. <b>Range</b>: what the model finds plausible given how well it explains the table today. <b>Confidence</b>: how much was seen, and how well the model explains it.</p>\n')];
    page := ARRAY[
        E'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
        -- belt and braces: nothing is escaped wrongly, and if it were it could do nothing
        E'<meta http-equiv="Content-Security-Policy" content="default-src ''none''; style-src ''unsafe-inline''; img-src data:; base-uri ''none''; form-action ''none''">\n',
        E'<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="referrer" content="no-referrer">\n<link rel="icon" href="data:,">\n',
        format(E'<title>Fillfactor report of %s</title>\n<style>%s</style>\n</head>\n<body>\n', ff_internal.html(current_database()::text), ff_internal.report_style()),
        format(E'<header>\n<h1>Fillfactor report of %s</h1>\n<p class="sub">%s</p>\n', ff_internal.html(current_database()::text),
               ff_internal.html(concat_ws('; ', 'PostgreSQL ' || current_setting('server_version'), 'fillfactor_advisor ' || (SELECT x.extversion FROM pg_extension x WHERE x.extname = 'fillfactor_advisor'),
                   'made at ' || to_char(now(), 'YYYY-MM-DD HH24:MI TZ'),
                   CASE WHEN span.collections = 0 THEN 'nothing collected yet'
                        ELSE format('%s collections from %s to %s', span.collections, to_char(span.first, 'YYYY-MM-DD HH24:MI'), to_char(span.last, 'YYYY-MM-DD HH24:MI')) END))),
        format(E'<dl class="tiles"><div><dt>tables examined</dt><dd>%s</dd></div><div><dt>to change</dt><dd>%s</dd></div><div><dt>not by fillfactor</dt><dd>%s</dd></div><div><dt>to wait for</dt><dd>%s</dd></div><div><dt>updates seen</dt><dd>%s</dd></div><div><dt>of these, HOT</dt><dd>%s</dd></div></dl>\n%s</header>\n<main>\n',
               n - skipped, changes, beyond, waits, to_char(updated, 'FM999,999,999,999,999'), coalesce(round(100 * hot / nullif(updated, 0), 1) || ' %', '-'),
               (SELECT E'<nav aria-label="Contents"><ul>' || string_agg(format('<li><a href="#%s">%s</a></li>', h.m[1], h.m[2]), '' ORDER BY u.place) || E'</ul></nav>\n'
                  FROM unnest(sections) WITH ORDINALITY u(html, place) CROSS JOIN LATERAL regexp_match(left(u.html, 200), '^<section id="([a-z]+)">\n<h2>([^<]*)</h2>') h(m)
                 WHERE h.m IS NOT NULL))]
        || sections || E'</main>\n</body>\n</html>\n'::text;
    RETURN array_to_string(page, '');
END
$$;
COMMENT ON FUNCTION @extschema@.ff_report(integer) IS 'Everything on one HTML page that needs nothing else: what to do first, ranked, with the predicted curve of every table for which a change is advised; each table with something to change or to explain (as many as detailed says, the most worthwhile first) with its curve at large, history, page fill and blockers; all others in short; memory against table sizes, settings, and what was not examined. To write it: psql -XAtqc "SELECT ff_report()" > report.html. Error 22023: detailed is NULL or negative.';
