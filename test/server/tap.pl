# tap.pl COUNTS JOBS FILE...: run test files, JOBS at a time, show failures, and
# write a line for each kind of file (tap, pgtap) to COUNTS: "kind passed failed
# skipped" and the failed files' stems.  A file that dies, does not finish its
# plan or runs no test is a failure, whatever it printed.
#
# TAP files have their own servers.  pgTAP files share one and look at its sessions
# and statements, so only one of them runs at a time.
use strict;
use warnings;
use TAP::Harness;

# The slowest files start first.
my @slow = qw(rehearsal/test/rehearsal test/report/report test/model/regret test/collect/steps test/flow/two_weeks
	test/model/model test/base/package hub/test/fleet test/collect/rewrites test/collect/statements hub/test/mirror
	test/base/names test/collect/identity test/collect/locks test/collect/resources test/apply/script test/flow/loop
	test/collect/epochs hub/test/mirror_follow);
# Lines shown of the output of a file that did not finish.
my $lines_shown = 15;

my ($counts, $jobs, @files) = @ARGV;

sub stem { return $_[0] =~ m{([^/]+)\.[a-z]+$}; }
my %rank;
@rank{@slow} = reverse 1 .. @slow;
@files = sort { ($rank{ $b =~ s/\.pl$//r } // 0) <=> ($rank{ $a =~ s/\.pl$//r } // 0) } @files;

my %harness = (
	failures => 1, comments => 1, errors => 1, color => 0, timer => 1, merge => 1, jobs => $jobs,
	rules => { par => [ { seq => '**.sql' }, { par => '**' } ] },
	exec => sub { return $_[1] =~ /\.sql$/ ? [ 'test/server/pgtap-file', $_[1] ] : undef; });
my $harness = TAP::Harness->new(\%harness);
my %said;
$harness->callback(made_parser => sub {
	my ($parser, $test) = @_;
	# a test that dies says why in a comment
	$parser->callback($_ => sub { push @{ $said{ $test->[0] } }, $_[0]->raw; }) foreach qw(unknown comment);
});

my $all = $harness->runtests(@files);
my %sum;
foreach my $name ($all->descriptions)
{
	my ($file) = $all->parsers($name);
	my $bad = scalar $file->failed;
	my $left_out = scalar $file->skipped;
	my $sum = $sum{ $name =~ /\.sql$/ ? 'pgtap' : 'tap' } //= { passed => 0, failed => 0, skipped => 0, stems => [] };

	if ($file->skip_all)
	{
		$sum->{skipped}++;
		next;
	}
	$bad = 1 if !$bad && ($file->has_problems || !$file->tests_run);
	$sum->{passed} += $file->passed - $left_out if $file->passed;
	$sum->{skipped} += $left_out;
	$sum->{failed} += $bad;
	next if !$bad;
	push @{ $sum->{stems} }, stem($name);
	next if $file->is_good_plan && ($file->failed || !$file->exit);
	# errors come first: a long context would hide them
	my @lines = grep { /\S/ } @{ $said{$name} // [] };
	my @errors = grep { /\b(?:ERROR|FATAL|PANIC|error): / } @lines;
	@errors = @errors[-3 .. -1] if @errors > 3;
	splice @lines, 0, @errors - $lines_shown if @lines > $lines_shown - @errors;
	print "$name said:\n", map { s/^(?!#)/# /r . "\n" } @errors, @lines;
}

open my $out, '>', $counts or die "$counts: $!";
my $failed = 0;
foreach my $kind (sort keys %sum)
{
	print $out "$kind @{$sum{$kind}}{qw(passed failed skipped)} @{$sum{$kind}{stems}}\n";
	$failed += $sum{$kind}{failed};
}
close $out or die "$counts: $!";
exit($failed ? 1 : 0);
