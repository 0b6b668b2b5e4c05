# The same work gets the same answer: with rows in front that nobody touches, in one of ten partitions, and ten times
# slower. Batches of rows are inserted and then updated as a whole, twice; fillfactor 100 has hardly any HOT update.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../perl";
use Beside qw(collect_all time_passes);
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($rows, $cold) = (400, 500_000);    # of a batch, in front
my %hours = (usual => 5, slow => 50);  # between two collections, in each database
# the largest differences: steps, points of HOT share, factor of WAL
my ($steps, $points, $factor) = (1, 5, 1.15);

my $node = PostgreSQL::Test::Cluster->new('symmetry');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_stat_statements'\nautovacuum = off\nfsync = off");
$node->start;

sub make_table
{
	my ($db, $name, $more) = @_;
	return $node->safe_psql($db, qq{
		CREATE TABLE $name (id int NOT NULL, part int NOT NULL, state int NOT NULL, pad text NOT NULL) $more;
		CREATE INDEX ON $name (id);
		CREATE INDEX ON $name (part, id);
		CREATE SEQUENCE ${name}_batch});
}

# Many batches, one transaction each, on one table; a batch belongs to one of ten parts.
sub work
{
	my ($db, $name, $batches) = @_;
	my $script = PostgreSQL::Test::Utils::tempdir() . "/$name.sql";
	append_to_file($script, qq{SELECT nextval('${name}_batch') AS n \\gset
\\set p :n % 10
\\set first :n * $rows
\\set last :first + $rows - 1
INSERT INTO $name SELECT g, :p, 0, repeat('x', 60) FROM generate_series(:first, :last) g;
UPDATE $name SET state = 1 WHERE part = :p AND id BETWEEN :first AND :last;
UPDATE $name SET state = 2 WHERE part = :p AND id BETWEEN :first AND :last;
});
	$node->command_ok([ 'pgbench', '-n', '-c', '1', '-t', $batches, '-f', $script, $node->connstr($db) ],
		"$db: $batches batches in $name");
	return;
}

foreach my $db (sort keys %hours)
{
	$node->safe_psql('postgres', "CREATE DATABASE $db");
	$node->safe_psql($db, 'CREATE EXTENSION pg_stat_statements; CREATE EXTENSION fillfactor_advisor');
	make_table($db, 'alone', '');
}
make_table('usual', 'behind', '');
make_table('usual', 'parts', 'PARTITION BY LIST (part)');
$node->safe_psql('usual', "CREATE TABLE part_$_ PARTITION OF parts FOR VALUES IN ($_)") for 0 .. 9;
$node->safe_psql('usual', qq{INSERT INTO behind SELECT -g, 0, 2, repeat('c', 60) FROM generate_series(1, $cold) g;
	VACUUM ANALYZE behind});

my %tables = (usual => [qw(alone behind parts)], slow => ['alone']);
collect_all($node, $_, 0) for keys %tables;
foreach my $round (1 .. 6)
{
	foreach my $db (sort keys %tables)
	{
		work($db, $_, $_ eq 'parts' ? 100 : 20) for @{ $tables{$db} };
		collect_all($node, $db, $round < 6 ? 0 : 100);
		time_passes($node, $db, "$hours{$db} hours");
	}
}
collect_all($node, $_) for keys %tables;

# What a table is told; WAL and HOT share if nothing changes, and at the advised step, once settled.
sub answer
{
	my ($db, $name) = @_;
	return decode_json($node->safe_psql($db, qq{
		SELECT to_json(x) FROM (
		SELECT a.action, a.needs_rewrite, a.recommended_fillfactor AS step, a.reason,
			(SELECT json_agg(s.fillfactor ORDER BY s.fillfactor) FROM ff_curve('$name', true) s) AS steps,
			now.hot_pct AS hot_now, now.wal_bytes_per_update AS wal_now,
			t.settled_hot_pct AS hot_then, t.wal_bytes_per_update AS wal_then
		  FROM ff_advise('$name') a
		 CROSS JOIN LATERAL (SELECT * FROM ff_curve('$name', true) c WHERE c.is_current) now
		  LEFT JOIN LATERAL (SELECT * FROM ff_curve('$name', true) c WHERE c.fillfactor = a.recommended_fillfactor) t
			ON true) x}));
}

sub place { my ($of, $step) = @_; return scalar grep { $_ < $step } @{ $of->{steps} }; }

my $alone = answer('usual', 'alone');
is($alone->{action}, 'lower', 'batches updated as a whole: lower');
cmp_ok($alone->{hot_now}, '<', 10, 'hardly any update is HOT if nothing is done');
cmp_ok($alone->{hot_then}, '>', 90, 'nearly all are once settled as advised');
foreach my $case ([ 'usual', 'behind', "behind $cold rows that nobody touches" ],
	[ 'usual', 'part_3', 'one of ten partitions' ], [ 'slow', 'alone', 'ten times slower' ])
{
	my ($db, $name, $what) = @$case;
	my $this = answer($db, $name);
	is($this->{action}, 'lower', "$what: lower") or diag $this->{reason};
	ok(!$this->{needs_rewrite}, "$what: no rewrite") if $name eq 'behind';
	cmp_ok(abs(place($alone, $this->{step}) - place($alone, $alone->{step})), '<=', $steps,
		"$what: $this->{step}, at most a step from $alone->{step}");
	foreach my $when (qw(now then))
	{
		cmp_ok(abs($this->{"hot_$when"} - $alone->{"hot_$when"}), '<=', $points,
			"$what: $this->{\"hot_$when\"} % HOT, nearly $alone->{\"hot_$when\"} ($when)");
		cmp_ok(abs(log($this->{"wal_$when"} / $alone->{"wal_$when"})), '<=', log($factor),
			"$what: $this->{\"wal_$when\"} bytes of WAL an update, about $alone->{\"wal_$when\"} ($when)")
		  if $db eq 'usual';    # slower work has more checkpoints for an update
	}
}
done_testing();
