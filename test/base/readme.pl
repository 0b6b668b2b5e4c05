# The examples of README and doc/questions.md run, and the outputs shown have the columns of
# their statements.
#   ```sql   is run as it stands, in a database with the demo's tables
#   ```text  after it is its output, if it is a table of psql
use strict;
use warnings;
use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $top = "$FindBin::Bin/../..";
my $node = PostgreSQL::Test::Cluster->new('readme');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE mydb');
$node->safe_psql('mydb', 'CREATE EXTENSION fillfactor_advisor');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', "$top/test/shop/tables.sql", '-d',
	$node->connstr('mydb') ],
	'the tables of the demo are made');
$node->safe_psql('mydb', 'CALL ff_collect()');
foreach my $batch (1 .. 30)
{
	$node->safe_psql('mydb',
		"INSERT INTO shop.jobs (batch, payload) SELECT $batch, repeat('p', 90) FROM generate_series(1, 500)");
	$node->safe_psql('mydb', "UPDATE shop.jobs SET status = 1, result = 42 WHERE batch = $batch");
}
$node->poll_query_until('mydb', "SELECT n_tup_upd = 15000 FROM pg_stat_user_tables WHERE relid = 'shop.jobs'::regclass")
	or die 'no counters';
$node->safe_psql('mydb', 'CALL ff_collect()');

my $readme = slurp_file("$top/README.md");
my ($n, $outputs, @columns) = (0, 0);
foreach my $text ($readme, slurp_file("$top/doc/questions.md") =~ s/'(?:public\.)?pgbench_\w*\*?'/'shop.jobs'/gr)
{
	while ($text =~ /^```(\w*)\n(.*?)^```$/gms)
	{
		my ($kind, $block) = ($1, $2);
		if ($kind eq 'sql')
		{
			my ($first) = $block =~ /^(.*)/;
			$n++;
			my ($out, $error) = run_command([ 'psql', '-X', '-q', '--csv', '-v', 'ON_ERROR_STOP=1', '-d',
				$node->connstr('mydb'), '-c', $block ]);
			is($error =~ s/^NOTICE:.*\n?//gmr, '', "runs: $first");
			@columns = split /,/, (split /\n/, $out)[0] // '';
		}
		elsif (@columns && $block =~ /^(.*\|.*)\n-+(?:\+-+)+$/m)
		{
			$outputs++;
			my @shown = map { s/^\s+|\s+$//gr } split /\|/, $1;
			is(join(',', @shown), join(',', @columns), 'the output shown has the columns of its statement');
		}
		elsif (@columns && $block =~ /^-\[ RECORD 1 \]/m)
		{
			my %given = map { $_ => 1 } @columns;
			is(join(',', grep { !$given{$_} } $block =~ /^(\w+) +\| /gm), '',
				'the output shown has only columns of its statement');
		}
	}
}
cmp_ok($n, '>=', 10, 'there are at least 10 examples');
cmp_ok($outputs, '>=', 5, 'there are at least 5 outputs of examples');

# README, doc/questions.md and the picture show the same run of the demo.
my $questions = slurp_file("$top/doc/questions.md");
my $shown = qr/^```sql\nSELECT \* FROM ff_advice;\n```\n```text\n(.*?)^```/ms;
my ($overview, $again) = map { ($_ =~ $shown)[0] // '' } $readme, $questions;
like($overview, qr/^ shop\.jobs +\| 100 +\| +\d+ \| lower /m, 'the advice of the demo is shown');
is($again, $overview, 'both pages show the same advice');
is(length((sort { length $b <=> length $a } grep { !/^NOTICE/ } split /\n/, $overview)[0]) < 100, 1,
	'the advice shown is less than 100 columns wide');
my ($new) = $overview =~ /^ shop\.jobs +\| 100 +\| +(\d+) \|/m;
like($readme, qr/At $new a page is filled with/, 'the reason shown is of that advice');
like($questions, qr/^ shop\.jobs \| +$new \|.* advised/m, 'the curve shown is of that advice');
my ($total) = $overview
  =~ /\ANOTICE:  (1 change: about .* less WAL per 1,000 updates \(-\d+ %\), .* disk(?:; [^;]* rewrites? [^;]*)?);/;
my ($said) = slurp_file("$top/doc/report.png") =~ /tEXtDescription\0([^<]*?)\.(?: |Based)/;
is($said, $total, 'the picture shows that advice');
unlike($readme, qr/<!--/, 'the README has no HTML comment');

# what ff_advice says can be looked up, and what the table has is said
my $reasons = join '', map { slurp_file("$top/sql/advise/$_.sql") } qw(reason advice);
my @said = map { s/(?:WHEN|<>|=|IN \() *'\w+'(?:, '\w+')*//gr } $reasons =~ /phrase := ([^;]*);/g;
push @said, $reasons =~ /(?:THEN|ELSE|RETURN) ARRAY\[((?:\([^)]*\)|[^,(])*),/g, $reasons =~ /ELSE ('dismissed[^']*')/;
my @phrases = map { /'([^']*[a-z]{3}[^']*)'/g } @said;
cmp_ok(scalar @phrases, '>=', 20, 'there are phrases');
is(join(', ', grep { index($readme, $_) < 0 } map { s/^ +| +$//gr } map { split /%s/ } grep { !/_/ } @phrases), '',
	'every phrase of ff_advice is in the README');
my $phrase = join '|', '\d+ updates?', map { quotemeta =~ s/\\%s/\\d+/gr } map { /'([^']+)'/g } @said;
my @listed = map { split /; /, (split / \| /)[1] } $readme =~ /^(\| (?:`\w+`[`\w, ]*|any) \| .*)$/mg;
cmp_ok(scalar @listed, '>=', 25, 'the README lists phrases');
is(join(', ', grep { !/^(?:$phrase)+$/ } @listed), '', 'every phrase that the README lists is one of ff_advice');

# the README names the hub's, too
$node->safe_psql('mydb', 'CREATE EXTENSION IF NOT EXISTS fillfactor_advisor_hub CASCADE');
my %there = map { $_ => 1 } split /\n/,
	$node->safe_psql('mydb',
		"SELECT proname FROM pg_proc WHERE proname ~ '^ff_' UNION
			SELECT relname FROM pg_class WHERE relname ~ '^ff_' UNION
			SELECT rolname FROM pg_roles UNION
			SELECT name FROM pg_settings WHERE name ~ '^fillfactor_advisor\\.'");
is(join(' ', grep { !$there{$_} } $readme =~ /\b(ff_[a-z]\w*)/g), '', 'every function that the README names is there');
$node->safe_psql('mydb', "LOAD 'fillfactor_advisor'");
my @settings = $readme =~ /`(fillfactor_advisor\.[a-z_]+)`/g;
is(join(' ', grep { $node->psql('mydb', "LOAD 'fillfactor_advisor'; SHOW $_") != 0 } @settings), '',
	'every setting that the README names is there');

done_testing();
