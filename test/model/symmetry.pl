# Symmetries on 24 stored observations: how often the same work, slower, cut into partitions or behind rows that nobody
# touches, gets another answer.  The bounds are about twice what was measured on all; test/bench/README.md has that.
use strict;
use warnings;
use FindBin;
use Test::More;

# only the model's C code: once in a run of all versions is enough
plan skip_all => 'done on PostgreSQL 15' if `pg_config --version` !~ /PostgreSQL 15/;
plan skip_all => 'no python3' if system('python3 -c "" 2>/dev/null') != 0;

local $ENV{PYTHONDONTWRITEBYTECODE} = 1;
my $bench = "$FindBin::Bin/../bench/regret";
my @names = 29049 .. 29072;
my $table = `timeout 1200 python3 '$bench/regret.py' symmetry '$bench/observations.json.xz' @names 2>&1`;
is($?, 0, 'the replays ran');
note $table;
my %most = ('slower' => [ 7, 4, 0 ], 'cut' => [ 9, 4, 10 ], 'cold 1e6' => [ 9, 4, 3 ], 'cold 1e9' => [ 11, 4, 3 ]);
foreach my $change (sort keys %most)
{
	my ($n, $step, $dearer, $hot, $rewrite) =
	  $table =~ /^\Q$change\E: (\d+) observations; changed: step (\d+), dearer (\d+), HOT (\d+), WAL \d+, rewrite (\d+)$/m;
	is($n, 24, "$change: all were replayed");
	cmp_ok($step, '<=', $most{$change}[0], "$change: the step moves by more than one in few");
	cmp_ok($dearer, '<=', $most{$change}[1], "$change: the former step would cost over 2 % more in hardly any");
	cmp_ok($hot, '<=', $most{$change}[2], "$change: the HOT share moves by over 5 points in few");
	is($rewrite, 0, "$change: no rewrite comes from it");
}
done_testing();
