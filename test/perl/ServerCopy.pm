# Copies of whole servers, for tests that need another build of the extension
# beside the one under test.
package ServerCopy;
use strict;
use warnings;
use Exporter 'import';
use File::Spec;
use PostgreSQL::Test::Utils;
our @EXPORT_OK = qw(copy_server build_extension take_extension new_folder);

# an absolute path, because the copies are made from the root
sub new_folder { return File::Spec->rel2abs(PostgreSQL::Test::Utils::tempdir); }

sub ask { my ($config, $what) = @_; chomp(my $answer = `$config $what`); return $answer; }

# copy_server(CONFIG): copy the server of that pg_config; returns the pg_config of the copy.
sub copy_server
{
	my ($config) = @_;
	my $tree = new_folder();
	my @folders = map { ask($config, "--$_") } qw(bindir libdir pkglibdir sharedir includedir-server pgxs);
	# a system library folder is not the server's own
	$folders[1] = '' if $folders[1] =~ m{/usr/lib(/[^/]*-linux-[^/]*)?$};
	$folders[5] =~ s{/src/makefiles/pgxs.mk$}{};
	foreach my $from (@folders)
	{
		next if !-d $from || -e "$tree$from";
		system("cd / && cp -a --parents '.$from' '$tree'") == 0 or die "could not copy $from";
	}
	return "$tree$folders[0]/pg_config";
}

# build_extension(CONFIG, SOURCE, ARGUMENT...): make and install the extension in
# the folder SOURCE into that server, with these arguments of make; not optimized, which halves the time.
sub build_extension
{
	my ($config, $source, @arguments) = @_;
	my $log = new_folder() . '/log';
	my $flags = 'with_llvm=no COPT="-std=gnu17 -O0 -g0"';
	system("make -s -C '$source' PG_CONFIG='$config' $flags @arguments install >'$log' 2>&1") == 0
	  or die PostgreSQL::Test::Utils::slurp_file($log);
	return;
}

# take_extension(FROM, INTO): copy the extension from the server of one pg_config to another, as a package would:
# sessions keep the library that they have loaded.
sub take_extension
{
	my ($from, $into) = @_;
	foreach my $what ([ '--pkglibdir', '' ], [ '--sharedir', '/extension' ])
	{
		my ($option, $below) = @$what;
		my ($source, $target) = map { ask($_, $option) . $below } $from, $into;
		foreach my $file (glob("'$source/fillfactor_advisor'[.-]*"))
		{
			system("cp '$file' '$target/.new' && mv '$target/.new' '$target'/\$(basename '$file')") == 0
				or die "could not copy $file";
		}
	}
	return;
}

1;
