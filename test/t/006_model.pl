# The model outside the server: compile it with its stand-alone tests and pass their
# TAP on.  Needs a C compiler, no cluster.
use strict;
use warnings;

use File::Basename qw(dirname);
use File::Temp qw(tempdir);
use Text::ParseWords qw(shellwords);

$| = 1;
my $top = dirname(__FILE__) . '/../..';
my $dir = tempdir(CLEANUP => 1);
my $cc = $ENV{CC} || 'cc';
my @parts = qw(evidence twin plan fit forecast decide);
my $tests = 0;

sub compile
{
	my ($name, @arguments) = @_;
	my $compiled = system(shellwords($cc), qw(-std=c11 -O2 -Wall -Wextra -Werror
		-fsanitize=bounds -fsanitize-undefined-trap-on-error -o), "$dir/$name", "-I$top/src",
		@arguments) == 0;

	$tests++;
	print $compiled ? '' : 'not ', "ok $tests - $name compiles alone, without warnings\n";
}

compile("$_.o", '-c', "$top/src/model/$_.c") for @parts;
for my $name (qw(twin_test plan_test fit_test decide_test model_test mixture_cli model_cli))
{
	my $ended = 0;

	compile($name, "$top/test/twin/$name.c", (map { "$dir/$_.o" } @parts), '-lm');
	next if $name =~ /cli$/;
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
