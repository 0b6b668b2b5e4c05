# C programs that test parts of the extension without a server: compiles and runs them, and reports the TAP of all of
# them as that of one test.
package Standalone;
use strict;
use warnings;
use Exporter 'import';
use File::Temp qw(tempdir);
use Text::ParseWords qw(shellwords);
our @EXPORT_OK = qw(compile run finish);

$| = 1;
my $dir = tempdir(CLEANUP => 1);
my $tests = 0;

sub test
{
	my ($good, $name) = @_;
	$tests++;
	print $good ? '' : 'not ', "ok $tests - $name\n";
	return;
}

# compile(NAME, ARGUMENT...): into a file of that name, which it returns
sub compile
{
	my ($name, @arguments) = @_;
	test(system(shellwords($ENV{CC} || 'cc'), qw(-O2 -Wall -Wextra -Werror -o), "$dir/$name", @arguments) == 0,
		"$name compiles alone, without warnings");
	return "$dir/$name";
}

sub run
{
	my ($program) = @_;
	my $ended = 0;
	for my $line (-x $program ? `$program` : ())
	{
		$ended ||= $line =~ /^1\.\./;
		test(!$1, $2) if $line =~ /^(not )?ok \d+ (?:- )?(.*)/;
	}
	return test($ended, ($program =~ s{.*/}{}r) . ' ran to its end');
}

sub finish { return print "1..$tests\n"; }

1;
