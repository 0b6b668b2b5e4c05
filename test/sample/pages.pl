# Sampling of damaged pages, beside other sessions, and on standbys.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More tests => 20;

my $node = PostgreSQL::Test::Cluster->new('pages');
$node->init(extra => ['--data-checksums'], allows_streaming => 1);
$node->append_conf('postgresql.conf', "autovacuum = off\nshared_buffers = 64MB");
$node->start;
$node->safe_psql('postgres', q(
	CREATE EXTENSION fillfactor_advisor;
	CREATE UNLOGGED TABLE unlogged AS SELECT g AS id FROM generate_series(1, 100) g;
	-- not CREATE TABLE AS, which from 16 on extends a table by more than it fills
	CREATE TABLE sound (id int, pad text);
	INSERT INTO sound SELECT g, repeat('x', 100) FROM generate_series(1, 1000) g;
	CREATE TABLE holed (LIKE sound);
	CREATE TABLE broken (LIKE sound);
	CREATE TABLE missing (LIKE sound);
	INSERT INTO holed SELECT * FROM sound;
	INSERT INTO broken SELECT * FROM sound;
	INSERT INTO missing SELECT * FROM sound;
	CREATE INDEX holed_id ON holed (id);
	CREATE TABLE wrapped (id int, v int);
	INSERT INTO wrapped SELECT g, 0 FROM generate_series(1, 4) g;
	UPDATE wrapped SET v = 1 WHERE id = 4;
	CREATE TABLE large AS SELECT g AS id, repeat('x', 1000) AS pad FROM generate_series(1, 50000) g;
	CHECKPOINT));
my $buffercache = $node->safe_psql('postgres',
	q(SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_buffercache'));
$node->safe_psql('postgres', 'CREATE EXTENSION pg_buffercache') if $buffercache;

# What does this query give, or which SQLSTATE?
sub result
{
	my ($on, $query) = @_;
	my ($status, $out, $err) = $on->psql('postgres', "\\set VERBOSITY sqlstate\n$query");
	return $status == 0 ? $out : $err =~ /ERROR:\s+(\w{5})/ ? $1 : $err;
}
my $counts = 'SELECT blocks, blocks_read, blocks_new, blocks_bad, live_rows, live_pct + dead_pct + free_pct <= 100
	FROM ff_internal.sample';

is(result($node, "$counts('sound')"), '18|18|0|0|1000|t', 'sound pages are counted exactly');

# overwrite bytes of a block of a relation, the server being down
sub scribble
{
	my ($relation, $block, $offset, $bytes) = @_;
	open my $file, '+<:raw', $relation or die "$relation: $!";
	seek $file, $block * 8192 + $offset, 0 or die;
	print $file $bytes or die;
	close $file or die;
}
my %path = map { $_ => $node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('$_')") }
  qw(holed holed_id broken missing wrapped);

$node->stop;
scribble($path{holed}, 3, 0, "\0" x 8192);
scribble($path{holed_id}, 2, 0, "\0" x 8192);
scribble($path{broken}, 5, 24, "\x01\x80\xfe\xff");
rename $path{missing}, "$path{missing}.away" or die;
$node->start;
is(result($node, "$counts('holed')"), '18|18|1|0|942|t', 'an all-zero page is new and free');
is(result($node, q(SELECT blocks_new, blocks_bad, leaf_pages FROM ff_sample_index('holed_id'))), '1|0|2',
	'an all-zero index page is counted as new');
is(result($node, "$counts('broken')"), 'XX001', 'a wrong checksum is a read error');
is(result($node, "$counts('missing')"), '58P01', 'a missing file is an error');
is(result($node, "$counts('sound')"), '18|18|0|0|1000|t', 'damage in one table does not affect another');

# without checksums the page is read, and its damage is detected
$node->stop;
rename "$path{missing}.away", $path{missing} or die;
$node->command_ok([ 'pg_checksums', '--disable', '-D', $node->data_dir ], 'checksums disabled');
$node->start;
is(result($node, "$counts('broken')"), '18|18|0|1|942|t', 'a page with a bogus line pointer is rejected and counted');
$node->stop;
# pd_upper: all rows would lie in what is free
scribble($path{holed}, 7, 14, pack('v', 8192));
# the first row, at the end of the page, made longer than the page has room for: off, normal, len
scribble($path{holed}, 9, 24, pack('V', 8056 | 1 << 15 | 200 << 17));
# two line pointers to one row
scribble($path{holed}, 11, 28, pack('V', 8056 | 1 << 15 | 129 << 17));
# a header longer than its row
scribble($path{holed}, 13, 8056 + 22, pack('C', 248));
# more line pointers, all unused, than a page of tuples can have
scribble($path{holed}, 15, 12, pack('vv', 24 + 4 * 300, 8192));
scribble($path{holed}, 15, 24, "\0" x 1200);
# inserted by a transaction that never was, without a hint about it
scribble($path{broken}, 7, 8056, pack('V', 1_000_000_000));
scribble($path{broken}, 7, 8056 + 20, pack('v', 0x0802));
# rows of 32 bytes, frozen: two inserted before transaction ids began anew, one after, and one updated then
my @xmin = (4294966000, 4294967100, 100, undef, 200);
for my $row (0 .. $#xmin)
{
	next unless defined $xmin[$row];
	scribble($path{wrapped}, 0, 8192 - 32 * ($row + 1), pack('V', $xmin[$row]));
	scribble($path{wrapped}, 0, 8192 - 32 * ($row + 1) + 20, pack('v', $row == 4 ? 0x2b00 : 0x0b00));
}
# in the index, a posting list of more rows than its item has room for
scribble($path{holed_id}, 1, 8160, pack('vvvv', 0, 8, 0x2000 | 100, 0x2000 | 16));
$node->start;
is(result($node, "$counts('holed')"), '18|18|1|5|652|t',
	'so are those with rows in the free space, a row beyond the end, two pointers to a row, a header longer ' .
	'than its row, and too many pointers');
is(result($node, q(SELECT live_rows, update_distance FROM ff_internal.sample('wrapped'))), '4|{0,0,0,0,0,0,0,0,1}',
	'the middle insert of a page is the middle one also where transaction ids began anew');
is(result($node, "$counts('broken')"), '18|18|0|2|884|t',
	'a page with a row of a transaction that never existed is rejected');
is(result($node, q(SELECT blocks_new, blocks_bad, leaf_pages FROM ff_sample_index('holed_id'))), '1|1|1',
	'an index page with a posting list longer than its item is rejected');

# a large read goes through a small ring
SKIP:
{
	skip 'no pg_buffercache here', 2 unless $buffercache;
	$node->restart;
	my $read = result($node, q(
		SET fillfactor_advisor.sample_error = 0;
		SELECT blocks_read FROM ff_sample('large')));
	cmp_ok($read, '>=', 2900, 'many pages are read');
	cmp_ok(result($node, q(SELECT count(*) FROM pg_buffercache WHERE relfilenode = pg_relation_filenode('large'))),
		'<', 1500, 'few pages of a large read stay in shared buffers');
}

# interrupted in the middle
is(result($node, q(
	SET statement_timeout = 3000;
	SET fillfactor_advisor.sample_delay = 2000;
	SELECT blocks_read FROM ff_sample('large'))), '57014', 'a sample can be cancelled while it sleeps');
is(result($node, q(
	SET statement_timeout = 9000;
	SET fillfactor_advisor.sample_delay = 10000;
	SELECT blocks_read > 0 FROM ff_sample('sound'))), 't', 'a short sample does not sleep');
SKIP:
{
	skip 'no pg_buffercache here', 1 unless $buffercache;
	is(result($node, q(SELECT count(*) FROM pg_buffercache WHERE pinning_backends > 0
		AND relfilenode = pg_relation_filenode('large'))), 0, 'a cancelled sample leaves no pin');
}

# another session's temporary table
my ($in, $out, $err) = ("CREATE TEMP TABLE mine AS SELECT 1; SELECT 'ready', 'mine'::regclass::oid;\n", '', '');
my $timer = IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default);
my $other = IPC::Run::start([ 'psql', '-XqAt', '-d', $node->connstr('postgres') ], '<', \$in, '>', \$out, '2>', \$err,
	$timer);
IPC::Run::pump($other) until $out =~ /ready\|(\d+)/;
my ($oid) = $out =~ /ready\|(\d+)/;
is(result($node, "SELECT ff_sample($oid)"), '0A000', q(another session's temporary table is refused));
$in .= "\\q\n";
IPC::Run::finish($other);

# a standby reads pages too, but unlogged tables have none there
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
is(result($standby, "$counts('sound')"), '18|18|0|0|1000|t', 'a table can be sampled on a standby');
is(result($standby, "$counts('unlogged')"), '0A000', 'an unlogged table cannot be sampled on a standby');

$standby->stop;
$node->stop;