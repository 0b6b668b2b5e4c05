# The queries for monitoring run as they are delivered, by a role that only
# monitors, and the progress of a collection can be watched.
use strict;
use warnings;
use FindBin;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('monitoring');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION fillfactor_advisor; CREATE ROLE watcher LOGIN IN ROLE pg_monitor; CREATE TABLE t (i int PRIMARY KEY, j int)');
sub value { return $node->safe_psql('postgres', @_); }

value('CALL ff_collect()');
is(value('SELECT collections, failed, problems FROM ff_metrics_collection'), '1|0|0', 'the last collection on one row');
value('INSERT INTO t SELECT i FROM generate_series(1, 1000) i; UPDATE t SET j = 1');
# a session's counters come when it has ended
$node->poll_query_until('postgres', "SELECT n_tup_upd = 1000 FROM pg_stat_user_tables WHERE relname = 't'") or die 'no counters';
value('CALL ff_collect()');
is(value("SELECT fillfactor, updates_per_s > 0, hot_ratio BETWEEN 0 AND 1, heap_bytes > 0, live_ratio > 0 FROM ff_metrics WHERE relname = 't'"),
	'100|t|t|t|t', 'metrics of a table');

# Every column of a query is in the list of its metrics, and the other way round.
my $yaml = slurp_file("$FindBin::Bin/../../sql/monitoring/postgres_exporter.yaml");
my @queries = $yaml =~ /^(\w+:\n  query: ".*?(?=^\w|\z))/gms;
is(scalar @queries, 2, 'postgres_exporter: two queries');
foreach my $query (@queries)
{
	my ($name, $sql) = $query =~ /^(\w+):\n  query: "(.*)"/;
	my @listed = $query =~ /^    - (\w+):/gm;
	my $header = (split /\n/, $node->safe_psql('postgres', "SET ROLE watcher; COPY ($sql) TO STDOUT WITH (FORMAT csv, HEADER)"))[0];
	is($header, join(',', @listed), "postgres_exporter: $name");
}

# Grafana puts a condition on the time column in the place of its macro.
my $board = decode_json(slurp_file("$FindBin::Bin/../../sql/monitoring/grafana.json"));
foreach my $sql ((map { [ $_->{title}, $_->{targets}[0]{rawSql} ] } @{ $board->{panels} }), map { [ $_->{name}, $_->{rawQuery} ] } @{ $board->{annotations}{list} })
{
	(my $query = $sql->[1]) =~ s/\$__timeFilter\(([^)]*)\)/$1 BETWEEN now() - interval '1 day' AND now()/g;
	my ($code, undef, $error) = $node->psql('postgres', "SET ROLE watcher; $query");
	is($code, 0, "Grafana: $sql->[0]") or diag $error;
}

# A collection that is slow on purpose: the second table's turn comes while the
# first is still being read.
is(value('SELECT count(*) FROM ff_progress()'), '0', 'no collection is running');
value('CREATE TABLE slow AS SELECT i, repeat($$x$$, 500) AS filler FROM generate_series(1, 30000) i');
my $collector = $node->background_psql('postgres', on_error_stop => 0);
$collector->query_safe("SET fillfactor_advisor.sample_error = 0; SET fillfactor_advisor.sample_delay = '300ms'");
$collector->query_until(qr/begun/, "\\echo begun\nCALL ff_collect();\n");
ok($node->poll_query_until('postgres', "SELECT count(*) = 1 FROM ff_progress() WHERE phase = 'pages' AND current_table = 'slow'::regclass AND running_s > 0 AND waiting > 0"),
	'progress: the table being sampled');
is(value('SET ROLE watcher; SELECT p.collection_id = max(c.collection_id) FROM ff_progress() p, ff_collection c GROUP BY p.collection_id'), 't', 'progress: for a role that monitors, too');
value('SELECT pg_cancel_backend(pid) FROM ff_progress()');
ok($node->poll_query_until('postgres', 'SELECT count(*) = 0 FROM ff_progress()'), 'progress: none once it has ended');
$collector->quit;

done_testing();
