# DROP EXTENSION while a collection runs, at every point of it: one of the two
# waits for a moment, the collection ends with one clear error, and no deadlock
# comes of it.  And the job of pg_cron that is left behind says so.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../perl";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Beside qw(psql_beside hold close_gate);
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('drop');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nmax_worker_processes = 20\nfillfactor_advisor.fits = 2\n");
my $cron = -e $node->config_data('--pkglibdir') . '/pg_cron.so';
$node->append_conf('postgresql.conf',
	"shared_preload_libraries = 'pg_cron'\ncron.database_name = 'postgres'\ncron.use_background_workers = on\n")
	if $cron;
$node->start;

sub value { my ($sql, $database) = @_; return $node->safe_psql($database // 'postgres', $sql); }
sub wait_until
{
	my ($sql, $database) = @_;
	$node->poll_query_until($database // 'postgres', $sql) or die "never: $sql";
	return;
}
sub begin { return psql_beside($node, @_); }
sub end { return $_[0]->outcome; }
sub collection
{
	my ($what, $database) = @_;
	return value("SELECT $what FROM ff_internal.collection ORDER BY collection_id DESC LIMIT 1", $database);
}
# somebody waits for the extension, which the collection at hand has
my $awaited = q(SELECT EXISTS (SELECT FROM pg_locks l
	JOIN pg_database d ON d.oid = l.database AND d.datname = current_database()
	WHERE l.locktype = 'object' AND l.classid = 'pg_extension'::regclass AND NOT l.granted));
# on a machine that is slow at dropping, the collection does not wait until the end of it
my $extension = 'extension "fillfactor_advisor"';
my $dropped = qr/(?:42704: $extension was|55P03: $extension is being) dropped by another session/;
sub tables
{
	my ($database, $n) = @_;
	value("CREATE DATABASE $database");
	value("CREATE EXTENSION fillfactor_advisor;
		SELECT format('CREATE TABLE t%s AS SELECT 1 AS id', i) FROM generate_series(1, $n) i \\gexec",
		$database);
	return;
}

# Jobs of two databases: from one the extension goes while no job runs, from the
# other while one does, which is held where it has sampled one table.  On a
# pg_cron without seconds the next minute begins them.
my $held_job;
if ($cron)
{
	tables('gone', 1);
	tables('busy', 20);
	value('CREATE EXTENSION pg_cron');
	my $seconds = value(q(SELECT regexp_match(extversion, '(\d+)\.(\d+)')::int[] >= '{1,5}'
		FROM pg_extension WHERE extname = 'pg_cron')) eq 't';
	my @schedule = map { value("SELECT ff_schedule('" . ($seconds ? '1 second' : '* * * * *') . "')",
		$_) } qw(gone busy);
	# first this: no job is to begin before it
	value('DROP EXTENSION fillfactor_advisor', 'gone');
	$held_job = close_gate($node, 'busy', 'page_sample', 'INSERT', 2);
	value($_) foreach @schedule;
}

# ---------------------------------------------------------------------------
# In every step of a collection, and wherever it happens to be
# ---------------------------------------------------------------------------
value('CREATE DATABASE race');
value(q(SELECT format('CREATE TABLE s%s AS SELECT 1 AS id', i) FROM generate_series(1, 20) i \gexec), 'race');
# the first statement of each transaction of a collection that writes the history; triggers say it
value(q(CREATE EXTENSION fillfactor_advisor;
	CREATE TABLE written (xid xid8 PRIMARY KEY, place text);
	CREATE FUNCTION is_written() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO public.written VALUES (pg_current_xact_id(), TG_TABLE_NAME || ' ' || TG_OP) ON CONFLICT DO NOTHING;
		RETURN NULL;
	END $$;
	SELECT format('CREATE TRIGGER %s BEFORE %s ON %s EXECUTE FUNCTION is_written()', lower(op), op, oid::regclass)
	  FROM pg_class, unnest('{INSERT,UPDATE,DELETE}'::text[]) op
	 WHERE relnamespace = 'ff_internal'::regnamespace AND relkind = 'r' \gexec
	CALL ff_collect()), 'race');
my @places = split /\n/, value('SELECT concat(place, $$ $$, row_number() OVER (PARTITION BY place ORDER BY xid))
	FROM written ORDER BY xid', 'race');
note join ', ', @places;
# of the tables that it samples, the first and the last
@places = grep { !/^page_sample INSERT/ || / (?:1|20)$/ } @places;
cmp_ok(scalar @places, '>=', 8, 'a collection has several steps');
value('DROP EXTENSION fillfactor_advisor CASCADE; DROP TABLE written; DROP FUNCTION is_written()', 'race');
foreach my $place (@places)
{
	my ($table, $op, $nth) = split / /, $place;
	my $name = "dropped at $op of ff_internal.$table ($nth)";
	value('CREATE EXTENSION fillfactor_advisor', 'race');
	my $gate = close_gate($node, 'race', $table, $op, $nth);
	my $collector = begin('race', 'CALL ff_collect()');
	$gate->reached;
	my $dropper = begin('race', 'DROP EXTENSION fillfactor_advisor');
	wait_until($awaited, 'race');
	$gate->release;
	is(end($dropper), '', "$name: done");
	like(end($collector), $dropped, "$name: the collection is told");
	is(value('SELECT last_value FROM gate_passed', 'race'), $nth, "$name: and came no further")
		if $table eq 'page_sample';
	value('DROP SEQUENCE gate_passed; DROP FUNCTION gate', 'race');
}
# begun while the extension is being dropped, which is then committed or rolled back; and begun afterwards
foreach my $ending ('ROLLBACK', 'COMMIT')
{
	value('CREATE EXTENSION IF NOT EXISTS fillfactor_advisor', 'race');
	my $held = hold($node, 'race', 1);
	my $dropper = begin('race', 'BEGIN', 'DROP EXTENSION fillfactor_advisor', 'SELECT pg_advisory_xact_lock(1)',
		$ending);
	$held->reached;
	my $collector = begin('race', 'CALL ff_collect()');
	wait_until(q(SELECT count(*) = 1 FROM pg_stat_activity
		WHERE datname = 'race' AND query ~ 'ff_collect' AND wait_event_type IS NOT NULL AND pid <> pg_backend_pid()),
		'race');
	$held->release;
	is(end($dropper), '', "a drop that ends with $ending does not wait for a collection that begins");
	my $said = end($collector);
	like($said, $ending eq 'COMMIT' ? $dropped : qr/^(?:55P03: .* is being dropped by another session)?$/,
		"begun before $ending of a drop: the collection waits for it for a moment");
}
like(end(begin('race', 'CALL ff_collect()')), qr/^42883: procedure ff_collect\(\) does not exist/,
	'begun after a drop: there is no such procedure');
is(value(q(SELECT count(*) FROM pg_proc WHERE proname ~ '^ff_'), 'race'), 0, 'nothing of the extension is left');
is(value(q(SELECT count(*) FROM pg_namespace WHERE nspname ~ '^ff_'), 'race'), 0,
	'a dropped extension leaves no schema');

# ---------------------------------------------------------------------------
# While a table is sampled
# ---------------------------------------------------------------------------
tables('slow', 10);
# A collection that has sampled one of ten tables and is held at the next; and what holds it
sub collection_held
{
	my ($schema) = @_;
	$schema //= 'public';
	value("CREATE SCHEMA IF NOT EXISTS $schema;
		CREATE EXTENSION IF NOT EXISTS fillfactor_advisor SCHEMA $schema;
		UPDATE ff_internal.relation SET sampled_at = NULL",
		'slow');
	my $gate = close_gate($node, 'slow', 'page_sample', 'INSERT', 2);
	my $collector = begin('slow', "CALL $schema.ff_collect()");
	$gate->reached;
	return ($collector, $gate);
}
# the same, with somebody who waits for the extension meanwhile, and then has it
sub collection_met_by
{
	my ($commands, $schema) = @_;
	my ($collector, $gate) = collection_held($schema);
	my $dropper = begin(@$commands);
	wait_until($awaited, 'slow');
	$gate->release;
	return ($collector, $dropper);
}
foreach my $statement ('DROP EXTENSION fillfactor_advisor', 'DROP SCHEMA own CASCADE')
{
	my ($collector, $dropper) = collection_met_by([ 'slow', $statement ], $statement =~ /(own)/ ? $1 : undef);
	is(end($dropper), '', "$statement: done");
	like(end($collector), $dropped, "$statement: the collection ends with a clear error");
	is(value('SELECT last_value FROM gate_passed', 'slow'), 2,
		"$statement: after the table at hand, not when the collection would end");
	# It hints at the job that may be left
	my $remove = q(SELECT cron.unschedule(jobid) FROM cron.job
		WHERE database = 'slow' AND command LIKE '%ff_internal.collect()%';) =~ s/\n\t*/ /r;
	like($collector->{err}, qr/^HINT:  If a job of pg_cron is left, remove it where pg_cron is: \Q$remove\E$/m,
		"$statement: and says how to remove a job");
}

# Rolled back at once: the collection goes on. It gives a drop two seconds, which some machines need for what
# comes behind its lock; that lock is what this takes, too.
value('CREATE FUNCTION of_the_user() RETURNS int LANGUAGE sql RETURN 1', 'slow');
my ($collector, $dropper) = collection_met_by([ 'slow',
	'BEGIN; ALTER FUNCTION of_the_user() DEPENDS ON EXTENSION fillfactor_advisor; ROLLBACK' ]);
is(end($dropper), '', 'what took the lock of a drop is rolled back');
is(end($collector), '', 'lets the collection go on');
is(collection('sampled', 'slow'), 10, 'to its end');

# What holds back pruning: neither a collection nor a read of a hub
my $closed = hold($node, 'slow', 1);
($collector, my $gate) = collection_held();
my @waiting = map { begin('slow', "SET application_name = $_; SELECT pg_advisory_lock_shared(1)") }
  qw(fillfactor_advisor other);
my $active = q(FROM pg_stat_activity a WHERE a.datname = 'slow' AND a.wait_event = 'advisory'
	AND a.backend_xmin IS NOT NULL);
wait_until("SELECT count(*) = 3 $active", 'slow');
is(value(q(SELECT string_agg(application, ', ') FROM ff_horizon()), 'slow'), 'other',
	'what holds back pruning is neither a collection nor a read of a hub');
$_->release foreach $gate, $closed;
end($_) foreach $collector, @waiting;

# Not ended for long: the collection ends, and does not wait
my $held = hold($node, 'slow', 1);
($collector, $dropper) = collection_met_by([ 'slow',
	'BEGIN; DROP EXTENSION fillfactor_advisor; SELECT pg_advisory_xact_lock(1); ROLLBACK' ]);
my $done = value('SELECT last_value FROM gate_passed', 'slow');
is(end($collector), '55P03: extension "fillfactor_advisor" is being dropped by another session',
	'a drop that goes on and on ends it');
ok($held->reached, 'while it goes on');
$held->release;
end($dropper);
is(value('SELECT count(*) FROM ff_internal.relation
	WHERE sampled_at >= (SELECT max(began_at) FROM ff_internal.collection)',
	'slow'),
	2, 'rolled back in the end: what was done is kept');
is(end(begin('slow', 'CALL ff_collect()')), '', 'after a rolled-back drop the next collection works');

# Taken out of the extension
value('ALTER EXTENSION fillfactor_advisor DROP PROCEDURE ff_collect()', 'slow');
my $outside = begin('slow', 'CALL ff_collect()');
is(end($outside), '55000: procedure ff_collect() belongs to no extension',
	'ff_collect() fails clearly when it was taken out of the extension');
like($outside->{err}, qr/^HINT:  .*ALTER EXTENSION fillfactor_advisor ADD PROCEDURE ff_collect\(\)/m,
	'ff_collect() outside the extension: the hint has the remedy');
value('ALTER EXTENSION fillfactor_advisor ADD PROCEDURE ff_collect()', 'slow');
is(end(begin('slow', 'CALL ff_collect()')), '', 'ff_collect() works again after ALTER EXTENSION ADD');

# In a transaction block it holds to its end; the drop waits
my $block = $node->background_psql('slow');
$block->query_safe('BEGIN; CALL ff_collect()');
my $drop = begin('slow', 'DROP EXTENSION fillfactor_advisor');
wait_until($awaited, 'slow');
$block->query_safe('COMMIT');
is(end($drop), '', 'a drop waits for a collection in a transaction block');
value('CREATE EXTENSION fillfactor_advisor', 'slow');

# A role that may not drop it
value('CREATE ROLE plain LOGIN');
($collector, $dropper) = collection_met_by([ 'slow as plain', 'DROP EXTENSION fillfactor_advisor' ]);
like(end($dropper), qr/^42501: must be owner of extension/, 'a role that does not own the extension cannot drop it');
is(end($collector), '', 'the collection that was running ends without an error');
is(collection('sampled', 'slow'), 10, 'all tables were sampled');

SKIP:
{
	skip 'no pg_cron here', 8 if !$cron;
	# its launcher may miss a change of the jobs that comes while it reads them, until the next change
	value('UPDATE cron.job SET active = active');
	ok($held_job->reached, 'a job is at work');
	is(value('SELECT count(*) FROM ff_internal.page_sample', 'busy'), 1,
		'what it has sampled can be seen while it runs: it commits as it goes');
	my $dropper = begin('busy', 'DROP EXTENSION fillfactor_advisor');
	wait_until($awaited, 'busy');
	$held_job->release;
	is(end($dropper), '', 'dropped while the job runs');
	my $details = q(SELECT return_message FROM cron.job_run_details
		WHERE database = '%s' AND status = 'failed' ORDER BY runid LIMIT 1);
	foreach my $database ('gone', 'busy')
	{
		wait_until('SELECT EXISTS (' . sprintf($details, $database) . ')');
	}
	like(value(sprintf $details, 'busy'),
		qr/extension "fillfactor_advisor" (?:was|is being) dropped by another session.*cron\.unschedule/s,
		'the job failed with a clear error');
	like(value(sprintf $details, 'gone'), qr/schema "ff_internal" does not exist/, 'so did the one that began later');
	my ($remove) = value(q(SELECT command FROM cron.job WHERE database = 'gone')) =~ / -- .*(SELECT .*;)$/;
	is($remove, q(SELECT cron.unschedule('fillfactor_advisor gone');), 'its command says how to remove it');
	is(value($remove), 't', 'which works');
	my ($remove_dropped) = value(sprintf $details, 'busy') =~ /(SELECT cron\.unschedule\(.*?;)/;
	is(value($remove_dropped) . value(q(SELECT count(*) FROM cron.job)), 't0',
		'the other job can be removed with its statement, too');
}

unlike(PostgreSQL::Test::Utils::slurp_file($node->logfile),
	qr/deadlock detected|XX000|cache lookup failed|PANIC|TRAP|terminated by signal|WARNING: .*(leak|own)/,
	'no deadlock, nothing internal, no leak in the log');
# ---------------------------------------------------------------------------
# Beside a reader, which takes the tables' locks in another order: no more than an error for one of the two
# ---------------------------------------------------------------------------
foreach my $table (qw(ff_internal.epoch ff_internal.fit))
{
	my $advice = $node->background_psql('slow', on_error_stop => 0);
	$advice->query_safe("BEGIN; SELECT FROM $table LIMIT 0");
	my $drop = begin('slow', 'DROP EXTENSION fillfactor_advisor');
	wait_until(q(SELECT EXISTS (SELECT FROM pg_locks
		WHERE locktype = 'relation' AND mode = 'AccessExclusiveLock' AND NOT granted)),
		'slow');
	my $rows = $advice->query("SELECT count(*) FROM ff_advise(); \\echo :SQLSTATE");
	$advice->query('COMMIT');
	my $outcome = end($drop);
	$outcome =~ s/:.*//;
	$rows =~ s/.*\n//s;
	like("$rows $outcome", qr/^(?:00000 (?:40P01)?|40P01 )$/,
		"advice and DROP EXTENSION (the reader has $table already): one of the two goes on ($rows $outcome)");
	is(end(begin('slow', 'DROP EXTENSION IF EXISTS fillfactor_advisor')), '',
		'the other one works when it is tried again');
	value('CREATE EXTENSION fillfactor_advisor', 'slow');
	like(value('SELECT count(*) FROM ff_advise()', 'slow'), qr/^1\d$/, 'nothing of it is left broken');
	eval { $advice->quit };
}
$block->quit;
$node->stop;
done_testing();
