"""Handmade workloads, each a regression test.

Each is a table, loaded at one fillfactor, and a pgbench script that two sessions run for a fixed number of
transactions.  The variable :i counts a session's transactions through a run, so that ids
made from it never collide.

keys: setup (SQL; {ff} is replaced), script (pgbench), tx (transactions of one session in one quarter of a run), held
(another session holds a snapshot through each phase), ram (MB the cluster may use; time is then by the
clock), steps (fillfactors worth running)
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
    'uniform': dict(
        setup=table(60000, 84, 'CREATE INDEX ON t (grp);'), tx=30000,
        script="\\set a random(1, 60000)\nUPDATE t SET n = n + 1 WHERE id = :a;\n"),
    'zipf': dict(
        setup=table(60000, 84, 'CREATE INDEX ON t (grp);'), tx=30000,
        script="\\set a random_zipfian(1, 60000, 1.05)\nUPDATE t SET n = n + 1 WHERE id = :a;\n"),
    'orders': dict(
        setup=table(0, 100, 'CREATE INDEX ON t (grp); CREATE INDEX ON t (id, grp);'), tx=10000,
        script=NEXT + "INSERT INTO t VALUES (:id, :i / 50, 0, repeat('p', 100));\n" +
        "".join("\\set a :id - 2 * random(0, least(149, :i - 1))\nUPDATE t SET n = n + 1 WHERE id = :a;\n" for _ in range(3))),
    'wide_orders': dict(
        setup=table(0, 1200, 'CREATE INDEX ON t (grp); CREATE INDEX ON t (id, grp);'), tx=8000,
        script=NEXT + "INSERT INTO t VALUES (:id, :i / 50, 0, repeat('p', 1200));\n" +
        "".join("\\set a :id - 2 * random(0, least(14, :i - 1))\nUPDATE t SET n = n + 1 WHERE id = :a;\n" for _ in range(3))),
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
        setup=table(2000, 2400, 'CREATE INDEX ON t (grp);'), tx=20000, steps=(100, 89, 59),
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
    # rows of active sessions: created, touched often for a while, forgotten
    'sessions': dict(
        setup=table(0, 200, 'CREATE INDEX ON t (grp);'), tx=8000,
        script=NEXT + "INSERT INTO t VALUES (:id, :i / 50, 0, repeat('p', 200));\n" +
        "".join("\\set a :id - 2 * random_exponential(0, least(1999, :i - 1), 3)\nUPDATE t SET n = n + 1 WHERE id = :a;\n" for _ in range(4))),
    # counters: insert or update
    'upsert': dict(
        setup=table(30000, 40, 'CREATE INDEX ON t (grp);'), tx=30000,
        script="\\set a random_zipfian(1, 33000, 1.01)\nINSERT INTO t VALUES (:a, 1, 0, repeat('p', 40)) ON CONFLICT (id) DO UPDATE SET n = t.n + 1;\n"),
    # 20 rows here and there in one transaction
    'scattered': dict(
        setup=table(60000, 150, 'CREATE INDEX ON t (grp);'), tx=2000,
        script="BEGIN;\n" + "".join("\\set a random(1, 60000)\nUPDATE t SET n = n + 1 WHERE id = :a;\n" for _ in range(20)) + "COMMIT;\n"),
    # the whole table in one statement
    'nightly': dict(
        setup=table(20000, 84, 'CREATE INDEX ON t (grp);'), tx=5,
        script="UPDATE t SET n = n + 1;\n"),
    # rows come and go anywhere
    'churn': dict(
        setup=table(40000, 100, 'CREATE INDEX ON t (grp);'), tx=8000,
        script="\\set i :i + 1\n\\set id 40000 + :i * 2 + :client_id\nINSERT INTO t VALUES (:id, :i / 50, 0, repeat('p', 100));\n"
        "\\set a random(1, 40000 + :i * 2)\nDELETE FROM t WHERE id = :a;\n" +
        "".join("\\set a random(1, 40000 + :i * 2)\nUPDATE t SET n = n + 1 WHERE id = :a;\n" for _ in range(2))),
    # old rows that grow
    'documents': dict(
        setup=table(30000, 60, 'CREATE INDEX ON t (grp);'), tx=20000,
        script="\\set a random(1, 30000)\nUPDATE t SET pad = left(pad || repeat('x', 20), 160) WHERE id = :a;\n"),
    # an order's lines are inserted together and changed together soon after
    'lines': dict(
        setup=table(0, 120, 'CREATE INDEX ON t (grp); CREATE INDEX ON t (n, id);'), tx=2500,
        script=NEXT + "INSERT INTO t SELECT :id * 10 + g, :id, 0, repeat('p', 120) FROM generate_series(0, 9) g;\n"
        "\\set a :id - 2 * random(0, least(24, :i - 1))\nUPDATE t SET pad = repeat('q', 120) WHERE grp = :a;\n"),
    # tickets: opened, changed once or twice within the next hundred, then never again
    'tickets': dict(
        setup=table(0, 320, 'CREATE INDEX ON t (grp); CREATE INDEX ON t (grp, id);'), tx=9000,
        script=NEXT + "INSERT INTO t VALUES (:id, :i / 50, 0, repeat('p', 320));\n"
        "\\set a :id - 2 * random(0, least(49, :i - 1))\nUPDATE t SET n = n + 1 WHERE id = :a;\n"),
    # user profiles: wide rows of one index, a tenth of the users does most
    'profiles': dict(
        setup=table(16000, 700), tx=20000,
        script="\\set u random(1, 10)\n\\if :u = 1\n\\set a random(1, 16000)\n\\else\n\\set a 10 * random(1, 1600)\n\\endif\n"
        "UPDATE t SET n = n + 1 WHERE id = :a;\n"),
    # stock: sixteen neighbours of a loaded table counted down together
    'stock': dict(
        setup=table(48000, 40, 'CREATE INDEX ON t (grp);'), tx=3500,
        script="\\set a 16 * random(0, 2999)\nUPDATE t SET n = n + 1 WHERE id BETWEEN :a + 1 AND :a + 16;\n"),
    # readings: ten arrive at a time, the newest of them is corrected thrice
    'readings': dict(
        setup=table(0, 70, 'CREATE INDEX ON t (grp); CREATE INDEX ON t (grp, id);'), tx=4000,
        script=NEXT + "INSERT INTO t SELECT :id * 10 + g, :id, 0, repeat('p', 70) FROM generate_series(0, 9) g;\n" +
        "UPDATE t SET n = n + 1 WHERE id = :id * 10;\n" * 3),
    # ledger: changed soon after insert, one change in five on an indexed column
    'ledger': dict(
        setup=table(0, 120, 'CREATE INDEX ON t (grp); CREATE INDEX ON t (n);'), tx=7000,
        script=NEXT + "INSERT INTO t VALUES (:id, :i / 50, 0, repeat('p', 120));\n" +
        "".join("\\set a :id - 2 * random(0, least(199, :i - 1))\nUPDATE t SET pad = repeat('q', 120) WHERE id = :a;\n" for _ in range(4)) +
        "\\set a :id - 2 * random(0, least(199, :i - 1))\nUPDATE t SET n = n + 1 WHERE id = :a;\n"),
    # drafts: grow while they are written, then the oldest are deleted
    'drafts': dict(
        setup=table(0, 100, 'CREATE INDEX ON t (grp);'), tx=7000,
        script=NEXT + "INSERT INTO t VALUES (:id, :i / 50, 0, repeat('p', 100));\n" +
        "".join("\\set a :id - 2 * random(0, least(299, :i - 1))\n"
                "UPDATE t SET pad = pad || repeat('x', 100) WHERE id = :a;\n" for _ in range(3)) +
        "\\set a :id - 8000\nDELETE FROM t WHERE id = :a;\n"),
    # rollup: five hundred rows somewhere in one statement
    'rollup': dict(
        setup=table(40000, 60, 'CREATE INDEX ON t (grp); CREATE INDEX ON t (grp, id);'), tx=150,
        script="\\set a random(0, 79)\nUPDATE t SET n = n + 1 WHERE grp BETWEEN :a * 5 AND :a * 5 + 4;\n"),
    # counters: a small table that is updated nearly all the time
    'counters': dict(
        setup=table(800, 30, 'CREATE INDEX ON t (grp);'), tx=30000,
        script="\\set a random(1, 800)\nUPDATE t SET n = n + 1 WHERE id = :a;\n"),
    # carts: filled within minutes, forgotten, thrown away
    'carts': dict(
        setup=table(0, 90, 'CREATE INDEX ON t (grp);'), tx=7000,
        script=NEXT + "INSERT INTO t VALUES (:id, :i / 50, 0, repeat('p', 90));\n" +
        "".join("\\set a :id - 2 * random(0, least(19, :i - 1))\nUPDATE t SET n = n + 1 WHERE id = :a;\n" for _ in range(5)) +
        "\\set a :id - 6000\nDELETE FROM t WHERE id = :a;\n"),
    # invoices: twenty lines at a time, all of them settled ten invoices later
    'invoices': dict(
        setup=table(0, 110, 'CREATE INDEX ON t (grp); CREATE INDEX ON t (grp, id);'), tx=2000,
        script=NEXT + "INSERT INTO t SELECT :id * 20 + g, :id, 0, repeat('p', 110) FROM generate_series(0, 19) g;\n"
        "\\set a :id - 20\nUPDATE t SET n = 1 WHERE grp = :a;\n"),
    # presence: few rows, some of them touched all the time, others read
    'presence': dict(
        setup=table(5000, 60, 'CREATE INDEX ON t (grp); CREATE INDEX ON t (grp, id);'), tx=24000,
        script="\\set a random_zipfian(1, 5000, 1.1)\nUPDATE t SET n = n + 1 WHERE id = :a;\n"
        "\\set a random(1, 5000)\nSELECT n FROM t WHERE id = :a;\n"),
    # accounts: new ones are busy, old ones are not forgotten
    'accounts': dict(
        setup=table(20000, 180, 'CREATE INDEX ON t (grp);'), tx=8000,
        script="\\set i :i + 1\n\\set id 20000 + :i * 2 + :client_id\nINSERT INTO t VALUES (:id, :i / 50, 0, repeat('p', 180));\n" +
        "".join("\\set a :id - 2 * random(0, least(249, :i - 1))\nUPDATE t SET n = n + 1 WHERE id = :a;\n" for _ in range(2)) +
        "".join("\\set a random(1, 20000)\nUPDATE t SET n = n + 1 WHERE id = :a;\n" for _ in range(2))),
    # statements: three hundred rows of an account in one, a little longer each time
    'statements': dict(
        setup=table(30000, 70, 'CREATE INDEX ON t ((grp / 3)); CREATE INDEX ON t (grp);'), tx=200,
        script="\\set a random(0, 99)\nUPDATE t SET pad = left(pad || repeat('x', 16), 134) WHERE grp / 3 = :a;\n"),
    # events: few are ever changed, and then in an indexed column
    'events': dict(
        setup=table(0, 130, 'CREATE INDEX ON t (grp); CREATE INDEX ON t (n);'), tx=2500,
        script=NEXT + "INSERT INTO t SELECT :id * 5 + g, :id, 0, repeat('p', 130) FROM generate_series(0, 4) g;\n"
        "\\set a :id * 5 - 10 * random(0, least(9, :i - 1))\nUPDATE t SET n = n + 1 WHERE id = :a;\n"),
    # articles: eight to a page, revised twice soon after, longer each time
    'articles': dict(
        setup=table(0, 900, 'CREATE INDEX ON t (grp);'), tx=7000,
        script=NEXT + "INSERT INTO t VALUES (:id, :i / 50, 0, repeat('p', 900));\n" +
        "".join("\\set a :id - 2 * random(0, least(24, :i - 1))\nUPDATE t SET pad = pad || repeat('x', 120) WHERE id = :a;\n" for _ in range(2))),
    # shipments: five parcels at a time, each scanned a few times within the next hundred
    'shipments': dict(
        setup=table(0, 160, 'CREATE INDEX ON t (grp); CREATE INDEX ON t (grp, id);'), tx=3000,
        script=NEXT + "INSERT INTO t SELECT :id * 5 + g, :id, 0, repeat('p', 160) FROM generate_series(0, 4) g;\n" +
        "".join("\\set a :id - 2 * random(0, least(49, :i - 1))\n\\set b random(0, 4)\nUPDATE t SET n = n + 1 WHERE id = :a * 5 + :b;\n" for _ in range(5))),
    # seats: forty of a hall, held and sold in one transaction
    'seats': dict(
        setup=table(30000, 50, 'CREATE INDEX ON t ((grp / 2)); CREATE INDEX ON t (grp);'), tx=500,
        script="\\set a random(0, 749)\nBEGIN;\nUPDATE t SET n = 1 WHERE id BETWEEN :a * 40 + 1 AND :a * 40 + 40;\n"
        "UPDATE t SET n = 2 WHERE id BETWEEN :a * 40 + 1 AND :a * 40 + 40;\nCOMMIT;\n"),
    # sensors: a small table of wide rows, all of them changed all the time
    'sensors': dict(
        setup=table(600, 280, 'CREATE INDEX ON t (grp);'), tx=25000,
        script="\\set a random(1, 600)\nUPDATE t SET n = n + 1 WHERE id = :a;\n"),
    # messages: written, delivered and read at once, looked at later
    'messages': dict(
        setup=table(0, 220, 'CREATE INDEX ON t (grp); CREATE INDEX ON t (grp, id);'), tx=8000,
        script=NEXT + "INSERT INTO t VALUES (:id, :i / 50, 0, repeat('p', 220));\n" + "UPDATE t SET n = n + 1 WHERE id = :id;\n" * 2 +
        "".join("\\set a :id - 2 * random(0, least(999, :i - 1))\nSELECT n FROM t WHERE id = :a;\n" for _ in range(2))),
    # pages of a wiki: old ones, the popular among them growing more often
    'wiki': dict(
        setup=table(12000, 100, 'CREATE INDEX ON t (grp);'), tx=20000,
        script="\\set a random_zipfian(1, 12000, 1.02)\nUPDATE t SET pad = left(pad || repeat('x', 40), 500) WHERE id = :a;\n"),
    # imports: a hundred rows at a time, checked once, thrown away fifty imports later
    'imports': dict(
        setup=table(0, 90, 'CREATE INDEX ON t (grp); CREATE INDEX ON t (grp, id);'), tx=300,
        script=NEXT + "INSERT INTO t SELECT :id * 100 + g, :id, 0, repeat('p', 90) FROM generate_series(0, 99) g;\n"
        "UPDATE t SET n = 1 WHERE grp = :id;\nDELETE FROM t WHERE grp = :id - 50;\n"),
    # prices: most changes of a plain column, some of an indexed one
    'prices': dict(
        setup=table(40000, 110, 'CREATE INDEX ON t (grp); CREATE INDEX ON t (n);'), tx=20000,
        script="\\set a random(1, 40000)\n\\set b random(1, 10)\n\\if :b <= 3\nUPDATE t SET n = n + 1 WHERE id = :a;\n"
        "\\else\nUPDATE t SET pad = repeat('q', 110) WHERE id = :a;\n\\endif\n"),
    # bookings: made and confirmed in one transaction, changed once more some hundred later
    'bookings': dict(
        setup=table(0, 140, 'CREATE INDEX ON t (grp); CREATE INDEX ON t (grp, id);'), tx=8000,
        script=NEXT + "BEGIN;\nINSERT INTO t VALUES (:id, :i / 50, 0, repeat('p', 140));\n" + "UPDATE t SET n = n + 1 WHERE id = :id;\n" * 2 +
        "COMMIT;\n\\set a :id - 2 * random(0, least(249, :i - 1))\nUPDATE t SET n = n + 1 WHERE id = :a;\n"),
    # playlists: eight neighbours moved up one by one in a transaction
    'playlists': dict(
        setup=table(24000, 60, 'CREATE INDEX ON t (grp);'), tx=4000,
        script="\\set a 8 * random(0, 2999)\nBEGIN;\n" + "".join(f"UPDATE t SET n = n + 1 WHERE id = :a + {k};\n" for k in range(1, 9)) + "COMMIT;\n"),
    # telemetry: fifty at a time, a tenth of them corrected soon, all thrown away in the end
    'telemetry': dict(
        setup=table(0, 80, 'CREATE INDEX ON t (grp);'), tx=1000,
        script=NEXT + "INSERT INTO t SELECT :id * 50 + g, :id, 0, repeat('p', 80) FROM generate_series(0, 49) g;\n" +
        "".join("\\set a (:id - 2 * random(0, least(4, :i - 1))) * 50 + random(0, 49)\nUPDATE t SET n = n + 1 WHERE id = :a;\n" for _ in range(5)) +
        "DELETE FROM t WHERE grp = :id - 300;\n"),
    # contracts: old ones, now longer and now shorter
    'contracts': dict(
        setup=table(16000, 250, 'CREATE INDEX ON t (grp);'), tx=20000,
        script="\\set a random(1, 16000)\n\\set b random(100, 400)\nUPDATE t SET pad = repeat('q', :b) WHERE id = :a;\n"),
    # stages: each row goes through four of them, sooner or later
    'stages': dict(
        setup=table(0, 150, 'CREATE INDEX ON t (grp); CREATE INDEX ON t (grp, id);'), tx=7000,
        script=NEXT + "INSERT INTO t VALUES (:id, :i / 50, 0, repeat('p', 150));\n" +
        "".join(f"\\set a :id - {2 * d}\nUPDATE t SET n = n + 1 WHERE id = :a;\n" for d in (5, 50, 200, 500))),
    # regions: a tenth of a table in each statement, three tenths of it again and again
    'regions': dict(
        setup=table(20000, 90, 'CREATE INDEX ON t ((grp / 20)); CREATE INDEX ON t (grp);'), tx=30,
        script="\\set a random(0, 2)\n\\set b random(0, 9)\n\\if :b < 7\nUPDATE t SET n = n + 1 WHERE grp / 20 = :a;\n"
        "\\else\nUPDATE t SET n = n + 1 WHERE grp / 20 = :b;\n\\endif\n"),
    # calls: each of them changed ten times while among the newest
    'calls': dict(
        setup=table(0, 110, 'CREATE INDEX ON t (grp);'), tx=3000,
        script=NEXT + "INSERT INTO t VALUES (:id, :i / 50, 0, repeat('p', 110));\n" +
        "".join("\\set a :id - 2 * random(0, least(19, :i - 1))\nUPDATE t SET n = n + 1 WHERE id = :a;\n" for _ in range(10))),
    # leases: taken, prolonged twice, given back, deleted much later
    'leases': dict(
        setup=table(0, 130, 'CREATE INDEX ON t (grp); CREATE INDEX ON t (grp, id);'), tx=5000,
        script=NEXT + "INSERT INTO t VALUES (:id, :i / 50, 0, repeat('p', 130));\n" +
        "".join(f"\\set a :id - {2 * d}\nUPDATE t SET n = n + 1 WHERE id = :a;\n" for d in (20, 60, 100, 140)) +
        "\\set a :id - 4000\nDELETE FROM t WHERE id = :a;\n"),
    # plans: a thousand of fifty thousand at a time
    'plans': dict(
        setup=table(50000, 30), tx=80,
        script="\\set a 1000 * random(0, 49)\nUPDATE t SET n = n + 1 WHERE id BETWEEN :a + 1 AND :a + 1000;\n"),
    # devices: fifty in one statement, each on a page of its own
    'devices': dict(
        setup=table(20000, 100, 'CREATE INDEX ON t ((id % 400)); CREATE INDEX ON t (grp);'), tx=800,
        script="\\set a random(0, 399)\nUPDATE t SET n = n + 1 WHERE id % 400 = :a;\n"),
    # notes: short when made, written out once soon after
    'notes': dict(
        setup=table(0, 60, 'CREATE INDEX ON t (grp); CREATE INDEX ON t (grp, id);'), tx=8000,
        script=NEXT + "INSERT INTO t VALUES (:id, :i / 50, 0, repeat('p', 60));\n"
        "\\set a :id - 2 * random(0, least(79, :i - 1))\nUPDATE t SET pad = repeat('q', 300) WHERE id = :a;\n"),
    # ratings: a row for most of them already, any of them next
    'ratings': dict(
        setup=table(30000, 50, 'CREATE INDEX ON t (grp);'), tx=25000,
        script="\\set a random(1, 31000)\nINSERT INTO t VALUES (:a, 1, 0, repeat('p', 50)) ON CONFLICT (id) DO UPDATE SET n = t.n + 1;\n"),
    # balances: some customers' rows every time, five indexes
    'balances': dict(
        setup=table(25000, 180, 'CREATE INDEX ON t (grp); CREATE INDEX ON t (grp, id); CREATE INDEX ON t (id, grp); CREATE INDEX ON t (pad);'), tx=12000,
        script="\\set a random_gaussian(1, 25000, 5)\nUPDATE t SET n = n + 1 WHERE id = :a;\n\\set a random(1, 25000)\nUPDATE t SET n = n - 1 WHERE id = :a;\n"),
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
