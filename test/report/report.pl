# ff_report(): its HTML is complete, harmless for any names, statements and encodings, and readable with ten and with a
# thousand tables. Chromium opens the page without an error or a request, at the widths of phones and desktops, and its
# buttons work.
use strict;
use warnings;
use Digest::SHA qw(sha256_base64);
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

# A database with $n tables whose history is written by hand.
sub database
{
	my ($name, $n, $options) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $name " . ($options // ''));
	$node->safe_psql($name, "CREATE EXTENSION fillfactor_advisor");
	$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-v', "n=$n", '-o', '/dev/null', '-f',
		"$FindBin::Bin/../pictures/tables.sql", '-d', $node->connstr($name) ],
		"$n tables");
	# fit the model as collections would, but with many tables only for those that change
	$node->safe_psql($name, "ALTER DATABASE $name SET fillfactor_advisor.fits = 1");
	$node->safe_psql($name,
		q(SELECT ff_internal.collect_fit(rel_id) FROM ff_internal.relation
			WHERE substr(relname, 2)::int <= 20 OR substr(relname, 2)::int % 18 IN (1, 5)
				AND substr(relname, 2)::int < 400));
	return;
}

# like() and unlike() on a page, without printing all of it when they fail.
sub has     { my ($html, $pattern, $what) = @_; return ok($html =~ $pattern, $what); }
sub has_not
{
	my ($html, $pattern, $what) = @_;
	my $found = $html =~ /$pattern/ ? $& : undef;
	return is($found, undef, $what);
}

# A page without its own style and script.
sub without_own
{
	my ($html) = @_;
	$html =~ s/<style>.*?<\/style>//s;
	$html =~ s/<script>.*?<\/script>\n<\/body>/<\/body>/s;
	return $html;
}

# The page is well nested, with every attribute quoted and only known elements.
sub check_html
{
	my ($html, $what) = @_;
	my (@open, $bad);
	my %void = map { $_ => 1 } qw(meta link path);
	my %known = map { $_ => 1 } qw(html head title style body header nav main section article h1 h2 h3 h4 p b i a span
		div button ul li pre table caption thead tbody tr th td figure figcaption svg desc text script),
	keys %void;

	# one style and one script, which the policy allows by their hashes
	my ($policy) = $html =~ /<meta http-equiv="Content-Security-Policy" content="(default-src 'none';[^"]*)">/;
	foreach my $tag (qw(style script))
	{
		my @own = $html =~ /<$tag>(.*?)<\/$tag>/gs;
		is(scalar @own, 1, "$what: there is one $tag");
		my $hash = sha256_base64($own[0]);
		like($policy, qr/ $tag-src 'sha256-\Q$hash\E=';/, "$what: the policy allows this $tag");
	}
	my $rest = without_own($html);
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
	is($bad, undef, "$what: the page is well-formed and has only known elements");
	has_not($html, qr/[\x00-\x08\x0b-\x1f\x7f]/, "$what: the page has no control characters");
	(my $addresses = $html) =~ s{http://www\.w3\.org/2000/svg|'sha256-[^']*'}{}g;
	has_not($addresses, qr{(?:https?:|//[a-z]|\@import|url\()}, "$what: the page refers to nothing outside");
	my %ids = map { $_ => 1 } $html =~ /\sid="([^"]*)"/g;
	is(join(' ', grep { !$ids{$_} } $html =~ /href="#([^"]*)"/g), '', "$what: every link has its target");
	my @svg = $html =~ /(<svg .*?<\/svg>)/gs;
	is(scalar(grep { !/<title>[^<]+<\/title>\n<desc>[^<]+<\/desc>/ } @svg), 0,
		"$what: every picture has a title and a description");
	is(scalar(() = $html =~ /<table>/g),
		scalar(() = $html =~ /<table>\n<caption>[^<]+<\/caption>\n<thead><tr><th scope="col"/g),
		"$what: every table has a caption and headers");
	return;
}

# Every advised table is under What to do first, with a small picture of its curve. The articles have the statement and
# the curve in full size. Returns the number of advised tables.
sub check_curves
{
	my ($name, $html, $what) = @_;
	my ($first) = $html =~ /<section id="first">(.*?)<\/section>/s;
	my %row = map { /href="#t(\d+)"/ ? ($1 => $_) : () } $first =~ /<tr [^>]*>.*?<\/tr>/gs;
	my %article = $html =~ /<article id="t(\d+)">(.*?)<\/article>/gs;
	my @advised = split /\n/,
		$node->safe_psql($name, q(SELECT relation::oid FROM ff_advise() WHERE gain_pct IS NOT NULL));
	my $title = qr/<title>Prediction for each fillfactor<\/title>/;
	my $line = qr/<path class="(?:hot|size)" d="M0 \d+H[0-9HL ]+"/;
	my $small = qr/<svg class="small"[^>]*>\n$title.*$line.*<path class="advised" /s;
	is(join(' ', grep { $article{$_} && $article{$_} !~ /<pre>ALTER TABLE .* SET \(fillfactor = \d+\);<\/pre>/ } @advised),
		'', "$what: the articles have the statements");
	like($html,
		@advised
			? qr/<h1>${\ scalar @advised} changes?: .* Based on \d+ \w+[.:]/
			: qr/<h1>No change of a fillfactor is advised\./,
		"$what: the heading gives the answer");
	like($html,
		qr/<button type="button" class="change" aria-pressed="false"><b>${\ scalar @advised}<\/b>to change<\/button>/,
		"$what: a tile counts the changes");
	is(join(' ', grep { ($row{$_} // '') !~ $small } @advised), '', "$what: every advised table has its curve");
	is(scalar(keys %row), scalar(@advised), "$what: only advised tables are under What to do first");
	is(join(' ', grep { length $row{$_} > 4000 } keys %row), '',
		"$what: each advised table takes at most 4000 bytes there");
	my $curve = qr/<title>Prediction for each fillfactor<\/title>.*<path class="size" d="M[-0-9 LH]+"/s;
	is(join(' ', grep { $article{$_} && $article{$_} !~ $curve } @advised), '',
		"$what: the articles have the curve in full size");
	return scalar @advised;
}

sub check_blockers
{
	my ($html, $what) = @_;
	my $told = qr/<caption>Indexes on columns that updates set|No index is in the way of HOT/;
	is(join(' ', grep { !/$told/ } $html =~ /<article .*?<\/article>/gs), '',
		"$what: every table in detail says what prevents HOT, or that nothing does");
	return;
}

# --- ten tables, and hostile names
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
	INSERT INTO ff_internal.problem
		SELECT rel_id, now(), 1, 'XX001', '<b onmouseover="alert(1)">invalid page</b>'
		FROM ff_internal.relation ORDER BY rel_id LIMIT 1;
	INSERT INTO ff_internal.change (rel_id, kind, before_at, seen_at, epoch_id, old_fillfactor, new_fillfactor)
	SELECT rel_id, 'fillfactor', now() - interval '31 minutes', now() - interval '30 minutes', epoch_id, 90, 100
		FROM ff_internal.relation WHERE relname = 't1';
	UPDATE ff_internal.counter_interval SET rewritten = true
		WHERE (rel_id, ended_at) = (SELECT rel_id, max(ended_at) - interval '10 minutes'
			FROM ff_internal.counter_interval
		JOIN ff_internal.relation USING (rel_id) WHERE relname = 't1' GROUP BY rel_id);
	CREATE TABLE filled AS SELECT * FROM generate_series(1, 1000) i;
});
my $few = $node->safe_psql('few', 'SELECT ff_report()');
check_html($few, 'few tables');
cmp_ok(check_curves('few', $few, 'few tables'), '>', 0, 'few tables: some are advised');
check_blockers($few, 'few tables');
has_not(without_own($few), qr/<(?:script|img|b )|[\s"']on[a-z]+="/, 'few tables: no part of a name became HTML');
has($few, qr/&lt;script&gt;alert\(1\)&lt;\/script&gt;/, 'few tables: the name is shown as it is');
has($few, qr/<meta charset="utf-8">.*\xc3\xa4\xe2\x82\xac/s, 'few tables: the page says its encoding');
has_not($few, qr/\xe2\x80\xae/, 'few tables: no character changes the direction of text');
has($few, qr/<section id="verified">.*<td>90 -&gt; 100<\/td><td>[^<]*<\/td><td>[a-z ]+<\/td><td/s,
	'few tables: the verdict on a change is shown');
has($few, qr/<title>HOT share over time<\/title>\n<desc>From [^<]* Changes: /, 'few tables: the HOT share over time is shown');
has($few, qr/Partitioned: holds no rows itself/, 'few tables: a table that was not examined has the reason');
has($few, qr/&lt;b onmouseover=&quot;alert\(1\)&quot;&gt;invalid page/, 'few tables: the problem is shown');
has($few, qr/<section id="settings">.*\d+ settings can stay as they are/s, 'few tables: the settings are shown');

like($node->safe_psql('few', q(SELECT ff_internal.report_answer(ARRAY(
		SELECT jsonb_populate_record(NULL::ff_internal.report_row, jsonb_build_object('kind', 'fine', 'observed', o))
		FROM unnest('{3 hours,2 s}'::interval[]) o)))),
	qr/<h1>[^<]* Based on 3 hours: provisional\./, 'without changes: the longest time watched, as a table may be new');

# --- a thousand tables: every advised one has its curve, some are in detail
database('many', 1000);
my $many = $node->safe_psql('many', 'SELECT ff_report()');
check_html($many, 'many tables');
cmp_ok(check_curves('many', $many, 'many tables'), '>', 40, 'many tables: more are advised than are in detail');
is(scalar(() = $many =~ /<article /g), 20, 'many tables: 20 are shown in detail');
my $head = qr/<tr id="t\d+" data-k="\w+"><th scope="row">public\.t\d+<\/th>/;
is(scalar(() = $many =~ /$head<td class="n">\d+<\/td><td>(?:keep|wait|raise|lower)</g), 980,
	'many tables: all others have a row');
has($many, qr/<th scope="col" class="n">WAL per update<.*<td class="n">[-+]\d+ %<\/td>/s,
	'many tables: the difference in WAL per update is shown');
cmp_ok(length $many, '<', 2_000_000, 'many tables: the page is smaller than two megabytes');
# the overview in psql fits a terminal; its totals are a notice
my $overview = sub {
	my ($out, $err) = ('', '');
	IPC::Run::run([ 'psql', '-X', '-d', $node->connstr('many'), '-c', $_[0] ], '>', \$out, '2>', \$err);
	return ($out, $err);
};
my ($table, $notice) = $overview->('SELECT * FROM ff_advice');
my @shown = split /\n/, $table;
is(join("\n", grep { length >= 100 } @shown), '', 'many tables: the overview is under 100 columns wide');
is(scalar(@shown), 1003, 'many tables: the overview has a line for each table');
ok(!(grep { length > 60 } split /\n/, $node->safe_psql('many', 'SELECT why FROM ff_advice')),
	'many tables: the column why is short');
my $actions = join ' ', map { (split /\|/)[3] =~ s/ //gr } @shown[2 .. $#shown - 1];
unlike($actions, qr/(?:keep|wait).*(?:lower|raise)/, 'many tables: changes come first');
my $changes = () = $actions =~ /lower|raise/g;
my $less_wal = qr/\d+ [kMG]?B less WAL (?:a day|per 1,000 updates) \(-\d+ %\)/;
like($notice, qr/^NOTICE:  $changes changes: about $less_wal, \d+ [kMG]?B (?:less|more) disk[^;]*$/m,
	'many tables: a notice has the totals');
is(($overview->(q(SELECT * FROM ff_advice WHERE relation = 't2' ORDER BY saves)))[1], $notice,
	'many tables: the same, however the overview is sorted or filtered');
my $odd = q("a schema with quite a long name"."and a ""table"" whose name is not shorter at all");
$node->safe_psql('many',
	qq(CREATE SCHEMA "a schema with quite a long name";
		ALTER TABLE t1 SET SCHEMA "a schema with quite a long name";
		ALTER TABLE "a schema with quite a long name".t1 RENAME TO "and a ""table"" whose name is not shorter at all"));
is($node->safe_psql('many', qq(SELECT relation FROM ff_advice WHERE relation ~ 'long')), $odd,
	'many tables: a name can be pasted');
# the size of a picture does not grow with the number of steps, which is at most 91
my $small = $node->safe_psql('many', q(SELECT ff_internal.curve_picture(array_agg(s), 100, 42, false)
	FROM (SELECT jsonb_populate_record(NULL::ff_internal.step,
	jsonb_build_object('fillfactor', f, 'hot_pct', 100 - f, 'hot_pct_low', 90 - f, 'hot_pct_high', 110 - f,
		'size_bytes', 1000000 / f))
	FROM generate_series(10, 100) f) p(s)));
my $words = quotemeta 'Left as it is: 0.0 % HOT predicted (-10.0 to 10.0). Advised 42: 58.0 % HOT predicted (48.0 to 68.0).';
like($small, qr/^<svg .*<desc>$words<\/desc>.*d="M0 20H0L0 22H4L4 24H7.*<path class="advised" d="M114 0V200".*<\/svg>$/s,
	'small curve: it shows the current and the advised fillfactor');
cmp_ok(length $small, '<', 2000, 'small curve: it takes less than 2000 bytes');

# --- other encodings
foreach my $one ([ 'LATIN1', q('g' || chr(228) || 'rten'), 'latin1', qr/g\xe4rten/ ],
	[ 'WIN1252', q('x' || chr(128)), 'windows-1252', qr/x\x80/ ],
	[ 'SQL_ASCII', q('g' || chr(195) || chr(164) || 'rten'), 'utf-8', qr/g\xc3\xa4rten/ ])
{
	my ($encoding, $name, $charset, $shown) = @$one;
	my $database = 'in_' . lc $encoding;
	database($database, 5, "TEMPLATE template0 ENCODING '$encoding' LOCALE 'C'");
	$node->safe_psql($database, "DO \$\$ BEGIN EXECUTE format('ALTER TABLE t4 RENAME TO %I', $name); END \$\$");
	my $html = $node->safe_psql($database, 'SELECT ff_report()');
	check_html($html, $encoding);
	check_curves($database, $html, $encoding);
	has($html, qr/<meta charset="$charset">.*$shown/s, "$encoding: the page is in it and says so");
}

# --- hostile statements
my $hostile =
	"</script><script>alert(2)</script> ]]> --> <!-- </td></style></svg> \"'><img src=x onerror=alert(3)> &lt; " .
	"\x01\x1b[31m\x7f \xe2\x80\xaegnp.exe";
SKIP:
{
	skip 'this server came without pg_stat_statements', 15 unless $statements;
	$node->safe_psql('postgres', 'CREATE DATABASE hostile');
	$node->safe_psql('hostile', 'CREATE EXTENSION pg_stat_statements; CREATE EXTENSION fillfactor_advisor');
	$node->safe_psql('hostile',
		'CREATE TABLE victim (i int PRIMARY KEY, j int) WITH (fillfactor = 40);
			CREATE INDEX ON victim (j);
			INSERT INTO victim SELECT i FROM generate_series(1, 2000) i;
			CALL ff_collect()');
	$node->safe_psql('hostile', "UPDATE victim SET j /* $hostile */ = i");
	$node->poll_query_until('hostile', "SELECT n_tup_upd = 2000 FROM pg_stat_user_tables WHERE relname = 'victim'")
		or die 'no counters';
	# an index that became sparse, a holder, and advice that is declined
	$node->safe_psql('hostile',
		'CREATE TABLE sparse (i int PRIMARY KEY) WITH (autovacuum_enabled = off);
			INSERT INTO sparse SELECT i FROM generate_series(1, 100000) i;
			CALL ff_collect()');
	$node->safe_psql('hostile',
		'DELETE FROM sparse WHERE i % 5 > 0;
			VACUUM sparse;
			INSERT INTO sparse SELECT 200000 + i FROM generate_series(1, 500) i');
	$node->safe_psql('hostile', q(INSERT INTO ff_internal.horizon_history (kind, holder, role_name, application, since,
		last_seen_at, xids)
		VALUES ('idle in transaction', 'pid 1', 'bob', '<b>nightly', now() - interval '2 hours',
			now() - interval '1 hour', 7)));
	# advice that does not stand any more
	$node->safe_psql('hostile', q(INSERT INTO ff_internal.advice_event (seen_at, rel_id, what, details)
		SELECT now() - v.ago, r.rel_id, v.what, 'fillfactor 100 -> 51'
		  FROM ff_internal.relation r,
			(VALUES (interval '3 hours', 'advised'), (interval '2 hours', 'withdrawn')) v(ago, what)
		 WHERE r.relname = 'sparse'));
	$node->safe_psql('hostile', q(SELECT ff_dismiss('victim', 'no <b>room', now() + interval '1 day')));
	$node->poll_query_until('hostile', "SELECT n_tup_ins = 100500 FROM pg_stat_user_tables WHERE relname = 'sparse'")
		or die 'no counters';
	$node->safe_psql('hostile', 'CALL ff_collect()');
	my $html = $node->safe_psql('hostile', 'SELECT ff_report()');
	has($html, qr/<section id="week">.*<td>public\.victim<\/td><td>dismissed<\/td><td[^>]*>by [^<]* no &lt;b&gt;room</s,
		'the report has what is new');
	has($html, qr/<section id="week">(?:(?!<\/section>).)*<td>public\.sparse<\/td><td>withdrawn</s, 'and what became of advice');
	has($html, qr/<section id="dismissed">.*<th scope="row">public\.victim<\/th>.*<td>no &lt;b&gt;room</s,
		'the report has dismissed advice');
	my $holder = qr/<td>pid 1<\/td><td>bob<\/td><td>&lt;b&gt;nightly</;
	has($html, qr/<section id="held">.*idle in transaction<.*$holder.*<td>60 min<.*commit sooner/s,
		'the report has what held back pruning');
	has($html, qr/<section id="indexes">.*<th scope="row">public\.sparse_pkey<.*<td>rebuild<.*rows were deleted/s,
		'the report has indexes to rebuild');
	check_html($html, 'hostile statement');
	check_blockers($html, 'hostile statement');
	my @part = map { quotemeta }
		'/* &lt;/script&gt;&lt;script&gt;alert(?)&lt;/script&gt; ]]&gt; --&gt; &lt;!-- &lt;/td&gt;',
		'&quot;&#39;&gt;&lt;img src=x onerror=alert(?)&gt; &amp;lt;';
	has($html,
		qr/<article .*<td class="w">1 call, 2000 rows: UPDATE victim SET j $part[0].*$part[1] +\[\? +&#xFFFD;gnp\./s,
		'hostile statement: it is shown as it is, except for characters that cannot be shown');
	has_not(without_own($html), qr/<(?:script|img|!--)|[\s"']on[a-z]+="|\]\]>/,
		'hostile statement: no part of it became HTML');
	$hostile = $html;
}

# --- no table, no collection
$node->safe_psql('postgres', 'CREATE DATABASE none');
$node->safe_psql('none', 'CREATE EXTENSION fillfactor_advisor');
my $none = $node->safe_psql('none', 'SELECT ff_report()');
check_html($none, 'no table');
$node->psql('none', 'SELECT FROM ff_advice', stderr => \my $told);
like($told, qr/^psql:.*NOTICE:  this database has no tables$/m, 'no table: the overview says so');
has($none, qr/Nothing was collected yet/, 'no table: the report says that nothing was collected');
is($node->safe_psql('none',
	q{SELECT string_agg(evidence, '; ') FROM ff_settings() WHERE evidence ~ ' [,;]|\( | \)|^ | $|  '}),
	'', 'no table: no evidence has a gap');

my ($code, undef, $error) = $node->psql('none', 'SELECT ff_report(-1)', extra_params => [ '-v', 'VERBOSITY=sqlstate' ]);
like($error, qr/22023/, 'a negative number of tables is an error');
$node->safe_psql('none', 'CREATE ROLE reader IN ROLE pg_read_all_stats; CREATE ROLE nobody');
is($node->psql('none', 'SET ROLE reader; SELECT length(ff_report()) > 1000'), 0,
	'a member of pg_read_all_stats may read the report');
isnt($node->psql('none', 'SET ROLE nobody; SELECT ff_report()'), 0, 'other roles may not read the report');

# --- the page in a browser
SKIP:
{
	my ($browser) = grep { -x } map { my $dir = $_;
		map { "$dir/$_" } qw(chromium chromium-browser google-chrome) } split /:/,
	$ENV{PATH};
	unless ($browser)
	{
		my $why = ($ENV{FFA_TOOLS} // 'yes') eq 'yes'
			? 'no chromium in PATH; make test installs it, as root with apt'
			: $ENV{FFA_TOOLS};
		diag "NOT TESTED: the report in a browser: $why";
		skip $why, 27;
	}

	# Options that keep the browser from using more of the machine than it needs.
	my @browser = ('timeout', '120', $browser, qw(--headless --no-sandbox --disable-gpu --disable-quic --no-first-run
		--disable-background-networking --disable-component-update
		--disable-sync --disable-extensions --disable-dev-shm-usage
		--no-pings), '--host-resolver-rules=MAP * ~NOTFOUND');

	# The requests that a page makes, without the browser's own. No name is resolved, so nothing leaves the machine.
	my $open = sub {
		my ($html, @options) = @_;
		my $dir = File::Temp->newdir(DIR => '/tmp');
		open my $file, '>', "$dir/page.html" or die;
		print $file $html;
		close $file;
		my @command = (@browser, qw(--enable-logging=stderr --v=0),
			"--user-data-dir=$dir/profile", "--log-net-log=$dir/net.json", @options, '--dump-dom',
			"file://$dir/page.html");
		my ($dom, $said) = ('', '');
		my $ended = IPC::Run::run(\@command, '<', \undef, '>', \$dom, '2>', \$said);
		my @events = -e "$dir/net.json" ? split(/\n/, slurp_file("$dir/net.json")) : ();
		my @asked = map { /"url":"((?!file:|data:)[^"]*)"/ } grep { /"network_isolation_key":"file:/ } @events;
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
		my $page = '<img src="http://host.invalid/a.png"><script>console.log("hear me")</script>';
		(undef, undef, $said, $asked) = $open->($page);
		last if $asked && $said =~ /hear me/;
	}
	like($asked, qr{http://host\.invalid/a\.png}, 'Chromium: a request would be seen');
	like($said, qr/CONSOLE.*hear me/, 'Chromium: a message would be seen');
	foreach my $page ([ few => $few ], [ many => $many ], $statements ? [ hostile => $hostile ] : ())
	{
		my ($name, $html) = @$page;
		my ($ended, $dom, $said, $asked) = $look->($html);
		ok($ended, "$name in Chromium: the page opens") or diag $said;
		is(scalar(() = $dom =~ /<svg /g), scalar(() = $html =~ /<svg /g),
			"$name in Chromium: every picture is in the document");
		unlike($said, qr/CONSOLE/, "$name in Chromium: there is no console message");
		is($asked, '', "$name in Chromium: the page makes no request");
	}

	# At each width, in a frame: nothing is wider than the page, no column is so narrow that its text becomes a tower,
	# and the buttons work.
	my $probe = <<'END';
<script>
// all at once, in the event: the document is looked at when it has loaded
addEventListener('load', () => {
  const frame = document.querySelector('iframe'), doc = () => frame.contentDocument;
  const all = s => [...doc().querySelectorAll(s)], said = [];
  const say = (what, ok) => said.push((ok ? 'ok ' : 'not ok ') + what), seen = e => e.offsetParent !== null;
  for (const width of [390, 500, 768, 1400]) {
    frame.style.width = width + 'px';
    const root = doc().scrollingElement, range = doc().createRange();
    say(`${width}: no scrolling sideways (${root.scrollWidth})`, root.scrollWidth <= width);
    let tower = '';
    for (const e of all('th, td, p, h1, h3, figcaption, .tiles > *')) {
      range.selectNodeContents(e);
      const high = range.getBoundingClientRect().height;
      const most = 24 * (2 + Math.ceil(e.textContent.length / 20)) + (e.querySelector('svg') ? 60 : 0);
      if (high > most) tower = `${high} of ${most}: ${e.textContent.slice(0, 60)}`;
    }
    say(`${width}: nothing is taller than its text ${tower}`, tower === '');
    const cut = all('.wide').filter(e => e.scrollWidth > e.clientWidth + 1);
    say(`${width}: tables are seen whole`, width < 960 || cut.length === 0);
  }
  const light = c => {
    const [r, g, b] = c.match(/[0-9.]+/g).slice(0, 3).map(v => (v / 255) ** 2.2);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const style = e => doc().defaultView.getComputedStyle(e), back = light(style(doc().body).backgroundColor);
  for (const e of [doc().body, ...all('.sub, caption, a, .badge').slice(0, 20)]) {
    const text = light(style(e).color), contrast = (Math.max(text, back) + 0.05) / (Math.min(text, back) + 0.05);
    if (contrast < 4.5) say('contrast of ' + e.className, false);
  }
  say(back < 0.2 ? 'dark' : 'light', true);
  const tile = doc().querySelector('.tiles button.change'), n = Number(tile.querySelector('b').textContent);
  const rows = () => all('main [data-k]').filter(seen);
  const before = rows().length;
  tile.click();
  say('a tile leaves its kind', rows().every(e => e.dataset.k === 'change') && (n > 0 || rows().length === 0));
  tile.click();
  say('once more, and all are back', rows().length === before);
  const box = doc().querySelector('nav input'), name = rows()[0].querySelector('th, h3').textContent;
  box.value = name;
  box.oninput();
  say('filtered by name', rows().length > 0 && rows().every(e => e.querySelector('th, h3').textContent.includes(name)));
  box.value = '';
  box.oninput();
  const head = all('#rest thead th').find(e => e.textContent === 'updates/s');
  const column = () => all('#rest tbody tr').map(r => parseFloat(r.cells[head.cellIndex].textContent) || 0);
  if (head) {
    head.querySelector('button').click();
    const down = column();
    head.querySelector('button').click();
    const up = column();
    say('sorted by a column, both ways',
      down.every((v, i) => !i || down[i - 1] >= v) && up.every((v, i) => !i || up[i - 1] <= v));
  }
  document.body.append(Object.assign(document.createElement('pre'), { id: 'said', textContent: said.join('\n') }));
});
</script>
END
	foreach my $page ([ few => $few ], [ many => $many ], $statements ? [ hostile => $hostile ] : ())
	{
		my ($name, $html) = @$page;
		# the colours do not depend on the tables
		foreach my $scheme ('light', $name eq 'few' ? 'dark' : ())
		{
			(my $quoted = $html) =~ s/([&"])/'&#' . ord($1) . ';'/ge;
			my $frame = qq(<iframe style="width:390px;height:2000px;border:0" srcdoc="$quoted"></iframe>);
			my $wrapper = "<!DOCTYPE html>$probe$frame";
			my @told;
			for (1 .. 3)
			{
				my (undef, $dom) = $open->($wrapper, '--window-size=1500,2000',
					$scheme eq 'dark' ? '--blink-settings=preferredColorScheme=0' : ());
				@told = split /\n/, ($dom =~ /<pre id="said">(.*?)<\/pre>/s)[0] // '';
				last if @told;
			}
			cmp_ok(scalar @told, '>=', 16, "$name, $scheme: all checks in the page ran");
			is(join('; ', grep { !/^ok / } @told), '',
				"$name, $scheme: the page is readable at four widths and its buttons work");
			ok(scalar(grep { $_ eq "ok $scheme" } @told), "$name, $scheme: the page has the colours of the scheme");
		}
	}

	my $print = sub {
		my ($html) = @_;
		my $dir = File::Temp->newdir(DIR => '/tmp');
		open my $file, '>', "$dir/page.html" or die;
		print $file $html;
		close $file;
		my $said = '';
		my $ended = IPC::Run::run([ @browser, "--user-data-dir=$dir/profile", '--no-pdf-header-footer',
			"--print-to-pdf=$dir/page.pdf", "file://$dir/page.html" ],
			'<', \undef, '>', \my $nothing, '2>', \$said);
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
	(my $shorter = $few) =~ s/<article .*<\/article>//gs;
	my ($pages, $fewer) = map { $printed->($_) } $few, $shorter;
	cmp_ok($pages, '>', $fewer, 'the printed page has the tables in detail');
}

done_testing();
