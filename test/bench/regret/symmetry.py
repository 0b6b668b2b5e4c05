"""Symmetries on stored evidence: what must not change the advice, and how often it does.

slower: the same work, ten times slower; cut: one of ten equal partitions; cold: so many rows in front that nobody
touches.  Each keeps the step within one, the HOT share within 5 points and WAL per update within 15 % (slower: the
step alone, because there are more checkpoints), and rows in front bring no rewrite.  dearer: the step is changed, and
the former one would cost over 2 % more.
"""
import math
import os
import re
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

import stored

# totals of the work and of the table, which its partitions share
SHARED = ('earlier_updated', 'blocks', 'live_rows', 'seen_hot', 'seen_same_page', 'seen_moved', 'held_from', 'held_until',
          'updated_since', 'before_updated', 'index_bytes', 'ram_bytes', 'index_scans',
          'blocks_fetched', 'vacuum_threshold')
SHARED_LISTS = ('interval_inserted', 'interval_updated', 'interval_hot', 'interval_newpage', 'interval_deleted',
                'statement_rows', 'statement_wal_bytes')
WHOLE, MIN_UPDATES = 0.2, 500    # share of the rows; setting of the model
ENTRY = 20               # bytes of an index entry of a cold row, about
NEAR_HOT, NEAR_WAL, NEAR_COST = 5, 1.15, 1.02


def slower(i):
    return dict(i, interval_seconds=[10 * s for s in i['interval_seconds']], observed_s=10 * i['observed_s'])


def cut(i):
    """A statement comes to one partition; one for much of the table comes to all of them."""
    if sum(i['interval_updated']) < 10 * MIN_UPDATES:
        return None
    whole = [n / max(c or 1, 1) >= WHOLE * i['live_rows'] for c, n in zip(i.get('statement_calls') or [], i.get('statement_rows') or [])]
    return dict(i, **{k: i[k] / 10 for k in SHARED if i.get(k) is not None},
                **{k: [v if v is None else v / 10 for v in i[k]] for k in SHARED_LISTS if i.get(k)},
                statement_calls=[c if w else c / 10 for c, w in zip(i.get('statement_calls') or [], whole)])


def cold(i, rows):
    """Rows of the same lengths on full pages in front, never updated.  Sequential scans read them, too; vacuum comes as often
    as before, as its scale factor is set for such a table; what is recently dead is so for fewer of the rows."""
    lengths, updated = i.get('inserted_length'), i.get('updated_length')
    if not lengths or not i.get('rows_per_page'):
        return None
    length = 8 * math.ceil(stored.mean(lengths) / 8)
    on_page = (8168 - 8192 * (100 - i['fillfactor']) // 100) // (length + 4)
    live, pages = i['live_rows'], rows / on_page
    changed = live * (i.get('updated_pct') or 0) / 100

    def times(bins, k):
        return bins and [v if n % 2 == 0 else k * v for n, v in enumerate(bins)]
    return dict(i, live_rows=live + rows, blocks=i['blocks'] + pages, index_bytes=i['index_bytes'] + rows * ENTRY * i['indexes'],
                inserted_length=times(lengths, (live - changed + rows) / sum(lengths[1::2])),
                updated_length=updated and times(updated, changed / sum(updated[1::2])),
                updated_pct=100 * changed / (live + rows), rows_per_page=(live + rows) / (live / i['rows_per_page'] + pages),
                rows_per_page_max=max(i.get('rows_per_page_max') or 0, on_page),
                blocks_fetched=i['blocks_fetched'] + i['seq_scans'] * pages,
                vacuum_scale=i['vacuum_scale'] * live / (live + rows),
                recent_dead=i.get('recent_dead') and i['recent_dead'] * live / (live + rows))


CHANGES = {'slower': slower, 'cut': cut, 'cold 1e6': lambda i: cold(i, 1e6), 'cold 1e9': lambda i: cold(i, 1e9)}


def asked(cli, evidence):
    """The decision of model_cli.c: action, fillfactor, and its curve {fillfactor: (HOT if set, WAL if set, costs)}."""
    def text(v):
        return ' '.join(map(text, v)) if isinstance(v, list) else 'nan' if v is None else str(v)
    out = subprocess.run([cli], input=''.join(f'{k} {text(v)}\n' for k, v in evidence.items() if v is not None),
                         capture_output=True, text=True, check=True).stdout
    curve = {int(f): (float(hot), float(wal), {'set': float(set_), 'rewrite': float(rewrite)}) for f, set_, rewrite, hot, wal in
             re.findall(r'^step (\d+) .* set (\S+) rewrite (\S+) .*set_hot (\S+) set_wal (\S+)', out, re.M)}
    action, step = re.search(r'^decision (\w+) at (\d+)', out, re.M).groups()
    return action, int(step), curve


def broken(name, at, before, after):
    """What an allowed change of the evidence changed, of what it must not."""
    action, step, curve = before
    steps = sorted(curve)
    place = {f: min(range(len(steps)), key=lambda k: abs(steps[k] - f)) for f in (step, after[1])}
    found = ['step'] if abs(place[step] - place[after[1]]) > 1 else []
    way = 'rewrite' if after[0] == 'rewrite' else 'set'
    former, now = (after[2][min((f for f in after[2] if f >= s), default=max(after[2]))][2][way] for s in (step, after[1]))
    if found and former > NEAR_COST * now:
        found.append('dearer')
    pairs = [tuple(c[min((f for f in c if f >= s), default=max(c))] for c in (curve, after[2])) for s in (at, step)]
    if name != 'slower' and any(abs(a[0] - b[0]) > NEAR_HOT for a, b in pairs):
        found.append('HOT')
    if name != 'slower' and any(abs(math.log(max(b[1], 1) / max(a[1], 1))) > math.log(NEAR_WAL) for a, b in pairs):
        found.append('WAL')
    if name.startswith('cold') and after[0] == 'rewrite' != action:
        found.append('rewrite')
    return found, pairs


def symmetry(path=stored.FILE, *names):
    observations = [o for o in stored.load(path) if (not names or o['name'] in names) and not o['mixture']['table']['toast']]
    counts = {}

    def changed(o):
        before = asked(cli, o['input'])
        return o, before, [(n, asked(cli, i)) for n, i in ((n, c(o['input'])) for n, c in CHANGES.items()) if i]

    with tempfile.TemporaryDirectory() as folder:
        cli = os.environ.get('MODEL_CLI') or stored.compiled(folder)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for o, before, all_after in pool.map(changed, observations):
                for name, after in all_after:
                    found, pairs = broken(name, o['fillfactor'], before, after)
                    for what in ('n', *found):
                        counts.setdefault(name, dict(n=0, step=0, dearer=0, HOT=0, WAL=0, rewrite=0))[what] += 1
                    if found:
                        print(f"{o['name']} at {o['fillfactor']} {name:8s}: {before[0]} {before[1]} -> {after[0]} {after[1]},"
                              + ','.join(f' HOT {a[0]:.0f} -> {b[0]:.0f} WAL {a[1]:.0f} -> {b[1]:.0f}' for a, b in pairs)
                              + f" ({', '.join(found)})", flush=True)
    for name, n in counts.items():
        print(f"{name}: {n['n']} observations; changed: " + ', '.join(f'{k} {v}' for k, v in n.items() if k != 'n'))
    return counts
