#!/usr/bin/env python3
"""Regret: the cost of the advice compared with the best option, found by trying all.

usage: regret.py truth   NAME ...     the first half of a run, then keep the table or rewrite it at each step
       regret.py observe NAME ...     the first half with the extension collecting; store its evidence and advice
       regret.py mirror  NAME ...     as observe, through a mirror on another cluster, whose role has pg_monitor alone
       regret.py advised NAME ...     after both: also run what was advised
       regret.py report  [NAME ...]   the table of results; report_mirror: those of mirrors
       regret.py slopes  [NAME ...]   dependence of CPU times on the HOT share and the size: SLOPES and NOISE
       regret.py short                all three, small: a test
       regret.py pack    FILE FOLDER ...   store the results in these folders in FILE, beside those in it
       regret.py replay  [FILE [NAME ...]]  run the model of this checkout on the stored evidence: the same table
       regret.py replay_mirror  [FILE [NAME ...]]  the same without what only pages show, as a mirror sees it
       regret.py replay_monitor [FILE [NAME ...]]  the same where pg_stats is denied: the row length is guessed
       regret.py said    [FILE [NAME ...]]  what the servers said when they were observed: the decision, not the model alone
       regret.py symmetry [FILE [NAME ...]]  what must not change the advice on the stored evidence, and where it does

NAME: a seed or a range of seeds (1001-1012), which draw workloads (mixture.py); a mixture or a workload
by name; a set of them: named or handmade.  A mixture is observed at the fillfactor it has,
a workload of workloads.py at 100 and at 70.

Results are kept in WORK/data (default WORK: /tmp/ff-regret), NAME-FILLFACTOR.truth.json, .observe.json, .mirror.json;
existing results are not run again.  Delete a file to run it again.  REPEATS (default 1) truth runs.
With MODEL_CLI, a compiled test/model/model_cli.c, the report uses its advice from the stored evidence.

All but pack, the replays, said and symmetry need PG_CONFIG's server with the extension and pg_stat_statements: test/bench/tree makes one.
"""
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import mixture  # noqa: E402
from cluster import BIN, PORT, WORK, Cluster, keep, kept, prepare, run  # noqa: E402
from report import done_by, judged, kept_pairs, report, slopes  # noqa: E402
from workloads import SHORT, WORKLOADS, workload  # noqa: E402

STEPS = (100, 90, 80, 70, 60, 50, 40, 30)
BEFORE, AFTER = 2, 2     # quarters of a run before and after the change of the table; the last one counts
FIRST_WAIT = 0.3         # seconds from the beginning of a quarter to the middle of its first phase, about
REPEATS = int(os.environ.get('REPEATS', '1'))
HERE = os.path.dirname(os.path.abspath(__file__))

# Vacuum runs between phases, by the rules of autovacuum; transactions that deadlock are repeated.
SETTINGS = "autovacuum = off\nsynchronize_seqscans = off\ndeadlock_timeout = 10ms"


class Snapshot:
    """A session that holds a snapshot."""

    def __init__(self):
        self.p = subprocess.Popen([BIN + '/psql', '-XAtq', '-h', WORK, '-p', PORT, '-U', 'postgres', 'postgres'],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.p.stdin.write("BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT count(*) FROM t;\n")
        self.p.stdin.flush()
        self.p.stdout.readline()

    def end(self):
        self.p.communicate()


def vacuum(c):
    """Vacuums the table and its TOAST table, each if autovacuum's rule requires it; autovacuum itself is
    off, because it follows the clock."""
    c.sql("SELECT format('VACUUM %s', coalesce(k.toast, '(ANALYZE, PROCESS_TOAST false) t'))"
          " FROM pg_class t, LATERAL (VALUES (t.oid, NULL), (t.reltoastrelid, t.reltoastrelid::regclass::text)) k(oid, toast)"
          " JOIN pg_class c USING (oid) JOIN pg_stat_all_tables s ON s.relid = c.oid WHERE t.oid = 't'::regclass"
          " AND (n_dead_tup > 50 + 0.2 * c.reltuples OR n_ins_since_vacuum > 1000 + 0.2 * c.reltuples) \\gexec")


# Hours pass: all times in the history move into the past, except those that the server also knows.
PAUSE = """DO $$
DECLARE t record;
BEGIN
    FOR t IN SELECT format('UPDATE %s SET %s', a.attrelid::regclass,
                           string_agg(format('%1$I = %1$I - interval ''{} hours''', a.attname), ', ')) AS statement
               FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
              WHERE c.relnamespace = 'ff_internal'::regnamespace AND c.relkind = 'r'
                AND a.atttypid = 'timestamptz'::regtype AND a.attname !~ '_?reset$'
              GROUP BY a.attrelid
    LOOP EXECUTE t.statement; END LOOP;
END $$"""


def quarter(c, w, number, seed, observer=None, amid=True):
    """One quarter of a run, in phases, each followed by vacuum if it is due; collections of the observer run in the
    middle of each phase, estimated from earlier phases, or at its end.  Returns CPU and wall time and WAL of a transaction, HOT
    share, updates, inserts."""
    stat = ("SELECT pg_current_wal_insert_lsn() - '0/0', n_tup_upd, n_tup_hot_upd, n_tup_ins, wal_fpi"
            " FROM pg_stat_user_tables, pg_stat_wal WHERE relname = 't'")
    path = os.path.join(WORK, 'script.sql')
    w.phase(0, c.sql)   # making the script does not count
    if w.rests:
        c.sql('CHECKPOINT')
    beside = ThreadPoolExecutor(1)
    before, cpu, wall, transactions = c.sql(stat).split('|'), c.cpu(), time.monotonic(), 0
    held = None
    for p in range(mixture.PHASES * number, mixture.PHASES * (number + 1)):
        text, tx, variables = w.phase(p, c.sql)
        with open(path, 'w') as f:
            f.write(text)
        held = held or (Snapshot() if w.holds(p) else None)
        gone = p % mixture.PHASES
        wait = (time.monotonic() - wall) / gone / 2 if gone else FIRST_WAIT
        done = observer and amid and beside.submit(lambda: (time.sleep(wait), observer.sql('CALL ff_collect()')))
        run([BIN + '/pgbench', '-n', '-M', 'prepared', '-c', str(w.sessions), '-j', '1', '-t', str(tx),
             '--max-tries=100', f'--random-seed={seed + p}',
             *(x for k, v in variables.items() for x in ('-D', f'{k}={v}')), '-f', path,
             '-h', WORK, '-p', PORT, '-U', 'postgres', 'postgres'])
        transactions += tx * w.sessions
        # sessions report their last counters when they end
        while c.sql("SELECT 1 FROM pg_stat_activity WHERE application_name = 'pgbench' LIMIT 1"):
            time.sleep(0.01)
        if done:
            done.result()
        elif observer:
            observer.sql('CALL ff_collect()')
        if held and not w.holds(p, on=True):
            held.end()
            held = None
        vacuum(c)
        if observer and w.pause(p):
            observer.sql(PAUSE.format(w.pause(p)))
    cpu, wall, after = c.cpu() - cpu, time.monotonic() - wall, c.sql(stat).split('|')
    updates, hot, inserts, images = (int(after[i]) - int(before[i]) for i in (1, 2, 3, 4))
    return dict(cpu_us=1e6 * cpu / transactions, wall_us=1e6 * wall / transactions,
                wal=(float(after[0]) - float(before[0])) / transactions,
                updates=updates, inserts=inserts, transactions=transactions, images=images / transactions,
                hot_pct=100 * hot / updates if updates else None)


def load(c, w, fillfactor):
    c.sql(w.setup(fillfactor) + ";\nVACUUM ANALYZE t; CHECKPOINT;")
    c.limit()


# What can be done to a table, with a fillfactor.
WAYS = {'keep': "",
        'set': "ALTER TABLE t SET (fillfactor = {})",
        'rewrite': "ALTER TABLE t SET (fillfactor = {}); VACUUM FULL t"}
# Then vacuum and checkpoints are due at the same time with all options; else it is luck which of them has a vacuum,
# with images of many pages, in the quarter that counts.
ALIKE = ('VACUUM ANALYZE t', 'CHECKPOINT')


def before(w, fillfactor, seed):
    """The first quarters, at the table's fillfactor; all options start from there."""
    c = Cluster(w.ram, settings=SETTINGS + w.settings)
    try:
        load(c, w, fillfactor)
        return [quarter(c, w, n, seed) for n in range(BEFORE)]
    finally:
        c.stop('fast')
        c.keep_as('before')


def after(w, way, fillfactor, seed):
    """The last quarters, after one option was applied."""
    c = Cluster(w.ram, settings=SETTINGS + w.settings, begin='before')
    try:
        position = "SELECT pg_current_wal_insert_lsn() - '0/0'"
        begun, wal = c.cpu(), float(c.sql(position))
        for statement in WAYS[way].format(fillfactor).split('; '):
            c.sql(statement)
        change = dict(cpu_s=c.cpu() - begun, wal=float(c.sql(position)) - wal)
        for statement in ALIKE:
            c.sql(statement)
        c.limit()
        run_of = [quarter(c, w, BEFORE + n, seed) for n in range(AFTER)]
        pages, heap = c.sql("SELECT (pg_table_size('t') + pg_indexes_size('t')) / 8192,"
                            " pg_relation_size('t') / 8192").split('|')
    finally:
        c.stop()
    return dict(run_of[-1], way=way, fillfactor=fillfactor, pages=int(pages), heap_pages=int(heap), quarters=run_of,
                change=change)


def truth(name, steps=STEPS, done=None):
    """Runs the first half of a workload, then the second half with each option, or with those given."""
    w = workload(name)
    for asked in w.asked:
        path = f'{name}-{asked}.truth.json'
        t = kept(path) or dict(name=name, mixture=w.mixture, asked=asked, runs=[])
        ways = done or ([('keep', asked)] + [('set', s) for s in w.sets if s != asked] +
                        [('rewrite', s) for s in (getattr(w, 'steps', steps) if steps is STEPS else steps)])
        for repeat in range(REPEATS):
            left = [o for o in ways if not any((r['way'], r['fillfactor'], r['repeat']) == (*o, repeat) for r in t['runs'])]
            begun = left and before(w, asked, 1000 * repeat + 1)
            for way, step in left:
                r = dict(after(w, way, step, 1000 * repeat + 1), repeat=repeat, before=begun)
                t['runs'].append(r)
                keep(path, t)
                print(f"{name} {way} {step}: {r['wall_us'] * r['transactions'] / 1e6:.1f} s, cpu {r['cpu_us']:.1f} us,"
                      f" wal {r['wal']:.0f}, pages {r['pages']}, HOT"
                      f" {'-' if r['hot_pct'] is None else round(r['hot_pct'], 1)} %", flush=True)


# What the workload changed since the table was loaded, by its live rows: the true live part.
TOUCHED = """SELECT json_build_object('rows', count(*), 'pages', count(DISTINCT (ctid::text::point)[0]))
    FROM t WHERE xmin::text::bigint > {}"""


def through_mirror(c):
    """A cluster with a mirror of c, which reads it with the rights of pg_monitor alone."""
    c.sql('CREATE ROLE monitor LOGIN IN ROLE pg_monitor')
    m = Cluster(name='mirror', port=str(int(c.port) + 1))
    m.sql(f"""CREATE EXTENSION fillfactor_advisor_hub CASCADE;
        CREATE SERVER source FOREIGN DATA WRAPPER dblink_fdw
            OPTIONS (host '{WORK}', port '{c.port}', dbname 'postgres', connect_timeout '10');
        CREATE USER MAPPING FOR CURRENT_USER SERVER source OPTIONS (user 'monitor');
        SELECT ff_mirror('source')""")
    return m


def observe(name, amid=True, mirrored=False):
    """Runs the first half of a workload with a collection in the middle of each phase, as a scheduler would, or at
    its end, where evidence does not depend on the machine's speed; stores evidence and advice as after an idle day, or
    after the days that a workload takes."""
    w = workload(name)
    with open(os.path.join(HERE, 'evidence.sql')) as f:
        idle, evidence = f.read().split('-- The evidence.\n')
    for fillfactor in w.asked:
        path = f"{name}-{fillfactor}.{'mirror' if mirrored else 'observe'}.json"
        if kept(path):
            continue
        observer = c = Cluster(w.ram, 'pg_stat_statements', SETTINGS + w.settings)
        try:
            c.sql('CREATE EXTENSION pg_stat_statements' + ('' if mirrored else '; CREATE EXTENSION fillfactor_advisor'))
            load(c, w, fillfactor)
            loaded = c.sql('SELECT txid_current()')
            observer = through_mirror(c) if mirrored else c
            observer.sql('CALL ff_collect()')
            quarters = [quarter(c, w, n, 5001, observer, amid and w.amid) for n in range(BEFORE)]
            observer.sql('CALL ff_collect()')
            if not w.rests:
                observer.sql(idle)
            seen = json.loads(observer.sql(evidence))
            touched = json.loads(c.sql(TOUCHED.format(loaded)))
        finally:
            c.stop()
            if observer is not c:
                observer.stop()
        keep(path, dict(name=name, fillfactor=fillfactor, mixture=w.mixture, quarters=quarters, touched=touched, **seen))
        a = seen['advice']
        print(f"{name} at {fillfactor}: {a['action']} {a['recommended_fillfactor']}, {a['cause']},"
              f" confidence {a['confidence']}", flush=True)


def advised(name):
    """Runs the second half as advised, so that its cost is measured instead of interpolated."""
    for fillfactor in workload(name).asked:
        o = kept(f'{name}-{fillfactor}.observe.json')
        if o:
            truth(name, done=[done_by(o['advice'], fillfactor)])


def all_of(names, what, **more):
    """A workload that fails is reported, and the others still run."""
    failed = 0
    for name in names:
        try:
            what(name, **more)
        except RuntimeError as e:
            failed += 1
            print(f'{name}: {e}', file=sys.stderr, flush=True)
    return failed


def expand(arguments):
    names = []
    for a in arguments:
        first, dash, last = a.partition('-')
        if a in ('named', 'handmade'):
            names += mixture.NAMED if a == 'named' else WORKLOADS
        elif dash and first.isdigit() and last.isdigit():
            names += [str(n) for n in range(int(first), int(last) + 1)]
        else:
            workload(a)
            names.append(a)
    return names


def main():
    what, failed = sys.argv[1] if len(sys.argv) > 1 else '', 0
    if what in ('pack', 'replay', 'replay_mirror', 'replay_monitor', 'said'):
        import stored
        return getattr(stored, what)(*sys.argv[2:])
    if what == 'symmetry':
        import symmetry
        return symmetry.symmetry(*sys.argv[2:])
    prepare()
    names = expand(sys.argv[2:])
    if what == 'truth':
        failed = all_of(names, truth)
    elif what in ('observe', 'mirror'):
        failed = all_of(names, observe, mirrored=what == 'mirror')
    elif what == 'advised':
        failed = all_of(names, advised)
    elif what in ('report', 'report_mirror'):
        report([judged(*p) for p in kept_pairs(names, 'mirror' if what == 'report_mirror' else 'observe')])
    elif what == 'slopes':
        slopes(names)
    elif what == 'short':
        failed = all_of(SHORT['names'], truth, steps=SHORT['steps']) + all_of(SHORT['names'], observe, amid=False)
        report([judged(*p) for p in kept_pairs(SHORT['names'])])
    else:
        sys.exit(__doc__)
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()
