# The whole loop on a real server, with the workloads of the demo: sample,
# collect, advise, script, apply, and the same workload again.
use strict;
use warnings;
use FindBin;
use IPC::Run ();
use lib "$FindBin::Bin/../perl";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Beside qw(collect_all watched_a_day);

my $node = PostgreSQL::Test::Cluster->new('loop');
$node->init;
# when a vacuum comes is the machine's: it takes away old versions that say where updates went, and an autoanalyze
# keeps pages from being pruned
$node->append_conf('postgresql.conf',
	"shared_preload_libraries = 'pg_stat_statements'\nlog_statement = none\nautovacuum = off");
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE shop');
$node->safe_psql('shop', 'CREATE EXTENSION pg_stat_statements; CREATE EXTENSION fillfactor_advisor');

sub value { return $node->safe_psql('shop', $_[0]); }
sub collect { return collect_all($node, 'shop', @_); }

# The demo's workloads, on this server.
sub workload
{
	my ($what) = @_;
	local $ENV{PGHOST} = $node->host;
	local $ENV{PGPORT} = $node->port;
	local $ENV{PGDATABASE} = 'shop';
	local $ENV{PGUSER} = value('SELECT current_user');
	system("$FindBin::Bin/../shop/workload", $what) == 0 or die "workload $what failed";
	return;
}

# One row of ff_advise() as a hash.
sub advice
{
	my ($table) = @_;
	my @column = qw(fillfactor recommended_fillfactor action cause hot_pct rows_per_page predicted_rows_per_page
		size_bytes predicted_size_bytes ddl reason);
	my %row;
	@row{@column} = split /\x1f/,
	value('SELECT concat_ws(chr(31), '
		. join(', ', map { "coalesce($_\::text, '')" } @column)
		. ") FROM ff_advise('$table')"),
	-1;
	note "$table: $row{action}, $row{cause}: $row{reason}";
	return \%row;
}

# watched_a_day() makes the fits
workload('setup');
collect(0);
workload('lap');
collect(0);
workload('lap');
collect(0);

watched_a_day($node, 'shop');

# Every table has its row, and it says why.
is( value(q(SELECT count(*) FROM pg_class c
	WHERE relkind = 'r' AND (relnamespace = 'shop'::regnamespace OR relname ~ '^pgbench_')
		AND NOT EXISTS (SELECT FROM ff_advise() a WHERE a.relation = c.oid AND a.reason <> ''))),
	'0', 'every table has a row with a reason');

# The batch table: lower, to a step that leaves room for all rows of a page at once.
my $jobs = advice('shop.jobs');
is($jobs->{action}, 'lower', 'batch table: lower');
is($jobs->{cause}, 'batch_update', 'batch table: the cause is batch_update');
cmp_ok($jobs->{predicted_rows_per_page} * 2, '<=', $jobs->{rows_per_page} + 1,
	'batch table: room for all rows of a page at once');
cmp_ok($jobs->{recommended_fillfactor}, '>=', 40, 'batch table: advice is not below 40');
cmp_ok($jobs->{recommended_fillfactor}, '<=', 55, 'batch table: advice is not above 55');

# The indexed column.
my $orders = advice('shop.orders');
is($orders->{action}, 'keep', 'indexed column: keep');
is($orders->{cause}, 'indexed_column', 'indexed column: the cause is indexed_column');
like($orders->{reason}, qr/orders_status/, 'indexed column: the index is named');

# Accounts: one update a page was not HOT, all later ones are.
my $accounts = advice('public.pgbench_accounts');
is($accounts->{action}, 'keep', 'settled accounts: keep');
is($accounts->{cause}, 'settled', 'settled accounts: the cause is settled');
cmp_ok(value(q(SELECT 100.0 * n_tup_hot_upd / n_tup_upd FROM pg_stat_user_tables WHERE relname = 'pgbench_accounts')),
	'<', 98, 'settled accounts: the HOT share since the start is below 98 %');

# The insert-only table whose reserve is wasted.
my $log = advice('shop.log');
is($log->{action}, 'raise', 'insert-only at 70: raise');
is($log->{recommended_fillfactor}, 100, 'insert-only at 70: to 100');
cmp_ok($log->{predicted_size_bytes}, '<', 0.8 * $log->{size_bytes},
	'insert-only at 70: the table would shrink by a fifth or more');

# Too few updates to say anything.
my $countries = advice('shop.countries');
is($countries->{action}, 'keep', 'few updates: keep, because a day was watched');
is($countries->{cause}, 'few_updates', 'few updates: the cause is few_updates');

# The model's curve offers the advised step, and promises what is then measured.
my $promised = value("SELECT hot_pct FROM ff_curve('shop.jobs') WHERE fillfactor = $jobs->{recommended_fillfactor}");
cmp_ok($promised, '>', 95, 'curve: above 95 % HOT at the advised step');

# What a person reads fits a terminal; a notice has the total.
foreach my $call (qw(ff_advice ff_blocked ff_curves ff_verified))
{
	my ($out, $err) = ('', '');
	IPC::Run::run([ 'psql', '-X', '-d', $node->connstr('shop'), '-c', "SELECT * FROM $call" ], '>', \$out, '2>', \$err);
	is(join("\n", grep { length >= 100 } split /\n/, $out), '', "$call is under 100 columns wide");
	like($err, qr/^NOTICE:  \d changes?: about \d+ [kMG]?B less WAL [^;]* disk/m, 'the totals of the advice')
		if $call eq 'ff_advice';
}

# The script does what the advice says and changes nothing when it runs again.
my $script = value(q(SELECT * FROM ff_script('shop.jobs')));
like($script, qr/fillfactor\s*=\s*$jobs->{recommended_fillfactor}\b/, 'script sets what was advised');
foreach my $time ('first', 'second')
{
	my ($status, $out, $err) = $node->psql('shop', $script, extra_params => [ '-v', 'ON_ERROR_STOP=1' ]);
	is($status, 0, "script runs the $time time") or diag $err;
	is(value(q(SELECT reloptions FROM pg_class WHERE oid = 'shop.jobs'::regclass)),
		"{fillfactor=$jobs->{recommended_fillfactor}}", "fillfactor is set after the $time time");
}
value('VACUUM FULL shop.jobs');
collect();

# The same workload again.
my ($before, $hot_before) = split /\|/,
	value(q(SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relid = 'shop.jobs'::regclass));
workload('jobs');
collect();
my ($after, $hot_after) = split /\|/,
	value(q(SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relid = 'shop.jobs'::regclass));
cmp_ok($after - $before, '>=', 75000, 'the workload ran again');
my $hot = 100 * ($hot_after - $hot_before) / ($after - $before);
cmp_ok($hot, '>', 95, 'batch table: HOT above 95 % after the change');
cmp_ok(abs($hot - $promised), '<=', 5, 'batch table: HOT share is within 5 points of the prediction');
$jobs = advice('shop.jobs');
unlike($jobs->{action}, qr/lower|raise/, 'batch table: no further change is advised');

# A fillfactor that was set without a rewrite: its pages are as full as before,
# which is not what it would do to them.
value(q(CREATE TABLE shop.halls (id int PRIMARY KEY, hall int, n int, pad text) WITH (autovacuum_enabled = off);
	CREATE INDEX ON shop.halls (hall);
	INSERT INTO shop.halls SELECT g, g / 12, 0, repeat('p', 84) FROM generate_series(1, 100000) g));
value('VACUUM ANALYZE shop.halls');
value('ALTER TABLE shop.halls SET (fillfactor = 70)');
sub halls_updated
{
	collect();
	value(q(SELECT setseed(0.5);
		DO $$ DECLARE h int; BEGIN FOR i IN 1..3000 LOOP h := 8000 * random();
			UPDATE shop.halls SET n = n + 1 WHERE hall = h; COMMIT; END LOOP; END $$));
	collect();
	return;
}
halls_updated();
my $halls = advice('shop.halls');
cmp_ok($halls->{hot_pct}, '<', 70, 'fillfactor set, not rewritten: pages are full');
my ($filled_at, $would_be) = split /\|/,
	value(q(SELECT ((v.fit).choice).filled_at, ((v.fit).choice).rewrite_hot_pct
		FROM ff_internal.decision_with_curve('shop.halls', false) v));
cmp_ok($filled_at, '>=', 95, 'fillfactor set, not rewritten: seen');
value('VACUUM FULL shop.halls');
halls_updated();
$halls = advice('shop.halls');
note "$would_be % were predicted";
cmp_ok(abs($halls->{hot_pct} - $would_be), '<=', 10,
	'fillfactor set, not rewritten: the effect of a rewrite was predicted');

$node->stop;
done_testing();
