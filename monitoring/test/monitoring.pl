# The monitoring queries run as delivered, with a role that only monitors, and in a real exporter. Their advice is that
# of ff_advise(). The progress of a collection can be watched.
use strict;
use warnings;
use FindBin;
use CPAN::Meta::YAML;
use HTTP::Tiny;
use IPC::Run ();
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('monitoring');
$node->init;
$node->append_conf('postgresql.conf', 'autovacuum = off');
$node->start;
$node->safe_psql('postgres',
	'CREATE EXTENSION fillfactor_advisor;
		CREATE ROLE watcher LOGIN IN ROLE pg_monitor;
		CREATE TABLE t (i int PRIMARY KEY, j int)');
sub value { return $node->safe_psql('postgres', @_); }

value('CALL ff_collect()');
is(value('SELECT collections, failed, problems FROM ff_metrics_collection'), '1|0|0',
	'the last collection has one row');
value('INSERT INTO t SELECT i FROM generate_series(1, 1000) i; UPDATE t SET j = 1');
# a session reports its counters when it ends
$node->poll_query_until('postgres', "SELECT n_tup_upd = 1000 FROM pg_stat_user_tables WHERE relname = 't'")
	or die 'no counters';
value('CALL ff_collect()');
is(value("SELECT fillfactor, last_hour_updates_per_s > 0, last_hour_hot_ratio BETWEEN 0 AND 1, heap_bytes > 0,
	live_ratio > 0
	FROM ff_metrics WHERE relname = 't'"),
	'100|t|t|t|t', 'a table has its metrics');

# The metrics have the advice of ff_advise(), also after it changed. The history is written by hand, so only the
# settings change.
$node->safe_psql('postgres', 'CREATE DATABASE advised');
$node->safe_psql('advised', 'CREATE EXTENSION fillfactor_advisor');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-v', 'n=18', '-o', '/dev/null', '-f',
	"$FindBin::Bin/../../test/pictures/tables.sql", '-d', $node->connstr('advised') ],
	'the tables are made');
my $advised = q(SELECT count(*) FROM ff_metrics WHERE advised_fillfactor IS NOT NULL);
my $differ = q(SELECT string_agg(format('%s: %s %s %s, %s %s %s', m.relname, m.advised_fillfactor,
	m.predicted_hot_ratio, m.confidence, a.recommended_fillfactor, a.predicted_hot_pct, a.confidence),
	'; ')
	FROM ff_metrics m
		LEFT JOIN ff_advise() a ON a.relation = format('%I.%I', m.schemaname, m.relname)::regclass
			AND a.action IN ('lower', 'raise')
	WHERE (m.advised_fillfactor, round((100 * m.predicted_hot_ratio)::numeric, 3),
		round(m.confidence::numeric, 3)) IS DISTINCT FROM
	      (a.recommended_fillfactor, round(a.predicted_hot_pct::numeric, 3), round(a.confidence::numeric, 3)));
sub asked_again
{
	# as if the model was fitted two hours ago and nothing changed since
	$node->safe_psql('advised',
		"UPDATE ff_internal.fit SET made_at = now() - interval '2 hours';
			UPDATE ff_internal.relation SET opened_at = now() - interval '1 day';
			CALL ff_collect()");
	return;
}
$node->safe_psql('advised', 'SELECT ff_internal.collect_fit(rel_id) FROM ff_internal.relation');
is($node->safe_psql('advised', $differ), '', 'metrics: the advice is that of ff_advise()');
my $some = $node->safe_psql('advised', $advised);
cmp_ok($some, '>=', 2, 'metrics: some changes are advised');
is($node->safe_psql('advised', 'SELECT count(*) FROM ff_metrics WHERE advice_age_s IS NULL'), '0',
	'metrics: every table has the age of its advice');
foreach my $turn ([ 'min_confidence = 1.0', 'wait' ], [ 'min_gain = 90', 'keep' ])
{
	my ($setting, $action) = @$turn;
	$node->safe_psql('advised', "ALTER DATABASE advised SET fillfactor_advisor.$setting");
	asked_again();
	is($node->safe_psql('advised', $differ), '',
		"metrics: the advice is that of ff_advise() after it turned to $action");
	cmp_ok($node->safe_psql('advised', $advised), '<', $some, "metrics: $setting takes advice back");
	$node->safe_psql('advised', 'ALTER DATABASE advised RESET ALL');
	# a table without advice is fitted again only when it changes, so it is done here
	$node->safe_psql('advised', 'SELECT ff_internal.collect_fit(rel_id) FROM ff_internal.relation');
	is($node->safe_psql('advised', $advised), $some, 'metrics: the advice returns with the default settings');
}
$node->safe_psql('advised', "DROP TABLE t4; CALL ff_collect()");
is($node->safe_psql('advised',
	'SELECT count(*) FROM ff_internal.fit JOIN ff_internal.relation r USING (rel_id) WHERE r.closed_at IS NOT NULL'),
	'0', 'metrics: a dropped table has no advice');

my $yaml = slurp_file("$FindBin::Bin/../../monitoring/postgres_exporter.yaml");
my @queries = $yaml =~ /^(\w+:\n  query: ".*?(?=^\w|\z))/gms;
is(scalar @queries, 2, 'postgres_exporter: there are two queries');
foreach my $query (@queries)
{
	my ($name, $sql) = $query =~ /^(\w+):\n  query: "(.*)"/;
	my @listed = $query =~ /^    - (\w+):/gm;
	my $header = (split /\n/,
		$node->safe_psql('postgres', "SET ROLE watcher; COPY ($sql) TO STDOUT WITH (FORMAT csv, HEADER)"))[0];
	is($header, join(',', @listed), "postgres_exporter: the columns of $name are the metrics listed");
}

# pgwatch needs a time, tags of type text, and types that it can store. It leaves out NULLs.
my $pgwatch = CPAN::Meta::YAML->read("$FindBin::Bin/../../monitoring/pgwatch.yaml")->[0];
is(join(' ', sort keys %{ $pgwatch->{metrics} }), 'fillfactor_advisor fillfactor_advisor_table',
	'pgwatch: there are two metrics');
is_deeply([ sort keys %{ $pgwatch->{presets}{fillfactor_advisor}{metrics} } ], [ sort keys %{ $pgwatch->{metrics} } ],
	'pgwatch: the preset has both metrics');
foreach my $name (sort keys %{ $pgwatch->{metrics} })
{
	my $metric = $pgwatch->{metrics}{$name};
	is(join(' ', keys %{ $metric->{sqls} }), '15', "pgwatch: $name has one query for all versions");
	is_deeply($metric->{gauges}, ['*'], "pgwatch: all columns of $name are gauges");
	my $sql = $metric->{sqls}{15};
	my $described = $node->safe_psql('postgres', "SET ROLE watcher;\n$sql \\gdesc\n");
	my @columns = map { [ split /\|/ ] } split /\n/, $described;
	is($columns[0][0] . ' ' . $columns[0][1], 'epoch_ns bigint', "pgwatch: the first column of $name is the time");
	is(join(' ',
		map { $_->[0] } grep { $_->[0] =~ /^tag_/
			? $_->[1] ne 'text'
			: $_->[1] !~ /^(?:bigint|integer|double precision)$/ } @columns),
		'', "pgwatch: all columns of $name have types that pgwatch can store");
	my $rows = $node->safe_psql('postgres', "SET ROLE watcher;\n$sql");
	like($rows, $name =~ /table/ ? qr/\|public\|t\|100\|/ : qr/^\d{19}\|2\|/,
		"pgwatch: the query of $name returns its rows");
}

# The queries in a real exporter.
SKIP:
{
	unless ($ENV{FFA_EXPORTER})
	{
		my $why = ($ENV{FFA_TOOLS} // 'yes') eq 'yes'
			? 'no prometheus-postgres-exporter; make test unpacks it, with apt'
			: $ENV{FFA_TOOLS};
		diag "NOT TESTED: the queries in a Prometheus exporter: $why";
		skip $why, 6;
	}
	my $port = PostgreSQL::Test::Cluster::get_free_port();
	local $ENV{DATA_SOURCE_NAME} = 'user=watcher dbname=postgres sslmode=disable host='
		. $node->host
		. ' port='
		. $node->port;
	my $said = '';
	my $exporter = IPC::Run::start([ $ENV{FFA_EXPORTER}, "--web.listen-address=127.0.0.1:$port",
		'--disable-default-metrics', '--disable-settings-metrics',
		"--extend.query-path=$FindBin::Bin/../../monitoring/postgres_exporter.yaml" ], '<', \undef, '>&', \$said);
	my $page = '';
	foreach (1 .. 50 * 10)
	{
		my $answer = HTTP::Tiny->new(timeout => 10)->get("http://127.0.0.1:$port/metrics");
		$page = $answer->{content} if $answer->{success};
		last if $page =~ /^fillfactor_advisor_/m || !$exporter->pumpable;
		select undef, undef, undef, 0.1;
	}
	$exporter->signal('TERM');
	$exporter->finish;
	like($page, qr/^pg_exporter_last_scrape_error 0$/m, 'exporter: the scrape has no error') or diag $said;
	like($page, qr/^pg_exporter_user_queries_load_error\{[^}]*\} 0$/m, 'exporter: the file is read');
	foreach my $metric ([ 'fillfactor_advisor_table_fillfactor', '100' ],
		[ 'fillfactor_advisor_table_last_hour_hot_ratio', '[0-9.e-]+' ])
	{
		my ($name, $value) = @$metric;
		my $labels = join '', map { "(?=[^}]*$_)" } 'datname="postgres"', 'relname="t"', 'schemaname="public"';
		like($page, qr/^$name\{$labels[^}]*\} $value$/m, "exporter: $name is exported");
	}
	like($page, qr/^fillfactor_advisor_collections\{[^}]*\} 2$/m, 'exporter: the number of collections is exported');
	like($page, qr/^# HELP fillfactor_advisor_table_last_hour_hot_ratio HOT share of the updates, 0 to 1$/m,
		'exporter: a metric has its help');
}

# Grafana replaces its macro by a condition on the time column.
my $board = decode_json(slurp_file("$FindBin::Bin/../../monitoring/grafana.json"));
foreach my $sql ((map { [ $_->{title}, $_->{targets}[0]{rawSql} ] } @{ $board->{panels} }),
	map { [ $_->{name}, $_->{rawQuery} ] } @{ $board->{annotations}{list} })
{
	(my $query = $sql->[1]) =~ s/\$__timeFilter\(([^)]*)\)/$1 BETWEEN now() - interval '1 day' AND now()/g;
	my ($code, undef, $error) = $node->psql('postgres', "SET ROLE watcher; $query");
	is($code, 0, "Grafana: the query of $sql->[0] runs") or diag $error;
}

done_testing();
