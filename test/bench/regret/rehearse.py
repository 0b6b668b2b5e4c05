#!/usr/bin/env python3
"""Rehearsals of the regret bench's workloads: does a rehearsed table have the HOT share of the original?

usage: rehearse.py NAME ...      after regret.py truth and observe of these, in the same WORK

For each workload the model runs again on the stored evidence, ff_rehearse gets a document with the workload that
represents its prediction, and its first run is made at the fillfactor of the table, with laps of SECONDS (default 4).  The line has the HOT share of the original's last quarter; of the rehearsed table when its rows were
updated as often, and once settled; the model's prediction of that; and the differences in points.
"""
import glob
import json
import math
import os
import re
import signal
import subprocess
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import mixture  # noqa: E402
from cluster import BIN, DATA, PORT, WORK, Cluster, kept, prepare  # noqa: E402
from regret import SETTINGS, expand  # noqa: E402

SECONDS = os.environ.get('SECONDS', '4')
LIMIT_S = 300


PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../../rehearsal/ff_rehearse')


def document(c, o):
    """What ff_rehearse needs, rows by which its table grows with each update, and the settled HOT share predicted."""
    table = o['mixture']['table']
    c.sql(mixture.setup(o['mixture'], o['fillfactor']) + "\nANALYZE t; CREATE EXTENSION fillfactor_advisor;")
    c.sql("CREATE TABLE fit AS SELECT m.* FROM json_to_record(ff_internal.model(jsonb_populate_record(NULL::ff_internal.model_input,"
          f" {mixture.quoted(json.dumps(o['input']))}), true)) m(choice ff_internal.choice, steps ff_internal.step[])")
    life = json.loads(c.sql("SELECT (f.choice).workload FROM fit f"))
    made = dict(format=1, source=dict(system_identifier='0', version=0), relation='t', rel_id=1, advised=False,
                to=100 if o['fillfactor'] < 100 else 90, workload=life, predicted={}, settings={},
                table=dict(rows=o['input']['live_rows'], row_bytes=mixture.row_bytes(table), ram_bytes=1e10,
                           indexes=1 + len(table['indexes'])), **{'from': o['fillfactor']})
    promised = c.sql("SELECT s.settled_hot_pct FROM fit f, unnest(f.steps) s"
                     f" WHERE s.fillfactor >= {o['fillfactor']} ORDER BY s.fillfactor LIMIT 1")
    grows = c.sql("SELECT sum(rate * CASE command WHEN 'insert' THEN 1 WHEN 'delete' THEN -1 ELSE 0 END)"
                  " FROM fit f, jsonb_to_recordset((f.choice).workload->'classes') c(command text, rate float8)")
    return json.dumps(made), max(0, float(grows)), float(promised or 'nan')


def first_run(c, text):
    """Updates of each row in a lap of the program's first run, and the HOT share of each lap."""
    path = os.path.join(WORK, 'rehearsal.json')
    with open(path, 'w') as f:
        f.write(text + '\n')
    c.sql('CREATE DATABASE scratch')
    env = dict({k: v for k, v in os.environ.items() if not k.startswith('PG')}, PATH=BIN + ':' + os.environ['PATH'],
               PGHOST=WORK, PGPORT=PORT, PGUSER='postgres', PGDATABASE='scratch')
    p = subprocess.Popen([PROGRAM, '--short', '--seconds=' + SECONDS, path], env=env, stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE, text=True, start_new_session=True)
    late = threading.Timer(LIMIT_S, os.killpg, (p.pid, signal.SIGTERM))
    late.start()
    said = ''
    try:
        for line in p.stderr:
            said += line
            if line.startswith(('left out', 'WARNING', 'error')):
                print(line, end='', file=sys.stderr, flush=True)
            found = re.match(r'pair 0, A1: .* HOT by lap ([\d. ]+) %', line)
            if found:
                rows, updates = re.search(r'^(\d+) rows of .*?, (\d+) updates in a lap', said, re.M).groups()
                # dots only show progress
                return int(updates) / int(rows), [float(hot) for hot in found[1].split() if hot != '.']
        raise RuntimeError(said)
    finally:
        late.cancel()
        p.send_signal(signal.SIGTERM)
        p.communicate()


def ages(updates, rows, new):
    """Updates of a row that exists, before and after each time; by updates and new rows in each time, rows at first."""
    at = [0]
    for u, n in zip(updates, new):
        at.append(at[-1] + (u / n * math.log(1 + n / rows) if n > 0 else u / rows))
        rows += n
    return at


def as_old(t, original, a_lap, laps, grows):
    """HOT share of the laps in which a row was updated as often as in the original's last quarter."""
    quarters = original['before'] + original['quarters']
    deletes = any(c['command'] == 'delete' for c in t['mixture']['classes'])
    *_, begin, end = ages([q['updates'] for q in quarters], t['mixture']['table']['rows'],
                          [0 if deletes else q['inserts'] for q in quarters])
    at = ages([a_lap] * len(laps), 1, [a_lap * grows] * len(laps))
    # after the last lap all is like in it
    at[-1] = math.inf
    spans = list(zip(at, at[1:]))
    return sum(hot * max(0, min(end, b) - max(begin, a)) for hot, (a, b) in zip(laps, spans)) / (end - begin)


def rehearse(path):
    with open(path) as f:
        o = json.load(f)
    t = kept(f"{o['name']}-{o['fillfactor']}.truth.json")
    original = next((r for r in t['runs'] if r['way'] == 'keep'), None) if t else None
    if 'table' not in (o['mixture'] or {}) or not original or original['hot_pct'] is None:
        return None
    c = Cluster(settings=SETTINGS)
    try:
        text, grows, promised = document(c, o)
        a_lap, laps = first_run(c, text)
    finally:
        c.stop()
    hot, then = original['hot_pct'], as_old(t, original, a_lap, laps, grows)
    print(f"| {o['name']} | {o['fillfactor']} | {hot:.1f} | {then:.1f} | {laps[-1]:.1f} | {promised:.1f} | {len(laps)} |"
          f" {then - hot:+.1f} | {laps[-1] - hot:+.1f} | {laps[-1] - promised:+.1f} |", flush=True)
    return abs(then - hot), abs(laps[-1] - hot), abs(laps[-1] - promised)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    prepare()
    print("| workload | at | original | rehearsed as old | settled | model | laps | as old - original | settled - original"
          " | settled - model |")
    print("| --- " + "| ---: " * 9 + "|", flush=True)
    off = []
    for name in expand(sys.argv[1:]):
        for path in sorted(glob.glob(os.path.join(DATA, name + '-*.observe.json'))):
            try:
                off.append(rehearse(path))
            except RuntimeError as e:
                print(f'{name}: {e}', file=sys.stderr, flush=True)
    off = [o for o in off if o]
    if not off:
        sys.exit('nothing was rehearsed')
    mean = [sum(column) / len(off) for column in zip(*off)]
    print(f"{len(off)} workloads, points off on average: as old {mean[0]:.1f} from the original's, settled {mean[1]:.1f}; settled"
          f" {mean[2]:.1f} from the model's")


if __name__ == '__main__':
    main()
