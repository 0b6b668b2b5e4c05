# A mirror of a server on which nothing is installed, by a role that has pg_monitor alone: the whole loop with the
# workloads of the demo.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../../test/perl";
use Beside qw(watched_a_day);
use Mirrored;
use PostgreSQL::Test::Utils;
use Test::More;

Mirrored::start();

sub workload
{
	my ($what) = @_;
	local @ENV{qw(PGHOST PGPORT PGDATABASE PGUSER)} = ($Mirrored::source->host, $Mirrored::source->port, 'shop',
		there('SELECT current_user'));
	system("$FindBin::Bin/../../test/shop/workload", $what) == 0 or die "workload $what failed";
	return;
}

# Batches of jobs and a collection, as often.
sub jobs
{
	my ($times) = @_;
	local @ENV{qw(PGHOST PGPORT PGDATABASE PGUSER)} = ($Mirrored::source->host, $Mirrored::source->port, 'shop',
		there('SELECT current_user'));
	foreach (1 .. $times)
	{
		system_or_bail('pgbench', '-n', '-c', 1, '-t', 20, '-f', "$FindBin::Bin/../../test/shop/jobs.sql");
		collect();
	}
	return;
}

like(error(q(SELECT ff_mirror('nowhere'))), qr/^ERROR:  server nowhere does not exist/, 'a mirror needs a server');
workload('setup');
like(value(q(SELECT ff_mirror('source'))),
	qr/^mirror of database shop on \S+, PostgreSQL \d+, read at [^:]+:\d\d:[^:]+: 8 tables, 8 indexes$/m,
	'a mirror says what it found');
is(value(q(SELECT string_agg(format('%s %s', c.oid::regclass, c.reloptions), ', ' ORDER BY c.relname)
	FROM pg_class c WHERE c.relnamespace = 'shop'::regnamespace AND c.relkind = 'r')),
	'shop.countries , shop.jobs , shop.log {fillfactor=70}, shop.orders ',
	'tables have the names and options of the source');
is(value('SELECT count(*) FROM pgbench_accounts'), '0', 'they are empty');
like(error('SELECT * FROM ff_advice'), qr/^NOTICE:  mirror of shop on /, 'ff_advice says whose tables it speaks of');
like(error('INSERT INTO shop.log (line) VALUES (1)'), qr/violates check constraint "mirror_holds_no_rows"/,
	'they stay empty');
is(there(q(SELECT count(*) FROM pg_extension WHERE extname ~ '^fillfactor_advisor')
	. q(; SELECT count(*) FROM pg_namespace WHERE nspname ~ '^ff_')),
	"0\n0", 'nothing is installed on the source');
like(value(
	'SELECT unnest(denied) FROM (SELECT ARRAY(SELECT d::text FROM ff_internal.observed o, ' .
	'jsonb_array_elements(o.said->\'denied\') d WHERE o.kind = \'server\')) x(denied)'),
	qr/widths of columns/, 'what the role may not read is known');
my ($grant) = value(q(SELECT string_agg(w, E'\n') FROM ff_hub.mirror_words() w)) =~ /On the source: (GRANT SELECT [^;]*);/;
is(there("BEGIN; $grant; SELECT bool_and(has_table_privilege('monitor', c.oid, 'SELECT')) FROM pg_class c
	WHERE c.relkind = 'r' AND c.reltuples > 0 AND c.relnamespace::regnamespace::text !~ '^(pg_|information)'; ROLLBACK"),
	't', 'the GRANT that is named helps');
like(value(q(SELECT said->>'reason' FROM ff_internal.observed WHERE kind = 'statements')),
	qr/^permission denied: GRANT USAGE ON SCHEMA ext TO monitor$/,
	'that statements cannot be read is known, with the GRANT');
there('GRANT USAGE ON SCHEMA ext TO monitor');
collect();
is(value(q(SELECT said->>'reason' FROM ff_internal.observed WHERE kind = 'statements')), '',
	'statements are read, in whatever schema they are');
workload('lap');
collect();
workload('lap');
collect();

jobs(4);

watched_a_day($Mirrored::mirror, 'shop');

is(value(q(SELECT sum(i.updated) FROM ff_internal.counter_interval i
	JOIN ff_internal.relation r USING (rel_id) WHERE r.relname = 'jobs')),
	there(q(SELECT n_tup_upd FROM pg_stat_user_tables WHERE relname = 'jobs')), 'counters are those of the source');
my %advice;
foreach my $table (qw(shop.jobs shop.orders shop.log shop.countries pgbench_accounts))
{
	my $row = value("SELECT concat_ws('|', a.action, a.cause, a.recommended_fillfactor, round(a.confidence::numeric, 2),
		a.reason)
		FROM ff_advise('$table') a");
	@{ $advice{ $table =~ s/.*\.//r } }{qw(action cause step confidence reason)} = split /\|/, $row;
	note "$table: $row";
}
is("$advice{jobs}{action}", 'lower', 'batches: lower');
cmp_ok($advice{jobs}{step} || 0, '>=', 40, 'batches: not below 40');
cmp_ok($advice{jobs}{step} || 0, '<=', 55, 'batches: not above 55');
is("$advice{orders}{action} $advice{orders}{cause}", 'keep indexed_column', 'indexed column: keep');
like($advice{orders}{reason}, qr/orders_status/, 'indexed column: the index is named');
like("$advice{log}{action} $advice{log}{step}", qr/^raise 100/, 'insert-only at 70: raise to 100');
is($advice{pgbench_accounts}{action}, 'keep', 'accounts: keep');
is($advice{countries}{cause}, 'few_updates', 'countries: few updates');

# The script runs on the source, and only there.
my $script = value(q(SELECT * FROM ff_script('shop.jobs')));
like($script, qr/psql -X -h '\Q@{[$Mirrored::source->host]}\E' -p '@{[$Mirrored::source->port]}' -d 'shop' -f FILE/,
	'the script says where it runs');
my ($status, $out, $err) = $Mirrored::source->psql('shop', $script,
	extra_params => [ '-v', 'ON_ERROR_STOP=1', '-v', 'provisional=on' ]);
is($status, 0, 'the script runs on the source') or diag $err, $script;
is(there(q(SELECT reloptions FROM pg_class WHERE oid = 'shop.jobs'::regclass)), "{fillfactor=$advice{jobs}{step}}",
	'fillfactor is set there')
	or diag "$out\n$err";
there('VACUUM FULL shop.jobs');
collect();
is(value(q(SELECT reloptions FROM pg_class WHERE oid = 'shop.jobs'::regclass)), "{fillfactor=$advice{jobs}{step}}",
	'the mirror has it, too');
jobs(6);
is(value(q(SELECT string_agg(DISTINCT verdict, ', ') FROM ff_verify('shop.jobs')
	WHERE change ~ 'fillfactor' AND measure = 'overall')),
	'helped', 'ff_verify() says that it helped')
  or diag value('SELECT * FROM ff_verify()');

# A hub takes a mirror like any other source, under the identity of its own source.
is(value(q(SELECT concat_ws(' ', e->>'database', e->>'system_identifier', e->>'database_oid') FROM ff_export() e)),
	there(q(SELECT concat_ws(' ', datname, (SELECT system_identifier FROM pg_control_system()), oid)
		FROM pg_database WHERE datname = current_database())), 'the export of a mirror is that of its source');
{
	my ($host, $port) = ($Mirrored::mirror->host, $Mirrored::mirror->port);
	my $hub = sub { return $Mirrored::mirror->safe_psql('hub', $_[0]); };
	$Mirrored::mirror->safe_psql('postgres', 'CREATE DATABASE hub');
	$hub->('CREATE EXTENSION fillfactor_advisor_hub CASCADE');
	$hub->(qq(CREATE SERVER $_ FOREIGN DATA WRAPPER dblink_fdw OPTIONS (host '$host', port '$port', dbname 'shop',
		connect_timeout '5'); CREATE USER MAPPING FOR CURRENT_USER SERVER $_; SELECT ff_fleet_add('$_', '$_')))
	  foreach qw(first second);
	$hub->('CALL ff_fleet_refresh()');
	is($hub->(q(SELECT string_agg(concat_ws(' ', source, role, database), ', ' ORDER BY source) FROM ff_fleet)),
		'first primary shop, second duplicate shop', 'a mirror that is a source twice is one database');
	is($hub->(q(SELECT count(*) FROM ff_fleet_advice WHERE relation = 'shop.jobs')), '1', 'with one advice');
}
$Mirrored::mirror->stop;
$Mirrored::source->stop;
done_testing();
