# Two weeks of a database's workload. On the third day advice is followed, including rebuilds of indexes. On the tenth
# day the database is restored under another name. From the fifth day on there is no new advice, and followed advice
# is not reversed. Between two collections all recorded times move eight hours into the past.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../perl";
use Beside qw(time_passes);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('weeks');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_stat_statements'\nautovacuum = off\nfsync = off");
$node->start;
my $db = 'shop';
$node->safe_psql('postgres', 'CREATE DATABASE shop');

sub sql { return $node->safe_psql($db, $_[0]); }

sub eight_hours
{
	my ($work) = @_;
	sql("$work; SELECT pg_stat_force_next_flush()");
	sql('CALL ff_collect()');
	time_passes($node, $db, '8 hours');
	return;
}

my @nightly = qw(nightly_kept nightly_full nightly_clustered nightly_repacked);
sql('CREATE EXTENSION pg_stat_statements; CREATE EXTENSION fillfactor_advisor');
foreach my $table (@nightly)
{
	sql(qq{CREATE TABLE $table (id int PRIMARY KEY, day int NOT NULL DEFAULT 0, pad text);
		INSERT INTO $table SELECT g, 0, repeat('n', 60) FROM generate_series(1, 6000) g});
}
sql(q{
	CREATE TYPE mood AS ENUM ('good', 'bad');
	CREATE FUNCTION twice(int) RETURNS int LANGUAGE sql IMMUTABLE RETURN 2 * $1;
	-- indexes whose text, column numbers or OIDs are others in a restored database
	CREATE TABLE kept (gone int, id int PRIMARY KEY, n int, state varchar(10), m mood, EXCLUDE USING btree (n WITH =));
	ALTER TABLE kept DROP COLUMN gone;
	CREATE INDEX kept_open ON kept (twice(n)) WHERE state IN ('new', 'open') AND n > -1;
	CREATE INDEX kept_state ON kept (state varchar_pattern_ops, (n * 2) DESC) WHERE m = 'good';
	CREATE TABLE log (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, line text) WITH (fillfactor = 70);
	CREATE TABLE orders (id int, day int NOT NULL, PRIMARY KEY (day, id), state int NOT NULL DEFAULT 0,
		pad text) PARTITION BY LIST (day)});

# The work of one day: orders are inserted and soon updated, logs are written, some tables are updated whole at night.
my $orders = 0;
sub one_day
{
	my ($day) = @_;
	my $options = $day > 3 ? template() : '';
	sql("CREATE TABLE orders_$day PARTITION OF orders FOR VALUES IN ($day) $options");
	for my $part (1, 2)
	{
		my $first = $orders + 1;
		$orders += 3000;
		eight_hours(join(';', map { my $from = $first + 150 * $_; my $to = $from + 149;
			"INSERT INTO orders SELECT g, $day, 0, repeat('o', 60) FROM generate_series($from, $to) g;
				UPDATE orders SET state = 1 WHERE day = $day AND id BETWEEN $from AND $to" } 0 .. 19)
			. "; INSERT INTO log (line) SELECT repeat('l', 90) FROM generate_series(1, 20000)");
	}
	eight_hours(join(';', map { "UPDATE $_ SET day = $day" } @nightly) . ';' . join(';', map { "VACUUM $_" } @nightly));
	return;
}

# The options of a new partition: the advice for the newest partition.
my @advice;
sub template
{
	my ($lower) = grep { $_->{relation} =~ /^orders_/ && $_->{action} eq 'lower' } @advice;
	return "WITH (fillfactor = $lower->{fillfactor})" if $lower;
	return sql(q{SELECT 'WITH (' || array_to_string(reloptions, ', ') || ')' FROM pg_class
		WHERE relname ~ '^orders_[0-9]+$' AND reloptions IS NOT NULL ORDER BY oid DESC
		LIMIT 1});
}

# The changes advised: table => fillfactors, with all partitions as one table. Times have moved since the last
# collection, so each call fits the model again; one call a day is enough.
sub advised
{
	my (%of, %change);
	@advice = ();
	foreach (split /\n/,
		sql(q{SELECT relation, action, recommended_fillfactor, cause, confidence, ddl
			FROM ff_advise() ORDER BY relation::text}))
	{
		my %row;
		@row{qw(relation action fillfactor cause confidence ddl)} = split /[|]/, $_, 6;
		push @advice, \%row;
		note join ' ', map { $row{$_} } qw(relation action fillfactor cause confidence);
		my $table = $row{relation} =~ s/_[0-9]+$//r;
		$of{$table}{"$row{action} $row{fillfactor}"} = 1 if $row{action} =~ /^(lower|raise)$/;
	}
	$change{$_} = join ', ', sort keys %{ $of{$_} } foreach keys %of;
	my %index = map { split /=/ } split /\n/,
	sql(q{SELECT 'index ' || index || '=' || action FROM ff_advise_indexes() WHERE action IN ('rebuild', 'raise')});
	note join ', ', map { "$_ $change{$_}" } sort keys %change;
	note sql(q{SELECT string_agg(format('%s %s %s: %s', index, action, recommended_fillfactor, reason), E'\n'
		ORDER BY 1)
		FROM ff_advise_indexes()});
	return { %change, %index };
}

my (%before, %after);
for my $day (1 .. 14)
{
	note "day $day";
	if ($day == 3)
	{
		# all that is advised is done
		my @statements = map { $_->{ddl} } grep { $_->{action} =~ /^(lower|raise)$/ } @advice;
		cmp_ok(scalar(grep { /nightly_/ } @statements), '==', 4,
			'a lower fillfactor is advised for all tables updated whole at night')
			or diag join "\n", @statements;
		sql($_) foreach @statements;
		sql('VACUUM FULL nightly_full');
		sql('CLUSTER nightly_clustered USING nightly_clustered_pkey');
		SKIP:
		{
			skip 'no pg_repack for this server', 1
				unless sql(q{SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_repack'})
					&& !system('pg_repack --version >/dev/null 2>&1');
			sql('CREATE EXTENSION pg_repack');
			$node->command_ok([ 'pg_repack', '-k', '-d', $db, '-t', 'nightly_repacked', '-h', $node->host, '-p',
				$node->port ],
				'pg_repack succeeds');
		}
		sql('VACUUM FULL log');
		# followed advice must not be given again
		%before = ();
		foreach my $row (split /\n/, sql(q{SELECT ddl FROM ff_advise_indexes() WHERE action IN ('rebuild', 'raise')}))
		{
			sql($_) foreach split /;\s*/, $row;
		}
	}
	if ($day == 10)
	{
		# changes that no collection sees, then a dump that is restored under another name
		sql('ALTER INDEX kept_open SET (fillfactor = 80); ALTER TABLE kept RENAME COLUMN state TO status');
		my $dump = "$PostgreSQL::Test::Utils::tmp_check/shop.dump";
		$node->command_ok([ 'pg_dump', '-Fc', '-f', $dump, $node->connstr($db) ], 'the database can be dumped');
		$node->safe_psql('postgres', 'CREATE DATABASE shop2');
		$node->command_ok([ 'pg_restore', '-d', $node->connstr('shop2'), $dump ], 'a dump can be restored');
		$db = 'shop2';
	}
	one_day($day);
	is(sql(q{SELECT count(*) > 3, count(*) FILTER (WHERE c.relname IS DISTINCT FROM t.relation_name)
		FROM ff_internal.statement_target t
			JOIN ff_internal.statement s USING (statement_id)
			LEFT JOIN pg_class c ON c.oid = t.relid
		WHERE s.closed_at IS NULL AND t.relid IS NOT NULL}), 't|0', 'statements refer to the restored tables')
		if $day == 10;
	is(sql(q{SELECT string_agg(r.relname, ', ') FROM ff_internal.change c
		JOIN ff_internal.relation r USING (rel_id) WHERE c.kind = 'indexes'}), 'kept',
		'in the restored database only the indexes of the column that was renamed unseen count as changed')
		if $day == 10;
	my $now = advised();
	if ($day <= 4) { $before{$_} = $now->{$_} foreach keys %$now; }
	else { $after{"$_ $now->{$_}"} //= $day foreach grep { ($before{$_} // '') ne $now->{$_} } keys %$now; }
	is(scalar(grep { ($now->{$_} // '') =~ /raise/ } @nightly, 'orders'), 0,
		"day $day: no followed advice is reversed");
}
is_deeply(\%after, {}, 'from the fifth day on there is no new advice');
$node->stop;
done_testing();
