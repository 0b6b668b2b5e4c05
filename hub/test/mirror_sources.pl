# Sources of other versions, most too old for the extension, one without pg_stat_statements, and a standby.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../../test/perl";
use Mirrored;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

Mirrored::start();
my ($mirror, $source) = ($Mirrored::mirror, $Mirrored::source);

# A mirror, in a database of this name, of the database shop of a server.
sub mirror_of
{
	my ($name, $host, $port) = @_;
	$mirror->safe_psql('postgres', qq(CREATE DATABASE "$name"));
	return $mirror->safe_psql($name, qq(SET client_min_messages = error;
		CREATE EXTENSION fillfactor_advisor_hub CASCADE;
		CREATE SERVER source FOREIGN DATA WRAPPER dblink_fdw OPTIONS (host '$host', port '$port', dbname 'shop',
			connect_timeout '5');
		CREATE USER MAPPING FOR CURRENT_USER SERVER source OPTIONS (user 'monitor');
		SELECT ff_mirror('source')));
}

my $tables = q(CREATE TABLE jobs (id int PRIMARY KEY, state int, note text,
	g int GENERATED ALWAYS AS (state + 1) STORED);
	CREATE INDEX jobs_expression ON jobs ((state + 1), lower(note));
	INSERT INTO jobs SELECT g, 0, 'x' FROM generate_series(1, 1000) g;
	CREATE TABLE part (k int, v text) PARTITION BY HASH (k);
	CREATE TABLE part_0 PARTITION OF part FOR VALUES WITH (MODULUS 1, REMAINDER 0));

# ---------------------------------------------------------------------------
# Other versions
# ---------------------------------------------------------------------------
SKIP:
{
	my @servers = split ' ', $ENV{FFA_SOURCES} // '';
	skip 'no server of 13, 14 and 16 here', 1 if !@servers;
	foreach my $dir (@servers)
	{
		my ($version) = $dir =~ /source-(\d+)/;
		my $data = PostgreSQL::Test::Utils::tempdir;
		my $port = PostgreSQL::Test::Cluster::get_free_port();
		my $host = $source->host;
		local $ENV{LD_LIBRARY_PATH} = "$dir/lib";
		run_log([ "$dir/bin/initdb", '-D', "$data/data", '-U', 'postgres', '-A', 'trust', '-N' ])
			or die "no cluster of $version";
		append_to_file("$data/data/postgresql.conf",
			"port = $port\nlisten_addresses = ''\nunix_socket_directories = '$host'\nfsync = " .
			"off\nshared_preload_libraries = 'pg_stat_statements'\n");
		run_log([ "$dir/bin/pg_ctl", '-w', '-D', "$data/data", '-l', "$data/log", 'start' ])
			or die slurp_file("$data/log");
		delete local $ENV{LD_LIBRARY_PATH};
		my $sql = sub {
			my ($database, $query) = @_;
			my ($out, $err) = run_command([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-h', $host, '-p', $port, '-U',
				'postgres', '-d', $database, '-c', $query ]);
			is($err, '', "PostgreSQL $version runs what it is told") if $err;
			return $out;
		};
		$sql->('postgres', 'CREATE DATABASE shop');
		$sql->('shop',
			"CREATE ROLE monitor LOGIN; GRANT pg_monitor TO monitor; CREATE EXTENSION pg_stat_statements; $tables");
		like(mirror_of("of$version", $host, $port),
			qr/^mirror of database shop on \S+, PostgreSQL $version, .*: 3 tables, 2 indexes$/m,
			"PostgreSQL $version: a mirror is made");
		$sql->('shop', 'UPDATE jobs SET state = 1');
		sleep 2; # its collector of statistics
		$mirror->safe_psql("of$version", 'CALL ff_collect()');
		is($mirror->safe_psql("of$version",
			q(SELECT updated, hot_updated FROM ff_internal.relation WHERE relname = 'jobs')),
			"1000|0", "PostgreSQL $version: counters are read");
		is($mirror->safe_psql("of$version",
			q(SELECT rows, columns FROM ff_statements('jobs') WHERE command = 'UPDATE')),
			'1000|{state}', "PostgreSQL $version: so are statements");
		is($mirror->safe_psql("of$version",
			q(SELECT string_agg(relation || ' ' || (reason <> ''), ', ' ORDER BY relation::text) FROM ff_advise())),
			'jobs true, part true, part_0 true', "PostgreSQL $version: advice is given");
		run_log([ "$dir/bin/pg_ctl", '-w', '-D', "$data/data", '-m', 'immediate', 'stop' ]);
	}
}

# ---------------------------------------------------------------------------
# Without pg_stat_statements, and a standby
# ---------------------------------------------------------------------------
there("DROP EXTENSION pg_stat_statements; $tables");
like(mirror_of('bare', $source->host, $source->port),
	qr/^statements: pg_stat_statements is not created in this database$/m,
	'a source without pg_stat_statements: what is lost is said');

# the recipes for many mirrors, as they are in the documentation: three, and then one of their sources is gone
{
	my @recipes = slurp_file("$FindBin::Bin/../../doc/managed.md") =~ /^```sh\n(.*?)^```/msg;
	is(scalar(@recipes), 2, 'the documentation has two recipes for many mirrors');
	there('CREATE ROLE ff LOGIN; GRANT pg_monitor TO ff');
	my $file = PostgreSQL::Test::Utils::tempdir . '/sources';
	foreach my $name (qw(one two three))
	{
		$source->safe_psql('postgres', "CREATE DATABASE $name TEMPLATE shop");
		append_to_file($file, join(' ', "of_$name", $source->host, $source->port, $name) . "\n");
	}
	local @ENV{qw(PGHOST PGPORT PGUSER)} = ($mirror->host, $mirror->port, getpwuid($<));
	my $run = sub { return (run_command([ 'sh', '-c', $_[0] =~ s/\bsources\b/$file/gr ]))[0]; };
	my $made = () = $run->($recipes[0]) =~ /^ mirror of database (?:one|two|three) on .*: 3 tables, 2 indexes$/mg;
	is($made, 3, 'three mirrors are made');
	$source->safe_psql($_, 'INSERT INTO jobs VALUES (0)') foreach qw(one three);
	$source->safe_psql('postgres', 'DROP DATABASE two');
	$run->($recipes[1]);
	is(join(' ', map { $mirror->safe_psql("of_$_", 'SELECT count(*) FROM ff_internal.collection') } qw(one two three)),
		'2 1 2', 'they collect side by side, whatever happens to one');
}
$source->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($source, 'backup', has_streaming => 1);
$standby->start;
like(mirror_of('standby', $standby->host, $standby->port), qr/^the source is a standby: it counts no writes/m,
	'a standby can be read, and what it does not count is said');
there('UPDATE jobs SET state = 2; ALTER TABLE jobs RENAME TO tasks');
$source->wait_for_catchup($standby);
$mirror->safe_psql('standby', 'CALL ff_collect()');
is($mirror->safe_psql('standby',
	q(SELECT string_agg(relation::text, ', ') FROM ff_advise() WHERE relation::text !~ 'part')),
	'tasks', 'its tables are followed');
is($mirror->safe_psql('standby', q(SELECT action, cause, reason FROM ff_advise('tasks'))),
	'keep|not_examined|The source is a standby, which counts no writes: a mirror of its primary knows them.',
	'and the advice says why there is none, instead of that nothing was written');
# promoted, it is another source
my $epochs = $mirror->safe_psql('standby', 'SELECT count(*) FROM ff_internal.epoch');
$source->stop('immediate');
$standby->promote;
$standby->safe_psql('shop', 'CHECKPOINT; UPDATE tasks SET state = 3');
$mirror->safe_psql('standby', 'CALL ff_collect()');
cmp_ok($mirror->safe_psql('standby', 'SELECT count(*) FROM ff_internal.epoch'), '>', $epochs,
	'its promotion is a new epoch');
$standby->safe_psql('shop', 'UPDATE tasks SET state = 4');
$mirror->safe_psql('standby', 'CALL ff_collect()');
is($mirror->safe_psql('standby',
	q(SELECT sum(i.updated) FROM ff_internal.counter_interval i
		JOIN ff_internal.relation r USING (rel_id) WHERE r.relname = 'tasks')),
	'1000', 'and its own counters count from there');
$mirror->stop;
$standby->stop;
done_testing();
