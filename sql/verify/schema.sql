-- Types of stage verify.

CALL ff_internal.define($$
CREATE TYPE ff_internal.measure AS (
    -- What one measure says about a change.
    place      integer, -- order of display; 0: the change as a whole, 1: intervals, 2: updates or calls
    measure    text,    -- name
    unit       text,    -- of the next four; NULL: a number
    before     float8,  -- value before the change
    after      float8,  -- value after it
    low        float8,  -- lower end of the 95 % interval of after - before; NULL: unknown
    high       float8,  -- upper end
    note       text,    -- why, or what is unknown
    verdict    text,    -- helped, no difference, hurt, too early; of a measure: better, worse, equal, unclear
    difference float8,  -- of a measure with a weight: HOT share in points, others in percent
    words      text,    -- the difference in words
    weight     float8   -- of the measure in the cost of a fillfactor
)
$$);

CALL ff_internal.define($$
CREATE TYPE ff_internal.verified AS (
    -- A row of ff_verify(), which describes the columns.
    relation regclass, changed_at timestamptz, change text, measure text, verdict text, before float8, after float8,
    predicted float8, difference_low float8, difference_high float8, unit text, note text, undo text
)
$$);
