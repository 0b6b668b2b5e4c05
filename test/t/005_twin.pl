# The heap twin and the model on it, outside the server: compile them with their
# stand-alone tests and pass the tests' TAP on.  Needs a C compiler, no cluster.
use strict;
use warnings;

use File::Basename qw(dirname);
use File::Temp qw(tempdir);
use Text::ParseWords qw(shellwords);

my $top = dirname(__FILE__) . '/../..';
my $dir = tempdir(CLEANUP => 1);
my $cc = $ENV{CC} || 'cc';

my ($tests, $failed) = (0, 0);

# Both programs' TAP, numbered on.
for my $test (
	[ 'twin_test', 'heap_twin' ],
	[ 'lifecycle_test', 'update_split', 'heap_twin', 'lifecycle_read', 'lifecycle', 'curve', 'choice' ])
{
	my ($name, @sources) = @$test;
	my $compiled = system(shellwords($cc), qw(-std=c11 -O2 -Wall -Wextra -Werror -o),
		"$dir/$name", "$top/test/twin/$name.c", "-I$top/src", (map { "$top/src/model/$_.c" } @sources), '-lm') == 0;

	$tests++;
	$failed++ unless $compiled;
	print $compiled ? '' : 'not ', "ok $tests - $name compiles alone, without warnings\n";
	next unless $compiled;
	for my $line (`$dir/$name`)
	{
		next unless $line =~ /^(not )?ok \d+ (.*)/;
		$tests++;
		$failed++ if $1;
		print $1 // '', "ok $tests $2\n";
	}
	if ($? != 0 && !$failed)
	{
		$tests++;
		$failed++;
		print "not ok $tests - $name ended with status $?\n";
	}
}
print "1..$tests\n";
exit($failed != 0);
