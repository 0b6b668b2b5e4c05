-- Memory: the parsers on texts as systems write them, then the rules on this machine.
CREATE EXTENSION fillfactor_advisor;
-- what is read out of the content of a file of kind meminfo, limit or cgroup; reads no file
CREATE FUNCTION memory_parse(kind text, content text, mounts text DEFAULT '') RETURNS text
AS '$libdir/fillfactor_advisor', 'ff_memory_parse' LANGUAGE c STRICT IMMUTABLE;

-- /proc/meminfo
SELECT memory_parse('meminfo', E'MemTotal:       24684092 kB\nMemFree:        1 kB\n');
SELECT memory_parse('meminfo', E'MemFree: 5 kB\nMemTotal:1 kB');
SELECT memory_parse('meminfo', '') IS NULL AS empty,
       memory_parse('meminfo', 'MemTotal: kB') IS NULL AS no_number,
       memory_parse('meminfo', 'MemTotal: 12 MB') IS NULL AS other_unit,
       memory_parse('meminfo', 'MemTotal: 9223372036854775807 kB') IS NULL AS too_large,
       memory_parse('meminfo', 'MemTotal: 99999999999999999999 kB') IS NULL AS overflow;

-- limit files: version 2 writes max, version 1 a huge number
SELECT memory_parse('limit', E'536870912\n') AS limited,
       memory_parse('limit', E'max\n') IS NULL AS v2_none,
       memory_parse('limit', E'9223372036854771712\n') IS NULL AS v1_none,
       memory_parse('limit', E'9223372036854775807') IS NULL AS v1_none_oldest,
       memory_parse('limit', '') IS NULL AS empty,
       memory_parse('limit', '-1') IS NULL AS negative,
       memory_parse('limit', '12x') IS NULL AS garbage;

-- the directory of the group
\set v1 '31 24 0:26 / /sys/fs/cgroup ro shared:9 - tmpfs tmpfs ro\n35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:12 master:3 - cgroup cgroup rw,memory\n'
\set v1docker '35 31 0:32 /docker/4f /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n'
\set v2 '30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n'
\set both '31 23 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,cpu,memory\n32 23 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n'
\set blank '30 23 0:26 / /sys/fs/c\\040group rw - cgroup2 cgroup2 rw\n'
SELECT case_, memory_parse('cgroup', replace(cgroup, '\n', E'\n'), replace(mounts, '\n', E'\n')) AS directory
  FROM (VALUES
    (1, 'version 2',                 '0::/system.slice/pg.service\n', :'v2'),
    (2, 'version 2, name space',     '0::/\n', :'v2'),
    (3, 'version 2, outside',        '0::/../other\n', :'v2'),
    (4, 'version 1',                 '9:cpu:/x\n4:memory:/pg/a\n0::/\n', :'v1'),
    (5, 'version 1, unified first',  '0::/u\n4:memory:/pg/a\n', :'both'),
    (6, 'version 1, several',        '4:cpu,memory:/pg\n0::/\n', :'both'),
    (7, 'version 1, root is group',  '4:memory:/docker/4f\n', :'v1docker'),
    (8, 'version 1, below root',     '4:memory:/docker/4f/pg\n', :'v1docker'),
    (9, 'version 1, like the root',  '4:memory:/docker/4fff\n', :'v1docker'),
    (10, 'no memory controller',     '4:cpu:/x\n', :'v1'),
    (11, 'memory in a name only',    '4:name=memory:/x\n', :'v1'),
    (12, 'not mounted',              '0::/a\n', :'v1'),
    (13, 'blank in the mount point', '0::/a\n', :'blank'),
    (14, 'nothing',                  '', ''),
    (15, 'garbage',                  '::::\n:\n4:memory\n', 'a b c - cgroup2\n - \n1 2 3 4 5\n')
  ) AS t(n, case_, cgroup, mounts)
 ORDER BY n;
SELECT memory_parse('cgroup', '0::/' || repeat('x', 5000), E'1 2 3 / /m rw - cgroup2 c rw') AS too_long_a_path;
SELECT memory_parse('nonsense', '');

-- this machine
SELECT source FROM ff_memory();
SELECT count(*) FILTER (WHERE used) AS used_rows,
       min(bytes) FILTER (WHERE used) = ff_internal.ram_bytes() AS is_the_divisor,
       bool_and(bytes > 0) AS positive,
       bool_and(note <> '') AS noted
  FROM ff_memory();
SELECT bytes = pg_size_bytes(current_setting('shared_buffers')) AS shared_buffers_right
  FROM ff_memory() WHERE source = 'shared_buffers';

-- the setting overrides
SET fillfactor_advisor.ram = '3GB';
SELECT source, bytes, used FROM ff_memory() WHERE used;
SELECT ff_internal.ram_bytes();
RESET fillfactor_advisor.ram;
SELECT source, bytes, used FROM ff_memory() WHERE source = 'fillfactor_advisor.ram';

-- who may call it
CREATE ROLE regress_ff_nobody;
SET ROLE regress_ff_nobody;
SELECT * FROM ff_memory();
SELECT ff_internal.ram_bytes();
RESET ROLE;
GRANT pg_read_all_stats TO regress_ff_nobody;
SET ROLE regress_ff_nobody;
SELECT count(*) > 0 AS may_read FROM ff_memory();
RESET ROLE;
DROP ROLE regress_ff_nobody;
DROP EXTENSION fillfactor_advisor;
