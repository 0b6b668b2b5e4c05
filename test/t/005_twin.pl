# The heap twin, outside the server: compile it with its stand-alone test and
# pass the test's TAP on.  Needs a C compiler, no cluster.
use strict;
use warnings;

use File::Basename qw(dirname);
use File::Temp qw(tempdir);
use Text::ParseWords qw(shellwords);

my $top = dirname(__FILE__) . '/../..';
my $dir = tempdir(CLEANUP => 1);
my $cc = $ENV{CC} || 'cc';

if (system(shellwords($cc), qw(-std=c11 -O2 -Wall -Wextra -Werror -o),
		"$dir/twin_test", "$top/test/twin/twin_test.c",
		"$top/src/heap_twin.c", '-lm') != 0)
{
	print "1..1\nnot ok 1 - the twin compiles alone, without warnings\n";
	exit 1;
}
exit(system("$dir/twin_test") >> 8);
