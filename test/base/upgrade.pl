# An upgrade, tried with a next version that is made of this one: it has one more counter, page metric and argument of a
# function. Upgraded and fresh databases have the same objects, history and what users built stay, and a dump of this
# version can be restored where the next one is installed.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../perl";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ServerCopy qw(copy_server build_extension new_folder);
use Test::More;

my $top = "$FindBin::Bin/../..";
my $next = '99.0.0';
my ($this) = slurp_file("$top/fillfactor_advisor.control") =~ /^default_version *= *'(.*)'/m;
chomp(my $bindir = qx(pg_config --bindir));
my $config = copy_server("$bindir/pg_config");
my $node = PostgreSQL::Test::Cluster->new('upgrade', install_path => $config =~ s{/bin/pg_config$}{}r);
$node->init(extra => [ '--encoding', 'UTF8', '--locale', 'C' ]);
$node->start;

# ---------------------------------------------------------------------------
# A database of this version, with history, a collector and a user's view
# ---------------------------------------------------------------------------
my $hub = -e qx($config --sharedir) =~ s/\n//r . '/extension/dblink.control';
$node->safe_psql('postgres', 'CREATE DATABASE shop');
sub shop { return $node->safe_psql($_[1] // 'shop', $_[0]); }
shop('CREATE EXTENSION fillfactor_advisor' . ($hub ? '; CREATE EXTENSION fillfactor_advisor_hub CASCADE' : ''));
shop(q(CREATE TABLE t (id int PRIMARY KEY, v int);
	INSERT INTO t SELECT g, 0 FROM generate_series(1, 1000) g;
	CALL ff_collect();
	CREATE ROLE upgrade_collector;
	SELECT ff_grant('upgrade_collector', 'collector');
	CREATE VIEW mine AS SELECT relation, now, new FROM ff_advice));
shop('UPDATE t SET v = v + 1; SELECT pg_stat_force_next_flush()');
shop('CALL ff_collect()');
my $history = q(SELECT count(*), sum(updated), sum(inserted) FROM ff_internal.counter_interval);
my $before = shop($history);
like($before, qr/^\d+\|1000\|1000$/, 'there is history before the upgrade');
my $dump = new_folder() . '/shop.sql';
$node->command_ok([ 'pg_dump', '-f', $dump, '-d', $node->connstr('shop') ], 'it is dumped');

# ---------------------------------------------------------------------------
# The next version
# ---------------------------------------------------------------------------
my $source = new_folder() . '/next';
my $tar = "tar -C '$top' -cf - --exclude=./tmp_check --exclude=./.git --exclude='*.o' .";
system("mkdir '$source' && $tar | tar -C '$source' -xf -") == 0
  or die 'could not copy the source';

# change(FILE, FROM, TO): in the source of the next version
sub change
{
	my ($file, $from, $to) = @_;
	my $text = slurp_file("$source/$file");
	my $n = $text =~ s/\Q$from\E/$to/g or die "$file does not have: $from";
	unlink "$source/$file";
	append_to_file("$source/$file", $text);
	return;
}
change($_, "default_version = '$this'", "default_version = '$next'")
	foreach 'fillfactor_advisor.control', 'hub/fillfactor_advisor_hub.control';
# a counter: its type, and where its value comes from
change('sql/collect/schema.sql', 'vacuums         bigint           -- vacuums, manual and automatic',
	"vacuums         bigint,          -- vacuums, manual and automatic\n    rows_returned   bigint           " .
	"-- rows that scans returned");
change('src/collect/counters.c', '{"vacuums",', "{\"rows_returned\", entry->tuples_returned},\n\t\t{\"vacuums\",");
# a page metric: its column, and how it is computed
change('sql/sample/schema.sql', 'changed_columns      real[] ', 'changed_columns      real[],');
change('sql/sample/schema.sql', "how many changed the column; pooled\n);",
	"how many changed the column; pooled\n    inserted_rows        float8      -- live rows that were never updated\n);");
change('src/sample/heap.c', '{"update_age", FF_POWERS, FF_UPDATE_AGES}',
	"{\"update_age\", FF_POWERS, FF_UPDATE_AGES},\n\t{\"inserted_rows\", FF_TOTAL, FF_HEAP_INSERTED_ROWS}");
# an argument
change('sql/report/history.sql', 'ff_history(relation regclass, bucket interval DEFAULT NULL)',
	'ff_history(relation regclass, bucket interval DEFAULT NULL, most integer DEFAULT 40)');
change('sql/report/history.sql', 'ff_history(regclass, interval)', 'ff_history(regclass, interval, integer)');
append_to_file("$source/sql/updates/$this--$next.sql", q(
-- What changed since the last release in tables and types, and functions that got other arguments.
ALTER TYPE ff_internal.counters ADD ATTRIBUTE rows_returned bigint;
ALTER TABLE ff_internal.relation ADD COLUMN rows_returned bigint;
ALTER TABLE ff_internal.counter_interval ADD COLUMN rows_returned bigint;
ALTER TABLE ff_internal.counter_interval DROP CONSTRAINT counter_interval_check1;
DO $$ BEGIN
    EXECUTE format('ALTER TABLE ff_internal.counter_interval ADD CHECK (least(%s) >= 0)',
                   ff_internal.column_list('ff_internal.counters'));
END $$;
COMMENT ON COLUMN ff_internal.counters.rows_returned IS 'rows that scans returned';
COMMENT ON COLUMN ff_internal.relation.rows_returned IS 'rows that scans returned';
COMMENT ON COLUMN ff_internal.counter_interval.rows_returned IS 'rows that scans returned';
ALTER TABLE ff_internal.page_sample ADD COLUMN inserted_rows double precision;
COMMENT ON COLUMN ff_internal.page_sample.inserted_rows IS 'live rows that were never updated';
DROP FUNCTION @extschema@.ff_history(regclass, interval);
));
build_extension($config, $source);

# ---------------------------------------------------------------------------
# Upgraded, fresh and restored
# ---------------------------------------------------------------------------
sub catalog
{
	return (run_command([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($_[0]), '-f',
		"$top/test/queries/catalog.sql" ]))[0];
}

$node->restart;
shop('ALTER EXTENSION fillfactor_advisor UPDATE');
if ($hub)
{
	my (undef, undef, $said) = $node->psql('shop', 'SELECT * FROM ff_fleet');
	like($said, qr/has version $next, fillfactor_advisor_hub version $this/,
		'a hub of the last version says what to do');
	shop('ALTER EXTENSION fillfactor_advisor_hub UPDATE');
	is(shop('SELECT count(*) FROM ff_fleet'), 0, 'then it works');
}
$node->safe_psql('postgres', 'CREATE DATABASE fresh');
shop('CREATE EXTENSION fillfactor_advisor' . ($hub ? '; CREATE EXTENSION fillfactor_advisor_hub CASCADE' : ''),
	'fresh');
# what was granted to a role is no object of the extension
my ($upgraded, $fresh) = map { catalog($_) =~ s/ ?upgrade_collector=\w+\/\w+//gr } 'shop', 'fresh';
cmp_ok(length($fresh), '>', 100000, 'the catalog was read');
my @upgraded = split /\n/, $upgraded;
my @fresh = split /\n/, $fresh;
my %upgraded = map { $_ => 1 } @upgraded;
my %fresh = map { $_ => 1 } @fresh;
is(join("\n", grep { !$upgraded{$_} } @fresh), '', 'the upgraded database has all that a fresh one has');
is(join("\n", grep { !$fresh{$_} } @upgraded), '', 'and nothing else');
is(shop($history), $before, 'the history is still there');
is(shop('SELECT count(*) FROM mine'), shop('SELECT count(*) FROM ff_advice'), 'a view that a user made still works');
# the first collection has no baseline of the new counter
foreach (1, 2)
{
	shop('UPDATE t SET v = v + 1; SELECT count(*) FROM t; SELECT pg_stat_force_next_flush()');
	shop('SET ROLE upgrade_collector; CALL ff_collect()');
}
like(shop('SELECT updated, rows_returned > 0 FROM ff_internal.counter_interval ORDER BY ended_at DESC LIMIT 1'),
	qr/^1000\|t$/, 'a collector goes on, and counts what is new');
is(shop(q(SELECT (e.recent).rows_returned > 0 FROM ff_internal.evidence('t') e)), 't', 'what is new is evidence');
is(shop('SELECT inserted_rows FROM ff_internal.page_sample ORDER BY sampled_at DESC LIMIT 1'), 0,
	'a sample has what is new');
cmp_ok(shop(q(SELECT count(*) FROM ff_history('t', most => 10))), '>', 0, 'a function has its new argument');

$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('restored'), '-f', $dump ],
	'a dump of the last version can be restored');
is(shop(q(SELECT extversion FROM pg_extension WHERE extname = 'fillfactor_advisor'), 'restored'), $next,
	'it has the next version');
is(shop($history, 'restored'), $before, 'and the history');
shop('CALL ff_collect()', 'restored');
is(shop('SELECT count(*) FROM mine', 'restored'), shop('SELECT count(*) FROM ff_advice', 'restored'),
	'and what users made');
$node->stop;
done_testing();
