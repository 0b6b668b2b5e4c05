#!/usr/bin/env python3
"""Rehearsals of the regret bench's workloads: does a rehearsed table have the HOT share of the original?

usage: rehearse.py NAME ...      after regret.py truth and observe of these, in the same WORK

For each workload the model is asked anew with the evidence kept, the script of ff_rehearsal() is made of the
likeliest life that it finds, and its first run is made at the fillfactor of the table, with laps of SECONDS
(default 2).  The line: HOT share of the original's last half, of the rehearsed table, what the model takes
it to be once settled, and the differences, points.
"""
import glob
import json
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import mixture  # noqa: E402
from cluster import BIN, DATA, PORT, WORK, Cluster, kept, prepare  # noqa: E402
from regret import SETTINGS, expand  # noqa: E402

SECONDS = os.environ.get('SECONDS', '2')
LIMIT_S = 300


def script(c, o):
    """The script, and the HOT share that the model promises once settled."""
    table = o['mixture']['table']
    c.sql(mixture.setup(o['mixture'], o['fillfactor']) + "\nANALYZE t; CREATE EXTENSION fillfactor_advisor;")
    made = dict(format=1, system_identifier='0', schema='public', table='t', to=100 if o['fillfactor'] < 100 else 90,
                table_rows=o['input']['live_rows'], ram_bytes=1e10, ram_ratio=0, updates_per_s=1, row_bytes=mixture.row_bytes(table),
                **{'from': o['fillfactor']})
    c.sql("CREATE TABLE fit AS SELECT m.* FROM ff_internal.model(jsonb_populate_record(NULL::ff_internal.model_input,"
          f" {mixture.quoted(json.dumps(o['input']))}), true) m")
    text = c.sql("SELECT ff_internal.rehearsal('t'::regclass, (f.choice).lives->0,"
                 f" {mixture.quoted(json.dumps(made))}::jsonb || jsonb_build_object('relid', 't'::regclass::oid::bigint), '{{}}') FROM fit f")
    promised = c.sql("SELECT s.settled_hot_pct FROM fit f, unnest(f.steps) s"
                     f" WHERE s.fillfactor >= {o['fillfactor']} ORDER BY s.fillfactor LIMIT 1")
    return text, float(promised or 'nan')


def first_run(c, text):
    """HOT share of the script's first run."""
    path = os.path.join(WORK, 'rehearsal.sh')
    with open(path, 'w') as f:
        f.write(text + '\n')
    c.sql('CREATE DATABASE scratch')
    env = dict({k: v for k, v in os.environ.items() if not k.startswith('PG')}, PATH=BIN + ':' + os.environ['PATH'],
               PGHOST=WORK, PGPORT=PORT, PGUSER='postgres', PGDATABASE='scratch')
    p = subprocess.Popen(['sh', path, '--short', '--seconds=' + SECONDS], env=env, stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE, text=True)
    said, end = '', time.monotonic() + LIMIT_S
    try:
        for line in p.stderr:
            said += line
            found = re.match(r'pair 0, A1: .* lap (\d), HOT ([\d.]+) %', line)
            if found:
                return float(found[2]), int(found[1])
            if time.monotonic() > end:
                break
        raise RuntimeError(said)
    finally:
        p.send_signal(signal.SIGINT)
        p.communicate()


def rehearse(path):
    with open(path) as f:
        o = json.load(f)
    t = kept(f"{o['name']}-{o['fillfactor']}.truth.json")
    original = [r['hot_pct'] for r in t['runs'] if r['way'] == 'keep']
    if 'table' not in (o['mixture'] or {}) or not original or original[0] is None:
        return None
    c = Cluster(settings=SETTINGS)
    try:
        text, promised = script(c, o)
        rehearsed, laps = first_run(c, text)
    finally:
        c.stop()
    print(f"| {o['name']} | {o['fillfactor']} | {original[0]:.1f} | {rehearsed:.1f} | {promised:.1f} | {laps} |"
          f" {rehearsed - original[0]:+.1f} | {rehearsed - promised:+.1f} |", flush=True)
    return abs(rehearsed - original[0]), abs(rehearsed - promised)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    prepare()
    print("| workload | at | original | rehearsed | model | laps | rehearsed - original | rehearsed - model |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |", flush=True)
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
    print(f"{len(off)} workloads: from the original's by {sum(o[0] for o in off) / len(off):.1f} points on average,"
          f" {max(o[0] for o in off):.1f} at most; from the model's by {sum(o[1] for o in off) / len(off):.1f} on average")


if __name__ == '__main__':
    main()
