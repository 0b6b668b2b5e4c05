-- Writes doc/how-it-decides.md: the questions that ff_advise() asks, with an example
-- for each cause from the tables of test/queries/stories.sql, and the sentence that
-- it says of them.
-- psql -XAtq -f test/queries/decides.sql, in a database with the extension in public
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

The **cause** says why a table's updates are not HOT. It follows from the evidence alone. The **action** is the choice
of a model. First comes an upper bound: the saving if all recoverable updates were HOT. If that is less than
`fillfactor_advisor.min_gain`, it keeps the fillfactor. Otherwise it searches for *workloads* of the table,
descriptions of its work, that explain the evidence. It replays them from today's pages at every step and takes the
cheapest option: keep the fillfactor, set one for new pages, or set one and rewrite the table; or rewrite it at the
fillfactor that it has.

Below are the causes in the order in which they are checked. Each has the example that the tests use: a table of 1,000
pages with 60,000 rows, collected once a minute for an hour. `make reference` writes this page from
`test/queries/stories.sql`; a test compares.

Shares are of the recent updates: of the last intervals that have a third of all updates in the window. An update
*moved* if its new version went to another page. PostgreSQL 16 and later count these; before, they are estimated from
old row versions that are still in the sampled pages. An update that *stayed* in its page and was not HOT changed an
indexed column. Updates that moved are assumed to have changed indexed columns as often as those that stayed; where no
trigger may change one, at most as often as the statements say. The rest of them is *recoverable*.
$md$;

SELECT format(E'## %s. `%s`\n\n%s\n\n| an hour of it | |\n| --- | --- |\n%s\n\n`ff_advise()` says **%s**: %s\n',
              row_number() OVER (ORDER BY v.place), a.cause, replace(v.words, E'\n', ' '),
              concat_ws(E'\n', format('| rows inserted | %s |', c.inserted), format('| rows updated | %s |', c.updated),
                        CASE WHEN c.updated > 0
                             THEN format(E'| of these HOT | %s |\n| of these moved to another page | %s |',
                                         c.hot_updated, coalesce(c.newpage_updated::text, 'not counted')) END,
                        CASE v.name WHEN 'batch' THEN
                                        format('| rows of a page that one transaction updates | %s of %s |',
                                               e.update_group_rows, e.rows_per_page)
                                    WHEN 'growth' THEN
                                        format('| row length when inserted, when updated | %s, %s bytes |',
                                               e.inserted_width, e.updated_width)
                                    WHEN 'wide' THEN format('| row length | %s bytes |', e.updated_width)
                                    WHEN 'snapshot' THEN (
                                        SELECT format('| dead rows, of these visible to some snapshot | %s, %s |',
                                                      p.dead_rows, p.recently_dead_rows)
                                          FROM ff_internal.page_sample p
                                         WHERE p.rel_id = e.rel_id AND p.sampled_at = e.sampled_at)
                                    WHEN 'readers' THEN format('| pages fetched | %s |', c.blocks_fetched) END),
              -- what a rewrite takes depends on the server
              a.action,
              replace(regexp_replace(a.reason, '\nRewriting it takes [^.]*[.]|\nConfidence .*$', '', 'g'), E'\n', ' '))
  FROM (VALUES (1, 'few',
                'Are there enough updates to judge from (`fillfactor_advisor.min_updates`)? If not, it waits for '
                'more. If nothing was written at all, it keeps the fillfactor.'),
               (2, 'insertonly',
                'The same if rows are only inserted. A fillfactor below 100, whose reserve nothing uses, is then '
                'raised.'),
               (3, 'wide', 'Do two rows fit on a page? If not, no fillfactor makes a difference.'),
               (4, 'settled',
                'Are nearly all recent updates HOT (98 %)? The first update of a full page moves one row to another '
                'page; the room of that row then serves all later updates. Totals since the last reset hide this; '
                'intervals show it.'),
               (5, 'indexed',
                'Did the other updates stay in their page? Then they changed an indexed column, and no fillfactor '
                'makes them HOT. Look at the index. Columns that are set to what they are (`a = a`, the key of '
                '`ON CONFLICT`) do not count; those that a trigger assigns do.'),
               (6, 'snapshot',
                'Did collections see an old snapshot, and was the HOT share high at other times, or do most old '
                'versions wait for that snapshot? Then end the snapshot. More room would also fill up.'),
               (7, 'growth',
                'Do updates make rows longer (by 10 % and 8 bytes)? Then the new version needs more room than the old '
                'one leaves.'),
               (8, 'batch',
                'Does one transaction update many rows of a page (at least three, and a tenth of the page)? All new '
                'versions need room at once, before any old version can be pruned.'),
               (9, 'full', 'Otherwise the pages are full when the updates come.'),
               (10, 'readers',
                'In the last three cases it keeps the fillfactor if no step saves `fillfactor_advisor.min_gain`, or '
                'if too few of the workloads that explain the evidence agree (six of ten are needed). The cause is '
                '`read_mostly` if readers would have to read too many more pages, and `settling` if the table becomes '
                'HOT by itself; then it says after how many updates.')) v(place, name, words)
 CROSS JOIN LATERAL ff_advise(format('%I', v.name)::regclass) a
 CROSS JOIN LATERAL ff_internal.evidence(format('%I', v.name)::regclass) e
 CROSS JOIN LATERAL (SELECT (e.counted).*) c
 ORDER BY v.place;

SELECT format(E'## `%s`\n\n%s\n\n`ff_advise()` says **%s**: %s\n', a.cause, v.words, a.action,
              replace(a.reason, E'\n', ' '))
  FROM (VALUES (1, 'untouched', 'A table that was not collected or not sampled yet; the reason says which.'),
               (2, 'blind15',
                'Updates were not HOT, and the reason is unknown (PostgreSQL 15, and vacuum removed all old '
                'versions).'),
               (3, 'parent', 'A relation without storage, or whose pages are not heap pages.')) v(place, name, words)
 CROSS JOIN LATERAL ff_advise(format('%I', v.name)::regclass) a
 ORDER BY v.place;
SELECT $md$## Confidence

`confidence` is a product of these factors, each between 0 and 1:

- **Enough seen**: updates since the fillfactor or the indexes last changed, divided by four times
  `fillfactor_advisor.min_updates`. If hardly anything was updated, the inserted rows count instead.
- **Long enough**: 0.5 + 0.5 x the square root of the smaller of two shares: the part of a day that was watched, and
  the cycles seen divided by three. Cycles = (sum u)^2 / (sum u^2), over the updates u of all hours (days, for what is
  older than two days): equal hours all count, a nightly burst counts once a night. So a nightly pass over the table
  takes three nights, and steady work a day.
- **Counters**: 0.5 if `track_counts` was off for some of the time.
- **Indexed columns**: 0.5 if it is unknown whether the updates change one.
- **The model**, if it was used: e^(-misfit / 12) x (0.5 + 0.5 x agreement). The misfit is how far its replays are
  from the evidence; the agreement is the weight of the replays in which the change pays. This is then corrected by
  the last three predictions for the table that were followed. Each is worth 1 if it came true and less if it missed.
  A mean of 0.8 changes nothing, a mean of 1 moves the model's confidence half of the way to 1, and below 0.8 it falls
  in proportion.

A change needs `fillfactor_advisor.min_confidence` (0.2), and more if it makes the table more than twice as large: 0.6
at four times. Advice that was given before needs half of that. If the table may become HOT by itself, advice to lower
waits for a full day, unless the gain is clear (five times `min_gain`). Where a statement that ran once, such as a
migration, made most of the updates, it waits until that runs again, unless the model could leave it out and enough is
left.

## Why it does not flip

- **A change must be worth the trouble**: save `fillfactor_advisor.min_worth` (1 %) of the WAL or time that the
  updates of the costliest table cost, or 8 MB of disk; half of that if it was advised before. Partitions are judged
  together, so not here. A fillfactor is raised where a table is hardly updated, whatever that saves. Where most of
  what updates write goes to TOAST, a change must save `min_gain` of that, or 8 MB of disk.
- **A rewrite at the same fillfactor** must give back 8 MB of disk, or bring the fillfactor to pages that were filled
  at a higher one. None is advised while most old versions wait for a snapshot.
- **A queue is not rewritten**, whatever its fillfactor: where twice as many rows were inserted as it has, and the
  others deleted, it held more before, and soon will again. Nor is a table that was emptied by `TRUNCATE` and filled
  again twice in the window: its next rows come to new pages anyway.
- **A chosen change stays** until another one saves five times `fillfactor_advisor.min_gain` against it, or until no
  change is better, each in seven of ten workloads that explain the evidence. It also ends when it saves less than
  half of `min_gain`, or when settings of the model are changed.
- **A fillfactor below 100** was chosen by somebody, so a change must be better in seven of ten workloads. A second
  lowering after advice from here must save five times `min_gain`.
- **Lowering** needs 2 % of the updates not HOT, and never predicts a smaller HOT share than was seen. If it makes no
  more updates HOT, it must save five times `min_gain`.
- **A new or dropped index** matters only if a statement sets a column that it blocks, or that nothing blocks any more.
- **Raising** needs a full day since the last change, at least half as busy as the days before.
- **Partitions** of one table are judged by the mean of their curves, each weighted by its rate of updates. Their
  evidence is not added up: pages of different ages, taken together, would describe a table that does not exist.
$md$;
ROLLBACK;
