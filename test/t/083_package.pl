# The packages build, and hold what they should: the archive for PGXN (make
# dist) with its META.json, the extension from that archive alone, and, once,
# the Debian package.
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

# Run a command in a folder; what it said is shown where it fails.
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
	my $why = ($ENV{FFA_TOOLS} // 'yes') ne 'yes' ? $ENV{FFA_TOOLS} : 'no git, or no unzip; make test installs them, as root with apt';
	diag "NOT TESTED: the packages: $why";
	plan skip_all => $why;
}

# make dist packs what is committed: here, all that would be.
delete @ENV{ grep { /^(?:GIT_|MAKE|MFLAGS)/ } keys %ENV };
@ENV{qw(HOME GIT_CONFIG_NOSYSTEM GIT_DIR GIT_WORK_TREE)} = ("$tmp", 1, "$tmp/repository", $top);
@ENV{qw(GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL)} = ('nobody', 'nobody@localhost') x 2;
runs($top, [ 'git', 'init', '-q' ], 'a repository');
runs($top, [ 'git', 'add', '-A', '.' ], 'all files');
runs($top, [ 'git', 'commit', '-q', '-m', 'all' ], 'committed');
runs($top, [ 'make', '-s', "PG_CONFIG=$pg_config", 'dist' ], 'make dist');
my $zip = "fillfactor_advisor-$version.zip";
ok(-s "$top/$zip", "$zip is there") or BAIL_OUT('no archive');
rename "$top/$zip", "$tmp/$zip" or system('mv', "$top/$zip", "$tmp/$zip");
my $first = sha("$tmp/$zip");
{
	# as somebody else would, elsewhere and later
	local @ENV{qw(TZ GIT_AUTHOR_DATE)} = ('Asia/Tokyo', '2001-01-01T00:00:00Z');
	my $mask = umask 077;
	utime 1, 1, "$top/README.md";
	runs($top, [ 'make', '-s', "PG_CONFIG=$pg_config", 'dist' ], 'make dist again');
	umask $mask;
}
is(sha("$top/$zip"), $first, 'the same bytes');
unlink "$top/$zip";
runs("$tmp", [ 'unzip', '-q', $zip ], 'it unpacks');
chomp(my @files = qx(cd $tmp && unzip -Z1 $zip));
delete @ENV{qw(GIT_DIR GIT_WORK_TREE)};

my $dist = "$tmp/fillfactor_advisor-$version";
is(join(' ', grep { !m{^fillfactor_advisor-\Q$version\E/} } @files), '', 'all of it in one folder, named as PGXN wants it');
my %has = map { s{^[^/]*/}{}r => 1 } @files;
is(join(' ', grep { !$has{$_} } qw(META.json Makefile LICENSE README.md CHANGELOG.md doc/reference.md doc/how-it-decides.md fillfactor_advisor.control src/module.c sql/00_head.sql
		sql/monitoring/grafana.json sql/monitoring/pgwatch.yaml sql/monitoring/postgres_exporter.yaml test/run test/sql/sample.sql expected/sample.out debian/rules)), '', 'what it needs is in there');
is(join(' ', grep { m{^\.|\.(?:o|so|bc|zip)$|^fillfactor_advisor--|^(?:results|tmp_check|log)/} } keys %has), '', 'nothing else is in there: no repository files, nothing built');
ok(-x "$dist/test/run", 'programs can be run');

# META.json, by the PGXN Meta Spec 1.0.0: what is required, and the form of it.
my $meta = decode_json(slurp_file("$dist/META.json"));
is(join(' ', grep { !defined $meta->{$_} } qw(name version abstract maintainer license provides meta-spec)), '', 'META.json: what is required');
like($meta->{name}, qr{^[^\s/\\\x00-\x1f]{2,}$}, 'META.json: name');
my $semantic = qr/^(?:0|[1-9]\d*)(?:\.(?:0|[1-9]\d*)){2}(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/;
is($meta->{version}, $version, 'META.json: the version of the control file');
like($_, $semantic, "META.json: $_ is a semantic version") foreach $meta->{version}, $meta->{'meta-spec'}{version};
is($meta->{'meta-spec'}{version}, '1.0.0', 'META.json: the specification');
like($meta->{license}, qr/^(?:agpl_3|apache_[12]_[01]|artistic_[12]|bsd|freebsd|gfdl_1_[23]|gpl_[123]|lgpl_[23]_[01]|mit|mozilla_1_[01]|openssl|perl_5|postgresql|qpl_1_0|ssleay|sun|zlib|open_source|restricted|unrestricted|unknown)$/,
	'META.json: a license that PGXN knows');
ok(!ref $meta->{$_} && length $meta->{$_}, "META.json: $_ is text") foreach qw(abstract maintainer);
like($meta->{release_status} // 'stable', qr/^(?:stable|testing|unstable)$/, 'META.json: release status');
is(join(' ', grep { ref || !length || length > 255 || m{[/\\\x00-\x1f]} } @{ $meta->{tags} // [] }), '', 'META.json: tags');
foreach my $name (keys %{ $meta->{provides} })
{
	my $provided = $meta->{provides}{$name};
	is($provided->{version}, $version, "META.json: provides $name, version");
	ok($has{ $provided->{file} }, "META.json: provides $name, file") if ok($provided->{file}, "META.json: provides $name, a file");
	ok(!$provided->{docfile} || $has{ $provided->{docfile} }, "META.json: provides $name, docfile");
}
foreach my $phase (sort keys %{ $meta->{prereqs} // {} })
{
	like($phase, qr/^(?:configure|build|test|runtime|develop)$/, "META.json: prereqs, $phase");
	foreach my $kind (sort keys %{ $meta->{prereqs}{$phase} })
	{
		like($kind, qr/^(?:requires|recommends|suggests|conflicts)$/, "META.json: prereqs, $phase, $kind");
		is(join(' ', grep { !/^(?:0|(?:[<>=!]=? *)?\d+\.\d+\.\d+.*)$/ } values %{ $meta->{prereqs}{$phase}{$kind} }), '', "META.json: prereqs, $phase, $kind, versions");
	}
}

# The extension from the archive, as the tests know it.
my @make = ('make', '-s', "PG_CONFIG=$pg_config", 'with_llvm=no');
runs($dist, [ @make, 'all' ], 'the archive builds');
runs($dist, [ @make, 'install', "DESTDIR=$tmp/installed" ], 'the archive installs');
chomp(my $shared = qx($pg_config --sharedir));
my $script = "$shared/extension/fillfactor_advisor--$version.sql";
ok(-s "$tmp/installed$script" && slurp_file("$tmp/installed$script") eq slurp_file($script), 'its script is the one that is tested');
chomp(my $libraries = qx($pg_config --pkglibdir));
ok(-s "$tmp/installed$libraries/fillfactor_advisor.so", 'the library is installed');
my @built = map { "$dist/$_" } 'fillfactor_advisor.so', "fillfactor_advisor--$version.sql";
my @bytes = map { sha($_) } @built;
runs($dist, [ @make, 'clean' ], 'cleaned');
is(join(' ', grep { -e } @built), '', 'nothing built is left');
runs($dist, [ @make, 'all' ], 'built once more');
is(join(' ', map { sha($_) } @built), join(' ', @bytes), 'to the same bytes');
runs($dist, [ @make, 'clean' ], 'cleaned again');

# The Debian package, of what is in the archive.
SKIP:
{
	my $tools = have('dpkg-buildpackage') && have('dh') && have('pg_buildext') && -e '/usr/share/perl5/Debian/Debhelper/Sequence/pgxs_loop.pm';
	unless ($tools && ($ENV{FFA_TOOLS} // 'yes') eq 'yes')
	{
		my $why = $tools || ($ENV{FFA_TOOLS} // 'yes') ne 'yes' ? $ENV{FFA_TOOLS} : 'no debhelper, or no postgresql-server-dev-all; make test installs them, as root with apt';
		diag "NOT TESTED: the Debian package: $why";
		skip $why, 10;
	}
	# for a server of the packages, not that of the tests
	local $ENV{PATH} = join ':', grep { $_ ne ($pg_config =~ s{/[^/]*$}{}r) } split /:/, $ENV{PATH};
	local $ENV{DEB_BUILD_OPTIONS} = 'nocheck';
	my $said = runs($dist, [ 'dpkg-buildpackage', '-b', '-us', '-uc' ], 'the Debian package builds') or skip 'no Debian package', 9;
	# those of make about the clock say nothing of the package
	unlike($said =~ s/^.*(?:Clock skew|modification time .* in the future).*\n//gmr, qr/warning:/i, 'without a warning');
	my @packages = grep { !/-dbgsym_/ } glob "$tmp/*.deb";
	cmp_ok(scalar @packages, '>', 0, 'there is one');
	foreach my $package (@packages)
	{
		my ($name, $major) = $package =~ m{/(postgresql-(\d+)-fillfactor-advisor)_\Q$version\E-\d+_[^/]*\.deb$};
		ok($major, 'named for its PostgreSQL and version: ' . $package =~ s{.*/}{}r) or next;
		make_path("$tmp/$name");
		runs("$tmp", [ 'dpkg-deb', '-x', $package, "$tmp/$name" ], "$name: unpacks");
		my ($library, $share, $doc) = ("usr/lib/postgresql/$major/lib", "usr/share/postgresql/$major/extension", "usr/share/doc/$name");
		is(join(' ', grep { !-s "$tmp/$name/$_" } "$library/fillfactor_advisor.so", "$share/fillfactor_advisor.control", "$share/fillfactor_advisor--$version.sql",
				"$doc/README.md", "$doc/doc/reference.md", "$doc/doc/how-it-decides.md", "$doc/changelog.gz", "$doc/copyright", map { "$doc/monitoring/$_" } qw(grafana.json pgwatch.yaml postgres_exporter.yaml)),
			'', "$name: all of it is there");
		is(slurp_file("$tmp/$name/$share/fillfactor_advisor--$version.sql"), slurp_file($script), "$name: the script that is tested");
		like(slurp_file("$tmp/$name/$share/fillfactor_advisor.control"), qr/^default_version *= *'\Q$version\E'/m, "$name: its version");
		like(qx(dpkg-deb -f $package Depends), qr/\bpostgresql-$major\b/, "$name: needs its PostgreSQL");
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
