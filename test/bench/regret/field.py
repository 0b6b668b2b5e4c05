"""Tables of the field, from a seed: large ones that are mostly cold, and work that takes hours.

A seed from mixture.FIELD_SEEDS on draws one.  Even seeds have 10, 100 or 1,000 cold rows in front of each loaded row;
odd ones have none.  Both may have rows between the live ones that nothing touches, batches over a part of each page,
pauses, one-off events, statements that set every column to what it was, and a trigger that sets an indexed column.

Truth must be settled in the last quarter of a run.  So the live rows are at most twice those that a quarter writes, except
if a few favourites get most updates; and updates of recent rows reach back at most as far as a quarter inserts.  Cold rows
need nothing of that.
"""
import random

import mixture
from mixture import CLASS, HEADER, PHASES, between

QUARTER_US = 0.8e6       # CPU time aimed at for a quarter of a run
COLD_ROWS = (150e3, 1.5e6)   # in front, log-uniform; fewer if they need over COLD_BYTES, or there are few live rows
COLD_BYTES = 110e6       # a run of all options then takes about 3 minutes of CPU time
STEPS = (100, 90, 80, 70, 60, 50, 35)    # rewritten at
SETS = (80, 60)                          # set without a rewrite
COLD_STEPS = (100, 90, 70, 50)           # the same with cold rows
COLD_SETS = (90, 80, 70, 60, 50, 35)


def cold(m):
    """Cold rows for each live one, as loaded."""
    t = m['table']
    return t.get('cold', 0) / t['rows'] + t.get('among', 1) - 1


def hours(m):
    """That the quarters which the extension sees take, or the idle day before them."""
    pauses = sum(m.get('pauses') or [0])
    return 2 * pauses + 25 * (pauses < 24)


def draw(seed):
    """A workload from a seed; nobody has seen it unless the seed was used before."""
    r = random.Random(seed)
    ratio = r.choice((10, 100, 1000)) if seed % 2 == 0 else 0
    widths = [[max(1, round(between(r, 60, 500 if ratio else 2000)) - HEADER), 1.0]]
    among = round(between(r, 2, 20)) if r.random() < 0.25 else 1
    if not ratio and among == 1 and r.random() < 0.2:
        widths.append([max(1, round(between(r, 30, 2000)) - HEADER), r.choice((0.1, 0.3, 0.5))])
    toast = r.choice((2500, 6000)) if not ratio and r.random() < 0.06 else 0
    length = mixture.row_bytes(dict(widths=widths)) + toast
    in_front = min(between(r, *COLD_ROWS), COLD_BYTES / length)
    rows = round(min(between(r, 1000, 40000), mixture.MOST_BYTES / length, in_front / ratio if ratio else 1e9))
    life = r.choice(('loaded', 'growing', 'growing', 'window'))
    m = mixture.mixture([], rows=rows, widths=widths, toast=toast, fillfactor=r.choice((100, 100, 100, 90, 70)),
                        sessions=r.randint(1, 4), held=r.choice((0.5, 1.0)) if r.random() < 0.05 else 0.0)
    m['table'] |= dict(cold=0, among=among, trigger=0)
    many = r.choice((1, 1, round(between(r, 2, 1000))))
    shares = []
    for _ in range(r.randint(1, 3)):
        m['classes'].append(update(r, m, life, many))
        m['classes'][0]['burst'] = 1.0
        shares.append(r.expovariate(1))
    others = life != 'loaded'
    if others:
        m['classes'].insert(0, {**CLASS, 'command': 'insert', 'rows': many})
        # orders are updated several times each, events hardly ever
        shares.insert(0, sum(shares) * between(r, 0.1, 3))
    if life == 'window':
        # as many rows are deleted as inserted, by the session that inserted them
        m['classes'].append({**CLASS, 'command': 'delete', 'rows': r.choice((1, many)), 'pick': 'newest',
                             'distance': [rows // m['sessions']] * 2})
        shares.append(shares[0])
    if r.random() < 0.2:
        m['classes'].append({**CLASS, 'command': 'select', 'pick': r.choice(('any', 'skewed'))})
        shares.append(sum(shares) * r.uniform(0.02, 0.3))
    if r.random() < 0.1:
        m['classes'][others]['rollback'] = r.choice((0.05, 0.2))
    m['table']['trigger'] = r.choice((1, 1, 2, 4)) if r.random() < 0.12 else 0
    indexes = ['grp', 'grp, id', 'id, grp', 'grp DESC, id']
    r.shuffle(indexes)
    tag = m['table']['trigger'] or any(c['indexed'] or c.get('same') for c in m['classes'])
    m['table']['indexes'] = (['tag'] * bool(tag) + indexes)[:max(bool(tag), r.randint(0, 3))]
    if any(c['calls'] > 1 for c in m['classes']) and any(c['rows'] > 1000 for c in m['classes']):
        m['sessions'] = 1
    fewest = all(c['pick'] == 'skewed' for c in m['classes'] if c['command'] == 'update')
    mixture.sized(m, shares, QUARTER_US, 10 if fewest else 2)
    settled(m)
    m['table']['cold'] = ratio * m['table']['rows']
    events(r, m)
    return m


def update(r, m, life, many):
    """One class of updates."""
    c = {**mixture.update(r, m, life), 'same': False}
    rows = m['table']['rows']
    if life != 'loaded' and many > 1 and r.random() < 0.4:
        # a batch as inserted, again
        c |= dict(pick='newest', rows=many, every=1, calls=1, distance=[0, r.choice((0, many, 3 * many))])
    elif c['pick'] != 'all' and c['calls'] == 1 and r.random() < 0.3:
        # a part of each page: neighbours fewer than a page holds, or every k-th row of many
        c['every'] = r.choice((1, round(between(r, 2, 12))))
        c['rows'] = max(2, min(round(between(r, 5, 60 if c['every'] == 1 else 2000)), rows // (2 * c['every'])))
        c['command'] = 'update'
    c['same'] = not c['indexed'] and r.random() < 0.15
    return c


def settled(m):
    """Recent rows are at most as old as a quarter's inserts, and passes leave out the rows that nothing touches."""
    inserts = sum(c['weight'] * c['rows'] for c in m['classes'] if c['command'] == 'insert') // m['sessions']
    rows = m['table']['rows']
    for c in m['classes']:
        if c['command'] != 'delete' and c['pick'] == 'newest':
            c['distance'] = [min(d, inserts) for d in c['distance']]
        if c['pick'] == 'all':
            # each of a session's calls takes the next of "every" sets
            c['pick'], c['rows'] = 'turn', max(1, rows // c['every'])


def events(r, m):
    """What happens once, and the pauses."""
    t = m['table']
    size = (t['cold'] + t['rows'] * t['among']) * mixture.row_bytes(t)
    if r.random() < 0.15 and size < 40e6:
        # a migration
        m['classes'].append({**CLASS, 'rows': t['cold'] + t['rows'] * t['among'], 'pick': 'all', 'same': False,
                             'once': r.randint(0, 2 * PHASES - 3)})
    elif r.random() < 0.15:
        first = r.randint(0, PHASES - 2)
        m['held_once'] = [first, r.randint(first + 1, PHASES - 1)]
    hour = r.choice((0, 0, 1, 3, 6, 12))
    if hour:
        # a night after each fourth phase
        m['pauses'] = [hour, hour, hour, hour * r.choice((1, 3))]
