#!/usr/bin/env python3
"""Compares the twin with real runs of a known mixture; nothing is fitted.

usage: mixture_reality.py CLI FOLDER [NAME ...]

CLI is mixture_cli.c, compiled; FOLDER holds NAME-FILLFACTOR.truth.json, as test/bench/regret/regret.py
writes them: a mixture, and measurements after the table was kept or rewritten at each fillfactor.
"""
import glob
import json
import os
import subprocess
import sys

MOST_ROWS = 12000        # replayed; of a larger table only a part is replayed
MOST_PAGES = 250


def aligned(pad, toast):
    """Length of a row: header 24, bigint, three int, padding, and a TOAST pointer."""
    return (24 + 8 + 12 + (pad + 1 if pad < 127 else (pad + 4 + 3)) + (18 if toast else 0) + 7) // 8 * 8


def lengths(m, more=0):
    (first, _), *others = m['table']['widths']
    left = 1.0
    bins = []
    for width, share in others:
        share = round(20 * share) / 20
        bins.append((aligned(width + more, m['table']['toast']), share))
        left -= share
    bins.append((aligned(first + more, m['table']['toast']), left))
    return ','.join(f'{b}:{s:.3f}' for b, s in sorted(bins))


def class_words(c, m, per_tick, part):
    rows = m['table']['rows']
    n = c['rows'] * c['calls']
    pick, stride = {'any': ('any', 1), 'skewed': ('skewed', 1), 'newest': ('newest', 1),
                    'turn': ('sweep', 1), 'all': ('sweep', c['every'])}[c['pick']]
    if c['every'] > 1:
        stride = c['every']
    if c['calls'] > 1:
        stride = 0
    if c['pick'] == 'all':
        n *= part
    words = ['class', f"command={'update' if c['command'] == 'upsert' else c['command']}",
             f"rate={c['weight'] * n / (part if c['pick'] == 'all' else 1) * per_tick:.6g}",
             f'rows={n:.6g}', f'pick={pick}', f'stride={stride}', f"indexed={int(c['indexed'])}"]
    if c['pick'] == 'newest':
        near, far = c['distance']
        if c['command'] == 'delete':
            words[4] = 'pick=oldest'
        else:
            words += [f'near={near * m["sessions"]:g}', f'distance={far * m["sessions"] + 1:g}']
    if c['pick'] == 'skewed':
        words += ['skew=1.05']
    if c['growth']:
        words += ['resizes=1']
    return words


def workload(m, asked, before=2, after=2):
    """Words for CLI, and the part of the table that is replayed; before, after: quarters of a run."""
    classes = [c for c in m['classes'] if c['command'] != 'select']
    updates = sum(c['weight'] * c['rows'] * c['calls'] for c in classes if c['command'] in ('update', 'upsert'))
    most = max([0] + [c['growth_limit'] - m['table']['widths'][0][0] for c in classes if c['growth']])
    bytes_each = sum(int(b) * float(s) for b, s in (x.split(':') for x in lengths(m, most).split(',')))
    grown = m['table']['rows'] + (before + after) * sum(
        c['weight'] * c['rows'] * c['calls'] * {'insert': 1, 'delete': -1}.get(c['command'], 0) for c in classes)
    part = min(1.0, MOST_ROWS / grown, MOST_PAGES * 8192 / (grown * bytes_each))
    ticks = updates * part
    words = [f'start_rows={m["table"]["rows"] * part:.0f}', f'was={asked}', f'before={ticks * before:.0f}',
             f'settle={ticks * (after - 1):.0f}', f'measure={ticks:.0f}',
             f'insert_bytes={lengths(m)}', f"vacuum_share={0.2 + 50 / m['table']['rows']:.4f}",
             f"vacuum_gap={updates / 4 / m['table']['rows']:.4f}", f"lag={(m['sessions'] - 1) / 2}"]
    growth = [c for c in classes if c['growth']]
    if growth:
        c = growth[0]
        more = c['growth_limit'] - m['table']['widths'][0][0]
        words += [f'update_bytes={lengths(m, more)}']
    transactions = sum(c['weight'] for c in classes)
    if m['held']:
        words += [f"held={transactions * part / 4:.0f}", f"held_share={m['held']}"]
    for c in classes:
        words += class_words(c, m, 1 / updates, part)
    return words, part


def main():
    cli, folder, *names = sys.argv[1:]
    errors = []
    for path in sorted(glob.glob(folder + '/*.truth.json')):
        t = json.load(open(path))
        name = t['name']
        if not t['mixture'] or names and name not in names:
            continue
        measured = {}
        for r in t['runs']:
            if r['way'] != 'set':
                at = r['fillfactor'] if r['way'] == 'rewrite' else 0
                measured.setdefault(at, []).append((r['hot_pct'], r['heap_pages']))
        ffs = sorted(measured, key=lambda f: -f)
        words, part = workload(t['mixture'], t['asked'])
        out = subprocess.run([cli, 'ff=' + ','.join(map(str, ffs))] + words,
                             capture_output=True, text=True, check=True).stdout.splitlines()
        line, off = '', []
        for ff, text in zip(ffs, out):
            f = dict(x.split('=') for x in text.split() if '=' in x)
            hot = sum(h for h, _ in measured[ff]) / len(measured[ff])
            off.append(float(f['hot']) - hot)
            pages = sum(h for _, h in measured[ff]) / len(measured[ff]) * part
            line += f" {hot:.0f}/{float(f['hot']):.0f}({float(f['pages']) / pages:.2f})"
        errors += [(abs(x), name) for x in off]
        print(f"{name:16s} off mean {sum(map(abs, off)) / len(off):5.1f} worst {max(map(abs, off)):5.1f}  {line}"
              f"{' exhausted' if 'exhausted' in text else ''}")
    if errors:
        print(f'mean {sum(e for e, _ in errors) / len(errors):.2f} worst {max(errors)}')


if __name__ == "__main__":
    main()
