# ff_report(): its HTML is whole, inert whatever tables and statements are
# called and however the database is encoded, and readable at ten and at a
# thousand tables; Chromium opens the page without an error and without a
# request, and prints all of it.
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
chomp(my $libraries = qx(pg_config --pkglibdir));
my $statements = -e "$libraries/pg_stat_statements.so";
$node->append_conf('postgresql.conf', 'shared_preload_libraries = pg_stat_statements') if $statements;
$node->start;

# A database with so many tables whose history is written by hand.
sub database
{
	my ($name, $n, $options) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $name " . ($options // ''));
	# the model is asked for all of them, as collections would have done
	$node->safe_psql($name, "CREATE EXTENSION fillfactor_advisor; ALTER DATABASE $name SET fillfactor_advisor.fits = 1000");
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
	my %known = map { $_ => 1 } qw(html head title style body header nav main section article h1 h2 h3 p b a span div dl dt dd ul li pre table caption thead tbody tr th td figure figcaption svg desc text details summary), keys %void;

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

# Every advised table is under What to do first, with its curve in a picture
# of bounded size; the articles have it at large.  Returns how many there are.
sub check_curves
{
	my ($name, $html, $what) = @_;
	my ($first) = $html =~ /<section id="first">(.*?)<\/section>/s;
	my %row = map { /href="#t(\d+)"/ ? ($1 => $_) : () } $first =~ /<tr>.*?<\/tr>/gs;
	my %article = $html =~ /<article id="t(\d+)">(.*?)<\/article>/gs;
	my @advised = split /\n/, $node->safe_psql($name, q(SELECT relation::oid FROM ff_advise() WHERE action IN ('lower', 'raise')));
	my $small = qr/<svg class="small"[^>]*>\n<title>Predicted (?:HOT share|size) at each fillfactor<\/title>.*<path class="(?:hot|size)" d="M120 \d+H[0-9HV]+".*<path class="then" /s;
	is(join(' ', grep { ($row{$_} // '') !~ $small } @advised), '', "$what: every advised table has its curve");
	is(scalar(keys %row), scalar(@advised), "$what: and no other table");
	is(join(' ', grep { length $row{$_} > 4000 } keys %row), '', "$what: in some bytes each");
	is(join(' ', grep { $article{$_} && $article{$_} !~ /<title>Predicted (?:HOT share|size) at each fillfactor<\/title>.*<path class="size" d="M[-0-9. MVH]+"/s } @advised), '', "$what: in detail at large");
	return scalar @advised;
}

# Every table in detail says what stands in the way of HOT, or that nothing does.
sub check_blockers
{
	my ($html, $what) = @_;
	is(join(' ', grep { !/<caption>Indexes on columns that updates set|Indexes in the way: none; / } $html =~ /<article .*?<\/article>/gs), '', "$what: blockers, for every table in detail");
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
	INSERT INTO ff_internal.problem SELECT rel_id, now(), 1, 'XX001', '<b onmouseover="alert(1)">invalid page</b>' FROM ff_internal.relation ORDER BY rel_id LIMIT 1;
	INSERT INTO ff_internal.change (rel_id, kind, before_at, seen_at, epoch_id, old_fillfactor, new_fillfactor)
	SELECT rel_id, 'fillfactor', now() - interval '31 minutes', now() - interval '30 minutes', epoch_id, 90, 100 FROM ff_internal.relation WHERE relname = 't1';
	CREATE TABLE filled AS SELECT * FROM generate_series(1, 1000) i;
});
my $few = $node->safe_psql('few', 'SELECT ff_report()');
check_html($few, 'few tables');
cmp_ok(check_curves('few', $few, 'few tables'), '>', 0, 'few tables: some are advised');
check_blockers($few, 'few tables');
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

# --- a thousand tables: every advised one has its curve, some are in detail
database('many', 1000);
my $many = $node->safe_psql('many', 'SELECT ff_report()');
check_html($many, 'many tables');
cmp_ok(check_curves('many', $many, 'many tables'), '>', 100, 'many tables: more are advised than are in detail');
is(scalar(() = $many =~ /<article /g), 20, 'many tables: twenty in detail');
is(scalar(() = $many =~ /<tr id="t\d+"><th scope="row">public\.t\d+<\/th><td class="n">\d+<\/td><td>(?:keep|wait|raise|lower)</g), 980, 'many tables: all others in short');
cmp_ok(length $many, '<', 2_000_000, 'many tables: less than two megabytes');
# a picture's size does not grow with the steps: 91 is the most there can be
my $small = $node->safe_psql('many', q(SELECT ff_internal.svg_small_curve(jsonb_agg(jsonb_build_object('fillfactor', f, 'hot_pct', 100 - f, 'hot_pct_low', 90 - f, 'hot_pct_high', 110 - f,
	'size_bytes', 1000000 / f, 'is_current', f = 100)), 100, 42) FROM generate_series(10, 100) f));
like($small, qr/^<svg .*<desc>At 100, as now, 0\.0 % of updates are predicted to be HOT; at 42, as advised, 58\.0 % \(48\.0 to 68\.0\)\.<\/desc>.*d="M120 33H120V33H117V32.*<\/svg>$/s, 'small curve: what it shows');
cmp_ok(length $small, '<', 2000, 'small curve: small');

# --- other encodings
foreach my $one ([ 'LATIN1', q('g' || chr(228) || 'rten'), qr/g&#228;rten/ ], [ 'WIN1252', q('x' || chr(129) || chr(128)), qr/x&#xFFFD;&#8364;/ ],
	[ 'SQL_ASCII', q('g' || chr(195) || chr(164) || 'rten ' || chr(228) || chr(128) || chr(226) || chr(130) || chr(172) || chr(237) || chr(160) || chr(128)), qr/g&#228;rten (?:&#xFFFD;){2}&#8364;(?:&#xFFFD;){3}/ ])
{
	my ($encoding, $name, $shown) = @$one;
	my $database = 'in_' . lc $encoding;
	database($database, 5, "TEMPLATE template0 ENCODING '$encoding' LOCALE 'C'");
	$node->safe_psql($database, "DO \$\$ BEGIN EXECUTE format('ALTER TABLE t4 RENAME TO %I', $name); END \$\$");
	my $html = $node->safe_psql($database, 'SELECT ff_report()');
	check_html($html, $encoding);
	check_curves($database, $html, $encoding);
	has($html, $shown, "$encoding: letters beyond ASCII as references, what is none replaced");
}

# --- statements that say anything
my $hostile = "</script><script>alert(2)</script> ]]> --> <!-- </td></style></svg> \"'><img src=x onerror=alert(3)> &lt; \x01\x1b[31m\x7f \xe2\x80\xaegnp.exe";
SKIP:
{
	skip 'this server came without pg_stat_statements', 12 unless $statements;
	$node->safe_psql('postgres', 'CREATE DATABASE hostile');
	$node->safe_psql('hostile', 'CREATE EXTENSION pg_stat_statements; CREATE EXTENSION fillfactor_advisor');
	$node->safe_psql('hostile', 'CREATE TABLE victim (i int PRIMARY KEY, j int) WITH (fillfactor = 40); CREATE INDEX ON victim (j); INSERT INTO victim SELECT i FROM generate_series(1, 2000) i; CALL ff_collect()');
	$node->safe_psql('hostile', "UPDATE victim SET j /* $hostile */ = i");
	$node->poll_query_until('hostile', "SELECT n_tup_upd = 2000 FROM pg_stat_user_tables WHERE relname = 'victim'") or die 'no counters';
	$node->safe_psql('hostile', 'CALL ff_collect()');
	my $html = $node->safe_psql('hostile', 'SELECT ff_report()');
	check_html($html, 'hostile statement');
	check_blockers($html, 'hostile statement');
	has($html, qr/<article .*<td>1 calls, 2000 rows: UPDATE victim SET j \/\* &lt;\/script&gt;&lt;script&gt;alert\(2\)&lt;\/script&gt; \]\]&gt; --&gt; &lt;!-- &lt;\/td&gt;.*&quot;&#39;&gt;&lt;img src=x onerror=alert\(3\)&gt; &amp;lt; +\[31m +&#xFFFD;gnp\.exe/s,
		'hostile statement: shown as it is, but for what cannot be shown');
	has_not($html, qr/<(?:script|img|!--)|[\s"']on[a-z]+="|\]\]>/, 'hostile statement: nothing of it became HTML');
	$hostile = $html;
}

# --- no table, no collection
$node->safe_psql('postgres', 'CREATE DATABASE none');
$node->safe_psql('none', 'CREATE EXTENSION fillfactor_advisor');
my $none = $node->safe_psql('none', 'SELECT ff_report()');
check_html($none, 'no table');
has($none, qr/Nothing was collected yet/, 'no table: says that nothing was collected');
like($node->safe_psql('none', q(SELECT evidence FROM ff_settings() WHERE setting = 'backend_flush_after')), qr/^no table with pages in this database yet, memory (?:unknown|\d+ [kMGT]B), shared_buffers \d+ [kMG]B$/, 'no table: the settings say so');
is($node->safe_psql('none', q{SELECT string_agg(evidence, '; ') FROM ff_settings() WHERE evidence ~ ' [,;]|\( | \)|^ | $|  '}), '', 'no table: no evidence has a gap');

my ($code, undef, $error) = $node->psql('none', 'SELECT ff_report(-1)', extra_params => [ '-v', 'VERBOSITY=sqlstate' ]);
like($error, qr/22023/, 'a negative number of tables is an error');
$node->safe_psql('none', 'CREATE ROLE reader IN ROLE pg_read_all_stats; CREATE ROLE nobody');
is($node->psql('none', 'SET ROLE reader; SELECT length(ff_report()) > 1000'), 0, 'a member of pg_read_all_stats may read it');
isnt($node->psql('none', 'SET ROLE nobody; SELECT ff_report()'), 0, 'others may not');

# --- the page in a browser
SKIP:
{
	my ($browser) = grep { -x } map { my $dir = $_; map { "$dir/$_" } qw(chromium chromium-browser google-chrome) } split /:/, $ENV{PATH};
	unless ($browser)
	{
		my $why = ($ENV{FFA_TOOLS} // 'yes') eq 'yes' ? 'no chromium in PATH; make test installs it, as root with apt' : $ENV{FFA_TOOLS};
		diag "NOT TESTED: the report in a browser: $why";
		skip $why, 16;
	}

	# Options without which it would want more of the machine than it needs.
	my @browser = ('timeout', '120', $browser, qw(--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update
		--disable-sync --disable-extensions --disable-dev-shm-usage --no-pings), '--host-resolver-rules=MAP * ~NOTFOUND');

	# The requests that a page makes, whatever the browser wants for itself;
	# no name is resolved, so nothing leaves the machine.
	my $open = sub {
		my ($html) = @_;
		my $dir = File::Temp->newdir(DIR => '/tmp');
		open my $file, '>', "$dir/page.html" or die;
		print $file $html;
		close $file;
		my @command = (@browser, qw(--enable-logging=stderr --v=0),
			"--user-data-dir=$dir/profile", "--log-net-log=$dir/net.json", '--dump-dom', "file://$dir/page.html");
		my ($dom, $said) = ('', '');
		my $ended = IPC::Run::run(\@command, '<', \undef, '>', \$dom, '2>', \$said);
		my @asked = map { /"url":"((?!file:|data:)[^"]*)"/ } grep { /"network_isolation_key":"file:/ } -e "$dir/net.json" ? split(/\n/, slurp_file("$dir/net.json")) : ();
		return ($ended, $dom, $said, "@asked");
	};
	# a browser that did not come up is started again
	my $look = sub {
		my ($html) = @_;
		my @seen;
		for (1 .. 3) { @seen = $open->($html); last if $seen[0] && $seen[1] ne ''; }
		return @seen;
	};
	my ($said, $asked);
	for (1 .. 3)
	{
		(undef, undef, $said, $asked) = $open->('<img src="http://host.invalid/a.png"><script>console.log("hear me")</script>');
		last if $asked && $said =~ /hear me/;
	}
	like($asked, qr{http://host\.invalid/a\.png}, 'Chromium: a request would be seen');
	like($said, qr/CONSOLE.*hear me/, 'Chromium: a message would be seen');
	foreach my $page ([ few => $few ], [ many => $many ], $statements ? [ hostile => $hostile ] : ())
	{
		my ($name, $html) = @$page;
		my ($ended, $dom, $said, $asked) = $look->($html);
		ok($ended, "$name in Chromium: opens") or diag $said;
		is(scalar(() = $dom =~ /<svg /g), scalar(() = $html =~ /<svg /g), "$name in Chromium: every picture is in the document");
		unlike($said, qr/CONSOLE/, "$name in Chromium: no console message");
		is($asked, '', "$name in Chromium: no request");
	}

	# Printed, the numbers behind the curves are there without a click.
	my $print = sub {
		my ($html) = @_;
		my $dir = File::Temp->newdir(DIR => '/tmp');
		open my $file, '>', "$dir/page.html" or die;
		print $file $html;
		close $file;
		my $said = '';
		my $ended = IPC::Run::run([ @browser, "--user-data-dir=$dir/profile", '--no-pdf-header-footer', "--print-to-pdf=$dir/page.pdf", "file://$dir/page.html" ], '<', \undef, '>', \my $nothing, '2>', \$said);
		my $pdf = -e "$dir/page.pdf" ? slurp_file("$dir/page.pdf") : '';
		diag $said unless $pdf;
		return ($ended, scalar(() = $pdf =~ /\/Type\s*\/Page\b/g));
	};
	my $printed = sub {
		my ($html) = @_;
		my ($ended, $n);
		for (1 .. 3) { ($ended, $n) = $print->($html); last if $ended && $n; }
		return $n;
	};
	(my $without = $few) =~ s/<details>.*?<\/details>//gs;
	my ($pages, $fewer) = ($printed->($few), $printed->($without));
	cmp_ok($fewer, '>', 0, 'printed: some pages');
	cmp_ok($pages, '>', $fewer, 'printed: every step in numbers, too');
}

done_testing();
