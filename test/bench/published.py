#!/usr/bin/env python3
"""What is published about fillfactor, in miniature, and what ff_advise() would have said.

usage: published.py run    [--scale X] [--repeats N] [experiment ...]   measure, ask for advice
       published.py load   [--scale X] [experiment ...]                 only load the data directories
       published.py report [--scale X]                                  Markdown

experiments:
  ram      pgbench -N, the tables inside the memory, 2 and 10 times as large; 100, 90, 80, 70
  settled  10 times the memory again, after one row of each page was updated; 100 against 90
  indexed  one column, indexed; a tenth of the rows gets new values; 100 against 90
  tpcb     pgbench's TPC-B at 100 to 70 in steps of 5
  single   each kind of statement alone on a table of its own, at the same steps
  tpcc     the five transactions of TPC-C, larger than memory; 100 against 75, all tables

Results are appended to WORK/published-X.csv and WORK/published-advice-X.csv
(default WORK: /tmp/ff-published); what is there is not run again, so a stopped
bench goes on where it stopped.  Loaded data directories are kept in WORK as
image-* (14 GB); each run starts from a copy.  --scale makes tables and runs
smaller, to try.  REPEATS (default 3): all experiments at all fillfactors in turn,
and again.

Needs PG_CONFIG's server with the extension installed and pg_stat_statements.
ram and tpcc need memory control groups (v1): the cluster may use RAM_MB, page
cache and WAL included, from its start.  For CPU time and WAL see
regret/regret.py.
"""
import argparse
import os
import re
import signal
import statistics
import sys
import time
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, 'regret'))
os.environ.setdefault('WORK', '/tmp/ff-published')
from cluster import AS_POSTGRES, BIN, PORT, WORK, Cluster, append, prepare, read, run  # noqa: E402

RAM_MB = 128
STEPS5 = (100, 95, 90, 85, 80, 75, 70)
CONNECT = ['-h', WORK, '-p', PORT, '-U', 'postgres', 'postgres']

# Files are synchronized, only not at each commit; new WAL segments are not
# written twice, as recycled ones are not.
LIMITED = "fsync = on\nwal_init_zero = off\n"

RUNS = ('experiment', 'part', 'fillfactor', 'repeat', 'tx', 'seconds', 'tps', 'cpu_us', 'wal', 'updates', 'hot_pct',
        'heap_mb', 'index_mb', 'loaded_mb', 'loaded_used_mb', 'loaded_zlib_mb', 'used_mb', 'zlib_mb')
ADVICE = ('experiment', 'part', 'storage_weight', 'relation', 'fillfactor', 'recommended', 'action', 'cause', 'confidence',
          'hot_pct', 'predicted', 'reason')


class Experiment:
    """parts: what is measured, each on a fresh copy of the image, or, with together, all
    on one copy, as each has a table of its own.  files_measured: the bytes in the pages, too."""

    fillfactors = (100,)
    parts = ('',)
    together = False
    ram = None
    settings = ''
    files_measured = False

    def __init__(self, scale):
        self.scale = scale

    def image(self, part, ff):
        return f"image-{self.scale:g}-{type(self).__name__}-{part}-{ff}"

    def load(self, c, part, ff):
        raise NotImplementedError

    def tables(self, part):
        raise NotImplementedError

    def warm(self, c, part):
        """Pages into the cache, as far as they go."""

    def work(self, part, number, advice):
        """pgbench's arguments of one run; number: how many came before on this cluster;
        advice: half a run.  ('SCRIPT', text) stands for a script of that text."""
        raise NotImplementedError


def read_all(c, table, key, other):
    c.sql(f"SELECT count({other}) FROM {table}; SET enable_seqscan = off; SET enable_bitmapscan = off;"
          f"SELECT count({key}) FROM {table}")


class Pgbench(Experiment):
    """pgbench's own tables."""

    def pgbench_scale(self, part):
        raise NotImplementedError

    def load(self, c, part, ff):
        scale = max(1, round(self.pgbench_scale(part) * self.scale))
        run([BIN + '/pgbench', '-i', '-q', '-F', str(ff), '-s', str(scale), *CONNECT])

    def tables(self, part):
        return ('pgbench_accounts', 'pgbench_branches', 'pgbench_tellers')

    def warm(self, c, part):
        read_all(c, 'pgbench_accounts', 'aid', 'abalance')


class ram(Pgbench):
    fillfactors = (100, 90, 80, 70)
    parts = ('inside', '2x', '10x')
    ram = RAM_MB
    settings = LIMITED
    # a unit of pgbench's scale is 15 MB at 100
    scales = {'inside': 3, '2x': 17, '10x': 85}
    # transactions of each of four clients: a fixed number, so that WAL, HOT share and size
    # do not depend on what else the machine does
    tx = {'inside': 12500, '2x': 15000, '10x': 18000}

    def pgbench_scale(self, part):
        return self.scales[part]

    def tables(self, part):
        return ('pgbench_accounts',)

    def work(self, part, number, advice):
        return ['-N', '-c', '4', '-t', str(max(100, int(self.tx[part] * self.scale / (2 if advice else 1))))]


class settled(ram):
    fillfactors = (100, 90)
    parts = ('10x',)

    def load(self, c, part, ff):
        super().load(c, part, ff)
        # a row of each page, as 61 fill one at 100: full pages shed it, the others have room
        c.sql("UPDATE pgbench_accounts SET abalance = 1 WHERE aid % 61 = 0")


class indexed(Experiment):
    fillfactors = (100, 90)
    parts = ('update',)

    def load(self, c, part, ff):
        c.sql(f"CREATE TABLE t (v integer) WITH (fillfactor = {ff});"
              f"INSERT INTO t SELECT generate_series(1, {int(4000000 * self.scale)}); CREATE INDEX ON t (v);")

    def tables(self, part):
        return ('t',)

    def warm(self, c, part):
        read_all(c, 't', 'v', '*')

    def work(self, part, number, advice):
        # the second time, other rows: those that were not changed
        return ['-c', '1', '-t', '1', ('SCRIPT', f"UPDATE t SET v = -v WHERE v % 10 = {number};\n")]


class tpcb(Pgbench):
    fillfactors = STEPS5
    parts = ('tpcb',)

    def pgbench_scale(self, part):
        return 10

    def work(self, part, number, advice):
        return ['-b', 'tpcb-like', '-c', '2', '-t', str(max(100, int(20000 * self.scale / (2 if advice else 1))))]


class single(Experiment):
    fillfactors = STEPS5
    together = True
    # statistics and vacuum of one table would run beside the next one's work
    settings = 'autovacuum = off\n'
    # :n counts both clients' transactions, from 1; with delete_insert each client has keys of its own
    scripts = {
        'select': "\\set a random(1, :rows)\nSELECT abalance FROM t_select WHERE aid = :a;\n",
        'insert': "\\set a :rows + :n\nINSERT INTO t_insert VALUES (:a, 1, 0, '');\n",
        'update_hot': "\\set a random(1, :rows)\nUPDATE t_update_hot SET abalance = abalance + 1 WHERE aid = :a;\n",
        'update_not_hot': "\\set a random(1, :rows)\nUPDATE t_update_not_hot SET abalance = abalance + 1 WHERE aid = :a;\n",
        'delete': "\\set a permute(:n, :rows) + 1\nDELETE FROM t_delete WHERE aid = :a;\n",
        'delete_insert': "\\set a random(0, :rows / 2 - 1) * 2 + :client_id + 1\nBEGIN;\n"
                         "DELETE FROM t_delete_insert WHERE aid = :a;\n"
                         "INSERT INTO t_delete_insert VALUES (:a, 1, 0, '');\nCOMMIT;\n",
    }
    parts = tuple(scripts)

    def image(self, part, ff):
        return super().image('', ff)

    def rows(self):
        return int(200000 * self.scale)

    def load(self, c, part, ff):
        for t in self.scripts:
            c.sql(f"CREATE TABLE t_{t} (aid integer, bid integer, abalance integer, filler char(84)) WITH (fillfactor = {ff});"
                  f"INSERT INTO t_{t} SELECT g, 1, 0, '' FROM generate_series(1, {self.rows()}) g;"
                  f"ALTER TABLE t_{t} ADD PRIMARY KEY (aid);")
        c.sql("CREATE INDEX ON t_update_not_hot (abalance)")

    def tables(self, part):
        return ('t_' + part,)

    def warm(self, c, part):
        read_all(c, 't_' + part, 'aid', 'abalance')

    def work(self, part, number, advice):
        tx = max(100, int(12000 * self.scale / (2 if advice else 1)))
        return ['-c', '2', '-t', str(tx), '-D', f'rows={self.rows()}', '-D', f'i={number * tx}',
                ('SCRIPT', "\\set i :i + 1\n\\set n :i * 2 + :client_id - 1\n" + self.scripts[part])]


class tpcc(Experiment):
    fillfactors = (100, 75)
    parts = ('tpcc',)
    ram = RAM_MB
    settings = LIMITED
    files_measured = True
    tx = 7000
    mix = {'new_order': 45, 'payment': 43, 'order_status': 4, 'delivery': 4, 'stock_level': 4}

    def size(self):
        return dict(warehouses=4 if self.scale >= 1 else 1, items=max(1000, int(100000 * min(1, self.scale))),
                    customers=max(1000, int(3000 * min(1, self.scale))))

    def load(self, c, part, ff):
        text = ''.join(f'\\set {k} {v}\n' for k, v in self.size().items()) + f'\\set ff {ff}\n'
        for name in ('load.sql', 'transactions.sql'):
            with open(os.path.join(HERE, 'tpcc', name)) as f:
                text += f.read()
        c.sql(text)

    def tables(self, part):
        return ('warehouse', 'district', 'customer', 'history', 'new_order', 'orders', 'order_line', 'item', 'stock')

    def work(self, part, number, advice):
        args = ['-c', '4', '-t', str(max(100, int(self.tx * self.scale / (2 if advice else 1))))]
        for k, v in self.size().items():
            args += ['-D', f'{k}={v}']
        for name, weight in self.mix.items():
            args += ['-f', os.path.join(HERE, 'tpcc', name + '.pgbench') + f'@{weight}']
        return args


EXPERIMENTS = {e.__name__: e for e in (ram, settled, indexed, tpcb, single, tpcc)}


def drop_cache(folder):
    """Files out of the page cache: what is there already would cost a control group no memory."""
    os.sync()
    for path, _, names in os.walk(folder):
        for name in names:
            fd = os.open(os.path.join(path, name), os.O_RDONLY)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)


def start(e, part, ff, preload=''):
    """A cluster of e's on a copy of the image, made first where there is none yet."""
    image = e.image(part, ff)
    if not os.path.exists(os.path.join(WORK, image)):
        c = Cluster()
        try:
            e.load(c, part, ff)
            c.sql('VACUUM ANALYZE; CHECKPOINT')
        except BaseException:
            c.stop()
            raise
        c.stop('fast')
        # the WAL of loading is not copied each time
        run(AS_POSTGRES + [BIN + '/pg_resetwal', '-D', c.dir])
        os.rename(c.dir, os.path.join(WORK, image))
    c = Cluster(e.ram, preload, e.settings, image, before=drop_cache if e.ram else None)
    if e.ram and not c.limited:
        c.stop()
        raise RuntimeError('no memory control group (v1): the experiments ram and tpcc cannot be run here')
    return c


def names(tables):
    return '(' + ', '.join(f"'{t}'" for t in tables) + ')'


def counters(c, tables):
    """WAL position in bytes, updates, HOT updates."""
    v = c.sql("SELECT pg_stat_force_next_flush(); SELECT pg_current_wal_insert_lsn() - '0/0', sum(n_tup_upd), sum(n_tup_hot_upd)"
              f" FROM pg_stat_user_tables WHERE relname IN {names(tables)}").split('\n')[-1].split('|')
    return float(v[0]), int(v[1]), int(v[2])


def pgbench(e, part, number=0, advice=False):
    """Runs it; transactions and transactions per second."""
    args = []
    for a in e.work(part, number, advice):
        if isinstance(a, tuple):
            path = os.path.join(WORK, 'script.sql')
            with open(path, 'w') as f:
                f.write(a[1])
            args += ['-f', path]
        else:
            args.append(a)
    out = run([BIN + '/pgbench', '-n', '-M', 'prepared', '-j', '1', *args, *CONNECT])
    if re.search(r'failed transactions: [1-9]', out):
        raise RuntimeError(out)
    return int(re.search(r'actually processed: (\d+)', out)[1]), float(re.search(r'^tps = ([0-9.]+)', out, re.M)[1])


def used(folder, files):
    """MB of the files; of their pages without the unused space in the middle of each; of
    the pages compressed one by one (zlib, level 1)."""
    size = filled = packed = 0
    for name in files:
        number = 0
        while True:
            try:
                f = open(os.path.join(folder, name) + (f'.{number}' if number else ''), 'rb')
            except FileNotFoundError:
                break
            with f:
                while page := f.read(8192):
                    # pd_lower and pd_upper; a page that was never used has neither
                    lower, upper = int.from_bytes(page[12:14], 'little'), int.from_bytes(page[14:16], 'little')
                    size += len(page)
                    filled += len(page) - (upper - lower) if upper else 0
                    packed += len(zlib.compress(page, 1))
            number += 1
    return size / 2**20, filled / 2**20, packed / 2**20


def measure(e, parts, ff, storage):
    """Runs the parts on one cluster; yields the figures of each.  storage: what is in the
    files, too, where e wants that."""
    c = start(e, parts[0], ff)
    try:
        c.limit()
        for part in parts:
            tables = e.tables(part)
            e.warm(c, part)
            time.sleep(0.3)
            a = counters(c, tables)
            cpu = c.cpu()
            tx, tps = pgbench(e, part)
            cpu = c.cpu() - cpu
            time.sleep(0.3)
            b = counters(c, tables)
            size = c.sql("SELECT sum(pg_relation_size(oid)) / 2^20, sum(pg_indexes_size(oid)) / 2^20"
                         f" FROM pg_class WHERE relname IN {names(tables)}").split('|')
            m = dict(part=part, tx=tx, seconds=tx / tps, tps=tps, cpu_us=1e6 * cpu / tx,
                     wal=(b[0] - a[0]) / tx, updates=b[1] - a[1],
                     hot_pct=100 * (b[2] - a[2]) / (b[1] - a[1]) if b[1] > a[1] else '', heap_mb=size[0], index_mb=size[1])
            if e.files_measured and storage:
                files = c.sql(f"SELECT pg_relation_filepath(oid) FROM pg_class WHERE relname IN {names(tables)} UNION ALL"
                              " SELECT pg_relation_filepath(indexrelid) FROM pg_index WHERE indrelid IN"
                              f" (SELECT oid FROM pg_class WHERE relname IN {names(tables)})").split('\n')
                c.stop('fast')
                m['loaded_mb'], m['loaded_used_mb'], m['loaded_zlib_mb'] = used(os.path.join(WORK, e.image(part, ff)), files)
                _, m['used_mb'], m['zlib_mb'] = used(c.dir, files)
            yield m
    finally:
        c.stop()


def advise(e, parts):
    """Runs at 100 in two halves with three collections, then the advice for the tables concerned."""
    c = start(e, parts[0], 100, 'pg_stat_statements')
    concerned = {t: part for part in parts for t in e.tables(part)}
    rows = []
    try:
        c.limit()
        c.sql('CREATE EXTENSION pg_stat_statements; CREATE EXTENSION fillfactor_advisor')
        for part in parts:
            e.warm(c, part)
        c.sql('CALL ff_collect()')
        for number in (0, 1):
            for part in parts:
                pgbench(e, part, number, advice=True)
            time.sleep(0.3)
            c.sql('CALL ff_collect()')
        for weight in ('1', '0') if e.files_measured else ('1',):
            text = c.sql(f"SET fillfactor_advisor.storage_weight = {weight};"
                         "SELECT concat_ws(E'\\t', relation, fillfactor, recommended_fillfactor, action, cause,"
                         " round(confidence::numeric, 2), coalesce(round(hot_pct::numeric, 1)::text, ''),"
                         " coalesce(round(predicted_hot_pct::numeric, 1)::text, ''), reason) FROM ff_advise()")
            for line in text.split('\n'):
                v = line.split('\t')
                if v[0] in concerned:
                    rows.append(dict(zip(ADVICE, [type(e).__name__, concerned[v[0]], weight] + v)))
    finally:
        c.stop()
    return rows


def groups(e):
    """Which parts share a cluster."""
    return [e.parts] if e.together else [(p,) for p in e.parts]


def said(r):
    return (f"{r['part']} `{r['relation']}`" + (', storage_weight = 0' if r['storage_weight'] == '0' else '') +
            f": {r['action']} {r['fillfactor']} -> {r['recommended']} ({r['cause']}, confidence {r['confidence']}). {r['reason']}")


def bench(experiments, scale, repeats):
    runs, advice = f'published-{scale:g}.csv', f'published-advice-{scale:g}.csv'
    done = {(r['experiment'], r['part'], r['fillfactor'], r['repeat']) for r in read(runs, RUNS)}
    advised = {(r['experiment'], r['part']) for r in read(advice, ADVICE)}
    for repeat in range(repeats):
        for name in experiments:
            e = EXPERIMENTS[name](scale)
            for parts in groups(e):
                for ff in e.fillfactors:
                    todo = [p for p in parts if (name, p, str(ff), str(repeat)) not in done]
                    for m in measure(e, todo, ff, repeat == 0) if todo else ():
                        m.update(experiment=name, fillfactor=ff, repeat=repeat)
                        append(runs, RUNS, m)
                        hot = '' if m['hot_pct'] == '' else f", HOT {m['hot_pct']:.1f} %"
                        print(f"{time.strftime('%T')} {name} {m['part']} {ff}: {m['tx']} tx in {m['seconds']:.1f} s,"
                              f" {m['tps']:.0f} tps, cpu {m['cpu_us']:.1f} us, wal {m['wal']:.0f},"
                              f" {float(m['heap_mb']):.1f} + {float(m['index_mb']):.1f} MB{hot}", flush=True)
        for name in experiments if repeat == 0 else ():
            e = EXPERIMENTS[name](scale)
            for parts in groups(e):
                if (name, parts[0]) not in advised:
                    for r in advise(e, parts):
                        append(advice, ADVICE, r)
                        print(f"{time.strftime('%T')} {name} {said(r)}", flush=True)


def load(experiments, scale):
    for name in experiments:
        e = EXPERIMENTS[name](scale)
        for parts in groups(e):
            for ff in e.fillfactors:
                if not os.path.exists(os.path.join(WORK, e.image(parts[0], ff))):
                    start(e, parts[0], ff).stop()
                    print(f"{time.strftime('%T')} {e.image(parts[0], ff)}", flush=True)


def medians(rows):
    """{(part, fillfactor): {column: median}}, with the least and the most of tps and how many runs."""
    runs, out = {}, {}
    for r in rows:
        runs.setdefault((r['part'], int(r['fillfactor'])), []).append(r)
    for key, rs in runs.items():
        out[key] = {k: statistics.median(float(r[k]) for r in rs if r[k]) for k in RUNS[4:] if any(r[k] for r in rs)}
        out[key].update(low=min(float(r['tps']) for r in rs), high=max(float(r['tps']) for r in rs), runs=len(rs),
                        mb=out[key]['heap_mb'] + out[key]['index_mb'])
    return out


def change(v, base):
    return f"{100 * (v / base - 1):+.1f} %" if base else "-"


def figure(v):
    return f"{v:.0f}" if v >= 100 else f"{v:.1f}" if v >= 10 else f"{v:.2f}"


def table(head, rows):
    print('| ' + ' | '.join(head) + ' |')
    print('|' + ' ---: |' * len(head))
    for r in rows:
        print('| ' + ' | '.join(r) + ' |')
    print()


def report_parts(e, m):
    """A row for each fillfactor, a column for each part."""
    for title, key in (('CPU time, us', 'cpu_us'), ('WAL, bytes', 'wal'), ('heap and index, MB', 'mb')):
        table([title, *e.parts], [[str(ff)] + [
            figure(m[p, ff][key]) + ('' if ff == 100 else f" ({change(m[p, ff][key], m[p, 100][key])})") for p in e.parts]
            for ff in e.fillfactors if all((p, ff) in m for p in e.parts)])
    updating = [p for p in e.parts if 'hot_pct' in m[p, 100]]
    table(['HOT, %', *updating], [[str(ff)] + [f"{m[p, ff]['hot_pct']:.1f}" for p in updating]
                                  for ff in e.fillfactors if all((p, ff) in m for p in updating)])


def report_runs(e, m):
    """A row for each part and fillfactor.  cost as in regret.py: time^0.5 x WAL^0.3 x size^0.2."""
    rows = []
    for (part, ff), v in m.items():
        b = m[part, 100]
        slower = b['tps'] / v['tps'] if e.ram else v['cpu_us'] / b['cpu_us']
        cost = slower ** 0.5 * (v['wal'] / b['wal']) ** 0.3 * (v['mb'] / b['mb']) ** 0.2
        rows.append([part, str(ff), figure(v['tps']), f"{figure(v['low'])} to {figure(v['high'])}", change(v['tps'], b['tps']),
                     figure(v['cpu_us']), change(v['cpu_us'], b['cpu_us']), figure(v['wal']), change(v['wal'], b['wal']),
                     f"{v['hot_pct']:.1f}", figure(v['heap_mb']), figure(v['index_mb']), change(cost, 1)])
    table(['', 'fillfactor', 'tps', 'least to most', '', 'CPU us', '', 'WAL bytes', '', 'HOT %', 'heap MB', 'index MB', 'cost'], rows)
    if e.files_measured:
        part = e.parts[0]
        kinds = (('files as they are', 'loaded_mb', 'mb'), ('without the holes in their pages', 'loaded_used_mb', 'used_mb'),
                 ('each page compressed', 'loaded_zlib_mb', 'zlib_mb'))
        table(['heap and indexes, MB', *(f'{when}, {ff}' for when in ('loaded', 'at the end') for ff in e.fillfactors)],
              [[title, *(figure(m[part, ff][k]) + ('' if ff == 100 else f" ({change(m[part, ff][k], m[part, 100][k])})")
                         for k in keys for ff in e.fillfactors)] for title, *keys in kinds])


def report(scale):
    rows, advice = read(f'published-{scale:g}.csv', RUNS), read(f'published-advice-{scale:g}.csv', ADVICE)
    for name, e in EXPERIMENTS.items():
        m = medians([r for r in rows if r['experiment'] == name])
        if not m:
            continue
        print(f"### {name}\n\n{min(v['runs'] for v in m.values())} to {max(v['runs'] for v in m.values())} runs of each\n")
        (report_parts if e.together else report_runs)(e, m)
        for r in advice:
            if r['experiment'] == name:
                print(f"- {said(r)}")
        print()


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('what', choices=('run', 'load', 'report'))
    p.add_argument('experiments', nargs='*', metavar='experiment')
    p.add_argument('--scale', type=float, default=1.0)
    p.add_argument('--repeats', type=int, default=int(os.environ.get('REPEATS', '3')))
    a = p.parse_intermixed_args()
    unknown = set(a.experiments) - set(EXPERIMENTS)
    if unknown:
        p.error(f"no such experiment: {', '.join(sorted(unknown))}")
    # the cluster in hand is stopped also when the bench is
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    prepare()
    if a.what == 'run':
        bench(a.experiments or list(EXPERIMENTS), a.scale, a.repeats)
    elif a.what == 'load':
        load(a.experiments or list(EXPERIMENTS), a.scale)
    else:
        report(a.scale)


if __name__ == '__main__':
    main()
