# The files of an extension image (make image-tree) are all that a server needs that mounts them beside its own: from
# PostgreSQL 18 on it finds the extension and its library there. Before 18, make says what to use instead.
use strict;
use warnings;
use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $top = "$FindBin::Bin/../..";
my $tree = PostgreSQL::Test::Utils::tempdir_short() . '/image';
chomp(my $config = qx(pg_config --bindir));
$config .= '/pg_config';
delete @ENV{ grep { /^(?:MAKE|MFLAGS)/ } keys %ENV };
sub make { return run_command([ 'make', '-s', '-C', $top, "PG_CONFIG=$config", 'with_llvm=no', @_ ]); }

my (undef, $error) = make('image-tree');
like($error, qr/usage: make image-tree DIR=/, 'a folder has to be named');
(undef, $error) = make('image-tree', "DIR=$tree");
is($error, '', 'make image-tree succeeds');
my ($version) = slurp_file("$top/fillfactor_advisor.control") =~ /^default_version *= *'(.*)'/m;
my @made = sort map { s{^\Q$tree\E/}{}r } split /\n/, qx(find '$tree' -type f);
my %made = map { $_ => 1 } @made;
is(join(' ', grep { !$made{$_} } 'lib/fillfactor_advisor.so', 'share/extension/fillfactor_advisor.control',
	"share/extension/fillfactor_advisor--$version.sql", 'share/extension/fillfactor_advisor_hub.control',
	"share/extension/fillfactor_advisor_hub--$version.sql", 'licenses/fillfactor_advisor'), '',
	'it has library, control file, script and license');
is(join(' ', grep { !m{^(?:lib|share/extension|licenses)/} } @made), '', 'and nothing elsewhere');
(undef, $error) = make('image-tree', "DIR=$tree");
like($error, qr/already exists/, 'it does not write into a folder that exists');

# what the Dockerfile copies is what the tree has
my $dockerfile = slurp_file("$top/image/Dockerfile");
is(join(' ', grep { !-e "$tree/$_" } $dockerfile =~ m{--from=build /tree/(\S*)}g), '',
	'the Dockerfile copies folders of the tree');
is(join(' ', grep { !-e "$top/$_" } $dockerfile =~ m{^COPY (image/\S+)}mg), '', 'and files of the checkout');

my ($major) = qx($config --version) =~ /(\d+)/;
if ($major < 18)
{
	(undef, $error) = make('install', 'prefix=/nowhere');
	like($error, qr/needs PostgreSQL 18 .*use DESTDIR=/,
		'make install prefix=... is refused, with what to use instead');
	done_testing();
	exit;
}

# a server whose own folders lack the extension would be best; this one takes the image's files first
my $node = PostgreSQL::Test::Cluster->new('image');
$node->init;
$node->append_conf('postgresql.conf',
	"extension_control_path = '$tree/share:\$system'\ndynamic_library_path = '$tree/lib:\$libdir'");
$node->start;
my $comment = 'mounted from an image';
append_to_file("$tree/share/extension/fillfactor_advisor.control", "comment = '$comment'\n");
is($node->safe_psql('postgres', q(SELECT comment FROM pg_available_extensions WHERE name = 'fillfactor_advisor')),
	$comment, 'the server finds the control file of the image');
my $maps = $node->safe_psql('postgres', q(
	SET client_min_messages = error;
	CREATE EXTENSION fillfactor_advisor;
	CALL ff_collect();
	SELECT pg_read_file('/proc/' || pg_backend_pid() || '/maps', 0, 10000000)));
like($maps, qr{\Q$tree\E/lib/fillfactor_advisor\.so}, 'and loads the library of the image');
cmp_ok($node->safe_psql('postgres', q(CREATE TABLE t (a int); CALL ff_collect(); SELECT count(*) FROM ff_advise())),
	'>', 0, 'it gives advice');

done_testing();
