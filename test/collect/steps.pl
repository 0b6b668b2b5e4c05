# A collection consists of steps. Each is a transaction of its own and holds nothing open for the next one. If a step
# is killed, only its own work is lost. Triggers on the history's tables record which step wrote what in which
# transaction, and stop a collection where it is to be killed.
use strict;
use warnings;
use Time::HiRes qw(sleep);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More tests => 133;

my $node = PostgreSQL::Test::Cluster->new('steps');
$node->init;
$node->append_conf('postgresql.conf', q(
autovacuum = off
restart_after_crash = on
shared_preload_libraries = 'pg_stat_statements'
pg_stat_statements.max = 1000
fillfactor_advisor.min_updates = 1
));
$node->start;

sub value { return $node->safe_psql('postgres', $_[0]); }
sub wait_until { $node->poll_query_until('postgres', $_[0]) or die "never: $_[0]"; return; }
sub alone { wait_until(q(SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'client backend')); return; }
sub last_run { return value("SELECT $_[0] FROM ff_internal.collection ORDER BY collection_id DESC LIMIT 1"); }
# CALL ff_collect(): what psql reported
sub collect
{
	my ($status, $out, $err) = $node->psql('postgres', join("\n", @_, 'CALL ff_collect();'));
	return $status == 0 ? $err : "status $status: $err";
}

# 20 tables are quiet, three change
my $changing = 3;
value(qq(
	CREATE EXTENSION pg_stat_statements;
	CREATE EXTENSION fillfactor_advisor;
	SELECT format('CREATE TABLE s%s AS SELECT 1 AS id', i) FROM generate_series(1, 20) i \\gexec
	SELECT format('CREATE TABLE t%s AS SELECT g AS id, 0 AS v FROM generate_series(1, 1000) g', i)
	  FROM generate_series(1, $changing) i \\gexec));
value(q(
	CREATE TABLE step_log (n bigserial, xid bigint, horizon bigint, step text, target text, op text);
	CREATE TABLE gate (step text, target text, op text, nth int);
	CREATE FUNCTION note_step() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
	DECLARE
		stack  text;
		caller text;
	BEGIN
		GET DIAGNOSTICS stack = PG_CONTEXT;
		-- the outermost function comes last, except for try_step()
		caller := (regexp_match(stack, '.*function (?:ff_internal\.|")(?!try_step)([a-z_]+)'))[1];
		PERFORM pg_stat_clear_snapshot();
		INSERT INTO step_log (xid, horizon, step, target, op)
		SELECT pg_current_xact_id()::text::bigint, a.backend_xmin::text::bigint, caller, TG_TABLE_NAME, TG_OP
		  FROM pg_stat_get_activity(pg_backend_pid()) a;
		IF EXISTS (SELECT FROM gate g WHERE caller ~ g.step AND (g.target, g.op) = (TG_TABLE_NAME, TG_OP)
					  AND g.nth = (SELECT count(*) FROM step_log l
					      WHERE l.step ~ g.step AND (l.target, l.op) = (g.target, g.op))) THEN
			PERFORM pg_advisory_xact_lock(1);
		END IF;
		RETURN NULL;
	END $$;
	DO $$ DECLARE t regclass; BEGIN
		FOR t IN SELECT unnest(extconfig) FROM pg_extension WHERE extname = 'fillfactor_advisor' LOOP
			CONTINUE WHEN (SELECT relkind FROM pg_class WHERE oid = t) <> 'r';
			EXECUTE
				format('CREATE TRIGGER note_step BEFORE INSERT OR UPDATE OR DELETE ON %s EXECUTE FUNCTION note_step()',
				t);
		END LOOP;
	END $$));
is(collect(), '', 'the first collection works');

# Updates that are counted, made by statements that are followed
my $updates = 0;
sub change
{
	value(join ';', (map { "UPDATE t$_ SET v = v + 1 WHERE id <= 200" } 1 .. $changing),
		# few were seen before, so that each table is fitted again
		'UPDATE ff_internal.fit SET updated = 0', 'SELECT pg_stat_force_next_flush()');
	$updates += 200 * $changing;
	return;
}
my $backlog = 'SELECT count(*) FROM ff_internal.counter_interval WHERE rel_id = 0';
my $old_statements = 'SELECT count(*) FROM ff_internal.statement_history WHERE statement_id = 0';
# Gives every step of the next collection something to do
sub prepare
{
	change();
	value(q(
		DELETE FROM ff_internal.counter_interval WHERE rel_id = 0;
		DELETE FROM ff_internal.statement_history WHERE statement_id = 0;
		INSERT INTO ff_internal.counter_interval (rel_id, began_at, ended_at, epoch_id, fillfactor, rewritten, inserted,
			updated, hot_updated, deleted, seq_scans, index_scans, blocks_fetched, blocks_hit, vacuums)
		SELECT 0, at, at, 1, 100, false, 1, 1, 1, 1, 1, 1, 1, 1, 1
			FROM (SELECT now() - interval '200 days' + g * interval '1 second' AS at
				FROM generate_series(1, 12000) g) x;
		INSERT INTO ff_internal.statement_history (statement_id, began_at, ended_at, epoch_id, calls, rows, total_ms,
			squares, blocks_hit, blocks_read, blocks_dirtied, wal_records, wal_fpi, wal_bytes)
		SELECT 0, at, at, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1
			FROM (SELECT now() - interval '200 days' + g * interval '1 second' AS at
				FROM generate_series(1, 12000) g) x;
		TRUNCATE step_log));
	return;
}

# ---------------------------------------------------------------------------
# Each step in its own transaction
# ---------------------------------------------------------------------------
collect();
prepare();
is(collect(), '', 'a collection with all kinds of work succeeds');
is(value(q(SELECT string_agg(DISTINCT step, ' ' ORDER BY step) FROM step_log WHERE step !~ 'collect_(begin|count)')),
	'collect_end collect_fit collect_horizon collect_pages collect_statements ' .
	'collect_verdicts fits_due prune',
	'every step has written something');
is(value(q(SELECT string_agg(steps, ' ')
	FROM (SELECT string_agg(DISTINCT step, '+' ORDER BY step) AS steps FROM step_log
		GROUP BY xid HAVING count(DISTINCT step) > 1) x)),
	'',
	'no transaction has two kinds of steps');
# what one call of a step does exactly once
my %once = (
	'collect_pages' => [ 'page_sample', 'INSERT', 'tables sampled', $changing + 1 ],
	'collect_fit' => [ 'fit', 'UPDATE', 'tables fitted', 1 ],
	'prune' => [ 'setting_history', 'DELETE', 'batches pruned', 3 ]);
foreach my $step (sort keys %once)
{
	my ($table, $op, $what, $least) = @{ $once{$step} };
	my ($calls, $transactions) = split /\|/,
	value("SELECT count(*), count(DISTINCT xid) FROM step_log WHERE (step, target, op) = ('$step', '$table', '$op')");
	is($transactions, $calls, "$what: $calls, each in a transaction of its own");
	cmp_ok($calls, '>=', $least, "$what: as many as expected");
}
is(value('SELECT count(*) FROM step_log a JOIN step_log b ON b.n < a.n AND b.xid <> a.xid
	WHERE a.horizon IS NULL OR a.horizon <= b.xid'),
	0,
	'no step keeps an older snapshot: backend_xmin is past all earlier steps');
is(value("$backlog") . ' ' . value($old_statements), '0 0', 'the backlog is gone');

# ---------------------------------------------------------------------------
# A commit that fails: the collector's lock belongs to the session, not to a transaction
# ---------------------------------------------------------------------------
value(q(
	CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused at commit'; END $$;
	CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON ff_internal.page_sample DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
		EXECUTE FUNCTION refuse()));
change();
my $samples = value('SELECT count(*) FROM ff_internal.page_sample');
my $log_from = -s $node->logfile;
my $reported = collect();
like($reported, qr/ERROR:  refused at commit/, 'a step whose commit fails gives one error');
unlike($reported . PostgreSQL::Test::Utils::slurp_file($node->logfile, $log_from), qr/WARNING/,
	'a step whose commit fails gives no warning');
is(value(q(SELECT count(*) FROM pg_locks WHERE locktype IN ('advisory', 'userlock'))), 0,
	'no lock is left after the failed call');
is(value('SELECT count(*) FROM ff_internal.page_sample'), $samples, 'the sample is lost');
value('DROP TRIGGER refuse ON ff_internal.page_sample');
is(collect(), '', 'the next collection works');
is(value(q(SELECT count(*) FROM ff_internal.relation WHERE relname ~ '^t\d' AND changes_since_sample > 0)), 0,
	'the next collection samples what changed');

# ---------------------------------------------------------------------------
# Killed in each step
# ---------------------------------------------------------------------------
my $stopped = q(SELECT a.pid FROM pg_stat_activity a JOIN pg_locks l USING (pid)
	WHERE l.locktype = 'userlock' AND a.wait_event_type = 'Lock' AND a.wait_event = 'advisory');
my $in_history = q(SELECT coalesce(sum(i.updated), 0) FROM ff_internal.counter_interval i
	JOIN ff_internal.relation r USING (rel_id) WHERE r.relname ~ '^t\d');
my $calls = q(SELECT coalesce(sum(h.calls), 0) FROM ff_internal.statement s
	JOIN ff_internal.statement_history h USING (statement_id)
	WHERE s.text LIKE 'UPDATE t_ SET v%');
my $sampled = q(SELECT count(*) FROM ff_internal.relation WHERE relname ~ '^t\d' AND changes_since_sample = 0);
my $promised = q(SELECT count(*) FROM ff_internal.relation r
	JOIN ff_internal.fit f USING (rel_id)
	WHERE relname ~ '^t\d' AND f.made_at >= (SELECT max(began_at) FROM ff_internal.collection));
# Where the collection is killed, and what is found of its steps afterwards: collections begun, statements read, tables
# sampled, tables fitted, collections ended, rows left of the backlog and of the backlog of statements
my @where = (
	[ 'the counters are read', 'collect_(begin|counters)', 'counter_interval', 'INSERT', 1,
		[ 0, 0, $changing, 0, 0, 12000, 12000 ] ],
	[ 'statements are read', 'collect_statements$', 'statement_snapshot', 'INSERT', 1,
		[ 1, 0, 0, 0, 0, 12000, 12000 ] ],
	[ 'the second table is sampled', 'collect_pages', 'page_sample', 'INSERT', 2, [ 1, 1, 'one', 0, 0, 12000, 12000 ] ],
	[ 'the first fit is written', 'collect_fit', 'fit', 'UPDATE', 1, [ 1, 1, $changing, 0, 0, 12000, 12000 ] ],
	[ 'the collection is closed', 'collect_end', 'collection', 'UPDATE', 1,
		[ 1, 1, $changing, 'some', 0, 12000, 12000 ] ],
	[ 'the second batch is pruned', 'prune$', 'setting_history', 'DELETE', 2,
		[ 1, 1, $changing, 'some', 1, 2000, 12000 ] ],
	[ 'the third batch is pruned, of statements', 'prune$', 'setting_history', 'DELETE', 3,
		[ 1, 1, $changing, 'some', 1, 0, 4000 ] ]);
foreach my $how ('terminate', 'kill -9')
{
	foreach my $place (@where)
	{
		my ($when, $step, $table, $op, $nth, $kept) = @$place;
		my $name = "$how while $when";
		# a crash loses the statements, so a collection reads them again before the next kill
		change();
		collect();
		$updates = value($in_history);
		my $called = value($calls);
		prepare();
		my ($collections, $looks, $epochs) = map { value("SELECT count(*) FROM $_") } qw(ff_internal.collection
			ff_internal.statement_snapshot ff_internal.epoch);
		my $before = value('SELECT count(*) FROM ff_internal.page_sample');
		value("INSERT INTO gate VALUES ('$step', '$table', '$op', $nth)");
		# a new session each time, because its lifetime is limited
		my $holder = $node->background_psql('postgres');
		$holder->query_safe('SELECT pg_advisory_lock(1)');
		my $err = '';
		my $session = IPC::Run::start([ 'psql', '-XAtq', '-v', 'VERBOSITY=verbose', '-d', $node->connstr('postgres'),
			'-c', 'CALL ff_collect()' ],
			'>', \my $out, '2>', \$err);
		wait_until("SELECT EXISTS ($stopped)");
		$log_from = -s $node->logfile;
		if ($how eq 'terminate')
		{
			value("SELECT pg_terminate_backend(($stopped))");
			IPC::Run::finish($session);
			$holder->quit;
			wait_until(q(SELECT NOT EXISTS (SELECT FROM pg_locks WHERE locktype IN ('advisory', 'userlock'))));
		}
		else
		{
			kill('KILL', value($stopped)) == 1 or die;
			IPC::Run::finish($session);
			eval { $holder->quit };
			my $ready = qr/terminated by signal 9.*database system is ready/s;
			for (1 .. 1800)
			{
				last if PostgreSQL::Test::Utils::slurp_file($node->logfile, $log_from) =~ $ready;
				sleep 0.1;
			}
		}
		like($err,
			$how eq 'terminate' ? qr/57P01: terminating connection/ : qr/server closed the connection unexpectedly/,
			"$name: the call fails");
		value('TRUNCATE gate');
		my @found = (value('SELECT count(*) FROM ff_internal.collection') - $collections,
			value('SELECT count(*) FROM ff_internal.statement_snapshot') - $looks, value($sampled),
			value($promised), last_run('ended_at IS NOT NULL') eq 't' ? 1 : 0, value($backlog), value($old_statements));
		# if nothing of the collection was kept, these values are of the previous one
		@found[3, 4] = (0, 0) if !$kept->[0];
		$found[2] = 'one'
			if $kept->[2] eq 'one' && value('SELECT count(*) FROM ff_internal.page_sample') - $before == 1;
		$found[3] = 'some' if $kept->[3] eq 'some' && $found[3] > 0;
		is("@found", "@$kept", "$name: the work of earlier steps is kept, that of the killed step is not");
		is(collect(), '', "$name: the next collection works");
		is(last_run('ended_at IS NOT NULL, failed'), 't|0', "$name: the next collection completes without a failure");
		is(value($backlog) . ' ' . value($old_statements), '0 0',
			"$name: the next collection removes the rest of the backlog");
		is(value($sampled), $changing, "$name: every table that changed is sampled");
		# a crash loses the server's counters; those already read stay
		my $lost = $how eq 'kill -9' && !$kept->[0];
		my $calls_lost = $how eq 'kill -9' && !$kept->[1];
		is(value($in_history) . ' ' . value($calls),
			($lost ? $updates - 200 * $changing : $updates) . ' ' . ($calls_lost ? $called : $called + $changing),
			"$name: every update and every call that was kept is in the history once");
		is(value('SELECT count(*) FROM ff_internal.epoch') - $epochs, $how eq 'terminate' ? 0 : 1,
			"$name: only a crash starts a new epoch");
	}
}
alone();
is(value(q(SELECT count(*) FROM pg_locks WHERE locktype IN ('advisory', 'userlock'))), 0, 'no lock is left');
# tables that one collection has no time for come first in the next one
my $since = value('SELECT clock_timestamp()');
my $asked = "SELECT count(*) FROM ff_internal.relation
	JOIN ff_internal.fit f USING (rel_id)
	WHERE relname ~ '^t\\d' AND f.made_at >= '$since'";
$reported = '';
for (1 .. 20) { change(); $reported .= collect(); last if value($asked) == $changing; }
is($reported . value($asked), $changing, 'all tables that change are fitted again');
unlike(PostgreSQL::Test::Utils::slurp_file($node->logfile),
	qr/PANIC|terminated by signal (?!9)|TRAP|WARNING: .*(leak|own)/, 'no leak in the log');
$node->stop;
