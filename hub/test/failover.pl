# One database on a primary and its standby, both sources of a hub: their roles, advice that counts the reads of
# standbys, and a promotion.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../../test/perl";
use Beside qw(time_passes);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hub = PostgreSQL::Test::Cluster->new('hub');
$hub->init;
$hub->start;
plan skip_all => 'this server came without dblink'
  if $hub->safe_psql('postgres', q(SELECT count(*) FROM pg_available_extensions WHERE name = 'dblink')) eq '0';
$hub->safe_psql('postgres', 'CREATE EXTENSION fillfactor_advisor_hub CASCADE');
my %node = (a => PostgreSQL::Test::Cluster->new('a'), b => PostgreSQL::Test::Cluster->new('b'));
$node{a}->init(allows_streaming => 1);
$node{a}->append_conf('postgresql.conf', "log_statement = none");
$node{a}->start;

sub value { return $hub->safe_psql('postgres', $_[0]); }
sub refresh { return value('CALL ff_fleet_refresh()'); }
sub roles
{
	return value(q(SELECT string_agg(concat_ws(' ', source, role, state, timeline), ', ' ORDER BY source)
		FROM ff_fleet));
}
my $user = $node{a}->safe_psql('postgres', 'SELECT current_user');

sub add
{
	my ($source, $options) = @_;
	value(qq(CREATE SERVER "$source" FOREIGN DATA WRAPPER dblink_fdw OPTIONS (dbname 'shop', connect_timeout '10',
		$options);
		CREATE USER MAPPING FOR CURRENT_USER SERVER "$source" OPTIONS (user '$user');
		SELECT ff_fleet_add('$source', '$source')));
	return;
}

# ---------------------------------------------------------------------------
# A table whose rows are updated soon after their insert: room in their pages would
# save WAL, and make the table larger
# ---------------------------------------------------------------------------
$node{a}->safe_psql('postgres', 'CREATE DATABASE shop');
$node{a}->safe_psql('shop', q(CREATE EXTENSION fillfactor_advisor;
	ALTER DATABASE shop SET fillfactor_advisor.min_confidence = 0;
	ALTER DATABASE shop SET fillfactor_advisor.min_updates = 100;
	CREATE TABLE orders (id int PRIMARY KEY, batch int, state int, filler text);
	INSERT INTO orders SELECT g, g / 50, 0, repeat('x', 100) FROM generate_series(1, 5000) g));
$node{a}->safe_psql('shop', 'CALL ff_collect()');
$node{a}->safe_psql('shop', q(
	DO $$ BEGIN FOR b IN 100 .. 199 LOOP
		INSERT INTO orders SELECT g, b, 0, repeat('x', 100) FROM generate_series(b * 50 + 1, b * 50 + 50) g; COMMIT;
		UPDATE orders SET state = 1 WHERE id > b * 50 AND id <= b * 50 + 50 AND id % 2 = 0; COMMIT;
	END LOOP; END $$;
	SELECT pg_stat_force_next_flush()));
time_passes($node{a}, 'shop', '3 seconds');
$node{a}->safe_psql('shop', 'CALL ff_collect()');
$node{a}->backup('base');
$node{b}->init_from_backup($node{a}, 'base', has_streaming => 1);
$node{b}->start;

add('a', sprintf q(host '%s', port '%s'), $node{a}->host, $node{a}->port);
add('b', sprintf q(host '%s', port '%s'), $node{b}->host, $node{b}->port);
# as with Patroni: whichever of them is the primary
add('shop', sprintf q(host '%s,%s', port '%s,%s', target_session_attrs 'primary'), $node{a}->host, $node{b}->host,
	$node{a}->port, $node{b}->port);
refresh();
is(roles(), 'a primary ok 1, b standby ok 1, shop duplicate ok 1',
	'a primary, its standby and a name of the current primary have their roles');
my $advice = q(SELECT concat_ws(' ', source, relation, now, coalesce(new::text, '-'), action, note)
	FROM ff_fleet_advice);
my $first = value($advice);
like($first, qr/^a public\.orders 100 [5-9]\d lower provisional$/,
	'the primary advises room, and only the primary is listed');
my ($room) = $first =~ /100 (\d+) lower/;

# ---------------------------------------------------------------------------
# The table is read on the standby, not on the primary
# ---------------------------------------------------------------------------
sub read_on_standby
{
	my ($scans) = @_;
	refresh();
	# as if the reads had last been counted long ago
	value('UPDATE ff_hub.advice SET weighed_at = NULL');
	$node{b}->safe_psql('shop',
		"SET max_parallel_workers_per_gather = 0;
			DO 'BEGIN FOR i IN 1 .. $scans LOOP PERFORM sum(state) FROM orders; END LOOP; END'");
	$node{b}->poll_query_until('shop',
		q(SELECT count(*) = 0 FROM pg_stat_activity
			WHERE backend_type = 'client backend' AND datname = 'shop' AND pid <> pg_backend_pid()));
	refresh();
	return;
}
read_on_standby(1);
like(value($advice), qr/^a public\.orders 100 \d\d lower provisional.*; read on standbys: [\d.]+ pages\/s$/,
	'one scan on the standby is reported and does not decide');
read_on_standby(2000);
like(value($advice),
	qr/^a public\.orders 100 .*\blower to $room without the reads on standbys; read on standbys: \d+\.\d pages\/s$/,
	'many scans on the standby change the advice');
cmp_ok(value('SELECT weighed FROM ff_hub.advice WHERE weighed IS NOT NULL'), '>', $room,
	'the changed advice is for fewer pages');
is($node{b}->safe_psql('shop', 'SELECT count(*) > 0 FROM ff_export() e, jsonb_array_elements(e->\'reads\')'), 't',
	'ff_export() works in recovery');
like(value('SELECT ff_fleet_report()'), qr/<h1>3 sources of 1 cluster, 3 well; [01] changes? advised/,
	'the report counts each source once');

# a reset of one table's counters: no difference is taken across it if the server reports the reset
SKIP:
{
	skip 'no table says when its counters were reset before PostgreSQL 19', 2 if $node{b}->pg_version < 19;
	my $rate = 'SELECT blocks_per_s FROM ff_hub.standby_reads';
	refresh();
	my $before = value($rate);
	$node{b}->safe_psql('shop', "SELECT pg_stat_reset_single_table_counters('orders'::regclass)");
	$node{b}->safe_psql('shop',
		"SET max_parallel_workers_per_gather = 0;
			DO 'BEGIN FOR i IN 1 .. 4000 LOOP PERFORM sum(state) FROM orders; END LOOP; END'");
	refresh();
	is(value($rate), $before, 'a reset of one table gives no rate');
	is(value('SELECT since IS NOT NULL FROM ff_hub.reads'), 't', 'the standby reports the time of the reset');
}

# ---------------------------------------------------------------------------
# Failover
# ---------------------------------------------------------------------------
$node{a}->stop('immediate');
refresh();
is(roles(), 'a primary failing 1, b standby ok 1, shop duplicate failing 1',
	'a stopped primary is reported as failing');
like(value($advice), qr/^a public\.orders 100 .*stale/,
	'the advice of the stopped primary stays and is marked as stale');
$node{b}->promote;
$node{b}->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()');
refresh();
is(roles(), 'a former primary failing 1, b primary ok 2, shop duplicate ok 2',
	'the standby is promoted: no new source, the same history');
like(value($advice), qr/^b public\.orders 100 /, 'the promoted source gives the advice');

# the old primary comes back as a standby of the new one
$node{b}->safe_psql('postgres', 'CHECKPOINT');
$node{b}->backup('again');
my $back = PostgreSQL::Test::Cluster->new('back');
$back->init_from_backup($node{b}, 'again', has_streaming => 1);
$back->start;
value(sprintf q(ALTER SERVER a OPTIONS (SET host '%s', SET port '%s')), $back->host, $back->port);
refresh();
is(roles(), 'a standby ok 2, b primary ok 2, shop duplicate ok 2', 'the old primary is a standby after it was rebuilt');

# a copy that accepts writes beside it
my $copy = PostgreSQL::Test::Cluster->new('copy');
$copy->init_from_backup($node{b}, 'again');
$copy->start;
add('copy', sprintf q(host '%s', port '%s'), $copy->host, $copy->port);
refresh();
is(value(q(SELECT string_agg(source || ' ' || role, ', ' ORDER BY source) FROM ff_fleet)),
	'a standby, b primary, copy clone, shop duplicate', 'a copy that accepts writes is reported as a clone');
is(value(q(SELECT count(*) FROM ff_fleet_advice WHERE relation = 'public.orders')), '2',
	'the copy is a database of its own');
$_->stop for $copy, $back, $node{b}, $hub;
done_testing(16);
