# The work of ff_horizon() and held_back() grows with the intervals of the history and with the holders of snapshots,
# not with their product: counted in rows that their plans touch, by auto_explain.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More tests => 5;

my $node = PostgreSQL::Test::Cluster->new('horizon');
$node->init;
$node->append_conf('postgresql.conf', 'autovacuum = off');
$node->start;

# rows that the nodes of all plans of a query return or drop
sub rows_touched
{
	my ($status, $out, $err) = $node->psql('postgres', join("\n",
		q(LOAD 'auto_explain';), 'SET auto_explain.log_min_duration = 0;', 'SET auto_explain.log_analyze = on;',
		'SET auto_explain.log_timing = off;', 'SET auto_explain.log_nested_statements = on;',
		'SET jit = off;', 'SET client_min_messages = log;', "$_[0];"));
	my ($rows, $loops) = (0, 0);
	foreach (split /\n/, $err)
	{
		($loops, $rows) = ($2, $rows + $1 * $2) if /actual.* rows=([\d.]+) loops=(\d+)/;
		$rows += $1 * $loops if /Rows Removed by .*: (\d+)/;
	}
	return $rows;
}
# holders of snapshots, each for a minute of the last six hours
sub hold
{
	$node->safe_psql('postgres', qq(
		TRUNCATE ff_internal.horizon_history;
		INSERT INTO ff_internal.horizon_history (kind, holder, since, last_seen_at, xids)
		SELECT 'transaction', 'pid ' || n, at, at + interval '1 min', 10
		  FROM generate_series(1, $_[0]) n, LATERAL (SELECT now() - n * interval '6 hours' / $_[0]) h(at)));
	return;
}

# 50 tables, 72 collections: 3,600 intervals in the last six hours
$node->safe_psql('postgres', q(
	CREATE EXTENSION fillfactor_advisor;
	CALL ff_collect();
	INSERT INTO ff_internal.counter_interval (rel_id, began_at, ended_at, epoch_id, fillfactor, rewritten, inserted, updated,
		hot_updated, deleted, seq_scans, index_scans, blocks_fetched, blocks_hit, vacuums)
	SELECT r, now() - n * interval '5 min', now() - (n - 1) * interval '5 min', 1, 100, false, 0, 100, 90, 0, 0, 0, 0, 0, 0
	  FROM generate_series(1, 50) r, generate_series(1, 72) n;
	ANALYZE ff_internal.counter_interval));
my $horizon = 'SELECT count(*) FROM ff_horizon()';
my $held_back = q(SELECT ff_internal.held_back(1, now() - interval '1 day', now()));
hold(5);
my ($few, $few_of_one) = (rows_touched($horizon), rows_touched($held_back));
is($node->safe_psql('postgres', $horizon), 5, 'ff_horizon() shows the holders');
cmp_ok($few, '>=', 3600, 'it reads all intervals');
cmp_ok($few_of_one, '>=', 72, 'held_back() reads those of its table');
hold(100);
# each of the 100 is compared with 72 collections, not with 3,600 intervals
cmp_ok(rows_touched($horizon), '<', 3 * $few, 'ff_horizon(): twenty times the holders are not twenty times the work');
cmp_ok(rows_touched($held_back), '<', 3 * $few_of_one + 1000, 'held_back(): neither are they');

$node->stop;
