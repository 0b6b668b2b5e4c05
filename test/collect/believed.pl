# What a collection and its readers do not believe or keep: files that cannot be examined, OIDs of another cluster,
# an index that may be dropped at any moment, literals in other sessions' statements.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('believed');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nfillfactor_advisor.snapshot_age = 0");
$node->start;

sub value { return $node->safe_psql('postgres', $_[0]); }
sub collect
{
	my ($status, $out, $err) = $node->psql('postgres', 'CALL ff_collect()');
	return $status == 0 ? $err : "status $status: $err";
}

my $way = PostgreSQL::Test::Utils::tempdir_short();
my $place = "$way/away";
mkdir $place or die;
value("CREATE TABLESPACE away LOCATION '$place'");
value(q{
	CREATE EXTENSION fillfactor_advisor;
	CREATE TABLE here (id int PRIMARY KEY, v int);
	CREATE TABLE half (id int, v int);
	CREATE TABLE gone (id int, v int) TABLESPACE away;
	CREATE INDEX half_id ON half (id) TABLESPACE away;
	INSERT INTO here SELECT g, 0 FROM generate_series(1, 1000) g;
	INSERT INTO half SELECT * FROM here;
	INSERT INTO gone SELECT * FROM here;
	CALL ff_collect();
	UPDATE here SET v = 1;
	UPDATE half SET v = 1;
	UPDATE gone SET v = 1});

# A folder that may not be entered: EACCES, not ENOENT.
chmod 0, $place or die;
unlike(collect(), qr/^status/, 'unreadable tablespace: the collection ends well');
my $problems = q{SELECT string_agg(relname || ' ' || p.sqlstate, ', ' ORDER BY relname)
	FROM ff_internal.problem p JOIN ff_internal.relation r USING (rel_id)};
is(value($problems), 'gone 42501, half 58030',
	'unreadable tablespace: its table, and the one with an index there, have a problem row');
is(value(q{SELECT count(*) FROM ff_internal.counter_interval i
	JOIN ff_internal.relation USING (rel_id)
	WHERE relname IN ('here', 'half', 'gone') AND i.updated = 1000}),
	3, 'unreadable tablespace: the counters of all are stored');
is(value(q{SELECT string_agg(relation || ' ' || (size_bytes IS NULL), ', ' ORDER BY relation::text) FROM ff_advise()}),
	'gone true, half false, here false', 'unreadable tablespace: every table has advice');
chmod 0700, $place or die;
value('UPDATE half SET v = 2; UPDATE gone SET v = 2');
is(collect(), '', 'readable again: the collection ends well');
is(value($problems), '', 'readable again: no problem is left');

# A folder that cannot be reached: not even the free space there is known. The table wastes half of its pages.
value('CREATE TABLE log (line text) WITH (fillfactor = 50) TABLESPACE away');
foreach (1 .. 3)
{
	value(q{INSERT INTO log SELECT repeat('l', 100) FROM generate_series(1, 6000)});
	collect();
}
value(q{UPDATE ff_internal.counter_interval i SET began_at = began_at - interval '1 day'
	WHERE NOT EXISTS (SELECT FROM ff_internal.counter_interval o
		WHERE o.rel_id = i.rel_id AND o.ended_at < i.ended_at)});
collect();
my $rewrite = q{SELECT concat_ws(' ', action, needs_rewrite, rewrite_disk_bytes > 0) FROM ff_advise('log')};
is(value($rewrite), 'raise t t', 'a rewrite is advised');
chmod 0, $way or die;
is(value(q{SELECT count(ff_internal.free_bytes(oid)) FROM pg_tablespace WHERE spcname = 'away'}), 0,
	'unreachable tablespace: its free space is unknown');
is(value(q{SELECT concat_ws(' ', possible, disk_bytes, free_bytes) FROM ff_internal.rewrites('log'::regclass, 8192)
	WHERE method = 'VACUUM FULL'}), 't 8192', 'unreachable tablespace: a rewrite is possible as far as is known');
is(value($rewrite), 'raise t t', 'unreachable tablespace: a rewrite is advised as before');
chmod 0700, $way or die;
value('DROP TABLE log');

# An index whose lock another session holds may be dropped before its definition is read.
my $session = $node->background_psql('postgres');
$session->query_safe('BEGIN; REINDEX INDEX half_id');
my $definition = q{SELECT ff_internal.index_definitions('half'::regclass, ARRAY['half_id'::regclass::oid])};
is(value($definition), '{""}', 'a locked index has no definition');
$session->query_safe('ROLLBACK');
is(value($definition), '{"CREATE INDEX half_id ON public.half USING btree (id)"}', 'a free one has');

# What another session runs is stored without its literals.
$session->query_safe("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 'hidden' || 4711 FROM here LIMIT 1");
value('SELECT pg_current_xact_id()');
is(collect(), '', 'a snapshot is held: the collection ends well');
is(value(q{SELECT string_agg(doing, ', ') FROM ff_internal.horizon_history WHERE kind = 'idle in transaction'}),
	'SELECT', 'without pg_stat_statements, only the first word of a statement is kept');
is(value(q{SELECT count(*) FROM ff_horizon() WHERE doing ~ 'hidden|4711'}), 0,
	'ff_horizon() does not show the literals either');
$session->quit;
SKIP:
{
	skip 'pg_stat_statements is not here', 4
		if value(q{SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_stat_statements'}) eq '0';
	value('DELETE FROM ff_internal.horizon_history');
	$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_stat_statements'\ncompute_query_id = on");
	$node->restart;
	value('CREATE EXTENSION pg_stat_statements');
	my $held = q{UPDATE here SET v = 4711 WHERE 'hidden' > '' AND id = 5};
	value($held);
	collect();
	foreach my $one ([ $held, q{UPDATE here SET v = $1 WHERE $2 > $3 AND id = $4} ],
		[ q{DECLARE c CURSOR FOR SELECT 4711 FROM here WHERE 'hidden' > ''}, undef ])
	{
		my ($statement, $shown) = @$one;
		$session = $node->background_psql('postgres');
		$session->query_safe("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM here LIMIT 1");
		$session->query_safe($statement);
		value('SELECT pg_current_xact_id()');
		collect();
		my $doing = value(q{SELECT doing FROM ff_internal.horizon_history
			WHERE kind = 'idle in transaction' ORDER BY last_seen_at DESC LIMIT 1});
		if   (defined $shown) { is($doing, $shown, 'of a statement that writes, its text with parameters is kept'); }
		else
		{
			like($doing, qr/^DECLARE(?!.*(hidden|4711))/, 'a utility statement is kept without its constants');
		}
		$session->quit;
	}
	value(q{EXPLAIN ANALYZE UPDATE here SET v = v + 4711 WHERE 'hidden' > '' AND $_$hidden$_$ > ''});
	is(collect(), '', 'a statement is explained: the collection ends well');
	like(value(q{SELECT string_agg(text, '|') FROM ff_internal.statement WHERE text ~ 'EXPLAIN'}),
		qr/^EXPLAIN ANALYZE UPDATE here SET v = v \+ (\?|\$\d) WHERE (?!.*(hidden|4711))/,
		'the text of an explained update is kept without its constants');
}

# The history of another cluster, in which other tables have these OIDs, before the first collection.  Here, two tables
# have swapped their names.
my $restored = 'the history comes from a dump or another database: run CALL ff_collect() to take it up';
value(q{ALTER TABLE here SET (fillfactor = 50)});
collect();
value(q{
	SELECT ff_dismiss('gone', 'not worth it');
	INSERT INTO ff_internal.collection (epoch_id, began_at, relations, changed, track_counts, open_writers, own_inserts,
		blocks_read, read_ms)
	SELECT max(epoch_id), clock_timestamp(), 0, 0, true, 0, 0, n * 1e6, n * 1e5
	FROM ff_internal.epoch, generate_series(1, 2) n GROUP BY n});
collect();
value(q{
	UPDATE ff_internal.setting_history SET seen_at = seen_at - interval '2 days';
	UPDATE ff_internal.setting_history SET value = '77' WHERE setting = 'max_wal_size';
	INSERT INTO ff_internal.setting_history (setting, seen_at, before_at, value)
	VALUES ('wal_compression', now() - interval '3 days', NULL, 'lz4');
	UPDATE ff_internal.setting_history SET before_at = now() - interval '51 hours'
	WHERE setting = 'wal_compression' AND value = 'off';
	DELETE FROM ff_internal.horizon_history;
	INSERT INTO ff_internal.horizon_history (kind, holder, role_name, since, last_seen_at, xids)
	VALUES ('idle in transaction', 'pid 4711', 'somebody', now() - interval '2 hours', now() - interval '1 hour', 1000);
	WITH made AS (
		INSERT INTO ff_internal.statement (queryid, toplevel, kind, text, opened_at)
		VALUES (4711, true, 'write', 'UPDATE here SET v = 4', now()) RETURNING statement_id
	), targeted AS (
		INSERT INTO ff_internal.statement_target (statement_id, "position", command, how, relation_name, relid, rel_id,
			columns)
		SELECT statement_id, 1, 'UPDATE', 'top', 'here', relid, rel_id, '{v}'
		FROM made, ff_internal.relation WHERE relname = 'here'
	)
	INSERT INTO ff_internal.statement_history
	SELECT statement_id, now() - interval '1 hour', now(), (SELECT max(epoch_id) FROM ff_internal.epoch), 0, 10, 1000,
		1, 1, 1, 0, 1, 1, 0, 1 FROM made});

# What a reader says of settings, sessions, disks and statements.
my %asked = (
	'a changed setting' => q{SELECT count(*) FROM ff_verify() WHERE change = 'setting wal_compression lz4 -> off'
		AND measure = 'overall'},
	'its verdict' => q{SELECT count(*) FROM ff_settings() WHERE reason ~ 'Changed: setting wal_compression lz4'},
	'a session' => q{SELECT count(*) FROM ff_horizon() WHERE holder = 'pid 4711'},
	'the session among the changes' => q{SELECT count(*) FROM ff_changes() WHERE details ~ 'pid 4711'},
	'a timeout' => q{SELECT count(*) FROM ff_settings() WHERE setting ~ '^idle_in_trans' AND action = 'trial'},
	'the speed of a disk' => 'SELECT count(read_us) FROM ff_internal.io_speed()',
	'a table of a statement' => 'SELECT count(relation) FROM ff_statements() WHERE queryid = 4711',
	'the other way round' => q{SELECT count(*) FROM ff_statements('%s') WHERE queryid = 4711},
	'an undo' => q{SELECT count(*) FROM ff_script('%s', undo => true) s WHERE s ~ 'fillfactor 50 -> 100'},
	'a dismissal' => q{SELECT count(*) FROM ff_advise('gone') WHERE reason ~ 'not worth it'});
sub known
{
	my ($table) = @_;
	return join ', ', grep { value($asked{$_} =~ s/%s/$table/r) ne '0' } sort keys %asked;
}
is(known('here'), join(', ', sort keys %asked), 'on its own server all this is known');
value(q{
	ALTER TABLE here RENAME TO other;
	ALTER TABLE half RENAME TO here;
	ALTER TABLE other RENAME TO half;
	ALTER TABLE here SET (fillfactor = 50);
	ALTER TABLE half RESET (fillfactor);
	CREATE INDEX half_v ON half (v)});
value(q{
	UPDATE ff_internal.epoch SET system_identifier = 7000000000000000001;
	UPDATE ff_internal.relation SET system_identifier = 7000000000000000001});
is(value(q{SELECT count(*) FROM ff_internal.change WHERE kind = 'fillfactor'}), 1,
	'a change is in the history of another cluster');
is(known($_), '', "nothing of another cluster is believed of $_") foreach qw(here half);
is(value(q{SELECT count(index) FROM ff_blockers('half')}), 0, 'no index is said to block updates');
is(value(qq{SELECT count(*) FROM ff_statements('half') WHERE reason = '$restored'}), 1,
	'ff_statements() says that the history has to be taken up');
is(value(q{SELECT count(*) FROM ff_verify() WHERE change <> ''}), 0, 'ff_verify() shows it of no table here');
is(value(q{SELECT string_agg(note, '') FROM ff_verify('here')}), $restored,
	'ff_verify() of a table says that the history has to be taken up');
is(value(q{SELECT string_agg(event, '') FROM ff_history('here')}), $restored, 'ff_history() says the same');
is(value('SELECT count(*) FROM ff_metrics'), 0, 'ff_metrics has no row');
is(value('SELECT count(*) FROM ff_internal.table_proposal'), 0, 'no option of a table is proposed');
is(collect(), '', 'a collection matches the tables');
is(value(q{SELECT count(*) FROM ff_verify('here') WHERE change = 'fillfactor 100 -> 50'}) > 0 ? 'shown' : 'lost',
	'shown', 'then the change is shown of its table');
is(known('here'), 'a dismissal, an undo', 'what belongs to a table is known again');
is(known('half'), 'a dismissal', 'but not of the one that had its OID there');
is(value(q{SELECT count(*) FROM ff_internal.setting_history WHERE before_at > now() - interval '1 day'}), 0,
	'the restore is no change of a setting');
value(q{ALTER SYSTEM SET max_wal_size = '2GB'});
value('SELECT pg_reload_conf()');
$node->poll_query_until('postgres', q{SELECT reset_val = '2048' FROM pg_settings WHERE name = 'max_wal_size'});
is(collect(), '', 'the next collection');
is(value(q{SELECT string_agg(change, ', ') FROM ff_internal.changes WHERE kind = 'setting'}),
	'setting max_wal_size 1024MB -> 2048MB', 'a change since then is one');

$node->stop;
done_testing();
