# Parts of the sampler outside the server: compile them with the server's headers and
# their stand-alone tests.  Needs a C compiler, no cluster.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../perl";
use Standalone qw(compile run finish);

my $top = "$FindBin::Bin/../..";
my $config = $ENV{PG_CONFIG} || 'pg_config';
chomp(my $headers = `$config --includedir-server`);
my %tests = (strata_test => 'strata', heap_page_test => 'page_heap');
for my $name (sort keys %tests)
{
	run(compile($name, qw(-std=gnu11 -Wno-unused-parameter -Wno-sign-compare -Wno-missing-field-initializers),
		"-I$headers", "-I$top/src", "$top/test/sample/$name.c", "$top/src/sample/$tests{$name}.c", '-lm'));
}
finish();
