# The script of changes is run as a user would run it: under load, with the wrong role, after tables changed, with names
# that contain code, twice, and with undo.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../perl";
use Beside qw(hold program_beside psql_beside watched_a_day with_provisional);
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More tests => 88;

my $dir  = PostgreSQL::Test::Utils::tempdir;
my $node = PostgreSQL::Test::Cluster->new('script');
# names beyond ASCII, whatever the environment's locale is
$node->init(allows_streaming => 1, extra => [ '-E', 'UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "track_io_timing = on\nautovacuum = off\nfsync = off");
$node->start;
my $db = q(s h'o"p$ff$);
$node->safe_psql('postgres', 'CREATE DATABASE "s h\'o""p$ff$"');

sub sql { return $node->safe_psql($db, shift); }
# A collection that does not ask the model: watched_a_day() does, and a way back needs none.
sub collect { return sql('SET fillfactor_advisor.fits = 0; CALL ff_collect()'); }

# Runs a file with psql; returns its exit status and its output.
sub run_file
{
	my ($file, %how) = @_;
	my ($out, $err) = ('', '');
	IPC::Run::run([ 'psql', '-X', '-q', '-d', $how{db} // $node->connstr($db), '-U',
		$how{user} // $ENV{PGUSER} // getpwuid($>), ($how{undo} ? ('-v', 'undo=on') : ()), '-f', $file ],
		'>', \$out, '2>', \$err, IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	return ($? >> 8, $out . $err);
}

sub write_file
{
	my ($name, $text) = @_;
	open my $f, '>:raw', "$dir/$name" or die $!;
	print $f $text, "\n";
	close $f;
	return "$dir/$name";
}

# The script including provisional changes.
sub script
{
	return with_provisional(sql("SELECT * FROM ff_script($_[0])"));
}

sql(q{
	CREATE EXTENSION fillfactor_advisor;
	CREATE ROLE alice LOGIN;
	CREATE TABLE tables (rel regclass, label text PRIMARY KEY);
	CREATE TABLE before (label text PRIMARY KEY, options text, sum text);

	CREATE PROCEDURE make(schema text, name text, label text, options text) LANGUAGE plpgsql AS $$
	BEGIN
		EXECUTE format(
			'CREATE TABLE %I.%I (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, batch int NOT NULL, '
			'status int NOT NULL DEFAULT 0, payload text) %s',
			schema, name, options);
		EXECUTE format('CREATE INDEX ON %I.%I (batch)', schema, name);
		INSERT INTO tables VALUES (format('%I.%I', schema, name)::regclass, label);
	END $$;

	-- a batch comes in, and all of it is updated by the next transaction
	CREATE PROCEDURE batches(n int, only_label text DEFAULT NULL) LANGUAGE plpgsql AS $$
	DECLARE t regclass;
	BEGIN
		FOR i IN 1..n LOOP
			FOR t IN SELECT rel FROM tables WHERE label <> 'log' AND (only_label IS NULL OR label = only_label) LOOP
				EXECUTE
					format('INSERT INTO %s (batch, payload) SELECT $1, repeat(''p'', 90) FROM generate_series(1, 500)',
					t) USING i
					+ (random() * 1e9)::int;
				COMMIT;
				EXECUTE
					format('UPDATE %1$s SET status = 1 WHERE batch = (SELECT batch FROM %1$s ORDER BY id DESC LIMIT 1)',
					t);
				COMMIT;
			END LOOP;
		END LOOP;
	END $$;

	CREATE FUNCTION sums() RETURNS TABLE (label text, options text, sum text) LANGUAGE plpgsql AS $$
	DECLARE t record;
	BEGIN
		FOR t IN SELECT k.*, c.reloptions::text AS o FROM tables k JOIN pg_class c ON c.oid = k.rel LOOP
			label := t.label; options := t.o;
			EXECUTE format('SELECT md5(string_agg(x::text, E''\n'' ORDER BY id)) FROM %s x', t.rel) INTO sum;
			RETURN NEXT;
		END LOOP;
	END $$;
});

# Names that would do something if they were not quoted, in a schema with such a name.
my $marker = "$dir/marker";
my %hostile = (
	quotes    => q{a"b'c""d''},
	newline   => "x\n\\! touch $marker",
	cr        => "x\r\\! touch $marker",
	statement => q{'; DROP TABLE jobs; --},
	prefix    => "x\n\\if :provisional \\! touch $marker",
	format    => q{%I %1$s %% $ff$ $$ :jobs :'x' */ /*},
	backslash => q{\\! \\q \\\\ \\"},
	utf8      => "\xc3\xa4" x 31 . 'x',            # 63 bytes
	bidi      => "a\xe2\x80\xae\xe2\x80\xa8b",
);
my $schema = qq{S"'\n\\! touch $marker};

sub literal { my $x = shift; $x =~ s/\\/\\\\/g; $x =~ s/'/''/g; return " E'$x'"; }
sub name { my $x = shift; $x =~ s/"/""/g; return qq{"$x"}; }

sql('CREATE SCHEMA ' . name($schema));
sql(qq{
	CALL make('public', 'jobs', 'jobs', '');
	CALL make('public', 'explicit', 'explicit', 'WITH (fillfactor = 100)');
	CALL make('public', 'odd', 'odd',
		'WITH (autovacuum_vacuum_threshold = 77, fillfactor = ''95.5'', autovacuum_vacuum_scale_factor = 0.1)');
	CALL make('public', 'hex', 'hex', 'WITH (fillfactor = ''0x60'')');
	CALL make('public', 'renamed', 'renamed', '');
	CALL make('public', 'dropped', 'dropped', '');
	CALL make('public', 'changed', 'changed', '');
	CALL make('public', 'locked', 'locked', '');
	CALL make('public', 'alices', 'alices', '');
	ALTER TABLE alices OWNER TO alice;
});
sql('CALL make(' . literal($schema) . ', ' . literal($hostile{$_}) . ", 'hostile $_', '')") for sort keys %hostile;
for my $round (1 .. 3)
{
	sql('CALL batches(3); SELECT pg_stat_force_next_flush()');
	collect();
}

watched_a_day($node, $db);

# Every table must be advised, or the tests below prove nothing.
my $many = sql(q{SELECT count(*) FROM tables});
is(sql(q{SELECT count(*) FROM ff_advise() a JOIN tables t ON t.rel = a.relation WHERE a.action = 'lower'}), $many,
	'all tables are advised to change');
sql(q{CREATE TABLE advised AS
	SELECT t.label, a.recommended_fillfactor AS fillfactor FROM ff_advise() a
	JOIN tables t ON t.rel = a.relation});
my $hot_before = sql(q{SELECT round(100.0 * n_tup_hot_upd / n_tup_upd)
	FROM pg_stat_user_tables WHERE relname = 'jobs'});
cmp_ok($hot_before, '<', 50, 'few updates are HOT before');

my $text = script('');
my $file = write_file('script.sql', $text);
unlike($text, qr/\r|\e|\xe2\x80\xae/, 'the script has no control character');
sql('INSERT INTO before SELECT * FROM sums()');

# Another database, even one of the same server.
$node->safe_psql('postgres', 'CREATE TABLE jobs (x int)');
my ($status, $said) = run_file($file, db => $node->connstr('postgres'));
is($status, 3, 'in another database: the script ends with an error');
like($said,
	qr/ERROR: .*refused: made for another database or server: database \Q$db\E of cluster \d+, not database postgres /,
	'in another database: refused');
# A database of the same name on another server, imitated by another system identifier.
my $identifier = sql('SELECT system_identifier FROM pg_control_system()');
($status, $said) = run_file(write_file('elsewhere.sql', $text =~ s/\b$identifier\b/1234567890123456789/gr));
is($status, 3, 'made for another server: the script ends with an error');
like($said, qr/ERROR: .*refused: made for another database or server/, 'made for another server: refused');
is(sql(q{SELECT count(*) FROM before b JOIN sums() s USING (label) WHERE b.options IS DISTINCT FROM s.options}), '0',
	'made for another server: nothing is changed');

# A role that owns one of the tables, and may not read the identifier.
sql('REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC');
($status, $said) = run_file($file, user => 'alice');
sql('GRANT EXECUTE ON FUNCTION pg_control_system() TO PUBLIC');
is($status, 3, 'as an owner of one table: the script ends with an error');
like($said, qr/NOTICE:  public\.alices: done:/, 'as an owner of one table: this table is changed');
is(scalar(() = $said =~ /WARNING: .*refused: .*SQLSTATE 42501/g), $many - 1,
	'as an owner of one table: the others are refused');
like($said, qr/1 done, 0 unchanged, @{[$many - 1]} refused/, 'as an owner of one table: the totals are right');
is(sql(q{SELECT string_agg(b.label, ',') FROM before b JOIN sums() s USING (label)
	WHERE b.options IS DISTINCT FROM s.options}),
	'alices', 'no other table was changed');

# In an open transaction psql would report changes as done that are never committed.
foreach my $how ([ '-c', 'BEGIN' ], ['-1'], [ '-v', 'AUTOCOMMIT=off', '-c', 'SELECT 1' ])
{
	my ($out, $err) = ('', '');
	IPC::Run::run([ 'psql', '-X', '-q', '-d', $node->connstr($db), @$how, '-f', $file ], '>', \$out, '2>', \$err,
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	is($? >> 8, 3, "@$how: the script ends with an error");
	like($err, qr/ERROR:  a transaction is open/, "@$how: the error names the open transaction");
	unlike($err, qr/done/, "@$how: nothing was run");
}

# With unusual session settings and a hostile search_path.
sql(q{
	CREATE SCHEMA evil;
	CREATE FUNCTION evil.current_database() RETURNS name
		LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'evil'; RETURN 'x'; END $$;
	CREATE FUNCTION evil.same(name, text) RETURNS boolean
		LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'evil'; RETURN true; END $$;
	CREATE OPERATOR evil.= (LEFTARG = name, RIGHTARG = text, FUNCTION = evil.same);
	CREATE DOMAIN evil.text AS pg_catalog.text CHECK (evil.current_database() = 'x');
});
{
	local $ENV{PGOPTIONS} = '-c search_path=evil,public'
		. ($node->safe_psql('postgres', 'SHOW server_version_num') < 190000
			? ' -c standard_conforming_strings=off'
			: '')
		. ' -c default_transaction_isolation=serializable';
	($status, $said) = run_file($file, user => 'alice');
	like($said, qr/NOTICE:  public\.alices: unchanged: already in force/,
		'with a hostile search_path: the result is the same');
	unlike($said, qr/evil/, 'with a hostile search_path: no hostile function is called');
}

# Some tables have changed, one is locked, and there is load.
sql(q{
	ALTER TABLE renamed RENAME TO renamed_now;
	CREATE TABLE renamed (x int);
	DROP TABLE dropped;
	CREATE TABLE dropped (x int);
	DELETE FROM tables WHERE label = 'dropped';
	ALTER TABLE changed SET (autovacuum_enabled = off);
});
my ($lock_out, $load_out) = ('', '');
my $lock = IPC::Run::start([ 'psql', '-X', '-q', '-d', $node->connstr($db), '-c',
	'BEGIN; LOCK TABLE locked IN SHARE UPDATE EXCLUSIVE MODE; SELECT pg_sleep(3600)' ],
	'>&', \$lock_out);
$node->poll_query_until($db,
	q{SELECT EXISTS (SELECT 1 FROM pg_locks
		WHERE relation = 'locked'::regclass AND mode = 'ShareUpdateExclusiveLock' AND granted)});
my $bench = write_file('load.sql', q{\set b random(1, 1000000000)
INSERT INTO jobs (batch, payload) SELECT :b, repeat('p', 90) FROM generate_series(1, 50);
UPDATE jobs SET status = 1 WHERE batch = :b;});
my $load = IPC::Run::start([ 'pgbench', '-n', '-c', '2', '-R', '100', '-T', '10', '-f', $bench, $node->connstr($db) ],
	'>&',
	\$load_out);
$node->poll_query_until($db,
	q{SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE query ~ '^(INSERT INTO|UPDATE) jobs')});

my $began = time;
($status, $said) = run_file($file);
my $took = time - $began;
is($status, 3, 'after changes: the script ends with an error');
like($said, qr/WARNING:  public\.renamed: refused: renamed to public\.renamed_now/, 'renamed: refused');
like($said, qr/WARNING:  public\.dropped: refused: it is gone/, 'dropped and created again: refused');
like($said, qr/WARNING:  public\.changed: refused: its options are \{autovacuum_enabled=off\}, expected were none/,
	'other options: refused');
like($said, qr/WARNING:  public\.locked: refused: locked, run this again later/, 'locked: refused');
cmp_ok($took, '<', 200, 'locked: the script does not wait for long');
like($said, qr/NOTICE:  public\.alices: unchanged: already in force/, 'applied before: the script says so');
like($said, qr/@{[$many - 5]} done, 1 unchanged, 4 refused/, 'after changes: all other tables are changed');
is($node->safe_psql($db,
	q{SELECT count(*) FROM pg_class WHERE relname IN ('renamed', 'dropped', 'renamed_now') AND reloptions IS NOT NULL}),
	'0', 'no table that took over a name was changed');
$load->finish;

unlike($load_out, qr/aborted|ERROR/, 'no statement of the load failed');

sql(q{SELECT pg_terminate_backend(pid) FROM pg_locks
	WHERE relation = 'locked'::regclass AND mode = 'ShareUpdateExclusiveLock'});
eval { $lock->finish };
($status, $said) = run_file($file);
like($said, qr/NOTICE:  public\.locked: done:/, 'run again: the lock is free');
like($said, qr/1 done, @{[$many - 4]} unchanged, 3 refused/, 'run again: the other changes are in force already');
is(sql(q(SELECT count(*) FROM sums() JOIN advised a USING (label)
	WHERE options LIKE '%fillfactor=' || a.fillfactor || '}' AND label <> 'changed')),
	$many - 3, 'all have the advised fillfactor');
is(sql(q{SELECT string_agg(b.label, ',') FROM before b JOIN sums() s USING (label) WHERE b.sum <> s.sum}), 'jobs',
	'rows changed only where there was load');
ok(!-e $marker, 'no name was run as a command');
is(sql(q{SELECT to_regclass('public.jobs')}), 'jobs', 'no name was run as a statement');

sql(q{SELECT pg_stat_reset_single_table_counters('jobs'::regclass)});
sql(q{CALL batches(10, 'jobs'); SELECT pg_stat_force_next_flush()});
my $hot_after = sql(q{SELECT round(100.0 * n_tup_hot_upd / n_tup_upd) FROM pg_stat_user_tables WHERE relname = 'jobs'});
cmp_ok($hot_after, '>', 85, "updates are HOT now: $hot_after % after $hot_before %");

($status, $said) = run_file($file, undo => 1);
like($said, qr/@{[$many - 3]} done, 0 unchanged, 3 refused/, 'undo: all changes are undone');
is(sql(q{SELECT string_agg(b.label || ': ' || coalesce(s.options, 'NULL'), E'\n')
	FROM before b JOIN sums() s USING (label)
		WHERE b.options IS DISTINCT FROM s.options AND label <> 'changed'}), '',
		'undo: the options have their old texts');
is(sql(q{SELECT string_agg(coalesce(options, 'NULL'), ' ' ORDER BY label) FROM sums()
	WHERE label IN ('jobs', 'explicit', 'odd', 'hex')}),
	'{fillfactor=100} {fillfactor=0x60} NULL ' .
	'{autovacuum_vacuum_threshold=77,fillfactor=95.5,autovacuum_vacuum_scale_factor=0.1}',
	'undo: absent, explicit, fraction and hexadecimal differ');
($status, $said) = run_file($file, undo => 1);
like($said, qr/0 done, @{[$many - 3]} unchanged, 3 refused/, 'undo: a second run changes nothing');
ok(!-e $marker, 'undo: no name was run as a command');

# the same without the file: from the history
my $explicit = write_file('explicit.sql', script(q{'explicit'}));
run_file($file);
collect();
sql('ALTER TABLE jobs SET (autovacuum_vacuum_threshold = 99)');
sql('CREATE TABLE by_hand (i int)');
sql('CALL ff_collect()');
sql('ALTER TABLE by_hand SET (fillfactor = 77)');
sql('CALL ff_collect()');
unlike(script('undo => true'), qr/by_hand/, 'undo from the history: not of what was not advised');
like(script(q{'by_hand', undo => true}), qr/^CALL pg_temp.ff_change\('\{public,by_hand,/m,
	'undo from the history: but if it is named');
my $way_back = write_file('way_back.sql', script('undo => true'));
($status, $said) = run_file($way_back);
like($said, qr/@{[$many - 3]} done, 0 unchanged, 0 refused/,
	'undo from the history: all changes that were advised are undone');
is(sql(q{SELECT string_agg(b.label || ': ' || coalesce(s.options, 'NULL'), E'\n')
	FROM before b JOIN sums() s USING (label)
		WHERE b.options IS DISTINCT FROM s.options AND label NOT IN ('changed', 'jobs')}), '',
		'undo from the history: the options have their old texts');
is(sql(q{SELECT options FROM sums() WHERE label = 'jobs'}), '{autovacuum_vacuum_threshold=99}',
	'undo from the history: what others changed since stays');
($status, $said) = run_file($way_back);
like($said, qr/0 done, @{[$many - 3]} unchanged, 0 refused/, 'undo from the history: a second run changes nothing');
sql('ALTER TABLE jobs RESET (autovacuum_vacuum_threshold)');
collect();
unlike(script('undo => true'), qr/ff_change/, 'undo from the history: what was undone is not undone again');
ok(!-e $marker, 'undo from the history: no name was run as a command');

# Somebody else changes an option between the guard and the lock, for which the script waits meanwhile.
my $until_waited_for = hold($node, $db, 1);
my $other = psql_beside($node, $db, 'BEGIN', 'ALTER TABLE explicit SET (autovacuum_enabled = off)',
	'SELECT pg_advisory_xact_lock(1)', 'COMMIT');
$until_waited_for->reached;
my $running = program_beside('psql', '-X', '-q', '-d', $node->connstr($db), '-f', $explicit);
$node->poll_query_until($db,
	q{SELECT EXISTS (SELECT 1 FROM pg_locks WHERE relation = 'explicit'::regclass AND NOT granted)});
$until_waited_for->release;
$other->ended;
like($running->ended, qr/public\.explicit: refused: changed by somebody else meanwhile/,
	'changed between guard and lock: refused');
is(sql(q{SELECT reloptions::text FROM pg_class WHERE relname = 'explicit'}), '{fillfactor=100,autovacuum_enabled=off}',
	'changed between guard and lock: no object of the script stays');

# ---------------------------------------------------------------------------
# Rewrites: tables with inserts only, at half density
# ---------------------------------------------------------------------------
# in a database with a name that pg_repack can connect to
$db = 'rewrites';
$node->safe_psql('postgres', 'CREATE DATABASE rewrites');
sql('CREATE EXTENSION fillfactor_advisor');
sub relfilenode { return sql("SELECT relfilenode FROM pg_class WHERE oid = '$_[0]'::regclass"); }

sql(q{
	CREATE TABLE log_key (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, line text) WITH (fillfactor = 50);
	CREATE TABLE log_plain (id bigint GENERATED ALWAYS AS IDENTITY, line text) WITH (fillfactor = '50.4');
});
for my $round (1 .. 3)
{
	sql("INSERT INTO $_ (line) SELECT repeat('l', 100) FROM generate_series(1, 6000);
		SELECT pg_stat_force_next_flush()")
		for qw(log_key log_plain);
	collect();
}
watched_a_day($node, $db);
my %sums = map { $_ => sql("SELECT md5(string_agg(x::text, E'\\n' ORDER BY id)) FROM $_ x
	WHERE id <= 18000") } qw(log_key log_plain);
my %files = map { $_ => relfilenode($_) } qw(log_key log_plain);
my $plain_size = sql(q{SELECT pg_relation_size('log_plain')});

# by default they are left out, and running the script rewrites nothing
my $plain = write_file('plain.sql', script(q{'log_plain'}));
($status, $said) = run_file($plain);
is($status, 0, 'no rewrite requested: the option is changed');
is(relfilenode('log_plain'), $files{log_plain}, 'no rewrite requested: no rewrite runs');
sql(q{ALTER TABLE log_plain SET (fillfactor = '50.4')});

# VACUUM FULL, first with a reader that keeps its lock
$text = script(q{'log_plain', true});
my $live = write_file('live.sql', $text);
$lock = IPC::Run::start([ 'psql', '-X', '-q', '-d', $node->connstr($db), '-c',
	'BEGIN; LOCK TABLE log_plain IN ACCESS SHARE MODE; SELECT pg_sleep(3600)' ],
	'>&', \$lock_out);
$node->poll_query_until($db,
	q{SELECT EXISTS (SELECT 1 FROM pg_locks
		WHERE relation = 'log_plain'::regclass AND mode = 'AccessShareLock' AND granted)});
($status, $said) = run_file($live);
is($status, 3, 'VACUUM FULL, table in use: the script ends with an error');
like($said, qr/done: ALTER TABLE public\.log_plain SET \(fillfactor = \d+\)/,
	'VACUUM FULL, table in use: the change is made');
like($said, qr/WARNING:  public\.log_plain: refused: not rewritten, see the messages above/,
	'VACUUM FULL, table in use: the rewrite gives up');
is(relfilenode('log_plain'), $files{log_plain}, 'VACUUM FULL, table in use: the table was not rewritten');
sql(q{SELECT pg_terminate_backend(pid) FROM pg_locks
	WHERE relation = 'log_plain'::regclass AND mode = 'AccessShareLock'});
eval { $lock->finish };
($status, $said) = run_file($live);
is($status, 0, 'VACUUM FULL, run again: no error');
like($said, qr/1 done, 1 unchanged, 0 refused/, 'VACUUM FULL, run again: only the rewrite runs');
cmp_ok(sql(q{SELECT pg_relation_size('log_plain')}), '<', 0.6 * $plain_size, 'VACUUM FULL: the table is smaller');
my $rewritten = relfilenode('log_plain');
($status, $said) = run_file($live);
like($said, qr/0 done, 2 unchanged, 0 refused/, 'VACUUM FULL, a third time: nothing is done');
is(relfilenode('log_plain'), $rewritten, 'VACUUM FULL, a third time: the table is not rewritten again');
is(sql(q{SELECT md5(string_agg(x::text, E'\n' ORDER BY id)) FROM log_plain x}), $sums{log_plain},
	'VACUUM FULL: the rows are the same');
run_file($live, undo => 1);
is(relfilenode('log_plain'), $rewritten, 'VACUUM FULL: an undo does not run it');
is(sql(q{SELECT reloptions::text FROM pg_class WHERE oid = 'log_plain'::regclass}), '{fillfactor=50.4}',
	'VACUUM FULL: an undo resets the option');

# Rewrites without a long exclusive lock, with the method that this server has.
SKIP:
{
	my $version = sql('SHOW server_version_num');
	my $repack = sql(q{SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_repack'})
		&& !system('pg_repack --version >/dev/null 2>&1');
	my $method = $version >= 190000 ? 'REPACK \(CONCURRENTLY\)' : 'pg_repack';
	skip 'no pg_repack for this server', 7 unless $repack || $version >= 190000;

	sql('CREATE EXTENSION pg_repack') if $version < 190000;
	$text = script(q{'log_key', true});
	like($text, qr/^-- public.log_key by $method: /m, "$method is chosen");
	my $insert = write_file('insert.sql',
		"INSERT INTO log_key (line)
			VALUES
				(repeat('l', 100));\nUPDATE log_key SET line = line || '!' WHERE id = (SELECT max(id) FROM log_key);");
	$load = IPC::Run::start([ 'pgbench', '-n', '-c', '2', '-R', '100', '-T', '6', '-f', $insert, $node->connstr($db) ],
		'>&',
		\$load_out);
	$node->poll_query_until($db, q{SELECT count(*) > 18010 FROM log_key});
	($status, $said) = run_file(write_file('repack.sql', $text));
	is($status, 0, "$method under load: the script succeeds") or diag $said;
	like($said, qr/2 done, 0 unchanged, 0 refused/, "$method under load: changed and rewritten");
	$load->finish;
	unlike($load_out, qr/aborted|ERROR/, "$method under load: no statement of the load failed");
	isnt(relfilenode('log_key'), $files{log_key}, "$method: the table has a new file");
	is(sql(q{SELECT md5(string_agg(x::text, E'\n' ORDER BY id)) FROM log_key x WHERE id <= 18000}), $sums{log_key},
		"$method: the rows are the same");
	($status, $said) = run_file("$dir/repack.sql");
	like($said, qr/0 done, 2 unchanged, 0 refused/, "$method: a second run changes nothing");
}

# ---------------------------------------------------------------------------
# Cautions about replication slots and standbys
# ---------------------------------------------------------------------------
unlike($text, qr/^-- caution:/m, 'no caution without replication');
$node->safe_psql('postgres', q{SELECT pg_create_physical_replication_slot('kept', true)});
$node->backup('copy');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'copy', has_streaming => 1);
$standby->start;
sql(q{CREATE TABLE log_copied (id bigint GENERATED ALWAYS AS IDENTITY, line text) WITH (fillfactor = 40);
	CREATE TABLE seen (id int PRIMARY KEY, at int); CREATE INDEX ON seen (at);
	INSERT INTO seen SELECT i, i FROM generate_series(1, 1000) i});
sql(q{UPDATE seen SET at = at + 1; INSERT INTO log_copied (line) SELECT repeat('l', 100) FROM generate_series(1, 6000);
	SET fillfactor_advisor.fits = 0; CALL ff_collect()})
	for 1 .. 3;
watched_a_day($node, $db);
my $lsn = $node->lsn('insert');
$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_replication});
$node->wait_for_catchup($standby, 'replay', $lsn);
$text = script(q{'log_copied'});
like($text, qr/^-- caution:   replication slot kept \(not active\) is .* of WAL behind/m,
	'the caution names a slot');
like($text, qr/^-- caution:   standby or subscriber standby is .* of WAL behind/m, 'the caution names a standby');
$text = $standby->safe_psql($db, q{SELECT * FROM ff_script('log_copied')});
like($text, qr/^-- caution:   this server is a standby/m, 'the script from a standby says that it comes from one');
like($text, qr/ALTER TABLE public\.log_copied SET/, "the standby's script has its changes");
($status, $said) = run_file(write_file('standby.sql', $text), db => $standby->connstr($db));
is($standby->safe_psql($db, q{SELECT DISTINCT scans IS NULL, suggestion ~ 'counted on the primary', ddl IS NULL
	FROM ff_blockers('seen') WHERE index = 'seen_at_idx'::regclass}), 't|t|t',
	'a standby does not know the scans of its primary');
is($status, 3, 'run on the standby: the script ends with an error');
like($said, qr/ERROR:  this server is a standby: run the script on its primary/, 'run on the standby: refused');
# with a slot, what a query of the standby holds back is the slot's
$node->safe_psql('postgres', q{SELECT pg_create_physical_replication_slot('streams')});
$standby->append_conf('postgresql.conf',
	"primary_slot_name = 'streams'\nhot_standby_feedback = on\nwal_receiver_status_interval = 1");
$standby->restart;
my $reader = $standby->background_psql($db);
$reader->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM log_copied');
$node->poll_query_until($db, q{SELECT xmin IS NOT NULL AND active FROM pg_replication_slots WHERE slot_name = 'streams'});
is(sql(q{SELECT kind || ', ' || suggestion FROM ff_horizon() WHERE holder = 'slot streams'}),
	'standby feedback, long queries on the standby, with hot_standby_feedback on, hold it back here',
	'the slot of a standby that streams is not to be dropped');
is($standby->safe_psql($db, 'SELECT count(*) FROM ff_horizon() WHERE now'), 0, 'the standby names no session of its own');
$reader->quit;
$standby->stop;
$node->append_conf('postgresql.conf', 'wal_level = logical');
$node->restart;
sql(q{SELECT pg_create_logical_replication_slot('decoder', 'pgoutput'); CREATE TABLE later ()});
is(sql(q{SELECT xmin IS NULL AND age(catalog_xmin) > 0,
	(SELECT count(*) FROM ff_horizon() WHERE holder = 'slot decoder')
	FROM pg_replication_slots WHERE slot_name = 'decoder'}), 't|0', 'a slot for decoding holds back system catalogs only');

$node->stop;