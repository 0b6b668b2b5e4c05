"""Regret, and accuracy of predicted HOT shares and WAL, from the results of regret.py."""
import glob
import math
import os
import statistics
import subprocess

import field
import mixture
from cluster import DATA, kept
from workloads import workload

# Cost is time^0.5 x WAL^0.3 x size^0.2
WEIGHTS = (0.5, 0.3, 0.2)
# Slopes of log time by the non-HOT share and by log size: mean and deviation among workloads, and the
# deviation of one run (regret.py slopes, seeds 1001 to 1012 and the named mixtures).
SLOPES, NOISE = ((0.4, 0.4), (0.0, 0.3)), 0.15
# The advice and the baselines.
WORDS = {'advice': 'the advice', '100': 'always 100', '90': 'always 90',
         'rule': '50 for half a page a transaction, else 90',
         'root': 'formula by the HOT share', 'gather': 'formula by updates, inserts and HOT share', 'keep': 'keep the fillfactor'}
MONTH_H = 720            # hours in which a rewrite pays for itself: fillfactor_advisor.payback_time
COLD = 10                # cold rows for each live one, from which a table counts as cold
# A measured HOT share counts as inside a predicted range within this many points, by which equal runs differ.
INSIDE = 0.5


def root_formula(hot):
    """The formula of postgresql-patterns-library: by the HOT share alone, if it is below 95 %."""
    return 100 - max(1, round(math.sqrt(1.5 * (100 - hot))) - 5) if hot < 95 else None


def gather_formula(hot, inserted, updated):
    """The formula of pg_gather: by the share of updates and the HOT share."""
    return round(100 - 20 * updated / (inserted + updated) * (1 - hot / 100))


def two_lines(m):
    """50 if most rows are updated by transactions that update half of a page or more, else 90."""
    if m is None:
        return None
    page = 8168 / (math.ceil(mixture.row_bytes(m['table']) / 8) * 8 + 4)
    rows = {True: 0, False: 0}
    for c in m['classes']:
        if c['command'] in ('update', 'upsert'):
            together = c['rows'] * (c['calls'] if c['pick'] == 'turn' else 1)
            rows[min(together, page / c['every'] / mixture.among(m)) >= page / 2] += c['rows'] * c['calls'] * c['weight']
    return 50 if rows[True] > rows[False] else 90


def fit(points):
    """Least squares: points of (features, value); None if they do not determine a solution."""
    n = len(points[0][0])
    m = [[sum(f[i] * f[j] for f, _ in points) for j in range(n)] + [sum(f[i] * y for f, y in points)]
         for i in range(n)]
    for i in range(n):
        p = max(range(i, n), key=lambda k: abs(m[k][i]))
        m[i], m[p] = m[p], m[i]
        if abs(m[i][i]) < 1e-9:
            return None
        for k in range(n):
            if k != i:
                f = m[k][i] / m[i][i]
                m[k] = [x - f * y for x, y in zip(m[k], m[i])]
    return [m[i][n] / m[i][i] for i in range(n)]


def smooth(runs, key):
    """Time of each step on a line through all runs of a workload: its logarithm by the non-HOT share and
    the logarithm of the size.  Using all steps reduces noise; if they hardly differ in
    one of the two, the slope of other workloads is used (SLOPES)."""
    points = [([1.0, not_hot(r), math.log(r['pages'])], math.log(max(r[key], 0.1))) for r in runs]
    for i, (mean, deviation) in enumerate(SLOPES, 1):
        weight = NOISE / deviation
        points.append(([weight * (i == k) for k in range(3)], weight * mean))
    w = fit(points)
    at = {}
    for r, (f, _) in zip(runs, points):
        at.setdefault((r['way'], r['fillfactor']), []).append(sum(x * y for x, y in zip(w, f)))
    return {o: math.exp(statistics.mean(logs)) for o, logs in at.items()}


def not_hot(r):
    return 0.0 if r['hot_pct'] is None else 1 - r['hot_pct'] / 100


def month(t, of):
    """Transactions or updates in the time in which a rewrite pays for itself; no limit for workloads without hours."""
    m = t['mixture']
    if m is None or 'among' not in m['table']:
        return math.inf
    return max(1, sum(q[of] for q in t['runs'][0]['before'])) * MONTH_H / field.hours(m)


def costs(t, limited):
    """Cost of each option that was run, with its part of a rewrite: {(way, fillfactor): cost}."""
    of = {}
    for r in t['runs']:
        of.setdefault((r['way'], r['fillfactor']), []).append(r)
    time_at = smooth(t['runs'], 'wall_us' if limited else 'cpu_us')
    many = month(t, 'transactions')
    at = {o: (time_at[o], *(statistics.median(r[k] for r in runs) for k in ('wal', 'pages'))) for o, runs in of.items()}
    if many < math.inf:
        for o, (time, wal, pages) in at.items():
            change = of[o][0]['change']
            at[o] = (time + 1e6 * change['cpu_s'] / many, wal + change['wal'] / many, pages)
    return {o: math.prod(max(v, 1e-3) ** p for v, p in zip(at[o], WEIGHTS)) for o in at}


def page_rows(m, fillfactor):
    """Rows of a page filled at a fillfactor; the fillfactor itself if rows have several lengths."""
    if m is None or len(m['table']['widths']) > 1:
        return fillfactor
    length = math.ceil(mixture.row_bytes(m['table']) / 8) * 8 + 4
    return max(1, (8168 - 8192 * (100 - fillfactor) // 100) // length)


def regret(cost, way, fillfactor, m=None):
    """Percent above the cheapest option.  A fillfactor with as many rows a page as a rewritten step costs the same;
    between two steps, costs are interpolated in logarithms.  Setting fillfactor without a rewrite, if that was not
    run at all, costs as much as a rewrite."""
    if (way, fillfactor) in cost:
        return 100 * (cost[way, fillfactor] / min(cost.values()) - 1)
    steps = {f: c for (w, f), c in cost.items() if w == 'rewrite'}
    if way == 'set' and any(w == 'set' for w, f in cost):
        # keep is set to what it was
        steps = {f: c for (w, f), c in cost.items() if w != 'rewrite'}
    fillfactor = min((f for f in steps if page_rows(m, f) == page_rows(m, fillfactor)),
                     key=lambda f: abs(f - fillfactor), default=fillfactor)
    above = min((f for f in steps if f >= fillfactor), default=max(steps))
    below = max((f for f in steps if f <= fillfactor), default=min(steps))
    part = 0 if above == below else (above - fillfactor) / (above - below)
    return 100 * (steps[above] * (steps[below] / steps[above]) ** part / min(cost.values()) - 1)


def done_by(advice, asked):
    """The option that was advised: way and fillfactor."""
    fillfactor = advice['recommended_fillfactor']
    if advice['needs_rewrite']:
        return 'rewrite', fillfactor or asked
    return ('keep', asked) if fillfactor in (None, asked) else ('set', fillfactor)


def replayed(cli, o):
    """Curve and advice of model_cli.c from the stored evidence, in the extension's form."""
    def text(v):
        return ' '.join(map(text, v)) if isinstance(v, list) else 'nan' if v is None else str(v)
    lines = ''.join(f'{k} {text(v)}\n' for k, v in o['input'].items() if v is not None)
    out = subprocess.run([cli], input=lines, capture_output=True, text=True, check=True).stdout.split('\n')
    words = [line.split() for line in out if line]
    steps = [dict(zip(w[2::2], map(float, w[3::2])), fillfactor=int(w[1])) for w in words if w[0] == 'step']
    choice = next(w for w in words if w[0] == 'decision')
    fitted = words[0][2] != '0' or any(s['high'] > 0 for s in steps)
    return dict(o, ms=float(words[0][words[0].index('ms') + 1]),
                curve=[dict(fillfactor=s['fillfactor'], hot_pct=s['hot'], hot_pct_low=s['low'], hot_pct_high=s['high'],
                            settled_hot_pct=s['settled'], wal=dict(set=s.get('set_wal'), rewrite=s['wal']),
                            needs_rewrite=s['rewritten'] > 0) for s in steps if fitted],
                advice=dict(needs_rewrite=choice[1] == 'rewrite', recommended_fillfactor=int(choice[3]) if choice[1] in ('set', 'rewrite') else o['fillfactor'],
                            confidence=float(choice[choice.index('confidence') + 1])))


def promised(curve, fillfactor):
    """The row of the curve that covers a fillfactor."""
    return min((r for r in curve if r['fillfactor'] >= fillfactor and r['hot_pct'] is not None),
               key=lambda r: r['fillfactor'], default=None)


def slopes(names):
    """Least squares for each workload on its own, then the mean of each slope and its deviation among workloads,
    weighted by their errors (DerSimonian and Laird)."""
    seen, residuals, freedom = ([], []), 0.0, 0
    for path in sorted(glob.glob(os.path.join(DATA, '*.truth.json'))):
        t = kept(os.path.basename(path))
        runs = t['runs']
        points = [([1.0, not_hot(r), math.log(r['pages'])], math.log(max(r['cpu_us'], 0.1))) for r in runs]
        w = fit(points) if len(runs) > 3 and (not names or t['name'] in names) else None
        if w is None:
            continue
        rest = sum((y - sum(a * b for a, b in zip(w, f))) ** 2 for f, y in points)
        residuals, freedom = residuals + rest, freedom + len(runs) - 3
        for i in (1, 2):
            spread = statistics.pvariance([f[i] for f, _ in points]) * len(runs)
            seen[i - 1].append((w[i], rest / (len(runs) - 3) / spread))
    for what, values in zip(('share not HOT', 'log size'), seen):
        weights = [1 / v for _, v in values]
        mean = sum(a * x for a, (x, _) in zip(weights, values)) / sum(weights)
        q = sum(a * (x - mean) ** 2 for a, (x, _) in zip(weights, values))
        among = max(0, (q - len(values) + 1) / (sum(weights) - sum(a * a for a in weights) / sum(weights)))
        weights = [1 / (v + among) for _, v in values]
        mean = sum(a * x for a, (x, _) in zip(weights, values)) / sum(weights)
        print(f'{what}: mean {mean:.2f}, deviation among {len(values)} workloads {among ** 0.5:.2f}')
    print(f'noise of a run: {(residuals / freedom) ** 0.5:.2f}')


def hot_of(quarters):
    """HOT share of these quarters together, percent; None without updates."""
    updates = sum(q['updates'] for q in quarters)
    return sum(q['updates'] * (q['hot_pct'] or 0) for q in quarters) / updates if updates else None


def measured_hot(t):
    """Measured HOT shares to judge predictions by: {(way, fillfactor): percent}.  A prediction is for a time like the one
    observed: its later half after a change, else all of it."""
    of = {}
    for r in t['runs']:
        hot = hot_of(r['quarters'] if r['way'] == 'keep' else r['quarters'][-1:])
        if hot is not None:
            of.setdefault((r['way'], r['fillfactor']), []).append(hot)
    return {o: statistics.median(values) for o, values in of.items()}


def shown(o, hot):
    """The rows of the curve whose way to their step was measured: {fillfactor: (row, measured HOT share)}."""
    rows = {}
    for (way, s), value in hot.items():
        row = promised(o['curve'] or [], s)
        if row and (way == 'keep' or s != o['fillfactor'] and way == ('rewrite' if row['needs_rewrite'] else 'set')):
            rows[s] = row, value
    return rows


def measured_wal(t):
    """Measured WAL for each row updated, of each option, and its part of a rewrite; in the same quarters as HOT shares."""
    of = {}
    for r in t['runs']:
        quarters = r['quarters'][-1:] if r['way'] == 'rewrite' else r['quarters']
        updates = sum(q['updates'] for q in quarters)
        if updates > 0:
            change = r['change']['wal'] / month(t, 'updates') if 'change' in r else 0
            of[r['way'], r['fillfactor']] = sum(q['wal'] * q['transactions'] for q in quarters) / updates + change
    return of


def wal_errors(o, t):
    """Logarithms of predicted / measured WAL for each row updated, of each option."""
    errors = []
    for (way, fillfactor), wal in measured_wal(t).items():
        row = promised(o['curve'] or [], fillfactor)
        said = row and row.get('wal') and row['wal']['rewrite' if way == 'rewrite' else 'set']
        if said:
            errors.append(math.log(max(said, 1) / max(wal, 1)))
    return errors


def judged(o, t):
    """Results for one observation: regrets, HOT errors, whether inside the range.  Nobody who knows the cold rows of a table
    rewrites it, so the baselines are then set without a rewrite."""
    m = o['mixture']
    cost, at = costs(t, m is None and workload(o['name']).ram), o['fillfactor']
    cold = field.cold(m) if m else 0
    plain = 'set' if cold >= COLD else 'rewrite'
    last = o['quarters'][-1]
    seen = last['hot_pct']
    said = {'100': 100, '90': 90, 'rule': two_lines(o['mixture']), 'root': seen is not None and root_formula(seen) or at,
            'gather': at if seen is None else gather_formula(seen, last['inserts'], last['updates']), 'keep': at}
    done = {'advice': done_by(o['advice'], at),
            **{k: f and ('keep' if f == at else plain, f) for k, f in said.items()}}
    regrets = {k: d and regret(cost, *d, o['mixture']) for k, d in done.items()}
    rows = shown(o, measured_hot(t))
    errors = {s: row['hot_pct'] - hot for s, (row, hot) in rows.items()}
    inside = [row['hot_pct_low'] - INSIDE <= hot <= row['hot_pct_high'] + INSIDE for row, hot in rows.values()]
    way, best = min(cost, key=cost.get)
    width = [row['hot_pct_high'] - row['hot_pct_low'] for row, _ in rows.values()]
    return dict(name=o['name'], version=o.get('server', 0) // 10000, cold=cold, width=width, wal=wal_errors(o, t),
                at=at, best=best, best_way=way, said=done['advice'][1], way=done['advice'][0],
                errors=errors, inside=inside, confidence=o['advice']['confidence'], regrets=regrets)


def kept_pairs(names, kind='observe'):
    """Observations of a kind and their truth runs in DATA."""
    for path in sorted(glob.glob(os.path.join(DATA, f'*.{kind}.json'))):
        o = kept(os.path.basename(path))
        t = kept(f"{o['name']}-{o['fillfactor']}.truth.json")
        if t and any(r['way'] == 'rewrite' for r in t['runs']) and (not names or o['name'] in names):
            yield replayed(os.environ['MODEL_CLI'], o) if 'MODEL_CLI' in os.environ else o, t


def report(results):
    """Prints a line for each result of judged(), and the means."""
    rules = tuple(WORDS)
    print(f"{'workload':15s} {'at':>3s} {'best':>5s} {'said':>5s} {'sure':>4s} | {'regret':<6s}" +
          ''.join(f" {r:>6s}" for r in rules[1:]) + " | HOT off: mean worst (at) inside")
    for r in results:
        worst = max(r['errors'], key=lambda s: abs(r['errors'][s]), default=None)
        print(f"{r['name']:15s} {r['at']:3d} {r['best']:4d}{r['best_way'][0]} {r['said']:4d}{r['way'][0]} {r['confidence'] or 0:4.2f} |" +
              ''.join("      -" if r['regrets'][k] is None else f" {r['regrets'][k]:6.1f}" for k in rules) + " |" +
              ('' if worst is None else
               f"{statistics.mean(map(abs, r['errors'].values())):14.1f} {r['errors'][worst]:5.1f} ({worst:3d})"
               f" {sum(r['inside'])} of {len(r['inside'])}"))
    groups = {'all': results}
    if any(r['cold'] >= COLD for r in results):
        groups |= {f'at least {COLD} cold rows a live one': [r for r in results if r['cold'] >= COLD],
                   'fewer': [r for r in results if r['cold'] < COLD]}
        groups |= {f'PostgreSQL {v}': [r for r in results if r['version'] == v] for v in sorted({r['version'] for r in results})}
    for title, group in groups.items():
        if group:
            print(f'\n{title}: {len(group)} observations')
            means(group)


def means(results):
    for k, words in WORDS.items():
        of = [r['regrets'][k] for r in results if r['regrets'][k] is not None]
        if of:
            print(f"{words:44s}: regret mean {statistics.mean(of):.1f}, worst {max(of):.1f} %")
    above = sum(r['regrets']['advice'] > r['regrets']['keep'] + 2 for r in results)
    ways = {w: sum(r['way'] == w for r in results) for w in ('keep', 'set', 'rewrite')}
    print(f"advice: {ways['keep']} keep, {ways['set']} set, {ways['rewrite']} rewrite;"
          f" {above} cost over 2 points more than keeping the fillfactor")
    errors = [abs(e) for r in results for e in r['errors'].values()]
    inside = [i for r in results for i in r['inside']]
    if errors:
        print(f"predicted HOT share: off by {statistics.mean(errors):.1f} points on average, {max(errors):.1f} at worst;"
              f" {100 * statistics.mean(inside):.0f} % inside the range,"
              f" {statistics.mean(w for r in results for w in r['width']):.0f} points wide on average")
    errors = [statistics.mean(map(abs, r['wal'])) for r in results if r['wal']]
    if errors:
        bias = statistics.mean(statistics.mean(r['wal']) for r in results if r['wal'])
        print(f"predicted WAL per updated row: off by a factor of {math.exp(statistics.mean(errors)):.2f} on average,"
              f" {math.exp(max(errors)):.2f} at worst; {math.exp(bias):.2f} times the measured one (geometric means)")
