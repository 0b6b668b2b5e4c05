#!/usr/bin/env python3
"""Prices of the model from truth runs: CPU time and WAL of a statement, a row, an index entry and a prune.

usage: constants.py TWIN_CLI [NAME ...]    (cc -O2 -Isrc -o TWIN_CLI test/model/mixture_cli.c src/model/twin.c -lm)

Takes the mixtures that regret.py has run and counts what a quarter of a run did, from the mixture, the counters and, for
moves and prunes, which PostgreSQL 15 does not count, the twin.  Then it fits CPU time and WAL by least squares
on the counts, relative to the size of each run, without negative prices; errors are the jackknife's, one mixture
left out at a time.  Mixtures with growth or TOAST are left out, because their rows have no single length.
"""
import glob
import math
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '../../twin')]
import mixture  # noqa: E402
from cluster import DATA, kept  # noqa: E402
from mixture_reality import workload  # noqa: E402
from report import fit  # noqa: E402

CPU = ('statement', 'row', 'read', 'entry', 'visit', 'moved', 'prune', 'scanned')
WAL = ('transaction', 'update', 'delete', 'insert', 'moved', 'elsewhere', 'entry', 'prune')
WORDS = {'statement': 'a statement that writes, and its transaction', 'row': 'a row written',
         'read': 'a read of one row', 'entry': 'an index entry', 'visit': 'an index visited first by an update',
         'moved': 'an update that moves its row',
         'prune': 'a page pruned', 'scanned': 'a page scanned', 'transaction': 'a commit', 'update': 'an update',
         'delete': 'a delete', 'insert': 'an insert', 'elsewhere': 'a byte of a row inserted or moved'}


def counts(m, r, moved, prunes):
    """Counts of the last quarter of a run."""
    def total(what, *commands):
        return sum(what(c) for c in m['classes'] if c['command'] in commands)

    def calls(c):
        return c['weight'] * c['calls']

    def rows(c):
        return calls(c) * c['rows']

    length, indexes, cold = mixture.row_bytes(m['table']), 1 + len(m['table']['indexes']), 1 - (r['hot_pct'] or 0) / 100
    inserts, deletes = total(rows, 'insert'), total(rows, 'delete')
    return {
        'statement': total(calls, 'insert', 'update', 'delete', 'upsert'), 'row': r['updates'] + inserts + deletes,
        'read': total(calls, 'select'), 'entry': indexes * (r['updates'] * cold + inserts),
        'visit': indexes * total(lambda c: calls(c) * min(1, cold * c['rows']), 'update', 'upsert'),
        'moved': r['updates'] * moved, 'prune': r['updates'] * prunes,
        'scanned': total(lambda c: calls(c) * (c['pick'] == 'all'), 'update') * r['heap_pages'],
        'transaction': total(lambda c: c['weight'], 'insert', 'update', 'delete', 'upsert'),
        'update': r['updates'], 'delete': deletes, 'insert': inserts,
        'elsewhere': length * (r['updates'] * moved + inserts)}


def replayed(cli, t):
    """By fillfactor, 0 if the table was not changed: shares of updates that move, and pages pruned an update."""
    steps = sorted({r['fillfactor'] * (r['way'] == 'rewrite') for r in t['runs']})
    out = subprocess.run([cli, 'ff=' + ','.join(map(str, steps)), *workload(t['mixture'], t['asked'])[0]],
                         capture_output=True, text=True, check=True).stdout
    lines = [dict(x.split('=') for x in line.split() if '=' in x) for line in out.splitlines()]
    return {step: (float(f['moved']) / 100, float(f['prunes'])) for step, f in zip(steps, lines)}


def prices(points, names):
    """Least squares, relative to the size of each point, without negative prices."""
    use = list(names)
    while True:
        found = fit([([n[k] / y for k in use], 1.0) for n, y in points])
        if found is None:
            use.pop()
            continue
        worst = min(range(len(use)), key=lambda i: found[i])
        if found[worst] >= 0:
            return {**dict.fromkeys(names, 0.0), **dict(zip(use, found))}
        del use[worst]


def table(title, runs, names, of):
    points = {name: [(n, of(r)) for n, r in some] for name, some in runs.items()}
    everything = [p for some in points.values() for p in some]
    all_in = prices(everything, names)
    without = [prices([p for other, some in points.items() if other != name for p in some], names) for name in points]
    off = [abs(sum(n[k] * all_in[k] for k in names) / y - 1) for n, y in everything]
    print(f'{title}: {len(points)} mixtures, {len(everything)} runs;'
          f' off by {100 * sum(off) / len(off):.0f} % on average')
    for k in names:
        mean = sum(w[k] for w in without) / len(without)
        error = math.sqrt((len(without) - 1) / len(without) * sum((w[k] - mean) ** 2 for w in without))
        print(f'  {WORDS[k]:46s} {all_in[k]:8.2f} +- {error:.2f}')


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    runs = {}
    for path in sorted(glob.glob(os.path.join(DATA, '*.truth.json'))):
        t = kept(os.path.basename(path))
        m = t['mixture']
        if m is None or sys.argv[2:] and t['name'] not in sys.argv[2:]:
            continue
        if m['table']['toast'] or any(c['growth'] for c in m['classes']):
            continue
        twin = replayed(sys.argv[1], t)
        runs[t['name']] = [(counts(m, r, *twin[r['fillfactor'] * (r['way'] == 'rewrite')]), r)
                           for r in t['runs'] if r['way'] != 'set']
    table('CPU, microseconds', runs, CPU, lambda r: r['cpu_us'] * r['transactions'])
    table('WAL, bytes', runs, WAL, lambda r: r['wal'] * r['transactions'])


if __name__ == '__main__':
    main()
