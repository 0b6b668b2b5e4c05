#!/usr/bin/env python3
"""What a prune and an index entry cost: the constants of src/choice.c, from the truth.

usage: constants.py TWIN_CLI [workload ...]

Reads what regret.py truth has kept and replays each workload's own lifecycle at
the same fillfactors with the twin (cc -O2 -Isrc -o twin_cli test/twin/twin_cli.c
src/model/heap_twin.c -lm), which says what no counter of the server does: prunes an update.
Then CPU per update, each workload against its own mean over the fillfactors, is
regressed on prunes and index entries.  Prints microseconds with one standard error; an
index entry of a statement that updates few rows includes its first visit of the index,
one of a batch does not.
"""
import math
import os
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cluster import kept  # noqa: E402
from report import fit  # noqa: E402

SEEDS = 3
BATCHES = ('jobs', 'groups', 'rollup', 'stock', 'lines')

# updates per transaction, indexes, lifecycle as the script of the workload makes it
LIVES = {
    'uniform': (1, 2, 'insert_len=128 update_len=128 start_rows=6000 warmup=6000 measure=6000 lag=1 vacuum_gap=0.3'),
    'zipf': (1, 2, 'insert_len=128 update_len=128 start_rows=6000 warmup=6000 measure=6000 lag=1 skew=1 vacuum_gap=0.3'),
    'orders': (3, 3, 'insert_len=144 update_len=144 inserts_per_update=0.3333 fresh_share=1 fresh_distance=300'
               ' start_rows=100 warmup=6000 measure=6000 lag=2 vacuum_gap=0.6'),
    'wide_orders': (3, 3, 'insert_len=1248 update_len=1248 inserts_per_update=0.3333 fresh_share=1 fresh_distance=30'
                    ' start_rows=100 warmup=3000 measure=3000 lag=1.5 vacuum_gap=0.6'),
    'jobs': (400, 3, 'insert_len=104 update_len=104 insert_rows=200 update_rows=200 inserts_per_update=0.5 fresh_share=1'
             ' in_turn=1 fresh_distance=200 start_rows=200 warmup=8000 measure=8000 lag=2 vacuum_gap=2'),
    'growing': (3, 2, 'insert_len=64 update_len=224 grow_updates=4 inserts_per_update=0.3333 fresh_share=1'
                ' fresh_distance=2000 start_rows=100 warmup=10000 measure=6000 lag=1 vacuum_gap=0.6'),
    'groups': (100, 3, 'insert_len=128 update_len=128 update_rows=100 start_rows=4000 warmup=20000 measure=20000 lag=0.5 vacuum_gap=5'),
    'indexed': (1, 2, 'insert_len=128 update_len=128 start_rows=6000 warmup=4800 measure=4800 lag=1 hot_eligible=0 vacuum_gap=0.3'),
    'tickets': (1, 3, 'insert_len=368 update_len=368 inserts_per_update=1 fresh_share=1 fresh_distance=100'
                ' start_rows=100 warmup=4000 measure=4000 lag=2 vacuum_gap=0.6'),
    'stock': (16, 2, 'insert_len=88 update_len=88 update_rows=16 start_rows=9600 warmup=22400 measure=22400 lag=1 vacuum_gap=1'),
    'ledger': (5, 3, 'insert_len=168 update_len=168 inserts_per_update=0.2 fresh_share=1 fresh_distance=400 hot_eligible=0.8'
               ' start_rows=100 warmup=6000 measure=6000 lag=2 vacuum_gap=1'),
    'rollup': (500, 3, 'insert_len=104 update_len=104 update_rows=500 start_rows=4000 warmup=15000 measure=15000 vacuum_gap=7'),
    'counters': (1, 2, 'insert_len=80 update_len=80 start_rows=800 warmup=20000 measure=20000 lag=1 vacuum_gap=10'),
    'documents': (1, 2, 'insert_len=104 update_len=208 grow_updates=5 start_rows=6000 warmup=8000 measure=8000 lag=1 vacuum_gap=0.3'),
    'lines': (10, 3, 'insert_len=168 update_len=168 insert_rows=10 update_rows=10 inserts_per_update=1 fresh_share=1'
              ' fresh_distance=500 start_rows=500 warmup=8000 measure=8000 lag=1 vacuum_gap=1'),
    'readings': (3, 3, 'insert_len=112 update_len=112 insert_rows=10 inserts_per_update=3.333 fresh_share=1 fresh_distance=20'
                 ' start_rows=100 warmup=1500 measure=1500 lag=1 vacuum_gap=1'),
    'sessions': (4, 2, 'insert_len=248 update_len=248 inserts_per_update=0.25 fresh_share=1 fresh_distance=1600'
                 ' start_rows=100 warmup=8000 measure=6000 lag=2 vacuum_gap=0.6'),
}


def replay(cli, life, steps):
    """By fillfactor: prunes and share not HOT, of the updates; mean of some seeds."""
    sums = {f: [0.0, 0.0] for f in steps}
    for seed in range(1, SEEDS + 1):
        out = subprocess.run([cli, *life.split(), 'ff=' + ','.join(map(str, steps)), f'seed={seed}'],
                             capture_output=True, text=True, check=True).stdout
        for line in out.splitlines():
            d = dict(p.split('=') for p in line.split() if '=' in p)
            for i, v in enumerate((float(d['prunes']), 1 - float(d['hot']) / 100)):
                sums[int(d['ff'])][i] += v / SEEDS
    return sums


def regress(rows, y):
    """Least squares through the origin: coefficients and their standard errors."""
    b = fit(list(zip(rows, y)))
    n = len(b)
    rest = sum((v - sum(p * q for p, q in zip(b, r))) ** 2 for r, v in zip(rows, y)) / max(1, len(y) - n)
    # the diagonal of the inverse of the normal matrix, of two unknowns
    sums = [[sum(r[i] * r[j] for r in rows) for j in range(n)] for i in range(n)]
    determinant = sums[0][0] * sums[1][1] - sums[0][1] ** 2
    return b, [math.sqrt(rest * sums[1 - j][1 - j] / determinant) for j in range(n)]


def price(what, cli, truth, names):
    rows, y = [], []
    for name in names:
        updates, indexes, life = LIVES[name]
        steps = sorted(truth[name], reverse=True)
        twin = replay(cli, life, steps)
        cpu = {f: statistics.median(truth[name][f]) / updates for f in steps}
        mean = statistics.mean(cpu.values())
        x = {f: [twin[f][0], indexes * twin[f][1]] for f in steps}
        middle = [statistics.mean(c) for c in zip(*x.values())]
        for f in steps:
            rows.append([(a - b) / mean for a, b in zip(x[f], middle)])
            y.append(cpu[f] / mean - 1)
    if len(y) < 10:
        print(f'{what}: too few runs')
        return
    (prune, entry), (prune_error, entry_error) = regress(rows, y)
    print(f'{what}: {len(names)} workloads, {len(y)} steps; prune {prune:.1f} +- {prune_error:.1f} us, index entry {entry:.1f} +- {entry_error:.1f} us')


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    truth = {}
    for name in sys.argv[2:] or LIVES:
        for r in (kept(f'{name}.truth.json') or dict(runs=[]))['runs']:
            truth.setdefault(name, {}).setdefault(r['fillfactor'], []).append(r['cpu_us'])
    names = list(truth)
    price('statements of few rows', sys.argv[1], truth, [n for n in names if n not in BATCHES])
    price('batches', sys.argv[1], truth, [n for n in names if n in BATCHES])


if __name__ == '__main__':
    main()
