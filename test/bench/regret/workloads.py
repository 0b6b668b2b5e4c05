"""Handmade workloads, each a regression test.

Each is a table, loaded at one fillfactor, and a pgbench script that two sessions run for a fixed number of
transactions.  The variable :i counts a session's transactions through a run, so that ids
made from it never collide.

keys: setup (SQL; {ff} is replaced), script (pgbench), tx (transactions of one session in one quarter of a run), held
(another session holds a snapshot through each phase), ram (MB the cluster may use; time is then by the
clock), steps (fillfactors worth running), amid (False: collections between the phases; three rows fill a page here, so
that no update is HOT during a collection, which takes a part of a phase that it never takes of five minutes)
"""
import field
import mixture


def table(rows, pad, extra='', columns='', pad_type=''):
    return f"""
CREATE TABLE t (id bigint PRIMARY KEY, grp int NOT NULL, n int NOT NULL, pad text NOT NULL{columns}) WITH (fillfactor = {{ff}});
ALTER TABLE t ALTER pad SET STORAGE PLAIN;
INSERT INTO t SELECT g, g / 100, 0, repeat('p', {pad}) FROM generate_series(1, {rows}) g;
{extra}
"""


NEXT = "\\set i :i + 1\n\\set id :i * 2 + :client_id\n"

WORKLOADS = {
    'orders': dict(
        setup=table(0, 100, 'CREATE INDEX ON t (grp); CREATE INDEX ON t (id, grp);'), tx=10000,
        script=NEXT + "INSERT INTO t VALUES (:id, :i / 50, 0, repeat('p', 100));\n" +
        "".join("\\set a :id - 2 * random(0, least(149, :i - 1))\nUPDATE t SET n = n + 1 WHERE id = :a;\n" for _ in range(3))),
    'jobs': dict(
        setup=table(0, 60, 'CREATE INDEX ON t (grp); CREATE INDEX ON t (id, grp);'), tx=120,
        script=NEXT + "INSERT INTO t SELECT :id * 200 + g, :id, 0, repeat('p', 60) FROM generate_series(0, 199) g;\n"
        "UPDATE t SET n = 1 WHERE grp = :id;\nUPDATE t SET n = 2 WHERE grp = :id;\n"),
    'growing': dict(
        setup=table(0, 20, 'CREATE INDEX ON t (grp);'), tx=10000,
        script=NEXT + "INSERT INTO t VALUES (:id, :i / 50, 0, repeat('p', 20));\n" +
        "".join("\\set a :id - 2 * random(0, least(999, :i - 1))\n"
                "UPDATE t SET pad = left(pad || repeat('x', 40), 180) WHERE id = :a;\n" for _ in range(3))),
    'queue': dict(
        setup=table(0, 100, 'CREATE INDEX ON t (grp);'), tx=10000,
        script=NEXT + "INSERT INTO t VALUES (:id, :i / 50, 0, repeat('p', 100));\n"
        "\\set a :id - 200\nUPDATE t SET n = 1 WHERE id = :a;\n"
        "\\set a :id - 400\nUPDATE t SET n = 2 WHERE id = :a;\n"
        "\\set a :id - 4000\nDELETE FROM t WHERE id = :a;\n"),
    'held': dict(
        setup=table(20000, 84, 'CREATE INDEX ON t (grp);'), tx=30000, held=True,
        script="\\set a random(1, 20000)\nUPDATE t SET n = n + 1 WHERE id = :a;\n"),
    'wide': dict(
        setup=table(2000, 2400, 'CREATE INDEX ON t (grp);'), tx=80000, steps=(100, 89, 59), amid=False,
        script="\\set a random(1, 2000)\nUPDATE t SET n = n + 1 WHERE id = :a;\n"),
    'groups': dict(
        setup=table(40000, 84, 'CREATE INDEX ON t (grp); CREATE INDEX ON t (id, grp);'), tx=1000,
        script="\\set a random(0, 399)\nUPDATE t SET n = n + 1 WHERE grp = :a;\n"),
    'indexed': dict(
        setup=table(60000, 84, 'CREATE INDEX ON t (n);'), tx=24000,
        script="\\set a random(1, 60000)\nUPDATE t SET n = n + random()*1000 WHERE id = :a;\n"),
    'insert_only': dict(
        setup=table(0, 100, 'CREATE INDEX ON t (grp);'), tx=24000,
        script=NEXT + "INSERT INTO t VALUES (:id, :i / 50, 0, repeat('p', 100));\n"),
    'read_mostly': dict(
        setup=table(60000, 84, 'CREATE INDEX ON t (grp);'), tx=8000,
        script="\\set a random(1, 60000)\nSELECT n FROM t WHERE id = :a;\n" * 9 +
        "\\set a random(1, 60000)\nUPDATE t SET n = n + 1 WHERE id = :a;\n"),
    'uniform_2x_ram': dict(
        setup=table(1500000, 84), tx=40000, ram=128, steps=(100, 95, 90, 80, 70),
        script="\\set a random(1, 1500000)\nUPDATE t SET n = n + 1 WHERE id = :a;\n"),
    'nightly': dict(
        setup=table(20000, 84, 'CREATE INDEX ON t (grp);'), tx=5,
        script="UPDATE t SET n = n + 1;\n"),
}

# For a test, about a minute in all.
SHORT = dict(names=('third', 'indexed_fourth', 'lengths'), steps=(100, 90, 70))


class Workload:
    """What the runner needs of a workload."""
    held = 0.0
    held_once = None
    sets = ()        # fillfactors set without a rewrite
    rests = False    # a quarter takes a day or more; it begins with a checkpoint
    settings = ''    # more lines of postgresql.conf
    amid = True      # collections in the middle of phases

    def holds(self, phase, on=False):
        """Whether another session holds a snapshot through a phase; on: and through the next one."""
        if self.held_once:
            first, last = self.held_once
            return first <= phase < last if on else first <= phase <= last
        return self.held > 0 and not on and phase % round(1 / self.held) == 0

    def pause(self, phase):
        """Hours that pass after a phase."""
        return 0


class Scripted(Workload):
    """One of these workloads, in the form that the runner needs."""
    mixture = None
    sessions = 2
    asked = (100, 70)

    def __init__(self, w):
        self.w, self.ram, self.held = w, w.get('ram'), float(w.get('held', False))
        self.amid = w.get('amid', True)
        if 'steps' in w:
            self.steps = w['steps']

    def setup(self, fillfactor):
        return self.w['setup'].replace('{ff}', str(fillfactor))

    def phase(self, number, _sql):
        """Text, transactions of a session and variables of a phase, from 0."""
        tx = max(1, self.w['tx'] // mixture.PHASES)
        return self.w['script'], tx, dict(i=tx * number)


class Mixture(Workload):
    """A mixture, in the form that the runner needs."""
    ram = None

    def __init__(self, m):
        self.mixture, self.sessions, self.held = m, m['sessions'], m['held']
        self.held_once = m.get('held_once')
        self.asked = (m['table']['fillfactor'],)
        if 'among' in m['table']:
            self.steps, self.sets = ((field.COLD_STEPS, field.COLD_SETS) if m['table']['cold'] else
                                     (field.STEPS, field.SETS))
            if m.get('pauses'):
                # as often as the runs have checkpoints, whose hours pass in seconds
                self.settings = "\ncheckpoint_timeout = 1d"
                self.rests = sum(m['pauses']) >= 24

    def setup(self, fillfactor):
        return mixture.setup(self.mixture, fillfactor)

    def phase(self, number, sql):
        return mixture.phase(self.mixture, number, sql)

    def pause(self, phase):
        pauses = self.mixture.get('pauses')
        return pauses[phase % mixture.PHASES] if pauses else 0


def workload(name):
    return Scripted(WORKLOADS[name]) if name in WORKLOADS else Mixture(mixture.named(name))
