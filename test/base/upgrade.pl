# An upgrade, tried with a next version that is made of this one: it has one more counter, page metric and argument of a
# function. Upgraded and fresh databases have the same objects, history and what users built stay, and a dump of this
# version can be restored where the next one is installed. While library and extension differ, calls say what to do.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../perl";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Beside qw(psql_beside hold);
use ServerCopy qw(copy_server build_extension new_folder);
use Test::More;

my $top = "$FindBin::Bin/../..";
my $next = '99.0.0';
my ($this) = slurp_file("$top/fillfactor_advisor.control") =~ /^default_version *= *'(.*)'/m;
chomp(my $bindir = qx(pg_config --bindir));
my $config = copy_server("$bindir/pg_config");
my $node = PostgreSQL::Test::Cluster->new('upgrade', install_path => $config =~ s{/bin/pg_config$}{}r);
$node->init(extra => [ '--encoding', 'UTF8', '--locale', 'C' ]);
my $folder = $node->config_data('--pkglibdir');
my $statements = -e "$folder/pg_stat_statements.so";
$node->append_conf('postgresql.conf', "autovacuum = off\n" .
	($statements ? "shared_preload_libraries = 'pg_stat_statements'\n" : ''));
$node->start;

# ---------------------------------------------------------------------------
# A database of this version, with history, a collector and a user's view
# ---------------------------------------------------------------------------
my $hub = -e qx($config --sharedir) =~ s/\n//r . '/extension/dblink.control';
$node->safe_psql('postgres', 'CREATE DATABASE shop');
sub shop { return $node->safe_psql($_[1] // 'shop', $_[0]); }
shop('CREATE EXTENSION pg_stat_statements') if $statements;
shop('CREATE EXTENSION fillfactor_advisor' . ($hub ? '; CREATE EXTENSION fillfactor_advisor_hub CASCADE' : ''));
shop(q(CREATE TABLE t (id int PRIMARY KEY, v int);
	INSERT INTO t SELECT g, 0 FROM generate_series(1, 1000) g;
	CALL ff_collect();
	CREATE ROLE upgrade_collector;
	SELECT ff_grant('upgrade_collector', 'collector');
	CREATE VIEW mine AS SELECT relation, now, new FROM ff_advice));
foreach (1, 2)
{
	shop('UPDATE t SET v = v + 1; SELECT pg_stat_force_next_flush()');
	shop('CALL ff_collect()');
}
my $history = q(SELECT count(*), sum(updated), sum(inserted) FROM ff_internal.counter_interval);
my $before = shop($history);
like($before, qr/^\d+\|2000\|1000$/, 'there is history before the upgrade');
my $fits = q(SELECT f.made_at, f.choice, f.action, f.to_fillfactor, f.made_with, f.valid_for FROM ff_internal.fit f);
my $valid = q(SELECT f.made_with = ff_internal.fit_made_with() AND f.valid_for =
	ff_internal.fit_valid_for('t'::regclass, 100) FROM ff_internal.fit f);
my $fit = shop($fits);
is(shop($valid), 't', 'there is a fit');
my $called = q(SELECT s.statement_id, s.text, sum(h.calls), sum(h.rows) FROM ff_internal.statement s
	JOIN ff_internal.statement_history h USING (statement_id)
	WHERE s.text ~ '^UPDATE t' AND s.closed_at IS NULL GROUP BY 1);
my ($statement, $calls) = shop($called) =~ /^(\d+)\|UPDATE t SET v = v \+ \$1\|(\d+)/;
ok($calls || !$statements, 'and a statement');
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
# the model
my ($model) = slurp_file("$top/src/model/sql.c") =~ /^#define MODEL_VERSION\t(\d+)/m;
change('src/model/sql.c', "#define MODEL_VERSION\t$model", "#define MODEL_VERSION\t9$model");

# ---------------------------------------------------------------------------
# Library and extension differ
# ---------------------------------------------------------------------------
# sessions that have loaded the library of this version
my $first = hold($node, 'shop', 1);
my $second = hold($node, 'shop', 2);
sub waiting
{
	my ($key, @calls) = @_;
	return psql_beside($node, 'shop', "LOAD 'fillfactor_advisor'", "SELECT pg_advisory_lock($key)", @calls);
}
my @old = (waiting(1, 'CALL ff_collect()', 'ALTER EXTENSION fillfactor_advisor UPDATE'),
	waiting(2, 'SELECT * FROM ff_advise()'));
$_->reached foreach $first, $second;
build_extension($config, $source);
foreach my $call ('SELECT * FROM ff_advise()', 'SELECT * FROM ff_advice', 'CALL ff_collect()',
	q(SELECT * FROM ff_sample('t')))
{
	my (undef, undef, $said) = $node->psql('shop', $call);
	is($said =~ s/^psql:<stdin>:\d+: //r, "ERROR:  the library has version $next, the extension in this database $this\n" .
		'HINT:  Run ALTER EXTENSION fillfactor_advisor UPDATE.', "new library, old extension: $call says what to do");
}
my $collections = shop('SELECT count(*) FROM ff_internal.collection');
$first->release;
my $older = "the library has version $this, the extension in this database $next";
$older = qr/^failed: .*ERROR:  55000: $older\nHINT:  Connect again\. /s;
like($old[0]->ended, $older, 'a session with the old library cannot update the extension');
is(shop('SELECT count(*) FROM ff_internal.collection'), $collections + 1, 'but could still collect before');
is(shop(q(SELECT extversion FROM pg_extension WHERE extname = 'fillfactor_advisor')), $this, 'and changed nothing');

# ---------------------------------------------------------------------------
# Upgraded, fresh and restored
# ---------------------------------------------------------------------------
sub catalog
{
	return (run_command([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($_[0]), '-f',
		"$top/test/queries/catalog.sql" ]))[0];
}

shop('ALTER EXTENSION fillfactor_advisor UPDATE');
$second->release;
like($old[1]->ended, $older, 'old library, new extension: a session that stayed says what to do');
$node->restart;
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
is(shop($fits), $fit, 'the fit, too');
is(shop($valid), 'f', 'but it is of another model');
is(shop('SELECT count(*) FROM mine'), shop('SELECT count(*) FROM ff_advice'), 'a view that a user made still works');
# the first collection has no baseline of the new counter; the others are recent, with a third of the updates
foreach (1 .. 3)
{
	shop('UPDATE t SET v = v + 1; SELECT count(*) FROM t; SELECT pg_stat_force_next_flush()');
	shop('SET ROLE upgrade_collector; CALL ff_collect()');
}
like(shop('SELECT updated, rows_returned > 0 FROM ff_internal.counter_interval ORDER BY ended_at DESC LIMIT 1'),
	qr/^1000\|t$/, 'a collector goes on, and counts what is new');
isnt(shop($fits), $fit, 'the fit is made anew');
is(shop($valid), 't', 'and of this model');
SKIP:
{
	skip 'no pg_stat_statements here', 1 unless $statements;
	is(shop($called), $statement . '|UPDATE t SET v = v + $1|' . ($calls + 3) . '|' . 1000 * ($calls + 3),
		'a statement goes on where it was');
}
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
