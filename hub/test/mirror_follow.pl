# What happens to the source of a mirror: its tables change, its statistics are reset, it restarts, crashes, is
# copied, or denies what it allowed.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../../test/perl";
use Mirrored;
use PostgreSQL::Test::Utils;
use Test::More;

Mirrored::start();
my ($source, $mirror) = ($Mirrored::source, $Mirrored::mirror);
there(q(CREATE SCHEMA shop;
	CREATE TABLE shop.orders (id int PRIMARY KEY, status int, note text);
	CREATE TABLE shop.countries (code text PRIMARY KEY);
	CREATE TABLE shop.log (line text);
	CREATE TABLE shop.jobs (id int PRIMARY KEY, status int);
	CREATE TABLE pgbench_tellers (tid int PRIMARY KEY);
	CREATE TABLE pgbench_branches (bid int PRIMARY KEY); CREATE TABLE pgbench_history (tid int);
	INSERT INTO shop.jobs SELECT g, 0 FROM generate_series(1, 1000) g; UPDATE shop.jobs SET status = 1));
value(q(SELECT ff_mirror('source')));
there('UPDATE shop.jobs SET status = 2');
collect();
is(names('mirror'), names('source'), 'the tables of the mirror are those of the source');
my $rel_id = value(q(SELECT rel_id FROM ff_internal.relation WHERE relname = 'orders' AND closed_at IS NULL));

there(q(ALTER TABLE shop.orders RENAME TO "orders; DROP TABLE log";
	ALTER TABLE shop."orders; DROP TABLE log" RENAME note TO "no""te";
	ALTER TABLE shop."orders; DROP TABLE log" ADD COLUMN doubled int GENERATED ALWAYS AS (status * 2) STORED;
	CREATE SCHEMA elsewhere; ALTER TABLE shop.countries SET SCHEMA elsewhere; DROP TABLE pgbench_history;
	BEGIN;
	ALTER TABLE pgbench_tellers RENAME TO spare;
	ALTER TABLE pgbench_branches RENAME TO pgbench_tellers;
	ALTER TABLE spare RENAME TO pgbench_branches;
	COMMIT;
	DROP TABLE shop.log; CREATE TABLE shop.log (text text)));
collect();
is(names('mirror'), names('source'),
	'renamed, moved, dropped, re-created tables and tables that swapped their names are followed');
is(definition(\&value, 'shop."orders; DROP TABLE log"'), definition(\&there, 'shop."orders; DROP TABLE log"'),
	'so are columns');
is(value(q(SELECT rel_id FROM ff_internal.relation WHERE relname ~ '^orders' AND closed_at IS NULL)), $rel_id,
	'a renamed table keeps its history');
is(value(q(SELECT count(*) FROM ff_internal.relation
	WHERE relname = 'log' AND closed_at IS NULL
		AND opened_at > (SELECT max(o.closed_at) FROM ff_internal.relation o
			WHERE o.relname = 'log') - interval '1 s')),
	'1', 'a re-created one does not get that of the old one');
is(unread(), '[]', 'all could be made');
is(value(q(SELECT said->>'hot_indexed' FROM ff_internal.observed WHERE kind = 'server')), 'false',
	'whether updates of indexed columns may be HOT is known');
is(value(q(SELECT has_schema_privilege('pg_read_all_stats', 'elsewhere', 'USAGE'))), 't', 'readers may use a new schema');

there(q(CREATE TYPE mood AS ENUM ('good', 'bad'); CREATE DOMAIN amount AS numeric; CREATE TYPE pair AS (a int, b int);
	CREATE TABLE typed (m mood, a amount, p pair, ps pair[], i inet, q point, j jsonb, t tsvector, x xml, "from" int,
		n name);
	CREATE INDEX ON typed (m);
	CREATE INDEX ON typed (p);
	CREATE INDEX ON typed USING gist (q);
	CREATE INDEX ON typed USING gin (j);
	CREATE INDEX typed_expression ON typed (upper(n), (a + "from")) WHERE m = 'good';
	CREATE INDEX typed_gin ON typed USING gin (ps) WITH (fastupdate = off);
	CREATE UNIQUE INDEX one_row ON typed ((true)); CREATE INDEX ON typed ((typed.*));
	CREATE INDEX ON typed USING brin (i) ; CREATE INDEX ON typed USING hash (ps);
	CREATE TABLE part (k int, v text, w int) PARTITION BY RANGE (k);
	CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (1) TO (10);
	CREATE TABLE part_2 PARTITION OF part DEFAULT PARTITION BY HASH (v);
	CREATE TABLE part_2_1 PARTITION OF part_2 FOR VALUES WITH (MODULUS 1, REMAINDER 0); CREATE INDEX ON part (w);
	CREATE TABLE parent (id int PRIMARY KEY); CREATE TABLE child (more text) INHERITS (parent);
	CREATE MATERIALIZED VIEW seen AS SELECT * FROM typed;
	CREATE INDEX ON seen ("from");
	CREATE UNLOGGED TABLE quick (id int)));
collect();
is(names('mirror'), names('source'), 'partitions, children, materialized and unlogged tables are made');
is(unread(), '[]', 'and all indexes');
like(value(q(SELECT pg_get_indexdef('one_row'::regclass))), qr/^CREATE UNIQUE INDEX one_row ON public.typed USING btree \(\(true\)\)$/,
	'one of no column depends on none here');
is(definition(\&value, 'typed'),
	'a numeric, from integer, i inet, j jsonb, m text, n name, p text, ps text, q point, t tsvector, x xml',
	'a type that is not here is text');
is(value(q(SELECT cause, reason FROM ff_advise_indexes('typed_gin'))),
	'not_examined|access method gin: only B-trees are judged.', 'an index that is a B-tree only here is not judged');
my $family = q(SELECT string_agg(i.inhparent::regclass || ' ' || i.inhrelid::regclass, ', '
	ORDER BY i.inhrelid::regclass::text)
	FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
	WHERE c.relkind IN ('r', 'p'));
is(value($family), there($family), 'partitions and children are those of the source');
is(value(q(SELECT string_agg(k.column_name, ', ') FROM ff_internal.index_columns('typed_expression'::regclass) k)),
	'm, a, from, n', 'an index of expressions depends on the same columns');
is(value(q(SELECT said->>'definition' FROM ff_internal.observed
	WHERE kind = 'index' AND id = 'typed_expression'::regclass)),
	there(q(SET search_path = ''; SELECT pg_get_indexdef('public.typed_expression'::regclass))),
	'and shows the definition of the source');

there(q(ALTER TABLE part DETACH PARTITION part_1;
	ALTER TABLE part ADD COLUMN u uuid;
	ALTER TABLE part RENAME v TO value;
	ALTER TABLE child NO INHERIT parent;
	ALTER TABLE parent ALTER id TYPE bigint;
	DROP INDEX typed_expression;
	ALTER INDEX typed_m_idx RENAME TO typed_p_new;
	ALTER INDEX seen_from_idx SET (fillfactor = 70); ALTER INDEX parent_pkey SET (fillfactor = 60);
	DROP TABLE part_2_1;
	ALTER TABLE quick SET LOGGED;
	ALTER TABLE quick SET (fillfactor = 55, autovacuum_enabled = off);
	ALTER TABLE parent SET (fillfactor = 55, autovacuum_enabled = off, toast_tuple_target = 200)));
collect();
is(value(q(SELECT reloptions FROM pg_class WHERE relname = 'seen_from_idx')), '{fillfactor=70}',
	'options of indexes are followed');
is(value(q(SELECT reloptions FROM ff_internal.user_table WHERE relname = 'parent')),
	'{fillfactor=55,autovacuum_enabled=off,toast_tuple_target=200}', 'in their order, for which the script asks');
there('ALTER INDEX seen_from_idx RESET (fillfactor);
	ALTER TABLE quick RESET (autovacuum_enabled); ALTER TABLE quick DROP COLUMN id');
collect();
is(names('mirror'), names('source'), 'tables that changed again are followed');
is(value($family), there($family), 'and their families');
foreach my $table (qw(part part_1 part_2 parent child))
{
	is(definition(\&value, $table), definition(\&there, $table), "the columns of $table are followed");
}
is(value(q(SELECT c.reloptions || c.relpersistence::text FROM pg_class c WHERE c.oid = 'quick'::regclass)),
	'{fillfactor=55,p}', 'options and persistence are followed');
is(value(q(SELECT string_agg(concat_ws(' ', relname, reloptions), ', ' ORDER BY relname) FROM pg_class
	WHERE relname IN ('seen_from_idx', 'parent_pkey'))), 'parent_pkey {fillfactor=60}, seen_from_idx',
	'also where they are reset, and of an index that was made again');
is(value(q(SELECT string_agg(c.relname, ', ' ORDER BY c.relname) FROM pg_index i
	JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = 'typed'::regclass)),
	there(q(SELECT string_agg(c.relname, ', ' ORDER BY c.relname) FROM pg_index i
		JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = 'typed'::regclass)),
	'indexes are followed');
is(unread(), '[]', 'nothing is left out');

# a table of as many columns as one can have, generated columns, names like those that a mirror gives for a while, and
# tables that swap their schemas
{
	there('CREATE TABLE wide (' . join(', ', map { "c$_ int" } 1 .. 1600) . q[); CREATE INDEX ON wide (c1, c2);
		CREATE TABLE made (a int, g int GENERATED ALWAYS AS (a + 1) STORED,
			h text GENERATED ALWAYS AS (upper(b)) STORED, b text); CREATE INDEX ON made (g);
		CREATE TABLE turned (a int, b int); CREATE SCHEMA one; CREATE SCHEMA other;
		CREATE TABLE one.t (id int PRIMARY KEY, a int); CREATE TABLE other.t (id int PRIMARY KEY, b int)]);
	collect();
	my $oid = there(q(SELECT 'turned'::regclass::oid));
	there(qq(ALTER TABLE turned RENAME a TO "mirror renames 1"; ALTER TABLE turned RENAME TO "mirror renames $oid";
		ALTER TABLE wide ALTER c1 TYPE bigint, ALTER c3 TYPE point USING NULL;
		ALTER TABLE made ADD COLUMN c int; ALTER TABLE made RENAME a TO b2;
		CREATE SCHEMA third; ALTER TABLE one.t SET SCHEMA third; ALTER TABLE other.t SET SCHEMA one;
		ALTER TABLE third.t SET SCHEMA other));
	collect();
	is(unread(), '[]', 'all of these are followed');
	there('ALTER TABLE made DROP COLUMN g; ALTER TABLE made ALTER b2 TYPE bigint;
		ALTER TABLE made ADD COLUMN g bigint GENERATED ALWAYS AS (b2 + c) STORED; CREATE INDEX ON made (g);
		ALTER TABLE made DROP COLUMN h; ALTER TABLE made ALTER b TYPE xml USING NULL');
	collect();
	is(unread(), '[]', 'and further changes');
	is(names('mirror'), names('source'), 'names');
	is(definition(\&value, $_), definition(\&there, $_), "columns of $_")
		foreach 'wide', 'made', qq("mirror renames $oid"), 'one.t', 'other.t';
	is(value(q(SELECT string_agg(k.column_name, ', ') FROM ff_internal.index_columns('made_g_idx'::regclass) k)),
		'c, b2, g', 'an index of a generated column depends on what that is made of');
	my $indexes = q(SELECT string_agg(i.indexrelid::regclass || ' ' || i.indrelid::regclass, ', '
		ORDER BY i.indexrelid::regclass::text) FROM pg_index i
		WHERE i.indrelid IN ('wide'::regclass, 'made'::regclass, 'one.t'::regclass, 'other.t'::regclass));
	is(value($indexes), there($indexes), 'and their indexes');
}

# what the catalogs of a mirror do not have is said as an installation says it: triggers, and why an index must stay
{
	my $made = q(CREATE TABLE one (id int PRIMARY KEY, a int, "B b" int, at timestamptz);
		CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN -- NEW.id := 1;
				IF NEW.a > 0 THEN new."B b" := 2; END IF;
				/* NEW.id := 2; */ NEW . At = now(); RETURN NEW; END $$;
		CREATE TRIGGER touched BEFORE UPDATE OF a, id ON one FOR EACH ROW EXECUTE FUNCTION touch();
		CREATE TRIGGER after AFTER UPDATE ON one FOR EACH ROW EXECUTE FUNCTION touch();
		CREATE TRIGGER off BEFORE UPDATE ON one FOR EACH ROW EXECUTE FUNCTION touch();
		ALTER TABLE one DISABLE TRIGGER off;
		CREATE TABLE two (a int NOT NULL, b int, c int, r int4range, FOREIGN KEY (a, b) REFERENCES two_b (x, y),
			EXCLUDE USING gist (r WITH &&));
		CREATE INDEX two_a ON two (a);
		CREATE INDEX two_ba ON two (b, a, c); CREATE INDEX two_c ON two (c);
		CREATE UNIQUE INDEX two_u ON two (a, b, c, lower(c::text)); CREATE INDEX two_cluster ON two (c, a);
		ALTER TABLE two CLUSTER ON two_cluster;
		CREATE TABLE three (k int, c int) PARTITION BY LIST (k);
		CREATE TABLE three_1 PARTITION OF three FOR VALUES IN (1); CREATE INDEX three_c ON three (c));
	$made = "CREATE TABLE two_b (x int, y int, PRIMARY KEY (x, y)); $made";
	my $said = q(SELECT string_agg(line, E'\n' ORDER BY line COLLATE "C") FROM (
		SELECT concat_ws(' ', t.name, t.fired_by::int[] @> '{1,2}', t.changes) FROM ff_internal.update_triggers('one'::regclass) t
		UNION ALL
		SELECT concat_ws(' ', i.indexrelid::regclass, ff_internal.index_needed(i.indexrelid)) FROM pg_index i
		WHERE i.indrelid IN ('two'::regclass, 'three_1'::regclass)) x(line));
	there($made);
	collect();
	$mirror->safe_psql('postgres', "CREATE EXTENSION fillfactor_advisor; $made");
	my $installed = $mirror->safe_psql('postgres', $said);
	is(value($said), $installed, 'triggers, and why an index must stay, are known as in an installation');
	my $deleted = 'whose check finds by it the rows that refer to one deleted from two_b';
	is($installed, join("\n", 'three_1_c_idx part of the partitioned index three_c',
		'touched t {"B b",at}', "two_a foreign key two_a_b_fkey, $deleted",
		"two_ba foreign key two_a_b_fkey, $deleted", 'two_c', 'two_cluster the order of CLUSTER',
		'two_r_excl exclusion constraint two_r_excl', 'two_u unique index'), 'which are these');
}

# only what changed travels
value('CALL ff_collect()');
my $idle = value(q(SELECT length(ff_hub.ask('source',
	ff_hub.observation(ff_hub.known())))));
my $whole = value(q(SELECT length(ff_hub.ask('source', ff_hub.observation()))));
cmp_ok($idle, '<', $whole, "an idle source sends $idle bytes, of everything $whole");
is(value(q(SELECT (ff_hub.ask('source',
	ff_hub.observation(ff_hub.known()))::jsonb)->>'tables')),
	'[]', 'tables that did not change are not sent');

# of many new tables, as many are sent as can be made at a time
is(value(q(SELECT jsonb_array_length(a.said->'tables') < a.tables
		AND jsonb_array_length(a.said->'tables') + (a.said->>'left')::int = a.tables
	FROM (SELECT ff_hub.ask('source', ff_hub.observation('{"most": 2}'))::jsonb AS said,
		(SELECT count(*) FROM ff_hub.mirrored WHERE table_oid IS NULL) AS tables) a)), 't', 'the others are counted');

# what is denied is named, also where nothing was measured
there('ANALYZE shop.jobs');
collect();
like(value(q(SELECT ff_hub.ask('source', ff_hub.observation(ff_hub.known()))::jsonb->'server'->>'denied')),
	qr/"widths of columns in pg_stats/, 'widths that are denied are named by an idle source');

# its reads, and those of another mirror, are not what holds back pruning
is(value(qq(SELECT dblink_connect('reader', 'source');
	SELECT dblink_exec('reader', 'SET application_name = ''$_'''), dblink_send_query('reader', 'SELECT pg_sleep(60)');
	CALL ff_collect(); SELECT string_agg(kind || ' ' || application, ', ') FROM ff_internal.horizon_holders();
	SELECT dblink_cancel_query('reader'))),
	"OK\nSET|1\n" . ($_ eq 'other' ? 'transaction other' : '') . "\nOK", "what a session of $_ holds back")
	foreach qw(other fillfactor_advisor);

# a column with one value in all rows, if that was seen after the updates that set it
{
	there('CREATE TABLE given (id int PRIMARY KEY, kind int, n int) WITH (fillfactor = 40); CREATE INDEX given_kind ON given (kind);
		INSERT INTO given SELECT g, 7, 0 FROM generate_series(1, 1000) g; GRANT SELECT ON given TO monitor;
		GRANT USAGE ON SCHEMA ext TO monitor; ANALYZE given');
	collect();
	there('UPDATE given SET kind = 7, n = n + 1');
	collect();
	my $still = q(SELECT still::text FROM ff_internal.blocking_indexes('given'::regclass));
	is(value($still), 'false', 'values that were analyzed before an update say nothing of it');
	there('ANALYZE given');
	collect();
	is(value($still), 'true', 'those analyzed later do');
}

# an index cannot be made here, and then its table is dropped there
value('CREATE TABLE taken (id int)');
there('CREATE TABLE soon_gone (id int); CREATE INDEX taken ON soon_gone (id)');
collect();
like(unread(), qr/index taken of public.soon_gone: 42P07/, 'an index whose name is taken here cannot be made');
there('DROP TABLE soon_gone');
collect();
is(names('mirror'), names('source'), 'its table is dropped here, too');
is(unread(), '[]', 'and is not named any more');
value('DROP TABLE taken');

# somebody drops a table of the mirror
value('DROP TABLE shop.jobs');
collect();
is(names('mirror'), names('source'), 'a table that was dropped here is made again');

# after a restore the OIDs that it knows mean other tables, or none
value('CREATE TABLE mine (id int); INSERT INTO mine VALUES (1)');
value('UPDATE ff_hub.mirrored SET relid = (relid::bigint + 1000000)::oid WHERE source_oid::bigint % 2 = 0');
collect();
is(names('mirror'), names('source'), 'tables left by a restore are made again');
is(value('SELECT * FROM mine'), '1', 'a table of somebody else stays');
value('DROP TABLE mine');

# a table is locked exclusively
there('UPDATE shop.jobs SET status = 4');
my $locker = $source->background_psql('shop');
$locker->query_safe('BEGIN; LOCK shop.jobs; SELECT pg_current_xact_id()');
there('INSERT INTO shop.log VALUES (1)');
value('CALL ff_collect()');
is(unread(), '[]', 'a locked table stops nothing');
cmp_ok(value(q(SELECT o.said->>'bytes' FROM ff_internal.observed o WHERE o.id = 'shop.jobs_pkey'::regclass)), '>', 0,
	'and the size of its index is the last one');
is(value(q(SELECT string_agg(kind || ' ' || coalesce(doing, '-'), ', ') FROM ff_internal.horizon_holders())),
	'idle in transaction SELECT', 'what holds back pruning is known');
# what a session shows need not be a statement: an extension's background worker may show any text
foreach my $one ([ '(update shop.jobs SET status = 47110815', 'UPDATE' ], [ 'hidden word', '-' ])
{
	my ($query, $doing) = @$one;
	is(value(qq(SELECT string_agg(coalesce(h->>'doing', '-'), ', ')
		FROM jsonb_array_elements(ff_hub.ask('source', replace(ff_hub.observation(), 'FROM pg_stat_activity a',
			\$\$FROM (SELECT (jsonb_populate_record(o, '{"query": "$query"}')).* FROM pg_stat_activity o) a\$\$))::jsonb
			->'holders') h)), $doing, "of $query, only a keyword is sent");
}
$locker->query_safe('ROLLBACK');
$locker->quit;

# a file cannot be examined: EACCES, not ENOENT
{
	my $place = PostgreSQL::Test::Utils::tempdir_short();
	there("CREATE TABLESPACE away LOCATION '$place'");
	there('CREATE TABLE shop.away (id int PRIMARY KEY, n int) TABLESPACE away;
		INSERT INTO shop.away SELECT g FROM generate_series(1, 1000) g');
	collect();
	there('UPDATE shop.away SET n = 1; UPDATE shop.jobs SET status = 8');
	there('CHECKPOINT');
	my $size = q(SELECT said->>'heap_bytes' FROM ff_internal.observed WHERE id = 'shop.away'::regclass);
	my $updated = q(SELECT string_agg(relname || ' ' || updated, ', ' ORDER BY relname) FROM (
		SELECT DISTINCT ON (relname) relname, i.updated FROM ff_internal.counter_interval i
			JOIN ff_internal.relation USING (rel_id)
			WHERE relname IN ('away', 'jobs') AND i.updated > 0 ORDER BY relname, ended_at DESC) x);
	my $bytes = value($size);
	chmod 0, $place or die;
	like(error('CALL ff_collect()'), qr/^WARNING:  the source could not read sizes of tables and indexes/,
		'an unreadable tablespace of the source is a warning');
	is(value($updated), 'away 1000, jobs 1000', 'and the counters of all tables are read');
	is(value($size), $bytes, 'their sizes are the last ones');
	like(unread(), qr/^\["sizes of tables and indexes, so the last ones count: 42501 could not stat file \S+pg_tblspc/,
		'what could not be read is recorded, and why');
	like(value(q(SELECT ff_mirror('source'))), qr/^not here: sizes of tables and indexes.*Permission denied/m,
		'ff_mirror() says it');
	like(value(q(SELECT reason FROM ff_advise('shop.jobs'))), qr/^Not read: sizes of tables and indexes/m,
		'and advice');
	chmod 0700, $place or die;
	there('UPDATE shop.away SET n = 2');
	collect();
	is(unread(), '[]', 'a readable one is read again');
	cmp_ok(value($size), '>', $bytes, 'with its sizes');
	there('DROP TABLE shop.away');
	there('DROP TABLESPACE away');
}
# what a lost GRANT denies has the same SQLSTATE
there('REVOKE EXECUTE ON FUNCTION pg_snapshot_xmax FROM PUBLIC');
like(error('CALL ff_collect()'), qr/^ERROR:  permission denied for function pg_snapshot_xmax/,
	'a right that is lost is an error that names it');
there('GRANT EXECUTE ON FUNCTION pg_snapshot_xmax TO PUBLIC');
collect();

# resets and restarts; a policy that shows the role no row changes nothing
there('ALTER TABLE shop.jobs ENABLE ROW LEVEL SECURITY');
my $epoch = q(SELECT count(*) FROM ff_internal.epoch);
my $epochs = value($epoch);
my $sum = value(q(SELECT sum(updated) FROM ff_internal.counter_interval));
there('SELECT pg_stat_reset()');
collect();
is(value($epoch), $epochs + 1, 'a reset of statistics is a new epoch');
is(value(q(SELECT sum(updated) FROM ff_internal.counter_interval)), $sum, 'which counts nothing twice');
$source->stop;
like(error('CALL ff_collect()'), qr/^ERROR:  could not establish connection/, 'a source that is down is an error');
$source->start;
there(q(UPDATE shop.jobs SET status = 5 WHERE id = (SELECT min(id) FROM shop.jobs)));
collect();
is(value(q(SELECT sum(updated) FROM ff_internal.counter_interval)), $sum + 1, 'after a restart its counters go on');
$source->stop('immediate');
$source->start;
there(q(UPDATE shop.jobs SET status = 6 WHERE id = (SELECT min(id) FROM shop.jobs)));
collect();
cmp_ok(value($epoch), '>=', $epochs + 2, 'a crash is a new epoch');

# the connection ends in the middle; the database is renamed
like(error(q(SELECT ff_hub.ask('source', 'SELECT pg_terminate_backend(pg_backend_pid())'))),
	qr/^ERROR:  .*(terminating connection|connection)/, 'a source that is gone in the middle is an error');
$source->safe_psql('postgres', 'ALTER DATABASE shop RENAME TO renamed');
like(error('CALL ff_collect()'), qr/^ERROR:  could not establish connection/, 'so is one whose database was renamed');
value(q(ALTER SERVER source OPTIONS (SET dbname 'renamed')));
my $relations = q(SELECT string_agg(rel_id::text, ' ' ORDER BY rel_id) FROM ff_internal.relation
	WHERE closed_at IS NULL);
my $before = value($relations);
value('CALL ff_collect()');
is(value($relations), $before, 'under its new name it is the same source');
value(q(ALTER SERVER source OPTIONS (SET dbname 'shop')));
$source->safe_psql('postgres', 'ALTER DATABASE renamed RENAME TO shop');

# another database behind the same name, with more tables than a collection can make
there(q(SELECT format('CREATE TABLE shop.many_%s (id int PRIMARY KEY, n int)', g) FROM generate_series(1, 400) g \gexec));
collect() foreach 1 .. 2;
there('INSERT INTO shop.many_1 SELECT g FROM generate_series(1, 700) g; UPDATE shop.many_1 SET n = 1');
collect();
is(names('mirror'), names('source'), 'two collections make 400 tables');
my $rel_ids = q(SELECT md5(string_agg(relname || ' ' || rel_id, ', ' ORDER BY relname, rel_id)) || ' ' || count(*)
	FROM ff_internal.relation WHERE closed_at IS NULL);
my $known = value($rel_ids);
my $updated = value('SELECT sum(updated) FROM ff_internal.counter_interval');
$source->safe_psql('postgres', 'ALTER DATABASE shop RENAME TO old');
$source->safe_psql('postgres', 'CREATE DATABASE shop TEMPLATE old');
there('UPDATE shop.many_1 SET n = 2; UPDATE shop.many_400 SET n = 2') foreach 1 .. 2;
collect();
isnt(names('mirror'), names('source'), 'of a copy behind the same name, not all tables are found at once');
collect() foreach 1 .. 2;
is(names('mirror'), names('source'), 'then all are');
is(value($rel_ids), $known, 'and keep their history');
is(value('SELECT sum(updated) FROM ff_internal.counter_interval'), $updated,
	'no counter of the copy is compared with one of the former source');
$source->safe_psql('postgres', 'DROP DATABASE old');

# one that is being restored behind the same name: at first it is empty
$source->safe_psql('postgres', 'ALTER DATABASE shop RENAME TO old');
$source->safe_psql('postgres', 'CREATE DATABASE shop');
there('CREATE TABLE only_here (id int)');
like(error('CALL ff_collect()'), qr/^WARNING:  the source is another database now/, 'a source that is being restored');
collect();
like(value(q(SELECT ff_mirror('source'))), qr/not found in the source, and kept for a day: \d{3} tables/,
	'its former tables are kept');
is(value($rel_ids) =~ s/.* //r, ($known =~ s/.* //r) + 1, 'with their history');
$source->safe_psql('postgres', 'DROP DATABASE shop');
$source->safe_psql('postgres', 'CREATE DATABASE shop TEMPLATE old');
collect() foreach 1 .. 4;
isnt(value("SELECT to_regclass('only_here')"), '', 'what was only there is kept, too');
is(value(q(SELECT md5(string_agg(relname || ' ' || rel_id, ', ' ORDER BY relname, rel_id)) || ' ' || count(*)
	FROM ff_internal.relation WHERE closed_at IS NULL AND relname <> 'only_here')), $known,
	'after the restore they go on with it');
value(q(UPDATE ff_hub.mirror SET changed_at = changed_at - interval '1 day'));
collect();
is(names('mirror'), names('source'), 'a day later, what the source does not have is gone');
$source->safe_psql('postgres', 'DROP DATABASE old');

# Texts of pg_stat_statements may have constants: an evicted entry comes back with them. A comment stands for that.
there(q(UPDATE shop.jobs SET status = 7 /* 'veiled' 47110815 */ WHERE id = 2 AND id > 0));
collect();
is(value(q(SELECT text FROM ff_internal.statement WHERE text ~ '/')),
	'UPDATE shop.jobs SET status = $1 /* ? ? */ WHERE id = $2 AND id > $3', 'a text is kept without constants');
is(value(q(SELECT count(*) FROM ff_internal.observed WHERE said::text ~ 'veiled|47110815')), '0',
	'nor are they in what the source said last');

# the mirror itself is restored from a dump
my ($plain) = run_command([ 'pg_dump', '-d', $mirror->connstr('shop') ]);
is(join(' ', $plain =~ /(TABLE shop\.jobs \(|veiled|47110815)/g), 'TABLE shop.jobs (', 'nor in a dump');
my $dump = PostgreSQL::Test::Utils::tempdir . '/mirror.dump';
$mirror->command_ok([ 'pg_dump', '-Fc', '-f', $dump, '-d', $mirror->connstr('shop') ], 'a mirror is dumped');
$mirror->safe_psql('postgres', 'CREATE DATABASE again');
$mirror->command_ok([ 'pg_restore', '-d', $mirror->connstr('again'), $dump ], 'and restored');
my $again = sub { $mirror->safe_psql('again', $_[0]) };
there('UPDATE shop.many_1 SET n = 3 WHERE id < 10');
$again->('CALL ff_collect()') foreach 1 .. 3;
my $kept = q(SELECT string_agg(relname || ' ' || rel_id, ', ' ORDER BY relname, rel_id) FROM ff_internal.relation
	WHERE closed_at IS NULL);
is($again->($kept), value($kept), 'it keeps the history');
is($again->(q(SELECT count(*) FROM ff_internal.relation r WHERE closed_at IS NULL AND NOT EXISTS (
	SELECT FROM pg_class c WHERE c.oid = r.relid AND c.relname = r.relname))), '0', 'of the tables with their new OIDs');
$updated = $again->('SELECT sum(updated) FROM ff_internal.counter_interval');
there('UPDATE shop.many_1 SET n = 4 WHERE id < 10');
$again->('CALL ff_collect()');
is($again->('SELECT sum(updated) FROM ff_internal.counter_interval'), $updated + 9, 'and goes on with it');

# its extension is made again
my $found = value($kept);
there('ALTER TABLE made ALTER b TYPE jsonb USING NULL; ALTER TABLE made RENAME c TO c3;
	ALTER TABLE part DETACH PARTITION part_2');
value('DROP EXTENSION fillfactor_advisor_hub; CREATE EXTENSION fillfactor_advisor_hub');
collect() foreach 1 .. 2;
is(names('mirror'), names('source'), 'a mirror whose extension was made again knows its source');
is(value($kept), $found, 'and goes on with its history');
is(definition(\&value, 'made'), definition(\&there, 'made'), 'changes in the meantime are followed');
is(value($family), there($family), 'also of families');
like(value(q(SELECT ff_mirror('source'))), qr/^mirror of database shop on /, 'and may be made one again');

# numbers come as they are, whatever a role has set
there('INSERT INTO parent SELECT generate_series(1, 12345); ANALYZE parent;
	ALTER ROLE monitor SET extra_float_digits = -10');
collect();
my ($file) = run_command([ 'psql', '-XAtf', "$FindBin::Bin/../observe.sql", '-d',
	$source->connstr('shop') . ' user=monitor' ]);
like($file, qr/"reltuples": 12345,/, 'in a file');
value('ALTER ROLE CURRENT_USER SET extra_float_digits = -10');
there('ANALYZE parent');
collect();
value('ALTER ROLE CURRENT_USER RESET extra_float_digits');
is(value(q(SELECT said->>'reltuples' FROM ff_internal.observed WHERE id = 'parent'::regclass)), '12345',
	'in an answer');

# fewer rights
there(q(REVOKE pg_monitor FROM monitor; REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC;
	REVOKE EXECUTE ON FUNCTION ext.pg_stat_statements_info() FROM PUBLIC));
collect();
like(value(q(SELECT said->>'denied' FROM ff_internal.observed WHERE kind = 'server')),
	qr/GRANT pg_monitor TO monitor.*GRANT EXECUTE ON FUNCTION pg_catalog.pg_control_system/,
	'what is denied is known, with the GRANT');
is(value(q(SELECT said->>'reason' FROM ff_internal.observed WHERE kind = 'statements')),
	'permission denied: GRANT EXECUTE ON FUNCTION ext.pg_stat_statements_info() TO monitor', 'in one of two functions, too');
is(names('mirror'), names('source'), 'the rest is read');
like(error("SELECT * FROM $_()"), qr/^WARNING:  the source denied sessions and statements of other roles/,
	"$_() does not say that there is nothing") foreach qw(ff_horizon ff_settings);
is(value($rel_ids), $known, 'a source whose identifier may not be read any more is the same');
value(q(UPDATE ff_hub.mirror m SET identity = hashtextextended(a.address, a.oid) || ' ' || a.oid
	FROM (SELECT concat(said->>'host', ':', said->>'port') AS address, (said->>'database_oid')::bigint AS oid
		FROM ff_internal.observed WHERE kind = 'server') a));
there('GRANT EXECUTE ON FUNCTION pg_control_system() TO PUBLIC');
collect() foreach 1 .. 3;
is(value($rel_ids), $known, 'so is one whose identifier may be read from now on');
is(value('SELECT count(*) FROM ff_hub.mirrored WHERE source_oid IS NULL'), '0', 'whose OIDs are the same');
# the tables of a former source have no OID in this one
value(q(BEGIN; UPDATE ff_hub.mirror SET failed = '{}', unread = '[]';
	SELECT ff_hub.note_fault(NULL, 'jobs', 'a view depends on it');
	DO $$ BEGIN ASSERT (SELECT failed = '{}' AND unread->>0 = 'jobs: a view depends on it' FROM ff_hub.mirror); END $$;
	ROLLBACK));
pass('a fault of a table without OID is named');
$mirror->stop;
$source->stop;
done_testing();
