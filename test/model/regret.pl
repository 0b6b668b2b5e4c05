# The short form of the regret bench: three mixtures of updates, left at 100 or rewritten
# at three fillfactors, then once with the extension collecting.  What is asserted does not depend on how
# fast the machine is: HOT shares, WAL, and what is advised.  The table with its
# regrets is printed for the reader.
use strict;
use warnings;
use File::Temp qw(tempdir);
use FindBin;
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;

# a minute: once in a run of all versions is enough
plan skip_all => 'done on PostgreSQL 15' if `pg_config --version` !~ /PostgreSQL 15/;
plan skip_all => 'no python3' if system('python3 -c "" 2>/dev/null') != 0;

my $work = tempdir(CLEANUP => 1);
chmod 0755, $work;
# the server that the other tests use
local $ENV{PG_CONFIG} = $ENV{PG_CONFIG} || 'pg_config';
local $ENV{WORK} = $work;
local $ENV{PGPORT} = 54207;
local $ENV{PYTHONDONTWRITEBYTECODE} = 1;
delete local @ENV{qw(PGHOST PGUSER PGDATABASE PGDATA)};

my $table = `timeout 1200 python3 '$FindBin::Bin/../bench/regret/regret.py' short 2>&1`;
is($?, 0, 'the bench ran');
diag $table if $?;
note $table;

my (%truth, %seen);
foreach my $name (qw(third indexed_fourth lengths))
{
	my $runs = decode_json(slurp_file("$work/data/$name-100.truth.json"))->{runs};
	is(join(' ', map { "$_->{way} $_->{fillfactor}" } @$runs), 'keep 100 rewrite 100 rewrite 90 rewrite 70',
		"$name: all four runs are reported");
	$truth{$name} = { map { $_->{fillfactor} => $_ } grep { $_->{way} eq 'keep' || $_->{fillfactor} < 100 } @$runs };
	$seen{$name} = decode_json(slurp_file("$work/data/$name-100.observe.json"));
	is(scalar @{ $seen{$name}{intervals} }, 9, "$name: each phase is an interval, and so is the day of rest before");
}

# off: the distance in points between the curve and the HOT share measured at a fillfactor,
# on whose step of the curve it lies
sub off
{
	my ($name, $step) = @_;
	my @steps = sort { $a->{fillfactor} <=> $b->{fillfactor} } @{ $seen{$name}{curve} };
	my ($row) = grep { $_->{fillfactor} >= $step } @steps;
	# the others were rewritten
	return abs($row->{$step == 100 ? 'hot_pct' : 'rewritten_hot_pct'} - $truth{$name}{$step}{hot_pct});
}
foreach my $case ([ third => 15 ], [ indexed_fourth => 4 ], [ lengths => 12 ])
{
	my ($name, $bound) = @$case;
	my ($worst) = sort { off($name, $b) <=> off($name, $a) } keys %{ $truth{$name} };
	cmp_ok(off($name, $worst), '<=', $bound, "$name: HOT share promised within $bound points (worst at $worst)");
}

cmp_ok($truth{third}{70}{hot_pct}, '>', $truth{third}{100}{hot_pct} + 20,
	'a third of each page together: room makes it HOT');
cmp_ok($truth{third}{70}{wal}, '<', 0.6 * $truth{third}{100}{wal},
	'a third of each page together: fillfactor 70 saves WAL');
cmp_ok($seen{third}{advice}{recommended_fillfactor}, '<=', 80, 'a third of each page together: 80 or less is advised');
cmp_ok($truth{indexed_fourth}{70}{hot_pct}, '<', 76, 'one update of four sets an indexed column: no room makes it HOT');
cmp_ok($seen{indexed_fourth}{advice}{recommended_fillfactor}, '>=', 70,
	'one update of four sets an indexed column: 70 or more is advised');
cmp_ok($seen{lengths}{advice}{recommended_fillfactor}, '>=', 80, 'two lengths, single updates: 80 or more is advised');
done_testing();
