-- What the model is given, what it answers, and the answers that collections keep.

-- What the model is given, as src/model.c takes it, by name: NULL is unknown.
CREATE TYPE ff_internal.model_input AS (
    interval_seconds        double precision[],
    interval_inserted       double precision[],
    interval_updated        double precision[],
    interval_hot            double precision[],
    interval_newpage        double precision[],
    interval_deleted        double precision[],
    interval_vacuums        double precision[],
    observed_s              double precision,
    earlier_updated         double precision,
    window_xids             double precision,
    statement_command       double precision[],
    statement_calls         double precision[],
    statement_rows          double precision[],
    statement_sets_indexed  double precision[],
    statement_wal_records   double precision[],
    statement_wal_bytes     double precision[],
    statement_busy_share    double precision[],
    indexed_share           double precision,
    blocks                  double precision,
    live_rows               double precision,
    rows_per_page           double precision,
    rows_per_page_max       double precision,
    updated_pct             double precision,
    seen_hot                double precision,
    seen_same_page          double precision,
    seen_moved              double precision,
    recent_share            double precision,
    recent_dead             double precision,
    inserted_length         double precision[],
    updated_length          double precision[],
    group_old_page          double precision[],
    group_new_page          double precision[],
    insert_group            double precision[],
    update_distance         double precision[],
    update_age              double precision[],
    inserted_width          double precision,
    inserted_width_err      double precision,
    updated_width           double precision,
    updated_width_err       double precision,
    update_group_rows       double precision,
    insert_group_rows       double precision,
    update_distance_p50     double precision,
    fillfactor              double precision,
    filled_at               double precision,
    updated_since           double precision,
    indexes                 double precision,
    index_bytes             double precision,
    ram_bytes               double precision,
    vacuum_scale            double precision,
    vacuum_threshold        double precision,
    vacuum_nap_s            double precision,
    sessions                double precision,
    index_scans             double precision,
    seq_scans               double precision,
    blocks_fetched          double precision,
    checkpoint_s            double precision,
    read_us                 double precision
);
COMMENT ON TYPE ff_internal.model_input IS 'What the model is given of a table, see model_input(). Counts are since fillfactor or indexes last changed.';
COMMENT ON COLUMN ff_internal.model_input.interval_seconds IS 'seconds that each interval covers; the newest first, the oldest ones as one';
COMMENT ON COLUMN ff_internal.model_input.interval_inserted IS 'rows inserted in each';
COMMENT ON COLUMN ff_internal.model_input.interval_updated IS 'rows updated';
COMMENT ON COLUMN ff_internal.model_input.interval_hot IS 'of these, HOT';
COMMENT ON COLUMN ff_internal.model_input.interval_newpage IS 'of these, to another page; NULL where not counted (PostgreSQL 15)';
COMMENT ON COLUMN ff_internal.model_input.interval_deleted IS 'rows deleted';
COMMENT ON COLUMN ff_internal.model_input.interval_vacuums IS 'vacuums, manual and automatic';
COMMENT ON COLUMN ff_internal.model_input.observed_s IS 'seconds watched, those included in which nothing was written';
COMMENT ON COLUMN ff_internal.model_input.earlier_updated IS 'rows updated before the intervals';
COMMENT ON COLUMN ff_internal.model_input.window_xids IS 'transactions of the cluster from the first interval to the last';
COMMENT ON COLUMN ff_internal.model_input.statement_command IS 'statements that write the table, the most rows first: 0 INSERT, 1 UPDATE, 2 DELETE, 3 another';
COMMENT ON COLUMN ff_internal.model_input.statement_calls IS 'calls of each';
COMMENT ON COLUMN ff_internal.model_input.statement_rows IS 'rows of each; of ON CONFLICT DO UPDATE those inserted and those updated apart';
COMMENT ON COLUMN ff_internal.model_input.statement_sets_indexed IS '1: it sets an indexed column, 0: it does not; NULL: unknown';
COMMENT ON COLUMN ff_internal.model_input.statement_wal_records IS 'WAL records; NULL where they are not of the table alone';
COMMENT ON COLUMN ff_internal.model_input.statement_wal_bytes IS 'WAL bytes';
COMMENT ON COLUMN ff_internal.model_input.statement_busy_share IS 'share of the time in which it was at work, against the steadiest of them';
COMMENT ON COLUMN ff_internal.model_input.indexed_share IS 'share of the updated rows for which an indexed column was set, see indexed_share()';
COMMENT ON COLUMN ff_internal.model_input.blocks IS 'size of the main fork at the last sample, pages';
COMMENT ON COLUMN ff_internal.model_input.live_rows IS 'live rows in the table';
COMMENT ON COLUMN ff_internal.model_input.rows_per_page IS 'live rows on a page that holds any, mean';
COMMENT ON COLUMN ff_internal.model_input.rows_per_page_max IS 'the most seen';
COMMENT ON COLUMN ff_internal.model_input.updated_pct IS 'live rows updated since insert, percent';
COMMENT ON COLUMN ff_internal.model_input.seen_hot IS 'old versions in the pages whose successor is heap-only; only ratios of the three count';
COMMENT ON COLUMN ff_internal.model_input.seen_same_page IS 'the same: in the same page, not heap-only';
COMMENT ON COLUMN ff_internal.model_input.seen_moved IS 'the same: in another page';
COMMENT ON COLUMN ff_internal.model_input.recent_share IS 'share of the samples with dead versions that some snapshot might still see, see recent_input()';
COMMENT ON COLUMN ff_internal.model_input.recent_dead IS 'in these, such versions per live row, mean';
COMMENT ON COLUMN ff_internal.model_input.inserted_length IS 'this to update_age: histograms of page_sample';
COMMENT ON COLUMN ff_internal.model_input.updated_length IS 'see there';
COMMENT ON COLUMN ff_internal.model_input.group_old_page IS 'see there';
COMMENT ON COLUMN ff_internal.model_input.group_new_page IS 'see there';
COMMENT ON COLUMN ff_internal.model_input.insert_group IS 'see there';
COMMENT ON COLUMN ff_internal.model_input.update_distance IS 'see there';
COMMENT ON COLUMN ff_internal.model_input.update_age IS 'see there';
COMMENT ON COLUMN ff_internal.model_input.inserted_width IS 'mean length of rows never updated, bytes with header';
COMMENT ON COLUMN ff_internal.model_input.inserted_width_err IS 'half width of its 95 % interval';
COMMENT ON COLUMN ff_internal.model_input.updated_width IS 'mean length of rows updated since insert';
COMMENT ON COLUMN ff_internal.model_input.updated_width_err IS 'half width of its 95 % interval';
COMMENT ON COLUMN ff_internal.model_input.update_group_rows IS 'rows of one page that one transaction updated, median over updated rows';
COMMENT ON COLUMN ff_internal.model_input.insert_group_rows IS 'rows of one page that one transaction inserted, median';
COMMENT ON COLUMN ff_internal.model_input.update_distance_p50 IS 'transactions from a page''s inserts to a row''s newest version, median';
COMMENT ON COLUMN ff_internal.model_input.fillfactor IS 'effective now, percent';
COMMENT ON COLUMN ff_internal.model_input.filled_at IS 'fillfactor before the last change, where the table was not rewritten since';
COMMENT ON COLUMN ff_internal.model_input.updated_since IS 'rows updated since that change';
COMMENT ON COLUMN ff_internal.model_input.indexes IS 'valid indexes';
COMMENT ON COLUMN ff_internal.model_input.index_bytes IS 'size of the indexes now';
COMMENT ON COLUMN ff_internal.model_input.ram_bytes IS 'memory that may hold table and indexes';
COMMENT ON COLUMN ff_internal.model_input.vacuum_scale IS 'its autovacuum scale factor';
COMMENT ON COLUMN ff_internal.model_input.vacuum_threshold IS 'its autovacuum threshold, rows';
COMMENT ON COLUMN ff_internal.model_input.vacuum_nap_s IS 'least seconds between two autovacuums; -1: there is none';
COMMENT ON COLUMN ff_internal.model_input.sessions IS 'sessions of the database at work at a time, mean';
COMMENT ON COLUMN ff_internal.model_input.index_scans IS 'index scans begun';
COMMENT ON COLUMN ff_internal.model_input.seq_scans IS 'sequential scans begun';
COMMENT ON COLUMN ff_internal.model_input.blocks_fetched IS 'heap pages asked for';
COMMENT ON COLUMN ff_internal.model_input.checkpoint_s IS 'seconds between two checkpoints';
COMMENT ON COLUMN ff_internal.model_input.read_us IS 'microseconds of a random page read; NULL: not measured';

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
    cost                 double precision,
    needs_rewrite        boolean
);
COMMENT ON TYPE ff_internal.step IS 'What one fillfactor would do to a table; between two steps nothing changes.';
COMMENT ON COLUMN ff_internal.step.fillfactor IS 'highest of the step, percent';
COMMENT ON COLUMN ff_internal.step.rows_per_page IS 'rows with which inserts fill a page';
COMMENT ON COLUMN ff_internal.step.hot_pct IS 'HOT share over a window such as the one observed, percent; NULL without updates';
COMMENT ON COLUMN ff_internal.step.hot_pct_low IS 'lower end of its range';
COMMENT ON COLUMN ff_internal.step.hot_pct_high IS 'upper end of its range';
COMMENT ON COLUMN ff_internal.step.newpage_pct IS 'share of the updates that go to another page, percent';
COMMENT ON COLUMN ff_internal.step.settled_hot_pct IS 'HOT share once the table has settled, percent';
COMMENT ON COLUMN ff_internal.step.size_bytes IS 'main fork at the end of fillfactor_advisor.payback_time';
COMMENT ON COLUMN ff_internal.step.index_bytes IS 'all indexes, the same';
COMMENT ON COLUMN ff_internal.step.wal_bytes_per_update IS 'WAL of a row updated, with what comes along with it, a rewrite included; mean over that time; NULL without updates';
COMMENT ON COLUMN ff_internal.step.us_per_update IS 'microseconds of CPU and waiting for pages, the same';
COMMENT ON COLUMN ff_internal.step.cost IS 'time, WAL and size, weighted by the settings, relative to the best step';
COMMENT ON COLUMN ff_internal.step.needs_rewrite IS 'the step costs less where the table is rewritten at once';

CREATE TYPE ff_internal.choice AS (
    action           text,
    current_step     integer,
    advised_step     integer,
    advised_in_ram   integer,
    gain             double precision,
    best_gain        double precision,
    rewrite_gain     double precision,
    rewrite_hot_pct  double precision,
    wal_bytes_now    double precision,
    us_now           double precision,
    bound            double precision,
    confidence       double precision,
    agreement        double precision,
    settling         double precision,
    settle_updates   double precision,
    filled_at        integer,
    update_call_rows double precision,
    runs             integer,
    lives            jsonb
);
COMMENT ON TYPE ff_internal.choice IS 'What the model makes of a table, and which step it would take.';
COMMENT ON COLUMN ff_internal.choice.action IS 'wait: too little was seen; keep; set: for new pages; rewrite: and rewrite the table';
COMMENT ON COLUMN ff_internal.choice.current_step IS 'fillfactor of the step that the table is at, percent';
COMMENT ON COLUMN ff_internal.choice.advised_step IS 'of the step advised; the current one where no other saves min_gain';
COMMENT ON COLUMN ff_internal.choice.advised_in_ram IS 'of the step that would be advised if everything were in memory';
COMMENT ON COLUMN ff_internal.choice.gain IS 'cost as it is against cost at advised_step; 1: nothing advised';
COMMENT ON COLUMN ff_internal.choice.best_gain IS 'the same of the cheapest step, advised or not';
COMMENT ON COLUMN ff_internal.choice.rewrite_gain IS 'cost as it is against cost once rewritten at the fillfactor it has';
COMMENT ON COLUMN ff_internal.choice.rewrite_hot_pct IS 'HOT share over a window such as the one observed, once rewritten so, percent';
COMMENT ON COLUMN ff_internal.choice.wal_bytes_now IS 'WAL of a row updated as it is, bytes, mean over the time that the choice is made for';
COMMENT ON COLUMN ff_internal.choice.us_now IS 'microseconds of a row updated as it is, the same';
COMMENT ON COLUMN ff_internal.choice.bound IS 'part of the cost that no fillfactor could save; where that is nearly all, nothing was replayed';
COMMENT ON COLUMN ff_internal.choice.confidence IS 'how well the model explains what was seen, 0 to 1';
COMMENT ON COLUMN ff_internal.choice.agreement IS 'weight of the explanations by which the change is cheaper, 0 to 1';
COMMENT ON COLUMN ff_internal.choice.settling IS 'weight of those by which the table becomes HOT by itself, 0 to 1';
COMMENT ON COLUMN ff_internal.choice.settle_updates IS 'rows updated until then';
COMMENT ON COLUMN ff_internal.choice.filled_at IS 'fillfactor at which its pages were filled, where higher than the table''s';
COMMENT ON COLUMN ff_internal.choice.update_call_rows IS 'rows updated by one call of a statement';
COMMENT ON COLUMN ff_internal.choice.runs IS 'replays it took';
COMMENT ON COLUMN ff_internal.choice.lives IS 'lives of the table that explain what was seen, at most three, the most weight first; members as TwinLife has them (src/model/twin.h)';

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
COMMENT ON COLUMN ff_internal.fit.choice IS 'the model''s choice; NULL where it was not asked or no row length is known';
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
COMMENT ON COLUMN ff_internal.diagnosis.wants_model IS 'the model decides';
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
