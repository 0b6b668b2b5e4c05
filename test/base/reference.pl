# Facts in more than one place are the same everywhere: doc/reference.md and the COMMENTs, doc/how-it-decides.md and the
# advice of its examples, the version in META.json, debian/changelog and CHANGELOG.md.
use strict;
use warnings;
use FindBin;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $top = "$FindBin::Bin/../..";
my ($version) = slurp_file("$top/fillfactor_advisor.control") =~ /^default_version *= *'(.*)'/m;

my $meta = decode_json(slurp_file("$top/META.json"));
foreach my $key (qw(name version abstract maintainer license provides meta-spec))
{
	ok($meta->{$key}, "META.json has $key");
}
is($meta->{version}, $version, 'META.json: the version of the control file');
is($meta->{provides}{fillfactor_advisor}{version}, $version, 'META.json: the extension provided has this version');
foreach my $file (@{ $meta->{provides}{fillfactor_advisor} }{qw(file docfile)})
{
	ok(-e "$top/$file", "META.json: $file exists");
}
like($meta->{version}, qr/^\d+\.\d+\.\d+$/, 'META.json: the version has the form that PGXN requires');
my ($packaged) = slurp_file("$top/debian/changelog") =~ /\((.*)-\d+\)/;
is($packaged, $version, 'debian/changelog: the version of the control file');
like(slurp_file("$top/CHANGELOG.md"), qr/^## \Q$version\E/m, 'CHANGELOG.md has an entry for this version');

my $node = PostgreSQL::Test::Cluster->new('reference');
$node->init(extra => [ '--encoding', 'UTF8', '--locale', 'C' ]);
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION fillfactor_advisor_hub CASCADE');
foreach my $page ([ reference => 'doc/reference.md' ], [ decides => 'doc/how-it-decides.md' ])
{
	my ($query, $file) = @$page;
	my ($made, $error) = run_command([ 'psql', '-X', '-A', '-t', '-q', '-v', 'ON_ERROR_STOP=1', '-d',
		$node->connstr('postgres'), '-f', "$top/test/queries/$query.sql" ]);
	is($error, '', "$file can be made");
	my @made = split /\n/, $made;
	my @kept = split /\n/, slurp_file("$top/$file");
	my ($line) = grep { ($made[$_] // '') ne ($kept[$_] // '') } 0 .. ($#made > $#kept ? $#made : $#kept);
	ok(!defined $line, "$file is up to date")
	  or diag "make reference writes it anew; the first difference is in line @{[$line + 1]}:\n< ", $kept[$line] // '',
	  "\n> ", $made[$line] // '';
}

done_testing();
