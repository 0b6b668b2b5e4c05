#!/usr/bin/env python3
"""The heap twin against a real server, the true lifecycle given.

Each workload is run by a PL/pgSQL procedure that commits every transaction, on
tables loaded at each fillfactor; the HOT share, moved share and pages of its
second half are set beside the twin's.  Nothing here is fitted.

usage: twin_reality.py TWIN_CLI [workload ...]      (PGHOST, PGPORT as for psql)
"""
import subprocess
import sys

FILLFACTORS = (100, 90, 80, 70, 60, 50)

# One row: a header of 24 bytes, id and n, and the padding's varlena.
# pad bytes -> tuple length (header 24, two int4, 1 or 4 byte varlena header)
def width(pad):
    return (24 + 8 + (pad + 1 if pad < 127 else pad + 4) + 7) // 8 * 8


WORKLOADS = {
    # name: (setup rows, pad, body of one transaction, transactions a half, vacuums a half, twin)
    'uniform': dict(rows=20000, pad=100, half=30000, vacuums=2, upd=1,
        body="k := 1 + floor(random() * 20000); UPDATE t SET n = n + 1 WHERE id = k",
        twin=dict()),
    'wide': dict(rows=800, pad=2400, half=1600, vacuums=2, upd=1,
        body="k := 1 + floor(random() * 800); UPDATE t SET n = n + 1 WHERE id = k",
        twin=dict()),
    'orders': dict(rows=0, pad=100, half=8000, vacuums=2, upd=3, ins=1,
        body="INSERT INTO t VALUES (i, 0, p); COMMIT;"
             "k := i - floor(random() * least(300, i)); UPDATE t SET n = n + 1 WHERE id = k; COMMIT;"
             "k := i - floor(random() * least(300, i)); UPDATE t SET n = n + 1 WHERE id = k; COMMIT;"
             "k := i - floor(random() * least(300, i)); UPDATE t SET n = n + 1 WHERE id = k",
        twin=dict(fresh_share=1, fresh_distance=300)),
    'jobs': dict(rows=0, pad=60, half=16, vacuums=2, upd=2000, ins=1000,
        body="INSERT INTO t SELECT g, 0, p FROM generate_series(i * 1000, i * 1000 + 999) g; COMMIT;"
             "UPDATE t SET n = n + 1 WHERE id BETWEEN i * 1000 AND i * 1000 + 999; COMMIT;"
             "UPDATE t SET n = n + 1 WHERE id BETWEEN i * 1000 AND i * 1000 + 999",
        twin=dict(insert_rows=1000, update_rows=1000, fresh_share=1, fresh_distance=1000)),
    'groups': dict(rows=20000, pad=100, half=800, vacuums=4, upd=50,
        body="k := floor(random() * 400) * 50; UPDATE t SET n = n + 1 WHERE id BETWEEN k + 1 AND k + 50",
        twin=dict(update_rows=50)),
    'growing': dict(rows=20000, pad=20, half=15000, vacuums=2, upd=1,
        body="k := 1 + floor(random() * 20000); UPDATE t SET n = n + 1, pad = left(pad || repeat('x', 40), 180) WHERE id = k",
        twin=dict(update_len=216, grow_updates=4)),
    'queue': dict(rows=5000, pad=100, half=15000, vacuums=4, upd=1, ins=1, dele=1,
        body="INSERT INTO t VALUES (5000 + i, 0, p); COMMIT;"
             "k := 5000 + i - floor(random() * 100); UPDATE t SET n = n + 1 WHERE id = k; COMMIT;"
             "DELETE FROM t WHERE id = i",
        twin=dict(fresh_share=1, fresh_distance=100)),
    'zipf': dict(rows=20000, pad=100, half=30000, vacuums=2, upd=1,
        body="k := floor(power(20000, random())); UPDATE t SET n = n + 1 WHERE id = k",
        twin=dict(skew=1)),
    'indexed': dict(rows=20000, pad=100, half=30000, vacuums=2, upd=1, index=True,
        body="IF random() < 0.5 THEN k := 1 + floor(random() * 20000); UPDATE t SET n = n + 1 WHERE id = k;"
             "ELSE k := 1 + floor(random() * 20000); UPDATE t SET pad = pad WHERE id = k; END IF",
        twin=dict(hot_eligible=0.5)),
    'held': dict(rows=10000, pad=100, half=30000, vacuums=2, upd=1, hold=7500,
        body="k := 1 + floor(random() * 10000); UPDATE t SET n = n + 1 WHERE id = k",
        twin=dict(held=7500, held_share=1)),
}


def psql(sql, **kw):
    r = subprocess.run(['psql', '-XAtq', '-v', 'ON_ERROR_STOP=1'], input=sql,
                       capture_output=True, text=True, **kw)
    if r.returncode:
        sys.exit(r.stderr + sql)
    return r.stdout.strip()


class Snapshot:
    """A session with a repeatable-read snapshot."""
    def __init__(self):
        self.p = subprocess.Popen(['psql', '-XAtq'], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def take(self):
        self.p.stdin.write("COMMIT;BEGIN ISOLATION LEVEL REPEATABLE READ;SELECT txid_current_snapshot() IS NULL;\n")
        self.p.stdin.flush()
        self.p.stdout.readline()

    def close(self):
        self.p.stdin.close()
        self.p.wait()


def real(name, w, ff):
    pad = w['pad']
    psql(f"""
SET client_min_messages = warning; DROP TABLE IF EXISTS t;
CREATE TABLE t (id int PRIMARY KEY, n int, pad text) WITH (fillfactor = {ff}, autovacuum_enabled = off);
ALTER TABLE t ALTER pad SET STORAGE PLAIN;
INSERT INTO t SELECT g, 0, repeat('p', {pad}) FROM generate_series(1, {w['rows']}) g;
{'CREATE INDEX ON t (n);' if w.get('index') else ''}
VACUUM ANALYZE t;
CREATE OR REPLACE PROCEDURE w(a int, b int) LANGUAGE plpgsql AS $$
DECLARE p text := repeat('p', {pad}); k int;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', false);
  PERFORM set_config('enable_seqscan', 'off', false);
  FOR i IN a .. b LOOP
    {w['body']}; COMMIT;
  END LOOP;
END $$;""")
    stat = "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 't'"
    chunk = w['half'] // w['vacuums']
    at = 1
    marks = []
    snap = Snapshot() if w.get('hold') else None
    for half in range(2):
        for v in range(w['vacuums']):
            end = at + chunk
            while at < end:
                step = min(end - at, w['hold']) if snap else chunk
                if snap:
                    snap.take()
                psql(f"CALL w({at}, {at + step - 1})")
                at += step
            psql("VACUUM t")
        marks.append([int(x) for x in psql("SELECT pg_stat_force_next_flush(); " + stat).split('\n')[-1].split('|')])
    if snap:
        snap.close()
    u = marks[1][0] - marks[0][0]
    h = marks[1][1] - marks[0][1]
    return 100 * h / u, int(psql("SELECT pg_relation_size('t') / 8192"))


def twin(cli, w):
    rows, upd = w['rows'], w['upd']
    live = rows or w.get('ins', 0) * w['half'] * 2
    a = dict(insert_len=width(w['pad']), update_len=width(w['pad']), lag=0,
             start_rows=rows, inserts_per_update=w.get('ins', 0) / upd,
             deletes_per_update=w.get('dele', 0) / upd,
             warmup=w['half'] * upd, measure=w['half'] * upd, vacuum_share=0,
             vacuum_gap=w['half'] * upd / w['vacuums'] / live)
    a.update(w['twin'])
    out = subprocess.run([cli, 'ff=' + ','.join(map(str, FILLFACTORS))] +
                         [f'{k}={v}' for k, v in a.items()],
                         capture_output=True, text=True, check=True).stdout
    res = []
    for line in out.splitlines():
        f = dict(x.split('=') for x in line.split() if '=' in x)
        res.append((float(f['hot']), int(f['pages']), 'truncated' in line))
    return res


def main():
    cli = sys.argv[1]
    names = sys.argv[2:] or list(WORKLOADS)
    worst, n, total = 0, 0, 0
    print(f"{'workload':10s} {'ff':>4s} {'HOT %':>7s} {'twin':>7s} {'off':>6s} {'pages':>7s} {'twin':>7s}")
    for name in names:
        w = WORKLOADS[name]
        t = twin(cli, w)
        for ff, (hot, pages, cut) in zip(FILLFACTORS, t):
            rh, rp = real(name, w, ff)
            print(f"{name:10s} {ff:4d} {rh:7.1f} {hot:7.1f} {hot - rh:6.1f} {rp:7d} {pages:7d}"
                  f"{' truncated' if cut else ''}", flush=True)
            worst = max(worst, abs(hot - rh))
            total += abs(hot - rh)
            n += 1
    print(f"mean {total / n:.2f}, worst {worst:.1f} points")


main()
