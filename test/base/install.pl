# The library loads, also at server start, and survives a restart of the server.
# If a schema named ff_internal already exists, CREATE EXTENSION fails cleanly and creates nothing.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More tests => 16;

my $node = PostgreSQL::Test::Cluster->new('install');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'fillfactor_advisor'");
$node->start;
sub value { return $node->safe_psql('postgres', $_[0]); }
# the SQLSTATE with which this statement fails when that role runs it; empty if it succeeds
sub refused
{
	my ($sql, $role) = @_;
	my ($status, $out, $err) = $node->psql('postgres', "\\set VERBOSITY sqlstate\nSET ROLE $role;\n$sql");
	return $err =~ /ERROR:\s+(\w{5})/ ? $1 : $err;
}

# everything in the database except system objects
my $everything = q(
	SELECT count(*) || ' ' || md5(string_agg(object, ' ' ORDER BY object)) FROM (
	SELECT format('%s %s', classid::regclass, objid) AS object FROM pg_depend WHERE objid >= 16384
	UNION SELECT 'schema ' || nspname || coalesce(obj_description(oid, 'pg_namespace'), '') FROM pg_namespace) o);
value('CREATE ROLE builder SUPERUSER; CREATE ROLE plain; ALTER DATABASE postgres OWNER TO plain');
foreach my $made_by ('CREATE SCHEMA ff_internal', 'CREATE SCHEMA ff_internal AUTHORIZATION plain',
	'CREATE SCHEMA ff_internal CREATE TABLE relation (i int)')
{
	value($made_by);
	my $before = value($everything);
	is(refused('CREATE EXTENSION fillfactor_advisor', 'builder'), '42P06', "$made_by: the extension is refused");
	is(value($everything), $before, "$made_by: the refused extension changes nothing");
	value('DROP SCHEMA ff_internal CASCADE');
}
is(refused('CREATE EXTENSION fillfactor_advisor', 'plain'), '42501',
	'a database owner who is not superuser cannot create the extension');
is(value(q(SELECT count(*) FROM pg_namespace WHERE nspname = 'ff_internal')), 0,
	'the failed CREATE EXTENSION leaves no schema');
value('CREATE ROLE ff_internal SUPERUSER');
is(refused('CREATE EXTENSION fillfactor_advisor', 'ff_internal'), '',
	'a superuser named ff_internal can create the extension');
is(value(q(SELECT nspowner::regrole FROM pg_namespace WHERE nspname = 'ff_internal')), 'ff_internal',
	'the schema belongs to the role that created the extension');
is(value(q(CALL ff_collect(); SELECT count(*) FROM ff_internal.collection)), 1,
	'a collection works in this installation');
is(refused('CREATE SCHEMA ff_internal', 'plain'), '42P06', 'the schema ff_internal cannot be created twice');

is(value(q(SELECT count(*) FROM pg_extension WHERE extname = 'fillfactor_advisor')), 1,
	'the extension was created with the library preloaded');
$node->restart;
is(value(q(LOAD 'fillfactor_advisor'; SELECT 1)), 1, 'the library loads after a restart');
$node->stop;

# Other libraries share the server process: exported symbols must not clash with theirs.
my $library = $node->config_data('--pkglibdir') . '/fillfactor_advisor.so';
my @symbols = map { / [A-TV-Z] (\S+)/ ? $1 : () } `nm -D --defined-only $library`;
is(scalar(grep { $_ eq 'ff_sample' } @symbols), 1, 'nm lists the symbols of the library');
is(join(' ', grep { !/^(ff_|pg_finfo_ff_|Pg_magic_func$|_PG_init$|_)/ } @symbols), '',
	'the library exports only symbols with its own prefix');
