# Listeners of channel fillfactor_advisor hear of advice that is worth enough and of changes that hurt, if
# fillfactor_advisor.notify_worth says so; by default of nothing.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('notify');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE TABLE t (i int); CREATE EXTENSION fillfactor_advisor; CALL ff_collect()');

# what a session hears that listens and writes notes of 5 and 6 MB of WAL a day, and verdicts
sub heard
{
	my ($worth) = @_;
	my ($rc, $out, $err) = $node->psql('postgres', qq{
LISTEN fillfactor_advisor;
SET client_min_messages = error;
LOAD 'fillfactor_advisor';
$worth
SELECT ff_internal.note(r.rel_id, w.what, w.details, w.wal)
  FROM ff_internal.relation r, (VALUES
	     ('advised', 'five', 5242880), ('advised', 'six', 6291456), ('advised', 'unknown', NULL),
       ('moved', 'seven', 7340032), ('verdict', 'hurt: it', NULL),
	     ('verdict', 'helped: it', NULL)) w(what, details, wal)
 WHERE r.relname = 't';
});
	is($rc, 0, "notes are written: $err");
	return join(', ', $out =~ /"fillfactor_advisor" with payload "([^"]*)"/g);
}
is(heard(''), '', 'nothing is sent by default');
is(heard('SET fillfactor_advisor.notify_worth = -1;'), '', 'nor at -1');
is(heard(q{SET fillfactor_advisor.notify_worth = '6MB';}), 'public.t advised: six, public.t verdict: hurt: it',
	'advice that saves 6 MB of WAL a day, and what hurt');
is(heard('SET fillfactor_advisor.notify_worth = 0;'),
	'public.t advised: five, public.t advised: six, public.t verdict: hurt: it',
	'all advice that saves WAL, and what hurt');
# What a day brings is unknown until an hour was watched.
sub advised
{
	my ($watched) = @_;
	return join ', ', $node->safe_psql('postgres', qq{
LISTEN fillfactor_advisor;
LOAD 'fillfactor_advisor';
SET fillfactor_advisor.notify_worth = '6MB';
SELECT ff_internal.note_fit(NULL, r.rel_id, jsonb_populate_record(NULL::ff_internal.decision,
           '{"changes": true, "step": 50, "seen_cause": "no_data"}'), false, 100, 1e9, 'much', '$watched', NULL)
  FROM ff_internal.relation r WHERE r.relname = 't'}) =~ /"fillfactor_advisor" with payload "([^"]*)"/g;
}
is(advised('59 min'), '', 'advice of less than an hour is not sent');
is(advised('60 min'), 'public.t advised: fillfactor 100 -> 50, much', 'that of an hour is');
is($node->safe_psql('postgres', 'SELECT count(*) FROM ff_changes() WHERE relation = \'public.t\''), 26,
	'what is not sent is written, too');
$node->stop;
done_testing();
