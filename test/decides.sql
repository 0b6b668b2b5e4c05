-- Writes doc/how-it-decides.md: the questions that ff_advise() asks, with an example
-- for each cause from the tables of test/stories.sql, and the sentence that
-- it says of them.
-- psql -XAtq -f test/decides.sql, in a database with the extension in public
BEGIN;
SET LOCAL client_min_messages = warning;
-- examples that do not depend on the machine
SET LOCAL fillfactor_advisor.ram = '16GB';
\o /dev/null
\ir stories.sql
\o
CREATE TABLE untouched (i int);
CREATE TABLE parent (i int) PARTITION BY RANGE (i);

SELECT $md$# How it decides

The cause of a table's updates that are not HOT is named from what was seen alone. What to do is the model's choice: it first
asks what could be saved at best, were every update HOT that could be; where that is less than `fillfactor_advisor.min_gain`, it
keeps. Else it looks for lives of the table that explain what was seen, replays them from today's pages at every step, and takes
the cheapest of keeping, setting a fillfactor for new pages, and setting it with a rewrite. Below are the causes in the order in
which they are asked for, each with the example that the tests use: a table of 1,000 pages with 60,000 rows, collected once a
minute for an hour. Made by `make reference` from `test/stories.sql`; a test compares.

Shares are of the recent updates: of the last intervals that hold a third of all updates in the window. What *moved* is counted by
the server from PostgreSQL 16 on; before, old row versions still in the sampled pages tell it. What *stayed* in its page and was
not HOT changed an indexed column. What moved would have been HOT as often as what stayed was: that product is *recoverable*.
$md$;

SELECT format(E'## %s. `%s`\n\n%s\n\n| an hour of it | |\n| --- | --- |\n%s\n\n`ff_advise()` says **%s**: %s\n',
              row_number() OVER (ORDER BY v.place), a.cause, replace(v.words, E'\n', ' '),
              concat_ws(E'\n', format('| rows inserted | %s |', (e.counters).inserted), format('| rows updated | %s |', (e.counters).updated),
                        CASE WHEN (e.counters).updated > 0 THEN format(E'| of these HOT | %s |\n| of these moved to another page | %s |', (e.counters).hot_updated, coalesce((e.counters).newpage_updated::text, 'not counted')) END,
                        CASE v.name WHEN 'batch' THEN format('| rows of a page that one transaction updates | %s of %s |', (e.sample).update_group_rows, (e.sample).rows_per_page)
                                    WHEN 'growth' THEN format('| row length when inserted, when updated | %s, %s bytes |', (e.sample).inserted_width, (e.sample).updated_width)
                                    WHEN 'wide' THEN format('| row length | %s bytes |', (e.sample).updated_width)
                                    WHEN 'snapshot' THEN format('| dead rows, of these visible to some snapshot | %s, %s |', (e.sample).dead_rows, (e.sample).recently_dead_rows)
                                    WHEN 'readers' THEN format('| pages fetched | %s |', (e.counters).blocks_fetched) END),
              -- what a rewrite takes depends on the server
              a.action, regexp_replace(a.reason, ' Rewriting it takes [^.]*[.]', ''))
  FROM (VALUES (1, 'few', 'Were there updates enough to speak of (`fillfactor_advisor.min_updates`)? If not, it waits for more, or keeps what is there where a day shows none.'),
               (2, 'insertonly', 'The same where rows are only inserted. A reserve that nothing uses (fillfactor below 100) is then given back.'),
               (3, 'wide', 'Do two rows fit a page at all? If not, no fillfactor makes a difference.'),
               (4, 'settled', 'Are next to all recent updates HOT (98 %)? A page that was filled to the brim sheds one row at its first update; that row''s room
serves every later one. Totals since the last reset hide this, intervals show it.'),
               (5, 'indexed', 'Did the others stay in their page? Then an indexed column changed, and no fillfactor helps: look at the index.'),
               (6, 'snapshot', 'Was an old snapshot held, which collections write down, and was the HOT share high without it, or do most old versions wait for it? Then the snapshot has to end. More room would only fill up as well.'),
               (7, 'growth', 'Do rows get longer when they are updated (by 10 % and 8 bytes)? Then the new version needs more room than the old one leaves.'),
               (8, 'batch', 'Does one transaction update many rows of a page (three and a tenth of it)? All their new versions need room at once, before any old one can be pruned.'),
               (9, 'full', 'Otherwise the pages are simply full when the updates come.'),
               (10, 'readers', 'Where in the last three cases no step saves `fillfactor_advisor.min_gain`, or too few of the lives that explain what was seen
agree (six of ten), it keeps; where that is because of the readers, who would have more pages to read, it says so. Where the table becomes HOT by itself it says `settling`, and after how many updates.')) v(place, name, words)
 CROSS JOIN LATERAL ff_advise(format('%I', v.name)::regclass) a
 CROSS JOIN LATERAL ff_internal.evidence(format('%I', v.name)::regclass) e
 ORDER BY v.place;

SELECT format(E'## `%s`\n\n%s\n\n`ff_advise()` says **%s**: %s\n', a.cause, v.words, a.action, a.reason)
  FROM (VALUES (1, 'untouched', 'Nothing is said of a table that was not collected or not sampled.'),
               (2, 'blind15', 'Nor where updates were not HOT and it cannot be told why (PostgreSQL 15, all old versions vacuumed away).'),
               (3, 'parent', 'What has no pages of its own, or pages that are not heap, is not examined.')) v(place, name, words)
 CROSS JOIN LATERAL ff_advise(format('%I', v.name)::regclass) a
 ORDER BY v.place;
SELECT $md$## Confidence

`confidence` is a product of shares, each between 0 and 1:

- **Enough seen**: updates since the fillfactor or the indexes last changed, divided by four times
  `fillfactor_advisor.min_updates`. Where hardly anything was updated, the inserted rows count instead.
- **Long enough**: 0.5 + 0.5 x the square root of the part of a day that was watched, or of three cycles, whichever is less.
  Cycles are counted in hours, and in days before the last two: the sum of their updates, squared, by the sum of the squares. A
  pass over the table by night is one cycle each night, so that it takes three; steady work has one an hour, and a day of it is
  enough.
- **Counters**: 0.5 if `track_counts` was off for some of the time.
- **Indexed columns**: 0.5 if nobody knows whether the updates change one.
- **The model**, where it was asked: e^(-misfit / 12) x (0.5 + 0.5 x agreement). The misfit says how far its replays are from what
  was seen; the agreement is the weight of those replays by which the change pays. Then come the last three predictions for the table
  that were followed or rehearsed, each worth 1 if it came true and less if it missed: with a mean of 0.8 nothing changes, with 1 the
  model's confidence moves half of the way to 1, and below 0.8 it falls in proportion.

A change needs `fillfactor_advisor.min_confidence` (0.2), and more if it makes the table more than twice as large: 0.6 at four times.
What was advised before may be half as sure. Advice to lower waits for a full day where the table may become HOT by itself, unless the gain is clear (five times `min_gain` over).

It does not turn with every collection. Each fit begins where the last one ended: the cost of a step is the mean of what was
found then, with three times the weight where it was of as many updates, and now. A change that was chosen stays until another
one saves five times `fillfactor_advisor.min_gain` against it, or none is better, each in seven of ten lives that explain what
was seen, or until it saves less than half of `min_gain`. A fillfactor below 100, which somebody chose, is changed for what is
better in seven of ten; to give it still more room, two updates of a hundred must not be HOT, and five times `min_gain` be saved.
An index that comes or goes begins nothing anew unless a statement sets a column that it blocks, or that nothing blocks any
more.

Advice to give room back also needs a full day since the last change, at least half as busy as the days before. Partitions of one
table are judged by the mean of their curves, each weighted by its rate of updates; their evidence is not added up, because
pages of different ages, taken together, would describe a table that does not exist.
$md$;
ROLLBACK;
