#!/usr/bin/env python3
"""Regret: what the advice costs against the best fillfactor, found by trying all.

usage: regret.py truth  [workload | holdout | unseen | later | fifth | sixth | seventh ...]   run every step on fresh clusters
       regret.py advice [workload | holdout | unseen | later | fifth | sixth | seventh ...]   run at 100 and at 70, ask for advice
       regret.py report                  the table
       regret.py short                   all three, small, for CI

Results are appended to WORK/truth.csv and WORK/advice.csv (default WORK:
/tmp/ff-regret); what is there is not run again, so a stopped bench goes on
where it stopped.  REPEATS (default 2) truth runs of every step, interleaved.
CLIENTS (1 or 2, default 2) sessions of pgbench; whether two of them hold each other's old
versions alive is a matter of how busy the machine is, so the short form has one.

Needs PG_CONFIG's server with the extension installed.  CPU time is that of the
whole cluster (cpuacct control group v1; else /proc of the postmaster and its
children), WAL is the distance of insert positions, size is heap and index pages
at the end.  Everything but size is of the second half of a run.  Costs between
two steps that were run are taken from a line (of their logarithms) between them.
"""
import math
import os
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cluster import BIN, PORT, WORK, Cluster, append, prepare, read, run  # noqa: E402
from workloads import FIFTH, HOLDOUT, LATER, SEVENTH, SHORT, SIXTH, STEPS, UNSEEN, WORKLOADS  # noqa: E402

ALL = {**WORKLOADS, **HOLDOUT, **UNSEEN, **LATER, **FIFTH, **SIXTH, **SEVENTH}

REPEATS = int(os.environ.get('REPEATS', '2'))
CLIENTS = int(os.environ.get('CLIENTS', '2'))

TRUTH = ('workload', 'fillfactor', 'repeat', 'cpu_us', 'wall_us', 'wal', 'pages', 'heap_pages', 'hot_pct')
ADVICE = ('workload', 'at', 'recommended', 'predicted', 'curve', 'hot_pct')


def half(c, w, number, scale):
    """One half of a run: CPU and wall time, WAL, HOT share and updates in it."""
    tx = max(10, int(w['tx'] * scale))
    path = os.path.join(WORK, 'script.sql')
    with open(path, 'w') as f:
        f.write(w['script'])
    holder = None
    if w.get('hold'):
        holder = subprocess.Popen(
            ['sh', '-c', f"while :; do echo 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT txid_current_snapshot(); SELECT pg_sleep({w['hold']}); COMMIT;'; sleep {w['hold']}; done | {BIN}/psql -XAtq -h {WORK} -p {PORT} -U postgres postgres"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    stat = "SELECT pg_stat_force_next_flush(); SELECT pg_current_wal_insert_lsn() - '0/0', n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 't'"
    time.sleep(0.3)
    a = c.sql(stat).split('\n')[-1].split('|')
    cpu, wall = c.cpu(), time.monotonic()
    run([BIN + '/pgbench', '-n', '-M', 'prepared', '-c', str(CLIENTS), '-j', '1', '-t', str(tx), '-D', f'i={tx * number}',
         '-f', path, '-h', WORK, '-p', PORT, '-U', 'postgres', 'postgres'])
    cpu, wall = c.cpu() - cpu, time.monotonic() - wall
    if holder:
        os.killpg(holder.pid, 15)
        holder.wait()
    time.sleep(0.3)
    b = c.sql(stat).split('\n')[-1].split('|')
    updates = int(b[1]) - int(a[1])
    return dict(cpu_us=1e6 * cpu / tx / CLIENTS, wall_us=1e6 * wall / tx / CLIENTS,
                wal=(float(b[0]) - float(a[0])) / tx / CLIENTS,
                hot_pct=100 * (int(b[2]) - int(a[2])) / updates if updates else float('nan'))


def load(c, w, ff):
    c.sql(w['setup'].replace('{ff}', str(ff)) + ";\nVACUUM ANALYZE t; CHECKPOINT;")
    c.limit()


def truth(names, form={}, repeats=REPEATS):
    """form: what the short form has of its own."""
    done = {(r['workload'], int(r['fillfactor']), int(r['repeat'])) for r in read('truth.csv', TRUTH)}
    for repeat in range(repeats):
        for name in names:
            w = ALL[name]
            for ff in form.get('steps') or w.get('steps', STEPS):
                if (name, ff, repeat) in done:
                    continue
                c = Cluster(w.get('ram'), settings=form.get('settings', ''))
                try:
                    load(c, w, ff)
                    half(c, w, 0, form.get('scale', 1.0))
                    c.sql(form.get('between', ''))
                    m = half(c, w, 1, form.get('scale', 1.0))
                    size = c.sql("SELECT pg_table_size('t') / 8192 + pg_indexes_size('t') / 8192, pg_relation_size('t') / 8192").split('|')
                finally:
                    c.stop()
                m.update(workload=name, fillfactor=ff, repeat=repeat, pages=size[0], heap_pages=size[1])
                append('truth.csv', TRUTH, m)
                print(f"{name} {ff}: cpu {m['cpu_us']:.1f} us, wal {m['wal']:.0f}, pages {size[0]}, HOT {m['hot_pct']:.1f} %", flush=True)


def advice(names, form={}):
    done = {(r['workload'], int(r['at'])) for r in read('advice.csv', ADVICE)}
    for name in names:
        w = ALL[name]
        for ff in (100, 70):
            if (name, ff) in done:
                continue
            c = Cluster(w.get('ram'), 'pg_stat_statements', form.get('settings', ''))
            try:
                c.sql('CREATE EXTENSION pg_stat_statements; CREATE EXTENSION fillfactor_advisor;')
                load(c, w, ff)
                c.sql('CALL ff_collect()')
                half(c, w, 0, form.get('scale', 1.0))
                c.sql('CALL ff_collect()')
                c.sql(form.get('between', ''))
                m = half(c, w, 1, form.get('scale', 1.0))
                c.sql('CALL ff_collect()')
                rows = c.sql("SELECT fillfactor, hot_pct FROM ff_curve('t')").split('\n')
                adv = c.sql("SELECT recommended_fillfactor, round(predicted_hot_pct::numeric, 2), reason FROM ff_advise('t')").split('|')
                if os.environ.get('KEEP_EVIDENCE'):
                    # for work on the model: the evidence as a row literal
                    with open(os.path.join(WORK, 'evidence.tsv'), 'a') as f:
                        f.write(c.sql(f"SELECT concat_ws(E'\\t', '{name}', {ff}, e, x) FROM ff_internal.evidence('t') e, ff_internal.model_extra(e) x") + '\n')
            finally:
                c.stop()
            curve = ' '.join(':'.join(r.split('|')[:2]) for r in rows if r)
            append('advice.csv', ADVICE, dict(workload=name, at=ff, recommended=adv[0], predicted=adv[1], curve=curve, hot_pct=m['hot_pct']))
            print(f"{name} at {ff}: advised {adv[0]}", flush=True)


def formula(hot):
    return 100 - max(1, round(math.sqrt(1.5 * (100 - hot))) - 5)


def normal(a):
    """The matrix of the normal equations; a: rows of features."""
    n = len(a[0])
    return [[sum(r[i] * r[j] for r in a) for j in range(n)] for i in range(n)]


def solve(a, b):
    """Least squares by the normal equations; a: rows of features."""
    return solve_square(normal(a), [sum(r[i] * y for r, y in zip(a, b)) for i in range(len(a[0]))])


def solve_square(a, b):
    """As many equations as unknowns; None where they do not determine them."""
    n = len(a)
    m = [list(r) + [v] for r, v in zip(a, b)]
    for i in range(n):
        p = max(range(i, n), key=lambda k: abs(m[k][i]))
        m[i], m[p] = m[p], m[i]
        if abs(m[i][i]) < 1e-12:
            return None
        for k in range(n):
            if k != i:
                f = m[k][i] / m[i][i]
                m[k] = [x - f * y for x, y in zip(m[k], m[i])]
    return [m[i][n] / m[i][i] for i in range(n)]


def smooth(runs, limited):
    """Time of each step on a line through all runs of a workload: so much for
    an update that is not HOT, for a byte of WAL, for a page more, none of them
    negative.  What the steps have in common evens the noise out."""
    points = [(ff, [1.0, float(r['wal']) / 1e3, float(r['pages']) / 1e3, 0.0 if r['hot_pct'] == 'nan' else 1 - float(r['hot_pct']) / 100],
               float(r['wall_us' if limited else 'cpu_us'])) for ff, rs in runs.items() for r in rs]
    use = [0, 1, 2, 3]
    while True:
        w = solve([[f[i] for i in use] for _, f, _ in points], [y for _, _, y in points])
        if w is None:
            use = use[:-1]
            continue
        bad = min(range(1, len(use)), key=lambda i: w[i], default=None) if len(use) > 1 else None
        if bad is None or w[bad] >= 0:
            break
        del use[bad]
    return {ff: statistics.mean(sum(w[k] * f[i] for k, i in enumerate(use)) for g, f, _ in points if g == ff) for ff in runs}


def report(smoothed=False):
    t, measured = {}, {}
    for r in read('truth.csv', TRUTH):
        t.setdefault(r['workload'], {}).setdefault(int(r['fillfactor']), []).append(r)
    adv = {(r['workload'], int(r['at'])): r for r in read('advice.csv', ADVICE)}
    sums, steps = {}, {}
    print(f"{'workload':15s} {'best':>4s} | {'at 100':>6s} {'regret':>6s} {'time':>5s} {'WAL':>5s} {'size':>5s} | {'at 70':>6s} {'regret':>6s} |"
          f" {'100':>6s} {'90':>6s} {'formula':>7s} | HOT off: mean worst")
    for name in ALL:
        if name not in t:
            continue
        limited = 'ram' in ALL[name]
        med = {}
        for ff, rs in t[name].items():
            med[ff] = [statistics.median(float(r[k]) for r in rs)
                       for k in ('wall_us' if limited else 'cpu_us', 'wal', 'pages')]
            measured[ff] = statistics.median(float(r['hot_pct']) for r in rs)
        if smoothed:
            for ff, v in smooth(t[name], limited).items():
                med[ff][0] = v
        # a clock that ticks slowly sees nothing of a short run
        low = [min(v[i] for v in med.values()) or 1.0 for i in range(3)]
        cost = {ff: [(max(v[0], low[0]) / low[0]) ** 0.5, (v[1] / low[1]) ** 0.3, (v[2] / low[2]) ** 0.2] for ff, v in med.items()}
        total = {ff: math.prod(c) for ff, c in cost.items()}
        best = min(total, key=total.get)

        def at_step(ff, values):
            """A figure at a fillfactor that was not run itself."""
            above = min((f for f in values if f >= ff), default=max(values))
            below = max((f for f in values if f <= ff), default=min(values))
            # where the steps run are all there are, the one that ff lies on
            if above == below or 'steps' in ALL[name] and not limited:
                return values[above]
            return values[above] * (values[below] / values[above]) ** ((above - ff) / (above - below))

        def regret(ff):
            return 100 * (at_step(ff, total) / total[best] - 1)

        line = f"{name:15s} {best:4d} |"
        offs = []
        for at in (100, 70):
            a = adv.get((name, at))
            if a is None:
                line += f" {'-':>6s} {'-':>6s}" + (f" {'':5s} {'':5s} {'':5s} |" if at == 100 else " |")
                continue
            ff = int(a['recommended'] or at)
            r = regret(ff)
            sums.setdefault(f'at {at}', []).append(r)
            line += f" {ff:6d} {r:6.1f}"
            if at == 100:
                line += ''.join(f" {100 * (at_step(ff, {f: c[i] for f, c in cost.items()}) / cost[best][i] - 1):5.1f}" for i in range(3)) + " |"
            else:
                line += " |"
            curve = sorted(((int(f), float(h)) for f, h in (x.split(':') for x in a['curve'].split()) if h), reverse=True)
            seen = steps.setdefault(f'{name} at {at}', {})
            for f in med:
                near = min(curve, key=lambda x: (abs(x[0] - f), -x[0]), default=None)
                inside = [x for x in curve if x[0] >= f]
                near = inside[-1] if inside else near
                if near is not None and not math.isnan(measured[f]):
                    offs.append(abs(near[1] - measured[f]))
                    seen[f] = (near[1], measured[f])
        hot100 = measured.get(100, float('nan'))
        for key, ff in (('always 100', 100), ('always 90', 90),
                        ('formula', formula(hot100) if not math.isnan(hot100) else 100)):
            r = regret(ff)
            sums.setdefault(key, []).append(r)
            line += f" {r:6.1f}"
        if offs:
            line += f" | {statistics.mean(offs):5.1f} {max(offs):5.1f}"
            sums.setdefault('HOT', []).extend(offs)
        print(line)
    for key, rs in sums.items():
        unit = 'points' if key == 'HOT' else '%'
        print(f"{key:10s}: mean {statistics.mean(rs):.1f}, worst {max(rs):.1f} {unit}")
    if smoothed:
        return
    print("\nHOT share predicted after a run at 100 or at 70, and measured, percent:\n")
    for key, seen in steps.items():
        if seen:
            print(f"{key:22s} " + '  '.join(f"{f}: {p:.0f} {m:.0f}" for f, (p, m) in sorted(seen.items(), reverse=True)))


def main():
    global CLIENTS
    if CLIENTS not in (1, 2):
        sys.exit('CLIENTS: 1 or 2, as the ids that the scripts make are distinct for no more')
    prepare()
    what = sys.argv[1] if len(sys.argv) > 1 else ''
    sets = {'holdout': HOLDOUT, 'unseen': UNSEEN, 'later': LATER, 'fifth': FIFTH, 'sixth': SIXTH, 'seventh': SEVENTH}
    names = [n for a in sys.argv[2:] for n in (sets[a] if a in sets else [a])] or list(WORKLOADS)
    if what == 'truth':
        truth(names)
    elif what == 'advice':
        advice(names)
    elif what == 'report':
        report()
        print("\nThe same with times evened out over a workload's steps:\n")
        report(smoothed=True)
    elif what == 'short':
        CLIENTS = SHORT['clients']
        truth(SHORT['names'], SHORT, 1)
        advice(SHORT['names'], SHORT)
        report()
    else:
        sys.exit(__doc__)


if __name__ == '__main__':
    main()
