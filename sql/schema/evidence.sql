-- Everything that is known of a table, on one row.

CREATE TYPE ff_internal.window_counters AS (
    began_at        timestamptz,
    seconds         double precision,
    intervals       bigint,
    inserted        bigint,
    updated         bigint,
    hot_updated     bigint,
    newpage_updated bigint,
    deleted         bigint,
    seq_scans       bigint,
    index_scans     bigint,
    blocks_fetched  bigint,
    blocks_hit      bigint,
    vacuums         bigint,
    rewritten       boolean
);
COMMENT ON TYPE ff_internal.window_counters IS 'What some intervals of one table add up to.';
COMMENT ON COLUMN ff_internal.window_counters.began_at IS 'begin of the first interval; NULL: there is none';
COMMENT ON COLUMN ff_internal.window_counters.seconds IS 'seconds that they cover; nothing was written to the table in the rest of the time';
COMMENT ON COLUMN ff_internal.window_counters.intervals IS 'how many; those of an hour count as one after two hours, those of a day after two days';
COMMENT ON COLUMN ff_internal.window_counters.inserted IS 'rows inserted';
COMMENT ON COLUMN ff_internal.window_counters.updated IS 'rows updated';
COMMENT ON COLUMN ff_internal.window_counters.hot_updated IS 'rows HOT updated';
COMMENT ON COLUMN ff_internal.window_counters.newpage_updated IS 'rows updated whose new version went to another page; NULL where not counted (PostgreSQL 15)';
COMMENT ON COLUMN ff_internal.window_counters.deleted IS 'rows deleted';
COMMENT ON COLUMN ff_internal.window_counters.seq_scans IS 'sequential scans begun';
COMMENT ON COLUMN ff_internal.window_counters.index_scans IS 'index scans begun';
COMMENT ON COLUMN ff_internal.window_counters.blocks_fetched IS 'heap pages asked for';
COMMENT ON COLUMN ff_internal.window_counters.blocks_hit IS 'heap pages found in shared buffers';
COMMENT ON COLUMN ff_internal.window_counters.vacuums IS 'vacuums, manual and automatic';
COMMENT ON COLUMN ff_internal.window_counters.rewritten IS 'the table got a new file';

CREATE TYPE ff_internal.table_window AS (
    counters     ff_internal.window_counters,
    since_change ff_internal.window_counters,
    recent       ff_internal.window_counters
);
COMMENT ON TYPE ff_internal.table_window IS 'What the history of a table says of the last days, three times.';
COMMENT ON COLUMN ff_internal.table_window.counters IS 'the whole window: what is known of the workload';
COMMENT ON COLUMN ff_internal.table_window.since_change IS 'since fillfactor or indexes last changed: how HOT updates are now';
COMMENT ON COLUMN ff_internal.table_window.recent IS 'the newest part of since_change that has at least a third of its updates; all of it where there are none';

CREATE TYPE ff_internal.table_evidence AS (
    relation       regclass,
    rel_id         bigint,
    nspname        name,
    relname        name,
    relkind        "char",
    not_examined   text,
    fillfactor     integer,
    reloptions     text[],
    snapshot_at    timestamptz,
    window_s       double precision,
    since_change_s double precision,
    counters       ff_internal.window_counters,
    since_change   ff_internal.window_counters,
    recent         ff_internal.window_counters,
    counts_lost    boolean,
    open_writers   integer,
    heap_bytes     bigint,
    index_bytes    bigint,
    toast_bytes    bigint,
    indexes        integer,
    ram_bytes      bigint,
    ram_ratio      double precision,
    problem        text,
    seen_hot       double precision,
    seen_same_page double precision,
    seen_newpage   double precision,
    sample         ff_internal.page_sample
);
COMMENT ON TYPE ff_internal.table_evidence IS 'Everything observed of a table, see evidence().';
COMMENT ON COLUMN ff_internal.table_evidence.relation IS 'the table';
COMMENT ON COLUMN ff_internal.table_evidence.rel_id IS 'key of its history; NULL where it was never collected';
COMMENT ON COLUMN ff_internal.table_evidence.nspname IS 'schema';
COMMENT ON COLUMN ff_internal.table_evidence.relname IS 'name';
COMMENT ON COLUMN ff_internal.table_evidence.relkind IS 'kind, as in pg_class';
COMMENT ON COLUMN ff_internal.table_evidence.not_examined IS 'why it is not examined; NULL where it is';
COMMENT ON COLUMN ff_internal.table_evidence.fillfactor IS 'effective fillfactor now, percent';
COMMENT ON COLUMN ff_internal.table_evidence.reloptions IS 'its storage options now, as stored';
COMMENT ON COLUMN ff_internal.table_evidence.snapshot_at IS 'when its counters were last read';
COMMENT ON COLUMN ff_internal.table_evidence.window_s IS 'seconds from the begin of the window to snapshot_at';
COMMENT ON COLUMN ff_internal.table_evidence.since_change_s IS 'seconds of these since fillfactor or indexes last changed';
COMMENT ON COLUMN ff_internal.table_evidence.counters IS 'counters of the window: fillfactor_advisor.lookback; NULL where nothing was written in it';
COMMENT ON COLUMN ff_internal.table_evidence.since_change IS 'counters of its part since fillfactor or indexes last changed';
COMMENT ON COLUMN ff_internal.table_evidence.recent IS 'counters of the most recent part of that, see table_window';
COMMENT ON COLUMN ff_internal.table_evidence.counts_lost IS 'track_counts was off in a collection of the window';
COMMENT ON COLUMN ff_internal.table_evidence.open_writers IS 'sessions whose updates were not counted yet at the last collection';
COMMENT ON COLUMN ff_internal.table_evidence.heap_bytes IS 'size of the main fork now; NULL where unknown';
COMMENT ON COLUMN ff_internal.table_evidence.index_bytes IS 'size of all indexes now; NULL where unknown';
COMMENT ON COLUMN ff_internal.table_evidence.toast_bytes IS 'size of the TOAST table now; NULL where unknown';
COMMENT ON COLUMN ff_internal.table_evidence.indexes IS 'valid indexes';
COMMENT ON COLUMN ff_internal.table_evidence.ram_bytes IS 'memory that the table is compared with, see ff_memory()';
COMMENT ON COLUMN ff_internal.table_evidence.ram_ratio IS '(table + indexes) / memory';
COMMENT ON COLUMN ff_internal.table_evidence.problem IS 'SQLSTATE and message of the last failed sample; NULL where it succeeded';
COMMENT ON COLUMN ff_internal.table_evidence.seen_hot IS 'superseded_hot of the sample; NULL where it is older than the last change of fillfactor or indexes';
COMMENT ON COLUMN ff_internal.table_evidence.seen_same_page IS 'the same of superseded_same_page';
COMMENT ON COLUMN ff_internal.table_evidence.seen_newpage IS 'the same of superseded_newpage';
COMMENT ON COLUMN ff_internal.table_evidence.sample IS 'the last sample of its pages, with what earlier ones saw; NULL: never sampled';

CREATE VIEW ff_internal.last_change AS
SELECT c.rel_id, c.changed_at, c.reindexed_at,
       -- the sample that came with the change saw the versions from before it
       CASE WHEN c.reindexed_at IS NOT NULL
            THEN coalesce((SELECT min(o.began_at) FROM ff_internal.collection o WHERE o.began_at > c.reindexed_at),
                          'infinity') END AS samples_from
  FROM (SELECT h.rel_id, max(h.seen_at) AS changed_at, max(h.seen_at) FILTER (WHERE h.kind = 'indexes') AS reindexed_at
          FROM ff_internal.change h WHERE h.kind IN ('fillfactor', 'indexes') GROUP BY h.rel_id) c;
COMMENT ON VIEW ff_internal.last_change IS
'When fillfactor or indexes of a table last changed (changed_at) and when its indexes did (reindexed_at), after which other updates can be HOT and other samples speak of them (samples_from).';
