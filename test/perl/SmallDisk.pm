# A file system of some megabytes that only one server sees, for tests of a full disk.
package SmallDisk;
use strict;
use warnings;
use Exporter 'import';
use File::Spec;
use PostgreSQL::Test::Utils;
our @EXPORT_OK = qw(small_disk);

# small_disk(NODE, SIZE): restart the node with such a file system; SIZE is as for mount. Returns its folder, which the
# server's user owns, or undef if there are no user namespaces.
sub small_disk
{
	my ($node, $size) = @_;
	my $space = File::Spec->rel2abs(PostgreSQL::Test::Utils::tempdir);
	my @unshare = qw(unshare --user --mount --map-current-user --keep-caps);
	return undef if system("@unshare mount -t tmpfs -o size=$size tmpfs $space >/dev/null 2>&1") != 0;
	$node->stop;
	system(@unshare, 'sh', '-c',
		"mount -t tmpfs -o size=$size,mode=0700 tmpfs $space && exec pg_ctl -s -w -D '"
			. $node->data_dir
			. "' -l '"
			. $node->logfile
			. "' start") == 0
	  or die 'could not start the server in a namespace';
	$node->_update_pid(1);
	return $space;
}

1;
