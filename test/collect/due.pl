# Which tables are sampled, and when again: after a rewrite, with a clock that
# was set back, with a budget for one table at a time; and pruning in batches.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More tests => 18;

my $node = PostgreSQL::Test::Cluster->new('due');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nfillfactor_advisor.fits = 0\n");
$node->start;
sub value { return $node->safe_psql('postgres', @_); }
sub collect { return $node->psql('postgres', join('', @_) . 'CALL ff_collect()'); }
sub sampled
{
	return value("SELECT s.blocks || ' ' || round(s.dead_pct)
		FROM ff_internal.page_sample s JOIN ff_internal.relation r USING (rel_id)
		WHERE r.relname = '$_[0]' ORDER BY s.sampled_at DESC LIMIT 1");
}
sub samples
{
	return value("SELECT count(*) FROM ff_internal.page_sample s
		JOIN ff_internal.relation r USING (rel_id) WHERE r.relname = '$_[0]'");
}
# the counters of sessions that have ended are there
sub counted
{
	$node->poll_query_until('postgres', "SELECT n_tup_upd >= $_[1] FROM pg_stat_user_tables WHERE relname = '$_[0]'")
		or die "no counters of $_[0]";
}

value('CREATE EXTENSION fillfactor_advisor;
	CREATE TABLE s AS SELECT i, 0 AS j FROM generate_series(1, 20000) i;
	UPDATE s SET j = 1');
counted('s', 20000);
collect();
like(sampled('s'), qr/^\d+ [1-9]/, 'the sample of an updated table shows dead rows');
value('VACUUM FULL s');
collect();
is(sampled('s'), value("SELECT pg_relation_size('s') / 8192") . ' 0', 'sampled again after VACUUM FULL');
value('TRUNCATE s');
collect();
is(value("SELECT s.blocks FROM ff_internal.page_sample s
	JOIN ff_internal.relation r USING (rel_id) WHERE r.relname = 's'
	ORDER BY s.sampled_at DESC LIMIT 1"),
	'0', 'sampled again after TRUNCATE');

# the clock was set back by twenty minutes
value("UPDATE ff_internal.relation SET seen_at = seen_at + interval '20 minutes';
	UPDATE ff_internal.collection SET began_at = began_at + interval '20 minutes',
		ended_at = ended_at + interval '20 minutes'");
value('INSERT INTO s SELECT i, 0 FROM generate_series(1, 1000) i');
$node->poll_query_until('postgres', "SELECT n_tup_ins >= 21000 FROM pg_stat_user_tables WHERE relname = 's'") or die;
is(collect(), 0, 'a clock that was set back does not stop collections');
is(value('SELECT count(*) FROM ff_internal.counter_interval WHERE ended_at < began_at'), '0',
	'a clock that was set back leaves no interval of negative length');
is(value("SELECT sum(i.inserted) FROM ff_internal.counter_interval i
	JOIN ff_internal.relation r USING (rel_id)
	WHERE r.relname = 's'
		AND i.ended_at = (SELECT max(o.ended_at) FROM ff_internal.counter_interval o WHERE o.rel_id = i.rel_id)"),
	'1000', 'what happened meanwhile is counted');
value('TRUNCATE ff_internal.collection, ff_internal.relation, ff_internal.counter_interval, ff_internal.page_sample');

# old applications set this for a role or database
# PostgreSQL 19 knows no other than on
my $off = $node->safe_psql('postgres', 'SHOW server_version_num') < 190000
	? 'SET standard_conforming_strings = off;'
	: '';
my ($status, $out, $err) = $node->psql('postgres', "$off CALL ff_collect(); CALL ff_collect()");
is($err, '', 'with standard_conforming_strings off a collection writes no warning');
# so do tools that write SQL
$node->safe_psql('postgres', 'CREATE TABLE quoted (id int PRIMARY KEY); CALL ff_collect(); REINDEX TABLE quoted');
($status, $out, $err) = $node->psql('postgres',
	'SET quote_all_identifiers = on; SET array_nulls = off; CALL ff_collect(); TABLE ff_internal.change');
is("$status $err$out", '0 ', 'with quote_all_identifiers on and array_nulls off neither an error nor an index that changed');
($status, $out, $err) = $node->psql('postgres', "$off SELECT ff_schedule('* * * * *')");
like($err, qr/ERROR:  pg_cron is not in this database\n.*psql .* -c "CALL ff_internal\.collect\(\)"\.$/ms,
	'without pg_cron, ff_schedule() says what a crontab can run');
($status, $out, $err) = $node->psql('postgres',
	"$off SELECT count(*) FROM ff_advice; SELECT count(*) FROM ff_advise(); SELECT count(*) FROM " .
	"ff_script(); SELECT count(*) FROM ff_script_json(); SELECT count(*) FROM ff_verify(); SELECT count(*) " .
	"FROM ff_blockers(); SELECT count(*) FROM ff_advise_indexes(); SELECT count(*) FROM ff_settings(); " .
	"SELECT count(*) FROM ff_horizon(); SELECT length(ff_report()) > 0; SELECT ff_export() IS NULL");
is("$status " . $err =~ s/^.*NOTICE:  no change is advised.*\n?//gmr, '0 ',
	'with standard_conforming_strings off no other function writes a warning');

# a table of which less than 1 % changed waits for more, or for a day
value('CREATE TABLE little AS SELECT i, 0 AS j FROM generate_series(1, 10000) i; ANALYZE little');
collect();
value('UPDATE little SET j = 1 WHERE i <= 50');
counted('little', 50);
collect();
is(samples('little'), 1, 'hardly any change: not sampled again');
value('UPDATE little SET j = 1 WHERE i <= 60');
counted('little', 110);
collect();
is(samples('little'), 2, 'over 1 % changed: sampled again');

# one table a collection
value('CREATE TABLE quiet AS SELECT i FROM generate_series(1, 50000) i;
	CREATE TABLE hot AS SELECT i, 0 AS j FROM generate_series(1, 10000) i;
	CREATE TABLE warm AS SELECT i, 0 AS j FROM generate_series(1, 1000) i;
	SELECT pg_stat_reset_single_table_counters($$quiet$$::regclass)');
for my $lap (1 .. 12)
{
	value('UPDATE hot SET j = j + 1; UPDATE warm SET j = j + 1');
	counted('hot', 10000 * $lap);
	collect('SET fillfactor_advisor.collect_pages = 1;');
}
cmp_ok(samples('quiet'), '>=', 1, 'a table without changes is sampled too');
cmp_ok(samples('warm'), '>=', 2, 'a table with few changes is sampled at least twice');
cmp_ok(samples('hot'), '>=', 2, 'the table with most changes is sampled at least twice');
is(value('SELECT max(sampled) FROM ff_internal.collection'), '1', 'no collection sampled more than one table');

value("INSERT INTO ff_internal.change (rel_id, kind, before_at, seen_at, epoch_id, old_fillfactor, new_fillfactor)
	SELECT 1, 'options', t, t, 1, 100, 100
	FROM (SELECT now() - interval '1 year' + i * interval '1 s' AS t FROM generate_series(1, 3000) i) o");
is(value('SELECT ff_internal.prune(1000)'), '1000', 'pruning takes a batch');
is(value("SELECT count(*) FROM ff_internal.change WHERE seen_at < now() - interval '100 days'"), '2000',
	'pruning keeps rows beyond its batch size');
