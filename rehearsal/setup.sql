-- Makes everything that a rehearsal of the document in the file $FF_DOCUMENT needs, in the schema ff_rehearsal; says on
-- standard error what differs from the source; then prints sessions, and whether a snapshot is held.
\set document `cat "$FF_DOCUMENT"`
\ir pgbench.sql
\ir workload.sql
\ir measure.sql
\ir judge.sql
INSERT INTO ff_rehearsal.setup (document, workload, columns, indexes, new, sessions)
SELECT d.d, m.m, s.columns, s.indexes, s.new, (m.m->>'sessions')::integer
  FROM (SELECT :'document'::jsonb) d(d)
 CROSS JOIN ff_rehearsal.shape(d.d) s
 CROSS JOIN ff_rehearsal.workload(d.d, s.new, s.resize) m(m);
SELECT sessions, (workload->>'held_cycle')::float8 > 0 FROM ff_rehearsal.setup;
