# ff_verify() on a real server: a batch table before and after its ALTER and
# rewrite, pgbench's accounts with and without an index on the balance, and a
# setting.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../perl";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Beside qw(collect_all time_passes);

# Collections before and after the change: of eight intervals the first three
# are left out as settling, five are compared.
my $laps = 8;

my $node = PostgreSQL::Test::Cluster->new('verify');
$node->init;
$node->append_conf('postgresql.conf',
	"shared_preload_libraries = 'pg_stat_statements'\nautovacuum = off\nlog_statement = none");
# The verdict must not depend on other load, so the time of statements and full-page images are left out.
$node->append_conf('postgresql.conf', "fillfactor_advisor.time_weight = 0\ncheckpoint_timeout = 1h");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION pg_stat_statements; CREATE EXTENSION fillfactor_advisor');

sub value { return $node->safe_psql('postgres', $_[0]); }
sub collect { return collect_all($node, 'postgres', @_); }

sub bench
{
	local $ENV{PGHOST} = $node->host;
	local $ENV{PGPORT} = $node->port;
	local $ENV{PGDATABASE} = 'postgres';
	command_ok([ 'pgbench', '-n', @_ ], "pgbench @_");
	return;
}

# 10 batches of 500 rows, 300 accounts, and then five minutes without work: only intervals whose rates differ by less
# than
# a factor of four are compared. The last collection makes the fits, and the predictions with them.
sub laps
{
	for my $lap (1 .. $laps)
	{
		bench('-f', "$FindBin::Bin/../shop/jobs.sql", '-t', 10);
		bench('-b', 'simple-update', '-t', 300);
		time_passes($node, 'postgres', '5 minutes');
		collect($lap < $laps ? 0 : 100);
	}
	return;
}

# One change in ff_verify(). Per measure: verdict, values before and after, interval and prediction.
sub verified
{
	my ($of, $change) = @_;
	my %row;
	my $answer = value("SELECT concat_ws(chr(31), v.measure, v.change, coalesce(v.verdict, ''), coalesce(v.note, ''),
		coalesce(v.undo, ''), "
		.
			"coalesce(v.before::text, ''), coalesce(v.after::text, ''), coalesce(v.difference_low::text, ''), " .
			"coalesce(v.difference_high::text, ''), coalesce(v.predicted::text, '')) "
		. "FROM ff_verify(@{[$of || q(NULL)]}, true) v WHERE v.change ~ '$change'");
	foreach my $line (split /\n/, $answer)
	{
		my ($measure, @value) = split /\x1f/, $line, -1;
		@{ $row{$measure} }{qw(change verdict note undo before after low high predicted)} = @value;
		note join ' | ', $measure, @value;
	}
	return \%row;
}

bench('-i', '-q');
$node->safe_psql('postgres', 'CREATE INDEX balance ON pgbench_accounts (abalance)');
$node->psql('postgres', scalar slurp_file("$FindBin::Bin/../shop/tables.sql"), on_error_die => 1);
value('VACUUM ANALYZE');
collect();
laps();
is(value('SELECT count(*) FROM ff_internal.change'), '0', 'no change is recorded yet');
like(value(q(SELECT note FROM ff_verify('shop.jobs'))), qr/^no change was seen since/,
	'ff_verify() of a table says that nothing changed');

# The advice is followed, and the index is dropped.
my ($ddl, $advised) = split /\|/, value(q(SELECT ddl, recommended_fillfactor FROM ff_advise('shop.jobs')));
is(value("SELECT count(*) > 0 FROM ff_internal.prediction p
	JOIN ff_internal.relation r USING (rel_id)
	WHERE r.relname = 'jobs' AND to_fillfactor = $advised"),
	't', 'the prediction of the advice is stored');
value($ddl);
value('VACUUM FULL shop.jobs');
value('DROP INDEX balance');
value('VACUUM pgbench_accounts');
collect();
is(value(q(SELECT string_agg(r.relname || ' ' || c.kind, ', ' ORDER BY r.relname)
	FROM ff_internal.change c JOIN ff_internal.relation r USING (rel_id))),
	'jobs fillfactor, pgbench_accounts indexes', 'both changes are noticed');
is(verified(q('shop.jobs'), 'fillfactor')->{overall}{verdict}, 'too early', 'the verdict is too early at first');
laps();

my $jobs = verified(q('shop.jobs'), 'fillfactor');
is($jobs->{overall}{verdict}, 'helped', 'batch table: helped');
is($jobs->{overall}{change}, "fillfactor 100 -> $advised", 'batch table: the old and the new fillfactor are right');
like($jobs->{intervals}{note}, qr/3 before \(settling\), (.* )?3 after \(settling\)/,
	'batch table: intervals around the change are left out');
cmp_ok($jobs->{'HOT share'}{before}, '<', 20, 'batch table: hardly any HOT before');
cmp_ok($jobs->{'HOT share'}{low}, '>', 50, 'batch table: HOT for certain after');
cmp_ok($jobs->{'HOT share'}{high} - $jobs->{'HOT share'}{low}, '<', 20,
	'batch table: the interval of the HOT share after is narrow');
cmp_ok($jobs->{'WAL per update'}{after} / $jobs->{'WAL per update'}{before}, '<', 0.9,
	'batch table: less WAL per update');
cmp_ok($jobs->{'WAL per update'}{before}, '>', 50, 'batch table: the WAL is in bytes');
cmp_ok($jobs->{'statement time'}{after}, '>', 0, 'batch table: the time of the statement is measured');
like($jobs->{'HOT share'}{note}, qr/^predicted between \d+ and \d+$/, 'batch table: the predicted HOT share is shown');
cmp_ok($jobs->{'bytes per row'}{predicted}, '>', 0, 'batch table: the predicted size is shown');
is($jobs->{overall}{undo}, '', 'batch table: no undo is offered');
ok(!$jobs->{statements}, 'batch table: no statements are reported as missing');
is(value(q(SELECT verdict FROM ff_internal.prediction p
	JOIN ff_internal.relation r USING (rel_id)
	WHERE r.relname = 'jobs' AND judged_at IS NOT NULL)),
	'helped', 'batch table: the result of the prediction is stored');
cmp_ok(value(q(SELECT ff_internal.calibration(rel_id) FROM ff_internal.relation WHERE relname = 'jobs')), '>', 0.5,
	'batch table: the prediction held');

my $accounts = verified(q('pgbench_accounts'), 'index');
is($accounts->{overall}{verdict}, 'helped', 'index on the balance dropped: helped');
is($accounts->{overall}{change}, 'index dropped: balance', 'index on the balance dropped: the change names the index');
like(value(q(SELECT dropped_indexes[1] FROM ff_internal.change WHERE kind = 'indexes')),
	qr/^CREATE INDEX balance ON public\.pgbench_accounts/, 'index on the balance dropped: its definition is kept');
cmp_ok($accounts->{'HOT share'}{before}, '<', 1, 'index on the balance dropped: no HOT before');
cmp_ok($accounts->{'HOT share'}{low}, '>', 30, 'index on the balance dropped: HOT for certain after');

# A new value of a setting is a change; REINDEX CONCURRENTLY and a rename are not.
$node->safe_psql('postgres', 'ALTER SYSTEM SET backend_flush_after = 256; SELECT pg_reload_conf()');
$node->poll_query_until('postgres', q(SELECT setting = '256' FROM pg_settings WHERE name = 'backend_flush_after'))
	or die 'not reloaded';
value('REINDEX INDEX CONCURRENTLY pgbench_accounts_pkey');
value('ALTER TABLE pgbench_accounts RENAME TO accounts');
bench('-f', "$FindBin::Bin/../shop/jobs.sql", '-t', 10);
collect();
my $setting = verified('', 'setting');
is("$setting->{overall}{change}: $setting->{overall}{verdict}", 'setting backend_flush_after 0 -> 2048kB: too early',
	'a change of a setting is noticed, with the old and the new value');
# A setting that was not set before is reset, other values are set again.
sub restored { return value("SELECT ff_internal.undo_setting('$_[0]', '$_[1]')"); }
my $reload = 'SELECT pg_reload_conf();';
is(restored('backend_flush_after', '0'), "ALTER SYSTEM RESET backend_flush_after; $reload",
	'undo resets a setting that was not set before');
is(restored('backend_flush_after', '128'), "ALTER SYSTEM SET backend_flush_after = '1024kB'; $reload",
	'undo sets a value that ALTER SYSTEM had set before');
is(restored('no_such_setting', '1'), '', 'a setting that the server does not know has no undo');
$node->append_conf('postgresql.conf', "Max_WAL_Size = 512MB\ntrack_io_timing = yes\ncheckpoint_timeout = 10min\n");
$node->safe_psql('postgres',
	"ALTER SYSTEM SET max_wal_size = '2GB';
		ALTER SYSTEM SET track_io_timing = off;
		ALTER SYSTEM SET wal_compression = on;
		SELECT pg_reload_conf()");
$node->poll_query_until('postgres',
	q(SELECT count(*) = 4 FROM pg_settings
		WHERE (name, reset_val) IN (('max_wal_size', '2048'), ('track_io_timing', 'off'), ('checkpoint_timeout', '600'))
			OR name = 'wal_compression' AND reset_val <> 'off'))
	or die 'not reloaded';
is(restored('max_wal_size', '512'), "ALTER SYSTEM RESET max_wal_size; $reload",
	'undo resets a setting if the file has the old value');
is(restored('max_wal_size', '1024'), "ALTER SYSTEM SET max_wal_size = '1024MB'; $reload",
	"undo sets a setting if the file has another value than the old one");
is(restored('track_io_timing', 'on'), "ALTER SYSTEM RESET track_io_timing; $reload",
	'undo resets a switch if the file has the old value');
is(restored('track_io_timing', 'off'), "ALTER SYSTEM SET track_io_timing = 'off'; $reload",
	'undo sets a switch if the file has another value than the old one');
is(restored('wal_compression', 'off'), "ALTER SYSTEM RESET wal_compression; $reload",
	'undo resets an enum setting if its default is the old value');
is(restored('checkpoint_timeout', '300'), "ALTER SYSTEM SET checkpoint_timeout = '300s'; $reload",
	'undo sets a time if the file has another value than the old one');
# The statements of an undo are run.
value($_) foreach split /(?<=;) /, restored('max_wal_size', '512');
ok($node->poll_query_until('postgres', q(SELECT reset_val = '512' FROM pg_settings WHERE name = 'max_wal_size')),
	'after an undo the setting has its old value');
is(value(q(SELECT count(*) FROM pg_file_settings WHERE name = 'max_wal_size' AND sourcefile ~ 'auto')), '0',
	'after an undo postgresql.auto.conf does not have the setting');
value($_) foreach split /(?<=;) /, restored('wal_compression', 'off');
is(value(q(SELECT count(*) FROM pg_file_settings WHERE name = 'wal_compression')), '0',
	'after an undo no file has a setting that none had before');
is(value(q(SELECT count(*) FROM ff_internal.change)), '2',
	'a rebuilt index and a renamed table are not recorded as changes');
is(value(q(SELECT count(*) FROM ff_internal.problem)), '0', 'no problem is recorded');

$node->stop;
done_testing();
