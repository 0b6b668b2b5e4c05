-- What samples of pages found.

CALL ff_internal.define($$
CREATE TABLE ff_internal.page_sample (
    -- What a random sample of a table's pages showed. Rows and versions are estimates for the whole table. Pooled
    -- columns include earlier samples, which fade over fillfactor_advisor.lookback; kept columns are from
    -- the last sample that had a value. Histograms are weights without trailing zeros, NULL if empty.
    rel_id               bigint NOT NULL,
    sampled_at           timestamptz NOT NULL, -- when the sample began
    rollup               smallint NOT NULL DEFAULT 0 CHECK (rollup BETWEEN 0 AND 2), -- 1, 2: the last of an hour, a day
    fillfactor           smallint NOT NULL CHECK (fillfactor BETWEEN 10 AND 100), -- effective then, percent
    blocks               bigint NOT NULL, -- pages of the main fork
    blocks_read          integer NOT NULL, -- pages read
    blocks_new           integer NOT NULL, -- of these, all-zero; counted as free
    blocks_bad           integer NOT NULL, -- of these, rejected as contradictory; counted as empty
    live_pct             real,       -- bytes of live rows, percent of the table
    dead_pct             real,       -- of dead and recently dead rows, likewise
    free_pct             real,       -- free space, likewise
    live_rows            float8,     -- live rows
    dead_rows            float8,     -- dead and recently dead rows
    recently_dead_rows   float8,     -- of these, possibly still visible to another snapshot
    updated_hot_rows     float8,     -- live rows whose newest version is heap-only; a rewrite clears that flag
    updated_nonhot_rows  float8,     -- live rows whose newest version came from a non-HOT update
    superseded_hot       float8,     -- old versions with a heap-only successor; pooled since the last change of
        -- fillfactor or indexes; only its ratio to the next two counts
    superseded_same_page float8,     -- with one in the same page, not heap-only: an indexed column changed
    superseded_newpage   float8,     -- with one in another page: the page was full
    rows_per_page        real,       -- live rows on a page that holds any, mean
    rows_per_page_max    real,       -- the same, most seen
    inserted_width       real,       -- mean length of rows never updated, bytes with header, not aligned; kept. If all
        -- were updated, that of rows inserted by the WAL of inserts, if far shorter
    updated_width        real,       -- of rows updated since insert, likewise
    updated_pct          real,       -- live rows updated since insert, percent of live rows
    update_group_rows    real,       -- rows of a page that one transaction updated, median over these rows; kept
    inserted_length      real[],     -- MAXALIGNed lengths of rows never updated: up to 16 pairs of bytes and rows,
        -- ascending; neighbours are merged to their mean; pooled
    updated_length       real[],     -- of rows updated since insert, likewise
    group_old_page       real[],     -- updated rows by how many rows of their page the same transaction updated: 1, 2,
        -- 3-4, 5-8, ..., 129-256, more; pooled
    group_new_page       real[],     -- the same on pages that one update filled with rows of other pages; pooled
    update_distance      real[],     -- updated rows by transactions between the inserts of their page and their newest
        -- version; bin i: 2^i to below 2^(i+1), the first includes 0; pooled
    update_age           real[],     -- updated rows by transactions since their newest version, same bins
    changed_columns      real[]      -- of updates within a page, up to ten a page: how many were compared, then by
        -- attnum how many changed the column; pooled
);
$$);
CREATE INDEX page_sample_rel_id_sampled_at ON ff_internal.page_sample (rel_id, sampled_at);
CREATE INDEX page_sample_rollup_sampled_at ON ff_internal.page_sample (rollup, sampled_at);
