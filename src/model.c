/*
 * model.c
 *	  The model's way into SQL: one row of evidence in, one row a step out.
 *
 * Fits lifecycles to the evidence (lifecycle.c), replays them at every step
 * (curve.c), weighs the steps (choice.c).  Reads nothing itself and keeps
 * nothing; the same rows give the same answer.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/numeric.h"
#include "utils/tuplestore.h"
#include "utils/typcache.h"

#include "model/choice.h"
#include "model/heap_twin.h"
#include "model/lifecycle.h"
#include "compat.h"
#include "numbers.h"
#include "settings.h"

/* What is senseless beyond, and fits an int64. */
#define MOST_BYTES	1e18

PG_FUNCTION_INFO_V1(ff_split_updates);
PG_FUNCTION_INFO_V1(ff_model);
PG_FUNCTION_INFO_V1(ff_twin);
PG_FUNCTION_INFO_V1(ff_step_edge);

int			ff_payback_time;
double		ff_time_weight;
double		ff_wal_weight;
double		ff_size_weight;
double		ff_storage_weight;
double		ff_min_gain;
double		ff_page_read_cost;

/* A row's columns by name, as doubles. */
typedef struct Facts
{
	TupleDesc	desc;
	Datum	   *values;
	bool	   *nulls;
} Facts;

static Facts
open_facts(HeapTupleHeader row)
{
	Facts		f;
	HeapTupleData tuple;

	f.desc = lookup_rowtype_tupdesc_copy(HeapTupleHeaderGetTypeId(row),
										 HeapTupleHeaderGetTypMod(row));
	tuple.t_len = HeapTupleHeaderGetDatumLength(row);
	ItemPointerSetInvalid(&tuple.t_self);
	tuple.t_tableOid = InvalidOid;
	tuple.t_data = row;
	f.values = palloc(sizeof(Datum) * f.desc->natts);
	f.nulls = palloc(sizeof(bool) * f.desc->natts);
	heap_deform_tuple(&tuple, f.desc, f.values, f.nulls);
	return f;
}

/*
 * A number by its column's name, NAN where it is NULL or there is no such
 * column; infinite is as unknown.
 */
static double
fact(const Facts *f, const char *name)
{
	for (int i = 0; i < f->desc->natts; i++)
	{
		Form_pg_attribute a = TupleDescAttr(f->desc, i);
		double		v;

		if (a->attisdropped || strcmp(NameStr(a->attname), name) != 0)
			continue;
		if (f->nulls[i])
			return NAN;
		switch (a->atttypid)
		{
			case INT2OID:
				v = DatumGetInt16(f->values[i]);
				break;
			case INT4OID:
				v = DatumGetInt32(f->values[i]);
				break;
			case INT8OID:
				v = (double) DatumGetInt64(f->values[i]);
				break;
			case FLOAT4OID:
				v = DatumGetFloat4(f->values[i]);
				break;
			case FLOAT8OID:
				v = DatumGetFloat8(f->values[i]);
				break;
			case NUMERICOID:
				v = DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, f->values[i]));
				break;
			default:
				ereport(ERROR,
						(errcode(ERRCODE_DATATYPE_MISMATCH),
						 errmsg("column \"%s\" of the evidence is not a number", name)));
		}
		return isfinite(v) ? v : NAN;
	}
	return NAN;
}

/* Of two figures the first that is known. */
static double
known(double a, double b)
{
	return isnan(a) ? b : a;
}

/*
 * A table that was never updated has no recent intervals to speak of: then the
 * whole window counts.
 */
static void
read_observed(const Facts *e, const Facts *x, Observed *o)
{
	double		updated = fact(e, "updated");
	double		part;

	o->fillfactor = known(fact(e, "fillfactor"), TWIN_MAX_FILLFACTOR);
	o->updated = known(known(fact(e, "recent_updated"), updated), 0);
	part = updated > 0 ? o->updated / updated : 1;
	o->hot_updated = known(known(fact(e, "recent_hot"), fact(e, "hot_updated")), 0);
	o->newpage_updated = known(fact(e, "recent_newpage"), fact(e, "newpage_updated"));
	o->inserted = known(known(fact(e, "recent_inserted"), fact(e, "inserted")), 0);
	o->deleted = known(fact(x, "recent_deleted"), known(fact(e, "deleted"), 0) * part);
	o->window_s = known(fact(e, "recent_s"), fact(e, "window_s"));
	o->total_inserted = known(fact(x, "total_inserted"), fact(e, "inserted"));
	o->total_updated = known(fact(x, "total_updated"), updated);
	o->window_updated = updated;
	o->vacuums = known(fact(x, "recent_vacuums"), fact(x, "vacuums") * part);
	o->seen_hot = fact(e, "seen_hot");
	o->seen_same_page = fact(e, "seen_same_page");
	o->seen_moved = fact(e, "seen_newpage");
	o->blocks = fact(e, "blocks");
	o->live_rows = fact(e, "live_rows");
	o->inserted_width = fact(e, "inserted_width");
	o->inserted_width_err = fact(e, "inserted_width_err");
	o->updated_width = fact(e, "updated_width");
	o->updated_width_err = fact(e, "updated_width_err");
	o->updated_pct = fact(e, "updated_pct");
	o->rows_per_page = fact(e, "rows_per_page");
	o->rows_per_page_max = fact(e, "rows_per_page_max");
	o->update_group_rows = fact(e, "update_group_rows");
	o->insert_group_rows = fact(e, "insert_group_rows");
	o->update_distance_p10 = fact(e, "update_distance_p10");
	o->update_distance_p50 = fact(e, "update_distance");
	o->update_distance_p90 = fact(e, "update_distance_p90");
	o->table_xids = fact(x, "table_xids");
	o->update_call_rows = fact(x, "update_call_rows");
	o->insert_call_rows = fact(x, "insert_call_rows");
	o->indexed_share = fact(x, "indexed_share");
	o->vacuum_scale = fact(x, "vacuum_scale");
	o->vacuum_nap_s = fact(x, "vacuum_nap_s");
	o->sessions = fact(x, "sessions");
	o->update_records = fact(x, "update_records");
	o->indexes = fact(e, "indexes");
}

static void
read_cost_input(const Facts *e, const Facts *x, const Observed *o, CostInput *in)
{
	double		updated = fact(e, "updated");
	double		part = updated > 0 ? o->updated / updated : 1;

	in->indexes = known(fact(e, "indexes"), 0);
	in->index_bytes = known(fact(e, "index_bytes"), 0);
	in->heap_bytes = known(fact(e, "heap_bytes"), known(o->blocks, 1) * TWIN_BLCKSZ);
	in->ram_bytes = fact(e, "ram_bytes");
	/* what was scanned before says nothing of today: a table once small, a plan since changed */
	in->index_scans = known(fact(x, "recent_index_scans"), fact(e, "index_scans") * part);
	in->seq_scans = known(fact(x, "recent_seq_scans"), fact(e, "seq_scans") * part);
	in->blocks_fetched = known(fact(x, "recent_blocks_fetched"), fact(e, "blocks_fetched") * part);
	in->window_s = o->window_s;
	in->checkpoint_s = fact(x, "checkpoint_s");
	in->read_us = ff_page_read_cost > 0 ? ff_page_read_cost : fact(x, "read_us");
	in->horizon_s = ff_payback_time;
	in->time_weight = ff_time_weight;
	in->wal_weight = ff_wal_weight;
	in->size_weight = ff_size_weight * ff_storage_weight;
	in->min_gain = ff_min_gain / 100;
	in->update_call_rows = o->update_call_rows;
	in->update_wal_bytes = fact(x, "update_wal_bytes");
	in->insert_call_rows = o->insert_call_rows;
}

/*
 * Heap pages that scans visited, per row updated: less one index scan for each
 * statement that updates and each row deleted.  What else their plans scan counts as others'.
 */
static double
pages_read(const Observed *o, const CostInput *in)
{
	double		others = in->index_scans - o->updated / known(o->update_call_rows, 1) - o->deleted;

	return ((others < 0 ? 0 : others) + in->seq_scans * known(o->blocks, 0)) / o->updated;
}

static void
put(Datum *values, bool *nulls, int i, double v)
{
	nulls[i] = !isfinite(v);
	values[i] = nulls[i] ? (Datum) 0 : Float8GetDatum(v);
}

/*
 * ff_model(evidence record, extra record)
 *
 * evidence: a row of ff_evidence(); extra: what the model wants besides, any
 * of the columns read above.  Numbers are taken by column name; one that is
 * missing is unknown.  Returns one row a step edge, from 100 downwards; none
 * where no row width is known.
 *
 * Errors: 42804 where such a column is not a number.
 */
Datum
ff_model(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Facts		e = open_facts(PG_GETARG_HEAPTUPLEHEADER(0));
	Facts		x = open_facts(PG_GETARG_HEAPTUPLEHEADER(1));
	HeapTwin   *twin = palloc(sizeof(HeapTwin));
	Lifecycle  *life = palloc(sizeof(Lifecycle));
	Curve	   *curve = palloc(sizeof(Curve));
	Choice	   *choice = palloc(sizeof(Choice));
	Observed	seen;
	CostInput	in;

	InitMaterializedSRF(fcinfo, 0);
	read_observed(&e, &x, &seen);
	read_cost_input(&e, &x, &seen, &in);
	seen.pages_read = pages_read(&seen, &in);
	lifecycle_fit(twin, &seen, life);
	CHECK_FOR_INTERRUPTS();
	lifecycle_curve(twin, &seen, life, curve);
	CHECK_FOR_INTERRUPTS();
	choose(&seen, life, curve, &in, choice);

	for (int i = 0; i < curve->n; i++)
	{
		const Step *s = &curve->step[i];
		const StepCost *c = &choice->cost[i];
		Datum		values[29];
		bool		nulls[29] = {0};
		int			n = 0;

		values[n++] = Int32GetDatum(s->fillfactor);
		values[n++] = Int32GetDatum(s->rows_per_page);
		put(values, nulls, n++, s->hot_pct);
		put(values, nulls, n++, s->hot_low);
		put(values, nulls, n++, s->hot_high);
		put(values, nulls, n++, s->moved_pct);
		put(values, nulls, n++, s->settled_hot_pct);
		values[n++] = Int64GetDatum((int64) bound(c->size_bytes, 0, MOST_BYTES));
		values[n++] = Int64GetDatum((int64) bound(c->index_bytes, 0, MOST_BYTES));
		put(values, nulls, n++, c->wal_bytes);
		put(values, nulls, n++, c->time_us);
		put(values, nulls, n++, c->cost);
		values[n++] = BoolGetDatum(i == choice->current);
		values[n++] = BoolGetDatum(i == choice->advised);
		/* the same on every row: the fit and the choice */
		put(values, nulls, n++, choice->gain);
		put(values, nulls, n++, choice->best_gain);
		put(values, nulls, n++, choice->rewrite_gain);
		put(values, nulls, n++, choice->as_is.wal_bytes);
		put(values, nulls, n++, life->n > 0 ? life->confidence : NAN);
		put(values, nulls, n++, choice->agreement);
		values[n++] = BoolGetDatum(choice->needs_rewrite);
		put(values, nulls, n++, life->n > 0 ? life->hot_pct : NAN);
		put(values, nulls, n++, life->n > 0 ? life->member[0].hot_pct : NAN);
		put(values, nulls, n++, life->n > 0 ? life->fresh_share : NAN);
		put(values, nulls, n++, life->n > 0 ? life->hot_eligible : NAN);
		values[n++] = Int32GetDatum(curve->step[choice->advised_in_ram].fillfactor);
		nulls[n] = life->filled_at == 0;
		values[n++] = Int32GetDatum(life->filled_at);
		values[n++] = Int32GetDatum(life->runs + curve->runs);
		if (life->n > 0)
		{
			StringInfoData t;

			initStringInfo(&t);
			for (int k = 0; k < life->n; k++)
			{
				const Fitted *f = &life->member[k];
				const TwinLifecycle *l = &f->life;

				appendStringInfo(&t, "%sweight %.2f misfit %.1f: HOT %.1f, updated %.0f, rows a page %.1f; widths %.0f to %.0f in %.0f, together %.0f and %.0f (%d times), per update %.3f inserted %.3f deleted (%s), eligible %.2f, fresh %.2f %s %.0f, skew %.1f, lag %.1f, held %.0f for %.2f of the time, vacuum every %.2f, rows %.0f, updates %.0f + %.0f",
								 k > 0 ? "\n" : "", f->weight, f->misfit, f->hot_pct, f->updated_pct, f->rows_per_page,
								 l->insert_len, l->update_len, l->grow_updates, l->insert_rows, l->update_rows, l->times,
								 l->inserts_per_update, l->deletes_per_update, l->delete_oldest >= 1 ? "the oldest" : "any", l->hot_eligible, l->fresh_share, l->in_turn ? "in turn by" : "within", l->fresh_distance,
								 l->skew, l->lag, l->held, l->held_share, l->vacuum_gap, l->start_rows, l->warmup, l->measure);
			}
			values[n++] = CStringGetTextDatum(t.data);
		}
		else
			nulls[n++] = true;
		Assert(n == lengthof(values));
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/*
 * ff_split_updates(updated, hot, newpage, seen_same_page, seen_moved,
 *					indexed_share, seen_hot: all float8)
 *
 * Shares of the updates: moved, blocked, eligible, recoverable, 0 to 1; NULL
 * where unknown, as any argument may be.  See update_split.c.
 */
Datum
ff_split_updates(PG_FUNCTION_ARGS)
{
#define NUMBER(i) (PG_ARGISNULL(i) ? NAN : PG_GETARG_FLOAT8(i))
	UpdateCounts n = {
		.updated = NUMBER(0),.hot = NUMBER(1),.newpage = NUMBER(2),
		.seen_same_page = NUMBER(3),.seen_moved = NUMBER(4),
		.indexed_share = NUMBER(5),.seen_hot = NUMBER(6)
	};
	UpdateSplit s = split_updates(&n);
	TupleDesc	desc;
	Datum		values[4];
	bool		nulls[4];

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	put(values, nulls, 0, s.moved);
	put(values, nulls, 1, s.blocked);
	put(values, nulls, 2, s.eligible);
	put(values, nulls, 3, s.recoverable);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}

/*
 * ff_step_edge(fillfactor int, width int)
 *
 * The highest fillfactor with as many rows of a length (bytes, with header) on
 * a page.  Errors: 22023 for a fillfactor outside 10 to 100 or a width outside
 * 1 to 8160.
 */
Datum
ff_step_edge(PG_FUNCTION_ARGS)
{
	int32		fillfactor = PG_GETARG_INT32(0);
	int32		width = PG_GETARG_INT32(1);

	if (fillfactor < TWIN_MIN_FILLFACTOR || fillfactor > TWIN_MAX_FILLFACTOR)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("fillfactor %d is out of range", fillfactor),
				 errdetail("It must be between %d and %d.", TWIN_MIN_FILLFACTOR, TWIN_MAX_FILLFACTOR)));
	if (width < 1 || width > TWIN_MAX_TUPLE_SIZE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("row length %d is out of range", width),
				 errdetail("It must be between 1 and %d bytes.", TWIN_MAX_TUPLE_SIZE)));
	PG_RETURN_INT32(twin_step_edge(fillfactor, width));
}

/*
 * ff_twin(life record, fillfactor int)
 *
 * One replay of a lifecycle given by the columns of "life", named as the
 * fields of TwinLifecycle; missing ones are 0 (rows and eligibility 1).  For
 * tests and for those who know their table's life.
 *
 * Errors: 22023 for a fillfactor outside 10 to 100, 42804 for a column that is
 * not a number.
 */
Datum
ff_twin(PG_FUNCTION_ARGS)
{
	Facts		f = open_facts(PG_GETARG_HEAPTUPLEHEADER(0));
	int32		fillfactor = PG_GETARG_INT32(1);
	HeapTwin   *twin;
	TwinLifecycle t;
	TwinResult	r;
	TupleDesc	desc;
	Datum		values[8];
	bool		nulls[8] = {0};
	int			n = 0;

	if (fillfactor < TWIN_MIN_FILLFACTOR || fillfactor > TWIN_MAX_FILLFACTOR)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("fillfactor %d is out of range", fillfactor),
				 errdetail("It must be between %d and %d.", TWIN_MIN_FILLFACTOR, TWIN_MAX_FILLFACTOR)));
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	memset(&t, 0, sizeof(t));
	t.insert_len = known(fact(&f, "insert_len"), 64);
	t.update_len = known(fact(&f, "update_len"), t.insert_len);
	t.grow_updates = known(fact(&f, "grow_updates"), 1);
	t.insert_rows = known(fact(&f, "insert_rows"), 1);
	t.update_rows = known(fact(&f, "update_rows"), 1);
	t.times = (int) known(fact(&f, "times"), 1);
	t.inserts_per_update = known(fact(&f, "inserts_per_update"), 0);
	t.deletes_per_update = known(fact(&f, "deletes_per_update"), 0);
	t.hot_eligible = known(fact(&f, "hot_eligible"), 1);
	t.fresh_share = known(fact(&f, "fresh_share"), 0);
	t.fresh_distance = known(fact(&f, "fresh_distance"), 1);
	t.in_turn = known(fact(&f, "in_turn"), 0) > 0;
	t.skew = known(fact(&f, "skew"), 0);
	t.delete_oldest = known(fact(&f, "delete_oldest"), 1);
	t.lag = known(fact(&f, "lag"), 0);
	t.held = known(fact(&f, "held"), 0);
	t.held_share = known(fact(&f, "held_share"), 1);
	t.vacuum_share = known(fact(&f, "vacuum_share"), 0.2);
	t.vacuum_gap = known(fact(&f, "vacuum_gap"), 1);
	t.streams = (int) known(fact(&f, "streams"), 1);
	t.start_rows = known(fact(&f, "start_rows"), 0);
	t.start_fillfactor = (int) known(fact(&f, "start_fillfactor"), 0);
	t.warmup = known(fact(&f, "warmup"), 0);
	t.measure = known(fact(&f, "measure"), 5000);

	twin = palloc(sizeof(HeapTwin));
	twin_run(twin, &t, fillfactor, 1, &r);
	put(values, nulls, n++, r.updates);
	put(values, nulls, n++, r.hot);
	put(values, nulls, n++, r.moved);
	put(values, nulls, n++, r.same_page_cold);
	put(values, nulls, n++, r.pages);
	put(values, nulls, n++, r.rows);
	put(values, nulls, n++, r.dead_versions);
	put(values, nulls, n++, r.dead_lps);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}
