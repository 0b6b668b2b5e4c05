#!/usr/bin/env python3
"""Regret: what the advice costs against the best fillfactor, found by trying all.

usage: regret.py truth   NAME ...     run every step on fresh clusters
       regret.py observe NAME ...     run with the extension collecting; keep its evidence and its advice
       regret.py report  [NAME ...]   the tables, of what was run
       regret.py short                all three, small: a test

NAME: a seed or a range of seeds (1001-1012), which draw workloads (mixture.py); a mixture or a workload
by name; a set of them: named, or one of workloads.py.  A mixture is observed at the fillfactor it has,
a workload of workloads.py at 100 and at 70.

Results are kept in WORK/data (default WORK: /tmp/ff-regret), NAME.truth.json and NAME-FILLFACTOR.observe.json;
what is there is not run again.  Delete a file to run it anew.  REPEATS (default 1) truth runs of every step.

Needs PG_CONFIG's server with the extension and pg_stat_statements: test/bench/tree makes one.
"""
import glob
import json
import math
import os
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import mixture  # noqa: E402
from cluster import BIN, PORT, WORK, Cluster, prepare, run  # noqa: E402
from workloads import SETS, SHORT, Scripted  # noqa: E402

STEPS = (100, 95, 90, 80, 70, 60, 50, 40, 30)
REPEATS = int(os.environ.get('REPEATS', '1'))
DATA = os.path.join(WORK, 'data')
HERE = os.path.dirname(os.path.abspath(__file__))

# Vacuum comes between phases, by the rules of autovacuum; deadlocks of two sessions' batches are tried again.
SETTINGS = "autovacuum = off\nsynchronize_seqscans = off\ndeadlock_timeout = 10ms"
# Cost is time^0.5 x WAL^0.3 x size^0.2
WEIGHTS = (0.5, 0.3, 0.2)
# Of log time against the share not HOT and against log size: mean and deviation among workloads, and the
# deviation of one run (slopes.py over the seeds 1001 to 1012).
SLOPES, NOISE = ((0.6, 0.5), (0.1, 0.15)), 0.25
# A measured HOT share counts as inside a predicted range within so many points: two equal runs differ by that.
INSIDE = 0.5


class Mixture:
    """A mixture, as the runner wants a workload."""
    ram = None

    def __init__(self, m):
        self.mixture, self.sessions, self.held = m, m['sessions'], m['held']
        self.asked = (m['table']['fillfactor'],)

    def setup(self, fillfactor):
        return mixture.setup(self.mixture, fillfactor)

    def phase(self, number):
        return mixture.phase(self.mixture, number)


def workload(name):
    for s in SETS.values():
        if name in s:
            return Scripted(s[name])
    return Mixture(mixture.named(name))


class Snapshot:
    """A session that holds one."""

    def __init__(self):
        self.p = subprocess.Popen([BIN + '/psql', '-XAtq', '-h', WORK, '-p', PORT, '-U', 'postgres', 'postgres'],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.p.stdin.write("BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT count(*) FROM t;\n")
        self.p.stdin.flush()
        self.p.stdout.readline()

    def end(self):
        self.p.communicate()


def vacuum(c):
    """What autovacuum would do by its rules, when it comes; it is off, as its pace is the clock's."""
    if c.sql("SELECT n_dead_tup > 50 + 0.2 * reltuples OR n_ins_since_vacuum > 1000 + 0.2 * reltuples"
             " FROM pg_stat_user_tables s JOIN pg_class c ON c.oid = s.relid WHERE s.relname = 't'") == 't':
        c.sql("VACUUM ANALYZE t")


def half(c, w, number, seed, at_end=lambda: None):
    """One half of a run, in phases, each followed by at_end and by vacuum where it is due: CPU and wall time
    and WAL of a transaction, HOT share, updates."""
    stat = ("SELECT pg_current_wal_insert_lsn() - '0/0', n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 't'")
    path = os.path.join(WORK, 'script.sql')
    before, cpu, wall, transactions = c.sql(stat).split('|'), c.cpu(), time.monotonic(), 0
    for p in range(mixture.PHASES * number, mixture.PHASES * (number + 1)):
        text, tx, variables = w.phase(p)
        with open(path, 'w') as f:
            f.write(text)
        held = Snapshot() if w.held and p % round(1 / w.held) == 0 else None
        run([BIN + '/pgbench', '-n', '-M', 'prepared', '-c', str(w.sessions), '-j', '1', '-t', str(tx), '--max-tries=100',
             f'--random-seed={seed + p}', *(x for k, v in variables.items() for x in ('-D', f'{k}={v}')),
             '-f', path, '-h', WORK, '-p', PORT, '-U', 'postgres', 'postgres'])
        transactions += tx * w.sessions
        at_end()
        if held:
            held.end()
        vacuum(c)
    cpu, wall, after = c.cpu() - cpu, time.monotonic() - wall, c.sql(stat).split('|')
    updates, hot = (int(after[i]) - int(before[i]) for i in (1, 2))
    return dict(cpu_us=1e6 * cpu / transactions, wall_us=1e6 * wall / transactions,
                wal=(float(after[0]) - float(before[0])) / transactions,
                updates=updates, transactions=transactions, hot_pct=100 * hot / updates if updates else None)


def load(c, w, fillfactor):
    c.sql(w.setup(fillfactor) + ";\nVACUUM ANALYZE t; CHECKPOINT;")
    c.limit()


def kept(name):
    try:
        with open(os.path.join(DATA, name)) as f:
            return json.load(f)
    except FileNotFoundError:
        return None


def keep(name, value):
    path = os.path.join(DATA, name)
    with open(path + '.new', 'w') as f:
        json.dump(value, f, indent=1)
    os.rename(path + '.new', path)


def truth(name, steps=STEPS, repeats=REPEATS):
    """Runs a workload at each step; the second half is what counts."""
    w = workload(name)
    t = kept(f'{name}.truth.json') or dict(name=name, mixture=w.mixture, runs=[])
    for repeat, step in ((r, s) for r in range(repeats) for s in getattr(w, 'steps', steps)):
        if any(r['fillfactor'] == step and r['repeat'] == repeat for r in t['runs']):
            continue
        c = Cluster(w.ram, settings=SETTINGS)
        try:
            load(c, w, step)
            first, m = (half(c, w, n, 1000 * repeat + 1) for n in (0, 1))
            pages, heap = c.sql("SELECT pg_table_size('t') / 8192 + pg_indexes_size('t') / 8192, pg_relation_size('t') / 8192").split('|')
        finally:
            c.stop()
        m.update(fillfactor=step, repeat=repeat, pages=int(pages), heap_pages=int(heap), first=first)
        t['runs'].append(m)
        keep(f'{name}.truth.json', t)
        print(f"{name} {step}: {m['wall_us'] * m['transactions'] / 1e6:.1f} s, cpu {m['cpu_us']:.1f} us, wal {m['wal']:.0f},"
              f" pages {pages}, HOT {'-' if m['hot_pct'] is None else round(m['hot_pct'], 1)} %", flush=True)


def observe(name):
    """Runs a workload at the fillfactor it has, with a collection after each phase, as a scheduler would."""
    w = workload(name)
    with open(os.path.join(HERE, 'evidence.sql')) as f:
        evidence = f.read()
    for fillfactor in w.asked:
        if kept(f'{name}-{fillfactor}.observe.json'):
            continue
        c = Cluster(w.ram, 'pg_stat_statements', SETTINGS)
        try:
            c.sql('CREATE EXTENSION pg_stat_statements; CREATE EXTENSION fillfactor_advisor;')
            load(c, w, fillfactor)
            c.sql('CALL ff_collect()')
            halves = [half(c, w, n, 5001, lambda: c.sql('CALL ff_collect()')) for n in (0, 1)]
            seen = json.loads(c.sql(evidence))
        finally:
            c.stop()
        keep(f'{name}-{fillfactor}.observe.json', dict(name=name, fillfactor=fillfactor, mixture=w.mixture, halves=halves, **seen))
        a = seen['advice']
        print(f"{name} at {fillfactor}: {a['action']} {a['recommended_fillfactor']}, {a['cause']}, confidence {a['confidence']}", flush=True)


def all_of(names, what, **more):
    """One that fails is told and does not keep the others from their run."""
    failed = 0
    for name in names:
        try:
            what(name, **more)
        except RuntimeError as e:
            failed += 1
            print(f'{name}: {e}', file=sys.stderr, flush=True)
    return failed


# ---------------------------------------------------------------------------
# The report
# ---------------------------------------------------------------------------

def root_formula(hot):
    """Of the library postgresql-patterns-library: by the HOT share alone, where it is below 95 %."""
    return 100 - max(1, round(math.sqrt(1.5 * (100 - hot))) - 5) if hot < 95 else None


def gather_formula(hot, inserted, updated):
    """Of pg_gather's analysis: by the share of updates and the HOT share."""
    return round(100 - 20 * updated / (inserted + updated) * (1 - hot / 100))


def two_lines(m):
    """50 where a transaction updates half of a page or more, else 90: of most rows updated."""
    if m is None:
        return None
    t = m['table']
    width = mixture.HEADER + sum(w * s for w, s in t['widths'][1:]) + t['widths'][0][0] * (1 - sum(s for _, s in t['widths'][1:]))
    page = 8168 / (math.ceil(width / 8) * 8 + 4)
    rows = {True: 0, False: 0}
    for c in m['classes']:
        if c['command'] in ('update', 'upsert'):
            rows[min(c['rows'], page / c['every']) >= page / 2] += c['rows'] * c['calls'] * c['weight']
    return 50 if rows[True] > rows[False] else 90


def fit(points):
    """Least squares: points of (features, value); None where they do not determine it."""
    n = len(points[0][0])
    m = [[sum(f[i] * f[j] for f, _ in points) for j in range(n)] + [sum(f[i] * y for f, y in points)] for i in range(n)]
    for i in range(n):
        p = max(range(i, n), key=lambda k: abs(m[k][i]))
        m[i], m[p] = m[p], m[i]
        if abs(m[i][i]) < 1e-9:
            return None
        for k in range(n):
            if k != i:
                f = m[k][i] / m[i][i]
                m[k] = [x - f * y for x, y in zip(m[k], m[i])]
    return [m[i][n] / m[i][i] for i in range(n)]


def smooth(runs, key):
    """Time of each step on a line through all runs of a workload: its logarithm against the share not HOT and
    the logarithm of the size.  What the steps have in common evens the noise out; where they hardly differ in
    one of the two, its slope is that of other workloads (SLOPES)."""
    points = [([1.0, not_hot(r), math.log(r['pages'])], math.log(max(r[key], 0.1))) for r in runs]
    for i, (mean, deviation) in enumerate(SLOPES, 1):
        weight = NOISE / deviation
        points.append(([weight * (i == k) for k in range(3)], weight * mean))
    w = fit(points)
    return {s: math.exp(statistics.mean(sum(x * y for x, y in zip(w, f)) for r, (f, _) in zip(runs, points) if r['fillfactor'] == s))
            for s in {r['fillfactor'] for r in runs}}


def not_hot(r):
    return 0.0 if r['hot_pct'] is None else 1 - r['hot_pct'] / 100


def costs(t, limited):
    """Cost of each step that was run."""
    runs = t['runs']
    steps = sorted({r['fillfactor'] for r in runs})
    time_at = smooth(runs, 'wall_us' if limited else 'cpu_us')
    at = {s: (time_at[s], *(statistics.median(r[k] for r in runs if r['fillfactor'] == s) for k in ('wal', 'pages'))) for s in steps}
    return {s: math.prod(max(v, 1e-3) ** p for v, p in zip(at[s], WEIGHTS)) for s in steps}


def regret(cost, fillfactor):
    """Percent above the cheapest step; between two steps on a line of logarithms."""
    above = min((f for f in cost if f >= fillfactor), default=max(cost))
    below = max((f for f in cost if f <= fillfactor), default=min(cost))
    part = 0 if above == below else (above - fillfactor) / (above - below)
    return 100 * (cost[above] * (cost[below] / cost[above]) ** part / min(cost.values()) - 1)


def promised(curve, fillfactor):
    """The row of the curve on which a fillfactor lies."""
    return min((r for r in curve if r['fillfactor'] >= fillfactor and r['hot_pct'] is not None),
               key=lambda r: r['fillfactor'], default=None)


def judged(o, t):
    """What is reported of one observation: regrets, HOT errors, whether inside the range."""
    w = workload(o['name'])
    cost, at = costs(t, w.ram), o['fillfactor']
    hot = {s: statistics.median(r['hot_pct'] for r in t['runs'] if r['fillfactor'] == s)
           for s in cost if all(r['hot_pct'] is not None for r in t['runs'] if r['fillfactor'] == s)}
    advised = o['advice']['recommended_fillfactor'] or at
    seen, e = o['halves'][1]['hot_pct'], o['evidence']
    said = {'advice': advised, 'always 100': 100, 'always 90': 90, 'two lines': two_lines(o['mixture']),
            'root': at if seen is None else root_formula(seen) or at,
            'gather': at if seen is None else gather_formula(seen, e['inserted'], e['updated']), 'keep': at}
    regrets = {k: None if f is None else regret(cost, f) for k, f in said.items()}
    rows = {s: promised(o['curve'] or [], s) for s in hot}
    errors = {s: rows[s]['hot_pct'] - hot[s] for s in hot if rows[s]}
    inside = [rows[s]['hot_pct_low'] - INSIDE <= hot[s] <= rows[s]['hot_pct_high'] + INSIDE for s in errors]
    return dict(name=o['name'], at=at, advised=advised, best=min(cost, key=cost.get), advice=o['advice'], regrets=regrets,
                errors=errors, inside=inside, hot=hot)


def report(names):
    results = []
    for path in sorted(glob.glob(os.path.join(DATA, '*.observe.json'))):
        o = kept(os.path.basename(path))
        t = kept(f"{o['name']}.truth.json")
        if t and (not names or o['name'] in names) and {r['fillfactor'] for r in t['runs']} >= set(getattr(workload(o['name']), 'steps', ())):
            results.append(judged(o, t))
    rules = ('advice', 'always 100', 'always 90', 'two lines', 'root', 'gather', 'keep')
    print(f"{'workload':16s} {'at':>3s} {'best':>4s} {'said':>4s} {'conf.':>5s}" + ''.join(f" {r:>10s}" for r in rules) + "  HOT off, worst (at)  inside")
    for r in results:
        worst = max(r['errors'], key=lambda s: abs(r['errors'][s]), default=None)
        print(f"{r['name']:16s} {r['at']:3d} {r['best']:4d} {r['advised']:4d} {r['advice']['confidence'] or 0:5.2f}" +
              ''.join(f" {'-' if r['regrets'][k] is None else format(r['regrets'][k], '.1f'):>10s}" for k in rules) +
              ('' if worst is None else f"  {statistics.mean(map(abs, r['errors'].values())):7.1f} {r['errors'][worst]:6.1f} ({worst:3d})"
               f"  {sum(r['inside'])} of {len(r['inside'])}"))
    if not results:
        return
    for k in rules:
        of = [r['regrets'][k] for r in results if r['regrets'][k] is not None]
        if of:
            print(f"{k:10s}: regret mean {statistics.mean(of):.1f}, worst {max(of):.1f} %")
    errors = [abs(e) for r in results for e in r['errors'].values()]
    inside = [i for r in results for i in r['inside']]
    if errors:
        print(f"HOT       : off by {statistics.mean(errors):.1f} points on average, {max(errors):.1f} at worst; "
              f"{100 * statistics.mean(inside):.0f} % inside the range")


def expand(arguments):
    names = []
    for a in arguments:
        first, dash, last = a.partition('-')
        if a in SETS:
            names += SETS[a]
        elif a == 'named':
            names += mixture.NAMED
        elif dash and first.isdigit() and last.isdigit():
            names += [str(n) for n in range(int(first), int(last) + 1)]
        else:
            workload(a)
            names.append(a)
    return names


def main():
    prepare()
    os.makedirs(DATA, exist_ok=True)
    what, names = sys.argv[1] if len(sys.argv) > 1 else '', expand(sys.argv[2:])
    failed = 0
    if what == 'truth':
        failed = all_of(names, truth)
    elif what == 'observe':
        failed = all_of(names, observe)
    elif what == 'report':
        report(names)
    elif what == 'short':
        failed = all_of(SHORT['names'], truth, steps=SHORT['steps']) + all_of(SHORT['names'], observe)
        report(SHORT['names'])
    else:
        sys.exit(__doc__)
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()
