# A fit of the model ends when it is told to. A standby that is promoted while collections are due
# goes on without a false difference.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../perl";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Beside qw(program_beside);
use Test::More tests => 17;

my $node = PostgreSQL::Test::Cluster->new('cancel');
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', 'autovacuum = off');
$node->start;
sub value { return $node->safe_psql('postgres', $_[0]); }

# ---------------------------------------------------------------------------
# A fit: by the processor time of its backend, which others on the machine do not change
# ---------------------------------------------------------------------------
$node->safe_psql('postgres', 'CREATE DATABASE fits');
$node->safe_psql('fits',
	"CREATE EXTENSION fillfactor_advisor;\nBEGIN;\n\\i $FindBin::Bin/../queries/stories.sql\nCOMMIT;" . q(
	CREATE TABLE input AS
	SELECT jsonb_populate_record(NULL::ff_internal.model_input, to_jsonb(ff_internal.model_input(e))) AS given
		FROM ff_internal.evidence('snapshot') e));
my $fit = 'SELECT count(ff_internal.model(given, true)) FROM input';
my $session = $node->background_psql('fits', on_error_stop => 0);
my $pid = $session->query_safe('SELECT pg_backend_pid()');

# Seconds of the processor that the backend has used so far
sub used { return (split / /, slurp_file("/proc/$pid/schedstat"))[0] / 1e9; }

SKIP:
{
	skip 'no /proc here', 7 if !-e "/proc/$pid/schedstat";
	my $before = used();
	is($session->query($fit), 1, 'a fit');
	my $whole = used() - $before;
	cmp_ok($whole, '>', 0.03, 'that takes its time');
	note "$whole s";
	foreach my $share (0.1, 0.3)
	{
		$session->query(sprintf 'SET statement_timeout = %d', 1000 * $share * $whole);
		$before = used();
		$session->{stderr} = '';
		$session->query($fit);
		like($session->{stderr}, qr/canceling statement due to statement timeout/,
			'a fit is ended by statement_timeout');
		cmp_ok(used() - $before, '<', ($share + 0.3) * $whole, 'the fit ends long before it would be done');
	}
	$session->query('RESET statement_timeout');
	$session->query_until(qr/now/,
		"\\echo now\nDO 'BEGIN PERFORM ff_internal.model(given, true) FROM input, generate_series(1, 10000); END';\n");
	# no time passes until this is sent
	my $canceler = $node->background_psql('postgres');
	$node->poll_query_until('postgres', "SELECT state = 'active' FROM pg_stat_activity WHERE pid = $pid");
	$before = used();
	$canceler->query_safe("SELECT pg_cancel_backend($pid)");
	$node->poll_query_until('postgres', "SELECT state <> 'active' FROM pg_stat_activity WHERE pid = $pid");
	cmp_ok(used() - $before, '<', 5 * $whole + 1, 'a fit is ended by pg_cancel_backend()');
	$canceler->quit;
}
$session->quit;

# ---------------------------------------------------------------------------
# Collections that are due on a standby, before, while and after it is promoted
# ---------------------------------------------------------------------------
value(q(CREATE EXTENSION fillfactor_advisor;
	CREATE TABLE t (id int PRIMARY KEY, v int);
	INSERT INTO t SELECT g, 0 FROM generate_series(1, 100) g;
	CALL ff_collect()));
sub update { value("UPDATE t SET v = v + 1 WHERE id <= $_[0]; SELECT pg_stat_force_next_flush()"); return; }
my $updated = q(SELECT coalesce(sum(i.updated), 0) FROM ff_internal.counter_interval i
	JOIN ff_internal.relation r USING (rel_id) WHERE r.relname = 't');
update(10);
value('CALL ff_collect()');
is(value($updated), 10, 'updates on the primary');
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
# the primary counts these, and the standby, which never did, takes over
update(20);
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));

# as a scheduler would, again and again
my $stop = PostgreSQL::Test::Utils::tempdir . '/stop';
my $due = program_beside('sh', '-c',
	'until [ -e "$1" ]; do psql -XAtq -v VERBOSITY=verbose -d "$2" -c "CALL ff_collect()"; done', 'due', $stop,
	$standby->connstr('postgres'));
$standby->poll_query_until('postgres',
	q(SELECT count(*) >= 1 FROM pg_stat_activity WHERE query ~ 'ff_collect' AND pid <> pg_backend_pid()));
$node->stop('immediate');
$standby->promote;
$node = $standby;
ok($node->poll_query_until('postgres',
	'SELECT count(*) > 2 FROM ff_internal.collection c JOIN ff_internal.epoch e USING (epoch_id) WHERE e.timeline = 2'),
	'promoted, it collects');
update(7);
append_to_file($stop, '');
$due->ended;
value('CALL ff_collect()');
my %said;
$said{$1}++ while $due->{err} =~ /ERROR:\s+(\w{5})/g;
is(join(' ', sort keys %said), '25006', 'before, each collection was refused, and there was no other error');
is(value('SELECT count(*) FROM ff_internal.epoch'), 2, 'promotion starts one new epoch');
is(value('SELECT count(DISTINCT timeline) FROM ff_internal.epoch'), 2,
	'the epoch after promotion has the new timeline');
is(value($updated), 17, 'no difference is taken across the promotion');
is(value(q(SELECT count(*) FROM ff_internal.counter_interval i JOIN ff_internal.epoch e USING (epoch_id)
	WHERE e.timeline = 2
		AND i.began_at < (SELECT min(c.began_at) FROM ff_internal.collection c WHERE c.epoch_id = e.epoch_id))),
	0, 'intervals of the new timeline begin after promotion');
is(value('SELECT count(*) FROM ff_internal.collection WHERE ended_at IS NULL'), 0,
	'promotion leaves no unfinished collection');
is(value("SELECT count(*) FROM ff_internal.problem"), 0, 'no table had a problem');
is(value(q(SELECT action FROM ff_advise('t'))), 'wait', 'advice is given');
$node->stop;
