# The install scripts are made of pieces in the order of their dependencies, those of the hub
# after all of the core: none names what a later one makes, each can be loaded after those before
# it, and no body depends on the schema that the user chose, which may be renamed.  And what has to
# be named in several files is in all of them.
use strict;
use warnings;
use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $top = "$FindBin::Bin/../..";
my $makefile = slurp_file("$top/Makefile");
my @core = pieces('SQL_PIECES');
my @hub = pieces('HUB_PIECES');
my @pieces = (@core, @hub);
cmp_ok(scalar @core, '>=', 20, 'the list of pieces was read');
cmp_ok(scalar @hub, '>=', 5, 'the list of the hub\'s pieces was read');
is(join(' ',
	grep { my $file = $_;
		!grep { $_ eq $file } @pieces } grep { !m{^sql/updates/} } map { s{^\Q$top\E/}{}r } glob(
			"'$top'/{sql/{,*/},hub/sql/}*.sql")),
	'', 'every SQL file is in a list of pieces');

# the files in a variable of the Makefile
sub pieces
{
	my ($variable) = @_;
	my ($listed) = $makefile =~ /^$variable = \\\n(.*?[^\\])\n/ms;
	return $listed =~ m{((?:\w+/)?sql/[\w/]+\.sql)}g;
}

# without comments, and without the texts of COMMENT ON
sub code
{
	my ($text) = @_;
	$text =~ s{/\*.*?\*/}{}gs;
	$text =~ s/--[^\n]*//g;
	$text =~ s/^COMMENT ON .*?\n?\s+IS\s+(?:E?'(?:[^']|'')*'\s*)+;//gms;
	# the core knows no more of a mirror's hub than these calls, in mirrors only
	$text =~ s/EXECUTE 'SELECT [^']*ff_hub\.observe(?:d_sample)?\([^']*'//g;
	return $text;
}
# with its schema: both extensions have a function check_role
my $name = qr/((?:ff_internal|ff_hub|\@extschema\@)\.\w+)/;
my (%text, %made_in);
my $kind = qr/(?:UNIQUE )?(?:FUNCTION|PROCEDURE|AGGREGATE|TABLE|VIEW|TYPE|SEQUENCE|DOMAIN|CAST|OPERATOR)/;
foreach my $piece (@pieces)
{
	$text{$piece} = code(slurp_file("$top/$piece"));
	while ($text{$piece} =~ /^CREATE (?:OR REPLACE )?$kind $name/gm)
	{
		# a type and a function may have one name
		$made_in{$1} //= $piece;
	}
}
cmp_ok(scalar keys %made_in, '>=', 100, 'the objects that the pieces create were found');

sub none
{
	my ($found, $what) = @_;
	return is(join(', ', map { "$_$found->{$_}" } sort keys %$found), '', $what);
}

my %place = map { $pieces[$_] => $_ } 0 .. $#pieces;
foreach my $piece (@pieces)
{
	my (%later, %bound);
	while ($text{$piece} =~ /$name/g)
	{
		my $made = $made_in{$1} // next;
		$later{$1} = " ($made)" if $place{$made} > $place{$piece};
	}
	none(\%later, "$piece names nothing of a later piece");
	while ($text{$piece} =~ /\bAS (\$\w*\$)(.*?)\1/gs)
	{
		my $body = $2;
		$bound{$1} = '' while $body =~ /\@extschema\@\.(\w+)/g;
	}
	none(\%bound, "$piece: no body names the schema that the user chose");
}

is(join(' ', map { my $piece = $_; map { "$piece:$_" } grep { length((split /\n/, $text{$piece})[$_ - 1]) > 120 }
	1 .. ($text{$piece} =~ tr/\n//) } @pieces), '', 'no line is longer than 120');

# Upgraded tables have new columns at their end: columns are named, unless a whole row of the same table is copied.
my $row = qr/(?:OVERRIDING USER VALUE )?SELECT (?:\*\s+FROM|\w+\.\*)/;
my (%positional, %made_once);
foreach my $piece (@pieces)
{
	$positional{$1} = " ($piece)" while $text{$piece} =~ /INSERT INTO ([\w.]++)(?: AS \w+)?+\s++(?!\(|$row)/g;
	# an upgrade does not make these pieces again; C functions have their bodies in the library
	next if $piece !~ m{/(?:head|schema|types)\.sql$};
	$made_once{$1} = " ($piece)" while $text{$piece} =~ /^CREATE (?:FUNCTION|PROCEDURE) (\w+\.\w+)(?!.*LANGUAGE c\b)/gm;
}
none(\%positional, 'INSERTs name their columns');
delete $made_once{'ff_internal.define'};
none(\%made_once, 'what is made only once has no function');

# What stands in two places, one of which could be forgotten.
sub words { my %seen = map { $_ => 1 } @_; return join(' ', sort keys %seen); }
my %setting = map { $_ => 1 } slurp_file("$top/src/base/settings.h") =~ /^(?:INTEGER|REAL)\((\w+)/gm;
my ($made_with, $of_server) =
  slurp_file("$top/sql/advise/advice.sql") =~ /FUNCTION ff_internal\.fit_made_with\(.*?'\{(.*?)\}'.*?'\{(.*?)\}'/s;
is(words($made_with =~ /(\w+)/g),
	words(grep { $setting{$_} } map { slurp_file($_) =~ /\bff_(\w+)/g } glob("'$top'/src/model/*.c")),
	'a fit is outdated if a setting that the model reads changes');
is(words($of_server =~ /(\w+)/g), words(slurp_file("$top/sql/model/model.sql") =~ /\bserver_setting\('(\w+)'\)/g),
	'or one of the server');
my ($judged) = slurp_file("$top/sql/verify/settings.sql") =~ /FUNCTION ff_internal\.server_proposals\((.*?)^\$\$;/ms;
my ($tracked) = slurp_file("$top/sql/collect/collect.sql") =~ /FUNCTION ff_internal\.tracked_settings\((.*?);\n/s;
is(words(grep { $tracked !~ /\b$_\b/ } $judged =~ /^\s+\(\d+, '(\w+)'/gm), '',
	'collections follow each setting of the server that advice judges');

my $decides = slurp_file("$top/src/advise/decision.c") =~ s/\b(?:no_data\(d|is\([^,()]+), "\w+"\)|d->lacks = "\w+"//gr;
my ($cause_of) = $decides =~ /^(cause_of_lack\(.*?)^diagnose\(/ms;
my $causes = words(map { /"(\w+)"/g } $cause_of, $decides =~ /d->cause = ([^;]+);/g);
cmp_ok($causes =~ tr/ //, '>=', 11, 'the causes were found');
my ($commented) = slurp_file("$top/sql/advise/advice.sql") =~ /^action: .*? cause: (.*?)\nfillfactor/ms;
is(words($commented =~ s/\([^)]*\)//gr =~ /([a-z_]+)/g), $causes, 'the comment of ff_advise() has all');
is(words(map { /`(\w+)`/g } slurp_file("$top/README.md") =~ /^\| (`\w+`(?:, `\w+`)*) \|.*\| `?(?:lower|keep|wait)/gm),
	$causes, 'and so has the table in README.md');
my ($cures) = slurp_file("$top/sql/report/report.sql") =~ /\ba\.cause IN \(([^)]*)\)/;
is(words(qw(page_full batch_update row_growth settled settling few_updates no_data not_examined), $cures =~ /(\w+)/g),
	$causes, 'for each cause it is known whether the report shows it as one with another cure');

# the server confirms this for SQL function bodies, which it checks
my $node = PostgreSQL::Test::Cluster->new('pieces');
$node->init;
$node->start;
my $dir = PostgreSQL::Test::Utils::tempdir;
local $ENV{PGOPTIONS} = '-c search_path=pg_catalog,pg_temp -c check_function_bodies=on -c client_min_messages=error';
foreach my $piece (@pieces)
{
	my $text = slurp_file("$top/$piece");
	# which only CREATE EXTENSION can run
	next if $text =~ /CALL ff_internal\.give_rights\(/;
	$text =~ s/^\\echo .*\\quit$//m;
	$text =~ s/\@extschema\@/public/g;
	$text =~ s/'MODULE_PATHNAME'/'\$libdir\/fillfactor_advisor'/g;
	append_to_file("$dir/piece.sql", $text);
	my ($out, $err) = run_command([ 'psql', '-X', '-q', '-d', $node->connstr('postgres'), '-f', "$dir/piece.sql" ]);
	is($err, '', "$piece can be loaded after those before it");
	unlink "$dir/piece.sql";
}
$node->stop;
done_testing();
