# A collection that is cut short, has no room, or may not write: what it did
# before stays, and the next one goes on from there.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../perl";
use Time::HiRes qw(sleep);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Beside qw(psql_beside wake freeze);
use SmallDisk qw(small_disk);
use Test::More tests => 84;

my $node = PostgreSQL::Test::Cluster->new('resources');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nrestart_after_crash = on\n");
# who writes pages out pins them
$node->append_conf('postgresql.conf', "bgwriter_lru_maxpages = 0\ncheckpoint_timeout = 1h\n");
$node->start;

sub value { return $node->safe_psql('postgres', $_[0]); }
sub wait_until { $node->poll_query_until('postgres', $_[0]) or die "never: $_[0]"; return; }

# CALL ff_collect(): SQLSTATE and message of its error, or nothing
sub collect
{
	my ($status, $out, $err) = $node->psql('postgres', join("\n", '\set VERBOSITY verbose', @_, 'CALL ff_collect();'));
	return $err =~ /(?:ERROR|FATAL):\s+(\w{5}): (.*)/ ? "$1 $2" : $status ? $err : '';
}
sub last_run { return value("SELECT $_[0] FROM ff_internal.collection ORDER BY collection_id DESC LIMIT 1"); }
sub samples { return value(q(SELECT count(*) FROM ff_internal.page_sample)); }

# Ten tables of 100 pages or more: with a nap every 100, each is in sample for a while.
value(q(
	CREATE EXTENSION fillfactor_advisor;
	DO $$ BEGIN
		FOR i IN 0..9 LOOP
			EXECUTE format('CREATE TABLE t%s AS '
				'SELECT g AS id, repeat(''x'', 2000) AS pad FROM generate_series(1, 400) g', i);
		END LOOP;
	END $$;
	CALL ff_collect()));
sub change_all
{
	value(q(DO $$ BEGIN FOR i IN 0..9 LOOP EXECUTE format('UPDATE t%s SET id = id WHERE id <= 200', i); END LOOP;
		END $$;
		SELECT pg_stat_force_next_flush()));
	return;
}
my $in_sample = q(SELECT l.pid FROM pg_locks l JOIN pg_class c ON c.oid = l.relation JOIN pg_stat_activity a USING (pid)
	WHERE c.relname ~ '^t[0-9]$' AND l.mode = 'AccessShareLock'
		AND a.wait_event = 'Extension' AND a.query ~ 'CALL ff_collect');
my $buffercache = value(q(SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_buffercache'));
value('CREATE EXTENSION pg_buffercache') if $buffercache;
# asked by the session that collected, right after: its locks, and whose pins there are
my $users = q(relname ~ '^t[0-9]$');
my $all = "($users OR relnamespace = 'ff_internal'::regnamespace)";
my $locks = qq(SELECT 'locks ' || count(*) FROM pg_locks l
	WHERE pid = pg_backend_pid() AND (locktype IN ('advisory', 'userlock', 'object')
	OR relation IN (SELECT oid FROM pg_class WHERE $all)));
sub pins
{
	return $buffercache
		? "SELECT 'pins ' || count(*) FROM pg_buffercache
			WHERE pinning_backends > 0 AND relfilenode IN (SELECT pg_relation_filenode(oid) FROM pg_class WHERE $_[0])"
		: "SELECT 'pins 0'";
}
# A collection that has sampled a table or more, and is kept in the sample of the next
sub collection_in_sample
{
	my ($samples_before, @settings) = @_;
	my $session = psql_beside($node, 'postgres', '\set ON_ERROR_STOP off', @settings,
		'SET fillfactor_advisor.collect_time = 3600', 'SET fillfactor_advisor.sample_delay = 10000',
		'SET fillfactor_advisor.sample_error = 0', 'CALL ff_collect()',
		'RESET statement_timeout', $locks, pins($all));
	return ($session,
		freeze($session, $node, 'postgres',
			"$in_sample AND (SELECT count(*) FROM ff_internal.page_sample) > $samples_before",
			sub { wake($node, 'postgres') }));
}
# the tables that have an interval of the last collection, and all their updates
my $intervals = q(SELECT count(*) FILTER (WHERE i.ended_at = (SELECT max(began_at) FROM ff_internal.collection)),
	count(DISTINCT i.rel_id), sum(i.updated)
	FROM ff_internal.counter_interval i JOIN ff_internal.relation r USING (rel_id) WHERE r.relname ~ '^t[0-9]$');
# the tables whose pages were read, by what each had been read before
sub reads
{
	return map { split /\|/ } split /\n/,
		value(q(SELECT relname, heap_blks_read + heap_blks_hit FROM pg_statio_user_tables WHERE relname ~ '^t[0-9]$'));
}
my $log_from = -s $node->logfile;
sub new_log
{
	my $text = PostgreSQL::Test::Utils::slurp_file($node->logfile, $log_from);
	$log_from = -s $node->logfile;
	return $text;
}

# How a running collection is brought to its end, and what psql then says
my %end = (
	'statement_timeout' => [ '57014: canceling statement due to statement timeout', undef ],
	'cancel' => [ '57014: canceling statement due to user request', 'SELECT pg_cancel_backend(%s)' ],
	'terminate' => [ '57P01: terminating connection due to administrator command', 'SELECT pg_terminate_backend(%s)' ],
	'kill -9' => [ 'server closed the connection unexpectedly', undef ]);
# in which the collection comes to the sample where it is kept
my $timeout = '30 s';
my $updates = 0;
foreach my $how ('statement_timeout', 'cancel', 'terminate', 'kill -9')
{
	my ($message, $function) = @{ $end{$how} };
	change_all();
	$updates += 200;
	my ($before, $reset) = (samples(), value('SELECT count(*) FROM ff_internal.epoch'));
	my %read = reads();
	my ($session, $frozen) = collection_in_sample($before,
		$how eq 'statement_timeout' ? "SET statement_timeout = '$timeout'" : ());
	my $at_least = samples() - $before;
	wait_until("SELECT now() > query_start + interval '$timeout' FROM pg_stat_activity WHERE pid = $frozen->{pid}")
		if $how eq 'statement_timeout';
	value(sprintf $function, $frozen->{pid}) if $function;
	kill('KILL', $frozen->{pid}) == 1 or die if $how eq 'kill -9';
	$frozen->thaw if $how ne 'kill -9';
	$session->ended;
	my ($out, $err) = @$session{qw(out err)};
	like($err, qr/$message/, "$how: ends it");
	if ($how eq 'kill -9')
	{
		my $ready = qr/terminated by signal 9.*database system is ready/s;
		for (1 .. 600) { last if PostgreSQL::Test::Utils::slurp_file($node->logfile, $log_from) =~ $ready; sleep 0.1; }
		like(new_log(), $ready, "$how: the server has begun anew");
	}
	else
	{
		is($out, "locks 0\npins 0\n", "$how: the session that goes on has no lock and no pin") if $how ne 'terminate';
		unlike(new_log(), qr/WARNING/, "$how: no warning in the server's log");
	}
	wait_until(q(SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'client backend'));
	my $done = samples() - $before;
	cmp_ok($done, '>', 0, "$how: what was sampled before is kept");
	cmp_ok($done, '<', 10, "$how: the rest is not");
	if ($how eq 'kill -9')
	{
		is($done, $at_least, "$how: at most the sample of the table at hand is lost");
	}
	else
	{
		my %now = reads();
		my $begun = grep { $now{$_} > $read{$_} } keys %now;
		ok($begun == $done || $begun == $done + 1, "$how: at most the sample of the table at hand is lost")
			or diag "$begun begun, $done done";
	}
	is(value($intervals), '10|10|' . 10 * $updates, "$how: the counters of all ten tables are in the history");
	is(last_run('ended_at IS NULL'), 't', "$how: the collection shows that it did not end");
	is(value(q(SELECT count(*) FROM pg_locks WHERE locktype IN ('advisory', 'userlock'))), 0,
		"$how: the collector's lock is gone");
	is(collect(), '', "$how: the next collection works");
	is(last_run('sampled, skipped, failed'), (10 - $done) . '|0|0', "$how: the next collection samples what is left");
	is(value(q(SELECT count(DISTINCT s.rel_id) FROM ff_internal.page_sample s
		JOIN ff_internal.relation r USING (rel_id)
		WHERE r.relname ~ '^t[0-9]$'
			AND s.sampled_at > (SELECT min(began_at)
				FROM (SELECT began_at FROM ff_internal.collection ORDER BY collection_id DESC LIMIT 2) c))),
		10, "$how: both collections together sample each of the ten tables");
	is(value('SELECT count(*) FROM ff_internal.epoch') - $reset, $how eq 'kill -9' ? 1 : 0, "$how: epochs");
	is(value($intervals =~ s/count.*rel_id\), //sr), 10 * $updates, "$how: no update is counted twice");
}
# pins while a collection runs: while it sleeps, its lock held, it has none
SKIP:
{
	skip 'no pg_buffercache here', 2 if !$buffercache;
	change_all();
	my ($session, $frozen) = collection_in_sample(samples());
	is(value(pins($users)), 'pins 0', 'a collection that sleeps holds no pin on a user\'s table');
	value("SELECT pg_cancel_backend($frozen->{pid})");
	$frozen->thaw;
	$session->ended;
	wait_until(q(SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'client backend'));
	unlike(new_log(), qr/WARNING/, 'no warning is in the log');
}
is(collect('SET default_transaction_read_only = on;'), '25006 cannot execute ff_collect() in a read-only transaction',
	'a read-only session: one clear error');

# A backlog goes in batches of bounded size, a bounded number of them each time.
value(q(
	INSERT INTO ff_internal.counter_interval (rel_id, began_at, ended_at, epoch_id, fillfactor, rewritten, inserted,
		updated, hot_updated, deleted, seq_scans, index_scans, blocks_fetched, blocks_hit, vacuums)
	SELECT 0, at, at, 1, 100, false, 1, 1, 1, 1, 1, 1, 1, 1, 1
		FROM (SELECT now() - interval '200 days' + g * interval '1 second' AS at FROM generate_series(1, 85000) g) x));
my $backlog = 'SELECT count(*) FROM ff_internal.counter_interval WHERE rel_id = 0';
foreach my $left (55000, 25000, 0)
{
	is(collect('SET fillfactor_advisor.prune_batches = 3;'), '', 'a collection with a backlog to prune');
	is(value($backlog), $left, "three batches later: $left rows past the retention are left");
}
cmp_ok(value('SELECT count(*) FROM ff_internal.counter_interval'), '>=', 30,
	'pruning keeps the intervals within the retention');

# A limit of rows holds, and what goes is the oldest.
value(q(
	INSERT INTO ff_internal.counter_interval (rel_id, began_at, ended_at, epoch_id, fillfactor, rewritten, inserted,
		updated, hot_updated, deleted, seq_scans, index_scans, blocks_fetched, blocks_hit, vacuums)
	SELECT 0, now() - g * interval '1 second', now() - g * interval '1 second', 1, 100, false, g, 1, 1, 1, 1, 1, 1, 1, 1
		FROM generate_series(1, 30000) g;
	VACUUM ff_internal.counter_interval));
is(collect('SET fillfactor_advisor.history_rows = 5000;'), '', 'a collection with a limit of rows works');
is(value('SELECT count(*) FROM ff_internal.counter_interval'), 5000, 'the limit of rows holds');
cmp_ok(value($backlog), '>', 4900, 'the limit of rows is used in full');
is(value("SELECT max(inserted) FROM ff_internal.counter_interval WHERE rel_id = 0"), value($backlog),
	'the limit of rows removes only the oldest');
is(collect('SET fillfactor_advisor.history_rows = 5000;') . value('SELECT count(*) FROM ff_internal.counter_interval'),
	5000, 'the next collection has nothing to remove');
value('DELETE FROM ff_internal.counter_interval WHERE rel_id = 0');
value('VACUUM FULL ff_internal.counter_interval');

# Disk full: history on a file system of two megabytes that only the server sees
SKIP:
{
	my $space = small_disk($node, '2m');
	skip 'no user namespaces here, so no file system of our own: disk full', 9 if !defined $space;
	value("CREATE TABLESPACE small LOCATION '$space'");
	value('ALTER TABLE ff_internal.page_sample SET TABLESPACE small');

	sub fill
	{
		value('CREATE TABLE filler (pad text) TABLESPACE small; ALTER TABLE filler ALTER pad SET STORAGE PLAIN');
		my ($status, $out, $err) = $node->psql('postgres',
			q(DO $$ BEGIN LOOP INSERT INTO filler VALUES (repeat('x', 8000)); COMMIT; END LOOP; END $$));
		die $err unless $err =~ /No space left on device/;
		return;
	}
	# enough tables to need a new page for their rows
	value(q(DO $$ BEGIN FOR i IN 1..150 LOOP EXECUTE format('CREATE TABLE s%s AS SELECT 1 AS id', i); END LOOP;
		END $$));
	fill();
	my ($before, $intervals) = (samples(), value('SELECT count(*) FROM ff_internal.counter_interval'));
	like(collect(), qr/^53100 could not extend file .*: No space left on device/,
		'disk full while writing samples: a clear error');
	cmp_ok(samples(), '>=', $before, 'older samples are intact');
	cmp_ok(value('SELECT count(*) FROM ff_internal.counter_interval'), '>', $intervals,
		'disk full while writing samples: the counters are kept');
	value('DROP TABLE filler; ALTER TABLE ff_internal.counter_interval SET TABLESPACE small');
	value(q(DO $$ BEGIN FOR i IN 1..150 LOOP EXECUTE format('UPDATE s%s SET id = 2', i); END LOOP; END $$;
		SELECT pg_stat_force_next_flush()));
	fill();
	$intervals = value('SELECT count(*), sum(updated) FROM ff_internal.counter_interval');
	like(collect(), qr/^53100 could not extend file .*: No space left on device/,
		'disk full while writing intervals: a clear error');
	is(value('SELECT count(*), sum(updated) FROM ff_internal.counter_interval'), $intervals,
		'older intervals are intact');
	is(value(q(SELECT count(*) FROM pg_locks WHERE locktype IN ('advisory', 'userlock'))), 0, 'no lock is left');
	value('DROP TABLE filler');
	is(collect(), '', 'with room again, the next collection works');
	is(last_run('failed, deferred, ended_at IS NOT NULL'), '0|0|t', 'with room again, the collection completes');
	is(value(q(SELECT sum(i.updated) FROM ff_internal.counter_interval i
		JOIN ff_internal.relation r USING (rel_id) WHERE r.relname ~ '^s\d')),
		150, 'with room again, no update is missed');
}
unlike(PostgreSQL::Test::Utils::slurp_file($node->logfile),
	qr/PANIC|terminated by signal (?!9)|TRAP|WARNING: .*(leak|own)/, 'no leak in the log');
$node->stop;

# Wraparound: a table that no vacuum can read keeps the horizon where it is,
# and the next transaction id is set to where the server stops giving them out.
$node = PostgreSQL::Test::Cluster->new('wraparound');
$node->init;
$node->append_conf('postgresql.conf', 'autovacuum = off');
$node->start;
value('CREATE EXTENSION fillfactor_advisor;
	CREATE TABLE t AS SELECT g AS id FROM generate_series(1, 1000) g;
	CREATE TABLE pin AS SELECT 1 AS id;
	CALL ff_collect()');
my $pin = $node->data_dir . '/' . value(q(SELECT pg_relation_filepath('pin')));
# three million before half of the circle, counted from the oldest
my $stop = value('SELECT min(datfrozenxid::text::bigint) FROM pg_database') + 2147483647 - 3000000 + 100;
my $advice = value('SELECT relation, action, reason FROM ff_advise()');
$node->stop;
rename $pin, "$pin.away" or die;
$node->command_ok([ 'pg_resetwal', '-x', $stop, '-D', $node->data_dir ], 'transaction ids nearly used up');
my $segment = sprintf '%s/pg_xact/%04X', $node->data_dir, int($stop / 1048576);
open my $file, '>:raw', $segment or die "$segment: $!";
print $file "\0" x 262144;
close $file or die;
$node->start;
like(collect(), qr/^54000 database is not accepting commands/, 'wraparound stop: writing gives a clear error');
is(value('SELECT relation, action, reason FROM ff_advise()'), $advice, 'advice can be read');
is(value(q(SELECT live_rows FROM ff_sample('t'))), 1000, 'pages can be sampled');
rename "$pin.away", $pin or die;
value('VACUUM');
wait_until('SELECT max(age(datfrozenxid)) < 2000000000 FROM pg_database');
# the limit of transaction ids is moved after that
wait_until('SELECT pg_current_xact_id() IS NOT NULL');
is(collect(), '', 'after a vacuum, the next collection works');
$node->stop;
