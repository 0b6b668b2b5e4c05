# Observations by file, and a source that lies: what it sends is data, whatever it looks like.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../../test/perl";
use JSON::PP;
use Mirrored;
use PostgreSQL::Test::Utils;
use Test::More;

Mirrored::start();
my $json = JSON::PP->new->canonical->allow_nonref;

# A file as the source writes it.
sub observation
{
	my ($out, $err) = run_command([ 'psql', '-XAtf', "$FindBin::Bin/../observe.sql", '-d',
		$Mirrored::source->connstr('shop') . ' user=monitor' ]);
	is($err, '', 'observe.sql runs with psql');
	like($out, qr/\A\{.*"format": 1, .*\}\Z/, 'and writes one line');
	return $out;
}

# Imports a text; returns its result or error.
sub import_text
{
	my ($text) = @_;
	my ($status, $out, $err) = $Mirrored::mirror->psql('shop', "SELECT ff_mirror_import(\$import\$$text\$import\$)",
		extra_params => [ '-v', 'VERBOSITY=verbose' ]);
	return $status == 0 ? $out : $err =~ s/.*?ERROR:  //sr =~ s/\n.*//sr;
}

# Imports the last file with changes, as a later one.
my ($last, $minutes) = (undef, 1);
sub import_with
{
	my ($change) = @_;
	my $said = $json->decode($last);
	$said->{server}{read_at} = value("SELECT now() + interval '$minutes min'");
	$minutes++;
	$said = $change->($said) // $said;
	return import_text($json->encode($said));
}
# Changes one table's shape.
sub with_shape
{
	my (%change) = @_;
	return import_with(sub {
		my ($table) = grep { $_->{shape}{name} eq 'victim' } @{ $_[0]{tables} };
		$table->{shape} = { %{ $table->{shape} }, %change };
		return;
	});
}

# ---------------------------------------------------------------------------
# Files
# ---------------------------------------------------------------------------
there('CREATE TABLE orders (id int PRIMARY KEY, status int);
	INSERT INTO orders SELECT g, 0 FROM generate_series(1, 500) g;
	CREATE TABLE victim (id int, name text);
	CREATE INDEX victim_name ON victim (name)');
my $first = observation();
like(import_text($first), qr/^mirror of database shop, PostgreSQL \d+, .*: 2 tables, 2 indexes$/m,
	'a file is imported');
there('UPDATE orders SET status = 1');
$last = observation();
my $readers = join '', map { slurp_file($_) =~ s/--.*//gr } glob(
	"'$FindBin::Bin/../sql/mirror/'*.sql '$FindBin::Bin/../../sql/collect/schema.sql'");
my %sent;
sub keys_of
{
	my ($said) = @_;
	return map { keys_of($_) } @$said if ref $said eq 'ARRAY';
	return if ref $said ne 'HASH';
	# the keys of the others are data
	return map { $sent{$_}++; keys_of($said->{$_}) if !/^(?:settings|shapes|counters)$/ } keys %$said;
}
keys_of($json->decode($last));
cmp_ok(scalar keys %sent, '>', 70, 'the keys of an observation were found');
is(join(' ', grep { $readers !~ /\b$_\b/ } sort keys %sent), '', 'a mirror reads each of them');
like(import_text($last), qr/^mirror of database shop/, 'a second one');
is(value(q(SELECT sum(updated) FROM ff_internal.counter_interval)), '500', 'what happened in between is known');
is(value(q(SELECT max(ended_at) FROM ff_internal.counter_interval)),
	value("SELECT '" . $json->decode($last)->{server}{read_at} . "'::timestamptz"), 'by the time of the file');
like(import_text($first), qr/^55000: nothing newer/, 'an older file is refused');
like(import_with(sub { @{$_[0]{server}}{qw(database database_oid)} = ('other', 4711); return; }),
	qr/^55000: this is an observation of database other/, 'so is one of another database');
like(error(q(SELECT ff_mirror('nowhere'))), qr/server nowhere does not exist/, 'the mirror stays one by file');
$Mirrored::mirror->safe_psql('postgres', 'CREATE TABLE own (id int);
	CREATE EXTENSION fillfactor_advisor_hub CASCADE; CALL ff_collect()');
like(($Mirrored::mirror->psql('postgres', "SELECT ff_mirror_import('$last')"))[2],
	qr/database postgres has a history of its own tables/,
	'a database with tables of its own does not become a mirror');

# ---------------------------------------------------------------------------
# What is no observation
# ---------------------------------------------------------------------------
my $state = q(SELECT md5(string_agg(o::text, ',' ORDER BY o.kind, o.id)) FROM ff_internal.observed o);
my $before = value($state);
like(import_text($_), qr/^22023: this is not an observation/, "not imported: $_")
	foreach '{}', '[]', '7', '"x"', '{"format": 1}', '{"format": "1; DROP TABLE canary"}';
like(import_with(sub { $_[0]{format} = 2; return; }),
	qr/^0A000: the observation has format 2, and this hub reads formats up to 1/, 'nor one of a later format');
my %wrong = (
	'no database' => sub { delete $_[0]{server}{database}; return; },
	'a time that never comes' => sub { $_[0]{server}{read_at} = 'infinity'; return; },
	'a time in the future' => sub { $_[0]{server}{read_at} = '2199-01-01'; return; },
	'a version that is none' => sub { $_[0]{server}{server_version} = 'seventeen'; return; },
	'tables that are no list' => sub { $_[0]{tables} = {}; return; },
	'tables that are numbers' => sub { $_[0]{tables} = [ 1, 2 ]; return; },
	'a counter that is text' => sub { $_[0]{tables}[0]{counted}{updated} = 'many'; return; },
	'triggers that are numbers' => sub { $_[0]{tables}[0]{triggers} = [ 1 ]; return; },
	'extensions that are no list' => sub { $_[0]{server}{extensions} = { a => 1 }; return; },
	'entries of an index that are text' => sub { $_[0]{indexes}[0]{entries} = 'x'; return; },
	'an OID that is none' => sub { $_[0]{tables}[0]{oid} = -1; return; },
	'the same table twice' => sub { push @{ $_[0]{tables} }, $_[0]{tables}[0]; return; },
	'statements that are none' => sub { $_[0]{statements} = { entries => [ { queryid => 'x' } ] }; return; });
foreach my $what (sort keys %wrong)
{
	like(import_with($wrong{$what}), qr/^2[12]\w{3}: /, "$what: refused");
}
is(value($state), $before, 'nothing of these is stored');

# ---------------------------------------------------------------------------
# Names and definitions that are code
# ---------------------------------------------------------------------------
value(q(CREATE TABLE canary (sings boolean); INSERT INTO canary VALUES (true)));
my $code = q(x"; DROP TABLE canary; --);
like(with_shape(name => $code,
	columns => [ { number => 1, name => "id); DROP TABLE canary; --", type => 'int4' },
		{ number => 2, name => $code, type => 'int4); DROP TABLE canary; --' } ]),
	qr/^mirror of/, 'a table with a name like code is imported');
is(value(q(SELECT string_agg(c.relname || ': ' || a.attname || ' ' || format_type(a.atttypid, NULL), ', '
	ORDER BY a.attnum)
	FROM ff_hub.mirrored m JOIN pg_class c ON c.oid = m.relid
	JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
	WHERE m.shape->>'name' ~ 'canary' AND m.table_oid IS NULL)),
	"$code: id); DROP TABLE canary; -- integer, $code: $code text", 'its name is its name, and its type text');
like(with_shape(schema => q('; DROP TABLE canary; --)), qr/^mirror of/, 'so is a schema');
foreach my $schema (qw(pg_catalog ff_internal ff_hub information_schema pg_toast))
{
	like(with_shape(schema => $schema, name => 'intruder'),
		qr/^not here: table $schema\.intruder: the schema is not for users$/m, "nothing gets into $schema");
}
like(with_shape(name => 'canary'), qr/^not here: table public\.canary: 42P07 /m,
	'a table that is not the mirror\'s is left alone');
like(with_shape(options => [ 'fillfactor=70); DROP TABLE canary; --', 'fillfactor; DROP TABLE canary=7', 'oids=1',
	'x' ]),
	qr/^mirror of/, 'options that are code');
is(value(q(SELECT reloptions || (SELECT reloptions FROM pg_class WHERE oid = 'victim'::regclass)
	FROM ff_internal.user_table WHERE relname = 'victim')), '{oids=1}', 'are left out, and one of another version kept');
like(with_shape(kind => $_, access_method => 'heap'), qr/^mirror of/, "a table of kind $_")
	foreach 'r"; DROP TABLE canary', '';
like(with_shape(access_method => 'heap; DROP TABLE canary'),
	qr/^not here: table public\.victim: only access method heap/m, 'a table with another access method');
like(with_shape(columns => [ map { { number => $_, name => "c$_", type => 'int4' } } 1 .. 2000 ]),
	qr/^not here: table public\.victim: 54011 /m, 'a table with too many columns');
like(with_shape(columns => 'none'), qr/^not here: table public\.victim: 22023 /m, 'columns that are none');
like(with_shape(parents => [ 1, 2, 'x' ], partition => \1), qr/^(mirror of|22P02)/, 'parents that are none');
like(import_with(sub {
		foreach my $index (grep { $_->{shape}{name} eq 'victim_name' } @{ $_[0]{indexes} })
		{
			@{ $index->{shape} }{qw(definition access_method name)} = ('DROP TABLE canary; CREATE INDEX x ON y (z)',
				'btree (name); DROP TABLE canary; --', $code);
			$index->{shape}{columns} = [ 1, '2); DROP TABLE canary; --', 2 ];
		}
		$_[0]{statements}{texts} = [ { queryid => 1, toplevel => \1, query => 'DROP TABLE canary; SELECT 1' } ];
		$_[0]{server}{settings}{shared_buffers} = { value => '1; DROP TABLE canary', unit => '8kB' };
		$_[0]{server}{settings}{server_version} = { value => '19~rc1 (Debian 19~rc1-1)' };
		$_[0]{server}{wal} = { bytes => 'Infinity', fpi => -1 };
		$_[0]{indexes}[0]{$_} = 'DROP TABLE canary' foreach qw(key);
		$_[0]{indexes}[0]{$_} = 'NaN' foreach qw(entries width);
		$_[0]{tables}[0]{triggers} = [ { name => 'x"; DROP TABLE canary', changes => [ 'a"; DROP TABLE canary', undef ] } ];
		@{ $_[0]{tables}[0] }{qw(owner still width)} = ("x\nDROP TABLE canary;", ['DROP TABLE canary'], 1e308);
		$_[0]{server}{denied} = [ { what => "a\nDROP TABLE canary;", grant => "b\n; DROP TABLE canary;" } ];
		$_[0]{shapes} = { "'; DROP TABLE canary; --" => "'; DROP TABLE canary; --", 7 => 'x' x 1000,
			8 => "'; DROP TABLE canary; --" };
		$_[0]{holders} = [ { kind => 'DROP TABLE canary', holder => 'x' },
			{ kind => 'transaction', holder => "pid\n1", xids => 1 } ];
		return;
	}), qr/^mirror of/, 'definitions, statements, settings, notes and holders that are code');
is(value(q(SELECT (shapes - ARRAY(SELECT g::text FROM generate_series(9, 1023) g)) - '{0,1,2,3,4,5,6}'::text[]
	FROM ff_hub.mirror)), q({"8": "'; DROP TABLE canary; --"}), 'digests are few and short');
is(value(q(SELECT sings FROM canary)), 't', 'none of them was executed');
is(value(q(SELECT string_agg(o.said->>'definition', '|') FROM ff_internal.observed o
	JOIN pg_class c ON c.oid = o.id WHERE o.kind = 'index' AND c.relname ~ 'canary')),
	'DROP TABLE canary; CREATE INDEX x ON y (z)', 'a definition is shown as it came');
is(value(q(SELECT concat_ws('|', o.said->'settings'->'shared_buffers', ff_internal.server_setting('server_version'),
		o.said->'denied'->0->>'what') FROM ff_internal.observed o WHERE o.kind = 'server')),
	'19~rc1 (Debian 19~rc1-1)|a?DROP TABLE canary;', 'a setting that is none is left out, a note is one line');
is(value(q(SELECT string_agg(kind || ' ' || holder, ', ') FROM ff_internal.horizon_holders())), 'transaction pid?1',
	'a holder is one of five kinds');
unlike(value(q(SELECT * FROM ff_script())), qr/^\s*DROP/m, 'nor does a script execute it');
value("SELECT count(*) FROM $_") foreach qw(ff_advise() ff_advise_indexes() ff_blockers() ff_settings() ff_report()
	ff_export() ff_metrics);
pass('nothing that is asked of such a mirror fails');

# ---------------------------------------------------------------------------
# Answers that are too large, and endless ones (see the fleet's test, too)
# ---------------------------------------------------------------------------
there('GRANT USAGE ON SCHEMA ext TO monitor; SELECT ext.pg_stat_statements_reset()');
there("UPDATE orders SET status = $_ /* " . 'x' x 1000000 . ' */ WHERE id = 1' . ' AND id > 0' x $_) foreach 1 .. 12;
is(value(q(SELECT count(*) || ' ' || (sum(octet_length(t->>'query')) BETWEEN 4000000 AND 8388608)
	FROM jsonb_array_elements(ff_hub.ask('source', ff_hub.observation())::jsonb->'statements'->'texts') t
	WHERE t->>'query' ~ 'xxx')), '8 true', 'of 12 MB of texts, 8 MB are sent');
# what keeps its constants stays there; 18 stores a text without the comment before it
there(q(SELECT ext.pg_stat_statements_reset(); CREATE TABLE copied (id int); CREATE TABLE "to" (id int);
	CREATE PROCEDURE works(a text) LANGUAGE sql AS 'UPDATE orders SET status = 1 WHERE id = 1'));
there($_) foreach "CALL works('secret')", "COMMENT ON TABLE copied IS 'secret'",
	"COPY copied (id) FROM PROGRAM 'echo 1 secret from | cut -c1' WITH (DELIMITER ';')",
	'/* secret */ COPY "to" FROM PROGRAM $$echo 1$$',
	"DO 'BEGIN UPDATE orders SET status = 2 WHERE id = 1; PERFORM ''secret''; END'",
	"CREATE TABLE made AS SELECT 'secret'",
	"PREPARE told AS UPDATE orders SET status = \$1 WHERE 'secret' <> ''; EXECUTE told(7)",
	"(SELECT 'secret' FROM orders FOR UPDATE)",
	"SELECT 'secret' AS s INTO made_2 FROM orders", "WITH w AS (SELECT 'secret' AS s) SELECT s INTO made_3 FROM w",
	'WITH w AS (SELECT 1 AS i) INSERT INTO copied SELECT i FROM w';
is(value(q(SELECT string_agg(DISTINCT t->>'query', '; ' ORDER BY t->>'query')
	FROM jsonb_array_elements(ff_hub.ask('source', ff_hub.observation())::jsonb->'statements'->'texts') t
	WHERE t->>'query' <> 'COPY "to" FROM STDIN')),
	'; (SELECT $1 FROM orders FOR UPDATE); COPY copied (id) FROM STDIN; '
	. 'PREPARE told AS UPDATE orders SET status = $1 WHERE $2 <> $3; '
	. 'WITH w AS (SELECT $1 AS i) INSERT INTO copied SELECT i FROM w',
	'texts of statements that keep their constants are not sent');
like(error(q(SELECT length(ff_hub.ask('source', 'SELECT pg_catalog.repeat(''x'', 70000000)')))),
	qr/^ERROR:  its answer is larger than 64 MB/, 'an answer of 70 MB is refused');
like(error(q(SELECT ff_hub.ask('source', 'SELECT 1/0'))), qr/^ERROR:  division by zero/,
	'an error of the source is its error');
is(value(q(SELECT ff_hub.ask('source',
	'SELECT pg_catalog.concat_ws('' '', pg_catalog.current_setting(''transaction_read_only''), '
	'pg_catalog.current_setting(''application_name''), pg_catalog.current_setting(''lock_timeout''))'))),
	'on fillfactor_advisor 2s', 'a source is asked with safe settings');

# a session that a pooler gives to others next keeps none of them
is(value(q(CREATE FUNCTION pg_temp.twice() RETURNS text LANGUAGE plpgsql AS $$
	DECLARE result text;
	BEGIN
		PERFORM ff_hub.send('pooled', 'source', 'SELECT 1', '20 s');
		LOOP
			result := ff_hub.answer('pooled');
			EXIT WHEN result IS NOT NULL;
		END LOOP;
		PERFORM * FROM dblink_get_result('pooled') r(answer text);
		SELECT r.answer INTO result
			FROM dblink('pooled',
				$q$SELECT concat_ws(' ', current_setting('transaction_read_only'), current_setting('lock_timeout'),
					current_setting('statement_timeout'), current_setting('search_path'))$q$) r(answer text);
		PERFORM ff_hub.hang_up('pooled');
		RETURN result;
	END $$; SELECT pg_temp.twice())), 'off 0 0 "$user", public', 'nothing stays set in a pooled session');
$Mirrored::mirror->stop;
$Mirrored::source->stop;
done_testing();
