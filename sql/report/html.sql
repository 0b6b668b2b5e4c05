-- HTML and pictures. Text from the database enters a page only through html().

CREATE FUNCTION ff_internal.signed_size(bytes numeric) RETURNS text
LANGUAGE sql STABLE
RETURN CASE WHEN bytes < 0 THEN '-' ELSE '+' END || pg_size_pretty(abs(round(bytes)));

-- Escapes a text for HTML. Line ends become spaces, unprintable characters U+FFFD.
CREATE FUNCTION ff_internal.html(content text) RETURNS text
LANGUAGE sql STABLE
RETURN regexp_replace(replace(replace(replace(replace(replace(translate(content, E'\t\n\r', '   '), '&', '&amp;'),
           '<', '&lt;'), '>', '&gt;'), '"', '&quot;'), '''', '&#39;'), ff_internal.unprintable(), '&#xFFFD;', 'g');

-- A table's name as HTML that may wrap only after dots and underscores.
CREATE FUNCTION ff_internal.html_name(nspname name, relname name) RETURNS text
LANGUAGE sql STABLE
RETURN replace(replace(ff_internal.html(ff_internal.quoted_name(nspname, relname)), '.', '.<wbr>'), '_', '_<wbr>');

-- A number with its unit; NULL for NULL.
CREATE FUNCTION ff_internal.number(value float8, digits integer, unit text DEFAULT '') RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN round(value::numeric, digits)::text || unit;

-- An HTML table; NULL without rows. Keys of rows are column names, NAME|FORM. FORM: empty for text, html, B for bytes,
-- or number of decimals and a unit; a + before it shows a sign. The first is the row's header, @|html its attributes.
-- Columns without values are omitted.
CREATE FUNCTION ff_internal.html_table(caption text, rows json) RETURNS text
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    RETURN (
    WITH head AS MATERIALIZED (
        SELECT c.place, f.title, f.form,
               CASE WHEN f.form NOT IN ('', 'html') THEN ' class="n"'
                    WHEN f.form = '' AND max(length(c.value)) > 60 THEN ' class="w"' END AS class
          FROM json_array_elements(rows) r
         CROSS JOIN json_each_text(r.value) WITH ORDINALITY c(key, value, place)
         CROSS JOIN LATERAL (SELECT split_part(c.key, '|', 1), split_part(c.key, '|', 2)) f(title, form)
         GROUP BY c.place, f.title, f.form HAVING count(c.value) > 0
    )
    SELECT format(E'<div class="wide"><table>\n<caption>%s</caption>\n<thead><tr>%s</tr></thead>\n<tbody>\n', caption,
               (SELECT string_agg(format('<th scope="col"%s>%s</th>', h.class, h.title), '' ORDER BY h.place)
                  FROM head h WHERE h.title <> '@'))
           || string_agg(format(E'<tr%s>%s</tr>\n', l.attributes, l.cells), '' ORDER BY r.n)
           || E'</tbody></table></div>\n'
      FROM json_array_elements(rows) WITH ORDINALITY r(value, n)
     CROSS JOIN LATERAL (
           SELECT ' ' || max(v.content) FILTER (WHERE h.title = '@'),
                  string_agg(CASE h.place WHEN 1 THEN format('<th scope="row">%s</th>', v.content)
                             ELSE format('<td%s>%s</td>', h.class, v.content) END, '' ORDER BY h.place)
                  FILTER (WHERE h.title <> '@')
             FROM json_each_text(r.value) WITH ORDINALITY c(key, value, place)
             JOIN head h ON h.place = c.place
            CROSS JOIN LATERAL (
                  SELECT CASE h.form WHEN '' THEN ff_internal.html(c.value)
                         WHEN 'html' THEN c.value
                         WHEN 'B' THEN pg_size_pretty(c.value::numeric)
                         WHEN '+B' THEN ff_internal.signed_size(c.value::numeric)
                         ELSE CASE WHEN h.form ^@ '+' AND c.value::numeric > 0 THEN '+' ELSE '' END
                              || ff_internal.number(c.value::float8, left(ltrim(h.form, '+'), 1)::integer,
                                                    substr(ltrim(h.form, '+'), 2)) END) v(content))
           l(attributes, cells));
END
$$;

-- Pictures: values are 0 to 1, in a frame 320 wide and 200 high; words describe them.
CREATE FUNCTION ff_internal.svg(class text, view text, title text, words text, body text) RETURNS text
LANGUAGE sql STABLE
RETURN format(E'<svg class="%s" xmlns="http://www.w3.org/2000/svg" viewBox="%s" preserveAspectRatio="none" role="img">'
              '\n<title>%s</title>\n<desc>%s</desc>\n%s</svg>', class, view, title, ff_internal.html(words), body);

-- Draws from x0 to x1 a line at y (NULL: none), joined across gaps of up to 3 %, or rectangles between y and low.
CREATE FUNCTION ff_internal.svg_path(class text, x0 float8[], x1 float8[], y float8[],
    low float8[] DEFAULT NULL) RETURNS text
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    RETURN (
    SELECT '<path class="' || class || '" d="'
           || string_agg(format(CASE WHEN p.low IS NOT NULL THEN 'M%1$s %3$sH%2$sV%4$sH%1$sZ'
                                     WHEN p.x0 - p.before <= 0.03 THEN 'V%3$sH%2$s' ELSE 'M%1$s %3$sH%2$s' END,
                                (320 * p.x0)::integer, (320 * p.x1)::integer, (200 - 200 * least(1, p.y))::integer,
                                (200 - 200 * p.low)::integer), '' ORDER BY p.n) || '"/>'
      FROM (SELECT u.*, lag(u.x1) OVER (ORDER BY u.n) AS before
              FROM unnest(x0, x1, y, low) WITH ORDINALITY u(x0, x1, y, low, n) WHERE u.y IS NOT NULL) p);
END
$$;

-- A vertical line at x; y: of its label, from the top.
CREATE FUNCTION ff_internal.svg_mark(class text, x float8, label text, y integer) RETURNS text
LANGUAGE sql STABLE STRICT
RETURN format('<path class="%s" d="M%s 0V200"/><text x="%s" y="%s" text-anchor="%s">%s</text>', class,
              (320 * x)::integer, (320 * x + sign(0.6 - x) * 4)::integer, y,
              CASE WHEN x < 0.6 THEN 'start' ELSE 'end' END, ff_internal.html(label));

-- A figure. x_labels are evenly spaced, the y axis is in percent. legend: HTML; words: plain text.
CREATE FUNCTION ff_internal.chart(
    title text, x_title text, x_labels text[], y_title text, body text, legend text, words text) RETURNS text
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    RETURN format(E'<figure>\n<h4>%s</h4>\n%s\n<figcaption>%s%s</figcaption>\n</figure>\n', title,
        ff_internal.svg('large', '-40 -22 390 260', title, words, concat(
            format('<text x="-40" y="-10">%s</text><text x="160" y="232" text-anchor="middle">%s</text>', y_title,
                   x_title),
            (SELECT string_agg(format('<text x="%s" y="216" text-anchor="middle">%s</text>',
                                      320 * (n - 1) / (cardinality(x_labels) - 1), l.label), '')
               FROM unnest(x_labels) WITH ORDINALITY l(label, n)),
            (SELECT string_agg(format('<path class="grid" d="M0 %sH320"/><text x="-5" y="%s" text-anchor="end">%s %%'
                                      '</text>', 200 - 2 * p, 204 - 2 * p, p), '') FROM generate_series(0, 100, 25) p),
            body)),
        '<p class="legend">' || legend || '</p>', ff_internal.html(words));
END
$$;

-- Two pictures of a curve, with the present and the advised step; NULL without one. large: HOT share with its range,
-- size and WAL per update relative to the present step (half the height). small: HOT share, or size if no updates are
-- expected.
CREATE FUNCTION ff_internal.curve_pictures(
    steps ff_internal.step[], present integer, advised integer, OUT small text, OUT large text)
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT ff_internal.svg('small', '-4 -8 328 216', format('Predicted %s at each fillfactor', p.what), c.words,
                           concat(p.line, p.marks)),
           ff_internal.chart('Prediction for each fillfactor', 'fillfactor', '{10,20,30,40,50,60,70,80,90,100}',
               'HOT share of the updates',
               concat('<text x="345" y="-10" text-anchor="end">against today</text><text x="324" y="4">2x</text>'
                      '<text x="324" y="104">1x</text><text x="324" y="204">0x</text>',
                      ff_internal.svg_path('band', c.x0, c.x1, c.high, c.low),
                      ff_internal.svg_path('size', c.x0, c.x1, c.size), ff_internal.svg_path('wal', c.x0, c.x1, c.wal),
                      ff_internal.svg_path('hot', c.x0, c.x1, c.hot), p.marks),
               '<span><i class="size"></i>size</span> <span><i class="hot"></i>HOT, with its range</span> '
               '<span><i class="wal"></i>WAL per update</span>', c.words)
      FROM (SELECT array_agg(s.x0) AS x0, array_agg((s.fillfactor - 10) / 90.0) AS x1,
                   array_agg(s.hot_pct / 100) AS hot, array_agg(coalesce(s.hot_pct_low, s.hot_pct) / 100) AS low,
                   array_agg(coalesce(s.hot_pct_high, s.hot_pct) / 100) AS high,
                   array_agg(0.5 * s.size_bytes / p.size_bytes) AS size,
                   array_agg(0.5 * s.wal_bytes_per_update / nullif(p.wal_bytes_per_update, 0)) AS wal,
                   string_agg(format('%s: %s.', CASE s.fillfactor WHEN present THEN 'Left as it is'
                                                     ELSE 'Advised ' || s.fillfactor END,
                       coalesce(ff_internal.number(s.hot_pct, 1, ' % HOT predicted')
                           || format(' (%s to %s)', s.hot_pct_low::numeric(9, 1), s.hot_pct_high::numeric(9, 1)),
                           pg_size_pretty(s.size_bytes) || ', no updates foreseen')), ' '
                       ORDER BY s.fillfactor <> present) FILTER (WHERE s.fillfactor IN (present, advised)) AS words
              FROM (SELECT s.*, (lead(s.fillfactor, 1, 10) OVER (ORDER BY s.fillfactor DESC) - 10) / 90.0 AS x0
                      FROM unnest(steps) s ORDER BY s.fillfactor) s
              LEFT JOIN unnest(steps) p ON p.fillfactor = present AND p.size_bytes > 0) c
     CROSS JOIN LATERAL (
           SELECT CASE WHEN c.hot[1] IS NULL THEN 'size' ELSE 'HOT share' END AS what,
                  coalesce(ff_internal.svg_path('hot', c.x0, c.x1, c.hot),
                           ff_internal.svg_path('size', c.x0, c.x1, c.size)) AS line,
                  concat(ff_internal.svg_mark('now', (present - 10) / 90.0, 'now', 12),
                         ff_internal.svg_mark('advised', (advised - 10) / 90.0, 'advised', 194)) AS marks) p
     WHERE c.x0 IS NOT NULL;
END;

-- A table's HOT share over time; NULL without updates.
CREATE FUNCTION ff_internal.history_chart(id bigint) RETURNS text
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    RETURN (
    WITH h AS MATERIALIZED (
        -- at most about a hundred points, however long the history is
        SELECT h.*, min(h.first_at) OVER () AS t0, max(h.ended_at) OVER () - min(h.first_at) OVER () AS span,
               count(h.event) OVER (ORDER BY h.began_at) AS n
          FROM ff_internal.history(id, NULL, 100) h
    )
    SELECT ff_internal.chart('HOT share over time', 'time',
               ARRAY(SELECT to_char(min(p.t0) + min(p.span) * k / 2,
                                    CASE WHEN min(p.span) < '2 d' THEN 'HH24:MI:SS' ELSE 'Mon FMDD' END)
                       FROM generate_series(0, 2) k), 'share of the updates',
               concat(ff_internal.svg_path('hot', array_agg(p.x0), array_agg(p.x1), array_agg(p.hot_pct / 100)),
                      ff_internal.svg_path('newpage', array_agg(p.x0), array_agg(p.x1), array_agg(p.newpage_pct / 100)),
                      string_agg(ff_internal.svg_mark('event', p.x0, left(p.event, 40), (12 + 14 * (p.n % 5))::integer),
                                 '')),
               '<span><i class="hot"></i>HOT</span> <span><i class="newpage"></i>to another page</span>',
               format('%s updates from %s to %s, %s HOT.%s', sum(p.updates), ff_internal.minute(min(p.t0)),
                   ff_internal.minute(max(p.ended_at)),
                   ff_internal.number(sum(p.updates * p.hot_pct) / sum(p.updates), 1, ' %'),
                   ' Changes: ' || string_agg(p.event || ' at ' || ff_internal.minute(p.ended_at), '; ') || '.'))
      FROM (SELECT h.*, (extract(epoch FROM h.first_at - h.t0) / e.s)::float8 AS x0,
                   (extract(epoch FROM h.ended_at - h.t0) / e.s)::float8 AS x1
              FROM h CROSS JOIN extract(epoch FROM h.span) e(s) ORDER BY h.began_at) p
    HAVING sum(p.updates) > 0);
END
$$;

-- How full the pages of a sample are; NULL if none was read.
CREATE FUNCTION ff_internal.fill_chart(bins integer[], sampled_at timestamptz) RETURNS text
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    RETURN (
    SELECT ff_internal.chart('How full the pages are', 'used space of a page, percent',
               '{0,10,20,30,40,50,60,70,80,90,100}', 'share of the pages',
               ff_internal.svg_path('bar', array_agg(b.n / 10.0 - 0.095), array_agg(b.n / 10.0 - 0.005),
                                    array_agg(b.pages / nullif(b.total, 0)), array_agg(0.0)), NULL,
               format('%s pages, sampled at %s.', min(b.total), ff_internal.minute(sampled_at)))
      FROM (SELECT u.*, sum(u.pages) OVER ()::float8 AS total FROM unnest(bins) WITH ORDINALITY u(pages, n)) b
    HAVING min(b.total) > 0);
END
$$;

CREATE FUNCTION ff_internal.report_style() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN $css$
:root { color-scheme: light dark; --page: #fff; --soft: #f3f5f8; --ink: #1b232c; --muted: #566270; --line: #d9dfe6;
  --hot: #1d5fb8; --band: #1d5fb826; --other: #ad4e09; --good: #14713f; --warn: #8a5a00; }
@media screen and (prefers-color-scheme: dark) { :root { --page: #12161b; --soft: #1d242c; --ink: #e6eaef;
  --muted: #a0acb9; --line: #343d48; --hot: #72b0ff; --band: #72b0ff30; --other: #f2a863; --good: #5fd39a;
  --warn: #e8bf62; } }
* { box-sizing: border-box; }
[hidden], html:not(.js) button.copy { display: none !important; }
body { margin: 0 auto; padding: 1.2rem clamp(.9rem, 2vw, 1.5rem) 3rem; max-width: 84rem; color: var(--ink);
  background: var(--page); overflow-wrap: break-word; font: 15px/1.5 system-ui, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.5rem; line-height: 1.3; margin: 0 0 .4rem; }
h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; }
h3, h4 { font-size: 1rem; margin: 0; }
p, pre { margin: .4rem 0; }
p { max-width: 62rem; } article > p { white-space: pre-line; }
a { color: var(--hot); }
.sub, figcaption, caption { color: var(--muted); font-size: .86rem; }
.banner { background: var(--soft); border-left: 4px solid var(--warn); padding: .5rem .9rem; }
button { font: inherit; color: inherit; text-align: inherit; background: none; border: 0; padding: 0; cursor: pointer; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .6rem; margin: .8rem 0; }
.tiles > * { background: var(--soft); border: 2px solid transparent; border-radius: 8px; padding: .5rem .8rem; }
.tiles b { display: block; font-size: 1.35rem; line-height: 1.2; }
.tiles [aria-pressed=true] { border-color: var(--hot); }
.change b, .badge.change { color: var(--good); }
.wait b, .badge.wait { color: var(--warn); }
.cure b, .badge.cure { color: var(--other); }
nav, article header { display: flex; flex-wrap: wrap; gap: .3rem 1rem; align-items: center; }
input { font: inherit; padding: .1rem .6rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .86rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: .1rem 0 .4rem; }
th, td { padding: .3rem .5rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
thead th { color: var(--muted); vertical-align: bottom; }
tbody th { min-width: 9rem; }
[aria-sort=ascending] button::after { content: " \2191"; }
[aria-sort=descending] button::after { content: " \2193"; }
.n { text-align: right; }
td.n { white-space: nowrap; }
.w { min-width: 18rem; }
article { border: 1px solid var(--line); border-radius: 10px; padding: .9rem 1.1rem; margin: 0 0 1rem; }
.badge { font-size: .78rem; font-weight: 600; border: 1px solid; border-radius: 99px; padding: 0 .6rem; }
.copy { float: right; color: #fff; background: #1d5fb8; border-radius: 6px; padding: .1rem .8rem; }
pre { background: var(--soft); padding: .5rem .8rem; max-height: 22rem; overflow: auto; clear: both;
  font: .84rem/1.45 ui-monospace, "DejaVu Sans Mono", monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(19rem, 100%), 1fr)); gap: .6rem 1.6rem; }
figure { margin: .7rem 0 0; }
svg { display: block; width: 100%; max-width: 30rem; }
svg.small { width: 7rem; height: 2.2rem; }
.small text { display: none; }
svg text { font: 11px system-ui, "DejaVu Sans", sans-serif; fill: var(--muted); }
path { fill: none; stroke: var(--ink); stroke-width: 1.5; vector-effect: non-scaling-stroke; }
.grid { stroke: var(--line); stroke-width: 1; }
path.hot { stroke: var(--hot); stroke-width: 2; }
path.newpage, path.wal { stroke: var(--other); stroke-dasharray: 5 3; }
.now, .event { stroke: var(--muted); stroke-dasharray: 3 3; }
path.advised { stroke: var(--good); stroke-width: 2; }
.band, .bar, .before { stroke: none; fill: var(--band); }
.bar { fill: var(--hot); } .before { fill: var(--muted); }
i { display: inline-block; width: 1.4em; border-top: 2px solid var(--hot); margin-right: .3em; vertical-align: middle; }
i.newpage, i.wal { border-top: 2px dashed var(--other); } i.size { border-color: var(--ink); }
@media screen and (max-width: 60rem) { html:not(.js) table { width: max-content; }
  .js table, .js tbody, .js caption { display: block; } .js thead, .js td:empty { display: none; }
  .js tbody tr { display: flex; flex-wrap: wrap; gap: 0 1rem; padding: .4rem 0; border-bottom: 1px solid var(--line); }
  .js tbody tr > * { border: 0; padding: 0; text-align: left; } .js tbody th, .js td.w { flex: 0 0 100%; }
  .js td:not(.w)::before { content: attr(data-h) " "; color: var(--muted); }
  .js svg.small { display: inline-block; vertical-align: top; } }
@media print { nav, .copy { display: none; } table { font-size: 7.5pt; } th, td { padding: .1rem .25rem; }
  tbody th, .w { min-width: 6rem; } .wide, pre { overflow: visible; max-height: none; } }
$css$;

-- Sorts and filters the tables, copies the statements.
CREATE FUNCTION ff_internal.report_script() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN $js$
(() => {
const all = (s, e) => [...(e || document).querySelectorAll(s)], text = e => e.textContent.trim();
const value = c => {
  const m = /^([-+]?[0-9.]+) ?(bytes|[kMGTP]B)?/.exec(text(c));
  return m ? m[1] * 1024 ** ('kMGTP'.indexOf((m[2] || '-')[0]) + 1) : -1e300;
};
document.documentElement.className = 'js';
all('table').forEach(t => {
  const heads = all('thead th', t);
  all('tbody tr', t).forEach(r => heads.forEach((h, i) => { r.cells[i].dataset.h = text(h); }));
  heads.forEach((h, i) => {
    const b = document.createElement('button'), n = h.className === 'n', by = n ? value : text;
    b.textContent = text(h);
    h.replaceChildren(b);
    b.onclick = () => {
      const up = h.ariaSort ? h.ariaSort === 'descending' : !n;
      heads.forEach(o => o.removeAttribute('aria-sort'));
      h.setAttribute('aria-sort', up ? 'ascending' : 'descending');
      const rows = all('tbody tr', t).map(r => [by(r.cells[i]), r]);
      rows.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0) * (up ? 1 : -1));
      t.tBodies[0].append(...rows.map(r => r[1]));
    };
  });
});
const find = document.createElement('input'), tiles = all('.tiles button');
let kind = '';
const show = () => {
  const word = find.value.toLowerCase();
  all('[data-k]').forEach(e => e.hidden = kind && e.dataset.k !== kind
    || !text(e.querySelector('th, h3')).toLowerCase().includes(word));
  all('main > section').forEach(s => { const k = all('[data-k]', s); s.hidden = k.length && k.every(e => e.hidden); });
};
tiles.forEach(b => b.onclick = () => {
  kind = kind === b.className ? '' : b.className;
  tiles.forEach(o => o.setAttribute('aria-pressed', o.className === kind));
  show();
});
find.type = 'search';
find.placeholder = find.ariaLabel = 'Filter tables by name';
find.oninput = show;
all('nav').forEach(n => n.append(find));
all('.copy').forEach(b => b.onclick = () => {
  getSelection().selectAllChildren(b.nextElementSibling);
  b.textContent = document.execCommand('copy') ? 'Copied' : 'Selected';
});
})();
$js$;

CREATE FUNCTION ff_internal.page(title text, header text, main text) RETURNS text
LANGUAGE sql STABLE
RETURN (
    SELECT format(E'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="%s">\n'
               '<meta http-equiv="Content-Security-Policy" content="default-src ''none''; style-src '
               '''sha256-%s''; script-src ''sha256-%s''; img-src data:; base-uri ''none''; form-action ''none''">\n'
               '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
               '<link rel="icon" href="data:,">\n<title>%s</title>\n<style>%s</style>\n</head>\n<body>\n<header>\n'
               '%s</header>\n<main>\n%s</main>\n<script>%s</script>\n</body>\n</html>\n',
               -- WIN1252 is windows-1252 in HTML
               CASE WHEN pg_client_encoding() IN ('UTF8', 'SQL_ASCII') THEN 'utf-8'
                    ELSE lower(replace(replace(pg_client_encoding(), '_', '-'), 'WIN', 'windows-')) END,
               encode(sha256(convert_to(s.style, 'SQL_ASCII')), 'base64'),
               encode(sha256(convert_to(s.script, 'SQL_ASCII')), 'base64'), title, s.style, header, main, s.script)
      FROM (SELECT ff_internal.report_style(), ff_internal.report_script()) s(style, script));
