# The model outside the server: compile it with its stand-alone tests and pass their
# TAP on.  Needs a C compiler, no cluster.
use strict;
use warnings;

use File::Basename qw(dirname);
use File::Temp qw(tempdir);
use Text::ParseWords qw(shellwords);

my $top = dirname(__FILE__) . '/../..';
my $dir = tempdir(CLEANUP => 1);
my $cc = $ENV{CC} || 'cc';
my @sources = map { "$top/src/model/$_.c" } qw(evidence twin plan fit forecast decide);
my $tests = 0;

for my $name (qw(twin_test plan_test fit_test decide_test model_test mixture_cli model_cli))
{
	my $compiled = system(shellwords($cc), qw(-std=c11 -O2 -Wall -Wextra -Werror -o), "$dir/$name",
		"-I$top/src", "$top/test/twin/$name.c", @sources, '-lm') == 0;

	$tests++;
	print $compiled ? '' : 'not ', "ok $tests - $name compiles alone, without warnings\n";
}
for my $name (qw(twin_test plan_test fit_test decide_test model_test))
{
	my $ended = 0;

	for my $line (-x "$dir/$name" ? `$dir/$name` : ())
	{
		$ended ||= $line =~ /^1\.\./;
		next unless $line =~ /^(not )?ok \d+ (.*)/;
		$tests++;
		print $1 // '', "ok $tests $2\n";
	}
	$tests++;
	print $ended ? '' : 'not ', "ok $tests - $name ran to its end\n";
}
print "1..$tests\n";
