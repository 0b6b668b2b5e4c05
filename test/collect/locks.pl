# Locks: the collector waits for nobody, nobody waits for it longer than one table's sample takes, and only roles
# that may collect can block a collection.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../perl";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Beside qw(psql_beside wake freeze);
use Test::More tests => 73;

my $node = PostgreSQL::Test::Cluster->new('locks');
$node->init;
# the smallest possible lock table
$node->append_conf('postgresql.conf', q(
autovacuum = off
max_connections = 12
superuser_reserved_connections = 0
max_locks_per_transaction = 24
autovacuum_max_workers = 1
max_worker_processes = 0
max_wal_senders = 0
max_prepared_transactions = 1
));
$node->start;

sub value { return $node->safe_psql('postgres', $_[0]); }

# CALL ff_collect() after these settings; returns what psql reported, including notices
sub collect
{
	my ($status, $out, $err) = $node->psql('postgres', join('', map { "SET $_;\n" } @_) . 'CALL ff_collect()');
	return $status == 0 ? $err : "status $status: $err";
}
sub last_run { return value("SELECT $_[0] FROM ff_internal.collection ORDER BY collection_id DESC LIMIT 1"); }
sub problem
{
	return value("SELECT p.sqlstate FROM ff_internal.problem p
		JOIN ff_internal.relation r USING (rel_id) WHERE r.relname = '$_[0]'");
}
sub wait_until { $node->poll_query_until('postgres', $_[0]) or die "never: $_[0]"; return; }

# Sends SQL to a session without waiting for it
sub start
{
	my ($session, $sql) = @_;
	$session->{stdin} .= "$sql\n";
	$session->{run}->pump_nb;
	return;
}

# Ten tables of 100 pages or more. A sample sleeps every 100 pages, so it takes a while.
value(q(
	CREATE EXTENSION fillfactor_advisor;
	DO $$ BEGIN
		FOR i IN 0..9 LOOP
			EXECUTE format('CREATE TABLE slow%s AS '
				'SELECT g AS id, repeat(''x'', 2000) AS pad FROM generate_series(1, 400) g', i);
		END LOOP;
	END $$;
	-- with indexes, whose definitions a collection writes down
	CREATE TABLE held (id int PRIMARY KEY);
	CREATE TABLE awaited (id int PRIMARY KEY);
	INSERT INTO held VALUES (1);
	INSERT INTO awaited VALUES (1)));
sub change_all
{
	value(q(
		DO $$ DECLARE t name; BEGIN
			FOR t IN SELECT relname FROM pg_class WHERE relname ~ '^slow' AND relkind = 'r' LOOP
				EXECUTE format('UPDATE %I SET id = id WHERE id % 2 = 0', t);
			END LOOP;
		END $$;
		SELECT pg_stat_force_next_flush()) =~ s/% 2/%% 2/r);
	return;
}

# On one table ACCESS EXCLUSIVE is held, on another one it waits for a reader.
my $holder = $node->background_psql('postgres');
my $reader = $node->background_psql('postgres');
my $waiter = $node->background_psql('postgres');
my $block = $node->background_psql('postgres');
$holder->query_safe('BEGIN; LOCK TABLE held IN ACCESS EXCLUSIVE MODE');
$reader->query_safe('BEGIN; SELECT * FROM awaited');
start($waiter, 'BEGIN; LOCK TABLE awaited IN ACCESS EXCLUSIVE MODE; SELECT 1; COMMIT;');
wait_until(q(SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'awaited'::regclass AND NOT granted)));
is(collect('statement_timeout = 120000'), '', 'neither an exclusive lock nor one that is awaited stops the collector');
is(last_run('sampled, skipped, failed, deferred'), '10|2|0|0', 'the two tables are skipped, the others sampled');
is(problem('held') . ' ' . problem('awaited'), '55P03 55P03', 'the lock error is recorded for both tables');
like(value(q(SELECT reason FROM ff_advise('held'))),
	qr/could not be sampled, each collection tries again: 55P03 could not obtain lock/,
	'ff_advise() reports the lock error');
is(value(q(SELECT count(*) FROM pg_locks WHERE relation = 'awaited'::regclass)), 2,
	'the collector did not queue for the lock');
# A third table gets a new index and is then locked.
my $definitions = q(SELECT array_to_string(index_definitions, ';') FROM ff_internal.relation WHERE relname = );
is(value("$definitions 'held'"), '', 'the indexes of a locked table are not read');
$block->query_safe('BEGIN;
	CREATE INDEX slow0_id ON slow0 (id);
	COMMIT;
	BEGIN;
	LOCK TABLE slow0 IN ACCESS EXCLUSIVE MODE');
is(collect('statement_timeout = 120000'), '', 'a new index on a locked table: the collector does not wait');
is(value(q(SELECT count(*) FROM ff_internal.change WHERE kind = 'indexes')), 1,
	'the collector sees that the index was made');
$block->query_safe('COMMIT');
start($reader, 'COMMIT;');
start($holder, 'COMMIT;');
wait_until(q(SELECT NOT EXISTS (SELECT FROM pg_locks WHERE relation IN ('held'::regclass, 'awaited'::regclass))));
is(collect(), '', 'a collection works when the locks are gone');
is(last_run('sampled, skipped') . ' ' . value('SELECT count(*) FROM ff_internal.problem'), '2|0 0',
	'the two tables are sampled, and no problem is left');
is(value("$definitions 'held'"), 'CREATE UNIQUE INDEX held_pkey ON public.held USING btree (id)',
	'the index of a formerly locked table is read');
is(value("$definitions 'slow0'"), 'CREATE INDEX slow0_id ON public.slow0 USING btree (id)',
	'the new index of the third table is read');
is(value(q(SELECT count(*) FROM ff_internal.change WHERE kind = 'indexes')), 1,
	'reading these indexes is not recorded as a change');

# What is asked of a partitioned table does not wait for a lock on a partition, at any level.
value(q(
	CREATE TABLE parted (id int PRIMARY KEY) PARTITION BY RANGE (id);
	CREATE TABLE half PARTITION OF parted FOR VALUES FROM (0) TO (10) PARTITION BY RANGE (id);
	CREATE TABLE quarter PARTITION OF half FOR VALUES FROM (0) TO (5);
	CREATE TABLE other PARTITION OF parted FOR VALUES FROM (10) TO (20);
	CALL ff_collect()));
$holder->query_safe('BEGIN; LOCK TABLE quarter IN ACCESS EXCLUSIVE MODE');
foreach my $call (q(ff_dismiss('parted', 'later')), q(ff_dismiss('parted', NULL)), q(ff_script('parted')),
	q(ff_script('parted', undo => true)), q(ff_advise('parted')), q(ff_advise_indexes('parted')),
	q(ff_blockers('parted')), q(ff_verify('parted')))
{
	my ($status, undef, $err) = $node->psql('postgres', "SET statement_timeout = 20000; SELECT count(*) FROM $call");
	is("$status $err", '0 ', "$call does not wait for a partition");
}
is(value(q(SELECT string_agg(t::regclass::text, ' ' ORDER BY t) FROM ff_internal.with_children('parted'::regclass) t)),
	'parted half quarter other', 'the partitions of all levels are found');
$holder->query_safe('COMMIT');
value('DROP TABLE parted; CALL ff_collect()');

# While a collection runs. It is stopped in the sample of a table until it is released.
my ($collector, $frozen);
my $runs = q(EXISTS (SELECT FROM pg_stat_activity
	WHERE query ~ 'CALL ff_collect' AND state = 'active' AND pid <> pg_backend_pid()));
my $in_sample = q(SELECT l.pid, c.relname FROM pg_locks l
	JOIN pg_class c ON c.oid = l.relation JOIN pg_stat_activity a USING (pid)
	WHERE c.relname ~ '^slow\d$' AND l.mode = 'AccessShareLock' AND l.granted
		AND a.wait_event = 'Extension' AND a.query ~ 'CALL ff_collect');
my %met;
# Stops it in the sample of a table where it was not stopped before; returns that table
sub next_sample
{
	my $new = "$in_sample AND c.relname <> ALL ('{" . join(',', keys %met) . "}')";
	$frozen->thaw if $frozen;
	wake($node, 'postgres');
	$frozen = freeze($collector, $node, 'postgres', $new, sub { wake($node, 'postgres') });
	my $table = value("SELECT relname FROM ($new) s");
	$met{$table} = 1;
	return $table;
}
sub collector_begins
{
	change_all();
	%met = ();
	$collector = psql_beside($node, 'postgres', 'SET fillfactor_advisor.collect_time = 3600',
		'SET fillfactor_advisor.sample_delay = 10000', 'SET fillfactor_advisor.sample_error = 0', 'CALL ff_collect()');
	$frozen = undef;
	return next_sample();
}
sub collector_ends
{
	$frozen->thaw;
	return $collector->ended_soon($node, 'postgres');
}

my $table = collector_begins();
is(collect(),
	"psql:<stdin>:1: NOTICE:  another collection is running in this database\nDETAIL:  This call did nothing.",
	'a second collector reports the first one and does nothing');
# A transaction that ended before a sample began must have ended for the snapshot of that sample.
my @older;
foreach (1 .. 5)
{
	my $over = value('SELECT pg_current_xact_id()::text::int8');
	next_sample();
	push @older, $over
		if value("SELECT coalesce(a.backend_xmin::text::int8, 9e18) <= $over
			FROM pg_stat_activity a JOIN ($in_sample) s USING (pid)") ne 'f';
}
is(scalar keys %met, 6, 'the first collection continues and samples one table after the other');
is("@older", '', 'no snapshot of the collector is older than one table\'s sample');
is(collector_ends(), '', 'the first collection completes');
is(last_run('sampled, skipped, failed'), '10|0|0', 'all tables were sampled');

# DDL during a collection waits only for the table being sampled.
$table = collector_begins();
foreach my $ddl ('ALTER TABLE %s ADD COLUMN added int', 'VACUUM FULL %s', 'TRUNCATE %s')
{
	my $statement = sprintf $ddl, $table;
	my $change = psql_beside($node, 'postgres', $statement);
	wait_until("SELECT EXISTS (SELECT FROM pg_locks
		WHERE relation = '$table'::regclass AND mode = 'AccessExclusiveLock' AND NOT granted)");
	$table = next_sample();
	is($change->ended, '', "$statement: waits for this sample only, while the collection goes on");
}
my $waiting = value("SELECT relname FROM ff_internal.relation
	WHERE relname ~ '^slow' AND relname <> '$table' AND closed_at IS NULL
		AND sampled_at < (SELECT max(began_at) FROM ff_internal.collection)
	ORDER BY sampled_at DESC LIMIT 1");
value("DROP TABLE $waiting");
is(value("SELECT $runs"), 't', 'DROP TABLE of a table listed but not yet opened does not wait');
collector_ends();
# on a slow machine the collection may also skip a table that one of these statements has locked
is(last_run('skipped BETWEEN 1 AND 2, failed'), 't|0', 'a table dropped during a collection is skipped');
is(problem($waiting), '42P01', 'a table dropped during a collection: the error is recorded');
collect();
is(value("SELECT closed_at IS NOT NULL FROM ff_internal.relation WHERE relname = '$waiting'"), 't',
	'a table dropped during a collection: the next one closes its history');

# In a transaction block, rows become visible and the next collector can run only after the commit.
value('CREATE TABLE newcomer (i int)');
$block->query_safe('BEGIN; CALL ff_collect()');
like(collect('statement_timeout = 120000'), qr/another collection is running/,
	'a collector in a transaction block keeps others out until its end');
is(value(q(SELECT count(*) FROM ff_internal.relation WHERE relname = 'newcomer')), 0,
	'rows of a collection in an open block are not visible');
start($block, 'COMMIT;');
wait_until(q(SELECT EXISTS (SELECT FROM ff_internal.relation WHERE relname = 'newcomer')));
is(collect(), '', 'after the commit another collection works');
is(value(q(SELECT count(*) FROM ff_internal.relation WHERE relname = 'newcomer')), 1,
	'two collectors give a new table one history');
is(value(q(SELECT sampled_at = (SELECT max(sampled_at) FROM ff_internal.page_sample WHERE rel_id = r.rel_id)
	FROM ff_internal.relation r WHERE relname = 'newcomer')),
	't', 'the pages of the new table were sampled in the block');

# A prepared transaction cannot block collections either.
my ($prepared, $rows, $refused) = $node->psql('postgres', "BEGIN; CALL ff_collect(); PREPARE TRANSACTION 'later'");
my $why = 'No collection could run until it is committed or rolled back.';
like($refused, qr/ERROR:  cannot PREPARE a transaction that has called ff_collect\(\)\nDETAIL:  \Q$why\E$/,
	'a block with a collection in it cannot be prepared');
is(value('SELECT count(*) FROM pg_prepared_xacts')
	. value(q(SELECT count(*) FROM pg_locks WHERE locktype IN ('advisory', 'userlock'))),
	'00', 'the refused PREPARE leaves no transaction and no lock');
is(collect(), '', 'a collection works after the refused PREPARE');
value("BEGIN; SAVEPOINT s; CALL ff_collect(); ROLLBACK TO s; SELECT 1; PREPARE TRANSACTION 'later'");
is(collect(), '', 'a prepared transaction whose collection was rolled back does not block others');
value("COMMIT PREPARED 'later'");

# Functions that read the history and the catalogs do not wait either. This calls every function that takes no
# argument, a locked table or a locked index.
value('CREATE TABLE busy (id int PRIMARY KEY, v int) WITH (fillfactor = 40);
	CREATE INDEX busy_v ON busy (v);
	INSERT INTO busy SELECT g, 0 FROM generate_series(1, 1000) g');
foreach my $round (1 .. 3)
{
	value('UPDATE busy SET v = v + 1; SELECT pg_stat_force_next_flush()');
	value('CREATE INDEX busy_w ON busy (v, id)') if $round == 2;
	collect();
}
my $ask = q(
	SET lock_timeout = '1s';
	CREATE FUNCTION pg_temp.outcome(command text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE message text;
	BEGIN
		EXECUTE command;
		RETURN '';
	EXCEPTION WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS message = MESSAGE_TEXT;
		RETURN sqlstate || ' ' || message;
	END $$;
	SELECT p.proname || '|' || pg_temp.outcome(format('SELECT count(*) FROM %s(%s) x', p.oid::regproc, a.arg))
	  FROM pg_proc p
	  JOIN pg_extension e ON e.extname = 'fillfactor_advisor'
	   AND p.pronamespace IN (e.extnamespace, 'ff_internal'::regnamespace)
	 CROSS JOIN LATERAL (
	       SELECT '' WHERE p.pronargs = p.pronargdefaults
	       UNION ALL
	      SELECT format('%L::regclass::%s', r, p.proargtypes[0]::regtype)
	        FROM (VALUES ('busy'), ('busy_pkey')) r(r)
	        WHERE p.pronargs > 0
	          AND p.proargtypes[0] IN ('regclass'::regtype, 'oid'::regtype)
	          AND p.pronargs - p.pronargdefaults <= 1) a(arg)
	 WHERE p.prokind = 'f' AND p.proname !~ '^(ff_schedule|ff_unschedule|collect_begin)$'
	   AND (p.proname ~ '^ff_' OR p.pronamespace = 'ff_internal'::regnamespace);
);
foreach my $held ('LOCK TABLE busy IN ACCESS EXCLUSIVE MODE', 'REINDEX INDEX busy_pkey', 'DROP INDEX busy_v')
{
	$holder->query_safe("BEGIN; $held");
	my @outcomes = split /\n/, value($ask);
	cmp_ok(scalar @outcomes, '>=', 60, "$held: every function is called");
	my $unavailable = qr/42704 tablespace |55000 (?:extension dblink|pg_cron) is not |P0001 pg_stat_statements is not /;
	is(join("\n", grep { !/\|($|42809 |$unavailable|55P03 could not obtain lock on relation)/ } @outcomes), '',
		"$held: no function waits");
	is(value(q(SELECT count(definition) || ' of ' || count(index) FROM ff_blockers('busy'))),
		$held =~ /REINDEX/ ? '2 of 2' : '0 of 2', "$held: what cannot be read without the lock is left out");
	$holder->query_safe('ROLLBACK');
}

# Roles that may not collect cannot block collections.
value('CREATE ROLE plain LOGIN; CREATE ROLE monitor LOGIN IN ROLE pg_monitor');
my $monitors = sub { my ($status, $out, $err) = $node->psql('postgres', "\\set VERBOSITY sqlstate\nCALL ff_collect()",
	extra_params => [ '-U', 'monitor' ]);
	return $err;
	};
my $plain = $node->background_psql('postgres', extra_params => [ '-U', 'plain' ]);
# an advisory lock with the same numbers as the collector's lock
my $same_numbers = 'SELECT pg_advisory_lock(1717985636, 1)';
$plain->query_safe($same_numbers);
is(collect(), '', 'an advisory lock of a role that may not collect does not block a collection');
is(collect('client_min_messages = warning; BEGIN'), '',
	'an advisory lock of such a role does not block a collection in a transaction block');
collector_begins();
like(collect(), qr/another collection is running/, 'a second collector is still refused');
collector_ends();
$plain->query_safe('SELECT pg_advisory_unlock_all()');
# whoever owns a function can take the lock of DROP EXTENSION
$plain->query_safe("BEGIN;
	CREATE FUNCTION pg_temp.f() RETURNS int LANGUAGE sql AS 'SELECT 1';
	ALTER FUNCTION pg_temp.f() DEPENDS ON EXTENSION fillfactor_advisor");
is(collect(), '', 'a lock on the extension by a role that may not drop it does not block a collection');
$plain->query_safe('ROLLBACK');
my $monitor = $node->background_psql('postgres', extra_params => [ '-U', 'monitor' ]);
$monitor->query_safe($same_numbers);
is(collect(), '',
	'the advisory lock of a member of pg_monitor, who may call ff_collect() but not write the history, does ' .
	'not stop a collection');
collector_begins();
like($monitors->(), qr/ERROR:  42501$/, 'a call by that role is refused before it takes the lock of collectors');
collector_ends();
$monitor->query_safe('SELECT pg_advisory_unlock_all()');
is(value(q(SELECT count(*) FROM pg_locks WHERE locktype IN ('advisory', 'userlock'))), 0, 'no advisory lock is left');

# Another session's temporary table
$holder->query_safe('CREATE TEMP TABLE theirs AS SELECT g AS id FROM generate_series(1, 50000) g');
my $temporary = $node->data_dir
	. '/'
	. value(q(SELECT pg_relation_filepath(oid) FROM pg_class WHERE relname = 'theirs'));
chmod 0, $temporary or die "$temporary: $!";
is(collect(), '', 'a collection works although the file of another session\'s temporary table cannot be opened');
is(value(q(SELECT count(*) FROM ff_internal.relation WHERE relname = 'theirs')) . ' ' . last_run('skipped, failed'),
	'0 0|0', 'a collection leaves out the temporary table of another session');
is(value(q(SELECT action, cause FROM ff_advise() a JOIN pg_class c ON c.oid = a.relation WHERE c.relname = 'theirs')),
	'keep|not_examined', 'advice says that the temporary table was not examined');
value(q(UPDATE ff_internal.relation r SET relid = c.relid, created_xid = c.created_xid, sampled_at = NULL
	FROM ff_internal.user_table c
	WHERE c.relname = 'theirs' AND r.relname = 'newcomer' AND r.closed_at IS NULL));
is(collect() . last_run('skipped, failed'), '1|0',
	'a temporary table of another session is skipped even if it is listed');
is(problem('theirs'), '0A000', 'a listed temporary table is recorded as a problem');
chmod 0600, $temporary;

# More tables than the lock table has room for.
value(
	'DO $$ BEGIN FOR i IN 1..1000 LOOP EXECUTE format(\'CREATE TABLE many%1$s (i int); INSERT INTO many%1$s ' .
	'VALUES (1)\', i); COMMIT; END LOOP; END $$; SELECT pg_stat_force_next_flush()');
is(collect('fillfactor_advisor.collect_pages = 1'), '',
	'a collection of a thousand new tables works with a budget of one page');
foreach my $written (qw(ff_internal.relation ff_internal.counter_interval))
{
	is(value("SELECT max(n) BETWEEN 2 AND 250
		FROM (SELECT count(*) AS n FROM $written w
			JOIN ff_internal.relation r USING (rel_id) WHERE r.relname ~ '^many'
			GROUP BY w.xmin) x"),
		't',
		"counters are read a few tables at a time, each batch in a transaction of its own: $written");
}
is(value(q(SELECT count(*) FROM ff_internal.counter_interval i
	JOIN ff_internal.relation r USING (rel_id)
	WHERE r.relname ~ '^many' AND i.inserted = 1))
	. ' '
	. last_run('changed >= 1000'),
	'1000 t', 'the rows of each table are counted once');
is(collect('fillfactor_advisor.collect_time = 3600'), '', 'a collection of several times more tables than locks works');
is(last_run('sampled >= 900, failed')
	. ' '
	. value(q(SELECT count(sampled_at) FROM ff_internal.relation WHERE relname ~ '^many')),
	't|0 1000', 'all 1,000 tables are sampled');
is(collect('client_min_messages = warning; BEGIN'), '', 'a collection of 1,000 tables works in a transaction block');
is(value('SELECT count(*) >= 1000 FROM ff_advise()'), 't', 'all 1,000 tables are advised');

unlike(PostgreSQL::Test::Utils::slurp_file($node->logfile),
	qr/out of shared memory|PANIC|WARNING: .*(leak|own)|terminated by signal/,
	'the log has no crash, no leak and no lack of shared memory');
$_->quit foreach $holder, $reader, $waiter, $block, $plain, $monitor;
$node->stop;
