"""Stored observations: the evidence, the true mixture and all runs of many workloads, in one compressed file.

A file is JSON compressed by xz: a list of observations, each what regret.py observe stores, without the curve, and its
truth runs ("truth").  "input" is the model's input by name, "mirror" that of a mirror; evidence, intervals, samples, statements and so on are the rows
of the extension's tables from which it can be made again.
"""
import glob
import json
import lzma
import math
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.join(HERE, '../../..')
FILE = os.path.join(HERE, 'observations.json.xz')
# fields of the model's input that only pages show
PAGES = ('seen_', 'recent_', 'inserted_length', 'updated_length', 'updated_pct', 'rows_per_page', 'group_', 'update_')
KEPT = ('action', 'recommended_fillfactor', 'needs_rewrite', 'confidence', 'cause')


def load(path):
    with lzma.open(path, 'rt') as f:
        return [completed(o) for o in json.load(f)]


def completed(o):
    """Adds the inputs that came after it was stored, from the rows of the extension's tables; drops a former one."""
    if 'held_from' not in o['input']:
        o['input'].update(held_once(o['samples'], o['intervals']))
    for i in (o['input'], o.get('mirror')):
        if i:
            i.pop('statement_wal_records', None)
        if i and 'statement_blocks_dirtied' not in i and i.get('statement_rows'):
            i['statement_blocks_dirtied'] = dirtied(i, o['targets'] or [], o['statement_history'] or [])
    return o


def dirtied(i, targets, history):
    """Blocks that each statement dirtied, as statement_input(); of two with the same calls and rows, one or the other."""
    sums = {}
    for h in history:
        sums.setdefault(h['statement_id'], [0, 0, 0])
        for k, name in enumerate(('calls', 'rows', 'blocks_dirtied')):
            sums[h['statement_id']][k] += h[name]
    updates = {t['statement_id'] for t in targets if t['command'] == 'UPDATE'}
    found = []
    for command, calls, rows in zip(i['statement_command'], i['statement_calls'], i['statement_rows']):
        near = {s: abs(math.log(sums[s][0] / calls)) + abs(math.log(sums[s][1] / rows)) for s in updates & set(sums)
                if command == 1 and calls and rows and sums[s][0] and sums[s][1]}
        best = min(near, key=near.get, default=None)
        found.append(sums[best][2] * rows / sums[best][1] if best else None)
        updates.discard(best)
    return found


def held_once(samples, intervals):
    """Rows updated after the begin and the end of a snapshot that was held once, as history_input()."""
    seen = []
    for s in sorted(samples, key=lambda s: s['sampled_at']):
        before = [i for i in intervals if i['ended_at'] <= s['sampled_at'] and i['updated'] > 0]
        last = max(before, key=lambda i: i['ended_at'])['updated'] if before else math.inf
        after = sum(i['updated'] for i in intervals if i['ended_at'] > s['sampled_at'])
        seen.append((after, (s['recently_dead_rows'] or 0) > last / 2))
    begins = [k for k in range(1, len(seen)) if seen[k][1] and not seen[k - 1][1]]
    ends = [k for k in range(1, len(seen)) if seen[k - 1][1] and not seen[k][1]]
    if len(begins) != 1 or len(ends) != 1 or seen[0][1]:
        return {}
    return dict(held_from=(seen[begins[0]][0] + seen[begins[0] - 1][0]) / 2,
                held_until=(seen[ends[0]][0] + seen[ends[0] - 1][0]) / 2)


def save(path, observations):
    with lzma.open(path + '.new', 'wt', preset=9 | lzma.PRESET_EXTREME) as f:
        json.dump(observations, f, separators=(',', ':'))
    os.rename(path + '.new', path)


def key(o):
    return o['name'], o['fillfactor'], o['server'] // 10000


def rounded(x):
    """Times and bytes to six digits."""
    if isinstance(x, dict):
        return {k: rounded(v) for k, v in x.items()}
    if isinstance(x, list):
        return [rounded(v) for v in x]
    return float(f'{x:.6g}') if isinstance(x, float) else x


def pack(path, *folders):
    all_of = {key(o): o for o in load(path)} if os.path.exists(path) else {}
    for folder in folders:
        for name in glob.glob(os.path.join(folder, '*.observe.json')):
            try:
                with open(name) as f, open(name.replace('.observe.', '.truth.')) as g:
                    o, t = json.load(f), json.load(g)
            except FileNotFoundError:
                continue
            asked = len(set((r['way'], r['fillfactor']) for r in t['runs']))
            if asked < options(o):
                continue     # still running
            before = t['runs'][0]['before']
            runs = [{k: v for k, v in r.items() if k not in ('before', 'repeat')} for r in t['runs']]
            o.pop('curve', None)
            o['advice'] = {k: o['advice'][k] for k in KEPT}
            all_of[key(o)] = dict(o, truth=rounded(dict(before=before, runs=runs)))
            if os.path.exists(name.replace('.observe.', '.mirror.')):
                with open(name.replace('.observe.', '.mirror.')) as f:
                    all_of[key(o)]['mirror'] = json.load(f)['input']
    save(path, [all_of[k] for k in sorted(all_of)])
    print(f'{len(all_of)} observations, {os.path.getsize(path)} bytes')


def options(o):
    """Options that the runs of a workload have."""
    import regret
    w = regret.workload(o['name'])
    return 1 + sum(s != o['fillfactor'] for s in w.sets) + len(getattr(w, 'steps', regret.STEPS))


def pair(o):
    """An observation and its truth runs, in the form of their files."""
    t = o['truth']
    return o, dict(name=o['name'], mixture=o['mixture'], asked=o['fillfactor'],
                   runs=[dict(r, before=t['before']) for r in t['runs']])


def compiled(folder):
    """The model of this checkout with model_cli.c."""
    cli = os.path.join(folder, 'model_cli')
    parts = [p for p in glob.glob(os.path.join(TOP, 'src/model/*.c')) if not p.endswith('/sql.c')]
    subprocess.run([os.environ.get('CC', 'cc'), '-std=c11', '-O2', '-ffp-contract=off', '-I' + os.path.join(TOP, 'src'), '-o', cli,
                    os.path.join(TOP, 'test/model/model_cli.c'), *parts, '-lm'], check=True)
    return cli


def mean(lengths):
    rows = sum(lengths[1::2])
    return sum(a * b for a, b in zip(lengths[::2], lengths[1::2])) / rows if rows else None


def observed_width(o):
    """Mean length of a row, as pg_stats tells it."""
    inserted, updated = (mean(o['input'].get(k) or []) for k in ('inserted_length', 'updated_length'))
    share = (o['input'].get('updated_pct') or 0) / 100 if inserted and updated else 0 if inserted else 1
    return (1 - share) * (inserted or 0) + share * (updated or 0)


def guessed_width(o):
    """The same where pg_stats is denied, as observed_sample() and inserted_width() guess it."""
    widths = []
    for s in (s for s in o['samples'] if s['live_rows']):
        for space, rows in ((8168 - 8192 * (100 - s['fillfactor']) / 100, s['live_rows']),
                            (8168, s['live_rows'] + (s['dead_rows'] or 0))):
            widths.append(max(24, min(2032, space / (rows / s['blocks'] + 1) - 4)))
    inserts = {t['statement_id'] for t in o['targets'] if t['command'] == 'INSERT' and t['how'] == 'top'}
    rows, wal, images = (sum(h[k] for h in o['statement_history'] if h['statement_id'] in inserts)
                         for k in ('rows', 'wal_bytes', 'wal_fpi'))
    if rows >= 100 and images <= 0.01 * rows:
        widths.append(max(24, wal / rows - 5 - 84 * o['input']['indexes']))
    return min(widths, default=None)


def mirrored(o, width=observed_width):
    """An observation as a mirror would make it: of what pages show, only rows, blocks and the mean length of a row."""
    i = {k: v for k, v in o['input'].items() if not k.startswith(PAGES)}
    length = width(o)
    if length and i.get('live_rows'):
        i.update(inserted_length=[8 * math.ceil(length / 8), i['live_rows']], rows_per_page=i['live_rows'] / i['blocks'])
    return dict(o, input=i)


def replay_mirror(path=FILE, *names):
    replay(path, *names, seen=mirrored)


def replay_monitor(path=FILE, *names):
    replay(path, *names, seen=lambda o: dict(o, input=o['mirror']) if 'mirror' in o else mirrored(o, guessed_width))


def said(path=FILE, *names):
    """What each server said, by the model of its day."""
    from report import judged, report
    report([judged(*pair(dict(o, curve=None))) for o in load(path) if not names or o['name'] in names])


def replay(path=FILE, *names, seen=lambda o: o):
    from report import judged, replayed, report
    begun = time.monotonic()
    observations = [seen(o) for o in load(path) if not names or o['name'] in names]
    with tempfile.TemporaryDirectory() as folder:
        cli = os.environ.get('MODEL_CLI') or compiled(folder)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            replays = list(pool.map(lambda o: replayed(cli, o), observations))
    report([judged(*pair(o)) for o in replays])
    print(f'\n{len(replays)} observations in {time.monotonic() - begun:.0f} s', file=sys.stderr)
