# The library loads, also at server start, and survives a restart of the server.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('install');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'fillfactor_advisor'");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION fillfactor_advisor');
is( $node->safe_psql('postgres', q(SELECT count(*) FROM pg_extension WHERE extname = 'fillfactor_advisor')),
	'1', 'created with the library preloaded');
$node->restart;
is($node->safe_psql('postgres', q(LOAD 'fillfactor_advisor'; SELECT 1)), '1', 'loads again after a restart');
$node->stop;

done_testing();
