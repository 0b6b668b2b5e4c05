#!/usr/bin/env python3
"""A workload as a mixture of classes: drawn from a seed, written as SQL and, by the SQL of ff_rehearse, as a pgbench script.

usage: mixture.py SEED | NAME      print a mixture as JSON, its setup, and the mixture for its pgbench script

A mixture is a dict that JSON can hold:
  table     rows loaded; widths [[bytes of padding, share of the rows], ...]; indexes (column lists, beside
            the primary key); fillfactor; toast (bytes of a value stored out of line, 0 for none)
  sessions  of pgbench
  held      share of the phases through which another session holds a snapshot
  classes   up to eight, each with the keys of CLASS

A mixture of the field (field.py) may also have:
  table     cold (rows in front that no class touches); among (k: each loaded row has k - 1 rows beside it that no class
            touches); trigger (k: a BEFORE trigger sets the indexed column tag of every k-th row updated; 0: none)
  held_once [first, last] phase of one snapshot
  pauses    hours that pass after each phase of a quarter
  classes   once (the only phase in which the class runs, with all its weight); same (true: the statement also sets
            all other columns, to the values they have)

The table is t (id, grp, tag, n, pad, doc).  Loaded rows have the numbers 1 to rows; rows that a session inserts get numbers
of a range of its own, so that no two sessions ever insert the same row.  A row's id is its number, or among times that;
rows in front have ids of at most 0.
"""
import json
import math
import os
import random
import re
import sys

CLASS = dict(
    command='update',    # update, insert, delete, upsert, select
    weight=1,            # transactions in one quarter of a run, all sessions together
    rows=1,              # rows a call
    calls=1,             # calls a transaction
    pick='any',          # any, skewed, newest, turn (each row once, then again), all
    distance=[0, 0],     # newest: so many rows behind the newest, from and to
    every=1,             # 1: neighbours; k: every k-th row
    indexed=False,       # sets an indexed column, too
    growth=0,            # bytes that a call adds to a row
    growth_limit=0,      # until its padding has this length
    toast=False,         # updates the value stored out of line
    rollback=0.0,        # share of the transactions rolled back
    burst=1.0,           # share of the phases in which the class runs
)
PHASES = 4               # of one quarter of a run
FEW = 100                # below this, transactions of a class in a phase are rounded, to 1 at least
PGBENCH_SQL = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../../rehearsal/pgbench.sql')
SCRIPTS = {}             # scripts already made, by mixture


def setup(m, fillfactor):
    """SQL that creates and fills the table."""
    t = m['table']
    doc = ", doc text" if t['toast'] else ''
    return '\n'.join([
        "CREATE TABLE t (id bigint PRIMARY KEY, grp int NOT NULL, tag int NOT NULL, n int NOT NULL,"
        f" pad text NOT NULL{doc}) WITH (fillfactor = {fillfactor});",
        "ALTER TABLE t ALTER pad SET STORAGE PLAIN;",
        *(["ALTER TABLE t ALTER doc SET STORAGE EXTERNAL;"] if doc else []),
        f"INSERT INTO t SELECT {values(t, 'g')} FROM generate_series({1 - t.get('cold', 0)}, {t['rows'] * among(m)}) g;",
        *(f"CREATE INDEX ON t ({columns});" for columns in t['indexes']),
        *([TRIGGER.format(t['trigger'])] if t.get('trigger') else [])])


def among(m):
    return m['table'].get('among', 1)


TRIGGER = """CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN IF NEW.n % {} = 0 THEN NEW.tag := OLD.tag + 1; END IF; RETURN NEW; END $$;
CREATE TRIGGER touch BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION touch();"""


def values(t, i):
    (first, _), *more = t['widths']
    width = str(first)
    for w, share in more:
        width = f"CASE WHEN {i} % 20 < {round(20 * share)} THEN {w} ELSE {width} END"
    doc = f", repeat('d', {t['toast']})" if t['toast'] else ''
    return f"{i}, {i} / 100, 0, 0, repeat('p', {width}){doc}"


def change(t, c):
    """The SET list of a class."""
    return ', '.join(
        ["tag = t.tag + 1" if c['indexed'] else "n = t.n + 1"] +
        ([f"pad = left(t.pad || repeat('x', {c['growth']}), greatest(length(t.pad), {c['growth_limit']}))"]
         if c['growth'] else []) +
        ([f"doc = repeat('e', {t['toast']})"] if c['toast'] and t['toast'] else []) +
        (["grp = t.grp"] + ["tag = t.tag"] * (not c['indexed']) + ["pad = t.pad"] * (not c['growth'])
         if c.get('same') else []))


def rehearsed(m):
    """The mixture in the form of rehearsal/pgbench.sql; a class with some transactions rolled back becomes two."""
    t = m['table']
    classes = []
    for c in m['classes']:
        for ends, share in ('COMMIT', 1 - c['rollback']), ('ROLLBACK', c['rollback']):
            if share > 0:
                classes.append({**c, 'weight': c['weight'] * share, 'ends': ends, 'set': change(t, c)})
    return dict(sessions=m['sessions'], classes=classes,
                table=dict(name='t', values=values(t, '{n}' if among(m) == 1 else f'({{n}} * {among(m)}::bigint)')))


def script(m, sql):
    """The pgbench script of a mixture; sql runs a query in the given database of a server."""
    key = json.dumps(rehearsed(m))
    if key not in SCRIPTS:
        with open(PGBENCH_SQL) as f:
            make = "DROP SCHEMA IF EXISTS ff_rehearsal CASCADE; CREATE SCHEMA ff_rehearsal;\n" + f.read()
        drop = "DROP SCHEMA ff_rehearsal CASCADE;"
        SCRIPTS[key] = spread(sql("SET client_min_messages = warning;\n" + make
                                  + f"SELECT ff_rehearsal.pgbench_script({quoted(key)}::jsonb);\n" + drop, 'template1') + '\n',
                              among(m))
    return SCRIPTS[key]


def spread(text, k):
    """The script with ids that are k times the rows' numbers; ranges leave out the rows between them."""
    if k == 1:
        return text
    for old, new in ((r'id BETWEEN :a AND :b', rf'id BETWEEN :a * {k}::bigint AND :b * {k}::bigint AND id % {k} = 0'),
                     (r'\(id - :a\)', rf'(id / {k} - :a)'), (r'id = :a\b', rf'id = :a * {k}::bigint'),
                     (r'max\(id\)', rf'max(id) / {k}'),
                     (r'id > :own AND id < (:own \+ \d+)', rf'id > :own * {k}::bigint AND id < (\1) * {k}::bigint')):
        text = re.sub(old, new, text)
    return text


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def counted(n):
    """Transactions of a class in a phase, a whole number if they are few."""
    return max(1, round(n)) if n < FEW else n


def phase(m, number, sql):
    """A phase for pgbench: (script, transactions of each session, variables); number counts from 0."""
    variables = dict(n=0, own=0, i=0, rows=m['table']['rows'], sessions=m['sessions'])
    for k, c in enumerate(rehearsed(m)['classes']):
        if c.get('once') is not None:
            variables |= {f'n{k}': c['weight'] * (number == c['once']), f'turn{k}': 0}
            continue
        phases = [p % round(1 / c['burst']) == 0 for p in range(PHASES)]
        variables[f'n{k}'] = round(counted(c['weight'] / sum(phases))) if phases[number % PHASES] else 0
        variables[f'turn{k}'] = int(counted(c['weight'] / PHASES) * c['calls'] / m['sessions'] * number)
    each = math.ceil(sum(n for name, n in variables.items() if re.fullmatch(r'n\d+', name)) / m['sessions'])
    return script(m, sql), each, variables


# ---------------------------------------------------------------------------
# Mixtures by name
# ---------------------------------------------------------------------------

def mixture(classes, rows=20000, widths=((84, 1.0),), indexes=('grp',), fillfactor=100, toast=0, sessions=2, held=0.0):
    return dict(table=dict(rows=rows, widths=[list(w) for w in widths], indexes=list(indexes),
                           fillfactor=fillfactor, toast=toast),
                sessions=sessions, held=held, classes=[{**CLASS, **c} for c in classes])


NAMED = {
    # single updates, and now and then a pass over all rows
    'pass': mixture([dict(weight=24000), dict(weight=4, rows=10000, pick='all', burst=0.25)], rows=10000),
    # each statement changes a third of every page, each third in turn
    'third': mixture([dict(weight=24, rows=4000, pick='all', every=3)], rows=12000, sessions=1),
    # soon after its insert a row is changed four times, once in an indexed column
    'indexed_fourth': mixture([dict(command='insert', weight=4000),
                               dict(weight=12000, pick='newest', distance=[0, 150]),
                               dict(weight=4000, pick='newest', distance=[0, 150], indexed=True)],
                              rows=2000, indexes=('grp', 'tag')),
    # three rows in ten are eight times as long as the others
    'lengths': mixture([dict(weight=20000), dict(weight=400, rows=20)], rows=12000, widths=((40, 1.0), (640, 0.3))),
}


# ---------------------------------------------------------------------------
# Mixtures from a seed
# ---------------------------------------------------------------------------

# CPU microseconds on the machine of the bench, roughly: they only determine the duration of runs.
CALL_US, ROW_US, ENTRY_US = 45, 8, 3
QUARTER_US = 1.6e6          # CPU time aimed at for a quarter of a run
LEAST = 4                # transactions of the rarest class in a quarter
MOST_BYTES = 12e6        # of the table as loaded
MOST_WIDTH = 3000        # bytes to which padding grows at most
HEADER = 48              # bytes of a row beside its padding


def between(r, low, high):
    """Log-uniform."""
    return math.exp(r.uniform(math.log(low), math.log(high)))


def draw(seed):
    """A workload from a seed; nobody has seen it unless the seed was used before."""
    r = random.Random(seed)
    widths = [[max(1, round(between(r, 30, 2000)) - HEADER), 1.0]]
    if r.random() < 0.3:
        widths.append([max(1, round(between(r, 30, 2000)) - HEADER), r.choice((0.1, 0.2, 0.3, 0.5))])
    toast = r.choice((2500, 6000)) if r.random() < 0.1 else 0
    rows = round(min(between(r, 2000, 60000), MOST_BYTES / (row_bytes(dict(widths=widths)) + toast)))
    life = r.choice(('loaded', 'loaded', 'growing', 'window'))
    m = mixture([], rows=rows, widths=widths, toast=toast, fillfactor=r.choice((100, 100, 90, 70, 70)),
                sessions=r.randint(1, 4), held=r.choice((0.5, 1.0)) if r.random() < 0.12 else 0.0)
    shares = []          # shares of the rows written
    for _ in range(r.randint(1, 4)):
        m['classes'].append(update(r, m, life))
        m['classes'][0]['burst'] = 1.0
        shares.append(r.expovariate(1))
    others = 0
    if life != 'loaded':
        many = r.choice((1, 1, round(between(r, 2, 1000))))
        m['classes'].insert(0, {**CLASS, 'command': 'insert', 'rows': many})
        shares.insert(0, sum(shares) * r.uniform(0.15, 1))
        others = 1
    if life == 'window':
        # as many rows are deleted as inserted, by the session that inserted them
        few = r.choice((1, many))
        m['classes'].append({**CLASS, 'command': 'delete', 'rows': few, 'pick': 'newest',
                             'distance': [rows // m['sessions']] * 2})
        shares.append(shares[0])
    if r.random() < 0.25:
        m['classes'].append({**CLASS, 'command': 'select', 'pick': r.choice(('any', 'skewed'))})
        shares.append(sum(shares) * r.uniform(0.02, 0.5))
    if r.random() < 0.15:
        m['classes'][others]['rollback'] = r.choice((0.05, 0.2))
    indexes = ['grp', 'grp, id', 'id, grp', 'grp DESC, id']
    r.shuffle(indexes)
    first = ['tag'] if any(c['indexed'] for c in m['classes']) else []
    m['table']['indexes'] = (first + indexes)[:max(len(first), r.randint(0, 4))]
    if any(c['calls'] > 1 for c in m['classes']) and any(c['rows'] > 1000 for c in m['classes']):
        # otherwise deadlocks dominate the measurement
        m['sessions'] = 1
    return sized(m, shares)


def row_bytes(table):
    """Mean length of a row as loaded, header included."""
    (first, _), *more = table['widths']
    return HEADER + sum(w * s for w, s in more) + first * (1 - sum(s for _, s in more))


def update(r, m, life):
    """One class of updates."""
    rows = m['table']['rows']
    c = dict(CLASS)
    c['pick'] = r.choice(('any', 'any', 'any', 'skewed', 'turn', 'all') if life == 'loaded' else
                         ('newest', 'newest', 'newest', 'newest', 'any', 'all'))
    if c['pick'] == 'all':
        c['every'] = r.choice((1, 1, round(between(r, 2, 20))))
        c['rows'] = rows // c['every']
        c['burst'] = r.choice((1.0, 0.25, 0.5))
    else:
        if r.random() < 0.5:
            c['every'] = round(between(r, 2, 20)) if r.random() < 0.3 else 1
            c['rows'] = min(round(between(r, 2, 5000)), rows // (2 * c['every']))
        elif r.random() < 0.25:
            c['calls'] = round(between(r, 2, 20))
        if r.random() < 0.2:
            c['burst'] = r.choice((0.25, 0.5))
    if c['pick'] == 'newest':
        far = round(between(r, 1, rows / 2))
        c['distance'] = r.choice(([0, far], [far, far], [far // 2, far]))
    if life == 'loaded' and c['pick'] == 'any' and c['rows'] == 1 and r.random() < 0.2:
        c['command'] = 'upsert'
    c['indexed'] = r.random() < 0.15
    if r.random() < 0.15:
        width = m['table']['widths'][0][0]
        c['growth'] = max(1, round((HEADER + width) * between(r, 0.05, 0.8)))
        c['growth_limit'] = min(width + c['growth'] * r.randint(1, 6), MOST_WIDTH)
    c['toast'] = m['table']['toast'] > 0 and r.random() < 0.3
    return c


def sized(m, shares, quarter_us=QUARTER_US, reach=1.0):
    """Weights such that each class writes its share of the rows, a quarter of a run takes quarter_us of CPU time, and writes
    the share 1 / reach of the rows; fewer rows if one pass over them takes too long."""
    classes, entries = m['classes'], ENTRY_US * (1 + len(m['table']['indexes']))
    while True:
        us = [c['calls'] * (CALL_US + c['rows'] * (ROW_US + entries + m['table']['toast'] / 100 * c['toast']))
              for c in classes]
        per_row = sum(s * u / (c['rows'] * c['calls']) for s, u, c in zip(shares, us, classes)) / sum(shares)
        written = quarter_us / per_row
        counts = [max(LEAST, round(written * s / sum(shares) / (c['rows'] * c['calls'])))
                  for s, c in zip(shares, classes)]
        if sum(n * u for n, u in zip(counts, us)) <= 1.5 * quarter_us and m['table']['rows'] <= reach * written:
            break
        shrink(m, 0.8)
    for c, n in zip(classes, counts):
        c['weight'] = n
        if n * c['rollback'] < LEAST:
            c['rollback'] = 0.0
    return m


def shrink(m, by):
    rows = m['table']['rows'] = round(m['table']['rows'] * by)
    for c in m['classes']:
        if c['pick'] == 'all':
            c['rows'] = rows // c['every']
        elif c['rows'] > 1:
            c['rows'] = max(2, min(c['rows'], rows // (2 * c['every'])))
        if c['command'] == 'delete':
            c['distance'] = [rows // m['sessions']] * 2
        elif c['pick'] == 'newest':
            c['distance'] = [min(d, rows // 2) for d in c['distance']]


FIELD_SEEDS = 20000     # and higher ones draw tables of the field


def named(name):
    if not name.isdigit():
        return NAMED[name]
    if int(name) < FIELD_SEEDS:
        return draw(int(name))
    import field
    return field.draw(int(name))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    m = named(sys.argv[1])
    print(json.dumps(m, indent=1))
    print(setup(m, m['table']['fillfactor']))
    print(json.dumps(rehearsed(m)))


if __name__ == '__main__':
    main()
