# Parts of the sampler outside the server: compile them with the server's headers and
# their stand-alone tests, and pass the tests' TAP on.  Needs a C compiler, no cluster.
use strict;
use warnings;

use File::Basename qw(dirname);
use File::Temp qw(tempdir);
use Text::ParseWords qw(shellwords);

$| = 1;
my $top = dirname(__FILE__) . '/../..';
my $dir = tempdir(CLEANUP => 1);
my $cc = $ENV{CC} || 'cc';
my $config = $ENV{PG_CONFIG} || 'pg_config';
my $tests = 0;

chomp(my $headers = `$config --includedir-server`);
for my $name (qw(strata heap_page))
{
	my $source = $name eq 'strata' ? 'strata' : 'page_heap';
	my $compiled = system(shellwords($cc), qw(-std=gnu11 -O2 -Wall -Wextra -Werror -Wno-unused-parameter
		-Wno-sign-compare -Wno-missing-field-initializers -o), "$dir/$name", "-I$headers", "-I$top/src",
		"$top/test/sample/${name}_test.c", "$top/src/sample/$source.c", '-lm') == 0;
	my $ended = 0;

	$tests++;
	print $compiled ? '' : 'not ', "ok $tests - ${name}_test compiles alone, without warnings\n";
	for my $line ($compiled ? `$dir/$name` : ())
	{
		$ended ||= $line =~ /^1\.\./;
		next unless $line =~ /^(not )?ok \d+ (.*)/;
		$tests++;
		print $1 // '', "ok $tests $2\n";
	}
	$tests++;
	print $ended ? '' : 'not ', "ok $tests - ${name}_test ran to its end\n";
}
print "1..$tests\n";
