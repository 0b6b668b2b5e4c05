"""A throwaway cluster for measurements, in control groups of its own if available.

PG_CONFIG, WORK (folder for everything, default /tmp/ff-regret) and PGPORT are read
from the environment once, at import.  One cluster of a name at a time.
"""
import json
import os
import shutil
import subprocess
import time

PG_CONFIG = os.environ.get('PG_CONFIG', 'pg_config')
WORK = os.environ.get('WORK', '/tmp/ff-regret')
DATA = os.path.join(WORK, 'data')
PORT = os.environ.get('PGPORT', '54210')
BIN = subprocess.run([PG_CONFIG, '--bindir'], capture_output=True, text=True, check=True).stdout.strip()
AS_POSTGRES = ['runuser', '-u', 'postgres', '--'] if os.geteuid() == 0 else []
CGROUP = '/sys/fs/cgroup/%s/ff-bench-' + str(os.getpid())

CONF = """
port = {port}
unix_socket_directories = '{work}'
listen_addresses = ''
shared_buffers = {shared}
fsync = off
synchronous_commit = off
max_wal_size = 8GB
checkpoint_timeout = 5min
shared_preload_libraries = '{preload}'
{settings}
"""


class Cluster:
    """A throwaway cluster, a copy of an empty one.
    ram: MB it may use from limit() on.  settings: more lines of postgresql.conf.
    begin: the name under which a cluster to start from was kept.  One that runs beside another has a name and
    a port of its own, and is not in its control groups."""

    def __init__(self, ram=None, preload='', settings='', begin='template', name='cluster', port=PORT):
        self.dir, self.port = os.path.join(WORK, name), port
        begin = os.path.join(WORK, begin)
        if not os.path.exists(begin):
            run(AS_POSTGRES + [BIN + '/initdb', '-A', 'trust', '-D', begin])
        shutil.rmtree(self.dir, ignore_errors=True)
        subprocess.run(['cp', '-a', begin, self.dir], check=True)
        with open(self.dir + '/postgresql.conf', 'a') as f:
            f.write(CONF.format(port=port, work=WORK, preload=preload, settings=settings,
                                shared='32MB' if ram else '256MB'))
        self.groups = []
        for controller in ('cpuacct', 'memory') if ram else ('cpuacct',):
            path = CGROUP % controller
            try:
                os.mkdir(path)
                self.groups.append(path)
            except OSError:
                pass
        self.limited = ram is not None and CGROUP % 'memory' in self.groups
        self.ram = ram
        env = {k: v for k, v in os.environ.items() if not k.startswith('PG')}
        join = ''.join(f"echo $$ > {g}/cgroup.procs;" for g in self.groups)
        run(['sh', '-c', join + 'exec "$@"', 'sh'] + AS_POSTGRES +
            [BIN + '/pg_ctl', '-D', self.dir, '-l', f'{WORK}/{name}.log', '-w', 'start'], env=env)

    def limit(self):
        """Memory is limited once the table is loaded."""
        if self.limited:
            self.sql('CHECKPOINT')
            with open(CGROUP % 'memory' + '/memory.limit_in_bytes', 'w') as f:
                f.write(str(self.ram << 20))

    def sql(self, text, db='postgres'):
        return run([BIN + '/psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-h', WORK, '-p', self.port,
                    '-U', 'postgres', db], input=text).strip()

    def cpu(self):
        """Seconds of CPU the cluster has used."""
        try:
            with open(CGROUP % 'cpuacct' + '/cpuacct.usage') as f:
                return int(f.read()) / 1e9
        except OSError:
            pass
        with open(self.dir + '/postmaster.pid') as f:
            root = int(f.readline())
        total = 0
        for pid in filter(str.isdigit, os.listdir('/proc')):
            try:
                with open(f'/proc/{pid}/stat') as f:
                    v = f.read().rsplit(')', 1)[1].split()
            except OSError:
                continue
            if int(pid) == root:
                total += sum(map(int, v[11:15]))
            elif int(v[1]) == root:
                total += sum(map(int, v[11:13]))
        return total / os.sysconf('SC_CLK_TCK')

    def stop(self, mode='immediate'):
        subprocess.run(AS_POSTGRES + [BIN + '/pg_ctl', '-D', self.dir, '-m', mode, '-w', 'stop'],
                       capture_output=True)
        for g in self.groups:
            for _ in range(50):
                try:
                    os.rmdir(g)
                    break
                except OSError:
                    time.sleep(0.1)

    def keep_as(self, name):
        """After stop('fast'): keep the cluster for others to start from."""
        path = os.path.join(WORK, name)
        shutil.rmtree(path, ignore_errors=True)
        os.rename(self.dir, path)


def run(cmd, input=None, env=None):
    # the log of pg_ctl's child must not keep a pipe open
    r = subprocess.run(cmd, input=input, stdout=subprocess.PIPE if 'pg_ctl' not in ' '.join(cmd[:8]) else subprocess.DEVNULL,
                       stderr=subprocess.PIPE if 'pg_ctl' not in ' '.join(cmd[:8]) else subprocess.DEVNULL,
                       text=True, env=env, timeout=600)
    if r.returncode:
        raise RuntimeError(f"{' '.join(cmd)}: {r.stderr}")
    return r.stdout or ''


def kept(name):
    try:
        with open(os.path.join(DATA, name)) as f:
            return json.load(f)
    except FileNotFoundError:
        return None


def keep(name, value):
    path = os.path.join(DATA, name)
    with open(path + '.new', 'w') as f:
        json.dump(value, f, indent=1)
    os.rename(path + '.new', path)


def prepare():
    """WORK, where the server may write, and DATA in it."""
    os.makedirs(DATA, exist_ok=True)
    if os.geteuid() == 0:
        shutil.chown(WORK, 'postgres')
