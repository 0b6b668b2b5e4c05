-- Types of stage verify.

CREATE TYPE ff_internal.estimate AS (
    mean     double precision,
    variance double precision,
    clusters integer
);
COMMENT ON TYPE ff_internal.estimate IS 'A mean or share estimated from a number of intervals.';
COMMENT ON COLUMN ff_internal.estimate.mean IS 'the estimate';
COMMENT ON COLUMN ff_internal.estimate.variance IS 'of the estimate itself; NULL where one interval does not tell';
COMMENT ON COLUMN ff_internal.estimate.clusters IS 'intervals that it comes from';

CREATE TYPE ff_internal.measure AS (
    place   integer,
    measure text,
    unit    text,
    before  double precision,
    after   double precision,
    low     double precision,
    high    double precision,
    verdict text,
    note    text
);
COMMENT ON TYPE ff_internal.measure IS 'What one measure says of a change.';
COMMENT ON COLUMN ff_internal.measure.place IS 'order of display; 0: the change as a whole, 1: intervals, 2: updates '
'or calls';
COMMENT ON COLUMN ff_internal.measure.measure IS 'name';
COMMENT ON COLUMN ff_internal.measure.unit IS 'of the next four; NULL: a number';
COMMENT ON COLUMN ff_internal.measure.before IS 'value before the change';
COMMENT ON COLUMN ff_internal.measure.after IS 'value after it';
COMMENT ON COLUMN ff_internal.measure.low IS 'lower end of the 95 % interval of after less before; NULL: not known';
COMMENT ON COLUMN ff_internal.measure.high IS 'its upper end';
COMMENT ON COLUMN ff_internal.measure.verdict IS 'of the change: helped, no difference, hurt, too early; of a '
'measure: better, worse, equal, unclear; NULL: does not count';
COMMENT ON COLUMN ff_internal.measure.note IS 'why, or what is not known';
