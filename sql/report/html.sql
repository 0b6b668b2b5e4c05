-- HTML and pictures. Text from the database enters a page only through html().

-- Escapes a text for HTML. Line ends become spaces, unprintable characters U+FFFD.
CREATE FUNCTION ff_internal.html(content text) RETURNS text
LANGUAGE sql STABLE
RETURN regexp_replace(replace(replace(replace(replace(replace(translate(content, E'\t\n\r', '   '), '&', '&amp;'),
           '<', '&lt;'), '>', '&gt;'), '"', '&quot;'), '''', '&#39;'), ff_internal.unprintable(), '&#xFFFD;', 'g');

-- An HTML table; NULL without rows. Keys of rows are column names, NAME|FORM. FORM: empty for text, html, B for bytes,
-- or number of decimals and a unit; a + before it shows a sign. The first is the row's header, @|html its attributes.
-- Columns without values are omitted.
CREATE FUNCTION ff_internal.html_table(caption text, rows json) RETURNS text
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    RETURN (
    WITH head AS MATERIALIZED (
        SELECT c.place, f.title, ltrim(f.form, '+') AS form, f.form ^@ '+' AS signed,
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
               string_agg(format(CASE h.place WHEN 1 THEN '<th scope="row">%2$s</th>' ELSE '<td%1$s>%2$s</td>' END,
                                 h.class, v.content), '' ORDER BY h.place) FILTER (WHERE h.title <> '@')
          FROM json_each_text(r.value) WITH ORDINALITY c(key, value, place)
          JOIN head h USING (place)
         CROSS JOIN LATERAL (
            SELECT CASE h.form WHEN '' THEN ff_internal.html(c.value) WHEN 'html' THEN c.value
                   ELSE concat(CASE WHEN h.signed AND c.value::numeric > 0 THEN '+' END,
                               CASE h.form WHEN 'B' THEN pg_size_pretty(c.value::numeric)
                                    ELSE round(c.value::numeric, left(h.form, 1)::integer) || substr(h.form, 2) END)
                        END) v(content)
        ) l(attributes, cells));
END
$$;

-- A level part of a line in a frame 320 wide and 200 high, for string_agg() with L between the parts. y: 0 to 1.
CREATE FUNCTION ff_internal.stroke(x0 integer, x1 integer, y float8) RETURNS text
LANGUAGE sql STABLE
RETURN x0 || ' ' || CASE WHEN y > 1 THEN 0 ELSE (200 - 200 * y)::integer END || 'H' || x1;

-- A picture with lines from 0 to 100 %. words tell the same, legend has a word for each line.
CREATE FUNCTION ff_internal.figure(title text, words text, legend text, lines text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN format(E'<figure>\n<svg viewBox="-40 -22 390 244" preserveAspectRatio="none" role="img">\n<title>%1$s</title>\n'
              '<desc>%2$s</desc>\n<path class="grid" d="M0 0H320M0 50H320M0 100H320M0 150H320M0 200H320"/>'
              '<text x="-40" y="4">100 %%</text><text x="-40" y="104">50 %%</text><text x="-40" y="204">0 %%</text>%4$s'
              '</svg>\n<figcaption>%1$s. %2$s<p>%3$s</p></figcaption>\n</figure>\n', title, words, legend, lines);

-- The picture of a curve, with the present and the advised step; NULL without one: HOT share, or size if no updates are
-- expected. large: HOT share with its range, size and WAL per update relative to the present step (half the height).
CREATE FUNCTION ff_internal.curve_picture(
    steps ff_internal.step[], present integer, advised integer, large boolean) RETURNS text
LANGUAGE sql STABLE
RETURN (
    WITH step AS (
        SELECT s.*, (320 / 90.0 * (lag(s.fillfactor, 1, 10) OVER (ORDER BY s.fillfactor) - 10))::integer AS x0,
               (320 / 90.0 * (s.fillfactor - 10))::integer AS x1,
               coalesce(s.hot_pct_low, s.hot_pct) / 100 AS low, coalesce(s.hot_pct_high, s.hot_pct) / 100 AS high,
               0.5 * s.size_bytes / nullif(p.size_bytes, 0) AS size,
               0.5 * s.wal_bytes_per_update / nullif(p.wal_bytes_per_update, 0) AS wal
          FROM unnest(steps) s LEFT JOIN unnest(steps) p ON p.fillfactor = present
    ), line AS (
        SELECT string_agg(ff_internal.stroke(s.x0, s.x1, s.hot_pct / 100), 'L' ORDER BY s.x1) AS hot,
               string_agg(ff_internal.stroke(s.x0, s.x1, s.high), 'L' ORDER BY s.x1) || 'L'
               || string_agg(ff_internal.stroke(s.x1, s.x0, s.low), 'L' ORDER BY s.x1 DESC) || 'Z' AS band,
               string_agg(ff_internal.stroke(s.x0, s.x1, s.size), 'L' ORDER BY s.x1) AS size,
               string_agg(ff_internal.stroke(s.x0, s.x1, s.wal), 'L' ORDER BY s.x1) AS wal,
               max(s.x1) FILTER (WHERE s.fillfactor = present) AS now,
               max(s.x1) FILTER (WHERE s.fillfactor = advised) AS advised,
               string_agg(format('%s: %s.', CASE s.fillfactor WHEN present THEN 'Left as it is'
                                                              ELSE 'Advised ' || s.fillfactor END,
                   coalesce(round(s.hot_pct::numeric, 1) || ' % HOT predicted'
                       || format(' (%s to %s)', s.hot_pct_low::numeric(9, 1), s.hot_pct_high::numeric(9, 1)),
                       pg_size_pretty(s.size_bytes) || ', no updates foreseen')), ' ' ORDER BY s.fillfactor <> present)
                   FILTER (WHERE s.fillfactor IN (present, advised)) AS words
          FROM step s
    )
    SELECT CASE WHEN large THEN ff_internal.figure(m.title, l.words,
                    '<span><i class="size"></i>size</span> <span><i class="hot"></i>HOT, with its range</span> '
                    '<span><i class="wal"></i>WAL per update</span>',
                    concat('<text x="345" y="-10" text-anchor="end">against today</text><text x="324" y="4">2x</text>'
                           '<text x="324" y="104">1x</text><text x="324" y="204">0x</text>',
                           '<path class="band" d="M' || l.band || '"/>', '<path class="size" d="M' || l.size || '"/>',
                           '<path class="wal" d="M' || l.wal || '"/>', '<path class="hot" d="M' || l.hot || '"/>',
                           m.marks))
                ELSE format(E'<svg class="small" viewBox="0 -22 320 244" preserveAspectRatio="none" role="img">\n'
                            '<title>%s</title>\n<desc>%s</desc>\n<path class="hot" d="M%s"/>%s</svg>', m.title, l.words,
                            coalesce(l.hot, l.size), m.marks) END
      FROM line l
     CROSS JOIN LATERAL (
        SELECT 'Prediction for each fillfactor', concat('<path class="now" d="M' || l.now || ' 0V200"/>',
                                                        '<path class="advised" d="M' || l.advised || ' 0V200"/>')
        ) m(title, marks)
     WHERE l.words <> '');

-- A table's HOT share over time, at most 64 points, with its changes; NULL without updates in two intervals.
CREATE FUNCTION ff_internal.history_picture(id bigint) RETURNS text
LANGUAGE sql STABLE
RETURN (
    WITH watched AS (
        SELECT i.*, extract(epoch FROM i.ended_at - min(i.began_at) OVER ())
                    / nullif(extract(epoch FROM max(i.ended_at) OVER () - min(i.began_at) OVER ()), 0) AS place
          FROM ff_internal.counter_interval i WHERE i.rel_id = id AND i.updated > 0
    ), line AS (
        SELECT min(p.began_at) AS began_at, max(p.ended_at) AS ended_at,
               string_agg(p.x || ' ' || p.y, 'L' ORDER BY p.x) AS points
          FROM (SELECT 5 * floor(64 * w.place)::integer AS x, min(w.began_at) AS began_at, max(w.ended_at) AS ended_at,
                       200 - (200.0 * sum(w.hot_updated) / sum(w.updated))::integer AS y
                  FROM watched w GROUP BY 1) p
        HAVING count(*) > 1
    ), event AS (
        SELECT string_agg(format('<path class="now" d="M%s 0V200"/>', greatest(0, (320 * extract(epoch FROM c.seen_at
                   - l.began_at) / extract(epoch FROM l.ended_at - l.began_at))::integer)), '') AS marks,
               string_agg(c.change || ' at ' || ff_internal.minute(c.seen_at), '; ' ORDER BY c.seen_at) AS words
          FROM line l CROSS JOIN ff_internal.changes c WHERE c.rel_id = id AND c.seen_at <= l.ended_at
    )
    SELECT ff_internal.figure('HOT share over time',
               format('From %s to %s.%s', ff_internal.minute(l.began_at), ff_internal.minute(l.ended_at),
                      ' Changes: ' || ff_internal.html(e.words) || '.'),
               '<span><i class="hot"></i>HOT</span>', concat('<path class="hot" d="M', l.points, '"/>', e.marks))
      FROM line l CROSS JOIN event e);

CREATE FUNCTION ff_internal.report_style() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN $css$
:root { color-scheme: light dark; --page: light-dark(#fff, #12161b); --soft: light-dark(#f3f5f8, #1d242c);
  --ink: light-dark(#1b232c, #e6eaef); --muted: light-dark(#566270, #a0acb9); --line: light-dark(#d9dfe6, #343d48);
  --hot: light-dark(#1d5fb8, #72b0ff); --band: light-dark(#1d5fb826, #72b0ff30); --other: light-dark(#ad4e09, #f2a863);
  --good: light-dark(#14713f, #5fd39a); --warn: light-dark(#8a5a00, #e8bf62); }
* { box-sizing: border-box; }
[hidden] { display: none !important; }
body { margin: 0 auto; padding: 1.2rem clamp(.9rem, 2vw, 1.5rem) 3rem; max-width: 84rem; color: var(--ink);
  background: var(--page); overflow-wrap: break-word; font: 15px/1.5 system-ui, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.5rem; line-height: 1.3; margin: 0 0 .4rem; }
h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; }
h3 { font-size: 1rem; margin: 0; }
p, pre { margin: .4rem 0; }
p { max-width: 62rem; } article > p { white-space: pre-line; }
a { color: var(--hot); }
.sub, figcaption, caption { color: var(--muted); font-size: .86rem; }
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
table { border-collapse: collapse; width: 100%; min-width: 56rem; font-size: .86rem;
  font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: .1rem 0 .4rem; }
th, td { padding: .3rem .5rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
thead th { color: var(--muted); vertical-align: bottom; }
tbody th { min-width: 9rem; overflow-wrap: anywhere; }
[aria-sort=ascending] button::after { content: " \2191"; }
[aria-sort=descending] button::after { content: " \2193"; }
.n { text-align: right; }
td.n { white-space: nowrap; }
.w { min-width: 18rem; }
article { border: 1px solid var(--line); border-radius: 10px; padding: .9rem 1.1rem; margin: 0 0 1rem; }
.badge { font-size: .78rem; font-weight: 600; border: 1px solid; border-radius: 99px; padding: 0 .6rem; }
pre { background: var(--soft); padding: .5rem .8rem; max-height: 22rem; overflow: auto;
  font: .84rem/1.45 ui-monospace, "DejaVu Sans Mono", monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
figure { margin: .7rem 0 0; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(19rem, 100%), 1fr)); gap: .6rem 1.6rem; }
svg { display: block; width: 100%; max-width: 30rem; }
svg.small { width: 7rem; height: 2.2rem; }
svg text { font: 11px system-ui, "DejaVu Sans", sans-serif; fill: var(--muted); }
path { fill: none; stroke: var(--ink); stroke-width: 1.5; vector-effect: non-scaling-stroke; }
.grid { stroke: var(--line); stroke-width: 1; }
path.hot { stroke: var(--hot); stroke-width: 2; }
path.wal { stroke: var(--other); stroke-dasharray: 5 3; }
path.now { stroke: var(--muted); stroke-dasharray: 3 3; }
path.advised { stroke: var(--good); stroke-width: 2; }
.band { stroke: none; fill: var(--band); }
i { display: inline-block; width: 1.4em; border-top: 2px solid var(--hot); margin-right: .3em; vertical-align: middle; }
i.wal { border-top: 2px dashed var(--other); } i.size { border-color: var(--ink); }
@media print { nav { display: none; } table { font-size: 7.5pt; min-width: 0; } th, td { padding: .1rem .25rem; }
  tbody th, .w { min-width: 6rem; } .wide, pre { overflow: visible; max-height: none; } }
$css$;

-- Sorts the tables by a column, filters them by a tile and by name.
CREATE FUNCTION ff_internal.report_script() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN $js$
(() => {
const all = (s, e) => [...(e || document).querySelectorAll(s)], text = e => e.textContent.trim();
const value = c => {
  const m = /^([-+]?[0-9.]+) ?(bytes|[kMGTP]B)?/.exec(text(c));
  return m ? m[1] * 1024 ** ('kMGTP'.indexOf((m[2] || '-')[0]) + 1) : -1e300;
};
all('table').forEach(t => all('thead th', t).forEach((h, i) => {
  const b = document.createElement('button'), by = h.className === 'n' ? value : text;
  b.textContent = text(h);
  h.replaceChildren(b);
  b.onclick = () => {
    const up = h.ariaSort === 'descending', rows = all('tbody tr', t).map(r => [by(r.cells[i]), r]);
    all('thead th', t).forEach(o => o.removeAttribute('aria-sort'));
    h.setAttribute('aria-sort', up ? 'ascending' : 'descending');
    rows.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0) * (up ? 1 : -1));
    t.tBodies[0].append(...rows.map(r => r[1]));
  };
}));
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
