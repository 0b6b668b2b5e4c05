# Tables that get a new file, or a shorter one, while they are sampled, between
# being listed and sampled, and between collections: CLUSTER, VACUUM FULL,
# TRUNCATE, a rewriting ALTER TABLE, pg_repack, and vacuum's truncation.
use strict;
use warnings;
use FindBin;
use POSIX ();
use lib "$FindBin::Bin/../perl";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Beside qw(program_beside psql_beside freeze);
use Test::More tests => 120;

my $node = PostgreSQL::Test::Cluster->new('rewrites');
$node->init(allows_streaming => 1);
# advice on one table asks the model itself
$node->append_conf('postgresql.conf',
	"autovacuum = off\nfillfactor_advisor.min_updates = 10\nfillfactor_advisor.fits = 0");
$node->start;

sub value { return $node->safe_psql('postgres', $_[0]); }
sub wait_until { my ($sql, $on) = @_; ($on // $node)->poll_query_until('postgres', $sql) or die "never: $sql"; return; }
sub last_run { return value("SELECT $_[0] FROM ff_internal.collection ORDER BY collection_id DESC LIMIT 1"); }
# CALL ff_collect(): what psql reported
sub collect
{
	my ($status, $out, $err) = $node->psql('postgres', 'CALL ff_collect()');
	return $status == 0 ? $err : "status $status: $err";
}
my $repack = $node->config_data('--bindir') . '/pg_repack';
sub beside { return psql_beside($node, 'postgres', @_); }
# pg_repack waits for every open transaction except those with its own application name. It tries for its locks with a
# short statement_timeout, which on a slow machine can end the command that resets it: then it is run again.
my $repeated = 'while ! said=$("$@" 2>&1); do
	case "$said" in *"query was: RESET statement_timeout"*) ;; *) echo "$said" >&2; exit 1;; esac
done';
sub repack_beside
{
	local $ENV{PGAPPNAME} = 'pg_repack';
	return program_beside('sh', '-c', $repeated, $repack, $repack, @_, '-h', $node->host, '-p', $node->port, 'postgres');
}
# Tables of 200 pages, all of which are read. A sample sleeps before every 100 pages, so it takes a while.
value(q(
	CREATE EXTENSION fillfactor_advisor;
	CREATE TABLE first (id int PRIMARY KEY, v int, pad text);
	CREATE TABLE second (LIKE first INCLUDING ALL);
	INSERT INTO first SELECT g, 0, repeat('x', 1980) FROM generate_series(1, 800) g;
	INSERT INTO second SELECT * FROM first;
	CALL ff_collect()));
$repack = '' unless -x $repack && value(q(SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_repack'));
value('CREATE EXTENSION pg_repack') if $repack;

my %updates = (first => 0, second => 0);
# n updates of each table
sub update
{
	my ($n) = @_;
	value("UPDATE first SET v = v + 1 WHERE id IN (SELECT id FROM first ORDER BY id LIMIT $n);
		UPDATE second SET v = v + 1 WHERE id IN (SELECT id FROM second ORDER BY id LIMIT $n);
		SELECT pg_stat_force_next_flush()");
	$updates{$_} += $n foreach keys %updates;
	return;
}
# tables that do not have one history with exactly the updates made
sub wrong
{
	return join ' ',
	grep { value("SELECT count(DISTINCT r.rel_id), sum(i.updated)
		FROM ff_internal.relation r JOIN ff_internal.counter_interval i USING (rel_id)
		WHERE r.relname = '$_'") ne "1|$updates{$_}" } sort keys %updates;
}
sub rewritten
{
	return value("SELECT count(*) FILTER (WHERE i.rewritten)
		FROM ff_internal.counter_interval i JOIN ff_internal.relation r USING (rel_id)
		WHERE r.relname = '$_[0]'");
}
# columns of the last sample of a table
sub sampled
{
	return value("SELECT $_[1] FROM ff_internal.page_sample p
		JOIN ff_internal.relation r USING (rel_id) WHERE r.relname = '$_[0]'
		ORDER BY p.sampled_at DESC LIMIT 1");
}
sub file { return value("SELECT relfilenode FROM pg_class WHERE relname = '$_[0]'"); }
sub blocks { return value("SELECT pg_relation_size('$_[0]') / 8192"); }
my $in_sample = q(SELECT c.relname, l.pid FROM pg_locks l
	JOIN pg_class c ON c.oid = l.relation JOIN pg_stat_activity a USING (pid)
	WHERE c.relname IN ('first', 'second') AND l.mode = 'AccessShareLock'
		AND a.wait_event = 'Extension' AND a.query ~ 'ff_(collect|internal.sample)');
my $waits = q(SELECT EXISTS (SELECT FROM pg_locks
	WHERE relation = '%s'::regclass AND mode = 'AccessExclusiveLock' AND NOT granted));
# A collection that is stopped in the sample of its first table until thaw(). Returns the collection, the frozen
# process, that table and the other one.
sub collection_in_sample
{
	my $collection = beside('SET fillfactor_advisor.collect_time = 3600', 'SET fillfactor_advisor.sample_delay = 10000',
		'SET fillfactor_advisor.sample_error = 0', 'CALL ff_collect()');
	my $frozen = freeze($collection, $node, 'postgres', $in_sample);
	my $table = value("SELECT relname FROM ($in_sample) s");
	return ($collection, $frozen, $table, $table eq 'first' ? 'second' : 'first');
}

# ---------------------------------------------------------------------------
# Rewrites between two collections, while a table is sampled, and before that
# ---------------------------------------------------------------------------
my %command = (
	'CLUSTER' => 'CLUSTER %s USING %1$s_pkey',
	'VACUUM FULL' => 'VACUUM FULL %s',
	'ALTER TABLE' => 'ALTER TABLE %s ALTER v TYPE int USING v + 0',
	'TRUNCATE' => 'TRUNCATE %s');
foreach my $how ('CLUSTER', 'VACUUM FULL', 'ALTER TABLE', 'pg_repack', 'TRUNCATE')
{
  SKIP:
	{
		skip 'no pg_repack here', 17 if $how eq 'pg_repack' && !$repack;
		my $repacks = $how eq 'pg_repack';
		my $change = sub { my ($table) = @_;
			return $repacks ? repack_beside('-t', $table) : beside(sprintf $command{$how}, $table);
			};
		my $empty = $how eq 'TRUNCATE';
		# between two collections
		update(30);
		is(collect(), '', "$how: the collection before it works");
		my ($file, $breaks) = (file('first'), rewritten('first'));
		update(20);
		my $said = $change->('first')->ended;
		unlike($said, qr/failed|ERROR/, "$how: it succeeds between two collections");
		isnt(file('first'), $file, "$how: there is a new file");
		is(collect() . wrong(), '', "$how: the collection after it has every update");
		is(rewritten('first') - $breaks, 1, "$how: one interval is marked as rewritten");
		is(value(q(SELECT i.updated, i.rewritten, i.heap_bytes = pg_relation_size('first')
			FROM ff_internal.counter_interval i JOIN ff_internal.relation r USING (rel_id)
			WHERE r.relname = 'first' ORDER BY i.ended_at DESC LIMIT 1)), '20|t|t',
			"$how: the interval across it is marked and has the size of the new file");
		is(sampled('first',
			'p.sampled_at = (SELECT max(sampled_at) FROM ff_internal.relation WHERE relname = \'first\'), ' .
			'blocks, blocks_bad'),
			't|' . blocks('first') . '|0', "$how: the new file is sampled at once");
		value(q(INSERT INTO first SELECT g, 0, repeat('x', 1980) FROM generate_series(1, 800) g)) if $empty;
		update(10);
		is(collect() . (rewritten('first') - $breaks), 1, "$how: the interval after it is not marked as rewritten");

		# One table is rewritten while it is sampled, the other one when it is listed but not sampled yet.
		value('VACUUM first; VACUUM second');
		update(100);
		my %breaks = map { $_ => rewritten($_) } keys %updates;
		my ($collection, $frozen, $table, $other) = collection_in_sample();
		my $size = blocks($table);
		my %file = map { $_ => file($_) } keys %updates;
		my $changing = $change->($table);
		wait_until(sprintf $waits, $table) if !$repacks;
		# pg_repack first waits for every open transaction
		my $beside = $change->($other);
		$said = $beside->ended if !$repacks;
		$frozen->thaw;
		my $collected = $collection->ended_soon($node, 'postgres');
		my $changed = $changing->ended;
		$said = $beside->ended if $repacks;
		unlike($said, qr/failed|ERROR/, "$how: it succeeds on a table that is listed, but not sampled yet");
		unlike($changed, qr/failed|ERROR/, "$how: it succeeds on the table being sampled");
		# pg_repack may hold the lock on the other table when it is to be sampled
		is("$collected "
			. last_run($repacks
				? 'sampled + skipped >= 2, skipped IN (0, 1), failed, deferred'
				: 'sampled >= 2, skipped = 0, failed, deferred'),
			' t|t|0|0',
			"$how: the collection completes, with both tables " . ($repacks ? 'sampled, or one skipped' : 'sampled'));
		is(sampled($table, 'blocks, blocks_read, blocks_bad'), "$size|$size|0",
			"$how: the sample has all pages of the old file");
		is(sampled($other, 'blocks_read = blocks, blocks_bad'), 't|0',
			"$how: the sample of the other table is complete");
		is(sampled($other, 'blocks'), blocks($other), "$how: the sample of the other table is of its new file")
			if !$repacks;
		is(join(' ', grep { file($_) eq $file{$_} } keys %file), '', "$how: both tables have new files");
		if ($empty)
		{
			value("INSERT INTO $_ SELECT g, 0, repeat('x', 1980) FROM generate_series(1, 800) g") foreach keys %updates;
		}
		update(7);
		is(collect() . wrong(), '', "$how: the next collection has every update");
		is(join(' ', map { rewritten($_) - $breaks{$_} } sort keys %breaks), '1 1',
			"$how: each table has one interval marked as rewritten");
		is(join(' ', map { sampled($_, 'blocks') - blocks($_) } sort keys %breaks), '0 0',
			"$how: the next collection samples the new files");
	}
}

# pg_repack cancels a sample that it has waited for too long
SKIP:
{
	skip 'no pg_repack here', 6 if !$repack;
	update(100);
	my ($collection, $frozen, $table) = collection_in_sample();
	my ($file, $breaks) = (file($table), rewritten($table));
	# after twice that time it would terminate the session
	my $impatient = repack_beside('-T', 10, '-t', $table);
	# the collection is cancelled while it samples
	$frozen->signalled(POSIX::SIGINT);
	$frozen->thaw;
	unlike($impatient->ended, qr/ERROR/, 'pg_repack with a wait timeout of ten seconds succeeds');
	like($collection->ended, qr/^failed: ERROR:  57014: canceling statement due to user request/,
		'the collection is cancelled');
	isnt(file($table), $file, 'the table is repacked');
	# pg_repack's own lock ends with its backend
	ok($node->poll_query_until('postgres',
		q(SELECT count(*) = 0 FROM pg_locks
			WHERE locktype IN ('advisory', 'userlock') OR relation IN ('first'::regclass, 'second'::regclass))),
		'no lock is left');
	is(collect() . wrong() . last_run('sampled >= 2'), 't',
		'the next collection has every update and samples what is due');
	is(rewritten($table) - $breaks, 1, 'the next collection records the rewrite');
}

# ---------------------------------------------------------------------------
# A settled table: its old pages had room for updates, its new pages have none
# ---------------------------------------------------------------------------
value(q(
	CREATE TABLE settled (id int PRIMARY KEY, v int, pad text);
	INSERT INTO settled SELECT g, 0, repeat('x', 60) FROM generate_series(1, 500) g;
	CALL ff_collect()));
sub settle
{
	value(q(DO $$ BEGIN FOR i IN 1..5000 LOOP UPDATE settled SET v = v + 1 WHERE id = i * 7919 % 500 + 1; COMMIT;
		END LOOP; END $$;
		SELECT pg_stat_force_next_flush()))
		for 1 .. 3;
	collect();
	return;
}
my $advice = q(SELECT action || ' ' || cause || ': ' || reason FROM ff_advise('settled'));
settle();
settle();
like(value($advice), qr/^keep settled: .*its pages have room already/, 'a settled table is kept');
foreach my $how ('CLUSTER', 'VACUUM FULL', 'pg_repack')
{
  SKIP:
	{
		skip 'no pg_repack here', 2 if $how eq 'pg_repack' && !$repack;
		my $change = $how eq 'pg_repack' ? repack_beside('-t', 'settled') : beside(sprintf $command{$how}, 'settled');
		unlike($change->ended . collect(), qr/ERROR/,
			"$how: a settled table is rewritten and collected without an error");
		unlike(value($advice), qr/have room already/, "$how: the advice does not claim that the new pages have room");
	}
}

# ---------------------------------------------------------------------------
# Truncation by VACUUM, which gives up if it cannot get its lock soon
# ---------------------------------------------------------------------------
sub grow
{
	value("INSERT INTO first SELECT g, 0, repeat('x', 1980) FROM generate_series(801, 1600) g;
		DELETE FROM first WHERE id > 800;
		SELECT pg_stat_force_next_flush()");
	return;
}
grow();
my $size = blocks('first');
my $sample = beside('SET fillfactor_advisor.sample_delay = 10000', 'SET fillfactor_advisor.sample_error = 0',
	"SELECT blocks, blocks_read, blocks_bad FROM ff_internal.sample('first')");
my $frozen = freeze($sample, $node, 'postgres', $in_sample);
my $vacuum = beside('VACUUM (VERBOSE) first')->ended;
like($vacuum, qr/stopping truncate due to conflicting lock request/,
	'VACUUM does not truncate a table during a long sample');
is(value("SELECT count(*) FROM ($in_sample) x"), 1, 'the sample is still running');
is(blocks('first'), $size, 'the table still has all its pages');
value(q(SELECT pg_cancel_backend(pid) FROM pg_stat_activity
	WHERE query ~ 'ff_internal.sample' AND pid <> pg_backend_pid()));
$frozen->thaw;
like($sample->ended, qr/57014: canceling statement due to user request/, 'a sample that is cancelled ends at once');
grow();
$size = blocks('first');
(my $collection, $frozen, my $table) = collection_in_sample();
$vacuum = beside('VACUUM first');
wait_until("SELECT EXISTS (SELECT FROM pg_stat_activity WHERE query = 'VACUUM first' AND state = 'active')");
$frozen->thaw;
is($collection->ended_soon($node, 'postgres') . $vacuum->ended . last_run('failed'), 0,
	'a collection and a VACUUM at the same time both complete');
value('VACUUM first');
cmp_ok(blocks('first'), '<', $size, 'the table is truncated');
is(sampled('first', 'blocks = blocks_read AND blocks_bad = 0 AND blocks IN (' . "$size, " . blocks('first') . ')'), 't',
	'the truncated table is sampled whole, with its old or its new size');
update(20);
is(collect() . wrong(), '', 'the next collection has every update');
is(sampled('first', 'blocks') . ' ' . value(q(SELECT count(*) FROM ff_internal.problem)), blocks('first') . ' 0',
	'the next collection samples the blocks that are left');

# On a standby, replay of the truncation either waits for the sample or cancels it.
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', 'max_standby_streaming_delay = -1');
$standby->start;
my $sample_there = q(SELECT blocks, blocks_read, blocks_bad FROM ff_internal.sample('first'));
foreach my $wait (1, 0)
{
	grow();
	$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
	$size = blocks('first');
	$sample = psql_beside($standby, 'postgres', 'SET fillfactor_advisor.sample_delay = 10000',
		'SET fillfactor_advisor.sample_error = 0', $sample_there);
	$frozen = freeze($sample, $standby, 'postgres', $in_sample);
	value('VACUUM first');
	cmp_ok(blocks('first'), '<', $size, 'a table is truncated on the primary while it is sampled on a standby');
	if ($wait)
	{
		wait_until(sprintf($waits, 'first'), $standby);
		$frozen->thaw;
		is($sample->ended_soon($standby, 'postgres'), "$size|$size|0\n",
			'replay waits: the sample has every page that there was');
	}
	else
	{
		# the startup process has cancelled the sample and waits for it to end
		wait_until(sprintf($waits, 'first'), $standby);
		$frozen->thaw;
		like($sample->ended, qr/^failed: ERROR:  40001: canceling statement due to conflict with recovery/,
			'replay does not wait: one clear error');
	}
	$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
	is($standby->safe_psql('postgres', $sample_there), join('|', (blocks('first')) x 2, 0),
		'the next sample has the blocks that are left');
	$standby->append_conf('postgresql.conf', 'max_standby_streaming_delay = 0');
	$standby->reload;
	wait_until(q(SELECT setting = '0' FROM pg_settings WHERE name = 'max_standby_streaming_delay'), $standby);
}
is($standby->safe_psql('postgres', q(SELECT count(*) FROM pg_locks WHERE relation = 'first'::regclass)), 0,
	'no lock is left');

foreach ($node, $standby)
{
	unlike(PostgreSQL::Test::Utils::slurp_file($_->logfile), qr/PANIC|terminated by signal|TRAP|WARNING: .*(leak|own)/,
		'no leak in the log of ' . $_->name);
	$_->stop;
}
