# Statistics counters may be reset, lost or switched off. No difference is taken across such an event.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../perl";
use Time::HiRes qw(sleep);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Beside qw(psql_beside hold);
use Test::More tests => 67;

my $node = PostgreSQL::Test::Cluster->new('epochs');
$node->init(allows_streaming => 1);
# advice on one table asks the model itself
$node->append_conf('postgresql.conf', "autovacuum = off\nrestart_after_crash = on\n"
	. "fillfactor_advisor.min_updates = 1\nfillfactor_advisor.fits = 0");
$node->start;
$node->safe_psql('postgres', q(
	CREATE EXTENSION fillfactor_advisor;
	CREATE TABLE t (id int PRIMARY KEY, v int);
	CREATE TABLE other (id int PRIMARY KEY, v int);
	CREATE TABLE log (id int);
	CREATE UNLOGGED TABLE unlogged (id int);
	INSERT INTO t SELECT g, 0 FROM generate_series(1, 100) g;
	INSERT INTO other SELECT * FROM t;
	ANALYZE other;
	CALL ff_collect()));

sub value { return $node->safe_psql('postgres', $_[0]); }

# Runs a statement and flushes its counters.
sub work
{
	value("$_[0]; SELECT pg_stat_force_next_flush()");
	return;
}

# n updates of a table, each of one row
sub update
{
	my ($table, $n) = @_;
	work("DO 'BEGIN FOR i IN 1..$n LOOP UPDATE $table SET v = i WHERE id = i % 100 + 1; END LOOP; END'");
	return;
}

# What a collection adds: epochs, and updates of t and of the other table.
my ($epochs, %updates) = (1, t => 0, other => 0);
sub added
{
	my @new = map { value($_) } ('SELECT count(*) FROM ff_internal.epoch',
		map { "SELECT coalesce(sum(i.updated), 0) FROM ff_internal.counter_interval i
			JOIN ff_internal.relation r USING (rel_id)
			WHERE r.relname = '$_'" } qw(t other));
	my $added = join ' ', $new[0] - $epochs, $new[1] - $updates{t}, $new[2] - $updates{other};
	($epochs, $updates{t}, $updates{other}) = @new;
	return $added;
}
sub collected { value('CALL ff_collect()'); return added(); }

# Reads the counters in two batches, as a collection does, and runs a statement between them. The first batch
# ends with table t. Without a statement there is no second batch. Returns what was added.
sub in_two
{
	my ($between) = @_;
	value(q(
		SELECT clock_timestamp() AS at, count(*) AS n FROM pg_class
			WHERE relkind IN ('r', 'm') AND oid <= 't'::regclass \gset
		SELECT ff_internal.collect_begin(:'at'), ff_internal.collect_counters(:'at', 0, :n) AS last \gset
) . ($between ? "$between;
		SELECT ff_internal.collect_counters(:'at', :last, 1000000), ff_internal.collect_counted(:'at')" : ''));
	return added();
}
my $update_other = q(DO 'BEGIN FOR i IN 1..900 LOOP UPDATE other SET v = i WHERE id = i % 100 + 1; END LOOP; END';
	SELECT pg_stat_force_next_flush());

sub advice { return value("SELECT $_[1] FROM ff_advise('$_[0]')"); }

is(value('SELECT count(*) FROM ff_internal.epoch'), 1, 'there is one epoch at first');
update('t', 10);
is(collected(), '0 10 0', 'updates are counted');
is(collected(), '0 0 0', 'updates are counted only once');

update('t', 20);
$node->restart;
update('t', 5);
is(collected(), '0 25 0', 'a clean restart: differences stay valid');

# From here on counters exceed their old values, so a rise does not prove that there was no reset.
update('t', 7);
my $victim = $node->background_psql('postgres');
my $pid = $victim->query_safe('SELECT pg_backend_pid()');
kill 9, $pid;
# by -c: psql that finds no server does not read what is written to it
my $gone = 'psql -XAtq -d "' . $node->connstr('postgres')
	. qq(" -c "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $pid)" 2>&1);
for (1 .. 1800)
{
	last if qx($gone) eq "t\n";
	sleep 0.1;
}
eval { $victim->quit };
update('t', 500);
is(collected(), '1 0 0', 'kill -9 of a backend: a new epoch, no difference across it');
update('t', 3);
is(collected(), '0 3 0', 'differences are counted again');

update('t', 7);
$node->stop('immediate');
$node->start;
update('t', 600);
is(collected(), '1 0 0', 'immediate stop: a new epoch, no difference across it');

value('SELECT pg_stat_reset()');
update('t', 700);
is(collected(), '1 0 0', 'pg_stat_reset(): a new epoch, although counters exceed their old values');
is($node->safe_psql('postgres', q(CALL ff_collect();
	CALL ff_collect();
	SELECT pg_stat_reset();
	UPDATE t SET v = v;
	CALL ff_collect();
		SELECT count(*) - 4 FROM ff_internal.epoch)), "\n1",
		'pg_stat_reset() between quick collections of one session starts an epoch');
collected();
work('ANALYZE other');

# one table
collected();
value(q(SELECT pg_stat_reset_single_table_counters('t'::regclass)));
update('t', 2);
update('other', 30);
work('INSERT INTO log SELECT generate_series(1, 50)');
is(collected(), '0 0 30', 'reset of one table: its interval is lost, those of others are not');
is(value(q(SELECT i.inserted FROM ff_internal.counter_interval i
	JOIN ff_internal.relation r USING (rel_id) WHERE r.relname = 'log'
	ORDER BY i.ended_at DESC LIMIT 1)),
	50,
	'reset of one table: the interval of a table never analysed is kept');
value(q(SELECT pg_stat_reset_single_table_counters('t'::regclass)));
update('t', 900);
update('other', 40);
work('INSERT INTO log SELECT generate_series(1, 60)');
is(collected(), '0 0 40', 'a reset is detected when the counters then exceed their old values');
# before PostgreSQL 19 a table does not know when its counters were reset
is(value(q(SELECT sum(i.inserted) FROM ff_internal.counter_interval i
	JOIN ff_internal.relation r USING (rel_id) WHERE r.relname = 'log')),
	value('SHOW server_version_num') >= 190000 ? 110 : 50,
	'then the interval of a table never analysed is kept where its own time of a reset is known');
update('t', 1);
is(collected(), '0 1 0', 'the next interval of the table is counted');
value(q(CREATE TABLE pair1 AS SELECT g AS id, 0 AS v FROM generate_series(1, 100) g;
	CREATE TABLE pair2 AS SELECT * FROM pair1));
update($_, 10) foreach qw(pair1 pair2);
work('ANALYZE pair1');
collected();
value(q(SELECT pg_stat_reset_single_table_counters('pair1'::regclass),
	pg_stat_reset_single_table_counters('pair2'::regclass)));
work('INSERT INTO pair1 SELECT g, 0 FROM generate_series(101, 300) g');
update('pair1', 20);
update('pair2', 1);
collected();
is(value(q(SELECT string_agg(relname || ' ' || updated, ', ' ORDER BY relname)
	FROM (SELECT r.relname, sum(i.updated) AS updated FROM ff_internal.counter_interval i
		JOIN ff_internal.relation r USING (rel_id) WHERE r.relname ~ '^pair'
		GROUP BY 1) p)),
	'pair1 10, pair2 10',
	'reset of two tables: no false difference, although the counters of one exceed their old values');
work('DROP TABLE pair1, pair2');
value('SELECT pg_stat_reset()');
is(collected(), '1 0 0', 'a later pg_stat_reset() still starts a new epoch');

# Tables are read in batches, one transaction each. A reset may come between two of them.
update('t', 10);
update('other', 20);
is(in_two("SELECT pg_stat_reset(); $update_other"), '1 10 0',
	'a reset between two batches of tables: a new epoch for the second, no difference across it');
update('t', 3);
update('other', 4);
is(collected(), '0 0 4', 'a reset between two batches: no difference for the first batch either');
update('t', 5);
is(collected(), '0 5 0', 'differences are counted again');
update('t', 11);
is(in_two("SELECT pg_stat_reset_single_table_counters('other'::regclass); $update_other"), '0 11 0',
	'a reset of one table between two batches: no false difference');
collected();
in_two(q(SELECT pg_stat_reset_single_table_counters('t'::regclass)));
update('t', 900);
is(collected(), '0 0 0', 'a reset of one table that this collection had already read: no false difference');
update('t', 2);
update('other', 3);
is(collected(), '0 2 3', 'after a reset between batches, counting resumes');
my $last = value('SELECT max(began_at) FROM ff_internal.collection');
update('t', 12);
update('other', 21);
is(in_two(), '0 12 0', 'a collection that ends between two batches counts the first');
is(collected(), '0 0 21', 'after an unfinished collection the next one counts each update once');
is(value(q(SELECT i.began_at FROM ff_internal.counter_interval i
	JOIN ff_internal.relation r USING (rel_id) WHERE r.relname = 'other'
	ORDER BY i.ended_at DESC LIMIT 1)),
	$last, 'the interval begins at the last complete collection');
value(q(DO $$ BEGIN FOR i IN 1..300 LOOP EXECUTE format('CREATE TABLE between%s (i int)', i); END LOOP; END $$;
	CREATE TABLE latest (i int)));
collected();
value(q(SELECT pg_stat_reset_single_table_counters('t'::regclass)));
work('INSERT INTO latest SELECT generate_series(1, 50)');
update('other', 6);
is(collected(), '0 0 6', 'reset of one table, when there is more than one batch');
is(value(q(SELECT sum(i.inserted) FROM ff_internal.counter_interval i
	JOIN ff_internal.relation r USING (rel_id) WHERE r.relname = 'latest')),
	50, 'reset of one table: intervals in the next batch are kept');
value(q(SELECT pg_stat_reset_single_table_counters('latest'::regclass)));
work('INSERT INTO latest SELECT generate_series(1, 70)');
collected();
is(value(q(SELECT sum(i.inserted) FROM ff_internal.counter_interval i
	JOIN ff_internal.relation r USING (rel_id) WHERE r.relname = 'latest')),
	50, 'reset of one table: no false difference in the next batch');
value(q(DO $$ BEGIN FOR i IN 1..300 LOOP EXECUTE format('DROP TABLE between%s', i); END LOOP; END $$;
	DROP TABLE latest));

# rolled-back updates
work('BEGIN; UPDATE t SET v = v + 1 WHERE id <= 30; ROLLBACK');
is(collected(), '0 30 0', 'rolled-back updates are counted');
is(value(q(SELECT i.updated - i.hot_updated FROM ff_internal.counter_interval i
	JOIN ff_internal.relation r USING (rel_id) WHERE r.relname = 't'
	ORDER BY i.ended_at DESC LIMIT 1)),
	0,
	'rolled-back updates count as HOT if they were HOT');
# One table gets updates of which nine of ten are rolled back, another one the same updates, all committed.
# The procedure also counts the new versions that stay in their page.
value(q(
	CREATE TABLE stayed (id int PRIMARY KEY, v int, pad text);
	INSERT INTO stayed SELECT g, 0, repeat('x', 60) FROM generate_series(1, 2000) g;
	CREATE TABLE taken_back (LIKE stayed INCLUDING ALL);
	INSERT INTO taken_back SELECT * FROM stayed;
	CREATE FUNCTION block_of(tid) RETURNS text LANGUAGE sql AS 'SELECT split_part($1::text, $$,$$, 1)';
	CREATE PROCEDURE many(target regclass, kept int, INOUT same_page int, INOUT same_page_kept int)
		LANGUAGE plpgsql AS $$
	DECLARE
		old_place tid;
		new_place tid;
		same      int;
	BEGIN
		FOR i IN 1..6000 LOOP
			EXECUTE format('SELECT ctid FROM %s WHERE id = $1', target) INTO old_place USING i * 7919 % 2000 + 1;
			EXECUTE format('UPDATE %s SET v = v + 1 WHERE id = $1 RETURNING ctid',
				target) INTO new_place USING i * 7919 % 2000
				+ 1;
			same := (block_of(old_place) = block_of(new_place))::int;
			same_page := same_page + same;
			IF i % 10 < kept THEN
				same_page_kept := same_page_kept + same;
				COMMIT;
			ELSE
				ROLLBACK;
			END IF;
		END LOOP;
	END $$));
collected();
my (%same, %same_kept);
foreach my $round (1 .. 3)
{
	foreach my $of ([ 'stayed', 10 ], [ 'taken_back', 1 ])
	{
		($same{ $of->[0] }, $same_kept{ $of->[0] }) = split /\|/,
		value("CALL many('$of->[0]', $of->[1], 0, 0); SELECT pg_stat_force_next_flush()") =~ s/\n.*//sr;
	}
	collected();
}
foreach my $of ([ 'stayed', 6000 ], [ 'taken_back', 600 ])
{
	my ($of, $kept) = @$of;
	is(value("SELECT i.updated, i.hot_updated FROM ff_internal.counter_interval i
		JOIN ff_internal.relation r USING (rel_id) WHERE r.relname = '$of'
		ORDER BY i.ended_at DESC LIMIT 1"),
		"6000|$same{$of}",
		"$of: " . (6000 - $kept) . ' of 6000 updates rolled back: all are counted, with the HOT updates among them');
	cmp_ok(abs($same{$of} / 6000 - $same_kept{$of} / $kept), '<', 0.02,
		"$of: the HOT share is that of the committed updates");
	is(advice($of, 'action, cause, recommended_fillfactor'), 'keep|settled|100',
		"$of: the advice is to keep fillfactor 100");
}
work('DROP TABLE stayed, taken_back');
collected();
like(value(q(SELECT col_description('ff_internal.relation'::regclass, attnum)
	FROM pg_attribute
	WHERE attrelid = 'ff_internal.relation'::regclass AND attname = 'updated')),
	qr/rolled-back/, 'the column description mentions rolled-back updates');

# An open transaction does not report its counts.
my $session = $node->background_psql('postgres');
work('INSERT INTO log SELECT generate_series(1, 1000)');
collected();
# hardly updated is said after an hour
value(q(UPDATE ff_internal.counter_interval i SET began_at = i.began_at - interval '2 hours'
	FROM ff_internal.relation r WHERE r.rel_id = i.rel_id AND r.relname = 'log'));
is(advice('log', 'action'), 'keep', 'a table without updates is kept');
$session->query_safe('BEGIN; UPDATE t SET v = v + 1');
collected();
is(value('SELECT open_writers FROM ff_internal.collection ORDER BY collection_id DESC LIMIT 1'), 0,
	'a transaction begun since the last collection is not counted as an open writer');
is(collected(), '0 0 0', 'an open transaction: nothing is counted yet');
is(value('SELECT open_writers FROM ff_internal.collection ORDER BY collection_id DESC LIMIT 1'), 1,
	'the open transaction is recorded');
is(advice('log', 'action'), 'wait', 'with an open transaction, a table is not reported as one without updates');
like(advice('log', 'reason'), qr/1 open transactions may hold updates/, 'the reason says that transactions are open');
$session->query_safe('COMMIT; SELECT pg_stat_force_next_flush()');
is(collected(), '0 100 0', 'its updates are seen when it ends');
is(advice('log', 'action'), 'keep', 'there is no need to wait after the session has ended');

# A procedure commits, but reports its counts only when it ends. When a collection sees these commits, the procedure
# is in its next transaction.
my $before = value('SELECT v FROM t WHERE id = 1');
my @place = map { hold($node, 'postgres', $_) } 2, 3;
my $procedure = psql_beside($node, 'postgres',
	q(DO 'BEGIN FOR i IN 1..3 LOOP UPDATE t SET v = v + 1 WHERE id = 1; PERFORM pg_advisory_xact_lock(i); COMMIT; '
		'END LOOP; END'));
$place[0]->reached;
collected();
$place[0]->release;
my $pid_there = $place[1]->reached;
is(value('SELECT v FROM t WHERE id = 1') - $before, 2, 'the procedure has committed twice');
is(collected(), '0 0 0', 'the updates of a running procedure are not counted yet');
is(value('SELECT open_writers FROM ff_internal.collection ORDER BY collection_id DESC LIMIT 1'), 1,
	'the open transaction is recorded');
value("SELECT pg_cancel_backend($pid_there)");
like($procedure->ended, qr/57014/, 'the procedure is cancelled in its third transaction');
$place[1]->release;
$session->quit;
$node->poll_query_until('postgres', q(SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'client backend'));
is(collected(), '0 3 0', 'its three updates are counted when it has ended, including the one rolled back');

# counting switched off
cmp_ok(my $trusted = advice('other', 'confidence'), '>', 0, 'the confidence is above 0 with all counters');
work('ALTER SYSTEM SET track_counts = off; SELECT pg_reload_conf()');
$node->poll_query_until('postgres', q(SELECT NOT current_setting('track_counts')::bool));
update('t', 11);
collected();
work('ALTER SYSTEM RESET track_counts; SELECT pg_reload_conf()');
$node->poll_query_until('postgres', q(SELECT current_setting('track_counts')::bool));
update('t', 12);
is(collected(), '0 12 0', 'track_counts off for a while: what was not counted is missing');
like(advice('t', 'reason'), qr/ x counters lost 0[.]5/, 'the reason says that counters were lost');
cmp_ok(abs(advice('other', 'confidence') / $trusted - 0.5), '<=', 0.02, 'counters that were off lower the confidence');

# a read-only primary, a standby
sub refused
{
	my ($on, $sql) = @_;
	my ($status, $out, $err) = $on->psql('postgres', "\\set VERBOSITY verbose\n$sql");
	return join ' ', $status, $err =~ /ERROR:\s+(\w{5}): (.*)/;
}
is(refused($node, 'SET default_transaction_read_only = on; CALL ff_collect()'),
	'3 25006 cannot execute ff_collect() in a read-only transaction', 'default_transaction_read_only: one clear error');
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
update('t', 5);
collected();
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
is(refused($standby, 'CALL ff_collect()'), '3 25006 cannot execute ff_collect() during recovery',
	'a standby: one clear error');
# The time of the next collection depends on the time of the call, so it is removed from the reason.
my $all = q(SELECT relation, action, cause, recommended_fillfactor,
	regexp_replace(reason, '\nNext collection at [-0-9: ]+', '') FROM ff_advise() ORDER BY relation);
is($standby->safe_psql('postgres', $all), value($all), 'a standby: advice works from replicated history');
like($standby->safe_psql('postgres', q(SELECT size_bytes IS NULL, reason FROM ff_advise('unlogged'))), qr/^t\|./,
	'a standby: advice works for an unlogged table, which has no pages there');

# promotion
$node->stop;
$standby->promote;
$standby->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()');
$node = $standby;
update('t', 5000);
is(collected(), '1 0 0', 'promotion of a standby: a new epoch, no difference across it');
is(value('SELECT timeline FROM ff_internal.epoch ORDER BY epoch_id DESC LIMIT 1'), 2,
	'the new epoch has the new timeline');
update('t', 4);
is(collected(), '0 4 0', 'differences are counted again');
# a primary that was a standby for a moment still has its counters and their reset times
my $resets = q(SELECT pg_stat_get_bgwriter_stat_reset_time(),
	(SELECT stats_reset FROM pg_stat_database WHERE datname = current_database()));
my $reset = value($resets);
$node->stop;
$node->set_standby_mode;
$node->start;
$node->promote;
$node->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()');
update('t', 6);
is(value($resets), $reset, 'promotion of a former primary: no statistics were reset');
is(collected(), '1 0 0', 'promotion of a former primary: a new epoch, no difference across it');
is(value('SELECT timeline FROM ff_internal.epoch ORDER BY epoch_id DESC LIMIT 1'), 3,
	'the epoch after the second promotion has its timeline');
update('t', 8);
is(collected(), '0 8 0', 'differences are counted again');
is(value('SELECT count(*) FROM ff_internal.counter_interval WHERE ended_at < began_at'), 0,
	'no interval ends before it begins');
# one whose counters are reset between all collections is not taken for one that nothing is written to
value('CREATE TABLE nightly (id int)');
collected();
foreach (1 .. 2)
{
	work('INSERT INTO nightly VALUES (1)');
	value("SELECT pg_stat_reset_single_table_counters('nightly'::regclass)");
	work("INSERT INTO nightly SELECT generate_series(1, $_)");
	collected();
}
is(value(q(SELECT action || ': ' || split_part(reason, ',', 1) FROM ff_advise('nightly'))),
	'wait: Its counters were reset', 'counters that are reset each time: nothing is said of its work');
$node->stop;
