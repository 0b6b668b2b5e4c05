# The model outside the server: compile it with its stand-alone tests.  Needs a C
# compiler, no cluster.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../perl";
use Standalone qw(compile run finish);

my $top = "$FindBin::Bin/../..";
my @flags = (qw(-std=c11 -ffp-contract=off -fsanitize=bounds -fsanitize-undefined-trap-on-error), "-I$top/src");
my @parts = map { compile("$_.o", @flags, '-c', "$top/src/model/$_.c") } qw(evidence twin plan fit forecast decide);
for my $name (qw(twin_test plan_test fit_test decide_test model_test mixture_cli model_cli))
{
	my $program = compile($name, @flags, "$top/test/model/$name.c", @parts, '-lm');
	run($program) if $name =~ /_test$/;
}
finish();
