# Damage on disk, seen by a collection: the table concerned gets a problem
# row, every other one is collected.  What ff_sample() itself says of such
# pages is in pages.pl.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More tests => 24;

my $node = PostgreSQL::Test::Cluster->new('damage');
$node->init(extra => ['--data-checksums']);
$node->append_conf('postgresql.conf', 'autovacuum = off');
$node->start;

sub value { return $node->safe_psql('postgres', $_[0]); }
sub problem
{
	return value("SELECT p.sqlstate FROM ff_internal.problem p
		JOIN ff_internal.relation r USING (rel_id) WHERE r.relname = '$_[0]'");
}
sub last_sample
{
	return value("SELECT $_[1] FROM ff_internal.page_sample s
		JOIN ff_internal.relation r USING (rel_id) WHERE r.relname = '$_[0]'
		ORDER BY s.sampled_at DESC LIMIT 1");
}

my @tables = qw(sound flipped zeroed missing no_index cut torn random);
my @create = map { "CREATE TABLE $_ AS
	SELECT g AS id, repeat('x', 100) AS pad FROM generate_series(1, 1000) g;" } @tables;
value("CREATE EXTENSION fillfactor_advisor; @create CREATE INDEX no_index_id ON no_index (id);
	CREATE INDEX ON no_index (pad)");
# a table is extended by several pages at once since 16
value('VACUUM');
my %path = map { $_ => $node->data_dir . '/' . value("SELECT pg_relation_filepath('$_')") } @tables, 'no_index_id';
my %was = map { $_ => -s $path{$_} } @tables;

# the server being down
sub overwrite
{
	my ($table, $offset, $bytes) = @_;
	open my $file, '+<:raw', $path{$table} or die "$path{$table}: $!";
	seek $file, $offset, 0 or die;
	print $file $bytes or die;
	close $file or die;
	return;
}
srand 1;
sub noise { return join '', map { chr int rand 256 } 1 .. $_[0]; }

# Flip bytes of one page, and so on.
$node->stop;
overwrite('flipped', 5 * 8192 + 4000, "\xff\x00\xff\x00");
overwrite('zeroed', 18 * 8192, "\0" x (3 * 8192));
rename "$path{$_}", "$path{$_}.away" or die foreach qw(missing no_index_id);
truncate $path{cut}, 10 * 8192;
truncate $path{torn}, 10 * 8192 + 100;
overwrite('random', 3 * 8192, noise(8192));
$node->start;

sub collect
{
	my ($status, $out, $err) = $node->psql('postgres', 'CALL ff_collect()');
	return $status == 0 ? $err : "status $status: $err";
}
like(collect(), qr/WARNING:  3 of 8 relations could not be sampled\nHINT:  See the table ff_internal.problem /,
	'a collection over damaged tables says so, and ends');
is(value('SELECT sampled, skipped, failed FROM ff_internal.collection'), '5|0|3', 'the others are sampled');
is(problem('flipped'), 'XX001', 'flipped bytes in one page: a read error of that table');
is(problem('random'), 'XX001', 'a page of random bytes: the same');
is(problem('missing'), '58P01', 'a missing file: that table');
is(last_sample('zeroed', 's.blocks, s.blocks_new, s.blocks_bad, s.live_rows'), '21|3|0|1000',
	'all-zero pages are counted as new');
is(last_sample('cut', 's.blocks, s.blocks_bad'), '10|0', 'a shortened file is sampled at its new length');
is(last_sample('torn', 's.blocks, s.blocks_bad'), '10|0',
	'a file that ends within a page is sampled without its torn page');
is(last_sample('no_index', 's.blocks, s.live_rows'), '18|1000', 'a table whose index is gone is sampled');
is(value('SELECT count(*) FROM ff_advise() WHERE reason IS NOT NULL'), 8, 'advice has a row for each');
like(value(q(SELECT reason FROM ff_advise('flipped'))),
	qr/could not be sampled, each collection tries again: XX001 invalid page in block 5/,
	'the reason names the damaged page');
is(value(q(SELECT heap_bytes, index_bytes IS NULL FROM ff_internal.sizes('no_index'::regclass))), '147456|t',
	'the size of indexes is unknown if one is missing');
is(value(q(SELECT heap_bytes IS NULL FROM ff_internal.sizes('missing'::regclass))), 't',
	'the size of a table whose file is missing is unknown');
is(value(q(SELECT action || ' ' || cause FROM ff_advise('missing'))), 'wait no_data',
	'a table whose file is missing gets wait, no_data');

# Damaged again and again: one row, counted.
collect();
is(value('SELECT count(*), min(occurrences), max(occurrences) FROM ff_internal.problem'), '3|2|2',
	'problems of the same table are one row, counted');

# Without checksums the contents are read, and rejected by the parser.
$node->stop;
$node->command_ok([ 'pg_checksums', '--disable', '-D', $node->data_dir ], 'checksums disabled');
rename "$path{$_}.away", $path{$_} or die foreach qw(missing no_index_id);
# a header that passes, and nonsense behind it: 8192 bytes of version 4, line pointers up to byte 3000
overwrite('random', 3 * 8192, pack('VVSSSSSSV', 0, 0, 0, 0, 3000, 4000, 8192, 0x2004, 0) . noise(8192 - 24));
overwrite('flipped', 5 * 8192 + 24, noise(400));
$node->start;
is(collect(), '', 'without checksums all tables can be read');
is(last_sample('random', 's.blocks_bad, s.live_rows, s.live_pct + s.dead_pct + s.free_pct <= 100'), '1|942|t',
	'bogus line pointers: the page is rejected and counted, no share above 100 %');
is(last_sample('flipped', 's.blocks_bad, s.live_rows, s.live_pct + s.dead_pct + s.free_pct <= 100'), '1|942|t',
	'the same among good ones');
is(value('SELECT count(*) FROM ff_internal.problem'), 0, 'no problem is left');

# Bits in the headers of rows that only a later server may set: the rows are there, what became of updates is not known.
value(q(CREATE TABLE later (id int, v int);
	INSERT INTO later SELECT g, 0 FROM generate_series(1, 40) g;
	UPDATE later SET v = 1 WHERE id <= 10));
my $seen = q(SELECT live_rows, dead_rows, updated_hot_rows, updated_nonhot_rows, superseded_hot, superseded_same_page
	FROM ff_internal.sample('later'));
is(value($seen), '40|10|10|0|10|0', 'rows updated, and their old versions');
$path{later} = $node->data_dir . '/' . value("SELECT pg_relation_filepath('later')");
$node->stop;
my @line = unpack 'x24 V50', slurp_file($path{later});
overwrite('later', ($_ & 0x7fff) + 18,
	pack('v', unpack('v', substr slurp_file($path{later}), ($_ & 0x7fff) + 18, 2) | 0x1000))
	foreach @line;
$node->start;
is(value($seen), '40|10|0|0|0|0', 'a bit that nobody knows: rows are counted, updates are not');
is(value('SELECT count(*) FROM later'), 40, 'the server of today passes over it');
unlike(PostgreSQL::Test::Utils::slurp_file($node->logfile), qr/PANIC|terminated by signal|TRAP|WARNING: .*leak/,
	'nothing of it in the log');
$node->stop;
