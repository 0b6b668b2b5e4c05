# Programs that run beside a test, and ways to stop them at a certain place while the test examines them.
package Beside;
use strict;
use warnings;
use Exporter 'import';
use IPC::Run ();
use PostgreSQL::Test::Utils qw(slurp_file);
use Time::HiRes qw(sleep);
our @EXPORT_OK = qw(program_beside psql_beside wake hold close_gate freeze collect_all time_passes
	watched_a_day with_provisional);

# program_beside(COMMAND...): start a program. Its output is in {out} and {err}.
sub program_beside
{
	my (@command) = @_;
	my $self = bless { out => '', err => '' };
	$self->{process} = IPC::Run::start(\@command, '<', \undef, '>', \$self->{out}, '2>', \$self->{err});
	return $self;
}

# psql_beside(NODE, DATABASE [as ROLE], COMMAND...): run these commands one after the other until one fails. Errors are
# shown with their SQLSTATE.
sub psql_beside
{
	my ($node, $database, @commands) = @_;
	my $user = $database =~ s/ as (\S+)$// ? " user=$1" : '';
	return program_beside('psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-v', 'VERBOSITY=verbose', '-d',
		$node->connstr($database) . $user,
		map { ('-c', $_) } @commands);
}

# collect_all(NODE, DATABASE [, FITS]): a collection that sees the counters of every session that has ended. FITS: most
# fits that it makes, 0 if nobody reads them.
sub collect_all
{
	my ($node, $database, $fits) = @_;
	$node->poll_query_until($database,
		q(SELECT count(*) = 0 FROM pg_stat_activity
			WHERE backend_type = 'client backend' AND datname = current_database() AND pid <> pg_backend_pid()))
	  or die 'sessions of the workload stay';
	return $node->safe_psql($database,
		(defined $fits ? "SET fillfactor_advisor.fits = $fits; " : '') . 'CALL ff_collect()');
}

# time_passes(NODE, DATABASE, INTERVAL): all times in the history, except those that the server also knows, move that
# far
# into the past. So intervals can be as long as a test wants, and equally long on a slow machine.
sub time_passes
{
	my ($node, $database, $interval) = @_;
	return $node->safe_psql($database, qq{
		SELECT format('UPDATE %s SET %s', a.attrelid::regclass,
			string_agg(format('%1\$I = %1\$I - interval ''$interval''', a.attname), ', '))
		  FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
		 WHERE c.relnamespace = 'ff_internal'::regnamespace AND c.relkind = 'r'
		   AND a.atttypid = 'timestamptz'::regtype AND a.attname !~ '_?reset\$'
		 GROUP BY a.attrelid \\gexec});
}

# watched_a_day(NODE, DATABASE): as if the first intervals had begun a day earlier, and the others were spread over it.
sub watched_a_day
{
	my ($node, $database) = @_;
	return $node->safe_psql($database, q(
		UPDATE ff_internal.collection SET began_at = began_at - interval '1 day'
		 WHERE began_at <= (SELECT min(began_at) FROM ff_internal.counter_interval);
		UPDATE ff_internal.statement_history h SET began_at = began_at - interval '1 day'
		 WHERE NOT EXISTS (SELECT FROM ff_internal.statement_history o WHERE o.ended_at < h.ended_at);
		UPDATE ff_internal.counter_interval i SET ended_at = i.ended_at - n.later * n.longer,
			began_at = i.began_at - CASE WHEN n.later * n.longer + n.longer < interval '1 day' THEN n.later * n.longer
				ELSE interval '1 day' END
		  FROM (SELECT rel_id, ended_at, count(*) OVER (PARTITION BY rel_id ORDER BY ended_at DESC) - 1 AS later,
			       interval '1 day' / count(*) OVER (PARTITION BY rel_id) AS longer
			  FROM ff_internal.counter_interval) n
		 WHERE n.rel_id = i.rel_id AND n.ended_at = i.ended_at;
		SELECT ff_internal.collect_fit(rel_id) FROM ff_internal.relation WHERE closed_at IS NULL));
}

# with_provisional(SCRIPT): a script of ff_script() that also makes the changes that are provisional.
sub with_provisional
{
	my ($script) = @_;
	return $script =~ s/^\\if :provisional \\\\ (.*) \\endif$/$1/gmr =~ s/provisional :undo/provisional on/r;
}

# Wait until it ends; returns its output, after 'failed: ' if it failed.
sub ended
{
	my ($self) = @_;
	my $well = IPC::Run::finish($self->{process});
	return ($well ? '' : 'failed: ') . $self->{out} . $self->{err};
}

# Wait until it ends; returns SQLSTATE and message of its first error or warning, or else its messages without notices.
sub outcome
{
	my ($self) = @_;
	IPC::Run::finish($self->{process});
	return $1 if $self->{err} =~ /(?:ERROR|FATAL|WARNING):\s+(\w{5}: .*)/;
	return $self->{err} =~ s/^NOTICE: .*?^LOCATION:.*?\n//msgr;
}

# ended() of a program that sleeps in its samples. A signal ends each sleep, so the test does not wait for them.
sub ended_soon
{
	my ($self, $node, $database) = @_;
	while ($self->{process}->pumpable)
	{
		wake($node, $database);
		$self->{process}->pump_nb;
		sleep 0.05;
	}
	return $self->ended;
}

# Wake the sessions that sleep in a sample.
sub wake
{
	my ($node, $database) = @_;
	my $napping = q(SELECT pid FROM pg_stat_activity
		WHERE wait_event = 'Extension' AND query ~ 'ff_(collect|sample)' AND pid <> pg_backend_pid());
	return kill 'HUP', split /\n/, $node->safe_psql($database, $napping);
}

# hold(NODE, DATABASE, KEY): a session that has the advisory lock KEY until release().
sub hold
{
	my ($node, $database, $key) = @_;
	open my $session, '|-', 'psql', '-Xq', '-o', '/dev/null', '-d', $node->connstr($database) or die "psql: $!";
	print $session "SELECT pg_advisory_lock($key);\n";
	$session->flush;
	my $self = bless { session => $session, node => $node, database => $database,
		lock =>
			"locktype = 'advisory' AND classid = 0 AND objid = $key AND database = (SELECT oid FROM pg_database " .
			"WHERE datname = current_database())"
			};
	$self->until_seen('granted');
	return $self;
}

sub release { my ($self) = @_; return close $self->{session}; }

sub until_seen
{
	my ($self, $how) = @_;
	my $query = "SELECT EXISTS (SELECT FROM pg_locks WHERE $self->{lock} AND $how)";
	$self->{node}->poll_query_until($self->{database}, $query) or die "never: $query";
	return;
}

# Wait until a session waits for the lock; returns the pid of that session.
sub reached
{
	my ($self) = @_;
	$self->until_seen('NOT granted');
	return $self->{node}->safe_psql($self->{database},
		"SELECT pid FROM pg_locks WHERE $self->{lock} AND NOT granted LIMIT 1");
}

# close_gate(NODE, DATABASE, TABLE, OP, NTH): from now on the NTH statement that
# does OP on that table of the history waits until release().
my $gate = 1735549285;
sub close_gate
{
	my ($node, $database, $table, $op, $nth) = @_;
	$node->safe_psql($database, qq(
		SET client_min_messages = warning;
		CREATE SEQUENCE IF NOT EXISTS public.gate_passed;
		CREATE OR REPLACE FUNCTION public.gate() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS \$\$
		BEGIN
			IF nextval('public.gate_passed') = TG_ARGV[0]::bigint THEN
				PERFORM pg_advisory_xact_lock_shared($gate);
			END IF;
			RETURN NULL;
		END \$\$;
		SELECT setval('public.gate_passed', 1, false);
		CREATE OR REPLACE TRIGGER gate BEFORE $op ON ff_internal.$table EXECUTE FUNCTION public.gate('$nth')));
	return hold($node, $database, $gate);
}

# freeze(SESSION, NODE, DATABASE, QUERY [, CODE]): stop the server process whose pid the query gives, until thaw(). The
# query describes a state that the session enters and leaves again. CODE is called while it is in another state.
sub freeze
{
	my ($session, $node, $database, $state, $meanwhile) = @_;
	for (1 .. 1800)
	{
		my $pid = $node->safe_psql($database, "SELECT pid FROM ($state) s LIMIT 1");
		if ($pid)
		{
			kill 'STOP', $pid;
			return bless { pid => $pid }
				if $node->safe_psql($database, "SELECT count(*) FROM ($state) s WHERE pid = $pid");
			kill 'CONT', $pid;
		}
		$session->{process}->pump_nb if $session->{process}->pumpable;
		die 'it has ended: ' . $session->ended if !$session->{process}->pumpable;
		$meanwhile->() if $meanwhile;
		sleep 0.05;
	}
	die "never: $state";
}

sub thaw { my ($self) = @_; return kill 'CONT', $self->{pid}; }

# Wait until the signal of this number has been sent to it; it receives the signal when it thaws.
sub signalled
{
	my ($self, $number) = @_;
	for (1 .. 6000)
	{
		my ($pending) = slurp_file("/proc/$self->{pid}/status") =~ /^ShdPnd:\s*[0-9a-f]*([0-9a-f]{8})$/m;
		return if hex($pending) & 1 << $number - 1;
		sleep 0.05;
	}
	die "never: signal $number";
}

1;
