-- What a rehearsal on a scratch server needs to know of a table, and what came out. The client program
-- ff_rehearse makes the one into the other.

CREATE FUNCTION @extschema@.ff_rehearsal(relation regclass, fillfactor integer DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    v     ff_internal.judged;
    d     ff_internal.decision;
    e     ff_internal.table_evidence;
    c     ff_internal.choice;
    other integer := fillfactor;
BEGIN
    PERFORM ff_internal.check_role('reader');
    IF other NOT BETWEEN 10 AND 100 THEN
        PERFORM ff_internal.refuse('22023', format('fillfactor %s is out of range', other),
            'It must be between 10 and 100.');
    END IF;
    v := ff_internal.decision_with_curve(relation, true);
    d := v.decision;
    e := v.evidence;
    c := (v.fit).choice;
    other := coalesce(other, CASE WHEN d.changes THEN d.recommended_fillfactor
                                  WHEN e.fillfactor > 90 THEN 90 ELSE 100 END);
    IF other = e.fillfactor THEN
        PERFORM ff_internal.refuse('22023', format('the table has fillfactor %s already', other), NULL,
            'Give the one to compare it with.');
    END IF;
    -- predicted: figure, lowest and highest; of a HOT share once settled, in a range that covers that of the observed
    -- window, too; a: at the table's fillfactor, b: at the other one
    RETURN (
    SELECT jsonb_build_object(
        'format', 1,
        'source', jsonb_build_object('system_identifier', s.system_identifier::text,
                                     'database_oid', s.database_oid::text,
                                     'version', s.server_version / 10000),
        'relation', ff_internal.plain(ff_internal.qualified_name(relation)), 'rel_id', e.rel_id,
        'from', e.fillfactor, 'to', other,
        'advised', d.changes AND d.recommended_fillfactor = other,
        'table', jsonb_build_object(
            'rows', r.rows, 'row_bytes', greatest(24, round((e.heap_bytes + e.index_bytes) / r.rows)),
            'ram_bytes', e.ram_bytes,
            'indexes', (SELECT count(*) FROM pg_index i WHERE i.indrelid = relation AND i.indisvalid)),
        'workload', c.workload,
        'predicted', jsonb_build_object(
            'hot_a', jsonb_build_array(a.settled_hot_pct, least(a.settled_hot_pct, a.hot_pct_low),
                                       greatest(a.settled_hot_pct, a.hot_pct_high)),
            'hot_b', jsonb_build_array(b.rewritten_hot_pct, b.rewritten_hot_low, b.rewritten_hot_high),
            'wal_pct', jsonb_build_array(100 * b.wal_bytes_per_update / nullif(c.wal_bytes_now, 0)),
            'rows_a', jsonb_build_array(w.rows_a), 'rows_b', jsonb_build_array(w.rows_b)),
        -- settings that affect what is measured
        'settings', (SELECT jsonb_object_agg(n, ff_internal.server_setting(n))
                       FROM unnest('{server_version,data_checksums,shared_buffers,effective_cache_size,wal_level,
                           wal_compression,full_page_writes,wal_log_hints,max_wal_size,checkpoint_timeout,fsync,
                           synchronous_commit}'::text[]) n))
      FROM ff_internal.server s
     CROSS JOIN LATERAL ff_internal.step_at((v.fit).steps, d.current_step) a
     CROSS JOIN (SELECT greatest(1, round((c.workload->>'table_rows')::float8))) r(rows)
     CROSS JOIN (SELECT 1 / avg(1.0 / ff_internal.rows_per_page(e.fillfactor, l.len::float8)),
                        1 / avg(1.0 / ff_internal.rows_per_page(other, l.len::float8))
                   FROM jsonb_array_elements_text(c.workload->'insert_len') l(len)) w(rows_a, rows_b)
      LEFT JOIN LATERAL (SELECT x.* FROM unnest((v.fit).steps) x WHERE x.fillfactor >= other
                          ORDER BY x.fillfactor LIMIT 1) b ON true);
END
$$;
COMMENT ON FUNCTION @extschema@.ff_rehearsal(regclass, integer) IS
'What the program ff_rehearse needs to show on a scratch server what another fillfactor does to a table like this one: '
'workload, lengths of rows, number of indexes, predictions, settings and identity of this server; no value of the '
'table.
fillfactor: compared with that of the table; NULL: the advised one, otherwise 90 (100 for a table at 90 or less).
Errors: 22004 NULL, 42P01 unknown OID, 42809 not a table, 22023 fillfactor out of range or that of the table, 55000 '
'not examined, or too little is known of its updates.';

CREATE FUNCTION @extschema@.ff_rehearsal_result(result jsonb) RETURNS text
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    hint   CONSTANT text := 'Pass the last line that ff_rehearse printed, as it is.';
    stored ff_internal.rehearsal;
BEGIN
    PERFORM ff_internal.check_role('collector');
    IF result IS NULL THEN
        PERFORM ff_internal.refuse('22004', 'the result must not be null');
    ELSIF result->>'format' IS DISTINCT FROM '1' THEN
        PERFORM ff_internal.refuse('22023', 'this is not the result of a rehearsal', 'Its field "format" is not 1.',
            hint);
    ELSIF (SELECT (s.system_identifier::text, s.database_oid::text) FROM ff_internal.server s) IS DISTINCT FROM
          (result->'source'->>'system_identifier', result->'source'->>'database_oid') THEN
        PERFORM ff_internal.refuse('55000', 'the table of this rehearsal is in another database', NULL,
            'Pass the result to the database whose ff_rehearsal() wrote the document.');
    END IF;
    BEGIN
        INSERT INTO ff_internal.rehearsal
        SELECT x.* FROM jsonb_populate_record(NULL::ff_internal.rehearsal, result || jsonb_build_object(
                   'measured_at', to_timestamp((result->>'measured_at')::float8),
                   'from_fillfactor', result->'from', 'to_fillfactor', result->'to')) x
         WHERE x.rel_id IS NULL
            OR EXISTS (SELECT FROM ff_internal.relation r WHERE r.rel_id = x.rel_id AND r.closed_at IS NULL)
            ON CONFLICT ON CONSTRAINT rehearsal_pkey DO UPDATE SET verdict = EXCLUDED.verdict
        RETURNING * INTO stored;
        -- the newest result of a table counts
        IF stored.measured_at > now() + interval '1 day' THEN
            RAISE datetime_field_overflow USING MESSAGE = 'field "measured_at" is in the future';
        END IF;
    EXCEPTION WHEN data_exception OR integrity_constraint_violation THEN
        PERFORM ff_internal.refuse('22023', 'this is not the result of a rehearsal', SQLERRM, hint);
    END;
    IF stored.rel_id IS NULL THEN
        PERFORM ff_internal.refuse('42P01', 'the table of the rehearsal is gone', 'Nothing is stored.',
            'If the table is there, run CALL ff_collect() and rehearse it again.');
    END IF;
    RETURN format('stored: %s instead of %s: %s; %s', stored.to_fillfactor, stored.from_fillfactor, stored.verdict,
                  stored.effect);
END
$$;
COMMENT ON FUNCTION @extschema@.ff_rehearsal_result(jsonb) IS
'Stores the result of a rehearsal, the last line that the program ff_rehearse printed, and returns it in words. The '
'reason in ff_advise() then mentions a table''s newest one; no figure of the advice changes.
Errors: 22004 NULL, 22023 not a result: something is missing or out of range, 55000 result of another database, 42P01 '
'the table is gone.';
