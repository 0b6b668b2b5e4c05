# ff_report(): its HTML is whole, inert whatever tables and statements are
# called, and readable at ten and at a thousand tables; where Chromium is
# installed, it opens the page without an error and without a request.
use strict;
use warnings;
use FindBin;
use File::Temp;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('report');
$node->init(extra => [ '--encoding', 'UTF8', '--locale', 'C' ]);
$node->append_conf('postgresql.conf', 'fsync = off');
$node->start;

# A database with so many tables whose history is written by hand.
sub database
{
	my ($name, $n) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $name");
	$node->safe_psql($name, 'CREATE EXTENSION fillfactor_advisor');
	$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-v', "n=$n", '-o', '/dev/null', '-f', "$FindBin::Bin/../report/tables.sql", '-d', $node->connstr($name) ], "$n tables");
	return;
}

# like() and unlike() on a page, without printing all of it when they fail.
sub has     { my ($html, $pattern, $what) = @_; return ok($html =~ $pattern, $what); }
sub has_not { my ($html, $pattern, $what) = @_; my $found = $html =~ /$pattern/ ? $& : undef; return is($found, undef, $what); }

# Properly nested, every attribute quoted, nothing but the elements known.
sub check_html
{
	my ($html, $what) = @_;
	my (@open, $bad);
	my %void = map { $_ => 1 } qw(meta link br line circle path rect);
	my %known = map { $_ => 1 } qw(html head title style body header main section article h1 h2 h3 p b a span div dl dt dd ul li pre table caption thead tbody tr th td figure figcaption svg desc text details summary), keys %void;

	(my $rest = $html) =~ s/<style>.*?<\/style>//s;
	while ($rest =~ /\G([^<>]*)<(?:!DOCTYPE html|(\/?)([a-z0-9]+)((?:\s[-a-zA-Z0-9]+="[^"<>]*")*)(\/?))>/gc)
	{
		my ($closes, $tag, $alone) = ($2, $3, $5);
		next unless defined $tag;
		$bad //= "element $tag" unless $known{$tag};
		if ($closes) { $bad //= "/$tag closes " . ($open[-1] // 'nothing') unless @open && pop(@open) eq $tag; }
		elsif (!$void{$tag} && !$alone) { push @open, $tag; }
	}
	$bad //= 'not well-formed at: ' . substr($rest, pos($rest) // 0, 80) if (pos($rest) // 0) < length($rest) - 1;
	$bad //= "open: @open" if @open;
	is($bad, undef, "$what: well-formed, only known elements");
	has_not($html, qr/[^\x09\x0a\x20-\x7e]/, "$what: plain ASCII");
	(my $addresses = $html) =~ s{http://www\.w3\.org/2000/svg}{}g;
	has_not($addresses, qr{(?:https?:|//[a-z]|\@import|url\()}, "$what: names nothing outside");
	my %ids = map { $_ => 1 } $html =~ /\sid="([^"]*)"/g;
	is(join(' ', grep { !$ids{$_} } $html =~ /href="#([^"]*)"/g), '', "$what: every link has its target");
	my @svg = $html =~ /(<svg .*?<\/svg>)/gs;
	is(scalar(grep { !/<title>[^<]+<\/title>\n<desc>[^<]+<\/desc>/ } @svg), 0, "$what: every picture has its words");
	is(scalar(() = $html =~ /<table>/g), scalar(() = $html =~ /<table>\n<caption>[^<]+<\/caption>\n<thead><tr><th scope="col"/g), "$what: every table has a caption and headers");
	return;
}

# Every advised table has a detailed entry with its curve.
sub check_curves
{
	my ($name, $html, $what) = @_;
	my @missing;
	foreach my $oid (split /\n/, $node->safe_psql($name, q(SELECT relation::oid FROM ff_advise() WHERE action IN ('lower', 'raise'))))
	{
		push @missing, $oid unless $html =~ /<article id="t$oid">(?:(?!<\/article>).)*<title>Predicted HOT share at each fillfactor<\/title>(?:(?!<\/article>).)*<path class="size" d="M[-0-9. MVH]+"/s;
	}
	is("@missing", '', "$what: every advised table has its curve");
	return;
}

# --- ten tables, and all that a name can hold
database('few', 12);
$node->safe_psql('few', q{
	SET standard_conforming_strings = on;
	ALTER TABLE t1 RENAME TO "<script>alert(1)</script>";
	ALTER TABLE t4 RENAME TO "a""b'c&amp;d --> ]]> </title></style></svg>";
	ALTER TABLE t7 RENAME TO U&"line\000abreak\001b[31m\202egnp.exe \00e4\20ac";
	ALTER INDEX t10_j_idx RENAME TO "javascript:alert(1)//";
	CREATE SCHEMA "</table><img src=x onerror=alert(1)>";
	ALTER TABLE t10 SET SCHEMA "</table><img src=x onerror=alert(1)>";
	CREATE TABLE part (i int) PARTITION BY RANGE (i);
	INSERT INTO ff_problem SELECT rel_id, now(), 1, 'XX001', '<b onmouseover="alert(1)">invalid page</b>' FROM ff_relation ORDER BY rel_id LIMIT 1;
	INSERT INTO ff_change (rel_id, kind, before_at, seen_at, epoch_id, old_fillfactor, new_fillfactor)
	SELECT rel_id, 'fillfactor', now() - interval '31 minutes', now() - interval '30 minutes', epoch_id, 90, 100 FROM ff_relation WHERE relname = 't1';
	CREATE TABLE filled AS SELECT * FROM generate_series(1, 1000) i;
});
my $few = $node->safe_psql('few', 'SELECT ff_report()');
check_html($few, 'few tables');
check_curves('few', $few, 'few tables');
has_not($few, qr/<(?:script|img|b )|[\s"']on[a-z]+="/, 'few tables: nothing of a name became HTML');
has($few, qr/&lt;script&gt;alert\(1\)&lt;\/script&gt;/, 'few tables: the name is shown as it is');
has($few, qr/&#228;&#8364;/, 'few tables: letters beyond ASCII as references');
has_not($few, qr/&#8238;/, 'few tables: nothing turns its neighbours around');
has($few, qr/class="change"/, 'few tables: a change of fillfactor is marked');
has($few, qr/partitioned: holds no rows itself/, 'few tables: what was not examined, and why');
has($few, qr/&lt;b onmouseover=&quot;alert\(1\)&quot;&gt;invalid page/, 'few tables: the problem is shown');
has($few, qr/HOT share and moved share over time/, 'few tables: history');
has($few, qr/How full the pages are/, 'few tables: page fill');
has($few, qr/Memory of the server against table sizes/, 'few tables: memory');

# --- a thousand tables: the model is asked for a few of them only
database('many', 1000);
my $many = $node->safe_psql('many', 'SELECT ff_report(5)');
check_html($many, 'many tables');
is(scalar(() = $many =~ /<article /g), 5, 'many tables: as many in detail as asked for');
is(scalar(() = $many =~ /<tr><th scope="row">(?:<a [^>]*>)?public\.t\d+(?:<\/a>)?<\/th><td class="n">\d+<\/td><td>(?:keep|wait|raise|lower)</g), 995, 'many tables: all others in short');
cmp_ok(length $many, '<', 2_000_000, 'many tables: less than two megabytes');
has($many, qr/the model was asked only for the 5/, 'many tables: says for how many the model was not asked');

# --- no table, no collection
$node->safe_psql('postgres', 'CREATE DATABASE none');
$node->safe_psql('none', 'CREATE EXTENSION fillfactor_advisor');
my $none = $node->safe_psql('none', 'SELECT ff_report()');
check_html($none, 'no table');
has($none, qr/Nothing was collected yet/, 'no table: says that nothing was collected');

my ($code, undef, $error) = $node->psql('none', 'SELECT ff_report(-1)', extra_params => [ '-v', 'VERBOSITY=sqlstate' ]);
like($error, qr/22023/, 'a negative number of tables is an error');
$node->safe_psql('none', 'CREATE ROLE reader IN ROLE pg_read_all_stats; CREATE ROLE nobody');
is($node->psql('none', 'SET ROLE reader; SELECT length(ff_report()) > 1000'), 0, 'a member of pg_read_all_stats may read it');
isnt($node->psql('none', 'SET ROLE nobody; SELECT ff_report()'), 0, 'others may not');

# --- the page in a browser
SKIP:
{
	my ($browser) = grep { -x } map { my $dir = $_; map { "$dir/$_" } qw(chromium chromium-browser google-chrome) } split /:/, $ENV{PATH};
	skip 'no Chromium here', 10 unless $browser;

	# The requests that a page makes, whatever the browser wants for itself;
	# no name is resolved, so nothing leaves the machine.
	my $look = sub {
		my ($html) = @_;
		my $dir = File::Temp->newdir(DIR => '/tmp');
		open my $file, '>', "$dir/page.html" or die;
		print $file $html;
		close $file;
		my @command = ('timeout', '120', $browser, qw(--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update
			--disable-sync --disable-extensions --no-pings --enable-logging=stderr --v=0), '--host-resolver-rules=MAP * ~NOTFOUND',
			"--user-data-dir=$dir/profile", "--log-net-log=$dir/net.json", '--dump-dom', "file://$dir/page.html");
		my ($dom, $said) = ('', '');
		my $ended = IPC::Run::run(\@command, '<', \undef, '>', \$dom, '2>', \$said);
		my @asked = map { /"url":"((?!file:|data:)[^"]*)"/ } grep { /"network_isolation_key":"file:/ } -e "$dir/net.json" ? split(/\n/, slurp_file("$dir/net.json")) : ();
		return ($ended, $dom, $said, "@asked");
	};
	my (undef, undef, $said, $asked) = $look->('<img src="http://host.invalid/a.png"><script>console.log("hear me")</script>');
	like($asked, qr{http://host\.invalid/a\.png}, 'Chromium: a request would be seen');
	like($said, qr/CONSOLE.*hear me/, 'Chromium: a message would be seen');
	foreach my $page ([ few => $few ], [ many => $many ])
	{
		my ($name, $html) = @$page;
		my ($ended, $dom, $said, $asked) = $look->($html);
		ok($ended, "$name in Chromium: opens") or diag $said;
		is(scalar(() = $dom =~ /<svg /g), scalar(() = $html =~ /<svg /g), "$name in Chromium: every picture is in the document");
		unlike($said, qr/CONSOLE/, "$name in Chromium: no console message");
		is($asked, '', "$name in Chromium: no request");
	}
}

done_testing();
