# The work of a call grows with the history, and with the holders of snapshots, the changes and the statements in it, not
# with their product: counted in rows that its plans touch, by auto_explain.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More tests => 9;

my $node = PostgreSQL::Test::Cluster->new('work');
$node->init;
$node->append_conf('postgresql.conf', 'autovacuum = off');
$node->start;

sub value { return $node->safe_psql('postgres', $_[0]); }
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

# 60 tables, 72 collections: 4,320 intervals in the last six hours
value(q(
	CREATE EXTENSION fillfactor_advisor;
	DO $$ BEGIN FOR n IN 1..60 LOOP EXECUTE format('CREATE TABLE t%s (id int)', n); END LOOP; END $$;
	CALL ff_collect();
	INSERT INTO ff_internal.counter_interval (rel_id, began_at, ended_at, epoch_id, fillfactor, rewritten, inserted, updated,
		hot_updated, deleted, seq_scans, index_scans, blocks_fetched, blocks_hit, vacuums)
	SELECT rel_id, now() - n * interval '5 min', now() - (n - 1) * interval '5 min', 1, 100, false, 0, 100, 90, 0, 0, 0, 0,
		0, 0
	  FROM ff_internal.relation, generate_series(1, 72) n;
	ANALYZE ff_internal.counter_interval));

# holders of snapshots, each for a minute of the last six hours
sub hold
{
	value(qq(
		TRUNCATE ff_internal.horizon_history;
		INSERT INTO ff_internal.horizon_history (kind, holder, since, last_seen_at, xids)
		SELECT 'transaction', 'pid ' || n, at, at + interval '1 min', 10
		  FROM generate_series(1, $_[0]) n, LATERAL (SELECT now() - n * interval '6 hours' / $_[0]) h(at)));
	return;
}
my $horizon = 'SELECT count(*) FROM ff_horizon()';
my $held_back = q(SELECT ff_internal.held_back(1, now() - interval '1 day', now()));
hold(5);
my ($few, $few_of_one) = (rows_touched($horizon), rows_touched($held_back));
is(value($horizon), 5, 'ff_horizon() shows the holders');
cmp_ok($few, '>=', 4320, 'it reads all intervals');
cmp_ok($few_of_one, '>=', 72, 'held_back() reads those of its table');
hold(100);
# each of the 100 is compared with 72 collections, not with 4,320 intervals
cmp_ok(rows_touched($horizon), '<', 3 * $few, 'ff_horizon(): twenty times the holders are not twenty times the work');
cmp_ok(rows_touched($held_back), '<', 3 * $few_of_one + 1000, 'held_back(): neither are they');
value('TRUNCATE ff_internal.horizon_history');

# tables that were altered three hours ago, each with a statement
sub alter
{
	value(qq(
		INSERT INTO ff_internal.change (rel_id, kind, before_at, seen_at, epoch_id, old_fillfactor, new_fillfactor)
		SELECT r.rel_id, 'fillfactor', now() - interval '185 min', now() - interval '3 hours', 1, 100, 90
		  FROM ff_internal.relation r WHERE substr(r.relname, 2)::int BETWEEN $_[0] AND $_[1];
		INSERT INTO ff_internal.statement (queryid, toplevel, kind, text, opened_at)
		SELECT n, true, 'write', 'UPDATE t' || n, now() - interval '1 day' FROM generate_series($_[0], $_[1]) n;
		INSERT INTO ff_internal.statement_target (statement_id, "position", command, how, relation_name, relid, rel_id, columns)
		SELECT s.statement_id, 1, 'UPDATE', 'top', r.relname, r.relid, r.rel_id, '{id}'
		  FROM ff_internal.statement s JOIN ff_internal.relation r ON r.relname = 't' || s.queryid
		 WHERE s.queryid BETWEEN $_[0] AND $_[1];
		INSERT INTO ff_internal.statement_history (statement_id, began_at, ended_at, epoch_id, calls, rows, total_ms, squares,
			blocks_hit, blocks_read, blocks_dirtied, wal_records, wal_fpi, wal_bytes)
		SELECT s.statement_id, now() - n * interval '5 min', now() - (n - 1) * interval '5 min', 1, 100, 100, 10, 1, 100, 0, 10,
			100, 1, 10000
		  FROM ff_internal.statement s, generate_series(1, 72) n WHERE s.queryid BETWEEN $_[0] AND $_[1];
		ANALYZE ff_internal.statement_history));
	return;
}
my $verify = 'SELECT count(*) FROM ff_verify()';
alter(1, 15);
$few = rows_touched($verify);
cmp_ok($few, '>=', 15 * 72, 'ff_verify() reads the intervals of its tables');
alter(16, 60);
is(value(q(SELECT count(DISTINCT relation) FROM ff_verify() WHERE measure = 'WAL per update')), 60,
	'ff_verify() compares the WAL of each table');
cmp_ok(rows_touched($verify), '<', 6 * $few, 'ff_verify(): four times the changes are not sixteen times the work');

# index changes of long ago
is(value(q(
	INSERT INTO ff_internal.change (rel_id, kind, before_at, seen_at, epoch_id, old_fillfactor, new_fillfactor,
		created_indexes, reindexed_columns)
	SELECT r.rel_id, 'indexes', now() - interval '31 days', now() - interval '30 days', 1, 100, 100,
		ARRAY['CREATE INDEX i ON ' || r.relname || ' (id)'], '{1}' FROM ff_internal.relation r;
	BEGIN;
	SET LOCAL track_functions = 'all';
	SELECT count(*) FROM ff_internal.evidence();
	SELECT coalesce(sum(calls), 0) FROM pg_stat_xact_user_functions WHERE funcname = 'reblocks';
	COMMIT)), "60\n0", 'an index change from before the lookback is not looked into');

$node->stop;
