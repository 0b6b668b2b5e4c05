# A source on which nothing is installed, and its mirror on another server, each in a database shop.
package Mirrored;
use strict;
use warnings;
use Exporter 'import';
use PostgreSQL::Test::Cluster;
use Test::More;
our @EXPORT = qw(there value error unread names collect definition);
our ($source, $mirror);

# The tables of a database, with their OIDs there: of the mirror, as it knows them, and of the source.
my %names = (
	mirror => q(SELECT string_agg(o.source_oid || ' ' || o.relid::regclass, ', ' ORDER BY o.source_oid)
		FROM ff_hub.mirrored o WHERE o.table_oid IS NULL),
	source => q(SELECT string_agg(c.oid || ' ' || c.oid::regclass, ', ' ORDER BY c.oid)
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relkind IN ('r', 'm', 'p') AND n.nspname !~ '^(pg_|information_schema)'));

# start(): both servers; skips the test where there is no dblink. The role of the mirror has pg_monitor and no more.
sub start
{
	$mirror = PostgreSQL::Test::Cluster->new('mirror');
	$mirror->init;
	# 64 is the default before 19
	$mirror->append_conf('postgresql.conf', "log_statement = none\nmax_locks_per_transaction = 64");
	$mirror->start;
	plan skip_all => 'this server came without dblink'
	  if $mirror->safe_psql('postgres', q(SELECT count(*) FROM pg_available_extensions WHERE name = 'dblink')) eq '0';
	# which the statement that reads a source needs there
	plan skip_all => 'this server was built without libxml'
	  if $mirror->psql('postgres', q(SELECT xml '<a/>')) != 0;
	$source = PostgreSQL::Test::Cluster->new('source');
	$source->init(allows_streaming => 1);
	$source->append_conf('postgresql.conf',
		"shared_preload_libraries = 'pg_stat_statements'\nlog_statement = none\nautovacuum = " .
		"off\nmax_prepared_transactions = 2\nmax_connections = 50");
	$source->start;
	$source->safe_psql('postgres', 'CREATE DATABASE shop; CREATE ROLE monitor LOGIN; GRANT pg_monitor TO monitor');
	there('CREATE SCHEMA ext; CREATE EXTENSION pg_stat_statements SCHEMA ext');
	$mirror->safe_psql('postgres', 'CREATE DATABASE shop');
	my ($host, $port) = ($source->host, $source->port);
	value(qq{CREATE EXTENSION fillfactor_advisor_hub CASCADE;
		CREATE SERVER source FOREIGN DATA WRAPPER dblink_fdw OPTIONS (host '$host', port '$port', dbname 'shop',
			connect_timeout '5');
		CREATE USER MAPPING FOR CURRENT_USER SERVER source OPTIONS (user 'monitor')});
	return;
}

sub value { return $mirror->safe_psql('shop', $_[0]); }
sub there { return $source->safe_psql('shop', $_[0]); }
# the first line of an error of the mirror
sub error { return ($mirror->psql('shop', $_[0]))[2] =~ s/^psql:<stdin>:\d+: //mr =~ s/\n.*//sr; }
# what could not be made here
sub unread { return value(q(SELECT said->>'unread' FROM ff_internal.observed WHERE kind = 'server')); }
sub names { return $_[0] eq 'mirror' ? value($names{mirror}) : there($names{source}); }

# A collection of the mirror that sees the counters of every session of the source that has ended.
sub collect
{
	$source->poll_query_until('shop',
		q(SELECT count(*) = 0 FROM pg_stat_activity
			WHERE backend_type = 'client backend' AND datname = 'shop' AND pid <> pg_backend_pid()))
	  or die 'sessions of the source stay';
	return value('CALL ff_collect()');
}

# The columns of a table, of the mirror (\&value) or the source (\&there).
sub definition
{
	my ($run, $table) = @_;
	return $run->(qq(SELECT string_agg(a.attname || ' ' || format_type(a.atttypid, NULL), ', ' ORDER BY a.attname)
		FROM pg_attribute a
		WHERE a.attrelid = '$table'::regclass AND a.attnum > 0 AND NOT a.attisdropped));
}

1;
