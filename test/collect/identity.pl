# Whose history is it?  Tables that are renamed, moved, dropped, rewritten, and
# whole databases that are copied, dumped, restored and upgraded.
use strict;
use warnings;
use File::Basename qw(dirname);
use FindBin;
use lib "$FindBin::Bin/../perl";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ServerCopy qw(copy_server build_extension new_folder);
use Test::More tests => 117;

# what tells servers apart is at stake
$ENV{FFA_INITDB} = 'anew';
my $node = PostgreSQL::Test::Cluster->new('identity');
$node->init;
$node->append_conf('postgresql.conf', 'autovacuum = off');
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE shop');

my $database = 'shop';
sub value { return $node->safe_psql($database, $_[0]); }
sub collect { value('CALL ff_collect()'); return; }
sub work { value("$_[0]; SELECT pg_stat_force_next_flush()"); return; }

# The open history of a table: rel_id, or nothing
sub history
{
	return value("SELECT rel_id FROM ff_internal.relation WHERE closed_at IS NULL AND relid = '$_[0]'::regclass");
}

# updates that a history knows of, and in how many intervals the file changed
sub known
{
	return value("SELECT coalesce(sum(updated), 0) || ' ' || count(*) FILTER (WHERE rewritten)
		FROM ff_internal.counter_interval WHERE rel_id = $_[0]");
}

value(q(
	CREATE EXTENSION fillfactor_advisor;
	CREATE SCHEMA archive;
	CREATE TABLE t (id int PRIMARY KEY, v int) WITH (fillfactor = 90);
	INSERT INTO t SELECT g, 0 FROM generate_series(1, 100) g;
	CREATE TABLE doomed (LIKE t);
	CALL ff_collect()));
my $id = history('t');
work('UPDATE t SET v = 1 WHERE id <= 10');
collect();

# the same table under another name
work('ALTER TABLE t RENAME TO renamed; UPDATE renamed SET v = 2 WHERE id <= 20');
collect();
is(history('renamed'), $id, 'rename: history follows');
is(known($id), '30 0', 'rename: nothing is lost');
work('ALTER TABLE renamed SET SCHEMA archive; UPDATE archive.renamed SET v = 3 WHERE id <= 5');
collect();
is(history('archive.renamed'), $id, 'SET SCHEMA: history follows');
is(known($id), '35 0', 'SET SCHEMA: nothing is lost');
is(value("SELECT nspname, relname FROM ff_internal.relation WHERE rel_id = $id"), 'archive|renamed',
	'SET SCHEMA: the history has the new schema and name');
work('ALTER TABLE archive.renamed SET SCHEMA public; ALTER TABLE renamed RENAME TO t');
collect();

# two tables that exchange their names
value('CREATE TABLE u (LIKE t)');
collect();
my $u = history('u');
value('ALTER TABLE t RENAME TO x; ALTER TABLE u RENAME TO t; ALTER TABLE x RENAME TO u');
collect();
is(history('t') . ' ' . history('u'), "$u $id", 'exchanged names: each history follows its table');
value('ALTER TABLE t RENAME TO x; ALTER TABLE u RENAME TO t; DROP TABLE x');
collect();

# rewritten, between samples
work('VACUUM FULL t; UPDATE t SET v = 4 WHERE id <= 5');
collect();
is(known($id), '40 1', 'VACUUM FULL: noted, and the run survives');
work('CLUSTER t USING t_pkey');
collect();
is(known($id), '40 2', 'CLUSTER: noted');
work('TRUNCATE t');
collect();
is(known($id), '40 3', 'TRUNCATE: noted');
is(value("SELECT blocks FROM ff_sample('t')"), 0, 'TRUNCATE: an empty table can be sampled');
work('INSERT INTO t SELECT g, 0 FROM generate_series(1, 100) g;
	ALTER TABLE t ALTER v TYPE bigint;
	UPDATE t SET v = 5 WHERE id <= 5');
collect();
is(known($id), '45 4', 'rewriting ALTER TABLE: noted');
is(history('t'), $id, 'rewriting ALTER TABLE: the table keeps its history');
SKIP:
{
	my $repack = $node->config_data('--bindir') . '/pg_repack';
	skip 'no pg_repack here', 2
		unless -x $repack && value(q(SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_repack'));
	value('CREATE EXTENSION pg_repack');
	$node->command_ok([ $repack, '-t', 't', 'shop' ], 'pg_repack');
	collect();
	is(history('t') . ' ' . known($id), "$id 45 5", 'pg_repack: noted');
	value('DROP EXTENSION pg_repack');
}

# gone, and another table in its place
my $doomed = history('doomed');
work('INSERT INTO doomed SELECT * FROM t; UPDATE doomed SET v = 6');
collect();
work('DROP TABLE doomed;
	CREATE TABLE doomed (LIKE t);
	INSERT INTO doomed SELECT * FROM t;
	UPDATE doomed SET v = 7 WHERE id <= 7');
collect();
isnt(history('doomed'), $doomed, 'dropped and made again under the same name: a new history');
is(known(history('doomed')), '7 0', 'a table made again counts only what happened since');
is(value("SELECT closed_at IS NOT NULL FROM ff_internal.relation WHERE rel_id = $doomed"), 't',
	'the history of a dropped table is closed');
is(known($doomed), '100 0', 'the history of a dropped table is kept');

# another table under the same OID
$doomed = history('doomed');
my $oid = value(q(SELECT 'doomed'::regclass::oid));
# an OID is free again once no trace of it is left
value('DROP TABLE doomed');
value('VACUUM pg_class');
$node->stop;
$node->command_ok([ 'pg_resetwal', '-o', $oid, '-D', $node->data_dir ], 'the next OID is set back');
$node->start;
work('CREATE TABLE doomed (LIKE t); INSERT INTO doomed SELECT * FROM t');
is(value(q(SELECT 'doomed'::regclass::oid)), $oid, 'another table gets the OID and the name of one that was dropped');
collect();
isnt(history('doomed'), $doomed, 'a table that reuses an OID and a name gets a new history');
is(value("SELECT closed_at IS NOT NULL FROM ff_internal.relation WHERE rel_id = $doomed"), 't',
	'OID reused: the history of the dropped table is closed');

# beyond 2^32 transactions an index made just now is not taken for one that was seen before
$node->stop;
$node->command_ok([ 'pg_resetwal', '-e', '1', '-D', $node->data_dir ], 'transaction ids begin anew');
$node->start;
value('CREATE INDEX doomed_young ON doomed (v)');
is(value(q(SELECT ff_internal.scans_counted_since('doomed_young'::regclass))), '',
	'no collection has seen a young index');
collect();
is(value(q(SELECT ff_internal.scans_counted_since('doomed_young'::regclass) = (SELECT max(began_at)
	FROM ff_internal.collection))),
	't', 'the next collection has');

# a new database: what must have come along, and what must not be mixed up
value(q(ALTER DATABASE shop SET fillfactor_advisor.lookback = '9d'));
work('UPDATE t SET v = 8 WHERE id <= 8');
collect();
value('CREATE TABLE later (LIKE t)');
value('CREATE TABLE still AS SELECT * FROM t');
collect();
value(q(SELECT ff_dismiss('still', 'seldom read')));

# the partitions that are dismissed, of a parent that is renamed after its dismissal
sub dismissed
{
	return value(q(SELECT string_agg(relname, ' ' ORDER BY relname) FROM ff_internal.dismissal
		JOIN ff_internal.followed USING (rel_id) WHERE relname ~ '^part_'));
}
sub new_partition
{
	my ($parent, $number) = @_;
	work("CREATE TABLE part_$number PARTITION OF $parent FOR VALUES IN ($number);
		INSERT INTO part_$number VALUES ($number)");
	collect();
	work("UPDATE part_$number SET v = 1");
	collect();
	return;
}
value('CREATE TABLE parted (id int, v int) PARTITION BY LIST (id)');
new_partition('parted', 1);
value(q(SELECT ff_dismiss('parted', 'seldom read')));
value('ALTER TABLE parted RENAME TO whole');
new_partition('whole', 2);
new_partition('whole', 3);
is(dismissed(), 'part_1 part_2 part_3', 'later partitions of a renamed parent are dismissed');
value(q(SELECT ff_dismiss('part_2', NULL)));
my $before = value('SELECT count(*), max(began_at) FROM ff_internal.counter_interval');
my $known = known($id);

sub moved
{
	my ($how, $window) = @_;
	is(value('SELECT count(*), max(began_at) FROM ff_internal.counter_interval'), $before, "$how: history is kept");
	is(value(q(SELECT ff_internal.setting('lookback'))), $window, "$how: $window s to look back");
	my $epoch = value('SELECT max(epoch_id) FROM ff_internal.epoch');
	is(value(q(SELECT reason FROM ff_advise('t'))),
		'The history comes from a dump or another database: run CALL ff_collect() to take it up.',
		"$how: OIDs are not trusted before a collection");
	is(value('SELECT note FROM ff_verify()'),
		'the history comes from a dump or another database: run CALL ff_collect() to take it up',
		"$how: nor are changes denied");
	$node->psql($database, 'SELECT FROM ff_advice', stderr => \my $notice);
	like($notice, qr/NOTICE:  the history comes from a dump or another/, "$how: nor is there no advice");
	my $sampled = value(q(SELECT sampled_at FROM ff_internal.relation WHERE relname = 'still'));
	work('UPDATE t SET v = 9 WHERE id <= 50');
	collect();
	is(history('t'), $id, "$how: a table is found by its name");
	is(known($id), $known, "$how: no difference across it");
	is(value("SELECT sampled_at > '$sampled' FROM ff_internal.relation WHERE relname = 'still'"),
		$how =~ /dump|restore/ ? 't' : 'f', "$how: a table is sampled anew if it has a new file");
	cmp_ok(value('SELECT max(epoch_id) FROM ff_internal.epoch'), '>', $epoch, "$how: a new epoch");
	work('UPDATE t SET v = 9 WHERE id <= 3');
	collect();
	is(value("SELECT sum(updated) FROM ff_internal.counter_interval
		WHERE rel_id = $id AND epoch_id = (SELECT max(epoch_id) FROM ff_internal.epoch)"),
		3, "$how: then differences again");
	is(value('SELECT count(*) FROM ff_internal.relation r
		WHERE closed_at IS NULL AND NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = r.relid)'),
		0, "$how: what is not there is closed");
	is(value('SELECT count(*) FROM ff_internal.relation a
		JOIN ff_internal.relation b USING (relid)
		WHERE a.rel_id < b.rel_id AND a.closed_at IS NULL AND b.closed_at IS NULL'),
		0, "$how: no table has two histories");
	return;
}
my $dir = PostgreSQL::Test::Utils::tempdir;
$node->command_ok([ 'pg_dump', '-Fc', '-f', "$dir/shop", 'shop' ], 'pg_dump');
$node->command_ok([ 'pg_dump', '-C', '-f', "$dir/shop.sql", 'shop' ], 'pg_dump with the settings of the database');
$node->safe_psql('postgres', 'CREATE DATABASE copied TEMPLATE shop');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok([ 'pg_restore', '-d', 'restored', '--exit-on-error', "$dir/shop" ], 'pg_restore into a new database');
$database = 'copied';
moved('CREATE DATABASE with a template', 604800);
$database = 'restored';
value('DROP TABLE doomed');
# two clusters set up alike give out the same numbers
$doomed = value(q(SELECT rel_id FROM ff_internal.relation WHERE relname = 'doomed' AND closed_at IS NULL));
value(q(UPDATE ff_internal.relation SET relid = 'later'::regclass,
	created_xid = (SELECT created_xid FROM ff_internal.user_table WHERE relid = 'later'::regclass)
	WHERE relname = 'doomed' AND closed_at IS NULL));
moved('pg_restore', 604800);
is(value("SELECT closed_at IS NOT NULL FROM ff_internal.relation WHERE rel_id = $doomed"), 't',
	'pg_restore: the history of a table that did not come along is closed');
isnt(history('later'), $doomed, 'pg_restore: and not given to one whose numbers happen to be the same');
$node->safe_psql('postgres', 'DROP DATABASE shop');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', 'postgres', '-f', "$dir/shop.sql" ],
	'restored under its old name');
$database = 'shop';
moved('pg_dump -C', 777600);

# into the same database: the server and the database are the same, all OIDs are new
collect();
$before = value('SELECT count(*), max(began_at) FROM ff_internal.counter_interval');
$known = known($id);
$node->command_ok([ 'pg_dump', '-Fc', '-f', "$dir/same", 'shop' ], 'pg_dump');
$node->command_ok([ 'pg_restore', '--clean', '-d', 'shop', '--exit-on-error', "$dir/same" ],
	'pg_restore into the same database');
moved('pg_restore --clean', 777600);
is(value(q(SELECT reason FROM ff_internal.dismissal JOIN ff_internal.followed USING (rel_id)
	WHERE relid = 'still'::regclass)), 'seldom read', 'the dismissal came along each time');
work('UPDATE part_2 SET v = 2');
collect();
is(dismissed(), 'part_1 part_3', 'what was taken back before is not dismissed again');
new_partition('whole', 4);
is(dismissed(), 'part_1 part_3 part_4', 'later partitions are dismissed as before');

# a dump of half a day ago
value(q(DO $$
	DECLARE t record;
	BEGIN
		FOR t IN SELECT a.attrelid::regclass AS name,
				string_agg(format('%1$I = %1$I - interval ''12 hours''', a.attname), ', ') AS earlier
			FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
			WHERE c.relnamespace = 'ff_internal'::regnamespace AND c.relkind = 'r' AND a.attnum > 0
			AND a.atttypid = 'timestamptz'::regtype GROUP BY 1
		LOOP
			EXECUTE format('UPDATE %s SET %s', t.name, t.earlier);
		END LOOP;
	END $$));
# a table that is excluded and renamed, and a new one with its former name
value(q(SELECT ff_exclude('public.still_*'); ALTER TABLE still RENAME TO still_old; CREATE TABLE still (id int)));
collect();
$node->command_ok([ 'pg_dump', '-Fc', '-f', "$dir/old", 'shop' ], 'pg_dump of an older history');
$node->safe_psql('postgres', 'CREATE DATABASE staging');
my @restore = ('pg_restore', '-d', 'staging', '--exit-on-error', "$dir/old");
$node->command_ok([ @restore, '--section=pre-data' ], 'pg_restore for a look at it: definitions');
$database = 'staging';
my $restoring = $node->background_psql($database);
$restoring->query_safe(q(SET application_name = 'pg_restore'));
like(($node->psql($database, 'CALL ff_collect()'))[2], qr/pg_restore is at work in this database/,
	'a collection before the history is restored is refused');
$node->command_ok([ @restore, '--section=data', '--section=post-data' ], 'and data, the history with it');
like(($node->psql($database, 'CALL ff_collect()'))[2], qr/pg_restore is at work in this database/,
	'nor before all is restored');
$restoring->quit;
collect();
is(value(q(SELECT d.reason FROM ff_internal.dismissal d JOIN ff_internal.relation r USING (rel_id)
	WHERE r.relid = 'still_old'::regclass AND r.closed_at IS NULL)), 'seldom read', 'an excluded table keeps its history');
is(value(q(SELECT count(*) FROM ff_internal.fit f JOIN ff_internal.relation r USING (rel_id) WHERE r.relname = 't')), 1,
	'a restored history is judged by the first collection');

# pg_upgrade: from the oldest supported server on this machine, so from 15 where it is. Only where two releases do not
# go together even without the extension, from the next one, up to one of the same version, which it takes as well.
# FFA_OLDER_SERVERS has the pg_config of others, as test/run gives a chroot the machine's own.
sub major_of { my ($major) = `$_[0] --version 2>/dev/null` =~ /^PostgreSQL (\d+)/; return $major // 0; }
sub servers
{
	my $own = $node->config_data('--bindir') . '/pg_config';
	my @older;
	foreach my $config (split(/:/, $ENV{FFA_OLDER_SERVERS} || ''), glob('/usr/lib/postgresql/*/bin/pg_config'))
	{
		my $headers = `$config --includedir-server`;
		chomp $headers;
		push @older, $config
			if major_of($config) >= 15 && major_of($config) < $node->pg_version->major && -e "$headers/postgres.h";
	}
	return ((sort { major_of($a) <=> major_of($b) } @older), $own);
}

# The extension into that server, and no other of its releases.
my $top = "$FindBin::Bin/../..";
sub install_into
{
	my ($config) = @_;
	my $source = new_folder();
	chomp(my $extensions = `$config --sharedir`);
	unlink glob("'$extensions/extension/fillfactor_advisor'*");
	system(
		"cd '$top' && cp -a Makefile *.control sql src hub rehearsal monitoring '$source' && find '$source/src' " .
		"-name '*.o' -delete -o -name '*.bc' -delete")
		== 0
	  or die 'could not copy the source';
	build_extension($config, $source);
	return;
}

# whether a server came with that part of contrib
sub has { my ($server, $library) = @_; return -e $server->config_data('--pkglibdir') . "/$library.so"; }

# A cluster of the server with that pg_config, and one of this server: what is
# in the first is upgraded into the second.  Returns whether it was, and both.
my $upgrades = 0;
sub upgrade
{
	my ($config, $work) = @_;
	# checksums are a default since 18
	my @initdb = ('--locale=C', '--encoding=UTF8');
	my $bindir = dirname($config);
	my ($major) = `$config --version` =~ /^PostgreSQL (\d+)/;
	$upgrades++;
	my $old = PostgreSQL::Test::Cluster->new("older$upgrades", install_path => dirname($bindir));
	my $new = PostgreSQL::Test::Cluster->new("newer$upgrades");
	$old->init(extra => [ @initdb, $major >= 18 ? '--no-data-checksums' : () ]);
	$new->init(extra => [ @initdb, $new->pg_version->major >= 18 ? '--no-data-checksums' : () ]);
	$_->append_conf('postgresql.conf', "autovacuum = off\nshared_preload_libraries = '" .
		(has($old, 'pg_stat_statements') && has($new, 'pg_stat_statements') ? 'pg_stat_statements' : '') . "'")
		foreach $old, $new;
	$old->start;
	$work->($old);
	# some minor releases mark columns with an option that they need; releases without it refuse it
	$old->safe_psql('postgres',
		q(UPDATE pg_attribute SET attoptions = nullif(ARRAY(SELECT o
			FROM unnest(attoptions) o WHERE o !~ '^pg_attver='),
			'{}')
			WHERE attoptions IS NOT NULL))
	  if slurp_file($new->config_data('--bindir') . '/postgres') !~ /pg_attver/;
	$old->stop;
	my $done = PostgreSQL::Test::Utils::run_log([ 'pg_upgrade', '--no-sync', '-d', $old->data_dir, '-D', $new->data_dir,
		'-b', $bindir, '-B', $new->config_data('--bindir'),
			'-s', $new->host, '-p', $old->port, '-P', $new->port ]);
	if (!$done)
	{
		note substr(slurp_file($_), -2000)
			foreach glob("'" . $new->data_dir . "'/pg_upgrade_output.d/*/log/*dump_*.log");
	}
	return ($done, $old, $new);
}

$database = 'postgres';
$node->stop('fast', fail_ok => 1);
# A table with two intervals, a fit, and statements and a hub where there is contrib. The hub's source is the database.
my ($statements, $hub, $fit, $called, $fleet);
my $fits = q(SELECT f.made_at, f.choice, f.action, f.made_with, f.valid_for FROM ff_internal.fit f
	JOIN ff_internal.relation r USING (rel_id) WHERE r.relname = 't');
my $calls = q(SELECT count(DISTINCT s.statement_id), sum(h.calls), sum(h.rows) FROM ff_internal.statement s
	JOIN ff_internal.statement_history h USING (statement_id) JOIN ff_internal.statement_target USING (statement_id)
	WHERE command = 'UPDATE' AND relation_name = 't');
my $members = q(SELECT source, tables, changes, role FROM ff_fleet);
sub some_history
{
	$node = $_[0];
	$statements = $node->safe_psql('postgres', 'SHOW shared_preload_libraries') ne '';
	$hub = has($node, 'dblink') && has(PostgreSQL::Test::Cluster->new('any'), 'dblink');
	value('CREATE EXTENSION pg_stat_statements') if $statements;
	value('CREATE EXTENSION fillfactor_advisor' . ($hub ? '; CREATE EXTENSION fillfactor_advisor_hub CASCADE' : ''));
	value(q(
		CREATE TABLE t (id int PRIMARY KEY, v int);
		INSERT INTO t SELECT g, 0 FROM generate_series(1, 100) g;
		CREATE TABLE still AS SELECT * FROM t;
		CALL ff_collect()));
	foreach (1, 2)
	{
		work('UPDATE t SET v = v + 1;' x 10);
		collect();
	}
	$id = history('t');
	$before = value('SELECT count(*), max(began_at) FROM ff_internal.counter_interval');
	$known = known($id);
	($fit, $called) = (value($fits), value($calls));
	return unless $hub;
	my ($host, $port) = ($node->host, $node->port);
	value(qq{CREATE SERVER own FOREIGN DATA WRAPPER dblink_fdw
			OPTIONS (host '$host', port '$port', dbname 'postgres', connect_timeout '3');
		CREATE USER MAPPING FOR CURRENT_USER SERVER own;
		SELECT ff_fleet_add('own', 'own');
		CALL ff_fleet_refresh()});
	$fleet = value($members);
	return;
}
my ($from, $new, $here, $upgraded_from) = (undef, undef, $node->pg_version->major, 0);
my @servers = servers();
foreach my $server (@servers)
{
	my $major = major_of($server);
	my $config = copy_server($server);
	$from = "pg_upgrade from $major to $here";
	install_into($config);
	(my $upgraded, undef, $new) = upgrade($config, \&some_history);
	# Is it the extension, or do these two releases not go together?
	if (!$upgraded && !(upgrade($config, sub { $_[0]->safe_psql('postgres', 'CREATE TABLE t (id int)') }))[0])
	{
		diag "NOT TESTED: $from, which does not work without the extension, either";
		next;
	}
	ok($upgraded, $from);
	$upgraded_from = $major;
	last;
}
SKIP:
{
	skip 'no server of 15 here, from which each version has to be reached', 1 if major_of($servers[0]) != 15;
	is($upgraded_from, 15, "$from: it began at 15");
}
note $from;
$node = $new;
$node->start;
SKIP:
{
	skip 'no pg_stat_statements here', 2 unless $statements;
	like($called, qr/^1\|20\|2000$/, 'there were statements');
	is(value($calls), $called, "$from: statements are kept");
}
like($fit, qr/^.+\|/, 'there was a fit');
is(value($fits), $fit, "$from: the fit is kept");
SKIP:
{
	skip 'no dblink here', 3 unless $hub;
	like($fleet, qr/^own\|\d+\|\d+\|primary$/, 'there was a hub');
	is(value($members), $fleet, "$from: the hub's sources are kept");
	my ($host, $port) = ($node->host, $node->port);
	value("ALTER SERVER own OPTIONS (SET host '$host', SET port '$port'); CALL ff_fleet_refresh()");
	is(value('SELECT state FROM ff_fleet'), 'ok', "$from: and asked");
}
moved($from, 604800);
isnt(value($fits), $fit, "$from: the fit is made anew");
is(value(q(SELECT f.made_with = ff_internal.fit_made_with() AND f.valid_for = ff_internal.fit_valid_for(r.relid, 100)
	FROM ff_internal.fit f JOIN ff_internal.relation r USING (rel_id) WHERE r.relname = 't')), 't',
	"$from: and of this server");
SKIP:
{
	skip 'no pg_stat_statements here', 2 unless $statements;
	# another server numbers statements otherwise, so those of the old one are closed
	is(value(q(SELECT calls, rows FROM ff_statements() WHERE query = 'UPDATE t SET v = v + $1')), '20|2000',
		"$from: statements are still listed");
	work('UPDATE t SET v = 9 WHERE id <= 3');
	collect();
	# from 17 on, also its call before the first collection that showed it
	like(value(q(SELECT calls, rows FROM ff_statements('t') WHERE query ~ 'id <= ')), qr/^(1\|3|2\|6)$/,
		"$from: those of the new server are counted from now on");
}
$node->stop;
