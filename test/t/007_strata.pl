# The choice of pages and its estimates outside the server: compile them with the
# server's headers and their stand-alone test, and pass the test's TAP on.  Needs a C
# compiler, no cluster.
use strict;
use warnings;

use File::Basename qw(dirname);
use File::Temp qw(tempdir);
use Text::ParseWords qw(shellwords);

my $top = dirname(__FILE__) . '/../..';
my $dir = tempdir(CLEANUP => 1);
my $cc = $ENV{CC} || 'cc';
my $config = $ENV{PG_CONFIG} || 'pg_config';

chomp(my $headers = `$config --includedir-server`);
my $compiled = system(shellwords($cc), qw(-std=gnu11 -O2 -Wall -Wextra -Werror -Wno-unused-parameter
	-Wno-sign-compare -Wno-missing-field-initializers -o), "$dir/strata_test", "-I$headers", "-I$top/src",
	"$top/test/sample/strata_test.c", "$top/src/sample/strata.c", '-lm') == 0;
my @lines = $compiled ? `$dir/strata_test` : ();
my @results = grep { /^(not )?ok \d+ / } @lines;
my $tests = @results;
my $ended = grep { /^1\.\.$tests$/ } @lines;

print @results;
$tests++;
print $compiled ? '' : 'not ', "ok $tests - strata_test compiles alone, without warnings\n";
$tests++;
print $ended ? '' : 'not ', "ok $tests - strata_test ran to its end\n";
print "1..$tests\n";
