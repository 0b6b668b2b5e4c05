# A hub and its sources: good ones and every kind of bad one. A source that is dead, slow or lying costs its own time
# limit and nothing else.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../../test/perl";
use Beside qw(psql_beside with_provisional);
use IO::Socket::INET;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hub = PostgreSQL::Test::Cluster->new('hub');
$hub->init;
$hub->start;
plan skip_all => 'this server came without dblink'
  if $hub->safe_psql('postgres', q(SELECT count(*) FROM pg_available_extensions WHERE name = 'dblink')) eq '0';
my $there = PostgreSQL::Test::Cluster->new('there');
$there->init;
# names of hub and source are the same; nothing else is
$there->append_conf('postgresql.conf', "max_connections = 100\nlog_statement = none");
$there->start;
$hub->safe_psql('postgres', 'CREATE EXTENSION fillfactor_advisor_hub CASCADE');

sub value { return $hub->safe_psql('postgres', $_[0]); }

# Adds a database of the other server as a source, with a foreign server of the same name.
sub source
{
	my ($name, %options) = @_;
	%options = (host => $there->host, port => $there->port, dbname => $name, connect_timeout => 10, %options);
	my $user = delete $options{user} // $there->safe_psql('postgres', 'SELECT current_user');
	my $list = join ', ', map { "$_ '$options{$_}'" } sort keys %options;
	value(qq(CREATE SERVER "$name" FOREIGN DATA WRAPPER dblink_fdw OPTIONS ($list);
		CREATE USER MAPPING FOR CURRENT_USER SERVER "$name" OPTIONS (user '$user');
		SELECT ff_fleet_add('$name', '$name')));
	return;
}

# A database with the extension and a table.
sub good
{
	my ($name) = @_;
	$there->safe_psql('postgres', qq(CREATE DATABASE "$name"));
	$there->safe_psql($name,
		qq(CREATE EXTENSION fillfactor_advisor; CREATE TABLE "table of $name" (id int); CALL ff_collect()));
	source($name);
	return;
}

# A database that answers the hub with this function.
sub bad
{
	my ($name, $function) = @_;
	$there->safe_psql('postgres', qq(CREATE DATABASE "$name"));
	$there->safe_psql($name, "CREATE SCHEMA ff_internal; CREATE FUNCTION ff_internal.export() $function");
	source($name);
	return;
}

sub refresh
{
	my ($call) = @_;
	my ($status, $out, $err) = $hub->psql('postgres', $call // 'CALL ff_fleet_refresh()');
	is($status, 0, 'the refresh succeeds') or diag $err;
	my ($notice) = $err =~ /NOTICE:\s+(.*)/;
	return $notice;
}

# ---------------------------------------------------------------------------
# Good ones
# ---------------------------------------------------------------------------
good('one');
good('two');
is(refresh(), '2 of 2 sources answered, 0 failed, 0 were not asked', 'two sources are added');
is(value(q(SELECT string_agg(concat_ws(' ', source, database, role, state, tables), ', ' ORDER BY source)
	FROM ff_fleet)),
	'one one primary ok 1, two two primary ok 1', 'both sources are known');
is(value(q(SELECT string_agg(source || ': ' || relation, ', ' ORDER BY source) FROM ff_fleet_advice)),
	'one: public."table of one", two: public."table of two"', 'the fleet lists the tables of both sources');
is(value(q(SELECT bool_and(collected_at IS NOT NULL
	AND server_version / 10000 = current_setting('server_version_num')::int / 10000
	AND version = '1.0.0' AND timeline = 1)
	FROM ff_fleet)),
	't', 'the state of both sources is complete');

# the question is asked read only, with an empty path and timeouts
$there->safe_psql('two', q(CREATE FUNCTION ff_internal.asked_with() RETURNS text LANGUAGE sql AS
	$$
		SELECT concat_ws(' ', current_setting('transaction_read_only'), '<' || current_setting('search_path') || '>',
			current_setting('lock_timeout'), current_setting('statement_timeout')) $$));
is(value(q(CREATE FUNCTION pg_temp.answer() RETURNS text LANGUAGE plpgsql AS $$
	DECLARE said text;
	BEGIN
		PERFORM ff_hub.send('x', 'two', 'SELECT ff_internal.asked_with()', '20 s');
		WHILE said IS NULL LOOP
			PERFORM pg_sleep(0.01);
			said := ff_hub.answer('x');
		END LOOP;
		RETURN said;
	END $$;
	SELECT pg_temp.answer())), 'on <""> 2s 18s', 'a source is asked with safe settings');

# the role on the source needs only the rights of a reader
$there->safe_psql('two', q(CREATE ROLE just_reads LOGIN; SELECT ff_grant('just_reads', 'reader')));
value(q(ALTER USER MAPPING FOR CURRENT_USER SERVER two OPTIONS (SET user 'just_reads')));
is(refresh(), '2 of 2 sources answered, 0 failed, 0 were not asked',
	'a role with the rights of a reader can be asked');
$there->safe_psql('two', 'REVOKE pg_read_all_stats FROM just_reads');
is(refresh(), '1 of 2 sources answered, 1 failed, 0 were not asked',
	'a role without pg_read_all_stats cannot be asked');
is(value(q(SELECT state || ': ' || error || ' ' || tables FROM ff_fleet WHERE source = 'two')),
	'failing: 42501 permission denied for function export 1', 'its row says so and keeps the earlier answer');
is(value(q(SELECT source || ' ' || note FROM ff_fleet_advice WHERE note IS NOT NULL)), 'two stale',
	'the earlier answer is marked as stale');
$there->safe_psql('two', q(SELECT ff_grant('just_reads', 'reader')));

# ---------------------------------------------------------------------------
# Bad ones
# ---------------------------------------------------------------------------
my $silent = IO::Socket::INET->new(Listen => 5, LocalAddr => '127.0.0.1') or die "no socket: $!";
# nobody else gets its port
my $closed = IO::Socket::INET->new(Proto => 'tcp', LocalAddr => '127.0.0.1') or die "no socket: $!";
my %expected = (
	refused => qr/^08001 could not establish connection: .*Connection refused/,
	silent => qr/^08001 could not establish connection: .*timeout expired/,
	nowhere => qr/^08001 could not establish connection: .*database "\.\.\." does not exist/,
	bare => qr/^3F000 schema "ff_internal" does not exist/,
	# after 18 seconds, or after the hub's 20 seconds on a very slow machine
	sleeps => qr/^38000 (canceling statement due to statement timeout|it did not answer within 00:00:20)/,
	deaf => qr/^38000 it did not answer within 00:00:20/,
	locked => qr/^55P03 canceling statement due to lock timeout/,
	text => qr/^22P02 invalid input syntax for type json/,
	nothing => qr/^22023 this is not an export of the extension/,
	number => qr/^22023 this is not an export of the extension/,
	future => qr/^0A000 the export has format 99, and this hub reads formats up to 1 Upgrade the extension on /,
	large => qr/^54000 its answer is larger than 64 MB/,
	many => qr/^21000 more than one row returned by a subquery/,
	writes => qr/^25006 cannot execute CREATE TABLE in a read-only transaction/,
	asserts => qr/^38000 no/,
	cancels => qr/^38000 I say so/,
	ends => qr/^(57P01 terminating connection|08006 the connection ended without an answer)/,
	markup => qr/^22P02 /);
source('refused', host => '127.0.0.1', port => $closed->sockport);
source('silent', host => '127.0.0.1', port => $silent->sockport, connect_timeout => 2);
source('nowhere');
$there->safe_psql('postgres', 'CREATE DATABASE bare');
source('bare');
bad('sleeps', 'RETURNS jsonb LANGUAGE sql AS $$ SELECT jsonb_build_object(pg_sleep(3600)::text, 1) $$');
bad('deaf',
	'RETURNS text
		LANGUAGE plpgsql AS $$ BEGIN FOR i IN 1 .. 3 LOOP BEGIN PERFORM pg_sleep(15);
			EXCEPTION WHEN query_canceled THEN NULL; END; END LOOP; RETURN 1; END $$');
bad('locked',
	'RETURNS text LANGUAGE sql AS $$ SELECT count(*)::text FROM ff_internal.held $$ SET check_function_bodies = off');
bad('text', q(RETURNS text LANGUAGE sql AS $$ SELECT 'It is fine, thank you.'::text $$));
bad('nothing', 'RETURNS text LANGUAGE sql AS $$ SELECT NULL::text $$');
bad('number', 'RETURNS int LANGUAGE sql AS $$ SELECT 42 $$');
bad('future', q(RETURNS jsonb LANGUAGE sql AS $$ SELECT '{"format": 99, "advice": [], "more": {}}'::jsonb $$));
bad('large', q(RETURNS text LANGUAGE sql AS $$ SELECT repeat('x', 100000000) $$));
bad('many', q(RETURNS SETOF int LANGUAGE sql AS $$ SELECT generate_series(1, 1000000) $$));
bad('writes', q(RETURNS text LANGUAGE plpgsql AS $$ BEGIN CREATE TABLE public.t (); RETURN ''; END $$));
bad('asserts', q(RETURNS text LANGUAGE plpgsql AS $$ BEGIN ASSERT false, 'no'; END $$));
bad('cancels', q(RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'I say so' USING ERRCODE = 'query_canceled'; END $$));
bad('ends',
	'RETURNS text
		LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(10); RETURN 1;
			END $$');
bad('markup', q(RETURNS text LANGUAGE sql AS $$ SELECT '<script>'::text $$));
$there->safe_psql('locked', 'CREATE TABLE ff_internal.held (id int)');
my $holder = $there->background_psql('locked');
$holder->query_safe('BEGIN; LOCK TABLE ff_internal.held');

my $others = keys %expected;
my $reached = refresh();
is($reached, "2 of " . (2 + $others) . " sources answered, $others failed, 0 were not asked",
	'the good ones answered, the others failed');
# the one that sleeps takes 18 seconds
is(value(q(SELECT max(tried_at) - min(tried_at) < interval '15 s' FROM ff_hub.source)), 't',
	'all are asked before the slowest has answered');
like(value("SELECT error FROM ff_hub.source WHERE source = '$_'"), $expected{$_}, "the row of $_ says why")
	for sort keys %expected;
is(value(q(SELECT count(*) FROM pg_locks WHERE locktype = 'advisory')), '0', 'no refresh holds a lock any more');
is(value(q(SELECT bool_and(error !~ '127\.0\.0\.1' AND error !~ 'nowhere') FROM ff_hub.source)), 't',
	'no error names a host or a database');
ok($there->poll_query_until('postgres', q(SELECT count(*) = 0 FROM pg_stat_activity WHERE datname = 'sleeps')),
	'the query that slept on the source has ended');

# the next refresh asks the failed sources last
value("SELECT ff_fleet_remove('$_')") for qw(sleeps deaf);
my $again = refresh();
like($again, qr/^2 of \d+ sources answered/, 'the good sources are still asked');
is(value(q(SELECT max(tried_at) FILTER (WHERE failures = 0) < min(tried_at) FILTER (WHERE failures > 0)
	FROM ff_hub.source)),
	't', 'the good sources are asked first');
$holder->quit;
value(q(SELECT ff_fleet_add('sleeps', 'sleeps')));

# ---------------------------------------------------------------------------
# Several refreshes, and what interrupts them
# ---------------------------------------------------------------------------
value("SELECT ff_fleet_remove('$_')") for grep { $_ ne 'sleeps' } keys %expected;
good("more $_") for 1 .. 6;
refresh("CALL ff_fleet_refresh($_, 3)") for 1 .. 3;
is(value(q(SELECT count(*) FROM ff_fleet WHERE state = 'ok')), '8', 'three partial refreshes ask all sources');
is(($hub->psql('postgres', 'CALL ff_fleet_refresh(4, 3)'))[0], 3, 'there is no fourth part');

# one that hangs on a source has its lock
my $slow = $hub->background_psql('postgres', on_error_stop => 0);
$slow->query_until(qr/now/, "\\echo now\nCALL ff_fleet_refresh();\n");
ok($hub->poll_query_until('postgres',
	q(SELECT count(*) = 1 FROM ff_hub.source
		JOIN pg_locks ON locktype = 'advisory' AND classid = 'ff_hub.source'::regclass AND objid = source_id
		WHERE source = 'sleeps')),
	'a refresh waits for a source');
# killed in the middle
value(q(SELECT pg_terminate_backend(pid) FROM pg_stat_activity
	WHERE query LIKE 'CALL ff_fleet_refresh%' AND pid <> pg_backend_pid()));
ok($hub->poll_query_until('postgres', q(SELECT count(*) = 0 FROM pg_locks WHERE locktype = 'advisory')),
	'a refresh that is terminated leaves no lock');
eval { $slow->quit; };
is(value(q(SELECT count(*) FROM ff_hub.source s
	WHERE s.source <> 'sleeps' AND NOT EXISTS (SELECT FROM ff_hub.advice a WHERE a.source_id = s.source_id))),
	'0', 'no source is stored in part');
# the same lock, which does not end
my $asking = $hub->background_psql('postgres');
$asking->query_safe(q(SELECT pg_advisory_lock('ff_hub.source'::regclass::oid::integer, source_id)
	FROM ff_hub.source WHERE source = 'sleeps'));
is(refresh(), '8 of 9 sources answered, 0 failed, 1 were not asked',
	'two refreshes at once do not ask the same source');
$asking->quit;
$hub->poll_query_until('postgres', q(SELECT count(*) = 0 FROM pg_locks WHERE locktype = 'advisory'));
# cancelled, and again in the same session
my ($status, $out, $err) = $hub->psql('postgres',
	q(SET statement_timeout = '3s';
		CALL ff_fleet_refresh();
		RESET statement_timeout;
		SELECT ff_fleet_remove('sleeps');
		CALL ff_fleet_refresh();
		SELECT dblink_get_connections() IS NULL, count(*) FROM pg_locks WHERE locktype = 'advisory'),
	on_error_stop => 0);
like($err, qr/ERROR:  canceling statement due to statement timeout/, 'a refresh can be cancelled');
like($err, qr/NOTICE:  8 of 8 sources answered/, 'a refresh works again in the same session');
is($out, "t\nt|0", 'the session keeps no connection and no lock');
is(($hub->psql('postgres', 'BEGIN; CALL ff_fleet_refresh()'))[0], 3, 'a refresh is refused in a transaction block');

# ---------------------------------------------------------------------------
# Scripts
# ---------------------------------------------------------------------------
$there->safe_psql('one', q(ALTER DATABASE one SET fillfactor_advisor.min_confidence = 0;
	CREATE TABLE jobs (id int PRIMARY KEY, batch int, state int, filler text) WITH (autovacuum_enabled = off)));
$there->safe_psql('one', q(CALL ff_collect();
	INSERT INTO jobs SELECT g, g / 500, 0, repeat('x', 100) FROM generate_series(1, 20000) g;
	DO $$ BEGIN FOR b IN 0 .. 40 LOOP UPDATE jobs SET state = 1 WHERE batch = b; COMMIT;
		UPDATE jobs SET state = 2 WHERE batch = b; COMMIT; END LOOP; END $$;
	SELECT pg_stat_force_next_flush()));
$there->safe_psql('one', 'CALL ff_collect()');
refresh();
like(value(q(SELECT concat_ws(' ', source, relation, now, new, action, note) FROM ff_fleet_advice LIMIT 1)),
	qr/^one public.jobs 100 \d\d lower provisional/, 'a change is advised');
my $script = value(q(SELECT * FROM ff_fleet_script('one')));
like($script, qr/^-- Sent by source one\. .*\n-- fillfactor_advisor 1\.0\.0: changes for all tables, to be read/,
	'the hub gives the script of a source');
my $file = PostgreSQL::Test::Utils::tempdir . '/script.sql';
append_to_file($file, with_provisional($script));
my ($ran, $said) = run_command([ 'psql', '-X', '-d', $hub->connstr('postgres'), '-f', $file ]);
like($said, qr/refused: made for another database or server/, 'the script refuses to run on the hub');
run_command([ 'psql', '-X', '-d', $there->connstr('one'), '-f', $file ]);
like($there->safe_psql('one', q(SELECT reloptions FROM pg_class WHERE relname = 'jobs')), qr/fillfactor=\d\d/,
	'the script works on its server');
($status, $out, $err) = $hub->psql('postgres', q(SELECT ff_fleet_script('nobody')));
like($err, qr/ERROR:  source nobody does not exist/, 'an unknown source is an error');

# ---------------------------------------------------------------------------
# Rights
# ---------------------------------------------------------------------------
value(q(CREATE ROLE hub_reader LOGIN;
	SELECT ff_grant('hub_reader', 'reader');
	CREATE ROLE hub_collector LOGIN;
	SELECT ff_grant('hub_collector', 'collector')));
is($hub->safe_psql('postgres', q(SELECT count(*) FROM ff_fleet WHERE state = 'ok'),
	extra_params => [ '-U', 'hub_reader' ]),
	'8', 'a reader of the hub sees the sources');
is($hub->safe_psql('postgres', q(SELECT count(*) FROM pg_user_mappings WHERE umoptions IS NOT NULL),
	extra_params => [ '-U', 'hub_reader' ]),
	'0', 'a reader of the hub sees no options of user mappings');
($status, $out, $err) = $hub->psql('postgres', 'CALL ff_fleet_refresh()', extra_params => [ '-U', 'hub_reader' ]);
like($err, qr/ERROR:  role hub_reader lacks the rights of a collector/, 'a reader of the hub cannot refresh');
($status, $out, $err) = $hub->psql('postgres', 'CALL ff_fleet_refresh()', extra_params => [ '-U', 'hub_collector' ]);
like($err, qr/NOTICE:  0 of 8 sources answered, 8 failed/, 'a collector can refresh the servers that it may use');
is(value(q(SELECT DISTINCT left(error, 28) FROM ff_hub.source)), '42704 user mapping not found',
	'a collector needs user mappings of its own');
value(q(CREATE USER MAPPING FOR hub_collector SERVER two OPTIONS (user 'just_reads')));
$hub->psql('postgres', 'CALL ff_fleet_refresh()', extra_params => [ '-U', 'hub_collector' ]);
is(value(q(SELECT error FROM ff_hub.source WHERE source = 'two')), '42501 permission denied for foreign server two',
	'a collector also needs the right to use the server');
refresh();
is(value(q(SELECT count(*) FROM ff_fleet WHERE state = 'ok')), '8', 'all sources answer again');

# ---------------------------------------------------------------------------
# A source that is removed while its answer is stored
# ---------------------------------------------------------------------------
value(q(CREATE TABLE on_the_hub (id int);
	CALL ff_collect();
	SELECT ff_import(ff_export(), 'itself');
	CREATE TABLE new_there (id int);
	CALL ff_collect()));
my $storing = $hub->background_psql('postgres');
$storing->query_safe(q(BEGIN; SELECT ff_import(ff_export(), 'itself')));
my $removing = psql_beside($hub, 'postgres', q(SELECT ff_fleet_remove('itself')));
$hub->poll_query_until('postgres',
	q(SELECT count(*) = 1 FROM pg_stat_activity WHERE query ~ '^SELECT ff_fleet_remove' AND wait_event_type = 'Lock'));
$storing->query_safe('COMMIT');
$storing->quit;
$removing->ended;
is(value(q(SELECT count(*) FROM ff_hub.source WHERE source = 'itself')), '0',
	'a source is removed while its answer is stored');
is(value(q(SELECT count(*) FROM ff_hub.advice WHERE source_id NOT IN (SELECT source_id FROM ff_hub.source))), '0',
	'nothing of the answer stays');
value('DROP TABLE on_the_hub, new_there');

# ---------------------------------------------------------------------------
# A database that is renamed, dropped, made again; a hub that is restored elsewhere
# ---------------------------------------------------------------------------
sub known { return value("SELECT concat_ws(' ', state, database, role, tables) FROM ff_fleet WHERE source = '$_[0]'"); }
$there->safe_psql('postgres', 'ALTER DATABASE "more 5" RENAME TO moved');
$there->safe_psql('postgres', 'DROP DATABASE "more 6"');
is(refresh(), '6 of 8 sources answered, 2 failed, 0 were not asked',
	'of two databases one was renamed, one dropped');
is(join(', ', map { known("more $_") } 5, 6), 'failing more 5 primary 1, failing more 6 primary 1',
	'their rows say so and keep the earlier answers');
value('ALTER SERVER "more 5" OPTIONS (SET dbname \'moved\')');
$there->safe_psql('postgres', 'CREATE DATABASE "more 6" TEMPLATE moved');
refresh();
is(known('more 5'), 'ok moved primary 1', 'under its new name it is the same source');
is(known('more 6'), 'ok more 6 primary 1', 'a copy of it on the same server is a database of its own');
is(value(q(SELECT string_agg(relation, ' ') FROM ff_fleet_advice WHERE source = 'more 6')), 'public."table of more 5"',
	'nothing stays of the dropped database of that name');

my $all = q(SELECT string_agg(concat_ws(' ', source, database, role, tables), ', ' ORDER BY source) FROM ff_fleet);
my $dump = PostgreSQL::Test::Utils::tempdir . '/hub';
$hub->command_ok([ 'pg_dump', '-Fc', '-f', $dump, 'postgres' ], 'a hub is dumped');
$hub->safe_psql('postgres', 'CREATE DATABASE elsewhere');
$hub->command_ok([ 'pg_restore', '-d', 'elsewhere', '--exit-on-error', $dump ], 'the hub is restored elsewhere');
is($hub->safe_psql('elsewhere', $all), value($all), 'the restored hub knows what the hub knew');
($status, $out, $err) = $hub->psql('elsewhere', 'CALL ff_fleet_refresh()');
like($err, qr/NOTICE:  8 of 8 sources answered, 0 failed/, 'the restored hub asks the same sources');
is($hub->safe_psql('elsewhere', $all), value($all), 'the restored hub has no source twice');
$hub->stop;
$there->stop;
done_testing(81);
