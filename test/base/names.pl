# Names that want to be code: databases, roles, schemas, tables, columns, indexes
# and constraints called so that psql, the server, a shell or a browser would run
# something, were they not quoted; and what the extension writes of them, run.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin;
use lib "$FindBin::Bin/../perl";
use Beside qw(watched_a_day with_provisional);
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More tests => 50;

my $dir    = PostgreSQL::Test::Utils::tempdir;
my $marker = abs_path($dir) . '/m';    # what any of them would make
my $node   = PostgreSQL::Test::Cluster->new('names');
$ENV{M} = $marker;        # for the shells of psql and of the server
$node->init(extra => [ '--encoding', 'UTF8', '--locale', 'C' ]);
$node->append_conf('postgresql.conf', "autovacuum = off\nfsync = off");
$node->start;
# 19 refuses them in names of roles and databases
my $line_ends = $node->safe_psql('postgres', 'SHOW server_version_num') < 190000;

my %hostile = (
	command   => qq{a\n\\! touch \$M\n},
	return    => qq{a\r\\! touch \$M\r--},
	query     => qq{"; \\! touch \$M\n; COPY (SELECT 1) TO PROGRAM 'touch \$M'; --},
	literal   => qq{'; COPY (SELECT 1) TO PROGRAM 'touch \$M'; --},
	undo      => qq{a\n\\if :provisional \\! touch \$M\n\\! touch \$M},
	shell     => q{$(touch $M)`touch $M`;touch $M;'touch $M'},
	psql      => q{:x :'x' :"x" :{?x} \\gexec \\; \\q},
	dollar    => q{%I %1$s %% $ff$ $$ $body$ $guarded$ %n},
	comment   => q{*/ DROP TABLE public.plain; /*},
	html      => q{</td><script>alert(1)</script><img src=x onerror="x">&lt;},
	backslash => q{\\' E'\\ U&"\\ \\\\ \\},
	length    => "\xc3\xa4" x 31 . 'x',
	unseen    => "a\xe2\x80\xae\xe2\x80\xa8\xe2\x80\x8bb",
);
my @kinds = sort keys %hostile;

sub name    { my $x = shift; $x =~ s/"/""/g; return qq{"$x"}; }
sub literal { my $x = shift; $x =~ s/\\/\\\\/g; $x =~ s/'/''/g; return " E'$x'"; }
my $db = q{d"s' dbname=$(touch $M)`touch $M`;\\! touch $M};
$node->safe_psql('postgres', 'CREATE DATABASE ' . name($db));
sub sql { return $node->safe_psql($db, shift); }
sub sh  { my $out; IPC::Run::run([ 'sh', '-c', shift ], '>', \$out, '2>&1'); return $out; }

# Run lines as psql does, with variables that names may name; exit status, what was said
sub run_lines
{
	my ($file, $text) = @_;
	open my $f, '>:raw', "$dir/$file" or die $!;
	print $f $text, "\n";
	close $f;
	my ($out, $err) = ('', '');
	IPC::Run::run([ 'psql', '-X', '-q', '-d', $node->connstr($db), '-v', 'x=; DROP TABLE public.plain;', '-f',
		"$dir/$file" ],
		'>', \$out, '2>', \$err, IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	return ($? >> 8, $out . $err);
}

# ---------------------------------------------------------------------------
# A table of each kind whose batches need room, and one that wastes it and is to
# be rewritten
# ---------------------------------------------------------------------------
sql('CREATE EXTENSION fillfactor_advisor;
	CREATE TABLE public.plain (x int);
	CREATE TABLE public.made (what text, rel regclass)');
my $clustered = 0;
foreach my $kind (@kinds)
{
	my ($n, $q) = ($hostile{$kind}, name($hostile{$kind}));
	my $role = name($line_ends || $n !~ /[\r\n]/ ? $n : "role $kind");
	my ($waste, $order) = map { name(substr($n, 0, 40) . " $_") } 'waste', 'order';
	my $index = name(substr($n, 0, 40) . ' index');
	# every other one is clustered again, the others get VACUUM FULL
	my $cluster = ++$clustered % 2 ? "CLUSTER $q.$waste USING $index" : '';
	my $named = literal($n);
	sql(qq{
		CREATE ROLE $role;
		CREATE SCHEMA $q AUTHORIZATION $role;
		CREATE TABLE $q.$q (id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT $order PRIMARY KEY, $q int NOT NULL,
			status int NOT NULL DEFAULT 0, payload text);
		CREATE INDEX ON $q.$q ($q);
		ALTER TABLE $q.$q OWNER TO $role;
		CREATE TABLE $q.$waste (id bigint GENERATED ALWAYS AS IDENTITY, $q text) WITH (fillfactor = 50);
		CREATE INDEX $index ON $q.$waste (id);
		$cluster;
		INSERT INTO public.made
			SELECT CASE relname WHEN $named THEN 'batch' ELSE 'waste' END, oid
			FROM pg_class
			WHERE relkind = 'r' AND relnamespace = to_regnamespace(quote_ident($named))});
}
# keys that come in ascending, so that their index is to be packed
sql('CREATE SCHEMA i; CREATE TABLE i.keys (id bigint); CREATE INDEX ' . name($hostile{command}) . ' ON i.keys (id)');
sql(q{
	CREATE PROCEDURE public.work() LANGUAGE plpgsql AS $$
	DECLARE t record;
	BEGIN
		INSERT INTO i.keys SELECT g + (SELECT coalesce(max(id), 0) FROM i.keys) FROM generate_series(1, 40000) g;
		FOR i IN 1 .. 3 LOOP
			FOR t IN
				SELECT m.rel, m.what,
					(SELECT quote_ident(attname) FROM pg_attribute WHERE attrelid = m.rel AND attnum = 2) AS col
				FROM public.made m LOOP
				IF t.what = 'waste' THEN
					EXECUTE format('INSERT INTO %s (%s) SELECT repeat(''l'', 100) FROM generate_series(1, 1000)', t.rel,
						t.col);
				ELSE
					EXECUTE
						format('INSERT INTO %s (%s, payload) SELECT $1, repeat(''p'', 90) FROM generate_series(1, 500)',
						t.rel, t.col) USING i
						+ (random() * 1e9)::int;
					COMMIT;
					EXECUTE format('UPDATE %1$s SET status = 1 WHERE id > (SELECT max(id) - 500 FROM %1$s)', t.rel);
				END IF;
				COMMIT;
			END LOOP;
		END LOOP;
	END $$});
for my $round (1 .. 3)
{
	sql('CALL public.work(); SELECT pg_stat_force_next_flush()');
	# watched_a_day() makes the fits
	sql('SET fillfactor_advisor.fits = 0; CALL ff_collect()');
}
watched_a_day($node, $db);
my $tables = sql('SELECT count(*) FROM public.made');
is($tables, 2 * @kinds, 'the tables are there');
is(sql(q{SELECT string_agg(DISTINCT m.what || ' ' || a.action, ', ')
	FROM ff_advise() a RIGHT JOIN public.made m ON m.rel = a.relation}),
	'batch lower, waste raise', 'all are advised to change');
# as if it had been watched for two days
sql(q{UPDATE ff_internal.counter_interval SET began_at = began_at - interval '2 days'});
is(sql(q{SELECT action FROM ff_advise_indexes('i.keys')}), 'raise',
	'a change is advised for an index with hostile names');
sql(q(CREATE TABLE public.before AS
	SELECT c.oid, c.relkind, c.reloptions, c.relfilenode FROM pg_class c
	WHERE c.oid IN (SELECT rel FROM public.made) OR c.relnamespace = to_regnamespace('i')));

# ---------------------------------------------------------------------------
# The script, with its rewrites
# ---------------------------------------------------------------------------
# small indexes, too
my $text = with_provisional(sql('SET fillfactor_advisor.min_worth = 0; SELECT * FROM ff_script(NULL, true)'));
my @calls = ('ff_advise()', 'ff_advise_indexes()');
my %ddl = map { $_ => sql("SELECT ddl FROM $_ WHERE ddl ~ '^ALTER'") } @calls;
is(sql(q{SELECT count(*)
	FROM (SELECT ff_script(NULL, true) UNION ALL
		SELECT ddl FROM ff_advise() UNION ALL
		SELECT ddl FROM ff_advise_indexes() UNION ALL
		SELECT ff_internal.alter_options(rel, '{fillfactor=50}') FROM public.made) x(s)
	WHERE s ~ '[\u0001-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e]'}),
	0, 'a line is a line, and shows all that it holds');
my ($status, $said) = run_lines('script.sql', $text);
is($status, 0, 'the script runs') or diag $said;
# of those that waste each rewrite, of the batches where it pays
my ($done) = $said =~ /\b(\d+) done, 0 unchanged, 0 refused/;
cmp_ok($done // 0, '>=', 3 * @kinds + 1, 'each change and each rewrite of it') or diag $said;
ok(!-e $marker, 'no name was run by psql or a shell');
is(sql(q{SELECT count(*) FROM public.before b JOIN pg_class c USING (oid)
	JOIN public.made m ON m.rel = c.oid
	WHERE c.reloptions IS NOT DISTINCT FROM b.reloptions OR what = 'waste' AND c.relfilenode = b.relfilenode}),
	0,
	'each table has what was advised, and its rewrite');
is(sql(q{SELECT c.reloptions FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid
	WHERE i.indrelid = 'i.keys'::regclass}),
	'{fillfactor=100}', 'the index has what was advised');
is(sql('SELECT count(*) FROM public.plain'), 0, 'the server ran no name in the script');
($status, $said) = run_lines('script.sql', $text);
like($said, qr/\b0 done, $done unchanged, 0 refused/, 'a second run of the script changes nothing');
($status, $said) = run_lines('undo.sql', "\\set undo on\n$text");
is($status, 0, 'undone') or diag $said;
is(sql(q{SELECT count(*) FROM public.before b JOIN pg_class c USING (oid)
	WHERE c.reloptions IS DISTINCT FROM b.reloptions}),
	0, 'to what it was');

# how to run it, as it says
{
	local @ENV{qw(PGHOST PGPORT)} = ($node->host, $node->port);
	my @how = $text =~ /^-- .*?(psql -X -d .*?)(?: -f FILE.*)?$/mg;
	is(join(' ', map { sh("$_ -Atc 'SELECT current_database()'") } @how), join(' ', ("$db\n") x @how),
		'by a shell, it connects to this database');
	ok(!-e $marker, 'the shell ran no name in the connection lines');
}

# ---------------------------------------------------------------------------
# Statements that other calls give, sent as they are
# ---------------------------------------------------------------------------
foreach my $call (@calls)
{
	($status, $said) = run_lines('ddl.sql', "\\set ON_ERROR_STOP on\n$ddl{$call}");
	is("$status $said", '0 ', "$call: its statements run");
}
ok(!-e $marker, 'the shell ran no name in the statements');
is(sql(q{SELECT count(*) FROM public.before b JOIN pg_class c USING (oid)
	WHERE c.reloptions IS NOT DISTINCT FROM b.reloptions
		AND (c.relkind = 'i' OR oid IN (SELECT rel FROM public.made))}),
	0, 'each for its own table');
sql('CALL ff_collect()');
($status, $said) = run_lines('way_back.sql',
	"\\set ON_ERROR_STOP on\n"
		. sql(q{SELECT string_agg(ff_internal.restore_options(r.relid, c.old_options, c.new_options, c.kind), E'\n')
			FROM ff_internal.change c JOIN ff_internal.relation r USING (rel_id)
			WHERE c.kind = 'fillfactor'}));
is("$status $said", '0 ', 'ff_verify(): its way back runs');
is(sql(q{SELECT count(*) FROM public.before b JOIN pg_class c USING (oid)
	JOIN public.made m ON m.rel = c.oid
	WHERE c.reloptions IS DISTINCT FROM b.reloptions}),
	0, 'the way back restores every option');
ok(!-e $marker, 'the way back runs no name');

# ---------------------------------------------------------------------------
# Report and metrics
# ---------------------------------------------------------------------------
my $html = sql('SELECT ff_report(100)');
# the page's own script, which its policy names by hash
is(scalar($html =~ s/<script>[^<]*(?:<(?!\/script>)[^<]*)*<\/script>//g), 1, 'the report has one script, its own');
unlike($html, qr/<(?:script|img)|\son[a-z]+="|[\x00-\x08\x0b-\x1f\x7f]/,
	'the report is inert, and has no control characters');
like($html, qr/&lt;script&gt;alert\(1\)&lt;\/script&gt;/, 'the report shows hostile names as text');
is(sql(q{SELECT count(*) FROM ff_metrics m JOIN pg_namespace n ON n.nspname = m.schemaname
	JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = m.relname
	JOIN public.made d ON d.rel = c.oid}),
	$tables, 'metrics have the names as they are');
is(sql('SELECT count(*) FROM public.plain'), 0, 'no name was run');
# ---------------------------------------------------------------------------
# Control characters beyond ASCII, and what reverses or hides text, in databases of several encodings
# ---------------------------------------------------------------------------
my $c1 = q(SELECT string_agg(chr(c), '') FROM generate_series(128, 159) c);
my $hidden = q(SELECT string_agg(chr(c), '')
	FROM unnest(ARRAY[133, 155, 8206, 8207, 8232, 8233, 8234, 8235, 8236, 8237, 8238, 8294, 8295, 8296, 8297]) c);
foreach my $one ([ 'LATIN1', $c1 ], [ 'LATIN2', $c1 ], [ 'LATIN9', $c1 ], [ 'ISO_8859_5', $c1 ], [ 'UTF8', $hidden ],
	[ 'WIN1252', q(SELECT chr(128) || chr(133)), 1 ])
{
	my ($encoding, $characters, $letters) = @$one;
	$db = 'in_' . lc $encoding;
	$node->safe_psql('postgres', "CREATE DATABASE $db TEMPLATE template0 ENCODING '$encoding' LOCALE 'C'");
	local $ENV{PGCLIENTENCODING} = $encoding;
	sql(qq{CREATE EXTENSION fillfactor_advisor;
		CREATE TABLE public.plain (x int);
		CREATE TABLE public.bad AS SELECT c AS text, 'n' || c || '"''' AS name FROM ($characters) x(c);
		SELECT format('CREATE TABLE %I ()', name) FROM public.bad \\gexec});
	# in the database itself, where each is one character
	my $raw = q(s ~ (SELECT '[' || text || ']' FROM public.bad));
	is(sql("SELECT bool_or($raw)
		FROM public.bad,
			LATERAL (SELECT ff_internal.quoted_name(name) UNION ALL
				SELECT ff_internal.quoted_text(name) UNION ALL
				SELECT ff_internal.plain(name)) q(s)"),
		$letters ? 't' : 'f',
		$letters ? "$encoding: letters stay" : "$encoding: no name and no text has them raw");
	is(sql(qq{SELECT count(*) > 2, count(*) FILTER (WHERE s ~ '^--' AND $raw)
		FROM ff_script((SELECT format('%I', name)::regclass FROM public.bad)) s}),
		$letters ? 't|1' : 't|0',
		$letters
			? "$encoding: letters stay in comments of the script"
			: "$encoding: no comment of the script has them raw");
	sql(q{SELECT format('COMMENT ON TABLE %s IS %s', ff_internal.quoted_name(name), ff_internal.quoted_text(name))
		FROM public.bad \gexec});
	is(sql(q{SELECT obj_description(format('%I', name)::regclass) = name FROM public.bad}), 't',
		"$encoding: quoted names and texts keep their meaning");
}

# ---------------------------------------------------------------------------
# On a command line: pg_repack, in a database that it can connect to
# ---------------------------------------------------------------------------
SKIP:
{
	skip 'no pg_repack for this server', 4
		unless sql(q{SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_repack'})
			&& !system('pg_repack --version >/dev/null 2>&1');
	$db = 'repacking';
	$node->safe_psql('postgres', "CREATE DATABASE $db");
	sql('CREATE EXTENSION fillfactor_advisor; CREATE EXTENSION pg_repack; CREATE TABLE public.plain (x int)');
	my @printable = map { name($hostile{$_}) } grep { $hostile{$_} !~ /[^\x20-\x7e]/ } @kinds;
	sql("CREATE SCHEMA $_;
		CREATE TABLE $_.$_ (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, line text) WITH (fillfactor = 50)")
		foreach @printable;
	for my $round (1 .. 3)
	{
		sql("INSERT INTO $_.$_ (line) SELECT repeat('l', 100) FROM generate_series(1, 3000);
			SELECT pg_stat_force_next_flush()")
			foreach @printable;
		sql('SET fillfactor_advisor.fits = 0; CALL ff_collect()');
	}
	watched_a_day($node, $db);
	$text = sql('SELECT * FROM ff_script(NULL, true)');
	is(scalar(() = $text =~ /^\\! pg_repack /mg), scalar @printable, 'pg_repack is to rewrite each');
	($status, $said) = run_lines('repack.sql', $text);
	is($status, 0, 'the script with pg_repack runs') or diag $said;
	ok(!-e $marker, 'no name was run by the shell');
	is(sql(q{SELECT count(*) FROM public.plain}), 0, 'no name was run by the server');
}

# and would have been seen
# which reads nothing, so it gets nothing
sql(q{COPY (SELECT 1 WHERE false) TO PROGRAM 'touch $M.server'});
run_lines('trap.sql', '\! touch $M.psql');
sh('touch $M.shell');
ok(-e "$marker.server" && -e "$marker.psql" && -e "$marker.shell", 'the commands in them do what is looked for');
$node->stop;
