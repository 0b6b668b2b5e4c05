# The images, without Docker. The files of the extension image (make image-tree) are all that a server needs that mounts
# them beside its own: from PostgreSQL 18 on it finds the extension and its library there; before 18, make says what to
# use instead. A server to which the Dockerfile's files are copied has all that the server image promises, once it has
# run initdb.sql. The examples for CloudNativePG name what there is.
use strict;
use warnings;
use CPAN::Meta::YAML;
use File::Path qw(make_path);
use FindBin;
use JSON::PP;
use lib "$FindBin::Bin/../perl";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ServerCopy qw(copy_server);
use Test::More;

my $top = "$FindBin::Bin/../..";
my $tree = PostgreSQL::Test::Utils::tempdir_short() . '/image';
chomp(my $config = qx(pg_config --bindir));
$config .= '/pg_config';
my ($major) = qx($config --version) =~ /(\d+)/;
# the server of the server image, which gets nothing of the extension but what the Dockerfile copies
if ($major >= 18)
{
	$config = copy_server($config);
	foreach my $what (qw(--pkglibdir --sharedir --bindir))
	{
		chomp(my $folder = qx($config $what));
		system("find '$folder' '(' -name ff_rehearse -o -name 'fillfactor_advisor*' ')' -prune -exec rm -r {} +") == 0
			or die "could not clean $folder";
	}
}
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
is(join(' ', grep { !$made{$_} } 'bin/ff_rehearse', 'share/fillfactor_advisor/observe.sql',
	'share/fillfactor_advisor/check.sql', 'share/fillfactor_advisor/monitoring/grafana.json'), '',
	'and what a server of its own needs besides');
is(join(' ', grep { !m{^(?:bin|lib|share/extension|share/fillfactor_advisor|licenses)/} } @made), '',
	'and nothing elsewhere');
(undef, $error) = make('image-tree', "DIR=$tree");
like($error, qr/already exists/, 'it does not write into a folder that exists');

# what the Dockerfile copies, by target: folder of the tree, folder of the image
my $dockerfile = slurp_file("$top/image/Dockerfile");
my %stage = map { /^\S+ AS (\w+)/ ? ($1 => $_) : () } split /^FROM /m, $dockerfile;
my %copied = map { $_ => { $stage{$_} =~ m{^COPY --from=build /tree/(\S+) (\S+)$}mg } } keys %stage;
is(join(' ', sort map { @$_ } [ %{ $copied{extension} } ]),
	'/lib/ /licenses/ /share/extension/ lib/ licenses/ share/extension/',
	'the extension image has the folders that operators expect, and no others');
is(join(' ', grep { my $file = $_; !grep { $file =~ /^\Q$_\E/ } keys %{ $copied{server} } } @made),
	'licenses/fillfactor_advisor', 'the server image has all files but the license');
is(join(' ', grep { !-e "$top/$_" } $dockerfile =~ m{^COPY (image/\S+)}mg), '', 'files of the checkout are there');
if ($major < 18)
{
	(undef, $error) = make('install', 'prefix=/nowhere');
	like($error, qr/needs PostgreSQL 18 .*use DESTDIR=/,
		'make install prefix=... is refused, with what to use instead');
	done_testing();
	exit;
}

# the extension image, mounted beside a server that has the extension, too: this one takes the image's files first
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
$node->stop;

# The server image: its files, its settings, and what it runs once.
foreach my $from (sort keys %{ $copied{server} })
{
	my $to = $copied{server}{$from} =~ s/\$\{PG_MAJOR\}/$major/gr;
	my ($what, $below) = $to =~ m{^/usr/(lib/postgresql/$major/bin|lib/postgresql/$major/lib|share/postgresql/$major)/(.*)$}
		or die "unknown folder $to";
	my $option = $what =~ /bin$/ ? '--bindir' : $what =~ /lib$/ ? '--pkglibdir' : '--sharedir';
	chomp(my $folder = qx($config $option));
	make_path("$folder/$below");
	system("cp -r '$tree/$from'. '$folder/$below'") == 0 or die "could not copy $from";
}
my ($command) = $stage{server} =~ /^CMD ((?:.*\\\n)*.*)/m;
my ($program, @settings) = grep { $_ ne '-c' } @{ decode_json($command =~ s/\\\n//gr) };
is($program, 'postgres', 'the image starts PostgreSQL');
chomp(my $libraries = qx($config --pkglibdir));
my $initdb = slurp_file("$top/image/initdb.sql");
my $has_cron = -e "$libraries/pg_cron.so";
unless ($has_cron)
{
	diag "NOT TESTED: pg_cron in the server image (none for PostgreSQL $major here)";
	@settings = map { s/,pg_cron//r } grep { !/^cron/ } @settings;
	$initdb =~ s/^.*cron.*\n//mg;
}
my $file = PostgreSQL::Test::Utils::tempdir_short() . '/initdb.sql';
append_to_file($file, $initdb);
$node = PostgreSQL::Test::Cluster->new('server', install_path => $config =~ s{/bin/pg_config$}{}r);
$node->init;
$node->append_conf('postgresql.conf', join '', map { s/=(.*)/ = '$1'/r . "\n" } @settings);
$node->start;
# as the entry point of the image runs it
sub initialize
{
	return run_command([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($_[0]), '-f', $file ]);
}
(undef, $error) = initialize('postgres');
is($error, '', 'initdb.sql succeeds');
my $extensions = q(SELECT string_agg(extname, ' ' ORDER BY extname) FROM pg_extension
	WHERE extname NOT IN ('plpgsql', 'pg_cron'));
my $all = 'dblink fillfactor_advisor fillfactor_advisor_hub pg_stat_statements';
is($node->safe_psql('postgres', $extensions), $all, 'the database has what the image promises');
is($node->safe_psql('postgres', q(SELECT count(*) FROM ff_fleet)), 0, 'it is a hub');
is($node->safe_psql('postgres', q(CALL ff_collect(); SELECT count(*) FROM ff_internal.statement_snapshot
	WHERE reason IS NULL)), 1, 'it collects, statements too');
SKIP:
{
	skip 'no pg_cron here', 5 unless $has_cron;
	like($node->safe_psql('postgres', 'SELECT ff_schedule()'), qr/^job \d+ runs /, 'it can be scheduled');
	like($node->safe_psql('postgres', 'SELECT ff_fleet_schedule()'), qr/^job \d+ runs /m, 'the hub, too');
	like($node->safe_psql('postgres', 'SELECT ff_schedule(all_databases => true)'), qr/^1 database; job \d+ runs /,
		'all databases, too');
	# POSTGRES_DB is another database than the one of pg_cron
	$node->safe_psql('postgres', 'DROP EXTENSION pg_cron; CREATE DATABASE shop');
	(undef, $error) = initialize('shop');
	is($error, '', 'initdb.sql succeeds in another database');
	is($node->safe_psql('shop', $extensions) . $node->safe_psql('postgres',
		q(SELECT ' ' || extname FROM pg_extension WHERE extname = 'pg_cron')), "$all pg_cron",
		'with pg_cron where it belongs');
}
chomp(my ($share, $programs) = map { qx($config $_) } '--sharedir', '--bindir');
my ($observed) = run_command([ 'psql', '-XAtf', "$share/fillfactor_advisor/observe.sql", '-d',
	$node->connstr('postgres') ]);
like($observed, qr/^\{/, 'observe.sql is where the documentation says');
my ($usage) = run_command([ "$programs/ff_rehearse", '--help' ]);
like($usage, qr/^usage: ff_rehearse/m, 'ff_rehearse runs');
my ($data) = slurp_file("$programs/ff_rehearse") =~ /^share='(.*)'$/m;
ok(-e "$data/check.sql", 'and has its files');
$node->stop;

# The examples for CloudNativePG.
my ($cluster, $database) = map { CPAN::Meta::YAML->read_string(slurp_file("$top/image/$_"))->[0] }
	'cluster.yaml', 'database.yaml';
is($database->{spec}{cluster}{name}, $cluster->{metadata}{name}, 'the database is of that cluster');
is(join(' ', grep { !-e "$share/extension/$_.control" } map { $_->{name} } @{ $database->{spec}{extensions} }), '',
	'its extensions exist');
is(scalar(grep { $_->{name} eq 'fillfactor_advisor' } @{ $database->{spec}{extensions} }), 1, 'and this is one of them');
my ($tag) = $dockerfile =~ /--target extension -t (\S+)/;
is($cluster->{spec}{postgresql}{extensions}[0]{image}{reference}, $tag,
	'the cluster mounts the image that the Dockerfile makes');
is(join(' ', grep { !-e "$libraries/$_.so" } @{ $cluster->{spec}{postgresql}{shared_preload_libraries} }), '',
	'the cluster preloads what there is');
done_testing();
