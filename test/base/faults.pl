# The table of faults in doc/testing.md: every file that it names has checks, and every file of
# such tests is named.
use strict;
use warnings;
use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

my $top = "$FindBin::Bin/../..";
my ($table) = slurp_file("$top/doc/testing.md") =~ /^## Faults survived\n(.*?)^## /ms;
isnt($table, undef, 'doc/testing.md has the table');

# The number of checks that a test file plans or, without a plan, contains
sub planned
{
	my ($file) = @_;
	return 0 if !-e "$top/$file";
	my $text = slurp_file("$top/$file");
	return $1 if $file =~ /\.pl$/ && $text =~ /^(?:use Test::More tests => |done_testing\()(\d+)\b/m;
	return scalar(() = $text =~ /^\t*(?:is|ok|like|unlike|cmp_ok)\(/gm) if $file =~ /\.pl$/;
	return $1 if $file =~ /\.sql$/ && $text =~ /^SELECT plan\((\d+)\);/m;
	return scalar(() = $text =~ /^SELECT (?:is|ok|isnt|matches|cmp_ok|throws_ok|is_empty|set_eq|results_eq)\(/gm)
		if $file =~ /\.sql$/;
	return scalar(() = $text =~ /^permutation/gm) if $file =~ /\.spec$/;
	return scalar(() = $text =~ /^\s*(?:expect|at_least) "/gm) if $file =~ /soak$/;
	return 0;
}

my ($rows, $sum, %named) = (0, 0);
while ($table =~ m{^\| .*? \| (`(?:\w+/)?test.*) \|$}gm)
{
	$rows++;
	foreach my $file ($1 =~ m{`((?:\w+/)?test/[^`]+)`}g)
	{
		$named{$file} = 1;
		cmp_ok(planned($file), '>', 0, "$file has checks");
		$sum += planned($file);
	}
}
note "$sum checks";
cmp_ok($rows, '>=', 10, 'the table has rows');
is(join(' ', grep { !$named{$_} } map { s{^\Q$top\E/}{}r } grep { !/due/ } glob("'$top'/test/collect/*.pl")), '',
	'the table names every file of these tests');

done_testing();
