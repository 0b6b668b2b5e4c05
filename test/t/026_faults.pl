# The README's table of faults survived: the numbers are those of the tests'
# plans, and no file of these tests is missing.
use strict;
use warnings;
use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

my $top = "$FindBin::Bin/../..";
my ($table) = slurp_file("$top/README.md") =~ /^## Faults survived\n(.*?)^## /ms;
isnt($table, undef, 'README has the table');

# How many checks a test file says that it has
sub planned
{
	my ($file) = @_;
	my $text = slurp_file("$top/$file");
	return $1 if $file =~ /\.pl$/ && $text =~ /^use Test::More tests => (\d+);/m;
	return $1 if $file =~ /\.sql$/ && $text =~ /^SELECT plan\((\d+)\);/m;
	return scalar(() = $text =~ /^permutation/gm) if $file =~ /\.spec$/;
	return scalar(() = $text =~ /^\s*(?:expect|at_least) "/gm) if $file =~ /soak$/;
	return 'none';
}

my ($rows, $sum, %named) = (0, 0);
while ($table =~ /^\| .*? \| +(\d+) \| (.*) \|$/gm)
{
	my ($number, $where) = ($1, $2);
	my @files = $where =~ m{`(test/[^`]+)`}g;
	my $planned = 0;
	$planned += planned($_) foreach @files;
	is($number, $planned, "the number of checks in @files");
	$rows++;
	$sum += $number;
	$named{$_} = 1 foreach @files;
}
cmp_ok($rows, '>=', 10, 'the table has rows');
is(join(' ', grep { !$named{$_} } map { s{^\Q$top\E/}{}r } grep { !/026_faults/ } glob("'$top'/test/t/02*.pl")), '', 'and no file of these tests is missing');
my ($total) = $table =~ /(\d+) checks/;
is($total, $sum, 'the total');

done_testing();
