-- Memory: limits of control groups in the forms that systems use, then ff_memory() on this machine.
CREATE EXTENSION fillfactor_advisor;

-- the same function with another root directory
CREATE FUNCTION memory_below(root text, OUT ram bigint, OUT container_limit bigint, OUT note text)
AS '$libdir/fillfactor_advisor', 'ff_machine_memory' LANGUAGE c;
-- limit_of(LINES, FILE=CONTENT, ...): the limit with these lines in /proc/self/cgroup and files below /sys/fs/cgroup
CREATE FUNCTION limit_of(cgroup text, VARIADIC files text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    root CONSTANT text := current_setting('data_directory') || '/memory';
    part text[];
BEGIN
    EXECUTE format('COPY (SELECT string_to_table(%L, E''\n'')) TO PROGRAM %L', cgroup,
        format('rm -rf %1$L; mkdir -p %1$L/proc/self; cat >%1$L/proc/self/cgroup', root));
    FOREACH part SLICE 1 IN ARRAY ARRAY(SELECT string_to_array(f, '=') FROM unnest(files) f WHERE f <> '') LOOP
        part[1] := root || '/sys/fs/cgroup/' || part[1];
        EXECUTE format('COPY (SELECT %L) TO PROGRAM %L', part[2],
            format('mkdir -p $(dirname %1$L); cat >%1$L', part[1]));
    END LOOP;
    RETURN (SELECT concat_ws(' ', m.container_limit, replace(m.note, root, '')) FROM memory_below(root) m);
END $$;

SELECT limit_of('0::/system.slice/pg.service', 'system.slice/pg.service/memory.max=536870912') AS version_2;
SELECT limit_of('0::/a/b', 'a/b/memory.max=max', 'a/memory.max=700', 'memory.max=max') AS a_group_around_it;
SELECT limit_of('0::/a/b', 'a/b/memory.max=900', 'a/b/memory.high=800', 'a/memory.max=1000') AS the_lowest;
SELECT limit_of('0::/a', 'a/memory.max=max', 'a/memory.high=max') AS none;
SELECT limit_of('0::/', 'memory.max=600') AS name_space;
SELECT limit_of('0::/../other', 'memory.max=600', '../other/memory.max=500') AS outside;
SELECT limit_of('0::/a', 'ab/memory.max=600', 'a/memory.max=12x', 'memory.max=-1') AS no_numbers;
SELECT limit_of('0::/a', 'a/memory.max=99999999999999999999', 'memory.max=') AS overflow;
SELECT limit_of(E'9:cpu:/x\n4:memory:/pg/a\n0::/', 'memory/pg/a/memory.limit_in_bytes=300',
                'memory/memory.limit_in_bytes=9223372036854771712') AS version_1;
SELECT limit_of('4:memory:/a', 'memory/a/memory.limit_in_bytes=9223372036854771712',
                'memory/memory.limit_in_bytes=9223372036854775807') AS version_1_none;
SELECT limit_of(E'4:cpu,memory:/pg\n0::/', 'memory/pg/memory.limit_in_bytes=300') AS several_controllers;
SELECT limit_of('4:memory:/docker/4f', 'memory/memory.limit_in_bytes=300') AS its_group_is_the_root;
SELECT limit_of('4:cpu:/x', 'memory/x/memory.limit_in_bytes=300', 'x/memory.max=300') AS no_memory_controller;
SELECT limit_of('4:name=memory:/x', 'memory/x/memory.limit_in_bytes=300') AS memory_in_a_name_only;
SELECT limit_of('0::/' || repeat('x', 5000), 'memory.max=300') AS too_long_a_path;
SELECT limit_of(E'::::\n:\n4:memory\n', 'memory.max=300') AS garbage;
SELECT limit_of('', 'memory.max=300') AS nothing;

-- this machine
SELECT source FROM ff_memory();
SELECT count(*) FILTER (WHERE used) AS used_rows,
       min(bytes) FILTER (WHERE used) = ff_internal.ram_bytes() AS is_the_divisor,
       bool_and(bytes > 0) AS positive,
       bool_and(note <> '') AS noted
  FROM ff_memory();
SELECT bytes = 1024 * (regexp_match(pg_read_file('/proc/meminfo'), 'MemTotal: +(\d+) kB'))[1]::bigint AS ram_right
  FROM ff_memory() WHERE source = 'ram';

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
