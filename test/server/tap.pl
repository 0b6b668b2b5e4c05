# tap.pl COUNTS [--exec PROGRAM] FILE...: run TAP test files, show what fails,
# and write "passed failed skipped" and the failed files' stems to the file
# COUNTS.  A file that dies, stops
# short of its plan or runs no test at all is a failure, whatever it printed.
use strict;
use warnings;
use TAP::Harness;

my $counts = shift @ARGV;
my %how = (failures => 1, comments => 1, errors => 1, color => 0);
if (@ARGV && $ARGV[0] eq '--exec')
{
	$how{exec} = [ split ' ', $ARGV[1] ];
	splice @ARGV, 0, 2;
}

my $all = TAP::Harness->new(\%how)->runtests(@ARGV);
my ($passed, $failed, $skipped) = (0, 0, 0);
my @stems;
foreach my $name ($all->descriptions)
{
	my ($file) = $all->parsers($name);
	my $bad = scalar $file->failed;
	my $left_out = scalar $file->skipped;

	if ($file->skip_all)
	{
		$skipped++;
		next;
	}
	$bad = 1 if !$bad && ($file->has_problems || !$file->tests_run);
	$passed += $file->passed - $left_out if $file->passed;
	$skipped += $left_out;
	$failed += $bad;
	push @stems, $name =~ m{([^/]+)\.[a-z]+$} if $bad;
}

open my $out, '>', $counts or die "$counts: $!";
print $out "$passed $failed $skipped @stems\n";
close $out or die "$counts: $!";
exit($failed ? 1 : 0);
