# pg_stat_statements absent, not loaded, outdated, too small or reset, or with texts that are hidden, lost, damaged or
# huge. Collections continue, count nothing false and report what is missing.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More tests => 125;

my $node = PostgreSQL::Test::Cluster->new('statements');
$node->init(extra => [ '--locale=C', '--encoding=UTF8' ]);
$node->append_conf('postgresql.conf',
	"autovacuum = off\nrestart_after_crash = on\nfillfactor_advisor.min_updates = 1\nfillfactor_advisor.fits = 0");
# with page checksums, hint bits also write WAL after a checkpoint
$node->append_conf('postgresql.conf', 'checkpoint_timeout = 1h');
$node->start;
# PostgreSQL 17 knows when an entry was made
my $timed = $node->pg_version->major >= 17;

my $database = 'postgres';
sub value { return $node->safe_psql($database, $_[0]); }
sub collect { value('CALL ff_collect()'); return; }
sub updates
{
	return value(q(SELECT coalesce(sum(i.updated), 0) FROM ff_internal.counter_interval i
		JOIN ff_internal.relation r USING (rel_id) WHERE r.relname = 't'));
}
# what ff_statements() reports as missing, one line each
sub missing { return value('SELECT reason FROM ff_statements() WHERE statement_id IS NULL ORDER BY 1'); }
# a column of the last snapshot of statements
sub look { return value("SELECT $_[0] FROM ff_internal.statement_snapshot ORDER BY collection_id DESC LIMIT 1"); }
# calls in the history of the statements that contain this text
sub calls
{
	return value("SELECT coalesce(sum(h.calls), 0) FROM ff_internal.statement s
		JOIN ff_internal.statement_history h USING (statement_id)
		WHERE s.text LIKE '%$_[0]%'");
}
sub reset_all { value('SELECT count(*) FROM (SELECT pg_stat_statements_reset()) r'); return; }

value(q(
	CREATE EXTENSION fillfactor_advisor;
	CREATE TABLE t (id int PRIMARY KEY, v int);
	INSERT INTO t SELECT g, 0 FROM generate_series(1, 100) g;
	CALL ff_collect()));

# Whatever is missing, a collection works, counts updates and records one reason. The report shows the reason.
sub goes_without
{
	my ($how, $reason) = @_;
	my $before = updates();
	value('UPDATE t SET v = v + 1; SELECT pg_stat_force_next_flush()');
	my ($status, $out, $err) = $node->psql($database, 'CALL ff_collect()');
	is("$status $err", '0 ', "$how: the collection works without a message");
	is(updates() - $before, 100, "$how: updates are counted");
	like(look('reason'), $reason, "$how: the reason is recorded");
	like(missing(), qr/\A[^\n]*\z/, "$how: ff_statements() has one line");
	like(missing(), $reason, "$how: ff_statements() gives the reason");
	like(value('SELECT ff_report()'), qr/<p>What statements did[^<]*$reason/, "$how: the report gives the reason");
	return;
}
goes_without('absent', qr/pg_stat_statements is not created in this database/);
value('CREATE EXTENSION pg_stat_statements');
isnt($node->psql($database, 'SELECT count(*) FROM pg_stat_statements'), 0,
	'created, but not preloaded: its view cannot be read');
goes_without('not preloaded', qr/must be loaded via (&quot;|")?shared_preload_libraries/);

$node->append_conf('postgresql.conf',
	"shared_preload_libraries = 'pg_stat_statements'\npg_stat_statements.max = 100\ntrack_functions = all");
$node->restart;
value(q(DROP EXTENSION pg_stat_statements; CREATE EXTENSION pg_stat_statements VERSION '1.8'));
goes_without('older', qr/older than 1.9: ALTER EXTENSION pg_stat_statements UPDATE/);
value('ALTER EXTENSION pg_stat_statements UPDATE');
collect();
is(look('reason'), '', 'no reason is recorded when pg_stat_statements works');
is(missing(), '', 'ff_statements() reports nothing missing');
foreach (['pg_stat_statements.track', 'none'], ['compute_query_id', 'off'])
{
	my ($setting, $value) = @$_;
	value("ALTER DATABASE $database SET $setting = $value");
	is(missing(), "$setting is $value", "ff_statements() says that $setting records none");
	value("ALTER DATABASE $database RESET $setting");
}

# ---------------------------------------------------------------------------
# Texts are read once: a collection calls pg_stat_statements() once for the
# counters, and once more only if a statement is new.
# ---------------------------------------------------------------------------
my $reader = q(pg_stat_get_function_calls('pg_stat_statements(boolean)'::regprocedure));
sub reads
{
	my $before = value("SELECT coalesce($reader, 0)");
	value('CALL ff_collect(); SELECT pg_stat_force_next_flush()');
	return value("SELECT coalesce($reader, 0)") - $before;
}
value('UPDATE t SET v = 0');
value("SELECT pg_stat_force_next_flush()");
reads();
reads();
is(reads(), 1, 'without new statements only counters are read');
value('UPDATE t SET v = 1; INSERT INTO t VALUES (101, 0)');
is(reads(), 2, 'with two new statements the texts are read once');
value('UPDATE t SET v = 2; DELETE FROM t WHERE false');
is(reads(), 1, 'for statements that are known or wrote nothing only counters are read');
value('CREATE TABLE read_only AS SELECT generate_series(1, 5000) AS id; SELECT count(*) FROM read_only');
value('CHECKPOINT; SELECT count(*) FROM read_only');
reads();
is(reads(), 1, 'statements that write no table are remembered');

# ---------------------------------------------------------------------------
# Statements have a reset time of their own
# ---------------------------------------------------------------------------
my $one = 'UPDATE t SET v = v + 5 WHERE id = 5;';
my %seen = (tables => 0, statements => 0, calls => 0);
# what a collection adds: epochs of tables, epochs of statements, calls
sub added
{
	collect();
	my %now;
	@now{qw(tables statements calls)} = (value('SELECT count(*) FROM ff_internal.epoch'),
		value('SELECT count(DISTINCT stats_reset) FROM ff_internal.statement_snapshot'), calls('id = $2'));
	my $added = join ' ', map { $now{$_} - $seen{$_} } qw(tables statements calls);
	%seen = %now;
	return $added;
}
reset_all();
value($one);
added();
value($one x 2);
is(added(), '0 0 2', 'calls are counted as differences');
value($one x 2);
$node->restart;
value($one);
is(added(), '0 0 3', 'a clean restart: differences stay valid');
value('SELECT pg_stat_reset()');
value($one);
is(added(), '1 0 1', 'pg_stat_reset(): differences of statements stay valid');
value($one x 2);
reset_all();
value($one x 5);
is(added(), '0 1 0', 'pg_stat_statements_reset(): a new epoch of statements only, no difference across it');
value($one);
is(added(), '0 0 1', 'differences are counted again');
reset_all();
added();
value($one x 4);
is(added(), '0 0 4', 'a statement that enters again after a reset and a collection is counted from its first call');
value($one x 2);
$node->stop('immediate');
$node->start;
value($one x 9);
is(added(), '1 0 11', 'immediate stop: pg_stat_statements has kept its counters, so no call is lost');
foreach my $crash ('one', 'the next one')
{
	value($one x 2);
	my $victim = $node->background_psql($database);
	my $pid = $victim->query_safe('SELECT pg_backend_pid()');
	kill 9, $pid;
	eval { $victim->quit };
	$node->poll_query_until($database, "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $pid)");
	value($one x 20);
	is(added(), '1 1 0', "$crash crash: a new epoch of both, no difference across it");
	value($one);
	is(added(), '0 0 1', 'differences are counted again');
reset_all();
added();
value($one x 4);
is(added(), '0 0 4', 'a statement that enters again after a reset and a collection is counted from its first call');
}

# ---------------------------------------------------------------------------
# Not enough room: entries are evicted and return with counters from zero
# ---------------------------------------------------------------------------
value(q(
	SELECT format('CREATE TABLE junk%s (id int PRIMARY KEY, v int)', g) FROM generate_series(1, 150) g \gexec
	SELECT format('INSERT INTO junk%s VALUES (1, 0)', g) FROM generate_series(1, 150) g \gexec
	CREATE TABLE victims (id int PRIMARY KEY, v int);
	INSERT INTO victims SELECT g, 0 FROM generate_series(1, 10) g));
# 1,500 statements that differ, each called once
my $round = 0;
sub flood
{
	$round++;
	value(sprintf q(SELECT format('UPDATE junk%%s SET v = %%s%%s WHERE id = 1', g, $$0$$, repeat(' + 1', n))
		FROM generate_series(1, 150) g, generate_series(%d, %d) n \gexec),
		10 * $round, 10 * $round + 9);
	return;
}
# Calls each of ten statements $times times. A call takes the first of @seconds, the last calls take the others.
sub victims
{
	my ($times, @seconds) = @_;
	value(sprintf q(SELECT format('UPDATE victims SET v = v + 1%%s WHERE id = 1 AND pg_sleep(%%s) IS NOT NULL',
		repeat(' - 1', n), s)
		FROM generate_series(1, 10) n,
			unnest(array_cat(array_fill(%f::float8, ARRAY[%d]), ARRAY[%s]::float8[])) s \gexec),
		shift @seconds, $times - @seconds, join(', ', @seconds));
	return;
}
my $victims = q(SELECT count(*) || ' ' || coalesce(sum(calls), 0) FROM pg_stat_statements
	WHERE query LIKE 'UPDATE victims%');
reset_all();
collect();
victims(10, 0.004);
collect();
is(value($victims), '10 100', 'ten statements, ten calls each');
is(calls('UPDATE victims'), 100, 'the calls of ten statements are counted');
# until their calls weigh less than one call of a new statement
flood() foreach 1 .. 2;
is(value($victims), '0 0', 'rarely called statements are evicted');
# more calls than before, some slower and some faster, so no counter is lower
victims(20, 0.002, 0.008);
is(value($victims), '10 200', 'evicted statements enter again');
collect();
is(calls('UPDATE victims'), $timed ? 300 : 100,
	'after an eviction '
		. ($timed
			? 'all calls since the new entry are counted'
			: 'no call is counted if the time of the new entry is unknown'));
is(value('SELECT count(*) FROM ff_internal.statement_history WHERE calls > 20'), 0, 'no interval has too many calls');
victims(3, 0.004);
collect();
is(calls('UPDATE victims'), $timed ? 330 : 130, 'differences are counted again');
is(value(q(SELECT count(*) FROM ff_internal.statement WHERE text LIKE 'UPDATE victims%')), 10,
	'evicted statements are recognised when they return');
cmp_ok(look('evictions'), '>', 100, 'evictions are recorded');
like(missing(),
	qr/^\d+ times in the window, pg_stat_statements evicted the least called .*: raise pg_stat_statements.max$/m,
	'ff_statements() reports evictions');

# Many statements with few calls neither keep out one with many calls nor fill the history.
sub follow_at_most
{
	my ($n) = @_;
	$node->append_conf('postgresql.conf', "fillfactor_advisor.statements = $n");
	$node->reload;
	$node->poll_query_until($database, "SELECT current_setting('fillfactor_advisor.statements') = '$n'");
	return;
}
follow_at_most(50);
my $followed = q(SELECT count(*) FROM ff_internal.statement WHERE closed_at IS NULL AND kind <> 'other');
foreach (1 .. 3)
{
	flood();
	collect();
}
my $rows = value(q(SELECT count(*) FROM ff_internal.statement WHERE kind <> 'other'));
my $before = value($followed);
foreach (1 .. 3)
{
	flood();
	collect();
}
is(value($followed), $before, 'many statements of one call each: no more are followed');
is(value(q(SELECT count(*) FROM ff_internal.statement WHERE kind <> 'other')), $rows,
	'many statements of one call each: no more are kept');
cmp_ok(look('left_out'), '>', 50, 'many statements of one call each: they are recorded as left out');
like(missing(), qr/^\d+ more statements that write are not followed: raise fillfactor_advisor.statements$/m,
	'ff_statements() reports statements that are not followed');
is(value('SELECT count(*) FROM ff_internal.statement_history WHERE ended_at < began_at OR calls < 1'), 0,
	'no interval is negative or without calls');
my $late = 'UPDATE t SET v = 0 WHERE id = 1 AND v IS NOT NULL';
value("$late;" x 30);
collect();
# make room, so that nothing is evicted before the next collection
value(q(SELECT count(*)
	FROM (SELECT pg_stat_statements_reset(userid, dbid, queryid) FROM pg_stat_statements
		WHERE query LIKE 'UPDATE junk%') r));
is(value("SELECT count(*) FROM ff_internal.statement
	WHERE text LIKE 'UPDATE t SET v = _1 WHERE id = _2 AND v IS NOT NULL' AND closed_at IS NULL"),
	1, 'a statement called often takes the place of an evicted one');
is(value($followed), $before, 'the number of followed statements does not change');
value("$late;" x 5);
collect();
is(calls('v IS NOT NULL'), $timed ? 35 : 5, 'the calls of the newly followed statement are counted');
follow_at_most(1000);

# ---------------------------------------------------------------------------
# Texts that a role may not see
# ---------------------------------------------------------------------------
reset_all();
collect();
value(q(
	CREATE ROLE app;
	GRANT ALL ON t TO app;
	CREATE ROLE half IN ROLE pg_stat_scan_tables;
	SELECT format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO half', string_agg(c.oid::regclass::text, ', '))
	  FROM pg_extension e JOIN pg_class c ON c.oid = ANY (e.extconfig)
	 WHERE e.extname = 'fillfactor_advisor' AND c.relkind = 'r' \gexec));
my ($status, $out, $err) = $node->psql($database, "\\set VERBOSITY verbose\nSET ROLE half; CALL ff_collect()");
like($err, qr/\A[^\n]*ERROR:  42501: permission denied for view server\n/,
	'a collector without pg_read_all_stats: one clear error');
# grant its rights by hand
value(q(GRANT SELECT ON ALL TABLES IN SCHEMA ff_internal TO half;
	GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA ff_internal TO half;
	GRANT ALL ON t TO half));
my $other = 'UPDATE t SET v = v * 2 WHERE id < 50';
my $mine = 'UPDATE t SET v = v / 2 WHERE id < 50';
value("SET ROLE app; $other; SET ROLE half; $mine; CALL ff_collect()");
is(calls('v * '), 0, 'texts hidden: a statement of another role is not followed');
is(calls('v / '), 1, 'texts hidden: a statement of its own role is followed');
cmp_ok(look('hidden'), '>', 0, 'texts hidden: their number is recorded');
like(missing(), qr/^\d+ statements of other roles are hidden from the collecting role: GRANT pg_read_all_stats to it$/m,
	'texts hidden: ff_statements() names the missing grant');
is(value(q(SELECT count(*) FROM ff_internal.statement WHERE text LIKE '<insufficient%')), 0,
	'texts hidden: no placeholder text is kept');
value("GRANT pg_read_all_stats TO half; SET ROLE app; $other; SET ROLE half; CALL ff_collect()");
value("SET ROLE app; $other; SET ROLE half; CALL ff_collect()");
is(calls('v * '), 1, 'after the grant only new calls are counted');
is(look('hidden'), 0, 'after the grant nothing is hidden');

# ---------------------------------------------------------------------------
# Texts that are lost: the file cannot be read, is truncated or has holes
# ---------------------------------------------------------------------------
reset_all();
collect();
my $known = 'UPDATE t SET v = v + 100 WHERE id = 4';
my $file = $node->data_dir . '/pg_stat_tmp/pgss_query_texts.stat';
value($known);
collect();
value($known);
collect();
my $counted = calls('id = $2');
value("$known; UPDATE t SET v = v + 200 WHERE id < 4");
chmod 0, $file or die "$file: $!";
is($node->psql($database, 'CALL ff_collect()'), 0, 'texts NULL: the collection goes on');
is(calls('id = $2') - $counted, 1, 'texts NULL: known statements are counted');
is(look('texts_reason'), 'no text', 'texts NULL: the reason is recorded');
my $no_text = qr/texts of pg_stat_statements cannot be read \(no text\)/;
like(missing(),
	qr/^1 new statements are not followed, because $no_text: .*pg_stat_statements_reset\(\) removes it$/m,
	'texts NULL: ff_statements() has the remedy');
chmod 0600, $file or die "$file: $!";
value('UPDATE t SET v = v + 200 WHERE id < 4');
collect();
is(look('texts_reason'), '', 'texts readable again: no reason is left');
is(value('SELECT count(*) FROM ff_internal.statement
	WHERE text LIKE $$%+ _1 WHERE id < _2$$ AND closed_at IS NULL AND kind = $$write$$'),
	1, 'texts readable again: the new statement is followed');
truncate $file, 0 or die "$file: $!";
# a text after the hole
value("$known; UPDATE t SET v = v + 300 WHERE id > 99");
isnt($node->psql($database, 'SELECT count(query) FROM pg_stat_statements(true)'), 0,
	'the file is lost while the server runs: pg_stat_statements cannot be read');
$counted = calls('id = $2');
is($node->psql($database, 'CALL ff_collect()'), 0, 'texts lost: the collection goes on');
is(look('reason'), '', 'texts lost: counters are read');
is(calls('id = $2') - $counted, 1, 'texts lost: known statements are counted');
like(look('texts_reason'), qr/invalid byte sequence/, 'texts lost: the error is recorded');
like(missing(), qr/new statements are not followed.* one is lost or damaged/,
	'texts lost: ff_statements() says what is missing');
reset_all();
value('UPDATE t SET v = v + 300 WHERE id > 99');
collect();
value('UPDATE t SET v = v + 300 WHERE id > 99');
collect();
is(calls('id > '), 1, 'after a reset new statements are followed');
unlike(missing(), qr/texts of pg_stat_statements/, 'after a reset ff_statements() does not mention texts');

# Some statements have no text, and one text is damaged: none is followed, and each is counted once.
sub many { value(join ';', map { "UPDATE t SET v = v - $_ WHERE id = 6" . ' AND v <> 0' x $_ } @_); return; }
value(q(
	CREATE SEQUENCE taken;
	CREATE FUNCTION damaged() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		IF nextval('public.taken') = 8 THEN
			RAISE 'made up' USING ERRCODE = 'character_not_in_repertoire';
		END IF;
		RETURN NEW;
	END $$;
	CREATE TRIGGER damaged BEFORE INSERT ON ff_internal.statement FOR EACH ROW EXECUTE FUNCTION damaged()));
many(1 .. 8);
my $whole = -s $file;
many(9 .. 16);
chmod 0, $file or die "$file: $!";
collect();
my $unread = look('left_out');
cmp_ok($unread, '>=', 16, 'new statements without text are left out');
chmod 0600, $file or die "$file: $!";
truncate $file, $whole or die "$file: $!";
collect();
is(look('texts_reason, left_out'), "made up|$unread",
	'if one text is damaged and others are missing, each statement is counted once');
value('DROP TRIGGER damaged ON ff_internal.statement; DROP FUNCTION damaged; DROP SEQUENCE taken');
reset_all();
collect();

# ---------------------------------------------------------------------------
# Texts of other encodings
# ---------------------------------------------------------------------------
value(q(CREATE DATABASE bytes ENCODING SQL_ASCII TEMPLATE template0;
	CREATE DATABASE latin ENCODING LATIN1 TEMPLATE template0));
foreach my $one (qw(bytes latin))
{
	$database = $one;
	value(q(CREATE EXTENSION fillfactor_advisor;
		CREATE EXTENSION pg_stat_statements;
		CREATE TABLE t (id int PRIMARY KEY, v int);
		INSERT INTO t VALUES (1, 1);
		CALL ff_collect()));
}
sub own_statement
{
	my ($how, $text) = @_;
	reset_all();
	collect();
	value("SET client_encoding = sql_ascii; $text");
	collect();
	value("SET client_encoding = sql_ascii; $text");
	collect();
	is(look('texts_reason'), '', "$how: its text can be read");
	cmp_ok(calls('WHERE id = $2'), '>=', 1, "$how: it is followed");
	return;
}
sub foreign_statement
{
	my ($how) = @_;
	value('UPDATE t SET v = v + 7 WHERE id <> 0 AND id <> 3');
	is($node->psql($database, 'CALL ff_collect()'), 0, "$how: the collection goes on");
	is(look('reason'), '', "$how: the counters are read");
	like(look('texts_reason'), qr/invalid byte sequence|has no equivalent/, "$how: the error of the texts is recorded");
	like(missing(), qr/another database's in another encoding/, "$how: ff_statements() names the encoding as the reason");
	return;
}
$database = 'bytes';
own_statement('bytes that are no characters', "UPDATE t /* \xff\x80 */ SET v = v + 1 WHERE id = 1");
$database = 'postgres';
foreign_statement('bytes in a database without encoding, seen from UTF8');
own_statement('characters of four bytes', "UPDATE t /* \xf0\x9f\x90\x98 */ SET v = v + 1 WHERE id = 1");
$database = 'latin';
foreign_statement('a character of four bytes, seen from LATIN1');
own_statement('LATIN1', "UPDATE t /* \xe9 */ SET v = v + 1 WHERE id = 1");
$database = 'postgres';

# ---------------------------------------------------------------------------
# Texts that are large or contain HTML
# ---------------------------------------------------------------------------
reset_all();
value('CREATE TABLE large (id int, v int)');
collect();
my $peak = q(VmHWM:\s+(\d+) kB);
my $session = $node->background_psql($database);
my $pid = $session->query_safe('SELECT pg_backend_pid()');
$session->query_safe('CALL ff_collect()');
my ($start) = slurp_file("/proc/$pid/status") =~ /$peak/;
# a text of 0.8 MB that is parsed, and one of 1.2 MB that is not
value('INSERT INTO large VALUES ' . join(',', map { "($_,$_)" } 1 .. 45000));
value('UPDATE large SET v = /* ' . ('x' x 1200000) . ' */ 1 WHERE id = 1');
is($session->query_safe('CALL ff_collect(); SELECT 1'), 1, 'texts of a megabyte: the collection goes on');
my ($end) = slurp_file("/proc/$pid/status") =~ /$peak/;
note "peak memory of the collector: $start kB before, $end kB after";
# sanitizers keep freed memory
cmp_ok($end - $start, '<', 64 * 1024 * ($ENV{SANITIZE} ? 16 : 1),
	'the memory of a collector that reads large texts is bounded');
is($session->query_safe(q(SELECT count(*) FROM pg_backend_memory_contexts WHERE name = 'statement text')), 0,
	'the memory of statement texts is freed');
$session->quit;
is(value(q(SELECT kind || ' ' || length(text)
	FROM ff_internal.statement WHERE text LIKE 'INSERT INTO large%')),
	'write 4000', 'a text of 0.8 MB is parsed, and its first 4000 characters are kept');
is(value(q(SELECT kind || ' ' || length(text) || ' ' || reason
	FROM ff_internal.statement WHERE text LIKE 'UPDATE large%')),
	'unattributed 4000 too long to parse',
	'a text of 1.2 MB is not parsed, and its first 4000 characters are kept');
like(value('SELECT reason FROM ff_statements() WHERE query LIKE $$UPDATE large%$$'), qr/^too long to parse$/,
	'ff_statements() says that a text is too long');
cmp_ok(value('SELECT length(ff_report())'), '<', 200000, 'large texts do not make the report large');

# statements that keep updates from being HOT are shown in the report
value(q(CREATE TABLE web (id int PRIMARY KEY, v int);
	CREATE INDEX ON web (v);
	INSERT INTO web SELECT g, g FROM generate_series(1, 100) g;
	CALL ff_collect()));
my $evil = "UPDATE web /* <script>alert(one)</script> </td>&lt;\x01\x1b[31m\x7f\xe2\x80\xae */ SET v = v + 1";
foreach (1 .. 3)
{
	value("$evil; SELECT pg_stat_force_next_flush()");
	collect();
}
like(value(q(SELECT query FROM ff_statements('web') WHERE command = 'UPDATE')), qr/<script>alert\(one\)/,
	'a statement with HTML and control characters is followed');
my $report = value('SELECT ff_report()');
like($report, qr/&lt;script&gt;alert\(one\)/, 'the report shows the statement');
unlike($report, qr/<script>alert|<\/td>&lt;\x01/, 'the report has no HTML of the statement');
unlike($report, qr/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/, 'the report has no control characters');

# ---------------------------------------------------------------------------
# The first call of a statement runs while a collection looks: its entry is older than its first counters.
# ---------------------------------------------------------------------------
reset_all();
collect();
my $holder = $node->background_psql($database);
my $runner = $node->background_psql($database);
$holder->query_safe('SELECT pg_advisory_lock(77)');
$runner->query_until(qr/begun/, "\\echo begun\nUPDATE t SET v = v + 1 FROM (SELECT pg_advisory_lock(77)) l;\n");
ok($node->poll_query_until($database, "SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'advisory'"),
	'the first call of a statement runs');
collect();
$holder->query_safe('SELECT pg_advisory_unlock(77)');
$runner->query_safe('SELECT 1');
collect();
is(calls('FROM (SELECT pg_advisory_lock'), 1, 'it is counted by the collection after its end');
$_->quit foreach $holder, $runner;

# ---------------------------------------------------------------------------
# The rows of an upsert are divided into updates and inserts by the counters
# ---------------------------------------------------------------------------
reset_all();
value(q(CREATE TABLE roomy (id int PRIMARY KEY, n int);
	INSERT INTO roomy SELECT g, 0 FROM generate_series(1, 5000) g));
collect();
value(join(';', (map { "UPDATE roomy SET n = n + 1 WHERE id = $_" } 1 .. 40),
	(map { "INSERT INTO roomy VALUES ($_, 0) ON CONFLICT (id) DO UPDATE SET n = excluded.n" } 1 .. 20, 6001 .. 6010)) .
	'; SELECT pg_stat_force_next_flush()');
collect();
is(value("SELECT i.statement_rows::real[] FROM ff_internal.evidence('roomy') e, ff_internal.statement_input(e) i"),
	'{40,20,10}', 'the rows of an upsert are divided into updates and inserts');
sub merged
{
	my ($first, $last, $matched) = @_;
	value("MERGE INTO roomy r USING generate_series($first, $last) g ON r.id = g
		WHEN NOT MATCHED THEN INSERT VALUES (g, 0) WHEN MATCHED $matched; SELECT pg_stat_force_next_flush()");
	collect();
	return value("SELECT string_agg(c || ' ' || round(r), ', ' ORDER BY c, r) FROM ff_internal.evidence('roomy') e,
		ff_internal.statement_input(e) i, unnest(i.statement_command, i.statement_rows) s(c, r)");
}
is(merged(5991, 6030, 'THEN UPDATE SET n = 1'), '0 17, 0 23, 1 13, 1 17, 1 40', 'so are those of a MERGE');
reset_all();
collect();
value('UPDATE roomy SET n = n + 1 WHERE id <= 40');
is(merged(7001, 7030, 'THEN DO NOTHING'), '0 17, 0 23, 0 30, 1 13, 1 17, 1 40, 1 40', 'one that only inserts has no updates');
is(merged(7001, 7030, 'AND n < 0 THEN UPDATE SET n = 1 WHEN MATCHED THEN DELETE'),
	'0 30, 0 30, 0 40, 1 40, 1 40, 3 30, 3 30, 3 30', 'unless it may delete');

# Where every row was updated, the WAL of inserts tells how long rows are at first; where they hardly grow, nothing.
value("CREATE TABLE $_ (id serial PRIMARY KEY, pad text NOT NULL)") foreach ('grows', 'stays');
collect();
foreach my $round (1 .. 3)
{
	value(q(INSERT INTO grows (pad) SELECT '' FROM generate_series(1, 300);
		INSERT INTO stays (pad) SELECT repeat('x', 290) FROM generate_series(1, 300)));
	value("UPDATE $_ SET pad = repeat('y', 300)") foreach ('grows', 'stays');
	collect();
}
is(value("SELECT string_agg(format('%s %s', r.relname, CASE WHEN e.inserted_width BETWEEN 24 AND 64 THEN 'short' ELSE
			e.inserted_width::text END), ', ' ORDER BY r.relname)
		FROM ff_internal.relation r, ff_internal.evidence(r.relid) e WHERE r.relname IN ('grows', 'stays')"),
	'grows short, stays ', 'rows that were all updated: how long they were at first');
is(value("SELECT p.inserted_length[1] BETWEEN 24 AND 64
		FROM ff_internal.relation r JOIN ff_internal.page_sample p USING (rel_id, sampled_at) WHERE r.relname = 'grows'"),
	't', 'the model is told, too');

SKIP:
{
	skip('standard_conforming_strings cannot be off', 1) if $node->pg_version->major >= 19;
	local $ENV{PGOPTIONS} = '-c standard_conforming_strings=off';
	my ($status, $out, $err) = $node->psql($database, 'CALL ff_collect()');
	is("$status $err", '0 ', 'standard_conforming_strings = off: the collection works without a message');
}

# there may be as many statements as tables
is(value(q(BEGIN;
	CREATE TABLE once (id int);
	INSERT INTO ff_internal.statement_target (statement_id, "position", command, how, relation_name, relid, columns,
			shared)
		SELECT -g - 1, 1, 'UPDATE', 'top', CASE g WHEN 0 THEN 'once' ELSE 'other' || g END,
			('once'::regclass::oid::bigint + g)::oid, '{}', true
			FROM generate_series(0, 500) g;
	SET LOCAL track_functions = 'all';
	SELECT count(*) FROM ff_internal.targets_of('once'::regclass, NULL);
	SELECT calls BETWEEN 1 AND 2 FROM pg_stat_xact_user_functions WHERE funcname = 'tables_named';
	ROLLBACK)), "1\nt", 'for one table, the names in statements about others are not looked up');

# and as many tables of one name as tenants: schemas $first to $last get one of two rows
sub tenants
{
	my ($first, $last) = @_;
	value("DO \$\$ BEGIN FOR i IN $first .. $last LOOP
		EXECUTE format('CREATE SCHEMA tenant%s', i);
		EXECUTE format('CREATE TABLE tenant%s.common (id int, v int)', i);
		EXECUTE format('INSERT INTO tenant%s.common VALUES (1), (2)', i);
		EXECUTE format('UPDATE tenant%s.common SET v = 1', i);
	END LOOP; END \$\$");
	collect();
	return;
}
sub parts
{
	return value(q(BEGIN;
		SET LOCAL track_functions = 'all';
		SELECT count(t.part) || ' ' || coalesce(round(sum(t.part)::numeric, 2), 0)
			FROM ff_internal.targets_of('tenant1.common'::regclass, NULL) t;
		SELECT coalesce(sum(calls), 0) FROM pg_stat_xact_user_functions WHERE funcname = 'parts_of_named';
		COMMIT));
}
tenants(1, 20);
value(q(INSERT INTO ff_internal.statement_target (statement_id, "position", command, how, relation_name, reason,
		columns, shared)
	SELECT -g, 1, 'UPDATE', 'top', 'common', 'several tables of that name', '{v}', true FROM generate_series(1, 20) g));
is(parts(), "20 1.00\n1",
	'each statement about one of many tables of a name counts by its part, found once for all of them');
# As if no update was HOT, and one statement made all of them. Once for each table would read each interval 20 times.
is(value(q(BEGIN;
	UPDATE ff_internal.counter_interval SET hot_updated = 0;
	INSERT INTO ff_internal.statement_history (statement_id, began_at, ended_at, epoch_id, calls, rows, total_ms, squares,
			blocks_hit, blocks_read, blocks_dirtied, wal_records, wal_fpi, wal_bytes)
		SELECT -1, now() - interval '1 min', now(), 1, 20, 40, 0, 0, 0, 0, 0, 0, 0, 0;
	CREATE FUNCTION intervals_read() RETURNS bigint RETURN pg_stat_get_xact_tuples_returned(
		'ff_internal.counter_interval'::regclass) + pg_stat_get_xact_tuples_fetched('ff_internal.counter_interval'::regclass);
	SELECT intervals_read() AS before \gset
	SELECT count(e.indexed_share) FROM ff_internal.evidence() e WHERE e.relname = 'common';
	SELECT intervals_read() - :before < 10 * count(*) FROM ff_internal.counter_interval;
	ROLLBACK)), "20\nt", 'the intervals of each are summed once for all of them');
tenants(21, 60);
is(parts(), "0 0\n0", 'those that may mean one of too many tables count for none');
value(q(UPDATE ff_internal.statement_target SET relid = 'tenant1.common'::regclass, reason = NULL
	WHERE relation_name = 'common'));
is(parts(), "0 0\n0", 'nor for the one that had the name alone');
value("DROP SCHEMA tenant$_ CASCADE") foreach (21 .. 60);
is(parts(), "20 1.00\n1", 'until fewer have the name');
value(q(DELETE FROM ff_internal.counter_interval i USING ff_internal.relation r
	WHERE r.rel_id = i.rel_id AND r.relid = 'tenant1.common'::regclass));
is(parts(), "0 0\n1", 'and nothing of what others did is its own');
value(q(DELETE FROM ff_internal.statement_target WHERE relation_name = 'common'));
value("DROP SCHEMA tenant$_ CASCADE") foreach (1 .. 20);

# the clock was set back by an hour
value(q(UPDATE ff_internal.statement_snapshot SET snapshot_at = snapshot_at + interval '1 hour'));
value('UPDATE t SET v = v - 8 WHERE id = 7');
collect();
is(look('reason'), '', 'a clock that was set back does not stop the reading of statements');

unlike(slurp_file($node->logfile), qr/PANIC|terminated by signal (?!9\b)|TRAP|WARNING: .*(leak|own)/,
	'the log has no crash and no leak');
$node->stop;
