# A thousand partitions are judged together. One cannot be locked, one is a foreign table, and most are empty. The
# others decide, and nothing waits.
use strict;
use warnings;
use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More tests => 10;

my $node = PostgreSQL::Test::Cluster->new('pool');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nfsync = off");
$node->start;
sub value { return $node->safe_psql('postgres', $_[0]); }
my $of_three = q(SELECT action || ' ' || recommended_fillfactor FROM ff_advise('pool_3'));

# Three tables at 50. In the first two all rows of a page are updated together and are HOT. The third had only inserts.
value("CREATE EXTENSION fillfactor_advisor;\nBEGIN;\n\\i $FindBin::Bin/../queries/stories.sql\n" . q(
	CREATE TABLE pool (i int, j int) PARTITION BY RANGE (i);
	SELECT story(name, 1000, 20000, 20000, 0,
		'{"rows_per_page": 30, "rows_per_page_max": 30, "update_group_rows": 28, "updated_pct": 98}', 50)
		FROM unnest('{pool_1,pool_2}'::text[]) name;
	SELECT story('pool_3', 100, 0, 0, 0,
		'{"updated_pct": 0, "updated_width": null, "updated_hot_rows": 0, "updated_nonhot_rows": 0, '
		'"rows_per_page": 30, "rows_per_page_max": 30}',
		50);
	SELECT ff_internal.collect_fit(rel_id) FROM ff_internal.relation WHERE relname IN ('pool_1', 'pool_2');
	COMMIT));
is(value($of_three), 'raise 100', 'a table alone does not use its room');
value(q(
	SELECT format('ALTER TABLE pool ATTACH PARTITION pool_%s FOR VALUES FROM (%1$s) TO (%s)', n, n + 1)
		FROM generate_series(1, 3) n \gexec
	SELECT format('CREATE TABLE pool_%s PARTITION OF pool FOR VALUES FROM (%1$s) TO (%s)', n, n + 1)
		FROM generate_series(4, 999) n \gexec
	CREATE FOREIGN DATA WRAPPER nowhere;
	CREATE SERVER nowhere FOREIGN DATA WRAPPER nowhere;
	CREATE FOREIGN TABLE pool_1000 PARTITION OF pool FOR VALUES FROM (1000) TO (1001) SERVER nowhere));
is(value(q(SELECT count(*) FROM pg_inherits WHERE inhparent = 'pool'::regclass)), 1000, 'a thousand partitions exist');
is(value($of_three), 'keep 50', 'one of them keeps its room, because two others need it');
is(value("BEGIN;
	ALTER TABLE pool DETACH PARTITION pool_1;
	ALTER TABLE pool DETACH PARTITION pool_2;
	$of_three;
	ROLLBACK"),
	'raise 100', 'it does not keep its room without these two');

# one of these two is locked, and an empty one too
my $holder = $node->background_psql('postgres');
$holder->query_safe('BEGIN; LOCK TABLE ONLY pool_2, pool_500 IN ACCESS EXCLUSIVE MODE');
my $bounded = "SET lock_timeout = '2s'; SET client_min_messages = error";
is(value("$bounded; $of_three"), 'keep 50',
	'the advice is the same if one partition cannot be locked, and nothing waits');
is(value(qq($bounded;
	SELECT count(*), count(*) FILTER (WHERE action IN ('lower', 'raise') AND relation::text !~ '_[12]\$'),
		count(*) FILTER (WHERE cause = 'not_examined')
	  FROM ff_advise() WHERE relation::text ~ '^pool_[0-9]+\$')),
	'1000|0|1', 'each has its row: those that need no room are not changed, and the foreign one is not examined');

# a collection skips what is locked
value("$bounded; SET fillfactor_advisor.collect_time = 3600; SET fillfactor_advisor.fits = 0; CALL ff_collect()");
is(value(q(SELECT count(*) FILTER (WHERE r.sampled_at >= c.began_at),
	string_agg(r.relname || ' ' || p.sqlstate, ' ' ORDER BY r.relname)
	FROM ff_internal.relation r LEFT JOIN ff_internal.problem p USING (rel_id),
		(SELECT max(began_at) AS began_at FROM ff_internal.collection WHERE ended_at IS NOT NULL) c
			WHERE r.relname ~ '^pool_\d+$' AND r.closed_at IS NULL)),
	'995|pool_500 55P03', 'a collection samples all that were not sampled yet and says why one was not');
is(value(q(SELECT count(*) FROM ff_internal.relation WHERE relname = 'pool_1000')), 0,
	'a foreign partition has no history');
$holder->query_safe('COMMIT');
value("$bounded; SET fillfactor_advisor.collect_time = 3600; SET fillfactor_advisor.fits = 0; CALL ff_collect()");
is(value(q(SELECT count(*) FROM ff_internal.problem)), 0, 'the locked partition is sampled once it is free');

unlike(slurp_file($node->logfile), qr/PANIC|terminated by signal|TRAP|out of shared memory|WARNING: .*(leak|own)/,
	'the log has no warning about them');
$holder->quit;
$node->stop;
