# The packages build and have the right contents: the archive for PGXN (make dist) with its META.json, the extension
# built from that archive alone, and the Debian package.
use strict;
use warnings;
use Cwd;
use Digest::SHA;
use File::Path qw(make_path);
use File::Temp;
use FindBin;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $top = Cwd::abs_path("$FindBin::Bin/../..");
my $tmp = File::Temp->newdir('ffa-package.XXXXXX', DIR => '/tmp');
my ($version) = slurp_file("$top/fillfactor_advisor.control") =~ /^default_version *= *'(.*)'/m;
chomp(my $pg_config = qx(pg_config --bindir));
$pg_config .= '/pg_config';

sub have { my ($program) = @_; return scalar grep { -x "$_/$program" } split /:/, $ENV{PATH}; }

sub sha { return Digest::SHA->new(256)->addfile($_[0], 'b')->hexdigest; }

# Runs a command in a folder; shows its output if it fails.
sub runs
{
	my ($dir, $command, $what) = @_;
	my ($said, $here) = ('', Cwd::getcwd());
	chdir $dir or die "$dir: $!";
	my $ok = IPC::Run::run($command, '<', \undef, '>&', \$said);
	chdir $here;
	ok($ok, $what) or diag substr($said, -4000);
	return $ok ? $said : undef;
}

unless (have('git') && have('unzip'))
{
	my $why = ($ENV{FFA_TOOLS} // 'yes') ne 'yes'
		? $ENV{FFA_TOOLS}
		: 'no git, or no unzip; make test installs them, as root with apt';
	diag "NOT TESTED: the packages: $why";
	plan skip_all => $why;
}

# make dist packs committed files, so this commits all files to a repository of its own.
delete @ENV{ grep { /^(?:GIT_|MAKE|MFLAGS)/ } keys %ENV };
@ENV{qw(HOME GIT_CONFIG_NOSYSTEM GIT_DIR GIT_WORK_TREE)} = ("$tmp", 1, "$tmp/repository", $top);
@ENV{qw(GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL)} = ('nobody', 'nobody@localhost') x 2;
runs($top, [ 'git', 'init', '-q' ], 'git makes a repository');
runs($top, [ 'git', 'add', '-A', '.' ], 'all files are added');
runs($top, [ 'git', 'commit', '-q', '-m', 'all' ], 'all files are committed');
runs($top, [ 'make', '-s', "PG_CONFIG=$pg_config", 'dist' ], 'make dist succeeds');
my $zip = "fillfactor_advisor-$version.zip";
ok(-s "$top/$zip", "make dist writes $zip") or BAIL_OUT('no archive');
rename "$top/$zip", "$tmp/$zip" or system('mv', "$top/$zip", "$tmp/$zip");
my $first = sha("$tmp/$zip");
{
	# as another user would, in another time zone and at another time
	local @ENV{qw(TZ GIT_AUTHOR_DATE)} = ('Asia/Tokyo', '2001-01-01T00:00:00Z');
	my $mask = umask 077;
	utime 1, 1, "$top/README.md";
	runs($top, [ 'make', '-s', "PG_CONFIG=$pg_config", 'dist' ], 'make dist succeeds again');
	umask $mask;
}
is(sha("$top/$zip"), $first, 'the second archive has the same bytes');
unlink "$top/$zip";
runs("$tmp", [ 'unzip', '-q', $zip ], 'the archive unpacks');
chomp(my @files = qx(cd $tmp && unzip -Z1 $zip));
delete @ENV{qw(GIT_DIR GIT_WORK_TREE)};

my $dist = "$tmp/fillfactor_advisor-$version";
is(join(' ', grep { !m{^fillfactor_advisor-\Q$version\E/} } @files), '',
	'all files are in one folder with the name that PGXN requires');
my %has = map { s{^[^/]*/}{}r => 1 } @files;
my @needed = qw(META.json Makefile LICENSE README.md CHANGELOG.md doc/reference.md doc/how-it-decides.md doc/fleet.md
	fillfactor_advisor.control src/base/settings.c sql/base/head.sql hub/fillfactor_advisor_hub.control hub/sql/head.sql
	hub/test/fleet.sql rehearsal/ff_rehearse rehearsal/check.sql monitoring/grafana.json monitoring/pgwatch.yaml
	monitoring/postgres_exporter.yaml test/run test/sql/sample.sql expected/sample.out debian/rules);
is(join(' ', grep { !$has{$_} } @needed), '', 'the archive has the files that it needs');
is(join(' ', grep { m{^\.|\.(?:o|so|bc|zip)$|^fillfactor_advisor--|^(?:results|tmp_check|log)/} } keys %has), '',
	'the archive has no repository files and nothing built');
ok(-x "$dist/rehearsal/ff_rehearse", 'rehearsal/ff_rehearse in the archive is executable');
ok(-x "$dist/test/run", 'test/run in the archive is executable');

# META.json has the keys and forms that the PGXN Meta Spec 1.0.0 requires.
my $meta = decode_json(slurp_file("$dist/META.json"));
is(join(' ', grep { !defined $meta->{$_} } qw(name version abstract maintainer license provides meta-spec)), '',
	'META.json: all required keys are there');
like($meta->{name}, qr{^[^\s/\\\x00-\x1f]{2,}$}, 'META.json: the name is valid');
my $semantic = qr/^(?:0|[1-9]\d*)(?:\.(?:0|[1-9]\d*)){2}(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/;
is($meta->{version}, $version, 'META.json: the version of the control file');
like($_, $semantic, "META.json: $_ is a semantic version") foreach $meta->{version}, $meta->{'meta-spec'}{version};
is($meta->{'meta-spec'}{version}, '1.0.0', 'META.json: the version of the specification is 1.0.0');
my $licenses = join '|', qw(agpl_3 apache_[12]_[01] artistic_[12] bsd freebsd gfdl_1_[23] gpl_[123] lgpl_[23]_[01]
	mit mozilla_1_[01] openssl perl_5 postgresql qpl_1_0 ssleay sun zlib open_source restricted unrestricted unknown);
like($meta->{license}, qr/^(?:$licenses)$/, 'META.json: PGXN knows the license');
ok(!ref $meta->{$_} && length $meta->{$_}, "META.json: $_ is text") foreach qw(abstract maintainer);
like($meta->{release_status} // 'stable', qr/^(?:stable|testing|unstable)$/, 'META.json: the release status is valid');
is(join(' ', grep { ref || !length || length > 255 || m{[/\\\x00-\x1f]} } @{ $meta->{tags} // [] }), '',
	'META.json: the tags are valid');
foreach my $name (keys %{ $meta->{provides} })
{
	my $provided = $meta->{provides}{$name};
	is($provided->{version}, $version, "META.json: $name is provided in this version");
	ok($has{ $provided->{file} }, "META.json: the file of $name is in the archive")
		if ok($provided->{file}, "META.json: $name has a file");
	ok(!$provided->{docfile} || $has{ $provided->{docfile} }, "META.json: the docfile of $name is in the archive");
}
foreach my $phase (sort keys %{ $meta->{prereqs} // {} })
{
	like($phase, qr/^(?:configure|build|test|runtime|develop)$/, "META.json: the phase $phase of prereqs is valid");
	foreach my $kind (sort keys %{ $meta->{prereqs}{$phase} })
	{
		like($kind, qr/^(?:requires|recommends|suggests|conflicts)$/,
			"META.json: the relation $kind of prereqs in $phase is valid");
		is(join(' ', grep { !/^(?:0|(?:[<>=!]=? *)?\d+\.\d+\.\d+.*)$/ } values %{ $meta->{prereqs}{$phase}{$kind} }),
			'', "META.json: the versions of prereqs in $phase, $kind are valid");
	}
}

# debian/watch finds the archive under the address that PGXN gives it (uscan takes the whole path, or nothing)
my ($page, $pattern) = slurp_file("$dist/debian/watch") =~ m{^(https://pgxn\.org/\S+) \\\n (\S+)$}m;
is($page, "https://pgxn.org/dist/$meta->{name}/", 'debian/watch reads the page of the distribution');
my ($watched) = "/dist/$meta->{name}/$version/$zip" =~ m{^$pattern$};
is($watched, $version, 'and its pattern finds the archive, and its version');
unlike("/dist/$meta->{name}/$version/README.html", qr{^$pattern$}, 'but nothing else there');

# The archive builds the extension that is tested, here quickly.
my @make = ('make', '-s', "PG_CONFIG=$pg_config", 'with_llvm=no', 'COPT=-O0');
runs($dist, [ @make, 'all' ], 'the archive builds');
runs($dist, [ @make, 'install', "DESTDIR=$tmp/installed" ], 'the archive installs');
chomp(my $shared = qx($pg_config --sharedir));
my @scripts = map { "$_--$version.sql" } qw(fillfactor_advisor fillfactor_advisor_hub);
my @extension_files = (@scripts, 'fillfactor_advisor.control', 'fillfactor_advisor_hub.control');

# Names of files of a folder of extensions that the tested server does not have with the same contents.
sub differing
{
	my ($folder) = @_;
	my $tested = "$shared/extension";
	return join ' ', grep { !-s "$folder/$_" || slurp_file("$folder/$_") ne slurp_file("$tested/$_") } @extension_files;
}
is(differing("$tmp/installed$shared/extension"), '',
	'the archive installs the scripts and control files that are tested');
chomp(my $libraries = qx($pg_config --pkglibdir));
ok(-s "$tmp/installed$libraries/fillfactor_advisor.so", 'the library is installed');
my @built = map { "$dist/$_" } 'fillfactor_advisor.so', @scripts;
my @bytes = map { sha($_) } @built;
runs($dist, [ @make, 'clean' ], 'make clean succeeds');
is(join(' ', grep { -e } @built), '', 'make clean leaves nothing built');
runs($dist, [ @make, 'all' ], 'the archive builds again');
is(join(' ', map { sha($_) } @built), join(' ', @bytes), 'the second build has the same bytes');
runs($dist, [ @make, 'clean' ], 'make clean succeeds again');

# The Debian package is built from the archive.
SKIP:
{
	my $tools = have('dpkg-buildpackage')
		&& have('dh')
		&& have('pg_buildext')
		&& -e '/usr/share/perl5/Debian/Debhelper/Sequence/pgxs_loop.pm';
	unless ($tools && ($ENV{FFA_TOOLS} // 'yes') eq 'yes')
	{
		my $why = $tools
			|| ($ENV{FFA_TOOLS} // 'yes') ne 'yes'
			? $ENV{FFA_TOOLS}
			: 'no debhelper, or no postgresql-server-dev-all; make test installs them, as root with apt';
		diag "NOT TESTED: the Debian package: $why";
		skip $why, 9;
	}
	# for the server of the Debian packages, not the one under test
	local $ENV{PATH} = join ':', grep { $_ ne ($pg_config =~ s{/[^/]*$}{}r) } split /:/, $ENV{PATH};
	local $ENV{DEB_BUILD_OPTIONS} = 'nocheck';
	my $said = runs($dist, [ 'dpkg-buildpackage', '-b', '-us', '-uc' ], 'the Debian package builds')
		or skip 'no Debian package', 8;
	# make's warnings about the clock do not concern the package
	unlike($said =~ s/^.*(?:Clock skew|modification time .* in the future).*\n//gmr, qr/warning:/i,
		'the Debian package builds without a warning');
	my @packages = grep { !/-dbgsym_/ } glob "$tmp/*.deb";
	cmp_ok(scalar @packages, '>', 0, 'there is a Debian package');
	foreach my $package (@packages)
	{
		my ($name, $major) = $package =~ m{/(postgresql-(\d+)-fillfactor-advisor)_\Q$version\E-\d+_[^/]*\.deb$};
		ok($major, 'named for its PostgreSQL and version: ' . $package =~ s{.*/}{}r) or next;
		make_path("$tmp/$name");
		runs("$tmp", [ 'dpkg-deb', '-x', $package, "$tmp/$name" ], "$name: the package unpacks");
		my ($library, $share, $doc) = ("usr/lib/postgresql/$major/lib", "usr/share/postgresql/$major/extension",
			"usr/share/doc/$name");
		my @contents = ("$library/fillfactor_advisor.so", "usr/lib/postgresql/$major/bin/ff_rehearse",
			(map { "usr/share/postgresql/$major/fillfactor_advisor/$_.sql" } qw(check setup pgbench workload measure
				judge head answer observe)),
			(map { "$doc/$_" } qw(README.md doc/reference.md doc/how-it-decides.md doc/fleet.md
				doc/managed.md changelog.gz copyright)),
			(map { "$doc/monitoring/$_" } qw(grafana.json pgwatch.yaml postgres_exporter.yaml)));
		is(join(' ', grep { !-s "$tmp/$name/$_" } @contents), '', "$name: all files are there");
		is(differing("$tmp/$name/$share"), '', "$name: it has the scripts and control files that are tested");
		like(qx(dpkg-deb -f $package Depends), qr/\bpostgresql-$major\b/, "$name: it depends on its PostgreSQL");
		my ($running) = qx($pg_config --version) =~ /^PostgreSQL (\d+)/;
		next unless $running == $major;
		my $node = PostgreSQL::Test::Cluster->new('package');
		$node->init;
		$node->start;
		is($node->psql('postgres', "LOAD '$tmp/$name/$library/fillfactor_advisor.so'"), 0, "$name: its library loads");
		$node->stop;
	}
}

done_testing();
