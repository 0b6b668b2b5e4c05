# A rehearsal from end to end: ff_rehearse takes a document of the source, runs on a scratch server, and its result goes
# back. The table is updated in batches, all its names contain code, and the source is in LATIN1. The program is in a
# folder whose name contains a space and quotes.
use strict;
use warnings;
use File::Copy qw(copy);
use File::Spec;
use FindBin;
use lib "$FindBin::Bin/../../test/perl";
use IPC::Run ();
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SmallDisk qw(small_disk);
use Test::More;
use Time::HiRes qw(sleep);

my %node;
foreach my $name (qw(source scratch))
{
	$node{$name} = PostgreSQL::Test::Cluster->new("rehearsal_$name");
	# each with a system identifier of its own
	local $ENV{FFA_INITDB} = 'anew';
	$node{$name}->init(allows_streaming => 1, extra => $name eq 'source' ? [ '--encoding=LATIN1', '--locale=C' ] : []);
	$node{$name}->append_conf('postgresql.conf', "autovacuum = off\nlog_statement = none\n"
		. ($name eq 'source' ? "shared_preload_libraries = 'pg_stat_statements'\n" : "checkpoint_timeout = 7min\n"));
	$node{$name}->start;
}
my ($source, $scratch) = @node{qw(source scratch)};
my $dir = File::Spec->rel2abs(PostgreSQL::Test::Utils::tempdir);
# a short name, because names have at most 63 bytes, in the folder where the script runs
my $pwned = 'pwned';

sub value { return $source->safe_psql('postgres', $_[0]); }

# SQLSTATE and message of an error, with its detail if wanted
sub refused
{
	my ($sql, $detail) = @_;
	my ($status, $out, $err) = $source->psql('postgres', $sql, extra_params => [ '-v', 'VERBOSITY=verbose' ]);
	return $err =~ /ERROR:\s+(\w{5}): (.*)\n(.*)/ ? "$1 $2" . ($detail ? " $3" : '') : "passed: $out";
}

# ------------------------------------------------------------------ the source
my $evil = qq("\xe9v'il \$(touch $pwned); `touch $pwned` \\\\ :rows\\!");
my $table = qq($evil."jo""bs\nFF_END\ntouch $pwned\n-- :own");
my $of = "'" . ($table =~ s/'/''/gr) . "'";
# a virtual column is not stored
my $virtual = $source->pg_version >= 18 ? ', "not stored" int GENERATED ALWAYS AS (3) VIRTUAL' : '';
value(qq(
	CREATE EXTENSION pg_stat_statements;
	CREATE EXTENSION fillfactor_advisor;
	CREATE SCHEMA $evil;
	CREATE FUNCTION $evil.mine(text) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT \$1';
	CREATE TYPE $evil."state" AS ENUM ('new', 'done');
	CREATE DOMAIN $evil."of" AS integer CHECK (VALUE >= 0);
	CREATE TABLE $table (
		"i'd\nFF_END\n\$(touch $pwned)" bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
		"c1" bigint NOT NULL, "\\! touch $pwned" $evil."of" NOT NULL DEFAULT 0,
		":n" $evil."state" NOT NULL DEFAULT 'new',
		"{n}" int GENERATED ALWAYS AS (7) STORED, "%s" timestamptz, "where" point, "pay load" text NOT NULL$virtual);
	CREATE INDEX "one\nFF_END\ntouch $pwned" ON $table ("c1");
	CREATE INDEX two ON $table (lower("pay load")) WHERE "c1" > 3;
	CREATE INDEX "mine\nFF_END" ON $table ($evil.mine("pay load"));
	CREATE TABLE quiet (id int PRIMARY KEY);
	CREATE TABLE keyless (n int, pad text);
	INSERT INTO keyless SELECT i, repeat('p', 90) FROM generate_series(1, 5000) i;
	ANALYZE;));
is(refused("SELECT ff_rehearsal('quiet')"), '55000 too little is known of "quiet" yet',
	'a table that was never collected cannot be rehearsed');
value('CALL ff_collect()');
append_to_file("$dir/batches.sql", join '', map {
	qq(INSERT INTO $table ("c1", "%s", "where", "pay load")
		SELECT $_, now(), '(1,2)', repeat('p', 60) FROM generate_series(1, 250);
	UPDATE $table SET "\\! touch $pwned" = 1 WHERE "c1" = $_;\n) } 1 .. 60);
$source->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $source->connstr('postgres'), '-f',
	"$dir/batches.sql" ],
	'batches are written');
value('UPDATE keyless SET n = n + 1');
value('ANALYZE; CALL ff_collect()');

is(refused('SELECT ff_rehearsal(NULL)'), '22004 relation must not be null', 'NULL is refused');
is(refused("SELECT ff_rehearsal('quiet')"), '55000 too little is known of "quiet" yet',
	'a table without updates cannot be rehearsed');
value('ALTER TABLE keyless SET (fillfactor = 51)');
like(refused("SELECT ff_rehearsal('keyless')", 1),
	qr/^55000 too little is known of the updates of "keyless" DETAIL:  Too little was seen since its fillfactor or /,
	'updates seen only at another fillfactor are not enough');
value('ALTER TABLE keyless RESET (fillfactor)');
is(refused("SELECT ff_rehearsal(1::regclass)"), '42P01 relation with OID 1 does not exist',
	'an OID without a relation is refused');
is(value("SELECT ff_rehearsal('keyless', 80)->'table'->>'indexes'"), 0, 'a table without an index can be rehearsed');
is(refused("SELECT ff_rehearsal($of, 9)"), '22023 fillfactor 9 is out of range',
	'a fillfactor out of range is refused');
is(refused("SELECT ff_rehearsal($of, 100)"), '22023 the table has fillfactor 100 already',
	'the current fillfactor is refused');

my $document = value("SELECT ff_rehearsal($of, 50)");
unlike($document, qr/ppppp/, 'the document has no value of the table');
my $known = decode_json($document =~ s/[\x80-\xff]//gr);
is(join(' ', map { $known->{$_} } qw(format from to)) . " $known->{table}{indexes}", '1 100 50 4',
	'the document has the fillfactors and the number of indexes');
sub write_document
{
	my ($name, $text) = @_;
	unlink "$dir/$name";
	append_to_file("$dir/$name", $text . "\n");
	return $name;
}
write_document('document.json', $document);

# ------------------------------------------------------------------ the scratch server
my $folder = "$dir/it's a \"folder\" \$(touch $pwned)";
mkdir $folder;
copy($_, $folder) or die "$_: $!" foreach glob("'$FindBin::Bin/..'/*.sql"), "$FindBin::Bin/../ff_rehearse";
my $tmp = "$dir/a 'temporary' folder";
mkdir $tmp;
my @shell = ('sh');

# Starts the program in $dir; the connection to the scratch database is in the environment.
sub rehearse
{
	my ($node, $database, @options) = @_;
	push @options, 'document.json' unless grep { /json$|^-$|^-s$|^--help$/ } @options;
	local $ENV{PGHOST} = $node->host;
	local $ENV{PGPORT} = $node->port;
	local $ENV{PGDATABASE} = $database;
	delete $ENV{PGDATABASE} if !defined $database;
	local $ENV{TMPDIR} = $tmp;
	my ($out, $err) = ('', '');
	my $process = IPC::Run::start([ 'sh', '-c', 'cd "$0" && exec "$@"', $dir, @shell, "$folder/ff_rehearse", @options ],
		'<', \undef, '>', \$out, '2>', \$err,
		# the caller of the tests may ignore this signal
		init => sub { $SIG{INT} = 'DEFAULT' });
	return { process => $process, out => \$out, err => \$err };
}

sub status { my ($run) = @_; IPC::Run::finish($run->{process}); return $run->{process}->full_result(0) >> 8; }

# the output of the last refusal
my $said;

sub refusal
{
	my $run = rehearse(@_);
	IPC::Run::finish($run->{process});
	$said = ${ $run->{err} };
	return $said =~ /^error: (.*)/m ? $1 : "passed: ${ $run->{out} }$said";
}

# A session that works in another database until it is told to end
sub elsewhere
{
	my ($statement) = @_;
	append_to_file("$dir/elsewhere.sql", join '',
		map { "$statement; SELECT pg_stat_force_next_flush(), pg_sleep(0.05);\n" } 1 .. 9999);
	my $psql = IPC::Run::start([ 'psql', '-Xq', '-o', '/dev/null', '-d', $scratch->connstr('used'), '-f',
		"$dir/elsewhere.sql" ],
		'<', \undef, '2>', '/dev/null');
	$scratch->poll_query_until('used', 'SELECT count(*) > 0 FROM written') or die 'nothing is written';
	return sub
	{
		IPC::Run::kill_kill($psql);
		unlink "$dir/elsewhere.sql";
		$scratch->safe_psql('used',
			"SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
				WHERE datname = 'used' AND pid <> pg_backend_pid();
				DROP TABLE written");
	};
}

sub left_behind
{
	return $scratch->safe_psql('postgres', "SELECT count(*) FROM pg_namespace WHERE nspname = 'ff_rehearsal'")
		. join ' ',
	glob("'$tmp'/ff_rehearsal.*");
}

is(refusal($source, 'postgres'), 'this is the server that the advice is for, or a clone of it',
	'refused on the source');
is(refusal($scratch, undef), 'name a scratch database: -d SCRATCH, or PGDATABASE; see ff_rehearse --help',
	'refused without a named database');
$scratch->safe_psql('postgres', 'CREATE DATABASE used');
$scratch->safe_psql('used', 'CREATE TABLE somebodys (n int); CREATE ROLE nobody LOGIN');
is(refusal($scratch, 'used'), 'this database is not empty', 'refused in a database with tables');
$scratch->safe_psql('used', 'DROP TABLE somebodys');
{
	local $ENV{PGUSER} = 'nobody';
	is(refusal($scratch, 'used'), 'no CREATE privilege on this database', 'refused without the CREATE privilege');
}
is(refusal($scratch, 'postgres', '--pairs=2'), '--pairs must be from 3 to 10; see ff_rehearse --help',
	'the range of --pairs is checked');
is(refusal($scratch, 'postgres', '--rows=1;x'), 'not a whole number from 1 to 999999999: 1;x; see ff_rehearse --help',
	'--rows must be a whole number');
foreach (['-x', 'no such option: -x'], ['-f', 'give a document, or -s SOURCE and -t TABLE', 50, 'document.json'],
	['--store', '--store needs -s SOURCE'], ['other.json', 'more than one document', 'document.json'],
	['-s', '-s needs -t TABLE, and no document', 'dbname=x'])
{
	my ($option, $message, @more) = @$_;
	my $run = rehearse($scratch, 'postgres', $option, @more);
	is(status($run) . " ${ $run->{err} }", "2 error: $message; see ff_rehearse --help\n", "wrong usage: $message");
}
my $help = rehearse($scratch, undef, '--help');
is(status($help), 0, '--help succeeds');
like(${ $help->{out} }, qr/^usage: ff_rehearse .*^Exit status: 0 prediction held/ms,
	'--help shows usage and exit status');
write_document('bad.json', $_->[0]), like(refusal($scratch, 'postgres', 'bad.json'), $_->[1], "refused: $_->[2]")
	foreach ['no JSON', qr/^this is not a document of ff_rehearsal\(\)$/, 'not JSON'],
		['{"format": 2}', qr/^this is not a document of ff_rehearsal\(\), or one of another version$/,
			'a document of another version'],
	['', qr/^this is not a document/, 'an empty document'],
		[ $document =~ s/"version": \d+/"version": 99/r,
			qr/^this server is older than the one that the advice is for, PostgreSQL 99$/, 'an older server'],
	[ $document =~ s/"to": 50/"to": 5/r, qr/^the document has a fillfactor that is not from 10 to 100$/,
		'a fillfactor out of range'];
is(refusal($scratch, 'postgres', 'missing.json'), 'cannot read the document', 'refused without the file');
{
	# a PATH with the programs of the system but without pgbench
	mkdir "$dir/few";
	foreach my $program (qw(sh psql cat mkdir rm dirname sed tr head tail))
	{
		symlink((grep { -x } map { "$_/$program" } split /:/, $ENV{PATH})[0], "$dir/few/$program");
	}
	local $ENV{PATH} = "$dir/few";
	is(refusal($scratch, 'postgres'), 'psql and pgbench must be in the PATH', 'refused without pgbench');
}
mkdir "$tmp/ff_rehearsal.999999999";
like(refusal($scratch, 'postgres', '--seconds=1', '--rows=999999999'),
	qr/^too little disk: \d+ MB are needed, \d+ MB are free$/, 'refused with too little disk');
like($said, qr{^a rehearsal that was killed left this: rm -r \Q$tmp\E/ff_rehearsal\.999999999$}m,
	'files of a rehearsal that was killed are named');
rmdir "$tmp/ff_rehearsal.999999999";
# df reports one free megabyte, so nothing is started
mkdir "$dir/bin";
append_to_file("$dir/bin/df", "#!/bin/sh\necho Filesystem\necho disk 9999 9999 1024 1% /\n");
chmod 0755, "$dir/bin/df";
my $written = $scratch->safe_psql('postgres', 'SELECT pg_snapshot_xmax(pg_current_snapshot())');
{
	local $ENV{PATH} = "$dir/bin" . ":$ENV{PATH}";
	like(refusal($scratch, 'postgres', '--short', '--seconds=1'),
		qr/^too little disk: \d+ MB are needed, 1 MB are free$/, 'refused when the disk is too small');
}
is($scratch->safe_psql('postgres', 'SELECT pg_snapshot_xmax(pg_current_snapshot())'), $written,
	'a refused rehearsal writes nothing');
$scratch->safe_psql('used', 'CREATE TABLE written (n int)');
my $end = elsewhere('INSERT INTO written SELECT generate_series(1, 20000)');
like(refusal($scratch, 'postgres', '--short', '--seconds=1'),
	qr/^other work on this server writes WAL \(\d+ % of the rehearsal's\), which would be counted$/,
	'refused beside other work that writes WAL');
$end->();
my $open = $scratch->background_psql('used');
$open->query_safe('BEGIN; SELECT pg_current_xact_id()');
is(refusal($scratch, 'postgres', '--short', '--seconds=1'),
	'an open transaction, a standby or a replication slot keeps old row versions on this server',
	'refused when a transaction holds back the horizon');
$open->quit;
is(left_behind(), '0', 'refusals leave nothing behind');

# the document comes from the source, in a name that contains code, and the result goes back
my $run = rehearse($scratch, 'postgres', '--short', '--seconds=1', '-s', $source->connstr('postgres'), '-t',
	value("SELECT $of"), '-f', 50);
until ($scratch->safe_psql('postgres', "SELECT to_regclass('ff_rehearsal.t') IS NOT NULL") eq 't')
{
	$run->{process}->pump_nb;
	die "it did not begin: ${ $run->{err} }" if !$run->{process}->pumpable;
	sleep 0.1;
}
is(refusal($scratch, 'postgres'),
	'the schema ff_rehearsal exists: another rehearsal is running in this database, or was killed; if so, ' .
	'DROP SCHEMA ff_rehearsal CASCADE',
	'a second rehearsal at the same time is refused');
my $status = status($run);
ok($status == 0 || $status == 3 || $status == 4, 'the rehearsal succeeds') or diag ${ $run->{err} };
note ${ $run->{err} }, ${ $run->{out} };
is(left_behind(), '0', 'the rehearsal leaves nothing behind');
ok(!-e $pwned && !-e "$dir/$pwned", 'no name was executed');

my ($line) = ${ $run->{out} } =~ /^(\{.*\})$/m;
my $result = decode_json($line);
is(scalar @{ $result->{runs} }, 8, 'the result has a pair of equal runs and three pairs');
foreach my $r (@{ $result->{runs} })
{
	$r->{side} eq 'B'
		? cmp_ok($r->{laps}[-1], '>', 95, 'with room for the batch nearly all updates are HOT')
		: cmp_ok($r->{laps}[-1], '<', 60, 'with full pages most updates are not HOT');
}
my ($verdict) = ${ $run->{out} } =~ /^verdict: (.*)$/m;
is($status, { 'prediction held' => 0, 'did not hold' => 3 }->{$verdict} // 4,
	"the exit status tells the verdict: $verdict");
my $price = qr/a table \d\.\d\d times as large for \d+\.\d % less WAL per update \(-\d.* to -\d.* %\)/;
like(${ $run->{out} }, qr/^saves WAL: $price, HOT share \+\d+\.\d points$/m,
	'the output says what the change brings, and its price');
like(${ $run->{err} }, qr/^checkpoint_timeout: 7min here, 5min on the source$/m, 'settings that differ are named');
unlike(${ $run->{err} }, qr/^(fsync|wal_level):/m, 'equal settings are not named');

# ------------------------------------------------------------------ the result goes back
sub stored { return value("SELECT ff_rehearsal_result(E'" . ($_[0] =~ s/'/''/gr =~ s/\\/\\\\/gr) . "')"); }
sub confidence { return value("SELECT confidence FROM ff_advise($of)"); }
my $before = confidence();
is(stored($line), "stored: 50 instead of 100: $verdict; saves WAL", 'the result is stored');
my $hot = qr/(?:9[5-9]\.\d|100\.0) % \(predicted [\d.]+\)/;
my $sizes = qr/WAL per update \d+ % and size 1\d\d % of those at 100/;
my $says = qr/Rehearsed at 50: HOT $hot, $sizes;\s[a-z ]+;\ssaves WAL\.\s/;
like(value("SELECT reason FROM ff_advise($of)"), $says, 'the reason reports the rehearsal');
like(value('SELECT ff_report()'), $says, 'the report shows the rehearsal');
$result->{measured_at} += 1;
$result->{verdict} = 'prediction held';
stored(encode_json($result));
is(confidence(), $before, 'a result changes what the reason says, and no figure of the advice');

# ------------------------------------------------------------------ a right prediction is judged as held
# in another shell if there is one, with a connection string, the document on standard input
@shell = (grep { system("command -v $_ >/dev/null 2>&1") == 0 } qw(dash))[0] // 'sh';
my $right = { %$known,
	predicted => { hot_a => [ 0, 0, 40 ], hot_b => [ 100, 60, 100 ], wal_pct => [ $result->{wal_pct} ],
		rows_a => [ $result->{predicted}{rows_a}[0] ], rows_b => [ $result->{predicted}{rows_b}[0] ] } };
write_document('right.json', encode_json($right));
{
	my $database = $scratch->connstr('postgres');
	$run = rehearse($scratch, undef, '--short', '--seconds=1', '-d', $database, 'right.json');
}
$status = status($run);
my ($figures) = ${ $run->{out} } =~ /^(\{.*\})$/m;
is($status, 0, 'a right prediction held') or diag ${ $run->{err} }, ${ $run->{out} };
is(left_behind(), '0', 'nothing is left behind');

# ------------------------------------------------------------------ Ctrl-C
# a snapshot is held half of the time
my $large = { %$known, workload => { %{ $known->{workload} }, held => 50, held_share => 0.5 } };
write_document('large.json', encode_json($large));
$run = rehearse($scratch, 'postgres', '--seconds=1', 'large.json');
for (1 .. 6000)
{
	last if ${ $run->{err} } =~ /^pair 0, A1.*transactions/m || !$run->{process}->pumpable;
	$run->{process}->pump_nb;
	sleep 0.1;
}
like(${ $run->{err} }, qr/^pair 0, A1: fillfactor 100, HOT by lap \d+\.\d \d+\.\d/m,
	'the HOT share of each lap is shown');
my $holds = 0;
my $watch = $scratch->background_psql('postgres');
for (1 .. 6000)
{
	$holds = $watch->query_safe("SELECT count(*) FROM pg_stat_activity
		WHERE query ~ 'hold' AND age(backend_xmin) > 0 AND pid <> pg_backend_pid()");
	last if $holds;
	$run->{process}->pump_nb;
	sleep 0.05;
}
$watch->quit;
is($holds, 1, 'a snapshot is held during the rehearsal');
$run->{process}->signal('INT');
ok(!IPC::Run::finish($run->{process}), 'Ctrl-C ends the rehearsal');
is(left_behind(), '0', 'it cleans up after Ctrl-C');
ok($scratch->poll_query_until('postgres',
	"SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name IN ('pgbench', 'held')"),
	'the snapshot that was held is gone after Ctrl-C');
ok(!-e $pwned && !-e "$dir/$pwned", 'no name was executed');

# ------------------------------------------------------------------ killed
{
	# without pipes, which its children would keep open
	local @ENV{qw(PGHOST PGPORT PGDATABASE TMPDIR)} = ($scratch->host, $scratch->port, 'postgres', $tmp);
	my $process = IPC::Run::start([ 'sh', "$folder/ff_rehearse", '--short', '--seconds=1', "$dir/document.json" ], '<',
		'/dev/null', '>', '/dev/null', '2>', '/dev/null');
	$scratch->poll_query_until('postgres', "SELECT to_regclass('ff_rehearsal.t') IS NOT NULL")
		or die 'it did not begin';
	$process->signal('KILL');
	IPC::Run::finish($process);
}
like(refusal($scratch, 'postgres'),
	qr/^the schema ff_rehearsal exists: .* was killed; if so, DROP SCHEMA ff_rehearsal CASCADE$/,
	'after a kill the next run names the schema that is left');
like($said, qr{^a rehearsal that was killed left this: rm -r \Q$tmp\E/ff_rehearsal\.\d+$}m, 'and the files');
$scratch->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'pgbench'")
	or die 'pgbench goes on';
$scratch->safe_psql('postgres', 'DROP SCHEMA ff_rehearsal CASCADE');
IPC::Run::run([ 'rm', '-r', glob("'$tmp'/ff_rehearsal.*") ]);

# ------------------------------------------------------------------ a disk that fills up
SKIP:
{
	# the script does not check the disk of a tablespace; this one is a file system of 20 MB that only the server sees
	my $space = small_disk($scratch, '20m');
	skip 'no user namespaces here, so no file system of our own: disk full', 4 if !defined $space;
	$scratch->safe_psql('postgres', "CREATE TABLESPACE small LOCATION '$space'");
	$scratch->safe_psql('postgres', 'CREATE DATABASE small TABLESPACE small');
	$run = rehearse($scratch, 'small', '--short', '--seconds=1', '--rows=200000');
	ok(!IPC::Run::finish($run->{process}), 'a full disk ends the rehearsal');
	like(${ $run->{err} }, qr/No space left on device/, 'the error says that the disk is full');
	is($scratch->safe_psql('small', "SELECT count(*) FROM pg_namespace WHERE nspname = 'ff_rehearsal'")
		. join(' ', glob("'$tmp'/ff_rehearsal.*")),
		'0', 'it cleans up on a full disk');
	is($scratch->safe_psql('small',
		'CREATE TABLE room (pad text); ALTER TABLE room ALTER pad SET STORAGE PLAIN; INSERT INTO room SELECT ' .
		'repeat(\'x\', 8000) FROM generate_series(1, 500); SELECT count(*) FROM room'),
		500,
		'the disk has free space again');
}

# ------------------------------------------------------------------ the program itself
SKIP:
{
	my $program = "$FindBin::Bin/../ff_rehearse";
	if (system('command -v shellcheck >/dev/null 2>&1') != 0)
	{
		diag 'NOT TESTED: shellcheck of ff_rehearse: it is not installed';
		skip 'no shellcheck', 1;
	}
	my ($out, $err) = run_command([ 'shellcheck', $program ]);
	is("$out$err", '', 'shellcheck finds nothing');
}
my ($installed) = run_command([ 'ff_rehearse', '--help' ]);
is($installed, ${ $help->{out} } =~ s/\n\z//r, 'the installed program is the same');
like((run_command([ 'ff_rehearse', '-d', $scratch->connstr('used'), "$dir/missing.json" ]))[1],
	qr/^error: cannot read the document$/m, 'the installed program finds its SQL files');
$source->stop;
$scratch->stop;
done_testing();
