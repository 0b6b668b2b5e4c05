-- What the model is given, what it answers, and the answers that collections keep.

-- All of one type, as the model takes them (src/model.c, by name): NULL is unknown.
CREATE TYPE ff_internal.model_input AS (
    fillfactor           double precision,
    updated              double precision,
    hot_updated          double precision,
    newpage_updated      double precision,
    inserted             double precision,
    deleted              double precision,
    window_s             double precision,
    total_inserted       double precision,
    total_updated        double precision,
    window_updated       double precision,
    vacuums              double precision,
    seen_hot             double precision,
    seen_same_page       double precision,
    seen_newpage         double precision,
    blocks               double precision,
    live_rows            double precision,
    inserted_width       double precision,
    inserted_width_err   double precision,
    updated_width        double precision,
    updated_width_err    double precision,
    updated_pct          double precision,
    rows_per_page        double precision,
    rows_per_page_max    double precision,
    update_group_rows    double precision,
    insert_group_rows    double precision,
    update_distance_p10  double precision,
    update_distance_p50  double precision,
    update_distance_p90  double precision,
    table_xids           double precision,
    update_call_rows     double precision,
    insert_call_rows     double precision,
    indexed_share        double precision,
    vacuum_scale         double precision,
    vacuum_nap_s         double precision,
    sessions             double precision,
    update_records       double precision,
    indexes              double precision,
    index_bytes          double precision,
    heap_bytes           double precision,
    ram_bytes            double precision,
    index_scans          double precision,
    seq_scans            double precision,
    blocks_fetched       double precision,
    checkpoint_s         double precision,
    read_us              double precision,
    update_wal_bytes     double precision
);
COMMENT ON TYPE ff_internal.model_input IS 'What the model is given of a table, see model_input(). Counts are of the recent intervals unless said.';
COMMENT ON COLUMN ff_internal.model_input.fillfactor IS 'effective now, percent';
COMMENT ON COLUMN ff_internal.model_input.updated IS 'rows updated';
COMMENT ON COLUMN ff_internal.model_input.hot_updated IS 'of these, HOT';
COMMENT ON COLUMN ff_internal.model_input.newpage_updated IS 'of these, to another page; NULL where not counted (PostgreSQL 15)';
COMMENT ON COLUMN ff_internal.model_input.inserted IS 'rows inserted';
COMMENT ON COLUMN ff_internal.model_input.deleted IS 'rows deleted';
COMMENT ON COLUMN ff_internal.model_input.window_s IS 'seconds that these counts cover';
COMMENT ON COLUMN ff_internal.model_input.total_inserted IS 'rows inserted since the table''s counters began';
COMMENT ON COLUMN ff_internal.model_input.total_updated IS 'rows updated since then';
COMMENT ON COLUMN ff_internal.model_input.window_updated IS 'rows updated in the whole window';
COMMENT ON COLUMN ff_internal.model_input.vacuums IS 'vacuums, manual and automatic';
COMMENT ON COLUMN ff_internal.model_input.seen_hot IS 'old versions in the pages whose successor is heap-only; only ratios of the three count';
COMMENT ON COLUMN ff_internal.model_input.seen_same_page IS 'the same: in the same page, not heap-only';
COMMENT ON COLUMN ff_internal.model_input.seen_newpage IS 'the same: in another page';
COMMENT ON COLUMN ff_internal.model_input.blocks IS 'size of the main fork at the last sample, pages';
COMMENT ON COLUMN ff_internal.model_input.live_rows IS 'live rows in the table';
COMMENT ON COLUMN ff_internal.model_input.inserted_width IS 'mean length of rows never updated, bytes with header';
COMMENT ON COLUMN ff_internal.model_input.inserted_width_err IS 'half width of its 95 % interval';
COMMENT ON COLUMN ff_internal.model_input.updated_width IS 'mean length of rows updated since insert';
COMMENT ON COLUMN ff_internal.model_input.updated_width_err IS 'half width of its 95 % interval';
COMMENT ON COLUMN ff_internal.model_input.updated_pct IS 'live rows updated since insert, percent';
COMMENT ON COLUMN ff_internal.model_input.rows_per_page IS 'live rows on a page that holds any, mean';
COMMENT ON COLUMN ff_internal.model_input.rows_per_page_max IS 'the most seen';
COMMENT ON COLUMN ff_internal.model_input.update_group_rows IS 'rows of one page that one transaction updated, median over updated rows';
COMMENT ON COLUMN ff_internal.model_input.insert_group_rows IS 'rows of one page that one transaction inserted, median';
COMMENT ON COLUMN ff_internal.model_input.update_distance_p10 IS 'transactions from a page''s inserts to a row''s newest version, 10th percentile';
COMMENT ON COLUMN ff_internal.model_input.update_distance_p50 IS 'median';
COMMENT ON COLUMN ff_internal.model_input.update_distance_p90 IS '90th percentile';
COMMENT ON COLUMN ff_internal.model_input.table_xids IS 'transactions from the table''s creation to the end of the last interval';
COMMENT ON COLUMN ff_internal.model_input.update_call_rows IS 'rows that one call of an UPDATE updates, as the mean row meets it; NULL: no statement known';
COMMENT ON COLUMN ff_internal.model_input.insert_call_rows IS 'the same of an INSERT';
COMMENT ON COLUMN ff_internal.model_input.indexed_share IS 'share of the updated rows for which an indexed column was set, see indexed_share()';
COMMENT ON COLUMN ff_internal.model_input.vacuum_scale IS 'its autovacuum scale factor';
COMMENT ON COLUMN ff_internal.model_input.vacuum_nap_s IS 'least seconds between two autovacuums';
COMMENT ON COLUMN ff_internal.model_input.sessions IS 'sessions of the database at work at a time, mean';
COMMENT ON COLUMN ff_internal.model_input.update_records IS 'WAL records of a row updated, see update_records()';
COMMENT ON COLUMN ff_internal.model_input.indexes IS 'valid indexes';
COMMENT ON COLUMN ff_internal.model_input.index_bytes IS 'their size now';
COMMENT ON COLUMN ff_internal.model_input.heap_bytes IS 'size of the main fork now';
COMMENT ON COLUMN ff_internal.model_input.ram_bytes IS 'memory that may hold table and indexes';
COMMENT ON COLUMN ff_internal.model_input.index_scans IS 'index scans begun';
COMMENT ON COLUMN ff_internal.model_input.seq_scans IS 'sequential scans begun';
COMMENT ON COLUMN ff_internal.model_input.blocks_fetched IS 'heap pages asked for';
COMMENT ON COLUMN ff_internal.model_input.checkpoint_s IS 'seconds between two checkpoints';
COMMENT ON COLUMN ff_internal.model_input.read_us IS 'microseconds of a random page read; NULL: not measured';
COMMENT ON COLUMN ff_internal.model_input.update_wal_bytes IS 'WAL bytes of a row updated, by the statements; NULL: no statement known';

CREATE TYPE ff_internal.step AS (
    fillfactor           integer,
    rows_per_page        integer,
    hot_pct              double precision,
    hot_pct_low          double precision,
    hot_pct_high         double precision,
    newpage_pct          double precision,
    settled_hot_pct      double precision,
    size_bytes           bigint,
    index_bytes          bigint,
    wal_bytes_per_update double precision,
    us_per_update        double precision,
    cost                 double precision
);
COMMENT ON TYPE ff_internal.step IS 'What one fillfactor would do to a table; between two steps nothing changes.';
COMMENT ON COLUMN ff_internal.step.fillfactor IS 'highest of the step, percent';
COMMENT ON COLUMN ff_internal.step.rows_per_page IS 'rows with which inserts fill a page';
COMMENT ON COLUMN ff_internal.step.hot_pct IS 'HOT share over a window such as the one observed, percent; NULL without updates';
COMMENT ON COLUMN ff_internal.step.hot_pct_low IS 'lower end of its range';
COMMENT ON COLUMN ff_internal.step.hot_pct_high IS 'upper end of its range';
COMMENT ON COLUMN ff_internal.step.newpage_pct IS 'share of the updates that go to another page, percent';
COMMENT ON COLUMN ff_internal.step.settled_hot_pct IS 'HOT share once the table has settled, percent';
COMMENT ON COLUMN ff_internal.step.size_bytes IS 'main fork';
COMMENT ON COLUMN ff_internal.step.index_bytes IS 'all indexes';
COMMENT ON COLUMN ff_internal.step.wal_bytes_per_update IS 'WAL of a row updated, with what comes along with it';
COMMENT ON COLUMN ff_internal.step.us_per_update IS 'microseconds of CPU and waiting for pages, the same';
COMMENT ON COLUMN ff_internal.step.cost IS 'time, WAL and size, weighted by the settings, relative to the best step';

CREATE TYPE ff_internal.choice AS (
    current_step     integer,
    advised_step     integer,
    advised_in_ram   integer,
    gain             double precision,
    best_gain        double precision,
    rewrite_gain     double precision,
    wal_bytes_now    double precision,
    us_now           double precision,
    confidence       double precision,
    agreement        double precision,
    needs_rewrite    boolean,
    filled_at        integer,
    fitted_hot_pct   double precision,
    fresh_share      double precision,
    hot_eligible     double precision,
    update_call_rows double precision,
    runs             integer,
    lifecycles       text
);
COMMENT ON TYPE ff_internal.choice IS 'What the model makes of a table, and which step it would take.';
COMMENT ON COLUMN ff_internal.choice.current_step IS 'fillfactor of the step that the table is at, percent';
COMMENT ON COLUMN ff_internal.choice.advised_step IS 'of the step advised; the current one where no other saves min_gain';
COMMENT ON COLUMN ff_internal.choice.advised_in_ram IS 'of the step that would be advised if everything were in memory';
COMMENT ON COLUMN ff_internal.choice.gain IS 'cost as it is against cost at advised_step; 1: nothing advised';
COMMENT ON COLUMN ff_internal.choice.best_gain IS 'the same of the cheapest step, advised or not';
COMMENT ON COLUMN ff_internal.choice.rewrite_gain IS 'cost as it is against cost once rewritten at the fillfactor it has';
COMMENT ON COLUMN ff_internal.choice.wal_bytes_now IS 'WAL of a row updated as it is, bytes';
COMMENT ON COLUMN ff_internal.choice.us_now IS 'microseconds of a row updated as it is';
COMMENT ON COLUMN ff_internal.choice.confidence IS 'how well the fit explains what was seen, 0 to 1; NULL without updates';
COMMENT ON COLUMN ff_internal.choice.agreement IS 'weight of the lifecycles by which the cheapest step beats the current one, 0 to 1';
COMMENT ON COLUMN ff_internal.choice.needs_rewrite IS 'most updates fall on pages that are filled already';
COMMENT ON COLUMN ff_internal.choice.filled_at IS 'fillfactor at which its pages were filled, where higher than the table''s';
COMMENT ON COLUMN ff_internal.choice.fitted_hot_pct IS 'HOT share by the likeliest lifecycle at the current fillfactor, percent';
COMMENT ON COLUMN ff_internal.choice.fresh_share IS 'share of the updates that come soon after the insert';
COMMENT ON COLUMN ff_internal.choice.hot_eligible IS 'share of the updates that could be HOT, given room';
COMMENT ON COLUMN ff_internal.choice.update_call_rows IS 'as the model was given it';
COMMENT ON COLUMN ff_internal.choice.runs IS 'replays it took';
COMMENT ON COLUMN ff_internal.choice.lifecycles IS 'the lifecycles that explain the table, in words';

CREATE TABLE ff_internal.fit (
    rel_id          bigint PRIMARY KEY,
    made_at         timestamptz NOT NULL,
    mark            text NOT NULL,
    shape           text NOT NULL,
    choice          ff_internal.choice,
    steps           ff_internal.step[],
    action          text NOT NULL CHECK (action IN ('lower', 'raise', 'keep', 'wait')),
    from_fillfactor smallint NOT NULL CHECK (from_fillfactor BETWEEN 10 AND 100),
    to_fillfactor   smallint NOT NULL CHECK (to_fillfactor BETWEEN 10 AND 100),
    confidence      real NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    updates_per_s   real,
    CHECK ((action IN ('lower', 'raise')) = (from_fillfactor <> to_fillfactor))
) WITH (fillfactor = 50);
COMMENT ON TABLE ff_internal.fit IS 'What a collection last made of a table''s evidence, and what ff_advise() said then.';
COMMENT ON COLUMN ff_internal.fit.made_at IS 'when the evidence was last judged';
COMMENT ON COLUMN ff_internal.fit.mark IS 'hash of the evidence and of the settings that it was made of';
COMMENT ON COLUMN ff_internal.fit.shape IS 'hash of what makes any older fit useless: another file, fillfactor, set of indexes, server or version of the model';
COMMENT ON COLUMN ff_internal.fit.choice IS 'the model''s choice; NULL where it was not asked or could not answer';
COMMENT ON COLUMN ff_internal.fit.steps IS 'its curve, from 100 downwards';
COMMENT ON COLUMN ff_internal.fit.action IS 'what ff_advise() said then';
COMMENT ON COLUMN ff_internal.fit.from_fillfactor IS 'effective fillfactor then, percent';
COMMENT ON COLUMN ff_internal.fit.to_fillfactor IS 'advised fillfactor, percent; the same where no change was advised';
COMMENT ON COLUMN ff_internal.fit.confidence IS 'confidence of the advice, 0 to 1';
COMMENT ON COLUMN ff_internal.fit.updates_per_s IS 'rows updated per second over the window; NULL: nothing was written';

CREATE TYPE ff_internal.diagnosis AS (
    evidence          ff_internal.table_evidence,
    cause             text,
    wants_model       boolean,
    hot_share         double precision,
    newpage_share     double precision,
    blocked_share     double precision,
    recoverable_share double precision,
    indexed_share     double precision,
    kept_share        double precision,
    kept_with_room    double precision,
    eligible_known    boolean,
    held_back         text,
    row_width         double precision
);
COMMENT ON TYPE ff_internal.diagnosis IS 'What the evidence shows of a table. Shares are of the recent updates, 0 to 1; see split_updates().';
COMMENT ON COLUMN ff_internal.diagnosis.evidence IS 'what it was made of';
COMMENT ON COLUMN ff_internal.diagnosis.cause IS 'as ff_advise() has it';
COMMENT ON COLUMN ff_internal.diagnosis.wants_model IS 'a fillfactor could matter';
COMMENT ON COLUMN ff_internal.diagnosis.hot_share IS 'HOT';
COMMENT ON COLUMN ff_internal.diagnosis.newpage_share IS 'went to another page';
COMMENT ON COLUMN ff_internal.diagnosis.blocked_share IS 'not HOT, whatever the room';
COMMENT ON COLUMN ff_internal.diagnosis.recoverable_share IS 'not HOT for want of room only';
COMMENT ON COLUMN ff_internal.diagnosis.indexed_share IS 'by statements that set an indexed column; NULL where not asked, or not known';
COMMENT ON COLUMN ff_internal.diagnosis.kept_share IS 'kept from being HOT by an index, whether or not they lacked room as well';
COMMENT ON COLUMN ff_internal.diagnosis.kept_with_room IS 'of these, those that had room';
COMMENT ON COLUMN ff_internal.diagnosis.eligible_known IS 'it is known whether updates change an indexed column';
COMMENT ON COLUMN ff_internal.diagnosis.held_back IS 'what an old snapshot cost, in words; NULL: none did';
COMMENT ON COLUMN ff_internal.diagnosis.row_width IS 'length of rows as inserted, bytes with header';

CREATE TYPE ff_internal.decision AS (
    diagnosis              ff_internal.diagnosis,
    fit                    ff_internal.fit,
    now_step               ff_internal.step,
    then_step              ff_internal.step,
    action                 text,
    cause                  text,
    recommended_fillfactor integer,
    gain                   double precision,
    confidence             double precision,
    needed_confidence      double precision,
    passed_over            boolean,
    readers_pages          double precision,
    because                text
);
COMMENT ON TYPE ff_internal.decision IS 'What is advised for a table, before it is put in words.';
COMMENT ON COLUMN ff_internal.decision.diagnosis IS 'what the evidence shows';
COMMENT ON COLUMN ff_internal.decision.fit IS 'what the model makes of it; NULL where it was not asked';
COMMENT ON COLUMN ff_internal.decision.now_step IS 'step of the curve that the table is at';
COMMENT ON COLUMN ff_internal.decision.then_step IS 'step that the model would take, also where that is not advised';
COMMENT ON COLUMN ff_internal.decision.action IS 'lower, raise, keep or wait';
COMMENT ON COLUMN ff_internal.decision.cause IS 'as ff_advise() has it';
COMMENT ON COLUMN ff_internal.decision.recommended_fillfactor IS 'percent; the table''s own where nothing is to be changed';
COMMENT ON COLUMN ff_internal.decision.gain IS 'cost now against cost at then_step';
COMMENT ON COLUMN ff_internal.decision.confidence IS '0 to 1, see decide()';
COMMENT ON COLUMN ff_internal.decision.needed_confidence IS 'confidence that the change would need';
COMMENT ON COLUMN ff_internal.decision.passed_over IS 'the model would have been asked, but was not';
COMMENT ON COLUMN ff_internal.decision.readers_pages IS 'pages that readers fetched while the recent updates were made';
COMMENT ON COLUMN ff_internal.decision.because IS 'what decided besides the table''s own curve: siblings, standing (advice that stands), taken (a change made lately), short (less than a day was watched); NULL: nothing';
