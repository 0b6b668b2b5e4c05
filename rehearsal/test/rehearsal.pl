# A rehearsal from end to end: the source's script runs on a scratch server and its result
# goes back.  The table is updated in batches, all its names contain code, and the source is in LATIN1.
use strict;
use warnings;
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
my $dir = PostgreSQL::Test::Utils::tempdir;
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
		"c1" bigint NOT NULL, "\\! touch $pwned" $evil."of" NOT NULL DEFAULT 0, ":n" $evil."state" NOT NULL DEFAULT 'new',
		"{n}" int GENERATED ALWAYS AS (7) STORED, "%s" timestamptz, "where" point, "pay load" text NOT NULL$virtual);
	CREATE INDEX "one\nFF_END\ntouch $pwned" ON $table ("c1");
	CREATE INDEX two ON $table (lower("pay load")) WHERE "c1" > 3;
	CREATE INDEX "mine\nFF_END" ON $table ($evil.mine("pay load"));
	CREATE TABLE quiet (id int PRIMARY KEY);
	CREATE TABLE texts (code text PRIMARY KEY, amount text NOT NULL, payload jsonb NOT NULL, n int NOT NULL);
	CREATE INDEX ON texts (((payload->>'id')::int)); CREATE INDEX of_amount ON texts ((amount::int));
	INSERT INTO texts SELECT 'code ' || i, i, jsonb_build_object('id', i), i FROM generate_series(1, 3000) i;
	CREATE TABLE uuids (id uuid PRIMARY KEY, n int NOT NULL, pad text NOT NULL);
	INSERT INTO uuids SELECT gen_random_uuid(), i, repeat('p', 60) FROM generate_series(1, 3000) i;
	CREATE TABLE keyless (n int, pad text); INSERT INTO keyless SELECT i, repeat('p', 90) FROM generate_series(1, 5000) i;
	ANALYZE;));
is(refused("SELECT ff_rehearsal('quiet')"), '55000 too little is known of "quiet" yet', 'a table that was never collected cannot be rehearsed');
value('CALL ff_collect()');
append_to_file("$dir/batches.sql", join '', map {
	qq(INSERT INTO $table ("c1", "%s", "where", "pay load") SELECT $_, now(), '(1,2)', repeat('p', 60) FROM generate_series(1, 250);
	UPDATE $table SET "\\! touch $pwned" = 1 WHERE "c1" = $_;\n) } 1 .. 60);
$source->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $source->connstr('postgres'), '-f', "$dir/batches.sql" ], 'batches are written');
value('UPDATE keyless SET n = n + 1');
value("UPDATE texts SET amount = amount::int + 1 WHERE n % 3 = $_; UPDATE uuids SET n = n + 3 WHERE n % 3 = $_") foreach 0 .. 2;
value('ANALYZE; CALL ff_collect()');

is(refused('SELECT ff_rehearsal(NULL)'), '22004 relation must not be null', 'NULL is refused');
is(refused("SELECT ff_rehearsal('quiet')"), '55000 too little is known of "quiet" yet', 'a table without updates cannot be rehearsed');
value('ALTER TABLE uuids SET (fillfactor = 51)');
like(refused("SELECT ff_rehearsal('uuids')", 1), qr/^55000 too little is known of the updates of "uuids" DETAIL:  Too little was seen since its fillfactor or its indexes changed: /, 'updates seen only at another fillfactor are not enough');
value('ALTER TABLE uuids RESET (fillfactor)');
is(refused("SELECT ff_rehearsal(1::regclass)"), '42P01 relation with OID 1 does not exist', 'an OID without a relation is refused');
is(refused("SELECT ff_rehearsal('keyless')"), '0A000 no index of the table finds rows by a key that can be made up', 'a table without a key cannot be rehearsed');
is(refused("SELECT ff_rehearsal($of, 9)"), '22023 fillfactor 9 is out of range', 'a fillfactor out of range is refused');
is(refused("SELECT ff_rehearsal($of, 100)"), '22023 the table has fillfactor 100 already', 'the current fillfactor is refused');

my $script = value("SELECT ff_rehearsal($of, 50)") . "\n";
append_to_file("$dir/rehearsal.sh", $script);
append_to_file("$dir/$_.sh", value("SELECT ff_rehearsal('$_', 50)") . "\n") foreach qw(texts uuids);
note $script =~ /^(# Predicted.*?)^# Not modelled/ms;
like($script, qr/^# Index "mine\?FF_END" becomes a plain B-tree if the scratch server does not have what it needs$/m, 'the head says that an index on a user\'s function may become a plain one');
like($script, qr/^# Column "where" is uuid/m, 'the head says which type is replaced');
like($script, qr/^# +ALTER TABLE .* SET \(fillfactor = 50\);\n# +ALTER TABLE .* RESET \(fillfactor\);$/m, 'the head has the change and its undo');
is(scalar(() = $script =~ /^FF_END$/mg), scalar(() = $script =~ /<<'FF_END'/g), 'no name ends a here-document of the script');
unlike($script, qr/ppppp|not stored/, 'the script has no value of the table and no virtual column');

# ------------------------------------------------------------------ the scratch server
sub rehearse
{
	my ($node, $database, @options) = @_;
	my $file = @options && $options[0] =~ /\.sh$/ ? shift @options : 'rehearsal.sh';
	local $ENV{PGHOST} = $node->host;
	local $ENV{PGPORT} = $node->port;
	local $ENV{PGDATABASE} = $database;
	delete $ENV{PGDATABASE} if !defined $database;
	local $ENV{TMPDIR} = '.';
	my ($out, $err) = ('', '');
	my $process = IPC::Run::start([ 'sh', '-c', 'cd "$0" && exec sh "$@"', $dir, "./$file", @options ], '<', \undef, '>', \$out, '2>', \$err,
		# the caller of the tests may ignore this signal
		init => sub { $SIG{INT} = 'DEFAULT' });
	return { process => $process, out => \$out, err => \$err };
}

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
	append_to_file("$dir/elsewhere.sql", join '', map { "$statement; SELECT pg_stat_force_next_flush(), pg_sleep(0.05);\n" } 1 .. 9999);
	my $psql = IPC::Run::start([ 'psql', '-Xq', '-o', '/dev/null', '-d', $scratch->connstr('used'), '-f', "$dir/elsewhere.sql" ], '<', \undef, '2>', '/dev/null');
	$scratch->poll_query_until('used', 'SELECT count(*) > 0 FROM written') or die 'nothing is written';
	return sub
	{
		IPC::Run::kill_kill($psql);
		unlink "$dir/elsewhere.sql";
		$scratch->safe_psql('used', "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = 'used' AND pid <> pg_backend_pid(); DROP TABLE written");
	};
}

sub left_behind
{
	return $scratch->safe_psql('postgres', "SELECT count(*) FROM pg_namespace WHERE nspname = 'ff_rehearsal'") . join ' ', glob("$dir/ff_rehearsal.*");
}

is(refusal($source, 'postgres'), 'this is the server that the advice is for', 'refused on the source');
is(refusal($scratch, undef), 'set PGDATABASE to a scratch database, and PGHOST, PGPORT, PGUSER', 'refused without a named database');
$scratch->safe_psql('postgres', 'CREATE DATABASE used');
$scratch->safe_psql('used', 'CREATE TABLE somebodys (n int); CREATE ROLE nobody LOGIN');
is(refusal($scratch, 'used'), 'this database is not empty', 'refused in a database with tables');
$scratch->safe_psql('used', 'DROP TABLE somebodys');
$scratch->safe_psql('postgres', "CREATE DATABASE cyrillic ENCODING 'KOI8R' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0");
is(refusal($scratch, 'cyrillic'), "KOI8R cannot hold the table's names: createdb -T template0 --locale=C -E UTF8 ...", 'refused in an encoding that cannot hold the names');
{
	local $ENV{PGUSER} = 'nobody';
	is(refusal($scratch, 'used'), 'no CREATE privilege on this database', 'refused without the CREATE privilege');
}
is(refusal($scratch, 'postgres', '--object=existing'), 'there is no copy of the table in this database', 'refused with --object=existing and no copy of the table');
is(refusal($scratch, 'postgres', '--pairs=2'), '--pairs must be from 3 to 10', 'the range of --pairs is checked');
is(refusal($scratch, 'postgres', '--load=101'), '--load must be from 1 to 100', 'the range of --load is checked');
is(refusal($scratch, 'postgres', '--rows=1;x'), 'not a whole number from 1 to 999999999: 1;x', '--rows must be a whole number');
mkdir "$dir/ff_rehearsal.999999999";
like(refusal($scratch, 'postgres', '--seconds=1', '--rows=999999999'), qr/^too little disk: \d+ MB are needed, \d+ MB are free$/, 'refused with too little disk');
like($said, qr/^a rehearsal that was killed left this: rm -r \.\/ff_rehearsal\.999999999$/m, 'files of a rehearsal that was killed are named');
rmdir "$dir/ff_rehearsal.999999999";
like($said, qr/^checkpoint_timeout: 7min here, 5min on the source$/m, 'the script says which settings differ');
unlike($said, qr/^(fsync|wal_level):/m, 'the script does not list equal settings');
# df reports one free megabyte, so nothing is started
mkdir "$dir/bin";
append_to_file("$dir/bin/df", "#!/bin/sh\necho Filesystem\necho disk 9999 9999 1024 1% /\n");
chmod 0755, "$dir/bin/df";
my $written = $scratch->safe_psql('postgres', 'SELECT pg_snapshot_xmax(pg_current_snapshot())');
{
	local $ENV{PATH} = File::Spec->rel2abs("$dir/bin") . ":$ENV{PATH}";
	like(refusal($scratch, 'postgres', '--short', '--seconds=1'), qr/^too little disk: \d+ MB are needed, 1 MB are free$/, 'refused when the disk is too small');
}
is($scratch->safe_psql('postgres', 'SELECT pg_snapshot_xmax(pg_current_snapshot())'), $written, 'a refused rehearsal writes nothing');
$scratch->safe_psql('used', 'CREATE TABLE written (n int)');
my $end = elsewhere('INSERT INTO written SELECT generate_series(1, 20000)');
like(refusal($scratch, 'postgres', '--short', '--seconds=1'), qr/^other work on this server writes WAL \(\d+ % of the rehearsal's\), which would be counted$/, 'refused beside other work that writes WAL');
$end->();
my $open = $scratch->background_psql('used');
$open->query_safe('BEGIN; SELECT pg_current_xact_id()');
is(refusal($scratch, 'postgres', '--short', '--seconds=1'), 'an open transaction, a standby or a replication slot keeps old row versions on this server',
	'refused when a transaction holds back the horizon');
$open->quit;
(my $newer = $script) =~ s/\d+(\s+THEN 'this server is older)/99$1/ or die 'no check of the version';
rename "$dir/rehearsal.sh", "$dir/kept.sh";
append_to_file("$dir/rehearsal.sh", $newer);
like(refusal($scratch, 'postgres'), qr/^this server is older/, 'refused on an older server');
rename "$dir/kept.sh", "$dir/rehearsal.sh";
is(left_behind(), '0', 'refusals leave nothing behind');

my $run = rehearse($scratch, 'postgres', '--short', '--seconds=1');
until ($scratch->safe_psql('postgres', "SELECT to_regclass('ff_rehearsal.t') IS NOT NULL") eq 't')
{
	$run->{process}->pump_nb;
	die "it did not begin: ${ $run->{err} }" if !$run->{process}->pumpable;
	sleep 0.1;
}
is(refusal($scratch, 'postgres'), 'the schema ff_rehearsal exists: another rehearsal is running in this database, or was killed; if so, DROP SCHEMA ff_rehearsal CASCADE',
	'a second rehearsal at the same time is refused');
ok(IPC::Run::finish($run->{process}), 'the rehearsal succeeds') or diag ${ $run->{err} };
note ${ $run->{err} }, ${ $run->{out} };
is(left_behind(), '0', 'the rehearsal leaves nothing behind');
ok(!-e $pwned && !-e "$dir/$pwned", 'no name was executed');

my ($line) = ${ $run->{out} } =~ /^(\{.*\})$/m;
my $result = decode_json($line);
is(scalar @{ $result->{runs} }, 8, 'the result has a pair of equal runs and three pairs');
foreach my $r (@{ $result->{runs} })
{
	$r->{side} eq 'B' ? cmp_ok($r->{laps}[-1], '>', 95, 'with room for the batch nearly all updates are HOT') : cmp_ok($r->{laps}[-1], '<', 60, 'with full pages most updates are not HOT');
}
like(${ $run->{out} }, qr/^\s*verdict\s.*(prediction held|did not hold|not settled|noise too large)\s*$/m, 'the output has a verdict');
like(${ $run->{out} }, qr/^what it brings: saves WAL: WAL per update -\d+\.\d % \(-\d.* to -\d.*; up to \d+\.\d % is noise\), HOT share \+\d+\.\d points, size [+-]\d+\.\d %$/m, 'the output says what the change brings');

# ------------------------------------------------------------------ the result goes back
# The verdict on a result
sub stored { return value("SELECT verdict FROM ff_rehearsal_result(E'" . ($_[0] =~ s/'/''/gr =~ s/\\/\\\\/gr) . "') WHERE measure = 'verdict'"); }
sub confidence { return value("SELECT confidence FROM ff_advise($of)"); }
my $before = confidence();
is(stored($line), ${ $run->{out} } =~ /verdict.*\| (\S.*\S)\s*$/m ? $1 : '?', 'the source gives the same verdict as the script');
stored($line);
is(value('SELECT count(*) FROM ff_internal.rehearsal'), 1, 'a result that is stored twice is kept once');
my $says = qr/Rehearsed at 50: HOT (?:9[5-9]\.\d|100\.0) % \(predicted [\d.]+\), WAL per update \d+ % of that at 100; [a-z ]+; saves WAL\. /;
like(value("SELECT reason FROM ff_advise($of)"), $says, 'the reason reports the rehearsal');
like(value('SELECT ff_report()'), $says, 'the report shows the rehearsal');
# a result whose prediction is what was measured
value('DELETE FROM ff_internal.rehearsal');
my $mean = sub { my ($side) = @_; my @hot = map { $_->{laps}[-1] } grep { $_->{pair} && $_->{side} eq $side } @{ $result->{runs} }; my $sum = 0; $sum += $_ foreach @hot; return $sum / @hot; };
my $wal = value("SELECT measured FROM ff_rehearsal_result(E'" . ($line =~ s/'/''/gr =~ s/\\/\\\\/gr) . "') WHERE measure LIKE 'WAL per update%'");
value('DELETE FROM ff_internal.rehearsal');
$result->{predicted} = { %{ $result->{predicted} }, hot_a => [ ($mean->('A')) x 3 ], hot_b => [ ($mean->('B')) x 3 ], wal_pct => [ 0 + $wal ] };
is(stored(encode_json($result)), 'prediction held', 'a result as predicted is stored as held');
my $held = confidence();
cmp_ok($held, '>', $before, 'a prediction that held raises the confidence');
my $saves = $result->{runs};
my ($wal_a) = map { $_->{wal_bytes} } grep { $_->{side} eq 'A1' } @$saves;
$result->{runs} = [ map { { %$_, wal_bytes => $wal_a, size_bytes => 8192000 } } @$saves ];
$result->{predicted}{wal_pct} = [ 100 ];
$result->{measured_at} += 1;
is(stored(encode_json($result)), 'prediction held', 'a result without benefit, as predicted, is stored as held');
cmp_ok(confidence(), '<', $held, 'a result without benefit lowers the confidence');
value('DELETE FROM ff_internal.rehearsal WHERE brings LIKE \'saves%\'');
cmp_ok(confidence(), '<', $before, 'without a benefit confidence is lower than without a rehearsal');
like(value("SELECT reason FROM ff_advise($of)"), qr/ % of that at 100; prediction held; no measurable difference\. /, 'the reason reports a rehearsal without benefit');
$result->{runs} = $saves;
$result->{predicted}{hot_b} = [ 10, 10, 10 ];
$result->{measured_at} += 1;
is(stored(encode_json($result)), 'did not hold', 'a result unlike the prediction is stored as not held');
cmp_ok(confidence(), '<', $before, 'a prediction that did not hold lowers the confidence');
like(value("SELECT reason FROM ff_advise($of)"), qr/\(predicted 10\), WAL .*; did not hold; saves WAL/, 'the reason reports the newest rehearsal');
$result->{system_identifier} = '1';
is(refused("SELECT * FROM ff_rehearsal_result('" . (encode_json($result) =~ s/'/''/gr) . "')"),
	'55000 the script of this rehearsal was written in another database', 'a result of another server is refused');

# ------------------------------------------------------------------ a copy of the table
# in a clone of the source, which has the same system identifier
my $clone = PostgreSQL::Test::Cluster->new('rehearsal_clone');
$source->backup('clone');
$clone->init_from_backup($source, 'clone');
$clone->start;
like(refusal($clone, 'postgres', '--object=existing'), qr/^this is the server that the advice is for, or a clone of it: in a clone, rename its database first$/,
	'refused on a clone whose database was not renamed');
$clone->safe_psql('template1', 'ALTER DATABASE postgres RENAME TO cloned');
{
	local $ENV{PATH} = File::Spec->rel2abs("$dir/bin") . ":$ENV{PATH}";
	like(refusal($clone, 'cloned', '--short', '--seconds=1', '--object=existing'), qr/^too little disk: (?!0 )\d+ MB are needed, 1 MB are free$/, 'refused for too little disk before the table is copied');
}
$run = rehearse($clone, 'cloned', '--short', '--seconds=1', '--load=80', '--object=existing');
ok(IPC::Run::finish($run->{process}), 'rows of a copy of the table are rehearsed') or diag ${ $run->{err} };
note ${ $run->{err} }, ${ $run->{out} };
like(${ $run->{err} }, qr/^15000 rows of 15000, /m, 'all rows of the copy are rehearsed');
$result = decode_json((${ $run->{out} } =~ /^(\{.*\})$/m)[0]);
foreach my $r (@{ $result->{runs} })
{
	$r->{side} eq 'B' ? cmp_ok($r->{laps}[-1], '>', 90, 'with room for the batch nearly all updates of the copy are HOT') : cmp_ok($r->{laps}[-1], '<', 60, 'with full pages most updates are not HOT');
}
is($clone->safe_psql('cloned', "SELECT count(*) FROM $table") . $clone->safe_psql('cloned', "SELECT count(*) FROM pg_namespace WHERE nspname = 'ff_rehearsal'"),
	'150000', 'the copy is as it was, and nothing is left behind');
# text keys in the clone, with an index expression that fails for updated values; UUID keys in a table restored elsewhere
$scratch->safe_psql('used', 'CREATE TABLE uuids (id uuid PRIMARY KEY, n int NOT NULL, pad text NOT NULL)');
$scratch->safe_psql('used', "INSERT INTO uuids SELECT gen_random_uuid(), i, repeat('p', 60) FROM generate_series(1, 2000) i");
my %of = (texts => rehearse($clone, 'cloned', 'texts.sh', '--short', '--seconds=1', '--object=existing'),
	uuids => rehearse($scratch, 'used', 'uuids.sh', '--short', '--seconds=1', '--object=existing'));
foreach my $name (qw(texts uuids))
{
	ok(IPC::Run::finish($of{$name}{process}), "rows of a copy are found by $name") or diag ${ $of{$name}{err} };
	note ${ $of{$name}{err} }, ${ $of{$name}{out} };
	like(${ $of{$name}{err} }, $name eq 'texts' ? qr/^3000 rows of 3000, /m : qr/^2000 rows of 3000, /m, "$name: all rows are found");
	is(scalar @{ decode_json((${ $of{$name}{out} } =~ /^(\{.*\})$/m)[0])->{runs} }, 8, "$name: all eight runs are reported");
}
like(${ $of{texts}{err} }, qr/WARNING:  index of_amount is made as USING btree \(amount\): .*invalid input syntax for type integer/m,
	'an index whose expression fails for updated values becomes a plain one, and a warning names it');
unlike(${ $of{texts}{err} }, qr/index texts_/, 'no other index is replaced');
$scratch->safe_psql('used', 'DROP TABLE uuids');
$clone->stop;

# ------------------------------------------------------------------ memory, and Ctrl-C
# a table larger than memory, and half of that memory here; a snapshot is held half of the time
my ($rows, $bytes) = $script =~ /"row_bytes": (\d+), .*?"table_rows": (\d+)/ ? ($2, $1) : die 'no size in it';
my $large = $script;
$large =~ s/"ram_bytes": \d+/"ram_bytes": 2097152/ && $large =~ s/held=false/held=true/
	&& $large =~ s/"held_cycle": 0, "held_share": 0,/"held_cycle": 0.2, "held_share": 0.5,/ or die 'no memory or snapshot in it';
append_to_file("$dir/large.sh", $large);
rename "$dir/large.sh", "$dir/rehearsal.sh";
# at the same time another session writes to an unlogged table
$scratch->safe_psql('used', 'CREATE UNLOGGED TABLE written (n int)');
$end = elsewhere('INSERT INTO written SELECT generate_series(1, 20000)');
$run = rehearse($scratch, 'postgres', '--seconds=1', '--memory=1');
for (1 .. 6000)
{
	last if ${ $run->{err} } =~ /^pair 0, A1.*transactions/m || !$run->{process}->pumpable;
	$run->{process}->pump_nb;
	sleep 0.1;
}
$end->();
like(${ $run->{err} }, qr/^pair 0, A1: .*; \d{4,} rows were written in other databases meanwhile$/m, 'rows written in other databases are reported');
like(${ $run->{err} }, qr/^@{[ $rows \/ 2 ]} rows of $rows, .* are (\d\.\d+) times memory on the source, \1 here/m, 'rows keep the ratio to memory');
like(${ $run->{err} }, qr/^pair 0, A1: fillfactor 100, HOT by lap(?: \.)* \d+\.\d(?: \.)* \d+\.\d/m, 'a table larger than memory is rehearsed');
my $holds = 0;
my $watch = $scratch->background_psql('postgres');
for (1 .. 6000)
{
	$holds = $watch->query_safe("SELECT count(*) FROM pg_stat_activity WHERE query ~ 'hold' AND age(backend_xmin) > 0 AND pid <> pg_backend_pid()");
	last if $holds;
	$run->{process}->pump_nb;
	sleep 0.05;
}
$watch->quit;
is($holds, 1, 'a snapshot is held during the rehearsal');
$run->{process}->signal('INT');
ok(!IPC::Run::finish($run->{process}), 'Ctrl-C ends the rehearsal');
is(left_behind(), '0', 'it cleans up after Ctrl-C');
ok($scratch->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name IN ('pgbench', 'held')"), 'the snapshot that was held is gone after Ctrl-C');
ok(!-e $pwned && !-e "$dir/$pwned", 'no name was executed');

# ------------------------------------------------------------------ a disk that fills up
SKIP:
{
	# the script does not check the disk of a tablespace; this one is a file system of 20 MB that only the server sees
	my $space = small_disk($scratch, '20m');
	skip 'no user namespaces here, so no file system of our own: disk full', 4 if !defined $space;
	$scratch->safe_psql('postgres', "CREATE TABLESPACE small LOCATION '$space'");
	$scratch->safe_psql('postgres', 'CREATE DATABASE small TABLESPACE small');
	unlink "$dir/rehearsal.sh";
	append_to_file("$dir/rehearsal.sh", $script);
	$run = rehearse($scratch, 'small', '--short', '--seconds=1', '--rows=200000');
	ok(!IPC::Run::finish($run->{process}), 'a full disk ends the rehearsal');
	like(${ $run->{err} }, qr/No space left on device/, 'the error says that the disk is full');
	is($scratch->safe_psql('small', "SELECT count(*) FROM pg_namespace WHERE nspname = 'ff_rehearsal'") . join(' ', glob("$dir/ff_rehearsal.*")), '0', 'it cleans up on a full disk');
	is($scratch->safe_psql('small', 'CREATE TABLE room (pad text); ALTER TABLE room ALTER pad SET STORAGE PLAIN; INSERT INTO room SELECT repeat(\'x\', 8000) FROM generate_series(1, 500); SELECT count(*) FROM room'), 500,
		'the disk has free space again');
}
$source->stop;
$scratch->stop;
done_testing();
