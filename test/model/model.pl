# The model outside the server: compile it with its stand-alone tests.  Needs a C
# compiler, no cluster.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../perl";
use Standalone qw(compile run finish);

my $top = "$FindBin::Bin/../..";
my @flags = (qw(-std=c11 -ffp-contract=off -fsanitize=bounds -fsanitize-undefined-trap-on-error), "-I$top/src");
my @parts = map { compile(s!.*/!!r . '.o', @flags, '-c', "$top/src/$_.c") }
	qw(model/evidence model/twin model/plan model/fit model/forecast model/choice advise/decision);
for my $test (qw(model/twin_test model/plan_test model/fit_test model/choice_test model/symmetry_test model/model_test model/mixture_cli
	model/model_cli advise/decision_test))
{
	my $name = $test =~ s!.*/!!r;
	# a test that includes a file is linked without it
	my @others = $name eq 'choice_test' ? grep { !m!/choice\.o$! } @parts : @parts;
	my $program = compile($name, @flags, "$top/test/$test.c", @others, '-lm');
	run($program) if $name =~ /_test$/;
}
finish();
