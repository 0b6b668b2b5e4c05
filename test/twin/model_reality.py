#!/usr/bin/env python3
"""The model beside real runs: what it makes of the evidence of a workload that it was not shown.

usage: model_reality.py CLI FOLDER [-v] [NAME ...]

CLI is model_cli.c, compiled; FOLDER holds NAME.truth.json and NAME-FILLFACTOR.observe.json,
as test/bench/regret/regret.py writes them.
"""
import glob
import json
import math
import os
import re
import subprocess
import sys

RATES = ('inserted', 'updated', 'hot_updated', 'newpage_updated', 'deleted', 'vacuums')
STEPS_BELOW = 30         # no run below


def number(v):
    return 'nan' if v is None else repr(float(v))


def evidence(o):
    """Lines that model_cli.c reads."""
    e, x, r = flat(o), o['extra'], o['relation']
    intervals = sorted(o['intervals'], key=lambda i: i['ended_at'], reverse=True)
    lines = []
    for i in intervals[:32]:
        lines.append(f"interval {seconds(i)} " + ' '.join(
            number(i[k]) for k in ('inserted', 'updated', 'hot_updated', 'newpage_updated', 'deleted', 'vacuums')))
    indexed = {c.strip().split()[0] for d in r['index_definitions'] for c in re.search(r'\((.*)\)', d).group(1).split(',')}
    statements = []
    for t in o['targets'] or []:
        history = [h for h in o['statement_history'] or [] if h['statement_id'] == t['statement_id']
                   and h['ended_at'] > intervals[-1]['began_at']]
        total = {k: sum(h[k] for h in history) for k in ('calls', 'rows', 'wal_records', 'wal_bytes')}
        if total['rows'] > 0:
            sets = None if t['columns'] is None else int(bool(indexed & set(t['columns'])))
            statements.append((total['rows'], f"statement {t['command'].lower()} {total['calls']} {total['rows']} {number(sets)} "
                               f"{total['wal_records']} {total['wal_bytes']} {busy(history, intervals)}"))
    lines += [s for _, s in sorted(statements, reverse=True)[:8]]
    updated = sum(i['updated'] for i in intervals)
    xid = {c['began_at']: int(c['next_xid']) for c in o['collections']}
    xids = xid[intervals[0]['ended_at']] - xid[intervals[-1]['began_at']]
    values = dict(earlier_updated=x['total_updated'] - updated, window_xids=xids, indexed_share=x.get('indexed_share'), update_distance_p50=e.get('update_distance'),
                  vacuum_scale=x['vacuum_scale'], vacuum_threshold=50, vacuum_nap_s=x['vacuum_nap_s'], sessions=x['sessions'],
                  checkpoint_s=x['checkpoint_s'], read_us=x['read_us'], horizon_s=30 * 86400, time_weight=0.5,
                  wal_weight=0.3, size_weight=0.2, min_gain=0.02,
                  min_updates=200)
    for k in ('blocks live_rows rows_per_page rows_per_page_max updated_pct'
              ' seen_hot seen_same_page seen_moved inserted_width inserted_width_err updated_width updated_width_err'
              ' update_group_rows insert_group_rows fillfactor indexes'
              ' index_bytes ram_bytes index_scans seq_scans blocks_fetched').split():
        values[k] = e.get(k)
    # of the last sample that had rows never updated
    for s in sorted(o['samples'], key=lambda s: s['sampled_at']):
        if s['inserted_width'] is not None and s['updated_pct'] < 99:
            values['inserted_width'], values['inserted_width_err'] = s['inserted_width'], s['inserted_width_err']
    lines += [f'{k} {number(v)}' for k, v in values.items()]
    for k in ('group_old_page', 'group_new_page', 'insert_group', 'update_distance', 'update_age', 'inserted_length', 'updated_length'):
        v = e.get(k + '_histogram') or (e.get(k) if isinstance(e.get(k), list) else None)
        if v:
            lines.append(k + ' ' + ' '.join(map(str, v)))
    return '\n'.join(lines) + '\n'


def flat(o):
    e = o['evidence']
    return {**(e.get('counters') or {}), **(e.get('sample') or {}), 'seen_moved': e.get('seen_newpage'), **e}


def busy(history, intervals):
    """Share of the time in which a statement was at work."""
    rows = [sum(h['rows'] for h in history if i['began_at'] < h['ended_at'] and h['began_at'] < i['ended_at']
                and overlap(h, i) > 0.5) for i in intervals]
    rows = [r / max(seconds(i), 1e-3) ** 0.5 for r, i in zip(rows, intervals)]
    squares = sum(r * r for r in rows)
    total, time = sum(r * max(seconds(i), 1e-3) ** 0.5 for r, i in zip(rows, intervals)), sum(seconds(i) for i in intervals)
    return total * total / (squares * time) if squares else 'nan'


def overlap(h, i):
    from datetime import datetime
    begin, end = (datetime.fromisoformat(f(h[k], i[k])) for f, k in ((max, 'began_at'), (min, 'ended_at')))
    return (end - begin).total_seconds() / max(1e-9, seconds(h))


def seconds(i):
    from datetime import datetime
    return (datetime.fromisoformat(i['ended_at']) - datetime.fromisoformat(i['began_at'])).total_seconds()


def solve(a, b):
    n = len(b)
    for i in range(n):
        p = max(range(i, n), key=lambda r: abs(a[r][i]))
        if abs(a[p][i]) < 1e-12:
            continue
        a[i], a[p], b[i], b[p] = a[p], a[i], b[p], b[i]
        for r in range(n):
            if r != i:
                m = a[r][i] / a[i][i]
                a[r] = [x - m * y for x, y in zip(a[r], a[i])]
                b[r] -= m * b[i]
    return [b[i] / a[i][i] if abs(a[i][i]) > 1e-12 else 0 for i in range(n)]


def costs(t):
    """ln of the cost at each fillfactor that was run; times on a line through all runs."""
    rows = [(1.0, 1 - r['hot_pct'] / 100, math.log(r['pages'])) for r in t['runs']]
    y = [math.log(r['cpu_us']) for r in t['runs']]
    a = [[sum(p[i] * p[j] for p in rows) + (1e-3 if i == j else 0) for j in range(3)] for i in range(3)]
    b = [sum(p[i] * v for p, v in zip(rows, y)) for i in range(3)]
    k = solve([r[:] for r in a], b[:])
    # neither updates that are not HOT nor pages save time: where noise says so, the line does without
    for i in (2, 1):
        if k[i] < 0:
            a = [[0 if i in (r, s) and r != s else a[r][s] for s in range(3)] for r in range(3)]
            b[i] = 0
            k = solve([r[:] for r in a], b[:])
    cost = {}
    for r, p in zip(t['runs'], rows):
        cost.setdefault(r['fillfactor'], []).append(
            0.5 * sum(x * z for x, z in zip(k, p)) + 0.3 * math.log(r['wal']) + 0.2 * math.log(r['pages']))
    return {f: sum(v) / len(v) for f, v in cost.items()}


def at(curve, ff):
    """Between two fillfactors, a line."""
    ffs = sorted(curve)
    ff = min(max(ff, ffs[0]), ffs[-1])
    for a, b in zip(ffs, ffs[1:]):
        if a <= ff <= b:
            return curve[a] + (curve[b] - curve[a]) * (ff - a) / (b - a)
    return curve[ffs[0]]


def run(cli, o, verbose):
    out = subprocess.run([cli] + (['-v'] if verbose else []), input=evidence(o), capture_output=True, text=True)
    if out.returncode:
        sys.exit(f'{out.returncode} {out.stderr}')
    steps, decision = {}, None
    for line in out.stdout.splitlines():
        w = line.split()
        if w[0] == 'step':
            steps[int(w[1])] = dict(zip(w[2:-1:2], w[3::2]))
        elif w[0] == 'decision':
            decision = w
    ms = float(re.search(r' ms ([0-9.]+)', out.stdout).group(1))
    return out.stdout, steps, decision, ms


def main():
    args = [a for a in sys.argv[1:] if a != '-v']
    verbose = '-v' in sys.argv
    cli, folder, *names = args
    names = names or sorted(os.path.basename(p)[:-11] for p in glob.glob(folder + '/*.truth.json'))
    total = []
    for name in names:
        t = json.load(open(f'{folder}/{name}.truth.json'))
        hot = {}
        for r in t['runs']:
            hot.setdefault(r['fillfactor'], []).append(r['hot_pct'])
        hot = {f: sum(v) / len(v) for f, v in hot.items()}
        cost = costs(t)
        best = min(cost, key=cost.get)
        for path in sorted(glob.glob(f'{folder}/{name}-*.observe.json')):
            o = json.load(open(path))
            if len(cost) < 9:
                continue
            out, steps, d, ms = run(cli, o, verbose)
            if verbose:
                print(out)
            if not steps:
                print(f"{name:16s} {' '.join(d)}")
                continue
            predicted = {f: float(s['hot']) for f, s in steps.items()}
            off = {f: at(predicted, f) - hot[f] for f in hot}
            inside = [at({k: float(s['low']) for k, s in steps.items()}, f) - 0.5 <= hot[f] <=
                      at({k: float(s['high']) for k, s in steps.items()}, f) + 0.5 for f in hot]
            chosen = o['fillfactor'] if d[1] in ('keep', 'wait') else int(d[3])
            regret = {k: 100 * (math.exp(at(cost, f) - cost[best]) - 1) for k, f in
                      (('model', chosen), ('100', 100), ('90', 90), ('old', o['advice']['recommended_fillfactor'] or o['fillfactor']))}
            group = flat(o).get('update_group_rows') or 1
            rule = 50 if group >= 0.5 * (flat(o).get('rows_per_page') or 1e9) else 90
            regret['rule'] = 100 * (math.exp(at(cost, rule) - cost[best]) - 1)
            total.append((regret, [abs(x) for x in off.values()], inside, ms))
            print(f"{name:16s} at {o['fillfactor']:3d} {d[1]:8s}{chosen:3d} (best {best:3d}) regret {regret['model']:5.1f} old {regret['old']:5.1f} "
                  f"100 {regret['100']:5.1f} 90 {regret['90']:5.1f} rule {regret['rule']:5.1f}  agree {d[d.index('agreement') + 1]} "
                  f"HOT off {sum(map(abs, off.values())) / len(off):4.1f} {max(map(abs, off.values())):5.1f} in {sum(inside)}/{len(inside)} ms {ms:.0f}"
                  f"  {' '.join(f'{hot[f]:.0f}/{at(predicted, f):.0f}' for f in sorted(hot, reverse=True))}", flush=True)
    n = len(total)
    if n:
        print(f"{n} workloads; regret mean (worst): " + ', '.join(
            f"{k} {sum(r[k] for r, *_ in total) / n:.2f} ({max(r[k] for r, *_ in total):.1f})" for k in ('model', 'old', '100', '90', 'rule')))
        errors = [x for _, e, *_ in total for x in e]
        print(f"HOT off {sum(errors) / len(errors):.2f}, worst of a workload {max(sum(e) / len(e) for _, e, *_ in total):.1f}, worst {max(errors):.1f}; "
              f"inside {100 * sum(sum(i) for _, _, i, _ in total) / len(errors):.0f} %; ms median {sorted(m for *_, m in total)[n // 2]:.0f}")


main()
