-- Prints the figures, the verdict, what the change brings, and the result as JSON in the last line.
\pset footer off
SELECT measure, round(measured::numeric, 1) AS measured, round(low::numeric, 1) AS low, round(high::numeric, 1) AS high,
       round(predicted::numeric, 1) AS predicted, round(allowed_low::numeric, 1) AS "allowed: from",
       round(allowed_high::numeric, 1) AS "to", verdict
  FROM ff_rehearsal.judged(ff_rehearsal.measured());
\pset format unaligned
\pset tuples_only on
SELECT 'not covered by the verdict: left out as too rare for a lap: ' || n
  FROM jsonb_array_elements_text(ff_rehearsal.measured()->'never') n;
SELECT concat_ws(E'\n', 'verdict: ' || (r->>'verdict'), r->>'headline', r)
  FROM ff_rehearsal.outcome(ff_rehearsal.measured()) r;
